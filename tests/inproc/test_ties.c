/* SPDX-License-Identifier: Apache-2.0
 *
 * The ties of a hierarchy: start in any order, deaths, restarts, loops, namesakes, and a network that loses,
 * duplicates and reorders.
 */
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"
#include "util/clock.h"
#include "util/metrics.h"
#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>

static struct platform platform;

static int setup(void **state)
{
    (void)state;
    platform_open(&platform, 11);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    platform_close(&platform);
    return 0;
}

static size_t nodes(size_t agent)
{
    return platform_figures(&platform, agent).nodes;
}

static enum esp_status submit(const char *server)
{
    struct request request = platform_request("job", 1e6);
    struct message reply = {0};
    request.server = server;
    enum esp_status status = platform_submit(&platform, "ma", &request, &reply, NULL);
    message_clear(&reply);
    return status;
}

static void children_may_start_long_before_their_parents(void **state)
{
    (void)state;
    char name[64], parent[64];
    platform_server(&platform, "s", "la-4");
    platform_run_ms(&platform, 20000);
    for (int depth = 4; depth >= 1; depth--) {
        snprintf(name, sizeof name, "la-%d", depth);
        snprintf(parent, sizeof parent, depth > 1 ? "la-%d" : "ma", depth - 1);
        platform_agent(&platform, name, parent);
        platform_run_ms(&platform, 7000);
    }
    size_t master = platform_agent(&platform, "ma", "");
    assert_true(platform_settle(&platform, master, 5, 10000));
    assert_int_equal(submit("s"), ESP_OK);
}

static void any_order_makes_the_same_tree(void **state)
{
    (void)state;
    enum { AGENTS = 9, SERVERS = 12 };
    struct random random;
    random_seed(&random, 5);
    for (int round = 0; round < 10; round++) {
        size_t order[AGENTS + SERVERS], master = 0;
        for (size_t i = 0; i < AGENTS + SERVERS; i++)
            order[i] = i;
        for (size_t i = AGENTS + SERVERS - 1; i > 0; i--) {
            size_t j = random_below(&random, i + 1), other = order[i];
            order[i] = order[j];
            order[j] = other;
        }
        for (size_t i = 0; i < AGENTS + SERVERS; i++) {
            char name[64], parent[64];
            size_t n = order[i];
            /* Agent 0 is the master; agent n hangs below agent (n - 1) / 2; servers below the agents. */
            if (n == 0)
                snprintf(name, sizeof name, "ma");
            else
                snprintf(name, sizeof name, "n-%zu", n);
            size_t up = n < AGENTS ? (n - 1) / 2 : (n - AGENTS) % AGENTS;
            snprintf(parent, sizeof parent, up ? "n-%zu" : "ma", up);
            if (n >= AGENTS)
                platform_server(&platform, name, parent);
            else if (n > 0)
                platform_agent(&platform, name, parent);
            else
                master = platform_agent(&platform, "ma", "");
            platform_run_ms(&platform, (int64_t)random_below(&random, 700));
        }
        assert_true(platform_settle(&platform, master, AGENTS + SERVERS - 1, 20000));
        teardown(NULL);
        setup(NULL);
    }
}

static void orphans_go_to_the_grandparent_and_return(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 3);
    platform_agent_kill(&platform, 1);
    /* The other leader with its servers, and the orphans. */
    assert_true(platform_settle(&platform, 0, 1 + 3 + 3, 15000));
    assert_int_equal(submit("s-0-1"), ESP_OK);
    platform_agent_start(&platform, 1);
    assert_true(platform_settle(&platform, 0, 2 + 6, 15000));
    assert_int_equal(submit("s-0-1"), ESP_OK);
}

/* However long it was cut off: who searches for long does so seldom, but not too seldom. */
static void a_leader_that_was_cut_off_for_a_minute_is_soon_back(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 3);
    for (int i = 0; i < 5; i++) {
        inproc_partition(platform.transport, "ma", "la-0", true);
        inproc_partition(platform.transport, "la-1", "la-0", true);
        platform_run_ms(&platform, 60000);
        assert_int_equal(nodes(0), 4);
        inproc_partition(platform.transport, "ma", "la-0", false);
        inproc_partition(platform.transport, "la-1", "la-0", false);
        assert_true(platform_settle(&platform, 0, 8, 3500));
    }
}

static void a_restarted_agent_is_found_again_with_all_below_it(void **state)
{
    (void)state;
    platform_tree(&platform, 3, 3);
    platform_agent_kill(&platform, 2);
    platform_run_ms(&platform, 1500);
    platform_agent_start(&platform, 2);
    assert_true(platform_settle(&platform, 0, 12, 15000));
    assert_int_equal(submit("s-1-2"), ESP_OK); /* below it again, or still below the master */
    platform_agent_kill(&platform, 0);
    platform_agent_start(&platform, 0); /* at once: its children learn it from their next report */
    assert_true(platform_settle(&platform, 0, 12, 15000));
    assert_int_equal(submit("s-1-1"), ESP_OK);
}

static enum esp_status describe(const char *problem)
{
    struct message request = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = problem}}, reply = {0};
    enum esp_status status = transport_call(platform.transport, "ma", &request, 30000, &reply, NULL);
    message_clear(&reply);
    return status;
}

/* It answers when it has heard of them, and says no only when it must have. */
static void a_restarted_master_refuses_nobody_before_it_knows_its_servers(void **state)
{
    (void)state;
    platform.agent_options.learning_ms = 6000;
    platform_tree(&platform, 2, 2);
    for (int what = 0; what < 3; what++) {
        platform_agent_kill(&platform, 0);
        platform_agent_start(&platform, 0);
        const int64_t start_ns = inproc_now_ns(platform.transport);
        const enum esp_status status = what == 0 ? submit("") : what == 1 ? submit("s-1-1") : describe("job");
        assert_int_equal(status, ESP_OK);
        assert_true(inproc_now_ns(platform.transport) - start_ns < 5 * NS_PER_S);
        assert_int_equal(describe("nothing"), ESP_UNKNOWN_PROBLEM);
        assert_int_equal(submit("nobody"), ESP_NO_SERVER);
        assert_true(inproc_now_ns(platform.transport) - start_ns >= 6 * NS_PER_S);
        const int64_t later_ns = inproc_now_ns(platform.transport);
        assert_int_equal(describe("nothing"), ESP_UNKNOWN_PROBLEM);
        assert_true(inproc_now_ns(platform.transport) - later_ns < NS_PER_S);
    }
}

static void a_dead_server_is_forgotten_everywhere(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 2);
    platform_server_kill(&platform, platform.servers[0]);
    platform_run_ms(&platform, 6000); /* a missed heartbeat and a broken connection; the lease is longer */
    assert_int_equal(nodes(0), 5);
    assert_int_equal(nodes(1), 1);
    assert_int_equal(submit("s-0-0"), ESP_NO_SERVER);
    platform_server(&platform, "s-0-0", "la-0");
    assert_true(platform_settle(&platform, 0, 6, 5000));
    assert_int_equal(submit("s-0-0"), ESP_OK);
}

/* Whether it was lost directly below the master or further down, until it is back. */
static void nobody_has_a_problem_only_where_nobody_is_lost(void **state)
{
    (void)state;
    const char *const two[] = {"job", "rare"}, *const *usual = platform.server_options.problems;
    const size_t n_usual = platform.server_options.n_problems;
    platform_tree(&platform, 2, 2);
    platform.server_options.problems = two;
    platform.server_options.n_problems = 2;
    platform_server(&platform, "polite", "ma");
    assert_true(platform_settle(&platform, 0, 7, 5000));
    assert_int_equal(describe("rare"), ESP_OK);
    simulated_stop(platform.servers[--platform.n_servers]); /* one that says goodbye is not missed */
    platform_run_ms(&platform, 2000);
    assert_int_equal(describe("rare"), ESP_UNKNOWN_PROBLEM);
    for (size_t deep = 0; deep < 2; deep++) {
        const char *name = deep ? "deep" : "near";
        struct simulated_server *server = platform_server(&platform, name, deep ? "la-0" : "ma");
        assert_true(platform_settle(&platform, 0, 7, 5000));
        assert_int_equal(describe("rare"), ESP_OK);
        platform_server_kill(&platform, server);
        platform_run_ms(&platform, 6000);
        assert_int_equal(nodes(0), 6);
        assert_int_equal(describe("rare"), ESP_NO_SERVER);
        assert_int_equal(describe("nothing"), ESP_UNKNOWN_PROBLEM); /* nobody ever had it */
        assert_int_equal(describe("job"), ESP_OK);                  /* others have it */
        server = platform_server(&platform, name, "la-1");
        assert_true(platform_settle(&platform, 0, 7, 5000));
        platform_run_ms(&platform, 2000);
        assert_int_equal(describe("rare"), ESP_OK);
        platform_server_kill(&platform, server);
        platform_run_ms(&platform, 6000);
    }
    platform.server_options.problems = usual;
    platform.server_options.n_problems = n_usual;
}

static void a_server_that_leaves_is_forgotten_at_once(void **state)
{
    (void)state;
    platform_tree(&platform, 1, 2);
    simulated_stop(platform.servers[1]);
    platform.n_servers = 1;
    platform_run_ms(&platform, 100);
    assert_int_equal(nodes(0), 2);
}

static void a_silent_subtree_is_lost_when_its_lease_ends_and_comes_back(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 2);
    inproc_partition(platform.transport, "ma", "la-1", true);
    platform_run_ms(&platform, 4000);
    assert_int_equal(nodes(0), 6);
    platform_run_ms(&platform, 8000);
    assert_int_equal(nodes(0), 3);
    assert_int_equal(nodes(2), 2);
    inproc_partition(platform.transport, "ma", "la-1", false);
    assert_true(platform_settle(&platform, 0, 6, 15000));
}

static void a_loop_is_not_entered(void **state)
{
    (void)state;
    platform_agent(&platform, "a", "c");
    platform_agent(&platform, "b", "a");
    platform_agent(&platform, "c", "b");
    platform_server(&platform, "s", "c");
    for (int i = 0; i < 60; i++) {
        platform_run_ms(&platform, 1000);
        /* Never may a node stand below itself: then all three would know three nodes or more. */
        assert_false(i > 20 && nodes(0) >= 3 && nodes(1) >= 3 && nodes(2) >= 3);
    }
    struct inproc_counters before, after;
    inproc_counters(platform.transport, &before);
    platform_run_ms(&platform, 10000);
    inproc_counters(platform.transport, &after);
    assert_true(after.messages - before.messages < 300); /* quiet */
}

static void a_namesake_is_refused_until_the_first_one_is_gone(void **state)
{
    (void)state;
    platform_agent(&platform, "ma", "");
    struct simulated_server *first = platform_server(&platform, "s", "ma");
    assert_true(platform_settle(&platform, 0, 1, 5000));
    platform.server_options.address = INPROC_LISTEN "elsewhere";
    struct simulated_server *second = platform_server(&platform, "s", "ma");
    platform.server_options.address = NULL;
    platform_run_ms(&platform, 20000);
    assert_true(simulated_joined(first));
    assert_false(simulated_joined(second));
    assert_non_null(strstr(simulated_why(second), "key \"name\""));
    assert_int_equal(simulated_tellings(second), 1); /* of many tries */
    assert_int_equal(nodes(0), 1);
    inproc_kill(platform.transport, "s");
    platform_run_ms(&platform, 12000);
    assert_true(simulated_joined(second));
    assert_int_equal(nodes(0), 1);
    assert_int_equal(submit("s"), ESP_OK);
}

static void a_namesake_of_its_agent_is_told_so(void **state)
{
    (void)state;
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la", "ma");
    assert_true(platform_settle(&platform, 0, 1, 5000));
    platform.server_options.address = INPROC_LISTEN "elsewhere";
    struct simulated_server *server = platform_server(&platform, "ma", "la");
    platform.server_options.address = NULL;
    platform_run_ms(&platform, 5000);
    assert_false(simulated_joined(server));
    assert_non_null(strstr(simulated_why(server), "\"ma\" is the name of an agent above this server, too"));
}

static struct simulated_server *server_elsewhere(const char *name, const char *parent)
{
    platform.server_options.address = INPROC_LISTEN "elsewhere";
    struct simulated_server *server = platform_server(&platform, name, parent);
    platform.server_options.address = NULL;
    return server;
}

static void a_namesake_below_another_agent_is_refused_until_the_first_one_is_gone(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 1);
    platform_agent(&platform, "deep", "la-1");
    assert_true(platform_settle(&platform, 0, 5, 5000));
    struct simulated_server *first = platform.servers[0];
    struct simulated_server *second = server_elsewhere("s-0-0", "deep");
    platform_run_ms(&platform, 2000);
    assert_true(simulated_joined(first));
    assert_false(simulated_joined(second));
    const char *why = simulated_why(second);
    assert_non_null(strstr(why, "\"s-0-0\" lives at s-0-0 below \"la-0\""));
    assert_non_null(strstr(why, "another name"));
    assert_int_equal(nodes(0), 5);
    assert_int_equal(nodes(3), 0);
    assert_int_equal(submit("s-0-0"), ESP_OK);
    platform_run_ms(&platform, 60000); /* it tries again, in vain */
    assert_true(simulated_joined(first));
    assert_false(simulated_joined(second));
    platform_server_kill(&platform, first);
    platform_run_ms(&platform, 80000);
    assert_true(simulated_joined(second));
    assert_int_equal(nodes(3), 1);
    assert_int_equal(submit("s-0-0"), ESP_OK);
}

static void a_child_of_the_master_with_a_name_from_below_is_refused(void **state)
{
    (void)state;
    platform_tree(&platform, 1, 1);
    struct simulated_server *second = server_elsewhere("s-0-0", "ma");
    platform_run_ms(&platform, 1000);
    assert_false(simulated_joined(second));
    assert_non_null(strstr(simulated_why(second), "below \"la-0\""));
    assert_int_equal(nodes(0), 2);
}

static void a_restart_at_the_same_address_takes_the_place_over(void **state)
{
    (void)state;
    platform_agent(&platform, "ma", "");
    struct simulated_server *server = platform_server(&platform, "s", "ma");
    assert_true(platform_settle(&platform, 0, 1, 5000));
    platform_server_kill(&platform, server);
    server = platform_server(&platform, "s", "ma");
    platform_run_ms(&platform, 1000);
    assert_true(simulated_joined(server));
    assert_int_equal(submit("s"), ESP_OK);
}

static void a_server_that_moved_is_known_where_it_is_now(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 1);
    struct simulated_server *server = platform.servers[0];
    platform_server_kill(&platform, server);
    platform_server(&platform, "s-0-0", "la-1"); /* la-0 has not noticed yet */
    platform_run_ms(&platform, 15000);
    assert_int_equal(nodes(0), 4);
    assert_int_equal(nodes(1), 0);
    assert_int_equal(nodes(2), 2);
    assert_int_equal(submit("s-0-0"), ESP_OK);
}

static void requests_during_restarts_are_answered_one_way_or_the_other(void **state)
{
    (void)state;
    platform.agent_options.freshness_ms = -1;
    platform.agent_options.answer_timeout_ms = 300;
    platform_tree(&platform, 3, 3);
    int answered = 0;
    for (int round = 0; round < 12; round++) {
        size_t which = 1 + (size_t)round % 3;
        platform_agent_kill(&platform, which);
        answered += submit("") == ESP_OK;
        platform_agent_start(&platform, which);
        answered += submit("") == ESP_OK;
        platform_run_ms(&platform, 3000);
    }
    assert_in_range(answered, 20, 24);
    assert_true(platform_settle(&platform, 0, 12, 15000));
    for (size_t i = 0; i < platform.n_agents; i++)
        assert_int_equal(platform_figures(&platform, i).questions, 0);
}

/* After any faults of the network the tree becomes whole when the network is good again, and no placement
 * stays behind. */
/* More below one agent than one message holds: few servers, each with a long record. */
enum { FAT_SERVERS = 300, FAT_SLOTS = 4096 };

static size_t fat_tree(void)
{
    char name[64];
    platform.server_options.slots = FAT_SLOTS;
    size_t leader = platform_agent(&platform, "la", "ma");
    for (int i = 0; i < FAT_SERVERS; i++) {
        snprintf(name, sizeof name, "s-%d", i);
        platform_server(&platform, name, "la");
    }
    assert_true(platform_settle(&platform, leader, FAT_SERVERS, 20000));
    return leader;
}

static void what_is_too_much_for_one_message_comes_in_several(void **state)
{
    (void)state;
    fat_tree();
    size_t master = platform_agent(&platform, "ma", "");
    assert_true(platform_settle(&platform, master, FAT_SERVERS + 1, 10000));
    assert_int_equal(submit("s-0"), ESP_OK);
    platform_agent_kill(&platform, master);
    platform_server_kill(&platform, platform.servers[7]);
    platform_agent_start(&platform, master);
    assert_true(platform_settle(&platform, master, FAT_SERVERS, 30000));
    assert_int_equal(submit("s-299"), ESP_OK);
}

static void a_part_that_got_lost_is_said_again(void **state)
{
    (void)state;
    fat_tree();
    const struct inproc_faults faults = {.lose = 0.15, .jitter_ns = 20 * NS_PER_MS};
    inproc_set_faults(platform.transport, &faults);
    size_t master = platform_agent(&platform, "ma", "");
    platform_run_ms(&platform, 10000);
    platform_server_kill(&platform, platform.servers[7]);
    inproc_set_faults(platform.transport, &(struct inproc_faults){0});
    assert_true(platform_settle(&platform, master, FAT_SERVERS, 30000));
}

static void under_faults(const struct inproc_faults *faults, int64_t freshness_ms)
{
    struct inproc_faults good = {.latency_ns = NS_PER_MS};
    platform.agent_options.freshness_ms = freshness_ms;
    platform.agent_options.answer_timeout_ms = 500;
    platform.agent_options.placement_lease_ms = 4000;
    inproc_set_faults(platform.transport, faults);
    char name[64], parent[64];
    platform_agent(&platform, "ma", "");
    for (int i = 0; i < 3; i++) {
        snprintf(parent, sizeof parent, "la-%d", i);
        platform_agent(&platform, parent, "ma");
        for (int j = 0; j < 4; j++) {
            snprintf(name, sizeof name, "s-%d-%d", i, j);
            platform_server(&platform, name, parent);
        }
    }
    for (int i = 0; i < 60; i++) {
        platform_run_ms(&platform, 500);
        submit("");
        if (i % 20 == 7)
            platform_agent_kill(&platform, 1 + (size_t)i / 20);
        if (i % 20 == 12)
            platform_agent_start(&platform, 1 + (size_t)i / 20);
    }
    inproc_set_faults(platform.transport, &good);
    assert_true(platform_settle(&platform, 0, 15, 30000));
    platform_run_ms(&platform, 8000);
    for (size_t i = 0; i < platform.n_agents; i++) {
        assert_int_equal(platform_figures(&platform, i).pending, 0);
        assert_int_equal(platform_figures(&platform, i).questions, 0);
    }
    for (size_t i = 0; i < platform.n_servers; i++) {
        assert_int_equal(simulated_promises(platform.servers[i]), 0);
        assert_int_equal(submit(simulated_name(platform.servers[i])), ESP_OK);
    }
}

static void lost_messages_do_no_lasting_harm(void **state)
{
    (void)state;
    under_faults(&(struct inproc_faults){.latency_ns = NS_PER_MS, .lose = 0.2, .maybe = 0.1}, 0);
}

static void doubled_messages_do_no_lasting_harm(void **state)
{
    (void)state;
    under_faults(&(struct inproc_faults){.latency_ns = NS_PER_MS, .duplicate = 0.5}, -1);
}

static void reordered_messages_do_no_lasting_harm(void **state)
{
    (void)state;
    under_faults(&(struct inproc_faults){.latency_ns = NS_PER_MS, .jitter_ns = 400 * NS_PER_MS}, 0);
}

static void all_faults_at_once_do_no_lasting_harm(void **state)
{
    (void)state;
    under_faults(&(struct inproc_faults){.latency_ns = 5 * NS_PER_MS,
                                         .jitter_ns = 100 * NS_PER_MS,
                                         .lose = 0.15,
                                         .duplicate = 0.15,
                                         .maybe = 0.1},
                 -1);
}

/* ---- a machine at full load ---- */

/* How often an agent has lost a child so far. */
static double lost_by(size_t agent)
{
    struct metrics metrics = {0};
    double n = -1;
    agent_metrics(platform.agents[agent].agent, &metrics);
    const char *line = strstr(metrics.text, "\nespalier_agent_children_lost_total ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, " %*s %lf", &n), 1);
    metrics_release(&metrics);
    return n;
}

/* Deliveries that take longer and longer, up to twice the lease, in no order: ten minutes at a load that
 * grows to 20. */
static void nobody_is_taken_for_dead_on_a_loaded_machine(void **state)
{
    (void)state;
    struct simulated_server *servers[6];
    platform.agent_options.heartbeat_ms = 1000;
    platform.agent_options.lease_ms = 5000;
    platform_agent(&platform, "ma", "");
    size_t la = platform_agent(&platform, "la", "ma");
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "s-%d", i);
        servers[i] = platform_server(&platform, name, "la");
    }
    assert_true(platform_settle(&platform, 0, 7, 5000));
    for (int64_t jitter_ms = 500; jitter_ms <= 10000; jitter_ms += 500) {
        const struct inproc_faults faults = {.latency_ns = 20 * NS_PER_MS,
                                             .jitter_ns = jitter_ms * NS_PER_MS};
        inproc_set_faults(platform.transport, &faults);
        platform_run_ms(&platform, 30000);
    }
    assert_true(lost_by(0) == 0);
    assert_true(lost_by(la) == 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(simulated_tellings(servers[i]), 0); /* never without a parent */
    /* The load is over: a real death is known as soon as ever, the silent one's within the bound. */
    inproc_set_faults(platform.transport, &(struct inproc_faults){.latency_ns = NS_PER_MS});
    platform_run_ms(&platform, 60000);
    assert_int_equal(nodes(0), 7);
    inproc_kill(platform.transport, "s-0");
    platform_run_ms(&platform, 2500);
    assert_int_equal(nodes(0), 6);
    simulated_mute(servers[1], true);
    platform_run_ms(&platform, 5000 + 1500);
    assert_int_equal(nodes(0), 5);
}

/* Long before they would have been missed by their heartbeats. */
static void who_dies_while_idle_is_forgotten_at_once(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 2);
    platform_run_ms(&platform, 5000);
    platform_server_kill(&platform, platform.servers[0]);
    platform_run_ms(&platform, 50);
    assert_int_equal(nodes(1), 1);
    assert_int_equal(nodes(0), 5);
    assert_int_equal(submit("s-0-0"), ESP_NO_SERVER);
    platform_agent_kill(&platform, 2);
    platform_run_ms(&platform, 10); /* its servers look for another parent after this */
    assert_int_equal(nodes(0), 2);
    platform_run_ms(&platform, 500);
    assert_int_equal(nodes(0), 4);
    assert_int_equal(submit("s-1-1"), ESP_OK);
}

static void who_only_hangs_up_stays(void **state)
{
    (void)state;
    static const char *const names[] = {"ma", "la-0", "la-1", "s-0-0", "s-1-1"};
    platform_tree(&platform, 2, 2);
    for (size_t i = 0; i < 100; i++) {
        inproc_hang_up(platform.transport, names[i % 5]);
        platform_run_ms(&platform, 37);
        assert_int_equal(nodes(0), 6);
    }
    for (size_t i = 0; i < platform.n_agents; i++)
        assert_true(lost_by(i) == 0);
    for (size_t i = 0; i < platform.n_servers; i++)
        assert_int_equal(simulated_tellings(platform.servers[i]), 0); /* never without a parent */
}

static void renew_terms(size_t agent, int64_t heartbeat_ms, int64_t lease_ms)
{
    struct agent_options options = platform.agent_options;
    struct esp_error error;
    options.heartbeat_ms = heartbeat_ms;
    options.lease_ms = lease_ms;
    assert_int_equal(agent_renew(platform.agents[agent].agent, &options, "", &error), ESP_OK);
}

/* Nobody misses the change, in either direction; who falls silent afterwards is missed as is agreed now. */
static void how_children_keep_in_touch_can_be_changed_while_they_work(void **state)
{
    (void)state;
    platform.agent_options.heartbeat_ms = 60000;
    platform.agent_options.lease_ms = 120000;
    platform_tree(&platform, 1, 3);
    platform_run_ms(&platform, 55000);
    for (int i = 0; i < 3; i++) {
        const bool soon = i % 2 == 0;
        for (size_t agent = 0; agent < 2; agent++)
            renew_terms(agent, soon ? 200 : 60000, soon ? 1000 : 120000);
        platform_run_ms(&platform, 3000);
        assert_int_equal(nodes(0), 4);
    }
    assert_true(lost_by(0) == 0);
    assert_true(lost_by(1) == 0);
    simulated_mute(platform.servers[0], true);
    platform_run_ms(&platform, 4500); /* four leases at most */
    assert_int_equal(nodes(0), 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(children_may_start_long_before_their_parents),
        TEST(any_order_makes_the_same_tree),
        TEST(orphans_go_to_the_grandparent_and_return),
        TEST(a_leader_that_was_cut_off_for_a_minute_is_soon_back),
        TEST(a_restarted_agent_is_found_again_with_all_below_it),
        TEST(a_restarted_master_refuses_nobody_before_it_knows_its_servers),
        TEST(a_dead_server_is_forgotten_everywhere),
        TEST(nobody_has_a_problem_only_where_nobody_is_lost),
        TEST(a_server_that_leaves_is_forgotten_at_once),
        TEST(a_silent_subtree_is_lost_when_its_lease_ends_and_comes_back),
        TEST(nobody_is_taken_for_dead_on_a_loaded_machine),
        TEST(who_dies_while_idle_is_forgotten_at_once),
        TEST(who_only_hangs_up_stays),
        TEST(how_children_keep_in_touch_can_be_changed_while_they_work),
        TEST(a_loop_is_not_entered),
        TEST(a_namesake_is_refused_until_the_first_one_is_gone),
        TEST(a_namesake_of_its_agent_is_told_so),
        TEST(a_namesake_below_another_agent_is_refused_until_the_first_one_is_gone),
        TEST(a_child_of_the_master_with_a_name_from_below_is_refused),
        TEST(a_restart_at_the_same_address_takes_the_place_over),
        TEST(a_server_that_moved_is_known_where_it_is_now),
        TEST(requests_during_restarts_are_answered_one_way_or_the_other),
        TEST(lost_messages_do_no_lasting_harm),
        TEST(doubled_messages_do_no_lasting_harm),
        TEST(reordered_messages_do_no_lasting_harm),
        TEST(all_faults_at_once_do_no_lasting_harm),
        TEST(what_is_too_much_for_one_message_comes_in_several),
        TEST(a_part_that_got_lost_is_said_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
