/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside of the facility: what cogwheel.c (timers and bases) and
 * cogwheel_clock.c (what wakes a base) share. Nobody else includes this.
 */
#ifndef _COGWHEEL_BASE_H
#define _COGWHEEL_BASE_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>

#include "cogwheel.h"
#include "wheels/kinds.h"

struct cogwheel_pool;

/*
 * wheel_node.owner, written under the lock of the base that it names.
 *
 * QUEUED	in the wheel of the base
 * BATCHED	was put into a batch, in the slot whose number is in the highest
 *		bits. Says no more than that: it is in the batch still if that
 *		slot holds it, and whoever clears the slot by cmpxchg has it.
 * MIGRATING	between two bases; wait for it to arrive
 */
#define OWNER_BASE		0x0003ffffU
#define OWNER_MIGRATING		0x00040000U
#define OWNER_QUEUED		0x00080000U
#define OWNER_BATCHED		0x00100000U
#define OWNER_PINNED		0x00200000U
#define OWNER_SHUTDOWN		0x00400000U
#define OWNER_SLOT_SHIFT	24

/**
 * struct cogwheel_base - one CPU's wheel, or the only one
 * @lock: serialises the wheel; taken with interrupts off
 * @kind: which kind @wheel is of
 * @cpu: the CPU whose base it is, 0 for the only one
 * @online: takes timers; cleared, under @lock, as its CPU goes down
 * @expiring: somebody is in the midst of expiry; only he programs the driver
 * @slack: the kind reads a timer's slack, as in struct cogwheel
 * @wake: one less than the tick for which the driver is programmed (so that
 *	"never" is the latest); stale, but never too late, after a cancel
 * @pending: timers in @wheel
 * @wheel: its clock lags behind while nothing is due
 * @cw: the facility
 * @running: the timer last taken from @batch while it is being worked on. Only
 *	compared, never followed: it may be freed memory.
 * @batch: the timers that expired in the current step. The slots are claims:
 *	he who replaces a node by NULL with cmpxchg may use the timer.
 * @taken: all of @batch has been taken at once and is being worked on; written
 *	to true under @lock. Its nodes are only compared, as @running is.
 * @fired: statistics, see struct cogwheel_stats
 * @wakeups: the same
 * @irqoff_max: the same, in ns
 * @expiry_lock: on PREEMPT_RT, held while a batch is worked off, for those who
 *	wait for that to lend their priority
 * @timer: the driver of COGWHEEL_JIFFIES
 * @hrtimer: the driver of COGWHEEL_MONOTONIC
 * @kick: makes another CPU program its own driver
 * @upkeep: grows and compacts the wheel, for kinds that need it
 * @upkeep_kick: starts @upkeep from where nothing may be woken
 */
struct cogwheel_base {
	raw_spinlock_t lock;
	enum wheel_kind kind;
	unsigned int cpu;
	bool online;
	bool expiring;
	bool slack;
	u64 wake;
	u64 pending;
	struct wheel *wheel;
	struct cogwheel *cw;
	struct cogwheel_timer *running;
	struct wheel_batch batch;
	bool taken;
	u64 fired;
	u64 wakeups;
	u64 irqoff_max;
#ifdef CONFIG_PREEMPT_RT
	spinlock_t expiry_lock;	/* no data: who holds it, expires */
#endif
	struct timer_list timer;
	struct hrtimer hrtimer;
	call_single_data_t kick;
	struct work_struct upkeep;
	struct irq_work upkeep_kick;
};

/**
 * struct cogwheel - a facility
 * @ops: its kind
 * @kind: the same, by number
 * @clock: what moves it
 * @one_base: @base[0] serves all CPUs
 * @slack: the kind reads a timer's slack
 * @lazy: somebody has used cogwheel_mod_lazy(), and the kind allows it
 * @extra: ticks to add to a relative delay, since a part of the current tick
 *	has passed already
 * @tick_ns: tick length of COGWHEEL_MONOTONIC
 * @tick_inverse: 2^64 / @tick_ns, rounded down
 * @tick_max: the last tick that an hrtimer can be programmed for
 * @expire: as in struct cogwheel_config
 * @data: as in struct cogwheel_config
 * @reserved: timers that may be armed at the same time, where that matters
 * @pool: memory of a kind with WHEEL_POOLED, else NULL
 * @nr_bases: number of entries of @base
 * @base_size: bytes of a base and its wheel
 * @lock_key: the lockdep class of its bases' locks
 * @online_node: links it into the CPU hotplug state hp_online
 * @dead_node: the same for hp_dead
 * @base: by CPU number; a CPU that cannot exist shares one
 */
struct cogwheel {
	const struct wheel_ops *ops;
	enum wheel_kind kind;
	enum cogwheel_clock clock;
	bool one_base;
	bool slack;
	bool lazy;
	u32 extra;
	u64 tick_ns;
	u64 tick_inverse;
	u64 tick_max;
	u64 (*expire)(struct cogwheel_batch *batch);
	void *data;
	atomic_long_t reserved;
	struct cogwheel_pool *pool;
	unsigned int nr_bases;
	size_t base_size;
	struct lock_class_key lock_key;
	struct hlist_node online_node;
	struct hlist_node dead_node;
	struct cogwheel_base *base[];
};

/* cogwheel.c: work off what is due on a running clock; the driver's context. */
void cogwheel_base_run(struct cogwheel_base *base);

/* cogwheel_clock.c */
void cogwheel_clock_setup(struct cogwheel *cw, u64 tick_ns);
u64 cogwheel_clock_now(const struct cogwheel *cw);
u64 cogwheel_clock_coarse(const struct cogwheel *cw);
void cogwheel_driver_init(struct cogwheel_base *base);
void cogwheel_driver_program(struct cogwheel_base *base);
void cogwheel_driver_retry(struct cogwheel_base *base);
void cogwheel_driver_stop(struct cogwheel_base *base);

/* cogwheel_pool.c */
int cogwheel_pool_create(struct cogwheel *cw, struct wheel_config *cfg,
			 unsigned int bases);
void cogwheel_pool_destroy(struct cogwheel_pool *pool);
int cogwheel_pool_reserve(struct cogwheel_pool *pool);
void cogwheel_pool_unreserve(struct cogwheel_pool *pool);
size_t cogwheel_pool_bytes(const struct cogwheel_pool *pool);

#endif /* _COGWHEEL_BASE_H */
