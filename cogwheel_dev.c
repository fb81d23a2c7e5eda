// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel: a wheel for each open file, driven by ioctls (see
 * cogwheel_ioctl.h), which tells of fired timers through read and poll.
 *
 * The device knows the facility by cogwheel.h only, and nothing of slots,
 * per-CPU bases or clock drivers. Here is what an open file is set up to be,
 * and the way from a system call to what it asks for; see cogwheel_file.h for
 * the rest.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "cogwheel.h"
#include "cogwheel_dev.h"
#include "cogwheel_file.h"
#include "cogwheel_ioctl.h"
#include "compat.h"

#define DEFAULT_KIND	"cascading"

/* Of the minors that are reserved for local use. */
#define FILE_MINOR	248

/*
 * Set-up
 */

static const enum cogwheel_clock clocks[] = {
	[COGWHEEL_CLOCK_MONOTONIC] = COGWHEEL_MONOTONIC,
	[COGWHEEL_CLOCK_JIFFIES] = COGWHEEL_JIFFIES,
	[COGWHEEL_CLOCK_MANUAL] = COGWHEEL_MANUAL,
};

static_assert(ARRAY_SIZE(clocks) == NR_CLOCKS);

static int file_configure(struct wheel_file *f,
			  const struct cogwheel_ioc_setup *s)
{
	struct cogwheel_config config = {
		.kind = s->kind[0] ? s->kind : DEFAULT_KIND,
		.tick_ns = s->tick_ns,
		.start = s->start,
		.slots = s->slots,
		.levels = s->levels,
		.one_base = true,
		.expire = file_expire,
		.data = f,
	};
	struct cogwheel *cw;
	int err;

	lockdep_assert_held(&f->setup_lock);
	if (s->flags || s->reserved || s->clock >= ARRAY_SIZE(clocks) ||
	    s->ring > RING_MAX || (s->ring && !is_power_of_2(s->ring)) ||
	    strnlen(s->kind, sizeof(s->kind)) == sizeof(s->kind))
		return -EINVAL;
	config.clock = clocks[array_index_nospec(s->clock, ARRAY_SIZE(clocks))];
	if (s->clock == COGWHEEL_CLOCK_MONOTONIC && !s->tick_ns)
		config.tick_ns = DEFAULT_TICK_NS;
	if (f->cw)
		return -EBUSY;

	if (s->ring) {
		err = ring_create(f, s->ring);
		if (err)
			return err;
	}
	cw = cogwheel_create(&config);
	if (IS_ERR(cw)) {
		ring_free(f);
		return PTR_ERR(cw);
	}
	f->clock = s->clock;
	f->tick_ns = s->clock == COGWHEEL_CLOCK_JIFFIES ? TICK_NSEC
							: config.tick_ns;
	f->timer_bytes = timer_bytes(cogwheel_kind(cw));
	f->per_page = timers_per_page(f->timer_bytes);
	/* Pairs with file_wheel(). */
	smp_store_release(&f->cw, cw);
	/* Who waits in read() will wait in vain, and is to know it. */
	if (f->ring)
		wake_up_interruptible_all(&f->wait);
	return 0;
}

/* The facility of a file; a file that was not set up gets the defaults. */
struct cogwheel *file_wheel(struct wheel_file *f)
{
	static const struct cogwheel_ioc_setup defaults;
	/* Pairs with file_configure(). */
	struct cogwheel *cw = smp_load_acquire(&f->cw);
	int err;

	if (cw)
		return cw;
	if (mutex_lock_killable(&f->setup_lock))
		return ERR_PTR(-EINTR);
	err = file_configure(f, &defaults);
	mutex_unlock(&f->setup_lock);
	/* Somebody else was first: that is as good. */
	if (err && err != -EBUSY)
		return ERR_PTR(err);
	return f->cw;
}

static int file_setup(struct wheel_file *f, void *arg)
{
	int err;

	if (mutex_lock_killable(&f->setup_lock))
		return -EINTR;
	err = file_configure(f, arg);
	mutex_unlock(&f->setup_lock);
	return err;
}

/*
 * ioctl
 */

/**
 * struct command - an ioctl
 * @size: of its structure, now
 * @min: of its structure, in the first release
 * @acts: it changes something, which would have to be undone if its results
 *	could not be written
 * @partial: where it fails, it has results all the same
 * @run: what it does
 */
struct command {
	u32 size;
	u32 min;
	bool acts;
	bool partial;
	int (*run)(struct wheel_file *f, void *arg);
};

#define COMMAND(cmd, type, last, does, func, ...)			\
	[_IOC_NR(cmd)] = {						\
		.size = sizeof(struct type),				\
		.min = offsetofend(struct type, last),			\
		.acts = (does),						\
		.run = (func),						\
		__VA_ARGS__						\
	}

static const struct command commands[] = {
	COMMAND(COGWHEEL_IOC_INFO, cogwheel_ioc_info, jiffy_ns, false,
		file_info),
	COMMAND(COGWHEEL_IOC_KIND, cogwheel_ioc_kind, reserved, false,
		file_kind),
	COMMAND(COGWHEEL_IOC_SETUP, cogwheel_ioc_setup, kind, true,
		file_setup),
	COMMAND(COGWHEEL_IOC_GEOMETRY, cogwheel_ioc_geometry, tick_ns, false,
		file_geometry),
	COMMAND(COGWHEEL_IOC_STATE, cogwheel_ioc_state, wakeups, false,
		file_state),
	COMMAND(COGWHEEL_IOC_ARM, cogwheel_ioc_arm, reserved, true,
		file_arm),
	COMMAND(COGWHEEL_IOC_CANCEL, cogwheel_ioc_cancel, reserved, true,
		file_cancel),
	COMMAND(COGWHEEL_IOC_ADVANCE, cogwheel_ioc_advance, now, true,
		file_advance),
	COMMAND(COGWHEEL_IOC_WALK, cogwheel_ioc_walk, pos, false,
		file_walk),
	COMMAND(COGWHEEL_IOC_BATCH, cogwheel_ioc_batch, reserved, true,
		file_batch, .partial = true),
	COMMAND(COGWHEEL_IOC_RING, cogwheel_ioc_ring, waiting, true,
		file_ring),
};

union argument {
	u32 size;
	struct cogwheel_ioc_info info;
	struct cogwheel_ioc_kind kind;
	struct cogwheel_ioc_setup setup;
	struct cogwheel_ioc_geometry geometry;
	struct cogwheel_ioc_state state;
	struct cogwheel_ioc_arm arm;
	struct cogwheel_ioc_cancel cancel;
	struct cogwheel_ioc_advance advance;
	struct cogwheel_ioc_walk walk;
	struct cogwheel_ioc_batch batch;
	struct cogwheel_ioc_ring ring;
};

static long file_ioctl(struct file *file, unsigned int cmd, unsigned long addr)
{
	void __user *to = (void __user *)addr;
	const struct command *command;
	union argument arg;
	size_t bytes, last;
	u32 size;
	int err;

	if (_IOC_TYPE(cmd) != COGWHEEL_IOC_TYPE ||
	    _IOC_NR(cmd) >= ARRAY_SIZE(commands))
		return -ENOTTY;
	command = &commands[array_index_nospec(_IOC_NR(cmd),
					       ARRAY_SIZE(commands))];
	if (get_user(size, (u32 __user *)to))
		return -EFAULT;
	if (size < command->min)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(&arg, command->size, to, size);
	if (err)
		return err;
	/* What another thread makes of it from here on does not matter. */
	arg.size = size;
	bytes = min(size, command->size);
	last = bytes / sizeof(u32) - 1;
	if (command->acts && !writable(to, size, (u32 __user *)to + last,
				       ((u32 *)&arg)[last]))
		return -EFAULT;
	err = command->run(file->private_data, &arg);
	if (err && !command->partial)
		return err;
	return copy_to_user(to, &arg, bytes) ? -EFAULT : err;
}

/*
 * open, release
 */

static int file_open(struct inode *inode, struct file *file)
{
	struct wheel_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	int err;

	if (!f)
		return -ENOMEM;
	f->user = user_get();
	if (IS_ERR(f->user)) {
		err = PTR_ERR(f->user);
		kfree(f);
		return err;
	}
	spin_lock_init(&f->lock);
	INIT_LIST_HEAD(&f->events);
	f->again = RB_ROOT_CACHED;
	xa_init_flags(&f->pages, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH |
				 XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&f->partial);
	init_waitqueue_head(&f->wait);
	mutex_init(&f->setup_lock);
	mutex_init(&f->advance_lock);
	mutex_init(&f->grow_lock);
	mutex_init(&f->read_lock);
	file->private_data = f;
	file->f_mode |= FMODE_NOWAIT;
	return stream_open(inode, file);
}

static int file_release(struct inode *inode, struct file *file)
{
	struct wheel_file *f = file->private_data;
	struct timer_page *page;
	unsigned long number;

	/* After this nothing fires any more: all that is left is memory. */
	if (f->cw)
		cogwheel_destroy(f->cw);
	xa_for_each(&f->pages, number, page) {
		file_free_page(f, page);
		cond_resched();
	}
	xa_destroy(&f->pages);
	ring_free(f);
	user_put(f->user);
	kfree(f);
	return 0;
}

static const struct file_operations file_ops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.release = file_release,
	.read_iter = file_read_iter,
	.poll = file_poll,
	.fasync = file_fasync,
	.mmap = file_mmap,
	.unlocked_ioctl = file_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = file_show_fdinfo,
#endif
};

static struct miscdevice misc = {
	.minor = FILE_MINOR,
	.name = "cogwheel",
	.nodename = "cogwheel",
	.mode = 0600,
	.fops = &file_ops,
};

/**
 * cogwheel_dev_init() - offer /dev/cogwheel
 *
 * Context: process, when the module is loaded and the facility is ready.
 * Return: 0 or a negative errno.
 */
int cogwheel_dev_init(void)
{
	int err;

	periodic_cache = KMEM_CACHE(file_periodic, SLAB_ACCOUNT);
	if (!periodic_cache)
		return -ENOMEM;
	if (!max_user_timers)
		max_user_timers = default_user_timers();
	err = misc_register(&misc);
	if (err == -EBUSY) {
		/* It then only does not load by itself. */
		pr_notice("minor %d is taken, using another\n", misc.minor);
		misc.minor = MISC_DYNAMIC_MINOR;
		err = misc_register(&misc);
	}
	if (err)
		kmem_cache_destroy(periodic_cache);
	return err;
}

/**
 * cogwheel_dev_exit() - withdraw /dev/cogwheel
 *
 * Context: process; no file is open, since an open file holds the module.
 */
void cogwheel_dev_exit(void)
{
	misc_deregister(&misc);
	kmem_cache_destroy(periodic_cache);
}

MODULE_ALIAS_MISCDEV(FILE_MINOR);
MODULE_ALIAS("devname:cogwheel");
