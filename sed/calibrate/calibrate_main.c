/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-calibrate: run on the server's machine by `espalier calibrate`, and by an idle server
 * (--background: it ends with its parent process). */
#include "sed/calibrate/calibrate_command.h"
#include "sed/calibrate/calibrate_order.h"
#include "sed/kept_problems.h"
#include "sed/pool/processes.h"
#include "util/names.h"
#include "util/standard_files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic bool stop;
static _Atomic int stopped_by; /* the signal; 0: none */

static void on_signal(int number)
{
    atomic_store(&stopped_by, number);
    atomic_store(&stop, true);
}

static int fail(const struct esp_error *error)
{
    fprintf(stderr, "espalier calibrate: %s\n", error->text);
    return error->status == ESP_CONFIG || error->status == ESP_NOT_FOUND || error->status == ESP_SYNTAX
               ? EXIT_INPUT
           : error->status == ESP_INVALID ? EXIT_USAGE
                                          : EXIT_FAILED;
}

static void progress(void *arg, const char *problem, double fraction, unsigned points)
{
    static const char full[] = "########################################";
    const struct calibrating *command = arg;
    if (!isatty(STDERR_FILENO))
        return;
    if (command->together)
        fraction = (fraction + command->on_ranks) / 2;
    double all = (command->n_done + fraction) / (command->n_problems ? command->n_problems : 1);
    int done = (int)(all * 40);
    fprintf(stderr, "\r\033[K[%.*s%*s] %3d %%  %s, %u sizes", done, full, 40 - done, "", (int)(all * 100),
            problem, points);
    fflush(stderr);
}

void calibrate_clear_bar(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static enum esp_status choose_folder(struct calibrating *command, struct esp_error *error)
{
    const char *state = command->settings.node.state_dir;
    if (command->models) {
        snprintf(command->folder, sizeof command->folder, "%s", command->models);
        return ESP_OK;
    }
    if (!state)
        return error_set(error, ESP_CONFIG,
                         "%s: state_dir is missing: models are kept there; or name a folder with --models",
                         command->config);
    if (mkdir(state, 0750) == 0 || access(state, W_OK) == 0) {
        cost_folder(state, command->folder, sizeof command->folder);
        return ESP_OK;
    }
    return error_errno(error, "%s: state_dir: %s", command->config, state);
}

/* Two calibrations would disturb each other, and write the same journals. The lock ends with the process. */
static enum esp_status lock_folder(const char *folder, struct esp_error *error)
{
    if (mkdir(folder, 0750) != 0 && errno != EEXIST)
        return error_errno(error, "the folder %s cannot be made", folder);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return ESP_OK; /* the descriptor stays open, and with it the lock */
    const bool taken = fd >= 0 && errno == EWOULDBLOCK;
    if (!taken)
        error_errno(error, "the folder %s cannot be locked", folder);
    if (fd >= 0)
        close(fd);
    return taken ? error_set(error, ESP_BUSY,
                             "%s: another calibration is at work there; wait until it is over (a server with "
                             "'calibrate = yes' begins one when it is idle)",
                             folder)
                 : ESP_SYSTEM;
}

/* Checks that results can be saved, before anything is measured. */
static enum esp_status try_folder(const char *folder, struct esp_error *error)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/.calibrate-XXXXXX", folder);
    const int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return error_errno(error, "no file can be made in the folder for the models, %s", folder);
    close(fd);
    unlink(path);
    return ESP_OK;
}

static enum esp_status load_problems(struct calibrating *command, struct esp_error *error)
{
    const struct settings_sed *settings = &command->settings;
    char folder[4096];
    const bool keeps = kept_problems_path(settings, folder, sizeof folder);
    return kept_problems_load(settings, &settings->problems, keeps ? folder : NULL, &command->problems,
                              error);
}

static enum esp_status no_problem(const struct problem_set *set, const char *name, struct esp_error *error)
{
    const char **names = malloc((set->n_problems + 1) * sizeof *names);
    for (size_t i = 0; names && i < set->n_problems; i++)
        names[i] = set->problems[i]->name;
    const char *closest = names ? names_closest(name, names, set->n_problems) : NULL;
    error_set(error, ESP_INVALID, "the server's file has no problem '%.64s'%s%s%s", name,
              closest ? ": did you mean '" : "", closest ? closest : "", closest ? "'?" : "");
    free(names);
    return error->status;
}

static enum esp_status check_names(const struct problem_set *set, int n, char **names,
                                   struct esp_error *error)
{
    for (int i = 0; i < n; i++)
        if (!problem_find(set, names[i]))
            return no_problem(set, names[i], error);
    return ESP_OK;
}

/* Errors of the command itself are reported first, even while another calibration is running. */
static enum esp_status open_all(struct calibrating *command, int n, char **names, struct esp_error *error)
{
    const struct settings_sed *settings = &command->settings;
    enum esp_status status = settings_load_sed(command->config, &command->settings, error);
    if (status == ESP_OK)
        status = choose_folder(command, error);
    if (status == ESP_OK)
        status = load_problems(command, error);
    if (status == ESP_OK)
        status = check_names(command->problems, n, names, error);
    if (status == ESP_OK)
        status = lock_folder(command->folder, error);
    if (status == ESP_OK)
        status = try_folder(command->folder, error);
    struct processes_options options = {.slots = 1, .threads = (uint32_t)settings->threads};
    options.problems = command->problems;
    if (status == ESP_OK)
        status = processes_create(&options, &command->workers, error);
    /* In the background it is not known whether other hosts are idle too. The server's own ranks sleep. */
    if (status == ESP_OK && settings->ranks > 0 && !(command->background && settings->hostfile))
        calibrate_open_ranks(command);
    return status;
}

static double bytes_of_call(const struct calibrating *command)
{
    double machine = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 4;
    double own = (double)command->settings.memory_bytes;
    return own > 0 ? fmin(own, machine) : machine;
}

static void tell(const struct calibrating *command, const struct problem *problem,
                 const struct calibrate_result *result, const struct esp_error *error)
{
    calibrate_clear_bar();
    if (command->json) {
        printf("{\"problem\": \"%s\", \"models\": %u, \"points\": %u, \"error\": %.4g, \"left_out\": %u, "
               "\"failed\": %s}\n",
               problem->name, result->models, result->points, result->error, result->left_out,
               error ? "true" : "false");
        if (error)
            fprintf(stderr, "espalier calibrate: %s\n", error->text);
    } else if (error) {
        fprintf(stderr, "espalier calibrate: %s\n", error->text);
    } else if (result->was_there) {
        printf("%-12s is there already (--again measures it anew)\n", problem->name);
    } else {
        printf("%-12s %u model%s of %u new calls, expected error %.1f %%\n", problem->name, result->models,
               result->models == 1 ? "" : "s", result->points, 100 * result->error);
    }
    if (result->left_out > 0)
        fprintf(stderr,
                "espalier calibrate: %s: calls of %u sizes fail, which are left out, the first with %s\n",
                problem->name, result->left_out, result->why_left_out.text);
    fflush(stdout);
}

static bool choose_implementation(struct calibrating *command, struct problem *problem,
                                  struct esp_error *error)
{
    for (uint32_t i = 0; i < problem->n_implementations; i++) {
        struct implementation found = problem->implementations[i];
        if (processes_check(command->workers, problem, &found, error) != ESP_OK)
            continue;
        problem->implementations[i] = problem->implementations[0];
        problem->implementations[0] = found;
        return true;
    }
    if (problem->n_implementations == 0 && !problem->abstract)
        error_set(error, ESP_INVALID, "%s has no implementation", problem->name);
    return problem->abstract != NULL;
}

static void tell_stopped(void)
{
    calibrate_clear_bar();
    fprintf(stderr, "espalier calibrate: stopped; what was measured is kept, the next one goes on\n");
}

/* Measures with a worker, and with the ranks if there are any. ESP_INVALID: neither can. */
static enum esp_status measure(struct calibrating *command, struct calibration *calibration,
                               struct problem *problem, struct esp_error *error)
{
    struct calibrate_result result = {0};
    struct esp_error other = {0};
    enum esp_status status = choose_implementation(command, problem, error)
                                 ? calibrate_problem(calibration, problem, &result, error)
                                 : ESP_INVALID;
    if (status == ESP_OK)
        tell(command, problem, &result, NULL);
    if (status != ESP_OK && status != ESP_INVALID)
        return status;
    const enum esp_status together = calibrate_together(command, problem, &other);
    if (together == ESP_OK || together == ESP_NOT_FOUND)
        return together == ESP_OK ? ESP_OK : status;
    *error = other;
    return together;
}

/* Reports a problem that cannot be measured, if all are: its forecasts remain those of work over speed. */
static void tell_skipped(struct calibrating *command, const struct problem *problem,
                         const struct esp_error *why)
{
    char prefix[PROBLEM_MAX_NAME + 32];
    const int n = snprintf(prefix, sizeof prefix, "%s is not measured: ", problem->name);
    const char *reason = strncmp(why->text, prefix, (size_t)n) == 0 ? why->text + n : why->text;
    calibrate_clear_bar();
    if (command->json)
        printf("{\"problem\": \"%s\", \"skipped\": true}\n", problem->name);
    fprintf(command->json ? stderr : stdout, "%-12s skipped: %s\n", problem->name, reason);
    fflush(stdout);
    command->skipped++;
}

/* False: it is over. */
static bool run_one(struct calibrating *command, struct calibration *calibration, struct problem *problem,
                    bool named)
{
    struct calibrate_result none = {0};
    struct esp_error error = {0};
    const enum esp_status status = measure(command, calibration, problem, &error);
    const bool skipped = !named && status == ESP_INVALID;
    const bool told = status != ESP_OK && !skipped;
    command->n_done++;
    if (status == ESP_CANCELLED) {
        tell_stopped();
        command->failed++;
        return false;
    }
    if (skipped)
        tell_skipped(command, problem, &error);
    if (told)
        tell(command, problem, &none, &error);
    command->failed += told;
    return status != ESP_SYSTEM && status != ESP_NO_MEMORY;
}

static void tell_all(const struct calibrating *command)
{
    if (!command->json)
        printf("%u of %u problems have models; skipped: %u, failed: %u, each for the reason above\n",
               command->n_done - command->skipped - command->failed, command->n_done, command->skipped,
               command->failed);
}

static int run_all(struct calibrating *command, struct calibration *calibration, int n, char **names)
{
    struct problem_set *set = command->problems;
    command->n_problems = n ? (unsigned)n : (unsigned)set->n_problems;
    struct problem **order = n ? NULL : calibrate_order(set, command->settings.node.state_dir);
    struct esp_error error;
    if (!n && !order) {
        error_no_memory(&error, "the order of the problems");
        return fail(&error);
    }
    bool goes_on = true;
    for (size_t i = 0; i < command->n_problems && goes_on; i++)
        goes_on = run_one(command, calibration, n ? (struct problem *)problem_find(set, names[i]) : order[i],
                          n > 0);
    free(order);
    if (!n && goes_on)
        tell_all(command);
    /* The exit code of a program that a signal has ended, so that a script over several servers stops as
     * well. */
    if (!goes_on && atomic_load(&stopped_by))
        return 128 + atomic_load(&stopped_by);
    return command->failed || !goes_on ? EXIT_FAILED : EXIT_DONE;
}

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    struct calibrating command = {.config = ESP_SYSCONFDIR "/sed.conf", .budget_s = 30, .longest_s = 1};
    struct calibration *calibration = NULL;
    struct esp_error error = {0};
    int code = calibrate_parse(argc, argv, &command);
    if (code != EXIT_DONE)
        return code;
    if (optind == argc && !command.all)
        return calibrate_usage("expected names of problems, or --all, found", "");
    if (command.background && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return EXIT_FAILED;
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    enum esp_status status = open_all(&command, argc - optind, argv + optind, &error);
    const struct calibrate_options options = {.folder = command.folder,
                                              .machine = status == ESP_OK ? command.settings.node.name : "",
                                              .threads = (uint32_t)command.settings.threads,
                                              .budget_s = command.budget_s,
                                              .longest_s = command.longest_s,
                                              .bytes = bytes_of_call(&command),
                                              .again = command.again,
                                              .progress = progress,
                                              .arg = &command,
                                              .pid = processes_pid,
                                              .problems = command.problems,
                                              .stop = &stop};
    if (status == ESP_OK)
        status = calibration_create(&options, command.workers, &calibration, &error);
    struct calibrate_options on_ranks = options;
    on_ranks.pid = NULL;
    if (status == ESP_OK && command.ranks)
        status = calibration_create(&on_ranks, command.ranks, &command.together, &error);
    code = status == ESP_OK ? run_all(&command, calibration, argc - optind, argv + optind) : fail(&error);
    if (command.workers)
        command.workers->ops->destroy(command.workers);
    if (command.ranks)
        command.ranks->ops->destroy(command.ranks);
    calibration_destroy(calibration);
    calibration_destroy(command.together);
    problem_set_destroy(command.problems);
    settings_destroy(&command.settings.arena);
    return code;
}
