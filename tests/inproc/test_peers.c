/* SPDX-License-Identifier: Apache-2.0
 *
 * Master agents that pass on requests that they cannot serve: to each other master once, also when some
 * are dead or cut off. */
#include "redirector/redirector.h"
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"
#include "util/clock.h"
#include "util/metrics.h"

#include <stdio.h>
#include <string.h>

#define N_MASTERS 4

static struct platform platform;
static struct redirector *redirector;
static struct agent *masters[N_MASTERS];
static const char *const names[N_MASTERS] = {"ma-0", "ma-1", "ma-2", "ma-3"};

static void start_master(int i)
{
    static const char *const redirectors[] = {"red"};
    struct agent_options options = platform.agent_options;
    struct esp_error error;
    options.name = options.listen = names[i];
    options.incarnation = ++platform.incarnations;
    options.redirectors = redirectors;
    options.n_redirectors = 1;
    options.freshness_ms = i == 3 ? -1 : 0; /* the last one asks its servers each time */
    assert_int_equal(agent_create(&options, platform.transport, &masters[i], &error), ESP_OK);
}

static int setup(void **state)
{
    (void)state;
    platform_open(&platform, 12);
    const struct redirector_options options = {.name = "red", .listen = "red", .incarnation = 900};
    struct esp_error error;
    if (redirector_create(&options, platform.transport, &redirector, &error) != ESP_OK)
        return -1;
    for (int i = 0; i < N_MASTERS; i++)
        start_master(i);
    platform_run_ms(&platform, 1000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < N_MASTERS; i++)
        agent_drop(masters[i]);
    redirector_stop(redirector, "end");
    platform_close(&platform);
    return 0;
}

static enum esp_status submit_work(const char *master, const char *server, double flop, char *chosen,
                                   struct esp_error *error)
{
    struct request request = platform_request("job", flop);
    struct message reply = {0};
    request.server = server;
    enum esp_status status = platform_submit(&platform, master, &request, &reply, error);
    if (status == ESP_OK)
        snprintf(chosen, CAP_NAME + 1, "%s", reply.submit_reply.candidates[0].server);
    message_clear(&reply);
    return status;
}

static enum esp_status submit(const char *master, const char *server, char *chosen, struct esp_error *error)
{
    return submit_work(master, server, 1e6, chosen, error);
}

struct passed_sums {
    double on, here;
};

/* How many requests that master has passed on, and got from others. */
static struct passed_sums passed(int i)
{
    struct metrics metrics = {0};
    struct passed_sums sums = {0};
    agent_metrics(masters[i], &metrics);
    const char *on = strstr(metrics.text, "\nespalier_agent_passed_on_total "),
               *here = strstr(metrics.text, "\nespalier_agent_passed_here_total ");
    assert_non_null(on);
    assert_non_null(here);
    assert_int_equal(sscanf(on, " %*s %lf", &sums.on), 1);
    assert_int_equal(sscanf(here, " %*s %lf", &sums.here), 1);
    metrics_release(&metrics);
    return sums;
}

static void what_one_cannot_serve_another_does(void **state)
{
    (void)state;
    char chosen[CAP_NAME + 1];
    struct esp_error error;
    struct message reply = {0};
    platform_server(&platform, "s", "ma-2");
    platform_run_ms(&platform, 8000); /* nobody waits for children that may still come */
    for (int i = 0; i < N_MASTERS; i++) {
        assert_int_equal(submit(names[i], "", chosen, &error), ESP_OK);
        assert_string_equal(chosen, "s");
        struct message describe = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = "job"}};
        assert_int_equal(transport_call(platform.transport, names[i], &describe, 5000, &reply, &error),
                         ESP_OK);
        assert_non_null(strstr(reply.describe_reply.text, "job"));
        message_clear(&reply);
        struct message tree = {.kind = MESSAGE_TREE, .tree = {.node = "s"}};
        assert_int_equal(transport_call(platform.transport, names[i], &tree, 5000, &reply, &error), ESP_OK);
        assert_string_equal(reply.tree_reply.records[0].address, "s");
        message_clear(&reply);
        platform_run_ms(&platform, 12000); /* the placement has no call and is forgotten */
    }
    assert_true(passed(2).on == 0);
}

static void each_is_asked_once_and_the_first_one_tells_why(void **state)
{
    (void)state;
    char chosen[CAP_NAME + 1];
    struct esp_error error;
    platform_run_ms(&platform, 8000);
    assert_int_equal(submit("ma-1", "", chosen, &error), ESP_UNKNOWN_PROBLEM);
    assert_non_null(strstr(error.text, "ma-1"));
    double on = 0;
    for (int i = 0; i < N_MASTERS; i++) {
        const struct passed_sums sums = passed(i);
        on += sums.on;
        assert_true(sums.here == (i == 1 ? 0 : 1));
    }
    assert_true(on == N_MASTERS - 1);
}

static void dead_and_silent_ones_are_gone_past(void **state)
{
    (void)state;
    char chosen[CAP_NAME + 1];
    struct esp_error error;
    platform_server(&platform, "s", "ma-3");
    platform_run_ms(&platform, 8000);
    /* The redirector has not noticed yet. */
    inproc_kill(platform.transport, "ma-1");
    inproc_partition(platform.transport, "ma-0", "ma-2", true);
    assert_int_equal(submit("ma-0", "s", chosen, &error), ESP_OK);
    assert_string_equal(chosen, "s");
}

static void stop(const char *stopped, bool is)
{
    for (int i = 0; i < N_MASTERS; i++)
        if (strcmp(names[i], stopped) != 0)
            inproc_partition(platform.transport, names[i], stopped, is);
}

static int64_t ms_of(const char *master, enum esp_status expected)
{
    char chosen[CAP_NAME + 1];
    struct esp_error error;
    const int64_t begun_ns = inproc_now_ns(platform.transport);
    assert_int_equal(submit(master, "", chosen, &error), expected);
    return (inproc_now_ns(platform.transport) - begun_ns) / NS_PER_MS;
}

static void who_says_nothing_is_waited_for_once_and_not_for_long(void **state)
{
    (void)state;
    platform_run_ms(&platform, 8000);
    stop("ma-2", true);
    assert_in_range(ms_of("ma-0", ESP_UNKNOWN_PROBLEM), 900, 1200);
    for (int i = 0; i < 3; i++) /* a master that has not noticed does so now */
        ms_of(i == 2 ? "ma-3" : names[i], ESP_UNKNOWN_PROBLEM);
    for (int i = 0; i < N_MASTERS; i++)
        if (i != 2)
            assert_in_range(ms_of(names[i], ESP_UNKNOWN_PROBLEM), 0, 100);
}

static void who_was_silent_is_asked_again(void **state)
{
    (void)state;
    platform_server(&platform, "s", "ma-2");
    platform_run_ms(&platform, 8000);
    stop("ma-2", true);
    ms_of("ma-0", ESP_UNKNOWN_PROBLEM);
    stop("ma-2", false);
    assert_int_equal(ms_of("ma-2", ESP_OK), 0);
    platform_run_ms(&platform, 10000); /* what was passed on to it is lost: it cannot tell */
    ms_of("ma-0", ESP_OK);
}

/* The peer's answer waits for a stopped server, for longer than the peer may take to confirm the request. */
static void who_has_a_request_is_waited_for(void **state)
{
    (void)state;
    char chosen[CAP_NAME + 1];
    struct esp_error error;
    platform_server(&platform, "s-1", "ma-3");
    platform_server(&platform, "s-2", "ma-3");
    platform_run_ms(&platform, 8000);
    inproc_partition(platform.transport, "ma-3", "s-1", true);
    for (int i = 0; i < 2; i++) {
        const int64_t begun_ns = inproc_now_ns(platform.transport);
        assert_int_equal(submit("ma-0", "", chosen, &error), ESP_OK);
        assert_string_equal(chosen, "s-2");
        assert_true(inproc_now_ns(platform.transport) - begun_ns > 1500 * NS_PER_MS);
    }
}

/* Answers as a daemon does. */
static void start_again(int i)
{
    agent_drop(masters[i]);
    platform.agent_options.learning_ms = 750;
    start_master(i);
    platform_run_ms(&platform, 500);
}

static enum esp_status describe(const char *master, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = "job"}}, reply = {0};
    enum esp_status status = transport_call(platform.transport, master, &request, 5000, &reply, error);
    message_clear(&reply);
    return status;
}

static void what_a_fresh_one_does_not_know_yet_another_one_serves(void **state)
{
    (void)state;
    struct esp_error error;
    platform_server(&platform, "s", "ma-2");
    platform_run_ms(&platform, 8000);
    start_again(0);
    const int64_t begun_ns = inproc_now_ns(platform.transport);
    assert_in_range(ms_of("ma-0", ESP_OK), 0, 100);
    assert_int_equal(describe("ma-0", &error), ESP_OK);
    assert_true(inproc_now_ns(platform.transport) - begun_ns < NS_PER_S);
}

/* A server that was below the fresh one comes up below another: what waits is served there. */
static void what_waits_at_a_fresh_one_is_served_where_it_can_be(void **state)
{
    (void)state;
    struct esp_error error;
    platform_run_ms(&platform, 8000);
    start_again(0);
    platform_server(&platform, "s", "ma-2"); /* joins after the request has come */
    assert_in_range(ms_of("ma-0", ESP_OK), 0, 2000);
    assert_int_equal(describe("ma-0", &error), ESP_OK);
}

/* The peer is not sure, and neither is a master that asks it; requests of peers do not wait. */
static void peers_of_a_fresh_one_are_not_sure_either(void **state)
{
    (void)state;
    struct esp_error error;
    platform_run_ms(&platform, 8000);
    start_again(0);
    assert_int_equal(describe("ma-1", &error), ESP_NO_SERVER);
    assert_non_null(strstr(error.text, "\"ma-0\", which was just started and does not know all yet"));
    assert_in_range(ms_of("ma-1", ESP_UNKNOWN_PROBLEM), 0, 100);
    platform_run_ms(&platform, 8000);
    assert_int_equal(describe("ma-1", &error), ESP_UNKNOWN_PROBLEM);
}

static void start_server(const char *name, const char *master, double flops)
{
    platform.server_options.speed_flops = flops;
    platform_server(&platform, name, master);
}

static void assert_chosen(const char *master, double flop, const char *expected)
{
    char chosen[CAP_NAME + 1];
    struct esp_error error;
    assert_int_equal(submit_work(master, "", flop, chosen, &error), ESP_OK);
    assert_string_equal(chosen, expected);
}

/* The last master agent asks its servers for each request, the other ones remember. */
static void a_long_call_goes_to_the_fastest_server_of_all(void **state)
{
    (void)state;
    start_server("s-0", "ma-0", 1e9);
    start_server("s-1", "ma-1", 3e9);
    start_server("s-2", "ma-2", 9e9);
    start_server("s-3", "ma-3", 2e9);
    platform_run_ms(&platform, 8000);
    for (int i = 0; i < N_MASTERS; i++) {
        const double served = passed(2).here;
        assert_chosen(names[i], 1e10, "s-2");
        assert_true(i == 2 || passed(2).here == served + 1);
        platform_run_ms(&platform, 60000); /* the placement has no call and is forgotten */
    }
}

static void a_short_call_stays_below_its_master(void **state)
{
    (void)state;
    start_server("s-0", "ma-0", 1e9);
    start_server("s-1", "ma-1", 9e9);
    platform_run_ms(&platform, 8000);
    assert_chosen("ma-0", 1e6, "s-0");
    assert_true(passed(0).on == 0);
}

/* Each request counts for the next one, wherever it was placed. */
static void busy_servers_of_one_master_give_way_to_idle_ones_of_another(void **state)
{
    (void)state;
    char chosen[CAP_NAME + 1];
    struct esp_error error;
    int n[2] = {0};
    platform.server_options.slots = 1;
    start_server("s-0", "ma-0", 1e9);
    start_server("s-3", "ma-3", 1e9);
    platform_run_ms(&platform, 8000);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(submit_work("ma-0", "", 1e9, chosen, &error), ESP_OK);
        n[strcmp(chosen, "s-3") == 0]++;
    }
    assert_int_equal(n[0], 4);
    assert_int_equal(n[1], 4);
}

/* A peer that says nothing costs a part of the call's time, until all others have noticed. */
static void a_silent_peer_costs_a_long_call_little(void **state)
{
    (void)state;
    char chosen[CAP_NAME + 1];
    struct esp_error error;
    start_server("s-0", "ma-0", 1e9);
    start_server("s-1", "ma-1", 9e9);
    platform_run_ms(&platform, 8000);
    stop("ma-1", true);
    for (int i = 0; i <= N_MASTERS; i++) {
        const int64_t begun_ns = inproc_now_ns(platform.transport);
        assert_int_equal(submit_work("ma-0", "", 1e9, chosen, &error), ESP_OK);
        assert_string_equal(chosen, "s-0");
        assert_true(inproc_now_ns(platform.transport) - begun_ns < (i < N_MASTERS ? 600 : 20) * NS_PER_MS);
    }
}

static int64_t never(void *self)
{
    (void)self;
    return CLOCK_NEVER;
}

static void ignore(void *self, const struct envelope *envelope, const struct message *message)
{
    (void)self;
    (void)envelope;
    (void)message;
}

static void a_stranger_passes_nothing_on(void **state)
{
    (void)state;
    static const struct endpoint_ops ops = {.post = ignore, .due = never};
    const struct endpoint_options options = {
        .name = "stranger", .role = ROLE_MASTER, .incarnation = 5, .listen = "elsewhere"};
    struct endpoint *stranger;
    struct esp_error error;
    struct message message = {.kind = MESSAGE_PASS, .pass = {.id = 7, .address = "elsewhere"}};
    const struct message describe = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = "job"}};
    message.pass.time_left_ms = 1000;
    assert_true(pass_put(&message.pass, &describe));
    assert_false(pass_put(&message.pass, &(struct message){.kind = MESSAGE_LIST}));
    assert_true(pass_put(&message.pass, &describe));
    assert_int_equal(transport_serve(platform.transport, &options, &ops, NULL, &stranger, &error), ESP_OK);
    endpoint_enter(stranger);
    assert_int_equal(endpoint_post(stranger, "ma-0", 0, &message, &error), ESP_OK);
    endpoint_leave(stranger);
    platform_run_ms(&platform, 1000);
    assert_true(passed(0).here == 0);
    endpoint_close(stranger);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_one_cannot_serve_another_does),
        TEST(each_is_asked_once_and_the_first_one_tells_why),
        TEST(dead_and_silent_ones_are_gone_past),
        TEST(who_says_nothing_is_waited_for_once_and_not_for_long),
        TEST(who_was_silent_is_asked_again),
        TEST(who_has_a_request_is_waited_for),
        TEST(a_stranger_passes_nothing_on),
        TEST(what_a_fresh_one_does_not_know_yet_another_one_serves),
        TEST(what_waits_at_a_fresh_one_is_served_where_it_can_be),
        TEST(peers_of_a_fresh_one_are_not_sure_either),
        TEST(a_long_call_goes_to_the_fastest_server_of_all),
        TEST(a_short_call_stays_below_its_master),
        TEST(busy_servers_of_one_master_give_way_to_idle_ones_of_another),
        TEST(a_silent_peer_costs_a_long_call_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
