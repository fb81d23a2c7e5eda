// SPDX-License-Identifier: GPL-2.0
/*
 * The benchmark's yardstick: the kernel's own struct timer_list.
 *
 * Its clock cannot be moved by hand. So that its expiry can be timed as a
 * whole, bottom halves are held off until everything is due, and then let go:
 * the timer softirq finds all of it at once. One timer of our own, due before
 * the others, does two things meanwhile:
 *
 * - as long as it is overdue, the clock of timer_list's base does not follow
 *   jiffies (forward_timer_base() stops at the next expiry). All timers are
 *   armed at the same clock, however long that takes, just as on a clock that
 *   is moved by hand.
 * - it is the first to fire, and says when expiry began.
 */
#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "../compat.h"
#include "loops.h"

static void timer_list_fired(struct timer_list *timer)
{
	bench_fired(container_of(timer, struct bench_item, list));
}

static void timer_list_started(struct timer_list *timer)
{
	bench_watch_start(&bench_fire.watch);
}

static DEFINE_TIMER(timer_list_first, timer_list_started);

static __always_inline int
timer_list_arm(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return mod_timer(&item->list, jiffies + arg);
}

BENCH_EACH(timer_list, arm)

static __always_inline int
timer_list_rearm_same(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return mod_timer(&item->list, item->list.expires);
}

BENCH_EACH(timer_list, rearm_same)

static __always_inline int
timer_list_rearm_later(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return mod_timer(&item->list, jiffies + arg + BENCH_LATER);
}

BENCH_EACH(timer_list, rearm_later)

static __always_inline int
timer_list_cancel(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return timer_delete(&item->list);
}

BENCH_EACH(timer_list, cancel)

static __always_inline int
timer_list_pair(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	mod_timer(&item->list, jiffies + BENCH_MIN_DELAY);
	return timer_delete(&item->list);
}

BENCH_REPEAT(timer_list, pair)

static __always_inline int
timer_list_arm_at(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return mod_timer(&item->list, c->base + arg);
}

BENCH_EACH(timer_list, arm_at)

static __always_inline int
timer_list_act(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	if (!arg)
		return 0;
	if (arg == 1)
		return timer_delete(&item->list);
	return mod_timer(&item->list, c->base + arg);
}

BENCH_EACH(timer_list, act)

/*
 * The control: timer_list once more, doing nothing for a known time on top of
 * each operation. It shows whether the benchmark sees that, and with a time of
 * 0, how far two measurements of one thing are apart.
 */
static __always_inline void control_wait(void)
{
	u64 begin;

	if (!bench_control)
		return;
	begin = bench_clock();
	while (bench_clock() - begin < bench_control)
		;
}

static void control_fired(struct timer_list *timer)
{
	control_wait();
	bench_fired(container_of(timer, struct bench_item, list));
}

static __always_inline int
control_arm(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	control_wait();
	return timer_list_arm(c, item, arg);
}

BENCH_EACH(control, arm)

static __always_inline int
control_rearm_same(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	control_wait();
	return timer_list_rearm_same(c, item, arg);
}

BENCH_EACH(control, rearm_same)

static __always_inline int
control_rearm_later(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	control_wait();
	return timer_list_rearm_later(c, item, arg);
}

BENCH_EACH(control, rearm_later)

static __always_inline int
control_cancel(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	control_wait();
	return timer_list_cancel(c, item, arg);
}

BENCH_EACH(control, cancel)

static __always_inline int
control_pair(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	control_wait();
	return timer_list_pair(c, item, arg);
}

BENCH_REPEAT(control, pair)

static __always_inline int
control_arm_at(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	control_wait();
	return timer_list_arm_at(c, item, arg);
}

BENCH_EACH(control, arm_at)

static __always_inline int
control_act(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	if (arg)
		control_wait();
	return timer_list_act(c, item, arg);
}

BENCH_EACH(control, act)

static int timer_list_setup(struct bench_ctx *c, enum bench_use use,
			    void (*fired)(struct timer_list *timer))
{
	unsigned int i;

	if (use == BENCH_HANDING_OVER)
		return -EOPNOTSUPP;
	c->shift = bench_shift(sizeof(struct timer_list));
	for (i = 0; i <= c->n; i++) {
		timer_setup(&bench_item(c, i)->list, fired, 0);
		bench_item(c, i)->fires = 0;
	}
	return 0;
}

static int timer_list_open(struct bench_ctx *c, enum bench_use use)
{
	return timer_list_setup(c, use, timer_list_fired);
}

static int control_open(struct bench_ctx *c, enum bench_use use)
{
	return timer_list_setup(c, use, control_fired);
}

static void timer_list_close(struct bench_ctx *c)
{
	unsigned int i;

	if (c->held) {
		c->held = false;
		local_bh_enable();
	}
	timer_delete_sync(&timer_list_first);
	for (i = 0; i <= c->n; i++) {
		timer_delete_sync(&bench_item(c, i)->list);
		if (!(i % 1024))
			cond_resched();
	}
}

static void timer_list_hold(struct bench_ctx *c)
{
	unsigned long now;

	local_bh_disable();
	c->held = true;
	now = jiffies;
	mod_timer(&timer_list_first, now);
	/* It is due at now + 2 at the latest; from then on the clock waits. */
	c->base = now + 2;
	while (time_before_eq(jiffies, (unsigned long)c->base))
		cpu_relax();
}

static void timer_list_ripen(struct bench_ctx *c)
{
	unsigned long last = c->base + c->span + BENCH_LATE;

	while (time_before_eq(jiffies, last))
		cpu_relax();
}

static bool timer_list_release(struct bench_ctx *c)
{
	unsigned long deadline = jiffies + HZ;

	c->held = false;
	local_bh_enable();
	/* Already done, unless a thread runs the softirqs here. */
	while (READ_ONCE(bench_fire.fired) < bench_fire.target &&
	       time_before(jiffies, deadline))
		msleep(20);
	c->spent = bench_fire.spent;
	return true;
}

static size_t timer_list_node_size(struct bench_ctx *c)
{
	return sizeof(struct timer_list);
}

const struct bench_ops bench_timer_list_ops = {
	.open		= timer_list_open,
	.close		= timer_list_close,
	.arm		= timer_list_each_arm,
	.rearm_same	= timer_list_each_rearm_same,
	.rearm_later	= timer_list_each_rearm_later,
	.cancel		= timer_list_each_cancel,
	.pair		= timer_list_repeat_pair,
	.arm_at		= timer_list_each_arm_at,
	.act		= timer_list_each_act,
	.hold		= timer_list_hold,
	.ripen		= timer_list_ripen,
	.release	= timer_list_release,
	.node_size	= timer_list_node_size,
};

const struct bench_ops bench_control_ops = {
	.open		= control_open,
	.close		= timer_list_close,
	.arm		= control_each_arm,
	.rearm_same	= control_each_rearm_same,
	.rearm_later	= control_each_rearm_later,
	.cancel		= control_each_cancel,
	.pair		= control_repeat_pair,
	.arm_at		= control_each_arm_at,
	.act		= control_each_act,
	.hold		= timer_list_hold,
	.ripen		= timer_list_ripen,
	.release	= timer_list_release,
	.node_size	= timer_list_node_size,
};
