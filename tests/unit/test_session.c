/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "sed/sessions/session.h"

#include <stdlib.h>

static const char text[] = "problem p \"test\"\n"
                           "    in      int     n\n"
                           "    in      string  name\n"
                           "    inout   double  x[n]\n"
                           "    work    double  w[2*n]\n"
                           "implementation c\n"
                           "    c p(n, name, x, w) in libp.so\n";

static struct problem_set *set;
static struct sessions sessions;

static int open_set(void **state)
{
    (void)state;
    assert_int_equal(problem_parse(text, strlen(text), "p.esp", &set, NULL), ESP_OK);
    sessions = (struct sessions){0};
    return 0;
}

static int close_set(void **state)
{
    (void)state;
    sessions_clear(&sessions);
    problem_set_destroy(set);
    return 0;
}

static struct session *make(uint64_t client, uint64_t sequence, int32_t n, const double *x)
{
    struct call_argument arguments[] = {
        {0, KIND_INLINE, 4, (const uint8_t *)&n, 4},
        {1, KIND_INLINE, 6, (const uint8_t *)"Louis", 6},
        {2, KIND_INLINE, 8 * (uint64_t)n, (const uint8_t *)x, 8 * (uint32_t)n},
    };
    struct call_request call = {
        .session = {client, 7, sequence, 99}, .arguments = arguments, .n_arguments = 3};
    struct call_plan plan;
    struct session *session;
    struct esp_error error = {0};
    if (call_plan_make(set->problems[0], &call, &plan, &error) != ESP_OK)
        fail_msg("%s", error.text);
    struct client *owner = client_get(&sessions, client, 7, 1);
    assert_int_equal(session_create(&sessions, owner, &call.session, &plan, &session, &error), ESP_OK);
    return session;
}

static void drop(struct session *session)
{
    session_detach(&sessions, session);
    session_free(&sessions, session);
}

static void values_are_copied_out_of_the_call(void **state)
{
    (void)state;
    double x[3] = {1, 2, 3};
    struct session *session = make(1, 1, 3, x);
    x[0] = 0;
    const struct job_argument *arguments = session->job.arguments;
    assert_int_equal(*(const int32_t *)arguments[0].data, 3);
    assert_true(((const double *)arguments[2].data)[0] == 1);
    assert_int_equal(arguments[3].bytes, 48); /* work: scratch memory of the worker */
    assert_null(arguments[3].data);
    assert_true(arguments[3].writable && arguments[2].writable && !arguments[0].writable);
    session_trim_texts(session);
    assert_int_equal(arguments[1].bytes, 5); /* without its NUL */
}

static void sessions_are_found_by_client_and_sequence(void **state)
{
    (void)state;
    double x[1] = {1};
    struct session *one = make(1, 1, 1, x), *two = make(1, 2, 1, x), *other = make(2, 1, 1, x);
    struct session_id id = {1, 7, 2, 0};
    assert_ptr_equal(session_find(&sessions, &id), two);
    id.client_high = 2;
    assert_null(session_find(&sessions, &id));
    id.sequence = 1;
    assert_ptr_equal(session_find(&sessions, &id), other);
    id.client_low = 8;
    assert_null(session_find(&sessions, &id));
    assert_int_equal(one->client->n_sessions, 2);
    drop(two);
    id = two->id;
    assert_null(session_find(&sessions, &id));
    assert_int_equal(sessions.n_sessions, 2);
}

static void the_memory_of_small_sessions_is_used_again(void **state)
{
    (void)state;
    double x[1] = {1};
    struct session *first = make(1, 1, 1, x);
    const char *block = first->block;
    drop(first);
    struct session *second = make(1, 2, 1, x);
    assert_ptr_equal(second, first);
    assert_ptr_equal(second->block, block);
    assert_int_equal(second->id.sequence, 2);
}

static void large_values_lie_in_a_segment(void **state)
{
    (void)state;
    enum { N = 10000 };
    double *x = malloc(N * sizeof *x);
    for (int i = 0; i < N; i++)
        x[i] = i;
    struct session *session = make(1, 1, N, x);
    assert_true(session->job.arguments[2].in_segment);
    assert_true(session->job.arguments[3].in_segment); /* work too */
    assert_false(session->job.arguments[1].in_segment);
    assert_null(session_argument_data(session, 2));
    struct segment segment = {.fd = 3, .bytes = session->segment_bytes};
    segment.data = calloc(1, session->segment_bytes);
    session_attach_segment(session, &segment);
    assert_memory_equal(session_argument_data(session, 2), x, N * sizeof *x);
    assert_null(session->stash);
    session->segment = NULL;
    free(segment.data);
    free(x);
}

static void clients_that_are_gone_are_forgotten(void **state)
{
    (void)state;
    double x[1] = {1};
    struct session *session = make(1, 1, 1, x);
    client_get(&sessions, 2, 7, 5);
    client_get(&sessions, 3, 7, 20);
    assert_int_equal(clients_expire(&sessions, 16, 10), 30); /* the next to go */
    assert_null(client_find(&sessions, 2, 7));
    assert_non_null(client_find(&sessions, 3, 7));
    assert_non_null(client_find(&sessions, 1, 7)); /* has a session */
    drop(session);
    assert_int_equal(clients_expire(&sessions, 100, 10), CLOCK_NEVER);
    assert_int_equal(sessions.n_clients, 0);
}

static void clients_without_sessions_are_capped(void **state)
{
    (void)state;
    double x[1] = {1};
    make(1, 1, 1, x);
    for (uint64_t i = 0; i < 3 * SESSIONS_MOST_RESTING; i++)
        assert_non_null(client_get(&sessions, 100 + i, 7, (int64_t)i));
    assert_true(sessions.n_clients <= SESSIONS_MOST_RESTING + 1);
    assert_non_null(client_find(&sessions, 1, 7));
    assert_non_null(client_find(&sessions, 100 + 3 * SESSIONS_MOST_RESTING - 1, 7));
    assert_null(client_find(&sessions, 100, 7));
}

/* The description decides whether an array may be left out, and not the caller. */
static void only_what_is_not_read_may_stay_away(void **state)
{
    (void)state;
    static const char signature[] =
        "problem p \"t\"\nin int beta\ninout double C[2] unread(beta == 0) finite\n";
    struct problem_set *own = NULL;
    struct esp_error error = {0};
    struct call_plan plan;
    assert_int_equal(problem_parse(signature, strlen(signature), "p.esp", &own, &error), ESP_OK);
    for (int32_t beta = 0; beta < 2; beta++)
        for (uint32_t kind = KIND_ABSENT; kind <= KIND_WANTED; kind += KIND_WANTED - KIND_ABSENT) {
            struct call_argument arguments[] = {{0, KIND_INLINE, 4, (const uint8_t *)&beta, 4},
                                                {1, kind, 0, NULL, 0}};
            struct call_request call = {.arguments = arguments, .n_arguments = 2};
            enum esp_status status = call_plan_make(own->problems[0], &call, &plan, &error);
            assert_int_equal(status, beta == 0 ? ESP_OK : ESP_INVALID);
            if (beta != 0) {
                assert_string_equal(error.text, "p: the input C (16 bytes) is missing");
                continue;
            }
            assert_true(plan.arguments[1].blank);
            assert_int_equal(plan.arguments[1].bytes, 16);
        }
    problem_set_destroy(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_are_copied_out_of_the_call, open_set, close_set),
        cmocka_unit_test_setup_teardown(sessions_are_found_by_client_and_sequence, open_set, close_set),
        cmocka_unit_test_setup_teardown(the_memory_of_small_sessions_is_used_again, open_set, close_set),
        cmocka_unit_test_setup_teardown(large_values_lie_in_a_segment, open_set, close_set),
        cmocka_unit_test_setup_teardown(clients_that_are_gone_are_forgotten, open_set, close_set),
        cmocka_unit_test_setup_teardown(clients_without_sessions_are_capped, open_set, close_set),
        cmocka_unit_test(only_what_is_not_read_may_stay_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
