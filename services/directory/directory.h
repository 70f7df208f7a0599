/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory: where a site keeps its static knowledge (problems, implementations, machines, cost models,
 * addresses; services/directory/schema.h). One interface over two backends: an LDAP server, or an LDIF file
 * of the same entries, where there is nothing to run. Another backend is one file and one row in directory.c.
 *
 * Everything blocks, for `timeout_ms` without progress at most. Any thread; one call at a time per struct.
 */
#ifndef SERVICES_DIRECTORY_DIRECTORY_H
#define SERVICES_DIRECTORY_DIRECTORY_H

#include "services/directory/file_turn.h"
#include "services/directory/tree.h"
#include "services/directory/url.h"

struct directory_options {
    const char *url;  /* "ldap://host/ou=espalier,dc=example,dc=org" (ldaps, ldapi too), "file:/path" */
    const char *bind; /* name to bind as, with the password; NULL: anonymous, or SASL */
    const char *password_file; /* its first line; NULL: none */
    const char *sasl;          /* mechanism ("EXTERNAL", "SCRAM-SHA-256", "GSSAPI"); NULL: a simple bind */
    const char *sasl_user;     /* for mechanisms with a password; NULL: none */
    bool starttls;             /* refuses to go on without */
    const char *ca;            /* PEM file for TLS; NULL: the system's */
    int64_t timeout_ms;
    struct file_turn *turn; /* by directory_begin(); NULL: each directory_write() sees to its own */
};

#define DIRECTORY_FILE_BASE "ou=espalier" /* of an LDIF file that is new */

/* Counts what is done, of how many. */
typedef void (*directory_progress)(void *arg, size_t done, size_t all);

/* What a backend does. Both block; `read` gets an empty tree and gives the base's name (in the tree's
 * memory). */
struct directory_backend {
    const char *scheme; /* "ldap:" */
    enum esp_status (*read)(const struct directory_options *options, struct directory_tree *tree,
                            const char **base, struct esp_error *error);
    /* Entries that are there get the attributes of ours anew; others are added. With `prune`, entries below
     * the base that are not in the tree are taken out. The tree is sorted. */
    enum esp_status (*write)(const struct directory_options *options, struct directory_tree *tree, bool prune,
                             directory_progress progress, void *arg, struct esp_error *error);
    /* Keeps other writers out, from what is read to what is written because of it. NULL: there is nothing
     * that one writer could take from another, as entries are written one by one. */
    enum esp_status (*begin)(const struct directory_options *options, struct file_turn **turn,
                             struct esp_error *error);
};
extern const struct directory_backend directory_ldap, directory_ldaps, directory_ldapi, directory_file;

/* All that is there into an empty tree (empty again on failure). ESP_CONFIG, ESP_UNREACHABLE, ESP_TIMEOUT,
 * ESP_REFUSED (password, rights), ESP_SECURITY (TLS), ESP_NOT_FOUND (the base, the file), ESP_SYNTAX,
 * ESP_LIMIT, ESP_INVALID (the entries lie deeper). What the entries say is not checked: see schema_check().
 */
enum esp_status directory_read(const struct directory_options *options, struct directory_tree *tree,
                               const char **base, struct esp_error *error);
/* For who reads it to write: nobody else writes until directory_end(). ESP_BUSY: another one does for longer
 * than `timeout_ms`; ESP_SYSTEM. Where others need not wait, there is nothing to it. */
enum esp_status directory_begin(struct directory_options *options, struct esp_error *error);
void directory_end(struct directory_options *options);
/* Brings the tree into the directory; `progress` may be NULL. What was written before a failure stays.
 * ESP_BUSY as directory_begin(), else as directory_read(). */
enum esp_status directory_write(const struct directory_options *options, struct directory_tree *tree,
                                bool prune, directory_progress progress, void *arg, struct esp_error *error);

#endif
