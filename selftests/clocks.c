// SPDX-License-Identifier: GPL-2.0
/*
 * Running clocks of /dev/cogwheel, on every kind: a timer is never early in
 * real time, whatever the tick; periods add up; an idle wheel stays asleep.
 * Each wait is a poll with a deadline, none is of a fixed length.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>

#include "device.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME	0x80
#endif

FIXTURE(running) {
	int fd;
	bool exact;
	__u64 tick_ns;
	struct cogwheel_ioc_kind kind;
};

FIXTURE_VARIANT(running) {
	const char *kind;
	__u32 clock;
	__u64 tick_ns;
};

#define CLOCK_VARIANTS(fixture, name)				\
	FIXTURE_VARIANT_ADD(fixture, name##_jiffies) {		\
		.kind = #name,					\
		.clock = COGWHEEL_CLOCK_JIFFIES,		\
	};							\
	FIXTURE_VARIANT_ADD(fixture, name##_1ms) {		\
		.kind = #name,					\
		.clock = COGWHEEL_CLOCK_MONOTONIC,		\
	};							\
	FIXTURE_VARIANT_ADD(fixture, name##_100us) {		\
		.kind = #name,					\
		.clock = COGWHEEL_CLOCK_MONOTONIC,		\
		.tick_ns = 100000,				\
	};

ALL_KINDS(CLOCK_VARIANTS, running)

FIXTURE_SETUP(running)
{
	struct cogwheel_ioc_geometry g = { };
	char name[COGWHEEL_NAME_LEN];

	kind_name(name, variant->kind);
	self->fd = dev_open(O_NONBLOCK);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	if (dev_kind(self->fd, name, &self->kind))
		SKIP(return, "no kind %s", name);
	/* An emulated machine may lose many such ticks at a time. */
	if (variant->tick_ns && !getenv("COGWHEEL_SHORT_TICKS"))
		SKIP(return, "short ticks are for a machine of one's own");
	ASSERT_EQ(0, dev_setup(self->fd, name, variant->clock,
			       variant->tick_ns, 0));
	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_GEOMETRY, &g));
	self->tick_ns = g.tick_ns;
	self->exact = self->kind.traits & COGWHEEL_TRAIT_EXACT;
}

FIXTURE_TEARDOWN(running)
{
	close(self->fd);
}

static int wait_event(int fd, struct cogwheel_event *e)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int ret = poll(&pfd, 1, DEADLINE_MS);

	if (ret != 1)
		return ret < 0 ? -errno : -ETIME;
	return dev_read(fd, e, 1);
}

/* A delay is never shorter in real time, from wherever in a tick. */
TEST_F(running, never_early)
{
	static const __u64 delays[] = { 0, 1, 2, 3, 10, 63, 64, 65 };
	struct cogwheel_ioc_state s, before, armed;
	struct cogwheel_event e;
	size_t i, round;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < ARRAY_LEN(delays); i++) {
			struct cogwheel_ioc_arm arm = {
				.when = delays[i], .user = i,
			};
			__u64 begin, end;

			ASSERT_EQ(0, dev_state(self->fd, &before));
			begin = mono_ns();
			ASSERT_EQ(0, dev_arm(self->fd, &arm));
			ASSERT_EQ(0, dev_state(self->fd, &armed));
			ASSERT_EQ(1, wait_event(self->fd, &e));
			end = mono_ns();
			ASSERT_EQ(0, dev_state(self->fd, &s));
			EXPECT_EQ(i, e.user);
			EXPECT_EQ(arm.handle, e.handle);
			EXPECT_EQ(arm.due, e.due);
			EXPECT_GE(arm.due, before.now + delays[i]);
			EXPECT_GE(e.fired, e.due);
			EXPECT_GE(s.now, e.fired);
			/* A busy machine may have armed it overdue. */
			if (self->exact && armed.now < arm.due)
				EXPECT_EQ(e.due, e.fired);
			/*
			 * jiffies are counted late where the interrupt is: the
			 * clock is then the measure, not the time.
			 */
			EXPECT_GE(s.now - before.now, delays[i]);
			if (variant->clock == COGWHEEL_CLOCK_MONOTONIC)
				EXPECT_GE(end - begin,
					  delays[i] * self->tick_ns);
		}
	}
}

TEST_F(running, absolute)
{
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	__u64 handle;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, dev_state(self->fd, &s));
		handle = dev_at(self->fd, s.now + 20, i);
		ASSERT_NE(0, handle);
		ASSERT_EQ(1, wait_event(self->fd, &e));
		EXPECT_EQ(handle, e.handle);
		EXPECT_EQ(s.now + 20, e.due);
		EXPECT_GE(e.fired, e.due);
	}
	/* Long past: at once. */
	handle = dev_at(self->fd, 1, 9);
	ASSERT_EQ(1, wait_event(self->fd, &e));
	EXPECT_EQ(handle, e.handle);
	EXPECT_EQ(1, e.due);
}

/* Earlier than what the clock's driver sleeps for: it must be told. */
TEST_F(running, earlier_than_the_first)
{
	struct cogwheel_event e;
	__u64 far = dev_in(self->fd, 1000000000, 1), near;
	int i;

	ASSERT_NE(0, far);
	for (i = 0; i < 10; i++) {
		near = dev_in(self->fd, 3, 2);
		ASSERT_EQ(1, wait_event(self->fd, &e));
		EXPECT_EQ(near, e.handle);
	}
	/* The far one itself moved near. */
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_move(self->fd, far, 3, 4));
	ASSERT_EQ(1, wait_event(self->fd, &e));
	EXPECT_EQ(far, e.handle);
}

TEST_F(running, cancelled_in_time)
{
	struct cogwheel_event e;
	__u64 gone[20], stays;
	int i;

	for (i = 0; i < 20; i++)
		gone[i] = dev_in(self->fd, 50000, i);
	stays = dev_in(self->fd, 30, 99);
	for (i = 0; i < 20; i++)
		EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_cancel(self->fd, gone[i]));
	ASSERT_EQ(1, wait_event(self->fd, &e));
	EXPECT_EQ(stays, e.handle);
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
}

/* Until the wheel's clock has gone on by so many ticks. */
static int wait_ticks(int fd, __u64 ticks)
{
	__u64 end = mono_ns() + DEADLINE_MS * 1000000ULL, from;
	struct cogwheel_ioc_state s;
	int err = dev_state(fd, &s);

	for (from = s.now; !err && s.now - from < ticks;) {
		err = dev_state(fd, &s);
		if (mono_ns() > end)
			return -ETIME;
	}
	return err;
}

/* What is not read in time is added up, and no period is lost or doubled. */
TEST_F(running, periods_add_up)
{
	struct cogwheel_ioc_arm arm = { .when = 5, .period = 3, .user = 8 };
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	__u64 due;
	int i;

	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	due = arm.due;
	for (i = 0; i < 12; i++) {
		/* Let none, some, or many periods go by unread. */
		ASSERT_EQ(0, wait_ticks(self->fd, i % 4 * 20));
		ASSERT_EQ(1, wait_event(self->fd, &e));
		ASSERT_EQ(arm.handle, e.handle);
		ASSERT_EQ(8, e.user);
		ASSERT_EQ(due, e.due);
		ASSERT_GE(e.fired, e.due);
		ASSERT_EQ(0, e.flags);
		due += 3 * (e.missed + 1);
		ASSERT_EQ(0, dev_state(self->fd, &s));
		ASSERT_EQ(1, s.pending);
		ASSERT_EQ(1, s.timers);
		/* Some have ended while it was not read. */
		if (i % 4 > 1)
			EXPECT_GE(e.missed, 1);
	}
	i = dev_cancel(self->fd, arm.handle);
	EXPECT_EQ(COGWHEEL_WAS_PENDING, i & COGWHEEL_WAS_PENDING);
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, arm.handle));
}

/* The driver of a busy machine's clock may be late: wait for the event. */
static int until_unread(int fd, struct cogwheel_ioc_state *s)
{
	__u64 end = mono_ns() + DEADLINE_MS * 1000000ULL;
	int err;

	do {
		err = dev_state(fd, s);
	} while (!err && !s->unread && mono_ns() < end);
	return err;
}

/* An unread periodic timer can be moved and cancelled, asleep or not. */
TEST_F(running, unread_periodic)
{
	struct cogwheel_ioc_arm arm = { .when = 1, .period = 1 };
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	int i, want = COGWHEEL_WAS_PENDING | COGWHEEL_WAS_UNREAD;

	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	arm.flags = COGWHEEL_ARM_MOVE;
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, wait_ticks(self->fd, i % 2 * 10 + 5));
		ASSERT_EQ(0, until_unread(self->fd, &s));
		ASSERT_EQ(1, s.pending);
		ASSERT_EQ(1, s.unread);
		arm.user = i;
		ASSERT_EQ(0, dev_arm(self->fd, &arm));
		ASSERT_EQ(want, (int)arm.result);
		ASSERT_EQ(1, wait_event(self->fd, &e));
		ASSERT_EQ(arm.due, e.due);
		ASSERT_EQ(i, e.user);
	}
	ASSERT_EQ(0, until_unread(self->fd, &s));
	EXPECT_EQ(want, dev_cancel(self->fd, arm.handle));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(0, s.pending);
	EXPECT_EQ(0, s.unread);
	EXPECT_EQ(0, s.timers);
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
}

/* Whatever is asked for, the wheel works no more than the program does. */
TEST_F(running, a_period_is_no_attack)
{
	enum { TIMERS = 1000 };
	static __u64 due[TIMERS];
	struct cogwheel_event e[50];
	struct cogwheel_ioc_state s;
	int i, n, left = TIMERS;

	for (i = 0; i < TIMERS; i++) {
		struct cogwheel_ioc_arm arm = {
			.when = 1, .period = 1, .user = i,
		};

		ASSERT_EQ(0, dev_arm(self->fd, &arm));
		due[i] = arm.due;
	}
	ASSERT_EQ(0, wait_ticks(self->fd, 100));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(TIMERS, s.pending);
	EXPECT_EQ(TIMERS, s.unread);
	EXPECT_LE(s.fired, 2 * TIMERS);
	/* And still it knows what they missed. */
	while (left > 0) {
		n = dev_read(self->fd, e, 50);
		ASSERT_GE(n, 1);
		for (i = 0; i < n && left; i++) {
			if (e[i].due != due[e[i].user])
				continue;
			EXPECT_GE(e[i].missed, 98);
			left--;
		}
	}
}

/* While nothing is due the wheel's driver does not wake up. */
TEST_F(running, idle_is_asleep)
{
	struct cogwheel_ioc_state before, after;
	struct cogwheel_event e;
	__u64 handle;
	int fd;

	ASSERT_NE(0, dev_in(self->fd, 2, 0));
	ASSERT_EQ(1, wait_event(self->fd, &e));
	ASSERT_EQ(0, dev_state(self->fd, &before));
	EXPECT_EQ(0, before.status);
	/* Half a second of real time, seen by another file's timer. */
	fd = dev_open(O_NONBLOCK);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, dev_setup(fd, "", 0, 1000000, 0));
	ASSERT_NE(0, dev_in(fd, 500, 0));
	ASSERT_EQ(1, wait_event(fd, &e));
	close(fd);
	ASSERT_EQ(0, dev_state(self->fd, &after));
	EXPECT_LE(after.wakeups - before.wakeups, 1);
	EXPECT_GT(after.now, before.now);
	/* And works as before when it is wanted again. */
	handle = dev_in(self->fd, 2, 0);
	ASSERT_EQ(1, wait_event(self->fd, &e));
	EXPECT_EQ(handle, e.handle);
}

TEST_F(running, many)
{
	enum { TIMERS = 5000 };
	static unsigned char seen[TIMERS];
	static __u64 due[TIMERS];
	struct cogwheel_event e[64];
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	__u64 seed = 1, last = 0;
	int i, n, left = TIMERS;

	if (self->kind.max_timers && self->kind.max_timers < TIMERS)
		left = self->kind.max_timers;
	memset(seen, 0, sizeof(seen));
	for (i = 0; i < left; i++) {
		struct cogwheel_ioc_arm arm = {
			.when = rnd(&seed) % 300, .user = i,
		};

		ASSERT_EQ(0, dev_arm(self->fd, &arm));
		due[i] = arm.due;
	}
	while (left) {
		ASSERT_EQ(1, poll(&pfd, 1, DEADLINE_MS));
		n = dev_read(self->fd, e, 64);
		ASSERT_GE(n, 1);
		for (i = 0; i < n; i++) {
			ASSERT_LT(e[i].user, TIMERS);
			ASSERT_EQ(0, seen[e[i].user]++);
			ASSERT_EQ(due[e[i].user], e[i].due);
			ASSERT_GE(e[i].fired, e[i].due);
			ASSERT_GE(e[i].fired, last);
			last = e[i].fired;
		}
		left -= n;
	}
	EXPECT_EQ(0, dev_read(self->fd, e, 64));
}

/* Days by which the clock of a namespace is ahead. */
enum { AHEAD = 70 };

#define AHEAD_NS	(AHEAD * 24 * 3600 * 1000000000ULL)

/* In the namespace. @host is a time of the initial one, some time ago. */
static int other_time(__u64 host)
{
	const __u64 delay = 30000000;
	struct cogwheel_ioc_arm arm = {
		.flags = COGWHEEL_ARM_NS, .when = delay,
	};
	int fd = dev_open(O_NONBLOCK), pass;
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	__u64 begin = mono_ns();

	if (begin < host + AHEAD_NS)
		return 1;
	if (fd < 0 || dev_setup(fd, "", COGWHEEL_CLOCK_MONOTONIC, 0, 0) ||
	    dev_state(fd, &s))
		return 2;
	/* The file's clock is that of the initial namespace. */
	if (s.now < host / 1000000 ||
	    s.now > (mono_ns() - AHEAD_NS) / 1000000)
		return 3;
	for (pass = 0; pass < 2; pass++) {
		begin = mono_ns();
		if (pass) {
			arm.flags |= COGWHEEL_ARM_ABSOLUTE;
			arm.when = begin - AHEAD_NS + delay;
		}
		if (dev_arm(fd, &arm) || wait_event(fd, &e) != 1)
			return 4 + pass;
		if (mono_ns() < begin + delay)
			return 6 + pass;
	}
	/* A time of the namespace's own is that far away. */
	arm.when = mono_ns();
	if (dev_arm(fd, &arm) || dev_state(fd, &s) || s.pending != 1 ||
	    arm.due < s.now + (AHEAD_NS - DEADLINE_MS * 1000000ULL) / 1000000)
		return 8;
	return 0;
}

/* A delay is a delay in every time namespace; a time is one of the initial. */
TEST(time_namespace)
{
	__u64 host = mono_ns();
	char text[64];
	int status, fd;
	pid_t pid;

	if (access(DEVICE, F_OK))
		SKIP(return, "no " DEVICE);
	if (unshare(CLONE_NEWTIME))
		SKIP(return, "no time namespaces");
	/* For what is forked from here on. */
	fd = open("/proc/self/timens_offsets", O_WRONLY);
	ASSERT_GE(fd, 0);
	snprintf(text, sizeof(text), "1 %llu 0", AHEAD * 24 * 3600ULL);
	ASSERT_EQ(strlen(text), write(fd, text, strlen(text)));
	close(fd);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(other_time(host));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
