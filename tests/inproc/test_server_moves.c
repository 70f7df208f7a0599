/* SPDX-License-Identifier: Apache-2.0
 *
 * Originals that move between servers: whatever comes late, twice or at the same time, one stays somewhere.
 * "home" and "far" are servers; a test says what happens directly before some message of theirs arrives.
 */
#include "tests/inproc/server_rig.h"

#include "services/data/transfer.h"
#include "tests/unit/crashing_files.h"

enum { N = 1000, DISK = 64 << 20 };

static struct rig home, far;
static struct disk *disks[2]; /* theirs */
static double x[N];

/* ---- what happens in between ---- */

static struct transport_ops watching; /* the transport's own, but for calls */
static const struct transport_ops *plain;
static struct {
    const char *to; /* the first message of that kind to that server: */
    enum message_kind kind;
    void (*happens)(void); /* before it arrives */
} in_between;

static bool is_meant(const char *address, const struct message *request)
{
    return in_between.to && request->kind == in_between.kind && strcmp(address, in_between.to) == 0 &&
           (request->kind != MESSAGE_FINISH || extension_find(&request->finish.extensions, EXTENSION_MOVES));
}

static enum esp_status call_watched(struct transport *transport, const char *address,
                                    const struct message *request, int64_t timeout_ms, struct message *reply,
                                    struct esp_error *error)
{
    if (is_meant(address, request)) {
        in_between.to = NULL;
        in_between.happens();
    }
    return plain->call(transport, address, request, timeout_ms, reply, error);
}

static void before(enum message_kind kind, const char *to, void (*happens)(void))
{
    in_between.to = to;
    in_between.kind = kind;
    in_between.happens = happens;
}

/* ---- data ---- */

static struct datum_id id;
static char text[DATUM_TEXT];

static enum esp_status ask(const char *address, const struct message *request, struct message *reply)
{
    return transport_call(home.transport, address, request, 10000, reply, NULL);
}

static void put_at_home(void)
{
    int64_t n = N;
    struct message offer = {.kind = MESSAGE_OFFER}, finish = {.kind = MESSAGE_FINISH}, reply;
    offer.offer.datum =
        (struct datum_info){.datum = text, .type = TYPE_DOUBLE, .dims = &n, .n_dims = 1, .bytes = sizeof x};
    assert_int_equal(ask("home", &offer, &reply), ESP_OK);
    finish.finish = (struct finish){.datum = text, .ticket = reply.offer_reply.ticket};
    struct message header = transfer_header(true, id.key, reply.offer_reply.ticket, 0, sizeof x);
    assert_int_equal(transport_put(home.transport, "home", &header, x, 5000, 0, NULL), ESP_OK);
    message_clear(&reply);
    assert_int_equal(ask("home", &finish, &reply), ESP_OK);
    message_clear(&reply);
}

static bool has_original(const char *server)
{
    struct message look = {.kind = MESSAGE_DATA, .data = {.datum = text, .after = ""}}, reply;
    const bool there = ask(server, &look, &reply) == ESP_OK;
    const bool original = there && !(reply.data_reply.items[0].flags & DATUM_REPLICA);
    message_clear(&reply);
    return original;
}

/* Has the order given; the test says when it is carried out. */
static void order(struct rig *to, uint32_t flags, struct answered *answered)
{
    const char *sources[] = {"home", "far"};
    struct message pull = {.kind = MESSAGE_PULL};
    pull.pull = (struct pull_request){
        .datum = text, .sources = sources, .n_sources = 2, .flags = flags, .patience_ms = 60000};
    rig_send(to, &pull, 100, answered);
    inproc_run(to->transport, inproc_now_ns(to->transport));
}

static struct answered pull(struct rig *to, uint32_t flags)
{
    struct answered answered = {0};
    order(to, flags, &answered);
    rig_run(to, 1);
    assert_true(answered.done);
    return answered;
}

static struct answered move_to(struct rig *to)
{
    return pull(to, 0);
}

/* ---- laid otherwise ---- */

/* Data without bytes: nothing is carried, and the rest is as with others. */
static struct datum_id empty, made;
static enum datum_mode mode;

static void put_empty_at_home(void)
{
    int64_t dims[] = {0, 3};
    char name[DATUM_TEXT];
    struct answered answered = {0};
    struct message offer = {.kind = MESSAGE_OFFER}, finish = {.kind = MESSAGE_FINISH}, reply;
    assert_int_equal(datum_id_draw("home", &empty, NULL), ESP_OK);
    offer.offer.datum = (struct datum_info){
        .datum = datum_id_text(&empty, name), .type = TYPE_DOUBLE, .dims = dims, .n_dims = 2, .mode = mode};
    assert_int_equal(ask("home", &offer, &reply), ESP_OK);
    finish.finish = (struct finish){.datum = name, .ticket = reply.offer_reply.ticket};
    message_clear(&reply);
    rig_send(&home, &finish, 100, &answered); /* where it is durable, the disk is in between */
    rig_run(&home, 1);
    assert_true(answered.done && answered.status == ESP_OK);
}

enum taking { NOT_YET, TAKEN, UNKNOWN /* as clients of earlier versions */ };

/* "far" is to make `made` of it, in one piece. */
static struct answered lay(enum taking taking)
{
    const char *sources[] = {"home"};
    const uint8_t is_taken = taking == TAKEN;
    char name[DATUM_TEXT];
    uint8_t value[LAID_WORDS * sizeof(uint64_t) + DATUM_TEXT] = {0};
    struct answered answered = {0};
    datum_id_text(&made, (char *)value + LAID_WORDS * sizeof(uint64_t));
    const uint32_t length =
        LAID_WORDS * sizeof(uint64_t) + (uint32_t)strlen((char *)value + LAID_WORDS * sizeof(uint64_t));
    struct extension extensions[] = {{EXTENSION_LAID, value, length}, {EXTENSION_LAID_TAKEN, &is_taken, 1}};
    struct message pull = {.kind = MESSAGE_PULL};
    pull.pull = (struct pull_request){.datum = datum_id_text(&empty, name),
                                      .sources = sources,
                                      .n_sources = 1,
                                      .patience_ms = 2000,
                                      .extensions = {extensions, taking == UNKNOWN ? 1 : 2}};
    rig_send(&far, &pull, 100, &answered);
    rig_run(&far, 1);
    assert_true(answered.done);
    return answered;
}

static bool far_has_made(void)
{
    return rig_counts(&far).store.data == 1;
}

static void order_made(enum taking taking)
{
    put_empty_at_home();
    assert_int_equal(datum_id_draw("far", &made, NULL), ESP_OK);
    assert_int_equal(lay(taking).status, ESP_OK);
    assert_true(far_has_made());
}

static void what_is_made_for_a_client_that_is_gone_goes(void **state)
{
    (void)state;
    order_made(NOT_YET);
    for (int i = 0; i < 30; i++) { /* it asks how it stands */
        assert_int_equal(lay(NOT_YET).status, ESP_OK);
        rig_run(&far, 1);
    }
    assert_true(far_has_made());
    rig_run(&far, 30);
    assert_false(far_has_made());
    assert_int_equal(lay(TAKEN).status, ESP_NOT_FOUND);
    assert_int_equal(lay(NOT_YET).status, ESP_OK); /* and it may be ordered again */
    assert_int_equal(lay(TAKEN).status, ESP_OK);
    rig_run(&far, 60);
    assert_true(far_has_made());
}

static void what_a_client_has_taken_stays(void **state)
{
    (void)state;
    order_made(NOT_YET);
    assert_int_equal(lay(TAKEN).status, ESP_OK);
    assert_int_equal(lay(TAKEN).status, ESP_OK);   /* said again */
    assert_int_equal(lay(NOT_YET).status, ESP_OK); /* a question that comes late */
    rig_run(&far, 60);
    assert_true(far_has_made());
}

static void what_a_client_of_an_earlier_version_orders_stays(void **state)
{
    (void)state;
    order_made(UNKNOWN);
    rig_run(&far, 60);
    assert_true(far_has_made());
}

static void open_far(void)
{
    rig_open(&far, &(struct rig_options){.store_memory = 64u << 20,
                                         .store_disk = DISK,
                                         .files = disk_mount(disks[1]),
                                         .porters = true,
                                         .name = "far",
                                         .beside = &home});
}

/* While it makes another one; it can delete nothing then. */
static void far_loses_power(void)
{
    disk_crash_at(disks[1], 1);
    assert_int_equal(datum_id_draw("far", &made, NULL), ESP_OK);
    assert_int_not_equal(lay(NOT_YET).status, ESP_OK);
    rig_close(&far);
    disk_power_cut(disks[1]);
    open_far();
}

static void what_nobody_has_taken_does_not_outlive_its_server(void **state)
{
    (void)state;
    mode = DATUM_PERSISTENT;
    order_made(NOT_YET);
    far_loses_power();
    assert_false(far_has_made());
}

static void what_was_taken_does(void **state)
{
    (void)state;
    mode = DATUM_PERSISTENT;
    order_made(NOT_YET);
    assert_int_equal(lay(TAKEN).status, ESP_OK);
    far_loses_power();
    assert_true(far_has_made());
}

static void so_does_what_a_client_of_an_earlier_version_has_ordered(void **state)
{
    (void)state;
    mode = DATUM_PERSISTENT;
    order_made(UNKNOWN);
    far_loses_power();
    assert_true(far_has_made());
}

static int setup(void **state)
{
    (void)state;
    mode = DATUM_VOLATILE;
    for (int i = 0; i < 2; i++)
        disks[i] = disk_create(5 + (uint64_t)i);
    rig_open(&home, &(struct rig_options){.store_memory = 64u << 20,
                                          .store_disk = DISK,
                                          .files = disk_mount(disks[0]),
                                          .name = "home"});
    open_far();
    plain = home.transport->ops;
    watching = *plain;
    watching.call = call_watched;
    home.transport->ops = &watching;
    in_between.to = NULL;
    for (int i = 0; i < N; i++)
        x[i] = i;
    assert_int_equal(datum_id_draw("home", &id, NULL), ESP_OK);
    datum_id_text(&id, text);
    put_at_home();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    home.transport->ops = plain;
    rig_close(&far);
    rig_close(&home);
    for (int i = 0; i < 2; i++)
        disk_destroy(disks[i]);
    return 0;
}

/* What "far" says when it wants the original of "home", and when it has it. The rest of its move is not
 * played: it has one of its own. */
static uint64_t claim_for_far(void)
{
    static const char who[] = "far\0far", name[] = "far";
    struct extension extensions[] = {{EXTENSION_COPIES, (const uint8_t *)who, sizeof who},
                                     {EXTENSION_MOVES, (const uint8_t *)name, sizeof name - 1}};
    struct message open = {.kind = MESSAGE_OPEN}, reply;
    open.open = (struct open){.datum = text, .extensions = {extensions, 2}};
    assert_int_equal(ask("home", &open, &reply), ESP_OK);
    const bool given = extension_find(&reply.open_reply.extensions, EXTENSION_MOVES);
    const uint64_t ticket = reply.open_reply.ticket;
    message_clear(&reply);
    assert_true(given);
    return ticket;
}

static enum esp_status finish_for_far(uint64_t ticket)
{
    struct extension moved = {EXTENSION_MOVES, (const uint8_t *)"far", 3};
    struct message finish = {.kind = MESSAGE_FINISH}, reply;
    finish.finish = (struct finish){.datum = text, .ticket = ticket, .extensions = {&moved, 1}};
    enum esp_status status = ask("home", &finish, &reply);
    message_clear(&reply);
    return status;
}

static enum esp_status drop_copy_at(const char *server)
{
    struct extension elsewhere = {EXTENSION_ELSEWHERE, (const uint8_t *)"", 0};
    struct message drop = {.kind = MESSAGE_DROP, .drop = {.datum = text, .extensions = {&elsewhere, 1}}},
                   reply;
    enum esp_status status = ask(server, &drop, &reply);
    message_clear(&reply);
    return status;
}

/* ---- tests ---- */

static void a_move_leaves_one(void **state)
{
    (void)state;
    assert_int_equal(move_to(&far).status, ESP_OK);
    assert_true(has_original("far"));
    assert_false(has_original("home"));
    assert_int_equal(move_to(&home).status, ESP_OK);
    assert_true(has_original("home"));
    assert_false(has_original("far"));
}

static uint64_t claim;

static void far_says_that_it_has_it(void)
{
    finish_for_far(claim);
}

/* Both have it. "far" was let have that of "home" before that began to want the one of "far". */
static void two_moves_to_different_places_leave_one(void **state)
{
    (void)state;
    assert_int_equal(pull(&far, DATUM_KEPT_COPY).status, ESP_OK);
    claim = claim_for_far();
    before(MESSAGE_OPEN, "far", far_says_that_it_has_it);
    move_to(&home);
    assert_null(in_between.to);
    assert_int_equal(has_original("home") + has_original("far"), 1);
}

/* The move is repeated, and the message of "far" comes directly before it is to drop its own datum. */
static void a_word_that_comes_at_the_last_moment_leaves_one(void **state)
{
    (void)state;
    assert_int_equal(pull(&far, DATUM_KEPT_COPY).status, ESP_OK);
    claim = claim_for_far();
    before(MESSAGE_FINISH, "far", far_says_that_it_has_it);
    move_to(&home);
    assert_null(in_between.to);
    assert_int_equal(has_original("home") + has_original("far"), 1);
}

/* The message of "far" comes after it has dropped its own datum. */
static void a_word_that_comes_late_moves_nothing(void **state)
{
    (void)state;
    assert_int_equal(pull(&far, DATUM_KEPT_COPY).status, ESP_OK);
    claim = claim_for_far();
    assert_int_equal(move_to(&home).status, ESP_OK);
    assert_true(has_original("home"));
    assert_false(has_original("far"));
    assert_int_not_equal(finish_for_far(claim), ESP_OK);
    assert_true(has_original("home"));
}

static void home_drops_its_copy(void)
{
    assert_int_equal(drop_copy_at("home"), ESP_OK);
}

/* A server that has lost its datum does not make another server drop its own. */
static void a_giver_that_has_nothing_any_more_leaves_it_to_who_has_it(void **state)
{
    (void)state;
    before(MESSAGE_FINISH, "home", home_drops_its_copy);
    assert_int_equal(move_to(&far).status, ESP_OK);
    assert_null(in_between.to);
    assert_true(has_original("far"));
}

static void a_minute_passes(void)
{
    inproc_run(home.transport, inproc_now_ns(home.transport) + 90 * NS_PER_S);
}

static void a_move_that_takes_longer_than_the_giver_waits_ends_all_the_same(void **state)
{
    (void)state;
    before(MESSAGE_FINISH, "home", a_minute_passes);
    move_to(&far);
    assert_null(in_between.to);
    assert_true(has_original("far"));
    assert_false(has_original("home"));
}

static enum esp_status dropped;

static void far_is_to_drop_it(void)
{
    dropped = drop_copy_at("far");
}

static void what_is_just_moving_here_is_not_dropped_here(void **state)
{
    (void)state;
    before(MESSAGE_FINISH, "home", far_is_to_drop_it);
    assert_int_equal(move_to(&far).status, ESP_OK);
    assert_int_equal(dropped, ESP_BUSY);
    assert_true(has_original("far"));
    assert_false(has_original("home"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_move_leaves_one),
        TEST(two_moves_to_different_places_leave_one),
        TEST(a_word_that_comes_at_the_last_moment_leaves_one),
        TEST(a_word_that_comes_late_moves_nothing),
        TEST(a_giver_that_has_nothing_any_more_leaves_it_to_who_has_it),
        TEST(a_move_that_takes_longer_than_the_giver_waits_ends_all_the_same),
        TEST(what_is_just_moving_here_is_not_dropped_here),
        TEST(what_is_made_for_a_client_that_is_gone_goes),
        TEST(what_a_client_has_taken_stays),
        TEST(what_a_client_of_an_earlier_version_orders_stays),
        TEST(what_nobody_has_taken_does_not_outlive_its_server),
        TEST(what_was_taken_does),
        TEST(so_does_what_a_client_of_an_earlier_version_has_ordered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
