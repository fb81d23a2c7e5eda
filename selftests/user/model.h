/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The oracle: when each timer must fire and in which order, told from the law
 * of scenarios alone. A sorted array; slow, and obvious.
 *
 * It knows nothing of slots as data structures, of cascades or bitmaps, and
 * shares no code with a kind.
 */
#ifndef _USER_MODEL_H
#define _USER_MODEL_H

#include <linux/types.h>

/**
 * struct model_entry - one pending timer
 * @timer: its number
 * @expires: due tick, as asked for
 * @slack: how late it may fire
 * @first: the first tick at which it may fire
 * @last: the last one
 * @rank: what fires first within a tick: the smaller
 * @seq: then, the one that was armed first
 * @never: it was armed at the end of the clock
 */
struct model_entry {
	u32 timer;
	u32 rank;
	u64 expires;
	u64 slack;
	u64 first;
	u64 last;
	u64 seq;
	bool never;
};

/**
 * struct model - all pending timers of a wheel
 * @traits: of the kind
 * @levels: for a kind that rounds, how many levels its rule has
 * @seq: counts armings
 * @nr: pending timers
 * @order: their numbers in the order in which they fire
 * @entry: by number
 */
struct model {
	u32 traits;
	u32 levels;
	u64 seq;
	unsigned int nr;
	u32 *order;
	struct model_entry *entry;
};

void model_init(struct model *m, u32 traits, u32 levels, unsigned int timers);
void model_destroy(struct model *m);
void model_arm(struct model *m, u32 timer, u64 now, u64 expires, u64 slack);
void model_cancel(struct model *m, u32 timer);
const char *model_fire(struct model *m, u32 timer, u64 tick);
const char *model_settle(struct model *m, u64 now, bool complete);
const struct model_entry *model_at(const struct model *m, unsigned int place);
bool model_first_fire(const struct model *m, u64 now, u64 *tick);

#endif /* _USER_MODEL_H */
