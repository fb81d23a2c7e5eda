/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: assertions of the compiler. */
#ifndef _SHIM_LINUX_BUILD_BUG_H
#define _SHIM_LINUX_BUILD_BUG_H

#define BUILD_BUG_ON_MSG(cond, msg)	_Static_assert(!(cond), msg)
#define BUILD_BUG_ON(cond) \
	BUILD_BUG_ON_MSG(cond, "BUILD_BUG_ON failed: " #cond)
#define BUILD_BUG_ON_NOT_POWER_OF_2(n) \
	BUILD_BUG_ON((n) == 0 || ((n) & ((n) - 1)) != 0)
/* An expression worth 0, for use in initialisers and macros. */
#define BUILD_BUG_ON_ZERO(e)	((int)(sizeof(struct { int : (-!!(e)); })))
#define SHIM_ASSERT(expr, msg, ...)	_Static_assert(expr, msg)
#define static_assert(expr, ...) \
	SHIM_ASSERT(expr, ##__VA_ARGS__, #expr)

#endif
