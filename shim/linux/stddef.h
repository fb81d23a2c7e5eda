/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: offsets, over the uapi header. */
#ifndef _SHIM_LINUX_STDDEF_H
#define _SHIM_LINUX_STDDEF_H

#include <stddef.h>
#include_next <linux/stddef.h>

#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof_field(type, member))

#endif
