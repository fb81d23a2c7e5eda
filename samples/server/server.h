/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the server and its timers know of each other.
 */
#ifndef _SAMPLES_SERVER_H
#define _SAMPLES_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "timers.h"

/* How long a connection may be idle, and how far away the end is. */
#define IDLE_NS		600000000000
#define CLOSE_NS	8000000000

/* In epoll's data: of the timers, not a connection. */
#define TIMER_EVENT	0x8000000000000000ULL

struct connection {
	struct timeout timeout;
	uint64_t deadline;
	int fd;
	int client;
};

uint64_t now_ns(void);
void die(const char *what);
void watch(int fd, uint64_t data);
struct connection *connection(uint64_t nr);

/* Called by the timers when a connection has timed out. */
void timed_out(struct connection *c);

/* Each build has its own of these. */
void timers_open(unsigned long nr);
void timer_arm(struct connection *c, uint64_t ns);
void timer_move(struct connection *c, uint64_t ns);

/* How long epoll_wait() may wait, at most max_ms or -1 for ever. */
int timers_wait(int max_ms);

/* epoll reported a descriptor of the timers, with that data. */
void timers_ready(uint64_t data);

/* After each turn of the event loop. */
void timers_turn(void);

#endif /* _SAMPLES_SERVER_H */
