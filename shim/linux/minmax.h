/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: smaller, larger, swap; each argument evaluated once. */
#ifndef _SHIM_LINUX_MINMAX_H
#define _SHIM_LINUX_MINMAX_H

#include <linux/build_bug.h>

#define SHIM_PICK(type, x, op, y) ({					\
	const type shim_x = (x);					\
	const type shim_y = (y);					\
	shim_x op shim_y ? shim_x : shim_y; })

/* As in the kernel, operands of two types need min_t() or max_t(). */
#define SHIM_SAME(x, y) \
	BUILD_BUG_ON_ZERO(!__builtin_types_compatible_p(__typeof__((x) + 0), \
							__typeof__((y) + 0)))

#define min(x, y)	((void)SHIM_SAME(x, y), SHIM_PICK(__typeof__(x), x, <, y))
#define max(x, y)	((void)SHIM_SAME(x, y), SHIM_PICK(__typeof__(x), x, >, y))
#define min_t(type, x, y)	SHIM_PICK(type, x, <, y)
#define max_t(type, x, y)	SHIM_PICK(type, x, >, y)
#define min3(x, y, z)	min_t(__typeof__(x), min(x, y), z)
#define max3(x, y, z)	max_t(__typeof__(x), max(x, y), z)
#define clamp_t(type, val, lo, hi)	min_t(type, max_t(type, val, lo), hi)
#define clamp(val, lo, hi)	clamp_t(__typeof__(val), val, lo, hi)
#define swap(a, b) \
	do { __typeof__(a) shim_t = (a); (a) = (b); (b) = shim_t; } while (0)

#endif
