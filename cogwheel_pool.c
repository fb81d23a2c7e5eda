// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for the timers of a facility whose kind is WHEEL_POOLED: chunks, shared
 * by all its bases. It knows how much so many timers need, from the kind, and
 * nothing of what it is used for.
 *
 * Whoever sets timers up reserves for them, and there it is allocated, in task
 * context; arming takes from what is there, with interrupts off. So that timers
 * can be set up one by one, it grows by a sixteenth at least, and shrinks only
 * where an eighth is too much; in between, to reserve is an addition:
 *
 *	reserve				shrink
 *	reserved += nr			covered = less
 *	(full barrier)			(full barrier)
 *	covered >= reserved: done	reserved > less: covered = what it was
 *
 * One of the two sees what the other has done.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "cogwheel_base.h"

/* A free chunk. */
struct chunk {
	struct chunk *next;
};

/**
 * struct cogwheel_pool - the pool of a facility
 * @pool: what the kind sees of it
 * @cw: the facility
 * @covered: there is memory for so many timers; changed under @grow
 * @grow: who allocates or gives back
 * @chunks: chunks, free or in use; protected by @grow
 * @chunk_size: bytes of a chunk
 * @bases: wheels that share the pool
 * @cfg: how they were set up
 * @lock: protects @free
 * @free: free chunks
 */
struct cogwheel_pool {
	struct wheel_pool pool;
	struct cogwheel *cw;
	unsigned long covered;
	struct mutex grow;	/* @covered and @chunks */
	size_t chunks;
	size_t chunk_size;
	unsigned int bases;
	struct wheel_config cfg;
	raw_spinlock_t lock;
	struct chunk *free;
};

static void *pool_get(struct wheel_pool *wheel_pool)
{
	struct cogwheel_pool *pool = container_of(wheel_pool,
						  struct cogwheel_pool, pool);
	struct chunk *chunk;
	unsigned long flags;

	raw_spin_lock_irqsave(&pool->lock, flags);
	chunk = pool->free;
	if (chunk)
		pool->free = chunk->next;
	raw_spin_unlock_irqrestore(&pool->lock, flags);
	return chunk;
}

static void pool_put(struct wheel_pool *wheel_pool, void *memory)
{
	struct cogwheel_pool *pool = container_of(wheel_pool,
						  struct cogwheel_pool, pool);
	struct chunk *chunk = memory;
	unsigned long flags;

	raw_spin_lock_irqsave(&pool->lock, flags);
	chunk->next = pool->free;
	pool->free = chunk;
	raw_spin_unlock_irqrestore(&pool->lock, flags);
}

static void free_chunks(struct chunk *chunk)
{
	while (chunk) {
		struct chunk *next = chunk->next;

		kfree(chunk);
		chunk = next;
		cond_resched();
	}
}

static size_t chunks_for(const struct cogwheel_pool *pool, unsigned long timers)
{
	size_t size;

	return pool->cw->ops->chunks(&pool->cfg, timers, pool->bases, &size);
}

/* Have memory for so many timers. Changes nothing where there is none. */
static int grow(struct cogwheel_pool *pool, unsigned long timers)
{
	size_t wanted = chunks_for(pool, timers), nr = pool->chunks;
	struct chunk *first = NULL, *last = NULL, *chunk;
	unsigned long flags;

	for (; nr < wanted; nr++) {
		chunk = kmalloc(pool->chunk_size, GFP_KERNEL_ACCOUNT);
		if (!chunk)
			goto free;
		chunk->next = first;
		first = chunk;
		if (!last)
			last = chunk;
		cond_resched();
	}
	if (first) {
		raw_spin_lock_irqsave(&pool->lock, flags);
		last->next = pool->free;
		pool->free = first;
		raw_spin_unlock_irqrestore(&pool->lock, flags);
	}
	pool->chunks = nr;
	WRITE_ONCE(pool->covered, timers);
	return 0;
free:
	free_chunks(first);
	return -ENOMEM;
}

/**
 * cogwheel_pool_reserve() - have memory for all timers that are reserved
 * @pool: the pool
 *
 * To be called after cogwheel.reserved was increased.
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM, and then nothing has changed.
 */
int cogwheel_pool_reserve(struct cogwheel_pool *pool)
{
	unsigned long timers;
	int ret = 0;

	if (likely((unsigned long)atomic_long_read(&pool->cw->reserved) <=
		   READ_ONCE(pool->covered)))
		return 0;
	mutex_lock(&pool->grow);
	timers = atomic_long_read(&pool->cw->reserved);
	if (timers > pool->covered)
		ret = grow(pool, max(timers,
				     pool->covered + pool->covered / 16));
	mutex_unlock(&pool->grow);
	return ret;
}

static void shrink(struct cogwheel_pool *pool, unsigned long timers)
{
	unsigned long covered = pool->covered, flags;
	struct chunk *first = NULL, *chunk;
	size_t wanted;

	WRITE_ONCE(pool->covered, timers);
	/* Pairs with the barrier of who adds to what is reserved. */
	smp_mb();
	if ((unsigned long)atomic_long_read(&pool->cw->reserved) > timers) {
		WRITE_ONCE(pool->covered, covered);
		return;
	}
	for (wanted = chunks_for(pool, timers); pool->chunks > wanted;
	     pool->chunks--) {
		raw_spin_lock_irqsave(&pool->lock, flags);
		chunk = pool->free;
		if (chunk)
			pool->free = chunk->next;
		raw_spin_unlock_irqrestore(&pool->lock, flags);
		if (!chunk)
			break;
		chunk->next = first;
		first = chunk;
	}
	free_chunks(first);
}

/**
 * cogwheel_pool_unreserve() - give back memory that is not reserved any more
 * @pool: the pool
 *
 * To be called after cogwheel.reserved was decreased.
 *
 * Context: may sleep.
 */
void cogwheel_pool_unreserve(struct cogwheel_pool *pool)
{
	unsigned long covered = READ_ONCE(pool->covered), timers;

	timers = atomic_long_read(&pool->cw->reserved);
	if (likely(timers + timers / 8 + WHEEL_BATCH >= covered))
		return;
	mutex_lock(&pool->grow);
	timers = atomic_long_read(&pool->cw->reserved);
	timers += timers / 16;
	if (timers < pool->covered)
		shrink(pool, timers);
	mutex_unlock(&pool->grow);
}

/**
 * cogwheel_pool_bytes() - the memory of a pool
 * @pool: the pool, or NULL
 *
 * Context: any; may be outdated.
 * Return: bytes, in use or not.
 */
size_t cogwheel_pool_bytes(const struct cogwheel_pool *pool)
{
	if (!pool)
		return 0;
	return sizeof(*pool) + READ_ONCE(pool->chunks) * pool->chunk_size;
}

/**
 * cogwheel_pool_create() - make the pool of a facility
 * @cw: the facility
 * @cfg: how its bases are set up; its pool is filled in
 * @bases: how many there are
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM.
 */
int cogwheel_pool_create(struct cogwheel *cw, struct wheel_config *cfg,
			 unsigned int bases)
{
	struct cogwheel_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT);

	if (!pool)
		return -ENOMEM;
	pool->pool.get = pool_get;
	pool->pool.put = pool_put;
	pool->cw = cw;
	pool->bases = bases;
	pool->cfg = *cfg;
	mutex_init(&pool->grow);
	raw_spin_lock_init(&pool->lock);
	cw->ops->chunks(cfg, 0, bases, &pool->chunk_size);
	cw->pool = pool;
	cfg->pool = &pool->pool;
	return 0;
}

/**
 * cogwheel_pool_destroy() - the end of a pool
 * @pool: the pool, of which nothing is in use any more; or NULL
 *
 * Context: may sleep.
 */
void cogwheel_pool_destroy(struct cogwheel_pool *pool)
{
	if (!pool)
		return;
	free_chunks(pool->free);
	mutex_destroy(&pool->grow);
	kfree(pool);
}
