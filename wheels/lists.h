/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looking through an array of list slots, for the kinds that keep their timers
 * in one: the walk for pictures, and the first queued node. Knows lists only;
 * what a slot's number means, the kind fills in.
 */
#ifndef _WHEEL_LISTS_H
#define _WHEEL_LISTS_H

#include <linux/list.h>
#include "walk.h"
#include "wheel.h"

/* Any queued node of the slots from @slots on; NULL if all are empty. */
static inline struct wheel_node *lists_first(struct list_head *slots,
					     unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!list_empty(&slots[i]))
			return list_first_entry(&slots[i], struct wheel_node,
						entry);
	return NULL;
}

/*
 * One step of a walk; pos[0] is the slot to go on with. @fill sets level, slot
 * and tick of an item from the slot's number.
 */
static __always_inline unsigned int
lists_walk(const struct wheel *w, const struct list_head *slots,
	   unsigned int nr, struct wheel_walk *pos, struct wheel_item *items,
	   unsigned int max,
	   void (*fill)(const struct wheel *w, unsigned int index,
			struct wheel_item *item))
{
	struct walk walk = { .items = items, .max = max };
	struct wheel_item item;

	for (; pos->pos[0] < nr; pos->pos[0]++) {
		const struct list_head *slot = &slots[pos->pos[0]];

		if (list_empty(slot))
			continue;
		fill(w, pos->pos[0], &item);
		walk.begin = walk.nr;
		walk_list(&walk, slot, item.tick, item.level, item.slot);
		if (walk.left)
			break;
	}
	return walk.nr;
}

#endif /* _WHEEL_LISTS_H */
