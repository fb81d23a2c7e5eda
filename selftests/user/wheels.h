/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Making and unmaking a wheel of any kind, as its owner does, with the memory
 * that it reserves counted. Knows no kind by name.
 */
#ifndef _USER_WHEELS_H
#define _USER_WHEELS_H

#include "../../wheels/kinds.h"
#include "../../wheels/rows.h"

/**
 * struct test_pool - a pool that gives no more than a kind asked to be reserved
 * @pool: what the kind sees
 * @timers: for so many timers
 * @wheels: on so many wheels
 * @size: bytes of a chunk
 * @reserved: chunks that may be in use at once
 * @used: chunks in use
 * @spare: chunks that were given back
 * @rows: the table of rows, of as many as such wheels need
 */
struct test_pool {
	struct wheel_pool pool;
	size_t timers;
	unsigned int wheels;
	size_t size;
	size_t reserved;
	size_t used;
	void *spare;
	struct wheel_rows rows;
};

struct wheel *test_wheel_create(enum wheel_kind kind, struct wheel_config *cfg,
				struct test_pool *pool);
void test_pool_prepare(struct test_pool *pool, enum wheel_kind kind,
		       struct wheel_config *cfg);
void test_wheel_destroy(struct wheel *w);
void test_upkeep(struct wheel *w);
void test_pool_check(struct test_pool *pool);

#endif /* _USER_WHEELS_H */
