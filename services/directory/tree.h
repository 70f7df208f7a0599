/* SPDX-License-Identifier: Apache-2.0
 *
 * A tree of directory entries in memory, as in LDAP: a name below the directory's base, and attributes
 * with values. A site has a few thousand entries of problems, machines and addresses.
 *
 * Names are relative to the base, as RFC 4514 writes them: "cn=lapack,cn=dgesv,ou=problems"; that of the
 * base itself is "". Names of attributes and entries are compared without regard to case. Entries store
 * one spelling of a special character ("\2C", "\,"), and are found by any. One thread. */
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
    const char *text; /* followed by a NUL */
    size_t length;
};

struct directory_entry {
    const char *name;
    struct directory_value *values; /* in the order they were added */
    uint32_t n_values, capacity;
    const char *key; /* internal: the name in lower case */
    UT_hash_handle hh;
};

/* All-zero is empty. */
struct directory_tree {
    struct arena arena; /* memory of all entries */
    struct directory_entry **entries;
    size_t n, capacity;
    struct directory_entry *by_name; /* internal */
};

void directory_tree_clear(struct directory_tree *tree);
/* Returns the entry of that name, creating it if needed; it lives as long as the tree. NULL: ESP_LIMIT,
 * ESP_NO_MEMORY. */
struct directory_entry *directory_tree_entry(struct directory_tree *tree, const char *name,
                                             struct esp_error *error);
/* Returns the entry of that name; NULL when it does not exist. */
struct directory_entry *directory_tree_find(const struct directory_tree *tree, const char *name);
/* Adds a value (any bytes). ESP_LIMIT, ESP_NO_MEMORY. */
enum esp_status directory_tree_add(struct directory_tree *tree, struct directory_entry *entry,
                                   const char *attribute, const char *text, size_t length,
                                   struct esp_error *error);
/* Removes all values of the attribute. */
void directory_entry_drop(struct directory_entry *entry, const char *attribute);
/* Renames an entry without children to an unused name, with the matching value of cn. ESP_LIMIT,
 * ESP_NO_MEMORY; then nothing has changed. */
enum esp_status directory_tree_rename(struct directory_tree *tree, struct directory_entry *entry,
                                      const char *name, const char *cn, struct esp_error *error);
/* Sorts parents before children, then by name; values by attribute, then by their positions ("{0}first",
 * "{1}second", as OpenLDAP's X-ORDERED). */
void directory_tree_sort(struct directory_tree *tree);
/* Returns a hash of the sorted tree: equal trees have equal hashes. */
uint64_t directory_tree_digest(const struct directory_tree *tree);

/* Returns the first value of the attribute, NULL when there is none. */
const struct directory_value *directory_value(const struct directory_entry *entry, const char *attribute);
/* Returns the text after the value's position; all of it if it has none. */
const char *directory_value_text(const struct directory_value *value);
/* Whether the entry has that objectClass. */
bool directory_entry_is(const struct directory_entry *entry, const char *object_class);
/* Writes the value of its own name: "dgesv" for "cn=dgesv,ou=problems"; "" if it does not start with cn=. */
void directory_entry_cn(const struct directory_entry *entry, char *text, size_t size);
/* Returns its name for messages, which is not empty for the base. */
const char *directory_entry_title(const struct directory_entry *entry);
/* Counts the components of a name: 0 for the base. A comma after a backslash does not separate. */
unsigned directory_name_depth(const char *name);
/* Returns the part after the first component: "ou=problems" for "cn=dgesv,ou=problems"; "" for the last. */
const char *directory_name_parent(const char *name);
/* Makes "cn=TEXT,PARENT", escaped according to RFC 4514. False when it is too long. */
bool directory_name_make(char *name, size_t size, const char *text, const char *parent);

#endif
