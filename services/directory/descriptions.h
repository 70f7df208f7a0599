/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the entries of description files: a site has many files of one name (p1/mine.esp, p2/mine.esp,
 * those of several servers), and each has an entry of its own. A file has its own name where that is free,
 * and "mine_2.esp", "mine_3.esp", ... else, so that those that are read as files come behind it.
 */
#ifndef SERVICES_DIRECTORY_DESCRIPTIONS_H
#define SERVICES_DIRECTORY_DESCRIPTIONS_H

#include "services/directory/tree.h"

#define DESCRIPTION_MOST_NAME 256

/* The name for a file of that name (without a folder) with that text: of an entry of the tree that has the
 * text already, else one that the tree has not. ESP_LIMIT: it is too long, or there are too many of it. */
enum esp_status description_choose_name(const struct directory_tree *tree, const char *file, const char *text,
                                        size_t length, char name[DESCRIPTION_MOST_NAME],
                                        struct esp_error *error);

/* Whether the tree has a description of that name. */
bool description_is_there(const struct directory_tree *tree, const char *cn);

/* Before the tree is brought into a directory that has those entries: its descriptions that have the name of
 * one there which describes none of the same problems, and so is another file's, get the name of one that
 * does, or a free one. ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status descriptions_settle(struct directory_tree *tree, const struct directory_tree *there,
                                    struct esp_error *error);

#endif
