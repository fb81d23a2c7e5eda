// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel under load from several threads at once, and with very many
 * timers. What is asked for each time: every timer that was armed is accounted
 * for exactly once.
 *
 * COGWHEEL_STEPS scales the threads' work. The big tests arm as many timers as
 * memory allows, a million at most, in a few seconds; COGWHEEL_TIMERS says how
 * many instead, however long it takes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "device.h"

enum { THREADS = 4 };

FIXTURE(storm) {
	int fd;
	struct cogwheel_ioc_kind kind;
};

FIXTURE_VARIANT(storm) {
	const char *kind;
	__u32 clock;
};

#define CLOCK_VARIANTS(fixture, name)				\
	FIXTURE_VARIANT_ADD(fixture, name##_manual) {		\
		.kind = #name,					\
		.clock = COGWHEEL_CLOCK_MANUAL,			\
	};							\
	FIXTURE_VARIANT_ADD(fixture, name##_monotonic) {	\
		.kind = #name,					\
		.clock = COGWHEEL_CLOCK_MONOTONIC,		\
	};							\
	FIXTURE_VARIANT_ADD(fixture, name##_jiffies) {		\
		.kind = #name,					\
		.clock = COGWHEEL_CLOCK_JIFFIES,		\
	};

ALL_KINDS(CLOCK_VARIANTS, storm)

FIXTURE_SETUP(storm)
{
	char name[COGWHEEL_NAME_LEN];

	kind_name(name, variant->kind);
	self->fd = dev_open(O_NONBLOCK);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	if (dev_kind(self->fd, name, &self->kind))
		SKIP(return, "no kind %s", name);
	ASSERT_EQ(0, dev_setup(self->fd, name, variant->clock,
			       variant->clock == COGWHEEL_CLOCK_MONOTONIC ?
			       50000 : 0, 0));
}

FIXTURE_TEARDOWN(storm)
{
	close(self->fd);
}

/* Handles that any thread may use; 0 where a place is empty. */
enum { PLACES = 256 };

struct load {
	int fd;
	bool manual;
	bool periods;
	__u64 seed;
	__u64 steps;
	__u64 *places;
	__u64 armed, dropped, last, error;
};

static void *load_thread(void *arg)
{
	struct cogwheel_item items[64];
	struct cogwheel_ioc_state s;
	struct cogwheel_event e[7];
	struct load *l = arg;
	__u64 step;
	int i, n;

	for (step = 0; step < l->steps && !l->error; step++) {
		__u64 *place = &l->places[rnd(&l->seed) % PLACES];
		struct cogwheel_ioc_arm arm = {
			.when = rnd(&l->seed) % 500,
			.period = l->periods && !(rnd(&l->seed) % 4) ?
				  1 + rnd(&l->seed) % 50 : 0,
		};
		struct cogwheel_ioc_walk walk = {
			.items = (uintptr_t)items, .count = 64,
			.pos = { rnd(&l->seed) % 700 },
		};
		__u64 handle;

		switch (rnd(&l->seed) % 16) {
		case 0 ... 3:
			if (__atomic_load_n(place, __ATOMIC_RELAXED))
				break;
			n = dev_arm(l->fd, &arm);
			/* A kind that takes few timers may be full. */
			if (n == -ENOSPC)
				break;
			if (n) {
				l->error = -n;
				break;
			}
			l->armed++;
			/* Whose place is lost meanwhile goes without. */
			__atomic_store_n(place, arm.handle, __ATOMIC_RELAXED);
			break;
		case 4 ... 6:
			arm.handle = __atomic_load_n(place, __ATOMIC_RELAXED);
			if (!arm.handle)
				break;
			arm.flags = COGWHEEL_ARM_MOVE;
			n = dev_arm(l->fd, &arm);
			if (n == -ENOENT)
				__atomic_store_n(place, 0, __ATOMIC_RELAXED);
			else if (n)
				l->error = -n;
			break;
		case 7 ... 9:
			handle = __atomic_exchange_n(place, 0, __ATOMIC_RELAXED);
			n = dev_cancel(l->fd, handle);
			if (n > 0)
				l->dropped++;
			else if (n != -ENOENT)
				l->error = n ? -n : 1000;
			break;
		case 10 ... 12:
			n = dev_read(l->fd, e, 7);
			for (i = 0; i < n; i++)
				l->last += e[i].flags & COGWHEEL_EVENT_LAST;
			if (n < 0)
				l->error = -n;
			break;
		case 13:
			n = dev_state(l->fd, &s);
			if (n)
				l->error = -n;
			break;
		case 14:
			n = CALL(l->fd, COGWHEEL_IOC_WALK, &walk);
			if (n)
				l->error = -n;
			break;
		case 15:
			n = dev_advance_by(l->fd, rnd(&l->seed) % 40);
			if (n != (l->manual ? 0 : -EOPNOTSUPP))
				l->error = n ? -n : 1001;
			break;
		}
	}
	return NULL;
}

static void account(struct __test_metadata *_metadata, int fd, __u32 clock,
		    bool periods)
{
	struct load load[THREADS] = { };
	__u64 places[PLACES] = { }, armed = 0, dropped = 0, last = 0;
	pthread_t thread[THREADS];
	struct cogwheel_ioc_state s;
	struct cogwheel_event e[64];
	int i, n;

	for (i = 0; i < THREADS; i++) {
		load[i] = (struct load) {
			.fd = fd,
			.manual = clock == COGWHEEL_CLOCK_MANUAL,
			.periods = periods,
			.seed = env_u64("COGWHEEL_SEED", 1) * THREADS + i,
			.steps = env_u64("COGWHEEL_STEPS", 10000),
			.places = places,
		};
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, load_thread,
					    &load[i]));
	}
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(0, load[i].error);
		armed += load[i].armed;
		dropped += load[i].dropped;
		last += load[i].last;
	}
	/* Cancel what is known to be left; the rest is to be read. */
	for (i = 0; i < PLACES; i++)
		dropped += dev_cancel(fd, places[i]) > 0;
	while ((n = dev_read(fd, e, 64)) > 0)
		while (n--)
			last += e[n].flags & COGWHEEL_EVENT_LAST;
	ASSERT_EQ(0, dev_state(fd, &s));
	EXPECT_EQ(armed, dropped + last + s.timers);
	if (clock == COGWHEEL_CLOCK_MANUAL) {
		EXPECT_EQ(0, s.unread);
		EXPECT_EQ(s.timers, s.pending);
	}
	EXPECT_GT(armed, 0);
}

TEST_F(storm, threads_on_one_file)
{
	account(_metadata, self->fd, variant->clock, false);
}

TEST_F(storm, threads_on_one_file_with_periods)
{
	account(_metadata, self->fd, variant->clock, true);
}

struct advancer {
	int fd;
	__u64 calls;
	__u64 gone;
	int err;
};

static void *advance_thread(void *arg)
{
	struct advancer *a = arg;
	__u64 i, now, before = 0;

	for (i = 0; i < a->calls && !a->err; i++) {
		a->err = dev_advance(a->fd, 0, 3, &now);
		if (!a->err && now < before)
			a->err = -ERANGE;
		before = now;
	}
	return NULL;
}

/* Two threads advance: no tick is lost, none comes twice, events in order. */
TEST_F(storm, two_threads_advance)
{
	enum { TIMERS = 1000 };
	struct advancer a[2] = {
		{ .fd = self->fd, .calls = 1000 },
		{ .fd = self->fd, .calls = 1000 },
	};
	struct cogwheel_event e[64];
	struct cogwheel_ioc_state s;
	__u64 seed = 1, last = 0;
	pthread_t thread[2];
	int i, n, seen = 0;

	if (variant->clock != COGWHEEL_CLOCK_MANUAL)
		SKIP(return, "the clock runs by itself");
	for (i = 0; i < TIMERS; i++)
		ASSERT_NE(0, dev_in(self->fd, 1 + rnd(&seed) % 5000, i));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, advance_thread,
					    &a[i]));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		EXPECT_EQ(0, a[i].err);
	}
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(6000, s.now);
	while ((n = dev_read(self->fd, e, 64)) > 0) {
		for (i = 0; i < n; i++) {
			ASSERT_GE(e[i].fired, last);
			ASSERT_GE(e[i].fired, e[i].due);
			if (self->kind.traits & COGWHEEL_TRAIT_EXACT)
				ASSERT_EQ(e[i].due, e[i].fired);
			last = e[i].fired;
		}
		seen += n;
	}
	EXPECT_EQ(seen, s.fired);
	EXPECT_EQ(TIMERS - seen, s.pending);
	if (self->kind.traits & COGWHEEL_TRAIT_EXACT)
		EXPECT_EQ(TIMERS, seen);
}

enum { MILLION = 1000000 };

static __u64 many(const struct cogwheel_ioc_kind *kind, int fd)
{
	struct cogwheel_ioc_info info = { };
	struct sysinfo si;
	__u64 nr, fit;

	if (CALL(fd, COGWHEEL_IOC_INFO, &info) || sysinfo(&si))
		return 0;
	nr = env_u64("COGWHEEL_TIMERS", MILLION);
	/* The kernel's memory, and a byte for each in the test. */
	fit = (__u64)si.freeram * si.mem_unit / 2 / (kind->timer_size + 1);
	nr = nr < fit ? nr : fit;
	nr = nr < info.max_timers ? nr : info.max_timers;
	if (kind->max_timers && nr > kind->max_timers)
		nr = kind->max_timers;
	return nr;
}

/* When to stop arming: the default kind is to have its million. */
static __u64 arm_until(const struct cogwheel_ioc_kind *kind)
{
	struct cogwheel_ioc_geometry g = { };
	int fd = dev_open(0);

	if (fd < 0 || CALL(fd, COGWHEEL_IOC_GEOMETRY, &g))
		return 0;
	close(fd);
	if (getenv("COGWHEEL_TIMERS"))
		return UINT64_MAX;
	return mono_ns() + (strcmp(g.kind, kind->name) ? 2 : 30) * 1000000000ULL;
}

/* All that can be had, and each is delivered exactly once. */
TEST_F_TIMEOUT(storm, a_million, 600)
{
	static struct cogwheel_event e[1024];
	struct cogwheel_ioc_state s;
	__u64 nr, i, seed = 9, last = 0, left, end;
	unsigned char *seen;
	int n;

	if (variant->clock != COGWHEEL_CLOCK_MANUAL)
		SKIP(return, "once is enough");
	nr = many(&self->kind, self->fd);
	ASSERT_GT(nr, 0);
	seen = calloc(nr, 1);
	ASSERT_NE(NULL, seen);
	end = arm_until(&self->kind);
	for (i = 0; i < nr && (i % 1024 || mono_ns() < end); i++)
		ASSERT_NE(0, dev_in(self->fd, rnd(&seed) % (1 << 20), i));
	nr = i;
	TH_LOG("%llu timers", (long long)nr);
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(nr, s.pending);
	ASSERT_EQ(0, dev_advance_by(self->fd, 2 << 20));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(nr, s.unread);
	EXPECT_EQ(nr, s.fired);
	for (left = nr; left; left -= n) {
		n = dev_read(self->fd, e, ARRAY_LEN(e));
		ASSERT_GE(n, 1);
		for (i = 0; i < n; i++) {
			ASSERT_LT(e[i].user, nr);
			ASSERT_EQ(0, seen[e[i].user]++);
			ASSERT_GE(e[i].fired, last);
			last = e[i].fired;
		}
	}
	EXPECT_EQ(0, dev_read(self->fd, e, 1));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(0, s.timers);
	free(seen);
}

/* Closed with all of them pending, in one slot and spread. */
TEST_F_TIMEOUT(storm, close_with_a_million, 600)
{
	__u64 nr, i, seed = 9, end;

	if (variant->clock != COGWHEEL_CLOCK_MANUAL)
		SKIP(return, "once is enough");
	nr = many(&self->kind, self->fd);
	end = arm_until(&self->kind);
	for (i = 0; i < nr && (i % 1024 || mono_ns() < end); i++)
		ASSERT_NE(0, dev_in(self->fd, i & 1 ? 5 : rnd(&seed), i));
	/* Half of them have fired. */
	ASSERT_EQ(0, dev_advance_by(self->fd, 6));
}

TEST_HARNESS_MAIN
