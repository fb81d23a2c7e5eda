/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Test Anything Protocol, version 13: one line a test on standard output,
 * so that one reader serves kernel and user-space tests. Knows no test.
 */
#ifndef _USER_TAP_H
#define _USER_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <linux/compiler.h>

static unsigned int tap_run, tap_failed;

static inline void tap_plan(unsigned int tests)
{
	printf("TAP version 13\n1..%u\n", tests);
}

/* One result. The name says what was shown, not that it was shown. */
static inline bool __printf(2, 3)
tap_result(bool ok, const char *name, ...)
{
	va_list args;

	tap_run++;
	if (!ok)
		tap_failed++;
	printf("%sok %u - ", ok ? "" : "not ", tap_run);
	va_start(args, name);
	vprintf(name, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	return ok;
}

/* What main() returns. */
static inline int tap_exit(unsigned int tests)
{
	if (tap_run != tests)
		printf("# planned %u tests but ran %u\n", tests, tap_run);
	return tap_failed || tap_run != tests;
}

#endif /* _USER_TAP_H */
