/* SPDX-License-Identifier: Apache-2.0
 *
 * What systemd is told, by the protocol of sd_notify(3): one datagram to the socket that it names in the
 * environment. Without systemd, nothing happens.
 */
#ifndef SERVICES_NOTIFY_H
#define SERVICES_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/* Whether it waits to hear that this process is ready. */
bool notify_wanted(void);
/* Lines of "NAME=value": "READY=1". */
void notify_systemd(const char *lines);
/* "RELOADING=1" with the time that belongs to it; to be followed by "READY=1". */
void notify_reloading(void);

/* How often systemd wants a sign of life (half of WATCHDOG_USEC); 0: never. */
int64_t notify_watchdog_ns(void);

#endif
