// SPDX-License-Identifier: GPL-2.0
/*
 * A timerfd for each connection: simple, and a descriptor and a system call
 * for each timeout.
 */
#include <unistd.h>
#include <sys/timerfd.h>

#include "server.h"

static struct connection *first;

void timers_open(unsigned long nr)
{
	first = connection(0);
}

static void set(struct connection *c, uint64_t ns)
{
	struct itimerspec its = {
		.it_value.tv_sec = (time_t)(ns / 1000000000),
		.it_value.tv_nsec = (long)(ns % 1000000000),
	};

	if (timerfd_settime(c->timeout.timerfd, 0, &its, NULL))
		die("timerfd_settime");
}

void timer_arm(struct connection *c, uint64_t ns)
{
	c->timeout.timerfd = timerfd_create(CLOCK_MONOTONIC,
					    TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->timeout.timerfd < 0)
		die("timerfd_create");
	watch(c->timeout.timerfd, TIMER_EVENT | (uint64_t)(c - first));
	set(c, ns);
}

void timer_move(struct connection *c, uint64_t ns)
{
	set(c, ns);
}

int timers_wait(int max_ms)
{
	return max_ms;
}

void timers_ready(uint64_t data)
{
	struct connection *c = connection(data);
	uint64_t expired;

	if (read(c->timeout.timerfd, &expired, sizeof(expired)) !=
	    sizeof(expired))
		return;
	close(c->timeout.timerfd);
	timed_out(c);
}

void timers_turn(void)
{
}
