/* SPDX-License-Identifier: Apache-2.0
 *
 * The parent's side, with children whose part the test plays by hand.
 */
#include "tests/unit/unit.h"
#include "core/hierarchy/children.h"

struct parent {
    struct manual_clock clock;
    struct children *children;
    int welcomes, rejoins; /* what it has posted */
};

static void on_post(void *self, const char *address, uint64_t to_incarnation, const struct message *message)
{
    struct parent *parent = self;
    assert_string_equal(address, "there:1");
    assert_int_equal(to_incarnation, 7);
    parent->welcomes += message->kind == MESSAGE_WELCOME;
    parent->rejoins += message->kind == MESSAGE_REJOIN;
}

static const char *const *on_ancestors(void *self, size_t *n)
{
    (void)self;
    *n = 0;
    return NULL;
}

static bool on_joined(void *self, struct child *child)
{
    (void)self;
    (void)child;
    return true;
}

static void on_lost(void *self, struct child *child, const char *why)
{
    (void)self;
    (void)child;
    (void)why;
}

static const struct children_ops ops = {
    .post = on_post, .ancestors = on_ancestors, .joined = on_joined, .lost = on_lost};

static void say(struct parent *parent, struct message *message)
{
    const struct envelope envelope = {.from = "s", .from_incarnation = 7};
    assert_true(children_post(parent->children, &envelope, message));
}

static void say_hello(struct parent *parent)
{
    struct message hello = {.kind = MESSAGE_HELLO,
                            .hello = {.minor = CONTRACT_MINOR, .role = ROLE_SERVER, .address = "there:1"}};
    say(parent, &hello);
}

/* The child learns that the parent stops, leaves and says hello again while the parent still listens. */
static void who_stops_takes_nobody_in(void **state)
{
    (void)state;
    struct parent parent = {0};
    manual_clock_init(&parent.clock, NS_PER_S);
    const struct children_options options = {
        .name = "ma",
        .role = ROLE_MASTER,
        .roles = 1U << ROLE_SERVER,
        .lease_ms = 3000,
        .heartbeat_ms = 1000,
        .clock = &parent.clock.clock,
    };
    struct esp_error error;
    assert_int_equal(children_create(&options, &ops, &parent, &parent.children, &error), ESP_OK);
    say_hello(&parent);
    assert_int_equal(parent.welcomes, 1);
    children_dismiss(parent.children, "it stops");
    assert_int_equal(parent.rejoins, 1);
    say_hello(&parent);
    assert_int_equal(parent.welcomes, 1);
    struct message goodbye = {.kind = MESSAGE_GOODBYE, .goodbye = {.reason = "as told"}};
    say(&parent, &goodbye);
    say_hello(&parent);
    assert_int_equal(parent.welcomes, 1);
    assert_int_equal(children_count(parent.children), 0);
    children_destroy(parent.children);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_stops_takes_nobody_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
