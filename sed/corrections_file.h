/* SPDX-License-Identifier: Apache-2.0
 *
 * The file in a server's folder that keeps the corrections of its cost models (core/forecast/corrections.h).
 */
#ifndef SED_CORRECTIONS_FILE_H
#define SED_CORRECTIONS_FILE_H

#include "sed/server/server.h"

/* Reads it, after the models were set. A file that is damaged is set aside as corrections.damaged, and told
 * in the log; one that is not there has none. */
void corrections_file_load(struct server *server, const char *state_dir);
/* Writes it, under a temporary name first, if there is anything new. Failures are told in the log. */
void corrections_file_save(struct server *server, const char *state_dir);

#endif
