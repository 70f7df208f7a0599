/* SPDX-License-Identifier: Apache-2.0
 *
 * A client's file (espalier-client.conf(5)) out of the entries of a directory.
 */
#ifndef COMMAND_DIRECTORY_CLIENT_H
#define COMMAND_DIRECTORY_CLIENT_H

#include "services/directory/tree.h"

#include <stdio.h>

/* Writes the redirectors that the directory names, else its master agents. What it says has been checked
 * (schema_check()). ESP_NOT_FOUND: it has neither, and nothing is written. */
enum esp_status directory_client_write(const struct directory_tree *tree, FILE *file,
                                       struct esp_error *error);

#endif
