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
 * that one is cancelled, whoever does it sends the scout home (scout_left()).
 *
 * Knows lists only, and not why one is emptied.
 */
#ifndef _WHEEL_SCOUT_H
#define _WHEEL_SCOUT_H

#include <linux/compiler.h>
#include <linux/list.h>
#include "wheel.h"

/**
 * struct scout - the scout of a wheel; all zero where none is under way
 * @list: the list that is being emptied, while a part of it waits
 * @at: the node to which the scout has come; NULL where it has met who empties
 *	the list, or was sent home. The end of the list, as a node, at first.
 */
struct scout {
	struct list_head *list;
	struct wheel_node *at;
};

/* Where the scout of a list has come to, NULL if there is none. */
static inline struct list_head *scout_resume(const struct scout *s,
					     const struct list_head *list)
{
	return s->list == list && s->at ? &s->at->entry : NULL;
}

/* Go on, @pos being taken out. False where they have met. */
static __always_inline bool scout_step(struct list_head **scout,
				       const struct list_head *pos)
{
	if (*scout == pos)
		return false;
	*scout = (*scout)->prev;
	return *scout != pos;
}

/* A node was taken out by somebody else. */
static inline void scout_left(struct scout *s, const struct wheel_node *node)
{
	if (unlikely(node == s->at))
		s->at = NULL;
}

/*
 * What is in front of @pos has been taken out: cut it off, all at once, since
 * nobody looks at its links again. A scout sets out, or stays at @scout, where
 * a part is left. True where nothing is.
 */
static inline bool scout_cut(struct scout *s, struct list_head *list,
			     struct list_head *pos, struct list_head *scout)
{
	list->next = pos;
	pos->prev = list;
	if (pos == list) {
		s->list = NULL;
		s->at = NULL;
		return true;
	}
	if (s->list != list) {
		s->list = list;
		scout = list->prev;
	}
	s->at = scout ? list_entry(scout, struct wheel_node, entry) : NULL;
	return false;
}

#endif /* _WHEEL_SCOUT_H */
