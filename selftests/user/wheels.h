/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Making and unmaking a wheel of any kind, as its owner does, with the memory
 * that it reserves counted. Knows no kind by name.
 */
#ifndef _USER_WHEELS_H
#define _USER_WHEELS_H

#include "../../wheels/kinds.h"

/**
 * struct test_pool - a pool that gives no more than a kind asked to be reserved
 * @pool: what the kind sees
 * @timers: for so many timers
 * @wheels: on so many wheels
 * @size: bytes of a chunk
 * @reserved: chunks that may be in use at once
 * @refuses: it says so where there is none left, instead of ending the program
 * @used: chunks in use
 * @spare: chunks that were given back
 */
struct test_pool {
	struct wheel_pool pool;
	size_t timers;
	unsigned int wheels;
	size_t size;
	size_t reserved;
	bool refuses;
	size_t used;
	void *spare;
};

struct wheel *test_wheel_create(enum wheel_kind kind, struct wheel_config *cfg,
				struct test_pool *pool);
void test_pool_prepare(struct test_pool *pool, enum wheel_kind kind,
		       struct wheel_config *cfg);
void test_wheel_destroy(struct wheel *w);
void test_upkeep(struct wheel *w);
void test_pool_check(struct test_pool *pool);

#endif /* _USER_WHEELS_H */
