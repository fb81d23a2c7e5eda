/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: alignment to powers of two. */
#ifndef _SHIM_LINUX_ALIGN_H
#define _SHIM_LINUX_ALIGN_H

#define ALIGN(x, a)		(((x) + ((__typeof__(x))(a) - 1)) & \
				 ~((__typeof__(x))(a) - 1))
#define ALIGN_DOWN(x, a)	((x) & ~((__typeof__(x))(a) - 1))
#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)

#endif
