/* SPDX-License-Identifier: Apache-2.0 */
#include "core/abstract.h"
#include "core/text.h"

#include <inttypes.h>
#include <string.h>

static uint32_t traits_of(const struct given *given)
{
    bool is_complex = given->type == TYPE_COMPLEX || given->type == TYPE_DOUBLE_COMPLEX;
    bool is_single = given->type == TYPE_FLOAT || given->type == TYPE_COMPLEX;
    uint32_t traits = is_complex ? TRAIT_COMPLEX : TRAIT_REAL;
    traits |= is_single ? TRAIT_SINGLE : TRAIT_DOUBLE;
    traits |= given->rows == given->cols ? TRAIT_SQUARE : given->rows > given->cols ? TRAIT_TALL : TRAIT_WIDE;
    traits |= given->cols == 1 ? TRAIT_VECTOR : 0;
    return traits | (given->is_sparse ? TRAIT_SPARSE : 0);
}

static bool fits(const struct rule *rule, const struct given *given)
{
    for (uint32_t i = 0; i < rule->n_wishes; i++) {
        const struct wish *wish = &rule->wishes[i];
        const struct given *input = &given[wish->input];
        if ((wish->properties & ~input->properties) || (wish->traits & ~traits_of(input)))
            return false;
    }
    return true;
}

static void describe(const struct abstract *abstract, const struct given *given, struct text *text)
{
    for (uint32_t i = 0; i < abstract->n_inputs; i++) {
        text_printf(text, "%s%s: %s %" PRId64 " x %" PRId64, i ? ", " : "", abstract->inputs[i],
                    base_type_name(given[i].type), given[i].rows, given[i].cols);
        for (unsigned bit = 0; property_name(bit); bit++)
            if (given[i].properties & (1U << bit))
                text_printf(text, " %s", property_name(bit));
    }
}

enum esp_status abstract_resolve(const struct abstract *abstract, const struct given *given, uint32_t *rule,
                                 struct esp_error *error)
{
    for (; *rule < abstract->n_rules; ++*rule)
        if (fits(&abstract->rules[*rule], given))
            return ESP_OK;
    char shown[400];
    struct text text;
    text_open(&text, shown, sizeof shown);
    describe(abstract, given, &text);
    return error_set(error, ESP_NOT_FOUND, "%s: there is no problem for what is given (%s)", abstract->name,
                     shown);
}

void abstract_step_name(const struct step *step, const struct given *first, char *name, size_t size)
{
    uint32_t traits = traits_of(first);
    const char *letter = traits & TRAIT_COMPLEX  ? (traits & TRAIT_SINGLE ? "c" : "z")
                         : traits & TRAIT_SINGLE ? "s"
                                                 : "d";
    struct text text;
    text_open(&text, name, size);
    for (const char *at = step->problem; *at; at++)
        text_put_bytes(&text, *at == '?' ? letter : at, 1);
}

const struct abstract *abstract_find(const struct problem_set *problem_set, const char *name)
{
    for (size_t i = 0; i < problem_set->n_abstracts; i++)
        if (strcmp(problem_set->abstracts[i]->name, name) == 0)
            return problem_set->abstracts[i];
    return NULL;
}
