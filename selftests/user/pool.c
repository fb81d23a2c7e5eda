// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of kinds that take theirs from a pool (WHEEL_POOLED): how much
 * they ask for, that they never hold more than what is armed accounts for,
 * whatever was cancelled, and what they do where there is none. Knows no kind
 * by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "../../wheels/kinds.h"
#include "stream.h"
#include "tap.h"
#include "wheels.h"

#define START		((1ULL << 36) - 77)
#define MILLION		1000000
#define BYTES_MOST	20
#define PAIRS		200000
/* So many that what a slot may have beside does not matter. */
#ifdef __SANITIZE_ADDRESS__
#define CHURN		20000
#else
#define CHURN		400000
#endif

struct rig {
	enum wheel_kind kind;
	const struct wheel_ops *ops;
	struct wheel *w;
	struct test_pool pool;
	struct wheel_config cfg;
	struct source src;
	unsigned int nr;
	struct wheel_node *node;
	bool *armed;
	size_t live;
};

static void rig_open(struct rig *r, enum wheel_kind kind, unsigned int nr)
{
	*r = (struct rig) { .kind = kind, .ops = wheel_kinds[kind], .nr = nr };
	r->cfg.start = START;
	r->src.state = nr;
	r->pool.timers = nr;
	r->pool.wheels = 1;
	r->w = test_wheel_create(kind, &r->cfg, &r->pool);
	r->node = calloc(nr + 1, sizeof(*r->node));
	r->armed = calloc(nr + 1, sizeof(*r->armed));
	if (!r->w || !r->node || !r->armed)
		abort();
}

static void cancel(struct rig *r, unsigned int i)
{
	if (!r->armed[i])
		return;
	wheel_dequeue(r->kind, r->w, &r->node[i]);
	r->armed[i] = false;
	r->live--;
}

static bool arm(struct rig *r, unsigned int i, u64 delay)
{
	cancel(r, i);
	r->node[i].owner = i;
	r->node[i].expires = r->w->now + delay;
	wheel_enqueue(r->kind, r->w, &r->node[i]);
	if (r->w->refused) {
		r->w->refused = false;
		return false;
	}
	r->armed[i] = true;
	r->live++;
	return true;
}

/* A step towards @to; the number that fired and were not armed is wrong. */
static bool step(struct rig *r, u64 to, unsigned int budget, unsigned int *bad)
{
	struct wheel_batch batch = { .budget = budget };
	bool done = wheel_advance(r->kind, r->w, to, &batch);
	unsigned int i;

	for (i = 0; i < batch.nr; i++) {
		unsigned int nr = batch.node[i]->owner;

		*bad += !r->armed[nr] || r->node[nr].expires != r->w->now;
		r->armed[nr] = false;
		r->live--;
	}
	return done;
}

static bool rig_close(struct rig *r)
{
	unsigned int i;

	for (i = 0; i <= r->nr; i++)
		cancel(r, i);
	test_wheel_destroy(r->w);
	test_pool_check(&r->pool);
	free(r->node);
	free(r->armed);
	return true;
}

/* What is in use, against what so many timers may need at most. */
static bool within_bound(struct rig *r, const char *when)
{
	size_t size, bound = r->ops->chunks(&r->cfg, r->live, 1, &size);

	if (r->pool.used <= bound)
		return true;
	printf("# %s: %s: %zu chunks for %zu timers, where %zu are the most\n",
	       r->ops->name, when, r->pool.used, r->live, bound);
	return false;
}

/*
 * A million timers of log-uniform delay: what is reserved for them is all that
 * the wheel ever takes.
 */
static bool bytes_per_timer(enum wheel_kind kind)
{
	size_t reserved, used;
	struct rig r;
	unsigned int i;

	rig_open(&r, kind, MILLION);
	for (i = 0; i < r.nr; i++)
		arm(&r, i, 1 + source_word(&r.src, source_pick(&r.src, 40)));
	reserved = r.ops->size(&r.cfg) + r.pool.reserved * r.pool.size;
	used = reserved - (r.pool.reserved - r.pool.used) * r.pool.size;
	printf("# %s: %.2f bytes a timer reserved, %.2f used\n", r.ops->name,
	       (double)reserved / r.nr, (double)used / r.nr);
	return rig_close(&r) && reserved <= BYTES_MOST * (size_t)MILLION;
}

/* Patterns in which timers are cancelled: the @i-th of them. */
static unsigned int victim(struct rig *r, unsigned int pattern, unsigned int i)
{
	switch (pattern) {
	case 0:		/* any */
		return source_pick(&r->src, r->nr);
	case 1:		/* the first, but for some that stay */
		return i % 64 ? i % r->nr : 0;
	case 2:		/* from the end */
		return r->nr - 1 - i % r->nr;
	default:	/* all but every fifth */
		i %= r->nr;
		return i % 5 ? i : i + 1;
	}
}

/*
 * Fill few slots or many, cancel most of it, and go on with coming and going:
 * what is in use stays within what the timers that are armed just now account
 * for, the dead ones included.
 */
static bool dead_are_bounded(enum wheel_kind kind)
{
	unsigned int pattern, spread, i, bad = 0;
	bool ok = true;
	struct rig r;

	for (pattern = 0; pattern < 4; pattern++) {
		for (spread = 1; spread <= 1 << 20; spread <<= 10) {
			rig_open(&r, kind, CHURN);
			for (i = 0; i < r.nr; i++)
				arm(&r, i, 100 + source_pick(&r.src, spread));
			for (i = 0; i < r.nr * 2 && ok; i++) {
				cancel(&r, victim(&r, pattern, i));
				/* After some time some come again. */
				if (i > r.nr && i % 3 == 0)
					arm(&r, source_pick(&r.src, r.nr),
					    100 + source_pick(&r.src, spread));
				if (!(i % 64))
					step(&r, r.w->now + (i % 256 == 0),
					     1 + i % WHEEL_BATCH, &bad);
				ok = i % 64 || within_bound(&r, "churn");
			}
			if (r.live && !r.pool.used)
				ok = false;
			rig_close(&r);
		}
	}
	return ok && !bad;
}

/*
 * The same where timers are cancelled soon after others are armed, in one slot:
 * all but two of so many, over and over.
 */
static bool thinned_out_as_it_grows(enum wheel_kind kind)
{
	unsigned int few, i, j;
	bool ok = true;
	struct rig r;

	/* One of them is as many as a chunk holds, whatever that is. */
	for (few = 4; few <= 1024; few += few < 70 ? 1 : few) {
		rig_open(&r, kind, CHURN);
		for (i = 0; i < r.nr && ok; i++) {
			arm(&r, i, 100);
			if (i % few == few - 1)
				for (j = 1; j < few - 1; j++)
					cancel(&r, i - j);
			ok = i % few || within_bound(&r, "thinned out");
		}
		rig_close(&r);
	}
	return ok;
}

/* A timer that is armed and cancelled over and over leaves nothing behind. */
static bool hot_pair_leaves_nothing(enum wheel_kind kind)
{
	unsigned int i, round;
	size_t before;
	bool ok = true;
	struct rig r;

	rig_open(&r, kind, 20000);
	for (round = 0; round < 3; round++) {
		/* Into empty slots, and behind others. */
		before = r.pool.used;
		for (i = 0; i < PAIRS; i++) {
			arm(&r, r.nr - 1, 10 + (round ? 0 : i % 1000));
			cancel(&r, r.nr - 1);
			ok &= r.pool.used <= before + 8;
		}
		for (i = 0; i < (round + 1) * 1000; i++)
			arm(&r, i, 10);
	}
	return rig_close(&r) && ok;
}

/*
 * Without a reservation for them, timers are refused, and the others do not
 * suffer: as soon as no more are armed than were reserved for, all that come fit.
 */
static bool refuses_and_goes_on(enum wheel_kind kind)
{
	enum { RESERVED = 300, MORE = 60000 };
	unsigned int armed = 0, i, bad = 0;
	struct rig r;
	size_t all;
	bool ok;

	rig_open(&r, kind, MORE);
	all = r.pool.reserved;
	r.pool.reserved = r.ops->chunks(&r.cfg, RESERVED, 1, &r.pool.size);
	r.pool.refuses = true;
	for (i = 0; i < MORE; i++) {
		armed += arm(&r, i, 1 + source_word(&r.src, i % 40));
		if (i == RESERVED - 1 && armed != RESERVED)
			return false;
	}
	ok = armed < MORE && armed == r.live;
	/* Of many slots, one timer each stays: no block is saved by that. */
	for (i = 0; i < MORE && r.live >= RESERVED; i++)
		cancel(&r, i);
	ok &= arm(&r, MORE, 5);
	while (!step(&r, START + (1ULL << 40), WHEEL_BATCH, &bad))
		;
	ok &= !r.live && !bad;
	for (i = 0; i < RESERVED; i++)
		ok &= arm(&r, i, 1 + source_word(&r.src, i % 40));
	r.pool.reserved = all;
	return rig_close(&r) && ok;
}

static const struct {
	const char *name;
	bool (*test)(enum wheel_kind kind);
	bool only_as_built;	/* of a block that is shrunk it is not true */
} tests[] = {
	{ "20 bytes a timer, a million of them", bytes_per_timer, true },
	{ "what is dead is bounded by what is alive", dead_are_bounded, false },
	{ "the same where a slot is thinned out as it grows",
	  thinned_out_as_it_grows, false },
	{ "a pair of arm and cancel leaves nothing", hot_pair_leaves_nothing,
	  false },
	{ "refuses what was not reserved, and goes on", refuses_and_goes_on,
	  false },
};

#ifdef WHEEL_LEVEL_BITS
#define AS_BUILT	false
#else
#define AS_BUILT	true
#endif

int main(void)
{
	unsigned int nr = 0, i;
	int kind;

	for (kind = 0; kind < WHEEL_NR_KINDS; kind++)
		if (wheel_kinds[kind]->traits & WHEEL_POOLED)
			for (i = 0; i < ARRAY_SIZE(tests); i++)
				nr += AS_BUILT || !tests[i].only_as_built;
	tap_plan(nr);
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		if (!(wheel_kinds[kind]->traits & WHEEL_POOLED))
			continue;
		for (i = 0; i < ARRAY_SIZE(tests); i++)
			if (AS_BUILT || !tests[i].only_as_built)
				tap_result(tests[i].test((enum wheel_kind)kind),
					   "%s: %s", wheel_kinds[kind]->name,
					   tests[i].name);
	}
	return tap_exit(nr);
}
