/* SPDX-License-Identifier: Apache-2.0
 *
 * Slurm's back end with a runner of the test's own, and the readers of what Slurm's programs print. The texts
 * are those of Slurm 22.05.
 */
#include "sed/batch/batch_system.h"
#include "sed/batch/slurm_text.h"
#include "tests/unit/unit.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- readers ---- */

static void states_come_down_to_few(void **state)
{
    static const struct {
        const char *state;
        enum batch_hint hint;
    } rows[] = {
        {"PENDING", BATCH_HINT_WAITING},       {"RUNNING", BATCH_HINT_RUNNING},
        {"COMPLETING", BATCH_HINT_RUNNING},    {"COMPLETED", BATCH_HINT_ENDED},
        {"FAILED", BATCH_HINT_ENDED},          {"CANCELLED by 1000", BATCH_HINT_CANCELED},
        {"CANCELLED+", BATCH_HINT_CANCELED},   {"TIMEOUT", BATCH_HINT_TIME_LIMIT},
        {"NODE_FAIL", BATCH_HINT_NODE_FAILED}, {"OUT_OF_MEMORY", BATCH_HINT_OUT_OF_MEMORY},
        {"PREEMPTED", BATCH_HINT_PREEMPTED},   {"BOOT_FAIL", BATCH_HINT_NOT_STARTED},
        {"SOMETHING_NEW", BATCH_HINT_NONE},    {"", BATCH_HINT_NONE},
        {"PENDINGS", BATCH_HINT_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(slurm_hint(rows[i].state), rows[i].hint);
}

static void a_queue_is_read(void **state)
{
    static const char text[] = "2|PENDING|0|0|1795988189|N/A|N/A||espalier-a|PartitionDown|\n"
                               "10|RUNNING|1|0|1795988306|1795988307|1795991907|vm|espalier-b|None|\n"
                               "7|CANCELLED|0|15|1795988306|1795988307|1795991907|n[1-4]|espalier-c|None|\n"
                               "8|FAILED|0|768|1795988306|1795988307|1795991907|vm|a name that is much "
                               "longer than any name of ours is"
                               "|ReqNodeNotAvail, UnavailableNodes:n|7|\n";
    struct batch_sighting *jobs = NULL;
    struct esp_error error = {0};
    size_t n = 0;
    (void)state;
    assert_int_equal(slurm_read_queue(text, strlen(text), &jobs, &n, &error), ESP_OK);
    assert_int_equal(n, 4);
    assert_string_equal(jobs[0].id, "2");
    assert_int_equal(jobs[0].hint, BATCH_HINT_WAITING);
    assert_string_equal(jobs[0].said, "PENDING (PartitionDown)");
    assert_string_equal(jobs[0].note, "its partition is down");
    assert_int_equal(jobs[0].submitted_s, 1795988189);
    assert_int_equal(jobs[0].started_s, 0);
    assert_string_equal(jobs[0].nodes, "");
    assert_int_equal(jobs[1].hint, BATCH_HINT_RUNNING);
    assert_int_equal(jobs[1].restarts, 1);
    assert_int_equal(jobs[1].started_s, 1795988307);
    assert_string_equal(jobs[1].said, "RUNNING");
    assert_string_equal(jobs[1].name, "espalier-b");
    assert_int_equal(jobs[2].signal, 15);
    assert_string_equal(jobs[2].nodes, "n[1-4]");
    assert_int_equal(jobs[3].exit_code, 3);
    assert_string_equal(jobs[3].name, "");
    assert_string_equal(jobs[3].note, "a node that it needs is not available");
    free(jobs);
}

static void accounts_are_read(void **state)
{
    static const char text[] = "5|CANCELLED by 1000|0:15|1795988306|1795988307|1795988400|n1|espalier-a\n"
                               "6|TIMEOUT|0:0|1795988306|Unknown|Unknown|None assigned|espalier-b\n";
    struct batch_sighting *jobs = NULL;
    struct esp_error error = {0};
    size_t n = 0;
    (void)state;
    assert_int_equal(slurm_read_accounting(text, strlen(text), &jobs, &n, &error), ESP_OK);
    assert_int_equal(n, 2);
    assert_int_equal(jobs[0].hint, BATCH_HINT_CANCELED);
    assert_int_equal(jobs[0].signal, 15);
    assert_string_equal(jobs[0].said, "CANCELLED by 1000");
    assert_string_equal(jobs[1].nodes, "");
    assert_int_equal(jobs[1].started_s, 0);
    free(jobs);
}

static void what_is_no_job_is_told(void **state)
{
    static const char *const bad[] = {"hello\n", "1|PENDING|0\n", "x|PENDING|0|0|1|2|3|n|a|None|\n",
                                      "1|PENDING|many|0|1|2|3|n|a|None|\n"};
    struct batch_sighting *jobs = NULL;
    struct esp_error error = {0};
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(slurm_read_queue(bad[i], strlen(bad[i]), &jobs, &n, &error), ESP_PROTOCOL);
        assert_non_null(strstr(error.text, "expected a line of squeue"));
    }
    assert_int_equal(slurm_read_queue("", 0, &jobs, &n, &error), ESP_OK);
    assert_int_equal(n, 0);
    free(jobs);
}

static void an_id_is_found_among_other_words(void **state)
{
    static const struct {
        const char *text, *id;
    } rows[] = {
        {"123\n", "123"},
        {"123;cluster2\n", "123"},
        {"sbatch: a plug-in of the site greets you\n77\n", "77"},
        {"123", "123"},
        {"", NULL},
        {"Submitted batch job 9\n", NULL},
        {"-1\n", NULL},
        {"99999999999999999999999999\n", NULL},
    };
    char id[BATCH_ID_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(slurm_read_id(rows[i].text, strlen(rows[i].text), id), rows[i].id != NULL);
        if (rows[i].id)
            assert_string_equal(id, rows[i].id);
    }
}

static void time_limits_are_read(void **state)
{
    (void)state;
    assert_int_equal(slurm_read_minutes("30"), 1800);
    assert_int_equal(slurm_read_minutes("1:30"), 90);
    assert_int_equal(slurm_read_minutes("01:00:00"), 3600);
    assert_int_equal(slurm_read_minutes("2-12:00:00"), 2 * 86400 + 12 * 3600);
    assert_int_equal(slurm_read_minutes("1-00"), 86400);
    assert_int_equal(slurm_read_minutes("UNLIMITED"), -1);
    assert_int_equal(slurm_read_minutes(""), -1);
    assert_int_equal(slurm_read_minutes("1:2:3:4"), -1);
}

/* Any bytes, and pieces of good answers in any order: nothing crashes, and what is taken keeps its limits. */
static void any_bytes_are_safe_to_read(void **state)
{
    static const char *const pieces[] = {"1|",    "PENDING",   "|0|0|", "\n", "1795988306|",
                                         "None|", "|||||||||", ";",     "9"};
    struct random random;
    (void)state;
    random_seed(&random, 1);
    for (int trial = 0; trial < TRIALS(20000); trial++) {
        char text[300], id[BATCH_ID_BYTES], value[16];
        size_t length = 0, n = 0;
        struct batch_sighting *jobs = NULL;
        while (length < 200 && random_below(&random, 40)) {
            if (random_below(&random, 4)) {
                const char *piece = pieces[random_below(&random, sizeof pieces / sizeof *pieces)];
                memcpy(text + length, piece, strlen(piece));
                length += strlen(piece);
            } else {
                text[length++] = (char)random_below(&random, 256);
            }
        }
        char *exact = malloc(length ? length : 1); /* a read beyond the end is seen by the sanitizer */
        memcpy(exact, text, length);
        if (slurm_read_queue(exact, length, &jobs, &n, NULL) == ESP_OK) {
            for (size_t i = 0; i < n; i++)
                assert_true(strlen(jobs[i].id) > 0 && strlen(jobs[i].id) < BATCH_ID_BYTES &&
                            jobs[i].hint < BATCH_N_HINTS);
            free(jobs);
        }
        if (slurm_read_accounting(exact, length, &jobs, &n, NULL) == ESP_OK)
            free(jobs);
        if (slurm_read_id(exact, length, id))
            assert_true(strspn(id, "0123456789") == strlen(id));
        slurm_read_field(exact, length, "1|", value, sizeof value);
        free(exact);
    }
}

/* ---- the back end ---- */

/* A runner that remembers what it was asked and answers from a list. */
struct script {
    struct batch_runner runner;
    struct {
        enum esp_status status;
        int32_t exit_code;
        const char *output, *errors;
    } answers[4];
    size_t n_asked;
    char asked[4][2000];
};

static enum esp_status run_script(const struct batch_runner *runner, const struct batch_command *command,
                                  struct batch_command_result *result, struct esp_error *error)
{
    struct script *script = (struct script *)runner;
    assert_true(script->n_asked < 4);
    char *asked = script->asked[script->n_asked];
    size_t used = 0;
    for (size_t i = 0; command->words[i]; i++)
        used += (size_t)snprintf(asked + used, 2000 - used, "%s%s", i ? " " : "", command->words[i]);
    const size_t i = script->n_asked++;
    assert_true(command->deadline_ms > 0);
    if (script->answers[i].status != ESP_OK)
        return error_set(error, script->answers[i].status, "%s", script->answers[i].errors);
    *result = (struct batch_command_result){.exit_code = script->answers[i].exit_code};
    result->output = strdup(script->answers[i].output ? script->answers[i].output : "");
    result->output_bytes = strlen(result->output);
    snprintf(result->errors, sizeof result->errors, "%s",
             script->answers[i].errors ? script->answers[i].errors : "");
    return ESP_OK;
}

static struct script script;
static struct batch_settings settings;
static struct batch_system *opened;

static struct batch_system *open_system(void)
{
    struct esp_error error = {0};
    batch_system_close(opened);
    script = (struct script){.runner = {run_script}};
    settings.runner = &script.runner;
    assert_int_equal(batch_system_open("slurm", &settings, &opened, &error), ESP_OK);
    return opened;
}

static int close_system(void **state)
{
    (void)state;
    batch_system_close(opened);
    opened = NULL;
    settings = (struct batch_settings){0};
    return 0;
}

static const struct batch_order order = {
    .name = "espalier-1", .folder = "/shared/j/run", .cores = 4, .memory_mb = 512};

static void a_submission_is_one_argument_vector(void **state)
{
    static const char *const options[] = {"--exclusive", "--comment=a b; rm", NULL};
    char id[BATCH_ID_BYTES];
    struct esp_error error = {0};
    (void)state;
    settings = (struct batch_settings){.partition = "main",
                                       .account = "acc",
                                       .qos = "fast",
                                       .gres = "gpu:1",
                                       .time_s = 61,
                                       .options = options};
    struct batch_system *system = open_system();
    script.answers[0].output = "123\n";
    assert_int_equal(system->ops->submit(system, &order, id, &error), ESP_OK);
    assert_string_equal(id, "123");
    assert_string_equal(script.asked[0],
                        "sbatch --parsable --job-name=espalier-1 --chdir=/shared/j/run "
                        "--output=/shared/j/run/output --error=/shared/j/run/errors --open-mode=truncate "
                        "--input=/dev/null --partition=main --account=acc --qos=fast --gres=gpu:1 --time=2 "
                        "--cpus-per-task=4 --mem=512M --exclusive --comment=a b; rm /shared/j/run/script");
}

static void a_refusal_is_told_word_for_word_and_silence_is_none(void **state)
{
    static const struct {
        const char *errors;
        enum esp_status status;
    } rows[] = {
        {"sbatch: error: invalid partition specified: nope\n"
         "sbatch: error: Batch job submission failed: Invalid partition name specified",
         ESP_REFUSED},
        {"sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, "
         "user's "
         "size and/or time limits)",
         ESP_REFUSED},
        {"sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)",
         ESP_UNREACHABLE},
        {"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
         ESP_UNREACHABLE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char id[BATCH_ID_BYTES];
        struct esp_error error = {0};
        struct batch_system *system = open_system();
        script.answers[0].exit_code = 1;
        script.answers[0].errors = rows[i].errors;
        assert_int_equal(system->ops->submit(system, &order, id, &error), rows[i].status);
        assert_string_equal(error.text, rows[i].errors);
    }
    struct batch_system *system = open_system();
    struct esp_error error = {0};
    char id[BATCH_ID_BYTES];
    script.answers[0].exit_code = 1;
    assert_int_equal(system->ops->submit(system, &order, id, &error), ESP_REFUSED);
    assert_string_equal(error.text, "sbatch ended with exit code 1 and without a word");
}

static void one_question_is_asked_for_all_jobs(void **state)
{
    static const char *const ids[] = {"2", "3", "4"};
    struct batch_sighting *jobs = NULL;
    struct esp_error error = {0};
    size_t n = 0;
    (void)state;
    struct batch_system *system = open_system();
    script.answers[0].output = "2|PENDING|0|0|1795988189|N/A|N/A||espalier-a|Priority|\n";
    script.answers[1].exit_code = 1;
    script.answers[1].errors = "Slurm accounting storage is disabled";
    script.answers[2].output = "";
    assert_int_equal(system->ops->query(system, ids, 3, &jobs, &n, &error), ESP_OK);
    assert_int_equal(n, 1);
    free(jobs);
    assert_string_equal(script.asked[0],
                        "squeue --noheader --all --states=all --Format=" SLURM_QUEUE_FORMAT " --jobs=2,3,4");
    assert_string_equal(script.asked[1], "sacct --noheader --parsable2 --allocations --jobs=3,4 "
                                         "--format=" SLURM_ACCOUNTING_FORMAT);
    /* A site without accounts is asked for them once. */
    assert_int_equal(system->ops->query(system, ids, 3, &jobs, &n, &error), ESP_OK);
    assert_int_equal(n, 0);
    assert_int_equal(script.n_asked, 3);
    free(jobs);
}

static void accounts_fill_what_the_queue_has_forgotten(void **state)
{
    static const char *const ids[] = {"2", "3"};
    struct batch_sighting *jobs = NULL;
    struct esp_error error = {0};
    size_t n = 0;
    (void)state;
    struct batch_system *system = open_system();
    script.answers[0].exit_code = 1;
    script.answers[0].errors = "slurm_load_jobs error: Invalid job id specified";
    script.answers[1].output = "3|TIMEOUT|0:0|1795988306|1795988307|1795988400|n1|espalier-b\n";
    assert_int_equal(system->ops->query(system, ids, 2, &jobs, &n, &error), ESP_OK);
    assert_int_equal(n, 1);
    assert_int_equal(jobs[0].hint, BATCH_HINT_TIME_LIMIT);
    free(jobs);
}

static void a_queue_that_does_not_answer_is_no_answer(void **state)
{
    static const char *const ids[] = {"2"};
    struct batch_sighting *jobs = NULL;
    struct esp_error error = {0};
    size_t n = 0;
    (void)state;
    struct batch_system *system = open_system();
    script.answers[0].exit_code = 1;
    script.answers[0].errors = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
    assert_int_equal(system->ops->query(system, ids, 1, &jobs, &n, &error), ESP_UNREACHABLE);
    assert_string_equal(error.text, script.answers[0].errors);
    assert_null(jobs);
    system = open_system();
    script.answers[0].status = ESP_TIMEOUT;
    script.answers[0].errors = "squeue did not end";
    assert_int_equal(system->ops->query(system, ids, 1, &jobs, &n, &error), ESP_TIMEOUT);
    system = open_system();
    script.answers[0].output = "the site's wrapper says hello\n";
    assert_int_equal(system->ops->query(system, ids, 1, &jobs, &n, &error), ESP_PROTOCOL);
}

static void cancelling_what_has_ended_is_no_failure(void **state)
{
    struct esp_error error = {0};
    (void)state;
    struct batch_system *system = open_system();
    script.answers[0].exit_code = 1;
    script.answers[0].errors =
        "scancel: error: Kill job error on job id 7: Job/step already completing or completed";
    assert_int_equal(system->ops->cancel(system, "7", &error), ESP_OK);
    script.answers[1].exit_code = 1;
    script.answers[1].errors = "scancel: error: Kill job error on job id 7: Invalid job id specified";
    assert_int_equal(system->ops->cancel(system, "7", &error), ESP_OK);
    script.answers[2].exit_code = 1;
    script.answers[2].errors = "scancel: error: Kill job error on job id 7: Access/permission denied";
    assert_int_equal(system->ops->cancel(system, "7", &error), ESP_REFUSED);
    assert_string_equal(script.asked[0], "scancel --quiet 7");
}

static void a_job_is_found_by_its_name(void **state)
{
    char id[BATCH_ID_BYTES] = "";
    struct esp_error error = {0};
    (void)state;
    struct batch_system *system = open_system();
    script.answers[0].output = "31|RUNNING|0|0|1795988189|1795988189|N/A|n1|espalier-1|None|\n";
    assert_int_equal(system->ops->attach(system, &order, id, &error), ESP_OK);
    assert_string_equal(id, "31");
    assert_int_equal(system->ops->attach(system, &order, id, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(script.asked[1], " --name=espalier-1"));
}

static void the_partition_is_described_and_checked(void **state)
{
    static const char shown[] =
        "PartitionName=main AllowGroups=ALL Default=YES MaxTime=01:00:00 State=UP TotalCPUs=4 TotalNodes=1 \n"
        "PartitionName=closed Default=NO MaxTime=UNLIMITED State=DOWN TotalCPUs=4 TotalNodes=1 \n";
    char text[400];
    struct esp_error error = {0};
    (void)state;
    settings = (struct batch_settings){.time_s = 600};
    struct batch_system *system = open_system();
    script.answers[0].output = shown;
    assert_int_equal(system->ops->describe(system, text, sizeof text, &error), ESP_OK);
    assert_string_equal(text,
                        "Slurm partition main: state UP, 1 nodes with 4 processors, time limit 01:00:00");
    settings = (struct batch_settings){.time_s = 7200};
    system = open_system();
    script.answers[0].output = shown;
    assert_int_equal(system->ops->describe(system, text, sizeof text, &error), ESP_CONFIG);
    assert_non_null(
        strstr(error.text, "batch_time is 7200 s, and the partition main of Slurm allows 3600 s"));
    settings = (struct batch_settings){.partition = "nope"};
    system = open_system();
    script.answers[0].exit_code = 1;
    script.answers[0].output = "Partition nope not found"; /* scontrol does not use standard error for that */
    assert_int_equal(system->ops->describe(system, text, sizeof text, &error), ESP_CONFIG);
    assert_string_equal(error.text, "Partition nope not found");
}

static void a_batch_system_that_nobody_knows_is_told(void **state)
{
    struct batch_system *system;
    struct esp_error error = {0};
    (void)state;
    assert_int_equal(batch_system_open("pbs", &settings, &system, &error), ESP_CONFIG);
    assert_string_equal(error.text, "batch = \"pbs\": expected slurm or local");
    settings = (struct batch_settings){.gres = "gpu:1"};
    assert_int_equal(batch_system_open("local", &settings, &system, &error), ESP_CONFIG);
    assert_non_null(strstr(error.text, "batch_gres"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_come_down_to_few),
        cmocka_unit_test(a_queue_is_read),
        cmocka_unit_test(accounts_are_read),
        cmocka_unit_test(what_is_no_job_is_told),
        cmocka_unit_test(an_id_is_found_among_other_words),
        cmocka_unit_test(time_limits_are_read),
        cmocka_unit_test(any_bytes_are_safe_to_read),
        cmocka_unit_test_teardown(a_submission_is_one_argument_vector, close_system),
        cmocka_unit_test_teardown(a_refusal_is_told_word_for_word_and_silence_is_none, close_system),
        cmocka_unit_test_teardown(one_question_is_asked_for_all_jobs, close_system),
        cmocka_unit_test_teardown(accounts_fill_what_the_queue_has_forgotten, close_system),
        cmocka_unit_test_teardown(a_queue_that_does_not_answer_is_no_answer, close_system),
        cmocka_unit_test_teardown(cancelling_what_has_ended_is_no_failure, close_system),
        cmocka_unit_test_teardown(a_job_is_found_by_its_name, close_system),
        cmocka_unit_test_teardown(the_partition_is_described_and_checked, close_system),
        cmocka_unit_test_teardown(a_batch_system_that_nobody_knows_is_told, close_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
