// SPDX-License-Identifier: GPL-2.0
/*
 * rbtree: a balanced search tree in the order of firing, with the earliest
 * timer at hand. Exact over the whole range of 64-bit ticks.
 *
 * Scheme 3 of Varghese & Lauck (SOSP 1987), who name trees and heaps in one.
 * The tree is the kernel's own, as in hrtimer; nginx has the same. (hrtimer's
 * timerqueue compares signed numbers and so ends at 2^63.)
 *
 *			   (71)
 *			 /      \		black and red nodes, no path to a
 *		     (41)        (300)		leaf being twice as long as another
 *		    /    \            \
 *		 (41)     (52)         (9000)
 *		  ^ earliest, at hand
 *
 * START_TIMER		O(log n), and a rotation or two
 * STOP_TIMER		O(log n) at worst, O(1) rotations
 * PER_TICK_BOOKKEEPING	O(1): look at the leftmost
 * EXPIRY_PROCESSING	O(log n) a timer
 *
 * Choose it where most timers do expire, one at a time, at ticks as fine as
 * nanoseconds: nothing is moved and no tick is visited for nothing. A wheel
 * arms and cancels more cheaply, which is what most timers are for.
 *
 * A timer that is equal to others goes to their right: they fire in the order
 * in which they were armed.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/errno.h>
#include <linux/rbtree.h>

#include "exact.h"
#include "kinds.h"

struct rbtree {
	struct exact exact;
	struct rb_root_cached root;
};

static inline struct rbtree *to_rbtree(const struct wheel *w)
{
	return container_of(w, struct rbtree, exact.wheel);
}

static inline u64 rbtree_key(const struct wheel_node *node)
{
	return node->tree.key;
}

static inline struct wheel_node *rbtree_earliest(const struct wheel *w)
{
	struct rb_node *rb = rb_first_cached(&to_rbtree(w)->root);

	return rb ? rb_entry(rb, struct wheel_node, tree.rb) : NULL;
}

static inline bool rbtree_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct wheel_node, tree.rb)->tree.key <
	       rb_entry(b, struct wheel_node, tree.rb)->tree.key;
}

u64 rbtree_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct rbtree *r = to_rbtree(w);

	if (unlikely(w->now == U64_MAX))
		return exact_shelve(&r->exact, node);
	node->priv = 0;
	node->tree.key = wheel_fire_tick(w->now, node->expires);
	rb_add_cached(&node->tree.rb, &r->root, rbtree_less);
	return node->tree.key;
}

static inline void rbtree_take(struct wheel *w, struct wheel_node *node)
{
	rb_erase_cached(&node->tree.rb, &to_rbtree(w)->root);
}

void rbtree_dequeue(struct wheel *w, struct wheel_node *node)
{
	if (unlikely(node->priv == EXACT_SHELF))
		list_del(&node->entry);
	else
		rbtree_take(w, node);
}

u64 rbtree_next(const struct wheel *w)
{
	struct wheel_node *node = rbtree_earliest(w);

	return exact_next(w, node ? node->tree.key : WHEEL_NEVER);
}

bool rbtree_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return exact_advance(w, to, batch, rbtree_earliest, rbtree_key,
			     rbtree_take);
}

void rbtree_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

static size_t rbtree_size(const struct wheel_config *cfg)
{
	return sizeof(struct rbtree);
}

static int rbtree_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct rbtree *r = to_rbtree(w);

	exact_init(&r->exact);
	r->root = RB_ROOT_CACHED;
	return 0;
}

static void rbtree_destroy(struct wheel *w)
{
}

static struct wheel_node *rbtree_first(struct wheel *w)
{
	struct wheel_node *node = rbtree_earliest(w);

	return node ? node : exact_shelf_first(to_exact(w));
}

static u64 rbtree_fires(const struct wheel *w, const struct wheel_node *node)
{
	return exact_fires(node, node->tree.key);
}

static inline void rbtree_walk_slot(const struct wheel *w, struct walk *walk,
				    u64 slot)
{
	const struct rbtree *r = to_rbtree(w);

	if (slot == 0)
		walk_tree(walk, rb_first_cached(&r->root), 0, 0);
	else
		exact_walk_shelf(&r->exact, walk);
}

static unsigned int rbtree_walk(const struct wheel *w, struct wheel_walk *pos,
				struct wheel_item *items, unsigned int max)
{
	return walk_slots(w, pos, items, max, 2, walk_every,
			  rbtree_walk_slot);
}

const struct wheel_ops rbtree_ops = {
	.name = "rbtree",
	.brief = "the kernel's red-black tree, the earliest at hand",
	.source = "Varghese & Lauck 1987, Scheme 3; hrtimer, nginx",
	.traits = WHEEL_EXACT | WHEEL_ONE_STEP | WHEEL_LAZY,
	.node_size = wheel_node_size(tree),
	.enqueue = rbtree_enqueue,
	.dequeue = rbtree_dequeue,
	.next = rbtree_next,
	.advance = rbtree_advance,
	.forward = rbtree_forward,
	.size = rbtree_size,
	.init = rbtree_init,
	.destroy = rbtree_destroy,
	.first = rbtree_first,
	.fires = rbtree_fires,
	.walk = rbtree_walk,
	.geometry = exact_geometry,
};
