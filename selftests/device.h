/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of /dev/cogwheel share: its ioctls as functions that return 0
 * or a negative errno, and the list of kinds to run on. Includes the ioctl
 * header and nothing else of ours.
 */
#ifndef _SELFTESTS_DEVICE_H
#define _SELFTESTS_DEVICE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>

#include "../cogwheel_ioctl.h"
#include "kselftest_harness.h"

#define DEVICE	"/dev/cogwheel"

/*
 * No wait for something that must happen lasts longer than this. It is long,
 * since the machine may be an emulated one on a busy host; nothing waits so
 * long unless it fails.
 */
#define DEADLINE_MS	120000
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	300

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/* Every kind that there may be; one that the device does not know is skipped. */
#define ALL_KINDS(X, fixture)		\
	X(fixture, unsorted)		\
	X(fixture, sorted)		\
	X(fixture, heap)		\
	X(fixture, rbtree)		\
	X(fixture, simple)		\
	X(fixture, hashed_sorted)	\
	X(fixture, hashed)		\
	X(fixture, cascading)		\
	X(fixture, cascade_once)	\
	X(fixture, noncascading)	\
	X(fixture, blocks)		\
	X(fixture, calendar)		\
	X(fixture, slack)

/* A variant of a fixture for a kind; underscores stand for hyphens. */
#define KIND_VARIANT(fixture, name)			\
	FIXTURE_VARIANT_ADD(fixture, name) {		\
		.kind = #name,				\
	};

static inline void kind_name(char *to, const char *variant)
{
	snprintf(to, COGWHEEL_NAME_LEN, "%s", variant);
	for (; *to; to++)
		if (*to == '_')
			*to = '-';
}

static inline int result(int ret)
{
	return ret < 0 ? -errno : ret;
}

static inline int dev_open(int flags)
{
	return result(open(DEVICE, O_RDWR | O_CLOEXEC | flags));
}

/* Calls an ioctl with its structure's size filled in. */
#define CALL(fd, cmd, arg) ({					\
	(arg)->size = sizeof(*(arg));				\
	result(ioctl((fd), (cmd), (arg)));			\
})

static inline int dev_setup(int fd, const char *kind, __u32 clock,
			    __u64 tick_ns, __u64 start)
{
	struct cogwheel_ioc_setup s = {
		.clock = clock,
		.tick_ns = tick_ns,
		.start = start,
	};

	snprintf(s.kind, sizeof(s.kind), "%s", kind);
	return CALL(fd, COGWHEEL_IOC_SETUP, &s);
}

static inline int dev_arm(int fd, struct cogwheel_ioc_arm *arm)
{
	return CALL(fd, COGWHEEL_IOC_ARM, arm);
}

/* A one-shot timer in so many ticks; its handle, or 0. */
static inline __u64 dev_in(int fd, __u64 delay, __u64 user)
{
	struct cogwheel_ioc_arm arm = { .when = delay, .user = user };

	return dev_arm(fd, &arm) ? 0 : arm.handle;
}

static inline __u64 dev_at(int fd, __u64 tick, __u64 user)
{
	struct cogwheel_ioc_arm arm = {
		.flags = COGWHEEL_ARM_ABSOLUTE, .when = tick, .user = user,
	};

	return dev_arm(fd, &arm) ? 0 : arm.handle;
}

static inline __u64 dev_every(int fd, __u64 delay, __u64 period, __u64 user)
{
	struct cogwheel_ioc_arm arm = {
		.when = delay, .period = period, .user = user,
	};

	return dev_arm(fd, &arm) ? 0 : arm.handle;
}

/* COGWHEEL_WAS_* bits or a negative errno. */
static inline int dev_cancel(int fd, __u64 handle)
{
	struct cogwheel_ioc_cancel c = { .handle = handle };
	int err = CALL(fd, COGWHEEL_IOC_CANCEL, &c);

	return err ? err : (int)c.result;
}

static inline int dev_move(int fd, __u64 handle, __u64 delay, __u64 user)
{
	struct cogwheel_ioc_arm arm = {
		.flags = COGWHEEL_ARM_MOVE, .handle = handle, .when = delay,
		.user = user,
	};
	int err = dev_arm(fd, &arm);

	return err ? err : (int)arm.result;
}

static inline int dev_advance(int fd, __u32 flags, __u64 to, __u64 *now)
{
	struct cogwheel_ioc_advance a = { .flags = flags, .to = to };
	int err = CALL(fd, COGWHEEL_IOC_ADVANCE, &a);

	if (now)
		*now = a.now;
	return err;
}

static inline int dev_advance_by(int fd, __u64 ticks)
{
	return dev_advance(fd, 0, ticks, NULL);
}

static inline int dev_advance_to(int fd, __u64 tick)
{
	return dev_advance(fd, COGWHEEL_ADVANCE_ABSOLUTE, tick, NULL);
}

static inline int dev_state(int fd, struct cogwheel_ioc_state *s)
{
	memset(s, 0, sizeof(*s));
	return CALL(fd, COGWHEEL_IOC_STATE, s);
}

/* How many events were read; 0 where there are none (O_NONBLOCK). */
static inline int dev_read(int fd, struct cogwheel_event *events, int max)
{
	ssize_t n = read(fd, events, max * sizeof(*events));

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	return n % sizeof(*events) ? -EBADMSG : n / (int)sizeof(*events);
}

/* Is it one of those in COGWHEEL_KINDS, a list with blanks, if there is one? */
static inline bool kind_is_wanted(const char *name)
{
	const char *list = getenv("COGWHEEL_KINDS"), *at = list;
	size_t len = strlen(name);

	if (!list)
		return true;
	while ((at = strstr(at, name))) {
		if ((at == list || at[-1] == ' ') && strchr(" ", at[len]))
			return true;
		at += len;
	}
	return false;
}

/* The kind of that name; an error where there is none, or it is not wanted. */
static inline int dev_kind(int fd, const char *name,
			   struct cogwheel_ioc_kind *k)
{
	__u32 index;
	int err;

	if (!kind_is_wanted(name))
		return -ENOENT;
	for (index = 0;; index++) {
		memset(k, 0, sizeof(*k));
		k->index = index;
		err = CALL(fd, COGWHEEL_IOC_KIND, k);
		if (err || !strcmp(k->name, name))
			return err;
	}
}

static inline __u64 mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline __u64 env_u64(const char *name, __u64 def)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : def;
}

/* A small generator of our own, so that a seed means the same everywhere. */
static inline __u64 rnd(__u64 *state)
{
	__u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

#endif /* _SELFTESTS_DEVICE_H */
