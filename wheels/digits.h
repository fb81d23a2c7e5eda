/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Placing by digits: which level and slot a key belongs to, which slots are in
 * use and which is next, for the kinds whose levels cascade. It knows keys (the
 * tick at which something is wanted) and the numbers of slots, and nothing of
 * what a slot is made of.
 *
 * A key and the clock are read as numbers in base 64. A node waits on the
 * level of the highest digit in which its key differs from the clock, in the
 * slot that this digit of the key names:
 *
 *	clock   2 . 61 . 07		key  2 . 61 . 40   level 0, slot 40
 *	        ^    ^    ^		key  2 . 63 . 05   level 1, slot 63
 *	      level 2  1  0		key  3 . 00 . 01   level 2, slot  3
 *
 * Three things follow, and all of the code below rests on them:
 *
 * 1. Digits above the level are equal and the digit of the key is greater, so
 *    occupied slots lie above the clock's own slot: a bitmap needs no rotation
 *    and no slot ever wraps. (A delay of one tick across a power of 64 simply
 *    waits on a high level: there is no horizon to overflow.)
 * 2. Whatever waits on a lower level comes before all that waits on a higher
 *    one: the first slot of the lowest level in use is next.
 * 3. While the clock is outside a slot's span, everything for that span is
 *    appended to that one slot. It is emptied downwards, in order, just as the
 *    clock enters the span, into slots that are still empty. So nodes with the
 *    same key stay in the order in which they were added, on every path.
 */
#ifndef _WHEEL_DIGITS_H
#define _WHEEL_DIGITS_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include "wheel.h"

/* Tests shrink a level to 4 slots, so that few timers reach every level. */
#ifndef WHEEL_LEVEL_BITS
#define WHEEL_LEVEL_BITS	6
#endif

#define LEVEL_SLOTS		BIT(WHEEL_LEVEL_BITS)
#define LEVEL_MASK		((unsigned int)LEVEL_SLOTS - 1)

/* How many levels keys of so many bits need. */
#define LEVELS_FOR(bits)	DIV_ROUND_UP(bits, WHEEL_LEVEL_BITS)
#define LEVELS_MAX		LEVELS_FOR(64)

/**
 * struct digits - which slots of a wheel are in use
 * @used: bit n is set where level n is in use
 * @partial: the level of which a slot is just being cascaded, 0 for none
 * @nr: number of levels
 * @quiet: up to this tick, that one included, there is nothing to do. May be
 *	too early; begins anew with each slot that comes into use
 * @occupied: bit s of word n is set where slot s of level n is in use; one
 *	more word for the shelf, which is one slot more, behind all levels, for
 *	what the clock can no longer reach
 */
struct digits {
	u64 used;
	u32 partial;
	u32 nr;
	u64 quiet;
	u64 occupied[LEVELS_MAX + 1];
};

/* The level that a key which is later than the clock belongs to. */
static inline unsigned int digits_level(u64 now, u64 key)
{
	unsigned int bit = __fls(key ^ now);

	/* A division that is right for all bits there are, and shorter. */
	if (WHEEL_LEVEL_BITS == 6)
		return bit * 43 >> 8;
	return bit / WHEEL_LEVEL_BITS;
}

static inline void digits_set(struct digits *d, unsigned int level,
			      unsigned int index)
{
	d->occupied[level] |= BIT_ULL(index & LEVEL_MASK);
	d->used |= BIT_ULL(level);
	d->quiet = 0;
}

static inline void digits_clear(struct digits *d, unsigned int index)
{
	unsigned int level = index / LEVEL_SLOTS;

	d->occupied[level] &= ~BIT_ULL(index & LEVEL_MASK);
	if (d->occupied[level])
		return;
	d->used &= ~BIT_ULL(level);
	/* All that an unfinished cascade concerned may have been cancelled. */
	if (!d->used)
		d->partial = 0;
}

/* The number of the lowest slot in use; there is one. */
static inline unsigned int digits_first(const struct digits *d)
{
	unsigned int level = __ffs(d->used);

	return level * LEVEL_SLOTS + __ffs(d->occupied[level]);
}

/* The first key that the slot with this number stands for; never, the shelf. */
static inline u64 digits_slot_key(const struct digits *d, u64 now,
				  unsigned int index)
{
	unsigned int level = index / LEVEL_SLOTS;
	unsigned int shift = level * WHEEL_LEVEL_BITS;

	if (level == d->nr)
		return WHEEL_NEVER;
	if (level < d->partial)
		now++;
	return ((now >> shift & ~(u64)LEVEL_MASK) | (index & LEVEL_MASK))
	       << shift;
}

/*
 * The first key after the clock for which there is something to do. While a
 * cascade is unfinished that is the very next one.
 */
static inline u64 digits_next(const struct digits *d, u64 now)
{
	u64 used = d->used & (BIT_ULL(d->nr) - 1);
	unsigned int level, shift;
	u64 first;

	if (!used)
		return WHEEL_NEVER;
	if (d->partial)
		return now + 1;
	level = __ffs(used);
	shift = level * WHEEL_LEVEL_BITS;
	first = (now >> shift & ~(u64)LEVEL_MASK) | __ffs(d->occupied[level]);
	first <<= shift;
	return first > now ? first : now + 1;
}

/* Does a part of the slot of the tick that the clock shows still wait? */
static inline bool digits_wait(const struct digits *d, u64 now)
{
	return !d->partial && d->occupied[0] & BIT_ULL(now & LEVEL_MASK);
}

/* Move the clock to @to, where nothing is to be done until then. */
static inline bool digits_quiet(const struct digits *d, struct wheel *w, u64 to)
{
	if (to > d->quiet)
		return false;
	w->now = to;
	return true;
}

/*
 * The advance of a kind whose levels all cascade, where it is not quiet or not
 * known to be. The kind does not inline it: an empty tick is then spared what
 * so large a function does first. @expire hands over the slot
 * of the tick that the clock shows, or a part of it; @cascade moves a slot of
 * a level down, into the span that begins at @first, and returns false where
 * the budget has stopped it. Both are compile-time constants: no call is made
 * through them.
 */
static __always_inline bool
digits_pass(struct digits *d, struct wheel *w, u64 to,
	    struct wheel_batch *batch,
	    void (*expire)(struct wheel *w, struct wheel_batch *batch),
	    bool (*cascade)(struct wheel *w, unsigned int level, u64 first,
			    struct wheel_batch *batch))
{
	unsigned int level;
	u64 first;

	for (;;) {
		/* Half a slot may still wait at the tick that the clock shows. */
		if (digits_wait(d, w->now)) {
			expire(w, batch);
			if (batch->looked == batch->budget || batch->nr)
				break;
		}
		first = digits_next(d, w->now);
		if (first == WHEEL_NEVER || first > to) {
			/* The tick before it; for never, the last one of all. */
			d->quiet = first - 1;
			w->now = to;
			return true;
		}
		level = d->partial;
		if (!level)
			level = __ffs(d->used);
		if (level) {
			/* New timers of the span still join that slot's tail. */
			w->now = first - 1;
			if (!cascade(w, level, first, batch))
				return false;
		}
		w->now = first;
	}
	return w->now == to && !digits_wait(d, to);
}

#endif /* _WHEEL_DIGITS_H */
