// SPDX-License-Identifier: GPL-2.0
/*
 * How to use timing wheels from a module of one's own: nothing here but
 * cogwheel.h.
 *
 * Two facilities, one that counts jiffies and one that counts milliseconds of
 * CLOCK_MONOTONIC. On each a few timers are armed as the module is loaded; each
 * says, as it fires, how late it was. Two more are never to fire: one is
 * cancelled at once, the other is still pending when the module goes away.
 */
#define pr_fmt(fmt) "cogwheel_sample: " fmt

#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>

#include "../cogwheel.h"

static char *kind = "cascading";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "kind of wheel, see `cogctl kinds'");

static const unsigned int delays[] = { 1, 10, 63, 100 };

/* A timer is part of the object that it is for, as with struct timer_list. */
struct sample_timer {
	struct sample *sample;
	unsigned int delay;
	ktime_t armed;
	struct cogwheel_timer timer;
};

struct sample {
	const char *name;
	struct cogwheel_config config;
	struct cogwheel *cw;
	struct sample_timer timer[ARRAY_SIZE(delays)];
	struct cogwheel_timer cancelled;
	struct cogwheel_timer far;
};

static struct sample samples[] = {
	{
		.name = "jiffies",
		.config = { .clock = COGWHEEL_JIFFIES },
	},
	{
		.name = "monotonic",
		.config = {
			.clock = COGWHEEL_MONOTONIC,
			.tick_ns = NSEC_PER_MSEC,
		},
	},
};

/* In softirq context, no lock held. */
static void sample_fired(struct cogwheel_timer *timer)
{
	struct sample_timer *t = container_of(timer, struct sample_timer,
					      timer);
	u64 late = cogwheel_now(t->sample->cw) - timer->node.expires;

	pr_info("%s: %u ticks: fired %llu ticks late, after %lld us\n",
		t->sample->name, t->delay, late,
		ktime_us_delta(ktime_get(), t->armed));
}

static void sample_never(struct cogwheel_timer *timer)
{
	pr_err("a timer fired that should not\n");
}

static void sample_stop(struct sample *s)
{
	unsigned int i;

	if (!s->cw)
		return;
	/* For good: also a timer whose function arms it again stays idle. */
	for (i = 0; i < ARRAY_SIZE(s->timer); i++)
		cogwheel_shutdown_sync(s->cw, &s->timer[i].timer);
	cogwheel_shutdown_sync(s->cw, &s->far);
	cogwheel_destroy(s->cw);
	s->cw = NULL;
}

static int sample_start(struct sample *s)
{
	struct cogwheel *cw;
	unsigned int i;
	int err;

	s->config.kind = kind;
	cw = cogwheel_create(&s->config);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	err = cogwheel_reserve(cw, ARRAY_SIZE(s->timer) + 2);
	if (err) {
		cogwheel_destroy(cw);
		return err;
	}
	s->cw = cw;
	for (i = 0; i < ARRAY_SIZE(s->timer); i++) {
		struct sample_timer *t = &s->timer[i];

		t->sample = s;
		t->delay = delays[i];
		t->armed = ktime_get();
		cogwheel_timer_setup(&t->timer, sample_fired, 0);
		cogwheel_arm(cw, &t->timer, t->delay);
	}
	cogwheel_timer_setup(&s->cancelled, sample_never, 0);
	cogwheel_arm(cw, &s->cancelled, 1000);
	cogwheel_cancel(cw, &s->cancelled);
	cogwheel_timer_setup(&s->far, sample_never, 0);
	cogwheel_arm(cw, &s->far, 1ULL << 40);
	pr_info("%s: %llu timers pending\n", s->name, cogwheel_count(cw));
	return 0;
}

static int __init sample_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		err = sample_start(&samples[i]);
		if (err) {
			pr_err("kind=%s: error %d\n", kind, err);
			goto stop;
		}
	}
	return 0;
stop:
	while (i--)
		sample_stop(&samples[i]);
	return err;
}

static void __exit sample_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(samples); i++)
		sample_stop(&samples[i]);
}

module_init(sample_init);
module_exit(sample_exit);
MODULE_DESCRIPTION("How to use Cogwheel from another module");
MODULE_LICENSE("GPL");
