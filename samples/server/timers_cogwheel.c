// SPDX-License-Identifier: GPL-2.0
/*
 * libcogwheel: what changes during a turn of the loop goes to the kernel in one
 * call at its end, and what has timed out comes back through a ring.
 */
#include <errno.h>
#include <stddef.h>

#include "server.h"

static struct cw *cw;

static void idle(struct cw *wheel, struct cw_timer *timer,
		 const struct cogwheel_event *event)
{
	timed_out((struct connection *)((char *)timer -
		  offsetof(struct connection, timeout.timer)));
}

void timers_open(unsigned long nr)
{
	static const struct cw_options options = { .ring = 4096 };

	cw = cw_open(&options);
	if (!cw)
		die("/dev/cogwheel");
	watch(cw_fd(cw), TIMER_EVENT);
}

static void check(int err)
{
	if (err >= 0)
		return;
	errno = -err;
	die("libcogwheel");
}

void timer_arm(struct connection *c, uint64_t ns)
{
	cw_timer_init(&c->timeout.timer, idle);
	check(cw_timer_arm(cw, &c->timeout.timer, ns));
}

void timer_move(struct connection *c, uint64_t ns)
{
	check(cw_timer_arm(cw, &c->timeout.timer, ns));
}

int timers_wait(int max_ms)
{
	return max_ms;
}

void timers_ready(uint64_t data)
{
	check(cw_dispatch(cw));
}

void timers_turn(void)
{
	check(cw_submit(cw));
}
