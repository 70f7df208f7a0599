/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys that say where the site's directory is, and what is done with it.
 */
#include "services/settings_tables.h"

#include <stddef.h>

#define AT(type_, member) .offset = offsetof(struct type_, member)

const struct config_key settings_directory_keys[] = {
    {.name = "directory",
     .type = CONFIG_STRING,
     AT(settings_directory, url),
     .text = "where the site keeps descriptions, cost models and addresses: ldap://HOST/BASE, or file:/PATH "
             "(else: "
             "nowhere)"},
    {.name = "directory_bind",
     .type = CONFIG_STRING,
     AT(settings_directory, bind),
     .text = "distinguished name that it binds as (else: anonymously)"},
    {.name = "directory_password_file",
     .type = CONFIG_STRING,
     AT(settings_directory, password_file),
     .text = "file with the password for that in its first line"},
    {.name = "directory_sasl",
     .type = CONFIG_STRING,
     AT(settings_directory, sasl),
     .text = "SASL mechanism, such as EXTERNAL, GSSAPI or SCRAM-SHA-256 (else: a simple bind)"},
    {.name = "directory_sasl_user",
     .type = CONFIG_STRING,
     AT(settings_directory, sasl_user),
     .text = "who it is to a mechanism with passwords"},
    {.name = "directory_starttls",
     .type = CONFIG_BOOL,
     AT(settings_directory, starttls),
     .initial = "no",
     .text = "yes: an ldap:// connection is encrypted, or there is none"},
    {.name = "directory_ca",
     .type = CONFIG_STRING,
     AT(settings_directory, ca),
     .text = "PEM file of the authority of the directory's certificate (else: those of the system)"},
    {.name = "directory_timeout",
     .type = CONFIG_DURATION,
     AT(settings_directory, timeout_ns),
     .initial = "5 s",
     .least = "100 ms",
     .most = "10 min",
     .text = "how long to wait for each answer of the directory"},
    {.name = "directory_refresh",
     .type = CONFIG_DURATION,
     AT(settings_directory, refresh_ns),
     .initial = "10 min",
     .least = "100 ms",
     .most = "30 d",
     .text = "how often it is read again; when it is away: every 30 s, or as often as this if that is more "
             "often"},
    {0},
};

const struct config_key settings_directory_more_keys[] = {
    {.name = "directory_write",
     .type = CONFIG_BOOL,
     AT(settings_directory, write),
     .initial = "no",
     .text = "yes: cost models that were measured here are brought into it; needs the right to write"},
    {0},
};
