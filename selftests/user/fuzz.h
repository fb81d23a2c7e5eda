/* SPDX-License-Identifier: GPL-2.0 */
/* The one function that a fuzzer calls, under the name that libFuzzer wants. */
#ifndef _USER_FUZZ_H
#define _USER_FUZZ_H

#include <linux/types.h>

int fuzz_one_input(const u8 *data, size_t size)
	__asm__("LLVMFuzzerTestOneInput");

#endif /* _USER_FUZZ_H */
