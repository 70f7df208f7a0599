/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that were given up, between master agents: two of them below a redirector, and a server below one.
 */
#include "redirector/redirector.h"
#include "tests/inproc/server_rig.h"

#include "agent/agent.h"
#include "core/data/datum.h"

#include <string.h>
#include <time.h>

static struct rig rig;
static struct redirector *redirector;
static struct agent *first, *second; /* the server is below the second one */
static struct datum_id id;
static char datum[DATUM_TEXT];

static struct agent *start(const char *name)
{
    static const char *const redirectors[] = {"red"};
    static uint64_t incarnation = 100;
    struct agent_options options = {.name = name,
                                    .listen = name,
                                    .incarnation = ++incarnation,
                                    .seed = 3,
                                    .redirectors = redirectors,
                                    .n_redirectors = 1};
    struct agent *agent;
    struct esp_error error;
    if (agent_create(&options, rig.transport, &agent, &error) != ESP_OK)
        fail_msg("%s", error.text);
    return agent;
}

static enum esp_status ask(const char *address, struct message *request, struct message *reply)
{
    message_clear(reply);
    return transport_call(rig.transport, address, request, 5000, reply, NULL);
}

static void put(void)
{
    struct message offer = {.kind = MESSAGE_OFFER}, finish = {.kind = MESSAGE_FINISH}, reply = {0};
    int64_t n = 0;
    assert_int_equal(datum_id_draw("sed", &id, NULL), ESP_OK);
    datum_id_text(&id, datum);
    offer.offer.datum = (struct datum_info){.datum = datum, .type = TYPE_DOUBLE, .dims = &n, .n_dims = 1};
    assert_int_equal(ask("sed", &offer, &reply), ESP_OK);
    finish.finish = (struct finish){.datum = datum, .ticket = reply.offer_reply.ticket};
    assert_int_equal(ask("sed", &finish, &reply), ESP_OK);
    message_clear(&reply);
}

static int setup(void **state)
{
    (void)state;
    const struct redirector_options options = {.name = "red", .listen = "red", .incarnation = 900};
    struct esp_error error;
    rig_open(&rig, &(struct rig_options){.store_memory = 1 << 20, .parent_name = "second"});
    if (redirector_create(&options, rig.transport, &redirector, &error) != ESP_OK)
        return -1;
    first = start("first");
    second = start("second");
    rig_run(&rig, 10);
    put();
    rig_run(&rig, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    agent_drop(first);
    agent_drop(second);
    redirector_stop(redirector, "end");
    rig_close(&rig);
    return 0;
}

static void give_up_at(const char *agent)
{
    struct extension extension = {.tag = EXTENSION_DISOWNED};
    struct message request = {.kind = MESSAGE_DATA}, reply = {0};
    request.data = (struct data){.datum = datum, .after = "", .extensions = {&extension, 1}};
    assert_int_equal(ask(agent, &request, &reply), ESP_OK);
    assert_non_null(extension_find(&reply.data_reply.extensions, EXTENSION_DISOWNED));
    message_clear(&reply);
}

static bool server_has_it(void)
{
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = datum, .after = ""}}, reply = {0};
    const enum esp_status status = ask("sed", &request, &reply);
    message_clear(&reply);
    return status == ESP_OK;
}

static void what_one_hears_the_other_does(void **state)
{
    (void)state;
    give_up_at("first");
    assert_true(server_has_it());
    rig_run(&rig, 1);
    assert_false(server_has_it());
}

static void who_was_away_hears_later(void **state)
{
    (void)state;
    inproc_partition(rig.transport, "first", "second", true);
    give_up_at("first");
    rig_run(&rig, 5);
    assert_true(server_has_it());
    inproc_partition(rig.transport, "first", "second", false);
    rig_run(&rig, 61);
    assert_false(server_has_it());
}

/* The server is away; the one that noted it has no folder; it comes back by the one that was told. */
static void who_is_started_again_is_told_again(void **state)
{
    (void)state;
    inproc_partition(rig.transport, "second", "sed", true);
    rig_run(&rig, 20);
    give_up_at("second");
    rig_run(&rig, 1);
    agent_drop(second);
    second = start("second");
    rig_run(&rig, 5);
    inproc_partition(rig.transport, "second", "sed", false);
    rig_run(&rig, 20);
    assert_false(server_has_it());
}

/* ---- strangers ---- */

static unsigned told_lists;

static int64_t never(void *self)
{
    (void)self;
    return CLOCK_NEVER;
}

static void count_lists(void *self, const struct envelope *envelope, const struct message *message)
{
    (void)self;
    (void)envelope;
    told_lists += message->kind == MESSAGE_PASSED;
}

static void post_as_stranger(const struct message *message)
{
    static const struct endpoint_ops ops = {.post = count_lists, .due = never};
    const struct endpoint_options options = {
        .name = "first", .role = ROLE_MASTER, .incarnation = 5, .listen = INPROC_LISTEN "stranger"};
    struct endpoint *stranger;
    struct esp_error error;
    assert_int_equal(transport_serve(rig.transport, &options, &ops, NULL, &stranger, &error), ESP_OK);
    endpoint_enter(stranger);
    assert_int_equal(endpoint_post(stranger, "second", 0, message, &error), ESP_OK);
    endpoint_leave(stranger);
    rig_run(&rig, 1);
    endpoint_close(stranger);
}

static void who_says_he_is_a_peer_is_not_believed(void **state)
{
    (void)state;
    uint8_t bytes[sizeof(int64_t) + DATUM_GIVEN_UP_BYTES] = {0};
    char packed[DATUM_GIVEN_UP_BYTES];
    const struct extension one = datum_given_up_pack(&id, "", packed);
    struct extension list = {EXTENSION_GIVEN_UP_LIST, bytes, sizeof(int64_t) + one.length};
    struct message message = {.kind = MESSAGE_PASSED};
    const int64_t now_s = time(NULL);
    memcpy(bytes, &now_s, sizeof now_s);
    memcpy(bytes + sizeof(int64_t), one.value, one.length);
    message.passed = (struct passed){.id = 1, .what = PASS_GIVEN_UP, .extensions = {&list, 1}};
    post_as_stranger(&message);
    assert_true(server_has_it());
    message.kind = MESSAGE_PASS;
    message.pass = (struct pass){.address = "first", .what = PASS_GIVEN_UP, .extensions = {&list, 1}};
    post_as_stranger(&message);
    assert_true(server_has_it());
}

static void nor_told_what_was_given_up(void **state)
{
    (void)state;
    struct extension wanted = {.tag = EXTENSION_GIVEN_UP_WANTED};
    const struct message message = {
        .kind = MESSAGE_PASS,
        .pass = {.id = 1, .address = "stranger", .what = PASS_GIVEN_UP, .extensions = {&wanted, 1}}};
    give_up_at("second");
    told_lists = 0;
    post_as_stranger(&message);
    assert_int_equal(told_lists, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_one_hears_the_other_does),      TEST(who_was_away_hears_later),
        TEST(who_is_started_again_is_told_again), TEST(who_says_he_is_a_peer_is_not_believed),
        TEST(nor_told_what_was_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
