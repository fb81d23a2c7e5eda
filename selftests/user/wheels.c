// SPDX-License-Identifier: GPL-2.0
/*
 * Making and unmaking a wheel of any kind: see wheels.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <linux/container_of.h>
#include <linux/numa.h>
#include <linux/slab.h>

#include "wheels.h"

static void *pool_get(struct wheel_pool *pool)
{
	struct test_pool *p = container_of(pool, struct test_pool, pool);
	void *chunk;

	if (p->used == p->reserved) {
		fprintf(stderr, "a kind took more than its %zu chunks for %zu timers\n",
			p->reserved, p->timers);
		abort();
	}
	p->used++;
	chunk = malloc(p->size);
	if (!chunk)
		abort();
	return chunk;
}

static void pool_put(struct wheel_pool *pool, void *chunk)
{
	struct test_pool *p = container_of(pool, struct test_pool, pool);

	p->used--;
	free(chunk);
}

/* Point a configuration at a pool that holds what its kind asks for. */
void test_pool_prepare(struct test_pool *pool, enum wheel_kind kind,
		       struct wheel_config *cfg)
{
	const struct wheel_ops *ops = wheel_kinds[kind];

	pool->pool.get = pool_get;
	pool->pool.put = pool_put;
	cfg->numa = NUMA_NO_NODE;
	cfg->pool = ops->traits & WHEEL_POOLED ? &pool->pool : NULL;
	if (ops->chunks)
		pool->reserved = ops->chunks(cfg, pool->timers, pool->wheels,
					     &pool->size);
}

/**
 * test_wheel_create() - make a wheel
 * @kind: its kind
 * @cfg: how; completed on return
 * @pool: with @timers and @wheels set; several wheels may share it
 *
 * Return: the wheel, NULL where memory ran out. Ends the program where the
 * kind refuses the configuration.
 */
struct wheel *test_wheel_create(enum wheel_kind kind, struct wheel_config *cfg,
				struct test_pool *pool)
{
	const struct wheel_ops *ops = wheel_kinds[kind];
	struct wheel *w;

	if (wheel_configure(kind, cfg)) {
		fprintf(stderr, "%s refuses slots %u, levels %u\n", ops->name,
			cfg->slots, cfg->levels);
		abort();
	}
	test_pool_prepare(pool, kind, cfg);
	w = kvzalloc(ops->size(cfg), GFP_KERNEL);
	if (!w)
		return NULL;
	w->now = cfg->start;
	w->ops = ops;
	if (ops->init(w, cfg)) {
		kvfree(w);
		return NULL;
	}
	return w;
}

void test_wheel_destroy(struct wheel *w)
{
	w->ops->destroy(w);
	kvfree(w);
}

/* A round of upkeep. */
void test_upkeep(struct wheel *w)
{
	void *spare = NULL;

	if (w->ops->install)
		spare = w->ops->install(w, w->ops->grow(w));
	if (w->ops->maintain)
		w->ops->maintain(w);
	kvfree(spare);
}

/* Where all wheels of a pool are gone, so must be all chunks. */
void test_pool_check(const struct test_pool *pool)
{
	if (!pool->used)
		return;
	fprintf(stderr, "%zu chunks are lost\n", pool->used);
	abort();
}
