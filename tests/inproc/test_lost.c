/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers about problems that no server solves, and about nodes that are not there, after a node was lost. */
#include "core/choice/terms.h"
#include "core/hierarchy/absent.h"
#include "core/hierarchy/returning.h"
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void a_problem_that_only_a_lost_server_may_solve_is_told_with_it(void **state)
{
    (void)state;
    struct platform other;
    struct message reply;
    struct esp_error error;
    platform_open(&other, 31);
    platform_agent(&other, "ma", "");
    struct simulated_server *server = platform_server(&other, "s", "ma");
    assert_true(platform_settle(&other, 0, 1, 5000));
    platform_server_kill(&other, server);
    platform_run_ms(&other, 20000);
    struct request request = platform_request("job", 1e9);
    assert_int_not_equal(platform_submit(&other, "ma", &request, &reply, &error), ESP_OK);
    assert_non_null(strstr(error.text, "solves job; 1 node below it cannot be reached, and may solve it"));
    message_clear(&reply);
    request = platform_request("jobb", 1e9);
    assert_int_equal(platform_submit(&other, "ma", &request, &reply, &error), ESP_UNKNOWN_PROBLEM);
    assert_string_equal(error.text, "no server below \"ma\" solves jobb");
    message_clear(&reply);
    platform_close(&other);
}

static void expect_missing(struct platform *p, const char *problem, bool missing)
{
    struct message reply;
    struct esp_error error;
    struct request request = platform_request(problem, 1e9);
    assert_int_not_equal(platform_submit(p, "ma", &request, &reply, &error), ESP_OK);
    assert_true((strstr(error.text, "cannot be reached, and may solve it") != NULL) == missing);
    message_clear(&reply);
}

/* ESP_NO_SERVER: it was there. */
static void expect_node(struct platform *p, const char *name, enum esp_status status)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = name}}, reply = {0};
    struct esp_error error;
    assert_int_equal(transport_call(p->transport, "ma", &request, 5000, &reply, &error), status);
    message_clear(&reply);
}

static void a_leader_tells_what_its_lost_servers_solved(void **state)
{
    (void)state;
    struct platform other;
    platform_open(&other, 31);
    size_t master = platform_agent(&other, "ma", "");
    size_t leader = platform_agent(&other, "la", "ma");
    struct simulated_server *server = platform_server(&other, "s", "la");
    assert_true(platform_settle(&other, master, 2, 5000));
    platform_server_kill(&other, server);
    platform_run_ms(&other, 20000);
    for (int restarted = 0; restarted < 2; restarted++) {
        expect_missing(&other, "job", true);
        expect_missing(&other, "jobb", false);
        expect_node(&other, "s", ESP_NO_SERVER);
        expect_node(&other, "t", ESP_NOT_FOUND);
        if (restarted)
            break;
        platform_agent_kill(&other, master); /* the next one has never heard of the server */
        platform_agent_start(&other, master);
        platform_run_ms(&other, 20000);
    }
    platform_agent_kill(&other, leader); /* and with the leader goes what it knew to be lost */
    platform_run_ms(&other, 20000);
    expect_missing(&other, "job", true);
    expect_missing(&other, "jobb", false);
    expect_node(&other, "s", ESP_NO_SERVER);
    expect_node(&other, "la", ESP_NO_SERVER);
    expect_node(&other, "t", ESP_NOT_FOUND);
    platform_run_ms(&other, 600000);
    expect_missing(&other, "job", false);
    expect_node(&other, "s", ESP_NOT_FOUND);
    platform_close(&other);
}

/* How many records the tree of "ma" has of that name; the parent of the last one. */
static size_t count_named(struct platform *p, const char *name, char *parent)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = ""}}, reply = {0};
    struct esp_error error;
    size_t n = 0;
    assert_int_equal(transport_call(p->transport, "ma", &request, 5000, &reply, &error), ESP_OK);
    for (uint32_t i = 0; i < reply.tree_reply.n_records; i++)
        if (strcmp(reply.tree_reply.records[i].name, name) == 0) {
            strcpy(parent, reply.tree_reply.records[i].parent);
            n++;
        }
    message_clear(&reply);
    return n;
}

/* It is lost below one agent, added below another one, of the same or another level, and lost there. */
static void a_server_that_has_moved_is_lost_once(void **state)
{
    static const char *const agents[] = {"la", "lb", "ma", "lc", "la"};
    char parent[CAP_NAME + 1];
    (void)state;
    struct platform other;
    platform_open(&other, 31);
    size_t master = platform_agent(&other, "ma", "");
    platform_agent(&other, "la", "ma");
    platform_agent(&other, "lb", "ma");
    platform_agent(&other, "lc", "lb");
    for (size_t i = 0; i < sizeof agents / sizeof *agents; i++) {
        struct simulated_server *server = platform_server(&other, "s", agents[i]);
        assert_true(platform_settle(&other, master, 4, 20000));
        platform_run_ms(&other, 20000);
        assert_int_equal(count_named(&other, "s", parent), 1);
        platform_server_kill(&other, server);
        platform_run_ms(&other, 20000);
        assert_int_equal(count_named(&other, "s", parent), 1);
        assert_string_equal(parent, agents[i]);
        expect_node(&other, "s", ESP_NO_SERVER);
    }
    platform_close(&other);
}

static void expect_awaited(struct platform *p, const char *problem, const char *server, bool awaited)
{
    struct message reply;
    struct esp_error error;
    struct request request = platform_request(problem, 1e9);
    request.server = server;
    const enum esp_status status = platform_submit(p, "ma", &request, &reply, &error);
    assert_int_not_equal(status, ESP_OK);
    assert_true((status == ESP_UNREACHABLE) == awaited);
    assert_true((extension_find(&reply.submit_reply.extensions, EXTENSION_AWAITED) != NULL) == awaited);
    assert_true((strstr(error.text, "takes no sessions until it is started again") != NULL) == awaited);
    message_clear(&reply);
}

static void expect_described(struct platform *p, const char *problem, enum esp_status status)
{
    struct message request = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = problem}}, reply = {0};
    struct esp_error error;
    assert_int_equal(transport_call(p->transport, "ma", &request, 20000, &reply, &error), status);
    message_clear(&reply);
}

/* `returns`: it said so before it went. */
static void expect_gone(struct platform *p, bool returns)
{
    expect_awaited(p, "job", "", returns);
    expect_awaited(p, "job", "s", returns);
    expect_awaited(p, "job", "t", false);
    expect_awaited(p, "jobb", "", false);
    expect_node(p, "s", returns ? ESP_NO_SERVER : ESP_NOT_FOUND);
    expect_described(p, "job",
                     returns ? ESP_OK : ESP_UNKNOWN_PROBLEM); /* the first client waits as others do */
    expect_described(p, "jobb", ESP_UNKNOWN_PROBLEM);
}

/* Below a leader, for a minute at most. */
static void a_server_that_is_started_again_is_awaited(void **state)
{
    (void)state;
    struct platform other;
    platform_open(&other, 31);
    size_t master = platform_agent(&other, "ma", "");
    platform_agent(&other, "la", "ma");
    for (int life = 0; life < 3; life++) {
        struct simulated_server *server = platform_server(&other, "s", "la");
        const bool returns = life < 2;
        assert_true(platform_settle(&other, master, 2, 5000));
        expect_described(&other, "job", ESP_OK);
        if (returns)
            simulated_will_return(server);
        else
            simulated_drain(server, true);
        platform_run_ms(&other, 1000);
        expect_awaited(&other, "job", "", returns);
        expect_awaited(&other, "job", "s", returns);
        expect_awaited(&other, "jobb", "", false);
        platform_server_stop(&other, server);
        platform_run_ms(&other, 20000);
        expect_gone(&other, returns);
        platform_run_ms(&other, life == 1 ? 60000 : 0);
        expect_gone(&other, life == 0);
    }
    platform_close(&other);
}

/* The record of "s" in the tree of "ma": how long it is expected yet; 0: it is not, or not there. */
static uint64_t expected_ms(struct platform *p)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = ""}}, reply = {0};
    struct esp_error error;
    uint64_t ms = 0, found;
    assert_int_equal(transport_call(p->transport, "ma", &request, 5000, &reply, &error), ESP_OK);
    for (uint32_t i = 0; i < reply.tree_reply.n_records; i++) {
        const struct node_record *record = &reply.tree_reply.records[i];
        if (strcmp(record->name, "s") != 0 ||
            !terms_get_integer(&record->extensions, EXTENSION_EXPECTED, &found))
            continue;
        ms += found; /* once */
        assert_non_null(extension_find(&record->extensions, EXTENSION_UNREACHABLE));
        assert_string_equal(record->parent, "la");
    }
    message_clear(&reply);
    return ms;
}

/* It does not say that it starts again, but whatever has ended it may start it: for as long as it says. */
static void a_server_that_was_ended_in_good_order_is_awaited_for_a_while(void **state)
{
    (void)state;
    struct platform other;
    platform_open(&other, 31);
    size_t master = platform_agent(&other, "ma", "");
    platform_agent(&other, "la", "ma");
    for (int back = 0; back < 2; back++) {
        struct simulated_server *server = platform_server(&other, "s", "la");
        assert_true(platform_settle(&other, master, 2, 5000));
        expect_described(&other, "job", ESP_OK);
        assert_int_equal(expected_ms(&other), 0);
        simulated_may_return(server, 8000);
        platform_run_ms(&other, 1000);
        expect_awaited(&other, "job", "", true);
        platform_server_stop(&other, server);
        platform_run_ms(&other, 3000);
        assert_in_range(expected_ms(&other), 4500, 5500);
        expect_awaited(&other, "job", "", true);
        expect_awaited(&other, "job", "s", true);
        expect_awaited(&other, "jobb", "", false);
        expect_described(&other, "job", ESP_OK);
        expect_node(&other, "s", ESP_NO_SERVER);
        if (back) /* the next one is there before its time is over */
            platform_run_ms(&other, 7000);
    }
    assert_int_equal(expected_ms(&other), 0);
    expect_awaited(&other, "job", "", false);
    expect_described(&other, "job", ESP_UNKNOWN_PROBLEM);
    expect_node(&other, "s", ESP_NOT_FOUND);
    platform_close(&other);
}

static void remove_file(const char *folder, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* The server's agent dies meanwhile, with and without a message, and is another process then. `dir`: it
 * has a state folder. */
static void an_agent_that_is_started_again_waits_for_those_that_it_waited_for(void **state)
{
    (void)state;
    char folder[] = "/tmp/espalier-awaited-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (int dir = 0; dir < 2; dir++) {
        struct platform other;
        platform_open(&other, 31);
        other.agent_options.state_dir = dir ? folder : NULL;
        size_t master = platform_agent(&other, "ma", "");
        struct simulated_server *server = platform_server(&other, "s", "ma");
        assert_true(platform_settle(&other, master, 1, 5000));
        expect_described(&other, "job", ESP_OK);
        simulated_may_return(server, 30000);
        platform_run_ms(&other, 1000);
        platform_server_stop(&other, server);
        platform_run_ms(&other, 2000);
        expect_awaited(&other, "job", "", true);
        for (int life = 0; life < 2; life++) { /* what it has read itself it keeps, too */
            platform_agent_kill(&other, master);
            platform_agent_start(&other, master);
            platform_run_ms(&other, 8000); /* it is sure of itself again */
            expect_awaited(&other, "job", "", dir);
            expect_awaited(&other, "job", "s", dir);
            expect_awaited(&other, "jobb", "", false);
            expect_node(&other, "s", dir ? ESP_NO_SERVER : ESP_NOT_FOUND);
            expect_described(&other, "job", dir ? ESP_NO_SERVER : ESP_UNKNOWN_PROBLEM);
        }
        if (dir) { /* it is there again, and is known to be */
            server = platform_server(&other, "s", "ma");
            assert_true(platform_settle(&other, master, 1, 5000));
            platform_run_ms(&other, 2000);
            platform_server_stop(&other, server); /* for good */
            platform_run_ms(&other, 2000);
            platform_agent_kill(&other, master);
            platform_agent_start(&other, master);
            platform_run_ms(&other, 8000);
            expect_awaited(&other, "job", "", false);
        }
        platform_close(&other);
    }
    remove_file(folder, "awaited");
    remove_file(folder, "place");
    assert_int_equal(rmdir(folder), 0);
}

/* Two levels below, with nothing to do: its word has come to its leader only when it goes. `cut`: what that
 * one says of it is lost, too, and said again with all that it knows. */
static void who_goes_at_once_is_awaited_by_those_above_as_well(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        struct platform other;
        platform_open(&other, 31);
        other.server_options.report_within_ms = 1;
        size_t master = platform_agent(&other, "ma", "");
        platform_agent(&other, "lb", "ma");
        platform_agent(&other, "la", "lb");
        struct simulated_server *server = platform_server(&other, "s", "la");
        assert_true(platform_settle(&other, master, 3, 5000));
        platform_run_ms(&other, 1000);
        inproc_partition(other.transport, "la", "lb", cut);
        simulated_may_return(server, 20000);
        platform_run_ms(&other, 3);
        platform_server_stop(&other, server);
        platform_run_ms(&other, 1000);
        inproc_partition(other.transport, "la", "lb", false);
        platform_run_ms(&other, 4000);
        assert_in_range(expected_ms(&other), 14000, 16000);
        expect_gone(&other, true);
        server = platform_server(&other, "s", "la");
        assert_true(platform_settle(&other, master, 3, 5000));
        assert_int_equal(expected_ms(&other), 0);
        platform_server_stop(&other, server); /* for good: what was told of its earlier life is over */
        platform_run_ms(&other, 5000);
        expect_gone(&other, false);
        platform_close(&other);
    }
}

static void expect_silent(struct platform *p, const char *problem, bool silent)
{
    struct message reply;
    struct esp_error error;
    struct request request = platform_request(problem, 1e9);
    const enum esp_status status = platform_submit(p, "ma", &request, &reply, &error);
    assert_int_not_equal(status, ESP_OK);
    assert_true((status == ESP_UNREACHABLE) == silent);
    assert_true((extension_find(&reply.submit_reply.extensions, EXTENSION_SILENT) != NULL) == silent);
    assert_true((strstr(error.text, "server \"s\", which solves job, has fallen silent") != NULL) == silent);
    assert_null(extension_find(&reply.submit_reply.extensions, EXTENSION_AWAITED));
    message_clear(&reply);
}

/* It is stopped below a leader, or with it, and its connections stand: it may go on where it was. `dies`:
 * they break, and nobody waits for it. */
static void a_server_that_falls_silent_is_waited_for_as_one_that_may_go_on(void **state)
{
    (void)state;
    for (int leader_too = 0; leader_too < 2; leader_too++)
        for (int dies = 0; dies < 2; dies++) {
            struct platform other;
            platform_open(&other, 31);
            size_t master = platform_agent(&other, "ma", "");
            size_t leader = platform_agent(&other, "la", "ma");
            struct simulated_server *server = platform_server(&other, "s", "la");
            assert_true(platform_settle(&other, master, 2, 5000));
            expect_described(&other, "job", ESP_OK);
            if (dies) {
                platform_server_kill(&other, server);
                if (leader_too)
                    platform_agent_kill(&other, leader);
            } else {
                inproc_partition(other.transport, leader_too ? "la" : "s", leader_too ? "ma" : "la", true);
                simulated_mute(server, true);
            }
            platform_run_ms(&other, 20000);
            expect_silent(&other, "job", !dies);
            expect_silent(&other, "jobb", false);
            assert_int_equal(expected_ms(&other), 0); /* nobody said so */
            expect_node(&other, "s", ESP_NO_SERVER);
            if (!dies) {
                simulated_mute(server, false);
                inproc_partition(other.transport, leader_too ? "la" : "s", leader_too ? "ma" : "la", false);
                assert_true(platform_settle(&other, master, 2, 20000));
                struct message reply;
                struct esp_error error;
                struct request request = platform_request("job", 1e9);
                assert_int_equal(platform_submit(&other, "ma", &request, &reply, &error), ESP_OK);
                message_clear(&reply);
                simulated_mute(server, true);
                platform_run_ms(&other, 100000);
                expect_silent(&other, "job", false); /* not for ever */
            }
            platform_close(&other);
        }
}

/* ESP_NO_SERVER, with the server that it is disabled on and without hope; or not. */
static void expect_disabled(struct platform *p, bool disabled)
{
    struct message request = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = "jab"}}, reply = {0};
    struct request wanted = platform_request("jab", 1e9);
    struct esp_error error;
    const enum esp_status status = disabled ? ESP_NO_SERVER : ESP_UNKNOWN_PROBLEM;
    const char *const words = "jab is disabled on server \"s\"";
    assert_int_equal(transport_call(p->transport, "ma", &request, 5000, &reply, &error), status);
    assert_true((strstr(error.text, words) != NULL) == disabled);
    assert_true((strstr(error.text, "did you mean") != NULL) == !disabled);
    assert_true((strstr(error.text, "espalier admin enable jab") != NULL) == disabled);
    assert_true(describe_is_sure(&reply) == disabled);
    message_clear(&reply);
    assert_int_equal(platform_submit(p, "ma", &wanted, &reply, &error), status);
    assert_true((strstr(error.text, words) != NULL) == disabled);
    message_clear(&reply);
    for (uint32_t limit = 0; limit < 2; limit++) { /* in the list, in its order, by pages too */
        request = (struct message){.kind = MESSAGE_LIST, .list = {.after = "", .limit = limit}};
        assert_int_equal(transport_call(p->transport, "ma", &request, 5000, &reply, &error), ESP_OK);
        const struct list_reply *list = &reply.list_reply;
        assert_int_equal(list->n, disabled && !limit ? 2 : 1);
        assert_true(list->more == (disabled && limit == 1));
        assert_string_equal(list->items[0].problem, disabled ? "jab" : "job");
        assert_int_equal(list->items[0].servers, !disabled);
        assert_true((strstr(list->items[0].title, words) != NULL) == disabled);
        message_clear(&reply);
    }
}

static uint64_t disabled_in_tree(struct platform *p)
{
    struct message request = {.kind = MESSAGE_TREE, .tree = {.node = ""}}, reply = {0};
    struct esp_error error;
    uint64_t n = 0, all = 0;
    assert_int_equal(transport_call(p->transport, "ma", &request, 5000, &reply, &error), ESP_OK);
    for (uint32_t i = 0; i < reply.tree_reply.n_records; i++)
        if (terms_get_integer(&reply.tree_reply.records[i].extensions, EXTENSION_DISABLED, &n))
            all += n;
    message_clear(&reply);
    return all;
}

/* Below a leader; the names reach also a master that is started later. */
static void what_is_disabled_everywhere_is_told_as_that(void **state)
{
    static const char texts[] = "jab\0jub"; /* the second one ends with the literal */
    (void)state;
    struct platform other;
    platform_open(&other, 31);
    size_t master = platform_agent(&other, "ma", "");
    platform_agent(&other, "la", "ma");
    struct simulated_server *server = platform_server(&other, "s", "la");
    assert_true(platform_settle(&other, master, 2, 5000));
    platform_run_ms(&other, 5000);
    expect_disabled(&other, false);
    simulated_disable(server, texts, sizeof "jab");
    platform_run_ms(&other, 3000);
    expect_disabled(&other, true);
    assert_int_equal(disabled_in_tree(&other), 1);
    platform_agent_kill(&other, master);
    platform_agent_start(&other, master);
    platform_run_ms(&other, 20000);
    expect_disabled(&other, true);
    simulated_disable(server, texts, sizeof texts);
    platform_run_ms(&other, 3000);
    assert_int_equal(disabled_in_tree(&other), 2);
    simulated_disable(server, "", 1);
    platform_run_ms(&other, 3000);
    expect_disabled(&other, false);
    assert_int_equal(disabled_in_tree(&other), 0);
    platform_close(&other);
}

static void note_end(void *arg, enum esp_status status, const struct message *reply)
{
    *(enum esp_status *)arg =
        reply && reply->outcome.status ? (enum esp_status)reply->outcome.status : status;
}

/* It may be gone before its own word of that has come up. */
static void a_server_that_was_told_to_start_again_is_awaited(void **state)
{
    (void)state;
    static const char *const verbs[] = {"stop", "restart"};
    for (int restarts = 0; restarts < 2; restarts++) {
        struct platform other;
        struct esp_error error;
        enum esp_status status = ESP_PENDING;
        platform_open(&other, 31);
        size_t master = platform_agent(&other, "ma", "");
        struct simulated_server *server = platform_server(&other, "s", "ma");
        assert_true(platform_settle(&other, master, 1, 5000));
        const struct message order = {
            .kind = MESSAGE_ADMINISTER,
            .administer = {.node = "s", .verb = verbs[restarts], .time_left_ms = 5000}};
        assert_int_equal(inproc_call_async(other.transport, "ma", &order, 6000, note_end, &status, &error),
                         ESP_OK);
        platform_run_ms(&other, 100);
        platform_server_stop(&other, server);
        platform_run_ms(&other, 20000);
        assert_int_equal(status, ESP_OK);
        expect_gone(&other, restarts);
        platform_close(&other);
    }
}

/* Others that take sessions of the problem do not wait for it, but those that it alone suits do. */
static void only_who_needs_it_waits_for_a_server_that_is_started_again(void **state)
{
    static const char *const gpu[] = {"gpu"};
    (void)state;
    struct platform other;
    struct message reply;
    struct esp_error error;
    platform_open(&other, 31);
    size_t master = platform_agent(&other, "ma", "");
    platform_server(&other, "plain", "ma");
    other.server_options.properties = gpu;
    other.server_options.n_properties = 1;
    struct simulated_server *server = platform_server(&other, "special", "ma");
    assert_true(platform_settle(&other, master, 2, 5000));
    simulated_will_return(server);
    platform_run_ms(&other, 1000);
    struct request request = platform_request("job", 1e9);
    assert_int_equal(platform_submit(&other, "ma", &request, &reply, &error), ESP_OK);
    message_clear(&reply);
    struct arena arena = {0};
    assert_true(terms_add_texts(&request.extensions, EXTENSION_WANTED, gpu, 1, &arena));
    assert_int_equal(platform_submit(&other, "ma", &request, &reply, &error), ESP_UNREACHABLE);
    assert_non_null(extension_find(&reply.submit_reply.extensions, EXTENSION_AWAITED));
    message_clear(&reply);
    arena_clear(&arena);
    platform_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_problem_that_only_a_lost_server_may_solve_is_told_with_it),
        cmocka_unit_test(a_leader_tells_what_its_lost_servers_solved),
        cmocka_unit_test(a_server_that_was_ended_in_good_order_is_awaited_for_a_while),
        cmocka_unit_test(an_agent_that_is_started_again_waits_for_those_that_it_waited_for),
        cmocka_unit_test(who_goes_at_once_is_awaited_by_those_above_as_well),
        cmocka_unit_test(a_server_that_falls_silent_is_waited_for_as_one_that_may_go_on),
        cmocka_unit_test(what_is_disabled_everywhere_is_told_as_that),
        cmocka_unit_test(a_server_that_has_moved_is_lost_once),
        cmocka_unit_test(a_server_that_is_started_again_is_awaited),
        cmocka_unit_test(a_server_that_was_told_to_start_again_is_awaited),
        cmocka_unit_test(only_who_needs_it_waits_for_a_server_that_is_started_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
