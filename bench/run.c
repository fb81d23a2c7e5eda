// SPDX-License-Identifier: GPL-2.0
/*
 * The workloads: what each subject is made to do, in which order, on which
 * memory, and the check that it was done.
 *
 * Everything is the same for each subject: the very same memory, the order in
 * which timers are touched, the delays, the state of the caches. The subjects
 * take turns within a round, and each round begins with another one. It knows
 * a subject by its operations only.
 */
#define pr_fmt(fmt) "cogwheel_bench: " fmt

#include <linux/bitops.h>
#include <linux/cache.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "bench.h"

/* Warm figures are of at least so many operations, ... */
#define BENCH_OPS		200000U
#define BENCH_OPS_BRIEF		50000U
/*
 * ... where that takes many passes, in so many groups, and the round's figure
 * is the median of theirs: an interrupt spoils one.
 */
#define BENCH_GROUPS		9
/* ... but one operation that is repeated need not take longer than that. */
#define BENCH_ENOUGH_MS		5
/* Cold ones are of so many, or of this many passes: each empties the caches. */
#define BENCH_COLD_OPS		2000U
#define BENCH_COLD_PASSES	10U
#define BENCH_COLD_ONCE		5
/* Walks through the buffer that evicts. */
#define BENCH_EVICT_WALKS	4
/* So often is read what it is to evict, and every third time it does before. */
#define BENCH_READ_PASSES	12
#define BENCH_READ_EVICTED	3
/* How often a lock is taken, to know what that costs. */
#define BENCH_LOCKS		1000
/* So many calls of each row are timed one by one, for the longest of them. */
#define BENCH_SINGLE		20000U

#define BENCH_SEED		0x436f67776865656cULL

struct bench_fire bench_fire;

/* A row in the making: time and operations of each group of passes. */
struct bench_sum {
	struct {
		u64 spent;
		u64 done;
	} group[BENCH_GROUPS];
	enum bench_status status;
};

struct bench_run {
	const struct bench_plan *plan;
	struct bench_result *result;
	void *items;
	u8 *evict;
	u32 *order[BENCH_NR_LAYOUTS];
	u32 *delay;		/* uniform over BENCH_UNIFORM */
	u32 *spread[BENCH_NR_LAYOUTS];	/* over BENCH_SPAN: rising, random */
	u32 *zero;
	u32 *act;		/* for ops->act: `mixed` as it goes on */
	u32 *retire;		/* and as it ends */
	unsigned int acted;
	unsigned int retired;
	/* From how many timers on a subject need not be tried, 0 for none. */
	unsigned int (*refused)[BENCH_NR_ROWS][BENCH_NR_LAYOUTS]
			       [BENCH_NR_CACHES];
	u64 random;

	/* Where the run stands. */
	unsigned int round;
	unsigned int subject;
	unsigned int size;
	enum bench_layout layout;
	enum bench_cache cache;
	unsigned int group;
	struct bench_count *count;	/* of a pass that is not timed */
	bool single;		/* looking for the longest call: no figures */
	struct bench_ctx ctx;
	struct bench_sum sum[BENCH_NR_ROWS];
};

/* splitmix64: the same numbers on every kernel. */
static u64 bench_random(struct bench_run *run)
{
	u64 x = run->random += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static u32 bench_random_below(struct bench_run *run, u32 limit)
{
	return (u64)(u32)bench_random(run) * limit >> 32;
}

/* Orders and delays for n timers. */
static void bench_prepare(struct bench_run *run, unsigned int n)
{
	u32 *scattered = run->order[BENCH_SCATTERED];
	unsigned int i;

	run->random = BENCH_SEED + n;
	run->acted = 0;
	run->retired = 0;
	for (i = 0; i < n; i++) {
		u32 dice = bench_random_below(run, 10);
		unsigned int j = bench_random_below(run, i + 1);

		run->order[BENCH_ORDERED][i] = i;
		scattered[i] = scattered[j];
		scattered[j] = i;
		run->delay[i] = BENCH_MIN_DELAY +
				bench_random_below(run, BENCH_UNIFORM);
		run->spread[BENCH_ORDERED][i] = (u64)i * BENCH_SPAN / n;
		run->spread[BENCH_SCATTERED][i] =
			bench_random_below(run, BENCH_SPAN);
		run->zero[i] = 0;
		/* One of ten fires, four are cancelled, five moved. */
		run->act[i] = !dice ? 0 : dice < 5 ? 1 : run->delay[i];
		run->retire[i] = run->act[i] > 1;
		run->acted += run->act[i] > 0;
		run->retired += run->retire[i];
		if (!(i % 4096))
			cond_resched();
	}
}

/*
 * Nothing of the timers, the wheels or the orders is left in the caches. One
 * walk does not do: a cache that is made for streams of data keeps what was
 * used often, and after one walk found in it half of what a subject had used
 * for some rounds. bench_reads() tells whether it is gone.
 */
static void bench_evict(struct bench_run *run)
{
	unsigned int walk;
	size_t i;

	for (walk = 0; walk < BENCH_EVICT_WALKS; walk++) {
		for (i = 0; i < run->plan->evict_bytes; i += L1_CACHE_BYTES)
			run->evict[i]++;
		cond_resched();
	}
}

/*
 * What a read of an object costs that cannot begin before the last one has
 * ended, in scattered order: the latency of memory, to judge others by.
 */
static u64 bench_reads(struct bench_run *run, unsigned int n, bool cold)
{
	const u32 *order = run->order[BENCH_SCATTERED];
	struct bench_watch watch;
	unsigned int i, pass;
	u32 at = 0, none = 0;
	u64 ps = 0;

	/* The compiler must not know that it is nothing. */
	OPTIMIZER_HIDE_VAR(none);
	for (pass = 0; pass < BENCH_READ_PASSES; pass++) {
		/* More than once: to be used again is what makes a cache keep it. */
		if (cold && !((pass + 1) % BENCH_READ_EVICTED))
			bench_evict(run);
		bench_watch_start(&watch);
		for (i = 0; i < n; i++) {
			u32 *object = run->items +
				      ((size_t)(order[i] + at) << L1_CACHE_SHIFT);

			at = READ_ONCE(*object) & none;
		}
		ps = bench_watch_read(&watch);
		cond_resched();
	}
	return div_u64(ps, n);
}

/* What the caches can hold of the timers is in them. */
static void bench_touch(struct bench_run *run)
{
	const struct bench_ctx *c = &run->ctx;
	size_t bytes = bench_object_size(run->result->node_size[run->subject]);
	unsigned int i;
	size_t at;

	for (i = 0; i < c->n; i++)
		for (at = 0; at < bytes; at += L1_CACHE_BYTES)
			(void)READ_ONCE(((u8 *)bench_item(c, c->order[i]))[at]);
}

static void bench_fault(struct bench_run *run, enum bench_row row,
			const char *what, u64 is, u64 should)
{
	struct bench_sum *sum = &run->sum[row];

	if (sum->status != BENCH_ERROR)
		pr_err("%s, %s (%s), n=%u, %s, %s: %s: %llu instead of %llu\n",
		       run->plan->subject[run->subject].name,
		       bench_workload_name[bench_row_name[row].workload],
		       bench_form_name[bench_row_name[row].form],
		       run->ctx.n, bench_layout_name[run->layout],
		       bench_cache_name[run->cache], what, is, should);
	sum->status = BENCH_ERROR;
}

static struct bench_cell *bench_here(struct bench_run *run, enum bench_row row)
{
	return bench_cell(run->result, run->subject, run->size, row,
			  run->layout, run->cache);
}

static void bench_add(struct bench_run *run, enum bench_row row, bool within)
{
	struct bench_sum *sum = &run->sum[row];
	struct bench_ctx *c = &run->ctx;

	sum->group[run->group].spent += c->spent;
	sum->group[run->group].done += c->done;
	if (sum->status == BENCH_NONE)
		sum->status = BENCH_OK;
	if (!within && sum->status == BENCH_OK)
		sum->status = BENCH_REFUSED;
}

static void bench_clear(struct bench_ctx *c)
{
	c->spent = 0;
	c->done = 0;
	c->hits = 0;
}

/* Before and after a loop of which only the longest call is of interest. */

static void bench_single_begin(struct bench_run *run)
{
	struct bench_ctx *c = &run->ctx;

	c->single = run->single ? BENCH_SINGLE : 0;
	c->longest = 0;
	if (run->single)
		c->chunk = 1;
}

static void bench_single_end(struct bench_run *run, enum bench_row row)
{
	struct bench_cell *cell = bench_here(run, row);

	cell->irqoff_ns = max_t(u64, cell->irqoff_ns,
				div_u64(run->ctx.longest, 1000));
	run->ctx.single = 0;
}

/* One timed pass over all timers. */
static bool bench_pass(struct bench_run *run, enum bench_row row,
		       bool (*loop)(struct bench_ctx *c), const u32 *args)
{
	struct bench_ctx *c = &run->ctx;
	bool within;

	bench_clear(c);
	c->args = args;
	if (run->cache == BENCH_COLD)
		bench_evict(run);
	bench_single_begin(run);
	within = loop(c);
	if (run->single)
		bench_single_end(run, row);
	else
		bench_add(run, row, within);
	return within;
}

/* The timed repetition of one operation. */
static void bench_again(struct bench_run *run, enum bench_row row,
			void (*loop)(struct bench_ctx *c, u64 times))
{
	const bool cold = run->cache == BENCH_COLD;
	struct bench_ctx *c = &run->ctx;
	unsigned int i;

	if (!loop) {
		run->sum[row].status = BENCH_NA;
		return;
	}
	for (i = 0; i < (cold ? BENCH_COLD_ONCE : BENCH_GROUPS); i++) {
		run->group = i;
		bench_clear(c);
		if (cold)
			bench_evict(run);
		bench_single_begin(run);
		loop(c, cold ? 1 : BENCH_OPS / BENCH_GROUPS);
		if (run->single)
			bench_single_end(run, row);
		else
			bench_add(run, row, true);
		if (c->hits != c->done)
			bench_fault(run, row, "operations that did their work",
				    c->hits, c->done);
	}
	run->group = 0;
}

/* Open the subject, or say in all those rows why not. */
static bool bench_open(struct bench_run *run, enum bench_use use, u64 rows)
{
	const struct bench_subject *subject = &run->plan->subject[run->subject];
	struct bench_ctx *c = &run->ctx;
	unsigned int row;
	int err;

	*c = (struct bench_ctx) {
		.subject = subject,
		.items = run->items,
		.n = run->plan->n[run->size],
		.order = run->order[run->layout],
		.budget = bench_ms(run->plan->budget_ms),
		.enough = bench_ms(BENCH_ENOUGH_MS),
		.chunk = BENCH_CHUNK_FIRST,
		.count = run->count,
	};
	bench_fire = (struct bench_fire) {};
	err = subject->ops->open(c, use);
	if (!err) {
		run->result->node_size[run->subject] =
			subject->ops->node_size(c);
		return true;
	}
	for (row = 0; row < BENCH_NR_ROWS; row++) {
		if (!(rows & BIT_ULL(row)))
			continue;
		if (err == -EOPNOTSUPP)
			run->sum[row].status = BENCH_NA;
		else if (err == -ENOSPC || err == -ENOMEM)
			run->sum[row].status = BENCH_REFUSED;
		else
			bench_fault(run, row, "error at set-up", -err, 0);
	}
	return false;
}

/* What has fired although it should not, or not although it should. */
static void bench_check_fires(struct bench_run *run, enum bench_row row,
			      const u32 *act)
{
	const struct bench_ctx *c = &run->ctx;
	u64 wrong = 0;
	unsigned int i;

	if (bench_fire.fired != bench_fire.target)
		bench_fault(run, row, "timers that fired", bench_fire.fired,
			    bench_fire.target);
	for (i = 0; i < c->n; i++)
		wrong += bench_item(c, c->order[i])->fires != (act && !act[i]);
	if (wrong)
		bench_fault(run, row, "timers that fired too often or seldom",
			    wrong, 0);
}

static void bench_expect(struct bench_run *run, enum bench_row row, long hits)
{
	if (run->ctx.hits != hits)
		bench_fault(run, row, "timers found pending", run->ctx.hits,
			    hits);
}

static bool bench_has_trait(const struct bench_subject *subject, u32 trait)
{
	return subject->kind && subject->kind->traits & trait;
}

/* One hot timer: nothing is scattered, nor cold. */
static bool bench_has_pair(const struct bench_run *run)
{
	return run->layout == BENCH_ORDERED && run->cache == BENCH_WARM;
}

/* The plain calls: arm, move in every way, cancel. */
static bool bench_calls(struct bench_run *run, bool first)
{
	struct bench_ctx *c = &run->ctx;
	const struct bench_ops *ops = c->subject->ops;

	if (!bench_pass(run, ROW_ARM, ops->arm, run->delay))
		return false;
	bench_expect(run, ROW_ARM, 0);
	if (!bench_pass(run, ROW_REARM_SAME, ops->rearm_same, run->delay) ||
	    !bench_pass(run, ROW_REARM_LATER, ops->rearm_later, run->delay) ||
	    !bench_pass(run, ROW_REARM_EARLIER, ops->arm, run->delay))
		return false;
	if (first) {
		bench_again(run, ROW_NEXT, ops->next);
		if (bench_has_pair(run)) {
			bench_again(run, ROW_ARM_CANCEL, ops->pair);
			bench_again(run, ROW_ARM_CANCEL_LOCKED,
				    ops->pair_locked);
		}
	}
	if (!bench_pass(run, ROW_CANCEL, ops->cancel, run->zero))
		return false;
	/* So all were pending, whatever was done to them before. */
	bench_expect(run, ROW_CANCEL, c->n);
	return true;
}

/* The same work in another form, as far as the subject has it. */
static bool bench_form(struct bench_run *run, enum bench_row arm,
		       bool (*arm_loop)(struct bench_ctx *c),
		       enum bench_row later,
		       bool (*later_loop)(struct bench_ctx *c),
		       enum bench_row earlier, enum bench_row cancel,
		       bool (*cancel_loop)(struct bench_ctx *c))
{
	struct bench_ctx *c = &run->ctx;

	if (!bench_pass(run, arm, arm_loop, run->delay))
		return false;
	bench_expect(run, arm, 0);
	if (!bench_pass(run, later, later_loop, run->delay))
		return false;
	bench_expect(run, later, c->n);
	if (!bench_pass(run, earlier, arm_loop, run->delay))
		return false;
	bench_expect(run, earlier, c->n);
	if (!bench_pass(run, cancel, cancel_loop, run->zero))
		return false;
	bench_expect(run, cancel, c->n);
	return true;
}

static bool bench_forms(struct bench_run *run)
{
	const struct bench_ops *ops = run->ctx.subject->ops;

	return bench_form(run, ROW_ARM_BATCH, ops->arm_batch,
			  ROW_REARM_LATER_BATCH, ops->later_batch,
			  ROW_REARM_EARLIER_BATCH, ROW_CANCEL_BATCH,
			  ops->cancel_batch) &&
	       bench_form(run, ROW_ARM_LOCKED, ops->arm_locked,
			  ROW_REARM_LATER_LOCKED, ops->later_locked,
			  ROW_REARM_EARLIER_LOCKED, ROW_CANCEL_LOCKED,
			  ops->cancel_locked);
}

/* Moved by stores, which leave the wheel as it was armed before. */
static bool bench_lazy(struct bench_run *run)
{
	struct bench_ctx *c = &run->ctx;
	const struct bench_ops *ops = c->subject->ops;

	c->args = run->delay;
	if (!ops->arm(c))
		return false;
	if (!bench_pass(run, ROW_REARM_LATER_LAZY, ops->later_lazy, run->delay))
		return false;
	bench_expect(run, ROW_REARM_LATER_LAZY, c->n);
	return ops->cancel(c);
}

/* Armed with slack, by a subject that reads it. */
static bool bench_slack(struct bench_run *run)
{
	static const enum bench_row rows[] = {
		ROW_ARM_SLACK_1, ROW_ARM_SLACK_12,
	};
	struct bench_ctx *c = &run->ctx;
	const struct bench_ops *ops = c->subject->ops;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		c->slack = bench_row_name[rows[i]].slack;
		if (!bench_pass(run, rows[i], ops->arm_slack, run->delay))
			return false;
		bench_expect(run, rows[i], 0);
		if (!ops->cancel(c))
			return false;
	}
	return true;
}

/* What a subject has no such operation for. */
static void bench_not_there(struct bench_run *run, u64 rows)
{
	unsigned int row;

	for (row = 0; row < BENCH_NR_ROWS; row++)
		if (rows & BIT_ULL(row))
			run->sum[row].status = BENCH_NA;
}

#define BENCH_ROWS_SLACK (BIT_ULL(ROW_ARM_SLACK_1) | BIT_ULL(ROW_ARM_SLACK_12))
#define BENCH_ROWS_PAIR	(BIT_ULL(ROW_ARM_CANCEL) | BIT_ULL(ROW_ARM_CANCEL_LOCKED))
#define BENCH_ROWS_FORMS						\
	(BIT_ULL(ROW_ARM_BATCH) | BIT_ULL(ROW_ARM_LOCKED) |			\
	 BIT_ULL(ROW_REARM_LATER_BATCH) | BIT_ULL(ROW_REARM_LATER_LOCKED) |	\
	 BIT_ULL(ROW_REARM_EARLIER_BATCH) | BIT_ULL(ROW_REARM_EARLIER_LOCKED) |	\
	 BIT_ULL(ROW_CANCEL_BATCH) | BIT_ULL(ROW_CANCEL_LOCKED))
#define BENCH_ROWS_RUNNING						\
	(BIT_ULL(ROW_ARM) | BIT_ULL(ROW_REARM_SAME) | BIT_ULL(ROW_REARM_LATER) |	\
	 BIT_ULL(ROW_REARM_EARLIER) | BIT_ULL(ROW_NEXT) | BIT_ULL(ROW_CANCEL) |	\
	 BENCH_ROWS_PAIR | BENCH_ROWS_FORMS | BENCH_ROWS_SLACK |	\
	 BIT_ULL(ROW_REARM_LATER_LAZY))

/* The same for each pass of each subject, as far as it goes. */
static bool bench_once(struct bench_run *run, bool first)
{
	const struct bench_subject *subject = run->ctx.subject;

	return bench_calls(run, first) &&
	       (!subject->ops->arm_batch || bench_forms(run)) &&
	       (!bench_has_trait(subject, WHEEL_LAZY) || bench_lazy(run)) &&
	       (!bench_has_trait(subject, WHEEL_SLACK) || bench_slack(run));
}

/* `arm`, `rearm_*`, `cancel`, `next`, `arm_cancel` on a clock that runs. */
static void bench_running(struct bench_run *run)
{
	const struct bench_subject *subject = &run->plan->subject[run->subject];
	const struct bench_ops *ops = subject->ops;
	struct bench_ctx *c = &run->ctx;
	unsigned int pass, passes, row;
	u64 absent = 0;

	if (!bench_has_pair(run))
		absent |= BENCH_ROWS_PAIR;
	if (!ops->arm_batch)
		absent |= BENCH_ROWS_FORMS;
	if (!bench_has_trait(subject, WHEEL_LAZY))
		absent |= BIT_ULL(ROW_REARM_LATER_LAZY);
	if (!bench_has_trait(subject, WHEEL_SLACK))
		absent |= BENCH_ROWS_SLACK;
	bench_not_there(run, absent);
	if (!bench_open(run, BENCH_RUNNING, BENCH_ROWS_RUNNING & ~absent))
		return;
	if (run->cache == BENCH_COLD)
		passes = clamp(BENCH_COLD_OPS / c->n, 1U, BENCH_COLD_PASSES);
	else
		passes = max((run->plan->brief ? BENCH_OPS_BRIEF : BENCH_OPS) /
			     c->n, 1U);
	for (pass = 0; pass < passes; pass++) {
		run->group = pass * BENCH_GROUPS / passes;
		if (!bench_once(run, !pass))
			break;
	}
	run->group = 0;
	if (!run->round && pass == passes) {
		run->single = true;
		bench_once(run, true);
		run->single = false;
	}
	bench_check_fires(run, ROW_CANCEL, NULL);
	/* What was not reached, for the budget was used up, is refused too. */
	for (row = 0; row < BENCH_NR_ROWS; row++)
		if (BENCH_ROWS_RUNNING & BIT_ULL(row) &&
		    run->sum[row].status == BENCH_NONE)
			run->sum[row].status = BENCH_REFUSED;
	ops->close(c);
}

/*
 * `expire_spread`, `expire_pileup`, `expire_far` and `mixed`: arm everything, let the time
 * pass by which it is due with nothing firing, then fire it all at once.
 *
 * In `mixed` all four parts are timed: the arming, the cancelling and moving
 * of nine in ten, the firing of the tenth, and the cancelling of those that
 * were moved.
 *
 * With a cell, what expiry did and how long it held the lock is put there; then
 * the time means nothing.
 */
static void bench_window(struct bench_run *run, enum bench_row row,
			 struct bench_cell *cell)
{
	const bool mixed = bench_row_name[row].workload == BENCH_MIXED;
	const bool pileup = bench_row_name[row].workload == BENCH_EXPIRE_PILEUP;
	const bool far = bench_row_name[row].workload == BENCH_EXPIRE_FAR;
	const struct bench_subject *subject = &run->plan->subject[run->subject];
	const u32 *slack = bench_row_name[row].slack;
	const u32 *act = mixed ? run->act : run->zero;
	struct bench_ctx *c = &run->ctx;
	struct bench_sum *sum = &run->sum[row];
	const struct bench_ops *ops;
	bool within;

	/* A clock that cannot be moved does not get that far. */
	if ((slack && !bench_has_trait(subject, WHEEL_SLACK)) ||
	    (far && !subject->ops->advance)) {
		sum->status = BENCH_NA;
		return;
	}
	run->count = cell ? &cell->count : NULL;
	if (!bench_open(run, bench_row_name[row].form == BENCH_BATCH ?
			BENCH_HANDING_OVER : BENCH_EXPIRING, BIT_ULL(row)))
		return;
	ops = c->subject->ops;
	c->slack = slack;
	c->span = pileup ? 0 : far ? BENCH_MIN_DELAY + BENCH_UNIFORM : BENCH_SPAN;
	/* No kind, nor any slack here, is later than a quarter of the delay. */
	c->late = BENCH_LATE + (far || slack ? c->span / 4 : 0);
	bench_fire.target = mixed ? c->n - run->acted : c->n;
	ops->hold(c);
	within = bench_pass(run, row, slack ? ops->arm_at_slack : ops->arm_at,
			    pileup ? run->zero : far ? run->delay :
			    run->spread[run->layout]);
	if (!within)
		goto close;
	if (mixed) {
		within = bench_pass(run, row, ops->act, run->act);
		if (!within)
			goto close;
		bench_expect(run, row, run->acted);
	} else {
		*sum = (struct bench_sum) {};
	}
	ops->ripen(c);
	if (run->cache == BENCH_COLD)
		bench_evict(run);
	else
		bench_touch(run);
	bench_clear(c);
	within = ops->release(c);
	c->done = bench_fire.fired;
	bench_add(run, row, within);
	if (!within)
		goto close;
	bench_check_fires(run, row, act);
	if (cell) {
		cell->irqoff_ns = ops->irqoff(c);
		ops->counted(c);
		if (cell->count.broken)
			bench_fault(run, row, "timers that fired too early or late",
				    cell->count.broken, 0);
	}
	if (mixed && bench_pass(run, row, ops->act, run->retire))
		bench_expect(run, row, run->retired);
close:
	ops->close(c);
	run->count = NULL;
}

/* `advance_empty`: all timers wait beyond the stretches that are crossed. */
static void bench_empty(struct bench_run *run)
{
	static const struct {
		enum bench_row row;
		u64 ticks;
	} stretch[] = {
		{ ROW_EMPTY_TICK, 1 },
		{ ROW_EMPTY_STRETCH, BENCH_STRETCH },
	};
	struct bench_ctx *c = &run->ctx;
	const struct bench_ops *ops = run->plan->subject[run->subject].ops;
	const bool cold = run->cache == BENCH_COLD;
	unsigned int i, j;
	u64 start;

	if (!ops->advance) {
		run->sum[ROW_EMPTY_TICK].status = BENCH_NA;
		run->sum[ROW_EMPTY_STRETCH].status = BENCH_NA;
		return;
	}
	if (!bench_open(run, BENCH_EXPIRING,
			BIT_ULL(ROW_EMPTY_TICK) | BIT_ULL(ROW_EMPTY_STRETCH)))
		return;
	start = c->base;
	c->base = start + BENCH_FAR;
	c->args = run->delay;
	if (!ops->arm_at(c)) {
		run->sum[ROW_EMPTY_TICK].status = BENCH_REFUSED;
		run->sum[ROW_EMPTY_STRETCH].status = BENCH_REFUSED;
		goto close;
	}
	c->base = start;
	for (i = 0; i < ARRAY_SIZE(stretch); i++) {
		for (j = 0; j < (cold ? BENCH_COLD_ONCE : BENCH_GROUPS); j++) {
			run->group = j;
			bench_clear(c);
			if (cold)
				bench_evict(run);
			ops->advance(c, cold ? 1 : BENCH_OPS / BENCH_GROUPS,
				     stretch[i].ticks);
			bench_add(run, stretch[i].row, true);
			if (c->hits != c->done)
				bench_fault(run, stretch[i].row,
					    "steps that were taken", c->hits,
					    c->done);
		}
		run->group = 0;
		if (run->round)
			continue;
		run->single = true;
		bench_clear(c);
		bench_single_begin(run);
		ops->advance(c, BENCH_OPS / BENCH_GROUPS, stretch[i].ticks);
		bench_single_end(run, stretch[i].row);
		run->single = false;
	}
	bench_check_fires(run, ROW_EMPTY_STRETCH, NULL);
close:
	ops->close(c);
}

bool bench_in_plan(const struct bench_plan *plan, unsigned int n,
		   enum bench_row row, enum bench_layout layout,
		   enum bench_cache cache)
{
	if (plan->ordered && (layout != BENCH_ORDERED || cache != BENCH_WARM))
		return false;
	if (!plan->brief)
		return true;
	/* The best case and the worst. */
	if (layout == BENCH_SCATTERED ? cache == BENCH_WARM :
	    cache == BENCH_COLD)
		return false;
	/* Only the largest n is worth seconds of waiting for jiffies. */
	switch (bench_row_name[row].workload) {
	case BENCH_EXPIRE_SPREAD:
	case BENCH_EXPIRE_FAR:
	case BENCH_MIXED:
		return n == plan->n[plan->sizes - 1];
	default:
		return true;
	}
}

static unsigned int *bench_refused(struct bench_run *run, enum bench_row row)
{
	return &run->refused[run->subject][row][run->layout][run->cache];
}

/* What a lock costs by itself, which each plain call takes and drops. */
static u64 bench_lock(void)
{
	static DEFINE_RAW_SPINLOCK(lock);
	u64 ps[BENCH_GROUPS];
	unsigned int i, group;

	for (group = 0; group < BENCH_GROUPS; group++) {
		struct bench_watch watch;
		unsigned long flags;

		bench_watch_start(&watch);
		for (i = 0; i < BENCH_LOCKS; i++) {
			raw_spin_lock_irqsave(&lock, flags);
			raw_spin_unlock_irqrestore(&lock, flags);
		}
		ps[group] = div_u64(bench_watch_read(&watch), BENCH_LOCKS);
	}
	return bench_median(ps, BENCH_GROUPS);
}

/* What a read costs that hits the caches, and one that misses. */
static void bench_latency(struct bench_run *run)
{
	u64 *ps = run->result->read_ps[run->size];
	unsigned int n = run->plan->n[run->size];

	ps[BENCH_WARM] = bench_reads(run, n, false);
	ps[BENCH_COLD] = bench_reads(run, n, true);
}

/* Is this row to be measured now? */
static bool bench_wanted(struct bench_run *run, enum bench_row row)
{
	unsigned int n = run->plan->n[run->size];
	unsigned int refused = *bench_refused(run, row);

	if (!bench_in_plan(run->plan, n, row, run->layout, run->cache))
		return false;
	/* Too slow in another round, or for fewer timers. */
	if (refused && n >= refused)
		bench_here(run, row)->status = BENCH_REFUSED;
	return bench_here(run, row)->status < BENCH_REFUSED;
}

/* Picoseconds per operation: the median of the groups there are. */
static u64 bench_figure(const struct bench_sum *sum)
{
	u64 ps[BENCH_GROUPS];
	unsigned int i, nr = 0;

	for (i = 0; i < BENCH_GROUPS; i++)
		if (sum->group[i].done)
			ps[nr++] = div64_u64(sum->group[i].spent,
					     sum->group[i].done);
	return bench_median(ps, nr);
}

/* Take over what was summed up. */
static void bench_record(struct bench_run *run)
{
	unsigned int row;

	for (row = 0; row < BENCH_NR_ROWS; row++) {
		struct bench_sum *sum = &run->sum[row];
		struct bench_cell *cell = bench_here(run, row);

		if (sum->status == BENCH_NONE)
			continue;
		if (sum->status == BENCH_OK && !sum->group[0].done)
			bench_fault(run, row, "operations", 0, 1);
		if (sum->status == BENCH_REFUSED)
			*bench_refused(run, row) = run->plan->n[run->size];
		if (cell->status < sum->status)
			cell->status = sum->status;
		if (sum->status == BENCH_OK)
			cell->sample[cell->rounds++] = bench_figure(sum);
		*sum = (struct bench_sum) {};
	}
}

static void bench_footprint(struct bench_run *run)
{
	const struct bench_ops *ops = run->plan->subject[run->subject].ops;
	struct bench_ctx *c = &run->ctx;
	unsigned int row;
	u64 bytes;

	if (!ops->footprint || !bench_open(run, BENCH_EXPIRING, 0))
		return;
	c->args = run->delay;
	if (ops->arm_at(c)) {
		bytes = ops->footprint(c);
		for (row = 0; row < BENCH_NR_ROWS; row++)
			/* Rounded up: it is not nothing, however many share it. */
			bench_here(run, row)->bytes =
				DIV_ROUND_UP_ULL(bytes * 100, c->n);
	}
	ops->close(c);
}

/* All rows of one subject, for one n, layout and state of the caches. */
static void bench_block(struct bench_run *run)
{
	static const enum bench_row windows[] = {
		ROW_SPREAD, ROW_SPREAD_BATCH, ROW_PILEUP, ROW_PILEUP_BATCH,
		ROW_MIXED, ROW_MIXED_BATCH, ROW_FAR, ROW_SPREAD_SLACK_1,
		ROW_SPREAD_SLACK_12, ROW_FAR_SLACK_1, ROW_FAR_SLACK_12,
		ROW_FAR_SLACK_MIXED,
	};
	const struct bench_ops *ops = run->plan->subject[run->subject].ops;
	bool wanted[BENCH_NR_ROWS];
	unsigned int i;

	for (i = 0; i < BENCH_NR_ROWS; i++)
		wanted[i] = bench_wanted(run, i);
	if (!run->round)
		bench_footprint(run);
	if (wanted[ROW_ARM])
		bench_running(run);
	if (wanted[ROW_EMPTY_TICK])
		bench_empty(run);
	bench_record(run);
	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		enum bench_row row = windows[i];

		/* A pile-up need not wait. */
		if (bench_row_name[row].workload != BENCH_EXPIRE_PILEUP &&
		    run->round >= run->plan->windows)
			continue;
		if (!wanted[row] || bench_stopped())
			continue;
		/*
		 * Its time is not counted: reading the clock at each hold of a
		 * lock costs.
		 */
		if (!run->round && ops->irqoff) {
			ops->measure(true);
			bench_window(run, row, bench_here(run, row));
			ops->measure(false);
			if (run->sum[row].status == BENCH_OK)
				run->sum[row] = (struct bench_sum) {};
		}
		if (run->sum[row].status == BENCH_NONE)
			bench_window(run, row, NULL);
		bench_record(run);
	}
}

/*
 * Kinds that place a timer by the highest digit in which due tick and clock
 * differ: does that say more of the clock than of the delays?
 */
static bool bench_crossing(void)
{
	const u64 most = BENCH_MIN_DELAY + BENCH_UNIFORM + BENCH_LATER;
	u64 now = get_jiffies_64();

	return fls64(now ^ (now + most)) > fls64(most) + 1;
}

static void bench_free(struct bench_run *run)
{
	kvfree(run->refused);
	kvfree(run->retire);
	kvfree(run->act);
	kvfree(run->zero);
	kvfree(run->spread[BENCH_SCATTERED]);
	kvfree(run->spread[BENCH_ORDERED]);
	kvfree(run->delay);
	kvfree(run->order[BENCH_SCATTERED]);
	kvfree(run->order[BENCH_ORDERED]);
	vfree(run->evict);
	vfree(run->items);
	kfree(run);
}

static struct bench_run *bench_alloc(const struct bench_plan *plan)
{
	unsigned int n = plan->n[plan->sizes - 1];
	struct bench_run *run;
	u32 **array[8];
	unsigned int i;

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return NULL;
	run->plan = plan;
	array[0] = &run->order[BENCH_ORDERED];
	array[1] = &run->order[BENCH_SCATTERED];
	array[2] = &run->delay;
	array[3] = &run->spread[BENCH_ORDERED];
	array[4] = &run->spread[BENCH_SCATTERED];
	array[5] = &run->zero;
	array[6] = &run->act;
	array[7] = &run->retire;
	for (i = 0; i < ARRAY_SIZE(array); i++) {
		*array[i] = kvcalloc(n, sizeof(u32), GFP_KERNEL);
		if (!*array[i])
			goto free;
	}
	/* Room for the largest, whichever subjects there are. */
	run->items = vzalloc(((size_t)n + 1) <<
			     bench_shift(sizeof(struct bench_item)));
	run->evict = vzalloc(plan->evict_bytes);
	run->refused = kvcalloc(plan->subjects, sizeof(*run->refused),
				GFP_KERNEL);
	if (!run->items || !run->evict || !run->refused)
		goto free;
	return run;

free:
	bench_free(run);
	return NULL;
}

/**
 * bench_run() - measure everything that is planned
 * @plan: what
 * @result: where it goes, as bench_result_init() left it
 *
 * Context: A thread of its own that stays on one CPU. Sleeps, and holds
 * bottom halves off for seconds.
 * Return: 0, -ENOMEM, or -EINTR if it was told to stop.
 */
int bench_run(const struct bench_plan *plan, struct bench_result *result)
{
	struct bench_run *run;
	unsigned int i;
	int err = 0;

	run = bench_alloc(plan);
	if (!run)
		return -ENOMEM;
	run->result = result;
	result->crossing = bench_crossing();
	result->lock_ps = bench_lock();
	for (run->round = 0; run->round < plan->rounds; run->round++)
		for (run->size = 0; run->size < plan->sizes; run->size++) {
			bench_prepare(run, plan->n[run->size]);
			if (!run->round)
				bench_latency(run);
			for (i = 0; i < BENCH_NR_LAYOUTS * BENCH_NR_CACHES *
					plan->subjects; i++) {
				unsigned int turn = i / plan->subjects;

				run->layout = turn / BENCH_NR_CACHES;
				run->cache = turn % BENCH_NR_CACHES;
				run->subject = (i + run->round) %
					       plan->subjects;
				if (!bench_in_plan(plan, plan->n[run->size],
						   ROW_ARM, run->layout,
						   run->cache))
					continue;
				if (bench_stopped()) {
					err = -EINTR;
					goto free;
				}
				bench_progress(run->round, plan->n[run->size],
					       bench_layout_name[run->layout],
					       bench_cache_name[run->cache],
					       plan->subject[run->subject].name);
				bench_block(run);
			}
		}
free:
	bench_free(run);
	return err;
}
