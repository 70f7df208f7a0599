/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories as LDIF (RFC 2849): only content records, which ldapadd(1) and slapadd(8) accept. All
 * entries are below one base, whose own record may be missing if they lie in units of ours
 * ("ou=machines,BASE"). */
#ifndef SERVICES_DIRECTORY_LDIF_H
#define SERVICES_DIRECTORY_LDIF_H

#include "services/directory/tree.h"

#include <stdio.h>

/* Parses the text, called `path` in messages, into an empty tree; `base` gets the base's name (in the
 * tree's memory). ESP_SYNTAX with "path:line: ...", ESP_LIMIT, ESP_NO_MEMORY; the tree is empty then. */
enum esp_status ldif_parse(const char *text, size_t length, const char *path, struct directory_tree *tree,
                           const char **base, struct esp_error *error);
/* Like ldif_parse(), for a file ("-": standard input). Also ESP_NOT_FOUND, ESP_SYSTEM. */
enum esp_status ldif_load(const char *path, struct directory_tree *tree, const char **base,
                          struct esp_error *error);
/* Writes the tree, sorted, below that base. The caller checks ferror(file). ESP_NO_MEMORY. */
enum esp_status ldif_write(struct directory_tree *tree, const char *base, FILE *file,
                           struct esp_error *error);
/* Like ldif_write(), into a file that is replaced as a whole: after a crash it is the old one or the new
 * one. ESP_SYSTEM, ESP_NOT_FOUND (its folder), ESP_INVALID (no regular file). */
enum esp_status ldif_save(struct directory_tree *tree, const char *base, const char *path,
                          struct esp_error *error);

#endif
