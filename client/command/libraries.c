/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/libraries.h"
#include "util/own_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* One implementation in a library. */
struct use {
    const struct problem *problem;
    const struct implementation *implementation;
};

static int by_library(const void *a, const void *b)
{
    const struct use *p = a, *q = b;
    int order = strcmp(p->implementation->library, q->implementation->library);
    if (order == 0)
        order = strcmp(p->problem->file, q->problem->file);
    return order ? order : (p->problem->line > q->problem->line) - (p->problem->line < q->problem->line);
}

/* As a worker finds it: beside the description first. */
static void *load(const struct use *use)
{
    const char *library = use->implementation->library, *folder = use->problem->folder;
    char path[PATH_MAX];
    if (own_library_path(library, path, sizeof path))
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (folder[0] && library[0] && library[0] != '/') {
        int n = snprintf(path, sizeof path, "%s/%s", folder, library);
        if (n < (int)sizeof path && access(path, R_OK) == 0)
            return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return dlopen(library[0] ? library : NULL, RTLD_NOW | RTLD_LOCAL);
}

static void look_up(const struct use *use, FILE *out)
{
    const struct implementation *implementation = use->implementation;
    void *library = load(use);
    const char *wrong = library ? NULL : dlerror();
    if (library && !dlsym(library, implementation->symbol))
        fprintf(out, "%s:%u: problem %s: %s has no symbol '%s'\n", use->problem->file, implementation->line,
                use->problem->name, implementation->library[0] ? implementation->library : "the program",
                implementation->symbol);
    else if (!library)
        fprintf(out, "%s:%u: problem %s: cannot load the library: %s\n", use->problem->file,
                implementation->line, use->problem->name, wrong ? wrong : "no reason given");
}

static _Noreturn void look_up_all(const struct use *uses, size_t n, int to)
{
    FILE *out = fdopen(to, "w");
    for (size_t i = 0; out && i < n; i++)
        look_up(&uses[i], out);
    _exit(out && fflush(out) == 0 ? 0 : 1);
}

/* The first of these implementations, which all name the same library, stands for them in the message. */
static enum esp_status check_library(const struct use *uses, size_t n,
                                     void (*missing)(void *arg, const char *text), void *arg,
                                     struct esp_error *error)
{
    int ends[2];
    char line[2 * PATH_MAX];
    if (pipe(ends) != 0)
        return error_errno(error, "cannot make a pipe");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        look_up_all(uses, n, ends[1]);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    if (pid < 0 || !in) {
        error_errno(error, "cannot start a process");
        close(ends[0]);
        return ESP_SYSTEM;
    }
    while (fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        missing(arg, line);
    }
    fclose(in);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0) {
        snprintf(line, sizeof line, "%s:%u: problem %s: loading %s ends the process that does",
                 uses->problem->file, uses->implementation->line, uses->problem->name,
                 uses->implementation->library);
        missing(arg, line);
    }
    return ESP_OK;
}

/* As a server looks for it (sed/handoff_command.c): with a '/' beside the description unless absolute, else
 * there and in the folders for programs. */
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

static void check_programs(const struct problem *problem, void (*missing)(void *arg, const char *text),
                           void *arg)
{
    char line[2 * PATH_MAX];
    for (uint32_t i = 0; i < problem->n_implementations; i++) {
        const struct implementation *implementation = &problem->implementations[i];
        const char *program = implementation->symbol;
        if (implementation->convention != CONVENTION_COMMAND || !program ||
            is_program(problem->folder, program))
            continue;
        snprintf(line, sizeof line, "%s:%u: problem %s: there is no program '%s'%s", problem->file,
                 implementation->line, problem->name, program,
                 program[0] == '/'      ? ""
                 : strchr(program, '/') ? " beside the description"
                                        : " beside the description, in /usr/local/bin, /usr/bin or /bin");
        missing(arg, line);
    }
}

enum esp_status libraries_check(const struct problem_set *set, void (*missing)(void *arg, const char *text),
                                void *arg, struct esp_error *error)
{
    size_t n = 0;
    for (size_t i = 0; i < set->n_problems; i++)
        check_programs(set->problems[i], missing, arg);
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
    enum esp_status status = ESP_OK;
    for (size_t from = 0, to; status == ESP_OK && from < n; from = to) {
        for (to = from + 1;
             to < n && strcmp(uses[from].implementation->library, uses[to].implementation->library) == 0;)
            to++;
        status = check_library(&uses[from], to - from, missing, arg, error);
    }
    free(uses);
    return status;
}
