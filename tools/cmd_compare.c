// SPDX-License-Identifier: GPL-2.0
/*
 * cogctl compare: plays one scenario on every kind, in this process, and says
 * where they differ: in the ticks on which timers fire, in how often timers
 * were moved (cascades), in how many slots were visited.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "player.h"

/* Lines of difference that are shown of each kind, without --all. */
#define SHOWN	20

struct script {
	struct command *cmd;
	size_t nr;
};

/* An expiry; those of one timer and due tick are numbered. */
struct record {
	u32 index;
	u32 nth;
	u64 due;
	u64 tick;
};

struct played {
	struct record *fires;
	size_t nr;
	size_t size;
	u64 late;
	u64 latest;
	u64 moved;
	u64 touched;
};

static enum status load(int fd, const char *file, struct script *script)
{
	struct scenario *s = scenario_open(fd);
	struct problem why;
	enum status st;
	size_t size = 0;
	bool more;

	if (!s)
		return complain(ST_FAILED, "%s", strerror(ENOMEM));
	for (;;) {
		if (script->nr == size) {
			struct command *cmd;

			size = size ? 2 * size : 64;
			cmd = reallocarray(script->cmd, size, sizeof(*cmd));
			if (!cmd) {
				st = complain(ST_FAILED, "%s: %s", file,
					      strerror(ENOMEM));
				break;
			}
			script->cmd = cmd;
		}
		st = scenario_read(s, &script->cmd[script->nr], &more, &why);
		if (st == ST_FAILED)
			complain(st, "%s: %s", file, why.text);
		else if (st)
			complain_line(file, scenario_line(s), &why);
		if (st || !more)
			break;
		script->nr++;
	}
	scenario_close(s);
	return st;
}

static enum status record(void *data, const struct fire *fire)
{
	struct played *p = data;
	u64 late = fire->tick - fire->due;

	if (p->nr == p->size) {
		size_t size = p->size ? 2 * p->size : 64;
		struct record *fires;

		fires = reallocarray(p->fires, size, sizeof(*fires));
		if (!fires)
			return ST_FAILED;
		p->fires = fires;
		p->size = size;
	}
	p->fires[p->nr].index = fire->timer->index;
	p->fires[p->nr].nth = (u32)p->nr;
	p->fires[p->nr].due = fire->due;
	p->fires[p->nr].tick = fire->tick;
	p->nr++;
	p->late += !!late;
	if (late > p->latest)
		p->latest = late;
	return ST_OK;
}

static int by_timer(const struct record *a, const struct record *b)
{
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	if (a->due != b->due)
		return a->due < b->due ? -1 : 1;
	if (a->nth != b->nth)
		return a->nth < b->nth ? -1 : 1;
	return 0;
}

static int compare_records(const void *a, const void *b)
{
	return by_timer(a, b);
}

/* Sorts by timer and due tick, and numbers what is equal in both. */
static void number(struct played *p)
{
	if (!p->nr)
		return;
	qsort(p->fires, p->nr, sizeof(*p->fires), compare_records);
	p->fires[0].nth = 0;
	for (size_t i = 1; i < p->nr; i++) {
		const struct record *last = &p->fires[i - 1];
		struct record *r = &p->fires[i];

		r->nth = r->index == last->index && r->due == last->due ?
			 last->nth + 1 : 0;
	}
}

/* The wheel line for another kind, without the options that one has not. */
static struct command wheel_line(const struct command *cmd,
				 const struct wheel_ops *ops)
{
	struct command wheel = *cmd;

	snprintf(wheel.name, sizeof(wheel.name), "%s", ops->name);
	wheel.has_slots = cmd->has_slots && ops->slots.min;
	wheel.has_levels = cmd->has_levels && ops->levels.min;
	return wheel;
}

/*
 * Plays the script on a kind. Where it does not get to the end, *line is the
 * line where it stopped.
 */
static enum status play_on(const struct script *script, enum wheel_kind kind,
			   struct played *played, struct names *names,
			   u64 *line, struct problem *why)
{
	struct player player = {
		.ops = &in_process,
		.fired = record,
		.data = played,
	};
	enum status st = ST_OK;

	for (size_t i = 0; i < script->nr && !st; i++) {
		struct command cmd = script->cmd[i];

		*line = cmd.line;
		if (cmd.op == OP_WHEEL)
			cmd = wheel_line(&cmd, wheel_kinds[kind]);
		why->text[0] = '\0';
		st = player_do(&player, &cmd, why);
		if (st && !why->text[0])
			problem(why, st, "%s", strerror(ENOMEM));
	}
	if (player.backend) {
		played->moved = in_process_wheel(player.backend)->moved;
		played->touched = in_process_wheel(player.backend)->touched;
	}
	if (names) {
		*names = player.names;
		player.names = (struct names){ 0 };
	}
	player_end(&player);
	number(played);
	return st;
}

/* Writes what differs from the reference to @out; returns how much does. */
static u64 differences(FILE *out, const char *kind, const struct played *p,
		       const char *ref_kind, const struct played *ref,
		       char (*names)[SCENARIO_NAME_MAX + 1], u64 shown)
{
	size_t a = 0, b = 0;
	u64 nr = 0;

	while (a < p->nr || b < ref->nr) {
		const struct record *x = a < p->nr ? &p->fires[a] : NULL;
		const struct record *y = b < ref->nr ? &ref->fires[b] : NULL;
		int order = !x ? 1 : !y ? -1 : by_timer(x, y);

		a += order <= 0;
		b += order >= 0;
		if (!order && x->tick == y->tick)
			continue;
		if (!nr++)
			fprintf(out, "\n%s, where %s has another tick:\n", kind,
				ref_kind);
		if (nr > shown)
			continue;
		fprintf(out, "  %s due %llu: ",
			names[order <= 0 ? x->index : y->index],
			order <= 0 ? x->due : y->due);
		if (order <= 0)
			fprintf(out, "@%llu", x->tick);
		else
			fputs("not fired", out);
		if (order >= 0)
			fprintf(out, ", not @%llu\n", y->tick);
		else
			fputs(", where it is not fired\n", out);
	}
	if (nr > shown)
		fprintf(out, "  and %llu more: see --all\n", nr - shown);
	return nr;
}

/* The names by their index; they are all in the table of any player. */
static char (*list_names(const struct names *names))[SCENARIO_NAME_MAX + 1]
{
	char (*list)[SCENARIO_NAME_MAX + 1];

	list = reallocarray(NULL, names->nr + 1, sizeof(*list));
	for (size_t i = 0; list && i < names->places; i++)
		if (names->table[i])
			memcpy(list[names->table[i]->index],
			       names->table[i]->name, sizeof(*list));
	return list;
}

static enum status compare(const struct script *script, const char *file,
			   bool all)
{
	char (*names)[SCENARIO_NAME_MAX + 1] = NULL;
	struct names table = { 0 };
	struct played ref = { 0 };
	enum wheel_kind ref_kind = 0;
	char *text = NULL;
	size_t text_size;
	struct problem why;
	enum status st;
	FILE *report;
	u64 line = 0;

	/* What the law says is what an exact kind does; no other is closer. */
	while (ref_kind < WHEEL_NR_KINDS - 1 &&
	       !(wheel_kinds[ref_kind]->traits & WHEEL_EXACT))
		ref_kind++;
	st = play_on(script, ref_kind, &ref, &table, &line, &why);
	if (st == ST_WRONG) {
		complain_line(file, line, &why);
		goto names;
	}
	if (st) {
		complain(st, "%s: %s", file, why.text);
		goto names;
	}
	names = list_names(&table);
	report = open_memstream(&text, &text_size);
	if (!names || !report) {
		st = complain(ST_FAILED, "%s", strerror(ENOMEM));
		goto report;
	}

	printf("%-14s %9s %9s %12s %9s %9s %9s\n", "kind", "fires", "late",
	       "latest by", "cascades", "slots", "differ");
	for (enum wheel_kind kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		const char *name = wheel_kinds[kind]->name;
		struct played p = { 0 };
		u64 differ;

		if (play_on(script, kind, &p, NULL, &line, &why)) {
			printf("%-14s refused: line %llu: %s\n", name, line,
			       why.text);
		} else {
			differ = differences(report, name, &p,
					     wheel_kinds[ref_kind]->name, &ref,
					     names, all ? ~0ULL : SHOWN);
			printf("%-14s %9zu %9llu %12llu %9llu %9llu %9llu\n",
			       name, p.nr, p.late, p.latest, p.moved,
			       p.touched, differ);
		}
		free(p.fires);
	}
	if (fflush(report))
		st = complain(ST_FAILED, "%s", strerror(ENOMEM));
	else
		fputs(text, stdout);
report:
	if (report)
		fclose(report);
	free(text);
names:
	free(names);
	names_free(&table);
	free(ref.fires);
	return st;
}

enum status cmd_compare(char **args)
{
	struct script script = { NULL, 0 };
	const char *file = NULL;
	bool all = false;
	enum status st;
	int fd;

	for (; *args; args++) {
		if (!strcmp(*args, "--all")) {
			all = true;
			continue;
		}
		if (**args == '-' && (*args)[1])
			return usage("compare: unknown option ", *args);
		if (file)
			return usage("compare: one file only, not also ", *args);
		file = *args;
	}
	if (!file)
		return usage("compare: which file?", "");
	fd = open_scenario(file);
	if (fd < 0)
		return ST_FAILED;
	st = load(fd, file, &script);
	close_scenario(fd);
	if (!st && script.nr)
		st = compare(&script, file, all);
	free(script.cmd);
	return st;
}
