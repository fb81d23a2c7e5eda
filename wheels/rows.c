// SPDX-License-Identifier: GPL-2.0
/*
 * A table of numbered rows, shared by several wheels: see rows.h.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "rows.h"

/**
 * wheel_rows_init() - make a table of no rows
 * @rows: the table
 *
 * Context: any.
 */
void wheel_rows_init(struct wheel_rows *rows)
{
	memset(rows, 0, sizeof(*rows));
	raw_spin_lock_init(&rows->lock);
	rows->fresh = ROWS_NONE + 1;
}
EXPORT_SYMBOL_GPL(wheel_rows_init);

/* Free the pages from the one with this number on, up to @end. */
static void free_pages_of(struct wheel_rows *rows, u32 page, u32 end)
{
	for (; page < end; page++) {
		kfree(rows->page[page]);
		rows->page[page] = NULL;
	}
}

/**
 * wheel_rows_destroy() - the end of a table
 * @rows: the table; no wheel uses it any more
 *
 * Context: may sleep.
 */
void wheel_rows_destroy(struct wheel_rows *rows)
{
	free_pages_of(rows, 0, rows->nr / ROWS_PAGE);
	while (rows->old) {
		struct rows_old *old = rows->old;

		rows->old = old->next;
		kvfree(old);
	}
}
EXPORT_SYMBOL_GPL(wheel_rows_destroy);

/* Have room for pointers to so many pages. */
static int make_room(struct wheel_rows *rows, u32 pages)
{
	struct rows_old *new;

	if (pages <= rows->room)
		return 0;
	pages = max(pages, rows->room * 2);
	new = kvzalloc(struct_size(new, page, pages), GFP_KERNEL_ACCOUNT);
	if (!new)
		return -ENOMEM;
	if (rows->room)
		memcpy(new->page, rows->page,
		       rows->room * sizeof(*rows->page));
	new->next = rows->old;
	rows->old = new;
	rows->room = pages;
	/* Whoever reads it must find the pages there. */
	smp_store_release(&rows->page, new->page);
	return 0;
}

/**
 * wheel_rows_reserve() - have memory for so many rows
 * @rows: the table
 * @nr: how many rows, in all
 *
 * The memory stays until the table goes. To be called by one at a time.
 *
 * Context: may sleep.
 * Return: 0; -ENOMEM, also for more rows than a table can have, and then there
 * are no more rows than before.
 */
int wheel_rows_reserve(struct wheel_rows *rows, size_t nr)
{
	u32 had = rows->nr / ROWS_PAGE, page = had, pages;

	if (nr >= ROWS_MAX)
		return -ENOMEM;
	/* One more, for number 0. */
	pages = DIV_ROUND_UP((u32)nr + 1, ROWS_PAGE);
	if (make_room(rows, pages))
		return -ENOMEM;
	for (; page < pages; page++) {
		rows->page[page] = kcalloc(ROWS_PAGE, sizeof(struct wheel_row),
					   GFP_KERNEL_ACCOUNT);
		if (!rows->page[page]) {
			free_pages_of(rows, had, page);
			return -ENOMEM;
		}
	}
	WRITE_ONCE(rows->nr, page * ROWS_PAGE);
	return 0;
}
EXPORT_SYMBOL_GPL(wheel_rows_reserve);

/**
 * wheel_rows_allow() - let more rows be used, or fewer
 * @rows: the table
 * @nr: how many more, within what was reserved; or fewer, where negative
 *
 * Context: any but NMI.
 */
void wheel_rows_allow(struct wheel_rows *rows, long nr)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&rows->lock, flags);
	rows->left += nr;
	raw_spin_unlock_irqrestore(&rows->lock, flags);
}
EXPORT_SYMBOL_GPL(wheel_rows_allow);

/**
 * wheel_rows_bytes() - the memory of a table
 * @rows: the table
 *
 * Context: any; may be outdated while the table grows.
 * Return: bytes, those of the structure itself included.
 */
size_t wheel_rows_bytes(const struct wheel_rows *rows)
{
	/* Each time it grew, what it pointed from is at least twice as long. */
	return sizeof(*rows) +
	       READ_ONCE(rows->nr) * sizeof(struct wheel_row) +
	       2UL * READ_ONCE(rows->room) * sizeof(struct wheel_row *);
}
EXPORT_SYMBOL_GPL(wheel_rows_bytes);

/* Take a few rows for a wheel that has none left. False if there are none. */
bool rows_cache_fill(struct rows_cache *cache, struct wheel_rows *rows)
{
	unsigned long flags;
	u32 fresh, room;
	int i;

	raw_spin_lock_irqsave(&rows->lock, flags);
	while (rows->spare && cache->nr <= ROWS_BATCH - ROWS_GROUP &&
	       rows->left >= ROWS_GROUP) {
		u32 nr = rows->spare;
		struct wheel_row *row = wheel_row(rows, nr);

		rows->spare = row->next;
		for (i = ROWS_GROUP - 2; i >= 0; i--) {
			if (row->others[i] == ROWS_NONE)
				continue;
			cache->row[cache->nr++] = row->others[i];
			rows->left--;
		}
		cache->row[cache->nr++] = nr;
		rows->left--;
	}
	if (!rows->spare && !cache->nr && rows->left > 0) {
		room = min_t(u64, ROWS_BATCH, rows->left);
		fresh = rows->fresh;
		rows->fresh += room;
		rows->left -= room;
		/* So that they are used in the order of their numbers. */
		while (room--)
			cache->row[cache->nr++] = fresh + room;
	}
	raw_spin_unlock_irqrestore(&rows->lock, flags);
	return cache->nr;
}

/* Give back so many rows, 1 at least. */
void rows_give(struct wheel_rows *rows, const u32 *row, u32 nr)
{
	const u32 *end = row + nr;
	struct wheel_row *last = wheel_row(rows, *row);
	u32 first = ROWS_NONE;
	unsigned long flags;
	int i;

	for (; end - row >= ROWS_GROUP; row += ROWS_GROUP) {
		struct wheel_row *group = wheel_row(rows, *row);

		group->next = first;
		memcpy(group->others, row + 1, sizeof(group->others));
		first = *row;
	}
	if (row < end) {
		struct wheel_row *group = wheel_row(rows, *row);

		group->next = first;
		first = *row++;
		for (i = 0; i < ROWS_GROUP - 1; i++)
			group->others[i] = row < end ? *row++ : ROWS_NONE;
	}
	raw_spin_lock_irqsave(&rows->lock, flags);
	last->next = rows->spare;
	rows->spare = first;
	rows->left += nr;
	raw_spin_unlock_irqrestore(&rows->lock, flags);
}

/* Give back what is too much. */
void rows_cache_trim(struct rows_cache *cache, struct wheel_rows *rows)
{
	cache->nr -= ROWS_BATCH;
	rows_give(rows, cache->row + cache->nr, ROWS_BATCH);
}

/* Give all back, since the wheel goes. */
void rows_cache_empty(struct rows_cache *cache, struct wheel_rows *rows)
{
	if (cache->nr)
		rows_give(rows, cache->row, cache->nr);
	cache->nr = 0;
}
