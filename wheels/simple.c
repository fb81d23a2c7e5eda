// SPDX-License-Identifier: GPL-2.0
/*
 * simple: the basic wheel. One slot for each tick of a turn; what is due after
 * this turn waits in an overflow list. Exact over the whole range of 64-bit
 * ticks.
 *
 * Scheme 4 of Varghese & Lauck (SOSP 1987), who took it from the time wheels
 * of logic simulators, overflow list included (there it is looked through once
 * a turn, as here).
 *
 *	the turn from tick 40 to 47, now = 42		overflow, as armed
 *
 *	 40   41   42   43   44   45   46   47
 *	[  ] [  ] [  ] [a ] [  ] [  ] [bc] [  ]		59 -> 48 -> 9000 -> 51
 *	           ^ now
 *
 *	the turn from 48 to 55 begins: the list is looked through once
 *
 *	[48] [  ] [  ] [51] [  ] [  ] [  ] [  ]		59 -> 9000
 *
 * START_TIMER		O(1): append to a slot, or to the overflow
 * STOP_TIMER		O(1): unlink; up to 64 looks where it was the earliest
 *			of the overflow
 * PER_TICK_BOOKKEEPING	nothing for an empty tick (a bitmap of the slots); as a
 *			turn begins, a look at each timer in the overflow, in
 *			steps of the caller's budget, but only where one of
 *			them is due in that turn
 * EXPIRY_PROCESSING	O(1) a timer; O(log k) where a jump of several turns
 *			gathers k
 *
 * Choose it where nearly all delays are shorter than a turn that one can
 * afford the slots for: then nothing is cheaper, and it needs no division.
 *
 * All timers of one tick are in one place at a time, in the order of arming:
 * in the overflow until their turn begins, then in their slot. So that it stays
 * so, what is armed while the overflow is being looked through joins its tail.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/bitmap.h>
#include <linux/errno.h>

#include "kinds.h"
#include "scan.h"

#define SIMPLE_SLOTS_MAX	65536
#define SIMPLE_WORDS_MAX	(SIMPLE_SLOTS_MAX / BITS_PER_LONG)

/* wheel_node.priv is the slot's number; SCAN_DUE, EXACT_SHELF; or this one: */
#define SIMPLE_OVERFLOW		SIMPLE_SLOTS_MAX

struct simple {
	struct exact exact;
	u64 begin;		/* first tick of the turn */
	u64 end;		/* its last */
	u32 slots;
	bool opening;		/* the turn's timers still have to be fetched */
	struct scan scan;
	struct scan_list overflow;
	unsigned long *occupied;	/* a bit for each slot */
	DECLARE_BITMAP(words, SIMPLE_WORDS_MAX);	/* one for each word */
	struct list_head slot[];
};

static inline struct simple *to_simple(const struct wheel *w)
{
	return container_of(w, struct simple, exact.wheel);
}

/* The first occupied slot from @slot on; the number of slots if none is. */
static inline u32 simple_occupied(const struct simple *s, u32 slot)
{
	u32 word = slot / BITS_PER_LONG;
	unsigned long bits;

	if (slot >= s->slots)
		return s->slots;
	bits = s->occupied[word] & (~0UL << slot % BITS_PER_LONG);
	if (!bits) {
		word = find_next_bit(s->words, SIMPLE_WORDS_MAX, word + 1);
		if (word == SIMPLE_WORDS_MAX)
			return s->slots;
		bits = s->occupied[word];
	}
	return word * BITS_PER_LONG + __ffs(bits);
}

static inline void simple_append(struct simple *s, struct wheel_node *node)
{
	u32 slot = node->tree.key - s->begin;

	node->priv = slot;
	list_add_tail(&node->tree.entry, &s->slot[slot]);
	__set_bit(slot, s->occupied);
	__set_bit(slot / BITS_PER_LONG, s->words);
}

/* After a node has left a slot. */
static inline void simple_left(struct simple *s, u32 slot)
{
	if (!list_empty(&s->slot[slot]))
		return;
	__clear_bit(slot, s->occupied);
	if (!s->occupied[slot / BITS_PER_LONG])
		__clear_bit(slot / BITS_PER_LONG, s->words);
}

/* The earliest key outside the slots. */
static inline u64 simple_far_key(const struct simple *s)
{
	return exact_earlier(ordered_key(&s->scan.due), s->overflow.key);
}

static inline u64 simple_earliest(const struct simple *s)
{
	u32 slot = simple_occupied(s, 0);

	if (slot == s->slots)
		return simple_far_key(s);
	/* Some of the turn may not have been fetched. */
	if (unlikely(s->opening))
		return exact_earlier(s->begin + slot, simple_far_key(s));
	return s->begin + slot;
}

u64 simple_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct simple *s = to_simple(w);

	if (unlikely(w->now == U64_MAX))
		return exact_shelve(&s->exact, node);
	node->tree.key = wheel_fire_tick(w->now, node->expires);
	if (likely(node->tree.key <= s->end && !s->opening)) {
		simple_append(s, node);
	} else {
		node->priv = SIMPLE_OVERFLOW;
		scan_add(&s->scan, &s->overflow, node);
	}
	return node->tree.key;
}

void simple_dequeue(struct wheel *w, struct wheel_node *node)
{
	struct simple *s = to_simple(w);

	if (likely(node->priv < SIMPLE_OVERFLOW)) {
		list_del(&node->tree.entry);
		simple_left(s, node->priv);
	} else if (node->priv == EXACT_SHELF) {
		list_del(&node->entry);
	} else {
		scan_del(&s->scan, &s->overflow, node);
	}
}

u64 simple_next(const struct wheel *w)
{
	return exact_next(w, simple_earliest(to_simple(w)));
}

/* Turn to the turn of @tick; what is due in it has to be fetched. */
static void simple_turn(struct simple *s, u64 tick)
{
	s->begin = tick - tick % s->slots;
	s->end = s->begin + (s->slots - 1);
	if (s->end < s->begin)
		s->end = U64_MAX;
	s->opening = true;
}

static inline bool simple_fetch(struct wheel *w, struct wheel_node *node,
				struct wheel_batch *batch)
{
	struct simple *s = to_simple(w);

	if (node->tree.key > s->end)
		return false;
	__list_del_entry(&node->tree.entry);
	simple_append(s, node);
	w->moved++;
	return true;
}

/*
 * Fetch what is due in this turn: what was gathered first, since it was armed
 * first, then what is in the overflow. True when that is done.
 */
static bool simple_open(struct simple *s, u64 to, struct wheel_batch *batch)
{
	struct wheel *w = &s->exact.wheel;
	struct ordered *due = &s->scan.due;
	u64 key = ordered_key(due);

	while (key != WHEEL_NEVER && key <= s->end) {
		struct wheel_node *node = ordered_first(due);

		if (batch->looked == batch->budget)
			return false;
		batch->looked++;
		ordered_del(due, node);
		simple_append(s, node);
		w->moved++;
		key = ordered_key(due);
	}
	key = s->overflow.key;
	if (key != WHEEL_NEVER && key <= s->end) {
		scan_begin(&s->scan, w, &s->overflow, to);
		if (!scan_step(&s->scan, w, batch, simple_fetch))
			return false;
	}
	s->opening = false;
	return true;
}

/* Hand over the slot of the tick that the clock shows. */
static void simple_expire(struct simple *s, u32 slot, struct wheel_batch *batch)
{
	struct list_head *head = &s->slot[slot];

	while (!list_empty(head) && batch->looked < batch->budget) {
		struct wheel_node *node = list_first_entry(head,
							   struct wheel_node,
							   tree.entry);

		__list_del_entry(&node->tree.entry);
		batch->looked++;
		batch->node[batch->nr++] = node;
	}
	simple_left(s, slot);
}

bool simple_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	struct simple *s = to_simple(w);
	u64 key;

	for (;;) {
		if (s->scan.list &&
		    !scan_step(&s->scan, w, batch, simple_fetch))
			return false;
		if (s->opening && !simple_open(s, to, batch))
			return false;

		key = simple_earliest(s);
		if (key == WHEEL_NEVER || key > to) {
			/* All of a batch fires at one tick. */
			if (batch->nr && w->now != to)
				return false;
			w->now = to;
			if (to > s->end)
				simple_turn(s, to);
			else if (s->overflow.vague && key == s->overflow.key &&
				 simple_occupied(s, 0) == s->slots)
				/* Know what is next before going to sleep. */
				scan_begin(&s->scan, w, &s->overflow, to);
			else
				return true;
			continue;
		}
		if (batch->looked == batch->budget ||
		    (batch->nr && key > w->now))
			return false;
		if (key <= s->end) {
			if (key > w->now) {
				w->now = key;
				w->touched++;
			}
			simple_expire(s, key - s->begin, batch);
		} else {
			/* The clock stops short of the turn while it opens. */
			simple_turn(s, key);
			w->now = max(w->now, s->begin - 1);
		}
	}
}

void simple_forward(struct wheel *w, u64 to)
{
	struct simple *s = to_simple(w);
	u64 key = simple_far_key(s);

	w->now = to;
	if (to <= s->end)
		return;
	/* Where something must be fetched, the next advance will do so. */
	simple_turn(s, to);
	s->opening = key != WHEEL_NEVER && key <= s->end;
}

static size_t simple_size(const struct wheel_config *cfg)
{
	return sizeof(struct simple) + cfg->slots * sizeof(struct list_head) +
	       BITS_TO_LONGS(cfg->slots) * sizeof(long);
}

static int simple_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct simple *s = to_simple(w);
	u32 i;

	exact_init(&s->exact);
	scan_list_init(&s->overflow);
	s->slots = cfg->slots;
	s->occupied = (unsigned long *)&s->slot[s->slots];
	for (i = 0; i < s->slots; i++)
		INIT_LIST_HEAD(&s->slot[i]);
	simple_turn(s, cfg->start);
	s->opening = false;
	return 0;
}

static void simple_destroy(struct wheel *w)
{
}

/* In the order in which the timers of one tick were armed, if in three places. */
static struct wheel_node *simple_first(struct wheel *w)
{
	struct simple *s = to_simple(w);
	u32 slot = simple_occupied(s, 0);
	struct wheel_node *node;

	if (slot < s->slots)
		return list_first_entry(&s->slot[slot], struct wheel_node,
					tree.entry);
	node = ordered_first(&s->scan.due);
	if (!node)
		node = scan_list_first(&s->overflow);
	return node ? node : exact_shelf_first(&s->exact);
}

static u64 simple_fires(const struct wheel *w, const struct wheel_node *node)
{
	return exact_fires(node, node->tree.key);
}

static inline u64 simple_walk_next(const struct wheel *w, u64 slot)
{
	const struct simple *s = to_simple(w);

	return slot < s->slots ? simple_occupied(s, slot) : slot;
}

/* Behind the slots: what was gathered, the overflow, the shelf. */
static inline void simple_walk_slot(const struct wheel *w, struct walk *walk,
				    u64 slot)
{
	const struct simple *s = to_simple(w);

	if (slot < s->slots)
		walk_list(walk, &s->slot[slot], s->begin + slot, 0, slot);
	else if (slot == s->slots)
		scan_walk_due(&s->scan, walk);
	else if (slot == s->slots + 1)
		scan_walk_list(&s->overflow, walk, WHEEL_NO_LEVEL, 0);
	else
		exact_walk_shelf(&s->exact, walk);
}

static unsigned int simple_walk(const struct wheel *w, struct wheel_walk *pos,
				struct wheel_item *items, unsigned int max)
{
	return walk_slots(w, pos, items, max, to_simple(w)->slots + 3,
			  simple_walk_next, simple_walk_slot);
}

static void simple_geometry(const struct wheel *w, struct wheel_geometry *g)
{
	exact_geometry(w, g);
	g->slots = to_simple(w)->slots;
}

const struct wheel_ops simple_ops = {
	.name = "simple",
	.brief = "a slot for each tick of a turn, and an overflow list",
	.source = "Varghese & Lauck 1987, Scheme 4",
	.traits = WHEEL_EXACT | WHEEL_SCANS | WHEEL_LAZY,
	.node_size = wheel_node_size(tree),
	.slots = { .min = 2, .max = SIMPLE_SLOTS_MAX, .def = 256 },
	.enqueue = simple_enqueue,
	.dequeue = simple_dequeue,
	.next = simple_next,
	.advance = simple_advance,
	.forward = simple_forward,
	.size = simple_size,
	.init = simple_init,
	.destroy = simple_destroy,
	.first = simple_first,
	.fires = simple_fires,
	.walk = simple_walk,
	.geometry = simple_geometry,
};
