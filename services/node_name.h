/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of nodes: valid forms, and the default for a node whose file has none. Names must be unique in a
 * hierarchy, several nodes may run on one host, and a node with state or a fixed address must keep its
 * name after a restart. So a default consists of the host, the kind, and a value that distinguishes this
 * node from its neighbours as long as it lasts. */
#ifndef SERVICES_NODE_NAME_H
#define SERVICES_NODE_NAME_H

#include "util/arena.h"
#include "util/error.h"

/* ESP_CONFIG: the name is empty or longer than 255 bytes, or has blanks or control characters. */
enum esp_status node_name_check(const char *name, struct esp_error *error);
/* ESP_CONFIG: the name is not valid as a file name too, as needed for the daemons of a platform. */
enum esp_status node_name_check_file(const char *name, struct esp_error *error);

/* Returns a name for a node of that kind ("sed"), in the arena: "HOST-KIND-PORT" if `listen` ("host:port")
 * fixes the port; else "HOST-KIND-" with six digits of the state folder's path, or without a state folder
 * (NULL) "pid" and the number of this process. NULL: no memory. */
char *node_name_default(const char *kind, const char *listen, const char *state_dir, struct arena *arena);

#endif
