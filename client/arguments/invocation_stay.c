/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays that stay on the server of a call: what goes in is put there before it, what comes out is left
 * there, or put back.
 */
#include "client/arguments/invocation_hold.h"
#include "client/arguments/invocation_data.h"
#include "client/data/data.h"
#include "client/data/distant.h"
#include "client/data/grid_data.h"
#include "client/session/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what goes in and stays ---- */

static struct datum_info describe(const struct value *value, enum datum_mode mode, uint32_t flags)
{
    const struct datum_shape *shape = value->shape;
    return (struct datum_info){.type = shape->type,
                               .dims = (int64_t *)shape->dims,
                               .n_dims = shape->n_dims,
                               .storage = shape->storage,
                               .layout_a = shape->layout[0],
                               .layout_b = shape->layout[1],
                               .layout_c = shape->layout[2],
                               .row_major = shape->row_major,
                               .bytes = shape->bytes,
                               .mode = mode,
                               .flags = flags,
                               .created_s = (int64_t)time(NULL)};
}

/* Data carry the name of the server that makes them. */
static enum esp_status name_of(struct engine *engine, const char *server, const char *address, char *name,
                               struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_GREET, .greet = {.minor = CONTRACT_MINOR}}, reply = {0};
    enum esp_status status = ESP_OK;
    snprintf(name, CAP_NAME + 1, "%s", server);
    if (strchr(server, ':')) {
        status = deadline_call(engine->transport, address, &request, engine->call_timeout_ms, &reply, error);
        if (status == ESP_OK)
            snprintf(name, CAP_NAME + 1, "%s", reply.greet_reply.name);
        message_clear(&reply);
    }
    return status;
}

static enum esp_status put(const struct value *value, struct engine *engine, const char *server,
                           const char *address, char *datum, struct esp_error *error)
{
    char name[CAP_NAME + 1];
    const struct datum_info info = describe(value, value->held->mode, value->held->flags);
    enum esp_status status = name_of(engine, server, address, name, error);
    if (status == ESP_OK)
        status = data_put(engine, name, address, &info, value->in, (struct data_told){0}, datum, error);
    return status;
}

static enum esp_status leave(struct value *value, struct engine *engine, const char *server,
                             const char *address, struct esp_error *error)
{
    char datum[DATUM_TEXT];
    bool put_now = holding_claim(value->held, datum);
    if (put_now) {
        enum esp_status status = put(value, engine, server, address, datum, error);
        if (status == ESP_OK && value->grid)
            grid_note_sent(value->grid);
        holding_put_done(value->held, status == ESP_OK ? datum : NULL);
        if (status != ESP_OK)
            return status;
    }
    value->bulk = false;
    value->datum = strdup(datum);
    if (!value->datum)
        return error_no_memory(error, "the identity of a datum");
    /* Agents hear of what another call has put a little later. */
    return put_now ? ESP_OK : invocation_find_datum(engine, value, error);
}

/* Several arrays are put at the same time: one waits for nobody's answers but its own. */
struct leaving {
    struct thread_job job;
    struct value *value;
    struct engine *engine;
    const char *server, *address;
    enum esp_status status;
    struct esp_error error;
    bool submitted;
    pthread_mutex_t *lock; /* of `done` */
    pthread_cond_t *changed;
    bool done;
};

static void leave_it(void *arg)
{
    struct leaving *one = arg;
    one->status = leave(one->value, one->engine, one->server, one->address, &one->error);
    pthread_mutex_lock(one->lock);
    one->done = true;
    pthread_cond_signal(one->changed);
    pthread_mutex_unlock(one->lock);
}

/* What no other thread has begun, this one does. */
static void leave_all(struct leaving *all, uint32_t n, struct engine *engine)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    for (uint32_t i = 0; i < n; i++) {
        all[i].lock = &lock;
        all[i].changed = &changed;
        all[i].job = (struct thread_job){.run = leave_it, .arg = &all[i]};
        all[i].submitted = i > 0 && thread_pool_submit(engine->runners, &all[i].job);
    }
    for (uint32_t i = 0; i < n; i++)
        if (!all[i].submitted || thread_pool_withdraw(engine->runners, &all[i].job))
            leave_it(&all[i]);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n; i++)
        while (!all[i].done)
            pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&changed);
    pthread_mutex_destroy(&lock);
}

enum esp_status hold_leave(struct invocation *invocation, struct engine *engine, const char *server,
                           const char *address, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    uint32_t n = 0;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        n += invocation->values[i].held && !invocation->values[i].datum;
    struct leaving *all = n > 0 ? calloc(n, sizeof *all) : NULL;
    if (n == 0)
        return ESP_OK;
    if (!all)
        return error_no_memory(error, "the arguments of a call");
    for (uint32_t i = 0, next = 0; i < invocation->n_values; i++)
        if (invocation->values[i].held && !invocation->values[i].datum)
            all[next++] = (struct leaving){
                .value = &invocation->values[i], .engine = engine, .server = server, .address = address};
    leave_all(all, n, engine);
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < n; i++) {
        struct value *value = all[i].value;
        if (all[i].status == ESP_OK)
            continue;
        if (value->held->required && status == ESP_OK) {
            *error = all[i].error;
            status = error_prefix(error, "%s: argument \"%s\"", problem->name,
                                  problem->arguments[value->index].name);
        } else if (!value->held->required) {
            holding_release(value->held); /* it is sent, and nothing stays */
            value->held = NULL;
        }
    }
    free(all);
    return status;
}

/* ---- what comes out and stays ---- */

static void stop_reading(struct value *value)
{
    if (value->reads)
        holding_read_done(value->grid->holding);
    value->reads = false;
}

static enum esp_status settle(struct value *value, struct engine *engine, struct esp_error *error)
{
    const char *datum = value->stayed;
    bool also = datum_mode_returns((enum datum_mode)value->kept_mode) || (!value->kept && !value->result);
    enum esp_status status = ESP_OK;
    if (datum && value->out && also && value->form != VALUE_TEXTS)
        status = data_get(engine, datum, value->out, value->bytes, (struct data_told){0}, error);
    if (status == ESP_OK && datum && value->kept && !(*value->kept = strdup(datum)))
        status = error_no_memory(error, "the identity of a datum");
    if (status != ESP_OK || !value->result)
        return status;
    if (value->grid)
        grid_set_memory(value->grid, datum ? NULL : value->out);
    else if (value->distant && datum && value->out)
        status = distant_settle(value->distant, datum, value->edges, error);
    else if (value->distant)
        distant_void(value->distant);
    if (status != ESP_OK)
        return status;
    struct holding *result = value->result;
    value->result = NULL;
    holding_arrived(result, &value->due, datum ? datum : "", NULL);
    holding_release(result);
    return value->grid ? grid_bring_result(value->grid, engine, error) : ESP_OK;
}

static enum esp_status put_result(struct value *value, struct engine *engine, const char *server,
                                  const char *address, struct esp_error *error)
{
    char datum[DATUM_TEXT] = "", name[CAP_NAME + 1];
    const struct datum_info info = describe(value, (enum datum_mode)value->kept_mode, value->kept_flags);
    enum esp_status status = name_of(engine, server, address, name, error);
    if (status == ESP_OK)
        status = data_put(engine, name, address, &info, value->received, (struct data_told){0}, datum, error);
    if (status == ESP_OK && !(value->stayed = strdup(datum)))
        status = error_no_memory(error, "the identity of a datum");
    return status;
}

enum esp_status hold_results(struct invocation *invocation, struct engine *engine, const char *server,
                             const char *address, struct esp_error *error)
{
    const struct problem *problem = invocation->function->problem;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        stop_reading(&invocation->values[i]);
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (value->is_kept && value->form == VALUE_TEXTS && value->received) {
            value->shape->bytes = value->n_received;
            status = put_result(value, engine, server, address, error);
        }
        if (status == ESP_OK)
            status = settle(value, engine, error);
        if (status != ESP_OK)
            error_prefix(error, "%s: result \"%s\"", problem->name, problem->arguments[value->index].name);
        if (value->grid)
            grid_drop_old(value->grid, engine, false);
    }
    return status;
}

enum esp_status hold_put_results(struct invocation *invocation, struct engine *engine, const char *server,
                                 struct esp_error *error)
{
    char address[CAP_ADDRESS + 1] = "";
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; status == ESP_OK && i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (!value->is_kept || value->stayed)
            continue;
        status = engine_resolve(engine, server, address, error);
        if (status == ESP_OK)
            status = put_result(value, engine, server, address, error);
        if (status == ESP_OK && value->out && datum_mode_returns((enum datum_mode)value->kept_mode))
            memcpy(value->out, value->received, value->bytes);
        value->out = NULL; /* it need not come from there */
    }
    return status == ESP_OK ? hold_results(invocation, engine, server, address, error) : status;
}

void hold_release(struct value *value)
{
    struct esp_error why;
    if (value->result) {
        error_set(&why, ESP_FAILED, "the call that was to make it has failed");
        holding_arrived(value->result, &value->due, NULL, &why);
    }
    stop_reading(value);
    struct engine *engine = value->grid ? atomic_load(&value->grid->freed_by) : NULL;
    if (engine)
        grid_drop_old(value->grid, engine, false);
    if (value->distant)
        distant_void(value->distant);
    distant_release(value->distant);
    free(value->edges);
    holding_release(value->result);
    holding_release(value->held);
    grid_return(value->loan);
    grid_release(value->grid);
    free(value->stayed);
    free(value->shape);
}
