/* SPDX-License-Identifier: Apache-2.0
 *
 * Private folders for sockets, and removing a folder with all that is in it.
 */
#ifndef SED_FOLDER_H
#define SED_FOLDER_H

#include "util/error.h"

#include <stdbool.h>

/* Makes a folder "espalier-KIND-XXXXXX" of this user alone in `where` (NULL, "": $TMPDIR, or /tmp), and
 * removes those of that kind that daemons of this user have left there which were killed, with the processes
 * that go on in them (sed/pool/strays.h). `path` has `size`
 * bytes. The folder is in use as long as *lock is open: the caller closes it after folder_remove().
 * ESP_LIMIT: the path is too long; ESP_SYSTEM. */
enum esp_status folder_make(const char *where, const char *kind, char *path, size_t size, int *lock,
                            struct esp_error *error);

/* The folder of folder_make(), when the process that made it is no more. False: it is, or somebody else sees
 * to that. */
bool folder_remove_left(const char *path);

/* The same folder for all processes of this user that give the same `key`, which is new with each of their
 * jobs: in use as long as one of them has its *lock open. */
enum esp_status folder_share(const char *where, const char *kind, const char *key, char *path, size_t size,
                             int *lock, struct esp_error *error);
/* Closes the lock of folder_share(); the last one removes the folder. */
void folder_leave(const char *path, int lock);

/* Does not follow symbolic links; what cannot be removed stays. */
void folder_remove(const char *path);
/* All that is in it, but not itself. */
void folder_empty(int folder);

#endif
