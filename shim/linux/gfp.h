/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: an allocator that asks for no flags but this one. */
#ifndef _SHIM_LINUX_GFP_H
#define _SHIM_LINUX_GFP_H

#include <linux/types.h>

#define GFP_NOWAIT		0x01u
#define GFP_ATOMIC		0x02u
#define GFP_KERNEL		0x04u
#define __GFP_ZERO		0x08u
#define __GFP_ACCOUNT		0x10u
#define __GFP_NOWARN		0x20u
#define __GFP_NORETRY		0x40u
#define GFP_KERNEL_ACCOUNT	(GFP_KERNEL | __GFP_ACCOUNT)

#endif
