// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel: what becomes of a timer that has fired, until a reader has its
 * event. To it a ring is one more reader, of which it knows the room that it has.
 *
 * A period is no attack, however short. A periodic timer that fires while its
 * event is unread is asleep from then on, in no wheel; reading the event tells
 * from the clock what it missed, and arms it again. So a program gets no more
 * expiry than it has made calls. (On a manual clock it does not come to that:
 * advance stops first.)
 */
#include <linux/fs.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rbtree.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "cogwheel.h"
#include "cogwheel_file.h"
#include "cogwheel_ioctl.h"
#include "wheels/period.h"

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
u64 file_limit(struct wheel_file *f)
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
u32 event_drop(struct wheel_file *f, struct file_timer *t)
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

void event_copy(struct wheel_file *f, const struct file_event *e,
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
bool event_consume(struct wheel_file *f, struct file_event *e,
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
	if (last) {
		kmem_cache_free(periodic_cache, p);
		file_timer_put(f, t);
	}
	return last;
}

/* What expiry has freed is given back when there is an occasion to sleep. */
void file_settle(struct wheel_file *f)
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

/* The timer of a node; NULL for one that was cancelled or moved. */
static struct file_timer *node_timer(const struct wheel_node *node)
{
	return node ? container_of(cogwheel_node_timer(node), struct file_timer,
				   timer) : NULL;
}

/*
 * One-shot timers that have fired, into the ring as long as there is room and
 * nothing waits outside it. Returns how many of the nodes are done with.
 */
static unsigned int expire_to_ring(struct wheel_file *f,
				   struct wheel_node *const *node,
				   unsigned int nr, u64 tick, bool *event)
{
	u32 room = min(ring_room(f), f->ring_quota), left = room;
	unsigned int i;

	if (!list_empty(&f->events))
		return 0;
	for (i = 0; i < nr && left; i++) {
		struct file_timer *t = node_timer(node[i]);

		if (!t)
			continue;
		if (t->id & ID_PERIODIC)
			break;
		*ring_next(f) = (struct cogwheel_event) {
			.user = t->timer.user,
			.handle = t->id,
			.due = t->timer.node.expires,
			.fired = tick,
			.flags = COGWHEEL_EVENT_LAST,
		};
		file_timer_put(f, t);
		left--;
	}
	f->gone += room - left;
	f->ring_quota -= room - left;
	*event = room != left;
	return i;
}

/*
 * Timers have fired. In softirq, or with bottom halves off for a manual clock,
 * and no lock of the facility held; a batch is small, so the lock is not held
 * for long.
 */
u64 file_expire(struct cogwheel_batch *batch)
{
	struct wheel_file *f = batch->data;
	struct wheel_node *const *node;
	unsigned int nr, i = 0;
	bool event = false;
	u64 limit;

	spin_lock_bh(&f->lock);
	node = cogwheel_batch_take_all(batch, &nr);
	if (f->ring)
		i = expire_to_ring(f, node, nr, batch->tick, &event);
	for (; i < nr; i++) {
		struct file_timer *t = node_timer(node[i]);

		if (!t)
			continue;
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
	file_trim(f);
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

/* An event; or a ring, with which there is no read(). */
static bool file_wakes_reader(const struct wheel_file *f)
{
	return READ_ONCE(f->unread) || file_has_ring(f);
}

ssize_t file_read_iter(struct kiocb *iocb, struct iov_iter *to)
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
		if (wait_event_interruptible(f->wait, file_wakes_reader(f)))
			return -ERESTARTSYS;
	}
}

__poll_t file_poll(struct file *file, poll_table *wait)
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

int file_fasync(int fd, struct file *file, int on)
{
	struct wheel_file *f = file->private_data;

	return fasync_helper(fd, file, on, &f->fasync);
}
