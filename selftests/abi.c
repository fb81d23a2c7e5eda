// SPDX-License-Identifier: GPL-2.0
/*
 * The layout of every structure of the ioctl header: what a release had stays
 * where it was, and structures only grow at their end. It is the same for 32
 * and 64 bits, in C and in C++. Wrong is what does not compile. Run, it prints
 * that it compiled.
 */
#include <stddef.h>
#include <stdio.h>

#include "../cogwheel_ioctl.h"

#ifdef __cplusplus
#define SAME(name, a, b)	static_assert((a) == (b), name)
#else
#define SAME(name, a, b)	_Static_assert((a) == (b), name)
#endif

#define SIZE(type, size)	\
	SAME("sizeof " #type, sizeof(struct type), size)
#define AT(type, field, at)	\
	SAME(#type "." #field, offsetof(struct type, field), at)
#define NR(cmd, number, type)	\
	SAME(#cmd, cmd, 3UL << 30 | (unsigned long)sizeof(struct type) << 16 | \
		   0xc7UL << 8 | (number))

SIZE(cogwheel_ioc_info, 120);
AT(cogwheel_ioc_info, size, 0);
AT(cogwheel_ioc_info, reserved, 4);
AT(cogwheel_ioc_info, version, 8);
AT(cogwheel_ioc_info, kinds, 12);
AT(cogwheel_ioc_info, clocks, 16);
AT(cogwheel_ioc_info, setup_flags, 20);
AT(cogwheel_ioc_info, arm_flags, 24);
AT(cogwheel_ioc_info, advance_flags, 28);
AT(cogwheel_ioc_info, event_size, 32);
AT(cogwheel_ioc_info, item_size, 36);
AT(cogwheel_ioc_info, max_timers, 40);
AT(cogwheel_ioc_info, tick_ns_min, 48);
AT(cogwheel_ioc_info, tick_ns_max, 56);
AT(cogwheel_ioc_info, tick_ns_def, 64);
AT(cogwheel_ioc_info, jiffy_ns, 72);
AT(cogwheel_ioc_info, batch_flags, 80);
AT(cogwheel_ioc_info, op_size, 84);
AT(cogwheel_ioc_info, max_user_timers, 88);
AT(cogwheel_ioc_info, user_timers, 96);
AT(cogwheel_ioc_info, max_user_files, 104);
AT(cogwheel_ioc_info, ring_max, 112);
NR(COGWHEEL_IOC_INFO, 0, cogwheel_ioc_info);

SIZE(cogwheel_ioc_kind, 344);
AT(cogwheel_ioc_kind, size, 0);
AT(cogwheel_ioc_kind, index, 4);
AT(cogwheel_ioc_kind, name, 8);
AT(cogwheel_ioc_kind, brief, 40);
AT(cogwheel_ioc_kind, source, 168);
AT(cogwheel_ioc_kind, traits, 296);
AT(cogwheel_ioc_kind, node_size, 300);
AT(cogwheel_ioc_kind, timer_size, 304);
AT(cogwheel_ioc_kind, periodic_size, 308);
AT(cogwheel_ioc_kind, slots_min, 312);
AT(cogwheel_ioc_kind, slots_max, 316);
AT(cogwheel_ioc_kind, slots_def, 320);
AT(cogwheel_ioc_kind, levels_min, 324);
AT(cogwheel_ioc_kind, levels_max, 328);
AT(cogwheel_ioc_kind, levels_def, 332);
AT(cogwheel_ioc_kind, max_timers, 336);
AT(cogwheel_ioc_kind, reserved, 340);
NR(COGWHEEL_IOC_KIND, 1, cogwheel_ioc_kind);

SIZE(cogwheel_ioc_setup, 80);
AT(cogwheel_ioc_setup, size, 0);
AT(cogwheel_ioc_setup, flags, 4);
AT(cogwheel_ioc_setup, clock, 8);
AT(cogwheel_ioc_setup, slots, 12);
AT(cogwheel_ioc_setup, levels, 16);
AT(cogwheel_ioc_setup, reserved, 20);
AT(cogwheel_ioc_setup, tick_ns, 24);
AT(cogwheel_ioc_setup, start, 32);
AT(cogwheel_ioc_setup, kind, 40);
AT(cogwheel_ioc_setup, ring, 72);
NR(COGWHEEL_IOC_SETUP, 2, cogwheel_ioc_setup);

SIZE(cogwheel_ioc_geometry, 72);
AT(cogwheel_ioc_geometry, size, 0);
AT(cogwheel_ioc_geometry, flags, 4);
AT(cogwheel_ioc_geometry, kind, 8);
AT(cogwheel_ioc_geometry, clock, 40);
AT(cogwheel_ioc_geometry, levels, 44);
AT(cogwheel_ioc_geometry, slots, 48);
AT(cogwheel_ioc_geometry, shift, 52);
AT(cogwheel_ioc_geometry, width, 56);
AT(cogwheel_ioc_geometry, tick_ns, 64);
NR(COGWHEEL_IOC_GEOMETRY, 3, cogwheel_ioc_geometry);

SIZE(cogwheel_ioc_state, 88);
AT(cogwheel_ioc_state, size, 0);
AT(cogwheel_ioc_state, flags, 4);
AT(cogwheel_ioc_state, status, 8);
AT(cogwheel_ioc_state, reserved, 12);
AT(cogwheel_ioc_state, now, 16);
AT(cogwheel_ioc_state, next, 24);
AT(cogwheel_ioc_state, pending, 32);
AT(cogwheel_ioc_state, unread, 40);
AT(cogwheel_ioc_state, timers, 48);
AT(cogwheel_ioc_state, fired, 56);
AT(cogwheel_ioc_state, moved, 64);
AT(cogwheel_ioc_state, touched, 72);
AT(cogwheel_ioc_state, wakeups, 80);
NR(COGWHEEL_IOC_STATE, 4, cogwheel_ioc_state);

SIZE(cogwheel_ioc_arm, 64);
AT(cogwheel_ioc_arm, size, 0);
AT(cogwheel_ioc_arm, flags, 4);
AT(cogwheel_ioc_arm, handle, 8);
AT(cogwheel_ioc_arm, when, 16);
AT(cogwheel_ioc_arm, period, 24);
AT(cogwheel_ioc_arm, slack, 32);
AT(cogwheel_ioc_arm, user, 40);
AT(cogwheel_ioc_arm, due, 48);
AT(cogwheel_ioc_arm, result, 56);
AT(cogwheel_ioc_arm, reserved, 60);
NR(COGWHEEL_IOC_ARM, 5, cogwheel_ioc_arm);

SIZE(cogwheel_ioc_cancel, 24);
AT(cogwheel_ioc_cancel, size, 0);
AT(cogwheel_ioc_cancel, flags, 4);
AT(cogwheel_ioc_cancel, handle, 8);
AT(cogwheel_ioc_cancel, result, 16);
AT(cogwheel_ioc_cancel, reserved, 20);
NR(COGWHEEL_IOC_CANCEL, 6, cogwheel_ioc_cancel);

SIZE(cogwheel_ioc_advance, 24);
AT(cogwheel_ioc_advance, size, 0);
AT(cogwheel_ioc_advance, flags, 4);
AT(cogwheel_ioc_advance, to, 8);
AT(cogwheel_ioc_advance, now, 16);
NR(COGWHEEL_IOC_ADVANCE, 7, cogwheel_ioc_advance);

SIZE(cogwheel_ioc_walk, 40);
AT(cogwheel_ioc_walk, size, 0);
AT(cogwheel_ioc_walk, flags, 4);
AT(cogwheel_ioc_walk, items, 8);
AT(cogwheel_ioc_walk, count, 16);
AT(cogwheel_ioc_walk, reserved, 20);
AT(cogwheel_ioc_walk, pos, 24);
NR(COGWHEEL_IOC_WALK, 8, cogwheel_ioc_walk);

SIZE(cogwheel_op, 64);
AT(cogwheel_op, op, 0);
AT(cogwheel_op, flags, 4);
AT(cogwheel_op, handle, 8);
AT(cogwheel_op, when, 16);
AT(cogwheel_op, period, 24);
AT(cogwheel_op, slack, 32);
AT(cogwheel_op, user, 40);
AT(cogwheel_op, due, 48);
AT(cogwheel_op, result, 56);
AT(cogwheel_op, error, 60);

SIZE(cogwheel_ioc_batch, 48);
AT(cogwheel_ioc_batch, size, 0);
AT(cogwheel_ioc_batch, flags, 4);
AT(cogwheel_ioc_batch, ops, 8);
AT(cogwheel_ioc_batch, count, 16);
AT(cogwheel_ioc_batch, done, 24);
AT(cogwheel_ioc_batch, failed, 32);
AT(cogwheel_ioc_batch, op_size, 40);
AT(cogwheel_ioc_batch, reserved, 44);
NR(COGWHEEL_IOC_BATCH, 9, cogwheel_ioc_batch);

SIZE(cogwheel_ring, 80);
AT(cogwheel_ring, head, 0);
AT(cogwheel_ring, reserved, 4);
AT(cogwheel_ring, tail, 64);
AT(cogwheel_ring, flags, 68);
AT(cogwheel_ring, entries, 72);
AT(cogwheel_ring, offset, 76);
SAME("ring size", COGWHEEL_RING_SIZE(2), 128 + 2 * 48);

SIZE(cogwheel_ioc_ring, 24);
AT(cogwheel_ioc_ring, size, 0);
AT(cogwheel_ioc_ring, flags, 4);
AT(cogwheel_ioc_ring, ready, 8);
AT(cogwheel_ioc_ring, waiting, 16);
NR(COGWHEEL_IOC_RING, 10, cogwheel_ioc_ring);

SIZE(cogwheel_item, 48);
AT(cogwheel_item, due, 0);
AT(cogwheel_item, tick, 8);
AT(cogwheel_item, handle, 16);
AT(cogwheel_item, user, 24);
AT(cogwheel_item, level, 32);
AT(cogwheel_item, slot, 36);
AT(cogwheel_item, flags, 40);
AT(cogwheel_item, reserved, 44);

SIZE(cogwheel_event, 48);
AT(cogwheel_event, user, 0);
AT(cogwheel_event, handle, 8);
AT(cogwheel_event, due, 16);
AT(cogwheel_event, fired, 24);
AT(cogwheel_event, missed, 32);
AT(cogwheel_event, flags, 40);
AT(cogwheel_event, reserved, 44);

int main(void)
{
	printf("TAP version 13\n1..1\nok 1 the layout is that of release 1\n");
	return 0;
}
