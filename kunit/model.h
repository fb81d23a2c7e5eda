/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The oracle of the tests: which timer fires when, and in which order, worked
 * out the slow and obvious way.
 *
 * Two rules are known. The exact one: a timer fires at its due tick, or at the
 * next tick where it is overdue, in the order of arming. And the one of the
 * kernel's timer_list, written down from kernel/time/timer.c (LVL_START,
 * calc_index(), calc_wheel_index()) as plain arithmetic.
 *
 * It shares nothing with wheels/ but the meaning of a tick: no slots, no
 * bitmaps, one sorted list.
 */
#ifndef _KUNIT_MODEL_H
#define _KUNIT_MODEL_H

#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* The first delay that timer.c puts on @level, as its LVL_START() has it. */
static inline u64 timer_list_start(unsigned int level)
{
	return level ? 63ULL << (3 * (level - 1)) : 0;
}

/* The longest delay, less one, that timer.c does not clamp. */
static inline u64 timer_list_cutoff(unsigned int depth)
{
	return timer_list_start(depth);
}

/* What timer.c clamps to, as its WHEEL_TIMEOUT_MAX has it. */
static inline u64 timer_list_clamp(unsigned int depth)
{
	return timer_list_cutoff(depth) - (1ULL << (3 * (depth - 1)));
}

/*
 * The tick at which the bucket comes up that timer.c puts a timer into, where
 * the base has processed @now (so its clk is one more). Unlike timer.c it
 * compares ticks as the 64-bit numbers they are, and lets a bucket that would
 * come up beyond the last tick come up at the last one.
 */
static inline u64 timer_list_place(u64 now, u64 due, unsigned int depth,
				   u32 *level)
{
	u64 clk = now + 1, delta, bucket;
	unsigned int lvl = 0;

	*level = 0;
	if (due < clk)
		return clk;

	delta = due - clk;
	while (lvl < depth - 1 && delta >= timer_list_start(lvl + 1))
		lvl++;
	if (delta >= timer_list_cutoff(depth))
		due = clk + timer_list_clamp(depth);

	*level = lvl;
	bucket = (due >> (3 * lvl)) + 1;
	if (!bucket || bucket > U64_MAX >> (3 * lvl))
		return U64_MAX;
	return bucket << (3 * lvl);
}

/* Would timer.c clamp the delay? */
static inline bool timer_list_clamps(u64 now, u64 due, unsigned int depth)
{
	return due > now && due - (now + 1) >= timer_list_cutoff(depth);
}

/*
 * The tick at which a timer fires that is placed again where timer.c would fire
 * it early, as often as that takes. From the first bucket on, each hop is as
 * long as the one before, so hops may be taken many at a time; @stride says
 * whether to.
 */
static inline u64 timer_list_fire(u64 now, u64 due, unsigned int depth,
				  bool stride)
{
	u64 hop = timer_list_cutoff(depth);	/* 63 buckets of the last level */
	u64 bucket, n;
	u32 level;

	bucket = timer_list_place(now, due, depth, &level);
	while (bucket < due) {
		n = (due - bucket) / hop;
		if (stride && n > 3)
			bucket += (n - 3) * hop;
		else
			bucket = timer_list_place(bucket, due, depth, &level);
	}
	return bucket;
}

/**
 * struct model_timer - a timer, as the oracle sees it
 * @link: in model.timers, in the order of what happens next
 * @due: due tick, as asked for
 * @tick: when it fires
 * @seq: order of arming
 * @rank: of those that fire at one tick, the higher come first: the level of
 *	timer_list's rule, all of them where it clamps; 0 under the exact one
 * @pending: it is armed
 * @never: the clock had ended as it was armed
 */
struct model_timer {
	struct list_head link;
	u64 due;
	u64 tick;
	u64 seq;
	u32 rank;
	bool pending;
	bool never;
};

/**
 * struct model - a wheel, as the oracle sees it
 * @timers: all pending timers, sorted
 * @seq: of the last timer armed
 * @nr: how many are pending
 * @depth: levels of timer_list's rule, 0 for the exact one
 */
struct model {
	struct list_head timers;
	u64 seq;
	unsigned int nr;
	unsigned int depth;
};

static inline void model_init(struct model *m, unsigned int depth)
{
	INIT_LIST_HEAD(&m->timers);
	m->seq = 0;
	m->nr = 0;
	m->depth = depth;
}

/* Which of two comes first. */
static inline bool model_before(const struct model_timer *a,
				const struct model_timer *b)
{
	if (a->never != b->never)
		return b->never;
	if (a->tick != b->tick)
		return a->tick < b->tick;
	if (a->rank != b->rank)
		return a->rank > b->rank;
	return a->seq < b->seq;
}

static inline void model_insert(struct model *m, struct model_timer *t)
{
	struct model_timer *pos;

	list_for_each_entry_reverse(pos, &m->timers, link)
		if (!model_before(t, pos))
			break;
	list_add(&t->link, &pos->link);
}

static inline void model_place(struct model *m, struct model_timer *t, u64 now)
{
	t->seq = ++m->seq;
	t->rank = 0;
	t->never = now == U64_MAX;
	if (t->never) {
		t->tick = U64_MAX;
	} else if (m->depth) {
		timer_list_place(now, t->due, m->depth, &t->rank);
		if (timer_list_clamps(now, t->due, m->depth))
			t->rank = m->depth;
		t->tick = timer_list_fire(now, t->due, m->depth, true);
	} else {
		t->tick = max(t->due, now + 1);
	}
	model_insert(m, t);
}

static inline void model_arm(struct model *m, struct model_timer *t, u64 now,
			     u64 due)
{
	t->due = due;
	t->pending = true;
	m->nr++;
	model_place(m, t, now);
}

static inline void model_cancel(struct model *m, struct model_timer *t)
{
	list_del(&t->link);
	t->pending = false;
	m->nr--;
}

/* The tick at which a pending timer fires; false for never. */
static inline bool model_fires(const struct model *m,
			       const struct model_timer *t, u64 *tick)
{
	*tick = t->tick;
	return !t->never;
}

/* The tick of the first fire; false where nothing will ever fire. */
static inline bool model_first_fire(const struct model *m, u64 *tick)
{
	const struct model_timer *t;

	if (list_empty(&m->timers))
		return false;
	t = list_first_entry(&m->timers, struct model_timer, link);
	*tick = t->tick;
	return !t->never;
}

/* The next timer to fire, if that is up to @now; NULL where there is none. */
static inline struct model_timer *model_next(struct model *m, u64 now)
{
	struct model_timer *t;

	t = list_first_entry_or_null(&m->timers, struct model_timer, link);
	return t && !t->never && t->tick <= now ? t : NULL;
}

/* The same, and take it out. */
static inline struct model_timer *model_pop(struct model *m, u64 now)
{
	struct model_timer *t = model_next(m, now);

	if (t)
		model_cancel(m, t);
	return t;
}

/* A small generator, so that a run can be repeated from its seed. */
static inline u64 model_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* A number below @n, which is not 0. */
static inline u64 model_below(u64 *state, u64 n)
{
	return model_random(state) % n;
}

/* A number of a random length in bits, 0 to 64 of them. */
static inline u64 model_log_uniform(u64 *state)
{
	unsigned int bits = model_below(state, 65);

	return bits ? model_random(state) >> (64 - bits) : 0;
}

#endif /* _KUNIT_MODEL_H */
