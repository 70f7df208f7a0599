/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate/platform.h"
#include "util/config_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
    int64_t nodes, latency_ns, channel;
    uint64_t bandwidth, memory;
    char *flops;
    struct config_strings speed, send, receive;
};

#define ROW(field) offsetof(struct settings, field)

static const struct config_key keys[] = {
    {.name = "nodes",
     .type = CONFIG_INTEGER,
     .offset = ROW(nodes),
     .required = true,
     .least = "1",
     .most = "100000",
     .text = "nodes, each with one processor"},
    {.name = "latency",
     .type = CONFIG_DURATION,
     .offset = ROW(latency_ns),
     .initial = "0 s",
     .least = "0 s",
     .most = "1 h",
     .text = "what a transfer takes besides its bytes"},
    {.name = "bandwidth",
     .type = CONFIG_SIZE,
     .offset = ROW(bandwidth),
     .required = true,
     .least = "1 B",
     .text = "bytes per second of a link, in each direction"},
    {.name = "channel",
     .type = CONFIG_INTEGER,
     .offset = ROW(channel),
     .initial = "1",
     .least = "0",
     .most = "1000000",
     .text = "transfers from one node to another one that progress at a time; 0: all"},
    {.name = "flops",
     .type = CONFIG_STRING,
     .offset = ROW(flops),
     .text = "floating-point operations per second of a processor of speed 1, as 80e6"},
    {.name = "speed",
     .type = CONFIG_STRINGS,
     .offset = ROW(speed),
     .text = "speeds of the nodes; fewer numbers than nodes are repeated"},
    {.name = "memory",
     .type = CONFIG_SIZE,
     .offset = ROW(memory),
     .text = "memory of a node; without it, memory is not limited"},
    {.name = "send",
     .type = CONFIG_STRINGS,
     .offset = ROW(send),
     .text = "parts of a processor that 1, 2, ... outgoing transfers use, as 5 %"},
    {.name = "receive",
     .type = CONFIG_STRINGS,
     .offset = ROW(receive),
     .text = "parts of a processor that 1, 2, ... incoming transfers use"},
    {0},
};
static const struct config_group groups[] = {{keys, 0}, {NULL, 0}};
const struct config_schema platform_schema = {
    .title = "simulated platform", .size = sizeof(struct settings), .groups = groups};

bool platform_has_key(const char *name)
{
    return config_key_find(&platform_schema, name) != NULL;
}

/* A number >= 0, with "%" behind it where that is allowed. */
static enum esp_status read_number(const char *key, const char *text, bool percent, double *value,
                                   struct esp_error *error)
{
    char *end;
    *value = strtod(text, &end);
    bool is_number = end != text;
    while (*end == ' ')
        end++;
    if (percent && *end == '%') {
        *value /= 100;
        end++;
    }
    if (!is_number || *end || !(*value >= 0) || isinf(*value))
        return error_set(error, ESP_CONFIG, "%s: expected a number >= 0%s, found \"%s\"", key,
                         percent ? ", as 5 % or 0.05" : "", text);
    return ESP_OK;
}

static enum esp_status read_shares(const char *key, const struct config_strings *texts,
                                   struct star_shares *shares, struct esp_error *error)
{
    if (texts->n > STAR_MOST_SHARES)
        return error_set(error, ESP_CONFIG, "%s: expected at most %d numbers, found %zu", key,
                         STAR_MOST_SHARES, texts->n);
    shares->n = (unsigned)texts->n;
    for (size_t i = 0; i < texts->n; i++) {
        enum esp_status status = read_number(key, texts->items[i], true, &shares->of[i], error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

static enum esp_status read_speeds(const struct settings *settings, struct platform *platform,
                                   struct esp_error *error)
{
    size_t n = settings->speed.n;
    if (n == 0)
        return ESP_OK;
    platform->speeds = arena_alloc(&platform->arena, (size_t)settings->nodes * sizeof *platform->speeds);
    if (!platform->speeds)
        return error_no_memory(error, "a simulated platform");
    for (int64_t i = 0; i < settings->nodes; i++) {
        enum esp_status status =
            read_number("speed", settings->speed.items[(size_t)i % n], false, &platform->speeds[i], error);
        if (status != ESP_OK)
            return status;
    }
    return ESP_OK;
}

static enum esp_status take_over(const struct settings *settings, struct platform *platform,
                                 struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    platform->star = (struct star_spec){.n_nodes = (unsigned)settings->nodes,
                                        .latency_s = (double)settings->latency_ns / 1e9,
                                        .bandwidth_Bps = (double)settings->bandwidth,
                                        .channel = (unsigned)settings->channel};
    if (settings->flops)
        status = read_number("flops", settings->flops, false, &platform->flops, error);
    if (status == ESP_OK)
        status = read_shares("send", &settings->send, &platform->star.send, error);
    if (status == ESP_OK)
        status = read_shares("receive", &settings->receive, &platform->star.receive, error);
    if (status == ESP_OK)
        status = read_speeds(settings, platform, error);
    platform->star.speeds = platform->speeds;
    if (status != ESP_OK || settings->memory == 0)
        return status;
    platform->memory_bytes =
        arena_alloc(&platform->arena, (size_t)settings->nodes * sizeof *platform->memory_bytes);
    if (!platform->memory_bytes)
        return error_no_memory(error, "a simulated platform");
    for (int64_t i = 0; i < settings->nodes; i++)
        platform->memory_bytes[i] = settings->memory;
    return ESP_OK;
}

/* "key=value" in place of what the file says. A list becomes one of one value. */
static enum esp_status set(struct settings *settings, const char *setting, struct arena *arena,
                           struct esp_error *error)
{
    const char *equals = strchr(setting, '=');
    char name[64] = "";
    if (equals && (size_t)(equals - setting) < sizeof name)
        memcpy(name, setting, (size_t)(equals - setting));
    const struct config_key *key = config_key_find(&platform_schema, name);
    if (!key)
        return error_set(error, ESP_INVALID, "expected a key of platforms and its value, found '%.60s'",
                         setting);
    char *field = (char *)settings + key->offset;
    if (key->type != CONFIG_STRINGS)
        return config_read_value(key, equals + 1, field, arena, error);
    struct config_strings *list = (struct config_strings *)(void *)field;
    list->items = arena_alloc(arena, sizeof(char *));
    if (!list->items || !(list->items[0] = arena_strdup(arena, equals + 1)))
        return error_no_memory(error, "a simulated platform");
    list->n = 1;
    return ESP_OK;
}

/* ---- factors ---- */

static bool is_factor(const char *setting)
{
    const char *equals = strchr(setting, '=');
    return equals && equals[1] == '*';
}

static enum esp_status multiply_speeds(struct platform *platform, double factor, struct esp_error *error)
{
    unsigned n = platform->star.n_nodes;
    if (!platform->speeds) {
        platform->speeds = arena_alloc(&platform->arena, n * sizeof *platform->speeds);
        if (!platform->speeds)
            return error_no_memory(error, "a simulated platform");
        for (unsigned i = 0; i < n; i++)
            platform->speeds[i] = 1;
        platform->star.speeds = platform->speeds;
    }
    for (unsigned i = 0; i < n; i++)
        platform->speeds[i] *= factor;
    return ESP_OK;
}

static void multiply_shares(struct star_shares *shares, double factor)
{
    for (unsigned i = 0; i < shares->n; i++)
        shares->of[i] *= factor;
}

static enum esp_status multiply(struct platform *platform, const char *setting, struct esp_error *error)
{
    char name[64] = "";
    double factor;
    size_t length = strcspn(setting, "=");
    memcpy(name, setting, length < sizeof name ? length : 0);
    enum esp_status status = read_number(name, setting + length + 2, false, &factor, error);
    if (status != ESP_OK)
        return error_set(error, ESP_INVALID, "%s: expected a number behind '*', found '%.40s'", name,
                         setting + length + 2);
    if (strcmp(name, "latency") == 0)
        platform->star.latency_s *= factor;
    else if (strcmp(name, "bandwidth") == 0)
        platform->star.bandwidth_Bps *= factor;
    else if (strcmp(name, "flops") == 0)
        platform->flops *= factor;
    else if (strcmp(name, "speed") == 0)
        return multiply_speeds(platform, factor, error);
    else if (strcmp(name, "send") == 0)
        multiply_shares(&platform->star.send, factor);
    else if (strcmp(name, "receive") == 0)
        multiply_shares(&platform->star.receive, factor);
    else
        return error_set(
            error, ESP_INVALID,
            "%s: expected a value: a factor is for latency, bandwidth, flops, speed, send and receive", name);
    return ESP_OK;
}

/* ---- the whole ---- */

enum esp_status platform_load(const char *path, const char *const *texts, size_t n, struct platform *platform,
                              struct esp_error *error)
{
    struct settings settings;
    *platform = (struct platform){0};
    enum esp_status status = config_load(&platform_schema, path, &settings, &platform->arena, error);
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        if (!is_factor(texts[i]))
            status = set(&settings, texts[i], &platform->arena, error);
    if (status == ESP_OK) {
        status = take_over(&settings, platform, error);
        if (status == ESP_CONFIG)
            error_prefix(error, "%s", path);
    }
    for (size_t i = 0; i < n && status == ESP_OK; i++)
        if (is_factor(texts[i]))
            status = multiply(platform, texts[i], error);
    if (status != ESP_OK)
        platform_clear(platform);
    return status;
}

void platform_clear(struct platform *platform)
{
    arena_clear(&platform->arena);
    *platform = (struct platform){0};
}
