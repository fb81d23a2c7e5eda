// SPDX-License-Identifier: GPL-2.0
/*
 * The facility: timers on wheels, one wheel for each CPU, or one for all.
 *
 * It owns the bases and their locks, calls back or hands over what expires,
 * moves timers between CPUs, and exports all of it (cogwheel.h). It knows
 * neither how a kind stores timers (wheels/) nor what wakes a base
 * (cogwheel_clock.c), and nothing of files or user memory.
 *
 * What is given up for what: a base is one raw spinlock, taken with interrupts
 * off, so that timers can be armed from anywhere; therefore nothing under it
 * may take long. Expiry looks at no more than WHEEL_BATCH timers for each hold
 * of the lock, and neither calls back nor wakes anybody while it holds it.
 *
 * The life of a timer, with the bits of wheel_node.owner:
 *
 *	            arm                        expiry
 *	  idle -------------> QUEUED ------------------------> BATCHED
 *	   ^  ^                 |                                 |
 *	   |  |     cancel      |        taken for its callback,  |
 *	   |  +-----------------+        or cancelled, or moved   |
 *	   +------------------------------------------------------+
 *
 * The way out of a batch is open to two: the CPU that works it off, without
 * the base's lock, and whoever cancels or moves the timer, with it. Each clears
 * the timer's slot in the batch by cmpxchg, and he who does has the timer. The
 * loser does not touch it: it may be freed at once.
 *
 *	CPU 0, working off a batch		CPU 1
 *	running = T
 *	cmpxchg(slot, T, NULL) succeeds		cancel: slot is not T any more:
 *	T->function(T)				  not pending; running == T tells
 *	running = the next one			  cancel_sync to wait for this
 *
 * A timer stays on the base on which its function runs, even when it is armed
 * elsewhere in the meantime; so cancel_sync knows where to look.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/debugobjects.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/prefetch.h>
#include <linux/sched/isolation.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "cogwheel.h"
#include "cogwheel_base.h"
#include "cogwheel_dev.h"
#include "compat.h"
#include "wheels/kinds.h"

/* After so long in one go expiry lets others have the CPU. */
#define EXPIRY_MAX_MS	2

static enum cpuhp_state hp_online;
static enum cpuhp_state hp_dead;
static DEFINE_STATIC_KEY_FALSE(measuring);

static inline struct cogwheel_timer *to_timer(struct wheel_node *node)
{
	return container_of(node, struct cogwheel_timer, node);
}

/* debugobjects: who frees or forgets an armed timer is told so. */

#ifdef CONFIG_DEBUG_OBJECTS_TIMERS
static void *timer_debug_hint(void *addr)
{
	return ((struct cogwheel_timer *)addr)->function;
}

/*
 * Set up by COGWHEEL_TIMER_INITIALIZER(), if it was never armed: then no wheel
 * has linked it yet. (The owner is written before it is activated.)
 */
static bool timer_is_static(void *addr)
{
	return !((struct cogwheel_timer *)addr)->node.entry.next;
}

static const struct debug_obj_descr timer_debug_descr = {
	.name = "cogwheel_timer",
	.debug_hint = timer_debug_hint,
	.is_static_object = timer_is_static,
};

static inline void debug_timer_init(struct cogwheel_timer *timer)
{
	debug_object_init(timer, &timer_debug_descr);
}

static inline void debug_timer_init_on_stack(struct cogwheel_timer *timer)
{
	debug_object_init_on_stack(timer, &timer_debug_descr);
}

static inline void debug_timer_free(struct cogwheel_timer *timer)
{
	debug_object_free(timer, &timer_debug_descr);
}

static inline void debug_timer_activate(struct cogwheel_timer *timer)
{
	debug_object_activate(timer, &timer_debug_descr);
}

static inline void debug_timer_deactivate(struct cogwheel_timer *timer)
{
	debug_object_deactivate(timer, &timer_debug_descr);
}
#else
static inline void debug_timer_init(struct cogwheel_timer *timer) { }
static inline void debug_timer_init_on_stack(struct cogwheel_timer *timer) { }
static inline void debug_timer_free(struct cogwheel_timer *timer) { }
static inline void debug_timer_activate(struct cogwheel_timer *timer) { }
static inline void debug_timer_deactivate(struct cogwheel_timer *timer) { }
#endif

/* PREEMPT_RT: he who waits for a callback lends it his priority. */

#ifdef CONFIG_PREEMPT_RT
static inline void expiry_lock_init(struct cogwheel_base *base)
{
	spin_lock_init(&base->expiry_lock);
}

static inline void expiry_lock(struct cogwheel_base *base)
{
	spin_lock(&base->expiry_lock);
}

static inline void expiry_unlock(struct cogwheel_base *base)
{
	spin_unlock(&base->expiry_lock);
}

static inline void expiry_wait(struct cogwheel_base *base)
{
	spin_lock_bh(&base->expiry_lock);
	spin_unlock_bh(&base->expiry_lock);
}
#else
static inline void expiry_lock_init(struct cogwheel_base *base) { }
static inline void expiry_lock(struct cogwheel_base *base) { }
static inline void expiry_unlock(struct cogwheel_base *base) { }
static inline void expiry_wait(struct cogwheel_base *base)
{
	cpu_relax();
}
#endif

/* Bases and timers. */

/*
 * What arm and cancel consist of is inlined into them: a call from a module
 * costs about as much as any of these steps.
 */

/*
 * The base of a timer, locked; the timer cannot leave it meanwhile. @owner is
 * what its owner is then.
 */
static __always_inline struct cogwheel_base *
lock_base(struct cogwheel *cw, const struct cogwheel_timer *timer, u32 *owner,
	  unsigned long *flags)
{
	for (;;) {
		u32 before = READ_ONCE(timer->node.owner);
		struct cogwheel_base *base;

		if (likely(!(before & OWNER_MIGRATING))) {
			base = cw->base[before & OWNER_BASE];
			raw_spin_lock_irqsave(&base->lock, *flags);
			*owner = READ_ONCE(timer->node.owner);
			if (likely(!((*owner ^ before) &
				     (OWNER_BASE | OWNER_MIGRATING))))
				return base;
			raw_spin_unlock_irqrestore(&base->lock, *flags);
		}
		cpu_relax();
	}
}

/* Is a timer in a wheel, and on no way to another one? */
static inline bool owner_is_queued(u32 owner)
{
	return (owner & (OWNER_QUEUED | OWNER_MIGRATING)) == OWNER_QUEUED;
}

/* Does a timer wait in a batch, from which it can still be taken? */
static inline bool in_batch(const struct cogwheel_base *base,
			    const struct cogwheel_timer *timer, u32 owner)
{
	if (!(owner & OWNER_BATCHED))
		return false;
	/* Pairs with deliver(): the slots are empty before it is cleared. */
	if (smp_load_acquire(&base->taken))
		return false;
	return READ_ONCE(base->batch.node[owner >> OWNER_SLOT_SHIFT]) ==
	       &timer->node;
}

/* Is the expiry of a timer, taken from its batch, just being worked on? */
static bool being_fired(const struct cogwheel_base *base,
			const struct cogwheel_timer *timer)
{
	unsigned int i;

	/* Pairs with the releases in cogwheel_batch_take() and deliver(). */
	if (smp_load_acquire(&base->running) == timer)
		return true;
	/* Pairs with that in deliver(). */
	if (likely(!smp_load_acquire(&base->taken)))
		return false;
	for (i = 0; i < WHEEL_BATCH; i++)
		if (READ_ONCE(base->batch.node[i]) == &timer->node)
			return true;
	return false;
}

/* What is left of the owner when a timer is idle. */
static inline u32 owner_idle(u32 owner)
{
	return owner & (OWNER_BASE | OWNER_PINNED);
}

/* Take a timer out of the batch, if that is where it waits. */
static noinline bool take_from_batch(struct cogwheel_base *base,
				     struct cogwheel_timer *timer, u32 owner)
{
	struct wheel_node *node = &timer->node;

	/* The other side is cogwheel_batch_take(). */
	return in_batch(base, timer, owner) &&
	       cmpxchg(&base->batch.node[owner >> OWNER_SLOT_SHIFT], node,
		       NULL) == node;
}

/*
 * Take an armed timer out of wherever its owner says that it is. False where it
 * was not armed. Its owner is left to the caller.
 */
static __always_inline bool take_out(struct cogwheel_base *base,
				     struct cogwheel_timer *timer, u32 owner)
{
	if (unlikely(!(owner & OWNER_QUEUED)))
		return owner & OWNER_BATCHED &&
		       take_from_batch(base, timer, owner);
	wheel_dequeue(base->kind, base->wheel, &timer->node);
	base->pending--;
	debug_timer_deactivate(timer);
	return true;
}

/* The same, and say that it is idle. */
static __always_inline bool detach(struct cogwheel_base *base,
				   struct cogwheel_timer *timer, u32 owner)
{
	if (!take_out(base, timer, owner))
		return false;
	WRITE_ONCE(timer->node.owner, owner_idle(owner));
	return true;
}

/*
 * An idle wheel's clock stands still; bring it up to date, so that a timer is
 * placed for its delay and not for the time since the wheel last had work.
 */
static __always_inline void forward(struct cogwheel_base *base)
{
	enum cogwheel_clock clock = base->cw->clock;
	u64 to;

	if (likely(clock == COGWHEEL_JIFFIES))
		to = get_jiffies_64();
	else if (clock == COGWHEEL_MONOTONIC)
		to = cogwheel_clock_coarse(base->cw);
	else
		return;
	if (likely(to <= base->wheel->now) || base->expiring)
		return;
	to = min(to, base->wake);
	if (to > base->wheel->now)
		wheel_forward(base->kind, base->wheel, to);
}

/*
 * What is seldom to be done when a timer has been put into a wheel, which says
 * that it wants something, or needs the CPU earlier than it will have it.
 */
static noinline bool attached(struct cogwheel_base *base,
			      struct cogwheel_timer *timer, u64 wake)
{
	struct wheel *wheel = base->wheel;

	if (wheel->refused) {
		wheel->refused = false;
		base->pending--;
		WRITE_ONCE(timer->node.owner,
			   timer->node.owner & ~OWNER_QUEUED);
		debug_timer_deactivate(timer);
		return false;
	}
	if (wheel->upkeep)
		irq_work_queue(&base->upkeep_kick);
	if (wake < base->wake && !base->expiring) {
		base->wake = wake;
		cogwheel_driver_program(base);
	}
	return true;
}

/*
 * Put a timer that is in no wheel into that of the locked base, which has been
 * brought up to date. False where a kind has no memory for it, since more are
 * armed than were reserved: then it is idle.
 */
static __always_inline bool attach(struct cogwheel_base *base,
				   struct cogwheel_timer *timer)
{
	u64 wake;

	debug_timer_activate(timer);
	base->pending++;
	wake = wheel_enqueue(base->kind, base->wheel, &timer->node) - 1;
	if (likely(wake >= base->wake && !base->wheel->wants))
		return true;
	return attached(base, timer, wake);
}

/* The entries of base[] that are bases of their own. */
static inline bool has_base(const struct cogwheel *cw, unsigned int i)
{
	return cw->one_base || cpu_possible(i);
}

static struct cogwheel_base *any_online_base(struct cogwheel *cw)
{
	unsigned int i;

	for (i = 0; i < cw->nr_bases; i++)
		if (READ_ONCE(cw->base[i]->online))
			return cw->base[i];
	return cw->base[0];
}

/* Where an arm on this CPU puts a timer; interrupts are off. */
static struct cogwheel_base *local_base(struct cogwheel *cw, u32 owner)
{
	unsigned int cpu = raw_smp_processor_id();

	if (cw->one_base)
		return cw->base[0];
	if (housekeeping_enabled(HK_TYPE_TIMER) && !(owner & OWNER_PINNED) &&
	    !housekeeping_test_cpu(cpu, HK_TYPE_TIMER))
		cpu = housekeeping_any_cpu(HK_TYPE_TIMER);
	return cw->base[cpu];
}

/*
 * From the locked base of a timer that is in no wheel to another one. Not
 * away from where its function runs.
 */
static struct cogwheel_base *migrate(struct cogwheel_base *base,
				     struct cogwheel_timer *timer,
				     struct cogwheel_base *to)
{
	u32 owner = timer->node.owner & ~OWNER_BASE;

	/* Pairs with the order in cogwheel_batch_take(): running, then slot. */
	smp_rmb();
	if (being_fired(base, timer))
		return base;
	WRITE_ONCE(timer->node.owner, owner | base->cpu | OWNER_MIGRATING);
	raw_spin_unlock(&base->lock);
	for (;;) {
		raw_spin_lock(&to->lock);
		if (likely(to->online))
			break;
		raw_spin_unlock(&to->lock);
		to = any_online_base(to->cw);
	}
	WRITE_ONCE(timer->node.owner, owner | to->cpu);
	return to;
}

enum mod_mode { MOD_ANY, MOD_REDUCE };

/* On which base: that of this CPU. */
#define LOCAL	(-1)

/* Would arming a timer that is pending change nothing? */
static __always_inline bool mod_is_idle(const struct cogwheel *cw,
					const struct wheel_node *node,
					u64 expires, u64 slack, int cpu,
					enum mod_mode mode)
{
	u64 now = READ_ONCE(node->expires);

	if (mode == MOD_REDUCE)
		return expires >= now;
	return expires == now && cpu == LOCAL &&
	       (!cw->slack || READ_ONCE(node->slack.slack) == slack);
}

/* The same without a lock, and whether it is pending. */
static __always_inline bool mod_is_vain(const struct cogwheel *cw,
					const struct wheel_node *node,
					u64 expires, u64 slack, int cpu,
					enum mod_mode mode)
{
	return owner_is_queued(READ_ONCE(node->owner)) &&
	       mod_is_idle(cw, node, expires, slack, cpu, mode);
}

/*
 * Is it armed, and where it belongs? One that waits in a batch is about to
 * fire, and may stay there, unless a lazy move came too late for the batch.
 */
static __always_inline bool may_stay(const struct cogwheel_base *base,
				     const struct cogwheel_timer *timer,
				     u32 owner)
{
	return owner & OWNER_QUEUED ||
	       (in_batch(base, timer, owner) &&
		timer->node.expires <= base->wheel->now);
}

/*
 * Arm a timer that is idle, and whose owner is @owner, on the locked base; false
 * as with attach().
 */
static __always_inline bool place(struct cogwheel_base *base,
				  struct cogwheel_timer *timer, u32 owner,
				  u64 expires, u64 slack)
{
	struct wheel_node *node = &timer->node;

	WRITE_ONCE(node->expires, expires);
	if (base->slack)
		WRITE_ONCE(node->slack.slack, slack);
	WRITE_ONCE(node->owner, owner | OWNER_QUEUED);
	return attach(base, timer);
}

/* Arm a timer, wherever it is. */
static noinline int mod_any(struct cogwheel *cw, struct cogwheel_timer *timer,
			    u64 expires, u64 slack, int cpu, enum mod_mode mode)
{
	struct wheel_node *node = &timer->node;
	struct cogwheel_base *base, *to;
	unsigned long flags;
	u32 owner;
	int ret = 0;

	if (mod_is_vain(cw, node, expires, slack, cpu, mode))
		return 1;

	base = lock_base(cw, timer, &owner, &flags);
	if (unlikely(owner & OWNER_SHUTDOWN))
		goto unlock;
	if (mod_is_idle(cw, node, expires, slack, cpu, mode) &&
	    may_stay(base, timer, owner)) {
		ret = 1;
		goto unlock;
	}
	ret = detach(base, timer, owner);
	to = cpu == LOCAL ? local_base(cw, owner) : cw->base[cpu];
	if (to != base || unlikely(!base->online))
		base = migrate(base, timer, to);
	forward(base);
	if (unlikely(!place(base, timer, owner_idle(node->owner), expires,
			    slack)))
		ret = -ENOSPC;
unlock:
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}

/*
 * Is a timer with this owner on a base, or idle and was there last, and allowed
 * to be there whichever CPU that is?
 */
static __always_inline bool is_on(const struct cogwheel_base *base, u32 owner)
{
	return !((owner ^ base->cpu) &
		 (OWNER_BASE | OWNER_MIGRATING | OWNER_PINNED));
}

/* Arm a timer, whose owner is @owner, on the locked base, on which it is. */
static __always_inline int mod_on(struct cogwheel_base *base,
				  struct cogwheel_timer *timer, u32 owner,
				  u64 expires, u64 slack)
{
	int ret = 0;

	/* What is idle on a base, has nothing but its number. */
	if (owner != base->cpu) {
		if (unlikely(owner & OWNER_SHUTDOWN))
			return 0;
		if (mod_is_idle(base->cw, &timer->node, expires, slack, LOCAL,
				MOD_ANY) && may_stay(base, timer, owner))
			return 1;
		ret = take_out(base, timer, owner);
	}
	if (unlikely(!place(base, timer, base->cpu, expires, slack)))
		return -ENOSPC;
	return ret;
}

/* The usual case: the timer is on the base of this CPU already. */
static noinline int mod_here(struct cogwheel *cw, struct cogwheel_timer *timer,
			     u64 expires)
{
	struct cogwheel_base *base;
	unsigned long flags;
	u32 owner;
	int ret;

	local_irq_save(flags);
	base = local_base(cw, 0);
	if (unlikely(!is_on(base, READ_ONCE(timer->node.owner))))
		goto restore;
	raw_spin_lock(&base->lock);
	owner = READ_ONCE(timer->node.owner);
	if (unlikely(!is_on(base, owner) || !base->online))
		goto unlock;
	forward(base);
	ret = mod_on(base, timer, owner, expires, 0);
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;

unlock:
	raw_spin_unlock(&base->lock);
restore:
	local_irq_restore(flags);
	return mod_any(cw, timer, expires, 0, LOCAL, MOD_ANY);
}

/* What changes nothing saves no registers. */
static __always_inline int mod_plain(struct cogwheel *cw,
				     struct cogwheel_timer *timer, u64 expires)
{
	if (mod_is_vain(cw, &timer->node, expires, 0, LOCAL, MOD_ANY))
		return 1;
	return mod_here(cw, timer, expires);
}

/* The current tick. */
static __always_inline u64 clock_now(const struct cogwheel *cw)
{
	if (likely(cw->clock == COGWHEEL_JIFFIES))
		return get_jiffies_64();
	if (cw->clock == COGWHEEL_MANUAL)
		return READ_ONCE(cw->base[0]->wheel->now);
	return cogwheel_clock_now(cw);
}

/* See cogwheel_due(). */
static __always_inline u64 due(const struct cogwheel *cw, u64 delay)
{
	u64 from = clock_now(cw) + cw->extra;

	return delay < U64_MAX - from ? from + delay : U64_MAX;
}

/**
 * cogwheel_timer_setup() - prepare a timer
 * @timer: the timer, not armed
 * @function: what to call when it fires; NULL with an expire function
 * @flags: COGWHEEL_PINNED or 0
 *
 * Context: any.
 */
void cogwheel_timer_setup(struct cogwheel_timer *timer,
			  void (*function)(struct cogwheel_timer *timer),
			  u32 flags)
{
	debug_timer_init(timer);
	timer->function = function;
	timer->node.owner = flags & COGWHEEL_PINNED ? OWNER_PINNED : 0;
}
EXPORT_SYMBOL_GPL(cogwheel_timer_setup);

/**
 * cogwheel_timer_setup_on_stack() - prepare a timer in a local variable
 * @timer: the timer
 * @function: what to call when it fires
 * @flags: COGWHEEL_PINNED or 0
 *
 * Cancel it with cogwheel_cancel_sync() and then undo this with
 * cogwheel_timer_destroy_on_stack() before the variable goes away.
 *
 * Context: any.
 */
void cogwheel_timer_setup_on_stack(struct cogwheel_timer *timer,
				   void (*function)(struct cogwheel_timer *),
				   u32 flags)
{
	debug_timer_init_on_stack(timer);
	timer->function = function;
	timer->node.owner = flags & COGWHEEL_PINNED ? OWNER_PINNED : 0;
}
EXPORT_SYMBOL_GPL(cogwheel_timer_setup_on_stack);

/**
 * cogwheel_timer_destroy_on_stack() - the end of a timer in a local variable
 * @timer: the timer, not armed
 *
 * Context: any.
 */
void cogwheel_timer_destroy_on_stack(struct cogwheel_timer *timer)
{
	debug_timer_free(timer);
}
EXPORT_SYMBOL_GPL(cogwheel_timer_destroy_on_stack);

/**
 * cogwheel_timer_size() - bytes of a timer that a facility uses
 * @cw: the facility
 *
 * A timer that is the last member of an allocated structure may end there.
 *
 * Context: any.
 * Return: bytes, at most sizeof(struct cogwheel_timer).
 */
size_t cogwheel_timer_size(const struct cogwheel *cw)
{
	return offsetof(struct cogwheel_timer, node) + cw->ops->node_size;
}
EXPORT_SYMBOL_GPL(cogwheel_timer_size);

/**
 * cogwheel_reserve() - make sure that so many more timers can be armed
 * @cw: the facility
 * @nr: how many timers
 *
 * To be called when timers are set up, for the kinds that need memory of
 * their own (WHEEL_POOLED) or refuse large populations (WHEEL_BOUNDED); with
 * the others it only counts. Arming as many timers as were reserved never
 * fails, in any context and on any CPU. With a WHEEL_POOLED kind, arming more
 * than that may: see cogwheel_mod().
 *
 * Context: may sleep.
 * Return: 0; -ENOSPC where the kind refuses so many timers; -ENOMEM. Where it
 * is not 0, nothing has changed.
 */
int cogwheel_reserve(struct cogwheel *cw, size_t nr)
{
	unsigned long sum = atomic_long_add_return(nr, &cw->reserved);
	int ret = 0;

	if (cw->ops->traits & WHEEL_BOUNDED && sum > cw->ops->max_timers)
		ret = -ENOSPC;
	else if (cw->pool)
		ret = cogwheel_pool_reserve(cw->pool);
	if (ret)
		atomic_long_sub(nr, &cw->reserved);
	return ret;
}
EXPORT_SYMBOL_GPL(cogwheel_reserve);

/**
 * cogwheel_unreserve() - give back what cogwheel_reserve() took
 * @cw: the facility
 * @nr: how many timers; so many are armed no more
 *
 * Context: may sleep.
 */
void cogwheel_unreserve(struct cogwheel *cw, size_t nr)
{
	atomic_long_sub(nr, &cw->reserved);
	if (cw->pool)
		cogwheel_pool_unreserve(cw->pool);
}
EXPORT_SYMBOL_GPL(cogwheel_unreserve);

/**
 * cogwheel_mod() - arm a timer for a tick, or move it there
 * @cw: the facility
 * @timer: the timer
 * @expires: due tick; one that is not later than now fires on the next tick
 *
 * As mod_timer(): moving a pending timer to the due tick that it has changes
 * nothing. A timer whose function just runs may be armed. One that was shut
 * down stays as it is.
 *
 * Context: any but NMI; may be called from the function of any timer.
 * Return: 1 if the timer was pending, else 0. -ENOSPC where the kind keeps
 * memory of its own for timers (WHEEL_POOLED), and more are armed than
 * cogwheel_reserve() was called for: then the timer is idle.
 */
int cogwheel_mod(struct cogwheel *cw, struct cogwheel_timer *timer, u64 expires)
{
	return mod_plain(cw, timer, expires);
}
EXPORT_SYMBOL_GPL(cogwheel_mod);

/**
 * cogwheel_mod_slack() - arm a timer that may fire late
 * @cw: the facility
 * @timer: the timer
 * @expires: due tick
 * @slack: by how many ticks it may fire late; only a kind with WHEEL_SLACK
 *	makes use of it
 *
 * Context: as cogwheel_mod().
 * Return: as cogwheel_mod().
 */
int cogwheel_mod_slack(struct cogwheel *cw, struct cogwheel_timer *timer,
		       u64 expires, u64 slack)
{
	return mod_any(cw, timer, expires, slack, LOCAL, MOD_ANY);
}
EXPORT_SYMBOL_GPL(cogwheel_mod_slack);

/**
 * cogwheel_mod_on() - arm a timer on a CPU
 * @cw: the facility
 * @timer: the timer
 * @expires: due tick
 * @cpu: number of a possible CPU; if it is offline, another one takes over
 *
 * Context: as cogwheel_mod().
 * Return: as cogwheel_mod(); -EINVAL for a CPU that cannot be.
 */
int cogwheel_mod_on(struct cogwheel *cw, struct cogwheel_timer *timer,
		    u64 expires, int cpu)
{
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	return mod_any(cw, timer, expires, 0, cw->one_base ? LOCAL : cpu,
		       MOD_ANY);
}
EXPORT_SYMBOL_GPL(cogwheel_mod_on);

/**
 * cogwheel_arm() - arm a timer for a time from now, or move it there
 * @cw: the facility
 * @timer: the timer
 * @delay: ticks; see cogwheel_due()
 *
 * Context: as cogwheel_mod().
 * Return: as cogwheel_mod().
 */
int cogwheel_arm(struct cogwheel *cw, struct cogwheel_timer *timer, u64 delay)
{
	/* To read another clock is a call, for which registers are saved. */
	if (unlikely(cw->clock != COGWHEEL_JIFFIES))
		return cogwheel_mod(cw, timer, cogwheel_due(cw, delay));
	return mod_plain(cw, timer, due(cw, delay));
}
EXPORT_SYMBOL_GPL(cogwheel_arm);

/**
 * cogwheel_arm_on() - arm a timer on a CPU for a time from now
 * @cw: the facility
 * @timer: the timer
 * @delay: ticks; see cogwheel_due()
 * @cpu: as for cogwheel_mod_on()
 *
 * Context: as cogwheel_mod().
 * Return: as cogwheel_mod_on().
 */
int cogwheel_arm_on(struct cogwheel *cw, struct cogwheel_timer *timer,
		    u64 delay, int cpu)
{
	return cogwheel_mod_on(cw, timer, cogwheel_due(cw, delay), cpu);
}
EXPORT_SYMBOL_GPL(cogwheel_arm_on);

/**
 * cogwheel_reduce() - arm a timer, or make a pending one earlier
 * @cw: the facility
 * @timer: the timer
 * @expires: due tick; a pending timer that is due no later stays as it is
 *
 * Context: as cogwheel_mod().
 * Return: as cogwheel_mod().
 */
int cogwheel_reduce(struct cogwheel *cw, struct cogwheel_timer *timer,
		    u64 expires)
{
	return mod_any(cw, timer, expires, 0, LOCAL, MOD_REDUCE);
}
EXPORT_SYMBOL_GPL(cogwheel_reduce);

/**
 * cogwheel_mod_lazy() - move a pending timer to a later tick, by a store
 * @cw: the facility
 * @timer: the timer
 * @expires: due tick
 *
 * As cogwheel_mod(), but where the timer is pending, @expires is no earlier
 * than its due tick and the kind allows it (WHEEL_LAZY), it takes no lock:
 * expiry finds at the old due tick that the timer is due later, and arms it
 * again. So the wheel is woken once more, for nothing; and among timers of the
 * same tick it counts as armed when that is noticed. For timeouts that are put
 * off far more often than they fire.
 *
 * Context: as cogwheel_mod().
 * Return: 1 if the timer was pending, else 0.
 */
int cogwheel_mod_lazy(struct cogwheel *cw, struct cogwheel_timer *timer,
		      u64 expires)
{
	struct wheel_node *node = &timer->node;
	u64 old = READ_ONCE(node->expires);

	if (!(cw->ops->traits & WHEEL_LAZY) || expires < old ||
	    !owner_is_queued(READ_ONCE(node->owner)))
		goto mod;
	if (unlikely(!READ_ONCE(cw->lazy)))
		WRITE_ONCE(cw->lazy, true);
	/* Somebody else may have moved it. */
	if (cmpxchg64(&node->expires, old, expires) != old)
		goto mod;
	/* Pairs with the barrier in step(): it sees the tick, or we see it. */
	if (owner_is_queued(READ_ONCE(node->owner)))
		return 1;
mod:
	return mod_any(cw, timer, expires, 0, LOCAL, MOD_ANY);
}
EXPORT_SYMBOL_GPL(cogwheel_mod_lazy);

/* Several operations for one hold of a lock. */

/* Lock the base of this CPU, or one that is online; interrupts are off. */
static __always_inline void hold_base(struct cogwheel_hold *hold)
{
	struct cogwheel_base *base = local_base(hold->cw, 0);

	for (;;) {
		raw_spin_lock(&base->lock);
		if (likely(base->online))
			break;
		raw_spin_unlock(&base->lock);
		base = any_online_base(hold->cw);
	}
	forward(base);
	hold->base = base;
}

static noinline int mod_elsewhere(struct cogwheel_hold *hold,
				  struct cogwheel_timer *timer, u64 expires,
				  u64 slack)
{
	int ret;

	raw_spin_unlock(&hold->base->lock);
	ret = mod_any(hold->cw, timer, expires, slack, LOCAL, MOD_ANY);
	hold_base(hold);
	return ret;
}

static noinline int cancel_elsewhere(struct cogwheel_hold *hold,
				     struct cogwheel_timer *timer)
{
	int ret;

	raw_spin_unlock(&hold->base->lock);
	ret = cogwheel_cancel(hold->cw, timer);
	hold_base(hold);
	return ret;
}

static __always_inline int mod_held(struct cogwheel_hold *hold,
				    struct cogwheel_timer *timer, u64 expires,
				    u64 slack)
{
	u32 owner = READ_ONCE(timer->node.owner);

	if (unlikely(!is_on(hold->base, owner)))
		return mod_elsewhere(hold, timer, expires, slack);
	return mod_on(hold->base, timer, owner, expires, slack);
}

static __always_inline int cancel_held(struct cogwheel_hold *hold,
				       struct cogwheel_timer *timer)
{
	u32 owner = READ_ONCE(timer->node.owner);

	if (!(owner & (OWNER_QUEUED | OWNER_BATCHED | OWNER_MIGRATING)))
		return 0;
	if (unlikely(!is_on(hold->base, owner)))
		return cancel_elsewhere(hold, timer);
	return detach(hold->base, timer, owner);
}

/**
 * cogwheel_hold() - take the lock of this CPU's base for several operations
 * @cw: the facility
 * @hold: to be handed to those operations and to cogwheel_release()
 *
 * Interrupts are off until cogwheel_release(), so the caller sees to it that
 * it is no more than WHEEL_BATCH operations until then. Nothing but
 * cogwheel_mod_held() and cogwheel_cancel_held() may be called on the facility
 * meanwhile. A timer that is on another CPU's base costs more: the lock is let
 * go for it, and taken again.
 *
 * Context: any but NMI.
 */
void cogwheel_hold(struct cogwheel *cw, struct cogwheel_hold *hold)
{
	hold->cw = cw;
	local_irq_save(hold->flags);
	hold_base(hold);
}
EXPORT_SYMBOL_GPL(cogwheel_hold);

/**
 * cogwheel_mod_held() - cogwheel_mod_slack() by a caller who holds the lock
 * @hold: from cogwheel_hold()
 * @timer: the timer
 * @expires: due tick
 * @slack: as for cogwheel_mod_slack()
 *
 * Context: between cogwheel_hold() and cogwheel_release().
 * Return: 1 if the timer was pending, else 0.
 */
int cogwheel_mod_held(struct cogwheel_hold *hold, struct cogwheel_timer *timer,
		      u64 expires, u64 slack)
{
	return mod_held(hold, timer, expires, slack);
}
EXPORT_SYMBOL_GPL(cogwheel_mod_held);

/**
 * cogwheel_cancel_held() - cogwheel_cancel() by a caller who holds the lock
 * @hold: from cogwheel_hold()
 * @timer: the timer
 *
 * Context: between cogwheel_hold() and cogwheel_release().
 * Return: 1 if the timer was pending, else 0.
 */
int cogwheel_cancel_held(struct cogwheel_hold *hold,
			 struct cogwheel_timer *timer)
{
	return cancel_held(hold, timer);
}
EXPORT_SYMBOL_GPL(cogwheel_cancel_held);

/**
 * cogwheel_release() - the end of cogwheel_hold()
 * @hold: what that was given
 *
 * Context: any but NMI; interrupts are as they were before cogwheel_hold().
 */
void cogwheel_release(struct cogwheel_hold *hold)
{
	raw_spin_unlock(&hold->base->lock);
	local_irq_restore(hold->flags);
}
EXPORT_SYMBOL_GPL(cogwheel_release);

/* Timers may lie anywhere: let all the misses of a piece overlap. */
static __always_inline void
prefetch_timers(struct cogwheel_timer *const *timers, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		prefetchw(&timers[i]->node);
}

/**
 * cogwheel_mod_batch() - cogwheel_mod() of many timers
 * @cw: the facility
 * @timers: the timers
 * @expires: the due tick of each
 * @nr: how many
 *
 * In the order given. Interrupts are off for no more than WHEEL_BATCH timers
 * at a time; other operations may come in between.
 *
 * Context: as cogwheel_mod().
 * Return: how many of the timers were pending.
 */
unsigned int cogwheel_mod_batch(struct cogwheel *cw,
				struct cogwheel_timer *const *timers,
				const u64 *expires, unsigned int nr)
{
	struct cogwheel_hold hold;
	unsigned int i, piece, pending = 0;

	for (; nr; nr -= piece, timers += piece, expires += piece) {
		piece = min_t(unsigned int, nr, WHEEL_BATCH);
		prefetch_timers(timers, piece);
		cogwheel_hold(cw, &hold);
		for (i = 0; i < piece; i++)
			pending += mod_held(&hold, timers[i], expires[i],
					    0) > 0;
		cogwheel_release(&hold);
	}
	return pending;
}
EXPORT_SYMBOL_GPL(cogwheel_mod_batch);

/**
 * cogwheel_cancel_batch() - cogwheel_cancel() of many timers
 * @cw: the facility
 * @timers: the timers
 * @nr: how many
 *
 * Interrupts are off for no more than WHEEL_BATCH timers at a time.
 *
 * Context: as cogwheel_cancel().
 * Return: how many of the timers were pending.
 */
unsigned int cogwheel_cancel_batch(struct cogwheel *cw,
				   struct cogwheel_timer *const *timers,
				   unsigned int nr)
{
	struct cogwheel_hold hold;
	unsigned int i, piece, pending = 0;

	for (; nr; nr -= piece, timers += piece) {
		piece = min_t(unsigned int, nr, WHEEL_BATCH);
		prefetch_timers(timers, piece);
		cogwheel_hold(cw, &hold);
		for (i = 0; i < piece; i++)
			pending += cancel_held(&hold, timers[i]);
		cogwheel_release(&hold);
	}
	return pending;
}
EXPORT_SYMBOL_GPL(cogwheel_cancel_batch);

/* With @running, tells on which base its expiry is just being worked on. */
static __always_inline bool cancel(struct cogwheel *cw,
				   struct cogwheel_timer *timer, bool shutdown,
				   struct cogwheel_base **running)
{
	struct cogwheel_base *base;
	unsigned long flags;
	u32 owner;
	bool ret;

	base = lock_base(cw, timer, &owner, &flags);
	ret = detach(base, timer, owner);
	if (shutdown)
		WRITE_ONCE(timer->node.owner,
			   timer->node.owner | OWNER_SHUTDOWN);
	if (running) {
		/* Pairs with the order in cogwheel_batch_take(). */
		smp_rmb();
		*running = being_fired(base, timer) ? base : NULL;
	}
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}

static int cancel_sync(struct cogwheel *cw, struct cogwheel_timer *timer,
		       bool shutdown)
{
	struct cogwheel_base *running;
	int ret = 0;

	/* The function that it interrupts could never end. */
	WARN_ON_ONCE(in_hardirq());
	for (;;) {
		ret |= cancel(cw, timer, shutdown, &running);
		if (!running)
			return ret;
		while (being_fired(running, timer))
			expiry_wait(running);
	}
}

/**
 * cogwheel_cancel() - disarm a timer
 * @cw: the facility
 * @timer: the timer
 *
 * Its function may still be running, on another CPU.
 *
 * Context: any but NMI; may be called from the function of any timer.
 * Return: 1 if the timer was pending, else 0.
 */
int cogwheel_cancel(struct cogwheel *cw, struct cogwheel_timer *timer)
{
	if (!(READ_ONCE(timer->node.owner) &
	      (OWNER_QUEUED | OWNER_BATCHED | OWNER_MIGRATING)))
		return 0;
	return cancel(cw, timer, false, NULL);
}
EXPORT_SYMBOL_GPL(cogwheel_cancel);

/**
 * cogwheel_cancel_sync() - disarm a timer and wait for its function to end
 * @cw: the facility
 * @timer: the timer
 *
 * Afterwards the timer is neither pending nor running, unless somebody else
 * armed it meanwhile; see cogwheel_shutdown_sync(). Must not be called from
 * the timer's own function, nor with a lock held that this takes.
 *
 * Context: not in hard interrupts. Sleeps on PREEMPT_RT only.
 * Return: 1 if the timer was pending, else 0.
 */
int cogwheel_cancel_sync(struct cogwheel *cw, struct cogwheel_timer *timer)
{
	return cancel_sync(cw, timer, false);
}
EXPORT_SYMBOL_GPL(cogwheel_cancel_sync);

/**
 * cogwheel_shutdown() - disarm a timer for good
 * @cw: the facility
 * @timer: the timer; arming it has no effect until it is set up again
 *
 * Context: as cogwheel_cancel().
 * Return: 1 if the timer was pending, else 0.
 */
int cogwheel_shutdown(struct cogwheel *cw, struct cogwheel_timer *timer)
{
	return cancel(cw, timer, true, NULL);
}
EXPORT_SYMBOL_GPL(cogwheel_shutdown);

/**
 * cogwheel_shutdown_sync() - disarm a timer for good and wait for its function
 * @cw: the facility
 * @timer: the timer; its memory may be freed afterwards
 *
 * Context: as cogwheel_cancel_sync().
 * Return: 1 if the timer was pending, else 0.
 */
int cogwheel_shutdown_sync(struct cogwheel *cw, struct cogwheel_timer *timer)
{
	return cancel_sync(cw, timer, true);
}
EXPORT_SYMBOL_GPL(cogwheel_shutdown_sync);

/**
 * cogwheel_pending() - is a timer armed?
 * @cw: the facility
 * @timer: the timer
 *
 * Context: any. The answer may be outdated unless the caller sees to it that
 * nobody arms or cancels the timer, and may be too late for it to fire.
 * Return: true from arming until its function is about to be called.
 */
bool cogwheel_pending(struct cogwheel *cw, const struct cogwheel_timer *timer)
{
	u32 owner = READ_ONCE(timer->node.owner);

	return owner & (OWNER_QUEUED | OWNER_MIGRATING) ||
	       in_batch(cw->base[owner & OWNER_BASE], timer, owner);
}
EXPORT_SYMBOL_GPL(cogwheel_pending);

/**
 * cogwheel_remaining() - how long until a timer is due
 * @cw: the facility
 * @timer: the timer
 *
 * Context: any; see cogwheel_pending().
 * Return: ticks, 0 if it is due, overdue or not pending.
 */
u64 cogwheel_remaining(struct cogwheel *cw, const struct cogwheel_timer *timer)
{
	u64 expires = READ_ONCE(timer->node.expires);
	u64 now = cogwheel_now(cw);

	return cogwheel_pending(cw, timer) && expires > now ? expires - now : 0;
}
EXPORT_SYMBOL_GPL(cogwheel_remaining);

/**
 * cogwheel_fires() - the tick at which a timer will fire
 * @cw: the facility
 * @timer: the timer
 *
 * Context: any but NMI.
 * Return: the tick, as things stand, or one before it where a kind cannot know
 * yet; WHEEL_NEVER if the timer is idle or its tick will never come.
 */
u64 cogwheel_fires(struct cogwheel *cw, struct cogwheel_timer *timer)
{
	struct cogwheel_base *base;
	unsigned long flags;
	u64 tick = WHEEL_NEVER;
	u32 owner;

	base = lock_base(cw, timer, &owner, &flags);
	if (owner & OWNER_QUEUED)
		tick = cw->ops->fires(base->wheel, &timer->node);
	else if (in_batch(base, timer, owner))
		tick = base->wheel->now;
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return tick;
}
EXPORT_SYMBOL_GPL(cogwheel_fires);

/**
 * cogwheel_now() - the clock
 * @cw: the facility
 *
 * Context: any but NMI.
 * Return: the current tick.
 */
u64 cogwheel_now(struct cogwheel *cw)
{
	return clock_now(cw);
}
EXPORT_SYMBOL_GPL(cogwheel_now);

/**
 * cogwheel_due() - the due tick of a delay from now
 * @cw: the facility
 * @delay: ticks
 *
 * On a running clock a part of the current tick has passed already; one tick
 * more makes sure that the delay is never too short in real time. A kind that
 * rounds up anyway needs no such help.
 *
 * Context: any but NMI.
 * Return: the due tick; the last tick of all where the sum is beyond it.
 */
u64 cogwheel_due(struct cogwheel *cw, u64 delay)
{
	return due(cw, delay);
}
EXPORT_SYMBOL_GPL(cogwheel_due);

/**
 * cogwheel_next() - the first tick at which a wheel needs the CPU
 * @cw: the facility
 *
 * Context: any but NMI.
 * Return: a tick later than the wheel's clock and not later than the next fire;
 * WHEEL_NEVER where nothing will fire.
 */
u64 cogwheel_next(struct cogwheel *cw)
{
	u64 next = WHEEL_NEVER;
	unsigned int i;

	for (i = 0; i < cw->nr_bases; i++) {
		struct cogwheel_base *base = cw->base[i];
		unsigned long flags;
		u64 tick;

		if (!has_base(cw, i))
			continue;
		raw_spin_lock_irqsave(&base->lock, flags);
		tick = wheel_next(base->kind, base->wheel);
		raw_spin_unlock_irqrestore(&base->lock, flags);
		/* As WHEEL_NEVER is 0, less 1 it is the greatest. */
		if (tick - 1 < next - 1)
			next = tick;
	}
	return next;
}
EXPORT_SYMBOL_GPL(cogwheel_next);

/**
 * cogwheel_count() - how many timers are pending
 * @cw: the facility
 *
 * Context: any but NMI.
 * Return: the number of timers for which cogwheel_pending() is true.
 */
u64 cogwheel_count(struct cogwheel *cw)
{
	struct cogwheel_stats stats;

	cogwheel_stats(cw, &stats);
	return stats.pending;
}
EXPORT_SYMBOL_GPL(cogwheel_count);

/* Expiry. */

/**
 * cogwheel_batch_take() - the next timer of a batch
 * @batch: what the expire function was given
 *
 * A timer can be cancelled or moved until it is taken. From then on it is
 * idle, and cogwheel_cancel_sync() waits for it until the next one is taken or
 * the expire function returns. What an expire function does not take fires
 * again on the next tick.
 *
 * Context: inside of the expire function.
 * Return: a timer, or NULL at the end.
 */
struct cogwheel_timer *cogwheel_batch_take(struct cogwheel_batch *batch)
{
	struct cogwheel_base *base = batch->base;

	while (batch->pos < base->batch.nr) {
		struct wheel_node **slot = &base->batch.node[batch->pos++];
		struct wheel_node *node = READ_ONCE(*slot);

		if (!node)
			continue;
		/*
		 * Who finds the slot empty must find the timer running; and
		 * what the function of the last one did is done by then.
		 */
		smp_store_release(&base->running, to_timer(node));
		if (cmpxchg(slot, node, NULL) != node)
			continue;
		return to_timer(node);
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(cogwheel_batch_take);

/**
 * cogwheel_batch_take_all() - all timers of a batch at once
 * @batch: what the expire function was given
 * @nr: set to the number of entries of what is returned
 *
 * For whoever needs no chance to cancel or move a timer while he is at work on
 * those before it: all of them are idle from now on, and may be armed again.
 * cogwheel_cancel_sync() waits for each of them until the expire function
 * returns, so that function must not call it.
 *
 * Context: inside of the expire function.
 * Return: the timers' nodes (see cogwheel_node_timer()), in order, and NULL in
 * place of one that was cancelled or moved before. Valid until the expire
 * function returns.
 */
struct wheel_node *const *cogwheel_batch_take_all(struct cogwheel_batch *batch,
						  unsigned int *nr)
{
	struct cogwheel_base *base = batch->base;
	unsigned int first = batch->pos;
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	WRITE_ONCE(base->taken, true);
	raw_spin_unlock_irqrestore(&base->lock, flags);
	/* Pairs with being_fired(): what was done to the last one is done. */
	smp_store_release(&base->running, NULL);
	*nr = base->batch.nr - first;
	batch->pos = base->batch.nr;
	return &base->batch.node[first];
}
EXPORT_SYMBOL_GPL(cogwheel_batch_take_all);

static u64 call_functions(struct cogwheel_batch *batch)
{
	struct cogwheel_timer *timer;

	while ((timer = cogwheel_batch_take(batch)))
		timer->function(timer);
	return U64_MAX;
}

/* Timers that an expire function left in its batch become overdue. */
static void put_back(struct cogwheel_batch *batch)
{
	struct cogwheel_base *base = batch->base;
	struct cogwheel_timer *timer;
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	while ((timer = cogwheel_batch_take(batch))) {
		WRITE_ONCE(timer->node.owner, base->cpu | OWNER_QUEUED |
			   (timer->node.owner & OWNER_PINNED));
		WARN_ON_ONCE(!attach(base, timer));
	}
	raw_spin_unlock_irqrestore(&base->lock, flags);
}

/* Hand over what has expired, with bottom halves off and no lock held. */
static u64 deliver(struct cogwheel_base *base)
{
	struct cogwheel *cw = base->cw;
	struct cogwheel_batch batch = {
		.cw = cw,
		.data = cw->data,
		.tick = base->wheel->now,
		.base = base,
	};
	u64 limit;

	expiry_lock(base);
	if (cw->expire) {
		limit = cw->expire(&batch);
		if (unlikely(batch.pos < base->batch.nr))
			put_back(&batch);
	} else {
		limit = call_functions(&batch);
	}
	if (base->taken) {
		memset(base->batch.node, 0,
		       base->batch.nr * sizeof(*base->batch.node));
		/* Pairs with being_fired(), in_batch(): all that is done. */
		smp_store_release(&base->taken, false);
	}
	/* Pairs with being_fired(): what the function did, is done. */
	smp_store_release(&base->running, NULL);
	expiry_unlock(base);
	return limit;
}

/* Arm again what a lazy move has made due later; the base's lock is held. */
static void put_off(struct cogwheel_base *base)
{
	struct wheel_batch *batch = &base->batch;
	unsigned int i, nr = 0;

	for (i = 0; i < batch->nr; i++) {
		struct wheel_node *node = batch->node[i];

		if (likely(READ_ONCE(node->expires) <= base->wheel->now))
			continue;
		batch->node[i] = NULL;
		WRITE_ONCE(node->owner, base->cpu | OWNER_QUEUED |
			   (node->owner & OWNER_PINNED));
		WARN_ON_ONCE(!attach(base, to_timer(node)));
		nr++;
	}
	base->fired -= nr;
}

/*
 * One bounded step towards @to, with the base's lock held: fills the batch.
 * True when there is nothing more to do up to there.
 */
static bool step(struct cogwheel_base *base, u64 to)
{
	struct wheel_batch *batch = &base->batch;
	unsigned int i;
	bool done;

	batch->budget = WHEEL_BATCH;
	batch->looked = 0;
	batch->nr = 0;
	done = wheel_advance(base->kind, base->wheel, to, batch);
	for (i = 0; i < batch->nr; i++) {
		u32 owner = batch->node[i]->owner & ~OWNER_QUEUED;

		WRITE_ONCE(batch->node[i]->owner, owner | OWNER_BATCHED |
			   i << OWNER_SLOT_SHIFT);
		/* Not as it is taken: it may be armed again by then. */
		debug_timer_deactivate(to_timer(batch->node[i]));
	}
	base->pending -= batch->nr;
	base->fired += batch->nr;
	/* Pairs with cmpxchg in cogwheel_mod_lazy(). */
	smp_mb();
	if (unlikely(READ_ONCE(base->cw->lazy)))
		put_off(base);
	if (unlikely(base->wheel->upkeep))
		irq_work_queue(&base->upkeep_kick);
	return done;
}

/* The same with the lock taken and let go, and the time of that measured. */
static bool locked_step(struct cogwheel_base *base, u64 to)
{
	unsigned long flags;
	u64 begin = 0;
	bool done;

	raw_spin_lock_irqsave(&base->lock, flags);
	if (static_branch_unlikely(&measuring))
		begin = ktime_get_mono_fast_ns();
	done = step(base, to);
	if (static_branch_unlikely(&measuring))
		base->irqoff_max = max(base->irqoff_max,
				       ktime_get_mono_fast_ns() - begin);
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return done;
}

static bool begin_expiry(struct cogwheel_base *base)
{
	unsigned long flags;
	bool ok;

	raw_spin_lock_irqsave(&base->lock, flags);
	ok = !base->expiring;
	base->expiring = true;
	if (ok)
		base->wakeups++;
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ok;
}

/* Go back to sleep, until the next tick that matters; or not quite. */
static void end_expiry(struct cogwheel_base *base, bool done)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	base->expiring = false;
	if (done) {
		base->wake = wheel_next(base->kind, base->wheel) - 1;
		cogwheel_driver_program(base);
	} else {
		/* In the middle of a tick the clock must not be forwarded. */
		base->wake = base->wheel->now;
		cogwheel_driver_retry(base);
	}
	raw_spin_unlock_irqrestore(&base->lock, flags);
}

void cogwheel_base_run(struct cogwheel_base *base)
{
	unsigned long end = jiffies + msecs_to_jiffies(EXPIRY_MAX_MS);
	u64 to;
	bool done;

	if (!begin_expiry(base))
		return;
	to = cogwheel_clock_now(base->cw);
	for (;;) {
		done = locked_step(base, to);
		if (base->batch.nr)
			deliver(base);
		if (done)
			break;
		if (time_after(jiffies, end))
			break;
	}
	end_expiry(base, done);
}

/**
 * cogwheel_advance() - move a manual clock
 * @cw: a facility with COGWHEEL_MANUAL
 * @to: the tick to move to
 * @reached: the tick that was reached
 *
 * Fires what is due, with bottom halves off. An expire function may stop it:
 * no tick is processed that is later than the number that it returns. Timers
 * that expiry arms take part.
 *
 * Context: task; may sleep, between batches. Not from a timer's function.
 * Return: 0; -EINVAL where the clock is not manual or @to is in the past,
 * -EBUSY while another call is at work, -EINTR after a fatal signal. In the
 * last case the rest can be done by another call.
 */
int cogwheel_advance(struct cogwheel *cw, u64 to, u64 *reached)
{
	struct cogwheel_base *base = cw->base[0];
	bool done = false;
	int ret = 0;

	*reached = cogwheel_now(cw);
	if (cw->clock != COGWHEEL_MANUAL || to < *reached)
		return -EINVAL;
	if (!begin_expiry(base))
		return -EBUSY;
	/* The clock may have been moved since. */
	to = max(to, base->wheel->now);
	while (!done) {
		local_bh_disable();
		done = locked_step(base, to);
		if (base->batch.nr) {
			u64 limit = deliver(base);

			if (limit < to) {
				to = max(limit, base->wheel->now);
				done = false;
			}
		}
		local_bh_enable();
		if (!done && fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		cond_resched();
	}
	*reached = base->wheel->now;
	end_expiry(base, true);
	return ret;
}
EXPORT_SYMBOL_GPL(cogwheel_advance);

/* Upkeep, of kinds that resize or compact. */

/* One round; see struct wheel_ops. True while the wheel asks for more. */
static bool upkeep_round(struct cogwheel_base *base)
{
	const struct wheel_ops *ops = base->cw->ops;
	void *memory = NULL;
	bool more;

	if (ops->grow)
		memory = ops->grow(base->wheel);
	raw_spin_lock_irq(&base->lock);
	if (ops->install)
		memory = ops->install(base->wheel, memory);
	if (ops->maintain)
		ops->maintain(base->wheel);
	more = base->wheel->upkeep;
	raw_spin_unlock_irq(&base->lock);
	kvfree(memory);
	return more;
}

static void upkeep(struct work_struct *work)
{
	struct cogwheel_base *base = container_of(work, struct cogwheel_base,
						  upkeep);

	while (upkeep_round(base))
		cond_resched();
}

static void upkeep_kicked(struct irq_work *work)
{
	queue_work(system_unbound_wq,
		   &container_of(work, struct cogwheel_base, upkeep_kick)->upkeep);
}

static void upkeep_stop(struct cogwheel_base *base)
{
	irq_work_sync(&base->upkeep_kick);
	cancel_work_sync(&base->upkeep);
}

/**
 * cogwheel_settle() - wait until no base has upkeep to do
 * @cw: the facility
 *
 * A kind that fits itself to its timers does so some time after they were
 * armed. Until the next of them is armed, fires or is cancelled, what
 * cogwheel_geometry() and cogwheel_walk() show stays as it is from here on.
 *
 * Context: task; sleeps.
 */
void cogwheel_settle(struct cogwheel *cw)
{
	unsigned int i;

	for (i = 0; i < cw->nr_bases; i++) {
		struct cogwheel_base *base;

		if (!has_base(cw, i))
			continue;
		base = cw->base[i];
		/*
		 * Without the kick, which must be waited for by one at a time
		 * (irq_work_sync()); one that comes late finds nothing to do.
		 */
		if (READ_ONCE(base->wheel->upkeep))
			queue_work(system_unbound_wq, &base->upkeep);
		flush_work(&base->upkeep);
	}
}
EXPORT_SYMBOL_GPL(cogwheel_settle);

/* Looking at a facility. */

/**
 * cogwheel_kind() - the kind of a facility
 * @cw: the facility
 *
 * Context: any.
 * Return: its operations, for its name, traits and sizes.
 */
const struct wheel_ops *cogwheel_kind(const struct cogwheel *cw)
{
	return cw->ops;
}
EXPORT_SYMBOL_GPL(cogwheel_kind);

/**
 * cogwheel_geometry() - the shape of the wheels of a facility
 * @cw: the facility
 * @geometry: filled in for the first base
 *
 * Context: any but NMI.
 */
void cogwheel_geometry(struct cogwheel *cw, struct wheel_geometry *geometry)
{
	struct cogwheel_base *base = cw->base[0];
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	cw->ops->geometry(base->wheel, geometry);
	raw_spin_unlock_irqrestore(&base->lock, flags);
}
EXPORT_SYMBOL_GPL(cogwheel_geometry);

/**
 * cogwheel_walk() - a step of looking through the timers of a base
 * @cw: the facility
 * @base: number of the base: that of the CPU, or 0
 * @pos: all zero before the first step
 * @items: filled in, up to @max
 * @max: 1 to WHEEL_BATCH
 * @each: called for each item with the lock held, as long as its node cannot
 *	go away; or NULL
 * @data: for @each
 *
 * Context: any but NMI. @each is called with interrupts off.
 * Return: the number of items, 0 at the end.
 */
unsigned int cogwheel_walk(struct cogwheel *cw, unsigned int base,
			   struct wheel_walk *pos, struct wheel_item *items,
			   unsigned int max,
			   void (*each)(struct wheel_item *item, void *data),
			   void *data)
{
	struct cogwheel_base *b;
	unsigned long flags;
	unsigned int i, nr;

	if (base >= cw->nr_bases || !has_base(cw, base))
		return 0;
	b = cw->base[base];
	raw_spin_lock_irqsave(&b->lock, flags);
	nr = cw->ops->walk(b->wheel, pos, items,
			   clamp_t(unsigned int, max, 1, WHEEL_BATCH));
	for (i = 0; each && i < nr; i++)
		each(&items[i], data);
	raw_spin_unlock_irqrestore(&b->lock, flags);
	return nr;
}
EXPORT_SYMBOL_GPL(cogwheel_walk);

/* Armed timers of the locked base, those of a batch that wait included. */
static u64 base_pending(const struct cogwheel_base *base)
{
	u64 pending = base->pending;
	unsigned int i;

	if (!base->taken)
		for (i = 0; i < base->batch.nr; i++)
			pending += !!READ_ONCE(base->batch.node[i]);
	return pending;
}

/**
 * cogwheel_stats() - what a facility has done
 * @cw: the facility
 * @stats: filled in
 *
 * Context: any but NMI.
 */
void cogwheel_stats(struct cogwheel *cw, struct cogwheel_stats *stats)
{
	unsigned int i;

	*stats = (struct cogwheel_stats) {
		.base_size = cw->base_size,
		.pool_size = cogwheel_pool_bytes(cw->pool),
	};
	for (i = 0; i < cw->nr_bases; i++) {
		struct cogwheel_base *base = cw->base[i];
		unsigned long flags;

		if (!has_base(cw, i))
			continue;
		raw_spin_lock_irqsave(&base->lock, flags);
		stats->pending += base_pending(base);
		stats->fired += base->fired;
		stats->wakeups += base->wakeups;
		stats->moved += base->wheel->moved;
		stats->touched += base->wheel->touched;
		stats->irqoff_max_ns = max(stats->irqoff_max_ns,
					   base->irqoff_max);
		raw_spin_unlock_irqrestore(&base->lock, flags);
		stats->bases++;
	}
}
EXPORT_SYMBOL_GPL(cogwheel_stats);

/**
 * cogwheel_measure() - measure how long expiry keeps interrupts off
 * @on: whether to; each call to turn it on needs one to turn it off
 *
 * Context: may sleep.
 */
void cogwheel_measure(bool on)
{
	if (on)
		static_branch_inc(&measuring);
	else
		static_branch_dec(&measuring);
}
EXPORT_SYMBOL_GPL(cogwheel_measure);

/* Coming and going, of CPUs. */

/*
 * Move all timers of a base that is not online to another one, a bounded
 * number for each hold of the locks. The one whose function runs stays where
 * it is in name only: it is in no wheel.
 */
static void evacuate(struct cogwheel_base *from)
{
	struct cogwheel *cw = from->cw;
	bool more = true;

	while (more) {
		struct cogwheel_base *to = any_online_base(cw);
		struct cogwheel_base *first = from < to ? from : to;
		struct cogwheel_base *second = from < to ? to : from;
		struct wheel_node *node;
		unsigned int budget;

		if (WARN_ON_ONCE(from == to))
			return;
		local_irq_disable();
		raw_spin_lock(&first->lock);
		raw_spin_lock_nested(&second->lock, SINGLE_DEPTH_NESTING);
		forward(to);
		for (budget = WHEEL_BATCH; to->online && budget; budget--) {
			node = cw->ops->first(from->wheel);
			more = node;
			if (!node)
				break;
			detach(from, to_timer(node), node->owner);
			WRITE_ONCE(node->owner, to->cpu | OWNER_QUEUED |
				   (node->owner & OWNER_PINNED));
			WARN_ON_ONCE(!attach(to, to_timer(node)));
		}
		raw_spin_unlock(&second->lock);
		raw_spin_unlock(&first->lock);
		local_irq_enable();
		cond_resched();
	}
}

static void set_online(struct cogwheel_base *base, bool online)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	base->online = online;
	raw_spin_unlock_irqrestore(&base->lock, flags);
}

static int cpu_online_base(unsigned int cpu, struct hlist_node *node)
{
	struct cogwheel *cw = hlist_entry(node, struct cogwheel,
					  online_node);

	set_online(cw->base[cpu], true);
	return 0;
}

/* On the dying CPU, while it still works. */
static int cpu_offline_base(unsigned int cpu, struct hlist_node *node)
{
	struct cogwheel *cw = hlist_entry(node, struct cogwheel,
					  online_node);

	set_online(cw->base[cpu], false);
	evacuate(cw->base[cpu]);
	return 0;
}

/* The CPU is dead. What its last callbacks armed on it is still there. */
static int cpu_dead_base(unsigned int cpu, struct hlist_node *node)
{
	struct cogwheel *cw = hlist_entry(node, struct cogwheel, dead_node);

	cogwheel_driver_stop(cw->base[cpu]);
	evacuate(cw->base[cpu]);
	/* Nothing wakes this base any more: the next arm must see to that. */
	WRITE_ONCE(cw->base[cpu]->wake, U64_MAX);
	return 0;
}

/* Coming and going, of facilities. */

static int check_config(const struct cogwheel_config *config)
{
	if ((unsigned int)config->clock >= COGWHEEL_NR_CLOCKS)
		return -EINVAL;
	if (config->clock == COGWHEEL_MONOTONIC ?
	    config->tick_ns < COGWHEEL_TICK_NS_MIN ||
	    config->tick_ns > COGWHEEL_TICK_NS_MAX : config->tick_ns != 0)
		return -EINVAL;
	if (config->clock != COGWHEEL_MANUAL && config->start)
		return -EINVAL;
	return 0;
}

static struct cogwheel_base *create_base(struct cogwheel *cw, unsigned int cpu,
					 struct wheel_config *cfg)
{
	size_t offset = ALIGN(sizeof(struct cogwheel_base), SMP_CACHE_BYTES);
	struct cogwheel_base *base;

	cfg->numa = cw->one_base ? NUMA_NO_NODE : cpu_to_node(cpu);
	cw->base_size = offset + cw->ops->size(cfg);
	base = kvzalloc_node(cw->base_size, GFP_KERNEL_ACCOUNT, cfg->numa);
	if (!base)
		return NULL;
	raw_spin_lock_init(&base->lock);
	lockdep_set_class(&base->lock, &cw->lock_key);
	expiry_lock_init(base);
	base->kind = cw->kind;
	base->cpu = cpu;
	base->online = cw->one_base;
	base->slack = cw->slack;
	base->wake = U64_MAX;
	base->cw = cw;
	base->wheel = (void *)base + offset;
	base->wheel->now = cfg->start;
	base->wheel->ops = cw->ops;
	if (cw->ops->init(base->wheel, cfg)) {
		kvfree(base);
		return NULL;
	}
	cogwheel_driver_init(base);
	INIT_WORK(&base->upkeep, upkeep);
	init_irq_work(&base->upkeep_kick, upkeep_kicked);
	return base;
}

static void destroy_base(struct cogwheel_base *base)
{
	struct wheel_node *node;
	unsigned int budget;

	cogwheel_driver_stop(base);
	do {
		raw_spin_lock_irq(&base->lock);
		for (budget = WHEEL_BATCH; budget; budget--) {
			node = base->cw->ops->first(base->wheel);
			if (!node)
				break;
			detach(base, to_timer(node), node->owner);
		}
		raw_spin_unlock_irq(&base->lock);
		cond_resched();
	} while (!budget);
	/* Taking timers out may have asked for it once more. */
	upkeep_stop(base);
	base->cw->ops->destroy(base->wheel);
	kvfree(base);
}

static void free_facility(struct cogwheel *cw)
{
	unsigned int i;

	for (i = 0; i < cw->nr_bases; i++)
		if (cw->base[i] && has_base(cw, i))
			destroy_base(cw->base[i]);
	cogwheel_pool_destroy(cw->pool);
	lockdep_unregister_key(&cw->lock_key);
	kfree(cw);
	module_put(THIS_MODULE);
}

static int create_bases(struct cogwheel *cw, struct wheel_config *cfg)
{
	unsigned int cpu, shared = cpumask_first(cpu_possible_mask);
	unsigned int bases = cw->one_base ? 1 : num_possible_cpus();

	if (cw->ops->traits & WHEEL_POOLED &&
	    cogwheel_pool_create(cw, cfg, bases))
		return -ENOMEM;
	for (cpu = 0; cpu < cw->nr_bases; cpu++) {
		if (!cw->one_base && !cpu_possible(cpu))
			continue;
		cw->base[cpu] = create_base(cw, cpu, cfg);
		if (!cw->base[cpu])
			return -ENOMEM;
	}
	for (cpu = 0; cpu < cw->nr_bases; cpu++)
		if (!cw->base[cpu])
			cw->base[cpu] = cw->base[shared];
	return 0;
}

/**
 * cogwheel_create() - make a facility
 * @config: what it should be
 *
 * Timers' functions, or the expire function, are called in softirq context
 * with interrupts on and no lock held; with COGWHEEL_MANUAL, in the context of
 * cogwheel_advance() with bottom halves off.
 *
 * Context: may sleep.
 * Return: the facility; ERR_PTR(-EINVAL) for an unknown kind or clock, or an
 * option, tick length or start out of range; ERR_PTR(-ENOMEM).
 */
struct cogwheel *cogwheel_create(const struct cogwheel_config *config)
{
	struct wheel_config cfg = {
		.start = config->start,
		.slots = config->slots,
		.levels = config->levels,
	};
	bool one = config->one_base || config->clock == COGWHEEL_MANUAL;
	unsigned int nr_bases = one ? 1 : nr_cpu_ids;
	int kind, ret;
	struct cogwheel *cw;

	kind = wheel_kind_by_name(config->kind);
	if (kind < 0)
		return ERR_PTR(kind);
	ret = check_config(config) ?: wheel_configure(kind, &cfg);
	if (ret)
		return ERR_PTR(ret);

	cw = kzalloc(struct_size(cw, base, nr_bases), GFP_KERNEL_ACCOUNT);
	if (!cw)
		return ERR_PTR(-ENOMEM);
	__module_get(THIS_MODULE);
	lockdep_register_key(&cw->lock_key);
	cw->kind = kind;
	cw->ops = wheel_kinds[kind];
	cw->slack = cw->ops->traits & WHEEL_SLACK;
	cw->clock = config->clock;
	cw->one_base = one;
	cw->extra = config->clock != COGWHEEL_MANUAL &&
		    !(cw->ops->traits & WHEEL_ROUNDS);
	cw->expire = config->expire;
	cw->data = config->data;
	cw->nr_bases = nr_bases;
	cogwheel_clock_setup(cw, config->tick_ns);
	if (config->clock != COGWHEEL_MANUAL)
		cfg.start = cogwheel_clock_now(cw);

	ret = create_bases(cw, &cfg);
	if (ret)
		goto free;
	if (one)
		return cw;
	ret = cpuhp_state_add_instance_nocalls(hp_dead, &cw->dead_node);
	if (ret)
		goto free;
	ret = cpuhp_state_add_instance(hp_online, &cw->online_node);
	if (ret)
		goto remove;
	return cw;
remove:
	cpuhp_state_remove_instance_nocalls(hp_dead, &cw->dead_node);
free:
	free_facility(cw);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(cogwheel_create);

/**
 * cogwheel_destroy() - the end of a facility
 * @cw: the facility. Nobody uses it any more, nor its timers; those that are
 *	still pending are disarmed, and functions that run are waited for.
 *
 * Context: may sleep.
 */
void cogwheel_destroy(struct cogwheel *cw)
{
	if (!cw->one_base) {
		cpuhp_state_remove_instance_nocalls(hp_online, &cw->online_node);
		cpuhp_state_remove_instance_nocalls(hp_dead, &cw->dead_node);
	}
	free_facility(cw);
}
EXPORT_SYMBOL_GPL(cogwheel_destroy);

static int __init cogwheel_init(void)
{
	int ret;

	ret = cpuhp_setup_state_multi(CPUHP_BP_PREPARE_DYN, "cogwheel:dead",
				      NULL, cpu_dead_base);
	if (ret < 0)
		return ret;
	hp_dead = ret;
	ret = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "cogwheel:online",
				      cpu_online_base, cpu_offline_base);
	if (ret < 0)
		goto remove_dead;
	hp_online = ret;
	ret = cogwheel_dev_init();
	if (ret)
		goto remove_online;
	return 0;
remove_online:
	cpuhp_remove_multi_state(hp_online);
remove_dead:
	cpuhp_remove_multi_state(hp_dead);
	return ret;
}

static void __exit cogwheel_exit(void)
{
	cogwheel_dev_exit();
	cpuhp_remove_multi_state(hp_online);
	cpuhp_remove_multi_state(hp_dead);
}

module_init(cogwheel_init);
module_exit(cogwheel_exit);
MODULE_DESCRIPTION("Timing wheels of every kind");
MODULE_LICENSE("GPL");
