/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal of a calibration: a line for each size that was measured, beside the model to be made.
 */
#include "sed/calibrate/calibrate_run.h"
#include "util/log.h"
#include "util/regular_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A line ends in its point, so that one that was cut shows. */
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

static bool parse_note(const struct class_run *run, const char *line, struct cost_measurement *m)
{
    uint64_t digest;
    int used = 0;
    if (sscanf(line, "%" SCNx64 " %lf %lf %lf %" SCNu32 "%n", &digest, &m->seconds, &m->spread, &m->bytes,
               &m->repetitions, &used) != 5 ||
        digest != run->model.digest)
        return false;
    for (uint32_t i = 0; i < run->model.n_variables; i++) {
        int n = 0;
        if (sscanf(line + used, " %lf%n", &m->x[i], &n) != 1)
            return false;
        used += n;
    }
    return strcmp(line + used, " .\n") == 0 && m->seconds > 0 && m->seconds < COST_MOST_S && m->bytes >= 0;
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

/* A line that was cut must not swallow the one that is written next. */
static void end_last_line(FILE *file)
{
    if (fseek(file, -1, SEEK_END) == 0 && fgetc(file) != '\n' && fseek(file, 0, SEEK_END) == 0)
        fputc('\n', file);
}

static void tell_damaged(const struct class_run *run, unsigned n, unsigned first)
{
    if (n > 0)
        log_warning("%s:%u: expected a measurement of this problem, whole, found another line; "
                    "%u of its lines %s passed over and those sizes are measured again",
                    run->journal, first, n, n == 1 ? "is" : "are");
}

void journal_read(struct class_run *run)
{
    char line[1024];
    struct esp_error error;
    unsigned number = 0, n_damaged = 0, first = 0;
    FILE *file = regular_file_open(run->journal, "r+", &error);
    if (!file) {
        if (error.status != ESP_NOT_FOUND)
            log_warning("%s; all is measured anew", error.text);
        return;
    }
    while (fgets(line, sizeof line, file)) {
        struct cost_measurement m = {.seconds = 0};
        number++;
        if (parse_note(run, line, &m)) {
            if (take(run, &m))
                journal_learn(run, &m);
        } else if (n_damaged++ == 0) {
            first = number;
        }
    }
    tell_damaged(run, n_damaged, first);
    end_last_line(file);
    fclose(file);
}

bool journal_is_old(const struct class_run *run)
{
    struct stat model, journal;
    if (stat(run->journal, &journal) != 0 || stat(run->path, &model) != 0)
        return true;
    return journal.st_mtim.tv_sec < model.st_mtim.tv_sec ||
           (journal.st_mtim.tv_sec == model.st_mtim.tv_sec &&
            journal.st_mtim.tv_nsec <= model.st_mtim.tv_nsec);
}
