/* SPDX-License-Identifier: Apache-2.0 */
#include "services/fast/design_sparse.h"

#include "core/problem/problem_callback.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "NTCURLSVAIEFBO1DPMQGHWXY"
#define REFERENCE                                                                                            \
    {                                                                                                        \
        120, 100, 80, 60, 40                                                                                 \
    } /* sizes at which the work of options is compared */
static bool is_number(const struct argument *argument)
{
    return argument->n_dims == 0 && argument->type <= TYPE_DOUBLE_COMPLEX;
}

static bool is_integer(const struct argument *argument)
{
    return is_number(argument) && argument->type >= TYPE_SHORT && argument->type <= TYPE_INT64;
}

/* Whether sizes of arrays, or the work, depend on it. */
static bool is_size(const struct problem *problem, uint32_t index)
{
    if (!is_integer(&problem->arguments[index]) || problem->arguments[index].initial)
        return false;
    if (problem->work && expr_uses(problem->work, index))
        return true;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        for (uint32_t d = 0; d < problem->arguments[i].n_dims; d++)
            if (problem->arguments[i].dims[d] && expr_uses(problem->arguments[i].dims[d], index))
                return true;
    return false;
}

/* Arrays, of what goes in and comes out, that have the size in their dimensions. */
static uint32_t arrays_with(const struct problem *problem, uint32_t size)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        bool uses = false;
        for (uint32_t d = 0; d < argument->n_dims && argument->mode != MODE_WORK; d++)
            uses |= argument->dims[d] && expr_uses(argument->dims[d], size);
        n += uses;
    }
    return n;
}

/* Systems have far more often one right-hand side than as many as equations. Which sizes are of that kind is
 * not written anywhere; but they belong to fewer arrays than the order of the matrix does. */
static void find_beside(struct design *design)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        const uint32_t arrays = arrays_with(design->problem, design->sizes[i]);
        most = arrays > most ? arrays : most;
    }
    for (uint32_t i = 0; i < design->n_sizes; i++)
        design->is_beside[i] = !design->is_sparse && arrays_with(design->problem, design->sizes[i]) < most;
}

static enum esp_status unsupported(const struct problem *problem, const char *why, struct esp_error *error)
{
    return error_set(error, ESP_INVALID, "%s is not measured: %s", problem->name, why);
}

static enum esp_status check(const struct problem *problem, struct esp_error *error)
{
    if (problem->abstract)
        return unsupported(problem, "it is abstract; measure the problems that it leads to", error);
    if (problem->n_implementations == 0)
        return unsupported(problem, "it has no implementation", error);
    if (problem->implementations[0].command && !problem->idempotent)
        return unsupported(problem, "it is a command that is not to be run twice (idempotent no)", error);
    if (problem_has_callbacks(problem))
        return unsupported(problem, "it calls functions of its caller", error);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (base_type_is_variable(argument->type) && argument->type != TYPE_STATE)
            return unsupported(problem, "it takes or gives texts or files", error);
        if (argument->is_section)
            return unsupported(problem, "it takes sections of arrays", error);
    }
    return ESP_OK;
}

/* ---- options ---- */

/* The n-th value that an option may have: its default first. */
static bool option_value(const struct problem *problem, uint32_t index, uint32_t n, struct number *value)
{
    const struct argument *argument = &problem->arguments[index];
    const struct scope none = {0};
    *value = (struct number){.kind = NUMBER_INTEGER};
    if (argument->initial && n == 0)
        return expr_eval(argument->initial, &none, value, NULL) == ESP_OK && value->kind == NUMBER_INTEGER;
    n -= argument->initial ? 1 : 0;
    if (argument->type == TYPE_CHAR && n < sizeof LETTERS - 1)
        value->integer = LETTERS[n];
    else if (argument->type != TYPE_CHAR && !argument->initial && n < 4)
        value->integer = (int64_t[]){1, 2, 3, 0}[n];
    else
        return false;
    return true;
}

static bool set_scalars(const struct design *design, const int16_t *choice, const int64_t *sizes,
                        struct number *scope)
{
    const struct problem *problem = design->problem;
    memset(scope, 0, problem->n_arguments * sizeof *scope);
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (argument_is_input(argument) && is_number(argument) && argument->type >= TYPE_FLOAT &&
            !argument->initial)
            scope[i] = (struct number){.kind = NUMBER_REAL, .real = 1.5};
    }
    for (uint32_t i = 0; i < design->n_options; i++)
        scope[design->options[i]] = (struct number){.kind = NUMBER_INTEGER, .integer = choice[i]};
    for (uint32_t i = 0; i < design->n_sizes; i++)
        scope[design->sizes[i]] = (struct number){.kind = NUMBER_INTEGER, .integer = sizes[i]};
    return problem_check_known(problem, scope, NULL) == ESP_OK;
}

/* The work of that choice at the sizes of reference; below 0: the preconditions forbid it. */
static double reference_work(const struct design *design, const int16_t *choice)
{
    static const int64_t most[COST_MOST_VARIABLES] = REFERENCE;
    struct number scope[PROBLEM_MAX_ARGUMENTS];
    double work = 0;
    if (!set_scalars(design, choice, most, scope)) {
        int64_t equal[COST_MOST_VARIABLES];
        for (uint32_t i = 0; i < COST_MOST_VARIABLES; i++)
            equal[i] = 50;
        if (!set_scalars(design, choice, equal, scope))
            return -1;
    }
    if (problem_work(design->problem, scope, &work, NULL) != ESP_OK)
        return 0; /* by names that are no sizes */
    return work;
}

static void add_choice(struct design *design, double *works, const int16_t *choice)
{
    double work = reference_work(design, choice);
    uint32_t c = 0;
    if (work < 0)
        return;
    while (c < design->n_classes && works[c] != work)
        c++;
    if (c == DESIGN_MOST_CLASSES)
        return;
    struct design_class *class = &design->classes[c];
    if (c == design->n_classes) {
        works[design->n_classes++] = work;
        class->n_choices = 0;
    }
    if (class->n_choices == COST_MOST_CHOICES)
        return;
    memcpy(class->choices + class->n_choices++ * design->n_options, choice,
           design->n_options * sizeof *choice);
}

static void choose_options(struct design *design, uint32_t option, int16_t *choice, double *works)
{
    struct number value;
    if (option == design->n_options) {
        add_choice(design, works, choice);
        return;
    }
    for (uint32_t n = 0; n < 32; n++) {
        if (!option_value(design->problem, design->options[option], n, &value)) {
            if (n > 0)
                break;
            continue;
        }
        choice[option] = (int16_t)value.integer;
        bool again = false; /* the default, among the letters */
        struct number first;
        if (n > 0 && option_value(design->problem, design->options[option], 0, &first))
            again = first.integer == value.integer;
        /* Whether this value alone is allowed, before the others are gone through. */
        struct number scope[PROBLEM_MAX_ARGUMENTS] = {{0}};
        for (uint32_t i = 0; i <= option; i++)
            scope[design->options[i]] = (struct number){.kind = NUMBER_INTEGER, .integer = choice[i]};
        if (!again && problem_check_known(design->problem, scope, NULL) == ESP_OK)
            choose_options(design, option + 1, choice, works);
    }
}

/* Whether the text has min(A,B), blanks left out. */
static bool has_min(const char *text, const char *a, const char *b)
{
    char wanted[2 * PROBLEM_MAX_NAME + 8];
    size_t n = 0;
    snprintf(wanted, sizeof wanted, "min(%s,%s)", a, b);
    for (; *text && wanted[n]; text++) {
        if (*text == ' ')
            continue;
        n = *text == wanted[n] ? n + 1 : *text == wanted[0];
    }
    return !wanted[n];
}

/* Rectangular matrices are factored along their lesser side: a routine of max(m,n) min(m,n)^2 operations is
 * rarely as quick in those as in its min(m,n)^3, which no sum of products of m and n tells apart. */
static bool has_lesser(const struct design *design)
{
    const struct problem *problem = design->problem;
    if (!problem->work || design->is_sparse || design->n_sizes < 2 ||
        design->n_sizes + 3 > COST_MOST_VARIABLES)
        return false;
    const char *text = expr_text(problem->work), *a = problem->arguments[design->sizes[0]].name,
               *b = problem->arguments[design->sizes[1]].name;
    return has_min(text, a, b) || has_min(text, b, a);
}

enum esp_status design_begin(const struct problem *problem, struct design *design, struct esp_error *error)
{
    int16_t choice[COST_MOST_OPTIONS] = {0};
    double works[DESIGN_MOST_CLASSES];
    enum esp_status status = check(problem, error);
    if (status != ESP_OK)
        return status;
    *design = (struct design){.problem = problem, .has_work = problem->work != NULL};
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!argument_is_input(argument) || !is_number(argument) || argument->type >= TYPE_FLOAT)
            continue;
        if (is_size(problem, i)) {
            if (design->n_sizes == COST_MOST_VARIABLES - 2)
                return unsupported(problem, "it has too many sizes", error);
            design->sizes[design->n_sizes++] = i;
        } else if (design->n_options < COST_MOST_OPTIONS) {
            design->options[design->n_options++] = i;
        }
    }
    if (design->n_sizes == 0)
        return unsupported(problem, "it has no sizes", error);
    if (design_sparse_begin(design, error) != ESP_OK)
        return error->status;
    find_beside(design);
    design->has_lesser = has_lesser(design);
    choose_options(design, 0, choice, works);
    return design->n_classes ? ESP_OK
                             : unsupported(problem, "no values of its options are allowed together", error);
}

/* ---- calls ---- */

static bool place_at(const struct design *design, uint32_t class_index, const int64_t *sizes, bool analyses,
                     struct design_point *point)
{
    const struct problem *problem = design->problem;
    unsigned char raw[PROBLEM_MAX_ARGUMENTS][16];
    const void *inputs[PROBLEM_MAX_ARGUMENTS] = {NULL};
    struct number bound[PROBLEM_MAX_ARGUMENTS];
    double bytes = 0, work = 0;
    uint64_t beyond = 0;
    if (!set_scalars(design, design->classes[class_index].choices, sizes, point->scope))
        return false;
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        if (problem->arguments[i].type == TYPE_STATE) {
            inputs[i] = memset(raw[i], 0, sizeof raw[i]); /* no size depends on which one it is */
        } else if (argument_is_input(&problem->arguments[i]) && point->scope[i].kind != NUMBER_UNKNOWN) {
            if (number_store(&point->scope[i], problem->arguments[i].type, raw[i], NULL) != ESP_OK)
                return false;
            inputs[i] = raw[i];
        }
    if (problem_bind(problem, inputs, bound, point->shapes, NULL) != ESP_OK ||
        (design->is_sparse && !design_sparse_fits(problem, point->shapes)))
        return false;
    if (design->is_sparse && analyses)
        design_sparse_analyse(point, problem, bound);
    memcpy(point->scope, bound, problem->n_arguments * sizeof *bound);
    for (uint32_t i = 0; i < problem->n_arguments; i++)
        bytes += (double)point->shapes[i].bytes + (double)point->shapes[i].whole_bytes;
    if (problem_memory(problem, bound, &beyond, NULL) != ESP_OK ||
        problem_work(problem, bound, &work, NULL) != ESP_OK)
        return false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < design->n_sizes; i++)
        point->x[n++] = (double)sizes[i];
    if (design->has_lesser)
        point->x[n++] = fmin(point->x[0], point->x[1]);
    if (design->has_work)
        point->x[n++] = work;
    point->x[n] = bytes + (double)beyond;
    return true;
}

bool design_at(const struct design *design, uint32_t class_index, const int64_t *sizes,
               struct design_point *point)
{
    return place_at(design, class_index, sizes, true, point);
}

bool design_roughly_at(const struct design *design, uint32_t class_index, const int64_t *sizes,
                       struct design_point *point)
{
    return place_at(design, class_index, sizes, false, point);
}

/* ---- the model's head ---- */

enum esp_status design_model(const struct design *design, uint32_t class_index,
                             const struct implementation *implementation, const char *machine,
                             uint32_t threads, struct arena *arena, struct cost_model *model,
                             struct esp_error *error)
{
    const struct problem *problem = design->problem;
    const struct design_class *class = &design->classes[class_index];
    *model = (struct cost_model){.digest = problem->digest,
                                 .threads = threads,
                                 .n_options = design->n_options,
                                 .n_choices = class->n_choices,
                                 .factor = 1};
    snprintf(model->problem, sizeof model->problem, "%s", problem->name);
    snprintf(model->implementation, sizeof model->implementation, "%s", implementation->name);
    snprintf(model->machine, sizeof model->machine, "%s", machine);
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        struct cost_variable *variable = &model->variables[model->n_variables++];
        variable->argument = (int32_t)design->sizes[i];
        snprintf(variable->name, sizeof variable->name, "%s", problem->arguments[design->sizes[i]].name);
    }
    if (design->has_lesser)
        model->variables[model->n_variables++] =
            (struct cost_variable){.argument = COST_LESSER, .name = "lesser"};
    if (design->has_work)
        model->variables[model->n_variables++] =
            (struct cost_variable){.argument = COST_WORK, .name = "work"};
    model->variables[model->n_variables++] = (struct cost_variable){.argument = COST_BYTES, .name = "bytes"};
    for (uint32_t i = 0; i < design->n_options; i++) {
        model->options[i].argument = (int32_t)design->options[i];
        snprintf(model->options[i].name, sizeof model->options[i].name, "%s",
                 problem->arguments[design->options[i]].name);
    }
    size_t bytes = (size_t) class->n_choices * design->n_options * sizeof *model->choices;
    model->choices = arena_memdup(arena, class->choices, bytes);
    return model->choices ? ESP_OK : error_no_memory(error, "a cost model");
}
