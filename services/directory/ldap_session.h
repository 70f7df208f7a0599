/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection to the LDAP server of a directory, and what is done with it: between the files
 * services/directory/ldap*.c.
 */
#ifndef SERVICES_DIRECTORY_LDAP_SESSION_H
#define SERVICES_DIRECTORY_LDAP_SESSION_H

#include "services/directory/directory.h"
#include "services/directory/patience.h"

#include <ldap.h>

struct ldap_session {
    const struct directory_options *options;
    LDAP *ld;
    char *base;
    char password[256];
    struct patience patience;
    bool connected;
    struct ldap_conncb opened; /* tells us the socket */
    struct esp_error *error;
};

/* Bound as the options say. Whatever it returns: ldap_session_close(). ESP_CONFIG, ESP_UNREACHABLE,
 * ESP_TIMEOUT, ESP_REFUSED, ESP_SECURITY, ESP_SYSTEM. */
enum esp_status ldap_session_open(struct ldap_session *session, const struct directory_options *options,
                                  struct esp_error *error);
void ldap_session_close(struct ldap_session *session);
/* The session's error out of libldap's code, and what was attempted. */
enum esp_status ldap_failed(const struct ldap_session *session, int code, const char *what);

/* All entries of the base into the tree (services/directory/ldap_read.c). As directory_read(). */
enum esp_status ldap_read_all(struct ldap_session *session, struct directory_tree *tree);
/* Brings the tree in, and takes out what is not in it (services/directory/ldap_write.c). As
 * directory_write(). */
enum esp_status ldap_write_all(struct ldap_session *session, const struct directory_tree *tree, bool prune,
                               directory_progress progress, void *arg);

#endif
