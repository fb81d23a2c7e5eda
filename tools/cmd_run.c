// SPDX-License-Identifier: GPL-2.0
/* cogctl run: plays one scenario on one wheel. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "player.h"

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

	if (st == ST_FAILED)
		complain(st, "%s: %s", file, why.text);
	else if (st)
		complain_line(file, scenario_line(s), &why);
	player_end(p);
	scenario_close(s);
	return st;
}

enum status cmd_run(char **args)
{
	struct player player = { .out = stdout };
	const char *file = NULL;
	bool options = true;
	struct problem why;
	enum status st;
	int fd;

	for (; *args; args++) {
		const bool option = options && **args == '-' && (*args)[1];

		if (option && !strcmp(*args, "--"))
			options = false;
		else if (option && !strcmp(*args, "--in-process"))
			player.ops = &in_process;
		else if (option && !strcmp(*args, "--device"))
			player.ops = &device;
		else if (option)
			return usage("run: unknown option ", *args);
		if (option)
			continue;
		if (file)
			return usage("run: one file only, not also ", *args);
		file = *args;
	}
	if (!file)
		return usage("run: which file?", "");

	if (!player.ops)
		player.ops = device_present(&why) ? &device : &in_process;
	else if (player.ops == &device && !device_present(&why))
		return complain(ST_FAILED, "%s", why.text);

	fd = open_scenario(file);
	if (fd < 0)
		return ST_FAILED;
	st = play(&player, file, fd);
	close_scenario(fd);
	return st;
}
