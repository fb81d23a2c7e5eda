/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: from a member to what it is a member of. */
#ifndef _SHIM_LINUX_CONTAINER_OF_H
#define _SHIM_LINUX_CONTAINER_OF_H

#include <stddef.h>

/* The never-evaluated comparison refuses a pointer of another type. */
#define container_of(ptr, type, member) ({				\
	(void)sizeof((ptr) == &((type *)0)->member);			\
	(type *)((char *)(ptr) - offsetof(type, member)); })
#define container_of_const(ptr, type, member) container_of(ptr, type, member)
#define typeof_member(T, m)	__typeof__(((T *)0)->m)

#endif
