/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/launch.h"
#include "util/search_path.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_LINES 15
#define LOG_BYTES 8192

/* The folder of this very program. */
static void own_folder(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
}

/* Beside this command, where the build has it, where it is installed, on the PATH. */
enum esp_status launch_find(const char *program, char *path, size_t size, struct esp_error *error)
{
    static const char *const beside[] = {"", "/../sbin", "/../agent", "/../redirector", "/../sed", "/.."};
    char folder[PATH_MAX];
    own_folder(folder, sizeof folder);
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        if (snprintf(path, size, "%s%s/%s", folder, beside[i], program) < (int)size &&
            search_path_is_program(path))
            return ESP_OK;
    static const char *const installed[] = {ESP_SBINDIR, ESP_BINDIR, ESP_LIBEXECDIR};
    for (size_t i = 0; i < sizeof installed / sizeof *installed; i++)
        if (snprintf(path, size, "%s/%s", installed[i], program) < (int)size && search_path_is_program(path))
            return ESP_OK;
    if (search_path_find(program, path, size))
        return ESP_OK;
    return error_set(error, ESP_NOT_FOUND,
                     "the program %s is neither beside this command, nor in %s, nor on the PATH", program,
                     ESP_SBINDIR);
}

/* In the child. Only what may be called after fork(). */
static void become_daemon(const struct launch *launch, const char *path, int log, int failure)
{
    char *arguments[] = {(char *)launch->program, (char *)"--foreground", (char *)launch->config, NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    setsid();
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0 && dup2(null, 0) >= 0 && dup2(log, 1) >= 0 && dup2(log, 2) >= 0 &&
        quota_enter(&launch->quota))
        execv(path, arguments);
    int reason = errno;
    while (write(failure, &reason, sizeof reason) < 0 && errno == EINTR)
        ;
    _exit(127);
}

static enum esp_status spawn(struct launch *launch, const char *path, int log, struct esp_error *error)
{
    int failure[2], reason = 0;
    if (pipe2(failure, O_CLOEXEC) != 0)
        return error_errno(error, "cannot start %s", launch->program);
    char together[16];
    snprintf(together, sizeof together, "%u", launch->together);
    if (launch->together > 0) /* not in the child: setenv() takes locks */
        setenv("ESPALIER_SERVERS_HERE", together, 1);
    launch->pid = fork();
    if (launch->pid == 0)
        become_daemon(launch, path, log, failure[1]);
    int saved = errno;
    unsetenv("ESPALIER_SERVERS_HERE");
    close(failure[1]);
    ssize_t got = launch->pid > 0 ? read(failure[0], &reason, sizeof reason) : 0;
    close(failure[0]);
    if (launch->pid > 0 && got <= 0)
        return ESP_OK;
    errno = launch->pid < 0 ? saved : reason;
    if (launch->pid > 0)
        waitpid(launch->pid, NULL, 0);
    launch->pid = 0;
    return error_errno(error, "cannot start %s", path);
}

static enum esp_status record(const struct platform_state *state, const char *kind, pid_t pid,
                              const char *name, struct esp_error *error)
{
    struct platform_record row = {.pid = pid, .start = pid ? process_start_time(pid) : 0};
    snprintf(row.kind, sizeof row.kind, "%s", kind);
    snprintf(row.name, sizeof row.name, "%s", name);
    return platform_record_add(state, &row, error);
}

static enum esp_status prepare_quota(const struct platform_state *state, struct launch *launch,
                                     struct esp_error *error)
{
    char name[128];
    snprintf(name, sizeof name, "%.40s-%.40s-%ld", state->name, launch->name, (long)getpid());
    quota_prepare(name, launch->cpu_quota, &launch->quota);
    return launch->quota.means == QUOTA_CGROUP ? record(state, "cgroup", 0, launch->quota.group, error)
                                               : ESP_OK;
}

enum esp_status launch_start(const struct platform_state *state, struct launch *launch,
                             struct esp_error *error)
{
    char path[PATH_MAX];
    enum esp_status status = launch_find(launch->program, path, sizeof path, error);
    if (status == ESP_OK && launch->cpu_quota > 0)
        status = prepare_quota(state, launch, error);
    if (status != ESP_OK)
        return status;
    unlink(launch->address_file);
    int log = open(launch->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (log < 0)
        return error_errno(error, "cannot write %s", launch->log);
    status = spawn(launch, path, log, error);
    close(log);
    if (status == ESP_OK)
        status = record(state, launch->kind, launch->pid, launch->name, error);
    for (unsigned i = 0; status == ESP_OK && i < launch->quota.loads; i++) {
        pid_t load = quota_start_load(&launch->quota, launch->pid);
        status = load < 0 ? error_errno(error, "cannot start a competing load")
                          : record(state, "load", load, launch->name, error);
    }
    return status;
}

bool launch_ready(struct launch *launch)
{
    if (*launch->address)
        return true;
    FILE *stream = fopen(launch->address_file, "re");
    if (!stream)
        return false;
    char line[sizeof launch->address];
    if (fgets(line, sizeof line, stream)) { /* the file appears whole */
        line[strcspn(line, "\r\n")] = 0;
        snprintf(launch->address, sizeof launch->address, "%s", line);
    }
    fclose(stream);
    return *launch->address;
}

bool launch_died(const struct launch *launch, struct esp_error *error)
{
    int how;
    if (launch->pid <= 0 || waitpid(launch->pid, &how, WNOHANG) != launch->pid)
        return false;
    if (WIFSIGNALED(how))
        error_set(error, ESP_SYSTEM, "%s %s was killed by signal %d (%s)", launch->kind, launch->name,
                  WTERMSIG(how), strsignal(WTERMSIG(how)));
    else
        error_set(error, ESP_SYSTEM, "%s %s ended with exit code %d", launch->kind, launch->name,
                  WEXITSTATUS(how));
    return true;
}

void launch_stop(struct launch *launch)
{
    if (launch->pid <= 0)
        return;
    kill(launch->pid, SIGTERM);
    for (int waited = 0; waited < 200 && waitpid(launch->pid, NULL, WNOHANG) == 0; waited++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    if (kill(launch->pid, SIGKILL) == 0)
        waitpid(launch->pid, NULL, 0);
    launch->pid = 0;
}

void launch_show_log(const struct launch *launch)
{
    char text[LOG_BYTES + 1];
    FILE *stream = fopen(launch->log, "re");
    if (!stream)
        return;
    if (fseek(stream, -LOG_BYTES, SEEK_END) != 0)
        rewind(stream);
    size_t length = fread(text, 1, LOG_BYTES, stream);
    fclose(stream);
    text[length] = 0;
    char *from = text + length;
    for (int lines = 0; from > text; from--)
        if (from[-1] == '\n' && ++lines > LOG_LINES)
            break;
    fprintf(stderr, "The end of its log %s:\n%s%s", launch->log, from,
            length && text[length - 1] != '\n' ? "\n" : "");
}

unsigned launch_show_left_out(const struct launch *launch)
{
    static const char mark[] = " cannot be called: ";
    char *line = NULL;
    size_t size = 0;
    unsigned n = 0;
    FILE *stream = fopen(launch->log, "re");
    while (stream && getline(&line, &size, stream) > 0) {
        if (!strstr(line, mark) || ++n > LAUNCH_MOST_LEFT_OUT)
            continue;
        line[strcspn(line, "\n")] = '\0';
        const char *path = strchr(line, '/'); /* of the description */
        fprintf(stderr, "%s: %s\n", launch->name, path ? path : line);
    }
    free(line);
    if (stream)
        fclose(stream);
    return n;
}
