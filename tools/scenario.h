/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The scenario language: a file in, one command at a time out. It knows the
 * words and their order; it knows nothing of wheels, nor of what was said on
 * earlier lines.
 */
#ifndef _TOOLS_SCENARIO_H
#define _TOOLS_SCENARIO_H

#include <stdbool.h>
#include <linux/types.h>

#define SCENARIO_NAME_MAX	31

enum scenario_op {
	OP_WHEEL,
	OP_START,
	OP_ARM,
	OP_CANCEL,
	OP_ADVANCE,
	OP_NEXT,
	OP_COUNT,
	OP_NOW,
	OP_SHOW,
};

/**
 * struct command - one line
 * @op: what to do
 * @line: the number of the line
 * @absolute: @ticks is a tick (@T), not a number of ticks from now
 * @ticks: of start, arm and advance
 * @period: of arm, 0 for a one-shot
 * @slack: of arm
 * @has_slots: of wheel: the option is given
 * @has_levels: the same
 * @slots: of wheel
 * @levels: of wheel
 * @name: of arm and cancel; of wheel, the kind
 */
struct command {
	enum scenario_op op;
	u64 line;
	bool absolute;
	u64 ticks;
	u64 period;
	u64 slack;
	bool has_slots;
	bool has_levels;
	u64 slots;
	u64 levels;
	char name[SCENARIO_NAME_MAX + 1];
};

/* Exit statuses; what fails says why in a struct problem. */
enum status {
	ST_OK = 0,
	ST_FAILED = 1,		/* the machine: memory, files, the device */
	ST_WRONG = 2,		/* the scenario or the command line */
};

struct problem {
	char text[256];
};

enum status problem(struct problem *p, enum status st, const char *fmt, ...)
	__attribute__((__format__(printf, 3, 4)));

struct scenario;

/**
 * scenario_open() - begin to read
 * @fd: what to read from; stays the caller's
 *
 * Return: NULL where memory is short.
 */
struct scenario *scenario_open(int fd);
void scenario_close(struct scenario *s);

/**
 * scenario_read() - the next command
 * @s: what to read
 * @cmd: filled in where there is one
 * @more: false at the end of the file
 * @why: what is wrong
 *
 * Standard output is flushed before the reader waits for input, so that a
 * program that holds both ends can answer what it sees.
 *
 * Return: ST_WRONG for a malformed line, scenario_line() then says which.
 */
enum status scenario_read(struct scenario *s, struct command *cmd, bool *more,
			  struct problem *why);
u64 scenario_line(const struct scenario *s);

/**
 * scenario_number() - a number as scenarios write it
 * @text: not terminated
 * @len: its length
 * @value: the number
 * @why: what is wrong
 */
enum status scenario_number(const char *text, size_t len, u64 *value,
			    struct problem *why);

#endif /* _TOOLS_SCENARIO_H */
