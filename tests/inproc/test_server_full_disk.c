/* SPDX-License-Identifier: Apache-2.0
 *
 * A disk that fills while a datum is put: the put fails, and what was written goes at once.
 */
#include "tests/inproc/server_rig.h"
#include "tests/unit/crashing_files.h"

#include "services/data/transfer.h"

#include <string.h>

enum { N = 5000, DISK = 64 << 20 };

static struct rig rig;
static struct disk *disk;
static struct files_ops filling; /* the disk's own, but: */
static bool full;                /* nothing can be written */
static double x[N];

static const struct files_ops *plain;

static enum esp_status write_or_not(struct file *file, const void *data, size_t bytes, uint64_t offset,
                                    struct esp_error *error)
{
    return full ? error_set(error, ESP_NO_MEMORY, "the disk is full")
                : plain->write(file, data, bytes, offset, error);
}

static void open_with(uint64_t store_memory)
{
    struct files *files = disk_mount(disk);
    plain = files->ops;
    filling = *plain;
    filling.write = write_or_not;
    files->ops = &filling;
    rig_open(&rig, &(struct rig_options){.store_memory = store_memory, .store_disk = DISK, .files = files});
}

static int setup(void **state)
{
    (void)state;
    full = false;
    disk = disk_create(3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_close(&rig);
    disk_destroy(disk);
    return 0;
}

static enum esp_status ask(const struct message *request, struct message *reply)
{
    return transport_call(rig.transport, "sed", request, 10000, reply, NULL);
}

static uint64_t offer(const char *text)
{
    int64_t n = N;
    struct message request = {.kind = MESSAGE_OFFER}, reply;
    request.offer.datum = (struct datum_info){.datum = text,
                                              .type = TYPE_DOUBLE,
                                              .dims = &n,
                                              .n_dims = 1,
                                              .mode = DATUM_PERSISTENT,
                                              .bytes = sizeof x};
    assert_int_equal(ask(&request, &reply), ESP_OK);
    const uint64_t ticket = reply.offer_reply.ticket;
    message_clear(&reply);
    return ticket;
}

static enum esp_status send(const struct datum_id *id, uint64_t ticket)
{
    struct message header = transfer_header(true, id->key, ticket, 0, sizeof x);
    return transport_put(rig.transport, "sed", &header, x, 5000, 0, NULL);
}

static enum esp_status finish(const char *text, uint64_t ticket)
{
    struct message request = {.kind = MESSAGE_FINISH, .finish = {.datum = text, .ticket = ticket}};
    struct answered answered = {0};
    rig_send(&rig, &request, 10, &answered);
    rig_run(&rig, 0.1);
    assert_true(answered.done);
    return answered.status;
}

static void assert_nothing_is_left(void)
{
    const struct server_counts counts = rig_counts(&rig);
    assert_int_equal(counts.store.unfinished, 0);
    assert_int_equal(counts.store.memory_bytes, 0);
    assert_int_equal(counts.store.disk_bytes, 0);
    for (size_t i = 0; disk_name(disk, i); i++)
        assert_null(strstr(disk_name(disk, i), ".new"));
}

static void put_again(void)
{
    struct datum_id id;
    char text[DATUM_TEXT];
    assert_int_equal(datum_id_draw("sed", &id, NULL), ESP_OK);
    const uint64_t ticket = offer(datum_id_text(&id, text));
    assert_int_equal(send(&id, ticket), ESP_OK);
    assert_int_equal(finish(text, ticket), ESP_OK);
    assert_int_equal(rig_counts(&rig).store.data, 1);
}

static void a_disk_that_fills_under_a_streamed_put_is_cleaned_up_at_once(void **state)
{
    (void)state;
    struct datum_id id;
    char text[DATUM_TEXT];
    open_with(sizeof x / 2);
    assert_int_equal(datum_id_draw("sed", &id, NULL), ESP_OK);
    const uint64_t ticket = offer(datum_id_text(&id, text));
    full = true;
    assert_int_equal(send(&id, ticket), ESP_NO_MEMORY);
    assert_nothing_is_left();
    assert_int_equal(send(&id, ticket), ESP_NOT_FOUND);
    full = false;
    put_again();
}

static void so_is_one_that_fills_when_the_datum_is_written(void **state)
{
    (void)state;
    struct datum_id id;
    char text[DATUM_TEXT];
    open_with(4 * sizeof x);
    assert_int_equal(datum_id_draw("sed", &id, NULL), ESP_OK);
    const uint64_t ticket = offer(datum_id_text(&id, text));
    assert_int_equal(send(&id, ticket), ESP_OK);
    full = true;
    assert_int_equal(finish(text, ticket), ESP_NO_MEMORY);
    assert_nothing_is_left();
    full = false;
    put_again();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_disk_that_fills_under_a_streamed_put_is_cleaned_up_at_once, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(so_is_one_that_fills_when_the_datum_is_written, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
