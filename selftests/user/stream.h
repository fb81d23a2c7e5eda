/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream of operations on a wheel, carried out on a kind and on the model
 * side by side, with everything that the contract promises checked at each
 * step. Where the choices come from, random numbers or a fuzzer's bytes, and
 * what is done about a failure, is for the caller.
 */
#ifndef _USER_STREAM_H
#define _USER_STREAM_H

#include <stdio.h>
#include <linux/types.h>

#include "../../wheels/kinds.h"
#include "model.h"

/**
 * struct source - where choices come from
 * @data: bytes, or NULL for random numbers
 * @size: how many
 * @pos: how many have been used
 * @state: of the random numbers
 */
struct source {
	const u8 *data;
	size_t size;
	size_t pos;
	u64 state;
};

static inline bool source_dry(const struct source *src)
{
	return src->data && src->pos >= src->size;
}

u64 source_word(struct source *src, unsigned int bits);
u32 source_pick(struct source *src, u32 n);

/**
 * enum op_code - what can be done to a wheel
 * @OP_ARM: arm, or move as mod_timer() does
 * @OP_REARM: take out where it is queued, then arm, whatever the due tick
 * @OP_CANCEL: cancel, where it is queued
 * @OP_STEP: one call of advance, towards a tick and with a budget
 * @OP_RUN: calls of advance until it says that all is done
 * @OP_CHASE: advance to next, until something has fired
 * @OP_FORWARD: move the clock up where nothing is to be done
 * @OP_WALK: walk, and see that nothing is missing
 * @OP_FIRES: ask of each queued timer when it fires
 * @OP_DRAIN: take all timers out by first, and arm them on another wheel
 * @OP_UPKEEP: half a round of upkeep
 */
enum op_code {
	OP_ARM,
	OP_REARM,
	OP_CANCEL,
	OP_STEP,
	OP_RUN,
	OP_CHASE,
	OP_FORWARD,
	OP_WALK,
	OP_FIRES,
	OP_DRAIN,
	OP_UPKEEP,
	OP_NR
};

/**
 * struct op - an operation
 * @code: what to do
 * @timer: to which timer
 * @budget: of a call of advance; how many items a call of walk may give; of a
 *	drain, which configuration the other wheel has
 * @tick: due tick, or the tick to advance to
 * @period: of a periodic timer, or 0
 * @slack: of the timer
 */
struct op {
	u8 code;
	u8 budget;
	u16 timer;
	u64 tick;
	u64 period;
	u64 slack;
};

/**
 * struct setup - what a stream begins with
 * @kind: the kind
 * @slots: its option of that name, 0 for the default
 * @levels: its option of that name, 0 for the default
 * @timers: how many timers there are, at most STREAM_TIMERS
 * @start: the clock's first value
 */
struct setup {
	enum wheel_kind kind;
	u32 slots;
	u32 levels;
	u32 timers;
	u64 start;
};

#define STREAM_TIMERS	1024

/**
 * struct counts - what streams have done
 * @ops: calls of enqueue, dequeue, advance and forward
 * @armed: armings
 * @fired: expiries
 * @stops: stops of advance with work left
 * @missed: periods that were missed
 */
struct counts {
	u64 ops;
	u64 armed;
	u64 fired;
	u64 stops;
	u64 missed;
};

struct stream;

struct stream *stream_begin(const struct setup *setup, struct counts *counts);
const char *stream_do(struct stream *s, const struct op *op);
void stream_end(struct stream *s);
u64 stream_now(const struct stream *s);
u64 stream_next(const struct stream *s);
u32 stream_traits(const struct stream *s);
u32 stream_timers(const struct stream *s);

void setup_choose(struct setup *setup, enum wheel_kind kind,
		  struct source *src);
const char *stream_choose(struct stream *s, struct source *src, size_t max,
			  struct op *ops, size_t *nr);
void stream_print(FILE *out, const struct setup *setup, const struct op *ops,
		  size_t nr);

#endif /* _USER_STREAM_H */
