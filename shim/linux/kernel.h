/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in: the odds and ends. The C library's <sys/sysinfo.h>
 * includes this file too, hence the forwarding.
 */
#ifndef _SHIM_LINUX_KERNEL_H
#define _SHIM_LINUX_KERNEL_H

#include_next <linux/kernel.h>
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/stddef.h>
#include <linux/types.h>

#define ARRAY_SIZE(arr)							\
	(sizeof(arr) / sizeof((arr)[0]) +				\
	 (size_t)BUILD_BUG_ON_ZERO(__builtin_types_compatible_p(		\
			__typeof__(arr), __typeof__(&(arr)[0]))))

#define upper_32_bits(n)	((u32)((u64)(n) >> 32))
#define lower_32_bits(n)	((u32)(n))

#endif
