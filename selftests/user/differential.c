// SPDX-License-Identifier: GPL-2.0
/*
 * Random streams of operations on every kind, against the model. Each kind
 * runs in a process of its own, so that a crash is a failure like any other:
 * what failed is made as small as can be and printed as a scenario.
 *
 *	differential [--ops N] [--seed S] [--kind NAME] [--stream N]
 *
 * --stream runs the one stream of that number, as a failure names it.
 */
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <linux/kernel.h>

#include "stream.h"
#include "tap.h"

/* Operations of one stream. */
#define OPS_MAX		3000

/* Seconds after which a stream is taken to hang, at first and when shrinking. */
#define PATIENCE	60
#define IMPATIENCE	3

/**
 * struct record - what a run tells the process that judges it
 * @stream: number of the stream
 * @setup: how it began
 * @nr: operations so far
 * @ops: the operations
 * @counts: of all streams so far
 * @why: what went wrong, where it could be said
 */
struct record {
	u64 stream;
	struct setup setup;
	size_t nr;
	struct op ops[OPS_MAX];
	struct counts counts;
	char why[256];
};

static struct record *record;

/*
 * In a build whose levels are shrunk, so that few timers reach every level, a
 * kind that rounds does not round as the kernel does. All others must not care.
 */
#ifdef WHEEL_LEVEL_BITS
#define LEFT_OUT	WHEEL_ROUNDS
#else
#define LEFT_OUT	0
#endif

static u64 mix(u64 seed, u64 number)
{
	struct source src = { .state = seed ^ (number * 0xd1342543de82ef95ULL) };

	return source_word(&src, 64);
}

/* One stream of random choices. */
static bool random_stream(enum wheel_kind kind, u64 seed, u64 number)
{
	struct source src = { .state = mix(seed, number) };
	const char *why;
	struct stream *s;
	size_t max;

	record->stream = number;
	record->nr = 0;
	setup_choose(&record->setup, kind, &src);
	max = 1 + source_pick(&src, OPS_MAX);
	s = stream_begin(&record->setup, &record->counts);
	alarm(PATIENCE);
	why = stream_choose(s, &src, max, record->ops, &record->nr);
	alarm(0);
	if (why)
		snprintf(record->why, sizeof(record->why), "%s", why);
	else
		stream_end(s);
	return !why;
}

static bool replay(const struct setup *setup, const struct op *ops, size_t nr)
{
	struct counts counts = {};
	struct stream *s = stream_begin(setup, &counts);
	const char *why = NULL;
	size_t i;

	alarm(IMPATIENCE);
	for (i = 0; i < nr && !why; i++)
		why = stream_do(s, &ops[i]);
	if (why)
		snprintf(record->why, sizeof(record->why), "%s", why);
	else
		stream_end(s);
	return !why;
}

/* In a process of its own: whether a stream fails, in whatever way. */
static bool fails(const struct setup *setup, const struct op *ops, size_t nr,
		  bool print)
{
	pid_t child;
	int status;

	fflush(stdout);
	record->why[0] = '\0';
	child = fork();
	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (!child) {
		if (print) {
			stream_print(stdout, setup, ops, nr);
			_exit(0);
		}
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		_exit(!replay(setup, ops, nr));
	}
	if (waitpid(child, &status, 0) != child)
		exit(1);
	return status != 0;
}

/* Leave out whatever can be left out with the failure still there. */
static size_t leave_out(const struct setup *setup, struct op *ops, size_t nr)
{
	static struct op less[OPS_MAX];
	size_t piece, at;

	for (piece = nr / 2; piece; piece /= 2) {
		for (at = 0; at + piece <= nr; ) {
			size_t rest = nr - at - piece;

			memcpy(less, ops, at * sizeof(*ops));
			memcpy(less + at, ops + at + piece,
			       rest * sizeof(*ops));
			if (fails(setup, less, nr - piece, false)) {
				nr -= piece;
				memcpy(ops, less, nr * sizeof(*ops));
			} else {
				at += piece;
			}
		}
	}
	return nr;
}

/* Make operations simpler, into what a scenario can say if possible. */
static void simplify(const struct setup *setup, struct op *ops, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		struct op was = ops[i];

		if (was.code == OP_STEP)
			ops[i].code = OP_RUN;
		else if (was.code == OP_REARM)
			ops[i].code = OP_ARM;
		ops[i].budget = WHEEL_BATCH;
		if (!fails(setup, ops, nr, false))
			ops[i] = was;
		was = ops[i];
		ops[i].period = 0;
		if (!fails(setup, ops, nr, false))
			ops[i] = was;
		was = ops[i];
		ops[i].slack = 0;
		if (!fails(setup, ops, nr, false))
			ops[i] = was;
	}
}

static void report(u64 seed)
{
	static struct op ops[OPS_MAX];
	size_t nr = record->nr;

	printf("# %s\n", record->why[0] ? record->why : "it crashed or hung");
	printf("# --kind %s --seed %llu --stream %llu, operation %zu\n",
	       wheel_kinds[record->setup.kind]->name, seed, record->stream, nr);
	memcpy(ops, record->ops, nr * sizeof(*ops));
	if (!fails(&record->setup, ops, nr, false)) {
		printf("# which does not fail again\n");
		return;
	}
	nr = leave_out(&record->setup, ops, nr);
	simplify(&record->setup, ops, nr);
	nr = leave_out(&record->setup, ops, nr);
	fails(&record->setup, ops, nr, false);
	printf("# left of it: %zu operations: %s\n", nr,
	       record->why[0] ? record->why : "it crashes or hangs");
	printf("# ---8<---\n");
	fails(&record->setup, ops, nr, true);
	printf("# --->8---\n");
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* All streams of one kind; @only is the number of a single one, or -1. */
static bool differential(enum wheel_kind kind, u64 seed, u64 ops, long only)
{
	const struct counts *counts = &record->counts;
	double begin = seconds();
	pid_t child;
	int status;
	u64 number;

	memset(record, 0, sizeof(*record));
	fflush(stdout);
	child = fork();
	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (!child) {
		number = only < 0 ? 0 : (u64)only;
		for (; counts->ops < ops; number++) {
			if (!random_stream(kind, seed, number))
				_exit(1);
			if (only >= 0)
				break;
		}
		/* Not _exit(): leaks are looked for at the exit. */
		exit(0);
	}
	if (waitpid(child, &status, 0) != child)
		exit(1);
	printf("# %s: %llu streams, %llu operations, %.1f s\n",
	       wheel_kinds[kind]->name, record->stream + 1, counts->ops,
	       seconds() - begin);
	printf("#   %llu armed, %llu fired, %llu stops, %llu periods missed\n",
	       counts->armed, counts->fired, counts->stops, counts->missed);
	if (status)
		report(seed);
	else if (only < 0 && (!counts->fired || !counts->stops))
		status = 1;	/* shows nothing */
	return !status;
}

static bool wanted(int kind, int only)
{
	return (only < 0 || kind == only) &&
	       !(wheel_kinds[kind]->traits & LEFT_OUT);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "kind", required_argument, NULL, 'k' },
		{ "stream", required_argument, NULL, 'n' },
		{}
	};
	u64 ops = 10000000, seed = 1;
	unsigned int tests = 0;
	int option, kind, only_kind = -1;
	long only = -1;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			ops = strtoull(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'k':
			only_kind = wheel_kind_by_name(optarg);
			if (only_kind < 0) {
				fprintf(stderr, "no such kind: %s\n", optarg);
				return 2;
			}
			break;
		case 'n':
			only = strtol(optarg, NULL, 0);
			break;
		default:
			fprintf(stderr,
				"usage: %s [--ops N] [--seed S] [--kind NAME] [--stream N]\n",
				argv[0]);
			return 2;
		}
	}

	record = mmap(NULL, sizeof(*record), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (record == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++)
		tests += wanted(kind, only_kind);
	tap_plan(tests);
	printf("# seed %llu, %llu operations a kind\n", seed, ops);
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		if (!wanted(kind, only_kind))
			continue;
		tap_result(differential((enum wheel_kind)kind, seed, ops, only),
			   "%s does what the model says",
			   wheel_kinds[kind]->name);
	}
	return tap_exit(tests);
}
