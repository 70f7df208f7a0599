/* SPDX-License-Identifier: Apache-2.0
 *
 * A server's batch jobs without the server, for tests with a real batch system. Each run takes up the jobs of
 * the folder $BATCH_FOLDER, as a server does that was started again, and leaves them behind.
 *
 *     batch_driver submit WORD...     submits a job and prints its name once the batch system has it
 *     batch_driver look NAME          prints what is known of a job after one question to the batch system
 *     batch_driver wait NAME STATE    turns until the job is in that state or a later one, and prints what it
 * is batch_driver cancel NAME        cancels the job and waits for its end batch_driver describe prints what
 * the batch system says about itself
 *
 * $BATCH names the batch system; $BATCH_PARTITION, $BATCH_TIME, $BATCH_USER and $BATCH_OPTION are as in a
 * server's file. $BATCH_PATIENCE divides the patience with the end of jobs.
 */
#include "sed/batch/batch_jobs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_S 120

struct driver {
    struct batch_system *system;
    struct batch_jobs *jobs;
    struct batch_user user;
    struct batch_settings settings;
    const char *options[2];
    struct esp_error error;
};

static int complain(const struct driver *driver)
{
    fprintf(stderr, "batch_driver: %s: %s\n", esp_status_string(driver->error.status), driver->error.text);
    return 1;
}

static int64_t number_of(const char *variable, int64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? atoll(text) : otherwise;
}

static bool open_system(struct driver *driver)
{
    if (getenv("BATCH_USER") &&
        batch_user_find(getenv("BATCH_USER"), &driver->user, &driver->error) != ESP_OK)
        return false;
    driver->options[0] = getenv("BATCH_OPTION");
    driver->settings = (struct batch_settings){.partition = getenv("BATCH_PARTITION"),
                                               .time_s = number_of("BATCH_TIME", 0),
                                               .options = driver->options,
                                               .user = getenv("BATCH_USER") ? &driver->user : NULL};
    return batch_system_open(getenv("BATCH"), &driver->settings, &driver->system, &driver->error) == ESP_OK;
}

static bool open_jobs(struct driver *driver)
{
    struct batch_patience patience = batch_patience_default;
    const int64_t divisor = number_of("BATCH_PATIENCE", 1);
    patience.ended_ns /= divisor;
    patience.killed_ns /= divisor;
    patience.unknown_ns /= divisor;
    const struct batch_jobs_options options = {.system = driver->system,
                                               .folder = getenv("BATCH_FOLDER"),
                                               .user = driver->settings.user,
                                               .patience = &patience};
    return batch_jobs_create(&options, &driver->jobs, &driver->error) == ESP_OK;
}

static int show(struct driver *driver, const char *name)
{
    struct batch_report report;
    if (batch_jobs_look(driver->jobs, name, &report, &driver->error) != ESP_OK)
        return complain(driver);
    printf("state %s\nid %s\nexit %" PRId32 "\nnodes %s\nnote %s\nerror %s: %s\n",
           batch_state_name(report.state), report.id, report.exit_code, report.nodes, report.note,
           esp_status_string(report.error.status), report.error.text);
    return 0;
}

/* True: the job is in that state or in a later one. */
static bool turn_until(struct driver *driver, const char *name, enum batch_state state, int64_t patience_s)
{
    const int64_t until_ns = clock_now_ns(&clock_system) + patience_s * NS_PER_S;
    struct batch_report report = {0};
    for (;;) {
        const int64_t due_ns = batch_jobs_turn(driver->jobs), now_ns = clock_now_ns(&clock_system);
        if (batch_jobs_look(driver->jobs, name, &report, &driver->error) != ESP_OK || report.state >= state)
            return report.state >= state;
        if (now_ns >= until_ns)
            return false;
        const int64_t wait_ns = due_ns < now_ns + NS_PER_S ? due_ns - now_ns : NS_PER_S;
        if (wait_ns > 0)
            nanosleep(&(struct timespec){.tv_sec = wait_ns / NS_PER_S, .tv_nsec = wait_ns % NS_PER_S}, NULL);
    }
}

static int submit(struct driver *driver, char **words)
{
    char name[BATCH_NAME_BYTES], run[PATH_MAX];
    const struct batch_work work = {.words = (const char *const *)words};
    if (batch_jobs_prepare(driver->jobs, name, run, &driver->error) != ESP_OK ||
        batch_jobs_submit(driver->jobs, name, &work, &driver->error) != ESP_OK)
        return complain(driver);
    puts(name);
    return turn_until(driver, name, BATCH_QUEUED, number_of("BATCH_SUBMIT_S", PATIENCE_S)) ? 0 : 3;
}

static int wait_for(struct driver *driver, const char *name, const char *state_name)
{
    enum batch_state state;
    if (!batch_state_find(state_name, &state))
        return 2;
    const bool reached = turn_until(driver, name, state, PATIENCE_S);
    return show(driver, name) != 0 || !reached;
}

static int cancel(struct driver *driver, const char *name)
{
    if (batch_jobs_cancel(driver->jobs, name, &driver->error) != ESP_OK)
        return complain(driver);
    return wait_for(driver, name, "COMPLETED");
}

static int look(struct driver *driver, const char *name)
{
    turn_until(driver, name, BATCH_COMPLETED, 3);
    return show(driver, name);
}

static int describe(struct driver *driver)
{
    char text[400] = "";
    if (driver->system->ops->describe(driver->system, text, sizeof text, &driver->error) != ESP_OK)
        return complain(driver);
    puts(text);
    return 0;
}

static int run_verb(struct driver *driver, int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "submit") == 0)
        return submit(driver, argv + 2);
    if (argc == 3 && strcmp(argv[1], "look") == 0)
        return look(driver, argv[2]);
    if (argc == 4 && strcmp(argv[1], "wait") == 0)
        return wait_for(driver, argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "cancel") == 0)
        return cancel(driver, argv[2]);
    if (argc == 2 && strcmp(argv[1], "describe") == 0)
        return describe(driver);
    return 2;
}

int main(int argc, char **argv)
{
    struct driver driver = {0};
    int code = 1;
    if (!open_system(&driver) || !open_jobs(&driver))
        complain(&driver);
    else
        code = run_verb(&driver, argc, argv);
    batch_jobs_destroy(driver.jobs);
    batch_system_close(driver.system);
    return code;
}
