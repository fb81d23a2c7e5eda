// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel: what is said about the device, its kinds, and the wheel of a
 * file, by ioctls and in fdinfo. Changes nothing.
 */
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "cogwheel.h"
#include "cogwheel_file.h"
#include "cogwheel_ioctl.h"
#include "wheels/kinds.h"

static const char *const clock_names[] = {
	[COGWHEEL_CLOCK_MONOTONIC] = "monotonic",
	[COGWHEEL_CLOCK_JIFFIES] = "jiffies",
	[COGWHEEL_CLOCK_MANUAL] = "manual",
};

int file_info(struct wheel_file *f, void *arg)
{
	struct cogwheel_ioc_info *info = arg;

	if (info->reserved)
		return -EINVAL;
	*info = (struct cogwheel_ioc_info) {
		.size = info->size,
		.version = COGWHEEL_VERSION,
		.kinds = WHEEL_NR_KINDS,
		.clocks = BIT(NR_CLOCKS) - 1,
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
		.user_timers = user_timers(f->user),
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

int file_kind(struct wheel_file *f, void *arg)
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

int file_geometry(struct wheel_file *f, void *arg)
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

int file_state(struct wheel_file *f, void *arg)
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

int file_walk(struct wheel_file *f, void *arg)
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

#ifdef CONFIG_PROC_FS
void file_show_fdinfo(struct seq_file *m, struct file *file)
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
