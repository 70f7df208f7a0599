/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agents and redirectors have answered this process, also before the library was finalized and
 * initialized anew. One that was there and refuses connections is being restarted, in all likelihood; one
 * that never was may be a misspelt address, which is to be told soon.
 */
#ifndef CLIENT_ACQUAINTED_H
#define CLIENT_ACQUAINTED_H

#include <stdbool.h>

#define ACQUAINTED_MOST 64 /* kept; then the oldest one is forgotten */

/* It answered. Any thread. */
void acquainted_note(const char *address);
/* Whether it ever did. Any thread. */
bool acquainted_has(const char *address);
/* Before a new life of the library in a forked child. False: another thread of the parent was in the middle
 * of a change at the fork. */
bool acquainted_after_fork(void);

#endif
