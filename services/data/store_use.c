/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/store_state.h"

#include "util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static struct store_pin *make_pin(struct store *store, struct datum *datum)
{
    struct store_pin *pin = calloc(1, sizeof *pin);
    if (!pin)
        return NULL;
    pin->datum = datum;
    store->counts.pinned += datum->pins == 0;
    datum->pins++;
    store_line_up(store, datum);
    return pin;
}

static void drop_pin(struct store *store, struct store_pin *pin)
{
    struct datum *datum = pin->datum;
    if (pin->mapped)
        munmap(pin->mapped, pin->mapped_bytes);
    datum_stream_close(pin->stream);
    free(pin);
    datum->pins--;
    store->counts.pinned -= datum->pins == 0;
    datum->used_ns = store_now(store);
    store_line_up(store, datum);
    store_settle(store, datum);
}

static enum esp_status open_stream(struct store *store, struct store_pin *pin, struct esp_error *error)
{
    struct datum_header record;
    enum esp_status status = ESP_OK;
    store_fill_record(pin->datum, &record);
    if (pin->datum->stream)
        pin->stream = datum_stream_share(pin->datum->stream);
    else
        status = datum_stream_open(store->options.files, &record, &pin->stream, error);
    if (status == ESP_NOT_FOUND) { /* its file */
        status = store_tell_damaged(store, &record.id, "the file is gone", error);
        store_lose_damaged(store, pin->datum, "the file is gone");
    }
    if (status != ESP_OK)
        return status;
    pin->datum->disk_reads++;
    store->counts.disk_reads++;
    return ESP_OK;
}

/* It is larger than the memory: what uses it maps its file, which is looked at before. The header is whole
 * pages, and so is what is in front of the datum. */
static enum esp_status begin_mapping(struct store *store, struct datum *datum, struct store_pin *pin,
                                     struct store_work **work, struct esp_error *error)
{
    uint64_t offset;
    enum esp_status status = open_stream(store, pin, error);
    if (status != ESP_OK)
        return status;
    struct store_memory *memory = &pin->memory;
    int fd = datum_stream_descriptor(pin->stream, &offset);
    if (fd < 0)
        return store_check_memory(store, datum->shape.bytes, error); /* that it does not fit */
    pin->mapped_bytes = offset + datum->shape.bytes;
    void *mapped = mmap(NULL, pin->mapped_bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (mapped == MAP_FAILED)
        return error_errno(error, "cannot map a datum's file");
    pin->mapped = mapped;
    *memory = (struct store_memory){fd, offset, datum->shape.bytes, (uint8_t *)mapped + offset};
    if (!(*work = store_make_work(store, datum, WORK_MAP)))
        return error_no_memory(error, "reading a datum");
    (*work)->pin = pin;
    return ESP_OK;
}

/* It is only on the disk: memory first, then work. */
static enum esp_status begin_loading(struct store *store, struct datum *datum, struct store_pin *pin,
                                     struct store_work **work, struct esp_error *error)
{
    enum esp_status status = store_take_memory(store, datum, error);
    if (status != ESP_OK)
        return status;
    *work = store_make_work(store, datum, WORK_LOAD);
    if (!*work || !store_make_latch(*work)) {
        if (*work)
            store_drop_work(store, *work);
        *work = NULL;
        store_give_memory(store, datum);
        return error_no_memory(error, "reading a datum");
    }
    (*work)->pin = pin;
    datum->loading = *work;
    return ESP_OK;
}

/* Somebody is reading it already. */
static enum esp_status join_loading(struct store *store, struct datum *datum, struct store_pin *pin,
                                    struct store_work **work, struct esp_error *error)
{
    if (!(*work = store_make_work(store, datum, WORK_JOIN)))
        return error_no_memory(error, "waiting for a datum");
    (*work)->pin = pin;
    (*work)->latch = datum->loading->latch;
    (*work)->latch->users++;
    return ESP_OK;
}

enum esp_status store_open(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           struct store_pin **result, struct store_work **work, struct esp_error *error)
{
    struct datum *datum;
    *work = NULL;
    enum esp_status status = store_find_visible(store, asker, id, &datum, error);
    if (status != ESP_OK)
        return status;
    struct store_pin *pin = make_pin(store, datum);
    if (!pin)
        return error_no_memory(error, "a pin of a datum");
    if (datum->loading)
        status = join_loading(store, datum, pin, work, error);
    else if (!datum_in_memory(datum))
        status =
            datum->stream || store_is_streamed(store, datum->shape.bytes, datum->mode, datum->flags, false)
                ? begin_mapping(store, datum, pin, work, error)
                : begin_loading(store, datum, pin, work, error);
    if (status != ESP_OK) {
        drop_pin(store, pin);
        return status;
    }
    datum->gets++;
    datum->used_ns = store_now(store);
    if (!pin->mapped)
        store_fill_memory(datum, &pin->memory);
    *result = pin;
    return ESP_OK;
}

enum esp_status store_open_reader(struct store *store, const struct store_asker *asker,
                                  const struct datum_id *id, struct store_pin **result,
                                  struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_visible(store, asker, id, &datum, error);
    if (status != ESP_OK)
        return status;
    struct store_pin *pin = make_pin(store, datum);
    if (!pin)
        return error_no_memory(error, "a pin of a datum");
    if (datum->loading || !datum_in_memory(datum))
        status = open_stream(store, pin, error);
    if (status != ESP_OK) {
        drop_pin(store, pin);
        return status;
    }
    datum->gets++;
    datum->used_ns = store_now(store);
    store_fill_memory(datum, &pin->memory);
    *result = pin;
    return ESP_OK;
}

void store_loaded(struct store *store, struct store_work *work, bool usable)
{
    struct datum *datum = work->datum;
    if (!usable)
        drop_pin(store, work->pin);
    if (work->kind != WORK_LOAD)
        return;
    datum->loading = NULL;
    datum->disk_reads++;
    store->counts.disk_reads++;
    if (work->status != ESP_OK) /* then nobody who joined can use it either */
        store_give_memory(store, datum);
    store_changed(store);
}

const struct store_memory *store_pin_memory(const struct store_pin *pin)
{
    return &pin->memory;
}

bool store_doubt(struct store *store, const struct store_pin *pin)
{
    struct datum *datum = pin->datum;
    if (!pin->mapped)
        return false;
    if (!datum->gone && datum->on_disk && datum->verified) {
        datum->verified = false;
        store->n_unverified++;
        store->unverified = NULL;
    }
    return true;
}

const struct datum_shape *store_pin_shape(const struct store_pin *pin)
{
    return &pin->datum->shape;
}

enum esp_status store_pin_reader(struct store_pin *pin, bool outside, int *fd, struct esp_error *error)
{
    char path[48];
    if (pin->memory.fd < 0)
        return error_set(error, ESP_INVALID, "an empty datum has no memory to be passed on");
    snprintf(path, sizeof path, "/proc/self/fd/%d", pin->memory.fd);
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return error_errno(error, "cannot open a datum's memory for reading (%s)", path);
    pin->datum->exposed |= outside;
    return ESP_OK;
}

void store_release(struct store *store, struct store_pin *pin, bool consumed)
{
    if (!pin)
        return;
    struct datum *datum = pin->datum;
    if (consumed && !datum->gone && datum->flags & DATUM_STRICT && !datum->writing)
        store_end(store, datum, END_CONSUMED);
    drop_pin(store, pin);
}

/* ---- deleting ---- */

static enum esp_status delete_file(struct store *store, struct datum *datum, enum store_end why,
                                   struct esp_error *error)
{
    struct files *files = store->options.files;
    char name[DATUM_FILE_NAME];
    struct esp_error own;
    enum esp_status status = files->ops->remove(files, datum_file_name(datum->key, true, name), &own);
    if (status != ESP_OK && status != ESP_NOT_FOUND)
        return error_set(error, ESP_SYSTEM, "the datum could not be deleted: %s", own.text);
    status = files->ops->sync_folder(files, "", &own);
    store_forget_places(store, datum);
    store_end(store, datum, why);
    if (status == ESP_OK)
        return ESP_OK;
    return error_set(error, ESP_SYSTEM,
                     "the datum is deleted, but may come back if this machine stops without warning: %s",
                     own.text);
}

/* `to`: it has moved there; NULL: it has not. */
static enum esp_status end(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                           enum store_end why, const char *to, struct esp_error *error)
{
    struct datum *datum;
    enum esp_status status = store_find_visible(store, asker, id, &datum, error);
    if (status != ESP_OK)
        return status;
    if (datum->writing)
        return store_busy(store, error, "the datum is being written to the disk");
    struct store_trace *trace =
        to || (why == END_DELETED && datum->places_bytes > 0) ? store_trace_begin(store, datum, to) : NULL;
    if (datum->on_disk)
        status = delete_file(store, datum, why, error);
    else
        store_end(store, datum, why);
    store_trace_end(store, trace);
    return status;
}

enum esp_status store_delete(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                             struct esp_error *error)
{
    return end(store, asker, id, END_DELETED, NULL, error);
}

enum esp_status store_depart(struct store *store, const struct store_asker *asker, const struct datum_id *id,
                             const char *to, struct esp_error *error)
{
    return end(store, asker, id, to ? END_MOVED : END_DEPARTED, to, error);
}
