/* SPDX-License-Identifier: Apache-2.0
 *
 * Private folders for sockets, and removing a folder with all that is in it.
 */
#ifndef SED_FOLDER_H
#define SED_FOLDER_H

#include "util/error.h"

/* Makes a folder "espalier-KIND-XXXXXX" of this user alone in `where` (NULL, "": $TMPDIR, or /tmp), and
 * removes those of that kind that daemons of this user have left there which were killed. `path` has `size`
 * bytes. The folder is in use as long as *lock is open: the caller closes it after folder_remove().
 * ESP_LIMIT: the path is too long; ESP_SYSTEM. */
enum esp_status folder_make(const char *where, const char *kind, char *path, size_t size, int *lock,
                            struct esp_error *error);

/* Does not follow symbolic links; what cannot be removed stays. */
void folder_remove(const char *path);
/* All that is in it, but not itself. */
void folder_empty(int folder);

#endif
