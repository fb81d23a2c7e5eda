/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: sums and products that notice where they do not fit. */
#ifndef _SHIM_LINUX_OVERFLOW_H
#define _SHIM_LINUX_OVERFLOW_H

#include <stdint.h>
#include <linux/types.h>

#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)
#define check_sub_overflow(a, b, d)	__builtin_sub_overflow(a, b, d)
#define check_mul_overflow(a, b, d)	__builtin_mul_overflow(a, b, d)

/* SIZE_MAX, which no allocator grants, where the result does not fit. */
static inline size_t size_mul(size_t a, size_t b)
{
	size_t r;

	return check_mul_overflow(a, b, &r) ? SIZE_MAX : r;
}

static inline size_t size_add(size_t a, size_t b)
{
	size_t r;

	return check_add_overflow(a, b, &r) ? SIZE_MAX : r;
}

#define array_size(n, size)	size_mul(n, size)
#define flex_array_size(p, member, n) \
	size_mul(n, sizeof(*(p)->member))
#define struct_size(p, member, n) \
	size_add(sizeof(*(p)), flex_array_size(p, member, n))
#define struct_size_t(type, member, n) \
	struct_size((type *)NULL, member, n)

#endif
