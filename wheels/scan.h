/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists without order, for the kinds that find what is due by looking at each
 * node: every slot of a hash wheel is such a list, and so is an overflow.
 *
 * A look through a list, a scan, stops when the budget is used up and goes on
 * where it stopped, whatever was added or taken out in between. What it finds
 *
 *	due now				is handed over, in the order of arming
 *	due no later than the tick to	is gathered in order of key, so that a jump
 *	which the clock was moving	looks at each node once, not once for each
 *	as the scan began		tick at which something fires
 *	due later			stays; the earliest of these is noted
 *
 * Nodes of one key keep their order: what is gathered was armed before what is
 * in the list with the same key, so it fires before it. A node that is armed
 * during the jump joins what is gathered only where the list has none so early.
 *
 * Knows lists and keys (wheel_node.tree), not what a list stands for.
 */
#ifndef _WHEEL_SCAN_H
#define _WHEEL_SCAN_H

#include "exact.h"
#include "ordered.h"

/* wheel_node.priv of a node that has been gathered; a kind uses smaller ones. */
#define SCAN_DUE	(EXACT_SHELF - 1)

/**
 * struct scan_list - a list that has to be scanned
 * @nodes: in the order of arming
 * @key: no node's key is earlier; WHEEL_NEVER where there is none
 * @vague: @key may be earlier than all of them
 */
struct scan_list {
	struct list_head nodes;
	u64 key;
	bool vague;
};

/**
 * struct scan - what a wheel knows of its scan, and what it has gathered
 * @list: the list being scanned, NULL for none. Its key is an earlier one's
 *	until the scan has ended.
 * @pos: what to look at next
 * @key: earliest key of what was seen and stays, WHEEL_NEVER for none
 * @vague: @key may be earlier than all of them
 * @horizon: the tick up to which the last scan gathers. It must not change
 *	during a scan: a node already seen could be older than one gathered.
 * @due: what was gathered
 */
struct scan {
	struct scan_list *list;
	struct list_head *pos;
	u64 key;
	bool vague;
	u64 horizon;
	struct ordered due;
};

static inline void scan_list_init(struct scan_list *list)
{
	INIT_LIST_HEAD(&list->nodes);
}

static inline struct wheel_node *scan_list_first(struct scan_list *list)
{
	return list_first_entry_or_null(&list->nodes, struct wheel_node,
					tree.entry);
}

/* Add a node, with its key, to a list or to what is gathered. */
static inline void scan_add(struct scan *s, struct scan_list *list,
			    struct wheel_node *node)
{
	u64 key = node->tree.key;

	if (key <= s->horizon && exact_before(key, list->key) &&
	    s->list != list) {
		node->priv = SCAN_DUE;
		ordered_add(&s->due, node);
		return;
	}
	list_add_tail(&node->tree.entry, &list->nodes);
	/* The scan may have lost what it was still to look at. */
	if (s->pos == &list->nodes)
		s->pos = &node->tree.entry;
	if (!exact_before(list->key, key)) {
		list->key = key;
		list->vague = false;
	}
}

/* The earliest has left. Look for the new one, but not for long. */
static inline void scan_list_look(struct scan_list *list)
{
	u64 key = WHEEL_NEVER;
	unsigned int looks = 0;
	struct wheel_node *node;

	list_for_each_entry(node, &list->nodes, tree.entry) {
		if (node->tree.key == list->key)
			return;
		if (looks++ == WHEEL_BATCH) {
			list->vague = true;
			return;
		}
		key = exact_earlier(key, node->tree.key);
	}
	list->key = key;
	list->vague = false;
}

/* Take a node out of its list, or of what is gathered. */
static inline void scan_del(struct scan *s, struct scan_list *list,
			    struct wheel_node *node)
{
	u64 key = node->tree.key;

	if (node->priv == SCAN_DUE) {
		ordered_del(&s->due, node);
		return;
	}
	if (s->pos == &node->tree.entry)
		s->pos = node->tree.entry.next;
	list_del(&node->tree.entry);
	if (s->list == list && !list_empty(&list->nodes)) {
		if (key == s->key)
			s->vague = true;
		return;
	}
	if (s->list == list) {
		s->list = NULL;
		s->pos = NULL;
	}
	if (key == list->key || list_empty(&list->nodes))
		scan_list_look(list);
}

static inline void scan_begin(struct scan *s, struct wheel *w,
			      struct scan_list *list, u64 to)
{
	s->list = list;
	s->horizon = to;
	s->pos = list->nodes.next;
	s->key = WHEEL_NEVER;
	s->vague = false;
	w->touched++;
}

/*
 * Go on with the scan; true when it has ended. @take, a compile-time constant,
 * unlinks a node and does something with it, or returns false.
 */
static __always_inline bool
scan_step(struct scan *s, struct wheel *w, struct wheel_batch *batch,
	  bool (*take)(struct wheel *w, struct wheel_node *node,
		       struct wheel_batch *batch))
{
	struct scan_list *list = s->list;

	while (s->pos != &list->nodes) {
		struct wheel_node *node = list_entry(s->pos, struct wheel_node,
						     tree.entry);

		if (batch->looked == batch->budget)
			return false;
		batch->looked++;
		s->pos = s->pos->next;
		if (take(w, node, batch))
			continue;
		if (node->tree.key <= s->horizon) {
			__list_del_entry(&node->tree.entry);
			node->priv = SCAN_DUE;
			ordered_add(&s->due, node);
			w->moved++;
		} else if (!exact_before(s->key, node->tree.key)) {
			s->key = node->tree.key;
			s->vague = false;
		}
	}
	/* What was seen may have been cancelled since, and all else has left. */
	list->vague = s->vague && !list_empty(&list->nodes);
	list->key = list_empty(&list->nodes) ? WHEEL_NEVER : s->key;
	s->list = NULL;
	s->pos = NULL;
	return true;
}

static inline void scan_walk_due(const struct scan *s, struct walk *walk)
{
	walk_tree(walk, rb_first_cached(&s->due.tree), WHEEL_NO_LEVEL, 0);
}

static inline void scan_walk_list(const struct scan_list *list,
				  struct walk *walk, u32 level, u32 slot)
{
	struct wheel_node *node;

	list_for_each_entry(node, &list->nodes, tree.entry)
		if (!walk_add(walk, node, node->tree.key, level, slot))
			return;
}

/* Hand over a node that is due at the tick that the clock shows. */
static inline bool scan_fire(struct wheel *w, struct wheel_node *node,
			     struct wheel_batch *batch)
{
	if (node->tree.key > w->now)
		return false;
	__list_del_entry(&node->tree.entry);
	batch->node[batch->nr++] = node;
	return true;
}

/* Hand over what was gathered for the tick that the clock shows. */
static inline void scan_fire_due(struct scan *s, struct wheel *w,
				 struct wheel_batch *batch)
{
	while (ordered_key(&s->due) == w->now &&
	       batch->looked < batch->budget) {
		struct wheel_node *node = ordered_first(&s->due);

		ordered_del(&s->due, node);
		batch->looked++;
		batch->node[batch->nr++] = node;
	}
}

/*
 * Advance for a kind all of whose nodes wait in such lists, each list being
 * scanned as the clock comes to its key. @earliest gives the list with the
 * earliest key, @scanned is told that a list's key has changed; both are
 * compile-time constants.
 */
static __always_inline bool
scan_advance(struct wheel *w, struct scan *s, u64 to, struct wheel_batch *batch,
	     struct scan_list *(*earliest)(struct wheel *w),
	     void (*scanned)(struct wheel *w, struct scan_list *list))
{
	struct scan_list *list;
	u64 due, key;

	for (;;) {
		list = s->list;
		if (list) {
			if (!scan_step(s, w, batch, scan_fire))
				return false;
			scanned(w, list);
		}
		list = earliest(w);
		due = ordered_key(&s->due);
		key = exact_earlier(due, list->key);
		if (key == WHEEL_NEVER || key > to) {
			/* All of a batch fires at one tick. */
			if (batch->nr && w->now != to)
				return false;
			w->now = to;
			if (!list->vague || key == due)
				return true;
			/* Know what is next before going to sleep. */
			scan_begin(s, w, list, to);
			continue;
		}
		if (batch->looked == batch->budget ||
		    (batch->nr && key > w->now))
			return false;
		if (key > w->now)
			w->now = key;
		if (key == due)
			scan_fire_due(s, w, batch);
		else
			scan_begin(s, w, list, to);
	}
}

#endif /* _WHEEL_SCAN_H */
