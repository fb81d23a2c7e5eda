// SPDX-License-Identifier: GPL-2.0
/*
 * heap: a binary heap of the timers themselves, the earliest at the top. Exact
 * over the whole range of 64-bit ticks.
 *
 * Scheme 3 of Varghese & Lauck (SOSP 1987). libuv, libevent and Go keep their
 * timers so (libevent and Go in an array, Go with four children to a node);
 * this one is built of pointers, as libuv's is: an array would have to be
 * grown, and the kernel cannot promise the memory to an arm.
 *
 *	position	1		   41.1		due tick . number of arming
 *			      /		\
 *		2, 3	    52.3	 41.6		a parent fires before its
 *			   /    \      /		children; brothers are in
 *		4 to 6	300.2  71.4  9000.5		no order
 *
 * The positions are full from 1 on, and the bits of a position, after the
 * first, are the way down to it: 6 is 110, so right, then left. That finds the
 * place for a new timer, and the last one, which fills the gap of any that
 * leaves; then it is raised or sunk to where it belongs.
 *
 * START_TIMER		O(log n), O(1) swaps on average
 * STOP_TIMER		O(log n)
 * PER_TICK_BOOKKEEPING	O(1): look at the top
 * EXPIRY_PROCESSING	O(log n) a timer
 *
 * Choose it where most timers expire and their number is moderate. It needs no
 * balancing and no rotations; but each expiry goes the whole way down, with a
 * cache miss for each step once the timers do not fit into a cache.
 *
 * A heap has no order among equals, so each timer carries the number of its
 * arming: those of one tick fire in that order.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/bitops.h>
#include <linux/errno.h>

#include "exact.h"
#include "kinds.h"

struct heap {
	struct exact exact;
	struct wheel_node *top;
	u64 nr;			/* nodes in the heap, also the last position */
	u64 armed;		/* number of the last arming */
};

static inline struct heap *to_heap(const struct wheel *w)
{
	return container_of(w, struct heap, exact.wheel);
}

static inline u64 heap_key(const struct wheel_node *node)
{
	return node->heap.key;
}

static inline struct wheel_node *heap_earliest(const struct wheel *w)
{
	return to_heap(w)->top;
}

static inline bool heap_less(const struct wheel_node *a,
			     const struct wheel_node *b)
{
	if (a->heap.key != b->heap.key)
		return a->heap.key < b->heap.key;
	return a->heap.seq < b->heap.seq;
}

/* What points at the node at a position, or would; @parent is the one above. */
static struct wheel_node **heap_position(struct heap *h, u64 position,
					 struct wheel_node **parent)
{
	struct wheel_node **link = &h->top;
	int bit;

	*parent = NULL;
	for (bit = fls64(position) - 2; bit >= 0; bit--) {
		*parent = *link;
		link = &(*link)->heap.child[position >> bit & 1];
	}
	return link;
}

/* What points at a node that is in the heap. */
static inline struct wheel_node **heap_link(struct heap *h,
					    struct wheel_node *node)
{
	struct wheel_node *parent = node->heap.parent;

	if (!parent)
		return &h->top;
	return &parent->heap.child[parent->heap.child[1] == node];
}

/* Tell the node's children, who were another's, where they are now. */
static inline void heap_adopt(struct wheel_node *node)
{
	int i;

	for (i = 0; i < 2; i++)
		if (node->heap.child[i])
			node->heap.child[i]->heap.parent = node;
}

/* A node and its parent change places. */
static void heap_swap_up(struct heap *h, struct wheel_node *node)
{
	struct wheel_node *parent = node->heap.parent;
	struct wheel_node *brother;
	int side = parent->heap.child[1] == node;

	brother = parent->heap.child[!side];
	*heap_link(h, parent) = node;
	node->heap.parent = parent->heap.parent;

	parent->heap.child[0] = node->heap.child[0];
	parent->heap.child[1] = node->heap.child[1];
	heap_adopt(parent);

	node->heap.child[side] = parent;
	node->heap.child[!side] = brother;
	heap_adopt(node);
}

static void heap_raise(struct heap *h, struct wheel_node *node)
{
	while (node->heap.parent && heap_less(node, node->heap.parent))
		heap_swap_up(h, node);
}

static void heap_sink(struct heap *h, struct wheel_node *node)
{
	struct wheel_node *child, *right;

	while ((child = node->heap.child[0])) {
		right = node->heap.child[1];
		if (right && heap_less(right, child))
			child = right;
		if (!heap_less(child, node))
			return;
		heap_swap_up(h, child);
	}
}

u64 heap_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct heap *h = to_heap(w);
	u64 key;

	if (unlikely(w->now == U64_MAX))
		return exact_shelve(&h->exact, node);
	key = wheel_fire_tick(w->now, node->expires);
	node->priv = 0;
	node->heap.key = key;
	node->heap.seq = ++h->armed;
	node->heap.child[0] = NULL;
	node->heap.child[1] = NULL;
	*heap_position(h, ++h->nr, &node->heap.parent) = node;
	heap_raise(h, node);
	return key;
}

static void heap_take(struct wheel *w, struct wheel_node *node)
{
	struct heap *h = to_heap(w);
	struct wheel_node **link, *last, *parent;

	link = heap_position(h, h->nr--, &parent);
	last = *link;
	*link = NULL;
	if (last == node)
		return;

	/* The last one takes its place, and belongs above it or below. */
	*heap_link(h, node) = last;
	last->heap.parent = node->heap.parent;
	last->heap.child[0] = node->heap.child[0];
	last->heap.child[1] = node->heap.child[1];
	heap_adopt(last);
	heap_raise(h, last);
	heap_sink(h, last);
}

void heap_dequeue(struct wheel *w, struct wheel_node *node)
{
	if (unlikely(node->priv == EXACT_SHELF))
		list_del(&node->entry);
	else
		heap_take(w, node);
}

u64 heap_next(const struct wheel *w)
{
	struct wheel_node *node = heap_earliest(w);

	return exact_next(w, node ? node->heap.key : WHEEL_NEVER);
}

bool heap_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return exact_advance(w, to, batch, heap_earliest, heap_key, heap_take);
}

void heap_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

static size_t heap_size(const struct wheel_config *cfg)
{
	return sizeof(struct heap);
}

static int heap_init(struct wheel *w, const struct wheel_config *cfg)
{
	exact_init(to_exact(w));
	return 0;
}

static void heap_destroy(struct wheel *w)
{
}

static struct wheel_node *heap_first(struct wheel *w)
{
	struct wheel_node *node = heap_earliest(w);

	return node ? node : exact_shelf_first(to_exact(w));
}

static u64 heap_fires(const struct wheel *w, const struct wheel_node *node)
{
	return exact_fires(node, node->heap.key);
}

/* In the order of positions, as an array would hold them. */
static inline void heap_walk_slot(const struct wheel *w, struct walk *walk,
				  u64 slot)
{
	struct heap *h = to_heap(w);
	struct wheel_node *node, *parent;
	u64 i;

	if (slot) {
		exact_walk_shelf(&h->exact, walk);
		return;
	}
	for (i = 1; i <= h->nr; i++) {
		node = *heap_position(h, i, &parent);
		if (!walk_add(walk, node, node->heap.key, 0, 0))
			return;
	}
}

static unsigned int heap_walk(const struct wheel *w, struct wheel_walk *pos,
			      struct wheel_item *items, unsigned int max)
{
	return walk_slots(w, pos, items, max, 2, walk_every,
			  heap_walk_slot);
}

const struct wheel_ops heap_ops = {
	.name = "heap",
	.brief = "binary heap of the timers themselves",
	.source = "Varghese & Lauck 1987, Scheme 3; libuv, libevent, Go",
	.traits = WHEEL_EXACT | WHEEL_ONE_STEP | WHEEL_LAZY,
	.node_size = wheel_node_size(heap),
	.enqueue = heap_enqueue,
	.dequeue = heap_dequeue,
	.next = heap_next,
	.advance = heap_advance,
	.forward = heap_forward,
	.size = heap_size,
	.init = heap_init,
	.destroy = heap_destroy,
	.first = heap_first,
	.fires = heap_fires,
	.walk = heap_walk,
	.geometry = exact_geometry,
};
