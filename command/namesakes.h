/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes of one name: a master agent refuses the second one below it, but does not see the trees of others.
 */
#ifndef COMMAND_NAMESAKES_H
#define COMMAND_NAMESAKES_H

#include <espalier.h>
#include <stdbool.h>

/* Another node of that name that is reached too; NULL: there is none. A node that two trees show for a
 * moment, as it changes between them, is one. */
const struct esp_node *namesake_of(const struct esp_node *nodes, size_t n, const struct esp_node *node);
/* Of each node whether it has one; to be freed, NULL without memory. */
bool *namesakes_all(const struct esp_node *nodes, size_t n);

#endif
