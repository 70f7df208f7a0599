/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory on an LDAP server: one connection for each reading or writing.
 */
#include "services/directory/ldap_session.h"

static enum esp_status read_ldap(const struct directory_options *options, struct directory_tree *tree,
                                 const char **base, struct esp_error *error)
{
    struct ldap_session session;
    enum esp_status status = ldap_session_open(&session, options, error);
    if (status == ESP_OK)
        status = ldap_read_all(&session, tree);
    if (status == ESP_OK && !(*base = arena_strdup(&tree->arena, session.base)))
        status = error_no_memory(error, "a directory");
    ldap_session_close(&session);
    return status;
}

static enum esp_status write_ldap(const struct directory_options *options, struct directory_tree *tree,
                                  bool prune, directory_progress progress, void *arg, struct esp_error *error)
{
    struct ldap_session session;
    enum esp_status status = ldap_session_open(&session, options, error);
    if (status == ESP_OK)
        status = ldap_write_all(&session, tree, prune, progress, arg);
    ldap_session_close(&session);
    return status;
}

const struct directory_backend directory_ldap = {"ldap:", read_ldap, write_ldap, NULL};
const struct directory_backend directory_ldaps = {"ldaps:", read_ldap, write_ldap, NULL};
const struct directory_backend directory_ldapi = {"ldapi:", read_ldap, write_ldap, NULL};
