/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: the C library's own. */
#ifndef _SHIM_LINUX_STRING_H
#define _SHIM_LINUX_STRING_H

#include <string.h>
#include <linux/types.h>

#endif
