// SPDX-License-Identifier: GPL-2.0
/*
 * How many machine instructions the hot operations of each kind take, counted
 * by valgrind and compared with what instructions.txt says was reached, and for
 * some with what is aimed at. A count, unlike a time, is the same on a busy
 * machine.
 *
 * The program runs itself under valgrind --tool=callgrind. An operation's
 * count is that of a loop of calls, less that of the same loop around an
 * empty function, plus what the empty function takes: call and return are
 * counted, the loop is not.
 *
 *	instructions [--print]
 *
 * --print prints lines for instructions.txt instead of comparing. They hold
 * for the compiler that made them; with another one only the aims are compared.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/kernel.h>

#include "../../wheels/kinds.h"
#include "stream.h"
#include "tap.h"
#include "wheels.h"

#ifdef HAVE_VALGRIND
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS		((void)0)
#define CALLGRIND_DUMP_STATS_AT(s)	((void)(s))
#define CALLGRIND_START_INSTRUMENTATION	((void)0)
#endif

/* More than this many percent above what was reached is a failure. */
#define TOLERANCE	10

#define TIMERS		1000
#define DELAY_BITS	20

enum work { ARM, CANCEL, EXPIRE, EMPTY, NEXT, NR_WORKS };

static const char *const work_name[NR_WORKS] = {
	"arm", "cancel", "expire", "advance_empty", "next",
};

/* An empty function is called, has a result where it returns one, returns. */
static const unsigned int empty_takes[NR_WORKS] = { 3, 2, 3, 3, 3 };

/* What is aimed at, whichever the compiler. */
static const struct aim {
	const char *kind;
	enum work work;
	unsigned int most;
} aims[] = {
	{ "cascading", ARM, 40 },
	{ "cascading", CANCEL, 12 },
	{ "cascading", EXPIRE, 12 },
	{ "cascading", EMPTY, 10 },
	{ "blocks", EMPTY, 10 },
};

static struct wheel_node *node[TIMERS];
static u64 delay[TIMERS];
static struct wheel_batch batch;

/*
 * The loops, each around one function. Not inlined into one another, so that
 * the same loop goes around the empty function.
 */
#define NOIPA	__attribute__((__noipa__))

static NOIPA u64 empty_enqueue(struct wheel *w, struct wheel_node *n)
{
	return 0;
}

static NOIPA void empty_dequeue(struct wheel *w, struct wheel_node *n)
{
}

static NOIPA u64 empty_next(const struct wheel *w)
{
	return 0;
}

static NOIPA bool empty_advance(struct wheel *w, u64 to, struct wheel_batch *b)
{
	return true;
}

static NOIPA void arm_all(struct wheel *w,
			  u64 (*enqueue)(struct wheel *, struct wheel_node *))
{
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		enqueue(w, node[i]);
}

static NOIPA void cancel_all(struct wheel *w,
			     void (*dequeue)(struct wheel *,
					     struct wheel_node *))
{
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		dequeue(w, node[i]);
}

static NOIPA void next_all(struct wheel *w, u64 (*next)(const struct wheel *))
{
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		next(w);
}

static NOIPA void tick_all(struct wheel *w,
			   bool (*advance)(struct wheel *, u64,
					   struct wheel_batch *))
{
	unsigned int i;

	for (i = 0; i < TIMERS; i++) {
		batch.looked = 0;
		batch.nr = 0;
		batch.budget = WHEEL_BATCH;
		advance(w, w->now + 1, &batch);
	}
}

static NOIPA void expire_all(struct wheel *w, u64 to,
			     bool (*advance)(struct wheel *, u64,
					     struct wheel_batch *))
{
	bool done;

	do {
		batch.looked = 0;
		batch.nr = 0;
		batch.budget = WHEEL_BATCH;
		done = advance(w, to, &batch);
	} while (!done);
}

static void set_due(const struct wheel *w)
{
	unsigned int i;

	for (i = 0; i < TIMERS; i++)
		node[i]->expires = w->now + delay[i];
}

/* What is measured, between zeroing the counts and dumping them. */
static void measure_kind(const struct wheel_ops *ops, enum wheel_kind kind)
{
	struct test_pool pool = { .timers = TIMERS, .wheels = 1 };
	struct wheel_config cfg = { .start = 1ULL << 40 };
	struct source src = { .state = 1 };
	char label[64];
	struct wheel *w;
	unsigned int i;
	u64 fire;

#define MEASURE(work, call) do {					\
	snprintf(label, sizeof(label), "%s %s", ops->name,		\
		 work_name[work]);					\
	CALLGRIND_ZERO_STATS;						\
	call;								\
	CALLGRIND_DUMP_STATS_AT(label);					\
} while (0)

	w = test_wheel_create(kind, &cfg, &pool);
	if (!w)
		abort();
	for (i = 0; i < TIMERS; i++) {
		node[i] = calloc(1, ops->node_size);
		if (!node[i])
			abort();
		delay[i] = 1 + source_word(&src, DELAY_BITS);
	}
	set_due(w);
	/* Once in advance, for the pool to have recycled what it gives. */
	arm_all(w, ops->enqueue);
	cancel_all(w, ops->dequeue);
	MEASURE(ARM, arm_all(w, ops->enqueue));
	MEASURE(NEXT, next_all(w, ops->next));
	MEASURE(CANCEL, cancel_all(w, ops->dequeue));

	for (i = 0; i < TIMERS; i++)
		delay[i] = 20;
	set_due(w);
	arm_all(w, ops->enqueue);
	/* Up to the tick before, for only expiry to be left. */
	fire = ops->fires(w, node[0]);
	expire_all(w, fire - 1, ops->advance);
	MEASURE(EXPIRE, expire_all(w, fire, ops->advance));

	/* One far timer, and ticks at which there is nothing to do. */
	expire_all(w, w->now | 0xffff, ops->advance);
	node[0]->expires = w->now + 1000000;
	ops->enqueue(w, node[0]);
	MEASURE(EMPTY, tick_all(w, ops->advance));
	ops->dequeue(w, node[0]);

	for (i = 0; i < TIMERS; i++)
		free(node[i]);
	test_wheel_destroy(w);
}

static void measure_loops(void)
{
	static const struct wheel_ops loops = { .name = "loop" };
	const struct wheel_ops *ops = &loops;
	struct wheel w = {};
	char label[64];

	MEASURE(ARM, arm_all(&w, empty_enqueue));
	MEASURE(NEXT, next_all(&w, empty_next));
	MEASURE(CANCEL, cancel_all(&w, empty_dequeue));
	MEASURE(EXPIRE, expire_all(&w, 1, empty_advance));
	MEASURE(EMPTY, tick_all(&w, empty_advance));
}

static void measure(void)
{
	unsigned int kind;

	CALLGRIND_START_INSTRUMENTATION;
	measure_loops();
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++)
		measure_kind(wheel_kinds[kind], (enum wheel_kind)kind);
}

/* Instructions for all operations of a kind, by the dump that names them. */
static bool dumped(const char *folder, unsigned int number, char *label,
		   size_t size, u64 *count)
{
	char path[512], line[512];
	static const char trigger[] = "desc: Trigger: Client Request: ";
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "%s/out.%u", folder, number);
	in = fopen(path, "r");
	if (!in)
		return false;
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, trigger, strlen(trigger))) {
			snprintf(label, size, "%.60s", line + strlen(trigger));
			found = true;
		}
		if (!strncmp(line, "summary: ", 9) ||
		    !strncmp(line, "totals: ", 8))
			*count = strtoull(strchr(line, ' '), NULL, 10);
	}
	fclose(in);
	return found;
}

/* What was reached, from the file of limits; 0 where it says nothing. */
static double limit(const char *file, const char *name, const char *work)
{
	char line[256], kind[64], what[64];
	double count, found = 0;
	FILE *in = fopen(file, "r");

	if (!in)
		return 0;
	while (fgets(line, sizeof(line), in))
		if (line[0] != '#' &&
		    sscanf(line, "%63s %63s %lf", kind, what, &count) == 3 &&
		    !strcmp(kind, name) && !strcmp(what, work))
			found = count;
	fclose(in);
	return found;
}

static const char *compiler(void)
{
#ifdef __clang__
	return "clang " __clang_version__;
#else
	return "gcc " __VERSION__;
#endif
}

/* The file holds for one compiler, which it names; others are not compared. */
static bool same_compiler(const char *file)
{
	char line[256], wanted[160];
	bool same = false;
	FILE *in = fopen(file, "r");

	if (!in)
		return false;
	snprintf(wanted, sizeof(wanted), "# with %s", compiler());
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		same |= !strcmp(line, wanted);
	}
	fclose(in);
	return same;
}

/* Returns 0 where it has counted, 127 where there is no valgrind. */
static int run_valgrind(const char *self, const char *folder)
{
	char out[512];
	int status;
	pid_t child;

#ifndef HAVE_VALGRIND
	return 127;
#endif

	snprintf(out, sizeof(out), "--callgrind-out-file=%s/out", folder);
	fflush(stdout);
	child = fork();
	if (!child) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(126);
		execlp("valgrind", "valgrind", "--tool=callgrind",
		       "--instr-atstart=no", out, self, "--measure",
		       (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int skip(void)
{
	printf("TAP version 13\n");
	printf("1..0 # SKIP no valgrind, here or when this was built\n");
	return 0;
}

static void collect(const char *folder, u64 counts[][NR_WORKS])
{
	char label[64], wanted[64];
	unsigned int number, kind, work;
	u64 count;

	for (number = 1; dumped(folder, number, label, sizeof(label), &count);
	     number++)
		for (kind = 0; kind <= WHEEL_NR_KINDS; kind++)
			for (work = 0; work < NR_WORKS; work++) {
				snprintf(wanted, sizeof(wanted), "%s %s",
					 kind < WHEEL_NR_KINDS ?
					 wheel_kinds[kind]->name : "loop",
					 work_name[work]);
				if (!strcmp(label, wanted))
					counts[kind][work] = count;
			}
}

static void clean_up(const char *folder)
{
	char path[512];
	unsigned int number;

	for (number = 0; number < 1000; number++) {
		snprintf(path, sizeof(path),
			 number ? "%s/out.%u" : "%s/out", folder, number);
		unlink(path);
	}
	rmdir(folder);
}

/* Instructions for one operation; 0 where they were not counted. */
static double per_operation(u64 counts[][NR_WORKS], unsigned int kind,
			    unsigned int work)
{
	double loop = (double)counts[WHEEL_NR_KINDS][work];
	double calls = TIMERS, all;

	if (!counts[kind][work] || !counts[WHEEL_NR_KINDS][work])
		return 0;
	/* The empty loop of expiry ends after one call. */
	if (work == EXPIRE) {
		calls = DIV_ROUND_UP(TIMERS, WHEEL_BATCH);
		loop *= calls;
	}
	all = (double)counts[kind][work] - loop + calls * empty_takes[work];
	return all / TIMERS;
}

static void print_all(double each[][NR_WORKS])
{
	unsigned int kind, work;

	printf("# with %s\n", compiler());
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++)
		for (work = 0; work < NR_WORKS; work++)
			printf("%s %s %.1f\n", wheel_kinds[kind]->name,
			       work_name[work], each[kind][work]);
}

static void compare_all(double each[][NR_WORKS], bool same)
{
	unsigned int kind, work, i;

	for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		const char *name = wheel_kinds[kind]->name;

		for (work = 0; work < NR_WORKS; work++) {
			double took = limit(LIMITS, name, work_name[work]);
			double most = took * (100 + TOLERANCE) / 100;
			double is = each[kind][work];

			tap_result(is && (!same || is <= most),
				   "%s: %s takes %.1f instructions, and took %.1f%s",
				   name, work_name[work], is, took,
				   same ? "" : " # SKIP another compiler");
		}
	}
	for (i = 0; i < ARRAY_SIZE(aims); i++) {
		const struct aim *aim = &aims[i];
		int of = wheel_kind_by_name(aim->kind);
		double is = of < 0 ? 0 : each[of][aim->work];

		tap_result(is && is <= aim->most,
			   "%s: %s takes %.1f instructions, and %u are aimed at",
			   aim->kind, work_name[aim->work], is, aim->most);
	}
}

int main(int argc, char **argv)
{
	static u64 counts[WHEEL_NR_KINDS + 1][NR_WORKS];
	static double each[WHEEL_NR_KINDS][NR_WORKS];
	const unsigned int tests = WHEEL_NR_KINDS * NR_WORKS +
				   ARRAY_SIZE(aims);
	bool print = argc > 1 && !strcmp(argv[1], "--print");
	char folder[] = "/tmp/instructions.XXXXXX";
	unsigned int kind, work;
	int status;

	if (argc > 1 && !strcmp(argv[1], "--measure")) {
		measure();
		return 0;
	}
	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	status = run_valgrind(argv[0], folder);
	if (status) {
		clean_up(folder);
		if (status == 127)
			return skip();
		printf("Bail out! valgrind has failed\n");
		return 1;
	}
	collect(folder, counts);
	clean_up(folder);
	if (!print)
		tap_plan(tests);
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++)
		for (work = 0; work < NR_WORKS; work++)
			each[kind][work] = per_operation(counts, kind, work);
	if (print)
		print_all(each);
	else
		compare_all(each, same_compiler(LIMITS));
	return print ? 0 : tap_exit(tests);
}
