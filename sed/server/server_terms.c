/* SPDX-License-Identifier: Apache-2.0
 *
 * What a server tells of itself for the choice, beside its load, and which requests it refuses by that.
 */
#include "core/forecast/predictor.h"
#include "core/choice/terms.h"
#include "sed/server/server_state.h"

#include <math.h>
#include <utlist.h>

/* Of large arguments, which are the only ones that take their time. */
static uint64_t bytes_to_come(const struct session *session)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < session->problem->n_arguments; i++) {
        const struct session_argument *argument = &session->arguments[i];
        if (argument->kind != KIND_BULK)
            continue;
        bytes += session->job.arguments[i].bytes;
        for (uint32_t j = 0; j < argument->arrived.n; j++)
            bytes -= argument->arrived.items[j].to - argument->arrived.items[j].from;
    }
    return bytes;
}

static uint64_t incoming_bytes(const struct server *server)
{
    const struct session *session;
    uint64_t bytes = 0;
    DL_FOREACH2(server->sessions.active, session, next_active)
    if (session->state == SESSION_WAITING || session->state == SESSION_RECEIVING)
        bytes += bytes_to_come(session);
    return bytes;
}

#define MOST_TROUBLE 200 /* bytes of the reason that agents hear */

bool server_tell_terms(const struct server *server, struct arena *arena, struct node_record *record)
{
    const uint64_t incoming = incoming_bytes(server), held = server_memory_held(server);
    struct extensions *extensions = &record->extensions;
    if (incoming && !terms_add_integer(extensions, EXTENSION_INCOMING, incoming, arena))
        return false;
    if (held && !terms_add_integer(extensions, EXTENSION_MEMORY_HELD, held, arena))
        return false;
    if (duty_is_back_soon(&server->duty) && !extension_add(extensions, EXTENSION_BACK_SOON, "", 0, arena))
        return false;
    if (server->ending && !extension_add(extensions, EXTENSION_ENDING, "", 0, arena))
        return false;
    if (server->ending && server->options.return_ns > 0 && duty_may_be_back(&server->duty) &&
        !terms_add_integer(extensions, EXTENSION_EXPECTED, (uint64_t)(server->options.return_ns / NS_PER_MS),
                           arena))
        return false;
    if (server->options.loopback_only && !extension_add(extensions, EXTENSION_LOOPBACK_ONLY, "", 0, arena))
        return false;
    char trouble[MOST_TROUBLE];
    const char *const texts[] = {trouble};
    if (server_lacks_ranks(server, trouble, sizeof trouble) &&
        !terms_add_texts(extensions, EXTENSION_RANKS_TROUBLE, texts, 1, arena))
        return false;
    if (server->options.price > 0 &&
        !terms_add_real(extensions, EXTENSION_PRICE, server->options.price, arena))
        return false;
    if (server->link.back_bps > 0 &&
        !terms_add_real(extensions, EXTENSION_LINK_BACK, server->link.back_bps, arena))
        return false;
    if (server->weather.available > 0 && !terms_add_weather(extensions, &server->weather, arena))
        return false;
    if (server->options.senses && !(server->weather.available > 0) &&
        !extension_add(extensions, EXTENSION_SENSES, "", 0, arena))
        return false;
    return server->options.n_properties == 0 ||
           terms_add_texts(extensions, EXTENSION_PROPERTIES, server->options.properties,
                           server->options.n_properties, arena);
}

bool server_tell_disabled(struct server *server, bool complete, struct arena *arena,
                          struct node_record *record)
{
    const struct node_place *place = &server->duty.place;
    uint32_t length = 0;
    if (!complete && server->disabled_told)
        return true;
    server->disabled_told = true;
    const void *uncallable =
        server->uncallable ? arena_memdup(arena, server->uncallable, server->uncallable_length) : NULL;
    if (server->uncallable && !(uncallable && extension_add(&record->extensions, EXTENSION_UNCALLABLE,
                                                            uncallable, server->uncallable_length, arena)))
        return false;
    if (place->n_disabled == 0 && !server->disabled_ever)
        return true;
    char *texts = arena_alloc(arena, DISABLED_BYTES);
    if (!texts)
        return false;
    for (size_t i = 0; i < place->n_disabled; i++) {
        const size_t bytes = strlen(place->disabled[i]) + 1;
        if (length + bytes > DISABLED_BYTES)
            break;
        memcpy(texts + length, place->disabled[i], bytes);
        length += (uint32_t)bytes;
    }
    if (length == 0)
        texts[length++] = '\0';
    server->disabled_ever = true;
    return extension_add(&record->extensions, EXTENSION_DISABLED, texts, length, arena);
}

bool server_count_disabled(const struct server *server, struct arena *arena, struct node_record *record)
{
    const size_t n = server->duty.place.n_disabled;
    return n == 0 || terms_add_integer(&record->extensions, EXTENSION_DISABLED, n, arena);
}

bool server_accepts(const struct server *server, const struct request *request,
                    const struct request_cost *cost)
{
    struct constraints constraints;
    constraints_get(&request->extensions, &constraints);
    if (cost->memory_bytes > constraints.most_memory_bytes)
        return false;
    const char *word = property_next(&constraints.wanted, NULL);
    for (; word; word = property_next(&constraints.wanted, word)) {
        size_t i = 0;
        while (i < server->options.n_properties && strcmp(server->options.properties[i], word) != 0)
            i++;
        if (i == server->options.n_properties)
            return false;
    }
    return true;
}

/* ---- the weather ---- */

/* Agents hear at once of a forecast that has moved by this; of less with what they hear anyway. */
#define WORTH_TELLING 0.05
/* Readings ahead that forecasts are made for, and readings behind one value of the history. */
#define AHEAD 5
#define STEP  5

void server_weather_release(struct server *server)
{
    predictor_destroy(server->available);
    server->available = NULL;
}

static void add_to_history(struct server *server, double available)
{
    struct weather *weather = &server->weather;
    struct history *history = &server->history;
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
    struct weather *weather = &server->weather;
    if (!server->available && predictor_create(&server->available, &error) != ESP_OK)
        return;
    if (!predictor_add(server->available, available) ||
        !predictor_forecast(server->available, AHEAD, &prediction))
        return;
    weather->available = available;
    weather->forecast = fmin(fmax(prediction.value, 0.01), 1);
    weather->error = prediction.error;
    weather->memory_free = memory_free;
    weather->disk_free = disk_free;
    add_to_history(server, available);
    if (fabs(weather->forecast - server->told_available) < WORTH_TELLING)
        return;
    server->told_available = weather->forecast;
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
    server->link = *path;
    server_load_changed(server, 0);
    endpoint_leave(server->endpoint);
}

void server_note_processor(struct server *server, const struct session *session, double cpu_s)
{
    if (!(cpu_s > 0) || !(session->compute_s >= 10 * WORTH_TIMING_S) || server->options.threads > 1)
        return;
    server->got.cpu_s += fmin(cpu_s, session->compute_s);
    server->got.wall_s += session->compute_s;
}

double server_processor_got(struct server *server, double *seconds)
{
    endpoint_enter(server->endpoint);
    const double got = server->got.wall_s > 0 ? server->got.cpu_s / server->got.wall_s : 0;
    *seconds = server->got.wall_s;
    server->got = (struct processor_got){0};
    endpoint_leave(server->endpoint);
    return got;
}
