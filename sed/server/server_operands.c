/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/server/server_operands.h"

#include "core/redistribution/pieces.h"
#include "sed/server/server_state.h"
#include "util/bytes.h"
#include "util/careful.h"
#include "util/log.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

/* How long a transfer waits for room. Then the session gives all its data back, and tries again. */
#define ROOM_NS (1 * NS_PER_S)
/* How many copies of one datum may be found damaged, one after the other, until the call fails. */
#define MOST_DAMAGED 3

/* ---- room in the store ---- */

/* The datum of a section is at least as large as the section; its size is known while it is pinned. */
static uint64_t bytes_of(const struct operand *operand)
{
    return operand->pin ? store_pin_shape(operand->pin)->bytes : operand->shape.bytes;
}

/* A datum that is several inputs counts once, with its largest part. */
static bool counts(const struct operands *operands, const struct operand *operand)
{
    for (const struct operand *other = operands->items; other < operands->items + operands->n; other++) {
        if (other == operand || other->kept || !datum_key_equal(other->id.key, operand->id.key))
            continue;
        if (bytes_of(other) > bytes_of(operand) || (bytes_of(other) == bytes_of(operand) && other < operand))
            return false;
    }
    return true;
}

/* Whether the datum is on the disk only, and takes no memory. */
static bool is_streamed(const struct server *server, const struct operand *operand)
{
    const uint64_t bytes = bytes_of(operand);
    return operand->kept ? store_is_streamed(server_data_store(server->data), bytes, operand->mode,
                                             operand->flags, operand->straight)
                         : store_is_streamed(server_data_store(server->data), bytes, DATUM_VOLATILE,
                                             DATUM_REPLICA, false);
}

/* Sends durable results straight to their files, until the others have room in memory. */
static void relieve(const struct server *server, struct operands *operands, uint64_t limit, uint64_t *taken)
{
    for (uint32_t i = 0; i<operands->n && * taken> limit; i++) {
        struct operand *operand = &operands->items[i];
        if (!operand->kept || operand->late || is_streamed(server, operand) ||
            !store_is_streamed(server_data_store(server->data), bytes_of(operand), operand->mode,
                               operand->flags, true))
            continue;
        operand->straight = true;
        *taken -= store_memory_of(bytes_of(operand));
    }
}

static enum esp_status tell_too_large(const struct server *server, const struct operand *operand,
                                      uint64_t limit_bytes, struct esp_error *error)
{
    char limit[BYTES_TEXT], size[BYTES_TEXT];
    const struct problem *problem = operand->of->session->problem;
    return error_set(error, ESP_NO_MEMORY,
                     "%s: a datum of %s can never fit the memory for data on server %s, which is limited to "
                     "%s (store_memory)%s",
                     problem->arguments[operand->index].name, bytes_text(bytes_of(operand), size),
                     server->name, bytes_text(limit_bytes, limit),
                     operand->kept ? "; let it come back, or stay for good (persistent)" : "");
}

static enum esp_status check_room(const struct server *server, struct operands *operands,
                                  struct esp_error *error)
{
    char limit[BYTES_TEXT], data[BYTES_TEXT], results[BYTES_TEXT];
    struct store_counts store;
    uint64_t taken = 0, data_bytes = 0, result_bytes = 0;
    store_count(server_data_store(server->data), &store);
    for (uint32_t i = 0; i < operands->n; i++) {
        const struct operand *operand = &operands->items[i];
        uint64_t bytes = bytes_of(operand);
        if (operand->late || (!operand->kept && !counts(operands, operand)) || is_streamed(server, operand))
            continue;
        if (store_memory_of(bytes) > store.memory_limit || bytes > store.memory_limit)
            return tell_too_large(server, operand, store.memory_limit, error);
        taken += store_memory_of(bytes); /* of a few arguments, each below the limit */
        *(operand->kept ? &result_bytes : &data_bytes) += bytes;
    }
    relieve(server, operands, store.memory_limit, &taken);
    if (taken <= store.memory_limit)
        return ESP_OK;
    return error_set(error, ESP_NO_MEMORY,
                     "the memory for data on server %s, %s (store_memory), can never hold at once what the "
                     "call needs: data of %s that go in, and results of %s that are to stay; let results "
                     "come back, or stay for good (persistent), or use a server with more",
                     server->name, bytes_text(store.memory_limit, limit), bytes_text(data_bytes, data),
                     bytes_text(result_bytes, results));
}

/* ---- sections: a part of a datum is copied to the place of the argument ---- */

enum esp_status operands_tell_unreadable(const struct session *session, struct esp_error *error)
{
    char text[DATUM_TEXT] = "that it takes";
    struct operands *operands = session->operands;
    const char *name = session->problem->name, *node = "";
    for (uint32_t i = 0; operands && i < operands->n; i++) {
        const struct operand *operand = &operands->items[i];
        node = operands->server->name;
        if (operand->pin && store_doubt(server_data_store(operands->server->data), operand->pin))
            datum_id_short(&operand->id, text);
    }
    log_error("%s: the file of datum %s could not be read", name, text);
    return error_set(
        error, ESP_SYSTEM,
        "%s: the file of datum %s on server %.80s could not be read: its disk failed, or the file "
        "was cut off. It is looked at again, and set aside if it is damaged; call again with a "
        "copy from elsewhere, or put it again",
        name, text, node);
}

#define AT_ONCE_BYTES ((uint64_t)1 << 20) /* shorter than handing it to another thread */

struct cutting {
    struct thread_job job;
    struct operand *operand;
    struct section cut;
    bool in_pieces;
    struct block_cyclic_matrix layout; /* of the pieces */
    const void *from;                  /* pinned */
    void *to; /* in the session's segment, which stays while the session is `moving` */
    void (*done)(struct operand *operand, bool whole);
};

/* Of an argument of which only a section travels, the datum is the whole array. */
static enum esp_status section_of_argument(const struct operand *operand, struct section *cut,
                                           struct esp_error *error)
{
    const struct session *session = operand->of->session;
    const struct datum_shape *whole = store_pin_shape(operand->pin);
    const char *name = session->problem->arguments[operand->index].name;
    enum esp_status status = datum_shape_fits(&operand->shape, whole, name, error);
    return status == ESP_OK ? problem_section(session->problem, operand->index, session->job.scope,
                                              operand->shape.dims, cut, error)
                            : status;
}

static enum esp_status make_section(const struct operand *operand, struct section *cut,
                                    struct esp_error *error)
{
    struct datum_shape part;
    const struct session *session = operand->of->session;
    const char *name = session->problem->arguments[operand->index].name;
    if (session->problem->arguments[operand->index].is_section)
        return section_of_argument(operand, cut, error);
    enum esp_status status =
        datum_section_take(&operand->section, store_pin_shape(operand->pin), &part, cut, error);
    if (status != ESP_OK)
        return error_prefix(error, "%s", name);
    datum_shape_squeeze(&part.n_dims, part.dims, operand->shape.n_dims);
    status = datum_shape_fits(&operand->shape, &part, name, error);
    if (status == ESP_OK && part.bytes != session->job.arguments[operand->index].bytes)
        return error_set(error, ESP_INTERNAL, "%s: a section has %llu bytes, its place %llu", name,
                         (unsigned long long)part.bytes,
                         (unsigned long long)session->job.arguments[operand->index].bytes);
    return status;
}

static struct pieces_range range_of(const struct section *cut, uint32_t d)
{
    return d < cut->n_dims ? (struct pieces_range){cut->start[d], cut->skip[d], cut->count[d]}
                           : (struct pieces_range){0, 1, 1};
}

static void gather(void *arg)
{
    const struct cutting *cutting = arg;
    const struct section *cut = &cutting->cut;
    if (cutting->in_pieces)
        pieces_gather(&cutting->layout, cutting->from, range_of(cut, 0), range_of(cut, 1), cutting->to,
                      cut->element);
    else
        section_gather(cut, cutting->from, cutting->to);
}

static void cutting_run(void *arg)
{
    struct cutting *cutting = arg;
    struct server *server = cutting->operand->of->server;
    const bool whole = careful_read(gather, cutting);
    endpoint_enter(server->endpoint);
    cutting->done(cutting->operand, whole);
    endpoint_leave(server->endpoint);
    free(cutting);
}

static bool hand_out(struct server *server, const struct cutting *what)
{
    struct cutting *cutting = malloc(sizeof *cutting);
    if (!cutting)
        return false;
    *cutting = *what;
    cutting->job = (struct thread_job){.run = cutting_run, .arg = cutting};
    what->operand->state = OPERAND_CUTTING;
    if (server_data_submit(server->data, &cutting->job))
        return true;
    what->operand->state = OPERAND_HERE;
    free(cutting);
    return false;
}

static enum esp_status cut_operand(struct server *server, struct operand *operand,
                                   void (*done)(struct operand *operand, bool whole), struct esp_error *error)
{
    struct cutting cutting = {.operand = operand,
                              .from = store_pin_memory(operand->pin)->data,
                              .to = session_argument_data(operand->of->session, operand->index),
                              .done = done};
    cutting.in_pieces = datum_shape_layout(store_pin_shape(operand->pin), &cutting.layout);
    enum esp_status status = make_section(operand, &cutting.cut, error);
    uint64_t bytes = operand->of->session->job.arguments[operand->index].bytes;
    if (status != ESP_OK || bytes == 0 || (bytes > AT_ONCE_BYTES && hand_out(server, &cutting)))
        return status;
    return careful_read(gather, &cutting) /* it is small, or no thread can do it */
               ? ESP_OK
               : operands_tell_unreadable(operand->of->session, error);
}

/* ---- what the call says ---- */

/* "node7:0123...[1:10,2] 10.0.0.7:4781 10.0.0.8:4781" */
static enum esp_status read_datum(struct operand *operand, const struct planned_argument *planned,
                                  const char *what, struct esp_error *error)
{
    char *text = strndup((const char *)planned->datum, planned->datum_length), *rest = text;
    if (!text)
        return error_no_memory(error, "the identity of a datum");
    const char *name = strsep(&rest, " ");
    enum esp_status status = datum_reference_parse(name, &operand->id, &operand->section, error);
    while (status == ESP_OK && rest && operand->n_sources < CAP_SOURCES) {
        const char *source = strsep(&rest, " ");
        if (*source && !(operand->sources[operand->n_sources++] = strdup(source)))
            status = error_no_memory(error, "the sources of a datum");
    }
    if (status != ESP_OK)
        error_prefix(error, "%s", what);
    free(text);
    return status;
}

static struct operand *add(struct operands *operands, const struct planned_argument *planned, uint32_t index)
{
    struct operand *operand = &operands->items[operands->n++];
    *operand = (struct operand){.of = operands, .index = index, .shape = planned->shape};
    return operand;
}

enum esp_status server_operands_create(struct server *server, struct session *session,
                                       const struct call_plan *plan, const struct call *call,
                                       struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    const struct problem *problem = plan->problem;
    if (!server_data_store(server->data))
        return error_set(error, ESP_REFUSED, "%s: server %s keeps no data (store_memory = 0 in its file)",
                         problem->name, server->name);
    struct operands *operands =
        calloc(1, sizeof *operands + 2 * problem->n_arguments * sizeof operands->items[0]);
    if (!operands)
        return error_no_memory(error, "a session");
    operands->server = server;
    operands->session = session;
    asker_of(call, &operands->asker);
    session->operands = operands;
    for (uint32_t i = 0; status == ESP_OK && i < problem->n_arguments; i++) {
        const struct planned_argument *planned = &plan->arguments[i];
        char what[2 * PROBLEM_MAX_NAME + 8];
        snprintf(what, sizeof what, "%s: %s", problem->name, problem->arguments[i].name);
        if (planned->kind == KIND_DATUM)
            status = read_datum(add(operands, planned, i), planned, what, error);
        if (status == ESP_OK && planned->kind == KIND_DATUM && problem->arguments[i].is_section &&
            operands->items[operands->n - 1].section.n_dims > 0)
            status =
                error_set(error, ESP_INVALID,
                          "%s: expected a whole datum, of which the description takes a section, found a "
                          "section of one",
                          what);
        if (!planned->kept && !planned->kept_late)
            continue;
        struct operand *result = add(operands, planned, i);
        result->kept = true;
        result->late = planned->kept_late;
        result->mode = (enum datum_mode)planned->keep_mode;
        result->flags = planned->keep_flags & DATUM_ALL_FLAGS;
        result->head = planned->head;
        result->tail = planned->tail;
        result->as_it_lies = planned->keep_flags & DATUM_AS_IT_LIES;
    }
    if (status == ESP_OK && check_room(server, operands, error) != ESP_OK)
        status = error_prefix(error, "%s", problem->name);
    if (status != ESP_OK)
        server_operands_free(session);
    return status;
}

void server_operands_free(struct session *session)
{
    struct operands *operands = session->operands;
    if (!operands)
        return;
    for (uint32_t i = 0; i < operands->n; i++) {
        for (uint32_t s = 0; s < operands->items[i].n_sources; s++)
            free(operands->items[i].sources[s]);
        free(operands->items[i].edges);
    }
    free(operands);
    session->operands = NULL;
}

/* ---- letting go ---- */

/* Gives the operand back. `used`: a routine has used it, and its session has ended. */
static void let_go(struct server *server, struct operand *operand, bool used)
{
    if (operand->state != OPERAND_HERE)
        return;
    if (operand->kept) {
        store_put_filled(server_data_store(server->data), operand->id.key, false, NULL);
        store_abort(server_data_store(server->data), &operand->of->asker.is, operand->id.key, NULL);
    } else {
        bool was_here = store_has(server_data_store(server->data), operand->id.key);
        store_release(server_data_store(server->data), operand->pin, used);
        if (was_here && !store_has(server_data_store(server->data), operand->id.key))
            server_data_consumed(server->data, &operand->id);
        operand->pin = NULL;
        close(operand->file.fd);
    }
    operand->state = OPERAND_AWAY;
}

void server_operands_release(struct server *server, struct session *session, bool whole)
{
    struct operands *operands = session->operands;
    for (uint32_t i = 0; operands && i < operands->n; i++) {
        struct operand *operand = &operands->items[i];
        if (operand->state == OPERAND_FETCHING) {
            server_data_pull_leave(&operand->waiter);
            operand->state = OPERAND_AWAY;
        }
        let_go(server, operand, session->started_ns != 0);
        struct job_argument *argument = &session->job.arguments[operand->index];
        if (session->arguments[operand->index].in_store)
            argument->data = NULL;
        argument->file = argument->source = NULL;
        if (operand->kept && operand->state == OPERAND_STORED && !whole)
            store_delete(server_data_store(server->data), &operands->asker.is, &operand->id, NULL);
    }
    if (operands)
        operands->blocked = false;
}

/* A thread that worked for the session is done; the session may have ended meanwhile. */
void server_leave_session(struct server *server, struct session *session)
{
    session->moving--;
    if (session->moving == 0 && !session->client && session_has_ended(session))
        server_release_session(server, session);
    else if (session->moving == 0 && session_has_ended(session))
        server_settle_memory(server, session);
}

/* ---- inputs ---- */

static void fail(struct operands *operands, const struct operand *operand, const struct esp_error *why)
{
    struct session *session = operands->session;
    const struct problem *problem = session->problem;
    struct esp_error error;
    error_set(&error, why->status, "%s: %s: %s%s", problem->name, problem->arguments[operand->index].name,
              why->text,
              store_has_lost(server_data_store(operands->server->data), operand->id.key)
                  ? "; the copy here was damaged, and is set aside: no sound one is left that can be reached"
                  : "");
    if (!session_has_ended(session))
        server_end_session(operands->server, session, SESSION_FAILED, &error);
}

void server_operands_hold(struct session *session)
{
    struct operands *operands = session->operands;
    for (uint32_t i = 0; operands && i < operands->n; i++)
        if (operands->items[i].state == OPERAND_HERE)
            operands->items[i].state = OPERAND_CUTTING;
}

void server_operands_unhold(struct server *server, struct session *session)
{
    struct operands *operands = session->operands;
    for (uint32_t i = 0; operands && i < operands->n; i++) {
        if (operands->items[i].state != OPERAND_CUTTING)
            continue;
        operands->items[i].state = OPERAND_HERE;
        if (session_has_ended(session))
            let_go(server, &operands->items[i], false);
    }
}

static void was_cut(struct operand *operand, bool whole)
{
    struct esp_error error;
    struct session *session = operand->of->session;
    struct server *server = operand->of->server;
    bool goes_on = !session_has_ended(session);
    operand->state = OPERAND_HERE;
    if (goes_on && !whole) {
        operands_tell_unreadable(session, &error);
        server_end_session(server, session, SESSION_FAILED, &error);
    }
    if (!goes_on || !whole)
        let_go(server, operand, false);
    server_leave_session(server, session);
    if (goes_on && whole)
        server_proceed(server, session);
}

/* Copies the section to the segment. The datum stays pinned with the others. */
static enum esp_status take_section(struct operand *operand, struct esp_error *error)
{
    struct server *server = operand->of->server;
    operand->file.fd = -1;
    operand->state = OPERAND_HERE;
    operand->of->session->moving++;
    enum esp_status status = cut_operand(server, operand, was_cut, error);
    if (status == ESP_OK && operand->state == OPERAND_CUTTING)
        return ESP_OK;
    operand->of->session->moving--;
    if (status != ESP_OK)
        let_go(server, operand, false);
    return status;
}

static struct job_key key_of(struct datum_key key)
{
    return (struct job_key){key.high, key.low};
}

/* Sets the key of the value: ranks may have pieces of the datum from which this one was made. */
static void tell_value(struct operand *operand)
{
    const struct laying *laying = server_data_laying(operand->of->server->data, operand->id.key);
    operand->file.key = key_of(laying ? laying->value : operand->id.key);
    operand->file.laid = laying != NULL;
    if (laying)
        operand->file.before = laying->before;
}

/* The memory of the input is there: the worker gets a read-only descriptor. */
static enum esp_status take_input(struct operand *operand, struct esp_error *error)
{
    struct session *session = operand->of->session;
    if (operand->section.n_dims > 0 || session->problem->arguments[operand->index].is_section)
        return take_section(operand, error);

    struct job_argument *argument = &session->job.arguments[operand->index];
    const struct store_memory *memory = store_pin_memory(operand->pin);
    const char *name = session->problem->arguments[operand->index].name;
    enum esp_status status = datum_shape_fits(&operand->shape, store_pin_shape(operand->pin), name, error);
    if (status == ESP_OK && memory->bytes > 0)
        status = store_pin_reader(operand->pin, false, &operand->file.fd, error);
    else
        operand->file.fd = -1;
    if (status != ESP_OK) {
        store_release(server_data_store(operand->of->server->data), operand->pin, false);
        operand->pin = NULL;
        operand->state = OPERAND_AWAY;
        return status;
    }
    operand->file.offset = memory->offset;
    operand->file.bytes = memory->bytes;
    tell_value(operand);
    operand->file.in_pieces = datum_shape_layout(store_pin_shape(operand->pin), &operand->file.layout);
    operand->state = OPERAND_HERE;
    if (argument->writable) {
        argument->source = memory->bytes > 0 ? &operand->file : NULL;
    } else {
        argument->file = &operand->file;
        argument->data = memory->data;
        argument->bytes = memory->bytes; /* of strings: known only now */
    }
    return ESP_OK;
}

/* Whether the file here was damaged, so that another server may have a sound copy. */
static bool may_be_elsewhere(struct operand *operand, enum esp_status status)
{
    return status == ESP_NOT_FOUND &&
           store_has_lost(server_data_store(operand->of->server->data), operand->id.key) &&
           operand->n_damaged++ < MOST_DAMAGED;
}

static void was_read(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    struct operand *operand = chore->arg;
    struct server *server = operand->of->server;
    struct session *session = operand->of->session;
    struct esp_error why = *error;
    if (status == ESP_OK)
        status = take_input(operand, &why);
    else
        operand->state = OPERAND_AWAY, operand->pin = NULL; /* it is gone */
    const bool has_ended = session_has_ended(session);
    const bool goes_on = !has_ended && (status == ESP_OK || may_be_elsewhere(operand, status));
    if (has_ended)
        let_go(server, operand, false);
    else if (!goes_on)
        fail(operand->of, operand, &why);
    server_leave_session(server, session);
    if (goes_on)
        server_proceed(server, session);
}

/* Gives all operands back and waits for room, so that no other session waits for them. */
static void step_back(struct server *server, struct operands *operands)
{
    for (uint32_t i = 0; i < operands->n; i++)
        let_go(server, &operands->items[i], false);
    operands->blocked = true;
    server_data_block(server->data);
}

static enum esp_status open_input(struct server *server, struct operand *operand, struct esp_error *error)
{
    struct store_work *work = NULL;
    enum esp_status status = store_open(server_data_store(server->data), &operand->of->asker.is, &operand->id,
                                        &operand->pin, &work, error);
    if (status != ESP_OK || !work)
        return status == ESP_OK ? take_input(operand, error) : status;
    struct chore *chore = calloc(1, sizeof *chore);
    if (!chore) { /* without memory for the chore this thread does the work */
        store_work_do(work);
        status = store_work_end(server_data_store(server->data), work, error);
        return status == ESP_OK ? take_input(operand, error) : status;
    }
    chore->arg = operand;
    chore->then = was_read;
    operand->state = OPERAND_READING;
    operand->of->session->moving++;
    server_data_chore(server->data, chore, work);
    return ESP_OK;
}

/* A transfer found no room for ROOM_NS: gives all operands back, as other sessions may wait for them and have
 * the room that this one waits for. */
static bool may_step_back(struct server *server, struct operands *operands, enum esp_status status,
                          struct esp_error *error)
{
    if (status != ESP_BUSY || check_room(server, operands, error) != ESP_OK)
        return false;
    step_back(server, operands);
    return true;
}

static void arrived(struct pull_waiter *waiter, enum esp_status status, const struct esp_error *error)
{
    struct operand *operand = (struct operand *)((char *)waiter - offsetof(struct operand, waiter));
    struct server *server = operand->of->server;
    struct esp_error why = *error;
    operand->state = OPERAND_AWAY;
    operand->asked = waiter->asked;
    operand->stays = waiter->stays;
    if (may_step_back(server, operand->of, status, &why))
        return;
    if (status != ESP_OK)
        fail(operand->of, operand, &why);
    else
        server_proceed(server, operand->of->session);
}

static enum esp_status fetch_input(struct server *server, struct operand *operand, struct esp_error *error)
{
    const int64_t deadline_ns = operand->of->session->deadline_ns;
    const int64_t left_ns = deadline_ns == CLOCK_NEVER ? 0 : deadline_ns - server_now(server);
    operand->waiter = (struct pull_waiter){.arrived = arrived};
    const struct pull_wish wish = {.id = &operand->id,
                                   .sources = (const char *const *)operand->sources,
                                   .n_sources = operand->n_sources,
                                   .kind = PULL_REPLICA,
                                   .flags = DATUM_REPLICA,
                                   .asked = operand->asked,
                                   .stays = operand->stays,
                                   .patience_ns = left_ns > 0 ? left_ns : 0,
                                   .room_ns = ROOM_NS};
    enum esp_status status =
        server_data_pull(server->data, &operand->of->asker, &wish, &operand->waiter, error);
    if (status == ESP_OK)
        operand->state = OPERAND_FETCHING;
    return status;
}

/* ---- results ---- */

static enum esp_status begin_result(struct server *server, struct operand *operand,
                                    struct store_memory *memory, struct esp_error *error)
{
    const struct session *session = operand->of->session;
    struct store_new fresh = {.shape = operand->shape,
                              .mode = operand->mode,
                              .flags = operand->flags,
                              .created_s = (int64_t)time(NULL),
                              .streamed = operand->straight};
    struct store_asker asker = operand->of->asker.is;
    /* Results of a job outlive its client. */
    if (session->client && !session->job_counted)
        memcpy(asker.client, session->client->key, sizeof asker.client);
    enum esp_status status =
        store_begin(server_data_store(server->data), &asker, &fresh, &operand->id, error);
    if (status == ESP_OK) {
        status = store_put_memory(server_data_store(server->data), &operand->of->asker.is, operand->id.key,
                                  memory, error);
        if (status != ESP_OK)
            store_abort(server_data_store(server->data), &operand->of->asker.is, operand->id.key, NULL);
    }
    return status;
}

static enum esp_status make_room(struct server *server, struct operand *operand, struct esp_error *error)
{
    struct session *session = operand->of->session;
    struct job_argument *argument = &session->job.arguments[operand->index];
    struct store_memory memory;
    enum esp_status status = begin_result(server, operand, &memory, error);
    if (status != ESP_OK)
        return status;
    operand->file = (struct job_file){
        .fd = memory.fd, .offset = memory.offset, .bytes = memory.bytes, .key = key_of(operand->id.key)};
    operand->memory = memory.data;
    argument->file = &operand->file;
    if (session->arguments[operand->index].in_store) {
        argument->data = memory.data;
    } else {
        operand->sent = (struct job_file){
            .fd = session->job.segment_fd, .offset = argument->offset, .bytes = argument->bytes};
        argument->source = argument->bytes > 0 ? &operand->sent : NULL;
    }
    operand->state = OPERAND_HERE;
    return ESP_OK;
}

void server_operands_lay(struct session *session)
{
    struct operands *operands = session->operands;
    const struct implementation *implementation = session->job.implementation;
    for (uint32_t i = 0; operands && i < operands->n; i++) {
        struct operand *operand = &operands->items[i];
        if (!operand->kept || !operand->as_it_lies)
            continue;
        operand->file.in_pieces =
            implementation_is_parallel(implementation) &&
            implementation->spreads[operand->index].kind == SPREAD_BLOCKS &&
            spread_layout(session->problem, implementation, operand->index, session->job.scope,
                          session->job.grid, &operand->file.layout, NULL) == ESP_OK;
    }
}

/* ---- getting all of them ---- */

static enum esp_status step(struct server *server, struct operand *operand, struct esp_error *error)
{
    if (operand->state != OPERAND_AWAY)
        return ESP_OK;
    if (operand->late)
        return operand->state = OPERAND_LATE, ESP_OK;
    if (operand->kept)
        return make_room(server, operand, error);
    if (!store_has(server_data_store(server->data), operand->id.key))
        return fetch_input(server, operand, error);
    enum esp_status status = open_input(server, operand, error);
    return may_be_elsewhere(operand, status) ? fetch_input(server, operand, error) : status;
}

bool server_operands_step(struct server *server, struct session *session)
{
    struct operands *operands = session->operands;
    bool all = true;
    if (!operands)
        return true;
    operands->blocked = false;
    for (uint32_t i = 0; i < operands->n; i++) {
        struct operand *operand = &operands->items[i];
        struct esp_error error = {0};
        enum esp_status status = step(server, operand, &error);
        if (may_step_back(server, operands, status, &error))
            return false;
        if (status != ESP_OK) {
            fail(operands, operand, &error);
            return false;
        }
        all = all && (operand->state == OPERAND_HERE || operand->state == OPERAND_LATE);
    }
    return all;
}

void server_operands_retry(struct server *server)
{
    struct session *session, *next;
    DL_FOREACH_SAFE2(server->sessions.active, session, next, next_active)
    {
        if (session->operands && session->operands->blocked)
            server_proceed(server, session);
    }
}

/* ---- the end ---- */

static bool is_storing(const struct operands *operands)
{
    for (uint32_t i = 0; i < operands->n; i++)
        if (operands->items[i].state == OPERAND_STORING)
            return true;
    return false;
}

static void was_stored(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    struct operand *operand = chore->arg;
    struct operands *operands = operand->of;
    struct server *server = operand->of->server;
    struct session *session = operands->session;
    struct esp_error why = *error;
    operand->state = status == ESP_OK ? OPERAND_STORED : OPERAND_AWAY;
    if (status != ESP_OK)
        store_abort(server_data_store(server->data), &operands->asker.is, operand->id.key, NULL);
    else if (session_has_ended(session)) /* another result could not be stored */
        store_delete(server_data_store(server->data), &operands->asker.is, &operand->id, NULL);
    if (status != ESP_OK && session->stopping == ESP_OK)
        fail(operands, operand, &why);
    else if (!is_storing(operands) && !session_has_ended(session))
        server_results_stored(server, session);
    server_leave_session(server, session);
}

/* Copies the ends of the result, as its memory belongs to the store once it is stored. */
static void copy_edges(struct operand *operand)
{
    const uint64_t head = operand->head, tail = operand->tail, bytes = operand->file.bytes;
    if (!operand->memory || operand->file.in_pieces || head + tail == 0 || head > bytes || tail > bytes)
        return;
    free(operand->edges);
    if (!(operand->edges = malloc(head + tail)))
        return;
    memcpy(operand->edges, operand->memory, head);
    memcpy(operand->edges + head, operand->memory + bytes - tail, tail);
}

bool operands_add_edges(const struct session *session, struct extensions *extensions, struct arena *arena)
{
    const struct operands *operands = session->operands;
    uint32_t length = 0;
    for (uint32_t i = 0; operands && i < operands->n; i++)
        if (operands->items[i].edges)
            length += EDGES_BYTES + operands->items[i].head + operands->items[i].tail;
    uint8_t *all = length > 0 ? arena_alloc(arena, length) : NULL, *at = all;
    for (uint32_t i = 0; all && i < operands->n; i++) {
        const struct operand *operand = &operands->items[i];
        const uint32_t numbers[] = {htole32(operand->index), htole32(operand->head), htole32(operand->tail)};
        if (!operand->edges)
            continue;
        memcpy(at, numbers, EDGES_BYTES);
        memcpy(at + EDGES_BYTES, operand->edges, operand->head + operand->tail);
        at += EDGES_BYTES + operand->head + operand->tail;
    }
    return length == 0 || (all && extension_add(extensions, EXTENSION_EDGES, all, length, arena));
}

static enum esp_status store_result(struct server *server, struct operand *operand, struct esp_error *error)
{
    struct store_work *work = NULL;
    struct store *store = server_data_store(server->data);
    struct datum_shape shape = operand->shape;
    copy_edges(operand);
    enum esp_status status = store_put_filled(store, operand->id.key, true, error);
    if (status == ESP_OK && operand->file.in_pieces)
        status = datum_shape_spread(&shape, &operand->file.layout, error);
    if (status == ESP_OK && operand->file.in_pieces)
        status = store_put_shape(store, &operand->of->asker.is, operand->id.key, &shape, error);
    if (status == ESP_OK)
        status = store_commit(store, &operand->of->asker.is, operand->id.key, &work, error);
    if (status != ESP_OK) {
        store_abort(store, &operand->of->asker.is, operand->id.key, NULL);
        operand->state = OPERAND_AWAY;
        return status;
    }
    struct chore *chore = work ? calloc(1, sizeof *chore) : NULL;
    if (!chore) {
        if (work)
            store_work_do(work);
        status = work ? store_work_end(store, work, error) : ESP_OK;
        operand->state = status == ESP_OK ? OPERAND_STORED : OPERAND_AWAY;
        return status;
    }
    chore->arg = operand;
    chore->then = was_stored;
    operand->state = OPERAND_STORING;
    operand->of->session->moving++;
    server_data_chore(server->data, chore, work);
    return ESP_OK;
}

/* The length of the strings is known now (at most TEXTS_MOST_BYTES). Without room the client puts them
 * itself. */
static void make_late(struct server *server, struct operand *operand)
{
    const struct job_argument *argument = &operand->of->session->job.arguments[operand->index];
    struct store_memory memory;
    operand->shape.bytes = argument->bytes;
    if (!argument->data || begin_result(server, operand, &memory, NULL) != ESP_OK)
        return;
    memcpy(memory.data, argument->data, argument->bytes);
    operand->state = OPERAND_HERE;
}

bool server_operands_store(struct server *server, struct session *session, struct esp_error *error)
{
    struct operands *operands = session->operands;
    error->status = ESP_OK;
    for (uint32_t i = 0; operands && error->status == ESP_OK && i < operands->n; i++) {
        struct operand *operand = &operands->items[i];
        if (operand->state == OPERAND_LATE)
            make_late(server, operand);
        if (operand->kept && operand->state == OPERAND_HERE)
            store_result(server, operand, error);
    }
    return operands && error->status == ESP_OK && is_storing(operands);
}

const void *operands_source(const struct session *session, uint32_t index)
{
    const struct operands *operands = session->operands;
    for (uint32_t i = 0; operands && i < operands->n; i++) {
        const struct operand *operand = &operands->items[i];
        if (operand->index == index && operand->pin && session->job.arguments[index].source == &operand->file)
            return store_pin_memory(operand->pin)->data;
    }
    return NULL;
}

static void on_ended(struct server *server, struct session *session)
{
    server_operands_release(server, session, session->state == SESSION_DONE);
}

static void on_released(struct server *server, struct session *session)
{
    (void)server;
    server_operands_free(session);
}

const struct session_observer operands_observer = {.ended = on_ended, .released = on_released};
