/* SPDX-License-Identifier: Apache-2.0 */
#include "services/awaited_file.h"

#include "util/clock.h"
#include "util/durable_file.h"
#include "util/regular_file.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "awaited"
#define HEADING   "espalier awaited 1"
#define GONE_MOST (INT64_C(365) * 24 * 3600 * 1000)

/* A heading, the time of writing in seconds, and for each server
 *
 *     server LEFT_MS GONE_MS SILENT INCARNATION NAME
 *     parent NAME
 *     address ADDRESS
 *     problem NAME          for each problem that it solves */

struct output {
    FILE *file;
    const struct returning *returning;
    int64_t now_ns, now_s;
    uint32_t problems;
};

/* Whether the text is a valid name: it must not contain line ends. */
static bool is_plain(const char *text, size_t most)
{
    if (strlen(text) > most)
        return false;
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            return false;
    return true;
}

static bool write_problem(struct output *output, const char *name)
{
    if (output->problems >= AWAITED_PROBLEMS_MOST || !is_plain(name, CAP_NAME))
        return true;
    output->problems++;
    return fprintf(output->file, "problem %s\n", name) > 0;
}

static bool write_problems(struct output *output, const struct returning_entry *entry)
{
    const struct known_catalog *catalog = entry->catalog;
    bool good = true;
    for (uint32_t i = 0; good && catalog && i < catalog->n_variants; i++)
        good = write_problem(output, catalog->variants[i]->problem);
    for (const char *name = entry->problems; good && name && *name; name += strlen(name) + 1)
        good = write_problem(output, name);
    return good;
}

static bool write_entry(void *arg, const struct returning_entry *entry)
{
    struct output *output = arg;
    const int64_t left_ms = (entry->until_ns - output->now_ns) / NS_PER_MS;
    if (left_ms <= 0 || !is_plain(entry->name, CAP_NAME) || !is_plain(entry->parent, CAP_NAME) ||
        !is_plain(entry->address, CAP_ADDRESS))
        return true;
    return fprintf(output->file, "server %" PRId64 " %" PRId64 " %d %" PRIu64 " %s\nparent %s\naddress %s\n",
                   left_ms, (output->now_ns - entry->gone_ns) / NS_PER_MS, entry->silent, entry->incarnation,
                   entry->name, entry->parent, entry->address) > 0 &&
           write_problems(output, entry);
}

static bool write_all(FILE *file, const void *arg)
{
    struct output output = *(const struct output *)arg;
    output.file = file;
    return fprintf(file, HEADING "\n%" PRId64 "\n", output.now_s) > 0 &&
           returning_each(output.returning, write_entry, &output);
}

enum esp_status awaited_file_write(const char *folder, const struct returning *returning, int64_t now_ns,
                                   int64_t now_s, struct esp_error *error)
{
    const struct output output = {.returning = returning, .now_ns = now_ns, .now_s = now_s};
    return durable_file_replace(folder, FILE_NAME, write_all, &output, error);
}

/* ---- reading ---- */

struct input {
    struct returning *returning;
    int64_t now_ns, passed_ms; /* passed_ms: since the file was written */
    bool in_server;            /* `entry` is valid */
    struct returning_entry entry;
    char name[CAP_NAME + 1], parent[CAP_NAME + 1], address[CAP_ADDRESS + 1];
    char *problems;
    size_t bytes;
    uint32_t n_problems;
};

static void end_server(struct input *input)
{
    if (input->in_server && input->entry.until_ns > input->now_ns) {
        input->entry.problems = input->problems;
        returning_restore(input->returning, &input->entry);
    }
    free(input->problems);
    input->problems = NULL;
    input->bytes = 0;
    input->in_server = false;
}

/* Reads the number at *at, and the blank after it. */
static bool read_number(const char **at, uint64_t most, uint64_t *number)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    *number = strtoull(*at, &end, 10);
    if (*end != ' ' || *number > most)
        return false;
    *at = end + 1;
    return true;
}

static bool read_server(struct input *input, const char *at)
{
    uint64_t left_ms, gone_ms, silent, incarnation;
    end_server(input);
    if (!read_number(&at, RETURNING_NS / NS_PER_MS, &left_ms) || !read_number(&at, GONE_MOST, &gone_ms) ||
        !read_number(&at, 1, &silent) || !read_number(&at, UINT64_MAX, &incarnation) || !*at ||
        !is_plain(at, CAP_NAME))
        return false;
    strcpy(input->name, at);
    *input->parent = *input->address = '\0';
    input->entry = (struct returning_entry){
        .name = input->name,
        .parent = input->parent,
        .address = input->address,
        .incarnation = incarnation,
        .silent = silent,
        .gone_ns = input->now_ns - ((int64_t)gone_ms + input->passed_ms) * NS_PER_MS,
        .until_ns = input->now_ns + ((int64_t)left_ms - input->passed_ms) * NS_PER_MS,
    };
    return input->in_server = true;
}

static bool read_text(char *to, size_t most, const char *text)
{
    const bool good = is_plain(text, most);
    if (good)
        strcpy(to, text);
    return good;
}

static bool read_problem(struct input *input, const char *name)
{
    const size_t length = strlen(name);
    if (length == 0 || !is_plain(name, CAP_NAME) || ++input->n_problems > AWAITED_PROBLEMS_MOST)
        return false;
    char *problems = realloc(input->problems, input->bytes + length + 2);
    if (!problems)
        return false;
    input->problems = problems;
    memcpy(problems + input->bytes, name, length + 1);
    input->bytes += length + 1;
    problems[input->bytes] = '\0';
    return true;
}

/* Returns the rest of the line after the word; NULL: the line starts with another word. */
static const char *behind(const char *line, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

static bool read_line(struct input *input, const char *line)
{
    const char *rest;
    if ((rest = behind(line, "server ")))
        return read_server(input, rest);
    if (!input->in_server)
        return false;
    if ((rest = behind(line, "parent ")))
        return read_text(input->parent, CAP_NAME, rest);
    if ((rest = behind(line, "address ")))
        return read_text(input->address, CAP_ADDRESS, rest);
    return (rest = behind(line, "problem ")) && read_problem(input, rest);
}

static bool next_line(FILE *file, char *line, int size)
{
    if (!fgets(line, size, file))
        return false;
    line[strcspn(line, "\n")] = '\0';
    return true;
}

/* Reads the time of writing. The other process's clock is known in whole seconds only, so times are
 * rounded in the safe direction: no server gets more time than was left. */
static bool read_time(struct input *input, const char *line, int64_t now_s)
{
    char *end;
    const int64_t written_s = strtoll(line, &end, 10);
    if (end == line || *end || written_s < 0)
        return false;
    const int64_t passed_s = now_s > written_s ? now_s - written_s : 0;
    input->passed_ms = passed_s < GONE_MOST / 1000 ? passed_s * 1000 : GONE_MOST;
    return true;
}

static enum esp_status read_all(struct input *input, const char *path, FILE *file, int64_t now_s,
                                struct esp_error *error)
{
    char line[CAP_NAME + CAP_ADDRESS + 128];
    unsigned number = 1;
    if (!next_line(file, line, sizeof line) || strcmp(line, HEADING) != 0)
        return error_set(error, ESP_CONFIG, "%s:1: expected \"" HEADING "\": it is of another version", path);
    bool good = next_line(file, line, sizeof line) && read_time(input, line, now_s);
    for (number++; good && next_line(file, line, sizeof line); number++)
        good = read_line(input, line);
    if (!good)
        return error_set(error, ESP_CONFIG,
                         "%s:%u: expected a server that is expected back, found another line", path, number);
    end_server(input);
    return ESP_OK;
}

enum esp_status awaited_file_read(const char *folder, struct returning *returning, int64_t now_ns,
                                  int64_t now_s, struct esp_error *error)
{
    char path[PATH_MAX];
    struct esp_error own;
    struct input input = {.returning = returning, .now_ns = now_ns};
    error = error ? error : &own;
    enum esp_status status = durable_file_path(folder, FILE_NAME, "", path, error);
    if (status != ESP_OK)
        return status;
    FILE *file = regular_file_open(path, "r", error);
    if (!file)
        return error->status == ESP_NOT_FOUND ? ESP_OK : error->status;
    status = read_all(&input, path, file, now_s, error);
    fclose(file);
    free(input.problems);
    return status;
}
