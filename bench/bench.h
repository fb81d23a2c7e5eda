/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The parts of the benchmark and what they share.
 *
 *	module.c	parameters, debugfs, the thread that measures
 *	run.c		the workloads: what is done in which order, and checked
 *	loops.h		the timed loops, made anew for each subject
 *	timer_list.c	the subjects: the kernel's timer wheel,
 *	hrtimer.c	its high resolution timers,
 *	wheel.c		and every kind of ours, through the facility
 *	report.c	medians, CSV, the table for people
 *	clock.h		what time is read with
 *
 * It knows the facility by its public header only, and kinds by their list.
 */
#ifndef _BENCH_H
#define _BENCH_H

#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/timer.h>
#include <linux/types.h>

#include "../cogwheel.h"
#include "clock.h"

/* Due ticks of `expire_spread` and `mixed` are spread over so many. */
#define BENCH_SPAN		300
/* timer_list is late by less than this for any delay within that span. */
#define BENCH_LATE		8
/* Delays elsewhere are uniform over so many ticks, ... */
#define BENCH_UNIFORM		BIT(20)
/* ... and `rearm_later` moves every timer by as much. */
#define BENCH_LATER		BENCH_UNIFORM
/*
 * Added to those delays, so that none fires while it is used: arming and
 * cancelling must not be measured with some of the timers gone.
 */
#define BENCH_MIN_DELAY		60000U
/* What waits beyond the stretches of `advance_empty`. */
#define BENCH_FAR		BIT_ULL(62)
#define BENCH_STRETCH		BIT_ULL(40)
/*
 * Where the clock stands for what is counted: how often timers are moved depends
 * on that, and counts of different kinds, and runs, are to be compared.
 */
#define BENCH_START		1000003U

/* A timer's slack is its delay times one of these, by the delay's last bits. */
#define BENCH_SLACKS		4
#define BENCH_SLACK_SHIFT	16
#define BENCH_SLACK(permille)	((permille) * BIT(BENCH_SLACK_SHIFT) / 1000)

/* Operations in the first stretch of a loop. */
#define BENCH_CHUNK_FIRST	16U

#define BENCH_MIN_N		100
#define BENCH_MAX_N		10000000
#define BENCH_SIZES		6	/* powers of ten from one to the other */
#define BENCH_MAX_ROUNDS	25
#define BENCH_MAX_SUBJECTS	32

/**
 * struct bench_item - the object that each timer is part of
 * @fires: what the callback counts, in front of the timer, as a field of its
 *	own object that a real callback would look at
 * @list: the timer, as one subject has it
 * @hr: another
 * @cog: and ours
 *
 * An object begins at a cache line and is followed by the next one: the same
 * stride for every timer that leaves room for @fires in a line.
 */
struct bench_item {
	u64 fires;
	union {
		struct timer_list list;
		struct hrtimer hr;
		struct cogwheel_timer cog;
	};
};

/* Bytes of an object whose timer takes so many. */
static inline size_t bench_object_size(size_t timer_size)
{
	return offsetof(struct bench_item, list) + timer_size;
}

/* Log2 of the stride of objects whose timer takes so many bytes. */
static inline unsigned int bench_shift(size_t timer_size)
{
	return max(order_base_2(bench_object_size(timer_size)),
		   L1_CACHE_SHIFT);
}

enum bench_workload {
	BENCH_ARM,
	BENCH_CANCEL,
	BENCH_ARM_CANCEL,
	BENCH_REARM_SAME,
	BENCH_REARM_LATER,
	BENCH_REARM_EARLIER,
	BENCH_EXPIRE_SPREAD,
	BENCH_EXPIRE_PILEUP,
	BENCH_EXPIRE_FAR,
	BENCH_ADVANCE_EMPTY,
	BENCH_NEXT,
	BENCH_MIXED,
	BENCH_NR_WORKLOADS
};

enum bench_form {
	BENCH_CALL,	/* an operation is a call */
	BENCH_BATCH,	/* a call for many, or expired timers taken all at once */
	BENCH_LOCKED,	/* the caller holds the lock, for WHEEL_BATCH of them */
	BENCH_LAZY,	/* a store instead of an operation */
	BENCH_NODE,	/* the caller's struct, not an operation */
};

enum bench_layout { BENCH_ORDERED, BENCH_SCATTERED, BENCH_NR_LAYOUTS };
enum bench_cache { BENCH_WARM, BENCH_COLD, BENCH_NR_CACHES };

/* One line of the CSV for each subject, n, layout and cache. */
enum bench_row {
	ROW_ARM,
	ROW_ARM_BATCH,
	ROW_ARM_LOCKED,
	ROW_CANCEL,
	ROW_CANCEL_BATCH,
	ROW_CANCEL_LOCKED,
	ROW_ARM_CANCEL,
	ROW_ARM_CANCEL_LOCKED,
	ROW_REARM_SAME,
	ROW_REARM_LATER,
	ROW_REARM_LATER_BATCH,
	ROW_REARM_LATER_LOCKED,
	ROW_REARM_LATER_LAZY,
	ROW_REARM_EARLIER,
	ROW_REARM_EARLIER_BATCH,
	ROW_REARM_EARLIER_LOCKED,
	ROW_SPREAD,
	ROW_SPREAD_BATCH,
	ROW_PILEUP,
	ROW_PILEUP_BATCH,
	ROW_EMPTY_TICK,
	ROW_EMPTY_STRETCH,
	ROW_NEXT,
	ROW_MIXED,
	ROW_MIXED_BATCH,
	ROW_FAR,
	/* For kinds that read a timer's slack. */
	ROW_ARM_SLACK_1,
	ROW_ARM_SLACK_12,
	ROW_SPREAD_SLACK_1,
	ROW_SPREAD_SLACK_12,
	ROW_FAR_SLACK_1,
	ROW_FAR_SLACK_12,
	ROW_FAR_SLACK_MIXED,
	BENCH_NR_ROWS
};

/**
 * enum bench_status - what became of a row
 * @BENCH_NONE: not reached
 * @BENCH_OK: measured
 * @BENCH_REFUSED: the subject cannot hold so many, or takes longer than the
 *	budget of one measurement
 * @BENCH_NA: the subject has no such operation, or the row no meaning
 * @BENCH_ERROR: the work was not done as it should be; no figure is given
 */
enum bench_status {
	BENCH_NONE,
	BENCH_OK,
	BENCH_REFUSED,
	BENCH_NA,
	BENCH_ERROR,
};

/* How a subject will be used, told as it is opened. */
enum bench_use {
	BENCH_RUNNING,		/* arm and cancel, on a clock that runs */
	BENCH_EXPIRING,		/* a window of time, then one callback each */
	BENCH_HANDING_OVER,	/* the same, expired timers taken in batches */
};

/**
 * struct bench_fire - what callbacks write to
 * @fired: how many there were
 * @target: how many there should be
 * @watch: started as expiry began
 * @spent: what it showed when the one that completed @target was done, 0 if
 *	that has not happened
 */
struct bench_fire {
	u64 fired;
	u64 target;
	struct bench_watch watch;
	u64 spent;
};

extern struct bench_fire bench_fire;

/**
 * struct bench_count - what a wheel did in a pass that is counted, not timed
 * @timers: that were armed
 * @fired: that have fired
 * @moved: moves of a timer between slots
 * @touched: slots visited
 * @late: ticks that all were late, together
 * @late_max: the latest
 * @part: the same in parts of the delay, BENCH_PARTS to the whole
 * @part_max: the greatest such part
 * @broken: fired before the due tick, or later than the slack allows
 */
struct bench_count {
	u64 timers;
	u64 fired;
	u64 moved;
	u64 touched;
	u64 late;
	u64 late_max;
	u64 part;
	u64 part_max;
	u64 broken;
};

#define BENCH_PARTS		1000000U

/* The callback of every timer of every subject. */
static __always_inline void bench_fired(struct bench_item *item)
{
	item->fires++;
	if (++bench_fire.fired == bench_fire.target)
		bench_fire.spent = bench_watch_read(&bench_fire.watch);
}

struct bench_ops;

/**
 * struct bench_subject - something that is measured
 * @name: as in the CSV
 * @ops: how it is used
 * @kind: the kind's table, for ours
 */
struct bench_subject {
	const char *name;
	const struct bench_ops *ops;
	const struct wheel_ops *kind;
};

/**
 * struct bench_ctx - one subject at work
 * @subject: which
 * @items: the timers, @n and one more for `arm_cancel`
 * @shift: they are 1 << @shift bytes apart; ops->open() sets it
 * @n: how many
 * @order: the order in which they are touched, by index
 * @args: one number for each step of a loop: a delay, or what `mixed` does
 * @slack: what a delay is multiplied by for its slack, see BENCH_SLACK()
 * @base: with a window, what those delays count from
 * @span: with a window, the largest of them
 * @late: with a window, a timer may fire so many ticks after it is due
 * @count: with a window, count into this what expiry does; not timed then
 * @cw: the facility, for a kind
 * @spent: picoseconds inside timed loops, since it was last cleared
 * @done: operations in them
 * @hits: sum of what the operations returned
 * @budget: a loop over all items gives up beyond that
 * @enough: a loop that repeats one operation may stop there
 * @single: time so many operations one by one
 * @longest: picoseconds that the longest of those took
 * @watch: started where the current stretch of a loop began
 * @chunk: operations in one stretch
 * @held: bottom halves are off
 */
struct bench_ctx {
	const struct bench_subject *subject;
	void *items;
	unsigned int shift;
	unsigned int n;
	const u32 *order;
	const u32 *args;
	const u32 *slack;
	u64 base;
	u32 span;
	u32 late;
	struct bench_count *count;
	struct cogwheel *cw;
	u64 spent;
	u64 done;
	long hits;
	u64 budget;
	u64 enough;
	unsigned int single;
	u64 longest;
	struct bench_watch watch;
	unsigned int chunk;
	bool held;
};

static __always_inline struct bench_item *
bench_item(const struct bench_ctx *c, unsigned int i)
{
	return c->items + ((size_t)i << c->shift);
}

/**
 * struct bench_ops - a subject's loops and how its time passes
 *
 * What returns bool returns false where the budget was used up before all was
 * done. An operation that is NULL does not exist for the subject.
 *
 * @open: set @shift, set up every item; returns 0, -ENOSPC where the subject
 *	cannot hold @n timers, -EOPNOTSUPP where it is not used in this way, or
 *	an error
 * @close: cancel what is pending, free what @open allocated
 * @arm: for each item, arm it args[i] ticks from now
 * @arm_slack: as @arm, with the slack that goes with the delay
 * @rearm_same: for each item, arm it for the due tick that it has
 * @rearm_later: for each item, arm it args[i] + BENCH_LATER ticks from now
 * @cancel: cancel each item
 * @arm_batch: as @arm, many by one call
 * @arm_locked: as @arm, many for one hold of the lock
 * @later_batch: as @rearm_later, many by one call
 * @later_locked: as @rearm_later, many for one hold of the lock
 * @later_lazy: as @rearm_later, without a lock
 * @cancel_batch: as @cancel, many by one call
 * @cancel_locked: as @cancel, many for one hold of the lock
 * @pair: arm and cancel one more timer, again and again
 * @pair_locked: the same, many for one hold of the lock
 * @next: ask for the next tick, again and again
 * @advance: move the clock by so many ticks, again and again
 * @arm_at: for each item, arm it for @base + args[i]
 * @arm_at_slack: the same, with the slack that goes with the delay
 * @act: for each item, do nothing where args[i] is 0, cancel it where it is 1,
 *	else move it to @base + args[i]
 * @hold: begin a window in which nothing fires, set @base
 * @ripen: let the time pass by which all within @span are due
 * @release: let them fire, all at once
 * @node_size: bytes of the caller's struct
 * @footprint: bytes that the subject allocated for the timers that it holds
 * @measure: turn the measuring of @irqoff on or off
 * @irqoff: longest hold of a lock in ns while timers expired
 * @counted: add to @count what the wheel has counted
 */
struct bench_ops {
	int (*open)(struct bench_ctx *c, enum bench_use use);
	void (*close)(struct bench_ctx *c);

	bool (*arm)(struct bench_ctx *c);
	bool (*arm_slack)(struct bench_ctx *c);
	bool (*rearm_same)(struct bench_ctx *c);
	bool (*rearm_later)(struct bench_ctx *c);
	bool (*cancel)(struct bench_ctx *c);
	bool (*arm_batch)(struct bench_ctx *c);
	bool (*arm_locked)(struct bench_ctx *c);
	bool (*later_batch)(struct bench_ctx *c);
	bool (*later_locked)(struct bench_ctx *c);
	bool (*later_lazy)(struct bench_ctx *c);
	bool (*cancel_batch)(struct bench_ctx *c);
	bool (*cancel_locked)(struct bench_ctx *c);
	void (*pair)(struct bench_ctx *c, u64 times);
	void (*pair_locked)(struct bench_ctx *c, u64 times);
	void (*next)(struct bench_ctx *c, u64 times);
	void (*advance)(struct bench_ctx *c, u64 times, u64 ticks);
	bool (*arm_at)(struct bench_ctx *c);
	bool (*arm_at_slack)(struct bench_ctx *c);
	bool (*act)(struct bench_ctx *c);

	void (*hold)(struct bench_ctx *c);
	void (*ripen)(struct bench_ctx *c);
	bool (*release)(struct bench_ctx *c);

	size_t (*node_size)(struct bench_ctx *c);
	u64 (*footprint)(struct bench_ctx *c);
	void (*measure)(bool on);
	u64 (*irqoff)(struct bench_ctx *c);
	void (*counted)(struct bench_ctx *c);
};

extern const struct bench_ops bench_timer_list_ops;
extern const struct bench_ops bench_control_ops;
extern const struct bench_ops bench_floor_ops;
extern const struct bench_ops bench_hrtimer_ops;
extern const struct bench_ops bench_wheel_ops;

/**
 * struct bench_cell - one row of the CSV
 * @status: what became of it
 * @rounds: how many of @sample there are
 * @irqoff_ns: longest hold of a lock during expiry, or the longest single call
 *	of another workload, 0 where not known
 * @count: what expiry did, all 0 where it cannot be counted
 * @bytes: bytes per timer times 100, 0 where not known
 * @sample: picoseconds per operation, in ascending order once the run is over
 * @median: their median, 0 where there is none
 */
struct bench_cell {
	enum bench_status status;
	unsigned int rounds;
	u64 irqoff_ns;
	struct bench_count count;
	u64 bytes;
	u64 *sample;
	u64 median;
};

/**
 * struct bench_plan - what is to be measured
 * @subject: the subjects, timer_list first
 * @subjects: how many
 * @n: how many timers, ascending
 * @sizes: how many of those
 * @rounds: how often everything is measured
 * @windows: how often what needs a window of real time is measured
 * @brief: leave out what the short form leaves out
 * @ordered: leave out all but timers in memory order, with warm caches
 * @budget_ms: longest that one measurement may take
 * @evict_bytes: size of the buffer that is walked through to make caches cold
 */
struct bench_plan {
	struct bench_subject subject[BENCH_MAX_SUBJECTS];
	unsigned int subjects;
	unsigned int n[BENCH_SIZES];
	unsigned int sizes;
	unsigned int rounds;
	unsigned int windows;
	bool brief;
	bool ordered;
	unsigned int budget_ms;
	size_t evict_bytes;
};

/**
 * struct bench_result - what came out
 * @plan: what was to be measured
 * @cell: a cell for each subject, size, row, layout and cache
 * @sample: the memory of all samples
 * @node_size: bytes of each subject's struct
 * @read_ps: picoseconds of a read that depends on the one before, of objects in
 *	scattered order, by size and by state of the caches
 * @lock_ps: picoseconds of a lock, taken with interrupts off and dropped
 * @errors: rows whose work was not done as it should be
 * @crossing: the clock's digits above those of the delays changed within them
 * @lost: percent of the time that was timed, while the CPU was taken away
 * @seconds: how long it took
 */
struct bench_result {
	const struct bench_plan *plan;
	struct bench_cell *cell;
	u64 *sample;
	size_t node_size[BENCH_MAX_SUBJECTS];
	u64 read_ps[BENCH_SIZES][BENCH_NR_CACHES];
	u64 lock_ps;
	unsigned int errors;
	bool crossing;
	unsigned int lost;
	unsigned int seconds;
};

static inline struct bench_cell *
bench_cell(const struct bench_result *r, unsigned int subject,
	   unsigned int size, enum bench_row row, enum bench_layout layout,
	   enum bench_cache cache)
{
	unsigned int i = subject;

	i = i * r->plan->sizes + size;
	i = i * BENCH_NR_ROWS + row;
	i = i * BENCH_NR_LAYOUTS + layout;
	i = i * BENCH_NR_CACHES + cache;
	return &r->cell[i];
}

static inline unsigned int bench_cells(const struct bench_plan *plan)
{
	return plan->subjects * plan->sizes * BENCH_NR_ROWS *
	       BENCH_NR_LAYOUTS * BENCH_NR_CACHES;
}

/* module.c */
extern u64 bench_control;	/* units that the control waits */
bool bench_stopped(void);
void bench_progress(unsigned int round, unsigned int n, const char *layout,
		    const char *cache, const char *subject);

/* run.c */
int bench_run(const struct bench_plan *plan, struct bench_result *result);
bool bench_in_plan(const struct bench_plan *plan, unsigned int n,
		   enum bench_row row, enum bench_layout layout,
		   enum bench_cache cache);

/* report.c */
/**
 * struct bench_row_name - what a row is
 * @workload: its workload
 * @form: its form
 * @param: as in the CSV
 * @slack: with which slack timers are armed, NULL for none
 */
struct bench_row_name {
	enum bench_workload workload;
	enum bench_form form;
	const char *param;
	const u32 *slack;
};

extern const struct bench_row_name bench_row_name[BENCH_NR_ROWS];
extern const char *const bench_workload_name[BENCH_NR_WORKLOADS];
extern const char *const bench_form_name[];
extern const char *const bench_layout_name[BENCH_NR_LAYOUTS];
extern const char *const bench_cache_name[BENCH_NR_CACHES];
u64 bench_median(u64 *sample, unsigned int nr);
int bench_result_init(struct bench_result *r, const struct bench_plan *plan);
void bench_result_free(struct bench_result *r);
void bench_result_close(struct bench_result *r);
unsigned int bench_csv_lines(const struct bench_result *r);
void bench_csv_line(struct seq_file *m, const struct bench_result *r,
		    unsigned int line);
unsigned int bench_table_lines(const struct bench_result *r);
void bench_table_line(struct seq_file *m, const struct bench_result *r,
		      unsigned int line);
unsigned int bench_counts_lines(const struct bench_result *r);
void bench_counts_line(struct seq_file *m, const struct bench_result *r,
		       unsigned int line);

#endif /* _BENCH_H */
