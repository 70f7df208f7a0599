/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread of a server that reads its sensors once a second and tells the state machine.
 */
#ifndef SED_SENSORS_H
#define SED_SENSORS_H

#include "core/forecast/outlook.h"
#include "sed/server/server.h"

struct sensors;

/* `folder`: whose file system's free space is told; NULL: none. The server's endpoint is open. ESP_SYSTEM: no
 * thread can be made, or the kernel tells nothing. */
enum esp_status sensors_create(struct server *server, const char *folder, struct sensors **sensors,
                               struct esp_error *error);
/* Before the server's endpoint is closed. NULL is nothing to do. */
void sensors_destroy(struct sensors *sensors);
/* Adds the machine's figures, as those of that node, to the page. Any thread. NULL has none. */
void sensors_tell(struct sensors *sensors, const char *node, struct outlook_page *page);

#endif
