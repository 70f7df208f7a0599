/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of data that a disk has damaged, on servers below an agent: calls take a sound copy from elsewhere,
 * and a sound copy becomes the original.
 */
#include "tests/inproc/server_rig.h"
#include "tests/unit/crashing_files.h"

#include "agent/agent.h"
#include "services/data/datum_file.h"
#include "services/data/transfer.h"

#include <stdio.h>

enum { N = 3000, DISK = 64 << 20 };

static struct rig base, home, far; /* the network; the server with the original; the server with a replica */
static struct disk *disks[2];      /* theirs */
static struct agent *master;
static double x[N];

static void open_home(void)
{
    rig_open(&home, &(struct rig_options){.store_memory = 40000, /* for one of our data */
                                          .store_disk = DISK,
                                          .files = disk_mount(disks[0]),
                                          .name = "home",
                                          .parent_name = "master",
                                          .beside = &base});
}

static void open_far(void)
{
    rig_open(&far, &(struct rig_options){.store_memory = 40000,
                                         .store_disk = DISK,
                                         .files = disk_mount(disks[1]),
                                         .name = "far",
                                         .parent_name = "master",
                                         .beside = &base});
}

static void run(double seconds)
{
    for (double left = seconds; left > 0; left -= 0.2) {
        rig_run(&home, 0.1);
        rig_run(&far, 0.1);
    }
}

static int setup(void **state)
{
    struct agent_options options = {.name = "master", .listen = "master", .incarnation = 5, .seed = 3};
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = i + 0.5;
    for (int i = 0; i < 2; i++)
        disks[i] = disk_create(7 + (uint64_t)i);
    rig_open(&base, &(struct rig_options){.name = "base"});
    assert_int_equal(agent_create(&options, base.transport, &master, NULL), ESP_OK);
    open_home();
    open_far();
    run(10);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    agent_drop(master);
    rig_close(&far);
    rig_close(&home);
    rig_close(&base);
    for (int i = 0; i < 2; i++)
        disk_destroy(disks[i]);
    return 0;
}

static enum esp_status ask(const char *address, const struct message *request, struct message *reply)
{
    message_clear(reply);
    return transport_call(base.transport, address, request, 10000, reply, NULL);
}

/* A persistent datum of x. */
static struct datum_id put(const char *server)
{
    int64_t n = N;
    struct datum_id id;
    char text[DATUM_TEXT];
    struct message offer = {.kind = MESSAGE_OFFER}, finish = {.kind = MESSAGE_FINISH}, reply = {0};
    assert_int_equal(datum_id_draw(server, &id, NULL), ESP_OK);
    offer.offer.datum = (struct datum_info){.datum = datum_id_text(&id, text),
                                            .type = TYPE_DOUBLE,
                                            .dims = &n,
                                            .n_dims = 1,
                                            .mode = DATUM_PERSISTENT,
                                            .bytes = sizeof x};
    struct rig *rig = strcmp(server, "home") == 0 ? &home : &far;
    struct answered finished = {0};
    assert_int_equal(ask(server, &offer, &reply), ESP_OK);
    struct message header = transfer_header(true, id.key, reply.offer_reply.ticket, 0, sizeof x);
    assert_int_equal(transport_put(base.transport, server, &header, x, 5000, 0, NULL), ESP_OK);
    finish.finish = (struct finish){.datum = text, .ticket = reply.offer_reply.ticket};
    rig_send(rig, &finish, 10, &finished);
    rig_run(rig, 0.2);
    assert_int_equal(finished.status, ESP_OK);
    message_clear(&reply);
    return id;
}

/* Answer of that server about the datum. */
static enum esp_status look(const char *server, const struct datum_id *id, uint32_t *mode, uint32_t *flags)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = datum_id_text(id, text), .after = ""}},
                   reply = {0};
    enum esp_status status = ask(server, &request, &reply);
    if (status == ESP_OK) {
        *mode = reply.data_reply.items[0].mode;
        *flags = reply.data_reply.items[0].flags;
    }
    message_clear(&reply);
    return status;
}

static bool reads_back(const char *server, const struct datum_id *id)
{
    double back[N] = {0};
    char text[DATUM_TEXT];
    uint64_t moved = 0;
    struct message request = {.kind = MESSAGE_OPEN, .open = {.datum = datum_id_text(id, text)}}, reply = {0};
    enum esp_status status = ask(server, &request, &reply);
    if (status == ESP_OK) {
        struct message header = transfer_header(false, id->key, reply.open_reply.ticket, 0, sizeof back);
        status = transport_get(base.transport, server, &header, back, &moved, 5000, 0, NULL);
    }
    message_clear(&reply);
    return status == ESP_OK && moved == sizeof x && memcmp(back, x, sizeof x) == 0;
}

/* The far server fetches it and keeps its copy. */
static void copy_to_far(const struct datum_id *id)
{
    char text[DATUM_TEXT];
    const char *sources[] = {"home"};
    struct answered answered = {0};
    struct message request = {.kind = MESSAGE_PULL};
    request.pull = (struct pull_request){.datum = datum_id_text(id, text),
                                         .sources = sources,
                                         .n_sources = 1,
                                         .flags = DATUM_REPLICA,
                                         .patience_ms = 5000};
    rig_send(&far, &request, 10, &answered);
    rig_run(&far, 1);
    assert_int_equal(answered.status, ESP_OK);
    run(1); /* the agent learns of the copy */
}

static bool by_itself(struct errands *errands, struct thread_job *job)
{
    (void)errands, (void)job;
    return false; /* the server does what its disk has to do at once */
}

/* One bit of its file on that disk turns over, and no memory has the datum. */
static void damage(struct disk *disk, const struct datum_id *id, uint64_t offset)
{
    char name[DATUM_FILE_NAME];
    assert_true(disk_flip(disk, datum_file_name(id->key, true, name), offset));
}

static void call_with(struct rig *with, const struct datum_id *id, struct answered *answered)
{
    static uint64_t sequence;
    const int32_t n = N;
    char text[DATUM_TEXT];
    datum_id_text(id, text);
    struct call_argument arguments[] = {
        {.kind = KIND_INLINE, .bytes = 4, .data = (const uint8_t *)&n, .length = 4},
        {.index = RIG_X, .kind = KIND_DATUM, .data = (const uint8_t *)text, .length = (uint32_t)strlen(text)},
        {.index = RIG_Y, .kind = KIND_WANTED},
    };
    struct message request = {.kind = MESSAGE_CALL};
    request.call = (struct call_request){.session = rig_session(1, ++sequence),
                                         .problem = "copy",
                                         .digest = rig_digest(with, "copy"),
                                         .patience_ms = 60000,
                                         .arguments = arguments,
                                         .n_arguments = 3};
    *answered = (struct answered){0};
    rig_send(with, &request, 100, answered);
    rig_run(with, 90);
    if (answered->state == SESSION_DONE) {
        double y[N] = {0};
        uint64_t length = sizeof y;
        assert_int_equal(rig_get(with, rig_session(1, sequence), RIG_Y, 0, y, &length, NULL), ESP_OK);
        assert_memory_equal(y, x, sizeof x);
    }
}

static void assert_far_has_the_original(const struct datum_id *id)
{
    uint32_t mode, flags;
    assert_int_equal(look("far", id, &mode, &flags), ESP_OK);
    assert_int_equal(mode, DATUM_PERSISTENT);
    assert_int_equal(flags, 0);
    rig_close(&far); /* it is there for good */
    disk_power_cut(disks[1]);
    open_far();
    run(5);
    assert_int_equal(look("far", id, &mode, &flags), ESP_OK);
    assert_int_equal(flags, 0);
    assert_true(reads_back("far", id));
}

static void a_call_whose_copy_is_damaged_takes_a_sound_one(void **state)
{
    (void)state;
    struct answered answered;
    struct datum_id id = put("home");
    copy_to_far(&id);
    far.errands.errands.submit = by_itself;
    put("home"); /* it takes the memory */
    damage(disks[0], &id, datum_header_bytes(sizeof x) + 12345);
    call_with(&home, &id, &answered);
    if (answered.state != SESSION_DONE)
        fail_msg("%s", answered.why);
    assert_int_equal(rig_counts(&home).store.damaged, 1);
    assert_far_has_the_original(&id);
}

static void a_call_without_a_sound_copy_is_told_so(void **state)
{
    (void)state;
    struct answered answered;
    struct datum_id id = put("home");
    put("home");
    damage(disks[0], &id, datum_header_bytes(sizeof x) + 1);
    for (int again = 0; again < 2; again++) {
        call_with(&home, &id, &answered);
        assert_int_equal(answered.state, SESSION_FAILED);
        assert_int_equal(answered.outcome, ESP_NOT_FOUND);
        assert_non_null(strstr(answered.why, "copy: x: "));
        assert_non_null(strstr(answered.why, "the copy here was damaged, and is set aside: no sound one"));
    }
    assert_int_equal(rig_counts(&home).store.damaged, 1);
}

static void damage_found_while_serving_makes_the_replica_the_original(void **state)
{
    (void)state;
    struct datum_id id = put("home");
    copy_to_far(&id);
    far.errands.errands.submit = by_itself;
    put("home");
    damage(disks[0], &id, datum_header_bytes(sizeof x) + sizeof x - 1);
    assert_false(reads_back("home", &id));
    run(5);
    assert_far_has_the_original(&id);
}

/* The header may be damaged, too, so that only the name of the datum is known. */
static void damage_found_at_the_start_makes_the_replica_the_original(void **state)
{
    (void)state;
    struct datum_id id = put("home");
    copy_to_far(&id);
    far.errands.errands.submit = by_itself;
    rig_close(&home);
    damage(disks[0], &id, 50);
    open_home();
    run(10);
    assert_int_equal(rig_counts(&home).store.damaged, 1);
    assert_far_has_the_original(&id);
}

/* It died between the two: the next start goes on. */
static void what_an_earlier_start_has_set_aside_is_looked_for_again(void **state)
{
    (void)state;
    struct datum_id id = put("home");
    copy_to_far(&id);
    far.errands.errands.submit = by_itself;
    rig_close(&home);
    damage(disks[0], &id, 50);
    open_home(); /* sets it aside; */
    rig_close(&home);
    uint32_t mode, flags;
    assert_int_equal(look("far", &id, &mode, &flags), ESP_OK);
    assert_true(flags & DATUM_REPLICA); /* no time for more */
    open_home();
    run(10);
    assert_int_equal(rig_counts(&home).store.damaged, 0);
    assert_far_has_the_original(&id);
}

/* Of two originals one is damaged: the replica on a third server stays one. */
static void an_original_elsewhere_is_enough(void **state)
{
    (void)state;
    uint32_t mode, flags;
    struct datum_id id = put("home");
    copy_to_far(&id);
    char text[DATUM_TEXT];
    struct answered kept = {0};
    struct message keep = {.kind = MESSAGE_PULL};
    keep.pull = (struct pull_request){.datum = datum_id_text(&id, text),
                                      .mode = DATUM_STICKY,
                                      .flags = DATUM_KEPT_COPY,
                                      .patience_ms = 5000};
    rig_send(&far, &keep, 10, &kept);
    rig_run(&far, 1);
    assert_int_equal(kept.status, ESP_OK);
    far.errands.errands.submit = by_itself;
    put("home");
    damage(disks[0], &id, datum_header_bytes(sizeof x));
    assert_false(reads_back("home", &id));
    run(5);
    assert_int_equal(look("far", &id, &mode, &flags), ESP_OK);
    assert_int_equal(mode, DATUM_STICKY);
    assert_int_equal(flags, 0);
}

/* A pull of the rig's own, with what it carries. */
static void pull(struct rig *rig, const struct datum_id *id, uint32_t mode, uint32_t flags,
                 struct extension *extension)
{
    char text[DATUM_TEXT];
    struct answered answered = {0};
    struct message request = {.kind = MESSAGE_PULL};
    request.pull = (struct pull_request){.datum = datum_id_text(id, text),
                                         .mode = mode,
                                         .flags = flags,
                                         .patience_ms = 5000,
                                         .extensions = {extension, extension != NULL}};
    rig_send(rig, &request, 10, &answered);
    rig_run(rig, 1);
    if (answered.status != ESP_OK)
        fail_msg("%s", answered.why);
}

static struct datum_id keep_on_both(void)
{
    static const char home_name[] = "home", far_name[] = "far";
    struct extension home_keeps = {EXTENSION_PLACES, (const uint8_t *)home_name, sizeof home_name},
                     far_keeps = {EXTENSION_PLACES, (const uint8_t *)far_name, sizeof far_name};
    struct datum_id id = put("home");
    copy_to_far(&id);
    pull(&home, &id, 0, 0, &far_keeps);
    pull(&far, &id, DATUM_PERSISTENT, DATUM_KEPT_COPY, NULL);
    pull(&far, &id, 0, 0, &home_keeps);
    return id;
}

static bool home_names_others(const struct datum_id *id)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_DATA, .data = {.datum = datum_id_text(id, text), .after = ""}},
                   reply = {0};
    ask("home", &request, &reply);
    const bool names = extension_find(&reply.data_reply.extensions, EXTENSION_PLACES) != NULL;
    message_clear(&reply);
    return names;
}

/* A server that kept a copy, too, asks when it is back, also when the server that knew of it was
 * restarted. */
static void what_was_deleted_while_a_server_was_away_goes_when_it_is_back(void **state)
{
    (void)state;
    uint32_t mode, flags;
    char text[DATUM_TEXT];
    for (int restarted = 0; restarted < 2; restarted++) {
        const struct datum_id id = keep_on_both(), other = keep_on_both();
        struct message drop = {.kind = MESSAGE_DROP, .drop = {.datum = datum_id_text(&id, text)}},
                       reply = {0};
        rig_close(&far);
        assert_int_equal(ask("home", &drop, &reply), ESP_OK);
        message_clear(&reply);
        assert_true(home_names_others(&id));
        if (restarted) {
            rig_close(&home);
            open_home();
            rig_run(&home, 5);
            assert_true(home_names_others(&id));
        }
        open_far();
        run(10);
        assert_int_equal(look("far", &id, &mode, &flags), ESP_NOT_FOUND);
        assert_int_equal(look("far", &other, &mode, &flags), ESP_OK);
        assert_false(home_names_others(&id));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_call_whose_copy_is_damaged_takes_a_sound_one),
        TEST(a_call_without_a_sound_copy_is_told_so),
        TEST(damage_found_while_serving_makes_the_replica_the_original),
        TEST(damage_found_at_the_start_makes_the_replica_the_original),
        TEST(what_an_earlier_start_has_set_aside_is_looked_for_again),
        TEST(an_original_elsewhere_is_enough),
        TEST(what_was_deleted_while_a_server_was_away_goes_when_it_is_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
