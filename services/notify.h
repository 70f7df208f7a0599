/* SPDX-License-Identifier: Apache-2.0
 *
 * Notifies systemd by the protocol of sd_notify(3): one datagram to the socket named in the environment.
 * Without systemd, does nothing. */
#ifndef SERVICES_NOTIFY_H
#define SERVICES_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether systemd waits for this process to be ready. */
bool notify_wanted(void);
/* Sends lines of "NAME=value": "READY=1". */
void notify_systemd(const char *lines);
/* Sends "RELOADING=1" with its time; "READY=1" must follow. */
void notify_reloading(void);

/* Returns the interval at which systemd wants signs of life (half of WATCHDOG_USEC); 0: never. */
int64_t notify_watchdog_ns(void);

#endif
