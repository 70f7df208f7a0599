/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs on data share.
 */
#ifndef COMMAND_VERB_DATA_H
#define COMMAND_VERB_DATA_H

#include "command/command.h"
#include "command/left_note.h"
#include "core/data/datum.h"

/* left_note_expand(); EXIT_DONE, or the message has been printed. meant->data is for free(). */
enum exit_code data_meant(const struct command_line *command, const char *word, struct meant *meant);

/* What the server says that it is; whether that makes sense, datum_shape_check() tells. */
void data_info_shape(const struct esp_data_info *info, struct datum_shape *shape);
json_t *data_info_json(const struct esp_data_info *info);

#endif
