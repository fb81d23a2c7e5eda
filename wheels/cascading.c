// SPDX-License-Identifier: GPL-2.0
/*
 * cascading: levels of 64 slots, each level 64 times coarser, timers moving
 * down as their time comes near. Exact over the whole range of 64-bit ticks.
 *
 * Scheme 7 of Varghese & Lauck (SOSP 1987), placed by digits as Tokio does it;
 * Kafka's purgatory and the kernel before 4.8 are of the same family.
 *
 *	level 2   [  ][  ][ x][  ]...	4096 ticks a slot
 *	level 1   [  ][y ][  ][  ]...	  64 ticks a slot
 *	level 0   [a ][  ][ b][c ]...	   1 tick  a slot
 *	            ^ the clock's slot on each level: its digits
 *
 *	the clock enters the span of x's slot:	level 2   [  ][  ][  ][  ]
 *						level 1   [  ][  ][  ][ x]
 *	and later that of level 1:		level 0   [  ][ x][  ][  ]
 *
 * START_TIMER		O(1): one find-last-bit gives the level, then an append
 * STOP_TIMER		O(1): unlink
 * PER_TICK_BOOKKEEPING	nothing for an empty tick; else what expires, and what
 *			cascades: a timer moves at most levels - 1 times
 * EXPIRY_PROCESSING	O(1) a timer
 *
 * Choose it where timers must fire on their tick and most are cancelled
 * before their first cascade, or where order must be reproducible. Far timers
 * that do expire pay for each level; each move is a cache miss if the timers
 * lie scattered.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/numa.h>

#include "kinds.h"
#include "levels.h"
#include "lists.h"

struct cascading {
	struct wheel wheel;
	struct levels levels;
};

static inline struct cascading *to_cascading(const struct wheel *w)
{
	return container_of(w, struct cascading, wheel);
}

u64 cascading_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct levels *l = &to_cascading(w)->levels;

	if (unlikely(w->now == U64_MAX)) {
		levels_shelve(l, node);
		return WHEEL_NEVER;
	}
	return levels_add(l, w->now, wheel_fire_tick(w->now, node->expires),
			  node);
}

void cascading_dequeue(struct wheel *w, struct wheel_node *node)
{
	levels_del(&to_cascading(w)->levels, node);
}

u64 cascading_next(const struct wheel *w)
{
	return digits_next(&to_cascading(w)->levels.digits, w->now);
}

void cascading_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

/*
 * An overdue timer was placed for the tick after the clock: that is @first. A
 * timer that was moved lazily may want more than the slot's span: it then goes
 * to another slot of this level or of a higher one.
 */
static inline u64 cascading_key(const struct wheel_node *node, u64 first)
{
	return max(READ_ONCE(node->expires), first);
}

static inline void cascading_expire(struct wheel *w, struct wheel_batch *batch)
{
	levels_expire(&to_cascading(w)->levels, w, batch);
}

static inline bool cascading_cascade(struct wheel *w, unsigned int level,
				     u64 first, struct wheel_batch *batch)
{
	return levels_cascade(&to_cascading(w)->levels, level, first, w, batch,
			      cascading_key);
}

static noinline bool cascading_pass(struct wheel *w, u64 to,
				    struct wheel_batch *batch)
{
	return digits_pass(&to_cascading(w)->levels.digits, w, to, batch,
			   cascading_expire, cascading_cascade);
}

bool cascading_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return digits_quiet(&to_cascading(w)->levels.digits, w, to) ||
	       cascading_pass(w, to, batch);
}

static size_t cascading_size(const struct wheel_config *cfg)
{
	return sizeof(struct cascading) + levels_slots_size(LEVELS_MAX);
}

static int cascading_init(struct wheel *w, const struct wheel_config *cfg)
{
	levels_init(&to_cascading(w)->levels, LEVELS_MAX);
	return 0;
}

static void cascading_destroy(struct wheel *w)
{
}

static struct wheel_node *cascading_first(struct wheel *w)
{
	return levels_first(&to_cascading(w)->levels);
}

static u64 cascading_fires(const struct wheel *w, const struct wheel_node *node)
{
	const struct levels *l = &to_cascading(w)->levels;

	/* It may belong to the slot that is just being fired. */
	if (node->expires <= w->now && digits_wait(&l->digits, w->now))
		return w->now;
	return wheel_fire_tick(w->now, node->expires);
}

static inline void cascading_item(const struct wheel *w, unsigned int index,
				  struct wheel_item *item)
{
	const struct levels *l = &to_cascading(w)->levels;

	item->level = index / LEVEL_SLOTS;
	item->slot = index % LEVEL_SLOTS;
	item->tick = digits_slot_key(&l->digits, w->now, index);
	if (item->level == l->digits.nr)
		item->level = WHEEL_NO_LEVEL;
}

static unsigned int cascading_walk(const struct wheel *w,
				   struct wheel_walk *pos,
				   struct wheel_item *items, unsigned int max)
{
	const struct levels *l = &to_cascading(w)->levels;

	return lists_walk(w, l->slot, l->digits.nr * LEVEL_SLOTS + 1, pos, items, max,
			  cascading_item);
}

static void cascading_geometry(const struct wheel *w, struct wheel_geometry *g)
{
	g->levels = LEVELS_MAX;
	g->slots = LEVEL_SLOTS;
	g->width = 1;
	g->shift = WHEEL_LEVEL_BITS;
}

const struct wheel_ops cascading_ops = {
	.name = "cascading",
	.brief = "levels of 64 slots, timers cascade down; exact",
	.source = "Varghese & Lauck 1987, Scheme 7; Tokio, Kafka",
	.traits = WHEEL_EXACT | WHEEL_LAZY,
	.node_size = wheel_node_size(entry),
	.enqueue = cascading_enqueue,
	.dequeue = cascading_dequeue,
	.next = cascading_next,
	.advance = cascading_advance,
	.forward = cascading_forward,
	.size = cascading_size,
	.init = cascading_init,
	.destroy = cascading_destroy,
	.first = cascading_first,
	.fires = cascading_fires,
	.walk = cascading_walk,
	.geometry = cascading_geometry,
};
