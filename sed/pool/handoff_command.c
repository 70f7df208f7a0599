/* SPDX-License-Identifier: Apache-2.0
 *
 * Prepares a command for a worker: finds the program, makes its words from the values of this call, and
 * the paths of its arguments. */
#include "sed/pool/handoff_write.h"

#include "core/problem/texts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the program ---- */

static bool can_run(const char *path)
{
    struct stat is;
    return stat(path, &is) == 0 && S_ISREG(is.st_mode) && access(path, X_OK) == 0;
}

/* Finds a file that lacks only execute permission, for a clearer error than "there is no program". */
static bool is_not_executable(const struct problem *problem, const char *program, char *path)
{
    struct stat is;
    const bool absolute = program[0] == '/';
    const int n = snprintf(path, SIGNATURE_MAX_PATH, "%s%s%s", absolute ? "" : problem->folder,
                           absolute ? "" : "/", program);
    return n > 0 && n < SIGNATURE_MAX_PATH && stat(path, &is) == 0 && S_ISREG(is.st_mode);
}

static bool put_path(char *path, const char *folder, size_t length, const char *program)
{
    int n = snprintf(path, SIGNATURE_MAX_PATH, "%.*s/%s", (int)length, folder, program);
    return n > 0 && n < SIGNATURE_MAX_PATH && can_run(path);
}

enum esp_status handoff_find_program(const struct problem *problem,
                                     const struct implementation *implementation, char *path,
                                     struct esp_error *error)
{
    const char *program = implementation->symbol;
    if (program[0] == '/') {
        if (snprintf(path, SIGNATURE_MAX_PATH, "%s", program) < SIGNATURE_MAX_PATH && can_run(path))
            return ESP_OK;
    } else if (problem->folder[0] && put_path(path, problem->folder, strlen(problem->folder), program)) {
        return ESP_OK;
    }
    const char *folders = strchr(program, '/') ? "" : HANDOFF_PATH;
    while (*folders) {
        size_t length = strcspn(folders, ":");
        if (put_path(path, folders, length, program))
            return ESP_OK;
        folders += length + (folders[length] == ':');
    }
    if (is_not_executable(problem, program, path))
        return error_set(error, ESP_NOT_FOUND,
                         "problem %s, implementation %s: %s may not be executed: chmod +x %s", problem->name,
                         implementation->name, path, path);
    return error_set(
        error, ESP_NOT_FOUND,
        "problem %s, implementation %s: there is no program '%s' that can be run (looked for %s)",
        problem->name, implementation->name, program,
        program[0] == '/'      ? "at that place"
        : strchr(program, '/') ? "beside the description"
                               : "beside the description and in " HANDOFF_PATH);
}

/* ---- its words ---- */

/* The words are written one after the other into the rest of the arena. */
struct words {
    struct writer *writer;
    char *at;
    size_t used, size;
    uint32_t n;
    struct text_item item; /* of the array that the word is for */
};

static bool put_bytes(struct words *words, const void *bytes, size_t n)
{
    if (n > words->size - words->used) {
        error_set(words->writer->error, ESP_LIMIT,
                  "problem %s: the words of its command take more than %zu bytes",
                  words->writer->handoff->job.problem->name, words->size);
        return false;
    }
    memcpy(words->at + words->used, bytes, n);
    words->used += n;
    return true;
}

static bool put_number(struct words *words, const struct expr *value)
{
    const struct job *job = &words->writer->handoff->job;
    struct scope scope = {.values = job->scope, .n_values = job->problem->n_arguments};
    struct number number;
    char text[40];
    uint32_t index;
    if (expr_eval(value, &scope, &number, words->writer->error) != ESP_OK) {
        words->writer->error->status =
            ESP_FAILED; /* the same status as for a parameter that cannot be evaluated */
        error_prefix(words->writer->error, "problem %s: {%s} in its command", job->problem->name,
                     expr_text(value));
        return false;
    }
    bool letter = expr_is_name(value, &index) && job->problem->arguments[index].type == TYPE_CHAR;
    if (letter)
        snprintf(text, sizeof text, "%c", (char)number.integer);
    else if (number.kind == NUMBER_INTEGER)
        snprintf(text, sizeof text, "%" PRId64, number.integer);
    else
        snprintf(text, sizeof text, "%.17g", number.real);
    return put_bytes(words, text, strlen(text));
}

static bool put_string(struct words *words, uint32_t index)
{
    const struct job *job = &words->writer->handoff->job;
    const struct job_argument *argument = &job->arguments[index];
    if (argument->bytes > 0 && memchr(argument->data, 0, argument->bytes)) {
        error_set(words->writer->error, ESP_INVALID,
                  "problem %s: argument '%s' has a byte 0 in it, which no word of a command can have",
                  job->problem->name, job->problem->arguments[index].name);
        return false;
    }
    return argument->bytes == 0 || put_bytes(words, argument->data, argument->bytes);
}

/* Puts the text for one element of an array. */
static bool put_element(struct words *words, const struct command *command, const struct command_part *part,
                        uint64_t index)
{
    char number[24];
    if (part->kind == PART_STRING) {
        texts_next(words->writer->handoff->job.arguments[part->argument].data, index, &words->item);
        return put_bytes(words, words->item.bytes, words->item.length);
    }
    const char *name = command_file_of(command, part->argument)->name;
    snprintf(number, sizeof number, ".%" PRIu64, index + 1);
    return put_bytes(words, name, strlen(name)) && put_bytes(words, number, strlen(number));
}

/* Whether the part stands for each element of an array, so that the word is repeated. */
static bool is_repeated(const struct job *job, const struct command_part *part)
{
    if (part->kind != PART_STRING && part->kind != PART_FILE)
        return false;
    const struct argument *argument = &job->problem->arguments[part->argument];
    return argument_is_texts(argument) && (part->kind == PART_STRING || argument->type == TYPE_FILE);
}

static bool put_part(struct words *words, const struct command *command, const struct command_part *part,
                     uint64_t index)
{
    const char *name;
    if (is_repeated(&words->writer->handoff->job, part))
        return put_element(words, command, part, index);
    switch (part->kind) {
    case PART_TEXT:
        return put_bytes(words, part->text, strlen(part->text));
    case PART_VALUE:
        return put_number(words, part->value);
    case PART_STRING:
        return put_string(words, part->argument);
    case PART_FILE:
        name = command_file_of(command, part->argument)->name;
        return put_bytes(words, name, strlen(name));
    }
    return false;
}

/* Counts the repetitions of a word: one, or one for each element of its array. */
static bool count_word(const struct words *words, const struct command *command, uint32_t from, uint32_t to,
                       uint64_t *n)
{
    const struct job *job = &words->writer->handoff->job;
    *n = 1;
    for (uint32_t p = from; p < to; p++)
        if (is_repeated(job, &command->parts[p]))
            return handoff_check_texts(job, command->parts[p].argument, n, words->writer->error) == ESP_OK;
    return true;
}

static bool put_word(struct words *words, const struct command *command, uint32_t w)
{
    uint32_t from = w > 0 ? command->word_ends[w - 1] : 0;
    uint64_t n;
    if (!count_word(words, command, from, command->word_ends[w], &n))
        return false;
    words->item = (struct text_item){0};
    for (uint64_t i = 0; i < n; i++) {
        if (words->n == RING_MAX_WORDS) {
            error_set(words->writer->error, ESP_LIMIT, "problem %s: its command has more than %d words",
                      words->writer->handoff->job.problem->name, RING_MAX_WORDS);
            return false;
        }
        for (uint32_t p = from; p < command->word_ends[w]; p++)
            if (!put_part(words, command, &command->parts[p], i))
                return false;
        if (!put_bytes(words, "", 1))
            return false;
        words->n++;
    }
    return true;
}

static enum esp_status put_words(struct writer *writer, const struct command *command)
{
    struct ring_command *to = &writer->ring->job.command;
    struct handoff *handoff = writer->handoff;
    uint32_t from = (handoff->used + 15) & ~15u;
    struct words words = {.writer = writer,
                          .at = (char *)writer->ring->arena + from,
                          .size = RING_ARENA_BYTES - RING_FENCE_BYTES - from};
    for (uint32_t w = 0; w < command->n_words; w++)
        if (!put_word(&words, command, w))
            return writer->error ? writer->error->status : ESP_INVALID;
    to->words = from;
    to->words_bytes = words.used;
    to->n_words = words.n;
    return ESP_OK;
}

/* ---- its files ---- */

static bool has_variable_length(enum base_type type)
{
    return type == TYPE_STRING || type == TYPE_FILE;
}

/* Checks that strings which become the lines of a file have no line ends. */
static enum esp_status check_lines(struct writer *writer, const struct command_file *file)
{
    const struct job *job = &writer->handoff->job;
    const struct argument *argument = &job->problem->arguments[file->argument];
    uint64_t n;
    struct text_item item = {0};
    enum esp_status status = handoff_check_texts(job, file->argument, &n, writer->error);
    for (uint64_t i = 0; status == ESP_OK && argument->type == TYPE_STRING && i < n; i++) {
        texts_next(job->arguments[file->argument].data, i, &item);
        if (memchr(item.bytes, '\n', item.length))
            status = error_set(writer->error, ESP_INVALID,
                               "%s: %s: element %" PRIu64
                               " has a line end in it, which no line of a file can have",
                               job->problem->name, argument->name, i + 1);
    }
    return status;
}

/* For an array with a section, the file has all elements: those that do not travel are 0. */
static enum esp_status put_whole(struct writer *writer, uint32_t index, struct ring_file *to)
{
    enum esp_status status = handoff_put_section(writer, index, &to->operand);
    if (status == ESP_OK) {
        const struct section *section = &writer->ring->job.sections[to->operand.value].section;
        to->bytes = section_whole(section) * section->element;
    }
    return status;
}

enum esp_status handoff_put_file(struct writer *writer, const struct command_file *file)
{
    const struct job *job = &writer->handoff->job;
    const struct argument *argument = &job->problem->arguments[file->argument];
    struct ring_file *to = &writer->ring->job.files[writer->ring->job.n_files++];
    struct scope scope = {.values = job->scope, .n_values = job->problem->n_arguments};
    enum esp_status status = ESP_OK;
    memset(to, 0, sizeof *to);
    to->argument = file->argument;
    to->type = (uint8_t)argument->type;
    to->format = (uint8_t)file->format;
    to->stream = (uint8_t)file->stream;
    to->goes_in = file->goes_in;
    to->comes_back = file->comes_back;
    to->row_major = (argument->properties & PROPERTY_ROW_MAJOR) != 0;
    to->n_dims = argument->n_dims;
    to->bytes = job->arguments[file->argument].bytes;
    if (file->name)
        snprintf(to->name, sizeof to->name, "%s", file->name);
    for (uint32_t d = 0; status == ESP_OK && d < argument->n_dims; d++)
        status = expr_eval_size(argument->dims[d], &scope, &to->dims[d], writer->error);
    if (status != ESP_OK)
        return status;
    to->operand.place = OPERAND_NUMBER;
    if (has_variable_length(argument->type) && !file->goes_in)
        return ESP_OK;
    if (argument->is_section)
        return put_whole(writer, file->argument, to);
    if (argument_is_texts(argument))
        status = check_lines(writer, file);
    return status == ESP_OK ? handoff_put_argument(writer, file->argument, &to->operand) : status;
}

enum esp_status handoff_put_command(struct writer *writer)
{
    const struct job *job = &writer->handoff->job;
    const struct command *command = job->implementation->command;
    struct ring_command *to = &writer->ring->job.command;
    enum esp_status status =
        handoff_find_program(job->problem, job->implementation, to->program, writer->error);
    for (uint32_t i = 0; status == ESP_OK && i < command->n_files && i < RING_MAX_FILES; i++)
        status = handoff_put_file(writer, &command->files[i]);
    return status == ESP_OK ? put_words(writer, command) : status;
}
