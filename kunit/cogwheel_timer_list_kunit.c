// SPDX-License-Identifier: GPL-2.0
/*
 * `noncascading` against the timer_list of the kernel that this runs in: both
 * are given the same requests at the same jiffy, and must fire at the same
 * jiffy.
 *
 * It takes UML's virtual time (time-travel=inf-cpu), in which the CPU sleeps
 * through days at no cost and each softirq runs in its own jiffy. KUnit's
 * limits count virtual time too, so everything is armed and waited for in
 * suite_init, which has none, and the cases only compare.
 *
 * All arming is done from timer callbacks. There the clock of timer_list's base
 * is the running tick plus one, whatever the CPU did before; the wheel beside
 * it is moved to the running tick first. That is why the pairs and the timer
 * that arms them (the conductor) are pinned alike: pinned timers have a base
 * of their own on some kernels.
 *
 * A third opinion is model.h's rule, which the contract suite relies on: here
 * it is held against the real thing.
 */
#include <kunit/test.h>
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/numa.h>
#include <linux/random.h>
#include <linux/timer.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include "../cogwheel.h"
#include "../compat.h"
#include "../wheels/kinds.h"
#include "model.h"
#include "timing.h"

static unsigned long long seed;
module_param(seed, ullong, 0444);
MODULE_PARM_DESC(seed, "of the random runs; 0 picks one");

/* Each is a full multiple of a level's granularity, but for smaller machines. */
static unsigned int phases = IS_ENABLED(CONFIG_DEBUG_OBJECTS_TIMERS) ? 8 : 512;
module_param(phases, uint, 0444);
MODULE_PARM_DESC(phases, "of the clock at which to try each delay, up to 512");

#define DEPTH		(HZ > 100 ? 9 : 8)
#define DELAYS		20000	/* tried one by one, at each phase */
#define WAVE_PHASES	64U	/* as many phases in flight at the same time */
#define PHASES		512	/* of the coarsest level that holds DELAYS */
#define GRAN(level)	(1ULL << (3 * (level)))
#define TOP_BITS	(3 * (DEPTH - 1))	/* of the coarsest granularity */
#define DELAY_BITS	20	/* of random delays, but for far ones */

/*
 * A request to both. Behind the node nothing is allocated that the kind does
 * not need.
 */
struct pair {
	struct timer_list timer;
	u64 due;
	u64 armed;	/* the jiffy */
	u64 needs;	/* the jiffy that enqueue returned */
	u64 ours;	/* the tick at which the wheel fired, 0 for not yet */
	bool again;	/* arms itself again in its callback */
	struct wheel_node node;
};

/* What a request for a pending timer came to. */
enum move {
	MOVE_KEPT,		/* it had that due tick */
	MOVE_BUCKET,		/* into its own bucket: only expires changes */
	MOVE_EARLIER,
	MOVE_LATER,
	MOVE_REDUCED,
	MOVE_NOT_REDUCED,
	MOVE_CANCELLED,
	MOVE_PAST,		/* to a due tick that was no later than now */
	MOVE_CALLBACK,		/* from the timer's own function */
	NR_MOVES
};

static const char * const move_names[NR_MOVES] = {
	[MOVE_KEPT]	   = "kept",
	[MOVE_BUCKET]	   = "moved in its bucket",
	[MOVE_EARLIER]	   = "moved earlier",
	[MOVE_LATER]	   = "moved later",
	[MOVE_REDUCED]	   = "reduced",
	[MOVE_NOT_REDUCED] = "not reduced",
	[MOVE_CANCELLED]   = "cancelled",
	[MOVE_PAST]	   = "moved into the past",
	[MOVE_CALLBACK]	   = "armed by itself",
};

/* What came of one wave of requests. */
struct tally {
	const char *what;
	u64 moves[NR_MOVES];
	DECLARE_BITMAP(phases, PHASES);	/* jiffies of its steps, modulo that */
	u64 probes;
	u64 wrong;	/* the wheel named another jiffy */
	u64 model;	/* so did model.h */
	u64 again;	/* timer_list fired early, beyond its capacity */
	u64 lost;	/* never fired */
	u64 armed, due, theirs, ours;	/* the first that went wrong */
	bool ran;
};

enum wave {
	WAVE_WRAP,
	WAVE_PHASES_ALL,
	WAVE_BOUNDARIES,
	WAVE_BEYOND,
	WAVE_MOVED,
	WAVE_PINNED,
	WAVE_FAR,
	WAVE_FACILITY,
	NR_WAVES
};

static struct tally tallies[NR_WAVES] = {
	[WAVE_WRAP]	  = { .what = "around jiffy 2^32" },
	[WAVE_PHASES_ALL] = { .what = "each delay at each phase" },
	[WAVE_BOUNDARIES] = { .what = "level boundaries at random phases" },
	[WAVE_BEYOND]	  = { .what = "beyond the capacity" },
	[WAVE_MOVED]	  = { .what = "moved, reduced, cancelled, overdue" },
	[WAVE_PINNED]	  = { .what = "the same, pinned" },
	[WAVE_FAR]	  = { .what = "the same, within and beyond the capacity" },
	[WAVE_FACILITY]	  = { .what = "through a facility on jiffies" },
};

/* The bench on which pairs are tried; one wave at a time. */
static struct {
	const struct wheel_ops *ops;
	struct wheel_config cfg;
	struct wheel *w;
	struct wheel_batch batch;
	u8 *pairs;
	size_t stride;
	unsigned int nr;		/* pairs there are */
	unsigned int used;		/* of them, in this wave */
	unsigned int flying;		/* armed in timer_list */
	struct tally *tally;
	u64 rnd;
	struct timer_list conductor;
	void (*step)(u64 now);		/* arms what is to be armed this jiffy */
	u64 begin;			/* jiffy of the next step */
	unsigned int steps;		/* to be taken */
	unsigned int gap_bits;		/* of the jiffies between two steps */
	unsigned int delay_bits;	/* of a random delay */
	unsigned int phase;		/* for step's own use */
	unsigned int movers;		/* pairs that step_moved chooses from */
	struct completion done;
} lab;

static bool virtual;
static int setup_error;

static struct pair *pair_at(unsigned int i)
{
	return (struct pair *)(lab.pairs + i * lab.stride);
}

/* Move the wheel to the running jiffy and note what fires. */
static void catch_up(u64 now)
{
	bool done;
	unsigned int i;

	if (lab.w->now == now)
		return;
	do {
		lab.batch.budget = WHEEL_BATCH;
		lab.batch.looked = 0;
		lab.batch.nr = 0;
		done = lab.ops->advance(lab.w, now, &lab.batch);
		for (i = 0; i < lab.batch.nr; i++)
			container_of(lab.batch.node[i], struct pair, node)->ours =
				lab.w->now;
	} while (!done);
}

static void note_miss(struct tally *t, const struct pair *p, u64 theirs)
{
	if (t->theirs)
		return;
	t->armed = p->armed;
	t->due = p->due;
	t->theirs = theirs;
	t->ours = p->ours;
}

static void arm_wheel(struct pair *p, u64 now, u64 due)
{
	p->due = due;
	p->armed = now;
	p->ours = 0;
	p->node.expires = due;
	p->needs = lab.ops->enqueue(lab.w, &p->node);
}

static void arm_pair(struct pair *p, u64 now, u64 due)
{
	arm_wheel(p, now, due);
	mod_timer(&p->timer, due);
	lab.flying++;
}

static void one_landed(void)
{
	if (!--lab.flying && !lab.step)
		complete(&lab.done);
}

static u64 random_due(u64 now);

/* The timer_list half of a pair fires. */
static void pair_fired(struct timer_list *timer)
{
	struct pair *p = container_of(timer, struct pair, timer);
	struct tally *t = lab.tally;
	u64 now = get_jiffies_64();

	catch_up(now);
	if (p->due > now) {
		/* Clamped. The wheel knows from the start where that leads. */
		t->again++;
		if (p->ours || lab.ops->fires(lab.w, &p->node) != p->needs) {
			t->wrong++;
			note_miss(t, p, now);
		}
		mod_timer(timer, p->due);
		return;
	}
	t->probes++;
	if (p->ours != now || p->needs != now) {
		t->wrong++;
		note_miss(t, p, now);
		if (!p->ours)
			lab.ops->dequeue(lab.w, &p->node);
	}
	if (timer_list_fire(p->armed, p->due, DEPTH, true) != now) {
		t->model++;
		note_miss(t, p, now);
	}
	if (p->again) {
		p->again = false;
		t->moves[MOVE_CALLBACK]++;
		arm_wheel(p, now, random_due(now));
		mod_timer(timer, p->due);
		return;
	}
	one_landed();
}

static void conduct(struct timer_list *timer)
{
	u64 now = get_jiffies_64();

	if (now >= lab.begin) {
		catch_up(now);
		set_bit(now % PHASES, lab.tally->phases);
		lab.step(now);
		if (!--lab.steps) {
			lab.step = NULL;
			if (!lab.flying)
				complete(&lab.done);
			return;
		}
		if (lab.gap_bits)
			lab.begin = now + 1 + (model_random(&lab.rnd) >>
					       (64 - lab.gap_bits));
	}
	/*
	 * Overdue, so that it comes the next jiffy; from afar, in steps short
	 * enough not to come late: only so is every phase of the levels' clocks
	 * as likely as the others.
	 */
	mod_timer(timer, now + 8 < lab.begin ? now + (lab.begin - now) / 2 : now);
}

/*
 * A wave: its requests are armed from @step, which is called in each of @steps
 * jiffies from @begin on, with up to 2^@gap_bits jiffies between them. They are
 * waited for until @limit.
 */
struct plan {
	enum wave wave;
	u64 begin;
	unsigned int steps;
	unsigned int gap_bits;
	void (*step)(u64 now);
	unsigned int delay_bits;
	unsigned int movers;
	unsigned int flags;
	u64 limit;
};

static void run_wave(const struct plan *plan)
{
	unsigned int i;

	lab.tally = &tallies[plan->wave];
	lab.tally->ran = true;
	lab.used = 0;
	lab.flying = 0;
	lab.begin = plan->begin;
	lab.steps = plan->steps;
	lab.gap_bits = plan->gap_bits;
	lab.delay_bits = plan->delay_bits ?: DELAY_BITS;
	lab.movers = plan->movers;
	lab.step = plan->step;
	reinit_completion(&lab.done);
	memset(lab.w, 0, lab.ops->size(&lab.cfg));
	lab.w->ops = lab.ops;
	lab.w->now = get_jiffies_64();
	lab.cfg.start = lab.w->now;
	setup_error = lab.ops->init(lab.w, &lab.cfg);
	if (setup_error)
		return;
	for (i = 0; i < lab.nr; i++) {
		timer_setup(&pair_at(i)->timer, pair_fired, plan->flags);
		pair_at(i)->again = false;
	}
	timer_setup(&lab.conductor, conduct, plan->flags);
	mod_timer(&lab.conductor, jiffies);
	wait_for_completion_interruptible_timeout(&lab.done, plan->limit);

	timer_delete_sync(&lab.conductor);
	for (i = 0; i < lab.used; i++)
		lab.tally->lost += timer_delete_sync(&pair_at(i)->timer);
	lab.ops->destroy(lab.w);
}

/* ---- each delay at each phase of the clock ---- */

static unsigned int level_of(u64 delay)
{
	unsigned int level = 0;

	/* Beyond the next tick to process, which is one from now. */
	while (level < DEPTH - 1 && delay > timer_list_start(level + 1))
		level++;
	return level;
}

static void step_phases(u64 now)
{
	unsigned int phase = lab.phase++;
	u64 delay;

	for (delay = 0; delay <= DELAYS && lab.used < lab.nr; delay++)
		if (phase < GRAN(level_of(delay)))
			arm_pair(pair_at(lab.used++), now, now + delay);
}

static void run_phases(void)
{
	unsigned int first, steps;
	u64 begin;

	phases = clamp(phases, 1U, 512U);
	for (first = 0; first < phases; first += WAVE_PHASES) {
		steps = min(phases - first, WAVE_PHASES);
		lab.phase = first;
		begin = (get_jiffies_64() + 1023) / 512 * 512 + first;
		run_wave(&(struct plan) {
			.wave = WAVE_PHASES_ALL, .begin = begin, .steps = steps,
			.step = step_phases, .limit = 4 * DELAYS });
	}
}

/* ---- boundaries ---- */

/* Both sides of where each level begins, and of where a bucket does. */
static void step_boundaries(u64 now)
{
	unsigned int level;
	u64 due;
	int k;

	for (level = 1; level < DEPTH; level++)
		for (k = -2; k <= 2; k++) {
			if (lab.used + 3 > lab.nr)
				return;
			due = now + timer_list_start(level) + k;
			arm_pair(pair_at(lab.used++), now, due);
			due = now + (8ULL << (3 * level)) + k;
			if (due - now < timer_list_cutoff(DEPTH))
				arm_pair(pair_at(lab.used++), now, due);
			/* A due tick on a bucket's edge, of any delay there. */
			due = now + timer_list_start(level) +
			      model_below(&lab.rnd, timer_list_start(level));
			due = (due & -GRAN(level)) + k;
			arm_pair(pair_at(lab.used++), now, due);
		}
}

/* Beyond the capacity, where timer_list fires early and again and again. */
static void step_beyond(u64 now)
{
	const u64 cutoff = timer_list_cutoff(DEPTH);
	const u64 base[] = { cutoff, cutoff + GRAN(DEPTH - 1),
			     1ULL << 27, cutoff + cutoff / 2, 2 * cutoff,
			     3 * cutoff - GRAN(DEPTH - 1), 4 * cutoff };
	unsigned int i;
	int k;

	for (i = 0; i < ARRAY_SIZE(base); i++)
		for (k = -2; k <= 2 && lab.used < lab.nr; k++)
			arm_pair(pair_at(lab.used++), now, now + base[i] + k);
	if (lab.used < lab.nr)
		arm_pair(pair_at(lab.used++), now, now + cutoff +
			 model_below(&lab.rnd, 4 * cutoff));
}

/* ---- moved, reduced, cancelled, overdue ---- */

static u64 random_due(u64 now)
{
	u64 delay = model_random(&lab.rnd);
	u64 level;

	delay >>= 63 - model_below(&lab.rnd, lab.delay_bits);
	switch (model_below(&lab.rnd, 8)) {
	case 0:
		return now - model_below(&lab.rnd, 100);
	case 1:
		return now + model_below(&lab.rnd, 80);
	case 2:
		/* Near the beginning of a level. */
		level = 1 + model_below(&lab.rnd, lab.delay_bits / 4);
		return now + timer_list_start(level) - 2 +
		       model_below(&lab.rnd, 5);
	default:
		return now + delay;
	}
}

static u64 bucket_of(u64 now, u64 due)
{
	u32 level;

	return timer_list_place(now, due, DEPTH, &level);
}

static void note_move(const struct pair *p, u64 now, u64 due)
{
	u64 *moves = lab.tally->moves;

	moves[MOVE_PAST] += due <= now;
	if (due == p->due)
		moves[MOVE_KEPT]++;
	else if (bucket_of(now, due) == bucket_of(p->armed, p->due))
		moves[MOVE_BUCKET]++;
	else
		moves[due < p->due ? MOVE_EARLIER : MOVE_LATER]++;
}

static void move_pair(struct pair *p, u64 now, u64 due)
{
	note_move(p, now, due);
	/* Moving it to where it is changes nothing: that is mod_timer()'s rule. */
	if (due != p->due) {
		lab.ops->dequeue(lab.w, &p->node);
		arm_wheel(p, now, due);
	}
	mod_timer(&p->timer, due);
}

static void reduce_pair(struct pair *p, u64 now, u64 due)
{
	lab.tally->moves[due < p->due ? MOVE_REDUCED : MOVE_NOT_REDUCED]++;
	if (due < p->due) {
		lab.ops->dequeue(lab.w, &p->node);
		arm_wheel(p, now, due);
	}
	timer_reduce(&p->timer, due);
}

static void cancel_pair(struct pair *p)
{
	lab.tally->moves[MOVE_CANCELLED]++;
	lab.ops->dequeue(lab.w, &p->node);
	timer_delete(&p->timer);
	one_landed();
}

#define MOVED_PAIRS	20000U
#define MOVED_STEPS	4000
#define FAR_PAIRS	2000U
#define FAR_STEPS	400
#define MOVED_OPS	60

static void step_moved(u64 now)
{
	unsigned int i;

	lab.used = min(lab.nr, lab.movers);
	for (i = 0; i < MOVED_OPS; i++) {
		struct pair *p = pair_at(model_below(&lab.rnd, lab.used));

		if (!timer_pending(&p->timer)) {
			p->again = !model_below(&lab.rnd, 4);
			arm_pair(p, now, random_due(now));
			continue;
		}
		/*
		 * Its wheel half may have fired this jiffy, ahead of its
		 * callback, which is due in the same tick; leave it then.
		 */
		if (p->ours)
			continue;
		switch (model_below(&lab.rnd, 8)) {
		case 0:
			cancel_pair(p);
			break;
		case 1:
			reduce_pair(p, now, random_due(now));
			break;
		case 2:
			move_pair(p, now, p->due);
			break;
		case 3:
			/* Into the same bucket, more often than not. */
			move_pair(p, now, p->due + 1);
			break;
		case 4:
			move_pair(p, now, p->due - model_below(&lab.rnd, 9));
			break;
		case 5:
			move_pair(p, now, p->due + model_below(&lab.rnd, 9));
			break;
		default:
			move_pair(p, now, random_due(now));
			break;
		}
	}
}

/* ---- around the wrap of 32-bit jiffies ---- */

#define WRAP		BIT_ULL(32)
#define WRAP_STEPS	600

static void step_wrap(u64 now)
{
	unsigned int i;

	for (i = 0; i < 60 && lab.used < lab.nr; i++) {
		struct pair *p = pair_at(lab.used++);

		arm_pair(p, now, i ? random_due(now) : WRAP - 2 + now % 5);
	}
}

/* ---- through a facility ---- */

struct fpair {
	struct timer_list timer;
	struct cogwheel_timer cogwheel;
	u64 armed;
	u64 due;
	u64 theirs;
	u64 ours;
};

#define FACILITY_PAIRS	4000
#define FACILITY_STEPS	1500

static struct {
	struct cogwheel *cw;
	struct fpair *pair;
	struct cogwheel_timer conductor;
	unsigned int steps;
	unsigned int flying;
	struct completion done;
} fac;

static void fpair_landed(struct fpair *p)
{
	struct tally *t = &tallies[WAVE_FACILITY];

	if (!p->theirs || !p->ours)
		return;
	t->probes++;
	if (p->theirs != p->ours) {
		t->wrong++;
		if (!t->theirs) {
			t->armed = p->armed;
			t->due = p->due;
			t->theirs = p->theirs;
			t->ours = p->ours;
		}
	}
	if (timer_list_fire(p->armed, p->due, DEPTH, true) != p->theirs)
		t->model++;
	if (!--fac.flying && !fac.steps)
		complete(&fac.done);
}

static void fpair_theirs(struct timer_list *timer)
{
	struct fpair *p = container_of(timer, struct fpair, timer);

	p->theirs = get_jiffies_64();
	fpair_landed(p);
}

static void fpair_ours(struct cogwheel_timer *timer)
{
	struct fpair *p = container_of(timer, struct fpair, cogwheel);

	p->ours = get_jiffies_64();
	fpair_landed(p);
}

static void fpair_op(struct fpair *p, u64 now)
{
	struct tally *t = &tallies[WAVE_FACILITY];
	int theirs, ours;
	u64 due = random_due(now);

	/* Idle, or in the midst of firing: one of the two has, this jiffy. */
	if (!timer_pending(&p->timer) || !cogwheel_pending(fac.cw, &p->cogwheel)) {
		if (timer_pending(&p->timer) ||
		    cogwheel_pending(fac.cw, &p->cogwheel))
			return;
		p->armed = now;
		p->due = due;
		p->theirs = 0;
		p->ours = 0;
		fac.flying++;
		mod_timer(&p->timer, due);
		cogwheel_mod(fac.cw, &p->cogwheel, due);
		return;
	}
	/* In this jiffy's batch already, while its twin's bucket waits. */
	if (cogwheel_fires(fac.cw, &p->cogwheel) == now)
		return;
	switch (model_below(&lab.rnd, 6)) {
	case 0:
		theirs = timer_delete(&p->timer);
		ours = cogwheel_cancel(fac.cw, &p->cogwheel);
		fac.flying--;
		break;
	case 1:
		if (due < p->due) {
			p->armed = now;
			p->due = due;
		}
		theirs = timer_reduce(&p->timer, due);
		ours = cogwheel_reduce(fac.cw, &p->cogwheel, due);
		break;
	case 2:
		theirs = mod_timer(&p->timer, p->due);
		ours = cogwheel_mod(fac.cw, &p->cogwheel, p->due);
		break;
	default:
		if (due != p->due) {
			p->armed = now;
			p->due = due;
		}
		theirs = mod_timer(&p->timer, due);
		ours = cogwheel_mod(fac.cw, &p->cogwheel, due);
		break;
	}
	if (theirs != ours)
		t->wrong++;
}

static void fac_conduct(struct cogwheel_timer *timer)
{
	u64 now = get_jiffies_64();
	unsigned int i;

	for (i = 0; i < 60; i++)
		fpair_op(&fac.pair[model_below(&lab.rnd, FACILITY_PAIRS)], now);
	if (--fac.steps)
		cogwheel_mod(fac.cw, timer, now);
	else if (!fac.flying)
		complete(&fac.done);
}

static int run_facility(void)
{
	struct tally *t = &tallies[WAVE_FACILITY];
	unsigned int i;

	fac.pair = vzalloc(array_size(FACILITY_PAIRS, sizeof(*fac.pair)));
	if (!fac.pair)
		return -ENOMEM;
	fac.cw = cogwheel_create(&(struct cogwheel_config) {
		.kind = "noncascading", .clock = COGWHEEL_JIFFIES,
		.levels = DEPTH });
	if (IS_ERR(fac.cw)) {
		vfree(fac.pair);
		return PTR_ERR(fac.cw);
	}
	for (i = 0; i < FACILITY_PAIRS; i++) {
		/* The driver of a base is pinned, so its twins must be. */
		timer_setup(&fac.pair[i].timer, fpair_theirs, TIMER_PINNED);
		cogwheel_timer_setup(&fac.pair[i].cogwheel, fpair_ours,
				     COGWHEEL_PINNED);
	}
	t->ran = true;
	lab.delay_bits = DELAY_BITS;
	fac.steps = FACILITY_STEPS;
	init_completion(&fac.done);
	cogwheel_timer_setup(&fac.conductor, fac_conduct, COGWHEEL_PINNED);
	cogwheel_arm(fac.cw, &fac.conductor, 1);
	wait_for_completion_interruptible_timeout(&fac.done, 1 << 23);
	cogwheel_cancel_sync(fac.cw, &fac.conductor);
	for (i = 0; i < FACILITY_PAIRS; i++)
		t->lost += timer_delete_sync(&fac.pair[i].timer) +
			   cogwheel_cancel_sync(fac.cw, &fac.pair[i].cogwheel);
	cogwheel_destroy(fac.cw);
	vfree(fac.pair);
	return 0;
}

/* ---- deferrable ones, which wait for a CPU that is awake anyway ---- */

struct lazy {
	struct timer_list timer;
	u64 armed;
	u64 due;
	u64 fired;
};

#define LAZY_TIMERS	500
#define LAZY_ROUNDS	2000

/* Shown and not counted among the probes: an idle CPU lets them wait. */
static struct {
	unsigned int fired;
	unsigned int early;	/* before they were due */
	unsigned int as_others;	/* at timer_list's jiffy */
	u64 latest;		/* beyond that */
} lazy;

static void lazy_fired(struct timer_list *timer)
{
	container_of(timer, struct lazy, timer)->fired = get_jiffies_64();
}

static int run_deferrable(void)
{
	struct lazy *timers = vzalloc(array_size(LAZY_TIMERS, sizeof(*timers)));
	unsigned int i, round, left = LAZY_TIMERS;
	u64 now = get_jiffies_64();

	if (!timers)
		return -ENOMEM;
	for (i = 0; i < LAZY_TIMERS; i++) {
		timer_setup(&timers[i].timer, lazy_fired, TIMER_DEFERRABLE);
		timers[i].armed = now;
		timers[i].due = now + model_below(&lab.rnd, DELAYS);
		mod_timer(&timers[i].timer, timers[i].due);
	}
	/* This task's own sleep is what wakes the CPU, now and then. */
	for (round = 0; left && round < LAZY_ROUNDS; round++) {
		schedule_timeout_idle(1 + model_below(&lab.rnd, 300));
		left = 0;
		for (i = 0; i < LAZY_TIMERS; i++)
			left += !READ_ONCE(timers[i].fired);
	}
	for (i = 0; i < LAZY_TIMERS; i++) {
		const struct lazy *l = &timers[i];
		u64 law = timer_list_fire(l->armed, l->due, DEPTH, true);

		if (timer_delete_sync(&timers[i].timer))
			continue;
		lazy.fired++;
		lazy.early += l->fired < l->due;
		lazy.as_others += l->fired == law;
		if (l->fired > law)
			lazy.latest = max(lazy.latest, l->fired - law);
	}
	vfree(timers);
	return 0;
}

/* ---- the suite ---- */

static int timer_list_suite_init(struct kunit_suite *suite)
{
	unsigned int per_wave = min(phases, WAVE_PHASES);
	int kind = wheel_kind_by_name("noncascading");
	u64 from;

	virtual = time_is_virtual();
	if (!virtual)
		return 0;
	while (!seed)
		seed = get_random_u64();
	lab.rnd = seed;
	lab.ops = wheel_kinds[kind];
	lab.cfg.levels = DEPTH;
	lab.cfg.numa = NUMA_NO_NODE;
	setup_error = wheel_configure(kind, &lab.cfg);
	if (setup_error)
		return 0;
	init_completion(&lab.done);
	lab.stride = ALIGN(offsetof(struct pair, node) + lab.ops->node_size, 8);
	/* As many as one wave of phases arms, and the other waves do with. */
	lab.nr = max(per_wave * (DELAYS + 1), 40000U);
	lab.pairs = vzalloc(array_size(lab.nr, lab.stride));
	lab.w = vzalloc(lab.ops->size(&lab.cfg));
	if (!lab.pairs || !lab.w) {
		setup_error = -ENOMEM;
		goto free;
	}
	from = WRAP - WRAP_STEPS / 2;
	/* Jiffies start five minutes before it. */
	if (time_before64(get_jiffies_64(), from))
		run_wave(&(struct plan) {
			.wave = WAVE_WRAP, .begin = from, .steps = WRAP_STEPS,
			.step = step_wrap, .limit = 1ULL << 25 });
	run_phases();
	run_wave(&(struct plan) {
		.wave = WAVE_MOVED, .begin = get_jiffies_64() + 2,
		.steps = MOVED_STEPS, .step = step_moved,
		.movers = MOVED_PAIRS, .limit = 1ULL << 25 });
	run_wave(&(struct plan) {
		.wave = WAVE_PINNED, .begin = get_jiffies_64() + 2,
		.steps = MOVED_STEPS, .step = step_moved,
		.movers = MOVED_PAIRS, .flags = TIMER_PINNED,
		.limit = 1ULL << 25 });
	setup_error = setup_error ?: run_facility();
	setup_error = setup_error ?: run_deferrable();
	/* Last, since they take months. */
	run_wave(&(struct plan) {
		.wave = WAVE_BOUNDARIES, .begin = get_jiffies_64() + 2,
		.steps = 150, .gap_bits = TOP_BITS, .step = step_boundaries,
		.limit = LONG_MAX / 4 });
	run_wave(&(struct plan) {
		.wave = WAVE_BEYOND, .begin = get_jiffies_64() + 2,
		.steps = 100, .gap_bits = TOP_BITS, .step = step_beyond,
		.limit = LONG_MAX / 4 });
	run_wave(&(struct plan) {
		.wave = WAVE_FAR, .begin = get_jiffies_64() + 2,
		.steps = FAR_STEPS, .gap_bits = TOP_BITS - 3, .step = step_moved,
		.delay_bits = TOP_BITS + 8, .movers = FAR_PAIRS,
		.limit = LONG_MAX / 4 });
free:
	vfree(lab.pairs);
	vfree(lab.w);
	return 0;
}

static void timer_list_suite_exit(struct kunit_suite *suite)
{
	u64 probes = 0, again = 0;
	unsigned int i;

	for (i = 0; i < NR_WAVES; i++) {
		probes += tallies[i].probes;
		again += tallies[i].again;
	}
	kunit_info(suite,
		   "%llu probes, %llu early fires, HZ=%d, Linux %s, seed=%llu\n",
		   probes, again, HZ, utsname()->release, seed);
}

static void compare(struct kunit *test, enum wave wave, u64 least)
{
	const struct tally *t = &tallies[wave];

	if (!virtual)
		kunit_skip(test, "needs virtual time (UML, time-travel=inf-cpu)");
	KUNIT_ASSERT_EQ(test, setup_error, 0);
	if (!t->ran)
		kunit_skip(test, "too late: load it in the first five minutes");
	kunit_info(test, "%s: %llu probes, seed=%llu\n", t->what, t->probes,
		   seed);
	KUNIT_EXPECT_EQ_MSG(test, t->wrong, 0,
			    "first: armed at %llu for %llu (+%lld): timer_list at %llu, we at %llu",
			    t->armed, t->due, t->due - t->armed, t->theirs,
			    t->ours);
	KUNIT_EXPECT_EQ_MSG(test, t->model, 0,
			    "first: armed at %llu for %llu (+%lld): timer_list at %llu, model.h at %llu",
			    t->armed, t->due, t->due - t->armed, t->theirs,
			    timer_list_fire(t->armed, t->due, DEPTH, true));
	KUNIT_EXPECT_EQ_MSG(test, t->lost, 0, "timers never fired");
	KUNIT_EXPECT_GE(test, t->probes, least);
}

static void around_the_wrap_of_jiffies(struct kunit *test)
{
	compare(test, WAVE_WRAP, 30000);
}

static void each_delay_at_each_phase(struct kunit *test)
{
	u64 least = 0, delay;

	for (delay = 0; delay <= DELAYS; delay++)
		least += min_t(u64, phases, GRAN(level_of(delay)));
	compare(test, WAVE_PHASES_ALL, least);
}

/* Random jiffies, not those at which all levels have the same phase. */
static void expect_phases(struct kunit *test, enum wave wave, unsigned int least)
{
	unsigned int seen = bitmap_weight(tallies[wave].phases, PHASES);

	kunit_info(test, "%u of %u phases\n", seen, PHASES);
	KUNIT_EXPECT_GE(test, seen, least);
}

static void level_boundaries(struct kunit *test)
{
	compare(test, WAVE_BOUNDARIES, 8000);
	expect_phases(test, WAVE_BOUNDARIES, 90);
}

static void beyond_the_capacity(struct kunit *test)
{
	compare(test, WAVE_BEYOND, 1000);
	expect_phases(test, WAVE_BEYOND, 60);
	KUNIT_EXPECT_GE(test, tallies[WAVE_BEYOND].again, 1000);
}

/* Each way to move a timer was gone often. */
static void expect_moves(struct kunit *test, enum wave wave, u64 least)
{
	const struct tally *t = &tallies[wave];
	unsigned int i;

	for (i = 0; i < NR_MOVES; i++) {
		kunit_info(test, "%llu %s\n", t->moves[i], move_names[i]);
		KUNIT_EXPECT_GE_MSG(test, t->moves[i], least, "%s",
				    move_names[i]);
	}
}

static void moved_and_cancelled(struct kunit *test)
{
	compare(test, WAVE_MOVED, 50000);
	expect_moves(test, WAVE_MOVED, 1000);
}

static void moved_and_cancelled_pinned(struct kunit *test)
{
	compare(test, WAVE_PINNED, 50000);
	expect_moves(test, WAVE_PINNED, 1000);
}

static void moved_far_away(struct kunit *test)
{
	compare(test, WAVE_FAR, 5000);
	expect_moves(test, WAVE_FAR, 30);
	expect_phases(test, WAVE_FAR, 180);
	KUNIT_EXPECT_GE(test, tallies[WAVE_FAR].again, 100);
}

static void through_a_facility(struct kunit *test)
{
	compare(test, WAVE_FACILITY, 20000);
}

static void deferrable_ones_are_late(struct kunit *test)
{
	if (!virtual)
		kunit_skip(test, "needs virtual time (UML, time-travel=inf-cpu)");
	KUNIT_ASSERT_EQ(test, setup_error, 0);
	kunit_info(test, "deferrable, not counted: %u of %u at timer_list's jiffy, the latest %llu after it\n",
		   lazy.as_others, lazy.fired, lazy.latest);
	KUNIT_EXPECT_EQ(test, lazy.fired, LAZY_TIMERS);
	KUNIT_EXPECT_EQ(test, lazy.early, 0);
}

static struct kunit_case timer_list_cases[] = {
	KUNIT_CASE(around_the_wrap_of_jiffies),
	KUNIT_CASE(each_delay_at_each_phase),
	KUNIT_CASE(level_boundaries),
	KUNIT_CASE(beyond_the_capacity),
	KUNIT_CASE(moved_and_cancelled),
	KUNIT_CASE(moved_and_cancelled_pinned),
	KUNIT_CASE(moved_far_away),
	KUNIT_CASE(deferrable_ones_are_late),
	KUNIT_CASE(through_a_facility),
	{}
};

static struct kunit_suite timer_list_suite = {
	.name = "cogwheel_timer_list",
	.suite_init = timer_list_suite_init,
	.suite_exit = timer_list_suite_exit,
	.test_cases = timer_list_cases,
};

kunit_test_suite(timer_list_suite);

MODULE_DESCRIPTION("KUnit: noncascading against the kernel's timer_list");
MODULE_LICENSE("GPL");
