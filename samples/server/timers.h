/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a connection holds of its timeout, in each build.
 */
#ifndef _SAMPLES_TIMERS_H
#define _SAMPLES_TIMERS_H

#include <stdint.h>

#if defined(TIMERS_COGWHEEL)
#include "libcogwheel.h"

#define TIMERS	"cogwheel"
struct timeout {
	struct cw_timer timer;
};
#elif defined(TIMERS_HEAP)
#define TIMERS	"heap"
struct timeout {
	uint64_t at;
	unsigned long place;	/* in the heap, from 1; 0 while it is idle */
};
#else
#define TIMERS	"timerfd"
struct timeout {
	int timerfd;
};
#endif

#endif /* _SAMPLES_TIMERS_H */
