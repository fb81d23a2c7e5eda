// SPDX-License-Identifier: GPL-2.0
/*
 * slack: one wheel in which each timer says how late it may be. A timer
 * cascades down only as far as that demands, and fires in place after that.
 *
 * Ours. Without slack it is Scheme 7 of Varghese & Lauck, as cascading is;
 * with plenty it is Linux since 4.8, as noncascading is; and every timer has
 * its own place between the two.
 *
 *	due:		     v
 *	may fire:	     |-----------|
 *	level 2	|...............|...............|	64 ticks a slot
 *	level 1	|.|.|.|.|.|.|.|.|.|.|.|.|.|.|.|.|	 8 ticks a slot
 *	fires:			^ the coarsest border that is late enough
 *
 * Of all ticks on which a timer may fire it takes the roundest one, in which
 * the greatest power of 8 is contained: that is where slots begin, those of
 * its level and of all finer ones. So timers with slack meet on few ticks,
 * whatever their due ticks, and the wheel wakes up less often. Which tick that
 * is depends on due tick and slack alone, and one find-last-bit tells.
 *
 * A timer waits in the slot that begins on that tick, if it lies within 64
 * slots of that level. Else it waits in a coarser one, which begins earlier,
 * and is moved down as that comes up:
 *
 *	slack of 8/63 of the delay or more	never moved. (timer_list is late
 *						by as much: its levels begin at
 *						63 slots of the one below.)
 *	a slack of less than that		each move brings a timer 64 times
 *						nearer: at most two for 1/1000
 *	no slack				moved like any cascading timer
 *
 * Timers with slack are free to fire in any order, so their slots can be used
 * again for the next turn as soon as they have come up: a level reaches 64
 * slots ahead of the clock wherever it stands. Those without slack fire in the
 * order of arming, which needs the rules of levels.h. They have levels of their
 * own, the even ones: those of 1, 64, 4096... ticks a slot.
 *
 * START_TIMER		O(1): two find-last-bits, then an append
 * STOP_TIMER		O(1): unlink
 * PER_TICK_BOOKKEEPING	nothing for an empty tick; for another one, a look at
 *			the bitmap of each level that timers with slack use
 * EXPIRY_PROCESSING	O(1) a timer
 *
 * Choose it where some timers must be exact and most need not be: each pays
 * for the precision that it asks for.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/errno.h>
#include <linux/numa.h>

#include "kinds.h"
#include "levels.h"
#include "lists.h"
#include "walk.h"

/* A level is 8 times coarser than the one below: half a digit of levels.h. */
#define SLACK_SHIFT	(WHEEL_LEVEL_BITS / 2)
#define SLACK_LEVELS	DIV_ROUND_UP(64, SLACK_SHIFT)

/* Two more lists behind the slots. */
#define SLACK_DUE	(SLACK_LEVELS * LEVEL_SLOTS)	/* has come up */
#define SLACK_SHELF	(SLACK_DUE + 1)			/* can never fire */
#define SLACK_LISTS	(SLACK_DUE + 2)

/**
 * struct slack_wheel - a wheel
 * @wheel: what every wheel begins with
 * @used: bit n is set where timers with slack wait on level n
 * @occupied: bit s of word n is set where they wait in slot s of level n
 * @list: their slots, level after level, and two more lists
 * @exact: the timers without slack
 *
 * wheel_node.priv of a timer with slack is the number of the list into which
 * it was put (that it has come up since is not noted), of one without slack the
 * low half of the tick on which it fires.
 */
struct slack_wheel {
	struct wheel wheel;
	u64 used;
	u64 occupied[SLACK_LEVELS];
	struct list_head list[SLACK_LISTS];
	struct levels exact;
};

static inline struct slack_wheel *to_slack(const struct wheel *w)
{
	return container_of(w, struct slack_wheel, wheel);
}

static inline bool is_exact(const struct wheel_node *node)
{
	return !node->slack.slack;
}

/* The last tick on which a node may fire. */
static inline u64 slack_last(const struct wheel_node *node)
{
	u64 slack = node->slack.slack;

	return slack < U64_MAX - node->expires ? node->expires + slack : U64_MAX;
}

/*
 * The roundest tick from @first to @last, the first one if there are several,
 * and the level on whose slots' borders it lies. (A border lies in between
 * where the bits that count slots differ between the tick before @first and
 * @last.)
 */
static inline u64 slack_tick(u64 first, u64 last, u32 *level)
{
	*level = __fls((first - 1) ^ last) / SLACK_SHIFT;
	return ((first - 1) | ((1ULL << (*level * SLACK_SHIFT)) - 1)) + 1;
}

/* Put a node with slack into a slot; returns the tick at which that comes up. */
static u64 slack_place(struct slack_wheel *s, u64 now, struct wheel_node *node)
{
	u64 first = wheel_fire_tick(now, node->expires);
	u32 level, reach, shift, index;
	u64 tick;

	tick = slack_tick(first, max(first, slack_last(node)), &level);
	/* The lowest level on which that is less than a turn away. */
	reach = fls64(tick - now);
	if (reach > WHEEL_LEVEL_BITS)
		level = max_t(u32, level, DIV_ROUND_UP(reach - WHEEL_LEVEL_BITS,
						       SLACK_SHIFT));
	shift = level * SLACK_SHIFT;
	tick >>= shift;
	index = level * LEVEL_SLOTS + (tick & LEVEL_MASK);
	node->priv = index;
	list_add_tail(&node->entry, &s->list[index]);
	s->occupied[level] |= BIT_ULL(index & LEVEL_MASK);
	s->used |= BIT_ULL(level);
	return tick << shift;
}

u64 slack_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct slack_wheel *s = to_slack(w);
	u64 tick;

	if (!is_exact(node)) {
		if (likely(w->now != U64_MAX))
			return slack_place(s, w->now, node);
		node->priv = SLACK_SHELF;
		list_add_tail(&node->entry, &s->list[SLACK_SHELF]);
		return WHEEL_NEVER;
	}
	tick = wheel_fire_tick(w->now, node->expires);
	node->priv = (u32)tick;
	if (likely(w->now != U64_MAX))
		return levels_add(&s->exact, w->now, tick, node);
	levels_shelve(&s->exact, node);
	return WHEEL_NEVER;
}

static inline void slack_clear(struct slack_wheel *s, u32 index)
{
	u32 level = index / LEVEL_SLOTS;

	s->occupied[level] &= ~BIT_ULL(index & LEVEL_MASK);
	if (!s->occupied[level])
		s->used &= ~BIT_ULL(level);
}

void slack_dequeue(struct wheel *w, struct wheel_node *node)
{
	struct slack_wheel *s = to_slack(w);
	struct list_head *next = node->entry.next;
	bool last = node->entry.prev == next;

	if (is_exact(node)) {
		levels_del(&s->exact, node);
		return;
	}
	__list_del_entry(&node->entry);
	/* It need not be where priv says: ask the list. */
	if (last && next - s->list < SLACK_DUE)
		slack_clear(s, next - s->list);
}

/* How many slots the first occupied one lies behind slot @from, cyclically. */
static inline u32 slack_ahead(u64 occupied, u32 from)
{
	/* In two shifts, as none may be as wide as the word. */
	u64 turned = occupied >> from |
		     occupied << 1 << (LEVEL_SLOTS - 1 - from);

	return __ffs64(turned);
}

/* The tick at which slots of a level come up that have come round @turn times. */
static inline u64 slack_slot_tick(u64 now, u32 level, u32 slot)
{
	u32 shift = level * SLACK_SHIFT;
	u64 from = (now >> shift) + 1;

	return (from + ((slot - (u32)from) & LEVEL_MASK)) << shift;
}

/* The first tick at which a slot of timers with slack comes up. */
static u64 slack_next_slot(const struct slack_wheel *s)
{
	u64 now = s->wheel.now;
	u64 next = WHEEL_NEVER;
	u64 used;

	for (used = s->used; used; used &= used - 1) {
		u32 level = __ffs64(used);
		u32 shift = level * SLACK_SHIFT;
		u64 from = (now >> shift) + 1;
		u64 tick = from + slack_ahead(s->occupied[level],
					      from & LEVEL_MASK);

		/* Less 1, since never, which is 0, must count as greatest. */
		tick <<= shift;
		if (tick - 1 < next - 1)
			next = tick;
	}
	return next;
}

u64 slack_next(const struct wheel *w)
{
	const struct slack_wheel *s = to_slack(w);
	u64 exact = digits_next(&s->exact.digits, w->now);
	u64 slot = slack_next_slot(s);

	if (!list_empty(&s->list[SLACK_DUE]))
		return w->now + 1;
	return exact - 1 < slot - 1 ? exact : slot;
}

void slack_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

/* Take the slots that begin on the clock's tick. */
static void slack_collect(struct slack_wheel *s)
{
	u64 now = s->wheel.now;
	/* Bit n is set where slots of level n, and all below, begin there. */
	u32 top = __ffs64(now) / SLACK_SHIFT;
	u64 used = s->used & GENMASK_ULL(top, 0);

	for (; used; used &= used - 1) {
		u32 level = __ffs64(used);
		u32 index = level * LEVEL_SLOTS +
			    (now >> (level * SLACK_SHIFT) & LEVEL_MASK);

		if (list_empty(&s->list[index]))
			continue;
		list_splice_tail_init(&s->list[index], &s->list[SLACK_DUE]);
		slack_clear(s, index);
		s->wheel.touched++;
	}
}

/*
 * Fire what has come up and is due; that is within its slack, since its slot
 * began no later than the tick that was chosen for it. What is not due goes
 * into a finer slot.
 */
static void slack_expire(struct slack_wheel *s, struct wheel_batch *batch)
{
	struct list_head *due = &s->list[SLACK_DUE];

	while (!list_empty(due) && batch->looked < batch->budget) {
		struct wheel_node *node =
			list_first_entry(due, struct wheel_node, entry);

		prefetch(node->entry.next);
		__list_del_entry(&node->entry);
		batch->looked++;
		if (likely(node->expires <= s->wheel.now)) {
			batch->node[batch->nr++] = node;
		} else {
			s->wheel.moved++;
			slack_place(s, s->wheel.now, node);
		}
	}
}

/* A timer without slack that was overdue was placed for the next tick. */
static inline u64 slack_key(const struct wheel_node *node, u64 first)
{
	return max(node->expires, first);
}

/* Bring the exact levels to @first, while the clock is still one tick before. */
static bool slack_cascade(struct slack_wheel *s, u64 first,
			  struct wheel_batch *batch)
{
	struct levels *l = &s->exact;
	u32 level = l->digits.partial ? : __ffs64(l->digits.used);

	return !level || levels_cascade(l, level, first, &s->wheel, batch,
					slack_key);
}

bool slack_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	struct slack_wheel *s = to_slack(w);
	struct list_head *due = &s->list[SLACK_DUE];
	u64 exact, first;

	for (;;) {
		slack_expire(s, batch);
		if (digits_wait(&s->exact.digits, w->now))
			levels_expire(&s->exact, w, batch);
		if (!list_empty(due) || digits_wait(&s->exact.digits, w->now))
			return false;
		if (batch->nr)
			return w->now == to;

		exact = digits_next(&s->exact.digits, w->now);
		first = slack_next(w);
		if (first == WHEEL_NEVER || first > to) {
			w->now = to;
			return true;
		}
		/* Until they are there, new timers join the slot's tail. */
		w->now = first - 1;
		if (exact == first && !slack_cascade(s, first, batch))
			return false;
		w->now = first;
		slack_collect(s);
	}
}

static size_t slack_size(const struct wheel_config *cfg)
{
	return sizeof(struct slack_wheel) + levels_slots_size(LEVELS_MAX);
}

static int slack_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct slack_wheel *s = to_slack(w);
	int i;

	for (i = 0; i < SLACK_LISTS; i++)
		INIT_LIST_HEAD(&s->list[i]);
	levels_init(&s->exact, LEVELS_MAX);
	return 0;
}

static void slack_destroy(struct wheel *w)
{
}

static struct wheel_node *slack_first(struct wheel *w)
{
	struct slack_wheel *s = to_slack(w);
	struct wheel_node *node = levels_first(&s->exact);
	u32 level;

	if (node)
		return node;
	/* The order of the others does not matter. */
	if (s->used) {
		level = __ffs64(s->used);
		return lists_first(&s->list[level * LEVEL_SLOTS], LEVEL_SLOTS);
	}
	return lists_first(&s->list[SLACK_DUE], 2);
}

static u64 slack_fires(const struct wheel *w, const struct wheel_node *node)
{
	const struct slack_wheel *s = to_slack(w);
	u64 first = wheel_fire_tick(w->now, node->expires);
	u32 level;

	if (is_exact(node)) {
		/* Half of the clock's slot may wait, and it may belong there. */
		if (node->expires <= w->now && node->priv == (u32)w->now)
			return w->now;
		return first;
	}
	if (node->priv == SLACK_SHELF)
		return WHEEL_NEVER;
	if (node->expires <= w->now && !list_empty(&s->list[SLACK_DUE]))
		return w->now;
	return slack_tick(first, max(first, slack_last(node)), &level);
}

/* The lists of a slot: on an even level, of exact timers too. */
static inline void slack_show(const struct wheel *w, struct walk *walk,
			      u64 index)
{
	const struct slack_wheel *s = to_slack(w);
	const struct levels *exact = &s->exact;
	u32 level = index / LEVEL_SLOTS;
	u32 slot = index & LEVEL_MASK;
	u32 twin = level / 2 * LEVEL_SLOTS + slot;

	if (index == SLACK_DUE) {
		walk_list(walk, &s->list[index], w->now, WHEEL_NO_LEVEL, 0);
	} else if (index == SLACK_SHELF) {
		walk_list(walk, &s->list[index], WHEEL_NEVER,
			  WHEEL_NO_LEVEL, 0);
		if (walk->left)
			return;
		walk_list(walk, &exact->slot[LEVELS_MAX * LEVEL_SLOTS],
			  WHEEL_NEVER, WHEEL_NO_LEVEL, 0);
	} else {
		if (level % 2 == 0 && level / 2 < LEVELS_MAX)
			walk_list(walk, &exact->slot[twin],
				  digits_slot_key(&exact->digits, w->now, twin),
				  level, slot);
		if (walk->left)
			return;
		walk_list(walk, &s->list[index],
			  slack_slot_tick(w->now, level, slot), level, slot);
	}
}

static unsigned int slack_walk(const struct wheel *w, struct wheel_walk *pos,
			       struct wheel_item *items, unsigned int max)
{
	return walk_slots(w, pos, items, max, SLACK_LISTS, walk_every,
			  slack_show);
}

static void slack_geometry(const struct wheel *w, struct wheel_geometry *g)
{
	g->levels = SLACK_LEVELS;
	g->slots = LEVEL_SLOTS;
	g->width = 1;
	g->shift = SLACK_SHIFT;
}

const struct wheel_ops slack_ops = {
	.name = "slack",
	.brief = "each timer says how late it may be, and cascades only so far",
	.source = "Cogwheel; between Scheme 7 and Linux since 4.8",
	.traits = WHEEL_SLACK,
	.node_size = wheel_node_size(slack),
	.enqueue = slack_enqueue,
	.dequeue = slack_dequeue,
	.next = slack_next,
	.advance = slack_advance,
	.forward = slack_forward,
	.size = slack_size,
	.init = slack_init,
	.destroy = slack_destroy,
	.first = slack_first,
	.fires = slack_fires,
	.walk = slack_walk,
	.geometry = slack_geometry,
};
