/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: hints to the cache. */
#ifndef _SHIM_LINUX_PREFETCH_H
#define _SHIM_LINUX_PREFETCH_H

#define prefetch(p)	__builtin_prefetch(p)
#define prefetchw(p)	__builtin_prefetch(p, 1)

#endif
