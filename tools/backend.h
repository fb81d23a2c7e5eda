/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What plays a scenario's commands: a wheel of one kind on a virtual clock,
 * either in this process or in the kernel behind /dev/cogwheel. It knows
 * nothing of names, files or text.
 */
#ifndef _TOOLS_BACKEND_H
#define _TOOLS_BACKEND_H

#include "../wheels/kinds.h"
#include "scenario.h"

/* What a backend keeps of a timer begins with this; zeroed at first. */
struct timer {
	u32 index;		/* how many names the scenario had before */
	char name[SCENARIO_NAME_MAX + 1];
};

/* A timer that waits, for a picture; see struct wheel_item. */
struct waiting {
	const struct timer *timer;
	u64 due;
	u64 tick;
	u32 level;
	u32 slot;
	bool more;
};

/**
 * struct fire - an expiry
 * @timer: who
 * @tick: when
 * @due: the due tick
 * @missed: periods missed
 */
struct fire {
	const struct timer *timer;
	u64 tick;
	u64 due;
	u64 missed;
};

struct backend;

/**
 * struct backend_ops - a backend
 * @open: set up a wheel of @kind; @cfg was accepted by wheel_configure().
 *	*@backend is set on success only.
 * @close: the timers are still there, and are freed later by the caller
 * @timer_size: bytes of what it keeps of a timer
 * @arm: arm or move a timer for the tick @due; @period 0 for a one-shot
 * @cancel: whether it was *@pending
 * @advance: move the clock to @to, not before now; @fired is called for each
 *	expiry, in order, and ends it all by returning something else than ST_OK
 * @next: see scenario.md; WHEEL_NEVER for none
 * @count: timers pending
 * @now: the clock
 * @geometry: as in struct wheel_ops
 * @walk: fill in up to WHEEL_BATCH of @items, *@nr of them; 0 at the end
 */
struct backend_ops {
	enum status (*open)(struct backend **backend, enum wheel_kind kind,
			    const struct wheel_config *cfg,
			    struct problem *why);
	void (*close)(struct backend *backend);
	size_t (*timer_size)(const struct backend *backend);
	enum status (*arm)(struct backend *backend, struct timer *timer,
			   u64 due, u64 period, u64 slack, struct problem *why);
	enum status (*cancel)(struct backend *backend, struct timer *timer,
			      bool *pending, struct problem *why);
	enum status (*advance)(struct backend *backend, u64 to,
			       enum status (*fired)(void *data,
						    const struct fire *fire),
			       void *data, struct problem *why);
	enum status (*next)(struct backend *backend, u64 *tick,
			    struct problem *why);
	enum status (*count)(struct backend *backend, u64 *count,
			     struct problem *why);
	u64 (*now)(const struct backend *backend);
	enum status (*geometry)(struct backend *backend,
				struct wheel_geometry *geometry,
				struct problem *why);
	enum status (*walk)(struct backend *backend, struct wheel_walk *pos,
			    struct waiting *items, unsigned int *nr,
			    struct problem *why);
};

extern const struct backend_ops in_process;
extern const struct backend_ops device;

/* The wheel of an in-process backend, for its statistics. */
const struct wheel *in_process_wheel(const struct backend *backend);

/* Whether /dev/cogwheel can be opened; otherwise why not. */
bool device_present(struct problem *why);

#endif /* _TOOLS_BACKEND_H */
