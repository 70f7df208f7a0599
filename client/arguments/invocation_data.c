/* SPDX-License-Identifier: Apache-2.0 */
#include "client/arguments/invocation_data.h"
#include "client/data/data.h"
#include "client/data/grid_data.h"
#include "client/data/distant.h"
#include "client/data/holding.h"
#include "client/arguments/invocation_hold.h"
#include "client/data/sequence.h"
#include "core/data/datum_section.h"
#include "client/session/engine.h"
#include "util/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void drop_blanks(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = 0;
}

enum esp_status invocation_take_data(struct value *value, const struct argument *argument,
                                     const struct esp_argument *given, struct esp_error *error)
{
    struct datum_id id;
    struct datum_section section;
    if (given->unwanted && argument->mode == MODE_INOUT && value->form == VALUE_MEMORY &&
        argument->n_dims > 0 && !given->kept)
        value->out = NULL;
    if (!given->datum && !given->kept)
        return ESP_OK;
    const bool strings = value->form == VALUE_TEXTS && argument->type == TYPE_STRING;
    bool whole = value->form == VALUE_MEMORY || strings, cut = value->form == VALUE_SECTION && !given->kept;
    if (argument->n_dims == 0 || !(whole || cut))
        return error_set(
            error, ESP_INVALID, "argument \"%s\": only %sarrays of numbers, characters and strings can %s",
            argument->name, given->kept ? "whole " : "", given->kept ? "stay as data" : "be data");
    if (given->datum && !argument_is_input(argument))
        return error_set(error, ESP_INVALID, "argument \"%s\": it is an output, and no datum goes in",
                         argument->name);
    if (given->kept && !argument_is_output(argument))
        return error_set(error, ESP_INVALID, "argument \"%s\": it is an input, and cannot stay as a result",
                         argument->name);
    if (given->kept && (unsigned)given->kept_mode >= DATUM_N_MODES)
        return error_set(error, ESP_INVALID, "argument \"%s\": expected a mode of data, found %d",
                         argument->name, (int)given->kept_mode);
    value->is_kept = given->kept != NULL;
    value->kept = given->kept;
    value->kept_mode = (uint32_t)given->kept_mode;
    value->kept_flags |= given->kept && given->kept_in_pieces ? DATUM_AS_IT_LIES : 0;
    if (!given->datum)
        return ESP_OK;
    if (datum_reference_parse(given->datum, &id, &section, error) != ESP_OK)
        return error_prefix(error, "argument \"%s\"", argument->name);
    if (strings && section.n_dims > 0)
        return error_set(error, ESP_INVALID, "argument \"%s\": an array of strings is a datum as a whole",
                         argument->name);
    value->in = NULL; /* nothing is sent */
    value->datum = strdup(given->datum);
    if (!value->datum)
        return error_no_memory(error, "the identity of a datum");
    drop_blanks(value->datum); /* they part it from addresses */
    return ESP_OK;
}

enum esp_status invocation_take_stays(struct value *value, const struct problem *problem,
                                      const struct esp_argument *given, struct esp_error *error)
{
    const struct argument *argument = &problem->arguments[value->index];
    if (!given->stays || argument->n_dims == 0 || value->form != VALUE_MEMORY || value->grid)
        return ESP_OK;
    if (problem->abstract)
        return error_set(
            error, ESP_INVALID,
            "%s: argument \"%s\" cannot stay on a server: it goes to another problem, which this "
            "one chooses; call that one",
            problem->name, argument->name);
    if ((unsigned)given->kept_mode >= DATUM_N_MODES)
        return error_set(error, ESP_INVALID, "argument \"%s\": expected a mode of data, found %d",
                         argument->name, (int)given->kept_mode);
    value->stays = given->stays;
    if ((given->stays & ESP_SESSION_OUTPUTS) && argument_is_output(argument)) {
        value->is_kept = true;
        value->kept_mode = (uint32_t)given->kept_mode;
    }
    if (!(given->stays & ESP_SESSION_INPUTS) || !value->in || value->datum || !argument_is_input(argument))
        return ESP_OK;
    value->held = holding_create((enum datum_mode)given->kept_mode, 0, true);
    return value->held ? ESP_OK : error_no_memory(error, argument->name);
}

static enum esp_status find_datum(struct engine *engine, struct value *value, bool patient,
                                  struct esp_error *error)
{
    struct data_holder holders[DATA_MOST_HOLDERS];
    struct datum_id id;
    struct datum_section section;
    char identity[DATUM_TEXT];
    size_t n = 0, size = strlen(value->datum) + 1 + DATA_MOST_HOLDERS * (CAP_ADDRESS + 1);
    enum esp_status status = datum_reference_parse(value->datum, &id, &section, error);
    if (status == ESP_OK && patient)
        status = data_find(engine, datum_id_text(&id, identity), false, holders, &n, error);
    else if (status == ESP_OK)
        status = data_find_now(engine, datum_id_text(&id, identity), holders, &n, error);
    char *text = status == ESP_OK ? malloc(size) : NULL;
    if (status != ESP_OK)
        return status;
    if (!text)
        return error_no_memory(error, "the identity of a datum");
    int at = snprintf(text, size, "%s", value->datum);
    for (size_t i = 0; i < n; i++)
        at += snprintf(text + at, size - (size_t)at, " %s", holders[i].address);
    snprintf(value->holder, sizeof value->holder, "%s", n > 0 ? holders[0].server : "");
    value->is_unique = n > 0 && (holders[0].flags & DATUM_UNIQUE);
    value->is_strict = n > 0 && (holders[0].flags & DATUM_STRICT);
    free(value->datum);
    value->datum = text;
    return ESP_OK;
}

enum esp_status invocation_find_datum(struct engine *engine, struct value *value, struct esp_error *error)
{
    return find_datum(engine, value, true, error);
}

bool invocation_lost_datum(enum esp_status status)
{
    return status == ESP_NOT_FOUND || status == ESP_UNREACHABLE;
}

/* The program still has what servers have lost: it is sent again. */
static bool may_send(struct value *value, enum esp_status status)
{
    if (!invocation_lost_datum(status) || !value->held || !value->in)
        return false;
    holding_unset(value->held, value->datum);
    free(value->datum);
    value->datum = NULL;
    return true;
}

/* The memory that a grpc_data_t was sent from has its value still: it is sent again, as for the first time.
 */
static enum esp_status send_grid_again(struct value *value, struct engine *engine, enum esp_status status,
                                       struct esp_error *error)
{
    char datum[DATUM_TEXT];
    bool changed = false;
    if (!invocation_lost_datum(status) || !value->grid || !value->datum ||
        !holding_datum(value->grid->holding, datum))
        return status;
    if (grid_send_again(value->grid, datum, &changed)) {
        free(value->datum);
        value->datum = NULL;
        return hold_input(value, engine, error);
    }
    if (!changed)
        return status;
    char why[sizeof error->text];
    snprintf(why, sizeof why, "%s", error->text);
    return error_set(
        error, status,
        "its value is on no server any more, and the program has written over the memory that it was "
        "sent from: transfer the data with that input again (%s)",
        why);
}

static enum esp_status send_again(struct value *value, struct engine *engine, enum esp_status status,
                                  struct esp_error *error)
{
    return status == ESP_OK || may_send(value, status) ? ESP_OK
                                                       : send_grid_again(value, engine, status, error);
}

/* Nobody who is being started again is waited for where the value can be sent instead. */
static enum esp_status find_or_send(struct value *value, struct engine *engine, struct esp_error *error)
{
    const bool at_home = (value->held && value->in) || (value->grid && grid_memory(value->grid));
    enum esp_status status = send_again(value, engine, find_datum(engine, value, !at_home, error), error);
    if (at_home && value->datum && invocation_lost_datum(status))
        status = send_again(value, engine, find_datum(engine, value, true, error), error);
    return status;
}

/* A result of a sequence that is lost is computed again. */
static enum esp_status restore(struct value *value, struct engine *engine, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    enum esp_status status = sequence_restore(value->held, error);
    if (status != ESP_OK || !holding_datum(value->held, datum))
        return status;
    free(value->datum);
    value->datum = strdup(datum);
    return value->datum ? invocation_find_datum(engine, value, error)
                        : error_no_memory(error, "the identity of a datum");
}

/* Strings that the routine changes: servers map what is only read. */
static enum esp_status bring_strings(struct engine *engine, struct value *value,
                                     const struct argument *argument, struct esp_error *error)
{
    uint64_t n = 0;
    if (!value->datum || value->form != VALUE_TEXTS || !argument_is_output(argument))
        return ESP_OK;
    enum esp_status status = data_get_strings(engine, value->datum, &value->loaded, &value->bytes, &n, error);
    if (status == ESP_OK && n != value->n_texts)
        return error_set(error, ESP_INVALID, "expected string[%llu], the datum is string[%llu]",
                         (unsigned long long)value->n_texts, (unsigned long long)n);
    value->in = value->loaded;
    free(value->datum);
    value->datum = NULL;
    return status;
}

/* Without those who had it. */
static enum esp_status name_again(struct value *value, struct esp_error *error)
{
    char *name = strndup(value->datum, strcspn(value->datum, " "));
    if (!name)
        return error_no_memory(error, "the identity of a datum");
    free(value->datum);
    value->datum = name;
    return ESP_OK;
}

/* No copy may be made of unique data: who takes one has to be where it is. */
static enum esp_status go_to_unique(struct invocation *invocation, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    if (invocation->home_by_datum)
        invocation->home[0] = 0;
    invocation->home_by_datum = false;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        if (!value->datum || !value->is_unique)
            continue;
        if (invocation->home[0] && strcmp(invocation->home, value->holder) != 0)
            return error_set(
                error, ESP_REFUSED,
                "%s: argument \"%s\": its datum is unique and on server %s, but the call takes "
                "what cannot leave server %s: put one of them where the other is, and not as unique",
                problem->name, problem->arguments[value->index].name, value->holder, invocation->home);
        invocation->home_by_datum |= !invocation->home[0];
        memcpy(invocation->home, value->holder, sizeof invocation->home);
    }
    return ESP_OK;
}

static enum esp_status find_all(struct invocation *invocation, struct engine *engine, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = hold_prepare(invocation, engine, error);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        status = bring_strings(engine, value, &problem->arguments[value->index], error);
        status = status == ESP_OK && value->datum ? find_or_send(value, engine, error)
                                                  : send_again(value, engine, status, error);
        if (invocation_lost_datum(status) && value->held && !value->grid)
            status = restore(value, engine, error);
        if (status != ESP_OK)
            error_prefix(error, "%s: argument \"%s\"", problem->name, problem->arguments[value->index].name);
    }
    if (status == ESP_OK)
        status = go_to_unique(invocation, error);
    if (status == ESP_OK)
        sequence_note_call(invocation);
    return status;
}

bool invocation_takes_data(const struct invocation *invocation)
{
    for (uint32_t i = 0; i < invocation->n_values; i++)
        if (invocation->values[i].datum)
            return true;
    return false;
}

enum esp_status invocation_find_data(struct invocation *invocation, struct engine *engine, int64_t until_ns,
                                     struct esp_error *error)
{
    const bool takes_data = invocation_takes_data(invocation);
    const int64_t before_ns = deadline_begin(until_ns);
    enum esp_status status = find_all(invocation, engine, error);
    deadline_end(before_ns);
    invocation->until_ns = until_ns == CLOCK_NEVER ? 0 : until_ns;
    if (status == ESP_OK && takes_data && clock_now_ns(engine->clock) >= until_ns)
        status = error_set(error, ESP_TIMEOUT,
                           "%s: its time is over: to find its data took all of it; give it more",
                           invocation->function->problem->name);
    return status;
}

enum esp_status invocation_find_again(struct invocation *invocation, struct engine *engine,
                                      struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    bool any = false;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (!value->datum || !value->held || value->grid)
            continue;
        any = true;
        status = name_again(value, error);
        if (status == ESP_OK)
            status = invocation_find_datum(engine, value, error);
        if (invocation_lost_datum(status))
            status = restore(value, engine, error);
    }
    if (status == ESP_OK && any)
        status = go_to_unique(invocation, error);
    return status == ESP_OK && !any ? error_set(error, ESP_NOT_FOUND, "none of its data is a sequence's")
                                    : status;
}

static void put_little(uint8_t *bytes, uint32_t number)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
}

static bool is_array(const struct value *value)
{
    return value->form != VALUE_TEXTS;
}

/* Those that are to come as well the client puts back when it has them (hold_results()). */
static bool is_strings(const struct value *value)
{
    return value->form == VALUE_TEXTS && !value->out;
}

static enum esp_status say_kept(const struct invocation *invocation, uint32_t tag,
                                bool (*means)(const struct value *value), struct message *call,
                                struct esp_error *error)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        n += invocation->values[i].is_kept && means(&invocation->values[i]);
    if (n == 0)
        return ESP_OK;
    struct extensions *extensions = &call->call.extensions;
    struct extension *items = arena_alloc(&call->arena, (extensions->n + 1) * sizeof *items);
    uint8_t *bytes = arena_alloc(&call->arena, n * KEPT_BYTES), *at = bytes;
    if (!items || !bytes)
        return error_no_memory(error, "a call");
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        if (!invocation->values[i].is_kept || !means(&invocation->values[i]))
            continue;
        put_little(at, invocation->values[i].index);
        put_little(at + 4, invocation->values[i].kept_mode);
        put_little(at + 8, invocation->values[i].kept_flags);
        at += KEPT_BYTES;
    }
    if (extensions->n > 0)
        memcpy(items, extensions->items, extensions->n * sizeof *items);
    items[extensions->n] = (struct extension){tag, bytes, n * KEPT_BYTES};
    extensions->items = items;
    extensions->n++;
    return ESP_OK;
}

/* What lies at the ends of results that come when somebody looks is not guarded. */
static enum esp_status say_edges(const struct invocation *invocation, struct message *call,
                                 struct esp_error *error)
{
    uint32_t n = 0;
    uint8_t *bytes = arena_alloc(&call->arena, (invocation->n_values + 1) * EDGES_BYTES);
    if (!bytes)
        return error_no_memory(error, "a call");
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        const struct value *value = &invocation->values[i];
        uint64_t head, tail;
        if (!value->distant || !value->is_kept || !distant_edges(value->distant, &head, &tail))
            continue;
        uint8_t *item = bytes + n++ * EDGES_BYTES;
        put_little(item, value->index);
        put_little(item + 4, (uint32_t)head);
        put_little(item + 8, (uint32_t)tail);
    }
    return n == 0 || extension_add(&call->call.extensions, EXTENSION_EDGES, bytes, n * EDGES_BYTES,
                                   &call->arena)
               ? ESP_OK
               : error_no_memory(error, "a call");
}

enum esp_status invocation_say_kept(const struct invocation *invocation, struct message *call,
                                    struct esp_error *error)
{
    enum esp_status status = say_kept(invocation, EXTENSION_KEPT, is_array, call, error);
    if (status == ESP_OK)
        status = say_kept(invocation, EXTENSION_KEPT_TEXTS, is_strings, call, error);
    return status == ESP_OK ? say_edges(invocation, call, error) : status;
}

static uint32_t get_little(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void take_edges(struct invocation *invocation, uint32_t index, uint32_t head, uint32_t tail,
                       const uint8_t *bytes)
{
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        uint64_t own_head, own_tail;
        if (value->index != index || !value->distant ||
            !distant_edges(value->distant, &own_head, &own_tail) || own_head != head || own_tail != tail)
            continue;
        free(value->edges);
        value->edges = malloc((size_t)head + tail);
        if (value->edges)
            memcpy(value->edges, bytes, (size_t)head + tail);
    }
}

void invocation_take_edges(struct invocation *invocation, const struct extensions *extensions)
{
    const struct extension *edges = extension_find(extensions, EXTENSION_EDGES);
    for (uint32_t i = 0; i < invocation->n_values; i++) { /* those of an attempt that was lost */
        free(invocation->values[i].edges);
        invocation->values[i].edges = NULL;
    }
    for (uint64_t at = 0; edges && at + EDGES_BYTES <= edges->length;) {
        const uint8_t *item = edges->value + at;
        const uint32_t head = get_little(item + 4), tail = get_little(item + 8);
        at += EDGES_BYTES + (uint64_t)head + tail;
        if (at <= edges->length)
            take_edges(invocation, get_little(item), head, tail, item + EDGES_BYTES);
    }
}

enum esp_status invocation_take_identity(struct value *value, const struct argument *argument,
                                         const struct call_result *result, struct esp_error *error)
{
    char text[DATUM_TEXT];
    struct datum_id id;
    bool fits = result->kind == KIND_DATUM && result->length < sizeof text;
    if (fits) {
        memcpy(text, result->data, result->length);
        text[result->length] = 0;
    }
    if (!fits || datum_id_parse(text, &id, NULL) != ESP_OK)
        return error_set(error, ESP_PROTOCOL,
                         "result \"%s\": expected the identity of a datum, found kind %u", argument->name,
                         result->kind);
    free(value->stayed);
    value->stayed = strdup(text);
    return value->stayed ? ESP_OK : error_no_memory(error, "the identity of a datum");
}
