/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of a call on their way to Octave. */
#include "gateway.h"

#include <stdlib.h>
#include <string.h>

/* The extents that Octave shows: two at least. */
static size_t extents_of(const struct esp_argument *argument, mwSize *extents)
{
    extents[0] = extents[1] = 1;
    for (unsigned d = 0; d < argument->n_dims; d++)
        extents[d] = (mwSize)argument->dims[d];
    return argument->n_dims < 2 ? 2 : argument->n_dims;
}

static bool is_by_rows(const struct call *call, size_t position)
{
    return (call->known->problem->arguments[position].properties & ESP_PROPERTY_ROW_MAJOR) &&
           call->vector[position].n_dims > 1;
}

/* Whether the elements may come directly to an array of Octave. */
static bool is_direct(const struct call *call, size_t position)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    struct companions companions;
    return !call->lasts && formal->type != ESP_TYPE_CHAR && !is_by_rows(call, position) && !formal->count &&
           !*formal->storage && !companions_of(call->known->problem, position, &companions) &&
           !is_companion(call->known->problem, position);
}

/* An array of Octave, zeroed. Octave 7 gives complex arrays half of their memory, so that this allocates it.
 */
static mxArray *make_value(enum esp_type type, size_t n_dims, const mwSize *extents)
{
    bool is_complex;
    mxClassID class = class_of(type, &is_complex);
    size_t n = 1;
    if (!is_complex)
        return mxCreateNumericArray((mwSize)n_dims, extents, class, mxREAL);
    for (size_t d = 0; d < n_dims; d++)
        n *= extents[d];
    mxArray *array = mxCreateNumericArray(2, (mwSize[]){0, 0}, class, mxCOMPLEX);
    if (n)
        mxSetData(array, mxCalloc(n, esp_type_size(type)));
    mxSetDimensions(array, extents, (mwSize)n_dims);
    return array;
}

/* Memory for the elements of an array. */
static void *make_memory(struct call *call, size_t position)
{
    struct output *output = &call->outputs[position];
    enum esp_type type = call->known->problem->arguments[position].type;
    if (is_direct(call, position)) {
        mwSize extents[ESP_MAX_DIMS];
        size_t n_dims = extents_of(&call->vector[position], extents);
        output->array = make_value(type, n_dims, extents);
        if (output->array && output->elements > 0)
            return mxGetData(output->array);
    }
    output->memory = calloc(output->elements ? output->elements : 1, esp_type_size(type));
    if (!output->memory)
        fail(ESP_NO_MEMORY, "%s: no memory for the result \"%s\" of %llu elements",
             call->known->problem->name, call->known->problem->arguments[position].name,
             (unsigned long long)output->elements);
    return output->memory;
}

/* The default of an inout array that was left out. */
static void fill(void *memory, enum esp_type type, uint64_t n, const char *initial)
{
    double real = initial ? strtod(initial, NULL) : 0;
    for (uint64_t i = 0; real != 0 && i < n; i++) {
        switch (type) {
        case ESP_TYPE_DOUBLE:
            ((double *)memory)[i] = real;
            break;
        case ESP_TYPE_FLOAT:
            ((float *)memory)[i] = (float)real;
            break;
        case ESP_TYPE_DOUBLE_COMPLEX:
            ((double *)memory)[2 * i] = real;
            break;
        case ESP_TYPE_COMPLEX:
            ((float *)memory)[2 * i] = (float)real;
            break;
        case ESP_TYPE_INT:
            ((int32_t *)memory)[i] = (int32_t)real;
            break;
        case ESP_TYPE_SHORT:
            ((int16_t *)memory)[i] = (int16_t)real;
            break;
        case ESP_TYPE_CHAR:
            ((char *)memory)[i] = (char)real;
            break;
        default:
            ((int64_t *)memory)[i] = (int64_t)real;
            break;
        }
    }
}

static bool prepare_texts(struct call *call, size_t position)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    struct esp_argument *argument = &call->vector[position];
    struct output *output = &call->outputs[position];
    if (formal->type == ESP_TYPE_FILE)
        return true; /* its path was given by name */
    output->is_text = true;
    output->elements = formal->n_dims ? (uint64_t)argument->dims[0] : 1;
    output->memory = calloc(output->elements + 1, sizeof(char *));
    if (!output->memory)
        return fail(ESP_NO_MEMORY, "no memory for texts");
    if (formal->mode == ESP_MODE_INOUT && argument->data) {
        if (formal->n_dims) /* the texts that went in belong to the call */
            return fail(ESP_INVALID,
                        "%s: argument \"%s\": texts that are overwritten are not supported in Octave",
                        call->known->problem->name, formal->name);
        output->before = ((char **)output->memory)[0] = argument->data;
    }
    argument->data = output->memory;
    return true;
}

static bool prepare_array(struct call *call, size_t position)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    struct esp_argument *argument = &call->vector[position];
    const void *given = argument->data;
    if (!call->outputs[position].is_wanted) {
        argument->unwanted = formal->mode == ESP_MODE_INOUT && given;
        return true;
    }
    if (given && call->lasts) { /* the call has a copy of its own already */
        return true;
    }
    void *memory = make_memory(call, position);
    if (!memory)
        return false;
    if (given)
        memcpy(memory, given, call->outputs[position].elements * esp_type_size(formal->type));
    else if (formal->mode == ESP_MODE_INOUT)
        fill(memory, formal->type, call->outputs[position].elements, formal->initial);
    argument->data = memory;
    return true;
}

/* A sparse result needs its pointers and indices. */
static void want_companions(struct call *call)
{
    const struct esp_problem *problem = call->known->problem;
    struct companions companions;
    for (size_t i = 0; i < problem->n_arguments; i++) {
        if (!call->outputs[i].is_wanted || !companions_of(problem, i, &companions))
            continue;
        call->outputs[companions.pointers].is_wanted = is_output(&problem->arguments[companions.pointers]);
        call->outputs[companions.indices].is_wanted = is_output(&problem->arguments[companions.indices]);
    }
}

bool outputs_prepare(struct call *call)
{
    const struct esp_problem *problem = call->known->problem;
    uint64_t elements[ESP_MAX_ARGUMENTS];
    want_companions(call);
    if (esp_arguments_elements(problem, call->vector, problem->n_arguments, elements) != ESP_OK)
        return fail_by_library();
    for (size_t i = 0; i < problem->n_arguments; i++) {
        const struct esp_problem_argument *formal = &problem->arguments[i];
        struct companions companions;
        call->outputs[i].elements = elements[i];
        if (companions_of(problem, i, &companions) && call->vector[companions.indices].n_dims)
            call->outputs[i].elements = (uint64_t)call->vector[companions.indices].dims[0];
        if (*formal->storage && call->vector[i].data && is_input(formal) &&
            call->given[i] != call->outputs[i].elements)
            return fail_argument(call, i, "%llu elements, where %llu are stored (%s)",
                                 (unsigned long long)call->given[i],
                                 (unsigned long long)call->outputs[i].elements, formal->storage);
        if (!is_output(formal))
            continue;
        if (is_textual(formal) ? call->outputs[i].is_wanted && !prepare_texts(call, i)
                               : formal->n_dims && !prepare_array(call, i))
            return false;
        if (!is_textual(formal) && !formal->n_dims && (call->outputs[i].is_wanted || call->vector[i].data))
            call->vector[i].data = call->room[i];
    }
    return true;
}

/* ---- values ---- */

static bool make_text(struct call *call, size_t position, mxArray **value)
{
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    const struct output *output = &call->outputs[position];
    char **texts = output->memory;
    if (formal->type == ESP_TYPE_FILE) {
        *value =
            mxCreateString(call->vector[position].data && !formal->n_dims ? call->vector[position].data : "");
        return true;
    }
    if (!formal->n_dims) {
        *value = mxCreateString(texts[0] ? texts[0] : "");
        return true;
    }
    *value = mxCreateCellMatrix((mwSize)output->elements, 1);
    for (uint64_t i = 0; i < output->elements; i++)
        mxSetCell(*value, (mwIndex)i, mxCreateString(texts[i] ? texts[i] : ""));
    return true;
}

/* Elements by rows into an array by columns. */
static void from_rows(const struct esp_argument *argument, uint64_t n, size_t size, const char *from,
                      char *to)
{
    int64_t at[ESP_MAX_DIMS] = {0};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t source = 0;
        for (unsigned d = 0; d < argument->n_dims; d++)
            source = source * (uint64_t)argument->dims[d] + (uint64_t)at[d];
        memcpy(to + i * size, from + source * size, size);
        for (unsigned d = 0; d < argument->n_dims && ++at[d] == argument->dims[d]; d++)
            at[d] = 0;
    }
}

static mxArray *make_letters(const char *letters, uint64_t n)
{
    mxArray *value = mxCreateCharArray(2, (mwSize[]){n ? 1 : 0, (mwSize)n});
    if (n)
        memcpy(mxGetData(value), letters, n);
    return value;
}

static int64_t index_at(const struct call *call, size_t position, size_t i)
{
    const void *data = call->vector[position].data;
    return esp_type_size(call->known->problem->arguments[position].type) == 8 ? ((const int64_t *)data)[i]
                                                                              : ((const int32_t *)data)[i];
}

static void copy_part(enum esp_type type, const void *from, size_t n, double *to)
{
    bool is_complex = type == ESP_TYPE_COMPLEX || type == ESP_TYPE_DOUBLE_COMPLEX;
    bool is_double = type == ESP_TYPE_DOUBLE || type == ESP_TYPE_DOUBLE_COMPLEX;
    for (size_t i = 0; i < n * (is_complex ? 2 : 1); i++)
        to[i] = is_double ? ((const double *)from)[i] : ((const float *)from)[i];
}

/* A compressed result as a sparse matrix. */
static bool make_sparse(struct call *call, size_t position, const struct companions *companions,
                        mxArray **value)
{
    const struct esp_argument *argument = &call->vector[position];
    enum esp_type type = call->known->problem->arguments[position].type;
    size_t lines = (size_t)argument->dims[companions->by_rows ? 0 : 1];
    size_t others = (size_t)argument->dims[companions->by_rows ? 1 : 0];
    bool is_complex = type == ESP_TYPE_COMPLEX || type == ESP_TYPE_DOUBLE_COMPLEX;
    int64_t n = index_at(call, companions->pointers, lines) - companions->base;
    if (type < ESP_TYPE_FLOAT || n < 0 || (uint64_t)n > call->outputs[position].elements)
        return fail(ESP_FAILED, "%s: the sparse result \"%s\" has %lld elements", call->known->problem->name,
                    call->known->problem->arguments[position].name, (long long)n);
    mxArray *sparse =
        mxCreateSparse((mwSize)others, (mwSize)lines, (mwSize)(n ? n : 1), is_complex ? mxCOMPLEX : mxREAL);
    if (is_complex)
        mxSetData(sparse, mxCalloc(n ? (size_t)n : 1, 16)); /* as in make_value() */
    for (size_t i = 0; i <= lines; i++)
        mxGetJc(sparse)[i] = (mwIndex)(index_at(call, companions->pointers, i) - companions->base);
    for (size_t i = 0; i < (size_t)n; i++) {
        int64_t index = index_at(call, companions->indices, i) - companions->base;
        if (index < 0 || index >= (int64_t)others)
            return fail(ESP_FAILED, "%s: the sparse result \"%s\" has the index %lld",
                        call->known->problem->name, call->known->problem->arguments[position].name,
                        (long long)index);
        mxGetIr(sparse)[i] = (mwIndex)index;
    }
    copy_part(type, argument->data, (size_t)n, mxGetData(sparse));
    *value = sparse;
    if (companions->by_rows && mexCallMATLAB(1, value, 1, &sparse, "transpose") != 0)
        return fail(ESP_INTERNAL, "the transpose of a sparse matrix failed");
    return true;
}

bool output_make(struct call *call, size_t index, mxArray **value)
{
    size_t position = call->wanted[index];
    const struct esp_problem_argument *formal = &call->known->problem->arguments[position];
    struct output *output = &call->outputs[position];
    struct esp_argument *argument = &call->vector[position];
    struct companions companions;
    mwSize extents[ESP_MAX_DIMS];
    if (is_textual(formal))
        return make_text(call, position, value);
    if (output->array) {
        *value = output->array;
        output->array = NULL;
        return true;
    }
    if (companions_of(call->known->problem, position, &companions))
        return make_sparse(call, position, &companions, value);
    size_t n_dims = extents_of(argument, extents);
    uint64_t n = 1;
    if (*formal->storage) {
        n_dims = 2;
        extents[0] = (mwSize)output->elements;
        extents[1] = 1;
        if (strncmp(formal->storage, "banded", 6) == 0 && argument->dims[1] > 0) {
            extents[1] = (mwSize)argument->dims[1];
            extents[0] = (mwSize)(output->elements / extents[1]);
        }
    }
    if (!formal->n_dims)
        n_dims = 2; /* extents_of() has set both to 1 */
    for (size_t d = 0; d < n_dims; d++)
        n *= extents[d];
    if (formal->type == ESP_TYPE_CHAR) {
        *value = make_letters(argument->data, n);
        return true;
    }
    *value = make_value(formal->type, n_dims, extents);
    size_t size = esp_type_size(formal->type);
    if (n && is_by_rows(call, position))
        from_rows(argument, n, size, argument->data, mxGetData(*value));
    else if (n)
        memcpy(mxGetData(*value), argument->data, n * size);
    return true;
}
