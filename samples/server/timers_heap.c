// SPDX-License-Identifier: GPL-2.0
/*
 * A binary heap in user space, as event libraries have it: the first timeout is
 * how long epoll may wait. A move costs a walk through the heap and no system
 * call; what is due is only noticed when the loop comes by.
 */
#include <stdlib.h>

#include "server.h"

static struct connection **heap;	/* from 1 */
static unsigned long used;

void timers_open(unsigned long nr)
{
	heap = calloc(nr + 1, sizeof(*heap));
	if (!heap)
		die("memory");
}

static void put(unsigned long place, struct connection *c)
{
	heap[place] = c;
	c->timeout.place = place;
}

/* From a free place up, or down, to where it belongs. */
static void sift(unsigned long place, struct connection *c)
{
	uint64_t at = c->timeout.at;
	unsigned long child;

	while (place > 1 && heap[place / 2]->timeout.at > at) {
		put(place, heap[place / 2]);
		place /= 2;
	}
	while ((child = 2 * place) <= used) {
		if (child < used &&
		    heap[child + 1]->timeout.at < heap[child]->timeout.at)
			child++;
		if (heap[child]->timeout.at >= at)
			break;
		put(place, heap[child]);
		place = child;
	}
	put(place, c);
}

void timer_arm(struct connection *c, uint64_t ns)
{
	c->timeout.at = now_ns() + ns;
	sift(++used, c);
}

void timer_move(struct connection *c, uint64_t ns)
{
	c->timeout.at = now_ns() + ns;
	sift(c->timeout.place, c);
}

int timers_wait(int max_ms)
{
	uint64_t now, ms;

	if (!used)
		return max_ms;
	now = now_ns();
	if (heap[1]->timeout.at <= now)
		return 0;
	ms = (heap[1]->timeout.at - now + 999999) / 1000000;
	return max_ms >= 0 && (uint64_t)max_ms < ms ? max_ms : (int)ms;
}

void timers_ready(uint64_t data)
{
}

void timers_turn(void)
{
	uint64_t now;

	if (!used)
		return;
	now = now_ns();
	while (used && heap[1]->timeout.at <= now) {
		struct connection *c = heap[1], *last = heap[used--];

		if (used)
			sift(1, last);
		c->timeout.place = 0;
		timed_out(c);
	}
}
