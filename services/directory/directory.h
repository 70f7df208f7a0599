/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory: a site's static knowledge (problems, implementations, machines, cost models, addresses;
 * services/directory/schema.h). One interface over two backends: an LDAP server, or an LDIF file with the
 * same entries, which needs no server. Another backend is one file and one row in directory.c.
 *
 * All functions block, for at most `timeout_ms` without progress. Any thread; one call at a time per
 * struct. */
#ifndef SERVICES_DIRECTORY_DIRECTORY_H
#define SERVICES_DIRECTORY_DIRECTORY_H

#include "services/directory/file_turn.h"
#include "services/directory/tree.h"
#include "services/directory/url.h"

struct directory_options {
    const char *url;  /* "ldap://host/ou=espalier,dc=example,dc=org" (ldaps, ldapi too), "file:/path" */
    const char *bind; /* name to bind as, with the password; NULL: anonymous, or SASL */
    const char *password_file; /* the first line is the password; NULL: none */
    const char *sasl;          /* mechanism ("EXTERNAL", "SCRAM-SHA-256", "GSSAPI"); NULL: a simple bind */
    const char *sasl_user;     /* for mechanisms with a password; NULL: none */
    bool starttls;             /* refuse to continue without TLS */
    const char *ca;            /* PEM file for TLS; NULL: the system's */
    int64_t timeout_ms;
    struct file_turn *turn; /* set by directory_begin(); NULL: each directory_write() locks by itself */
};

#define DIRECTORY_FILE_BASE "ou=espalier" /* base of a new LDIF file */

/* Reports progress: `done` of `all`. */
typedef void (*directory_progress)(void *arg, size_t done, size_t all);

/* The operations of a backend. All block; `read` gets an empty tree and returns the base's name (in the
 * tree's memory). */
struct directory_backend {
    const char *scheme; /* "ldap:" */
    enum esp_status (*read)(const struct directory_options *options, struct directory_tree *tree,
                            const char **base, struct esp_error *error);
    /* Replaces the attributes of existing entries by ours; adds other entries. With `prune`, removes
     * entries below the base that are not in the tree. The tree is sorted. */
    enum esp_status (*write)(const struct directory_options *options, struct directory_tree *tree, bool prune,
                             directory_progress progress, void *arg, struct esp_error *error);
    /* Excludes other writers, from reading until writing the change. NULL: not needed, because entries are
     * written one by one. */
    enum esp_status (*begin)(const struct directory_options *options, struct file_turn **turn,
                             struct esp_error *error);
};
extern const struct directory_backend directory_ldap, directory_ldaps, directory_ldapi, directory_file;

/* Reads everything into an empty tree (empty again on failure). ESP_CONFIG, ESP_UNREACHABLE, ESP_TIMEOUT,
 * ESP_REFUSED (password, rights), ESP_SECURITY (TLS), ESP_NOT_FOUND (the base, the file), ESP_SYNTAX,
 * ESP_LIMIT, ESP_INVALID (the entries lie deeper). The contents of entries are not checked: see
 * schema_check(). */
enum esp_status directory_read(const struct directory_options *options, struct directory_tree *tree,
                               const char **base, struct esp_error *error);
/* For reading before writing: excludes other writers until directory_end(). ESP_BUSY: another writer takes
 * longer than `timeout_ms`; ESP_SYSTEM. Has no effect if the backend needs no exclusion. */
enum esp_status directory_begin(struct directory_options *options, struct esp_error *error);
void directory_end(struct directory_options *options);
/* Writes the tree into the directory; `progress` may be NULL. Entries written before a failure stay.
 * ESP_BUSY as for directory_begin(), else as for directory_read(). */
enum esp_status directory_write(const struct directory_options *options, struct directory_tree *tree,
                                bool prune, directory_progress progress, void *arg, struct esp_error *error);

#endif
