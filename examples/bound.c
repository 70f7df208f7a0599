/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls bound to servers: the same product on each server of the hierarchy, and what each took for it.
 *
 *     cc bound.c $(pkg-config --cflags --libs espalier) -o bound && ./bound
 */
#include <espalier.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 200 };

static int multiply_on(const char *server, const double *a, const double *b, double *c)
{
    grpc_function_handle_t handle;
    struct esp_session_info *info;
    if (grpc_function_handle_init(&handle, (char *)server, "dgemm") != GRPC_NO_ERROR) {
        fprintf(stderr, "%s: %s\n", server, esp_last_error()->text);
        return 0;
    }
    grpc_error_t error = grpc_call(&handle, 'N', 'N', N, N, N, 1.0, a, b, 0.0, c);
    if (error != GRPC_NO_ERROR)
        fprintf(stderr, "%s: %s\n", server, esp_last_error()->text);
    else if (esp_last_session_info(&info) == ESP_OK) {
        printf("%-12s %8.3f ms computing, %8.3f ms in all\n", info->server, info->compute_s * 1e3,
               info->total_s * 1e3);
        esp_session_info_free(info);
    }
    grpc_function_handle_destruct(&handle);
    return error == GRPC_NO_ERROR && c[0] == N;
}

int main(void)
{
    struct esp_node *nodes;
    size_t n;
    int right = 1;
    double *a = malloc(sizeof *a * N * N), *c = malloc(sizeof *c * N * N);
    for (int i = 0; i < N * N; i++)
        a[i] = 1;
    if (grpc_initialize(NULL) != GRPC_NO_ERROR || esp_tree(NULL, &nodes, &n) != ESP_OK) {
        fprintf(stderr, "%s\n", esp_last_error()->text);
        return 1;
    }
    for (size_t i = 0; i < n; i++)
        if (nodes[i].role == ESP_ROLE_SERVER)
            right &= multiply_on(nodes[i].name, a, a, c);
    esp_tree_free(nodes);
    grpc_finalize();
    free(a);
    free(c);
    return right ? 0 : 1;
}
