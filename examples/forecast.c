/* SPDX-License-Identifier: Apache-2.0
 *
 * What calls would take, without making them: a table of all servers, and the order from which on a program's
 * own loop is slower than a server.
 *
 *     cc forecast.c $(pkg-config --cflags --libs espalier) -o forecast && ./forecast
 */
#include <fast.h>

#include <stdio.h>

/* What this machine takes for an elimination of its own, about: operations in a second. */
#define OWN_FLOPS 1e9

static int show_servers(const struct fast_call *call)
{
    struct fast_server *servers;
    size_t n;
    if (fast_forecast(call, &servers, &n) != ESP_OK) {
        fprintf(stderr, "%s\n", esp_last_error()->text);
        return 1;
    }
    for (size_t i = 0; i < n; i++)
        if (servers[i].excluded)
            printf("%-12s excluded: %s\n", servers[i].server, servers[i].excluded);
        else
            printf("%-12s %.3g s, of which transfers %.3g s and queue %.3g s; computation +- %.2g s; %.1f "
                   "MB%s\n",
                   servers[i].server, servers[i].total_s, servers[i].transfer_s, servers[i].queue_s,
                   servers[i].error_s, (double)servers[i].memory_bytes / 1e6,
                   servers[i].ground == FAST_NOT_MEASURED ? " (not measured)" : "");
    fast_forecast_free(servers);
    return 0;
}

int main(void)
{
    struct fast_value sizes[] = {{"n", 1000}, {"nrhs", 1}};
    const struct fast_call call = {"dgesv", sizes, 2};
    if (grpc_initialize(NULL) != GRPC_NO_ERROR) {
        fprintf(stderr, "%s\n", esp_last_error()->text);
        return 1;
    }
    int code = show_servers(&call);
    for (int n = 16; code == 0 && n <= 4096; n *= 2) {
        double flop, seconds, error_s;
        sizes[0].value = n;
        if (fast_need(FAST_FLOP, &call, &flop) != ESP_OK ||
            fast_comp_time(NULL, &call, &seconds, &error_s) != ESP_OK) {
            fprintf(stderr, "n = %d: %s\n", n, esp_last_error()->text);
            code = 1;
        } else if (flop / OWN_FLOPS > seconds + error_s) {
            printf("from about n = %d on, a server solves a system sooner\n", n);
            break;
        }
    }
    grpc_finalize();
    return code;
}
