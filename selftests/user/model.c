// SPDX-License-Identifier: GPL-2.0
/*
 * The oracle: see model.h. Three rules, one for each family of kinds:
 *
 * exact	a timer fires at its due tick, or on the next tick where it is
 *		overdue; within a tick in the order of arming
 * slack	the same, or up to so many ticks later; order only among timers
 *		without slack
 * rounding	where the kernel's timer_list would fire it, told by arithmetic
 *		as kernel/time/timer.c does it, what is beyond its capacity
 *		being placed again where timer_list would fire it early;
 *		within a tick those first, then the highest level, then the
 *		order of arming
 */
#include <stdlib.h>
#include <string.h>
#include <linux/limits.h>

#include "../../wheels/wheel.h"
#include "model.h"

void model_init(struct model *m, u32 traits, u32 levels, unsigned int timers)
{
	m->traits = traits;
	m->levels = levels;
	m->seq = 0;
	m->nr = 0;
	m->order = calloc(timers, sizeof(*m->order));
	m->entry = calloc(timers, sizeof(*m->entry));
	if (!m->order || !m->entry)
		abort();
}

void model_destroy(struct model *m)
{
	free(m->order);
	free(m->entry);
}

static u64 model_sum(u64 a, u64 b)
{
	return a > U64_MAX - b ? U64_MAX : a + b;
}

/* The first tick beyond the capacity of the levels, counted from the clock. */
static u64 model_cutoff(u32 levels)
{
	return 63ULL << (3 * (levels - 1));
}

/* timer.c, calc_wheel_index(): @clk is the next tick to be processed. */
static void model_round(const struct model *m, struct model_entry *e, u64 clk)
{
	u64 expires = e->expires;
	u32 level = 0;
	u64 slot;

	if (expires < clk) {
		e->last = clk;
		e->rank = m->levels;
		return;
	}
	if (expires - clk >= model_cutoff(m->levels))
		expires = clk + (62ULL << (3 * (m->levels - 1)));
	while (level < m->levels - 1 && expires - clk >= 63ULL << (3 * level))
		level++;
	slot = (expires >> (3 * level)) + 1;
	/* A slot beyond the last tick comes up at the last tick. */
	if (slot > U64_MAX >> (3 * level) || !slot)
		e->last = U64_MAX;
	else
		e->last = slot << (3 * level);
	e->rank = m->levels - level;
}

/* Place it again, where it would fire too early, until it does not. */
static void model_round_again(const struct model *m, struct model_entry *e)
{
	u64 turn = model_cutoff(m->levels);

	while (e->last < e->expires) {
		u64 left = e->expires - e->last - 1;

		/* Whole turns first: each is as long as the last. */
		if (left >= turn)
			e->last += left - left % turn;
		if (e->last < e->expires)
			model_round(m, e, e->last + 1);
	}
}

/* When and where in line a timer fires that is armed with the clock at @now. */
static void model_place(struct model *m, struct model_entry *e, u64 now)
{
	e->seq = m->seq++;
	e->rank = 0;
	e->never = now == U64_MAX;
	if (e->never) {
		e->first = U64_MAX;
		e->last = U64_MAX;
		e->rank = U32_MAX;
	} else if (m->traits & (WHEEL_EXACT | WHEEL_SLACK)) {
		e->first = e->expires > now ? e->expires : now + 1;
		e->last = e->first;
		if (m->traits & WHEEL_SLACK &&
		    model_sum(e->expires, e->slack) > e->last)
			e->last = model_sum(e->expires, e->slack);
	} else {
		model_round(m, e, now + 1);
		model_round_again(m, e);
		if (e->expires > now &&
		    e->expires - (now + 1) >= model_cutoff(m->levels))
			e->rank = 0;
		e->first = e->last;
	}
}

static bool model_before(const struct model_entry *a,
			 const struct model_entry *b)
{
	if (a->last != b->last)
		return a->last < b->last;
	if (a->rank != b->rank)
		return a->rank < b->rank;
	return a->seq < b->seq;
}

/* The timer that is so many places from the first to fire. */
const struct model_entry *model_at(const struct model *m, unsigned int place)
{
	return &m->entry[m->order[place]];
}

/* The place of @e in the line, or where it would go. */
static unsigned int model_find(const struct model *m,
			       const struct model_entry *e)
{
	unsigned int low = 0, high = m->nr;

	while (low < high) {
		unsigned int mid = (low + high) / 2;

		if (model_before(model_at(m, mid), e))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void model_insert(struct model *m, const struct model_entry *e)
{
	unsigned int at = model_find(m, e);

	memmove(&m->order[at + 1], &m->order[at],
		(m->nr - at) * sizeof(*m->order));
	m->order[at] = e->timer;
	m->entry[e->timer] = *e;
	m->nr++;
}

static void model_remove(struct model *m, unsigned int at)
{
	m->nr--;
	memmove(&m->order[at], &m->order[at + 1],
		(m->nr - at) * sizeof(*m->order));
}

void model_arm(struct model *m, u32 timer, u64 now, u64 expires, u64 slack)
{
	struct model_entry e = {
		.timer = timer,
		.expires = expires,
		.slack = slack,
	};

	model_place(m, &e, now);
	model_insert(m, &e);
}

void model_cancel(struct model *m, u32 timer)
{
	model_remove(m, model_find(m, &m->entry[timer]));
}

/* Said of a timer that fires: NULL, or what is wrong with that. */
const char *model_fire(struct model *m, u32 timer, u64 tick)
{
	const struct model_entry *e = &m->entry[timer];
	unsigned int i, at;

	if (e->never)
		return "fired after the end of the clock";
	at = model_find(m, e);
	if (tick < e->first)
		return "fired early";
	if (tick > e->last)
		return "fired late";
	for (i = 0; i < at; i++) {
		const struct model_entry *before = model_at(m, i);

		if (before->last < tick)
			return "fired before a timer that should have fired earlier";
		if (m->traits & WHEEL_SLACK && (before->slack || e->slack))
			continue;
		return "fired out of order within its tick";
	}
	model_remove(m, at);
	return NULL;
}

/*
 * The clock shows @now, and everything up to there has been done; at @now
 * itself only where it is @complete. NULL, or what is wrong with that.
 */
const char *model_settle(struct model *m, u64 now, bool complete)
{
	if (!m->nr || model_at(m, 0)->never)
		return NULL;
	if (model_at(m, 0)->last < now ||
	    (complete && model_at(m, 0)->last == now))
		return "the clock has passed a timer that did not fire";
	return NULL;
}

/* The first tick after @now at which a timer must fire, if any must. */
bool model_first_fire(const struct model *m, u64 now, u64 *tick)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		const struct model_entry *e = model_at(m, i);

		if (e->never || e->last <= now)
			continue;
		*tick = e->last;
		return true;
	}
	return false;
}
