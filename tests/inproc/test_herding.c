/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls whose descriptions say nothing true about how long they take: a real agent, real servers, workers
 * on virtual time. With any declared work, the calls spread over the slots as they would if all were
 * known. */
#include "tests/inproc/server_rig.h"

#include "agent/agent.h"

#include <math.h>
#include <stdlib.h>

enum { SERVERS = 4, SLOTS = 2, CALLS = 100, CLIENTS = 16 };

#define NAP_S   0.5
#define IDEAL_S (CALLS * NAP_S / (SERVERS * SLOTS))
#define KNOWN   3 /* calls of a problem on a server, after which its forecasts have to be near */

#define NAP(WORK)                                                                                            \
    "problem nap \"Sleep\"\n    in int n\n    in double x[n]\n    out double y[n]\n" WORK                    \
    "implementation c\n    c nap(n, x, y) in libnap.so\n"

static struct world {
    struct rig rigs[SERVERS];
    struct agent *agent;
    const char *problem; /* that is called */
    double work_flop;    /* of a call, by its description */
    double forecast_s;   /* of the latest call */
    uint64_t sequence;
    uint64_t placed[SERVERS], refused;
    uint64_t completed_before;
    unsigned judged,
        wrong; /* forecasts of servers that know the problem, and those that are three times off */
} world;

static const char *const names[SERVERS] = {"A", "B", "C", "D"};

static struct transport *network(void)
{
    return world.rigs[0].transport;
}

static void open_world(const char *problems, double work_flop)
{
    const struct agent_options options = {
        .name = "MA", .listen = "MA", .incarnation = 1000, .seed = 1, .heartbeat_ms = 300, .lease_ms = 1000};
    struct esp_error error;
    memset(&world, 0, sizeof world);
    world.problem = "nap";
    world.work_flop = work_flop;
    for (int i = 0; i < SERVERS; i++) {
        rig_open(&world.rigs[i], &(struct rig_options){.name = names[i],
                                                       .parent_name = "MA",
                                                       .problems = problems,
                                                       .speed_flops = 1e10 * (1 + 0.1 * i),
                                                       .pool_flops = 1e18,
                                                       .slots = SLOTS,
                                                       .beside = i ? &world.rigs[0] : NULL});
        world.rigs[i].pool.least_s = NAP_S;
    }
    assert_int_equal(agent_create(&options, network(), &world.agent, &error), ESP_OK);
    inproc_set_faults(network(), &(struct inproc_faults){.latency_ns = NS_PER_MS / 10});
    rig_run(&world.rigs[0], 3);
}

static void close_world(void)
{
    agent_drop(world.agent);
    for (int i = SERVERS; i-- > 0;)
        rig_close(&world.rigs[i]);
}

static void run(double seconds)
{
    const int64_t until_ns = inproc_now_ns(network()) + (int64_t)(seconds * 1e9);
    while (inproc_now_ns(network()) < until_ns) {
        inproc_run(network(), inproc_now_ns(network()) + NS_PER_MS / 4);
        for (int i = 0; i < SERVERS; i++)
            rig_end_jobs(&world.rigs[i]);
    }
}

static uint64_t completed(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < SERVERS; i++)
        sum += rig_counts(&world.rigs[i]).completed;
    return sum - world.completed_before;
}

/* ---- a client that calls the server that the agent names ---- */

struct client_call {
    struct session_id session;
    const char *server; /* wanted; "": any */
};

static void on_called(void *arg, enum esp_status status, const struct message *reply)
{
    (void)arg;
    world.refused += status != ESP_OK || message_outcome(reply, NULL) != ESP_OK;
}

/* Whether the forecast of a server that has computed the problem KNOWN times is near what a call takes there.
 */
static void judge(const struct candidate *candidate)
{
    for (int i = 0; i < SERVERS; i++) {
        struct rig *rig = &world.rigs[i];
        if (strcmp(candidate->server, names[i]) != 0 || rig_counts(rig).completed < KNOWN)
            continue;
        const double ratio = candidate->compute_s / rig->pool.least_s;
        world.judged++;
        world.wrong += !(ratio > 1.0 / 3 && ratio < 3);
    }
}

static void on_candidates(void *arg, enum esp_status status, const struct message *reply)
{
    struct client_call *own = arg;
    struct esp_error error;
    if (status != ESP_OK || message_outcome(reply, &error) != ESP_OK)
        fail_msg("a request was refused: %s", error.text);
    const struct candidate *first = &reply->submit_reply.candidates[0];
    int32_t n = 1;
    double x = 0;
    struct call_argument arguments[] = {
        {.index = 0, .kind = KIND_INLINE, .bytes = sizeof n, .data = (void *)&n, .length = sizeof n},
        {.index = 1, .kind = KIND_INLINE, .bytes = sizeof x, .data = (void *)&x, .length = sizeof x},
        {.index = 2, .kind = KIND_WANTED, .bytes = sizeof x}};
    struct message call = {.kind = MESSAGE_CALL,
                           .call = {.session = own->session,
                                    .oldest_unacknowledged = 1,
                                    .server_incarnation = first->incarnation,
                                    .time_left_ms = 3600 * 1000,
                                    .problem = world.problem,
                                    .digest = rig_digest(&world.rigs[0], world.problem),
                                    .master = reply->submit_reply.master,
                                    .placement = reply->submit_reply.placement,
                                    .forecast_s = first->compute_s,
                                    .arguments = arguments,
                                    .n_arguments = 3}};
    for (int i = 0; i < SERVERS; i++)
        world.placed[i] += strcmp(first->server, names[i]) == 0;
    world.forecast_s = first->compute_s;
    judge(first);
    assert_int_equal(
        inproc_call_async(network(), first->address, &call, 3600 * 1000, on_called, NULL, &error), ESP_OK);
    free(own);
}

static void begin_call(const char *server)
{
    struct client_call *own = calloc(1, sizeof *own);
    struct esp_error error;
    *own = (struct client_call){rig_session(1 + ++world.sequence, 1), server};
    struct message message = {.kind = MESSAGE_SUBMIT,
                              .submit = {.time_left_ms = 60000,
                                         .request = {.session = own->session,
                                                     .problem = world.problem,
                                                     .digest = rig_digest(&world.rigs[0], world.problem),
                                                     .work_flop = world.work_flop,
                                                     .server = server}}};
    assert_int_equal(inproc_call_async(network(), "MA", &message, 60000, on_candidates, own, &error), ESP_OK);
}

static double seconds_for_all_at_once(void)
{
    const double start_s = rig_now(&world.rigs[0]);
    for (int i = 0; i < CALLS; i++)
        begin_call("");
    while (completed() < CALLS && rig_now(&world.rigs[0]) < start_s + 100)
        run(0.01);
    return rig_now(&world.rigs[0]) - start_s;
}

/* This many calls are there at any time. */
static double seconds_for_clients(void)
{
    const double start_s = rig_now(&world.rigs[0]);
    int begun = 0;
    while (completed() < CALLS && rig_now(&world.rigs[0]) < start_s + 100) {
        while (begun < CALLS && begun < CLIENTS + (int)completed())
            begun++, begin_call("");
        run(0.001);
    }
    return rig_now(&world.rigs[0]) - start_s;
}

/* 100 calls on 8 slots take 13 rounds of 0.5 s, which is 1.04 times the ideal of slots that are never idle.
 */
static void check(const char *problems, double work_flop, double (*seconds)(void))
{
    open_world(problems, work_flop);
    const double took_s = seconds();
    print_message("# %g s, ideal %g s; placed %llu %llu %llu %llu\n", took_s, IDEAL_S,
                  (unsigned long long)world.placed[0], (unsigned long long)world.placed[1],
                  (unsigned long long)world.placed[2], (unsigned long long)world.placed[3]);
    assert_int_equal(world.refused, 0);
    assert_true(took_s <= 1.15 * IDEAL_S);
    close_world();
}

static void many_at_once_spread_when_hardly_any_work_is_declared(void **state)
{
    (void)state;
    check(NAP("    work 2*n\n"), 2, seconds_for_all_at_once);
}

static void many_at_once_spread_when_no_work_is_declared(void **state)
{
    (void)state;
    check(NAP(""), 0, seconds_for_all_at_once);
}

static void clients_fill_all_slots_when_hardly_any_work_is_declared(void **state)
{
    (void)state;
    check(NAP("    work 2*n\n"), 2, seconds_for_clients);
}

static void clients_fill_all_slots_when_no_work_is_declared(void **state)
{
    (void)state;
    check(NAP(""), 0, seconds_for_clients);
}

static void clients_fill_all_slots_when_far_too_much_work_is_declared(void **state)
{
    (void)state;
    check(NAP("    work 1e12*n\n"), 1e12, seconds_for_clients);
}

/* Duration of a call on each server. */
static const double uneven_s[SERVERS] = {0.2, 0.8, 0.4, 0.4};

/* Calls that begin when a slot is free, and never wait for a better one: the time of the last one's end. */
static double greedy_s(void)
{
    double free_s[SERVERS * SLOTS] = {0}, last_s = 0;
    for (int call = 0; call < CALLS; call++) {
        int best = 0;
        for (int slot = 1; slot < SERVERS * SLOTS; slot++)
            if (free_s[slot] + uneven_s[slot / SLOTS] < free_s[best] + uneven_s[best / SLOTS])
                best = slot;
        free_s[best] += uneven_s[best / SLOTS];
        last_s = fmax(last_s, free_s[best]);
    }
    return last_s;
}

/* Servers of different speed, about whose calls the description tells nothing true: after the first calls all
 * of them compute, each in proportion to its speed. */
static void check_uneven(const char *problems, double work_flop, double (*seconds)(void))
{
    open_world(problems, work_flop);
    for (int i = 0; i < SERVERS; i++) {
        world.rigs[i].pool.least_s = uneven_s[i];
        for (int call = 0; call < KNOWN; call++)
            begin_call(names[i]);
    }
    run(5);
    memset(world.placed, 0, sizeof world.placed);
    world.completed_before = completed();
    assert_int_equal(world.completed_before, KNOWN * SERVERS);
    const double took_s = seconds(), ideal_s = greedy_s();
    print_message("# %g s, greedy %g s; placed %llu %llu %llu %llu; %u of %u forecasts three times off\n",
                  took_s, ideal_s, (unsigned long long)world.placed[0], (unsigned long long)world.placed[1],
                  (unsigned long long)world.placed[2], (unsigned long long)world.placed[3], world.wrong,
                  world.judged);
    assert_int_equal(world.refused, 0);
    assert_true(took_s <= 1.15 * ideal_s);
    for (int i = 0; i < SERVERS; i++)
        assert_true(world.placed[i] > 0);
    assert_true(world.judged >= CALLS);
    assert_int_equal(world.wrong, 0);
    close_world();
}

static void servers_of_different_speed_share_calls_when_no_work_is_declared(void **state)
{
    (void)state;
    check_uneven(NAP(""), 0, seconds_for_all_at_once);
    check_uneven(NAP(""), 0, seconds_for_clients);
}

static void servers_of_different_speed_share_calls_when_far_too_much_work_is_declared(void **state)
{
    (void)state;
    check_uneven(NAP("    work 1e15*n\n"), 1e15, seconds_for_all_at_once);
    check_uneven(NAP("    work 1e15*n\n"), 1e15, seconds_for_clients);
}

static void servers_of_different_speed_share_calls_when_hardly_any_work_is_declared(void **state)
{
    (void)state;
    check_uneven(NAP("    work 2*n\n"), 2, seconds_for_all_at_once);
    check_uneven(NAP("    work 2*n\n"), 2, seconds_for_clients);
}

/* The servers where it was not called look a thousand times quicker by its description. */
static void a_server_that_was_called_is_not_left_idle_for_those_that_were_not(void **state)
{
    (void)state;
    open_world(NAP("    work 2*n\n"), 2);
    begin_call("A");
    run(2);
    memset(world.placed, 0, sizeof world.placed);
    for (int i = 0; i < SERVERS * SLOTS; i++) {
        begin_call("");
        run(0.01);
    }
    for (int i = 0; i < SERVERS; i++)
        assert_int_equal(world.placed[i], SLOTS);
    close_world();
}

/* Right after a call of another problem, whose time the agent has just been told. */
static void a_second_call_is_forecast_by_what_the_first_one_took(void **state)
{
    static const char *const problems[] = {"other", "nap"};
    static const char text[] =
        NAP("    work 1e15*n\n") "problem other \"Sleep\"\n    in int n\n    in double x[n]\n"
                                 "    out double y[n]\n    work 1e15*n\n"
                                 "implementation c\n    c nap(n, x, y) in libnap.so\n";
    (void)state;
    open_world(text, 1e15);
    for (int i = 0; i < SERVERS; i++)
        world.rigs[i].pool.least_s = 0.15;
    for (unsigned which = 0; which < 2; which++) {
        world.problem = problems[which];
        for (int call = 0; call < 2; call++) {
            begin_call("A");
            run(0.25);
        }
        if (!(world.forecast_s > 0.05 && world.forecast_s < 0.45))
            fail_msg("%s: forecast %g s, expected 0.15", world.problem, world.forecast_s);
    }
    close_world();
}

/* Beside competitors calls last longer than they compute; the first call of a problem says so, too. */
static void the_first_call_teaches_its_own_time(void **state)
{
    (void)state;
    open_world(NAP(""), 0);
    world.rigs[0].pool.cpu_share = 0.4;
    for (int call = 0; call < 2; call++) {
        begin_call("A");
        run(1.5);
    }
    if (!(fabs(world.forecast_s - 0.4 * NAP_S) < 0.01))
        fail_msg("forecast %g s, expected %g", world.forecast_s, 0.4 * NAP_S);
    close_world();
}

/* Calls of 20 us: nothing is known to wait for, and yet the shorter line is the better one. */
static void the_line_counts_though_every_call_is_thought_to_cost_nothing(void **state)
{
    (void)state;
    open_world(NAP("    work 2*n\n"), 2);
    for (int i = 0; i < SERVERS; i++) {
        world.rigs[i].pool.least_s = 1e-6;
        begin_call(names[i]);
    }
    run(2); /* all servers have reported that calls take no time */
    memset(world.placed, 0, sizeof world.placed);
    for (int i = 0; i < SERVERS; i++)
        world.rigs[i].pool.least_s = NAP_S; /* these do */
    for (int i = 0; i < 40; i++)
        begin_call("");
    run(0.01);
    for (int i = 0; i < SERVERS; i++)
        assert_true(world.placed[i] >= 8 && world.placed[i] <= 12);
    close_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_at_once_spread_when_hardly_any_work_is_declared),
        cmocka_unit_test(many_at_once_spread_when_no_work_is_declared),
        cmocka_unit_test(clients_fill_all_slots_when_hardly_any_work_is_declared),
        cmocka_unit_test(clients_fill_all_slots_when_no_work_is_declared),
        cmocka_unit_test(clients_fill_all_slots_when_far_too_much_work_is_declared),
        cmocka_unit_test(servers_of_different_speed_share_calls_when_no_work_is_declared),
        cmocka_unit_test(servers_of_different_speed_share_calls_when_far_too_much_work_is_declared),
        cmocka_unit_test(servers_of_different_speed_share_calls_when_hardly_any_work_is_declared),
        cmocka_unit_test(a_server_that_was_called_is_not_left_idle_for_those_that_were_not),
        cmocka_unit_test(a_second_call_is_forecast_by_what_the_first_one_took),
        cmocka_unit_test(the_first_call_teaches_its_own_time),
        cmocka_unit_test(the_line_counts_though_every_call_is_thought_to_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
