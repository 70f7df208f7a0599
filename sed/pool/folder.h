/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates private folders for sockets, and removes folders with their contents. */
#ifndef SED_FOLDER_H
#define SED_FOLDER_H

#include "util/error.h"

#include <stdbool.h>

/* Creates a folder "espalier-KIND-XXXXXX" of this user in `where` (NULL, "": $TMPDIR, or /tmp), and
 * removes folders of that kind left by killed daemons of this user, with the processes still running in
 * them (sed/pool/strays.h). `path` has `size` bytes. The folder is in use as long as *lock is open: the
 * caller closes it after folder_remove(). ESP_LIMIT: the path is too long; ESP_SYSTEM. */
enum esp_status folder_make(const char *where, const char *kind, char *path, size_t size, int *lock,
                            struct esp_error *error);

/* Removes a folder of folder_make() if its process has ended. False: it has not, or another process
 * removes it. */
bool folder_remove_left(const char *path);

/* Returns one folder for all processes of this user with the same `key`, which is new for each of their
 * jobs: in use as long as one of them has its *lock open. */
enum esp_status folder_share(const char *where, const char *kind, const char *key, char *path, size_t size,
                             int *lock, struct esp_error *error);
/* Closes the lock of folder_share(); the last one removes the folder. */
void folder_leave(const char *path, int lock);

/* Removes a folder without following symbolic links; undeletable files stay. */
void folder_remove(const char *path);
/* Removes the contents of a folder, but not itself. */
void folder_empty(int folder);

#endif
