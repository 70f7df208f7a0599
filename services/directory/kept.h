/* SPDX-License-Identifier: Apache-2.0
 *
 * A look into the directory that works without it: what it last said is kept in a file, and serves while it
 * is away.
 */
#ifndef SERVICES_DIRECTORY_KEPT_H
#define SERVICES_DIRECTORY_KEPT_H

#include "services/directory/directory.h"
#include "services/settings.h"

/* As a daemon's or client's file has it; what it points to is the settings'. */
struct directory_options directory_options_of(const struct settings_directory *settings);

/* All that is there into an empty tree, and into the file `kept` (an LDIF file, replaced as a whole; NULL:
 * nothing is kept). Entries that are nonsense are told to `wrong`, with `arg`, and stay as that file has
 * them, or are left out (schema_check()). When it is away, or all of it is nonsense: what that file has, and
 * *away says why it is away ("" else). Errors as directory_read(), where nothing was kept either;
 * ESP_INVALID: nonsense only. Blocks as long as the directory's timeout. */
enum esp_status directory_look(const struct directory_options *options, const char *kept,
                               void (*wrong)(void *arg, const struct esp_error *error, bool stays), void *arg,
                               struct directory_tree *tree, char away[256], struct esp_error *error);

/* The addresses that the entry of a daemon of that name has as its parents, in the order of the directory:
 * its machine's, then its entry's. At most `most`; they belong to the tree. Returns how many. */
size_t directory_parents(const struct directory_tree *tree, const char *name, const char **addresses,
                         size_t most);

#endif
