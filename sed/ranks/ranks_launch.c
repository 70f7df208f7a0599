/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts mpirun, and the program that checks whether routines exist. */
#include "sed/ranks/ranks_pool.h"

#include "sed/pool/folder.h"
#include "sed/pool/signature.h"
#include "util/log.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define CHECK_MS 30000
#define STOP_MS  1000

/* ---- starting a program ---- */

/* Starts a program in its own session, with default signals, these standard streams and no other
 * descriptors. */
static int spawn(char **words, char **environment, int in, int out, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, out, 2);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int why = posix_spawnp(pid, words[0], &files, &attributes, words, environment);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return why;
}

/* Returns the environment with these variables in front, which take precedence. The caller frees the
 * array, not the strings. */
static char **with_environment(char *const *more, size_t n)
{
    size_t have = 0, own = n;
    while (environ[have])
        have++;
    char **all = calloc(have + n + 1, sizeof *all);
    if (!all)
        return NULL;
    memcpy(all, more, n * sizeof *all);
    for (size_t i = 0; i < have; i++) {
        bool replaced = false;
        for (size_t k = 0; k < own; k++)
            replaced |= strncmp(environ[i], more[k], strcspn(more[k], "=") + 1) == 0;
        if (!replaced)
            all[n++] = environ[i];
    }
    return all;
}

/* ---- the job ---- */

#define ARGUMENTS 44

/* Adds the last words of the command. mpirun passes its own variables to other hosts, and those that are
 * named, so that their values do not appear in lists of processes. */
static void name_hosts(const struct rank_pool *pool, const char **words)
{
    static const char *const names[] = {RANK_LINK_VARIABLE,   RANK_HOST_VARIABLE,   RANK_AT_VARIABLE,
                                        RANK_SECRET_VARIABLE, RANK_MEMORY_VARIABLE, "OPENBLAS_NUM_THREADS",
                                        "OMP_NUM_THREADS"};
    size_t at = 0;
    while (words[at])
        at++;
    if (pool->hostfile) {
        words[at++] = "--hostfile";
        words[at++] = pool->hostfile;
        words[at++] = "--mca"; /* otherwise node7.example.org is contacted as node7 */
        words[at++] = "orte_keep_fqdn_hostnames";
        words[at++] = "1";
    }
    for (size_t i = 0; pool->hostfile && i < sizeof names / sizeof *names; i++) {
        words[at++] = "-x";
        words[at++] = names[i];
    }
    words[at] = pool->program;
}

/* Beside the lock that shows whether the folder is in use. */
#define OF_JOB "job"

void ranks_remove_files(const struct rank_pool *pool)
{
    const char *const folders[] = {pool->folder, pool->shared};
    char path[200];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i] && snprintf(path, sizeof path, "%s/" OF_JOB, folders[i]) < (int)sizeof path)
            folder_remove(path);
}

/* Makes "NAME=FOLDER/job", with a fresh folder. Returns an errno. */
static int give_folder(const char *name, const char *folder, char *variable, size_t size)
{
    if (snprintf(variable, size, "%s=%s/" OF_JOB, name, folder) >= (int)size)
        return ENAMETOOLONG;
    return mkdir(variable + strlen(name) + 1, 0700) == 0 ? 0 : errno;
}

/* Ranks poll while they wait for each other in MPI: if they share processors, a waiting rank must yield. */
static int run_mpirun(struct rank_pool *pool, const char *secret, int out, int null)
{
    char number[16], path[256], host[300], at[400], proof[100], files[200], shared[200], windows[200],
        memory[100];
    snprintf(number, sizeof number, "%u", pool->options.ranks);
    snprintf(path, sizeof path, RANK_LINK_VARIABLE "=%s", pool->path);
    snprintf(host, sizeof host, RANK_HOST_VARIABLE "=%s", pool->options.host ? pool->options.host : "");
    snprintf(at, sizeof at, RANK_AT_VARIABLE "=%s", pool->envoys ? envoys_at(pool->envoys) : "");
    snprintf(proof, sizeof proof, RANK_SECRET_VARIABLE "=%s", secret);
    snprintf(memory, sizeof memory, RANK_MEMORY_VARIABLE "=%llu,%llu",
             (unsigned long long)pool->options.memory, (unsigned long long)pool->options.keep);
    char *more[] = {path,
                    memory,
                    host,
                    at,
                    proof,
                    (char *)(uintptr_t) "OPENBLAS_NUM_THREADS=1",
                    (char *)(uintptr_t) "OMP_NUM_THREADS=1",
                    (char *)(uintptr_t) "OMPI_ALLOW_RUN_AS_ROOT=1",
                    (char *)(uintptr_t) "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                    files,
                    shared,
                    windows};
    /* mpirun passes these variables to other hosts, which do not have the folders. */
    const size_t n = sizeof more / sizeof *more - (pool->shared ? 0 : 3);
    const char *words[ARGUMENTS] = {pool->mpirun, "--oversubscribe",     "--bind-to", "none", "--quiet",
                                    "--mca",      "mpi_yield_when_idle", "1",         "-n",   number};
    name_hosts(pool, words);
    ranks_remove_files(pool);
    int why = pool->shared ? give_folder("OMPI_MCA_orte_tmpdir_base", pool->folder, files, sizeof files) : 0;
    if (why == 0 && pool->shared)
        why = give_folder("OMPI_MCA_btl_vader_backing_directory", pool->shared, shared, sizeof shared);
    if (why == 0 && pool->shared) /* the same folder */
        snprintf(windows, sizeof windows, "OMPI_MCA_osc_sm_backing_directory=%s/" OF_JOB, pool->shared);
    char **environment = why == 0 ? with_environment(more, n) : NULL;
    if (!environment)
        return why != 0 ? why : ENOMEM;
    why = spawn((char **)(uintptr_t)words, environment, null, out, &pool->mpirun_pid);
    if (why != 0)
        pool->mpirun_pid = 0;
    free(environment);
    return why;
}

static enum esp_status watch_job(struct rank_pool *pool, struct esp_error *error)
{
    pool->mpirun_process = pidfd_open(pool->mpirun_pid, 0);
    if (pool->mpirun_process >= 0 && ranks_watch(pool, pool->mpirun_process, RANKS_MPIRUN) &&
        ranks_watch(pool, pool->output, RANKS_OUTPUT))
        return ESP_OK;
    error_errno(error, "cannot watch mpirun");
    ranks_stop_mpirun(pool);
    return ESP_SYSTEM;
}

enum esp_status ranks_launch(struct rank_pool *pool, struct esp_error *error)
{
    char secret[RANK_SECRET_TEXT] = "";
    int ends[2];
    if (pool->hostfile && access(pool->hostfile, R_OK) != 0) /* mpirun does not report this */
        return error_set(error, ESP_CONFIG, "cannot read the hostfile %s: %s", pool->hostfile,
                         strerror(errno));
    if (pool->envoys && envoys_expect(pool->envoys, secret, error) != ESP_OK)
        return error->status;
    if (ranks_keep_folders(pool, error) != ESP_OK)
        return error->status;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        error_errno(error, "cannot start mpirun");
        if (null >= 0)
            close(null);
        return ESP_SYSTEM;
    }
    fcntl(ends[1], F_SETFL, 0); /* a writer waits */
    if (pool->output >= 0)
        close(pool->output);
    pool->output = ends[0];
    int why = run_mpirun(pool, secret, ends[1], null);
    close(ends[1]);
    close(null);
    if (why == ENOENT)
        return error_set(
            error, ESP_NOT_FOUND,
            "there is no program '%s': install OpenMPI (openmpi-bin), or name it by 'mpirun' in the "
            "server's configuration",
            pool->mpirun);
    if (why == EACCES)
        return error_set(error, ESP_SYSTEM,
                         "'%s' cannot be executed: give the server's user the right to (chmod +x), or name "
                         "another one by 'mpirun' in the server's configuration",
                         pool->mpirun);
    if (why != 0)
        return error_set(error, ESP_SYSTEM, "cannot start '%s': %s", pool->mpirun, strerror(why));
    pool->n_started++;
    return watch_job(pool, error);
}

/* Returns the session of a process, 0: there is no such process. */
static pid_t session_of(const char *number)
{
    char path[64], text[512];
    int session = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", number);
    FILE *file = fopen(path, "re");
    const char *behind = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    if (behind && sscanf(behind + 1, " %*c %*d %*d %d", &session) != 1)
        session = 0;
    if (file)
        fclose(file);
    return session;
}

void ranks_kill_session(pid_t session)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    while (processes && (entry = readdir(processes)))
        if (isdigit((unsigned char)entry->d_name[0]) && session_of(entry->d_name) == session)
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    if (processes)
        closedir(processes);
}

void ranks_stop_mpirun(struct rank_pool *pool)
{
    if (!pool->mpirun_pid)
        return;
    kill(pool->mpirun_pid, SIGTERM);
    for (int waited_ms = 0; waitpid(pool->mpirun_pid, NULL, WNOHANG) == 0; waited_ms++) {
        if (waited_ms == STOP_MS)
            kill(-pool->mpirun_pid, SIGKILL);
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
    ranks_kill_session(pool->mpirun_pid);
    pool->mpirun_pid = 0;
    if (pool->mpirun_process >= 0)
        close(pool->mpirun_process);
    pool->mpirun_process = -1;
}

/* ---- checking routines ---- */

static enum esp_status start_checker(struct rank_pool *pool, struct esp_error *error)
{
    int there[2], back[2];
    const char *const words[] = {pool->program, "--check", NULL};
    if (pool->checker)
        return ESP_OK;
    if (pipe2(there, O_CLOEXEC) != 0)
        return error_errno(error, "cannot ask %s", pool->program);
    if (pipe2(back, O_CLOEXEC) != 0) {
        close(there[0]);
        close(there[1]);
        return error_errno(error, "cannot ask %s", pool->program);
    }
    int why = spawn((char **)(uintptr_t)words, environ, there[0], back[1], &pool->checker);
    close(there[0]);
    close(back[1]);
    pool->checker_in = there[1];
    pool->checker_out = back[0];
    if (why == 0)
        return ESP_OK;
    pool->checker = 0;
    ranks_stop_checker(pool);
    return error_set(error, ESP_SYSTEM, "cannot start %s: %s", pool->program, strerror(why));
}

void ranks_stop_checker(struct rank_pool *pool)
{
    if (pool->checker_in >= 0)
        close(pool->checker_in);
    if (pool->checker_out >= 0)
        close(pool->checker_out);
    pool->checker_in = pool->checker_out = -1;
    if (pool->checker) {
        kill(pool->checker, SIGKILL);
        waitpid(pool->checker, NULL, 0);
    }
    pool->checker = 0;
}

static bool read_line(int fd, char *line, size_t size)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    for (size_t n = 0; n + 1 < size; n++) {
        if (poll(&ready, 1, CHECK_MS) != 1 || read(fd, &line[n], 1) != 1)
            return false;
        if (line[n] == '\n') {
            line[n] = 0;
            return true;
        }
    }
    return false;
}

/* Replaces the line by its answer. */
static bool exchange(struct rank_pool *pool, char *line, size_t size)
{
    const size_t n = strlen(line);
    if (write(pool->checker_in, line, n) == (ssize_t)n && read_line(pool->checker_out, line, size))
        return true;
    ranks_stop_checker(pool); /* the next check uses a new process */
    pool->checker_lost = true;
    return false;
}

static enum esp_status ask(struct rank_pool *pool, const struct call_signature *signature,
                           struct esp_error *error)
{
    char line[3 * SIGNATURE_MAX_PATH];
    snprintf(line, sizeof line, "%s\t%s\t%s\n", signature->library, signature->symbol,
             signature->folder[0] ? signature->folder : "-");
    if (!exchange(pool, line, sizeof line))
        return error_set(error, ESP_SYSTEM, "loading %s ends the process that does, or hangs",
                         signature->library);
    return strcmp(line, "yes") == 0 ? ESP_OK : error_set(error, ESP_NOT_FOUND, "%s", line);
}

enum esp_status ranks_check(struct workers *workers, const struct problem *problem,
                            const struct implementation *implementation, struct esp_error *error)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    struct call_signature signature;
    enum esp_status status = signature_build(problem, implementation, &signature, error);
    if (status == ESP_OK && !signature.library[0])
        return error_set(error, ESP_INVALID, "a parallel routine needs a library: write 'in LIBRARY'");
    if (status == ESP_OK)
        status = start_checker(pool, error);
    return status == ESP_OK ? ask(pool, &signature, error) : status;
}

void ranks_renew(struct workers *workers)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    char line[3 * SIGNATURE_MAX_PATH] = RANKS_CHANGED "\n", why[sizeof pool->worn];
    if (!pool->checker && !pool->checker_lost)
        return; /* nothing was loaded */
    if (!pool->checker_lost && exchange(pool, line, sizeof line) && !line[0])
        return;
    if (pool->checker_lost)
        snprintf(why, sizeof why, "it is not known whether their libraries are other files now");
    else
        snprintf(why, sizeof why, "%.260s is another file now", line);
    ranks_stop_checker(pool); /* the next check loads the present files */
    pool->checker_lost = false;
    pthread_mutex_lock(&pool->lock);
    ranks_wear_out(pool, why);
    pthread_mutex_unlock(&pool->lock);
    /* Not earlier, because a reader of the log expects that no call starts on the old ones. */
    log_notice("%s: ranks are replaced, when the calls that run on them have ended", why);
    ranks_wake(pool);
}
