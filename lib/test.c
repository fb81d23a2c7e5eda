// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of libcogwheel, as a program that is linked with it sees it: with a
 * ring and with read, timers that are armed, moved, cancelled and freed at every
 * stage of their lives, and none called that should not be.
 */
#include "../selftests/device.h"
#include "libcogwheel.h"

FIXTURE(lib) {
	struct cw *cw;
};

FIXTURE_VARIANT(lib) {
	uint32_t ring;
};

FIXTURE_VARIANT_ADD(lib, ring) { .ring = 0 };
FIXTURE_VARIANT_ADD(lib, tiny_ring) { .ring = 2 };
FIXTURE_VARIANT_ADD(lib, read) { .ring = CW_NO_RING };

FIXTURE_SETUP(lib)
{
	struct cw_options o = { .ring = variant->ring };

	self->cw = cw_open(&o);
	if (!self->cw && errno == ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_NE(NULL, self->cw);
}

FIXTURE_TEARDOWN(lib)
{
	if (self->cw)
		cw_close(self->cw);
}

/* A timer of the program's, and what happened to it. */
struct item {
	struct cw_timer timer;
	int called;
	__u64 missed;
	int again;		/* arm it so often from its own function */
	struct item *cancel;	/* cancel that one from its function */
};

static void fired(struct cw *cw, struct cw_timer *timer,
		  const struct cogwheel_event *event)
{
	struct item *item = (struct item *)timer;

	item->called++;
	item->missed += event->missed;
	if (item->again) {
		item->again--;
		cw_timer_arm(cw, timer, 1000000);
	}
	if (item->cancel)
		cw_timer_cancel(cw, &item->cancel->timer);
}

static struct item *items(int nr)
{
	struct item *item = calloc(nr, sizeof(*item));
	int i;

	for (i = 0; item && i < nr; i++)
		cw_timer_init(&item[i].timer, fired);
	return item;
}

/* Runs until so many calls were made or no more come. */
static int run(struct cw *cw, int calls)
{
	__u64 end = mono_ns() + DEADLINE_MS * 1000000ULL;
	int n, all = 0;

	while (all < calls && mono_ns() < end) {
		n = cw_run(cw, 1000);
		if (n < 0)
			return n;
		all += n;
	}
	return all;
}

static __u64 timers(struct cw *cw)
{
	struct cogwheel_ioc_state s;

	return cw_state(cw, &s) ? ~0ULL : s.timers;
}

TEST_F(lib, open_refused)
{
	struct cw_options o = { .device = "/nowhere" };

	EXPECT_EQ(NULL, cw_open(&o));
	EXPECT_EQ(ENOENT, errno);
	o = (struct cw_options) { .kind = "square" };
	EXPECT_EQ(NULL, cw_open(&o));
	EXPECT_EQ(EINVAL, errno);
	o = (struct cw_options) { .kind = "a name that is longer than a kind's" };
	EXPECT_EQ(NULL, cw_open(&o));
	EXPECT_EQ(EINVAL, errno);
	o = (struct cw_options) { .ring = 3 };
	EXPECT_EQ(NULL, cw_open(&o));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(lib, each_is_called_once)
{
	enum { NR = 5000 };
	struct item *item = items(NR);
	int i;

	ASSERT_NE(NULL, item);
	for (i = 0; i < NR; i++)
		ASSERT_EQ(0, cw_timer_arm(self->cw, &item[i].timer,
					  i % 50 * 1000000ULL));
	ASSERT_EQ(NR, run(self->cw, NR));
	EXPECT_EQ(0, cw_run(self->cw, 20));
	for (i = 0; i < NR; i++) {
		ASSERT_EQ(1, item[i].called);
		ASSERT_FALSE(cw_timer_armed(&item[i].timer));
	}
	EXPECT_EQ(0, timers(self->cw));
	free(item);
}

TEST_F(lib, not_early)
{
	struct item *item = items(1);
	__u64 begin = mono_ns();

	ASSERT_EQ(0, cw_timer_arm(self->cw, &item->timer, 30500000));
	ASSERT_EQ(1, run(self->cw, 1));
	EXPECT_GE(mono_ns(), begin + 30500000);
	free(item);
}

/* Many changes between two submits are one operation, and the last counts. */
TEST_F(lib, changes_are_collected)
{
	struct item *item = items(2);
	struct cogwheel_ioc_state s;
	int i;

	for (i = 0; i < 5000; i++)
		ASSERT_EQ(0, cw_timer_arm(self->cw, &item[0].timer,
					  1000 * CW_SECOND));
	ASSERT_EQ(0, cw_state(self->cw, &s));
	EXPECT_EQ(0, s.timers);
	ASSERT_EQ(0, cw_timer_arm(self->cw, &item[1].timer, 1));
	ASSERT_EQ(0, cw_timer_cancel(self->cw, &item[1].timer));
	EXPECT_FALSE(cw_timer_armed(&item[1].timer));
	ASSERT_EQ(0, cw_submit(self->cw));
	EXPECT_EQ(1, timers(self->cw));
	for (i = 0; i < 5000; i++)
		ASSERT_EQ(0, cw_timer_arm(self->cw, &item[0].timer, i));
	ASSERT_EQ(1, run(self->cw, 1));
	EXPECT_EQ(1, item[0].called);
	EXPECT_EQ(0, item[1].called);
	free(item);
}

/* Lets what is due come to the ring, or wait in the kernel. */
static void until_fired(struct cw *cw, __u64 nr)
{
	__u64 end = mono_ns() + DEADLINE_MS * 1000000ULL;
	struct cogwheel_ioc_state s;

	do
		cw_state(cw, &s);
	while (s.fired < nr && mono_ns() < end);
}

/* Cancelled and freed with the event on its way: nothing is called. */
TEST_F(lib, cancelled_when_it_has_fired)
{
	struct item *item = items(3), *other = items(1);
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, cw_timer_arm(self->cw, &item[i].timer, 0));
	ASSERT_EQ(0, cw_submit(self->cw));
	until_fired(self->cw, 3);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, cw_timer_cancel(self->cw, &item[i].timer));
	memset(item, 0xff, 3 * sizeof(*item));
	free(item);
	/* Another one in its slot. */
	ASSERT_EQ(0, cw_timer_arm(self->cw, &other->timer, 50000000));
	ASSERT_EQ(1, run(self->cw, 1));
	EXPECT_EQ(1, other->called);
	EXPECT_EQ(0, timers(self->cw));
	free(other);
}

/* Moved with the event on its way: called for the new time only. */
TEST_F(lib, moved_when_it_has_fired)
{
	struct item *item = items(3);
	__u64 begin;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, cw_timer_arm(self->cw, &item[i].timer, 0));
	ASSERT_EQ(0, cw_submit(self->cw));
	until_fired(self->cw, 3);
	begin = mono_ns();
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, cw_timer_arm(self->cw, &item[i].timer, 40000000));
	/* One of them is taken before the kernel hears of it. */
	ASSERT_EQ(3, run(self->cw, 3));
	EXPECT_GE(mono_ns(), begin + 40000000);
	EXPECT_EQ(0, cw_run(self->cw, 10));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, item[i].called);
	free(item);
}

TEST_F(lib, armed_and_cancelled_in_callbacks)
{
	struct item *item = items(3);

	item[0].again = 5;
	item[1].cancel = &item[2];
	ASSERT_EQ(0, cw_timer_arm(self->cw, &item[0].timer, 0));
	ASSERT_EQ(0, cw_timer_arm(self->cw, &item[1].timer, 0));
	ASSERT_EQ(0, cw_timer_arm(self->cw, &item[2].timer, 0));
	ASSERT_EQ(7, run(self->cw, 7));
	EXPECT_EQ(0, cw_run(self->cw, 20));
	EXPECT_EQ(6, item[0].called);
	EXPECT_EQ(1, item[1].called);
	EXPECT_EQ(0, item[2].called);
	EXPECT_EQ(0, timers(self->cw));
	free(item);
}

TEST_F(lib, periodic)
{
	struct item *item = items(1);
	__u64 begin = mono_ns();

	ASSERT_EQ(0, cw_timer_every(self->cw, &item->timer, 0, 2000000));
	/* Or more, where several ended at once. */
	ASSERT_LE(10, run(self->cw, 10));
	EXPECT_TRUE(cw_timer_armed(&item->timer));
	/* As many periods as there was time for. */
	EXPECT_LE((item->called + item->missed - 1) * 2000000ULL,
		  mono_ns() - begin);
	ASSERT_EQ(0, cw_timer_cancel(self->cw, &item->timer));
	item->called = 0;
	EXPECT_EQ(0, cw_run(self->cw, 30));
	EXPECT_EQ(0, item->called);
	EXPECT_EQ(0, timers(self->cw));
	free(item);
}

/* The kernel refuses: told by the submit, and the timer is idle. */
TEST_F(lib, refused)
{
	struct cw_options o = { .clock = COGWHEEL_CLOCK_MANUAL };
	struct cw *cw = cw_open(&o);
	struct item *item = items(1);

	ASSERT_NE(NULL, cw);
	/* Nanoseconds on a manual clock. */
	ASSERT_EQ(0, cw_timer_arm(cw, &item->timer, 5));
	EXPECT_TRUE(cw_timer_armed(&item->timer));
	EXPECT_EQ(-EINVAL, cw_submit(cw));
	EXPECT_FALSE(cw_timer_armed(&item->timer));
	EXPECT_EQ(0, cw_submit(cw));
	cw_close(cw);
	free(item);
}

TEST_F(lib, the_devices_own)
{
	struct cw_options o = {
		.clock = COGWHEEL_CLOCK_MANUAL, .ring = variant->ring,
		.kind = "heap", .start = 100,
	};
	struct cogwheel_ioc_arm arm = { .when = 5, .user = 7 };
	struct cogwheel_op op[3] = { { .when = 3, .user = 1 }, { .when = 4 } };
	struct cw *cw = cw_open(&o);
	struct cogwheel_event e[4];
	uint64_t now, done;
	int n, i, nr = 0;

	ASSERT_NE(NULL, cw);
	ASSERT_EQ(0, cw_arm(cw, &arm));
	op[2] = (struct cogwheel_op) {
		.op = COGWHEEL_OP_CANCEL, .handle = arm.handle,
	};
	ASSERT_EQ(0, cw_batch(cw, op, 3, &done));
	EXPECT_EQ(3, done);
	EXPECT_EQ(COGWHEEL_WAS_PENDING, op[2].result);
	EXPECT_EQ(-ENOENT, cw_cancel(cw, arm.handle));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, cw_cancel(cw, op[1].handle));
	EXPECT_EQ(0, cw_wait(cw, e, 4, 0));
	EXPECT_EQ(0, cw_wait(cw, e, 4, 1));
	for (i = 0; i < 5; i++) {
		arm = (struct cogwheel_ioc_arm) { .when = 3, .user = 2 + i };
		ASSERT_EQ(0, cw_arm(cw, &arm));
	}
	ASSERT_EQ(0, cw_advance(cw, 10, &now));
	EXPECT_EQ(110, now);
	while ((n = cw_wait(cw, e, 4, 0)) > 0)
		for (i = 0; i < n; i++)
			EXPECT_EQ(++nr, e[i].user);
	EXPECT_EQ(0, n);
	EXPECT_EQ(6, nr);
	cw_close(cw);
}

TEST_HARNESS_MAIN
