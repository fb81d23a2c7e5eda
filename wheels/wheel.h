/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract of a kind: what a data structure must offer to be a timing
 * wheel here, and what it may rely on.
 *
 * A kind knows slots, levels and due ticks. It knows nothing of locks, CPUs,
 * clocks, callbacks or user space: whoever owns a wheel (cogwheel.c in the
 * kernel, cogctl and the tests in user space) serialises every call on it and
 * says what time it is. The same source compiles in both places; shim/ stands
 * in for the kernel's headers in user space.
 *
 * Time, in ticks:
 *
 *	 processed             not yet processed
 *	-----------------+---------------------------------->
 *	             now |  now + 1
 *	                 |
 *	   the cursor ---+  an overdue timer fires at now + 1
 *
 * A wheel whose clock shows `now` has done everything that was to be done at
 * ticks up to and including `now`. A timer fires at the tick that @advance
 * has moved the clock to when it hands the timer over.
 */
#ifndef _WHEEL_H
#define _WHEEL_H

#include <linux/limits.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/stddef.h>
#include <linux/types.h>

/** WHEEL_BATCH - the most timers that one call of advance or walk looks at. */
#define WHEEL_BATCH	64

/**
 * WHEEL_NEVER - the tick of what will never come
 *
 * Not the greatest number, which is a tick that a timer can be due on, but the
 * one that cannot be later than any clock.
 */
#define WHEEL_NEVER	0ULL

/**
 * struct wheel_node - one timer, as a kind sees it
 * @expires: due tick, as it was asked for; an overdue one is not rounded up.
 *	The owner sets it before it enqueues the node and leaves it alone while
 *	the node is queued.
 * @owner: belongs to the owner of the wheel; a kind never touches it
 * @priv: belongs to the kind while the node is queued
 *
 * The union holds what the shapes of kinds need. A wheel uses the first
 * wheel_ops.node_size bytes of a node only, so a node that is the last member
 * of a structure may be allocated that short.
 */
struct wheel_node {
	u64 expires;
	u32 owner;
	u32 priv;
	/* private: for the kinds, by their shape */
	union {
		struct list_head entry;
		struct {
			struct list_head entry;
			u64 slack;
		} slack;
		struct {
			struct list_head entry;
			u64 key;
		} list;
		struct {
			union {
				struct rb_node rb;
				struct list_head entry;
			};
			u64 key;
		} tree;
		struct {
			struct list_head entry;
			struct rb_node rb;
		} run;
		struct {
			struct wheel_node *parent;
			struct wheel_node *child[2];
			u64 key;
			u64 seq;
		} heap;
		struct wheel_node **place;
	};
};

/**
 * wheel_node_size() - bytes of a node that a shape of the union needs
 * @member: a member of the union in struct wheel_node
 */
#define wheel_node_size(member)	offsetofend(struct wheel_node, member)

/**
 * struct wheel_batch - what one call of advance hands over
 * @budget: the most timers to look at, 1 to WHEEL_BATCH; the caller sets it
 * @looked: how many were looked at (fired, moved or passed over)
 * @nr: how many have expired, never more than @looked
 * @node: the expired ones in the order in which they fire, all of them at the
 *	tick that the wheel's clock shows now; none is queued any more
 */
struct wheel_batch {
	unsigned int budget;
	unsigned int looked;
	unsigned int nr;
	struct wheel_node *node[WHEEL_BATCH];
};

/* What a kind promises, so that nobody needs to ask for a kind by name. */
#define WHEEL_EXACT	0x01	/* fires at the due tick, in order of arming */
#define WHEEL_ONE_STEP	0x02	/* next is the tick of the first fire itself */
#define WHEEL_SCANS	0x04	/* a jump may look at every pending timer */
#define WHEEL_SLACK	0x08	/* reads slack.slack, and fires within it */
#define WHEEL_BOUNDED	0x10	/* refuses to be reserved for above max_timers */
#define WHEEL_POOLED	0x20	/* takes memory from wheel_config.pool */
#define WHEEL_ROUNDS	0x40	/* rounds due ticks up: needs no extra tick */
#define WHEEL_ONCE	0x80	/* the passing of time moves a timer once at most */
#define WHEEL_LAZY	0x100	/* see "Lazy moves" below */

/*
 * Lazy moves. With WHEEL_LAZY, a queued node's expires may become later at any
 * time, without the owner's lock: the wheel keeps to the place that it gave the
 * node, or to a later one, hands it over in time for its old due tick at the
 * earliest and for its new one at the latest, and the owner, who finds it due
 * later, enqueues it again. No order is kept, and @fires may be outdated.
 */

/**
 * struct wheel_pool - memory of fixed-size chunks, shared by several wheels
 * @get: take a chunk; never fails while what is in use stays within what was
 *	reserved, and may be called with interrupts off. A chunk's address is a
 *	multiple of its size, which is a power of two.
 * @put: give a chunk back
 *
 * The owner provides it to a kind with WHEEL_POOLED. In its reserve step it
 * fills it according to wheel_ops.chunks.
 */
struct wheel_pool {
	void *(*get)(struct wheel_pool *pool);
	void (*put)(struct wheel_pool *pool, void *chunk);
};

/**
 * struct wheel_config - how to set up a wheel
 * @start: the clock's first value
 * @slots: number of slots, 0 for the kind's default
 * @levels: number of levels, 0 for the kind's default
 * @numa: NUMA node to allocate on, NUMA_NO_NODE for any
 * @pool: for a kind with WHEEL_POOLED, else unused
 */
struct wheel_config {
	u64 start;
	u32 slots;
	u32 levels;
	int numa;
	struct wheel_pool *pool;
};

/**
 * struct wheel_range - the values that an option may take
 * @min: smallest, or 0 where the kind has no such option
 * @max: largest
 * @def: what 0 stands for
 */
struct wheel_range {
	u32 min;
	u32 max;
	u32 def;
};

/**
 * struct wheel_geometry - the shape of a wheel
 * @levels: number of levels, 1 for a kind that has none; also the most steps
 *	that repeating "advance to next" takes to reach the first fire. One
 *	more for a kind with WHEEL_SCANS and without WHEEL_ONE_STEP: where the
 *	first of more than WHEEL_BATCH timers was cancelled, it must look.
 * @slots: slots on each level, 1 for a kind that has none
 * @width: ticks that a slot of level 0 spans
 * @shift: a slot of level n spans @width << (n * @shift) ticks
 */
struct wheel_geometry {
	u32 levels;
	u32 slots;
	u64 width;
	u32 shift;
};

/* Where struct wheel_item says that a node waits outside all levels. */
#define WHEEL_NO_LEVEL	U32_MAX

/**
 * struct wheel_item - one queued node, for a picture
 * @node: the node
 * @tick: the tick at which the wheel looks at it next
 * @level: its level, or WHEEL_NO_LEVEL for one that waits elsewhere (it is
 *	just being fired, or waits beyond the levels, or can never fire)
 * @slot: its slot on that level
 * @more: its slot holds more nodes, which the walk leaves out
 */
struct wheel_item {
	struct wheel_node *node;
	u64 tick;
	u32 level;
	u32 slot;
	bool more;
};

/**
 * struct wheel_walk - where a walk stands; all zero before the first call
 * @pos: the kind's own
 */
struct wheel_walk {
	u64 pos[2];
};

struct wheel_ops;

/**
 * struct wheel - what every wheel begins with
 * @now: the clock; only the kind moves it
 * @moved: how often a timer was moved between slots by the passing of time
 * @touched: how many slots were visited while time passed
 * @ops: the kind
 * @upkeep: the kind asks for its upkeep: see maintain in struct wheel_ops
 * @refused: enqueue has refused a node; the owner takes this down
 * @wants: either of them, for the owner to ask for both at once
 */
struct wheel {
	u64 now;
	u64 moved;
	u64 touched;
	const struct wheel_ops *ops;
	union {
		struct {
			bool upkeep;
			bool refused;
		};
		u16 wants;
	};
};

/**
 * struct wheel_ops - a kind
 * @name: as in the CLI, sysfs, CSV and documentation
 * @brief: one line for a list of kinds
 * @source: whose design it is
 * @traits: WHEEL_* flags
 * @node_size: bytes of a node that this kind uses
 * @max_timers: with WHEEL_BOUNDED, the most timers to reserve for
 * @slots: range of the option of that name
 * @levels: range of the option of that name
 *
 * Hot, required; the owner holds its lock, interrupts may be off:
 *
 * @enqueue: queue a node that is not queued, by its expires. Cannot fail
 *	within what was reserved. Returns the tick at which the wheel first
 *	needs the CPU for this node (to fire it, or to move it), or WHEEL_NEVER
 *	where the clock has ended. Beyond what was reserved, a kind with
 *	WHEEL_POOLED sets wheel.refused, returns WHEEL_NEVER and leaves the
 *	node alone.
 * @dequeue: take a queued node out
 * @next: the first tick after now at which the wheel needs the CPU; may be
 *	early, never late; WHEEL_NEVER (which is 0) where nothing will ever fire
 * @advance: move the clock towards @to (not before now), and hand over what
 *	expires, at most one tick's timers in one call. Stops when the budget
 *	is used up, when a tick has handed anything over, or at @to. Returns
 *	true once the clock shows @to and no work is left at that tick. The
 *	wheel is valid whenever it returns: every other operation may be called
 *	before the next advance.
 * @forward: set the clock to @to, where the caller knows that @next is later
 *	than @to and that the last advance returned true
 *
 * Cold, required:
 *
 * @size: bytes of the wheel's structure for a configuration that
 *	wheel_configure() accepted
 * @init: set up such a structure, zeroed, of that size. May allocate and
 *	sleep. Returns 0 or -ENOMEM.
 * @destroy: free what init allocated and install took; no node is queued
 * @first: any queued node, NULL if there is none; the order is such that
 *	taking them out one by one and arming them elsewhere keeps the order
 *	of arming of each tick
 * @fires: the tick at which a queued node will fire as things stand, or where
 *	it is not known yet, a tick no later than that. WHEEL_NEVER for never.
 * @walk: fill in up to @max items (1 to WHEEL_BATCH) and move @pos on;
 *	returns how many, 0 at the end. Every slot is visited at most once.
 *	What is armed or cancelled in between may or may not be seen. With
 *	upkeep in between, anything may be missed or seen twice.
 * @geometry: its shape, as it is now
 *
 * Cold, optional (NULL where a kind has no need):
 *
 * @maintain: a bounded step of growing, resizing or compacting, under the
 *	owner's lock; returns true while there is more to do
 * @grow: allocate and prepare the memory that the wheel wants for its next
 *	size, for install. Called without the owner's lock, may sleep; not
 *	while another grow or destroy of this wheel runs. NULL where nothing is
 *	wanted, or there is no memory.
 * @install: take what grow returned, NULL included, which says that there was
 *	nothing to be had. Under the owner's lock, bounded. Returns memory that
 *	the wheel has no use for (@memory itself, where that came too late), to
 *	be freed by kvfree() without the lock, or NULL.
 * @chunks: with WHEEL_POOLED, how many chunks of which size @nr timers, however
 *	they are spread over @wheels wheels, need in the worst case
 *
 * A wheel whose upkeep is never done works all the same, only slower. An
 * owner who sees wheel.upkeep after an operation does rounds of it, some time
 * later and where it can sleep, until the flag is down:
 *
 *	memory = grow(w);
 *	lock; spare = install(w, memory); maintain(w); unlock;
 *	kvfree(spare);
 *
 * leaving out what the kind has not. (It has grow if and only if it has
 * install.) Each round gets on, or takes the flag down: there is no need to
 * wait in between.
 */
struct wheel_ops {
	const char *name;
	const char *brief;
	const char *source;
	u32 traits;
	u32 node_size;
	u32 max_timers;
	struct wheel_range slots;
	struct wheel_range levels;

	u64 (*enqueue)(struct wheel *w, struct wheel_node *node);
	void (*dequeue)(struct wheel *w, struct wheel_node *node);
	u64 (*next)(const struct wheel *w);
	bool (*advance)(struct wheel *w, u64 to, struct wheel_batch *batch);
	void (*forward)(struct wheel *w, u64 to);

	size_t (*size)(const struct wheel_config *cfg);
	int (*init)(struct wheel *w, const struct wheel_config *cfg);
	void (*destroy)(struct wheel *w);
	struct wheel_node *(*first)(struct wheel *w);
	u64 (*fires)(const struct wheel *w, const struct wheel_node *node);
	unsigned int (*walk)(const struct wheel *w, struct wheel_walk *pos,
			     struct wheel_item *items, unsigned int max);
	void (*geometry)(const struct wheel *w, struct wheel_geometry *g);

	bool (*maintain)(struct wheel *w);
	void *(*grow)(const struct wheel *w);
	void *(*install)(struct wheel *w, void *memory);
	size_t (*chunks)(const struct wheel_config *cfg, size_t nr,
			 unsigned int wheels, size_t *chunk_size);
};

/**
 * wheel_fire_tick() - the tick at which the law wants a node to fire
 * @now: the wheel's clock, before its last tick
 * @expires: the due tick
 *
 * Return: the due tick, or the next tick to be processed where it is overdue.
 */
static inline u64 wheel_fire_tick(u64 now, u64 expires)
{
	return expires > now ? expires : now + 1;
}

#endif /* _WHEEL_H */
