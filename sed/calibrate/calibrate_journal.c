/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal of a calibration: a line for each measured size, beside the future model. */
#include "sed/calibrate/calibrate_run.h"
#include "util/crc32c.h"
#include "util/log.h"
#include "util/regular_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- the model to replace ---- */

#define REPLACES "replaces "

/* Computes the checksum of the file, whether it is complete or not. False: there is none. */
static bool checksum_of(const char *path, uint32_t *checksum)
{
    char bytes[4096];
    size_t n;
    FILE *file = regular_file_open(path, "r", NULL);
    *checksum = 0;
    while (file && (n = fread(bytes, 1, sizeof bytes, file)) > 0)
        *checksum = crc32c(*checksum, bytes, n);
    if (file)
        fclose(file);
    return file != NULL;
}

enum esp_status journal_begin(const struct class_run *run, struct esp_error *error)
{
    uint32_t checksum;
    if (access(run->journal, F_OK) == 0 || !checksum_of(run->path, &checksum))
        return ESP_OK;
    FILE *file = regular_file_open(run->journal, "a", error);
    if (!file)
        return error->status;
    fprintf(file, REPLACES "%08" PRIx32 " .\n", checksum);
    return fclose(file) == 0 ? ESP_OK : error_errno(error, "%s cannot be written", run->journal);
}

bool journal_is_old(const struct class_run *run)
{
    uint32_t checksum, replaced;
    char line[64] = "";
    FILE *file = regular_file_open(run->journal, "r", NULL);
    if (!file || !checksum_of(run->path, &checksum)) {
        if (file)
            fclose(file);
        return true;
    }
    const bool begun = fgets(line, sizeof line, file) && line[strcspn(line, "\n")] == '\n' &&
                       sscanf(line, REPLACES "%" SCNx32 " .", &replaced) == 1;
    fclose(file);
    return !begun || replaced != checksum;
}

/* ---- its lines ---- */

/* A line ends in a point, so that a cut one is recognised. */
enum esp_status journal_note(struct class_run *run, const struct cost_measurement *m, struct esp_error *error)
{
    struct esp_error own;
    error = error ? error : &own;
    FILE *file = regular_file_open(run->journal, "a", error);
    if (!file)
        return error->status;
    fprintf(file, "%016" PRIx64 " %.17g %.17g %.17g %" PRIu32, run->model.digest, m->seconds, m->spread,
            m->bytes, m->repetitions);
    for (uint32_t i = 0; i < run->model.n_variables; i++)
        fprintf(file, " %.17g", m->x[i]);
    fputs(" .\n", file);
    bool whole = fflush(file) == 0 && !ferror(file);
    if (fclose(file) != 0 || !whole)
        return error_errno(error, "%s cannot be written", run->journal);
    return ESP_OK;
}

enum note { NOTE_GOOD, NOTE_DAMAGED, NOTE_ABSURD };

/* Tolerance for derived variables, which depend on options that the journal does not have. */
#define MOST_OFF 16
/* Bounds of plausible measurements: operations per second with one thread, and time of a call. */
#define MOST_FLOPS 1e12
#define LEAST_S    1e-9

/* Whether the problem allows such sizes, and the other variables follow from them. */
static bool are_sizes(const struct class_run *run, const struct cost_measurement *m)
{
    const struct design *design = run->design;
    struct design_point point = {.x = {0}};
    int64_t sizes[COST_MOST_VARIABLES];
    for (uint32_t i = 0; i < run->model.n_variables; i++)
        if (!(m->x[i] >= 0 && m->x[i] < 1e18))
            return false;
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        if (m->x[i] < 1 || m->x[i] != floor(m->x[i]))
            return false;
        sizes[i] = (int64_t)m->x[i];
    }
    if (!design_at(design, run->class_index, sizes, &point))
        return true; /* possibly with another value of an option */
    for (uint32_t i = design->n_sizes; i < run->model.n_variables; i++)
        if (m->x[i] > MOST_OFF * point.x[i] || MOST_OFF * m->x[i] < point.x[i])
            return false;
    return true;
}

/* Rejects impossible numbers, because one of them would outweigh all others in a fit of relative errors. */
static bool can_be(const struct class_run *run, const struct cost_measurement *m)
{
    const struct design *design = run->design;
    const double most_flops = MOST_FLOPS * run->model.threads;
    return m->seconds >= LEAST_S && m->seconds < COST_MOST_S && m->spread >= 0 && m->spread < 1e9 &&
           m->bytes >= 0 && m->bytes < 1e18 && m->repetitions > 0 && are_sizes(run, m) &&
           !(design->has_work && m->x[design->n_sizes + design->has_lesser] > most_flops * m->seconds);
}

static enum note parse_note(const struct class_run *run, const char *line, struct cost_measurement *m)
{
    uint64_t digest;
    int used = 0;
    if (sscanf(line, "%" SCNx64 " %lf %lf %lf %" SCNu32 "%n", &digest, &m->seconds, &m->spread, &m->bytes,
               &m->repetitions, &used) != 5 ||
        digest != run->model.digest)
        return NOTE_DAMAGED;
    for (uint32_t i = 0; i < run->model.n_variables; i++) {
        int n = 0;
        if (sscanf(line + used, " %lf%n", &m->x[i], &n) != 1)
            return NOTE_DAMAGED;
        used += n;
    }
    if (strcmp(line + used, " .\n") != 0)
        return NOTE_DAMAGED;
    return can_be(run, m) ? NOTE_GOOD : NOTE_ABSURD;
}

void journal_learn(struct class_run *run, const struct cost_measurement *m)
{
    const struct design *design = run->design;
    double bytes = m->x[run->model.n_variables - 1];
    double effort = design->has_work ? m->x[design->n_sizes + design->has_lesser] : bytes;
    struct design_limits *limits = &run->limits;
    if (m->seconds < limits->call_s)
        limits->call_s = m->seconds;
    double net_s = m->seconds - limits->call_s;
    if (effort > 0 && net_s > limits->call_s)
        limits->speed_flops = sqrt(limits->speed_flops * effort / net_s);
}

/* False: there is no room. */
static bool take(struct class_run *run, const struct cost_measurement *m)
{
    struct cost_measurement *to = run->measurements;
    const struct cost_measurement *end = to + run->model.n_measurements;
    while (to < end && memcmp(to->x, m->x, sizeof m->x) != 0)
        to++;
    if (to == end && run->model.n_measurements++ == CALIBRATE_MOST_POINTS) {
        run->model.n_measurements--;
        return false;
    }
    *to = *m;
    return true;
}

/* Ends a cut last line, so that the next one starts on a new line. */
static void end_last_line(FILE *file)
{
    if (fseek(file, -1, SEEK_END) == 0 && fgetc(file) != '\n' && fseek(file, 0, SEEK_END) == 0)
        fputc('\n', file);
}

struct passed_over {
    unsigned n, first; /* the first one's line */
};

static void pass_over(struct passed_over *lines, unsigned number)
{
    if (lines->n++ == 0)
        lines->first = number;
}

static void tell(const struct class_run *run, const struct passed_over *lines, const char *what)
{
    if (lines->n > 0)
        log_warning("%s:%u: %s; %u of its lines %s passed over and those sizes are measured again",
                    run->journal, lines->first, what, lines->n, lines->n == 1 ? "is" : "are");
}

void journal_read(struct class_run *run)
{
    char line[1024];
    struct esp_error error;
    unsigned number = 0;
    struct passed_over lines[3] = {{0}};
    FILE *file = regular_file_open(run->journal, "r+", &error);
    if (!file) {
        if (error.status != ESP_NOT_FOUND)
            log_warning("%s; all is measured anew", error.text);
        return;
    }
    while (fgets(line, sizeof line, file)) {
        struct cost_measurement m = {.seconds = 0};
        number++;
        if (number == 1 && strncmp(line, REPLACES, sizeof REPLACES - 1) == 0)
            continue;
        const enum note note = parse_note(run, line, &m);
        if (note != NOTE_GOOD)
            pass_over(&lines[note], number);
        else if (take(run, &m))
            journal_learn(run, &m);
    }
    tell(run, &lines[NOTE_DAMAGED], "expected a measurement of this problem, whole, found another line");
    tell(run, &lines[NOTE_ABSURD],
         "expected a time, memory and sizes that can be, found a measurement that cannot");
    end_last_line(file);
    fclose(file);
}
