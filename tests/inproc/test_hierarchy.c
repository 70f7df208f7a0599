/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests through a whole hierarchy, in process and in virtual time.
 */
#include "core/hierarchy/absent.h"
#include "core/forecast/path.h"
#include "core/forecast/told_links.h"
#include "core/problem/problem.h"
#include "core/choice/terms.h"
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>

static struct platform platform;

static int setup(void **state)
{
    (void)state;
    platform_open(&platform, 7);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    platform_close(&platform);
    return 0;
}

static void a_request_is_answered_from_memory_with_ranked_candidates(void **state)
{
    (void)state;
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la", "ma");
    platform.server_options.speed_flops = 1e9;
    struct simulated_server *slow = platform_server(&platform, "slow", "la");
    platform.server_options.speed_flops = 4e9;
    struct simulated_server *fast = platform_server(&platform, "fast", "la");
    assert_true(platform_settle(&platform, 0, 3, 5000));
    struct request request = platform_request("job", 4e9);
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(reply.submit_reply.n_candidates, 2);
    assert_string_equal(reply.submit_reply.candidates[0].server, "fast");
    assert_float_equal(reply.submit_reply.candidates[0].compute_s, 1, 1e-3);
    assert_string_equal(reply.submit_reply.candidates[1].server, "slow");
    assert_false(reply.submit_reply.asked);
    assert_int_equal(reply.submit_reply.capable, 2);
    assert_int_equal(simulated_asks(slow) + simulated_asks(fast), 0);
    message_clear(&reply);
}

static void placements_count_at_once_and_until_their_lease_ends(void **state)
{
    (void)state;
    platform.agent_options.placement_lease_ms = 3000;
    platform_tree(&platform, 1, 2);
    struct request request = platform_request("job", 1e9);
    char first[32] = "", chosen[32];
    struct esp_error error;
    for (int i = 0; i < 2; i++) {
        struct message reply = {0};
        assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
        snprintf(chosen, sizeof chosen, "%s", reply.submit_reply.candidates[0].server);
        assert_string_not_equal(chosen, first);
        assert_true(reply.submit_reply.candidates[0].queue_s == 0);
        snprintf(first, sizeof first, "%s", chosen);
        message_clear(&reply);
    }
    platform_run_ms(&platform, 500);
    assert_int_equal(simulated_promises(platform.servers[0]), 1);
    assert_int_equal(simulated_promises(platform.servers[1]), 1);
    struct message reply = {0};
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_true(reply.submit_reply.candidates[0].queue_s > 0.1);
    message_clear(&reply);
    platform_run_ms(&platform, 8000); /* nobody called */
    assert_int_equal(simulated_promises(platform.servers[0]) + simulated_promises(platform.servers[1]), 0);
    assert_int_equal(platform_figures(&platform, 0).pending, 0);
    assert_int_equal(platform_figures(&platform, 1).pending, 0);
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_true(reply.submit_reply.candidates[0].queue_s == 0);
    message_clear(&reply);
}

static void stale_knowledge_is_not_used(void **state)
{
    (void)state;
    platform.agent_options.freshness_ms = -1;
    platform_tree(&platform, 3, 2);
    struct request request = platform_request("job", 1e9);
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_true(reply.submit_reply.asked);
    assert_int_equal(reply.submit_reply.capable, 6);
    assert_int_equal(reply.submit_reply.n_candidates, 3);
    for (size_t i = 0; i < platform.n_servers; i++)
        assert_int_equal(simulated_asks(platform.servers[i]), 1);
    message_clear(&reply);
}

static void only_children_that_can_solve_it_are_asked(void **state)
{
    (void)state;
    static const char *const other[] = {"other"};
    platform.agent_options.freshness_ms = -1;
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la-a", "ma");
    platform_agent(&platform, "la-b", "ma");
    struct simulated_server *a = platform_server(&platform, "a", "la-a");
    platform.server_options.problems = other;
    struct simulated_server *b = platform_server(&platform, "b", "la-b");
    struct simulated_server *c = platform_server(&platform, "c", "la-a");
    assert_true(platform_settle(&platform, 0, 5, 5000));
    struct request request = platform_request("job", 1e9);
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(simulated_asks(a), 1);
    assert_int_equal(simulated_asks(b), 0);
    assert_int_equal(simulated_asks(c), 0);
    message_clear(&reply);
}

static void holders_of_data_are_asked_too(void **state)
{
    (void)state;
    static const char *const other[] = {"other"}, *const datum[] = {"datum-1"};
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la-a", "ma");
    platform_agent(&platform, "la-b", "ma");
    platform.server_options.link = (struct path){true, 0.001, 1e8, 0};
    struct simulated_server *a = platform_server(&platform, "a", "la-a");
    platform.server_options.problems = other;
    platform.server_options.holds = datum;
    platform.server_options.n_holds = 1;
    struct simulated_server *b = platform_server(&platform, "b", "la-a");
    assert_true(platform_settle(&platform, 0, 4, 5000));
    struct request request = platform_request("job", 1e9);
    struct argument_attribute argument = {.bytes = 200000000, .holder = "b", .datum = "datum-1"};
    request.arguments = &argument;
    request.n_arguments = 1;
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_true(reply.submit_reply.asked);
    assert_int_equal(simulated_asks(a), 1);
    assert_int_equal(simulated_asks(b), 1);
    assert_string_equal(reply.submit_reply.candidates[0].server, "a");
    const struct path way = {true, 0.002, 1e8, 0}; /* from b up and down to a */
    assert_float_equal(reply.submit_reply.candidates[0].transfer_s, path_seconds(&way, 200000000), 1e-6);
    message_clear(&reply);
}

static void refusals_say_why(void **state)
{
    (void)state;
    platform.agent_options.children = 3;
    platform_tree(&platform, 1, 2);
    struct request request = platform_request("jbo", 1e9);
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_UNKNOWN_PROBLEM);
    assert_non_null(strstr(error.text, "did you mean job"));
    message_clear(&reply);
    request = platform_request("job", 1e9);
    request.digest++;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_UNKNOWN_PROBLEM);
    assert_non_null(strstr(error.text, "another signature"));
    message_clear(&reply);
    request = platform_request("job", 1e9);
    request.memory_bytes = UINT64_C(1) << 40;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_NO_SERVER);
    assert_non_null(strstr(error.text, "needs 1.1 TB of memory, the biggest of"));
    message_clear(&reply);
    request = platform_request("job", 1e9);
    request.server = "nobody";
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_NO_SERVER);
    assert_non_null(strstr(error.text, "nobody"));
    message_clear(&reply);
    assert_int_equal(platform_submit(&platform, "la-0", &request, &reply, &error), ESP_REFUSED);
    message_clear(&reply);
    request.server = "";
    const char *excluded[] = {"s-0-0", "s-0-1"};
    request.excluded = excluded;
    request.n_excluded = 1;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(reply.submit_reply.n_candidates, 1);
    assert_string_equal(reply.submit_reply.candidates[0].server, "s-0-1");
    message_clear(&reply);
    request.n_excluded = 2;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_NO_SERVER);
    message_clear(&reply);
    simulated_drain(platform.servers[0], true);
    simulated_drain(platform.servers[1], true);
    platform_run_ms(&platform, 500);
    request.n_excluded = 0;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_NO_SERVER);
    assert_non_null(strstr(error.text, "draining"));
    message_clear(&reply);
}

static void a_bound_server_is_the_only_candidate(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        platform.agent_options.freshness_ms = asked ? -1 : 0;
        if (asked) {
            teardown(NULL);
            setup(NULL);
            platform.agent_options.freshness_ms = -1;
        }
        platform_tree(&platform, 2, 3);
        struct request request = platform_request("job", 1e9);
        request.server = "s-1-2";
        struct message reply = {0};
        struct esp_error error;
        assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
        assert_true(reply.submit_reply.n_candidates >= 1);
        assert_string_equal(reply.submit_reply.candidates[0].server, "s-1-2");
        assert_int_equal(reply.submit_reply.n_candidates, 1);
        message_clear(&reply);
    }
}

static void a_silent_child_is_left_out(void **state)
{
    (void)state;
    platform.agent_options.freshness_ms = -1;
    platform.agent_options.answer_timeout_ms = 500;
    platform_tree(&platform, 2, 2);
    simulated_mute(platform.servers[0], true);
    struct request request = platform_request("job", 1e9);
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(reply.submit_reply.capable, 3);
    for (uint32_t i = 0; i < reply.submit_reply.n_candidates; i++)
        assert_string_not_equal(reply.submit_reply.candidates[i].server, "s-0-0");
    message_clear(&reply);
    for (size_t i = 1; i < platform.n_servers; i++)
        simulated_mute(platform.servers[i], true);
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_UNREACHABLE);
    assert_non_null(strstr(error.text, "did not answer their agent in time"));
    message_clear(&reply);
    assert_int_equal(platform_figures(&platform, 0).questions, 0);
    assert_int_equal(platform_figures(&platform, 1).questions, 0);
}

static void other_signatures_of_a_name_are_problems_of_their_own(void **state)
{
    (void)state;
    platform_agent(&platform, "ma", "");
    platform_server(&platform, "a", "ma");
    platform_server(&platform, "b", "ma");
    platform.server_options.signature = "new";
    platform_server(&platform, "c", "ma");
    assert_true(platform_settle(&platform, 0, 3, 5000));
    struct request request = platform_request("job", 1e9);
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(reply.submit_reply.capable, 2);
    message_clear(&reply);
    request.digest = simulated_digest("job", "new");
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(reply.submit_reply.capable, 1);
    assert_string_equal(reply.submit_reply.candidates[0].server, "c");
    message_clear(&reply);
    struct message describe = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = "job"}};
    assert_int_equal(transport_call(platform.transport, "ma", &describe, 1000, &reply, &error), ESP_OK);
    assert_true(reply.describe_reply.digest == simulated_digest("job", NULL));
    assert_int_equal(reply.describe_reply.servers, 2);
    message_clear(&reply);
    struct message list = {.kind = MESSAGE_LIST, .list = {.after = ""}};
    assert_int_equal(transport_call(platform.transport, "ma", &list, 1000, &reply, &error), ESP_OK);
    assert_int_equal(reply.list_reply.n, 2);
    assert_string_equal(reply.list_reply.items[0].problem, "job");
    assert_string_equal(reply.list_reply.items[0].gams, "Z");
    message_clear(&reply);
}

static void the_tree_is_told_parents_first(void **state)
{
    (void)state;
    platform_tree(&platform, 2, 3);
    struct message tree = {.kind = MESSAGE_TREE, .tree = {.node = ""}}, reply = {0};
    struct esp_error error;
    assert_int_equal(transport_call(platform.transport, "ma", &tree, 1000, &reply, &error), ESP_OK);
    assert_int_equal(reply.tree_reply.n_records, 9);
    assert_string_equal(reply.tree_reply.records[0].name, "ma");
    for (uint32_t i = 1; i < reply.tree_reply.n_records; i++) {
        const struct node_record *record = &reply.tree_reply.records[i];
        bool found = false;
        for (uint32_t j = 0; j < i; j++)
            found = found || strcmp(reply.tree_reply.records[j].name, record->parent) == 0;
        assert_true(found);
        assert_int_equal(record->role, i < 3 ? ROLE_LEADER : ROLE_SERVER);
    }
    message_clear(&reply);
    tree.tree.node = "s-1-1";
    assert_int_equal(transport_call(platform.transport, "ma", &tree, 1000, &reply, &error), ESP_OK);
    assert_int_equal(reply.tree_reply.n_records, 1);
    assert_string_equal(reply.tree_reply.records[0].parent, "la-1");
    message_clear(&reply);
    /* An agent that was just started does not know all servers yet. */
    tree.tree.node = "nowhere";
    assert_int_equal(transport_call(platform.transport, "ma", &tree, 1000, &reply, &error), ESP_NO_SERVER);
    message_clear(&reply);
    platform_run_ms(&platform, 20000);
    assert_int_equal(transport_call(platform.transport, "ma", &tree, 1000, &reply, &error), ESP_NOT_FOUND);
    message_clear(&reply);
}

static const struct node_record *record_of(const struct message *reply, const char *name)
{
    for (uint32_t i = 0; i < reply->tree_reply.n_records; i++)
        if (strcmp(reply->tree_reply.records[i].name, name) == 0)
            return &reply->tree_reply.records[i];
    return NULL;
}

static void ask_tree(struct message *reply)
{
    struct message tree = {.kind = MESSAGE_TREE, .tree = {.node = ""}};
    struct esp_error error;
    memset(reply, 0, sizeof *reply);
    assert_int_equal(transport_call(platform.transport, "ma", &tree, 5000, reply, &error), ESP_OK);
}

static void what_a_leader_lost_is_in_the_masters_tree(void **state)
{
    (void)state;
    struct message reply;
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la", "ma");
    platform_agent(&platform, "inner", "la");
    struct simulated_server *lost = platform_server(&platform, "s-lost", "inner");
    platform_server(&platform, "s-stays", "inner");
    assert_true(platform_settle(&platform, 0, 4, 20000));
    platform_server_kill(&platform, lost);
    platform_run_ms(&platform, 60000);
    ask_tree(&reply);
    const struct node_record *record = record_of(&reply, "s-lost");
    assert_non_null(record);
    assert_non_null(extension_find(&record->extensions, EXTENSION_UNREACHABLE));
    assert_string_equal(record->parent, "inner");
    assert_string_equal(record->address, "s-lost");
    assert_int_equal(record->role, ROLE_SERVER);
    assert_true(record->age_s > 50 && record->age_s < 70);
    assert_null(extension_find(&record_of(&reply, "s-stays")->extensions, EXTENSION_UNREACHABLE));
    assert_int_equal(record_of(&reply, "inner")->extensions.n, 0);
    message_clear(&reply);
    platform_server(&platform, "s-lost", "ma");
    platform_run_ms(&platform, 5000);
    ask_tree(&reply);
    assert_int_equal(reply.tree_reply.n_records, 5);
    assert_string_equal(record_of(&reply, "s-lost")->parent, "ma");
    assert_int_equal(record_of(&reply, "s-lost")->extensions.n, 0);
    message_clear(&reply);
}

static void a_leader_on_loopback_is_told_also_when_it_has_lost_servers(void **state)
{
    (void)state;
    struct message reply;
    platform_agent(&platform, "ma", "");
    platform.agent_options.loopback_only = true;
    platform_agent(&platform, "la", "ma");
    platform.agent_options.loopback_only = false;
    struct simulated_server *lost = platform_server(&platform, "s-lost", "la");
    assert_true(platform_settle(&platform, 0, 2, 20000));
    for (int n_lost = 0; n_lost < 2; n_lost++) {
        ask_tree(&reply);
        assert_non_null(extension_find(&record_of(&reply, "la")->extensions, EXTENSION_LOOPBACK_ONLY));
        assert_null(extension_find(&record_of(&reply, "ma")->extensions, EXTENSION_LOOPBACK_ONLY));
        message_clear(&reply);
        if (n_lost == 0)
            platform_server_kill(&platform, lost);
        platform_run_ms(&platform, 60000);
    }
}

static void every_scheduler_places_sessions_in_both_modes(void **state)
{
    (void)state;
    static const char *const names[] = {"mct", "cheapest", "round-robin", "random", "least-loaded"};
    for (size_t i = 0; i < 10; i++) {
        teardown(NULL);
        setup(NULL);
        platform.agent_options.scheduler = names[i / 2];
        platform.agent_options.freshness_ms = i % 2 ? -1 : 0;
        platform_tree(&platform, 2, 2);
        struct request request = platform_request("job", 1e9);
        double makespan_s = platform_burst(&platform, &request, 8);
        assert_true(makespan_s > 0);
        if (strcmp(names[i / 2], "random") != 0)
            assert_true(makespan_s < 2.5); /* two on each */
    }
}

/* ---- constraints, in both modes ---- */

static struct arena wants_arena;

static void two_unequal_servers(int asked)
{
    static const char *const gpu[] = {"gpu", "site=lyon"};
    teardown(NULL);
    setup(NULL);
    platform.agent_options.freshness_ms = asked ? -1 : 0;
    platform_agent(&platform, "ma", "");
    platform.server_options.speed_flops = 4e9;
    platform.server_options.price = 40;
    platform_server(&platform, "quick", "ma");
    platform.server_options.speed_flops = 1e9;
    platform.server_options.price = 1;
    platform.server_options.properties = gpu;
    platform.server_options.n_properties = 2;
    platform_server(&platform, "slow", "ma");
    assert_true(platform_settle(&platform, 0, 2, 5000));
    arena_clear(&wants_arena);
}

static enum esp_status chosen(const struct request *request, char *server, struct esp_error *error)
{
    struct message reply = {0};
    enum esp_status status = platform_submit(&platform, "ma", request, &reply, error);
    if (status == ESP_OK)
        strcpy(server, reply.submit_reply.candidates[0].server);
    message_clear(&reply);
    return status;
}

static void a_wanted_property_decides(void **state)
{
    (void)state;
    static const char *const both[] = {"site=lyon", "gpu"}, *const none[] = {"gpu", "tape"};
    for (int asked = 0; asked < 2; asked++) {
        char server[PLATFORM_NAME];
        struct esp_error error;
        two_unequal_servers(asked);
        struct request request = platform_request("job", 4e9);
        assert_int_equal(chosen(&request, server, &error), ESP_OK);
        assert_string_equal(server, "quick");
        terms_add_texts(&request.extensions, EXTENSION_WANTED, both, 2, &wants_arena);
        assert_int_equal(chosen(&request, server, &error), ESP_OK);
        assert_string_equal(server, "slow");
        request.extensions = (struct extensions){0};
        terms_add_texts(&request.extensions, EXTENSION_WANTED, none, 2, &wants_arena);
        assert_int_equal(chosen(&request, server, &error), ESP_NO_SERVER);
        assert_non_null(strstr(error.text, "a server with \"gpu\" and \"tape\""));
    }
    arena_clear(&wants_arena);
}

static void a_deadline_that_nobody_keeps_is_told_at_once(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        char server[PLATFORM_NAME];
        struct esp_error error;
        two_unequal_servers(asked);
        struct request request = platform_request("job", 4e9); /* 1 s, and 4 s */
        terms_add_real(&request.extensions, EXTENSION_FINISH, 0.5, &wants_arena);
        assert_int_equal(chosen(&request, server, &error), ESP_NO_SERVER);
        assert_non_null(strstr(error.text, "within 0.5 s"));
        assert_non_null(strstr(error.text, "on server \"quick\""));
        request.extensions = (struct extensions){0};
        terms_add_real(&request.extensions, EXTENSION_FINISH, 2, &wants_arena);
        request.candidates = 5;
        struct message reply = {0};
        assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
        assert_int_equal(reply.submit_reply.n_candidates, 1); /* the slow one is none */
        message_clear(&reply);
    }
    arena_clear(&wants_arena);
}

/* It is known to solve it, and what it answers is not what is remembered of it. */
static void a_named_server_that_is_not_chosen_is_not_said_to_solve_it_not(void **state)
{
    (void)state;
    char server[PLATFORM_NAME];
    struct esp_error error;
    two_unequal_servers(1);
    struct request request = platform_request("job", 4e9);
    request.server = "quick";
    assert_int_equal(chosen(&request, server, &error), ESP_OK);
    simulated_drain(platform.servers[0], true); /* of which the agent hears later */
    assert_int_equal(chosen(&request, server, &error), ESP_NO_SERVER);
    assert_non_null(strstr(error.text, "\"quick\" has not taken job, which it solves"));
    simulated_drain(platform.servers[0], false);
    platform_run_ms(&platform, 1000);
    terms_add_real(&request.extensions, EXTENSION_FINISH, 20, &wants_arena);
    assert_int_equal(chosen(&request, server, &error), ESP_OK);
    simulated_drain(platform.servers[0], true);
    assert_int_equal(chosen(&request, server, &error), ESP_NO_SERVER);
    assert_non_null(strstr(error.text, "within 20 s: server \"quick\" has not offered to end it by then"));
    arena_clear(&wants_arena);
}

static void a_call_may_take_so_much_memory(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        char server[PLATFORM_NAME];
        struct esp_error error;
        two_unequal_servers(asked);
        struct request request = platform_request("job", 4e9);
        request.memory_bytes = 5000000;
        terms_add_integer(&request.extensions, EXTENSION_MOST_MEMORY, 4000000, &wants_arena);
        assert_int_equal(chosen(&request, server, &error), ESP_NO_SERVER);
        assert_non_null(strstr(error.text, "takes 5 MB of memory where at most 4 MB are wanted"));
        request.extensions = (struct extensions){0};
        terms_add_integer(&request.extensions, EXTENSION_MOST_MEMORY, 6000000, &wants_arena);
        assert_int_equal(chosen(&request, server, &error), ESP_OK);
    }
    arena_clear(&wants_arena);
}

static void the_cheapest_server_that_keeps_the_deadline_is_chosen(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        char server[PLATFORM_NAME];
        struct esp_error error;
        two_unequal_servers(asked);
        struct request request = platform_request("job", 4e9);
        platform_agent_kill(&platform, 0);
        platform.agent_options.scheduler = "cheapest";
        platform_agent_start(&platform, 0);
        assert_true(platform_settle(&platform, 0, 2, 30000));
        assert_int_equal(chosen(&request, server, &error), ESP_OK);
        assert_string_equal(server, "slow");
        terms_add_real(&request.extensions, EXTENSION_FINISH, 2, &wants_arena);
        assert_int_equal(chosen(&request, server, &error), ESP_OK);
        assert_string_equal(server, "quick");
    }
    arena_clear(&wants_arena);
}

/* Of two servers below `parent` the one with the better link is chosen, and then, as that link is busy, the
 * other: slots are free in both. */
static void the_busy_one_is_avoided(const char *parent, size_t nodes)
{
    platform.server_options.link = (struct path){true, 0.001, 1e7, 0};
    platform.server_options.slots = 4;
    platform_server(&platform, "near", parent);
    platform.server_options.link.bandwidth_bps = 8e6;
    platform_server(&platform, "next", parent);
    assert_true(platform_settle(&platform, 0, nodes, 5000));
    struct argument_attribute argument = {.mode = MODE_IN, .bytes = 10000000, .holder = "", .datum = ""};
    struct request request = platform_request("job", 1e9);
    request.arguments = &argument;
    request.n_arguments = 1;
    char server[PLATFORM_NAME];
    struct esp_error error;
    assert_int_equal(chosen(&request, server, &error), ESP_OK);
    assert_string_equal(server, "near");
    request.session.sequence++;
    assert_int_equal(chosen(&request, server, &error), ESP_OK);
    assert_string_equal(server, "next");
}

/* A message that was sent to a server earlier delays the next one. */
static void a_busy_link_is_avoided(void **state)
{
    (void)state;
    platform_agent(&platform, "ma", "");
    the_busy_one_is_avoided("ma", 2);
}

/* The choice is the same by a leader agent that reports only the best server to its master. */
static void leaders_know_what_is_on_its_way(void **state)
{
    (void)state;
    platform.agent_options.freshness_ms = -1;
    platform.agent_options.breadth = 1;
    platform_agent(&platform, "ma", "");
    platform_agent(&platform, "la", "ma");
    the_busy_one_is_avoided("la", 3);
}

static void a_burst_spreads_in_both_modes(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        teardown(NULL);
        setup(NULL);
        struct inproc_faults network = {.latency_ns = NS_PER_MS, .jitter_ns = NS_PER_MS / 5};
        inproc_set_faults(platform.transport, &network);
        platform.agent_options.freshness_ms = asked ? -1 : 0;
        platform.agent_options.breadth = 3;
        platform.server_options.slots = 2;
        platform_tree(&platform, 4, 5);
        struct request request = platform_request("job", 10e9);
        double makespan_s = platform_burst(&platform, &request, 80);
        assert_true(makespan_s > 20 && makespan_s < 20.5); /* 80 jobs on 40 slots of equal speed */
        platform_run_ms(&platform, 1000);
        for (size_t i = 0; i < platform.n_agents; i++)
            assert_int_equal(platform_figures(&platform, i).pending, 0);
    }
}

/* No work is declared, so all forecasts are some microseconds and alike, and none of these calls ends. */
static void endless_calls_without_a_forecast_spread(void **state)
{
    (void)state;
    const int64_t gaps_ms[] = {0, 250};
    for (size_t i = 0; i < 4; i++) {
        struct platform other;
        platform_open(&other, 31);
        other.server_options.least_s = 3600;
        other.server_options.slots = 2;
        if (i / 2)
            other.agent_options.freshness_ms = -1;
        platform_tree(&other, 2, 4);
        struct request request = platform_request("job", 0);
        assert_int_equal(platform_burst_apart(&other, &request, 8, gaps_ms[i % 2], 5000), 8);
        for (size_t j = 0; j < other.n_servers; j++)
            assert_int_equal(simulated_calls(other.servers[j]), 1);
        platform_close(&other);
    }
}

/* Nothing tells how long they take, and one server is nearer than the other: it gets the first one only. */
static void calls_of_unknown_length_do_not_queue_beside_an_idle_server(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct platform other;
        platform_open(&other, 31);
        other.server_options.least_s = 3600;
        other.server_options.slots = 1;
        if (i == 1)
            other.agent_options.freshness_ms = -1; /* asked for each time */
        platform_agent(&other, "ma", "");
        other.server_options.link = (struct path){.known = true, .latency_s = 1e-3, .bandwidth_bps = 1e8};
        platform_server(&other, "near", "ma");
        other.server_options.link.latency_s = 3e-3;
        platform_server(&other, "far", "ma");
        assert_true(platform_settle(&other, 0, 2, 5000));
        struct request request = platform_request("job", 0);
        assert_int_equal(platform_burst_apart(&other, &request, 2, 3, 5000), 2);
        assert_int_equal(simulated_calls(other.servers[0]), 1);
        assert_int_equal(simulated_calls(other.servers[1]), 1);
        platform_close(&other);
    }
}

static void ten_thousand_servers_are_one_tree(void **state)
{
    (void)state;
    platform_tree(&platform, 100, 100);
    struct request request = platform_request("job", 1e9);
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(reply.submit_reply.capable, 10000);
    assert_false(reply.submit_reply.asked);
    message_clear(&reply);
    struct inproc_counters before, after;
    inproc_counters(platform.transport, &before);
    platform_run_ms(&platform, 10000);
    inproc_counters(platform.transport, &after);
    /* A report and a pulse for each of 10,100 ties in each of 5 heartbeats, and little else. */
    assert_in_range(after.messages - before.messages, 90000, 120000);
    platform_agent_kill(&platform, 50);
    platform_run_ms(&platform, 8000);
    assert_int_equal(platform_figures(&platform, 0).nodes, 99 * 101 + 100); /* the orphans are the master's */
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(reply.submit_reply.capable, 10000);
    message_clear(&reply);
    platform_agent_kill(&platform, 0); /* and the master, which begins empty */
    platform_run_ms(&platform, 1000);
    platform_agent_start(&platform, 0);
    assert_true(platform_settle(&platform, 0, 99 * 101 + 100, 5000));
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    assert_int_equal(reply.submit_reply.capable, 10000);
    message_clear(&reply);
}

struct told {
    enum esp_status status;
    bool is_done;
};

static void on_described(void *arg, enum esp_status status, const struct message *reply)
{
    struct told *told = arg;
    told->is_done = true;
    told->status = status == ESP_OK ? message_outcome(reply, NULL) : status;
}

static void who_asks_for_a_description_on_its_way_gets_it(void **state)
{
    (void)state;
    struct inproc_faults network = {.latency_ns = 20 * NS_PER_MS};
    inproc_set_faults(platform.transport, &network);
    platform_agent(&platform, "ma", "");
    platform_server(&platform, "s", "ma");
    /* The answer is at any moment "unknown" or the description, never anything between. */
    for (int i = 0; i < 40; i++) {
        struct message describe = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = "job"}};
        struct told told = {0};
        struct esp_error error;
        assert_int_equal(
            inproc_call_async(platform.transport, "ma", &describe, 5000, on_described, &told, &error),
            ESP_OK);
        for (int ms = 0; !told.is_done && ms < 1000; ms++)
            platform_run_ms(&platform, 1);
        assert_true(told.is_done);
        assert_true(told.status == ESP_OK || (i < 20 && told.status == ESP_UNKNOWN_PROBLEM));
        if (i == 39)
            assert_int_equal(told.status, ESP_OK);
    }
}

/* The parent knows the server, but not yet its problems. */
static void what_one_that_has_just_joined_solves_is_waited_for(void **state)
{
    (void)state;
    struct inproc_faults network = {.latency_ns = 20 * NS_PER_MS};
    inproc_set_faults(platform.transport, &network);
    const size_t master = platform_agent(&platform, "ma", "");
    platform_run_ms(&platform, 10000); /* the agent has long stopped to learn */
    platform_server(&platform, "s", "ma");
    for (int ms = 0; platform_figures(&platform, master).children == 0 && ms < 1000; ms++)
        platform_run_ms(&platform, 1);
    struct request request = platform_request("job", 1e6);
    struct message describe = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = "job"}}, reply = {0};
    struct esp_error error;
    assert_int_equal(transport_call(platform.transport, "ma", &describe, 5000, &reply, &error), ESP_OK);
    message_clear(&reply);
    assert_int_equal(platform_submit(&platform, "ma", &request, &reply, &error), ESP_OK);
    message_clear(&reply);
}

/* "quick" computes more quickly behind a slower link. Which is better depends on what the client's own way to
 * the agent leaves of the links; that costs no question to the servers. */
static void the_way_to_the_agent_decides_with_the_links(void **state)
{
    (void)state;
    struct argument_attribute argument = {
        .index = 0, .mode = MODE_IN, .bytes = 10000000, .holder = "", .datum = ""};
    const struct path access = {true, 0.01, 1e6, 0};
    for (int asking = 0; asking < 2; asking++) {
        struct platform pair;
        struct arena arena = {0};
        struct esp_error error;
        platform_open(&pair, 8);
        if (asking)
            pair.agent_options.freshness_ms = -1;
        const size_t master = platform_agent(&pair, "ma", "");
        pair.server_options.link = (struct path){true, 0.001, 100e6, 0};
        platform_server(&pair, "near", "ma");
        pair.server_options.link = (struct path){true, 0.001, 2e6, 0};
        pair.server_options.speed_flops *= 2;
        platform_server(&pair, "quick", "ma");
        assert_true(platform_settle(&pair, master, 2, 30000));
        for (uint64_t told = 0; told < 2; told++) {
            struct request request = platform_request("job", 2e9);
            struct message reply = {0};
            request.arguments = &argument;
            request.n_arguments = 1;
            request.session.sequence = told + 1;
            if (told)
                assert_true(told_access_add(&request.extensions, &access, &arena));
            assert_int_equal(platform_submit(&pair, "ma", &request, &reply, &error), ESP_OK);
            const struct candidate *first = &reply.submit_reply.candidates[0];
            assert_string_equal(first->server, told ? "quick" : "near");
            assert_true(told ? first->transfer_s > 10 && first->transfer_s < 10.5 : first->transfer_s < 0.2);
            assert_int_equal(reply.submit_reply.asked, asking);
            message_clear(&reply);
        }
        arena_clear(&arena);
        platform_close(&pair);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_request_is_answered_from_memory_with_ranked_candidates),
        TEST(placements_count_at_once_and_until_their_lease_ends),
        TEST(stale_knowledge_is_not_used),
        TEST(only_children_that_can_solve_it_are_asked),
        TEST(holders_of_data_are_asked_too),
        TEST(refusals_say_why),
        TEST(a_bound_server_is_the_only_candidate),
        TEST(a_silent_child_is_left_out),
        TEST(other_signatures_of_a_name_are_problems_of_their_own),
        TEST(the_tree_is_told_parents_first),
        TEST(what_a_leader_lost_is_in_the_masters_tree),
        TEST(a_leader_on_loopback_is_told_also_when_it_has_lost_servers),
        TEST(every_scheduler_places_sessions_in_both_modes),
        TEST(a_wanted_property_decides),
        TEST(a_deadline_that_nobody_keeps_is_told_at_once),
        TEST(a_named_server_that_is_not_chosen_is_not_said_to_solve_it_not),
        TEST(a_call_may_take_so_much_memory),
        TEST(the_cheapest_server_that_keeps_the_deadline_is_chosen),
        TEST(a_busy_link_is_avoided),
        TEST(leaders_know_what_is_on_its_way),
        cmocka_unit_test(the_way_to_the_agent_decides_with_the_links),
        TEST(a_burst_spreads_in_both_modes),
        cmocka_unit_test(endless_calls_without_a_forecast_spread),
        cmocka_unit_test(calls_of_unknown_length_do_not_queue_beside_an_idle_server),
        TEST(ten_thousand_servers_are_one_tree),
        TEST(who_asks_for_a_description_on_its_way_gets_it),
        TEST(what_one_that_has_just_joined_solves_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
