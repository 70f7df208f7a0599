/* SPDX-License-Identifier: Apache-2.0
 *
 * Master agents and their redirectors: the masters that clients get, the lost masters, and the problems
 * that the lost ones solved. */
#include "core/hierarchy/membership.h"
#include "core/hierarchy/absent.h"
#include "core/hierarchy/lost_problems.h"
#include "redirector/redirector.h"
#include "tests/inproc/platform.h"
#include "tests/unit/unit.h"

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

static struct redirector *start_redirector_at(const char *name, uint64_t incarnation)
{
    struct redirector_options options = {.name = name, .listen = name, .incarnation = incarnation};
    struct redirector *redirector = NULL;
    struct esp_error error;
    assert_int_equal(redirector_create(&options, platform.transport, &redirector, &error), ESP_OK);
    return redirector;
}

static struct redirector *start_redirector(uint64_t incarnation)
{
    return start_redirector_at("red", incarnation);
}

static struct agent *start_master_at(const char *name, const char *address, size_t n_redirectors)
{
    static const char *const redirectors[] = {"red", "red2"};
    struct agent_options options = platform.agent_options;
    struct agent *agent = NULL;
    struct esp_error error;
    options.name = name;
    options.listen = address;
    options.incarnation = ++platform.incarnations;
    options.redirectors = redirectors;
    options.n_redirectors = n_redirectors;
    assert_int_equal(agent_create(&options, platform.transport, &agent, &error), ESP_OK);
    return agent;
}

static struct agent *start_master(const char *name)
{
    return start_master_at(name, name, 1);
}

static enum esp_status locate_at(const char *redirector, struct message *reply)
{
    struct message message = {.kind = MESSAGE_LOCATE};
    return transport_call(platform.transport, redirector, &message, 1000, reply, NULL);
}

static enum esp_status locate(struct message *reply)
{
    return locate_at("red", reply);
}

/* How many masters that redirector names, and how many servers the first one has. */
static unsigned masters_at(const char *redirector, unsigned *servers)
{
    struct message reply = {0};
    enum esp_status status = locate_at(redirector, &reply);
    const unsigned n = status == ESP_OK ? reply.locate_reply.n_masters : 0;
    *servers = n > 0 ? reply.locate_reply.masters[0].servers : 0;
    message_clear(&reply);
    return n;
}

static void a_master_registers_with_all_its_redirectors(void **state)
{
    (void)state;
    unsigned servers;
    struct redirector *red = start_redirector(900), *red2 = start_redirector_at("red2", 910);
    struct agent *a = start_master_at("ma-a", "ma-a", 2), *b = start_master_at("ma-b", "ma-b", 2);
    platform_server(&platform, "s", "ma-a");
    platform_run_ms(&platform, 6000);
    assert_int_equal(masters_at("red", &servers), 2);
    assert_int_equal(servers, 1);
    assert_int_equal(masters_at("red2", &servers), 2);
    assert_int_equal(servers, 1);
    /* Neither tie takes the other one's messages: one is lost and found again, the other one goes on. */
    redirector_stop(red, "restart");
    platform_run_ms(&platform, 12000); /* longer than a lease */
    assert_int_equal(masters_at("red2", &servers), 2);
    assert_true(agent_health(a, (char[200]){0}, 200));
    red = start_redirector(901);
    platform_run_ms(&platform, 8000);
    assert_int_equal(masters_at("red", &servers), 2);
    assert_int_equal(servers, 1);
    /* Of both it hears where those below it may go. */
    redirector_stop(red, "end");
    platform_run_ms(&platform, 2000);
    inproc_kill(platform.transport, "ma-a");
    platform_run_ms(&platform, 3000);
    struct agent_figures figures;
    agent_figures(b, &figures);
    assert_int_equal(figures.nodes, 1);
    agent_drop(a);
    agent_stop(b, "end");
    platform_run_ms(&platform, 500);
    assert_int_equal(masters_at("red2", &servers), 0);
    redirector_stop(red2, "end");
}

static void the_redirector_names_the_least_loaded_living_master(void **state)
{
    (void)state;
    struct agent *a = start_master("ma-a"), *b = start_master("ma-b");
    struct redirector *redirector = start_redirector(900);
    struct message reply = {0};
    assert_int_equal(locate(&reply), ESP_NO_SERVER);
    message_clear(&reply);
    platform_server(&platform, "s", "ma-b");
    platform_run_ms(&platform, 6000);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_int_equal(reply.locate_reply.n_masters, 2);
    assert_string_equal(reply.locate_reply.masters[0].name, "ma-b"); /* the other one has no servers */
    assert_int_equal(reply.locate_reply.masters[0].servers, 1);
    message_clear(&reply);
    struct message tree = {.kind = MESSAGE_TREE, .tree = {.node = ""}};
    assert_int_equal(transport_call(platform.transport, "red", &tree, 1000, &reply, NULL), ESP_OK);
    assert_int_equal(reply.tree_reply.n_records, 3);
    assert_string_equal(reply.tree_reply.records[0].name, "red");
    message_clear(&reply);
    redirector_stop(redirector, "restart");
    redirector = start_redirector(901);
    platform_run_ms(&platform, 8000);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_int_equal(reply.locate_reply.n_masters, 2);
    message_clear(&reply);
    agent_stop(b, "stopping");
    platform_run_ms(&platform, 500);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_int_equal(reply.locate_reply.n_masters, 1);
    assert_string_equal(reply.locate_reply.masters[0].address, "ma-a");
    message_clear(&reply);
    agent_drop(a);
    redirector_stop(redirector, "end");
}

static bool is_told_missing(const struct locate_reply *reply, const char *name)
{
    const struct extension *absent = extension_find(&reply->extensions, EXTENSION_ABSENT);
    struct absent_reader reader = {absent ? absent->value : NULL, absent ? absent->length : 0};
    struct node_record record;
    return absent_read(&reader, &record) && strcmp(record.name, name) == 0;
}

/* How long masters take to find it is what the options say. */
static void a_redirector_that_was_just_started_says_so(void **state)
{
    (void)state;
    struct redirector_options options = {
        .name = "red", .listen = "red", .incarnation = 900, .learning_ms = 750};
    struct redirector *redirector = NULL;
    struct message reply = {0};
    struct agent *a = start_master("ma-a");
    assert_int_equal(redirector_create(&options, platform.transport, &redirector, NULL), ESP_OK);
    platform_run_ms(&platform, MEMBERSHIP_RETRY_MOST_MS);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_non_null(extension_find(&reply.locate_reply.extensions, EXTENSION_LEARNING));
    message_clear(&reply);
    platform_run_ms(&platform, 1000);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_null(extension_find(&reply.locate_reply.extensions, EXTENSION_LEARNING));
    message_clear(&reply);
    agent_drop(a);
    redirector_stop(redirector, "end");
}

static void a_redirector_tells_which_masters_it_has_lost(void **state)
{
    (void)state;
    struct agent *a = start_master("ma-a"), *b = start_master("ma-b"), *c = start_master("ma-c");
    struct redirector *redirector = start_redirector(900);
    struct message reply = {0};
    platform_run_ms(&platform, 6000);
    agent_stop(c, "in good order");
    platform_run_ms(&platform, 500);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_false(is_told_missing(&reply.locate_reply, "ma-c"));
    message_clear(&reply);
    agent_drop(b);
    platform_run_ms(&platform, 20000);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_int_equal(reply.locate_reply.n_masters, 1);
    assert_true(is_told_missing(&reply.locate_reply, "ma-b"));
    message_clear(&reply);
    b = start_master("ma-b");
    platform_run_ms(&platform, 6000);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_false(is_told_missing(&reply.locate_reply, "ma-b"));
    message_clear(&reply);
    agent_drop(a);
    agent_drop(b);
    redirector_stop(redirector, "end");
}

/* A problem that only a lost master solved is missing: neither known to the others, nor unknown. */
static void what_a_lost_master_solved_is_told(bool its_server_first)
{
    struct agent *a = start_master("ma-a"), *b = start_master("ma-b");
    struct redirector *redirector = start_redirector(900);
    struct message reply = {0};
    struct simulated_server *server = platform_server(&platform, "s", "ma-b");
    platform_run_ms(&platform, 6000);
    if (its_server_first) {
        platform_server_kill(&platform, server);
        platform_run_ms(&platform, 20000);
    }
    agent_drop(b);
    platform_run_ms(&platform, 20000);
    assert_int_equal(locate(&reply), ESP_OK);
    assert_true(is_told_missing(&reply.locate_reply, "ma-b"));
    assert_true(lost_problems_told(&reply.locate_reply.extensions, lost_problem("job")));
    assert_false(lost_problems_told(&reply.locate_reply.extensions, lost_problem("nobody_ever")));
    message_clear(&reply);
    agent_drop(a);
    redirector_stop(redirector, "end");
}

static void a_redirector_tells_what_lost_masters_solved(void **state)
{
    (void)state;
    what_a_lost_master_solved_is_told(false);
}

static void a_lost_master_tells_what_those_solved_that_it_lost(void **state)
{
    (void)state;
    what_a_lost_master_solved_is_told(true);
}

static void the_children_of_a_dead_master_go_to_another_one(void **state)
{
    (void)state;
    struct redirector *redirector = start_redirector(900);
    struct agent *a = start_master("ma-a"), *b = start_master("ma-b");
    size_t leader = platform_agent(&platform, "la", "ma-a");
    platform_server(&platform, "s", "la");
    platform_run_ms(&platform, 3000);
    struct agent_figures figures;
    agent_figures(b, &figures);
    assert_int_equal(figures.nodes, 0);
    inproc_kill(platform.transport, "ma-a");
    platform_run_ms(&platform, 2000);
    agent_figures(b, &figures);
    assert_int_equal(figures.nodes, 2);
    assert_int_equal(nodes(leader), 1); /* a node below the leader stays there */
    agent_drop(a);
    agent_drop(b);
    redirector_stop(redirector, "end");
}

/* The redirector of a master passes its new address to the other redirector, which passes on the children
 * that the master has taken in. */
static void the_children_of_a_master_find_it_at_another_address(void **state)
{
    (void)state;
    struct redirector *redirector = start_redirector(900);
    struct agent *a = start_master("ma-a"), *b = start_master("ma-b");
    size_t leader = platform_agent(&platform, "la", "ma-a");
    platform_server(&platform, "s", "la");
    platform_run_ms(&platform, 3000);
    struct agent_figures figures;
    inproc_kill(platform.transport, "ma-a");
    agent_drop(a);
    platform_run_ms(&platform, 2000);
    agent_figures(b, &figures);
    assert_int_equal(figures.nodes, 2);
    a = start_master_at("ma-a", "another-address", 1);
    platform_run_ms(&platform, 60000);
    agent_figures(a, &figures);
    assert_int_equal(figures.nodes, 2);
    agent_figures(b, &figures);
    assert_int_equal(figures.nodes, 0);
    assert_int_equal(nodes(leader), 1);
    agent_drop(a);
    agent_drop(b);
    redirector_stop(redirector, "end");
}

/* There is nobody else to go to: the redirector tells them where it is when they ask. */
static void the_children_of_the_only_master_find_it_at_another_address(void **state)
{
    (void)state;
    struct redirector *redirector = start_redirector(900);
    struct agent *a = start_master("ma-a");
    size_t leader = platform_agent(&platform, "la", "ma-a");
    platform_server(&platform, "s", "la");
    platform_run_ms(&platform, 3000);
    struct agent_figures figures;
    inproc_kill(platform.transport, "ma-a");
    agent_drop(a);
    platform_run_ms(&platform, 20000);
    a = start_master_at("ma-a", "another-address", 1);
    platform_run_ms(&platform, 15000);
    agent_figures(a, &figures);
    assert_int_equal(figures.nodes, 2);
    assert_int_equal(nodes(leader), 1); /* a node below the leader stays there */
    agent_drop(a);
    redirector_stop(redirector, "end");
}

static void clients_spread_over_equal_masters(void **state)
{
    (void)state;
    struct redirector *redirector = start_redirector(900);
    struct agent *a = start_master("ma-a"), *b = start_master("ma-b");
    platform_run_ms(&platform, 1000);
    int first_a = 0;
    for (int i = 0; i < 10; i++) {
        struct message reply = {0};
        assert_int_equal(locate(&reply), ESP_OK);
        first_a += strcmp(reply.locate_reply.masters[0].name, "ma-a") == 0;
        message_clear(&reply);
    }
    assert_int_equal(first_a, 5);
    agent_drop(a);
    agent_drop(b);
    redirector_stop(redirector, "end");
}

static void only_masters_belong_below_a_redirector_and_no_master_below_an_agent(void **state)
{
    (void)state;
    struct redirector *redirector = start_redirector(900);
    struct simulated_server *server = platform_server(&platform, "s", "red");
    platform_run_ms(&platform, 5000);
    assert_false(simulated_joined(server));
    struct message reply = {0};
    assert_int_equal(locate(&reply), ESP_NO_SERVER);
    message_clear(&reply);
    redirector_stop(redirector, "end");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_redirector_names_the_least_loaded_living_master),
        TEST(a_master_registers_with_all_its_redirectors),
        TEST(the_children_of_a_dead_master_go_to_another_one),
        TEST(a_redirector_that_was_just_started_says_so),
        TEST(a_redirector_tells_which_masters_it_has_lost),
        TEST(a_redirector_tells_what_lost_masters_solved),
        TEST(a_lost_master_tells_what_those_solved_that_it_lost),
        TEST(the_children_of_a_master_find_it_at_another_address),
        TEST(the_children_of_the_only_master_find_it_at_another_address),
        TEST(clients_spread_over_equal_masters),
        TEST(only_masters_belong_below_a_redirector_and_no_master_below_an_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
