// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/cogwheel: how many timers a file, and how many files and timers a user
 * may have. Counts, and knows nothing of what is counted.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>

#include "cogwheel_file.h"

unsigned int max_timers = 1 << 20;

/* The most that any kind's pages have numbers for. */
#define MAX_TIMERS_MAX	\
	(PAGES_MAX * (unsigned int)((PAGE_SIZE - sizeof(struct timer_page)) / \
				    sizeof(struct file_timer)))

static int max_timers_set(const char *val, const struct kernel_param *kp)
{
	unsigned int nr;
	int err;

	err = kstrtouint(val, 0, &nr);
	if (!err && (nr < 1 || nr > MAX_TIMERS_MAX))
		err = -ERANGE;
	if (err) {
		pr_err("max_timers=%s: must be a number from 1 to %u\n", val,
		       MAX_TIMERS_MAX);
		return err;
	}
	WRITE_ONCE(max_timers, nr);
	return 0;
}

static const struct kernel_param_ops max_timers_ops = {
	.set = max_timers_set,
	.get = param_get_uint,
};

module_param_cb(max_timers, &max_timers_ops, &max_timers, 0644);
MODULE_PARM_DESC(max_timers, "Most timers that one open file may have");

/*
 * What a user may have, whom the memory cgroup may not confine. Whoever has
 * CAP_SYS_RESOURCE counts as well, but may go beyond.
 */

unsigned int max_user_files = 128;
module_param(max_user_files, uint, 0644);
MODULE_PARM_DESC(max_user_files, "Most files that one user may have open");

unsigned int max_user_timers;
module_param(max_user_timers, uint, 0644);
MODULE_PARM_DESC(max_user_timers,
		 "Most timers of all files of one user (default: a 25th of memory)");

/* Bounds of that default. */
#define USER_TIMERS_MIN	65536UL
#define USER_TIMERS_MAX	4194304UL

/**
 * struct wheel_user - a user who has files open
 * @uid: as the initial user namespace has it
 * @files: how many
 * @timers: how many timers these have room for: pages of timers are what takes
 *	memory, so they are what is counted
 */
struct wheel_user {
	uid_t uid;
	unsigned int files;
	atomic_long_t timers;
};

static DEFINE_XARRAY(users);
static DEFINE_MUTEX(users_lock);	/* users, and their files */

unsigned int default_user_timers(void)
{
	struct sysinfo si;
	u64 bytes;

	si_meminfo(&si);
	bytes = (u64)si.totalram * si.mem_unit / 25;
	return clamp_t(u64, bytes / (sizeof(struct file_timer) +
				     sizeof(struct file_periodic)),
		       USER_TIMERS_MIN, USER_TIMERS_MAX);
}

/* Whoever calls, and one file more. */
struct wheel_user *user_get(void)
{
	uid_t uid = from_kuid(&init_user_ns, current_uid());
	struct wheel_user *user;
	int err = 0;

	mutex_lock(&users_lock);
	user = xa_load(&users, uid);
	if ((user ? user->files : 0) >= READ_ONCE(max_user_files) &&
	    !capable(CAP_SYS_RESOURCE)) {
		err = -EMFILE;
		goto out;
	}
	if (!user) {
		user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
		if (!user) {
			err = -ENOMEM;
			goto out;
		}
		user->uid = uid;
		err = xa_insert(&users, uid, user, GFP_KERNEL);
		if (err) {
			kfree(user);
			goto out;
		}
	}
	user->files++;
out:
	mutex_unlock(&users_lock);
	return err ? ERR_PTR(err) : user;
}

void user_put(struct wheel_user *user)
{
	mutex_lock(&users_lock);
	if (!--user->files) {
		xa_erase(&users, user->uid);
		kfree(user);
	}
	mutex_unlock(&users_lock);
}

int user_charge(struct wheel_user *user, u32 nr)
{
	unsigned long sum = atomic_long_add_return(nr, &user->timers);

	if (sum <= READ_ONCE(max_user_timers) || capable(CAP_SYS_RESOURCE))
		return 0;
	atomic_long_sub(nr, &user->timers);
	return -ENOSPC;
}

void user_uncharge(struct wheel_user *user, u32 nr)
{
	atomic_long_sub(nr, &user->timers);
}

/* How many timers the open files of a user have room for. */
long user_timers(const struct wheel_user *user)
{
	return atomic_long_read(&user->timers);
}
