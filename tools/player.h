/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Carries out the commands of a scenario on a backend, and prints what they
 * print. It knows the rules that span lines: what comes first, what comes
 * once, which names there are.
 */
#ifndef _TOOLS_PLAYER_H
#define _TOOLS_PLAYER_H

#include <stdio.h>
#include "backend.h"
#include "names.h"

/**
 * struct player - a scenario being played
 * @ops: what it is played on
 * @out: where it prints; NULL for a player that only plays
 * @fired: called for each expiry instead of printing it, where it is set
 * @data: for @fired
 *
 * The rest is the player's own, zero at first.
 */
struct player {
	const struct backend_ops *ops;
	FILE *out;
	enum status (*fired)(void *data, const struct fire *fire);
	void *data;
	/* private: */
	bool have_wheel;	/* the wheel line was read; the kind is known */
	bool started;		/* the start line was */
	bool running;		/* something was armed or advanced */
	enum wheel_kind kind;
	struct wheel_config cfg;
	struct backend *backend;	/* from the first line that needs it */
	struct names names;
};

enum status player_do(struct player *p, const struct command *cmd,
		      struct problem *why);
void player_end(struct player *p);

#endif /* _TOOLS_PLAYER_H */
