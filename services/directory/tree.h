/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries of a directory, as LDAP has them: a name below the directory's base, and attributes with values.
 * What is known of a site's problems, machines and addresses is a few thousand of them, held in memory at
 * once.
 *
 * Names are relative to the base, as RFC 4514 writes them: "cn=lapack,cn=dgesv,ou=problems"; that of the base
 * itself is "". Names of attributes, and names of entries, are compared without regard to case; of the ways
 * to write a character of a name ("\2C", "\,") entries have one, and any finds them. One thread.
 */
#ifndef SERVICES_DIRECTORY_TREE_H
#define SERVICES_DIRECTORY_TREE_H

#include "util/arena.h"
#include "util/error.h"
#include "util/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIRECTORY_MOST_ENTRIES 100000
#define DIRECTORY_MOST_BYTES   (64u << 20) /* of all values */
#define DIRECTORY_MOST_NAME    1024
#define DIRECTORY_MOST_VALUES  1000 /* of one entry */

struct directory_value {
    const char *attribute;
    const char *text; /* a NUL stands behind it */
    size_t length;
};

struct directory_entry {
    const char *name;
    struct directory_value *values; /* in the order they were added */
    uint32_t n_values, capacity;
    const char *key; /* internal: the name in small letters */
    UT_hash_handle hh;
};

/* All-zero is empty. */
struct directory_tree {
    struct arena arena; /* owns what entries point to */
    struct directory_entry **entries;
    size_t n, capacity;
    struct directory_entry *by_name; /* internal */
};

void directory_tree_clear(struct directory_tree *tree);
/* The entry of that name, which is made when it is not there; lives as long as the tree. NULL:
 * ESP_LIMIT, ESP_NO_MEMORY. */
struct directory_entry *directory_tree_entry(struct directory_tree *tree, const char *name,
                                             struct esp_error *error);
/* The same, but NULL when it is not there. */
struct directory_entry *directory_tree_find(const struct directory_tree *tree, const char *name);
/* Adds a value (any bytes). ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status directory_tree_add(struct directory_tree *tree, struct directory_entry *entry,
                                   const char *attribute, const char *text, size_t length,
                                   struct esp_error *error);
/* Takes all values of the attribute out. */
void directory_entry_drop(struct directory_entry *entry, const char *attribute);
/* Gives an entry, below which there are none, another name that the tree has not, and the value of cn that it
 * says. ESP_LIMIT, ESP_NO_MEMORY; then all is as it was. */
enum esp_status directory_tree_rename(struct directory_tree *tree, struct directory_entry *entry,
                                      const char *name, const char *cn, struct esp_error *error);
/* Parents before children, then in the order of their names; values in that of their attributes, and of the
 * places that they say among those of one ("{0}first", "{1}second", as X-ORDERED of OpenLDAP has them). */
void directory_tree_sort(struct directory_tree *tree);
/* A number for all that it holds, once it is sorted: equal trees have equal ones. */
uint64_t directory_tree_digest(const struct directory_tree *tree);

/* The first value of the attribute, NULL when there is none. */
const struct directory_value *directory_value(const struct directory_entry *entry, const char *attribute);
/* The text behind the place that the value says; all of it where it says none. */
const char *directory_value_text(const struct directory_value *value);
/* Whether it is one of those of objectClass. */
bool directory_entry_is(const struct directory_entry *entry, const char *object_class);
/* The value of its own name: "dgesv" of "cn=dgesv,ou=problems". Into `text`, "" if it is not cn=. */
void directory_entry_cn(const struct directory_entry *entry, char *text, size_t size);
/* Its name for messages, where that of the base is not empty. */
const char *directory_entry_title(const struct directory_entry *entry);
/* How many components a name has: 0 of the base. A comma with a backslash before it parts nothing. */
unsigned directory_name_depth(const char *name);
/* The part behind the first component: "ou=problems" of "cn=dgesv,ou=problems"; "" of the last. */
const char *directory_name_parent(const char *name);
/* "cn=TEXT,PARENT", with what RFC 4514 wants escaped. False when it is too long. */
bool directory_name_make(char *name, size_t size, const char *text, const char *parent);

#endif
