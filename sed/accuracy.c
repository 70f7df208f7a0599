/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/accuracy.h"

#include "util/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct accuracy {
    char *path;
    FILE *file;
    long bytes;
};

static FILE *open_file(const char *path, long *bytes)
{
    FILE *file = fopen(path, "ae");
    if (!file) {
        log_warning("forecasts are not noted: %s: %s", path, strerror(errno));
        return NULL;
    }
    setvbuf(file, NULL, _IOLBF, 4096);
    fseek(file, 0, SEEK_END);
    *bytes = ftell(file);
    return file;
}

struct accuracy *accuracy_open(const char *path)
{
    struct accuracy *accuracy = calloc(1, sizeof *accuracy);
    if (!accuracy)
        return NULL;
    accuracy->path = strdup(path);
    accuracy->file = accuracy->path ? open_file(path, &accuracy->bytes) : NULL;
    if (accuracy->file)
        return accuracy;
    accuracy_close(accuracy);
    return NULL;
}

void accuracy_close(struct accuracy *accuracy)
{
    if (!accuracy)
        return;
    if (accuracy->file)
        fclose(accuracy->file);
    free(accuracy->path);
    free(accuracy);
}

static void begin_anew(struct accuracy *accuracy)
{
    char old[4096];
    fclose(accuracy->file);
    snprintf(old, sizeof old, "%s.old", accuracy->path);
    rename(accuracy->path, old);
    accuracy->file = open_file(accuracy->path, &accuracy->bytes);
}

void accuracy_note(struct accuracy *accuracy, const char *problem, double forecast_s, double actual_s)
{
    if (!(actual_s >= ACCURACY_LEAST_S) || !accuracy->file)
        return;
    int n = fprintf(accuracy->file, "%lld\t%s\t%.6g\t%.6g\n", (long long)time(NULL), problem, forecast_s,
                    actual_s);
    accuracy->bytes += n > 0 ? n : 0;
    if (accuracy->bytes > ACCURACY_BYTES)
        begin_anew(accuracy);
}
