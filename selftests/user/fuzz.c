// SPDX-License-Identifier: GPL-2.0
/*
 * The target of a coverage-guided fuzzer: bytes become a stream of operations,
 * carried out on every kind against the model. What fails is printed as a
 * scenario before the program ends.
 *
 * Linked with libFuzzer it looks for new inputs; linked with corpus.c it runs
 * the inputs that were kept.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "stream.h"

#define OPS_MAX		400

int fuzz_one_input(const u8 *data, size_t size)
{
	static struct op ops[OPS_MAX];
	struct counts counts = {};
	int kind;

	for (kind = 0; kind < WHEEL_NR_KINDS; kind++) {
		struct source src = { .data = data, .size = size };
		struct setup setup;
		struct stream *s;
		const char *why;
		size_t nr;

		setup_choose(&setup, (enum wheel_kind)kind, &src);
		s = stream_begin(&setup, &counts);
		why = stream_choose(s, &src, OPS_MAX, ops, &nr);
		if (why) {
			printf("# %s\n", why);
			stream_print(stdout, &setup, ops, nr);
			abort();
		}
		stream_end(s);
	}
	return 0;
}
