/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/handle.h"
#include "client/session/engine.h"
#include "util/random.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1 /* a library must not end the process */
#include <uthash.h>

struct entry {
    UT_hash_handle hh;
    struct handle handle;
};

struct handles {
    pthread_mutex_t lock;
    struct entry *entries; /* by number */
    uint64_t check;        /* distinguishes handles of this initialization from those of an earlier one */
};

/* Numbers continue over initializations, so that an old handle stays invalid. */
static _Atomic uint64_t last_number;

enum esp_status handles_create(struct handles **result, struct esp_error *error)
{
    struct handles *handles = calloc(1, sizeof *handles);
    if (!handles)
        return error_no_memory(error, "function handles");
    enum esp_status status = random_bytes(&handles->check, sizeof handles->check, error);
    if (status != ESP_OK) {
        free(handles);
        return status;
    }
    pthread_mutex_init(&handles->lock, NULL);
    *result = handles;
    return ESP_OK;
}

void handle_release(struct handle *handle)
{
    if (!handle || atomic_fetch_sub_explicit(&handle->users, 1, memory_order_acq_rel) != 1)
        return;
    function_release(handle->function);
    free(handle->server);
    free(handle->address);
    free((char *)handle - offsetof(struct entry, handle));
}

void handles_destroy(struct handles *handles)
{
    if (!handles)
        return;
    struct entry *entry, *next;
    HASH_ITER(hh, handles->entries, entry, next)
    {
        HASH_DEL(handles->entries, entry);
        handle_release(&entry->handle);
    }
    pthread_mutex_destroy(&handles->lock);
    free(handles);
}

#define TRIES 3 /* a server may die between two questions, and come back */

static enum esp_status find_there(struct engine *engine, const char *server, const char *problem,
                                  char *address, struct function **function, struct esp_error *error)
{
    enum esp_status status = ESP_UNREACHABLE;
    for (int i = 0; i < TRIES && (status == ESP_UNREACHABLE || status == ESP_MAYBE); i++) {
        status = engine_find_server(engine, server, address, error);
        if (status == ESP_OK)
            status = functions_get(engine->functions, problem, address, function, error);
    }
    if (status == ESP_PROTOCOL || status == ESP_SECURITY || status == ESP_VERSION)
        status = error->status = ESP_UNREACHABLE; /* there is no server that this program could use */
    return status;
}

enum esp_status handle_open(struct engine *engine, const char *server, const char *problem,
                            struct handle **result, struct esp_error *error)
{
    char address[CAP_ADDRESS + 1];
    struct function *function;
    enum esp_status status = server ? find_there(engine, server, problem, address, &function, error)
                                    : functions_get(engine->functions, problem, NULL, &function, error);
    if (status != ESP_OK)
        return status;
    struct entry *entry = calloc(1, sizeof *entry);
    if (!entry) {
        function_release(function);
        return error_no_memory(error, "a function handle");
    }
    struct handle *handle = &entry->handle;
    handle->function = function;
    atomic_init(&handle->users, 1);
    if (server && (!(handle->server = strdup(server)) || !(handle->address = strdup(address)))) {
        handle_release(handle);
        return error_no_memory(error, "a function handle");
    }
    *result = handle;
    return ESP_OK;
}

enum esp_status handles_put(struct handles *handles, struct handle *handle, grpc_function_handle_t *out,
                            struct esp_error *error)
{
    struct entry *entry = (struct entry *)((char *)handle - offsetof(struct entry, handle));
    handle->number = atomic_fetch_add(&last_number, 1) + 1;
    pthread_mutex_lock(&handles->lock);
    HASH_ADD(hh, handles->entries, handle.number, sizeof handle->number, entry);
    const bool put = entry->hh.tbl != NULL;
    pthread_mutex_unlock(&handles->lock);
    if (!put) {
        handle_release(handle);
        return error_no_memory(error, "a function handle");
    }
    out->esp_number = handle->number;
    out->esp_check = handle->number ^ handles->check;
    return ESP_OK;
}

/* Called with the lock held. */
static struct entry *find(struct handles *handles, const grpc_function_handle_t *handle)
{
    uint64_t number = handle->esp_number;
    struct entry *entry = NULL;
    if ((number ^ handles->check) == handle->esp_check)
        HASH_FIND(hh, handles->entries, &number, sizeof number, entry);
    return entry;
}

struct handle *handles_use(struct handles *handles, const grpc_function_handle_t *handle)
{
    if (!handle)
        return NULL;
    pthread_mutex_lock(&handles->lock);
    struct entry *entry = find(handles, handle);
    if (entry)
        atomic_fetch_add_explicit(&entry->handle.users, 1, memory_order_relaxed);
    pthread_mutex_unlock(&handles->lock);
    return entry ? &entry->handle : NULL;
}

bool handles_has(struct handles *handles, uint64_t number)
{
    struct entry *entry;
    pthread_mutex_lock(&handles->lock);
    HASH_FIND(hh, handles->entries, &number, sizeof number, entry);
    pthread_mutex_unlock(&handles->lock);
    return entry != NULL;
}

bool handles_remove(struct handles *handles, const grpc_function_handle_t *handle)
{
    if (!handle)
        return false;
    pthread_mutex_lock(&handles->lock);
    struct entry *entry = find(handles, handle);
    if (entry)
        HASH_DEL(handles->entries, entry);
    pthread_mutex_unlock(&handles->lock);
    if (entry)
        handle_release(&entry->handle);
    return entry != NULL;
}
