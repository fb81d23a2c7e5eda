// SPDX-License-Identifier: GPL-2.0
/*
 * The forms of the facility's calls for those in a hurry: many timers by one
 * call, many for one hold of the lock, a move by a store, and a batch of
 * expired timers that is taken all at once. They must do what the plain calls
 * do, which cogwheel_facility_kunit.c looks at; CPUs that get in each other's
 * way are the business of cogwheel_hotplug_kunit.c.
 */
#include <kunit/test.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "../cogwheel.h"
#include "../wheels/kinds.h"
#include "model.h"

static unsigned long long seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of the random runs; 0 picks one");

#define FM_TIMERS	200
#define FM_FIRES	(4 * FM_TIMERS)

struct fm_timer {
	struct fm *fm;
	unsigned int id;
	unsigned int fires;
	u64 due;
	u64 at;
	struct cogwheel_timer timer;
};

/* A facility on a manual clock, its timers, and what has fired since. */
struct fm {
	struct cogwheel *cw;
	struct fm_timer t[FM_TIMERS];
	unsigned int nr;
	struct {
		unsigned int id;
		u64 at;
	} fire[FM_FIRES];
	void (*each)(struct fm_timer *t);
	unsigned int takes;	/* timers to take before the others at once */
	unsigned int gaps;	/* entries that were empty */
	unsigned int flaws;
};

static struct fm_timer *fm_of(struct cogwheel_timer *timer)
{
	return container_of(timer, struct fm_timer, timer);
}

static void fm_note(struct fm_timer *t)
{
	struct fm *fm = t->fm;

	t->fires++;
	t->at = cogwheel_now(fm->cw);
	if (fm->nr < FM_FIRES) {
		fm->fire[fm->nr].id = t->id;
		fm->fire[fm->nr].at = t->at;
	}
	fm->nr++;
}

static void fm_fired(struct cogwheel_timer *timer)
{
	fm_note(fm_of(timer));
}

static u64 fm_take_all(struct cogwheel_batch *batch)
{
	struct fm *fm = batch->data;
	struct wheel_node *const *node;
	struct cogwheel_timer *timer;
	unsigned int i, nr;

	for (i = 0; i < fm->takes; i++) {
		timer = cogwheel_batch_take(batch);
		if (!timer)
			return U64_MAX;
		fm_note(fm_of(timer));
		if (fm->each)
			fm->each(fm_of(timer));
	}
	node = cogwheel_batch_take_all(batch, &nr);
	if (cogwheel_batch_take(batch))
		fm->flaws++;
	for (i = 0; i < nr; i++) {
		if (!node[i]) {
			fm->gaps++;
			continue;
		}
		timer = cogwheel_node_timer(node[i]);
		if (cogwheel_pending(fm->cw, timer) ||
		    cogwheel_cancel(fm->cw, timer))
			fm->flaws++;
		fm_note(fm_of(timer));
		if (fm->each)
			fm->each(fm_of(timer));
	}
	return U64_MAX;
}

static struct fm *fm_create(struct kunit *test, u64 start,
			    u64 (*expire)(struct cogwheel_batch *batch))
{
	const struct wheel_ops *const *ops = test->param_value;
	struct fm *fm = kunit_kzalloc(test, sizeof(*fm), GFP_KERNEL);
	struct cogwheel_config config = {
		.kind = (*ops)->name,
		.clock = COGWHEEL_MANUAL,
		.start = start,
		.expire = expire,
		.data = fm,
	};
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, fm);
	fm->cw = cogwheel_create(&config);
	KUNIT_ASSERT_FALSE(test, IS_ERR(fm->cw));
	KUNIT_ASSERT_EQ(test, cogwheel_reserve(fm->cw, FM_TIMERS), 0);
	for (i = 0; i < FM_TIMERS; i++) {
		fm->t[i].fm = fm;
		fm->t[i].id = i;
		cogwheel_timer_setup(&fm->t[i].timer, expire ? NULL : fm_fired,
				     0);
	}
	return fm;
}

static void fm_advance(struct kunit *test, struct fm *fm, u64 to)
{
	u64 reached = 0;

	fm->nr = 0;
	KUNIT_ASSERT_EQ(test, cogwheel_advance(fm->cw, to, &reached), 0);
	KUNIT_ASSERT_EQ(test, reached, to);
	KUNIT_ASSERT_LE(test, fm->nr, FM_FIRES);
}

static void kind_name(const struct wheel_ops *const *ops, char *desc)
{
	strscpy(desc, (*ops)->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(kind, wheel_kinds, kind_name);

/* Random timers, each once, and a due tick for each. */
static unsigned int pick(struct fm *fm, u64 *rnd, struct cogwheel_timer **timer,
			 unsigned int *id, u64 *due)
{
	unsigned int nr = 1 + model_below(rnd, FM_TIMERS);
	unsigned int i, first = model_below(rnd, FM_TIMERS);
	u64 now = cogwheel_now(fm->cw);

	for (i = 0; i < nr; i++) {
		/* 7 has no factor in common with the number of timers. */
		id[i] = (first + 7 * i) % FM_TIMERS;
		timer[i] = &fm->t[id[i]].timer;
		due[i] = now + (model_log_uniform(rnd) >> 44);
	}
	return nr;
}

struct picked {
	struct cogwheel_timer *timer[FM_TIMERS];
	unsigned int id[FM_TIMERS];
	u64 due[FM_TIMERS];
};

static int arm_picked(struct fm *fm, struct picked *p, unsigned int nr,
		      unsigned int form)
{
	struct cogwheel_hold hold;
	unsigned int i, k;
	int ret = 0;

	switch (form) {
	case 0:
		return cogwheel_mod_batch(fm->cw, p->timer, p->due, nr);
	case 1:
		for (i = 0; i < nr; i += WHEEL_BATCH) {
			cogwheel_hold(fm->cw, &hold);
			for (k = i; k < min(nr, i + WHEEL_BATCH); k++)
				ret += cogwheel_mod_held(&hold, p->timer[k],
							 p->due[k], 0);
			cogwheel_release(&hold);
		}
		return ret;
	default:
		for (i = 0; i < nr; i++)
			ret += cogwheel_mod(fm->cw, p->timer[i], p->due[i]);
		return ret;
	}
}

static int cancel_picked(struct fm *fm, struct picked *p, unsigned int nr,
			 unsigned int form)
{
	struct cogwheel_hold hold;
	unsigned int i, k;
	int ret = 0;

	switch (form) {
	case 0:
		return cogwheel_cancel_batch(fm->cw, p->timer, nr);
	case 1:
		for (i = 0; i < nr; i += WHEEL_BATCH) {
			cogwheel_hold(fm->cw, &hold);
			for (k = i; k < min(nr, i + WHEEL_BATCH); k++)
				ret += cogwheel_cancel_held(&hold, p->timer[k]);
			cogwheel_release(&hold);
		}
		return ret;
	default:
		for (i = 0; i < nr; i++)
			ret += cogwheel_cancel(fm->cw, p->timer[i]);
		return ret;
	}
}

/* Two wheels get the same, one by plain calls: never a difference. */
static void forms_do_what_calls_do(struct kunit *test)
{
	struct fm *plain = fm_create(test, BIT_ULL(36) - 5000, NULL);
	struct fm *other = fm_create(test, BIT_ULL(36) - 5000, fm_take_all);
	struct picked *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	unsigned int i, k, nr, form, fires = 0;
	u64 rnd = seed, to;

	kunit_info(test, "seed=%llu\n", seed);
	KUNIT_ASSERT_NOT_NULL(test, p);
	for (i = 0; i < 500; i++) {
		form = model_below(&rnd, 2);
		nr = pick(other, &rnd, p->timer, p->id, p->due);
		switch (model_below(&rnd, 4)) {
		case 0:
			to = cogwheel_now(plain->cw) +
			     (model_log_uniform(&rnd) >> 46);
			fm_advance(test, plain, to);
			fm_advance(test, other, to);
			KUNIT_ASSERT_EQ(test, plain->nr, other->nr);
			for (k = 0; k < plain->nr; k++) {
				KUNIT_ASSERT_EQ(test, plain->fire[k].id,
						other->fire[k].id);
				KUNIT_ASSERT_EQ(test, plain->fire[k].at,
						other->fire[k].at);
			}
			fires += plain->nr;
			break;
		case 1:
			k = cancel_picked(other, p, nr, form);
			for (; nr; nr--)
				k -= cogwheel_cancel(plain->cw,
						     &plain->t[p->id[nr - 1]].timer);
			KUNIT_ASSERT_EQ(test, k, 0);
			break;
		default:
			k = arm_picked(other, p, nr, form);
			for (to = 0; to < nr; to++)
				k -= cogwheel_mod(plain->cw,
						  &plain->t[p->id[to]].timer,
						  p->due[to]);
			KUNIT_ASSERT_EQ(test, k, 0);
			break;
		}
		KUNIT_ASSERT_EQ(test, cogwheel_count(plain->cw),
				cogwheel_count(other->cw));
		KUNIT_ASSERT_EQ(test, cogwheel_next(plain->cw),
				cogwheel_next(other->cw));
	}
	KUNIT_EXPECT_GT(test, fires, 1000);
	KUNIT_EXPECT_EQ(test, other->flaws, 0);
	cogwheel_destroy(plain->cw);
	cogwheel_destroy(other->cw);
}

/* One that was shut down stays so; one that is armed for that tick stays. */
static void forms_leave_alone(struct kunit *test)
{
	struct fm *fm = fm_create(test, 0, NULL);
	struct picked *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	unsigned int form, i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	for (form = 0; form < 2; form++) {
		for (i = 0; i < 3; i++) {
			p->timer[i] = &fm->t[i].timer;
			p->due[i] = cogwheel_now(fm->cw) + 30;
		}
		KUNIT_EXPECT_EQ(test, arm_picked(fm, p, 3, form), 0);
		/* The first again, for the same tick: it stays the first. */
		KUNIT_EXPECT_EQ(test, arm_picked(fm, p, 1, form), 1);
		cogwheel_shutdown(fm->cw, p->timer[1]);
		KUNIT_EXPECT_EQ(test, arm_picked(fm, p, 3, form), 2);
		KUNIT_EXPECT_EQ(test, cogwheel_count(fm->cw), 2);
		KUNIT_EXPECT_EQ(test, cancel_picked(fm, p, 3, form), 2);
		KUNIT_EXPECT_EQ(test, cancel_picked(fm, p, 3, form), 0);
		KUNIT_EXPECT_EQ(test, arm_picked(fm, p, 3, form), 0);
		fm_advance(test, fm, cogwheel_now(fm->cw) + 200);
		KUNIT_ASSERT_EQ(test, fm->nr, 2);
		KUNIT_EXPECT_EQ(test, fm->fire[0].id, 0);
		KUNIT_EXPECT_EQ(test, fm->fire[1].id, 2);
		cogwheel_timer_setup(p->timer[1], fm_fired, 0);
	}
	cogwheel_destroy(fm->cw);
}

/*
 * Timers that are put off again and again, moved earlier, cancelled: each fires
 * once, not before its last due tick, and an exact kind's right then.
 */
static void lazy_moves_are_never_early(struct kunit *test)
{
	const struct wheel_ops *ops = *(const struct wheel_ops *const *)
				      test->param_value;
	const bool exact = ops->traits & WHEEL_EXACT;
	struct fm *fm = fm_create(test, BIT_ULL(24) - 3000, NULL);
	unsigned int i, k, pending = 0, fires = 0;
	u64 rnd = seed, now, due;
	struct fm_timer *t;

	kunit_info(test, "seed=%llu\n", seed);
	for (i = 0; i < 20000; i++) {
		t = &fm->t[model_below(&rnd, FM_TIMERS)];
		now = cogwheel_now(fm->cw);
		due = now + 1 + (model_log_uniform(&rnd) >> 48);
		switch (model_below(&rnd, 8)) {
		case 0:
			KUNIT_ASSERT_EQ(test, cogwheel_mod(fm->cw, &t->timer, due),
					!!t->due);
			pending += !t->due;
			t->due = due;
			break;
		case 1:
			KUNIT_ASSERT_EQ(test, cogwheel_cancel(fm->cw, &t->timer),
					!!t->due);
			pending -= !!t->due;
			t->due = 0;
			break;
		case 2:
			fm_advance(test, fm, now + (model_log_uniform(&rnd) >> 50));
			for (k = 0; k < fm->nr; k++) {
				t = &fm->t[fm->fire[k].id];
				KUNIT_ASSERT_NE(test, t->due, 0);
				KUNIT_ASSERT_GE(test, t->at, t->due);
				if (exact)
					KUNIT_ASSERT_EQ(test, t->at, t->due);
				t->due = 0;
			}
			pending -= fm->nr;
			fires += fm->nr;
			break;
		default:
			/* Mostly later than it was, if it was armed. */
			if (t->due && i % 8)
				due += t->due - now;
			KUNIT_ASSERT_EQ(test,
					cogwheel_mod_lazy(fm->cw, &t->timer, due),
					!!t->due);
			pending += !t->due;
			t->due = due;
			break;
		}
		KUNIT_ASSERT_EQ(test, cogwheel_count(fm->cw), pending);
		KUNIT_ASSERT_EQ(test, cogwheel_pending(fm->cw, &t->timer),
				!!t->due);
	}
	KUNIT_EXPECT_GT(test, fires, 500);
	cogwheel_destroy(fm->cw);
}

/* It takes no lock: that is what it is for. */
static void lazy_moves_leave_the_wheel_alone(struct kunit *test)
{
	const struct wheel_ops *ops = *(const struct wheel_ops *const *)
				      test->param_value;
	struct fm *fm = fm_create(test, 0, NULL);
	struct cogwheel_stats stats;
	u64 next;

	cogwheel_mod(fm->cw, &fm->t[0].timer, 40);
	next = cogwheel_next(fm->cw);
	cogwheel_mod_lazy(fm->cw, &fm->t[0].timer, 100000);
	if (ops->traits & WHEEL_LAZY)
		KUNIT_EXPECT_EQ(test, cogwheel_next(fm->cw), next);
	else
		KUNIT_EXPECT_GT(test, cogwheel_next(fm->cw), next);
	KUNIT_EXPECT_EQ(test, cogwheel_remaining(fm->cw, &fm->t[0].timer),
			100000);
	fm_advance(test, fm, 99999);
	KUNIT_EXPECT_EQ(test, fm->nr, 0);
	KUNIT_EXPECT_EQ(test, cogwheel_count(fm->cw), 1);
	cogwheel_stats(fm->cw, &stats);
	KUNIT_EXPECT_EQ(test, stats.fired, 0);
	/* Earlier than what it was put off to is no lazy move. */
	KUNIT_EXPECT_EQ(test, cogwheel_mod_lazy(fm->cw, &fm->t[0].timer, 99999),
			1);
	fm_advance(test, fm, 120000);
	KUNIT_EXPECT_EQ(test, fm->nr, 1);
	KUNIT_EXPECT_EQ(test, cogwheel_mod_lazy(fm->cw, &fm->t[0].timer, 130000),
			0);
	cogwheel_destroy(fm->cw);
}

static void cancel_two_on(struct fm_timer *t)
{
	t->fm->flaws += !cogwheel_cancel(t->fm->cw,
					 &t->fm->t[t->id + 2].timer);
}

/* The first is taken alone, and cancels one of those that come together. */
static void a_batch_is_taken_at_once(struct kunit *test)
{
	struct fm *fm = fm_create(test, 0, fm_take_all);
	unsigned int i;

	fm->takes = 1;
	for (i = 0; i < 5; i++)
		cogwheel_mod(fm->cw, &fm->t[i].timer, 30);
	fm->each = NULL;
	fm_advance(test, fm, 100);
	KUNIT_ASSERT_EQ(test, fm->nr, 5);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, fm->fire[i].id, i);
	KUNIT_EXPECT_EQ(test, fm->gaps, 0);

	for (i = 0; i < 3; i++)
		cogwheel_mod(fm->cw, &fm->t[i].timer, 130);
	fm->each = cancel_two_on;
	fm_advance(test, fm, 129);
	/* The second one would look for a fourth, which is not armed. */
	KUNIT_EXPECT_EQ(test, fm->flaws, 0);
	fm_advance(test, fm, 200);
	KUNIT_EXPECT_EQ(test, fm->nr, 2);
	KUNIT_EXPECT_EQ(test, fm->gaps, 1);
	KUNIT_EXPECT_EQ(test, fm->flaws, 1);
	KUNIT_EXPECT_FALSE(test, cogwheel_pending(fm->cw, &fm->t[2].timer));
	KUNIT_EXPECT_EQ(test, cogwheel_count(fm->cw), 0);
	cogwheel_destroy(fm->cw);
}

static void arm_again(struct fm_timer *t)
{
	if (t->fires < 3)
		t->fm->flaws += cogwheel_arm(t->fm->cw, &t->timer, 10);
}

/* All that were taken are idle, and can be armed, at once. */
static void what_was_taken_can_be_armed(struct kunit *test)
{
	struct fm *fm = fm_create(test, 0, fm_take_all);
	unsigned int i;

	fm->each = arm_again;
	for (i = 0; i < 150; i++)
		cogwheel_mod(fm->cw, &fm->t[i].timer, 30);
	fm_advance(test, fm, 300);
	KUNIT_EXPECT_EQ(test, fm->nr, 450);
	for (i = 0; i < 150; i++)
		KUNIT_EXPECT_EQ(test, fm->t[i].fires, 3);
	for (i = 0; i < 450; i++)
		KUNIT_EXPECT_EQ(test, fm->fire[i].id, i % 150);
	KUNIT_EXPECT_EQ(test, fm->flaws, 0);
	cogwheel_destroy(fm->cw);
}

static int forms_suite_init(struct kunit_suite *suite)
{
	while (!seed)
		seed = get_random_u64();
	return 0;
}

static struct kunit_case forms_cases[] = {
	KUNIT_CASE_PARAM(forms_do_what_calls_do, kind_gen_params),
	KUNIT_CASE_PARAM(forms_leave_alone, kind_gen_params),
	KUNIT_CASE_PARAM(lazy_moves_are_never_early, kind_gen_params),
	KUNIT_CASE_PARAM(lazy_moves_leave_the_wheel_alone, kind_gen_params),
	KUNIT_CASE_PARAM(a_batch_is_taken_at_once, kind_gen_params),
	KUNIT_CASE_PARAM(what_was_taken_can_be_armed, kind_gen_params),
	{}
};

static struct kunit_suite forms_suite = {
	.name = "cogwheel_forms",
	.suite_init = forms_suite_init,
	.test_cases = forms_cases,
};

kunit_test_suite(forms_suite);

MODULE_DESCRIPTION("KUnit: the facility's calls for many timers");
MODULE_LICENSE("GPL");
