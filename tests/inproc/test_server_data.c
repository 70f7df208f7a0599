/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory and large arguments on a server daemon: admission, chunks, segments, and that nothing of them stays.
 */
#include "tests/inproc/server_rig.h"

#include "util/random.h"

#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N 40000 /* 320 kB for x and as much for y */

static struct rig rig;
static double x[N], y[N];

static void open_with(struct rig_options options)
{
    rig_open(&rig, &options);
    for (int i = 0; i < N; i++)
        x[i] = i + 1;
    memset(y, 0, sizeof y);
}

static int open_plain(void **state)
{
    (void)state;
    open_with((struct rig_options){.slots = 1});
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static struct rig_call bulk_call(uint64_t client, uint64_t sequence)
{
    return (struct rig_call){.session = rig_session(client, sequence), .n = N, .patience_ms = 1000};
}

static void ask(struct rig_call call, struct answered *answer)
{
    rig_call(&rig, &call, answer);
    rig_run(&rig, 0.001);
}

static void put_all(struct session_id session)
{
    struct esp_error error;
    for (uint64_t at = 0; at < sizeof x; at += 100000) {
        uint64_t length = sizeof x - at < 100000 ? sizeof x - at : 100000;
        if (rig_put(&rig, session, RIG_X, at, (char *)x + at, length, &error) != ESP_OK)
            fail_msg("%s", error.text);
    }
}

static void large_arguments_come_and_go_in_chunks(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1);
    ask(call, &answer);
    assert_int_equal(answer.state, SESSION_RECEIVING);
    put_all(call.session);
    rig_run_session(&rig, call.session, 60000, &answer);
    rig_run(&rig, 50);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(answer.kind[0], KIND_BULK);
    assert_int_equal(answer.bytes[0], sizeof y);
    uint64_t length = 200000;
    assert_int_equal(rig_get(&rig, call.session, RIG_Y, 0, y, &length, NULL), ESP_OK);
    assert_int_equal(length, 200000);
    length = 200000; /* more than there is behind */
    assert_int_equal(rig_get(&rig, call.session, RIG_Y, 200000, (char *)y + 200000, &length, NULL), ESP_OK);
    assert_int_equal(length, sizeof y - 200000);
    assert_memory_equal(x, y, sizeof x);
}

static void run_before_all_bytes_came_names_what_is_missing(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1);
    ask(call, &answer);
    for (int i = 0; i < 100; i++) /* as many bytes as the whole, but the same again and again */
        rig_put(&rig, call.session, RIG_X, 0, x, 100000, NULL);
    rig_put(&rig, call.session, RIG_X, 50000, (char *)x + 50000, 100000, NULL);
    rig_run_session(&rig, call.session, 1000, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_INVALID);
    assert_non_null(strstr(answer.text, "x: expected all of its 320000 bytes before run, found none of bytes "
                                        "150000 to 319999"));
    assert_int_equal(rig.pool.started, 0);
    put_all(call.session); /* the session is still there to be completed */
    rig_run_session(&rig, call.session, 60000, &answer);
    rig_run(&rig, 50);
    assert_int_equal(answer.state, SESSION_DONE);
}

static void chunks_outside_their_argument_are_refused(void **state)
{
    (void)state;
    struct answered answer;
    struct esp_error error;
    struct rig_call call = bulk_call(1, 1);
    ask(call, &answer);
    assert_int_equal(rig_put(&rig, call.session, RIG_X, sizeof x - 8, x, 16, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "expected a chunk within its 320000 bytes, found 16 bytes at 319992"));
    assert_int_equal(rig_put(&rig, call.session, RIG_X, UINT64_MAX - 7, x, 16, &error), ESP_INVALID);
    assert_int_equal(rig_put(&rig, call.session, RIG_X, sizeof x + 1, x, 0, &error), ESP_INVALID);
    assert_int_equal(rig_put(&rig, call.session, 0, 0, x, 4, &error), ESP_INVALID);
    assert_int_equal(rig_put(&rig, call.session, RIG_Y, 0, x, 8, &error), ESP_INVALID);
    assert_int_equal(rig_put(&rig, call.session, 99, 0, x, 8, &error), ESP_INVALID);
    assert_int_equal(rig_put(&rig, rig_session(1, 2), RIG_X, 0, x, 8, &error), ESP_NOT_FOUND);
    uint64_t length = 8;
    assert_int_equal(rig_get(&rig, call.session, RIG_Y, 0, y, &length, &error), ESP_PENDING);
    put_all(call.session);
    rig_run_session(&rig, call.session, 60000, &answer);
    rig_run(&rig, 50);
    length = 8;
    assert_int_equal(rig_get(&rig, call.session, RIG_X, 0, y, &length, &error), ESP_INVALID);
    length = 8;
    assert_int_equal(rig_get(&rig, call.session, RIG_Y, UINT64_MAX, y, &length, &error), ESP_INVALID);
    length = 8;
    assert_int_equal(rig_get(&rig, call.session, RIG_Y, sizeof y, y, &length, &error), ESP_OK);
    assert_int_equal(length, 0);
}

static void a_chunk_that_is_late_changes_nothing(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1);
    static double other[100];
    ask(call, &answer);
    put_all(call.session);
    rig_run_session(&rig, call.session, 60000, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(rig_put(&rig, call.session, RIG_X, 0, other, sizeof other, NULL), ESP_OK);
    rig_run(&rig, 50);
    uint64_t length = sizeof y;
    rig_get(&rig, call.session, RIG_Y, 0, y, &length, NULL);
    assert_memory_equal(x, y, sizeof x);
}

/* The chunk that is sent again is still arriving when `run` comes. */
static void a_computation_waits_for_moving_chunks(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1);
    struct message header = {.kind = MESSAGE_PUT};
    struct chunk_area area = {0};
    ask(call, &answer);
    put_all(call.session);
    header.chunk = (struct chunk){.session = call.session, .argument = RIG_X, .length = 800};
    server_ops.chunk(rig.server, &header, true, &area);
    assert_non_null(area.data);
    assert_int_equal(area.length, 800);
    rig_run_session(&rig, call.session, 60000, &answer);
    rig_run(&rig, 1);
    assert_int_equal(rig.pool.started, 0);
    memcpy(area.data, x, 800);
    server_ops.chunk_done(rig.server, &header, true, &area, true);
    rig_run(&rig, 50);
    assert_int_equal(answer.state, SESSION_DONE);
}

/* Cancelled or acknowledged in the middle of a chunk: the memory stays until the chunk has stopped. */
static void memory_outlives_the_chunks_that_move_in_it(void **state)
{
    (void)state;
    for (int acknowledge = 0; acknowledge < 2; acknowledge++) {
        struct answered answer;
        struct rig_call call = bulk_call(1, (uint64_t)acknowledge + 1);
        struct message header = {.kind = MESSAGE_PUT};
        struct chunk_area area = {0};
        ask(call, &answer);
        header.chunk = (struct chunk){.session = call.session, .argument = RIG_X, .length = 800};
        server_ops.chunk(rig.server, &header, true, &area);
        if (acknowledge)
            rig_await(&rig, 1, 3, NULL, 0, 0, &answer);
        else
            rig_cancel(&rig, call.session, &answer);
        rig_run(&rig, 0.001);
        assert_int_equal(rig_counts(&rig).segments.in_use, 1);
        memset(area.data, 1, 800);
        server_ops.chunk_done(rig.server, &header, true, &area, false);
        assert_int_equal(rig_counts(&rig).segments.in_use, 0);
        assert_int_equal(rig_counts(&rig).memory_used, 0);
    }
    assert_int_equal(rig_counts(&rig).ended, 0);
}

static void inline_values_and_chunks_mix(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1);
    call.x = x; /* all of it in the call, though it belongs into a segment */
    call.patience_ms = 60000;
    ask(call, &answer);
    rig_run(&rig, 50);
    assert_int_equal(answer.state, SESSION_DONE);
    uint64_t length = sizeof y;
    rig_get(&rig, call.session, RIG_Y, 0, y, &length, NULL);
    assert_memory_equal(x, y, sizeof x);
}

/* Arrays as the worker finds them: in the segment, ends at the ends of pages, inputs read-only. */
static void arrays_end_with_their_pages(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1);
    ask(call, &answer);
    put_all(call.session);
    rig_run_session(&rig, call.session, 60000, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(rig.pool.n_jobs, 1);
    const struct job *job = &rig.pool.jobs[0].job;
    assert_true(job->segment_fd >= 0);
    for (int i = RIG_X; i <= RIG_Y; i++) {
        assert_true(job->arguments[i].in_segment);
        assert_int_equal((job->arguments[i].offset + job->arguments[i].bytes) % SEGMENT_PAGE, 0);
        assert_true(job->arguments[i].offset + job->arguments[i].bytes <= job->segment_bytes);
    }
    assert_true(job->arguments[RIG_Y].offset / SEGMENT_PAGE * SEGMENT_PAGE >=
                job->arguments[RIG_X].offset + job->arguments[RIG_X].bytes);
    assert_false(job->arguments[RIG_X].writable);
    assert_true(job->arguments[RIG_Y].writable);
    assert_false(job->arguments[0].in_segment);
    rig_run(&rig, 50);
}

/* ---- admission ---- */

static void what_must_wait_holds_nothing_until_there_is_memory(void **state)
{
    (void)state;
    struct answered answers[3], poll, answer;
    open_with((struct rig_options){.slots = 2, .memory_bytes = 700000}); /* for one at a time */
    uint64_t second = 2;
    for (uint64_t i = 0; i < 3; i++) {
        struct rig_call call = bulk_call(1, i + 1);
        call.patience_ms = 0;
        ask(call, &answers[i]);
    }
    assert_int_equal(answers[0].state, SESSION_RECEIVING);
    assert_int_equal(answers[1].state, SESSION_WAITING);
    assert_int_equal(answers[1].ahead, 0);
    assert_int_equal(answers[2].state, SESSION_WAITING);
    assert_int_equal(answers[2].ahead, 1);
    struct server_counts counts = rig_counts(&rig);
    assert_int_equal(counts.waiting, 2);
    assert_int_equal(counts.segments.in_use, 1);
    assert_int_equal(rig_put(&rig, rig_session(1, 2), RIG_X, 0, x, 8, NULL), ESP_INVALID);
    rig_run_session(&rig, rig_session(1, 2), 0, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(answer.status, ESP_INVALID);
    rig_await(&rig, 1, 0, &second, 1, 60000, &poll);
    put_all(rig_session(1, 1));
    rig_run_session(&rig, rig_session(1, 1), 60000, &answers[0]);
    rig_run(&rig, 45);
    assert_int_equal(answers[0].state, SESSION_DONE);
    assert_false(poll.done); /* its result still fills the memory */
    rig_await(&rig, 1, 2, NULL, 0, 0, &answer);
    rig_run(&rig, 0.001);
    assert_true(poll.done || rig_counts(&rig).receiving == 1);
    assert_int_equal(rig_counts(&rig).receiving, 1);
    assert_int_equal(rig_counts(&rig).waiting, 1);
}

static void who_waits_with_its_values_in_the_call_needs_no_more(void **state)
{
    (void)state;
    struct answered answers[2], answer;
    open_with((struct rig_options){.memory_bytes = 700000});
    for (uint64_t i = 0; i < 2; i++) {
        struct rig_call call = bulk_call(1, i + 1);
        call.x = x;
        call.unwanted = i == 0; /* then nothing of it is kept */
        call.patience_ms = 200000;
        ask(call, &answers[i]);
    }
    assert_int_equal(rig_counts(&rig).waiting, 1);
    rig_run(&rig, 100);
    assert_int_equal(answers[1].state, SESSION_DONE);
    assert_true(answers[1].timings.wait_s > 39 && answers[1].timings.wait_s < 41);
    uint64_t length = sizeof y;
    assert_int_equal(rig_get(&rig, rig_session(1, 2), RIG_Y, 0, y, &length, NULL), ESP_OK);
    assert_memory_equal(x, y, sizeof x);
    rig_await(&rig, 1, 3, NULL, 0, 0, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
}

static void stopping_who_waits_for_memory_leaves_the_line(void **state)
{
    (void)state;
    struct answered answers[3], answer;
    open_with((struct rig_options){.memory_bytes = 700000});
    for (uint64_t i = 0; i < 3; i++) {
        struct rig_call call = bulk_call(1, i + 1);
        call.x = i == 1 ? x : NULL;
        call.time_left_ms = i == 2 ? 2000 : 0;
        call.patience_ms = 60000;
        ask(call, &answers[i]);
    }
    rig_cancel(&rig, rig_session(1, 2), &answer);
    rig_run(&rig, 3);
    assert_int_equal(answers[1].state, SESSION_CANCELLED);
    assert_int_equal(answers[2].state, SESSION_FAILED);
    assert_non_null(strstr(answers[2].why, "waiting for memory"));
    assert_int_equal(rig_counts(&rig).waiting, 0);
    rig_await(&rig, 1, 4, NULL, 0, 0, &answer);
    rig_run(&rig, 0.001);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
}

static void a_failed_session_gives_its_memory_back_at_once(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1);
    call.x = x;
    call.patience_ms = 60000;
    rig.pool.ends_with = ESP_FAILED;
    ask(call, &answer);
    rig_run(&rig, 50);
    assert_int_equal(answer.state, SESSION_FAILED);
    assert_int_equal(rig_counts(&rig).segments.in_use, 0);
    assert_int_equal(rig_counts(&rig).memory_used, 0);
    uint64_t length = 8;
    assert_int_equal(rig_get(&rig, call.session, RIG_Y, 0, y, &length, NULL), ESP_FAILED);
}

static void a_client_that_vanishes_while_sending_loses_its_memory(void **state)
{
    (void)state;
    struct answered answer;
    open_with((struct rig_options){.receive_lease_ns = 10 * NS_PER_S});
    struct rig_call call = bulk_call(1, 1);
    ask(call, &answer);
    rig_run(&rig, 8);
    rig_put(&rig, call.session, RIG_X, 0, x, 8, NULL); /* alive */
    rig_run(&rig, 8);
    assert_int_equal(rig_counts(&rig).receiving, 1);
    rig_run(&rig, 4);
    struct server_counts counts = rig_counts(&rig);
    assert_int_equal(counts.receiving, 0);
    assert_int_equal(counts.segments.in_use, 0);
    assert_int_equal(counts.memory_used, 0);
    rig_run_session(&rig, call.session, 0, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.state, SESSION_FAILED);
    assert_non_null(strstr(answer.why, "no more of its arguments came for 10 s"));
}

static void part(struct session_id session)
{
    endpoint_enter(rig.endpoint);
    server_ops.parted(rig.server, &session);
    endpoint_leave(rig.endpoint);
}

static void a_sender_whose_connection_closes_has_a_moment_to_come_again(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1), other = bulk_call(1, 2);
    ask(call, &answer);
    ask(other, &answer);
    rig_put(&rig, call.session, RIG_X, 0, x, 8, NULL);
    part(call.session);
    rig_run(&rig, 2);
    rig_put(&rig, call.session, RIG_X, 8, x, 8, NULL); /* on another one */
    rig_run(&rig, 10);
    assert_int_equal(rig_counts(&rig).receiving, 2);
    part(call.session);
    rig_run(&rig, 4);
    assert_int_equal(rig_counts(&rig).receiving, 1); /* the other one is on another connection */
    rig_run_session(&rig, call.session, 0, &answer);
    rig_run(&rig, 0.01);
    assert_int_equal(answer.state, SESSION_FAILED);
    assert_non_null(strstr(answer.why, "closed the connection on which it sent arguments"));
    part(other.session);
    rig_run(&rig, 4);
    struct server_counts counts = rig_counts(&rig);
    assert_int_equal(counts.receiving, 0);
    assert_int_equal(counts.memory_used, 0);
}

/* ---- nothing stays ---- */

static void memory_does_not_grow_with_the_number_of_calls(void **state)
{
    (void)state;
    struct answered answer;
    size_t before = 0;
    for (uint64_t i = 1; i <= 30000; i++) {
        struct rig_call call = {
            .session = rig_session(1, i), .oldest = i, .n = 4, .x = x, .digest = 0, .patience_ms = 1000};
        static uint64_t digest;
        call.digest = digest = digest ? digest : rig_digest(&rig, "copy");
        rig_call(&rig, &call, &answer);
        rig.pool.speed_flops = 1e15;
        rig_run(&rig, 1e-6);
        assert_int_equal(answer.state, SESSION_DONE);
        if (i == 3000)
            before = mallinfo2().uordblks;
    }
    size_t after = mallinfo2().uordblks;
    assert_true(after < before + 4096);
}

static int descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Everything at random, over a network that repeats, loses and delays. */
static void after_any_confusion_nothing_is_left(void **state)
{
    (void)state;
    int before = descriptors();
    struct random random;
    static struct answered answers[4000];
    random_seed(&random, 42);
    open_with((struct rig_options){.slots = 3, .memory_bytes = 3 << 20, .receive_lease_ns = 5 * NS_PER_S});
    struct inproc_faults faults = {.latency_ns = NS_PER_MS, .jitter_ns = 5 * NS_PER_MS, .maybe = 0.2};
    inproc_set_faults(rig.transport, &faults);
    static const enum esp_status ends[] = {ESP_OK, ESP_OK, ESP_OK, ESP_CRASHED, ESP_FAILED};
    uint64_t last[3] = {0};
    for (int i = 0; i < 4000; i++) {
        struct answered *answer = &answers[i];
        uint64_t client = random_below(&random, 3);
        uint64_t sequence = 1 + (last[client] ? random_below(&random, last[client]) : 0);
        struct session_id session = rig_session(client, sequence);
        rig.pool.ends_with = ends[random_below(&random, 5)];
        switch (random_below(&random, 8)) {
        case 0:
        case 1:
        case 2: {
            bool again = random_below(&random, 4) == 0;
            struct rig_call call = {.session = rig_session(client, again ? sequence : ++last[client]),
                                    .oldest = last[client] > 20 ? last[client] - 20 : 0,
                                    .n = random_below(&random, 2) ? 10 : N,
                                    .x = random_below(&random, 2) ? x : NULL,
                                    .unwanted = random_below(&random, 2),
                                    .time_left_ms = random_below(&random, 3) ? 20000 : 30,
                                    .patience_ms = random_below(&random, 50),
                                    .timeout_s = 0.02};
            rig_call(&rig, &call, answer);
            break;
        }
        case 3:
            rig_put(&rig, session, RIG_X, random_below(&random, 4) * 80000, x,
                    random_below(&random, 5) * 20000, NULL);
            break;
        case 4:
            rig_run_session(&rig, session, random_below(&random, 100), answer);
            break;
        case 5:
            rig_cancel(&rig, session, answer);
            break;
        case 6:
            rig_await(&rig, client, last[client] > 10 ? last[client] - 10 : 0, &sequence, 1,
                      random_below(&random, 100), answer);
            break;
        case 7: {
            uint64_t length = 1000;
            rig_get(&rig, session, RIG_Y, random_below(&random, 500), y, &length, NULL);
            break;
        }
        }
        rig_run(&rig, (double)random_below(&random, 4) / 1000);
    }
    rig_run(&rig, 60);
    struct answered done[3];
    for (uint64_t client = 0; client < 3; client++)
        rig_await(&rig, client, last[client] + 1, NULL, 0, 0, &done[client]);
    rig_run(&rig, 1);
    struct server_counts counts = rig_counts(&rig);
    assert_true(counts.completed > 50 && counts.failed > 50);
    assert_int_equal(counts.waiting + counts.receiving + counts.queued + counts.running + counts.ended, 0);
    assert_int_equal(counts.memory_used, 0);
    assert_int_equal(counts.segments.in_use, 0);
    assert_int_equal(rig.pool.n_jobs, 0);
    rig_close(&rig);
    assert_int_equal(descriptors(), before);
}

#define PLAIN(test)   cmocka_unit_test_setup_teardown(test, open_plain, close_rig)
#define SPECIAL(test) cmocka_unit_test_teardown(test, close_rig)

static const char wary[] = "problem wary \"only of numbers\"\n"
                           "    in      int     n\n"
                           "    in      double  x[n] finite\n"
                           "    out     double  y[n]\n"
                           "    work    1e6*n\n"
                           "implementation c\n"
                           "    c copy(n, x, y) in libcopy.so\n";

/* The client library looks too; a server does not rely on that. */
static void numbers_that_are_not_finite_go_to_no_routine(void **state)
{
    (void)state;
    struct answered answer;
    struct rig_call call = bulk_call(1, 1);
    double few[] = {1, 2, INFINITY};
    open_with((struct rig_options){.slots = 1, .problems = wary});
    call.problem = "wary";
    x[34567] = NAN;
    ask(call, &answer);
    put_all(call.session);
    rig_run_session(&rig, call.session, 60000, &answer);
    rig_run(&rig, 50);
    assert_int_equal(answer.state, SESSION_FAILED);
    assert_int_equal(answer.outcome, ESP_INVALID);
    assert_string_equal(answer.why, "wary: x(34568) is not a number (NaN): expected finite numbers in x");
    assert_int_equal(rig.pool.started, 0);
    call = (struct rig_call){
        .session = rig_session(1, 2), .problem = "wary", .n = 3, .x = few, .patience_ms = 1000};
    ask(call, &answer);
    assert_int_equal(answer.outcome, ESP_INVALID);
    assert_int_equal(rig.pool.started, 0);
    call = bulk_call(1, 3);
    call.problem = "wary";
    x[34567] = 1;
    ask(call, &answer);
    put_all(call.session);
    rig_run_session(&rig, call.session, 60000, &answer);
    rig_run(&rig, 50);
    assert_int_equal(answer.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(large_arguments_come_and_go_in_chunks),
        PLAIN(run_before_all_bytes_came_names_what_is_missing),
        PLAIN(chunks_outside_their_argument_are_refused),
        PLAIN(a_chunk_that_is_late_changes_nothing),
        PLAIN(a_computation_waits_for_moving_chunks),
        PLAIN(memory_outlives_the_chunks_that_move_in_it),
        PLAIN(inline_values_and_chunks_mix),
        PLAIN(arrays_end_with_their_pages),
        SPECIAL(numbers_that_are_not_finite_go_to_no_routine),
        SPECIAL(what_must_wait_holds_nothing_until_there_is_memory),
        SPECIAL(who_waits_with_its_values_in_the_call_needs_no_more),
        SPECIAL(stopping_who_waits_for_memory_leaves_the_line),
        PLAIN(a_failed_session_gives_its_memory_back_at_once),
        SPECIAL(a_client_that_vanishes_while_sending_loses_its_memory),
        PLAIN(a_sender_whose_connection_closes_has_a_moment_to_come_again),
        PLAIN(memory_does_not_grow_with_the_number_of_calls),
        cmocka_unit_test(after_any_confusion_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
