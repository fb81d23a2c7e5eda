// SPDX-License-Identifier: GPL-2.0
/*
 * noncascading: levels of 64 slots, each level 8 times coarser; a timer fires
 * where it was put, late by a part of a slot. The rule of timer_list, tick for
 * tick.
 *
 * Thomas Gleixner's redesign of the kernel's wheel (Linux 4.8, 2016), whose
 * code is kernel/time/timer.c. The rule is taken from there, the code is not.
 *
 *	level 0	|.|.|.|.|.|.|.|.|.|.|	     1 tick  a slot, delays from      0
 *	level 1	|...............|.....	     8 ticks a slot,		     63
 *	level 2	|......................	    64 ticks a slot,		    504
 *	level n				   8^n ticks a slot, from 63 * 8^(n-1)
 *
 *	due:		     v				(somewhere in a slot)
 *	slots:	|.......|.......|.......|
 *	fires:			^ at the beginning of the next one
 *
 * START_TIMER		O(1): the delay gives the level, then an append
 * STOP_TIMER		O(1): unlink
 * PER_TICK_BOOKKEEPING	nothing for an empty tick
 * EXPIRY_PROCESSING	O(1) a timer, and no timer is ever moved within range
 *
 * Choose it for time-outs that seldom expire and need not be exact: up to one
 * eighth of the delay late, and never early. For exact ticks, see cascading.
 *
 * Beyond its capacity of 63 slots of the last level timer_list shortens a
 * delay and so fires early. Here such a timer is placed where timer_list would
 * put it, looked at when timer_list would fire it, and placed again for its
 * own due tick. From there it may be shortened again, any number of times,
 * which always means 63 slots of the last level further on. Those steps are
 * not walked: the timer waits in levels by digit (levels.h, counted in slots
 * of the last level) until the last but one of them.
 *
 * Within a tick, higher levels fire first, and within a slot the first armed
 * fires first. (timer_list fires the last armed first.)
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/errno.h>
#include <linux/numa.h>

#include "kinds.h"
#include "levels.h"
#include "lists.h"

#define NC_BITS		6
#define NC_SLOTS	BIT(NC_BITS)
#define NC_MASK		((u32)NC_SLOTS - 1)
#define NC_SHIFT	3		/* a level is 8 times coarser */
#define NC_LEVELS_MAX	9		/* timer_list's for HZ above 100 */

/* Two more lists behind the slots. */
#define NC_DUE		(NC_LEVELS_MAX * NC_SLOTS)	/* being fired */
#define NC_SHELF	(NC_DUE + 1)			/* can never fire */
#define NC_LISTS	(NC_DUE + 2)

/*
 * wheel_node.priv is the list's number, or for a far timer this plus the
 * remainder modulo 63 of the last level's slots at which it is looked at.
 */
#define NC_FAR		0x10000U
#define NC_FAR_STEP	63U

struct noncascading {
	struct wheel wheel;
	u32 top;			/* the last level */
	u32 used;			/* bit n: level n is in use */
	u64 occupied[NC_LEVELS_MAX];
	struct list_head list[NC_LISTS];
	u64 visited;			/* the last visit of far timers */
	struct levels far;		/* in slots of the last level */
};

/* At most this many digits are needed to count slots of the last level. */
#define NC_FAR_LEVELS	LEVELS_FOR(64 - (NC_LEVELS_MAX - 2) * NC_SHIFT)

static inline struct noncascading *to_noncascading(const struct wheel *w)
{
	return container_of(w, struct noncascading, wheel);
}

static inline u32 nc_top_shift(const struct noncascading *n)
{
	return n->top * NC_SHIFT;
}

/*
 * The tick at which slots of a level have come round @turn times in all. The
 * last tick, for one that would come up later than that.
 */
static inline u64 nc_turn_tick(u64 turn, u32 shift)
{
	u64 tick = turn << shift;

	return tick >> shift == turn ? tick : U64_MAX;
}

/* The first tick after @now at which a slot comes up. */
static u64 nc_slot_tick(u64 now, u32 level, u32 slot)
{
	u32 shift = level * NC_SHIFT;
	u64 from = (now >> shift) + 1;

	return nc_turn_tick(from + ((slot - (u32)from) & NC_MASK), shift);
}

/*
 * The clock of the far levels: the wheel's, but a visit is made while the
 * wheel's clock is still one tick before it.
 */
static inline u64 nc_far_now(const struct noncascading *n)
{
	return max(n->visited, n->wheel.now >> nc_top_shift(n));
}

static inline void nc_append(struct noncascading *n, u32 level, u32 slot,
			     struct wheel_node *node)
{
	u32 index = level * NC_SLOTS + slot;

	node->priv = index;
	list_add_tail(&node->entry, &n->list[index]);
	n->occupied[level] |= BIT_ULL(slot);
	n->used |= BIT(level);
}

/*
 * The lowest level that can hold a delay: the one whose 63 slots reach past
 * it. Sizes are powers of 8, so the highest bit leaves two levels to choose
 * from.
 */
static inline u32 nc_level(u64 delta)
{
	u32 bits = fls64(delta);
	u32 level = bits > NC_BITS ? (bits - NC_BITS + 2) / NC_SHIFT : 0;

	return level + (delta >> (level * NC_SHIFT) == NC_SLOTS - 1);
}

/*
 * A delay beyond capacity. timer_list puts it 63 slots of the last level ahead
 * and so comes by each 63 slots, until less than 63 are left: @last is that
 * visit, from which the timer reaches its own slot.
 */
static u64 nc_place_far(struct noncascading *n, u64 clk,
			struct wheel_node *node)
{
	u32 shift = nc_top_shift(n);
	u64 due = (node->expires - 1) >> shift;
	u64 first = (clk >> shift) + NC_FAR_STEP;
	u64 last = due - (due - first) % NC_FAR_STEP;

	if (due < first || last == first) {
		nc_append(n, n->top, first & NC_MASK, node);
		return first << shift;
	}
	/* Goes to its slot of the last level at the visit before. */
	node->priv = NC_FAR + last % NC_FAR_STEP;
	return levels_add(&n->far, nc_far_now(n), last - NC_FAR_STEP,
			  node) << shift;
}

/* Place a node the way timer_list does whose next tick to process is @clk. */
static u64 nc_place(struct noncascading *n, u64 clk, struct wheel_node *node)
{
	u64 delta = node->expires - clk;
	u32 level, shift;
	u64 turn;

	if (node->expires < clk) {
		nc_append(n, 0, clk & NC_MASK, node);
		return clk;
	}
	level = nc_level(delta);
	if (unlikely(level > n->top))
		return nc_place_far(n, clk, node);

	shift = level * NC_SHIFT;
	turn = (node->expires >> shift) + 1;
	if (unlikely(!turn))	/* due on the last tick of all, on level 0 */
		turn = U64_MAX;
	nc_append(n, level, turn & NC_MASK, node);
	return nc_turn_tick(turn, shift);
}

u64 noncascading_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct noncascading *n = to_noncascading(w);

	if (unlikely(w->now == U64_MAX)) {
		node->priv = NC_SHELF;
		list_add_tail(&node->entry, &n->list[NC_SHELF]);
		return WHEEL_NEVER;
	}
	return nc_place(n, w->now + 1, node);
}

static inline void nc_clear(struct noncascading *n, u32 index)
{
	u32 level = index / NC_SLOTS;

	n->occupied[level] &= ~BIT_ULL(index & NC_MASK);
	if (!n->occupied[level])
		n->used &= ~BIT(level);
}

void noncascading_dequeue(struct wheel *w, struct wheel_node *node)
{
	struct noncascading *n = to_noncascading(w);
	struct list_head *next = node->entry.next;
	bool last = node->entry.prev == next;

	if (unlikely(node->priv >= NC_FAR)) {
		levels_del(&n->far, node);
		return;
	}
	__list_del_entry(&node->entry);
	/* priv may name its slot while it is on the due list: ask the list. */
	if (last && next - n->list < NC_DUE)
		nc_clear(n, next - n->list);
}

static u64 nc_next_slot(const struct noncascading *n)
{
	u64 now = n->wheel.now;
	u64 next = WHEEL_NEVER;
	u32 used = n->used;

	if (now == U64_MAX)
		return WHEEL_NEVER;
	for (; used; used &= used - 1) {
		u32 level = __ffs(used);
		u64 from = (now >> (level * NC_SHIFT)) + 1;
		u64 ahead = ror64(n->occupied[level], from & NC_MASK);
		u64 tick = nc_turn_tick(from + __ffs64(ahead),
					level * NC_SHIFT);

		/* Smaller, never counting as smallest: 0 - 1 is greatest. */
		if (tick - 1 < next - 1)
			next = tick;
	}
	return next;
}

static u64 nc_next_far(const struct noncascading *n)
{
	const struct levels *far = &n->far;
	u64 now = nc_far_now(n);

	/* A visit that was interrupted goes on. */
	if (digits_wait(&far->digits, now))
		return now << nc_top_shift(n);
	return digits_next(&far->digits, now) << nc_top_shift(n);
}

u64 noncascading_next(const struct wheel *w)
{
	const struct noncascading *n = to_noncascading(w);
	u64 slot = nc_next_slot(n);
	u64 far = nc_next_far(n);

	if (!list_empty(&n->list[NC_DUE]))
		return w->now + 1;
	return far - 1 < slot - 1 ? far : slot;
}

void noncascading_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

/* The visit at which a far timer goes to its slot, in slots of the last level. */
static inline u64 nc_far_visit(const struct wheel_node *node, u32 shift)
{
	u64 due = (node->expires - 1) >> shift;
	u32 ahead = (u32)(due % NC_FAR_STEP) + NC_FAR_STEP -
		    (node->priv - NC_FAR);

	return due - ahead % NC_FAR_STEP - NC_FAR_STEP;
}

static inline u64 nc_far_key8(const struct wheel_node *node, u64 first)
{
	return nc_far_visit(node, 7 * NC_SHIFT);
}

static inline u64 nc_far_key9(const struct wheel_node *node, u64 first)
{
	return nc_far_visit(node, 8 * NC_SHIFT);
}

/*
 * Far timers at the visit @turn, which is when the last level has come that
 * far. The wheel's clock is still before it. False where the budget is used up.
 */
static bool nc_visit_far(struct noncascading *n, u64 turn,
			 struct wheel_batch *batch)
{
	struct levels *far = &n->far;
	struct list_head *slot = &far->slot[turn & LEVEL_MASK];
	u32 level = far->digits.partial ? : __ffs(far->digits.used);
	bool done = true;

	if (turn > nc_far_now(n) && level) {
		if (n->top == NC_LEVELS_MAX - 1)
			done = levels_cascade(far, level, turn, &n->wheel,
					      batch, nc_far_key9);
		else
			done = levels_cascade(far, level, turn, &n->wheel,
					      batch, nc_far_key8);
	}
	if (!done)
		return false;
	n->visited = turn;
	while (!list_empty(slot)) {
		struct wheel_node *node;

		if (batch->looked == batch->budget)
			return false;
		node = list_first_entry(slot, struct wheel_node, entry);
		batch->looked++;
		n->wheel.moved++;
		levels_del(far, node);
		nc_append(n, n->top, (turn + NC_FAR_STEP) & NC_MASK, node);
	}
	n->wheel.touched++;
	return true;
}

/* Take the slots that come up at the clock's tick, the highest level first. */
static void nc_collect(struct noncascading *n)
{
	u64 now = n->wheel.now;
	int level;

	for (level = n->top; level >= 0; level--) {
		u32 shift = level * NC_SHIFT;
		u32 slot = (now >> shift) & NC_MASK;
		u32 index;

		if (now == U64_MAX && level)
			slot = 0;	/* the one beyond the last tick */
		else if (now & ((1ULL << shift) - 1))
			continue;
		index = level * NC_SLOTS + slot;
		if (list_empty(&n->list[index]))
			continue;
		list_splice_tail_init(&n->list[index], &n->list[NC_DUE]);
		nc_clear(n, index);
		n->wheel.touched++;
	}
}

/* Fire what is due, and place again what was only shortened. */
static void nc_expire(struct noncascading *n, struct wheel_batch *batch)
{
	struct list_head *due = &n->list[NC_DUE];

	while (!list_empty(due) && batch->looked < batch->budget) {
		struct wheel_node *node =
			list_first_entry(due, struct wheel_node, entry);

		prefetch(node->entry.next);
		__list_del_entry(&node->entry);
		batch->looked++;
		if (likely(node->expires <= n->wheel.now)) {
			batch->node[batch->nr++] = node;
		} else {
			n->wheel.moved++;
			nc_place(n, n->wheel.now + 1, node);
		}
	}
}

bool noncascading_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	struct noncascading *n = to_noncascading(w);
	struct list_head *due = &n->list[NC_DUE];
	u64 slot, far;

	for (;;) {
		nc_expire(n, batch);
		if (!list_empty(due))
			return false;
		if (batch->nr)
			return w->now == to;

		slot = nc_next_slot(n);
		far = nc_next_far(n);
		if (far - 1 <= slot - 1 && far - 1 < to) {
			w->now = far - 1;
			if (!nc_visit_far(n, far >> nc_top_shift(n), batch))
				return false;
			continue;
		}
		if (slot == WHEEL_NEVER || slot > to) {
			w->now = to;
			return true;
		}
		w->now = slot;
		nc_collect(n);
	}
}

static size_t noncascading_size(const struct wheel_config *cfg)
{
	return sizeof(struct noncascading) + levels_slots_size(NC_FAR_LEVELS);
}

static int noncascading_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct noncascading *n = to_noncascading(w);
	int i;

	n->top = cfg->levels - 1;
	for (i = 0; i < NC_LISTS; i++)
		INIT_LIST_HEAD(&n->list[i]);
	levels_init(&n->far, NC_FAR_LEVELS);
	return 0;
}

static void noncascading_destroy(struct wheel *w)
{
}

static struct wheel_node *noncascading_first(struct wheel *w)
{
	struct noncascading *n = to_noncascading(w);
	u32 level;

	if (!list_empty(&n->list[NC_DUE]))
		return list_first_entry(&n->list[NC_DUE], struct wheel_node,
					entry);
	if (n->used) {
		level = __ffs(n->used);
		return lists_first(&n->list[level * NC_SLOTS], NC_SLOTS);
	}
	if (n->far.digits.used)
		return levels_first(&n->far);
	return lists_first(&n->list[NC_SHELF], 1);
}

static u64 noncascading_fires(const struct wheel *w,
			      const struct wheel_node *node)
{
	const struct noncascading *n = to_noncascading(w);
	u32 index = node->priv;
	u64 tick;

	if (index == NC_SHELF)
		return WHEEL_NEVER;
	if (index >= NC_FAR)
		return node->expires;
	/*
	 * It may be on the due list, whose nodes are left as they were: to be
	 * fired now, or if it was shortened, to be placed again.
	 */
	if (!list_empty(&n->list[NC_DUE]) &&
	    (node->expires <= w->now || index / NC_SLOTS == n->top))
		return max(node->expires, w->now);
	tick = nc_slot_tick(w->now, index / NC_SLOTS, index & NC_MASK);
	return max(tick, node->expires);
}

static inline void noncascading_item(const struct wheel *w, unsigned int index,
				     struct wheel_item *item)
{
	item->level = index / NC_SLOTS;
	item->slot = index & NC_MASK;
	item->tick = nc_slot_tick(w->now, item->level, item->slot);
	if (index >= NC_DUE) {
		item->level = WHEEL_NO_LEVEL;
		item->tick = index == NC_SHELF ? WHEEL_NEVER : w->now;
	}
}

static inline void noncascading_far_item(const struct wheel *w,
					 unsigned int index,
					 struct wheel_item *item)
{
	const struct noncascading *n = to_noncascading(w);

	item->level = WHEEL_NO_LEVEL;
	item->slot = 0;
	item->tick = digits_slot_key(&n->far.digits, nc_far_now(n), index)
		     << nc_top_shift(n);
}

static unsigned int noncascading_walk(const struct wheel *w,
				      struct wheel_walk *pos,
				      struct wheel_item *items,
				      unsigned int max)
{
	const struct noncascading *n = to_noncascading(w);
	unsigned int found;

	if (pos->pos[0] < NC_LISTS) {
		found = lists_walk(w, n->list, NC_LISTS, pos, items, max,
				   noncascading_item);
		if (found)
			return found;
	}
	/* pos[0] counts on through the far levels. */
	pos->pos[0] -= NC_LISTS;
	found = lists_walk(w, n->far.slot, NC_FAR_LEVELS * LEVEL_SLOTS, pos,
			   items, max, noncascading_far_item);
	pos->pos[0] += NC_LISTS;
	return found;
}

static void noncascading_geometry(const struct wheel *w,
				  struct wheel_geometry *g)
{
	g->levels = to_noncascading(w)->top + 1;
	g->slots = NC_SLOTS;
	g->width = 1;
	g->shift = NC_SHIFT;
}

const struct wheel_ops noncascading_ops = {
	.name = "noncascading",
	.brief = "levels of 64 slots, timers fire in place, late; timer_list's rule",
	.source = "Linux since 4.8 (Gleixner 2016)",
	.traits = WHEEL_ROUNDS,
	.node_size = wheel_node_size(entry),
	.levels = { .min = 8, .max = 9, .def = 9 },
	.enqueue = noncascading_enqueue,
	.dequeue = noncascading_dequeue,
	.next = noncascading_next,
	.advance = noncascading_advance,
	.forward = noncascading_forward,
	.size = noncascading_size,
	.init = noncascading_init,
	.destroy = noncascading_destroy,
	.first = noncascading_first,
	.fires = noncascading_fires,
	.walk = noncascading_walk,
	.geometry = noncascading_geometry,
};
