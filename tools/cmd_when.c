// SPDX-License-Identifier: GPL-2.0
/*
 * cogctl when and cogctl table: at which tick a delay fires, and what the
 * levels of timer_list hold. No figure is typed in: a timer is armed in a wheel
 * of this process, and the wheel is asked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "backend.h"
#include "commands.h"

/* Debian's and most others' */
#define HZ_DEFAULT	250
#define HZ_MAX		1000000000ULL

struct probe {
	enum wheel_kind kind;
	struct wheel_config cfg;
};

/* Where a timer came to lie, and when it fired. */
struct answer {
	u32 level;		/* WHEEL_NO_LEVEL: outside the levels */
	u32 slot;
	u64 looked_at;		/* first */
	bool fires;
	u64 tick;
};

/* As timer_list: LVL_DEPTH is 9 where HZ is above 100, else 8. */
static enum status set_up(struct probe *p, enum wheel_kind kind, u64 hz,
			  u64 now)
{
	*p = (struct probe){ .kind = kind, .cfg.start = now };
	if (wheel_kinds[kind]->levels.min)
		p->cfg.levels = hz > 100 ? 9 : 8;
	if (wheel_configure(kind, &p->cfg))
		return complain(ST_FAILED, "%s refuses its options",
				wheel_kinds[kind]->name);
	return ST_OK;
}

static enum status fired(void *data, const struct fire *fire)
{
	struct answer *a = data;

	a->fires = true;
	a->tick = fire->tick;
	return ST_OK;
}

/* Arms a timer in a fresh wheel, looks, and lets it fire. */
static enum status ask(const struct probe *p, u64 due, struct answer *a)
{
	struct backend *wheel = NULL;
	struct timer *timer = NULL;
	struct wheel_walk pos = { { 0 } };
	struct waiting item[WHEEL_BATCH];
	struct problem why = { "" };
	enum status st;
	unsigned int nr;

	*a = (struct answer){ .level = WHEEL_NO_LEVEL };
	st = in_process.open(&wheel, p->kind, &p->cfg, &why);
	if (st)
		goto out;
	timer = calloc(1, in_process.timer_size(wheel));
	if (!timer) {
		st = problem(&why, ST_FAILED, "%s", strerror(ENOMEM));
		goto out;
	}
	st = in_process.arm(wheel, timer, due, 0, 0, &why);
	if (!st)
		st = in_process.walk(wheel, &pos, item, &nr, &why);
	if (!st && nr) {
		a->level = item[0].level;
		a->slot = item[0].slot;
		a->looked_at = item[0].tick;
	}
	if (!st)
		st = in_process.advance(wheel, U64_MAX, fired, a, &why);
out:
	if (wheel)
		in_process.close(wheel);
	free(timer);
	return st ? complain(st, "%s: %s", wheel_kinds[p->kind]->name, why.text)
		  : st;
}

static enum status number_arg(const char *what, const char *text, u64 *value)
{
	struct problem why;

	if (scenario_number(text, text ? strlen(text) : 0, value, &why))
		return complain(ST_WRONG, "%s: %s", what, why.text);
	return ST_OK;
}

static enum status hz_arg(const char *text, u64 *hz)
{
	enum status st = number_arg("--hz", text, hz);

	if (!st && (!*hz || *hz > HZ_MAX))
		return complain(ST_WRONG, "--hz: 1 to %llu", HZ_MAX);
	return st;
}

/* Ticks, or a time with a unit, which is rounded up to ticks. */
static enum status delay_arg(const char *text, u64 hz, u64 *ticks)
{
	static const struct {
		const char *unit;
		u64 per_second;
	} units[] = { { "ms", 1000 }, { "us", 1000000 }, { "s", 1 } };
	size_t len = strlen(text);

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t tail = strlen(units[i].unit);
		struct problem why;
		u128 product;
		u64 value;

		if (len <= tail || strcmp(text + len - tail, units[i].unit))
			continue;
		if (scenario_number(text, len - tail, &value, &why))
			return complain(ST_WRONG, "%s: %s", text, why.text);
		product = (u128)value * hz;
		product = (product + units[i].per_second - 1) /
			  units[i].per_second;
		if (product > U64_MAX)
			return complain(ST_WRONG, "%s is beyond 2^64-1 ticks",
					text);
		*ticks = (u64)product;
		return ST_OK;
	}
	return number_arg(text, text, ticks);
}

static double ms(u64 ticks, u64 hz)
{
	return (double)ticks * 1000.0 / (double)hz;
}

static enum status when(u64 hz, u64 now, u64 delay)
{
	u64 due = delay > U64_MAX - now ? U64_MAX : now + delay;

	printf("delay %llu, %.15g ms at HZ %llu: due at %llu, armed at %llu\n",
	       delay, ms(delay, hz), hz, due, now);
	printf("  %-14s %20s %12s %14s %8s %6s %5s\n", "kind", "fires at",
	       "late", "late ms", "late %", "level", "slot");
	for (enum wheel_kind kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		struct answer a;
		struct probe p;
		enum status st;

		st = set_up(&p, kind, hz, now);
		if (!st)
			st = ask(&p, due, &a);
		if (st)
			return st;
		printf("  %-14s ", wheel_kinds[kind]->name);
		if (!a.fires) {
			printf("%20s\n", "never");
			continue;
		}
		printf("%20llu %12llu %14.15g ", a.tick, a.tick - due,
		       ms(a.tick - due, hz));
		if (delay)
			printf("%8.3g ", 100.0 * (double)(a.tick - due) /
			       (double)delay);
		else
			printf("%8s ", "-");
		if (a.level == WHEEL_NO_LEVEL)
			printf("%6s %5s\n", "-", "-");
		else
			printf("%6u %5u\n", a.level, a.slot);
	}
	return ST_OK;
}

enum status cmd_when(char **args)
{
	u64 hz = HZ_DEFAULT, now = 0, delay;
	enum status st = ST_OK;

	for (; *args && !strncmp(*args, "--", 2); args += 2) {
		if (!strcmp(*args, "--hz"))
			st = hz_arg(args[1], &hz);
		else if (!strcmp(*args, "--now"))
			st = number_arg(*args, args[1], &now);
		else
			return usage("when: unknown option ", *args);
		if (st)
			return st;
	}
	if (!*args)
		return usage("when: which delay?", "");
	/* All of them are checked before the first is answered. */
	for (char **arg = args; *arg; arg++) {
		st = delay_arg(*arg, hz, &delay);
		if (st)
			return st;
	}
	for (char **arg = args; *arg && !st; arg++) {
		st = delay_arg(*arg, hz, &delay);
		if (!st)
			st = when(hz, now, delay);
		if (!st && arg[1])
			putchar('\n');
	}
	return st;
}

/*
 * The first of the delays from @from on that waits on another level than
 * @level, or that is not looked at for the first time when it fires. The wheel
 * is asked at powers of two, then in between: a longer delay never waits on a
 * finer level.
 */
static enum status level_end(const struct probe *p, u64 from, u32 level,
			     u64 *end)
{
	u64 step = 1, inside = from, outside = from;
	struct answer a;
	enum status st;

	for (;;) {
		outside = inside + step;
		st = ask(p, p->cfg.start + outside, &a);
		if (st)
			return st;
		if (a.level != level || a.looked_at != a.tick)
			break;
		inside = outside;
		step *= 2;
	}
	while (outside - inside > 1) {
		u64 middle = inside + (outside - inside) / 2;

		st = ask(p, p->cfg.start + middle, &a);
		if (st)
			return st;
		if (a.level != level || a.looked_at != a.tick)
			outside = middle;
		else
			inside = middle;
	}
	*end = outside;
	return ST_OK;
}

enum status cmd_table(char **args)
{
	struct wheel_geometry g;
	struct backend *wheel = NULL;
	struct problem why;
	u64 hz = HZ_DEFAULT, from = 1, end;
	int kind = 0;
	enum status st;
	struct probe p;

	for (; *args; args += 2) {
		if (strcmp(*args, "--hz"))
			return usage("table: unknown option ", *args);
		st = hz_arg(args[1], &hz);
		if (st)
			return st;
	}

	/* timer_list's is the kind whose levels depend on HZ. */
	while (kind < WHEEL_NR_KINDS - 1 && !wheel_kinds[kind]->levels.min)
		kind++;
	st = set_up(&p, kind, hz, 0);
	if (!st && in_process.open(&wheel, kind, &p.cfg, &why))
		st = complain(ST_FAILED, "%s", why.text);
	if (st)
		return st;
	in_process.geometry(wheel, &g, &why);
	in_process.close(wheel);

	printf("timer_list at HZ %llu: %u levels of %u slots. Ranges count from the next tick to\n"
	       "be processed; a timer fires late by up to the granularity of its level.\n\n",
	       hz, g.levels, g.slots);
	printf("%5s %4s %22s %22s %22s\n", "level", "slot", "granularity",
	       "range in ticks", "range in ms");
	for (u32 level = 0; level < g.levels; level++) {
		u64 ticks = g.width << (level * g.shift);
		char granularity[64], range[64], range_ms[64];

		st = level_end(&p, from, level, &end);
		if (st)
			return st;
		/* Armed at tick 0, the next one to be processed is tick 1. */
		snprintf(granularity, sizeof(granularity), "%llu = %.10g ms",
			 ticks, ms(ticks, hz));
		snprintf(range, sizeof(range), "%llu - %llu", from - 1,
			 end - 2);
		snprintf(range_ms, sizeof(range_ms), "%.12g - %.12g",
			 ms(from - 1, hz), ms(end - 2, hz));
		printf("%5u %4u %22s %22s %22s\n", level, level * g.slots,
		       granularity, range, range_ms);
		from = end;
	}
	return ST_OK;
}
