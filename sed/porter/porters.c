/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/porter/porters.h"

#include "sed/pool/folder.h"
#include "sed/ranks/ranks.h"
#include "util/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct porters {
    pthread_mutex_t lock;
    bool closed;
    struct workers *ranks;
    struct porter *own;
    char folder[PORTER_PATH], path[PORTER_PATH];
    int folder_lock; /* shows that the folder is in use */
};

enum esp_status porters_create(struct workers *ranks, struct porters **result, struct esp_error *error)
{
    struct porters *porters = calloc(1, sizeof *porters);
    if (!porters)
        return error_no_memory(error, "the porters");
    pthread_mutex_init(&porters->lock, NULL);
    porters->ranks = ranks;
    *result = porters;
    return ESP_OK;
}

enum esp_status porters_listen(struct porters *porters, const char *host, uint16_t port,
                               struct esp_error *error)
{
    struct porter *own;
    enum esp_status status = ESP_OK;
    if (!porters->folder[0]) /* leaves room for the socket's name */
        status = folder_make(NULL, "porter", porters->folder, sizeof porters->folder - 2,
                             &porters->folder_lock, error);
    if (status != ESP_OK)
        return status;
    snprintf(porters->path, sizeof porters->path, "%.*s/p", PORTER_PATH - 3, porters->folder);
    status = porter_create_at(porters->path, host, port, &own, error);
    if (status != ESP_OK)
        return status;
    pthread_mutex_lock(&porters->lock);
    porters->own = own;
    pthread_mutex_unlock(&porters->lock);
    return ESP_OK;
}

void porters_destroy(struct porters *porters)
{
    if (!porters)
        return;
    porter_destroy(porters->own);
    if (porters->folder[0]) {
        folder_remove(porters->folder);
        close(porters->folder_lock);
    }
    pthread_mutex_destroy(&porters->lock);
    free(porters);
}

void porters_close(struct porters *porters)
{
    if (!porters)
        return;
    pthread_mutex_lock(&porters->lock);
    porters->closed = true;
    pthread_mutex_unlock(&porters->lock);
}

/* Another program may have removed the folder: then orders are taken in a new one. With the lock. */
static void keep_folder(struct porters *porters)
{
    struct esp_error error;
    char folder[PORTER_PATH], path[PORTER_PATH];
    int lock;
    if (access(porters->path, F_OK) == 0)
        return;
    log_warning("the folder of the porter's socket, %s, was removed by another program: it is made anew",
                porters->folder);
    enum esp_status status = folder_make(NULL, "porter", folder, sizeof folder - 2, &lock, &error);
    if (status == ESP_OK) {
        snprintf(path, sizeof path, "%.*s/p", PORTER_PATH - 3, folder);
        status = porter_listen_again(porters->own, path, &error);
    }
    if (status != ESP_OK) {
        log_warning("pieces of data are not fetched: %s", error.text);
        return;
    }
    close(porters->folder_lock);
    porters->folder_lock = lock;
    memcpy(porters->folder, folder, sizeof folder);
    memcpy(porters->path, path, sizeof path);
}

void porters_list(void *arg, struct porter_list *list)
{
    struct porters *porters = arg;
    list->n = 0;
    pthread_mutex_lock(&porters->lock);
    if (porters->ranks && !porters->closed)
        ranks_porters(porters->ranks, list);
    if (list->n == 0 && porters->own && !porters->closed) {
        keep_folder(porters);
        memcpy(list->paths[0], porters->path, PORTER_PATH);
        list->n = 1;
        list->of_ranks = false;
    }
    pthread_mutex_unlock(&porters->lock);
}

void porters_lenders(void *arg, struct datum_key value, uint64_t ticket, struct porter_lenders *lenders)
{
    struct porters *porters = arg;
    lenders->n = 0;
    pthread_mutex_lock(&porters->lock);
    if (porters->ranks && !porters->closed)
        ranks_lenders(porters->ranks, (struct job_key){value.high, value.low}, ticket, lenders);
    pthread_mutex_unlock(&porters->lock);
}
