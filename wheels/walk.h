/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A walk through a wheel, slot after slot, for pictures. Knows slots by number
 * only; what is in one, a kind says.
 */
#ifndef _WHEEL_WALK_H
#define _WHEEL_WALK_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include "wheel.h"

/**
 * struct walk - one step of a walk
 * @items: to be filled in
 * @max: room there
 * @nr: how many are filled in
 * @begin: where the items of the present slot begin
 * @left: the present slot is left for the next step
 */
struct walk {
	struct wheel_item *items;
	unsigned int max;
	unsigned int nr;
	unsigned int begin;
	bool left;
};

/*
 * Add a node of the present slot. False where there is no more room: then the
 * slot is cut off and marked if it is alone, else left for the next step.
 */
static inline bool walk_add(struct walk *walk, struct wheel_node *node,
			    u64 tick, u32 level, u32 slot)
{
	if (walk->nr == walk->max) {
		walk->left = walk->begin;
		if (walk->left)
			walk->nr = walk->begin;
		else
			walk->items[walk->max - 1].more = true;
		return false;
	}
	walk->items[walk->nr++] = (struct wheel_item) {
		.node = node,
		.tick = tick,
		.level = level,
		.slot = slot,
	};
	return true;
}

/* Add what waits in a list, all for the same tick. */
static inline void walk_list(struct walk *walk, const struct list_head *list,
			     u64 tick, u32 level, u32 slot)
{
	struct wheel_node *node;

	list_for_each_entry(node, list, entry)
		if (!walk_add(walk, node, tick, level, slot))
			return;
}

/* Add what waits in a tree, each for its key. */
static inline void walk_tree(struct walk *walk, struct rb_node *first,
			     u32 level, u32 slot)
{
	struct rb_node *rb;

	for (rb = first; rb; rb = rb_next(rb)) {
		struct wheel_node *node = rb_entry(rb, struct wheel_node,
						   tree.rb);

		if (!walk_add(walk, node, node->tree.key, level, slot))
			return;
	}
}

/* For a kind of few slots: none is skipped. */
static inline u64 walk_every(const struct wheel *w, u64 slot)
{
	return slot;
}

/*
 * One step through the slots below @nr, of which pos[0] is the one to go on
 * with. @occupied gives the first slot in use from one on, that one included;
 * @add adds a slot's nodes. Both are compile-time constants.
 */
static __always_inline unsigned int
walk_slots(const struct wheel *w, struct wheel_walk *pos,
	   struct wheel_item *items, unsigned int max, u64 nr,
	   u64 (*occupied)(const struct wheel *w, u64 slot),
	   void (*add)(const struct wheel *w, struct walk *walk, u64 slot))
{
	struct walk walk = { .items = items, .max = max };

	for (; pos->pos[0] < nr; pos->pos[0]++) {
		pos->pos[0] = occupied(w, pos->pos[0]);
		walk.begin = walk.nr;
		add(w, &walk, pos->pos[0]);
		if (walk.left)
			break;
	}
	return walk.nr;
}

#endif /* _WHEEL_WALK_H */
