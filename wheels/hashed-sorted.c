// SPDX-License-Identifier: GPL-2.0
/*
 * hashed-sorted: a hash wheel whose slots are in order. Exact over the whole
 * range of 64-bit ticks, with any number of slots.
 *
 * Scheme 5 of Varghese & Lauck (SOSP 1987): the due tick modulo the number of
 * slots says in which slot a timer waits, whatever its turn; a slot is kept in
 * the order of firing, so that a tick looks at the slot's first timer only.
 *
 *	slots = 6, now = 4
 *
 *	[0]   6  12		6 and 12 are a turn apart: the first says whether
 *	[1]   7  13  61		the slot has anything for this turn
 *	[2]
 *	[3]   9
 *	[4] <- now
 *	[5]   5
 *
 * START_TIMER		O(log k) in a slot of k; O(1) where it is the slot's
 *			last; a match or two for its slot's first (tournament.h)
 * STOP_TIMER		the same
 * PER_TICK_BOOKKEEPING	nothing for an empty tick, nor for a slot whose first
 *			timer is for another turn
 * EXPIRY_PROCESSING	the cost of a stop
 *
 * Choose it where order matters more than the cost of an arm, and timers are
 * not many more than slots. It shows where Scheme 6 pays (a tick that looks
 * through a slot) and where this one does (an arm).
 *
 * The paper keeps a sorted list in a slot. A search through a list of any
 * length is no business of an arm with interrupts off, so here it is a search
 * tree that is entered from its tail, as the list would be: see ordered.h.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/errno.h>

#include "exact.h"
#include "kinds.h"
#include "ordered.h"
#include "tournament.h"

#define HASHED_SORTED_SLOTS_MAX	65536

struct hashed_sorted {
	struct exact exact;
	struct tournament first;	/* the slots, by their first key */
	u32 slots;
	struct ordered slot[];
};

static inline struct hashed_sorted *to_hashed_sorted(const struct wheel *w)
{
	return container_of(w, struct hashed_sorted, exact.wheel);
}

static inline u64 hashed_sorted_key(const struct wheel_node *node)
{
	return node->tree.key;
}

static inline struct wheel_node *hashed_sorted_earliest(const struct wheel *w)
{
	const struct hashed_sorted *h = to_hashed_sorted(w);

	return ordered_first(&h->slot[tournament_winner(&h->first)]);
}

u64 hashed_sorted_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct hashed_sorted *h = to_hashed_sorted(w);
	u64 key;

	if (unlikely(w->now == U64_MAX))
		return exact_shelve(&h->exact, node);
	key = wheel_fire_tick(w->now, node->expires);
	node->tree.key = key;
	node->priv = key % h->slots;
	if (ordered_add(&h->slot[node->priv], node))
		tournament_enter(&h->first, node->priv, key);
	return key;
}

static inline void hashed_sorted_take(struct wheel *w, struct wheel_node *node)
{
	struct hashed_sorted *h = to_hashed_sorted(w);
	struct ordered *slot = &h->slot[node->priv];

	if (ordered_del(slot, node))
		tournament_enter(&h->first, node->priv, ordered_key(slot));
}

void hashed_sorted_dequeue(struct wheel *w, struct wheel_node *node)
{
	if (unlikely(node->priv == EXACT_SHELF))
		list_del(&node->entry);
	else
		hashed_sorted_take(w, node);
}

u64 hashed_sorted_next(const struct wheel *w)
{
	return exact_next(w, tournament_key(&to_hashed_sorted(w)->first));
}

bool hashed_sorted_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return exact_advance(w, to, batch, hashed_sorted_earliest,
			     hashed_sorted_key, hashed_sorted_take);
}

void hashed_sorted_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

static size_t hashed_sorted_size(const struct wheel_config *cfg)
{
	return sizeof(struct hashed_sorted) +
	       cfg->slots * sizeof(struct ordered) +
	       tournament_size(cfg->slots);
}

static int hashed_sorted_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct hashed_sorted *h = to_hashed_sorted(w);

	exact_init(&h->exact);
	h->slots = cfg->slots;
	tournament_init(&h->first, h->slots, &h->slot[h->slots]);
	return 0;
}

static void hashed_sorted_destroy(struct wheel *w)
{
}

static struct wheel_node *hashed_sorted_first(struct wheel *w)
{
	struct wheel_node *node = hashed_sorted_earliest(w);

	return node ? node : exact_shelf_first(to_exact(w));
}

static u64 hashed_sorted_fires(const struct wheel *w,
			       const struct wheel_node *node)
{
	return exact_fires(node, node->tree.key);
}

static inline u64 hashed_sorted_walk_next(const struct wheel *w, u64 slot)
{
	const struct hashed_sorted *h = to_hashed_sorted(w);

	return slot < h->slots ?
	       min(tournament_next(&h->first, slot), h->slots) : slot;
}

static inline void hashed_sorted_walk_slot(const struct wheel *w,
					   struct walk *walk, u64 slot)
{
	const struct hashed_sorted *h = to_hashed_sorted(w);

	if (slot < h->slots)
		walk_tree(walk, rb_first_cached(&h->slot[slot].tree), 0, slot);
	else
		exact_walk_shelf(&h->exact, walk);
}

static unsigned int hashed_sorted_walk(const struct wheel *w,
				       struct wheel_walk *pos,
				       struct wheel_item *items,
				       unsigned int max)
{
	return walk_slots(w, pos, items, max, to_hashed_sorted(w)->slots + 1,
			  hashed_sorted_walk_next, hashed_sorted_walk_slot);
}

static void hashed_sorted_geometry(const struct wheel *w,
				   struct wheel_geometry *g)
{
	exact_geometry(w, g);
	g->slots = to_hashed_sorted(w)->slots;
}

const struct wheel_ops hashed_sorted_ops = {
	.name = "hashed-sorted",
	.brief = "hash wheel with slots in the order of firing",
	.source = "Varghese & Lauck 1987, Scheme 5",
	.traits = WHEEL_EXACT | WHEEL_ONE_STEP | WHEEL_LAZY,
	.node_size = wheel_node_size(tree),
	.slots = { .min = 2, .max = HASHED_SORTED_SLOTS_MAX, .def = 256 },
	.enqueue = hashed_sorted_enqueue,
	.dequeue = hashed_sorted_dequeue,
	.next = hashed_sorted_next,
	.advance = hashed_sorted_advance,
	.forward = hashed_sorted_forward,
	.size = hashed_sorted_size,
	.init = hashed_sorted_init,
	.destroy = hashed_sorted_destroy,
	.first = hashed_sorted_first,
	.fires = hashed_sorted_fires,
	.walk = hashed_sorted_walk,
	.geometry = hashed_sorted_geometry,
};
