/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the supported kernels, 6.1 to the newest, name differently. The code
 * elsewhere uses the newest kernel's names; this is the only file that asks
 * for a version.
 */
#ifndef _COGWHEEL_COMPAT_H
#define _COGWHEEL_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/timer.h>
#include <linux/version.h>

#ifndef CONFIG_64BIT
#error "Cogwheel counts in 64 bits without locks and needs a 64-bit kernel"
#endif

#ifndef timer_container_of		/* 6.16 */
#define timer_container_of	from_timer
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define timer_destroy_on_stack	destroy_timer_on_stack
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set,
				vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#endif /* _COGWHEEL_COMPAT_H */
