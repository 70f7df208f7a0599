/* SPDX-License-Identifier: Apache-2.0
 *
 * What may be asked of a redistribution.
 */
#include "core/redistribution/redistribution_plan.h"

#include <inttypes.h>

static enum esp_status check_dimension(const struct block_cyclic *from, const struct block_cyclic *to,
                                       const char *name, struct esp_error *error)
{
    if (from->n != to->n)
        return error_set(error, ESP_INVALID,
                         "redistribution: expected as many %s before as after, found %" PRId64
                         " and %" PRId64,
                         name, from->n, to->n);
    if (from->n > REDISTRIBUTION_MOST_SIZE)
        return error_set(error, ESP_LIMIT, "redistribution: expected at most 2^40 %s, found %" PRId64, name,
                         from->n);
    return ESP_OK;
}

static enum esp_status check_classes(const struct block_cyclic *from, const struct block_cyclic *to,
                                     const char *name, struct esp_error *error)
{
    struct pattern pattern;
    pattern_open(from, to, &pattern);
    if (pattern_has_classes(&pattern) || from->n == 0)
        return ESP_OK;
    return error_set(error, ESP_INVALID,
                     "redistribution: a schedule by classes needs a whole period of %s, gcd(r, Q) = 1 and "
                     "gcd(s, P) = 1; found %" PRId64 " %s, r = %" PRId64 ", P = %" PRId64 ", s = %" PRId64
                     ", Q = %" PRId64 ": take the stepwise one",
                     name, from->n, name, pattern.r, pattern.p, pattern.s, pattern.q);
}

enum esp_status redistribution_check(const struct redistribution *what, enum redistribution_schedule schedule,
                                     struct esp_error *error)
{
    enum esp_status status = block_cyclic_matrix_check(&what->from, "redistribution: before", error);
    if (status == ESP_OK)
        status = block_cyclic_matrix_check(&what->to, "redistribution: after", error);
    if (status == ESP_OK)
        status = check_dimension(&what->from.rows, &what->to.rows, "rows", error);
    if (status == ESP_OK)
        status = check_dimension(&what->from.cols, &what->to.cols, "columns", error);
    if (status == ESP_OK && !what->from_ids != !what->to_ids)
        status = error_set(error, ESP_INVALID,
                           "redistribution: expected ids of both grids or of none, found "
                           "those of one");
    if (status == ESP_OK && schedule == REDISTRIBUTION_CLASSES)
        status = check_classes(&what->from.rows, &what->to.rows, "rows", error);
    if (status == ESP_OK && schedule == REDISTRIBUTION_CLASSES)
        status = check_classes(&what->from.cols, &what->to.cols, "columns", error);
    return status;
}

bool redistribution_has_classes(const struct redistribution *what)
{
    return check_classes(&what->from.rows, &what->to.rows, "", NULL) == ESP_OK &&
           check_classes(&what->from.cols, &what->to.cols, "", NULL) == ESP_OK;
}
