// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel: events through a ring in mapped memory.
 *
 * A ring, where the file has one, is one more reader: events leave the queue for
 * it as they do for read, in expiry itself if there is room. The program says
 * how far it has consumed in memory that it can write at any time, and tells
 * nobody. So the queue is looked at again whenever there is an occasion:
 *
 *	expiry, for @ring_quota events since the program's last call
 *	poll, COGWHEEL_IOC_RING: all that there is room for
 *
 * and COGWHEEL_RING_MORE tells a program that would not come by to do so. One
 * of the two sees the other:
 *
 *	kernel				program
 *	event into the queue		store head
 *	set MORE			full barrier
 *	full barrier			load flags: MORE? then call
 *	look at head: room? then fill
 *
 * Nothing that is read from the ring is used but head, and that once.
 */
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "cogwheel.h"
#include "cogwheel_file.h"
#include "cogwheel_ioctl.h"
#include "compat.h"

#define RING_OFFSET	128

static_assert(RING_OFFSET == COGWHEEL_RING_SIZE(0));
static_assert(RING_OFFSET >= sizeof(struct cogwheel_ring));
static_assert(RING_OFFSET % __alignof__(struct cogwheel_event) == 0);

static size_t ring_bytes(u32 entries)
{
	return PAGE_ALIGN(COGWHEEL_RING_SIZE((size_t)entries));
}

void ring_free(struct wheel_file *f)
{
	size_t nr = ring_bytes(f->ring_entries) >> PAGE_SHIFT, i;

	f->ring_entries = 0;
	f->ring_quota = 0;
	if (!f->ring_pages)
		return;
	vunmap(f->ring);
	/* Who has it mapped, or holds on to a page, has it still. */
	for (i = 0; i < nr && f->ring_pages[i]; i++)
		__free_page(f->ring_pages[i]);
	kvfree(f->ring_pages);
	f->ring = NULL;
	f->ring_pages = NULL;
}

int ring_create(struct wheel_file *f, u32 entries)
{
	size_t nr = ring_bytes(entries) >> PAGE_SHIFT, i;

	f->ring_pages = kvcalloc(nr, sizeof(*f->ring_pages),
				 GFP_KERNEL_ACCOUNT);
	if (!f->ring_pages)
		return -ENOMEM;
	f->ring_entries = entries;
	for (i = 0; i < nr; i++) {
		f->ring_pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO |
					      __GFP_NOWARN);
		if (!f->ring_pages[i])
			goto free;
	}
	f->ring = vmap(f->ring_pages, nr, VM_MAP, PAGE_KERNEL);
	if (!f->ring)
		goto free;
	f->ring->entries = entries;
	f->ring->offset = RING_OFFSET;
	f->ring_quota = entries;
	return 0;
free:
	ring_free(f);
	return -ENOMEM;
}

bool file_has_ring(const struct wheel_file *f)
{
	/* Pairs with file_configure(). */
	return smp_load_acquire(&f->cw) && f->ring;
}

/* How many events are not consumed; more than there can be if head is wrong. */
static u32 ring_used(const struct wheel_file *f)
{
	/* Pairs with the program's release of the places it has consumed. */
	return f->ring_tail - smp_load_acquire(&f->ring->head);
}

/* How many more events it can take. */
u32 ring_room(const struct wheel_file *f)
{
	u32 used = ring_used(f);

	return used < f->ring_entries ? f->ring_entries - used : 0;
}

/*
 * Where the next event goes. To be written only: the memory is the program's
 * as well. The program learns of it by the next ring_fill().
 */
struct cogwheel_event *ring_next(struct wheel_file *f)
{
	struct cogwheel_event *events = (void *)f->ring + RING_OFFSET;

	lockdep_assert_held(&f->lock);
	return &events[f->ring_tail++ & (f->ring_entries - 1)];
}

/* Move up to @max events from the queue to the ring; returns how many. */
u32 ring_fill(struct wheel_file *f, u32 max)
{
	u32 room = 0, moved = 0;
	struct file_event *e;
	bool told = false;

	lockdep_assert_held(&f->lock);
	while (moved < max && !list_empty(&f->events)) {
		/* The program's: it may consume and spoil it meanwhile. */
		struct cogwheel_event copy;

		if (!room)
			room = ring_room(f);
		if (!room && !told) {
			told = true;
			WRITE_ONCE(f->ring->flags, COGWHEEL_RING_MORE);
			/* See the top of the file: the program has it, too. */
			smp_mb();
			room = ring_room(f);
		}
		if (!room)
			break;
		e = list_first_entry(&f->events, struct file_event, entry);
		event_copy(f, e, &copy);
		*ring_next(f) = copy;
		f->gone += event_consume(f, e, &copy);
		room--;
		moved++;
	}
	file_trim(f);
	/* Pairs with the program's acquire. */
	smp_store_release(&f->ring->tail, f->ring_tail);
	WRITE_ONCE(f->ring->flags,
		   list_empty(&f->events) ? 0 : COGWHEEL_RING_MORE);
	return moved;
}

/*
 * The program has come by: let in all that there is room for. Returns how many
 * events the ring then has, more than it holds if its head is wrong.
 */
u32 ring_refill(struct wheel_file *f, u64 *waiting)
{
	u32 left = f->ring_entries, moved, used;

	do {
		spin_lock_bh(&f->lock);
		moved = ring_fill(f, min_t(u32, left, RING_PIECE));
		left -= moved;
		f->ring_quota = f->ring_entries;
		used = ring_used(f);
		*waiting = f->unread;
		spin_unlock_bh(&f->lock);
	} while (moved == RING_PIECE);
	file_settle(f);
	return used;
}

int file_ring(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_ring *ring = arg;

	if (ring->flags || !file_has_ring(f))
		return -EINVAL;
	ring->ready = ring_refill(f, &ring->waiting);
	return ring->ready > f->ring_entries ? -EINVAL : 0;
}

/* The ring, all of it or its beginning, shared. */
int file_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct wheel_file *f = file->private_data;
	size_t nr;

	if (!file_has_ring(f))
		return -EINVAL;
	nr = ring_bytes(f->ring_entries) >> PAGE_SHIFT;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC ||
	    vma->vm_pgoff || vma_pages(vma) > nr)
		return -EINVAL;
	/* It has a size, and no place in a core dump. */
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	return vm_map_pages(vma, f->ring_pages, nr);
}
