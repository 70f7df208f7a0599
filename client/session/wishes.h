/* SPDX-License-Identifier: Apache-2.0
 *
 * A caller's constraints on the servers of a session: from the options of a call into requests.
 */
#ifndef CLIENT_WISHES_H
#define CLIENT_WISHES_H

#include "core/message/message.h"
#include "espalier.h"

#include <stdbool.h>

/* All zero: none. */
struct wishes {
    char *server;      /* NULL: any */
    char **properties; /* in one block */
    size_t n_properties;
    double finish_s; /* 0: no limit */
    uint64_t memory_bytes;
};

/* Copies the constraints of the options (NULL: none). ESP_INVALID names the member that is impossible. */
enum esp_status wishes_take(struct wishes *wishes, const struct esp_call_options *options,
                            struct esp_error *error);
bool wishes_any(const struct wishes *wishes);
/* Writes the constraints into the request of a submit, `passed_s` after they were made. Returns
 * ESP_TIMEOUT if the time for the results is over, ESP_INVALID if the request is bound to another server
 * already, or ESP_NO_MEMORY. */
enum esp_status wishes_tell(const struct wishes *wishes, double passed_s, struct message *submit,
                            struct esp_error *error);
void wishes_release(struct wishes *wishes);

#endif
