/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders about the data of a session: espalier.h, after Scilab// (scilab-parallel, H.3.1).
 */
#include "client/data/data.h"
#include "client/data/sequence.h"
#include "client/session/library.h"

#include <string.h>

/* One order: the operation on each datum that it covers. */
struct session_order {
    const struct esp_session_info *info;
    int sides;
    const char *argument; /* NULL: all */
    enum esp_status (*carry_out)(const struct session_order *order, const struct esp_session_datum *datum,
                                 struct data_told told, struct esp_error *error);
    struct engine *engine;
    const char *server;                   /* for send */
    const struct esp_argument *arguments; /* for bring */
    size_t n_arguments;
};

/* Of several orders, each is an equal part of the whole. */
struct part {
    struct data_told whole;
    double done, all;
};

static void tell_part(void *arg, double fraction)
{
    const struct part *part = arg;
    part->whole.tell(part->whole.arg, (part->done + fraction) / part->all);
}

static bool means(const struct session_order *order, const struct esp_session_datum *datum)
{
    return (order->sides & (int)datum->side) &&
           (!order->argument || strcmp(order->argument, datum->argument) == 0);
}

static enum esp_status nothing_meant(const struct session_order *order, struct esp_error *error)
{
    return error_set(error, ESP_NOT_FOUND, "%s%s%s: session %s has no such array on a server",
                     order->sides == ESP_SESSION_INPUTS    ? "inputs"
                     : order->sides == ESP_SESSION_OUTPUTS ? "outputs"
                                                           : "inputs and outputs",
                     order->argument ? ", " : "", order->argument ? order->argument : "", order->info->id);
}

static enum esp_status carry_out_all(const struct session_order *order, struct data_told told,
                                     struct esp_error *error)
{
    struct part part = {.whole = told};
    enum esp_status first = ESP_OK;
    for (size_t i = 0; i < order->info->n_data; i++)
        part.all += means(order, &order->info->data[i]);
    if (part.all == 0)
        return nothing_meant(order, error);
    for (size_t i = 0; i < order->info->n_data; i++) {
        struct esp_error why = {0};
        const struct esp_session_datum *datum = &order->info->data[i];
        if (!means(order, datum))
            continue;
        const struct data_told mine = {told.tell ? tell_part : NULL, &part};
        enum esp_status status = order->carry_out(order, datum, mine, &why);
        part.done++;
        if (status == ESP_OK || first != ESP_OK)
            continue;
        error_prefix(&why, "argument \"%s\"", datum->argument);
        *error = why;
        first = status;
    }
    return first;
}

static enum esp_status check(const struct session_order *order, struct esp_error *error)
{
    const int both = ESP_SESSION_INPUTS | ESP_SESSION_OUTPUTS;
    if (!order->info)
        return error_set(error, ESP_INVALID, "expected information on a session, found NULL");
    if (order->sides == 0 || (order->sides & ~both) != 0)
        return error_set(error, ESP_INVALID,
                         "expected ESP_SESSION_INPUTS, ESP_SESSION_OUTPUTS or both, found %d", order->sides);
    return ESP_OK;
}

static enum esp_status give(struct session_order *order, struct data_told told)
{
    struct esp_error *error = library_error();
    if (check(order, error) != ESP_OK)
        return error->status;
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    order->engine = library->engine;
    enum esp_status status = carry_out_all(order, told, error);
    library_leave(status == ESP_OK);
    return status;
}

static enum esp_status send_one(const struct session_order *order, const struct esp_session_datum *datum,
                                struct data_told told, struct esp_error *error)
{
    return data_copy(order->engine, datum->id, order->server, false, told, error);
}

enum esp_status esp_session_send(const struct esp_session_info *info, int sides, const char *argument,
                                 const char *server, esp_data_progress *progress, void *arg)
{
    struct session_order order = {
        .info = info, .sides = sides, .argument = argument, .carry_out = send_one, .server = server};
    if (!server)
        return error_set(library_error(), ESP_INVALID, "expected a server, found NULL");
    return give(&order, (struct data_told){progress, arg});
}

static uint64_t bytes_of(const struct esp_argument *array)
{
    uint64_t bytes = esp_type_size(array->type);
    for (unsigned i = 0; i < array->n_dims && i < ESP_MAX_DIMS; i++)
        if (array->dims[i] < 0 || __builtin_mul_overflow(bytes, (uint64_t)array->dims[i], &bytes))
            return UINT64_MAX;
    return bytes;
}

static enum esp_status bring_one(const struct session_order *order, const struct esp_session_datum *datum,
                                 struct data_told told, struct esp_error *error)
{
    if (datum->position >= order->n_arguments)
        return error_set(error, ESP_INVALID, "expected a vector as the call's, found one of %zu arguments",
                         order->n_arguments);
    const struct esp_argument *array = &order->arguments[datum->position];
    if (!array->data)
        return ESP_OK;
    enum esp_status status = sequence_sync(array->data, bytes_of(array), error);
    if (status == ESP_OK)
        status = data_get(order->engine, datum->id, array->data, bytes_of(array), told, error);
    return status;
}

enum esp_status esp_session_bring(const struct esp_session_info *info, int sides, const char *argument,
                                  const struct esp_argument *arguments, size_t n_arguments,
                                  esp_data_progress *progress, void *arg)
{
    struct session_order order = {.info = info,
                                  .sides = sides,
                                  .argument = argument,
                                  .carry_out = bring_one,
                                  .arguments = arguments,
                                  .n_arguments = n_arguments};
    if (!arguments)
        return error_set(library_error(), ESP_INVALID, "expected a vector of arguments, found NULL");
    if (sides == (ESP_SESSION_INPUTS | ESP_SESSION_OUTPUTS))
        return error_set(library_error(), ESP_INVALID,
                         "expected the inputs or the outputs, found both: an argument that goes in and comes "
                         "out has one place");
    return give(&order, (struct data_told){progress, arg});
}

static enum esp_status drop_one(const struct session_order *order, const struct esp_session_datum *datum,
                                struct data_told told, struct esp_error *error)
{
    (void)told;
    return datum->own ? data_drop(order->engine, datum->id, NULL, false, error) : ESP_OK;
}

enum esp_status esp_session_leave(const struct esp_session_info *info)
{
    struct session_order order = {
        .info = info, .sides = ESP_SESSION_INPUTS | ESP_SESSION_OUTPUTS, .carry_out = drop_one};
    return give(&order, (struct data_told){0});
}
