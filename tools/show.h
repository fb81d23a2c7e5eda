/* SPDX-License-Identifier: GPL-2.0 */
/* The picture of a wheel: see show.c. */
#ifndef _TOOLS_SHOW_H
#define _TOOLS_SHOW_H

#include <stdio.h>
#include "backend.h"

enum status show(FILE *out, const char *kind, const struct backend_ops *ops,
		 struct backend *backend, struct problem *why);

#endif /* _TOOLS_SHOW_H */
