// SPDX-License-Identifier: GPL-2.0
/*
 * Plays the cases on every kind that they are for, each in a process of its
 * own, and prints TAP. What kinds there are and what they promise, cogctl says;
 * what a case must print, expected/ and the law (law.c).
 *
 *	check-scenario COGCTL OPTION FOLDER [CASE ...]
 *
 * COGCTL is given OPTION (--in-process or --device) for each run. With --device
 * the law is not asked: what the device makes of a case must be, to the byte,
 * what the same program makes of it in process, and that is judged by a run
 * with --in-process.
 */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "law.h"

#define MAX_KINDS	64

struct kind {
	char name[32];
	unsigned int steps;
	bool exact;
	bool slack;
};

static struct kind kinds[MAX_KINDS];
static unsigned int nr_kinds;

static const char *cogctl, *option;
static char *scn;	/* the file that is played */
static unsigned int nr_tests, nr_failed;

__attribute__((__format__(printf, 1, 2), __noreturn__))
static void bail_out(const char *fmt, ...)
{
	va_list ap;

	printf("Bail out! ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(1);
}

static char *read_all(FILE *f)
{
	size_t size = 4096, len = 0;
	char *text = malloc(size);

	while (text) {
		len += fread(text + len, 1, size - len - 1, f);
		if (len < size - 1)
			break;
		size *= 2;
		text = realloc(text, size);
	}
	if (!text)
		bail_out("out of memory");
	text[len] = '\0';
	return text;
}

/* NULL where there is no such file. */
__attribute__((__format__(printf, 1, 2)))
static char *read_file(const char *fmt, ...)
{
	char *path, *text = NULL;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	if (vasprintf(&path, fmt, ap) < 0)
		bail_out("out of memory");
	va_end(ap);
	f = fopen(path, "r");
	if (f) {
		text = read_all(f);
		fclose(f);
	}
	free(path);
	return text;
}

static struct kind *find_kind(const char *name)
{
	for (unsigned int i = 0; i < nr_kinds; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

static bool has_word(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (; *list; list += strcspn(list, ",")) {
		list += *list == ',';
		if (!strncmp(list, word, len) && strchr(",", list[len]))
			return true;
	}
	return false;
}

static void learn_kinds(void)
{
	char command[4096], traits[256];
	FILE *table;

	snprintf(command, sizeof(command), "'%s' kinds --table", cogctl);
	table = popen(command, "r");
	if (!table)
		bail_out("%s: %s", cogctl, strerror(errno));
	while (nr_kinds < MAX_KINDS) {
		struct kind *k = &kinds[nr_kinds];

		if (fscanf(table, "%31s %*u %u %255s", k->name, &k->steps,
			   traits) != 3)
			break;
		k->exact = has_word(traits, "exact");
		k->slack = has_word(traits, "slack");
		nr_kinds++;
	}
	if (pclose(table) || !nr_kinds)
		bail_out("%s names no kinds", cogctl);
}

/* With slack 0 a kind that knows slack is an exact one. */
static bool can_be_exact(const struct kind *k)
{
	return k && (k->exact || k->slack);
}

/*
 * What a case prints on a kind; exact kinds all print the same. NULL where
 * nobody has written it down.
 */
static char *written_down(const char *name, const char *kind)
{
	char *text = read_file("expected/%s.%s.out", name, kind);

	if (text || !can_be_exact(find_kind(kind)))
		return text;
	for (unsigned int i = 0; i < nr_kinds && !text; i++) {
		if (can_be_exact(&kinds[i]))
			text = read_file("expected/%s.%s.out", name,
					 kinds[i].name);
	}
	return text;
}

/* Starts cogctl on a file, or with an input, and gives its output. */
static pid_t start(const char *where, const char *file, FILE **input,
		   FILE **output)
{
	int in[2] = { -1, -1 }, out[2];
	pid_t pid;

	fflush(stdout);
	if (pipe(out) || (input && pipe(in)))
		bail_out("no pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		bail_out("no process: %s", strerror(errno));
	if (!pid) {
		if (input) {
			dup2(in[0], STDIN_FILENO);
			close(in[0]);
			close(in[1]);
		}
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		execl(cogctl, cogctl, "run", where, file, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	*output = fdopen(out[0], "r");
	if (input) {
		close(in[0]);
		*input = fdopen(in[1], "w");
	}
	return pid;
}

static int finish(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		bail_out("wait: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

__attribute__((__format__(printf, 1, 2), __noreturn__))
static void wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(1);
}

/*
 * Against what is written down: line by line, pictures left out, and any tick
 * of `next` taken for right, which is for the law to judge.
 */
static void compare(const char *want, const char *got)
{
	unsigned int line = 1;

	while (*want || *got) {
		const size_t want_len = strcspn(want, "\n");
		const size_t got_len = strcspn(got, "\n");
		const bool next = want_len == 5 && !strncmp(want, "next?", 5) &&
				  !strncmp(got, "next ", 5);

		if (!strncmp(got, "| ", 2)) {
			got += got_len + 1;
			continue;
		}
		if (!next && (want_len != got_len || !want[want_len] ||
			      strncmp(want, got, want_len + 1)))
			wrong("line %u of the output: '%.*s', not '%.*s'", line,
			      (int)got_len, got, (int)want_len, want);
		want += want_len + 1;
		got += got_len + 1;
		line++;
	}
}

/* Exit status 2, and one line that names the file, the line and the fault. */
static void check_message(int status, const char *said, unsigned long line)
{
	char head[64];
	int len = snprintf(head, sizeof(head), "%s:%lu: ", scn, line);

	if (status != 2)
		wrong("exit status %d", status);
	if (strncmp(said, head, (size_t)len) || strcspn(said + len, "\n") < 1 ||
	    strcmp(said + strcspn(said, "\n"), "\n"))
		wrong("the message is '%s'", said);
}

/* What a run of the file prints, and what it says on standard error. */
struct run {
	char *got;
	char *message;
	int status;
};

static struct run play(const char *where)
{
	FILE *output, *said = tmpfile();
	int stderr_was = dup(STDERR_FILENO);
	struct run run;
	pid_t pid;

	if (!said || stderr_was < 0)
		bail_out("no temporary file: %s", strerror(errno));
	dup2(fileno(said), STDERR_FILENO);
	pid = start(where, scn, NULL, &output);
	dup2(stderr_was, STDERR_FILENO);
	close(stderr_was);
	run.got = read_all(output);
	run.status = finish(pid);
	fclose(output);
	rewind(said);
	run.message = read_all(said);
	fclose(said);
	return run;
}

static void check_same(const struct run *device)
{
	struct run here = play("--in-process");
	unsigned int line = 1;
	size_t i = 0;

	for (; here.got[i] && here.got[i] == device->got[i]; i++)
		line += here.got[i] == '\n';
	if (here.got[i] != device->got[i])
		wrong("line %u of the output differs from what comes in process",
		      line);
	if (here.status != device->status ||
	    strcmp(here.message, device->message))
		wrong("exit status %d, '%s'; in process %d, '%s'",
		      device->status, device->message, here.status,
		      here.message);
}

/* A test, in a process of its own; returns where it passed. */
static void test(const char *name, const char *kind, const char *text,
		 unsigned long error_line)
{
	const struct kind *k = find_kind(kind);
	char *want = written_down(name, kind);
	struct law_case c = { .name = name };
	FILE *input, *output, *said;
	struct run run = play(option);
	char *message;
	pid_t pid;
	int status;

	if (want)
		compare(want, run.got);
	if (!strcmp(option, "--device"))
		check_same(&run);
	if (error_line) {
		check_message(run.status, run.message, error_line);
		return;
	}
	if (run.status || *run.message)
		wrong("exit status %d: %s", run.status, run.message);
	if (!strcmp(option, "--device"))
		return;

	c.law = NONCASCADING;
	if (k->slack && strstr(text, " slack "))
		c.law = SLACK;
	else if (can_be_exact(k))
		c.law = EXACT;
	c.steps = k->steps;
	c.scenario = fopen(scn, "r");

	/* The model is for one use: once in a child, once here. */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		output = *run.got ? fmemopen(run.got, strlen(run.got), "r")
			      : fopen("/dev/null", "r");
		law_check(&c, output, NULL);
		_exit(0);
	}
	if (pid < 0 || finish(pid))
		_exit(1);

	said = tmpfile();
	dup2(fileno(said), STDERR_FILENO);
	pid = start(option, "-", &input, &output);
	law_check(&c, output, input);
	status = finish(pid);
	rewind(said);
	message = read_all(said);
	if (status || *message)
		wrong("in steps of next: exit status %d: %s", status, message);
}

static void run_test(const char *name, const char *kind, const char *text,
		     unsigned long error_line)
{
	FILE *f = fopen(scn, "w"), *result;
	const char *left = text, *at;
	bool failed;
	int fd[2];
	pid_t pid;
	char *why, *rest, *line;

	if (!f)
		bail_out("%s: %s", scn, strerror(errno));
	while ((at = strstr(left, "@KIND@"))) {
		fprintf(f, "%.*s%s", (int)(at - left), left, kind);
		left = at + 6;
	}
	fputs(left, f);
	if (fclose(f))
		bail_out("%s: %s", scn, strerror(errno));

	fflush(stdout);
	if (pipe(fd))
		bail_out("no pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		bail_out("no process: %s", strerror(errno));
	if (!pid) {
		dup2(fd[1], STDOUT_FILENO);
		close(fd[0]);
		close(fd[1]);
		test(name, kind, text, error_line);
		_exit(0);
	}
	close(fd[1]);
	result = fdopen(fd[0], "r");
	why = read_all(result);
	rest = why;
	fclose(result);
	failed = finish(pid);
	nr_failed += failed;
	printf("%s %u %s %s\n", failed ? "not ok" : "ok", ++nr_tests, name,
	       kind);
	while ((line = strsep(&rest, "\n")))
		if (*line)
			printf("# %s\n", line);
	free(why);
}

/* What the lines of a case say of it. */
struct header {
	char only[512];
	char also[512];
	char wheel[64];
	unsigned long wheel_line;
	unsigned long error_line;
};

/* What follows @key on the line that @text begins with, if it does. */
static void read_comment(const char *text, const char *key, char *value,
			 size_t size)
{
	const size_t len = strlen(key);

	if (!strncmp(text, key, len))
		snprintf(value, size, "%.*s",
			 (int)strcspn(text + len, "\n"), text + len);
}

static struct header read_header(const char *text)
{
	struct header h = { "", "", "", 0, 0 };
	unsigned long nr = 1;
	char number[32] = "0";

	for (; *text; text += strcspn(text, "\n"), text += !!*text, nr++) {
		read_comment(text, "# only: ", h.only, sizeof(h.only));
		read_comment(text, "# also: ", h.also, sizeof(h.also));
		read_comment(text, "# error-line: ", number, sizeof(number));
		if (!h.wheel_line && sscanf(text, "wheel %63s", h.wheel) == 1)
			h.wheel_line = nr;
	}
	h.error_line = strtoul(number, NULL, 10);
	return h;
}

static void run_case(const char *name)
{
	char *text = read_file("%s.scn", name);
	char list[4096] = "", *rest = list, *kind;
	struct header h;

	if (!text)
		bail_out("%s.scn: %s", name, strerror(errno));
	h = read_header(text);

	if (strcmp(h.wheel, "@KIND@")) {
		snprintf(list, sizeof(list), "%s", *h.wheel ? h.wheel : "none");
	} else if (*h.only) {
		snprintf(list, sizeof(list), "%s", h.only);
	} else {
		size_t at = 0;

		for (unsigned int i = 0; i < nr_kinds; i++)
			if (can_be_exact(&kinds[i]))
				at += (size_t)sprintf(list + at, "%s ",
						      kinds[i].name);
		snprintf(list + at, sizeof(list) - at, "%s", h.also);
	}
	while ((kind = strsep(&rest, " "))) {
		if (!*kind)
			continue;
		/* A case may well be about a kind that there is not. */
		if (!find_kind(kind) && h.wheel_line &&
		    h.error_line != h.wheel_line)
			printf("ok %u %s %s # SKIP no such kind\n", ++nr_tests,
			       name, kind);
		else
			run_test(name, kind, text, h.error_line);
	}
	free(text);
}

static int is_case(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 4 && !strcmp(d->d_name + len - 4, ".scn");
}

int main(int argc, char **argv)
{
	struct dirent **all;
	int nr, fd;

	if (argc < 4) {
		fputs("usage: check-scenario COGCTL OPTION FOLDER [CASE ...]\n",
		      stderr);
		return 2;
	}
	cogctl = argv[1];
	option = argv[2];
	puts("TAP version 13");
	if (chdir(argv[3]))
		bail_out("%s: %s", argv[3], strerror(errno));
	learn_kinds();
	scn = strdup("/tmp/cogwheel-case-XXXXXX");
	fd = scn ? mkstemp(scn) : -1;
	if (fd < 0)
		bail_out("no temporary file: %s", strerror(errno));
	close(fd);

	for (int i = 4; i < argc; i++)
		run_case(argv[i]);
	if (argc == 4) {
		nr = scandir(".", &all, is_case, alphasort);
		for (int i = 0; i < nr; i++) {
			all[i]->d_name[strlen(all[i]->d_name) - 4] = '\0';
			run_case(all[i]->d_name);
		}
	}
	unlink(scn);
	printf("1..%u\n", nr_tests);
	return nr_failed > 0;
}
