/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in: what the kernel only warns of ends the program here,
 * since nothing that a user can cause may reach a WARN_ON().
 */
#ifndef _SHIM_LINUX_BUG_H
#define _SHIM_LINUX_BUG_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>

static inline bool shim_warn(bool cond, const char *file, int line,
			     const char *what)
{
	if (unlikely(cond)) {
		fflush(stdout);
		fprintf(stderr, "%s:%d: WARN_ON(%s)\n", file, line, what);
		abort();
	}
	return cond;
}

#define WARN_ON(cond)		shim_warn(!!(cond), __FILE__, __LINE__, #cond)
#define WARN_ON_ONCE(cond)	WARN_ON(cond)
#define WARN(cond, ...)		WARN_ON(cond)
#define WARN_ONCE(cond, ...)	WARN_ON(cond)
#define BUG_ON(cond)		((void)WARN_ON(cond))
#define BUG()			BUG_ON(1)

#endif
