/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's folders for what outlives a process: $XDG_STATE_HOME/espalier/NAME, or
 * ~/.local/state/espalier/NAME when that variable is not set.
 */
#ifndef SERVICES_STATE_FOLDER_H
#define SERVICES_STATE_FOLDER_H

#include "core/message/message_basic.h"
#include "util/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the folder NAME. `size` must leave room for a file in it. ESP_SYSTEM: neither variable
 * is set, or the path is too long. */
enum esp_status state_folder(const char *name, char *path, size_t size, struct esp_error *error);
/* Makes the folder and missing parents for the user alone, except a missing home. ESP_SYSTEM. */
enum esp_status state_folder_make(const char *path, struct esp_error *error);

/* The session that the user's last program began last, in a file of the user's state folder, so that it can
 * be traced by a user who did not note its name. It is a hint and never an error. */

/* Writes the file. Where there is no folder or no room on the disk the file stays as it was. */
void last_session_keep(const struct session_id *session);
/* Reads the session's name as session_id_text() writes it. Returns false when none is known. */
bool last_session_find(char text[SESSION_TEXT]);

#endif
