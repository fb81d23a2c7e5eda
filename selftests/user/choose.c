// SPDX-License-Identifier: GPL-2.0
/*
 * Choosing what a stream does: see stream.h. The choices lean to where wheels
 * have been seen to fail: borders of slots and levels, the tick before and
 * after one, many timers for one tick, the ends of the clock.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "stream.h"

/* A choice of @bits bits. */
u64 source_word(struct source *src, unsigned int bits)
{
	u64 word = 0;
	unsigned int i;

	if (!bits)
		return 0;
	if (!src->data) {
		/* splitmix64 */
		word = src->state += 0x9e3779b97f4a7c15ULL;
		word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
		word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
		word ^= word >> 31;
		return word >> (64 - bits);
	}
	for (i = 0; i < bits && !source_dry(src); i += 8)
		word |= (u64)src->data[src->pos++] << i;
	return bits < 64 ? word & ((1ULL << bits) - 1) : word;
}

/* One of @n. */
u32 source_pick(struct source *src, u32 n)
{
	if (!src->data)
		return (u32)((source_word(src, 32) * n) >> 32);
	return (u32)(source_word(src, n > 256 ? 16 : 8) % n);
}

static bool percent(struct source *src, u32 chance)
{
	return source_pick(src, 100) < chance;
}

/* Each length in bits is as likely as another, up to @bits. */
static u64 log_uniform(struct source *src, u32 bits)
{
	return source_word(src, source_pick(src, bits + 1));
}

static u64 sum(u64 a, u64 b)
{
	return a > U64_MAX - b ? U64_MAX : a + b;
}

/* -2 to 2 away, without falling off an end. */
static u64 nearly(struct source *src, u64 tick)
{
	u32 off = source_pick(src, 8);

	/* Most often not away at all. */
	switch (off) {
	case 0:
		return tick < 1 ? 0 : tick - 1;
	case 1:
		return tick < 2 ? 0 : tick - 2;
	case 2:
		return sum(tick, 1);
	case 3:
		return sum(tick, 2);
	default:
		return tick;
	}
}

/* A border of a slot of some wheel, not far ahead of @now, or just behind. */
static u64 border(struct source *src, u64 now, u32 bits)
{
	static const u8 unit[] = { 2, 3, 6 };
	u32 step = unit[source_pick(src, 3)];
	u32 shift = step * source_pick(src, bits / step + 1);
	u32 ahead = source_pick(src, 4) ? source_pick(src, 66) :
					  63 + source_pick(src, 3);
	u64 slot;

	if (shift > 63)
		shift = 63;
	slot = now >> shift;
	if (ahead > (U64_MAX >> shift) - slot)
		return U64_MAX;
	return (slot + ahead) << shift;
}

static const u8 far_bits[] = { 3, 6, 8, 9, 12, 16, 18, 24, 27, 30, 32, 33, 36,
			       48, 54, 60, 63 };

/**
 * setup_choose() - how a stream begins
 * @setup: filled in
 * @kind: the kind
 * @src: decides
 */
void setup_choose(struct setup *setup, enum wheel_kind kind,
		  struct source *src)
{
	static const u16 population[] = { 1, 2, 3, 8, 8, 16, 32, 64, 64, 200 };
	static const u16 slots[] = { 0, 0, 2, 3, 6, 7, 64, 100, 512, 1000 };
	const struct wheel_ops *ops = wheel_kinds[kind];
	u64 power;

	setup->kind = kind;
	setup->timers = population[source_pick(src, 10)];
	if (!source_pick(src, 64))
		setup->timers = STREAM_TIMERS;
	if (ops->max_timers && setup->timers > ops->max_timers)
		setup->timers = ops->max_timers;
	setup->slots = 0;
	if (ops->slots.min) {
		setup->slots = slots[source_pick(src, ARRAY_SIZE(slots))];
		if (setup->slots)
			setup->slots = clamp(setup->slots, ops->slots.min,
					     ops->slots.max);
	}
	setup->levels = 0;
	if (ops->levels.min)
		setup->levels = ops->levels.min +
				source_pick(src, ops->levels.max -
						 ops->levels.min + 1);

	power = 1ULL << far_bits[source_pick(src, ARRAY_SIZE(far_bits))];
	switch (source_pick(src, 8)) {
	case 0:
		setup->start = source_pick(src, 130);
		break;
	case 1:
	case 2:
		setup->start = power - source_pick(src, 130) % power;
		break;
	case 3:
		setup->start = power - 1;
		break;
	case 4:
		setup->start = U64_MAX - source_pick(src, 5000);
		break;
	case 5:
		setup->start = U64_MAX - power;
		break;
	case 6:
		setup->start = source_word(src, 64);
		break;
	default:
		setup->start = log_uniform(src, 63);
		break;
	}
}

/* What a stream leans to. */
struct profile {
	u8 weight[OP_NR];
	u32 total;
	u32 delay_bits;
	u32 jump_bits;
	u32 periodic;		/* percent */
	u32 pile_up;		/* percent of armings for the last due tick */
	u32 budget;		/* the most, or 0 for any */
	u64 last_due;
};

/* Weights: arm, rearm, cancel, step, run, chase, forward, walk, fires, drain,
 * upkeep.
 */
static const u8 weights[][OP_NR] = {
	{ 40, 10, 15, 15, 15, 2, 4, 1, 1, 1, 2 },	/* a bit of everything */
	{ 50, 10, 45, 5, 5, 1, 2, 1, 1, 0, 2 },		/* most are cancelled */
	{ 40, 5, 5, 45, 0, 1, 2, 1, 1, 1, 2 },		/* stops everywhere */
	{ 30, 5, 5, 0, 40, 5, 10, 1, 1, 0, 2 },		/* whole advances */
	{ 80, 5, 5, 2, 2, 1, 1, 1, 0, 0, 1 },		/* fills up */
	{ 30, 5, 5, 10, 10, 30, 5, 0, 0, 1, 1 },	/* tickless */
};

static void profile_choose(struct profile *p, struct source *src)
{
	static const u8 delay_bits[] = { 4, 7, 9, 13, 20, 33, 40, 64, 64 };
	static const u8 jump_bits[] = { 1, 3, 7, 9, 13, 20, 33, 50, 64 };
	u32 row = source_pick(src, ARRAY_SIZE(weights));
	u32 i;

	p->total = 0;
	for (i = 0; i < OP_NR; i++) {
		p->weight[i] = weights[row][i];
		p->total += p->weight[i];
	}
	i = source_pick(src, 9);
	p->delay_bits = delay_bits[i];
	/* Most often about as far as the delays. */
	p->jump_bits = jump_bits[source_pick(src, 3) ? i : source_pick(src, 9)];
	p->periodic = source_pick(src, 4) ? 0 : 1 + source_pick(src, 60);
	p->pile_up = source_pick(src, 3) ? source_pick(src, 10) :
					   20 + source_pick(src, 70);
	p->budget = source_pick(src, 4);
	if (p->budget == 3)
		p->budget = WHEEL_BATCH;
	p->last_due = source_word(src, 4);
}

static u64 choose_due(const struct stream *s, struct profile *p,
		      struct source *src)
{
	u64 now = stream_now(s);
	u64 due;
	u32 bits;

	if (percent(src, p->pile_up))
		return nearly(src, p->last_due);
	switch (source_pick(src, 16)) {
	case 0:
		due = now - source_pick(src, 4);	/* overdue */
		if (due > now)
			due = 0;
		break;
	case 1:
		due = log_uniform(src, 64);		/* anywhere */
		break;
	case 2:
		due = U64_MAX - source_pick(src, 3);	/* the end of the clock */
		break;
	case 3:
	case 4:
	case 5:
		due = nearly(src, border(src, now, p->delay_bits));
		break;
	case 6:
	case 7:
		/* Where timer_list begins another level. */
		bits = 3 * source_pick(src, min(p->delay_bits, 30U) / 3 + 1);
		due = nearly(src, sum(now, 63ULL << bits));
		break;
	case 8:
		bits = source_pick(src, p->delay_bits);
		due = nearly(src, sum(now, 1ULL << bits));
		break;
	case 9:
		due = sum(now, 1 + source_pick(src, 4));
		break;
	default:
		due = sum(now, log_uniform(src, p->delay_bits));
		break;
	}
	p->last_due = due;
	return due;
}

static u64 choose_target(const struct stream *s, const struct profile *p,
			 struct source *src)
{
	u64 now = stream_now(s);
	u64 fire;

	switch (source_pick(src, 8)) {
	case 0:
		return sum(now, source_pick(src, 3));
	case 1:
	case 2:
		fire = stream_next(s);
		return fire == WHEEL_NEVER ? now : nearly(src, fire);
	case 3:
		return border(src, now, p->jump_bits);
	case 4:
		fire = border(src, now, p->jump_bits);
		return fire ? fire - 1 : 0;
	case 5:
		return nearly(src, p->last_due);
	default:
		return sum(now, log_uniform(src, p->jump_bits));
	}
}

static void op_choose(const struct stream *s, struct profile *p,
		      struct source *src, u32 timers, struct op *op)
{
	u32 at = source_pick(src, p->total);

	op->code = 0;
	while (at >= p->weight[op->code])
		at -= p->weight[op->code++];
	op->timer = 0;
	op->budget = 0;
	op->tick = 0;
	op->period = 0;
	op->slack = 0;

	switch (op->code) {
	case OP_ARM:
	case OP_REARM:
		op->timer = (u16)source_pick(src, timers);
		op->tick = choose_due(s, p, src);
		if (p->periodic && percent(src, p->periodic))
			op->period = 1 + log_uniform(src, p->delay_bits);
		if (stream_traits(s) & WHEEL_SLACK && source_pick(src, 2))
			op->slack = log_uniform(src, p->delay_bits);
		break;
	case OP_CANCEL:
		op->timer = (u16)source_pick(src, timers);
		break;
	case OP_STEP:
	case OP_RUN:
	case OP_FORWARD:
	case OP_CHASE:
		op->tick = choose_target(s, p, src);
		op->budget = (u8)p->budget;
		if (!op->budget)
			op->budget = (u8)(1 + source_pick(src, WHEEL_BATCH));
		break;
	default:
		op->budget = (u8)(1 + source_pick(src, WHEEL_BATCH));
		break;
	}
}

/**
 * stream_choose() - carry out operations that a source decides
 * @s: the stream, just begun
 * @src: the source
 * @max: the most operations
 * @ops: they are written down here
 * @nr: how many they were; the last one is the one that went wrong
 *
 * Return: NULL, or what went wrong.
 */
const char *stream_choose(struct stream *s, struct source *src, size_t max,
			  struct op *ops, size_t *nr)
{
	u32 at_the_end = 0;
	struct profile p;
	const char *why = NULL;

	profile_choose(&p, src);
	for (*nr = 0; *nr < max && !why && !source_dry(src); ) {
		struct op *op = &ops[(*nr)++];

		op_choose(s, &p, src, stream_timers(s), op);
		why = stream_do(s, op);
		/* Little can happen once the clock has ended. */
		if (stream_now(s) == U64_MAX && ++at_the_end == 40)
			break;
	}
	return why;
}
