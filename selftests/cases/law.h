/* SPDX-License-Identifier: GPL-2.0 */
/* The law of when a timer fires, as a check of what a player printed. */
#ifndef _CASES_LAW_H
#define _CASES_LAW_H

#include <stdio.h>

enum law { EXACT, NONCASCADING, SLACK };

/**
 * struct law_case - a scenario and what holds for it
 * @law: by which law its kind fires
 * @steps: the most steps of "advance @next" to a fire
 * @scenario: its text
 * @name: for messages
 */
struct law_case {
	enum law law;
	unsigned int steps;
	FILE *scenario;
	const char *name;
};

/**
 * law_check() - end the process with status 1 and a message where it is wrong
 * @c: the scenario
 * @output: what was printed
 * @player: NULL, or the standard input of a player that prints @output: it is
 *	given the scenario, each advance made as a tickless driver makes it,
 *	from one `next` to the next
 *
 * Once in a process: what the model holds is never freed.
 */
void law_check(const struct law_case *c, FILE *output, FILE *player);

#endif /* _CASES_LAW_H */
