/* SPDX-License-Identifier: Apache-2.0
 *
 * A command's values on their way to it and back.
 */
#include "sed/crd/crd_command.h"

#include "core/problem/texts.h"
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
    if (command->n_words > RING_MAX_WORDS || command->n_files > RING_MAX_FILES ||
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

static bool is_texts(const struct ring_file *file)
{
    return is_variable(file) && file->n_dims > 0;
}

static int create_file(const struct run *run, const char *name)
{
    return openat(run->context->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Each in a file of its own. */
static enum esp_status write_files(struct run *run, const struct ring_file *file)
{
    const void *value = address_of(run, file);
    struct text_item item = {0};
    if (!value || texts_check(value, file->bytes, (uint64_t)file->dims[0], false, NULL) != ESP_OK)
        return error_set(&run->error, ESP_INTERNAL, "the worker was handed a malformed call");
    for (uint64_t i = 0; i < (uint64_t)file->dims[0]; i++) {
        char name[sizeof file->name + 24];
        snprintf(name, sizeof name, "%s.%" PRIu64, file->name, i + 1);
        texts_next(value, i, &item);
        int fd = create_file(run, name);
        FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;
        bool good = stream && fwrite(item.bytes, 1, item.length, stream) == item.length;
        if (!stream || fclose(stream) != 0 || !good)
            return error_errno(&run->error, "cannot write an input of the command (%s)", name);
    }
    return ESP_OK;
}

static enum esp_status write_input(struct run *run, const struct ring_file *file)
{
    if (is_texts(file) && file->type == TYPE_FILE)
        return write_files(run, file);
    if (file->stream == STREAM_FILE)
        return write_value(run, create_file(run, file->name), file);
    if (run->input < 0)
        run->input = memfd_create("standard input", MFD_CLOEXEC);
    return write_value(run, fcntl(run->input, F_DUPFD_CLOEXEC, 0), file);
}

static enum esp_status write_inputs(struct run *run)
{
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < run->command->n_files; i++) {
        const struct ring_file *file = &run->command->files[i];
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
    *fd = file->stream == STREAM_OUTPUT
              ? fcntl(run->captured, F_DUPFD_CLOEXEC, 0)
              : openat(run->context->folder, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT)
        return error_set(&run->error, ESP_FAILED, "it did not write its output file '%s'", file->name);
    if (*fd < 0 || fstat(*fd, &is) != 0 || !S_ISREG(is.st_mode))
        return error_set(&run->error, ESP_FAILED, "its output file '%s' is not a plain file that can be read",
                         file->name);
    *size = is.st_size;
    if ((uint64_t)is.st_size > run->command->output_bytes && is_variable(file))
        return error_set(&run->error, ESP_FAILED,
                         "its output file '%s' has %lld bytes: at most %llu are allowed (limit)", file->name,
                         (long long)is.st_size, (unsigned long long)run->command->output_bytes);
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
    for (const struct ring_file *next = file + 1; next < run->command->files + run->command->n_files; next++)
        shared |= file->stream == STREAM_OUTPUT && next->stream == STREAM_OUTPUT;
    if (status == ESP_OK && !shared)
        status = value_read_rest(at, end, name, &run->error);
    if (text)
        munmap(text, (size_t)size);
    return status;
}

/* ---- arrays of strings and files that come back ---- */

/* The whole file, with a 0 behind it; freed by the caller. */
static char *read_whole(int fd, size_t size)
{
    char *text = malloc(size + 1);
    size_t used = 0;
    while (text && used < size) {
        ssize_t n = pread(fd, text + used, size - used, (off_t)used);
        if (n <= 0 && errno != EINTR)
            break;
        used += n > 0 ? (size_t)n : 0;
    }
    if (text)
        text[used] = 0;
    return text;
}

static enum esp_status send_texts(struct run *run, const struct ring_file *file,
                                  const struct text_item *items)
{
    void *value = NULL;
    uint64_t bytes;
    enum esp_status status = texts_pack(items, (uint64_t)file->dims[0], &value, &bytes, &run->error);
    int fd = status == ESP_OK ? memfd_create("texts", MFD_CLOEXEC) : -1;
    if (status == ESP_OK)
        status = fd >= 0 && write(fd, value, bytes) == (ssize_t)bytes
                     ? send_output(run, file->argument, fd)
                     : error_errno(&run->error, "cannot hand over a result");
    if (fd >= 0)
        close(fd);
    free(value);
    return status;
}

/* A line for each string. */
static enum esp_status read_lines(struct run *run, const struct ring_file *file, struct text_item *items)
{
    int fd = -1;
    off_t size = 0;
    uint64_t n = 0, wanted = (uint64_t)file->dims[0];
    enum esp_status status = open_output(run, file, &fd, &size);
    char *text = status == ESP_OK ? read_whole(fd, (size_t)size) : NULL;
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
        status = send_texts(run, file, items);
    free(text);
    if (fd >= 0)
        close(fd);
    return status;
}

static enum esp_status read_files(struct run *run, const struct ring_file *file, struct text_item *items)
{
    enum esp_status status = ESP_OK;
    uint64_t n = 0, total = 0;
    for (; status == ESP_OK && n < (uint64_t)file->dims[0]; n++) {
        struct ring_file one = *file;
        int fd = -1;
        off_t size = 0;
        snprintf(one.name, sizeof one.name, "%.*s.%u", COMMAND_MAX_FILE_NAME, file->name, (unsigned)n + 1);
        status = open_output(run, &one, &fd, &size);
        if (status == ESP_OK && (total += (uint64_t)size) > run->command->output_bytes)
            status =
                error_set(&run->error, ESP_FAILED, "its output files '%s' have more than %llu bytes (limit)",
                          file->name, (unsigned long long)run->command->output_bytes);
        if (status == ESP_OK &&
            !(items[n] = (struct text_item){read_whole(fd, (size_t)size), (uint64_t)size}).bytes)
            status = error_no_memory(&run->error, "a result");
        if (fd >= 0)
            close(fd);
    }
    if (status == ESP_OK)
        status = send_texts(run, file, items);
    for (uint64_t i = 0; i < n; i++)
        free((void *)(uintptr_t)items[i].bytes);
    return status;
}

static enum esp_status read_texts(struct run *run, const struct ring_file *file)
{
    uint64_t n = (uint64_t)file->dims[0];
    struct text_item *items = n <= TEXTS_MOST ? calloc(n ? n : 1, sizeof *items) : NULL;
    if (!items)
        return error_no_memory(&run->error, "a result");
    enum esp_status status =
        file->type == TYPE_FILE ? read_files(run, file, items) : read_lines(run, file, items);
    free(items);
    return status;
}

static enum esp_status read_outputs(struct run *run)
{
    uint64_t position = 0; /* on standard output */
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < run->command->n_files; i++) {
        const struct ring_file *file = &run->command->files[i];
        uint64_t start = 0;
        off_t size = 0;
        int fd = -1;
        if (!file->comes_back)
            continue;
        if (is_texts(file)) {
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
                 (unsigned long long)run->command->output_bytes);
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
    struct run run = {
        .context = context, .command = &context->ring->job.command, .input = -1, .captured = -1};
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
                                      .most = run.command->output_bytes,
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
