/* SPDX-License-Identifier: Apache-2.0
 *
 * What the ranks of a server are like, from the server itself.
 */
#ifndef COMMAND_RANKS_ASK_H
#define COMMAND_RANKS_ASK_H

#include "core/forecast/parallel_profile.h"

/* Of the server of that name, at `address`; NULL: where the platform has it. A session is open. Returns when
 * messages between its ranks have been measured. ESP_NOT_FOUND: there is no such server, or it has no ranks,
 * or these have not measured yet; ESP_INVALID: it is of an earlier version; else as esp_administer(). */
enum esp_status ranks_ask(const char *server, const char *address, struct parallel_profile *profile,
                          struct esp_error *error);
/* How many ranks that one has, 0: none, or it does not tell (yet). A session is open. */
unsigned ranks_ask_number(const char *server);

#endif
