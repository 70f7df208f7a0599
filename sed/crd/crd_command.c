/* SPDX-License-Identifier: Apache-2.0
 *
 * A command's values on their way to it and back.
 */
#include "sed/crd/crd_command.h"

#include "core/problem/texts.h"
#include "sed/crd/crd_files.h"
#include "sed/crd/crd_values.h"
#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is being done, and what it holds. */
struct run {
    const struct command_context *context;
    const struct ring_job *job;
    const struct ring_command *command;
    char *words[RING_MAX_WORDS + 1];
    int input, captured; /* -1: none */
    void *sections[PROBLEM_MAX_ARGUMENTS];
    struct esp_error error;
};

static bool is_variable(const struct ring_file *file)
{
    return file->type == TYPE_STRING || file->type == TYPE_FILE;
}

static void *address_of(const struct run *run, const struct ring_file *file)
{
    const struct ring_operand *operand = &file->operand;
    if (operand->place == OPERAND_SECTION && operand->value < run->context->ring->job.n_sections)
        return run->sections[operand->value];
    if (operand->place == OPERAND_AREA && operand->value < run->context->areas->n)
        return run->context->areas->items[operand->value].data;
    if (operand->place == OPERAND_ARENA && operand->value <= RING_ARENA_BYTES &&
        file->bytes <= RING_ARENA_BYTES - operand->value)
        return run->context->ring->arena + operand->value;
    return NULL;
}

/* ---- what goes in ---- */

/* Cuts the words apart. False when the ring does not hold what it says. */
static bool take_words(struct run *run)
{
    const struct ring_command *command = run->command;
    if (command->n_words > RING_MAX_WORDS || run->context->ring->job.n_files > RING_MAX_FILES ||
        command->words > RING_ARENA_BYTES || command->words_bytes > RING_ARENA_BYTES - command->words ||
        !memchr(command->program, 0, sizeof command->program))
        return false;
    char *at = (char *)run->context->ring->arena + command->words, *end = at + command->words_bytes;
    for (uint32_t i = 0; i < command->n_words; i++) {
        char *stop = memchr(at, 0, (size_t)(end - at));
        if (!stop)
            return false;
        run->words[i] = at;
        at = stop + 1;
    }
    run->words[command->n_words] = NULL;
    return true;
}

static enum esp_status write_value(struct run *run, int fd, const struct ring_file *file)
{
    const void *value = address_of(run, file);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!stream || !value) {
        if (stream)
            fclose(stream);
        else if (fd >= 0)
            close(fd);
        return error_errno(&run->error, "cannot write an input of the command (%s)",
                           file->name[0] ? file->name : "standard input");
    }
    value_write(stream, file, value);
    bool failed = fflush(stream) != 0 || ferror(stream);
    int why = errno;
    failed |= fclose(stream) != 0;
    errno = why;
    return failed ? error_errno(&run->error, "cannot write an input of the command (%s)",
                                file->name[0] ? file->name : "standard input")
                  : ESP_OK;
}

static enum esp_status write_input(struct run *run, const struct ring_file *file)
{
    if (file_is_texts(file) && file->type == TYPE_FILE)
        return file_write_each(run->context->folder, file, address_of(run, file), &run->error);
    if (file->stream == STREAM_FILE)
        return write_value(run, file_create(run->context->folder, file->name), file);
    if (run->input < 0)
        run->input = memfd_create("standard input", MFD_CLOEXEC);
    return write_value(run, fcntl(run->input, F_DUPFD_CLOEXEC, 0), file);
}

static enum esp_status write_inputs(struct run *run)
{
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < run->job->n_files; i++) {
        const struct ring_file *file = &run->job->files[i];
        if (file->goes_in)
            status = write_input(run, file);
        if (file->stream == STREAM_OUTPUT && run->captured < 0 &&
            (run->captured = memfd_create("standard output", MFD_CLOEXEC)) < 0)
            status = error_errno(&run->error, "cannot make room for what the command prints");
    }
    if (run->input >= 0)
        lseek(run->input, 0, SEEK_SET);
    return status;
}

/* ---- what comes back ---- */

static enum esp_status open_output(struct run *run, const struct ring_file *file, int *fd, off_t *size)
{
    struct stat is;
    if (file->stream != STREAM_OUTPUT)
        return file_open_output(run->context->folder, file->name,
                                is_variable(file) ? run->job->output_bytes : UINT64_MAX, fd, size,
                                &run->error);
    *fd = fcntl(run->captured, F_DUPFD_CLOEXEC, 0);
    if (*fd < 0 || fstat(*fd, &is) != 0)
        return error_errno(&run->error, "cannot read what the command printed");
    *size = is.st_size; /* the process was stopped where it wrote more than it may */
    return ESP_OK;
}

/* A result whose length the daemon does not know goes as a file. */
static enum esp_status send_output(struct run *run, uint32_t argument, int fd)
{
    return worker_send_output(run->context->ring, run->context->socket, argument, fd)
               ? ESP_OK
               : error_errno(&run->error, "cannot hand over a result");
}

static enum esp_status parse_output(struct run *run, const struct ring_file *file, int fd, off_t size,
                                    uint64_t *position)
{
    char name[COMMAND_MAX_FILE_NAME + 32];
    void *value = address_of(run, file);
    if (!value)
        return error_set(&run->error, ESP_INTERNAL, "the worker was handed a malformed call");
    snprintf(name, sizeof name, "%s%s%s", file->stream == STREAM_OUTPUT ? "standard output" : "output file '",
             file->name, file->stream == STREAM_OUTPUT ? "" : "'");
    char *text = size > 0 ? mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    if (text == MAP_FAILED)
        return error_errno(&run->error, "cannot read %s", name);
    const char *begin = text ? text : "", *end = begin + size, *at = begin + *position;
    enum esp_status status = value_read(&at, end, name, file, value, &run->error);
    *position = (uint64_t)(at - begin);
    bool shared = false; /* with an output that comes behind this one */
    for (const struct ring_file *next = file + 1; next < run->job->files + run->job->n_files; next++)
        shared |= file->stream == STREAM_OUTPUT && next->stream == STREAM_OUTPUT;
    if (status == ESP_OK && !shared)
        status = value_read_rest(at, end, name, &run->error);
    if (text)
        munmap(text, (size_t)size);
    return status;
}

/* ---- arrays of strings and files that come back ---- */

/* A line for each string. */
static enum esp_status read_lines(struct run *run, const struct ring_file *file, struct text_item *items)
{
    int fd = -1;
    off_t size = 0;
    uint64_t n = 0, wanted = (uint64_t)file->dims[0];
    enum esp_status status = open_output(run, file, &fd, &size);
    char *text = status == ESP_OK ? file_read_whole(fd, (size_t)size) : NULL;
    if (status == ESP_OK && !text)
        status = error_no_memory(&run->error, "a result");
    for (char *at = text, *end = text + size; status == ESP_OK && at < end; n++) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (n < wanted)
            items[n] = (struct text_item){.bytes = at, .length = (uint64_t)(stop - at)};
        if (memchr(at, 0, (size_t)(stop - at)))
            status = error_set(&run->error, ESP_FAILED, "line %" PRIu64 " of its output has a byte 0 in it",
                               n + 1);
        at = stop + 1;
    }
    if (status == ESP_OK && n != wanted)
        status = error_set(&run->error, ESP_FAILED, "%s%s: expected %" PRIu64 " lines, found %" PRIu64,
                           file->stream == STREAM_OUTPUT ? "standard output" : "output file ", file->name,
                           wanted, n);
    if (status == ESP_OK)
        status = file_send_texts(run->context->ring, run->context->socket, file, items, &run->error);
    free(text);
    if (fd >= 0)
        close(fd);
    return status;
}

static enum esp_status read_texts(struct run *run, const struct ring_file *file)
{
    uint64_t n = (uint64_t)file->dims[0];
    if (file->type == TYPE_FILE)
        return file_send_each(run->context->ring, run->context->socket, run->context->folder, file,
                              &run->error);
    struct text_item *items = n <= TEXTS_MOST ? calloc(n ? n : 1, sizeof *items) : NULL;
    if (!items)
        return error_no_memory(&run->error, "a result");
    enum esp_status status = read_lines(run, file, items);
    free(items);
    return status;
}

static enum esp_status read_outputs(struct run *run)
{
    uint64_t position = 0; /* on standard output */
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < run->job->n_files; i++) {
        const struct ring_file *file = &run->job->files[i];
        uint64_t start = 0;
        off_t size = 0;
        int fd = -1;
        if (!file->comes_back)
            continue;
        if (file_is_texts(file)) {
            status = read_texts(run, file);
            continue;
        }
        status = open_output(run, file, &fd, &size);
        if (status == ESP_OK)
            status = is_variable(file) ? send_output(run, file->argument, fd)
                                       : parse_output(run, file, fd, size,
                                                      file->stream == STREAM_OUTPUT ? &position : &start);
        if (fd >= 0)
            close(fd);
    }
    return status;
}

/* ---- the whole ---- */

static void tell_end(struct run *run, const struct command_process *process)
{
    struct ring_answer *answer = &run->context->ring->answer;
    if (process->flooded) {
        snprintf(answer->trouble, sizeof answer->trouble,
                 "it wrote more than %llu bytes to its standard output (limit)",
                 (unsigned long long)run->job->output_bytes);
        answer->kind = ANSWER_STOPPED;
    } else if (WIFSIGNALED(process->status)) {
        answer->code = WTERMSIG(process->status);
        answer->kind = ANSWER_KILLED;
    } else {
        answer->code = WEXITSTATUS(process->status);
        if (read_outputs(run) != ESP_OK)
            snprintf(answer->trouble, sizeof answer->trouble, "%.255s", run->error.text);
        sections_end(run->context->ring, run->context->areas, run->sections);
        answer->kind = ANSWER_RETURNED;
    }
    if (process->left_behind > 0)
        dprintf(STDOUT_FILENO, "%u process%s that %s left behind %s killed\n", process->left_behind,
                process->left_behind == 1 ? "" : "es", run->words[0],
                process->left_behind == 1 ? "was" : "were");
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void command_run(const struct command_context *context)
{
    struct ring_answer *answer = &context->ring->answer;
    const struct ring_job *job = &context->ring->job;
    struct run run = {.context = context, .job = job, .command = &job->command, .input = -1, .captured = -1};
    answer->n_outputs = 0;
    answer->trouble[0] = answer->text[0] = 0;
    int64_t begun = now_ns();
    struct own_time own;
    own_time_begin(&own);
    enum esp_status status =
        take_words(&run) ? ESP_OK
                         : error_set(&run.error, ESP_INTERNAL, "the worker was handed a malformed call");
    if (status == ESP_OK)
        status = sections_begin(context->ring, context->areas, run.sections, &run.error);
    if (status == ESP_OK)
        status = write_inputs(&run);
    struct command_process process = {.words = run.words,
                                      .program = run.command->program,
                                      .input = run.input,
                                      .captured = run.captured,
                                      .most = run.job->output_bytes,
                                      .said = answer->text};
    if (status == ESP_OK)
        status = command_process_run(&process, &run.error);
    if (status == ESP_OK) {
        tell_end(&run, &process);
    } else {
        snprintf(answer->text, sizeof answer->text, "%s", run.error.text);
        answer->kind = ANSWER_UNABLE;
    }
    answer->compute_ns = (uint64_t)(now_ns() - begun);
    answer->cpu_ns = context->ring->job.timed
                         ? (uint64_t)(own_time_computed(&own) + own_time_of(&process.usage, process.clock_ns))
                         : 0;
    answer->peak_bytes = (uint64_t)process.usage.ru_maxrss * 1024;
    if (run.input >= 0)
        close(run.input);
    if (run.captured >= 0)
        close(run.captured);
}
