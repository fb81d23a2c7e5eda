/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: single bits, and the first and last of a word. */
#ifndef _SHIM_LINUX_BITOPS_H
#define _SHIM_LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/compiler.h>

/* fls*: 1 for the lowest bit, 0 where none is set. ffs: the same from below. */
static inline int fls(unsigned int x)
{
	return x ? 32 - __builtin_clz(x) : 0;
}

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline unsigned int fls_long(unsigned long x)
{
	return (unsigned int)fls64(x);
}

/* With two underscores the lowest bit is 0, and a word of 0 is not allowed. */
static inline unsigned long __ffs(unsigned long x)
{
	return (unsigned long)__builtin_ctzl(x);
}

static inline unsigned long __fls(unsigned long x)
{
	return (unsigned long)(BITS_PER_LONG - 1 - __builtin_clzl(x));
}

static inline unsigned int __ffs64(u64 x)
{
	return (unsigned int)__builtin_ctzll(x);
}

static inline unsigned int hweight32(u32 x)
{
	return (unsigned int)__builtin_popcount(x);
}

static inline unsigned int hweight64(u64 x)
{
	return (unsigned int)__builtin_popcountll(x);
}

static inline unsigned long hweight_long(unsigned long x)
{
	return (unsigned long)__builtin_popcountl(x);
}

static inline u64 rol64(u64 x, unsigned int n)
{
	return (x << (n & 63)) | (x >> (-n & 63));
}

static inline u64 ror64(u64 x, unsigned int n)
{
	return (x >> (n & 63)) | (x << (-n & 63));
}

static inline u32 rol32(u32 x, unsigned int n)
{
	return (x << (n & 31)) | (x >> (-n & 31));
}

static inline u32 ror32(u32 x, unsigned int n)
{
	return (x >> (n & 31)) | (x << (-n & 31));
}

static inline void __set_bit(unsigned long nr, unsigned long *addr)
{
	addr[nr / BITS_PER_LONG] |= 1UL << (nr % BITS_PER_LONG);
}

static inline void __clear_bit(unsigned long nr, unsigned long *addr)
{
	addr[nr / BITS_PER_LONG] &= ~(1UL << (nr % BITS_PER_LONG));
}

static inline bool test_bit(unsigned long nr, const unsigned long *addr)
{
	return (addr[nr / BITS_PER_LONG] >> (nr % BITS_PER_LONG)) & 1;
}

static inline bool __test_and_set_bit(unsigned long nr, unsigned long *addr)
{
	bool was = test_bit(nr, addr);

	__set_bit(nr, addr);
	return was;
}

static inline bool __test_and_clear_bit(unsigned long nr, unsigned long *addr)
{
	bool was = test_bit(nr, addr);

	__clear_bit(nr, addr);
	return was;
}

/* One thread: the atomic forms are the plain ones. */
#define set_bit			__set_bit
#define clear_bit		__clear_bit
#define test_and_set_bit	__test_and_set_bit
#define test_and_clear_bit	__test_and_clear_bit

#include <linux/find.h>

#endif
