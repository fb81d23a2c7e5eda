/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The list of kinds, and everything that is made from it: numbers, tables and
 * the switches by which hot paths reach a kind without an indirect call.
 *
 * To add a kind: write wheels/<kind>.c with a `const struct wheel_ops
 * <kind>_ops` and its five hot functions, and add one line to WHEEL_KINDS and
 * one to Kbuild. It is then selectable wherever a kind can be named.
 */
#ifndef _WHEEL_KINDS_H
#define _WHEEL_KINDS_H

#include "wheel.h"

/* The order is part of the ioctl interface: add at the end. */
#define WHEEL_KINDS(X)	\
	X(cascading)	\
	X(noncascading)	\
	X(unsorted)	\
	X(sorted)	\
	X(heap)	\
	X(rbtree)	\
	X(simple)	\
	X(hashed_sorted)	\
	X(hashed)	\
	X(calendar)	\
	X(slack)	\
	X(cascade_once)	\
	X(blocks)

enum wheel_kind {
#define X(kind) WHEEL_##kind,
	WHEEL_KINDS(X)
#undef X
	WHEEL_NR_KINDS
};

#define X(kind)								\
	extern const struct wheel_ops kind##_ops;			\
	u64 kind##_enqueue(struct wheel *w, struct wheel_node *node);	\
	void kind##_dequeue(struct wheel *w, struct wheel_node *node);	\
	u64 kind##_next(const struct wheel *w);				\
	bool kind##_advance(struct wheel *w, u64 to,			\
			    struct wheel_batch *batch);			\
	void kind##_forward(struct wheel *w, u64 to);
WHEEL_KINDS(X)
#undef X

extern const struct wheel_ops *const wheel_kinds[WHEEL_NR_KINDS];

int wheel_kind_by_name(const char *name);
int wheel_configure(enum wheel_kind kind, struct wheel_config *cfg);

#define WHEEL_DISPATCH(op)						\
	switch (kind) {							\
	WHEEL_KINDS(WHEEL_CASE_##op)					\
	case WHEEL_NR_KINDS:						\
		break;							\
	}

#define WHEEL_CASE_enqueue(k)	case WHEEL_##k: return k##_enqueue(w, node);
#define WHEEL_CASE_dequeue(k)	case WHEEL_##k: k##_dequeue(w, node); break;
#define WHEEL_CASE_next(k)	case WHEEL_##k: return k##_next(w);
#define WHEEL_CASE_advance(k)	case WHEEL_##k: return k##_advance(w, to, batch);
#define WHEEL_CASE_forward(k)	case WHEEL_##k: k##_forward(w, to); break;

/* The hot operations of struct wheel_ops, reached by a switch. */

static inline u64 wheel_enqueue(enum wheel_kind kind, struct wheel *w,
				struct wheel_node *node)
{
	WHEEL_DISPATCH(enqueue);
	return WHEEL_NEVER;
}

static inline void wheel_dequeue(enum wheel_kind kind, struct wheel *w,
				 struct wheel_node *node)
{
	WHEEL_DISPATCH(dequeue);
}

static inline u64 wheel_next(enum wheel_kind kind, const struct wheel *w)
{
	WHEEL_DISPATCH(next);
	return WHEEL_NEVER;
}

static inline bool wheel_advance(enum wheel_kind kind, struct wheel *w, u64 to,
				 struct wheel_batch *batch)
{
	WHEEL_DISPATCH(advance);
	return true;
}

static inline void wheel_forward(enum wheel_kind kind, struct wheel *w, u64 to)
{
	WHEEL_DISPATCH(forward);
}

#endif /* _WHEEL_KINDS_H */
