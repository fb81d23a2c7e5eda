// SPDX-License-Identifier: GPL-2.0
/*
 * How /dev/cogwheel delivers events: read in all its forms, poll, epoll level-
 * and edge-triggered, several readers, fork, exec and close.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "device.h"

/* A file on a manual clock: events come when the test says so. */
FIXTURE(events) {
	int fd;
};

FIXTURE_SETUP(events)
{
	self->fd = dev_open(O_NONBLOCK);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, dev_setup(self->fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
}

FIXTURE_TEARDOWN(events)
{
	close(self->fd);
}

/* Let n timers fire, with user data from first on. */
static int fire(int fd, int n, __u64 first)
{
	int i;

	for (i = 0; i < n; i++)
		if (!dev_in(fd, 1, first + i))
			return -1;
	return dev_advance_by(fd, 1);
}

static int blocking(int fd)
{
	return result(fcntl(fd, F_SETFL, 0));
}

TEST_F(events, einval_short_buffer)
{
	struct cogwheel_event e[2];
	size_t size;

	ASSERT_EQ(0, fire(self->fd, 1, 0));
	for (size = 0; size < sizeof(e[0]); size++)
		EXPECT_EQ(-EINVAL, result(read(self->fd, e, size)));
	/* The part of an event at the end of a buffer is left alone. */
	memset(e, 0x55, sizeof(e));
	ASSERT_EQ(0, fire(self->fd, 1, 1));
	EXPECT_EQ(sizeof(e[0]), read(self->fd, e, sizeof(e) - 1));
	EXPECT_EQ(0x5555555555555555ULL, e[1].user);
	EXPECT_EQ(1, dev_read(self->fd, e, 2));
}

TEST_F(events, eagain_nothing_there)
{
	struct cogwheel_event e;

	EXPECT_EQ(-EAGAIN, result(read(self->fd, &e, sizeof(e))));
	ASSERT_NE(0, dev_in(self->fd, 10, 0));
	ASSERT_EQ(0, dev_advance_by(self->fd, 9));
	EXPECT_EQ(-EAGAIN, result(read(self->fd, &e, sizeof(e))));
}

/* A buffer that cannot be written takes nothing away. */
TEST_F(events, efault_consumes_nothing)
{
	/* Mapped by nobody, which the compiler need not know. */
	void *nowhere = (void *)(uintptr_t)env_u64("COGWHEEL_NOWHERE", 8);
	struct cogwheel_ioc_state s;
	struct cogwheel_event e[40];
	int i;

	ASSERT_EQ(0, fire(self->fd, 40, 0));
	ASSERT_NE(0, dev_every(self->fd, 1, 5, 40));
	ASSERT_EQ(0, dev_advance_by(self->fd, 1));
	EXPECT_EQ(-EFAULT, result(read(self->fd, nowhere, sizeof(e))));
	EXPECT_EQ(-EFAULT, result(read(self->fd, nowhere, sizeof(e[0]))));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(41, s.unread);
	EXPECT_EQ(41, s.timers);
	ASSERT_EQ(40, dev_read(self->fd, e, 40));
	for (i = 0; i < 40; i++)
		EXPECT_EQ(i, e[i].user);
	EXPECT_EQ(-EFAULT, result(read(self->fd, nowhere, sizeof(e))));
	ASSERT_EQ(1, dev_read(self->fd, e, 40));
	EXPECT_EQ(40, e[0].user);
	EXPECT_EQ(0, e[0].missed);
}

/* A buffer that ends within takes what was wholly delivered, in order. */
TEST_F(events, efault_halfway)
{
	size_t page = getpagesize(), room;
	struct cogwheel_event *e;
	char *two;
	__u64 next = 0;
	int n, i;

	two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, two);
	ASSERT_EQ(0, munmap(two + page, page));
	ASSERT_EQ(0, fire(self->fd, 2000, 0));
	for (room = 1; room < 40 * sizeof(*e); room += 31) {
		e = (void *)(two + page - room);
		n = dev_read(self->fd, e, 50);
		if (room < sizeof(*e)) {
			ASSERT_EQ(-EFAULT, n);
			continue;
		}
		ASSERT_GE(n, 1);
		ASSERT_LE(n, room / sizeof(*e));
		for (i = 0; i < n; i++)
			ASSERT_EQ(next++, e[i].user);
	}
	e = (void *)two;
	while ((n = dev_read(self->fd, e, 50)) > 0)
		for (i = 0; i < n; i++)
			ASSERT_EQ(next++, e[i].user);
	EXPECT_EQ(0, n);
	EXPECT_EQ(2000, next);
	munmap(two, page);
}

TEST_F(events, as_many_as_fit)
{
	static struct cogwheel_event e[3000];
	int i;

	ASSERT_EQ(0, fire(self->fd, 2000, 0));
	ASSERT_EQ(1, dev_read(self->fd, e, 1));
	ASSERT_EQ(999, dev_read(self->fd, e + 1, 999));
	ASSERT_EQ(1000, dev_read(self->fd, e + 1000, 2000));
	for (i = 0; i < 2000; i++)
		ASSERT_EQ(i, e[i].user);
	EXPECT_EQ(0, dev_read(self->fd, e, 1));
}

TEST_F(events, readv)
{
	struct cogwheel_event a[2], b[3];
	char half[24], rest[24];
	struct iovec v[] = {
		{ a, sizeof(a) }, { half, sizeof(half) },
		{ rest, sizeof(rest) }, { b, sizeof(b) },
	};

	ASSERT_EQ(0, fire(self->fd, 5, 0));
	EXPECT_EQ(5 * sizeof(*a), readv(self->fd, v, 4));
	EXPECT_EQ(0, a[0].user);
	EXPECT_EQ(1, a[1].user);
	EXPECT_EQ(3, b[0].user);
	EXPECT_EQ(4, b[1].user);
}

TEST_F(events, nowait)
{
	struct cogwheel_event e;
	struct iovec v = { &e, sizeof(e) };
	int ret;

	ASSERT_EQ(0, blocking(self->fd));
	ret = result(preadv2(self->fd, &v, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(-EAGAIN, ret);
	ASSERT_EQ(0, fire(self->fd, 1, 7));
	EXPECT_EQ(sizeof(e), preadv2(self->fd, &v, 1, -1, RWF_NOWAIT));
	EXPECT_EQ(7, e.user);
}

struct reader {
	int fd;
	int max;
	int started;
	int n;
	struct cogwheel_event e[4];
};

static void until_started(struct reader *r)
{
	while (!__atomic_load_n(&r->started, __ATOMIC_SEQ_CST))
		sched_yield();
}

static void *read_in_thread(void *arg)
{
	struct reader *r = arg;

	__atomic_store_n(&r->started, 1, __ATOMIC_SEQ_CST);
	r->n = dev_read(r->fd, r->e, r->max);
	return NULL;
}

/* Waits until the thread of a process sleeps. */
static void until_asleep(pid_t tid)
{
	__u64 end = mono_ns() + 1000000000;
	char path[64], text[512], *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	while (mono_ns() < end) {
		file = fopen(path, "r");
		if (!file)
			return;
		state = fgets(text, sizeof(text), file);
		fclose(file);
		state = state ? strrchr(text, ')') : NULL;
		if (state && state[2] == 'S')
			return;
		sched_yield();
	}
}

TEST_F(events, blocking_read_wakes)
{
	struct reader r = { .fd = self->fd, .max = 4 };
	pthread_t thread;

	ASSERT_EQ(0, blocking(self->fd));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_in_thread, &r));
	until_started(&r);
	ASSERT_EQ(0, fire(self->fd, 2, 11));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_GE(r.n, 1);
	EXPECT_EQ(11, r.e[0].user);
}

/* Of a file that nobody has set up: another thread still can. */
TEST_F(events, blocking_read_before_setup)
{
	struct reader r = { .fd = dev_open(0), .max = 1 };
	pthread_t thread;

	ASSERT_GE(r.fd, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_in_thread, &r));
	until_started(&r);
	ASSERT_EQ(0, dev_setup(r.fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	ASSERT_EQ(0, fire(r.fd, 1, 5));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, r.n);
	EXPECT_EQ(5, r.e[0].user);
	close(r.fd);
}

static void nothing(int sig)
{
}

TEST_F(events, eintr_signal)
{
	struct sigaction act = { .sa_handler = nothing };
	struct cogwheel_event e;
	int status;
	pid_t pid;

	ASSERT_EQ(0, sigaction(SIGUSR1, &act, NULL));
	ASSERT_EQ(0, blocking(self->fd));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(dev_read(self->fd, &e, 1) == -EINTR ? 0 : 1);
	until_asleep(pid);
	ASSERT_EQ(0, kill(pid, SIGUSR1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);

	/* And a fatal one ends the wait. */
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(dev_read(self->fd, &e, 1));
	until_asleep(pid);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
}

TEST_F(events, poll)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN | POLLOUT };
	struct cogwheel_event e[2];
	__u64 handle;

	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(0, fire(self->fd, 2, 0));
	EXPECT_EQ(1, poll(&pfd, 1, -1));
	EXPECT_EQ(POLLIN, pfd.revents);
	EXPECT_EQ(1, dev_read(self->fd, e, 1));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(1, dev_read(self->fd, e, 1));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	/* A cancelled event is no event. */
	handle = dev_in(self->fd, 1, 0);
	ASSERT_EQ(0, dev_advance_by(self->fd, 1));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(COGWHEEL_WAS_UNREAD, dev_cancel(self->fd, handle));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
}

static void *poll_in_thread(void *arg)
{
	struct reader *r = arg;
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };

	__atomic_store_n(&r->started, 1, __ATOMIC_SEQ_CST);
	r->n = poll(&pfd, 1, DEADLINE_MS);
	return NULL;
}

TEST_F(events, poll_wakes)
{
	struct reader r = { .fd = self->fd };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, poll_in_thread, &r));
	until_started(&r);
	ASSERT_EQ(0, fire(self->fd, 1, 0));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, r.n);
}

TEST_F(events, epoll_level)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = 99 }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct cogwheel_event e;

	ASSERT_GE(ep, 0);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &ev));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	ASSERT_EQ(0, fire(self->fd, 2, 0));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, -1));
	EXPECT_EQ(99, got.data.u64);
	EXPECT_EQ(EPOLLIN, got.events);
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, 0));
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	EXPECT_EQ(1, epoll_wait(ep, &got, 1, 0));
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	close(ep);
}

TEST_F(events, epoll_edge)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET }, got;
	int ep = epoll_create1(EPOLL_CLOEXEC), i;
	struct cogwheel_event e;

	ASSERT_GE(ep, 0);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &ev));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, fire(self->fd, 1, i));
		ASSERT_EQ(1, epoll_wait(ep, &got, 1, -1));
		/* Told once, whether it was read or not. */
		ASSERT_EQ(0, epoll_wait(ep, &got, 1, 0));
		if (i & 1)
			ASSERT_EQ(1, dev_read(self->fd, &e, 1));
		ASSERT_EQ(0, epoll_wait(ep, &got, 1, 0));
	}
	/* Added again it tells what there is. */
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_DEL, self->fd, NULL));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &ev));
	ASSERT_EQ(1, epoll_wait(ep, &got, 1, -1));
	close(ep);
}

struct producer {
	int fd;
	__u64 nr;
	int err;
};

static void *produce(void *arg)
{
	struct producer *p = arg;
	__u64 i;

	for (i = 0; i < p->nr && !p->err; i++)
		p->err = fire(p->fd, 1, i);
	return NULL;
}

/* Edge-triggered, read until EAGAIN, against a producer: no edge is missed. */
TEST_F(events, epoll_edge_race)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET }, got;
	struct producer p = { .fd = self->fd, .nr = 5000 };
	int ep = epoll_create1(EPOLL_CLOEXEC), n;
	struct cogwheel_event e[3];
	pthread_t thread;
	__u64 seen = 0;

	ASSERT_GE(ep, 0);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &ev));
	ASSERT_EQ(0, pthread_create(&thread, NULL, produce, &p));
	while (seen < p.nr) {
		ASSERT_EQ(1, epoll_wait(ep, &got, 1, DEADLINE_MS));
		while ((n = dev_read(self->fd, e, 3)) > 0) {
			while (n--)
				seen++;
		}
		ASSERT_EQ(0, n);
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, p.err);
	EXPECT_EQ(p.nr, seen);
	close(ep);
}

enum { SHARED = 4000 };

/* What one of several readers got, in memory that they share. */
struct share {
	unsigned char got[SHARED];
	int left;
};

static void share_events(int fd, struct share *share)
{
	struct cogwheel_event e[5];
	int i, n;

	while (__atomic_load_n(&share->left, __ATOMIC_SEQ_CST) > 0) {
		n = dev_read(fd, e, 5);
		for (i = 0; i < n; i++) {
			if (e[i].user >= SHARED)
				_exit(3);
			__atomic_add_fetch(&share->got[e[i].user], 1,
					   __ATOMIC_SEQ_CST);
			__atomic_sub_fetch(&share->left, 1, __ATOMIC_SEQ_CST);
		}
		if (n <= 0)
			sched_yield();
	}
}

/* Parent and children read from one file: each event comes to one of them. */
TEST_F(events, fork_shares_the_file)
{
	struct share *share;
	int i, status;
	pid_t pid[3];

	share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, share);
	share->left = SHARED;
	for (i = 0; i < 3; i++) {
		pid[i] = fork();
		ASSERT_GE(pid[i], 0);
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			share_events(self->fd, share);
			_exit(0);
		}
	}
	for (i = 0; i < SHARED; i += 100)
		ASSERT_EQ(0, fire(self->fd, 100, i));
	share_events(self->fd, share);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	for (i = 0; i < SHARED; i++)
		ASSERT_EQ(1, share->got[i]);
	munmap(share, sizeof(*share));
}

/* A child uses what its parent armed, and outlives its parent's close. */
TEST_F(events, fork_child_goes_on)
{
	__u64 handle = dev_in(self->fd, 10, 77);
	struct cogwheel_event e;
	int status, go[2];
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(go));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		if (dev_move(self->fd, handle, 20, 78) != COGWHEEL_WAS_PENDING)
			_exit(2);
		if (dev_advance_by(self->fd, 20))
			_exit(3);
		if (dev_read(self->fd, &e, 1) != 1 || e.user != 78)
			_exit(4);
		_exit(0);
	}
	close(self->fd);
	ASSERT_EQ(1, write(go[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(go[0]);
	close(go[1]);
}

/* Send a descriptor with a number, or receive them. */
static int pass(int sock, int fd, __u64 number)
{
	char control[CMSG_SPACE(sizeof(int))] = { };
	struct iovec iov = { &number, sizeof(number) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == sizeof(number) ? 0 : -1;
}

static int receive(int sock, __u64 *number)
{
	char control[CMSG_SPACE(sizeof(int))] = { };
	struct iovec iov = { number, sizeof(*number) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(sock, &msg, 0) != sizeof(*number) || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Opens a file, hands it to the other process, uses it with that, and exits. */
static int give(int sock, struct share *share)
{
	int fd = dev_open(O_NONBLOCK), i;
	char byte;
	__u64 handle;

	if (fd < 0 || dev_setup(fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0))
		return 1;
	handle = dev_in(fd, 1000000, SHARED);
	if (!handle || pass(sock, fd, handle))
		return 2;
	for (i = 0; i < SHARED / 2; i += 10)
		if (fire(fd, 10, i))
			return 3;
	share_events(fd, share);
	/* Still in its hands as it exits; the other one's move is seen. */
	if (read(sock, &byte, 1) != 1)
		return 4;
	return dev_move(fd, handle, 2000000, SHARED + 1) == COGWHEEL_WAS_PENDING
	       ? 0 : 5;
}

static int take_over(int sock, struct share *share)
{
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	__u64 handle;
	int fd = receive(sock, &handle), i;
	char byte;

	if (fd < 0)
		return 11;
	for (i = SHARED / 2; i < SHARED; i += 10)
		if (fire(fd, 10, i))
			return 12;
	share_events(fd, share);
	if (dev_move(fd, handle, 3000000, 7) != COGWHEEL_WAS_PENDING ||
	    write(sock, "x", 1) != 1)
		return 13;
	/* The other process is gone: its end of the socket says so. */
	if (read(sock, &byte, 1))
		return 14;
	if (dev_state(fd, &s) || s.timers != 1)
		return 15;
	if (dev_advance_by(fd, 2000000) || dev_read(fd, &e, 1) != 1 ||
	    e.handle != handle || e.user != SHARED + 1)
		return 16;
	if (fire(fd, 1, 5) || dev_read(fd, &e, 1) != 1 || e.user != 5)
		return 17;
	return 0;
}

/* A file that is passed on to a process which did not inherit it. */
TEST_F(events, scm_rights)
{
	int sock[2], i, status, codes[2];
	struct share *share;
	pid_t pid[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock));
	share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, share);
	share->left = SHARED;
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		ASSERT_GE(pid[i], 0);
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(sock[!i]);
		close(self->fd);
		_exit(i ? take_over(sock[1], share) : give(sock[0], share));
	}
	close(sock[0]);
	close(sock[1]);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		codes[i] = status;
	}
	EXPECT_EQ(0, codes[0]);
	EXPECT_EQ(0, codes[1]);
	for (i = 0; i < SHARED; i++)
		ASSERT_EQ(1, share->got[i]);
	munmap(share, sizeof(*share));
}

/* As with timerfd: exec keeps a file that has no O_CLOEXEC, armed as it was. */
TEST_F(events, exec)
{
	char cmd[128];
	int keep, status;
	pid_t pid;

	if (access("/bin/sh", X_OK))
		SKIP(return, "no /bin/sh");
	ASSERT_NE(0, dev_in(self->fd, 10, 1));
	keep = dup(self->fd);
	ASSERT_GE(keep, 0);
	snprintf(cmd, sizeof(cmd),
		 "grep -q 'pending:.1$' /proc/$$/fdinfo/%d && test ! -e /proc/$$/fd/%d",
		 keep, self->fd);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		execl("/bin/sh", "sh", "-c", cmd, NULL);
		_exit(127);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(keep);
}

/* Blocked readers and pollers stay with the file; what they wait for comes. */
TEST_F(events, close_while_another_waits)
{
	struct reader r = { .max = 1 };
	int fd = dev_open(0), again;
	pthread_t thread;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, dev_setup(fd, "", COGWHEEL_CLOCK_MONOTONIC, 1000000, 0));
	again = dup(fd);
	r.fd = fd;
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_in_thread, &r));
	until_started(&r);
	ASSERT_NE(0, dev_in(again, 20, 3));
	close(fd);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	/* The thread may have come too late, and found the file closed. */
	EXPECT_TRUE(r.n == 1 || r.n == -EBADF);
	close(again);
}

/* With timers pending, unread and just expiring, on each clock. */
TEST_F(events, close_with_all_in_flight)
{
	__u64 rounds = env_u64("COGWHEEL_ROUNDS", 300), i, seed = 1;
	int fd, n;

	for (i = 0; i < rounds; i++) {
		fd = dev_open(O_NONBLOCK);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, dev_setup(fd, "", i % 3,
				       i % 3 ? 0 : 1000 << i % 10, 0));
		for (n = 0; n < 200; n++) {
			struct cogwheel_ioc_arm arm = {
				.when = rnd(&seed) % (2 << i % 12),
				.period = n % 4 ? 0 : 1 + n % 3,
			};

			ASSERT_EQ(0, dev_arm(fd, &arm));
		}
		if (i % 3 == COGWHEEL_CLOCK_MANUAL)
			ASSERT_EQ(0, dev_advance_by(fd, 1));
		close(fd);
	}
}

TEST_HARNESS_MAIN
