// SPDX-License-Identifier: GPL-2.0
/*
 * The facility (cogwheel.h): what its calls do and return, in which context
 * functions are called, what they may do there, and that running clocks are
 * never early, exact where the kind is, and silent while nothing is due.
 *
 * Everything on a manual clock is tried with each kind. What takes real time is
 * tried with all kinds side by side; in UML's virtual time, where waiting is
 * free, with delays of up to 2^20 ticks. Those are armed and waited for in
 * suite_init, since the limit that KUnit puts on a case counts virtual time.
 *
 * When exactly a kind fires is the business of cogwheel_contract_kunit.c.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/timer.h>

#include "../cogwheel.h"
#include "../compat.h"
#include "../wheels/kinds.h"
#include "model.h"
#include "timing.h"

static unsigned long long seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of the random runs; 0 picks one");

static u64 probes;
static bool virtual;

#define FX_TIMERS	256

/* A timer that notes what happens to it. */
struct ft {
	union {
		struct fx *fx;
		struct run *run;
	};
	unsigned int id;
	unsigned int fires;
	unsigned int left;	/* times that action wants to be called */
	u64 at;			/* the clock as it fired last */
	u64 armed_ns;
	u64 delay;
	u64 due;
	u64 fired_ns;
	unsigned int flaws;
	void (*action)(struct ft *ft);
	struct cogwheel_timer timer;
};

/* A facility and its timers. */
struct fx {
	struct kunit *test;
	const struct wheel_ops *ops;
	struct cogwheel *cw;
	struct ft ft[FX_TIMERS];
	unsigned int order[4 * FX_TIMERS];
	unsigned int nr;	/* how many fires are in order[] */
	unsigned int takes;	/* for expire: how many to take of a batch */
	u64 limit;		/* for expire: what to return */
	unsigned int batches;
	u64 rnd;
	unsigned int flaws;	/* what a callback saw and should not have seen */
	int results[8];		/* what it got */
};

static struct ft *ft_of(struct cogwheel_timer *timer)
{
	return container_of(timer, struct ft, timer);
}

/* Callbacks run in softirq context, or as good as that, with interrupts on. */
static bool context_is_right(void)
{
	return in_softirq() && !in_hardirq() && !irqs_disabled();
}

static void ft_fired(struct cogwheel_timer *timer)
{
	struct ft *ft = ft_of(timer);
	struct fx *fx = ft->fx;

	ft->at = cogwheel_now(fx->cw);
	ft->fires++;
	if (fx->nr < ARRAY_SIZE(fx->order))
		fx->order[fx->nr++] = ft->id;
	if (!context_is_right() || cogwheel_pending(fx->cw, timer))
		fx->flaws++;
	if (ft->action)
		ft->action(ft);
}

static int facility_init(struct kunit *test)
{
	const struct wheel_ops *const *param = test->param_value;
	struct fx *fx;

	fx = kvzalloc(sizeof(*fx), GFP_KERNEL);
	if (!fx)
		return -ENOMEM;
	test->priv = fx;
	fx->test = test;
	fx->ops = param ? *param : wheel_kinds[0];
	fx->limit = U64_MAX;
	fx->rnd = seed;
	return 0;
}

static void facility_exit(struct kunit *test)
{
	struct fx *fx = test->priv;

	if (!fx)
		return;
	if (!IS_ERR_OR_NULL(fx->cw))
		cogwheel_destroy(fx->cw);
	kvfree(fx);
}

static void kind_name(const struct wheel_ops *const *ops, char *desc)
{
	strscpy(desc, (*ops)->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, wheel_kinds, kind_name);

/* A facility of fx->ops, and fresh timers for it. */
static void fx_create(struct fx *fx, struct cogwheel_config *config)
{
	unsigned int i;

	config->kind = fx->ops->name;
	fx->cw = cogwheel_create(config);
	KUNIT_ASSERT_FALSE_MSG(fx->test, IS_ERR(fx->cw), "%s: %ld",
			       fx->ops->name, PTR_ERR(fx->cw));
	KUNIT_ASSERT_EQ(fx->test, cogwheel_reserve(fx->cw, FX_TIMERS), 0);
	for (i = 0; i < FX_TIMERS; i++) {
		fx->ft[i].fx = fx;
		fx->ft[i].id = i;
		cogwheel_timer_setup(&fx->ft[i].timer,
				     config->expire ? NULL : ft_fired, 0);
	}
}

static void fx_manual(struct fx *fx, u64 start)
{
	struct cogwheel_config config = {
		.clock = COGWHEEL_MANUAL, .start = start };

	fx_create(fx, &config);
}

static int fx_mod(struct fx *fx, unsigned int i, u64 expires)
{
	probes++;
	return cogwheel_mod(fx->cw, &fx->ft[i].timer, expires);
}

static void fx_advance(struct fx *fx, u64 to)
{
	u64 reached = 0;

	KUNIT_ASSERT_EQ(fx->test, cogwheel_advance(fx->cw, to, &reached), 0);
	KUNIT_ASSERT_EQ(fx->test, reached, to);
	KUNIT_ASSERT_EQ(fx->test, cogwheel_now(fx->cw), to);
}

/* The fires so far must be those, in that order. */
static void fx_expect(struct fx *fx, const unsigned int *ids, unsigned int nr)
{
	unsigned int i;

	KUNIT_ASSERT_EQ(fx->test, fx->nr, nr);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ_MSG(fx->test, fx->order[i], ids[i],
				    "fire number %u", i);
	KUNIT_EXPECT_EQ(fx->test, fx->flaws, 0);
}

#define fx_expect_ids(fx, ...)						\
do {									\
	const unsigned int ids[] = { __VA_ARGS__ };			\
									\
	fx_expect(fx, ids, ARRAY_SIZE(ids));				\
} while (0)

/* Far enough for a timer of that due tick to fire on any kind. */
static u64 past(u64 now, u64 due)
{
	return due + (due - now) / 4 + 80;
}

/* ---- calls, on a manual clock ---- */

static void arm_move_cancel(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_timer *t = &fx->ft[0].timer;

	fx_manual(fx, 1000);
	KUNIT_EXPECT_FALSE(test, cogwheel_pending(fx->cw, t));
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, t), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_fires(fx->cw, t), WHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel(fx->cw, t), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel_sync(fx->cw, t), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_next(fx->cw), WHEEL_NEVER);

	KUNIT_EXPECT_EQ(test, fx_mod(fx, 0, 1010), 0);
	KUNIT_EXPECT_TRUE(test, cogwheel_pending(fx->cw, t));
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, t), 10);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 1);
	KUNIT_EXPECT_EQ(test, fx_mod(fx, 0, 1020), 1);
	KUNIT_EXPECT_EQ(test, fx_mod(fx, 0, 1020), 1);
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, t), 20);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 1);
	KUNIT_EXPECT_GE(test, cogwheel_fires(fx->cw, t), 1020);
	KUNIT_EXPECT_GT(test, cogwheel_next(fx->cw), 1000);
	fx_advance(fx, 1015);
	KUNIT_EXPECT_EQ(test, fx->nr, 0);
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, t), 5);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel(fx->cw, t), 1);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel(fx->cw, t), 0);
	KUNIT_EXPECT_FALSE(test, cogwheel_pending(fx->cw, t));
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 0);
	fx_advance(fx, 2000);
	KUNIT_EXPECT_EQ(test, fx->nr, 0);

	KUNIT_EXPECT_EQ(test, cogwheel_arm(fx->cw, t, 7), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, t), 7);
	fx_advance(fx, 2006);
	KUNIT_EXPECT_EQ(test, fx->nr, 0);
	fx_advance(fx, 2100);
	fx_expect_ids(fx, 0);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel_sync(fx->cw, t), 0);

	/* Pending again, on its way out. */
	fx_mod(fx, 0, 2200);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel_sync(fx->cw, t), 1);
	fx_advance(fx, 2400);
	fx_expect_ids(fx, 0);
}

/* Arming for the tick that it has changes nothing, its place in the order least. */
static void same_due_tick_keeps_its_place(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_manual(fx, 0);
	fx_mod(fx, 0, 50);
	fx_mod(fx, 1, 50);
	KUNIT_EXPECT_EQ(test, fx_mod(fx, 0, 50), 1);
	fx_mod(fx, 2, 50);
	/* Moved away and back it is the last armed. */
	fx_mod(fx, 1, 51);
	fx_mod(fx, 1, 50);
	fx_advance(fx, past(0, 50));
	fx_expect_ids(fx, 0, 2, 1);
}

static void reduce_only_makes_earlier(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_timer *t = &fx->ft[0].timer;

	fx_manual(fx, 0);
	KUNIT_EXPECT_EQ(test, cogwheel_reduce(fx->cw, t, 1000), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, t), 1000);
	KUNIT_EXPECT_EQ(test, cogwheel_reduce(fx->cw, t, 2000), 1);
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, t), 1000);
	KUNIT_EXPECT_EQ(test, cogwheel_reduce(fx->cw, t, 100), 1);
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, t), 100);
	fx_advance(fx, past(0, 100));
	fx_expect_ids(fx, 0);
	/* An idle timer's last due tick counts for nothing. */
	KUNIT_EXPECT_EQ(test, cogwheel_reduce(fx->cw, t, 5000), 0);
	fx_advance(fx, 10000);
	fx_expect_ids(fx, 0, 0);
}

static void shut_down_for_good(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_timer *t = &fx->ft[0].timer;

	fx_manual(fx, 0);
	fx_mod(fx, 0, 10);
	KUNIT_EXPECT_EQ(test, cogwheel_shutdown(fx->cw, t), 1);
	KUNIT_EXPECT_EQ(test, cogwheel_shutdown_sync(fx->cw, t), 0);
	KUNIT_EXPECT_EQ(test, fx_mod(fx, 0, 20), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_reduce(fx->cw, t, 20), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_mod_on(fx->cw, t, 20, 0), 0);
	KUNIT_EXPECT_FALSE(test, cogwheel_pending(fx->cw, t));
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 0);
	fx_advance(fx, 100);
	KUNIT_EXPECT_EQ(test, fx->nr, 0);
	/* Until it is set up again. */
	cogwheel_timer_setup(t, ft_fired, 0);
	KUNIT_EXPECT_EQ(test, fx_mod(fx, 0, 200), 0);
	fx_advance(fx, 400);
	fx_expect_ids(fx, 0);
	/* From its own function, too. */
	KUNIT_EXPECT_EQ(test, fx_mod(fx, 1, 500), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_shutdown_sync(fx->cw, &fx->ft[1].timer), 1);
}

static void sums_saturate(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_manual(fx, U64_MAX - 10);
	KUNIT_EXPECT_EQ(test, cogwheel_due(fx->cw, 5), U64_MAX - 5);
	KUNIT_EXPECT_EQ(test, cogwheel_due(fx->cw, 10), U64_MAX);
	KUNIT_EXPECT_EQ(test, cogwheel_due(fx->cw, 11), U64_MAX);
	KUNIT_EXPECT_EQ(test, cogwheel_due(fx->cw, U64_MAX), U64_MAX);
	cogwheel_arm(fx->cw, &fx->ft[0].timer, U64_MAX);
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fx->cw, &fx->ft[0].timer), 10);
	fx_advance(fx, U64_MAX);
	fx_expect_ids(fx, 0);
	/* What is armed now never fires, and nobody is woken for it. */
	cogwheel_arm(fx->cw, &fx->ft[1].timer, 1);
	KUNIT_EXPECT_EQ(test, cogwheel_next(fx->cw), WHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, cogwheel_fires(fx->cw, &fx->ft[1].timer), WHEEL_NEVER);
	fx_advance(fx, U64_MAX);
	fx_expect_ids(fx, 0);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel(fx->cw, &fx->ft[1].timer), 1);
}

static void advance_refuses(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 reached = 0;

	fx_manual(fx, 500);
	KUNIT_EXPECT_EQ(test, cogwheel_advance(fx->cw, 499, &reached), -EINVAL);
	KUNIT_EXPECT_EQ(test, reached, 500);
	fx_advance(fx, 500);
	fx_advance(fx, 501);
	cogwheel_destroy(fx->cw);
	fx_create(fx, &(struct cogwheel_config) { .clock = COGWHEEL_JIFFIES });
	KUNIT_EXPECT_EQ(test, cogwheel_advance(fx->cw, U64_MAX, &reached), -EINVAL);
}

/* ---- what a function may do ---- */

static void rearm_self(struct ft *ft)
{
	if (ft->left-- > 1)
		cogwheel_mod(ft->fx->cw, &ft->timer, ft->at + 1);
}

static void function_arms_its_own_timer(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_manual(fx, 0);
	fx->ft[3].action = rearm_self;
	fx->ft[3].left = 100;
	fx_mod(fx, 3, 5);
	fx_advance(fx, 1000);
	KUNIT_EXPECT_EQ(test, fx->ft[3].fires, 100);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 0);
	KUNIT_EXPECT_EQ(test, fx->flaws, 0);
}

static void arm_overdue(struct ft *ft)
{
	struct fx *fx = ft->fx;

	/* Itself and another, for the running tick and for long ago. */
	if (ft->left-- > 1)
		cogwheel_mod(fx->cw, &ft->timer, ft->at);
	/* Pending by the second time: nothing may change, it fires after us. */
	cogwheel_mod(fx->cw, &fx->ft[9].timer, 0);
}

/* Overdue is the next tick, also from within a tick: nothing fires for ever. */
static void function_arms_overdue(struct kunit *test)
{
	struct fx *fx = test->priv;
	u64 first;

	fx_manual(fx, 0);
	fx->ft[3].action = arm_overdue;
	fx->ft[3].left = 10;
	fx_mod(fx, 3, 5);
	first = 0;
	while (!fx->nr)
		fx_advance(fx, ++first);
	KUNIT_EXPECT_EQ(test, fx->ft[3].at, first);
	fx_expect_ids(fx, 3);
	fx_advance(fx, first + 1);
	fx_expect_ids(fx, 3, 3, 9);
	KUNIT_EXPECT_EQ(test, fx->ft[9].at, first + 1);
	fx_advance(fx, first + 20);
	KUNIT_EXPECT_EQ(test, fx->ft[3].fires, 10);
	/* Armed on every second tick: pending on those between. */
	KUNIT_EXPECT_EQ(test, fx->ft[9].fires, 5);
}

static void disturb_batch(struct ft *ft)
{
	struct fx *fx = ft->fx;

	/* 1 is in the batch, 2 too; 150 is still in its slot. */
	fx->results[0] = cogwheel_cancel(fx->cw, &fx->ft[1].timer);
	fx->results[1] = cogwheel_pending(fx->cw, &fx->ft[1].timer);
	fx->results[2] = cogwheel_pending(fx->cw, &fx->ft[2].timer);
	fx->results[3] = cogwheel_mod(fx->cw, &fx->ft[2].timer, ft->at + 1000);
	fx->results[4] = cogwheel_cancel(fx->cw, &fx->ft[150].timer);
	fx->results[5] = cogwheel_cancel(fx->cw, &fx->ft[1].timer);
	fx->results[6] = cogwheel_mod(fx->cw, &fx->ft[160].timer, ft->at + 900);
	/* Armed again after its cancel, it comes as one armed now. */
	fx->results[7] = cogwheel_mod(fx->cw, &fx->ft[150].timer, ft->at + 1);
}

/* Others of the same tick can be cancelled and moved until their turn comes. */
static void function_cancels_others(struct kunit *test)
{
	static const int want[] = { 1, 0, 1, 1, 1, 0, 1, 0 };
	struct fx *fx = test->priv;
	unsigned int i;

	fx_manual(fx, 0);
	fx->ft[0].action = disturb_batch;
	for (i = 0; i < 200; i++)
		fx_mod(fx, i, 40);
	for (i = 1; !fx->nr; i++)
		fx_advance(fx, i);
	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ_MSG(test, fx->results[i], want[i], "result %u", i);
	KUNIT_EXPECT_EQ(test, fx->nr, 196);
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_EQ_MSG(test, fx->ft[i].fires,
				    i != 1 && i != 2 && i != 150 && i != 160,
				    "timer %u", i);
	fx_advance(fx, 2000);
	KUNIT_EXPECT_EQ(test, fx->ft[1].fires, 0);
	KUNIT_EXPECT_EQ(test, fx->ft[2].fires, 1);
	KUNIT_EXPECT_EQ(test, fx->ft[150].fires, 1);
	KUNIT_EXPECT_EQ(test, fx->ft[160].fires, 1);
	KUNIT_EXPECT_LT(test, fx->ft[150].at, fx->ft[160].at);
	KUNIT_EXPECT_EQ(test, fx->flaws, 0);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 0);
}

static unsigned int freed;

static void free_self(struct cogwheel_timer *timer)
{
	freed++;
	kfree(ft_of(timer));
}

/*
 * A timer may be freed in its own function. It is allocated as short as the
 * kind allows, so that a checker sees who looks at it afterwards, or beyond it.
 */
static void function_frees_its_timer(struct kunit *test)
{
	struct fx *fx = test->priv;
	unsigned int i;
	size_t size;

	fx_manual(fx, 0);
	freed = 0;
	size = offsetof(struct ft, timer) + cogwheel_timer_size(fx->cw);
	KUNIT_ASSERT_LE(test, size, sizeof(struct ft));
	for (i = 0; i < 200; i++) {
		struct ft *ft = kzalloc(size, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, ft);
		cogwheel_timer_setup(&ft->timer, free_self, 0);
		cogwheel_mod(fx->cw, &ft->timer, 10 + i / 100);
	}
	fx_advance(fx, 100);
	KUNIT_EXPECT_EQ(test, freed, 200);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 0);
}

static void nest(struct ft *ft)
{
	u64 reached;

	ft->fx->results[0] = cogwheel_advance(ft->fx->cw, ft->at + 1, &reached);
}

static void function_cannot_advance(struct kunit *test)
{
	struct fx *fx = test->priv;

	fx_manual(fx, 0);
	fx->ft[0].action = nest;
	fx_mod(fx, 0, 1);
	fx_advance(fx, 10);
	fx_expect_ids(fx, 0);
	KUNIT_EXPECT_EQ(test, fx->results[0], -EBUSY);
}

/* ---- batches ---- */

static u64 take_some(struct cogwheel_batch *batch)
{
	struct fx *fx = batch->data;
	struct cogwheel_timer *timer;
	unsigned int i;

	fx->batches++;
	if (batch->cw != fx->cw || !context_is_right() ||
	    batch->tick != cogwheel_now(fx->cw))
		fx->flaws++;
	for (i = 0; i < fx->takes; i++) {
		timer = cogwheel_batch_take(batch);
		if (!timer)
			break;
		ft_of(timer)->at = batch->tick;
		ft_of(timer)->fires++;
		fx->order[fx->nr++] = ft_of(timer)->id;
		if (ft_of(timer)->action)
			ft_of(timer)->action(ft_of(timer));
	}
	return fx->limit == U64_MAX ? U64_MAX : batch->tick;
}

static void fx_batches(struct fx *fx)
{
	fx_create(fx, &(struct cogwheel_config) {
		.clock = COGWHEEL_MANUAL, .expire = take_some, .data = fx });
	fx->takes = FX_TIMERS;
}

/* All of a tick is handed over, in order, 64 at most at a time. */
static void batch_is_taken(struct kunit *test)
{
	struct fx *fx = test->priv;
	unsigned int i;

	fx_batches(fx);
	for (i = 0; i < 200; i++)
		fx_mod(fx, i, 30);
	fx_advance(fx, past(0, 30));
	KUNIT_EXPECT_EQ(test, fx->nr, 200);
	KUNIT_EXPECT_GE(test, fx->batches, 4);
	for (i = 0; i < 200; i++)
		KUNIT_ASSERT_EQ(test, fx->order[i], i);
	KUNIT_EXPECT_EQ(test, fx->flaws, 0);
}

/* What is left in a batch fires again on the next tick, in order. */
static void batch_is_left(struct kunit *test)
{
	struct fx *fx = test->priv;
	unsigned int i;
	u64 first;

	fx_batches(fx);
	fx->takes = 2;
	for (i = 0; i < 5; i++)
		fx_mod(fx, i, 30);
	for (first = 1; !fx->nr; first++)
		fx_advance(fx, first);
	fx_expect_ids(fx, 0, 1);
	KUNIT_EXPECT_TRUE(test, cogwheel_pending(fx->cw, &fx->ft[2].timer));
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 3);
	fx_advance(fx, first);
	fx_expect_ids(fx, 0, 1, 2, 3);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel(fx->cw, &fx->ft[4].timer), 1);
	fx_advance(fx, first + 10);
	fx_expect_ids(fx, 0, 1, 2, 3);
}

/* An expire function can stop an advance after its tick. */
static void batch_limits_an_advance(struct kunit *test)
{
	struct fx *fx = test->priv;
	unsigned int i;
	u64 reached;

	fx_batches(fx);
	fx->limit = 0;
	for (i = 0; i < 100; i++)
		fx_mod(fx, i, 30 + 100 * (i / 50));
	KUNIT_ASSERT_EQ(test, cogwheel_advance(fx->cw, 10000, &reached), 0);
	/* The whole tick, but nothing of the next. */
	KUNIT_EXPECT_EQ(test, fx->nr, 50);
	KUNIT_EXPECT_EQ(test, reached, fx->ft[0].at);
	KUNIT_EXPECT_EQ(test, cogwheel_now(fx->cw), reached);
	KUNIT_ASSERT_EQ(test, cogwheel_advance(fx->cw, 10000, &reached), 0);
	KUNIT_EXPECT_EQ(test, fx->nr, 100);
	KUNIT_EXPECT_EQ(test, reached, fx->ft[99].at);
	KUNIT_EXPECT_EQ(test, fx->flaws, 0);
}

static void cancel_next_in_batch(struct ft *ft)
{
	ft->fx->results[2] = cogwheel_count(ft->fx->cw);
	ft->fx->results[0] = cogwheel_cancel(ft->fx->cw,
					     &ft->fx->ft[ft->id + 1].timer);
	/* Taken ones are idle. */
	ft->fx->results[1] = cogwheel_cancel(ft->fx->cw, &ft->timer);
}

static void batch_can_be_cancelled(struct kunit *test)
{
	struct fx *fx = test->priv;
	unsigned int i;

	fx_batches(fx);
	fx->ft[1].action = cancel_next_in_batch;
	for (i = 0; i < 4; i++)
		fx_mod(fx, i, 30);
	fx_advance(fx, past(0, 30));
	fx_expect_ids(fx, 0, 1, 3);
	KUNIT_EXPECT_EQ(test, fx->results[0], 1);
	KUNIT_EXPECT_EQ(test, fx->results[1], 0);
	/* The two that had not been taken were pending. */
	KUNIT_EXPECT_EQ(test, fx->results[2], 2);
}

/* ---- other ways to have a timer ---- */

static unsigned int static_fires;

static void static_fired(struct cogwheel_timer *timer)
{
	static_fires++;
}

static DEFINE_COGWHEEL_TIMER(static_timer, static_fired);

static void static_and_on_stack(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_timer on_stack;

	fx_manual(fx, 0);
	static_fires = 0;
	KUNIT_EXPECT_FALSE(test, cogwheel_pending(fx->cw, &static_timer));
	KUNIT_EXPECT_EQ(test, cogwheel_cancel(fx->cw, &static_timer), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_mod(fx->cw, &static_timer, 10), 0);
	cogwheel_timer_setup_on_stack(&on_stack, static_fired, 0);
	KUNIT_EXPECT_EQ(test, cogwheel_mod(fx->cw, &on_stack, 10), 0);
	fx_advance(fx, 100);
	KUNIT_EXPECT_EQ(test, static_fires, 2);
	cogwheel_mod(fx->cw, &on_stack, 200);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel_sync(fx->cw, &on_stack), 1);
	cogwheel_timer_destroy_on_stack(&on_stack);
	cogwheel_mod(fx->cw, &static_timer, 200);
	KUNIT_EXPECT_EQ(test, cogwheel_cancel_sync(fx->cw, &static_timer), 1);
}

/* Destroying a facility disarms what is pending; nothing fires any more. */
static void destroy_disarms(struct kunit *test)
{
	struct fx *fx = test->priv;
	enum cogwheel_clock clock;
	unsigned int i;

	for (clock = COGWHEEL_MANUAL; clock < COGWHEEL_NR_CLOCKS; clock++) {
		fx_create(fx, &(struct cogwheel_config) {
			.clock = clock, .tick_ns = clock == COGWHEEL_MONOTONIC ?
						   NSEC_PER_MSEC : 0 });
		for (i = 0; i < FX_TIMERS; i++)
			cogwheel_arm(fx->cw, &fx->ft[i].timer,
				     i % 2 ? 2 : 1000000 + i);
		cogwheel_destroy(fx->cw);
		fx->cw = NULL;
		i = fx->nr;
		msleep(20);
		KUNIT_EXPECT_EQ(test, fx->nr, i);
		fx->nr = 0;
	}
}

struct seen {
	unsigned int nr;
	unsigned int more;
	bool timer[FX_TIMERS];
};

static void note_item(struct wheel_item *item, void *data)
{
	struct ft *ft = ft_of(container_of(item->node, struct cogwheel_timer, node));
	struct seen *seen = data;

	seen->timer[ft->id] = true;
	seen->nr++;
	seen->more += item->more;
}

static void walk_and_stats(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct wheel_geometry g = {};
	struct cogwheel_stats stats;
	struct wheel_walk pos = {};
	struct wheel_item *items;
	struct seen *seen;
	unsigned int i;

	items = kunit_kcalloc(test, WHEEL_BATCH, sizeof(*items), GFP_KERNEL);
	seen = kunit_kzalloc(test, sizeof(*seen), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, items);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	fx_manual(fx, 0);
	/* No more than a single slot can show. */
	for (i = 0; i < WHEEL_BATCH; i++)
		fx_mod(fx, i, 10 + i * i);
	while (cogwheel_walk(fx->cw, 0, &pos, items, WHEEL_BATCH, note_item, seen))
		;
	KUNIT_EXPECT_EQ(test, seen->nr, WHEEL_BATCH);
	for (i = 0; i < WHEEL_BATCH; i++)
		KUNIT_EXPECT_TRUE(test, seen->timer[i]);
	/* There is one base only. */
	memset(&pos, 0, sizeof(pos));
	KUNIT_EXPECT_EQ(test, 0, cogwheel_walk(fx->cw, 1, &pos, items,
					       WHEEL_BATCH, NULL, NULL));
	cogwheel_geometry(fx->cw, &g);
	KUNIT_EXPECT_GE(test, g.levels, 1);
	KUNIT_EXPECT_GE(test, g.slots, 1);
	KUNIT_EXPECT_PTR_EQ(test, cogwheel_kind(fx->cw), fx->ops);
	fx_advance(fx, 1000);
	cogwheel_stats(fx->cw, &stats);
	KUNIT_EXPECT_EQ(test, stats.bases, 1);
	KUNIT_EXPECT_EQ(test, stats.fired, fx->nr);
	KUNIT_EXPECT_EQ(test, stats.pending, WHEEL_BATCH - fx->nr);
	KUNIT_EXPECT_GT(test, stats.base_size, 0);
	KUNIT_EXPECT_GT(test, stats.fired, 0);
}

/*
 * Settled, a wheel holds still: a walk that is interrupted between its steps
 * meets each timer once, and all of them but for those in slots that it cut
 * off. What is to be settled is that a kind grows, or shrinks again.
 */
static void settled_wheels_hold_still(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct wheel_geometry before = {}, after = {};
	struct wheel_item *items;
	unsigned int i, k, met;
	struct seen *seen;

	items = kunit_kcalloc(test, WHEEL_BATCH, sizeof(*items), GFP_KERNEL);
	seen = kunit_kzalloc(test, sizeof(*seen), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, items);
	KUNIT_ASSERT_NOT_NULL(test, seen);
	fx_manual(fx, 0);
	for (i = 0; i < FX_TIMERS; i++)
		fx_mod(fx, i, 100 + i);
	for (k = 0; k < 2; k++) {
		struct wheel_walk pos = {};

		cogwheel_settle(fx->cw);
		cogwheel_geometry(fx->cw, &before);
		memset(seen, 0, sizeof(*seen));
		while (cogwheel_walk(fx->cw, 0, &pos, items, WHEEL_BATCH,
				     note_item, seen))
			msleep(20);
		cogwheel_geometry(fx->cw, &after);
		KUNIT_EXPECT_EQ(test, 0, memcmp(&before, &after, sizeof(before)));
		for (i = met = 0; i < FX_TIMERS; i++)
			met += seen->timer[i];
		KUNIT_EXPECT_EQ(test, seen->nr, met);
		if (!seen->more)
			KUNIT_EXPECT_EQ(test, met, k ? 10 : FX_TIMERS);
		for (i = 10; i < FX_TIMERS; i++)
			cogwheel_cancel(fx->cw, &fx->ft[i].timer);
	}
}

/* Threads that settle, at the same time. */
struct settlers {
	struct cogwheel *cw;
	struct completion gone;
	atomic_t left;
	bool stop;
};

static int settle_again_and_again(void *data)
{
	struct settlers *s = data;

	while (!READ_ONCE(s->stop)) {
		cogwheel_settle(s->cw);
		cond_resched();
	}
	if (atomic_dec_and_test(&s->left))
		complete(&s->gone);
	return 0;
}

/* None of them waits for ever, while a kind grows and shrinks. */
static void several_may_settle(struct kunit *test)
{
	/* If one hangs after all, it is not to be left without this. */
	static struct settlers settlers;
	struct settlers *s = &settlers;
	struct fx *fx = test->priv;
	unsigned int i, k;

	if (virtual)
		kunit_skip(test, "no time passes while threads are busy");
	fx_manual(fx, 0);
	*s = (struct settlers) { .cw = fx->cw };
	init_completion(&s->gone);
	for (i = 0; i < 3; i++) {
		struct task_struct *thread =
			kthread_run(settle_again_and_again, s, "settle/%u", i);

		if (!IS_ERR(thread))
			atomic_inc(&s->left);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&s->left), 3);
	for (k = 0; k < 10; k++) {
		for (i = 0; i < FX_TIMERS; i++)
			fx_mod(fx, i, 100 + i);
		msleep(20);
		for (i = 10; i < FX_TIMERS; i++)
			cogwheel_cancel(fx->cw, &fx->ft[i].timer);
		msleep(20);
	}
	WRITE_ONCE(s->stop, true);
	KUNIT_EXPECT_NE(test, 0UL,
			wait_for_completion_timeout(&s->gone, 10 * HZ));
}

/* Interrupts are off for a time that is measured only if somebody asks. */
static void irqs_off_is_measured(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_stats stats;
	unsigned int i, k;

	fx_manual(fx, 0);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < FX_TIMERS; i++)
			fx_mod(fx, i, cogwheel_now(fx->cw) + 10);
		if (k)
			cogwheel_measure(true);
		fx_advance(fx, cogwheel_now(fx->cw) + 100);
		if (k)
			cogwheel_measure(false);
		cogwheel_stats(fx->cw, &stats);
		if (!k)
			KUNIT_EXPECT_EQ(test, stats.irqoff_max_ns, 0);
	}
	if (!virtual)
		KUNIT_EXPECT_GT(test, stats.irqoff_max_ns, 0);
}

/* At random, through all calls, against the sorted list. */
static void random_calls(struct kunit *test)
{
	struct fx *fx = test->priv;
	unsigned int i, k, checked = 0;
	struct model_timer *mt;
	struct wheel_geometry g;
	struct model *model;
	struct ft *ft;
	u64 due, to, at;
	bool was;

	kunit_info(test, "seed=%llu\n", seed);
	mt = kunit_kcalloc(test, FX_TIMERS, sizeof(*mt), GFP_KERNEL);
	model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mt);
	KUNIT_ASSERT_NOT_NULL(test, model);
	fx_manual(fx, BIT_ULL(36) - 5000);
	cogwheel_geometry(fx->cw, &g);
	model_init(model, fx->ops->traits & WHEEL_ROUNDS ? g.levels : 0);
	for (i = 0; i < 30000; i++) {
		k = model_below(&fx->rnd, FX_TIMERS);
		ft = &fx->ft[k];
		was = mt[k].pending;
		at = cogwheel_now(fx->cw);
		due = at + (model_log_uniform(&fx->rnd) >> 44);
		KUNIT_ASSERT_EQ(test, cogwheel_pending(fx->cw, &ft->timer), was);
		switch (model_below(&fx->rnd, 8)) {
		case 0 ... 2:
			KUNIT_ASSERT_EQ(test, fx_mod(fx, k, due), was);
			if (was && mt[k].due == due)
				break;
			if (was)
				model_cancel(model, &mt[k]);
			model_arm(model, &mt[k], at, due);
			break;
		case 3:
			KUNIT_ASSERT_EQ(test, cogwheel_reduce(fx->cw, &ft->timer,
							      due), was);
			if (was && mt[k].due <= due)
				break;
			if (was)
				model_cancel(model, &mt[k]);
			model_arm(model, &mt[k], at, due);
			break;
		case 4:
			KUNIT_ASSERT_EQ(test, cogwheel_cancel(fx->cw, &ft->timer),
					was);
			if (was)
				model_cancel(model, &mt[k]);
			break;
		case 5:
			KUNIT_ASSERT_EQ(test,
					cogwheel_cancel_sync(fx->cw, &ft->timer),
					was);
			if (was)
				model_cancel(model, &mt[k]);
			break;
		default:
			to = at + (model_log_uniform(&fx->rnd) >> 48);
			fx->nr = 0;
			fx_advance(fx, to);
			KUNIT_ASSERT_LE(test, fx->nr, (unsigned int)FX_TIMERS);
			for (k = 0; k < fx->nr; k++) {
				struct model_timer *want = model_pop(model, to);

				KUNIT_ASSERT_PTR_EQ(test, want,
						    &mt[fx->order[k]]);
				checked++;
			}
			KUNIT_ASSERT_PTR_EQ(test, model_next(model, to), NULL);
			break;
		}
		KUNIT_ASSERT_EQ(test, cogwheel_count(fx->cw), model->nr);
	}
	KUNIT_EXPECT_EQ(test, fx->flaws, 0);
	KUNIT_EXPECT_GT(test, checked, 1000);
	probes += checked;
}

/* ---- creating one ---- */

static void creation_is_checked(struct kunit *test)
{
	static const struct {
		const char *what;
		struct cogwheel_config config;
		int error;
	} tries[] = {
		{ "no such kind", { .kind = "square" }, -EINVAL },
		{ "empty kind", { .kind = "" }, -EINVAL },
		{ "a clock that is none", { .clock = COGWHEEL_NR_CLOCKS }, -EINVAL },
		{ "a clock that is negative", { .clock = -1 }, -EINVAL },
		{ "no tick length", { .clock = COGWHEEL_MONOTONIC }, -EINVAL },
		{ "tick too short", { .clock = COGWHEEL_MONOTONIC,
				      .tick_ns = COGWHEEL_TICK_NS_MIN - 1 }, -EINVAL },
		{ "tick too long", { .clock = COGWHEEL_MONOTONIC,
				     .tick_ns = COGWHEEL_TICK_NS_MAX + 1 }, -EINVAL },
		{ "tick length of jiffies", { .clock = COGWHEEL_JIFFIES,
					      .tick_ns = TICK_NSEC }, -EINVAL },
		{ "tick length of manual", { .tick_ns = 1000 }, -EINVAL },
		{ "start of jiffies", { .clock = COGWHEEL_JIFFIES, .start = 1 },
		  -EINVAL },
		{ "start of monotonic", { .clock = COGWHEEL_MONOTONIC, .start = 1,
					  .tick_ns = 1000 }, -EINVAL },
		{ "slots of nobody", { .slots = U32_MAX }, -EINVAL },
		{ "levels of nobody", { .levels = U32_MAX }, -EINVAL },
		{ "shortest tick", { .clock = COGWHEEL_MONOTONIC,
				     .tick_ns = COGWHEEL_TICK_NS_MIN }, 0 },
		{ "longest tick", { .clock = COGWHEEL_MONOTONIC,
				    .tick_ns = COGWHEEL_TICK_NS_MAX }, 0 },
		{ "last start", { .start = U64_MAX }, 0 },
		{ "one base", { .clock = COGWHEEL_JIFFIES, .one_base = true }, 0 },
	};
	struct fx *fx = test->priv;
	struct cogwheel_config config;
	struct cogwheel_stats stats;
	struct cogwheel *cw;
	unsigned int i;
	int error;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		config = tries[i].config;
		if (!config.kind)
			config.kind = fx->ops->name;
		cw = cogwheel_create(&config);
		error = IS_ERR(cw) ? PTR_ERR(cw) : 0;
		KUNIT_EXPECT_EQ_MSG(test, error, tries[i].error, "%s",
				    tries[i].what);
		if (error)
			continue;
		cogwheel_stats(cw, &stats);
		KUNIT_EXPECT_EQ(test, stats.bases,
				config.clock == COGWHEEL_MANUAL || config.one_base ?
				1 : num_possible_cpus());
		KUNIT_EXPECT_EQ(test, cogwheel_next(cw), WHEEL_NEVER);
		cogwheel_destroy(cw);
	}
}

/* The options reach the kind, and are checked by it. */
static void options_reach_the_kind(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_config config = { .kind = fx->ops->name };
	struct wheel_geometry g;

	if (fx->ops->slots.max) {
		config.slots = fx->ops->slots.min;
		fx->cw = cogwheel_create(&config);
		KUNIT_ASSERT_FALSE(test, IS_ERR(fx->cw));
		cogwheel_geometry(fx->cw, &g);
		KUNIT_EXPECT_EQ(test, g.slots, config.slots);
	} else if (fx->ops->levels.max) {
		config.levels = fx->ops->levels.min;
		fx->cw = cogwheel_create(&config);
		KUNIT_ASSERT_FALSE(test, IS_ERR(fx->cw));
		cogwheel_geometry(fx->cw, &g);
		KUNIT_EXPECT_EQ(test, g.levels, config.levels);
	} else {
		config.slots = 64;
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(cogwheel_create(&config)),
				-EINVAL);
	}
}

#ifdef CONFIG_FAILSLAB
/*
 * Each allocation of cogwheel_create() fails in turn: it says ENOMEM and leaves
 * nothing behind (that is for kmemleak to see).
 */
static void creation_runs_out_of_memory(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_config config = { .kind = fx->ops->name,
					  .clock = COGWHEEL_JIFFIES };
	unsigned int nth, failed = 0;
	struct cogwheel *cw;
	bool injected;

	for (nth = 1; nth < 1000; nth++) {
		current->fail_nth = nth;
		cw = cogwheel_create(&config);
		injected = !current->fail_nth;
		current->fail_nth = 0;
		if (!IS_ERR(cw)) {
			cogwheel_destroy(cw);
			if (!injected)
				break;
			continue;
		}
		failed++;
		KUNIT_EXPECT_EQ(test, PTR_ERR(cw), -ENOMEM);
	}
	/* By default failslab spares allocations that may sleep. */
	if (nth == 1)
		kunit_skip(test, "needs N in failslab's ignore-gfp-wait");
	KUNIT_EXPECT_LT(test, nth, 1000);
	KUNIT_EXPECT_GT(test, failed, 0);
	kunit_info(test, "%u allocations failed in turn\n", failed);
}

/*
 * The same for cogwheel_reserve(): where it fails, what was reserved before is
 * there still, and no more than that.
 */
static void reserving_runs_out_of_memory(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_stats stats;
	unsigned int nth, failed = 0, i;
	bool injected;
	u64 before;
	int ret;

	if (!(fx->ops->traits & WHEEL_POOLED))
		kunit_skip(test, "reserves nothing");
	fx_manual(fx, 0);
	for (nth = 1; nth < 10000; nth++) {
		cogwheel_stats(fx->cw, &stats);
		before = stats.pool_size;
		current->fail_nth = nth;
		ret = cogwheel_reserve(fx->cw, 100);
		injected = !current->fail_nth;
		current->fail_nth = 0;
		if (!ret) {
			if (!injected)
				break;
			/* One of the kernel's own, for its books. */
			cogwheel_unreserve(fx->cw, 100);
			continue;
		}
		failed++;
		KUNIT_EXPECT_EQ(test, ret, -ENOMEM);
		cogwheel_stats(fx->cw, &stats);
		KUNIT_EXPECT_LE(test, stats.pool_size, before + PAGE_SIZE);
	}
	if (nth == 1)
		kunit_skip(test, "needs N in failslab's ignore-gfp-wait");
	KUNIT_EXPECT_EQ(test, ret, 0);
	KUNIT_EXPECT_GT(test, failed, 50);
	for (i = 0; i < FX_TIMERS; i++)
		KUNIT_EXPECT_EQ(test, fx_mod(fx, i, 1000 + i), 0);
}
#else
static void creation_runs_out_of_memory(struct kunit *test)
{
	kunit_skip(test, "needs failslab");
}

static void reserving_runs_out_of_memory(struct kunit *test)
{
	kunit_skip(test, "needs failslab");
}
#endif

/*
 * A kind that keeps memory of its own takes what was reserved, no more; a timer
 * for which there is none stays idle, and the others do not suffer.
 */
static void memory_is_reserved(struct kunit *test)
{
	struct fx *fx = test->priv;
	struct cogwheel_stats stats;
	unsigned int i, refused = 0;
	u64 small, large;

	if (!(fx->ops->traits & WHEEL_POOLED)) {
		fx_manual(fx, 0);
		cogwheel_stats(fx->cw, &stats);
		KUNIT_EXPECT_EQ(test, stats.pool_size, 0);
		return;
	}
	fx_manual(fx, 0);
	/* As if it never had been. */
	cogwheel_unreserve(fx->cw, FX_TIMERS);
	KUNIT_EXPECT_EQ(test, cogwheel_reserve(fx->cw, 1), 0);
	cogwheel_stats(fx->cw, &stats);
	small = stats.pool_size;
	for (i = 0; i < FX_TIMERS; i++) {
		int ret = fx_mod(fx, i, 10 + i * 97);

		KUNIT_EXPECT_TRUE(test, ret == 0 || ret == -ENOSPC);
		KUNIT_EXPECT_EQ(test, ret == 0,
				cogwheel_pending(fx->cw, &fx->ft[i].timer));
		refused += ret == -ENOSPC;
	}
	KUNIT_EXPECT_GT(test, refused, 0);
	KUNIT_EXPECT_LT(test, refused, FX_TIMERS);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), FX_TIMERS - refused);
	/* One by one, as timers are set up; in the end all fit. */
	for (i = 1; i < FX_TIMERS; i++)
		KUNIT_EXPECT_EQ(test, cogwheel_reserve(fx->cw, 1), 0);
	for (i = 0; i < FX_TIMERS; i++)
		KUNIT_EXPECT_GE(test, fx_mod(fx, i, 20 + i * 97), 0);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), FX_TIMERS);
	/* A population that was large for a while leaves no large memory. */
	KUNIT_EXPECT_EQ(test, cogwheel_reserve(fx->cw, 100000), 0);
	cogwheel_stats(fx->cw, &stats);
	large = stats.pool_size;
	KUNIT_EXPECT_GT(test, large, small + 100000 * 16);
	cogwheel_unreserve(fx->cw, 100000);
	cogwheel_stats(fx->cw, &stats);
	KUNIT_EXPECT_LT(test, stats.pool_size, large / 2 + 100000 * 8);
	for (i = 0; i < FX_TIMERS; i++)
		KUNIT_EXPECT_EQ(test, fx_mod(fx, i, 30 + i * 97), 1);
	fx_advance(fx, 30 + FX_TIMERS * 97);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fx->cw), 0);
}

/* ---- running clocks ---- */

/*
 * The longest wait for what ought to happen. Guests without hardware support
 * are slow, and this only ends what has failed.
 */
#define PATIENCE	(60 * HZ)

/* A facility on a running clock, and timers that know what to expect. */
struct run {
	struct cogwheel *cw;
	const struct wheel_ops *ops;
	enum cogwheel_clock clock;
	u64 tick_ns;
	struct ft *ft;
	unsigned int nr;
	atomic_t left;
	struct completion done;
};

static struct run *run_create(const struct wheel_ops *ops,
			      enum cogwheel_clock clock, u64 tick_ns,
			      unsigned int nr, bool one_base)
{
	struct cogwheel_config config = { .kind = ops->name, .clock = clock,
		.tick_ns = clock == COGWHEEL_MONOTONIC ? tick_ns : 0,
		.one_base = one_base };
	struct run *run;

	run = kzalloc(sizeof(*run), GFP_KERNEL);
	if (!run)
		return NULL;
	run->ft = kvcalloc(nr, sizeof(*run->ft), GFP_KERNEL);
	run->cw = cogwheel_create(&config);
	if (!run->ft || IS_ERR(run->cw) || cogwheel_reserve(run->cw, nr)) {
		if (!IS_ERR(run->cw))
			cogwheel_destroy(run->cw);
		kvfree(run->ft);
		kfree(run);
		return NULL;
	}
	run->ops = ops;
	run->clock = clock;
	run->tick_ns = tick_ns;
	run->nr = nr;
	init_completion(&run->done);
	atomic_set(&run->left, nr);
	return run;
}

static void run_destroy(struct run *run)
{
	if (!run)
		return;
	cogwheel_destroy(run->cw);
	kvfree(run->ft);
	kfree(run);
}

static void run_fired(struct cogwheel_timer *timer)
{
	struct ft *ft = ft_of(timer);
	struct run *run = ft->run;

	ft->at = cogwheel_now(run->cw);
	ft->fired_ns = ktime_get_ns();
	if (!context_is_right())
		ft->flaws++;
	if (!ft->fires++ && atomic_dec_and_test(&run->left))
		complete(&run->done);
}

static void run_arm(struct run *run, unsigned int i, u64 delay)
{
	struct ft *ft = &run->ft[i];

	probes++;
	ft->run = run;
	cogwheel_timer_setup(&ft->timer, run_fired, 0);
	ft->delay = delay;
	ft->armed_ns = ktime_get_ns();
	ft->due = cogwheel_due(run->cw, delay);
	cogwheel_mod(run->cw, &ft->timer, ft->due);
}

static bool run_wait(struct run *run, unsigned long patience)
{
	return wait_for_completion_interruptible_timeout(&run->done, patience) > 0;
}

/* What must hold of a timer that was armed by run_arm(). */
static void run_check(struct kunit *test, struct run *run, unsigned int i)
{
	struct ft *ft = &run->ft[i];
	u64 real = ft->fired_ns - ft->armed_ns;

	KUNIT_EXPECT_EQ_MSG(test, ft->fires, 1, "%s delay %llu", run->ops->name,
			    ft->delay);
	if (!ft->fires)
		return;
	KUNIT_EXPECT_EQ_MSG(test, ft->flaws, 0, "%s: context", run->ops->name);
	KUNIT_EXPECT_GE_MSG(test, ft->at, ft->due, "%s delay %llu: early",
			    run->ops->name, ft->delay);
	/*
	 * Never early in real time either, of which a part of a tick may have
	 * passed already. (Jiffies may lag behind that.)
	 */
	if (virtual || run->clock == COGWHEEL_MONOTONIC)
		KUNIT_EXPECT_GE_MSG(test, real, ft->delay * run->tick_ns,
				    "%s delay %llu: early by the clock on the wall",
				    run->ops->name, ft->delay);
	/* A virtual CPU is never late. */
	if (virtual && run->ops->traits & (WHEEL_EXACT | WHEEL_SLACK))
		KUNIT_EXPECT_EQ_MSG(test, ft->at, ft->due, "%s delay %llu",
				    run->ops->name, ft->delay);
}

/* Delays that are tried on each kind and each clock, side by side. */
static const unsigned int delays[] = {
	0, 1, 2, 3, 7, 62, 63, 64, 65, 503, 504, 511, 512, 513,
	/* The rest in virtual time only. */
	4032, 4095, 4096, 4097, 32767, 32768, 262144, 1 << 20, (1 << 20) + 1,
};

#define NR_DELAYS_SHORT	9
#define NR_DELAYS	ARRAY_SIZE(delays)

static const struct {
	const char *name;
	enum cogwheel_clock clock;
	u64 tick_ns;
} clocks[] = {
	{ "jiffies", COGWHEEL_JIFFIES, TICK_NSEC },
	{ "monotonic 1 ms", COGWHEEL_MONOTONIC, NSEC_PER_MSEC },
	{ "monotonic 1 us", COGWHEEL_MONOTONIC, NSEC_PER_USEC },
	{ "monotonic 1.000001 ms", COGWHEEL_MONOTONIC, NSEC_PER_MSEC + 1 },
};

/* Those runs, kept for the cases to look at. */
static struct run *runs[ARRAY_SIZE(clocks)][WHEEL_NR_KINDS];
static u64 wakeups[ARRAY_SIZE(clocks)][WHEEL_NR_KINDS];
static unsigned int nr_delays;

static void start_runs(void)
{
	unsigned int c, k, i;

	nr_delays = virtual ? NR_DELAYS : NR_DELAYS_SHORT;
	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			runs[c][k] = run_create(wheel_kinds[k], clocks[c].clock,
						clocks[c].tick_ns, nr_delays,
						false);
			for (i = 0; runs[c][k] && i < nr_delays; i++)
				run_arm(runs[c][k], i, delays[i]);
		}
	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			struct cogwheel_stats stats;

			if (!runs[c][k])
				continue;
			/* A rounding kind is late by up to an eighth, and there is
			 * slack in the loads of machines.
			 */
			run_wait(runs[c][k], virtual ? LONG_MAX / 4 : PATIENCE);
			cogwheel_stats(runs[c][k]->cw, &stats);
			wakeups[c][k] = stats.wakeups;
		}
}

static void running_clocks_are_never_early(struct kunit *test)
{
	unsigned int c, k, i;

	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			KUNIT_ASSERT_NOT_NULL(test, runs[c][k]);
			for (i = 0; i < nr_delays; i++)
				run_check(test, runs[c][k], i);
		}
	kunit_info(test, "delays up to %u ticks on %zu clocks\n",
		   delays[nr_delays - 1], ARRAY_SIZE(clocks));
}

/*
 * The wheel is woken for what fires and what cascades, and timer_list's far
 * timers are approached in steps; but never for a tick of its own.
 */
static void idle_ticks_cost_nothing(struct kunit *test)
{
	struct wheel_geometry g;
	unsigned int c, k;
	u64 most;

	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			KUNIT_ASSERT_NOT_NULL(test, runs[c][k]);
			cogwheel_geometry(runs[c][k]->cw, &g);
			/* Per timer: its levels, and those of timer_list. */
			most = nr_delays * (g.levels + 9ULL);
			KUNIT_EXPECT_LE_MSG(test, wakeups[c][k], most,
					    "%s on %s", wheel_kinds[k]->name,
					    clocks[c].name);
			KUNIT_EXPECT_GT(test, wakeups[c][k], 0);
		}
}

/* With nothing armed, or nothing any more, nobody is woken. */
static void idle_wheels_are_silent(struct kunit *test)
{
	struct cogwheel_stats before, after;
	unsigned long flags;
	struct run *run;
	unsigned int c, k;

	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			run = run_create(wheel_kinds[k], clocks[c].clock,
					 clocks[c].tick_ns, 2, false);
			KUNIT_ASSERT_NOT_NULL(test, run);
			cogwheel_stats(run->cw, &before);
			msleep(virtual ? 1000 : 20);
			cogwheel_stats(run->cw, &after);
			KUNIT_EXPECT_EQ_MSG(test, after.wakeups, before.wakeups,
					    "%s on %s, never armed",
					    run->ops->name, clocks[c].name);
			/* One that is cancelled costs one wake-up at most. */
			local_irq_save(flags);
			run_arm(run, 0, 3);
			cogwheel_cancel(run->cw, &run->ft[0].timer);
			local_irq_restore(flags);
			msleep(virtual ? 1000 : 40);
			cogwheel_stats(run->cw, &after);
			KUNIT_EXPECT_LE_MSG(test, after.wakeups,
					    before.wakeups + 1,
					    "%s on %s, cancelled",
					    run->ops->name, clocks[c].name);
			KUNIT_EXPECT_EQ(test, run->ft[0].fires, 0);
			run_destroy(run);
		}
}

/*
 * The driver is programmed for the earliest; after that one has gone, for the
 * next; and one armed earlier than all gets through.
 */
static void no_wake_up_is_lost(struct kunit *test)
{
	unsigned long flags;
	struct run *run;
	unsigned int c, k, i;

	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			run = run_create(wheel_kinds[k], clocks[c].clock,
					 clocks[c].tick_ns, 5, false);
			KUNIT_ASSERT_NOT_NULL(test, run);
			/* Nothing fires on this CPU before all are armed. */
			local_irq_save(flags);
			run_arm(run, 0, 12);
			run_arm(run, 1, 8);
			cogwheel_cancel(run->cw, &run->ft[0].timer);
			/* Later than what the driver is programmed for. */
			run_arm(run, 2, 20);
			/* Earlier. */
			run_arm(run, 3, 2);
			run_arm(run, 4, 5);
			cogwheel_cancel(run->cw, &run->ft[4].timer);
			run_arm(run, 4, 30);
			run_arm(run, 0, 25);
			local_irq_restore(flags);
			KUNIT_EXPECT_TRUE_MSG(test, run_wait(run, PATIENCE),
					      "%s on %s: %u timers never fired",
					      run->ops->name, clocks[c].name,
					      atomic_read(&run->left));
			for (i = 0; i < run->nr; i++)
				run_check(test, run, i);
			run_destroy(run);
		}
}

/* Many timers on each CPU's base, and on a single one. */
static void many_timers_all_fire(struct kunit *test)
{
	const unsigned int nr = 2000;
	unsigned int c, k, i, cpu;
	unsigned long flags;
	u64 rnd = seed;
	struct run *run;
	bool one_base;

	kunit_info(test, "seed=%llu\n", seed);
	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			one_base = (c + k) % 2;
			run = run_create(wheel_kinds[k], clocks[c].clock,
					 clocks[c].tick_ns,
					 wheel_kinds[k]->traits & WHEEL_BOUNDED ?
					 min(nr, wheel_kinds[k]->max_timers) : nr,
					 one_base);
			KUNIT_ASSERT_NOT_NULL(test, run);
			for (i = 0; i < run->nr; i++) {
				cpu = cpumask_nth(i % num_online_cpus(),
						  cpu_online_mask);
				local_irq_save(flags);
				run_arm(run, i, model_below(&rnd, 60));
				/* Some move to another CPU before they can fire. */
				if (i % 3 == 0 && !one_base)
					cogwheel_mod_on(run->cw,
							&run->ft[i].timer,
							run->ft[i].due, cpu);
				local_irq_restore(flags);
			}
			KUNIT_EXPECT_TRUE_MSG(test, run_wait(run, PATIENCE),
					      "%s on %s: %u timers never fired",
					      run->ops->name, clocks[c].name,
					      atomic_read(&run->left));
			for (i = 0; i < run->nr; i++)
				run_check(test, run, i);
			run_destroy(run);
		}
}

/* ---- from all contexts ---- */

struct contexts {
	struct run *run;
	struct irq_work irq_work;
	struct hrtimer hrtimer;
	struct timer_list timer;
	unsigned int flaws;
};

static void arm_from_irq_work(struct irq_work *work)
{
	struct contexts *c = container_of(work, struct contexts, irq_work);

	c->flaws += !in_hardirq();
	run_arm(c->run, 0, 2);
	run_arm(c->run, 1, 100);
	/* And is cancelled from there, and armed again. */
	c->flaws += cogwheel_cancel(c->run->cw, &c->run->ft[1].timer) != 1;
	run_arm(c->run, 1, 3);
}

static enum hrtimer_restart arm_from_hard_irq(struct hrtimer *hrtimer)
{
	struct contexts *c = container_of(hrtimer, struct contexts, hrtimer);

	c->flaws += !in_hardirq();
	run_arm(c->run, 2, 2);
	return HRTIMER_NORESTART;
}

static void arm_from_softirq(struct timer_list *timer)
{
	struct contexts *c = container_of(timer, struct contexts, timer);

	c->flaws += !in_serving_softirq();
	run_arm(c->run, 3, 2);
}

static void arms_from_any_context(struct kunit *test)
{
	struct contexts *c;
	unsigned int k, i, clock;
	unsigned long flags;

	c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	init_irq_work(&c->irq_work, arm_from_irq_work);
	for (clock = 0; clock < ARRAY_SIZE(clocks); clock++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			c->run = run_create(wheel_kinds[k], clocks[clock].clock,
					    clocks[clock].tick_ns, 6, false);
			KUNIT_ASSERT_NOT_NULL(test, c->run);
			irq_work_queue(&c->irq_work);
			hrtimer_setup(&c->hrtimer, arm_from_hard_irq,
				      CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
			hrtimer_start(&c->hrtimer, ns_to_ktime(1000),
				      HRTIMER_MODE_REL_HARD);
			timer_setup(&c->timer, arm_from_softirq, 0);
			mod_timer(&c->timer, jiffies);
			local_irq_save(flags);
			run_arm(c->run, 4, 2);
			local_irq_restore(flags);
			local_bh_disable();
			run_arm(c->run, 5, 2);
			local_bh_enable();
			KUNIT_EXPECT_TRUE_MSG(test, run_wait(c->run, PATIENCE),
					      "%s on %s", c->run->ops->name,
					      clocks[clock].name);
			irq_work_sync(&c->irq_work);
			hrtimer_cancel(&c->hrtimer);
			timer_delete_sync(&c->timer);
			for (i = 0; i < c->run->nr; i++)
				run_check(test, c->run, i);
			run_destroy(c->run);
		}
	KUNIT_EXPECT_EQ(test, c->flaws, 0);
}

static void storm(struct ft *ft)
{
	if (ft->left-- > 1)
		cogwheel_mod(ft->fx->cw, &ft->timer, 0);
	else
		ft->flaws = 1;
}

/*
 * A timer that is always overdue comes once a tick, and others get the CPU: the
 * case would not end otherwise.
 */
static void an_overdue_storm_ends(struct kunit *test)
{
	struct cogwheel_config config = {
		.clock = COGWHEEL_MONOTONIC, .tick_ns = 1000 };
	struct fx *fx = test->priv;
	unsigned int i;

	fx_create(fx, &config);
	fx->ft[0].action = storm;
	fx->ft[0].left = 5000;
	cogwheel_mod(fx->cw, &fx->ft[0].timer, 0);
	for (i = 0; i < 3000 && !READ_ONCE(fx->ft[0].flaws); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, fx->ft[0].fires, 5000);
	KUNIT_EXPECT_EQ(test, fx->flaws, 0);
}

/* Nanoseconds round up, on every clock that knows them. */
static void nanoseconds_round_up(struct kunit *test)
{
	static const u64 tick[] = { 1000, 1001, 999999, 1000000, 3000017,
				    1000000000 };
	struct fx *fx = test->priv;
	unsigned int i, k;
	u64 ns, got, rnd = seed;

	for (i = 0; i < ARRAY_SIZE(tick); i++) {
		fx_create(fx, &(struct cogwheel_config) {
			.clock = COGWHEEL_MONOTONIC, .tick_ns = tick[i] });
		for (k = 0; k < 3000; k++) {
			ns = model_log_uniform(&rnd);
			if (k % 3 == 0)
				ns = ns / tick[i] * tick[i];
			else if (k % 3 == 1)
				ns = ns / tick[i] * tick[i] + 1;
			got = cogwheel_clock_ns_to_ticks(fx->cw, ns);
			KUNIT_ASSERT_EQ_MSG(test, got,
					    ns / tick[i] + (ns % tick[i] != 0),
					    "%llu ns in ticks of %llu", ns,
					    tick[i]);
		}
		got = cogwheel_clock_ns_to_ticks(fx->cw, 0);
		KUNIT_EXPECT_EQ(test, got, 0);
		cogwheel_destroy(fx->cw);
	}
	fx_create(fx, &(struct cogwheel_config) { .clock = COGWHEEL_JIFFIES });
	KUNIT_EXPECT_EQ(test, cogwheel_clock_ns_to_ticks(fx->cw, 1), 1);
	KUNIT_EXPECT_EQ(test, cogwheel_clock_ns_to_ticks(fx->cw, TICK_NSEC), 1);
	KUNIT_EXPECT_EQ(test, cogwheel_clock_ns_to_ticks(fx->cw, TICK_NSEC + 1), 2);
}

/* ---- cancel and wait ---- */

struct slow {
	struct cogwheel *cw;
	struct cogwheel_timer timer;
	struct completion started;
	atomic_t running;
	atomic_t ran;
	bool rearm;
};

static void slow_fired(struct cogwheel_timer *timer)
{
	struct slow *s = container_of(timer, struct slow, timer);

	atomic_set(&s->running, 1);
	complete(&s->started);
	if (!virtual)
		mdelay(20);
	if (s->rearm)
		cogwheel_arm(s->cw, &s->timer, 1);
	atomic_set(&s->running, 0);
	atomic_inc(&s->ran);
}

/* Afterwards the function does not run, though it had been about to. */
static void cancel_sync_waits(struct kunit *test)
{
	struct slow *s;
	unsigned int k, c;

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	for (c = 0; c < 2; c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++) {
			s->cw = cogwheel_create(&(struct cogwheel_config) {
				.kind = wheel_kinds[k]->name,
				.clock = clocks[c].clock,
				.tick_ns = c ? clocks[c].tick_ns : 0 });
			KUNIT_ASSERT_FALSE(test, IS_ERR(s->cw));
			cogwheel_reserve(s->cw, 1);
			init_completion(&s->started);
			cogwheel_timer_setup(&s->timer, slow_fired, 0);
			s->rearm = true;
			cogwheel_arm(s->cw, &s->timer, 1);
			KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&s->started,
									    PATIENCE));
			/* It arms itself again; shutting it down sees to that. */
			cogwheel_shutdown_sync(s->cw, &s->timer);
			KUNIT_EXPECT_EQ(test, atomic_read(&s->running), 0);
			KUNIT_EXPECT_GE(test, atomic_read(&s->ran), 1);
			KUNIT_EXPECT_FALSE(test, cogwheel_pending(s->cw, &s->timer));
			atomic_set(&s->ran, 0);
			cogwheel_destroy(s->cw);
		}
}

/* ---- the suite ---- */

static int facility_suite_init(struct kunit_suite *suite)
{
	virtual = time_is_virtual();
	while (!seed)
		seed = get_random_u64();
	/* High-resolution timers are off until the first tick after boot. */
	msleep(100);
	start_runs();
	return 0;
}

static void facility_suite_exit(struct kunit_suite *suite)
{
	unsigned int c, k;

	for (c = 0; c < ARRAY_SIZE(clocks); c++)
		for (k = 0; k < WHEEL_NR_KINDS; k++)
			run_destroy(runs[c][k]);
	kunit_info(suite, "%llu probes, seed=%llu, %s time\n", probes, seed,
		   virtual ? "virtual" : "real");
}

static struct kunit_case facility_cases[] = {
	KUNIT_CASE_PARAM(arm_move_cancel, kind_gen_params),
	KUNIT_CASE_PARAM(same_due_tick_keeps_its_place, kind_gen_params),
	KUNIT_CASE_PARAM(reduce_only_makes_earlier, kind_gen_params),
	KUNIT_CASE_PARAM(shut_down_for_good, kind_gen_params),
	KUNIT_CASE_PARAM(sums_saturate, kind_gen_params),
	KUNIT_CASE_PARAM(advance_refuses, kind_gen_params),
	KUNIT_CASE_PARAM(function_arms_its_own_timer, kind_gen_params),
	KUNIT_CASE_PARAM(function_arms_overdue, kind_gen_params),
	KUNIT_CASE_PARAM(function_cancels_others, kind_gen_params),
	KUNIT_CASE_PARAM(function_frees_its_timer, kind_gen_params),
	KUNIT_CASE_PARAM(function_cannot_advance, kind_gen_params),
	KUNIT_CASE_PARAM(batch_is_taken, kind_gen_params),
	KUNIT_CASE_PARAM(batch_is_left, kind_gen_params),
	KUNIT_CASE_PARAM(batch_limits_an_advance, kind_gen_params),
	KUNIT_CASE_PARAM(batch_can_be_cancelled, kind_gen_params),
	KUNIT_CASE_PARAM(static_and_on_stack, kind_gen_params),
	KUNIT_CASE_PARAM(destroy_disarms, kind_gen_params),
	KUNIT_CASE_PARAM(walk_and_stats, kind_gen_params),
	KUNIT_CASE_PARAM(settled_wheels_hold_still, kind_gen_params),
	KUNIT_CASE_PARAM(several_may_settle, kind_gen_params),
	KUNIT_CASE_PARAM(irqs_off_is_measured, kind_gen_params),
	KUNIT_CASE_PARAM(random_calls, kind_gen_params),
	KUNIT_CASE_PARAM(creation_is_checked, kind_gen_params),
	KUNIT_CASE_PARAM(options_reach_the_kind, kind_gen_params),
	KUNIT_CASE_PARAM(creation_runs_out_of_memory, kind_gen_params),
	KUNIT_CASE_PARAM(memory_is_reserved, kind_gen_params),
	KUNIT_CASE_PARAM(reserving_runs_out_of_memory, kind_gen_params),
	KUNIT_CASE(running_clocks_are_never_early),
	KUNIT_CASE(idle_ticks_cost_nothing),
	KUNIT_CASE(idle_wheels_are_silent),
	KUNIT_CASE(no_wake_up_is_lost),
	KUNIT_CASE(many_timers_all_fire),
	KUNIT_CASE(arms_from_any_context),
	KUNIT_CASE(an_overdue_storm_ends),
	KUNIT_CASE(nanoseconds_round_up),
	KUNIT_CASE(cancel_sync_waits),
	{}
};

static struct kunit_suite facility_suite = {
	.name = "cogwheel_facility",
	.suite_init = facility_suite_init,
	.suite_exit = facility_suite_exit,
	.init = facility_init,
	.exit = facility_exit,
	.test_cases = facility_cases,
};

kunit_test_suite(facility_suite);

MODULE_DESCRIPTION("KUnit: the facility of timing wheels and its calls");
MODULE_LICENSE("GPL");
