/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the exact kinds without levels have in common: the key of a node, which
 * is the tick at which it fires; the shelf, for nodes that never will; and the
 * advance of the kinds that always know their earliest node. How a kind finds
 * that node, it is told.
 */
#ifndef _WHEEL_EXACT_H
#define _WHEEL_EXACT_H

#include <linux/kernel.h>
#include <linux/list.h>
#include "walk.h"
#include "wheel.h"

/**
 * struct exact - what such a wheel begins with
 * @wheel: what every wheel begins with
 * @shelf: nodes that were armed when the clock had ended
 */
struct exact {
	struct wheel wheel;
	struct list_head shelf;
};

/* wheel_node.priv of a node on the shelf; a kind uses smaller numbers. */
#define EXACT_SHELF	U32_MAX

static inline struct exact *to_exact(const struct wheel *w)
{
	return container_of(w, struct exact, wheel);
}

static inline void exact_init(struct exact *x)
{
	INIT_LIST_HEAD(&x->shelf);
}

/* Put away a node whose time can never come; what enqueue returns then. */
static inline u64 exact_shelve(struct exact *x, struct wheel_node *node)
{
	node->priv = EXACT_SHELF;
	list_add_tail(&node->entry, &x->shelf);
	return WHEEL_NEVER;
}

static inline struct wheel_node *exact_shelf_first(struct exact *x)
{
	return list_first_entry_or_null(&x->shelf, struct wheel_node, entry);
}

static inline void exact_walk_shelf(const struct exact *x, struct walk *walk)
{
	walk_list(walk, &x->shelf, WHEEL_NEVER, WHEEL_NO_LEVEL, 0);
}

/* The geometry of a kind that has no slots. */
static inline void exact_geometry(const struct wheel *w,
				  struct wheel_geometry *g)
{
	g->levels = 1;
	g->slots = 1;
	g->width = 1;
	g->shift = 0;
}

/* When a node fires that is queued with this key. */
static inline u64 exact_fires(const struct wheel_node *node, u64 key)
{
	return node->priv == EXACT_SHELF ? WHEEL_NEVER : key;
}

/* Is key @a before @b? WHEEL_NEVER is after all others: 0 - 1 is greatest. */
static inline bool exact_before(u64 a, u64 b)
{
	return a - 1 < b - 1;
}

static inline u64 exact_earlier(u64 a, u64 b)
{
	return exact_before(a, b) ? a : b;
}

/*
 * What next returns where @key is the earliest. A part of the clock's own tick
 * may still wait: then it is the very next one, and none after the last.
 */
static inline u64 exact_next(const struct wheel *w, u64 key)
{
	return key == WHEEL_NEVER || key > w->now ? key : w->now + 1;
}

/*
 * Advance for a kind that knows its earliest node: @first gives it, @key is
 * its key, @take takes it out. All three are compile-time constants: no call
 * is made through them. What is armed while a part of a tick waits has a later
 * key than that tick, so it cannot fire among what is left.
 */
static __always_inline bool
exact_advance(struct wheel *w, u64 to, struct wheel_batch *batch,
	      struct wheel_node *(*first)(const struct wheel *w),
	      u64 (*key)(const struct wheel_node *node),
	      void (*take)(struct wheel *w, struct wheel_node *node))
{
	struct wheel_node *node = first(w);

	if (!node || key(node) > to) {
		w->now = to;
		return true;
	}
	if (key(node) > w->now) {
		w->now = key(node);
		w->touched++;
	}
	do {
		if (batch->looked == batch->budget)
			return false;
		batch->looked++;
		take(w, node);
		batch->node[batch->nr++] = node;
		node = first(w);
	} while (node && key(node) == w->now);
	return w->now == to;
}

#endif /* _WHEEL_EXACT_H */
