/* SPDX-License-Identifier: Apache-2.0
 *
 * What is to be seen of it: its health, its metrics.
 */
#include "redirector/redirector_internal.h"

#include <stdio.h>

bool redirector_health(void *self, char *text, size_t size)
{
    struct redirector *r = self;
    endpoint_enter(r->endpoint);
    const size_t n = children_count(r->children);
    endpoint_leave(r->endpoint);
    if (n > 0)
        snprintf(text, size, "redirector, %zu master agents", n);
    else
        snprintf(text, size, "redirector, no master agent has registered");
    return n > 0;
}

void redirector_metrics(void *self, struct metrics *metrics)
{
    struct redirector *r = self;
    uint32_t servers = 0;
    endpoint_enter(r->endpoint);
    for (struct child *child = children_first(r->children); child; child = child->hh.next)
        servers += ((const struct master *)child->data)->servers;
    metrics_gauge(metrics, "espalier_redirector_masters", (double)children_count(r->children),
                  "Master agents that are registered.");
    metrics_gauge(metrics, "espalier_redirector_servers", servers, "Servers below all of them.");
    metrics_counter(metrics, "espalier_redirector_clients_total", (double)r->clients,
                    "Clients that were sent to a master agent.");
    metrics_counter(metrics, "espalier_redirector_refused_total", (double)r->refused,
                    "Clients that came when there was no master agent.");
    metrics_counter(metrics, "espalier_redirector_masters_lost_total", (double)r->lost,
                    "Times that a master agent left, died or fell silent.");
    endpoint_leave(r->endpoint);
}
