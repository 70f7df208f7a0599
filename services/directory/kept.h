/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the directory with a cache: its last contents are saved in a file, and used while the directory is
 * unreachable. */
#ifndef SERVICES_DIRECTORY_KEPT_H
#define SERVICES_DIRECTORY_KEPT_H

#include "services/directory/directory.h"
#include "services/settings.h"

/* Converts the settings of a daemon or client; pointers lead into the settings. */
struct directory_options directory_options_of(const struct settings_directory *settings);

/* Reads everything into an empty tree, and saves it in the file `kept` (an LDIF file, replaced as a whole;
 * NULL: none). Calls `wrong` with `arg` for each malformed entry, which is then taken from the file, or
 * left out (schema_check()). If the directory is unreachable, or all of it is malformed, uses the file's
 * contents, and
 * *away says why ("" otherwise). Errors as for directory_read(), if there is no saved file either;
 * ESP_INVALID: only malformed entries. Blocks as long as the directory's timeout. */
enum esp_status directory_look(const struct directory_options *options, const char *kept,
                               void (*wrong)(void *arg, const struct esp_error *error, bool stays), void *arg,
                               struct directory_tree *tree, char away[256], struct esp_error *error);

/* Lists the parents' addresses in the entry of the daemon of that name, in the order of the directory: its
 * machine's, then its entry's. At most `most`; they belong to the tree. Returns how many. */
size_t directory_parents(const struct directory_tree *tree, const char *name, const char **addresses,
                         size_t most);

#endif
