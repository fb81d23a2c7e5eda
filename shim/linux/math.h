/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: rounding. */
#ifndef _SHIM_LINUX_MATH_H
#define _SHIM_LINUX_MATH_H

/* Powers of two only. */
#define round_down(x, y)	((x) & ~((__typeof__(x))(y) - 1))
#define round_up(x, y)	((((x) - 1) | ((__typeof__(x))(y) - 1)) + 1)

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define roundup(x, y) ({						\
	const __typeof__(y) shim_y = (y);				\
	(((x) + (shim_y - 1)) / shim_y) * shim_y; })
#define rounddown(x, y) ({						\
	const __typeof__(x) shim_x = (x);				\
	shim_x - (shim_x % (y)); })

#endif
