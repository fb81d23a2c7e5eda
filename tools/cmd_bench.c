// SPDX-License-Identifier: GPL-2.0
/*
 * cogctl bench: what a timer of /dev/cogwheel costs a program, beside the
 * kernel's other timers: timerfd, timer_create and io_uring's timeouts. Each
 * peer is used well: its objects are made beforehand and not counted, and who
 * takes batches gets them, all of the same size.
 *
 * A peer arms, moves and disarms all of N timers, which are far away, and then
 * delivers N that are due at one time; the time from then until the program has
 * the last event is what delivery costs. A system call that does nothing is
 * measured too, since on an emulated or paravirtual machine it is dear, which
 * flatters whoever makes few: "net" is without the calls themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/io_uring.h>
#include <linux/kernel.h>
#include <linux/time_types.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>

#include "../cogwheel_ioctl.h"
#include "commands.h"

#define NS_PER_S	1000000000ULL
#define BATCH		256	/* operations */
#define RING		32768
#define ROUNDS_MAX	99

enum work { WORK_ARM, WORK_REARM, WORK_CANCEL, WORK_EXPIRE, NR_WORKS };

static const char *const work_names[] = {
	[WORK_ARM] = "dev_arm",
	[WORK_REARM] = "dev_rearm",
	[WORK_CANCEL] = "dev_cancel",
	[WORK_EXPIRE] = "dev_expire",
};

struct bench;

/**
 * struct peer - a kind of timer
 * @open: make N timers that are not armed; a negative errno where it cannot
 * @set: arm or, with @again, move all of them to bench.when
 * @cancel: disarm all of them
 * @collect: have all events
 * @close: undo @open
 */
struct peer {
	const char *name;
	const char *form;
	int (*open)(struct bench *b);
	int (*set)(struct bench *b, bool again);
	int (*cancel)(struct bench *b);
	int (*collect)(struct bench *b);
	void (*close)(struct bench *b);
};

struct uring {
	int fd;
	void *rings;
	size_t rings_size;
	struct io_uring_sqe *sqe;
	size_t sqe_size;
	u32 *sq_tail, *sq_array, sq_mask;
	u32 *cq_head, *cq_tail, cq_mask;
	struct io_uring_cqe *cqe;
	u32 queued;
};

struct bench {
	u64 n;
	u64 *when;		/* CLOCK_MONOTONIC, in ns */
	u64 calls;		/* system calls made */
	u64 *handle;
	int *fds;
	timer_t *timers;
	struct __kernel_timespec *ts;
	struct epoll_event *ready;
	struct cogwheel_op *op;
	struct cogwheel_event *event;
	struct cogwheel_ring *ring;
	int fd;
	struct uring uring;
};

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * NS_PER_S + (u64)ts.tv_nsec;
}

static struct itimerspec spec(u64 ns)
{
	return (struct itimerspec) {
		.it_value.tv_sec = (time_t)(ns / NS_PER_S),
		.it_value.tv_nsec = (long)(ns % NS_PER_S),
	};
}

/* What the kernel has in slabs, in bytes. */
static u64 slab_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	u64 kb = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Slab: %llu", &kb) == 1)
			break;
	if (file)
		fclose(file);
	return kb * 1024;
}

/* /dev/cogwheel */

static int wheel_open(struct bench *b, u64 ring)
{
	struct cogwheel_ioc_setup setup = {
		.size = sizeof(setup), .ring = ring,
	};

	b->fd = open("/dev/cogwheel", O_RDWR | O_CLOEXEC);
	if (b->fd < 0)
		return -errno;
	b->ring = NULL;
	if (ioctl(b->fd, COGWHEEL_IOC_SETUP, &setup))
		return -errno;
	if (!ring)
		return 0;
	b->ring = mmap(NULL, COGWHEEL_RING_SIZE(ring), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, b->fd, 0);
	if (b->ring != MAP_FAILED)
		return 0;
	b->ring = NULL;
	return -errno;
}

static int wheel_open_read(struct bench *b)
{
	return wheel_open(b, 0);
}

static int wheel_open_ring(struct bench *b)
{
	return wheel_open(b, RING);
}

static int wheel_set(struct bench *b, bool again)
{
	for (u64 i = 0; i < b->n; i++) {
		struct cogwheel_ioc_arm arm = {
			.size = sizeof(arm),
			.flags = COGWHEEL_ARM_NS | COGWHEEL_ARM_ABSOLUTE |
				 (again ? COGWHEEL_ARM_MOVE : 0),
			.handle = b->handle[i],
			.when = b->when[i],
			.user = i,
		};

		b->calls++;
		if (ioctl(b->fd, COGWHEEL_IOC_ARM, &arm))
			return -errno;
		b->handle[i] = arm.handle;
	}
	return 0;
}

static int wheel_cancel(struct bench *b)
{
	for (u64 i = 0; i < b->n; i++) {
		struct cogwheel_ioc_cancel cancel = {
			.size = sizeof(cancel), .handle = b->handle[i],
		};

		b->calls++;
		if (ioctl(b->fd, COGWHEEL_IOC_CANCEL, &cancel))
			return -errno;
	}
	return 0;
}

static int wheel_submit(struct bench *b, u64 nr)
{
	struct cogwheel_ioc_batch batch = {
		.size = sizeof(batch), .ops = (uintptr_t)b->op, .count = nr,
		.op_size = sizeof(*b->op),
	};

	b->calls++;
	if (ioctl(b->fd, COGWHEEL_IOC_BATCH, &batch))
		return -errno;
	return batch.failed ? -EIO : 0;
}

static int wheel_batch_set(struct bench *b, bool again)
{
	u64 first, nr, i;
	int err = 0;

	for (first = 0; !err && first < b->n; first += nr) {
		nr = min(b->n - first, (u64)BATCH);
		for (i = 0; i < nr; i++)
			b->op[i] = (struct cogwheel_op) {
				.flags = COGWHEEL_ARM_NS |
					 COGWHEEL_ARM_ABSOLUTE |
					 (again ? COGWHEEL_ARM_MOVE : 0),
				.handle = again ? b->handle[first + i] : 0,
				.when = b->when[first + i],
				.user = first + i,
			};
		err = wheel_submit(b, nr);
		for (i = 0; i < nr; i++)
			b->handle[first + i] = b->op[i].handle;
	}
	return err;
}

static int wheel_batch_cancel(struct bench *b)
{
	u64 first, nr, i;
	int err = 0;

	for (first = 0; !err && first < b->n; first += nr) {
		nr = min(b->n - first, (u64)BATCH);
		for (i = 0; i < nr; i++)
			b->op[i] = (struct cogwheel_op) {
				.op = COGWHEEL_OP_CANCEL,
				.handle = b->handle[first + i],
			};
		err = wheel_submit(b, nr);
	}
	return err;
}

static int wheel_read(struct bench *b)
{
	u64 got = 0;

	while (got < b->n) {
		ssize_t bytes = read(b->fd, b->event,
				     BATCH * sizeof(*b->event));

		b->calls++;
		if (bytes < 0)
			return -errno;
		got += (u64)bytes / sizeof(*b->event);
	}
	return 0;
}

/* Consumes what there is, and waits when there is nothing. */
static int wheel_ring(struct bench *b)
{
	struct pollfd pfd = { .fd = b->fd, .events = POLLIN };
	const struct cogwheel_event *event =
		(void *)((char *)b->ring + b->ring->offset);
	u32 head = b->ring->head, tail;
	u64 got = 0, sum = 0;

	while (got < b->n) {
		tail = __atomic_load_n(&b->ring->tail, __ATOMIC_ACQUIRE);
		for (; head != tail; head++, got++)
			sum += event[head & (RING - 1)].user;
		__atomic_store_n(&b->ring->head, head, __ATOMIC_RELEASE);
		if (got == b->n)
			break;
		b->calls++;
		if (poll(&pfd, 1, -1) < 0)
			return -errno;
	}
	/* Each once, which also keeps the loads. */
	return sum == b->n * (b->n - 1) / 2 ? 0 : -EIO;
}

static void wheel_close(struct bench *b)
{
	if (b->ring)
		munmap(b->ring, COGWHEEL_RING_SIZE((u64)RING));
	if (b->fd >= 0)
		close(b->fd);
}

/* timerfd, on epoll */

static void timerfd_close(struct bench *b)
{
	for (u64 i = 0; i < b->n; i++)
		if (b->fds[i] >= 0)
			close(b->fds[i]);
	if (b->fd >= 0)
		close(b->fd);
}

static int timerfd_open(struct bench *b)
{
	u64 i;

	for (i = 0; i < b->n; i++)
		b->fds[i] = -1;
	b->fd = epoll_create1(EPOLL_CLOEXEC);
	for (i = 0; b->fd >= 0 && i < b->n; i++) {
		struct epoll_event e = { .events = EPOLLIN, .data.u64 = i };

		b->fds[i] = timerfd_create(CLOCK_MONOTONIC,
					   TFD_CLOEXEC | TFD_NONBLOCK);
		if (b->fds[i] < 0 ||
		    epoll_ctl(b->fd, EPOLL_CTL_ADD, b->fds[i], &e))
			return -errno;
	}
	return b->fd < 0 ? -errno : 0;
}

static int timerfd_set(struct bench *b, bool again)
{
	for (u64 i = 0; i < b->n; i++) {
		struct itimerspec its = spec(b->when[i]);

		b->calls++;
		if (timerfd_settime(b->fds[i], TFD_TIMER_ABSTIME, &its, NULL))
			return -errno;
	}
	return 0;
}

static int timerfd_cancel(struct bench *b)
{
	const struct itimerspec never = { 0 };

	for (u64 i = 0; i < b->n; i++) {
		b->calls++;
		if (timerfd_settime(b->fds[i], 0, &never, NULL))
			return -errno;
	}
	return 0;
}

static int timerfd_collect(struct bench *b)
{
	u64 got = 0, expired;

	while (got < b->n) {
		int nr = epoll_wait(b->fd, b->ready, BATCH, -1);

		b->calls += 1 + (u64)(nr > 0 ? nr : 0);
		for (int i = 0; i < nr; i++)
			if (read(b->fds[b->ready[i].data.u64], &expired,
				 sizeof(expired)) == sizeof(expired))
				got++;
		if (nr < 0)
			return -errno;
	}
	return 0;
}

/* timer_create, with a signal that is waited for */

static void posix_close(struct bench *b)
{
	for (u64 i = 0; i < b->n && b->handle[i]; i++)
		timer_delete(b->timers[i]);
}

static int posix_open(struct bench *b)
{
	struct sigevent ev = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN,
	};
	sigset_t set;

	memset(b->handle, 0, b->n * sizeof(*b->handle));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (u64 i = 0; i < b->n; i++) {
		if (timer_create(CLOCK_MONOTONIC, &ev, &b->timers[i]))
			return -errno;
		b->handle[i] = 1;
	}
	return 0;
}

static int posix_set(struct bench *b, bool again)
{
	for (u64 i = 0; i < b->n; i++) {
		struct itimerspec its = spec(b->when[i]);

		b->calls++;
		if (timer_settime(b->timers[i], TIMER_ABSTIME, &its, NULL))
			return -errno;
	}
	return 0;
}

static int posix_cancel(struct bench *b)
{
	const struct itimerspec never = { 0 };

	for (u64 i = 0; i < b->n; i++) {
		b->calls++;
		if (timer_settime(b->timers[i], 0, &never, NULL))
			return -errno;
	}
	return 0;
}

static int posix_collect(struct bench *b)
{
	siginfo_t info;
	sigset_t set;
	u64 got = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	while (got < b->n) {
		b->calls++;
		if (sigwaitinfo(&set, &info) < 0)
			return -errno;
		got++;
	}
	return 0;
}

/* io_uring */

static void uring_close(struct bench *b)
{
	struct uring *u = &b->uring;

	if (u->sqe)
		munmap(u->sqe, u->sqe_size);
	if (u->rings)
		munmap(u->rings, u->rings_size);
	if (u->fd >= 0)
		close(u->fd);
}

static void *behind(void *at, u32 bytes)
{
	return (char *)at + bytes;
}

static int uring_open(struct bench *b)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_CQSIZE, .cq_entries = RING,
	};
	struct uring *u = &b->uring;
	void *at;

	*u = (struct uring) {
		.fd = (int)syscall(SYS_io_uring_setup, BATCH, &p),
	};
	if (u->fd < 0)
		return -errno;
	if (!(p.features & IORING_FEAT_SINGLE_MMAP))
		return -EOPNOTSUPP;
	u->rings_size = max(p.sq_off.array + p.sq_entries * sizeof(u32),
			    p.cq_off.cqes + p.cq_entries * sizeof(*u->cqe));
	at = mmap(NULL, u->rings_size, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, u->fd, IORING_OFF_SQ_RING);
	if (at == MAP_FAILED)
		return -errno;
	u->rings = at;
	u->sqe_size = p.sq_entries * sizeof(*u->sqe);
	at = mmap(NULL, u->sqe_size, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, u->fd, IORING_OFF_SQES);
	if (at == MAP_FAILED)
		return -errno;
	u->sqe = at;
	at = u->rings;
	u->sq_tail = behind(at, p.sq_off.tail);
	u->sq_array = behind(at, p.sq_off.array);
	u->sq_mask = *(u32 *)behind(at, p.sq_off.ring_mask);
	u->cq_head = behind(at, p.cq_off.head);
	u->cq_tail = behind(at, p.cq_off.tail);
	u->cq_mask = *(u32 *)behind(at, p.cq_off.ring_mask);
	u->cqe = behind(at, p.cq_off.cqes);
	return 0;
}

/* Hands over what is queued, and waits for so many completions. */
static int uring_enter(struct bench *b, u32 wait)
{
	struct uring *u = &b->uring;
	long ret;

	b->calls++;
	ret = syscall(SYS_io_uring_enter, u->fd, u->queued, wait,
		      IORING_ENTER_GETEVENTS, NULL, 0);
	if (ret < 0)
		return -errno;
	if (ret != u->queued)
		return -EIO;
	u->queued = 0;
	return 0;
}

/* Completions there are; those of timers that expired. */
static u64 uring_reap(struct bench *b, u64 *expired)
{
	struct uring *u = &b->uring;
	u32 tail = __atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE);
	u32 head = *u->cq_head;
	u64 nr = tail - head;

	for (; head != tail; head++)
		*expired += u->cqe[head & u->cq_mask].res == -ETIME;
	__atomic_store_n(u->cq_head, head, __ATOMIC_RELEASE);
	return nr;
}

static int uring_queue(struct bench *b, const struct io_uring_sqe *sqe)
{
	struct uring *u = &b->uring;
	u32 tail = *u->sq_tail;
	u64 expired = 0;
	int err;

	u->sqe[tail & u->sq_mask] = *sqe;
	u->sq_array[tail & u->sq_mask] = tail & u->sq_mask;
	__atomic_store_n(u->sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (++u->queued < BATCH)
		return 0;
	err = uring_enter(b, 0);
	uring_reap(b, &expired);
	return err;
}

static int uring_flush(struct bench *b)
{
	u64 expired = 0;
	int err = b->uring.queued ? uring_enter(b, 0) : 0;

	uring_reap(b, &expired);
	return err;
}

static int uring_set(struct bench *b, bool again)
{
	int err = 0;

	for (u64 i = 0; !err && i < b->n; i++) {
		struct io_uring_sqe sqe = {
			.opcode = again ? IORING_OP_TIMEOUT_REMOVE
					: IORING_OP_TIMEOUT,
			.fd = -1,
			.timeout_flags = IORING_TIMEOUT_ABS |
					 (again ? IORING_TIMEOUT_UPDATE : 0),
			.user_data = again ? U64_MAX : i,
		};

		b->ts[i] = (struct __kernel_timespec) {
			.tv_sec = (long long)(b->when[i] / NS_PER_S),
			.tv_nsec = (long long)(b->when[i] % NS_PER_S),
		};
		if (again) {
			sqe.addr = i;
			sqe.addr2 = (uintptr_t)&b->ts[i];
		} else {
			sqe.addr = (uintptr_t)&b->ts[i];
			sqe.len = 1;
		}
		err = uring_queue(b, &sqe);
	}
	return err ? err : uring_flush(b);
}

static int uring_cancel(struct bench *b)
{
	int err = 0;

	for (u64 i = 0; !err && i < b->n; i++) {
		struct io_uring_sqe sqe = {
			.opcode = IORING_OP_TIMEOUT_REMOVE, .fd = -1,
			.addr = i, .user_data = U64_MAX,
		};

		err = uring_queue(b, &sqe);
	}
	return err ? err : uring_flush(b);
}

static int uring_collect(struct bench *b)
{
	u64 got = 0;

	while (got < b->n) {
		int err;

		if (uring_reap(b, &got))
			continue;
		err = uring_enter(b, 1);
		if (err)
			return err;
	}
	return 0;
}

static const struct peer peers[] = {
	{ "cogwheel", "call", wheel_open_read, wheel_set, wheel_cancel,
	  wheel_read, wheel_close },
	{ "cogwheel", "batch", wheel_open_ring, wheel_batch_set,
	  wheel_batch_cancel, wheel_ring, wheel_close },
	{ "timerfd", "call", timerfd_open, timerfd_set, timerfd_cancel,
	  timerfd_collect, timerfd_close },
	{ "timer_create", "call", posix_open, posix_set, posix_cancel,
	  posix_collect, posix_close },
	{ "io_uring", "batch", uring_open, uring_set, uring_cancel,
	  uring_collect, uring_close },
};

#define NR_PEERS	ARRAY_SIZE(peers)

/* What was measured of a peer. */
struct figures {
	int err;
	double bytes;			/* of a timer that is armed */
	double ns[NR_WORKS][ROUNDS_MAX];	/* for an operation */
	double calls[NR_WORKS];		/* likewise */
};

/* Far away, in an order of no kind, from a fixed seed. */
static void far_away(struct bench *b, u64 seed)
{
	u64 base = now_ns() + 10000 * NS_PER_S;

	for (u64 i = 0; i < b->n; i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		b->when[i] = base + (seed >> 33) * 1000 / 8;
	}
}

static int measure(struct bench *b, const struct peer *peer, unsigned int round,
		   struct figures *f)
{
	struct timespec until;
	u64 begin, slab, due;
	int err;

	memset(b->handle, 0, b->n * sizeof(*b->handle));
	slab = slab_bytes();
	err = peer->open(b);
	for (int w = WORK_ARM; !err && w <= WORK_CANCEL; w++) {
		far_away(b, (u64)w + 1);
		b->calls = 0;
		begin = now_ns();
		err = w == WORK_CANCEL ? peer->cancel(b) :
		      peer->set(b, w == WORK_REARM);
		f->ns[w][round] = (double)(now_ns() - begin) /
				     (double)b->n;
		f->calls[w] = (double)b->calls / (double)b->n;
		if (w == WORK_ARM && !round)
			f->bytes = (double)(slab_bytes() - slab) /
				   (double)b->n;
	}
	if (err)
		goto out;
	memset(b->handle, peer->open == posix_open, b->n * sizeof(*b->handle));
	/* Long enough to arm them all. */
	due = now_ns() + NS_PER_S / 2 +
	      (u64)(3 * f->ns[WORK_ARM][round] * (double)b->n);
	for (u64 i = 0; i < b->n; i++)
		b->when[i] = due;
	err = peer->set(b, false);
	if (err)
		goto out;
	until = spec(due).it_value;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	b->calls = 0;
	err = peer->collect(b);
	f->ns[WORK_EXPIRE][round] = (double)(now_ns() - due) / (double)b->n;
	f->calls[WORK_EXPIRE] = (double)b->calls / (double)b->n;
out:
	peer->close(b);
	return err;
}

/* A system call that does nothing, in ns. */
static double empty_call(void)
{
	enum { CALLS = 20000 };
	u64 begin = now_ns();

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return (double)(now_ns() - begin) / CALLS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The median; sorts. */
static double median(double *values, unsigned int nr)
{
	qsort(values, nr, sizeof(*values), by_value);
	return values[nr / 2];
}

/* Without its system calls; 0 where what is left is within the noise. */
static double net_of(const struct figures *f, enum work what, double ns,
		     double empty)
{
	double net = ns - f->calls[what] * empty;

	return net * 20 > ns ? net : 0;
}

/* The rows of the module's benchmark, and its first line in an empty file. */
static enum status write_csv(const char *name, const struct bench *b,
			     const struct figures *all, unsigned int rounds)
{
	FILE *file = fopen(name, "a");
	struct utsname uts;
	bool bad;

	if (!file)
		return complain(ST_FAILED, "%s: %s", name, strerror(errno));
	uname(&uts);
	if (!ftell(file))
		fprintf(file, "%s%s\n",
			"env,subject,workload,n,ns_per_op,ratio_to_timer_list,bytes_per_timer,",
			"layout,cache,form,param,rounds,min,max,irqoff_max_ns,status");
	for (size_t p = 0; p < NR_PEERS; p++)
		for (int w = 0; w < NR_WORKS; w++) {
			const struct figures *f = &all[p];
			const double *ns = f->ns[w];

			fprintf(file, "%s-%s,%s,%s,%llu,", uts.sysname,
				uts.release, peers[p].name, work_names[w],
				b->n);
			if (f->err)
				fprintf(file,
					",,,scattered,warm,%s,,,,,,n/a\n",
					peers[p].form);
			else
				fprintf(file,
					"%.1f,,%.1f,scattered,warm,%s,,%u,%.1f,%.1f,,ok\n",
					ns[rounds / 2], f->bytes,
					peers[p].form, rounds, ns[0],
					ns[rounds - 1]);
		}
	bad = ferror(file);
	if (fclose(file) || bad)
		return complain(ST_FAILED, "%s: %s", name, strerror(errno));
	return ST_OK;
}

static void print_row(const struct peer *peer, const struct figures *f,
		      const struct figures *timerfd, unsigned int rounds,
		      double empty)
{
	printf("%-13s %-5s", peer->name, peer->form);
	if (f->err) {
		printf("  n/a: %s\n", strerror(-f->err));
		return;
	}
	for (int w = 0; w < NR_WORKS; w++)
		printf(" %8.0f", f->ns[w][rounds / 2]);
	printf(" %7.0f |", f->bytes);
	for (int w = 0; w < NR_WORKS && !timerfd->err; w++) {
		double ns = f->ns[w][rounds / 2];
		double other = timerfd->ns[w][rounds / 2];
		double net = net_of(f, w, ns, empty);
		double other_net = net_of(timerfd, w, other, empty);

		printf(" %6.1f/", other / ns);
		if (net > 0 && other_net > 0)
			printf("%-5.1f", other_net / net);
		else
			printf("%-5s", "-");
	}
	puts("");
}

static int allocate(struct bench *b)
{
	b->when = calloc(b->n, sizeof(*b->when));
	b->handle = calloc(b->n, sizeof(*b->handle));
	b->fds = calloc(b->n, sizeof(*b->fds));
	b->timers = calloc(b->n, sizeof(*b->timers));
	b->ts = calloc(b->n, sizeof(*b->ts));
	b->ready = calloc(BATCH, sizeof(*b->ready));
	b->op = calloc(BATCH, sizeof(*b->op));
	b->event = calloc(BATCH, sizeof(*b->event));
	return b->when && b->handle && b->fds && b->timers && b->ts &&
	       b->ready && b->op && b->event ? 0 : -ENOMEM;
}

static void release(struct bench *b)
{
	free(b->when);
	free(b->handle);
	free(b->fds);
	free(b->timers);
	free(b->ts);
	free(b->ready);
	free(b->op);
	free(b->event);
}

/* As many descriptors and pending signals as the peers need, if it may be. */
static void raise_limits(u64 n)
{
	const struct rlimit limit = { n + 1024, n + 1024 };

	setrlimit(RLIMIT_NOFILE, &limit);
	setrlimit(RLIMIT_SIGPENDING, &limit);
}

static enum status run(struct bench *b, unsigned int rounds, const char *csv)
{
	struct figures *all = calloc(NR_PEERS, sizeof(*all));
	enum status st = ST_OK;
	double empty[ROUNDS_MAX], call;
	size_t p, timerfd = 0;

	if (!all || allocate(b)) {
		free(all);
		return complain(ST_FAILED, "%s", strerror(ENOMEM));
	}
	raise_limits(b->n);
	for (unsigned int r = 0; r < rounds; r++) {
		empty[r] = empty_call();
		for (p = 0; p < NR_PEERS; p++)
			if (!all[p].err)
				all[p].err = measure(b, &peers[p], r, &all[p]);
	}
	for (p = 0; p < NR_PEERS; p++) {
		if (peers[p].open == timerfd_open)
			timerfd = p;
		for (int w = 0; w < NR_WORKS && !all[p].err; w++)
			median(all[p].ns[w], rounds);
	}
	call = median(empty, rounds);
	printf("%llu timers, medians of %u rounds, ns for each; an empty system call: %.0f ns\n",
	       b->n, rounds, call);
	puts("Right of the bar: how many times less than timerfd / the same without the calls");
	puts("themselves (-: within the noise)");
	printf("%-13s %-5s %8s %8s %8s %8s %7s |\n", "", "", "arm", "move",
	       "cancel", "deliver", "bytes");
	for (p = 0; p < NR_PEERS; p++)
		print_row(&peers[p], &all[p], &all[timerfd], rounds, call);
	if (csv)
		st = write_csv(csv, b, all, rounds);
	free(all);
	return st;
}

enum status cmd_bench(char **args)
{
	struct bench b = { .n = 10000, .fd = -1 };
	const char *csv = NULL;
	bool device = false;
	enum status st;
	u64 rounds = 5;

	for (; *args; args++) {
		u64 *value = NULL, most = 0;
		struct problem why;

		if (!strcmp(*args, "--device")) {
			device = true;
			continue;
		} else if (!strcmp(*args, "--csv") && args[1]) {
			csv = *++args;
			continue;
		} else if (!strcmp(*args, "--n")) {
			value = &b.n;
			most = 1000000;
		} else if (!strcmp(*args, "--rounds")) {
			value = &rounds;
			most = ROUNDS_MAX;
		}
		if (!value || !args[1])
			return usage("bench: unknown argument ", *args);
		if (scenario_number(args[1], strlen(args[1]), value, &why))
			return complain(ST_WRONG, "%s: %s", *args, why.text);
		if (!*value || *value > most)
			return complain(ST_WRONG, "%s: 1 to %llu", *args, most);
		args++;
	}
	if (!device)
		return usage("bench: --device is what it can measure", "");
	st = run(&b, (unsigned int)rounds, csv);
	release(&b);
	return st;
}
