/* SPDX-License-Identifier: Apache-2.0 */
#include "core/forecast/parallel_profile.h"
#include "util/crc32c.h"
#include "util/regular_file.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Defaults for kernels that were not measured: level 1 and 2 are this much slower than products, because
 * they wait for memory, which ranks share. */
#define SLOWNESS 6
#define KERNEL_S 1e-6

static bool kernels_are_known(const struct parallel_speed *speed)
{
    return speed->kernels.of[PARALLEL_GEMM][0] > 0;
}

static void set_broadcast(const struct parallel_speed *speed, struct parallel_machine *machine)
{
    machine->broadcast = parallel_broadcast_find("tree");
    if (speed->broadcast == 0 || speed->broadcast > PARALLEL_BROADCASTS)
        return;
    machine->broadcast = parallel_broadcast_at(speed->broadcast - 1);
    machine->broadcast_latency_s = speed->broadcast_latency_s;
    machine->broadcast_element_s = 8 * speed->broadcast_byte_s;
}

struct parallel_machine parallel_profile_machine(const struct parallel_profile *profile)
{
    const struct parallel_speed *speed = &profile->speed;
    double flops = speed->flops > 0 ? speed->flops : 1e9;
    struct parallel_machine machine = {.polynomials =
                                           parallel_polynomials_from_rates(flops, flops / SLOWNESS, KERNEL_S),
                                       .latency_s = speed->latency_s,
                                       .element_s = 8 * speed->byte_s,
                                       .column_s = speed->column_s,
                                       .panel = speed->panel,
                                       .sharers = speed->sharers,
                                       .processors = speed->processors};
    machine.polynomials.of[PARALLEL_GEMM][4] = speed->update_s;
    if (kernels_are_known(speed))
        machine.polynomials = speed->kernels;
    set_broadcast(speed, &machine);
    return machine;
}

double parallel_speed_fill_s(const struct parallel_speed *speed, double bytes, double ranks)
{
    return speed->fill_byte_s > 0 ? bytes * speed->fill_byte_s / ranks : bytes * speed->byte_s;
}

/* ---- measured ---- */

static void join(double *known, double fresh)
{
    *known = *known > 0 && fresh > 0 ? sqrt(*known * fresh) : fresh > 0 ? fresh : *known;
}

static bool kernel_is_known(const double *c)
{
    bool known = false;
    for (int i = 0; i < PARALLEL_TERMS; i++)
        known |= c[i] > 0;
    return known;
}

static void join_kernels(struct parallel_polynomials *known, const struct parallel_polynomials *fresh)
{
    for (int kernel = 0; kernel < PARALLEL_KERNELS; kernel++) {
        double *c = known->of[kernel];
        const double part = kernel_is_known(c) ? 0.5 : 1;
        for (int i = 0; i < PARALLEL_TERMS && kernel_is_known(fresh->of[kernel]); i++)
            c[i] += part * (fresh->of[kernel][i] - c[i]);
    }
}

static void join_broadcast(struct parallel_speed *known, const struct parallel_speed *fresh)
{
    if (fresh->broadcast == 0)
        return;
    if (fresh->broadcast != known->broadcast)
        known->broadcast_latency_s = known->broadcast_byte_s = 0;
    known->broadcast = fresh->broadcast;
    join(&known->broadcast_latency_s, fresh->broadcast_latency_s);
    join(&known->broadcast_byte_s, fresh->broadcast_byte_s);
}

void parallel_profile_measured(struct parallel_profile *profile, const struct parallel_speed *fresh)
{
    struct parallel_speed *known = &profile->speed;
    if (!experience_is_empty(&profile->experience))
        return;
    join_kernels(&known->kernels, &fresh->kernels);
    join_broadcast(known, fresh);
    join(&known->flops, fresh->flops);
    join(&known->update_s, fresh->update_s);
    join(&known->latency_s, fresh->latency_s);
    join(&known->byte_s, fresh->byte_s);
    join(&known->fill_byte_s, fresh->fill_byte_s);
    join(&known->column_s, fresh->column_s);
    known->gain =
        fresh->gain > 0 ? fresh->gain : known->gain; /* speeds change with other work on the hosts */
    known->panel = fresh->panel > 0 ? fresh->panel : known->panel;
    if (fresh->processors > 0) {
        known->processors = fresh->processors;
        known->sharers = fresh->sharers;
    }
}

/* ---- merging profiles ---- */

static bool is_about(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b); /* the text has nine digits */
}

static bool is_alike(const struct parallel_speed *a, const struct parallel_speed *b)
{
    bool alike = is_about(a->flops, b->flops) && is_about(a->update_s, b->update_s) &&
                 is_about(a->latency_s, b->latency_s) && is_about(a->byte_s, b->byte_s) &&
                 is_about(a->fill_byte_s, b->fill_byte_s) && is_about(a->column_s, b->column_s) &&
                 is_about(a->panel, b->panel) && is_about(a->processors, b->processors) &&
                 is_about(a->sharers, b->sharers) && a->broadcast == b->broadcast &&
                 is_about(a->broadcast_latency_s, b->broadcast_latency_s) &&
                 is_about(a->broadcast_byte_s, b->broadcast_byte_s);
    for (int kernel = 0; kernel < PARALLEL_KERNELS; kernel++)
        for (int i = 0; i < PARALLEL_TERMS; i++)
            alike &= is_about(a->kernels.of[kernel][i], b->kernels.of[kernel][i]);
    return alike;
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
    if (is_alike(&profile->speed, &other->speed))
        return experience_adopt(&profile->experience, &other->experience);
    if (count_samples(&other->experience) <= count_samples(&profile->experience))
        return 0;
    *profile = *other;
    return other->experience.n;
}

/* Profiles of ranks as a text. */

#define HEADING "espalier-ranks 3\n"

/* Files of earlier versions are read too, except for the times of calls, which were relative to other
 * models. */
#define BEFORE    "espalier-ranks "
#define END_BYTES 13 /* "end " with eight digits and a line end */

/* Keywords of lines with one number. */
static const struct figure {
    const char *name;
    size_t offset;
} figures[] = {{"flops", offsetof(struct parallel_speed, flops)},
               {"update_s", offsetof(struct parallel_speed, update_s)},
               {"latency_s", offsetof(struct parallel_speed, latency_s)},
               {"byte_s", offsetof(struct parallel_speed, byte_s)},
               {"fill_byte_s", offsetof(struct parallel_speed, fill_byte_s)},
               {"column_s", offsetof(struct parallel_speed, column_s)},
               {"panel", offsetof(struct parallel_speed, panel)},
               {"gain", offsetof(struct parallel_speed, gain)}};

#define FIGURES (sizeof figures / sizeof *figures)

static double *figure_of(const struct parallel_speed *speed, const struct figure *figure)
{
    return (double *)((char *)(uintptr_t)speed + figure->offset);
}

/* ---- writing ---- */

static void put_kernels(FILE *file, const struct parallel_polynomials *kernels)
{
    for (int kernel = 0; kernel < PARALLEL_KERNELS; kernel++) {
        fprintf(file, "kernel %s", parallel_kernel_names[kernel]);
        for (int i = 0; i < PARALLEL_TERMS; i++)
            fprintf(file, " %.9g", kernels->of[kernel][i]);
        fputc('\n', file);
    }
}

static void put_speed(FILE *file, const struct parallel_speed *speed)
{
    for (size_t i = 0; i < FIGURES; i++)
        fprintf(file, "%s %.9g\n", figures[i].name, *figure_of(speed, &figures[i]));
    if (speed->processors > 0)
        fprintf(file, "processors %.9g %.9g\n", speed->processors, speed->sharers);
    if (speed->broadcast > 0 && speed->broadcast <= PARALLEL_BROADCASTS)
        fprintf(file, "broadcast %s %.9g %.9g\n", parallel_broadcast_at(speed->broadcast - 1)->name,
                speed->broadcast_latency_s, speed->broadcast_byte_s);
    if (speed->kernels.of[PARALLEL_GEMM][0] > 0)
        put_kernels(file, &speed->kernels);
}

static void put_grid(FILE *file, const struct experience_grid *of)
{
    if (of->n == 0)
        return;
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
    fprintf(file, HEADING "ranks %" PRIu32 "\n", profile->ranks);
    put_speed(file, &profile->speed);
    for (uint32_t i = 0; i < profile->experience.n; i++)
        put_grid(file, &profile->experience.grids[i]);
    fflush(file);
    fprintf(file, "end %08" PRIx32 "\n", crc32c(0, text, *length));
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- reading ---- */

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
    experience_settle(of);
    experience->n++;
    return true;
}

static bool read_kernel(const char *line, struct parallel_polynomials *kernels)
{
    char name[16];
    int used = 0, kernel = 0;
    if (sscanf(line, "kernel %15s%n", name, &used) != 1)
        return false;
    while (kernel < PARALLEL_KERNELS && strcmp(parallel_kernel_names[kernel], name) != 0)
        kernel++;
    bool sound = kernel < PARALLEL_KERNELS;
    for (int i = 0; i < PARALLEL_TERMS && sound; i++) {
        int digits = 0;
        double *c = &kernels->of[kernel][i];
        sound = line[used] == ' ' && sscanf(line + used, " %lf%n", c, &digits) == 1 && is_number(*c);
        used += digits;
    }
    return sound && line[used] == '\n';
}

static bool read_broadcast(const char *line, struct parallel_speed *speed)
{
    char name[16];
    int end = 0;
    if (sscanf(line, "broadcast %15s %lf %lf%n", name, &speed->broadcast_latency_s, &speed->broadcast_byte_s,
               &end) != 3 ||
        line[end] != '\n')
        return false;
    for (uint32_t i = 0; i < PARALLEL_BROADCASTS; i++)
        if (strcmp(parallel_broadcast_at(i)->name, name) == 0)
            speed->broadcast = i + 1;
    return speed->broadcast > 0 && is_number(speed->broadcast_latency_s) &&
           is_number(speed->broadcast_byte_s);
}

static bool read_processors(const char *line, struct parallel_speed *speed)
{
    int end = 0;
    return sscanf(line, "processors %lf %lf%n", &speed->processors, &speed->sharers, &end) == 2 &&
           line[end] == '\n' && is_number(speed->processors) && is_number(speed->sharers);
}

static bool read_figure(const char *line, const struct figure *figure, struct parallel_speed *speed)
{
    const size_t length = strlen(figure->name);
    double *value = figure_of(speed, figure);
    int end = 0;
    return strncmp(line, figure->name, length) == 0 && line[length] == ' ' &&
           sscanf(line + length, " %lf%n", value, &end) == 1 && line[length + (size_t)end] == '\n' &&
           is_number(*value);
}

static bool read_line(const char *line, struct parallel_profile *profile)
{
    int end = 0;
    if (sscanf(line, "ranks %" SCNu32 "%n", &profile->ranks, &end) == 1 && line[end] == '\n')
        return true;
    for (size_t i = 0; i < FIGURES; i++)
        if (read_figure(line, &figures[i], &profile->speed))
            return true;
    return read_broadcast(line, &profile->speed) || read_processors(line, &profile->speed) ||
           read_kernel(line, &profile->speed.kernels) || read_grid(line, &profile->experience);
}

static enum esp_status read_lines(char *line, struct parallel_profile *profile, struct esp_error *error)
{
    for (unsigned number = 2; *line; line = strchr(line, '\n') + 1, number++)
        if (!strchr(line, '\n') || !read_line(line, profile))
            return error_set(
                error, ESP_INVALID,
                "line %u: expected ranks, flops, update_s, latency_s, byte_s, fill_byte_s, "
                "column_s, panel, gain, processors, broadcast, kernel, or what a routine 'took' on a "
                "grid, found %.*s",
                number, (int)strcspn(line, "\n"), line);
    return ESP_OK;
}

static bool is_current(const char *text)
{
    return memcmp(text, HEADING, sizeof HEADING - 1) == 0;
}

static bool is_heading(const char *text)
{
    const size_t length = sizeof BEFORE - 1;
    return is_current(text) || (memcmp(text, BEFORE, length) == 0 &&
                                (text[length] == '1' || text[length] == '2') && text[length + 1] == '\n');
}

static enum esp_status check(const char *text, size_t length, struct esp_error *error)
{
    char end[END_BYTES + 1];
    if (length >= PROFILE_MOST_TEXT || length < sizeof HEADING - 1 + END_BYTES || memchr(text, 0, length) ||
        !is_heading(text))
        return error_set(
            error, ESP_INVALID,
            "line 1: expected what is known of a server's ranks, 'espalier-ranks 3' (or 2, or 1)");
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
    if (status == ESP_OK) {
        *profile = *read;
        if (!is_current(text))
            profile->experience.n = 0;
    }
    free(read);
    free(lines);
    return status;
}

enum esp_status parallel_profile_load(const char *path, struct parallel_profile *profile,
                                      struct esp_error *error)
{
    struct esp_error own;
    error = error ? error : &own;
    FILE *file = regular_file_open(path, "r", error);
    if (!file)
        return error->status;
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
