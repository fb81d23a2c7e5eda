// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel: arming, moving and cancelling timers, one by one or in
 * batches, and advancing a manual clock. Knows of events only that a timer may
 * have one, to be dropped with it.
 */
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/prefetch.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "cogwheel.h"
#include "cogwheel_file.h"
#include "cogwheel_ioctl.h"

/*
 * Operations, of a batch or single ones: prepared without a lock, then carried
 * out in one hold of the file's lock and within that, of the facility's. Both
 * are let go only for an operation that has to sleep.
 *
 * With the facility's lock held, interrupts are off: so until then the places
 * of the timers are looked up and their memory is asked for, and afterwards
 * memory is given back.
 */

/* How many at a time. */
#define OPS_PIECE	WHEEL_BATCH

/* What an operation returns that has to sleep before it can be carried out. */
#define OP_SLEEPS	1

/**
 * struct ops_run - what the operations of one hold of the lock share
 * @f: the file
 * @cw: its facility
 * @hold: of the facility's lock
 * @credit: timers that are reserved with the facility and not armed
 * @refused: why there is no more @credit
 * @from: due tick of a delay of 0
 * @from_ns: CLOCK_MONOTONIC, where an operation asks for it
 */
struct ops_run {
	struct wheel_file *f;
	struct cogwheel *cw;
	struct cogwheel_hold hold;
	size_t credit;
	int refused;
	u64 from;
	u64 from_ns;
};

/**
 * struct op_aux - what an operation needs besides its structure
 * @periodic: before, what makes its timer periodic; afterwards, what is to be
 *	freed once no lock is held
 * @place: where the timer would be that it names
 */
struct op_aux {
	struct file_periodic *periodic;
	struct file_timer *place;
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

/* A timer for an arm, see op_timer(). */
static int op_take(struct ops_run *run, struct file_timer **t)
{
	struct wheel_file *f = run->f;

	if (!run->credit)
		return run->refused;
	if (f->timers >= READ_ONCE(max_timers))
		return -ENOSPC;
	if (list_empty(&f->partial))
		return OP_SLEEPS;
	*t = file_timer_get(f);
	run->credit--;
	return 0;
}

/*
 * The timer of an operation. Returns OP_SLEEPS where there is none that is
 * free, or where a reader is just copying its event.
 */
static int op_timer(struct ops_run *run, const struct cogwheel_op *op,
		    const struct op_aux *aux, struct file_timer **t)
{
	if (op->op == COGWHEEL_OP_ARM && !(op->flags & COGWHEEL_ARM_MOVE))
		return op_take(run, t);
	*t = aux->place;
	if (!*t || id_handle((*t)->id) != op->handle)
		return -ENOENT;
	return timer_event(*t)->id & ID_COPYING ? OP_SLEEPS : 0;
}

static int op_arm(struct ops_run *run, struct cogwheel_op *op,
		  struct op_aux *aux)
{
	bool move = op->flags & COGWHEEL_ARM_MOVE;
	u64 period = op->period, slack = op->slack;
	struct file_periodic *old = NULL;
	struct file_timer *t;
	int ret;

	ret = op_timer(run, op, aux, &t);
	if (ret)
		return ret;
	if (op->flags & COGWHEEL_ARM_NS && (period || slack)) {
		period = cogwheel_clock_ns_to_ticks(run->cw, period);
		slack = ticks_within(run->cw, slack);
	}
	op->result = move ? event_drop(run->f, t) : 0;
	if (t->id & ID_PERIODIC)
		old = timer_periodic(t);
	/* An event took the place of the timer, or its memory is new. */
	if (!move || t->id & ID_FIRED)
		cogwheel_timer_setup(&t->timer, NULL, 0);
	timer_set(t, aux->periodic, op, period, slack);
	aux->periodic = old;
	op->handle = id_handle(t->id);
	op->due = op_due(run, op);
	ret = cogwheel_mod_held(&run->hold, &t->timer, op->due, slack);
	/* It is reserved, so it cannot be refused. */
	WARN_ON_ONCE(ret < 0);
	if (ret > 0)
		op->result |= COGWHEEL_WAS_PENDING;
	return 0;
}

static int op_cancel(struct ops_run *run, struct cogwheel_op *op,
		     struct op_aux *aux)
{
	struct file_timer *t;
	int ret = op_timer(run, op, aux, &t);

	if (ret)
		return ret;
	op->result = event_drop(run->f, t);
	if (!(t->id & ID_FIRED) && cogwheel_cancel_held(&run->hold, &t->timer))
		op->result |= COGWHEEL_WAS_PENDING;
	op->due = 0;
	if (t->id & ID_PERIODIC)
		aux->periodic = timer_periodic(t);
	file_timer_put(run->f, t);
	/* An arm that follows can have its place. */
	run->credit++;
	return 0;
}

/*
 * Sleep for what made an operation return OP_SLEEPS. Returns 0 where it can be
 * tried again, or else its error.
 */
static int op_sleep(struct wheel_file *f, const struct cogwheel_op *op)
	__must_hold(&f->lock)
{
	int err;

	spin_unlock_bh(&f->lock);
	if (op->op == COGWHEEL_OP_ARM && !(op->flags & COGWHEEL_ARM_MOVE)) {
		err = file_grow(f);
	} else if (mutex_lock_killable(&f->read_lock)) {
		err = -EINTR;
	} else {
		/* The reader has the event, or has left it queued. */
		mutex_unlock(&f->read_lock);
		err = 0;
	}
	spin_lock_bh(&f->lock);
	return err;
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
			struct op_aux *aux, unsigned int nr)
{
	bool any = false, ns = false;
	unsigned int arms = 0, i;

	for (i = 0; i < nr; i++) {
		struct cogwheel_op *op = &ops[i];

		aux[i].periodic = NULL;
		op->error = op_check(run->f, op);
		if (op->error || op->op != COGWHEEL_OP_ARM)
			continue;
		any = true;
		ns |= op->flags & COGWHEEL_ARM_NS;
		if (op->period) {
			aux[i].periodic = kmem_cache_zalloc(periodic_cache,
							    GFP_KERNEL);
			if (!aux[i].periodic) {
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
 * Look up what operations name. Timers may lie anywhere, and so may those next
 * to them in the wheel: let the cache misses of a piece overlap.
 */
static void ops_find(struct wheel_file *f, const struct cogwheel_op *ops,
		     struct op_aux *aux, unsigned int nr)
{
	struct timer_page *last = NULL;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		aux[i].place = NULL;
		if (!ops[i].handle || ops[i].error)
			continue;
		aux[i].place = file_place(f, ops[i].handle, &last);
		if (aux[i].place)
			prefetchw(&aux[i].place->timer.node);
	}
	if (nr == 1)
		return;
	for (i = 0; i < nr; i++)
		if (aux[i].place)
			cogwheel_prefetch_next(&aux[i].place->timer);
}

/*
 * Carry out operations until one has to sleep. Returns how many.
 */
static unsigned int ops_carry_out(struct ops_run *run, struct cogwheel_op *ops,
				  struct op_aux *aux, unsigned int nr)
{
	unsigned int i;

	ops_find(run->f, ops, aux, nr);
	cogwheel_hold(run->cw, &run->hold);
	for (i = 0; i < nr; i++) {
		struct cogwheel_op *op = &ops[i];
		int ret;

		if (op->error)
			continue;
		ret = op->op == COGWHEEL_OP_ARM ? op_arm(run, op, &aux[i])
						: op_cancel(run, op, &aux[i]);
		if (ret == OP_SLEEPS)
			break;
		op->error = ret;
	}
	cogwheel_release(&run->hold);
	file_trim(run->f);
	return i;
}

/*
 * Carry out operations; each gets its error. Returns how many: all, unless a
 * fatal signal came.
 */
static unsigned int file_run_ops(struct wheel_file *f, struct cogwheel *cw,
				 struct cogwheel_op *ops, struct op_aux *aux,
				 unsigned int nr)
{
	struct ops_run run = { .f = f, .cw = cw };
	unsigned int done = 0, i;

	ops_prepare(&run, ops, aux, nr);
	spin_lock_bh(&f->lock);
	for (;;) {
		done += ops_carry_out(&run, ops + done, aux + done, nr - done);
		if (done == nr)
			break;
		ops[done].error = op_sleep(f, &ops[done]);
		if (ops[done].error == -EINTR)
			break;
	}
	spin_unlock_bh(&f->lock);
	if (run.credit)
		cogwheel_unreserve(cw, run.credit);
	for (i = 0; i < nr; i++)
		if (aux[i].periodic)
			kmem_cache_free(periodic_cache, aux[i].periodic);
	return done;
}

/* One operation. */
static int file_run_op(struct wheel_file *f, struct cogwheel_op *op)
{
	struct op_aux aux;
	struct cogwheel *cw;
	int err;

	/* A refusal is no use of the wheel. */
	err = op_check(f, op);
	if (err)
		return err;
	cw = file_wheel(f);
	if (IS_ERR(cw))
		return PTR_ERR(cw);
	file_run_ops(f, cw, op, &aux, 1);
	return op->error;
}

int file_arm(struct wheel_file *f, void *arg)
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

int file_cancel(struct wheel_file *f, void *arg)
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
	struct op_aux aux[OPS_PIECE];
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
	done = file_run_ops(f, cw, piece->op, piece->aux, nr);
	for (i = 0; i < done; i++)
		batch->failed += piece->op[i].error != 0;
	batch->done += done;
	err = ops_copy_out(piece, at, size, done);
	return done < nr ? -EINTR : err;
}

int file_batch(struct wheel_file *f, void *arg)
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

int file_advance(struct wheel_file *f, void *arg)
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
