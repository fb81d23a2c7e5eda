// SPDX-License-Identifier: GPL-2.0
/*
 * The well-known faults of public timing wheels, each as a named case with
 * what is right, for every kind, with every budget. Knows no kind by name.
 *
 * A case is a script of words, timers having one letter:
 *
 *	a+5	arm a 5 ticks from now		a@5	arm a for tick 5
 *	a*7	a's next arming is periodic	-a	cancel a
 *	>5	advance by 5 ticks		>@5	advance to tick 5
 *	~5	the same as >5, but stop where the first timer has fired
 *
 * What is right is what fires, in order: "a@5 b@5". There are two right
 * values: of exact kinds, those with slack included, no slack being asked for,
 * and of those that round.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "../../wheels/kinds.h"
#include "../../wheels/period.h"
#include "tap.h"
#include "wheels.h"

#define TIMERS	26

struct fault {
	const char *name;
	u64 start;
	const char *script;
	const char *exact;
	const char *rounds;
};

/* Right values of kinds that round are worked out by hand from timer.c. */
static const struct fault faults[] = {
	{
		"digits overflow: one tick across 2^36",
		(1ULL << 36) - 1, "a+1 >1 >1",
		"a@68719476736", "a@68719476737",
	}, {
		"digits overflow: two ticks across 2^36, from two before it",
		(1ULL << 36) - 2, "a+2 b+1 >1 >1 >1",
		"b@68719476735 a@68719476736", "b@68719476736 a@68719476737",
	}, {
		"digits overflow: one tick across 2^60",
		(1ULL << 60) - 1, "a+1 >1 >1",
		"a@1152921504606846976", "a@1152921504606846977",
	}, {
		"digits overflow: one tick across 2^63",
		(1ULL << 63) - 1, "a+1 >1 >1",
		"a@9223372036854775808", "a@9223372036854775809",
	}, {
		"digits overflow: a delay of 2^36",
		5, "a+68719476736 >68719476735 >1 >1000000000",
		"a@68719476741", "a@68721573888",
	}, {
		"the slot of the top level wraps: farther than it and next to it",
		481036337147,
		"a+68719476636 b+68719476736 c+1 >1 >68719476634 >1 >100 >16777216",
		"c@481036337148 a@549755813783 b@549755813883",
		"c@481036337149 a@549755813888 b@549755813888",
	}, {
		"armed for a stretch in which nothing was to be done",
		100, "a+1000 >10 b+5 >100 -a >10 c+20 >100",
		"b@115 c@240", "b@116 c@241",
	}, {
		"the slot under the cursor holds the farthest timer",
		70, "a+4090 b+200 -b >4089 >1 >448",
		"a@4160", "a@4608",
	}, {
		"a multiple of the wheel's period: 64 and its multiples",
		3, "a+64 b+128 c+192 d+4096 >63 >1 >63 >1 >63 >1 >3904 >64 >512",
		"a@67 b@131 c@195 d@4099", "a@72 b@136 c@200 d@4608",
	}, {
		"a multiple of the wheel's period: 6 and its multiples",
		4, "a+6 b+12 c+18 >5 >1 >5 >1 >5 >1 >1",
		"a@10 b@16 c@22", "a@11 b@17 c@23",
	}, {
		"a multiple of the wheel's period: 512, from its last slot",
		511, "a+512 b+1024 >511 >1 >511 >1 >64",
		"a@1023 b@1535", "a@1024 b@1536",
	}, {
		"armed into the slot that is being fired: one turn later, not now",
		0, "a@64 b@64 >62 ~12 c+64 d+4096 >10 >49 >1 >10 >4000 >600",
		"a@64 b@64 c@128 d@4160", "a@72 b@72 c@144 d@4608",
	}, {
		"armed while its slot is being fired, for the tick that it shows",
		0, "a@7 b@7 c@7 >6 ~2 d+0 >2 >2",
		"a@7 b@7 c@7 d@8", "a@8 b@8 c@8 d@9",
	}, {
		"armed while its slot is being fired, for the next tick",
		0, "a@7 b@7 >6 ~2 c@8 d@7 >1 >1 >1 >1",
		"a@7 b@7 c@8 d@8", "a@8 b@8 c@9 d@9",
	}, {
		"an expired timer that is armed again fires once more, once",
		0, "a+5 b+5 >6 a+5 >5 >5 a+0 >1 >9",
		"a@5 b@5 a@11 a@17", "a@6 b@6 a@12 a@17",
	}, {
		"an expired timer that is cancelled stays idle",
		0, "a+5 b+6 >5 -a -a >3 a+1 -a >9",
		"a@5 b@6", "b@7",
	}, {
		"rounds overflow: a delay of 2^32 slots",
		1, "a+274877906944 >274877906943 >1 >1000000000",
		"a@274877906945", "a@274880004096",
	}, {
		"rounds overflow: delays of 2^38 and a little more",
		1, "a@274877906945 b@274877906951 c@7 >6 >5 >@274877906944 >1 >6 >16777216",
		"c@7 a@274877906945 b@274877906951",
		"c@8 a@274880004096 b@274880004096",
	}, {
		"rounds overflow: the farthest of all",
		0,
		"a@18446744073709551615 b@18446744073709551614 c+1 >2 >@18446744073709551613 >1 >1",
		"c@1 b@18446744073709551614 a@18446744073709551615",
		"c@2 a@18446744073709551615 b@18446744073709551615",
	}, {
		"signed compares: 2^63 and more away",
		0, "a@9223372036854775808 b@9223372036854775807 >@9223372036854775806 >2 >20000000",
		"b@9223372036854775807 a@9223372036854775808",
		"b@9223372036854775808 a@9223372036871553024",
	}, {
		"cancelled while it waits on the expiry list: gone, and counted once",
		0, "a@9 b@9 c@9 d@9 >8 ~2 ~2 -c -c >1 >1 d@30 >18 >2 >9",
		"a@9 b@9 d@9 d@30", "a@10 b@10 d@10 d@31",
	}, {
		"cancelled while it waits on the expiry list, and armed again",
		0, "a@9 b@9 >8 ~2 -b b@9 >1 >1 >1",
		"a@9 b@10", "a@10 b@11",
	}, {
		"the last of its slot is cancelled, and the slot used again",
		0, "a@100 -a b@100 >99 >1 >10",
		"b@100", "b@104",
	}, {
		"an overdue timer does not move the clock backwards",
		100, "a@3 b@101 c@100 >1 d+1 >1 >1",
		"a@101 b@101 c@101 d@102", "a@101 c@101 b@102 d@103",
	}, {
		"an overdue timer does not hide a later one",
		1000, "a@1 b+70 c@999 >1 >69 >8",
		"a@1001 c@1001 b@1070", "a@1001 c@1001 b@1072",
	}, {
		"a period is counted from due tick to due tick",
		0, "a*10 a+10 >35 >6",
		"a@10 a@20 a@30 a@40", "a@11 a@21 a@31 a@41",
	}, {
		"a period of one turn fires once a turn",
		63, "a*64 a+64 >200 >64",
		"a@127 a@191 a@255 a@319", "a@128 a@192 a@256 a@320",
	}, {
		"order holds though timers come down from three levels",
		0, "a@4200 >200 b@4200 >3900 c@4200 >90 d@4200 >10 >408",
		"a@4200 b@4200 c@4200 d@4200",
		"d@4201 c@4208 b@4224 a@4608",
	}, {
		"a far jump passes nothing over",
		0, "a+1 b+64 c+4096 d+262144 e+16777216 f+1073741824 >1200000000",
		"a@1 b@64 c@4096 d@262144 e@16777216 f@1073741824",
		"a@2 b@72 c@4608 d@294912 e@18874368 f@1075838976",
	}, {
		"what is due at the end of the clock fires there, the overdue do not",
		18446744073709551610ULL, "a+5 b+9 >4 >1 c+0 >1 d@3 >1",
		"a@18446744073709551615 b@18446744073709551615",
		"a@18446744073709551615 b@18446744073709551615",
	},
};

struct play {
	enum wheel_kind kind;
	struct wheel *w;
	struct test_pool pool;
	struct wheel_node *node[TIMERS];
	u64 expires[TIMERS];
	u64 period[TIMERS];
	bool queued[TIMERS];
	unsigned int budget;
	char fired[512];
	size_t len;
};

__printf(2, 3)
static void note(struct play *p, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(p->fired + p->len, sizeof(p->fired) - p->len, format,
			args);
	va_end(args);
	if (len > 0)
		p->len = min(p->len + (size_t)len, sizeof(p->fired) - 1);
}

static void play_cancel(struct play *p, unsigned int i)
{
	if (p->queued[i])
		wheel_dequeue(p->kind, p->w, p->node[i]);
	p->queued[i] = false;
}

static void play_arm(struct play *p, unsigned int i, u64 expires)
{
	play_cancel(p, i);
	p->node[i]->expires = expires;
	p->node[i]->owner = i;
	if (p->w->ops->traits & WHEEL_SLACK)
		p->node[i]->slack.slack = 0;
	p->expires[i] = expires;
	wheel_enqueue(p->kind, p->w, p->node[i]);
	p->queued[i] = true;
}

static bool play_step(struct play *p, u64 to, unsigned int budget)
{
	struct wheel_batch batch = { .budget = budget };
	unsigned int i;
	u64 missed;
	bool done;

	done = wheel_advance(p->kind, p->w, to, &batch);
	for (i = 0; i < batch.nr; i++) {
		unsigned int nr = batch.node[i]->owner;

		note(p, " %c@%llu", 'a' + (int)nr, p->w->now);
		if (!p->queued[nr])
			note(p, "(not queued)");
		p->queued[nr] = false;
		if (p->period[nr] &&
		    wheel_period_next(&p->expires[nr], p->period[nr],
				      p->w->now, &missed))
			play_arm(p, nr, p->expires[nr]);
	}
	return done;
}

/* How many timers there are, by the kind's own account. */
static unsigned int play_count(struct play *p)
{
	struct wheel_walk pos = {};
	struct wheel_item items[WHEEL_BATCH];
	unsigned int count = 0, nr;

	while ((nr = p->w->ops->walk(p->w, &pos, items, WHEEL_BATCH)))
		count += nr;
	return count;
}

static void play_word(struct play *p, const char *word)
{
	unsigned int i = (unsigned int)(*word - 'a'), count = 0;
	u64 now = p->w->now, n;
	size_t len = p->len;
	bool at = false;

	if (*word == '-') {
		play_cancel(p, (unsigned int)(word[1] - 'a'));
	} else {
		at = word[1] == '@';
		n = strtoull(word + 1 + (at || i < TIMERS), NULL, 10);
		if (!at && word[1] != '*')
			n = n > U64_MAX - now ? U64_MAX : now + n;
		if (*word == '>')
			while (!play_step(p, n, p->budget))
				;
		else if (*word == '~')
			while (p->len == len && !play_step(p, n, 1))
				;
		else if (word[1] == '*')
			p->period[i] = n;
		else
			play_arm(p, i, n);
	}
	if (p->w->now < now)
		note(p, " (the clock went back to %llu)", p->w->now);
	for (i = 0; i < TIMERS; i++)
		count += p->queued[i];
	if (play_count(p) != count)
		note(p, " (%u pending, but the wheel has %u)", count,
		     play_count(p));
}

static bool play(enum wheel_kind kind, const struct fault *f, u32 slots,
		 u32 levels, unsigned int budget)
{
	const struct wheel_ops *ops = wheel_kinds[kind];
	const char *right = ops->traits & (WHEEL_EXACT | WHEEL_SLACK) ?
			    f->exact : f->rounds;
	struct wheel_config cfg = {
		.start = f->start,
		.slots = slots,
		.levels = levels,
	};
	struct play p = {
		.kind = kind,
		.budget = budget,
		.pool = { .timers = TIMERS, .wheels = 1 },
	};
	char script[256], *word;
	unsigned int i;
	bool ok;

	p.w = test_wheel_create(kind, &cfg, &p.pool);
	if (!p.w)
		abort();
	for (i = 0; i < TIMERS; i++) {
		p.node[i] = malloc(ops->node_size);
		if (!p.node[i])
			abort();
	}
	snprintf(script, sizeof(script), "%s", f->script);
	for (word = strtok(script, " "); word; word = strtok(NULL, " "))
		play_word(&p, word);
	for (i = 0; i < TIMERS; i++) {
		play_cancel(&p, i);
		free(p.node[i]);
	}
	test_wheel_destroy(p.w);
	test_pool_check(&p.pool);

	ok = p.len && !strcmp(p.fired + 1, right);
	if (!ok)
		printf("# %s, slots %u, levels %u, budget %u: %s\n#   fired%s\n#   not   %s\n",
		       ops->name, slots, levels, budget, f->name, p.fired,
		       right);
	return ok;
}

/* With every option that matters, and stopping everywhere or nowhere. */
static bool play_all(enum wheel_kind kind, const struct fault *f)
{
	static const u32 sizes[] = { 0, 2, 6, 64, 100, 512 };
	static const unsigned int budgets[] = { 1, 2, WHEEL_BATCH };
	const struct wheel_ops *ops = wheel_kinds[kind];
	unsigned int i, j;
	bool ok = true;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (sizes[i] && !ops->slots.min)
			continue;
		for (j = 0; j < ARRAY_SIZE(budgets); j++)
			ok &= play(kind, f, sizes[i], 0, budgets[j]);
	}
	return ok;
}

int main(void)
{
	const unsigned int tests = ARRAY_SIZE(faults) * WHEEL_NR_KINDS;
	unsigned int i;
	int kind;

	tap_plan(tests);
	for (kind = 0; kind < WHEEL_NR_KINDS; kind++)
		for (i = 0; i < ARRAY_SIZE(faults); i++)
			tap_result(play_all((enum wheel_kind)kind, &faults[i]),
				   "%s: %s", wheel_kinds[kind]->name,
				   faults[i].name);
	return tap_exit(tests);
}
