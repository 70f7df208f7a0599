/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/crd/invoke.h"

#include "core/problem/foreign.h"

#include <stdlib.h>
#include <string.h>

struct invocation {
    ffi_cif cif;
    void (*routine)(void);
    uint32_t n_parameters;
    bool returns;
    bool plain; /* only addresses and lengths, no result */
    enum base_type result_type;
    uint8_t by_value[SIGNATURE_MAX_PARAMETERS];
    ffi_type *types[SIGNATURE_MAX_PARAMETERS];
};

static ffi_type *parameter_type(const struct parameter_form *form)
{
    if (form->pass == PASS_ADDRESS)
        return &ffi_type_pointer;
    if (form->pass == PASS_LENGTH)
        return sizeof(size_t) == 8 ? &ffi_type_uint64 : &ffi_type_uint32;
    return foreign_type((enum base_type)form->type);
}

static enum esp_status prepare(struct invocation *invocation, const struct call_signature *signature,
                               struct esp_error *error)
{
    ffi_type *result = &ffi_type_void;
    if (signature->returns)
        result = foreign_type((enum base_type)signature->result_type);
    if (!result)
        return error_set(error, ESP_INVALID, "%s: a result of type %s cannot be called for on this machine",
                         signature->symbol, base_type_name((enum base_type)signature->result_type));
    for (uint32_t i = 0; i < signature->n_parameters; i++) {
        const struct parameter_form *form = &signature->parameters[i];
        invocation->by_value[i] = form->pass == PASS_VALUE;
        invocation->types[i] = parameter_type(form);
        if (!invocation->types[i])
            return error_set(error, ESP_INVALID, "%s: parameter %u of type %s cannot be passed by value",
                             signature->symbol, i + 1, base_type_name((enum base_type)form->type));
    }
    if (ffi_prep_cif(&invocation->cif, FFI_DEFAULT_ABI, signature->n_parameters, result, invocation->types) !=
        FFI_OK)
        return error_set(error, ESP_INVALID, "%s: libffi cannot make such a call", signature->symbol);
    return ESP_OK;
}

/* Fortran's subroutines have such signatures, and libffi's handling of parameters takes longer than the
 * smallest of them. If parameters are passed in registers and then on the caller's stack, which the caller
 * cleans up, additional ones are harmless: two forms of call suffice. */
#if defined __x86_64__ || defined __aarch64__
#define PLAIN_MOST 16
#else
#define PLAIN_MOST 0
#endif

static bool is_plain(const struct call_signature *signature)
{
    bool plain = !signature->returns && signature->n_parameters <= PLAIN_MOST;
    for (uint32_t i = 0; i < signature->n_parameters; i++)
        plain &= signature->parameters[i].pass != PASS_VALUE && sizeof(size_t) == sizeof(void *);
    return plain;
}

static void call_plain(const struct invocation *invocation, void *const *o)
{
    typedef void few(void *, void *, void *, void *, void *, void *);
    typedef void many(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                      void *, void *, void *, void *, void *);
    void *all[16] = {0};
    if (invocation->n_parameters > 0)
        memcpy(all, o, invocation->n_parameters * sizeof *all);
    if (invocation->n_parameters <= 6)
        ((few *)invocation->routine)(all[0], all[1], all[2], all[3], all[4], all[5]);
    else
        ((many *)invocation->routine)(all[0], all[1], all[2], all[3], all[4], all[5], all[6], all[7], all[8],
                                      all[9], all[10], all[11], all[12], all[13], all[14], all[15]);
}

enum esp_status invocation_create(const struct call_signature *signature, void (*routine)(void),
                                  struct invocation **invocation, struct esp_error *error)
{
    struct invocation *made = calloc(1, sizeof *made);
    if (!made)
        return error_no_memory(error, "a prepared call");
    made->routine = routine;
    made->n_parameters = signature->n_parameters;
    made->returns = signature->returns;
    made->result_type = (enum base_type)signature->result_type;
    made->plain = is_plain(signature);
    enum esp_status status = prepare(made, signature, error);
    if (status != ESP_OK) {
        invocation_destroy(made);
        return status;
    }
    *invocation = made;
    return ESP_OK;
}

void invocation_destroy(struct invocation *invocation)
{
    free(invocation);
}

void invocation_call(struct invocation *invocation, void *const *operands, void *result)
{
    void *values[SIGNATURE_MAX_PARAMETERS];
    _Alignas(16) unsigned char returned[INVOKE_RESULT_BYTES];
    if (invocation->plain) {
        call_plain(invocation, operands);
        return;
    }
    for (uint32_t i = 0; i < invocation->n_parameters; i++)
        values[i] = invocation->by_value[i] ? operands[i] : (void *)(uintptr_t)&operands[i];
    ffi_call(&invocation->cif, invocation->routine, returned, values);
    if (invocation->returns)
        foreign_store_result(invocation->result_type, returned, result);
}
