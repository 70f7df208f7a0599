/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agents and redirectors have answered this process, also before the library was finalized and
 * initialized again. If such a node refuses connections, it is most likely being restarted, and the client
 * waits. An address that never answered may be misspelt, and the client reports it soon.
 */
#ifndef CLIENT_ACQUAINTED_H
#define CLIENT_ACQUAINTED_H

#include <stdbool.h>

#define ACQUAINTED_MOST 64 /* number of addresses; the oldest one is overwritten */

/* Notes that the node has answered. Any thread. */
void acquainted_note(const char *address);
/* Whether the node has ever answered. Any thread. */
bool acquainted_has(const char *address);
/* Called before the library is initialized in a forked child. Returns false if another thread of the
 * parent was changing the table during the fork. */
bool acquainted_after_fork(void);

#endif
