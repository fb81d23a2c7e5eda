/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside of /dev/cogwheel: an open file, its timers and their events, which the
 * files of the device share. Nobody else includes this.
 *
 *	cogwheel_dev.c		the device: ioctl, set-up, open and close
 *	cogwheel_dev_query.c	what is said about it
 *	cogwheel_dev_limits.c	how much of it a user may have
 *	cogwheel_dev_timers.c	memory of timers, and their handles
 *	cogwheel_dev_ops.c	arming, moving and cancelling
 *	cogwheel_dev_events.c	expiry, and reading events
 *	cogwheel_dev_ring.c	reading them from mapped memory
 *
 * Where a timer is. Under the file's lock a timer is armed (in the wheel, or
 * in a batch of expiry from which it has not been taken and can still be moved
 * and cancelled) or fired (its event is in the file's queue). The expire
 * function takes timers out of a batch and queues their events without letting
 * go of the lock, so nobody ever meets one in between. A periodic timer is
 * armed again within the same hold, and so can be both.
 *
 *	          arm            expire             read, cancel
 *	  free ---------> armed ---------> fired ----------------> free
 *	   ^                |  ^             |
 *	   |     cancel     |  |    move     |
 *	   +----------------+  +-------------+
 *
 * An event is never lost, since a timer is the storage of its own event: the
 * memory that linked a one-shot timer into the wheel links its event into the
 * queue.
 *
 * Order of locks: the mutexes, none of which is taken within another; then the
 * file's lock, bottom halves off; then the facility's base lock, or the lock of
 * the xarray of pages.
 */
#ifndef _COGWHEEL_FILE_H
#define _COGWHEEL_FILE_H

#include <linux/build_bug.h>
#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "cogwheel.h"
#include "cogwheel_ioctl.h"

struct iov_iter;
struct kiocb;
struct seq_file;
struct wheel_user;

/*
 * A timer's id is its handle, with flags in bits that are zero in a handle:
 *
 *	63          29 28                  3 2    0
 *	| generation  | index of the timer  | flags |
 *
 * Generations are taken from one counter of the whole module, so a handle fits
 * neither a later timer in the same place nor a timer of another file, until
 * 2^35 timers have been armed. They are never zero, nor is a handle.
 */
#define ID_PERIODIC	BIT_ULL(0)	/* user points to a struct file_periodic */
#define ID_FIRED	BIT_ULL(1)	/* of a timer: not armed; of an event: queued */
#define ID_COPYING	BIT_ULL(2)	/* the event is being copied to a reader */
#define ID_FLAGS	(ID_PERIODIC | ID_FIRED | ID_COPYING)
#define ID_INDEX_SHIFT	3
#define ID_INDEX_BITS	26
#define ID_GEN_SHIFT	(ID_INDEX_SHIFT + ID_INDEX_BITS)
#define ID_GEN_MASK	(U64_MAX >> ID_GEN_SHIFT)

/* An index is a page's number and the timer's place in it. */
#define PLACE_BITS	(PAGE_SHIFT - 5)
#define PAGES_MAX	(1U << (ID_INDEX_BITS - PLACE_BITS))
#define NO_PLACE	U16_MAX

/**
 * struct file_event - an event, in the queue of its file
 * @id: handle and flags of the timer; ID_FIRED is set while it is queued
 * @user: the program's own
 * @due: due tick
 * @fired: the tick at which it fired
 * @entry: in wheel_file.events
 */
struct file_event {
	u64 id;
	u64 user;
	u64 due;
	u64 fired;
	struct list_head entry;
};

/**
 * struct file_timer - a timer, and after it fired once and for all its event
 * @id: handle and flags; 0 while it is free
 * @timer: while it is armed. Its last bytes are absent where the kind needs no
 *	more; see timer_bytes().
 * @event: after it fired, if it is not periodic
 *
 * While it is free, event.user is the place of the next free one in the page.
 */
struct file_timer {
	union {
		struct {
			u64 id;
			struct cogwheel_timer timer;
		};
		struct file_event event;
	};
};

/* No timer is smaller than its event. */
static_assert(PAGE_SIZE / sizeof(struct file_event) < BIT(PLACE_BITS));
static_assert(BIT(PLACE_BITS) <= NO_PLACE);

/* What the event takes over from the timer just stays where it is. */
static_assert(offsetof(struct file_timer, id) ==
	      offsetof(struct file_timer, event.id));
static_assert(offsetof(struct file_timer, timer.user) ==
	      offsetof(struct file_timer, event.user));
static_assert(offsetof(struct file_timer, timer.node.expires) ==
	      offsetof(struct file_timer, event.due));

/**
 * struct file_periodic - what a periodic timer needs beyond a one-shot one
 * @event: its event, which can be unread while the timer is armed
 * @timer: the timer
 * @period: ticks from due tick to due tick
 * @slack: ticks that it may be late
 * @missed: periods that had been missed when the event was queued
 * @again: in wheel_file.again, while the event is unread and the timer armed
 * @bound: a tick no later than that at which it fires again; while in @again
 * @asleep: it fired once more while its event was unread, for the due tick that
 *	it still has, and is not armed
 */
struct file_periodic {
	struct file_event event;
	struct file_timer *timer;
	u64 period;
	u64 slack;
	u64 missed;
	struct rb_node again;
	u64 bound;
	bool asleep;
};

/**
 * struct timer_page - a page of timers
 * @partial: in wheel_file.partial, while it has a free timer
 * @number: its number in wheel_file.pages
 * @used: how many of its timers are in use
 * @free: place of the first free one, or NO_PLACE
 * @timers: the timers, each of wheel_file.timer_bytes
 *
 * The kernel's own slabs would do, if it were not for the 8 bytes that memory
 * accounting adds to each object, and as many again for a table that leads
 * from handle to timer. Here the handle is the place.
 */
struct timer_page {
	struct list_head partial;
	u32 number;
	u16 used;
	u16 free;
	u8 timers[] __aligned(8);
};

/**
 * struct wheel_file - an open file
 * @lock: protects all that follows up to @wait, and every timer
 * @events: queue of unread events
 * @unread: number of events that read has not delivered
 * @timers: number of timers that are not free
 * @asleep: number of periodic timers that are asleep
 * @again: of a manual clock: periodic timers whose events are unread, by the
 *	tick at which they fire again, which advance must not reach
 * @pages: pages of timers by number
 * @partial: pages that have a free timer; those that have nothing else last
 * @empty: how many of those have nothing else
 * @gen: last generation given out
 * @gen_left: how many more of the block are left
 * @gone: timers that expiry has freed and that are still reserved with the
 *	facility, since giving back may sleep
 * @ring_tail: what the ring's tail is, whatever the program has written there
 * @ring_quota: how many more events expiry may put into the ring
 * @wait: readers and pollers
 * @fasync: who gets SIGIO
 * @ring: the ring, or NULL; constant since set-up, as are the next two
 * @ring_pages: its pages
 * @ring_entries: how many events it holds
 * @user: who opened it, and is charged
 * @cw: the facility; NULL until it is set up, then constant. Published by
 *	set-up with release, after the fields below it.
 * @clock: COGWHEEL_CLOCK_*
 * @tick_ns: length of a tick, 0 with a manual clock
 * @timer_bytes: bytes of a struct file_timer here
 * @per_page: timers in a page
 * @setup_lock: serialises set-up
 * @advance_lock: serialises advance
 * @grow_lock: serialises the making of pages
 * @read_lock: serialises readers; held while events are copied, so that an
 *	event is removed only when its reader has it
 */
struct wheel_file {
	spinlock_t lock;		/* all up to wait, and every timer */
	struct list_head events;
	u64 unread;
	u64 timers;
	u64 asleep;
	struct rb_root_cached again;
	struct xarray pages;
	struct list_head partial;
	u32 empty;
	u32 gen_left;
	u64 gen;

	u64 gone;
	u32 ring_tail;
	u32 ring_quota;

	wait_queue_head_t wait;
	struct fasync_struct *fasync;

	struct cogwheel_ring *ring;
	struct page **ring_pages;
	u32 ring_entries;

	struct wheel_user *user;
	struct cogwheel *cw;
	u32 clock;
	u64 tick_ns;
	u32 timer_bytes;
	u32 per_page;

	struct mutex setup_lock;	/* set-up */
	struct mutex advance_lock;	/* advance */
	struct mutex grow_lock;		/* making pages */
	struct mutex read_lock;		/* copying events */
};

static inline struct file_periodic *timer_periodic(struct file_timer *t)
{
	return (void *)(uintptr_t)t->timer.user;
}

static inline struct file_periodic *event_periodic(struct file_event *e)
{
	return container_of(e, struct file_periodic, event);
}

/* The event of a timer, queued or not. */
static inline struct file_event *timer_event(struct file_timer *t)
{
	return t->id & ID_PERIODIC ? &timer_periodic(t)->event : &t->event;
}

static inline u64 id_handle(u64 id)
{
	return id & ~ID_FLAGS;
}

/* How many COGWHEEL_CLOCK_* there are. */
#define NR_CLOCKS	(COGWHEEL_CLOCK_MANUAL + 1)

#define DEFAULT_TICK_NS	1000000ULL

#define ARM_FLAGS	\
	(COGWHEEL_ARM_ABSOLUTE | COGWHEEL_ARM_MOVE | COGWHEEL_ARM_NS)

/* The most events of a ring. */
#define RING_MAX	32768

/* How many events are moved in one hold of the lock. */
#define RING_PIECE	(2 * WHEEL_BATCH)

/*
 * Whether results can be written, as far as one can tell beforehand: not if
 * another thread takes the memory away meanwhile. They lie in two pages at
 * most, so their first and last word tell; what is written there is what was
 * read.
 */
static inline bool writable(u32 __user *first, u32 first_value,
			    u32 __user *last, u32 last_value)
{
	return !put_user(first_value, first) && !put_user(last_value, last);
}

/* cogwheel_dev.c */
struct cogwheel *file_wheel(struct wheel_file *f);

/* cogwheel_dev_query.c */
int file_info(struct wheel_file *f, void *arg);
int file_kind(struct wheel_file *f, void *arg);
int file_geometry(struct wheel_file *f, void *arg);
int file_state(struct wheel_file *f, void *arg);
int file_walk(struct wheel_file *f, void *arg);
void file_show_fdinfo(struct seq_file *m, struct file *file);

/* cogwheel_dev_limits.c */
extern unsigned int max_timers;
extern unsigned int max_user_files;
extern unsigned int max_user_timers;
unsigned int default_user_timers(void);
struct wheel_user *user_get(void);
void user_put(struct wheel_user *user);
int user_charge(struct wheel_user *user, u32 nr);
void user_uncharge(struct wheel_user *user, u32 nr);
long user_timers(const struct wheel_user *user);

/* cogwheel_dev_timers.c */
extern struct kmem_cache *periodic_cache;
u32 timer_bytes(const struct wheel_ops *ops);
u32 timers_per_page(u32 bytes);
u32 timer_share(const struct wheel_ops *ops);
struct file_timer *file_place(struct wheel_file *f, u64 handle,
			      struct timer_page **last);
int file_grow(struct wheel_file *f);
struct file_timer *file_timer_get(struct wheel_file *f);
void file_timer_put(struct wheel_file *f, struct file_timer *t);
void file_trim(struct wheel_file *f);
void file_free_page(struct wheel_file *f, struct timer_page *page);

/* cogwheel_dev_ops.c */
int file_arm(struct wheel_file *f, void *arg);
int file_cancel(struct wheel_file *f, void *arg);
int file_batch(struct wheel_file *f, void *arg);
int file_advance(struct wheel_file *f, void *arg);

/* cogwheel_dev_events.c */
u32 event_drop(struct wheel_file *f, struct file_timer *t);
void event_copy(struct wheel_file *f, const struct file_event *e,
		struct cogwheel_event *copy);
bool event_consume(struct wheel_file *f, struct file_event *e,
		   const struct cogwheel_event *copy);
u64 file_limit(struct wheel_file *f);
void file_settle(struct wheel_file *f);
u64 file_expire(struct cogwheel_batch *batch);
ssize_t file_read_iter(struct kiocb *iocb, struct iov_iter *to);
__poll_t file_poll(struct file *file, poll_table *wait);
int file_fasync(int fd, struct file *file, int on);

/* cogwheel_dev_ring.c */
int ring_create(struct wheel_file *f, u32 entries);
void ring_free(struct wheel_file *f);
bool file_has_ring(const struct wheel_file *f);
u32 ring_room(const struct wheel_file *f);
struct cogwheel_event *ring_next(struct wheel_file *f);
u32 ring_fill(struct wheel_file *f, u32 max);
u32 ring_refill(struct wheel_file *f, u64 *waiting);
int file_ring(struct wheel_file *f, void *arg);
int file_mmap(struct file *file, struct vm_area_struct *vma);

#endif /* _COGWHEEL_FILE_H */
