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

/* What is given back is used again at once, unless somebody watches that. */
#ifdef __SANITIZE_ADDRESS__
#define RECYCLE	false
#else
#define RECYCLE	true
#endif

static void *pool_get(struct wheel_pool *pool)
{
	struct test_pool *p = container_of(pool, struct test_pool, pool);
	void *chunk;

	if (p->used >= p->reserved && p->refuses)
		return NULL;
	if (p->used >= p->reserved) {
		fprintf(stderr, "a kind took more than its %zu chunks for %zu timers\n",
			p->reserved, p->timers);
		abort();
	}
	p->used++;
	if (p->spare) {
		chunk = p->spare;
		p->spare = *(void **)chunk;
		return chunk;
	}
	chunk = aligned_alloc(p->size, p->size);
	if (!chunk)
		abort();
	return chunk;
}

static void pool_put(struct wheel_pool *pool, void *chunk)
{
	struct test_pool *p = container_of(pool, struct test_pool, pool);

	p->used--;
	if (RECYCLE) {
		*(void **)chunk = p->spare;
		p->spare = chunk;
	} else {
		free(chunk);
	}
}

/* Point a configuration at a pool that holds what its kind asks for. */
void test_pool_prepare(struct test_pool *pool, enum wheel_kind kind,
		       struct wheel_config *cfg)
{
	const struct wheel_ops *ops = wheel_kinds[kind];

	cfg->numa = NUMA_NO_NODE;
	cfg->pool = NULL;
	if (!(ops->traits & WHEEL_POOLED))
		return;
	cfg->pool = &pool->pool;
	/* It may be the pool of another wheel already. */
	if (pool->pool.get)
		return;
	pool->pool.get = pool_get;
	pool->pool.put = pool_put;
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
void test_pool_check(struct test_pool *pool)
{
	if (pool->used) {
		fprintf(stderr, "%zu chunks are lost\n", pool->used);
		abort();
	}
	while (pool->spare) {
		void *chunk = pool->spare;

		pool->spare = *(void **)chunk;
		free(chunk);
	}
	pool->pool.get = NULL;
}
