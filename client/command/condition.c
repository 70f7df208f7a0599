/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/condition.h"
#include "espalier.h"

#include <float.h>
#include <stdio.h>

#define MOST_COLUMNS 2000

static bool ask(const char *server, const struct matrix *a, double *rcond)
{
    grpc_function_handle_t handle;
    char *name = a->is_complex ? "zrcond" : "rcond";
    int n = (int)a->rows;
    struct esp_argument arguments[3] = {
        {.data = &n, .type = ESP_TYPE_INT},
        {.data = a->values, .type = a->is_complex ? ESP_TYPE_DOUBLE_COMPLEX : ESP_TYPE_DOUBLE},
        {.data = rcond, .type = ESP_TYPE_DOUBLE}};
    grpc_error_t made = server ? grpc_function_handle_init(&handle, (char *)server, name)
                               : grpc_function_handle_default(&handle, name);
    if (made != GRPC_NO_ERROR)
        return false;
    bool told = esp_call(&handle, arguments, 3, NULL, NULL) == ESP_OK;
    grpc_function_handle_destruct(&handle);
    return told;
}

void condition_look(const char *server, const struct matrix *a, bool is_single, char text[CONDITION_TEXT])
{
    double rcond = 1;
    text[0] = 0;
    if (matrix_is_sparse(a) || a->rows != a->cols || a->rows == 0 || a->rows > MOST_COLUMNS ||
        !ask(server, a, &rcond) || rcond >= (is_single ? FLT_EPSILON : DBL_EPSILON))
        return;
    snprintf(text, CONDITION_TEXT,
             "warning: A is close to singular or badly scaled (rcond = %.2g): the solution may be inaccurate",
             rcond);
}
