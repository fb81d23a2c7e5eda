// SPDX-License-Identifier: GPL-2.0
/*
 * What comes out of the benchmark: medians, the CSV, and the table for people.
 *
 * It knows rows, cells and samples, nothing of how they were measured. There is
 * no floating point in a kernel: times are picoseconds, bytes hundredths.
 */
#include <linux/cache.h>
#include <linux/jiffies.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "bench.h"

/* As much for each timer; and a quarter with none, a quarter with 1 %. */
static const u32 bench_slack_1[] = {
	BENCH_SLACK(10), BENCH_SLACK(10), BENCH_SLACK(10), BENCH_SLACK(10),
};

static const u32 bench_slack_12[] = {
	BENCH_SLACK(125), BENCH_SLACK(125), BENCH_SLACK(125), BENCH_SLACK(125),
};

static const u32 bench_slack_mixed[] = {
	0, BENCH_SLACK(10), BENCH_SLACK(125), BENCH_SLACK(125),
};

const struct bench_row_name bench_row_name[BENCH_NR_ROWS] = {
	[ROW_ARM]		= { BENCH_ARM, BENCH_CALL, "" },
	[ROW_ARM_BATCH]		= { BENCH_ARM, BENCH_BATCH, "" },
	[ROW_ARM_LOCKED]	= { BENCH_ARM, BENCH_LOCKED, "" },
	[ROW_CANCEL]		= { BENCH_CANCEL, BENCH_CALL, "" },
	[ROW_CANCEL_BATCH]	= { BENCH_CANCEL, BENCH_BATCH, "" },
	[ROW_CANCEL_LOCKED]	= { BENCH_CANCEL, BENCH_LOCKED, "" },
	[ROW_ARM_CANCEL]	= { BENCH_ARM_CANCEL, BENCH_CALL, "" },
	[ROW_ARM_CANCEL_LOCKED]	= { BENCH_ARM_CANCEL, BENCH_LOCKED, "" },
	[ROW_REARM_SAME]	= { BENCH_REARM_SAME, BENCH_CALL, "" },
	[ROW_REARM_LATER]	= { BENCH_REARM_LATER, BENCH_CALL, "" },
	[ROW_REARM_LATER_BATCH]	= { BENCH_REARM_LATER, BENCH_BATCH, "" },
	[ROW_REARM_LATER_LOCKED] = { BENCH_REARM_LATER, BENCH_LOCKED, "" },
	[ROW_REARM_LATER_LAZY]	= { BENCH_REARM_LATER, BENCH_LAZY, "" },
	[ROW_REARM_EARLIER]	= { BENCH_REARM_EARLIER, BENCH_CALL, "" },
	[ROW_REARM_EARLIER_BATCH] = { BENCH_REARM_EARLIER, BENCH_BATCH, "" },
	[ROW_REARM_EARLIER_LOCKED] = { BENCH_REARM_EARLIER, BENCH_LOCKED, "" },
	[ROW_SPREAD]		= { BENCH_EXPIRE_SPREAD, BENCH_CALL, "" },
	[ROW_SPREAD_BATCH]	= { BENCH_EXPIRE_SPREAD, BENCH_BATCH, "" },
	[ROW_PILEUP]		= { BENCH_EXPIRE_PILEUP, BENCH_CALL, "" },
	[ROW_PILEUP_BATCH]	= { BENCH_EXPIRE_PILEUP, BENCH_BATCH, "" },
	[ROW_EMPTY_TICK]	= { BENCH_ADVANCE_EMPTY, BENCH_CALL, "ticks=1" },
	[ROW_EMPTY_STRETCH]	= { BENCH_ADVANCE_EMPTY, BENCH_CALL,
				    "ticks=2^40" },
	[ROW_NEXT]		= { BENCH_NEXT, BENCH_CALL, "" },
	[ROW_MIXED]		= { BENCH_MIXED, BENCH_CALL, "" },
	[ROW_MIXED_BATCH]	= { BENCH_MIXED, BENCH_BATCH, "" },
	[ROW_FAR]		= { BENCH_EXPIRE_FAR, BENCH_CALL, "" },
	[ROW_ARM_SLACK_1]	= { BENCH_ARM, BENCH_CALL, "slack=1%",
				    bench_slack_1 },
	[ROW_ARM_SLACK_12]	= { BENCH_ARM, BENCH_CALL, "slack=12.5%",
				    bench_slack_12 },
	[ROW_SPREAD_SLACK_1]	= { BENCH_EXPIRE_SPREAD, BENCH_CALL, "slack=1%",
				    bench_slack_1 },
	[ROW_SPREAD_SLACK_12]	= { BENCH_EXPIRE_SPREAD, BENCH_CALL,
				    "slack=12.5%", bench_slack_12 },
	[ROW_FAR_SLACK_1]	= { BENCH_EXPIRE_FAR, BENCH_CALL, "slack=1%",
				    bench_slack_1 },
	[ROW_FAR_SLACK_12]	= { BENCH_EXPIRE_FAR, BENCH_CALL, "slack=12.5%",
				    bench_slack_12 },
	[ROW_FAR_SLACK_MIXED]	= { BENCH_EXPIRE_FAR, BENCH_CALL, "slack=mixed",
				    bench_slack_mixed },
};

const char *const bench_workload_name[BENCH_NR_WORKLOADS] = {
	[BENCH_ARM]		= "arm",
	[BENCH_CANCEL]		= "cancel",
	[BENCH_ARM_CANCEL]	= "arm_cancel",
	[BENCH_REARM_SAME]	= "rearm_same",
	[BENCH_REARM_LATER]	= "rearm_later",
	[BENCH_REARM_EARLIER]	= "rearm_earlier",
	[BENCH_EXPIRE_SPREAD]	= "expire_spread",
	[BENCH_EXPIRE_PILEUP]	= "expire_pileup",
	[BENCH_EXPIRE_FAR]	= "expire_far",
	[BENCH_ADVANCE_EMPTY]	= "advance_empty",
	[BENCH_NEXT]		= "next",
	[BENCH_MIXED]		= "mixed",
};

/* What a workload is, for a reader who has only the table. */
static const char *const bench_workload_brief[BENCH_NR_WORKLOADS] = {
	[BENCH_ARM]		= "arm n idle timers",
	[BENCH_CANCEL]		= "cancel n pending timers",
	[BENCH_ARM_CANCEL]	= "arm and cancel one timer, n others pending",
	[BENCH_REARM_SAME]	= "arm again for the same due tick",
	[BENCH_REARM_LATER]	= "move to a later slot",
	[BENCH_REARM_EARLIER]	= "move to an earlier slot",
	[BENCH_EXPIRE_SPREAD]	= "expire n timers, due over 300 ticks",
	[BENCH_EXPIRE_PILEUP]	= "expire n timers, due at one tick",
	[BENCH_EXPIRE_FAR]	= "expire n timers, due over 2^20 ticks",
	[BENCH_ADVANCE_EMPTY]	= "move the clock, n timers due beyond",
	[BENCH_NEXT]		= "ask when the wheel needs the CPU",
	[BENCH_MIXED]		= "of ten, four cancelled, five moved and cancelled, one fires",
};

const char *const bench_layout_name[BENCH_NR_LAYOUTS] = {
	[BENCH_ORDERED]		= "ordered",
	[BENCH_SCATTERED]	= "scattered",
};

const char *const bench_cache_name[BENCH_NR_CACHES] = {
	[BENCH_WARM]		= "warm",
	[BENCH_COLD]		= "cold",
};

const char *const bench_form_name[] = {
	[BENCH_CALL]		= "call",
	[BENCH_BATCH]		= "batch",
	[BENCH_LOCKED]		= "locked",
	[BENCH_LAZY]		= "lazy",
	[BENCH_NODE]		= "node",
};

static const char *const bench_status_name[] = {
	[BENCH_NONE]		= "n/a",
	[BENCH_OK]		= "ok",
	[BENCH_REFUSED]		= "refused",
	[BENCH_NA]		= "n/a",
	[BENCH_ERROR]		= "error",
};

/**
 * bench_result_init() - make room for what a plan will measure
 * @r: where
 * @plan: the plan; it must live as long
 *
 * Return: 0 or -ENOMEM.
 */
int bench_result_init(struct bench_result *r, const struct bench_plan *plan)
{
	unsigned int i;

	*r = (struct bench_result) { .plan = plan };
	r->cell = kvcalloc(bench_cells(plan), sizeof(*r->cell), GFP_KERNEL);
	r->sample = kvcalloc(bench_cells(plan),
			     plan->rounds * sizeof(*r->sample), GFP_KERNEL);
	if (!r->cell || !r->sample) {
		bench_result_free(r);
		return -ENOMEM;
	}
	for (i = 0; i < bench_cells(plan); i++)
		r->cell[i].sample = &r->sample[i * plan->rounds];
	return 0;
}

/**
 * bench_result_free() - undo bench_result_init()
 * @r: the result, which may be all zero
 */
void bench_result_free(struct bench_result *r)
{
	kvfree(r->sample);
	kvfree(r->cell);
	*r = (struct bench_result) {};
}

static int bench_compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * bench_median() - the median
 * @sample: the samples; they are sorted
 * @nr: how many, at least one
 *
 * Return: the middle one, or the mean of the two in the middle.
 */
u64 bench_median(u64 *sample, unsigned int nr)
{
	sort(sample, nr, sizeof(*sample), bench_compare, NULL);
	if (nr % 2)
		return sample[nr / 2];
	return (sample[nr / 2 - 1] + sample[nr / 2]) / 2;
}

/**
 * bench_result_close() - all is measured: get ready to report
 * @r: the result
 */
void bench_result_close(struct bench_result *r)
{
	unsigned int i;

	for (i = 0; i < bench_cells(r->plan); i++) {
		struct bench_cell *cell = &r->cell[i];

		if (cell->status == BENCH_OK)
			cell->median = bench_median(cell->sample,
						    cell->rounds);
		r->errors += cell->status == BENCH_ERROR;
	}
}

/*
 * The ratio to the plain call of timer_list in the same place, in thousandths;
 * 0 where there is none. timer_list is the first subject.
 */
static u64 bench_ratio(const struct bench_result *r,
		       const struct bench_cell *cell, unsigned int size,
		       enum bench_row row, enum bench_layout layout,
		       enum bench_cache cache)
{
	const struct bench_cell *yard;
	unsigned int i;

	for (i = 0; i < BENCH_NR_ROWS; i++)
		if (bench_row_name[i].workload == bench_row_name[row].workload &&
		    bench_row_name[i].form == BENCH_CALL)
			break;
	yard = bench_cell(r, 0, size, i, layout, cache);
	if (!yard->median)
		return 0;
	return div64_u64(cell->median * 1000 + yard->median / 2, yard->median);
}

#ifdef __x86_64__
static void bench_cpuid(u32 leaf, u32 reg[4])
{
	asm volatile("cpuid"
		     : "=a" (reg[0]), "=b" (reg[1]), "=c" (reg[2]), "=d" (reg[3])
		     : "a" (leaf), "c" (0));
}

/* The instruction itself, for UML does not say what machine it runs on. */
static const char *bench_cpu_model(char model[49])
{
	u32 reg[4];
	u32 leaf;

	bench_cpuid(0x80000000, reg);
	if (reg[0] < 0x80000004)
		return "x86-64";
	for (leaf = 0; leaf < 3; leaf++) {
		bench_cpuid(0x80000002 + leaf, reg);
		memcpy(model + leaf * sizeof(reg), reg, sizeof(reg));
	}
	model[48] = '\0';
	return strim(model);
}

static bool bench_is_guest(void)
{
	u32 reg[4];

	bench_cpuid(1, reg);
	return reg[2] & BIT(31);
}
#else
static const char *bench_cpu_model(char model[49])
{
	return init_utsname()->machine;
}

static bool bench_is_guest(void)
{
	return false;
}
#endif

/* Where it ran: a figure from one kernel says nothing of another's. */
static void bench_env(struct seq_file *m)
{
	seq_printf(m, "%s-%s",
		   IS_ENABLED(CONFIG_UML) ? "uml" :
		   bench_is_guest() ? "vm" : "host", init_utsname()->release);
}

static void bench_csv_ns(struct seq_file *m, u64 ps)
{
	u64 hundredths = div_u64(ps + 5, 10);

	seq_printf(m, "%llu.%02llu", div_u64(hundredths, 100),
		   hundredths % 100);
}

static void bench_csv_cell(struct seq_file *m, const struct bench_result *r,
			   unsigned int subject, unsigned int size,
			   enum bench_row row, enum bench_layout layout,
			   enum bench_cache cache)
{
	const struct bench_cell *cell = bench_cell(r, subject, size, row,
						   layout, cache);
	const bool ok = cell->status == BENCH_OK;
	u64 ratio = bench_ratio(r, cell, size, row, layout, cache);

	bench_env(m);
	seq_printf(m, ",%s,%s,%u,", r->plan->subject[subject].name,
		   bench_workload_name[bench_row_name[row].workload],
		   r->plan->n[size]);
	if (ok)
		bench_csv_ns(m, cell->median);
	seq_putc(m, ',');
	if (ratio)
		seq_printf(m, "%llu.%03llu", div_u64(ratio, 1000),
			   ratio % 1000);
	seq_putc(m, ',');
	if (ok && cell->bytes)
		seq_printf(m, "%llu.%02llu", div_u64(cell->bytes, 100),
			   cell->bytes % 100);
	seq_printf(m, ",%s,%s,%s,%s,%u,", bench_layout_name[layout],
		   bench_cache_name[cache],
		   bench_form_name[bench_row_name[row].form],
		   bench_row_name[row].param, cell->rounds);
	if (ok)
		bench_csv_ns(m, cell->sample[0]);
	seq_putc(m, ',');
	if (ok)
		bench_csv_ns(m, cell->sample[cell->rounds - 1]);
	seq_putc(m, ',');
	if (ok && cell->irqoff_ns)
		seq_printf(m, "%llu", cell->irqoff_ns);
	seq_printf(m, ",%s\n", bench_status_name[cell->status]);
}

/* The caller's struct, in a row of its own. */
static void bench_csv_node(struct seq_file *m, const struct bench_result *r,
			   unsigned int subject, unsigned int size)
{
	bench_env(m);
	seq_printf(m, ",%s,%s,%u,,,%zu,%s,%s,%s,,0,,,,%s\n",
		   r->plan->subject[subject].name,
		   bench_workload_name[BENCH_ARM], r->plan->n[size],
		   r->node_size[subject], bench_layout_name[BENCH_ORDERED],
		   bench_cache_name[BENCH_WARM], bench_form_name[BENCH_NODE],
		   bench_status_name[r->node_size[subject] ? BENCH_OK :
				     BENCH_REFUSED]);
}

/**
 * bench_csv_lines() - how many lines bench_csv_line() knows
 * @r: the result
 *
 * Return: their number; some of them are empty.
 */
unsigned int bench_csv_lines(const struct bench_result *r)
{
	return 1 + bench_cells(r->plan) + r->plan->subjects * r->plan->sizes;
}

/**
 * bench_csv_line() - print a line of the CSV
 * @m: where
 * @r: the result
 * @line: which; 0 is the header
 */
void bench_csv_line(struct seq_file *m, const struct bench_result *r,
		    unsigned int line)
{
	unsigned int subject, size, row, layout, cache;

	if (!line) {
		seq_puts(m, "env,subject,workload,n,ns_per_op,ratio_to_timer_list,bytes_per_timer,layout,cache,form,param,rounds,min,max,irqoff_max_ns,status\n");
		return;
	}
	line--;
	if (line >= bench_cells(r->plan)) {
		line -= bench_cells(r->plan);
		bench_csv_node(m, r, line / r->plan->sizes,
			       line % r->plan->sizes);
		return;
	}
	/* A workload's lines together, one subject after the other. */
	cache = line % BENCH_NR_CACHES;
	line /= BENCH_NR_CACHES;
	layout = line % BENCH_NR_LAYOUTS;
	line /= BENCH_NR_LAYOUTS;
	size = line % r->plan->sizes;
	line /= r->plan->sizes;
	subject = line % r->plan->subjects;
	row = line / r->plan->subjects;
	if (bench_in_plan(r->plan, r->plan->n[size], row, layout, cache))
		bench_csv_cell(m, r, subject, size, row, layout, cache);
}

/* Which stride, and who could not keep to it. */
static void bench_table_strides(struct seq_file *m,
				const struct bench_result *r)
{
	unsigned int usual = bench_shift(r->node_size[0]), shift, i;

	seq_printf(m, "memory   a timer every %u bytes", 1 << usual);
	for (i = 1; i < r->plan->subjects; i++) {
		shift = bench_shift(r->node_size[i]);
		if (r->node_size[i] && shift != usual)
			seq_printf(m, ", of %s every %u",
				   r->plan->subject[i].name, 1 << shift);
	}
	seq_putc(m, '\n');
}

/* What a read costs, for each number of timers. */
static void bench_table_reads(struct seq_file *m, const struct bench_result *r,
			      enum bench_cache cache)
{
	unsigned int size;

	seq_puts(m, bench_cache_name[cache]);
	for (size = 0; size < r->plan->sizes; size++)
		seq_printf(m, "%s%llu", size ? "/" : " ",
			   div_u64(r->read_ps[size][cache] + 500, 1000));
	seq_puts(m, " ns");
}

/* That says how cold, and how far the caches reach. */
static void bench_table_cold(struct seq_file *m, const struct bench_result *r)
{
	seq_printf(m, "cold     after walks through %zu MB; a read that waits for the one before it, scattered:\n         ",
		   r->plan->evict_bytes >> 20);
	bench_table_reads(m, r, BENCH_COLD);
	seq_puts(m, ", ");
	bench_table_reads(m, r, BENCH_WARM);
	seq_puts(m, ", for each n from the smallest on\n");
}

static void bench_table_intro(struct seq_file *m, const struct bench_result *r)
{
	const struct bench_plan *plan = r->plan;
	char model[49];

	seq_puts(m, "Cogwheel benchmark: ns per operation, and the ratio to timer_list in the same row\n");
	seq_puts(m, "machine  ");
	bench_env(m);
	seq_printf(m, ", %s, HZ %d, %u CPU%s online\n", bench_cpu_model(model),
		   HZ, num_online_cpus(), num_online_cpus() == 1 ? "" : "s");
	seq_printf(m, "rounds   %u, %u for what waits for jiffies; median shown; spread is (max-min)/median, the\n         worst in the line; took %u s\n",
		   plan->rounds, plan->windows, r->seconds);
	bench_table_strides(m, r);
	bench_table_cold(m, r);
	seq_printf(m, "lock     %llu.%llu ns to take one, interrupts off, and to drop it, as each plain call does\n",
		   div_u64(r->lock_ps, 1000), r->lock_ps % 1000 / 100);
	seq_printf(m, "refused  more than %u ms for one measurement, or more timers than the kind can hold\n",
		   plan->budget_ms);
	if (r->lost)
		seq_printf(m, "BUSY     the host had the CPU for %u%% of the time: taken off, but caches suffered\n",
			   r->lost);
	if (r->crossing)
		seq_puts(m, "NOTE     delays crossed a power of 64 that is high for them: kinds placed by digits had\n         their far timers in one slot, and cancelling or moving them was cheaper\n");
	if (r->errors)
		seq_printf(m, "ERROR    %u rows did not do the work they should: see the kernel's log\n",
			   r->errors);
	seq_putc(m, '\n');
}

static void bench_table_cell(struct seq_file *m, const struct bench_result *r,
			     const struct bench_cell *cell, u64 ratio)
{
	u64 ps;

	switch (cell->status) {
	case BENCH_OK:
		ps = cell->median;
		if (ps < 100000)
			seq_printf(m, "%6llu.%llu", div_u64(ps + 50, 1000),
				   div_u64(ps + 50, 100) % 10);
		else
			seq_printf(m, "%8llu", div_u64(ps + 500, 1000));
		if (!ratio)
			seq_puts(m, "       ");
		else if (ratio < 99995)
			seq_printf(m, " %3llu.%02llu", div_u64(ratio + 5, 1000),
				   div_u64(ratio + 5, 10) % 100);
		else
			seq_printf(m, " %6llu", div_u64(ratio + 500, 1000));
		break;
	case BENCH_ERROR:
		seq_puts(m, "   ERROR       ");
		break;
	case BENCH_REFUSED:
		seq_puts(m, " refused       ");
		break;
	default:
		seq_puts(m, "       -       ");
	}
}

static bool bench_table_has(const struct bench_result *r, unsigned int subject,
			    enum bench_row row, enum bench_layout layout,
			    enum bench_cache cache)
{
	unsigned int size;

	for (size = 0; size < r->plan->sizes; size++)
		if (bench_in_plan(r->plan, r->plan->n[size], row, layout,
				  cache) &&
		    bench_cell(r, subject, size, row, layout, cache)->status !=
		    BENCH_NA)
			return true;
	return false;
}

/* How a row differs from the plain call, for a reader who has only the table. */
static const char *bench_form_brief(const struct bench_row_name *name)
{
	switch (name->form) {
	case BENCH_BATCH:
		if (name->workload == BENCH_EXPIRE_SPREAD ||
		    name->workload == BENCH_EXPIRE_PILEUP ||
		    name->workload == BENCH_MIXED)
			return ", handed over in batches";
		return ", many by one call";
	case BENCH_LOCKED:
		return ", 64 for one hold of the lock";
	case BENCH_LAZY:
		return ", by a store";
	default:
		return "";
	}
}

static void bench_table_head(struct seq_file *m, const struct bench_result *r,
			     enum bench_row row, enum bench_layout layout,
			     enum bench_cache cache)
{
	const struct bench_row_name *name = &bench_row_name[row];
	unsigned int size;

	if (layout == BENCH_ORDERED && cache == BENCH_WARM)
		seq_printf(m, "%s%s: %s%s%s\n", bench_workload_name[name->workload],
			   bench_form_brief(name),
			   bench_workload_brief[name->workload],
			   *name->param ? ", " : "", name->param);
	seq_printf(m, "  %-9s %-4s", bench_layout_name[layout],
		   bench_cache_name[cache]);
	for (size = 0; size < r->plan->sizes; size++)
		seq_printf(m, "%8u%-6s", r->plan->n[size], "");
	seq_puts(m, " spread\n");
}

static void bench_table_subject(struct seq_file *m,
				const struct bench_result *r,
				unsigned int subject, enum bench_row row,
				enum bench_layout layout,
				enum bench_cache cache)
{
	unsigned int size, spread = 0;
	bool any = false;

	seq_printf(m, "  %-14s", r->plan->subject[subject].name);
	for (size = 0; size < r->plan->sizes; size++) {
		const struct bench_cell *cell = bench_cell(r, subject, size,
							   row, layout, cache);

		bench_table_cell(m, r, cell,
				 bench_ratio(r, cell, size, row, layout,
					     cache));
		if (!cell->median)
			continue;
		any = true;
		spread = max_t(u64, spread,
			       div64_u64((cell->sample[cell->rounds - 1] -
					  cell->sample[0]) * 100,
				       cell->median));
	}
	if (any)
		seq_printf(m, "%5u%%", spread);
	seq_putc(m, '\n');
}

/* What expiry did: it cannot be told apart by the state of the caches. */
static const struct bench_count *
bench_counted(const struct bench_result *r, unsigned int subject,
	      unsigned int size, enum bench_row row, enum bench_layout layout)
{
	const struct bench_cell *cell;
	unsigned int cache;

	for (cache = 0; cache < BENCH_NR_CACHES; cache++) {
		cell = bench_cell(r, subject, size, row, layout, cache);
		if (cell->status == BENCH_OK && cell->count.fired)
			return &cell->count;
	}
	return NULL;
}

/* With so many decimals. */
static void bench_fraction(struct seq_file *m, u64 dividend, u64 divisor,
			   unsigned int decimals)
{
	u64 one = int_pow(10, decimals);
	u64 value = div64_u64(dividend * one + divisor / 2, divisor);

	seq_printf(m, "%llu.%0*llu", div64_u64(value, one), decimals,
		   value % one);
}

/**
 * bench_counts_lines() - how many lines bench_counts_line() knows
 * @r: the result
 *
 * Return: their number; some of them are empty.
 */
unsigned int bench_counts_lines(const struct bench_result *r)
{
	return 1 + r->plan->subjects * r->plan->sizes * BENCH_NR_ROWS *
	       BENCH_NR_LAYOUTS;
}

/**
 * bench_counts_line() - print a line of the CSV of what was counted
 * @m: where
 * @r: the result
 * @line: which; 0 is the header
 */
void bench_counts_line(struct seq_file *m, const struct bench_result *r,
		       unsigned int line)
{
	const struct bench_row_name *name;
	const struct bench_count *count;
	unsigned int subject, size, row, layout;

	if (!line) {
		seq_puts(m, "env,subject,workload,n,layout,form,param,fired,moved_per_timer,slots_touched,late_mean_ticks,late_max_ticks,late_mean_percent,late_max_percent\n");
		return;
	}
	line--;
	layout = line % BENCH_NR_LAYOUTS;
	line /= BENCH_NR_LAYOUTS;
	size = line % r->plan->sizes;
	line /= r->plan->sizes;
	subject = line % r->plan->subjects;
	row = line / r->plan->subjects;
	name = &bench_row_name[row];
	count = bench_counted(r, subject, size, row, layout);
	if (!count)
		return;
	bench_env(m);
	seq_printf(m, ",%s,%s,%u,%s,%s,%s,%llu,",
		   r->plan->subject[subject].name,
		   bench_workload_name[name->workload], r->plan->n[size],
		   bench_layout_name[layout], bench_form_name[name->form],
		   name->param, count->fired);
	bench_fraction(m, count->moved, count->timers, 3);
	seq_printf(m, ",%llu,", count->touched);
	bench_fraction(m, count->late, count->fired, 2);
	seq_printf(m, ",%llu,", count->late_max);
	bench_fraction(m, count->part, count->fired * (BENCH_PARTS / 100), 3);
	seq_putc(m, ',');
	bench_fraction(m, count->part_max, BENCH_PARTS / 100, 3);
	seq_putc(m, '\n');
}

static void bench_percent(struct seq_file *m, u64 parts)
{
	u64 hundredths = div_u64(parts, BENCH_PARTS / 10000);

	seq_printf(m, " %5llu.%02llu", div_u64(hundredths, 100),
		   hundredths % 100);
}

/* Cascades and lateness, of the largest n that there is; 0 is the heading. */
static void bench_table_count(struct seq_file *m, const struct bench_result *r,
			      unsigned int line)
{
	const struct bench_row_name *name;
	const struct bench_count *count = NULL;
	unsigned int subject, row, size = r->plan->sizes;

	if (!line) {
		seq_puts(m, "What expiry did, timers in memory order: moves of a timer by the passing of time, lateness in\n");
		seq_puts(m, "ticks and in percent of the delay\n");
		seq_printf(m, "  %-14s %-13s %-11s %8s %8s %10s %8s %8s %8s\n",
			   "", "", "", "n", "moves", "late: mean", "most",
			   "mean %", "most %");
		return;
	}
	line--;
	subject = line % r->plan->subjects;
	row = line / r->plan->subjects;
	name = &bench_row_name[row];
	if (name->form != BENCH_CALL ||
	    (name->workload != BENCH_EXPIRE_FAR &&
	     name->workload != BENCH_EXPIRE_SPREAD))
		return;
	while (!count && size--)
		count = bench_counted(r, subject, size, row, BENCH_ORDERED);
	if (!count)
		return;
	seq_printf(m, "  %-14s %-13s %-11s %8u %4llu.%03llu",
		   r->plan->subject[subject].name,
		   bench_workload_name[name->workload], name->param,
		   r->plan->n[size], div64_u64(count->moved, count->timers),
		   div64_u64(count->moved * 1000, count->timers) % 1000);
	seq_printf(m, " %8llu.%llu %8llu",
		   div64_u64(count->late, count->fired),
		   div64_u64(count->late * 10, count->fired) % 10,
		   count->late_max);
	bench_percent(m, div64_u64(count->part, count->fired));
	bench_percent(m, count->part_max);
	seq_putc(m, '\n');
}

/* Pieces of the table that are about time. */
static unsigned int bench_table_rows(const struct bench_result *r)
{
	return 1 + BENCH_NR_ROWS * BENCH_NR_LAYOUTS * BENCH_NR_CACHES *
	       (r->plan->subjects + 2);
}

/**
 * bench_table_lines() - how many pieces bench_table_line() knows
 * @r: the result
 *
 * Return: their number; some of them are empty.
 */
unsigned int bench_table_lines(const struct bench_result *r)
{
	return bench_table_rows(r) + r->plan->subjects * BENCH_NR_ROWS + 1;
}

/**
 * bench_table_line() - print a piece of the table for people
 * @m: where
 * @r: the result
 * @line: which; 0 is the introduction
 */
void bench_table_line(struct seq_file *m, const struct bench_result *r,
		      unsigned int line)
{
	unsigned int subject, row, layout, cache, i;
	bool any = false;

	if (!line) {
		bench_table_intro(m, r);
		return;
	}
	if (line >= bench_table_rows(r)) {
		bench_table_count(m, r, line - bench_table_rows(r));
		return;
	}
	line--;
	subject = line % (r->plan->subjects + 2);
	line /= r->plan->subjects + 2;
	cache = line % BENCH_NR_CACHES;
	line /= BENCH_NR_CACHES;
	layout = line % BENCH_NR_LAYOUTS;
	row = line / BENCH_NR_LAYOUTS;
	for (i = 0; i < r->plan->subjects; i++)
		any |= bench_table_has(r, i, row, layout, cache);
	if (!any)
		return;
	if (!subject)
		bench_table_head(m, r, row, layout, cache);
	else if (subject == r->plan->subjects + 1)
		seq_putc(m, '\n');
	else if (bench_table_has(r, subject - 1, row, layout, cache))
		bench_table_subject(m, r, subject - 1, row, layout, cache);
}
