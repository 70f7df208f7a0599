/* SPDX-License-Identifier: Apache-2.0 */
#include "util/config_value.h"
#include "util/clock.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct unit config_durations[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", NS_PER_MS},
    {"s", NS_PER_S},
    {"min", 60 * (uint64_t)NS_PER_S},
    {"h", 3600 * (uint64_t)NS_PER_S},
    {"d", 86400 * (uint64_t)NS_PER_S},
    {NULL, 0},
};

const struct unit config_sizes[] = {
    {"B", 1},
    {"kB", 1000},
    {"KiB", UINT64_C(1) << 10},
    {"MB", 1000000},
    {"MiB", UINT64_C(1) << 20},
    {"GB", 1000000000},
    {"GiB", UINT64_C(1) << 30},
    {"TB", UINT64_C(1000000000000)},
    {"TiB", UINT64_C(1) << 40},
    {NULL, 0},
};

bool config_type_is_list(enum config_type type)
{
    return type == CONFIG_STRINGS || type == CONFIG_ADDRESSES;
}

static const struct unit *unit_find(const struct unit *units, const char *name)
{
    for (; units->name; units++)
        if (strcmp(units->name, name) == 0)
            return units;
    return NULL;
}

bool config_is_unit(const char *word)
{
    return strcmp(word, "%") == 0 || unit_find(config_durations, word) || unit_find(config_sizes, word);
}

/* Splits "<number> <unit>" without strtod(), whose decimal point follows the caller's locale. The fraction
 * is stored in millionths so that "0.3 s" and "1.5 GiB" are exact. False when the text has another form. */
static bool split_quantity(const char *text, uint64_t *whole, uint64_t *millionths, const char **unit)
{
    if (!isdigit((unsigned char)*text))
        return false;
    *whole = *millionths = 0;
    for (; isdigit((unsigned char)*text); text++)
        if (__builtin_mul_overflow(*whole, 10, whole) ||
            __builtin_add_overflow(*whole, (uint64_t)(*text - '0'), whole))
            return false;
    if (*text == '.') {
        if (!isdigit((unsigned char)*++text))
            return false;
        uint64_t weight = 100000;
        for (; isdigit((unsigned char)*text); text++, weight /= 10)
            *millionths += (uint64_t)(*text - '0') * weight;
    }
    while (*text == ' ' || *text == '\t')
        text++;
    *unit = text;
    return true;
}

static bool quantity_times(uint64_t whole, uint64_t millionths, uint64_t factor, uint64_t most,
                           uint64_t *value)
{
    uint64_t base;
    double fraction = (double)millionths * (double)factor / 1e6;
    return !__builtin_mul_overflow(whole, factor, &base) &&
           !__builtin_add_overflow(base, (uint64_t)(fraction + 0.5), value) && *value <= most;
}

static bool read_duration(const char *text, int64_t *ns)
{
    uint64_t whole, millionths, value;
    const char *name;
    if (!split_quantity(text, &whole, &millionths, &name))
        return false;
    if (!*name && whole == 0 && millionths == 0) {
        *ns = 0; /* 0 is valid with every unit */
        return true;
    }
    const struct unit *unit = unit_find(config_durations, name);
    if (!unit || !quantity_times(whole, millionths, unit->factor, INT64_MAX, &value))
        return false;
    *ns = (int64_t)value;
    return true;
}

static bool read_size(const char *text, uint64_t *bytes)
{
    uint64_t whole, millionths;
    const char *name;
    if (!split_quantity(text, &whole, &millionths, &name))
        return false;
    const struct unit *unit = unit_find(config_sizes, *name ? name : "B");
    return unit && quantity_times(whole, millionths, unit->factor, INT64_MAX, bytes);
}

static bool read_fraction(const char *text, double *fraction)
{
    uint64_t whole, millionths;
    const char *unit;
    if (!split_quantity(text, &whole, &millionths, &unit) || strcmp(unit, "%") != 0)
        return false;
    *fraction = ((double)whole + (double)millionths / 1e6) / 100;
    return true;
}

static bool read_integer(const char *text, int64_t *integer)
{
    if (!isdigit((unsigned char)*text) && !(*text == '-' && isdigit((unsigned char)text[1])))
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    *integer = value;
    return errno == 0 && *end == '\0';
}

static bool read_bool(const char *text, bool *value)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", NULL};
    for (int i = 0; words[i]; i++)
        if (strcasecmp(text, words[i]) == 0) {
            *value = i % 2;
            return true;
        }
    return false;
}

static bool read_choice(const char *const *choices, const char *text, int *index)
{
    for (*index = 0; choices[*index]; ++*index)
        if (strcmp(choices[*index], text) == 0)
            return true;
    return false;
}

enum esp_status config_read_duration(const char *text, int64_t *ns, struct esp_error *error)
{
    if (read_duration(text, ns))
        return ESP_OK;
    return error_set(error, ESP_CONFIG, "expected a duration like 500ms, \"2 s\" or 1h, found \"%s\"", text);
}

enum esp_status config_read_size(const char *text, uint64_t *bytes, struct esp_error *error)
{
    if (read_size(text, bytes))
        return ESP_OK;
    return error_set(error, ESP_CONFIG, "expected a size like 65536, 64KiB or \"4 GiB\", found \"%s\"", text);
}

/* Sets *port to the port after the last colon, and the host's extent; false when the text is neither
 * "host", "host:port" nor "[host]:port". A bare IPv6 address has several colons and no port. */
static bool split_address(const char *text, const char **host, size_t *length, const char **port)
{
    const char *end;
    if (*text == '[') {
        *host = text + 1;
        end = strchr(text, ']');
        if (!end || (end[1] != '\0' && end[1] != ':'))
            return false;
        *port = end[1] ? end + 2 : NULL;
    } else {
        *host = text;
        end = strchr(text, ':');
        if (end && strchr(end + 1, ':')) {
            end = NULL;
        }
        *port = end ? end + 1 : NULL;
        if (!end)
            end = text + strlen(text);
    }
    *length = (size_t)(end - *host);
    return *length > 0 && strcspn(*host, " \t/\"'") >= *length;
}

/* Whether the text is a valid host: with colons, it must be an IPv6 address, possibly with a zone
 * ("fe80::1%eth0"). */
static bool is_host(const char *host)
{
    char bare[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t length = strcspn(host, "%");
    if (!strchr(host, ':'))
        return true;
    if (length >= sizeof bare)
        return false;
    memcpy(bare, host, length);
    bare[length] = '\0';
    return inet_pton(AF_INET6, bare, &address) == 1;
}

enum esp_status config_read_address(const char *text, const char *default_port, char *host, size_t host_size,
                                    uint16_t *port, struct esp_error *error)
{
    const char *start, *number;
    size_t length;
    int64_t value;
    if (!split_address(text, &start, &length, &number))
        return error_set(error, ESP_CONFIG,
                         "expected an address (\"host:port\" or \"[::1]:port\"), found \"%s\"", text);
    if (!number && !default_port)
        return error_set(error, ESP_CONFIG, "expected a port behind the host (\"%s:4780\"), found \"%s\"",
                         text, text);
    if (!read_integer(number ? number : default_port, &value) || value < 0 || value > 65535)
        return error_set(error, ESP_CONFIG, "expected a port from 0 to 65535 behind the host, found \"%s\"",
                         text);
    if (length >= host_size)
        return error_set(error, ESP_CONFIG, "expected a host name of at most %zu bytes, found %zu",
                         host_size - 1, length);
    memcpy(host, start, length);
    host[length] = '\0';
    if (!is_host(host))
        return error_set(error, ESP_CONFIG,
                         "expected a host name or an IPv6 address in front of the port, found \"%s\"", host);
    *port = (uint16_t)value;
    return ESP_OK;
}

enum esp_status config_whole_address(const char *text, const char *default_port, char **address,
                                     struct arena *arena, struct esp_error *error)
{
    char host[256], canonical[sizeof host + 10];
    uint16_t port;
    enum esp_status status = config_read_address(text, default_port, host, sizeof host, &port, error);
    if (status != ESP_OK)
        return status;
    snprintf(canonical, sizeof canonical, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    *address = arena_strdup(arena, canonical);
    return *address ? ESP_OK : error_no_memory(error, "an address");
}

static void describe_choices(const char *const *choices, char *text, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; choices[i] && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 i == 0           ? ""
                                 : choices[i + 1] ? ", "
                                                  : " or ",
                                 choices[i]);
}

/* Describes a valid value of this key: "a duration from 10 ms to 1 h". */
static void describe(const struct config_key *key, char *text, size_t size)
{
    static const char *const kinds[] = {
        [CONFIG_STRING] = "a text",
        [CONFIG_STRINGS] = "a text",
        [CONFIG_ADDRESS] = "an address",
        [CONFIG_ADDRESSES] = "an address",
        [CONFIG_BOOL] = "yes or no",
        [CONFIG_INTEGER] = "a whole number",
        [CONFIG_DURATION] = "a duration like 500ms or \"2 s\"",
        [CONFIG_SIZE] = "a size like 65536, 64KiB or \"4 GiB\"",
        [CONFIG_FRACTION] = "a percentage like 30% or \"30 %\"",
    };
    if (key->type == CONFIG_CHOICE) {
        describe_choices(key->choices, text, size);
        return;
    }
    snprintf(text, size, "%s%s%s%s%s", kinds[key->type], key->least ? " from " : "",
             key->least ? key->least : "", key->most ? (key->least ? " to " : " up to ") : "",
             key->most ? key->most : "");
}

/* Converts every numeric type to one scale, for the comparison with bounds. */
static bool read_number(enum config_type type, const char *text, double *number)
{
    int64_t integer;
    uint64_t bytes;
    bool good;
    switch (type) {
    case CONFIG_INTEGER:
        good = read_integer(text, &integer);
        *number = (double)integer;
        return good;
    case CONFIG_DURATION:
        good = read_duration(text, &integer);
        *number = (double)integer;
        return good;
    case CONFIG_SIZE:
        good = read_size(text, &bytes);
        *number = (double)bytes;
        return good;
    case CONFIG_FRACTION:
        return read_fraction(text, number);
    default:
        return false;
    }
}

static bool within_bounds(const struct config_key *key, const char *text)
{
    double value, bound;
    return !read_number(key->type, text, &value) ||
           ((!key->least || !read_number(key->type, key->least, &bound) || value >= bound) &&
            (!key->most || !read_number(key->type, key->most, &bound) || value <= bound));
}

static bool read_plain(const struct config_key *key, const char *text, void *field)
{
    switch (key->type) {
    case CONFIG_BOOL:
        return read_bool(text, field);
    case CONFIG_INTEGER:
        return read_integer(text, field);
    case CONFIG_DURATION:
        return read_duration(text, field);
    case CONFIG_SIZE:
        return read_size(text, field);
    case CONFIG_FRACTION:
        return read_fraction(text, field);
    case CONFIG_CHOICE:
        return read_choice(key->choices, text, field);
    default:
        return false;
    }
}

enum esp_status config_read_value(const struct config_key *key, const char *text, void *field,
                                  struct arena *arena, struct esp_error *error)
{
    enum esp_status status;
    char expected[200];
    switch (key->type) {
    case CONFIG_STRING:
    case CONFIG_STRINGS:
        *(char **)field = arena_strdup(arena, text);
        return *(char **)field ? ESP_OK : error_no_memory(error, key->name);
    case CONFIG_ADDRESS:
    case CONFIG_ADDRESSES:
        status = config_whole_address(text, key->port, field, arena, error);
        if (status != ESP_OK)
            error_prefix(error, "%s", key->name);
        return status;
    default:
        if (read_plain(key, text, field) && within_bounds(key, text))
            return ESP_OK;
        describe(key, expected, sizeof expected);
        return error_set(error, ESP_CONFIG, "%s: expected %s, found \"%s\"", key->name, expected, text);
    }
}

bool config_value_is_initial(const struct config_key *key, const void *field)
{
    union {
        bool boolean;
        int64_t integer;
        uint64_t bytes;
        double fraction;
        int choice;
    } initial;
    if (config_type_is_list(key->type))
        return ((const struct config_strings *)field)->n == 0;
    if (key->type == CONFIG_STRING || key->type == CONFIG_ADDRESS) {
        const char *text = *(char *const *)field;
        return !text || (key->initial && strcmp(text, key->initial) == 0);
    }
    memset(&initial, 0, sizeof initial); /* the value of a missing key without a default */
    if (key->initial && !read_plain(key, key->initial, &initial))
        return false;
    switch (key->type) {
    case CONFIG_BOOL:
        return initial.boolean == *(const bool *)field;
    case CONFIG_FRACTION:
        return fabs(initial.fraction - *(const double *)field) < 1e-9;
    case CONFIG_CHOICE:
        return initial.choice == *(const int *)field;
    default:
        return memcmp(&initial, field, sizeof(int64_t)) == 0;
    }
}
