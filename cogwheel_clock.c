// SPDX-License-Identifier: GPL-2.0
/*
 * Clocks: what time it is in ticks, and what wakes a base when its wheel needs
 * the CPU. Knows one number of a base, the tick to be woken at, and nothing of
 * timers or kinds.
 *
 * A base is asleep until then: no tick is ever taken for its own sake. Both
 * drivers run in softirq, with interrupts on.
 *
 *	COGWHEEL_MANUAL		no driver; cogwheel_advance() is the clock
 *	COGWHEEL_JIFFIES	a timer_list timer
 *	COGWHEEL_MONOTONIC	an hrtimer in a SOFT mode (a HARD one would keep
 *				interrupts off while callbacks run)
 *
 * A driver of a per-CPU base runs on its CPU and is programmed there; another
 * CPU that needs it earlier asks for that by an IPI, or for timer_list, by
 * add_timer_on().
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/timekeeping.h>

#include "cogwheel_base.h"
#include "compat.h"

/*
 * timer_list's own rounding: its level n holds delays from 63 * 8^(n-1) on and
 * fires at the next multiple of 8^n. The margin allows for a timer_list base
 * whose clock lags behind jiffies, which makes a delay look longer to it.
 */
#define TIMER_LIST_SHIFT	3
#define TIMER_LIST_LEVEL0	63
#define TIMER_LIST_MARGIN	16
#define TIMER_LIST_LEVELS	8	/* of the smaller geometry, HZ <= 100 */

void cogwheel_clock_setup(struct cogwheel *cw, u64 tick_ns)
{
	if (cw->clock != COGWHEEL_MONOTONIC)
		return;
	cw->tick_ns = tick_ns;
	cw->tick_inverse = div64_u64(U64_MAX, tick_ns);
	cw->tick_max = div64_u64(KTIME_MAX, tick_ns) - 1;
}

/* A multiplication instead of a division; the estimate is at most one low. */
static inline u64 ns_to_ticks(const struct cogwheel *cw, u64 ns, u64 *rest)
{
	u64 ticks = mul_u64_u64_shr(ns, cw->tick_inverse, 64);

	*rest = ns - ticks * cw->tick_ns;
	if (*rest >= cw->tick_ns) {
		*rest -= cw->tick_ns;
		ticks++;
	}
	return ticks;
}

/**
 * cogwheel_clock_ns_to_ticks() - a time in ns as a number of ticks, rounded up
 * @cw: the facility
 * @ns: nanoseconds, of a delay or of CLOCK_MONOTONIC
 *
 * A tick of a manual clock has no length; there, a nanosecond counts as one.
 *
 * Context: any.
 * Return: the smallest number of ticks that is no shorter.
 */
u64 cogwheel_clock_ns_to_ticks(const struct cogwheel *cw, u64 ns)
{
	u64 ticks, rest;

	switch (cw->clock) {
	case COGWHEEL_MONOTONIC:
		ticks = ns_to_ticks(cw, ns, &rest);
		return ticks + (rest != 0);
	case COGWHEEL_JIFFIES:
		ticks = div64_u64(ns, TICK_NSEC);
		return ticks + (ticks * TICK_NSEC != ns);
	default:
		return ns;
	}
}
EXPORT_SYMBOL_GPL(cogwheel_clock_ns_to_ticks);

/* The clock of a running facility. */
u64 cogwheel_clock_now(const struct cogwheel *cw)
{
	u64 rest;

	if (cw->clock == COGWHEEL_MONOTONIC)
		return ns_to_ticks(cw, ktime_get_ns(), &rest);
	return get_jiffies_64();
}

/* A time not after that of a monotonic clock, cheaper to come by. */
u64 cogwheel_clock_coarse(const struct cogwheel *cw)
{
	u64 rest;

	return ns_to_ticks(cw, ktime_get_coarse_ns(), &rest);
}

/*
 * What to ask timer_list for, to be woken at @tick or some time before, never
 * after it: the expiry whose bucket comes up last but not later than that. A
 * far tick is thus approached in steps, at most one for each level.
 */
static unsigned long timer_list_expires(u64 now, u64 tick)
{
	u64 capacity = (u64)(TIMER_LIST_LEVEL0 - TIMER_LIST_MARGIN)
		       << ((TIMER_LIST_LEVELS - 1) * TIMER_LIST_SHIFT);
	unsigned int shift = 0;
	u64 delay;

	if (tick <= now)
		return now;
	delay = min(tick - now, capacity);
	tick = now + delay;
	while (delay + TIMER_LIST_MARGIN >= (u64)TIMER_LIST_LEVEL0 << shift)
		shift += TIMER_LIST_SHIFT;
	/* The bucket of m - 1, m a multiple of the granularity, comes up at m. */
	return (tick >> shift << shift) - 1;
}

static void program_jiffies(struct cogwheel_base *base)
{
	unsigned long expires = timer_list_expires(get_jiffies_64(),
						   base->wake + 1);

	if (base->cw->one_base || base->cpu == raw_smp_processor_id()) {
		mod_timer(&base->timer, expires);
		return;
	}
	timer_delete(&base->timer);
	base->timer.expires = expires;
	add_timer_on(&base->timer, base->cpu);
}

static void program_monotonic(struct cogwheel_base *base)
{
	struct cogwheel *cw = base->cw;
	u64 tick = min(base->wake + 1, cw->tick_max);

	if (cw->one_base || base->cpu == raw_smp_processor_id())
		hrtimer_start(&base->hrtimer, ns_to_ktime(tick * cw->tick_ns),
			      cw->one_base ? HRTIMER_MODE_ABS_SOFT :
					     HRTIMER_MODE_ABS_PINNED_SOFT);
	else
		/* Busy is as good: that one has not looked at wake yet. */
		smp_call_function_single_async(base->cpu, &base->kick);
}

/*
 * Make the driver run at tick base->wake + 1, or somewhat before. With the
 * base's lock held.
 */
void cogwheel_driver_program(struct cogwheel_base *base)
{
	lockdep_assert_held(&base->lock);

	if (base->wake == U64_MAX)
		return;
	if (base->cw->clock == COGWHEEL_JIFFIES)
		program_jiffies(base);
	else if (base->cw->clock == COGWHEEL_MONOTONIC)
		program_monotonic(base);
}

/* Make the driver run again at once, but let others have the CPU before. */
void cogwheel_driver_retry(struct cogwheel_base *base)
{
	lockdep_assert_held(&base->lock);

	if (base->cw->clock == COGWHEEL_JIFFIES)
		mod_timer(&base->timer, jiffies);
	else
		hrtimer_start(&base->hrtimer, 0, HRTIMER_MODE_REL_SOFT);
}

static void timer_expired(struct timer_list *timer)
{
	struct cogwheel_base *base = timer_container_of(base, timer, timer);

	cogwheel_base_run(base);
}

static enum hrtimer_restart hrtimer_expired(struct hrtimer *hrtimer)
{
	cogwheel_base_run(container_of(hrtimer, struct cogwheel_base, hrtimer));
	return HRTIMER_NORESTART;
}

/* On the CPU of the base, in hard interrupt context. */
static void kicked(void *data)
{
	struct cogwheel_base *base = data;
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	if (!base->expiring)
		cogwheel_driver_program(base);
	raw_spin_unlock_irqrestore(&base->lock, flags);
}

void cogwheel_driver_init(struct cogwheel_base *base)
{
	bool one = base->cw->one_base;

	timer_setup(&base->timer, timer_expired, one ? 0 : TIMER_PINNED);
	hrtimer_setup(&base->hrtimer, hrtimer_expired, CLOCK_MONOTONIC,
		      one ? HRTIMER_MODE_ABS_SOFT :
			    HRTIMER_MODE_ABS_PINNED_SOFT);
	INIT_CSD(&base->kick, kicked, base);
}

static void nothing(void *unused)
{
}

/*
 * Stop the driver and wait until it does not run. Nobody programs it any more,
 * but a kick may still be on its way: one that is queued after it tells when
 * it has arrived. May sleep.
 */
void cogwheel_driver_stop(struct cogwheel_base *base)
{
	if (!base->cw->one_base && base->cw->clock == COGWHEEL_MONOTONIC)
		smp_call_function_single(base->cpu, nothing, NULL, true);
	timer_delete_sync(&base->timer);
	hrtimer_cancel(&base->hrtimer);
}
