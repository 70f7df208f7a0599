/* SPDX-License-Identifier: Apache-2.0 */
#include "services/fast/design.h"
#include "core/problem/fill.h"
#include "core/problem/problem_callback.h"
#include "services/fast/design_sparse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Factor by which a diagonal exceeds the rest of its row: iterations then converge as for equations with a
 * little damping. */
#define DOMINANCE 1.001

static bool is_compressed(const struct argument *argument)
{
    return argument->storage == STORAGE_CSC || argument->storage == STORAGE_CSR;
}

/* Returns the dimension that the pointers count. */
static unsigned major_of(const struct argument *argument)
{
    return argument->storage == STORAGE_CSC ? 1 : 0;
}

/* ---- sizes ---- */

/* Returns the size that an extent is; -1: none. */
static int size_of(const struct design *design, const struct expr *extent)
{
    int found = -1;
    for (uint32_t i = 0; i < design->n_sizes; i++) {
        struct number scope[PROBLEM_MAX_ARGUMENTS] = {{0}};
        const struct scope names = {scope, design->problem->n_arguments};
        int64_t value;
        scope[design->sizes[i]] = (struct number){.kind = NUMBER_INTEGER, .integer = 12345};
        if (expr_uses(extent, design->sizes[i]) && expr_eval_size(extent, &names, &value, NULL) == ESP_OK &&
            value == 12345)
            found = (int)i;
    }
    return found;
}

/* Determines which of the design's sizes count elements, of how many columns (csr: rows) they are, and
 * which are no extents of a compressed matrix. ESP_INVALID with the reason: extents or counts that are no
 * names of sizes, or numbers of outputs. Does nothing for problems without compressed inputs. */
static enum esp_status design_sparse_begin(struct design *design, struct esp_error *error)
{
    const struct problem *problem = design->problem;
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!is_compressed(argument) || !argument_is_input(argument))
            continue;
        const int count = size_of(design, problem->arguments[argument->indices].dims[0]);
        const int major = size_of(design, argument->dims[major_of(argument)]);
        const int minor = size_of(design, argument->dims[1 - major_of(argument)]);
        if (count < 0 || major < 0 || minor < 0)
            return error_set(error, ESP_INVALID,
                             "%s is not measured: the extents and the elements of %s are no sizes of its own",
                             problem->name, argument->name);
        design->is_sparse = true;
        design->counts[count] = (uint8_t)(major + 1);
        design->is_extent[major] = design->is_extent[minor] = true;
    }
    return ESP_OK;
}

/* Whether compressed inputs of those shapes can have that many elements: each column of a square one has
 * its diagonal, and none exceeds its number of rows. */
static bool design_sparse_fits(const struct problem *problem, const struct shape *shapes)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (!is_compressed(argument) || !argument_is_input(argument))
            continue;
        const double rows = (double)shapes[i].dims[0], cols = (double)shapes[i].dims[1];
        const double elements = (double)shapes[argument->indices].count;
        if (elements > rows * cols || (rows == cols && elements < rows))
            return false;
    }
    return true;
}

/* ---- patterns ---- */

/* The arrays of one compressed matrix; NULL members are not wanted. */
struct target {
    const struct argument *values, *pointers, *indices;
    unsigned char *value_data, *pointer_data, *index_data;
    int64_t major, minor, elements, at; /* at: elements written so far */
    uint32_t base;
};

static void put_integer(const struct argument *argument, unsigned char *data, int64_t place, int64_t integer)
{
    unsigned char raw[16];
    const size_t size = base_type_size(argument->type);
    const struct number number = {.kind = NUMBER_INTEGER, .integer = integer};
    if (data && number_store(&number, argument->type, raw, NULL) == ESP_OK)
        memcpy(data + (size_t)place * size, raw, size);
}

static void put_real(const struct argument *argument, unsigned char *data, int64_t place, double real)
{
    const size_t size = base_type_size(argument->type);
    const bool is_single = argument->type == TYPE_FLOAT || argument->type == TYPE_COMPLEX;
    const float single = (float)real;
    if (!data)
        return;
    memset(data + (size_t)place * size, 0, size); /* imaginary parts too */
    memcpy(data + (size_t)place * size, is_single ? (const void *)&single : (const void *)&real,
           is_single ? sizeof single : sizeof real);
}

static void put(struct target *target, int64_t minor, double value)
{
    put_integer(target->indices, target->index_data, target->at, minor + target->base);
    put_real(target->values, target->value_data, target->at, value);
    target->at++;
}

static void begin_column(struct target *target, int64_t column)
{
    put_integer(target->pointers, target->pointer_data, column, target->at + target->base);
}

/* A diagonal below the main one and its mirror image. The first `pairs` columns have both; the column
 * after them has only the lower element, which is 0, if the number of elements requires it. */
struct diagonal {
    int64_t offset, pairs;
    bool odd;
};

static int by_offset(const void *a, const void *b)
{
    const struct diagonal *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Chooses diagonals of neighbours in a grid, the nearest first, until they have all elements. Returns how
 * many. */
static size_t choose_diagonals(int64_t n, int64_t elements, struct diagonal *diagonals, bool *used)
{
    const int64_t side = (int64_t)fmax(ceil(sqrt((double)n)), 1);
    int64_t left = elements - n;
    size_t count = 0;
    for (int64_t ring = 1; ring <= n && left > 0; ring++)
        for (int64_t down = 0; down <= ring && left > 0; down++)
            for (int64_t across = -ring; across <= ring && left > 0; across++) {
                const int64_t offset = down * side + across;
                const bool on_ring = down == ring || across == ring || across == -ring;
                if (!on_ring || offset <= 0 || offset >= n || used[offset])
                    continue;
                used[offset] = true;
                const int64_t most = n - offset, pairs = left / 2 < most ? left / 2 : most;
                left -= 2 * pairs;
                const bool odd = left == 1 && pairs < most;
                left -= odd;
                diagonals[count++] = (struct diagonal){offset, pairs, odd};
            }
    qsort(diagonals, count, sizeof *diagonals, by_offset);
    return count;
}

static void fill_square(struct target *target, const struct diagonal *diagonals, size_t count)
{
    const double centre = DOMINANCE * 2 * (double)(count ? count : 1);
    for (int64_t j = 0; j < target->major; j++) {
        begin_column(target, j);
        for (size_t k = count; k-- > 0;)
            if (j >= diagonals[k].offset && j - diagonals[k].offset < diagonals[k].pairs)
                put(target, j - diagonals[k].offset, -1);
        put(target, j, centre);
        for (size_t k = 0; k < count; k++)
            if (j < diagonals[k].pairs)
                put(target, j + diagonals[k].offset, -1);
            else if (j == diagonals[k].pairs && diagonals[k].odd)
                put(target, j + diagonals[k].offset, 0);
    }
    begin_column(target, target->major);
}

static bool make_square(struct target *target)
{
    const int64_t n = target->major;
    struct diagonal *diagonals = malloc((size_t)n * sizeof *diagonals);
    bool *used = calloc((size_t)n + 1, sizeof *used);
    if (diagonals && used)
        fill_square(target, diagonals, choose_diagonals(n, target->elements, diagonals, used));
    const bool made = diagonals && used;
    free(diagonals);
    free(used);
    return made;
}

/* Puts an equal number of elements into each column, spread over the rows. */
static void make_rectangular(struct target *target)
{
    for (int64_t j = 0; j < target->major; j++) {
        const int64_t from = (int64_t)((__int128)target->elements * j / target->major);
        const int64_t n = (int64_t)((__int128)target->elements * (j + 1) / target->major) - from;
        const int64_t stride = n ? target->minor / n : 1;
        begin_column(target, j);
        for (int64_t k = 0; k < n; k++)
            put(target, k * stride + (stride > 1 ? j % stride : 0), 1 + (double)((j + k) % 7));
    }
    begin_column(target, target->major);
}

static bool make(const struct design_point *point, const struct problem *problem, uint32_t matrix,
                 uint32_t index, void *data)
{
    const struct argument *argument = &problem->arguments[matrix];
    const struct shape *shape = &point->shapes[matrix];
    struct target target = {
        .values = argument,
        .pointers = &problem->arguments[argument->pointers],
        .indices = &problem->arguments[argument->indices],
        .value_data = index == matrix ? data : NULL,
        .pointer_data = index == argument->pointers ? data : NULL,
        .index_data = index == argument->indices ? data : NULL,
        .major = shape->dims[major_of(argument)],
        .minor = shape->dims[1 - major_of(argument)],
        .elements = (int64_t)point->shapes[argument->indices].count,
        .base = argument->base,
    };
    if (target.major == target.minor)
        return make_square(&target);
    make_rectangular(&target);
    return true;
}

/* Fills argument `index` if it belongs to a compressed input, as its elements, pointers or numbers; false:
 * it does not. A square matrix is symmetric positive definite, about as well conditioned as a Laplacian. */
static bool design_sparse_fill(const struct design_point *point, const struct problem *problem,
                               uint32_t index, void *data)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (is_compressed(argument) && argument_is_input(argument) &&
            (index == i || index == argument->pointers || index == argument->indices))
            return make(point, problem, i, index, data);
    }
    return false;
}

static void analyse(const struct design_point *point, const struct problem *problem, uint32_t matrix,
                    struct number *scope)
{
    const struct argument *argument = &problem->arguments[matrix];
    const struct argument *pointers = &problem->arguments[argument->pointers],
                          *indices = &problem->arguments[argument->indices];
    void *pointer_data = malloc(point->shapes[argument->pointers].bytes + 1),
         *index_data = malloc(point->shapes[argument->indices].bytes + 1);
    struct fill fill;
    if (pointer_data && index_data && pointers->type == indices->type &&
        make(point, problem, matrix, argument->pointers, pointer_data) &&
        make(point, problem, matrix, argument->indices, index_data) &&
        fill_by_pattern(point->shapes[matrix].dims[0], pointer_data, index_data, pointers->type != TYPE_INT,
                        (int)argument->base, &fill))
        scope[matrix] = fill_number(&fill);
    free(pointer_data);
    free(index_data);
}

/* Computes the fill of compressed inputs (core/problem/fill.h) if the costs of the problem depend on it.
 * Without memory the estimate by sizes is used. */
static void design_sparse_analyse(const struct design_point *point, const struct problem *problem,
                                  struct number *scope)
{
    for (uint32_t i = 0; i < problem->n_arguments; i++) {
        const struct argument *argument = &problem->arguments[i];
        if (is_compressed(argument) && argument_is_input(argument) &&
            point->shapes[i].dims[0] == point->shapes[i].dims[1] &&
            ((problem->work && expr_uses(problem->work, i)) ||
             (problem->memory && expr_uses(problem->memory, i))))
            analyse(point, problem, i, scope);
    }
}

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

/* Whether sizes of arrays, or the work, depend on the argument. */
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

/* Counts the input and output arrays that have the size in their dimensions. */
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

/* Finds sizes that are usually small: systems mostly have one right-hand side. A description does not say
 * which sizes are of this kind, but they occur in fewer arrays than the order of the matrix does. */
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

/* Returns the n-th value of an option: its default first. */
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

/* Returns the work of that choice at the reference sizes; below 0: the preconditions forbid it. */
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
        bool again = false; /* the default, again among the letters */
        struct number first;
        if (n > 0 && option_value(design->problem, design->options[option], 0, &first))
            again = first.integer == value.integer;
        /* Whether this value alone is allowed, before combinations are tried. */
        struct number scope[PROBLEM_MAX_ARGUMENTS] = {{0}};
        for (uint32_t i = 0; i <= option; i++)
            scope[design->options[i]] = (struct number){.kind = NUMBER_INTEGER, .integer = choice[i]};
        if (!again && problem_check_known(design->problem, scope, NULL) == ESP_OK)
            choose_options(design, option + 1, choice, works);
    }
}

/* Whether the text contains min(A,B), ignoring blanks. */
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

/* Whether the work depends on the lesser side. Rectangular matrices are factored along it: a routine of
 * max(m,n) min(m,n)^2 operations is rarely as fast in those as in its min(m,n)^3, and no sum of products
 * of m and n can express that. */
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
            inputs[i] = memset(raw[i], 0, sizeof raw[i]); /* no size depends on the choice */
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

/* ---- the head of a model ---- */

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

/* Generates valid inputs: routines should succeed, and work as hard as on real data. */

/* Diagonal that dominates two elements of absolute values below the root of 2 each. */
#define DOMINANT 4

static void store(const struct argument *argument, double value, void *data, uint64_t at)
{
    size_t size = base_type_size(argument->type);
    unsigned char *to = (unsigned char *)data + at * size;
    float single = (float)value;
    switch (argument->type) {
    case TYPE_COMPLEX:
        memcpy(to + sizeof single, &single, sizeof single);
        memcpy(to, &single, sizeof single);
        break;
    case TYPE_FLOAT:
        memcpy(to, &single, sizeof single);
        break;
    case TYPE_DOUBLE_COMPLEX:
        memcpy(to + sizeof value, &value, sizeof value);
        memcpy(to, &value, sizeof value);
        break;
    default:
        memcpy(to, &value, sizeof value);
    }
}

static void fill_random(const struct argument *argument, uint64_t count, struct random *random, void *data)
{
    /* Fills with numbers between -1 and 1, without a call for each number, because matrices are large. */
    uint64_t bits = random_next(random);
    for (uint64_t i = 0; i < count; i++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        store(argument, (double)(int64_t)bits / 9.3e18, data, i);
    }
}

/* Whether the description makes the matrix square, not only the present sizes. */
static bool is_square(const struct argument *argument)
{
    return argument->n_dims == 2 && argument->dims[0] && argument->dims[1] &&
           strcmp(expr_text(argument->dims[0]), expr_text(argument->dims[1])) == 0;
}

/* Square matrices are made positive definite if symmetric, and never singular. Others stay random even if
 * their sizes are equal, because singular values of a dominant matrix take 1.4 times as long. The real
 * diagonal also serves Hermitian matrices. */
static void fill_diagonal(const struct design_point *point, const struct problem *problem, uint32_t index,
                          void *data)
{
    const struct argument *argument = &problem->arguments[index];
    const struct shape *shape = &point->shapes[index];
    struct layout layout;
    if (!is_square(argument) || shape->dims[0] != shape->dims[1] ||
        problem_layout(problem, index, point->scope, shape->dims, &layout, NULL) != ESP_OK)
        return;
    size_t size = base_type_size(argument->type);
    for (int64_t i = 0; i < shape->dims[0]; i++) {
        int64_t at = layout_index(&layout, i, i);
        if (at < 0 || (uint64_t)at >= shape->count)
            continue;
        memset((unsigned char *)data + (uint64_t)at * size, 0, size);
        double value = (double)shape->dims[0];
        float single = (float)value;
        bool is_single = argument->type == TYPE_FLOAT || argument->type == TYPE_COMPLEX;
        memcpy((unsigned char *)data + (uint64_t)at * size, is_single ? (void *)&single : (void *)&value,
               is_single ? sizeof single : sizeof value);
    }
}

/* A vector with one element more than another one is assumed to be the diagonal of a tridiagonal matrix.
 * It dominates the other, so that a symmetric matrix is positive definite. The distances of its
 * eigenvalues do not change. */
static void fill_tridiagonal(const struct design_point *point, const struct problem *problem, uint32_t index,
                             void *data)
{
    const struct argument *argument = &problem->arguments[index];
    const struct shape *shape = &point->shapes[index];
    const size_t size = base_type_size(argument->type);
    bool is_diagonal = false;
    for (uint32_t i = 0; i < problem->n_arguments && shape->n_dims == 1; i++) {
        const struct shape *other = &point->shapes[i];
        is_diagonal |= i != index && argument_is_input(&problem->arguments[i]) && other->n_dims == 1 &&
                       problem->arguments[i].type >= TYPE_FLOAT && other->dims[0] + 1 == shape->dims[0];
    }
    for (uint64_t i = 0; is_diagonal && i < shape->count; i++) {
        float single;
        double value;
        if (argument->type == TYPE_FLOAT || argument->type == TYPE_COMPLEX) {
            memcpy(&single, (unsigned char *)data + i * size, sizeof single);
            value = single;
        } else {
            memcpy(&value, (unsigned char *)data + i * size, sizeof value);
        }
        store(argument, DOMINANT + value, data, i);
    }
}

void design_fill(const struct design_point *point, const struct problem *problem, uint32_t index,
                 struct random *random, void *data)
{
    const struct argument *argument = &problem->arguments[index];
    const struct shape *shape = &point->shapes[index];
    size_t size = base_type_size(argument->type);
    const struct scope scope = {point->scope, problem->n_arguments};
    unsigned char raw[16];
    struct number number = {.kind = NUMBER_UNKNOWN};
    if (design_sparse_fill(point, problem, index, data))
        return;
    if (argument->n_dims == 0)
        number = point->scope[index];
    else if (argument->initial)
        expr_eval(argument->initial, &scope, &number, NULL);
    if (number.kind != NUMBER_UNKNOWN && number_store(&number, argument->type, raw, NULL) == ESP_OK) {
        for (uint64_t i = 0; i < shape->count; i++)
            memcpy((unsigned char *)data + i * size, raw, size);
        return;
    }
    if (argument->type >= TYPE_FLOAT && argument->type <= TYPE_DOUBLE_COMPLEX) {
        fill_random(argument, shape->count, random, data);
        fill_diagonal(point, problem, index, data);
        fill_tridiagonal(point, problem, index, data);
        return;
    }
    for (uint64_t i = 0; i < shape->count; i++) {
        number = (struct number){.kind = NUMBER_INTEGER,
                                 .integer = argument->type == TYPE_CHAR ? 'N' : (int64_t)(i % 30000) + 1};
        if (argument->type != TYPE_CHAR && argument->type != TYPE_SHORT)
            number.integer = (int64_t)i + 1;
        if (number_store(&number, argument->type, raw, NULL) == ESP_OK)
            memcpy((unsigned char *)data + i * size, raw, size);
    }
}

/* Chooses which sizes are measured, and in which order: a walk over times and shapes that can be stopped
 * anywhere. */

#define MOST_TRIES 60

/* The memory of a call bounds its sizes. A size that changes neither memory nor work is bounded by
 * MOST_UNSEEN, because its time cannot be predicted. */
#define MOST_SIZE   1e9
#define MOST_UNSEEN 30000

/* Assumed bytes per second of a routine that computes little, beyond the caches. */
#define MEMORY_BPS 4e9

static double work_of(const struct design *design, const struct design_point *point)
{
    return design->has_work ? point->x[design->n_sizes + design->has_lesser] : 0;
}

static double bytes_of(const struct design *design, const struct design_point *point)
{
    return point->x[design->n_sizes + design->has_lesser + design->has_work];
}

/* Estimates the time of a call; HUGE_VAL: not enough memory. */
static double expected_s(const struct design *design, const struct design_point *point,
                         const struct design_limits *limits)
{
    const double work = work_of(design, point), bytes = bytes_of(design, point);
    if (bytes > limits->bytes)
        return HUGE_VAL;
    return limits->call_s + fmax(work, bytes / MEMORY_BPS * limits->speed_flops) / limits->speed_flops;
}

/* How the sizes of a point follow from one number: as fractions of it, or powers below it (thin shapes). */
struct direction {
    double factor[COST_MOST_VARIABLES], power[COST_MOST_VARIABLES];
    double density; /* elements per column of a compressed matrix */
};

/* A row of a discretised equation has a few elements. */
#define LEAST_DENSITY 3
#define MOST_DENSITY  30
#define MOST_BESIDE   0.6
#define DENSER        1.4
#define LEAST_THIN    0.15 /* of thin matrices: the lesser side is a power of the other one, at least this, */
#define MOST_THIN     0.75 /* at most this */
#define MOST_ASPECT   2.3  /* in doublings: rows and columns differ by a factor of up to about 5 */

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

/* A round has all kinds at all times: the next round begins with another kind, and so does the next one
 * with the longest calls. These take as long as all others together, so every other round omits them, and
 * the shortest. */
enum { ROUND = 12 };

#define SHORTER 4
#define LONGER  10
enum kind { SQUARE, RECTANGULAR, SINGLE, THIN, KINDS };

/* If routines use different methods by shape, more points are rectangular. Of the long calls more are
 * thin, because thin matrices exceed caches in their own way. */
static enum kind kind_of(const struct design *design, uint32_t index)
{
    const uint32_t place = index % ROUND, round = index / ROUND;
    const enum kind kind = (enum kind)((place + round + round / 2) % KINDS);
    const bool is_odd = (place / KINDS + round / (2 * KINDS)) % 2;
    if (!design->has_lesser)
        return kind;
    if ((kind == SQUARE && is_odd) || (kind == THIN && place < KINDS && !is_odd))
        return RECTANGULAR;
    return kind == RECTANGULAR && place >= 2 * KINDS && is_odd ? THIN : kind;
}

/* Spreads the aspect of rectangular matrices, by which routines choose their method, over its whole range,
 * more densely near square ones. */
static void spread_aspect(uint32_t index, struct direction *direction)
{
    /* The step from one point to the next, and from one pair of rounds to the next at the same time. */
    const double step = index * 0.7548776662466927 + index / (2 * ROUND) * 0.6180339887498949;
    const double place = 2 * fmod(0.5 + step, 1) - 1;
    const double aspect = copysign(MOST_ASPECT * pow(fabs(place), DENSER), place);
    direction->factor[0] = exp2(aspect / 2);
    direction->factor[1] = exp2(-aspect / 2);
}

/* Spreads tall and wide matrices over all sizes of the lesser side at all times, more densely where it is
 * below the block size of routines. */
static void spread_thin(uint32_t index, struct direction *direction)
{
    const uint32_t lesser = index % 2;
    const double place = pow(fmod(0.5 + index * 0.5698402909980532, 1), DENSER);
    direction->power[lesser] = LEAST_THIN + (MOST_THIN - LEAST_THIN) * place;
    direction->power[!lesser] = direction->factor[0] = direction->factor[1] = 1;
}

static struct direction draw(const struct design *design, enum kind kind, uint32_t index,
                             struct random *random)
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
    if (design->has_lesser && kind == THIN)
        spread_thin(index, &direction);
    else if (design->has_lesser && kind != SQUARE)
        spread_aspect(index, &direction);
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

/* Returns the effort of a call at that scale; below 0: no valid call. */
static double effort_at(const struct design *design, uint32_t class_index, const struct direction *direction,
                        double scale)
{
    int64_t sizes[COST_MOST_VARIABLES];
    struct design_point point;
    sizes_of(design, direction, scale, sizes);
    if (!design_roughly_at(design, class_index, sizes, &point))
        return -1;
    return work_of(design, &point) + bytes_of(design, &point);
}

static double most_scale(const struct design *design, uint32_t class_index, const struct direction *direction)
{
    const double effort = effort_at(design, class_index, direction, MOST_UNSEEN);
    const bool unseen = effort >= 0 && effort == effort_at(design, class_index, direction, 2 * MOST_UNSEEN);
    return unseen ? MOST_UNSEEN : MOST_SIZE;
}

/* Finds the largest scale whose call is not expected to take longer. */
static bool scale_for(const struct design *design, uint32_t class_index, const struct direction *direction,
                      double seconds, const struct design_limits *limits, struct design_point *point)
{
    int64_t sizes[COST_MOST_VARIABLES];
    double low = 1, high = most_scale(design, class_index, direction);
    for (int i = 0; i < 40; i++) {
        double middle = sqrt(low * high);
        sizes_of(design, direction, middle, sizes);
        if (design_roughly_at(design, class_index, sizes, point) &&
            expected_s(design, point, limits) <= seconds)
            low = middle;
        else
            high = middle;
    }
    sizes_of(design, direction, low, sizes);
    return design_at(design, class_index, sizes, point) && expected_s(design, point, limits) < HUGE_VAL;
}

/* Returns times in rounds of a few ascending ones; each round lies between those before. */
static double seconds_of(uint32_t index, const struct design_limits *limits)
{
    const double offset = fmod(0.5 + index / ROUND * 0.6180339887498949, 1);
    const double share = (index % ROUND + offset) / ROUND;
    const bool is_between = index / ROUND % 2 && limits->most_s > LONGER * SHORTER * limits->least_s;
    const double least_s = is_between ? LONGER * limits->least_s : limits->least_s;
    const double most_s = is_between ? limits->most_s / SHORTER : limits->most_s;
    return least_s * pow(most_s / least_s, share);
}

bool design_next(const struct design *design, uint32_t class_index, uint32_t index,
                 const struct design_limits *limits, struct random *random, struct design_point *point)
{
    const double seconds = fmax(seconds_of(index, limits), 1.5 * limits->call_s);
    for (uint32_t i = 0; i < MOST_TRIES; i++) {
        const enum kind kind = i < MOST_TRIES / 2 ? kind_of(design, index) : SQUARE;
        const struct direction direction = draw(design, kind, index + i, random);
        if (scale_for(design, class_index, &direction, seconds, limits, point))
            return true;
    }
    return false;
}
