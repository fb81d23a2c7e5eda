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
 * START_TIMER		O(1): the delay gives the level, then an append; O(log f)
 *			beyond the levels, where f others wait
 * STOP_TIMER		O(1): unlink; O(log f)
 * PER_TICK_BOOKKEEPING	nothing for an empty tick
 * EXPIRY_PROCESSING	O(1) a timer, O(log f); no timer is ever moved
 *
 * Choose it for time-outs that seldom expire and need not be exact: up to one
 * eighth of the delay late, and never early. For exact ticks, see cascading.
 *
 * Beyond its capacity of 63 slots of the last level timer_list shortens a
 * delay and so fires early. Here such a timer is taken to be placed where
 * timer_list would put it, and when timer_list would fire it, again for its
 * own due tick, as often as that takes:
 *
 *	armed	|-- 63 slots --|-- 63 slots --|-- 63 slots --|-- rest --| fires
 *			       ^ again	      ^		     ^ the last visit
 *
 * All of that can be said beforehand. So none of it is walked: the timer waits
 * in a search tree for the tick at which it will fire in the end.
 *
 * Within a tick, those fire first, then those on higher levels, and within a
 * slot the first armed fires first. (timer_list fires the last armed first.)
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/prefetch.h>
#include <linux/rbtree.h>

#include "exact.h"
#include "kinds.h"
#include "lists.h"
#include "scout.h"

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
 * wheel_node.priv is the list's number; for a far timer it has this bit, the
 * shift of the last level, and how many of its slots the last visit is before
 * the one after that of the due tick: 0 to 63.
 */
#define NC_FAR		0x10000U
#define NC_FAR_SHIFT	8
#define NC_FAR_STEP	63U

struct noncascading {
	struct wheel wheel;
	u32 top;			/* the last level */
	u32 used;			/* bit n: level n is in use */
	u64 occupied[NC_LEVELS_MAX];
	struct list_head list[NC_LISTS];
	struct scout scout;		/* in the due list */
	struct rb_root_cached far;	/* in the order of firing */
};

static inline struct noncascading *to_noncascading(const struct wheel *w)
{
	return container_of(w, struct noncascading, wheel);
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
 * The slot of a delay within capacity, by timer_list's rule, its next tick to
 * process being @clk: the level, and how often its slots have come round then.
 */
static inline u32 nc_slot(u64 expires, u64 clk, u64 *turn)
{
	u32 level = nc_level(expires - clk);

	*turn = (expires >> (level * NC_SHIFT)) + 1;
	if (unlikely(!*turn))	/* due on the last tick of all, on level 0 */
		*turn = U64_MAX;
	return level;
}

/* The tick at which a far timer fires. */
static u64 nc_far_fires(const struct wheel_node *node)
{
	u32 shift = (node->priv >> NC_FAR_SHIFT) & 0xff;
	u64 due = (node->expires - 1) >> shift;
	u64 visit = nc_turn_tick(due + 1 - (node->priv & 0xff), shift);
	u32 level;
	u64 turn;

	/* Shortened to a slot that comes after it all the same. */
	if (node->expires <= visit)
		return visit;
	level = nc_slot(node->expires, visit + 1, &turn);
	return nc_turn_tick(turn, level * NC_SHIFT);
}

static inline struct wheel_node *nc_far_node(struct rb_node *rb)
{
	return rb_entry(rb, struct wheel_node, tree.rb);
}

static inline struct wheel_node *nc_far_first(const struct noncascading *n)
{
	struct rb_node *rb = rb_first_cached(&n->far);

	return rb ? nc_far_node(rb) : NULL;
}

static bool nc_far_less(struct rb_node *a, const struct rb_node *b)
{
	return nc_far_fires(nc_far_node(a)) <
	       nc_far_fires(rb_entry(b, struct wheel_node, tree.rb));
}

/*
 * A delay beyond capacity. timer_list puts it 63 slots of the last level ahead
 * and so comes by each 63 slots, until less than 63 are left: that is the last
 * visit.
 */
static u64 nc_place_far(struct noncascading *n, u64 clk,
			struct wheel_node *node)
{
	u32 shift = n->top * NC_SHIFT;
	u64 after = ((node->expires - 1) >> shift) + 1;
	u64 first = (clk >> shift) + NC_FAR_STEP;
	u32 before = 0;

	/* The first visit is the slot after that of the due tick at most. */
	if (first < after)
		before = (after - 1 - first) % NC_FAR_STEP + 1;
	node->priv = NC_FAR | shift << NC_FAR_SHIFT | before;
	rb_add_cached(&node->tree.rb, &n->far, nc_far_less);
	return nc_far_fires(node);
}

/* Place a node the way timer_list does whose next tick to process is @clk. */
static u64 nc_place(struct noncascading *n, u64 clk, struct wheel_node *node)
{
	u32 level;
	u64 turn;

	if (node->expires < clk) {
		nc_append(n, 0, clk & NC_MASK, node);
		return clk;
	}
	level = nc_slot(node->expires, clk, &turn);
	if (unlikely(level > n->top))
		return nc_place_far(n, clk, node);
	nc_append(n, level, turn & NC_MASK, node);
	return nc_turn_tick(turn, level * NC_SHIFT);
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
	struct list_head *next;
	bool last;

	if (unlikely(node->priv >= NC_FAR)) {
		rb_erase_cached(&node->tree.rb, &n->far);
		return;
	}
	next = node->entry.next;
	last = node->entry.prev == next;
	__list_del_entry(&node->entry);
	scout_left(&n->scout, node);
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

		next = exact_earlier(next, tick);
	}
	return next;
}

/* Does a part of the clock's tick wait to be fired? */
static inline bool nc_waits(const struct noncascading *n)
{
	struct wheel_node *far = nc_far_first(n);

	return !list_empty(&n->list[NC_DUE]) ||
	       (far && nc_far_fires(far) <= n->wheel.now);
}

/* The first tick at which anything fires, where nothing waits. */
static u64 nc_next(const struct noncascading *n)
{
	struct wheel_node *far = nc_far_first(n);

	return exact_earlier(nc_next_slot(n),
			     far ? nc_far_fires(far) : WHEEL_NEVER);
}

u64 noncascading_next(const struct wheel *w)
{
	const struct noncascading *n = to_noncascading(w);

	return nc_waits(n) ? w->now + 1 : nc_next(n);
}

void noncascading_forward(struct wheel *w, u64 to)
{
	w->now = to;
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

/* Fire far timers that are due. */
static noinline void nc_expire_far(struct noncascading *n,
				   struct wheel_batch *batch)
{
	struct wheel_node *node;

	while ((node = nc_far_first(n)) && batch->looked < batch->budget &&
	       nc_far_fires(node) <= n->wheel.now) {
		rb_erase_cached(&node->tree.rb, &n->far);
		batch->looked++;
		batch->node[batch->nr++] = node;
	}
}

/* Fire what is due, the far ones first. */
static void nc_expire(struct noncascading *n, struct wheel_batch *batch)
{
	struct list_head *due = &n->list[NC_DUE];
	struct list_head *pos = due->next;
	struct list_head *scout = scout_resume(&n->scout, due);

	if (unlikely(nc_far_first(n)))
		nc_expire_far(n, batch);
	if (pos == due)
		return;
	for (; pos != due && batch->looked < batch->budget; batch->looked++) {
		batch->node[batch->nr++] =
			list_entry(pos, struct wheel_node, entry);
		if (scout && !scout_step(&scout, pos))
			scout = NULL;
		pos = pos->next;
		prefetch(pos);
	}
	scout_cut(&n->scout, due, pos, scout);
}

bool noncascading_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	struct noncascading *n = to_noncascading(w);
	u64 next;

	for (;;) {
		nc_expire(n, batch);
		if (nc_waits(n))
			return false;
		if (batch->nr)
			return w->now == to;

		next = nc_next(n);
		if (next == WHEEL_NEVER || next > to) {
			w->now = to;
			return true;
		}
		w->now = next;
		nc_collect(n);
	}
}

static size_t noncascading_size(const struct wheel_config *cfg)
{
	return sizeof(struct noncascading);
}

static int noncascading_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct noncascading *n = to_noncascading(w);
	int i;

	n->top = cfg->levels - 1;
	for (i = 0; i < NC_LISTS; i++)
		INIT_LIST_HEAD(&n->list[i]);
	n->far = RB_ROOT_CACHED;
	return 0;
}

static void noncascading_destroy(struct wheel *w)
{
}

static struct wheel_node *noncascading_first(struct wheel *w)
{
	struct noncascading *n = to_noncascading(w);
	struct wheel_node *far = nc_far_first(n);
	u32 level;

	if (far)
		return far;
	if (!list_empty(&n->list[NC_DUE]))
		return list_first_entry(&n->list[NC_DUE], struct wheel_node,
					entry);
	if (n->used) {
		level = __ffs(n->used);
		return lists_first(&n->list[level * NC_SLOTS], NC_SLOTS);
	}
	return lists_first(&n->list[NC_SHELF], 1);
}

static u64 noncascading_fires(const struct wheel *w,
			      const struct wheel_node *node)
{
	const struct noncascading *n = to_noncascading(w);
	u32 index = node->priv;

	if (index == NC_SHELF)
		return WHEEL_NEVER;
	if (index >= NC_FAR)
		return nc_far_fires(node);
	/* It may be on the due list, whose nodes are left as they were. */
	if (!list_empty(&n->list[NC_DUE]) && node->expires <= w->now)
		return w->now;
	return nc_slot_tick(w->now, index / NC_SLOTS, index & NC_MASK);
}

/* The lists, then the tree. */
static inline void noncascading_walk_slot(const struct wheel *w,
					  struct walk *walk, u64 index)
{
	const struct noncascading *n = to_noncascading(w);
	u32 level = index / NC_SLOTS, slot = index & NC_MASK;
	u64 tick = nc_slot_tick(w->now, level, slot);
	struct rb_node *rb;

	if (index < NC_LISTS) {
		if (index >= NC_DUE) {
			level = WHEEL_NO_LEVEL;
			slot = 0;
			tick = index == NC_SHELF ? WHEEL_NEVER : w->now;
		}
		walk_list(walk, &n->list[index], tick, level, slot);
		return;
	}
	for (rb = rb_first_cached(&n->far); rb; rb = rb_next(rb)) {
		struct wheel_node *node = nc_far_node(rb);

		if (!walk_add(walk, node, nc_far_fires(node), WHEEL_NO_LEVEL,
			      0))
			return;
	}
}

static unsigned int noncascading_walk(const struct wheel *w,
				      struct wheel_walk *pos,
				      struct wheel_item *items,
				      unsigned int max)
{
	return walk_slots(w, pos, items, max, NC_LISTS + 1, walk_every,
			  noncascading_walk_slot);
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
	.traits = WHEEL_ROUNDS | WHEEL_ONE_STEP,
	.node_size = wheel_node_size(tree.rb),
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
