// SPDX-License-Identifier: GPL-2.0
/*
 * hashed: a hash wheel whose slots are in no order. Exact over the whole range
 * of 64-bit ticks, with any number of slots.
 *
 * Scheme 6 of Varghese & Lauck (SOSP 1987); Netty's HashedWheelTimer, and the
 * six-slot wheel on which the subject is usually taught. The due tick modulo
 * the number of slots says in which slot a timer waits; how many turns it has
 * to wait, its rounds, says when. At the end of a slot's list is the place of
 * a new timer, and a visit looks at all of the list.
 *
 *	slots = 6, now = 4
 *
 *	[0]   12   6		the visit at 6 fires 6 and leaves 12 for the next
 *	[1]   61   7  13
 *	[2]
 *	[3]   9
 *	[4] <- now
 *	[5]   5
 *
 * START_TIMER		O(1): one division, an append; a match or two where it is
 *			the slot's earliest (tournament.h)
 * STOP_TIMER		O(1): unlink; where it was the slot's earliest, up to 64
 *			looks and a match or two
 * PER_TICK_BOOKKEEPING	nothing for an empty tick, nor for a slot that has
 *			nothing for this turn; else a look at each timer of the
 *			slot, n / slots of them on average
 * EXPIRY_PROCESSING	O(1) a timer; O(log k) where a jump of several turns
 *			gathers k
 *
 * Choose it where slots are about as many as timers, or where delays are
 * shorter than a turn: then a visit looks at little that it does not fire. With
 * too few slots each tick pays for all the timers that are not due.
 *
 * Rounds are not stored and counted down, as they usually are: they are what
 * the due tick says. So a delay of any length has its place, a multiple of the
 * number of slots is neither early nor a turn late, and a jump over any number
 * of turns costs one look at each timer.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/errno.h>

#include "kinds.h"
#include "scan.h"
#include "tournament.h"

#define HASHED_SLOTS_MAX	65536	/* wheel_node.priv is the slot's number */

struct hashed {
	struct exact exact;
	struct scan scan;
	struct tournament first;	/* the slots, by their key */
	u32 slots;
	struct scan_list slot[];
};

static inline struct hashed *to_hashed(const struct wheel *w)
{
	return container_of(w, struct hashed, exact.wheel);
}

/* A slot's key may have changed. */
static inline void hashed_enter(struct hashed *h, struct scan_list *list)
{
	tournament_enter(&h->first, list - h->slot, list->key);
}

u64 hashed_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct hashed *h = to_hashed(w);
	struct scan_list *list;

	if (unlikely(w->now == U64_MAX))
		return exact_shelve(&h->exact, node);
	node->tree.key = wheel_fire_tick(w->now, node->expires);
	node->priv = node->tree.key % h->slots;
	list = &h->slot[node->priv];
	scan_add(&h->scan, list, node);
	hashed_enter(h, list);
	return node->tree.key;
}

void hashed_dequeue(struct wheel *w, struct wheel_node *node)
{
	struct hashed *h = to_hashed(w);
	struct scan_list *list;

	if (node->priv == EXACT_SHELF) {
		list_del(&node->entry);
	} else if (node->priv == SCAN_DUE) {
		scan_del(&h->scan, NULL, node);
	} else {
		list = &h->slot[node->priv];
		scan_del(&h->scan, list, node);
		hashed_enter(h, list);
	}
}

u64 hashed_next(const struct wheel *w)
{
	const struct hashed *h = to_hashed(w);

	return exact_next(w, exact_earlier(ordered_key(&h->scan.due),
					   tournament_key(&h->first)));
}

static inline struct scan_list *hashed_earliest(struct wheel *w)
{
	struct hashed *h = to_hashed(w);

	return &h->slot[tournament_winner(&h->first)];
}

static inline void hashed_scanned(struct wheel *w, struct scan_list *list)
{
	hashed_enter(to_hashed(w), list);
}

bool hashed_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return scan_advance(w, &to_hashed(w)->scan, to, batch, hashed_earliest,
			    hashed_scanned);
}

void hashed_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

static size_t hashed_size(const struct wheel_config *cfg)
{
	return sizeof(struct hashed) + cfg->slots * sizeof(struct scan_list) +
	       tournament_size(cfg->slots);
}

static int hashed_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct hashed *h = to_hashed(w);
	u32 i;

	exact_init(&h->exact);
	h->slots = cfg->slots;
	for (i = 0; i < h->slots; i++)
		scan_list_init(&h->slot[i]);
	tournament_init(&h->first, h->slots, &h->slot[h->slots]);
	return 0;
}

static void hashed_destroy(struct wheel *w)
{
}

/* What was gathered comes first: it was armed before its equals in a slot. */
static struct wheel_node *hashed_first(struct wheel *w)
{
	struct hashed *h = to_hashed(w);
	struct wheel_node *node = ordered_first(&h->scan.due);

	if (!node)
		node = scan_list_first(hashed_earliest(w));
	return node ? node : exact_shelf_first(&h->exact);
}

static u64 hashed_fires(const struct wheel *w, const struct wheel_node *node)
{
	return exact_fires(node, node->tree.key);
}

static inline u64 hashed_walk_next(const struct wheel *w, u64 slot)
{
	const struct hashed *h = to_hashed(w);

	return slot < h->slots ?
	       min(tournament_next(&h->first, slot), h->slots) : slot;
}

/* Behind the slots: what was gathered, the shelf. */
static inline void hashed_walk_slot(const struct wheel *w, struct walk *walk,
				    u64 slot)
{
	const struct hashed *h = to_hashed(w);

	if (slot < h->slots)
		walk_list(walk, &h->slot[slot].nodes, h->slot[slot].key, 0,
			  slot);
	else if (slot == h->slots)
		scan_walk_due(&h->scan, walk);
	else
		exact_walk_shelf(&h->exact, walk);
}

static unsigned int hashed_walk(const struct wheel *w, struct wheel_walk *pos,
				struct wheel_item *items, unsigned int max)
{
	return walk_slots(w, pos, items, max, to_hashed(w)->slots + 2,
			  hashed_walk_next, hashed_walk_slot);
}

static void hashed_geometry(const struct wheel *w, struct wheel_geometry *g)
{
	exact_geometry(w, g);
	g->slots = to_hashed(w)->slots;
}

const struct wheel_ops hashed_ops = {
	.name = "hashed",
	.brief = "hash wheel with unsorted slots; rounds from the due tick",
	.source = "Varghese & Lauck 1987, Scheme 6; Netty",
	.traits = WHEEL_EXACT | WHEEL_SCANS | WHEEL_LAZY,
	.node_size = wheel_node_size(tree),
	.slots = { .min = 2, .max = HASHED_SLOTS_MAX, .def = 256 },
	.enqueue = hashed_enqueue,
	.dequeue = hashed_dequeue,
	.next = hashed_next,
	.advance = hashed_advance,
	.forward = hashed_forward,
	.size = hashed_size,
	.init = hashed_init,
	.destroy = hashed_destroy,
	.first = hashed_first,
	.fires = hashed_fires,
	.walk = hashed_walk,
	.geometry = hashed_geometry,
};
