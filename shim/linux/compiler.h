/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in: one thread, so READ_ONCE() and WRITE_ONCE() only keep
 * the compiler from merging or inventing accesses.
 */
#ifndef _SHIM_LINUX_COMPILER_H
#define _SHIM_LINUX_COMPILER_H

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define barrier()	__asm__ __volatile__("" : : : "memory")
#define OPTIMIZER_HIDE_VAR(var)	__asm__("" : "=r" (var) : "0" (var))

#define READ_ONCE(x) \
	((__typeof__(x))*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, val) \
	do { *(volatile __typeof__(x) *)&(x) = (val); } while (0)
#define data_race(expr)	(expr)
#define smp_store_release(p, val)	WRITE_ONCE(*(p), val)

/* glibc has some of these too, under conditions of its own. */
#undef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#undef noinline
#define noinline	__attribute__((__noinline__))
#undef __maybe_unused
#define __maybe_unused	__attribute__((__unused__))
#undef __must_check
#define __must_check	__attribute__((__warn_unused_result__))
#undef __cold
#define __cold		__attribute__((__cold__))
#undef __pure
#define __pure		__attribute__((__pure__))
#undef __packed
#define __packed	__attribute__((__packed__))
#undef __aligned
#define __aligned(x)	__attribute__((__aligned__(x)))
#undef __printf
#define __printf(a, b)	__attribute__((__format__(printf, a, b)))
#undef __malloc
#define __malloc	__attribute__((__malloc__))
#undef fallthrough
#define fallthrough	__attribute__((__fallthrough__))
#undef asmlinkage
#define asmlinkage

#define __user
#define __kernel
#define __iomem
#define __percpu
#define __rcu
#define __force
#define __acquires(x)
#define __releases(x)
#define __must_hold(x)
#define __init
#define __exit
#define __ro_after_init
#define __read_mostly

#endif
