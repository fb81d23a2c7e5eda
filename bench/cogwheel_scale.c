// SPDX-License-Identifier: GPL-2.0
/*
 * cogwheel_scale.ko: do two CPUs do twice the work of one?
 *
 * A thread on each CPU arms timers of its own, on that CPU's base, and cancels
 * them: on one CPU, then on two at the same time, and so on. Then each CPU
 * cancels what another one has armed, which needs the lock of a base that is
 * not its own. timer_list and every kind do the same, in turn, round by round.
 *
 * Loading the module measures and takes as long as that; in debugfs,
 * cogwheel_scale/rows is the CSV:
 *
 *	subject,workload,cpus,ns_per_op,ops_per_ms,ratio,rounds,min,max,status
 *
 * workload	arm, cancel: each CPU its own timers
 *		cancel_remote: each CPU those that its neighbour has armed, who
 *		does the same to the next; with cpus=1 he does nothing meanwhile
 * ns_per_op	of one CPU, the median of its passes; of that the median of
 *		rounds, which are from min to max
 * ops_per_ms	of all CPUs together
 * ratio	of that: for arm and cancel to one CPU's; for cancel_remote to
 *		that of as many CPUs that cancel their own
 *
 * A pass is short, so that most are not disturbed where a CPU is taken away now
 * and then. Still a virtual machine shows this only where the host has a CPU for
 * each of its own. Of wheels it knows the exported calls and their list only.
 */
#define pr_fmt(fmt) "cogwheel_scale: " fmt

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timer.h>
#include <linux/utsname.h>
#include <linux/vmalloc.h>

#include "../cogwheel.h"
#include "../compat.h"
#include "../wheels/kinds.h"

static unsigned int n = 500;
module_param(n, uint, 0444);
MODULE_PARM_DESC(n, "timers of each CPU, 1 to 1000000");

static unsigned int passes = 41;
module_param(passes, uint, 0444);
MODULE_PARM_DESC(passes, "how often they are armed and cancelled in each round, 1 to 1000");

static unsigned int rounds = 9;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "how often everything is measured, 1 to 25");

static unsigned int cpus = 2;
module_param(cpus, uint, 0444);
MODULE_PARM_DESC(cpus, "most CPUs to use, no more than are online, 1 to 64");

#define SCALE_MAX_CPUS		64U
#define SCALE_MAX_ROUNDS	25U
#define SCALE_SUBJECTS		(1 + WHEEL_NR_KINDS)
/* Delays are uniform over 2^20 ticks, and long enough that nothing fires. */
#define SCALE_UNIFORM		BIT(20)
#define SCALE_MIN_DELAY		60000U
#define SCALE_SEED		0x5ca1eULL

enum workload { ARM, CANCEL, CANCEL_REMOTE, NR_WORKLOADS };

static const char * const workload_name[NR_WORKLOADS] = {
	[ARM]		= "arm",
	[CANCEL]	= "cancel",
	[CANCEL_REMOTE]	= "cancel_remote",
};

/* A timer, alone on its cache lines: CPUs share none of them. */
struct item {
	union {
		struct timer_list list;
		struct cogwheel_timer cog;
	};
} ____cacheline_aligned;

/* One CPU at work. What it arms and what it cancels may be NULL. */
struct worker {
	struct item *arm;
	struct item *cancel;
	u64 *ns[NR_WORKLOADS];	/* of each pass; CANCEL_REMOTE is not used */
	u64 armed;		/* of those, pending before: there should be none */
	u64 cancelled;
	unsigned int cpu;
	struct completion done;
} ____cacheline_aligned;

struct cell {
	u64 ns[SCALE_MAX_ROUNDS];	/* of one CPU, for one operation, times 100 */
	u64 rate[SCALE_MAX_ROUNDS];	/* operations in a second, of all CPUs */
	unsigned int rounds;
	bool wrong;
};

static struct {
	struct item *items[SCALE_MAX_CPUS];
	u32 *delay;
	struct worker worker[SCALE_MAX_CPUS];
	unsigned int workers;
	atomic_t arrived;
	struct cogwheel *cw;	/* NULL for timer_list */
	struct cell *cell;
	bool refused[SCALE_SUBJECTS];
	struct dentry *dir;
} scale;

static const char *subject_name(unsigned int subject)
{
	return subject ? wheel_kinds[subject - 1]->name : "timer_list";
}

static struct cell *cell_of(unsigned int subject, enum workload workload,
			    unsigned int on)
{
	return &scale.cell[(subject * NR_WORKLOADS + workload) * cpus + on - 1];
}

static void list_fired(struct timer_list *timer)
{
}

static void cog_fired(struct cogwheel_timer *timer)
{
}

/* The loops. The branch is the same for each timer, and predicted. */

static __always_inline u64 arm_all(struct item *items)
{
	struct cogwheel *cw = scale.cw;
	const u32 *delay = scale.delay;
	u64 hits = 0;
	unsigned int i;

	if (cw) {
		for (i = 0; i < n; i++)
			hits += cogwheel_arm(cw, &items[i].cog, delay[i]);
	} else {
		for (i = 0; i < n; i++)
			hits += mod_timer(&items[i].list, jiffies + delay[i]);
	}
	return hits;
}

static __always_inline u64 cancel_all(struct item *items)
{
	struct cogwheel *cw = scale.cw;
	u64 hits = 0;
	unsigned int i;

	if (cw) {
		for (i = 0; i < n; i++)
			hits += cogwheel_cancel(cw, &items[i].cog);
	} else {
		for (i = 0; i < n; i++)
			hits += timer_delete(&items[i].list);
	}
	return hits;
}

/* Wait for all workers, the @step th time. */
static void meet(unsigned int step)
{
	atomic_inc(&scale.arrived);
	while (atomic_read(&scale.arrived) < step * scale.workers) {
		cpu_relax();
		cond_resched();
	}
}

static int work(void *data)
{
	struct worker *w = data;
	unsigned int pass, step = 0;
	u64 begin;

	for (pass = 0; pass < passes; pass++) {
		meet(++step);
		if (w->arm) {
			begin = ktime_get_ns();
			w->armed += arm_all(w->arm);
			w->ns[ARM][pass] = ktime_get_ns() - begin;
		}
		meet(++step);
		if (w->cancel) {
			begin = ktime_get_ns();
			w->cancelled += cancel_all(w->cancel);
			w->ns[CANCEL][pass] = ktime_get_ns() - begin;
		}
	}
	complete(&w->done);
	/* Until it is reaped. */
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Let the first @workers do what they are told to. */
static int let_work(unsigned int workers)
{
	struct task_struct *thread[SCALE_MAX_CPUS];
	unsigned int i;

	scale.workers = workers;
	atomic_set(&scale.arrived, 0);
	for (i = 0; i < workers; i++) {
		struct worker *w = &scale.worker[i];

		w->armed = 0;
		w->cancelled = 0;
		init_completion(&w->done);
		thread[i] = kthread_create(work, w, "cogwheel_scale/%u", i);
		if (IS_ERR(thread[i])) {
			int err = PTR_ERR(thread[i]);

			/* None has run yet, and none will. */
			while (i--)
				kthread_stop(thread[i]);
			return err;
		}
		kthread_bind(thread[i], w->cpu);
	}
	for (i = 0; i < workers; i++)
		wake_up_process(thread[i]);
	for (i = 0; i < workers; i++) {
		wait_for_completion(&scale.worker[i].done);
		kthread_stop(thread[i]);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 median(u64 *sample, unsigned int nr)
{
	sort(sample, nr, sizeof(*sample), compare, NULL);
	return sample[nr / 2];
}

/* Note what @on CPUs have done in a workload. */
static void note(unsigned int subject, enum workload workload, unsigned int on)
{
	struct cell *cell = cell_of(subject, workload, on);
	u64 ns = 0, rate = 0, found = 0;
	unsigned int i;

	for (i = 0; i < scale.workers; i++) {
		const struct worker *w = &scale.worker[i];
		u64 took;

		cell->wrong |= w->armed != 0;
		found += w->cancelled;
		if (!(workload == ARM ? w->arm : w->cancel))
			continue;
		took = median(w->ns[workload == ARM ? ARM : CANCEL], passes);
		took = max(took, 1ULL);
		ns += div_u64(took * 100, n);
		rate += div64_u64((u64)n * NSEC_PER_SEC, took);
	}
	cell->wrong |= found != (u64)n * passes * on;
	cell->ns[cell->rounds] = div_u64(ns, on);
	cell->rate[cell->rounds] = rate;
	cell->rounds++;
}

/* Who arms and who cancels what. */

static int measure_own(unsigned int subject, unsigned int on)
{
	unsigned int i;
	int err;

	for (i = 0; i < on; i++) {
		scale.worker[i].arm = scale.items[i];
		scale.worker[i].cancel = scale.items[i];
	}
	err = let_work(on);
	if (err)
		return err;
	note(subject, ARM, on);
	note(subject, CANCEL, on);
	return 0;
}

static int measure_remote(unsigned int subject, unsigned int on)
{
	unsigned int i;
	int err;

	for (i = 0; i < max(on, 2U); i++) {
		scale.worker[i].arm = scale.items[i];
		scale.worker[i].cancel = scale.items[(i + 1) % on];
	}
	if (on == 1) {
		scale.worker[0].cancel = NULL;
		scale.worker[1].arm = NULL;
	}
	err = let_work(max(on, 2U));
	if (err)
		return err;
	note(subject, CANCEL_REMOTE, on);
	return 0;
}

static int open_subject(unsigned int subject)
{
	struct cogwheel_config config = { .clock = COGWHEEL_JIFFIES };
	unsigned int i, k;
	int err;

	scale.cw = NULL;
	if (subject) {
		config.kind = subject_name(subject);
		scale.cw = cogwheel_create(&config);
		if (IS_ERR(scale.cw))
			return PTR_ERR(scale.cw);
		err = cogwheel_reserve(scale.cw, (size_t)n * cpus);
		if (err) {
			cogwheel_destroy(scale.cw);
			return err;
		}
	}
	for (i = 0; i < cpus; i++)
		for (k = 0; k < n; k++) {
			struct item *item = &scale.items[i][k];

			if (subject)
				cogwheel_timer_setup(&item->cog, cog_fired,
						     COGWHEEL_PINNED);
			else
				timer_setup(&item->list, list_fired,
					    TIMER_PINNED);
		}
	return 0;
}

static void close_subject(void)
{
	unsigned int i, k;

	for (i = 0; i < cpus; i++)
		for (k = 0; k < n; k++)
			if (scale.cw)
				cogwheel_cancel_sync(scale.cw,
						     &scale.items[i][k].cog);
			else
				timer_delete_sync(&scale.items[i][k].list);
	if (!scale.cw)
		return;
	cogwheel_unreserve(scale.cw, (size_t)n * cpus);
	cogwheel_destroy(scale.cw);
}

static int measure(unsigned int subject)
{
	unsigned int on;
	int err;

	err = open_subject(subject);
	if (err == -ENOSPC) {
		scale.refused[subject] = true;
		return 0;
	}
	if (err)
		return err;
	for (on = 1; on <= cpus && !err; on++) {
		err = measure_own(subject, on);
		if (!err && cpus > 1)
			err = measure_remote(subject, on);
	}
	close_subject();
	return err;
}

static int measure_all(void)
{
	unsigned int round, i;
	int err;

	for (round = 0; round < rounds; round++)
		for (i = 0; i < SCALE_SUBJECTS; i++) {
			unsigned int subject = (i + round) % SCALE_SUBJECTS;

			if (scale.refused[subject])
				continue;
			if (fatal_signal_pending(current))
				return -EINTR;
			err = measure(subject);
			if (err)
				return err;
		}
	return 0;
}

/* ---- the rows ---- */

static void print_ns(struct seq_file *m, u64 hundredths)
{
	seq_printf(m, "%llu.%02llu,", div_u64(hundredths, 100),
		   hundredths % 100);
}

static void print_row(struct seq_file *m, unsigned int subject,
		      enum workload workload, unsigned int on)
{
	struct cell *cell = cell_of(subject, workload, on);
	struct cell *yard = workload == CANCEL_REMOTE ?
				  cell_of(subject, CANCEL, on) :
				  cell_of(subject, workload, 1);
	u64 rate, ratio;

	seq_printf(m, "%s,%s,%u,", subject_name(subject),
		   workload_name[workload], on);
	if (scale.refused[subject] || cell->wrong) {
		seq_printf(m, ",,,%u,,,%s\n", cell->rounds,
			   cell->wrong ? "error" : "refused");
		return;
	}
	rate = median(cell->rate, cell->rounds);
	ratio = div64_u64(rate * 100, median(yard->rate, yard->rounds));
	print_ns(m, median(cell->ns, cell->rounds));
	seq_printf(m, "%llu,", div_u64(rate, 1000));
	seq_printf(m, "%llu.%02llu,%u,", div_u64(ratio, 100), ratio % 100,
		   cell->rounds);
	print_ns(m, cell->ns[0]);
	print_ns(m, cell->ns[cell->rounds - 1]);
	seq_puts(m, "ok\n");
}

static int rows_show(struct seq_file *m, void *v)
{
	unsigned int subject, workload, on;

	seq_printf(m, "# Linux %s, %u CPUs online, n=%u passes=%u\n",
		   utsname()->release, num_online_cpus(), n, passes);
	seq_puts(m, "subject,workload,cpus,ns_per_op,ops_per_ms,ratio,rounds,min,max,status\n");
	for (subject = 0; subject < SCALE_SUBJECTS; subject++)
		for (workload = 0; workload < NR_WORKLOADS; workload++)
			for (on = 1; on <= cpus; on++)
				if (cpus > 1 || workload != CANCEL_REMOTE)
					print_row(m, subject, workload, on);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rows);

/* ---- the module ---- */

static void clean_up(void)
{
	unsigned int i;

	for (i = 0; i < cpus; i++) {
		kvfree(scale.worker[i].ns[CANCEL]);
		kvfree(scale.worker[i].ns[ARM]);
		vfree(scale.items[i]);
	}
	kvfree(scale.delay);
	kvfree(scale.cell);
}

static int allocate(void)
{
	struct rnd_state rnd;
	unsigned int i, cpu;

	scale.delay = kvcalloc(n, sizeof(*scale.delay), GFP_KERNEL);
	scale.cell = kvcalloc(SCALE_SUBJECTS * NR_WORKLOADS * cpus,
			      sizeof(*scale.cell), GFP_KERNEL);
	if (!scale.delay || !scale.cell)
		return -ENOMEM;
	prandom_seed_state(&rnd, SCALE_SEED);
	for (i = 0; i < n; i++)
		scale.delay[i] = SCALE_MIN_DELAY +
				 prandom_u32_state(&rnd) % SCALE_UNIFORM;
	i = 0;
	for_each_online_cpu(cpu) {
		if (i == cpus)
			break;
		scale.worker[i].cpu = cpu;
		scale.worker[i].ns[ARM] = kvcalloc(passes, sizeof(u64),
						   GFP_KERNEL);
		scale.worker[i].ns[CANCEL] = kvcalloc(passes, sizeof(u64),
						      GFP_KERNEL);
		scale.items[i] = vzalloc_node(array_size(n, sizeof(struct item)),
					      cpu_to_node(cpu));
		if (!scale.worker[i].ns[ARM] || !scale.worker[i].ns[CANCEL] ||
		    !scale.items[i])
			return -ENOMEM;
		i++;
	}
	return 0;
}

static int __init scale_init(void)
{
	int err;

	n = clamp(n, 1U, 1000000U);
	passes = clamp(passes, 1U, 1000U);
	rounds = clamp(rounds, 1U, SCALE_MAX_ROUNDS);
	/* None goes away while its thread is at work. */
	cpu_hotplug_disable();
	cpus = clamp(cpus, 1U, min(num_online_cpus(), SCALE_MAX_CPUS));
	err = allocate();
	if (!err)
		err = measure_all();
	cpu_hotplug_enable();
	if (err) {
		clean_up();
		return err;
	}
	scale.dir = debugfs_create_dir("cogwheel_scale", NULL);
	debugfs_create_file("rows", 0444, scale.dir, NULL, &rows_fops);
	return 0;
}

static void __exit scale_exit(void)
{
	debugfs_remove(scale.dir);
	clean_up();
}

module_init(scale_init);
module_exit(scale_exit);
MODULE_DESCRIPTION("Do two CPUs arm and cancel twice as many timers as one?");
MODULE_LICENSE("GPL");
