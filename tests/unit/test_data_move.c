/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving a datum from a server that goes in the middle of it: a master agent, the server where the datum is,
 * which may be back at another address, and the one that is to have it.
 */
#include "tests/unit/unit.h"
#include "tests/unit/engine_rig.h"

#include "client/data/data.h"

#define DATUM  "s1:0123456789abcdef0123456789abcdef"
#define BEFORE "s1:1" /* where the source is, */
#define BACK   "s1:2" /* and where it may be back */
#define TO     "s2:1"

static bool goes, comes_back, has_it_still; /* the source, when the datum has moved */
static bool moved, is_at_source;
static bool there_is_no_place; /* the server that is to have it */
static unsigned pulls, asked_for_place;
static struct engine_rig rig;

static const char *source_address(void)
{
    return !moved || !goes ? BEFORE : comes_back ? BACK : "";
}

static enum esp_status tell_tree(const char *name, struct message *reply, struct esp_error *error)
{
    const char *address = strcmp(name, "s1") == 0 ? source_address() : TO;
    struct node_record *record = arena_alloc(&reply->arena, sizeof *record);
    asked_for_place += strcmp(name, "s2") == 0;
    if (strcmp(name, "s2") == 0 && there_is_no_place)
        return error_set(error, ESP_NO_SERVER, "it was there, and cannot be reached");
    if (!*address)
        return error_set(error, ESP_NOT_FOUND, "no such node");
    *record = (struct node_record){.name = name, .address = address, .role = ROLE_SERVER};
    reply->tree_reply.records = record;
    reply->tree_reply.n_records = 1;
    return ESP_OK;
}

static void tell_datum(const char *address, struct message *reply)
{
    struct datum_info *info = arena_alloc(&reply->arena, sizeof *info);
    *info = (struct datum_info){.datum = DATUM, .server = "", .address = "", .owner = ""};
    if (strcmp(address, "ma:1") == 0) {
        info->server = moved ? "s2" : "s1";
        info->address = moved ? TO : BEFORE;
    }
    reply->data_reply.items = info;
    reply->data_reply.n = strcmp(address, "ma:1") == 0 || (strcmp(address, TO) == 0 ? moved : is_at_source);
}

/* The first one fetches it, and finds the source at its other address by itself; a further one settles who
 * has it. */
static void pull(struct message *reply)
{
    pulls++;
    is_at_source = !moved && has_it_still;
    moved = true;
    reply->pull_reply.complete = true;
}

static enum esp_status answer(struct transport *transport, const char *address, const struct message *request,
                              int64_t timeout_ms, struct message *reply, struct esp_error *error)
{
    (void)transport, (void)timeout_ms;
    memset(reply, 0, sizeof *reply);
    reply->kind = message_reply_kind(request->kind);
    if (strncmp(address, "s1:", 3) == 0 && strcmp(address, source_address()) != 0)
        return error_set(error, ESP_MAYBE, "%s: connection lost", address);
    switch (request->kind) {
    case MESSAGE_GREET:
        reply->greet_reply.role = ROLE_MASTER, reply->greet_reply.name = "ma";
        return ESP_OK;
    case MESSAGE_TREE:
        return tell_tree(request->tree.node, reply, error);
    case MESSAGE_DATA:
        tell_datum(address, reply);
        return ESP_OK;
    case MESSAGE_PULL:
        assert_string_equal(address, TO);
        pull(reply);
        return ESP_OK;
    case MESSAGE_DROP: /* an original leaves by a move only */
        return is_at_source ? ESP_OK : error_set(error, ESP_NOT_FOUND, "no such datum");
    default:
        fail_msg("nobody asks for %s", message_name(request->kind));
        return ESP_INVALID;
    }
}

static const struct transport_ops ops = {.call = answer};

static int begin(int64_t patience_ms)
{
    static const char *const agents[] = {"ma:1"};
    goes = comes_back = has_it_still = moved = there_is_no_place = false;
    is_at_source = true;
    pulls = asked_for_place = 0;
    return engine_rig_begin(
        &rig, &ops,
        (struct engine_options){
            .agents = agents, .n_agents = 1, .call_timeout_ms = 10000, .agent_patience_ms = patience_ms});
}

static int setup(void **state)
{
    (void)state;
    return begin(1000);
}

static int setup_without_patience(void **state)
{
    (void)state;
    return begin(0);
}

static int teardown(void **state)
{
    (void)state;
    engine_rig_end(&rig);
    return 0;
}

static struct esp_error error;

static enum esp_status move(void)
{
    return data_copy(rig.engine, DATUM, "s2", true, (struct data_told){0}, &error);
}

static void from_one_that_stays_it_is_one_order(void **state)
{
    (void)state;
    assert_int_equal(move(), ESP_OK);
    assert_int_equal(pulls, 1);
}

static void a_source_that_is_back_elsewhere_is_found_there(void **state)
{
    (void)state;
    goes = comes_back = true;
    assert_int_equal(move(), ESP_OK);
    assert_true(moved);
}

static void what_it_has_still_is_settled_by_the_same_order_again(void **state)
{
    (void)state;
    goes = comes_back = has_it_still = true;
    assert_int_equal(move(), ESP_OK);
    assert_int_equal(pulls, 2);
    assert_false(is_at_source);
}

static void one_that_does_not_come_back_is_told_with_where_the_datum_is(void **state)
{
    (void)state;
    goes = true;
    assert_int_equal(move(), ESP_UNREACHABLE);
    assert_non_null(strstr(error.text, "it is on server s2 now, but s1 may have it, too"));
    assert_int_equal(pulls, 1);
}

static void a_place_that_is_gone_is_waited_for_once(void **state)
{
    (void)state;
    there_is_no_place = true;
    assert_int_equal(move(), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "it was there"));
    assert_int_equal(pulls, 0);
    assert_int_equal(asked_for_place, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(from_one_that_stays_it_is_one_order, setup, teardown),
        cmocka_unit_test_setup_teardown(a_source_that_is_back_elsewhere_is_found_there, setup, teardown),
        cmocka_unit_test_setup_teardown(what_it_has_still_is_settled_by_the_same_order_again, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_does_not_come_back_is_told_with_where_the_datum_is, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_place_that_is_gone_is_waited_for_once, setup_without_patience,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
