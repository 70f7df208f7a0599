/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking for a datum in a limited time: a master agent and two servers, of which some are stopped. A
 * stopped node takes all the time that it is given, on a clock that only stopped nodes move. */
#include "tests/unit/unit.h"
#include "tests/unit/engine_rig.h"

#include "client/data/data.h"
#include "client/session/engine.h"
#include "core/choice/terms.h"

#include <stdio.h>

#define DATUM "s1:0123456789abcdef0123456789abcdef"

enum { MASTER, MAKER, OTHER, N_NODES };

static const char *const addresses[N_NODES] = {"ma:1", "s1:1", "s2:1"};
static bool stopped[N_NODES], has[N_NODES];
static int refuses; /* so many questions to the maker are refused, */
static int misses,
    knows; /* and so many of the tree do not find it; of these it is expected back in so many */
static int64_t question_ns; /* each of the tree takes so long */
static struct engine_rig rig;

static enum esp_status tell_missing(struct message *reply)
{
    struct node_record *record = arena_alloc(&reply->arena, sizeof *record);
    *record = (struct node_record){.name = "s1", .role = ROLE_SERVER};
    terms_add_integer(&record->extensions, EXTENSION_EXPECTED, 5000, &reply->arena);
    reply->tree_reply.records = record;
    reply->tree_reply.n_records = knows-- > 0;
    return ESP_NO_SERVER;
}

static void tell_tree(struct message *reply)
{
    struct node_record *record = arena_alloc(&reply->arena, sizeof *record);
    *record = (struct node_record){.name = "s1", .address = addresses[MAKER], .role = ROLE_SERVER};
    reply->tree_reply.records = record;
    reply->tree_reply.n_records = 1;
}

static void tell_datum(int node, struct message *reply)
{
    struct datum_info *info = arena_alloc(&reply->arena, sizeof *info);
    *info = (struct datum_info){.datum = DATUM, .server = "", .address = "", .owner = ""};
    if (node == MASTER) {
        info->server = "s2";
        info->address = addresses[OTHER];
    }
    reply->data_reply.items = info;
    reply->data_reply.n = node == MASTER || has[node];
}

static enum esp_status answer(struct transport *transport, const char *address, const struct message *request,
                              int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    int node = 0;
    (void)transport;
    while (strcmp(addresses[node], address) != 0)
        node++;
    if (stopped[node])
        return engine_rig_silence(&rig, address, request, timeout_ms, reply, error);
    memset(reply, 0, sizeof *reply);
    reply->kind = message_reply_kind(request->kind);
    if (node == MAKER && refuses > 0) {
        refuses--;
        return error_set(error, ESP_UNREACHABLE, "refused");
    }
    if (request->kind == MESSAGE_TREE)
        rig.now.time_ns += question_ns;
    if (request->kind == MESSAGE_TREE && misses > 0) {
        misses--;
        return error_set(error, tell_missing(reply), "no such node");
    }
    if (request->kind == MESSAGE_GREET)
        reply->greet_reply.role = ROLE_MASTER, reply->greet_reply.name = "ma";
    else if (request->kind == MESSAGE_TREE)
        tell_tree(reply);
    else if (request->kind == MESSAGE_DATA)
        tell_datum(node, reply);
    else
        fail_msg("nobody asks for %s", message_name(request->kind));
    return ESP_OK;
}

static const struct transport_ops ops = {.call = answer};

static int setup(void **state)
{
    static const char *const agents[] = {"ma:1"};
    (void)state;
    memset(stopped, 0, sizeof stopped);
    memset(has, 0, sizeof has);
    refuses = misses = knows = 0;
    question_ns = 0;
    return engine_rig_begin(
        &rig, &ops,
        (struct engine_options){
            .agents = agents, .n_agents = 1, .call_timeout_ms = 3600 * 1000, .agent_patience_ms = 10000});
}

static int teardown(void **state)
{
    (void)state;
    engine_rig_end(&rig);
    return 0;
}

static struct data_holder holders[DATA_MOST_HOLDERS];
static size_t n;
static struct esp_error error;

/* In at most a second. */
static enum esp_status look(bool all)
{
    const int64_t until_ns = rig.now.time_ns + NS_PER_S;
    const int64_t before_ns = deadline_begin(until_ns);
    enum esp_status status = data_find(rig.engine, DATUM, all, holders, &n, &error);
    deadline_end(before_ns);
    if (rig.now.time_ns > until_ns)
        fail_msg("it took %.3f s longer", (double)(rig.now.time_ns - until_ns) / NS_PER_S);
    return status;
}

static void its_maker_has_it(void **state)
{
    (void)state;
    has[MAKER] = true;
    assert_int_equal(look(false), ESP_OK);
    assert_int_equal(n, 1);
    assert_string_equal(holders[0].server, "s1");
}

static void beside_a_stopped_maker_the_time_is_kept(void **state)
{
    (void)state;
    stopped[MAKER] = true;
    assert_int_equal(look(false), ESP_TIMEOUT);
    assert_non_null(strstr(error.text, "datum s1:01234567"));
    assert_non_null(strstr(error.text, "s1:1: data: no answer in time"));
    assert_non_null(strstr(error.text, "give it more time"));
}

static void a_stopped_maker_leaves_others_time_to_tell(void **state)
{
    (void)state;
    stopped[MAKER] = has[OTHER] = true;
    assert_int_equal(look(true), ESP_OK);
    assert_int_equal(n, 1);
    assert_string_equal(holders[0].server, "s2");
}

static void beside_a_stopped_master_the_time_is_kept(void **state)
{
    (void)state;
    stopped[MASTER] = has[MAKER] = true;
    assert_int_not_equal(look(true), ESP_OK);
    assert_non_null(strstr(error.text, "the servers that have a datum"));
    assert_non_null(strstr(error.text, "ma"));
}

static void when_all_are_stopped_the_time_is_kept(void **state)
{
    (void)state;
    stopped[MASTER] = stopped[MAKER] = stopped[OTHER] = true;
    assert_int_not_equal(look(true), ESP_OK);
}

static void without_a_limit_a_stopped_one_is_left_for_others(void **state)
{
    (void)state;
    const int64_t begun_ns = rig.now.time_ns;
    stopped[MAKER] = has[OTHER] = true;
    assert_int_equal(data_find(rig.engine, DATUM, true, holders, &n, &error), ESP_OK);
    assert_string_equal(holders[0].server, "s2");
    assert_in_range(rig.now.time_ns - begun_ns, 1, 10 * NS_PER_S);
}

static void where_there_are_none_it_has_the_time_of_a_call(void **state)
{
    (void)state;
    const int64_t begun_ns = rig.now.time_ns;
    stopped[MAKER] = true;
    assert_int_equal(data_find(rig.engine, DATUM, true, holders, &n, &error), ESP_TIMEOUT);
    assert_true(rig.now.time_ns - begun_ns >= 3600 * NS_PER_S);
}

static void so_it_has_where_all_have_to_say_what_they_know(void **state)
{
    (void)state;
    struct data_witnesses witnesses;
    const int64_t begun_ns = rig.now.time_ns;
    stopped[MAKER] = has[OTHER] = true;
    assert_int_equal(data_find_told(rig.engine, DATUM, true, holders, &n, &witnesses, &error), ESP_OK);
    assert_true(rig.now.time_ns - begun_ns >= 3600 * NS_PER_S);
    assert_int_equal(witnesses.n_silent, 1);
    assert_string_equal(witnesses.silent[0], "s1");
}

static void a_maker_that_is_started_again_is_waited_for(void **state)
{
    (void)state;
    has[MAKER] = true;
    misses = knows = 4;
    assert_int_equal(data_find(rig.engine, DATUM, false, holders, &n, &error), ESP_OK);
    assert_string_equal(holders[0].server, "s1");
    assert_int_equal(misses, 0);
}

/* The tree had it still, and has it again. */
static void so_is_one_that_went_between_two_questions(void **state)
{
    (void)state;
    has[MAKER] = true;
    refuses = 1;
    assert_int_equal(data_find(rig.engine, DATUM, false, holders, &n, &error), ESP_OK);
    assert_string_equal(holders[0].server, "s1");
}

static void one_that_was_lost_is_told_as_that(void **state)
{
    (void)state;
    has[MAKER] = true;
    misses = 100;
    assert_int_equal(data_find(rig.engine, DATUM, false, holders, &n, &error), ESP_UNREACHABLE);
    assert_non_null(strstr(error.text, "server s1, which made it, is not there"));
    assert_in_range(misses, 90, 99);
}

/* A client that gives up the datum does not wait, nor does one that found another server with it. */
static void who_need_not_wait_does_not(void **state)
{
    struct data_witnesses witnesses;
    (void)state;
    has[MAKER] = true;
    misses = knows = 100;
    assert_int_equal(data_find_told(rig.engine, DATUM, false, holders, &n, &witnesses, &error),
                     ESP_UNREACHABLE);
    assert_string_equal(witnesses.silent[0], "s1");
    assert_int_equal(data_find_now(rig.engine, DATUM, holders, &n, &error), ESP_UNREACHABLE);
    assert_int_equal(data_drop(rig.engine, DATUM, NULL, false, &error), ESP_UNREACHABLE);
    has[OTHER] = true;
    assert_int_equal(data_find(rig.engine, DATUM, true, holders, &n, &error), ESP_OK);
    assert_string_equal(holders[0].server, "s2");
    assert_in_range(misses, 90, 99);
}

/* The client learns that the server is expected back for 16 s, in which patience (10 s) does not begin to
 * end. */
static void one_that_does_not_come_back_is_waited_for_with_patience(void **state)
{
    (void)state;
    char address[CAP_ADDRESS + 1];
    const int64_t begun_ns = rig.now.time_ns;
    misses = 1000;
    knows = 8;
    question_ns = 2 * NS_PER_S;
    assert_int_equal(engine_await_name(rig.engine, "s1", address, &error), ESP_NOT_FOUND);
    assert_in_range(rig.now.time_ns - begun_ns, 24 * NS_PER_S, 32 * NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_maker_has_it, setup, teardown),
        cmocka_unit_test_setup_teardown(beside_a_stopped_maker_the_time_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_stopped_maker_leaves_others_time_to_tell, setup, teardown),
        cmocka_unit_test_setup_teardown(beside_a_stopped_master_the_time_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(when_all_are_stopped_the_time_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_limit_a_stopped_one_is_left_for_others, setup, teardown),
        cmocka_unit_test_setup_teardown(where_there_are_none_it_has_the_time_of_a_call, setup, teardown),
        cmocka_unit_test_setup_teardown(a_maker_that_is_started_again_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(so_is_one_that_went_between_two_questions, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_was_lost_is_told_as_that, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_does_not_come_back_is_waited_for_with_patience, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_need_not_wait_does_not, setup, teardown),
        cmocka_unit_test_setup_teardown(so_it_has_where_all_have_to_say_what_they_know, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
