/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timed loops. Each subject includes this once it has defined its
 * operations, so that a loop calls them directly: an indirect call costs as
 * much as arming a timer where retpolines are in use. Everything around the
 * operations is the same for every subject.
 *
 * A loop runs in stretches of some tens of microseconds with preemption off,
 * and reads the clock around each: that keeps other tasks out of the figure,
 * and lets a subject that is too slow be given up. Where single calls are to be
 * timed, a stretch is one call.
 */
#ifndef _BENCH_LOOPS_H
#define _BENCH_LOOPS_H

#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "bench.h"

#define BENCH_CHUNK_MAX		65536U
#define BENCH_STRETCH_PS	(20ULL * 1000 * 1000)

static __always_inline void bench_begin(struct bench_ctx *c)
{
	preempt_disable();
	bench_watch_start(&c->watch);
}

/* Returns false where the budget is used up. */
static __always_inline bool bench_end(struct bench_ctx *c, u64 done)
{
	u64 ps = bench_watch_read(&c->watch);

	preempt_enable();
	c->spent += ps;
	c->done += done;
	if (unlikely(c->single)) {
		c->longest = max(c->longest, ps);
		c->single--;
	} else if (ps < BENCH_STRETCH_PS) {
		c->chunk = min(c->chunk * 2, BENCH_CHUNK_MAX);
	} else if (ps > 4 * BENCH_STRETCH_PS) {
		c->chunk = max(c->chunk / 2, 1U);
	}
	if (!c->held)
		cond_resched();
	return c->spent <= c->budget;
}

/* Do @op for every item, in the order of the layout. */
static __always_inline bool
bench_each(struct bench_ctx *c,
	   int (*const op)(struct bench_ctx *c, struct bench_item *item,
			   u32 arg))
{
	void *items = c->items;
	const unsigned int shift = c->shift;
	const u32 *order = c->order;
	const u32 *args = c->args;
	unsigned int i = 0, n = c->n;
	long hits = 0;

	while (i < n) {
		unsigned int first = i, end = min(n, i + c->chunk);

		bench_begin(c);
		for (; i < end; i++)
			hits += op(c, items + ((size_t)order[i] << shift),
				   args[i]);
		if (!bench_end(c, end - first))
			break;
	}
	c->hits = hits;
	return i == n;
}

/*
 * Do @op for every WHEEL_BATCH items at a time, in the order of the layout; it
 * returns the sum of what the operations return.
 */
static __always_inline bool
bench_pieces(struct bench_ctx *c,
	     int (*const op)(struct bench_ctx *c, const u32 *order,
			     const u32 *args, unsigned int nr))
{
	unsigned int i = 0, n = c->n;
	long hits = 0;

	while (i < n) {
		unsigned int first = i, end = min(n, i + c->chunk);

		bench_begin(c);
		while (i < end) {
			unsigned int nr = min_t(unsigned int, n - i,
						WHEEL_BATCH);

			hits += op(c, c->order + i, c->args + i, nr);
			i += nr;
		}
		if (!bench_end(c, i - first))
			break;
	}
	c->hits = hits;
	return i == n;
}

/* Do @op again and again, @times or until it took long enough. */
static __always_inline void
bench_repeat(struct bench_ctx *c, u64 times, u64 arg,
	     int (*const op)(struct bench_ctx *c, struct bench_item *item,
			     u64 arg))
{
	struct bench_item *spare = bench_item(c, c->n);
	u64 i = 0;
	long hits = 0;

	while (i < times && c->spent < c->enough) {
		u64 first = i, end = min_t(u64, times, i + c->chunk);

		bench_begin(c);
		for (; i < end; i++)
			hits += op(c, spare, arg);
		if (!bench_end(c, end - first))
			break;
	}
	c->hits = hits;
}

#define BENCH_EACH(subject, what)					\
	static bool subject##_each_##what(struct bench_ctx *c)		\
	{								\
		return bench_each(c, subject##_##what);			\
	}

#define BENCH_PIECES(subject, what)					\
	static bool subject##_pieces_##what(struct bench_ctx *c)	\
	{								\
		return bench_pieces(c, subject##_##what);		\
	}

#define BENCH_REPEAT(subject, what)					\
	static void subject##_repeat_##what(struct bench_ctx *c, u64 times) \
	{								\
		bench_repeat(c, times, 0, subject##_##what);	\
	}

#endif /* _BENCH_LOOPS_H */
