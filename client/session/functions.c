/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/functions.h"
#include "client/session/patience.h"
#include "util/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define HASH_NONFATAL_OOM 1 /* a library must not end the process */
#include <uthash.h>

#define MOST_KEPT 4096 /* problems that are stored; further ones are asked for each time */

struct entry {
    UT_hash_handle hh;
    struct function *function;
    char key[]; /* "name", or "name@address" for a server's own */
};

struct functions {
    struct transport *transport;
    struct route *route;
    int64_t call_timeout_ms, agent_patience_ms, silence_patience_ms;
    const atomic_bool *closing;
    pthread_mutex_t lock;
    struct entry *entries;
};

enum esp_status functions_create(struct transport *transport, struct route *route, int64_t call_timeout_ms,
                                 int64_t agent_patience_ms, int64_t silence_patience_ms,
                                 const atomic_bool *closing, struct functions **result,
                                 struct esp_error *error)
{
    struct functions *functions = calloc(1, sizeof *functions);
    if (!functions)
        return error_no_memory(error, "the table of functions");
    functions->transport = transport;
    functions->route = route;
    functions->call_timeout_ms = call_timeout_ms;
    functions->agent_patience_ms = agent_patience_ms;
    functions->silence_patience_ms = silence_patience_ms;
    functions->closing = closing;
    pthread_mutex_init(&functions->lock, NULL);
    *result = functions;
    return ESP_OK;
}

static void drop(struct functions *functions, struct entry *entry)
{
    HASH_DEL(functions->entries, entry);
    function_release(entry->function);
    free(entry);
}

void functions_destroy(struct functions *functions)
{
    if (!functions)
        return;
    struct entry *entry, *next;
    HASH_ITER(hh, functions->entries, entry, next)
    drop(functions, entry);
    pthread_mutex_destroy(&functions->lock);
    free(functions);
}

#define FIRST_WAIT_MS   50
#define LONGEST_WAIT_MS 400

/* Whether a node that may know the problem may still answer. A redirector that was just restarted knows no
 * agents for a moment, and a redirector or the only master agent is absent for a moment while it restarts.
 * If `patient`, also waits for silent nodes, for master agents that were not reached, and for lost nodes,
 * which come back or find another parent. */
static bool may_be_told(const struct functions *functions, enum esp_status status, int64_t passed_ns,
                        bool patient, const struct route_hope *hope)
{
    if (hope->sure)
        return false;
    if (patient && hope->silent && (status == ESP_UNREACHABLE || status == ESP_TIMEOUT))
        return true;
    if (status == ESP_UNREACHABLE || status == ESP_MAYBE) /* a question executes nothing */
        return passed_ns < PATIENCE_GONE_NS || (patient && route_was_there(functions->route));
    return status == ESP_NO_SERVER && (patient || route_is_deserted(functions->route));
}

static enum esp_status ask_agents(struct functions *functions, const struct message *request, bool patient,
                                  struct message *reply, struct esp_error *error)
{
    const struct clock *clock = transport_clock(functions->transport);
    struct patience patience =
        patience_begin(functions->agent_patience_ms, functions->silence_patience_ms, clock_now_ns(clock));
    int64_t wait_ms = FIRST_WAIT_MS, gone_ns = 0;
    const int64_t begun_ns = clock_now_ns(clock);
    for (;;) {
        struct route_hope hope;
        const enum esp_status status =
            route_try(functions->route, request, functions->call_timeout_ms, &hope, reply, error);
        const int64_t now_ns = clock_now_ns(clock);
        gone_ns = gone_ns ? gone_ns : now_ns; /* a node that dies while it is asked was not gone before */
        if (!may_be_told(functions, status, now_ns - gone_ns, patient, &hope) ||
            !patience_lasts(&patience, patient && hope.silent, now_ns) || atomic_load(functions->closing) ||
            deadline_left_ms(clock, wait_ms) < wait_ms) {
            if (status != ESP_OK)
                patience_tell("a master agent that knows the problem", begun_ns, now_ns, error);
            return status;
        }
        message_clear(reply);
        engine_pause(functions->closing, wait_ms);
        wait_ms = 2 * wait_ms < LONGEST_WAIT_MS ? 2 * wait_ms : LONGEST_WAIT_MS;
    }
}

static enum esp_status ask(struct functions *functions, const char *name, const char *address, bool patient,
                           struct message *reply, struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_DESCRIBE, .describe = {.problem = name}};
    if (!address)
        return ask_agents(functions, &request, patient, reply, error);
    enum esp_status status =
        deadline_call(functions->transport, address, &request, functions->call_timeout_ms, reply, error);
    if (status != ESP_OK && status != ESP_UNKNOWN_PROBLEM)
        error_prefix_at(error, "server", address);
    return status;
}

/* Stores the function for later calls; a failure to store is ignored. */
static void keep(struct functions *functions, const char *key, struct function *function)
{
    struct entry *entry = calloc(1, sizeof *entry + strlen(key) + 1), *old;
    if (!entry)
        return;
    strcpy(entry->key, key);
    entry->function = function_use(function);
    pthread_mutex_lock(&functions->lock);
    HASH_FIND_STR(functions->entries, key, old);
    if (old)
        drop(functions, old);
    if (HASH_COUNT(functions->entries) < MOST_KEPT) {
        HASH_ADD_STR(functions->entries, key, entry);
        if (entry->hh.tbl)
            entry = NULL;
    }
    pthread_mutex_unlock(&functions->lock);
    if (entry) {
        function_release(function);
        free(entry);
    }
}

static enum esp_status get(struct functions *functions, const char *name, const char *address, bool patient,
                           struct function **result, struct esp_error *error)
{
    if (!*name || strlen(name) > PROBLEM_MAX_NAME)
        return error_set(error, ESP_UNKNOWN_PROBLEM, "a problem's name has 1 to %d characters, found %zu",
                         PROBLEM_MAX_NAME, strlen(name));
    char key[PROBLEM_MAX_NAME + CAP_ADDRESS + 2];
    snprintf(key, sizeof key, address ? "%s@%s" : "%s", name, address);
    struct entry *entry;
    pthread_mutex_lock(&functions->lock);
    HASH_FIND_STR(functions->entries, key, entry);
    *result = entry ? function_use(entry->function) : NULL;
    pthread_mutex_unlock(&functions->lock);
    if (*result)
        return ESP_OK;
    struct message reply = {0};
    enum esp_status status = ask(functions, name, address, patient, &reply, error);
    if (status == ESP_OK)
        status = function_create(name, &reply.describe_reply, result, error);
    if (status == ESP_OK)
        keep(functions, key, *result);
    message_clear(&reply);
    return status;
}

enum esp_status functions_get(struct functions *functions, const char *name, const char *address,
                              struct function **result, struct esp_error *error)
{
    return get(functions, name, address, true, result, error);
}

enum esp_status functions_get_soon(struct functions *functions, const char *name, struct function **result,
                                   struct esp_error *error)
{
    return get(functions, name, NULL, false, result, error);
}

void functions_forget(struct functions *functions, const struct function *function)
{
    struct entry *entry, *next;
    pthread_mutex_lock(&functions->lock);
    HASH_ITER(hh, functions->entries, entry, next)
    {
        if (entry->function == function)
            drop(functions, entry);
    }
    pthread_mutex_unlock(&functions->lock);
}
