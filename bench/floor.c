// SPDX-License-Identifier: GPL-2.0
/*
 * The floor: what a plain call cannot go below. A lock that is taken with
 * interrupts off, the kind `cascading`, and nothing else: no bases, no clock to
 * keep up, nobody to be woken, no callback that may run meanwhile. Of no use to
 * anybody, and so only for single calls; nothing ever fires.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "../wheels/kinds.h"
#include "loops.h"

static DEFINE_RAW_SPINLOCK(floor_lock);
static struct wheel *floor_wheel;	/* one run at a time */
static const struct wheel_ops *floor_ops;

static __always_inline int floor_mod(struct wheel_node *node, u64 delay)
{
	unsigned long flags;
	int pending;

	raw_spin_lock_irqsave(&floor_lock, flags);
	pending = node->owner;
	if (pending)
		floor_ops->dequeue(floor_wheel, node);
	node->expires = get_jiffies_64() + delay;
	node->owner = 1;
	floor_ops->enqueue(floor_wheel, node);
	raw_spin_unlock_irqrestore(&floor_lock, flags);
	return pending;
}

static __always_inline int
floor_arm(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return floor_mod(&item->cog.node, arg);
}

BENCH_EACH(floor, arm)

static __always_inline int
floor_rearm_same(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return READ_ONCE(item->cog.node.owner);
}

BENCH_EACH(floor, rearm_same)

static __always_inline int
floor_rearm_later(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	return floor_mod(&item->cog.node, arg + BENCH_LATER);
}

BENCH_EACH(floor, rearm_later)

static __always_inline int
floor_cancel(struct bench_ctx *c, struct bench_item *item, u32 arg)
{
	struct wheel_node *node = &item->cog.node;
	unsigned long flags;

	raw_spin_lock_irqsave(&floor_lock, flags);
	floor_ops->dequeue(floor_wheel, node);
	node->owner = 0;
	raw_spin_unlock_irqrestore(&floor_lock, flags);
	return 1;
}

BENCH_EACH(floor, cancel)

static __always_inline int
floor_pair(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	floor_arm(c, item, BENCH_MIN_DELAY);
	return floor_cancel(c, item, 0);
}

BENCH_REPEAT(floor, pair)

static __always_inline int
floor_ask(struct bench_ctx *c, struct bench_item *item, u64 arg)
{
	unsigned long flags;
	u64 tick;

	raw_spin_lock_irqsave(&floor_lock, flags);
	tick = floor_ops->next(floor_wheel);
	raw_spin_unlock_irqrestore(&floor_lock, flags);
	return tick != WHEEL_NEVER;
}

BENCH_REPEAT(floor, ask)

static size_t floor_node_size(struct bench_ctx *c)
{
	return offsetof(struct cogwheel_timer, node) + floor_ops->node_size;
}

static int floor_open(struct bench_ctx *c, enum bench_use use)
{
	struct wheel_config cfg = {
		.start = get_jiffies_64(),
		.numa = NUMA_NO_NODE,
	};
	int kind = wheel_kind_by_name("cascading");
	int err;

	if (use != BENCH_RUNNING)
		return -EOPNOTSUPP;
	err = wheel_configure(kind, &cfg);
	if (err)
		return err;
	floor_ops = wheel_kinds[kind];
	floor_wheel = kvzalloc(floor_ops->size(&cfg), GFP_KERNEL);
	if (!floor_wheel)
		return -ENOMEM;
	floor_wheel->now = cfg.start;
	floor_wheel->ops = floor_ops;
	err = floor_ops->init(floor_wheel, &cfg);
	if (err) {
		kvfree(floor_wheel);
		return err;
	}
	c->shift = bench_shift(floor_node_size(c));
	memset(c->items, 0, ((size_t)c->n + 1) << c->shift);
	return 0;
}

static void floor_close(struct bench_ctx *c)
{
	struct wheel_node *node;

	/* Where a loop was given up, some are armed still. */
	while ((node = floor_ops->first(floor_wheel)))
		floor_ops->dequeue(floor_wheel, node);
	floor_ops->destroy(floor_wheel);
	kvfree(floor_wheel);
}

const struct bench_ops bench_floor_ops = {
	.open		= floor_open,
	.close		= floor_close,
	.arm		= floor_each_arm,
	.rearm_same	= floor_each_rearm_same,
	.rearm_later	= floor_each_rearm_later,
	.cancel		= floor_each_cancel,
	.pair		= floor_repeat_pair,
	.next		= floor_repeat_ask,
	.node_size	= floor_node_size,
};
