// SPDX-License-Identifier: GPL-2.0
/*
 * The contract of a kind (wheels/wheel.h) and the law of when a timer fires,
 * tried on every kind, in every shape that its options allow.
 *
 * A kind is reached through its struct wheel_ops only and known by its traits
 * only: no case asks for one by name. What must come out is said by model.h.
 * It knows nothing of bases, locks, clocks and callbacks; those are the
 * business of cogwheel_facility_kunit.c.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "../compat.h"
#include "../wheels/kinds.h"
#include "../wheels/period.h"
#include "model.h"

static unsigned long long seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of the random runs; 0 picks one");

static unsigned int rounds = 40000;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "operations of each random run");

/* Timers that were armed and whose fire (or its absence) was checked. */
static u64 probes;

#define RIG_TIMERS	1024
#define RIG_TICKS	512
#define OWNER(i)	(0xc0600000 + (i))
#define CANARY		0x5a

/* A timer of both worlds. */
struct probe {
	struct model_timer model;
	u64 fired_at;
	unsigned int fires;
	u64 period;
	u64 missed;
	u8 guard;	/* so that the node's start is not the canary's end */
	struct wheel_node node;
};

/* Memory for kinds that want chunks: as many as were reserved, no more. */
struct test_pool {
	struct wheel_pool pool;
	void **free;
	size_t size;
	size_t nr;
	size_t left;
	size_t refused;
};

/* A wheel, the oracle beside it, and the timers of both. */
struct rig {
	struct kunit *test;
	const struct wheel_ops *ops;
	enum wheel_kind kind;
	struct wheel_config cfg;
	struct wheel_geometry geo;
	struct wheel *w;
	size_t room;
	bool open;
	struct model model;
	struct test_pool pool;
	struct probe *probe;
	unsigned int room_nr;
	unsigned int nr;	/* how many of them a case uses */
	u64 rnd;
	void (*fired)(struct rig *rig, struct probe *p);
	void (*stopped)(struct rig *rig);
	unsigned int stops;
	u64 fires;
	bool midway;	/* in a call of stopped() */
	struct wheel_batch batch;
	struct wheel_item item[WHEEL_BATCH];
	bool seen[RIG_TIMERS];
	u64 tick[RIG_TICKS];
	unsigned int ticks;
	u64 start[RIG_TICKS];
	unsigned int starts;
};

#define rig_assert(r, cond, fmt, ...)					\
do {									\
	const struct rig *__rig = (r);					\
									\
	KUNIT_ASSERT_TRUE_MSG(__rig->test, cond,			\
		"%s slots=%u levels=%u start=%llu now=%llu: " fmt,	\
		__rig->ops->name, __rig->cfg.slots, __rig->cfg.levels,	\
		__rig->cfg.start, __rig->w ? __rig->w->now : 0,		\
		##__VA_ARGS__);						\
} while (0)

#define rig_assert_eq(rig, got, want, what)				\
do {									\
	u64 __got = (got), __want = (want);				\
									\
	rig_assert(rig, __got == __want, "%s is %llu, should be %llu",	\
		   what, __got, __want);				\
} while (0)

/* Does the kind fire at the due tick, in order, where it is not asked to be slack? */
static bool is_exact(const struct wheel_ops *ops)
{
	return ops->traits & (WHEEL_EXACT | WHEEL_SLACK);
}

/* ---- setting up ---- */

static void *pool_get(struct wheel_pool *pool)
{
	struct test_pool *p = container_of(pool, struct test_pool, pool);

	if (!p->left) {
		p->refused++;
		return NULL;
	}
	return p->free[--p->left];
}

static void pool_put(struct wheel_pool *pool, void *chunk)
{
	struct test_pool *p = container_of(pool, struct test_pool, pool);

	p->free[p->left++] = chunk;
}

static void pool_empty(struct test_pool *p)
{
	while (p->left)
		kvfree(p->free[--p->left]);
	kvfree(p->free);
	p->free = NULL;
}

/*
 * The pool is sized for the rig's timers; the kind says what that takes. It
 * serves one wheel after the other, as long as all of it comes back.
 */
static void rig_fill_pool(struct rig *rig)
{
	struct test_pool *p = &rig->pool;
	size_t nr, size;

	nr = rig->ops->chunks(&rig->cfg, rig->nr, 1, &size);
	rig_assert(rig, nr && size, "%zu chunks of %zu bytes", nr, size);
	rig->cfg.pool = &p->pool;
	if (p->free && p->left == nr && p->nr == nr && p->size == size)
		return;
	if (p->free)
		pool_empty(p);
	p->nr = nr;
	p->size = size;
	p->left = 0;
	p->refused = 0;
	p->free = kvcalloc(p->nr, sizeof(*p->free), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(rig->test, p->free);
	while (p->left < p->nr) {
		void *chunk = kvmalloc(p->size, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(rig->test, chunk);
		p->free[p->left++] = chunk;
	}
	p->pool.get = pool_get;
	p->pool.put = pool_put;
}

static struct probe *probe_of(struct wheel_node *node)
{
	return container_of(node, struct probe, node);
}

static void rig_close(struct rig *rig)
{
	struct wheel_node *node;

	if (!rig->open)
		return;
	rig->open = false;
	while ((node = rig->ops->first(rig->w)))
		rig->ops->dequeue(rig->w, node);
	rig->ops->destroy(rig->w);
	if (rig->pool.free) {
		KUNIT_EXPECT_EQ(rig->test, rig->pool.left, rig->pool.nr);
		KUNIT_EXPECT_EQ(rig->test, rig->pool.refused, 0);
	}
}

/* A wheel of the shape in rig->cfg, empty, its clock at @start. */
static void rig_open(struct rig *rig, u64 start)
{
	size_t size;
	unsigned int i;

	rig_close(rig);
	rig->cfg.start = start;
	rig->cfg.numa = NUMA_NO_NODE;
	rig->cfg.pool = NULL;
	if (rig->ops->traits & WHEEL_POOLED)
		rig_fill_pool(rig);
	size = rig->ops->size(&rig->cfg);
	if (size > rig->room) {
		kvfree(rig->w);
		rig->room = 0;
		rig->w = kvmalloc(size, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(rig->test, rig->w);
		rig->room = size;
	}
	memset(rig->w, 0, size);
	rig->w->now = start;
	rig->w->ops = rig->ops;
	KUNIT_ASSERT_EQ(rig->test, rig->ops->init(rig->w, &rig->cfg), 0);
	rig->open = true;
	rig_assert_eq(rig, rig->w->now, start, "the clock of a new wheel");
	rig->ops->geometry(rig->w, &rig->geo);
	model_init(&rig->model, is_exact(rig->ops) ? 0 : rig->geo.levels);
	rig->fired = NULL;
	rig->stopped = NULL;
	rig->midway = false;
	for (i = 0; i < rig->nr; i++) {
		struct probe *p = &rig->probe[i];

		memset(p, CANARY, sizeof(*p));
		memset(&p->model, 0, sizeof(p->model));
		p->fired_at = 0;
		p->fires = 0;
		p->node.owner = OWNER(i);
	}
}

/* The shapes to try a kind in; false where @n is past the last. */
static bool rig_shape(struct rig *rig, unsigned int n)
{
	static const u32 slots[] = { 0, 2, 3, 6, 7, 64, 100, 512, 4095, 65536 };
	const struct wheel_ops *ops = rig->ops;
	u32 level;

	rig_close(rig);
	memset(&rig->cfg, 0, sizeof(rig->cfg));
	if (ops->slots.max) {
		do {
			if (n >= ARRAY_SIZE(slots))
				return false;
			rig->cfg.slots = slots[n++];
		} while (rig->cfg.slots && (rig->cfg.slots < ops->slots.min ||
					    rig->cfg.slots > ops->slots.max));
	} else if (ops->levels.max) {
		level = ops->levels.min + n - 1;
		if (n && level > ops->levels.max)
			return false;
		rig->cfg.levels = n ? level : 0;
	} else if (n) {
		return false;
	}
	KUNIT_ASSERT_EQ(rig->test, wheel_configure(rig->kind, &rig->cfg), 0);
	return true;
}

#define for_each_shape(rig)	\
	for (unsigned int shape = 0; rig_shape(rig, shape); shape++)

/* A wheel that is costly to set up is set up less often. */
static unsigned int rig_thin(struct rig *rig)
{
	size_t size = rig->ops->size(&rig->cfg);

	if (size <= 16384)
		return 1;
	return size <= 131072 ? 7 : 61;
}

/* ---- the ticks at which things go wrong ---- */

static int compare_ticks(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static unsigned int sort_ticks(u64 *tick, unsigned int nr)
{
	unsigned int i, kept = 0;

	sort(tick, nr, sizeof(*tick), compare_ticks, NULL);
	for (i = 0; i < nr; i++)
		if (!i || tick[i] != tick[i - 1])
			tick[kept++] = tick[i];
	return kept;
}

/* Ticks that so many slots of a level span, 0 where the clock ends before. */
static u64 span_of(const struct wheel_geometry *g, u64 slots, unsigned int level)
{
	unsigned int shift = level * g->shift;
	u64 width;

	if (check_mul_overflow(slots, g->width, &width) || shift >= 64 ||
	    width > U64_MAX >> shift)
		return 0;
	return width << shift;
}

static void add_tick(struct rig *rig, u64 tick)
{
	if (!tick)
		return;
	rig_assert(rig, rig->ticks < RIG_TICKS, "too many boundaries");
	rig->tick[rig->ticks++] = tick;
}

/*
 * The boundaries of a wheel, as delays and as ticks: where each level begins,
 * for a rule that gives a level all of its slots and for one that gives it all
 * but one; each slot's span; a few turns of the whole; and the powers of two
 * at which somebody's arithmetic gave out.
 */
static void rig_boundaries(struct rig *rig)
{
	static const u8 bits[] = { 0, 31, 32, 36, 60, 63 };
	const struct wheel_geometry *g = &rig->geo;
	unsigned int i;

	rig->ticks = 0;
	for (i = 0; i < g->levels; i++) {
		add_tick(rig, span_of(g, 1, i));
		add_tick(rig, span_of(g, g->slots, i));
		add_tick(rig, span_of(g, g->slots - 1, i));
		add_tick(rig, span_of(g, 2 * (u64)g->slots, i));
		add_tick(rig, span_of(g, 3 * (u64)g->slots, i));
	}
	for (i = 0; i < ARRAY_SIZE(bits); i++)
		add_tick(rig, 1ULL << bits[i]);
	rig->ticks = sort_ticks(rig->tick, rig->ticks);
}

/* Start ticks: each boundary, just before, just after, and as far from the end. */
static void rig_starts(struct rig *rig)
{
	unsigned int i, nr = 0;

	for (i = 0; i < rig->ticks; i++) {
		u64 b = rig->tick[i];

		rig_assert(rig, nr + 6 < RIG_TICKS, "too many starts");
		rig->start[nr++] = b - 1;
		rig->start[nr++] = b;
		rig->start[nr++] = b + 1;
		rig->start[nr++] = -b - 1;
		rig->start[nr++] = -b;
		rig->start[nr++] = -b + 1;
	}
	rig->starts = sort_ticks(rig->start, nr);
}

/* Delays and due ticks: from two before each boundary to two after. */
static void rig_dues(struct rig *rig)
{
	unsigned int i, j, nr = rig->ticks;

	rig_assert(rig, nr * 5 + 2 <= RIG_TICKS, "too many due ticks");
	for (i = 0; i < nr; i++)
		for (j = 1; j <= 2; j++) {
			rig->tick[rig->ticks++] = rig->tick[i] - j;
			rig->tick[rig->ticks++] = rig->tick[i] + j;
		}
	rig->tick[rig->ticks++] = U64_MAX;
	rig->tick[rig->ticks++] = U64_MAX - 1;
	rig->ticks = sort_ticks(rig->tick, rig->ticks);
}

static u64 add_saturated(u64 a, u64 b)
{
	return a > U64_MAX - b ? U64_MAX : a + b;
}

/* ---- operations on both worlds ---- */

/* Arm @p for @due, and look at what the wheel says about it. */
static void rig_arm(struct rig *rig, struct probe *p, u64 due)
{
	const struct wheel_ops *ops = rig->ops;
	u64 now = rig->w->now, tick, needs, at;
	bool fires;

	probes++;
	p->node.expires = due;
	if (ops->traits & WHEEL_SLACK)
		p->node.slack.slack = 0;
	needs = ops->enqueue(rig->w, &p->node);
	model_arm(&rig->model, &p->model, now, due);
	fires = model_fires(&rig->model, &p->model, &tick);
	at = ops->fires(rig->w, &p->node);
	rig_assert_eq(rig, rig->w->now, now, "the clock after an arm");
	rig_assert_eq(rig, p->node.expires, due, "expires of an armed node");
	if (!fires) {
		rig_assert_eq(rig, needs, WHEEL_NEVER, "enqueue at the end");
		rig_assert(rig, at == WHEEL_NEVER || rig->midway,
			   "fires() says %llu at the end", at);
		return;
	}
	rig_assert(rig, needs > now && needs <= tick,
		   "enqueue for %llu needs the CPU at %llu, fires at %llu", due,
		   needs, tick);
	/* At a stop within a tick a kind may not know which of two it is. */
	rig_assert(rig, at >= now + !rig->midway && at <= tick,
		   "armed for %llu: fires() says %llu, should be %llu", due, at,
		   tick);
	if (ops->traits & WHEEL_EXACT && !rig->midway)
		rig_assert_eq(rig, at, tick, "fires() of an exact kind");
}

static void rig_cancel(struct rig *rig, struct probe *p)
{
	u64 now = rig->w->now;

	rig->ops->dequeue(rig->w, &p->node);
	model_cancel(&rig->model, &p->model);
	rig_assert_eq(rig, rig->w->now, now, "the clock after a cancel");
}

static void rig_rearm(struct rig *rig, struct probe *p, u64 due)
{
	rig_cancel(rig, p);
	rig_arm(rig, p, due);
}

/* The next idle timer, NULL where all are pending. */
static struct probe *rig_idle(struct rig *rig)
{
	unsigned int i, at = model_below(&rig->rnd, rig->nr);

	for (i = 0; i < rig->nr; i++) {
		struct probe *p = &rig->probe[(at + i) % rig->nr];

		if (!p->model.pending)
			return p;
	}
	return NULL;
}

/* A pending timer picked at random, NULL where none is. */
static struct probe *rig_pending(struct rig *rig)
{
	unsigned int i, at = model_below(&rig->rnd, rig->nr);

	if (!rig->model.nr)
		return NULL;
	for (i = 0; i < rig->nr; i++) {
		struct probe *p = &rig->probe[(at + i) % rig->nr];

		if (p->model.pending)
			return p;
	}
	return NULL;
}

/* @next is later than now, never later than the first fire, and never wakes for nothing. */
static u64 rig_next(struct rig *rig)
{
	u64 next = rig->ops->next(rig->w), first;

	if (!model_first_fire(&rig->model, &first)) {
		rig_assert_eq(rig, next, WHEEL_NEVER, "next of an idle wheel");
		return WHEEL_NEVER;
	}
	rig_assert(rig, next > rig->w->now && next <= first,
		   "next is %llu, the first fire %llu", next, first);
	if (rig->ops->traits & WHEEL_ONE_STEP)
		rig_assert_eq(rig, next, first, "next, in one step");
	return next;
}

/* Compare what one call of advance handed over with the model. */
static void rig_take(struct rig *rig)
{
	struct model_timer *want;
	unsigned int i;

	for (i = 0; i < rig->batch.nr; i++) {
		struct probe *p = probe_of(rig->batch.node[i]);

		rig_assert(rig, p >= rig->probe && p < rig->probe + rig->nr,
			   "no timer of ours was handed over");
		rig_assert(rig, p->model.pending,
			   "timer %td fired, which was not pending",
			   p - rig->probe);
		rig_assert(rig, rig->w->now >= p->model.due,
			   "timer %td fired before its due tick %llu",
			   p - rig->probe, p->model.due);
		want = model_pop(&rig->model, rig->w->now);
		rig_assert(rig, want, "timer %td fired, due %llu, expected %llu",
			   p - rig->probe, p->model.due, p->model.tick);
		rig_assert(rig, want == &p->model,
			   "timer %td fired (due %llu, armed as %llu), expected %td (due %llu, armed as %llu, for tick %llu)",
			   p - rig->probe, p->model.due, p->model.seq,
			   container_of(want, struct probe, model) - rig->probe,
			   want->due, want->seq, want->tick);
		rig_assert_eq(rig, rig->w->now, want->tick, "the tick of a fire");
		rig_assert_eq(rig, p->node.owner, OWNER(p - rig->probe),
			      "the owner's field");
		rig->fires++;
		p->fires++;
		p->fired_at = rig->w->now;
		if (rig->fired)
			rig->fired(rig, p);
	}
}

/* Move the clock to @to, at most @budget timers at a time. */
static void rig_advance(struct rig *rig, u64 to, unsigned int budget)
{
	struct wheel_batch *b = &rig->batch;
	const struct model_timer *missed;
	u64 before, moved;
	bool done;

	do {
		memset(b, CANARY, sizeof(*b));
		b->budget = budget;
		b->looked = 0;
		b->nr = 0;
		before = rig->w->now;
		moved = rig->w->moved;
		done = rig->ops->advance(rig->w, to, b);
		moved = rig->w->moved - moved;
		rig_assert(rig, b->nr <= b->looked && b->looked <= budget,
			   "%u handed over, %u looked at, of %u", b->nr,
			   b->looked, budget);
		rig_assert(rig, b->nr + moved <= b->looked,
			   "%u handed over and %llu moved, %u looked at",
			   b->nr, moved, b->looked);
		rig_assert(rig, rig->w->now >= before && rig->w->now <= to,
			   "the clock went from %llu, towards %llu", before, to);
		rig_assert(rig, done || b->looked || rig->w->now != before,
			   "advance towards %llu does not get on", to);
		rig_take(rig);
		if (!done) {
			rig->stops++;
			rig->midway = true;
			if (rig->stopped)
				rig->stopped(rig);
			rig->midway = false;
		}
	} while (!done);

	rig_assert_eq(rig, rig->w->now, to, "the clock after an advance");
	missed = model_next(&rig->model, to);
	rig_assert(rig, !missed, "the fire at %llu of a timer due %llu was missed",
		   missed->tick, missed->due);
}

/* Go from next to next until something fires; returns the steps it took. */
static unsigned int rig_step_to_fire(struct rig *rig)
{
	unsigned int steps = 0, most = rig->geo.levels;
	u64 next, fires = rig->fires;

	if (rig->ops->traits & WHEEL_ONE_STEP)
		most = 1;
	else if (rig->ops->traits & WHEEL_SCANS)
		most++;
	do {
		next = rig_next(rig);
		if (next == WHEEL_NEVER)
			return steps;
		steps++;
		rig_assert(rig, steps <= most,
			   "nothing has fired after %u steps", steps);
		rig_advance(rig, next, WHEEL_BATCH);
	} while (rig->fires == fires);
	return steps;
}

/* Let everything fire that ever will. */
static void rig_run_out(struct rig *rig)
{
	while (rig_next(rig) != WHEEL_NEVER)
		rig_step_to_fire(rig);
}

/* Every pending node is shown once, where its slot does not show only a part. */
static void rig_walk(struct rig *rig, unsigned int max)
{
	struct wheel_walk pos = {};
	unsigned int i, nr, seen = 0;
	bool more = false;
	u64 tick;

	memset(rig->seen, 0, sizeof(rig->seen));
	while ((nr = rig->ops->walk(rig->w, &pos, rig->item, max))) {
		rig_assert(rig, nr <= max, "walk filled in %u of %u", nr, max);
		for (i = 0; i < nr; i++) {
			const struct wheel_item *it = &rig->item[i];
			struct probe *p = probe_of(it->node);
			bool fires;

			rig_assert(rig, p >= rig->probe &&
				   p < rig->probe + rig->nr && p->model.pending,
				   "walk shows what is not pending");
			rig_assert(rig, !rig->seen[p - rig->probe],
				   "walk shows timer %td twice", p - rig->probe);
			rig->seen[p - rig->probe] = true;
			seen++;
			more |= it->more;
			rig_assert(rig, it->level == WHEEL_NO_LEVEL ||
				   (it->level < rig->geo.levels &&
				    it->slot < rig->geo.slots),
				   "walk shows level %u slot %u", it->level,
				   it->slot);
			fires = model_fires(&rig->model, &p->model, &tick);
			if (fires && !rig->midway)
				rig_assert(rig, it->tick > rig->w->now &&
					   it->tick <= tick,
					   "walk says %llu of a fire at %llu",
					   it->tick, tick);
		}
	}
	if (!more)
		rig_assert_eq(rig, seen, rig->model.nr, "nodes shown by walk");
	if (rig->model.nr)
		rig_assert(rig, seen, "walk shows none of %u", rig->model.nr);
}

/* Rounds of upkeep, as wheel.h tells the owner to do them. */
static void rig_upkeep(struct rig *rig, unsigned int most)
{
	const struct wheel_ops *ops = rig->ops;
	void *memory;

	while (rig->w->upkeep && most--) {
		if (ops->install) {
			memory = ops->grow(rig->w);
			kvfree(ops->install(rig->w, memory));
		}
		if (ops->maintain)
			ops->maintain(rig->w);
	}
}

/* As many as it takes: each must get on, so they end. */
static void rig_upkeep_all(struct rig *rig)
{
	unsigned int guard;

	for (guard = 0; rig->w->upkeep; guard++) {
		rig_assert(rig, guard < 100000, "the upkeep never ends");
		rig_upkeep(rig, 1);
	}
}

/* Nothing may be written behind the part of the node that the kind asked for. */
static void rig_check_canaries(struct rig *rig)
{
	size_t used = rig->ops->node_size;
	unsigned int i;

	for (i = 0; i < rig->nr; i++) {
		const u8 *byte = (const u8 *)&rig->probe[i].node;

		if (used < sizeof(struct wheel_node))
			rig_assert(rig, !memchr_inv(byte + used, CANARY,
						    sizeof(struct wheel_node) - used),
				   "the kind wrote beyond node_size %zu", used);
	}
}

static int contract_init(struct kunit *test)
{
	const struct wheel_ops *const *param = test->param_value;
	struct rig *rig;

	rig = kvzalloc(sizeof(*rig), GFP_KERNEL);
	if (!rig)
		return -ENOMEM;
	test->priv = rig;
	rig->test = test;
	if (param) {
		rig->ops = *param;
		rig->kind = param - wheel_kinds;
	}
	rig->nr = RIG_TIMERS;
	if (rig->ops && rig->ops->traits & WHEEL_BOUNDED)
		rig->nr = min(rig->nr, rig->ops->max_timers);
	rig->room_nr = rig->nr;
	rig->probe = kvcalloc(rig->nr, sizeof(*rig->probe), GFP_KERNEL);
	if (!rig->probe)
		return -ENOMEM;
	while (!seed)
		seed = get_random_u64();
	rig->rnd = seed;
	return 0;
}

static void contract_exit(struct kunit *test)
{
	struct rig *rig = test->priv;

	if (!rig)
		return;
	if (rig->open)
		rig_close(rig);
	if (rig->pool.free)
		pool_empty(&rig->pool);
	kvfree(rig->probe);
	kvfree(rig->w);
	kvfree(rig);
}

static void kind_name(const struct wheel_ops *const *ops, char *desc)
{
	strscpy(desc, (*ops)->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, wheel_kinds, kind_name);

/* ---- the table ---- */

static void kind_is_complete(struct kunit *test)
{
	struct rig *rig = test->priv;
	const struct wheel_ops *ops = rig->ops;
	int i, same = 0;

	KUNIT_EXPECT_EQ(test, wheel_kind_by_name(ops->name), (int)rig->kind);
	for (i = 0; i < WHEEL_NR_KINDS; i++)
		same += !strcmp(wheel_kinds[i]->name, ops->name);
	KUNIT_EXPECT_EQ(test, same, 1);
	KUNIT_EXPECT_TRUE(test, ops->brief && *ops->brief);
	KUNIT_EXPECT_TRUE(test, ops->source && *ops->source);
	KUNIT_EXPECT_TRUE(test, ops->enqueue && ops->dequeue && ops->next &&
			  ops->advance && ops->forward);
	KUNIT_EXPECT_TRUE(test, ops->size && ops->init && ops->destroy &&
			  ops->first && ops->fires && ops->walk &&
			  ops->geometry);
	KUNIT_EXPECT_GE(test, (size_t)ops->node_size,
			offsetof(struct wheel_node, entry));
	KUNIT_EXPECT_LE(test, (size_t)ops->node_size,
			sizeof(struct wheel_node));
	/* Exactly one rule says when it fires, or model.h has no answer. */
	KUNIT_EXPECT_EQ(test, 1, !!(ops->traits & WHEEL_EXACT) +
			!!(ops->traits & WHEEL_SLACK) +
			!!(ops->traits & WHEEL_ROUNDS));
	KUNIT_EXPECT_EQ(test, !!(ops->traits & WHEEL_POOLED), !!ops->chunks);
	KUNIT_EXPECT_EQ(test, !!ops->grow, !!ops->install);
	KUNIT_EXPECT_EQ(test, !!(ops->traits & WHEEL_BOUNDED),
			!!ops->max_timers);
}

static void unknown_kind_is_refused(struct kunit *test)
{
	KUNIT_EXPECT_LT(test, wheel_kind_by_name("no-such-wheel"), 0);
	KUNIT_EXPECT_LT(test, wheel_kind_by_name(""), 0);
	KUNIT_EXPECT_LT(test, wheel_kind_by_name("cascading "), 0);
}

/* One option of a kind: @value must be taken, or refused without a trace. */
static void try_option(struct rig *rig, bool slots, u32 value, bool valid)
{
	struct wheel_config cfg = {};
	int ret;

	if (slots)
		cfg.slots = value;
	else
		cfg.levels = value;
	ret = wheel_configure(rig->kind, &cfg);
	KUNIT_EXPECT_EQ_MSG(rig->test, ret, valid ? 0 : -EINVAL, "%s %s=%u",
			    rig->ops->name, slots ? "slots" : "levels", value);
}

static void try_range(struct rig *rig, bool slots, const struct wheel_range *r)
{
	try_option(rig, slots, 0, true);
	if (!r->max) {
		try_option(rig, slots, 1, false);
		try_option(rig, slots, 64, false);
		return;
	}
	KUNIT_EXPECT_GE(rig->test, r->def, r->min);
	KUNIT_EXPECT_LE(rig->test, r->def, r->max);
	if (r->min > 1)
		try_option(rig, slots, r->min - 1, false);
	try_option(rig, slots, r->min, true);
	try_option(rig, slots, r->def, true);
	try_option(rig, slots, r->max, true);
	try_option(rig, slots, r->max + 1, false);
	try_option(rig, slots, U32_MAX, false);
}

static void options_are_checked(struct kunit *test)
{
	struct rig *rig = test->priv;

	try_range(rig, true, &rig->ops->slots);
	try_range(rig, false, &rig->ops->levels);
}

/* ---- the oracle itself ---- */

/* Taking hops many at a time gives what taking them one by one does. */
static void oracle_hops(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, depth;

	for (i = 0; i < 2000; i++) {
		u64 now = model_log_uniform(&rig->rnd);
		u64 delay = model_log_uniform(&rig->rnd) >> 25;
		u64 due = add_saturated(now, delay);

		if (now == U64_MAX)
			continue;
		for (depth = 8; depth <= 9; depth++)
			KUNIT_ASSERT_EQ_MSG(test,
					    timer_list_fire(now, due, depth, true),
					    timer_list_fire(now, due, depth, false),
					    "now %llu due %llu depth %u", now,
					    due, depth);
	}
}

/* ---- single timers at every boundary ---- */

/*
 * One timer, on a wheel of its own: silent up to the tick before, there at the
 * tick, whether the clock jumps or steps by next; and gone once cancelled.
 */
static void probe_one(struct rig *rig, u64 start, u64 due, unsigned int how)
{
	struct probe *p = &rig->probe[0];
	u64 tick;

	rig_open(rig, start);
	rig_arm(rig, p, due);
	if (!model_fires(&rig->model, &p->model, &tick)) {
		rig_assert_eq(rig, rig_next(rig), WHEEL_NEVER, "next");
		rig_advance(rig, start, WHEEL_BATCH);
		rig_cancel(rig, p);
		return;
	}
	switch (how) {
	case 0:
		rig_next(rig);
		if (tick - 1 > start)
			rig_advance(rig, tick - 1, WHEEL_BATCH);
		rig_next(rig);
		rig_advance(rig, tick, 1);
		break;
	case 1:
		rig_step_to_fire(rig);
		break;
	case 2:
		rig_advance(rig, U64_MAX, 1);
		break;
	default:
		if (tick - 1 > start)
			rig_advance(rig, tick - 1, WHEEL_BATCH);
		rig_cancel(rig, p);
		rig_assert_eq(rig, rig_next(rig), WHEEL_NEVER,
			      "next after the cancel");
		rig_advance(rig, U64_MAX, WHEEL_BATCH);
		rig_assert_eq(rig, p->fires, 0, "fires of a cancelled timer");
		return;
	}
	rig_assert_eq(rig, p->fires, 1, "fires");
	rig_assert_eq(rig, p->fired_at, tick, "the tick of the fire");
	rig_assert_eq(rig, rig_next(rig), WHEEL_NEVER, "next after the fire");
}

static void probe_boundaries(struct kunit *test, bool absolute)
{
	struct rig *rig = test->priv;
	unsigned int i, j, thin, turn = 0;

	rig->nr = 1;
	for_each_shape(rig) {
		thin = rig_thin(rig);
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_starts(rig);
		rig_dues(rig);
		for (i = 0; i < rig->starts; i++)
			for (j = 0; j < rig->ticks; j++) {
				u64 start = rig->start[i], due = rig->tick[j];

				/* A costly wheel takes its turn of each four. */
				if (turn++ / 4 % thin)
					continue;
				if (!absolute)
					due = add_saturated(start, due);
				if (thin > 1) {
					probe_one(rig, start, due, turn % 4);
					continue;
				}
				probe_one(rig, start, due, 0);
				probe_one(rig, start, due, 1);
				probe_one(rig, start, due, 2);
				probe_one(rig, start, due, 3);
			}
	}
}

static void boundary_delays(struct kunit *test)
{
	probe_boundaries(test, false);
}

static void boundary_ticks(struct kunit *test)
{
	probe_boundaries(test, true);
}

/* All of them at once on one wheel, in three orders of arming. */
static void boundaries_together(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, j, thin, order;

	for_each_shape(rig) {
		thin = rig_thin(rig);
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_starts(rig);
		rig_dues(rig);
		for (i = 0; i < rig->starts; i += thin) {
			u64 start = rig->start[i];

			order = i / thin % 3;
			rig_open(rig, start);
			for (j = 0; j < rig->ticks && j < rig->nr / 2; j++) {
				unsigned int at = order == 0 ? j :
					order == 1 ? rig->ticks - 1 - j :
					model_below(&rig->rnd, rig->ticks);

				rig_arm(rig, &rig->probe[2 * j],
					add_saturated(start, rig->tick[at]));
				rig_arm(rig, &rig->probe[2 * j + 1],
					rig->tick[at]);
			}
			if (i % 2)
				rig_run_out(rig);
			else
				rig_advance(rig, U64_MAX, 1 + i % WHEEL_BATCH);
		}
	}
}

/* ---- arming, moving, cancelling ---- */

/*
 * Many timers for one tick, armed from far and from near, so that on a wheel
 * with levels they come down from all of them: the order of arming holds.
 */
static void order_within_tick(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k;

	for_each_shape(rig) {
		rig_open(rig, 0);
		rig_boundaries(rig);
		for (k = 0; k < rig->ticks; k++) {
			u64 range = rig->tick[k], due = add_saturated(range, range);
			unsigned int used = 0;

			if (range < 2 || due == U64_MAX)
				continue;
			rig_open(rig, 0);
			/* Halve the distance, arming a few at each stop. */
			while (rig->w->now < due - 1 && used + 3 <= rig->nr) {
				for (i = 0; i < 3; i++)
					rig_arm(rig, &rig->probe[used++], due);
				rig_advance(rig, rig->w->now +
					    max((due - rig->w->now) / 2, 1ULL),
					    WHEEL_BATCH);
			}
			rig_advance(rig, U64_MAX, 1 + k % 5);
		}
	}
}

/* A pending timer moved earlier, later, nearby, far, and to where it is. */
static void rearm_moves(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, j, thin;

	rig->nr = min(rig->nr, 4U);
	for_each_shape(rig) {
		thin = rig_thin(rig);
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_starts(rig);
		rig_dues(rig);
		for (i = 0; i < rig->ticks; i += thin)
			for (j = i % 7; j < rig->ticks; j += 7) {
				u64 start = rig->start[(i * 31 + j) % rig->starts];
				u64 a = add_saturated(start, rig->tick[i]);
				u64 b = add_saturated(start, rig->tick[j]);
				u64 tick;

				rig_open(rig, start);
				rig_arm(rig, &rig->probe[0], a);
				rig_arm(rig, &rig->probe[1], a);
				rig_rearm(rig, &rig->probe[0], b);
				rig_next(rig);
				/* Again, from half way. */
				if (model_first_fire(&rig->model, &tick) &&
				    tick - 1 > start) {
					rig_advance(rig, start +
						    (tick - 1 - start) / 2,
						    WHEEL_BATCH);
					rig_rearm(rig, &rig->probe[0], a);
					rig_rearm(rig, &rig->probe[1], b);
				}
				rig_run_out(rig);
			}
	}
}

/* The first, the middle and the last of a slot; the earliest; all of them. */
static void cancel_anywhere(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k, hole;
	u64 due;

	rig->nr = min(rig->nr, 10U);
	for_each_shape(rig) {
		rig_open(rig, 0);
		rig_boundaries(rig);
		for (k = 0; k < rig->ticks; k++)
			for (hole = 0; hole < 5; hole++) {
				due = add_saturated(77, rig->tick[k]);
				rig_open(rig, 77);
				for (i = 0; i < 5; i++)
					rig_arm(rig, &rig->probe[i], due);
				rig_cancel(rig, &rig->probe[hole]);
				rig_arm(rig, &rig->probe[5],
					add_saturated(due, 1));
				rig_next(rig);
				if (due > 79)
					rig_advance(rig, 78, WHEEL_BATCH);
				for (i = 0; i < 5; i++)
					if (i != hole &&
					    rig->probe[i].model.pending)
						rig_cancel(rig, &rig->probe[i]);
				rig_next(rig);
				/* A cancelled node is as good as new. */
				rig_arm(rig, &rig->probe[hole],
					add_saturated(rig->w->now, 2));
				rig_run_out(rig);
			}
		rig_check_canaries(rig);
	}
}

/* The hot pair: armed and cancelled, it leaves nothing behind. */
static void arm_and_cancel(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i;

	for_each_shape(rig) {
		rig_open(rig, 1000);
		for (i = 0; i < 2000; i++) {
			struct probe *p = &rig->probe[i % 3 % rig->nr];

			rig_arm(rig, p, 1000 + i);
			rig_cancel(rig, p);
			rig_assert_eq(rig, rig_next(rig), WHEEL_NEVER, "next");
		}
		rig_walk(rig, WHEEL_BATCH);
		rig_check_canaries(rig);
	}
}

/* Timers that are overdue fire on the next tick, in order, with what is due there. */
static void overdue_fires_next(struct kunit *test)
{
	static const u64 back[] = { 0, 1, 2, 63, 64, 65, 511, 4096, 1 << 20 };
	struct rig *rig = test->priv;
	unsigned int i, k;

	for_each_shape(rig) {
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_starts(rig);
		for (k = 0; k < rig->starts; k += rig_thin(rig)) {
			u64 start = rig->start[k];

			rig_open(rig, start);
			for (i = 0; i < ARRAY_SIZE(back) && 3 * i + 2 < rig->nr;
			     i++) {
				rig_arm(rig, &rig->probe[3 * i],
					start - min(start, back[i]));
				rig_arm(rig, &rig->probe[3 * i + 1],
					add_saturated(start, 1));
				rig_arm(rig, &rig->probe[3 * i + 2], 0);
			}
			if (start == U64_MAX) {
				rig_assert_eq(rig, rig_next(rig), WHEEL_NEVER,
					      "next at the end");
				continue;
			}
			rig_advance(rig, start + 1, 2);
			rig_assert(rig, rig->probe[0].fires == 1 &&
				   rig->probe[2].fires == 1,
				   "overdue, and has not fired");
			rig_run_out(rig);
		}
	}
}

/* ---- the passing of time ---- */

/* Jumps of 2^60 ticks and of the whole clock cost nothing, and miss nothing. */
static void far_jumps(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i;
	u64 touched;

	for_each_shape(rig) {
		rig_open(rig, 5);
		touched = rig->w->touched;
		for (i = 1; i < 15; i++)
			rig_advance(rig, (u64)i << 60, WHEEL_BATCH);
		rig_advance(rig, U64_MAX, WHEEL_BATCH);
		rig_assert(rig, rig->w->touched - touched <= 16 * rig->geo.levels,
			   "%llu slots were visited on an empty wheel",
			   rig->w->touched - touched);

		rig_open(rig, 5);
		for (i = 0; i < 15; i++)
			rig_arm(rig, &rig->probe[i], ((u64)i << 60) + 6);
		/* A jump past everything hands over all of it, in order. */
		rig_advance(rig, U64_MAX, WHEEL_BATCH);
		for (i = 0; i < 15; i++)
			rig_assert_eq(rig, rig->probe[i].fires, 1, "fires");
	}
}

/* What is due on the last tick fires there; what is late for it never does. */
static void the_clock_ends(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i;
	u64 start;

	for_each_shape(rig)
		for (start = U64_MAX - 70; start >= U64_MAX - 70; start++) {
			rig_open(rig, start);
			rig_arm(rig, &rig->probe[0], U64_MAX);
			rig_arm(rig, &rig->probe[1], start);
			rig_arm(rig, &rig->probe[2], U64_MAX - 1);
			rig_arm(rig, &rig->probe[3], 0);
			rig_next(rig);
			rig_advance(rig, U64_MAX, 1);
			for (i = 0; i < 4; i++)
				rig_assert_eq(rig, rig->probe[i].fires,
					      start != U64_MAX, "fires");
			rig_arm(rig, &rig->probe[4], U64_MAX);
			rig_arm(rig, &rig->probe[5], 3);
			rig_assert_eq(rig, rig_next(rig), WHEEL_NEVER, "next");
			rig_advance(rig, U64_MAX, 1);
			rig_walk(rig, WHEEL_BATCH);
			rig_assert(rig, !rig->probe[4].fires &&
				   !rig->probe[5].fires,
				   "a timer fired after the end of the clock");
			rig_cancel(rig, &rig->probe[5]);
			rig_assert(rig, rig->ops->first(rig->w),
				   "first does not show what never fires");
		}
}

/*
 * At each stop of an advance arm more timers: for the tick after, for ticks at
 * which others wait (in the slot just being cascaded, more often than not),
 * overdue ones and far ones; move and cancel some.
 */
static void meddle(struct rig *rig)
{
	u64 now = rig->w->now, due;
	struct probe *p, *other;
	unsigned int k;

	for (k = 0; k < 2; k++) {
		p = rig_idle(rig);
		other = rig_pending(rig);
		if (!p || rig->model.seq > RIG_TIMERS / 2)
			break;
		switch (model_below(&rig->rnd, 6)) {
		case 0:
			due = add_saturated(now, 1);
			break;
		case 1:
			due = now;
			break;
		case 2:
		case 3:
			due = other ? other->model.due : now;
			break;
		case 4:
			due = add_saturated(now, model_below(&rig->rnd, 130));
			break;
		default:
			due = add_saturated(now, model_below(&rig->rnd, 70000));
			break;
		}
		rig_arm(rig, p, due);
	}
	other = rig_pending(rig);
	if (other && !model_below(&rig->rnd, 4))
		rig_cancel(rig, other);
	other = rig_pending(rig);
	if (other && !model_below(&rig->rnd, 4))
		rig_rearm(rig, other,
			  add_saturated(now, model_below(&rig->rnd, 5000)));
	/* Whatever else is called between two advances must be safe. */
	rig->ops->next(rig->w);
	if (!model_below(&rig->rnd, 8))
		rig_walk(rig, 1 + model_below(&rig->rnd, WHEEL_BATCH));
	rig_assert(rig, !rig->model.nr == !rig->ops->first(rig->w),
		   "first and the number pending disagree");
}

static void arming_at_every_stop(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k, budget;

	kunit_info(test, "seed=%llu\n", seed);
	for_each_shape(rig) {
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_starts(rig);
		for (k = 0; k < rig->starts; k += rig_thin(rig)) {
			budget = k % 3 == 2 ? 3 : 1;
			rig_open(rig, rig->start[k]);
			rig->stopped = meddle;
			for (i = 0; i < rig->nr / 16; i++)
				rig_arm(rig, &rig->probe[i],
					add_saturated(rig->start[k],
						      model_below(&rig->rnd,
								  1ULL << (i % 17))));
			rig_advance(rig, add_saturated(rig->start[k], 4096),
				    budget);
			rig_advance(rig, add_saturated(rig->start[k], 1 << 20),
				    budget);
			rig->stopped = NULL;
			rig_run_out(rig);
		}
		rig_assert(rig, rig->stops, "it never stopped");
	}
}

/* From one fire to the next in no more steps than there are levels. */
static void steps_are_bounded(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k;
	u64 next;

	for_each_shape(rig) {
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_starts(rig);
		for (k = 0; k < rig->starts; k += rig_thin(rig)) {
			rig_open(rig, rig->start[k]);
			for (i = 0; i < rig->nr / 8; i++)
				rig_arm(rig, &rig->probe[i],
					add_saturated(rig->start[k],
						      model_log_uniform(&rig->rnd)));
			while ((next = rig_next(rig)) != WHEEL_NEVER) {
				/* A clock that stops short of next misses nothing. */
				if (next - 1 > rig->w->now)
					rig_advance(rig, next - 1, WHEEL_BATCH);
				rig_step_to_fire(rig);
			}
		}
	}
}

/* forward() moves the cursor, and what is armed then is timed from there. */
static void forward_moves_the_cursor(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k, at;
	u64 to, next;

	for_each_shape(rig) {
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_starts(rig);
		rig_dues(rig);
		for (k = 0; k < rig->starts; k += rig_thin(rig)) {
			rig_open(rig, rig->start[k]);
			for (i = 0; i < 200; i++) {
				struct probe *p = rig_idle(rig);

				next = rig_next(rig);
				to = add_saturated(rig->w->now,
						   rig->tick[model_below(&rig->rnd,
									 rig->ticks)]);
				if (next != WHEEL_NEVER)
					to = min(to, next - 1);
				rig->ops->forward(rig->w, to);
				rig_assert_eq(rig, rig->w->now, to,
					      "the clock after forward");
				at = model_below(&rig->rnd, rig->ticks);
				if (p)
					rig_arm(rig, p, add_saturated(to,
								      rig->tick[at]));
				if (i % 3 == 2 && rig->model.nr)
					rig_step_to_fire(rig);
			}
			rig_run_out(rig);
		}
	}
}

/*
 * Taking everything out by first() and arming it again on a wheel whose clock
 * stands elsewhere, as is done for a dying CPU: nothing is lost, and the order
 * within each tick stays.
 */
static void drain_keeps_the_order(struct kunit *test)
{
	struct rig *rig = test->priv;
	struct wheel_node *node;
	unsigned int i, k, nr;
	struct probe **list;
	u64 now;

	list = kunit_kcalloc(test, rig->nr, sizeof(*list), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, list);
	for_each_shape(rig)
		for (k = 0; k < 12; k++) {
			rig_open(rig, (1ULL << (5 * k)) - 3);
			for (i = 0; i < rig->nr / 4; i++)
				rig_arm(rig, &rig->probe[i], rig->w->now +
					(1ULL << model_below(&rig->rnd, 24)));
			rig_advance(rig, rig->w->now + 500 * k, WHEEL_BATCH);
			nr = 0;
			while ((node = rig->ops->first(rig->w))) {
				rig_assert(rig, nr < rig->nr &&
					   probe_of(node)->model.pending,
					   "first shows what is not pending");
				list[nr++] = probe_of(node);
				rig->ops->dequeue(rig->w, node);
				list[nr - 1]->model.pending = false;
			}
			rig_assert_eq(rig, nr, rig->model.nr, "drained");
			rig_assert_eq(rig, rig->ops->next(rig->w), WHEEL_NEVER,
				      "next of a drained wheel");
			/* The order of the drain must be an order of arming. */
			now = rig->w->now;
			if (is_exact(rig->ops))
				for (i = 1; i < nr; i++) {
					struct model_timer *a = &list[i - 1]->model;
					struct model_timer *b = &list[i]->model;

					if (max(a->due, now + 1) !=
					    max(b->due, now + 1))
						continue;
					rig_assert(rig, a->seq < b->seq,
						   "drained out of order");
				}
			model_init(&rig->model, rig->model.depth);
			rig->ops->forward(rig->w, now + 100 * k);
			for (i = 0; i < nr; i++)
				rig_arm(rig, list[i], list[i]->model.due);
			rig_run_out(rig);
			for (i = 0; i < rig->nr / 4; i++)
				rig_assert_eq(rig, rig->probe[i].fires, 1,
					      "fires");
		}
}

/* The walk shows every timer once, in one go and one by one, whatever waits. */
static void walk_shows_all(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k;

	for_each_shape(rig)
		for (k = 0; k < 60; k++) {
			u64 range = k < 30 ? 1ULL << (2 * k) : 0;

			rig_open(rig, model_log_uniform(&rig->rnd));
			rig_walk(rig, WHEEL_BATCH);
			for (i = 0; i < rig->nr / (k + 1); i++)
				rig_arm(rig, &rig->probe[i], range ?
					add_saturated(rig->w->now,
						      model_below(&rig->rnd, range)) :
					model_log_uniform(&rig->rnd));
			rig_walk(rig, WHEEL_BATCH);
			rig_walk(rig, 1);
			rig_walk(rig, 7);
			rig_step_to_fire(rig);
			rig_walk(rig, WHEEL_BATCH);
		}
}

/* How often a timer is moved by the passing of time, and what is touched. */
static void moves_are_bounded(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, most;

	for_each_shape(rig) {
		rig_open(rig, model_log_uniform(&rig->rnd) >> 1);
		most = rig->ops->traits & WHEEL_ONCE ? 1 :
		       max(rig->geo.levels - 1, 1U);
		for (i = 0; i < rig->nr; i++)
			rig_arm(rig, &rig->probe[i],
				add_saturated(rig->w->now,
					      model_log_uniform(&rig->rnd)));
		rig_run_out(rig);
		rig_assert(rig, rig->w->moved <= (u64)rig->nr * most,
			   "%llu moves of %u timers on %u levels",
			   rig->w->moved, rig->nr, rig->geo.levels);
	}
}

/* Arm it again as part of its fire, as the law says of periodic timers. */
static void rearm_periodic(struct rig *rig, struct probe *p)
{
	u64 due = p->model.due, missed;

	if (!wheel_period_next(&due, p->period, rig->w->now, &missed))
		return;
	p->missed += missed;
	rig_assert(rig, due > rig->w->now, "the next due tick %llu is past",
		   due);
	rig_arm(rig, p, due);
}

/* Periods are counted from due tick to due tick, and stop at the clock's end. */
static void periods_do_not_drift(struct kunit *test)
{
	static const u64 period[] = { 1, 2, 3, 7, 63, 64, 65, 511, 512, 513, 4095,
				      4096, 4097, 70000 };
	struct rig *rig = test->priv;
	unsigned int i, k;
	u64 start;

	for_each_shape(rig)
		for (k = 0; k < 2; k++) {
			start = k ? U64_MAX - 5000 : (1ULL << 36) - 3;
			rig_open(rig, start);
			rig->fired = rearm_periodic;
			for (i = 0; i < ARRAY_SIZE(period); i++) {
				rig->probe[i].period = period[i];
				rig->probe[i].missed = 0;
				rig_arm(rig, &rig->probe[i],
					add_saturated(start, period[i]));
			}
			rig_advance(rig, start + 4999, 1 + model_below(&rig->rnd, 64));
			for (i = 0; i < ARRAY_SIZE(period); i++)
				if (rig->ops->traits & WHEEL_EXACT)
					rig_assert_eq(rig, rig->probe[i].fires,
						      4999 / period[i],
						      "fires of a periodic timer");
			if (!k)
				continue;
			rig_advance(rig, U64_MAX, WHEEL_BATCH);
			rig_assert_eq(rig, rig->model.nr, 0,
				      "timers that outlive the clock");
		}
}

/* A timer with slack S fires within S ticks of its due tick. */
static void slack_is_kept(struct kunit *test)
{
	struct rig *rig = test->priv;
	const struct wheel_ops *ops = rig->ops;
	u64 to, start, latest = 0;
	unsigned int i, k;
	bool done;

	if (!(ops->traits & WHEEL_SLACK))
		kunit_skip(test, "%s knows no slack", ops->name);

	for_each_shape(rig)
		for (k = 0; k < 64; k++) {
			start = k % 2 ? model_log_uniform(&rig->rnd) : 1ULL << k;
			rig_open(rig, start);
			for (i = 0; i < rig->nr; i++) {
				struct probe *p = &rig->probe[i];
				u64 due = add_saturated(start, model_random(&rig->rnd) >>
							(k / 2 + 20));

				p->node.expires = due;
				p->node.slack.slack = model_log_uniform(&rig->rnd) >>
						      (k / 2 + 20);
				p->model.due = due;
				p->period = p->node.slack.slack;
				ops->enqueue(rig->w, &p->node);
				probes++;
			}
			do {
				to = ops->next(rig->w);
				rig_assert(rig, to > rig->w->now ||
					   to == WHEEL_NEVER, "next is %llu", to);
				if (to == WHEEL_NEVER)
					break;
				do {
					memset(&rig->batch, CANARY,
					       sizeof(rig->batch));
					rig->batch.budget = 1 + k % WHEEL_BATCH;
					rig->batch.looked = 0;
					rig->batch.nr = 0;
					done = ops->advance(rig->w, to,
							    &rig->batch);
					for (i = 0; i < rig->batch.nr; i++) {
						struct probe *p =
							probe_of(rig->batch.node[i]);

						p->fires++;
						p->fired_at = rig->w->now;
					}
				} while (!done);
			} while (to != WHEEL_NEVER);
			for (i = 0; i < rig->nr; i++) {
				struct probe *p = &rig->probe[i];
				u64 from = max(p->model.due,
					       add_saturated(start, 1));

				if (start == U64_MAX)
					break;
				rig_assert_eq(rig, p->fires, 1, "fires");
				rig_assert(rig, p->fired_at >= from &&
					   p->fired_at - from <= p->period,
					   "due %llu slack %llu fired at %llu",
					   from, p->period, p->fired_at);
				latest = max(latest, p->fired_at - from);
			}
		}
	rig_assert(rig, latest, "no timer made use of its slack");
}

/* ---- well-known faults of other implementations ---- */

/*
 * The level worked out from the XOR of due tick and clock lies beyond the last
 * one where the two are either side of a power of 64^levels: at 2^36 - 1 on six
 * levels, even for a delay of 1.
 */
static void fault_xor_level_overflow(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int bit, delay;

	rig->nr = 1;
	for_each_shape(rig)
		for (bit = 1; bit < 64; bit++)
			for (delay = 1; delay < 4; delay++) {
				u64 start = (1ULL << bit) - 1;

				probe_one(rig, start, start + delay, 1);
				probe_one(rig, start, start + delay, 2);
				probe_one(rig, start - 1, start + delay, 1);
			}
}

/*
 * A slot of the top level that lies behind the cursor belongs to the next
 * turn: taken for the one before it, its timer fires a turn early, or waits
 * for ever.
 */
static void fault_top_slot_wraps(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int level, slot, k;

	rig->nr = 1;
	for_each_shape(rig) {
		rig_open(rig, 0);
		for (level = 0; level < rig->geo.levels; level++) {
			u64 span = span_of(&rig->geo, 1, level);
			u64 turn = span_of(&rig->geo, rig->geo.slots, level);
			unsigned int step = max(rig->geo.slots / 16, 1U) * rig_thin(rig);

			if (!turn || turn > U64_MAX / 4)
				break;
			for (slot = 0; slot < rig->geo.slots; slot += step)
				for (k = 0; k < 3; k++) {
					u64 start = turn + slot * span + k;

					/* Up to a turn away, less one span. */
					probe_one(rig, start, start + turn - 1, 1);
					probe_one(rig, start, start + turn - span, 1);
					probe_one(rig, start, start + turn - span - 1, 0);
					probe_one(rig, start, start + turn - span + 1, 2);
				}
		}
	}
}

/* A delay of a whole number of turns comes back to the slot of the cursor. */
static void fault_multiple_of_turn(struct kunit *test)
{
	static const u8 turns[] = { 1, 2, 3, 10, 64 };
	struct rig *rig = test->priv;
	unsigned int level, i, k;

	rig->nr = 1;
	for_each_shape(rig) {
		rig_open(rig, 0);
		for (level = 0; level < rig->geo.levels; level++) {
			u64 turn = span_of(&rig->geo, rig->geo.slots, level);

			if (!turn || turn > U64_MAX / 128)
				break;
			for (i = 0; i < ARRAY_SIZE(turns); i++)
				for (k = 0; k < 5; k++) {
					u64 start = turn * k + 3 * k;
					u64 due = start + turn * turns[i];

					probe_one(rig, start, due, k % 3);
					probe_one(rig, start, due - 1, (k + 1) % 3);
					probe_one(rig, start, due + 1, (k + 2) % 3);
				}
		}
	}
}

/* At a stop within a slot, arm for the slot itself: this turn's and the next's. */
static void arm_into_running_slot(struct rig *rig)
{
	const struct wheel_geometry *g = &rig->geo;
	u64 now = rig->w->now;
	u64 delay[] = { 0, 1, g->width, g->width * g->slots,
			g->width * g->slots - 1,
			(g->width << g->shift) * g->slots };
	struct probe *p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(delay); i++) {
		p = rig_idle(rig);
		if (!p || rig->model.seq >= 200)
			return;
		rig_arm(rig, p, add_saturated(now, delay[i]));
	}
}

static void fault_insert_into_running_slot(struct kunit *test)
{
	static const u64 start[] = { 0, 62, 63, 64, 511, 4095, (1ULL << 36) - 1 };
	struct rig *rig = test->priv;
	unsigned int i, k;

	rig->nr = min(rig->nr, 256U);
	for_each_shape(rig)
		for (k = 0; k < ARRAY_SIZE(start); k++) {
			rig_open(rig, start[k]);
			rig->stopped = arm_into_running_slot;
			for (i = 0; i < 4; i++)
				rig_arm(rig, &rig->probe[i], start[k] + 5);
			rig_advance(rig, start[k] + 5, 1);
			rig_advance(rig, start[k] + 200000, 1);
			rig->stopped = NULL;
			rig_run_out(rig);
			rig_assert(rig, rig->model.seq >= 200,
				   "only %llu were armed", rig->model.seq);
		}
}

/* A timer that has been handed over is the caller's: it may be armed at once. */
static void rearm_what_fired(struct rig *rig, struct probe *p)
{
	if (p->fires == 1)
		rig_arm(rig, p, add_saturated(rig->w->now, 1 + (p - rig->probe)));
	else if (p->fires == 2)
		rig_arm(rig, p, rig->w->now);
	else if (p->fires == 3)
		rig_arm(rig, p, 0);
}

static void fault_expired_entry_is_reset(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, nr = min(rig->nr, 200U);

	for_each_shape(rig) {
		rig_open(rig, 4000);
		rig->fired = rearm_what_fired;
		for (i = 0; i < nr; i++)
			rig_arm(rig, &rig->probe[i], 4100);
		rig_run_out(rig);
		for (i = 0; i < nr; i++)
			rig_assert_eq(rig, rig->probe[i].fires, 4, "fires");
	}
}

/* Rounds kept in 32 or 31 bits, or as a signed number, overflow on these. */
static void fault_rounds_overflow(struct kunit *test)
{
	static const u8 bits[] = { 30, 31, 32, 33, 36, 40, 48, 62, 63 };
	struct rig *rig = test->priv;
	unsigned int i;
	int k;

	rig->nr = 1;
	for_each_shape(rig) {
		rig_open(rig, 0);
		for (i = 0; i < ARRAY_SIZE(bits); i++) {
			/* That many turns of the first level. */
			u64 delay = span_of(&rig->geo, rig->geo.slots, 0);

			if (check_mul_overflow(delay, 1ULL << bits[i], &delay))
				delay = U64_MAX / 2;
			for (k = -1; k <= 1; k++) {
				probe_one(rig, 9, (1ULL << bits[i]) + k, 0);
				probe_one(rig, 9, (1ULL << bits[i]) + k, 2);
				probe_one(rig, 9, delay + 9 + k, 0);
			}
		}
		probe_one(rig, 0, U64_MAX, 0);
		probe_one(rig, 0, U64_MAX - 1, 0);
		probe_one(rig, U64_MAX / 2, U64_MAX, 0);
	}
}

/*
 * Cancelling a timer whose slot is already being worked off: it is taken out
 * once, does not fire, and what is left fires in order.
 */
static void cancel_in_running_slot(struct rig *rig)
{
	struct model_timer *t;

	/* The next to fire, which the kind may have set aside already. */
	if (rig->stops % 2 || list_empty(&rig->model.timers))
		return;
	t = list_first_entry(&rig->model.timers, struct model_timer, link);
	rig_cancel(rig, container_of(t, struct probe, model));
	rig_walk(rig, WHEEL_BATCH);
}

static void fault_cancel_while_expiring(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k, nr = min(rig->nr, 96U);

	for_each_shape(rig)
		for (k = 0; k < 6; k++) {
			u64 start = (1ULL << (6 * k + 3)) - 1, fired = 0;
			unsigned int cancelled;

			rig_open(rig, start);
			rig->stopped = cancel_in_running_slot;
			/* Half on one tick, half in one slot of each level. */
			for (i = 0; i < nr; i++)
				rig_arm(rig, &rig->probe[i], start + (i % 2 ?
					1ULL << (6 * k) :
					(1ULL << (6 * k)) + i));
			rig_advance(rig, start + (1ULL << 62), 1);
			rig->stopped = NULL;
			rig_assert_eq(rig, rig->model.nr, 0, "left over");
			rig_assert(rig, !rig->ops->first(rig->w),
				   "first shows a timer on an empty wheel");
			for (i = 0; i < nr; i++)
				fired += rig->probe[i].fires;
			cancelled = nr - fired;
			rig_assert(rig, cancelled && fired,
				   "%u cancelled, %llu fired", cancelled, fired);
		}
}

/*
 * All timers of a slot are cancelled while it is half worked off. Whoever
 * remembers that he was in the midst of it must forget.
 */
static void cancel_all(struct rig *rig)
{
	struct model_timer *t, *next;

	list_for_each_entry_safe(t, next, &rig->model.timers, link)
		rig_cancel(rig, container_of(t, struct probe, model));
	rig->ops->next(rig->w);
}

static void fault_slot_emptied_halfway(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k, part;

	rig->nr = min(rig->nr, 16U);
	for_each_shape(rig) {
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_starts(rig);
		rig_dues(rig);
		for (k = 0; k < rig->starts * 2; k += rig_thin(rig))
			for (part = 1; part < 4; part++) {
				u64 start = rig->start[k / 2];
				u64 due = add_saturated(start,
							rig->tick[k % rig->ticks]);

				rig_open(rig, start);
				for (i = 0; i < part + 1; i++)
					rig_arm(rig, &rig->probe[i], due);
				rig->stopped = cancel_all;
				if (due > start)
					rig_advance(rig, due - 1, part);
				rig->stopped = NULL;
				cancel_all(rig);
				rig_assert_eq(rig, rig_next(rig), WHEEL_NEVER,
					      "next of an emptied wheel");
				/* Due at once, soon, and where a slot begins. */
				for (i = 0; i < rig->nr; i++)
					rig_arm(rig, &rig->probe[i],
						add_saturated(rig->w->now, i % 2 ?
							      i : rig->tick[i * 3]));
				rig_run_out(rig);
			}
	}
}

/* Arming what is overdue leaves the clock alone, and everybody else in time. */
static void fault_overdue_turns_the_clock_back(struct kunit *test)
{
	struct rig *rig = test->priv;
	unsigned int i, k, nr = min(rig->nr / 2, 100U);

	for_each_shape(rig)
		for (k = 3; k < 60; k += 3) {
			rig_open(rig, 1ULL << k);
			for (i = 0; i < nr; i++)
				rig_arm(rig, &rig->probe[2 * i],
					(1ULL << k) + (1ULL << (i % 40)));
			for (i = 0; i < nr; i++) {
				rig_arm(rig, &rig->probe[2 * i + 1],
					(1ULL << k) - (1ULL << (i % k)));
				rig_next(rig);
				if (i % 4 == 3)
					rig_advance(rig, rig->w->now + 1, 2);
			}
			rig_run_out(rig);
		}
}

/* ---- at random ---- */

static u64 random_due(struct rig *rig)
{
	u64 now = rig->w->now;
	u64 r = model_random(&rig->rnd);
	struct probe *other;

	switch (model_below(&rig->rnd, 8)) {
	case 0:
		return add_saturated(now, r % 4);
	case 1:
		return add_saturated(now, r % 600);
	case 2:
		return add_saturated(now, rig->tick[r % rig->ticks]);
	case 3:
		return rig->tick[r % rig->ticks];
	case 4:
		/* On top of another one. */
		other = rig_pending(rig);
		return other ? other->model.due : now;
	case 5:
		return now - min(now, model_log_uniform(&rig->rnd));
	default:
		return add_saturated(now, model_log_uniform(&rig->rnd));
	}
}

static u64 random_jump(struct rig *rig)
{
	u64 now = rig->w->now, next = rig_next(rig), far;

	switch (model_below(&rig->rnd, 6)) {
	case 0:
		return add_saturated(now, 1);
	case 1:
		return next == WHEEL_NEVER ? now : next;
	case 2:
		return next == WHEEL_NEVER ? now : next - 1;
	case 3:
		return add_saturated(now, model_below(&rig->rnd, 5000));
	case 4:
		return now;
	default:
		/* Seldom so far that the run would be over. */
		far = model_log_uniform(&rig->rnd);
		return add_saturated(now, far >> model_below(&rig->rnd, 64));
	}
}

static void random_run(struct rig *rig, u64 start, unsigned int ops)
{
	unsigned int i;
	struct probe *p;
	u64 to;

	rig_open(rig, start);
	for (i = 0; i < ops && rig->w->now != U64_MAX; i++) {
		switch (model_below(&rig->rnd, 16)) {
		case 0 ... 6:
			p = rig_idle(rig);
			if (p)
				rig_arm(rig, p, random_due(rig));
			break;
		case 7 ... 8:
			p = rig_pending(rig);
			if (p)
				rig_cancel(rig, p);
			break;
		case 9 ... 10:
			p = rig_pending(rig);
			if (p)
				rig_rearm(rig, p, random_due(rig));
			break;
		case 11:
			to = random_jump(rig);
			/* The caller of forward must know that nothing is due. */
			if (rig_next(rig) == WHEEL_NEVER || to < rig_next(rig))
				rig->ops->forward(rig->w, to);
			break;
		case 12:
			if (!(i % 16))
				rig_walk(rig, 1 + model_below(&rig->rnd, 64));
			break;
		case 13:
			rig_upkeep(rig, 1 + model_below(&rig->rnd, 20));
			break;
		default:
			to = random_jump(rig);
			rig_advance(rig, to,
				    1 + model_below(&rig->rnd, WHEEL_BATCH));
			break;
		}
		rig_next(rig);
	}
	rig_upkeep_all(rig);
	rig_run_out(rig);
	rig_upkeep_all(rig);
	rig_check_canaries(rig);
}

static void random_against_model(struct kunit *test)
{
	static const u64 start[] = { 0, 0xfffff000, (1ULL << 36) - 100,
				     (1ULL << 63) - 5000, -(1ULL << 37),
				     -70000ULL };
	struct rig *rig = test->priv;
	unsigned int k;

	kunit_info(test, "seed=%llu rounds=%u\n", seed, rounds);
	rig->nr = min(rig->nr, 192U);
	for_each_shape(rig) {
		rig_open(rig, 0);
		rig_boundaries(rig);
		rig_dues(rig);
		for (k = 0; k < ARRAY_SIZE(start); k++)
			random_run(rig, start[k], rounds / ARRAY_SIZE(start));
		/* Many short lives: the clock's end comes soon. */
		for (k = 0; k < 20; k++)
			random_run(rig, model_log_uniform(&rig->rnd),
				   rounds / 100);
	}
}

static void contract_suite_exit(struct kunit_suite *suite)
{
	kunit_info(suite, "%llu probes, seed=%llu\n", probes, seed);
}

static struct kunit_case contract_cases[] = {
	KUNIT_CASE(oracle_hops),
	KUNIT_CASE(unknown_kind_is_refused),
	KUNIT_CASE_PARAM(kind_is_complete, kind_gen_params),
	KUNIT_CASE_PARAM(options_are_checked, kind_gen_params),
	KUNIT_CASE_PARAM(boundary_delays, kind_gen_params),
	KUNIT_CASE_PARAM(boundary_ticks, kind_gen_params),
	KUNIT_CASE_PARAM(boundaries_together, kind_gen_params),
	KUNIT_CASE_PARAM(order_within_tick, kind_gen_params),
	KUNIT_CASE_PARAM(rearm_moves, kind_gen_params),
	KUNIT_CASE_PARAM(cancel_anywhere, kind_gen_params),
	KUNIT_CASE_PARAM(arm_and_cancel, kind_gen_params),
	KUNIT_CASE_PARAM(overdue_fires_next, kind_gen_params),
	KUNIT_CASE_PARAM(far_jumps, kind_gen_params),
	KUNIT_CASE_PARAM(the_clock_ends, kind_gen_params),
	KUNIT_CASE_PARAM(arming_at_every_stop, kind_gen_params),
	KUNIT_CASE_PARAM(steps_are_bounded, kind_gen_params),
	KUNIT_CASE_PARAM(forward_moves_the_cursor, kind_gen_params),
	KUNIT_CASE_PARAM(drain_keeps_the_order, kind_gen_params),
	KUNIT_CASE_PARAM(walk_shows_all, kind_gen_params),
	KUNIT_CASE_PARAM(moves_are_bounded, kind_gen_params),
	KUNIT_CASE_PARAM(periods_do_not_drift, kind_gen_params),
	KUNIT_CASE_PARAM(slack_is_kept, kind_gen_params),
	KUNIT_CASE_PARAM(fault_xor_level_overflow, kind_gen_params),
	KUNIT_CASE_PARAM(fault_top_slot_wraps, kind_gen_params),
	KUNIT_CASE_PARAM(fault_multiple_of_turn, kind_gen_params),
	KUNIT_CASE_PARAM(fault_insert_into_running_slot, kind_gen_params),
	KUNIT_CASE_PARAM(fault_expired_entry_is_reset, kind_gen_params),
	KUNIT_CASE_PARAM(fault_rounds_overflow, kind_gen_params),
	KUNIT_CASE_PARAM(fault_cancel_while_expiring, kind_gen_params),
	KUNIT_CASE_PARAM(fault_slot_emptied_halfway, kind_gen_params),
	KUNIT_CASE_PARAM(fault_overdue_turns_the_clock_back, kind_gen_params),
	KUNIT_CASE_PARAM(random_against_model, kind_gen_params),
	{}
};

static struct kunit_suite contract_suite = {
	.name = "cogwheel_contract",
	.init = contract_init,
	.exit = contract_exit,
	.suite_exit = contract_suite_exit,
	.test_cases = contract_cases,
};

kunit_test_suite(contract_suite);

MODULE_DESCRIPTION("KUnit: every kind of timing wheel against its contract");
MODULE_LICENSE("GPL");
