/* SPDX-License-Identifier: Apache-2.0
 *
 * A server daemon as the agents above see it: reports, estimates, placements, catalogues, its speed, and
 * how it leaves. */
#include "tests/inproc/server_rig.h"

#include "core/choice/estimate.h"
#include "core/forecast/cost_model.h"
#include "core/message/open_sessions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static struct rig rig;

static void open_with(struct rig_options options)
{
    options.parent = true;
    rig_open(&rig, &options);
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

static void start_task(uint64_t sequence, double seconds, struct answered *answer)
{
    struct rig_call call = {
        .session = rig_session(1, sequence), .problem = "task", .flop = seconds * 1e9, .patience_ms = 0};
    rig_call(&rig, &call, answer);
}

static void post(const struct message *message)
{
    endpoint_enter(rig.parent);
    assert_int_equal(endpoint_post(rig.parent, "sed", 0, message, NULL), ESP_OK);
    endpoint_leave(rig.parent);
    rig_run(&rig, 0.001);
}

static void it_takes_no_children_and_says_so(void **state)
{
    (void)state;
    struct message hello = {.kind = MESSAGE_HELLO, .hello = {.role = ROLE_SERVER, .address = "parent"}};
    post(&hello);
    rig_run(&rig, 0.1);
    assert_int_equal(rig.welcomed, ESP_REFUSED);
    hello.hello.address = "";
    post(&hello); /* nobody to answer to */
}

static void ask(struct request request)
{
    struct message message = {.kind = MESSAGE_ASK};
    uint64_t before = rig.answers;
    if (!request.problem)
        request.problem = "task";
    if (!request.digest)
        request.digest = rig_digest(&rig, "task");
    message.ask = (struct ask){.id = 9, .breadth = 4, .time_left_ms = 1000, .request = request};
    rig.n_servers = 99;
    post(&message);
    assert_int_equal(rig.answers, before + 1);
}

static struct placement placement(uint64_t sequence, uint64_t number, double seconds)
{
    struct session_id session = rig_session(1, sequence);
    session.secret = 0;
    return (struct placement){.server = "sed",
                              .session = session,
                              .master = 5,
                              .number = number,
                              .seconds = seconds,
                              .lease_ms = 10000};
}

static void place(struct placement item)
{
    struct message message = {.kind = MESSAGE_PLACE, .place = {.items = &item, .n = 1}};
    post(&message);
}

static bool near(double a, double b)
{
    return fabs(a - b) < 0.02 * (fabs(b) + 0.1);
}

/* ---- reports ---- */

static void it_joins_and_tells_what_it_is(void **state)
{
    (void)state;
    assert_true(rig.reports >= 1);
    assert_int_equal(rig.record.slots, 1);
    assert_int_equal(rig.record.incarnation, 77);
    assert_int_equal(rig.record.role, ROLE_SERVER);
    assert_true(rig.record.speed_flops == 1e9);
    assert_int_equal(rig.record.memory_free, 100 << 20);
    assert_true(rig.record.catalog != 0);
    assert_false(rig.record.draining);
}

static void changes_of_load_are_told_at_once(void **state)
{
    (void)state;
    struct answered answers[2];
    unsigned before = rig.reports;
    start_task(1, 10, &answers[0]);
    start_task(2, 5, &answers[1]);
    rig_run(&rig, 0.05);
    assert_true(rig.reports > before);
    assert_int_equal(rig.record.running, 1);
    assert_int_equal(rig.record.queued, 1);
    assert_true(near(rig.first_free_s, 15));
    rig_run(&rig, 10);
    assert_true(near(rig.first_free_s, 5));
    rig_run(&rig, 6);
    assert_true(rig.first_free_s == 0);
    assert_int_equal(rig.record.completed, 2);
}

/* Routines that declare hardly any work: 100 s where 1 ms was forecast. */
static void a_session_past_its_forecast_is_expected_to_take_as_long_again(void **state)
{
    (void)state;
    struct answered answers[3];
    rig.pool.speed_flops = 1e4; /* what workers do; the forecast is made with 1 Gflop/s */
    for (uint64_t i = 0; i < 3; i++)
        start_task(i + 1, 0.001, &answers[i]);
    rig_run(&rig, 0.05);
    assert_true(rig.first_free_s > 0.05);
    unsigned before = rig.reports;
    rig_run(&rig, 10);
    assert_true(rig.first_free_s > 23); /* told when it had taken 8 s or more; two like it wait */
    assert_true(rig.reports - before < 40);
    ask((struct request){.work_flop = 1});
    assert_true(near(rig.estimate.queue_s, 30));
}

/* The description declares no work. */
static void a_session_of_unknown_length_is_never_told_to_be_nearly_over_while_it_runs(void **state)
{
    (void)state;
    struct answered answered;
    unsigned before = rig.reports;
    double free_at_s = 0;
    rig.pool.least_s = 100;
    start_task(1, 0, &answered);
    rig_run(&rig, 0.005);
    ask((struct request){.work_flop = 1});
    assert_true(near(rig.estimate.queue_s, ESTIMATE_UNKNOWN_S - 0.005));
    for (double now_s = 0.005; now_s < 5; now_s += 0.001) {
        if (rig.reports != before)
            free_at_s = now_s + rig.first_free_s;
        before = rig.reports;
        assert_true(now_s < ESTIMATE_UNKNOWN_S || free_at_s > now_s);
        assert_true(now_s < 2 * ESTIMATE_UNKNOWN_S || free_at_s - now_s > now_s / 2);
        rig_run(&rig, 0.001);
    }
}

static void many_small_calls_make_few_reports(void **state)
{
    (void)state;
    static struct answered answers[500];
    unsigned before = rig.reports;
    for (uint64_t i = 0; i < 500; i++) {
        start_task(i + 1, 20e-6, &answers[i]);
        rig_run(&rig, 0.001);
    }
    assert_true(rig.reports - before <= 8);
}

static void all_slots_are_told_in_order(void **state)
{
    (void)state;
    struct answered answers[2];
    open_with((struct rig_options){.slots = 3});
    start_task(1, 10, &answers[0]);
    start_task(2, 5, &answers[1]);
    rig_run(&rig, 0.05);
    struct message reply, request = {.kind = MESSAGE_TREE, .tree = {.node = "sed"}};
    assert_int_equal(transport_call(rig.transport, "sed", &request, 1000, &reply, NULL), ESP_OK);
    const struct node_record *record = reply.tree_reply.records;
    assert_int_equal(record->n_free_in, 3);
    assert_true(record->free_in_s[0] == 0);
    assert_true(near(record->free_in_s[1], 5));
    assert_true(near(record->free_in_s[2], 10));
    assert_string_equal(record->parent, "parent");
    message_clear(&reply);
}

/* ---- estimates ---- */

static void it_answers_with_its_own_forecast(void **state)
{
    (void)state;
    struct answered answer;
    ask((struct request){.work_flop = 3e9});
    assert_int_equal(rig.n_servers, 1);
    assert_int_equal(rig.capable, 1);
    assert_true(near(rig.estimate.compute_s, 3));
    assert_true(rig.estimate.queue_s == 0);
    assert_true(rig.estimate.error_s > 0);
    assert_int_equal(rig.estimate.incarnation, 77);
    start_task(1, 10, &answer);
    rig_run(&rig, 4);
    ask((struct request){.work_flop = 3e9});
    assert_true(near(rig.estimate.queue_s, 6));
}

/* The model of "task": so many seconds per flop, and `bytes` beyond the arguments. */
static void set_model(double s_per_flop, double bytes)
{
    struct cost_term terms[] = {{.coefficient = s_per_flop, .powers = {1}}, {.coefficient = bytes}};
    struct cost_piece pieces[] = {{.until = HUGE_VAL, .n_terms = 1, .terms = &terms[0]},
                                  {.until = HUGE_VAL, .n_terms = 1, .terms = &terms[1]}};
    struct cost_model model = {
        .digest = rig_digest(&rig, "task"), .n_variables = 2, .floor_s_per_flop = 1e-12, .factor = 1};
    struct cost_set set = {0};
    model.variables[0] = (struct cost_variable){.argument = COST_WORK, .most = 1e12};
    model.variables[1] = (struct cost_variable){.argument = COST_BYTES, .most = 1e12};
    model.time = (struct cost_curve){.n_pieces = 1, .pieces = &pieces[0], .error = 0.02};
    model.memory = (struct cost_curve){.n_pieces = 1, .pieces = &pieces[1]};
    assert_int_equal(cost_set_add(&set, &model, false, NULL), ESP_OK);
    assert_int_equal(server_set_models(rig.server, &set, NULL), ESP_OK);
}

static void with_a_model_its_forecast_is_the_model_s(void **state)
{
    (void)state;
    struct answered answer;
    set_model(2e-9, 0);
    rig_run(&rig, 0.2);
    ask((struct request){.work_flop = 3e9});
    assert_true(near(rig.estimate.compute_s, 6));
    assert_true(rig.estimate.error_s < 0.04 * 6);
    start_task(1, 4, &answer); /* 4 Gflop: 8 s by the model */
    rig_run(&rig, 0.1);
    ask((struct request){.work_flop = 3e9});
    assert_true(near(rig.estimate.queue_s, 8));
    set_model(2e-9, 90 << 20); /* what would swap is not offered */
    ask((struct request){.work_flop = 3e9, .memory_bytes = 9 << 20});
    assert_int_equal(rig.n_servers, 1);
    ask((struct request){.work_flop = 3e9, .memory_bytes = 11 << 20});
    assert_int_equal(rig.n_servers, 0);
}

static void memory_that_the_routine_will_take_is_reserved(void **state)
{
    (void)state;
    struct answered first, second;
    struct server_counts counts;
    set_model(1e-9, 60 << 20); /* of 100 MB */
    start_task(1, 2, &first);
    rig_run(&rig, 0.5);
    server_count(rig.server, &counts);
    assert_true(counts.memory_used >= 60 << 20);
    start_task(2, 2, &second);
    rig_run(&rig, 0.5);
    server_count(rig.server, &counts);
    assert_int_equal(counts.running, 1);
    assert_int_equal(counts.waiting, 1); /* for memory: both would swap */
    rig_run(&rig, 6);
    server_count(rig.server, &counts);
    assert_int_equal(counts.running + counts.waiting, 0);
    assert_true(counts.memory_used < 60 << 20);
    set_model(1e-9, 300 << 20); /* nobody is refused for a forecast */
    start_task(3, 1, &first);
    rig_run(&rig, 0.5);
    server_count(rig.server, &counts);
    assert_int_equal(counts.running, 1);
}

static void calls_that_take_longer_correct_the_model(void **state)
{
    (void)state;
    struct answered answer;
    set_model(0.5e-9, 0); /* the workers reach 1 Gflop/s: half of that */
    for (uint64_t i = 1; i <= 12; i++) {
        start_task(i, 0.1, &answer);
        rig_run(&rig, 0.5);
    }
    ask((struct request){.work_flop = 3e9});
    assert_true(near(rig.estimate.compute_s, 3));
}

static void it_does_not_offer_what_it_cannot_do(void **state)
{
    (void)state;
    const char *itself = "sed";
    ask((struct request){.problem = "unheard-of"});
    assert_int_equal(rig.n_servers, 0);
    ask((struct request){.digest = 12345});
    assert_int_equal(rig.n_servers, 0);
    ask((struct request){.memory_bytes = 101 << 20});
    assert_int_equal(rig.n_servers, 0);
    ask((struct request){.excluded = &itself, .n_excluded = 1});
    assert_int_equal(rig.n_servers, 0);
    ask((struct request){.server = "another"});
    assert_int_equal(rig.n_servers, 0);
    ask((struct request){.server = "sed", .memory_bytes = 100 << 20});
    assert_int_equal(rig.n_servers, 1);
}

/* ---- placements ---- */

static void a_placement_counts_until_its_call_arrives(void **state)
{
    (void)state;
    struct answered answer;
    place(placement(1, 1, 20));
    ask((struct request){0});
    assert_true(near(rig.estimate.queue_s, 20));
    rig_run(&rig, 0.05);
    assert_true(near(rig.first_free_s, 20));
    assert_int_equal(rig.mark_master, 5);
    assert_int_equal(rig.mark_number, 1);
    start_task(1, 4, &answer); /* its real forecast takes the place of the promise */
    rig_run(&rig, 0.01);
    ask((struct request){0});
    assert_true(near(rig.estimate.queue_s, 4));
    assert_int_equal(rig_counts(&rig).placements, 0);
}

static void a_placement_whose_call_never_comes_ends_with_its_lease(void **state)
{
    (void)state;
    place(placement(1, 1, 20));
    rig_run(&rig, 9);
    assert_int_equal(rig_counts(&rig).placements, 1);
    rig_run(&rig, 2);
    assert_int_equal(rig_counts(&rig).placements, 0);
    ask((struct request){0});
    assert_true(rig.estimate.queue_s == 0);
    rig_run(&rig, 0.2);
    assert_true(rig.first_free_s == 0);
    assert_int_equal(rig.mark_number, 1); /* it was counted once */
}

static void a_placement_behind_its_call_is_not_counted(void **state)
{
    (void)state;
    struct answered answer, other;
    struct rig_call call = {.session = rig_session(1, 1),
                            .problem = "task",
                            .flop = 4e9,
                            .master = 5,
                            .placement = 3,
                            .patience_ms = 0};
    rig_call(&rig, &call, &answer);
    rig_run(&rig, 0.05);
    assert_int_equal(rig.mark_number, 3);
    place(placement(1, 3, 20));
    assert_int_equal(rig_counts(&rig).placements, 0);
    rig_run(&rig, 5);
    rig_await(&rig, 1, 2, NULL, 0, 0, &other); /* and not when the session is long forgotten */
    rig_run(&rig, 0.01);
    place(placement(1, 3, 20));
    assert_int_equal(rig_counts(&rig).placements, 0);
}

static void placements_of_others_and_repeated_ones_do_not_count(void **state)
{
    (void)state;
    struct placement item = placement(1, 1, 20);
    item.server = "another";
    place(item);
    assert_int_equal(rig_counts(&rig).placements, 0);
    place(placement(1, 1, 20));
    place(placement(1, 1, 20));
    ask((struct request){0});
    assert_true(near(rig.estimate.queue_s, 20));
}

/* ---- catalogues ---- */

static void it_sends_its_catalogue_and_descriptions(void **state)
{
    (void)state;
    uint64_t texts[] = {rig_digest(&rig, "copy"), 4711, rig_digest(&rig, "task")};
    struct message message = {.kind = MESSAGE_WANT};
    message.want =
        (struct want){.catalogs = &rig.record.catalog, .n_catalogs = 1, .texts = texts, .n_texts = 3};
    post(&message);
    rig_run(&rig, 0.01);
    assert_int_equal(rig.n_catalog, 2);
    assert_int_equal(rig.n_texts, 2);
}

static struct problem_set *parse(const char *text)
{
    struct problem_set *set;
    assert_int_equal(problem_parse(text, strlen(text), "new.esp", &set, NULL), ESP_OK);
    return set;
}

static void descriptions_can_change_while_sessions_run(void **state)
{
    (void)state;
    struct answered running, refused, fresh;
    uint64_t catalog = rig.record.catalog;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 4e9, .patience_ms = 60000};
    rig_call(&rig, &call, &running);
    rig_run(&rig, 1);
    struct problem_set *set = parse("problem task \"another\"\n in double flop\n out double r\n work 2*flop\n"
                                    "implementation c\n c task(flop, r) in libtask.so\n");
    uint64_t digest = set->problems[0]->digest;
    assert_int_equal(server_set_problems(rig.server, set, NULL), ESP_OK);
    call.session = rig_session(1, 2);
    rig_call(&rig, &call, &refused);
    rig_run(&rig, 0.1);
    assert_int_equal(refused.status, ESP_UNKNOWN_PROBLEM);
    assert_true(rig.record.catalog != catalog);
    rig_run(&rig, 4);
    assert_int_equal(running.state, SESSION_DONE);
    assert_int_equal(running.n_results, 1); /* told by the description it was called with */
    struct answered unknown;
    struct message list = {.kind = MESSAGE_LIST, .list = {.after = ""}};
    rig_send(&rig, &list, 0, &unknown);
    rig_run(&rig, 0.01);
    assert_int_equal(unknown.n_results, 1);
    struct message request = {.kind = MESSAGE_CALL};
    double flop = 1e9;
    struct call_argument arguments[] = {{0, KIND_INLINE, 8, (const uint8_t *)&flop, 8},
                                        {1, KIND_WANTED, 0, NULL, 0}};
    request.call = (struct call_request){.session = rig_session(1, 3),
                                         .problem = "task",
                                         .digest = digest,
                                         .arguments = arguments,
                                         .n_arguments = 2};
    rig_send(&rig, &request, 0, &fresh);
    rig_run(&rig, 0.001);
    assert_int_equal(fresh.status, ESP_OK);
    struct answered cancelled;
    rig_cancel(&rig, rig_session(1, 3), &cancelled); /* the rig's worker does not know the new one */
    rig_run(&rig, 0.001);
}

/* ---- leaving ---- */

static void order(const char *verb, const char *word)
{
    struct answered answered;
    const struct message order = {
        .kind = MESSAGE_ADMINISTER,
        .administer = {.node = "sed", .verb = verb, .words = &word, .n_words = word != NULL}};
    rig_send(&rig, &order, 5, &answered);
    rig_run(&rig, 0.1);
    assert_int_equal(answered.status, ESP_OK);
    rig_run(&rig, 1);
}

static void drain_briefly(void)
{
    order("drain", "briefly");
    assert_true(rig.record.draining);
}

/* The error with which the server refuses a call now; whether the caller is to wait. */
static enum esp_status refuses_call(uint64_t number, bool *awaited)
{
    struct answered answered;
    struct rig_call call = {.session = rig_session(1, number), .problem = "task", .flop = 1e9};
    rig_call(&rig, &call, &answered);
    rig_run(&rig, 0.1);
    *awaited = answered.awaited;
    return answered.status;
}

/* Clients wait for who starts again, and not for who ends for good. */
static void a_server_tells_whether_it_starts_again(void **state)
{
    (void)state;
    bool awaited;
    drain_briefly();
    assert_true(rig.returns);
    assert_int_equal(refuses_call(1, &awaited), ESP_UNREACHABLE);
    assert_true(awaited);
    order("undrain", NULL);
    assert_false(rig.record.draining);
    order("retire", NULL);
    assert_true(rig.record.draining);
    assert_false(rig.returns);
    assert_int_equal(refuses_call(2, &awaited), ESP_NO_SERVER);
    assert_false(awaited);
}

/* The process that wanted the restart may have been killed. */
static void a_server_that_is_drained_briefly_takes_sessions_again_when_nobody_says_it_once_more(void **state)
{
    (void)state;
    drain_briefly();
    rig_run(&rig, 15);
    drain_briefly();
    rig_run(&rig, 15);
    assert_true(rig.record.draining);
    rig_run(&rig, 10);
    assert_false(rig.record.draining);
}

static void ending_takes_nothing_new_and_finishes_what_runs(void **state)
{
    (void)state;
    struct answered running, queued, refused;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 4e9, .patience_ms = 60000};
    rig_call(&rig, &call, &running);
    call.session = rig_session(1, 2);
    rig_call(&rig, &call, &queued);
    rig_run(&rig, 1);
    const uint64_t before = rig.pool.started;
    server_drain(rig.server, true);
    rig_run(&rig, 0.01);
    assert_true(rig.record.draining);
    assert_false(running.done);
    assert_int_equal(queued.state, SESSION_UNKNOWN); /* another one may have it at once */
    assert_true(queued.unbegun && queued.awaited);
    assert_int_equal(queued.outcome, ESP_UNREACHABLE);
    assert_non_null(strstr(queued.why, "shutting down, and had not begun task"));
    call.session = rig_session(1, 3);
    rig_call(&rig, &call, &refused);
    rig_run(&rig, 0.01);
    assert_int_equal(refused.status, ESP_UNREACHABLE);
    assert_non_null(strstr(refused.text, "shutting down"));
    assert_true(refused.awaited && rig.returns);
    ask((struct request){0});
    assert_int_equal(rig.n_servers, 0);
    rig_run(&rig, 8);
    assert_int_equal(running.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, before);
    server_leave(rig.server);
    rig_run(&rig, 0.01);
    assert_int_equal(rig.goodbyes, 1);
}

static void leaving_cuts_short_what_is_still_there(void **state)
{
    (void)state;
    struct answered running, queued;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 1e13, .patience_ms = 60000};
    rig_call(&rig, &call, &running);
    call.session = rig_session(1, 2);
    rig_call(&rig, &call, &queued);
    rig_run(&rig, 1);
    server_leave(rig.server);
    rig_run(&rig, 0.01);
    assert_int_equal(running.state, SESSION_UNKNOWN);
    assert_int_equal(running.outcome, ESP_MAYBE);
    assert_false(running.unbegun || running.awaited);
    assert_non_null(strstr(running.why, "shutting down, and has stopped task after"));
    assert_int_equal(queued.state, SESSION_UNKNOWN);
    assert_true(queued.unbegun);
    assert_int_equal(rig_counts(&rig).running, 0);
}

static void ask_back(uint64_t client, struct answered *answer)
{
    struct extension extension = {EXTENSION_GIVE_BACK, (const uint8_t *)"", 0};
    const struct message request = {.kind = MESSAGE_FOLLOW,
                                    .follow = {.session = rig_session(client, 1),
                                               .seen = UINT64_MAX,
                                               .progress = 1,
                                               .extensions = {&extension, 1}}};
    *answer = (struct answered){0};
    rig_send(&rig, &request, 5, answer);
    rig_run(&rig, 0.01);
    assert_true(answer->done);
}

static void a_client_gets_back_what_has_not_begun(void **state)
{
    (void)state;
    struct answered running, queued, answer;
    struct rig_call call = {
        .session = rig_session(1, 1), .problem = "task", .flop = 4e9, .patience_ms = 60000};
    rig_call(&rig, &call, &running);
    call.session = rig_session(2, 1);
    rig_call(&rig, &call, &queued);
    rig_run(&rig, 1);
    const uint64_t before = rig.pool.started;
    ask_back(1, &answer);
    assert_int_equal(answer.state, SESSION_RUNNING);
    assert_false(answer.unbegun);
    for (int i = 0; i < 2; i++) { /* the reply may be lost */
        ask_back(2, &answer);
        assert_int_equal(answer.state, SESSION_UNKNOWN);
        assert_true(answer.unbegun && !answer.awaited);
    }
    assert_true(queued.done && queued.unbegun);
    assert_int_equal(rig_counts(&rig).queued, 0);
    rig_run(&rig, 8);
    assert_int_equal(running.state, SESSION_DONE);
    assert_int_equal(rig.pool.started, before);
}

/* ---- speed ---- */

static void calls_teach_it_the_speed_of_their_problem(void **state)
{
    (void)state;
    struct answered answer;
    rig.pool.speed_flops = 0.25e9; /* task waits for memory */
    for (uint64_t i = 1; i <= 8; i++) {
        start_task(i, 1, &answer);
        rig_run(&rig, 4.1);
    }
    ask((struct request){.work_flop = 1e9});
    assert_true(near(rig.estimate.compute_s, 4));
    assert_true(near(problem_speed_find(&rig.speeds, rig_digest(&rig, "task"))->flops / 1e9,
                     0.25)); /* the parent knows */
    ask((struct request){.problem = "copy", .digest = rig_digest(&rig, "copy"), .work_flop = 1e9});
    assert_true(near(rig.estimate.compute_s, 1)); /* it says nothing of what was never called */
    assert_null(problem_speed_find(&rig.speeds, rig_digest(&rig, "copy")));
    assert_true(near(rig_counts(&rig).speed_flops / 1e9, 1));
    assert_true(near(rig.record.speed_flops / 1e9, 1));
    /* And the next life of the server goes on with it, as does the parent. */
    struct esp_error error;
    uint32_t taken;
    size_t length;
    char *text = server_corrections(rig.server, &length);
    assert_non_null(text);
    rig_kill(&rig);
    rig_restart(&rig);
    rig_run(&rig, 1);
    ask((struct request){.work_flop = 1e9});
    assert_true(near(rig.estimate.compute_s, 1));
    assert_int_equal(server_take_corrections(rig.server, text, length, &taken, &error), ESP_OK);
    ask((struct request){.work_flop = 1e9});
    assert_true(near(rig.estimate.compute_s, 4));
    rig_run(&rig, 10);
    assert_true(near(problem_speed_find(&rig.speeds, rig_digest(&rig, "task"))->flops / 1e9, 0.25));
    free(text);
}

static const char with_dgemm[] = "problem dgemm \"C := A B\"\n"
                                 "    in     int m, n, k\n"
                                 "    in     double alpha = 1\n"
                                 "    in     double A[m, k]\n"
                                 "    in     double B[k, n]\n"
                                 "    in     double beta = 0\n"
                                 "    inout  double C[m, n]\n"
                                 "    work   2*m*n*k\n"
                                 "implementation blas\n"
                                 "    c dgemm(m, n, k, alpha, A, B, beta, C) in libblas.so\n";

static void the_speed_is_measured_through_the_workers(void **state)
{
    (void)state;
    open_with((struct rig_options){.speed_flops = -1, .problems = with_dgemm});
    /* The pool is set to 1 Gflop/s. */
    rig_run(&rig, 2);
    assert_true(near(rig_counts(&rig).speed_flops / 1e9, 1));
    assert_true(near(rig.record.speed_flops / 1e9, 1));
    struct server_counts counts = rig_counts(&rig);
    assert_int_equal(counts.running, 0);
    assert_int_equal(counts.segments.in_use, 0);
    assert_int_equal(counts.completed, 0); /* no session of anybody's */
    rig.pool.speed_flops = 2e9;            /* others' starts are over: it looks once more */
    rig_run(&rig, 6);
    assert_true(near(rig_counts(&rig).speed_flops / 1e9, 2));
    uint64_t started = rig.pool.started;
    rig_run(&rig, 600); /* and then nearly leaves the machine alone */
    assert_true(rig.pool.started - started < 500);
}

static void ranks_are_not_asked_how_fast_a_worker_is(void **state)
{
    (void)state;
    static const char together[] = "problem dgemm \"C := A B\"\n"
                                   "    in     int m, n, k\n"
                                   "    in     double A[m, k], B[k, n]\n"
                                   "    out    double C[m, n]\n"
                                   "implementation ranks\n"
                                   "    parallel c dgemm(communicator, m, n, k, A, B, C) in libblas.so\n";
    open_with((struct rig_options){.speed_flops = -1, .problems = together});
    rig_run(&rig, 2);
    assert_int_equal(rig.pool.started, 0);
    assert_true(rig_counts(&rig).speed_flops > 0); /* the first guess */
}

static double thirty_percent(void)
{
    return 0.3;
}

static double measured(struct rig_options options)
{
    options.speed_flops = -1;
    options.problems = with_dgemm;
    open_with(options);
    rig_run(&rig, 2);
    return rig_counts(&rig).speed_flops / 1e9;
}

static void a_quota_counts_also_where_the_measurement_did_not_meet_it(void **state)
{
    (void)state;
    assert_true(near(measured((struct rig_options){.cpu_share = 1, .cpu_quota = thirty_percent}), 0.3));
}

static void a_quota_counts_once_where_the_measurement_met_it(void **state)
{
    (void)state;
    struct rig_options met = {.pool_flops = 0.3e9, .cpu_share = 0.3, .cpu_quota = thirty_percent};
    assert_true(near(measured(met), 0.3));
    rig_run(&rig, 1000);
    assert_true(near(rig_counts(&rig).speed_flops / 1e9, 0.3));
}

static void competitors_count_when_they_stay(void **state)
{
    (void)state;
    assert_true(near(measured((struct rig_options){.pool_flops = 0.5e9, .cpu_share = 0.5}), 1));
    rig_run(&rig, 1000);
    assert_true(near(rig_counts(&rig).speed_flops / 1e9, 0.5));
    rig.pool.speed_flops = 1e9; /* gone at last */
    rig.pool.cpu_share = 1;
    rig_run(&rig, 1000);
    assert_true(near(rig_counts(&rig).speed_flops / 1e9, 1));
}

static void competitors_on_the_only_processor_count_at_once(void **state)
{
    (void)state;
    struct rig_options pinned = {.pool_flops = 0.25e9, .cpu_share = 0.25, .confined = true};
    assert_true(near(measured(pinned), 0.25));
}

static void a_measurement_that_fails_keeps_the_first_guess(void **state)
{
    (void)state;
    struct rig_options options = {.speed_flops = -1, .problems = with_dgemm};
    rig_open(&rig, &options);
    rig.pool.ends_with = ESP_CRASHED;
    for (uint32_t i = 0; i < rig.pool.n_jobs; i++) {
        rig.pool.jobs[i].status = ESP_CRASHED;
        rig.pool.jobs[i].text = "no such library";
    }
    rig_run(&rig, 2);
    assert_true(rig_counts(&rig).speed_flops > 0);
    assert_int_equal(rig_counts(&rig).segments.in_use, 0);
    assert_int_equal(rig.pool.started, 1);
}

#define PLAIN(test)   cmocka_unit_test_setup_teardown(test, open_plain, close_rig)
#define SPECIAL(test) cmocka_unit_test_teardown(test, close_rig)

/* Agents, and clients that look at the weather, distinguish it from a server that has none. */
static void a_sensor_that_has_read_nothing_yet_is_told(void **state)
{
    (void)state;
    open_with((struct rig_options){.senses = true});
    rig_run(&rig, 2);
    assert_true(rig.senses && !rig.sensed);
    server_sense(rig.server, 0.5, 0, 0);
    rig_run(&rig, 2);
    assert_true(!rig.senses && rig.sensed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN(it_joins_and_tells_what_it_is),
        PLAIN(it_takes_no_children_and_says_so),
        PLAIN(changes_of_load_are_told_at_once),
        PLAIN(with_a_model_its_forecast_is_the_model_s),
        PLAIN(memory_that_the_routine_will_take_is_reserved),
        PLAIN(calls_that_take_longer_correct_the_model),
        PLAIN(many_small_calls_make_few_reports),
        PLAIN(a_session_past_its_forecast_is_expected_to_take_as_long_again),
        PLAIN(a_session_of_unknown_length_is_never_told_to_be_nearly_over_while_it_runs),
        SPECIAL(all_slots_are_told_in_order),
        PLAIN(it_answers_with_its_own_forecast),
        PLAIN(it_does_not_offer_what_it_cannot_do),
        PLAIN(a_placement_counts_until_its_call_arrives),
        PLAIN(a_placement_whose_call_never_comes_ends_with_its_lease),
        PLAIN(a_placement_behind_its_call_is_not_counted),
        PLAIN(placements_of_others_and_repeated_ones_do_not_count),
        PLAIN(it_sends_its_catalogue_and_descriptions),
        PLAIN(descriptions_can_change_while_sessions_run),
        PLAIN(a_server_tells_whether_it_starts_again),
        PLAIN(a_server_that_is_drained_briefly_takes_sessions_again_when_nobody_says_it_once_more),
        PLAIN(ending_takes_nothing_new_and_finishes_what_runs),
        PLAIN(leaving_cuts_short_what_is_still_there),
        PLAIN(a_client_gets_back_what_has_not_begun),
        PLAIN(calls_teach_it_the_speed_of_their_problem),
        SPECIAL(the_speed_is_measured_through_the_workers),
        SPECIAL(ranks_are_not_asked_how_fast_a_worker_is),
        SPECIAL(a_quota_counts_also_where_the_measurement_did_not_meet_it),
        SPECIAL(a_quota_counts_once_where_the_measurement_met_it),
        SPECIAL(competitors_count_when_they_stay),
        SPECIAL(competitors_on_the_only_processor_count_at_once),
        SPECIAL(a_measurement_that_fails_keeps_the_first_guess),
        SPECIAL(a_sensor_that_has_read_nothing_yet_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
