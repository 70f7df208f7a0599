/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of Octave on their way into an argument vector. */
#include "gateway.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that a sparse matrix may have when it is made dense. */
#define MOST_DENSE ((double)(1 << 30))

/* The elements of an array, whatever its class. */
struct elements {
    mxClassID class;
    bool is_complex;
    const void *data;
    uint64_t n;
};

void *call_own(struct call *call, size_t bytes)
{
    void **owned = realloc(call->owned, (call->n_owned + 1) * sizeof *owned);
    if (!owned)
        return NULL;
    call->owned = owned;
    void *memory = calloc(1, bytes ? bytes : 1);
    if (memory)
        owned[call->n_owned++] = memory;
    else
        fail(ESP_NO_MEMORY, "no memory for %zu bytes of an argument", bytes);
    return memory;
}

static bool elements_of(struct call *call, size_t position, const mxArray *value, struct elements *elements)
{
    if (mxIsChar(value) ? call->known->problem->arguments[position].type != ESP_TYPE_CHAR
                        : !mxIsNumeric(value) && !mxIsLogical(value))
        return fail_argument(call, position, "a value of class %s", mxGetClassName(value));
    *elements = (struct elements){mxGetClassID(value), mxIsComplex(value), mxGetData(value),
                                  mxGetNumberOfElements(value)};
    return true;
}

/* An element as a whole number. False: it is none. */
static bool element_whole(const struct elements *elements, uint64_t i, int64_t *whole)
{
    double real;
    switch (elements->class) {
    case mxINT8_CLASS:
        *whole = ((const int8_t *)elements->data)[i];
        return true;
    case mxCHAR_CLASS:
    case mxLOGICAL_CLASS:
    case mxUINT8_CLASS:
        *whole = ((const uint8_t *)elements->data)[i];
        return true;
    case mxINT16_CLASS:
        *whole = ((const int16_t *)elements->data)[i];
        return true;
    case mxUINT16_CLASS:
        *whole = ((const uint16_t *)elements->data)[i];
        return true;
    case mxINT32_CLASS:
        *whole = ((const int32_t *)elements->data)[i];
        return true;
    case mxUINT32_CLASS:
        *whole = ((const uint32_t *)elements->data)[i];
        return true;
    case mxINT64_CLASS:
        *whole = ((const int64_t *)elements->data)[i];
        return true;
    case mxUINT64_CLASS:
        *whole = (int64_t)((const uint64_t *)elements->data)[i];
        return *whole >= 0;
    case mxSINGLE_CLASS:
        real = ((const float *)elements->data)[i];
        break;
    default:
        real = ((const double *)elements->data)[i];
        break;
    }
    if (!(fabs(real) <= 0x1p62) || real != floor(real))
        return false;
    *whole = (int64_t)real;
    return true;
}

/* Part 0 or 1 of an element. */
static double element_real(const struct elements *elements, uint64_t i, int part)
{
    int64_t whole = 0;
    if (part && !elements->is_complex)
        return 0;
    uint64_t at = elements->is_complex ? 2 * i + (uint64_t)part : i;
    if (elements->class == mxDOUBLE_CLASS)
        return ((const double *)elements->data)[at];
    if (elements->class == mxSINGLE_CLASS)
        return ((const float *)elements->data)[at];
    if (elements->class == mxUINT64_CLASS)
        return (double)((const uint64_t *)elements->data)[at];
    element_whole(elements, i, &whole);
    return (double)whole;
}

static bool store_whole(struct call *call, size_t position, const struct elements *from, uint64_t i, char *to)
{
    static const int64_t least[] = {
        [ESP_TYPE_CHAR] = 0, [ESP_TYPE_SHORT] = INT16_MIN, [ESP_TYPE_INT] = INT32_MIN};
    static const int64_t most[] = {
        [ESP_TYPE_CHAR] = 255, [ESP_TYPE_SHORT] = INT16_MAX, [ESP_TYPE_INT] = INT32_MAX};
    enum esp_type type = call->known->problem->arguments[position].type;
    int64_t whole = 0;
    if (from->is_complex || !element_whole(from, i, &whole))
        return from->is_complex ? fail_argument(call, position, "complex numbers")
                                : fail_argument(call, position, "%g, which is not a whole number",
                                                element_real(from, i, 0));
    bool is_long = type == ESP_TYPE_LONG || type == ESP_TYPE_INT64;
    if (!is_long && (whole < least[type] || whole > most[type]))
        return fail_argument(call, position, "%lld, which is not from %lld to %lld", (long long)whole,
                             (long long)least[type], (long long)most[type]);
    if (type == ESP_TYPE_CHAR)
        *to = (char)whole;
    else if (type == ESP_TYPE_SHORT)
        memcpy(to, &(int16_t){(int16_t)whole}, 2);
    else if (type == ESP_TYPE_INT)
        memcpy(to, &(int32_t){(int32_t)whole}, 4);
    else
        memcpy(to, &whole, 8);
    return true;
}

/* Writes element i as the description's type. */
static bool store_element(struct call *call, size_t position, const struct elements *from, uint64_t i,
                          char *to)
{
    enum esp_type type = call->known->problem->arguments[position].type;
    bool is_double = type == ESP_TYPE_DOUBLE || type == ESP_TYPE_DOUBLE_COMPLEX;
    int parts = type == ESP_TYPE_COMPLEX || type == ESP_TYPE_DOUBLE_COMPLEX ? 2 : 1;
    if (type < ESP_TYPE_FLOAT)
        return store_whole(call, position, from, i, to);
    if (from->is_complex && parts == 1)
        return fail_argument(call, position, "complex numbers");
    for (int part = 0; part < parts; part++) {
        double real = element_real(from, i, part);
        if (is_double) {
            memcpy(to + 8 * part, &real, 8);
            continue;
        }
        if (isfinite(real) && fabs(real) > FLT_MAX)
            return fail_argument(call, position, "%g, which is beyond single precision", real);
        memcpy(to + 4 * part, &(float){(float)real}, 4);
    }
    return true;
}

/* ---- texts ---- */

static bool take_text(struct call *call, size_t position, const mxArray *value, char **text)
{
    if (!mxIsChar(value) || (mxGetM(value) > 1 && mxGetNumberOfElements(value) > 0))
        return fail_argument(call, position, "a value of class %s", mxGetClassName(value));
    char *copy = mxArrayToString(value);
    size_t n = mxGetNumberOfElements(value);
    if (!copy || strlen(copy) != n) {
        mxFree(copy);
        return fail_argument(call, position, "a text with a zero byte");
    }
    *text = call_own(call, n + 1);
    if (*text)
        memcpy(*text, copy, n);
    mxFree(copy);
    return *text != NULL;
}

static bool take_texts(struct call *call, size_t position, const mxArray *value)
{
    struct esp_argument *argument = &call->vector[position];
    if (!mxIsCell(value))
        return fail_argument(call, position, "a value of class %s; several texts are a cell array",
                             mxGetClassName(value));
    size_t n = mxGetNumberOfElements(value);
    char **texts = call_own(call, (n + 1) * sizeof *texts);
    for (size_t i = 0; i < n; i++) {
        if (!texts || !take_text(call, position, mxGetCell(value, i), &texts[i]))
            return false;
    }
    argument->data = texts;
    argument->n_dims = 1;
    argument->dims[0] = (int64_t)n;
    return texts != NULL;
}

/* ---- arrays ---- */

/* Writes all elements, by rows if the description wants them so. */
static bool store_all(struct call *call, size_t position, const struct elements *from, char *to)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    const struct esp_argument *argument = &call->vector[position];
    size_t size = esp_type_size(formal->type);
    bool is_complex;
    bool by_rows = (formal->properties & ESP_PROPERTY_ROW_MAJOR) && argument->n_dims > 1;
    if (!by_rows && class_of(formal->type, &is_complex) == from->class && is_complex == from->is_complex) {
        memcpy(to, from->data, from->n * size);
        return true;
    }
    int64_t at[ESP_MAX_DIMS] = {0}; /* by columns: the first index is the fastest */
    for (uint64_t i = 0; i < from->n; i++) {
        uint64_t target = by_rows ? 0 : i;
        for (unsigned d = 0; by_rows && d < argument->n_dims; d++)
            target = target * (uint64_t)argument->dims[d] + (uint64_t)at[d];
        if (!store_element(call, position, from, i, to + target * size))
            return false;
        for (unsigned d = 0; by_rows && d < argument->n_dims && ++at[d] == argument->dims[d]; d++)
            at[d] = 0;
    }
    return true;
}

/* The elements as the library takes them: in Octave's memory if the call may use that. */
static bool place_elements(struct call *call, size_t position, const struct elements *from)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    struct esp_argument *argument = &call->vector[position];
    static char nothing[16];
    call->given[position] = from->n;
    bool is_complex;
    bool fits = class_of(formal->type, &is_complex) == from->class && is_complex == from->is_complex;
    bool by_rows = (formal->properties & ESP_PROPERTY_ROW_MAJOR) && argument->n_dims > 1;
    if (from->n == 0) {
        argument->data = nothing;
        return true;
    }
    if (fits && !by_rows && !call->lasts) { /* what goes out, too, is copied when its room is made */
        argument->data = (void *)from->data;
        return true;
    }
    argument->data = call_own(call, from->n * esp_type_size(formal->type));
    return argument->data && store_all(call, position, from, argument->data);
}

/* A vector has one dimension if the description's argument has; matrices get the dimensions that they lack.
 */
static bool take_extents(struct call *call, size_t position, const mxArray *value)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    struct esp_argument *argument = &call->vector[position];
    size_t n_dims = mxGetNumberOfDimensions(value);
    const mwSize *dims = mxGetDimensions(value);
    while (n_dims > formal->n_dims && dims[n_dims - 1] == 1 && n_dims > 1)
        n_dims--;
    if (formal->n_dims == 1 && n_dims == 2 && (dims[0] == 1 || mxGetNumberOfElements(value) == 0)) {
        argument->n_dims = 1;
        argument->dims[0] = (int64_t)mxGetNumberOfElements(value);
        return true;
    }
    if (n_dims > ESP_MAX_DIMS)
        return fail_argument(call, position, "an array of %zu dimensions", n_dims);
    argument->n_dims = (unsigned)(n_dims < formal->n_dims ? formal->n_dims : n_dims);
    for (size_t d = 0; d < argument->n_dims; d++)
        argument->dims[d] = d < n_dims ? (int64_t)dims[d] : 1;
    return true;
}

/* A packed triangle is a vector; a band matrix has a row for each diagonal. */
static bool take_stored_extents(struct call *call, size_t position, const mxArray *value)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    struct esp_argument *argument = &call->vector[position];
    argument->n_dims = 2;
    if (strncmp(formal->storage, "packed", 6) != 0) {
        argument->dims[0] = -1;
        argument->dims[1] = (int64_t)mxGetN(value);
        return true;
    }
    uint64_t n = mxGetNumberOfElements(value);
    uint64_t order = (uint64_t)((sqrt(8.0 * (double)n + 1) - 1) / 2 + 0.5);
    if (order * (order + 1) / 2 != n || (mxGetM(value) > 1 && mxGetN(value) > 1))
        return fail_argument(call, position,
                             "an array of %zu x %zu; a packed matrix is a vector of n*(n + 1)/2 elements",
                             (size_t)mxGetM(value), (size_t)mxGetN(value));
    argument->dims[0] = argument->dims[1] = (int64_t)order;
    return true;
}

/* Pointers or indices of a compressed matrix, which Octave counts from 0. */
static bool take_indices(struct call *call, size_t position, const mwIndex *from, size_t n, int64_t base)
{
    struct esp_argument *argument = &call->vector[position];
    if (argument->data)
        return true; /* given by name */
    size_t size = esp_type_size(call->known->problem->arguments[position].type);
    char *to = call_own(call, n * size);
    if (!to)
        return false;
    for (size_t i = 0; i < n; i++) {
        int64_t shifted = (int64_t)from[i] + base;
        struct elements one = {mxINT64_CLASS, false, &shifted, 1};
        if (!store_element(call, position, &one, 0, to + i * size))
            return false;
    }
    argument->data = to;
    argument->n_dims = 1;
    argument->dims[0] = (int64_t)n;
    return true;
}

static bool take_compressed(struct call *call, size_t position, const mxArray *value,
                            const struct companions *companions)
{
    struct esp_argument *argument = &call->vector[position];
    mxArray *transposed = NULL;
    argument->n_dims = 2;
    argument->dims[0] = (int64_t)mxGetM(value);
    argument->dims[1] = (int64_t)mxGetN(value);
    if (companions->by_rows) { /* its transpose by columns */
        if (mexCallMATLAB(1, &transposed, 1, (mxArray **)&value, "transpose") != 0)
            return fail(ESP_INTERNAL, "the transpose of a sparse matrix failed");
        value = transposed;
    }
    size_t columns = mxGetN(value);
    const mwIndex *pointers = mxGetJc(value);
    struct elements elements = {mxIsLogical(value) ? mxLOGICAL_CLASS : mxDOUBLE_CLASS, mxIsComplex(value),
                                mxGetData(value), pointers[columns]};
    bool lasts = call->lasts;
    call->lasts = true; /* the transpose goes away */
    bool done = take_indices(call, companions->pointers, pointers, columns + 1, companions->base) &&
                take_indices(call, companions->indices, mxGetIr(value), elements.n, companions->base) &&
                place_elements(call, position, &elements);
    call->lasts = lasts;
    if (transposed)
        mxDestroyArray(transposed);
    return done;
}

/* A sparse matrix for an argument that is not compressed. */
static bool take_dense(struct call *call, size_t position, const mxArray *value)
{
    const struct esp_problem *problem = call->known->problem;
    mxArray *full = NULL;
    if (strncmp(problem->source, "abstract", 8) != 0)
        return fail_argument(call, position, "a sparse matrix; full() makes it dense");
    double bytes = (double)mxGetM(value) * (double)mxGetN(value) *
                   (double)esp_type_size(problem->arguments[position].type);
    if (bytes > MOST_DENSE)
        return fail_argument(call, position,
                             "a sparse matrix of %zu x %zu, which would be too large when it is dense: a "
                             "problem for sparse matrices takes it as it is (dumfpack, dcholmod, dgmres)",
                             (size_t)mxGetM(value), (size_t)mxGetN(value));
    if (mexCallMATLAB(1, &full, 1, (mxArray **)&value, "full") != 0)
        return fail(ESP_INTERNAL, "full() of a sparse matrix failed");
    bool lasts = call->lasts;
    call->lasts = true;
    bool done = input_take(call, position, full);
    call->lasts = lasts;
    mxDestroyArray(full);
    return done;
}

static bool take_array(struct call *call, size_t position, const mxArray *value)
{
    const struct esp_problem *problem = call->known->problem;
    struct companions companions;
    struct elements elements;
    bool is_compressed = companions_of(problem, position, &companions);
    if (mxIsSparse(value))
        return is_compressed ? take_compressed(call, position, value, &companions)
                             : take_dense(call, position, value);
    if (!elements_of(call, position, value, &elements))
        return false;
    if (is_compressed) { /* the elements alone, with pointers and indices by name */
        call->vector[position].n_dims = 0;
        return place_elements(call, position, &elements);
    }
    return (*problem->arguments[position].storage ? take_stored_extents(call, position, value)
                                                  : take_extents(call, position, value)) &&
           place_elements(call, position, &elements);
}

bool input_take(struct call *call, size_t position, const mxArray *value)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    struct esp_argument *argument = &call->vector[position];
    struct elements elements;
    char *text = NULL;
    if (formal->type == ESP_TYPE_CALLBACK)
        return fail(
            ESP_INVALID,
            "%s: argument \"%s\" is a function of the caller, which Octave cannot pass yet: use Python or C",
            call->known->problem->name, formal->name);
    if (is_textual(formal) && formal->n_dims)
        return take_texts(call, position, value);
    if (is_textual(formal)) {
        bool done = take_text(call, position, value, &text);
        argument->data = text;
        return done;
    }
    if (formal->n_dims)
        return take_array(call, position, value);
    if (!elements_of(call, position, value, &elements))
        return false;
    if (elements.n != 1 || mxIsSparse(value))
        return fail_argument(call, position, "an array of %zu x %zu", (size_t)mxGetM(value),
                             (size_t)mxGetN(value));
    argument->data = call->room[position];
    return store_element(call, position, &elements, 0, (char *)call->room[position]);
}
