/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/libraries.h"
#include "command/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX 4096

/* One implementation in a library. */
struct use {
    const struct problem *problem;
    const struct implementation *implementation;
};

/* Who hears of what is not there. */
struct told {
    void (*missing)(void *arg, const char *text);
    void *arg;
};

static int by_library(const void *a, const void *b)
{
    const struct use *p = a, *q = b;
    int order = strcmp(p->implementation->library, q->implementation->library);
    if (order == 0)
        order = strcmp(p->problem->folder, q->problem->folder);
    if (order == 0)
        order = strcmp(p->problem->file, q->problem->file);
    return order ? order : (p->problem->line > q->problem->line) - (p->problem->line < q->problem->line);
}

/* The symbols that the worker is to look up, one a line. */
static FILE *list_symbols(const struct use *uses, size_t n)
{
    FILE *list = tmpfile();
    for (size_t i = 0; list && i < n; i++)
        fprintf(list, "%s\n", uses[i].implementation->symbol);
    if (!list || fflush(list) != 0 || ferror(list) || fseek(list, 0, SEEK_SET) != 0) {
        if (list)
            fclose(list);
        return NULL;
    }
    return list;
}

/* In the child: the worker's program, which has what routines may call (espalier_server.h). */
static _Noreturn void become_worker(const char *worker, const struct use *use, int symbols, int answers)
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* as a server starts it */
    if (dup2(symbols, STDIN_FILENO) >= 0 && dup2(answers, STDOUT_FILENO) >= 0)
        execl(worker, worker, "--check", use->problem->folder, use->implementation->library, (char *)NULL);
    _exit(127);
}

/* Its answers: a dot for a symbol that is there. Returns how many have come. */
static size_t read_answers(FILE *in, const struct use *uses, size_t n, struct told *told)
{
    char answer[ANSWER_MAX], line[2 * PATH_MAX];
    size_t i = 0;
    for (; i < n && fgets(answer, sizeof answer, in); i++) {
        answer[strcspn(answer, "\n")] = 0;
        if (strcmp(answer, ".") == 0)
            continue;
        snprintf(line, sizeof line, "%s:%u: problem %s: %s", uses[i].problem->file,
                 uses[i].implementation->line, uses[i].problem->name, answer);
        told->missing(told->arg, line);
    }
    return i;
}

static void tell_end(const struct use *use, int status, const struct told *told)
{
    char line[2 * PATH_MAX];
    const char *library = use->implementation->library[0] ? use->implementation->library : "the program";
    snprintf(line, sizeof line, "%s:%u: problem %s: loading %s %s", use->problem->file,
             use->implementation->line, use->problem->name, library,
             WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "takes too long: it was given up"
                                                                : "ends the process that does");
    told->missing(told->arg, line);
}

/* These implementations all name the same library, and lie in the same folder. The first that has no answer
 * stands for the rest when there is none. */
static enum esp_status check_library(const char *worker, const struct use *uses, size_t n, struct told *told,
                                     struct esp_error *error)
{
    int ends[2], status = 0;
    FILE *symbols = list_symbols(uses, n);
    if (!symbols)
        return error_errno(error, "cannot write a list of symbols");
    if (pipe2(ends, O_CLOEXEC) != 0) {
        error_errno(error, "cannot make a pipe");
        fclose(symbols);
        return ESP_SYSTEM;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        become_worker(worker, uses, fileno(symbols), ends[1]);
    const int why = errno;
    close(ends[1]);
    fclose(symbols);
    FILE *in = pid < 0 ? NULL : fdopen(ends[0], "r");
    if (!in) {
        close(ends[0]);
        errno = pid < 0 ? why : errno;
        error_errno(error, "cannot start %s", worker);
    }
    size_t answered = in ? read_answers(in, uses, n, told) : 0;
    if (in)
        fclose(in);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!in)
        return ESP_SYSTEM;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && answered == 0)
        return error_set(error, ESP_SYSTEM, "cannot start %s", worker);
    if (answered < n || status != 0)
        tell_end(&uses[answered < n ? answered : n - 1], status, told);
    return ESP_OK;
}

/* As a server looks for it (sed/pool/handoff_command.c): with a '/' beside the description unless absolute,
 * else there and in the folders for programs. */
static bool is_program(const char *folder, const char *program)
{
    static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};
    char path[PATH_MAX];
    struct stat about;
    for (size_t i = 0; i <= sizeof folders / sizeof *folders; i++) {
        const char *base = i == 0 ? folder : folders[i - 1];
        if (i > 0 && strchr(program, '/'))
            return false;
        int n = program[0] == '/' ? snprintf(path, sizeof path, "%s", program)
                                  : snprintf(path, sizeof path, "%s/%s", base, program);
        if (n < (int)sizeof path && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
            access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* A file that lacks nothing but the right to run it. */
static bool is_not_executable(const char *folder, const char *program)
{
    char path[PATH_MAX];
    struct stat about;
    const bool absolute = program[0] == '/';
    const int n = snprintf(path, sizeof path, "%s%s%s", absolute ? "" : folder, absolute ? "" : "/", program);
    return n < (int)sizeof path && stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static void check_programs(const struct problem *problem, const struct told *told)
{
    char line[2 * PATH_MAX];
    for (uint32_t i = 0; i < problem->n_implementations; i++) {
        const struct implementation *implementation = &problem->implementations[i];
        const char *program = implementation->symbol;
        if (implementation->convention != CONVENTION_COMMAND || !program ||
            is_program(problem->folder, program))
            continue;
        if (is_not_executable(problem->folder, program)) {
            snprintf(line, sizeof line, "%s:%u: problem %s: %s%s%s may not be executed: chmod +x it",
                     problem->file, implementation->line, problem->name,
                     program[0] == '/' ? "" : problem->folder, program[0] == '/' ? "" : "/", program);
            told->missing(told->arg, line);
            continue;
        }
        snprintf(line, sizeof line, "%s:%u: problem %s: there is no program '%s'%s", problem->file,
                 implementation->line, problem->name, program,
                 program[0] == '/'      ? ""
                 : strchr(program, '/') ? " beside the description"
                                        : " beside the description, in /usr/local/bin, /usr/bin or /bin");
        told->missing(told->arg, line);
    }
}

static bool is_same_library(const struct use *a, const struct use *b)
{
    return strcmp(a->implementation->library, b->implementation->library) == 0 &&
           strcmp(a->problem->folder, b->problem->folder) == 0;
}

enum esp_status libraries_check(const struct problem_set *set, void (*missing)(void *arg, const char *text),
                                void *arg, struct esp_error *error)
{
    struct told told = {missing, arg};
    char worker[PATH_MAX];
    size_t n = 0;
    for (size_t i = 0; i < set->n_problems; i++)
        check_programs(set->problems[i], &told);
    for (size_t i = 0; i < set->n_problems; i++)
        n += set->problems[i]->n_implementations;
    struct use *uses = calloc(n ? n : 1, sizeof *uses);
    if (!uses)
        return error_no_memory(error, "a list of symbols");
    n = 0;
    for (size_t i = 0; i < set->n_problems; i++)
        for (uint32_t k = 0; k < set->problems[i]->n_implementations; k++)
            /* What ranks call is looked at by servers that have ranks. */
            if (implementation_is_routine(&set->problems[i]->implementations[k]) &&
                !implementation_is_parallel(&set->problems[i]->implementations[k]))
                uses[n++] = (struct use){set->problems[i], &set->problems[i]->implementations[k]};
    qsort(uses, n, sizeof *uses, by_library);
    enum esp_status status = n > 0 ? launch_find("espalier-crd", worker, sizeof worker, error) : ESP_OK;
    for (size_t from = 0, to; status == ESP_OK && from < n; from = to) {
        for (to = from + 1; to < n && is_same_library(&uses[from], &uses[to]);)
            to++;
        status = check_library(worker, &uses[from], to - from, &told, error);
    }
    free(uses);
    return status;
}
