/* SPDX-License-Identifier: Apache-2.0 */
#include "client/abstract/rule_failures.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* Whether the call itself restricts the servers. */
static bool is_constrained(const struct esp_call_options *options)
{
    return options->n_properties > 0 || options->finish_s > 0 || options->memory_bytes > 0;
}

struct rule_failure rule_failure_of(const struct rule *rule, const struct given *first,
                                    const struct esp_call_options *options, uint64_t bytes,
                                    struct esp_error *why)
{
    bool takes_sparse = false;
    for (uint32_t i = 0; i < rule->n_wishes; i++)
        takes_sparse |= (rule->wishes[i].traits & TRAIT_SPARSE) != 0;
    return (struct rule_failure){.status = why->status,
                                 .is_constrained =
                                     why->status == ESP_NO_SERVER && bytes == 0 && is_constrained(options),
                                 .is_dense = first->is_sparse && !takes_sparse,
                                 .bytes = bytes,
                                 .text = why->text};
}

void rule_failures_add(struct rule_failures *failures, const struct rule_failure *failure)
{
    if (failures->n == ABSTRACT_MAX_RULES)
        return;
    struct rule_failure *own = &failures->items[failures->n];
    *own = *failure;
    own->text = strdup(failure->text);
    failures->n += own->text != NULL;
}

static bool lacks_memory(const struct rule_failure *failure)
{
    return failure->bytes > 0 || failure->status == ESP_NO_MEMORY || failure->status == ESP_LIMIT;
}

static bool is_missing(const struct rule_failure *failure)
{
    return failure->status == ESP_UNKNOWN_PROBLEM || failure->status == ESP_NO_SERVER;
}

/* A smaller rank is reported first. */
static unsigned rank(const struct rule_failure *failure)
{
    if (failure->is_constrained)
        return 0;
    const unsigned kind = lacks_memory(failure) ? 2 : is_missing(failure) ? 3 : 1;
    return kind + (failure->is_dense ? 3 : 0);
}

/* Whether `a`, which came later than `b`, is reported first. */
static bool passes(const struct rule_failure *a, const struct rule_failure *b)
{
    if (rank(a) != rank(b))
        return rank(a) < rank(b);
    if (a->is_constrained)
        return false;
    if (!lacks_memory(a) && !is_missing(a))
        return true;
    return a->bytes > 0 && (b->bytes == 0 || a->bytes < b->bytes);
}

bool rule_failures_tell(const struct rule_failures *failures, struct esp_error *error)
{
    const struct rule_failure *order[ABSTRACT_MAX_RULES];
    struct text text;
    for (uint32_t i = 0; i < failures->n; i++) {
        uint32_t at = i;
        for (; at > 0 && passes(&failures->items[i], order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = &failures->items[i];
    }
    if (failures->n == 0)
        return false;
    error->status = order[0]->status;
    text_open(&text, error->text, sizeof error->text);
    text_put(&text, order[0]->text);
    for (uint32_t i = 1; i < failures->n; i++) {
        text_put(&text, i == 1 ? "; also: " : "; ");
        text_put(&text, order[i]->text);
    }
    return true;
}

void rule_failures_clear(struct rule_failures *failures)
{
    while (failures->n > 0)
        free(failures->items[--failures->n].text);
}
