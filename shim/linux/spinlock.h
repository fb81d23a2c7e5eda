/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: one thread, so a lock only has to be unlocked again. */
#ifndef _SHIM_LINUX_SPINLOCK_H
#define _SHIM_LINUX_SPINLOCK_H

#include <linux/bug.h>

typedef struct {
	bool locked;
} raw_spinlock_t;

#define raw_spin_lock_init(lock)	((lock)->locked = false)

#define raw_spin_lock_irqsave(lock, flags) do {				\
	(flags) = 0;							\
	WARN_ON((lock)->locked);					\
	(lock)->locked = true;						\
} while (0)

#define raw_spin_unlock_irqrestore(lock, flags) do {			\
	WARN_ON(flags || !(lock)->locked);				\
	(lock)->locked = false;						\
} while (0)

#endif
