/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of nodes: what one may look like, and the one that a node gets whose file gives it none. No two nodes
 * of a hierarchy may have the same name, several of them run on one host, and a node that has state or a
 * fixed address is the same one after a restart: so a default is made of the host, the kind and what tells
 * this node from its neighbours for as long as it lasts.
 */
#ifndef SERVICES_NODE_NAME_H
#define SERVICES_NODE_NAME_H

#include "util/arena.h"
#include "util/error.h"

/* ESP_CONFIG: it is empty or longer than 255 bytes, or has blanks or control characters. */
enum esp_status node_name_check(const char *name, struct esp_error *error);
/* ESP_CONFIG: it cannot be that of files as well, as those of the daemons of a platform are. */
enum esp_status node_name_check_file(const char *name, struct esp_error *error);

/* A name for a node of that kind ("sed"), in the arena: "HOST-KIND-PORT" where `listen` ("host:port") fixes
 * the port; else "HOST-KIND-" with six digits of the state folder's path (NULL: it has none), or with "pid"
 * and the number of this process, which nothing outlives. NULL: no memory. */
char *node_name_default(const char *kind, const char *listen, const char *state_dir, struct arena *arena);

#endif
