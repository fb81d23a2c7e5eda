// SPDX-License-Identifier: GPL-2.0
/*
 * How much a kind does, where the same result could be had by doing far too
 * much: what a jump looks at, and what shape a wheel takes that fits itself to
 * its timers. Knows no kind by name.
 */
#include <stdlib.h>
#include <linux/kernel.h>

#include "../../wheels/kinds.h"
#include "tap.h"
#include "wheels.h"

#define START	((1ULL << 36) - 77)
#define TIMERS	4096
#define TURNS	1000	/* that a periodic timer of one turn goes round */

struct rig {
	enum wheel_kind kind;
	const struct wheel_ops *ops;
	struct wheel *w;
	struct test_pool pool;
	struct wheel_node **node;
	unsigned int nr;
	u64 fired;
	u64 looked;
};

static void upkeep(struct rig *r)
{
	while (r->w->upkeep)
		test_upkeep(r->w);
}

static void rig_open(struct rig *r, enum wheel_kind kind)
{
	struct wheel_config cfg = { .start = START };
	unsigned int i;

	*r = (struct rig) { .kind = kind, .ops = wheel_kinds[kind] };
	r->nr = TIMERS;
	if (r->ops->max_timers && r->nr > r->ops->max_timers)
		r->nr = r->ops->max_timers;
	r->pool.timers = r->nr;
	r->pool.wheels = 1;
	r->w = test_wheel_create(kind, &cfg, &r->pool);
	r->node = calloc(r->nr, sizeof(*r->node));
	if (!r->w || !r->node)
		abort();
	for (i = 0; i < r->nr; i++) {
		r->node[i] = calloc(1, r->ops->node_size);
		if (!r->node[i])
			abort();
	}
}

static void rig_close(struct rig *r)
{
	struct wheel_node *node;
	unsigned int i;

	while ((node = r->ops->first(r->w)))
		wheel_dequeue(r->kind, r->w, node);
	test_wheel_destroy(r->w);
	test_pool_check(&r->pool);
	for (i = 0; i < r->nr; i++)
		free(r->node[i]);
	free(r->node);
}

static void arm(struct rig *r, unsigned int i, u64 due)
{
	r->node[i]->expires = due;
	r->node[i]->owner = i;
	wheel_enqueue(r->kind, r->w, r->node[i]);
	upkeep(r);
}

/* Ticks of a turn of level 0. */
static u64 turn(struct rig *r)
{
	struct wheel_geometry g;

	r->ops->geometry(r->w, &g);
	return g.slots * g.width;
}

/* Jump; timer 0 is armed again a turn of @period later as often as it fires. */
static void jump(struct rig *r, u64 to, u64 period)
{
	struct wheel_batch batch;
	unsigned int i;
	bool done;

	do {
		batch = (struct wheel_batch) { .budget = WHEEL_BATCH };
		done = wheel_advance(r->kind, r->w, to, &batch);
		r->fired += batch.nr;
		r->looked += batch.looked;
		upkeep(r);
		for (i = 0; i < batch.nr && period; i++)
			if (!batch.node[i]->owner)
				arm(r, 0, r->w->now + period);
	} while (!done);
}

/*
 * At most so many looks for each timer: one on each level, or where there are
 * none, one to find it, one to fetch it, one to fire it.
 */
static u64 looks(struct rig *r, u64 timers)
{
	struct wheel_geometry g;

	r->ops->geometry(r->w, &g);
	return (g.levels + 2) * timers;
}

/* Half of the timers fire, each in a turn of its own, all in one slot. */
static bool jump_over_turns(struct rig *r)
{
	u64 step = 3 * turn(r);
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		arm(r, (i * 1001) % r->nr, START + 1 + step * (i + 1));
	jump(r, START + 1 + step * (r->nr / 2) + 63, 0);
	printf("# %s: %u timers, %llu fired, %llu looks\n", r->ops->name, r->nr,
	       r->fired, r->looked);
	return r->fired && r->looked <= looks(r, r->nr);
}

/* One goes round and round among others that are far away. */
static bool jump_with_a_period(struct rig *r)
{
	u64 step = turn(r), end = START + 1 + TURNS * step;
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		arm(r, i, i ? end + step * i : START + 1);
	jump(r, end, step);
	printf("# %s: %u timers, %llu fired, %llu looks\n", r->ops->name, r->nr,
	       r->fired, r->looked);
	return r->fired > TURNS / 2 && r->looked <= looks(r, r->nr + r->fired);
}

/* A kind that grows has about as many slots as timers, and gives them back. */
static bool shape_follows(struct rig *r)
{
	u32 before, full, after;
	struct wheel_geometry g;
	unsigned int i;

	r->ops->geometry(r->w, &g);
	before = g.slots;
	for (i = 0; i < r->nr; i++)
		arm(r, i, START + 1 + 7 * (u64)i);
	r->ops->geometry(r->w, &g);
	full = g.slots;
	printf("# %s: %u timers, %u slots of %llu ticks\n", r->ops->name, r->nr,
	       g.slots, g.width);
	/* Two to four times as long as it is from one to the next. */
	if (r->ops->grow && (g.width < 7 || g.width > 4 * 8))
		return false;
	for (i = 0; i < r->nr; i++) {
		wheel_dequeue(r->kind, r->w, r->node[i]);
		upkeep(r);
	}
	r->ops->geometry(r->w, &g);
	after = g.slots;
	if (!r->ops->grow)
		return full == before && after == before;
	return full >= r->nr / 2 && full <= 2 * r->nr && after == before;
}

static const struct {
	const char *name;
	bool (*test)(struct rig *r);
} tests[] = {
	{ "a jump over turns looks at each timer a few times",
	  jump_over_turns },
	{ "a jump with a periodic timer does not look at the others each time",
	  jump_with_a_period },
	{ "the number of slots follows the timers, or stays as it is",
	  shape_follows },
};

int main(void)
{
	const unsigned int nr = ARRAY_SIZE(tests) * WHEEL_NR_KINDS;
	unsigned int i;
	struct rig r;
	int kind;

	tap_plan(nr);
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		for (i = 0; i < ARRAY_SIZE(tests); i++) {
			rig_open(&r, (enum wheel_kind)kind);
			tap_result(tests[i].test(&r), "%s: %s", r.ops->name,
				   tests[i].name);
			rig_close(&r);
		}
	}
	return tap_exit(nr);
}
