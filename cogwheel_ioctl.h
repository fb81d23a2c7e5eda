/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The interface of /dev/cogwheel: its ioctls, and the records that read()
 * returns. Stands alone; compiles in user space, as C and as C++.
 *
 * A file is a wheel of its own. COGWHEEL_IOC_SETUP says what kind of wheel and
 * what moves its clock; a file that was not set up gets the defaults with the
 * first ioctl that needs a wheel. COGWHEEL_IOC_ARM arms a timer and returns
 * its handle, and when the timer fires, read() returns a struct
 * cogwheel_event; poll() and epoll say when there is one.
 *
 * COGWHEEL_IOC_BATCH does any number of these at once, and instead of read() a
 * ring in mapped memory can deliver the events (struct cogwheel_ring).
 *
 * All times are ticks, from 0 to 2^64-1, unless a flag says nanoseconds.
 *
 * How it grows. Every structure begins with its size, as the program was
 * compiled. A structure only ever grows at its end, and zero there means what
 * the shorter structure meant. The kernel takes a shorter structure than its
 * own, and a longer one whose tail is zero. It fills in as much of a longer
 * one as it knows. Fields marked "out" are ignored on entry.
 *
 * What each errno means here, for every ioctl:
 *
 *	EINVAL	   size below that of the first release, an unknown flag, a
 *		   reserved field that is not zero, an unknown kind or clock,
 *		   a value out of its range, a tick in the past
 *	E2BIG	   size above a page, or a tail, unknown to this kernel, that
 *		   is not zero
 *	EFAULT	   memory of the caller that cannot be read or written
 *	ENOTTY	   no such ioctl
 *	EBUSY	   the file has been set up already, or used unconfigured
 *	ENOENT	   no such timer: never was, of another file, or dead
 *	ENOSPC	   the file, or the user who opened it, has as many timers as
 *		   may be
 *	ENOMEM	   out of memory
 *	EOPNOTSUPP the clock runs by itself and cannot be advanced
 *	EINTR	   a fatal signal
 *
 * An ioctl that fails has changed nothing, unless its comment says otherwise.
 */
#ifndef _COGWHEEL_IOCTL_H
#define _COGWHEEL_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Grows with each change of this file. */
#define COGWHEEL_VERSION	4

#define COGWHEEL_NAME_LEN	32	/* a name, with its final zero byte */
#define COGWHEEL_TEXT_LEN	128	/* a line of text, likewise */

/* What moves the clock of a wheel. */
#define COGWHEEL_CLOCK_MONOTONIC	0	/* CLOCK_MONOTONIC / tick_ns */
#define COGWHEEL_CLOCK_JIFFIES		1	/* the kernel's jiffies, 64 bits */
#define COGWHEEL_CLOCK_MANUAL		2	/* COGWHEEL_IOC_ADVANCE */

/**
 * struct cogwheel_ioc_info - the interface, and its limits
 * @size: sizeof(struct cogwheel_ioc_info)
 * @reserved: zero
 * @version: out: COGWHEEL_VERSION of the kernel
 * @kinds: out: how many kinds COGWHEEL_IOC_KIND can name
 * @clocks: out: bit mask of the clocks, 1 << COGWHEEL_CLOCK_*
 * @setup_flags: out: the flags that COGWHEEL_IOC_SETUP knows
 * @arm_flags: out: the flags that COGWHEEL_IOC_ARM knows
 * @advance_flags: out: the flags that COGWHEEL_IOC_ADVANCE knows
 * @event_size: out: bytes of one record of read()
 * @item_size: out: bytes of one record of COGWHEEL_IOC_WALK
 * @max_timers: out: how many timers a file may have, those included that have
 *	fired and whose event is unread
 * @tick_ns_min: out: shortest tick of COGWHEEL_CLOCK_MONOTONIC, in ns
 * @tick_ns_max: out: longest tick
 * @tick_ns_def: out: what tick_ns = 0 stands for
 * @jiffy_ns: out: length of a tick of COGWHEEL_CLOCK_JIFFIES, in ns, rounded
 * @batch_flags: out: the flags that COGWHEEL_IOC_BATCH knows
 * @op_size: out: bytes of one entry of a batch
 * @max_user_timers: out: how many timers all files together may have that one
 *	user has opened; they count by pages of timers
 * @user_timers: out: how many the open files of this file's user have room for
 * @max_user_files: out: how many files a user may have open; one more, and
 *	open() fails with EMFILE
 * @ring_max: out: the most events that a ring may hold
 *
 * May be called before set-up, and leaves the file unconfigured.
 */
struct cogwheel_ioc_info {
	__u32 size;
	__u32 reserved;
	__u32 version;
	__u32 kinds;
	__u32 clocks;
	__u32 setup_flags;
	__u32 arm_flags;
	__u32 advance_flags;
	__u32 event_size;
	__u32 item_size;
	__u64 max_timers;
	__u64 tick_ns_min;
	__u64 tick_ns_max;
	__u64 tick_ns_def;
	__u64 jiffy_ns;
	__u32 batch_flags;
	__u32 op_size;
	__u64 max_user_timers;
	__u64 user_timers;
	__u64 max_user_files;
	__u64 ring_max;
};

/* What a kind promises: bits of cogwheel_ioc_kind.traits. */
#define COGWHEEL_TRAIT_EXACT	0x01	/* fires at the due tick, in order of arming */
#define COGWHEEL_TRAIT_ONE_STEP	0x02	/* next is the tick of the first fire itself */
#define COGWHEEL_TRAIT_SCANS	0x04	/* a jump may look at every pending timer */
#define COGWHEEL_TRAIT_SLACK	0x08	/* makes use of a timer's slack */
#define COGWHEEL_TRAIT_BOUNDED	0x10	/* takes no more than max_timers timers */
#define COGWHEEL_TRAIT_POOLED	0x20	/* keeps memory of its own for timers */
#define COGWHEEL_TRAIT_ROUNDS	0x40	/* rounds up: adds no tick to a delay on a running clock */
#define COGWHEEL_TRAIT_ONCE	0x80	/* the passing of time moves a timer once at most */
#define COGWHEEL_TRAIT_LAZY	0x100	/* a pending timer can be put off by a store */

/**
 * struct cogwheel_ioc_kind - one kind of wheel
 * @size: sizeof(struct cogwheel_ioc_kind)
 * @index: which, from 0 to cogwheel_ioc_info.kinds - 1; EINVAL beyond
 * @name: out: its name, as COGWHEEL_IOC_SETUP takes it
 * @brief: out: one line about it
 * @source: out: whose design it is
 * @traits: out: COGWHEEL_TRAIT_* bits
 * @node_size: out: bytes of the kind's part of a timer
 * @timer_size: out: bytes of kernel memory of a one-shot timer, its share of
 *	handle table and page included, rounded up; what a kind with
 *	COGWHEEL_TRAIT_POOLED takes for itself comes on top
 * @periodic_size: out: the same for a periodic timer
 * @slots_min: out: least value of the option slots, 0 where it has none
 * @slots_max: out: largest value
 * @slots_def: out: what slots = 0 stands for
 * @levels_min: out: least value of the option levels, 0 where it has none
 * @levels_max: out: largest value
 * @levels_def: out: what levels = 0 stands for
 * @max_timers: out: with COGWHEEL_TRAIT_BOUNDED the most timers, else 0
 * @reserved: out: zero
 *
 * May be called before set-up, and leaves the file unconfigured.
 */
struct cogwheel_ioc_kind {
	__u32 size;
	__u32 index;
	char name[COGWHEEL_NAME_LEN];
	char brief[COGWHEEL_TEXT_LEN];
	char source[COGWHEEL_TEXT_LEN];
	__u32 traits;
	__u32 node_size;
	__u32 timer_size;
	__u32 periodic_size;
	__u32 slots_min;
	__u32 slots_max;
	__u32 slots_def;
	__u32 levels_min;
	__u32 levels_max;
	__u32 levels_def;
	__u32 max_timers;
	__u32 reserved;
};

/**
 * struct cogwheel_ioc_setup - what the wheel of a file shall be
 * @size: sizeof(struct cogwheel_ioc_setup)
 * @flags: none yet: zero
 * @clock: COGWHEEL_CLOCK_*
 * @slots: the kind's option of that name, 0 for its default
 * @levels: the kind's option of that name, 0 for its default
 * @reserved: zero
 * @tick_ns: length of a tick of COGWHEEL_CLOCK_MONOTONIC in ns, 0 for the
 *	default of 1 ms; zero for every other clock
 * @start: first value of a COGWHEEL_CLOCK_MANUAL clock; zero for the others
 * @kind: name of a kind; empty for the default, "cascading"
 * @ring: how many events the ring holds, a power of two; 0 for no ring
 *
 * All zero it asks for what a file gets that is not set up at all: cascading,
 * on a monotonic clock of 1 ms. Only once, and before the first ioctl that
 * needs a wheel: EBUSY after that.
 */
struct cogwheel_ioc_setup {
	__u32 size;
	__u32 flags;
	__u32 clock;
	__u32 slots;
	__u32 levels;
	__u32 reserved;
	__u64 tick_ns;
	__u64 start;
	char kind[COGWHEEL_NAME_LEN];
	__u64 ring;
};

/* Flags of COGWHEEL_IOC_ARM. */
#define COGWHEEL_ARM_ABSOLUTE	0x1	/* when is a tick, not a delay */
#define COGWHEEL_ARM_MOVE	0x2	/* arm the timer that handle names */
#define COGWHEEL_ARM_NS		0x4	/* when, period and slack are in ns */

/* What a timer was before COGWHEEL_IOC_ARM or COGWHEEL_IOC_CANCEL. */
#define COGWHEEL_WAS_PENDING	0x1	/* it was armed */
#define COGWHEEL_WAS_UNREAD	0x2	/* it had an event, which was dropped */

/**
 * struct cogwheel_ioc_arm - arm a timer
 * @size: sizeof(struct cogwheel_ioc_arm)
 * @flags: COGWHEEL_ARM_* bits
 * @handle: with COGWHEEL_ARM_MOVE, the timer. Out: the timer's handle, never
 *	zero; the same as before where it was moved
 * @when: the delay in ticks, or with COGWHEEL_ARM_ABSOLUTE the due tick
 * @period: ticks from one due tick to the next; 0 for a one-shot timer
 * @slack: ticks that it may fire late; only a kind with COGWHEEL_TRAIT_SLACK
 *	makes use of it
 * @user: the program's own; each event of the timer carries it
 * @due: out: the due tick, as asked for
 * @result: out: COGWHEEL_WAS_* bits; always 0 without COGWHEEL_ARM_MOVE
 * @reserved: zero
 *
 * With the clock at T, a delay of N is due at T + N on a manual clock, and at
 * T + N + 1 on a running one, where a part of tick T has gone already (not so
 * for a kind with COGWHEEL_TRAIT_ROUNDS); sums stop at 2^64-1. A delay of 0,
 * and a tick that is not later than the clock, is overdue: it fires on the next
 * tick that is processed.
 *
 * With COGWHEEL_ARM_NS, which a manual clock does not take (EINVAL), times are
 * nanoseconds: @when is a delay, or with COGWHEEL_ARM_ABSOLUTE a time of
 * CLOCK_MONOTONIC, whatever moves the wheel. @when and @period are rounded up
 * to ticks and @slack is rounded down; the timer is not early in real time.
 *
 * A timer that is moved takes all of @when, @period, @slack and @user anew. A
 * pending timer that is moved to the due tick and the slack that it has keeps
 * its place in the order of arming. An event of it that is unread is dropped,
 * and @result says so.
 *
 * A handle dies when the event of the timer's last fire is read, and when it is
 * cancelled. It is never used again.
 */
struct cogwheel_ioc_arm {
	__u32 size;
	__u32 flags;
	__u64 handle;
	__u64 when;
	__u64 period;
	__u64 slack;
	__u64 user;
	__u64 due;
	__u32 result;
	__u32 reserved;
};

/**
 * struct cogwheel_ioc_cancel - disarm a timer and forget it
 * @size: sizeof(struct cogwheel_ioc_cancel)
 * @flags: none yet: zero
 * @handle: the timer; dead afterwards
 * @result: out: COGWHEEL_WAS_* bits: whether it was pending, and whether it had
 *	fired and its event was unread; never neither
 * @reserved: zero
 */
struct cogwheel_ioc_cancel {
	__u32 size;
	__u32 flags;
	__u64 handle;
	__u32 result;
	__u32 reserved;
};

/* What an entry of a batch does. */
#define COGWHEEL_OP_ARM		0	/* what COGWHEEL_IOC_ARM does */
#define COGWHEEL_OP_CANCEL	1	/* what COGWHEEL_IOC_CANCEL does */

/**
 * struct cogwheel_op - an entry of a batch
 * @op: COGWHEEL_OP_*
 * @flags: of COGWHEEL_OP_ARM, COGWHEEL_ARM_* bits; else zero
 * @handle: as in struct cogwheel_ioc_arm or struct cogwheel_ioc_cancel
 * @when: as in struct cogwheel_ioc_arm; zero with COGWHEEL_OP_CANCEL
 * @period: likewise
 * @slack: likewise
 * @user: likewise
 * @due: out: the due tick, as asked for, of COGWHEEL_OP_ARM
 * @result: out: COGWHEEL_WAS_* bits
 * @error: out: 0, or as a negative number the errno with which a call of its
 *	own would have failed; it has then changed nothing
 */
struct cogwheel_op {
	__u32 op;
	__u32 flags;
	__u64 handle;
	__u64 when;
	__u64 period;
	__u64 slack;
	__u64 user;
	__u64 due;
	__u32 result;
	__s32 error;
};

/**
 * struct cogwheel_ioc_batch - arm, move and cancel many timers
 * @size: sizeof(struct cogwheel_ioc_batch)
 * @flags: none yet: zero
 * @ops: address of an array of entries
 * @count: how many there are; any number
 * @done: out: how many have been carried out
 * @failed: out: how many of these have an error
 * @op_size: bytes from one entry to the next: sizeof(struct cogwheel_op), which
 *	may grow like any structure
 * @reserved: zero
 *
 * The entries are carried out in order, each as if by a call of its own, and
 * each gets its own result: the call succeeds although some or all of them
 * fail. Delays count from when the call comes to the entry, or a little before,
 * but never from before the call. Other threads may come in between.
 *
 * Where the call itself fails, with EFAULT for entries that cannot be read or
 * written or EINTR for a fatal signal, @done and @failed tell how far it came:
 * what is before @done has been carried out, and nothing after it. (If another
 * thread takes the memory away during the call, up to 64 entries may have been
 * carried out without their results being written.)
 */
struct cogwheel_ioc_batch {
	__u32 size;
	__u32 flags;
	__u64 ops;
	__u64 count;
	__u64 done;
	__u64 failed;
	__u32 op_size;
	__u32 reserved;
};

/* Flags of COGWHEEL_IOC_ADVANCE. */
#define COGWHEEL_ADVANCE_ABSOLUTE	0x1	/* to is a tick, not a distance */

/**
 * struct cogwheel_ioc_advance - move a manual clock
 * @size: sizeof(struct cogwheel_ioc_advance)
 * @flags: COGWHEEL_ADVANCE_* bits
 * @to: how many ticks, the sum stopping at 2^64-1, or with
 *	COGWHEEL_ADVANCE_ABSOLUTE the tick to advance to
 * @now: out: the tick that was reached
 *
 * Stops before the first tick at which a timer whose event is unread would
 * fire again, so that no event is lost: where @now is not what was asked for,
 * read and call again. A fatal signal stops it anywhere; it then fails with
 * EINTR and has advanced a part of the way.
 */
struct cogwheel_ioc_advance {
	__u32 size;
	__u32 flags;
	__u64 to;
	__u64 now;
};

/* Bits of cogwheel_ioc_state.status. */
#define COGWHEEL_STATE_NEXT	0x1	/* there is a next tick */

/**
 * struct cogwheel_ioc_state - where the wheel of a file stands
 * @size: sizeof(struct cogwheel_ioc_state)
 * @flags: none yet: zero
 * @status: out: COGWHEEL_STATE_* bits
 * @reserved: zero
 * @now: out: the clock
 * @next: out: the next tick at which the wheel needs the CPU, later than now;
 *	only with COGWHEEL_STATE_NEXT
 * @pending: out: timers that are armed
 * @unread: out: events that read() has not delivered
 * @timers: out: timers that have a handle, each pending, unread or both
 * @fired: out: fires since set-up
 * @moved: out: moves of a timer between slots by the passing of time
 * @touched: out: slots visited as time passed
 * @wakeups: out: how often the driver of a running clock has woken up
 */
struct cogwheel_ioc_state {
	__u32 size;
	__u32 flags;
	__u32 status;
	__u32 reserved;
	__u64 now;
	__u64 next;
	__u64 pending;
	__u64 unread;
	__u64 timers;
	__u64 fired;
	__u64 moved;
	__u64 touched;
	__u64 wakeups;
};

/**
 * struct cogwheel_ioc_geometry - what the wheel of a file is
 * @size: sizeof(struct cogwheel_ioc_geometry)
 * @flags: none yet: zero
 * @kind: out: name of its kind
 * @clock: out: COGWHEEL_CLOCK_*
 * @levels: out: number of levels; also the most steps that repeating "advance
 *	to next" takes to reach the first fire
 * @slots: out: slots on each level
 * @shift: out: a slot of level n spans width << (n * shift) ticks
 * @width: out: ticks that a slot of level 0 spans
 * @tick_ns: out: length of a tick in ns, 0 with COGWHEEL_CLOCK_MANUAL
 */
struct cogwheel_ioc_geometry {
	__u32 size;
	__u32 flags;
	char kind[COGWHEEL_NAME_LEN];
	__u32 clock;
	__u32 levels;
	__u32 slots;
	__u32 shift;
	__u64 width;
	__u64 tick_ns;
};

/* cogwheel_item.level of a timer that waits outside all levels. */
#define COGWHEEL_NO_LEVEL	0xffffffffU

/* Bits of cogwheel_item.flags. */
#define COGWHEEL_ITEM_MORE	0x1	/* its slot holds more, left out here */
#define COGWHEEL_ITEM_PERIODIC	0x2	/* a periodic timer */

/**
 * struct cogwheel_item - a pending timer, for a picture of the wheel
 * @due: its due tick
 * @tick: the tick at which the wheel looks at it next, to fire or to move it
 * @handle: its handle
 * @user: the program's own
 * @level: the level it waits on, or COGWHEEL_NO_LEVEL
 * @slot: its slot on that level
 * @flags: COGWHEEL_ITEM_* bits
 * @reserved: zero
 */
struct cogwheel_item {
	__u64 due;
	__u64 tick;
	__u64 handle;
	__u64 user;
	__u32 level;
	__u32 slot;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct cogwheel_ioc_walk - look at a wheel, slot by slot
 * @size: sizeof(struct cogwheel_ioc_walk)
 * @flags: none yet: zero
 * @items: address of an array of struct cogwheel_item
 * @count: its room, 1 or more. Out: how many were filled in; 0 at the end
 * @reserved: zero
 * @pos: where the walk stands: zero to begin, afterwards as the last call
 *	returned it
 *
 * Every slot is visited at most once in a walk; timers armed, moved or
 * cancelled between two calls may or may not be seen.
 */
struct cogwheel_ioc_walk {
	__u32 size;
	__u32 flags;
	__u64 items;
	__u32 count;
	__u32 reserved;
	__u64 pos[2];
};

/* Bits of cogwheel_event.flags. */
#define COGWHEEL_EVENT_LAST	0x1	/* the timer's last: its handle is dead now */

/**
 * struct cogwheel_event - what read() returns, one for each timer that fired
 * @user: the timer's cogwheel_ioc_arm.user
 * @handle: the timer
 * @due: its due tick
 * @fired: the tick that the clock showed as it fired
 * @missed: periods that ended unreported: those not later than @fired, and on a
 *	running clock those that ended before this event was read
 * @flags: COGWHEEL_EVENT_* bits
 * @reserved: zero
 *
 * read() returns as many as there are and the buffer holds, in the order in
 * which they fired, and waits for the first one unless O_NONBLOCK is set. It
 * fails with EINVAL where the buffer does not hold one, EAGAIN where there is
 * none and O_NONBLOCK is set, EFAULT where the first cannot be copied (it then
 * stays unread), EINTR for a signal.
 */
struct cogwheel_event {
	__u64 user;
	__u64 handle;
	__u64 due;
	__u64 fired;
	__u64 missed;
	__u32 flags;
	__u32 reserved;
};

/* Bits of cogwheel_ring.flags. */
#define COGWHEEL_RING_MORE	0x1	/* events wait outside: COGWHEEL_IOC_RING */

/* Bytes of a ring of so many events, as mmap() takes them. */
#define COGWHEEL_RING_SIZE(events)	\
	(128 + (events) * sizeof(struct cogwheel_event))

/**
 * struct cogwheel_ring - the beginning of a ring
 * @head: the program's: how many events it has consumed, modulo 2^32
 * @reserved: zero
 * @tail: the kernel's: how many events it has put in, modulo 2^32
 * @flags: the kernel's: COGWHEEL_RING_* bits
 * @entries: how many events it holds, a power of two
 * @offset: bytes from here to the first of these
 *
 * A file that was set up with a ring delivers its events there instead of by
 * read(), which then fails with EINVAL. The program maps it, shared, from
 * offset 0 of the file. Event number n is in place n modulo @entries:
 *
 *	tail = load @tail with acquire
 *	while @head is not tail: consume the event number @head
 *	store @head with release
 *
 * An event that is in the ring has been delivered, as if read() had returned
 * it. While there is no room for one it waits in its timer, in order, and can
 * still be cancelled; @flags then has COGWHEEL_RING_MORE. Such events come
 * when there is room and a timer expires, or the program calls poll() or
 * COGWHEEL_IOC_RING. So a program that does not poll level-triggered does,
 * when it finds the ring empty,
 *
 *	store @head, full barrier, load @flags
 *
 * and calls COGWHEEL_IOC_RING if COGWHEEL_RING_MORE is set. It is also set
 * after @entries events that came without a call in between: the kernel does
 * no more for a program than it has asked for.
 *
 * The kernel reads nothing here but @head. A @head that is not among the last
 * @entries values of @tail, and @tail, is taken for a full ring; poll() then
 * reports POLLERR.
 */
struct cogwheel_ring {
	__u32 head;
	__u32 reserved[15];
	__u32 tail;
	__u32 flags;
	__u32 entries;
	__u32 offset;
};

/**
 * struct cogwheel_ioc_ring - let waiting events into the ring
 * @size: sizeof(struct cogwheel_ioc_ring)
 * @flags: none yet: zero
 * @ready: out: events in the ring that are not consumed
 * @waiting: out: events that found no room
 *
 * Fails with EINVAL where the file has no ring, or its head cannot be.
 */
struct cogwheel_ioc_ring {
	__u32 size;
	__u32 flags;
	__u64 ready;
	__u64 waiting;
};

#define COGWHEEL_IOC_TYPE	0xc7

#define COGWHEEL_IOC_INFO	_IOWR(COGWHEEL_IOC_TYPE, 0x00, struct cogwheel_ioc_info)
#define COGWHEEL_IOC_KIND	_IOWR(COGWHEEL_IOC_TYPE, 0x01, struct cogwheel_ioc_kind)
#define COGWHEEL_IOC_SETUP	_IOWR(COGWHEEL_IOC_TYPE, 0x02, struct cogwheel_ioc_setup)
#define COGWHEEL_IOC_GEOMETRY	_IOWR(COGWHEEL_IOC_TYPE, 0x03, struct cogwheel_ioc_geometry)
#define COGWHEEL_IOC_STATE	_IOWR(COGWHEEL_IOC_TYPE, 0x04, struct cogwheel_ioc_state)
#define COGWHEEL_IOC_ARM	_IOWR(COGWHEEL_IOC_TYPE, 0x05, struct cogwheel_ioc_arm)
#define COGWHEEL_IOC_CANCEL	_IOWR(COGWHEEL_IOC_TYPE, 0x06, struct cogwheel_ioc_cancel)
#define COGWHEEL_IOC_ADVANCE	_IOWR(COGWHEEL_IOC_TYPE, 0x07, struct cogwheel_ioc_advance)
#define COGWHEEL_IOC_WALK	_IOWR(COGWHEEL_IOC_TYPE, 0x08, struct cogwheel_ioc_walk)
#define COGWHEEL_IOC_BATCH	_IOWR(COGWHEEL_IOC_TYPE, 0x09, struct cogwheel_ioc_batch)
#define COGWHEEL_IOC_RING	_IOWR(COGWHEEL_IOC_TYPE, 0x0a, struct cogwheel_ioc_ring)

#endif /* _COGWHEEL_IOCTL_H */
