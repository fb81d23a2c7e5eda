/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the module's init and exit need of the device.
 */
#ifndef _COGWHEEL_DEV_H
#define _COGWHEEL_DEV_H

int cogwheel_dev_init(void);
void cogwheel_dev_exit(void);

#endif /* _COGWHEEL_DEV_H */
