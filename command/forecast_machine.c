/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/forecast_machine.h"
#include "command/ranks_ask.h"
#include "command/session.h"
#include "espalier.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL_S 1e-6 /* of a kernel */

struct given {
    double flops, slow, latency_s, bandwidth_bps; /* slow 0: as the models have it without measurements */
    const char *broadcast;
    double update_s; /* of each element of a product, besides */
};

/* Where nobody has measured: a core of these years, and links between processes of one machine. */
static const struct given guess = {
    .flops = 1e10, .latency_s = 5e-6, .bandwidth_bps = 1e9, .broadcast = "tree", .update_s = 1e-9};

/* Section 4.3 of the FAST paper: Pentium III of 733 MHz, Fast Ethernet behind switches. */
static const struct given paper = {5e8, 8e7, 1e-4, 11.2e6, "tree", 0};

#define EXPECTED                                                                                             \
    "expected \"paper\" or flops=NUMBER,slow=NUMBER,latency=SECONDS,bandwidth=BYTES-PER-SECOND,"             \
    "broadcast=tree, ring, pipeline or split (any of them)"

static enum esp_status take_number(const char *key, const char *value, double *number,
                                   struct esp_error *error)
{
    char *end;
    *number = strtod(value, &end);
    if (end == value || *end || !isfinite(*number) || !(*number > 0))
        return error_set(error, ESP_SYNTAX, "--machine: %s: expected a number above 0, found \"%s\"", key,
                         value);
    return ESP_OK;
}

static enum esp_status take(char *word, struct given *given, struct esp_error *error)
{
    const struct {
        const char *key;
        double *number;
    } numbers[] = {{"flops", &given->flops},
                   {"slow", &given->slow},
                   {"latency", &given->latency_s},
                   {"bandwidth", &given->bandwidth_bps}};
    char *value = strchr(word, '=');
    if (!value)
        return error_set(error, ESP_SYNTAX, "--machine: " EXPECTED ", found \"%s\"", word);
    *value++ = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(word, numbers[i].key) == 0)
            return take_number(word, value, numbers[i].number, error);
    const struct parallel_broadcast *broadcast =
        strcmp(word, "broadcast") == 0 ? parallel_broadcast_find(value) : NULL;
    if (!broadcast)
        return error_set(error, ESP_SYNTAX, "--machine: " EXPECTED ", found \"%s=%s\"", word, value);
    given->broadcast = broadcast->name;
    return ESP_OK;
}

static enum esp_status read_given(const char *text, struct given *given, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    if (strcmp(text, "paper") == 0) {
        *given = paper;
        return ESP_OK;
    }
    char *copy = strdup(text), *rest = copy, *word;
    if (!copy)
        return error_no_memory(error, "a machine");
    while (status == ESP_OK && (word = strsep(&rest, ",")))
        status = take(word, given, error);
    free(copy);
    return status;
}

static struct parallel_profile profile_of(const struct given *given)
{
    const double byte_s = 1 / given->bandwidth_bps;
    struct parallel_profile profile = {.speed = {.flops = given->flops,
                                                 .update_s = given->update_s,
                                                 .latency_s = given->latency_s,
                                                 .byte_s = byte_s,
                                                 .broadcast_latency_s = given->latency_s,
                                                 .broadcast_byte_s = byte_s}};
    for (uint32_t i = 0; i < PARALLEL_BROADCASTS; i++)
        if (strcmp(parallel_broadcast_at(i)->name, given->broadcast) == 0)
            profile.speed.broadcast = i + 1;
    if (given->slow > 0)
        profile.speed.kernels = parallel_polynomials_from_rates(given->flops, given->slow, CALL_S);
    return profile;
}

static enum esp_status check_sources(const char *path, const char *text, const char *server,
                                     struct esp_error *error)
{
    if (path && text)
        return error_set(error, ESP_SYNTAX,
                         "expected --ranks (as measured) or --machine (as given), found both");
    if (server && (path || text))
        return error_set(error, ESP_SYNTAX, "expected --server (as its ranks measured) or %s, found both",
                         path ? "--ranks" : "--machine");
    return ESP_OK;
}

/* From the options alone. */
static enum esp_status read_machine(const char *path, const char *text, struct parallel_profile *profile,
                                    struct esp_error *error)
{
    struct given given = guess;
    enum esp_status status = ESP_OK;
    if (path)
        return parallel_profile_load(path, profile, error);
    if (text) {
        given.update_s = 0;
        status = read_given(text, &given, error);
    }
    *profile = profile_of(&given);
    return status;
}

static enum exit_code ask(const struct command_line *command, const char *server,
                          struct parallel_profile *profile)
{
    struct esp_error error;
    enum exit_code code = session_within(command, session_open(command));
    if (code != EXIT_DONE)
        return code;
    if (ranks_ask(server, NULL, profile, &error) != ESP_OK)
        code = session_fail_with(command, &error);
    grpc_finalize();
    return code;
}

enum exit_code forecast_machine(const struct command_line *command, struct parallel_profile *profile)
{
    const char *path = command_option_value(command, "ranks"),
               *text = command_option_value(command, "machine"),
               *server = command_option_value(command, "server");
    struct esp_error error = {0};
    enum esp_status status = check_sources(path, text, server, &error);
    if (status == ESP_OK && server)
        return ask(command, server, profile);
    if (status == ESP_OK)
        status = read_machine(path, text, profile, &error);
    if (status == ESP_SYNTAX)
        return command_usage(command, "%s", error.text);
    return status == ESP_OK ? EXIT_DONE : command_fail(command, &error);
}
