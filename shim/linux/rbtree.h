/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in: the calls of the kernel's rbtree over a treap, a
 * search tree that is also a heap by a hash of each node's address. Its depth
 * is logarithmic whatever the order of insertion, without a colour to keep.
 */
#ifndef _SHIM_LINUX_RBTREE_H
#define _SHIM_LINUX_RBTREE_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/types.h>

struct rb_node {
	struct rb_node *rb_parent;	/* NULL at the root; itself: unlinked */
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
	struct rb_node *rb_leftmost;
};

#define RB_ROOT			((struct rb_root) { NULL })
#define RB_ROOT_CACHED		((struct rb_root_cached) { { NULL }, NULL })
#define RB_EMPTY_ROOT(root)	(READ_ONCE((root)->rb_node) == NULL)
#define RB_EMPTY_NODE(node)	((node)->rb_parent == (node))
#define RB_CLEAR_NODE(node)	((node)->rb_parent = (node))
#define rb_parent(node)		((node)->rb_parent)
#define rb_entry(ptr, type, member)	container_of(ptr, type, member)
#define rb_entry_safe(ptr, type, member) ({				\
	__typeof__(ptr) shim_ptr = (ptr);				\
	shim_ptr ? rb_entry(shim_ptr, type, member) : NULL; })
#define rb_first_cached(root)	((root)->rb_leftmost)

static inline u64 shim_rb_rank(const struct rb_node *node)
{
	u64 x = (u64)(unsigned long)node;

	x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 29)) * 0xd1342543de82ef95ULL;
	return x ^ (x >> 32);
}

static inline struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *node = root->rb_node;

	while (node && node->rb_left)
		node = node->rb_left;
	return node;
}

static inline struct rb_node *rb_last(const struct rb_root *root)
{
	struct rb_node *node = root->rb_node;

	while (node && node->rb_right)
		node = node->rb_right;
	return node;
}

static inline struct rb_node *rb_next(const struct rb_node *node)
{
	const struct rb_root right = { node->rb_right };

	if (RB_EMPTY_NODE(node))
		return NULL;
	if (right.rb_node)
		return rb_first(&right);
	while (node->rb_parent && node == node->rb_parent->rb_right)
		node = node->rb_parent;
	return node->rb_parent;
}

static inline struct rb_node *rb_prev(const struct rb_node *node)
{
	const struct rb_root left = { node->rb_left };

	if (RB_EMPTY_NODE(node))
		return NULL;
	if (left.rb_node)
		return rb_last(&left);
	while (node->rb_parent && node == node->rb_parent->rb_left)
		node = node->rb_parent;
	return node->rb_parent;
}

/* What points at @node: the root, or a side of its parent. */
static inline struct rb_node **shim_rb_link(struct rb_node *node,
					    struct rb_root *root)
{
	struct rb_node *parent = node->rb_parent;

	if (!parent)
		return &root->rb_node;
	return parent->rb_left == node ? &parent->rb_left : &parent->rb_right;
}

/* @node changes places with its parent; the order stays as it is. */
static inline void shim_rb_raise(struct rb_node *node, struct rb_root *root)
{
	struct rb_node *parent = node->rb_parent;
	struct rb_node **link = shim_rb_link(parent, root);
	struct rb_node *inner;

	if (parent->rb_left == node) {
		inner = node->rb_right;
		parent->rb_left = inner;
		node->rb_right = parent;
	} else {
		inner = node->rb_left;
		parent->rb_right = inner;
		node->rb_left = parent;
	}
	if (inner)
		inner->rb_parent = parent;
	node->rb_parent = parent->rb_parent;
	parent->rb_parent = node;
	*link = node;
}

static inline void rb_link_node(struct rb_node *node, struct rb_node *parent,
				struct rb_node **link)
{
	node->rb_parent = parent;
	node->rb_left = NULL;
	node->rb_right = NULL;
	*link = node;
}

static inline void rb_insert_color(struct rb_node *node, struct rb_root *root)
{
	u64 rank = shim_rb_rank(node);

	while (node->rb_parent && shim_rb_rank(node->rb_parent) < rank)
		shim_rb_raise(node, root);
}

static inline void rb_insert_color_cached(struct rb_node *node,
					  struct rb_root_cached *root,
					  bool leftmost)
{
	if (leftmost)
		root->rb_leftmost = node;
	rb_insert_color(node, &root->rb_root);
}

static inline void rb_erase(struct rb_node *node, struct rb_root *root)
{
	struct rb_node *child;

	/* Let it sink until one side is free, then close the gap. */
	while (node->rb_left && node->rb_right) {
		if (shim_rb_rank(node->rb_left) > shim_rb_rank(node->rb_right))
			shim_rb_raise(node->rb_left, root);
		else
			shim_rb_raise(node->rb_right, root);
	}
	child = node->rb_left ? node->rb_left : node->rb_right;
	*shim_rb_link(node, root) = child;
	if (child)
		child->rb_parent = node->rb_parent;
}

static inline struct rb_node *rb_erase_cached(struct rb_node *node,
					      struct rb_root_cached *root)
{
	struct rb_node *leftmost = NULL;

	if (root->rb_leftmost == node) {
		leftmost = rb_next(node);
		root->rb_leftmost = leftmost;
	}
	rb_erase(node, &root->rb_root);
	return leftmost;
}

/* True where @node became the leftmost. Equal ones stay in insertion order. */
static inline bool shim_rb_add(struct rb_node *node, struct rb_root *root,
			       bool (*less)(struct rb_node *,
					    const struct rb_node *))
{
	struct rb_node **link = &root->rb_node;
	struct rb_node *parent = NULL;
	bool leftmost = true;

	while (*link) {
		parent = *link;
		if (less(node, parent)) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			leftmost = false;
		}
	}
	rb_link_node(node, parent, link);
	rb_insert_color(node, root);
	return leftmost;
}

static inline void rb_add(struct rb_node *node, struct rb_root *root,
			  bool (*less)(struct rb_node *,
				       const struct rb_node *))
{
	shim_rb_add(node, root, less);
}

static inline struct rb_node *rb_add_cached(struct rb_node *node,
					    struct rb_root_cached *root,
					    bool (*less)(struct rb_node *,
							 const struct rb_node *))
{
	if (!shim_rb_add(node, &root->rb_root, less))
		return NULL;
	root->rb_leftmost = node;
	return node;
}

#endif
