/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/buffer.h"
#include "client/data/distant.h"
#include "client/data/grid_data.h"
#include "client/library.h"
#include "client/arguments/callback.h"
#include "client/session/acquainted.h"
#include "services/nws/window_habit.h"
#include "util/clock.h"
#include "util/fork_lock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A remote call that has not ended so long after the sessions were cancelled is cut, and again. */
#define CUT_AGAIN_NS 200000000L

enum state { STATE_DOWN, STATE_CHANGING, STATE_UP, STATE_FORKED };

static atomic_int state;
static atomic_uint users; /* threads inside */
static struct library library;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* with `left`, for whoever waits for `users` */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;

/* ---- threads ---- */

/* What the library keeps for a thread. It is allocated, because a program that loads the library late, as
 * interpreters do by dlopen(), has about 1 KB left for the thread-local variables of all its libraries. */
struct thread_memory {
    struct esp_error last;
    struct esp_error before; /* status ESP_OK: there was none */
    struct past *kept;
};
static _Thread_local struct thread_memory *memory;
static struct thread_memory without_memory; /* of all threads for which there is none */
static _Thread_local unsigned depth;        /* functions of the interface that this thread is inside */
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Locks may be held by threads that the child does not have, and connections are shared with the parent. */
static void in_child(void)
{
    if (atomic_load(&state) != STATE_DOWN)
        atomic_store(&state, STATE_FORKED);
}

static void forget_thread(void *arg)
{
    struct thread_memory *of = arg;
    memory = NULL;
    free(of->kept);
    free(of);
}

static void set_up(void)
{
    pthread_key_create(&at_thread_end, forget_thread);
    pthread_atfork(NULL, NULL, in_child);
}

static struct thread_memory *of_thread(void)
{
    if (memory)
        return memory;
    pthread_once(&once, set_up);
    struct thread_memory *made = calloc(1, sizeof *made);
    if (!made)
        return &without_memory;
    pthread_setspecific(at_thread_end, made);
    return memory = made;
}

struct esp_error *library_error(void)
{
    return &of_thread()->last;
}

void library_keep(struct session *session)
{
    struct thread_memory *of = of_thread();
    if (of != &without_memory) {
        free(of->kept);
        of->kept = past_keep(session);
    }
    session_discard(session);
}

const struct past *library_kept(void)
{
    return of_thread()->kept;
}

/* ---- inside or outside ---- */

static enum esp_status outside(int found, struct esp_error *error)
{
    if (found == STATE_FORKED)
        return error_set(error, ESP_REFUSED,
                         "this process was forked after grpc_initialize(): call grpc_initialize() again, "
                         "which begins anew without the handles and sessions of the parent");
    return error_set(error, ESP_INVALID, "grpc_initialize() has not been called, or grpc_finalize() has");
}

struct library *library_enter(struct esp_error *error)
{
    if (callback_is_running()) {
        error_set(error, ESP_REFUSED,
                  "a function that a routine calls back cannot use the library: its session waits for it");
        return NULL;
    }
    if (depth++ == 0) {
        struct thread_memory *of = of_thread();
        of->before.status = of->last.status;
        if (of->last.status != ESP_OK)
            of->before = of->last;
    }
    atomic_fetch_add(&users, 1);
    int found = atomic_load(&state);
    if (found == STATE_UP)
        return &library;
    library_leave(false);
    outside(found, error);
    return NULL;
}

void library_leave(bool succeeded)
{
    struct thread_memory *of = of_thread();
    if (--depth == 0 && succeeded && of->before.status == ESP_OK) {
        of->last.status = ESP_OK;
        of->last.text[0] = 0;
    } else if (depth == 0 && succeeded) {
        of->last = of->before;
    }
    if (atomic_fetch_sub(&users, 1) != 1 || atomic_load(&state) != STATE_CHANGING)
        return;
    pthread_mutex_lock(&gate);
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&gate);
}

/* ---- life ---- */

static void tear_down(void)
{
    grid_transfers_end();
    grid_clear();
    engine_destroy(library.engine);
    table_destroy(library.table);
    handles_destroy(library.handles);
    transport_destroy(library.transport);
    settings_destroy(&library.settings.arena);
    memset(&library, 0, sizeof library);
}

/* The file, unless there is none and addresses were given. */
static enum esp_status load(const struct esp_options *options, struct esp_error *error)
{
    char path[4096];
    const char *config = options->config;
    if (!config) {
        settings_client_path(path, sizeof path);
        config = path;
    }
    enum esp_status status = settings_load_client(config, &library.settings, error);
    if (status == ESP_NOT_FOUND && !options->config &&
        (options->redirector || options->agent || options->servers_only))
        status = settings_parse(
            SETTINGS_CLIENT, options->agent ? "agents = {\"127.0.0.1\"}\n" : "redirector = \"127.0.0.1\"\n",
            "defaults", &library.settings, error);
    return status;
}

/* Who is asked for servers, in `arena`: whom the program names, or else the file. */
static enum esp_status choose_way(const struct esp_options *options, struct engine_options *engine,
                                  struct arena *arena, struct esp_error *error)
{
    const struct settings_client *settings = &library.settings;
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

/* Round trips until a connection stands: of TCP, and with the handshake of TLS 1.3 besides. */
#define TCP_TRIPS 1
#define TLS_TRIPS 2

static enum esp_status build(const struct esp_options *options, struct esp_error *error)
{
    const struct settings_client *settings = &library.settings;
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
    enum esp_status status = choose_way(options, &engine, &library.settings.arena, error);
    if (status != ESP_OK)
        return status;
    status = client_open_transport(settings, &library.transport, error);
    engine.transport = library.transport;
    if (status == ESP_OK)
        status = engine_create(&engine, &library.engine, error);
    if (status == ESP_OK)
        status = handles_create(&library.handles, error);
    if (status == ESP_OK)
        status = table_create(&library.table, error);
    return status;
}

/* In a forked child: leaves what the parent had to the parent. The memory is not freed, as the parent's
 * threads may have been using any of it. */
static enum esp_status forget_parent(struct esp_error *error)
{
    left = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    const bool whole = fork_lock_was_free(&gate) && acquainted_after_fork() && holding_after_fork() &&
                       buffer_after_fork() && distant_after_fork() && grid_transfers_after_fork() &&
                       grid_after_fork();
    if (!whole)
        return error_set(error, ESP_REFUSED,
                         "this process was forked while another thread was inside the library: fork when no "
                         "call begins or ends, or before grpc_initialize()");
    memset(&library, 0, sizeof library);
    atomic_store(&users, 0);
    return ESP_OK;
}

enum esp_status library_start(const struct esp_options *options, bool *again, struct esp_error *error)
{
    int expected = STATE_DOWN;
    *again = false;
    pthread_once(&once, set_up);
    if (atomic_load(&state) == STATE_FORKED && depth == 0)
        expected = STATE_FORKED;
    const bool forked = expected == STATE_FORKED;
    if (!atomic_compare_exchange_strong(&state, &expected, STATE_CHANGING)) {
        if (expected == STATE_FORKED)
            return outside(expected, error);
        *again = true;
        return error_set(error, ESP_INVALID, "the library is initialized already");
    }
    if (forked && forget_parent(error) != ESP_OK) {
        atomic_store(&state, STATE_FORKED);
        return error->status;
    }
    enum esp_status status = load(options, error);
    if (status == ESP_OK)
        status = build(options, error);
    if (status != ESP_OK)
        tear_down();
    atomic_store(&state, status == ESP_OK ? STATE_UP : STATE_DOWN);
    return status;
}

/* Waits a little for sessions to end and threads to leave; true when all have. */
static bool all_ended(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until); /* a jump of it makes one turn longer or shorter */
    until.tv_nsec += CUT_AGAIN_NS;
    until.tv_sec += until.tv_nsec / (long)NS_PER_S;
    until.tv_nsec %= (long)NS_PER_S;
    if (!table_drain(library.table, &until))
        return false;
    int waited = 0;
    pthread_mutex_lock(&gate);
    while (atomic_load(&users) > 0 && waited == 0)
        waited = pthread_cond_timedwait(&left, &gate, &until);
    pthread_mutex_unlock(&gate);
    return atomic_load(&users) == 0;
}

/* Waits a little where a server is being greeted that may be stopped; whether it still is. */
static bool greets(void)
{
    const struct timespec little = {.tv_nsec = CUT_AGAIN_NS};
    const atomic_uint *greetings = &library.engine->greetings;
    if (atomic_load(greetings) > 0)
        transport_interrupt(library.transport);
    if (atomic_load(greetings) > 0)
        nanosleep(&little, NULL);
    return atomic_load(greetings) > 0;
}

enum esp_status library_stop(struct esp_error *error)
{
    int expected = STATE_UP;
    if (!atomic_compare_exchange_strong(&state, &expected, STATE_CHANGING))
        return outside(expected, error);
    distant_stop(library.engine);
    engine_close(library.engine);
    while (!all_ended() || greets())
        transport_interrupt(library.transport); /* who does not answer is not waited for */
    distant_stop(NULL);                         /* what the last sessions have left */
    tear_down();
    atomic_store(&state, STATE_DOWN);
    return ESP_OK;
}
