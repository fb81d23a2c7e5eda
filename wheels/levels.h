/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Levels of list slots that are placed by digits: the machinery of a cascading
 * wheel, for the kinds that are one or contain one. It knows nodes and keys
 * (the tick at which a node is wanted) and nothing of what a key means.
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
#ifndef _WHEEL_LEVELS_H
#define _WHEEL_LEVELS_H

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/prefetch.h>
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
 * struct levels - the levels, last in the structure that contains them
 * @used: bit n is set where level n is in use
 * @partial: the level of which a slot is just being cascaded, 0 for none
 * @nr: number of levels
 * @occupied: bit s of word n is set where slot s of level n is in use; one
 *	more word for the shelf
 * @slot: all slots, level after level, and after the last one the shelf, for
 *	nodes whose key the clock can no longer reach
 */
struct levels {
	u64 used;
	u32 partial;
	u32 nr;
	u64 occupied[LEVELS_MAX + 1];
	struct list_head slot[];
};

/* Bytes of the slots of a struct levels. */
#define levels_slots_size(nr)	\
	(((size_t)(nr) * LEVEL_SLOTS + 1) * sizeof(struct list_head))

static inline void levels_init(struct levels *l, unsigned int nr)
{
	unsigned int i;

	l->nr = nr;
	for (i = 0; i <= nr * LEVEL_SLOTS; i++)
		INIT_LIST_HEAD(&l->slot[i]);
}

static inline void levels_append(struct levels *l, unsigned int level,
				 unsigned int index, struct wheel_node *node)
{
	struct list_head *slot = &l->slot[index];
	bool first = list_empty(slot);

	list_add_tail(&node->entry, slot);
	/* Where others wait, the bits are set. */
	if (!first)
		return;
	l->occupied[level] |= BIT_ULL(index & LEVEL_MASK);
	l->used |= BIT_ULL(level);
}

/* Add a node whose key is later than the clock; returns its slot's first key. */
static inline u64 levels_add(struct levels *l, u64 now, u64 key,
			     struct wheel_node *node)
{
	unsigned int level = __fls(key ^ now) / WHEEL_LEVEL_BITS;
	unsigned int shift = level * WHEEL_LEVEL_BITS;
	u64 first = key >> shift;

	levels_append(l, level,
		      level * LEVEL_SLOTS + (first & LEVEL_MASK), node);
	return first << shift;
}

/* Put away a node whose time can never come. */
static inline void levels_shelve(struct levels *l, struct wheel_node *node)
{
	levels_append(l, l->nr, l->nr * LEVEL_SLOTS, node);
}

static inline void levels_clear(struct levels *l, unsigned int index)
{
	unsigned int level = index / LEVEL_SLOTS;

	l->occupied[level] &= ~BIT_ULL(index & LEVEL_MASK);
	if (l->occupied[level])
		return;
	l->used &= ~BIT_ULL(level);
	/* All that an unfinished cascade concerned may have been cancelled. */
	if (!l->used)
		l->partial = 0;
}

/* The slot need not be known: an emptied list's neighbours are its head. */
static inline void levels_del(struct levels *l, struct wheel_node *node)
{
	struct list_head *next = node->entry.next;
	bool last = node->entry.prev == next;

	__list_del_entry(&node->entry);
	if (last)
		levels_clear(l, next - l->slot);
}

/* Any node, the lowest slots first; NULL if there is none. */
static inline struct wheel_node *levels_first(struct levels *l)
{
	unsigned int level;

	if (!l->used)
		return NULL;
	level = __ffs(l->used);
	return list_first_entry(&l->slot[level * LEVEL_SLOTS +
					 __ffs(l->occupied[level])],
				struct wheel_node, entry);
}

/* The first key that the slot with this number stands for; never, the shelf. */
static inline u64 levels_slot_key(const struct levels *l, u64 now,
				  unsigned int index)
{
	unsigned int level = index / LEVEL_SLOTS;
	unsigned int shift = level * WHEEL_LEVEL_BITS;

	if (level == l->nr)
		return WHEEL_NEVER;
	if (level < l->partial)
		now++;
	return ((now >> shift & ~(u64)LEVEL_MASK) | (index & LEVEL_MASK))
	       << shift;
}

/*
 * The first key after the clock for which there is something to do. While a
 * cascade is unfinished that is the very next one.
 */
static inline u64 levels_next(const struct levels *l, u64 now)
{
	u64 used = l->used & (BIT_ULL(l->nr) - 1);
	unsigned int level, shift;
	u64 first;

	if (!used)
		return WHEEL_NEVER;
	if (l->partial)
		return now + 1;
	level = __ffs(used);
	shift = level * WHEEL_LEVEL_BITS;
	first = (now >> shift & ~(u64)LEVEL_MASK) | __ffs(l->occupied[level]);
	first <<= shift;
	return first > now ? first : now + 1;
}

/*
 * Move nodes from a slot of a higher level down, the clock being about to
 * enter its span at @first. Stops when the batch's budget is used up; the
 * clock then stays before @first, where new nodes for the span still go to
 * the tail of the same slot. Returns true when the slot is empty.
 *
 * @key is a compile-time constant: no call is made through it.
 */
static __always_inline bool
levels_cascade(struct levels *l, unsigned int level, u64 first,
	       struct wheel *w, struct wheel_batch *batch,
	       u64 (*key)(const struct wheel_node *node, u64 first))
{
	unsigned int shift = level * WHEEL_LEVEL_BITS;
	unsigned int index = level * LEVEL_SLOTS +
			     (first >> shift & LEVEL_MASK);
	struct list_head *slot = &l->slot[index];
	struct wheel_node *node;
	u64 wanted;

	while (!list_empty(slot)) {
		if (batch->looked == batch->budget) {
			l->partial = level;
			return false;
		}
		node = list_first_entry(slot, struct wheel_node, entry);
		prefetch(node->entry.next);
		batch->looked++;
		w->moved++;
		__list_del_entry(&node->entry);
		/* Differs from the clock below @level only: see rule 3. */
		wanted = key(node, first);
		if (wanted == first)
			levels_append(l, 0, first & LEVEL_MASK, node);
		else
			levels_add(l, first, wanted, node);
	}
	levels_clear(l, index);
	l->partial = 0;
	w->touched++;
	return true;
}

/* Does a part of the slot of the tick that the clock shows still wait? */
static inline bool levels_wait(const struct levels *l, u64 now)
{
	return !l->partial && l->occupied[0] & BIT_ULL(now & LEVEL_MASK);
}

/*
 * Hand over the slot of the tick that the clock shows. What is armed while a
 * part of it waits cannot land in it: see rule 1.
 */
static inline void levels_expire(struct levels *l, struct wheel *w,
				 struct wheel_batch *batch)
{
	unsigned int index = w->now & LEVEL_MASK;
	struct list_head *slot = &l->slot[index];
	struct list_head *pos = slot->next;

	while (pos != slot && batch->looked < batch->budget) {
		batch->node[batch->nr++] =
			list_entry(pos, struct wheel_node, entry);
		batch->looked++;
		pos = pos->next;
		prefetch(pos->next);
	}
	/* Cut off all of them at once: nobody looks at their links again. */
	slot->next = pos;
	pos->prev = slot;
	if (pos == slot) {
		levels_clear(l, index);
		w->touched++;
	}
}

#endif /* _WHEEL_LEVELS_H */
