/* SPDX-License-Identifier: Apache-2.0
 *
 * The child's side against a parent that the test plays by hand.
 */
#include "tests/unit/unit.h"
#include "core/hierarchy/membership.h"

#include <stdio.h>
#include <stdlib.h>

struct child {
    struct manual_clock clock;
    struct membership *membership;
    /* what it did */
    int hellos, reports, complete_reports, goodbyes;
    char last_address[64];
    struct hello_ticket ticket, first_ticket;
    uint64_t last_number;
    int changes, ancestor_changes;
    bool joined;
    int64_t soon_ms; /* after its next report there is to be another one; 0: as always */
    char why[128];
};

static void on_post(void *self, const char *address, uint64_t to_incarnation, const struct message *message)
{
    struct child *child = self;
    (void)to_incarnation;
    snprintf(child->last_address, sizeof child->last_address, "%s", address);
    if (message->kind == MESSAGE_HELLO) {
        child->hellos++;
        const struct extension *ticket = extension_find(&message->hello.extensions, EXTENSION_TICKET);
        assert_non_null(ticket);
        memcpy(&child->ticket, ticket->value, sizeof child->ticket);
        if (child->hellos == 1)
            child->first_ticket = child->ticket;
    } else if (message->kind == MESSAGE_REPORT) {
        child->reports++;
        child->complete_reports += message->report.complete;
        assert_int_equal(message->report.number, child->last_number + 1);
        child->last_number = message->report.number;
    } else if (message->kind == MESSAGE_GOODBYE) {
        child->goodbyes++;
    }
}

static void on_report(void *self, bool complete, struct message *report)
{
    struct child *child = self;
    (void)complete;
    report->report.oldest_s = 0;
    if (child->soon_ms)
        membership_touch(child->membership, child->soon_ms);
    child->soon_ms = 0;
}

static void on_changed(void *self, bool joined, const char *parent, const char *why)
{
    struct child *child = self;
    assert_non_null(parent);
    child->changes++;
    child->joined = joined;
    snprintf(child->why, sizeof child->why, "%s", why);
}

static void on_ancestors(void *self)
{
    ((struct child *)self)->ancestor_changes++;
}

static const struct membership_ops ops = {
    .post = on_post, .report = on_report, .changed = on_changed, .ancestors = on_ancestors};

static void start(struct child *child, const char *const *parents, size_t n)
{
    *child = (struct child){0};
    manual_clock_init(&child->clock, NS_PER_S);
    struct membership_options options = {
        .parents = parents,
        .n_parents = n,
        .role = ROLE_LEADER,
        .name = "la-1",
        .features = 6,
        .retry_first_ms = 100,
        .retry_most_ms = 2000,
        .seed = 42,
        .clock = &child->clock.clock,
    };
    struct esp_error error;
    assert_int_equal(membership_create(&options, &ops, child, &child->membership, &error), ESP_OK);
    membership_start(child->membership, "here:1");
}

/* Lets time pass and everything due happen. */
static void pass_ms(struct child *child, int64_t ms)
{
    int64_t until = child->clock.time_ns + ms * NS_PER_MS;
    for (;;) {
        int64_t due = membership_due(child->membership);
        if (due > until)
            break;
        if (due > child->clock.time_ns)
            child->clock.time_ns = due;
        membership_tick(child->membership);
    }
    child->clock.time_ns = until;
}

static void say_from(struct child *child, const char *from, uint64_t incarnation, struct message *message)
{
    struct envelope envelope = {.from = from, .from_incarnation = incarnation};
    assert_true(membership_post(child->membership, &envelope, message));
}

static void welcome_with(struct child *child, const char *from, uint64_t incarnation, const char **ancestors,
                         uint32_t n, struct hello_ticket *ticket)
{
    struct extension echo = {EXTENSION_TICKET, (const uint8_t *)ticket, sizeof *ticket};
    struct message message = {
        .kind = MESSAGE_WELCOME,
        .welcome = {.features = 3,
                    .lease_ms = 3000,
                    .heartbeat_ms = 1000,
                    .ancestors = ancestors,
                    .n_ancestors = n,
                    .extensions = {.items = &echo, .n = 1}},
    };
    say_from(child, from, incarnation, &message);
}

static void welcome(struct child *child, const char *from, uint64_t incarnation, const char **ancestors,
                    uint32_t n)
{
    welcome_with(child, from, incarnation, ancestors, n, &child->ticket);
}

static void pulse(struct child *child, const char *from, uint64_t incarnation)
{
    struct message message = {.kind = MESSAGE_PULSE, .pulse = {.number = child->last_number}};
    say_from(child, from, incarnation, &message);
}

static void refuse(struct child *child, const char *why)
{
    struct extension echo = {EXTENSION_TICKET, (const uint8_t *)&child->ticket, sizeof child->ticket};
    struct message message = {
        .kind = MESSAGE_WELCOME,
        .welcome = {.outcome = {.status = ESP_REFUSED, .text = why}, .extensions = {.items = &echo, .n = 1}}};
    say_from(child, "ma", 5, &message);
}

static const char *const one[] = {"ma:1"};
static const char *const two[] = {"ma:1", "other:2"};
static const char *above[] = {"ma"};

static void does_not_arrive(struct child *child, const char *address, enum esp_status status,
                            const char *text)
{
    struct esp_error why;
    error_set(&why, status, "%s", text);
    membership_undelivered(child->membership, address, &why);
}

static void tries_quietly_until_the_parent_is_there(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    for (int i = 0; i < 60; i++) {
        pass_ms(&child, 1000);
        does_not_arrive(&child, "ma:1", ESP_UNREACHABLE, "nobody there");
    }
    assert_in_range(child.hellos, 30, 75); /* backed off to 1 .. 2 s */
    assert_int_equal(child.changes, 1);
    assert_false(membership_joined(child.membership));
    assert_null(membership_parent_name(child.membership));
    welcome(&child, "ma", 5, above, 1);
    assert_true(membership_joined(child.membership));
    assert_true(child.joined);
    assert_string_equal(membership_parent_name(child.membership), "ma");
    assert_string_equal(membership_parent_address(child.membership), "ma:1");
    assert_int_equal(membership_features(child.membership), 2);
    membership_destroy(child.membership);
}

static void reports_all_then_changes_then_heartbeats(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    pass_ms(&child, 1);
    assert_int_equal(child.complete_reports, 1);
    pulse(&child, "ma", 5);
    membership_touch(child.membership, 50);
    membership_touch(child.membership, 80);
    pass_ms(&child, 49);
    assert_int_equal(child.reports, 1);
    pass_ms(&child, 2);
    assert_int_equal(child.reports, 2);
    pulse(&child, "ma", 5);
    for (int i = 0; i < 10; i++) {
        pass_ms(&child, 1000);
        pulse(&child, "ma", 5);
    }
    assert_int_equal(child.reports, 12);
    assert_int_equal(child.complete_reports, 1);
    membership_destroy(child.membership);
}

/* Of what does not go into a report the owner says so while it fills it. */
static void a_report_may_ask_for_the_next_one(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    pass_ms(&child, 1);
    pulse(&child, "ma", 5);
    child.soon_ms = 300;
    membership_touch(child.membership, 0);
    pass_ms(&child, 299);
    assert_int_equal(child.reports, 2);
    pulse(&child, "ma", 5);
    pass_ms(&child, 2);
    assert_int_equal(child.reports, 3);
    membership_destroy(child.membership);
}

static void an_unconfirmed_report_is_followed_by_a_complete_one(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    pass_ms(&child, 1);
    pulse(&child, "ma", 5);
    membership_touch(child.membership, 0);
    pass_ms(&child, 1);
    assert_int_equal(child.complete_reports, 1);
    pass_ms(&child, 1100); /* no pulse for it */
    assert_int_equal(child.complete_reports, 2);
    assert_true(membership_joined(child.membership));
    membership_destroy(child.membership);
}

static void a_silent_parent_is_lost_and_found_again(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    pass_ms(&child, 2900);
    assert_true(membership_joined(child.membership));
    int hellos = child.hellos;
    pass_ms(&child, 200);
    assert_false(membership_joined(child.membership));
    assert_string_equal(child.why, "it fell silent");
    int changes = child.changes;
    does_not_arrive(&child, "ma:1", ESP_UNREACHABLE, "nobody there"); /* nothing new for the log */
    assert_int_equal(child.changes, changes);
    assert_int_equal(child.hellos, hellos + 1);
    welcome(&child, "ma", 6, above, 1);
    assert_int_equal(membership_parent_incarnation(child.membership), 6);
    membership_destroy(child.membership);
}

/* It was stopped, or starved: what its parent said meanwhile lies in its sockets and is read next. */
static void who_was_held_up_itself_hears_the_parent_first(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    pass_ms(&child, 500);
    child.clock.time_ns += 30 * NS_PER_S;
    membership_tick(child.membership);
    assert_true(membership_joined(child.membership));
    pulse(&child, "ma", 5);
    pass_ms(&child, 2500);
    assert_true(membership_joined(child.membership));
    child.clock.time_ns += 30 * NS_PER_S;
    pass_ms(&child, 1900);
    assert_true(membership_joined(child.membership));
    pass_ms(&child, 200); /* and now it is silent indeed */
    assert_false(membership_joined(child.membership));
    membership_destroy(child.membership);
}

static void a_restarted_parent_s_rejoin_brings_a_hello_at_once(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    pass_ms(&child, 1);
    int hellos = child.hellos;
    struct message rejoin = {.kind = MESSAGE_REJOIN, .rejoin = {.reason = "I was restarted"}};
    say_from(&child, "stranger", 9, &rejoin);
    assert_true(membership_joined(child.membership));
    say_from(&child, "ma", 6, &rejoin);
    say_from(&child, "ma", 6, &rejoin);
    assert_false(membership_joined(child.membership));
    pass_ms(&child, 1);
    assert_int_equal(child.hellos, hellos + 1);
    membership_destroy(child.membership);
}

static void a_refusal_is_told_once_and_tried_again_slowly(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    for (int i = 0; i < 100; i++) {
        int before = child.hellos;
        pass_ms(&child, 200);
        if (child.hellos > before)
            refuse(&child, "the name is taken");
    }
    assert_in_range(child.hellos, 3, 40);
    assert_int_equal(child.changes, 1);
    assert_string_equal(child.why, "the name is taken");
    membership_destroy(child.membership);
}

/* With one parent, a refusal gets as many tries as silence does. */
static void who_refuses_is_not_said_to_be_silent(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    refuse(&child, "a server takes nobody");
    pass_ms(&child, 1000);
    assert_true(child.hellos > 1);
    assert_string_equal(child.why, "a server takes nobody");
    assert_int_equal(child.changes, 1);
    membership_destroy(child.membership);
}

/* The agents above let it in now and then, to see whether its name is free. */
static void who_is_let_in_and_put_out_again_and_again_tells_it_once(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    assert_int_equal(child.changes, 1);
    for (int i = 0; i < 10; i++) {
        pass_ms(&child, 50);
        refuse(&child, "the name is taken");
        assert_false(membership_joined(child.membership));
        pass_ms(&child, 5000);
        welcome(&child, "ma", 5, above, 1);
        assert_true(membership_joined(child.membership));
    }
    assert_int_equal(child.changes, 2);
    assert_false(child.joined);
    assert_string_equal(child.why, "the name is taken");
    for (int i = 0; i < 4; i++) { /* now it may stay: a lease is 3 s */
        assert_false(child.joined);
        pass_ms(&child, 800);
        pulse(&child, "ma", 5);
    }
    assert_true(child.joined);
    assert_int_equal(child.changes, 3);
    refuse(&child, "the name is taken");
    assert_int_equal(child.changes, 4);
    membership_destroy(child.membership);
}

static void another_contract_is_told_in_the_transport_s_words(void **state)
{
    (void)state;
    static const char text[] = "it speaks contract 1, this side contract 9";
    struct child child;
    start(&child, one, 1);
    for (int i = 0; i < 3; i++) {
        pass_ms(&child, i == 0 ? 1 : 1000);
        does_not_arrive(&child, "ma:1", ESP_VERSION, text);
        assert_string_equal(child.why, text);
    }
    assert_int_equal(child.changes, 1);
    assert_true(membership_is_refused(child.membership));
    welcome(&child, "ma", 5, above, 1);
    does_not_arrive(&child, "ma:1", ESP_VERSION, text); /* it was replaced by another release */
    assert_false(child.joined);
    assert_string_equal(child.why, text);
    membership_destroy(child.membership);
}

static void a_loop_is_left_again(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    const char *loop[] = {"ma", "x", "la-1"};
    welcome(&child, "ma", 5, loop, 3);
    assert_false(membership_joined(child.membership));
    assert_int_equal(child.goodbyes, 1);
    welcome(&child, "ma", 5, above, 1); /* it was sent before the goodbye arrived */
    assert_false(membership_joined(child.membership));
    pass_ms(&child, 1000);
    welcome(&child, "ma", 5, above, 1);
    assert_true(membership_joined(child.membership));
    welcome(&child, "ma", 5, loop, 3); /* the loop was closed further up */
    assert_false(membership_joined(child.membership));
    assert_int_equal(child.goodbyes, 2);
    membership_destroy(child.membership);
}

static void new_ancestors_are_passed_on(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    assert_int_equal(child.ancestor_changes, 1);
    welcome(&child, "ma", 5, above, 1);
    assert_int_equal(child.ancestor_changes, 1);
    const char *more[] = {"ma", "red"};
    welcome(&child, "ma", 5, more, 2);
    assert_int_equal(child.ancestor_changes, 2);
    size_t n;
    assert_string_equal(membership_ancestors(child.membership, &n)[1], "red");
    assert_int_equal(n, 2);
    membership_destroy(child.membership);
}

static void tries_its_parents_in_turn_and_knows_whose_welcome_it_is(void **state)
{
    (void)state;
    struct child child;
    start(&child, two, 2);
    pass_ms(&child, 1);
    assert_string_equal(child.last_address, "ma:1");
    pass_ms(&child, 100);
    assert_string_equal(child.last_address, "other:2");
    assert_int_equal(child.ticket.parent, 1);
    welcome_with(&child, "ma", 5, above, 1, &child.first_ticket); /* the first one's, late */
    assert_string_equal(membership_parent_address(child.membership), "ma:1");
    struct message stray = {.kind = MESSAGE_PULSE, .pulse = {.number = 1}};
    say_from(&child, "other", 8, &stray);
    assert_string_equal(membership_parent_name(child.membership), "ma");
    membership_destroy(child.membership);
}

static void leaves_in_order(void **state)
{
    (void)state;
    struct child child;
    start(&child, one, 1);
    pass_ms(&child, 1);
    welcome(&child, "ma", 5, above, 1);
    pass_ms(&child, 1);
    const int reports = child.reports;
    membership_tell_due(child.membership);
    assert_int_equal(child.reports, reports); /* nothing is */
    membership_touch(child.membership, 0);
    membership_tell_due(child.membership);
    assert_int_equal(child.reports, reports + 1);
    membership_leave(child.membership, "stopping");
    assert_int_equal(child.goodbyes, 1);
    membership_tell_due(child.membership);
    assert_int_equal(child.reports, reports + 1);
    assert_true(membership_due(child.membership) == CLOCK_NEVER);
    membership_destroy(child.membership);
}

static void without_parents_nothing_is_ever_due(void **state)
{
    (void)state;
    struct child child;
    start(&child, NULL, 0);
    assert_true(membership_due(child.membership) == CLOCK_NEVER);
    does_not_arrive(&child, "x", ESP_UNREACHABLE, "nobody there");
    membership_destroy(child.membership);
}

static void who_learns_of_its_first_parents_joins_and_keeps_them(void **state)
{
    (void)state;
    struct child child;
    const char *const own[] = {"here:1"};
    start(&child, NULL, 0);
    assert_int_equal(membership_learn_parents(child.membership, own, 1), 0);
    assert_true(membership_due(child.membership) == CLOCK_NEVER);
    assert_int_equal(membership_learn_parents(child.membership, one, 1), 1);
    pass_ms(&child, 1);
    assert_int_equal(child.hellos, 1);
    refuse(&child, "not now"); /* refuges would be forgotten */
    pass_ms(&child, 4000);
    assert_true(child.hellos > 1);
    assert_string_equal(child.last_address, "ma:1");
    welcome(&child, "ma", 5, above, 1);
    assert_true(child.joined);
    membership_destroy(child.membership);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_quietly_until_the_parent_is_there),
        cmocka_unit_test(reports_all_then_changes_then_heartbeats),
        cmocka_unit_test(a_report_may_ask_for_the_next_one),
        cmocka_unit_test(an_unconfirmed_report_is_followed_by_a_complete_one),
        cmocka_unit_test(who_was_held_up_itself_hears_the_parent_first),
        cmocka_unit_test(a_silent_parent_is_lost_and_found_again),
        cmocka_unit_test(a_restarted_parent_s_rejoin_brings_a_hello_at_once),
        cmocka_unit_test(a_refusal_is_told_once_and_tried_again_slowly),
        cmocka_unit_test(who_refuses_is_not_said_to_be_silent),
        cmocka_unit_test(who_is_let_in_and_put_out_again_and_again_tells_it_once),
        cmocka_unit_test(another_contract_is_told_in_the_transport_s_words),
        cmocka_unit_test(a_loop_is_left_again),
        cmocka_unit_test(new_ancestors_are_passed_on),
        cmocka_unit_test(tries_its_parents_in_turn_and_knows_whose_welcome_it_is),
        cmocka_unit_test(leaves_in_order),
        cmocka_unit_test(without_parents_nothing_is_ever_due),
        cmocka_unit_test(who_learns_of_its_first_parents_joins_and_keeps_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
