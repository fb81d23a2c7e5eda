/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a periodic timer is due next. Shared by everyone who re-arms one, so
 * that there is one rule; a kind knows nothing of periods.
 */
#ifndef _WHEEL_PERIOD_H
#define _WHEEL_PERIOD_H

#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/math64.h>
#endif

/**
 * wheel_period_next() - the due tick that follows a fire
 * @due: the due tick of the fire, updated where the function returns true
 * @period: ticks, 1 or more
 * @tick: the tick on which it fired
 * @missed: how many periods ended no later than @tick; those are skipped
 *
 * Due ticks are counted from due tick to due tick, so that a period never
 * drifts, whatever the lateness.
 *
 * Return: false where the next due tick would lie beyond the last tick: the
 * timer then becomes idle.
 */
static inline bool wheel_period_next(u64 *due, u64 period, u64 tick,
				     u64 *missed)
{
	u64 skipped = 0;

	if (tick >= *due && tick - *due >= period)
		skipped = (tick - *due) / period;
	*missed = skipped;
	/* skipped * period <= tick - due, so this sum cannot overflow. */
	*due += skipped * period;
	if (*due > U64_MAX - period)
		return false;
	*due += period;
	return true;
}

#endif /* _WHEEL_PERIOD_H */
