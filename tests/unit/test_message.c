/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/message/batch.h"
#include "core/message/chunk.h"
#include "core/reply.h"
#include "tests/unit/generated.h"

#include <stdlib.h>

static void encode(struct memory_wire *memory, struct message *message)
{
    memory_wire_encoder(memory, MESSAGE_BYTES);
    assert_true(wire_message(&memory->wire, message));
}

static void every_message_survives_the_journey(void **state)
{
    (void)state;
    unsigned kinds = 0;
    for (enum message_kind kind = next_kind(MESSAGE_NONE); kind; kind = next_kind(kind)) {
        struct message sent, arrived = {.kind = kind};
        struct memory_wire out, in, again;
        assert_true(generate(&sent, kind, kind));
        encode(&out, &sent);
        memory_wire_decoder(&in, out.data, out.size, &arrived.arena);
        assert_true(wire_message(&in.wire, &arrived));
        assert_int_equal(in.position, out.size);
        encode(&again, &arrived);
        assert_int_equal(again.size, out.size);
        assert_memory_equal(again.data, out.data, out.size);
        memory_wire_release(&out);
        memory_wire_release(&again);
        message_clear(&sent);
        message_clear(&arrived);
        kinds++;
    }
    assert_int_equal(kinds, 53);
}

static void a_message_that_ends_early_is_refused_wherever_it_ends(void **state)
{
    (void)state;
    for (enum message_kind kind = next_kind(MESSAGE_NONE); kind; kind = next_kind(kind)) {
        struct message sent;
        struct memory_wire out;
        assert_true(generate(&sent, kind, kind));
        encode(&out, &sent);
        for (size_t size = 0; size < out.size; size += 1 + size / 64) {
            struct message arrived = {.kind = kind};
            struct memory_wire in;
            memory_wire_decoder(&in, out.data, size, &arrived.arena);
            assert_false(wire_message(&in.wire, &arrived));
            assert_int_equal(in.wire.error.status, ESP_PROTOCOL);
            assert_true(strlen(in.wire.error.text) > 0);
            message_clear(&arrived);
        }
        memory_wire_release(&out);
        message_clear(&sent);
    }
}

/* The longest sequences are announced where none are: nothing must be allocated for them. */
static void a_lying_count_takes_no_memory(void **state)
{
    (void)state;
    uint32_t lies[64];
    for (size_t i = 0; i < 64; i++)
        lies[i] = 60000;
    for (enum message_kind kind = next_kind(MESSAGE_NONE); kind; kind = next_kind(kind)) {
        struct message arrived = {.kind = kind};
        struct memory_wire in;
        memory_wire_decoder(&in, lies, sizeof lies, &arrived.arena);
        wire_message(&in.wire, &arrived);
        assert_true(arrived.arena.total < 16384);
        message_clear(&arrived);
    }
}

/* ---- the least that items take ---- */

#define MOST_LEAST 100

/* Items whose texts and sequences are empty: all bits zero. */
static uint64_t nothing[MOST_LEAST * sizeof(struct node_record) / 8];

/* A message with one sequence of `n` such items; the length of `text`, which comes before it wherever there
 * is one, shifts what follows. */
struct least_case {
    const char *name;
    uint32_t most;
    void (*fill)(struct message *message, const char *text, uint32_t n);
};

#define LEAST(sequence, number, text_field, member, field, count)                                            \
    static void fill_##sequence(struct message *m, const char *text, uint32_t n)                             \
    {                                                                                                        \
        m->kind = MESSAGE_##number;                                                                          \
        m->text_field = text;                                                                                \
        m->member.field = (void *)nothing;                                                                   \
        m->member.count = n;                                                                                 \
    }
LEAST(extensions, HELLO, hello.address, hello.extensions, items, n)
LEAST(ancestors, WELCOME, welcome.outcome.text, welcome, ancestors, n_ancestors)
LEAST(records, TREE_REPLY, tree_reply.outcome.text, tree_reply, records, n_records)
LEAST(scalars, SUBMIT, submit.request.problem, submit.request, scalars, n_scalars)
LEAST(attributes, SUBMIT, submit.request.problem, submit.request, arguments, n_arguments)
LEAST(excluded, SUBMIT, submit.request.server, submit.request, excluded, n_excluded)
LEAST(locations, ANSWER, answer.response.name, answer.response, data, n_data)
LEAST(estimates, ANSWER, answer.response.name, answer.response, servers, n_servers)
LEAST(masters, LOCATE_REPLY, locate_reply.outcome.text, locate_reply, masters, n_masters)
LEAST(candidates, SUBMIT_REPLY, submit_reply.outcome.text, submit_reply, candidates, n_candidates)
LEAST(listed, LIST_REPLY, list_reply.outcome.text, list_reply, items, n)
LEAST(call_arguments, CALL, call.problem, call, arguments, n_arguments)
LEAST(call_results, CALL_REPLY, call_reply.outcome.text, call_reply.session, results, n_results)
LEAST(reports, AWAIT_REPLY, await_reply.outcome.text, await_reply, sessions, n_sessions)
LEAST(gaps, OFFER_REPLY, offer_reply.outcome.text, offer_reply, gaps, n_gaps)
LEAST(data, DATA_REPLY, data_reply.outcome.text, data_reply, items, n)
LEAST(sources, PULL, pull.datum, pull, sources, n_sources)

#define LEAST_ALONE(sequence, number, member, field, count)                                                  \
    static void fill_##sequence(struct message *m, const char *text, uint32_t n)                             \
    {                                                                                                        \
        (void)text;                                                                                          \
        m->kind = MESSAGE_##number;                                                                          \
        m->member.field = (void *)nothing;                                                                   \
        m->member.count = n;                                                                                 \
    }
LEAST_ALONE(told_records, REPORT, report, records, n_records)
LEAST_ALONE(removed, REPORT, report, removed, n_removed)
LEAST_ALONE(placements, PLACE, place, items, n)
LEAST_ALONE(entries, CATALOG, catalog, entries, n_entries)
LEAST_ALONE(texts, TEXTS, texts, items, n)
LEAST_ALONE(awaited, AWAIT, await, sessions, n_sessions)

static void fill_marks(struct message *m, const char *text, uint32_t n)
{
    static struct node_record record;
    record = (struct node_record){.name = text, .marks = (void *)nothing, .n_marks = n};
    m->kind = MESSAGE_REPORT;
    m->report.records = &record;
    m->report.n_records = 1;
}

static void fill_paths(struct message *m, const char *text, uint32_t n)
{
    static struct server_estimate estimate;
    estimate = (struct server_estimate){.server = text, .transfer = (void *)nothing, .n_transfer = n};
    m->kind = MESSAGE_ANSWER;
    m->answer.response.servers = &estimate;
    m->answer.response.n_servers = 1;
}

#define LEAST_CASE(sequence, most)                                                                           \
    {                                                                                                        \
#sequence, most, fill_##sequence                                                                     \
    }
static const struct least_case least_cases[] = {
    LEAST_CASE(extensions, CAP_EXTENSIONS),
    LEAST_CASE(ancestors, CAP_ANCESTORS),
    LEAST_CASE(records, MOST_LEAST),
    LEAST_CASE(scalars, CAP_ARGUMENTS),
    LEAST_CASE(attributes, CAP_ARGUMENTS),
    LEAST_CASE(excluded, MOST_LEAST),
    LEAST_CASE(locations, MOST_LEAST),
    LEAST_CASE(estimates, MOST_LEAST),
    LEAST_CASE(masters, MOST_LEAST),
    LEAST_CASE(candidates, MOST_LEAST),
    LEAST_CASE(listed, MOST_LEAST),
    LEAST_CASE(call_arguments, CAP_ARGUMENTS),
    LEAST_CASE(call_results, CAP_ARGUMENTS),
    LEAST_CASE(reports, MOST_LEAST),
    LEAST_CASE(told_records, MOST_LEAST),
    LEAST_CASE(removed, MOST_LEAST),
    LEAST_CASE(placements, MOST_LEAST),
    LEAST_CASE(entries, MOST_LEAST),
    LEAST_CASE(texts, MOST_LEAST),
    LEAST_CASE(awaited, MOST_LEAST),
    LEAST_CASE(marks, MOST_LEAST),
    LEAST_CASE(paths, MOST_LEAST),
    LEAST_CASE(gaps, MOST_LEAST),
    LEAST_CASE(data, MOST_LEAST),
    LEAST_CASE(sources, CAP_SOURCES),
};

static void try_least(const struct least_case *least, const char *text, uint32_t n)
{
    struct message sent = {0};
    struct memory_wire out, in;
    least->fill(&sent, text, n);
    struct message arrived = {.kind = sent.kind};
    encode(&out, &sent);
    memory_wire_decoder(&in, out.data, out.size, &arrived.arena);
    if (!wire_message(&in.wire, &arrived))
        fail_msg("%u empty %s after \"%s\": %s", n, least->name, text, in.wire.error.text);
    assert_int_equal(in.position, out.size);
    memory_wire_release(&out);
    message_clear(&arrived);
}

static void the_smallest_items_are_taken_wherever_they_start(void **state)
{
    (void)state;
    static const char shifts[] = "12345678";
    for (size_t i = 0; i < sizeof least_cases / sizeof *least_cases; i++)
        for (const char *text = shifts; *text; text++)
            for (uint32_t n = 1; n <= least_cases[i].most; n++)
                try_least(&least_cases[i], text, n);
}

static void a_cap_is_kept_when_sending(void **state)
{
    (void)state;
    char name[CAP_NAME + 2];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    struct message message = {.kind = MESSAGE_TREE, .tree = {name}};
    struct memory_wire out;
    memory_wire_encoder(&out, MESSAGE_BYTES);
    assert_false(wire_message(&out.wire, &message));
    assert_int_equal(out.wire.error.status, ESP_LIMIT);
    assert_string_equal(out.wire.error.text, "\"node\": at most 255 bytes, found 256");
    memory_wire_release(&out);
    name[CAP_NAME] = 0;
    encode(&out, &message);
    memory_wire_release(&out);
}

static void operations_and_kinds_name_each_other(void **state)
{
    (void)state;
    for (enum message_kind kind = next_kind(MESSAGE_NONE); kind; kind = next_kind(kind)) {
        const char *operation = message_operation(kind);
        assert_int_equal(operation != NULL, kind >= MESSAGE_GREET && kind <= MESSAGE_LAST_REQUEST);
        assert_int_equal(message_reply_kind(kind) != MESSAGE_NONE, operation != NULL);
        if (operation)
            assert_int_equal(message_of_operation(operation), kind);
    }
    assert_int_equal(message_of_operation("post"), MESSAGE_NONE);
    assert_int_equal(message_of_operation("hello"), MESSAGE_NONE);
    assert_string_equal(message_name((enum message_kind)9999), "unknown message");
}

static void a_failure_is_a_reply_like_any_other(void **state)
{
    (void)state;
    struct message *failure = message_failure(MESSAGE_SUBMIT_REPLY, ESP_NO_SERVER, "none of %d", 7);
    struct memory_wire out, in;
    struct message arrived = {.kind = MESSAGE_SUBMIT_REPLY};
    encode(&out, failure);
    memory_wire_decoder(&in, out.data, out.size, &arrived.arena);
    assert_true(wire_message(&in.wire, &arrived));
    struct esp_error error;
    assert_int_equal(message_outcome(&arrived, &error), ESP_NO_SERVER);
    assert_string_equal(error.text, "none of 7");
    arrived.outcome.text = "";
    assert_int_equal(message_outcome(&arrived, &error), ESP_NO_SERVER);
    assert_string_equal(error.text, esp_status_string(ESP_NO_SERVER));
    memory_wire_release(&out);
    message_clear(&arrived);
    message_destroy(failure);
}

static void an_answer_that_is_none_is_replaced(void **state)
{
    (void)state;
    struct message *wrong = message_create(MESSAGE_TREE_REPLY);
    struct message *answers[] = {NULL, wrong};
    enum esp_status expected[] = {ESP_NO_MEMORY, ESP_INTERNAL};
    for (int i = 0; i < 2; i++) {
        struct memory_wire body, in;
        struct message arrived = {.kind = MESSAGE_GREET_REPLY};
        reply_encode(&body, MESSAGE_GREET, answers[i], MESSAGE_BYTES);
        memory_wire_decoder(&in, body.data, body.size, &arrived.arena);
        assert_true(wire_message(&in.wire, &arrived));
        assert_int_equal(arrived.outcome.status, expected[i]);
        memory_wire_release(&body);
        message_clear(&arrived);
    }
    message_destroy(wrong);
}

static void a_session_is_printed_without_its_secret(void **state)
{
    (void)state;
    struct session_id session = {0xc0ffee1234567890, 1, 7, 0x5ec4e7}, other = session;
    char text[SESSION_TEXT];
    assert_string_equal(session_id_text(&session, text), "c0ffee12-7");
    other.secret = 0;
    assert_true(session_id_equal(&session, &other));
    other.sequence = 8;
    assert_false(session_id_equal(&session, &other));
}

static void unknown_extensions_do_no_harm(void **state)
{
    (void)state;
    struct extension items[2] = {{7, (const uint8_t *)"abc", 3}, {9, NULL, 0}};
    struct message sent = {.kind = MESSAGE_LOCATE, .locate = {{items, 2}}};
    struct message arrived = {.kind = MESSAGE_LOCATE};
    struct memory_wire out, in;
    encode(&out, &sent);
    memory_wire_decoder(&in, out.data, out.size, &arrived.arena);
    assert_true(wire_message(&in.wire, &arrived));
    const struct extension *found = extension_find(&arrived.locate.extensions, 7);
    assert_non_null(found);
    assert_memory_equal(found->value, "abc", 3);
    assert_null(extension_find(&arrived.locate.extensions, 8));
    memory_wire_release(&out);
    message_clear(&arrived);
}

/* ---- posts ---- */

static void a_batch_carries_messages_in_order(void **state)
{
    (void)state;
    struct envelope envelope = {"me", 1, 2, "", ""};
    struct batch batch;
    assert_int_equal(batch_begin(&batch, &envelope, MESSAGE_BYTES, NULL), ESP_OK);
    unsigned n = 0;
    for (enum message_kind kind = MESSAGE_HELLO; kind <= MESSAGE_LAST_ONE_WAY; kind++, n++) {
        struct message message;
        assert_true(generate(&message, kind, kind));
        assert_int_equal(batch_add(&batch, &message, NULL), ESP_OK);
        message_clear(&message);
    }
    struct message call = {.kind = MESSAGE_GREET};
    assert_int_equal(batch_add(&batch, &call, NULL), ESP_INVALID);
    struct memory_wire in;
    struct post post;
    memory_wire_decoder(&in, batch.memory.data, batch.memory.size, NULL);
    assert_true(wire_post(&in.wire, &post));
    assert_string_equal(post.envelope.from, "me");
    assert_int_equal(post.envelope.to_incarnation, 2);
    assert_int_equal(post.n, n);
    enum message_kind kind = MESSAGE_HELLO;
    for (struct post_item *item = post.items; item; item = item->next)
        assert_int_equal(item->message.kind, kind++);
    assert_int_equal(kind, MESSAGE_LAST_ONE_WAY + 1);
    post_clear(&post);
    batch_release(&batch);
}

static void a_message_that_does_not_fit_leaves_the_batch_as_it_was(void **state)
{
    (void)state;
    struct envelope envelope = {"me", 1, 2, "", ""};
    struct batch batch;
    struct message pulse = {.kind = MESSAGE_PULSE, .pulse = {5}}, large;
    assert_true(generate(&large, MESSAGE_REPORT, 1));
    assert_int_equal(batch_begin(&batch, &envelope, 100, NULL), ESP_OK);
    assert_int_equal(batch_add(&batch, &pulse, NULL), ESP_OK);
    size_t before = batch.memory.size;
    struct esp_error error;
    assert_int_equal(batch_add(&batch, &large, &error), ESP_LIMIT);
    assert_int_equal(batch.memory.size, before);
    assert_int_equal(batch_add(&batch, &pulse, NULL), ESP_OK);
    assert_int_equal(batch.count, 2);
    batch_release(&batch);
    message_clear(&large);
}

static void a_post_with_one_bad_message_is_refused_as_a_whole(void **state)
{
    (void)state;
    struct envelope envelope = {"me", 1, 2, "", ""};
    struct batch batch;
    struct message pulse = {.kind = MESSAGE_PULSE, .pulse = {5}};
    assert_int_equal(batch_begin(&batch, &envelope, MESSAGE_BYTES, NULL), ESP_OK);
    assert_int_equal(batch_add(&batch, &pulse, NULL), ESP_OK);
    size_t second = batch.memory.size;
    assert_int_equal(batch_add(&batch, &pulse, NULL), ESP_OK);
    uint32_t greet = MESSAGE_GREET; /* a kind that cannot be posted */
    memcpy(batch.memory.data + second, &greet, sizeof greet);
    struct memory_wire in;
    struct post post;
    memory_wire_decoder(&in, batch.memory.data, batch.memory.size, NULL);
    assert_false(wire_post(&in.wire, &post));
    assert_int_equal(in.wire.error.status, ESP_PROTOCOL);
    post_clear(&post);
    batch_release(&batch);
}

/* Two streams share a link: what is waited for, ten seconds by default, is far from what a chunk takes, and
 * the delay of a fast link is bridged. */
static void chunks_go_by_the_rate_of_the_link(void **state)
{
    (void)state;
    for (double bytes_per_s = 60e3; bytes_per_s < 1e10; bytes_per_s *= 1.3) {
        uint64_t length = chunk_length(0, 0);
        double seconds = 2 * (double)length / bytes_per_s;
        assert_true(seconds < 9);
        for (int i = 0; i < 10; i++) {
            length = chunk_length(length, (int64_t)(1e9 * seconds));
            seconds = 2 * (double)length / bytes_per_s;
            assert_true(i == 0 || seconds <= 0.26 || length == CHUNK_LEAST);
            assert_int_equal(length & (length - 1), 0);
        }
        if (bytes_per_s > 40e6 && bytes_per_s < 150e6)
            assert_int_equal(length, CHUNK_LONG);
        if (bytes_per_s > 250e6)
            assert_int_equal(length, CHUNK_SHORT);
    }
    assert_int_equal(chunk_length(1, 0), CHUNK_SHORT); /* too quick to be measured */
}

static void what_is_told_of_earlier_attempts_is_cut_and_harmless(void **state)
{
    (void)state;
    const struct session_id first = {.client_high = 0xc0ffee1200000001, .sequence = 7};
    uint8_t bytes[AGAIN_BYTES + 1] = {0};
    struct extension item = {EXTENSION_AGAIN, bytes, 0};
    const struct extensions extensions = {&item, 1};
    struct told_again told;
    item.length = again_put(&first, 5, "S\twas\nlost", bytes);
    assert_true(again_get(&extensions, &told));
    assert_int_equal(told.first.sequence, 7);
    assert_int_equal(told.age_ns, 5);
    assert_string_equal(told.why, "S?was?lost");
    memset(bytes, 0xff, 24);
    assert_true(again_get(&extensions, &told));
    assert_true(told.age_ns > 0 && told.age_ns < INT64_MAX / 2);
    item.length = AGAIN_BYTES + 1;
    assert_false(again_get(&extensions, &told));
    item.length = 23;
    assert_false(again_get(&extensions, &told));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_survives_the_journey),
        cmocka_unit_test(a_message_that_ends_early_is_refused_wherever_it_ends),
        cmocka_unit_test(a_lying_count_takes_no_memory),
        cmocka_unit_test(the_smallest_items_are_taken_wherever_they_start),
        cmocka_unit_test(a_cap_is_kept_when_sending),
        cmocka_unit_test(operations_and_kinds_name_each_other),
        cmocka_unit_test(a_failure_is_a_reply_like_any_other),
        cmocka_unit_test(an_answer_that_is_none_is_replaced),
        cmocka_unit_test(a_session_is_printed_without_its_secret),
        cmocka_unit_test(unknown_extensions_do_no_harm),
        cmocka_unit_test(a_batch_carries_messages_in_order),
        cmocka_unit_test(a_message_that_does_not_fit_leaves_the_batch_as_it_was),
        cmocka_unit_test(a_post_with_one_bad_message_is_refused_as_a_whole),
        cmocka_unit_test(chunks_go_by_the_rate_of_the_link),
        cmocka_unit_test(what_is_told_of_earlier_attempts_is_cut_and_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
