/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_command.h"

#include "util/clock.h"
#include "util/search_path.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_VARIABLES 32
#define MOST_GROUPS    256
#define AFTER_END_MS   1000 /* for output that children of the program still hold open */

/* ---- users ---- */

static enum esp_status fill_user(const struct passwd *entry, struct batch_user *user, struct esp_error *error)
{
    user->uid = entry->pw_uid;
    user->gid = entry->pw_gid;
    if (snprintf(user->name, sizeof user->name, "%s", entry->pw_name) >= (int)sizeof user->name ||
        snprintf(user->home, sizeof user->home, "%s", entry->pw_dir) >= (int)sizeof user->home)
        return error_set(error, ESP_CONFIG, "the name or the home folder of the user %s is too long",
                         entry->pw_name);
    if (user->uid != geteuid() && geteuid() != 0)
        return error_set(error, ESP_CONFIG,
                         "batch_user = \"%s\": expected the user that runs the server, or a server that root "
                         "runs, found user id %u",
                         user->name, (unsigned)geteuid());
    return ESP_OK;
}

enum esp_status batch_user_find(const char *name, struct batch_user *user, struct esp_error *error)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    if (name)
        getpwnam_r(name, &entry, buffer, sizeof buffer, &found);
    else
        getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found);
    if (found)
        return fill_user(found, user, error);
    if (name)
        return error_set(error, ESP_CONFIG, "batch_user: there is no user \"%s\" on this machine", name);
    *user = (struct batch_user){.uid = geteuid(), .gid = getegid(), .home = "/"};
    snprintf(user->name, sizeof user->name, "%u", (unsigned)user->uid);
    return ESP_OK;
}

/* ---- the start ---- */

struct process {
    pid_t pid;
    int output[2], errors[2], failure[2];
};

struct start {
    const struct batch_command *command;
    char program[PATH_MAX];
    char *environment[MOST_VARIABLES + 1];
    char texts[5][PATH_MAX + 16];
    gid_t groups[MOST_GROUPS];
    int n_groups;
    bool other_user;
};

/* All that needs memory or locks happens here, before the process divides. */
static enum esp_status prepare(const struct batch_command *command, struct start *start,
                               struct esp_error *error)
{
    struct batch_user self;
    const struct batch_user *user = command->user ? command->user : &self;
    size_t n = 0;
    start->command = command;
    if (!command->user && batch_user_find(NULL, &self, error) != ESP_OK)
        return error->status;
    if (!search_path_find(command->words[0], start->program, sizeof start->program))
        return error_set(error, ESP_NOT_FOUND, "there is no program %s in %s", command->words[0],
                         search_path());
    snprintf(start->texts[0], sizeof start->texts[0], "PATH=%s", search_path());
    snprintf(start->texts[1], sizeof start->texts[1], "HOME=%s", user->home);
    snprintf(start->texts[2], sizeof start->texts[2], "USER=%s", user->name);
    snprintf(start->texts[3], sizeof start->texts[3], "LOGNAME=%s", user->name);
    snprintf(start->texts[4], sizeof start->texts[4], "LC_ALL=C.UTF-8");
    while (n < 5) {
        start->environment[n] = start->texts[n];
        n++;
    }
    for (size_t i = 0; command->environment && command->environment[i] && n < MOST_VARIABLES; i++)
        start->environment[n++] = (char *)command->environment[i];
    start->environment[n] = NULL;
    start->other_user = user->uid != geteuid();
    start->n_groups = MOST_GROUPS;
    if (start->other_user && getgrouplist(user->name, user->gid, start->groups, &start->n_groups) < 0)
        return error_set(error, ESP_LIMIT, "the user %s is in more than %d groups", user->name, MOST_GROUPS);
    return ESP_OK;
}

static bool take_user(const struct start *start)
{
    const struct batch_user *user = start->command->user;
    return !start->other_user || (setgroups((size_t)start->n_groups, start->groups) == 0 &&
                                  setgid(user->gid) == 0 && setuid(user->uid) == 0);
}

/* In the child: nothing but functions that are safe after a fork of a process with threads. */
_Noreturn static void become_program(const struct start *start, const struct process *process)
{
    sigset_t none;
    const int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(nothing, STDIN_FILENO) == STDIN_FILENO &&
        dup2(process->output[1], STDOUT_FILENO) == STDOUT_FILENO &&
        dup2(process->errors[1], STDERR_FILENO) == STDERR_FILENO && take_user(start)) {
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
        execve(start->program, (char *const *)start->command->words, start->environment);
    }
    const int why = errno;
    const ssize_t n = write(process->failure[1], &why, sizeof why);
    _exit(n > 0 ? 127 : 126);
}

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static void close_all(struct process *process)
{
    for (int i = 0; i < 2; i++) {
        close_end(&process->output[i]);
        close_end(&process->errors[i]);
        close_end(&process->failure[i]);
    }
}

static bool open_pipes(struct process *process)
{
    *process = (struct process){.output = {-1, -1}, .errors = {-1, -1}, .failure = {-1, -1}};
    return pipe2(process->output, O_CLOEXEC) == 0 && pipe2(process->errors, O_CLOEXEC) == 0 &&
           pipe2(process->failure, O_CLOEXEC) == 0 && fcntl(process->output[0], F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(process->errors[0], F_SETFL, O_NONBLOCK) == 0;
}

static enum esp_status start_process(const struct start *start, struct process *process,
                                     struct esp_error *error)
{
    int why;
    ssize_t n;
    if (!open_pipes(process))
        return error_errno(error, "cannot make pipes for %s", start->program);
    process->pid = _Fork();
    if (process->pid == 0)
        become_program(start, process);
    if (process->pid < 0)
        return error_errno(error, "cannot make a process for %s", start->program);
    close_end(&process->output[1]);
    close_end(&process->errors[1]);
    close_end(&process->failure[1]);
    do
        n = read(process->failure[0], &why, sizeof why);
    while (n < 0 && errno == EINTR);
    if (n != sizeof why)
        return ESP_OK;
    waitpid(process->pid, NULL, 0);
    return error_set(error, ESP_NOT_FOUND, "cannot run %s: %s", start->program, strerror(why));
}

/* ---- what it prints ---- */

struct capture {
    struct batch_command_result *result;
    size_t capacity, n_errors;
    enum esp_status status; /* ESP_OK, ESP_LIMIT, ESP_NO_MEMORY */
};

static void take_output(struct capture *capture, const char *bytes, size_t n)
{
    struct batch_command_result *result = capture->result;
    if (result->output_bytes + n > BATCH_COMMAND_OUTPUT) {
        capture->status = ESP_LIMIT;
        return;
    }
    if (result->output_bytes + n + 1 > capture->capacity) {
        const size_t capacity = 2 * (result->output_bytes + n + 1);
        char *output = realloc(result->output, capacity);
        if (!output) {
            capture->status = ESP_NO_MEMORY;
            return;
        }
        result->output = output;
        capture->capacity = capacity;
    }
    memcpy(result->output + result->output_bytes, bytes, n);
    result->output_bytes += n;
    result->output[result->output_bytes] = 0;
}

static void take_errors(struct capture *capture, const char *bytes, size_t n)
{
    const size_t room = BATCH_COMMAND_ERRORS - capture->n_errors;
    const size_t taken = n < room ? n : room;
    memcpy(capture->result->errors + capture->n_errors, bytes, taken);
    capture->n_errors += taken;
    capture->result->errors[capture->n_errors] = 0;
}

static void drain(struct capture *capture, int *end, void (*take)(struct capture *, const char *, size_t))
{
    char bytes[16384];
    ssize_t n = 1;
    while (*end >= 0 && capture->status == ESP_OK && (n = read(*end, bytes, sizeof bytes)) > 0)
        take(capture, bytes, (size_t)n);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(end);
}

/* Until both pipes are closed, which the end of the program does unless its children hold them open. */
static bool ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

/* False: the deadline passed, or the program wrote too much. */
static bool watch(struct process *process, struct capture *capture, int64_t until_ns)
{
    int64_t ended_ns = CLOCK_NEVER;
    while (capture->status == ESP_OK &&
           (process->output[0] >= 0 || process->errors[0] >= 0 || !ended(process->pid))) {
        const int64_t now_ns = clock_now_ns(&clock_system);
        if (ended_ns == CLOCK_NEVER && ended(process->pid))
            ended_ns = now_ns;
        if (ended_ns != CLOCK_NEVER && now_ns - ended_ns > AFTER_END_MS * NS_PER_MS)
            return true;
        if (now_ns >= until_ns)
            return false;
        struct pollfd waits[] = {{.fd = process->output[0], .events = POLLIN},
                                 {.fd = process->errors[0], .events = POLLIN}};
        /* A short round finds the end of a program whose pipes are closed or held open by others. */
        poll(waits, 2, process->output[0] >= 0 && process->errors[0] >= 0 ? 50 : 5);
        drain(capture, &process->output[0], take_output);
        drain(capture, &process->errors[0], take_errors);
    }
    return capture->status == ESP_OK;
}

static void trim_errors(char *errors)
{
    size_t n = strlen(errors);
    while (n > 0 && (errors[n - 1] == '\n' || errors[n - 1] == '\r'))
        errors[--n] = 0;
}

static enum esp_status killed(const struct batch_command *command, const struct capture *capture,
                              struct esp_error *error)
{
    if (capture->status == ESP_LIMIT)
        return error_set(error, ESP_LIMIT, "%s wrote more than %d bytes and was killed", command->words[0],
                         BATCH_COMMAND_OUTPUT);
    if (capture->status == ESP_NO_MEMORY)
        return error_no_memory(error, "the output of a program");
    return error_set(error, ESP_TIMEOUT, "%s did not end within %" PRId64 " ms and was killed%s%.300s",
                     command->words[0], command->deadline_ms, *capture->result->errors ? ": " : "",
                     capture->result->errors);
}

static enum esp_status finish(struct process *process, const struct batch_command *command,
                              struct batch_command_result *result, struct esp_error *error)
{
    struct capture capture = {.result = result, .status = ESP_OK};
    const int64_t until_ns = clock_now_ns(&clock_system) + command->deadline_ms * NS_PER_MS;
    int status = 0;
    const bool good = watch(process, &capture, until_ns);
    /* The program is not collected yet, so that its group still has its number. */
    if (!good) {
        kill(-process->pid, SIGKILL);
        kill(process->pid, SIGKILL);
    }
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        ;
    trim_errors(result->errors);
    if (!good)
        return killed(command, &capture, error);
    if (!result->output && !(result->output = calloc(1, 1)))
        return error_no_memory(error, "the output of a program");
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return ESP_OK;
}

static enum esp_status run(const struct batch_runner *runner, const struct batch_command *command,
                           struct batch_command_result *result, struct esp_error *error)
{
    struct process process = {.output = {-1, -1}, .errors = {-1, -1}, .failure = {-1, -1}};
    struct esp_error own = {0};
    (void)runner;
    error = error ? error : &own;
    *result = (struct batch_command_result){0};
    struct start *start = calloc(1, sizeof *start);
    if (!start)
        return error_no_memory(error, "the start of a program");
    enum esp_status status = prepare(command, start, error);
    if (status == ESP_OK)
        status = start_process(start, &process, error);
    if (status == ESP_OK)
        status = finish(&process, command, result, error);
    close_all(&process);
    free(start);
    if (status != ESP_OK) {
        free(result->output);
        result->output = NULL;
        result->output_bytes = 0;
    }
    return status;
}

const struct batch_runner batch_runner_processes = {.run = run};

void batch_command_clear(struct batch_command_result *result)
{
    free(result->output);
    *result = (struct batch_command_result){0};
}
