/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One timer in a fresh wheel of this process: where it comes to lie, and when
 * it fires. What the subcommands that compute something share; it knows
 * nothing of what they print.
 */
#ifndef _TOOLS_PROBE_H
#define _TOOLS_PROBE_H

#include "backend.h"

/* Debian's and most others' */
#define HZ_DEFAULT	250
#define HZ_MAX		1000000000ULL

struct probe {
	enum wheel_kind kind;
	struct wheel_config cfg;
};

/* Where a timer came to lie, and when it fired. */
struct answer {
	u32 level;		/* WHEEL_NO_LEVEL: outside the levels */
	u32 slot;
	u64 looked_at;		/* first */
	bool fires;
	u64 tick;
};

/* Of a wheel for a kernel of that HZ, whose clock shows @now. */
enum status probe_set_up(struct probe *p, enum wheel_kind kind, u64 hz, u64 now);
enum status probe_ask(const struct probe *p, u64 due, struct answer *a);

/* Arguments; with a complaint where they are wrong. */
enum status number_arg(const char *what, const char *text, u64 *value);
enum status hz_arg(const char *text, u64 *hz);

#endif /* _TOOLS_PROBE_H */
