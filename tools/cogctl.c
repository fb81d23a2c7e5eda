// SPDX-License-Identifier: GPL-2.0
/*
 * cogctl: plays with timing wheels from the command line. Here are the
 * subcommands and their options; what they do is in files of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "player.h"

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))
#define VERSION		"0.1"

static const char help_text[] =
"usage: cogctl COMMAND ...\n"
"Play with timing wheels on a virtual clock.\n"
"\n"
"  cogctl run [--in-process | --device] FILE\n"
"      play a scenario (- is standard input) through /dev/cogwheel where it is\n"
"      present, in this process otherwise; the options insist on either\n"
"  cogctl kinds [--table]\n"
"      the kinds of wheel, a line each; --table is for scripts\n"
"  cogctl --help | --version\n"
"\n"
"A scenario has one command a line; # starts a comment:\n"
"  wheel KIND [slots=N] [levels=N]         the kind of wheel; comes first\n"
"  start TICK                              the clock's first value\n"
"  arm NAME N|@TICK [every N] [slack N]    arm or move a timer\n"
"  cancel NAME                             disarm it\n"
"  advance N|@TICK                         move the clock, and fire\n"
"  next | count | now | show               look at the wheel\n"
"\n"
"Exit status: 0; 1 where something failed; 2 for a mistake in the scenario or\n"
"on the command line. See cogctl(1).\n";

__attribute__((__format__(printf, 2, 3)))
static enum status complain(enum status status, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("cogctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

static enum status usage(const char *what, const char *arg)
{
	return complain(ST_WRONG, "%s%s; try cogctl --help", what, arg);
}

static enum status play(struct player *p, const char *file, int fd)
{
	struct scenario *s = scenario_open(fd);
	struct problem why;
	enum status st;
	bool more;

	if (!s)
		return complain(ST_FAILED, "%s", strerror(ENOMEM));
	do {
		struct command cmd;

		st = scenario_read(s, &cmd, &more, &why);
		if (!st && more)
			st = player_do(p, &cmd, &why);
	} while (!st && more);

	if (st == ST_FAILED) {
		complain(st, "%s: %s", file, why.text);
	} else if (st) {
		fflush(stdout);
		fprintf(stderr, "%s:%llu: %s\n", file, scenario_line(s),
			why.text);
	}
	player_end(p);
	scenario_close(s);
	return st;
}

static enum status run(char **args)
{
	struct player player = { .out = stdout };
	const char *file = NULL;
	bool options = true;
	struct problem why;
	enum status st;
	int fd = STDIN_FILENO;

	for (; *args; args++) {
		if (options && !strcmp(*args, "--")) {
			options = false;
		} else if (options && !strcmp(*args, "--in-process")) {
			player.ops = &in_process;
		} else if (options && !strcmp(*args, "--device")) {
			player.ops = &device;
		} else if (options && **args == '-' && (*args)[1]) {
			return usage("run: unknown option ", *args);
		} else if (file) {
			return usage("run: one file only, not also ", *args);
		} else {
			file = *args;
		}
	}
	if (!file)
		return usage("run: which file?", "");

	if (!player.ops)
		player.ops = device_present(&why) ? &device : &in_process;
	else if (player.ops == &device && !device_present(&why))
		return complain(ST_FAILED, "%s", why.text);

	if (strcmp(file, "-")) {
		fd = open(file, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return complain(ST_FAILED, "%s: %s", file,
					strerror(errno));
	}
	st = play(&player, file, fd);
	if (fd != STDIN_FILENO)
		close(fd);
	return st;
}

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
	for (size_t i = 0; i < ARRAY_LEN(traits); i++) {
		if (!(ops->traits & traits[i].flag))
			continue;
		printf("%s%s", comma, traits[i].name);
		comma = ",";
	}
	puts(*comma ? "" : "-");
	return ST_OK;
}

static enum status kinds(char **args)
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

static enum status help(char **args)
{
	fputs(help_text, stdout);
	return ST_OK;
}

static enum status version(char **args)
{
	puts("cogctl " VERSION ", scenario language 1");
	return ST_OK;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		enum status (*run)(char **args);
	} commands[] = {
		{ "run", run },
		{ "kinds", kinds },
		{ "--help", help },
		{ "-h", help },
		{ "help", help },
		{ "--version", version },
	};
	enum status st = ST_WRONG;
	size_t i;

	if (argc < 2)
		return usage("which command?", "");
	for (i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			break;
	if (i == ARRAY_LEN(commands))
		return usage("unknown command ", argv[1]);
	st = commands[i].run(argv + 2);

	/* A full disk or a closed pipe is noticed at the latest here. */
	if (fflush(stdout) || ferror(stdout)) {
		if (!st)
			complain(ST_FAILED, "standard output: %s",
				 strerror(errno));
		st = st ? st : ST_FAILED;
	}
	return st;
}
