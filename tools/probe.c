// SPDX-License-Identifier: GPL-2.0
/*
 * See probe.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "probe.h"

/* As timer_list: LVL_DEPTH is 9 where HZ is above 100, else 8. */
enum status probe_set_up(struct probe *p, enum wheel_kind kind, u64 hz, u64 now)
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
enum status probe_ask(const struct probe *p, u64 due, struct answer *a)
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

enum status number_arg(const char *what, const char *text, u64 *value)
{
	struct problem why;

	if (scenario_number(text, text ? strlen(text) : 0, value, &why))
		return complain(ST_WRONG, "%s: %s", what, why.text);
	return ST_OK;
}

enum status hz_arg(const char *text, u64 *hz)
{
	enum status st = number_arg("--hz", text, hz);

	if (!st && (!*hz || *hz > HZ_MAX))
		return complain(ST_WRONG, "--hz: 1 to %llu", HZ_MAX);
	return st;
}
