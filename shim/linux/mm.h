/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: kvmalloc() and friends, which live here on 6.1. */
#ifndef _SHIM_LINUX_MM_H
#define _SHIM_LINUX_MM_H

#include <linux/kernel.h>
#include <linux/slab.h>

#ifndef PAGE_SIZE
#define PAGE_SHIFT	12
#define PAGE_SIZE	(1UL << PAGE_SHIFT)
#endif

#endif
