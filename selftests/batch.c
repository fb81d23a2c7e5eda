// SPDX-License-Identifier: GPL-2.0
/*
 * Batches on /dev/cogwheel: that they do what single calls do, on every kind;
 * that a bad entry fails alone; what memory that cannot be used and signals
 * leave done; and times in nanoseconds, which batches and single calls share.
 *
 *	COGWHEEL_SEED	seed, printed; 1 if not given
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "device.h"

/* The whole batch, or as far as it came. */
static int batch(int fd, struct cogwheel_op *ops, __u64 count, __u64 *done,
		 __u64 *failed)
{
	struct cogwheel_ioc_batch b = {
		.ops = (uintptr_t)ops, .count = count, .op_size = sizeof(*ops),
		.done = 12345, .failed = 12345,
	};
	int err = CALL(fd, COGWHEEL_IOC_BATCH, &b);

	if (done)
		*done = b.done;
	if (failed)
		*failed = b.failed;
	return err;
}

/* All of a batch without an error in any entry. */
static int batch_ok(int fd, struct cogwheel_op *ops, __u64 count)
{
	__u64 done, failed;
	int err = batch(fd, ops, count, &done, &failed);

	return err ? err : done != count || failed ? -EBADMSG : 0;
}

/* The same by a call of its own. */
static int single(int fd, struct cogwheel_op *op)
{
	struct cogwheel_ioc_arm arm = {
		.flags = op->flags, .handle = op->handle, .when = op->when,
		.period = op->period, .slack = op->slack, .user = op->user,
	};
	struct cogwheel_ioc_cancel cancel = { .handle = op->handle };

	if (op->op == COGWHEEL_OP_ARM) {
		op->error = dev_arm(fd, &arm);
		if (!op->error) {
			op->handle = arm.handle;
			op->due = arm.due;
			op->result = arm.result;
		}
	} else {
		op->error = CALL(fd, COGWHEEL_IOC_CANCEL, &cancel);
		if (!op->error) {
			op->due = 0;
			op->result = cancel.result;
		}
	}
	return op->error;
}

static int open_manual(const char *kind)
{
	int fd = dev_open(O_NONBLOCK), err;

	if (fd < 0)
		return fd;
	err = dev_setup(fd, kind, COGWHEEL_CLOCK_MANUAL, 0, 0);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

FIXTURE(kind) {
	int fd;
	struct cogwheel_ioc_kind kind;
};

FIXTURE_VARIANT(kind) {
	const char *kind;
};

ALL_KINDS(KIND_VARIANT, kind)

FIXTURE_SETUP(kind)
{
	char name[COGWHEEL_NAME_LEN];

	kind_name(name, variant->kind);
	self->fd = dev_open(O_NONBLOCK);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	if (dev_kind(self->fd, name, &self->kind))
		SKIP(return, "no kind %s", name);
	ASSERT_EQ(0, dev_setup(self->fd, name, COGWHEEL_CLOCK_MANUAL, 0, 0));
}

FIXTURE_TEARDOWN(kind)
{
	close(self->fd);
}

enum { SLOTS = 200, ROUNDS = 150, BATCH_MAX = 300 };

struct pair {
	int fd[2];
	__u64 handle[2][SLOTS];
};

/* A random operation, the same for both files but for the handle. */
static int random_op(__u64 *seed, struct cogwheel_op *op)
{
	__u64 n = rnd(seed);
	int slot = n % SLOTS;

	*op = (struct cogwheel_op) { .due = n, .result = n, .error = n };
	if (!(n >> 8 & 3)) {
		op->op = COGWHEEL_OP_CANCEL;
		return slot;
	}
	op->flags = n >> 10 & 1 ? COGWHEEL_ARM_MOVE : 0;
	if (!(n >> 11 & 7))
		op->flags |= COGWHEEL_ARM_ABSOLUTE;
	op->when = rnd(seed) >> (40 + (n >> 16) % 24);
	if (!(n >> 24 & 3))
		op->period = 1 + (rnd(seed) >> 54);
	op->slack = n >> 32 & 15;
	op->user = n >> 40;
	/* Some that are refused. */
	if (!(n >> 48 & 31))
		op->flags |= 1U << (3 + (n >> 53) % 29);
	return slot;
}

/* Single calls on one file and batches on the other: nothing tells them apart. */
TEST_F(kind, as_single_calls_do)
{
	struct pair p = { .fd = { self->fd, open_manual(self->kind.name) } };
	__u64 seed = env_u64("COGWHEEL_SEED", 1), done, failed, bad;
	struct cogwheel_op op[2][BATCH_MAX];
	struct cogwheel_event e[2][64];
	struct cogwheel_ioc_state s[2];
	int slot[BATCH_MAX];
	int round, i, nr, n[2];
	__u64 to, now[2];

	TH_LOG("seed %llu", seed);
	ASSERT_GE(p.fd[1], 0);
	for (round = 0; round < ROUNDS; round++) {
		nr = rnd(&seed) % BATCH_MAX;
		bad = 0;
		for (i = 0; i < nr; i++) {
			slot[i] = random_op(&seed, &op[0][i]);
			op[1][i] = op[0][i];
			/* What a batch armed has a handle only afterwards. */
			op[0][i].handle = p.handle[0][slot[i]];
			op[1][i].handle = p.handle[1][slot[i]];
			bad += !!single(p.fd[0], &op[0][i]);
		}
		ASSERT_EQ(0, batch(p.fd[1], op[1], nr, &done, &failed));
		ASSERT_EQ(nr, done);
		ASSERT_EQ(bad, failed);
		for (i = 0; i < nr; i++) {
			ASSERT_EQ(op[0][i].error, op[1][i].error);
			ASSERT_EQ(op[0][i].user, op[1][i].user);
			ASSERT_EQ(op[0][i].due, op[1][i].due);
			ASSERT_EQ(op[0][i].result, op[1][i].result);
			if (op[0][i].error)
				continue;
			p.handle[0][slot[i]] = op[0][i].handle;
			p.handle[1][slot[i]] = op[1][i].handle;
		}
		to = rnd(&seed) >> (48 + rnd(&seed) % 16);
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, dev_advance(p.fd[i], 0, to, &now[i]));
		ASSERT_EQ(now[0], now[1]);
		nr = 1 + rnd(&seed) % 64;
		for (i = 0; i < 2; i++) {
			n[i] = dev_read(p.fd[i], e[i], nr);
			ASSERT_EQ(0, dev_state(p.fd[i], &s[i]));
		}
		ASSERT_EQ(n[0], n[1]);
		for (i = 0; i < n[0]; i++) {
			e[0][i].handle = 0;
			e[1][i].handle = 0;
			ASSERT_EQ(0, memcmp(&e[0][i], &e[1][i], sizeof(e[0][i])));
		}
		ASSERT_EQ(0, memcmp(&s[0], &s[1], sizeof(s[0])));
	}
	close(p.fd[1]);
}

/* Armed in batches of many sizes, moved, some cancelled: each fires once. */
TEST_F(kind, all_delivered_once)
{
	enum { MOST = 3000 };
	static struct cogwheel_op ops[MOST];
	static unsigned char got[MOST];
	struct cogwheel_event e[64];
	__u32 max = self->kind.max_timers;
	int first, i, n, size = 1, nr = max && max < MOST ? max : MOST;

	for (i = 0; i < nr; i++)
		ops[i] = (struct cogwheel_op) { .when = 1 + i * 7 % 500,
						.user = i };
	for (first = 0; first < nr; first += size, size = size * 2 % 1021) {
		n = first + size < nr ? size : nr - first;
		ASSERT_EQ(0, batch_ok(self->fd, ops + first, n));
	}
	for (i = 0; i < nr; i++)
		if (i % 3 == 0)
			ops[i].flags = COGWHEEL_ARM_MOVE;
		else if (i % 3 == 1)
			ops[i] = (struct cogwheel_op) {
				.op = COGWHEEL_OP_CANCEL,
				.handle = ops[i].handle,
			};
		else
			ops[i] = (struct cogwheel_op) {
				.flags = COGWHEEL_ARM_MOVE,
				.handle = ops[i].handle, .when = 1000,
				.period = 0, .user = ops[i].user,
			};
	ASSERT_EQ(0, batch_ok(self->fd, ops, nr));
	for (i = 0; i < nr; i++)
		ASSERT_EQ(COGWHEEL_WAS_PENDING, ops[i].result);
	ASSERT_EQ(0, dev_advance_by(self->fd, 3000));
	while ((n = dev_read(self->fd, e, 64)) > 0)
		for (i = 0; i < n; i++) {
			ASSERT_LT(e[i].user, nr);
			got[e[i].user]++;
		}
	ASSERT_EQ(0, n);
	for (i = 0; i < nr; i++)
		ASSERT_EQ(i % 3 != 1, got[i]);
}

/* Of a kind that takes only so many, and has them: one out, another one in. */
TEST_F(kind, full_and_one_gives_way)
{
	__u32 max = self->kind.max_timers, i;
	struct cogwheel_op *ops, two[2];
	__u64 failed;

	if (!max)
		SKIP(return, "takes any number");
	ops = calloc(max + 1, sizeof(*ops));
	ASSERT_NE(NULL, ops);
	for (i = 0; i <= max; i++)
		ops[i].when = 1000;
	ASSERT_EQ(0, batch(self->fd, ops, max + 1, NULL, &failed));
	EXPECT_EQ(1, failed);
	EXPECT_EQ(-ENOSPC, ops[max].error);
	for (i = 0; i < 3; i++) {
		two[0] = (struct cogwheel_op) {
			.op = COGWHEEL_OP_CANCEL, .handle = ops[i].handle,
		};
		two[1] = (struct cogwheel_op) { .when = 5 };
		ASSERT_EQ(0, batch_ok(self->fd, two, 2));
		ASSERT_EQ(COGWHEEL_WAS_PENDING,
			  dev_cancel(self->fd, two[1].handle));
		ASSERT_NE(0, dev_in(self->fd, 5, 0));
	}
	free(ops);
}

/* A file on a manual clock with one pending timer. */
FIXTURE(batch) {
	int fd;
	__u64 handle;
};

FIXTURE_SETUP(batch)
{
	self->fd = open_manual("");
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	self->handle = dev_in(self->fd, 500, 1);
	ASSERT_NE(0, self->handle);
}

FIXTURE_TEARDOWN(batch)
{
	close(self->fd);
}

static __u64 timers(int fd)
{
	struct cogwheel_ioc_state s;

	return dev_state(fd, &s) ? 0 : s.timers;
}

TEST_F(batch, nothing)
{
	__u64 done, failed;

	EXPECT_EQ(0, batch(self->fd, NULL, 0, &done, &failed));
	EXPECT_EQ(0, done);
	EXPECT_EQ(0, failed);
}

/* It sets an unconfigured file up, as the single calls do; a refusal does not. */
TEST_F(batch, is_a_use)
{
	struct cogwheel_ioc_batch b = { .flags = 1 };
	int fd = dev_open(0);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(-EINVAL, CALL(fd, COGWHEEL_IOC_BATCH, &b));
	ASSERT_EQ(0, dev_setup(fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	close(fd);
	fd = dev_open(0);
	ASSERT_EQ(0, batch(fd, NULL, 0, NULL, NULL));
	EXPECT_EQ(-EBUSY, dev_setup(fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0));
	close(fd);
}

TEST_F(batch, a_bad_entry_fails_alone)
{
	struct cogwheel_op bad[] = {
		{ .op = 2 },
		{ .op = ~0U },
		{ .flags = 0x8 },
		{ .flags = 0x80000000 },
		{ .flags = COGWHEEL_ARM_NS, .when = 5 },
		{ .flags = COGWHEEL_ARM_MOVE, .handle = 0 },
		{ .flags = COGWHEEL_ARM_MOVE, .handle = self->handle ^ 8,
		  .period = 5 },
		{ .op = COGWHEEL_OP_CANCEL, .handle = ~0ULL },
		{ .op = COGWHEEL_OP_CANCEL, .handle = self->handle, .flags = 1 },
		{ .op = COGWHEEL_OP_CANCEL, .handle = self->handle, .when = 1 },
		{ .op = COGWHEEL_OP_CANCEL, .handle = self->handle, .period = 1 },
		{ .op = COGWHEEL_OP_CANCEL, .handle = self->handle, .slack = 1 },
		{ .op = COGWHEEL_OP_CANCEL, .handle = self->handle, .user = 1 },
	};
	static const int error[] = {
		-EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -ENOENT, -ENOENT,
		-ENOENT, -EINVAL, -EINVAL, -EINVAL, -EINVAL, -EINVAL,
	};
	struct cogwheel_op ops[2 * ARRAY_LEN(bad) + 1];
	__u64 done, failed;
	size_t i;

	memset(ops, 0, sizeof(ops));
	for (i = 0; i < ARRAY_LEN(bad); i++)
		ops[2 * i + 1] = bad[i];
	for (i = 0; i < ARRAY_LEN(ops); i += 2)
		ops[i].when = 10 + i;
	ASSERT_EQ(0, batch(self->fd, ops, ARRAY_LEN(ops), &done, &failed));
	EXPECT_EQ(ARRAY_LEN(ops), done);
	EXPECT_EQ(ARRAY_LEN(bad), failed);
	for (i = 0; i < ARRAY_LEN(bad); i++)
		EXPECT_EQ(error[i], ops[2 * i + 1].error)
			TH_LOG("entry %zu", i);
	for (i = 0; i < ARRAY_LEN(ops); i += 2) {
		EXPECT_EQ(0, ops[i].error);
		EXPECT_EQ(10 + i, ops[i].due);
		EXPECT_EQ(COGWHEEL_WAS_PENDING,
			  dev_cancel(self->fd, ops[i].handle));
	}
	EXPECT_EQ(1, timers(self->fd));
	EXPECT_EQ(COGWHEEL_WAS_PENDING, dev_cancel(self->fd, self->handle));
}

/* Of entries that name one timer the later ones see what the earlier did. */
TEST_F(batch, in_order)
{
	struct cogwheel_op ops[] = {
		{ .flags = COGWHEEL_ARM_MOVE, .handle = self->handle,
		  .when = 7, .period = 3 },
		{ .flags = COGWHEEL_ARM_MOVE, .handle = self->handle,
		  .when = 9 },
		{ .op = COGWHEEL_OP_CANCEL, .handle = self->handle },
		{ .op = COGWHEEL_OP_CANCEL, .handle = self->handle },
		{ .flags = COGWHEEL_ARM_MOVE, .handle = self->handle },
	};
	__u64 failed;

	ASSERT_EQ(0, batch(self->fd, ops, ARRAY_LEN(ops), NULL, &failed));
	EXPECT_EQ(2, failed);
	EXPECT_EQ(0, ops[0].error | ops[1].error | ops[2].error);
	EXPECT_EQ(7, ops[0].due);
	EXPECT_EQ(9, ops[1].due);
	EXPECT_EQ(COGWHEEL_WAS_PENDING, ops[2].result);
	EXPECT_EQ(-ENOENT, ops[3].error);
	EXPECT_EQ(-ENOENT, ops[4].error);
	EXPECT_EQ(0, timers(self->fd));
}

TEST_F(batch, einval)
{
	struct cogwheel_op op = { .when = 5 };
	struct cogwheel_ioc_batch good = {
		.ops = (uintptr_t)&op, .count = 1, .op_size = sizeof(op),
	}, b;
	int i;

	for (i = 0; i < 32; i++) {
		b = good;
		b.flags = 1U << i;
		EXPECT_EQ(-EINVAL, CALL(self->fd, COGWHEEL_IOC_BATCH, &b));
	}
	b = good;
	b.reserved = 1;
	EXPECT_EQ(-EINVAL, CALL(self->fd, COGWHEEL_IOC_BATCH, &b));
	for (i = 0; i < (int)sizeof(op); i++) {
		b = good;
		b.op_size = i;
		EXPECT_EQ(-EINVAL, CALL(self->fd, COGWHEEL_IOC_BATCH, &b));
		EXPECT_EQ(0, b.done);
	}
	b = good;
	b.op_size = getpagesize() + 8;
	EXPECT_EQ(-E2BIG, CALL(self->fd, COGWHEEL_IOC_BATCH, &b));
	EXPECT_EQ(1, timers(self->fd));
}

/* Entries of a newer header: a tail of zeros is as none. */
TEST_F(batch, entries_that_grew)
{
	struct big {
		struct cogwheel_op op;
		__u64 more[3];
	} big[150];
	struct cogwheel_ioc_batch b = {
		.ops = (uintptr_t)big, .count = ARRAY_LEN(big),
		.op_size = sizeof(big[0]),
	};
	int i;

	memset(big, 0, sizeof(big));
	for (i = 0; i < ARRAY_LEN(big); i++)
		big[i].op.when = 1 + i;
	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_BATCH, &b));
	EXPECT_EQ(ARRAY_LEN(big), b.done);
	EXPECT_EQ(0, b.failed);
	for (i = 0; i < ARRAY_LEN(big); i++) {
		ASSERT_EQ(1 + i, big[i].op.due);
		ASSERT_EQ(0, big[i].more[0] | big[i].more[1] | big[i].more[2]);
		ASSERT_EQ(COGWHEEL_WAS_PENDING,
			  dev_cancel(self->fd, big[i].op.handle));
	}
	/* One that is not zero ends the batch before its piece. */
	big[100].more[2] = 1;
	ASSERT_EQ(-E2BIG, CALL(self->fd, COGWHEEL_IOC_BATCH, &b));
	EXPECT_LE(b.done, 100);
	EXPECT_EQ(1 + b.done, timers(self->fd));
}

/* Memory that ends within: what is before done was carried out, no more. */
TEST_F(batch, efault_memory_that_ends)
{
	size_t page = getpagesize(), nr, good;
	struct cogwheel_op *ops;
	__u64 done, failed, i;
	char *map;
	int fd;

	map = mmap(NULL, 17 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, munmap(map + 16 * page, page));
	for (nr = 1; nr < 700; nr += 13) {
		good = nr * 2 / 3;
		fd = open_manual("");
		ASSERT_GE(fd, 0);
		ops = (void *)(map + 16 * page - good * sizeof(*ops) - nr % 64);
		memset(ops, 0, good * sizeof(*ops));
		for (i = 0; i < good; i++)
			ops[i].when = 1 + i;
		ASSERT_EQ(-EFAULT, batch(fd, ops, nr, &done, &failed));
		ASSERT_LE(done, good);
		ASSERT_GE(done + 64, good);
		ASSERT_EQ(0, failed);
		ASSERT_EQ(done, timers(fd));
		for (i = 0; i < good; i++)
			ASSERT_EQ(i < done, ops[i].handle != 0);
		close(fd);
	}
	munmap(map, 16 * page);
}

/* Memory that can only be read: nothing is carried out whose result is lost. */
TEST_F(batch, efault_read_only)
{
	size_t page = getpagesize(), nr = 4 * page / sizeof(struct cogwheel_op);
	struct cogwheel_op *ops;
	__u64 done, i;

	ops = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, ops);
	for (i = 0; i < nr; i++)
		ops[i].when = 1 + i;
	ASSERT_EQ(0, mprotect((char *)ops + 2 * page, 2 * page, PROT_READ));
	ASSERT_EQ(-EFAULT, batch(self->fd, ops, nr, &done, NULL));
	EXPECT_EQ(nr / 2, done);
	EXPECT_EQ(1 + nr / 2, timers(self->fd));
	ASSERT_EQ(-EFAULT, batch(self->fd, ops + nr / 2, nr / 2, &done, NULL));
	EXPECT_EQ(0, done);
	EXPECT_EQ(1 + nr / 2, timers(self->fd));
	munmap(ops, 4 * page);
}

/* Sets how many timers a file may have, and says what it was. */
static int max_timers(int nr)
{
	FILE *file = fopen("/sys/module/cogwheel/parameters/max_timers", "r+");
	int old;

	if (!file)
		return -1;
	if (fscanf(file, "%d", &old) != 1)
		old = -1;
	rewind(file);
	fprintf(file, "%d\n", nr);
	return fclose(file) ? -1 : old;
}

TEST_F(batch, enospc_fails_alone)
{
	struct cogwheel_op ops[100];
	int i, old = max_timers(51), again;
	__u64 failed;

	if (old < 0)
		SKIP(return, "the limit cannot be set");
	memset(ops, 0, sizeof(ops));
	for (i = 0; i < 100; i++)
		ops[i].when = 1 + i;
	/* The 61st gives its place to the 62nd. */
	ops[60].op = COGWHEEL_OP_CANCEL;
	ops[60].when = 0;
	ops[60].handle = self->handle;
	again = batch(self->fd, ops, 100, NULL, &failed);
	EXPECT_EQ(51, max_timers(old));
	ASSERT_EQ(0, again);
	EXPECT_EQ(100 - 50 - 2, failed);
	for (i = 0; i < 100; i++)
		EXPECT_EQ(i < 50 || i == 60 || i == 61 ? 0 : -ENOSPC,
			  ops[i].error);
	EXPECT_EQ(51, timers(self->fd));
}

/* What a child that is killed in a batch had done, in memory that is shared. */
struct killed {
	struct cogwheel_ioc_batch b;
	int started;
	struct cogwheel_op op[];
};

TEST_F(batch, eintr_killed)
{
	const __u64 nr = env_u64("COGWHEEL_TIMERS", 400000);
	size_t size = sizeof(struct killed) + nr * sizeof(struct cogwheel_op);
	struct killed *k = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status, tries, cut = 0;
	__u64 i;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, k);
	for (tries = 0; tries < 50 && !cut; tries++) {
		memset(k, 0, sizeof(*k));
		for (i = 0; i < nr; i++)
			k->op[i] = (struct cogwheel_op) { .op = 99 };
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			k->b = (struct cogwheel_ioc_batch) {
				.ops = (uintptr_t)k->op, .count = nr,
				.op_size = sizeof(k->op[0]), .done = ~0ULL,
			};
			__atomic_store_n(&k->started, 1, __ATOMIC_SEQ_CST);
			for (;;)
				CALL(self->fd, COGWHEEL_IOC_BATCH, &k->b);
		}
		while (!__atomic_load_n(&k->started, __ATOMIC_SEQ_CST))
			sched_yield();
		usleep(tries * 100);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		/* Between two calls, or before the first: try again. */
		cut = k->b.done < nr;
	}
	ASSERT_EQ(1, cut);
	EXPECT_EQ(k->b.done, k->b.failed);
	for (i = 0; i < k->b.done; i++)
		ASSERT_EQ(-EINVAL, k->op[i].error);
	munmap(k, size);
}

/* What a process that is stuck in read() shares with the test. */
struct stuck {
	int fd;
	int copying;
	int none;		/* there is no such memory to be had */
	int err;
};

static void *read_to(void *to)
{
	struct stuck *s = to;
	long page = sysconf(_SC_PAGESIZE);

	return (void *)read(s->fd, (char *)s + page,
			    sizeof(struct cogwheel_event));
}

/*
 * Reads to memory that does not come, until it is killed: its event is being
 * copied all that time. @s is a page, which is shared, and before a private one.
 */
static void get_stuck(struct stuck *s)
{
	long page = sysconf(_SC_PAGESIZE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { (uintptr_t)s + page, page },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffd_msg msg;
	pthread_t thread;
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);

	s->none = uffd < 0;
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) ||
	    ioctl(uffd, UFFDIO_REGISTER, &reg)) {
		__atomic_store_n(&s->err, errno, __ATOMIC_SEQ_CST);
		_exit(1);
	}
	pthread_create(&thread, NULL, read_to, s);
	if (read(uffd, &msg, sizeof(msg)) == sizeof(msg))
		__atomic_store_n(&s->copying, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

/*
 * Killed between two entries that are carried out together, while the second
 * one waits for a reader: done is exact, and so are the results.
 */
TEST_F(batch, eintr_killed_within_a_piece)
{
	enum { NR = 40, AT = 17 };
	long page = sysconf(_SC_PAGESIZE);
	size_t size = sizeof(struct killed) + NR * sizeof(struct cogwheel_op);
	struct killed *k = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 end = mono_ns() + DEADLINE_MS * 1000000ULL;
	struct cogwheel_event e;
	int status, i;
	struct stuck *s;
	pid_t pid[2];

	ASSERT_NE(MAP_FAILED, k);
	ASSERT_NE(MAP_FAILED, pages);
	s = mmap(pages, page, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT_EQ(pages, (void *)s);
	s->fd = self->fd;
	ASSERT_EQ(0, dev_advance_by(self->fd, 500));
	pid[0] = fork();
	ASSERT_GE(pid[0], 0);
	if (!pid[0]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		get_stuck(s);
	}
	while (!__atomic_load_n(&s->copying, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&s->err, __ATOMIC_SEQ_CST))
		sched_yield();
	if (s->none)
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, s->err);

	for (i = 0; i < NR; i++)
		k->op[i] = (struct cogwheel_op) { .when = 9, .error = 12345 };
	k->op[AT] = (struct cogwheel_op) {
		.op = COGWHEEL_OP_CANCEL, .handle = self->handle, .error = 12345,
	};
	pid[1] = fork();
	ASSERT_GE(pid[1], 0);
	if (!pid[1]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		k->b = (struct cogwheel_ioc_batch) {
			.ops = (uintptr_t)k->op, .count = NR,
			.op_size = sizeof(k->op[0]), .done = ~0ULL,
		};
		CALL(self->fd, COGWHEEL_IOC_BATCH, &k->b);
		_exit(1);
	}
	while (timers(self->fd) < 1 + AT && mono_ns() < end)
		sched_yield();
	EXPECT_EQ(1 + AT, timers(self->fd));
	ASSERT_EQ(0, kill(pid[1], SIGKILL));
	ASSERT_EQ(pid[1], waitpid(pid[1], &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(AT, k->b.done);
	EXPECT_EQ(0, k->b.failed);
	for (i = 0; i < NR; i++) {
		EXPECT_EQ(i < AT ? 0 : 12345, k->op[i].error);
		if (i < AT)
			EXPECT_EQ(COGWHEEL_WAS_PENDING,
				  dev_cancel(self->fd, k->op[i].handle));
	}

	/* The reader did not get it, so it is there still. */
	ASSERT_EQ(0, kill(pid[0], SIGKILL));
	ASSERT_EQ(pid[0], waitpid(pid[0], &status, 0));
	EXPECT_EQ(1, timers(self->fd));
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	EXPECT_EQ(self->handle, e.handle);
	munmap(pages, 2 * page);
	munmap(k, size);
}

enum { THREADS = 4, PER_THREAD = 64 * 50 };

struct batcher {
	int fd;
	int nr;
	int err;
	pthread_t thread;
	struct cogwheel_op op[PER_THREAD];
};

static void *arm_and_cancel(void *arg)
{
	struct batcher *b = arg;
	int i, round;

	for (round = 0; round < 20 && !b->err; round++) {
		for (i = 0; i < PER_THREAD; i++)
			b->op[i] = (struct cogwheel_op) {
				.when = 1 + i % 97,
				.period = i % 5 ? 0 : 10,
				.user = b->nr * PER_THREAD + i,
			};
		b->err = batch_ok(b->fd, b->op, PER_THREAD);
		if (round == 19)
			break;
		for (i = 0; i < PER_THREAD; i++)
			b->op[i] = (struct cogwheel_op) {
				.op = COGWHEEL_OP_CANCEL,
				.handle = b->op[i].handle,
			};
		b->err = b->err ?: batch_ok(b->fd, b->op, PER_THREAD);
	}
	return NULL;
}

TEST_F(batch, threads_on_one_file)
{
	static struct batcher b[THREADS];
	static unsigned char got[THREADS * PER_THREAD];
	struct cogwheel_event e[64];
	int i, n;

	for (i = 0; i < THREADS; i++) {
		b[i] = (struct batcher) { .fd = self->fd, .nr = i };
		ASSERT_EQ(0, pthread_create(&b[i].thread, NULL, arm_and_cancel,
					    &b[i]));
	}
	for (i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(b[i].thread, NULL));
		EXPECT_EQ(0, b[i].err);
	}
	EXPECT_EQ(1 + THREADS * PER_THREAD, timers(self->fd));
	/* It stops for periodic timers that are unread. */
	while (timers(self->fd)) {
		ASSERT_EQ(0, dev_advance_by(self->fd, 400));
		while ((n = dev_read(self->fd, e, 64)) > 0)
			for (i = 0; i < n; i++) {
				if (e[i].handle == self->handle)
					continue;
				ASSERT_LT(e[i].user, THREADS * PER_THREAD);
				ASSERT_EQ(0, got[e[i].user]++);
				if (!(e[i].flags & COGWHEEL_EVENT_LAST))
					ASSERT_LE(0, dev_cancel(self->fd,
								e[i].handle));
			}
		ASSERT_EQ(0, n);
	}
	for (i = 0; i < THREADS * PER_THREAD; i++)
		ASSERT_EQ(1, got[i]);
}

/* A million, armed, moved and delivered, each exactly once. */
TEST_F_TIMEOUT(batch, a_million, 600)
{
	enum { AT_ONCE = 4096 };
	const int nr = env_u64("COGWHEEL_TIMERS", 1000000);
	static struct cogwheel_op ops[AT_ONCE];
	static struct cogwheel_event e[AT_ONCE];
	unsigned char *got = calloc(1, nr);
	__u64 *handle = calloc(nr, sizeof(*handle));
	int first, i, n, pass, left = nr;

	ASSERT_NE(NULL, got);
	ASSERT_NE(NULL, handle);
	for (pass = 0; pass < 2; pass++)
		for (first = 0; first < nr; first += n) {
			n = nr - first < AT_ONCE ? nr - first : AT_ONCE;
			for (i = 0; i < n; i++)
				ops[i] = (struct cogwheel_op) {
					.flags = pass ? COGWHEEL_ARM_MOVE : 0,
					.handle = handle[first + i],
					.when = 1 + (first + i) * 7919ULL %
						(1 << 20),
					.user = first + i,
				};
			ASSERT_EQ(0, batch_ok(self->fd, ops, n));
			for (i = 0; i < n; i++)
				handle[first + i] = ops[i].handle;
		}
	EXPECT_EQ(1 + nr, timers(self->fd));
	while (left) {
		ASSERT_EQ(0, dev_advance_by(self->fd, 1 << 16));
		while ((n = dev_read(self->fd, e, AT_ONCE)) > 0)
			for (i = 0; i < n; i++) {
				if (e[i].handle == self->handle)
					continue;
				ASSERT_LT(e[i].user, nr);
				ASSERT_EQ(0, got[e[i].user]);
				ASSERT_EQ(handle[e[i].user], e[i].handle);
				got[e[i].user] = 1;
				left--;
			}
		ASSERT_EQ(0, n);
	}
	EXPECT_EQ(0, timers(self->fd));
	free(handle);
	free(got);
}

/* Nanoseconds, on running clocks. */
FIXTURE(ns) {
	int fd;
	__u64 tick;
};

FIXTURE_VARIANT(ns) {
	__u32 clock;
	__u64 tick_ns;
	const char *kind;
};

FIXTURE_VARIANT_ADD(ns, us) {
	.clock = COGWHEEL_CLOCK_MONOTONIC, .tick_ns = 1000, .kind = "",
};

FIXTURE_VARIANT_ADD(ns, odd) {
	.clock = COGWHEEL_CLOCK_MONOTONIC, .tick_ns = 999983, .kind = "heap",
};

FIXTURE_VARIANT_ADD(ns, rounds) {
	.clock = COGWHEEL_CLOCK_MONOTONIC, .tick_ns = 1000000,
	.kind = "noncascading",
};

FIXTURE_VARIANT_ADD(ns, jiffies) {
	.clock = COGWHEEL_CLOCK_JIFFIES, .kind = "",
};

FIXTURE_SETUP(ns)
{
	struct cogwheel_ioc_geometry g = { };

	self->fd = dev_open(0);
	if (self->fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, dev_setup(self->fd, variant->kind, variant->clock,
			       variant->tick_ns, 0));
	ASSERT_EQ(0, CALL(self->fd, COGWHEEL_IOC_GEOMETRY, &g));
	self->tick = g.tick_ns;
}

FIXTURE_TEARDOWN(ns)
{
	close(self->fd);
}

TEST_F(ns, never_early)
{
	static const __u64 delays[] = {
		0, 1, 999, 1000, 1001, 999982, 999983, 999984, 2500000, 20000001,
	};
	struct cogwheel_event e;
	__u64 before;
	size_t i;

	for (i = 0; i < ARRAY_LEN(delays); i++) {
		struct cogwheel_op op = {
			.flags = COGWHEEL_ARM_NS, .when = delays[i],
		};

		before = mono_ns();
		ASSERT_EQ(0, batch_ok(self->fd, &op, 1));
		ASSERT_EQ(1, dev_read(self->fd, &e, 1));
		EXPECT_GE(mono_ns(), before + delays[i]);
		/* The same at a time. */
		before = mono_ns();
		op.flags |= COGWHEEL_ARM_ABSOLUTE;
		op.when = before + delays[i];
		ASSERT_EQ(0, single(self->fd, &op));
		ASSERT_EQ(1, dev_read(self->fd, &e, 1));
		EXPECT_GE(mono_ns(), before + delays[i]);
	}
}

/* Rounded up, and by no more than it takes. */
TEST_F(ns, rounded_up)
{
	struct cogwheel_ioc_state s, after;
	__u64 at, ns;
	int i;

	for (i = 0; i < 200; i++) {
		struct cogwheel_op op = {
			.flags = COGWHEEL_ARM_NS | COGWHEEL_ARM_ABSOLUTE,
		};

		at = mono_ns() + 10000000000ULL;
		op.when = at;
		ASSERT_EQ(0, dev_state(self->fd, &s));
		ASSERT_EQ(0, batch_ok(self->fd, &op, 1));
		ASSERT_EQ(0, dev_state(self->fd, &after));
		if (variant->clock == COGWHEEL_CLOCK_MONOTONIC) {
			EXPECT_EQ((at + self->tick - 1) / self->tick, op.due);
		} else {
			/* A slow machine is some ticks further by then. */
			ns = (op.due - after.now) * self->tick;
			EXPECT_LE(ns, 10000000000ULL + 2 * self->tick);
			ns = (op.due - s.now) * self->tick;
			EXPECT_GE(ns, 10000000000ULL - 5000000000ULL);
		}
		EXPECT_EQ(COGWHEEL_WAS_PENDING,
			  dev_cancel(self->fd, op.handle));
	}
	/* What is past is overdue; what is beyond all ticks never comes. */
	{
		struct cogwheel_op op = {
			.flags = COGWHEEL_ARM_NS | COGWHEEL_ARM_ABSOLUTE,
			.when = 1,
		};
		struct cogwheel_event e;

		ASSERT_EQ(0, batch_ok(self->fd, &op, 1));
		ASSERT_EQ(1, dev_read(self->fd, &e, 1));
		op.when = UINT64_MAX;
		ASSERT_EQ(0, batch_ok(self->fd, &op, 1));
		op.flags = COGWHEEL_ARM_NS;
		ASSERT_EQ(0, batch_ok(self->fd, &op, 1));
		EXPECT_EQ(2, timers(self->fd));
	}
}

/* A period of a tick and a bit is two. */
TEST_F(ns, periods)
{
	struct cogwheel_op op = {
		.flags = COGWHEEL_ARM_NS, .when = 0, .period = self->tick + 1,
	};
	struct cogwheel_event e, next;

	ASSERT_EQ(0, batch_ok(self->fd, &op, 1));
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	ASSERT_EQ(1, dev_read(self->fd, &next, 1));
	EXPECT_EQ(2 * (e.missed + 1), next.due - e.due);
	op.flags |= COGWHEEL_ARM_MOVE;
	op.period = 1;
	ASSERT_EQ(0, batch_ok(self->fd, &op, 1));
	ASSERT_EQ(1, dev_read(self->fd, &e, 1));
	ASSERT_EQ(1, dev_read(self->fd, &next, 1));
	EXPECT_EQ(e.missed + 1, next.due - e.due);
}

TEST_HARNESS_MAIN
