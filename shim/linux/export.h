/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: the linker exports everything. */
#ifndef _SHIM_LINUX_EXPORT_H
#define _SHIM_LINUX_EXPORT_H

#define EXPORT_SYMBOL(sym)	_Static_assert(1, "")
#define EXPORT_SYMBOL_GPL(sym)	_Static_assert(1, "")

#endif
