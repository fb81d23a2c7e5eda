// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel: the memory of a file's timers, in pages, and the handles by
 * which a program names them. Knows nothing of wheels, but how large their
 * nodes are.
 */
#include <linux/build_bug.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "cogwheel_file.h"
#include "wheels/wheel.h"

/* Generations that a file takes from the counter at a time. */
#define GEN_BLOCK	64

struct kmem_cache *periodic_cache;
static atomic64_t generations;

u32 timer_bytes(const struct wheel_ops *ops)
{
	size_t bytes = offsetof(struct file_timer, timer.node) + ops->node_size;

	return ALIGN(max(bytes, sizeof(struct file_event)), sizeof(u64));
}

u32 timers_per_page(u32 bytes)
{
	return (PAGE_SIZE - sizeof(struct timer_page)) / bytes;
}

/* Bytes of a timer with its share of page header and of xarray. */
u32 timer_share(const struct wheel_ops *ops)
{
	return DIV_ROUND_UP(PAGE_SIZE +
			    sizeof(struct xa_node) / XA_CHUNK_SIZE,
			    timers_per_page(timer_bytes(ops)));
}

static struct file_timer *page_timer(const struct wheel_file *f,
				     struct timer_page *page, u32 place)
{
	return (void *)(page->timers + place * f->timer_bytes);
}

static struct timer_page *timer_page(struct file_timer *t)
{
	return (void *)((unsigned long)t & PAGE_MASK);
}

static u64 file_generation(struct wheel_file *f)
{
	lockdep_assert_held(&f->lock);
	do {
		if (!f->gen_left) {
			f->gen = atomic64_fetch_add(GEN_BLOCK, &generations);
			f->gen_left = GEN_BLOCK;
		}
		f->gen_left--;
	} while (!(++f->gen & ID_GEN_MASK));
	return f->gen & ID_GEN_MASK;
}

/*
 * Where the timer would be that a handle from user space names, or NULL.
 * Whatever number that is, it leads to a place in a page of this file or to
 * nothing. The place stays one until file_trim(), or until the lock is dropped.
 * So does @last, the page of the one before, or NULL: timers that are named one
 * after the other often lie in one page.
 */
struct file_timer *file_place(struct wheel_file *f, u64 handle,
			      struct timer_page **last)
{
	u32 index = handle >> ID_INDEX_SHIFT & (BIT(ID_INDEX_BITS) - 1);
	u32 place = index & (BIT(PLACE_BITS) - 1);
	struct timer_page *page = *last;

	lockdep_assert_held(&f->lock);
	if (!(handle >> ID_GEN_SHIFT) || place >= f->per_page)
		return NULL;
	if (!page || page->number != index >> PLACE_BITS) {
		page = xa_load(&f->pages, index >> PLACE_BITS);
		if (!page)
			return NULL;
		*last = page;
	}
	return page_timer(f, page, array_index_nospec(place, f->per_page));
}

/* Make sure that there was a free timer at some point in time. */
int file_grow(struct wheel_file *f)
{
	struct timer_page *page;
	struct file_timer *t;
	bool grown;
	int err = 0;
	u32 i;

	if (mutex_lock_killable(&f->grow_lock))
		return -EINTR;
	spin_lock_bh(&f->lock);
	grown = !list_empty(&f->partial);
	spin_unlock_bh(&f->lock);
	if (grown)
		goto out;
	err = user_charge(f->user, f->per_page);
	if (err)
		goto out;
	/* A power of two, and so aligned to its size. */
	page = kzalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!page) {
		err = -ENOMEM;
		goto uncharge;
	}
	for (i = 0; i < f->per_page; i++) {
		t = page_timer(f, page, i);
		t->event.user = i + 1 < f->per_page ? i + 1 : NO_PLACE;
	}
	/* From here on a forged handle finds it: all of it is free. */
	err = xa_alloc_bh(&f->pages, &page->number, page,
			  XA_LIMIT(0, PAGES_MAX - 1), GFP_KERNEL);
	if (err) {
		kfree(page);
		/* The limit on timers comes first. */
		if (err == -EBUSY)
			err = -ENOSPC;
		goto uncharge;
	}
	spin_lock_bh(&f->lock);
	list_add_tail(&page->partial, &f->partial);
	f->empty++;
	spin_unlock_bh(&f->lock);
	goto out;
uncharge:
	user_uncharge(f->user, f->per_page);
out:
	mutex_unlock(&f->grow_lock);
	return err;
}

struct file_timer *file_timer_get(struct wheel_file *f)
{
	struct timer_page *page;
	struct file_timer *t;
	u32 place;

	lockdep_assert_held(&f->lock);
	page = list_first_entry(&f->partial, struct timer_page, partial);
	place = page->free;
	t = page_timer(f, page, place);
	page->free = t->event.user;
	if (!page->used++)
		f->empty--;
	if (page->free == NO_PLACE)
		list_del(&page->partial);
	t->id = file_generation(f) << ID_GEN_SHIFT |
		(u64)(page->number << PLACE_BITS | place) << ID_INDEX_SHIFT;
	f->timers++;
	return t;
}

/*
 * The timer is neither armed nor is its event queued, and what a periodic one
 * needs beyond has been taken from it. Takes no lock; see file_trim().
 */
void file_timer_put(struct wheel_file *f, struct file_timer *t)
{
	struct timer_page *page = timer_page(t);

	lockdep_assert_held(&f->lock);
	t->id = 0;
	t->event.user = page->free;
	if (page->free == NO_PLACE)
		list_add(&page->partial, &f->partial);
	page->free = ((u8 *)t - page->timers) / f->timer_bytes;
	f->timers--;
	if (!--page->used) {
		f->empty++;
		list_move_tail(&page->partial, &f->partial);
	}
}

/*
 * Free the pages that have no timer in use; to be called after timers were put.
 * Keeps one, so that a single timer does not make and free a page.
 */
void file_trim(struct wheel_file *f)
{
	struct timer_page *page;

	lockdep_assert_held(&f->lock);
	while (f->empty > 1) {
		page = list_last_entry(&f->partial, struct timer_page, partial);
		list_del(&page->partial);
		f->empty--;
		xa_erase_bh(&f->pages, page->number);
		kfree(page);
		user_uncharge(f->user, f->per_page);
	}
}

void file_free_page(struct wheel_file *f, struct timer_page *page)
{
	struct file_timer *t;
	u32 i;

	for (i = 0; i < f->per_page; i++) {
		t = page_timer(f, page, i);
		if (t->id & ID_PERIODIC)
			kmem_cache_free(periodic_cache, timer_periodic(t));
	}
	kfree(page);
	user_uncharge(f->user, f->per_page);
}
