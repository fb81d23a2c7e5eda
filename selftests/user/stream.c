// SPDX-License-Identifier: GPL-2.0
/*
 * A stream of operations on a wheel: see stream.h. First what is done to a
 * wheel and checked, then the choosing of operations, then their printing as
 * a scenario.
 *
 * Knows no kind by name: what a kind promises is in its traits.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "../../wheels/kinds.h"
#include "../../wheels/period.h"
#include "model.h"
#include "stream.h"
#include "wheels.h"

#ifdef __SANITIZE_ADDRESS__
#define HAVE_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN
#endif
#endif

/* A node that is not queued is its owner's: a kind that reads it is caught. */
#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define __asan_poison_memory_region(p, size)	((void)(p), (void)(size))
#define __asan_unpoison_memory_region(p, size)	((void)(p), (void)(size))
#endif

/* Calls of advance in one OP_RUN; what is left then is left for later. */
#define RUN_CALLS	128

struct timer {
	struct wheel_node *node;
	u64 expires;
	u64 slack;
	u64 period;
	u64 tick;		/* in the last walk that saw it */
	u64 walk;		/* number of that walk */
	bool queued;
};

struct stream {
	struct setup setup;
	const struct wheel_ops *ops;
	struct wheel *w;
	struct test_pool pool;
	struct wheel_geometry g;
	struct model m;
	struct counts *counts;
	struct timer timer[STREAM_TIMERS];
	bool complete;		/* the last advance did all there was to do */
	bool stopped;		/* not the one before, which came as far */
	bool growing;		/* a round of upkeep has begun */
	void *memory;		/* and this is what grew */
	u64 walks;
	u64 armed;
	u64 cancelled;
	u64 fired;
	u64 looked;
	u64 moved;
	u64 touched;
	char why[256];
};

__printf(2, 3)
static const char *wrong(struct stream *s, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(s->why, sizeof(s->why), format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < sizeof(s->why))
		snprintf(s->why + len, sizeof(s->why) - (size_t)len,
			 " (%s, clock %llu)", s->ops->name, s->w->now);
	return s->why;
}

u64 stream_now(const struct stream *s)
{
	return s->w->now;
}

u64 stream_next(const struct stream *s)
{
	return wheel_next(s->setup.kind, s->w);
}

u32 stream_traits(const struct stream *s)
{
	return s->ops->traits;
}

u32 stream_timers(const struct stream *s)
{
	return s->setup.timers;
}

static bool has(const struct stream *s, u32 trait)
{
	return s->ops->traits & trait;
}

struct stream *stream_begin(const struct setup *setup, struct counts *counts)
{
	struct stream *s = calloc(1, sizeof(*s));
	struct wheel_config cfg = {
		.start = setup->start,
		.slots = setup->slots,
		.levels = setup->levels,
	};
	unsigned int i;

	if (!s)
		abort();
	s->setup = *setup;
	s->counts = counts;
	s->ops = wheel_kinds[setup->kind];
	s->complete = true;
	/* A drain needs a second wheel. */
	s->pool.wheels = 2;
	s->pool.timers = setup->timers;
	s->w = test_wheel_create(setup->kind, &cfg, &s->pool);
	if (!s->w)
		abort();
	s->ops->geometry(s->w, &s->g);
	model_init(&s->m, s->ops->traits, cfg.levels, setup->timers);
	for (i = 0; i < setup->timers; i++) {
		s->timer[i].node = malloc(s->ops->node_size);
		if (!s->timer[i].node)
			abort();
		memset(s->timer[i].node, 0xa5, s->ops->node_size);
		__asan_poison_memory_region(s->timer[i].node,
					    s->ops->node_size);
	}
	return s;
}

void stream_end(struct stream *s)
{
	unsigned int i;

	for (i = 0; i < s->setup.timers; i++)
		if (s->timer[i].queued)
			wheel_dequeue(s->setup.kind, s->w, s->timer[i].node);
	kvfree(s->memory);
	test_wheel_destroy(s->w);
	for (i = 0; i < s->setup.timers; i++) {
		__asan_unpoison_memory_region(s->timer[i].node,
					      s->ops->node_size);
		free(s->timer[i].node);
	}
	test_pool_check(&s->pool);
	model_destroy(&s->m);
	free(s);
}

/* The number of a node that a kind handed over, -1 where it is not queued. */
static int timer_queued(struct stream *s, const struct wheel_node *node)
{
	if (!node || node->owner >= s->setup.timers ||
	    s->timer[node->owner].node != node ||
	    !s->timer[node->owner].queued)
		return -1;
	return (int)node->owner;
}

static const char *check_next(struct stream *s)
{
	u64 next = wheel_next(s->setup.kind, s->w);
	u64 now = s->w->now;
	u64 fire;

	if (next != WHEEL_NEVER && next <= now)
		return wrong(s, "next %llu is not later than now", next);
	if (model_first_fire(&s->m, now, &fire)) {
		if (next == WHEEL_NEVER)
			return wrong(s, "next is never, but %llu must fire",
				     fire);
		if (next > fire)
			return wrong(s, "next %llu is too late for %llu", next,
				     fire);
		if (has(s, WHEEL_ONE_STEP) && s->complete && next != fire)
			return wrong(s, "next %llu is not the first fire %llu",
				     next, fire);
	} else if (s->complete && next != WHEEL_NEVER) {
		return wrong(s, "next %llu, but nothing can fire", next);
	}
	return NULL;
}

static void timer_idle(struct stream *s, unsigned int i)
{
	s->timer[i].queued = false;
	__asan_poison_memory_region(s->timer[i].node, s->ops->node_size);
}

static const char *timer_enqueue(struct stream *s, unsigned int i,
				 u64 expires, u64 slack)
{
	struct timer *t = &s->timer[i];
	struct wheel_node *node = t->node;
	u64 now = s->w->now;
	u64 needs, next, fires;

	__asan_unpoison_memory_region(node, s->ops->node_size);
	node->expires = expires;
	node->owner = i;
	if (has(s, WHEEL_SLACK))
		node->slack.slack = slack;
	t->expires = expires;
	t->slack = slack;
	t->queued = true;
	model_arm(&s->m, i, now, expires, slack);
	s->armed++;
	s->counts->armed++;
	s->counts->ops++;

	needs = wheel_enqueue(s->setup.kind, s->w, node);
	if (now == U64_MAX) {
		if (needs != WHEEL_NEVER)
			return wrong(s, "enqueue says %llu at the end of the clock",
				     needs);
		return NULL;
	}
	fires = s->m.entry[i].last;
	if (needs == WHEEL_NEVER || needs <= now || needs > fires)
		return wrong(s, "enqueue says %llu for a timer that fires at %llu",
			     needs, fires);
	next = wheel_next(s->setup.kind, s->w);
	if (next == WHEEL_NEVER || next > needs)
		return wrong(s, "next %llu, but enqueue said %llu", next,
			     needs);
	return NULL;
}

static void timer_dequeue(struct stream *s, unsigned int i)
{
	wheel_dequeue(s->setup.kind, s->w, s->timer[i].node);
	model_cancel(&s->m, i);
	timer_idle(s, i);
	s->cancelled++;
	s->counts->ops++;
}

static const char *do_arm(struct stream *s, const struct op *op)
{
	struct timer *t = &s->timer[op->timer];
	u64 slack = has(s, WHEEL_SLACK) ? op->slack : 0;

	t->period = op->period;
	if (t->queued && op->code == OP_ARM && t->expires == op->tick &&
	    t->slack == slack)
		return NULL;
	if (t->queued)
		timer_dequeue(s, op->timer);
	return timer_enqueue(s, op->timer, op->tick, slack);
}

/* Walk the whole wheel, @max items a call. */
static const char *do_walk(struct stream *s, unsigned int max)
{
	struct wheel_walk pos = {};
	struct wheel_item items[WHEEL_BATCH];
	u64 next = wheel_next(s->setup.kind, s->w);
	u64 now = s->w->now;
	u64 visited[STREAM_TIMERS];
	unsigned int slots = 0, total = 0, nr, i, j;
	bool more = false;

	s->walks++;
	for (;;) {
		memset(items, 0xa5, sizeof(items));
		nr = s->ops->walk(s->w, &pos, items, max);
		if (!nr)
			break;
		if (nr > max)
			return wrong(s, "walk gave %u items of %u", nr, max);
		for (i = 0; i < nr; i++) {
			const struct wheel_item *item = &items[i];
			int nr_timer = timer_queued(s, item->node);
			struct timer *t;
			u64 fires, slot;

			if (nr_timer < 0)
				return wrong(s, "walk shows a node that is not queued");
			t = &s->timer[nr_timer];
			if (t->walk == s->walks)
				return wrong(s, "walk shows t%d twice",
					     nr_timer);
			t->walk = s->walks;
			t->tick = item->tick;
			more |= item->more;
			total++;

			if (s->m.entry[nr_timer].never) {
				if (item->tick != WHEEL_NEVER)
					return wrong(s, "walk shows %llu for t%d, which is stuck",
						     item->tick, nr_timer);
				continue;
			}
			fires = s->m.entry[nr_timer].last;
			if (item->tick < now || item->tick > fires ||
			    (s->complete && item->tick == now))
				return wrong(s, "walk shows %llu for t%d, firing at %llu",
					     item->tick, nr_timer, fires);
			if (s->complete && item->tick < next)
				return wrong(s, "walk shows %llu for t%d, but next is %llu",
					     item->tick, nr_timer, next);
			if (item->level == WHEEL_NO_LEVEL)
				continue;
			s->ops->geometry(s->w, &s->g);
			if (item->level >= s->g.levels ||
			    item->slot >= s->g.slots)
				return wrong(s, "walk shows t%d on level %u, slot %u",
					     nr_timer, item->level, item->slot);
			/* Each slot is visited once, all of it together. */
			slot = (u64)item->level << 32 | item->slot;
			if (slots && visited[slots - 1] == slot)
				continue;
			for (j = 0; j < slots; j++)
				if (visited[j] == slot)
					return wrong(s, "walk visits level %u, slot %u twice",
						     item->level, item->slot);
			visited[slots++] = slot;
		}
	}
	if (total < s->m.nr && !more)
		return wrong(s, "walk shows %u of %u timers, and no slot has more",
			     total, s->m.nr);
	return NULL;
}

static const char *do_fires(struct stream *s)
{
	u64 now = s->w->now;
	unsigned int i;

	for (i = 0; i < s->setup.timers; i++) {
		const struct model_entry *e = &s->m.entry[i];
		u64 fires, law;

		if (!s->timer[i].queued)
			continue;
		fires = s->ops->fires(s->w, s->timer[i].node);
		law = e->never ? WHEEL_NEVER : e->last;
		/* Half a slot waits: who is overdue may belong to it, or not. */
		if (has(s, WHEEL_EXACT) && !s->complete && e->expires <= now &&
		    fires == now)
			continue;
		if (e->never || has(s, WHEEL_EXACT)) {
			if (fires != law)
				return wrong(s, "fires says %llu for t%u, due to fire at %llu",
					     fires, i, law);
			continue;
		}
		if (fires < now || fires > law ||
		    (s->complete && fires == now))
			return wrong(s, "fires says %llu for t%u, due to fire at %llu",
				     fires, i, law);
		/* Where nothing is open, a kind that rounds knows the tick. */
		if (!has(s, WHEEL_SLACK) && s->complete && fires != law)
			return wrong(s, "fires says %llu for t%u, placed for %llu",
				     fires, i, law);
	}
	return NULL;
}

static const char *rearm(struct stream *s, unsigned int i)
{
	struct timer *t = &s->timer[i];
	u64 due = t->expires, tick = s->w->now, missed;

	if (!t->period || t->queued)
		return NULL;
	if (!wheel_period_next(&due, t->period, tick, &missed))
		return NULL;
	if (due <= tick || (due - t->expires) % t->period ||
	    (due - t->expires) / t->period != missed + 1)
		return wrong(s, "the period of %llu that began at %llu goes on at %llu",
			     t->period, t->expires, due);
	s->counts->missed += missed;
	return timer_enqueue(s, i, due, t->slack);
}

/* One call of advance, and all that its caller does with it. */
static const char *step(struct stream *s, u64 to, unsigned int budget,
			unsigned int *nr)
{
	struct wheel_batch batch;
	u64 before = s->w->now, moved = s->w->moved;
	unsigned int i, fired[WHEEL_BATCH];
	const char *why;
	int nr_timer;
	bool done;

	memset(&batch, 0xa5, sizeof(batch));
	batch.budget = budget;
	batch.looked = 0;
	batch.nr = 0;
	s->counts->ops++;
	done = wheel_advance(s->setup.kind, s->w, to, &batch);
	s->stopped = !s->complete && s->w->now == before;
	s->complete = done;

	if (batch.nr > batch.looked || batch.looked > budget)
		return wrong(s, "advance handed over %u of %u looked at, the budget being %u",
			     batch.nr, batch.looked, budget);
	/* The budget bounds how long a lock is held: it must count them all. */
	moved = s->w->moved - moved;
	if (batch.nr + moved > batch.looked)
		return wrong(s, "advance handed over %u and moved %llu of %u looked at",
			     batch.nr, moved, batch.looked);
	if (s->w->now < before || s->w->now > to)
		return wrong(s, "advance from %llu to %llu went to %llu",
			     before, to, s->w->now);
	if (done && s->w->now != to)
		return wrong(s, "advance to %llu is done at %llu", to,
			     s->w->now);
	if (!done && !batch.nr && batch.looked < budget)
		return wrong(s, "advance stopped for no reason");
	for (i = 0; i < batch.nr; i++) {
		nr_timer = timer_queued(s, batch.node[i]);
		if (nr_timer < 0)
			return wrong(s, "advance handed over a node that is not queued");
		fired[i] = (unsigned int)nr_timer;
		if (batch.node[i]->expires != s->timer[nr_timer].expires)
			return wrong(s, "t%d came back changed", nr_timer);
		why = model_fire(&s->m, fired[i], s->w->now);
		if (why)
			return wrong(s, "t%d, due %llu, %s at %llu", nr_timer,
				     s->timer[nr_timer].expires, why,
				     s->w->now);
		timer_idle(s, fired[i]);
	}
	*nr = batch.nr;
	s->fired += batch.nr;
	s->looked += batch.looked;
	s->counts->fired += batch.nr;
	s->counts->stops += !done;

	why = model_settle(&s->m, s->w->now, done);
	if (why)
		return wrong(s, "%s: t%u, due %llu", why, s->m.order[0],
			     model_at(&s->m, 0)->expires);
	for (i = 0; i < batch.nr && !why; i++)
		why = rearm(s, fired[i]);
	return why;
}

static const char *run(struct stream *s, u64 to, unsigned int budget,
		       unsigned int *fired)
{
	bool empty = !s->m.nr;
	u64 touched = s->w->touched;
	unsigned int calls = 0, nr;
	const char *why;

	*fired = 0;
	do {
		why = step(s, to, budget, &nr);
		if (why)
			return why;
		*fired += nr;
		calls++;
	} while (!s->complete && calls < RUN_CALLS);
	if (empty && (calls > 1 || s->w->touched - touched > s->g.levels))
		return wrong(s, "an empty wheel took %u calls and touched %llu slots",
			     calls, s->w->touched - touched);
	return NULL;
}

static const char *do_chase(struct stream *s, unsigned int budget)
{
	unsigned int bound = s->g.levels, steps = 0, fired = 0;
	const char *why = NULL;
	u64 fire, next;

	if (has(s, WHEEL_SCANS) && !has(s, WHEEL_ONE_STEP))
		bound++;
	/* So does what an earlier advance left half moved, going no further. */
	if (s->stopped)
		bound++;

	while (s->complete && !fired &&
	       model_first_fire(&s->m, s->w->now, &fire)) {
		if (steps++ == bound)
			return wrong(s, "%u steps by next have not reached %llu",
				     steps - 1, fire);
		next = wheel_next(s->setup.kind, s->w);
		why = run(s, next, budget, &fired);
		if (!why)
			why = check_next(s);
		if (why)
			return why;
	}
	return NULL;
}

/*
 * Two timers that were to fire on one tick, one behind the other, must leave
 * the wheel in that order.
 */
static const char *check_drained(struct stream *s, const unsigned int *order,
				 const struct model_entry *was,
				 unsigned int nr)
{
	unsigned int i, j;

	for (i = 0; i < nr; i++) {
		for (j = 0; j < i; j++) {
			if (was[j].seq < was[i].seq ||
			    was[j].last != was[i].last ||
			    was[j].rank != was[i].rank)
				continue;
			if (has(s, WHEEL_SLACK) &&
			    (was[j].slack || was[i].slack))
				continue;
			return wrong(s, "first gave t%u before t%u, both for %llu",
				     order[j], order[i], was[i].last);
		}
	}
	return NULL;
}

/*
 * What an owner does whose CPU dies. The order of arming must survive, tick by
 * tick; where timers fire by slots, slot by slot.
 */
static const char *do_drain(struct stream *s, u32 slots, u32 levels)
{
	struct wheel_config cfg = {
		.start = s->w->now,
		.slots = slots,
		.levels = levels,
	};
	unsigned int order[STREAM_TIMERS], nr = 0, i;
	struct model_entry was[STREAM_TIMERS];
	struct wheel_node *node;
	struct wheel *w;
	const char *why;

	w = test_wheel_create(s->setup.kind, &cfg, &s->pool);
	if (!w)
		abort();
	while ((node = s->ops->first(s->w))) {
		int nr_timer = timer_queued(s, node);

		if (nr_timer < 0) {
			test_wheel_destroy(w);
			return wrong(s, "first gave a node that is not queued");
		}
		order[nr] = (unsigned int)nr_timer;
		was[nr] = s->m.entry[nr_timer];
		timer_dequeue(s, order[nr]);
		nr++;
	}
	kvfree(s->memory);
	s->memory = NULL;
	s->growing = false;
	test_wheel_destroy(s->w);
	s->w = w;
	s->complete = true;
	s->moved = 0;
	s->touched = 0;
	s->armed = 0;
	s->fired = 0;
	s->looked = 0;
	s->cancelled = 0;
	s->ops->geometry(w, &s->g);
	s->m.levels = cfg.levels;

	if (s->m.nr)
		return wrong(s, "first gave %u timers and left %u", nr,
			     s->m.nr);
	why = check_drained(s, order, was, nr);
	if (why)
		return why;
	for (i = 0; i < nr; i++) {
		why = timer_enqueue(s, order[i], s->timer[order[i]].expires,
				    s->timer[order[i]].slack);
		if (why)
			return why;
	}
	return NULL;
}

/* The second half of a round: what grew is handed over. */
static void upkeep_finish(struct stream *s)
{
	void *spare = NULL;

	if (s->ops->install)
		spare = s->ops->install(s->w, s->memory);
	if (s->ops->maintain)
		s->ops->maintain(s->w);
	kvfree(spare);
	s->memory = NULL;
	s->growing = false;
}

/*
 * A half of a round of upkeep, so that anything may come in between, or with
 * one choice in 8 all rounds that the kind asks for.
 */
static const char *do_upkeep(struct stream *s, unsigned int choice)
{
	unsigned int rounds = 0;

	if (s->growing) {
		upkeep_finish(s);
		return NULL;
	}
	if (!s->w->upkeep && choice % 8)
		return NULL;
	do {
		s->growing = true;
		/* There is not always memory to be had. */
		if (s->ops->grow && choice % 16 != 1)
			s->memory = s->ops->grow(s->w);
		if (choice % 8)
			return NULL;
		upkeep_finish(s);
	} while (s->w->upkeep && ++rounds < 10 * STREAM_TIMERS);
	if (s->w->upkeep)
		return wrong(s, "upkeep has no end");
	return NULL;
}

/* What a kind counts, and what its work may come to. */
static const char *check_counters(struct stream *s)
{
	u64 bound = s->armed * (s->g.levels - 1);

	if (s->w->moved < s->moved || s->w->touched < s->touched)
		return wrong(s, "a counter went backwards");
	s->moved = s->w->moved;
	s->touched = s->w->touched;
	if (has(s, WHEEL_SCANS))
		return NULL;
	/* What rounds leaves every timer where it is. */
	if (has(s, WHEEL_ROUNDS))
		bound = 0;
	if (s->w->moved > bound)
		return wrong(s, "%llu moves of %llu timers", s->w->moved,
			     s->armed);
	if (s->looked > s->fired + s->w->moved + s->cancelled)
		return wrong(s, "looked at %llu timers: %llu fired, %llu moved, %llu cancelled",
			     s->looked, s->fired, s->w->moved, s->cancelled);
	return NULL;
}

/**
 * stream_do() - carry out an operation
 * @s: the stream
 * @op: the operation; what makes no sense as things stand is left out
 *
 * Return: NULL, or what went wrong.
 */
const char *stream_do(struct stream *s, const struct op *op)
{
	unsigned int budget = clamp_t(unsigned int, op->budget, 1, WHEEL_BATCH);
	const struct wheel_ops *ops = s->ops;
	const char *why = NULL;
	unsigned int fired;
	u64 next;

	if (op->timer >= s->setup.timers)
		return NULL;
	switch (op->code) {
	case OP_ARM:
	case OP_REARM:
		why = do_arm(s, op);
		break;
	case OP_CANCEL:
		if (s->timer[op->timer].queued)
			timer_dequeue(s, op->timer);
		break;
	case OP_STEP:
		if (op->tick >= s->w->now)
			why = step(s, op->tick, budget, &fired);
		break;
	case OP_RUN:
		if (op->tick >= s->w->now)
			why = run(s, op->tick, budget, &fired);
		break;
	case OP_CHASE:
		why = do_chase(s, budget);
		break;
	case OP_FORWARD:
		next = wheel_next(s->setup.kind, s->w);
		if (!s->complete || op->tick < s->w->now ||
		    (next != WHEEL_NEVER && op->tick >= next))
			break;
		s->counts->ops++;
		wheel_forward(s->setup.kind, s->w, op->tick);
		if (s->w->now != op->tick)
			return wrong(s, "forward to %llu went to %llu",
				     op->tick, s->w->now);
		why = model_settle(&s->m, s->w->now, true);
		if (why)
			return wrong(s, "forward: %s", why);
		break;
	case OP_WALK:
		why = do_walk(s, budget);
		break;
	case OP_FIRES:
		why = do_fires(s);
		break;
	case OP_DRAIN:
		if (op->budget & 1)
			why = do_drain(s, s->setup.slots, s->setup.levels);
		else if (!ops->slots.min)
			why = do_drain(s, 0, ops->levels.min);
		else
			why = do_drain(s, op->budget == WHEEL_BATCH ?
				       ops->slots.max :
				       ops->slots.min + op->budget,
				       ops->levels.min);
		break;
	case OP_UPKEEP:
		why = do_upkeep(s, op->budget);
		break;
	}
	if (!why)
		why = check_next(s);
	if (!why)
		why = check_counters(s);
	return why;
}
