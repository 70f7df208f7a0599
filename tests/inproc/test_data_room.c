/* SPDX-License-Identifier: Apache-2.0
 *
 * The data of a server without a server: the data ask it through struct server_data_ops only.
 */
#include "tests/unit/unit.h"

#include "core/inproc/inproc.h"
#include "sed/data/data.h"
#include "services/data/transfer.h"
#include "util/segment.h"

#include <stdio.h>

#define N 4

static struct {
    struct transport *transport;
    struct endpoint *endpoint;
    struct segments *segments;
    struct timers timers;
    struct server_data *data;
    bool drained, back_soon; /* as the operations say */
    unsigned news, begun, ended;
} owner;

static void news(void *self)
{
    (void)self;
    owner.news++;
}

static const char *parent(const void *self)
{
    (void)self;
    return NULL;
}

static bool no(const void *self)
{
    (void)self;
    return false;
}

static enum esp_status takes(const void *self, struct esp_error *error)
{
    (void)self;
    return owner.drained ? error_set(error, ESP_UNREACHABLE, "the owner takes nothing") : ESP_OK;
}

static bool is_back_soon(const void *self)
{
    (void)self;
    return owner.back_soon;
}

static bool permits(const void *self, const struct envelope *envelope)
{
    (void)self, (void)envelope;
    return false;
}

static void room(void *self)
{
    (void)self;
}

static void traffic(void *self, bool begins)
{
    (void)self;
    owner.begun += begins;
    owner.ended += !begins;
}

static const struct server_data_ops ops = {.news = news,
                                           .parent = parent,
                                           .has_parents = no,
                                           .takes = takes,
                                           .is_back_soon = is_back_soon,
                                           .permits = permits,
                                           .is_idle = no,
                                           .room = room,
                                           .traffic = traffic};

static void on_call(void *self, struct call *call, const struct message *request)
{
    (void)self;
    if (!server_data_on_call(owner.data, call, request))
        call_reply(call, NULL);
}

static void on_chunk(void *self, const struct message *header, bool write, struct chunk_area *area)
{
    (void)self;
    server_data_on_chunk(owner.data, header, write, area);
}

static void on_chunk_done(void *self, const struct message *header, bool write, struct chunk_area *area,
                          bool complete)
{
    (void)self, (void)header;
    server_data_on_chunk_done(owner.data, write, area, complete);
}

static int64_t on_due(void *self)
{
    (void)self;
    return server_data_due(owner.data);
}

static void on_tick(void *self)
{
    (void)self;
    server_data_tick(owner.data, clock_now_ns(transport_clock(owner.transport)));
}

static const struct endpoint_ops endpoint_ops = {
    .call = on_call, .chunk = on_chunk, .chunk_done = on_chunk_done, .due = on_due, .tick = on_tick};

static void begin(uint64_t store_memory)
{
    struct esp_error error;
    const struct segments_options segments = {.idle_bytes = 1 << 20};
    const struct endpoint_options endpoint = {
        .name = "alone", .role = ROLE_SERVER, .incarnation = 7, .listen = "alone"};
    memset(&owner, 0, sizeof owner);
    assert_int_equal(inproc_create(1, &owner.transport, &error), ESP_OK);
    assert_int_equal(segments_create(&segments, &owner.segments, &error), ESP_OK);
    const struct server_data_options options = {.name = "alone",
                                                .clock = transport_clock(owner.transport),
                                                .segments = owner.segments,
                                                .timers = &owner.timers,
                                                .seed = 1,
                                                .store_memory = store_memory};
    assert_int_equal(server_data_create(&options, &ops, &owner, &owner.data, &error), ESP_OK);
    assert_int_equal(
        transport_serve(owner.transport, &endpoint, &endpoint_ops, &owner, &owner.endpoint, &error), ESP_OK);
    server_data_start(owner.data, owner.endpoint);
}

static void end(void)
{
    endpoint_close(owner.endpoint);
    timers_clear(&owner.timers);
    server_data_destroy(owner.data);
    segments_destroy(owner.segments);
    transport_destroy(owner.transport);
}

static enum esp_status ask(const struct message *request, struct message *reply, struct esp_error *error)
{
    message_clear(reply);
    return transport_call(owner.transport, "alone", request, 10000, reply, error);
}

static enum esp_status offer(struct datum_id *id, struct message *reply, struct esp_error *error)
{
    char text[DATUM_TEXT];
    int64_t n = N;
    struct message request = {.kind = MESSAGE_OFFER};
    assert_int_equal(datum_id_draw("alone", id, NULL), ESP_OK);
    request.offer.datum = (struct datum_info){.datum = datum_id_text(id, text),
                                              .type = TYPE_DOUBLE,
                                              .dims = &n,
                                              .n_dims = 1,
                                              .bytes = N * sizeof(double)};
    return ask(&request, reply, error);
}

static void a_datum_that_is_put_is_news_for_the_owner(void **state)
{
    (void)state;
    char text[DATUM_TEXT];
    double x[N] = {1, 2, 3, 4};
    struct datum_id id;
    struct message reply = {0};
    struct esp_error error;
    begin(1 << 20);
    assert_int_equal(offer(&id, &reply, &error), ESP_OK);
    const uint64_t ticket = reply.offer_reply.ticket;
    struct message header = transfer_header(true, id.key, ticket, 0, sizeof x);
    assert_int_equal(transport_put(owner.transport, "alone", &header, x, 5000, 0, &error), ESP_OK);
    assert_int_equal(owner.begun, 1);
    assert_int_equal(owner.ended, 1);
    assert_int_equal(owner.news, 0); /* the datum is not whole for agents before it is finished */
    struct message finish = {.kind = MESSAGE_FINISH};
    finish.finish = (struct finish){.datum = datum_id_text(&id, text), .ticket = ticket};
    assert_int_equal(ask(&finish, &reply, &error), ESP_OK);
    assert_int_equal(owner.news, 1);
    assert_true(server_data_has_news(owner.data));
    assert_true(store_has(server_data_store(owner.data), id.key));
    message_clear(&reply);
    end();
}

static void an_owner_that_takes_nothing_has_offers_refused(void **state)
{
    (void)state;
    struct datum_id id;
    struct message reply = {0};
    struct esp_error error;
    begin(1 << 20);
    owner.drained = true;
    assert_int_equal(offer(&id, &reply, &error), ESP_UNREACHABLE);
    assert_non_null(strstr(error.text, "the owner takes nothing"));
    assert_int_equal(reply.offer_reply.extensions.n, 0);
    owner.back_soon = true;
    assert_int_equal(offer(&id, &reply, &error), ESP_UNREACHABLE);
    assert_int_equal(reply.offer_reply.extensions.n, 1); /* EXTENSION_AWAITED */
    assert_int_equal(owner.news, 0);
    message_clear(&reply);
    end();
}

static void without_memory_for_data_all_is_refused(void **state)
{
    (void)state;
    struct datum_id id;
    struct message reply = {0};
    struct esp_error error;
    begin(0);
    assert_null(server_data_store(owner.data));
    assert_int_equal(server_data_due(owner.data), CLOCK_NEVER);
    assert_int_equal(offer(&id, &reply, &error), ESP_REFUSED);
    assert_non_null(strstr(error.text, "keeps no data"));
    message_clear(&reply);
    end();
}

static void nothing_is_handed_to_threads_after_the_stop(void **state)
{
    (void)state;
    struct thread_job job = {0};
    begin(1 << 20);
    assert_false(server_data_submit(owner.data, &job)); /* there are no errands */
    server_data_stop(owner.data);
    assert_false(server_data_submit(owner.data, &job));
    end();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_datum_that_is_put_is_news_for_the_owner),
        cmocka_unit_test(an_owner_that_takes_nothing_has_offers_refused),
        cmocka_unit_test(without_memory_for_data_all_is_refused),
        cmocka_unit_test(nothing_is_handed_to_threads_after_the_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
