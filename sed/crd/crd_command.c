/* SPDX-License-Identifier: Apache-2.0
 *
 * A command as a process: its start, its output, and its end. */
#include "sed/crd/crd_command.h"
#include "core/problem/texts.h"
#include "sed/crd/crd_files.h"
#include "sed/crd/crd_values.h"
#include "sed/pool/handoff.h"
#include "util/clock.h"
#include "util/process_limits.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES                                                                                           \
    (UINT64_C(1) << 30)         /* most bytes of any file that it writes, unless its outputs may be larger */
#define TOLD_BYTES  (64 * 1024) /* most output waiting for the daemon */
#define FLUSH_MS    2000
#define REAP_ROUNDS 200 /* of 10 ms */

/* Output that the daemon has not read yet; the oldest is dropped when there is too much. */
struct told {
    char bytes[TOLD_BYTES];
    size_t used;
    uint64_t lost;
};

struct pipes {
    int output[2], errors[2], failure[2];
};

/* ---- its start ---- */

static const char *or_else(const char *text, const char *otherwise)
{
    return text ? text : otherwise;
}

/* Makes a new environment, independent of the server's, so that a command's behaviour depends on its
 * description only. */
static void make_environment(char *const *to, size_t size)
{
    char folder[PATH_MAX];
    const char *threads = or_else(getenv("OMP_NUM_THREADS"), "1");
    if (!getcwd(folder, sizeof folder))
        strcpy(folder, "/");
    snprintf(to[0], size, "PATH=%s", HANDOFF_PATH);
    snprintf(to[1], size, "HOME=%s", folder);
    snprintf(to[2], size, "TMPDIR=%s", folder);
    snprintf(to[3], size, "LANG=C.UTF-8");
    snprintf(to[4], size, "OMP_NUM_THREADS=%s", threads);
    snprintf(to[5], size, "OPENBLAS_NUM_THREADS=%s", threads);
}

static void reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void limit_files(uint64_t most)
{
    struct rlimit limit;
    rlim_t bytes = most > FILE_BYTES ? most : FILE_BYTES;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_max > bytes) {
        limit.rlim_cur = limit.rlim_max = bytes;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
}

/* Runs in the child. Its private folder is the current one; no-new-privileges and other limits are
 * inherited. */
static _Noreturn void become_command(const struct command_process *process, const struct pipes *pipes,
                                     pid_t worker)
{
    enum { N_VARIABLES = 6 };
    static char text[N_VARIABLES][PATH_MAX + 16];
    char *environment[N_VARIABLES + 1] = {0};
    for (int i = 0; i < N_VARIABLES; i++)
        environment[i] = text[i];
    make_environment(environment, sizeof *text);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != worker)
        _exit(127);
    reset_signals();
    limit_files(process->most);
    if ((process->input < 0 || dup2(process->input, STDIN_FILENO) == STDIN_FILENO) &&
        dup2(pipes->output[1], STDOUT_FILENO) == STDOUT_FILENO &&
        dup2(pipes->errors[1], STDERR_FILENO) == STDERR_FILENO) {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execve(process->program, process->words, environment);
    }
    int why = errno;
    ssize_t n = write(pipes->failure[1], &why, sizeof why);
    _exit(n > 0 ? 127 : 126);
}

static void close_both(int *ends)
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    ends[0] = ends[1] = -1;
}

static bool open_pipes(struct pipes *pipes)
{
    *pipes = (struct pipes){.output = {-1, -1}, .errors = {-1, -1}, .failure = {-1, -1}};
    return pipe2(pipes->output, O_CLOEXEC) == 0 && pipe2(pipes->errors, O_CLOEXEC) == 0 &&
           pipe2(pipes->failure, O_CLOEXEC) == 0 && fcntl(pipes->output[0], F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(pipes->errors[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_writing_ends(struct pipes *pipes)
{
    close(pipes->output[1]);
    close(pipes->errors[1]);
    close(pipes->failure[1]);
    pipes->output[1] = pipes->errors[1] = pipes->failure[1] = -1;
}

/* ESP_OK: it runs. */
static enum esp_status start(const struct command_process *process, struct pipes *pipes, pid_t *pid,
                             struct esp_error *error)
{
    pid_t self = getpid();
    /* Not fork(), because handlers of numerical libraries for it take longer than the program's start, and
     * the child only executes another program. */
    *pid = _Fork();
    if (*pid == 0)
        become_command(process, pipes, self);
    if (*pid < 0 && errno == EAGAIN) {
        char why[400];
        process_limits_blame(NULL, why, sizeof why);
        return error_set(error, ESP_SYSTEM, "cannot make a process for the command %s: %s", process->program,
                         why);
    }
    if (*pid < 0)
        return error_errno(error, "cannot make a process for the command %s", process->program);
    close_writing_ends(pipes);
    int why;
    ssize_t n;
    do
        n = read(pipes->failure[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    if (n != sizeof why)
        return ESP_OK;
    waitpid(*pid, NULL, 0);
    return error_set(error, ESP_NOT_FOUND, "cannot run the command %s: %s", process->program, strerror(why));
}

/* ---- its output ---- */

static void tell(struct told *told, const char *bytes, size_t n)
{
    if (n > sizeof told->bytes - told->used) {
        size_t drop = told->used + n - sizeof told->bytes;
        memmove(told->bytes, told->bytes + drop, told->used - drop);
        told->used -= drop;
        told->lost += drop;
    }
    memcpy(told->bytes + told->used, bytes, n);
    told->used += n;
}

/* Sends as much as the daemon's pipe accepts without blocking. */
static void pass_on(struct told *told)
{
    while (told->used > 0) {
        if (told->lost > 0) {
            char text[80];
            int length = snprintf(text, sizeof text, "\n[%llu bytes of the command's output are lost]\n",
                                  (unsigned long long)told->lost);
            if (write(STDOUT_FILENO, text, (size_t)length) < length)
                return;
            told->lost = 0;
        }
        ssize_t n = write(STDOUT_FILENO, told->bytes, told->used < PIPE_BUF ? told->used : PIPE_BUF);
        if (n <= 0)
            return;
        told->used -= (size_t)n;
        memmove(told->bytes, told->bytes + n, told->used);
    }
}

static void remember_said(char *said, const char *bytes, size_t n)
{
    size_t length = strlen(said);
    if (n >= COMMAND_SAID) {
        bytes += n - COMMAND_SAID;
        n = COMMAND_SAID;
        length = 0;
    } else if (length + n > COMMAND_SAID) {
        size_t drop = length + n - COMMAND_SAID;
        memmove(said, said + drop, length - drop);
        length -= drop;
    }
    for (size_t i = 0; i < n; i++)
        said[length + i] = iscntrl((unsigned char)bytes[i]) && bytes[i] != '\n' ? ' ' : bytes[i];
    said[length + n] = 0;
}

/* False: too much output. */
static bool capture(struct command_process *process, const char *bytes, size_t n, uint64_t *captured)
{
    *captured += n;
    if (*captured > process->most)
        return false;
    for (ssize_t done; n > 0; bytes += done, n -= (size_t)done)
        if ((done = write(process->captured, bytes, n)) < 0)
            return false;
    return true;
}

/* Reads everything in a pipe. False at its end. */
static bool drain(struct command_process *process, int *fd, bool errors, struct told *told,
                  uint64_t *captured)
{
    char bytes[PIPE_BUF];
    ssize_t n;
    /* A few pieces at a time, because the other pipe and the process's end must be served, too. */
    for (int piece = 0; piece < 16 && (n = read(*fd, bytes, sizeof bytes)) != 0; piece++) {
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (errors)
            remember_said(process->said, bytes, (size_t)n);
        if (!errors && process->captured >= 0)
            process->flooded |= !capture(process, bytes, (size_t)n, captured);
        else
            tell(told, bytes, (size_t)n);
        if (process->flooded)
            return true;
    }
    return n != 0;
}

static void drain_both(struct command_process *process, struct pipes *pipes, struct told *told,
                       uint64_t *captured)
{
    if (pipes->output[0] >= 0 && !drain(process, &pipes->output[0], false, told, captured)) {
        close(pipes->output[0]);
        pipes->output[0] = -1;
    }
    if (pipes->errors[0] >= 0 && !drain(process, &pipes->errors[0], true, told, captured)) {
        close(pipes->errors[0]);
        pipes->errors[0] = -1;
    }
    pass_on(told);
}

/* ---- its end ---- */

static bool is_zombie(pid_t pid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'R';
    fclose(file);
    return state == 'Z' || state == 'X';
}

/* Kills every child of this process except `spared`, which has ended. Returns how many were alive. */
static unsigned kill_children(pid_t spared)
{
    unsigned n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task = tasks ? readdir(tasks) : NULL; task; task = readdir(tasks)) {
        char path[300];
        snprintf(path, sizeof path, "/proc/self/task/%s/children", task->d_name);
        FILE *children = task->d_name[0] == '.' ? NULL : fopen(path, "re");
        int number;
        while (children && fscanf(children, "%d", &number) == 1)
            if (number != spared && !is_zombie(number) && kill(number, SIGKILL) == 0)
                n++;
        if (children)
            fclose(children);
    }
    if (tasks)
        closedir(tasks);
    return n;
}

/* It has ended and is not collected yet, so its group still has its number. A dying process passes its own
 * children to this process, so there may be several rounds; after the last one the worker ends and the
 * spawner continues. */
static void clean_up(struct command_process *process, pid_t pid)
{
    process->left_behind = kill_children(pid);
    kill(-pid, SIGKILL);
    wait4(pid, &process->status, 0, &process->usage);
    for (int round = 0; round < REAP_ROUNDS; round++) {
        pid_t reaped;
        while ((reaped = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (reaped < 0)
            return;
        kill_children(0);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

static void watch(struct command_process *process, struct pipes *pipes, pid_t pid, struct told *told)
{
    uint64_t captured = 0;
    int end = (int)syscall(SYS_pidfd_open, pid, 0);
    bool ended = false;
    while (!ended && !process->flooded) {
        struct pollfd waits[] = {{.fd = end, .events = POLLIN},
                                 {.fd = pipes->output[0], .events = POLLIN},
                                 {.fd = pipes->errors[0], .events = POLLIN},
                                 {.fd = told->used > 0 ? STDOUT_FILENO : -1, .events = POLLOUT}};
        poll(waits, 4, end >= 0 ? -1 : 10);
        drain_both(process, pipes, told, &captured);
        siginfo_t info = {0};
        ended = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
    }
    if (!ended) {
        siginfo_t info;
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    }
    if (end >= 0)
        close(end);
    clean_up(process, pid);
    /* No process writes any more, so this ends. */
    for (int round = 0; round < 4096 && (pipes->output[0] >= 0 || pipes->errors[0] >= 0); round++)
        if (process->flooded)
            break;
        else
            drain_both(process, pipes, told, &captured);
}

static void pass_on_the_rest(struct told *told)
{
    struct pollfd daemon = {.fd = STDOUT_FILENO, .events = POLLOUT};
    for (pass_on(told); told->used > 0 && poll(&daemon, 1, FLUSH_MS) == 1;)
        pass_on(told);
}

/* Runs the process. ESP_SYSTEM, ESP_NOT_FOUND: it could not be started. Otherwise it has ended, and so
 * have all its descendants. */
static enum esp_status command_process_run(struct command_process *process, struct esp_error *error)
{
    struct pipes pipes;
    pid_t pid;
    static struct told told; /* a worker runs one command at a time */
    told.used = 0;
    told.lost = 0;
    process->said[0] = 0;
    enum esp_status status = ESP_OK;
    if (!open_pipes(&pipes))
        status = error_errno(error, "cannot make pipes for a command");
    struct own_time begun;
    own_time_begin(&begun);
    if (status == ESP_OK)
        status = start(process, &pipes, &pid, error);
    if (status == ESP_OK) {
        watch(process, &pipes, pid, &told);
        process->clock_ns = own_time_clock(&begun);
        pass_on_the_rest(&told);
    }
    close_both(pipes.output);
    close_both(pipes.errors);
    close_both(pipes.failure);
    return status;
}

/* Passes a command's values to it and back. */

/* State of one run, and its resources. */
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

/* ---- inputs ---- */

/* Splits the words. False when the ring's contents are invalid. */
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

/* ---- results ---- */

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
    *size = is.st_size; /* the process was stopped at its limit for writing */
    return ESP_OK;
}

/* Sends a result of variable length as a file. */
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
    bool shared = false; /* with an output that comes after this one */
    for (const struct ring_file *next = file + 1; next < run->job->files + run->job->n_files; next++)
        shared |= file->stream == STREAM_OUTPUT && next->stream == STREAM_OUTPUT;
    if (status == ESP_OK && !shared)
        status = value_read_rest(at, end, name, &run->error);
    if (text)
        munmap(text, (size_t)size);
    return status;
}

/* ---- results that are arrays of strings and files ---- */

/* Reads one line per string. */
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
    int64_t waited = 0;
    answer->cpu_ns =
        context->ring->job.timed
            ? (uint64_t)(own_time_computed(&own) + own_time_of(&process.usage, process.clock_ns, &waited))
            : 0;
    answer->waited_ns = (uint64_t)waited;
    answer->peak_bytes = (uint64_t)process.usage.ru_maxrss * 1024;
    if (run.input >= 0)
        close(run.input);
    if (run.captured >= 0)
        close(run.captured);
}
