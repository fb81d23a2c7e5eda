// SPDX-License-Identifier: GPL-2.0
/*
 * A kind of wheel as a subject of the benchmark: through the facility, as any
 * module would use it, with its locks and its reading of the clock.
 *
 * What is armed and cancelled is on a COGWHEEL_JIFFIES facility, whose calls
 * do all that mod_timer() does. What expires is on a COGWHEEL_MANUAL one, which
 * starts at the value that jiffies has and is moved by one call: no time need
 * pass, and the caches are put in the same state as for the others.
 */
#include <linux/bottom_half.h>
#include <linux/jiffies.h>
#include <linux/math64.h>

#include "loops.h"

/* A window that must be able to be given up is crossed in about so many. */
#define BENCH_STEPS		4096U

static void cog_fired(struct cogwheel_timer *timer)
{
	bench_fired(container_of(timer, struct bench_item, cog));
}

/* A slack in proportion to the delay. */
static __always_inline u64 cog_slack(const struct bench_ctx *c, u32 arg)
{
	return (u64)arg * c->slack[arg % BENCH_SLACKS] >> BENCH_SLACK_SHIFT;
}

/*
 * What is counted instead of timed: how late a timer fires, at @tick. Its delay
 * is from the clock as it was armed, which was two ticks before the base of
 * delays; see cog_hold().
 */
static struct bench_ctx *cog_counting;

static void cog_count(struct bench_item *item, u64 tick)
{
	const struct bench_ctx *c = cog_counting;
	struct bench_count *count = c->count;
	u64 expires = item->cog.node.expires;
	u64 late = tick - expires;
	u64 part = div64_u64(late * BENCH_PARTS, expires - c->base + 2);
	const u32 traits = c->subject->kind->traits;
	u64 most = c->late;

	if (c->slack)
		most = cog_slack(c, expires - c->base);
	else if (traits & (WHEEL_EXACT | WHEEL_SLACK))
		most = 0;
	count->fired++;
	count->late += late;
	count->late_max = max(count->late_max, late);
	count->part += part;
	count->part_max = max(count->part_max, part);
	count->broken += late > most;
	bench_fired(item);
}

static void cog_counted(struct cogwheel_timer *timer)
{
	cog_count(container_of(timer, struct bench_item, cog),
		  cogwheel_now(cog_counting->cw));
}

static u64 cog_counted_batch(struct cogwheel_batch *batch)
{
	struct cogwheel_timer *timer;

	while ((timer = cogwheel_batch_take(batch)))
		cog_count(container_of(timer, struct bench_item, cog),
			  batch->tick);
	return U64_MAX;
}

/* The same for each timer, but taken over in batches. */
static u64 cog_fired_batch(struct cogwheel_batch *batch)
{
	struct wheel_node *const *node;
	unsigned int i, nr;

	node = cogwheel_batch_take_all(batch, &nr);
	for (i = 0; i < nr; i++)
		if (node[i])
			cog_fired(cogwheel_node_timer(node[i]));
	return U64_MAX;
}

static __always_inline int
cog_arm(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return cogwheel_arm(c->cw, &item->cog, arg);
}

BENCH_EACH(cog, arm)

static __always_inline int
cog_arm_slack(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return cogwheel_mod_slack(c->cw, &item->cog, cogwheel_due(c->cw, arg),
				  cog_slack(c, arg));
}

BENCH_EACH(cog, arm_slack)

static __always_inline int
cog_rearm_same(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return cogwheel_mod(c->cw, &item->cog, item->cog.node.expires);
}

BENCH_EACH(cog, rearm_same)

static __always_inline int
cog_rearm_later(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return cogwheel_arm(c->cw, &item->cog, arg + BENCH_LATER);
}

BENCH_EACH(cog, rearm_later)

static __always_inline int
cog_cancel(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return cogwheel_cancel(c->cw, &item->cog);
}

BENCH_EACH(cog, cancel)

static __always_inline int
cog_later_lazy(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return cogwheel_mod_lazy(c->cw, &item->cog,
				 cogwheel_due(c->cw, arg + BENCH_LATER));
}

BENCH_EACH(cog, later_lazy)

/* The forms for many: what a caller has to set up for them is timed, too. */

static __always_inline int
cog_mod_batch(struct bench_ctx *c, const u32 *order, const u32 *args,
	      unsigned int nr, u64 delay)
{
	struct cogwheel_timer *timers[WHEEL_BATCH];
	u64 expires[WHEEL_BATCH];
	u64 from = cogwheel_due(c->cw, delay);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		timers[i] = &bench_item(c, order[i])->cog;
		expires[i] = from + args[i];
	}
	return cogwheel_mod_batch(c->cw, timers, expires, nr);
}

static __always_inline int
cog_arm_batch(struct bench_ctx *c, const u32 *order, const u32 *args,
	      unsigned int nr)
{
	return cog_mod_batch(c, order, args, nr, 0);
}

BENCH_PIECES(cog, arm_batch)

static __always_inline int
cog_later_batch(struct bench_ctx *c, const u32 *order, const u32 *args,
		unsigned int nr)
{
	return cog_mod_batch(c, order, args, nr, BENCH_LATER);
}

BENCH_PIECES(cog, later_batch)

static __always_inline int
cog_cancel_batch(struct bench_ctx *c, const u32 *order, const u32 *args,
		 unsigned int nr)
{
	struct cogwheel_timer *timers[WHEEL_BATCH];
	unsigned int i;

	for (i = 0; i < nr; i++)
		timers[i] = &bench_item(c, order[i])->cog;
	return cogwheel_cancel_batch(c->cw, timers, nr);
}

BENCH_PIECES(cog, cancel_batch)

static __always_inline int
cog_mod_locked(struct bench_ctx *c, const u32 *order, const u32 *args,
	       unsigned int nr, u64 delay)
{
	struct cogwheel_hold hold;
	u64 from = cogwheel_due(c->cw, delay);
	unsigned int i;
	int hits = 0;

	cogwheel_hold(c->cw, &hold);
	for (i = 0; i < nr; i++)
		hits += cogwheel_mod_held(&hold, &bench_item(c, order[i])->cog,
					  from + args[i], 0);
	cogwheel_release(&hold);
	return hits;
}

static __always_inline int
cog_arm_locked(struct bench_ctx *c, const u32 *order, const u32 *args,
	       unsigned int nr)
{
	return cog_mod_locked(c, order, args, nr, 0);
}

BENCH_PIECES(cog, arm_locked)

static __always_inline int
cog_later_locked(struct bench_ctx *c, const u32 *order, const u32 *args,
		 unsigned int nr)
{
	return cog_mod_locked(c, order, args, nr, BENCH_LATER);
}

BENCH_PIECES(cog, later_locked)

static __always_inline int
cog_cancel_locked(struct bench_ctx *c, const u32 *order, const u32 *args,
		  unsigned int nr)
{
	struct cogwheel_hold hold;
	unsigned int i;
	int hits = 0;

	cogwheel_hold(c->cw, &hold);
	for (i = 0; i < nr; i++)
		hits += cogwheel_cancel_held(&hold,
					     &bench_item(c, order[i])->cog);
	cogwheel_release(&hold);
	return hits;
}

BENCH_PIECES(cog, cancel_locked)

/* A hold of the lock is for WHEEL_BATCH operations: two in each pair. */
#define BENCH_PAIRS	(WHEEL_BATCH / 2)

static __always_inline int
cog_pair_locked(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	struct cogwheel_hold hold;
	u64 expires = cogwheel_due(c->cw, BENCH_MIN_DELAY);
	unsigned int i;
	int hits = 0;

	cogwheel_hold(c->cw, &hold);
	for (i = 0; i < BENCH_PAIRS; i++) {
		cogwheel_mod_held(&hold, &item->cog, expires, 0);
		hits += cogwheel_cancel_held(&hold, &item->cog);
	}
	cogwheel_release(&hold);
	return hits == BENCH_PAIRS;
}

static void cog_repeat_pair_locked(struct bench_ctx *c, u64 times)
{
	bench_repeat(c, div_u64(times, BENCH_PAIRS), 0, cog_pair_locked);
	c->done *= BENCH_PAIRS;
	c->hits *= BENCH_PAIRS;
}

static __always_inline int
cog_pair(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	cogwheel_arm(c->cw, &item->cog, BENCH_MIN_DELAY);
	return cogwheel_cancel(c->cw, &item->cog);
}

BENCH_REPEAT(cog, pair)

static __always_inline int
cog_ask(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	return cogwheel_next(c->cw) != WHEEL_NEVER;
}

BENCH_REPEAT(cog, ask)

static __always_inline int
cog_step(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	u64 reached;

	c->base += arg;
	return cogwheel_advance(c->cw, c->base, &reached) == 0;
}

static void cog_repeat_step(struct bench_ctx *c, u64 times, u64 ticks)
{
	bench_repeat(c, times, ticks, cog_step);
}

static __always_inline int
cog_arm_at(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return cogwheel_mod(c->cw, &item->cog, c->base + arg);
}

BENCH_EACH(cog, arm_at)

static __always_inline int
cog_arm_at_slack(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return cogwheel_mod_slack(c->cw, &item->cog, c->base + arg,
				  cog_slack(c, arg));
}

BENCH_EACH(cog, arm_at_slack)

static __always_inline int
cog_act(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	if (!arg)
		return 0;
	if (arg == 1)
		return cogwheel_cancel(c->cw, &item->cog);
	return cogwheel_mod(c->cw, &item->cog, c->base + arg);
}

BENCH_EACH(cog, act)

static int cog_open(struct bench_ctx *c, enum bench_use use)
{
	struct cogwheel_config config = {
		.kind = c->subject->kind->name,
		.clock = COGWHEEL_JIFFIES,
	};
	struct cogwheel *cw;
	unsigned int i;
	int err;

	if (use != BENCH_RUNNING) {
		config.clock = COGWHEEL_MANUAL;
		config.start = c->count ? BENCH_START : get_jiffies_64();
	}
	if (use == BENCH_HANDING_OVER)
		config.expire = c->count ? cog_counted_batch : cog_fired_batch;
	cw = cogwheel_create(&config);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	err = cogwheel_reserve(cw, c->n + 1);
	if (err) {
		cogwheel_destroy(cw);
		return err;
	}
	c->shift = bench_shift(cogwheel_timer_size(cw));
	for (i = 0; i <= c->n; i++) {
		cogwheel_timer_setup(&bench_item(c, i)->cog,
				     c->count ? cog_counted : cog_fired, 0);
		bench_item(c, i)->fires = 0;
	}
	c->cw = cw;
	c->base = config.start;
	cog_counting = c;
	return 0;
}

static void cog_close(struct bench_ctx *c)
{
	unsigned int i;

	if (c->held) {
		c->held = false;
		local_bh_enable();
	}
	for (i = 0; i <= c->n; i++) {
		cogwheel_cancel_sync(c->cw, &bench_item(c, i)->cog);
		if (!(i % 1024))
			cond_resched();
	}
	cogwheel_unreserve(c->cw, c->n + 1);
	cogwheel_destroy(c->cw);
	c->cw = NULL;
}

static void cog_hold(struct bench_ctx *c)
{
	local_bh_disable();
	c->held = true;
	c->base += 2;
}

static void cog_ripen(struct bench_ctx *c)
{
}

static bool cog_release(struct bench_ctx *c)
{
	u64 tick = c->base - 1, last = c->base + c->span + c->late, reached;
	u64 step = 1 + c->span / BENCH_STEPS;

	c->held = false;
	local_bh_enable();
	if (!(c->subject->kind->traits & WHEEL_SCANS))
		tick = last;
	bench_watch_start(&bench_fire.watch);
	/*
	 * A kind that looks at every timer for each tick goes in small steps, so
	 * that it can be given up: the calls are nothing beside that.
	 */
	for (;; tick = min(tick + step, last)) {
		if (cogwheel_advance(c->cw, tick, &reached) || tick == last ||
		    bench_fire.fired >= bench_fire.target)
			break;
		if (bench_ps(bench_clock() - bench_fire.watch.clock) > c->budget)
			return false;
	}
	c->spent = bench_fire.spent;
	return true;
}

static size_t cog_node_size(struct bench_ctx *c)
{
	return cogwheel_timer_size(c->cw);
}

static u64 cog_footprint(struct bench_ctx *c)
{
	struct cogwheel_stats stats;

	cogwheel_stats(c->cw, &stats);
	return stats.base_size + stats.pool_size;
}

static void cog_count_wheel(struct bench_ctx *c)
{
	struct cogwheel_stats stats;

	cogwheel_stats(c->cw, &stats);
	c->count->timers += c->n;
	c->count->moved += stats.moved;
	c->count->touched += stats.touched;
}

static u64 cog_irqoff(struct bench_ctx *c)
{
	struct cogwheel_stats stats;

	cogwheel_stats(c->cw, &stats);
	return stats.irqoff_max_ns;
}

const struct bench_ops bench_wheel_ops = {
	.open		= cog_open,
	.close		= cog_close,
	.arm		= cog_each_arm,
	.arm_slack	= cog_each_arm_slack,
	.rearm_same	= cog_each_rearm_same,
	.rearm_later	= cog_each_rearm_later,
	.cancel		= cog_each_cancel,
	.arm_batch	= cog_pieces_arm_batch,
	.arm_locked	= cog_pieces_arm_locked,
	.later_batch	= cog_pieces_later_batch,
	.later_locked	= cog_pieces_later_locked,
	.later_lazy	= cog_each_later_lazy,
	.cancel_batch	= cog_pieces_cancel_batch,
	.cancel_locked	= cog_pieces_cancel_locked,
	.pair		= cog_repeat_pair,
	.pair_locked	= cog_repeat_pair_locked,
	.next		= cog_repeat_ask,
	.advance	= cog_repeat_step,
	.arm_at		= cog_each_arm_at,
	.arm_at_slack	= cog_each_arm_at_slack,
	.act		= cog_each_act,
	.hold		= cog_hold,
	.ripen		= cog_ripen,
	.release	= cog_release,
	.node_size	= cog_node_size,
	.footprint	= cog_footprint,
	.measure	= cogwheel_measure,
	.irqoff		= cog_irqoff,
	.counted	= cog_count_wheel,
};
