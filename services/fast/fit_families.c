/* SPDX-License-Identifier: Apache-2.0
 *
 * Families of terms, from few to many: one that is larger has to pay for it (services/fast/fit_run.c).
 */
#include "services/fast/fitting.h"

#include <string.h>

#define BENDING_FAMILY (FIT_FAMILIES - 1)
#define PLAIN_FAMILIES 5 /* the others are for problems with COST_LESSER */

int fit_variable(const struct cost_model *model, int32_t argument)
{
    for (uint32_t i = 0; i < model->n_variables; i++)
        if (model->variables[i].argument == argument)
            return (int)i;
    return -1;
}

static void add_power(struct fitting *fitting, int family, int variable)
{
    if (variable >= 0 && fitting->n_terms[family] < COST_MOST_TERMS)
        fitting->powers[family][fitting->n_terms[family]++][variable] = 1;
}

/* All products of the sizes up to that degree. */
static void add_products(struct fitting *fitting, int family, int degree)
{
    uint8_t powers[COST_MOST_VARIABLES] = {0};
    const struct cost_model *model = fitting->model;
    for (;;) {
        int sum = 0;
        for (uint32_t i = 0; i < model->n_variables; i++)
            sum += powers[i];
        if (sum <= degree && fitting->n_terms[family] < COST_MOST_TERMS)
            memcpy(fitting->powers[family][fitting->n_terms[family]++], powers, sizeof powers);
        uint32_t at = 0;
        while (at < model->n_variables &&
               (model->variables[at].argument < 0 || powers[at] == (uint8_t)degree))
            powers[at++] = 0;
        if (at == model->n_variables)
            return;
        powers[at]++;
    }
}

static void add_term(struct fitting *fitting, int family, int first, int first_power, int second,
                     int second_power, int third)
{
    if (fitting->n_terms[family] == COST_MOST_TERMS)
        return;
    uint8_t *powers = fitting->powers[family][fitting->n_terms[family]++];
    powers[first] += (uint8_t)first_power;
    powers[second] += (uint8_t)second_power;
    if (third >= 0)
        powers[third]++;
}

/* Of a rectangular matrix: what it has of elements and of squares along its lesser side, alone and times a
 * size (the lesser side, or those of other matrices). */
static void add_rectangular(struct fitting *fitting, int family, int lesser)
{
    for (int along = -1; along <= lesser; along++) {
        if (along == 0 || along == 1) /* the sides themselves: the greater one's square costs nothing */
            continue;
        add_term(fitting, family, 0, 1, 1, 1, along);
        add_term(fitting, family, lesser, 2, lesser, 0, along);
    }
}

/* Where caches give out little by little, what is done along the lesser side becomes slower with it. */
static void add_bending(struct fitting *fitting, int family, int lesser)
{
    add_term(fitting, family, 0, 1, 1, 1, lesser);
    fitting->powers[family][fitting->n_terms[family] - 1][lesser]++;
    add_term(fitting, family, lesser, 4, lesser, 0, -1);
}

void fit_make_families(struct fitting *fitting)
{
    const int work = fit_variable(fitting->model, COST_WORK),
              bytes = fit_variable(fitting->model, COST_BYTES);
    const int lesser = fit_variable(fitting->model, COST_LESSER);
    for (int family = 0; family < FIT_FAMILIES; family++) {
        const bool rectangular = family >= PLAIN_FAMILIES;
        if (rectangular && lesser < 0)
            break;
        const bool bends = family == BENDING_FAMILY;
        add_products(fitting, family,
                     bends         ? 0
                     : rectangular ? family - PLAIN_FAMILIES
                     : family < 2  ? 0
                                   : family - 1);
        if (rectangular)
            add_rectangular(fitting, family, lesser);
        if (bends)
            add_bending(fitting, family, lesser);
        add_power(fitting, family, work);
        if (family == 1 || family == 2 || family == PLAIN_FAMILIES + 1 || work < 0)
            add_power(fitting, family, bytes);
    }
}
