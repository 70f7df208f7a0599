/* SPDX-License-Identifier: Apache-2.0
 *
 * The GridRPC API to the letter.
 */
#include "grpc_data.h"
#include "tests/unit/grpc_fixture.h"

#include <complex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- begin and end ---- */

static void nothing_works_before_initialize(void **state)
{
    (void)state;
    grpc_function_handle_t handle = {0}, *pointer;
    grpc_sessionid_t id = 1, other;
    double c;
    const grpc_error_t no = GRPC_NOT_INITIALIZED;
    assert_int_equal(grpc_finalize(), no);
    assert_int_equal(grpc_function_handle_default(&handle, "add"), no);
    assert_int_equal(grpc_function_handle_init(&handle, "s1", "add"), no);
    assert_int_equal(grpc_function_handle_destruct(&handle), no);
    assert_int_equal(grpc_get_handle(&pointer, id), no);
    assert_int_equal(grpc_call(&handle, 1.0, 2.0, &c), no);
    assert_int_equal(grpc_call_async(&handle, &id, 1.0, 2.0, &c), no);
    assert_int_equal(id, GRPC_SESSIONID_VOID);
    assert_int_equal(grpc_probe(1), no);
    assert_int_equal(grpc_probe_or(&id, 1, &other), no);
    assert_int_equal(grpc_cancel(1), no);
    assert_int_equal(grpc_cancel_all(), no);
    assert_int_equal(grpc_wait(1), no);
    assert_int_equal(grpc_wait_and(&id, 1), no);
    assert_int_equal(grpc_wait_or(&id, 1, &other), no);
    assert_int_equal(grpc_wait_all(), no);
    assert_int_equal(grpc_wait_any(&other), no);
    assert_int_equal(grpc_get_error(1), no);
    assert_int_equal(grpc_get_failed_sessionid(&other), no);
    assert_int_equal(other, GRPC_SESSIONID_VOID);
    assert_told("grpc_initialize()");
    assert_string_equal(grpc_error_string(GRPC_NO_ERROR), "no error");
}

static void initialize_and_finalize_alternate(void **state)
{
    (void)state;
    grpc_function_handle_t old = {0};
    grpc_sessionid_t id = 0;
    double c;
    for (int i = 0; i < 5; i++) {
        initialize();
        assert_int_equal(grpc_initialize(write_config("redirector = \"red:1\"\n")), GRPC_ALREADY_INITIALIZED);
        if (i > 0) {
            assert_int_equal(grpc_call(&old, 1.0, 2.0, &c), GRPC_INVALID_FUNCTION_HANDLE);
            assert_int_equal(grpc_probe(id), GRPC_INVALID_SESSION_ID);
        }
        old = make_handle("add");
        assert_int_equal(grpc_call_async(&old, &id, 1.0, 2.0, &c), GRPC_NO_ERROR);
        assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
        assert_int_equal(grpc_finalize(), GRPC_NOT_INITIALIZED);
    }
}

static void says_what_is_wrong_with_the_file(void **state)
{
    (void)state;
    assert_int_equal(grpc_initialize("/nowhere/client.conf"), GRPC_CONFIGFILE_NOT_FOUND);
    assert_told("/nowhere/client.conf");
    char *path = write_config("redirector = \"red:1\"\nredirekt = 3\n");
    assert_int_equal(grpc_initialize(path), GRPC_CONFIGFILE_ERROR);
    assert_told(":2");
    assert_int_equal(grpc_initialize(write_config("# nothing\n")), GRPC_CONFIGFILE_ERROR);
    setenv("ESPALIER_CONFIG", "/nowhere/else.conf", 1);
    assert_int_equal(grpc_initialize(NULL), GRPC_CONFIGFILE_NOT_FOUND);
    setenv("ESPALIER_CONFIG", write_config("redirector = \"red:1\"\n"), 1);
    assert_int_equal(grpc_initialize(NULL), GRPC_NO_ERROR);
    unsetenv("ESPALIER_CONFIG");
}

static void finalize_cancels_what_is_under_way(void **state)
{
    (void)state;
    grpc_function_handle_t handle = make_handle("sleep");
    grpc_sessionid_t ids[20];
    int waited[20];
    for (int i = 0; i < 20; i++)
        assert_int_equal(grpc_call_async(&handle, &ids[i], 3600000, &waited[i]), GRPC_NO_ERROR);
    while (fake_counters(fake).executions < 20)
        usleep(1000);
    assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    assert_true(fake_counters(fake).cancels >= 20);
    assert_int_equal(fake_counters(fake).sessions, 0);
}

static void *make_a_handle(void *arg)
{
    grpc_function_handle_t handle;
    *(grpc_error_t *)arg = grpc_function_handle_default(&handle, (char *)"add");
    return NULL;
}

/* All calls ask for the masters, and one gets the answer first. */
static void threads_may_begin_together(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        pthread_t threads[6];
        grpc_error_t codes[6];
        initialize();
        for (int i = 0; i < 6; i++)
            pthread_create(&threads[i], NULL, make_a_handle, &codes[i]);
        for (int i = 0; i < 6; i++)
            pthread_join(threads[i], NULL);
        for (int i = 0; i < 6; i++)
            assert_int_equal(codes[i], GRPC_NO_ERROR);
        assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    }
}

static void *call_for_ever(void *arg)
{
    int waited;
    *(grpc_error_t *)arg = GRPC_NO_ERROR;
    grpc_function_handle_t handle = make_handle("sleep");
    *(grpc_error_t *)arg = grpc_call(&handle, 3600000, &waited);
    return NULL;
}

static void finalize_ends_blocking_calls_of_other_threads(void **state)
{
    (void)state;
    pthread_t threads[3];
    grpc_error_t codes[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, call_for_ever, &codes[i]);
    while (fake_counters(fake).awaits < 1 || fake_counters(fake).executions < 3)
        usleep(1000);
    assert_int_equal(grpc_finalize(), GRPC_NO_ERROR);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(codes[i], GRPC_SESSION_FAILED);
    }
}

static void a_forked_child_cannot_go_on_with_what_its_parent_has(void **state)
{
    (void)state;
    grpc_function_handle_t handle = make_handle("add");
    double c = 0;
    pid_t child = fork();
    if (child == 0) {
        bool right = grpc_call(&handle, 1.0, 2.0, &c) == GRPC_OTHER_ERROR_CODE &&
                     strstr(esp_last_error()->text, "forked") && grpc_wait_all() == GRPC_OTHER_ERROR_CODE &&
                     grpc_finalize() == GRPC_OTHER_ERROR_CODE;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(grpc_call(&handle, 1.0, 2.0, &c), GRPC_NO_ERROR);
}

/* ---- handles ---- */

static void an_unknown_function_is_reported_when_its_handle_is_made(void **state)
{
    (void)state;
    grpc_function_handle_t handle = {7, 7};
    assert_int_equal(grpc_function_handle_default(&handle, "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
    assert_int_equal(handle.esp_number, 7);
    assert_int_equal(grpc_function_handle_init(&handle, "s1:1", "frobnicate"), GRPC_FUNCTION_NOT_FOUND);
    assert_int_equal(grpc_function_handle_default(&handle, ""), GRPC_FUNCTION_NOT_FOUND);
}

static void a_description_is_asked_for_once(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        grpc_function_handle_t handle = make_handle("add");
        assert_int_equal(grpc_function_handle_destruct(&handle), GRPC_NO_ERROR);
    }
    assert_int_equal(fake_counters(fake).describes, 1);
    assert_int_equal(fake_counters(fake).locates, 1);
}

static void a_destructed_handle_is_invalid(void **state)
{
    (void)state;
    double c;
    grpc_sessionid_t id = 5;
    grpc_function_handle_t handle = make_handle("add"), copy = handle, garbage;
    assert_int_equal(grpc_function_handle_destruct(&handle), GRPC_NO_ERROR);
    assert_int_equal(grpc_call(&handle, 1.0, 2.0, &c), GRPC_INVALID_FUNCTION_HANDLE);
    assert_int_equal(grpc_call(&copy, 1.0, 2.0, &c), GRPC_INVALID_FUNCTION_HANDLE);
    assert_int_equal(grpc_call_async(&handle, &id, 1.0, 2.0, &c), GRPC_INVALID_FUNCTION_HANDLE);
    assert_int_equal(id, GRPC_SESSIONID_VOID);
    assert_int_equal(grpc_function_handle_destruct(&handle), GRPC_INVALID_FUNCTION_HANDLE);
    memset(&garbage, 0x5a, sizeof garbage);
    assert_int_equal(grpc_call(&garbage, 1.0, 2.0, &c), GRPC_INVALID_FUNCTION_HANDLE);
    assert_int_equal(grpc_call(NULL, 1.0, 2.0, &c), GRPC_INVALID_FUNCTION_HANDLE);
}

static void a_bound_handle_goes_to_its_server_without_asking(void **state)
{
    (void)state;
    double c;
    grpc_function_handle_t by_name, by_address, nobody;
    struct esp_session_info *info;
    assert_int_equal(grpc_function_handle_init(&by_name, "s3", "add"), GRPC_NO_ERROR);
    assert_int_equal(grpc_function_handle_init(&by_address, "s2:1", "add"), GRPC_NO_ERROR);
    assert_int_equal(grpc_call(&by_name, 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_int_equal(esp_last_session_info(&info), ESP_OK);
    assert_string_equal(info->server, "s3");
    esp_session_info_free(info);
    assert_int_equal(grpc_call(&by_address, 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_int_equal(esp_last_session_info(&info), ESP_OK);
    assert_string_equal(info->server, "s2:1");
    esp_session_info_free(info);
    assert_int_equal(fake_counters(fake).submits, 0);
    assert_int_equal(grpc_function_handle_init(&nobody, "s9", "add"), GRPC_SERVER_NOT_FOUND);
    assert_int_equal(grpc_function_handle_init(&nobody, "s9:1", "add"), GRPC_SERVER_NOT_FOUND);
    const char *const others[] = {"ma1", "ma1:1", "red:1", "host:", "a/b:1", "", ":"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(grpc_function_handle_init(&nobody, (char *)others[i], "add"), GRPC_SERVER_NOT_FOUND);
        assert_told(others[i]);
    }
    assert_int_equal(grpc_function_handle_init(&nobody, "ma1:1", "add"), GRPC_SERVER_NOT_FOUND);
    assert_told("is a master agent: expected a server");
    assert_int_equal(grpc_function_handle_init(&nobody, "s2:1", "nothing"), GRPC_FUNCTION_NOT_FOUND);
    fake_set(fake, "s2:1", &(struct fake_faults){.stopped = true});
    assert_int_equal(grpc_function_handle_init(&nobody, "s2:1", "scale"), GRPC_SERVER_NOT_FOUND);
    assert_told("no Espalier daemon answers at s2:1");
}

static void get_handle_gives_back_the_handle_itself(void **state)
{
    (void)state;
    double c[2];
    grpc_sessionid_t ids[2];
    grpc_function_handle_t first = make_handle("add"), second = make_handle("add"), *found;
    assert_int_equal(grpc_call_async(&first, &ids[0], 1.0, 2.0, &c[0]), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_async(&second, &ids[1], 1.0, 2.0, &c[1]), GRPC_NO_ERROR);
    assert_int_equal(grpc_get_handle(&found, ids[0]), GRPC_NO_ERROR);
    assert_ptr_equal(found, &first);
    assert_int_equal(grpc_wait_all(), GRPC_NO_ERROR);
    assert_int_equal(grpc_get_handle(&found, ids[1]), GRPC_NO_ERROR);
    assert_ptr_equal(found, &second);
    assert_int_equal(grpc_function_handle_destruct(&second), GRPC_NO_ERROR);
    assert_int_equal(grpc_get_handle(&found, ids[1]), GRPC_INVALID_FUNCTION_HANDLE);
    assert_null(found);
    assert_int_equal(grpc_get_handle(&found, 2000000000), GRPC_INVALID_SESSION_ID);
    assert_int_equal(grpc_get_handle(NULL, ids[1]), GRPC_OTHER_ERROR_CODE);
}

/* ---- arguments ---- */

static void every_type_arrives(void **state)
{
    (void)state;
    grpc_function_handle_t handle = make_handle("kinds");
    double sum = 0;
    char *echo = NULL;
    short n = 21;
    float complex z = 0.5F + 0.25F * I;
    double complex w = 1000.0 + 2000.0 * I;
    assert_int_equal(grpc_call(&handle, 'A', -3, 100000, 4000000000L, (int64_t)-5, 0.5, 0.125, z, w, "grüezi",
                               &sum, &echo, &n),
                     GRPC_NO_ERROR);
    double expected = 65 - 3 + 100000 + 4e9 - 5 + 0.5 + 0.125 + 0.75 + 3000;
    assert_true(sum == expected);
    assert_string_equal(echo, "grüezi");
    assert_int_equal(n, 42);
    free(echo);
}

/* C passes them as ints: what does not fit would arrive as another number. */
static void numbers_too_large_for_their_type_are_refused(void **state)
{
    (void)state;
    static const struct {
        int character, number;
        const char *text;
    } wrong[] = {{'A', 40000, "(short): expected a number from -32768 to 32767, found 40000"},
                 {'A', -32769, "found -32769"},
                 {256, 0, "(char): expected a number from -128 to 255, found 256"}};
    grpc_function_handle_t handle = make_handle("kinds");
    double sum = 0;
    char *echo = NULL;
    short n = 21;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_not_equal(grpc_call(&handle, wrong[i].character, wrong[i].number, 1, 1L, (int64_t)1, 0.5,
                                       0.5, (float complex)0, (double complex)0, "x", &sum, &echo, &n),
                             GRPC_NO_ERROR);
        assert_non_null(strstr(esp_last_error()->text, wrong[i].text));
    }
    assert_int_equal(grpc_call(&handle, 200, -32768, 1, 1L, (int64_t)1, 0.5, 0.5, (float complex)0,
                               (double complex)0, "x", &sum, &echo, &n),
                     GRPC_NO_ERROR);
    free(echo);
}

static void a_null_output_is_not_wanted(void **state)
{
    (void)state;
    grpc_function_handle_t copy = make_handle("copy"), add = make_handle("add");
    double x[3] = {1, 2, 3}, y[3] = {0}, sum = 0;
    assert_int_equal(grpc_call(&copy, 3, x, NULL, &sum), GRPC_NO_ERROR);
    assert_true(sum == 6);
    assert_int_equal(grpc_call(&copy, 3, x, y, NULL), GRPC_NO_ERROR);
    assert_true(y[2] == 3);
    assert_int_equal(grpc_call(&add, 1.0, 2.0, NULL), GRPC_NO_ERROR);
}

static void empty_arrays_are_valid(void **state)
{
    (void)state;
    grpc_function_handle_t scale = make_handle("scale"), copy = make_handle("copy");
    double x = 7, sum = 5;
    assert_int_equal(grpc_call(&scale, 0, 2.0, NULL), GRPC_NO_ERROR);
    assert_int_equal(grpc_call(&scale, 0, 2.0, &x), GRPC_NO_ERROR);
    assert_true(x == 7);
    assert_int_equal(grpc_call(&copy, 0, NULL, NULL, &sum), GRPC_NO_ERROR);
    assert_true(sum == 0);
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    grpc_function_handle_t scale = make_handle("scale");
    grpc_sessionid_t id;
    double x[2] = {1, 2};
    assert_int_equal(grpc_call(&scale, 2, 2.0, NULL), GRPC_SESSION_FAILED);
    assert_told("\"x\"");
    assert_told("found a null pointer");
    assert_told("this one is an input too");
    assert_int_equal(grpc_call(&scale, -1, 2.0, x), GRPC_SESSION_FAILED);
    assert_told("n >= 0");
    assert_int_equal(grpc_call_async(&scale, &id, -1, 2.0, x), GRPC_SESSION_FAILED);
    assert_int_equal(id, GRPC_SESSIONID_VOID);
    assert_int_equal(fake_counters(fake).calls, 0);
    assert_int_equal(grpc_call(&scale, 2, 10.0, x), GRPC_NO_ERROR);
    assert_true(x[0] == 10 && x[1] == 20);
}

static void files_are_read_and_written(void **state)
{
    (void)state;
    char from[] = "/tmp/espalier-from.XXXXXX", to[] = "/tmp/espalier-to.XXXXXX", text[32] = {0};
    int fd = mkstemp(from);
    assert_int_equal(write(fd, "three\0words", 11), 11);
    close(fd);
    close(mkstemp(to));
    grpc_function_handle_t filter = make_handle("filter");
    assert_int_equal(grpc_call(&filter, from, to), GRPC_NO_ERROR);
    FILE *file = fopen(to, "r");
    assert_int_equal(fread(text, 1, sizeof text, file), 11);
    fclose(file);
    assert_memory_equal(text, "three\0words", 11);
    unlink(from);
    unlink(to);
    assert_int_equal(grpc_call(&filter, from, to), GRPC_SESSION_FAILED);
    assert_told(from);
}

/* ---- sessions ---- */

static void a_session_id_that_never_was_is_invalid(void **state)
{
    (void)state;
    grpc_sessionid_t ids[] = {0, GRPC_SESSIONID_VOID, -7, 2000000000}, found;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(grpc_probe(ids[i]), GRPC_INVALID_SESSION_ID);
        assert_int_equal(grpc_wait(ids[i]), GRPC_INVALID_SESSION_ID);
        assert_int_equal(grpc_cancel(ids[i]), GRPC_INVALID_SESSION_ID);
        assert_int_equal(grpc_get_error(ids[i]), GRPC_INVALID_SESSION_ID);
        assert_int_equal(grpc_wait_and(&ids[i], 1), GRPC_INVALID_SESSION_ID);
        assert_int_equal(grpc_wait_or(&ids[i], 1, &found), GRPC_INVALID_SESSION_ID);
        assert_int_equal(found, GRPC_SESSIONID_VOID);
        assert_int_equal(grpc_probe_or(&ids[i], 1, &found), GRPC_INVALID_SESSION_ID);
    }
}

static void probes_tell_without_waiting(void **state)
{
    (void)state;
    grpc_function_handle_t sleep = make_handle("sleep"), add = make_handle("add");
    grpc_sessionid_t ids[2], found = 1;
    int waited;
    double c;
    assert_int_equal(grpc_call_async(&sleep, &ids[0], 3600000, &waited), GRPC_NO_ERROR);
    assert_int_equal(grpc_probe(ids[0]), GRPC_NOT_COMPLETED);
    assert_int_equal(grpc_get_error(ids[0]), GRPC_NO_ERROR);
    assert_int_equal(grpc_probe_or(ids, 1, &found), GRPC_NONE_COMPLETED);
    assert_int_equal(found, GRPC_SESSIONID_VOID);
    assert_int_equal(grpc_probe_or(ids, 0, &found), GRPC_NONE_COMPLETED);
    assert_int_equal(grpc_call_async(&add, &ids[1], 1.0, 2.0, &c), GRPC_NO_ERROR);
    while (grpc_probe(ids[1]) == GRPC_NOT_COMPLETED)
        usleep(500);
    assert_int_equal(grpc_probe_or(ids, 2, &found), GRPC_NO_ERROR);
    assert_int_equal(found, ids[1]);
    assert_true(c == 3);
    assert_int_equal(grpc_cancel(ids[0]), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(ids[0]), GRPC_SESSION_FAILED);
}

static void a_cancelled_session_failed_and_its_computation_stops(void **state)
{
    (void)state;
    grpc_function_handle_t sleep = make_handle("sleep");
    grpc_sessionid_t id, all[3];
    int waited[4];
    assert_int_equal(grpc_call_async(&sleep, &id, 3600000, &waited[3]), GRPC_NO_ERROR);
    while (fake_counters(fake).executions < 1)
        usleep(500);
    assert_int_equal(grpc_cancel(id), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(id), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_get_error(id), GRPC_SESSION_FAILED);
    assert_int_equal(esp_last_error()->status, ESP_CANCELLED);
    assert_true(fake_counters(fake).cancels >= 1);
    assert_int_equal(grpc_cancel(id), GRPC_NO_ERROR);
    for (int i = 0; i < 3; i++)
        assert_int_equal(grpc_call_async(&sleep, &all[i], 3600000, &waited[i]), GRPC_NO_ERROR);
    assert_int_equal(grpc_cancel_all(), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_and(all, 3), GRPC_SESSION_FAILED);
}

static void waiting_for_one_of_several(void **state)
{
    (void)state;
    grpc_function_handle_t sleep = make_handle("sleep");
    grpc_sessionid_t ids[3], found;
    int waited[3];
    assert_int_equal(grpc_call_async(&sleep, &ids[0], 3600000, &waited[0]), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_async(&sleep, &ids[1], 100, &waited[1]), GRPC_NO_ERROR);
    assert_int_equal(grpc_call_async(&sleep, &ids[2], 3600000, &waited[2]), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_or(ids, 3, &found), GRPC_NO_ERROR);
    assert_int_equal(found, ids[1]);
    assert_int_equal(waited[1], 100);
    assert_int_equal(grpc_wait_or(ids, 0, &found), GRPC_NO_ERROR);
    assert_int_equal(found, GRPC_SESSIONID_VOID);
    assert_int_equal(grpc_cancel_all(), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_all(), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_wait_all(), GRPC_NO_ERROR);
}

static void wait_any_gives_each_session_once(void **state)
{
    (void)state;
    enum { N = 40 };
    grpc_function_handle_t add = make_handle("add");
    grpc_sessionid_t ids[N], found;
    double c[N];
    bool seen[N] = {false};
    for (int i = 0; i < N; i++)
        assert_int_equal(grpc_call_async(&add, &ids[i], (double)i, 1.0, &c[i]), GRPC_NO_ERROR);
    for (int i = 0; i < N; i++) {
        assert_int_equal(grpc_wait_any(&found), GRPC_NO_ERROR);
        int k = 0;
        while (k < N && ids[k] != found)
            k++;
        assert_true(k < N && !seen[k]);
        seen[k] = true;
        assert_true(c[k] == k + 1);
    }
    assert_int_equal(grpc_wait_any(&found), GRPC_NO_ERROR);
    assert_int_equal(found, GRPC_SESSIONID_VOID);
    assert_int_equal(grpc_wait(ids[0]), GRPC_NO_ERROR);
}

static void failed_sessions_come_one_by_one(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add"), fail = make_handle("fail");
    grpc_sessionid_t ids[5], failed[3];
    double c;
    int x;
    assert_int_equal(grpc_get_failed_sessionid(&failed[0]), GRPC_NO_ERROR);
    assert_int_equal(failed[0], GRPC_SESSIONID_VOID);
    for (int i = 0; i < 5; i++)
        assert_int_equal(i % 2 ? grpc_call_async(&fail, &ids[i], i, &x)
                               : grpc_call_async(&add, &ids[i], 1.0, 2.0, &c),
                         GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_all(), GRPC_SESSION_FAILED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(grpc_get_failed_sessionid(&failed[i]), GRPC_NO_ERROR);
    assert_true((failed[0] == ids[1] && failed[1] == ids[3]) || (failed[0] == ids[3] && failed[1] == ids[1]));
    assert_int_equal(failed[2], GRPC_SESSIONID_VOID);
    assert_int_equal(grpc_get_error(ids[3]), GRPC_SESSION_FAILED);
    assert_told("U(3,3) is exactly zero");
    assert_int_equal(grpc_get_error(ids[0]), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(ids[3]), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_call(&fail, 9, &x), GRPC_SESSION_FAILED);
    assert_told("U(9,9)");
}

static void of_sessions_that_were_told_of_the_end_stays_known(void **state)
{
    (void)state;
    enum { MORE = 4096 };
    grpc_function_handle_t add = make_handle("add");
    grpc_sessionid_t first, id;
    double c;
    assert_int_equal(grpc_call_async(&add, &first, 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(first), GRPC_NO_ERROR);
    for (int i = 0; i < MORE; i++) {
        assert_int_equal(grpc_probe(first), GRPC_NO_ERROR);
        assert_int_equal(grpc_call_async(&add, &id, 1.0, 2.0, &c), GRPC_NO_ERROR);
        assert_int_equal(grpc_wait(id), GRPC_NO_ERROR);
        assert_true(id > first);
    }
    grpc_function_handle_t *handle = &add;
    struct esp_session_info *info;
    assert_int_equal(grpc_get_handle(&handle, first), GRPC_INVALID_SESSION_ID);
    assert_null(handle);
    assert_int_equal(esp_session_info_get(first, &info), ESP_NOT_FOUND);
    assert_int_equal(grpc_get_handle(&handle, id), GRPC_NO_ERROR);
    assert_true(fake_counters(fake).sessions < 40);
    /* How it ended stays known. */
    assert_int_equal(grpc_probe(first), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait(first), GRPC_NO_ERROR);
    assert_int_equal(grpc_get_error(first), GRPC_NO_ERROR);
    assert_int_equal(grpc_cancel(first), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_or(&first, 1, &first), GRPC_NO_ERROR);
    assert_int_equal(grpc_probe(id + 1), GRPC_INVALID_SESSION_ID);
    assert_int_equal(grpc_wait(first - 1), GRPC_INVALID_SESSION_ID); /* of an earlier life */
}

/* More than are kept, with one wait. */
static void thousands_of_failed_sessions_stay_known(void **state)
{
    (void)state;
    enum { N = 6000 };
    static grpc_sessionid_t ids[N];
    static int x[N];
    static double c[N];
    grpc_function_handle_t add = make_handle("add"), fail = make_handle("fail");
    grpc_sessionid_t failed, found;
    for (int i = 0; i < N; i++)
        assert_int_equal(i % 4 ? grpc_call_async(&fail, &ids[i], i % 100, &x[i])
                               : grpc_call_async(&add, &ids[i], 1.0, 2.0, &c[i]),
                         GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_and(ids, N), GRPC_SESSION_FAILED);
    for (int i = 0; i < N; i++) {
        char text[64];
        snprintf(text, sizeof text, "U(%d,%d) is exactly zero", i % 100, i % 100);
        assert_int_equal(grpc_get_error(ids[i]), i % 4 ? GRPC_SESSION_FAILED : GRPC_NO_ERROR);
        if (i % 4)
            assert_told(text);
    }
    assert_int_equal(grpc_wait_and(ids, N), GRPC_SESSION_FAILED);
    assert_int_equal(grpc_wait_or(ids, N, &found), GRPC_NO_ERROR); /* the first of those that ended: add */
    assert_int_equal(grpc_wait(ids[1]), GRPC_SESSION_FAILED);
    assert_told("U(1,1)");
    for (int n = 0; n < N / 4 * 3; n++) {
        assert_int_equal(grpc_get_failed_sessionid(&failed), GRPC_NO_ERROR);
        int i = failed - ids[0];
        assert_true(i > 0 && i < N && i % 4 && x[i] != -1);
        x[i] = -1; /* once */
    }
    assert_int_equal(grpc_get_failed_sessionid(&failed), GRPC_NO_ERROR);
    assert_int_equal(failed, GRPC_SESSIONID_VOID);
}

/* The program learns nothing of failures that the library made up for. */
static void *look_at_the_last_error(void *unused)
{
    (void)unused;
    double c = 0;
    grpc_function_handle_t add = make_handle("add"), nothing;
    fake_set(fake, "s1:1", &(struct fake_faults){.dead = true});
    fake_set(fake, "ma1:1", &(struct fake_faults){.dead = true});
    assert_int_equal(grpc_call(&add, 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_int_equal(esp_last_error()->status, ESP_OK);
    assert_string_equal(esp_last_error()->text, "");
    fake_set(fake, "ma1:1", &(struct fake_faults){0}); /* while a master is away, nothing is unknown */
    assert_int_equal(grpc_function_handle_default(&nothing, "nothing"), GRPC_FUNCTION_NOT_FOUND);
    assert_int_equal(grpc_call(&add, 1.0, 2.0, &c), GRPC_NO_ERROR);
    assert_int_equal(esp_last_error()->status, ESP_UNKNOWN_PROBLEM);
    assert_told("nobody can solve that");
    return NULL;
}

static void the_last_error_is_that_of_the_last_function_that_failed(void **state)
{
    (void)state;
    pthread_t fresh; /* nothing has failed there yet */
    assert_int_equal(pthread_create(&fresh, NULL, look_at_the_last_error, NULL), 0);
    pthread_join(fresh, NULL);
}

static void null_pointers_are_refused(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    grpc_sessionid_t id = 1;
    double c;
    const grpc_error_t other = GRPC_OTHER_ERROR_CODE;
    assert_int_equal(grpc_function_handle_default(NULL, "add"), other);
    assert_int_equal(grpc_function_handle_default(&add, NULL), other);
    assert_int_equal(grpc_call_async(&add, NULL, 1.0, 2.0, &c), other);
    assert_int_equal(grpc_probe_or(NULL, 1, &id), other);
    assert_int_equal(grpc_probe_or(&id, 1, NULL), other);
    assert_int_equal(grpc_wait_or(NULL, 1, &id), other);
    assert_int_equal(grpc_wait_and(NULL, 1), other);
    assert_int_equal(grpc_wait_and(NULL, 0), GRPC_NO_ERROR);
    assert_int_equal(grpc_wait_any(NULL), other);
    assert_int_equal(grpc_get_failed_sessionid(NULL), other);
}

static void a_thread_that_is_out_of_time_is_told_so(void **state)
{
    (void)state;
    struct esp_problem *problem = NULL;
    const int64_t before = esp_deadline_begin(1e-9);
    assert_int_equal(esp_problem_describe("add", &problem), ESP_TIMEOUT);
    esp_deadline_end(before);
    assert_int_equal(esp_problem_describe("add", &problem), ESP_OK);
    assert_null(problem->signatures);
    esp_problem_free(problem);
}

static void only_abstract_problems_have_runs(void **state)
{
    (void)state;
    struct esp_problem *problem = NULL;
    struct esp_run *run = NULL;
    assert_int_equal(esp_problem_describe("add", &problem), ESP_OK);
    assert_int_equal(esp_run_create(problem, NULL, &run), ESP_INVALID);
    assert_told("expected an abstract problem, found add");
    assert_null(run);
    assert_int_equal(esp_run_create(NULL, NULL, &run), ESP_INVALID);
    assert_int_equal(esp_run_execute(NULL, NULL, 0), ESP_INVALID);
    esp_run_destroy(NULL);
    esp_problem_free(problem);
}

static void a_vector_that_is_no_call_fits_nowhere(void **state)
{
    (void)state;
    struct esp_problem *problem = NULL;
    const struct esp_argument one[1] = {0};
    assert_int_equal(esp_problem_describe("add", &problem), ESP_OK);
    assert_int_equal(esp_arguments_fit(problem, one, 1), ESP_INVALID);
    assert_int_equal(esp_arguments_fit(NULL, one, 1), ESP_INVALID);
    esp_problem_free(problem);
}

static void every_code_has_its_number_and_its_text(void **state)
{
    (void)state;
    assert_int_equal(GRPC_SESSIONID_VOID, -1);
    assert_int_equal(GRPC_NONE_COMPLETED, 13);
    assert_int_equal(GRPC_OTHER_ERROR_CODE, 18);
    assert_int_equal(GRPC_LAST_ERROR_CODE, 20);
    const char *unknown = grpc_error_string(GRPC_UNKNOWN_ERROR_CODE);
    for (int code = 0; code <= GRPC_NONE_COMPLETED; code++)
        assert_string_not_equal(grpc_error_string((grpc_error_t)code), unknown);
    assert_string_equal(grpc_error_string(GRPC_INVALID_DATA), "invalid data (never made, or freed)");
    assert_string_equal(unknown, "GRPC_UNKNOWN_ERROR_CODE");
    assert_string_equal(grpc_error_string(14), unknown);
    assert_string_equal(grpc_error_string(-5), unknown);
    assert_string_equal(grpc_error_string(99), unknown);
}

/* ---- threads ---- */

static void *call_many(void *arg)
{
    grpc_function_handle_t *handle = arg;
    for (int i = 0; i < 300; i++) {
        double c = 0;
        grpc_sessionid_t id;
        if (i % 3) {
            assert_int_equal(grpc_call(handle, (double)i, 1.0, &c), GRPC_NO_ERROR);
        } else {
            assert_int_equal(grpc_call_async(handle, &id, (double)i, 1.0, &c), GRPC_NO_ERROR);
            assert_int_equal(grpc_wait(id), GRPC_NO_ERROR);
        }
        assert_true(c == i + 1);
    }
    return NULL;
}

static void threads_may_share_a_handle(void **state)
{
    (void)state;
    grpc_function_handle_t add = make_handle("add");
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, call_many, &add);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(fake_counters(fake).executions, 8 * 300);
    assert_int_equal(fake_counters(fake).describes, 1);
}

static unsigned count_threads(void)
{
    char line[128];
    unsigned n = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Threads: %u", &n) == 1)
            break;
    if (file)
        fclose(file);
    return n;
}

static void blocking_calls_make_no_threads(void **state)
{
    (void)state;
    unsigned before = count_threads();
    grpc_function_handle_t sleep = make_handle("sleep"), scale = make_handle("scale");
    size_t n = 900000;
    double *x = calloc(n, sizeof *x);
    int waited;
    assert_int_equal(grpc_call(&sleep, 120, &waited), GRPC_NO_ERROR);
    assert_int_equal(grpc_call(&scale, (int)n, 2.0, x), GRPC_NO_ERROR);
    free(x);
    assert_int_equal(count_threads(), before);
}

#define in_library(test) cmocka_unit_test_setup_teardown(test, set_up_library, tear_down)
#define outside(test)    cmocka_unit_test_setup_teardown(test, set_up_fake, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        outside(nothing_works_before_initialize),
        outside(initialize_and_finalize_alternate),
        outside(says_what_is_wrong_with_the_file),
        outside(threads_may_begin_together),
        in_library(blocking_calls_make_no_threads),
        in_library(finalize_cancels_what_is_under_way),
        in_library(finalize_ends_blocking_calls_of_other_threads),
        in_library(a_forked_child_cannot_go_on_with_what_its_parent_has),
        in_library(an_unknown_function_is_reported_when_its_handle_is_made),
        in_library(a_description_is_asked_for_once),
        in_library(a_destructed_handle_is_invalid),
        in_library(a_bound_handle_goes_to_its_server_without_asking),
        in_library(get_handle_gives_back_the_handle_itself),
        in_library(every_type_arrives),
        in_library(numbers_too_large_for_their_type_are_refused),
        in_library(a_null_output_is_not_wanted),
        in_library(empty_arrays_are_valid),
        in_library(wrong_arguments_are_named),
        in_library(files_are_read_and_written),
        in_library(a_session_id_that_never_was_is_invalid),
        in_library(probes_tell_without_waiting),
        in_library(a_cancelled_session_failed_and_its_computation_stops),
        in_library(waiting_for_one_of_several),
        in_library(wait_any_gives_each_session_once),
        in_library(failed_sessions_come_one_by_one),
        in_library(of_sessions_that_were_told_of_the_end_stays_known),
        in_library(thousands_of_failed_sessions_stay_known),
        in_library(the_last_error_is_that_of_the_last_function_that_failed),
        in_library(null_pointers_are_refused),
        in_library(a_thread_that_is_out_of_time_is_told_so),
        in_library(only_abstract_problems_have_runs),
        in_library(a_vector_that_is_no_call_fits_nowhere),
        in_library(every_code_has_its_number_and_its_text),
        in_library(threads_may_share_a_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
