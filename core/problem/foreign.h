/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps the types of descriptions to those of libffi. */
#ifndef CORE_FOREIGN_H
#define CORE_FOREIGN_H

#include "core/problem/problem.h"
#include <ffi.h>
#include <string.h>

/* Returns the C type of one element (for a string, a pointer), or NULL when it cannot be passed by value. */
static inline ffi_type *foreign_type(enum base_type type)
{
    switch (type) {
    case TYPE_CHAR:
        return &ffi_type_schar;
    case TYPE_SHORT:
        return &ffi_type_sint16;
    case TYPE_INT:
        return &ffi_type_sint32;
    case TYPE_LONG:
    case TYPE_INT64:
        return &ffi_type_sint64;
    case TYPE_FLOAT:
        return &ffi_type_float;
    case TYPE_DOUBLE:
        return &ffi_type_double;
    case TYPE_STRING:
        return &ffi_type_pointer;
#ifdef FFI_TARGET_HAS_COMPLEX_TYPE
    case TYPE_COMPLEX:
        return &ffi_type_complex_float;
    case TYPE_DOUBLE_COMPLEX:
        return &ffi_type_complex_double;
#endif
    default:
        return NULL;
    }
}

/* Stores a result of libffi, which widens integers shorter than a register: the whole register is
 * converted, because on some machines the value is not in its first bytes. */
static inline void foreign_store_result(enum base_type type, const void *returned, void *result)
{
    ffi_sarg wide;
    memcpy(&wide, returned, sizeof wide);
    switch (type) {
    case TYPE_CHAR:
        *(signed char *)result = (signed char)wide;
        break;
    case TYPE_SHORT:
        *(int16_t *)result = (int16_t)wide;
        break;
    case TYPE_INT:
        *(int32_t *)result = (int32_t)wide;
        break;
    case TYPE_STRING:
        memcpy(result, returned, sizeof(char *));
        break;
    default:
        memcpy(result, returned, base_type_size(type));
    }
}

/* Stores the value that a function called through libffi returns, widened as libffi expects. */
static inline void foreign_return(enum base_type type, const void *value, void *returned)
{
    struct number number;
    ffi_sarg wide;
    if (type == TYPE_CHAR || type == TYPE_SHORT || type == TYPE_INT) {
        number = number_load(type, value);
        wide = (ffi_sarg)number.integer;
        memcpy(returned, &wide, sizeof wide);
    } else if (type == TYPE_STRING) {
        memcpy(returned, value, sizeof(char *));
    } else {
        memcpy(returned, value, base_type_size(type));
    }
}

#endif
