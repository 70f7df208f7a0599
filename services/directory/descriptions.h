/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the entries of description files: a site has many files with one name (p1/mine.esp,
 * p2/mine.esp, those of several servers), and each has its own entry. An entry has the file's name if it
 * is free, and "mine_2.esp", "mine_3.esp", ... otherwise. */
#ifndef SERVICES_DIRECTORY_DESCRIPTIONS_H
#define SERVICES_DIRECTORY_DESCRIPTIONS_H

#include "services/directory/tree.h"

#define DESCRIPTION_MOST_NAME 256

/* Chooses the name for a file of that name (without a folder) with that text: that of an entry of the tree
 * with the same text, else an unused one. ESP_LIMIT: it is too long, or there are too many of them. */
enum esp_status description_choose_name(const struct directory_tree *tree, const char *file, const char *text,
                                        size_t length, char name[DESCRIPTION_MOST_NAME],
                                        struct esp_error *error);

/* Whether the tree has a description of that name. */
bool description_is_there(const struct directory_tree *tree, const char *cn);

/* Call it before the tree is written to a directory with the entries `there`. If a description has the
 * name of an entry there that describes none of the same problems (another file's), it gets the name of an
 * entry that does, or a free one. ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status descriptions_settle(struct directory_tree *tree, const struct directory_tree *there,
                                    struct esp_error *error);

#endif
