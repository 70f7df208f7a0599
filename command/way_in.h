/* SPDX-License-Identifier: Apache-2.0
 *
 * The client's file of a platform on this machine: what `espalier` and programs read to find it.
 */
#ifndef COMMAND_WAY_IN_H
#define COMMAND_WAY_IN_H

#include "command/platform_state.h"
#include "services/settings.h"

#include <stddef.h>

/* Whom clients ask: the redirectors, or without any the master agents. Addresses, borrowed. */
struct way_in {
    const char *const *redirectors;
    size_t n_redirectors;
    const char *const *agents;
    size_t n_agents;
    struct settings_tls tls; /* who runs the daemons may read their key */
};

/* Writes the file, whose name goes into `path` (NULL: it does not), anew. Errors as settings_save() has them.
 */
enum esp_status way_in_write(const struct platform_state *state, const struct way_in *way, char *path,
                             size_t size, struct esp_error *error);

#endif
