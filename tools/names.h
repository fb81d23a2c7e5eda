/* SPDX-License-Identifier: GPL-2.0 */
/* A table of timers by name; it owns them. It knows nothing of wheels. */
#ifndef _TOOLS_NAMES_H
#define _TOOLS_NAMES_H

#include <stddef.h>

struct timer;

struct names {
	struct timer **table;	/* open addressing; a power of two of places */
	size_t places;
	size_t nr;
};

struct timer *names_find(const struct names *names, const char *name);

/* A zeroed timer of @size bytes with that new name; NULL: memory is short. */
struct timer *names_add(struct names *names, const char *name, size_t size);

void names_free(struct names *names);

#endif /* _TOOLS_NAMES_H */
