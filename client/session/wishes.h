/* SPDX-License-Identifier: Apache-2.0
 *
 * Which servers a caller wants for a session: the constraints among the options of a call, on their way into
 * requests.
 */
#ifndef CLIENT_WISHES_H
#define CLIENT_WISHES_H

#include "core/message/message.h"
#include "espalier.h"

#include <stdbool.h>

/* All zero: none. */
struct wishes {
    char *server;      /* NULL: any */
    char **properties; /* in one piece */
    size_t n_properties;
    double finish_s; /* 0: whenever */
    uint64_t memory_bytes;
};

/* Copies what the options want (NULL: nothing). ESP_INVALID names the member that cannot be. */
enum esp_status wishes_take(struct wishes *wishes, const struct esp_call_options *options,
                            struct esp_error *error);
bool wishes_any(const struct wishes *wishes);
/* Writes them into the request of a submit, `passed_s` after they were made. ESP_TIMEOUT: the time for the
 * results is over; ESP_INVALID: the request is bound to another server already; ESP_NO_MEMORY. */
enum esp_status wishes_tell(const struct wishes *wishes, double passed_s, struct message *submit,
                            struct esp_error *error);
void wishes_release(struct wishes *wishes);

#endif
