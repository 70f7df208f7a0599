/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/grid_file.h"
#include "client/arguments/contents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LINE "espalier data 1"
#define LAST_LINE  "end"
#define MOST_LINE  512

static void print_value(FILE *file, const struct grid_data *grid, const char *datum)
{
    fprintf(file, "identity %s\ntype %s\ndimensions", datum, base_type_name(grid->shape.type));
    for (uint32_t i = 0; i < grid->shape.n_dims; i++)
        fprintf(file, " %" PRId64, grid->shape.dims[i]);
    fprintf(file, "\nmode %s\n", grid_mode_name(grid_mode(grid)));
}

static enum esp_status nowhere(const char *path, const char *which, struct esp_error *error)
{
    return error_set(
        error, ESP_NOT_FOUND,
        "%s: the value%s is on no server, so another program could not find it: transfer it to one first",
        path, which);
}

static enum esp_status print_items(FILE *file, const char *path, const struct grid_data *container,
                                   struct esp_error *error)
{
    char datum[DATUM_TEXT], which[48];
    enum esp_status status = ESP_OK;
    fprintf(file, "container %zu\n", container->n_items);
    for (size_t rank = 0; status == ESP_OK && rank < container->n_items; rank++) {
        struct grid_data *item = container->items[rank] ? grid_use_number(container->items[rank]) : NULL;
        if (item && holding_datum(item->holding, datum)) {
            fprintf(file, "rank %zu\n", rank);
            print_value(file, item, datum);
        } else if (item) {
            snprintf(which, sizeof which, " at rank %zu", rank);
            status = nowhere(path, which, error);
        }
        grid_release(item);
    }
    fputs(LAST_LINE "\n", file);
    return status;
}

static enum esp_status print(FILE *file, const char *path, struct grid_data *grid, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    fputs(FIRST_LINE "\n", file);
    if (grid->is_container)
        return print_items(file, path, grid, error);
    if (!holding_datum(grid->holding, datum))
        return nowhere(path, "", error);
    print_value(file, grid, datum);
    return ESP_OK;
}

/* What others may use from now on is not deleted when another value takes its place. */
static void tell(struct grid_data *grid)
{
    if (!grid->is_container)
        holding_tell(grid->holding);
    for (size_t i = 0; grid->is_container && i < grid->n_items; i++) {
        struct grid_data *item = grid->items[i] ? grid_use_number(grid->items[i]) : NULL;
        if (item)
            holding_tell(item->holding);
        grid_release(item);
    }
}

enum esp_status grid_file_write(const char *path, struct grid_data *grid, struct esp_error *error)
{
    char beside[4096];
    int length = snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof beside)
        return error_set(error, ESP_INVALID, "%.200s...: the name is too long", path);
    FILE *file = fopen(beside, "w");
    if (!file)
        return error_set(error, ESP_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
    enum esp_status status = print(file, path, grid, error);
    bool whole = fflush(file) == 0 && !ferror(file);
    if (fclose(file) != 0)
        whole = false;
    if (status == ESP_OK && !(whole && rename(beside, path) == 0))
        status = error_set(error, ESP_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
    if (status == ESP_OK)
        tell(grid);
    else
        unlink(beside);
    return status;
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

/* What stands behind the word in the next line; "": all of it, which is never NULL. */
static const char *next(struct reader *reader, const char *word, struct esp_error *error)
{
    size_t length = strlen(word);
    reader->line++;
    if (!fgets(reader->text, sizeof reader->text, reader->file))
        reader->text[0] = 0;
    reader->text[strcspn(reader->text, "\n")] = 0;
    if (length == 0)
        return reader->text;
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

/* From its identity, which the line that was just read has. */
static enum esp_status read_value(struct reader *reader, const char *identity, struct grid_data **grid,
                                  struct esp_error *error)
{
    struct datum_shape shape = {0};
    struct datum_id id;
    grpc_data_mode_t mode;
    char datum[DATUM_TEXT];
    enum esp_status status = datum_id_parse(identity, &id, error);
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

static bool read_count(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && errno == 0 && *value >= least && *value <= most;
}

/* One after the other, each behind the line with its rank. */
static enum esp_status read_items(struct reader *reader, struct grid_data *container, struct esp_error *error)
{
    uint64_t rank = 0;
    for (uint64_t least = 0;; least = rank + 1) {
        struct grid_data *item = NULL;
        const char *at = next(reader, "", error);
        if (strcmp(at, LAST_LINE) == 0)
            return ESP_OK;
        if (strncmp(at, "rank ", 5) != 0 || !read_count(at + 5, least, container->n_items - 1, &rank))
            return wrong(reader, "\"rank R\", each greater than the one before, or \"" LAST_LINE "\"", error);
        const char *identity = next(reader, "identity", error);
        enum esp_status status = identity ? read_value(reader, identity, &item, error) : error->status;
        if (status == ESP_OK && (status = grid_add(item, NULL, error)) != ESP_OK)
            grid_release(item);
        if (status != ESP_OK)
            return status;
        container->items[rank] = item->number;
    }
}

static enum esp_status read_container(struct reader *reader, const char *ranks, struct grid_data **grid,
                                      struct esp_error *error)
{
    uint64_t n;
    if (!read_count(ranks, 1, GRID_MOST_RANKS, &n))
        return wrong(reader, "a number of ranks", error);
    *grid = grid_create(NULL, n, GRPC_VOLATILE);
    if (!*grid)
        return error_no_memory(error, "a container");
    enum esp_status status = read_items(reader, *grid, error);
    if (status == ESP_OK)
        return ESP_OK;
    grid_remove(*grid); /* with those that it has already */
    grid_release(*grid);
    *grid = NULL;
    return status;
}

static enum esp_status read_all(struct reader *reader, struct grid_data **grid, struct esp_error *error)
{
    if (!next(reader, FIRST_LINE, error))
        return error->status;
    const char *line = next(reader, "", error);
    if (strncmp(line, "container ", 10) == 0)
        return read_container(reader, line + 10, grid, error);
    if (strncmp(line, "identity ", 9) == 0)
        return read_value(reader, line + 9, grid, error);
    return wrong(reader, "identity or container", error);
}

enum esp_status grid_file_read(const char *path, struct grid_data **grid, struct esp_error *error)
{
    int fd;
    uint64_t size;
    if (contents_open(path, &fd, &size, error) != ESP_OK)
        return error->status;
    struct reader reader = {.path = path, .file = fdopen(fd, "r")};
    if (!reader.file) {
        close(fd);
        return error_no_memory(error, path);
    }
    enum esp_status status = read_all(&reader, grid, error);
    fclose(reader.file);
    return status;
}
