/* SPDX-License-Identifier: Apache-2.0
 *
 * Work arrays whose size the routine returns: it is called once with sizes of -1, as in LAPACK, and sets
 * the first element of each array to its best size. */
#include "sed/crd/crd.h"

#include <math.h>
#include <string.h>

#define FIRST_BYTES                                                                                          \
    64 /* bytes of an array in the query: its first element, with room for a routine that sets more */

static unsigned char first[RING_MAX_QUERIES][FIRST_BYTES];

static void set_size(const struct ring_query *query, void *operand, int64_t size)
{
    struct number number = {.kind = NUMBER_INTEGER, .integer = size};
    number_store(&number, (enum base_type)query->size_type, operand, NULL);
}

static int64_t most_of(enum base_type type)
{
    return type == TYPE_INT ? INT32_MAX : INT64_MAX / 16;
}

/* Returns the size that the routine returned, in elements. */
static uint64_t told_size(const struct ring_query *query, const void *element)
{
    enum base_type type = (enum base_type)query->array_type;
    double least = (double)query->least, told;
    if (type <= TYPE_INT64) {
        told = (double)number_load(type, element).integer;
    } else if (type == TYPE_FLOAT || type == TYPE_COMPLEX) {
        float narrow = (float)number_load(TYPE_FLOAT, element).real;
        /* Above 2^24 the size may have been rounded down when it was stored as a float. */
        told = (double)(narrow >= 0x1p24F ? nextafterf(narrow, INFINITY) : narrow);
    } else {
        told = number_load(TYPE_DOUBLE, element).real;
    }
    double most = (double)most_of((enum base_type)query->size_type);
    return told > least && told <= most ? (uint64_t)ceil(told) : query->least;
}

void query_begin(const struct ring_job *job, void **operands)
{
    for (uint32_t i = 0; i < job->n_queries; i++) {
        memset(first[i], 0, FIRST_BYTES);
        operands[job->queries[i].array] = first[i];
        set_size(&job->queries[i], operands[job->queries[i].size], -1);
    }
}

static enum esp_status give_memory(const struct ring_query *query, uint64_t *size, struct areas *areas,
                                   struct esp_error *error)
{
    uint64_t element = base_type_size((enum base_type)query->array_type);
    if (*size <= UINT64_MAX / element && areas_add(areas, query->argument, *size * element, error) == ESP_OK)
        return ESP_OK;
    *size = query->least;
    return areas_add(areas, query->argument, *size * element, error);
}

enum esp_status query_end(const struct ring_job *job, void **operands, struct areas *areas,
                          struct esp_error *error)
{
    for (uint32_t i = 0; i < job->n_queries; i++) {
        const struct ring_query *query = &job->queries[i];
        uint64_t size = told_size(query, first[i]);
        enum esp_status status = give_memory(query, &size, areas, error);
        if (status != ESP_OK)
            return status;
        operands[query->array] = areas->items[areas->n - 1].data;
        set_size(query, operands[query->size], (int64_t)size);
    }
    return ESP_OK;
}
