/* SPDX-License-Identifier: Apache-2.0
 *
 * A command as a process: how it is started, what it prints, and its end.
 */
#include "sed/crd/crd_command.h"

#include "sed/pool/handoff.h"
#include "util/process_limits.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES  (UINT64_C(1) << 30) /* of any file that it writes, unless its outputs may be larger */
#define TOLD_BYTES  (64 * 1024)         /* of its output that wait for the daemon to take them */
#define FLUSH_MS    2000
#define REAP_ROUNDS 200 /* of 10 ms */

/* What it has printed and the daemon has not taken yet; the oldest goes when there is too much. */
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

/* The environment is new, whatever the server's is: what a command does depends on its description alone. */
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

/* In the child. Its private folder is the present one, no-new-privileges and other limits are inherited. */
_Noreturn static void become_command(const struct command_process *process, const struct pipes *pipes,
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
    /* Not fork(): what numerical libraries do before and after one takes longer than the program's start, and
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

/* ---- what it prints ---- */

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

/* The daemon takes so much and no more: its pipe does not block. */
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

/* False: too much of it. */
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

/* All that a pipe has. False at its end. */
static bool drain(struct command_process *process, int *fd, bool errors, struct told *told,
                  uint64_t *captured)
{
    char bytes[PIPE_BUF];
    ssize_t n;
    /* A few pieces at a time: the other pipe and the end want to be looked at, too. */
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

/* Kills every child of this process but `spared`, which has ended. Returns how many were alive. */
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

/* It has ended and is not collected yet: its group still has its number. What dies hands its own children to
 * this process, so there may be several rounds; after the last one the worker ends and the spawner goes on.
 */
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
    /* Nobody writes any more, so this comes to an end. */
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

enum esp_status command_process_run(struct command_process *process, struct esp_error *error)
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
