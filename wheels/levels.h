/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Levels of list slots that are placed by digits (digits.h): the machinery of
 * a cascading wheel, for the kinds that are one or contain one. It knows nodes
 * and keys (the tick at which a node is wanted) and nothing of what a key
 * means.
 */
#ifndef _WHEEL_LEVELS_H
#define _WHEEL_LEVELS_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/prefetch.h>
#include "digits.h"
#include "scout.h"

/**
 * struct levels - the levels, last in the structure that contains them
 * @digits: which slots are in use
 * @scout: who goes through the slot that is just being emptied (scout.h)
 * @slot: all slots, level after level, and after the last one the shelf
 */
struct levels {
	struct digits digits;
	struct scout scout;
	struct list_head slot[];
};

/* Bytes of the slots of a struct levels. */
#define levels_slots_size(nr)	\
	(((size_t)(nr) * LEVEL_SLOTS + 1) * sizeof(struct list_head))

static inline struct wheel_node *levels_node(struct list_head *entry)
{
	return list_entry(entry, struct wheel_node, entry);
}

static inline void levels_init(struct levels *l, unsigned int nr)
{
	unsigned int i;

	l->digits.nr = nr;
	for (i = 0; i <= nr * LEVEL_SLOTS; i++)
		INIT_LIST_HEAD(&l->slot[i]);
}

/* Append nodes that are linked to one another, from @begin to @end. */
static inline void levels_append_run(struct levels *l, unsigned int level,
				     unsigned int index,
				     struct list_head *begin,
				     struct list_head *end)
{
	struct list_head *slot = &l->slot[index];
	struct list_head *tail;

	/* One pointer, rather than two sums of the same. */
	OPTIMIZER_HIDE_VAR(slot);
	tail = slot->prev;
	slot->prev = end;
	end->next = slot;
	begin->prev = tail;
	tail->next = begin;
	/* Where others wait, the bits are set. */
	if (tail == slot)
		digits_set(&l->digits, level, index);
}

static inline void levels_append(struct levels *l, unsigned int level,
				 unsigned int index, struct wheel_node *node)
{
	levels_append_run(l, level, index, &node->entry, &node->entry);
}

/* Add a node whose key is later than the clock; returns its slot's first key. */
static inline u64 levels_add(struct levels *l, u64 now, u64 key,
			     struct wheel_node *node)
{
	unsigned int level = digits_level(now, key);
	unsigned int shift = level * WHEEL_LEVEL_BITS;
	u64 first = key >> shift;

	levels_append(l, level,
		      level * LEVEL_SLOTS + (first & LEVEL_MASK), node);
	return first << shift;
}

/* Put away a node whose time can never come. */
static inline void levels_shelve(struct levels *l, struct wheel_node *node)
{
	levels_append(l, l->digits.nr, l->digits.nr * LEVEL_SLOTS, node);
}

/* The slot need not be known: an emptied list's neighbours are its head. */
static inline void levels_del(struct levels *l, struct wheel_node *node)
{
	struct list_head *next = node->entry.next;
	bool last = node->entry.prev == next;

	__list_del_entry(&node->entry);
	scout_left(&l->scout, node);
	if (last)
		digits_clear(&l->digits, next - l->slot);
}

/* Any node, the lowest slots first; NULL if there is none. */
static inline struct wheel_node *levels_first(struct levels *l)
{
	if (!l->digits.used)
		return NULL;
	return list_first_entry(&l->slot[digits_first(&l->digits)],
				struct wheel_node, entry);
}

/*
 * Move nodes from a slot of a higher level down, the clock being about to
 * enter its span at @first. Stops when the batch's budget is used up; the
 * clock then stays before @first, where new nodes for the span still go to
 * the tail of the same slot. Returns true when the slot is empty.
 *
 * Neighbours often go to the same slot, for timers that are armed one after the
 * other have much the same delay. They stay linked as they are: of such a run
 * the ends are linked anew, and what is between them is only read.
 *
 *	slot  <-> a <-> b <-> c <-> d <-> ...
 *	          '--- run ---'     '--- the next one
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
	struct list_head *pos = slot->next;
	struct list_head *scout = scout_resume(&l->scout, slot);
	unsigned int left = batch->budget - batch->looked;

	while (left && pos != slot) {
		struct list_head *begin = pos, *end;
		u64 wanted = key(levels_node(pos), first);
		/* Differs from the clock below @level only: see rule 3. */
		unsigned int to = wanted == first ? 0 :
						    digits_level(first, wanted);
		unsigned int to_shift = to * WHEEL_LEVEL_BITS;

		do {
			if (scout && !scout_step(&scout, pos))
				scout = NULL;
			end = pos;
			pos = pos->next;
			prefetch(pos);
		} while (--left && pos != slot &&
			 !((key(levels_node(pos), first) ^ wanted) >> to_shift));
		levels_append_run(l, to, to * LEVEL_SLOTS +
				  (wanted >> to_shift & LEVEL_MASK), begin, end);
	}
	left = batch->budget - batch->looked - left;
	batch->looked += left;
	w->moved += left;
	if (!scout_cut(&l->scout, slot, pos, scout)) {
		l->digits.partial = level;
		return false;
	}
	digits_clear(&l->digits, index);
	l->digits.partial = 0;
	w->touched++;
	return true;
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
	struct list_head *scout = scout_resume(&l->scout, slot);
	struct wheel_node **begin = &batch->node[batch->nr], **to = begin;
	struct wheel_node **end = begin + (batch->budget - batch->looked);

	while (scout) {
		if (to == end)
			break;
		*to++ = list_entry(pos, struct wheel_node, entry);
		if (!scout_step(&scout, pos))
			scout = NULL;
		pos = pos->next;
	}
	while (pos != slot) {
		if (to == end)
			break;
		*to++ = list_entry(pos, struct wheel_node, entry);
		pos = pos->next;
	}
	/* Meanwhile, whoever gets the batch makes use of it. */
	prefetch(pos->next);
	batch->nr += to - begin;
	batch->looked += to - begin;
	if (scout_cut(&l->scout, slot, pos, scout)) {
		digits_clear(&l->digits, index);
		w->touched++;
	}
}

#endif /* _WHEEL_LEVELS_H */
