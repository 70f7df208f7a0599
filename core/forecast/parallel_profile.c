/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/parallel_profile.h"

#include "util/crc32c.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEADING   "espalier-ranks 1\n"
#define END_BYTES 13 /* "end " with eight digits and a line end */
/* Level 1 and 2 kernels are that much slower than products: they wait for memory, which ranks share. */
#define SLOWNESS 6
#define KERNEL_S 1e-6

#define HEEDED_S    1e-3
#define MOST_CHANGE 4.0
#define LEAST_PART  0.125 /* of a call, however many there have been */
#define MOST_FACTOR 50.0

/* ---- what it tells ---- */

struct parallel_machine parallel_profile_machine(const struct parallel_profile *profile)
{
    double flops = profile->flops > 0 ? profile->flops : 1e9;
    struct parallel_machine machine = {.polynomials =
                                           parallel_polynomials_from_rates(flops, flops / SLOWNESS, KERNEL_S),
                                       .latency_s = profile->latency_s,
                                       .element_s = 8 * profile->byte_s,
                                       .broadcast = parallel_broadcast_find("tree")};
    machine.polynomials.of[PARALLEL_GEMM][4] = profile->update_s;
    return machine;
}

static double join(double known, double fresh)
{
    return known > 0 && fresh > 0 ? sqrt(known * fresh) : fresh > 0 ? fresh : known;
}

void parallel_profile_measured(struct parallel_profile *profile, double flops, double update_s,
                               double latency_s, double byte_s)
{
    profile->flops = join(profile->flops, flops);
    profile->update_s = join(profile->update_s, update_s);
    profile->latency_s = join(profile->latency_s, latency_s);
    profile->byte_s = join(profile->byte_s, byte_s);
}

static const struct profile_routine *find(const struct parallel_profile *profile, const char *routine)
{
    for (uint32_t i = 0; i < profile->n_routines; i++)
        if (strcmp(profile->routines[i].name, routine) == 0)
            return &profile->routines[i];
    return NULL;
}

double parallel_profile_factor(const struct parallel_profile *profile, const char *routine)
{
    const struct profile_routine *known = find(profile, routine);
    return known ? known->factor : 1;
}

static double between(double least, double x, double most)
{
    return x < least ? least : x > most ? most : x;
}

void parallel_profile_learn(struct parallel_profile *profile, const char *routine, double forecast_s,
                            double taken_s)
{
    struct profile_routine *known = (struct profile_routine *)(uintptr_t)find(profile, routine);
    if (!(forecast_s > 0) || !isfinite(forecast_s) || !(taken_s >= HEEDED_S) || !isfinite(taken_s) ||
        strlen(routine) >= PROFILE_NAME || strpbrk(routine, " \t\n"))
        return;
    if (!known && profile->n_routines == PROFILE_MOST_ROUTINES)
        return;
    if (!known) {
        known = &profile->routines[profile->n_routines++];
        *known = (struct profile_routine){.factor = 1};
        snprintf(known->name, sizeof known->name, "%s", routine);
    }
    double part = 1.0 / (known->calls + 1),
           ratio = between(1 / MOST_CHANGE, taken_s / forecast_s, MOST_CHANGE);
    known->factor = between(1 / MOST_FACTOR,
                            known->factor * pow(ratio, part > LEAST_PART ? part : LEAST_PART), MOST_FACTOR);
    known->calls += known->calls < UINT32_MAX;
}

/* ---- as a text ---- */

static void put(char *text, size_t *length, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put(char *text, size_t *length, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int n = vsnprintf(text + *length, PROFILE_MOST_TEXT - *length, format, values);
    va_end(values);
    *length += n > 0 && (size_t)n < PROFILE_MOST_TEXT - *length ? (size_t)n : 0;
}

size_t parallel_profile_write(const struct parallel_profile *profile, char *text)
{
    size_t length = 0;
    put(text, &length, HEADING "ranks %" PRIu32 "\nflops %.9g\nupdate_s %.9g\nlatency_s %.9g\nbyte_s %.9g\n",
        profile->ranks, profile->flops, profile->update_s, profile->latency_s, profile->byte_s);
    for (uint32_t i = 0; i < profile->n_routines; i++)
        put(text, &length, "took %s %.9g %" PRIu32 "\n", profile->routines[i].name,
            profile->routines[i].factor, profile->routines[i].calls);
    put(text, &length, "end %08" PRIx32 "\n", crc32c(0, text, length));
    return length;
}

static bool is_number(double x)
{
    return isfinite(x) && x >= 0;
}

static bool read_routine(const char *line, struct parallel_profile *profile)
{
    struct profile_routine *routine = &profile->routines[profile->n_routines];
    int end = 0;
    if (profile->n_routines == PROFILE_MOST_ROUTINES ||
        sscanf(line, "took %63s %lf %" SCNu32 "%n", routine->name, &routine->factor, &routine->calls, &end) !=
            3 ||
        line[end] != '\n' || !(routine->factor >= 1 / MOST_FACTOR) || !(routine->factor <= MOST_FACTOR))
        return false;
    profile->n_routines++;
    return true;
}

static bool read_line(const char *line, struct parallel_profile *profile)
{
    int end = 0;
    if (sscanf(line, "ranks %" SCNu32 "%n", &profile->ranks, &end) == 1 && line[end] == '\n')
        return true;
    if (sscanf(line, "flops %lf%n", &profile->flops, &end) == 1 && line[end] == '\n')
        return is_number(profile->flops);
    if (sscanf(line, "update_s %lf%n", &profile->update_s, &end) == 1 && line[end] == '\n')
        return is_number(profile->update_s);
    if (sscanf(line, "latency_s %lf%n", &profile->latency_s, &end) == 1 && line[end] == '\n')
        return is_number(profile->latency_s);
    if (sscanf(line, "byte_s %lf%n", &profile->byte_s, &end) == 1 && line[end] == '\n')
        return is_number(profile->byte_s);
    return read_routine(line, profile);
}

enum esp_status parallel_profile_read(const char *text, size_t length, struct parallel_profile *profile,
                                      struct esp_error *error)
{
    struct parallel_profile read = {0};
    char whole[PROFILE_MOST_TEXT + 1], end[END_BYTES + 1];
    if (length >= sizeof whole || length < sizeof HEADING - 1 + END_BYTES || memchr(text, 0, length) ||
        memcmp(text, HEADING, sizeof HEADING - 1) != 0)
        return error_set(error, ESP_INVALID,
                         "line 1: expected what is known of a server's ranks, 'espalier-ranks 1'");
    memcpy(whole, text, length);
    whole[length] = 0;
    size_t body = length - END_BYTES;
    snprintf(end, sizeof end, "end %08" PRIx32 "\n", crc32c(0, text, body));
    if (memcmp(whole + body, end, END_BYTES) != 0)
        return error_set(error, ESP_INVALID, "it is damaged: its checksum is another one");
    whole[body] = 0;
    unsigned number = 2;
    for (char *line = whole + sizeof HEADING - 1; *line; line = strchr(line, '\n') + 1, number++)
        if (!strchr(line, '\n') || !read_line(line, &read))
            return error_set(error, ESP_INVALID,
                             "line %u: expected ranks, flops, update_s, latency_s, byte_s, or 'took' a "
                             "routine, found %.*s",
                             number, (int)strcspn(line, "\n"), line);
    *profile = read;
    return ESP_OK;
}

enum esp_status parallel_profile_load(const char *path, struct parallel_profile *profile,
                                      struct esp_error *error)
{
    char text[PROFILE_MOST_TEXT + 1];
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? error_set(error, ESP_NOT_FOUND, "%s: no such file", path)
                               : error_errno(error, "%s cannot be read", path);
    size_t length = fread(text, 1, sizeof text, file);
    bool failed = ferror(file);
    fclose(file);
    if (failed)
        return error_set(error, ESP_SYSTEM, "%s cannot be read", path);
    enum esp_status status = parallel_profile_read(text, length, profile, error);
    return status == ESP_OK ? status : error_prefix(error, "%s", path);
}
