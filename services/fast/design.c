/* SPDX-License-Identifier: Apache-2.0 */
#include "services/fast/design_sparse.h"

#include "core/problem/problem_callback.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LETTERS    "NTCURLSVAIEFBO1DPMQGHWXY"
#define MOST_TRIES 60
/* What bounds sizes is the memory of a call. One that takes no more memory and work when it grows is bounded
 * by this: nothing tells how long it would take. */
#define MOST_SIZE   1e9
#define MOST_UNSEEN 30000
#define REFERENCE                                                                                            \
    {                                                                                                        \
        120, 100, 80, 60, 40                                                                                 \
    } /* sizes at which the work of options is compared */
/* Beyond the caches a routine that computes little moves about so many bytes in a second. */
#define MEMORY_BPS 4e9

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
    if (problem->n_implementations == 0 || !implementation_is_routine(&problem->implementations[0]))
        return unsupported(problem, "it is no routine of a library", error);
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

/* ---- points ---- */

bool design_at(const struct design *design, uint32_t class_index, const int64_t *sizes,
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

static double work_of(const struct design *design, const struct design_point *point)
{
    return design->has_work ? point->x[design->n_sizes + design->has_lesser] : 0;
}

static double bytes_of(const struct design *design, const struct design_point *point)
{
    return point->x[design->n_sizes + design->has_lesser + design->has_work];
}

/* About how long it takes; HUGE_VAL: more memory than there is. */
static double expected_s(const struct design *design, const struct design_point *point,
                         const struct design_limits *limits)
{
    const double work = work_of(design, point), bytes = bytes_of(design, point);
    if (bytes > limits->bytes)
        return HUGE_VAL;
    return limits->call_s + fmax(work, bytes / MEMORY_BPS * limits->speed_flops) / limits->speed_flops;
}

/* How the sizes of a point follow from one number: shares of it, or powers below it (thin shapes). */
struct direction {
    double factor[COST_MOST_VARIABLES], power[COST_MOST_VARIABLES];
    double density; /* elements of a compressed matrix, in a column */
};

/* In a row of a discretised equation there are a few elements; and right-hand sides are few, beside it. */
#define LEAST_DENSITY 3
#define MOST_DENSITY  30
#define MOST_BESIDE   0.6

static void draw_sparse(const struct design *design, struct random *random, struct direction *direction)
{
    const double range = (double)MOST_DENSITY / LEAST_DENSITY;
    direction->density = LEAST_DENSITY * pow(range, random_real(random));
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        if (design->is_extent[i])
            continue;
        direction->factor[i] = 1;
        direction->power[i] = random_below(random, 2) ? 0 : MOST_BESIDE * random_real(random);
    }
}

/* In a round all kinds come at all times: the next one begins with another kind. */
enum { ROUND = 12 };
enum kind { SQUARE, RECTANGULAR, SINGLE, THIN, KINDS };

static enum kind kind_of(uint32_t index)
{
    return (enum kind)((index + index / ROUND) % KINDS);
}

static struct direction draw(const struct design *design, enum kind kind, struct random *random)
{
    struct direction direction = {.density = 0};
    uint32_t thin = 0;
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        const bool is_single = kind == SINGLE && design->is_beside[i];
        const bool is_thin = kind == THIN && thin + 1 < design->n_sizes && random_below(random, 2);
        const bool is_square = kind == SQUARE || design->n_sizes == 1;
        direction.power[i] = is_single ? 0 : is_thin ? random_real(random) * 0.85 : 1;
        direction.factor[i] = is_square || is_thin || is_single ? 1 : exp2(2 * random_real(random) - 1);
        thin += is_thin;
    }
    if (design->is_sparse)
        draw_sparse(design, random, &direction);
    return direction;
}

static void sizes_of(const struct design *design, const struct direction *direction, double scale,
                     int64_t *sizes)
{
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        double size = direction->factor[i] * pow(scale, direction->power[i]);
        sizes[i] = (int64_t)fmin(fmax(floor(size), 1), MOST_SIZE);
    }
    for (uint32_t i = 0; i < design->n_sizes; i++)
        if (design->counts[i]) {
            const double along = (double)sizes[design->counts[i] - 1];
            sizes[i] = (int64_t)fmin(along * fmin(direction->density, along), MOST_SIZE);
        }
}

/* The effort of a call at that scale; below 0: there is none. */
static double effort_at(const struct design *design, uint32_t class_index, const struct direction *direction,
                        double scale)
{
    int64_t sizes[COST_MOST_VARIABLES];
    struct design_point point;
    sizes_of(design, direction, scale, sizes);
    if (!design_at(design, class_index, sizes, &point))
        return -1;
    return work_of(design, &point) + bytes_of(design, &point);
}

static double most_scale(const struct design *design, uint32_t class_index, const struct direction *direction)
{
    const double effort = effort_at(design, class_index, direction, MOST_UNSEEN);
    const bool unseen = effort >= 0 && effort == effort_at(design, class_index, direction, 2 * MOST_UNSEEN);
    return unseen ? MOST_UNSEEN : MOST_SIZE;
}

/* The largest scale whose call is not expected to take longer. */
static bool scale_for(const struct design *design, uint32_t class_index, const struct direction *direction,
                      double seconds, const struct design_limits *limits, struct design_point *point)
{
    int64_t sizes[COST_MOST_VARIABLES];
    double low = 1, high = most_scale(design, class_index, direction);
    for (int i = 0; i < 40; i++) {
        double middle = sqrt(low * high);
        sizes_of(design, direction, middle, sizes);
        if (design_at(design, class_index, sizes, point) && expected_s(design, point, limits) <= seconds)
            low = middle;
        else
            high = middle;
    }
    sizes_of(design, direction, low, sizes);
    return design_at(design, class_index, sizes, point) && expected_s(design, point, limits) < HUGE_VAL;
}

bool design_next(const struct design *design, uint32_t class_index, uint32_t index,
                 const struct design_limits *limits, struct random *random, struct design_point *point)
{
    /* Rounds of a few ascending times, each round between those of the ones before. */
    double offset = fmod(0.5 + index / ROUND * 0.6180339887498949, 1);
    double share = (index % ROUND + offset) / ROUND;
    double seconds = limits->least_s * pow(limits->most_s / limits->least_s, share);
    for (int i = 0; i < MOST_TRIES; i++) {
        struct direction direction = draw(design, i < MOST_TRIES / 2 ? kind_of(index) : SQUARE, random);
        if (scale_for(design, class_index, &direction, fmax(seconds, 1.5 * limits->call_s), limits, point))
            return true;
    }
    return false;
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
