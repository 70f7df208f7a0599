/* SPDX-License-Identifier: Apache-2.0
 *
 * Data that live on servers, as clients and other servers see them: put, resumed, read, deleted, listed, used
 * in calls, left by calls, fetched from another server.
 */
#include "tests/inproc/server_rig.h"

#include "sed/data/data_internal.h"
#include "services/data/transfer.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* ---- a client ---- */

static struct datum_id draw(const char *origin)
{
    struct datum_id id;
    assert_int_equal(datum_id_draw(origin, &id, NULL), ESP_OK);
    return id;
}

static enum esp_status ask(struct rig *of, const char *address, const struct message *request,
                           struct message *reply, struct esp_error *error)
{
    (void)of;
    message_clear(reply);
    return transport_call(rig.transport, address, request, 10000, reply, error);
}

static uint32_t flags_of_offers; /* enum datum_flag */

static enum esp_status offer(const struct datum_id *id, const char *address, int64_t n, struct message *reply,
                             struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_OFFER};
    request.offer.datum = (struct datum_info){.datum = datum_id_text(id, text),
                                              .type = TYPE_DOUBLE,
                                              .dims = &n,
                                              .n_dims = 1,
                                              .flags = flags_of_offers,
                                              .bytes = 8 * (uint64_t)n};
    return ask(&rig, address, &request, reply, error);
}

static enum esp_status finish(const struct datum_id *id, const char *address, uint64_t ticket,
                              struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_FINISH}, reply = {0};
    request.finish = (struct finish){.datum = datum_id_text(id, text), .ticket = ticket};
    enum esp_status status = ask(&rig, address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

static enum esp_status drop(const struct datum_id *id, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_DROP}, reply = {0};
    request.drop.datum = datum_id_text(id, text);
    enum esp_status status = ask(&rig, "sed", &request, &reply, error);
    message_clear(&reply);
    return status;
}

static enum esp_status move(const struct datum_id *id, const char *address, uint64_t ticket, bool put,
                            double *data, int64_t n, struct esp_error *error)
{
    struct ranges done = {0};
    struct transfer_options options = {.transport = rig.transport,
                                       .address = address,
                                       .key = id->key,
                                       .ticket = ticket,
                                       .put = put,
                                       .bytes = 8 * (uint64_t)n,
                                       .timeout_ms = 5000,
                                       .memory = (uint8_t *)data};
    enum esp_status status = transfer_run(&options, &done, error);
    ranges_clear(&done);
    return status;
}

static struct datum_id put(const char *address)
{
    struct datum_id id = draw(address);
    struct message reply = {0};
    struct esp_error error;
    if (offer(&id, address, N, &reply, &error) != ESP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(reply.offer_reply.n_gaps, 1);
    assert_int_equal(reply.offer_reply.gaps[0].to, sizeof x);
    assert_int_equal(move(&id, address, reply.offer_reply.ticket, true, x, N, &error), ESP_OK);
    assert_int_equal(finish(&id, address, reply.offer_reply.ticket, &error), ESP_OK);
    message_clear(&reply);
    return id;
}

static enum esp_status get(const struct datum_id *id, const char *address, double *into,
                           struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_OPEN}, reply = {0};
    request.open.datum = datum_id_text(id, text);
    enum esp_status status = ask(&rig, address, &request, &reply, error);
    if (status == ESP_OK) {
        assert_int_equal(reply.open_reply.datum.bytes, sizeof x);
        assert_int_equal(reply.open_reply.datum.dims[0], N);
        status = move(id, address, reply.open_reply.ticket, false, into, N, error);
    }
    if (status == ESP_OK)
        status = finish(id, address, reply.open_reply.ticket, error);
    message_clear(&reply);
    return status;
}

/* ---- tests ---- */

static void a_datum_is_put_and_read(void **state)
{
    (void)state;
    struct datum_id id = put("sed");
    struct esp_error error;
    double back[N] = {0};
    assert_int_equal(get(&id, "sed", back, &error), ESP_OK);
    assert_memory_equal(back, x, sizeof x);
    assert_int_equal(rig_counts(&rig).store.data, 1);
    assert_int_equal(rig_counts(&rig).store.pinned, 0);
}

static void what_is_not_finished_is_seen_by_nobody(void **state)
{
    (void)state;
    struct datum_id id = draw("sed");
    struct message reply = {0};
    struct esp_error error;
    double back[N];
    assert_int_equal(offer(&id, "sed", N, &reply, &error), ESP_OK);
    assert_int_equal(move(&id, "sed", reply.offer_reply.ticket, true, x, N - 1, &error), ESP_OK);
    assert_int_equal(get(&id, "sed", back, &error), ESP_NOT_FOUND);
    assert_int_equal(finish(&id, "sed", reply.offer_reply.ticket, &error),
                     ESP_INVALID); /* 8 bytes are missing */
    message_clear(&reply);
}

static void an_interrupted_put_goes_on_where_it_was(void **state)
{
    (void)state;
    struct datum_id id = draw("sed");
    struct message reply = {0};
    struct esp_error error;
    double back[N];
    assert_int_equal(offer(&id, "sed", N, &reply, &error), ESP_OK);
    struct message header = transfer_header(true, id.key, reply.offer_reply.ticket, 8000, 8000);
    assert_int_equal(transport_put(rig.transport, "sed", &header, &x[1000], 5000, 0, &error), ESP_OK);
    assert_int_equal(offer(&id, "sed", N, &reply, &error), ESP_OK);
    assert_int_equal(reply.offer_reply.n_gaps, 2);
    assert_int_equal(reply.offer_reply.gaps[0].to, 8000);
    assert_int_equal(reply.offer_reply.gaps[1].from, 16000);
    for (int i = 0; i < 2; i++) {
        struct datum_gap gap = reply.offer_reply.gaps[i];
        header = transfer_header(true, id.key, reply.offer_reply.ticket, gap.from, gap.to - gap.from);
        assert_int_equal(transport_put(rig.transport, "sed", &header, (char *)x + gap.from, 5000, 0, &error),
                         ESP_OK);
    }
    assert_int_equal(finish(&id, "sed", reply.offer_reply.ticket, &error), ESP_OK);
    assert_int_equal(finish(&id, "sed", reply.offer_reply.ticket, &error), ESP_OK); /* the answer was lost */
    assert_int_equal(get(&id, "sed", back, &error), ESP_OK);
    assert_memory_equal(back, x, sizeof x);
    assert_int_equal(offer(&id, "sed", N, &reply, &error), ESP_OK); /* all is there */
    assert_int_equal(reply.offer_reply.ticket, 0);
    message_clear(&reply);
}

static void chunks_that_are_damaged_are_sent_again(void **state)
{
    (void)state;
    inproc_set_faults(rig.transport, &(struct inproc_faults){.damage = 0.3});
    double back[N];
    struct esp_error error;
    for (int i = 0; i < 5; i++) {
        struct datum_id id = put("sed");
        assert_int_equal(get(&id, "sed", back, &error), ESP_OK);
        assert_memory_equal(back, x, sizeof x);
    }
}

static void what_is_deleted_is_gone_and_says_so(void **state)
{
    (void)state;
    struct datum_id id = put("sed"), other = draw("sed");
    struct esp_error error;
    double back[N];
    assert_int_equal(drop(&id, &error), ESP_OK);
    assert_int_equal(get(&id, "sed", back, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "deleted"));
    assert_int_equal(drop(&other, &error), ESP_NOT_FOUND);
}

static void a_wrong_offer_leaves_nothing(void **state)
{
    (void)state;
    struct datum_id foreign = draw("node8"), id = draw("sed");
    struct message reply = {0}, request = {.kind = MESSAGE_OFFER};
    struct esp_error error;
    assert_int_equal(offer(&foreign, "sed", N, &reply, &error), ESP_INVALID);
    assert_non_null(strstr(error.text, "made by server node8"));
    assert_int_equal(offer(&id, "sed", -1, &reply, &error), ESP_INVALID);
    assert_int_equal(offer(&id, "sed", 100 << 20, &reply, &error), ESP_NO_MEMORY);
    request.offer.datum.datum = "nonsense";
    assert_int_equal(ask(&rig, "sed", &request, &reply, &error), ESP_INVALID);
    struct message header = transfer_header(true, id.key, 17, 0, 8);
    assert_int_equal(transport_put(rig.transport, "sed", &header, x, 5000, 0, &error), ESP_NOT_FOUND);
    assert_int_equal(rig_counts(&rig).store.unfinished, 0);
    message_clear(&reply);
}

static void a_client_that_stays_away_leaves_nothing(void **state)
{
    (void)state;
    struct datum_id id = draw("sed");
    struct message reply = {0};
    struct esp_error error;
    assert_int_equal(offer(&id, "sed", N, &reply, &error), ESP_OK);
    uint64_t ticket = reply.offer_reply.ticket;
    rig_run(&rig, 90);
    assert_int_equal(rig_counts(&rig).store.unfinished, 0);
    assert_int_equal(finish(&id, "sed", ticket, &error), ESP_NOT_FOUND);
    message_clear(&reply);
}

static void data_are_listed_and_looked_at(void **state)
{
    (void)state;
    struct datum_id id = put("sed");
    put("sed");
    char text[DATUM_TEXT];
    struct message request = {.kind = MESSAGE_DATA}, reply = {0};
    assert_int_equal(ask(&rig, "sed", &request, &reply, NULL), ESP_OK);
    assert_int_equal(reply.data_reply.n, 2);
    assert_int_equal(reply.data_reply.items[0].bytes, sizeof x);
    request.data.datum = datum_id_text(&id, text);
    assert_int_equal(ask(&rig, "sed", &request, &reply, NULL), ESP_OK);
    assert_int_equal(reply.data_reply.n, 1);
    assert_string_equal(reply.data_reply.items[0].datum, text);
    assert_string_equal(reply.data_reply.items[0].server, "sed");
    message_clear(&reply);
}

/* ---- in calls ---- */

/* copy(n, x) -> y, or another problem of such arguments, with x a datum, and y one afterwards (`keep`). */
static void send_call(struct rig *with, const char *problem, int32_t n, const char *datum, bool keep,
                      uint64_t sequence, struct answered *answered)
{
    static const uint8_t kept[KEPT_BYTES] = {RIG_Y};
    struct extension extension = {.tag = EXTENSION_KEPT, .value = kept, .length = sizeof kept};
    struct call_argument arguments[] = {
        {.kind = KIND_INLINE, .bytes = 4, .data = (const uint8_t *)&n, .length = 4},
        {.index = RIG_X,
         .kind = KIND_DATUM,
         .data = (const uint8_t *)datum,
         .length = (uint32_t)strlen(datum)},
        {.index = RIG_Y, .kind = KIND_WANTED},
    };
    struct message request = {.kind = MESSAGE_CALL};
    request.call = (struct call_request){.session = rig_session(1, sequence),
                                         .problem = problem,
                                         .digest = rig_digest(with, problem),
                                         .patience_ms = 60000,
                                         .arguments = arguments,
                                         .n_arguments = 3,
                                         .extensions = {&extension, keep ? 1 : 0}};
    *answered = (struct answered){0};
    rig_send(with, &request, 100, answered);
}

static void call(struct rig *with, const char *datum, bool keep, uint64_t sequence, struct answered *answered)
{
    send_call(with, "copy", N, datum, keep, sequence, answered);
    rig_run(with, 90);
}

static void a_call_reads_a_datum_where_it_is(void **state)
{
    (void)state;
    struct datum_id id = put("sed");
    char text[DATUM_TEXT];
    struct answered answered;
    struct esp_error error;
    double y[N];
    uint64_t length = sizeof y;
    call(&rig, datum_id_text(&id, text), false, 1, &answered);
    assert_int_equal(answered.state, SESSION_DONE);
    assert_int_equal(rig_get(&rig, rig_session(1, 1), RIG_Y, 0, y, &length, &error), ESP_OK);
    assert_memory_equal(y, x, sizeof x);
    assert_int_equal(rig_counts(&rig).store.pinned, 0);
    assert_int_equal(drop(&id, &error), ESP_OK);
}

static void a_strictly_volatile_datum_goes_with_the_session_that_used_it(void **state)
{
    (void)state;
    flags_of_offers = DATUM_STRICT;
    struct datum_id id = put("sed");
    flags_of_offers = 0;
    char text[DATUM_TEXT];
    struct answered answered;
    struct esp_error error;
    double back[N];
    assert_int_equal(get(&id, "sed", back, &error), ESP_OK); /* to look at it is no session */
    call(&rig, datum_id_text(&id, text), false, 1, &answered);
    assert_int_equal(answered.state, SESSION_DONE);
    assert_int_equal(rig_counts(&rig).store.data, 0);
    assert_int_equal(get(&id, "sed", back, &error), ESP_NOT_FOUND);
    assert_non_null(strstr(error.text, "strictly volatile"));
}

static void a_result_stays_and_is_used_again(void **state)
{
    (void)state;
    struct datum_id id = put("sed");
    char text[DATUM_TEXT];
    struct answered answered;
    call(&rig, datum_id_text(&id, text), true, 1, &answered);
    assert_int_equal(answered.state, SESSION_DONE);
    assert_int_equal(answered.n_results, 1);
    assert_int_equal(answered.kind[0], KIND_DATUM);
    struct message request = {.kind = MESSAGE_DATA}, reply = {0};
    assert_int_equal(ask(&rig, "sed", &request, &reply, NULL), ESP_OK);
    assert_int_equal(reply.data_reply.n, 2);
    for (int i = 0; i < 2; i++) {
        struct datum_id each;
        double back[N] = {0};
        assert_int_equal(datum_id_parse(reply.data_reply.items[i].datum, &each, NULL), ESP_OK);
        assert_int_equal(get(&each, "sed", back, NULL), ESP_OK);
        assert_memory_equal(back, x, sizeof x);
    }
    message_clear(&reply);
}

static void a_call_that_fails_leaves_no_datum(void **state)
{
    (void)state;
    struct datum_id id = put("sed");
    char text[DATUM_TEXT];
    struct answered answered;
    rig.pool.ends_with = ESP_FAILED;
    call(&rig, datum_id_text(&id, text), true, 1, &answered);
    assert_int_equal(answered.state, SESSION_FAILED);
    assert_int_equal(rig_counts(&rig).store.data, 1);
    assert_int_equal(rig_counts(&rig).store.unfinished, 0);
    assert_int_equal(rig_counts(&rig).store.pinned, 0);
}

static void a_call_with_an_unknown_datum_fails_and_names_it(void **state)
{
    (void)state;
    struct datum_id id = draw("sed");
    char text[DATUM_TEXT];
    struct answered answered;
    call(&rig, datum_id_text(&id, text), false, 1, &answered);
    assert_int_equal(answered.state, SESSION_FAILED);
    assert_int_equal(answered.outcome, ESP_NOT_FOUND);
    assert_non_null(strstr(answered.why, "copy: x: "));
    call(&rig, "sed:12", false, 2, &answered);
    assert_int_equal(answered.status, ESP_INVALID);
}

static void a_datum_of_another_shape_is_refused(void **state)
{
    (void)state;
    struct datum_id id = draw("sed");
    struct message reply = {0};
    struct esp_error error;
    char text[DATUM_TEXT];
    struct answered answered;
    assert_int_equal(offer(&id, "sed", 10, &reply, &error), ESP_OK);
    assert_int_equal(move(&id, "sed", reply.offer_reply.ticket, true, x, 10, &error), ESP_OK);
    assert_int_equal(finish(&id, "sed", reply.offer_reply.ticket, &error), ESP_OK);
    call(&rig, datum_id_text(&id, text), false, 1, &answered);
    assert_int_equal(answered.outcome, ESP_INVALID);
    assert_non_null(strstr(answered.why, "expected double[3000], the datum is double[10]"));
    message_clear(&reply);
}

/* ---- contents ---- */

#define MANY 200000 /* more than is looked at with the lock held */

static struct datum_id put_many(const char *address, double *data)
{
    struct datum_id id = draw(address);
    struct message reply = {0};
    assert_int_equal(offer(&id, address, MANY, &reply, NULL), ESP_OK);
    assert_int_equal(move(&id, address, reply.offer_reply.ticket, true, data, MANY, NULL), ESP_OK);
    assert_int_equal(finish(&id, address, reply.offer_reply.ticket, NULL), ESP_OK);
    message_clear(&reply);
    return id;
}

/* A thread looks at large data; the session goes on, or ends, when it has, and lets go of them in any case.
 */
static void large_data_are_looked_at_without_the_lock(void **state)
{
    (void)state;
    static const char problems[] = "problem wary \"only of numbers\"\n"
                                   "    in      int     n\n"
                                   "    in      double  x[n] finite\n"
                                   "    out     double  y[n]\n"
                                   "    work    1e3*n\n"
                                   "implementation c\n"
                                   "    c copy(n, x, y) in libcopy.so\n";
    static double many[MANY];
    static struct rig wary;
    struct answered answered, cancelled = {0};
    char text[DATUM_TEXT];
    for (int i = 0; i < MANY; i++)
        many[i] = i;
    rig_open(&wary, &(struct rig_options){.store_memory = 64u << 20,
                                          .memory_bytes = 64u << 20,
                                          .name = "wary",
                                          .problems = problems,
                                          .beside = &rig});
    struct datum_id good = put_many("wary", many);
    many[MANY - 7] = NAN;
    struct datum_id bad = put_many("wary", many);
    send_call(&wary, "wary", MANY, datum_id_text(&good, text), false, 1, &answered);
    rig_run(&wary, 90);
    if (answered.state != SESSION_DONE)
        fail_msg("%s", answered.why);
    send_call(&wary, "wary", MANY, datum_id_text(&bad, text), false, 2, &answered);
    rig_run(&wary, 90);
    assert_int_equal(answered.state, SESSION_FAILED);
    assert_non_null(strstr(answered.why, "x(199994) is not a number"));
    /* Cancelled before the thread has begun. */
    send_call(&wary, "wary", MANY, datum_id_text(&good, text), false, 3, &answered);
    inproc_run(rig.transport, inproc_now_ns(rig.transport) + NS_PER_MS);
    assert_int_equal(wary.pool.started, 1);
    assert_non_null(wary.errands.first);
    rig_cancel(&wary, rig_session(1, 3), &cancelled);
    inproc_run(rig.transport, inproc_now_ns(rig.transport) + NS_PER_MS);
    assert_int_equal(rig_counts(&wary).store.pinned, 1); /* it is about to be read */
    rig_run(&wary, 90);
    assert_int_equal(cancelled.status, ESP_OK);
    assert_int_equal(wary.pool.started, 1);
    assert_int_equal(rig_counts(&wary).store.pinned, 0);
    rig_close(&wary);
}

/* ---- between servers ---- */

static void a_datum_comes_from_another_server_before_the_computation(void **state)
{
    (void)state;
    static struct rig other;
    char text[DATUM_TEXT + 16];
    struct answered answered;
    double y[N];
    uint64_t length = sizeof y;
    rig_open(&other, &(struct rig_options){.store_memory = 64u << 20, .name = "far", .beside = &rig});
    struct datum_id id = put("far");
    datum_id_text(&id, text);
    strcat(text, " nobody far");
    call(&rig, text, false, 1, &answered);
    if (answered.state != SESSION_DONE)
        fail_msg("%s", answered.why);
    assert_int_equal(rig_get(&rig, rig_session(1, 1), RIG_Y, 0, y, &length, NULL), ESP_OK);
    assert_memory_equal(y, x, sizeof x);
    assert_int_equal(rig_counts(&rig).store.data, 1); /* a replica */
    assert_int_equal(rig_counts(&other).store.pinned, 0);
    rig_close(&other);
}

/* One that keeps asking may keep its copy; the other copies go when they have rested. */
static void copies_for_calls_go_unless_their_server_keeps_asking(void **state)
{
    (void)state;
    static struct rig source, asker, late;
    struct answered answered;
    char text[DATUM_TEXT + 8];
    rig_open(&source,
             &(struct rig_options){.store_memory = 64u << 20, .name = "far", .replicas = 1, .beside = &rig});
    rig_open(&asker, &(struct rig_options){
                         .store_memory = 64u << 20, .name = "asker", .replica_rest_s = 10, .beside = &rig});
    rig_open(&late, &(struct rig_options){
                        .store_memory = 64u << 20, .name = "late", .replica_rest_s = 10, .beside = &rig});
    struct datum_id id = put("far");
    datum_id_text(&id, text);
    strcat(text, " far");
    call(&asker, text, false, 1, &answered); /* runs for longer than the copy rests */
    assert_int_equal(answered.state, SESSION_DONE);
    assert_int_equal(rig_counts(&asker).store.data, 0);
    assert_int_equal(rig_counts(&asker).store.dropped, 1);
    call(&asker, text, false, 2, &answered);
    assert_int_equal(answered.state, SESSION_DONE);
    assert_int_equal(rig_counts(&asker).store.data, 1);
    for (uint64_t sequence = 1; sequence <= 3; sequence++) {
        call(&late, text, false, sequence, &answered);
        assert_int_equal(answered.state, SESSION_DONE);
        assert_int_equal(rig_counts(&late).store.data, 0); /* there are as many as there may be */
    }
    assert_int_equal(rig_counts(&source).store.data, 1);
    rig_close(&late);
    rig_close(&asker);
    rig_close(&source);
}

/* A bit of time, and one errand, which may wait for room for a second of real time. Whether there was one. */
static bool step(struct rig *with)
{
    struct thread_job *job = with->errands.first;
    if (job) {
        with->errands.first = job->next;
        job->run(job->arg);
    }
    inproc_run(with->transport, inproc_now_ns(with->transport) + NS_PER_MS / 2);
    rig_end_jobs(with);
    return job != NULL;
}

/* The store of the server has no room for the copy for a while: the server that gives it counts one
 * request, and not each try. */
static void a_call_that_waits_for_room_asks_for_its_copy_once(void **state)
{
    (void)state;
    static struct rig source, asker;
    struct answered first, second;
    char text[DATUM_TEXT + 8];
    rig_open(&source,
             &(struct rig_options){.store_memory = 64u << 20, .name = "far", .replicas = 1, .beside = &rig});
    rig_open(&asker, &(struct rig_options){.store_memory = 40000, /* for one */
                                           .name = "asker",
                                           .pool_flops = 1.2e12, /* 2.5 ms */
                                           .replica_rest_s = 10,
                                           .beside = &rig});
    struct datum_id here = put("asker"), id = put("far");
    send_call(&asker, "copy", N, datum_id_text(&here, text), false, 1, &first);
    step(&asker);
    assert_int_equal(asker.pool.n_jobs, 1);
    datum_id_text(&id, text);
    strcat(text, " far");
    send_call(&asker, "copy", N, text, false, 2, &second);
    unsigned tries = 0;
    while (!first.done)
        tries += step(&asker);
    assert_true(tries > 1);
    rig_run(&asker, 60);
    assert_int_equal(first.state, SESSION_DONE);
    assert_int_equal(second.state, SESSION_DONE);
    assert_int_equal(rig_counts(&asker).store.data, 0); /* not kept for a first request */
    rig_close(&asker);
    rig_close(&source);
}

static void a_server_is_told_to_fetch(void **state)
{
    (void)state;
    static struct rig other;
    char text[DATUM_TEXT];
    const char *sources[] = {"far"};
    double back[N];
    struct message request = {.kind = MESSAGE_PULL};
    struct answered answered = {0};
    rig_open(&other, &(struct rig_options){.store_memory = 64u << 20, .name = "far", .beside = &rig});
    struct datum_id id = put("far");
    request.pull = (struct pull_request){
        .datum = datum_id_text(&id, text), .sources = sources, .n_sources = 1, .patience_ms = 5000};
    rig_send(&rig, &request, 10, &answered);
    rig_run(&rig, 8);
    assert_true(answered.done);
    assert_int_equal(answered.status, ESP_OK);
    rig_close(&other);
    assert_int_equal(get(&id, "sed", back, NULL), ESP_OK);
    assert_memory_equal(back, x, sizeof x);
}

static void a_source_that_does_not_have_it_leaves_no_half_datum(void **state)
{
    (void)state;
    static struct rig other;
    char text[DATUM_TEXT + 8];
    struct answered answered;
    rig_open(&other, &(struct rig_options){.store_memory = 64u << 20, .name = "far", .beside = &rig});
    struct datum_id id = draw("far");
    datum_id_text(&id, text);
    strcat(text, " far");
    call(&rig, text, false, 1, &answered);
    assert_int_equal(answered.outcome, ESP_NOT_FOUND);
    assert_int_equal(rig_counts(&rig).store.unfinished, 0);
    rig_close(&other);
}

/* ---- a source that dies in the middle ---- */

enum { LARGE = 1 << 21 }; /* doubles: 16 MiB, in chunks of at most four (core/message/chunk.h) */

static double large[LARGE];
static struct transport_ops dying; /* the transport's own, but: */
static const struct transport_ops *living;
static unsigned left; /* chunks that "far" still gives before it dies, or falls silent: */
static bool falls_silent;
static unsigned silences, waits; /* times that it is yet to be asked in vain; that it was */
static uint64_t given[2];        /* bytes, by "far", by "near" */

static enum esp_status get_from_dying(struct transport *transport, const char *address,
                                      struct message *header, void *data, uint64_t *moved, int64_t timeout_ms,
                                      int64_t silence_ms, struct esp_error *error)
{
    const bool is_far = strcmp(address, "far") == 0;
    if (is_far && left == 0 && falls_silent && silences > 0) {
        assert_in_range(silence_ms, 1, PULL_SILENCE_MS << waits);
        *moved = 0;
        silences--;
        waits++;
        return error_set(error, ESP_TIMEOUT, "far: silent");
    }
    if (is_far && left == 0 && !falls_silent)
        inproc_kill(transport, "far");
    enum esp_status status =
        living->get(transport, address, header, data, moved, timeout_ms, silence_ms, error);
    given[is_far ? 0 : 1] += status == ESP_OK ? *moved : 0;
    left -= is_far && left > 0;
    return status;
}

static struct datum_id put_large(const char *address)
{
    struct datum_id id = draw(address);
    struct message reply = {0};
    struct esp_error error;
    for (int i = 0; i < LARGE; i++)
        large[i] = i;
    assert_int_equal(offer(&id, address, LARGE, &reply, &error), ESP_OK);
    assert_int_equal(move(&id, address, reply.offer_reply.ticket, true, large, LARGE, &error), ESP_OK);
    assert_int_equal(finish(&id, address, reply.offer_reply.ticket, &error), ESP_OK);
    message_clear(&reply);
    return id;
}

static struct answered fetch(struct rig *to, const struct datum_id *id, const char **sources,
                             uint32_t n_sources)
{
    char text[DATUM_TEXT];
    struct answered answered = {0};
    struct message request = {.kind = MESSAGE_PULL};
    request.pull = (struct pull_request){.datum = datum_id_text(id, text),
                                         .sources = sources,
                                         .n_sources = n_sources,
                                         .flags = DATUM_REPLICA,
                                         .patience_ms = 5000};
    rig_send(to, &request, 10, &answered);
    rig_run(to, 8);
    assert_true(answered.done);
    return answered;
}

/* One that "far" has, and "near" a copy of it, if there is to be one. */
static struct datum_id put_far(struct rig *far, struct rig *near)
{
    rig_open(far, &(struct rig_options){.store_memory = 64u << 20, .name = "far", .beside = &rig});
    struct datum_id id = put_large("far");
    if (near) {
        rig_open(near, &(struct rig_options){.store_memory = 64u << 20, .name = "near", .beside = &rig});
        assert_int_equal(fetch(near, &id, (const char *[]){"far"}, 1).status, ESP_OK);
    }
    return id;
}

static void far_dies_after(unsigned chunks)
{
    living = rig.transport->ops;
    dying = *living;
    dying.get = get_from_dying;
    rig.transport->ops = &dying;
    left = chunks;
    falls_silent = false;
    given[0] = given[1] = waits = 0;
}

/* And, where it is the only one, asked again. */
static void a_source_that_falls_silent_is_left_for_another_holder(void **state)
{
    (void)state;
    static struct rig far, near;
    const char *sources[] = {"far", "near"};
    for (unsigned others = 0; others < 2; others++) {
        struct datum_id id = put_far(&far, others ? &near : NULL);
        far_dies_after(2);
        falls_silent = true;
        silences = others ? UINT_MAX : 3;
        assert_int_equal(fetch(&rig, &id, sources, 1 + others).status, ESP_OK);
        rig.transport->ops = living;
        assert_int_equal(waits, others ? 1 : 3);
        assert_int_equal(given[1] > 0, others);
        assert_int_equal(given[0] + given[1], sizeof large); /* it went on where it was */
        if (others)
            rig_close(&near);
        rig_close(&far);
    }
}

static void a_transfer_whose_source_dies_goes_on_with_another_holder(void **state)
{
    (void)state;
    static struct rig far, near;
    const char *sources[] = {"far", "near"};
    struct message reply = {0};
    char text[DATUM_TEXT];
    double *back = calloc(LARGE, sizeof *back);
    struct datum_id id = put_far(&far, &near);
    far_dies_after(2);
    assert_int_equal(fetch(&rig, &id, sources, 2).status, ESP_OK);
    rig.transport->ops = living;
    assert_true(given[0] > 0 && given[1] > 0);
    assert_int_equal(given[0] + given[1], sizeof large); /* what had come did not come again */
    struct message request = {.kind = MESSAGE_OPEN, .open = {.datum = datum_id_text(&id, text)}};
    assert_int_equal(ask(&rig, "sed", &request, &reply, NULL), ESP_OK);
    assert_int_equal(move(&id, "sed", reply.open_reply.ticket, false, back, LARGE, NULL), ESP_OK);
    assert_memory_equal(back, large, sizeof large);
    message_clear(&reply);
    free(back);
    rig_close(&near);
    rig_close(&far);
}

static void without_another_holder_it_ends_and_leaves_no_half_datum(void **state)
{
    (void)state;
    static struct rig far;
    const char *sources[] = {"far"};
    struct datum_id id = put_far(&far, NULL);
    far_dies_after(2);
    struct answered answered = fetch(&rig, &id, sources, 1);
    rig.transport->ops = living;
    assert_true(given[0] > 0 && given[0] < sizeof large);
    assert_int_equal(answered.status, ESP_UNREACHABLE);
    assert_non_null(strstr(answered.text, "from far"));
    assert_int_equal(rig_counts(&rig).store.data, 0);
    assert_int_equal(rig_counts(&rig).store.unfinished, 0);
    assert_int_equal(rig_counts(&rig).store.memory_bytes, 0);
    rig_close(&far);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_datum_is_put_and_read),
        TEST(what_is_not_finished_is_seen_by_nobody),
        TEST(a_strictly_volatile_datum_goes_with_the_session_that_used_it),
        TEST(an_interrupted_put_goes_on_where_it_was),
        TEST(chunks_that_are_damaged_are_sent_again),
        TEST(what_is_deleted_is_gone_and_says_so),
        TEST(a_wrong_offer_leaves_nothing),
        TEST(a_client_that_stays_away_leaves_nothing),
        TEST(data_are_listed_and_looked_at),
        TEST(a_call_reads_a_datum_where_it_is),
        TEST(a_result_stays_and_is_used_again),
        TEST(a_call_that_fails_leaves_no_datum),
        TEST(a_call_with_an_unknown_datum_fails_and_names_it),
        TEST(a_datum_of_another_shape_is_refused),
        TEST(a_datum_comes_from_another_server_before_the_computation),
        TEST(large_data_are_looked_at_without_the_lock),
        TEST(copies_for_calls_go_unless_their_server_keeps_asking),
        TEST(a_call_that_waits_for_room_asks_for_its_copy_once),
        TEST(a_server_is_told_to_fetch),
        TEST(a_source_that_does_not_have_it_leaves_no_half_datum),
        TEST(a_transfer_whose_source_dies_goes_on_with_another_holder),
        TEST(a_source_that_falls_silent_is_left_for_another_holder),
        TEST(without_another_holder_it_ends_and_leaves_no_half_datum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
