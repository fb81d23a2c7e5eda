// SPDX-License-Identifier: GPL-2.0
/*
 * Timers of /dev/cogwheel on a manual clock, on every kind: arm, move, cancel,
 * advance, periods, next, state, walk, and the life of a handle. What a kind
 * promises is asked for by its traits, never by its name.
 */
#define _GNU_SOURCE
#include "device.h"

#define LAST	UINT64_MAX

/* A file with a wheel of the kind, its clock at START. */
#define START	1000

FIXTURE(wheel) {
	int fd;
	bool exact;
	bool slack;
	struct cogwheel_ioc_kind kind;
	struct cogwheel_ioc_geometry geometry;
};

FIXTURE_VARIANT(wheel) {
	const char *kind;
};

ALL_KINDS(KIND_VARIANT, wheel)

static int open_kind(const char *name, __u64 start)
{
	int fd = dev_open(O_NONBLOCK), err;

	if (fd < 0)
		return fd;
	err = dev_setup(fd, name, COGWHEEL_CLOCK_MANUAL, 0, start);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

FIXTURE_SETUP(wheel)
{
	char name[COGWHEEL_NAME_LEN];

	kind_name(name, variant->kind);
	self->fd = dev_open(O_NONBLOCK);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	if (dev_kind(self->fd, name, &self->kind))
		SKIP(return, "no kind %s", name);
	ASSERT_EQ(0, dev_setup(self->fd, name, COGWHEEL_CLOCK_MANUAL, 0,
			       START));
	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_GEOMETRY, &self->geometry));
	self->exact = self->kind.traits & COGWHEEL_TRAIT_EXACT;
	/* With slack 0, which is what most tests ask for, it is exact too. */
	self->slack = self->kind.traits & COGWHEEL_TRAIT_SLACK;
	self->exact |= self->slack;
}

FIXTURE_TEARDOWN(wheel)
{
	close(self->fd);
}

/* Advance to the next tick time and again until an event is there. */
static int until_event(int fd, struct cogwheel_event *e, unsigned int *steps)
{
	struct cogwheel_ioc_state s;
	int err, n;

	for (*steps = 0; *steps < 200; ++*steps) {
		n = dev_read(fd, e, 1);
		if (n)
			return n;
		err = dev_state(fd, &s);
		if (err)
			return err;
		if (!(s.status & COGWHEEL_STATE_NEXT))
			return 0;
		if (s.next <= s.now)
			return -ERANGE;
		err = dev_advance_to(fd, s.next);
		if (err)
			return err;
	}
	return -ELOOP;
}

static const __u64 delays[] = {
	1, 2, 5, 62, 63, 64, 65, 127, 128, 511, 512, 513, 4095, 4096, 4097,
	1ULL << 18, (1ULL << 24) - 1, 1ULL << 31, (1ULL << 32) + 7,
	(1ULL << 36) - 1, 1ULL << 36, (1ULL << 48) + 12345, 1ULL << 63,
};

TEST_F(wheel, fires_once_and_says_so)
{
	struct cogwheel_event e;
	struct cogwheel_ioc_state s;
	unsigned int steps;
	size_t i;

	for (i = 0; i < ARRAY_LEN(delays); i++) {
		struct cogwheel_ioc_arm arm = { .when = delays[i], .user = ~i };
		int fd = open_kind(self->kind.name, START);

		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, dev_arm(fd, &arm));
		EXPECT_NE(0, arm.handle);
		EXPECT_EQ(START + delays[i], arm.due);
		EXPECT_EQ(0, arm.result);
		ASSERT_EQ(0, dev_state(fd, &s));
		EXPECT_EQ(1, s.pending);
		EXPECT_EQ(1, s.timers);
		EXPECT_EQ(0, s.unread);
		ASSERT_EQ(1, until_event(fd, &e, &steps));
		EXPECT_LE(steps, self->geometry.levels);
		EXPECT_EQ(~i, e.user);
		EXPECT_EQ(arm.handle, e.handle);
		EXPECT_EQ(arm.due, e.due);
		EXPECT_GE(e.fired, e.due);
		if (self->exact)
			EXPECT_EQ(e.due, e.fired);
		EXPECT_EQ(0, e.missed);
		EXPECT_EQ(COGWHEEL_EVENT_LAST, e.flags);
		EXPECT_EQ(0, e.reserved);
		ASSERT_EQ(0, dev_state(fd, &s));
		EXPECT_EQ(e.fired, s.now);
		EXPECT_EQ(0, s.pending);
		EXPECT_EQ(0, s.unread);
		EXPECT_EQ(0, s.timers);
		EXPECT_EQ(1, s.fired);
		EXPECT_EQ(0, s.status);
		EXPECT_EQ(0, dev_advance_to(fd, LAST));
		EXPECT_EQ(0, dev_read(fd, &e, 1));
		EXPECT_EQ(-ENOENT, dev_cancel(fd, arm.handle));
		close(fd);
	}
}

TEST_F(wheel, not_before_its_time)
{
	struct cogwheel_event e;
	__u64 now;
	size_t i;

	for (i = 0; i < ARRAY_LEN(delays); i++) {
		int fd = open_kind(self->kind.name, START);

		ASSERT_GE(fd, 0);
		ASSERT_NE(0, dev_in(fd, delays[i], i));
		ASSERT_EQ(0, dev_advance(fd, 0, delays[i] - 1, &now));
		EXPECT_EQ(START + delays[i] - 1, now);
		EXPECT_EQ(0, dev_read(fd, &e, 1));
		if (self->exact) {
			EXPECT_EQ(0, dev_advance_by(fd, 1));
			EXPECT_EQ(1, dev_read(fd, &e, 1));
			EXPECT_EQ(START + delays[i], e.fired);
		}
		close(fd);
	}
}

/* One jump over everything, and the clock is where it was asked to be. */
TEST_F(wheel, far_jump)
{
	struct cogwheel_event e[ARRAY_LEN(delays)];
	__u64 now;
	size_t i;

	for (i = 0; i < ARRAY_LEN(delays); i++)
		ASSERT_NE(0, dev_in(self->fd, delays[i], i));
	ASSERT_EQ(0, dev_advance(self->fd, COGWHEEL_ADVANCE_ABSOLUTE,
				 LAST - 1, &now));
	EXPECT_EQ(LAST - 1, now);
	ASSERT_EQ(ARRAY_LEN(delays),
		  dev_read(self->fd, e, ARRAY_LEN(delays)));
	for (i = 0; i < ARRAY_LEN(delays); i++) {
		if (self->exact) {
			EXPECT_EQ(i, e[i].user);
			EXPECT_EQ(e[i].due, e[i].fired);
		}
		EXPECT_GE(e[i].fired, e[i].due);
		if (i)
			EXPECT_GE(e[i].fired, e[i - 1].fired);
	}
}

TEST_F(wheel, order_of_arming_within_a_tick)
{
	struct cogwheel_event e[100];
	int i;

	if (!self->exact)
		SKIP(return, "promises no order");
	/* From near and far, and by delay and tick. */
	for (i = 0; i < 100; i++) {
		if (i == 40)
			ASSERT_EQ(0, dev_advance_by(self->fd, 4000));
		if (i == 80)
			ASSERT_EQ(0, dev_advance_by(self->fd, 900));
		ASSERT_NE(0, dev_at(self->fd, START + 5000, i));
	}
	ASSERT_EQ(0, dev_advance_to(self->fd, START + 5000));
	ASSERT_EQ(100, dev_read(self->fd, e, 100));
	for (i = 0; i < 100; i++)
		EXPECT_EQ(i, e[i].user);
}

TEST_F(wheel, overdue_fires_on_the_next_tick)
{
	struct cogwheel_event e[3];
	int i;

	ASSERT_NE(0, dev_at(self->fd, START, 0));
	ASSERT_NE(0, dev_at(self->fd, 0, 1));
	ASSERT_NE(0, dev_in(self->fd, 0, 2));
	EXPECT_EQ(0, dev_read(self->fd, e, 3));
	EXPECT_EQ(0, dev_advance_by(self->fd, 0));
	EXPECT_EQ(0, dev_read(self->fd, e, 3));
	EXPECT_EQ(0, dev_advance_by(self->fd, 1));
	ASSERT_EQ(3, dev_read(self->fd, e, 3));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(START + 1, e[i].fired);
		EXPECT_EQ(i, e[i].user);
	}
	EXPECT_EQ(START, e[0].due);
	EXPECT_EQ(0, e[1].due);
	EXPECT_EQ(START, e[2].due);
}

TEST_F(wheel, sums_stop_at_the_last_tick)
{
	struct cogwheel_ioc_arm arm = { .when = LAST };
	struct cogwheel_event e;
	struct cogwheel_ioc_state s;
	__u64 now;

	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(LAST, arm.due);
	EXPECT_EQ(0, dev_advance(self->fd, 0, LAST - START - 1, &now));
	EXPECT_EQ(LAST - 1, now);
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(COGWHEEL_STATE_NEXT, s.status);
	EXPECT_EQ(LAST, s.next);
	EXPECT_EQ(0, dev_advance(self->fd, 0, LAST, &now));
	EXPECT_EQ(LAST, now);
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	EXPECT_EQ(LAST, e.fired);
	/* The clock has ended. What is overdue now stays. */
	ASSERT_NE(0, dev_in(self->fd, 5, 0));
	arm.when = 3;
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(0, dev_advance(self->fd, 0, 10, &now));
	EXPECT_EQ(LAST, now);
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(2, s.pending);
	EXPECT_EQ(0, s.status);
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_cancel(self->fd, arm.handle));
}

TEST_F(wheel, moved_later_and_earlier)
{
	struct cogwheel_event e;
	__u64 handle = dev_in(self->fd, 100, 1);
	unsigned int steps;

	ASSERT_NE(0, handle);
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_move(self->fd, handle, 5000, 2));
	EXPECT_EQ(0, dev_advance_by(self->fd, 4999));
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_move(self->fd, handle, 100, 3));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_move(self->fd, handle, 10, 4));
	ASSERT_EQ(1, until_event(self->fd, &e, &steps));
	EXPECT_EQ(START + 4999 + 10, e.due);
	EXPECT_EQ(handle, e.handle);
	EXPECT_EQ(4, e.user);
	if (self->exact)
		EXPECT_EQ(e.due, e.fired);
	EXPECT_EQ(0, dev_advance_by(self->fd, 100000));
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
}

TEST_F(wheel, moved_to_where_it_is_keeps_its_place)
{
	struct cogwheel_event e[3];
	__u64 first = dev_in(self->fd, 100, 0), second;
	struct cogwheel_ioc_arm arm;
	int i;

	if (!self->exact)
		SKIP(return, "promises no order");
	second = dev_in(self->fd, 100, 1);
	ASSERT_NE(0, dev_in(self->fd, 100, 2));
	/* Nothing changes but the period, whichever way. */
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_move(self->fd, first, 100, 0));
	arm = (struct cogwheel_ioc_arm) {
		.flags = COGWHEEL_ARM_MOVE, .handle = second, .when = 100,
		.period = 7, .user = 1,
	};
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(second, arm.handle);
	arm.handle = first;
	arm.user = 0;
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	arm.period = 0;
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, arm.result);
	EXPECT_EQ(0, dev_advance_by(self->fd, 100));
	ASSERT_EQ(3, dev_read(self->fd, e, 3));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i, e[i].user);
	EXPECT_EQ(COGWHEEL_EVENT_LAST, e[0].flags);
	EXPECT_EQ(0, e[1].flags);
}

TEST_F(wheel, moved_elsewhere_goes_to_the_end)
{
	struct cogwheel_event e[3];
	__u64 first = dev_in(self->fd, 100, 0);

	if (!self->exact)
		SKIP(return, "promises no order");
	ASSERT_NE(0, dev_in(self->fd, 100, 1));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_move(self->fd, first, 101, 0));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_move(self->fd, first, 100, 0));
	EXPECT_EQ(0, dev_advance_by(self->fd, 100));
	ASSERT_EQ(2, dev_read(self->fd, e, 3));
	EXPECT_EQ(1, e[0].user);
	EXPECT_EQ(0, e[1].user);
}

TEST_F(wheel, moved_after_it_fired)
{
	struct cogwheel_event e;
	__u64 handle = dev_in(self->fd, 1, 1);
	struct cogwheel_ioc_state s;
	unsigned int steps;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, dev_advance_by(self->fd, 2));
	EXPECT_EQ(COGWHEEL_WAS_UNREAD, dev_move(self->fd, handle, 50, 2));
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(0, s.unread);
	EXPECT_EQ(1, s.pending);
	EXPECT_EQ(1, s.timers);
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_move(self->fd, handle, 60, 3));
	ASSERT_EQ(1, until_event(self->fd, &e, &steps));
	EXPECT_EQ(3, e.user);
	EXPECT_EQ(handle, e.handle);
	EXPECT_EQ(START + 62, e.due);
	EXPECT_EQ(-ENOENT, dev_move(self->fd, handle, 60, 3));
}

TEST_F(wheel, cancelled)
{
	struct cogwheel_event e;
	struct cogwheel_ioc_state s;
	__u64 pending = dev_in(self->fd, 500, 1);
	__u64 unread = dev_in(self->fd, 1, 2);
	__u64 read = dev_in(self->fd, 1, 3);

	ASSERT_EQ(0, dev_advance_by(self->fd, 2));
	EXPECT_EQ(COGWHEEL_WAS_UNREAD, dev_cancel(self->fd, unread));
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, unread));
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	EXPECT_EQ(read, e.handle);
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, read));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_cancel(self->fd, pending));
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, pending));
	EXPECT_EQ(0, dev_advance_by(self->fd, 5000));
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(0, s.timers);
	EXPECT_EQ(0, s.pending);
	EXPECT_EQ(0, s.status);
}

TEST_F(wheel, periodic)
{
	struct cogwheel_event e;
	__u64 handle = dev_every(self->fd, 10, 25, 9), due = START + 10;
	unsigned int steps;
	int i;

	ASSERT_NE(0, handle);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(1, until_event(self->fd, &e, &steps));
		EXPECT_LE(steps, self->geometry.levels);
		EXPECT_EQ(handle, e.handle);
		EXPECT_EQ(9, e.user);
		EXPECT_EQ(due, e.due);
		EXPECT_EQ(0, e.flags);
		if (self->exact) {
			EXPECT_EQ(due, e.fired);
			EXPECT_EQ(0, e.missed);
		}
		EXPECT_EQ((e.fired - e.due) / 25, e.missed);
		due += 25 * (e.missed + 1);
	}
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_cancel(self->fd, handle));
	EXPECT_EQ(0, until_event(self->fd, &e, &steps));
}

TEST_F(wheel, periodic_that_begins_in_the_past)
{
	struct cogwheel_ioc_arm arm = {
		.flags = COGWHEEL_ARM_ABSOLUTE, .when = 100, .period = 7,
	};
	struct cogwheel_event e;
	unsigned int steps;

	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(100, arm.due);
	ASSERT_EQ(0, dev_advance_by(self->fd, 1));
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	EXPECT_EQ(START + 1, e.fired);
	EXPECT_EQ(100, e.due);
	EXPECT_EQ((START + 1 - 100) / 7, e.missed);
	ASSERT_EQ(1, until_event(self->fd, &e, &steps));
	EXPECT_EQ(100 + 7 * ((START + 1 - 100) / 7 + 1), e.due);
}

/* Until its event is read, the clock does not reach its next fire. */
TEST_F(wheel, advance_stops_for_an_unread_periodic)
{
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	__u64 handle = dev_every(self->fd, 10, 100, 0), now, stopped;

	ASSERT_NE(0, handle);
	ASSERT_EQ(0, dev_advance(self->fd, 0, 1000000, &stopped));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(stopped, s.now);
	EXPECT_EQ(1, s.unread);
	EXPECT_EQ(1, s.pending);
	EXPECT_EQ(1, s.timers);
	EXPECT_EQ(1, s.fired);
	EXPECT_GE(stopped, START + 109);
	if (self->exact)
		EXPECT_EQ(START + 109, stopped);
	/* And no further, however often and far. */
	ASSERT_EQ(0, dev_advance(self->fd, 0, 1, &now));
	EXPECT_EQ(stopped, now);
	ASSERT_EQ(0, dev_advance(self->fd, COGWHEEL_ADVANCE_ABSOLUTE, LAST,
				 &now));
	EXPECT_EQ(stopped, now);
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	EXPECT_EQ(START + 10, e.due);
	EXPECT_EQ(0, e.missed);
	/* Once read it goes on, to the fire itself. */
	ASSERT_EQ(0, dev_advance(self->fd, 0, 1, &now));
	EXPECT_EQ(stopped + 1, now);
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	EXPECT_EQ(START + 110, e.due);
	EXPECT_EQ(stopped + 1, e.fired);
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_cancel(self->fd, handle));
}

/* Of several, the first to fire again decides; a cancel or move lifts it. */
TEST_F(wheel, advance_stops_for_the_first_of_them)
{
	__u64 slow = dev_every(self->fd, 1, 1000, 0);
	__u64 fast = dev_every(self->fd, 1, 64, 0);
	__u64 now, first;

	ASSERT_NE(0, slow);
	ASSERT_NE(0, fast);
	/* A one-shot timer that is unread holds up nothing. */
	ASSERT_NE(0, dev_in(self->fd, 1, 0));
	ASSERT_EQ(0, dev_advance(self->fd, 0, 1000000, &first));
	EXPECT_GE(first, START + 64);
	EXPECT_LT(first, START + 500);
	EXPECT_EQ(COGWHEEL_WAS_PENDING | COGWHEEL_WAS_UNREAD,
		  dev_cancel(self->fd, fast));
	ASSERT_EQ(0, dev_advance(self->fd, 0, 1000000, &now));
	EXPECT_GE(now, START + 1000);
	EXPECT_LT(now, START + 5000);
	EXPECT_EQ(COGWHEEL_WAS_PENDING | COGWHEEL_WAS_UNREAD,
		  dev_move(self->fd, slow, 5, 0));
	ASSERT_EQ(0, dev_advance(self->fd, 0, 1000000, &first));
	EXPECT_EQ(now + 1000000, first);
}

TEST_F(wheel, one_shot_becomes_periodic_and_back)
{
	struct cogwheel_event e;
	struct cogwheel_ioc_arm arm = { .when = 10, .user = 1 };
	unsigned int steps;
	__u64 handle;

	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	handle = arm.handle;
	arm.flags = COGWHEEL_ARM_MOVE;
	arm.period = 20;
	arm.user = 2;
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(handle, arm.handle);
	ASSERT_EQ(1, until_event(self->fd, &e, &steps));
	EXPECT_EQ(2, e.user);
	EXPECT_EQ(0, e.flags);
	ASSERT_EQ(1, until_event(self->fd, &e, &steps));
	EXPECT_EQ(0, e.flags);
	arm.period = 0;
	arm.user = 3;
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, arm.result);
	ASSERT_EQ(1, until_event(self->fd, &e, &steps));
	EXPECT_EQ(3, e.user);
	EXPECT_EQ(COGWHEEL_EVENT_LAST, e.flags);
	EXPECT_EQ(0, until_event(self->fd, &e, &steps));
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, handle));
}

/* A fired one-shot timer that is moved to be periodic, and the reverse. */
TEST_F(wheel, moved_between_after_it_fired)
{
	struct cogwheel_event e;
	struct cogwheel_ioc_arm arm = { .when = 1 };
	unsigned int steps;

	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	ASSERT_EQ(0, dev_advance_by(self->fd, 2));
	arm.flags = COGWHEEL_ARM_MOVE;
	arm.period = 5;
	arm.when = 3;
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(COGWHEEL_WAS_UNREAD, arm.result);
	ASSERT_EQ(0, dev_advance_by(self->fd, 5));
	arm.period = 0;
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	EXPECT_EQ(COGWHEEL_WAS_UNREAD | COGWHEEL_WAS_PENDING, arm.result);
	ASSERT_EQ(1, until_event(self->fd, &e, &steps));
	EXPECT_EQ(COGWHEEL_EVENT_LAST, e.flags);
}

/* The last fire before the clock's end is the last event. */
TEST_F(wheel, period_that_ends_with_the_clock)
{
	int fd = open_kind(self->kind.name, LAST - 100);
	struct cogwheel_ioc_arm arm = {
		.flags = COGWHEEL_ARM_ABSOLUTE, .when = LAST - 50,
		.period = 40,
	};
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	unsigned int steps;
	__u64 total = 0;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, dev_arm(fd, &arm));
	do {
		ASSERT_EQ(1, until_event(fd, &e, &steps));
		total += e.missed + 1;
	} while (!(e.flags & COGWHEEL_EVENT_LAST));
	EXPECT_EQ(2, total);
	ASSERT_EQ(0, dev_state(fd, &s));
	EXPECT_EQ(0, s.timers);
	EXPECT_EQ(-ENOENT, dev_cancel(fd, arm.handle));
	close(fd);

	/* Moved, and cancelled, while its last event is unread. */
	fd = open_kind(self->kind.name, LAST - 100);
	ASSERT_GE(fd, 0);
	arm.period = 60;
	ASSERT_EQ(0, dev_arm(fd, &arm));
	ASSERT_EQ(0, dev_advance_to(fd, LAST - 1));
	ASSERT_EQ(0, dev_state(fd, &s));
	if (s.unread) {
		arm.flags = COGWHEEL_ARM_MOVE;
		arm.when = 1;
		ASSERT_EQ(0, dev_arm(fd, &arm));
		EXPECT_EQ(COGWHEEL_WAS_UNREAD, arm.result);
		ASSERT_EQ(0, dev_advance_to(fd, LAST));
		EXPECT_EQ(COGWHEEL_WAS_UNREAD, dev_cancel(fd, arm.handle));
	}
	close(fd);
}

TEST_F(wheel, next_with_many)
{
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	__u64 seed = 42;
	int i, n, left = 200;

	for (i = 0; i < left; i++)
		ASSERT_NE(0, dev_in(self->fd, rnd(&seed) >> (24 + i % 40), i));
	/* Step from next to next: nothing is passed by, all fires in order. */
	for (i = 0; left && i < 20000; i++) {
		ASSERT_EQ(0, dev_state(self->fd, &s));
		ASSERT_EQ(COGWHEEL_STATE_NEXT, s.status);
		ASSERT_GT(s.next, s.now);
		ASSERT_EQ(0, dev_advance_to(self->fd, s.next));
		while ((n = dev_read(self->fd, &e, 1)) > 0) {
			/* It fired at this very tick, not while it was passed. */
			ASSERT_EQ(s.next, e.fired);
			left--;
		}
		ASSERT_EQ(0, n);
	}
	EXPECT_EQ(0, left);
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(0, s.status);
}

/* Empty ticks cost nothing: this returns at once. */
TEST_F(wheel, empty_for_ages)
{
	__u64 begin = mono_ns(), now;
	int i;

	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, dev_advance(self->fd, 0, 0xffffffffffffULL, &now));
	EXPECT_EQ(START + 100 * 0xffffffffffffULL, now);
	EXPECT_LT(mono_ns() - begin, 5000000000ULL);
}

/* A walk that is resumed sees everything once, but for what it says it omits. */
TEST_F(wheel, walk)
{
	enum { TIMERS = 500 };
	static struct cogwheel_op op[TIMERS];
	struct cogwheel_ioc_batch batch = {
		.ops = (uintptr_t)op, .count = TIMERS, .op_size = sizeof(op[0]),
	};
	struct cogwheel_item items[70];
	unsigned char seen[TIMERS];
	static const __u32 rooms[] = { 64, 65, 70 };
	__u64 seed = 7;
	size_t r;
	__u32 i;
	int n;

	/* At once, so that a kind which fits itself to them has not done so. */
	for (n = 0; n < TIMERS; n++)
		op[n] = (struct cogwheel_op) {
			.when = rnd(&seed) >> (10 + n % 54), .user = n,
			.period = n & 1,
		};
	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_BATCH, &batch));
	ASSERT_EQ(0, batch.failed);
	for (r = 0; r < ARRAY_LEN(rooms); r++) {
		struct cogwheel_ioc_walk walk = { };
		int unseen = 0, more = 0;

		memset(seen, 0, sizeof(seen));
		for (n = 0; n < 10000; n++) {
			walk.items = (uintptr_t)items;
			walk.count = rooms[r];
			ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_WALK, &walk));
			ASSERT_LE(walk.count, rooms[r]);
			if (!walk.count)
				break;
			ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_GEOMETRY,
					  &self->geometry));
			/* What it would still do, it does now. */
			if (!n)
				usleep(20000);
			for (i = 0; i < walk.count; i++) {
				const struct cogwheel_item *item = &items[i];

				ASSERT_LT(item->user, TIMERS);
				ASSERT_EQ(0, seen[item->user]++);
				more += item->flags & COGWHEEL_ITEM_MORE;
				EXPECT_EQ(op[item->user].handle, item->handle);
				EXPECT_EQ(op[item->user].due, item->due);
				EXPECT_EQ(item->user & 1 ?
					  COGWHEEL_ITEM_PERIODIC : 0,
					  item->flags & COGWHEEL_ITEM_PERIODIC);
				EXPECT_EQ(0, item->flags &
					  ~(COGWHEEL_ITEM_PERIODIC |
					    COGWHEEL_ITEM_MORE));
				EXPECT_EQ(0, item->reserved);
				if (item->level == COGWHEEL_NO_LEVEL)
					continue;
				EXPECT_LT(item->level, self->geometry.levels);
				EXPECT_LT(item->slot, self->geometry.slots);
			}
		}
		ASSERT_LT(n, 10000);
		for (n = 0; n < TIMERS; n++)
			unseen += !seen[n];
		EXPECT_LT(unseen, TIMERS);
		EXPECT_EQ(!!more, !!unseen);
	}
}

/* A slot of more than a piece is cut off, and says so. */
TEST_F(wheel, walk_of_a_long_slot)
{
	struct cogwheel_item items[256];
	struct cogwheel_ioc_walk walk = {
		.items = (uintptr_t)items, .count = 256,
	};
	int i, seen = 0, more = 0;

	for (i = 0; i < 300; i++)
		ASSERT_NE(0, dev_in(self->fd, 5, i));
	do {
		walk.count = 256;
		ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_WALK, &walk));
		for (i = 0; i < (int)walk.count; i++)
			more += !!(items[i].flags & COGWHEEL_ITEM_MORE);
		seen += walk.count;
	} while (walk.count);
	EXPECT_GE(seen, 64);
	EXPECT_TRUE(seen == 300 || more);
}

/* Whatever a program says where it stands. */
TEST_F(wheel, walk_from_a_forged_position)
{
	struct cogwheel_item items[64];
	struct cogwheel_ioc_walk walk;
	__u64 seed = 3;
	int i;

	for (i = 0; i < 200; i++)
		ASSERT_NE(0, dev_in(self->fd, rnd(&seed) >> (10 + i % 54), i));
	for (i = 0; i < 5000; i++) {
		walk = (struct cogwheel_ioc_walk) {
			.items = (uintptr_t)items,
			.count = 1 + rnd(&seed) % 64,
			.pos = { rnd(&seed) >> (i & 63),
				 rnd(&seed) >> (i / 64 & 63) },
		};
		if (i % 7 == 0)
			walk.pos[0] = -walk.pos[0];
		ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_WALK, &walk));
		ASSERT_LE(walk.count, 64);
	}
}

TEST_F(wheel, within_its_slack)
{
	struct cogwheel_event e;
	unsigned int steps;
	__u64 seed = 5, slack;
	int i;

	if (!self->slack)
		SKIP(return, "has no slack");
	for (i = 0; i < 300; i++) {
		struct cogwheel_ioc_arm arm = {
			.when = rnd(&seed) >> (34 + i % 30),
		};

		slack = rnd(&seed) >> (34 + i * 7 % 30);
		arm.slack = slack;
		ASSERT_EQ(0, dev_arm(self->fd, &arm));
		ASSERT_EQ(1, until_event(self->fd, &e, &steps));
		EXPECT_GE(e.fired, e.due);
		if (arm.when)
			EXPECT_LE(e.fired - e.due, slack);
	}
}

/* Without COGWHEEL_TRAIT_SLACK slack says nothing. */
TEST_F(wheel, slack_that_is_not_used)
{
	struct cogwheel_ioc_arm arm = { .when = 777, .slack = 100000 };
	struct cogwheel_event e;
	unsigned int steps;

	if (self->slack || !self->exact)
		SKIP(return, "not for this kind");
	ASSERT_EQ(0, dev_arm(self->fd, &arm));
	ASSERT_EQ(1, until_event(self->fd, &e, &steps));
	EXPECT_EQ(e.due, e.fired);
}

/*
 * Random operations against a plain table of what must be so; the events are
 * compared with it. The seed is printed where it fails.
 */
TEST_F(wheel, random_against_a_table)
{
	enum { TIMERS = 64 };
	struct {
		__u64 handle, due, period;
		bool pending, unread;
		__u64 missed, unread_due;
	} t[TIMERS] = { };
	__u64 first = env_u64("COGWHEEL_SEED", 1), seed = first, now = START;
	__u64 steps = env_u64("COGWHEEL_STEPS", 4000), step;
	__u64 pending, unread, timers;
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;

	TH_LOG("seed %llu", (long long)first);
	for (step = 0; step < steps; step++) {
		int i = rnd(&seed) % TIMERS, what = rnd(&seed) % 100, want, j;
		__u64 delay = rnd(&seed) >> (44 + rnd(&seed) % 20);

		if (what < 40) {
			struct cogwheel_ioc_arm arm = {
				.when = delay, .user = i,
				.period = rnd(&seed) % 4 ? 0 :
					  1 + rnd(&seed) % 1000,
			};

			want = t[i].pending * COGWHEEL_WAS_PENDING |
			       t[i].unread * COGWHEEL_WAS_UNREAD;
			if (want) {
				arm.flags = COGWHEEL_ARM_MOVE;
				arm.handle = t[i].handle;
			}
			ASSERT_EQ(0, dev_arm(self->fd, &arm));
			ASSERT_EQ(want, (int)arm.result);
			if (want)
				ASSERT_EQ(t[i].handle, arm.handle);
			ASSERT_EQ(now + delay, arm.due);
			t[i].handle = arm.handle;
			t[i].due = arm.due;
			t[i].period = arm.period;
			t[i].pending = true;
			t[i].unread = false;
		} else if (what < 55) {
			want = t[i].pending * COGWHEEL_WAS_PENDING |
			       t[i].unread * COGWHEEL_WAS_UNREAD;
			ASSERT_EQ(want ? want : -ENOENT,
				  dev_cancel(self->fd, t[i].handle));
			t[i].pending = false;
			t[i].unread = false;
		} else if (what < 85) {
			__u64 to = now + (rnd(&seed) >> (50 + rnd(&seed) % 14));
			__u64 reached;

			ASSERT_EQ(0, dev_advance(self->fd,
						 COGWHEEL_ADVANCE_ABSOLUTE, to,
						 &reached));
			ASSERT_LE(reached, to);
			ASSERT_GE(reached, now);
			/* It stops for those that fire twice, and only then. */
			if (reached < to) {
				for (j = 0; j < TIMERS; j++)
					if (t[j].period && t[j].pending)
						break;
				ASSERT_LT(j, TIMERS);
			}
			for (j = 0; self->exact && j < TIMERS; j++) {
				__u64 fires = t[j].due > now ? t[j].due :
							       now + 1;

				if (!t[j].pending || fires > reached)
					continue;
				ASSERT_FALSE(t[j].unread);
				t[j].unread = true;
				t[j].unread_due = t[j].due;
				t[j].missed = 0;
				if (!t[j].period) {
					t[j].pending = false;
					continue;
				}
				t[j].missed = (fires - t[j].due) / t[j].period;
				t[j].due += t[j].period * (t[j].missed + 1);
			}
			now = reached;
		} else {
			int n = dev_read(self->fd, &e, 1);

			ASSERT_GE(n, 0);
			if (!n) {
				for (j = 0; self->exact && j < TIMERS; j++)
					ASSERT_FALSE(t[j].unread);
				continue;
			}
			ASSERT_LT(e.user, TIMERS);
			i = e.user;
			ASSERT_EQ(t[i].handle, e.handle);
			ASSERT_LE(e.due, e.fired);
			if (!self->exact) {
				/* When it fires is the kind's own affair. */
				t[i].pending = !(e.flags & COGWHEEL_EVENT_LAST);
				t[i].unread = false;
				if (t[i].pending)
					t[i].due = e.due + t[i].period *
						   (e.missed + 1);
				continue;
			}
			ASSERT_TRUE(t[i].unread);
			ASSERT_EQ(t[i].unread_due, e.due);
			ASSERT_EQ(t[i].missed, e.missed);
			ASSERT_EQ(t[i].pending ? 0 : COGWHEEL_EVENT_LAST,
				  e.flags);
			t[i].unread = false;
		}
		if (!self->exact) {
			/* Read all, so that the table knows what fired. */
			while (dev_read(self->fd, &e, 1) > 0) {
				i = e.user;
				t[i].pending = !(e.flags & COGWHEEL_EVENT_LAST);
				if (t[i].pending)
					t[i].due = e.due + t[i].period *
						   (e.missed + 1);
				ASSERT_LE(e.due, e.fired);
			}
		}
		pending = 0;
		unread = 0;
		timers = 0;
		for (j = 0; j < TIMERS; j++) {
			pending += t[j].pending;
			unread += t[j].unread;
			timers += t[j].pending || t[j].unread;
		}
		ASSERT_EQ(0, dev_state(self->fd, &s));
		ASSERT_EQ(now, s.now);
		ASSERT_EQ(pending, s.pending);
		ASSERT_EQ(unread, s.unread);
		ASSERT_EQ(timers, s.timers);
	}
}

TEST_HARNESS_MAIN
