// SPDX-License-Identifier: GPL-2.0
/*
 * cascade-once: levels of 64 slots, each level 64 times coarser; as the clock
 * enters the span of a coarse slot its timers move once, all the way, into an
 * ordered structure, and fire from there. Exact over the whole range of ticks.
 *
 * After Wick Nichols, whose remark Varghese & Lauck print with their Scheme 7:
 * a timer may migrate once only, to the level below, and fire with the
 * precision that it has there. This one gives up no precision: what it moves to
 * is ordered by due tick and by age.
 *
 *	level 2   [  ][  ][ x][  ]...	the clock enters the span of a slot with
 *				|	x = 9 2 5 2 7: it leaves the level as a
 *				v	sorted run, the first of which
 *	runs	   2-2-5-7-9		stands in a search tree of runs:
 *
 *			 3-4-8				  fires 2, 2 and then
 *			/     \				  waits with its 5
 *	  2-2-5-7-9		5-6			  behind 3-4-8
 *	  ^ the first of all
 *
 *	level 1   [  ][y ][  ][  ]...	y moves to the slot of its tick: 64 of
 *	level 0   [a ][  ][ b][c ]...	them are an ordered structure too
 *
 * The structure is made of sorted runs, each as many timers as one step of
 * advance may look at, 64 at most. They are sorted while they are in the cache
 * anyway. In the tree stands only the first timer of each run, so of n timers
 * that wait there it has n / 64 nodes, which are touched often and stay in the
 * cache, whereas a tree of the timers themselves would be a row of misses deep.
 *
 * Timers of one tick fire in the order of arming: those that waited on a
 * higher level were armed before the clock entered that span, and those that
 * wait on a lower one after it. So runs come before slots, and runs formed
 * earlier before later ones.
 *
 * START_TIMER		O(1): one find-last-bit gives the level, then an append
 * STOP_TIMER		O(1): unlink; of the first timer of a run O(log n)
 * PER_TICK_BOOKKEEPING	nothing for an empty tick; a timer moves at most once,
 *			at a share of O(log n) with the 63 others of its run
 * EXPIRY_PROCESSING	O(1) from a slot, O(log n) from a run
 *
 * Choose it where most timers are cancelled while they are still far away and
 * the rest must be exact: the far ones are touched twice in all, once to move
 * and once to fire. Its nodes are larger than those of cascading.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/errno.h>
#include <linux/numa.h>

#include "kinds.h"
#include "levels.h"
#include "walk.h"

/*
 * wheel_node.priv: of a node in a run, the number of the run, by which those
 * of one tick are told apart; of one in a slot, the lowest bits of the tick on
 * which it fires. A bit says which.
 */
#define IN_RUN		BIT(31)
#define PRIV_MASK	(IN_RUN - 1)

/*
 * The last number. Runs that are formed after it have one timer each, which
 * needs no number to keep its place behind older ones; until the tree is empty
 * again. Tests, which shrink the levels, come to that soon.
 */
#define RUN_LAST	(WHEEL_LEVEL_BITS == 6 ? PRIV_MASK : 5)

/**
 * struct cascade_once - a wheel
 * @wheel: what every wheel begins with
 * @runs: the first nodes of all runs, by due tick and number of the run
 * @nr: the number of the last run formed
 * @sorted: where a run is sorted; nothing of value in between
 * @levels: those that wait in slots
 *
 * In a run, run.entry links its nodes, in both directions but for the first
 * one, which nothing needs to find from the second.
 */
struct cascade_once {
	struct wheel wheel;
	struct rb_root_cached runs;
	u32 nr;
	struct wheel_node *sorted[WHEEL_BATCH];
	struct levels levels;
};

static inline struct cascade_once *to_cascade_once(const struct wheel *w)
{
	return container_of(w, struct cascade_once, wheel);
}

static inline struct wheel_node *rb_to_node(struct rb_node *rb)
{
	return rb_entry(rb, struct wheel_node, run.rb);
}

/* Runs. */

/* The next timer of a run, NULL after the last. */
static inline struct wheel_node *run_next(const struct wheel_node *node)
{
	struct list_head *next = node->run.entry.next;

	return next ? list_entry(next, struct wheel_node, run.entry) : NULL;
}

static inline bool run_is_first(const struct wheel_node *node)
{
	return !RB_EMPTY_NODE(&node->run.rb);
}

/* The first timer of all runs, NULL if there is none. */
static inline struct wheel_node *runs_first(const struct cascade_once *c)
{
	struct rb_node *rb = rb_first_cached(&c->runs);

	return rb ? rb_to_node(rb) : NULL;
}

/* Of two that are due together, the one whose run was formed first is before. */
static inline bool run_before(const struct wheel_node *a,
			      const struct wheel_node *b)
{
	if (a->expires != b->expires)
		return a->expires < b->expires;
	return a->priv < b->priv;
}

/* Put the first node of a run into the tree. */
static void runs_add(struct cascade_once *c, struct wheel_node *node)
{
	struct rb_node **link = &c->runs.rb_root.rb_node;
	struct rb_node *parent = NULL;
	bool first = true;

	prefetch(node->run.entry.next);
	while (*link) {
		parent = *link;
		if (run_before(node, rb_to_node(parent))) {
			link = &parent->rb_left;
		} else {
			link = &parent->rb_right;
			first = false;
		}
	}
	rb_link_node(&node->run.rb, parent, link);
	rb_insert_color_cached(&node->run.rb, &c->runs, first);
}

/* A run goes on with another node, or is at its end. */
static void runs_go_on(struct cascade_once *c, struct wheel_node *first,
		       struct wheel_node *next)
{
	rb_erase_cached(&first->run.rb, &c->runs);
	if (next)
		runs_add(c, next);
	else if (!rb_first_cached(&c->runs))
		c->nr = 0;
}

static void runs_del(struct cascade_once *c, struct wheel_node *node)
{
	struct list_head *next = node->run.entry.next;

	if (run_is_first(node)) {
		runs_go_on(c, node, run_next(node));
		return;
	}
	node->run.entry.prev->next = next;
	if (next)
		next->prev = node->run.entry.prev;
}

/* Form a run of the first @nr nodes of @sorted. */
static void runs_form(struct cascade_once *c, unsigned int nr)
{
	struct wheel_node *last = NULL;
	unsigned int i;

	if (c->nr < RUN_LAST)
		c->nr++;
	for (i = 0; i < nr; i++) {
		struct wheel_node *node = c->sorted[i];

		node->priv = IN_RUN | c->nr;
		node->run.entry.next = NULL;
		if (last && c->nr < RUN_LAST) {
			RB_CLEAR_NODE(&node->run.rb);
			node->run.entry.prev = &last->run.entry;
			last->run.entry.next = &node->run.entry;
		} else {
			runs_add(c, node);
		}
		last = node;
	}
}

/* Does a timer of the tick that the clock shows still wait in a run? */
static inline bool runs_wait(const struct cascade_once *c)
{
	struct wheel_node *first = runs_first(c);

	return first && first->expires <= c->wheel.now;
}

/* Hand over what is due in runs. */
static void runs_expire(struct cascade_once *c, struct wheel_batch *batch)
{
	while (runs_wait(c) && batch->looked < batch->budget) {
		struct wheel_node *first = runs_first(c);
		struct wheel_node *node = first;

		/* No other run comes in between. */
		do {
			batch->node[batch->nr++] = node;
			batch->looked++;
			node = run_next(node);
		} while (node && node->expires <= c->wheel.now &&
			 batch->looked < batch->budget);
		runs_go_on(c, first, node);
	}
}

/* What a wheel is made of: slots, and runs. */

u64 cascade_once_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct levels *l = &to_cascade_once(w)->levels;
	u64 tick = wheel_fire_tick(w->now, node->expires);

	node->priv = tick & PRIV_MASK;
	if (unlikely(w->now == U64_MAX)) {
		levels_shelve(l, node);
		return WHEEL_NEVER;
	}
	return levels_add(l, w->now, tick, node);
}

void cascade_once_dequeue(struct wheel *w, struct wheel_node *node)
{
	struct cascade_once *c = to_cascade_once(w);

	if (node->priv & IN_RUN)
		runs_del(c, node);
	else
		levels_del(&c->levels, node);
}

u64 cascade_once_next(const struct wheel *w)
{
	const struct cascade_once *c = to_cascade_once(w);
	struct wheel_node *first = runs_first(c);
	u64 slot = digits_next(&c->levels.digits, w->now);

	if (!first)
		return slot;
	if (first->expires <= w->now)
		return w->now + 1;
	/* Less 1, since never, which is 0, must count as greatest. */
	return slot - 1 < first->expires - 1 ? slot : first->expires;
}

void cascade_once_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

/* An overdue timer was placed for the tick after the clock: that is @first. */
static inline u64 cascade_once_key(const struct wheel_node *node, u64 first)
{
	return max(node->expires, first);
}

/*
 * Move nodes out of a slot of level 2 or higher, the clock being about to
 * enter its span at @first: into a run, or if they fire just then, into the
 * slot of that tick. True when the slot is empty; else the clock stays before
 * @first, where new nodes for the span still go to the tail of the same slot.
 */
static bool cascade_once_sort(struct cascade_once *c, unsigned int level,
			      u64 first, struct wheel_batch *batch)
{
	unsigned int shift = level * WHEEL_LEVEL_BITS;
	unsigned int index = level * LEVEL_SLOTS +
			     (first >> shift & LEVEL_MASK);
	struct list_head *slot = &c->levels.slot[index];
	struct list_head *pos = slot->next;
	unsigned int nr = 0, i;

	while (pos != slot && batch->looked < batch->budget) {
		struct wheel_node *node =
			list_entry(pos, struct wheel_node, entry);

		pos = pos->next;
		prefetch(pos->next);
		batch->looked++;
		c->wheel.moved++;
		if (node->expires <= first) {
			levels_append(&c->levels, 0, first & LEVEL_MASK, node);
			continue;
		}
		/* Those with the same due tick stay in the order of arming. */
		for (i = nr++; i && c->sorted[i - 1]->expires > node->expires; i--)
			c->sorted[i] = c->sorted[i - 1];
		c->sorted[i] = node;
	}
	slot->next = pos;
	pos->prev = slot;
	if (nr)
		runs_form(c, nr);
	if (pos != slot) {
		c->levels.digits.partial = level;
		return false;
	}
	digits_clear(&c->levels.digits, index);
	c->levels.digits.partial = 0;
	c->wheel.touched++;
	return true;
}

/* Bring the slot that comes up at @first down, or a part of it. */
static bool cascade_once_move(struct cascade_once *c, u64 first,
			      struct wheel_batch *batch)
{
	struct levels *l = &c->levels;
	unsigned int level = l->digits.partial ? : __ffs(l->digits.used);

	if (level > 1)
		return cascade_once_sort(c, level, first, batch);
	return !level || levels_cascade(l, level, first, &c->wheel, batch,
					cascade_once_key);
}

bool cascade_once_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	struct cascade_once *c = to_cascade_once(w);
	struct levels *l = &c->levels;
	u64 slot, first;

	for (;;) {
		runs_expire(c, batch);
		if (runs_wait(c))
			return false;
		if (digits_wait(&l->digits, w->now))
			levels_expire(l, w, batch);
		if (digits_wait(&l->digits, w->now))
			return false;
		if (batch->nr)
			return w->now == to;

		slot = digits_next(&l->digits, w->now);
		first = cascade_once_next(w);
		if (first == WHEEL_NEVER || first > to) {
			w->now = to;
			return true;
		}
		/* New timers of the span still join that slot's tail. */
		w->now = first - 1;
		if (slot == first && !cascade_once_move(c, first, batch))
			return false;
		w->now = first;
	}
}

static size_t cascade_once_size(const struct wheel_config *cfg)
{
	return sizeof(struct cascade_once) + levels_slots_size(LEVELS_MAX);
}

static int cascade_once_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct cascade_once *c = to_cascade_once(w);

	c->runs = RB_ROOT_CACHED;
	levels_init(&c->levels, LEVELS_MAX);
	return 0;
}

static void cascade_once_destroy(struct wheel *w)
{
}

static struct wheel_node *cascade_once_first(struct wheel *w)
{
	struct cascade_once *c = to_cascade_once(w);
	struct wheel_node *first = runs_first(c);

	return first ? first : levels_first(&c->levels);
}

static u64 cascade_once_fires(const struct wheel *w,
			      const struct wheel_node *node)
{
	if (node->expires > w->now)
		return node->expires;
	/* A part of what fires at the clock's tick waits, and this with it? */
	if (node->priv & IN_RUN || node->priv == (w->now & PRIV_MASK))
		return w->now;
	return w->now + 1;
}

/* One slot; behind the last one the shelf, and behind that the runs. */
static inline void cascade_once_show(const struct wheel *w, struct walk *walk,
				     u64 index)
{
	const struct cascade_once *c = to_cascade_once(w);
	const struct levels *l = &c->levels;
	struct rb_node *rb;
	struct wheel_node *node;

	if (index <= LEVELS_MAX * LEVEL_SLOTS) {
		u32 level = index / LEVEL_SLOTS;

		walk_list(walk, &l->slot[index],
			  digits_slot_key(&l->digits, w->now, index),
			  level < LEVELS_MAX ? level : WHEEL_NO_LEVEL,
			  index & LEVEL_MASK);
		return;
	}
	for (rb = rb_first_cached(&c->runs); rb; rb = rb_next(rb))
		for (node = rb_to_node(rb); node; node = run_next(node))
			if (!walk_add(walk, node, node->expires,
				      WHEEL_NO_LEVEL, 0))
				return;
}

static unsigned int cascade_once_walk(const struct wheel *w,
				      struct wheel_walk *pos,
				      struct wheel_item *items,
				      unsigned int max)
{
	return walk_slots(w, pos, items, max, LEVELS_MAX * LEVEL_SLOTS + 2,
			  walk_every, cascade_once_show);
}

static void cascade_once_geometry(const struct wheel *w,
				  struct wheel_geometry *g)
{
	g->levels = LEVELS_MAX;
	g->slots = LEVEL_SLOTS;
	g->width = 1;
	g->shift = WHEEL_LEVEL_BITS;
}

const struct wheel_ops cascade_once_ops = {
	.name = "cascade-once",
	.brief = "levels of 64 slots, timers move once, into sorted runs; exact",
	.source = "Cogwheel; after Nichols in Varghese & Lauck 1987",
	.traits = WHEEL_EXACT | WHEEL_ONCE,
	.node_size = wheel_node_size(run),
	.enqueue = cascade_once_enqueue,
	.dequeue = cascade_once_dequeue,
	.next = cascade_once_next,
	.advance = cascade_once_advance,
	.forward = cascade_once_forward,
	.size = cascade_once_size,
	.init = cascade_once_init,
	.destroy = cascade_once_destroy,
	.first = cascade_once_first,
	.fires = cascade_once_fires,
	.walk = cascade_once_walk,
	.geometry = cascade_once_geometry,
};
