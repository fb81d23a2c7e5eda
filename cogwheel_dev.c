// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel: a wheel for each open file, driven by ioctls (see
 * cogwheel_ioctl.h), which tells of fired timers through read and poll.
 *
 * It knows the facility by cogwheel.h only, and nothing of slots, per-CPU
 * bases or clock drivers.
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
 * A period is no attack, however short. A periodic timer that fires while its
 * event is unread is asleep from then on, in no wheel; reading the event tells
 * from the clock what it missed, and arms it again. So a program gets no more
 * expiry than it has made calls. (On a manual clock it does not come to that:
 * advance stops first.)
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
 *
 * Order of locks: the mutexes, none of which is taken within another; then the
 * file's lock, bottom halves off; then the facility's base lock, or the lock of
 * the xarray of pages.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/build_bug.h>
#include <linux/capability.h>
#include <linux/container_of.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "cogwheel.h"
#include "cogwheel_dev.h"
#include "cogwheel_ioctl.h"
#include "compat.h"
#include "wheels/kinds.h"
#include "wheels/period.h"

#define DEFAULT_KIND	"cascading"
#define DEFAULT_TICK_NS	1000000ULL

#define ARM_FLAGS	\
	(COGWHEEL_ARM_ABSOLUTE | COGWHEEL_ARM_MOVE | COGWHEEL_ARM_NS)

/* Of the minors that are reserved for local use. */
#define FILE_MINOR	248

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

/* Generations that a file takes from the counter at a time. */
#define GEN_BLOCK	64

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

static struct kmem_cache *periodic_cache;
static atomic64_t generations;

/*
 * Limits
 */

static unsigned int max_timers = 1 << 20;

/* The most that any kind's pages have numbers for. */
#define MAX_TIMERS_MAX	\
	(PAGES_MAX * (unsigned int)((PAGE_SIZE - sizeof(struct timer_page)) / \
				    sizeof(struct file_timer)))

static int max_timers_set(const char *val, const struct kernel_param *kp)
{
	unsigned int nr;
	int err;

	err = kstrtouint(val, 0, &nr);
	if (!err && (nr < 1 || nr > MAX_TIMERS_MAX))
		err = -ERANGE;
	if (err) {
		pr_err("max_timers=%s: must be a number from 1 to %u\n", val,
		       MAX_TIMERS_MAX);
		return err;
	}
	WRITE_ONCE(max_timers, nr);
	return 0;
}

static const struct kernel_param_ops max_timers_ops = {
	.set = max_timers_set,
	.get = param_get_uint,
};

module_param_cb(max_timers, &max_timers_ops, &max_timers, 0644);
MODULE_PARM_DESC(max_timers, "Most timers that one open file may have");

/*
 * What a user may have, whom the memory cgroup may not confine. Whoever has
 * CAP_SYS_RESOURCE counts as well, but may go beyond.
 */

static unsigned int max_user_files = 128;
module_param(max_user_files, uint, 0644);
MODULE_PARM_DESC(max_user_files, "Most files that one user may have open");

static unsigned int max_user_timers;
module_param(max_user_timers, uint, 0644);
MODULE_PARM_DESC(max_user_timers,
		 "Most timers of all files of one user (default: a 25th of memory)");

/* Bounds of that default. */
#define USER_TIMERS_MIN	65536UL
#define USER_TIMERS_MAX	4194304UL

/**
 * struct wheel_user - a user who has files open
 * @uid: as the initial user namespace has it
 * @files: how many
 * @timers: how many timers these have room for: pages of timers are what takes
 *	memory, so they are what is counted
 */
struct wheel_user {
	uid_t uid;
	unsigned int files;
	atomic_long_t timers;
};

static DEFINE_XARRAY(users);
static DEFINE_MUTEX(users_lock);	/* users, and their files */

static unsigned int default_user_timers(void)
{
	struct sysinfo si;
	u64 bytes;

	si_meminfo(&si);
	bytes = (u64)si.totalram * si.mem_unit / 25;
	return clamp_t(u64, bytes / (sizeof(struct file_timer) +
				     sizeof(struct file_periodic)),
		       USER_TIMERS_MIN, USER_TIMERS_MAX);
}

/* Whoever calls, and one file more. */
static struct wheel_user *user_get(void)
{
	uid_t uid = from_kuid(&init_user_ns, current_uid());
	struct wheel_user *user;
	int err = 0;

	mutex_lock(&users_lock);
	user = xa_load(&users, uid);
	if ((user ? user->files : 0) >= READ_ONCE(max_user_files) &&
	    !capable(CAP_SYS_RESOURCE)) {
		err = -EMFILE;
		goto out;
	}
	if (!user) {
		user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
		if (!user) {
			err = -ENOMEM;
			goto out;
		}
		user->uid = uid;
		err = xa_insert(&users, uid, user, GFP_KERNEL);
		if (err) {
			kfree(user);
			goto out;
		}
	}
	user->files++;
out:
	mutex_unlock(&users_lock);
	return err ? ERR_PTR(err) : user;
}

static void user_put(struct wheel_user *user)
{
	mutex_lock(&users_lock);
	if (!--user->files) {
		xa_erase(&users, user->uid);
		kfree(user);
	}
	mutex_unlock(&users_lock);
}

static int user_charge(struct wheel_user *user, u32 nr)
{
	unsigned long sum = atomic_long_add_return(nr, &user->timers);

	if (sum <= READ_ONCE(max_user_timers) || capable(CAP_SYS_RESOURCE))
		return 0;
	atomic_long_sub(nr, &user->timers);
	return -ENOSPC;
}

static void user_uncharge(struct wheel_user *user, u32 nr)
{
	atomic_long_sub(nr, &user->timers);
}

/*
 * Pages of timers, and handles
 */

static u32 timer_bytes(const struct wheel_ops *ops)
{
	size_t bytes = offsetof(struct file_timer, timer.node) + ops->node_size;

	return ALIGN(max(bytes, sizeof(struct file_event)), sizeof(u64));
}

static u32 timers_per_page(u32 bytes)
{
	return (PAGE_SIZE - sizeof(struct timer_page)) / bytes;
}

/* Bytes of a timer with its share of page header and of xarray. */
static u32 timer_share(const struct wheel_ops *ops)
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

static struct file_periodic *timer_periodic(struct file_timer *t)
{
	return (void *)(uintptr_t)t->timer.user;
}

static struct file_periodic *event_periodic(struct file_event *e)
{
	return container_of(e, struct file_periodic, event);
}

/* The event of a timer, queued or not. */
static struct file_event *timer_event(struct file_timer *t)
{
	return t->id & ID_PERIODIC ? &timer_periodic(t)->event : &t->event;
}

static u64 id_handle(u64 id)
{
	return id & ~ID_FLAGS;
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
 * The timer that a handle from user space names, or NULL. Whatever number that
 * is, it leads to a place in a page of this file or to nothing.
 */
static struct file_timer *file_lookup(struct wheel_file *f, u64 handle)
{
	u32 index = handle >> ID_INDEX_SHIFT & (BIT(ID_INDEX_BITS) - 1);
	u32 place = index & (BIT(PLACE_BITS) - 1);
	struct timer_page *page;
	struct file_timer *t;

	lockdep_assert_held(&f->lock);
	if (!(handle >> ID_GEN_SHIFT) || place >= f->per_page)
		return NULL;
	page = xa_load(&f->pages, index >> PLACE_BITS);
	if (!page)
		return NULL;
	t = page_timer(f, page, array_index_nospec(place, f->per_page));
	return id_handle(t->id) == handle ? t : NULL;
}

/* Make sure that there was a free timer at some point in time. */
static int file_grow(struct wheel_file *f)
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

static struct file_timer *file_timer_get(struct wheel_file *f)
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

/* The timer is neither armed nor is its event queued. */
static void file_timer_put(struct wheel_file *f, struct file_timer *t)
{
	struct timer_page *page = timer_page(t);

	lockdep_assert_held(&f->lock);
	if (t->id & ID_PERIODIC)
		kmem_cache_free(periodic_cache, timer_periodic(t));
	t->id = 0;
	t->event.user = page->free;
	if (page->free == NO_PLACE)
		list_add(&page->partial, &f->partial);
	page->free = ((u8 *)t - page->timers) / f->timer_bytes;
	f->timers--;
	if (--page->used)
		return;
	/* Keep one, so that a single timer does not make and free a page. */
	if (f->empty) {
		list_del(&page->partial);
		xa_erase_bh(&f->pages, page->number);
		kfree(page);
		user_uncharge(f->user, f->per_page);
	} else {
		f->empty++;
		list_move_tail(&page->partial, &f->partial);
	}
}

/*
 * Events
 */

static void event_queue(struct wheel_file *f, struct file_event *e, u64 fired)
{
	e->fired = fired;
	e->id |= ID_FIRED;
	list_add_tail(&e->entry, &f->events);
	f->unread++;
}

static bool again_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct file_periodic, again)->bound <
	       rb_entry(b, struct file_periodic, again)->bound;
}

/* Advance must not reach the next fire of a timer whose event is unread. */
static void again_add(struct wheel_file *f, struct file_periodic *p)
{
	if (f->clock != COGWHEEL_CLOCK_MANUAL)
		return;
	p->bound = cogwheel_fires(f->cw, &p->timer->timer);
	if (p->bound != WHEEL_NEVER)
		rb_add_cached(&p->again, &f->again, again_less);
}

static void again_del(struct wheel_file *f, struct file_periodic *p)
{
	if (RB_EMPTY_NODE(&p->again))
		return;
	rb_erase_cached(&p->again, &f->again);
	RB_CLEAR_NODE(&p->again);
}

/* The last tick that a manual clock may go to as things stand. */
static u64 file_limit(struct wheel_file *f)
{
	struct rb_node *first = rb_first_cached(&f->again);

	lockdep_assert_held(&f->lock);
	return first ? rb_entry(first, struct file_periodic, again)->bound - 1
		     : U64_MAX;
}

/* Wake a periodic timer up, to be armed or freed. Was it asleep? */
static bool timer_wake(struct wheel_file *f, struct file_periodic *p)
{
	bool asleep = p->asleep;

	f->asleep -= asleep;
	p->asleep = false;
	return asleep;
}

/*
 * Take back the event of a timer, if there is one; it is not being copied.
 * Returns what the timer was as far as that goes: unread, and pending where it
 * was asleep.
 */
static u32 event_drop(struct wheel_file *f, struct file_timer *t)
{
	struct file_event *e = timer_event(t);

	if (!(e->id & ID_FIRED))
		return 0;
	list_del(&e->entry);
	f->unread--;
	if (!(t->id & ID_PERIODIC))
		return COGWHEEL_WAS_UNREAD;
	e->id &= ~ID_FIRED;
	again_del(f, event_periodic(e));
	return COGWHEEL_WAS_UNREAD |
	       (timer_wake(f, event_periodic(e)) ? COGWHEEL_WAS_PENDING : 0);
}

/* Returns true where there is an event that there was not before. */
static bool fire_periodic(struct wheel_file *f, struct file_timer *t, u64 tick)
{
	struct file_periodic *p = timer_periodic(t);
	u64 due = t->timer.node.expires;

	if (p->event.id & ID_FIRED) {
		p->asleep = true;
		f->asleep++;
		return false;
	}
	p->event.due = due;
	event_queue(f, &p->event, tick);
	if (wheel_period_next(&due, p->period, tick, &p->missed)) {
		cogwheel_mod_slack(f->cw, &t->timer, due, p->slack);
		again_add(f, p);
	} else {
		t->id |= ID_FIRED;
	}
	return true;
}

/* What a periodic timer that is asleep missed so far, its due tick included. */
static u64 asleep_missed(struct wheel_file *f, const struct file_periodic *p)
{
	u64 now = cogwheel_now(f->cw), due = p->timer->timer.node.expires;

	return now < due ? 0 : div64_u64(now - due, p->period) + 1;
}

/* Whether there is a due tick after so many periods. */
static bool has_due(const struct file_periodic *p, u64 periods)
{
	u64 left = U64_MAX - p->timer->timer.node.expires;

	return !periods || div64_u64(left, p->period) >= periods;
}

static void event_copy(struct wheel_file *f, const struct file_event *e,
		       struct cogwheel_event *copy)
{
	const struct file_periodic *p;
	bool last = true;
	u64 more = 0;

	*copy = (struct cogwheel_event) {
		.user = e->user,
		.handle = id_handle(e->id),
		.due = e->due,
		.fired = e->fired,
	};
	if (e->id & ID_PERIODIC) {
		p = container_of_const(e, struct file_periodic, event);
		if (p->asleep)
			more = asleep_missed(f, p);
		copy->missed = p->missed + more;
		last = p->timer->id & ID_FIRED || !has_due(p, more);
	}
	if (last)
		copy->flags = COGWHEEL_EVENT_LAST;
}

/* The reader has this one. Returns true if its timer is gone. */
static bool event_consume(struct wheel_file *f, struct file_event *e,
			  const struct cogwheel_event *copy)
{
	bool last = copy->flags & COGWHEEL_EVENT_LAST;
	struct file_periodic *p;
	struct file_timer *t;

	f->unread--;
	list_del(&e->entry);
	if (!(e->id & ID_PERIODIC)) {
		file_timer_put(f, container_of(e, struct file_timer, event));
		return true;
	}
	p = event_periodic(e);
	t = p->timer;
	e->id &= ~(ID_COPYING | ID_FIRED);
	again_del(f, p);
	/*
	 * Go on after what the reader was told of. If it fell asleep only since
	 * then, that is the due tick that it has: it fires at once.
	 */
	if (timer_wake(f, p) && !last)
		cogwheel_mod_slack(f->cw, &t->timer, t->timer.node.expires +
				   (copy->missed - p->missed) * p->period,
				   p->slack);
	if (last)
		file_timer_put(f, t);
	return last;
}

/*
 * The ring
 */

#define RING_MAX	32768
#define RING_OFFSET	128

static_assert(RING_OFFSET == COGWHEEL_RING_SIZE(0));
static_assert(RING_OFFSET >= sizeof(struct cogwheel_ring));
static_assert(RING_OFFSET % __alignof__(struct cogwheel_event) == 0);

/* How many events are moved in one hold of the lock. */
#define RING_PIECE	(2 * WHEEL_BATCH)

static size_t ring_bytes(u32 entries)
{
	return PAGE_ALIGN(COGWHEEL_RING_SIZE((size_t)entries));
}

static void ring_free(struct wheel_file *f)
{
	size_t nr = ring_bytes(f->ring_entries) >> PAGE_SHIFT, i;

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

static int ring_create(struct wheel_file *f, u32 entries)
{
	size_t nr = ring_bytes(entries) >> PAGE_SHIFT, i;

	f->ring_entries = entries;
	f->ring_pages = kvcalloc(nr, sizeof(*f->ring_pages),
				 GFP_KERNEL_ACCOUNT);
	if (!f->ring_pages)
		return -ENOMEM;
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

static bool file_has_ring(const struct wheel_file *f)
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

static u32 ring_room(const struct wheel_file *f)
{
	u32 used = ring_used(f);

	return used < f->ring_entries ? f->ring_entries - used : 0;
}

/* Move up to @max events from the queue to the ring; returns how many. */
static u32 ring_fill(struct wheel_file *f, u32 max)
{
	struct cogwheel_event *events = (void *)f->ring + RING_OFFSET;
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
		events[f->ring_tail++ & (f->ring_entries - 1)] = copy;
		f->gone += event_consume(f, e, &copy);
		room--;
		moved++;
	}
	/* Pairs with the program's acquire. */
	smp_store_release(&f->ring->tail, f->ring_tail);
	WRITE_ONCE(f->ring->flags,
		   list_empty(&f->events) ? 0 : COGWHEEL_RING_MORE);
	return moved;
}

/*
 * Timers have fired. In softirq, or with bottom halves off for a manual clock,
 * and no lock of the facility held; a batch is small, so the lock is not held
 * for long.
 */
static u64 file_expire(struct cogwheel_batch *batch)
{
	struct wheel_file *f = batch->data;
	struct cogwheel_timer *timer;
	struct file_timer *t;
	bool event = false;
	u64 limit;

	spin_lock_bh(&f->lock);
	while ((timer = cogwheel_batch_take(batch))) {
		t = container_of(timer, struct file_timer, timer);
		if (t->id & ID_PERIODIC) {
			event |= fire_periodic(f, t, batch->tick);
		} else {
			event_queue(f, &t->event, batch->tick);
			event = true;
		}
	}
	if (f->ring)
		f->ring_quota -= ring_fill(f, min_t(u32, f->ring_quota,
						    RING_PIECE));
	limit = file_limit(f);
	spin_unlock_bh(&f->lock);

	if (event)
		kill_fasync(&f->fasync, SIGIO, POLL_IN);
	/* Pairs with the barriers of whoever waits: see file_poll(). */
	if (event && wq_has_sleeper(&f->wait))
		wake_up_interruptible_poll(&f->wait, EPOLLIN | EPOLLRDNORM);
	return limit;
}

/*
 * Set-up
 */

static const enum cogwheel_clock clocks[] = {
	[COGWHEEL_CLOCK_MONOTONIC] = COGWHEEL_MONOTONIC,
	[COGWHEEL_CLOCK_JIFFIES] = COGWHEEL_JIFFIES,
	[COGWHEEL_CLOCK_MANUAL] = COGWHEEL_MANUAL,
};

static const char *const clock_names[] = {
	[COGWHEEL_CLOCK_MONOTONIC] = "monotonic",
	[COGWHEEL_CLOCK_JIFFIES] = "jiffies",
	[COGWHEEL_CLOCK_MANUAL] = "manual",
};

static int file_configure(struct wheel_file *f,
			  const struct cogwheel_ioc_setup *s)
{
	struct cogwheel_config config = {
		.kind = s->kind[0] ? s->kind : DEFAULT_KIND,
		.tick_ns = s->tick_ns,
		.start = s->start,
		.slots = s->slots,
		.levels = s->levels,
		.one_base = true,
		.expire = file_expire,
		.data = f,
	};
	struct cogwheel *cw;
	int err;

	lockdep_assert_held(&f->setup_lock);
	if (s->flags || s->reserved || s->clock >= ARRAY_SIZE(clocks) ||
	    s->ring > RING_MAX || (s->ring && !is_power_of_2(s->ring)) ||
	    strnlen(s->kind, sizeof(s->kind)) == sizeof(s->kind))
		return -EINVAL;
	config.clock = clocks[array_index_nospec(s->clock, ARRAY_SIZE(clocks))];
	if (s->clock == COGWHEEL_CLOCK_MONOTONIC && !s->tick_ns)
		config.tick_ns = DEFAULT_TICK_NS;
	if (f->cw)
		return -EBUSY;

	if (s->ring) {
		err = ring_create(f, s->ring);
		if (err)
			return err;
	}
	cw = cogwheel_create(&config);
	if (IS_ERR(cw)) {
		ring_free(f);
		return PTR_ERR(cw);
	}
	f->clock = s->clock;
	f->tick_ns = s->clock == COGWHEEL_CLOCK_JIFFIES ? TICK_NSEC
							: config.tick_ns;
	f->timer_bytes = timer_bytes(cogwheel_kind(cw));
	f->per_page = timers_per_page(f->timer_bytes);
	/* Pairs with file_wheel(). */
	smp_store_release(&f->cw, cw);
	return 0;
}

/* The facility of a file; a file that was not set up gets the defaults. */
static struct cogwheel *file_wheel(struct wheel_file *f)
{
	static const struct cogwheel_ioc_setup defaults;
	/* Pairs with file_configure(). */
	struct cogwheel *cw = smp_load_acquire(&f->cw);
	int err;

	if (cw)
		return cw;
	if (mutex_lock_killable(&f->setup_lock))
		return ERR_PTR(-EINTR);
	err = file_configure(f, &defaults);
	mutex_unlock(&f->setup_lock);
	/* Somebody else was first: that is as good. */
	if (err && err != -EBUSY)
		return ERR_PTR(err);
	return f->cw;
}

static int file_setup(struct wheel_file *f, void *arg)
{
	int err;

	if (mutex_lock_killable(&f->setup_lock))
		return -EINTR;
	err = file_configure(f, arg);
	mutex_unlock(&f->setup_lock);
	return err;
}

/*
 * Queries
 */

static int file_info(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_info *info = arg;

	if (info->reserved)
		return -EINVAL;
	*info = (struct cogwheel_ioc_info) {
		.size = info->size,
		.version = COGWHEEL_VERSION,
		.kinds = WHEEL_NR_KINDS,
		.clocks = BIT(ARRAY_SIZE(clocks)) - 1,
		.arm_flags = ARM_FLAGS,
		.advance_flags = COGWHEEL_ADVANCE_ABSOLUTE,
		.event_size = sizeof(struct cogwheel_event),
		.item_size = sizeof(struct cogwheel_item),
		.max_timers = READ_ONCE(max_timers),
		.tick_ns_min = COGWHEEL_TICK_NS_MIN,
		.tick_ns_max = COGWHEEL_TICK_NS_MAX,
		.tick_ns_def = DEFAULT_TICK_NS,
		.jiffy_ns = TICK_NSEC,
		.op_size = sizeof(struct cogwheel_op),
		.max_user_timers = READ_ONCE(max_user_timers),
		.user_timers = atomic_long_read(&f->user->timers),
		.max_user_files = READ_ONCE(max_user_files),
		.ring_max = RING_MAX,
	};
	return 0;
}

static_assert(COGWHEEL_TRAIT_EXACT == WHEEL_EXACT);
static_assert(COGWHEEL_TRAIT_ONE_STEP == WHEEL_ONE_STEP);
static_assert(COGWHEEL_TRAIT_SCANS == WHEEL_SCANS);
static_assert(COGWHEEL_TRAIT_SLACK == WHEEL_SLACK);
static_assert(COGWHEEL_TRAIT_BOUNDED == WHEEL_BOUNDED);
static_assert(COGWHEEL_TRAIT_POOLED == WHEEL_POOLED);
static_assert(COGWHEEL_TRAIT_ROUNDS == WHEEL_ROUNDS);
static_assert(COGWHEEL_TRAIT_ONCE == WHEEL_ONCE);
static_assert(COGWHEEL_TRAIT_LAZY == WHEEL_LAZY);

static int file_kind(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_kind *kind = arg;
	const struct wheel_ops *ops;
	u32 index = kind->index;

	if (index >= WHEEL_NR_KINDS)
		return -EINVAL;
	ops = wheel_kinds[array_index_nospec(index, WHEEL_NR_KINDS)];
	*kind = (struct cogwheel_ioc_kind) {
		.size = kind->size,
		.index = index,
		.traits = ops->traits,
		.node_size = ops->node_size,
		.timer_size = timer_share(ops),
		/* Memory accounting keeps a pointer for each object. */
		.periodic_size = timer_share(ops) +
				 sizeof(struct file_periodic) + sizeof(void *),
		.slots_min = ops->slots.min,
		.slots_max = ops->slots.max,
		.slots_def = ops->slots.def,
		.levels_min = ops->levels.min,
		.levels_max = ops->levels.max,
		.levels_def = ops->levels.def,
		.max_timers = ops->traits & WHEEL_BOUNDED ? ops->max_timers : 0,
	};
	strscpy(kind->name, ops->name, sizeof(kind->name));
	strscpy(kind->brief, ops->brief, sizeof(kind->brief));
	strscpy(kind->source, ops->source, sizeof(kind->source));
	return 0;
}

static int file_geometry(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_geometry *g = arg;
	struct wheel_geometry geometry;
	struct cogwheel *cw;

	if (g->flags)
		return -EINVAL;
	cw = file_wheel(f);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	cogwheel_settle(cw);
	cogwheel_geometry(cw, &geometry);
	*g = (struct cogwheel_ioc_geometry) {
		.size = g->size,
		.clock = f->clock,
		.levels = geometry.levels,
		.slots = geometry.slots,
		.shift = geometry.shift,
		.width = geometry.width,
		.tick_ns = f->tick_ns,
	};
	strscpy(g->kind, cogwheel_kind(cw)->name, sizeof(g->kind));
	return 0;
}

static void file_look(struct wheel_file *f, struct cogwheel_ioc_state *s)
{
	struct cogwheel_stats stats;

	/* Keeps timers from being armed, cancelled and taken meanwhile. */
	spin_lock_bh(&f->lock);
	cogwheel_stats(f->cw, &stats);
	*s = (struct cogwheel_ioc_state) {
		.size = s->size,
		.next = cogwheel_next(f->cw),
		.now = cogwheel_now(f->cw),
		.pending = stats.pending + f->asleep,
		.unread = f->unread,
		.timers = f->timers,
		.fired = stats.fired,
		.moved = stats.moved,
		.touched = stats.touched,
		.wakeups = stats.wakeups,
	};
	spin_unlock_bh(&f->lock);
	if (s->next != WHEEL_NEVER)
		s->status |= COGWHEEL_STATE_NEXT;
}

static int file_state(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_state *s = arg;
	struct cogwheel *cw;

	if (s->flags || s->reserved)
		return -EINVAL;
	cw = file_wheel(f);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	file_look(f, s);
	return 0;
}

/* What one piece of a walk needs. */
struct walk_piece {
	unsigned int nr;
	struct wheel_item look[WHEEL_BATCH];
	struct cogwheel_item items[WHEEL_BATCH];
};

static void walk_item(struct wheel_item *look, void *data)
{
	struct walk_piece *piece = data;
	struct cogwheel_timer *timer =
		container_of(look->node, struct cogwheel_timer, node);
	struct file_timer *t = container_of(timer, struct file_timer, timer);
	bool periodic = t->id & ID_PERIODIC;

	piece->items[piece->nr++] = (struct cogwheel_item) {
		.due = timer->node.expires,
		.tick = look->tick,
		.handle = id_handle(t->id),
		.user = periodic ? timer_periodic(t)->event.user : timer->user,
		.level = look->level,
		.slot = look->slot,
		.flags = (look->more ? COGWHEEL_ITEM_MORE : 0) |
			 (periodic ? COGWHEEL_ITEM_PERIODIC : 0),
	};
}

static_assert(COGWHEEL_NO_LEVEL == WHEEL_NO_LEVEL);

static int file_walk(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_walk *walk = arg;
	struct cogwheel_item __user *to = u64_to_user_ptr(walk->items);
	u32 room = walk->count, count = 0;
	struct walk_piece *piece;
	struct wheel_walk pos = { .pos = { walk->pos[0], walk->pos[1] } };
	unsigned int max;
	struct cogwheel *cw;
	int err = 0;

	if (walk->flags || walk->reserved || !room)
		return -EINVAL;
	cw = file_wheel(f);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	piece = kmalloc(sizeof(*piece), GFP_KERNEL_ACCOUNT);
	if (!piece)
		return -ENOMEM;
	cogwheel_settle(cw);
	/* A slot is cut off at the end of a piece: only a first one is short. */
	max = min_t(u32, room, WHEEL_BATCH);
	do {
		piece->nr = 0;
		spin_lock_bh(&f->lock);
		cogwheel_walk(cw, 0, &pos, piece->look, max, walk_item, piece);
		spin_unlock_bh(&f->lock);
		if (!piece->nr)
			break;
		if (copy_to_user(to + count, piece->items,
				 piece->nr * sizeof(*to))) {
			err = -EFAULT;
			break;
		}
		count += piece->nr;
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
		cond_resched();
	} while (room - count >= max);
	kfree(piece);
	if (err)
		return err;
	walk->count = count;
	walk->pos[0] = pos.pos[0];
	walk->pos[1] = pos.pos[1];
	return 0;
}

/*
 * Arm, cancel, advance
 */

/* Find a timer whose event no reader is just copying; may drop the lock. */
static struct file_timer *file_find(struct wheel_file *f, u64 handle)
	__must_hold(&f->lock)
{
	struct file_timer *t;
	int err;

	for (;;) {
		t = file_lookup(f, handle);
		if (!t)
			return ERR_PTR(-ENOENT);
		if (!(timer_event(t)->id & ID_COPYING))
			return t;
		/* The reader will have the event, or will leave it queued. */
		spin_unlock_bh(&f->lock);
		err = mutex_lock_killable(&f->read_lock);
		if (!err)
			mutex_unlock(&f->read_lock);
		spin_lock_bh(&f->lock);
		if (err)
			return ERR_PTR(-EINTR);
	}
}

/* Take a free timer; may drop the lock. */
static struct file_timer *file_take(struct wheel_file *f)
	__must_hold(&f->lock)
{
	int err;

	for (;;) {
		if (f->timers >= READ_ONCE(max_timers))
			return ERR_PTR(-ENOSPC);
		if (!list_empty(&f->partial))
			return file_timer_get(f);
		spin_unlock_bh(&f->lock);
		err = file_grow(f);
		spin_lock_bh(&f->lock);
		if (err)
			return ERR_PTR(err);
	}
}

/*
 * Whether results can be written, as far as one can tell beforehand: not if
 * another thread takes the memory away meanwhile. They lie in two pages at
 * most, so their first and last word tell; what is written there is what was
 * read.
 */
static bool writable(u32 __user *first, u32 first_value, u32 __user *last,
		     u32 last_value)
{
	return !put_user(first_value, first) && !put_user(last_value, last);
}

/*
 * Operations, of a batch or single ones: prepared without a lock, carried out
 * in one hold of the file's lock, which is let go only to sleep.
 */

/* How many at a time: a hold of the lock, bottom halves off. */
#define OPS_PIECE	64

/**
 * struct ops_run - what the operations of one hold of the lock share
 * @f: the file
 * @cw: its facility
 * @credit: timers that are reserved with the facility and not armed
 * @refused: why there is no more @credit
 * @from: due tick of a delay of 0
 * @from_ns: CLOCK_MONOTONIC, where an operation asks for it
 */
struct ops_run {
	struct wheel_file *f;
	struct cogwheel *cw;
	size_t credit;
	int refused;
	u64 from;
	u64 from_ns;
};

/* What can be said against an operation by itself. */
static int op_check(const struct wheel_file *f, const struct cogwheel_op *op)
{
	switch (op->op) {
	case COGWHEEL_OP_ARM:
		if (op->flags & ~ARM_FLAGS)
			return -EINVAL;
		/* A tick of a manual clock has no length. */
		if (op->flags & COGWHEEL_ARM_NS &&
		    f->clock == COGWHEEL_CLOCK_MANUAL)
			return -EINVAL;
		return 0;
	case COGWHEEL_OP_CANCEL:
		if (op->flags || op->when || op->period || op->slack ||
		    op->user)
			return -EINVAL;
		return 0;
	default:
		return -EINVAL;
	}
}

static u64 add_ticks(u64 from, u64 ticks)
{
	return ticks < U64_MAX - from ? from + ticks : U64_MAX;
}

/* The due tick that an operation asks for. */
static u64 op_due(const struct ops_run *run, const struct cogwheel_op *op)
{
	bool absolute = op->flags & COGWHEEL_ARM_ABSOLUTE;
	u64 when = op->when;

	if (!(op->flags & COGWHEEL_ARM_NS))
		return absolute ? when : add_ticks(run->from, when);
	if (run->f->clock == COGWHEEL_CLOCK_MONOTONIC) {
		if (!absolute)
			when = add_ticks(run->from_ns, when);
		return cogwheel_clock_ns_to_ticks(run->cw, when);
	}
	/* The clock is another: what is left of the time is a delay. */
	if (absolute)
		when = when > run->from_ns ? when - run->from_ns : 0;
	return add_ticks(run->from, cogwheel_clock_ns_to_ticks(run->cw, when));
}

/* Nanoseconds in whole ticks, rounded down. */
static u64 ticks_within(const struct cogwheel *cw, u64 ns)
{
	return cogwheel_clock_ns_to_ticks(cw, min(ns, U64_MAX - 1) + 1) - 1;
}

/* Make a timer periodic or one-shot; it stays where it is in the wheel. */
static void timer_set(struct file_timer *t, struct file_periodic *p,
		      const struct cogwheel_op *op, u64 period, u64 slack)
{
	t->id = id_handle(t->id);
	if (!p) {
		t->timer.user = op->user;
		return;
	}
	t->id |= ID_PERIODIC;
	t->timer.user = (uintptr_t)p;
	p->event.id = t->id;
	p->event.user = op->user;
	p->timer = t;
	p->period = period;
	p->slack = slack;
	RB_CLEAR_NODE(&p->again);
}

/*
 * The operation takes over *periodic, and leaves there what is to be freed once
 * the lock is dropped.
 */
static int op_arm(struct ops_run *run, struct cogwheel_op *op,
		  struct file_periodic **periodic)
	__must_hold(&run->f->lock)
{
	bool move = op->flags & COGWHEEL_ARM_MOVE;
	u64 period = op->period, slack = op->slack;
	struct file_periodic *old = NULL;
	struct wheel_file *f = run->f;
	struct file_timer *t;

	if (!move && !run->credit)
		return run->refused;
	t = move ? file_find(f, op->handle) : file_take(f);
	if (IS_ERR(t))
		return PTR_ERR(t);
	if (!move)
		run->credit--;

	if (op->flags & COGWHEEL_ARM_NS) {
		period = cogwheel_clock_ns_to_ticks(run->cw, period);
		slack = ticks_within(run->cw, slack);
	}
	op->result = move ? event_drop(f, t) : 0;
	if (t->id & ID_PERIODIC)
		old = timer_periodic(t);
	/* An event took the place of the timer, or its memory is new. */
	if (!move || t->id & ID_FIRED)
		cogwheel_timer_setup(&t->timer, NULL, 0);
	timer_set(t, *periodic, op, period, slack);
	*periodic = old;
	op->handle = id_handle(t->id);
	op->due = op_due(run, op);
	if (cogwheel_mod_slack(run->cw, &t->timer, op->due, slack))
		op->result |= COGWHEEL_WAS_PENDING;
	return 0;
}

static int op_cancel(struct ops_run *run, struct cogwheel_op *op)
	__must_hold(&run->f->lock)
{
	struct wheel_file *f = run->f;
	struct file_timer *t = file_find(f, op->handle);

	if (IS_ERR(t))
		return PTR_ERR(t);
	op->result = event_drop(f, t);
	if (!(t->id & ID_FIRED) && cogwheel_cancel(run->cw, &t->timer))
		op->result |= COGWHEEL_WAS_PENDING;
	op->due = 0;
	file_timer_put(f, t);
	/* An arm that follows can have its place. */
	run->credit++;
	return 0;
}

/* What expiry has freed is given back when there is an occasion to sleep. */
static void file_settle(struct wheel_file *f)
{
	u64 gone;

	if (!READ_ONCE(f->gone))
		return;
	spin_lock_bh(&f->lock);
	gone = f->gone;
	f->gone = 0;
	spin_unlock_bh(&f->lock);
	cogwheel_unreserve(f->cw, gone);
}

/* Timers that operations will arm are reserved, as many as there are. */
static void ops_reserve(struct ops_run *run, unsigned int arms)
{
	run->refused = cogwheel_reserve(run->cw, arms);
	if (!run->refused) {
		run->credit = arms;
		return;
	}
	/* Not so many: who asks first is served. */
	while (run->credit + 1 < arms && !cogwheel_reserve(run->cw, 1))
		run->credit++;
}

/* All that may sleep, and the look at the clock. */
static void ops_prepare(struct ops_run *run, struct cogwheel_op *ops,
			struct file_periodic **periodic, unsigned int nr)
{
	bool any = false, ns = false;
	unsigned int arms = 0, i;

	for (i = 0; i < nr; i++) {
		struct cogwheel_op *op = &ops[i];

		periodic[i] = NULL;
		op->error = op_check(run->f, op);
		if (op->error || op->op != COGWHEEL_OP_ARM)
			continue;
		any = true;
		ns |= op->flags & COGWHEEL_ARM_NS;
		if (op->period) {
			periodic[i] = kmem_cache_zalloc(periodic_cache,
							GFP_KERNEL);
			if (!periodic[i]) {
				op->error = -ENOMEM;
				continue;
			}
		}
		arms += !(op->flags & COGWHEEL_ARM_MOVE);
	}
	file_settle(run->f);
	if (arms)
		ops_reserve(run, arms);
	if (any)
		run->from = cogwheel_due(run->cw, 0);
	if (ns)
		run->from_ns = ktime_get_ns();
}

/*
 * Carry out operations; each gets its error. Returns how many: all, unless a
 * fatal signal came.
 */
static unsigned int file_run_ops(struct wheel_file *f, struct cogwheel *cw,
				 struct cogwheel_op *ops,
				 struct file_periodic **periodic,
				 unsigned int nr)
{
	struct ops_run run = { .f = f, .cw = cw };
	unsigned int done, i;

	ops_prepare(&run, ops, periodic, nr);
	spin_lock_bh(&f->lock);
	for (done = 0; done < nr; done++) {
		struct cogwheel_op *op = &ops[done];

		if (op->error)
			continue;
		op->error = op->op == COGWHEEL_OP_ARM
			    ? op_arm(&run, op, &periodic[done])
			    : op_cancel(&run, op);
		if (op->error == -EINTR)
			break;
	}
	spin_unlock_bh(&f->lock);
	if (run.credit)
		cogwheel_unreserve(cw, run.credit);
	for (i = 0; i < nr; i++)
		if (periodic[i])
			kmem_cache_free(periodic_cache, periodic[i]);
	return done;
}

/* One operation. */
static int file_run_op(struct wheel_file *f, struct cogwheel_op *op)
{
	struct file_periodic *periodic;
	struct cogwheel *cw;
	int err;

	/* A refusal is no use of the wheel. */
	err = op_check(f, op);
	if (err)
		return err;
	cw = file_wheel(f);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	file_run_ops(f, cw, op, &periodic, 1);
	return op->error;
}

static int file_arm(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_arm *arm = arg;
	struct cogwheel_op op = {
		.op = COGWHEEL_OP_ARM,
		.flags = arm->flags,
		.handle = arm->handle,
		.when = arm->when,
		.period = arm->period,
		.slack = arm->slack,
		.user = arm->user,
	};
	int err = arm->reserved ? -EINVAL : file_run_op(f, &op);

	if (err)
		return err;
	arm->handle = op.handle;
	arm->due = op.due;
	arm->result = op.result;
	return 0;
}

static int file_cancel(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_cancel *cancel = arg;
	struct cogwheel_op op = {
		.op = COGWHEEL_OP_CANCEL,
		.handle = cancel->handle,
	};
	int err = cancel->flags || cancel->reserved ? -EINVAL :
		  file_run_op(f, &op);

	if (err)
		return err;
	cancel->result = op.result;
	return 0;
}

/* A piece of a batch. */
struct ops_piece {
	struct cogwheel_op op[OPS_PIECE];
	struct file_periodic *periodic[OPS_PIECE];
};

static int ops_copy_in(struct ops_piece *piece, const void __user *from,
		       u32 size, unsigned int nr)
{
	unsigned int i;
	int err = 0;

	if (size == sizeof(piece->op[0]))
		return copy_from_user(piece->op, from, nr * size) ? -EFAULT : 0;
	for (i = 0; !err && i < nr; i++)
		err = copy_struct_from_user(&piece->op[i],
					    sizeof(piece->op[i]),
					    from + i * size, size);
	return err;
}

static int ops_copy_out(const struct ops_piece *piece, void __user *to,
			u32 size, unsigned int nr)
{
	unsigned int i;
	int err = 0;

	if (size == sizeof(piece->op[0]))
		return copy_to_user(to, piece->op, nr * size) ? -EFAULT : 0;
	for (i = 0; !err && i < nr; i++)
		err = copy_to_user(to + i * size, &piece->op[i],
				   sizeof(piece->op[i])) ? -EFAULT : 0;
	return err;
}

/* Carry out a piece of a batch, if its results can be written. */
static int file_batch_piece(struct wheel_file *f, struct cogwheel *cw,
			    struct cogwheel_ioc_batch *batch,
			    struct ops_piece *piece, unsigned int nr)
{
	u32 size = batch->op_size;
	void __user *at = u64_to_user_ptr(batch->ops + batch->done * size);
	unsigned int done, i;
	int err;

	err = ops_copy_in(piece, at, size, nr);
	if (err)
		return err;
	if (!writable(at, piece->op[0].op,
		      at + (nr - 1) * size + offsetof(struct cogwheel_op, error),
		      piece->op[nr - 1].error))
		return -EFAULT;
	done = file_run_ops(f, cw, piece->op, piece->periodic, nr);
	for (i = 0; i < done; i++)
		batch->failed += piece->op[i].error != 0;
	batch->done += done;
	err = ops_copy_out(piece, at, size, done);
	return done < nr ? -EINTR : err;
}

static int file_batch(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_batch *batch = arg;
	struct ops_piece *piece;
	struct cogwheel *cw;
	unsigned int max;
	int err = 0;

	batch->done = 0;
	batch->failed = 0;
	if (batch->flags || batch->reserved ||
	    batch->op_size < offsetofend(struct cogwheel_op, error))
		return -EINVAL;
	if (batch->op_size > PAGE_SIZE)
		return -E2BIG;
	cw = file_wheel(f);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	piece = kmalloc(sizeof(*piece), GFP_KERNEL_ACCOUNT);
	if (!piece)
		return -ENOMEM;
	/* No more than a page, so that writable() sees all of it. */
	max = min_t(u32, OPS_PIECE, PAGE_SIZE / batch->op_size);
	while (!err && batch->done < batch->count) {
		if (fatal_signal_pending(current)) {
			err = -EINTR;
			break;
		}
		err = file_batch_piece(f, cw, batch, piece,
				       min_t(u64, max, batch->count -
						       batch->done));
		cond_resched();
	}
	kfree(piece);
	return err;
}

/*
 * The program has come by: let in all that there is room for. Returns how many
 * events the ring then has, more than it holds if its head is wrong.
 */
static u32 ring_refill(struct wheel_file *f, u64 *waiting)
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

static int file_ring(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_ring *ring = arg;

	if (ring->flags || !file_has_ring(f))
		return -EINVAL;
	ring->ready = ring_refill(f, &ring->waiting);
	return ring->ready > f->ring_entries ? -EINVAL : 0;
}

static int file_advance(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_advance *advance = arg;
	struct cogwheel *cw;
	u64 now, to, limit;
	int err;

	if (advance->flags & ~COGWHEEL_ADVANCE_ABSOLUTE)
		return -EINVAL;
	cw = file_wheel(f);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	if (f->clock != COGWHEEL_CLOCK_MANUAL)
		return -EOPNOTSUPP;
	if (mutex_lock_killable(&f->advance_lock))
		return -EINTR;
	now = cogwheel_now(cw);
	to = advance->to;
	if (!(advance->flags & COGWHEEL_ADVANCE_ABSOLUTE))
		to = to > U64_MAX - now ? U64_MAX : now + to;
	if (to < now) {
		err = -EINVAL;
		goto out;
	}
	spin_lock_bh(&f->lock);
	limit = file_limit(f);
	spin_unlock_bh(&f->lock);
	err = cogwheel_advance(cw, min(to, limit), &advance->now);
out:
	mutex_unlock(&f->advance_lock);
	return err;
}

/*
 * ioctl
 */

/**
 * struct command - an ioctl
 * @size: of its structure, now
 * @min: of its structure, in the first release
 * @acts: it changes something, which would have to be undone if its results
 *	could not be written
 * @partial: where it fails, it has results all the same
 * @run: what it does
 */
struct command {
	u32 size;
	u32 min;
	bool acts;
	bool partial;
	int (*run)(struct wheel_file *f, void *arg);
};

#define COMMAND(cmd, type, last, does, func, ...)			\
	[_IOC_NR(cmd)] = {						\
		.size = sizeof(struct type),				\
		.min = offsetofend(struct type, last),			\
		.acts = (does),						\
		.run = (func),						\
		__VA_ARGS__						\
	}

static const struct command commands[] = {
	COMMAND(COGWHEEL_IOC_INFO, cogwheel_ioc_info, jiffy_ns, false,
		file_info),
	COMMAND(COGWHEEL_IOC_KIND, cogwheel_ioc_kind, reserved, false,
		file_kind),
	COMMAND(COGWHEEL_IOC_SETUP, cogwheel_ioc_setup, kind, true,
		file_setup),
	COMMAND(COGWHEEL_IOC_GEOMETRY, cogwheel_ioc_geometry, tick_ns, false,
		file_geometry),
	COMMAND(COGWHEEL_IOC_STATE, cogwheel_ioc_state, wakeups, false,
		file_state),
	COMMAND(COGWHEEL_IOC_ARM, cogwheel_ioc_arm, reserved, true,
		file_arm),
	COMMAND(COGWHEEL_IOC_CANCEL, cogwheel_ioc_cancel, reserved, true,
		file_cancel),
	COMMAND(COGWHEEL_IOC_ADVANCE, cogwheel_ioc_advance, now, true,
		file_advance),
	COMMAND(COGWHEEL_IOC_WALK, cogwheel_ioc_walk, pos, false,
		file_walk),
	COMMAND(COGWHEEL_IOC_BATCH, cogwheel_ioc_batch, reserved, true,
		file_batch, .partial = true),
	COMMAND(COGWHEEL_IOC_RING, cogwheel_ioc_ring, waiting, true,
		file_ring),
};

union argument {
	u32 size;
	struct cogwheel_ioc_info info;
	struct cogwheel_ioc_kind kind;
	struct cogwheel_ioc_setup setup;
	struct cogwheel_ioc_geometry geometry;
	struct cogwheel_ioc_state state;
	struct cogwheel_ioc_arm arm;
	struct cogwheel_ioc_cancel cancel;
	struct cogwheel_ioc_advance advance;
	struct cogwheel_ioc_walk walk;
	struct cogwheel_ioc_batch batch;
	struct cogwheel_ioc_ring ring;
};

static long file_ioctl(struct file *file, unsigned int cmd, unsigned long addr)
{
	void __user *to = (void __user *)addr;
	const struct command *command;
	union argument arg;
	size_t bytes, last;
	u32 size;
	int err;

	if (_IOC_TYPE(cmd) != COGWHEEL_IOC_TYPE ||
	    _IOC_NR(cmd) >= ARRAY_SIZE(commands))
		return -ENOTTY;
	command = &commands[array_index_nospec(_IOC_NR(cmd),
					       ARRAY_SIZE(commands))];
	if (get_user(size, (u32 __user *)to))
		return -EFAULT;
	if (size < command->min)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(&arg, command->size, to, size);
	if (err)
		return err;
	/* What another thread makes of it from here on does not matter. */
	arg.size = size;
	bytes = min(size, command->size);
	last = bytes / sizeof(u32) - 1;
	if (command->acts && !writable(to, size, (u32 __user *)to + last,
				       ((u32 *)&arg)[last]))
		return -EFAULT;
	err = command->run(file->private_data, &arg);
	if (err && !command->partial)
		return err;
	return copy_to_user(to, &arg, bytes) ? -EFAULT : err;
}

/*
 * read, poll, open, release
 */

/* How many events are copied to a reader at a time. */
#define READ_PIECE	16

struct read_piece {
	unsigned int nr;
	struct file_event *event[READ_PIECE];
	struct cogwheel_event copy[READ_PIECE];
};

/* Note down what is at the head of the queue. */
static void read_begin(struct wheel_file *f, struct read_piece *piece,
		       unsigned int max)
{
	struct file_event *e;

	piece->nr = 0;
	spin_lock_bh(&f->lock);
	list_for_each_entry(e, &f->events, entry) {
		if (piece->nr == max)
			break;
		event_copy(f, e, &piece->copy[piece->nr]);
		e->id |= ID_COPYING;
		piece->event[piece->nr++] = e;
	}
	spin_unlock_bh(&f->lock);
}

static void read_end(struct wheel_file *f, struct read_piece *piece,
		     unsigned int taken)
{
	unsigned int gone = 0, i;

	spin_lock_bh(&f->lock);
	for (i = 0; i < taken; i++)
		gone += event_consume(f, piece->event[i], &piece->copy[i]);
	/* The others were never away. */
	for (; i < piece->nr; i++)
		piece->event[i]->id &= ~ID_COPYING;
	spin_unlock_bh(&f->lock);
	if (gone)
		cogwheel_unreserve(f->cw, gone);
}

/* Copy what there is and fits; the number of bytes, 0 for none. */
static ssize_t file_read_events(struct wheel_file *f, struct iov_iter *to)
{
	const size_t size = sizeof(struct cogwheel_event);
	struct read_piece piece;
	ssize_t done = 0;
	size_t bytes;

	lockdep_assert_held(&f->read_lock);
	while (iov_iter_count(to) >= size) {
		read_begin(f, &piece, min_t(size_t, READ_PIECE,
					    iov_iter_count(to) / size));
		if (!piece.nr)
			break;
		bytes = copy_to_iter(piece.copy, piece.nr * size, to);
		/* The part of an event is nothing; it will come again whole. */
		read_end(f, &piece, bytes / size);
		done += bytes / size * size;
		if (bytes != piece.nr * size) {
			if (!done)
				done = -EFAULT;
			break;
		}
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return done;
}

static ssize_t file_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *file = iocb->ki_filp;
	struct wheel_file *f = file->private_data;
	bool nowait = iocb->ki_flags & IOCB_NOWAIT;
	ssize_t done;

	if (iov_iter_count(to) < sizeof(struct cogwheel_event))
		return -EINVAL;
	for (;;) {
		/* Another thread may set it up while this one waits. */
		if (file_has_ring(f))
			return -EINVAL;
		if (nowait) {
			if (!mutex_trylock(&f->read_lock))
				return -EAGAIN;
		} else if (mutex_lock_interruptible(&f->read_lock)) {
			return -ERESTARTSYS;
		}
		done = file_read_events(f, to);
		mutex_unlock(&f->read_lock);
		if (done)
			return done;
		if (nowait || file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(f->wait,
					     READ_ONCE(f->unread)))
			return -ERESTARTSYS;
	}
}

static __poll_t file_poll(struct file *file, poll_table *wait)
{
	struct wheel_file *f = file->private_data;
	u64 waiting;
	u32 used;

	poll_wait(file, &f->wait, wait);
	/*
	 * Be seen on the queue of waiters before looking; file_expire() queues
	 * an event before it looks for waiters (wq_has_sleeper()). One of us
	 * sees the other.
	 */
	smp_mb();
	if (!file_has_ring(f))
		return READ_ONCE(f->unread) ? EPOLLIN | EPOLLRDNORM : 0;
	used = ring_refill(f, &waiting);
	if (used > f->ring_entries)
		return EPOLLERR;
	return used || waiting ? EPOLLIN | EPOLLRDNORM : 0;
}

static int file_fasync(int fd, struct file *file, int on)
{
	struct wheel_file *f = file->private_data;

	return fasync_helper(fd, file, on, &f->fasync);
}

/* The ring, all of it or its beginning, shared. */
static int file_mmap(struct file *file, struct vm_area_struct *vma)
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

static int file_open(struct inode *inode, struct file *file)
{
	struct wheel_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	int err;

	if (!f)
		return -ENOMEM;
	f->user = user_get();
	if (IS_ERR(f->user)) {
		err = PTR_ERR(f->user);
		kfree(f);
		return err;
	}
	spin_lock_init(&f->lock);
	INIT_LIST_HEAD(&f->events);
	f->again = RB_ROOT_CACHED;
	xa_init_flags(&f->pages, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH |
				 XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&f->partial);
	init_waitqueue_head(&f->wait);
	mutex_init(&f->setup_lock);
	mutex_init(&f->advance_lock);
	mutex_init(&f->grow_lock);
	mutex_init(&f->read_lock);
	file->private_data = f;
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static void file_free_page(struct wheel_file *f, struct timer_page *page)
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

static int file_release(struct inode *inode, struct file *file)
{
	struct wheel_file *f = file->private_data;
	struct timer_page *page;
	unsigned long number;

	/* After this nothing fires any more: all that is left is memory. */
	if (f->cw)
		cogwheel_destroy(f->cw);
	xa_for_each(&f->pages, number, page) {
		file_free_page(f, page);
		cond_resched();
	}
	xa_destroy(&f->pages);
	ring_free(f);
	user_put(f->user);
	kfree(f);
	return 0;
}

#ifdef CONFIG_PROC_FS
static void file_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct wheel_file *f = file->private_data;
	struct cogwheel_ioc_state s = { };

	/* Pairs with file_configure(). Looking is no use of the wheel. */
	if (!smp_load_acquire(&f->cw)) {
		seq_puts(m, "cogwheel-kind:\tnone\n");
		return;
	}
	file_look(f, &s);
	seq_printf(m, "cogwheel-kind:\t%s\n", cogwheel_kind(f->cw)->name);
	seq_printf(m, "cogwheel-clock:\t%s\n", clock_names[f->clock]);
	seq_printf(m, "cogwheel-tick-ns:\t%llu\n", f->tick_ns);
	seq_printf(m, "cogwheel-now:\t%llu\n", s.now);
	if (s.status & COGWHEEL_STATE_NEXT)
		seq_printf(m, "cogwheel-next:\t%llu\n", s.next);
	else
		seq_puts(m, "cogwheel-next:\tnone\n");
	seq_printf(m, "cogwheel-pending:\t%llu\n", s.pending);
	seq_printf(m, "cogwheel-unread:\t%llu\n", s.unread);
	seq_printf(m, "cogwheel-timers:\t%llu\n", s.timers);
	seq_printf(m, "cogwheel-fired:\t%llu\n", s.fired);
	seq_printf(m, "cogwheel-moved:\t%llu\n", s.moved);
	seq_printf(m, "cogwheel-touched:\t%llu\n", s.touched);
	seq_printf(m, "cogwheel-ring:\t%u\n", f->ring_entries);
	seq_printf(m, "cogwheel-wakeups:\t%llu\n", s.wakeups);
}
#endif

static const struct file_operations file_ops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.release = file_release,
	.read_iter = file_read_iter,
	.poll = file_poll,
	.fasync = file_fasync,
	.mmap = file_mmap,
	.unlocked_ioctl = file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = file_show_fdinfo,
#endif
};

static struct miscdevice misc = {
	.minor = FILE_MINOR,
	.name = "cogwheel",
	.nodename = "cogwheel",
	.mode = 0600,
	.fops = &file_ops,
};

/**
 * cogwheel_dev_init() - offer /dev/cogwheel
 *
 * Context: process, when the module is loaded and the facility is ready.
 * Return: 0 or a negative errno.
 */
int cogwheel_dev_init(void)
{
	int err;

	periodic_cache = KMEM_CACHE(file_periodic, SLAB_ACCOUNT);
	if (!periodic_cache)
		return -ENOMEM;
	if (!max_user_timers)
		max_user_timers = default_user_timers();
	err = misc_register(&misc);
	if (err == -EBUSY) {
		/* It then only does not load by itself. */
		pr_notice("minor %d is taken, using another\n", misc.minor);
		misc.minor = MISC_DYNAMIC_MINOR;
		err = misc_register(&misc);
	}
	if (err)
		kmem_cache_destroy(periodic_cache);
	return err;
}

/**
 * cogwheel_dev_exit() - withdraw /dev/cogwheel
 *
 * Context: process; no file is open, since an open file holds the module.
 */
void cogwheel_dev_exit(void)
{
	misc_deregister(&misc);
	kmem_cache_destroy(periodic_cache);
}

MODULE_ALIAS_MISCDEV(FILE_MINOR);
MODULE_ALIAS("devname:cogwheel");
