/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost models as text files: one fact a line, numbers as printf %.17g writes them, and the CRC32C of
 * everything before as the last line, so that a cut or altered file is detected. */
#include "core/forecast/cost_files.h"
#include "core/forecast/cost_model.h"
#include "util/c_numbers.h"
#include "util/crc32c.h"
#include "util/regular_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADING   "espalier-cost-model"
#define MOST_FILE (4 << 20)

/* A curve that deviates by more than this factor, or by more than this many bytes, does not come from a
 * fit. */
#define MOST_OFF          20.0
#define MOST_BYTES_OFF    1e9
#define MOST_MEASUREMENTS 4096

void cost_folder(const char *state_dir, char *path, size_t size)
{
    snprintf(path, size, "%s/models", state_dir);
}

/* ---- writing ---- */

static void write_curve(FILE *file, const char *name, const struct cost_model *model,
                        const struct cost_curve *curve)
{
    fprintf(file, "%s %" PRIu32 " %.17g %.17g %.17g\n", name, curve->n_pieces, curve->error, curve->least,
            curve->most);
    for (uint32_t i = 0; i < curve->n_pieces; i++) {
        const struct cost_piece *piece = &curve->pieces[i];
        fprintf(file, "piece %.17g %" PRIu32, isfinite(piece->until) ? piece->until : -1, piece->n_terms);
        if (piece->shape > 0 || piece->lesser > 0)
            fprintf(file, " %.17g", piece->shape);
        if (piece->lesser > 0)
            fprintf(file, " %.17g", piece->lesser);
        fputc('\n', file);
        for (uint32_t t = 0; t < piece->n_terms; t++) {
            fprintf(file, "term %.17g", piece->terms[t].coefficient);
            for (uint32_t v = 0; v < model->n_variables; v++)
                fprintf(file, " %u", piece->terms[t].powers[v]);
            fputc('\n', file);
        }
    }
}

static void write_model(FILE *file, const struct cost_model *model)
{
    fprintf(file, HEADING " %d\nproblem %s\ndigest %016" PRIx64 "\nimplementation %s\nmachine %s\n",
            cost_version(model), model->problem, model->digest, model->implementation, model->machine);
    fprintf(file, "threads %" PRIu32 "\nfloor %.17g\n", model->threads, model->floor_s_per_flop);
    for (uint32_t i = 0; i < model->n_variables; i++)
        fprintf(file, "variable %" PRId32 " %s %.17g %.17g\n", model->variables[i].argument,
                model->variables[i].name, model->variables[i].least, model->variables[i].most);
    for (uint32_t i = 0; i < model->n_options; i++)
        fprintf(file, "option %" PRId32 " %s\n", model->options[i].argument, model->options[i].name);
    for (uint32_t c = 0; c < model->n_choices; c++) {
        fputs("choice", file);
        for (uint32_t i = 0; i < model->n_options; i++)
            fprintf(file, " %d", model->choices[c * model->n_options + i]);
        fputc('\n', file);
    }
    write_curve(file, "time", model, &model->time);
    write_curve(file, "memory", model, &model->memory);
    for (uint32_t i = 0; i < model->n_measurements; i++) {
        const struct cost_measurement *m = &model->measurements[i];
        fprintf(file, "measured %.17g %.17g %.17g %" PRIu32, m->seconds, m->spread, m->bytes, m->repetitions);
        for (uint32_t v = 0; v < model->n_variables; v++)
            fprintf(file, " %.17g", m->x[v]);
        fputc('\n', file);
    }
}

static void sync_folder(const char *path)
{
    char folder[4096];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    int fd = open(folder[0] ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

static enum esp_status write_whole(const char *path, const char *text, size_t length, struct esp_error *error)
{
    struct esp_error own;
    error = error ? error : &own;
    int fd = regular_file_descriptor(path, O_WRONLY | O_CREAT | O_TRUNC, error);
    if (fd < 0)
        return error->status;
    size_t done = 0;
    while (done < length) {
        ssize_t n = write(fd, text + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    bool whole = done == length && fsync(fd) == 0;
    enum esp_status status = whole ? ESP_OK : error_errno(error, "%s cannot be written", path);
    close(fd);
    return status;
}

char *cost_text(const struct cost_model *model, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    if (!file)
        return NULL;
    const locale_t before = c_numbers_begin();
    write_model(file, model);
    c_numbers_end(before);
    fflush(file);
    fprintf(file, "end %08" PRIx32 "\n", crc32c(0, text, *length));
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

enum esp_status cost_save(const struct cost_model *model, const char *path, struct esp_error *error)
{
    char temporary[4096];
    size_t length = 0;
    char *text = cost_text(model, &length);
    if (!text)
        return error_no_memory(error, "a cost model's text");
    snprintf(temporary, sizeof temporary, "%s.new", path);
    enum esp_status status = regular_file_replaceable(path, error);
    if (status == ESP_OK)
        status = write_whole(temporary, text, length, error);
    if (status == ESP_OK && rename(temporary, path) != 0)
        status = error_errno(error, "%s cannot be replaced", path);
    if (status == ESP_OK)
        sync_folder(path);
    else
        unlink(temporary);
    free(text);
    return status;
}

/* ---- reading ---- */

struct reader {
    const char *path;
    char *next; /* the rest of the text */
    unsigned line;
    char *at; /* in the line */
    struct esp_error *error;
};

static enum esp_status malformed(const struct reader *reader, const char *expected)
{
    return error_set(reader->error, ESP_INVALID, "%s:%u: expected %s, found \"%.40s\"; calibrate again",
                     reader->path, reader->line, expected, reader->at ? reader->at : "the end");
}

static bool next_line(struct reader *reader)
{
    if (!*reader->next)
        return false;
    reader->at = reader->next;
    char *end = strchr(reader->next, '\n');
    reader->next = end ? end + 1 : reader->next + strlen(reader->next);
    if (end)
        *end = 0;
    reader->line++;
    return true;
}

/* If the line's first word is this one, moves past it. */
static bool is_word(struct reader *reader, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(reader->at, word, n) != 0 || (reader->at[n] && reader->at[n] != ' '))
        return false;
    reader->at += n;
    return true;
}

static bool number(struct reader *reader, double least, double most, double *value)
{
    char *end;
    *value = strtod(reader->at, &end);
    if (end == reader->at || !(*value >= least && *value <= most)) /* NaN too */
        return false;
    reader->at = end;
    return true;
}

static bool whole(struct reader *reader, int64_t least, int64_t most, int64_t *value)
{
    double real;
    if (!number(reader, (double)least, (double)most, &real) || real != floor(real))
        return false;
    *value = (int64_t)real;
    return true;
}

/* Reads the next word, up to a blank or the end. */
static bool word(struct reader *reader, char *text, size_t size)
{
    while (*reader->at == ' ')
        reader->at++;
    size_t n = strcspn(reader->at, " ");
    if (n == 0 || n >= size)
        return false;
    memcpy(text, reader->at, n);
    text[n] = 0;
    reader->at += n;
    return true;
}

static bool read_term(struct reader *reader, const struct cost_model *model, struct cost_term *term)
{
    int64_t power;
    if (!next_line(reader) || !is_word(reader, "term") || !number(reader, -1e300, 1e300, &term->coefficient))
        return false;
    for (uint32_t v = 0; v < model->n_variables; v++) {
        if (!whole(reader, 0, COST_MOST_POWER, &power))
            return false;
        term->powers[v] = (uint8_t)power;
    }
    return true;
}

static enum esp_status read_piece(struct reader *reader, struct arena *arena, const struct cost_model *model,
                                  const struct cost_piece *before, struct cost_piece *piece)
{
    int64_t n;
    if (!next_line(reader) || !is_word(reader, "piece") || !number(reader, -1, 1e300, &piece->until) ||
        !whole(reader, 1, COST_MOST_TERMS, &n))
        return malformed(reader, "piece, its end (-1 for the last one of a shape) and its number of terms");
    piece->shape = piece->lesser = 0;
    if (*reader->at && !number(reader, 0, 1e300, &piece->shape))
        return malformed(reader, "the shape below which calls are of this piece");
    if (*reader->at && !number(reader, 0, 1e300, &piece->lesser))
        return malformed(reader, "the lesser side below which calls are of this piece");
    if (piece->until < 0)
        piece->until = HUGE_VAL;
    if (before && !cost_piece_follows(before, piece))
        return malformed(reader, "pieces in ascending order");
    piece->n_terms = (uint32_t)n;
    piece->terms = arena_alloc(arena, (size_t)n * sizeof *piece->terms);
    if (!piece->terms)
        return error_no_memory(reader->error, "a cost model");
    for (int64_t t = 0; t < n; t++)
        if (!read_term(reader, model, &piece->terms[t]))
            return malformed(reader, "term, its coefficient and a power for each variable");
    return ESP_OK;
}

static enum esp_status read_curve(struct reader *reader, struct arena *arena, const struct cost_model *model,
                                  struct cost_curve *curve)
{
    int64_t n;
    if (!whole(reader, 0, COST_MOST_PIECES, &n) || !number(reader, 0, 1e9, &curve->error) ||
        !number(reader, 0, 1e300, &curve->least) || !number(reader, 0, 1e300, &curve->most))
        return malformed(reader, "the number of pieces, the expected error, the least and greatest value");
    curve->n_pieces = (uint32_t)n;
    curve->pieces = arena_alloc(arena, (size_t)(n + 1) * sizeof *curve->pieces);
    if (!curve->pieces)
        return error_no_memory(reader->error, "a cost model");
    enum esp_status status = ESP_OK;
    for (int64_t i = 0; i < n && status == ESP_OK; i++)
        status = read_piece(reader, arena, model, i ? &curve->pieces[i - 1] : NULL, &curve->pieces[i]);
    if (status == ESP_OK && n > 0 && !cost_piece_is_last(&curve->pieces[n - 1]))
        return malformed(reader, "a last piece for all shapes, without an end");
    return status;
}

static enum esp_status read_variable(struct reader *reader, struct cost_model *model)
{
    int64_t argument;
    struct cost_variable *variable = &model->variables[model->n_variables];
    if (model->n_variables == COST_MOST_VARIABLES || model->time.pieces ||
        !whole(reader, COST_LESSER, PROBLEM_MAX_ARGUMENTS, &argument) ||
        !word(reader, variable->name, sizeof variable->name) || !number(reader, 0, 1e300, &variable->least) ||
        !number(reader, variable->least, 1e300, &variable->most))
        return malformed(reader, "an argument's index and name, and the least and greatest value measured");
    variable->argument = (int32_t)argument;
    model->n_variables++;
    return ESP_OK;
}

static enum esp_status read_option(struct reader *reader, struct cost_model *model)
{
    int64_t argument;
    struct cost_option *option = &model->options[model->n_options];
    if (model->n_options == COST_MOST_OPTIONS || model->choices ||
        !whole(reader, 0, PROBLEM_MAX_ARGUMENTS, &argument) ||
        !word(reader, option->name, sizeof option->name))
        return malformed(reader, "an option's index and name");
    option->argument = (int32_t)argument;
    model->n_options++;
    return ESP_OK;
}

static enum esp_status read_choice(struct reader *reader, struct arena *arena, struct cost_model *model)
{
    int64_t value;
    if (!model->choices && !(model->choices = arena_alloc(arena, COST_MOST_CHOICES * COST_MOST_OPTIONS *
                                                                     sizeof *model->choices)))
        return error_no_memory(reader->error, "a cost model");
    if (model->n_choices == COST_MOST_CHOICES)
        return malformed(reader, "no more choices");
    for (uint32_t i = 0; i < model->n_options; i++) {
        if (!whole(reader, INT16_MIN, INT16_MAX, &value))
            return malformed(reader, "a value for each option");
        model->choices[model->n_choices * model->n_options + i] = (int16_t)value;
    }
    model->n_choices++;
    return ESP_OK;
}

static enum esp_status read_measurement(struct reader *reader, struct arena *arena, struct cost_model *model)
{
    int64_t repetitions;
    if (!model->measurements &&
        !(model->measurements = arena_alloc(arena, MOST_MEASUREMENTS * sizeof *model->measurements)))
        return error_no_memory(reader->error, "a cost model");
    if (model->n_measurements == MOST_MEASUREMENTS)
        return malformed(reader, "no more measurements");
    struct cost_measurement *m = &model->measurements[model->n_measurements];
    if (!number(reader, 0, COST_MOST_S, &m->seconds) || !number(reader, 0, 1e9, &m->spread) ||
        !number(reader, 0, 1e18, &m->bytes) || !whole(reader, 1, 1000000, &repetitions))
        return malformed(reader, "seconds, spread, bytes and repetitions");
    m->repetitions = (uint32_t)repetitions;
    for (uint32_t v = 0; v < model->n_variables; v++)
        if (!number(reader, 0, 1e300, &m->x[v]))
            return malformed(reader, "a value for each variable");
    model->n_measurements++;
    return ESP_OK;
}

static enum esp_status read_fact(struct reader *reader, struct arena *arena, struct cost_model *model)
{
    int64_t threads;
    if (is_word(reader, "variable"))
        return read_variable(reader, model);
    if (is_word(reader, "option"))
        return read_option(reader, model);
    if (is_word(reader, "choice"))
        return read_choice(reader, arena, model);
    if (is_word(reader, "time"))
        return read_curve(reader, arena, model, &model->time);
    if (is_word(reader, "memory"))
        return read_curve(reader, arena, model, &model->memory);
    if (is_word(reader, "measured"))
        return read_measurement(reader, arena, model);
    if (is_word(reader, "floor"))
        return number(reader, 0, 1e9, &model->floor_s_per_flop) ? ESP_OK
                                                                : malformed(reader, "seconds per flop");
    if (is_word(reader, "problem"))
        return word(reader, model->problem, sizeof model->problem) ? ESP_OK : malformed(reader, "a name");
    if (is_word(reader, "implementation"))
        return word(reader, model->implementation, sizeof model->implementation)
                   ? ESP_OK
                   : malformed(reader, "a name");
    if (is_word(reader, "machine"))
        return word(reader, model->machine, sizeof model->machine) ? ESP_OK : malformed(reader, "a name");
    if (is_word(reader, "digest")) {
        char text[20];
        model->digest = word(reader, text, sizeof text) ? strtoull(text, NULL, 16) : 0;
        return model->digest ? ESP_OK : malformed(reader, "a digest");
    }
    if (is_word(reader, "threads")) {
        if (!whole(reader, 1, 100000, &threads))
            return malformed(reader, "a number of threads");
        model->threads = (uint32_t)threads;
        return ESP_OK;
    }
    return malformed(reader, "a fact about a model");
}

/* Removes the last line if it is the correct checksum of the text before it. */
static bool check_end(char *text, size_t length)
{
    char *end = length > 13 ? text + length - 13 : NULL;
    char expected[16];
    if (!end)
        return false;
    snprintf(expected, sizeof expected, "end %08" PRIx32 "\n", crc32c(0, text, length - 13));
    if (strcmp(end, expected) != 0)
        return false;
    *end = 0;
    return true;
}

/* Whether the measured time is above the model's lower bound. */
static bool is_above_floor(const struct cost_model *model, const struct cost_measurement *m)
{
    for (uint32_t v = 0; v < model->n_variables; v++)
        if (model->variables[v].argument == COST_WORK)
            return model->floor_s_per_flop * m->x[v] <= m->seconds;
    return true;
}

/* Whether there are measurements, and the curves and the lower bound roughly agree with at least half of
 * them. Models choose servers, so readable numbers alone are not trusted. */
static bool fits_its_measurements(const struct cost_model *model)
{
    uint32_t good = 0;
    for (uint32_t i = 0; i < model->n_measurements; i++) {
        const struct cost_measurement *m = &model->measurements[i];
        const double seconds = cost_curve_value(model, &model->time, m->x, NULL);
        const double bytes = cost_curve_value(model, &model->memory, m->x, NULL);
        good += seconds <= MOST_OFF * m->seconds && seconds >= m->seconds / MOST_OFF &&
                bytes <= MOST_OFF * m->bytes + MOST_BYTES_OFF && is_above_floor(model, m);
    }
    return good > 0 && 2 * good >= model->n_measurements;
}

static enum esp_status parse(char *text, size_t length, const char *path, struct arena *arena,
                             struct cost_model *model, struct esp_error *error)
{
    struct reader reader = {.path = path, .next = text, .error = error};
    int64_t version;
    const size_t first = strcspn(text, "\r\n");
    *model = (struct cost_model){.factor = 1};
    if (strncmp(text, HEADING " ", sizeof HEADING) != 0)
        return error_set(error, ESP_INVALID, "%s:1: expected a cost model (" HEADING "), found \"%.*s\"",
                         path, (int)(first < 20 ? first : 20), text);
    version = strtoll(text + sizeof HEADING, NULL, 10);
    if (version < 1 || version > COST_FORMAT)
        return error_set(error, ESP_INVALID,
                         "%s:1: expected a cost model of version 1 to %d, found one of version %" PRId64
                         "; calibrate again",
                         path, COST_FORMAT, version);
    if (memchr(text, 0, length) || !check_end(text, length))
        return error_set(error, ESP_INVALID,
                         "%s: it is damaged or cut: its checksum is missing or wrong; calibrate again", path);
    enum esp_status status = next_line(&reader) ? ESP_OK : ESP_INVALID;
    while (status == ESP_OK && next_line(&reader))
        status = read_fact(&reader, arena, model);
    if (status == ESP_OK && (!model->problem[0] || !model->digest || !model->n_variables ||
                             !model->time.n_pieces || !model->threads))
        status = error_set(error, ESP_INVALID, "%s: its problem, variables or times are missing", path);
    if (status == ESP_OK && model->n_measurements == 0)
        status =
            error_set(error, ESP_INVALID,
                      "%s: expected the measurements that it was made of, found none; calibrate again", path);
    if (status == ESP_OK && !fits_its_measurements(model))
        status = error_set(error, ESP_INVALID,
                           "%s: its coefficients, or its floor, lead to other times, or memory, than were "
                           "measured; calibrate "
                           "again",
                           path);
    return status;
}

static enum esp_status parse_numbers(char *text, size_t length, const char *path, struct arena *arena,
                                     struct cost_model *model, struct esp_error *error)
{
    const locale_t before = c_numbers_begin();
    const enum esp_status status = parse(text, length, path, arena, model, error);
    c_numbers_end(before);
    return status;
}

enum esp_status cost_parse(const char *text, size_t length, const char *path, struct arena *arena,
                           struct cost_model *model, struct esp_error *error)
{
    if (length > MOST_FILE)
        return error_set(error, ESP_INVALID, "%s: expected at most %d bytes", path, MOST_FILE);
    char *copy = malloc(length + 1); /* parsing modifies the lines */
    if (!copy)
        return error_no_memory(error, "a cost model's text");
    memcpy(copy, text, length);
    copy[length] = 0;
    enum esp_status status = parse_numbers(copy, length, path, arena, model, error);
    free(copy);
    return status;
}

enum esp_status cost_load(const char *path, struct arena *arena, struct cost_model *model,
                          struct esp_error *error)
{
    struct esp_error own;
    error = error ? error : &own;
    FILE *file = regular_file_open(path, "r", error);
    if (!file)
        return error->status;
    char *text = malloc(MOST_FILE + 1);
    size_t length = text ? fread(text, 1, MOST_FILE, file) : 0;
    bool failed = ferror(file), more = !feof(file) && length == MOST_FILE;
    fclose(file);
    if (!text)
        return error_no_memory(error, "a cost model's text");
    text[length] = 0;
    enum esp_status status =
        failed ? error_set(error, ESP_SYSTEM, "%s cannot be read", path)
        : more ? error_set(error, ESP_INVALID, "%s: expected at most %d bytes", path, MOST_FILE)
               : parse_numbers(text, length, path, arena, model, error);
    free(text);
    return status;
}

static int is_model(const struct dirent *entry)
{
    const size_t n = strlen(entry->d_name), suffix = sizeof COST_SUFFIX - 1;
    return n > suffix && entry->d_name[0] != '.' && strcmp(entry->d_name + n - suffix, COST_SUFFIX) == 0;
}

static struct cost_file *find(const struct cost_files *files, const char *name)
{
    for (size_t i = 0; i < files->n; i++)
        if (strcmp(files->files[i].name, name) == 0)
            return &files->files[i];
    return NULL;
}

/* Reads the model of one file into an empty set. `why`: the errors of cost_load(); `error`: ESP_NO_MEMORY,
 * which is not the file's fault. */
static enum esp_status read_one(const char *path, struct cost_set *set, struct esp_error *why,
                                struct esp_error *error)
{
    struct arena arena = {0};
    struct cost_model model;
    *set = (struct cost_set){0};
    enum esp_status status = cost_load(path, &arena, &model, why);
    if (status == ESP_OK && (status = cost_set_add(set, &model, false, error)) != ESP_OK)
        cost_set_clear(set);
    else if (status == ESP_NO_MEMORY)
        *error = *why;
    arena_clear(&arena);
    return status;
}

/* Reads the file, or keeps the model read before. ESP_NO_MEMORY; ESP_NOT_FOUND: the file is skipped. */
static enum esp_status read_or_keep(const struct cost_file *known, const char *path, struct cost_set *model,
                                    void (*wrong)(void *arg, const struct esp_error *error, bool stays),
                                    void *arg, struct esp_error *error)
{
    struct esp_error why;
    const enum esp_status status = read_one(path, model, &why, error);
    if (status == ESP_OK || status == ESP_NO_MEMORY)
        return status;
    if (wrong)
        wrong(arg, &why, known != NULL);
    return known ? cost_set_add(model, &known->model.models[0], false, error) : ESP_NOT_FOUND;
}

/* Adds the file of that name to `fresh`, which has room. ESP_NO_MEMORY. */
static enum esp_status renew(const struct cost_files *before, struct cost_files *fresh, const char *folder,
                             const char *name,
                             void (*wrong)(void *arg, const struct esp_error *error, bool stays), void *arg,
                             struct esp_error *error)
{
    char path[4096];
    struct cost_file file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    enum esp_status status = read_or_keep(find(before, name), path, &file.model, wrong, arg, error);
    if (status == ESP_OK && !(file.name = strdup(name)))
        status = error_no_memory(error, "a cost model");
    if (status == ESP_OK)
        fresh->files[fresh->n++] = file;
    else
        cost_set_clear(&file.model);
    return status == ESP_NOT_FOUND ? ESP_OK : status;
}

enum esp_status cost_files_read(struct cost_files *files, const char *folder,
                                void (*wrong)(void *arg, const struct esp_error *error, bool stays),
                                void *arg, struct esp_error *error)
{
    struct dirent **entries = NULL;
    struct cost_files fresh = {0};
    const int n = scandir(folder, &entries, is_model, alphasort);
    if (n < 0 && errno != ENOENT)
        return error_errno(error, "%s cannot be read", folder);
    enum esp_status status = ESP_OK;
    if (n > 0 && !(fresh.files = calloc((size_t)n, sizeof *fresh.files)))
        status = error_no_memory(error, "cost models");
    for (int i = 0; i < n; i++) {
        if (status == ESP_OK)
            status = renew(files, &fresh, folder, entries[i]->d_name, wrong, arg, error);
        free(entries[i]);
    }
    free(entries);
    cost_files_clear(status == ESP_OK ? files : &fresh);
    if (status == ESP_OK)
        *files = fresh;
    return status;
}

enum esp_status cost_files_add(const struct cost_files *files, struct cost_set *set, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < files->n && status == ESP_OK; i++)
        status = cost_set_add(set, &files->files[i].model.models[0], false, error);
    return status;
}

void cost_files_clear(struct cost_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        free(files->files[i].name);
        cost_set_clear(&files->files[i].model);
    }
    free(files->files);
    *files = (struct cost_files){0};
}

/* ---- reading without a cache ---- */

enum esp_status cost_load_folder(const char *folder, void (*wrong)(void *arg, const struct esp_error *error),
                                 void *arg, struct cost_set *set, struct esp_error *error)
{
    struct dirent **entries;
    *set = (struct cost_set){.fastest_s_per_flop = HUGE_VAL};
    int n = scandir(folder, &entries, is_model, alphasort);
    if (n < 0)
        return errno == ENOENT ? ESP_OK : error_errno(error, "%s cannot be read", folder);
    enum esp_status status = ESP_OK;
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct arena arena = {0};
        struct cost_model model;
        struct esp_error why;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (status == ESP_OK && cost_load(path, &arena, &model, &why) == ESP_OK)
            status = cost_set_add(set, &model, true, error);
        else if (status == ESP_OK && wrong)
            wrong(arg, &why);
        arena_clear(&arena);
        free(entries[i]);
    }
    free(entries);
    if (status != ESP_OK)
        cost_set_clear(set);
    return status;
}
