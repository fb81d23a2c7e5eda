/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: whole bitmaps. */
#ifndef _SHIM_LINUX_BITMAP_H
#define _SHIM_LINUX_BITMAP_H

#include <string.h>
#include <linux/bitops.h>
#include <linux/slab.h>

static inline void bitmap_zero(unsigned long *map, unsigned int bits)
{
	memset(map, 0, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline bool bitmap_empty(const unsigned long *map, unsigned int bits)
{
	return find_first_bit(map, bits) == bits;
}

static inline unsigned int bitmap_weight(const unsigned long *map,
					 unsigned int bits)
{
	unsigned int n = 0;
	unsigned long bit;

	for_each_set_bit(bit, map, bits)
		n++;
	return n;
}

#define bitmap_zalloc(bits, gfp) \
	((unsigned long *)kcalloc(BITS_TO_LONGS(bits), sizeof(long), gfp))
#define bitmap_free(map)	kfree(map)

#endif
