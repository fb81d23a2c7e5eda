/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: there is one node. */
#ifndef _SHIM_LINUX_NUMA_H
#define _SHIM_LINUX_NUMA_H

#define NUMA_NO_NODE	(-1)

#endif
