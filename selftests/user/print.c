// SPDX-License-Identifier: GPL-2.0
/*
 * Printing a stream as a scenario, while it is carried out once more: see
 * stream.h. What the language of scenarios has no words for is a comment.
 */
#include <linux/compiler.h>
#include <linux/limits.h>

#include "stream.h"

static void op_print(FILE *out, const struct op *op)
{
	switch (op->code) {
	case OP_REARM:
		fprintf(out, "# whether or not it is pending for that tick:\n");
		fallthrough;
	case OP_ARM:
		fprintf(out, "arm t%u @%llu", op->timer, op->tick);
		if (op->period)
			fprintf(out, " every %llu", op->period);
		if (op->slack)
			fprintf(out, " slack %llu", op->slack);
		fprintf(out, "\n");
		break;
	case OP_CANCEL:
		fprintf(out, "cancel t%u\n", op->timer);
		break;
	case OP_STEP:
		fprintf(out, "# once only, with a budget of %u:\n",
			op->budget);
		fallthrough;
	case OP_RUN:
		fprintf(out, "advance @%llu\n", op->tick);
		break;
	case OP_FORWARD:
		fprintf(out, "# forward, if nothing is due:\nadvance @%llu\n",
			op->tick);
		break;
	case OP_CHASE:
		fprintf(out, "next\n# advance to that, again and again, until a timer fires\n");
		break;
	case OP_WALK:
	case OP_FIRES:
		fprintf(out, "show\n");
		break;
	case OP_DRAIN:
		fprintf(out, "# all timers move to another wheel\n");
		break;
	case OP_UPKEEP:
		fprintf(out, "# half a round of upkeep\n");
		break;
	}
}

/**
 * stream_print() - print operations as a scenario, and carry them out
 * @out: where to
 * @setup: how the stream began
 * @ops: the operations
 * @nr: how many
 */
void stream_print(FILE *out, const struct setup *setup, const struct op *ops,
		  size_t nr)
{
	bool armed[STREAM_TIMERS] = {};
	struct counts counts = {};
	const char *why = NULL;
	struct stream *s;
	size_t i;

	fprintf(out, "wheel %s", wheel_kinds[setup->kind]->name);
	if (setup->slots)
		fprintf(out, " slots=%u", setup->slots);
	if (setup->levels)
		fprintf(out, " levels=%u", setup->levels);
	fprintf(out, "\nstart %llu\n", setup->start);
	s = stream_begin(setup, &counts);
	for (i = 0; i < nr && !why; i++) {
		const struct op *op = &ops[i];
		u64 was = stream_now(s);

		/* To cancel what was never armed is an error there. */
		if (op->code == OP_CANCEL && !armed[op->timer])
			continue;
		if (op->code == OP_ARM || op->code == OP_REARM)
			armed[op->timer] = true;
		/* So is to go back in time. */
		if ((op->code == OP_STEP || op->code == OP_RUN ||
		     op->code == OP_FORWARD) && op->tick < was)
			continue;
		op_print(out, op);
		fflush(out);
		why = stream_do(s, op);
		if (stream_now(s) != was)
			fprintf(out, "# the clock shows %llu\n", stream_now(s));
	}
	if (why)
		fprintf(out, "# %s\n", why);
	fflush(out);
}
