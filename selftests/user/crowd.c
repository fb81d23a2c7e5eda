// SPDX-License-Identifier: GPL-2.0
/*
 * Many timers at once, for what shows in a crowd only: resizing, long slots,
 * moves that are counted. Against the model; knows no kind by name.
 */
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "../../wheels/kinds.h"
#include "model.h"
#include "stream.h"
#include "tap.h"
#include "wheels.h"

#define CROWD		10000
/* For kinds that look at each timer now and then. */
#define CROWD_SCANNED	2000

/* Timers that melt away, and after how many ticks. */
#define MELTING		2000
#define MELTS_AT	300

struct shape {
	const char *name;
	u32 bits;	/* delays of so many, log-uniform */
	u32 ticks;	/* or else within so many ticks */
};

static const struct shape shapes[] = {
	{ "log-uniform delays", 50, 0 },
	{ "delays within 300 ticks", 0, 300 },
	{ "a pile-up on one tick", 0, 1 },
	{ "uniform delays within 2^20 ticks", 0, 1 << 20 },
};

struct crowd {
	enum wheel_kind kind;
	const struct wheel_ops *ops;
	struct wheel *w;
	struct wheel_node **node;
	struct model m;
	unsigned int timers;
	u64 armed;
	u64 fired;
};

static const char *drain_to(struct crowd *c, u64 to)
{
	const char *why = NULL;
	struct wheel_batch batch;
	unsigned int i;
	bool done;

	do {
		batch = (struct wheel_batch) { .budget = WHEEL_BATCH };
		done = wheel_advance(c->kind, c->w, to, &batch);
		for (i = 0; i < batch.nr && !why; i++)
			why = model_fire(&c->m, batch.node[i]->owner,
					 c->w->now);
		c->fired += batch.nr;
		if (!why)
			why = model_settle(&c->m, c->w->now, done);
		if (c->w->upkeep)
			test_upkeep(c->w);
	} while (!done && !why);
	return why;
}

static void arm(struct crowd *c, unsigned int i, u64 due)
{
	c->node[i]->expires = due;
	c->node[i]->owner = i;
	if (c->ops->traits & WHEEL_SLACK)
		c->node[i]->slack.slack = 0;
	model_arm(&c->m, i, c->w->now, due, 0);
	wheel_enqueue(c->kind, c->w, c->node[i]);
	c->armed++;
	if (c->w->upkeep)
		test_upkeep(c->w);
}

static const char *crowd(struct crowd *c, const struct shape *shape, u64 seed,
			 u64 start)
{
	struct source src = { .state = seed };
	struct test_pool pool = { .wheels = 1 };
	struct wheel_config cfg = { .start = start };
	struct wheel_geometry g;
	const char *why = NULL;
	unsigned int i;
	u64 due = 0, bound;

	c->armed = 0;
	c->fired = 0;
	c->timers = c->ops->traits & WHEEL_SCANS ? CROWD_SCANNED : CROWD;
	if (c->ops->max_timers && c->timers > c->ops->max_timers)
		c->timers = c->ops->max_timers;
	pool.timers = c->timers;
	c->w = test_wheel_create(c->kind, &cfg, &pool);
	c->node = calloc(c->timers, sizeof(*c->node));
	if (!c->w || !c->node)
		abort();
	model_init(&c->m, c->ops->traits, cfg.levels, c->timers);
	for (i = 0; i < c->timers; i++) {
		c->node[i] = malloc(c->ops->node_size);
		if (!c->node[i])
			abort();
	}

	for (i = 0; i < c->timers; i++) {
		due = shape->ticks ? 1 + source_pick(&src, shape->ticks) :
		      source_word(&src, source_pick(&src, shape->bits));
		arm(c, i, start + due);
	}
	/* A third is cancelled, in no order, and half of that armed again. */
	for (i = 0; i < c->timers; i += 3) {
		wheel_dequeue(c->kind, c->w, c->node[i]);
		model_cancel(&c->m, i);
		if (c->w->upkeep)
			test_upkeep(c->w);
	}
	for (i = 0; i < c->timers; i += 6)
		arm(c, i, start + due);
	why = drain_to(c, start + 100);
	if (!why)
		why = drain_to(c, start + (1ULL << 20) + 1);
	if (!why)
		why = drain_to(c, start + (1ULL << 52));
	if (!why && c->m.nr)
		why = "not all have fired";

	c->ops->geometry(c->w, &g);
	bound = c->armed * (g.levels - 1);
	if (!why && c->ops->traits & (WHEEL_EXACT | WHEEL_SLACK) &&
	    !(c->ops->traits & WHEEL_SCANS) && c->w->moved > bound)
		why = "timers moved more often than there are levels below";
	printf("# %s, %s: %llu armed, %llu fired, %llu moved, %llu slots touched\n",
	       c->ops->name, shape->name, c->armed, c->fired, c->w->moved,
	       c->w->touched);
	if (why)
		return why;
	test_wheel_destroy(c->w);
	test_pool_check(&pool);
	model_destroy(&c->m);
	for (i = 0; i < c->timers; i++)
		free(c->node[i]);
	free(c->node);
	return NULL;
}

static void arm_anew(struct crowd *c, unsigned int i, u64 due)
{
	c->node[i] = malloc(c->ops->node_size);
	if (!c->node[i])
		abort();
	arm(c, i, due);
}

static void forget(struct crowd *c, unsigned int i)
{
	free(c->node[i]);
	c->node[i] = NULL;
}

/*
 * Empty one tick, and at each stop cancel some of what waits, arm others for
 * the same tick, and free what is not queued: whatever a kind remembers of a
 * slot that it has emptied halfway, it must not be one of these.
 */
static const char *melt(struct crowd *c, u64 seed, u64 start)
{
	struct source src = { .state = seed };
	struct test_pool pool = { .timers = MELTING, .wheels = 1 };
	struct wheel_config cfg = { .start = start };
	const char *why = NULL;
	struct wheel_batch batch;
	unsigned int i;
	bool done;

	c->w = test_wheel_create(c->kind, &cfg, &pool);
	c->node = calloc(MELTING, sizeof(*c->node));
	if (!c->w || !c->node)
		abort();
	model_init(&c->m, c->ops->traits, cfg.levels, MELTING);
	for (i = 0; i < MELTING; i++)
		arm_anew(c, i, start + MELTS_AT);
	do {
		batch = (struct wheel_batch) { .budget = WHEEL_BATCH };
		done = wheel_advance(c->kind, c->w, start + 2 * MELTS_AT, &batch);
		for (i = 0; i < batch.nr && !why; i++) {
			u32 id = batch.node[i]->owner;

			why = model_fire(&c->m, id, c->w->now);
			forget(c, id);
		}
		if (!why)
			why = model_settle(&c->m, c->w->now, done);
		for (i = 0; i < MELTING && !why && !done; i++) {
			u32 dice = source_pick(&src, 100);

			if (c->node[i] && dice < 8) {
				wheel_dequeue(c->kind, c->w, c->node[i]);
				model_cancel(&c->m, i);
				forget(c, i);
			} else if (!c->node[i] && dice < 2 &&
				   c->w->now < start + MELTS_AT) {
				arm_anew(c, i, start + MELTS_AT);
			}
		}
		if (c->w->upkeep)
			test_upkeep(c->w);
	} while (!done && !why);
	if (!why && c->m.nr)
		why = "not all have fired";
	if (why)
		return why;
	test_wheel_destroy(c->w);
	test_pool_check(&pool);
	model_destroy(&c->m);
	free(c->node);
	return NULL;
}

int main(int argc, char **argv)
{
	const unsigned int tests = (ARRAY_SIZE(shapes) + 1) * WHEEL_NR_KINDS;
	u64 seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	struct crowd c = {};
	unsigned int i;
	const char *why;
	int kind;

	tap_plan(tests);
	printf("# seed %llu\n", seed);
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		c.kind = (enum wheel_kind)kind;
		c.ops = wheel_kinds[kind];
		for (i = 0; i < ARRAY_SIZE(shapes); i++) {
			why = crowd(&c, &shapes[i], seed, (1ULL << 36) - 77);
			if (why)
				printf("# at %llu: %s\n", c.w->now, why);
			tap_result(!why, "%s: a crowd, %s", c.ops->name,
				   shapes[i].name);
		}
		why = melt(&c, seed, (1ULL << 36) - 77);
		if (why)
			printf("# at %llu: %s\n", c.w->now, why);
		tap_result(!why, "%s: a slot melts away while it is emptied",
			   c.ops->name);
	}
	return tap_exit(tests);
}
