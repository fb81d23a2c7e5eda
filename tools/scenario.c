// SPDX-License-Identifier: GPL-2.0
/*
 * Reads scenarios. A line is as long as it likes and may hold any byte; what
 * a comment says is not even kept.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "scenario.h"

struct word {
	const char *text;
	size_t len;
};

struct scenario {
	int fd;
	bool eof;
	u64 line;

	/* The line without its comment. */
	char *text;
	size_t len;
	size_t size;

	/* What was read from the file and is not yet part of a line. */
	size_t pos;
	size_t end;
	char buf[1 << 16];
};

enum status problem(struct problem *p, enum status st, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->text, sizeof(p->text), fmt, ap);
	va_end(ap);
	return st;
}

/* A word for a message: short, and nothing that a terminal would obey. */
struct quoted {
	char text[64];
};

static struct quoted quote(const char *text, size_t len)
{
	const size_t longest = 40;
	struct quoted q;
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (at > longest) {
			memcpy(q.text + at, "...", 4);
			return q;
		}
		if (c > ' ' && c < 0x7f && c != '\\')
			q.text[at++] = (char)c;
		else
			at += (size_t)sprintf(q.text + at, "\\x%02x", c);
	}
	q.text[at] = '\0';
	return q;
}

struct scenario *scenario_open(int fd)
{
	struct scenario *s = calloc(1, sizeof(*s));

	if (s)
		s->fd = fd;
	return s;
}

void scenario_close(struct scenario *s)
{
	if (!s)
		return;
	free(s->text);
	free(s);
}

u64 scenario_line(const struct scenario *s)
{
	return s->line;
}

/* 0, or the errno of a read that failed; sets eof where nothing is left. */
static int fill(struct scenario *s)
{
	ssize_t n;

	fflush(stdout);
	do {
		n = read(s->fd, s->buf, sizeof(s->buf));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	s->pos = 0;
	s->end = (size_t)n;
	s->eof = n == 0;
	return 0;
}

static bool keep(struct scenario *s, const char *text, size_t len)
{
	if (s->size - s->len < len) {
		size_t size = s->size ? s->size : 128;
		char *more;

		while (size - s->len < len) {
			if (size > SIZE_MAX / 2)
				return false;
			size *= 2;
		}
		more = realloc(s->text, size);
		if (!more)
			return false;
		s->text = more;
		s->size = size;
	}
	if (len)
		memcpy(s->text + s->len, text, len);
	s->len += len;
	return true;
}

/* Reads one line into s->text; *more is false where there was none. */
static enum status read_line(struct scenario *s, bool *more,
			     struct problem *why)
{
	bool comment = false;
	bool any = false;

	s->len = 0;
	for (;;) {
		const char *from, *newline, *hash;
		size_t len;

		if (s->pos == s->end) {
			int err = s->eof ? 0 : fill(s);

			if (err)
				return problem(why, ST_FAILED, "%s",
					       strerror(err));
			if (s->eof) {
				*more = any;
				s->line += any;
				return ST_OK;
			}
		}
		any = true;
		from = s->buf + s->pos;
		newline = memchr(from, '\n', s->end - s->pos);
		len = newline ? (size_t)(newline - from) : s->end - s->pos;
		s->pos += len + !!newline;

		if (!comment) {
			hash = memchr(from, '#', len);
			comment = hash;
			if (!keep(s, from, hash ? (size_t)(hash - from) : len))
				return problem(why, ST_FAILED, "line %llu: %s",
					       s->line + 1, strerror(ENOMEM));
		}
		if (newline) {
			*more = true;
			s->line++;
			return ST_OK;
		}
	}
}

/* The words of a line, one after another; no text at the end. */
struct words {
	const char *pos;
	const char *end;
};

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct word next_word(struct words *words)
{
	struct word w;

	while (words->pos < words->end && blank(*words->pos))
		words->pos++;
	w.text = words->pos;
	while (words->pos < words->end && !blank(*words->pos))
		words->pos++;
	w.len = (size_t)(words->pos - w.text);
	return w;
}

static bool word_is(struct word w, const char *text)
{
	return w.len == strlen(text) && !memcmp(w.text, text, w.len);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

enum status scenario_number(const char *text, size_t len, u64 *value,
			    struct problem *why)
{
	const bool hex = len > 2 && text[0] == '0' && text[1] == 'x';
	const unsigned int base = hex ? 16 : 10;
	bool overflow = false;
	u64 v = 0;

	for (size_t i = hex ? 2 : 0; i < len; i++) {
		unsigned int d = (unsigned int)digit(text[i]);

		if (d >= base)
			return problem(why, ST_WRONG, "'%s' is not a number",
				       quote(text, len).text);
		if (v > (U64_MAX - d) / base)
			overflow = true;
		v = v * base + d;
	}
	if (!len)
		return problem(why, ST_WRONG, "a number is missing");
	if (overflow)
		return problem(why, ST_WRONG, "%s is beyond 2^64-1",
			       quote(text, len).text);
	*value = v;
	return ST_OK;
}

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("_.-", c));
}

static bool is_name(struct word w)
{
	if (w.len < 1 || w.len > SCENARIO_NAME_MAX)
		return false;
	for (size_t i = 0; i < w.len; i++)
		if (!name_char(w.text[i]))
			return false;
	return true;
}

static enum status parse_name(struct words *words, struct command *cmd,
			      struct problem *why)
{
	struct word w = next_word(words);

	if (!w.len)
		return problem(why, ST_WRONG, "the name is missing");
	if (!is_name(w))
		return problem(why, ST_WRONG,
			       "'%s' is not a name: 1 to %d of A-Z a-z 0-9 _ . -",
			       quote(w.text, w.len).text, SCENARIO_NAME_MAX);
	memcpy(cmd->name, w.text, w.len);
	return ST_OK;
}

static enum status parse_number(struct words *words, u64 *value,
				struct problem *why)
{
	struct word w = next_word(words);

	return scenario_number(w.text, w.len, value, why);
}

/* N or @T */
static enum status parse_ticks(struct words *words, struct command *cmd,
			       struct problem *why)
{
	struct word w = next_word(words);

	if (w.len && *w.text == '@') {
		cmd->absolute = true;
		w.text++;
		w.len--;
	}
	return scenario_number(w.text, w.len, &cmd->ticks, why);
}

static enum status parse_wheel(struct words *words, struct command *cmd,
			       struct problem *why)
{
	const struct {
		const char *key;
		bool *given;
		u64 *value;
	} options[] = {
		{ "slots=", &cmd->has_slots, &cmd->slots },
		{ "levels=", &cmd->has_levels, &cmd->levels },
	};
	struct word w = next_word(words);

	if (!w.len)
		return problem(why, ST_WRONG, "the kind is missing");
	if (!is_name(w))
		return problem(why, ST_WRONG, "unknown kind '%s'",
			       quote(w.text, w.len).text);
	memcpy(cmd->name, w.text, w.len);

	for (w = next_word(words); w.len; w = next_word(words)) {
		enum status st;
		size_t i, len = 0;

		for (i = 0; i < ARRAY_SIZE(options); i++) {
			len = strlen(options[i].key);
			if (w.len >= len && !memcmp(w.text, options[i].key, len))
				break;
		}
		if (i == ARRAY_SIZE(options))
			return problem(why, ST_WRONG, "unknown option '%s'",
				       quote(w.text, w.len).text);
		if (*options[i].given)
			return problem(why, ST_WRONG, "%s is given twice",
				       options[i].key);
		*options[i].given = true;
		st = scenario_number(w.text + len, w.len - len,
				     options[i].value, why);
		if (st)
			return st;
	}
	return ST_OK;
}

static enum status parse_arm(struct words *words, struct command *cmd,
			     struct problem *why)
{
	enum status st = parse_name(words, cmd, why);
	struct words option;

	if (!st)
		st = parse_ticks(words, cmd, why);
	option = *words;
	if (!st && word_is(next_word(&option), "every")) {
		*words = option;
		st = parse_number(words, &cmd->period, why);
		if (!st && !cmd->period)
			return problem(why, ST_WRONG,
				       "a period is at least 1 tick");
	}
	option = *words;
	if (!st && word_is(next_word(&option), "slack")) {
		*words = option;
		st = parse_number(words, &cmd->slack, why);
	}
	return st;
}

static enum status parse_start(struct words *words, struct command *cmd,
			       struct problem *why)
{
	return parse_number(words, &cmd->ticks, why);
}

static enum status parse_nothing(struct words *words, struct command *cmd,
				 struct problem *why)
{
	return ST_OK;
}

static enum status parse(struct words *words, struct command *cmd,
			 struct problem *why)
{
	static const struct {
		const char *name;
		enum scenario_op op;
		enum status (*parse)(struct words *words, struct command *cmd,
				     struct problem *why);
	} commands[] = {
		{ "wheel", OP_WHEEL, parse_wheel },
		{ "start", OP_START, parse_start },
		{ "arm", OP_ARM, parse_arm },
		{ "cancel", OP_CANCEL, parse_name },
		{ "advance", OP_ADVANCE, parse_ticks },
		{ "next", OP_NEXT, parse_nothing },
		{ "count", OP_COUNT, parse_nothing },
		{ "now", OP_NOW, parse_nothing },
		{ "show", OP_SHOW, parse_nothing },
	};
	struct word w = next_word(words);
	enum status st;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (word_is(w, commands[i].name))
			break;
	if (i == ARRAY_SIZE(commands))
		return problem(why, ST_WRONG, "unknown command '%s'",
			       quote(w.text, w.len).text);
	cmd->op = commands[i].op;
	st = commands[i].parse(words, cmd, why);
	if (st)
		return st;
	w = next_word(words);
	if (w.len)
		return problem(why, ST_WRONG, "'%s' is one word too many",
			       quote(w.text, w.len).text);
	return ST_OK;
}

enum status scenario_read(struct scenario *s, struct command *cmd, bool *more,
			  struct problem *why)
{
	for (;;) {
		struct words words, rest;
		enum status st = read_line(s, more, why);

		if (st || !*more)
			return st;
		words.pos = s->text;
		words.end = s->text + s->len;
		rest = words;
		if (!next_word(&rest).len)
			continue;
		if (words.end[-1] == '\r')
			return problem(why, ST_WRONG,
				       "the line ends with a carriage return");
		*cmd = (struct command){ .line = s->line };
		return parse(&words, cmd, why);
	}
}
