// SPDX-License-Identifier: GPL-2.0
/*
 * cogwheel_bench.ko: what a timer costs, on this machine.
 *
 * Loading it starts a run (unless autorun=0); a write to `run` starts another.
 * A thread that stays on one CPU does the work. In debugfs, cogwheel_bench/:
 *
 *	status		what it is doing
 *	results		the CSV		       }
 *	counts		cascades and lateness  } reading them waits for a run to end
 *	table		for people	       }
 *	run		written to: measure again
 *
 * It knows nothing of what is measured.
 */
#define pr_fmt(fmt) "cogwheel_bench: " fmt

#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>

#include "../wheels/kinds.h"
#include "bench.h"

#define BENCH_SHORT_ROUNDS	3
#define BENCH_ROUNDS		5
/* Rounds of what waits for jiffies, 3 s each at HZ 100. */
#define BENCH_WINDOWS		3
#define BENCH_SHORT_WINDOWS	1
#define BENCH_SHORT_MAX_N	100000

static bool brief;
module_param_named(short, brief, bool, 0444);
MODULE_PARM_DESC(short, "n = 1000 and 100000 only, fewer rounds: seconds, not minutes");

static bool ordered;
module_param(ordered, bool, 0444);
MODULE_PARM_DESC(ordered, "only timers in memory order and warm caches, for a great n");

static unsigned int max_n = 1000000;
module_param(max_n, uint, 0444);
MODULE_PARM_DESC(max_n, "largest number of timers, a power of ten from 100 to 10000000");

static unsigned int min_n = BENCH_MIN_N;
module_param(min_n, uint, 0444);
MODULE_PARM_DESC(min_n, "smallest, a power of ten from 100 to max_n");

static unsigned int rounds;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "how often each row is measured, 1 to 25 (5; short form 3)");

static char *kinds = "all";
module_param(kinds, charp, 0444);
MODULE_PARM_DESC(kinds, "comma-separated kinds to measure, or `all'");

static int cpu = -1;
module_param(cpu, int, 0444);
MODULE_PARM_DESC(cpu, "CPU to measure on, -1 for the one that loads the module");

static unsigned int budget_ms = 4000;
module_param(budget_ms, uint, 0444);
MODULE_PARM_DESC(budget_ms, "longest for one measurement in ms, 10 to 8000; what is slower is refused");

static unsigned int evict_mb = 64;
module_param(evict_mb, uint, 0444);
MODULE_PARM_DESC(evict_mb, "MB to walk through to make caches cold, 1 to 4096; twice the cache");

static int control = -1;
module_param(control, int, 0444);
MODULE_PARM_DESC(control, "measure timer_list twice, the other time so many ns slower, 0 to 10000");

static bool with_floor;
module_param_named(floor, with_floor, bool, 0444);
MODULE_PARM_DESC(floor, "measure a lock and a list beside them, and nothing else (N)");

static bool autorun = true;
module_param(autorun, bool, 0444);
MODULE_PARM_DESC(autorun, "start a run as the module is loaded (Y)");

struct bench_rate bench_rate;
struct bench_lost bench_lost;
u64 bench_control;

enum bench_state { BENCH_IDLE, BENCH_BUSY, BENCH_DONE };

static DEFINE_MUTEX(bench_lock);	/* all below, but for the progress */
static DECLARE_WAIT_QUEUE_HEAD(bench_wait);
static enum bench_state bench_state;
static int bench_error;
static struct bench_plan bench_plan;
static struct bench_result bench_result;
static struct task_struct *bench_thread;
static struct dentry *bench_dir;

static struct {
	unsigned int round;
	unsigned int n;
	const char *layout;
	const char *cache;
	const char *subject;
} bench_now;

bool bench_stopped(void)
{
	return kthread_should_stop();
}

/* Written and read as it comes: it is for a person who waits. */
void bench_progress(unsigned int round, unsigned int n, const char *layout,
		    const char *cache, const char *subject)
{
	WRITE_ONCE(bench_now.round, round);
	WRITE_ONCE(bench_now.n, n);
	WRITE_ONCE(bench_now.layout, layout);
	WRITE_ONCE(bench_now.cache, cache);
	WRITE_ONCE(bench_now.subject, subject);
}

/**
 * bench_clock_calibrate() - find out what the clock's units are worth
 *
 * Return: 0, or -ENODEV if the clock stands still or is too slow to be of use.
 */
int bench_clock_calibrate(void)
{
	u64 ns, units, begin, ns_begin, least = U64_MAX;
	unsigned int i;

	/* What one reading costs, disturbances left out. */
	for (i = 0; i < 1000; i++) {
		begin = bench_clock();
		least = min(least, bench_clock() - begin);
	}
	ns_begin = ktime_get_ns();
	begin = bench_clock();
	do {
		cpu_relax();
		ns = ktime_get_ns() - ns_begin;
		units = bench_clock() - begin;
	} while (ns < 50 * NSEC_PER_MSEC);
	if (!units || units < ns / 4)
		return -ENODEV;
	bench_rate.mult = div64_u64((ns * 1000) << BENCH_SHIFT, units);
	bench_rate.overhead = least;
	bench_lost = (struct bench_lost) {};
	/* It reads the clock twice at least. */
	bench_control = div64_u64((u64)max(control, 0) * 1000 << BENCH_SHIFT,
				  bench_rate.mult);
	return 0;
}

static int bench_thread_fn(void *data)
{
	ktime_t begin = ktime_get();
	int err;

	err = bench_clock_calibrate();
	if (!err)
		err = bench_run(&bench_plan, &bench_result);
	if (!err)
		bench_result_close(&bench_result);
	if (bench_lost.all)
		bench_result.lost = div64_u64(bench_lost.lost * 100,
					      bench_lost.all);
	bench_result.seconds = ktime_ms_delta(ktime_get(), begin) / 1000;

	mutex_lock(&bench_lock);
	bench_error = err;
	bench_state = BENCH_DONE;
	mutex_unlock(&bench_lock);
	wake_up_all(&bench_wait);
	if (err == -ENOMEM)
		pr_err("not enough memory for max_n=%u\n", max_n);
	else if (err && err != -EINTR)
		pr_err("no usable clock\n");
	else if (!err && bench_result.errors)
		pr_err("%u rows in error\n", bench_result.errors);

	/* Until it is reaped: by the next run, or at unload. */
	while (!kthread_should_stop())
		schedule_timeout_interruptible(MAX_SCHEDULE_TIMEOUT);
	return 0;
}

static int bench_start(void)
{
	struct task_struct *thread;
	int err;

	lockdep_assert_held(&bench_lock);
	if (bench_state == BENCH_BUSY)
		return -EBUSY;
	if (bench_thread)
		kthread_stop(bench_thread);
	bench_thread = NULL;
	bench_result_free(&bench_result);
	bench_state = BENCH_IDLE;
	err = bench_result_init(&bench_result, &bench_plan);
	if (err)
		return err;
	thread = kthread_create(bench_thread_fn, NULL, "cogwheel_bench");
	if (IS_ERR(thread)) {
		bench_result_free(&bench_result);
		return PTR_ERR(thread);
	}
	kthread_bind(thread, cpu);
	bench_thread = thread;
	bench_progress(0, 0, NULL, NULL, NULL);
	bench_state = BENCH_BUSY;
	wake_up_process(thread);
	return 0;
}

static bool bench_is_busy(void)
{
	return READ_ONCE(bench_state) == BENCH_BUSY;
}

/* The lines of a report, one by one. */

static void *bench_seq_at(loff_t *pos, unsigned int lines)
{
	return *pos < lines ? pos : NULL;
}

static void *bench_seq_start(loff_t *pos,
			     unsigned int (*lines)(const struct bench_result *))
{
	mutex_lock(&bench_lock);
	if (bench_state == BENCH_BUSY)
		return ERR_PTR(-EBUSY);
	if (bench_state == BENCH_IDLE)
		return ERR_PTR(-ENODATA);
	if (bench_error)
		return ERR_PTR(bench_error);
	return bench_seq_at(pos, lines(&bench_result));
}

static void bench_seq_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&bench_lock);
}

static void *bench_csv_start(struct seq_file *m, loff_t *pos)
{
	return bench_seq_start(pos, bench_csv_lines);
}

static void *bench_csv_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return bench_seq_at(pos, bench_csv_lines(&bench_result));
}

static void *bench_counts_start(struct seq_file *m, loff_t *pos)
{
	return bench_seq_start(pos, bench_counts_lines);
}

static void *bench_counts_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return bench_seq_at(pos, bench_counts_lines(&bench_result));
}

static int bench_counts_show(struct seq_file *m, void *v)
{
	bench_counts_line(m, &bench_result, *(loff_t *)v);
	return 0;
}

static int bench_csv_show(struct seq_file *m, void *v)
{
	bench_csv_line(m, &bench_result, *(loff_t *)v);
	return 0;
}

static void *bench_table_start(struct seq_file *m, loff_t *pos)
{
	return bench_seq_start(pos, bench_table_lines);
}

static void *bench_table_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return bench_seq_at(pos, bench_table_lines(&bench_result));
}

static int bench_table_show(struct seq_file *m, void *v)
{
	bench_table_line(m, &bench_result, *(loff_t *)v);
	return 0;
}

static const struct seq_operations bench_csv_seq = {
	.start	= bench_csv_start,
	.next	= bench_csv_next,
	.stop	= bench_seq_stop,
	.show	= bench_csv_show,
};

static const struct seq_operations bench_counts_seq = {
	.start	= bench_counts_start,
	.next	= bench_counts_next,
	.stop	= bench_seq_stop,
	.show	= bench_counts_show,
};

static const struct seq_operations bench_table_seq = {
	.start	= bench_table_start,
	.next	= bench_table_next,
	.stop	= bench_seq_stop,
	.show	= bench_table_show,
};

/* Wait for a run to end, then read its report. */
static int bench_report_open(struct file *file,
			     const struct seq_operations *ops)
{
	int err;

	if (file->f_flags & O_NONBLOCK) {
		if (bench_is_busy())
			return -EAGAIN;
	} else {
		err = wait_event_interruptible(bench_wait, !bench_is_busy());
		if (err)
			return err;
	}
	return seq_open(file, ops);
}

static int bench_results_open(struct inode *inode, struct file *file)
{
	return bench_report_open(file, &bench_csv_seq);
}

static int bench_counts_open(struct inode *inode, struct file *file)
{
	return bench_report_open(file, &bench_counts_seq);
}

static int bench_table_open(struct inode *inode, struct file *file)
{
	return bench_report_open(file, &bench_table_seq);
}

static const struct file_operations bench_results_fops = {
	.owner		= THIS_MODULE,
	.open		= bench_results_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

static const struct file_operations bench_counts_fops = {
	.owner		= THIS_MODULE,
	.open		= bench_counts_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

static const struct file_operations bench_table_fops = {
	.owner		= THIS_MODULE,
	.open		= bench_table_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

static int bench_status_show(struct seq_file *m, void *v)
{
	mutex_lock(&bench_lock);
	switch (bench_state) {
	case BENCH_IDLE:
		seq_puts(m, "idle: write to `run' to measure\n");
		break;
	case BENCH_BUSY:
		seq_printf(m, "running: round %u of %u, n=%u, %s, %s, %s\n",
			   READ_ONCE(bench_now.round) + 1, bench_plan.rounds,
			   READ_ONCE(bench_now.n),
			   READ_ONCE(bench_now.layout) ?: "-",
			   READ_ONCE(bench_now.cache) ?: "-",
			   READ_ONCE(bench_now.subject) ?: "-");
		break;
	case BENCH_DONE:
		if (bench_error)
			seq_printf(m, "failed: error %d\n", bench_error);
		else
			seq_printf(m, "done: %u s, %u rows in error\n",
				   bench_result.seconds, bench_result.errors);
		break;
	}
	mutex_unlock(&bench_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bench_status);

static ssize_t bench_run_write(struct file *file, const char __user *buf,
			       size_t len, loff_t *pos)
{
	int err;

	mutex_lock(&bench_lock);
	err = bench_start();
	mutex_unlock(&bench_lock);
	return err ? err : len;
}

static const struct file_operations bench_run_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= bench_run_write,
	.llseek	= noop_llseek,
};

/* Is the kind in the list that was given? */
static bool bench_kind_listed(const char *name)
{
	const char *at = kinds;
	size_t len = strlen(name);

	if (!strcmp(kinds, "all"))
		return true;
	while (at) {
		if (!strncmp(at, name, len) && (!at[len] || at[len] == ','))
			return true;
		at = strchr(at, ',');
		if (at)
			at++;
	}
	return false;
}

/* The first name in the list that is no kind's, or NULL; its length in @len. */
static const char *bench_kind_unknown(int *len)
{
	const char *at = kinds;
	unsigned int i;

	if (!strcmp(kinds, "all"))
		return NULL;
	do {
		*len = strcspn(at, ",");
		for (i = 0; i < WHEEL_NR_KINDS; i++)
			if (strlen(wheel_kinds[i]->name) == *len &&
			    !strncmp(wheel_kinds[i]->name, at, *len))
				break;
		if (i == WHEEL_NR_KINDS)
			return at;
		at += *len;
	} while (*at++);
	return NULL;
}

static int bench_configure(struct bench_plan *plan)
{
	const char *unknown;
	unsigned int i, n;
	int len;

	if (!rounds)
		rounds = brief ? BENCH_SHORT_ROUNDS : BENCH_ROUNDS;
	if (rounds > BENCH_MAX_ROUNDS) {
		pr_err("rounds=%u is not 1 to %u\n", rounds, BENCH_MAX_ROUNDS);
		return -EINVAL;
	}
	if (budget_ms < 10 || budget_ms > 8000) {
		pr_err("budget_ms=%u is not 10 to 8000\n", budget_ms);
		return -EINVAL;
	}
	if (evict_mb < 1 || evict_mb > 4096) {
		pr_err("evict_mb=%u is not 1 to 4096\n", evict_mb);
		return -EINVAL;
	}
	if (control < -1 || control > 10000) {
		pr_err("control=%d is not 0 to 10000\n", control);
		return -EINVAL;
	}
	if (cpu == -1)
		cpu = raw_smp_processor_id();
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_online(cpu)) {
		pr_err("cpu=%d is not online\n", cpu);
		return -EINVAL;
	}
	unknown = bench_kind_unknown(&len);
	if (unknown) {
		pr_err("kinds=: `%.*s' is no kind; there are:\n", len, unknown);
		for (i = 0; i < WHEEL_NR_KINDS; i++)
			pr_err("  %s\n", wheel_kinds[i]->name);
		return -EINVAL;
	}

	*plan = (struct bench_plan) {
		.rounds = rounds,
		.windows = min_t(unsigned int, rounds, brief ?
				 BENCH_SHORT_WINDOWS : BENCH_WINDOWS),
		.brief = brief,
		.ordered = ordered,
		.budget_ms = budget_ms,
		.evict_bytes = (size_t)evict_mb << 20,
	};
	for (n = BENCH_MIN_N; n <= BENCH_MAX_N; n *= 10) {
		if (n == max_n)
			break;
	}
	if (n > BENCH_MAX_N) {
		pr_err("max_n=%u is not a power of ten from %u to %u\n", max_n,
		       BENCH_MIN_N, BENCH_MAX_N);
		return -EINVAL;
	}
	if (brief)
		max_n = min_t(unsigned int, max_n, BENCH_SHORT_MAX_N);
	for (n = BENCH_MIN_N; n < min_n && n < max_n; n *= 10)
		;
	if (n != min_n) {
		pr_err("min_n=%u is not a power of ten from %u to %u\n", min_n,
		       BENCH_MIN_N, max_n);
		return -EINVAL;
	}
	for (; n <= max_n; n *= 10)
		if (!brief || n == 1000 || n == max_n)
			plan->n[plan->sizes++] = n;

	/* First, since ratios are to it. */
	plan->subject[plan->subjects++] = (struct bench_subject) {
		.name = "timer_list", .ops = &bench_timer_list_ops };
	if (control >= 0)
		plan->subject[plan->subjects++] = (struct bench_subject) {
			.name = "control", .ops = &bench_control_ops };
	if (with_floor)
		plan->subject[plan->subjects++] = (struct bench_subject) {
			.name = "floor", .ops = &bench_floor_ops };
	plan->subject[plan->subjects++] = (struct bench_subject) {
		.name = "hrtimer", .ops = &bench_hrtimer_ops };
	BUILD_BUG_ON(WHEEL_NR_KINDS + 4 > BENCH_MAX_SUBJECTS);
	for (i = 0; i < WHEEL_NR_KINDS; i++)
		if (bench_kind_listed(wheel_kinds[i]->name))
			plan->subject[plan->subjects++] =
				(struct bench_subject) {
					.name = wheel_kinds[i]->name,
					.ops = &bench_wheel_ops,
					.kind = wheel_kinds[i] };
	return 0;
}

static int __init bench_init(void)
{
	int err;

	BUILD_BUG_ON(!IS_ENABLED(CONFIG_64BIT));
	err = bench_configure(&bench_plan);
	if (err)
		return err;
	bench_dir = debugfs_create_dir("cogwheel_bench", NULL);
	debugfs_create_file("status", 0444, bench_dir, NULL,
			    &bench_status_fops);
	debugfs_create_file("results", 0444, bench_dir, NULL,
			    &bench_results_fops);
	debugfs_create_file("counts", 0444, bench_dir, NULL,
			    &bench_counts_fops);
	debugfs_create_file("table", 0444, bench_dir, NULL,
			    &bench_table_fops);
	debugfs_create_file("run", 0200, bench_dir, NULL, &bench_run_fops);
	if (!autorun)
		return 0;
	mutex_lock(&bench_lock);
	err = bench_start();
	mutex_unlock(&bench_lock);
	if (err)
		debugfs_remove(bench_dir);
	return err;
}

static void __exit bench_exit(void)
{
	/* Nobody can start a run after this. */
	debugfs_remove(bench_dir);
	if (bench_thread)
		kthread_stop(bench_thread);
	bench_result_free(&bench_result);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("What a timer costs: timer_list, hrtimer and timing wheels");
MODULE_LICENSE("GPL");
