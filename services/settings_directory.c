/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys about the site's directory. */
#include "services/directory/url.h"
#include "services/settings_tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define AT(type_, member) .offset = offsetof(struct type_, member)

const struct config_key settings_directory_keys[] = {
    {.name = "directory",
     .type = CONFIG_STRING,
     AT(settings_directory, url),
     .text = "the site's directory of descriptions, cost models and addresses: ldap://HOST/BASE, or "
             "file:/PATH (default: none)"},
    {.name = "directory_bind",
     .type = CONFIG_STRING,
     AT(settings_directory, bind),
     .text = "distinguished name that the daemon binds as (default: anonymous)"},
    {.name = "directory_password_file",
     .type = CONFIG_STRING,
     AT(settings_directory, password_file),
     .text = "file with the password of directory_bind in its first line"},
    {.name = "directory_sasl",
     .type = CONFIG_STRING,
     AT(settings_directory, sasl),
     .text = "SASL mechanism, such as EXTERNAL, GSSAPI or SCRAM-SHA-256 (default: a simple bind)"},
    {.name = "directory_sasl_user",
     .type = CONFIG_STRING,
     AT(settings_directory, sasl_user),
     .text = "the daemon's user name for a mechanism with passwords"},
    {.name = "directory_starttls",
     .type = CONFIG_BOOL,
     AT(settings_directory, starttls),
     .initial = "no",
     .text = "yes: encrypt an ldap:// connection, or make none"},
    {.name = "directory_ca",
     .type = CONFIG_STRING,
     AT(settings_directory, ca),
     .text = "PEM file of the authority of the directory's certificate (default: the system's authorities)"},
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
     .text = "interval at which the directory is read again; at most 30 s while it cannot be reached"},
    {0},
};

const struct config_key settings_directory_more_keys[] = {
    {.name = "directory_write",
     .type = CONFIG_BOOL,
     AT(settings_directory, write),
     .initial = "no",
     .text = "yes: the server writes its measured cost models into the directory; needs the right to write"},
    {0},
};

enum esp_status settings_finish_directory(const struct settings_directory *directory, struct esp_error *error)
{
    const char *url = directory->url;
    enum esp_status status = url ? directory_check_url(url, error) : ESP_OK;
    if (!url || status != ESP_OK)
        return status;
    if (strncmp(url, "file:", 5) == 0 && url[5] != '/')
        return error_set(error, ESP_CONFIG,
                         "directory: expected a whole path, such as \"file:/srv/espalier/site.ldif\", found "
                         "\"%.150s\": daemons have no folder that it could begin in",
                         url);
    if (strncmp(url, "ldaps:", 6) == 0 && directory->starttls)
        return error_set(
            error, ESP_CONFIG,
            "directory_starttls = yes: expected a directory of ldap://, found \"%.150s\", which is "
            "encrypted from the beginning",
            url);
    if (directory->bind && !directory->sasl && !directory->password_file)
        return error_set(error, ESP_CONFIG,
                         "directory_bind = \"%.100s\": expected the key \"directory_password_file\" (or "
                         "\"directory_sasl\") beside it, found neither: who gives no password is nobody",
                         directory->bind);
    return ESP_OK;
}

static enum esp_status check_readable(const char *key, const char *path, struct esp_error *error)
{
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (path && fd < 0)
        return error_set(error, ESP_CONFIG, "%s: %s cannot be read: %s", key, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return ESP_OK;
}

enum esp_status settings_check_directory(const struct settings_directory *directory, struct esp_error *error)
{
    enum esp_status status = check_readable("directory_password_file", directory->password_file, error);
    return status == ESP_OK ? check_readable("directory_ca", directory->ca, error) : status;
}
