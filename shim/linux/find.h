/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: searches in bitmaps; @size where nothing is found. */
#ifndef _SHIM_LINUX_FIND_H
#define _SHIM_LINUX_FIND_H

#include <linux/bitops.h>

static inline unsigned long shim_find(const unsigned long *addr,
				      unsigned long size, unsigned long from,
				      unsigned long invert)
{
	while (from < size) {
		unsigned long word = addr[from / BITS_PER_LONG] ^ invert;

		word >>= from % BITS_PER_LONG;
		if (word) {
			from += __ffs(word);
			return from < size ? from : size;
		}
		from += BITS_PER_LONG - from % BITS_PER_LONG;
	}
	return size;
}

static inline unsigned long find_next_bit(const unsigned long *addr,
					  unsigned long size,
					  unsigned long from)
{
	return shim_find(addr, size, from, 0);
}

static inline unsigned long find_next_zero_bit(const unsigned long *addr,
					       unsigned long size,
					       unsigned long from)
{
	return shim_find(addr, size, from, ~0UL);
}

#define find_first_bit(addr, size)	find_next_bit(addr, size, 0)
#define find_first_zero_bit(addr, size)	find_next_zero_bit(addr, size, 0)

static inline unsigned long find_last_bit(const unsigned long *addr,
					  unsigned long size)
{
	unsigned long bit = size;

	while (bit--)
		if (test_bit(bit, addr))
			return bit;
	return size;
}

#define for_each_set_bit(bit, addr, size)				\
	for ((bit) = find_first_bit(addr, size); (bit) < (size);	\
	     (bit) = find_next_bit(addr, size, (bit) + 1))

#endif
