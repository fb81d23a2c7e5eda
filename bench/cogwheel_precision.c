// SPDX-License-Identifier: GPL-2.0
/*
 * cogwheel_precision.ko: how late a timer fires, measured on this machine.
 *
 * From the same jiffies the same delays are asked of the kernel's timer_list,
 * of its hrtimer with several ranges, and of facilities of two kinds that count
 * jiffies. Each writes down when its function was called. Loading the module
 * starts it; in debugfs, cogwheel_precision/rows is the CSV, and reading it
 * waits for the last timer:
 *
 *	subject,range,per_second,armed,due,fired
 *
 * The last three count units of which there are per_second in a second:
 * jiffies for what counts jiffies, ns of CLOCK_MONOTONIC for hrtimer. range is
 * how late an hrtimer was allowed to be.
 *
 * Where time is virtual (UML, time-travel=inf-cpu) delays of weeks take no time.
 * It says nothing of costs: that is cogwheel_bench.ko's. Of wheels it knows the
 * exported calls only.
 */
#define pr_fmt(fmt) "cogwheel_precision: " fmt

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <linux/timer.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include "../cogwheel.h"
#include "../compat.h"

static unsigned long max_s = 60;
module_param(max_s, ulong, 0444);
MODULE_PARM_DESC(max_s, "longest delay in seconds; no longer than timer_list's capacity");

static unsigned int phases = 16;
module_param(phases, uint, 0444);
MODULE_PARM_DESC(phases, "of the clock, picked at random, at which each delay is asked for, 1 to 1000");

static unsigned int seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "of the random phases; 0 picks one");

/* timer_list's layout: kernel/time/timer.c, LVL_DEPTH and LVL_START(). */
#define DEPTH		(HZ > 100 ? 9 : 8)
#define LEVEL_END(n)	(63ULL << (3 * (n)))

#define PER_OCTAVE	8	/* delays between two powers of 2 */
#define MAX_DELAYS	(64 * PER_OCTAVE)

enum kind { EXACT, ROUNDING, NR_KINDS };

static const struct {
	const char *name;
	u32 levels;
} kinds[NR_KINDS] = {
	[EXACT]	   = { "cascading", 0 },
	[ROUNDING] = { "noncascading", DEPTH },
};

enum hr_range {
	RANGE_NONE,
	RANGE_50US,		/* a task's, in select() and nanosleep() */
	RANGE_PERMILLE,		/* what poll() allows itself, up to 100 ms */
	RANGE_EIGHTH,		/* as much as a level of timer_list is off */
	NR_RANGES
};

static const char * const range_names[] = {
	[RANGE_NONE]	 = "0",
	[RANGE_50US]	 = "50us",
	[RANGE_PERMILLE] = "0.1%",
	[RANGE_EIGHTH]	 = "12.5%",
};

struct of_timer_list {
	struct timer_list timer;
	u64 fired;
};

struct of_wheel {
	u64 fired;
	struct cogwheel_timer timer;
};

struct of_hrtimer {
	struct hrtimer timer;
	u64 fired;
};

/* One delay, asked for at one jiffy, of everybody. */
struct request {
	u64 armed;
	u64 due;
	u64 armed_ns;
	u64 due_ns;
	struct of_timer_list timer_list;
	struct of_wheel wheel[NR_KINDS];
	struct of_hrtimer hrtimer[NR_RANGES];
};

static struct {
	u64 delay[MAX_DELAYS];
	unsigned int delays;
	struct request *request;
	unsigned int nr;		/* of them, phase after phase */
	unsigned int used;		/* armed so far */
	u64 at;				/* jiffy of the next phase */
	atomic_t left;			/* timers that have not fired yet */
	struct completion done;
	struct cogwheel *cw[NR_KINDS];
	struct cogwheel_timer conductor;
	struct rnd_state rnd;
	struct dentry *dir;
} run;

static void one_fired(void)
{
	if (atomic_dec_and_test(&run.left))
		complete_all(&run.done);
}

static void timer_list_fired(struct timer_list *timer)
{
	container_of(timer, struct of_timer_list, timer)->fired =
		get_jiffies_64();
	one_fired();
}

static void wheel_fired(struct cogwheel_timer *timer)
{
	container_of(timer, struct of_wheel, timer)->fired = get_jiffies_64();
	one_fired();
}

static enum hrtimer_restart hrtimer_fired(struct hrtimer *timer)
{
	container_of(timer, struct of_hrtimer, timer)->fired = ktime_get_ns();
	one_fired();
	return HRTIMER_NORESTART;
}

static u64 range_ns(enum hr_range range, u64 delay_ns)
{
	switch (range) {
	case RANGE_50US:
		return 50 * NSEC_PER_USEC;
	case RANGE_PERMILLE:
		return min_t(u64, delay_ns / 1000, 100 * NSEC_PER_MSEC);
	case RANGE_EIGHTH:
		return delay_ns / 8;
	default:
		return 0;
	}
}

static void ask(struct request *r, u64 delay, u64 now, u64 now_ns)
{
	u64 delay_ns = delay * (NSEC_PER_SEC / HZ);
	unsigned int i;

	r->armed = now;
	r->due = now + delay;
	r->armed_ns = now_ns;
	r->due_ns = now_ns + delay_ns;
	mod_timer(&r->timer_list.timer, r->due);
	for (i = 0; i < NR_KINDS; i++)
		cogwheel_mod(run.cw[i], &r->wheel[i].timer, r->due);
	for (i = 0; i < NR_RANGES; i++)
		hrtimer_start_range_ns(&r->hrtimer[i].timer,
				       ns_to_ktime(r->due_ns),
				       range_ns(i, delay_ns), HRTIMER_MODE_ABS);
}

/*
 * What rounds, rounds from the clock of its base, so that has to be the same
 * for all. Here it is the running jiffy plus one: this is the function of a
 * timer of the facility that rounds, whose driver is a timer_list timer. (From
 * the function of any other timer_list timer, that facility may still have the
 * running jiffy before it.)
 */
static void conduct(struct cogwheel_timer *timer)
{
	u64 now = get_jiffies_64(), now_ns = ktime_get_ns();
	u64 longest = run.delay[run.delays - 1];
	unsigned int i;

	if (now >= run.at) {
		for (i = 0; i < run.delays; i++)
			ask(&run.request[run.used++], run.delay[i], now, now_ns);
		if (run.used == run.nr)
			return;
		run.at = now + 1 + prandom_u32_state(&run.rnd) %
				   (longest / phases + 1);
	}
	/*
	 * In steps short enough not to come late, and then jiffy by jiffy: where
	 * this timer's own slots come up, all levels have the same phase.
	 */
	cogwheel_mod(run.cw[ROUNDING], timer,
		     now + 8 < run.at ? now + (run.at - now) / 2 : now);
}

static int by_delay(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* As many for each power of 2, and both sides of where a level begins. */
static void choose_delays(void)
{
	u64 longest = min_t(u64, max_s, LEVEL_END(DEPTH - 1) / HZ + 1) * HZ;
	unsigned int level, i, nr = 0;
	u64 octave;
	int k;

	longest = clamp_t(u64, longest, 1, LEVEL_END(DEPTH - 1));
	for (octave = 1; octave <= longest; octave *= 2)
		for (i = 0; i < PER_OCTAVE; i++)
			run.delay[nr++] = octave + octave * i / PER_OCTAVE;
	for (level = 0; level < DEPTH; level++)
		for (k = -1; k <= 3; k++)
			run.delay[nr++] = LEVEL_END(level) + k;
	sort(run.delay, nr, sizeof(run.delay[0]), by_delay, NULL);
	for (i = 0; i < nr; i++)
		if (run.delay[i] <= longest &&
		    (!run.delays || run.delay[run.delays - 1] != run.delay[i]))
			run.delay[run.delays++] = run.delay[i];
}

/* ---- the rows ---- */

static void *rows_start(struct seq_file *m, loff_t *pos)
{
	if (!*pos)
		return SEQ_START_TOKEN;
	return *pos <= run.nr ? &run.request[*pos - 1] : NULL;
}

static void *rows_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return rows_start(m, pos);
}

static void rows_stop(struct seq_file *m, void *v)
{
}

static int rows_show(struct seq_file *m, void *v)
{
	const struct request *r = v;
	unsigned int i;

	if (v == SEQ_START_TOKEN) {
		seq_printf(m, "# Linux %s, HZ %d, seed=%u\n",
			   utsname()->release, HZ, seed);
		seq_puts(m, "subject,range,per_second,armed,due,fired\n");
		return 0;
	}
	seq_printf(m, "timer_list,-,%d,%llu,%llu,%llu\n", HZ, r->armed, r->due,
		   r->timer_list.fired);
	for (i = 0; i < NR_KINDS; i++)
		seq_printf(m, "%s,-,%d,%llu,%llu,%llu\n", kinds[i].name, HZ,
			   r->armed, r->due, r->wheel[i].fired);
	for (i = 0; i < NR_RANGES; i++)
		seq_printf(m, "hrtimer,%s,%lu,%llu,%llu,%llu\n", range_names[i],
			   NSEC_PER_SEC, r->armed_ns, r->due_ns,
			   r->hrtimer[i].fired);
	return 0;
}

static const struct seq_operations rows_ops = {
	.start = rows_start,
	.next = rows_next,
	.stop = rows_stop,
	.show = rows_show,
};

static int rows_open(struct inode *inode, struct file *file)
{
	int ret = wait_for_completion_interruptible(&run.done);

	return ret ?: seq_open(file, &rows_ops);
}

static const struct file_operations rows_fops = {
	.owner = THIS_MODULE,
	.open = rows_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release,
};

/* ---- the module ---- */

static void clean_up(void)
{
	unsigned int i, k;

	debugfs_remove_recursive(run.dir);
	if (!IS_ERR_OR_NULL(run.cw[ROUNDING]))
		cogwheel_cancel_sync(run.cw[ROUNDING], &run.conductor);
	for (i = 0; i < run.used; i++) {
		struct request *r = &run.request[i];

		timer_delete_sync(&r->timer_list.timer);
		for (k = 0; k < NR_KINDS; k++)
			cogwheel_cancel_sync(run.cw[k], &r->wheel[k].timer);
		for (k = 0; k < NR_RANGES; k++)
			hrtimer_cancel(&r->hrtimer[k].timer);
	}
	for (k = 0; k < NR_KINDS; k++)
		if (!IS_ERR_OR_NULL(run.cw[k]))
			cogwheel_destroy(run.cw[k]);
	vfree(run.request);
}

static void set_up(struct request *r)
{
	unsigned int i;

	timer_setup(&r->timer_list.timer, timer_list_fired, TIMER_PINNED);
	for (i = 0; i < NR_KINDS; i++)
		cogwheel_timer_setup(&r->wheel[i].timer, wheel_fired,
				     COGWHEEL_PINNED);
	for (i = 0; i < NR_RANGES; i++)
		hrtimer_setup(&r->hrtimer[i].timer, hrtimer_fired,
			      CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}

static int __init precision_init(void)
{
	unsigned int i;

	phases = clamp(phases, 1U, 1000U);
	while (!seed)
		seed = get_random_u32();
	prandom_seed_state(&run.rnd, seed);
	choose_delays();
	run.nr = phases * run.delays;
	init_completion(&run.done);
	atomic_set(&run.left, run.nr * (1 + NR_KINDS + NR_RANGES));
	cogwheel_timer_setup(&run.conductor, conduct, COGWHEEL_PINNED);
	run.request = vzalloc(array_size(run.nr, sizeof(*run.request)));
	if (!run.request)
		return -ENOMEM;
	for (i = 0; i < run.nr; i++)
		set_up(&run.request[i]);
	for (i = 0; i < NR_KINDS; i++) {
		run.cw[i] = cogwheel_create(&(struct cogwheel_config) {
			.kind = kinds[i].name, .levels = kinds[i].levels,
			.clock = COGWHEEL_JIFFIES });
		if (IS_ERR(run.cw[i])) {
			int ret = PTR_ERR(run.cw[i]);

			clean_up();
			return ret;
		}
	}
	run.dir = debugfs_create_dir("cogwheel_precision", NULL);
	debugfs_create_file("rows", 0444, run.dir, NULL, &rows_fops);
	cogwheel_arm(run.cw[ROUNDING], &run.conductor, 1);
	return 0;
}

static void __exit precision_exit(void)
{
	clean_up();
}

module_init(precision_init);
module_exit(precision_exit);
MODULE_DESCRIPTION("How late timers fire: timer_list, hrtimer and timing wheels");
MODULE_LICENSE("GPL");
