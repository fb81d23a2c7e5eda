// SPDX-License-Identifier: GPL-2.0
/*
 * calendar: a hash wheel that fits itself to its timers, in the number of its
 * slots and in the ticks that a slot spans. Exact over the whole range of
 * 64-bit ticks.
 *
 * A calendar queue (R. Brown, CACM 1988), the event list of many simulators.
 * Its slots are the days of a year, each day's sheet in the order of firing;
 * what is due in another year is on the same sheet, further down. With about
 * as many days as timers, and days that are about as long as the time between
 * one expiry and the next, a sheet has an entry or two.
 *
 *	8 days of 4 ticks; a year is 32 ticks; now = 49, day 4 of year 1
 *
 *	day 0	 0..3, 32..35, ...	 65
 *	day 4	16..19, 48..51, ...	 50  51  114		<- now
 *	day 5	20..23, 52..55, ...	 54
 *	day 7	28..31, 60..63, ...	 61  62  62
 *
 * START_TIMER		O(1) while the calendar fits; O(log k) on a sheet of k,
 *			searched from its tail (ordered.h); a match or two for
 *			the first of a day (tournament.h)
 * STOP_TIMER		the same
 * PER_TICK_BOOKKEEPING	nothing for an empty tick
 * EXPIRY_PROCESSING	the cost of a stop
 *
 * Choose it for a simulation: many events, most of which come to pass, at
 * distances that one does not know beforehand.
 *
 * Three things are not as Brown has them, each because interrupts may be off.
 * A day is a search tree instead of a list, so that a bad fit costs O(log k)
 * and not O(k). Brown looks for the next event day by day, and where a year
 * has none, at every day; here the days hold a tournament. And he resizes, as
 * the number of timers has doubled or halved, in one go: here the new year is
 * allocated outside the lock (grow), and while it is moved into step by step
 * (maintain), both years are in use:
 *
 *	- A new timer goes to the new year, unless the old one still has a timer
 *	  with the same key: then it goes there, to stay behind it.
 *	- So of the timers with one key, those in the new year were armed first.
 *
 * Knows no locks, CPUs, clocks or callbacks (see wheel.h).
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "exact.h"
#include "kinds.h"
#include "ordered.h"
#include "tournament.h"

/* Days of a year, powers of two: at the start and at least; at most. */
#define CALENDAR_DAYS_MIN	64
#define CALENDAR_DAYS_MAX	1048576

/* Timers that one step of maintenance moves at most. */
#define CALENDAR_STEP		16

/* Timers and days to look at for the length of a day; Brown samples 25. */
#define CALENDAR_SAMPLE		64

/* A day is to be as long as this many times from one expiry to the next. */
#define CALENDAR_DAY_EVENTS	3

/**
 * struct calendar_year - a year
 * @nr: its days, a power of two
 * @shift: a day spans 1 << @shift ticks
 * @id: wheel_node.priv of its nodes
 * @first: the days, by their first key
 * @day: the days
 */
struct calendar_year {
	u32 nr;
	u32 shift;
	u32 id;
	struct tournament first;
	struct ordered day[];
};

/**
 * struct calendar - the wheel
 * @exact: what every exact wheel begins with
 * @year: the year to which timers go
 * @old: the year that is being moved out of, or NULL
 * @spare: a year that is empty, to be given back, or NULL
 * @nr: timers in both years
 * @low: fewer timers than this want a shorter year
 * @high: more timers than this want a longer year
 * @numa: NUMA node to allocate on
 */
struct calendar {
	struct exact exact;
	struct calendar_year *year;
	struct calendar_year *old;
	struct calendar_year *spare;
	u64 nr;
	u64 low;
	u64 high;
	int numa;
};

static inline struct calendar *to_calendar(const struct wheel *w)
{
	return container_of(w, struct calendar, exact.wheel);
}

static struct calendar_year *calendar_year_alloc(u32 nr, int numa)
{
	struct calendar_year *y;
	size_t size = sizeof(*y) + nr * sizeof(y->day[0]);

	y = kvzalloc_node(size + tournament_size(nr), GFP_KERNEL_ACCOUNT, numa);
	if (!y)
		return NULL;
	y->nr = nr;
	tournament_init(&y->first, nr, &y->day[nr]);
	return y;
}

static inline u32 calendar_day(const struct calendar_year *y, u64 key)
{
	return key >> y->shift & (y->nr - 1);
}

static inline void calendar_year_add(struct calendar_year *y,
				     struct wheel_node *node)
{
	u32 day = calendar_day(y, node->tree.key);

	node->priv = y->id;
	if (ordered_add(&y->day[day], node))
		tournament_enter(&y->first, day, node->tree.key);
}

static inline void calendar_year_del(struct calendar_year *y,
				     struct wheel_node *node)
{
	u32 day = calendar_day(y, node->tree.key);

	if (ordered_del(&y->day[day], node))
		tournament_enter(&y->first, day, ordered_key(&y->day[day]));
}

static inline struct wheel_node *
calendar_year_first(const struct calendar_year *y)
{
	return ordered_first(&y->day[tournament_winner(&y->first)]);
}

static inline u64 calendar_key(const struct wheel_node *node)
{
	return node->tree.key;
}

/* The earliest of both years; of equals, the new year's were armed first. */
static inline struct wheel_node *calendar_earliest(const struct wheel *w)
{
	const struct calendar *c = to_calendar(w);

	if (unlikely(c->old) && exact_before(tournament_key(&c->old->first),
					     tournament_key(&c->year->first)))
		return calendar_year_first(c->old);
	return calendar_year_first(c->year);
}

/* Has the old year a timer with this key? */
static bool calendar_old_has(const struct calendar *c, u64 key)
{
	return ordered_has(&c->old->day[calendar_day(c->old, key)], key);
}

/* Between which numbers of timers a year is as it should be. */
static void calendar_fits(struct calendar *c)
{
	u32 nr = c->year->nr;

	WRITE_ONCE(c->low, nr > CALENDAR_DAYS_MIN ? nr / 2 : 0);
	WRITE_ONCE(c->high, nr < CALENDAR_DAYS_MAX ? 2 * (u64)nr : U64_MAX);
}

static inline void calendar_count(struct calendar *c, u64 nr)
{
	WRITE_ONCE(c->nr, nr);
	if (unlikely(nr < c->low || nr > c->high))
		c->exact.wheel.upkeep = true;
}

u64 calendar_enqueue(struct wheel *w, struct wheel_node *node)
{
	struct calendar *c = to_calendar(w);
	u64 key;

	if (unlikely(w->now == U64_MAX))
		return exact_shelve(&c->exact, node);
	key = wheel_fire_tick(w->now, node->expires);
	node->tree.key = key;
	if (unlikely(c->old) && calendar_old_has(c, key))
		calendar_year_add(c->old, node);
	else
		calendar_year_add(c->year, node);
	calendar_count(c, c->nr + 1);
	return key;
}

static inline void calendar_take(struct wheel *w, struct wheel_node *node)
{
	struct calendar *c = to_calendar(w);

	calendar_year_del(node->priv == c->year->id ? c->year : c->old, node);
	calendar_count(c, c->nr - 1);
}

void calendar_dequeue(struct wheel *w, struct wheel_node *node)
{
	if (unlikely(node->priv == EXACT_SHELF))
		list_del(&node->entry);
	else
		calendar_take(w, node);
}

u64 calendar_next(const struct wheel *w)
{
	struct wheel_node *node = calendar_earliest(w);

	return exact_next(w, node ? node->tree.key : WHEEL_NEVER);
}

bool calendar_advance(struct wheel *w, u64 to, struct wheel_batch *batch)
{
	return exact_advance(w, to, batch, calendar_earliest, calendar_key,
			     calendar_take);
}

void calendar_forward(struct wheel *w, u64 to)
{
	w->now = to;
}

/* How many days so many timers want. */
static u32 calendar_days(u64 nr)
{
	if (nr <= CALENDAR_DAYS_MIN)
		return CALENDAR_DAYS_MIN;
	if (nr >= CALENDAR_DAYS_MAX)
		return CALENDAR_DAYS_MAX;
	return roundup_pow_of_two(nr);
}

static inline bool calendar_wants(const struct calendar *c)
{
	u64 nr = READ_ONCE(c->nr);

	return nr < READ_ONCE(c->low) || nr > READ_ONCE(c->high);
}

/*
 * How long a day should be: two to four times as long as it is from one timer
 * to the next. That is seen best at the head of the queue, day by day, since
 * the head is where timers are taken from. Where days are so short that there
 * are hardly any in the next of them, it is estimated from all over the year.
 */
static u32 calendar_shift(const struct calendar *c, u32 days)
{
	const struct calendar_year *y = c->year;
	u64 begin = tournament_key(&y->first), last = begin, gap = 0;
	u64 day = begin >> y->shift;
	u32 looks = 0, events = 0, i;
	struct rb_node *rb;

	for (; looks < CALENDAR_SAMPLE; day++) {
		rb = rb_first_cached(&y->day[day & (y->nr - 1)].tree);
		looks++;
		for (; rb && ordered_node(rb)->tree.key >> y->shift == day &&
		     looks < CALENDAR_SAMPLE; rb = rb_next(rb)) {
			last = ordered_node(rb)->tree.key;
			looks++;
			events++;
		}
	}
	if (events >= CALENDAR_SAMPLE / 8) {
		gap = (last - begin) / (events - 1);
	} else if (c->nr) {
		u64 sum = 0;

		for (i = events = 0; i < y->nr; i += y->nr / CALENDAR_SAMPLE) {
			u64 key = y->first.key[i];

			if (key == WHEEL_NEVER)
				continue;
			sum += (key - begin) / CALENDAR_SAMPLE;
			events++;
		}
		/* As if spread evenly, up to twice as far as on average. */
		if (events)
			gap = sum / events * CALENDAR_SAMPLE / c->nr * 2;
	}
	if (!gap)
		return 0;
	return min_t(u32, fls64(gap) + 1, 64 - ilog2(days));
}

static void *calendar_grow(const struct wheel *w)
{
	const struct calendar *c = to_calendar(w);

	if (!calendar_wants(c) || READ_ONCE(c->old))
		return NULL;
	return calendar_year_alloc(calendar_days(READ_ONCE(c->nr)), c->numa);
}

/* Is there anything to do for install or maintain? */
static inline void calendar_flag(struct calendar *c)
{
	c->exact.wheel.upkeep = c->old || c->spare || calendar_wants(c);
}

static void *calendar_install(struct wheel *w, void *memory)
{
	struct calendar *c = to_calendar(w);
	struct calendar_year *y = memory;
	void *spare = c->spare;

	c->spare = NULL;
	if (y && !c->old && y->nr != c->year->nr &&
	    y->nr == calendar_days(c->nr)) {
		y->shift = calendar_shift(c, y->nr);
		y->id = !c->year->id;
		WRITE_ONCE(c->old, c->year);
		c->year = y;
		calendar_fits(c);
	} else if (y && spare) {
		c->spare = y;
	} else if (y) {
		spare = y;
	} else if (!c->old && c->nr > c->high) {
		/* No memory: ask again when it matters twice as much. */
		WRITE_ONCE(c->high, 2 * c->nr);
	} else if (!c->old && c->nr < c->low) {
		WRITE_ONCE(c->low, c->nr / 2);
	}
	calendar_flag(c);
	return spare;
}

static bool calendar_maintain(struct wheel *w)
{
	struct calendar *c = to_calendar(w);
	struct calendar_year *old = c->old;
	unsigned int i;

	for (i = 0; old && i < CALENDAR_STEP; i++) {
		struct wheel_node *node = calendar_year_first(old);

		if (!node) {
			c->spare = old;
			old = NULL;
			WRITE_ONCE(c->old, NULL);
			break;
		}
		/* The first of a key goes first, behind those that went. */
		calendar_year_del(old, node);
		calendar_year_add(c->year, node);
	}
	calendar_flag(c);
	return old;
}

static size_t calendar_size(const struct wheel_config *cfg)
{
	return sizeof(struct calendar);
}

static int calendar_init(struct wheel *w, const struct wheel_config *cfg)
{
	struct calendar *c = to_calendar(w);

	exact_init(&c->exact);
	c->numa = cfg->numa;
	c->year = calendar_year_alloc(CALENDAR_DAYS_MIN, c->numa);
	if (!c->year)
		return -ENOMEM;
	calendar_fits(c);
	return 0;
}

static void calendar_destroy(struct wheel *w)
{
	struct calendar *c = to_calendar(w);

	kvfree(c->year);
	kvfree(c->old);
	kvfree(c->spare);
}

static struct wheel_node *calendar_first(struct wheel *w)
{
	struct wheel_node *node = calendar_earliest(w);

	return node ? node : exact_shelf_first(to_exact(w));
}

static u64 calendar_fires(const struct wheel *w, const struct wheel_node *node)
{
	return exact_fires(node, node->tree.key);
}

/* The days of the year, then those of the old one, then the shelf. */
static inline u64 calendar_walk_next(const struct wheel *w, u64 slot)
{
	const struct calendar *c = to_calendar(w);
	u32 nr = c->year->nr;

	if (slot < nr)
		slot = tournament_next(&c->year->first, slot);
	if (slot >= nr && c->old && slot - nr < c->old->nr)
		slot = nr + tournament_next(&c->old->first, slot - nr);
	return slot;
}

static inline void calendar_walk_slot(const struct wheel *w, struct walk *walk,
				      u64 slot)
{
	const struct calendar *c = to_calendar(w);
	u32 nr = c->year->nr;

	if (slot < nr)
		walk_tree(walk, rb_first_cached(&c->year->day[slot].tree), 0,
			  slot);
	else if (c->old && slot - nr < c->old->nr)
		walk_tree(walk, rb_first_cached(&c->old->day[slot - nr].tree),
			  WHEEL_NO_LEVEL, 0);
	else
		exact_walk_shelf(&c->exact, walk);
}

static unsigned int calendar_walk(const struct wheel *w,
				  struct wheel_walk *pos,
				  struct wheel_item *items, unsigned int max)
{
	const struct calendar *c = to_calendar(w);

	return walk_slots(w, pos, items, max,
			  c->year->nr + (c->old ? c->old->nr : 0) + 1,
			  calendar_walk_next, calendar_walk_slot);
}

static void calendar_geometry(const struct wheel *w, struct wheel_geometry *g)
{
	const struct calendar *c = to_calendar(w);

	exact_geometry(w, g);
	g->slots = c->year->nr;
	g->width = 1ULL << c->year->shift;
}

const struct wheel_ops calendar_ops = {
	.name = "calendar",
	.brief = "hash wheel that fits slots and their width to its timers",
	.source = "Brown 1988",
	.traits = WHEEL_EXACT | WHEEL_ONE_STEP | WHEEL_LAZY,
	.node_size = wheel_node_size(tree),
	.enqueue = calendar_enqueue,
	.dequeue = calendar_dequeue,
	.next = calendar_next,
	.advance = calendar_advance,
	.forward = calendar_forward,
	.size = calendar_size,
	.init = calendar_init,
	.destroy = calendar_destroy,
	.first = calendar_first,
	.fires = calendar_fires,
	.walk = calendar_walk,
	.geometry = calendar_geometry,
	.maintain = calendar_maintain,
	.grow = calendar_grow,
	.install = calendar_install,
};
