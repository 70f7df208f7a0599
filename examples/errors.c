/* SPDX-License-Identifier: Apache-2.0
 *
 * What can go wrong and how a program hears of it: codes for decisions, texts for people, deadlines.
 *
 *     cc errors.c $(pkg-config --cflags --libs espalier) -o errors && ./errors
 */
#include <espalier.h>

#include <stdio.h>

/* GridRPC's code says what to do, esp_last_error() what happened. */
static void tell(const char *what, grpc_error_t error)
{
    printf("%s: %s", what, grpc_error_string(error));
    if (error != GRPC_NO_ERROR)
        printf(" (%s)", esp_last_error()->text);
    printf("\n");
}

int main(void)
{
    grpc_function_handle_t handle;
    double matrix[4] = {1, 2, 2, 4}, b[2] = {1, 2}; /* singular: the columns are multiples of each other */
    int pivots[2];

    grpc_error_t error = grpc_initialize(NULL);
    if (error != GRPC_NO_ERROR) {
        tell("initialize", error);
        return 1;
    }
    tell("a problem that nobody has", grpc_function_handle_default(&handle, "frobnicate"));
    tell("a server that is not there", grpc_function_handle_init(&handle, "no-such-server", "dgesv"));

    error = grpc_function_handle_default(&handle, "dgesv");
    tell("a handle", error);
    if (error != GRPC_NO_ERROR)
        return 1;
    tell("a negative size", grpc_call(&handle, -1, 1, matrix, pivots, b));
    tell("a matrix that is missing", grpc_call(&handle, 2, 1, NULL, pivots, b));
    tell("a singular matrix", grpc_call(&handle, 2, 1, matrix, pivots, b));

    /* The same from a session: the error stays with its id. */
    grpc_sessionid_t session, failed;
    double again[4] = {1, 2, 2, 4};
    esp_handle_set_deadline(&handle, 60);
    error = grpc_call_async(&handle, &session, 2, 1, again, pivots, b);
    if (error == GRPC_NO_ERROR && grpc_wait(session) == GRPC_SESSION_FAILED) {
        tell("a session", grpc_get_error(session));
        while (grpc_get_failed_sessionid(&failed) == GRPC_NO_ERROR && failed != GRPC_SESSIONID_VOID)
            printf("session %d failed\n", failed);
    }
    grpc_function_handle_destruct(&handle);
    tell("a handle that is no more", grpc_call(&handle, 2, 1, matrix, pivots, b));
    return grpc_finalize() == GRPC_NO_ERROR ? 0 : 1;
}
