// SPDX-License-Identifier: GPL-2.0
/*
 * sorted: one list, in the order in which the timers will fire. Exact over the
 * whole range of 64-bit ticks.
 *
 * Scheme 2 of Varghese & Lauck (SOSP 1987): the timer queue of early UNIX
 * kernels and of VMS, and the event list of the first simulators. UNIX kept
 * differences between neighbours, so that a tick counts down one number; due
 * ticks do the same without the sum on the way in.
 *
 *	fires first						fires last
 *	 [ 41 ] <-> [ 41 ] <-> [ 52 ] <-> [ 71 ] <-> [ 300 ] <-> [ 9000 ]
 *	   |	      |		 |	    ^	     ^	     |		|
 *	   +--------->+--------->+--------->|	     |<------+<---------+
 *	   ^				    a new 100, searched from both ends
 *	   all that a tick looks at
 *
 * START_TIMER		O(n): a search, from both ends at once, since two chains
 *			of cache misses cost no more than one; O(1) for a timer
 *			that is due last, as all are where every delay is the
 *			same, and for one that is due first
 * STOP_TIMER		O(1): unlink
 * PER_TICK_BOOKKEEPING	O(1): look at the head
 * EXPIRY_PROCESSING	O(1) a timer
 *
 * Choose it where all delays are nearly equal, or where timers are few and
 * armed seldom, but expiry must be as short as can be.
 *
 * An arm cannot stop half-way, so the search must be bounded: see SORTED_MAX.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/errno.h>

#include "exact.h"
#include "kinds.h"

/*
 * The most timers: an arm looks at all of them at worst, with interrupts off.
 * That is 512 times two cache misses at once; a batch of WHEEL_BATCH timers
 * that fire, three misses each, is a third of it. WHEEL_BATCH arms in one hold
 * of a lock miss as often only once: so few timers stay in the cache, and the
 * rest is 2 * WHEEL_BATCH * 512 steps in it.
 */
#define SORTED_MAX	1024

struct sorted {
	struct exact exact;
	struct list_head nodes;
};

static inline struct sorted *to_sorted(const struct wheel *w)
{
	return container_of(w, struct sorted, exact.wheel);
}

static inline struct wheel_node *sorted_earliest(const struct wheel *w)
{
	return list_first_entry_or_null(&to_sorted(w)->nodes,
					struct wheel_node, list.entry);
}

static inline u64 sorted_key(const struct wheel_node *node)
{
	return node->list.key;
}

u64 sorted_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct sorted *s = to_sorted(w);
	struct wheel_node *early, *late;
	u64 key;

	if (unlikely(w->now == U64_MAX))
		return exact_shelve(&s->exact, node);
	key = wheel_fire_tick(w->now, node->expires);
	node->priv = 0;
	node->list.key = key;
	/* Behind the last that is not later, and so behind its equals. */
	early = list_first_entry(&s->nodes, struct wheel_node, list.entry);
	late = list_last_entry(&s->nodes, struct wheel_node, list.entry);
	while (!list_entry_is_head(late, &s->nodes, list.entry) &&
	       late->list.key > key && early->list.key <= key) {
		early = list_next_entry(early, list.entry);
		late = list_prev_entry(late, list.entry);
	}
	if (list_entry_is_head(late, &s->nodes, list.entry) ||
	    late->list.key <= key)
		list_add(&node->list.entry, &late->list.entry);
	else
		list_add_tail(&node->list.entry, &early->list.entry);
	return key;
}

void sorted_dequeue(struct wheel *w, struct wheel_node *node)
{
	/* From the shelf too: it is a list like the other. */
	list_del(&node->list.entry);
}

u64 sorted_next(const struct wheel *w)
{
	struct wheel_node *node = sorted_earliest(w);

	return exact_next(w, node ? node->list.key : WHEEL_NEVER);
}

bool sorted_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return exact_advance(w, to, batch, sorted_earliest, sorted_key,
			     sorted_dequeue);
}

void sorted_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

static size_t sorted_size(const struct wheel_config *cfg)
{
	return sizeof(struct sorted);
}

static int sorted_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct sorted *s = to_sorted(w);

	exact_init(&s->exact);
	INIT_LIST_HEAD(&s->nodes);
	return 0;
}

static void sorted_destroy(struct wheel *w)
{
}

static struct wheel_node *sorted_first(struct wheel *w)
{
	struct wheel_node *node = sorted_earliest(w);

	return node ? node : exact_shelf_first(to_exact(w));
}

static u64 sorted_fires(const struct wheel *w, const struct wheel_node *node)
{
	return exact_fires(node, node->list.key);
}

static inline void sorted_walk_slot(const struct wheel *w, struct walk *walk,
				    u64 slot)
{
	const struct sorted *s = to_sorted(w);
	struct wheel_node *node;

	if (slot) {
		exact_walk_shelf(&s->exact, walk);
		return;
	}
	list_for_each_entry(node, &s->nodes, list.entry)
		if (!walk_add(walk, node, node->list.key, 0, 0))
			return;
}

static unsigned int sorted_walk(const struct wheel *w, struct wheel_walk *pos,
				struct wheel_item *items, unsigned int max)
{
	return walk_slots(w, pos, items, max, 2, walk_every,
			  sorted_walk_slot);
}

const struct wheel_ops sorted_ops = {
	.name = "sorted",
	.brief = "a list in the order of firing",
	.source = "Varghese & Lauck 1987, Scheme 2",
	.traits = WHEEL_EXACT | WHEEL_ONE_STEP | WHEEL_BOUNDED | WHEEL_LAZY,
	.node_size = wheel_node_size(list),
	.max_timers = SORTED_MAX,
	.enqueue = sorted_enqueue,
	.dequeue = sorted_dequeue,
	.next = sorted_next,
	.advance = sorted_advance,
	.forward = sorted_forward,
	.size = sorted_size,
	.init = sorted_init,
	.destroy = sorted_destroy,
	.first = sorted_first,
	.fires = sorted_fires,
	.walk = sorted_walk,
	.geometry = exact_geometry,
};
