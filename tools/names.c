// SPDX-License-Identifier: GPL-2.0
/* A hash table with linear probing, at most half full; names never leave. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "names.h"

/* FNV-1a, its upper bits folded in. */
static size_t hash(const char *name)
{
	u64 h = 0xcbf29ce484222325ULL;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3ULL;
	return (size_t)(h ^ (h >> 32));
}

/* The place of @name, or the one where it would go. */
static struct timer **place(struct timer **table, size_t places,
			    const char *name)
{
	size_t i = hash(name) & (places - 1);

	while (table[i] && strcmp(table[i]->name, name))
		i = (i + 1) & (places - 1);
	return &table[i];
}

struct timer *names_find(const struct names *names, const char *name)
{
	return names->places ? *place(names->table, names->places, name) : NULL;
}

static bool grow(struct names *names)
{
	size_t places = names->places ? 2 * names->places : 64;
	struct timer **table = calloc(places, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < names->places; i++)
		if (names->table[i])
			*place(table, places, names->table[i]->name) =
				names->table[i];
	free(names->table);
	names->table = table;
	names->places = places;
	return true;
}

struct timer *names_add(struct names *names, const char *name, size_t size)
{
	struct timer *timer;

	if (2 * (names->nr + 1) > names->places && !grow(names))
		return NULL;
	timer = calloc(1, size);
	if (!timer)
		return NULL;
	timer->index = (u32)names->nr;
	snprintf(timer->name, sizeof(timer->name), "%s", name);
	*place(names->table, names->places, name) = timer;
	names->nr++;
	return timer;
}

void names_free(struct names *names)
{
	for (size_t i = 0; i < names->places; i++)
		free(names->table[i]);
	free(names->table);
	*names = (struct names){ 0 };
}
