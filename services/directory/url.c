/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/url.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether the text after the host is ":389" or nothing; the host may be an IPv6 address in brackets. */
static bool is_port(const char *host, size_t n)
{
    char digits[6] = "";
    const char *end = host + n, *at = memchr(host, ']', n);
    at = memchr(at ? at : host, ':', (size_t)(end - (at ? at : host)));
    if (!at)
        return true;
    const size_t length = (size_t)(end - at) - 1;
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, at + 1, length);
    const long port = strtol(digits, NULL, 10);
    return strspn(digits, "0123456789") == length && port > 0 && port < 65536;
}

/* "//HOST:PORT/ou=espalier,dc=example,dc=org" */
static bool is_server(const char *text)
{
    if (strncmp(text, "//", 2) != 0)
        return false;
    const char *host = text + 2;
    const size_t n = strcspn(host, "/");
    const char *base = host + n + (host[n] == '/');
    return is_port(host, n) && strchr(base, '=') && *base != '=' && *base != '?';
}

/* Whether the path is absolute, or, for a command, relative to its own folder. */
static bool is_file(const char *text)
{
    return *text && text[strlen(text) - 1] != '/';
}

enum esp_status directory_check_url(const char *url, struct esp_error *error)
{
    static const struct {
        const char *scheme;
        bool (*is)(const char *text);
    } kinds[] = {{"ldap:", is_server}, {"ldaps:", is_server}, {"ldapi:", is_server}, {"file:", is_file}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(url, kinds[i].scheme, strlen(kinds[i].scheme)) == 0 &&
            kinds[i].is(url + strlen(kinds[i].scheme)))
            return ESP_OK;
    return error_set(error, ESP_CONFIG,
                     "directory: expected \"ldap://HOST/BASE\" (or ldaps, ldapi), such as "
                     "\"ldap://ldap.example.org/ou=espalier,dc=example,dc=org\", or \"file:/PATH\", found "
                     "\"%.150s\"",
                     url);
}
