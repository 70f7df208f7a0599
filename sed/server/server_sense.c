/* SPDX-License-Identifier: Apache-2.0
 *
 * What sensors tell: how much of the processors and of the memory others leave to calls, and the link from
 * the parent.
 */
#include "core/forecast/predictor.h"
#include "sed/server/server_state.h"
#include "services/data/store.h"
#include "util/bytes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sensed {
    struct weather weather;      /* as it was told last; all zero: nobody has told it */
    struct path link;            /* from the parent, as measured last */
    struct predictor *available; /* NULL: nobody has told it anything */
    double told_available;       /* the forecast that agents have */
    struct history {
        double sum;
        unsigned n;
    } history; /* readings since the last value of the history */
    struct processor_got {
        double cpu_s, wall_s;
    } got;                    /* of a processor, by sessions since this was last asked */
    struct predictor *memory; /* NULL: nobody has told it what its machine has */
    uint64_t told_memory;     /* what agents know that calls may take */
};

bool server_sensed_create(struct server *server)
{
    server->sensed = calloc(1, sizeof *server->sensed);
    if (server->sensed)
        server->sensed->told_memory = server->options.memory_bytes;
    return server->sensed;
}

void server_sensed_destroy(struct server *server)
{
    if (!server->sensed)
        return;
    predictor_destroy(server->sensed->available);
    predictor_destroy(server->sensed->memory);
    free(server->sensed);
}

const struct weather *server_weather(const struct server *server)
{
    return &server->sensed->weather;
}

const struct path *server_link(const struct server *server)
{
    return &server->sensed->link;
}

/* ---- the weather ---- */

/* Agents hear at once of a forecast that has moved by this; of less with what they hear anyway. */
#define WORTH_TELLING 0.05
/* Readings ahead that forecasts are made for, and readings behind one value of the history. */
#define AHEAD 5
#define STEP  5

static void add_to_history(struct server *server, double available)
{
    struct weather *weather = &server->sensed->weather;
    struct history *history = &server->sensed->history;
    history->sum += available;
    if (++history->n < STEP)
        return;
    if (weather->n == WEATHER_HISTORY)
        memmove(weather->shares, weather->shares + 1, --weather->n);
    weather->shares[weather->n++] = (uint8_t)lrint(250 * history->sum / STEP);
    weather->step_ms = STEP * 1000;
    *history = (struct history){0};
}

static void sense(struct server *server, double available, double memory_free, double disk_free)
{
    struct esp_error error;
    struct prediction prediction;
    struct weather *weather = &server->sensed->weather;
    if (!server->sensed->available && predictor_create(&server->sensed->available, &error) != ESP_OK)
        return;
    if (!predictor_add(server->sensed->available, available) ||
        !predictor_forecast(server->sensed->available, AHEAD, &prediction))
        return;
    weather->available = available;
    weather->forecast = fmin(fmax(prediction.value, 0.01), 1);
    weather->error = prediction.error;
    weather->memory_free = memory_free;
    weather->disk_free = disk_free;
    add_to_history(server, available);
    if (fabs(weather->forecast - server->sensed->told_available) < WORTH_TELLING)
        return;
    server->sensed->told_available = weather->forecast;
    server_load_changed(server, 1);
}

void server_sense(struct server *server, double available, double memory_free, double disk_free)
{
    if (!(available > 0) || available > 1)
        return;
    endpoint_enter(server->endpoint);
    sense(server, available, memory_free, disk_free);
    endpoint_leave(server->endpoint);
}

bool server_parent(void *self, char name[256], char url[385])
{
    struct server *server = self;
    endpoint_enter(server->endpoint);
    const char *parent = membership_parent_name(server->membership);
    const char *probe = parent ? membership_parent_probe(server->membership) : NULL;
    if (probe) {
        snprintf(name, 256, "%s", parent);
        snprintf(url, 385, "%s", probe);
    }
    endpoint_leave(server->endpoint);
    return probe != NULL;
}

void server_to_parent(void *self, const struct path *path)
{
    struct server *server = self;
    endpoint_enter(server->endpoint);
    server->sensed->link = *path;
    server_load_changed(server, 0);
    endpoint_leave(server->endpoint);
}

void server_note_processor(struct server *server, const struct session *session, double cpu_s)
{
    if (!(cpu_s > 0) || !(session->compute_s >= 10 * WORTH_TIMING_S) || server->options.threads > 1)
        return;
    server->sensed->got.cpu_s += fmin(cpu_s, session->compute_s);
    server->sensed->got.wall_s += session->compute_s;
}

double server_processor_got(struct server *server, double *seconds)
{
    endpoint_enter(server->endpoint);
    const double got =
        server->sensed->got.wall_s > 0 ? server->sensed->got.cpu_s / server->sensed->got.wall_s : 0;
    *seconds = server->sensed->got.wall_s;
    server->sensed->got = (struct processor_got){0};
    endpoint_leave(server->endpoint);
    return got;
}

/* ---- memory ---- */

/* How much of the server's memory for calls its machine really has. Others take memory, too: a call that
 * would make the machine swap is not admitted, and agents hear how much memory there is, so that they choose
 * another server.
 *
 * Memory that sessions have touched is missing in what the machine has left; memory that they have reserved
 * but not touched is not. So the memory that is left and the memory of this server are added. The sum stays
 * the same while sessions fill their memory; only others change it. */

/* Readings ahead: a call that is placed now fills its memory within some seconds. */
#define MEMORY_AHEAD 5
/* Readings are off by what a worker is before it computes, and by what others do between two of them. */
#define NOISE_PART 32
/* Calls that take less hurt no machine. */
#define LEAST_BYTES (16u << 20)
/* Agents are told when the memory that there is has changed by this part of what is promised. */
#define MEMORY_WORTH_TELLING 32

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
    const uint64_t told = server->sensed->told_memory, change = now > told ? now - told : told - now;
    if (change <= promised / MEMORY_WORTH_TELLING && (now < promised || told == promised))
        return;
    server->sensed->told_memory = now;
    server_load_changed(server, 1);
}

static void sense_memory(struct server *server, double reading)
{
    struct esp_error error;
    struct prediction prediction;
    if (!server->sensed->memory && predictor_create(&server->sensed->memory, &error) != ESP_OK)
        return;
    if (predictor_add(server->sensed->memory, reading) &&
        predictor_forecast(server->sensed->memory, MEMORY_AHEAD, &prediction))
        set_total(server, sure_bytes(&prediction, reading));
}

void server_sense_memory(struct server *server, uint64_t available, uint64_t below)
{
    if (available == UINT64_MAX)
        return;
    endpoint_enter(server->endpoint);
    sense_memory(server, (double)available + (double)below + (double)pool_bytes(server));
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
