/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs on data share.
 */
#ifndef CLIENT_COMMAND_VERB_DATA_H
#define CLIENT_COMMAND_VERB_DATA_H

#include "client/command/command.h"
#include "client/command/left_note.h"

/* left_note_expand(); EXIT_DONE, or the message has been printed. meant->data is for free(). */
enum exit_code data_meant(const struct command_line *command, const char *word, struct meant *meant);

json_t *data_info_json(const struct esp_data_info *info);

#endif
