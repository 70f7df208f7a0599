/* SPDX-License-Identifier: Apache-2.0
 *
 * The jobs of a server under a batch system and a clock of the test's own; and under the back end `local`,
 * with real processes.
 */
#include "sed/batch/batch_jobs.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- a batch system ---- */

#define MOST 64

struct fake {
    struct batch_system system;
    struct batch_sighting jobs[MOST]; /* what it knows, by id 1, 2, ... */
    size_t n_jobs;
    enum esp_status submits, queries, cancels; /* ESP_OK, or how these operations fail */
    bool takes_silently;                       /* a submission is taken and gets no answer */
    unsigned n_submits, n_queries, n_cancels, n_attaches;
    size_t n_asked; /* jobs of the latest question */
};

static struct fake fake;
static struct manual_clock now;
static char folder[64];
static struct batch_jobs *jobs;

static enum esp_status refuse(enum esp_status status, struct esp_error *error)
{
    return error_set(error, status, "the site says no (%d)", (int)status);
}

static enum esp_status fake_submit(struct batch_system *system, const struct batch_order *order, char *id,
                                   struct esp_error *error)
{
    (void)system;
    fake.n_submits++;
    if (fake.submits != ESP_OK && !fake.takes_silently)
        return refuse(fake.submits, error);
    struct batch_sighting *job = &fake.jobs[fake.n_jobs++];
    *job = (struct batch_sighting){.hint = BATCH_HINT_WAITING, .said = "PENDING"};
    snprintf(job->id, sizeof job->id, "%zu", fake.n_jobs);
    snprintf(job->name, sizeof job->name, "%s", order->name);
    snprintf(id, BATCH_ID_BYTES, "%s", job->id);
    return fake.submits == ESP_OK ? ESP_OK : refuse(fake.submits, error);
}

static enum esp_status fake_query(struct batch_system *system, const char *const *ids, size_t n,
                                  struct batch_sighting **sightings, size_t *n_sightings,
                                  struct esp_error *error)
{
    (void)system;
    fake.n_queries++;
    fake.n_asked = n;
    if (fake.queries != ESP_OK)
        return refuse(fake.queries, error);
    *sightings = calloc(n, sizeof **sightings);
    *n_sightings = 0;
    for (size_t i = 0; i < n; i++) {
        const struct batch_sighting *job = &fake.jobs[atoi(ids[i]) - 1];
        if (*job->id)
            (*sightings)[(*n_sightings)++] = *job;
    }
    return ESP_OK;
}

static enum esp_status fake_cancel(struct batch_system *system, const char *id, struct esp_error *error)
{
    (void)system;
    fake.n_cancels++;
    if (fake.cancels != ESP_OK)
        return refuse(fake.cancels, error);
    fake.jobs[atoi(id) - 1].hint = BATCH_HINT_CANCELED;
    return ESP_OK;
}

static enum esp_status fake_attach(struct batch_system *system, const struct batch_order *order, char *id,
                                   struct esp_error *error)
{
    (void)system;
    fake.n_attaches++;
    if (fake.queries != ESP_OK)
        return refuse(fake.queries, error);
    for (size_t i = 0; i < fake.n_jobs; i++)
        if (strcmp(fake.jobs[i].name, order->name) == 0) {
            snprintf(id, BATCH_ID_BYTES, "%zu", i + 1);
            return ESP_OK;
        }
    return error_set(error, ESP_NOT_FOUND, "none");
}

static const struct batch_system_ops fake_ops = {.name = "fake",
                                                 .id_in_script = "1",
                                                 .submit = fake_submit,
                                                 .query = fake_query,
                                                 .cancel = fake_cancel,
                                                 .attach = fake_attach};

/* ---- the jobs ---- */

static unsigned n_changes;
static enum batch_state latest_state;

static void note_change(void *arg, const struct batch_report *report)
{
    (void)arg;
    n_changes++;
    latest_state = report->state;
}

/* A batch system in the same process shows the end of a job at once. */
static const struct batch_patience short_patience = {
    .ended_ns = NS_PER_S, .killed_ns = NS_PER_S / 10, .unknown_ns = NS_PER_S};

static void create(struct batch_system *system, const struct clock *clock)
{
    const struct batch_jobs_options options = {.system = system,
                                               .folder = folder,
                                               .clock = clock,
                                               .patience = clock ? NULL : &short_patience,
                                               .changed = note_change};
    struct esp_error error = {0};
    if (batch_jobs_create(&options, &jobs, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/espalier-batch-XXXXXX");
    fake = (struct fake){.system.ops = &fake_ops};
    n_changes = 0;
    manual_clock_init(&now, 1000 * NS_PER_S);
    if (!mkdtemp(folder))
        return -1;
    create(&fake.system, &now.clock);
    return 0;
}

static int teardown(void **state)
{
    char command[100];
    (void)state;
    batch_jobs_destroy(jobs);
    jobs = NULL;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void restart(void)
{
    batch_jobs_destroy(jobs);
    create(&fake.system, &now.clock);
}

static void submit(const char *const *words, char name[BATCH_NAME_BYTES])
{
    char run[PATH_MAX];
    struct esp_error error = {0};
    const struct batch_work work = {.words = words, .time_s = 600};
    assert_int_equal(batch_jobs_prepare(jobs, name, run, &error), ESP_OK);
    assert_int_equal(batch_jobs_submit(jobs, name, &work, &error), ESP_OK);
}

static void submit_true(char name[BATCH_NAME_BYTES])
{
    const char *const words[] = {"true", NULL};
    submit(words, name);
}

static struct batch_report look(const char *name)
{
    struct batch_report report;
    struct esp_error error = {0};
    assert_int_equal(batch_jobs_look(jobs, name, &report, &error), ESP_OK);
    return report;
}

/* Turns as a thread would do, in virtual time. */
static void turn_for(int64_t seconds)
{
    const int64_t until_ns = now.time_ns + seconds * NS_PER_S;
    for (int64_t due_ns = batch_jobs_turn(jobs); due_ns <= until_ns; due_ns = batch_jobs_turn(jobs))
        if (due_ns > now.time_ns)
            now.time_ns = due_ns;
    now.time_ns = until_ns;
}

static void write_in_run(const char *name, const char *file, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/run/%s", folder, name, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void a_job_goes_from_new_to_completed(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    submit_true(name);
    assert_int_equal(look(name).state, BATCH_NEW);
    turn_for(3);
    assert_int_equal(look(name).state, BATCH_QUEUED);
    assert_string_equal(look(name).id, "1");
    fake.jobs[0].hint = BATCH_HINT_RUNNING;
    strcpy(fake.jobs[0].nodes, "n7");
    turn_for(31);
    assert_int_equal(look(name).state, BATCH_ACTIVE);
    assert_string_equal(look(name).note, "runs on n7");
    write_in_run(name, "exit", "0\n");
    turn_for(2);
    assert_int_equal(look(name).state, BATCH_COMPLETED);
    assert_int_equal(look(name).error.status, ESP_OK);
    assert_int_equal(look(name).exit_code, 0);
    assert_int_equal(n_changes, 3);
    assert_int_equal(latest_state, BATCH_COMPLETED);
    assert_true(batch_jobs_turn(jobs) == CLOCK_NEVER);
}

static void a_started_file_tells_the_start_before_the_queue_does(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    submit_true(name);
    turn_for(1);
    write_in_run(name, "started", "1795988307 n3\n");
    turn_for(1);
    assert_int_equal(look(name).state, BATCH_ACTIVE);
    assert_int_equal(look(name).started_s, 1795988307);
    assert_string_equal(look(name).nodes, "n3");
}

static void one_question_serves_all_jobs_and_comes_more_and_more_seldom(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    for (int i = 0; i < 20; i++)
        submit_true(name);
    turn_for(1);
    assert_int_equal(fake.n_submits, 20);
    assert_int_equal(fake.n_queries, 0);
    turn_for(2);
    assert_int_equal(fake.n_queries, 1);
    assert_int_equal(fake.n_asked, 20);
    turn_for(600);
    const unsigned before = fake.n_queries;
    turn_for(600);
    assert_in_range(fake.n_queries - before, 19, 21);
}

static void a_refused_job_has_the_words_of_the_site(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    fake.submits = ESP_REFUSED;
    submit_true(name);
    turn_for(1);
    assert_int_equal(look(name).state, BATCH_FAILED);
    assert_int_equal(look(name).error.status, ESP_REFUSED);
    assert_non_null(strstr(look(name).error.text, "the site says no"));
    assert_int_equal(n_changes, 1);
}

static void a_silent_batch_system_is_asked_again_but_not_for_each_job(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    for (int i = 0; i < 10; i++)
        submit_true(name);
    fake.submits = ESP_UNREACHABLE;
    turn_for(600);
    assert_in_range(fake.n_submits, 15, 40);
    assert_int_equal(look(name).state, BATCH_NEW);
    fake.submits = ESP_OK;
    turn_for(31);
    assert_int_equal(look(name).state, BATCH_QUEUED);
    assert_int_equal(fake.n_jobs, 10);
}

static void a_submission_without_an_answer_is_looked_up_and_not_repeated(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    fake.submits = ESP_TIMEOUT;
    fake.takes_silently = true;
    submit_true(name);
    turn_for(1);
    assert_int_equal(look(name).state, BATCH_NEW);
    fake.submits = ESP_OK;
    turn_for(10);
    assert_int_equal(look(name).state, BATCH_QUEUED);
    assert_int_equal(fake.n_submits, 1);
    assert_int_equal(fake.n_attaches, 1);
}

static void a_silent_queue_changes_no_state_and_is_told(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    submit_true(name);
    turn_for(3);
    fake.queries = ESP_UNREACHABLE;
    turn_for(3600);
    assert_int_equal(look(name).state, BATCH_QUEUED);
    assert_non_null(strstr(look(name).note, "has not answered for"));
    assert_non_null(strstr(look(name).note, "the site says no"));
    write_in_run(name, "exit", "0\n"); /* the truth does not need the queue */
    turn_for(3);
    assert_int_equal(look(name).state, BATCH_COMPLETED);
}

static void a_job_that_vanishes_is_lost(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    submit_true(name);
    turn_for(3);
    fake.jobs[0].id[0] = 0;
    turn_for(300);
    assert_int_equal(look(name).state, BATCH_FAILED);
    assert_int_equal(look(name).error.status, ESP_CRASHED);
}

static void an_exit_code_that_is_there_wins_over_the_queue(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    submit_true(name);
    turn_for(1);
    fake.jobs[0].hint = BATCH_HINT_NODE_FAILED;
    write_in_run(name, "exit", "0\n");
    turn_for(10);
    assert_int_equal(look(name).state, BATCH_COMPLETED);
}

static void a_cancelled_job_is_cancelled_in_the_batch_system(void **state)
{
    char name[BATCH_NAME_BYTES], other[BATCH_NAME_BYTES];
    struct esp_error error = {0};
    (void)state;
    submit_true(name);
    turn_for(3);
    fake.cancels = ESP_UNREACHABLE;
    assert_int_equal(batch_jobs_cancel(jobs, name, &error), ESP_OK);
    turn_for(60);
    assert_int_equal(look(name).state, BATCH_QUEUED);
    assert_in_range(fake.n_cancels, 2, 12);
    fake.cancels = ESP_OK;
    turn_for(120);
    assert_int_equal(look(name).state, BATCH_CANCELED);
    submit_true(other); /* cancelled before its submission, so that nothing is submitted */
    assert_int_equal(batch_jobs_cancel(jobs, other, &error), ESP_OK);
    turn_for(1);
    assert_int_equal(look(other).state, BATCH_CANCELED);
    assert_int_equal(fake.n_submits, 1);
    assert_int_equal(latest_state, BATCH_CANCELED);
}

static void jobs_are_found_again_after_a_restart(void **state)
{
    char queued[BATCH_NAME_BYTES], fresh[BATCH_NAME_BYTES], done[BATCH_NAME_BYTES],
        prepared[BATCH_NAME_BYTES];
    char run[PATH_MAX];
    struct esp_error error = {0};
    (void)state;
    submit_true(queued);
    submit_true(done);
    turn_for(3);
    write_in_run(done, "exit", "4\n");
    turn_for(3);
    submit_true(fresh);
    assert_int_equal(batch_jobs_prepare(jobs, prepared, run, &error), ESP_OK);
    n_changes = 0;
    restart();
    assert_int_equal(look(queued).state, BATCH_QUEUED);
    assert_string_equal(look(queued).id, "1");
    assert_int_equal(look(fresh).state, BATCH_NEW);
    assert_int_equal(look(done).state, BATCH_FAILED);
    assert_int_equal(look(done).exit_code, 4);
    assert_string_equal(look(done).error.text, "the batch job ended with exit code 4");
    assert_int_equal(batch_jobs_look(jobs, prepared, &(struct batch_report){0}, &error), ESP_NOT_FOUND);
    assert_int_not_equal(access(run, F_OK), 0);
    write_in_run(queued, "exit", "0\n");
    turn_for(3);
    assert_int_equal(look(queued).state, BATCH_COMPLETED);
    assert_int_equal(look(fresh).state, BATCH_QUEUED);
    assert_int_equal(fake.n_submits, 3);
}

/* The server dies between the submission and its record. */
static void a_submission_whose_record_was_lost_is_found_by_name(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    submit_true(name);
    char id[BATCH_ID_BYTES];
    struct esp_error error = {0};
    const struct batch_order order = {.name = name};
    assert_int_equal(fake_submit(&fake.system, &order, id, &error), ESP_OK);
    restart();
    turn_for(3);
    assert_int_equal(look(name).state, BATCH_QUEUED);
    assert_string_equal(look(name).id, "1");
    assert_int_equal(fake.n_jobs, 1);
}

static void two_servers_do_not_share_a_folder(void **state)
{
    const struct batch_jobs_options options = {.system = &fake.system, .folder = folder};
    struct batch_jobs *second = NULL;
    struct esp_error error = {0};
    (void)state;
    assert_int_equal(batch_jobs_create(&options, &second, &error), ESP_BUSY);
    assert_non_null(strstr(error.text, folder));
}

static void folders_that_cannot_work_are_refused(void **state)
{
    static const char *const bad[] = {"relative", "/tmp/100%", "/tmp/back\\slash"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct batch_jobs_options options = {.system = &fake.system, .folder = bad[i]};
        struct batch_jobs *none = NULL;
        struct esp_error error = {0};
        assert_int_equal(batch_jobs_create(&options, &none, &error), ESP_CONFIG);
        assert_non_null(strstr(error.text, "batch_folder: expected"));
    }
}

static void a_damaged_record_is_left_alone(void **state)
{
    char name[BATCH_NAME_BYTES], other[BATCH_NAME_BYTES], path[PATH_MAX];
    struct esp_error error = {0};
    (void)state;
    submit_true(name);
    submit_true(other);
    snprintf(path, sizeof path, "%s/%s/job", folder, name);
    assert_int_equal(truncate(path, 30), 0);
    restart();
    assert_int_equal(batch_jobs_look(jobs, name, &(struct batch_report){0}, &error), ESP_NOT_FOUND);
    assert_int_equal(look(other).state, BATCH_NEW);
    assert_int_equal(access(path, F_OK), 0);
}

static void only_ended_jobs_are_forgotten(void **state)
{
    char name[BATCH_NAME_BYTES], run[PATH_MAX];
    struct esp_error error = {0};
    (void)state;
    submit_true(name);
    turn_for(3);
    assert_int_equal(batch_jobs_folder(jobs, name, run, &error), ESP_OK);
    assert_int_equal(batch_jobs_forget(jobs, name, &error), ESP_BUSY);
    write_in_run(name, "exit", "0\n");
    turn_for(3);
    assert_int_equal(batch_jobs_forget(jobs, name, &error), ESP_OK);
    assert_int_equal(batch_jobs_forget(jobs, name, &error), ESP_NOT_FOUND);
    assert_int_not_equal(access(run, F_OK), 0);
}

/* A user's job may replace files in its folder by links: the server does not follow them. */
static void links_in_the_folder_of_a_job_are_not_followed(void **state)
{
    char name[BATCH_NAME_BYTES], target[PATH_MAX], link[PATH_MAX];
    (void)state;
    submit_true(name);
    turn_for(3);
    snprintf(target, sizeof target, "%s/secret", folder);
    FILE *file = fopen(target, "w");
    fputs("0\n", file);
    fclose(file);
    snprintf(link, sizeof link, "%s/%s/run/exit", folder, name);
    assert_int_equal(symlink(target, link), 0);
    turn_for(10);
    assert_int_equal(look(name).state, BATCH_QUEUED);
    unlink(link);
    assert_int_equal(mkfifo(link, 0600), 0);
    turn_for(10);
    assert_int_equal(look(name).state, BATCH_QUEUED);
}

static size_t n_listed;

static void count(void *arg, const struct batch_report *report)
{
    (void)arg;
    n_listed += *report->name != 0;
}

static void all_jobs_are_listed(void **state)
{
    char name[BATCH_NAME_BYTES];
    (void)state;
    for (int i = 0; i < 5; i++)
        submit_true(name);
    n_listed = 0;
    batch_jobs_list(jobs, count, NULL);
    assert_int_equal(n_listed, 5);
}

/* ---- the back end without a batch system, and a real clock ---- */

static struct batch_system *local;

static int setup_local(void **state)
{
    const struct batch_settings settings = {.time_s = 0};
    struct esp_error error = {0};
    (void)state;
    strcpy(folder, "/tmp/espalier-batch-XXXXXX");
    if (!mkdtemp(folder) || batch_system_open("local", &settings, &local, &error) != ESP_OK)
        return -1;
    create(local, NULL);
    return batch_jobs_start(jobs, &error) == ESP_OK ? 0 : -1;
}

static int teardown_local(void **state)
{
    const int status = teardown(state);
    batch_system_close(local);
    return status;
}

static void restart_local(void)
{
    struct esp_error error = {0};
    batch_jobs_destroy(jobs);
    create(local, NULL);
    assert_int_equal(batch_jobs_start(jobs, &error), ESP_OK);
}

/* Waits until the job is in that state, or in a later one. */
static struct batch_report wait_for(const char *name, enum batch_state wanted)
{
    for (int i = 0; i < 12000; i++) {
        const struct batch_report report = look(name);
        if (report.state >= wanted)
            return report;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    fail_msg("%s is still %s: %s", name, batch_state_name(look(name).state), look(name).note);
    return look(name);
}

static void real_jobs_complete_and_fail(void **state)
{
    const char *const good[] = {"sh", "-c", "echo hello; echo oh >&2", NULL}, *const bad[] = {"sh", "-c",
                                                                                              "exit 9", NULL};
    char name[BATCH_NAME_BYTES], other[BATCH_NAME_BYTES], path[PATH_MAX], line[64];
    (void)state;
    submit(good, name);
    submit(bad, other);
    assert_int_equal(wait_for(name, BATCH_COMPLETED).state, BATCH_COMPLETED);
    const struct batch_report failed = wait_for(other, BATCH_COMPLETED);
    assert_int_equal(failed.state, BATCH_FAILED);
    assert_int_equal(failed.exit_code, 9);
    assert_int_equal(failed.error.status, ESP_FAILED);
    snprintf(path, sizeof path, "%s/%s/run/output", folder, name);
    FILE *output = fopen(path, "r");
    assert_non_null(output);
    assert_non_null(fgets(line, sizeof line, output));
    assert_string_equal(line, "hello\n");
    fclose(output);
}

/* A zombie is gone, too: its new parent has not collected it yet. */
static bool is_gone(int pid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    if (file)
        fclose(file);
    return state == 'Z' || state == 'X';
}

static void a_real_job_is_cancelled_with_its_children(void **state)
{
    const char *const words[] = {"sh", "-c", "sleep 1000 & echo $! >child; wait", NULL};
    char name[BATCH_NAME_BYTES], path[PATH_MAX];
    struct esp_error error = {0};
    int child = 0;
    (void)state;
    submit(words, name);
    wait_for(name, BATCH_ACTIVE);
    snprintf(path, sizeof path, "%s/%s/run/child", folder, name);
    for (int i = 0; i < 12000 && child == 0; i++) {
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%d", &child) != 1)
            child = 0;
        if (file)
            fclose(file);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    assert_true(child > 0);
    assert_int_equal(batch_jobs_cancel(jobs, name, &error), ESP_OK);
    batch_jobs_destroy(jobs); /* also when the server ends meanwhile */
    jobs = NULL;
    restart_local();
    assert_int_equal(wait_for(name, BATCH_COMPLETED).state, BATCH_CANCELED);
    assert_true(is_gone(child));
}

static void a_real_job_outlives_its_server(void **state)
{
    const char *const words[] = {"sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exit 5", NULL};
    char name[BATCH_NAME_BYTES];
    (void)state;
    submit(words, name);
    wait_for(name, BATCH_ACTIVE);
    restart_local();
    assert_int_equal(look(name).state, BATCH_ACTIVE);
    write_in_run(name, "go", "");
    const struct batch_report report = wait_for(name, BATCH_COMPLETED);
    assert_int_equal(report.state, BATCH_FAILED);
    assert_int_equal(report.exit_code, 5);
}

static void a_real_job_is_killed_at_its_time_limit(void **state)
{
    const char *const words[] = {"sleep", "1000", NULL};
    char name[BATCH_NAME_BYTES], run[PATH_MAX];
    struct esp_error error = {0};
    const struct batch_work work = {.words = words, .time_s = 1};
    (void)state;
    assert_int_equal(batch_jobs_prepare(jobs, name, run, &error), ESP_OK);
    assert_int_equal(batch_jobs_submit(jobs, name, &work, &error), ESP_OK);
    const struct batch_report report = wait_for(name, BATCH_COMPLETED);
    assert_int_equal(report.error.status, ESP_TIMEOUT);
    assert_non_null(strstr(report.error.text, "time limit of 1 s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_goes_from_new_to_completed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_started_file_tells_the_start_before_the_queue_does, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_question_serves_all_jobs_and_comes_more_and_more_seldom, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_refused_job_has_the_words_of_the_site, setup, teardown),
        cmocka_unit_test_setup_teardown(a_silent_batch_system_is_asked_again_but_not_for_each_job, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_submission_without_an_answer_is_looked_up_and_not_repeated, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_silent_queue_changes_no_state_and_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_that_vanishes_is_lost, setup, teardown),
        cmocka_unit_test_setup_teardown(an_exit_code_that_is_there_wins_over_the_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_job_is_cancelled_in_the_batch_system, setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_are_found_again_after_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(a_submission_whose_record_was_lost_is_found_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(two_servers_do_not_share_a_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(folders_that_cannot_work_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_record_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(only_ended_jobs_are_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(links_in_the_folder_of_a_job_are_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(all_jobs_are_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(real_jobs_complete_and_fail, setup_local, teardown_local),
        cmocka_unit_test_setup_teardown(a_real_job_is_cancelled_with_its_children, setup_local,
                                        teardown_local),
        cmocka_unit_test_setup_teardown(a_real_job_outlives_its_server, setup_local, teardown_local),
        cmocka_unit_test_setup_teardown(a_real_job_is_killed_at_its_time_limit, setup_local, teardown_local),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
