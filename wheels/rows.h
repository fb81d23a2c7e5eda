/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A table of numbered rows, one for each live timer, for a kind that moves
 * what it knows of a timer without touching the timer. Several wheels share a
 * table, so that it is never larger than their timers together need, whichever
 * wheel they are on. It knows nothing of what a kind keeps in a row.
 *
 *	wheel A			wheel B			the table
 *	cache: 7 31 4 ...	cache: 12 90 ...	spare: groups of 4
 *	     |    ^		     |    ^		fresh: never used yet
 *	     +----+-- 16 at once, ---+----+--------------> limit
 *		      with the table's lock
 *
 * Each wheel keeps a few spare rows to itself and needs the table's lock only
 * where those run out, or are too many. A row is found by its number without a
 * lock: the pages of rows never move.
 */
#ifndef _WHEEL_ROWS_H
#define _WHEEL_ROWS_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>

struct wheel_node;

/* No row: number 0 is never given out. */
#define ROWS_NONE	0U

/* Rows that a wheel keeps to itself, and how many it takes or gives at once. */
#define ROWS_CACHED	32
#define ROWS_BATCH	16

/* Rows that a wheel may have besides, being about to give them back. */
#define ROWS_LEAVING	16

/* Spare rows hang together in groups, to be taken with few cache misses. */
#define ROWS_GROUP	4

/**
 * struct wheel_row - a row
 * @node: the timer
 * @place: where the kind keeps what it knows of it
 * @next: of a spare row that begins a group: the first row of the next group
 * @others: the other rows of its group; ROWS_NONE where there are fewer
 */
struct wheel_row {
	union {
		struct {
			struct wheel_node *node;
			void *place;
		};
		struct {
			u32 next;
			u32 others[ROWS_GROUP - 1];
		};
	};
};

/* A page of rows is 4096 bytes. */
#define ROWS_PAGE_BITS	8
#define ROWS_PAGE	((u32)BIT(ROWS_PAGE_BITS))
#define ROWS_MAX	((u32)BIT(31))

/**
 * struct rows_old - pages of a table, as they were pointed to before it grew
 * @next: what was before that
 * @page: the pages
 *
 * Somebody may just be looking there, so it stays as long as the table.
 */
struct rows_old {
	struct rows_old *next;
	struct wheel_row *page[];
};

/**
 * struct wheel_rows - a table of rows
 * @page: pages of rows. Never moved, but pointed to from elsewhere when more
 *	are needed; whoever knows a row's number finds it in either place.
 * @lock: protects @spare to @left
 * @spare: the first group of spare rows
 * @fresh: rows from this number on were never used
 * @left: rows that may still be taken; negative where fewer are allowed than
 *	are in use
 * @nr: rows for which there is memory; the last three belong to whoever
 *	reserves
 * @room: pages that @page has room for
 * @old: where @page pointed to, then and before
 */
struct wheel_rows {
	struct wheel_row **page;
	raw_spinlock_t lock;
	u32 spare;
	u32 fresh;
	long left;
	u32 nr;
	u32 room;
	struct rows_old *old;
};

/**
 * struct rows_cache - the spare rows of a wheel, all zero at first
 * @nr: how many
 * @row: their numbers; the last one is the next to be used
 */
struct rows_cache {
	u32 nr;
	u32 row[ROWS_CACHED];
};

void wheel_rows_init(struct wheel_rows *rows);
void wheel_rows_destroy(struct wheel_rows *rows);
int wheel_rows_reserve(struct wheel_rows *rows, size_t nr);
void wheel_rows_allow(struct wheel_rows *rows, long nr);
size_t wheel_rows_bytes(const struct wheel_rows *rows);

bool rows_cache_fill(struct rows_cache *cache, struct wheel_rows *rows);
void rows_cache_trim(struct rows_cache *cache, struct wheel_rows *rows);
void rows_give(struct wheel_rows *rows, const u32 *row, u32 nr);
void rows_cache_empty(struct rows_cache *cache, struct wheel_rows *rows);

/* The rows that so many timers on so many wheels need. */
static inline size_t wheel_rows_for(size_t nr, unsigned int wheels)
{
	return nr + (size_t)wheels * (ROWS_CACHED + ROWS_LEAVING);
}

static __always_inline struct wheel_row *row_on(struct wheel_row **page, u32 nr)
{
	return &page[nr >> ROWS_PAGE_BITS][nr & (ROWS_PAGE - 1)];
}

static __always_inline struct wheel_row *
wheel_row(const struct wheel_rows *rows, u32 nr)
{
	return row_on(READ_ONCE(rows->page), nr);
}

/* A row to be used, ROWS_NONE where there is none. */
static inline u32 rows_cache_get(struct rows_cache *cache,
				 struct wheel_rows *rows)
{
	if (unlikely(!cache->nr) && !rows_cache_fill(cache, rows))
		return ROWS_NONE;
	return cache->row[--cache->nr];
}

static inline void rows_cache_put(struct rows_cache *cache,
				  struct wheel_rows *rows, u32 nr)
{
	if (unlikely(cache->nr == ROWS_CACHED))
		rows_cache_trim(cache, rows);
	cache->row[cache->nr++] = nr;
}

/* Put several at once, which there is one of at least. */
static inline void rows_cache_put_all(struct rows_cache *cache,
				      struct wheel_rows *rows, const u32 *row,
				      u32 nr)
{
	if (cache->nr + nr > ROWS_CACHED) {
		rows_give(rows, row, nr);
		return;
	}
	memcpy(cache->row + cache->nr, row, nr * sizeof(*row));
	cache->nr += nr;
}

#endif /* _WHEEL_ROWS_H */
