// SPDX-License-Identifier: GPL-2.0
/*
 * A server with very many connections, each of which is closed when nothing
 * has come over it for a while: what its timeouts cost, by how they are made.
 * It is one program, built three times, with the timers of
 *
 *	timers_timerfd.c	a timerfd for each connection, on epoll
 *	timers_heap.c		a binary heap in user space, epoll_wait's timeout
 *	timers_cogwheel.c	libcogwheel, one descriptor on epoll
 *
 * The connections are socketpairs, and their clients are the program itself: in
 * each round it writes a byte to some of them, and serves what epoll reports,
 * which moves the timeouts of those. After the last round it lets all of them
 * time out. Writing, and the time that it sleeps, are not counted.
 *
 *	server [CONNECTIONS [ROUNDS [ACTIVE]]]	100000, 20, 20000
 *
 * It prints a line: name, connections, ns to open one with its timeout, ns for a
 * message with its timeout moved, how many of these ns are the timeout's (the
 * same without one subtracted), ns to close one that timed out, kernel bytes for
 * a timeout, how many connections were closed too early and never.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "server.h"

enum { EVENTS = 256 };

static int epfd;
static struct connection *connections;
static unsigned long nr_connections;
static unsigned long closed, early;
static bool closing;		/* they are to time out now */

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void die(const char *what)
{
	fprintf(stderr, "server: %s: %s\n", what, strerror(errno));
	exit(1);
}

void watch(int fd, uint64_t data)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = data };

	if (epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev))
		die("epoll_ctl");
}

struct connection *connection(uint64_t nr)
{
	return &connections[nr];
}

void timed_out(struct connection *c)
{
	if (!closing || now_ns() < c->deadline)
		early++;
	close(c->fd);
	c->fd = -1;
	closed++;
}

/* A message: consume it, and the connection is alive for as long again. */
static void serve(struct connection *c, bool timeouts)
{
	char byte[16];

	if (read(c->fd, byte, sizeof(byte)) <= 0)
		die("read");
	if (timeouts) {
		c->deadline = now_ns() + IDLE_NS;
		timer_move(c, IDLE_NS);
	}
}

/* One turn of the event loop; how many messages were served. */
static unsigned long turn(int timeout_ms, bool timeouts)
{
	struct epoll_event ev[EVENTS];
	unsigned long served = 0;
	int nr, i;

	nr = epoll_wait(epfd, ev, EVENTS, timers_wait(timeout_ms));
	if (nr < 0)
		die("epoll_wait");
	for (i = 0; i < nr; i++) {
		if (ev[i].data.u64 & TIMER_EVENT) {
			timers_ready(ev[i].data.u64 & ~TIMER_EVENT);
		} else {
			serve(connection(ev[i].data.u64), timeouts);
			served++;
		}
	}
	timers_turn();
	return served;
}

static uint64_t slab_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long kb = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Slab: %lu", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return (uint64_t)kb * 1024;
}

/* Messages on some connections each round; ns for one. */
static double messages(unsigned long rounds, unsigned long active,
		       bool timeouts)
{
	unsigned long round, i, served, next = 0;
	uint64_t spent = 0, begin;

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < active; i++) {
			next = (next + 7919) % nr_connections;
			if (write(connections[next].client, "x", 1) != 1)
				die("write");
		}
		begin = now_ns();
		for (served = 0; served < active;)
			served += turn(-1, timeouts);
		spent += now_ns() - begin;
	}
	return (double)spent / (double)(rounds * active);
}

static unsigned long number(char **argv, int argc, int i, unsigned long def)
{
	return i < argc ? strtoul(argv[i], NULL, 0) : def;
}

int main(int argc, char **argv)
{
	unsigned long rounds = number(argv, argc, 2, 20);
	unsigned long active, i;
	uint64_t begin, opened, slab, end;
	double without, with, closing_ns;
	struct rlimit limit;

	nr_connections = number(argv, argc, 1, 100000);
	active = number(argv, argc, 3, nr_connections / 5);
	if (!nr_connections || !rounds || !active || active > nr_connections) {
		fprintf(stderr, "usage: server [CONNECTIONS [ROUNDS [ACTIVE]]]\n");
		return 2;
	}
	limit.rlim_cur = 3 * nr_connections + 64;
	limit.rlim_max = limit.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("descriptors for all (as root?)");
	connections = calloc(nr_connections, sizeof(*connections));
	if (!connections)
		die("memory");
	epfd = epoll_create1(EPOLL_CLOEXEC);
	if (epfd < 0)
		die("epoll_create1");
	timers_open(nr_connections);

	for (i = 0; i < nr_connections; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
			die("socketpair");
		connections[i].fd = pair[0];
		connections[i].client = pair[1];
		watch(pair[0], i);
	}
	/* What a message costs by itself. */
	without = messages(rounds, active, false);

	slab = slab_bytes();
	begin = now_ns();
	for (i = 0; i < nr_connections; i++) {
		connections[i].deadline = begin + IDLE_NS;
		timer_arm(&connections[i], IDLE_NS);
	}
	timers_turn();
	opened = now_ns() - begin;
	slab = slab_bytes() - slab;
	with = messages(rounds, active, true);

	/* All of them at one time, some seconds away. */
	closing = true;
	begin = now_ns() + CLOSE_NS;
	for (i = 0; i < nr_connections; i++) {
		connections[i].deadline = begin;
		timer_move(&connections[i], begin - now_ns());
	}
	timers_turn();
	end = begin + 60000000000;
	while (closed < nr_connections && now_ns() < end)
		turn(1000, true);
	closing_ns = (double)(now_ns() - begin) / (double)nr_connections;

	printf("%-9s %8lu connections: open %6.0f ns, ", TIMERS, nr_connections,
	       (double)opened / (double)nr_connections);
	printf("message %6.0f ns (timeout %6.0f), close %6.0f ns, ", with,
	       with - without, closing_ns);
	printf("%5.0f kernel bytes, %lu early, %lu never\n",
	       (double)slab / (double)nr_connections, early,
	       nr_connections - closed);
	return early || closed < nr_connections;
}
