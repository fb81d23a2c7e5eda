/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in: the kernel's allocators over malloc(). A test sets
 * shim_allocs_left to let that many allocations succeed and the rest fail.
 */
#ifndef _SHIM_LINUX_SLAB_H
#define _SHIM_LINUX_SLAB_H

#include <stdlib.h>
#include <linux/gfp.h>
#include <linux/numa.h>
#include <linux/overflow.h>

/* Negative: no limit. Weak, so that each file may carry its definition. */
__attribute__((__weak__)) long shim_allocs_left = -1;

static inline void *shim_alloc(size_t n, size_t size, gfp_t gfp)
{
	size_t bytes = size_mul(n, size);
	void *p;

	if (shim_allocs_left >= 0 && shim_allocs_left-- == 0) {
		shim_allocs_left = 0;
		return NULL;
	}
	/* Memory that is not asked for as zeroed must not happen to be. */
	if (gfp & __GFP_ZERO)
		return calloc(n, size);
	if (bytes == SIZE_MAX)
		return NULL;
	p = malloc(bytes);
	if (p)
		__builtin_memset(p, 0xa5, bytes);
	return p;
}

#define kmalloc(size, gfp)		shim_alloc(1, size, gfp)
#define kzalloc(size, gfp)		shim_alloc(1, size, (gfp) | __GFP_ZERO)
#define kmalloc_array(n, size, gfp)	shim_alloc(n, size, gfp)
#define kcalloc(n, size, gfp)		shim_alloc(n, size, (gfp) | __GFP_ZERO)
#define kmalloc_node(size, gfp, node)	((void)(node), kmalloc(size, gfp))
#define kzalloc_node(size, gfp, node)	((void)(node), kzalloc(size, gfp))
#define kmalloc_array_node(n, size, gfp, node) \
	((void)(node), kmalloc_array(n, size, gfp))
#define kcalloc_node(n, size, gfp, node) ((void)(node), kcalloc(n, size, gfp))
#define kvmalloc(size, gfp)		kmalloc(size, gfp)
#define kvzalloc(size, gfp)		kzalloc(size, gfp)
#define kvmalloc_array(n, size, gfp)	kmalloc_array(n, size, gfp)
#define kvcalloc(n, size, gfp)		kcalloc(n, size, gfp)
#define kvmalloc_node(size, gfp, node)	kmalloc_node(size, gfp, node)
#define kvzalloc_node(size, gfp, node)	kzalloc_node(size, gfp, node)
#define kfree(p)			free((void *)(p))
#define kvfree(p)			free((void *)(p))
#define kfree_sensitive(p)		free((void *)(p))

#endif
