// SPDX-License-Identifier: GPL-2.0
/*
 * What the authors of `cog` measured: n timers are armed for one tick, and that
 * tick is processed; ns of CPU time per timer for either. And what an arm of
 * one timer and its expiry on the next tick cost over and over, where its slot
 * is empty each time, for how an empty slot should keep its memory.
 *
 *	oneslot KIND
 *
 * `make bench-blocks` runs it for a kind with WHEEL_POOLED as it is, and with
 * the settings that its source offers changed.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "../../wheels/kinds.h"
#include "tap.h"
#include "wheels.h"

#define ROUNDS	9
#define LEAST	2000000		/* operations of a round */

static const unsigned int populations[] = {
	100, 1000, 10000, 100000, 1000000
};

struct rig {
	enum wheel_kind kind;
	struct wheel *w;
	struct wheel_node **node;
	unsigned int n;
};

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What two looks at the clock cost by themselves. */
static double clock_cost(void)
{
	double sum = 0, begin;
	int i;

	for (i = 0; i < 1000; i++) {
		begin = cpu_ns();
		sum += cpu_ns() - begin;
	}
	return sum / 1000;
}

static void arm(struct rig *r)
{
	u64 due = r->w->now + 10;
	unsigned int i;

	for (i = 0; i < r->n; i++) {
		r->node[i]->expires = due;
		wheel_enqueue(r->kind, r->w, r->node[i]);
	}
}

static u64 tick(struct rig *r, u64 to)
{
	struct wheel_batch batch;
	u64 fired = 0;
	bool done;

	do {
		batch.budget = WHEEL_BATCH;
		batch.looked = 0;
		batch.nr = 0;
		done = wheel_advance(r->kind, r->w, to, &batch);
		fired += batch.nr;
	} while (!done);
	return fired;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *of)
{
	qsort(of, ROUNDS, sizeof(*of), compare);
	return of[ROUNDS / 2];
}

static void one_population(enum wheel_kind kind, unsigned int n)
{
	const struct wheel_ops *ops = wheel_kinds[kind];
	unsigned int repeats = LEAST / n, round, i;
	double schedule[ROUNDS], expire[ROUNDS], again[ROUNDS], begin;
	struct test_pool pool = { .timers = n, .wheels = 1 };
	struct wheel_config cfg = { .start = 1ULL << 40 };
	struct rig r = { .kind = kind, .n = n };
	size_t stride = ALIGN(ops->node_size, 8);
	char *memory = calloc(n, stride);
	u64 done;

	r.w = test_wheel_create(kind, &cfg, &pool);
	r.node = calloc(n, sizeof(*r.node));
	if (!r.w || !r.node || !memory)
		abort();
	for (i = 0; i < n; i++)
		r.node[i] = (void *)(memory + i * stride);
	/* All memory has been touched before anything is timed. */
	arm(&r);
	tick(&r, r.w->now + 20);

	for (round = 0; round < ROUNDS; round++) {
		schedule[round] = 0;
		expire[round] = 0;
		done = 0;
		for (i = 0; i < repeats; i++) {
			begin = cpu_ns();
			arm(&r);
			schedule[round] += cpu_ns() - begin;
			tick(&r, r.w->now + 9);
			begin = cpu_ns();
			done += tick(&r, r.w->now + 1);
			expire[round] += cpu_ns() - begin;
		}
		schedule[round] -= repeats * clock_cost();
		expire[round] -= repeats * clock_cost();
		schedule[round] /= (double)done;
		expire[round] /= (double)done;

		/* One timer at a time, the others being idle. */
		begin = cpu_ns();
		for (i = 0; i < LEAST / 8; i++) {
			r.node[0]->expires = r.w->now + 1;
			wheel_enqueue(kind, r.w, r.node[0]);
			tick(&r, r.w->now + 1);
		}
		again[round] = (cpu_ns() - begin) / (LEAST / 8);
	}
	printf("%-12s %9u %10.2f %8.2f %10.2f %12.1f\n", ops->name, n,
	       median(schedule), median(expire), median(again),
	       (double)pool.used * (double)pool.size / 1024);
	fflush(stdout);
	test_wheel_destroy(r.w);
	test_pool_check(&pool);
	free(r.node);
	free(memory);
}

int main(int argc, char **argv)
{
	int kind = wheel_kind_by_name(argc == 2 ? argv[1] : "");
	unsigned int i;

	if (kind < 0) {
		fprintf(stderr, "usage: %s KIND\n", argv[0]);
		return 2;
	}
	printf("%-12s %9s %10s %8s %10s %12s\n", "ns of CPU", "n", "schedule",
	       "tick", "one again", "KB kept");
	for (i = 0; i < ARRAY_SIZE(populations); i++)
		one_population((enum wheel_kind)kind, populations[i]);
	return 0;
}
