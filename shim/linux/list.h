/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in: circular doubly linked lists and lists with a single
 * head pointer. A removed entry is poisoned, so that its use is a crash.
 */
#ifndef _SHIM_LINUX_LIST_H
#define _SHIM_LINUX_LIST_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/types.h>

#define LIST_POISON1	((void *)0x101)
#define LIST_POISON2	((void *)0x202)

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

/* Makes @next follow @prev. */
static inline void shim_list_join(struct list_head *prev,
				  struct list_head *next)
{
	prev->next = next;
	next->prev = prev;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	shim_list_join(entry, head->next);
	shim_list_join(head, entry);
}

static inline void list_add_tail(struct list_head *entry,
				 struct list_head *head)
{
	shim_list_join(head->prev, entry);
	shim_list_join(entry, head);
}

static inline void __list_del(struct list_head *prev, struct list_head *next)
{
	shim_list_join(prev, next);
}

static inline void __list_del_entry(struct list_head *entry)
{
	shim_list_join(entry->prev, entry->next);
}

static inline void list_del(struct list_head *entry)
{
	__list_del_entry(entry);
	entry->next = LIST_POISON1;
	entry->prev = LIST_POISON2;
}

static inline void list_del_init(struct list_head *entry)
{
	__list_del_entry(entry);
	INIT_LIST_HEAD(entry);
}

static inline void list_replace(struct list_head *old,
				struct list_head *entry)
{
	shim_list_join(entry, old->next);
	shim_list_join(old->prev, entry);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	__list_del_entry(entry);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry,
				  struct list_head *head)
{
	__list_del_entry(entry);
	list_add_tail(entry, head);
}

static inline bool list_empty(const struct list_head *head)
{
	return READ_ONCE(head->next) == head;
}

static inline bool list_is_singular(const struct list_head *head)
{
	return !list_empty(head) && head->next == head->prev;
}

static inline bool list_is_first(const struct list_head *entry,
				 const struct list_head *head)
{
	return entry->prev == head;
}

static inline bool list_is_last(const struct list_head *entry,
				const struct list_head *head)
{
	return entry->next == head;
}

static inline bool list_is_head(const struct list_head *entry,
				const struct list_head *head)
{
	return entry == head;
}

/* The entries of @from, not @from itself, come to stand after @prev. */
static inline void shim_list_splice(struct list_head *from,
				    struct list_head *prev)
{
	struct list_head *next = prev->next;

	if (list_empty(from))
		return;
	shim_list_join(from->prev, next);
	shim_list_join(prev, from->next);
}

static inline void list_splice(struct list_head *from, struct list_head *head)
{
	shim_list_splice(from, head);
}

static inline void list_splice_tail(struct list_head *from,
				    struct list_head *head)
{
	shim_list_splice(from, head->prev);
}

static inline void list_splice_init(struct list_head *from,
				    struct list_head *head)
{
	shim_list_splice(from, head);
	INIT_LIST_HEAD(from);
}

static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *head)
{
	shim_list_splice(from, head->prev);
	INIT_LIST_HEAD(from);
}

/* Moves what comes before @entry from @head to @to, whose content is lost. */
static inline void list_cut_before(struct list_head *to,
				   struct list_head *head,
				   struct list_head *entry)
{
	if (head->next == entry) {
		INIT_LIST_HEAD(to);
		return;
	}
	shim_list_join(to, head->next);
	shim_list_join(entry->prev, to);
	shim_list_join(head, entry);
}

/* The same, with @entry itself. */
static inline void list_cut_position(struct list_head *to,
				     struct list_head *head,
				     struct list_head *entry)
{
	if (entry == head)
		INIT_LIST_HEAD(to);
	else
		list_cut_before(to, head, entry->next);
}

#define list_entry(ptr, type, member)	container_of(ptr, type, member)
#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) \
	list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_prev_entry(pos, member) \
	list_entry((pos)->member.prev, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member)	(&(pos)->member == (head))

#define list_for_each(pos, head) \
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)
#define list_for_each_safe(pos, n, head)				\
	for ((pos) = (head)->next, (n) = (pos)->next; (pos) != (head);	\
	     (pos) = (n), (n) = (pos)->next)

#define list_for_each_entry(pos, head, member)				\
	for ((pos) = list_first_entry(head, __typeof__(*(pos)), member); \
	     !list_entry_is_head(pos, head, member);			\
	     (pos) = list_next_entry(pos, member))
#define list_for_each_entry_reverse(pos, head, member)			\
	for ((pos) = list_last_entry(head, __typeof__(*(pos)), member);	\
	     !list_entry_is_head(pos, head, member);			\
	     (pos) = list_prev_entry(pos, member))
#define list_for_each_entry_continue(pos, head, member)			\
	for ((pos) = list_next_entry(pos, member);			\
	     !list_entry_is_head(pos, head, member);			\
	     (pos) = list_next_entry(pos, member))
#define list_for_each_entry_from(pos, head, member)			\
	for (; !list_entry_is_head(pos, head, member);			\
	     (pos) = list_next_entry(pos, member))
#define list_for_each_entry_safe(pos, n, head, member)			\
	for ((pos) = list_first_entry(head, __typeof__(*(pos)), member), \
	     (n) = list_next_entry(pos, member);			\
	     !list_entry_is_head(pos, head, member);			\
	     (pos) = (n), (n) = list_next_entry(n, member))

#define HLIST_HEAD_INIT		{ .first = NULL }
#define HLIST_HEAD(name)	struct hlist_head name = HLIST_HEAD_INIT
#define INIT_HLIST_HEAD(head)	((head)->first = NULL)

static inline void INIT_HLIST_NODE(struct hlist_node *node)
{
	node->next = NULL;
	node->pprev = NULL;
}

static inline bool hlist_empty(const struct hlist_head *head)
{
	return !READ_ONCE(head->first);
}

static inline bool hlist_unhashed(const struct hlist_node *node)
{
	return !node->pprev;
}

static inline void hlist_add_head(struct hlist_node *node,
				  struct hlist_head *head)
{
	node->next = head->first;
	node->pprev = &head->first;
	if (node->next)
		node->next->pprev = &node->next;
	head->first = node;
}

static inline void __hlist_del(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

static inline void hlist_del(struct hlist_node *node)
{
	__hlist_del(node);
	node->next = LIST_POISON1;
	node->pprev = LIST_POISON2;
}

static inline void hlist_del_init(struct hlist_node *node)
{
	if (!hlist_unhashed(node)) {
		__hlist_del(node);
		INIT_HLIST_NODE(node);
	}
}

#define hlist_entry(ptr, type, member)	container_of(ptr, type, member)
#define hlist_entry_safe(ptr, type, member) ({				\
	__typeof__(ptr) shim_ptr = (ptr);				\
	shim_ptr ? hlist_entry(shim_ptr, type, member) : NULL; })
#define hlist_for_each_entry(pos, head, member)				\
	for ((pos) = hlist_entry_safe((head)->first, __typeof__(*(pos)),	\
				      member);				\
	     (pos);							\
	     (pos) = hlist_entry_safe((pos)->member.next,		\
				      __typeof__(*(pos)), member))
#define hlist_for_each_entry_safe(pos, n, head, member)			\
	for ((pos) = hlist_entry_safe((head)->first, __typeof__(*(pos)),	\
				      member);				\
	     (pos) && ({ (n) = (pos)->member.next; 1; });		\
	     (pos) = hlist_entry_safe(n, __typeof__(*(pos)), member))

#endif
