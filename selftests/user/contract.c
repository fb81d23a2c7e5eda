// SPDX-License-Identifier: GPL-2.0
/*
 * What a kind must show before a timer is armed: a complete table of
 * operations, options that are checked, and an end without a leak wherever
 * memory runs out. Knows no kind by name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "../../wheels/kinds.h"
#include "tap.h"
#include "wheels.h"

static const struct wheel_ops *ops;
static enum wheel_kind kind;

static bool complete_table(void)
{
	return ops->name && *ops->name && ops->brief && *ops->brief &&
	       ops->source && *ops->source && ops->enqueue && ops->dequeue &&
	       ops->next && ops->advance && ops->forward && ops->size &&
	       ops->init && ops->destroy && ops->first && ops->fires &&
	       ops->walk && ops->geometry;
}

static bool optional_in_pairs(void)
{
	return !ops->grow == !ops->install &&
	       !ops->chunks == !(ops->traits & WHEEL_POOLED) &&
	       !ops->max_timers == !(ops->traits & WHEEL_BOUNDED);
}

static bool found_by_name(void)
{
	char longer[64];

	snprintf(longer, sizeof(longer), "%s-", ops->name);
	return wheel_kind_by_name(ops->name) == (int)kind &&
	       wheel_kind_by_name(longer) == -EINVAL &&
	       wheel_kind_by_name("") == -EINVAL;
}

static bool one_family(void)
{
	u32 family = ops->traits & (WHEEL_EXACT | WHEEL_SLACK | WHEEL_ROUNDS);

	return family == WHEEL_EXACT || family == WHEEL_SLACK ||
	       family == WHEEL_ROUNDS;
}

static bool node_in_bounds(void)
{
	size_t least = ops->traits & WHEEL_SLACK ? wheel_node_size(slack) :
						   wheel_node_size(owner);

	return ops->node_size >= least &&
	       ops->node_size <= sizeof(struct wheel_node);
}

/* All the values that @range allows are taken, and none beside them. */
static bool option_checked(const struct wheel_range *range, size_t offset)
{
	const u32 refused[] = { range->min ? range->min - 1 : 1,
				range->max + 1, U32_MAX };
	const u32 taken[] = { 0, range->min, range->max, range->def };
	struct wheel_config cfg;
	unsigned int i;

	if (range->min > range->max || range->def < range->min ||
	    range->def > range->max)
		return false;
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		cfg = (struct wheel_config) {};
		memcpy((char *)&cfg + offset, &refused[i], sizeof(u32));
		if (refused[i] && wheel_configure(kind, &cfg) != -EINVAL)
			return false;
	}
	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		u32 got;

		cfg = (struct wheel_config) {};
		memcpy((char *)&cfg + offset, &taken[i], sizeof(u32));
		if (wheel_configure(kind, &cfg))
			return false;
		memcpy(&got, (char *)&cfg + offset, sizeof(u32));
		if (got != (taken[i] ? taken[i] : range->def))
			return false;
	}
	return true;
}

/* init with so much memory; returns how many allocations it made, or -1. */
static int init_with(long allocations, u32 slots, int *error)
{
	struct test_pool pool = { .timers = 1, .wheels = 1 };
	struct wheel_config cfg = { .slots = slots };
	struct wheel *w;
	long left;

	shim_allocs_left = -1;
	*error = 0;
	if (wheel_configure(kind, &cfg))
		return -1;
	test_pool_prepare(&pool, kind, &cfg);
	w = calloc(1, ops->size(&cfg));
	if (!w)
		abort();
	w->ops = ops;
	shim_allocs_left = allocations;
	*error = ops->init(w, &cfg);
	left = shim_allocs_left;
	shim_allocs_left = -1;
	if (!*error)
		ops->destroy(w);
	free(w);
	test_pool_check(&pool);
	return allocations < 0 ? 0 : (int)(allocations - left);
}

/* Every allocation of init fails once; what had succeeded is given back. */
static bool init_without_memory(void)
{
	const u32 sizes[] = { 0, ops->slots.min, ops->slots.max };
	unsigned int i;
	int error, made, n;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		/* How many does it make where all succeed? */
		made = init_with(1000000, sizes[i], &error);
		if (made < 0 || error)
			return false;
		for (n = 0; n < made; n++) {
			init_with(n, sizes[i], &error);
			if (error != -ENOMEM)
				return false;
		}
		printf("# %s: %d allocations at init, slots %u\n", ops->name,
		       made, sizes[i]);
	}
	return true;
}

/* No memory to grow is no harm: the flag goes down and the wheel works on. */
static bool upkeep_without_memory(void)
{
	enum { TIMERS = 5000 };
	struct test_pool pool = { .timers = TIMERS, .wheels = 1 };
	struct wheel_config cfg = {};
	static struct wheel_node *node[TIMERS];
	struct wheel_batch batch;
	unsigned int timers = TIMERS, fired = 0, i, rounds;
	bool ok = true, done;
	struct wheel *w;

	if (ops->max_timers && ops->max_timers < timers)
		timers = ops->max_timers;
	w = test_wheel_create(kind, &cfg, &pool);
	if (!w)
		abort();
	for (i = 0; i < timers; i++) {
		node[i] = calloc(1, ops->node_size);
		if (!node[i])
			abort();
		node[i]->expires = 1 + i * 7919 % 100000;
		wheel_enqueue(kind, w, node[i]);
		shim_allocs_left = 0;
		for (rounds = 0; w->upkeep && rounds < 1000; rounds++)
			test_upkeep(w);
		shim_allocs_left = -1;
		ok &= !w->upkeep;
	}
	do {
		batch = (struct wheel_batch) { .budget = WHEEL_BATCH };
		done = wheel_advance(kind, w, 200000, &batch);
		fired += batch.nr;
	} while (!done);
	for (i = 0; i < timers; i++)
		free(node[i]);
	test_wheel_destroy(w);
	test_pool_check(&pool);
	return ok && fired == timers;
}

int main(void)
{
	const unsigned int each = 9, tests = 1 + each * WHEEL_NR_KINDS;
	unsigned int i, j;
	bool unique = true;

	tap_plan(tests);
	for (i = 0; i < WHEEL_NR_KINDS; i++)
		for (j = 0; j < i; j++)
			unique &= strcmp(wheel_kinds[i]->name,
					 wheel_kinds[j]->name);
	tap_result(unique, "no two kinds have one name");
	for (i = 0; i < WHEEL_NR_KINDS; i++) {
		kind = (enum wheel_kind)i;
		ops = wheel_kinds[i];
		tap_result(complete_table(), "%s: has all that is required",
			   ops->name);
		tap_result(optional_in_pairs(),
			   "%s: traits and optional operations agree",
			   ops->name);
		tap_result(found_by_name(), "%s: is found by its name only",
			   ops->name);
		tap_result(one_family(),
			   "%s: is exact, has slack or rounds: one of these",
			   ops->name);
		tap_result(node_in_bounds(), "%s: its node fits a timer",
			   ops->name);
		tap_result(option_checked(&ops->slots,
					  offsetof(struct wheel_config, slots)),
			   "%s: slots= is checked", ops->name);
		tap_result(option_checked(&ops->levels,
					  offsetof(struct wheel_config, levels)),
			   "%s: levels= is checked", ops->name);
		tap_result(init_without_memory(),
			   "%s: init says ENOMEM at each allocation",
			   ops->name);
		tap_result(upkeep_without_memory(),
			   "%s: works on where there is no memory to grow",
			   ops->name);
	}
	return tap_exit(tests);
}
