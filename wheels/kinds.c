// SPDX-License-Identifier: GPL-2.0
/*
 * The table of kinds, and the checks that every owner of a wheel makes before
 * it sets one up. Knows no kind in particular.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/string.h>

#include "kinds.h"

const struct wheel_ops *const wheel_kinds[WHEEL_NR_KINDS] = {
#define X(kind) &kind##_ops,
	WHEEL_KINDS(X)
#undef X
};
EXPORT_SYMBOL_GPL(wheel_kinds);

/**
 * wheel_kind_by_name() - find a kind
 * @name: its name
 *
 * Context: any.
 * Return: its number (enum wheel_kind), or -EINVAL if there is no such kind.
 */
int wheel_kind_by_name(const char *name)
{
	int kind;

	for (kind = 0; kind < WHEEL_NR_KINDS; kind++)
		if (!strcmp(wheel_kinds[kind]->name, name))
			return kind;
	return -EINVAL;
}
EXPORT_SYMBOL_GPL(wheel_kind_by_name);

static int wheel_option(const struct wheel_range *range, u32 *value)
{
	if (!*value)
		*value = range->def;
	else if (*value < range->min || *value > range->max || !range->min)
		return -EINVAL;
	return 0;
}

/**
 * wheel_configure() - check a configuration and fill in the defaults
 * @kind: the kind
 * @cfg: options that are 0 become the kind's default
 *
 * Context: any.
 * Return: 0, or -EINVAL where an option is out of the kind's range or the kind
 * has no such option.
 */
int wheel_configure(enum wheel_kind kind, struct wheel_config *cfg)
{
	const struct wheel_ops *ops = wheel_kinds[kind];

	if (wheel_option(&ops->slots, &cfg->slots) ||
	    wheel_option(&ops->levels, &cfg->levels))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(wheel_configure);
