// SPDX-License-Identifier: GPL-2.0
/*
 * A wheel in this process: the kinds called directly, with the batches and
 * the reservations that the kernel uses. It does for periods and memory what
 * the facility does there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/limits.h>
#include <linux/numa.h>
#include <linux/slab.h>

#include "../wheels/period.h"
#include "backend.h"

struct local_timer {
	struct timer timer;
	bool pending;
	u64 period;
	struct wheel_node node;		/* last: only as long as the kind needs */
};

struct chunk {
	struct chunk *next;
};

/* Memory for a kind that wants it in chunks: one wheel, so a plain list. */
struct local_pool {
	struct wheel_pool pool;
	struct chunk *free;
	size_t chunk_size;
	size_t nr;		/* free ones and those in use */
};

struct backend {
	enum wheel_kind kind;
	const struct wheel_ops *ops;
	struct wheel_config cfg;
	struct local_pool pool;
	u64 pending;
	u64 reserved;		/* timers that the pool suffices for */
	struct wheel *wheel;
};

static void *pool_get(struct wheel_pool *p)
{
	struct local_pool *pool = container_of(p, struct local_pool, pool);
	struct chunk *chunk = pool->free;

	if (!chunk)
		return NULL;
	pool->free = chunk->next;
	return chunk;
}

static void pool_put(struct wheel_pool *p, void *mem)
{
	struct local_pool *pool = container_of(p, struct local_pool, pool);
	struct chunk *chunk = mem;

	chunk->next = pool->free;
	pool->free = chunk;
}

/* Memory for @nr armed timers; after that arming them cannot fail. */
static enum status reserve(struct backend *b, u64 nr, struct problem *why)
{
	size_t chunks;

	if (b->ops->traits & WHEEL_BOUNDED && nr > b->ops->max_timers)
		return problem(why, ST_FAILED, "%s holds at most %u timers",
			       b->ops->name, b->ops->max_timers);
	if (!(b->ops->traits & WHEEL_POOLED) || nr <= b->reserved)
		return ST_OK;

	if (nr < 2 * b->reserved)
		nr = 2 * b->reserved;
	if (b->ops->traits & WHEEL_BOUNDED && nr > b->ops->max_timers)
		nr = b->ops->max_timers;
	chunks = b->ops->chunks(&b->cfg, nr, 1, &b->pool.chunk_size);
	for (; b->pool.nr < chunks; b->pool.nr++) {
		void *chunk = aligned_alloc(b->pool.chunk_size,
					    b->pool.chunk_size);

		if (!chunk)
			return problem(why, ST_FAILED, "%s", strerror(ENOMEM));
		pool_put(&b->pool.pool, chunk);
	}
	b->reserved = nr;
	return ST_OK;
}

/* Where nobody waits for a lock, what a kind asks for is done at once. */
static void upkeep(struct backend *b)
{
	while (b->wheel->upkeep) {
		void *memory = NULL;

		if (b->ops->grow)
			memory = b->ops->grow(b->wheel);
		if (b->ops->install)
			memory = b->ops->install(b->wheel, memory);
		if (b->ops->maintain)
			b->ops->maintain(b->wheel);
		kvfree(memory);
	}
}

static void in_process_close(struct backend *b)
{
	struct wheel_node *node;
	struct chunk *chunk;

	if (b->wheel) {
		while ((node = b->ops->first(b->wheel)))
			wheel_dequeue(b->kind, b->wheel, node);
		b->ops->destroy(b->wheel);
		free(b->wheel);
	}
	while ((chunk = pool_get(&b->pool.pool)))
		free(chunk);
	free(b);
}

static enum status in_process_open(struct backend **backend,
				   enum wheel_kind kind,
				   const struct wheel_config *cfg,
				   struct problem *why)
{
	struct backend *b = calloc(1, sizeof(*b));
	struct wheel *wheel;
	enum status st;

	if (!b)
		return problem(why, ST_FAILED, "%s", strerror(ENOMEM));
	b->kind = kind;
	b->ops = wheel_kinds[kind];
	b->pool.pool.get = pool_get;
	b->pool.pool.put = pool_put;
	b->cfg = *cfg;
	b->cfg.numa = NUMA_NO_NODE;
	b->cfg.pool = &b->pool.pool;

	st = reserve(b, 1, why);
	if (st)
		goto close;
	wheel = calloc(1, b->ops->size(&b->cfg));
	if (wheel) {
		wheel->now = b->cfg.start;
		wheel->ops = b->ops;
	}
	if (!wheel || b->ops->init(wheel, &b->cfg)) {
		free(wheel);
		st = problem(why, ST_FAILED, "%s", strerror(ENOMEM));
		goto close;
	}
	b->wheel = wheel;
	*backend = b;
	return ST_OK;

close:
	in_process_close(b);
	return st;
}

static size_t in_process_timer_size(const struct backend *b)
{
	return offsetof(struct local_timer, node) + b->ops->node_size;
}

static bool uses_slack(const struct backend *b)
{
	return b->ops->traits & WHEEL_SLACK;
}

static enum status in_process_arm(struct backend *b, struct timer *timer,
				  u64 due, u64 period, u64 slack,
				  struct problem *why)
{
	struct local_timer *t = container_of(timer, struct local_timer, timer);

	if (t->pending) {
		if (t->node.expires == due &&
		    (!uses_slack(b) || t->node.slack.slack == slack)) {
			t->period = period;
			return ST_OK;
		}
		wheel_dequeue(b->kind, b->wheel, &t->node);
	} else {
		enum status st = reserve(b, b->pending + 1, why);

		if (st)
			return st;
		t->pending = true;
		b->pending++;
	}
	t->period = period;
	t->node.expires = due;
	if (uses_slack(b))
		t->node.slack.slack = slack;
	wheel_enqueue(b->kind, b->wheel, &t->node);
	upkeep(b);
	return ST_OK;
}

static enum status in_process_cancel(struct backend *b, struct timer *timer,
				     bool *pending, struct problem *why)
{
	struct local_timer *t = container_of(timer, struct local_timer, timer);

	*pending = t->pending;
	if (t->pending) {
		wheel_dequeue(b->kind, b->wheel, &t->node);
		t->pending = false;
		b->pending--;
		upkeep(b);
	}
	return ST_OK;
}

/* A node was handed over: arm its timer again where it has a period. */
static struct fire expire(struct backend *b, struct wheel_node *node)
{
	struct local_timer *t = container_of(node, struct local_timer, node);
	struct fire fire = {
		.timer = &t->timer,
		.tick = b->wheel->now,
		.due = node->expires,
	};

	if (t->period && wheel_period_next(&node->expires, t->period, fire.tick,
					   &fire.missed)) {
		wheel_enqueue(b->kind, b->wheel, node);
	} else {
		t->pending = false;
		b->pending--;
	}
	return fire;
}

static enum status in_process_advance(struct backend *b, u64 to,
				      enum status (*fired)(void *data,
							   const struct fire *),
				      void *data, struct problem *why)
{
	struct wheel_batch batch;
	enum status st = ST_OK;
	bool done;

	do {
		memset(&batch, 0, sizeof(batch));
		batch.budget = WHEEL_BATCH;
		done = wheel_advance(b->kind, b->wheel, to, &batch);
		for (unsigned int i = 0; i < batch.nr; i++) {
			struct fire fire = expire(b, batch.node[i]);

			/* Where the output is lost, the wheel still is not. */
			if (!st)
				st = fired(data, &fire);
		}
		upkeep(b);
	} while (!done && !st);
	return st;
}

static enum status in_process_next(struct backend *b, u64 *tick,
				   struct problem *why)
{
	*tick = wheel_next(b->kind, b->wheel);
	return ST_OK;
}

static enum status in_process_count(struct backend *b, u64 *count,
				    struct problem *why)
{
	*count = b->pending;
	return ST_OK;
}

static u64 in_process_now(const struct backend *b)
{
	return b->wheel->now;
}

static enum status in_process_geometry(struct backend *b,
				       struct wheel_geometry *geometry,
				       struct problem *why)
{
	b->ops->geometry(b->wheel, geometry);
	return ST_OK;
}

static enum status in_process_walk(struct backend *b, struct wheel_walk *pos,
				   struct waiting *items, unsigned int *nr,
				   struct problem *why)
{
	struct wheel_item found[WHEEL_BATCH];

	*nr = b->ops->walk(b->wheel, pos, found, WHEEL_BATCH);
	for (unsigned int i = 0; i < *nr; i++) {
		struct local_timer *t = container_of(found[i].node,
						     struct local_timer, node);

		items[i] = (struct waiting){
			.timer = &t->timer,
			.due = t->node.expires,
			.tick = found[i].tick,
			.level = found[i].level,
			.slot = found[i].slot,
			.more = found[i].more,
		};
	}
	return ST_OK;
}

const struct wheel *in_process_wheel(const struct backend *backend)
{
	return backend->wheel;
}

const struct backend_ops in_process = {
	.open = in_process_open,
	.close = in_process_close,
	.timer_size = in_process_timer_size,
	.arm = in_process_arm,
	.cancel = in_process_cancel,
	.advance = in_process_advance,
	.next = in_process_next,
	.count = in_process_count,
	.now = in_process_now,
	.geometry = in_process_geometry,
	.walk = in_process_walk,
};
