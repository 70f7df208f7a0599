/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/parallel_profile.h"

#include "util/crc32c.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADING   "espalier-ranks 1\n"
#define END_BYTES 13 /* "end " with eight digits and a line end */
/* Level 1 and 2 kernels are that much slower than products: they wait for memory, which ranks share. */
#define SLOWNESS 6
#define KERNEL_S 1e-6

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
    if (profile->experience.n > 0)
        return;
    profile->flops = join(profile->flops, flops);
    profile->update_s = join(profile->update_s, update_s);
    profile->latency_s = join(profile->latency_s, latency_s);
    profile->byte_s = join(profile->byte_s, byte_s);
}

static bool is_about(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b); /* a text has nine digits */
}

static uint32_t count_samples(const struct parallel_experience *experience)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < experience->n; i++)
        n += experience->grids[i].n;
    return n;
}

uint32_t parallel_profile_adopt(struct parallel_profile *profile, const struct parallel_profile *other)
{
    if (is_about(profile->flops, other->flops) && is_about(profile->update_s, other->update_s) &&
        is_about(profile->latency_s, other->latency_s) && is_about(profile->byte_s, other->byte_s))
        return experience_adopt(&profile->experience, &other->experience);
    if (count_samples(&other->experience) <= count_samples(&profile->experience))
        return 0;
    *profile = *other;
    return other->experience.n;
}

/* ---- as a text ---- */

static void put_grid(FILE *file, const struct experience_grid *of)
{
    fprintf(file, "took %s %" PRId64 " %" PRId64 " %" PRId64, of->routine, of->grid.p, of->grid.q, of->block);
    for (uint32_t i = 0; i < of->n; i++)
        fprintf(file, " %.5g:%.5g", (double)of->samples[i].size, (double)of->samples[i].ratio);
    fputc('\n', file);
}

char *parallel_profile_write(const struct parallel_profile *profile, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    if (!file)
        return NULL;
    fprintf(file, HEADING "ranks %" PRIu32 "\nflops %.9g\nupdate_s %.9g\nlatency_s %.9g\nbyte_s %.9g\n",
            profile->ranks, profile->flops, profile->update_s, profile->latency_s, profile->byte_s);
    for (uint32_t i = 0; i < profile->experience.n; i++)
        put_grid(file, &profile->experience.grids[i]);
    fflush(file);
    fprintf(file, "end %08" PRIx32 "\n", crc32c(0, text, *length));
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

static bool is_number(double x)
{
    return isfinite(x) && x >= 0;
}

static bool read_samples(const char *words, struct experience_grid *of)
{
    while (*words == ' ' && of->n < EXPERIENCE_SAMPLES) {
        struct experience_sample *sample = &of->samples[of->n++];
        int used = 0;
        if (sscanf(words, " %f:%f%n", &sample->size, &sample->ratio, &used) != 2 || !isfinite(sample->size) ||
            !(fabsf(sample->ratio) <= (float)EXPERIENCE_MOST_LOG))
            return false;
        words += used;
    }
    return *words == '\n';
}

static bool read_grid(const char *line, struct parallel_experience *experience)
{
    int used = 0;
    if (experience->n == EXPERIENCE_MOST_GRIDS)
        return false;
    struct experience_grid *of = &experience->grids[experience->n];
    if (sscanf(line, "took %63s %" SCNd64 " %" SCNd64 " %" SCNd64 "%n", of->routine, &of->grid.p, &of->grid.q,
               &of->block, &used) != 4 ||
        of->grid.p < 1 || of->grid.q < 1 || of->block < 1 || !read_samples(line + used, of))
        return false;
    experience->n++;
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
    return read_grid(line, &profile->experience);
}

static enum esp_status read_lines(char *line, struct parallel_profile *profile, struct esp_error *error)
{
    for (unsigned number = 2; *line; line = strchr(line, '\n') + 1, number++)
        if (!strchr(line, '\n') || !read_line(line, profile))
            return error_set(error, ESP_INVALID,
                             "line %u: expected ranks, flops, update_s, latency_s, byte_s, or what a routine "
                             "'took' on a grid, found %.*s",
                             number, (int)strcspn(line, "\n"), line);
    return ESP_OK;
}

static enum esp_status check(const char *text, size_t length, struct esp_error *error)
{
    char end[END_BYTES + 1];
    if (length >= PROFILE_MOST_TEXT || length < sizeof HEADING - 1 + END_BYTES || memchr(text, 0, length) ||
        memcmp(text, HEADING, sizeof HEADING - 1) != 0)
        return error_set(error, ESP_INVALID,
                         "line 1: expected what is known of a server's ranks, 'espalier-ranks 1'");
    snprintf(end, sizeof end, "end %08" PRIx32 "\n", crc32c(0, text, length - END_BYTES));
    if (memcmp(text + length - END_BYTES, end, END_BYTES) != 0)
        return error_set(error, ESP_INVALID, "it is damaged: its checksum is another one");
    return ESP_OK;
}

enum esp_status parallel_profile_read(const char *text, size_t length, struct parallel_profile *profile,
                                      struct esp_error *error)
{
    if (check(text, length, error) != ESP_OK)
        return ESP_INVALID;
    char *lines = strndup(text, length - END_BYTES);
    struct parallel_profile *read = calloc(1, sizeof *read);
    enum esp_status status = lines && read ? read_lines(lines + sizeof HEADING - 1, read, error)
                                           : error_no_memory(error, "what is known of ranks");
    if (status == ESP_OK)
        *profile = *read;
    free(read);
    free(lines);
    return status;
}

enum esp_status parallel_profile_load(const char *path, struct parallel_profile *profile,
                                      struct esp_error *error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return errno == ENOENT ? error_set(error, ESP_NOT_FOUND, "%s: no such file", path)
                               : error_errno(error, "%s cannot be read", path);
    char *text = malloc(PROFILE_MOST_TEXT);
    size_t length = text ? fread(text, 1, PROFILE_MOST_TEXT, file) : 0;
    bool failed = ferror(file);
    fclose(file);
    enum esp_status status = !text    ? error_no_memory(error, "what is known of ranks")
                             : failed ? error_set(error, ESP_SYSTEM, "%s cannot be read", path)
                                      : parallel_profile_read(text, length, profile, error);
    free(text);
    return status == ESP_INVALID ? error_prefix(error, "%s", path) : status;
}
