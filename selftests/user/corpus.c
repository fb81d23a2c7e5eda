// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the fuzzer's target over files, or over those in the folder that the
 * program was built for; no fuzzer is needed for that.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

#include "fuzz.h"
#include "tap.h"

static unsigned int files;

/* A failure ends the program: the target itself says what is wrong. */
static bool run(const char *path)
{
	static u8 data[1 << 16];
	FILE *in = fopen(path, "rb");
	size_t size;

	if (!in) {
		perror(path);
		return false;
	}
	size = fread(data, 1, sizeof(data), in);
	fclose(in);
	/* Of its exact size, so that reading beyond it is seen. */
	u8 *copy = malloc(size ? size : 1);

	if (!copy)
		return false;
	memcpy(copy, data, size);
	fprintf(stderr, "%s\n", path);
	fuzz_one_input(copy, size);
	free(copy);
	files++;
	return true;
}

static bool run_all(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	char path[4096];
	bool ok = true;

	if (!dir) {
		perror(folder);
		return false;
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		ok &= run(path);
	}
	closedir(dir);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = true;
	int i;

	tap_plan(1);
	for (i = 1; i < argc; i++)
		ok &= run(argv[i]);
	if (argc == 1)
		ok = run_all(CORPUS);
	tap_result(ok && files, "%u inputs that a fuzzer found", files);
	return tap_exit(1);
}
