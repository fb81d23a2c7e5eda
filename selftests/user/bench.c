// SPDX-License-Identifier: GPL-2.0
/*
 * What each kind costs in user space: CPU time per operation, no lock, timers
 * in memory order, nodes side by side. Kinds take turns within a round; the
 * median of five rounds is printed.
 *
 *	bench [--quick] [--kind NAME]
 *
 * The lines of the table are also written to standard error as CSV, for a
 * file. "-" is a population that the kind refuses, or one that would take too
 * long since each operation costs in proportion to it.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "../../wheels/kinds.h"
#include "stream.h"
#include "wheels.h"

#define ROUNDS		5
#define RANGE_BITS	20	/* delays are uniform over 2^20 ticks */
#define SPREAD		300	/* ticks, of the spread expiry */
/* Operations that one figure rests on, and seconds that one may take. */
#define OPS_LEAST	2000000
#define SECONDS_MOST	4.0

enum workload { ARM, CANCEL, PAIR, PILE_UP, SPREAD_OUT, EMPTY, NR_WORKS };

static const char *const workloads[NR_WORKS] = {
	"arm", "cancel", "arm_cancel", "expire_pileup", "expire_spread",
	"advance_empty",
};

static const unsigned int populations[] = { 1000, 100000, 1000000 };

struct bench {
	enum wheel_kind kind;
	const struct wheel_ops *ops;
	struct wheel *w;
	struct test_pool pool;
	unsigned int n;
	size_t stride;
	char *memory;
	u64 *delay;
	double time[NR_WORKS];		/* of this round */
	u64 ops_done[NR_WORKS];
};

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline struct wheel_node *node(const struct bench *b, unsigned int i)
{
	return (struct wheel_node *)(b->memory + i * b->stride);
}

/* Called by the kind's own name, as its owner's switch would. */
#define DEFINE_LOOPS(k)							\
static void k##_arm_all(struct bench *b)				\
{									\
	u64 now = b->w->now;						\
	unsigned int i;							\
									\
	for (i = 0; i < b->n; i++) {					\
		node(b, i)->expires = now + b->delay[i];		\
		k##_enqueue(b->w, node(b, i));				\
	}								\
}									\
									\
static void k##_cancel_all(struct bench *b)				\
{									\
	unsigned int i;							\
									\
	for (i = 0; i < b->n; i++)					\
		k##_dequeue(b->w, node(b, i));				\
}									\
									\
static void k##_pairs(struct bench *b)					\
{									\
	u64 now = b->w->now;						\
	unsigned int i;							\
									\
	for (i = 0; i < b->n; i++) {					\
		node(b, 0)->expires = now + b->delay[i];		\
		k##_enqueue(b->w, node(b, 0));				\
		k##_dequeue(b->w, node(b, 0));				\
	}								\
}									\
									\
static u64 k##_expire(struct bench *b, u64 to)				\
{									\
	struct wheel_batch batch;					\
	u64 fired = 0;							\
	bool done;							\
									\
	do {								\
		batch.budget = WHEEL_BATCH;				\
		batch.looked = 0;					\
		batch.nr = 0;						\
		done = k##_advance(b->w, to, &batch);			\
		fired += batch.nr;					\
	} while (!done);						\
	return fired;							\
}

WHEEL_KINDS(DEFINE_LOOPS)

struct loops {
	void (*arm_all)(struct bench *b);
	void (*cancel_all)(struct bench *b);
	void (*pairs)(struct bench *b);
	u64 (*expire)(struct bench *b, u64 to);
};

static const struct loops loops[] = {
#define LOOPS(k) { k##_arm_all, k##_cancel_all, k##_pairs, k##_expire },
	WHEEL_KINDS(LOOPS)
};

static void took(struct bench *b, enum workload work, double begin, u64 ops)
{
	b->time[work] += cpu_seconds() - begin;
	b->ops_done[work] += ops;
}

static void upkeep(struct bench *b)
{
	while (b->w->upkeep)
		test_upkeep(b->w);
}

/* One pass over all workloads; each operation is timed among its like. */
static void pass(struct bench *b, u64 *state)
{
	const struct loops *l = &loops[b->kind];
	struct source src = { .state = *state };
	unsigned int i;
	double begin;
	u64 fired;

	for (i = 0; i < b->n; i++)
		b->delay[i] = 1 + source_word(&src, RANGE_BITS);
	*state = src.state;

	begin = cpu_seconds();
	l->arm_all(b);
	took(b, ARM, begin, b->n);
	upkeep(b);
	begin = cpu_seconds();
	l->cancel_all(b);
	took(b, CANCEL, begin, b->n);
	upkeep(b);
	begin = cpu_seconds();
	l->pairs(b);
	took(b, PAIR, begin, b->n);

	for (i = 0; i < b->n; i++)
		b->delay[i] = 40;
	l->arm_all(b);
	upkeep(b);
	begin = cpu_seconds();
	fired = l->expire(b, b->w->now + 1000);
	took(b, PILE_UP, begin, fired);

	for (i = 0; i < b->n; i++)
		b->delay[i] = 1 + source_pick(&src, SPREAD);
	l->arm_all(b);
	upkeep(b);
	begin = cpu_seconds();
	fired = l->expire(b, b->w->now + 1000);
	took(b, SPREAD_OUT, begin, fired);

	/* One timer, far away, and single ticks up to it. */
	node(b, 0)->expires = b->w->now + 1000000000;
	wheel_enqueue(b->kind, b->w, node(b, 0));
	begin = cpu_seconds();
	for (i = 0; i < b->n; i++)
		l->expire(b, b->w->now + 1);
	took(b, EMPTY, begin, b->n);
	wheel_dequeue(b->kind, b->w, node(b, 0));
}

/* One round: as many passes as make a figure. False if that takes too long. */
static bool round_of(struct bench *b, u64 least)
{
	struct wheel_config cfg = { .start = 1ULL << 40 };
	double begin = cpu_seconds();
	u64 state = 1;
	u64 done;

	memset(b->time, 0, sizeof(b->time));
	memset(b->ops_done, 0, sizeof(b->ops_done));
	b->pool = (struct test_pool) { .timers = b->n, .wheels = 1 };
	b->w = test_wheel_create(b->kind, &cfg, &b->pool);
	if (!b->w)
		abort();
	for (done = 0; done < least; done += b->n) {
		pass(b, &state);
		if (cpu_seconds() - begin > SECONDS_MOST)
			break;
	}
	test_wheel_destroy(b->w);
	test_pool_check(&b->pool);
	return cpu_seconds() - begin < SECONDS_MOST;
}

/* Whether operations cost in proportion to the population, or nearly. */
static bool grows(enum wheel_kind kind)
{
	static const unsigned int small[2] = { 1000, 4000 };
	double ns[2];
	unsigned int i, work;

	for (i = 0; i < 2; i++) {
		struct bench b = {
			.kind = kind,
			.ops = wheel_kinds[kind],
			.n = small[i],
			.stride = ALIGN(wheel_kinds[kind]->node_size, 8),
		};

		b.memory = calloc(b.n, b.stride);
		b.delay = calloc(b.n, sizeof(u64));
		if (!b.memory || !b.delay)
			abort();
		round_of(&b, 20 * b.n);
		ns[i] = 0;
		for (work = 0; work < NR_WORKS; work++)
			ns[i] += b.time[work] / (double)b.ops_done[work];
		free(b.memory);
		free(b.delay);
	}
	return ns[1] > 2.5 * ns[0];
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_row(const struct bench *b, unsigned int n,
		      double ns[NR_WORKS][ROUNDS], unsigned int rounds)
{
	unsigned int work;

	printf("%-14s %8u", b->ops->name, n);
	for (work = 0; work < NR_WORKS; work++) {
		double *of = ns[work];

		if (!rounds) {
			printf(" %13s", "-");
			continue;
		}
		qsort(of, rounds, sizeof(*of), compare);
		printf(" %13.1f", of[rounds / 2]);
		fprintf(stderr, "user,%s,%s,%u,%.2f,%zu,%u,%.2f,%.2f\n",
			b->ops->name, workloads[work], n, of[rounds / 2],
			(size_t)b->ops->node_size, rounds, of[0],
			of[rounds - 1]);
	}
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "kind", required_argument, NULL, 'k' },
		{}
	};
	static double ns[WHEEL_NR_KINDS][NR_WORKS][ROUNDS];
	bool slow[WHEEL_NR_KINDS] = {};
	int option, kind, only = -1;
	unsigned int p, round, work;
	u64 least = OPS_LEAST;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'q':
			least /= 20;
			break;
		case 'k':
			only = wheel_kind_by_name(optarg);
			if (only < 0) {
				fprintf(stderr, "no such kind: %s\n", optarg);
				return 2;
			}
			break;
		default:
			fprintf(stderr, "usage: %s [--quick] [--kind NAME]\n",
				argv[0]);
			return 2;
		}
	}

	printf("ns of CPU time per operation, median of %d rounds, %llu operations each\n%-14s %8s",
	       ROUNDS, least, "kind", "n");
	for (work = 0; work < NR_WORKS; work++)
		printf(" %13s", workloads[work]);
	printf("\n");
	fprintf(stderr, "env,subject,workload,n,ns_per_op,bytes_per_timer,rounds,min,max\n");
	for (p = 0; p < ARRAY_SIZE(populations); p++) {
		struct bench b[WHEEL_NR_KINDS] = {};
		unsigned int rounds[WHEEL_NR_KINDS] = {};

		for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
			b[kind].kind = (enum wheel_kind)kind;
			b[kind].ops = wheel_kinds[kind];
			b[kind].n = populations[p];
			b[kind].stride = ALIGN(b[kind].ops->node_size, 8);
			if (only >= 0 && kind != only)
				continue;
			if ((b[kind].ops->max_timers &&
			     populations[p] > b[kind].ops->max_timers) ||
			    (p == 1 && grows((enum wheel_kind)kind)))
				slow[kind] = true;
			b[kind].memory = calloc(populations[p],
						b[kind].stride);
			b[kind].delay = calloc(populations[p], sizeof(u64));
			if (!b[kind].memory || !b[kind].delay)
				return 1;
		}
		for (round = 0; round < ROUNDS; round++) {
			for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
				if ((only >= 0 && kind != only) || slow[kind])
					continue;
				/* Too slow for more than a round, and for more. */
				slow[kind] = !round_of(&b[kind], least);
				for (work = 0; work < NR_WORKS; work++)
					ns[kind][work][round] =
						b[kind].time[work] * 1e9 /
						(double)b[kind].ops_done[work];
				rounds[kind]++;
			}
		}
		for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
			if (only >= 0 && kind != only)
				continue;
			print_row(&b[kind], populations[p], ns[kind],
				  rounds[kind]);
			free(b[kind].memory);
			free(b[kind].delay);
		}
	}
	return 0;
}
