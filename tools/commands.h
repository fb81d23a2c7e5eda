/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the subcommands of cogctl share. Each one gets the arguments after its
 * name, up to a NULL.
 */
#ifndef _TOOLS_COMMANDS_H
#define _TOOLS_COMMANDS_H

#include "scenario.h"

enum status cmd_run(char **args);
enum status cmd_kinds(char **args);
enum status cmd_compare(char **args);
enum status cmd_when(char **args);
enum status cmd_table(char **args);
enum status cmd_precision(char **args);
enum status cmd_stat(char **args);
enum status cmd_top(char **args);
enum status cmd_arm(char **args);
enum status cmd_cancel(char **args);
enum status cmd_wait(char **args);
enum status cmd_bench(char **args);

/* One line on standard error, after what standard output has to say. */
enum status complain(enum status st, const char *fmt, ...)
	__attribute__((__format__(printf, 2, 3)));
enum status usage(const char *what, const char *arg);

/* What is wrong in a line of a scenario. */
enum status complain_line(const char *file, u64 line,
			  const struct problem *why);

/* Opens a scenario, - being standard input; -1 with a complaint. */
int open_scenario(const char *file);
void close_scenario(int fd);

#endif /* _TOOLS_COMMANDS_H */
