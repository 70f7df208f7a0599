/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/failures.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1 /* a library must not end the process */
#include <uthash.h>

#define MOST_TEXTS 2048 /* different texts: up to 1 MB */

struct failure {
    grpc_sessionid_t id;
    uint16_t status, text; /* number of the text; 0: none */
};

struct text {
    UT_hash_handle hh;
    uint16_t number;
    char text[];
};

struct failures {
    struct failure *sorted; /* by id */
    size_t n, capacity;
    grpc_sessionid_t *told; /* a ring of failures that have not been reported yet */
    size_t first, n_told, ring;
    struct text *texts, *by_number[MOST_TEXTS];
    unsigned n_texts;
};

enum esp_status failures_create(struct failures **result, struct esp_error *error)
{
    if (!(*result = calloc(1, sizeof **result)))
        return error_no_memory(error, "the list of failed sessions");
    return ESP_OK;
}

void failures_destroy(struct failures *failures)
{
    if (!failures)
        return;
    struct text *text, *next;
    HASH_ITER(hh, failures->texts, text, next)
    {
        HASH_DEL(failures->texts, text);
        free(text);
    }
    free(failures->sorted);
    free(failures->told);
    free(failures);
}

/* Returns 0 if there are too many, or without memory. */
static uint16_t number_of(struct failures *failures, const char *words)
{
    struct text *text;
    const size_t length = strlen(words);
    HASH_FIND(hh, failures->texts, words, length, text);
    if (text)
        return text->number;
    if (failures->n_texts + 1 == MOST_TEXTS || !(text = calloc(1, sizeof *text + length + 1)))
        return 0;
    memcpy(text->text, words, length);
    text->number = (uint16_t)(failures->n_texts + 1);
    HASH_ADD_KEYPTR(hh, failures->texts, text->text, length, text);
    if (!text->hh.tbl) {
        free(text);
        return 0;
    }
    failures->by_number[text->number] = text;
    return (uint16_t)++failures->n_texts;
}

/* The first position whose id is not smaller. */
static size_t place_of(const struct failures *failures, grpc_sessionid_t id)
{
    size_t low = 0, high = failures->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (failures->sorted[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(struct failures *failures)
{
    if (failures->n < failures->capacity)
        return true;
    size_t capacity = failures->capacity ? 2 * failures->capacity : 64;
    struct failure *grown = realloc(failures->sorted, capacity * sizeof *grown);
    if (!grown)
        return false;
    failures->sorted = grown;
    failures->capacity = capacity;
    return true;
}

static bool make_room_in_ring(struct failures *failures)
{
    if (failures->n_told < failures->ring)
        return true;
    size_t ring = failures->ring ? 2 * failures->ring : 64;
    grpc_sessionid_t *grown = malloc(ring * sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < failures->n_told; i++)
        grown[i] = failures->told[(failures->first + i) % failures->ring];
    free(failures->told);
    failures->told = grown;
    failures->first = 0;
    failures->ring = ring;
    return true;
}

/* Failures that the program has not asked for are dropped, too, because their ids are invalid from now on. */
static grpc_sessionid_t forget_half(struct failures *failures)
{
    const size_t half = failures->n / 2;
    const grpc_sessionid_t last = failures->sorted[half - 1].id;
    memmove(failures->sorted, failures->sorted + half, (failures->n - half) * sizeof *failures->sorted);
    failures->n -= half;
    size_t kept = 0;
    for (size_t i = 0; i < failures->n_told; i++) {
        grpc_sessionid_t id = failures->told[(failures->first + i) % failures->ring];
        if (id > last)
            failures->told[(failures->first + kept++) % failures->ring] = id;
    }
    failures->n_told = kept;
    return last;
}

bool failures_add(struct failures *failures, grpc_sessionid_t id, const struct esp_error *why,
                  grpc_sessionid_t *forgotten)
{
    *forgotten = 0;
    if (failures->n == FAILURES_MOST)
        *forgotten = forget_half(failures);
    if (!make_room(failures) || !make_room_in_ring(failures))
        return false;
    size_t at = place_of(failures, id);
    memmove(failures->sorted + at + 1, failures->sorted + at, (failures->n - at) * sizeof *failures->sorted);
    failures->sorted[at] = (struct failure){id, (uint16_t)why->status, number_of(failures, why->text)};
    failures->n++;
    failures->told[(failures->first + failures->n_told++) % failures->ring] = id;
    return true;
}

enum esp_status failures_find(const struct failures *failures, grpc_sessionid_t id, struct esp_error *why)
{
    size_t at = place_of(failures, id);
    if (at == failures->n || failures->sorted[at].id != id)
        return ESP_OK;
    const struct failure *failure = &failures->sorted[at];
    const enum esp_status status = (enum esp_status)failure->status;
    const char *text = failure->text ? failures->by_number[failure->text]->text : esp_status_string(status);
    return error_set(why, status, "%s", text);
}

void failures_clear(struct failures *failures)
{
    failures->n = failures->n_told = failures->first = 0;
}

grpc_sessionid_t failures_next(struct failures *failures)
{
    if (failures->n_told == 0)
        return GRPC_SESSIONID_VOID;
    grpc_sessionid_t id = failures->told[failures->first];
    failures->first = (failures->first + 1) % failures->ring;
    failures->n_told--;
    return id;
}
