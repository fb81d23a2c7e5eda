/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a test must know of the time it runs in. Knows nothing of wheels.
 */
#ifndef _KUNIT_TIMING_H
#define _KUNIT_TIMING_H

#include <linux/compiler.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

/*
 * Does the clock stand still while code runs, as under UML's time travel with
 * an infinitely fast CPU? There idle time takes no time, and a test may wait
 * for days; elsewhere it must not.
 */
static inline bool time_is_virtual(void)
{
	ktime_t begin = ktime_get();
	unsigned int i;

	/* Some milliseconds on any machine; reading the clock costs 1 us at most. */
	for (i = 0; i < 10 * 1000 * 1000; i++)
		barrier();
	return ktime_sub(ktime_get(), begin) < 100 * NSEC_PER_USEC;
}

#endif /* _KUNIT_TIMING_H */
