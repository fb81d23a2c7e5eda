// SPDX-License-Identifier: GPL-2.0
/*
 * cogctl: timing wheels from the command line. Here is what leads
 * to the subcommands, which are in files of their own.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>

#include "commands.h"

#define VERSION		"0.1"

static const char help_text[] =
"usage: cogctl COMMAND ...\n"
"On a virtual clock:\n"
"  run [--in-process | --device] FILE   play a scenario (- is standard input),\n"
"                        through /dev/cogwheel where it is present\n"
"  compare [--all] FILE  play it on every kind, say where they differ\n"
"  kinds [--table]       the kinds of wheel; --table is for scripts\n"
"  when [--hz HZ] [--now TICK] DELAY...   when each kind fires a delay\n"
"  table [--hz HZ]       levels, granularity and range of timer_list\n"
"  precision [--hz HZ] [--svg FILE] [CSV]   plot lateness against delay\n"
"On /dev/cogwheel:\n"
"  stat [--json] [PID]   every wheel that is open on this machine\n"
"  top [--delay S] [--times N]    the same again and again, with rates\n"
"  arm [--every TIME] [--user N] TIME     arm a timer of the file that is\n"
"  cancel HANDLE                          standard input, print its handle;\n"
"  wait [--count N] [--timeout TIME] [--json]   disarm it; print its events\n"
"  bench --device [--n N] [--csv FILE]   beside timerfd, io_uring...\n"
"  --help | --version\n"
"A scenario has one command a line; # starts a comment:\n"
"  wheel KIND [slots=N] [levels=N]   |   start TICK   |   cancel NAME\n"
"  arm NAME N|@TICK [every N] [slack N]   |   advance N|@TICK\n"
"  next | count | now | show\n"
"Exit status: 0; 1 where something failed; 2 for a mistake in the scenario or\n"
"on the command line. See cogctl(1).\n";

enum status complain(enum status st, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fputs("cogctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return st;
}

enum status usage(const char *what, const char *arg)
{
	return complain(ST_WRONG, "%s%s; try cogctl --help", what, arg);
}

enum status complain_line(const char *file, u64 line,
			  const struct problem *why)
{
	fflush(stdout);
	fprintf(stderr, "%s:%llu: %s\n", file, line, why->text);
	return ST_WRONG;
}

int open_scenario(const char *file)
{
	int fd;

	if (!strcmp(file, "-"))
		return STDIN_FILENO;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		complain(ST_FAILED, "%s: %s", file, strerror(errno));
	return fd;
}

void close_scenario(int fd)
{
	if (fd != STDIN_FILENO)
		close(fd);
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
		{ "run", cmd_run },
		{ "compare", cmd_compare },
		{ "kinds", cmd_kinds },
		{ "when", cmd_when },
		{ "table", cmd_table },
		{ "precision", cmd_precision },
		{ "stat", cmd_stat },
		{ "top", cmd_top },
		{ "arm", cmd_arm },
		{ "cancel", cmd_cancel },
		{ "wait", cmd_wait },
		{ "bench", cmd_bench },
		{ "--help", help },
		{ "-h", help },
		{ "help", help },
		{ "--version", version },
	};
	enum status st = ST_WRONG;
	size_t i;

	if (argc < 2)
		return usage("which command?", "");
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			break;
	if (i == ARRAY_SIZE(commands))
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
