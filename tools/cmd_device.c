// SPDX-License-Identifier: GPL-2.0
/*
 * cogctl stat and top: every open file of /dev/cogwheel on this machine, as
 * /proc shows them. cogctl arm, cancel and wait: timers for shell scripts, on a
 * file that the shell holds as their standard input. Knows the ioctl header and
 * the names in fdinfo.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/kernel.h>
#include <sys/ioctl.h>

#include "../cogwheel_ioctl.h"
#include "commands.h"

/* A wheel: a file of one process, or of several. */
struct seen {
	int pid;
	int fd;
	char comm[32];
	char kind[COGWHEEL_NAME_LEN];
	char clock[16];
	u64 tick_ns;
	u64 pending;
	u64 unread;
	u64 timers;
	u64 fired;
	u64 moved;
	u64 wakeups;
	u64 ring;
};

struct list {
	struct seen *seen;
	size_t nr;
	size_t room;
};

/* The numbers, and the lines of fdinfo that they are in. */
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
	{ "tick-ns", offsetof(struct seen, tick_ns) },
	{ "pending", offsetof(struct seen, pending) },
	{ "unread", offsetof(struct seen, unread) },
	{ "timers", offsetof(struct seen, timers) },
	{ "fired", offsetof(struct seen, fired) },
	{ "moved", offsetof(struct seen, moved) },
	{ "wakeups", offsetof(struct seen, wakeups) },
	{ "ring", offsetof(struct seen, ring) },
};

static u64 *number_of(struct seen *seen, size_t i)
{
	return (u64 *)((char *)seen + numbers[i].offset);
}

static void take_line(struct seen *seen, const char *name, const char *value)
{
	if (!strcmp(name, "kind"))
		snprintf(seen->kind, sizeof(seen->kind), "%.31s", value);
	else if (!strcmp(name, "clock"))
		snprintf(seen->clock, sizeof(seen->clock), "%.15s", value);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!strcmp(name, numbers[i].name))
			*number_of(seen, i) = strtoull(value, NULL, 10);
}

/* Is it one of ours, and what does it say? */
static bool read_fdinfo(const char *path, struct seen *seen)
{
	char name[32], value[64];
	FILE *file = fopen(path, "r");
	int n;

	if (!file)
		return false;
	while ((n = fscanf(file, "%31[^:\n]: %63[^\n]%*[\n]", name, value)) > 0)
		if (n == 2 && !strncmp(name, "cogwheel-", 9))
			take_line(seen, name + 9, value);
	fclose(file);
	return *seen->kind;
}

static void read_comm(struct seen *seen)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", seen->pid);
	file = fopen(path, "r");
	if (!file || fscanf(file, "%31[^\n]", seen->comm) != 1)
		strcpy(seen->comm, "?");
	if (file)
		fclose(file);
	/* It goes into tables and JSON. */
	for (char *c = seen->comm; *c; c++)
		if (!isprint((unsigned char)*c) || *c == '"' || *c == '\\')
			*c = '?';
}

static enum status add(struct list *list, const struct seen *seen)
{
	struct seen *more;

	if (list->nr == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		more = realloc(list->seen, list->room * sizeof(*more));
		if (!more)
			return complain(ST_FAILED, "%s", strerror(ENOMEM));
		list->seen = more;
	}
	list->seen[list->nr++] = *seen;
	return ST_OK;
}

static enum status look_at_process(struct list *list, int pid)
{
	struct dirent *entry;
	enum status st = ST_OK;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	/* Gone meanwhile, or somebody else's. */
	if (!dir)
		return ST_OK;
	while (!st && (entry = readdir(dir))) {
		struct seen seen = { .pid = pid };

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		seen.fd = atoi(entry->d_name);
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid,
			 seen.fd);
		if (!read_fdinfo(path, &seen))
			continue;
		read_comm(&seen);
		st = add(list, &seen);
	}
	closedir(dir);
	return st;
}

static int by_timers(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->timers != y->timers)
		return x->timers < y->timers ? 1 : -1;
	return x->pid != y->pid ? x->pid - y->pid : x->fd - y->fd;
}

static enum status look(struct list *list, int pid)
{
	struct dirent *entry;
	enum status st = ST_OK;
	DIR *dir;

	list->nr = 0;
	if (pid) {
		st = look_at_process(list, pid);
	} else {
		dir = opendir("/proc");
		if (!dir)
			return complain(ST_FAILED, "/proc: %s",
					strerror(errno));
		/* All but this one, which has its caller's. */
		while (!st && (entry = readdir(dir)))
			if (isdigit((unsigned char)*entry->d_name) &&
			    atoi(entry->d_name) != getpid())
				st = look_at_process(list,
						     atoi(entry->d_name));
		closedir(dir);
	}
	if (list->nr)
		qsort(list->seen, list->nr, sizeof(*list->seen), by_timers);
	return st;
}

static void print_json(const struct list *list)
{
	printf("[");
	for (size_t i = 0; i < list->nr; i++) {
		struct seen *s = &list->seen[i];

		printf("%s\n {\"pid\": %d, \"fd\": %d, \"command\": \"%s\"",
		       i ? "," : "", s->pid, s->fd, s->comm);
		printf(", \"kind\": \"%s\", \"clock\": \"%s\"", s->kind,
		       *s->clock ? s->clock : "none");
		for (size_t n = 0; n < ARRAY_SIZE(numbers); n++)
			printf(", \"%s\": %llu", numbers[n].name,
			       *number_of(s, n));
		printf("}");
	}
	puts(list->nr ? "\n]" : "]");
}

static const struct seen *same(const struct list *list, const struct seen *s)
{
	for (size_t i = 0; list && i < list->nr; i++)
		if (list->seen[i].pid == s->pid && list->seen[i].fd == s->fd)
			return &list->seen[i];
	return NULL;
}

/* Fires and wake-ups since @before, @ms milliseconds ago, for each second. */
static void print_table(const struct list *list, const struct list *before,
			u64 ms)
{
	printf("%7s %-15s %4s %-13s %-9s %9s %8s %10s %10s\n", "PID", "COMMAND",
	       "FD", "KIND", "CLOCK", "PENDING", "UNREAD",
	       before ? "FIRED/s" : "FIRED", before ? "WAKEUPS/s" : "WAKEUPS");
	for (size_t i = 0; i < list->nr; i++) {
		const struct seen *s = &list->seen[i], *b = same(before, s);
		u64 fired = s->fired, wakeups = s->wakeups;

		if (before) {
			fired = b && ms ? (fired - b->fired) * 1000 / ms : 0;
			wakeups = b && ms ? (wakeups - b->wakeups) * 1000 / ms
					  : 0;
		}
		printf("%7d %-15s %4d %-13s %-9s %9llu %8llu %10llu %10llu\n",
		       s->pid, s->comm, s->fd, s->kind,
		       *s->clock ? s->clock : "-", s->pending, s->unread, fired,
		       wakeups);
	}
}

static enum status positive(const char *what, const char *text, u64 max,
			    u64 *value)
{
	struct problem why;

	if (scenario_number(text, text ? strlen(text) : 0, value, &why))
		return complain(ST_WRONG, "%s: %s", what, why.text);
	if (!*value || *value > max)
		return complain(ST_WRONG, "%s: must be 1 to %llu", what, max);
	return ST_OK;
}

enum status cmd_stat(char **args)
{
	struct list list = { 0 };
	enum status st = ST_OK;
	bool json = false;
	u64 pid = 0;

	for (; !st && *args; args++)
		if (!strcmp(*args, "--json"))
			json = true;
		else if (isdigit((unsigned char)**args) && !pid)
			st = positive("stat", *args, S32_MAX, &pid);
		else
			return usage("stat: unknown argument ", *args);
	if (!st)
		st = look(&list, (int)pid);
	if (!st && json)
		print_json(&list);
	else if (!st)
		print_table(&list, NULL, 0);
	free(list.seen);
	return st;
}

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ULL + (u64)ts.tv_nsec;
}

enum status cmd_top(char **args)
{
	struct list list[2] = { { 0 } };
	u64 delay = 1, times = 0, i, at[2] = { 0 };
	enum status st = ST_OK;

	for (; !st && *args; args += 2)
		if (!strcmp(*args, "--delay"))
			st = positive(*args, args[1], 86400, &delay);
		else if (!strcmp(*args, "--times"))
			st = positive(*args, args[1], U32_MAX, &times);
		else
			return usage("top: unknown argument ", *args);
	if (!st)
		st = look(&list[0], 0);
	at[0] = now_ns();
	for (i = 1; !st && (!times || i <= times); i++) {
		struct list *is = &list[i & 1], *was = &list[~i & 1];

		sleep((unsigned int)delay);
		st = look(is, 0);
		at[i & 1] = now_ns();
		if (st)
			break;
		if (isatty(STDOUT_FILENO))
			printf("\033[H\033[2J");
		print_table(is, was, (at[i & 1] - at[~i & 1]) / 1000000);
		/* A reader that has gone is the end. */
		if (fflush(stdout))
			break;
	}
	free(list[0].seen);
	free(list[1].seen);
	return st;
}

/* Timers for the shell. */

/* A time with a unit, in ns. */
static enum status time_arg(const char *text, u64 *ns)
{
	static const struct {
		const char *name;
		u64 ns;
	} units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 },
		{ "s", 1000000000 }, { "m", 60000000000 },
		{ "h", 3600000000000 },
	};
	size_t digits = text ? strspn(text, "0123456789") : 0;
	struct problem why;

	if (!text || scenario_number(text, digits, ns, &why))
		return usage("not a time: ", text ? text : "nothing");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text + digits, units[i].name))
			continue;
		if (*ns > U64_MAX / units[i].ns)
			break;
		*ns *= units[i].ns;
		return ST_OK;
	}
	return usage("not a time with ns, us, ms, s, m or h: ", text);
}

static enum status ask(const char *what, unsigned long cmd, void *arg)
{
	if (!ioctl(STDIN_FILENO, cmd, arg))
		return ST_OK;
	if (errno == ENOTTY || errno == EBADF)
		return complain(ST_FAILED,
				"%s: standard input is not /dev/cogwheel", what);
	return complain(ST_FAILED, "%s: %s", what, strerror(errno));
}

enum status cmd_arm(char **args)
{
	struct cogwheel_ioc_arm arm = {
		.size = sizeof(arm), .flags = COGWHEEL_ARM_NS,
	};
	bool time = false;
	enum status st = ST_OK;
	struct problem why;
	u64 ns;

	for (; !st && *args; args++) {
		if (!strcmp(*args, "--every")) {
			st = time_arg(*++args, &ns);
			arm.period = ns;
		} else if (!strcmp(*args, "--user")) {
			const char *text = *++args;

			if (scenario_number(text, text ? strlen(text) : 0, &ns,
					    &why))
				return complain(ST_WRONG, "--user: %s",
						why.text);
			arm.user = ns;
		} else if (!time) {
			st = time_arg(*args, &ns);
			arm.when = ns;
			time = true;
		} else {
			return usage("arm: unknown argument ", *args);
		}
		if (!*args)
			break;
	}
	if (!st && !time)
		return usage("arm: which time?", "");
	if (!st)
		st = ask("arm", COGWHEEL_IOC_ARM, &arm);
	if (!st)
		printf("%llu\n", arm.handle);
	return st;
}

enum status cmd_cancel(char **args)
{
	struct cogwheel_ioc_cancel cancel = { .size = sizeof(cancel) };
	struct problem why;
	enum status st;
	u64 handle;

	if (!*args || args[1])
		return usage("cancel: which handle?", "");
	if (scenario_number(*args, strlen(*args), &handle, &why))
		return complain(ST_WRONG, "cancel: %s", why.text);
	cancel.handle = handle;
	st = ask("cancel", COGWHEEL_IOC_CANCEL, &cancel);
	if (!st)
		puts(cancel.result & COGWHEEL_WAS_UNREAD ?
		     cancel.result & COGWHEEL_WAS_PENDING ? "pending unread"
							  : "unread"
							  : "pending");
	return st;
}

static void print_event(const struct cogwheel_event *e, bool json)
{
	bool last = e->flags & COGWHEEL_EVENT_LAST;

	if (!json) {
		printf("%llu %llu %llu %llu %llu %s\n", e->user, e->handle,
		       e->due, e->fired, e->missed, last ? "last" : "more");
		return;
	}
	printf("{\"user\": %llu, \"handle\": %llu, \"due\": %llu, ", e->user,
	       e->handle, e->due);
	printf("\"fired\": %llu, \"missed\": %llu, \"last\": %s}\n", e->fired,
	       e->missed, last ? "true" : "false");
}

/* 1 where time ran out before so many events. */
enum status cmd_wait(char **args)
{
	struct pollfd pfd = { .fd = STDIN_FILENO, .events = POLLIN };
	struct cogwheel_ioc_info info = { .size = sizeof(info) };
	u64 count = 1, timeout = U64_MAX, end, now;
	enum status st = ST_OK;
	bool json = false;

	for (; !st && *args; args++)
		if (!strcmp(*args, "--json"))
			json = true;
		else if (!strcmp(*args, "--count") && args[1])
			st = positive("--count", *++args, U64_MAX, &count);
		else if (!strcmp(*args, "--timeout") && args[1])
			st = time_arg(*++args, &timeout);
		else
			return usage("wait: unknown argument ", *args);
	if (!st)
		st = ask("wait", COGWHEEL_IOC_INFO, &info);
	now = now_ns();
	end = timeout > U64_MAX - now ? U64_MAX : now + timeout;
	while (!st && count) {
		struct cogwheel_event e;
		int ms = -1;

		now = now_ns();
		if (end != U64_MAX)
			ms = now < end ? (int)min((end - now + 999999) / 1000000,
						  86400000ULL) : 0;
		if (poll(&pfd, 1, ms) < 0)
			return complain(ST_FAILED, "wait: %s", strerror(errno));
		if (!(pfd.revents & POLLIN)) {
			if (now_ns() >= end)
				return ST_FAILED;
			continue;
		}
		if (read(STDIN_FILENO, &e, sizeof(e)) != sizeof(e))
			return complain(ST_FAILED, "wait: %s", strerror(errno));
		print_event(&e, json);
		fflush(stdout);
		count--;
	}
	return st;
}
