/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the benchmark reads the time with: the cheapest clock that is fine
 * enough to time a hundred operations of a few ns each.
 *
 * On x86 that is the time stamp counter, read directly, since ktime_get() in a
 * User Mode Linux guest is a call of the host with a resolution of 256 ns.
 * Elsewhere it is ktime_get_ns(). It knows nothing of timers.
 *
 * A User Mode Linux guest is a program among others, whose CPU is taken away
 * for milliseconds at a time on a busy machine. It cannot see that, but the
 * host can: so there the time on the CPU is asked for as well, outside of what
 * is timed, and a stretch takes no longer than that.
 */
#ifndef _BENCH_CLOCK_H
#define _BENCH_CLOCK_H

#include <linux/compiler.h>
#include <linux/kconfig.h>
#include <linux/math64.h>
#include <linux/time64.h>
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

#if defined(CONFIG_UML) && defined(__x86_64__)
#define BENCH_HOST_NR_CLOCK_GETTIME	228
#define BENCH_HOST_THREAD_CPUTIME	3

/* clock_gettime(CLOCK_THREAD_CPUTIME_ID): this kernel can make system calls. */
static __always_inline u64 bench_cpu_ns(void)
{
	struct {
		s64 sec;
		s64 nsec;
	} time;
	long ret;

	asm volatile("syscall"
		     : "=a" (ret)
		     : "0" (BENCH_HOST_NR_CLOCK_GETTIME),
		       "D" (BENCH_HOST_THREAD_CPUTIME), "S" (&time)
		     : "rcx", "r11", "memory");
	return time.sec * NSEC_PER_SEC + time.nsec;
}

#define BENCH_HAS_CPU_NS	true
#else
static __always_inline u64 bench_cpu_ns(void)
{
	return 0;
}

#define BENCH_HAS_CPU_NS	false
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

/**
 * struct bench_lost - how much of the time the CPU was somebody else's
 * @all: picoseconds that were timed
 * @lost: those among them
 */
struct bench_lost {
	u64 all;
	u64 lost;
};

extern struct bench_lost bench_lost;

/* Units of the clock to picoseconds, for up to an hour. */
static inline u64 bench_ps(u64 units)
{
	return mul_u64_u32_shr(units, bench_rate.mult, BENCH_SHIFT);
}

static inline u64 bench_ms(u64 ms)
{
	return ms * NSEC_PER_MSEC * 1000;
}

/**
 * struct bench_watch - a stop watch
 * @cpu: bench_cpu_ns() as it was started
 * @clock: bench_clock() as it was started
 */
struct bench_watch {
	u64 cpu;
	u64 clock;
};

static __always_inline void bench_watch_start(struct bench_watch *watch)
{
	watch->cpu = bench_cpu_ns();
	watch->clock = bench_clock();
}

/* Picoseconds since the start, less what was taken away. */
static __always_inline u64 bench_watch_read(const struct bench_watch *watch)
{
	u64 units = bench_clock() - watch->clock;
	u64 cpu = (bench_cpu_ns() - watch->cpu) * 1000;
	u64 ps;

	ps = bench_ps(units - min_t(u64, units, bench_rate.overhead));
	bench_lost.all += ps;
	if (!BENCH_HAS_CPU_NS || ps <= cpu)
		return ps;
	bench_lost.lost += ps - cpu;
	return cpu;
}

int bench_clock_calibrate(void);

#endif /* _BENCH_CLOCK_H */
