// SPDX-License-Identifier: GPL-2.0
/*
 * Draws a wheel of any kind from its geometry and a walk over what waits in
 * it. It asks for no kind by name and knows nothing of how one works.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <linux/limits.h>

#include "show.h"

/* Slots of a level that one row of the picture shows. */
#define ROW		64
#define COLUMNS		78

struct picture {
	FILE *out;
	u64 now;
	struct wheel_geometry g;
	struct waiting *items;		/* by level, slot and place in it */
	size_t nr;
};

/* Each line begins with "| ", whatever follows. */
static void blank_line(const struct picture *p)
{
	fputs("| ", p->out);
	fputc('\n', p->out);
}

static enum status collect(struct picture *p, const struct backend_ops *ops,
			   struct backend *backend, struct problem *why)
{
	struct wheel_walk pos = { { 0 } };
	size_t size = 0;

	for (;;) {
		unsigned int nr;
		enum status st;

		if (size - p->nr < WHEEL_BATCH) {
			struct waiting *more;

			size = 2 * size + WHEEL_BATCH;
			more = reallocarray(p->items, size, sizeof(*more));
			if (!more)
				return problem(why, ST_FAILED, "%s",
					       strerror(ENOMEM));
			p->items = more;
		}
		st = ops->walk(backend, &pos, p->items + p->nr, &nr, why);
		if (st || !nr)
			return st;
		p->nr += nr;
	}
}

static int compare(const struct waiting *a, const struct waiting *b)
{
	if (a->level != b->level)
		return a->level < b->level ? -1 : 1;
	if (a->slot != b->slot)
		return a->slot < b->slot ? -1 : 1;
	return 0;
}

/*
 * A stable sort, by merging: within a slot the walk's order is the order of
 * the picture.
 */
static void merge_sort(struct waiting *items, struct waiting *spare, size_t nr)
{
	size_t half = nr / 2, a = 0, b = half, n = 0;

	if (nr < 2)
		return;
	merge_sort(items, spare, half);
	merge_sort(items + half, spare, nr - half);
	while (a < half || b < nr) {
		if (b == nr || (a < half && compare(&items[a], &items[b]) <= 0))
			spare[n++] = items[a++];
		else
			spare[n++] = items[b++];
	}
	memcpy(items, spare, nr * sizeof(*items));
}

/* Ticks that a slot of a level spans, 0 for more than there are. */
static u64 span(const struct picture *p, u32 level)
{
	u64 shift = (u64)level * p->g.shift;

	if (shift >= 64 || p->g.width << shift >> shift != p->g.width)
		return 0;
	return p->g.width << shift;
}

static u32 cursor(const struct picture *p, u32 level)
{
	u64 ticks = span(p, level);

	return ticks ? (u32)(p->now / ticks % p->g.slots) : 0;
}

/* Words that wrap: where the next one goes. */
struct column {
	int at;
	int indent;
};

__attribute__((__format__(printf, 3, 4)))
static void put_word(struct picture *p, struct column *col,
		     const char *fmt, ...)
{
	char text[160];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (col->at > col->indent && col->at + 1 + len > COLUMNS) {
		fprintf(p->out, "\n|%*s", col->indent - 1, "");
		col->at = col->indent;
	}
	fprintf(p->out, " %s", text);
	col->at += 1 + len;
}

/*
 * What waits in one place, on a line that begins with @head (with its "| ").
 * Where all are looked at on one tick that is not their due tick, that tick is
 * said once; where they differ, with each of them.
 */
static void draw_place(struct picture *p, const char *head,
		       const struct waiting *w, size_t nr)
{
	struct column col = { (int)strlen(head), (int)strlen(head) };
	bool same = true, due = true;
	bool more = false;

	for (size_t i = 0; i < nr; i++) {
		same &= w[i].tick == w[0].tick;
		due &= w[i].tick == w[i].due;
		more |= w[i].more;
	}
	fputs(head, p->out);
	if (!due && same) {
		if (w[0].tick == WHEEL_NEVER)
			put_word(p, &col, "(never)");
		else
			put_word(p, &col, "(on %llu)", w[0].tick);
	}
	for (size_t i = 0; i < nr; i++) {
		const char *comma = i + 1 < nr || more ? "," : "";

		if (due || same || w[i].tick == w[i].due)
			put_word(p, &col, "%s @%llu%s", w[i].timer->name,
				 w[i].due, comma);
		else
			put_word(p, &col, "%s @%llu (on %llu)%s",
				 w[i].timer->name, w[i].due, w[i].tick, comma);
	}
	if (more)
		put_word(p, &col, "...");
	fputc('\n', p->out);
}

/* The slots of a level as a row of marks, and the cursor below it. */
static void draw_row(struct picture *p, u32 first, const char *marks, u32 nr,
		     u32 cursor)
{
	fprintf(p->out, "| %5u ", first);
	for (u32 i = 0; i < nr; i++)
		fprintf(p->out, "%s%c", i && i % 8 == 0 ? " " : "", marks[i]);
	fputc('\n', p->out);
	if (cursor >= first && cursor - first < nr) {
		u32 at = cursor - first;

		fprintf(p->out, "|       %*s^\n", (int)(at + at / 8), "");
	}
}

/* Draws the level that @w begins with, or an empty one: how many it took. */
static size_t draw_level(struct picture *p, u32 level, const struct waiting *w,
			 size_t nr)
{
	u32 at = cursor(p, level);
	u64 ticks = span(p, level);
	size_t used = 0;

	if (p->g.slots == 1) {
		while (used < nr && w[used].level == level)
			used++;
		if (used)
			draw_place(p, "|  ", w, used);
		return used;
	}

	blank_line(p);
	fputs("| ", p->out);
	if (p->g.levels > 1)
		fprintf(p->out, "level %u: ", level);
	fprintf(p->out, "%u slots", p->g.slots);
	if (ticks)
		fprintf(p->out, " of %llu tick%s", ticks, ticks == 1 ? "" : "s");
	if (p->g.slots > ROW)
		fputs(", empty rows left out", p->out);
	fputc('\n', p->out);

	for (u32 row = 0; row < p->g.slots; row += ROW) {
		u32 in_row = p->g.slots - row < ROW ? p->g.slots - row : ROW;
		size_t from = used;
		char marks[ROW];

		memset(marks, '.', sizeof(marks));
		while (used < nr && w[used].level == level &&
		       w[used].slot - row < in_row)
			marks[w[used++].slot - row] = '#';
		/* A wheel of many slots is mostly empty. */
		if (p->g.slots <= ROW || used > from ||
		    (at >= row && at - row < in_row))
			draw_row(p, row, marks, in_row, at);
	}

	for (size_t i = 0, n; i < used; i += n) {
		char head[40];

		for (n = 1; i + n < used && w[i + n].slot == w[i].slot; n++)
			;
		snprintf(head, sizeof(head), "|   slot %u:", w[i].slot);
		draw_place(p, head, w + i, n);
	}
	return used;
}

static void draw(struct picture *p)
{
	const struct waiting *w = p->items;
	size_t nr = p->nr;

	for (u32 level = 0; level < p->g.levels; level++) {
		size_t used;

		if (level && (!nr || w->level >= p->g.levels)) {
			blank_line(p);
			if (level + 1 == p->g.levels)
				fprintf(p->out, "| level %u: empty\n", level);
			else
				fprintf(p->out, "| levels %u to %u: empty\n",
					level, p->g.levels - 1);
			break;
		}
		used = draw_level(p, level, w, nr);
		w += used;
		nr -= used;
	}
	if (nr) {
		blank_line(p);
		draw_place(p, "| outside the levels:", w, nr);
	}
}

enum status show(FILE *out, const char *kind, const struct backend_ops *ops,
		 struct backend *backend, struct problem *why)
{
	struct picture p = { .out = out, .now = ops->now(backend) };
	struct waiting *spare = NULL;
	enum status st;
	u64 next, count;

	st = ops->geometry(backend, &p.g, why);
	if (!st)
		st = ops->next(backend, &next, why);
	if (!st)
		st = ops->count(backend, &count, why);
	if (!st)
		st = collect(&p, ops, backend, why);
	if (!st && p.nr) {
		spare = reallocarray(NULL, p.nr, sizeof(*spare));
		if (!spare)
			st = problem(why, ST_FAILED, "%s", strerror(ENOMEM));
		else
			merge_sort(p.items, spare, p.nr);
	}
	if (!st) {
		fprintf(out, "| %s: clock %llu, %llu pending, next ", kind,
			p.now, count);
		if (next == WHEEL_NEVER)
			fputs("none\n", out);
		else
			fprintf(out, "%llu\n", next);
		draw(&p);
	}
	free(spare);
	free(p.items);
	return st;
}
