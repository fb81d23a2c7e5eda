/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The facility, as other kernel code sees it: timers on per-CPU wheels of a
 * kind of one's choice, used as one uses struct timer_list.
 *
 *	static void expired(struct cogwheel_timer *timer) { ... }
 *
 *	cw = cogwheel_create(&(struct cogwheel_config) {
 *		.kind = "cascading", .clock = COGWHEEL_JIFFIES });
 *	cogwheel_timer_setup(&conn->timer, expired, 0);
 *	cogwheel_arm(cw, &conn->timer, 30 * HZ);
 *	...
 *	cogwheel_cancel_sync(cw, &conn->timer);
 *	cogwheel_destroy(cw);
 *
 * It knows nothing of files or user memory: those are for cogwheel_dev*.c.
 */
#ifndef _COGWHEEL_H
#define _COGWHEEL_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/prefetch.h>
#include <linux/types.h>
#include "wheels/wheel.h"

struct cogwheel;

/**
 * enum cogwheel_clock - what moves the wheels of a facility
 * @COGWHEEL_MANUAL: cogwheel_advance(), for tests, teaching and simulation
 * @COGWHEEL_JIFFIES: jiffies; one tick is one jiffy, the clock is get_jiffies_64()
 * @COGWHEEL_MONOTONIC: an hrtimer on CLOCK_MONOTONIC; the clock is that time
 *	divided by the tick length
 * @COGWHEEL_NR_CLOCKS: how many there are
 */
enum cogwheel_clock {
	COGWHEEL_MANUAL,
	COGWHEEL_JIFFIES,
	COGWHEEL_MONOTONIC,
	COGWHEEL_NR_CLOCKS
};

/* Bounds of the tick length of COGWHEEL_MONOTONIC: 1 us to 1 s. */
#define COGWHEEL_TICK_NS_MIN	1000ULL
#define COGWHEEL_TICK_NS_MAX	1000000000ULL

/**
 * struct cogwheel_timer - a timer
 * @function: called when it fires, in the contexts that cogwheel_create() names
 * @user: for a facility with an expire function, free for its owner instead
 * @node: the kind's part; its last bytes are absent where the structure was
 *	allocated with cogwheel_timer_size()
 *
 * Zeroed memory is not a valid timer: use cogwheel_timer_setup() or
 * DEFINE_COGWHEEL_TIMER().
 */
struct cogwheel_timer {
	union {
		void (*function)(struct cogwheel_timer *timer);
		u64 user;
	};
	struct wheel_node node;
};

/* Flags of cogwheel_timer_setup(). */
#define COGWHEEL_PINNED		0x1	/* stays on the CPU that arms it */

/* A timer that is set up at compile time, as with DEFINE_TIMER(). */
#define COGWHEEL_TIMER_INITIALIZER(fn)	{ .function = (fn) }
#define DEFINE_COGWHEEL_TIMER(name, fn)	\
	struct cogwheel_timer name = COGWHEEL_TIMER_INITIALIZER(fn)

/**
 * struct cogwheel_batch - the timers that one step of expiry hands over
 * @cw: the facility
 * @data: its cogwheel_config.data
 * @tick: the tick at which they fired
 *
 * The rest is for cogwheel_batch_take() and cogwheel_batch_take_all() only.
 */
struct cogwheel_batch {
	struct cogwheel *cw;
	void *data;
	u64 tick;
	/* private: */
	struct cogwheel_base *base;
	unsigned int pos;
};

/**
 * struct cogwheel_config - how to set up a facility
 * @kind: name of a kind
 * @clock: what moves it
 * @tick_ns: tick length in ns, COGWHEEL_TICK_NS_MIN to _MAX, of
 *	COGWHEEL_MONOTONIC; 0 with every other clock
 * @start: first value of a COGWHEEL_MANUAL clock; 0 with every other clock
 * @slots: the kind's option of that name, 0 for its default
 * @levels: the kind's option of that name, 0 for its default
 * @one_base: a single wheel for all CPUs, instead of one for each. Always so
 *	with COGWHEEL_MANUAL. The order of arming then holds across CPUs.
 * @expire: takes a batch of expired timers, instead of a call of each timer's
 *	function; see cogwheel_batch_take() and cogwheel_batch_take_all()
 * @data: for @expire
 */
struct cogwheel_config {
	const char *kind;
	enum cogwheel_clock clock;
	u64 tick_ns;
	u64 start;
	u32 slots;
	u32 levels;
	bool one_base;
	u64 (*expire)(struct cogwheel_batch *batch);
	void *data;
};

/**
 * struct cogwheel_stats - what a facility has done, summed over its bases
 * @pending: timers that are armed now
 * @fired: timers that have fired
 * @moved: moves of a timer between slots by the passing of time (cascades)
 * @touched: slots visited while time passed
 * @wakeups: how often a clock driver ran
 * @irqoff_max_ns: longest hold of a lock with interrupts off during expiry,
 *	since cogwheel_measure() was turned on; 0 before
 * @base_size: bytes of one base, its wheel included
 * @pool_size: bytes that all bases share, of a kind that keeps memory of its
 *	own for timers: those that are reserved, armed or not
 * @bases: number of bases
 */
struct cogwheel_stats {
	u64 pending;
	u64 fired;
	u64 moved;
	u64 touched;
	u64 wakeups;
	u64 irqoff_max_ns;
	u64 base_size;
	u64 pool_size;
	u32 bases;
};

/**
 * struct cogwheel_hold - the lock of a base, held for several operations
 * @cw: the facility
 *
 * Between cogwheel_hold() and cogwheel_release() interrupts are off and other
 * CPUs may wait: do no more than WHEEL_BATCH operations in one hold.
 */
struct cogwheel_hold {
	struct cogwheel *cw;
	/* private: */
	struct cogwheel_base *base;
	unsigned long flags;
};

struct cogwheel *cogwheel_create(const struct cogwheel_config *config);
void cogwheel_destroy(struct cogwheel *cw);

void cogwheel_timer_setup(struct cogwheel_timer *timer,
			  void (*function)(struct cogwheel_timer *timer),
			  u32 flags);
void cogwheel_timer_setup_on_stack(struct cogwheel_timer *timer,
				   void (*function)(struct cogwheel_timer *),
				   u32 flags);
void cogwheel_timer_destroy_on_stack(struct cogwheel_timer *timer);
size_t cogwheel_timer_size(const struct cogwheel *cw);
int cogwheel_reserve(struct cogwheel *cw, size_t nr);
void cogwheel_unreserve(struct cogwheel *cw, size_t nr);

int cogwheel_mod(struct cogwheel *cw, struct cogwheel_timer *timer,
		 u64 expires);
int cogwheel_mod_slack(struct cogwheel *cw, struct cogwheel_timer *timer,
		       u64 expires, u64 slack);
int cogwheel_mod_on(struct cogwheel *cw, struct cogwheel_timer *timer,
		    u64 expires, int cpu);
int cogwheel_arm(struct cogwheel *cw, struct cogwheel_timer *timer, u64 delay);
int cogwheel_arm_on(struct cogwheel *cw, struct cogwheel_timer *timer,
		    u64 delay, int cpu);
int cogwheel_reduce(struct cogwheel *cw, struct cogwheel_timer *timer,
		    u64 expires);
int cogwheel_mod_lazy(struct cogwheel *cw, struct cogwheel_timer *timer,
		      u64 expires);
unsigned int cogwheel_mod_batch(struct cogwheel *cw,
				struct cogwheel_timer *const *timers,
				const u64 *expires, unsigned int nr);
int cogwheel_cancel(struct cogwheel *cw, struct cogwheel_timer *timer);
unsigned int cogwheel_cancel_batch(struct cogwheel *cw,
				   struct cogwheel_timer *const *timers,
				   unsigned int nr);
int cogwheel_cancel_sync(struct cogwheel *cw, struct cogwheel_timer *timer);
int cogwheel_shutdown(struct cogwheel *cw, struct cogwheel_timer *timer);
int cogwheel_shutdown_sync(struct cogwheel *cw, struct cogwheel_timer *timer);

void cogwheel_hold(struct cogwheel *cw, struct cogwheel_hold *hold);
int cogwheel_mod_held(struct cogwheel_hold *hold, struct cogwheel_timer *timer,
		      u64 expires, u64 slack);
int cogwheel_cancel_held(struct cogwheel_hold *hold,
			 struct cogwheel_timer *timer);
void cogwheel_release(struct cogwheel_hold *hold);

bool cogwheel_pending(struct cogwheel *cw, const struct cogwheel_timer *timer);
u64 cogwheel_remaining(struct cogwheel *cw, const struct cogwheel_timer *timer);
u64 cogwheel_fires(struct cogwheel *cw, struct cogwheel_timer *timer);

u64 cogwheel_now(struct cogwheel *cw);
u64 cogwheel_due(struct cogwheel *cw, u64 delay);
u64 cogwheel_next(struct cogwheel *cw);
u64 cogwheel_count(struct cogwheel *cw);
int cogwheel_advance(struct cogwheel *cw, u64 to, u64 *reached);
struct cogwheel_timer *cogwheel_batch_take(struct cogwheel_batch *batch);
struct wheel_node *const *cogwheel_batch_take_all(struct cogwheel_batch *batch,
						  unsigned int *nr);

/**
 * cogwheel_node_timer() - the timer that a node is part of
 * @node: a node, not NULL
 *
 * Return: the timer.
 */
static inline struct cogwheel_timer *
cogwheel_node_timer(const struct wheel_node *node)
{
	return container_of(node, struct cogwheel_timer, node);
}

/**
 * cogwheel_prefetch_next() - what moving or cancelling a timer will touch
 * @timer: a timer, in whatever state; its memory should be cached already
 *
 * Most kinds link a node to its neighbours in the first two words that are
 * theirs, and will write to these. With any other kind it does no harm.
 */
static inline void cogwheel_prefetch_next(const struct cogwheel_timer *timer)
{
	prefetchw(READ_ONCE(timer->node.entry.next));
	prefetchw(READ_ONCE(timer->node.entry.prev));
}

const struct wheel_ops *cogwheel_kind(const struct cogwheel *cw);
void cogwheel_settle(struct cogwheel *cw);
void cogwheel_geometry(struct cogwheel *cw, struct wheel_geometry *geometry);
unsigned int cogwheel_walk(struct cogwheel *cw, unsigned int base,
			   struct wheel_walk *pos, struct wheel_item *items,
			   unsigned int max,
			   void (*each)(struct wheel_item *item, void *data),
			   void *data);
void cogwheel_stats(struct cogwheel *cw, struct cogwheel_stats *stats);
void cogwheel_measure(bool on);

/**
 * cogwheel_clock_ns_to_ticks() - a time in ns as a number of ticks, rounded up
 * @cw: the facility
 * @ns: nanoseconds, of a delay or of CLOCK_MONOTONIC
 *
 * Return: the smallest number of ticks that is no shorter.
 */
u64 cogwheel_clock_ns_to_ticks(const struct cogwheel *cw, u64 ns);

#endif /* _COGWHEEL_H */
