/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A list of scattered nodes is a chain of cache misses, each of which must end
 * before the next can begin. So who empties a long list from its front sends a
 * scout through it from its end: two misses at a time, until they meet, and
 * what comes then is in the cache. A list that is emptied at once needs none.
 *
 *	emptied ->[a]-[b]-[c]-[d]-[e]-[f]-[g]-[h]<- scout
 *			pos -->	      <-- scout
 *
 * Between two steps the scout stays at a node that is still in the list: if
 * that one is cancelled, whoever does it sends the scout home.
 */
#ifndef _WHEEL_SCOUT_H
#define _WHEEL_SCOUT_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/types.h>

/* Go on, @pos being taken out. False where they have met. */
static __always_inline bool scout_step(struct list_head **scout,
				       const struct list_head *pos)
{
	if (*scout == pos)
		return false;
	*scout = (*scout)->prev;
	return *scout != pos;
}

#endif /* _WHEEL_SCOUT_H */
