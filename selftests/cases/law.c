// SPDX-License-Identifier: GPL-2.0
/*
 * Holds the output of a scenario against the law of when a timer fires: a slow
 * and obvious model, an array of timers that is searched from end to end. It
 * shares no line with cogctl or the kinds, and trusts that scenarios given to
 * it have no mistakes in them.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "law.h"

typedef uint64_t u64;

#define LAST	UINT64_MAX	/* the last tick of the clock */

struct timer {
	char name[32];
	bool pending;
	u64 due;
	u64 period;
	u64 slack;
	u64 seq;	/* order of arming */
	u64 armed_at;	/* what the clock showed then */
	/* noncascading only */
	u64 comes_up;	/* the tick of its slot */
	int level;
};

static enum law law;
static u64 depth = 9;		/* levels of noncascading */
static unsigned int max_steps;

static struct timer *timers;
static size_t nr_timers;
static u64 now, last_seq;
static unsigned int steps;	/* made towards the next fire */

static const char *file;
static unsigned int line_nr;
static FILE *to, *from;		/* to is NULL where nobody listens */

__attribute__((__format__(printf, 1, 2), __noreturn__))
static void die(const char *fmt, ...)
{
	va_list ap;

	printf("%s:%u: ", file, line_nr);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}

static u64 add(u64 a, u64 b)
{
	return b > LAST - a ? LAST : a + b;
}

/* The next line of output, kept until it is taken; NULL at the end. */
static char *ahead;
static size_t ahead_size;
static bool have_ahead;
static bool after_picture;

static const char *peek(void)
{
	ssize_t len;

	if (have_ahead)
		return ahead;
	if (to)
		fflush(to);
	len = getline(&ahead, &ahead_size, from);
	if (len < 0)
		return NULL;
	if (ahead[len - 1] != '\n')
		die("the output ends within a line");
	ahead[len - 1] = '\0';
	have_ahead = true;
	return ahead;
}

static const char *take(void)
{
	const char *text = peek();

	have_ahead = false;
	after_picture = false;
	return text;
}

__attribute__((__format__(printf, 1, 2)))
static void expect(const char *fmt, ...)
{
	const char *got = take();
	char text[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!got || strcmp(got, text))
		die("'%s' instead of '%s'", got ? got : "nothing", text);
}

/* A command of the checker's own, where somebody listens. */
__attribute__((__format__(printf, 1, 2)))
static void tell(const char *fmt, ...)
{
	va_list ap;

	if (!to)
		return;
	va_start(ap, fmt);
	vfprintf(to, fmt, ap);
	va_end(ap);
	fputc('\n', to);
}

/* timer_list's placement, for a base that has processed the tick `now`. */
static void place(struct timer *t)
{
	u64 clk = now + 1, expires = t->due, delta, index;

	if (now == LAST || t->due <= now) {
		t->level = 0;
		t->comes_up = clk;	/* where now is LAST: never, see below */
		return;
	}
	delta = expires - clk;
	for (t->level = 0; t->level < (int)depth; t->level++)
		if (delta < (u64)63 << (3 * t->level))
			break;
	if (t->level == (int)depth) {
		t->level--;
		expires = add(clk, (u64)62 << (3 * t->level));
	}
	index = expires >> (3 * t->level);
	if (index == LAST >> (3 * t->level))
		t->comes_up = LAST;
	else
		t->comes_up = (index + 1) << (3 * t->level);
}

/*
 * What waits beyond the levels is placed again each time its slot comes up,
 * silently and always as far away: up to which tick is that all, if not beyond
 * @limit? A timer may be placed again 2^33 times, so nobody counts.
 */
static u64 silent_until(const struct timer *t, u64 limit)
{
	const u64 turn = (u64)63 << (3 * (depth - 1));
	u64 turns = (t->due - t->comes_up - 1) / turn;

	if (limit - t->comes_up < turns * turn)
		turns = (limit - t->comes_up) / turn;
	return t->comes_up + turns * turn;
}

static bool beyond(const struct timer *t)
{
	return law == NONCASCADING && t->comes_up < t->due;
}

static void arm(struct timer *t)
{
	t->pending = true;
	t->seq = ++last_seq;
	t->armed_at = now;
	if (law == NONCASCADING)
		place(t);
}

/* The tick by which the law wants the wheel to look at a timer. */
static u64 latest(const struct timer *t)
{
	u64 tick;

	if (law == NONCASCADING)
		return t->comes_up;
	tick = law == SLACK ? add(t->due, t->slack) : t->due;
	return tick > t->armed_at ? tick : t->armed_at + 1;
}

static bool can_fire(const struct timer *t)
{
	return t->pending && t->armed_at != LAST;
}

/* When something happens to a timer that others could notice. */
static u64 event(const struct timer *t)
{
	return beyond(t) ? silent_until(t, LAST) : latest(t);
}

/* The timer of the next event; NULL where there is none. */
static struct timer *earliest(void)
{
	struct timer *found = NULL;

	for (size_t i = 0; i < nr_timers; i++)
		if (can_fire(&timers[i]) &&
		    (!found || event(&timers[i]) < event(found)))
			found = &timers[i];
	return found;
}

/* The tick by which something must fire; false where nothing ever will. */
static bool first_fire(u64 *tick)
{
	const u64 saved = now;
	bool any = false;

	for (size_t i = 0; i < nr_timers; i++) {
		struct timer t = timers[i];

		if (!can_fire(&t))
			continue;
		while (beyond(&t)) {
			now = event(&t);
			place(&t);
		}
		now = saved;
		if (!any || latest(&t) < *tick)
			*tick = latest(&t);
		any = true;
	}
	return any;
}

/* What a fire does to the model; returns the periods missed. */
static u64 fired(struct timer *t, u64 tick)
{
	u64 missed, left;

	t->pending = false;
	if (!t->period)
		return 0;
	missed = (tick - t->due) / t->period;
	t->due += missed * t->period;
	left = LAST - t->due;
	if (t->period <= left) {
		t->due += t->period;
		arm(t);
	}
	return missed;
}

static void check_fire_line(const struct timer *t, u64 tick, u64 due,
			    u64 missed)
{
	char late[40] = "", miss[40] = "";

	if (tick > due)
		sprintf(late, " late=%llu", (unsigned long long)(tick - due));
	if (missed)
		sprintf(miss, " missed=%llu", (unsigned long long)missed);
	expect("fire %s @%llu%s%s", t->name, (unsigned long long)tick, late,
	       miss);
}

static void fire(struct timer *t, u64 tick)
{
	u64 due = t->due;
	u64 missed = fired(t, tick);

	check_fire_line(t, tick, due, missed);
	steps = 0;
}

/* Which of two timers of one tick comes first. */
static bool before(const struct timer *a, const struct timer *b)
{
	if (law == NONCASCADING && a->level != b->level)
		return a->level > b->level;
	return a->seq < b->seq;
}

/* All silent placements up to a tick, in the order in which they happen. */
static void place_silently(u64 limit)
{
	for (;;) {
		struct timer *next = NULL;

		for (size_t i = 0; i < nr_timers; i++) {
			struct timer *c = &timers[i];

			if (!can_fire(c) || !beyond(c) || c->comes_up > limit)
				continue;
			if (!next || silent_until(c, limit) <
				     silent_until(next, limit) ||
			    (silent_until(c, limit) ==
			     silent_until(next, limit) && before(c, next)))
				next = c;
		}
		if (!next)
			return;
		now = silent_until(next, limit);
		arm(next);
	}
}

static void advance_by_model(u64 end)
{
	struct timer *t = earliest();

	for (; t && event(t) <= end; t = earliest()) {
		const u64 tick = event(t);

		place_silently(tick - 1);
		now = tick;
		/* All of that tick, but nothing that is armed during it. */
		for (;;) {
			struct timer *next = NULL;

			for (size_t i = 0; i < nr_timers; i++) {
				struct timer *c = &timers[i];

				if (can_fire(c) && c->armed_at < now &&
				    latest(c) <= now &&
				    (!next || before(c, next)))
					next = c;
			}
			if (!next)
				break;
			if (beyond(next))
				arm(next);
			else
				fire(next, now);
		}
	}
	if (law == NONCASCADING)
		place_silently(end);
	now = end;
}

static struct timer *find(const char *name, size_t len)
{
	for (size_t i = 0; i < nr_timers; i++)
		if (strlen(timers[i].name) == len &&
		    !memcmp(timers[i].name, name, len))
			return &timers[i];
	return NULL;
}

/* With slack the output says what fired; the law says whether it might. */
static void advance_by_output(u64 end)
{
	const char *text = peek();
	u64 exact_seq = 0, exact_tick = 0;

	for (; text && !strncmp(text, "fire ", 5); text = peek()) {
		const char *at = strchr(text + 5, ' ');
		unsigned long long tick;
		struct timer *t;

		if (!at || sscanf(at, " @%llu", &tick) != 1)
			die("'%s' is no fire line", text);
		/* It belongs to the next advance, which prints no line of its own. */
		if (tick > end)
			break;
		t = find(text + 5, (size_t)(at - text - 5));
		if (!t || !t->pending)
			die("'%s': it is not armed", text);
		if (tick <= t->armed_at || tick < now)
			die("'%s' at %llu, on the way to %llu", text,
			    (unsigned long long)now, (unsigned long long)end);
		if (tick < t->due)
			die("'%s': due at %llu", text,
			    (unsigned long long)t->due);
		if (tick > latest(t))
			die("'%s': due at %llu, slack %llu", text,
			    (unsigned long long)t->due,
			    (unsigned long long)t->slack);
		if (!t->slack) {
			if (tick == exact_tick && t->seq < exact_seq)
				die("'%s': not in the order of arming", text);
			exact_tick = tick;
			exact_seq = t->seq;
		}
		now = tick;
		fire(t, tick);
	}
	for (size_t i = 0; i < nr_timers; i++)
		if (can_fire(&timers[i]) && latest(&timers[i]) <= end)
			die("%s did not fire by %llu", timers[i].name,
			    (unsigned long long)latest(&timers[i]));
	now = end;
}

static void advance_to(u64 end)
{
	if (law == SLACK)
		advance_by_output(end);
	else
		advance_by_model(end);
	if (to)
		expect("now %llu", (unsigned long long)end);
}

/* Reads a `next` line; false for none. */
static bool check_next(u64 *tick)
{
	const char *text = take();
	unsigned long long value;
	u64 first = 0;

	if (!first_fire(&first)) {
		if (!text || strcmp(text, "next none"))
			die("'%s', but nothing will fire",
			    text ? text : "nothing");
		return false;
	}
	if (!text || sscanf(text, "next %llu", &value) != 1)
		die("'%s', but a timer must fire by %llu",
		    text ? text : "nothing", (unsigned long long)first);
	if (value <= now)
		die("'%s' is not later than now", text);
	if (value > first)
		die("'%s', but a timer must fire by %llu", text,
		    (unsigned long long)first);
	*tick = value;
	return true;
}

/* To each tick that `next` names on the way. */
static void advance_in_steps(u64 end)
{
	u64 tick;

	tell("next");
	while (check_next(&tick) && tick <= end) {
		tell("advance @%llu\nnow\nnext", (unsigned long long)tick);
		steps++;
		advance_to(tick);
		if (steps == max_steps)
			die("no fire after %u steps of advance @next", steps);
	}
	if (now != end) {
		tell("advance @%llu\nnow", (unsigned long long)end);
		advance_to(end);
		steps = 0;
	}
}

static u64 number(const char *word)
{
	return strtoull(word, NULL, word[0] == '0' && word[1] == 'x' ? 16 : 10);
}

static u64 target(const char *word)
{
	return *word == '@' ? number(word + 1) : add(now, number(word));
}

static void do_arm(char **word)
{
	struct timer *t = find(word[1], strlen(word[1]));
	u64 due = target(word[2]), period = 0, slack = 0;
	bool same;

	if (!t) {
		timers = realloc(timers, (nr_timers + 1) * sizeof(*timers));
		t = &timers[nr_timers++];
		memset(t, 0, sizeof(*t));
		snprintf(t->name, sizeof(t->name), "%s", word[1]);
	}
	for (word += 3; *word; word += 2) {
		if (!strcmp(*word, "every"))
			period = number(word[1]);
		else
			slack = number(word[1]);
	}
	same = t->pending && t->due == due &&
	       (law != SLACK || t->slack == slack);
	t->period = period;
	if (same)
		return;
	t->due = due;
	t->slack = slack;
	arm(t);
	steps = 0;
}

static void do_cancel(char **word)
{
	struct timer *t = find(word[1], strlen(word[1]));

	expect("cancel %s %s", t->name, t->pending ? "pending" : "idle");
	t->pending = false;
	steps = 0;
}

static void do_count(void)
{
	unsigned int count = 0;

	for (size_t i = 0; i < nr_timers; i++)
		count += timers[i].pending;
	expect("count %u", count);
}

/*
 * A picture is free, but there has to be one. Where nothing is printed between
 * two of them in a file, nobody can tell where the first one ends.
 */
static void do_show(void)
{
	const char *text = peek();

	if (!after_picture && (!text || strncmp(text, "| ", 2)))
		die("no picture");
	for (; text && !strncmp(text, "| ", 2); text = peek())
		take();
	after_picture = !to;
}

static void obey(char *text)
{
	char *word[16] = { NULL };
	size_t nr = 0;
	u64 tick;

	text[strcspn(text, "#\n")] = '\0';
	if (to && strncmp(text, "advance", 7))
		tell("%s%s", text, strncmp(text, "show", 4) ? "" : "\nnow");
	for (char *w = strtok(text, " \t"); w && nr < 15; w = strtok(NULL, " \t"))
		word[nr++] = w;
	if (!nr)
		return;
	if (!strcmp(word[0], "wheel")) {
		for (size_t i = 2; i < nr; i++)
			if (!strncmp(word[i], "levels=", 7)) {
				depth = number(word[i] + 7);
				max_steps = (unsigned int)depth;
			}
	} else if (!strcmp(word[0], "start")) {
		now = number(word[1]);
	} else if (!strcmp(word[0], "arm")) {
		do_arm(word);
	} else if (!strcmp(word[0], "cancel")) {
		do_cancel(word);
	} else if (!strcmp(word[0], "advance")) {
		tick = target(word[1]);
		if (to)
			advance_in_steps(tick);
		else
			advance_to(tick);
	} else if (!strcmp(word[0], "next")) {
		check_next(&tick);
	} else if (!strcmp(word[0], "count")) {
		do_count();
	} else if (!strcmp(word[0], "now")) {
		expect("now %llu", (unsigned long long)now);
	} else if (!strcmp(word[0], "show")) {
		do_show();
		if (to)
			expect("now %llu", (unsigned long long)now);
	} else {
		die("unknown command '%s'", word[0]);
	}
}

void law_check(const struct law_case *c, FILE *output, FILE *player)
{
	char *text = NULL;
	size_t size = 0;

	law = c->law;
	max_steps = c->steps;
	file = c->name;
	to = player;
	from = output;
	rewind(c->scenario);
	while (getline(&text, &size, c->scenario) >= 0) {
		line_nr++;
		obey(text);
	}
	free(text);
	if (to)
		fclose(to);
	if (peek())
		die("'%s' after the end", peek());
}
