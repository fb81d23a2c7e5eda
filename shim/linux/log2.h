/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: powers of two. */
#ifndef _SHIM_LINUX_LOG2_H
#define _SHIM_LINUX_LOG2_H

#include <linux/types.h>

/* Usable in constant expressions, as in the kernel. */
#define ilog2(n)	(63 - __builtin_clzll((unsigned long long)(n)))

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n < 2 ? 1 : 1UL << (ilog2(n - 1) + 1);
}

static inline unsigned long rounddown_pow_of_two(unsigned long n)
{
	return 1UL << ilog2(n);
}

static inline int order_base_2(unsigned long n)
{
	return n < 2 ? 0 : ilog2(n - 1) + 1;
}

#endif
