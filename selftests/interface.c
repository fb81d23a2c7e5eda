// SPDX-License-Identifier: GPL-2.0
/*
 * The interface of /dev/cogwheel: queries, set-up, how structures grow, and
 * every errno that cogwheel_ioctl.h documents, one refusal at a time, with all
 * else valid and nothing changed afterwards.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "device.h"

/* A valid call of each ioctl, by which the refusals are measured. */
struct call {
	const char *name;
	unsigned int cmd;
	size_t size;		/* of its structure in its first release */
	size_t now;		/* of its structure now */
	bool acts;		/* changes something */
	size_t zero[3];		/* offsets + 1 of fields of 4 bytes that must be zero */
	size_t flags;		/* offset + 1 of its flags */
	__u32 known;		/* flags that there are */
};

static const struct call calls[] = {
	{ "INFO", COGWHEEL_IOC_INFO, 80, 120, false, { 5 }, 0, 0 },
	{ "KIND", COGWHEEL_IOC_KIND, 344, 344, false, { 0 }, 0, 0 },
	{ "SETUP", COGWHEEL_IOC_SETUP, 72, 80, true, { 21 }, 5, 0 },
	{ "GEOMETRY", COGWHEEL_IOC_GEOMETRY, 72, 72, false, { 0 }, 5, 0 },
	{ "STATE", COGWHEEL_IOC_STATE, 88, 88, false, { 13 }, 5, 0 },
	{ "ARM", COGWHEEL_IOC_ARM, 64, 64, true, { 61 }, 5, 7 },
	{ "CANCEL", COGWHEEL_IOC_CANCEL, 24, 24, true, { 21 }, 5, 0 },
	{ "ADVANCE", COGWHEEL_IOC_ADVANCE, 24, 24, true, { 0 }, 5, 1 },
	{ "WALK", COGWHEEL_IOC_WALK, 40, 40, false, { 21 }, 5, 0 },
	{ "BATCH", COGWHEEL_IOC_BATCH, 48, 48, true, { 45 }, 5, 0 },
};

union argument {
	__u32 size;
	struct cogwheel_ioc_setup setup;
	struct cogwheel_ioc_arm arm;
	struct cogwheel_ioc_cancel cancel;
	struct cogwheel_ioc_advance advance;
	struct cogwheel_ioc_walk walk;
	struct cogwheel_ioc_batch batch;
	unsigned char byte[8192];
};

static struct cogwheel_item item_room[4];
static struct cogwheel_op op_room[4];

/* Something that the device accepts, given a timer of the file. */
static void valid(const struct call *call, union argument *arg, __u64 handle)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = call->size;
	switch (call->cmd) {
	case COGWHEEL_IOC_SETUP:
		arg->setup.clock = COGWHEEL_CLOCK_MANUAL;
		break;
	case COGWHEEL_IOC_ARM:
		arg->arm.when = 1000;
		break;
	case COGWHEEL_IOC_CANCEL:
		arg->cancel.handle = handle;
		break;
	case COGWHEEL_IOC_ADVANCE:
		arg->advance.to = 10;
		break;
	case COGWHEEL_IOC_WALK:
		arg->walk.items = (uintptr_t)item_room;
		arg->walk.count = ARRAY_LEN(item_room);
		break;
	case COGWHEEL_IOC_BATCH:
		memset(op_room, 0, sizeof(op_room));
		arg->batch.ops = (uintptr_t)op_room;
		arg->batch.count = ARRAY_LEN(op_room);
		arg->batch.op_size = sizeof(op_room[0]);
		break;
	}
}

/* A file on a manual clock with one pending and one unread timer. */
FIXTURE(refusal) {
	int fd;
	int fresh;	/* a file for SETUP */
	__u64 handle;
	struct cogwheel_ioc_state before;
};

FIXTURE_SETUP(refusal)
{
	self->fd = dev_open(O_NONBLOCK);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	self->fresh = dev_open(O_NONBLOCK);
	ASSERT_GE(self->fresh, 0);
	ASSERT_EQ(0, dev_setup(self->fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	ASSERT_NE(0, dev_in(self->fd, 1, 1));
	ASSERT_EQ(0, dev_advance_by(self->fd, 2));
	self->handle = dev_in(self->fd, 500, 2);
	ASSERT_NE(0, self->handle);
	ASSERT_EQ(0, dev_state(self->fd, &self->before));
}

FIXTURE_TEARDOWN(refusal)
{
	struct cogwheel_ioc_state after;

	/* Nothing of what was refused has changed anything. */
	EXPECT_EQ(0, dev_state(self->fd, &after));
	EXPECT_EQ(0, memcmp(&self->before, &after, sizeof(after)));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_cancel(self->fd, self->handle));
	EXPECT_EQ(0, dev_setup(self->fresh, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	close(self->fresh);
	close(self->fd);
}

static int call_fd(int fd, int fresh, const struct call *call)
{
	return call->cmd == COGWHEEL_IOC_SETUP ? fresh : fd;
}

TEST_F(refusal, is_not_that_of_a_valid_call)
{
	union argument arg;
	size_t i;

	/* The measure itself: each call is valid but for what is tested. */
	for (i = 0; i < ARRAY_LEN(calls); i++) {
		int fd = dev_open(0);
		__u64 handle;

		ASSERT_GE(fd, 0);
		if (calls[i].cmd != COGWHEEL_IOC_SETUP)
			ASSERT_EQ(0, dev_setup(fd, "", COGWHEEL_CLOCK_MANUAL,
					       0, 0));
		handle = calls[i].cmd == COGWHEEL_IOC_SETUP ? 0 :
			 dev_in(fd, 100, 0);
		valid(&calls[i], &arg, handle);
		EXPECT_EQ(0, result(ioctl(fd, calls[i].cmd, &arg)))
			TH_LOG("%s", calls[i].name);
		close(fd);
	}
}

TEST_F(refusal, einval_size_below_the_first_release)
{
	union argument arg;
	size_t i, size;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		for (size = 0; size < calls[i].size; size++) {
			valid(&calls[i], &arg, self->handle);
			arg.size = size;
			EXPECT_EQ(-EINVAL,
				  result(ioctl(call_fd(self->fd, self->fresh,
						       &calls[i]),
					       calls[i].cmd, &arg)))
				TH_LOG("%s %zu", calls[i].name, size);
		}
	}
}

TEST_F(refusal, e2big_tail_that_is_not_zero)
{
	union argument arg;
	size_t i, tail;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		for (tail = 1; tail < 200; tail++) {
			valid(&calls[i], &arg, self->handle);
			arg.size = calls[i].now + tail;
			arg.byte[arg.size - 1] = 1;
			EXPECT_EQ(-E2BIG,
				  result(ioctl(call_fd(self->fd, self->fresh,
						       &calls[i]),
					       calls[i].cmd, &arg)))
				TH_LOG("%s +%zu", calls[i].name, tail);
		}
	}
}

TEST_F(refusal, e2big_above_a_page)
{
	union argument arg;
	size_t i;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		valid(&calls[i], &arg, self->handle);
		arg.size = getpagesize() + 1;
		EXPECT_EQ(-E2BIG, result(ioctl(call_fd(self->fd, self->fresh,
						       &calls[i]),
					       calls[i].cmd, &arg)))
			TH_LOG("%s", calls[i].name);
		arg.size = UINT32_MAX;
		EXPECT_EQ(-E2BIG, result(ioctl(call_fd(self->fd, self->fresh,
						       &calls[i]),
					       calls[i].cmd, &arg)));
	}
}

TEST_F(refusal, einval_reserved_fields)
{
	union argument arg;
	size_t i, j, b;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		int fd = call_fd(self->fd, self->fresh, &calls[i]);

		for (j = 0; j < 3 && calls[i].zero[j]; j++) {
			for (b = 0; b < 4; b++) {
				valid(&calls[i], &arg, self->handle);
				arg.byte[calls[i].zero[j] - 1 + b] = 0x80;
				EXPECT_EQ(-EINVAL, result(ioctl(fd,
								calls[i].cmd,
								&arg)))
					TH_LOG("%s at %zu", calls[i].name,
					       calls[i].zero[j] - 1 + b);
			}
		}
	}
}

TEST_F(refusal, einval_unknown_flags)
{
	union argument arg;
	size_t i, bit;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		int fd = call_fd(self->fd, self->fresh, &calls[i]);

		for (bit = 0; calls[i].flags && bit < 32; bit++) {
			__u32 flag = 1U << bit;

			if (calls[i].known & flag)
				continue;
			valid(&calls[i], &arg, self->handle);
			memcpy(arg.byte + calls[i].flags - 1, &flag, 4);
			EXPECT_EQ(-EINVAL, result(ioctl(fd, calls[i].cmd,
							&arg)))
				TH_LOG("%s bit %zu", calls[i].name, bit);
		}
	}
}

TEST_F(refusal, efault_bad_address)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		int fd = call_fd(self->fd, self->fresh, &calls[i]);

		EXPECT_EQ(-EFAULT, result(ioctl(fd, calls[i].cmd, NULL)));
		EXPECT_EQ(-EFAULT, result(ioctl(fd, calls[i].cmd, 1UL)));
		EXPECT_EQ(-EFAULT, result(ioctl(fd, calls[i].cmd, -8UL)));
	}
}

TEST_F(refusal, efault_memory_that_ends_within)
{
	size_t page = getpagesize(), i, part;
	union argument arg;
	unsigned char *two;

	two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, two);
	ASSERT_EQ(0, munmap(two + page, page));
	for (i = 0; i < ARRAY_LEN(calls); i++) {
		int fd = call_fd(self->fd, self->fresh, &calls[i]);

		valid(&calls[i], &arg, self->handle);
		for (part = 4; part < calls[i].size; part += 4) {
			memcpy(two + page - part, &arg, part);
			EXPECT_EQ(-EFAULT, result(ioctl(fd, calls[i].cmd,
							two + page - part)))
				TH_LOG("%s %zu", calls[i].name, part);
		}
	}
	munmap(two, page);
}

/* The results could not be written: then nothing must have happened. */
TEST_F(refusal, efault_memory_that_is_read_only)
{
	size_t page = getpagesize(), i, first;
	union argument arg;
	unsigned char *two;

	two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, two);
	for (i = 0; i < ARRAY_LEN(calls); i++) {
		int fd = call_fd(self->fd, self->fresh, &calls[i]);

		valid(&calls[i], &arg, self->handle);
		/* All of it, only the second half, only the first half. */
		for (first = 0; first < 3; first++) {
			unsigned char *at = two + page - calls[i].size / 8 * 4;

			if (!first)
				at = two;
			memcpy(at, &arg, calls[i].size);
			ASSERT_EQ(0, mprotect(first == 1 ? two + page : two,
					      page, PROT_READ));
			EXPECT_EQ(-EFAULT,
				  result(ioctl(fd, calls[i].cmd, at)))
				TH_LOG("%s %zu", calls[i].name, first);
			ASSERT_EQ(0, mprotect(two, 2 * page,
					      PROT_READ | PROT_WRITE));
		}
	}
	munmap(two, 2 * page);
}

TEST_F(refusal, enotty_unknown_ioctl)
{
	union argument arg = { };
	unsigned int nr;

	arg.size = 64;
	for (nr = _IOC_NR(COGWHEEL_IOC_RING) + 1; nr < 256; nr++)
		EXPECT_EQ(-ENOTTY, result(ioctl(self->fd,
						_IOWR(COGWHEEL_IOC_TYPE, nr,
						      __u64[8]), &arg)));
	for (nr = 0; nr < 256; nr++) {
		if (nr == COGWHEEL_IOC_TYPE || nr == 'T' || nr == 'f' ||
		    nr == 'X' || nr == 0)
			continue;	/* the first also, the VFS's own */
		EXPECT_EQ(-ENOTTY, result(ioctl(self->fd,
						_IOWR(nr, 4, __u64[11]), &arg)))
			TH_LOG("type %#x", nr);
	}
}

TEST_F(refusal, ebusy_second_setup)
{
	EXPECT_EQ(-EBUSY, dev_setup(self->fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	EXPECT_EQ(-EBUSY, dev_setup(self->fd, "", 0, 0, 0));
}

TEST_F(refusal, einval_unknown_kind)
{
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "no-such-kind",
				     COGWHEEL_CLOCK_MANUAL, 0, 0));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "Cascading",
				     COGWHEEL_CLOCK_MANUAL, 0, 0));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "cascading ",
				     COGWHEEL_CLOCK_MANUAL, 0, 0));
}

TEST_F(refusal, einval_kind_without_an_end)
{
	struct cogwheel_ioc_setup s = { .clock = COGWHEEL_CLOCK_MANUAL };

	memset(s.kind, 'c', sizeof(s.kind));
	EXPECT_EQ(-EINVAL, CALL(self->fresh, COGWHEEL_IOC_SETUP, &s));
}

TEST_F(refusal, einval_unknown_clock)
{
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", 3, 0, 0));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", UINT32_MAX, 0, 0));
}

TEST_F(refusal, einval_tick_length)
{
	struct cogwheel_ioc_info info = { };

	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_INFO, &info));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", COGWHEEL_CLOCK_MONOTONIC,
				     info.tick_ns_min - 1, 0));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", COGWHEEL_CLOCK_MONOTONIC,
				     info.tick_ns_max + 1, 0));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", COGWHEEL_CLOCK_MONOTONIC,
				     UINT64_MAX, 0));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", COGWHEEL_CLOCK_JIFFIES,
				     1000000, 0));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", COGWHEEL_CLOCK_MANUAL,
				     1000000, 0));
}

TEST_F(refusal, einval_start_of_a_running_clock)
{
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", COGWHEEL_CLOCK_MONOTONIC,
				     0, 1));
	EXPECT_EQ(-EINVAL, dev_setup(self->fresh, "", COGWHEEL_CLOCK_JIFFIES,
				     0, 1));
}

/* For each kind and option: one below, one above, and any where it has none. */
TEST_F(refusal, einval_option_out_of_its_range)
{
	struct cogwheel_ioc_kind k;
	__u32 index, tried = 0;

	for (index = 0;; index++) {
		struct cogwheel_ioc_setup s = {
			.clock = COGWHEEL_CLOCK_MANUAL,
		};

		memset(&k, 0, sizeof(k));
		k.index = index;
		if (CALL(self->fd, COGWHEEL_IOC_KIND, &k))
			break;
		memcpy(s.kind, k.name, sizeof(s.kind));
		s.slots = k.slots_min ? k.slots_max + 1 : 64;
		EXPECT_EQ(-EINVAL, CALL(self->fresh, COGWHEEL_IOC_SETUP, &s));
		if (k.slots_min > 1) {
			s.slots = k.slots_min - 1;
			EXPECT_EQ(-EINVAL, CALL(self->fresh,
						COGWHEEL_IOC_SETUP, &s));
		}
		s.slots = 0;
		s.levels = k.levels_min ? k.levels_max + 1 : 8;
		EXPECT_EQ(-EINVAL, CALL(self->fresh, COGWHEEL_IOC_SETUP, &s));
		if (k.levels_min > 1) {
			s.levels = k.levels_min - 1;
			EXPECT_EQ(-EINVAL, CALL(self->fresh,
						COGWHEEL_IOC_SETUP, &s));
		}
		tried++;
	}
	EXPECT_GE(tried, 2);
}

TEST_F(refusal, einval_advance_into_the_past)
{
	EXPECT_EQ(-EINVAL, dev_advance_to(self->fd, self->before.now - 1));
	EXPECT_EQ(-EINVAL, dev_advance_to(self->fd, 0));
}

TEST_F(refusal, einval_walk_without_room)
{
	struct cogwheel_ioc_walk walk = { .items = (uintptr_t)item_room };

	EXPECT_EQ(-EINVAL, CALL(self->fd, COGWHEEL_IOC_WALK, &walk));
}

TEST_F(refusal, efault_walk_to_a_bad_address)
{
	struct cogwheel_ioc_walk walk = { .items = 8, .count = 4 };

	EXPECT_EQ(-EFAULT, CALL(self->fd, COGWHEEL_IOC_WALK, &walk));
	walk.items = UINT64_MAX - 7;
	EXPECT_EQ(-EFAULT, CALL(self->fd, COGWHEEL_IOC_WALK, &walk));
}

TEST_F(refusal, einval_index_of_no_kind)
{
	struct cogwheel_ioc_info info = { };
	struct cogwheel_ioc_kind k = { };

	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_INFO, &info));
	k.index = info.kinds;
	EXPECT_EQ(-EINVAL, CALL(self->fd, COGWHEEL_IOC_KIND, &k));
	k.index = UINT32_MAX;
	EXPECT_EQ(-EINVAL, CALL(self->fd, COGWHEEL_IOC_KIND, &k));
}

/* Whatever number it is that is no handle of this file. */
TEST_F(refusal, enoent_forged_handle)
{
	struct cogwheel_ioc_arm arm;
	__u64 forged, seed = 1;
	int i;

	for (i = 0; i < 64 + 2000; i++) {
		if (i < 64)
			forged = self->handle ^ 1ULL << i;
		else
			forged = rnd(&seed) >> (i & 63);
		if (forged == self->handle)
			continue;
		/* The other timer's handle, unread: not forged if hit. */
		ASSERT_EQ(-ENOENT, dev_cancel(self->fd, forged))
			TH_LOG("%#llx of %#llx", (long long)forged,
			       (long long)self->handle);
		arm = (struct cogwheel_ioc_arm) {
			.flags = COGWHEEL_ARM_MOVE, .handle = forged,
		};
		ASSERT_EQ(-ENOENT, dev_arm(self->fd, &arm));
		arm.period = 7;
		ASSERT_EQ(-ENOENT, dev_arm(self->fd, &arm));
	}
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, 0));
	EXPECT_EQ(-ENOENT, dev_cancel(self->fd, UINT64_MAX));
}

TEST_F(refusal, enoent_handle_of_another_file)
{
	int other = dev_open(0), i;
	__u64 handle;

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, dev_setup(other, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	EXPECT_EQ(-ENOENT, dev_cancel(other, self->handle));
	/* In the same place of the other file, too. */
	for (i = 0; i < 300; i++) {
		handle = dev_in(other, 10, 0);
		ASSERT_NE(0, handle);
		ASSERT_EQ(-ENOENT, dev_cancel(self->fd, handle));
		ASSERT_EQ(-ENOENT, dev_cancel(other, self->handle));
	}
	close(other);
}

TEST_F(refusal, enoent_dead_handle)
{
	__u64 dead[200];
	size_t i, j;

	for (i = 0; i < ARRAY_LEN(dead); i++) {
		dead[i] = dev_in(self->fd, 10, 0);
		ASSERT_NE(0, dead[i]);
		ASSERT_EQ(COGWHEEL_WAS_PENDING, dev_cancel(self->fd, dead[i]));
		/* The place has been used again each time. */
		for (j = 0; j <= i; j++)
			ASSERT_EQ(-ENOENT, dev_cancel(self->fd, dead[j]));
	}
}

TEST_F(refusal, eopnotsupp_advance_of_a_running_clock)
{
	int fd = dev_open(0);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, dev_setup(fd, "", COGWHEEL_CLOCK_JIFFIES, 0, 0));
	EXPECT_EQ(-EOPNOTSUPP, dev_advance_by(fd, 1));
	close(fd);
	fd = dev_open(0);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EOPNOTSUPP, dev_advance_by(fd, 1));
	close(fd);
}

TEST_F(refusal, enospc_more_timers_than_allowed)
{
	const char *path = "/sys/module/cogwheel/parameters/max_timers";
	struct cogwheel_ioc_arm arm = { .when = 1 };
	struct cogwheel_ioc_state s;
	struct cogwheel_event e;
	char was[32] = "", is[32] = "";
	FILE *param;
	int fd, i;

	param = fopen(path, "r+");
	if (!param)
		SKIP(return, "cannot set max_timers");
	ASSERT_NE(NULL, fgets(was, sizeof(was), param));
	rewind(param);
	ASSERT_LT(0, fprintf(param, "%d", 100));
	ASSERT_EQ(0, fflush(param));

	fd = dev_open(O_NONBLOCK);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(0, dev_setup(fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	for (i = 0; i < 100; i++)
		EXPECT_NE(0, dev_in(fd, i < 50 ? 1 : 9, i));
	EXPECT_EQ(-ENOSPC, dev_arm(fd, &arm));
	arm.period = 3;
	EXPECT_EQ(-ENOSPC, dev_arm(fd, &arm));
	/* Those that have fired count until they are read. */
	EXPECT_EQ(0, dev_advance_by(fd, 2));
	EXPECT_EQ(-ENOSPC, dev_arm(fd, &arm));
	EXPECT_EQ(0, dev_state(fd, &s));
	EXPECT_EQ(100, s.timers);
	EXPECT_EQ(50, s.pending);
	EXPECT_EQ(50, s.unread);
	EXPECT_EQ(1, dev_read(fd, &e, 1));
	EXPECT_EQ(0, dev_arm(fd, &arm));
	EXPECT_EQ(-ENOSPC, dev_arm(fd, &(struct cogwheel_ioc_arm) { }));
	close(fd);

	rewind(param);
	EXPECT_LT(0, fprintf(param, "%s", was));
	EXPECT_EQ(0, fflush(param));
	/* Out of its range: refused, and nothing changed. */
	rewind(param);
	EXPECT_TRUE(fprintf(param, "0") < 0 || fflush(param) == EOF);
	fclose(param);
	param = fopen(path, "r");
	ASSERT_NE(NULL, param);
	EXPECT_NE(NULL, fgets(is, sizeof(is), param));
	EXPECT_STREQ(was, is);
	fclose(param);
}

FIXTURE(query) {
	int fd;
};

FIXTURE_SETUP(query)
{
	self->fd = dev_open(O_NONBLOCK);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(query)
{
	close(self->fd);
}

TEST_F(query, info)
{
	struct cogwheel_ioc_info info;

	memset(&info, 0xff, sizeof(info));
	info.reserved = 0;
	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_INFO, &info));
	EXPECT_EQ(COGWHEEL_VERSION, info.version);
	EXPECT_GE(info.kinds, 2);
	EXPECT_EQ(7, info.clocks);
	EXPECT_EQ(0, info.setup_flags);
	EXPECT_EQ(7, info.arm_flags);
	EXPECT_EQ(1, info.advance_flags);
	EXPECT_EQ(sizeof(struct cogwheel_event), info.event_size);
	EXPECT_EQ(sizeof(struct cogwheel_item), info.item_size);
	EXPECT_GE(info.max_timers, 1);
	EXPECT_EQ(1000, info.tick_ns_min);
	EXPECT_EQ(1000000000, info.tick_ns_max);
	EXPECT_EQ(1000000, info.tick_ns_def);
	EXPECT_GE(info.jiffy_ns, 100000);
	EXPECT_EQ(0, info.batch_flags);
	EXPECT_EQ(sizeof(struct cogwheel_op), info.op_size);
	EXPECT_GE(info.max_user_timers, 65536);
	EXPECT_GE(info.max_user_files, 1);
	EXPECT_EQ(32768, info.ring_max);
}

TEST_F(query, kinds)
{
	struct cogwheel_ioc_info info = { };
	struct cogwheel_ioc_kind k, other;
	__u32 i, j;

	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_INFO, &info));
	for (i = 0; i < info.kinds; i++) {
		struct cogwheel_ioc_geometry g = { };
		int fd = dev_open(0);

		memset(&k, 0xff, sizeof(k));
		k.index = i;
		ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_KIND, &k));
		EXPECT_EQ(i, k.index);
		EXPECT_GT(strnlen(k.name, sizeof(k.name)), 0);
		EXPECT_LT(strnlen(k.name, sizeof(k.name)), sizeof(k.name));
		EXPECT_GT(strnlen(k.brief, sizeof(k.brief)), 0);
		EXPECT_LT(strnlen(k.brief, sizeof(k.brief)), sizeof(k.brief));
		EXPECT_GT(strnlen(k.source, sizeof(k.source)), 0);
		EXPECT_LT(strnlen(k.source, sizeof(k.source)),
			  sizeof(k.source));
		EXPECT_EQ(0, k.reserved);
		EXPECT_GE(k.node_size, 16);
		EXPECT_GE(k.timer_size, k.node_size);
		EXPECT_GT(k.periodic_size, k.timer_size);
		EXPECT_LE(k.slots_min, k.slots_def);
		EXPECT_LE(k.slots_def, k.slots_max);
		EXPECT_LE(k.levels_min, k.levels_def);
		EXPECT_LE(k.levels_def, k.levels_max);
		EXPECT_EQ(!!(k.traits & COGWHEEL_TRAIT_BOUNDED),
			  !!k.max_timers);
		for (j = 0; j < i; j++) {
			memset(&other, 0, sizeof(other));
			other.index = j;
			ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_KIND, &other));
			EXPECT_STRNE(other.name, k.name);
		}
		/* Each can be had, and says so. */
		ASSERT_GE(fd, 0);
		EXPECT_EQ(0, dev_setup(fd, k.name, COGWHEEL_CLOCK_MANUAL, 0, 7));
		EXPECT_EQ(0, CALL(fd, COGWHEEL_IOC_GEOMETRY, &g));
		EXPECT_STREQ(k.name, g.kind);
		EXPECT_EQ(COGWHEEL_CLOCK_MANUAL, g.clock);
		EXPECT_EQ(0, g.tick_ns);
		EXPECT_GE(g.levels, 1);
		EXPECT_GE(g.slots, 1);
		EXPECT_GE(g.width, 1);
		close(fd);
	}
}

/* A one-shot timer of the default kind: the aim is 64 bytes, all told. */
TEST_F(query, a_timer_of_the_default_kind_is_small)
{
	struct cogwheel_ioc_kind k;

	ASSERT_EQ(0, dev_kind(self->fd, "cascading", &k));
	EXPECT_LE(k.timer_size, 64);
}

/* Each kind that there is has its variant in the tests of all kinds. */
TEST_F(query, every_kind_is_tested)
{
	static const char * const tested[] = {
#define NAME(prefix, name)	prefix #name,
		ALL_KINDS(NAME, "")
#undef NAME
	};
	struct cogwheel_ioc_kind k;
	char name[COGWHEEL_NAME_LEN];
	__u32 i;
	size_t j;

	for (i = 0;; i++) {
		memset(&k, 0, sizeof(k));
		k.index = i;
		if (CALL(self->fd, COGWHEEL_IOC_KIND, &k))
			break;
		for (j = 0; j < ARRAY_LEN(tested); j++) {
			kind_name(name, tested[j]);
			if (!strcmp(name, k.name))
				break;
		}
		EXPECT_LT(j, ARRAY_LEN(tested))
			TH_LOG("%s", k.name);
	}
	EXPECT_GE(i, 2);
}

TEST_F(query, defaults)
{
	struct cogwheel_ioc_geometry g = { };

	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_GEOMETRY, &g));
	EXPECT_STREQ("cascading", g.kind);
	EXPECT_EQ(COGWHEEL_CLOCK_MONOTONIC, g.clock);
	EXPECT_EQ(1000000, g.tick_ns);
}

TEST_F(query, setup_of_zeros_is_the_default)
{
	struct cogwheel_ioc_geometry g = { };

	ASSERT_EQ(0, dev_setup(self->fd, "", 0, 0, 0));
	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_GEOMETRY, &g));
	EXPECT_STREQ("cascading", g.kind);
	EXPECT_EQ(COGWHEEL_CLOCK_MONOTONIC, g.clock);
	EXPECT_EQ(1000000, g.tick_ns);
}

TEST_F(query, setup_with_options_of_each_kind)
{
	struct cogwheel_ioc_kind k;
	__u32 index, way;

	for (index = 0;; index++) {
		memset(&k, 0, sizeof(k));
		k.index = index;
		if (CALL(self->fd, COGWHEEL_IOC_KIND, &k))
			break;
		for (way = 0; way < 4; way++) {
			struct cogwheel_ioc_setup s = {
				.clock = COGWHEEL_CLOCK_MANUAL,
			};
			struct cogwheel_ioc_geometry g = { };
			int fd = dev_open(0);

			ASSERT_GE(fd, 0);
			memcpy(s.kind, k.name, sizeof(s.kind));
			s.slots = way & 1 ? k.slots_max : k.slots_min;
			s.levels = way & 2 ? k.levels_max : k.levels_min;
			EXPECT_EQ(0, CALL(fd, COGWHEEL_IOC_SETUP, &s));
			EXPECT_EQ(0, CALL(fd, COGWHEEL_IOC_GEOMETRY, &g));
			if (s.slots)
				EXPECT_EQ(s.slots, g.slots);
			if (s.levels)
				EXPECT_EQ(s.levels, g.levels);
			close(fd);
		}
	}
	EXPECT_GE(index, 2);
}

TEST_F(query, bounds_of_the_tick_length)
{
	struct cogwheel_ioc_info info = { };
	struct cogwheel_ioc_geometry g = { };
	int fd = dev_open(0);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, CALL(fd, COGWHEEL_IOC_INFO, &info));
	EXPECT_EQ(0, dev_setup(self->fd, "", 0, info.tick_ns_min, 0));
	EXPECT_EQ(0, dev_setup(fd, "", 0, info.tick_ns_max, 0));
	EXPECT_EQ(0, CALL(fd, COGWHEEL_IOC_GEOMETRY, &g));
	EXPECT_EQ(info.tick_ns_max, g.tick_ns);
	close(fd);
}

TEST_F(query, jiffies_are_as_long_as_info_says)
{
	struct cogwheel_ioc_info info = { };
	struct cogwheel_ioc_geometry g = { };

	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_INFO, &info));
	ASSERT_EQ(0, dev_setup(self->fd, "", COGWHEEL_CLOCK_JIFFIES, 0, 0));
	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_GEOMETRY, &g));
	EXPECT_EQ(COGWHEEL_CLOCK_JIFFIES, g.clock);
	EXPECT_EQ(info.jiffy_ns, g.tick_ns);
}

/* What does not need a wheel leaves the file to be set up. */
TEST_F(query, setup_after_what_needs_no_wheel)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	struct cogwheel_ioc_info info = { };
	struct cogwheel_ioc_kind k = { };
	struct cogwheel_event e;

	EXPECT_EQ(0, CALL(self->fd, COGWHEEL_IOC_INFO, &info));
	EXPECT_EQ(0, CALL(self->fd, COGWHEEL_IOC_KIND, &k));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	EXPECT_EQ(0, dev_read(self->fd, &e, 1));
	EXPECT_EQ(-EINVAL, dev_setup(self->fd, "none", 0, 0, 0));
	EXPECT_EQ(0, dev_setup(self->fd, "", COGWHEEL_CLOCK_MANUAL, 0, 3));
}

/* Each ioctl that needs a wheel makes the file one of the defaults. */
TEST_F(query, ebusy_setup_after_first_use)
{
	union argument arg;
	size_t i;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		int fd = dev_open(0);

		ASSERT_GE(fd, 0);
		valid(&calls[i], &arg, 1);
		if (calls[i].cmd == COGWHEEL_IOC_INFO ||
		    calls[i].cmd == COGWHEEL_IOC_KIND) {
			close(fd);
			continue;
		}
		/* CANCEL and ADVANCE fail, but not for want of a wheel. */
		ioctl(fd, calls[i].cmd, &arg);
		EXPECT_EQ(-EBUSY, dev_setup(fd, "", COGWHEEL_CLOCK_MANUAL,
					    0, 0))
			TH_LOG("%s", calls[i].name);
		close(fd);
	}
}

/* A longer structure of a later header, all of whose news is zero. */
TEST_F(query, growth_zero_tail)
{
	union argument arg, before;
	size_t i, tail;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		for (tail = 1; tail <= 4096 - calls[i].now;
		     tail += tail < 20 ? 1 : 500) {
			int fd = dev_open(0);
			__u64 handle = 0;

			ASSERT_GE(fd, 0);
			if (calls[i].cmd != COGWHEEL_IOC_SETUP) {
				ASSERT_EQ(0, dev_setup(fd, "",
						       COGWHEEL_CLOCK_MANUAL,
						       0, 0));
				handle = dev_in(fd, 100, 0);
			}
			valid(&calls[i], &arg, handle);
			arg.size = calls[i].now + tail;
			/* Behind the structure: not ours to touch. */
			memset(arg.byte + arg.size, 0x5a, 64);
			before = arg;
			EXPECT_EQ(0, result(ioctl(fd, calls[i].cmd, &arg)))
				TH_LOG("%s +%zu", calls[i].name, tail);
			EXPECT_EQ(calls[i].now + tail, arg.size);
			EXPECT_EQ(0, memcmp(arg.byte + calls[i].now,
					    before.byte + calls[i].now,
					    tail + 64));
			close(fd);
		}
	}
}

/* The number is the command; size and direction in it are for strace. */
TEST_F(query, growth_number_with_another_size)
{
	struct cogwheel_ioc_info info = { .size = sizeof(info) };
	unsigned int cmd = _IOC(_IOC_READ | _IOC_WRITE, COGWHEEL_IOC_TYPE,
				_IOC_NR(COGWHEEL_IOC_INFO), 200);

	EXPECT_EQ(0, result(ioctl(self->fd, cmd, &info)));
	EXPECT_EQ(COGWHEEL_VERSION, info.version);
}

TEST_F(query, node_is_for_its_owner_only)
{
	struct stat st;

	ASSERT_EQ(0, stat(DEVICE, &st));
	EXPECT_TRUE(S_ISCHR(st.st_mode));
	EXPECT_EQ(0600, st.st_mode & 07777);
}

TEST_F(query, no_position_to_seek_to)
{
	char buf[64];

	EXPECT_EQ(-ESPIPE, result(lseek(self->fd, 0, SEEK_SET)));
	EXPECT_EQ(-ESPIPE, result(pread(self->fd, buf, sizeof(buf), 0)));
	EXPECT_EQ(-EINVAL, result(write(self->fd, buf, sizeof(buf))));
}

/* fdinfo has a line for each of these. */
TEST_F(query, fdinfo)
{
	static const char * const lines[] = {
		"cogwheel-kind:\tcascading\n", "cogwheel-clock:\tmanual\n",
		"cogwheel-tick-ns:\t0\n", "cogwheel-now:\t7\n",
		"cogwheel-next:\t10\n", "cogwheel-pending:\t2\n",
		"cogwheel-unread:\t1\n", "cogwheel-timers:\t3\n",
		"cogwheel-fired:\t1\n",
	};
	char path[64], text[4096];
	size_t i, n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", self->fd);
	file = fopen(path, "r");
	if (!file)
		SKIP(return, "no /proc");
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = 0;
	EXPECT_NE(NULL, strstr(text, "cogwheel-kind:\tnone\n"));

	ASSERT_EQ(0, dev_setup(self->fd, "cascading", COGWHEEL_CLOCK_MANUAL,
			       0, 5));
	dev_in(self->fd, 1, 0);
	dev_in(self->fd, 5, 0);
	dev_in(self->fd, 50, 0);
	ASSERT_EQ(0, dev_advance_by(self->fd, 2));
	file = fopen(path, "r");
	ASSERT_NE(NULL, file);
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = 0;
	for (i = 0; i < ARRAY_LEN(lines); i++)
		EXPECT_NE(NULL, strstr(text, lines[i]))
			TH_LOG("%s missing in\n%s", lines[i], text);
}

TEST_HARNESS_MAIN
