// SPDX-License-Identifier: GPL-2.0
/*
 * What a user may have of /dev/cogwheel: that the limits hold for whoever has
 * no privilege, over all files together, that what is given back can be had
 * again, and that others are not touched. Root sets them up and becomes nobody.
 */
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/wait.h>

#include "device.h"

enum { NOBODY = 65534, TIMERS = 400, FILES = 4 };

/* Sets a parameter, and says what it was; -1 where that is not possible. */
static long param(const char *name, long value)
{
	char path[128];
	FILE *file;
	long old;

	snprintf(path, sizeof(path), "/sys/module/cogwheel/parameters/%s",
		 name);
	file = fopen(path, "r+");
	if (!file)
		return -1;
	if (fscanf(file, "%ld", &old) != 1)
		old = -1;
	rewind(file);
	fprintf(file, "%ld\n", value);
	return fclose(file) ? -1 : old;
}

FIXTURE(user) {
	long timers;
	long files;
};

FIXTURE_SETUP(user)
{
	int fd = dev_open(0);

	if (fd == -ENOENT)
		SKIP(return, "no " DEVICE);
	close(fd);
	if (geteuid())
		SKIP(return, "not root");
	self->timers = param("max_user_timers", TIMERS);
	self->files = param("max_user_files", FILES);
	ASSERT_LE(0, self->timers);
	ASSERT_LE(0, self->files);
	ASSERT_EQ(0, chmod(DEVICE, 0666));
}

FIXTURE_TEARDOWN(user)
{
	if (self->files > 0) {
		EXPECT_EQ(0, chmod(DEVICE, 0600));
		EXPECT_EQ(FILES, param("max_user_files", self->files));
		EXPECT_EQ(TIMERS, param("max_user_timers", self->timers));
	}
}

/* Runs a part of a test as nobody; 0 where it went well. */
static int as_nobody(int (*test)(void *arg), void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(1);
		_exit(test(arg));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* In such a part: says what is not so. */
#define IS(cond)	is((cond), #cond, __LINE__)

static int is(int ok, const char *what, int line)
{
	if (!ok)
		fprintf(stderr, "# line %d: %s\n", line, what);
	return ok;
}

static int open_manual(void)
{
	int fd = dev_open(O_NONBLOCK);

	return fd < 0 || !dev_setup(fd, "", COGWHEEL_CLOCK_MANUAL, 0, 0) ?
	       fd : -EPROTO;
}

/* Arms until it is refused; how many, or a negative errno. */
static int arm_all(int fd, int max)
{
	struct cogwheel_ioc_arm arm = { .when = 10 };
	int nr, err = 0;

	for (nr = 0; nr < max && !err; nr++)
		err = dev_arm(fd, &arm);
	return !err ? nr : err == -ENOSPC ? nr - 1 : err;
}

static int files(void *arg)
{
	int fd[FILES + 1], i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < FILES; i++) {
			fd[i] = dev_open(0);
			if (!IS(fd[i] >= 0))
				return 1;
		}
		if (!IS(dev_open(0) == -EMFILE))
			return 1;
		/* A copy is no file more. */
		fd[FILES] = dup(fd[0]);
		if (!IS(fd[FILES] >= 0))
			return 1;
		close(fd[0]);
		if (!IS(dev_open(0) == -EMFILE))
			return 1;
		close(fd[FILES]);
		fd[0] = dev_open(0);
		if (!IS(fd[0] >= 0))
			return 1;
		for (i = 0; i < FILES; i++)
			close(fd[i]);
	}
	return 0;
}

TEST_F(user, emfile_more_files_than_allowed)
{
	int fd[2 * FILES], i;

	EXPECT_EQ(0, as_nobody(files, NULL));
	/* Root may. */
	for (i = 0; i < ARRAY_LEN(fd); i++) {
		fd[i] = dev_open(0);
		EXPECT_GE(fd[i], 0);
	}
	/* And what root has does not count for others. */
	EXPECT_EQ(0, as_nobody(files, NULL));
	for (i = 0; i < ARRAY_LEN(fd); i++)
		close(fd[i]);
}

static int timers(void *arg)
{
	struct cogwheel_ioc_info info = { };
	struct cogwheel_event e[TIMERS];
	int fd[2], nr[2], per_page, i;
	struct cogwheel_op op[10];
	struct cogwheel_ioc_batch b = {
		.ops = (uintptr_t)op, .count = 10, .op_size = sizeof(op[0]),
	};

	for (i = 0; i < 2; i++) {
		fd[i] = open_manual();
		if (!IS(fd[i] >= 0))
			return 1;
	}
	if (!IS(dev_in(fd[1], 10, 0)))
		return 1;
	if (!IS(!CALL(fd[0], COGWHEEL_IOC_INFO, &info)))
		return 1;
	if (!IS(info.max_user_timers == TIMERS))
		return 1;
	if (!IS(info.max_user_files == FILES))
		return 1;
	/* One page so far. */
	per_page = info.user_timers;
	if (!IS(per_page > 10 && per_page < TIMERS / 2))
		return 1;
	nr[0] = arm_all(fd[0], 2 * TIMERS);
	if (!IS(nr[0] == (TIMERS / per_page - 1) * per_page))
		return 1;
	/* The other file has its page, and nothing beyond. */
	nr[1] = 1 + arm_all(fd[1], 2 * TIMERS);
	if (!IS(nr[1] == per_page))
		return 1;
	/* In a batch, each by itself. */
	memset(op, 0, sizeof(op));
	if (!IS(!CALL(fd[0], COGWHEEL_IOC_BATCH, &b)))
		return 1;
	if (!IS(b.done == 10 && b.failed == 10))
		return 1;
	for (i = 0; i < 10; i++)
		if (!IS(op[i].error == -ENOSPC))
			return 1;
	/* What fires and is read is given back, by the page, to any file. */
	if (!IS(!dev_advance_by(fd[0], 10)))
		return 1;
	if (!IS(dev_read(fd[0], e, TIMERS) == nr[0]))
		return 1;
	if (!IS(arm_all(fd[1], 2 * TIMERS) > 0))
		return 1;
	/* And what is closed. */
	close(fd[0]);
	fd[0] = open_manual();
	if (!IS(fd[0] >= 0))
		return 1;
	close(fd[1]);
	if (!IS(arm_all(fd[0], 2 * TIMERS) == TIMERS / per_page * per_page))
		return 1;
	close(fd[0]);
	return 0;
}

TEST_F(user, enospc_more_timers_than_allowed)
{
	int fd = open_manual();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, as_nobody(timers, NULL));
	EXPECT_EQ(2 * TIMERS, arm_all(fd, 2 * TIMERS));
	EXPECT_EQ(0, as_nobody(timers, NULL));
	close(fd);
}

/* Who opened it is charged: nobody uses up what root's file may have. */
static int passed_on(void *arg)
{
	int fd = *(int *)arg, own = open_manual();

	if (!IS(own >= 0))
		return 1;
	if (!IS(arm_all(fd, 2 * TIMERS) > TIMERS / 2))
		return 1;
	if (!IS(arm_all(own, 2 * TIMERS) > TIMERS / 2))
		return 1;
	return 0;
}

TEST_F(user, the_opener_is_charged)
{
	int fd = open_manual();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, as_nobody(passed_on, &fd));
	close(fd);
}

/* As it is delivered, the node is root's alone. */
static int refused(void *arg)
{
	if (!IS(dev_open(0) == -EACCES))
		return 1;
	return 0;
}

TEST_F(user, eacces_as_it_is_delivered)
{
	struct stat st;

	ASSERT_EQ(0, chmod(DEVICE, 0600));
	ASSERT_EQ(0, stat(DEVICE, &st));
	EXPECT_EQ(0, st.st_uid);
	EXPECT_EQ(0, as_nobody(refused, NULL));
}

TEST_HARNESS_MAIN
