/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set of nodes in order of key, and of arrival where keys are equal. It is
 * what a sorted list is to a slot, with a bound on the search: a search tree
 * with its two ends at hand, entered from its tail.
 *
 *	              20			a new 36: not after 40, up; not
 *	          /        \			after 35? it is, so below 40,
 *	        10          35			to its left
 *	       /  \       /    \
 *	      5    15   30     (40) <- last
 *	      ^ first
 *
 * The way up the right edge ends where the new key is no longer the smaller
 * one; from there it leads down. So a key that belongs d nodes from the tail
 * is placed in O(log d) steps, and the latest one, or one more of many that
 * are equal, in one. A sorted list, searched from the tail, takes d.
 *
 * Knows keys only (wheel_node.tree).
 */
#ifndef _WHEEL_ORDERED_H
#define _WHEEL_ORDERED_H

#include <linux/rbtree.h>
#include "wheel.h"

/**
 * struct ordered - the set; all zero when empty
 * @tree: the nodes, the first at hand
 * @last: the last one, NULL where there is none
 */
struct ordered {
	struct rb_root_cached tree;
	struct rb_node *last;
};

static inline struct wheel_node *ordered_node(struct rb_node *rb)
{
	return rb_entry(rb, struct wheel_node, tree.rb);
}

static inline struct wheel_node *ordered_first(const struct ordered *o)
{
	struct rb_node *rb = rb_first_cached(&o->tree);

	return rb ? ordered_node(rb) : NULL;
}

/* The first key, WHEEL_NEVER where there is none. */
static inline u64 ordered_key(const struct ordered *o)
{
	struct rb_node *rb = rb_first_cached(&o->tree);

	return rb ? ordered_node(rb)->tree.key : WHEEL_NEVER;
}

/* Add a node; true where it is the first now. */
static inline bool ordered_add(struct ordered *o, struct wheel_node *node)
{
	struct rb_node **link = &o->tree.rb_root.rb_node;
	struct rb_node *parent = o->last, *up;
	u64 key = node->tree.key;
	bool first = true;

	if (!parent) {
		o->last = &node->tree.rb;
	} else if (key >= ordered_node(parent)->tree.key) {
		link = &parent->rb_right;
		o->last = &node->tree.rb;
		first = false;
	} else {
		while ((up = rb_parent(parent)) &&
		       key < ordered_node(up)->tree.key)
			parent = up;
		if (up)
			first = false;
		link = &parent->rb_left;
		while (*link) {
			parent = *link;
			if (key < ordered_node(parent)->tree.key) {
				link = &parent->rb_left;
			} else {
				link = &parent->rb_right;
				first = false;
			}
		}
	}
	rb_link_node(&node->tree.rb, parent, link);
	rb_insert_color_cached(&node->tree.rb, &o->tree, first);
	return first;
}

/* Take a node out; true where it was the first. */
static inline bool ordered_del(struct ordered *o, struct wheel_node *node)
{
	bool first = rb_first_cached(&o->tree) == &node->tree.rb;

	if (o->last == &node->tree.rb)
		o->last = rb_prev(&node->tree.rb);
	rb_erase_cached(&node->tree.rb, &o->tree);
	return first;
}

/* Is there a node with this key? */
static inline bool ordered_has(const struct ordered *o, u64 key)
{
	struct rb_node *rb = o->tree.rb_root.rb_node;

	while (rb && ordered_node(rb)->tree.key != key)
		rb = key < ordered_node(rb)->tree.key ? rb->rb_left :
							rb->rb_right;
	return rb;
}

#endif /* _WHEEL_ORDERED_H */
