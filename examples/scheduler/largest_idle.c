/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduler of a site's own: short computations go wherever they end first, long ones to a server that is
 * idle, even if it is not the fastest.
 *
 *     cc -shared -fPIC -o largest_idle.so largest_idle.c
 *
 * and in the file of the agent: scheduler = "/path/to/largest_idle.so"
 */
#include <espalier_scheduler.h>

#define LONG_S 60.0

static double score(const struct esp_server_view *view)
{
    double busy_s = view->compute_s > LONG_S ? 10 * view->wait_s : 0;
    return view->complete_s + busy_s;
}

static const struct esp_scheduler scheduler = {
    .version = ESP_SCHEDULER_VERSION,
    .name = "largest-idle",
    .text = "where the result is expected first; long computations avoid servers with a queue",
    .score = score,
};

const struct esp_scheduler *espalier_scheduler(void)
{
    return &scheduler;
}
