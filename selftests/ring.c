// SPDX-License-Identifier: GPL-2.0
/*
 * The completion ring of /dev/cogwheel: what is refused, that every event comes
 * once and in order however small the ring and however late its consumer, that
 * waiting works level- and edge-triggered, and that a hostile head or a spoilt
 * ring harms nobody but its owner.
 *
 *	COGWHEEL_SEED	seed, printed; 1 if not given
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "device.h"

enum { ENTRIES = 8 };

static int setup(int fd, __u32 clock, __u64 tick_ns, __u64 entries)
{
	struct cogwheel_ioc_setup s = {
		.clock = clock, .tick_ns = tick_ns, .ring = entries,
	};

	return CALL(fd, COGWHEEL_IOC_SETUP, &s);
}

static struct cogwheel_ring *map(int fd, __u64 entries)
{
	return mmap(NULL, COGWHEEL_RING_SIZE(entries), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
}

static struct cogwheel_event *event(struct cogwheel_ring *ring, __u32 nr)
{
	return (struct cogwheel_event *)((char *)ring + ring->offset) +
	       (nr & (ring->entries - 1));
}

/* As the header says: takes up to max events; how many. */
static int take(struct cogwheel_ring *ring, struct cogwheel_event *e, int max)
{
	__u32 head = ring->head, n = 0;
	__u32 tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

	for (; head != tail && n < max; head++)
		e[n++] = *event(ring, head);
	__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	return n;
}

static bool more(struct cogwheel_ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->flags, __ATOMIC_RELAXED) &
	       COGWHEEL_RING_MORE;
}

static int refill(int fd, struct cogwheel_ioc_ring *r)
{
	memset(r, 0, sizeof(*r));
	return CALL(fd, COGWHEEL_IOC_RING, r);
}

/* A file on a manual clock with a small ring, mapped. */
FIXTURE(ring) {
	int fd;
	struct cogwheel_ring *ring;
};

FIXTURE_SETUP(ring)
{
	self->fd = dev_open(O_NONBLOCK);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, setup(self->fd, COGWHEEL_CLOCK_MANUAL, 0, ENTRIES));
	self->ring = map(self->fd, ENTRIES);
	ASSERT_NE(MAP_FAILED, self->ring);
}

FIXTURE_TEARDOWN(ring)
{
	munmap(self->ring, COGWHEEL_RING_SIZE(ENTRIES));
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

TEST_F(ring, einval_entries)
{
	struct cogwheel_ioc_info info = { };
	int fd = dev_open(0), i;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, CALL(fd, COGWHEEL_IOC_INFO, &info));
	for (i = 0; i < 64; i++) {
		if ((1ULL << i) > info.ring_max)
			EXPECT_EQ(-EINVAL, setup(fd, 0, 0, 1ULL << i));
		if (i)
			EXPECT_EQ(-EINVAL, setup(fd, 0, 0, (2ULL << i) - 1));
	}
	EXPECT_EQ(0, setup(fd, 0, 0, info.ring_max));
	EXPECT_NE(MAP_FAILED, map(fd, info.ring_max));
	close(fd);
}

static int map_error(int fd, size_t size, int prot, int flags, off_t offset)
{
	void *at = mmap(NULL, size, prot, flags, fd, offset);

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, size);
	return 0;
}

TEST_F(ring, einval_mmap)
{
	size_t page = getpagesize();
	int rw = PROT_READ | PROT_WRITE, fd = dev_open(0);

	ASSERT_GE(fd, 0);
	/* Not set up; without a ring. */
	EXPECT_EQ(-EINVAL, map_error(fd, page, rw, MAP_SHARED, 0));
	ASSERT_EQ(0, setup(fd, COGWHEEL_CLOCK_MANUAL, 0, 0));
	EXPECT_EQ(-EINVAL, map_error(fd, page, rw, MAP_SHARED, 0));
	close(fd);
	fd = self->fd;
	EXPECT_EQ(-EINVAL, map_error(fd, page, rw, MAP_PRIVATE, 0));
	EXPECT_EQ(-EINVAL, map_error(fd, page, PROT_READ, MAP_PRIVATE, 0));
	EXPECT_EQ(-EINVAL, map_error(fd, page, rw, MAP_SHARED, page));
	EXPECT_EQ(-EINVAL, map_error(fd, 2 * page, rw, MAP_SHARED, 0));
	EXPECT_EQ(-EINVAL, map_error(fd, page, rw | PROT_EXEC, MAP_SHARED, 0));
	EXPECT_EQ(0, map_error(fd, page, PROT_READ, MAP_SHARED, 0));
	EXPECT_EQ(0, map_error(fd, page, rw, MAP_SHARED, 0));
	/* Nor does it become executable. */
	EXPECT_EQ(-EACCES, result(mprotect(self->ring, page, PROT_EXEC)));
}

TEST_F(ring, einval_read_and_refill)
{
	struct cogwheel_ioc_ring r = { .flags = 1 };
	struct cogwheel_event e[2];
	int fd = dev_open(O_NONBLOCK);

	ASSERT_EQ(0, fire(self->fd, 1, 0));
	EXPECT_EQ(-EINVAL, dev_read(self->fd, e, 2));
	EXPECT_EQ(-EINVAL, CALL(self->fd, COGWHEEL_IOC_RING, &r));
	ASSERT_EQ(1, take(self->ring, e, 2));
	ASSERT_GE(fd, 0);
	/* It is no use of a file that is not set up. */
	EXPECT_EQ(-EINVAL, refill(fd, &r));
	EXPECT_EQ(0, setup(fd, COGWHEEL_CLOCK_MANUAL, 0, 0));
	EXPECT_EQ(-EINVAL, refill(fd, &r));
	close(fd);
}

struct waiter {
	int fd;
	int ret;
	int done;
};

static void *wait_in_read(void *arg)
{
	struct waiter *w = arg;
	struct cogwheel_event e;

	w->ret = dev_read(w->fd, &e, 1);
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Who waits for events by read() when the file gets a ring, waits in vain. */
TEST_F(ring, ends_a_wait_by_read)
{
	/* A thread that goes on waiting is left to the end of the process. */
	static struct waiter w;
	__u64 end = mono_ns() + 10000000000ULL;
	pthread_t thread;

	w = (struct waiter) { .fd = dev_open(0), .ret = 1 };
	ASSERT_GE(w.fd, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wait_in_read, &w));
	usleep(100000);
	ASSERT_EQ(0, setup(w.fd, COGWHEEL_CLOCK_MANUAL, 0, ENTRIES));
	while (!__atomic_load_n(&w.done, __ATOMIC_ACQUIRE) && mono_ns() < end)
		usleep(10000);
	ASSERT_EQ(1, w.done);
	pthread_join(thread, NULL);
	EXPECT_EQ(-EINVAL, w.ret);
	close(w.fd);
}

/* A set-up that fails leaves nothing of a ring behind. */
TEST_F(ring, refused_with_the_rest)
{
	struct cogwheel_ioc_setup s = { .kind = "nonsense", .ring = 64 };
	struct cogwheel_ioc_ring r;
	char path[64], text[4096];
	int fd = dev_open(0);
	FILE *file;
	size_t n;

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EINVAL, CALL(fd, COGWHEEL_IOC_SETUP, &s));
	ASSERT_EQ(0, setup(fd, COGWHEEL_CLOCK_MANUAL, 0, 0));
	EXPECT_EQ(-EINVAL, refill(fd, &r));
	EXPECT_EQ(MAP_FAILED, map(fd, 64));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	if (!file)
		SKIP(goto out, "no /proc");
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = 0;
	EXPECT_NE(NULL, strstr(text, "cogwheel-ring:\t0\n"));
out:
	close(fd);
}

TEST_F(ring, delivers)
{
	struct cogwheel_ioc_state s;
	struct cogwheel_event e[ENTRIES];
	__u64 handle;

	EXPECT_EQ(ENTRIES, self->ring->entries);
	EXPECT_EQ(0, self->ring->tail);
	EXPECT_EQ(0, take(self->ring, e, 1));
	handle = dev_in(self->fd, 5, 77);
	ASSERT_NE(0, handle);
	ASSERT_EQ(0, dev_advance_by(self->fd, 4));
	EXPECT_EQ(0, take(self->ring, e, 1));
	ASSERT_EQ(0, dev_advance_by(self->fd, 3));
	ASSERT_EQ(1, take(self->ring, e, ENTRIES));
	EXPECT_EQ(77, e[0].user);
	EXPECT_EQ(handle, e[0].handle);
	EXPECT_EQ(5, e[0].due);
	EXPECT_EQ(5, e[0].fired);
	EXPECT_EQ(0, e[0].missed);
	EXPECT_EQ(COGWHEEL_EVENT_LAST, e[0].flags);
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, handle));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(0, s.timers);
	EXPECT_EQ(0, s.unread);
	EXPECT_EQ(1, s.fired);
	EXPECT_FALSE(more(self->ring));
}

/* What is in a full ring is delivered; what waits can be taken back. */
TEST_F(ring, full)
{
	struct cogwheel_event e[3 * ENTRIES];
	struct cogwheel_ioc_ring r;
	struct cogwheel_ioc_state s;
	__u64 handle[3 * ENTRIES];
	int i;

	for (i = 0; i < 3 * ENTRIES; i++) {
		handle[i] = dev_in(self->fd, 1 + i / 5, i);
		ASSERT_NE(0, handle[i]);
	}
	ASSERT_EQ(0, dev_advance_by(self->fd, 100));
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(2 * ENTRIES, s.unread);
	EXPECT_EQ(2 * ENTRIES, s.timers);
	EXPECT_TRUE(more(self->ring));
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, handle[ENTRIES - 1]));
	EXPECT_EQ(COGWHEEL_WAS_UNREAD, dev_cancel(self->fd, handle[ENTRIES]));
	EXPECT_EQ(COGWHEEL_WAS_UNREAD,
		  dev_move(self->fd, handle[ENTRIES + 1], 100, 99));
	ASSERT_EQ(0, refill(self->fd, &r));
	EXPECT_EQ(ENTRIES, r.ready);
	EXPECT_EQ(2 * ENTRIES - 2, r.waiting);
	ASSERT_EQ(3, take(self->ring, e, 3));
	ASSERT_EQ(0, refill(self->fd, &r));
	EXPECT_EQ(ENTRIES, r.ready);
	EXPECT_EQ(2 * ENTRIES - 5, r.waiting);
	ASSERT_EQ(ENTRIES, take(self->ring, e + 3, ENTRIES));
	ASSERT_EQ(0, refill(self->fd, &r));
	ASSERT_EQ(ENTRIES, take(self->ring, e + 3 + ENTRIES, ENTRIES));
	ASSERT_EQ(0, refill(self->fd, &r));
	EXPECT_EQ(ENTRIES - 5, r.ready);
	EXPECT_EQ(0, r.waiting);
	EXPECT_FALSE(more(self->ring));
	ASSERT_EQ(ENTRIES - 5, take(self->ring, e + 3 + 2 * ENTRIES, ENTRIES));
	for (i = 0; i < 3 * ENTRIES - 2; i++)
		EXPECT_EQ(i < ENTRIES ? i : i + 2, e[i].user);
}

/* An expiry fills up what has become free, in order. */
TEST_F(ring, the_next_expiry_brings_what_waits)
{
	struct cogwheel_event e[ENTRIES];
	__u64 next = 0;
	int n, i;

	ASSERT_EQ(0, fire(self->fd, ENTRIES, 0));
	ASSERT_EQ(0, fire(self->fd, ENTRIES, ENTRIES));
	n = take(self->ring, e, ENTRIES);
	ASSERT_EQ(ENTRIES, n);
	/* Allowed without a call: as many as it holds. That is used up. */
	ASSERT_EQ(0, fire(self->fd, 1, 2 * ENTRIES));
	EXPECT_TRUE(more(self->ring));
	ASSERT_EQ(0, refill(self->fd, &(struct cogwheel_ioc_ring) { }));
	do {
		for (i = 0; i < n; i++)
			ASSERT_EQ(next++, e[i].user);
		n = take(self->ring, e, 3);
		ASSERT_EQ(0, dev_advance_by(self->fd, 1));
		if (!n && more(self->ring)) {
			ASSERT_EQ(0, refill(self->fd,
					    &(struct cogwheel_ioc_ring) { }));
			n = take(self->ring, e, 3);
		}
	} while (n);
	EXPECT_EQ(2 * ENTRIES + 1, next);
	ASSERT_EQ(0, refill(self->fd, &(struct cogwheel_ioc_ring) { }));
	/* With a call in between, expiry itself does it. */
	ASSERT_EQ(0, fire(self->fd, ENTRIES, 100));
	ASSERT_EQ(0, fire(self->fd, 2, 100 + ENTRIES));
	ASSERT_EQ(0, refill(self->fd, &(struct cogwheel_ioc_ring) { }));
	ASSERT_EQ(4, take(self->ring, e, 4));
	ASSERT_EQ(0, fire(self->fd, 1, 102 + ENTRIES));
	ASSERT_EQ(ENTRIES - 4 + 3, self->ring->tail - self->ring->head);
	for (i = 4; i < ENTRIES + 3; i++) {
		ASSERT_EQ(1, take(self->ring, e, 1));
		EXPECT_EQ(100 + i, e[0].user);
	}
}

/* Rings of all sizes, random loads and consumers: once each, in order. */
TEST_F(ring, random_all_once_in_order)
{
	__u64 seed = env_u64("COGWHEEL_SEED", 1), armed, next, entries;
	struct cogwheel_event e[200];
	struct cogwheel_ring *ring;
	int fd, i, n, round;

	TH_LOG("seed %llu", seed);
	for (entries = 1; entries <= 1024; entries *= 2) {
		fd = dev_open(0);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, setup(fd, COGWHEEL_CLOCK_MANUAL, 0, entries));
		ring = map(fd, entries);
		ASSERT_NE(MAP_FAILED, ring);
		armed = 0;
		next = 0;
		for (round = 0; round < 60 || next < armed; round++) {
			n = round < 60 ? rnd(&seed) % 150 : 0;
			ASSERT_EQ(0, fire(fd, n, armed));
			armed += n;
			n = take(ring, e, rnd(&seed) % 200);
			for (i = 0; i < n; i++)
				ASSERT_EQ(next++, e[i].user);
			if (round >= 60 || !(rnd(&seed) & 3)) {
				struct cogwheel_ioc_ring r;

				ASSERT_EQ(0, refill(fd, &r));
				ASSERT_EQ(armed - next, r.ready + r.waiting);
			}
		}
		EXPECT_EQ(armed, next);
		munmap(ring, COGWHEEL_RING_SIZE(entries));
		close(fd);
	}
}

TEST_F(ring, periodic)
{
	struct cogwheel_event e[ENTRIES];
	struct cogwheel_ioc_state s;
	__u64 now;
	int i;

	ASSERT_NE(0, dev_every(self->fd, 10, 10, 5));
	/* Fires again and again while there is room, and once more. */
	ASSERT_EQ(0, dev_advance(self->fd, 0, 1000, &now));
	EXPECT_EQ(10 * (ENTRIES + 2) - 1, now);
	ASSERT_EQ(0, dev_state(self->fd, &s));
	EXPECT_EQ(1, s.unread);
	EXPECT_EQ(1, s.pending);
	ASSERT_EQ(ENTRIES, take(self->ring, e, ENTRIES));
	for (i = 0; i < ENTRIES; i++) {
		EXPECT_EQ(10 * (i + 1), e[i].due);
		EXPECT_EQ(0, e[i].missed);
		EXPECT_EQ(0, e[i].flags);
	}
	ASSERT_EQ(0, refill(self->fd, &(struct cogwheel_ioc_ring) { }));
	ASSERT_EQ(1, take(self->ring, e, ENTRIES));
	EXPECT_EQ(10 * (ENTRIES + 1), e[0].due);
	ASSERT_EQ(0, dev_advance(self->fd, 0, 1, &now));
	ASSERT_EQ(1, take(self->ring, e, ENTRIES));
	EXPECT_EQ(10 * (ENTRIES + 2), e[0].due);
}

/* What goes straight to the ring and what does not, in one order. */
TEST_F(ring, periodic_between_others)
{
	struct cogwheel_event e[ENTRIES];
	struct cogwheel_ioc_ring r;
	int i, pass, n = 0;

	for (pass = 0; pass < 2; pass++) {
		/* One more than there is room for. */
		for (i = 0; i < ENTRIES + 1; i++) {
			struct cogwheel_ioc_arm arm = {
				.when = 5, .period = i % 3 == 2 ? 1000 : 0,
				.user = i,
			};

			ASSERT_EQ(0, dev_arm(self->fd, &arm));
		}
		ASSERT_EQ(0, dev_advance_by(self->fd, 5));
		ASSERT_EQ(ENTRIES, take(self->ring, e, ENTRIES));
		for (i = 0; i < ENTRIES; i++) {
			ASSERT_EQ(i, e[i].user);
			EXPECT_EQ(i % 3 == 2 ? 0 : COGWHEEL_EVENT_LAST,
				  e[i].flags);
			if (i % 3 == 2)
				n += dev_cancel(self->fd, e[i].handle) ==
				     COGWHEEL_WAS_PENDING;
		}
		EXPECT_TRUE(more(self->ring));
		ASSERT_EQ(0, refill(self->fd, &r));
		EXPECT_EQ(1, r.ready);
		ASSERT_EQ(1, take(self->ring, e, ENTRIES));
		EXPECT_EQ(ENTRIES, e[0].user);
		n += dev_cancel(self->fd, e[0].handle) == COGWHEEL_WAS_PENDING;
	}
	EXPECT_EQ(2 * (ENTRIES + 1) / 3, n);
}

/* No call in between: as many as it holds come, and then it says so. */
TEST_F(ring, no_more_than_was_asked_for)
{
	struct cogwheel_ioc_ring r;
	struct cogwheel_event e;
	int i;

	for (i = 0; i < ENTRIES; i++) {
		ASSERT_FALSE(more(self->ring));
		ASSERT_EQ(0, fire(self->fd, 1, i));
		ASSERT_EQ(1, take(self->ring, &e, 1));
		EXPECT_EQ(i, e.user);
	}
	ASSERT_EQ(0, fire(self->fd, 1, i));
	EXPECT_TRUE(more(self->ring));
	EXPECT_EQ(0, take(self->ring, &e, 1));
	ASSERT_EQ(0, refill(self->fd, &r));
	EXPECT_EQ(1, r.ready);
	ASSERT_EQ(1, take(self->ring, &e, 1));
	EXPECT_EQ(ENTRIES, e.user);
	EXPECT_FALSE(more(self->ring));
}

/* Kinds that take only so many: those that came through the ring are gone. */
TEST_F(ring, of_kinds_that_take_only_so_many)
{
	enum { LARGE = 32768 };
	struct cogwheel_ioc_kind k = { };
	static struct cogwheel_op op[LARGE];
	static struct cogwheel_event e[LARGE];
	int fd, round, kinds = 0;
	__u32 i;

	for (; !CALL(self->fd, COGWHEEL_IOC_KIND, &k); k.index++) {
		struct cogwheel_ioc_setup s = {
			.clock = COGWHEEL_CLOCK_MANUAL, .ring = LARGE,
		};
		struct cogwheel_ring *ring;

		if (!k.max_timers || k.max_timers > LARGE ||
		    !kind_is_wanted(k.name))
			continue;
		kinds++;
		strcpy(s.kind, k.name);
		fd = dev_open(0);
		ASSERT_GE(fd, 0);
		ASSERT_EQ(0, CALL(fd, COGWHEEL_IOC_SETUP, &s));
		ring = map(fd, LARGE);
		ASSERT_NE(MAP_FAILED, ring);
		for (round = 0; round < 3; round++) {
			struct cogwheel_ioc_batch b = {
				.ops = (uintptr_t)op, .op_size = sizeof(op[0]),
				.count = k.max_timers,
			};
			struct cogwheel_ioc_ring r;

			memset(op, 0, sizeof(op));
			for (i = 0; i < k.max_timers; i++)
				op[i].when = 1;
			ASSERT_EQ(0, CALL(fd, COGWHEEL_IOC_BATCH, &b));
			ASSERT_EQ(0, b.failed);
			ASSERT_EQ(0, dev_advance_by(fd, 1));
			ASSERT_EQ(k.max_timers, take(ring, e, LARGE));
			ASSERT_EQ(0, refill(fd, &r));
		}
		munmap(ring, COGWHEEL_RING_SIZE(LARGE));
		close(fd);
	}
	if (!kinds)
		SKIP(return, "there are none");
}

/* On a running clock: no more is done than was asked for, nothing is lost. */
TEST_F(ring, a_period_is_no_attack)
{
	int fd = dev_open(0), n, calls;
	struct cogwheel_event e[16];
	struct cogwheel_ring *ring;
	struct cogwheel_ioc_state s;
	__u64 due, end;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, setup(fd, COGWHEEL_CLOCK_MONOTONIC, 1000, 16));
	ring = map(fd, 16);
	ASSERT_NE(MAP_FAILED, ring);
	ASSERT_NE(0, dev_every(fd, 1, 1000, 0));
	end = mono_ns() + 200000000;
	/*
	 * A head that follows the tail without a call brings 16, and one that
	 * waits. A period of 1 ms, for the head to be in time.
	 */
	while (mono_ns() < end)
		__atomic_store_n(&ring->head,
				 __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	ASSERT_EQ(0, dev_state(fd, &s));
	EXPECT_LE(ring->tail, 16);
	EXPECT_LE(s.fired, 16 + 2);
	/* Periods that end meanwhile are told of, each once. */
	ASSERT_EQ(0, refill(fd, &(struct cogwheel_ioc_ring) { }));
	due = 0;
	for (calls = 0; calls < 200; calls++) {
		struct cogwheel_ioc_ring r;
		int i;

		ASSERT_EQ(0, refill(fd, &r));
		n = take(ring, e, 16);
		for (i = 0; i < n; i++) {
			if (due)
				ASSERT_EQ(due, e[i].due);
			due = e[i].due + (e[i].missed + 1) * 1000;
		}
	}
	munmap(ring, COGWHEEL_RING_SIZE(16));
	close(fd);
}

/* No head, however wrong, loses, repeats or harms anything. */
TEST_F(ring, hostile_head)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	struct cogwheel_ioc_ring r;
	struct cogwheel_event e[ENTRIES];
	__u64 seed = env_u64("COGWHEEL_SEED", 1), next = 0;
	__u32 tail, wrong;
	int i, n;

	ASSERT_EQ(0, fire(self->fd, 3, 0));
	tail = self->ring->tail;
	ASSERT_EQ(3, tail);
	ASSERT_EQ(2, take(self->ring, e, 2));
	for (i = 0; i < 1000; i++) {
		wrong = i < 100 ? tail + 1 + i : i < 200 ?
			tail - ENTRIES - (i - 99) : rnd(&seed);
		if (tail - wrong <= ENTRIES)
			continue;
		__atomic_store_n(&self->ring->head, wrong, __ATOMIC_RELEASE);
		ASSERT_EQ(-EINVAL, refill(self->fd, &r));
		ASSERT_EQ(1, poll(&pfd, 1, 0));
		ASSERT_EQ(POLLERR, pfd.revents);
		ASSERT_EQ(0, fire(self->fd, 1, 3 + next++));
		ASSERT_EQ(tail, self->ring->tail);
	}
	/* Mended, all is there. */
	__atomic_store_n(&self->ring->head, 2, __ATOMIC_RELEASE);
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	EXPECT_EQ(POLLIN, pfd.revents);
	i = 2;
	while ((n = take(self->ring, e, ENTRIES)) > 0) {
		for (wrong = 0; wrong < n; wrong++)
			ASSERT_EQ(i++, e[wrong].user);
		ASSERT_EQ(0, refill(self->fd, &r));
	}
	EXPECT_EQ(3 + next, i);
}

/* The kernel believes nothing else that is written there either. */
TEST_F(ring, spoilt)
{
	size_t size = COGWHEEL_RING_SIZE(ENTRIES);
	struct cogwheel_ioc_ring r;
	struct cogwheel_event e;
	__u64 next = 0;
	__u32 tail, head = 0;
	int i;

	ASSERT_NE(0, dev_every(self->fd, 3, 1000000, ~0ULL));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, fire(self->fd, 5, 5 * i));
		ASSERT_EQ(0, refill(self->fd, &r));
		tail = self->ring->tail;
		while (head != tail) {
			e = *(struct cogwheel_event *)((char *)self->ring + 128 +
			     48 * (head++ % ENTRIES));
			if (e.user != ~0ULL)
				ASSERT_EQ(next++, e.user);
		}
		memset(self->ring, i % 3 ? 0xff : 0, getpagesize());
		self->ring->head = head;
	}
	while (next < 1000) {
		ASSERT_EQ(0, refill(self->fd, &r));
		tail = self->ring->tail;
		ASSERT_NE(tail, head);
		while (head != tail) {
			e = *(struct cogwheel_event *)((char *)self->ring + 128 +
			     48 * (head++ % ENTRIES));
			ASSERT_EQ(next++, e.user);
		}
		self->ring->head = head;
	}
	EXPECT_GE(getpagesize(), size);
}

TEST_F(ring, poll)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	struct cogwheel_event e[ENTRIES];
	int i;

	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(0, fire(self->fd, 2 * ENTRIES + 1, 0));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(1, poll(&pfd, 1, -1));
		EXPECT_EQ(POLLIN, pfd.revents);
		/* Which lets in what there is room for. */
		EXPECT_EQ(i < 2 ? ENTRIES : 1, take(self->ring, e, ENTRIES));
	}
	EXPECT_EQ(0, poll(&pfd, 1, 0));
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
		p->err = fire(p->fd, 1 + i % 3, 0);
	return NULL;
}

/* Edge-triggered, with the rule of the header, against a producer. */
TEST_F(ring, epoll_edge_race)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET }, got;
	struct producer p = { .fd = self->fd, .nr = 3000 };
	int ep = epoll_create1(EPOLL_CLOEXEC), n;
	struct cogwheel_event e[ENTRIES];
	struct cogwheel_ioc_ring r;
	pthread_t thread;
	__u64 seen = 0;

	ASSERT_GE(ep, 0);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &ev));
	ASSERT_EQ(0, pthread_create(&thread, NULL, produce, &p));
	while (seen < 2 * p.nr) {
		ASSERT_EQ(1, epoll_wait(ep, &got, 1, DEADLINE_MS));
		for (;;) {
			n = take(self->ring, e, ENTRIES);
			seen += n;
			if (n)
				continue;
			if (!more(self->ring))
				break;
			ASSERT_EQ(0, refill(self->fd, &r));
		}
	}
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, p.err);
	EXPECT_EQ(2 * p.nr, seen);
	close(ep);
}

/* Without any call at all: expiry writes, this looks. */
TEST_F(ring, no_system_call)
{
	int fd = dev_open(0), i, n, got = 0;
	struct cogwheel_event e[64];
	struct cogwheel_ring *ring;
	__u64 end = mono_ns() + DEADLINE_MS * 1000000ULL;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, setup(fd, COGWHEEL_CLOCK_MONOTONIC, 1000000, 64));
	ring = map(fd, 64);
	ASSERT_NE(MAP_FAILED, ring);
	for (i = 0; i < 64; i++)
		ASSERT_NE(0, dev_in(fd, i, i));
	while (got < 64 && mono_ns() < end) {
		n = take(ring, e, 64);
		for (i = 0; i < n; i++)
			ASSERT_EQ(got++, e[i].user);
	}
	EXPECT_EQ(64, got);
	EXPECT_FALSE(more(ring));
	munmap(ring, COGWHEEL_RING_SIZE(64));
	close(fd);
}

/* A mapping keeps the file, its timers and what comes; so does a child's. */
TEST_F(ring, outlives_the_descriptor)
{
	struct cogwheel_ring *ring;
	struct cogwheel_event e;
	__u64 end = mono_ns() + DEADLINE_MS * 1000000ULL;
	int fd = dev_open(0), status, n = 0;
	pid_t pid;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, setup(fd, COGWHEEL_CLOCK_MONOTONIC, 1000000, 4));
	ring = map(fd, 4);
	ASSERT_NE(MAP_FAILED, ring);
	ASSERT_NE(0, dev_in(fd, 30, 9));
	close(fd);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		while (!n && mono_ns() < end)
			n = take(ring, &e, 1);
		_exit(n == 1 && e.user == 9 ? 0 : 1);
	}
	munmap(ring, COGWHEEL_RING_SIZE(4));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* What exec leaves: this program's main is not the first thing that it does. */
#define AFTER_EXEC	"COGWHEEL_AFTER_EXEC"

static int after_exec(int fd, char *how)
{
	__u64 end = mono_ns() + DEADLINE_MS * 1000000ULL;
	struct cogwheel_ring *ring;
	struct cogwheel_event e;
	char byte;
	int n = 0;

	/* Nothing of the file is left: tell, and stay. */
	if (how[0] == 'c')
		return fcntl(fd, F_GETFD) >= 0 || errno != EBADF ||
		       write(1, "x", 1) != 1 || read(0, &byte, 1) != 0;
	ring = map(fd, ENTRIES);
	if (ring == MAP_FAILED || ring->head != 1)
		return 2;
	while (!n && mono_ns() < end)
		n = take(ring, &e, 1);
	if (n != 1 || e.user != 8)
		return 3;
	/* It is a file like any other: what is armed now comes, too. */
	if (!dev_in(fd, 3, 9) || !dev_in(fd, 1000000, 10))
		return 4;
	for (n = 0; !n && mono_ns() < end;)
		n = take(ring, &e, 1);
	return n == 1 && e.user == 9 ? 0 : 5;
}

__attribute__((constructor)) static void maybe_after_exec(void)
{
	char *how = getenv(AFTER_EXEC);

	if (how)
		_exit(after_exec(atoi(how + 1), how));
}

/* Exec unmaps the ring; the new program maps it, and goes on where it was. */
TEST_F(ring, exec_goes_on)
{
	struct cogwheel_ring *ring;
	struct cogwheel_event e;
	int fd = dev_open(0), status, n = 0;
	char how[32];
	pid_t pid;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, setup(fd, COGWHEEL_CLOCK_MONOTONIC, 1000000, ENTRIES));
	ring = map(fd, ENTRIES);
	ASSERT_NE(MAP_FAILED, ring);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (!dev_in(fd, 0, 7) || !dev_in(fd, 50, 8))
			_exit(10);
		while (!n)
			n = take(ring, &e, 1);
		snprintf(how, sizeof(how), "k%d", fd);
		setenv(AFTER_EXEC, how, 1);
		fcntl(fd, F_SETFD, 0);
		execl("/proc/self/exe", "ring", NULL);
		_exit(127);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	munmap(ring, COGWHEEL_RING_SIZE(ENTRIES));
	close(fd);
}

static __u64 user_timers(int fd)
{
	struct cogwheel_ioc_info info = { };

	return CALL(fd, COGWHEEL_IOC_INFO, &info) ? 0 : info.user_timers;
}

/* With O_CLOEXEC the mapping was the last that held the file: all is freed. */
TEST_F(ring, exec_lets_go)
{
	__u64 before = user_timers(self->fd);
	int in[2], out[2], status, fd, i;
	char how[32], byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(in));
	ASSERT_EQ(0, pipe(out));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		close(in[1]);
		fd = dev_open(0);
		if (fd < 0 || setup(fd, COGWHEEL_CLOCK_MONOTONIC, 0, ENTRIES) ||
		    map(fd, ENTRIES) == MAP_FAILED)
			_exit(10);
		for (i = 0; i < 1000; i++)
			if (!dev_in(fd, i % 2 ? 3 : 1000000, i))
				_exit(11);
		if (user_timers(fd) < before + 1000)
			_exit(12);
		snprintf(how, sizeof(how), "c%d", fd);
		setenv(AFTER_EXEC, how, 1);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl("/proc/self/exe", "ring", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	ASSERT_EQ(1, read(out[0], &byte, 1));
	EXPECT_EQ(before, user_timers(self->fd));
	close(in[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(out[0]);
}

/* Threads that arm, move and cancel in batches, while another one consumes. */
enum { BATCHERS = 3, SHARED = 512 };

struct batcher {
	int fd;
	__u64 seed;
	__u64 *places;
	__u64 rounds;
	__u64 armed, dropped;
	int err;
	pthread_t thread;
};

static void *batch_at_random(void *arg)
{
	struct batcher *b = arg;
	struct cogwheel_op op[150];
	unsigned int place[150];
	__u64 round;
	int i, nr;

	for (round = 0; round < b->rounds && !b->err; round++) {
		struct cogwheel_ioc_batch batch = {
			.ops = (uintptr_t)op, .op_size = sizeof(op[0]),
		};

		nr = 1 + rnd(&b->seed) % 150;
		for (i = 0; i < nr; i++) {
			place[i] = rnd(&b->seed) % SHARED;
			op[i] = (struct cogwheel_op) {
				.handle = __atomic_load_n(&b->places[place[i]],
							  __ATOMIC_RELAXED),
				.when = rnd(&b->seed) % 60,
			};
			/* What is in a place may be dead, or armed twice. */
			if (op[i].handle && rnd(&b->seed) % 2) {
				op[i].op = COGWHEEL_OP_CANCEL;
				op[i].when = 0;
			} else if (op[i].handle && rnd(&b->seed) % 2) {
				op[i].flags = COGWHEEL_ARM_MOVE;
			}
		}
		batch.count = nr;
		b->err = CALL(b->fd, COGWHEEL_IOC_BATCH, &batch);
		for (i = 0; i < nr && !b->err; i++) {
			bool arm = op[i].op == COGWHEEL_OP_ARM &&
				   !(op[i].flags & COGWHEEL_ARM_MOVE);

			if (op[i].error && (arm || op[i].error != -ENOENT))
				b->err = op[i].error;
			if (op[i].error || (!arm && op[i].op == COGWHEEL_OP_ARM))
				continue;
			b->armed += arm;
			b->dropped += !arm;
			__atomic_store_n(&b->places[place[i]],
					 arm ? op[i].handle : 0,
					 __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

TEST_F(ring, storm)
{
	static __u64 places[SHARED];
	struct batcher b[BATCHERS];
	__u64 armed = 0, dropped = 0, got = 0, end;
	struct cogwheel_ioc_state s = { };
	struct cogwheel_ring *ring;
	struct cogwheel_event e[16];
	int fd = dev_open(0), i, n, left = BATCHERS;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, setup(fd, COGWHEEL_CLOCK_MONOTONIC, 50000, 64));
	ring = map(fd, 64);
	ASSERT_NE(MAP_FAILED, ring);
	for (i = 0; i < BATCHERS; i++) {
		b[i] = (struct batcher) {
			.fd = fd, .places = places,
			.seed = env_u64("COGWHEEL_SEED", 1) * BATCHERS + i,
			.rounds = env_u64("COGWHEEL_STEPS", 10000) / 20,
		};
		ASSERT_EQ(0, pthread_create(&b[i].thread, NULL, batch_at_random,
					    &b[i]));
	}
	end = mono_ns() + DEADLINE_MS * 1000000ULL;
	while (left || s.timers) {
		struct pollfd pfd = { .fd = fd, .events = POLLIN };

		ASSERT_LT(mono_ns(), end);
		while ((n = take(ring, e, 16)) > 0)
			for (i = 0; i < n; i++)
				got += e[i].flags & COGWHEEL_EVENT_LAST;
		ASSERT_LE(0, poll(&pfd, 1, 1));
		for (i = 0; i < BATCHERS; i++)
			if (b[i].fd >= 0 &&
			    !pthread_tryjoin_np(b[i].thread, NULL)) {
				EXPECT_EQ(0, b[i].err);
				armed += b[i].armed;
				dropped += b[i].dropped;
				b[i].fd = -1;
				left--;
			}
		ASSERT_EQ(0, dev_state(fd, &s));
	}
	while ((n = take(ring, e, 16)) > 0)
		got += n;
	EXPECT_GT(armed, 0);
	EXPECT_EQ(armed, dropped + got);
	munmap(ring, COGWHEEL_RING_SIZE(64));
	close(fd);
}

static int sigio;

static void on_sigio(int sig)
{
	__atomic_add_fetch(&sigio, 1, __ATOMIC_SEQ_CST);
}

TEST_F(ring, sigio)
{
	struct sigaction act = { .sa_handler = on_sigio };

	ASSERT_EQ(0, sigaction(SIGIO, &act, NULL));
	ASSERT_EQ(0, fcntl(self->fd, F_SETOWN, getpid()));
	ASSERT_EQ(0, fire(self->fd, 1, 0));
	EXPECT_EQ(0, __atomic_load_n(&sigio, __ATOMIC_SEQ_CST));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK | O_ASYNC));
	ASSERT_EQ(0, dev_advance_by(self->fd, 10));
	EXPECT_EQ(0, __atomic_load_n(&sigio, __ATOMIC_SEQ_CST));
	ASSERT_EQ(0, fire(self->fd, 1, 0));
	EXPECT_EQ(1, __atomic_load_n(&sigio, __ATOMIC_SEQ_CST));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	ASSERT_EQ(0, fire(self->fd, 1, 0));
	EXPECT_EQ(1, __atomic_load_n(&sigio, __ATOMIC_SEQ_CST));
}

TEST_HARNESS_MAIN
