// SPDX-License-Identifier: GPL-2.0
/*
 * The facility on several CPUs: a dying CPU's timers move to a live one, none
 * lost and none early; an arm from afar reaches the CPU that it is for, asleep
 * or not; and whoever cancels and waits may rely on it while the function runs
 * elsewhere.
 *
 * Needs two CPUs, and to take one of them down, one that can be taken down:
 * QEMU. With one CPU its cases are skipped. All kinds go through it side by
 * side, on each running clock.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "../cogwheel.h"
#include "../compat.h"
#include "../wheels/kinds.h"
#include "model.h"

static unsigned long long seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of the random runs; 0 picks one");

static unsigned int storm_ms = 1000;
module_param(storm_ms, uint, 0444);
MODULE_PARM_DESC(storm_ms, "how long each storm of calls lasts");

/* Only ends what has failed: guests without hardware support are slow. */
#define PATIENCE	(60 * HZ)
#define HP_TIMERS	96
#define NR_CLOCKS	2

static atomic64_t probes;
/* The CPU that is taken down, and one that stays. */
static int victim, other;

struct hp_timer {
	struct hp *hp;
	u64 due;
	u64 at;
	int cpu;		/* where it fired */
	unsigned int order;	/* how many had fired before it */
	atomic_t fires;
	struct cogwheel_timer timer;
};

struct hp {
	struct cogwheel *cw;
	const struct wheel_ops *ops;
	enum cogwheel_clock clock;
	atomic_t fired;
	unsigned int expected;
	struct completion done;
	struct hp_timer timer[HP_TIMERS];
};

static struct hp_timer *hp_of(struct cogwheel_timer *timer)
{
	return container_of(timer, struct hp_timer, timer);
}

static void hp_fired(struct cogwheel_timer *timer)
{
	struct hp_timer *t = hp_of(timer);

	t->at = cogwheel_now(t->hp->cw);
	t->cpu = raw_smp_processor_id();
	atomic_inc(&t->fires);
	t->order = atomic_inc_return(&t->hp->fired);
	if (t->order == t->hp->expected)
		complete(&t->hp->done);
}

static struct hp *hp_create(const struct wheel_ops *ops,
			    enum cogwheel_clock clock,
			    u64 (*expire)(struct cogwheel_batch *batch))
{
	struct cogwheel_config config = { .kind = ops->name, .clock = clock,
		.expire = expire,
		.tick_ns = clock == COGWHEEL_MONOTONIC ? NSEC_PER_MSEC : 0 };
	struct hp *hp = kvzalloc(sizeof(*hp), GFP_KERNEL);
	unsigned int i;

	if (!hp)
		return NULL;
	hp->cw = cogwheel_create(&config);
	if (IS_ERR(hp->cw) || cogwheel_reserve(hp->cw, HP_TIMERS)) {
		kvfree(hp);
		return NULL;
	}
	hp->ops = ops;
	hp->clock = clock;
	init_completion(&hp->done);
	for (i = 0; i < HP_TIMERS; i++) {
		hp->timer[i].hp = hp;
		/* Pinned ones cannot stay where no CPU is either. */
		cogwheel_timer_setup(&hp->timer[i].timer, hp_fired,
				     i % 3 ? 0 : COGWHEEL_PINNED);
	}
	return hp;
}

static void hp_destroy(struct hp *hp)
{
	if (!hp)
		return;
	cogwheel_destroy(hp->cw);
	kvfree(hp);
}

static void hp_arm_on(struct hp *hp, unsigned int i, u64 delay, int cpu)
{
	struct hp_timer *t = &hp->timer[i];

	atomic64_inc(&probes);
	t->due = cogwheel_due(hp->cw, delay);
	cogwheel_mod_on(hp->cw, &t->timer, t->due, cpu);
}

static void hp_expect(struct hp *hp, unsigned int nr)
{
	atomic_set(&hp->fired, 0);
	hp->expected = nr;
	reinit_completion(&hp->done);
}

/* All that were expected fire, once, and none of them early. */
static void hp_check(struct kunit *test, struct hp *hp, unsigned int nr,
		     const char *when)
{
	unsigned int i;

	wait_for_completion_timeout(&hp->done, PATIENCE);
	for (i = 0; i < nr; i++) {
		struct hp_timer *t = &hp->timer[i];

		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&t->fires), 1,
				    "%s, clock %d, timer %u, %s", hp->ops->name,
				    hp->clock, i, when);
		if (!atomic_read(&t->fires))
			continue;
		KUNIT_EXPECT_GE_MSG(test, t->at, t->due,
				    "%s, clock %d, timer %u, %s: early",
				    hp->ops->name, hp->clock, i, when);
		atomic_set(&t->fires, 0);
	}
}

/* One of each kind on each clock. */
#define NR_HP	(NR_CLOCKS * WHEEL_NR_KINDS)

static struct hp *all[NR_HP];

static int hotplug_init(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_HP; i++) {
		all[i] = hp_create(wheel_kinds[i / NR_CLOCKS],
				   i % NR_CLOCKS ? COGWHEEL_JIFFIES :
						   COGWHEEL_MONOTONIC, NULL);
		if (!all[i])
			return -ENOMEM;
	}
	return 0;
}

static void hotplug_exit(struct kunit *test)
{
	unsigned int i;

	if (victim && !cpu_online(victim))
		add_cpu(victim);
	for (i = 0; i < NR_HP; i++) {
		hp_destroy(all[i]);
		all[i] = NULL;
	}
}

static void need_two_cpus(struct kunit *test)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
}

static void take_down(struct kunit *test, int cpu)
{
	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU))
		kunit_skip(test, "needs CPUs that can be taken down");
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
}

/* ---- CPUs that come and go ---- */

/* What waits on a CPU as it dies fires on another one, neither lost nor early. */
static void a_dying_cpu_hands_over(struct kunit *test)
{
	unsigned int i, k;
	u64 rnd = seed;
	u64 *down;

	need_two_cpus(test);
	kunit_info(test, "seed=%llu\n", seed);
	down = kunit_kcalloc(test, NR_HP, sizeof(*down), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, down);
	for (i = 0; i < NR_HP; i++) {
		hp_expect(all[i], HP_TIMERS);
		for (k = 0; k < HP_TIMERS; k++)
			hp_arm_on(all[i], k, model_below(&rnd, HZ), victim);
	}
	take_down(test, victim);
	for (i = 0; i < NR_HP; i++)
		down[i] = cogwheel_now(all[i]->cw);
	for (i = 0; i < NR_HP; i++)
		hp_check(test, all[i], HP_TIMERS, "CPU down");
	for (i = 0; i < NR_HP; i++)
		for (k = 0; k < HP_TIMERS; k++)
			if (all[i]->timer[k].at > down[i])
				KUNIT_EXPECT_NE(test, all[i]->timer[k].cpu, victim);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
}

/* They are still there to be cancelled, and still in order. */
static void what_moved_is_still_pending(struct kunit *test)
{
	struct hp *hp;
	unsigned int i, k;
	u64 due;

	need_two_cpus(test);
	for (i = 0; i < NR_HP; i++)
		for (k = 0; k < HP_TIMERS; k++)
			hp_arm_on(all[i], k, k % 2 ? 1000000 : 600 * HZ, victim);
	take_down(test, victim);
	for (i = 0; i < NR_HP; i++) {
		hp = all[i];
		KUNIT_EXPECT_EQ(test, cogwheel_count(hp->cw), HP_TIMERS);
		for (k = 0; k < HP_TIMERS; k++) {
			KUNIT_EXPECT_TRUE(test, cogwheel_pending(hp->cw,
								 &hp->timer[k].timer));
			KUNIT_EXPECT_EQ(test, 1, cogwheel_cancel(hp->cw,
								 &hp->timer[k].timer));
		}
		KUNIT_EXPECT_EQ(test, cogwheel_count(hp->cw), 0);
	}
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	/* The order of arming within a tick outlives the move. */
	for (i = 0; i < NR_HP; i++) {
		hp = all[i];
		hp_expect(hp, HP_TIMERS);
		due = cogwheel_due(hp->cw, HZ);
		for (k = 0; k < HP_TIMERS; k++) {
			hp->timer[k].due = due;
			cogwheel_mod_on(hp->cw, &hp->timer[k].timer, due, victim);
		}
	}
	take_down(test, victim);
	for (i = 0; i < NR_HP; i++) {
		hp_check(test, all[i], HP_TIMERS, "CPU down");
		for (k = 0; k < HP_TIMERS; k++)
			KUNIT_EXPECT_EQ_MSG(test, all[i]->timer[k].order, k + 1,
					    "%s", all[i]->ops->name);
	}
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
}

/*
 * A CPU that has come back is woken for what is armed there, also where that is
 * later than what it had been about to wake for as it died.
 */
static void a_cpu_that_is_back_works(struct kunit *test)
{
	unsigned int i, k;

	need_two_cpus(test);
	for (i = 0; i < NR_HP; i++) {
		hp_expect(all[i], 4);
		for (k = 0; k < 4; k++)
			hp_arm_on(all[i], k, HZ / 4 + k, victim);
	}
	take_down(test, victim);
	/* For a CPU that is down, another one takes over. */
	for (i = 0; i < NR_HP; i++)
		hp_arm_on(all[i], 3, HZ / 5, victim);
	for (i = 0; i < NR_HP; i++)
		hp_check(test, all[i], 4, "CPU down");
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	for (i = 0; i < NR_HP; i++) {
		hp_expect(all[i], 4);
		for (k = 0; k < 4; k++)
			hp_arm_on(all[i], k, HZ / 10 + 7 * k, victim);
	}
	for (i = 0; i < NR_HP; i++) {
		hp_check(test, all[i], 4, "CPU back");
		for (k = 0; k < 4; k++)
			KUNIT_EXPECT_EQ_MSG(test, all[i]->timer[k].cpu, victim,
					    "%s, clock %d, timer %u",
					    all[i]->ops->name, all[i]->clock, k);
	}
	/* The same, without having waited for the old tick to pass. */
	for (i = 0; i < NR_HP; i++) {
		hp_expect(all[i], 1);
		hp_arm_on(all[i], 0, 3 * HZ, victim);
	}
	take_down(test, victim);
	KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
	for (i = 0; i < NR_HP; i++) {
		KUNIT_EXPECT_EQ(test, 1, cogwheel_cancel(all[i]->cw,
							 &all[i]->timer[0].timer));
		hp_arm_on(all[i], 0, 4 * HZ, victim);
	}
	for (i = 0; i < NR_HP; i++)
		hp_check(test, all[i], 1, "CPU back at once");
}

/* ---- from afar ---- */

/*
 * The CPU sleeps for long, or for ever; what is armed there by another one, and
 * earlier each time, is on time.
 */
static void a_remote_arm_gets_through(struct kunit *test)
{
	unsigned int i, k;

	need_two_cpus(test);
	for (i = 0; i < NR_HP; i++)
		hp_arm_on(all[i], 5, 600 * HZ, victim);
	for (i = 0; i < NR_HP; i++)
		hp_arm_on(all[i], 4, 3 * HZ, victim);
	/* It has gone to sleep by now. */
	msleep(50);
	for (i = 0; i < NR_HP; i++)
		hp_expect(all[i], 3);
	for (k = 0; k < 3; k++)
		for (i = 0; i < NR_HP; i++)
			hp_arm_on(all[i], k, HZ / 2 - k * HZ / 5, victim);
	for (i = 0; i < NR_HP; i++) {
		hp_check(test, all[i], 3, "from afar");
		for (k = 0; k < 3; k++) {
			struct hp_timer *t = &all[i]->timer[k];

			KUNIT_EXPECT_EQ_MSG(test, t->cpu, victim, "%s, clock %d",
					    all[i]->ops->name, all[i]->clock);
			/* Well before it would have woken up anyway. */
			KUNIT_EXPECT_LT_MSG(test, t->at, t->due + HZ,
					    "%s, clock %d, timer %u",
					    all[i]->ops->name, all[i]->clock, k);
		}
	}
}

/* ---- cancel and wait ---- */

struct waited {
	struct cogwheel *cw;
	struct cogwheel_timer timer;
	struct completion started;
	bool running;
	bool rearm;
	unsigned int fires;
	int cpu;
};

static void waited_fired(struct cogwheel_timer *timer)
{
	struct waited *w = container_of(timer, struct waited, timer);

	WRITE_ONCE(w->running, true);
	w->cpu = raw_smp_processor_id();
	complete(&w->started);
	mdelay(30);
	w->fires++;
	if (w->rearm)
		cogwheel_mod(w->cw, timer, 0);
	/* Nobody may look before this is done. */
	smp_mb();
	WRITE_ONCE(w->running, false);
}

static void cancel_waits_for_another_cpu(struct kunit *test)
{
	struct waited *w;
	unsigned int i;
	int cpu;

	need_two_cpus(test);
	w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w);
	cogwheel_timer_setup(&w->timer, waited_fired, 0);
	for (i = 0; i < NR_HP; i++) {
		w->cw = all[i]->cw;
		for (w->rearm = false; ; w->rearm = true) {
			cogwheel_timer_setup(&w->timer, waited_fired, 0);
			init_completion(&w->started);
			w->fires = 0;
			/* Not on this CPU. */
			cpu = get_cpu() == victim ? other : victim;
			put_cpu();
			cogwheel_arm_on(w->cw, &w->timer, 1, cpu);
			KUNIT_ASSERT_TRUE(test,
					  wait_for_completion_timeout(&w->started,
								      PATIENCE));
			KUNIT_EXPECT_EQ(test, w->cpu, cpu);
			if (w->rearm) {
				cogwheel_shutdown_sync(w->cw, &w->timer);
				KUNIT_EXPECT_EQ(test, 0,
						cogwheel_mod(w->cw, &w->timer, 0));
			} else {
				KUNIT_EXPECT_EQ(test, 0,
						cogwheel_cancel_sync(w->cw,
								     &w->timer));
				KUNIT_EXPECT_EQ(test, w->fires, 1);
			}
			KUNIT_EXPECT_FALSE(test, READ_ONCE(w->running));
			KUNIT_EXPECT_FALSE(test, cogwheel_pending(w->cw, &w->timer));
			KUNIT_EXPECT_GE(test, w->fires, 1);
			if (w->rearm)
				break;
		}
	}
}

/* ---- storms ---- */

/*
 * Threads on all CPUs call everything on a few timers. Each call says whether
 * the timer was pending, and that must add up: as many were armed that had not
 * been as were cancelled that had, or fired. And each thread has a timer of its
 * own, which must be at rest whenever it has cancelled it and waited.
 */
#define STORM_THREADS	4
#define STORM_TIMERS	8

static struct storm {
	struct cogwheel *cw;
	struct hp_timer timer[STORM_TIMERS + STORM_THREADS];
	atomic_t armed;
	atomic_t cancelled;
	atomic_t fired;
	atomic_t restless;	/* a function ran that should not have */
	bool quiet;
} *storm;

static void storm_fired(struct cogwheel_timer *timer)
{
	struct hp_timer *t = hp_of(timer);
	int nth = atomic_inc_return(&storm->fired);

	/* A timer's function never runs on two CPUs at a time. */
	if (atomic_inc_return(&t->fires) != 1)
		atomic_inc(&storm->restless);
	if (!(nth & 7) && t < &storm->timer[STORM_TIMERS] &&
	    !READ_ONCE(storm->quiet))
		atomic_add(!cogwheel_arm(storm->cw, timer, 1), &storm->armed);
	udelay(5);
	atomic_dec(&t->fires);
}

/* The same where all of a batch is taken at once: then all of it is at work. */
static u64 storm_take_all(struct cogwheel_batch *batch)
{
	struct wheel_node *const *node;
	unsigned int i, nr;

	node = cogwheel_batch_take_all(batch, &nr);
	for (i = 0; i < nr; i++)
		if (node[i] &&
		    atomic_inc_return(&hp_of(cogwheel_node_timer(node[i]))->fires) != 1)
			atomic_inc(&storm->restless);
	for (i = 0; i < nr; i++) {
		if (!node[i])
			continue;
		atomic_dec(&hp_of(cogwheel_node_timer(node[i]))->fires);
		storm_fired(cogwheel_node_timer(node[i]));
		atomic_inc(&hp_of(cogwheel_node_timer(node[i]))->fires);
	}
	udelay(5);
	for (i = 0; i < nr; i++)
		if (node[i])
			atomic_dec(&hp_of(cogwheel_node_timer(node[i]))->fires);
	return U64_MAX;
}

/* Some timers by one call, and some while the lock is held. */
static void storm_many(u64 *rnd)
{
	u64 now = cogwheel_now(storm->cw), due[STORM_TIMERS];
	struct cogwheel_timer *timer[STORM_TIMERS];
	unsigned int i, nr = 1 + model_below(rnd, STORM_TIMERS);
	struct cogwheel_hold hold;
	int ret = 0;

	for (i = 0; i < nr; i++) {
		timer[i] = &storm->timer[i].timer;
		due[i] = now + model_below(rnd, 4);
	}
	switch (model_below(rnd, 4)) {
	case 0:
		atomic_add(nr - cogwheel_mod_batch(storm->cw, timer, due, nr),
			   &storm->armed);
		break;
	case 1:
		atomic_add(cogwheel_cancel_batch(storm->cw, timer, nr),
			   &storm->cancelled);
		break;
	case 2:
		cogwheel_hold(storm->cw, &hold);
		for (i = 0; i < nr; i++)
			ret += cogwheel_mod_held(&hold, timer[i], due[i], 0);
		cogwheel_release(&hold);
		atomic_add(nr - ret, &storm->armed);
		break;
	default:
		cogwheel_hold(storm->cw, &hold);
		for (i = 0; i < nr; i++)
			ret += cogwheel_cancel_held(&hold, timer[i]);
		cogwheel_release(&hold);
		atomic_add(ret, &storm->cancelled);
		break;
	}
}

static void storm_own(struct hp_timer *t, u64 delay, int cpu)
{
	int ret;

	ret = cogwheel_arm_on(storm->cw, &t->timer, delay, cpu);
	atomic_add(!ret, &storm->armed);
	if (cpu == victim)
		udelay(delay * 300);
	ret = cogwheel_cancel_sync(storm->cw, &t->timer);
	atomic_add(ret, &storm->cancelled);
	if (atomic_read(&t->fires) || cogwheel_pending(storm->cw, &t->timer))
		atomic_inc(&storm->restless);
}

static int storm_thread(void *arg)
{
	unsigned long number = (unsigned long)arg;
	u64 rnd = seed + number;
	unsigned int calls = 0;

	while (!kthread_should_stop()) {
		struct hp_timer *t = &storm->timer[model_below(&rnd, STORM_TIMERS)];
		u64 delay = model_below(&rnd, 4);
		int cpu = model_below(&rnd, 2) ? victim : other;
		int ret;

		switch (model_below(&rnd, 12)) {
		case 0 ... 1:
			ret = cogwheel_arm(storm->cw, &t->timer, delay);
			atomic_add(!ret, &storm->armed);
			break;
		case 2 ... 3:
			ret = cogwheel_arm_on(storm->cw, &t->timer, delay, cpu);
			atomic_add(!ret, &storm->armed);
			break;
		case 4:
			ret = cogwheel_reduce(storm->cw, &t->timer,
					      cogwheel_now(storm->cw));
			atomic_add(!ret, &storm->armed);
			break;
		case 5 ... 6:
			ret = cogwheel_cancel(storm->cw, &t->timer);
			atomic_add(ret, &storm->cancelled);
			break;
		case 7 ... 8:
			ret = cogwheel_mod_lazy(storm->cw, &t->timer,
						cogwheel_now(storm->cw) + delay);
			atomic_add(!ret, &storm->armed);
			break;
		case 9:
			storm_many(&rnd);
			break;
		default:
			storm_own(&storm->timer[STORM_TIMERS + number], delay, cpu);
			break;
		}
		if (!(++calls & 63))
			cond_resched();
		if (!(calls & 1023))
			usleep_range(50, 100);
	}
	atomic64_add(calls, &probes);
	return 0;
}

static void run_storm(struct kunit *test, struct hp *hp, bool hotplug)
{
	struct task_struct *thread[STORM_THREADS];
	unsigned int i, started = 0;
	unsigned long end;

	storm = kvzalloc(sizeof(*storm), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, storm);
	storm->cw = hp->cw;
	for (i = 0; i < ARRAY_SIZE(storm->timer); i++)
		cogwheel_timer_setup(&storm->timer[i].timer, storm_fired, 0);
	for (i = 0; i < ARRAY_SIZE(thread); i++) {
		thread[i] = kthread_run(storm_thread, (void *)(unsigned long)i,
					"storm/%u", i);
		if (!IS_ERR(thread[i]))
			started++;
	}
	end = jiffies + msecs_to_jiffies(storm_ms);
	do {
		if (!hotplug) {
			msleep(20);
			continue;
		}
		KUNIT_EXPECT_EQ(test, remove_cpu(victim), 0);
		KUNIT_EXPECT_EQ(test, add_cpu(victim), 0);
	} while (time_before(jiffies, end));
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		if (!IS_ERR(thread[i]))
			kthread_stop(thread[i]);
	WRITE_ONCE(storm->quiet, true);
	/* Twice, since a function that runs may still arm its timer again. */
	for (i = 0; i < ARRAY_SIZE(storm->timer); i++)
		atomic_add(cogwheel_cancel(hp->cw, &storm->timer[i].timer) +
			   cogwheel_cancel_sync(hp->cw, &storm->timer[i].timer),
			   &storm->cancelled);
	KUNIT_EXPECT_EQ(test, started, STORM_THREADS);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&storm->armed),
			    atomic_read(&storm->cancelled) +
			    atomic_read(&storm->fired),
			    "%s, clock %d: %d armed, %d cancelled, %d fired",
			    hp->ops->name, hp->clock, atomic_read(&storm->armed),
			    atomic_read(&storm->cancelled),
			    atomic_read(&storm->fired));
	KUNIT_EXPECT_EQ(test, atomic_read(&storm->restless), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&storm->fired), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_count(hp->cw), 0);
	kvfree(storm);
	storm = NULL;
}

static void a_storm_of_calls_adds_up(struct kunit *test)
{
	unsigned int i;

	need_two_cpus(test);
	kunit_info(test, "seed=%llu\n", seed);
	for (i = 0; i < NR_HP; i++)
		run_storm(test, all[i], false);
}

static void a_storm_of_batches_adds_up(struct kunit *test)
{
	unsigned int i;
	struct hp *hp;

	need_two_cpus(test);
	kunit_info(test, "seed=%llu\n", seed);
	for (i = 0; i < WHEEL_NR_KINDS; i++) {
		hp = hp_create(wheel_kinds[i], COGWHEEL_MONOTONIC,
			       storm_take_all);
		KUNIT_ASSERT_NOT_NULL(test, hp);
		run_storm(test, hp, false);
		hp_destroy(hp);
	}
}

static void a_storm_survives_hotplug(struct kunit *test)
{
	unsigned int i;

	need_two_cpus(test);
	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU))
		kunit_skip(test, "needs CPUs that can be taken down");
	kunit_info(test, "seed=%llu\n", seed);
	for (i = 0; i < NR_HP; i++)
		run_storm(test, all[i], true);
}

/* Armed for a CPU before, while and after it is down: all fire. */
static void none_is_lost_on_the_way(struct kunit *test)
{
	unsigned int i, k, round;
	u64 rnd = seed;

	need_two_cpus(test);
	for (round = 0; round < 4; round++) {
		for (i = 0; i < NR_HP; i++) {
			hp_expect(all[i], HP_TIMERS);
			for (k = 0; k < HP_TIMERS / 2; k++)
				hp_arm_on(all[i], k, model_below(&rnd, HZ / 20),
					  victim);
		}
		take_down(test, victim);
		for (i = 0; i < NR_HP; i++)
			for (k = HP_TIMERS / 2; k < HP_TIMERS * 3 / 4; k++)
				hp_arm_on(all[i], k, model_below(&rnd, HZ / 20),
					  victim);
		KUNIT_ASSERT_EQ(test, add_cpu(victim), 0);
		for (i = 0; i < NR_HP; i++)
			for (k = HP_TIMERS * 3 / 4; k < HP_TIMERS; k++)
				hp_arm_on(all[i], k, model_below(&rnd, HZ / 20),
					  victim);
		for (i = 0; i < NR_HP; i++)
			hp_check(test, all[i], HP_TIMERS, "on and off");
	}
}

static int hotplug_suite_init(struct kunit_suite *suite)
{
	while (!seed)
		seed = get_random_u64();
	victim = cpumask_last(cpu_online_mask);
	other = cpumask_first(cpu_online_mask);
	return 0;
}

static void hotplug_suite_exit(struct kunit_suite *suite)
{
	kunit_info(suite, "%lld probes, %u CPUs, seed=%llu\n",
		   atomic64_read(&probes), num_online_cpus(), seed);
}

static struct kunit_case hotplug_cases[] = {
	KUNIT_CASE(a_dying_cpu_hands_over),
	KUNIT_CASE(what_moved_is_still_pending),
	KUNIT_CASE(a_cpu_that_is_back_works),
	KUNIT_CASE(none_is_lost_on_the_way),
	KUNIT_CASE(a_remote_arm_gets_through),
	KUNIT_CASE(cancel_waits_for_another_cpu),
	KUNIT_CASE(a_storm_of_calls_adds_up),
	KUNIT_CASE(a_storm_of_batches_adds_up),
	KUNIT_CASE(a_storm_survives_hotplug),
	{}
};

static struct kunit_suite hotplug_suite = {
	.name = "cogwheel_hotplug",
	.suite_init = hotplug_suite_init,
	.suite_exit = hotplug_suite_exit,
	.init = hotplug_init,
	.exit = hotplug_exit,
	.test_cases = hotplug_cases,
};

kunit_test_suite(hotplug_suite);

MODULE_DESCRIPTION("KUnit: the facility on CPUs that come and go");
MODULE_LICENSE("GPL");
