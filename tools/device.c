// SPDX-License-Identifier: GPL-2.0
/*
 * A wheel in the kernel, behind /dev/cogwheel: a file with a manual clock. It
 * knows the ioctl interface only; periods and order are the kernel's business.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../cogwheel_ioctl.h"
#include "backend.h"

#define DEVICE_PATH	"/dev/cogwheel"

struct device_timer {
	struct timer timer;
	u64 handle;		/* 0 where it is not armed */
};

struct backend {
	int fd;
	u64 now;
};

static int device_open_file(void)
{
	return open(DEVICE_PATH, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static enum status failed(struct problem *why, const char *what, int err)
{
	return problem(why, ST_FAILED, DEVICE_PATH ": %s: %s", what,
		       strerror(err));
}

bool device_present(struct problem *why)
{
	int fd = device_open_file();

	if (fd < 0) {
		problem(why, ST_FAILED, DEVICE_PATH ": %s", strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

static void device_close(struct backend *b)
{
	close(b->fd);
	free(b);
}

static enum status device_open(struct backend **backend, enum wheel_kind kind,
			       const struct wheel_config *cfg,
			       struct problem *why)
{
	struct cogwheel_ioc_setup setup = {
		.size = sizeof(setup),
		.clock = COGWHEEL_CLOCK_MANUAL,
		.slots = cfg->slots,
		.levels = cfg->levels,
		.start = cfg->start,
	};
	struct backend *b = malloc(sizeof(*b));
	int err;

	if (!b)
		return problem(why, ST_FAILED, "%s", strerror(ENOMEM));
	b->now = cfg->start;
	b->fd = device_open_file();
	if (b->fd < 0) {
		err = errno;
		free(b);
		return failed(why, "open", err);
	}
	snprintf(setup.kind, sizeof(setup.kind), "%s",
		 wheel_kinds[kind]->name);
	if (ioctl(b->fd, COGWHEEL_IOC_SETUP, &setup)) {
		err = errno;
		device_close(b);
		return failed(why, wheel_kinds[kind]->name, err);
	}
	*backend = b;
	return ST_OK;
}

static size_t device_timer_size(const struct backend *b)
{
	return sizeof(struct device_timer);
}

static enum status device_arm(struct backend *b, struct timer *timer, u64 due,
			      u64 period, u64 slack, struct problem *why)
{
	struct device_timer *t = container_of(timer, struct device_timer,
					      timer);
	struct cogwheel_ioc_arm arm = {
		.size = sizeof(arm),
		.flags = COGWHEEL_ARM_ABSOLUTE,
		.handle = t->handle,
		.when = due,
		.period = period,
		.slack = slack,
		.user = (u64)(unsigned long)t,
	};

	if (t->handle)
		arm.flags |= COGWHEEL_ARM_MOVE;
	if (ioctl(b->fd, COGWHEEL_IOC_ARM, &arm))
		return failed(why, "arm", errno);
	t->handle = arm.handle;
	return ST_OK;
}

static enum status device_cancel(struct backend *b, struct timer *timer,
				 bool *pending, struct problem *why)
{
	struct device_timer *t = container_of(timer, struct device_timer,
					      timer);
	struct cogwheel_ioc_cancel cancel = {
		.size = sizeof(cancel),
		.handle = t->handle,
	};

	*pending = false;
	if (!t->handle)
		return ST_OK;
	if (ioctl(b->fd, COGWHEEL_IOC_CANCEL, &cancel))
		return failed(why, "cancel", errno);
	t->handle = 0;
	*pending = cancel.result & COGWHEEL_WAS_PENDING;
	return ST_OK;
}

/* Takes every event that there is. */
static enum status drain(struct backend *b,
			 enum status (*fired)(void *data,
					      const struct fire *fire),
			 void *data, struct problem *why)
{
	struct cogwheel_event events[256];
	enum status st = ST_OK;

	while (!st) {
		ssize_t n = read(b->fd, events, sizeof(events));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return failed(why, "read", errno);
		for (size_t i = 0; i < (size_t)n / sizeof(events[0]); i++) {
			struct cogwheel_event *ev = &events[i];
			struct device_timer *t;
			struct fire fire;

			t = (struct device_timer *)(unsigned long)ev->user;
			if (ev->flags & COGWHEEL_EVENT_LAST)
				t->handle = 0;
			fire = (struct fire){
				.timer = &t->timer,
				.tick = ev->fired,
				.due = ev->due,
				.missed = ev->missed,
			};
			if (!st)
				st = fired(data, &fire);
		}
	}
	return st;
}

static enum status device_advance(struct backend *b, u64 to,
				  enum status (*fired)(void *data,
						       const struct fire *fire),
				  void *data, struct problem *why)
{
	enum status st;

	/* The clock waits where a timer would fire again that is unread. */
	do {
		struct cogwheel_ioc_advance advance = {
			.size = sizeof(advance),
			.flags = COGWHEEL_ADVANCE_ABSOLUTE,
			.to = to,
		};

		if (ioctl(b->fd, COGWHEEL_IOC_ADVANCE, &advance))
			return failed(why, "advance", errno);
		b->now = advance.now;
		st = drain(b, fired, data, why);
	} while (!st && b->now != to);
	return st;
}

static enum status device_state(struct backend *b,
				struct cogwheel_ioc_state *state,
				struct problem *why)
{
	memset(state, 0, sizeof(*state));
	state->size = sizeof(*state);
	if (ioctl(b->fd, COGWHEEL_IOC_STATE, state))
		return failed(why, "state", errno);
	return ST_OK;
}

static enum status device_next(struct backend *b, u64 *tick,
			       struct problem *why)
{
	struct cogwheel_ioc_state state;
	enum status st = device_state(b, &state, why);

	if (!st)
		*tick = state.status & COGWHEEL_STATE_NEXT ? state.next
							   : WHEEL_NEVER;
	return st;
}

static enum status device_count(struct backend *b, u64 *count,
				struct problem *why)
{
	struct cogwheel_ioc_state state;
	enum status st = device_state(b, &state, why);

	if (!st)
		*count = state.pending;
	return st;
}

static u64 device_now(const struct backend *b)
{
	return b->now;
}

static enum status device_geometry(struct backend *b,
				   struct wheel_geometry *geometry,
				   struct problem *why)
{
	struct cogwheel_ioc_geometry g = { .size = sizeof(g) };

	if (ioctl(b->fd, COGWHEEL_IOC_GEOMETRY, &g))
		return failed(why, "geometry", errno);
	geometry->levels = g.levels;
	geometry->slots = g.slots;
	geometry->width = g.width;
	geometry->shift = g.shift;
	return ST_OK;
}

static enum status device_walk(struct backend *b, struct wheel_walk *pos,
			       struct waiting *items, unsigned int *nr,
			       struct problem *why)
{
	struct cogwheel_item found[WHEEL_BATCH];
	struct cogwheel_ioc_walk walk = {
		.size = sizeof(walk),
		.items = (u64)(unsigned long)found,
		.count = WHEEL_BATCH,
		.pos = { pos->pos[0], pos->pos[1] },
	};

	if (ioctl(b->fd, COGWHEEL_IOC_WALK, &walk))
		return failed(why, "walk", errno);
	pos->pos[0] = walk.pos[0];
	pos->pos[1] = walk.pos[1];
	*nr = walk.count;
	for (unsigned int i = 0; i < *nr; i++) {
		struct device_timer *t;

		t = (struct device_timer *)(unsigned long)found[i].user;
		items[i] = (struct waiting){
			.timer = &t->timer,
			.due = found[i].due,
			.tick = found[i].tick,
			.level = found[i].level,
			.slot = found[i].slot,
			.more = found[i].flags & COGWHEEL_ITEM_MORE,
		};
	}
	return ST_OK;
}

const struct backend_ops device = {
	.open = device_open,
	.close = device_close,
	.timer_size = device_timer_size,
	.arm = device_arm,
	.cancel = device_cancel,
	.advance = device_advance,
	.next = device_next,
	.count = device_count,
	.now = device_now,
	.geometry = device_geometry,
	.walk = device_walk,
};
