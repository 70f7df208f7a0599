/* SPDX-License-Identifier: Apache-2.0
 *
 * avail_steps SERVER [OTHER]: which part of its speed fast_avail() says that a server has now; and whether
 * data take a while from it to another one on the same host, longer ones more (t0632-weather.t).
 */
#include "fast.h"
#include "grpc.h"
#include "tests/e2e/must.h"

#include <stdlib.h>
#include <string.h>

static int move_on_host(const char *from, const char *to)
{
    double short_s, long_s, rate_bps, latency_s;
    MUST(fast_comm_time(from, to, 1000000, &short_s));
    MUST(fast_comm_time(from, to, 100000000, &long_s));
    MUST(fast_avail(FAST_BANDWIDTH, from, to, &rate_bps));
    HOLDS(short_s > 0 && long_s > 10 * short_s && long_s < 10);
    HOLDS(rate_bps > 1e7 && rate_bps < 1e12);
    MUST(fast_avail(FAST_LATENCY, from, to, &latency_s));
    HOLDS(latency_s > 0 && latency_s < 0.1);
    MUST(fast_comm_time(from, to, 1, &short_s));
    HOLDS(short_s >= latency_s);
    MUST(fast_comm_time(from, from, 1000000, &short_s));
    HOLDS(short_s == 0);
    return 0;
}

int main(int argc, char **argv)
{
    struct esp_node *nodes;
    double flops, speed_flops = 0;
    size_t n;
    HOLDS(argc == 2 || argc == 3);
    MUST(grpc_initialize(getenv("ESPALIER_CONFIG")));
    MUST(esp_tree(NULL, &nodes, &n));
    for (size_t i = 0; i < n; i++)
        if (strcmp(nodes[i].name, argv[1]) == 0)
            speed_flops = nodes[i].speed_flops;
    esp_tree_free(nodes);
    MUST(fast_avail(FAST_FLOP, argv[1], NULL, &flops));
    HOLDS(speed_flops > 0);
    HOLDS(fast_avail(FAST_BANDWIDTH, argv[1], NULL, &flops) == ESP_INVALID);
    HOLDS(strstr(esp_last_error()->text, "found NULL as the destination") != NULL);
    HOLDS(fast_avail(FAST_LATENCY, argv[1], "nowhere", &flops) == ESP_NOT_FOUND);
    HOLDS(strstr(esp_last_error()->text, "no node \"nowhere\"") != NULL);
    if (argc == 3 && move_on_host(argv[1], argv[2]) != 0)
        return 1;
    printf("%.3f\n", flops / speed_flops);
    MUST(grpc_finalize());
    return 0;
}
