// SPDX-License-Identifier: GPL-2.0
/* cogctl kinds: the kinds of wheel, from their tables of operations alone. */
#include <stdio.h>
#include <string.h>
#include <linux/kernel.h>

#include "backend.h"
#include "commands.h"

static const struct {
	const char *name;
	u32 flag;
} traits[] = {
	{ "exact", WHEEL_EXACT },
	{ "one-step", WHEEL_ONE_STEP },
	{ "scans", WHEEL_SCANS },
	{ "slack", WHEEL_SLACK },
	{ "bounded", WHEEL_BOUNDED },
	{ "pooled", WHEEL_POOLED },
	{ "rounds", WHEEL_ROUNDS },
	{ "once", WHEEL_ONCE },
	{ "lazy", WHEEL_LAZY },
};

/*
 * A line for scripts: the kind, its levels, the steps of advance @next to a
 * fire (see struct wheel_geometry), its traits.
 */
static enum status kind_row(enum wheel_kind kind)
{
	const struct wheel_ops *ops = wheel_kinds[kind];
	struct wheel_config cfg = { 0 };
	struct backend *wheel = NULL;
	struct wheel_geometry g;
	struct problem why;
	const char *comma = "";
	enum status st = ST_OK;
	u32 steps;

	wheel_configure(kind, &cfg);
	st = in_process.open(&wheel, kind, &cfg, &why);
	if (!st)
		st = in_process.geometry(wheel, &g, &why);
	if (wheel)
		in_process.close(wheel);
	if (st)
		return complain(st, "%s: %s", ops->name, why.text);

	steps = g.levels + !!(ops->traits & WHEEL_SCANS);
	if (ops->traits & WHEEL_ONE_STEP)
		steps = 1;
	printf("%s\t%u\t%u\t", ops->name, g.levels, steps);
	for (size_t i = 0; i < ARRAY_SIZE(traits); i++) {
		if (!(ops->traits & traits[i].flag))
			continue;
		printf("%s%s", comma, traits[i].name);
		comma = ",";
	}
	puts(*comma ? "" : "-");
	return ST_OK;
}

enum status cmd_kinds(char **args)
{
	bool table = false;

	for (; *args; args++) {
		if (strcmp(*args, "--table"))
			return usage("kinds: unknown option ", *args);
		table = true;
	}
	for (enum wheel_kind kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		enum status st;

		if (!table) {
			printf("%-14s %s\n", wheel_kinds[kind]->name,
			       wheel_kinds[kind]->brief);
			continue;
		}
		st = kind_row(kind);
		if (st)
			return st;
	}
	return ST_OK;
}
