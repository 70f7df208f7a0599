/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/overflow.h"
#include "core/values/signature.h"
#include "core/values/values_storage.h"

#include <math.h>
#include <stdio.h>

static bool is_real_or_complex(const struct esp_problem_argument *formal)
{
    return formal->type >= ESP_TYPE_FLOAT && formal->type <= ESP_TYPE_DOUBLE_COMPLEX;
}

static bool is_finite(enum esp_type type, const void *memory, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++) {
        double re, im;
        value_load(type, memory, (size_t)k, &re, &im);
        if (!isfinite(re) || !isfinite(im))
            return false;
    }
    return true;
}

/* What is in memory of the argument. */
static bool slot_is_finite(const struct values *values, size_t index)
{
    const struct value_slot *slot = &values->slots[index];
    uint64_t count;
    if (matrix_is_sparse(&slot->sparse))
        return matrix_is_finite(&slot->sparse, NULL, NULL);
    return !slot->memory || values_count(values, index, &count, NULL) != ESP_OK ||
           is_finite(values->problem->arguments[index].type, slot->memory, count);
}

bool overflow_inputs_are_finite(const struct values *values)
{
    for (size_t i = 0; i < values->problem->n_arguments; i++)
        if (argument_in(&values->problem->arguments[i]) &&
            is_real_or_complex(&values->problem->arguments[i]) &&
            (values->slots[i].datum || !slot_is_finite(values, i)))
            return false;
    return true;
}

void overflow_look(const struct values *values, char warning[OVERFLOW_TEXT])
{
    *warning = '\0';
    for (size_t i = 0; i < values->problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &values->problem->arguments[i];
        if (!argument_out(formal) || !is_real_or_complex(formal) || values_is_left(values, i) ||
            values->slots[i].is_kept || slot_is_finite(values, i))
            continue;
        snprintf(warning, OVERFLOW_TEXT, "warning: %.63s %s, although the input is finite", formal->name,
                 formal->n_dims ? "has elements that are infinite or no numbers"
                                : "is infinite or no number");
        return;
    }
}
