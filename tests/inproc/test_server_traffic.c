/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that move take of a link what a probe beside them would miss: they are counted while they move, at
 * both ends.
 */
#include "tests/inproc/server_rig.h"

#include "services/data/transfer.h"

#include <string.h>

enum { N = 3000 };

static struct rig rig;
static double x[N];

static int setup(void **state)
{
    (void)state;
    rig_open(&rig, &(struct rig_options){.store_memory = 64u << 20});
    for (int i = 0; i < N; i++)
        x[i] = i + 0.5;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_close(&rig);
    return 0;
}

static uint64_t traffic(const struct rig *of, bool moves)
{
    bool is_moving;
    const uint64_t begun = server_traffic(of->server, &is_moving);
    assert_int_equal(is_moving, moves);
    return begun;
}

/* Ticket of the session. */
static uint64_t offer(const char *address, struct datum_id *id)
{
    char text[DATUM_TEXT];
    int64_t n = N;
    struct message request = {.kind = MESSAGE_OFFER}, reply = {0};
    assert_int_equal(datum_id_draw(address, id, NULL), ESP_OK);
    request.offer.datum = (struct datum_info){
        .datum = datum_id_text(id, text), .type = TYPE_DOUBLE, .dims = &n, .n_dims = 1, .bytes = sizeof x};
    assert_int_equal(transport_call(rig.transport, address, &request, 10000, &reply, NULL), ESP_OK);
    const uint64_t ticket = reply.offer_reply.ticket;
    message_clear(&reply);
    return ticket;
}

static void pieces_of_data_are_traffic_that_probes_share(void **state)
{
    (void)state;
    struct datum_id id;
    struct chunk_area area = {0};
    const uint64_t before = traffic(&rig, false), ticket = offer("sed", &id);
    struct message header = transfer_header(true, id.key, ticket, 0, sizeof x);
    server_ops.chunk(rig.server, &header, true, &area);
    assert_null(area.reply);
    assert_int_equal(traffic(&rig, true), before + 1);
    memcpy(area.data, x, sizeof x);
    assert_int_equal(area.work(&area, NULL), ESP_OK);
    server_ops.chunk_done(rig.server, &header, true, &area, true);
    assert_int_equal(traffic(&rig, false), before + 1);
    header.chunk.session.secret += 2; /* refused: nothing moves */
    area = (struct chunk_area){0};
    server_ops.chunk(rig.server, &header, true, &area);
    assert_non_null(area.reply);
    message_destroy(area.reply);
    assert_int_equal(traffic(&rig, false), before + 1);
}

static struct datum_id put(const char *address)
{
    struct datum_id id;
    char text[DATUM_TEXT];
    const uint64_t ticket = offer(address, &id);
    const struct transfer_options options = {.transport = rig.transport,
                                             .address = address,
                                             .key = id.key,
                                             .ticket = ticket,
                                             .put = true,
                                             .bytes = sizeof x,
                                             .timeout_ms = 5000,
                                             .memory = (uint8_t *)x};
    struct ranges done = {0};
    assert_int_equal(transfer_run(&options, &done, NULL), ESP_OK);
    ranges_clear(&done);
    struct message request = {.kind = MESSAGE_FINISH}, reply = {0};
    request.finish = (struct finish){.datum = datum_id_text(&id, text), .ticket = ticket};
    assert_int_equal(transport_call(rig.transport, address, &request, 10000, &reply, NULL), ESP_OK);
    message_clear(&reply);
    return id;
}

static void what_is_fetched_is_traffic_at_both_ends(void **state)
{
    (void)state;
    static struct rig far;
    const char *sources[] = {"far"};
    char text[DATUM_TEXT];
    struct answered answered = {0};
    struct message request = {.kind = MESSAGE_PULL};
    rig_open(&far, &(struct rig_options){.store_memory = 64u << 20, .name = "far", .beside = &rig});
    const struct datum_id id = put("far");
    const uint64_t here = traffic(&rig, false), there = traffic(&far, false);
    request.pull = (struct pull_request){
        .datum = datum_id_text(&id, text), .sources = sources, .n_sources = 1, .patience_ms = 5000};
    rig_send(&rig, &request, 10, &answered);
    rig_run(&rig, 8);
    assert_true(answered.done);
    assert_int_equal(answered.status, ESP_OK);
    assert_true(traffic(&rig, false) > here);
    assert_true(traffic(&far, false) > there);
    rig_close(&far);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pieces_of_data_are_traffic_that_probes_share, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_fetched_is_traffic_at_both_ends, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
