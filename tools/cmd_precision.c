// SPDX-License-Identifier: GPL-2.0
/*
 * cogctl precision: plots lateness against delay. The fires are either those
 * that cogwheel_precision.ko measured in a kernel, or computed by arming timers
 * in wheels of this process; which of the two, it says first.
 *
 * Knows the CSV of that module, and nothing of what its subjects are, but that
 * one is timer_list and another follows its rule.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/kernel.h>

#include "commands.h"
#include "probe.h"

#define HEADER		"subject,range,per_second,armed,due,fired"
#define REAL		"timer_list"
#define TWIN		"noncascading"
#define EXACT		"cascading"

#define SERIES_MAX	26
#define COLUMNS		64	/* of the plot in the terminal */
#define LINES		18
#define FINE		400	/* points that an SVG tells apart, each way */

/* What is less, in s, is how long it took to read the clock. */
#define ON_TIME		0.000001

/* Computed: delays between two powers of 2, and the phases of each. */
#define PER_OCTAVE	8
#define PHASES		16

struct point {
	double delay;	/* s */
	double late;	/* s, less than 0 for early */
};

struct series {
	char name[48];
	struct point *point;
	size_t nr;
	size_t size;
};

struct data {
	char origin[160];
	struct series series[SERIES_MAX];
	unsigned int nr;
	/* of the rule's rows, those that fired where timer_list did */
	u64 same;
	u64 pairs;
	/* of timer_list's, those that fired where cogctl when says */
	u64 foretold;
	u64 real;
};

struct fired {
	const char *subject;
	const char *range;
	u64 per_second;
	u64 armed;
	u64 due;
	u64 tick;
};

static enum status out_of_memory(void)
{
	return complain(ST_FAILED, "%s", strerror(ENOMEM));
}

static double seconds(u64 from, u64 to, u64 per_second)
{
	double n = to >= from ? (double)(to - from) : -(double)(from - to);

	return n / (double)per_second;
}

static enum status add(struct data *data, const struct fired *f)
{
	struct series *s;
	char name[sizeof(s->name)];
	unsigned int i;

	if (!strcmp(f->range, "-"))
		snprintf(name, sizeof(name), "%s", f->subject);
	else
		snprintf(name, sizeof(name), "%s +%s", f->subject, f->range);
	for (i = 0; i < data->nr; i++)
		if (!strcmp(data->series[i].name, name))
			break;
	if (i == SERIES_MAX)
		return complain(ST_WRONG, "more than %d subjects", SERIES_MAX);
	s = &data->series[i];
	if (i == data->nr) {
		data->nr++;
		memcpy(s->name, name, sizeof(name));
	}
	if (s->nr == s->size) {
		size_t size = s->size ? 2 * s->size : 1024;
		struct point *point;

		point = reallocarray(s->point, size, sizeof(*point));
		if (!point)
			return out_of_memory();
		s->point = point;
		s->size = size;
	}
	s->point[s->nr++] = (struct point){
		.delay = seconds(f->armed, f->due, f->per_second),
		.late = seconds(f->due, f->tick, f->per_second),
	};
	return ST_OK;
}

/* ---- measured ---- */

/* Splits a row in place, and says what is wrong with it. */
static const char *parse(char *row, struct fired *f)
{
	u64 *number[] = { &f->per_second, &f->armed, &f->due, &f->tick };
	struct problem why;
	char *field[6];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(field); i++) {
		field[i] = strsep(&row, ",");
		if (!field[i] || !*field[i])
			return "fewer than six fields";
	}
	if (row)
		return "more than six fields";
	f->subject = field[0];
	f->range = field[1];
	for (i = 0; i < ARRAY_SIZE(number); i++)
		if (scenario_number(field[2 + i], strlen(field[2 + i]),
				    number[i], &why))
			return "not a number";
	if (!f->per_second || f->per_second > HZ_MAX)
		return "per_second is out of range";
	if (f->due < f->armed)
		return "due before it was armed";
	return NULL;
}

/* Holds timer_list against its rule: in the next row, and computed here. */
static enum status hold_against(struct data *data, const struct fired *f)
{
	static struct fired last;
	struct answer a;
	struct probe p;
	enum status st;

	if (!strcmp(f->subject, TWIN) && last.tick && last.armed == f->armed &&
	    last.due == f->due) {
		data->pairs++;
		data->same += f->tick == last.tick;
	}
	if (strcmp(f->subject, REAL))
		return ST_OK;
	last = *f;
	st = probe_set_up(&p, wheel_kind_by_name(TWIN), f->per_second, f->armed);
	if (!st)
		st = probe_ask(&p, f->due, &a);
	data->real++;
	data->foretold += !st && a.fires && a.tick == f->tick;
	return st;
}

static enum status read_rows(FILE *in, const char *file, struct data *data)
{
	enum status st = ST_OK;
	bool header = false;
	char *row = NULL;
	size_t size = 0;
	u64 line = 0;
	ssize_t len;

	while (!st && (len = getline(&row, &size, in)) > 0) {
		const char *wrong = NULL;
		struct problem why;
		struct fired f;

		line++;
		if (row[len - 1] == '\n')
			row[len - 1] = '\0';
		if (row[0] == '#') {
			snprintf(data->origin, sizeof(data->origin),
				 "measured:%s", row + 1);
			continue;
		}
		if (!header) {
			header = true;
			if (strcmp(row, HEADER))
				wrong = "the first line is not " HEADER;
		} else {
			wrong = parse(row, &f);
			if (!wrong)
				st = add(data, &f);
			if (!wrong && !st)
				st = hold_against(data, &f);
		}
		if (wrong) {
			problem(&why, ST_WRONG, "%s", wrong);
			st = complain_line(file, line, &why);
		}
	}
	if (!st && ferror(in))
		st = complain(ST_FAILED, "%s: %s", file, strerror(errno));
	if (!st && !data->nr)
		st = complain(ST_WRONG, "%s: no rows", file);
	free(row);
	return st;
}

static enum status measured(const char *file, struct data *data)
{
	bool standard = !strcmp(file, "-");
	FILE *in = standard ? stdin : fopen(file, "re");
	enum status st;

	if (!in)
		return complain(ST_FAILED, "%s: %s", file, strerror(errno));
	snprintf(data->origin, sizeof(data->origin), "measured");
	st = read_rows(in, file, data);
	if (!standard)
		fclose(in);
	return st;
}

/* ---- computed ---- */

static enum status compute(struct data *data, u64 hz)
{
	static const char * const kinds[] = { EXACT, TWIN };
	enum status st = ST_OK;
	/* What timer_list does not clamp: see cogctl table. */
	u64 end = 63ULL << (3 * (hz > 100 ? 8 : 7));
	u64 rnd = 1;

	snprintf(data->origin, sizeof(data->origin),
		 "computed, not measured: HZ %llu (make precision measures)", hz);
	for (u64 octave = 1; octave < end; octave *= 2)
		for (u64 i = 0; i < PER_OCTAVE * PHASES; i++) {
			u64 delay = octave + octave * (i / PHASES) / PER_OCTAVE;
			u64 now;

			if (delay > end)
				break;
			rnd = rnd * 6364136223846793005ULL + 1442695040888963407ULL;
			now = rnd >> 24;
			for (size_t k = 0; k < ARRAY_SIZE(kinds) && !st; k++) {
				struct answer a;
				struct probe p;

				st = probe_set_up(&p, wheel_kind_by_name(kinds[k]),
						  hz, now);
				if (!st)
					st = probe_ask(&p, now + delay, &a);
				if (!st)
					st = add(data, &(struct fired) {
						kinds[k], "-", hz, now,
						now + delay, a.tick });
			}
			if (st)
				return st;
		}
	return ST_OK;
}

/* ---- what both plots share ---- */

/* Bounds of what is drawn, as powers of ten; less than @low is drawn as none. */
struct bounds {
	double left, right;
	double low, high;
};

static struct bounds find_bounds(const struct data *data)
{
	double first = INFINITY, last = 0, least = INFINITY, most = 0;

	for (unsigned int i = 0; i < data->nr; i++) {
		const struct series *s = &data->series[i];

		for (size_t k = 0; k < s->nr; k++) {
			const struct point *p = &s->point[k];

			if (p->delay > 0) {
				first = fmin(first, p->delay);
				last = fmax(last, p->delay);
			}
			if (p->late > 0) {
				least = fmin(least, p->late);
				most = fmax(most, p->late);
			}
		}
	}
	first = fmin(first, fmax(last, ON_TIME));
	last = fmax(last, first);
	most = fmax(most, ON_TIME);
	least = fmin(fmax(least, ON_TIME), most);
	return (struct bounds){ log10(first), log10(last), log10(least),
				log10(most) };
}

static size_t cell(double value, double from, double to, size_t cells)
{
	double at = (log10(value) - from) / (to - from) * (double)cells;

	if (!(to > from) || at < 0)
		return 0;
	return at < (double)cells ? (size_t)at : cells - 1;
}

/* The cell of a point, of which row 0 is for no lateness at all. */
static bool place(const struct bounds *b, const struct point *p, size_t columns,
		  size_t rows, size_t *x, size_t *y)
{
	if (p->delay <= 0)
		return false;
	*x = cell(p->delay, b->left, b->right, columns);
	*y = 0;
	if (p->late > 0 && log10(p->late) >= b->low)
		*y = 1 + cell(p->late, b->low, b->high, rows - 1);
	return true;
}

/* ---- in the terminal ---- */

/* A time to be read, in no more than 8 characters. */
static const char *human(double s, char text[16])
{
	static const struct {
		double from;
		const char *unit;
	} units[] = {
		{ 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" },
		{ 0.001, "ms" }, { 0.000001, "us" }, { 0.000000001, "ns" },
	};
	size_t i;

	if (s == 0)
		return "0";
	for (i = 0; i < ARRAY_SIZE(units) - 1; i++)
		if (fabs(s) >= units[i].from)
			break;
	snprintf(text, 16, "%.3g %s", s / units[i].from, units[i].unit);
	return text;
}

static void print_table(const struct data *data)
{
	printf("  %-16s %8s %8s %8s %10s %12s %12s\n", "", "fires", "early",
	       "late", "latest by", "% of delay", "at the most");
	for (unsigned int i = 0; i < data->nr; i++) {
		const struct series *s = &data->series[i];
		size_t early = 0, late = 0;
		double latest = 0, sum = 0, worst = 0;
		char text[16];

		for (size_t k = 0; k < s->nr; k++) {
			const struct point *p = &s->point[k];

			early += p->late < 0;
			late += p->late >= ON_TIME;
			latest = fmax(latest, p->late);
			if (p->delay <= 0 || p->late < ON_TIME)
				continue;
			sum += 100 * p->late / p->delay;
			worst = fmax(worst, 100 * p->late / p->delay);
		}
		printf("%c %-16s %8zu %8zu %8zu %10s %12.3g %12.3g\n", 'a' + i,
		       s->name, s->nr, early, late,
		       latest < ON_TIME ? "0" : human(latest, text),
		       sum / (double)s->nr, worst);
	}
}

static void print_plot(const struct data *data)
{
	char grid[LINES][COLUMNS + 1];
	struct bounds b = find_bounds(data);
	char text[16];
	size_t x, y;

	for (y = 0; y < LINES; y++) {
		memset(grid[y], ' ', COLUMNS);
		grid[y][COLUMNS] = '\0';
	}
	for (unsigned int i = 0; i < data->nr; i++) {
		const struct series *s = &data->series[i];
		char mark = (char)('a' + i);

		for (size_t k = 0; k < s->nr; k++) {
			if (!place(&b, &s->point[k], COLUMNS, LINES, &x, &y))
				continue;
			if (grid[y][x] == ' ')
				grid[y][x] = mark;
			else if (grid[y][x] != mark)
				grid[y][x] = '#';
		}
	}
	printf("\nlateness (up) against delay, both logarithmic; # is more than one\n\n");
	for (y = LINES; y-- > 0;) {
		double step = (b.high - b.low) / (LINES - 1);
		const char *label = "";

		if (!y)
			label = "none";
		else if (y % 4 == 1 || y == LINES - 1)
			label = human(pow(10, b.low + step * (double)(y - 1)),
				      text);
		for (x = COLUMNS; x > 0 && grid[y][x - 1] == ' '; x--)
			grid[y][x - 1] = '\0';
		printf("%10s |%s\n", label, grid[y]);
	}
	printf("%10s +", "");
	for (x = 0; x < COLUMNS; x++)
		putchar(x % 16 ? '-' : '+');
	printf("\n%10s ", "delay");
	for (x = 0; x < COLUMNS; x += 16)
		printf(" %-15s", human(pow(10, b.left + (b.right - b.left) *
					       (double)x / COLUMNS), text));
	putchar('\n');
}

/* ---- SVG ---- */

/* In gnuplot's single quotes, where only these are doubled. */
static void put_quoted(FILE *out, const char *text)
{
	putc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			putc('\'', out);
		putc(*text, out);
	}
	putc('\'', out);
}

/* A series, thinned out to what can be told apart. */
static enum status put_points(FILE *out, const struct series *s,
			      const struct bounds *b, double none)
{
	bool *seen = calloc(FINE * FINE, sizeof(*seen));
	size_t x, y;

	if (!seen)
		return out_of_memory();
	for (size_t k = 0; k < s->nr; k++) {
		const struct point *p = &s->point[k];

		if (!place(b, p, FINE, FINE, &x, &y) || seen[y * FINE + x])
			continue;
		seen[y * FINE + x] = true;
		fprintf(out, "%.9g %.9g\n", p->delay, y ? p->late : none);
	}
	free(seen);
	return ST_OK;
}

static enum status put_script(FILE *out, const struct data *data,
			      const char *svg)
{
	struct bounds b = find_bounds(data);
	double none = pow(10, floor(b.low) - 1);
	enum status st = ST_OK;

	fputs("set terminal svg size 1000,640 dynamic background 'white'\n", out);
	fputs("set output ", out);
	put_quoted(out, svg);
	fputs("\nset title ", out);
	put_quoted(out, data->origin);
	fputs(" noenhanced\nset logscale xy\nset grid\n"
	      "set key left top noenhanced\n"
	      "set xlabel 'delay [s]'\nset ylabel 'late by [s]'\n"
	      "set format xy '10^{%L}'\n", out);
	fprintf(out, "set ytics add ('none' %g)\nset yrange [%g:]\n", none,
		none / 2);
	for (unsigned int i = 0; i < data->nr && !st; i++) {
		fprintf(out, "$s%u << END\n", i);
		st = put_points(out, &data->series[i], &b, none);
		fputs("END\n", out);
	}
	for (unsigned int i = 0; i < data->nr; i++) {
		fprintf(out, "%s $s%u using 1:2 with points pointtype %u pointsize 0.4 title ",
			i ? "," : "plot", i, i + 1);
		put_quoted(out, data->series[i].name);
	}
	putc('\n', out);
	return st;
}

static enum status write_svg(const struct data *data, const char *svg)
{
	enum status st;
	FILE *gnuplot;
	int ended;

	fflush(stdout);
	/* A program that is not there would end this one with a signal. */
	signal(SIGPIPE, SIG_IGN);
	gnuplot = popen("gnuplot", "we");
	if (!gnuplot)
		return complain(ST_FAILED, "gnuplot: %s", strerror(errno));
	st = put_script(gnuplot, data, svg);
	ended = pclose(gnuplot);
	signal(SIGPIPE, SIG_DFL);
	if (!st && ended)
		st = complain(ST_FAILED, "%s: gnuplot failed; is it installed?",
			      svg);
	return st;
}

enum status cmd_precision(char **args)
{
	const char *svg = NULL, *file = NULL;
	struct data data = { .nr = 0 };
	u64 hz = HZ_DEFAULT;
	bool hz_given = false;
	enum status st;

	for (; *args; args++) {
		if (!strcmp(*args, "--hz")) {
			st = hz_arg(*++args, &hz);
			if (st)
				return st;
			hz_given = true;
		} else if (!strcmp(*args, "--svg")) {
			svg = *++args;
		} else if (**args == '-' && (*args)[1]) {
			return usage("precision: unknown option ", *args);
		} else if (file) {
			return usage("precision: one file only, not also ",
				     *args);
		} else {
			file = *args;
		}
		if (!*args)
			return usage("precision: --svg which file?", "");
	}
	if (file && hz_given)
		return usage("precision: the file says what HZ is, not --hz", "");

	st = file ? measured(file, &data) : compute(&data, hz);
	if (!st) {
		printf("%s\n\n", data.origin);
		print_table(&data);
		print_plot(&data);
		if (data.pairs)
			printf("\n" TWIN " fired at the jiffy of " REAL
			       ": %llu of %llu\n", data.same, data.pairs);
		if (data.real)
			printf(REAL " fired when cogctl when says: %llu of %llu\n",
			       data.foretold, data.real);
	}
	if (!st && svg)
		st = write_svg(&data, svg);
	for (unsigned int i = 0; i < data.nr; i++)
		free(data.series[i].point);
	return st;
}
