/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * libcogwheel: timers on /dev/cogwheel for programs, in two layers.
 *
 * Timers with callbacks, for event loops:
 *
 *	static void idle(struct cw *cw, struct cw_timer *t,
 *			 const struct cogwheel_event *event) { ... }
 *
 *	struct cw *cw = cw_open(NULL);
 *	cw_timer_init(&conn->timer, idle);
 *	cw_timer_arm(cw, &conn->timer, 30 * CW_SECOND);
 *	for (;;)
 *		cw_run(cw, -1);		(or cw_dispatch() when cw_fd() is readable)
 *
 * What they arm, move and cancel is collected, and goes to the kernel in one
 * call before the next wait: moving a timer a hundred times in between costs as
 * much as once.
 *
 * And the device's own operations and events: cw_arm(), cw_cancel(), cw_batch(),
 * cw_wait(). A struct cw is used for one layer or the other.
 *
 * Functions that return int return a negative errno where they fail. A struct
 * cw is for one thread at a time.
 */
#ifndef _LIBCOGWHEEL_H
#define _LIBCOGWHEEL_H

#include <stddef.h>
#include <stdint.h>

#include "cogwheel_ioctl.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CW_SECOND	UINT64_C(1000000000)	/* in ns, like all times here */

struct cw;
struct cw_timer;

/* cw_options.ring: read events, map no ring. */
#define CW_NO_RING	UINT32_MAX

/**
 * struct cw_options - how to open the device; all zero for the defaults
 * @device: its path; NULL for /dev/cogwheel
 * @kind: name of a kind; NULL for the device's default
 * @clock: COGWHEEL_CLOCK_*
 * @ring: events that the ring holds, a power of two; 0 for 1024; CW_NO_RING
 * @tick_ns: length of a tick of a monotonic clock; 0 for the device's default
 * @start: first tick of a manual clock
 */
struct cw_options {
	const char *device;
	const char *kind;
	uint32_t clock;
	uint32_t ring;
	uint64_t tick_ns;
	uint64_t start;
};

typedef void (*cw_fired)(struct cw *cw, struct cw_timer *timer,
			 const struct cogwheel_event *event);

/**
 * struct cw_timer - a timer, part of a structure of the program's
 * @fired: called when it fires; may arm, move, cancel and free it
 * @slot: the library's
 */
struct cw_timer {
	cw_fired fired;
	uint32_t slot;
};

struct cw *cw_open(const struct cw_options *options);
void cw_close(struct cw *cw);
int cw_fd(const struct cw *cw);

/* Timers with callbacks. */
void cw_timer_init(struct cw_timer *timer, cw_fired fired);
int cw_timer_arm(struct cw *cw, struct cw_timer *timer, uint64_t delay_ns);
int cw_timer_every(struct cw *cw, struct cw_timer *timer, uint64_t delay_ns,
		   uint64_t period_ns);
int cw_timer_cancel(struct cw *cw, struct cw_timer *timer);
int cw_timer_armed(const struct cw_timer *timer);
int cw_submit(struct cw *cw);
int cw_dispatch(struct cw *cw);
int cw_run(struct cw *cw, int timeout_ms);

/* The device's own. */
int cw_arm(struct cw *cw, struct cogwheel_ioc_arm *arm);
int cw_cancel(struct cw *cw, uint64_t handle);
int cw_batch(struct cw *cw, struct cogwheel_op *ops, uint64_t count,
	     uint64_t *done);
int cw_wait(struct cw *cw, struct cogwheel_event *events, unsigned int max,
	    int timeout_ms);
int cw_advance(struct cw *cw, uint64_t ticks, uint64_t *now);
int cw_state(struct cw *cw, struct cogwheel_ioc_state *state);

#ifdef __cplusplus
}
#endif

#endif /* _LIBCOGWHEEL_H */
