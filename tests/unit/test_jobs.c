/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of jobs: as a text, and in the user's list.
 */
#include "util/contents.h"
#include "client/jobs/job.h"
#include "espalier.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char description[] = "problem scale \"x times alpha\"\n"
                                  "    in int n\n"
                                  "    in double alpha = 2\n"
                                  "    in string text\n"
                                  "    inout double x[n]\n"
                                  "    out int info\n";

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/espalier-jobs-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return setenv("XDG_STATE_HOME", folder, 1);
}

static int tear_down(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static char *make_token(uint64_t client)
{
    struct job_record record = {.session = {client, UINT64_MAX - 1, 1, 0xfedcba9876543210},
                                .server = "S",
                                .address = "host:1234",
                                .incarnation = 77,
                                .submitted_s = 1.5e9};
    record.origin = record.session;
    const struct describe_reply described = {.digest = 99, .text = description};
    struct esp_error error;
    int n = 3;
    double alpha = 0.1;
    if (function_create("scale", &described, &record.function, &error) != ESP_OK)
        fail_msg("%s", error.text);
    memcpy(record.values[0], &n, sizeof n);
    memcpy(record.values[1], &alpha, sizeof alpha);
    record.scalars[0] = record.values[0];
    record.scalars[1] = record.values[1];
    char *token = job_token_write(&record);
    assert_non_null(token);
    job_record_clear(&record);
    return token;
}

static void a_token_says_all_of_a_job(void **state)
{
    (void)state;
    char *token = make_token(UINT64_C(0xc0ffee1200000001));
    struct esp_job *job;
    if (esp_job_read(token, &job) != ESP_OK)
        fail_msg("%s", esp_last_error()->text);
    assert_string_equal(job->id, "c0ffee12-1");
    assert_string_equal(job->problem->name, "scale");
    assert_string_equal(job->server, "S");
    assert_string_equal(job->address, "host:1234");
    assert_true(job->submitted_s == 1.5e9);
    assert_int_equal(job->n_arguments, 5);
    assert_int_equal(*(const int *)job->arguments[0].data, 3);
    assert_true(*(const double *)job->arguments[1].data == 0.1);
    assert_null(job->arguments[2].data);
    assert_int_equal(job->arguments[3].n_dims, 1);
    assert_int_equal(job->arguments[3].dims[0], 3);
    assert_string_equal(job->token, token);
    struct job_record record;
    struct esp_error error;
    assert_int_equal(job_token_read(token, &record, &error), ESP_OK);
    assert_true(record.session.client_low == UINT64_MAX - 1 && record.session.secret == 0xfedcba9876543210);
    assert_true(record.incarnation == 77 && record.function->digest == 99);
    job_record_clear(&record);
    esp_job_free(job);
    free(token);
}

static void a_damaged_token_is_refused_and_does_no_harm(void **state)
{
    (void)state;
    char *token = make_token(5);
    size_t length = strlen(token);
    struct esp_job *job;
    for (size_t cut = 0; cut < length; cut++) {
        char *copy = strndup(token, cut);
        assert_int_equal(esp_job_read(copy, &job), ESP_SYNTAX);
        assert_null(job);
        free(copy);
    }
    for (size_t i = 0; i < length; i++) {
        char *copy = strdup(token);
        copy[i] = copy[i] == 'z' ? '"' : 'z';
        if (esp_job_read(copy, &job) == ESP_OK)
            esp_job_free(job); /* another name or text */
        else
            assert_string_not_equal(esp_last_error()->text, "");
        free(copy);
    }
    assert_int_equal(esp_job_read("{}", &job), ESP_SYNTAX);
    assert_non_null(strstr(esp_last_error()->text, "expected \"espalier_job\": 1, found none"));
    assert_int_equal(esp_job_read("", &job), ESP_SYNTAX);
    free(token);
}

static void the_list_has_what_was_put_there(void **state)
{
    (void)state;
    const char *const *ids;
    size_t n;
    struct esp_error error;
    struct esp_job *job;
    struct stat about;
    char path[256];
    char *token = make_token(UINT64_C(0xabcdef0100000000));
    assert_int_equal(esp_job_list(&ids, &n), ESP_OK);
    assert_int_equal(n, 0);
    esp_job_list_free(ids);
    assert_int_equal(job_store_write("abcdef01-1", token, &error), ESP_OK);
    assert_int_equal(job_store_write("abcdef02-1", token, &error), ESP_OK);
    snprintf(path, sizeof path, "%s/espalier/jobs/abcdef01-1.json", folder);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(esp_job_list(&ids, &n), ESP_OK);
    assert_int_equal(n, 2);
    assert_string_equal(ids[0], "abcdef01-1");
    esp_job_list_free(ids);
    assert_int_equal(esp_job_find("abcdef01", &job), ESP_OK);
    esp_job_free(job);
    assert_int_equal(esp_job_find("abc", &job), ESP_INVALID);
    assert_non_null(strstr(esp_last_error()->text, "2 jobs begin with 'abc'"));
    assert_int_equal(esp_job_find("../abcdef01", &job), ESP_NOT_FOUND);
    assert_int_equal(esp_job_find("", &job), ESP_NOT_FOUND);
    assert_int_equal(job_store_remove("abcdef02-1", &error), ESP_OK);
    assert_int_equal(job_store_remove("abcdef02-1", &error), ESP_OK);
    assert_int_equal(esp_job_find("abc", &job), ESP_OK);
    esp_job_free(job);
    FILE *stream = fopen(path, "w");
    fputs("{\"espalier_job\": 1", stream);
    fclose(stream);
    assert_int_equal(esp_job_find("abc", &job), ESP_SYNTAX);
    assert_non_null(strstr(esp_last_error()->text, "job abc: the record of a job"));
    free(token);
}

static void a_list_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    struct esp_error error;
    char path[256];
    snprintf(path, sizeof path, "%s/file", folder);
    fclose(fopen(path, "w"));
    setenv("XDG_STATE_HOME", path, 1);
    assert_int_equal(job_store_write("1-1", "{}", &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "cannot make the folder"));
}

static void without_the_library_jobs_cannot_be_asked_after(void **state)
{
    (void)state;
    char *token = make_token(5);
    struct esp_job *job;
    struct esp_job_state how = {0};
    assert_int_equal(esp_job_read(token, &job), ESP_OK);
    assert_int_equal(esp_job_look(job, 0, &how), ESP_INVALID);
    assert_int_equal(esp_job_cancel(job), ESP_INVALID);
    assert_int_equal(esp_job_forget(job), ESP_INVALID);
    assert_int_equal(esp_job_look(NULL, 0, &how), ESP_INVALID);
    esp_job_free(job);
    free(token);
}

/* ---- called again ---- */

static void a_job_that_was_called_again_keeps_its_id(void **state)
{
    (void)state;
    char *token = make_token(UINT64_C(0xc0ffee1200000001)), id[SESSION_TEXT];
    struct job_record record, read;
    struct esp_error error;
    assert_int_equal(job_token_read(token, &record, &error), ESP_OK);
    free(token);
    record.session = (struct session_id){UINT64_C(0xabcdef0100000000), 5, 1, 6};
    record.losses = 2;
    record.unsure = true;
    record.keepers = strdup(" S host:1234 ");
    record.left[0] = (struct job_left){{7, 8, 9, 10}, "there:9"};
    record.n_left = 1;
    record.names[0] = (struct other_name){"X", "B", 3};
    record.n_names = 1;
    token = job_token_write(&record);
    assert_int_equal(job_token_read(token, &read, &error), ESP_OK);
    assert_string_equal(job_id(&read, id), "c0ffee12-1");
    assert_memory_equal(&read.session, &record.session, sizeof read.session);
    assert_memory_equal(&read.left[0], &record.left[0], sizeof read.left[0]);
    assert_true(read.losses == 2 && read.unsure && read.n_left == 1);
    assert_string_equal(read.keepers, " S host:1234 ");
    assert_int_equal(read.n_names, 1);
    assert_string_equal(read.names[0].name, "X");
    assert_string_equal(read.names[0].of, "B");
    assert_int_equal(read.names[0].rows, 3);
    job_record_clear(&read);
    job_record_clear(&record);
    free(token);
}

static void an_end_is_known_until_the_job_is_forgotten(void **state)
{
    (void)state;
    char *token = make_token(UINT64_C(0xc0ffee1200000001)), path[256];
    struct job_record record;
    struct job_end end = {.error = {ESP_CRASHED, "it said \"no\"\n"}, .compute_s = 0.5}, known;
    struct esp_error error;
    assert_int_equal(job_token_read(token, &record, &error), ESP_OK);
    assert_int_equal(job_end_note(&record, &end, &error), ESP_OK);
    assert_false(job_end_known(&record, &known)); /* it is not in the list */
    assert_int_equal(job_store_write("c0ffee12-1", token, &error), ESP_OK);
    assert_false(job_end_known(&record, &known));
    snprintf(path, sizeof path, "%s/espalier/jobs/c0ffee12-1.call", folder);
    fclose(fopen(path, "w"));
    assert_true(job_is_kept(&record));
    end.wanted = true;
    assert_int_equal(job_end_note(&record, &end, &error), ESP_OK);
    assert_true(job_end_known(&record, &known) && known.wanted);
    assert_false(job_is_kept(&record)); /* and its arguments are there, should it be taken back */
    assert_int_equal(access(path, F_OK), 0);
    end.wanted = false;
    assert_int_equal(job_end_note(&record, &end, &error), ESP_OK);
    assert_true(job_end_known(&record, &known) && !known.wanted && known.compute_s == 0.5);
    assert_int_equal(known.error.status, ESP_CRASHED);
    assert_string_equal(known.error.text, end.error.text);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(job_store_write_end("c0ffee12-1", "{\"espalier_job_end\": 1", &error), ESP_OK);
    assert_false(job_end_known(&record, &known)); /* damaged */
    assert_int_equal(job_store_remove("c0ffee12-1", &error), ESP_OK);
    snprintf(path, sizeof path, "%s/espalier/jobs/c0ffee12-1.end", folder);
    assert_int_not_equal(access(path, F_OK), 0);
    job_record_clear(&record);
    free(token);
}

static struct session_report report_of(enum session_state state, enum esp_status status, const char *text)
{
    return (struct session_report){.state = state, .outcome = {.status = status, .text = text}};
}

static void what_servers_say_of_an_end_is_noted_where_it_is_one(void **state)
{
    (void)state;
    char *token = make_token(UINT64_C(0xc0ffee1200000001));
    struct job_record record;
    struct job_end wish = {.error = {ESP_CANCELLED, "cancelled"}, .wanted = true}, known;
    struct esp_error error;
    const struct session_report failed = report_of(SESSION_FAILED, ESP_CRASHED, "why"),
                                stopped = report_of(SESSION_CANCELLED, ESP_CANCELLED, "stopped"),
                                ended = report_of(SESSION_DONE, ESP_OK, NULL);
    assert_int_equal(job_token_read(token, &record, &error), ESP_OK);
    assert_int_equal(job_store_write("c0ffee12-1", token, &error), ESP_OK);
    job_end_take(&record, &ended);
    job_end_take(&record, &stopped); /* by a server that shuts down, perhaps */
    assert_false(job_end_known(&record, &known));
    job_end_note(&record, &wish, NULL);
    job_end_take(&record, &stopped);
    assert_true(job_end_known(&record, &known) && !known.wanted);
    assert_string_equal(known.error.text, "stopped");
    job_end_note(&record, &wish, NULL);
    job_end_take(&record, &failed); /* before it was told */
    assert_true(job_end_known(&record, &known) && known.error.status == ESP_CRASHED && !known.wanted);
    job_end_note(&record, &wish, NULL);
    job_end_take(&record, &ended);
    assert_false(job_end_known(&record, &known));
    job_record_clear(&record);
    free(token);
}

static void a_job_that_is_cancelled_is_that_whatever_became_of_its_server(void **state)
{
    (void)state;
    char *token = make_token(UINT64_C(0xc0ffee1200000001));
    struct job_record record;
    struct job_end wish = {.error = {ESP_CANCELLED, "cancelled"}, .wanted = true}, known;
    struct esp_error why = {ESP_NOT_FOUND, "why"};
    assert_int_equal(job_token_read(token, &record, &why), ESP_OK);
    assert_int_equal(job_store_write("c0ffee12-1", token, &why), ESP_OK);
    assert_false(job_end_instead(&record, JOB_GONE, &known, &why));
    assert_false(known.wanted);
    job_end_note(&record, &wish, NULL);
    assert_false(job_end_instead(&record, JOB_SILENT, &known, &why));
    assert_true(known.wanted && why.status == ESP_UNREACHABLE);
    assert_non_null(strstr(why.text, "may still compute it"));
    assert_true(job_end_instead(&record, JOB_LOST, &known, &why));
    assert_true(job_end_known(&record, &known) && !known.wanted);
    assert_true(job_end_instead(&record, JOB_SILENT, &known, &why));
    assert_int_equal(known.error.status, ESP_CANCELLED);
    assert_false(job_end_instead(&record, JOB_THERE, &known, &why));
    job_record_clear(&record);
    free(token);
}

static struct function *make_function(void)
{
    const struct describe_reply described = {.digest = 99, .text = description};
    struct function *function;
    struct esp_error error;
    if (function_create("scale", &described, &function, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return function;
}

/* scale with n = 3, an alpha that is left out, and a text. */
static void begin_session(struct session *session, struct function *function)
{
    static int n = 3;
    static double x[3] = {1, 2, 3};
    const struct esp_argument arguments[] = {
        {.data = &n}, {0}, {.data = (void *)"what it says"}, {.data = x}, {0}};
    struct esp_error error;
    memset(session, 0, sizeof *session);
    session->deadline_ns = INT64_C(5000000000);
    if (invocation_from_vector(&session->invocation, function, NULL, arguments, 5, &error) != ESP_OK)
        fail_msg("%s", error.text);
}

static void what_a_job_was_called_with_is_kept(void **state)
{
    (void)state;
    struct function *function = make_function();
    struct session session;
    struct job_call call;
    struct esp_error error;
    char path[256];
    char *properties[] = {"gpu"};
    struct stat about;
    snprintf(path, sizeof path, "%s/call", folder);
    begin_session(&session, function);
    session.wishes = (struct wishes){.properties = properties, .n_properties = 1, .memory_bytes = 1 << 20};
    assert_true(job_call_is_wanted(&session, 1000));
    assert_false(job_call_is_wanted(&session, 20));
    session.bound = true;
    assert_false(job_call_is_wanted(&session, 1000));
    if (job_call_write(path, &session, &error) != ESP_OK ||
        job_call_read(path, function, &call, &error) != ESP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    const struct value *values = call.invocation.values;
    assert_int_equal(call.invocation.n_values, 5);
    assert_int_equal(*(const int *)values[0].in, 3);
    assert_string_equal(values[2].in, "what it says");
    assert_memory_equal(values[3].in, session.invocation.values[3].in, 3 * sizeof(double));
    assert_null(values[4].in);
    for (int i = 0; i < 5; i++)
        assert_int_equal(values[i].bytes, session.invocation.values[i].bytes);
    assert_true(call.options.deadline_s == 5 && call.options.memory_bytes == 1 << 20);
    assert_string_equal(call.options.properties[0], "gpu");
    job_call_clear(&call);
    invocation_release(&session.invocation);
    function_release(function);
}

static void damaged_arguments_are_refused_and_do_no_harm(void **state)
{
    (void)state;
    struct function *function = make_function();
    struct session session;
    struct job_call call;
    struct esp_error error;
    char path[256];
    void *whole;
    uint64_t bytes;
    snprintf(path, sizeof path, "%s/call", folder);
    assert_int_equal(job_call_read(path, function, &call, &error), ESP_NOT_FOUND);
    begin_session(&session, function);
    assert_int_equal(job_call_write(path, &session, &error), ESP_OK);
    invocation_release(&session.invocation);
    assert_int_equal(contents_load(path, &whole, &bytes, &error), ESP_OK);
    for (uint64_t cut = 0; cut < bytes; cut++) {
        assert_int_equal(contents_save(path, whole, cut, &error), ESP_OK);
        assert_int_equal(job_call_read(path, function, &call, &error), ESP_SYNTAX);
    }
    for (uint64_t i = 0; i < bytes; i++) {
        const char was = ((char *)whole)[i];
        ((char *)whole)[i] = was == '9' ? 'x' : '9';
        assert_int_equal(contents_save(path, whole, bytes, &error), ESP_OK);
        if (job_call_read(path, function, &call, &error) == ESP_OK)
            job_call_clear(&call); /* another value */
        ((char *)whole)[i] = was;
    }
    free(whole);
    function_release(function);
}

static void without_room_no_arguments_are_left(void **state)
{
    (void)state;
    struct function *function = make_function();
    struct session session;
    struct esp_error error;
    begin_session(&session, function);
    assert_int_equal(job_call_write("/dev/full/call", &session, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "cannot keep the arguments of the job in /dev/full/call"));
    invocation_release(&session.invocation);
    function_release(function);
}

int main(void)
{
#define PLAIN(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        PLAIN(a_token_says_all_of_a_job),
        PLAIN(a_damaged_token_is_refused_and_does_no_harm),
        PLAIN(the_list_has_what_was_put_there),
        PLAIN(a_list_that_cannot_be_written_is_told),
        PLAIN(without_the_library_jobs_cannot_be_asked_after),
        PLAIN(a_job_that_was_called_again_keeps_its_id),
        PLAIN(an_end_is_known_until_the_job_is_forgotten),
        PLAIN(what_servers_say_of_an_end_is_noted_where_it_is_one),
        PLAIN(a_job_that_is_cancelled_is_that_whatever_became_of_its_server),
        PLAIN(what_a_job_was_called_with_is_kept),
        PLAIN(damaged_arguments_are_refused_and_do_no_harm),
        PLAIN(without_room_no_arguments_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
