/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: multiplicative hashing, the upper bits of a product. */
#ifndef _SHIM_LINUX_HASH_H
#define _SHIM_LINUX_HASH_H

#include <linux/types.h>

/* 2^64 divided by the golden ratio, odd. */
#define SHIM_HASH_FACTOR	0x9e3779b97f4a7c15ULL

static inline u32 hash_64(u64 val, unsigned int bits)
{
	return (u32)((val * SHIM_HASH_FACTOR) >> (64 - bits));
}

static inline u32 hash_32(u32 val, unsigned int bits)
{
	return hash_64(val, bits);
}

static inline u32 hash_long(unsigned long val, unsigned int bits)
{
	return hash_64(val, bits);
}

static inline u32 hash_ptr(const void *ptr, unsigned int bits)
{
	return hash_64((u64)(unsigned long)ptr, bits);
}

#endif
