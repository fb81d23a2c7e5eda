// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of the scenario language, each checked wholly before it changes
 * anything.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <linux/limits.h>

#include "player.h"
#include "show.h"

__attribute__((__format__(printf, 2, 3)))
static void say(const struct player *p, const char *fmt, ...)
{
	va_list ap;

	if (!p->out)
		return;
	va_start(ap, fmt);
	vfprintf(p->out, fmt, ap);
	va_end(ap);
}

/* Explicit, so 0 is no default here: it is out of every range. */
static enum status take_option(const char *kind, const char *name,
			       const struct wheel_range *range, bool given,
			       u64 value, u32 *to, struct problem *why)
{
	if (!given)
		return ST_OK;
	if (!range->min)
		return problem(why, ST_WRONG, "%s has no option %s=", kind,
			       name);
	if (value < range->min || value > range->max)
		return problem(why, ST_WRONG, "%s=%llu: %s takes %u to %u",
			       name, value, kind, range->min, range->max);
	*to = (u32)value;
	return ST_OK;
}

static enum status do_wheel(struct player *p, const struct command *cmd,
			    struct problem *why)
{
	const int kind = wheel_kind_by_name(cmd->name);
	struct wheel_config cfg = { 0 };
	const struct wheel_ops *ops;
	enum status st;

	if (kind < 0)
		return problem(why, ST_WRONG, "unknown kind '%s'", cmd->name);
	ops = wheel_kinds[kind];
	st = take_option(ops->name, "slots", &ops->slots, cmd->has_slots,
			 cmd->slots, &cfg.slots, why);
	if (!st)
		st = take_option(ops->name, "levels", &ops->levels,
				 cmd->has_levels, cmd->levels, &cfg.levels,
				 why);
	if (st)
		return st;
	if (wheel_configure(kind, &cfg))
		return problem(why, ST_WRONG, "%s refuses these options",
			       ops->name);
	p->kind = kind;
	p->cfg = cfg;
	p->have_wheel = true;
	return ST_OK;
}

static enum status do_start(struct player *p, const struct command *cmd,
			    struct problem *why)
{
	if (p->started)
		return problem(why, ST_WRONG, "start was given before");
	if (p->running)
		return problem(why, ST_WRONG,
			       "start comes before any arm or advance");
	/* A look at an empty wheel may have come first. */
	if (p->backend) {
		p->ops->close(p->backend);
		p->backend = NULL;
	}
	p->started = true;
	p->cfg.start = cmd->ticks;
	return ST_OK;
}

/* What is said in ticks from now stops at the last tick. */
static u64 target(const struct player *p, const struct command *cmd)
{
	u64 now = p->ops->now(p->backend);

	if (cmd->absolute)
		return cmd->ticks;
	return cmd->ticks > U64_MAX - now ? U64_MAX : now + cmd->ticks;
}

static enum status do_arm(struct player *p, const struct command *cmd,
			  struct problem *why)
{
	struct timer *timer = names_find(&p->names, cmd->name);

	if (!timer)
		timer = names_add(&p->names, cmd->name,
				  p->ops->timer_size(p->backend));
	if (!timer)
		return problem(why, ST_FAILED, "%s", strerror(ENOMEM));
	p->running = true;
	return p->ops->arm(p->backend, timer, target(p, cmd), cmd->period,
			   cmd->slack, why);
}

static enum status do_cancel(struct player *p, const struct command *cmd,
			     struct problem *why)
{
	struct timer *timer = names_find(&p->names, cmd->name);
	enum status st;
	bool pending;

	if (!timer)
		return problem(why, ST_WRONG, "'%s' was never armed",
			       cmd->name);
	st = p->ops->cancel(p->backend, timer, &pending, why);
	if (!st)
		say(p, "cancel %s %s\n", cmd->name,
		    pending ? "pending" : "idle");
	return st;
}

static enum status print_fire(void *data, const struct fire *fire)
{
	struct player *p = data;

	say(p, "fire %s @%llu", fire->timer->name, fire->tick);
	if (fire->tick > fire->due)
		say(p, " late=%llu", fire->tick - fire->due);
	if (fire->missed)
		say(p, " missed=%llu", fire->missed);
	say(p, "\n");
	return p->out && ferror(p->out) ? ST_FAILED : ST_OK;
}

static enum status do_advance(struct player *p, const struct command *cmd,
			      struct problem *why)
{
	u64 now = p->ops->now(p->backend);
	u64 to = target(p, cmd);

	if (to < now)
		return problem(why, ST_WRONG,
			       "tick %llu is in the past: the clock shows %llu",
			       to, now);
	p->running = true;
	if (p->fired)
		return p->ops->advance(p->backend, to, p->fired, p->data, why);
	return p->ops->advance(p->backend, to, print_fire, p, why);
}

static enum status do_next(struct player *p, struct problem *why)
{
	u64 tick;
	enum status st = p->ops->next(p->backend, &tick, why);

	if (st)
		return st;
	if (tick == WHEEL_NEVER)
		say(p, "next none\n");
	else
		say(p, "next %llu\n", tick);
	return ST_OK;
}

static enum status do_count(struct player *p, struct problem *why)
{
	u64 count;
	enum status st = p->ops->count(p->backend, &count, why);

	if (!st)
		say(p, "count %llu\n", count);
	return st;
}

static enum status carry_out(struct player *p, const struct command *cmd,
			     struct problem *why)
{
	enum status st;

	if (cmd->op == OP_WHEEL && p->have_wheel)
		return problem(why, ST_WRONG, "wheel was given before");
	if (cmd->op != OP_WHEEL && !p->have_wheel)
		return problem(why, ST_WRONG, "wheel must come first");

	if (cmd->op == OP_WHEEL)
		return do_wheel(p, cmd, why);
	if (cmd->op == OP_START)
		return do_start(p, cmd, why);

	if (!p->backend) {
		st = p->ops->open(&p->backend, p->kind, &p->cfg, why);
		if (st)
			return st;
	}
	switch (cmd->op) {
	case OP_ARM:
		return do_arm(p, cmd, why);
	case OP_CANCEL:
		return do_cancel(p, cmd, why);
	case OP_ADVANCE:
		return do_advance(p, cmd, why);
	case OP_NEXT:
		return do_next(p, why);
	case OP_COUNT:
		return do_count(p, why);
	case OP_NOW:
		say(p, "now %llu\n", p->ops->now(p->backend));
		return ST_OK;
	case OP_SHOW:
		if (!p->out)
			return ST_OK;
		return show(p->out, wheel_kinds[p->kind]->name, p->ops,
			    p->backend, why);
	default:
		return ST_OK;
	}
}

enum status player_do(struct player *p, const struct command *cmd,
		      struct problem *why)
{
	enum status st = carry_out(p, cmd, why);

	if (p->out && ferror(p->out))
		return problem(why, ST_FAILED, "the output was not written");
	return st;
}

void player_end(struct player *p)
{
	if (p->backend)
		p->ops->close(p->backend);
	names_free(&p->names);
}
