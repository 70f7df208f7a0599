/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of the library: grpc_initialize() and grpc_finalize(). It joins the rooms of the client by
 * registering the functions of higher rooms that lower rooms call.
 */
#include "client/api/life.h"
#include "client/abstract/abstract.h"
#include "client/arguments/hooks.h"
#include "client/data/binding.h"
#include "client/data/data.h"
#include "client/data/distant.h"
#include "client/data/grid_data.h"
#include "client/data/holding.h"
#include "client/data/sequence.h"
#include "client/session/acquainted.h"
#include "client/session/buffer.h"
#include "client/session/library.h"
#include "client/session/room.h"
#include "client/session/patience.h"
#include "core/values/values.h"
#include "services/nws/window_habit.h"
#include "util/clock.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* A remote call that has not ended so long after its session was cancelled is interrupted, repeatedly. */
#define CUT_AGAIN_NS 200000000L

static const struct values_library values_library = VALUES_LIBRARY;

static const struct call_hooks hooks = {
    .take_data = hold_take_data,
    .enter = holding_enter_call,
    .check_room = room_check,
    .check_input = hold_check,
    .check_strings = hold_check_strings,
    .check_result = hold_check_result,
    .sync = sequence_sync,
    .release = hold_release,
    .before_call = hold_leave,
    .after_call = hold_results,
    .find_again = invocation_find_again,
    .bring_home = hold_bring_home,
    .values = &values_library,
};

static void join_rooms(void)
{
    call_hooks_set(&hooks);
    sequence_set_abstract(abstract_call_again);
}

static void tear_down(struct library *library)
{
    grid_transfers_end();
    grid_clear();
    engine_destroy(library->engine);
    table_destroy(library->table);
    handles_destroy(library->handles);
    transport_destroy(library->transport);
    settings_destroy(&library->settings.arena);
    memset(library, 0, sizeof *library);
}

/* Reads the configuration file. A default file may be missing if the program gives addresses. */
static enum esp_status load(struct library *library, const struct esp_options *options,
                            struct esp_error *error)
{
    char path[4096];
    const char *config = options->config;
    if (!config) {
        settings_client_path(path, sizeof path);
        config = path;
    }
    enum esp_status status = settings_load_client(config, &library->settings, error);
    if (status == ESP_NOT_FOUND && !options->config &&
        (options->redirector || options->agent || options->servers_only))
        status = settings_parse(
            SETTINGS_CLIENT, options->agent ? "agents = {\"127.0.0.1\"}\n" : "redirector = \"127.0.0.1\"\n",
            "defaults", &library->settings, error);
    return status;
}

/* Chooses the nodes that the engine asks for servers: the node that the program gives, or else those of
 * the file. */
static enum esp_status choose_way(const struct esp_options *options, struct settings_client *settings,
                                  struct engine_options *engine, struct esp_error *error)
{
    struct arena *arena = &settings->arena;
    const char **redirectors = arena_alloc(arena, (1 + settings->redirectors.n) * sizeof *redirectors);
    char **named = arena_alloc(arena, sizeof *named);
    if (!redirectors || !named)
        return error_no_memory(error, "the addresses of redirectors");
    engine->redirectors = redirectors;
    if (options->servers_only)
        return ESP_OK;
    const char *given = options->agent ? options->agent : options->redirector;
    if (given && config_whole_address(given, SETTINGS_PORT, named, arena, error) != ESP_OK)
        return error_prefix(error, options->agent ? "the agent's address" : "the redirector's address");
    if (options->agent) {
        engine->agents = (const char *const *)named;
        engine->n_agents = 1;
    } else if (options->redirector) {
        redirectors[engine->n_redirectors++] = *named;
    } else if (settings->redirector) {
        redirectors[engine->n_redirectors++] = settings->redirector;
        for (size_t i = 0; i < settings->redirectors.n; i++)
            redirectors[engine->n_redirectors++] = settings->redirectors.items[i];
    } else {
        engine->agents = (const char *const *)settings->agents.items;
        engine->n_agents = settings->agents.n;
    }
    if (engine->n_redirectors == 0 && engine->n_agents == 0)
        return error_set(error, ESP_CONFIG,
                         "expected the address of a redirector or of agents, found neither");
    return ESP_OK;
}

/* Round trips until a connection stands: with TCP, and with the handshake of TLS 1.3 as well. */
#define TCP_TRIPS 1
#define TLS_TRIPS 2

static enum esp_status build(struct library *library, const struct esp_options *options,
                             struct esp_error *error)
{
    struct settings_client *settings = &library->settings;
    struct engine_options engine = {.call_timeout_ms = settings->call_timeout_ns / NS_PER_MS,
                                    .agent_patience_ms = settings->agent_patience_ns / NS_PER_MS,
                                    .answer_patience_ms = settings->answer_patience_ns / NS_PER_MS,
                                    .silence_patience_ms = settings->silence_patience_ns / NS_PER_MS,
                                    .session_timeout_ms = settings->session_timeout_ns / NS_PER_MS,
                                    .inline_bytes = settings->inline_bytes,
                                    .remember_links = settings->remember_links,
                                    .sound_links = settings->sound_links,
                                    .connection_trips = settings->tls.ca ? TLS_TRIPS : TCP_TRIPS,
                                    .habit = window_habit_here()};
    const double most_s = options->call_timeout_s;
    if (most_s > 0 && (options->call_timeout_wins || most_s * 1e3 < (double)engine.call_timeout_ms))
        engine.call_timeout_ms = most_s > 1e-3 ? (int64_t)(most_s * 1e3) : 1;
    if (options->call_timeout_wins && most_s > 0 && most_s * 1e3 < (double)engine.agent_patience_ms)
        engine.agent_patience_ms = engine.call_timeout_ms;
    engine.lookup_timeout_ms = most_s > 0 ? (int64_t)(most_s * 1e3) + 1 : 0;
    enum esp_status status = choose_way(options, settings, &engine, error);
    if (status != ESP_OK)
        return status;
    status = client_open_transport(settings, &library->transport, error);
    engine.transport = library->transport;
    if (status == ESP_OK)
        status = engine_create(&engine, &library->engine, error);
    if (status == ESP_OK)
        status = handles_create(&library->handles, error);
    if (status == ESP_OK)
        status = table_create(&library->table, error);
    return status;
}

/* A server that is being greeted may be stopped: interrupts the greeting and waits briefly. Returns
 * whether a greeting is still under way. */
static bool greets(struct library *library)
{
    const struct timespec little = {.tv_nsec = CUT_AGAIN_NS};
    const atomic_uint *greetings = &library->engine->greetings;
    if (atomic_load(greetings) > 0)
        transport_interrupt(library->transport);
    if (atomic_load(greetings) > 0)
        nanosleep(&little, NULL);
    return atomic_load(greetings) > 0;
}

/* Called in a forked child: drops the parent's state. The memory is not freed, because the parent's
 * threads may have been using it. */
static enum esp_status forget_parent(struct esp_error *error)
{
    const bool whole = library_after_fork() && acquainted_after_fork() && holding_after_fork() &&
                       buffer_after_fork() && distant_after_fork() && grid_transfers_after_fork() &&
                       grid_after_fork();
    return whole ? ESP_OK
                 : error_set(error, ESP_REFUSED,
                             "this process was forked while another thread was inside the library: fork when "
                             "no call begins or ends, or before grpc_initialize()");
}

enum esp_status library_start(const struct esp_options *options, bool *again, struct esp_error *error)
{
    bool forked;
    struct library *library = library_begin(&forked, again, error);
    if (!library)
        return error->status;
    if (forked && forget_parent(error) != ESP_OK) {
        library_settle(LIBRARY_FORKED);
        return error->status;
    }
    join_rooms();
    enum esp_status status = load(library, options, error);
    if (status == ESP_OK)
        status = build(library, options, error);
    if (status != ESP_OK)
        tear_down(library);
    library_settle(status == ESP_OK ? LIBRARY_UP : LIBRARY_DOWN);
    return status;
}

/* Waits briefly for sessions to end and threads to leave. Returns whether all have. */
static bool all_ended(struct library *library)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* a jump of this clock makes one wait longer or shorter */
    until.tv_nsec += CUT_AGAIN_NS;
    until.tv_sec += until.tv_nsec / (long)NS_PER_S;
    until.tv_nsec %= (long)NS_PER_S;
    return table_drain(library->table, &until) && library_is_left(&until);
}

enum esp_status library_stop(struct esp_error *error)
{
    struct library *library = library_end(error);
    if (!library)
        return error->status;
    distant_stop(library->engine);
    engine_close(library->engine);
    while (!all_ended(library) || greets(library))
        transport_interrupt(library->transport); /* nodes that do not answer are not waited for */
    distant_stop(NULL);                          /* data that the last sessions have left */
    tear_down(library);
    library_settle(LIBRARY_DOWN);
    return ESP_OK;
}

int64_t esp_deadline_begin(double seconds)
{
    if (!(seconds > 0))
        return deadline_begin(CLOCK_NEVER);
    return deadline_begin(clock_now_ns(&clock_system) + (int64_t)(fmin(seconds, 1e9) * NS_PER_S));
}

void esp_deadline_end(int64_t before)
{
    deadline_end(before);
}
