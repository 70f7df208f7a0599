/* SPDX-License-Identifier: Apache-2.0
 *
 * What of the server's memory for calls its machine really has. Others take memory too: a call that would
 * make the machine swap is not admitted, and agents are told how much there is, so that they choose another
 * server.
 *
 * Whatever the sessions here have already touched is gone from what the machine has left, and what they have
 * reserved but not touched is not. So the two are added up: what is left, and what this server has of its
 * own. The sum stays the same while its sessions fill their memory; only others change it.
 */
#include "core/forecast/predictor.h"
#include "sed/server/server_state.h"
#include "services/data/store.h"
#include "util/bytes.h"

#include <math.h>

/* Readings ahead: a call that is placed now fills its memory within some seconds. */
#define AHEAD 5
/* Readings are off by what a worker is before it computes, and by what others do between two of them. */
#define NOISE_PART 32
/* Calls that take less hurt no machine. */
#define LEAST_BYTES (16u << 20)
/* Agents are told when the memory that there is has changed by this part of what is promised. */
#define WORTH_TELLING 32

/* What sessions have of the pool's memory: the store has the rest, and a limit of its own. */
static uint64_t pool_bytes(const struct server *server)
{
    struct store_counts counts = {0};
    const uint64_t all = segments_resident(server->segments);
    if (server_data_store(server->data))
        store_count(server_data_store(server->data), &counts);
    return all > counts.memory_bytes ? all - counts.memory_bytes : 0;
}

/* What sessions may take altogether, as far as readings tell. */
static uint64_t sure_bytes(const struct prediction *prediction, double reading)
{
    const double sure = fmin(reading, prediction->value) - prediction->error - reading / NOISE_PART;
    return sure > LEAST_BYTES ? (uint64_t)sure : LEAST_BYTES;
}

static void log_change(const struct server *server, uint64_t before, uint64_t now)
{
    const uint64_t promised = server->options.memory_bytes;
    char left[BYTES_TEXT], limit[BYTES_TEXT];
    if (now < promised && before == promised)
        log_notice(
            "others on this machine leave %s of the %s of memory that calls may take here: what takes more "
            "goes elsewhere",
            bytes_text(now, left), bytes_text(promised, limit));
    else if (now == promised && before < promised)
        log_notice("all %s of memory that calls may take here are there again", bytes_text(promised, limit));
}

static void set_total(struct server *server, uint64_t bytes)
{
    const uint64_t promised = server->options.memory_bytes, now = bytes < promised ? bytes : promised,
                   before = server->admission.total;
    if (now == before)
        return;
    log_change(server, before, now);
    admission_resize(&server->admission, now);
    if (now > before)
        admission_admit(&server->admission);
    const uint64_t told = server->told_memory, change = now > told ? now - told : told - now;
    if (change <= promised / WORTH_TELLING && (now < promised || told == promised))
        return;
    server->told_memory = now;
    server_load_changed(server, 1);
}

static void sense(struct server *server, double reading)
{
    struct esp_error error;
    struct prediction prediction;
    if (!server->memory && predictor_create(&server->memory, &error) != ESP_OK)
        return;
    if (predictor_add(server->memory, reading) && predictor_forecast(server->memory, AHEAD, &prediction))
        set_total(server, sure_bytes(&prediction, reading));
}

void server_sense_memory(struct server *server, uint64_t available, uint64_t below)
{
    if (available == UINT64_MAX)
        return;
    endpoint_enter(server->endpoint);
    sense(server, (double)available + (double)below + (double)pool_bytes(server));
    endpoint_leave(server->endpoint);
}

uint64_t server_memory_free(const struct server *server)
{
    const struct admission *admission = &server->admission;
    return admission->used < admission->total ? admission->total - admission->used : 0;
}

uint64_t server_memory_held(const struct server *server)
{
    return server->options.memory_bytes - server->admission.total;
}

void server_memory_release(struct server *server)
{
    predictor_destroy(server->memory);
    server->memory = NULL;
}
