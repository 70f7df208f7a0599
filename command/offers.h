/* SPDX-License-Identifier: Apache-2.0
 *
 * What servers solve now, as they say it themselves: agents hear of a change a moment later.
 */
#ifndef COMMAND_OFFERS_H
#define COMMAND_OFFERS_H

#include "command/admin.h"

#include <stdint.h>

/* How many problems the servers of the view solve, all together. False when one of them does not say. */
bool offers_count(const struct view *view, uint64_t *n);

/* Whether each of the names is a problem of a server below `top` (NULL: of the platform), solved or disabled
 * there. ESP_INVALID: which one is not, with the nearest name. Where a server does not say, nothing is
 * refused. */
enum esp_status offers_check(const struct view *view, const struct esp_node *top, char *const *names,
                             size_t n_names, struct esp_error *error);

#endif
