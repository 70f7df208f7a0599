/* SPDX-License-Identifier: Apache-2.0
 *
 * Argument stacks: a vector of arguments that grows one by one.
 */
#include "client/session/library.h"
#include "client/session/session.h"
#include "client/session/table.h"

#include <stdlib.h>
#include <string.h>

struct grpc_arg_stack_s {
    size_t n, most;
    struct esp_argument arguments[];
};

static grpc_error_t wrong(const char *text)
{
    error_set(library_error(), ESP_INVALID, "%s", text);
    return GRPC_OTHER_ERROR_CODE;
}

grpc_arg_stack_t *grpc_arg_stack_new(size_t most)
{
    if (most > ESP_MAX_ARGUMENTS) {
        error_set(library_error(), ESP_INVALID, "an argument stack: expected room for at most %d, found %zu",
                  ESP_MAX_ARGUMENTS, most);
        return NULL;
    }
    grpc_arg_stack_t *stack = calloc(1, sizeof *stack + most * sizeof *stack->arguments);
    if (stack)
        stack->most = most;
    else
        error_no_memory(library_error(), "an argument stack");
    return stack;
}

grpc_error_t grpc_arg_stack_destruct(grpc_arg_stack_t *stack)
{
    free(stack);
    return GRPC_NO_ERROR;
}

grpc_error_t grpc_arg_stack_push_typed(grpc_arg_stack_t *stack, void *argument, enum esp_type type,
                                       const int64_t *dims, unsigned n_dims)
{
    if (!stack || (!dims && n_dims > 0))
        return wrong(stack ? "dims: expected a pointer, found a null pointer"
                           : "stack: expected a pointer, found a null pointer");
    if (n_dims > ESP_MAX_DIMS)
        return wrong("n_dims: an array has at most 7 dimensions");
    if (stack->n == stack->most) {
        error_set(library_error(), ESP_LIMIT, "the argument stack is full: it was made for %zu", stack->most);
        return GRPC_OTHER_ERROR_CODE;
    }
    struct esp_argument *next = &stack->arguments[stack->n++];
    *next = (struct esp_argument){.data = argument, .type = type, .n_dims = n_dims};
    if (n_dims > 0)
        memcpy(next->dims, dims, n_dims * sizeof *dims);
    return GRPC_NO_ERROR;
}

grpc_error_t grpc_arg_stack_push_arg(grpc_arg_stack_t *stack, void *argument)
{
    return grpc_arg_stack_push_typed(stack, argument, ESP_TYPE_ANY, NULL, 0);
}

void *grpc_arg_stack_pop_arg(grpc_arg_stack_t *stack)
{
    return stack && stack->n > 0 ? stack->arguments[--stack->n].data : NULL;
}

/* Checks with the codes of grpc_call(), which distinguish an uninitialized library and an invalid handle
 * from failures of the session. Returns false with the code. */
static bool may_call(const grpc_function_handle_t *handle, const grpc_arg_stack_t *stack, grpc_error_t *code)
{
    struct library *library = library_enter(library_error());
    if (!library) {
        *code = library_error()->status == ESP_REFUSED ? GRPC_OTHER_ERROR_CODE : GRPC_NOT_INITIALIZED;
        return false;
    }
    struct handle *used = handles_use(library->handles, handle);
    if (!stack)
        *code = wrong("stack: expected a pointer, found a null pointer");
    else if (!used)
        *code =
            (wrong("the function handle was never made, or was destructed"), GRPC_INVALID_FUNCTION_HANDLE);
    bool may = stack && used;
    handle_release(used);
    library_leave(may);
    return may;
}

grpc_error_t grpc_call_arg_stack(grpc_function_handle_t *handle, grpc_arg_stack_t *stack)
{
    grpc_error_t code;
    if (!may_call(handle, stack, &code))
        return code;
    return outcome_code(esp_call(handle, stack->arguments, stack->n, NULL, NULL));
}

grpc_error_t grpc_call_arg_stack_async(grpc_function_handle_t *handle, grpc_sessionid_t *sessionID,
                                       grpc_arg_stack_t *stack)
{
    grpc_error_t code;
    if (!sessionID)
        return wrong("sessionID: expected a pointer, found a null pointer");
    *sessionID = GRPC_SESSIONID_VOID;
    if (!may_call(handle, stack, &code))
        return code;
    return outcome_code(esp_call_async(handle, stack->arguments, stack->n, NULL, sessionID));
}
