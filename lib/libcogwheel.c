// SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note
/*
 * libcogwheel; see libcogwheel.h. It knows the device by its ioctl header.
 *
 * How callbacks find their timer. An event carries the number of a slot in a
 * table of ours, never a pointer of the program's, who may have freed what it
 * points to. A slot is the timer's from when it is armed until it is cancelled
 * or has fired for the last time. An event that was on its way when its timer
 * was cancelled, or armed anew, carries a handle that the slot does not have any
 * more (handles are never used again), and is dropped.
 *
 *	arm		cw_submit		last event, cancel
 *	  slot taken, operation queued
 *			  slot.handle = handle
 *						  slot free, handle 0
 *
 * A slot has one queued operation at most: whatever comes to it before the next
 * cw_submit() changes that one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "libcogwheel.h"

#define DEFAULT_DEVICE	"/dev/cogwheel"
#define DEFAULT_RING	1024

/* Operations that are collected at the most. */
#define QUEUE_MAX	1024

/* How many events are taken from the device at a time, without a ring. */
#define READ_MAX	64

#define NO_SLOT		0	/* slots count from 1 */

/**
 * struct slot - a timer that is armed, or free
 * @timer: NULL while it is free
 * @handle: 0 until it is armed in the kernel
 * @queued: its operation in the queue + 1, or 0
 * @next: the next free one
 */
struct slot {
	struct cw_timer *timer;
	uint64_t handle;
	uint32_t queued;
	uint32_t next;
};

struct cw {
	int fd;
	struct cogwheel_ring *ring;
	size_t ring_size;
	uint32_t ring_mask;

	struct slot *slot;
	uint32_t slots;		/* allocated, the unused number 0 included */
	uint32_t free;

	unsigned int queued;
	struct cogwheel_op op[QUEUE_MAX];
	uint32_t op_slot[QUEUE_MAX];
};

static int command(struct cw *cw, unsigned long cmd, void *arg)
{
	return ioctl(cw->fd, cmd, arg) ? -errno : 0;
}

static int set_up(struct cw *cw, const struct cw_options *o)
{
	struct cogwheel_ioc_setup setup = {
		.size = sizeof(setup),
		.clock = o->clock,
		.tick_ns = o->tick_ns,
		.start = o->start,
	};
	int err;

	if (o->kind) {
		if (strlen(o->kind) >= sizeof(setup.kind))
			return -EINVAL;
		strcpy(setup.kind, o->kind);
	}
	if (o->ring != CW_NO_RING)
		setup.ring = o->ring ? o->ring : DEFAULT_RING;
	err = command(cw, COGWHEEL_IOC_SETUP, &setup);
	if (err || !setup.ring)
		return err;
	cw->ring_size = COGWHEEL_RING_SIZE(setup.ring);
	cw->ring = mmap(NULL, cw->ring_size, PROT_READ | PROT_WRITE,
			MAP_SHARED, cw->fd, 0);
	if (cw->ring == MAP_FAILED) {
		cw->ring = NULL;
		return -errno;
	}
	cw->ring_mask = (uint32_t)setup.ring - 1;
	return 0;
}

struct cw *cw_open(const struct cw_options *options)
{
	static const struct cw_options defaults;
	const struct cw_options *o = options ? options : &defaults;
	struct cw *cw = calloc(1, sizeof(*cw));
	int err;

	if (!cw)
		return NULL;
	cw->fd = open(o->device ? o->device : DEFAULT_DEVICE,
		      O_RDWR | O_CLOEXEC | O_NONBLOCK);
	err = cw->fd < 0 ? -errno : set_up(cw, o);
	if (!err)
		return cw;
	cw_close(cw);
	errno = -err;
	return NULL;
}

void cw_close(struct cw *cw)
{
	if (cw->ring)
		munmap(cw->ring, cw->ring_size);
	if (cw->fd >= 0)
		close(cw->fd);
	free(cw->slot);
	free(cw);
}

int cw_fd(const struct cw *cw)
{
	return cw->fd;
}

/* The device's own. */

int cw_arm(struct cw *cw, struct cogwheel_ioc_arm *arm)
{
	arm->size = sizeof(*arm);
	return command(cw, COGWHEEL_IOC_ARM, arm);
}

int cw_cancel(struct cw *cw, uint64_t handle)
{
	struct cogwheel_ioc_cancel cancel = {
		.size = sizeof(cancel), .handle = handle,
	};
	int err = command(cw, COGWHEEL_IOC_CANCEL, &cancel);

	return err ? err : (int)cancel.result;
}

int cw_batch(struct cw *cw, struct cogwheel_op *ops, uint64_t count,
	     uint64_t *done)
{
	struct cogwheel_ioc_batch batch = {
		.size = sizeof(batch), .ops = (uintptr_t)ops, .count = count,
		.op_size = sizeof(*ops),
	};
	int err = command(cw, COGWHEEL_IOC_BATCH, &batch);

	if (done)
		*done = batch.done;
	return err;
}

int cw_advance(struct cw *cw, uint64_t ticks, uint64_t *now)
{
	struct cogwheel_ioc_advance advance = {
		.size = sizeof(advance), .to = ticks,
	};
	int err = command(cw, COGWHEEL_IOC_ADVANCE, &advance);

	if (!err && now)
		*now = advance.now;
	return err;
}

int cw_state(struct cw *cw, struct cogwheel_ioc_state *state)
{
	memset(state, 0, sizeof(*state));
	state->size = sizeof(*state);
	return command(cw, COGWHEEL_IOC_STATE, state);
}

static unsigned int ring_take(struct cw *cw, struct cogwheel_event *events,
			      unsigned int max)
{
	struct cogwheel_ring *ring = cw->ring;
	const struct cogwheel_event *first =
		(void *)((char *)ring + ring->offset);
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
	uint32_t head = ring->head;
	unsigned int nr = 0;

	while (head != tail && nr < max)
		events[nr++] = first[head++ & cw->ring_mask];
	__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
	return nr;
}

/* Does the kernel hold events back? To be asked with the ring empty. */
static bool ring_more(struct cw *cw)
{
	/* Between the store of head and this; see struct cogwheel_ring. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&cw->ring->flags, __ATOMIC_RELAXED) &
	       COGWHEEL_RING_MORE;
}

/* What there is, without waiting. */
static int take(struct cw *cw, struct cogwheel_event *events, unsigned int max)
{
	struct cogwheel_ioc_ring refill = { .size = sizeof(refill) };
	unsigned int nr;
	ssize_t bytes;
	int err;

	if (!cw->ring) {
		bytes = read(cw->fd, events, max * sizeof(*events));
		if (bytes < 0)
			return errno == EAGAIN ? 0 : -errno;
		return (int)((size_t)bytes / sizeof(*events));
	}
	nr = ring_take(cw, events, max);
	if (nr || !ring_more(cw))
		return (int)nr;
	err = command(cw, COGWHEEL_IOC_RING, &refill);
	return err ? err : (int)ring_take(cw, events, max);
}

int cw_wait(struct cw *cw, struct cogwheel_event *events, unsigned int max,
	    int timeout_ms)
{
	struct pollfd pfd = { .fd = cw->fd, .events = POLLIN };
	int nr;

	if (!max)
		return -EINVAL;
	for (;;) {
		nr = take(cw, events, max);
		if (nr || !timeout_ms)
			return nr;
		nr = poll(&pfd, 1, timeout_ms);
		if (nr < 0)
			return -errno;
		if (pfd.revents & POLLERR)
			return -EIO;
		/* Another process may have had it: wait once more, or not. */
		if (timeout_ms > 0)
			timeout_ms = 0;
	}
}

/* Timers with callbacks. */

static int grow(struct cw *cw)
{
	uint32_t old = cw->slots, slots = old ? 2 * old : 256, i;
	struct slot *slot;

	if (slots <= old)
		return -ENOMEM;
	slot = realloc(cw->slot, slots * sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	memset(slot + old, 0, (slots - old) * sizeof(*slot));
	for (i = old ? old : 1; i < slots; i++)
		slot[i].next = i + 1 < slots ? i + 1 : NO_SLOT;
	cw->slot = slot;
	cw->slots = slots;
	cw->free = old ? old : 1;
	return 0;
}

static void slot_free(struct cw *cw, uint32_t nr)
{
	struct slot *slot = &cw->slot[nr];

	slot->timer->slot = NO_SLOT;
	*slot = (struct slot) { .next = cw->free };
	cw->free = nr;
}

/* A place in the queue, which is submitted when it is full. */
static int queue(struct cw *cw, uint32_t slot, struct cogwheel_op **op)
{
	int err;

	if (cw->queued == QUEUE_MAX) {
		err = cw_submit(cw);
		if (err)
			return err;
	}
	cw->op_slot[cw->queued] = slot;
	*op = &cw->op[cw->queued++];
	memset(*op, 0, sizeof(**op));
	if (slot)
		cw->slot[slot].queued = cw->queued;
	return 0;
}

void cw_timer_init(struct cw_timer *timer, cw_fired fired)
{
	timer->fired = fired;
	timer->slot = NO_SLOT;
}

int cw_timer_armed(const struct cw_timer *timer)
{
	return timer->slot != NO_SLOT;
}

int cw_timer_every(struct cw *cw, struct cw_timer *timer, uint64_t delay_ns,
		   uint64_t period_ns)
{
	struct cogwheel_op *op;
	struct slot *slot;
	uint32_t nr;
	int err;

	/* A submit for want of room may find that it cannot be armed. */
	if (cw->queued == QUEUE_MAX &&
	    !(timer->slot && cw->slot[timer->slot].queued)) {
		err = cw_submit(cw);
		if (err)
			return err;
	}
	if (!timer->slot) {
		if (!cw->free) {
			err = grow(cw);
			if (err)
				return err;
		}
		nr = cw->free;
		cw->free = cw->slot[nr].next;
		cw->slot[nr] = (struct slot) { .timer = timer };
		timer->slot = nr;
	}
	nr = timer->slot;
	slot = &cw->slot[nr];
	if (slot->queued) {
		op = &cw->op[slot->queued - 1];
	} else {
		err = queue(cw, nr, &op);
		if (err)
			return err;
		op->user = nr;
		op->handle = slot->handle;
		op->flags = COGWHEEL_ARM_NS |
			    (slot->handle ? COGWHEEL_ARM_MOVE : 0);
	}
	op->when = delay_ns;
	op->period = period_ns;
	return 0;
}

int cw_timer_arm(struct cw *cw, struct cw_timer *timer, uint64_t delay_ns)
{
	return cw_timer_every(cw, timer, delay_ns, 0);
}

int cw_timer_cancel(struct cw *cw, struct cw_timer *timer)
{
	struct cogwheel_op *op = NULL;
	struct slot *slot;
	uint64_t handle;
	uint32_t nr;
	int err;

	if (!timer->slot)
		return 0;
	nr = timer->slot;
	slot = &cw->slot[nr];
	handle = slot->handle;
	if (slot->queued) {
		/* A handle of 0 was never armed: that one then does nothing. */
		op = &cw->op[slot->queued - 1];
		cw->op_slot[slot->queued - 1] = NO_SLOT;
	}
	/* From here on nothing calls it, whatever is on its way. */
	slot_free(cw, nr);
	if (!op) {
		err = queue(cw, NO_SLOT, &op);
		if (err)
			return err;
	}
	*op = (struct cogwheel_op) {
		.op = COGWHEEL_OP_CANCEL, .handle = handle,
	};
	return 0;
}

/* What became of an operation. */
static int settle(struct cw *cw, const struct cogwheel_op *op, uint32_t nr)
{
	struct slot *slot = &cw->slot[nr];

	slot->queued = 0;
	if (!op->error) {
		slot->handle = op->handle;
		return 0;
	}
	slot_free(cw, nr);
	return op->error;
}

/* A timer has fired before it could be moved: it is armed anew. */
static bool arm_anew(struct cw *cw, struct cogwheel_op *op, uint32_t nr)
{
	if (op->error != -ENOENT || !(op->flags & COGWHEEL_ARM_MOVE))
		return false;
	cw->slot[nr].handle = 0;
	op->flags &= ~COGWHEEL_ARM_MOVE;
	op->handle = 0;
	op->due = 0;
	op->result = 0;
	op->error = 0;
	return true;
}

int cw_submit(struct cw *cw)
{
	unsigned int nr = cw->queued, i, again = 0;
	int err = 0, ret;

	while (nr) {
		ret = cw_batch(cw, cw->op, nr, NULL);
		if (ret)
			return ret;
		again = 0;
		for (i = 0; i < nr; i++) {
			uint32_t slot = cw->op_slot[i];

			/* A cancel: whatever it found, it is done. */
			if (!slot)
				continue;
			if (arm_anew(cw, &cw->op[i], slot)) {
				cw->op[again] = cw->op[i];
				cw->op_slot[again] = slot;
				cw->slot[slot].queued = ++again;
				continue;
			}
			ret = settle(cw, &cw->op[i], slot);
			if (!err)
				err = ret;
		}
		nr = again;
		cw->queued = nr;
	}
	return err;
}

/* Calls the function of the timer that an event is for, if there is one. */
static int call(struct cw *cw, const struct cogwheel_event *event)
{
	struct cw_timer *timer;
	struct slot *slot;

	if (event->user >= cw->slots)
		return 0;
	slot = &cw->slot[event->user];
	timer = slot->timer;
	if (!timer || slot->handle != event->handle)
		return 0;
	if (slot->queued) {
		/*
		 * It has been moved, and the kernel is yet to hear of it. If
		 * that was its last event, there is nothing left to move.
		 */
		if (event->flags & COGWHEEL_EVENT_LAST) {
			struct cogwheel_op *op = &cw->op[slot->queued - 1];

			slot->handle = 0;
			op->handle = 0;
			op->flags &= ~COGWHEEL_ARM_MOVE;
		}
		return 0;
	}
	if (event->flags & COGWHEEL_EVENT_LAST)
		slot_free(cw, (uint32_t)event->user);
	timer->fired(cw, timer, event);
	return 1;
}

int cw_dispatch(struct cw *cw)
{
	struct cogwheel_event event[READ_MAX];
	int called = 0, err, nr, i;

	err = cw_submit(cw);
	if (err)
		return err;
	/* What is armed in callbacks may go on for ever: no more than a ring. */
	do {
		nr = take(cw, event, READ_MAX);
		if (nr < 0)
			return called ? called : nr;
		for (i = 0; i < nr; i++)
			called += call(cw, &event[i]);
	} while (nr == READ_MAX && called < QUEUE_MAX);
	err = cw_submit(cw);
	return err ? err : called;
}

int cw_run(struct cw *cw, int timeout_ms)
{
	struct pollfd pfd = { .fd = cw->fd, .events = POLLIN };
	int called = cw_dispatch(cw), ready;

	if (called || !timeout_ms)
		return called;
	ready = poll(&pfd, 1, timeout_ms);
	if (ready < 0)
		return -errno;
	if (pfd.revents & POLLERR)
		return -EIO;
	return ready ? cw_dispatch(cw) : 0;
}
