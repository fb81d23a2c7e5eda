// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile program: random system calls on /dev/cogwheel from several
 * processes, with structures that are random, nearly right, or right with one
 * field spoilt, from memory that is there, read-only or not there. Whatever it
 * does, the device must go on to serve others rightly, and the kernel must not
 * complain.
 *
 *	COGWHEEL_SEED	seed, printed; 1 if not given
 *	COGWHEEL_STEPS	calls of each process; 30000
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "device.h"

enum { PROCESSES = 4, FILES = 4, HANDLES = 64 };

union argument {
	__u32 size;
	struct cogwheel_ioc_info info;
	struct cogwheel_ioc_kind kind;
	struct cogwheel_ioc_setup setup;
	struct cogwheel_ioc_geometry geometry;
	struct cogwheel_ioc_state state;
	struct cogwheel_ioc_arm arm;
	struct cogwheel_ioc_cancel cancel;
	struct cogwheel_ioc_advance advance;
	struct cogwheel_ioc_walk walk;
	struct cogwheel_ioc_batch batch;
	struct cogwheel_ioc_ring ring;
	unsigned char byte[512];
};

struct fuzz {
	__u64 seed;
	int fd[FILES];
	__u64 handle[HANDLES];
	unsigned char *map;	/* read-write, read-only, nothing: a page each */
	size_t page;
};

static const unsigned int commands[] = {
	COGWHEEL_IOC_INFO, COGWHEEL_IOC_KIND, COGWHEEL_IOC_SETUP,
	COGWHEEL_IOC_GEOMETRY, COGWHEEL_IOC_STATE, COGWHEEL_IOC_ARM,
	COGWHEEL_IOC_CANCEL, COGWHEEL_IOC_ADVANCE, COGWHEEL_IOC_WALK,
	COGWHEEL_IOC_BATCH, COGWHEEL_IOC_RING,
};

/* A number of any magnitude, often at an edge. */
static __u64 number(struct fuzz *f)
{
	__u64 n = rnd(&f->seed);

	switch (n & 7) {
	case 0:
		return n >> 3 & 3;
	case 1:
		return -(n >> 3 & 3);
	case 2:
		return 1ULL << (n >> 3 & 63);
	case 3:
		return (1ULL << (n >> 3 & 63)) - 1;
	default:
		return rnd(&f->seed) >> (n >> 3 & 63);
	}
}

static __u64 handle(struct fuzz *f)
{
	__u64 n = rnd(&f->seed), h = f->handle[n % HANDLES];

	if (n >> 32 & 15)
		return h;
	return n >> 40 & 1 ? h ^ 1ULL << (n >> 48 & 63) : number(f);
}

/* An address: mostly good, else one that ends early, is read-only or bad. */
static void *address(struct fuzz *f, size_t size)
{
	__u64 n = rnd(&f->seed);

	switch (n & 31) {
	case 0:
		return f->map + f->page - (n >> 8) % (size + 1);
	case 1:
		return f->map + 2 * f->page - (n >> 8) % (size + 1);
	case 2:
		return (void *)(uintptr_t)number(f);
	case 3:
		return f->map + (n >> 8) % 64;
	default:
		return f->map;
	}
}

static bool in_map(struct fuzz *f, void *at, size_t size)
{
	/* An offset below the map is a huge one. */
	return (uintptr_t)at - (uintptr_t)f->map <= f->page - size;
}

/* Entries somewhere; what follows them is whatever is there. */
static void *fuzz_ops(struct fuzz *f, int nr)
{
	struct cogwheel_op *at = address(f, nr * sizeof(*at));
	int i;

	for (i = 0; i < nr && in_map(f, at + i, sizeof(*at)); i++) {
		__u64 n = rnd(&f->seed);
		struct cogwheel_op op = {
			.op = n & 15 ? n >> 4 & 1 : n >> 4,
			.flags = n >> 5 & 7,
		};

		if (op.op != COGWHEEL_OP_CANCEL) {
			op.when = number(f);
			op.period = n >> 8 & 3 ? 0 : number(f);
			op.slack = n >> 10 & 3 ? 0 : number(f);
			op.user = n;
		} else if (n >> 16 & 7) {
			op.flags = 0;
		}
		if (op.op || op.flags & COGWHEEL_ARM_MOVE)
			op.handle = handle(f);
		memcpy(at + i, &op, sizeof(op));
	}
	return at;
}

static void fuzz_ioctl(struct fuzz *f, int fd)
{
	__u64 n = rnd(&f->seed);
	unsigned int cmd = commands[n % ARRAY_LEN(commands)];
	union argument arg = { };
	size_t size = _IOC_SIZE(cmd);
	void *at = address(f, size);
	__u64 items, ops;

	switch (cmd) {
	case COGWHEEL_IOC_KIND:
		arg.kind.index = n >> 8 & 15;
		break;
	case COGWHEEL_IOC_SETUP:
		arg.setup.clock = n >> 8 & 3;
		arg.setup.slots = n >> 10 & 3 ? 0 : number(f);
		arg.setup.levels = n >> 12 & 3 ? 0 : number(f);
		arg.setup.tick_ns = n >> 14 & 3 ? 0 : number(f);
		arg.setup.start = n >> 16 & 3 ? 0 : number(f);
		arg.setup.ring = n >> 24 & 1 ? 1 << (n >> 25 & 15) : 0;
		if (!(n >> 30 & 7))
			arg.setup.ring = number(f);
		if (n >> 18 & 1) {
			struct cogwheel_ioc_kind k = { .index = n >> 20 & 15 };

			if (!CALL(fd, COGWHEEL_IOC_KIND, &k))
				memcpy(arg.setup.kind, k.name,
				       sizeof(k.name));
		}
		break;
	case COGWHEEL_IOC_ARM:
		arg.arm.flags = n >> 8 & 7;
		arg.arm.when = number(f);
		arg.arm.period = n >> 10 & 3 ? 0 : number(f);
		arg.arm.slack = n >> 12 & 3 ? 0 : number(f);
		arg.arm.user = n;
		if (arg.arm.flags & COGWHEEL_ARM_MOVE)
			arg.arm.handle = handle(f);
		break;
	case COGWHEEL_IOC_CANCEL:
		arg.cancel.handle = handle(f);
		break;
	case COGWHEEL_IOC_ADVANCE:
		arg.advance.flags = !(n >> 8 & 7);
		arg.advance.to = number(f);
		break;
	case COGWHEEL_IOC_WALK:
		arg.walk.items = (uintptr_t)address(f, 4096);
		arg.walk.count = n >> 8 & 1 ? n >> 9 & 63 : number(f);
		arg.walk.pos[0] = n >> 16 & 1 ? 0 : number(f);
		arg.walk.pos[1] = n >> 17 & 1 ? 0 : number(f);
		break;
	case COGWHEEL_IOC_BATCH:
		arg.batch.op_size = n >> 8 & 7 ? sizeof(struct cogwheel_op) :
				    number(f);
		arg.batch.count = n >> 11 & 7 ? n >> 14 & 255 : number(f);
		arg.batch.ops = (uintptr_t)fuzz_ops(f, n >> 22 & 63);
		break;
	}
	arg.size = size;
	/* Spoil it, but not so that it points to memory of our own. */
	items = arg.walk.items;
	ops = arg.batch.ops;
	switch (n >> 56 & 15) {
	case 0:
		arg.byte[(n >> 40) % size] ^= 1 << (n >> 53 & 7);
		if (cmd == COGWHEEL_IOC_WALK)
			arg.walk.items = items;
		if (cmd == COGWHEEL_IOC_BATCH)
			arg.batch.ops = ops;
		break;
	case 1:
		arg.size = number(f);
		break;
	case 2:
		arg.size = size + (n >> 40 & 63);
		break;
	case 3:
		cmd ^= 1U << (n >> 40 & 31);
		break;
	}
	if (!in_map(f, at, sizeof(arg))) {
		/* Behind the map or across its end: whatever is there. */
		if (in_map(f, at, 4))
			memcpy(at, &arg, f->map + f->page -
					 (unsigned char *)at);
		ioctl(fd, cmd, at);
		return;
	}
	memcpy(at, &arg, sizeof(arg));
	if (ioctl(fd, cmd, at))
		return;
	if (cmd == COGWHEEL_IOC_ARM)
		f->handle[n >> 20 & (HANDLES - 1)] =
			((struct cogwheel_ioc_arm *)at)->handle;
}

/* Maps the ring, if there is one, and writes where it should and should not. */
static void fuzz_ring(struct fuzz *f, int fd)
{
	__u64 n = rnd(&f->seed);
	size_t size = n & 7 ? f->page : number(f);
	struct cogwheel_ring *ring;
	__u32 *word;
	int i;

	ring = mmap(NULL, size, n >> 3 & 15 ? PROT_READ | PROT_WRITE : n >> 7 & 7,
		    n >> 10 & 15 ? MAP_SHARED : MAP_PRIVATE, fd,
		    n >> 14 & 15 ? 0 : f->page);
	if (ring == MAP_FAILED)
		return;
	if ((n & 7) && (n >> 3 & 15)) {
		word = (__u32 *)ring;
		for (i = 0; i < (int)(n >> 18 & 15); i++)
			word[rnd(&f->seed) % (f->page / 4)] = number(f);
		ring->head = n >> 22 & 3 ? ring->tail : number(f);
	}
	munmap(ring, size);
}

static void fuzz_other(struct fuzz *f, int *fd)
{
	__u64 n = rnd(&f->seed);
	size_t size = n >> 8 & 4095;
	struct pollfd pfd = { .fd = *fd, .events = POLLIN };
	struct iovec v[2];

	switch (n & 15) {
	case 0:
		close(*fd);
		*fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
		break;
	case 1:
		poll(&pfd, 1, 0);
		break;
	case 2:
		v[0].iov_base = address(f, size);
		v[0].iov_len = n >> 20 & 127;
		v[1].iov_base = address(f, size);
		v[1].iov_len = size;
		if (readv(*fd, v, 2) < 0)
			break;
		break;
	case 3:
		ioctl(*fd, number(f), address(f, 64));
		break;
	case 5:
	case 6:
	case 7:
		fuzz_ring(f, *fd);
		break;
	case 4:
		if (lseek(*fd, number(f), n >> 20 & 3) < 0)
			break;
		break;
	default:
		if (read(*fd, address(f, size), size) < 0)
			break;
		break;
	}
}

static void fuzz(__u64 seed, __u64 steps, int shared)
{
	struct fuzz f = { .seed = seed, .page = getpagesize() };
	__u64 step;
	int i;

	f.map = mmap(NULL, 3 * f.page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f.map == MAP_FAILED ||
	    mprotect(f.map + f.page, f.page, PROT_READ) ||
	    munmap(f.map + 2 * f.page, f.page))
		_exit(2);
	/* One file is everybody's. */
	f.fd[0] = shared;
	for (i = 1; i < FILES; i++)
		f.fd[i] = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	for (step = 0; step < steps; step++) {
		i = rnd(&f.seed) % FILES;
		if (rnd(&f.seed) % 8)
			fuzz_ioctl(&f, f.fd[i]);
		else
			fuzz_other(&f, i ? &f.fd[i] : &f.fd[1]);
	}
	_exit(0);
}

/* It still does what it should, for somebody who had no part in it. */
static void check(struct __test_metadata *_metadata)
{
	struct cogwheel_event e;
	int fd = dev_open(O_NONBLOCK);
	__u64 handle;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, dev_setup(fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	handle = dev_in(fd, 10, 1);
	ASSERT_NE(0, handle);
	ASSERT_EQ(0, dev_advance_by(fd, 10));
	ASSERT_EQ(1, dev_read(fd, &e, 1));
	EXPECT_EQ(handle, e.handle);
	EXPECT_EQ(10, e.fired);
	close(fd);
}

FIXTURE(hostile) {
	int shared;
};

FIXTURE_VARIANT(hostile) {
	__u32 clock;
};

FIXTURE_VARIANT_ADD(hostile, manual) {
	.clock = COGWHEEL_CLOCK_MANUAL,
};

FIXTURE_VARIANT_ADD(hostile, monotonic) {
	.clock = COGWHEEL_CLOCK_MONOTONIC,
};

FIXTURE_VARIANT_ADD(hostile, jiffies) {
	.clock = COGWHEEL_CLOCK_JIFFIES,
};

FIXTURE_SETUP(hostile)
{
	self->shared = dev_open(O_NONBLOCK);
	if (self->shared == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->shared, 0);
	ASSERT_EQ(0, dev_setup(self->shared, "", variant->clock, 0, 0));
}

FIXTURE_TEARDOWN(hostile)
{
	close(self->shared);
}

TEST_F_TIMEOUT(hostile, random_calls, 600)
{
	__u64 seed = env_u64("COGWHEEL_SEED", 1);
	__u64 steps = env_u64("COGWHEEL_STEPS", 30000);
	pid_t pid[PROCESSES];
	int i, status;

	TH_LOG("COGWHEEL_SEED=%llu", (long long)seed);
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		ASSERT_GE(pid[i], 0);
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			fuzz(seed * PROCESSES + i, steps, self->shared);
		}
	}
	check(_metadata);
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	check(_metadata);
}

/* Killed in the middle of whatever it does. */
TEST_F(hostile, killed)
{
	__u64 seed = env_u64("COGWHEEL_SEED", 1), end;
	int i, status;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			fuzz(seed + i, UINT64_MAX, self->shared);
		}
		end = mono_ns() + (rnd(&seed) % 50) * 1000000;
		while (mono_ns() < end)
			sched_yield();
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(SIGKILL, WTERMSIG(status));
	}
	check(_metadata);
}

TEST_HARNESS_MAIN
