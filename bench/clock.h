/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark reads the time with: the cheapest clock that is fine
 * enough to time a hundred operations of a few ns each.
 *
 * On x86 that is the time stamp counter, read directly, since ktime_get() in a
 * User Mode Linux guest is a call of the host with a resolution of 256 ns.
 * Elsewhere it is ktime_get_ns(). It knows nothing of timers.
 */
#ifndef _BENCH_CLOCK_H
#define _BENCH_CLOCK_H

#include <linux/math64.h>
#include <linux/timekeeping.h>

#ifdef __x86_64__
/* Fenced on both sides: what is timed neither starts early nor ends late. */
static __always_inline u64 bench_clock(void)
{
	u32 low, high;

	asm volatile("lfence\n\trdtsc\n\tlfence"
		     : "=a" (low), "=d" (high) : : "memory");
	return (u64)high << 32 | low;
}
#else
static __always_inline u64 bench_clock(void)
{
	return ktime_get_ns();
}
#endif

/* Picoseconds of one unit of bench_clock(), times 2^BENCH_SHIFT. */
#define BENCH_SHIFT	20

/**
 * struct bench_rate - what a reading of the clock is worth
 * @mult: picoseconds of a unit, times 2^BENCH_SHIFT
 * @overhead: units that two readings in a row are apart
 */
struct bench_rate {
	u32 mult;
	u32 overhead;
};

extern struct bench_rate bench_rate;

/* Time to picoseconds, for up to an hour. */
static inline u64 bench_ps(u64 units)
{
	return mul_u64_u32_shr(units, bench_rate.mult, BENCH_SHIFT);
}

/* Milliseconds to units of the clock. */
static inline u64 bench_units(u64 ms)
{
	return div64_u64((ms * NSEC_PER_MSEC * 1000) << (BENCH_SHIFT / 2),
			 bench_rate.mult) << (BENCH_SHIFT / 2);
}

int bench_clock_calibrate(void);

#endif /* _BENCH_CLOCK_H */
