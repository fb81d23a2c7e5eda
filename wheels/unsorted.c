// SPDX-License-Identifier: GPL-2.0
/*
 * unsorted: one list, in the order of arming. To find what is due, look at
 * every timer. Exact over the whole range of 64-bit ticks.
 *
 * Scheme 1 of Varghese & Lauck (SOSP 1987), which is what one writes first and
 * what many small kernels never left. Theirs counts every timer down at each
 * tick; this one compares due ticks, so that a jump needs one look at each
 * timer and not one for each tick, and it remembers the earliest, so that a
 * tick at which nothing is due costs nothing.
 *
 *	armed first	  now = 40				armed last
 *	 [ 71 ] -> [ 41 ] -> [ 9000 ] -> [ 41 ] -> [ 52 ] -> [ 300 ]
 *	             ^ earliest             ^
 *	 at tick 41 all six are looked at; these two fire, in this order
 *
 * START_TIMER		O(1): append
 * STOP_TIMER		O(1): unlink
 * PER_TICK_BOOKKEEPING	O(n) for a tick at which something is due, in steps
 *			of the caller's budget; nothing for any other
 * EXPIRY_PROCESSING	O(1) a timer; O(log k) where a jump gathers k
 *
 * Choose it to see what the others save, or for a handful of timers: up to
 * ten or so, nothing is faster.
 *
 * What it cannot do in steps is to say which tick is next after the earliest
 * timer was cancelled. That is a look at each, at once, so their number is
 * bounded: see UNSORTED_MAX.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/errno.h>

#include "kinds.h"
#include "scan.h"

/*
 * The most timers: next looks at all of them at worst, with interrupts off.
 * That is so after the earliest timer has been cancelled, where the new one is
 * not among the first WHEEL_BATCH, and until the next advance.
 */
#define UNSORTED_MAX	1024

struct unsorted {
	struct exact exact;
	struct scan scan;
	struct scan_list list;
};

static inline struct unsorted *to_unsorted(const struct wheel *w)
{
	return container_of(w, struct unsorted, exact.wheel);
}

u64 unsorted_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct unsorted *u = to_unsorted(w);

	if (unlikely(w->now == U64_MAX))
		return exact_shelve(&u->exact, node);
	node->priv = 0;
	node->tree.key = wheel_fire_tick(w->now, node->expires);
	scan_add(&u->scan, &u->list, node);
	return node->tree.key;
}

void unsorted_dequeue(struct wheel *w, struct wheel_node *node)
{
	struct unsorted *u = to_unsorted(w);

	if (unlikely(node->priv == EXACT_SHELF))
		list_del(&node->entry);
	else
		scan_del(&u->scan, &u->list, node);
}

u64 unsorted_next(const struct wheel *w)
{
	const struct unsorted *u = to_unsorted(w);
	u64 key = u->list.key;
	struct wheel_node *node;

	/* The list's key is not to be relied on: look at once. */
	if (u->list.vague || u->scan.list) {
		key = WHEEL_NEVER;
		list_for_each_entry(node, &u->list.nodes, tree.entry)
			key = exact_earlier(key, node->tree.key);
	}
	return exact_next(w, exact_earlier(key, ordered_key(&u->scan.due)));
}

static inline struct scan_list *unsorted_earliest(struct wheel *w)
{
	return &to_unsorted(w)->list;
}

static inline void unsorted_scanned(struct wheel *w, struct scan_list *list)
{
}

bool unsorted_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return scan_advance(w, &to_unsorted(w)->scan, to, batch,
			    unsorted_earliest, unsorted_scanned);
}

void unsorted_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

static size_t unsorted_size(const struct wheel_config *cfg)
{
	return sizeof(struct unsorted);
}

static int unsorted_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct unsorted *u = to_unsorted(w);

	exact_init(&u->exact);
	scan_list_init(&u->list);
	return 0;
}

static void unsorted_destroy(struct wheel *w)
{
}

static struct wheel_node *unsorted_first(struct wheel *w)
{
	struct unsorted *u = to_unsorted(w);
	struct wheel_node *node = ordered_first(&u->scan.due);

	if (!node)
		node = scan_list_first(&u->list);
	return node ? node : exact_shelf_first(&u->exact);
}

static u64 unsorted_fires(const struct wheel *w, const struct wheel_node *node)
{
	return exact_fires(node, node->tree.key);
}

/* The list, and behind it what was gathered and what can never fire. */
static inline void unsorted_walk_slot(const struct wheel *w, struct walk *walk,
				      u64 slot)
{
	const struct unsorted *u = to_unsorted(w);

	if (slot == 0)
		scan_walk_list(&u->list, walk, 0, 0);
	else if (slot == 1)
		scan_walk_due(&u->scan, walk);
	else
		exact_walk_shelf(&u->exact, walk);
}

static unsigned int unsorted_walk(const struct wheel *w, struct wheel_walk *pos,
				  struct wheel_item *items, unsigned int max)
{
	return walk_slots(w, pos, items, max, 3, walk_every,
			  unsorted_walk_slot);
}

const struct wheel_ops unsorted_ops = {
	.name = "unsorted",
	.brief = "a list; what is due is found by looking at every timer",
	.source = "Varghese & Lauck 1987, Scheme 1",
	.traits = WHEEL_EXACT | WHEEL_ONE_STEP | WHEEL_SCANS |
		  WHEEL_BOUNDED | WHEEL_LAZY,
	.node_size = wheel_node_size(tree),
	.max_timers = UNSORTED_MAX,
	.enqueue = unsorted_enqueue,
	.dequeue = unsorted_dequeue,
	.next = unsorted_next,
	.advance = unsorted_advance,
	.forward = unsorted_forward,
	.size = unsorted_size,
	.init = unsorted_init,
	.destroy = unsorted_destroy,
	.first = unsorted_first,
	.fires = unsorted_fires,
	.walk = unsorted_walk,
	.geometry = exact_geometry,
};
