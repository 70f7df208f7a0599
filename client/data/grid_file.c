/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/grid_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LINE "espalier data 1"
#define MOST_LINE  512

static bool print(FILE *file, const struct grid_data *grid, const char *datum)
{
    fprintf(file, FIRST_LINE "\nidentity %s\ntype %s\ndimensions", datum, base_type_name(grid->shape.type));
    for (uint32_t i = 0; i < grid->shape.n_dims; i++)
        fprintf(file, " %" PRId64, grid->shape.dims[i]);
    fprintf(file, "\nmode %s\n", grid_mode_name(grid->first_mode));
    return fflush(file) == 0 && !ferror(file);
}

enum esp_status grid_file_write(const char *path, struct grid_data *grid, struct esp_error *error)
{
    char datum[DATUM_TEXT], beside[4096];
    if (!holding_datum(grid->holding, datum))
        return error_set(
            error, ESP_NOT_FOUND,
            "%s: the value is on no server, so another program could not find it: transfer it to one first",
            path);
    int length = snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof beside)
        return error_set(error, ESP_INVALID, "%.200s...: the name is too long", path);
    FILE *file = fopen(beside, "w");
    bool whole = file && print(file, grid, datum);
    if (file && fclose(file) != 0)
        whole = false;
    if (whole && rename(beside, path) == 0) {
        holding_tell(grid->holding);
        return ESP_OK;
    }
    error_set(error, ESP_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
    unlink(beside);
    return error->status;
}

/* ---- reading ---- */

struct reader {
    const char *path;
    FILE *file;
    unsigned line;
    char text[MOST_LINE];
};

static enum esp_status wrong(const struct reader *reader, const char *expected, struct esp_error *error)
{
    return error_set(error, ESP_SYNTAX, "%s:%u: expected %s, found \"%.100s\"", reader->path, reader->line,
                     expected, reader->text);
}

/* What stands behind the word in the next line. */
static const char *next(struct reader *reader, const char *word, struct esp_error *error)
{
    size_t length = strlen(word);
    reader->line++;
    if (!fgets(reader->text, sizeof reader->text, reader->file))
        reader->text[0] = 0;
    reader->text[strcspn(reader->text, "\n")] = 0;
    if (strncmp(reader->text, word, length) == 0 &&
        (reader->text[length] == ' ' || reader->text[length] == 0))
        return reader->text + length + (reader->text[length] == ' ');
    wrong(reader, word, error);
    return NULL;
}

static enum esp_status read_type(struct reader *reader, struct datum_shape *shape, struct esp_error *error)
{
    const char *name = next(reader, "type", error);
    for (int type = TYPE_CHAR; name && type <= TYPE_STRING; type++) {
        if (strcmp(name, base_type_name((enum base_type)type)) != 0)
            continue;
        shape->type = (enum base_type)type;
        return ESP_OK;
    }
    return name ? wrong(reader, "a type of numbers, characters or strings", error) : error->status;
}

static enum esp_status read_dims(struct reader *reader, struct datum_shape *shape, struct esp_error *error)
{
    const char *at = next(reader, "dimensions", error);
    while (at && *at) {
        char *end;
        errno = 0;
        long long extent = strtoll(at, &end, 10);
        if (end == at || errno || extent < 1 || shape->n_dims == CAP_DIMS || (*end && *end != ' '))
            return wrong(reader, "up to 7 extents", error);
        shape->dims[shape->n_dims++] = extent;
        at = *end ? end + 1 : end;
    }
    return at ? datum_shape_complete(shape, error) : error->status;
}

static enum esp_status read_mode(struct reader *reader, grpc_data_mode_t *mode, struct esp_error *error)
{
    const char *name = next(reader, "mode", error);
    for (*mode = GRPC_VOLATILE; name && *mode <= GRPC_PERSISTENT; (*mode)++)
        if (strcmp(name, grid_mode_name(*mode)) == 0)
            return ESP_OK;
    return name ? wrong(reader, "a mode from GRPC_VOLATILE to GRPC_PERSISTENT", error) : error->status;
}

static enum esp_status read_all(struct reader *reader, struct grid_data **grid, struct esp_error *error)
{
    struct datum_shape shape = {0};
    struct datum_id id;
    grpc_data_mode_t mode;
    char datum[DATUM_TEXT];
    const char *identity = next(reader, FIRST_LINE, error) ? next(reader, "identity", error) : NULL;
    enum esp_status status = identity ? datum_id_parse(identity, &id, error) : error->status;
    if (status != ESP_OK)
        return status;
    datum_id_text(&id, datum);
    status = read_type(reader, &shape, error);
    if (status == ESP_OK)
        status = read_dims(reader, &shape, error);
    if (status == ESP_OK)
        status = read_mode(reader, &mode, error);
    if (status != ESP_OK)
        return status;
    *grid = grid_create(&shape, 0, mode);
    if (!*grid)
        return error_no_memory(error, "data");
    holding_set((*grid)->holding, datum);
    return ESP_OK;
}

enum esp_status grid_file_read(const char *path, struct grid_data **grid, struct esp_error *error)
{
    struct reader reader = {.path = path, .file = fopen(path, "r")};
    if (!reader.file)
        return error_set(error, ESP_NOT_FOUND, "%s: %s", path, strerror(errno));
    enum esp_status status = read_all(&reader, grid, error);
    fclose(reader.file);
    return status;
}
