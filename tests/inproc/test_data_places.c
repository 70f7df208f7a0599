/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of where data are: a server below a leader below a master, all of them real. A request for a
 * datum is sent down to the server. */
#include "tests/inproc/server_rig.h"

#include "agent/agent.h"
#include "core/data/datum.h"

#include <stdio.h>

static struct rig rig;
static struct agent *master, *leader;

static struct agent *start(const char *name, const char *parent)
{
    static uint64_t incarnation = 100; /* another one with each start */
    const char *const parents[] = {parent};
    struct agent_options options = {.name = name,
                                    .listen = name,
                                    .incarnation = ++incarnation,
                                    .seed = 3,
                                    .parents = parents,
                                    .n_parents = parent ? 1 : 0};
    struct agent *agent;
    struct esp_error error;
    if (agent_create(&options, rig.transport, &agent, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return agent;
}

static int setup(void **state)
{
    (void)state;
    rig_open(&rig, &(struct rig_options){.store_memory = 1 << 20, .parent_name = "leader"});
    master = start("master", NULL);
    leader = start("leader", "master");
    rig_run(&rig, 10);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    agent_drop(leader);
    agent_drop(master);
    rig_close(&rig);
    return 0;
}

static enum esp_status ask(const char *address, struct message *request, struct message *reply)
{
    message_clear(reply);
    return transport_call(rig.transport, address, request, 5000, reply, NULL);
}

static struct datum_id put(char *text)
{
    struct datum_id id;
    struct message offer = {.kind = MESSAGE_OFFER}, finish = {.kind = MESSAGE_FINISH}, reply = {0};
    int64_t n = 0;
    assert_int_equal(datum_id_draw("sed", &id, NULL), ESP_OK);
    offer.offer.datum =
        (struct datum_info){.datum = datum_id_text(&id, text), .type = TYPE_DOUBLE, .dims = &n, .n_dims = 1};
    assert_int_equal(ask("sed", &offer, &reply), ESP_OK);
    finish.finish = (struct finish){.datum = text, .ticket = reply.offer_reply.ticket};
    assert_int_equal(ask("sed", &finish, &reply), ESP_OK);
    message_clear(&reply);
    return id;
}

/* How many places that agent names; `next` gets the first one's address, `server` whether it has it itself.
 */
static uint32_t places(const char *agent, const char *datum, char *next, bool *server)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = datum, .after = ""}}, reply = {0};
    assert_int_equal(ask(agent, &request, &reply), ESP_OK);
    uint32_t n = reply.data_reply.n;
    if (n > 0) {
        snprintf(next, 64, "%s", reply.data_reply.items[0].address);
        *server = reply.data_reply.items[0].server[0] != 0;
    }
    message_clear(&reply);
    return n;
}

static void who_asks_the_master_is_sent_down_to_the_server(void **state)
{
    (void)state;
    char text[DATUM_TEXT], next[64];
    bool server;
    put(text);
    rig_run(&rig, 1);
    assert_int_equal(places("master", text, next, &server), 1);
    assert_false(server);
    assert_string_equal(next, "leader");
    assert_int_equal(places(next, text, next, &server), 1);
    assert_true(server);
    assert_string_equal(next, "sed");
}

static void what_is_deleted_is_known_nowhere(void **state)
{
    (void)state;
    char text[DATUM_TEXT], next[64];
    bool server;
    put(text);
    rig_run(&rig, 1);
    struct message drop = {.kind = MESSAGE_DROP, .drop = {.datum = text}}, reply = {0};
    assert_int_equal(ask("sed", &drop, &reply), ESP_OK);
    message_clear(&reply);
    rig_run(&rig, 1);
    assert_int_equal(places("leader", text, next, &server), 0);
    assert_int_equal(places("master", text, next, &server), 0);
}

static void an_agent_that_is_restarted_hears_of_all_again(void **state)
{
    (void)state;
    char text[2][DATUM_TEXT], next[64];
    bool server;
    put(text[0]);
    rig_run(&rig, 1);
    agent_drop(leader);
    put(text[1]);
    leader = start("leader", "master");
    rig_run(&rig, 20);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(places("leader", text[i], next, &server), 1);
        assert_int_equal(places("master", text[i], next, &server), 1);
    }
}

static void an_agent_names_the_one_above(void **state)
{
    (void)state;
    struct datum_id id;
    char text[DATUM_TEXT];
    assert_int_equal(datum_id_draw("elsewhere", &id, NULL), ESP_OK);
    struct message request = {.kind = MESSAGE_DATA}, reply = {0};
    request.data = (struct data){.datum = datum_id_text(&id, text), .after = ""};
    assert_int_equal(ask("leader", &request, &reply), ESP_OK);
    assert_int_equal(reply.data_reply.n, 0);
    const struct extension *above = extension_find(&reply.data_reply.extensions, EXTENSION_ABOVE);
    assert_non_null(above);
    assert_memory_equal(above->value, "master", 6);
    assert_int_equal(ask("master", &request, &reply), ESP_OK);
    assert_null(extension_find(&reply.data_reply.extensions, EXTENSION_ABOVE));
    message_clear(&reply);
}

static void give_up(const char *agent, const char *datum)
{
    struct extension extension = {.tag = EXTENSION_DISOWNED};
    struct message request = {.kind = MESSAGE_DATA}, reply = {0};
    request.data = (struct data){.datum = datum, .after = "", .extensions = {&extension, 1}};
    assert_int_equal(ask(agent, &request, &reply), ESP_OK);
    assert_non_null(extension_find(&reply.data_reply.extensions, EXTENSION_DISOWNED));
    message_clear(&reply);
}

static bool server_has(const char *datum)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = datum, .after = ""}}, reply = {0};
    const enum esp_status status = ask("sed", &request, &reply);
    message_clear(&reply);
    return status == ESP_OK;
}

static void be_away(bool away)
{
    inproc_partition(rig.transport, "leader", "sed", away);
    inproc_partition(rig.transport, "master", "sed", away);
}

static void what_was_given_up_goes_when_it_comes_back(void **state)
{
    (void)state;
    char text[2][DATUM_TEXT], next[64];
    bool server;
    put(text[0]);
    put(text[1]);
    rig_run(&rig, 1);
    be_away(true);
    rig_run(&rig, 20);
    assert_int_equal(places("master", text[0], next, &server), 0);
    give_up("master", text[0]);
    give_up("master", text[0]); /* said again */
    assert_true(server_has(text[0]));
    be_away(false);
    rig_run(&rig, 20);
    assert_false(server_has(text[0]));
    assert_true(server_has(text[1]));
    assert_int_equal(places("master", text[0], next, &server), 0);
    assert_int_equal(places("master", text[1], next, &server), 1);
}

static void what_is_there_still_goes_at_once(void **state)
{
    (void)state;
    char text[DATUM_TEXT];
    put(text);
    rig_run(&rig, 1);
    give_up("master", text);
    rig_run(&rig, 1);
    assert_false(server_has(text));
}

static void it_is_said_again_until_it_has_gone(void **state)
{
    (void)state;
    char text[DATUM_TEXT];
    put(text);
    rig_run(&rig, 1);
    inproc_partition(rig.transport, "leader", "sed", true);
    give_up("master", text);
    rig_run(&rig, 1);
    inproc_partition(rig.transport, "leader", "sed", false);
    assert_true(server_has(text));
    rig_run(&rig, 11);
    assert_false(server_has(text));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(who_asks_the_master_is_sent_down_to_the_server),
        TEST(what_is_deleted_is_known_nowhere),
        TEST(an_agent_that_is_restarted_hears_of_all_again),
        TEST(an_agent_names_the_one_above),
        TEST(what_was_given_up_goes_when_it_comes_back),
        TEST(what_is_there_still_goes_at_once),
        TEST(it_is_said_again_until_it_has_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
