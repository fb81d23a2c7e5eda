/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a periodic timer is due next. Shared by everyone who re-arms one, so
 * that there is one rule; a kind knows nothing of periods.
 */
#ifndef _WHEEL_PERIOD_H
#define _WHEEL_PERIOD_H

#include <linux/limits.h>
#include <linux/types.h>

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
	u64 last = *due;

	*missed = 0;
	if (tick >= last && tick - last >= period) {
		*missed = (tick - last) / period;
		/* No later than tick, so the product cannot overflow. */
		last += *missed * period;
	}
	if (last > U64_MAX - period)
		return false;
	*due = last + period;
	return true;
}

#endif /* _WHEEL_PERIOD_H */
