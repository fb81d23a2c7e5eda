// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's high resolution timers, as a subject of the benchmark: a
 * red-black tree for each CPU, ordered by nanoseconds.
 *
 * They fire in softirq, as timer_list does. Delays from now are given as
 * such, and cost a reading of the clock. In a window a tick is a millisecond,
 * since nothing here depends on HZ; one more timer, due before the others,
 * says when expiry began.
 */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "../compat.h"
#include "loops.h"

static enum hrtimer_restart hrtimer_fired(struct hrtimer *timer)
{
	bench_fired(container_of(timer, struct bench_item, hr));
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart hrtimer_started(struct hrtimer *timer)
{
	bench_watch_start(&bench_fire.watch);
	return HRTIMER_NORESTART;
}

static struct hrtimer hrtimer_first;

static __always_inline ktime_t hrtimer_at(struct bench_ctx *c, u32 arg)
{
	return ns_to_ktime(c->base + (u64)arg * NSEC_PER_MSEC);
}

static __always_inline int
hrtimer_arm(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	hrtimer_start(&item->hr, ns_to_ktime((u64)arg * TICK_NSEC),
		      HRTIMER_MODE_REL_SOFT);
	return 0;
}

BENCH_EACH(hrtimer, arm)

static __always_inline int
hrtimer_rearm_same(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	hrtimer_start(&item->hr, hrtimer_get_expires(&item->hr),
		      HRTIMER_MODE_ABS_SOFT);
	return 0;
}

BENCH_EACH(hrtimer, rearm_same)

static __always_inline int
hrtimer_rearm_later(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return hrtimer_arm(c, item, arg + BENCH_LATER);
}

BENCH_EACH(hrtimer, rearm_later)

static __always_inline int
hrtimer_drop(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return hrtimer_try_to_cancel(&item->hr);
}

BENCH_EACH(hrtimer, drop)

static __always_inline int
hrtimer_pair(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	hrtimer_arm(c, item, BENCH_MIN_DELAY);
	return hrtimer_try_to_cancel(&item->hr);
}

BENCH_REPEAT(hrtimer, pair)

static __always_inline int
hrtimer_arm_at(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	hrtimer_start(&item->hr, hrtimer_at(c, arg), HRTIMER_MODE_ABS_SOFT);
	return 0;
}

BENCH_EACH(hrtimer, arm_at)

static __always_inline int
hrtimer_act(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	if (!arg)
		return 0;
	if (arg == 1)
		return hrtimer_try_to_cancel(&item->hr);
	hrtimer_arm_at(c, item, arg);
	return 1;
}

BENCH_EACH(hrtimer, act)

static int hrtimer_open(struct bench_ctx *c, enum bench_use use)
{
	unsigned int i;

	if (use == BENCH_HANDING_OVER)
		return -EOPNOTSUPP;
	c->shift = bench_shift(sizeof(struct hrtimer));
	hrtimer_setup(&hrtimer_first, hrtimer_started, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	for (i = 0; i <= c->n; i++) {
		hrtimer_setup(&bench_item(c, i)->hr, hrtimer_fired, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_SOFT);
		bench_item(c, i)->fires = 0;
	}
	return 0;
}

static void hrtimer_close(struct bench_ctx *c)
{
	unsigned int i;

	if (c->held) {
		c->held = false;
		local_bh_enable();
	}
	hrtimer_cancel(&hrtimer_first);
	for (i = 0; i <= c->n; i++) {
		hrtimer_cancel(&bench_item(c, i)->hr);
		if (!(i % 1024))
			cond_resched();
	}
}

static void hrtimer_hold(struct bench_ctx *c)
{
	local_bh_disable();
	c->held = true;
	c->base = ktime_get_ns();
	hrtimer_start(&hrtimer_first, ns_to_ktime(c->base),
		      HRTIMER_MODE_ABS_SOFT);
	c->base++;
}

static void hrtimer_ripen(struct bench_ctx *c)
{
	ktime_t last = hrtimer_at(c, c->span);
	unsigned long now;

	while (ktime_before(ktime_get(), last))
		cpu_relax();
	/* An interrupt must see them due and ask for the softirq. */
	now = jiffies;
	while (time_before(jiffies, now + 2))
		cpu_relax();
}

static bool hrtimer_release(struct bench_ctx *c)
{
	unsigned long deadline = jiffies + HZ;

	c->held = false;
	local_bh_enable();
	while (READ_ONCE(bench_fire.fired) < bench_fire.target &&
	       time_before(jiffies, deadline))
		msleep(20);
	c->spent = bench_fire.spent;
	return true;
}

static size_t hrtimer_node_size(struct bench_ctx *c)
{
	return sizeof(struct hrtimer);
}

const struct bench_ops bench_hrtimer_ops = {
	.open		= hrtimer_open,
	.close		= hrtimer_close,
	.arm		= hrtimer_each_arm,
	.rearm_same	= hrtimer_each_rearm_same,
	.rearm_later	= hrtimer_each_rearm_later,
	.cancel		= hrtimer_each_drop,
	.pair		= hrtimer_repeat_pair,
	.arm_at		= hrtimer_each_arm_at,
	.act		= hrtimer_each_act,
	.hold		= hrtimer_hold,
	.ripen		= hrtimer_ripen,
	.release	= hrtimer_release,
	.node_size	= hrtimer_node_size,
};
