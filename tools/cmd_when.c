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
#include "probe.h"

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

		st = probe_set_up(&p, kind, hz, now);
		if (!st)
			st = probe_ask(&p, due, &a);
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
		st = probe_ask(p, p->cfg.start + outside, &a);
		if (st)
			return st;
		if (a.level != level || a.looked_at != a.tick)
			break;
		inside = outside;
		step *= 2;
	}
	while (outside - inside > 1) {
		u64 middle = inside + (outside - inside) / 2;

		st = probe_ask(p, p->cfg.start + middle, &a);
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
	st = probe_set_up(&p, kind, hz, 0);
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
