/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in: ends of the kernel's types. The C library's <limits.h>
 * includes this file too, hence the forwarding.
 */
#ifndef _SHIM_LINUX_LIMITS_H
#define _SHIM_LINUX_LIMITS_H

#include_next <linux/limits.h>
#include <limits.h>

#define U8_MAX		((u8)~0U)
#define S8_MAX		((s8)(U8_MAX >> 1))
#define U16_MAX		((u16)~0U)
#define S16_MAX		((s16)(U16_MAX >> 1))
#define U32_MAX		((u32)~0U)
#define S32_MAX		((s32)(U32_MAX >> 1))
#define U64_MAX		((u64)~0ULL)
#define S64_MAX		((s64)(U64_MAX >> 1))
#ifndef SIZE_MAX
#define SIZE_MAX	(~(size_t)0)
#endif

#include <linux/types.h>

#endif
