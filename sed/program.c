/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-sed: the front of one computational server.
 */
#include "daemon/program.h"
#include "sed/service.h"

static bool reload(void *arg, const struct daemon_reload *read)
{
    return service_reload(arg, read->settings ? &read->settings->sed : NULL, read->error, read->pending);
}

static enum esp_status serve(const union settings_any *all, struct daemon *daemon, struct esp_error *error)
{
    const struct settings_sed *settings = &all->sed;
    struct transport *transport = NULL;
    struct service *service = NULL;
    /* Workers before the ORB: their spawner is forked from a process with one thread. */
    enum esp_status status = service_prepare(settings, &service, error);
    if (status == ESP_OK)
        status = daemon_open_transport(&settings->node, &transport, error);
    if (status == ESP_OK)
        status = service_open(service, transport, daemon_incarnation(), error);
    const struct daemon_node node = {service, service_health, service_metrics, service_settled};
    if (status == ESP_OK)
        status = daemon_watch(daemon, &node, error);
    if (status == ESP_OK)
        status = daemon_ready(daemon, service_address(service), error);
    if (status == ESP_OK)
        daemon_wait(daemon, reload, service);
    service_close(service, daemon_runs_again());
    transport_destroy(transport);
    return status;
}

const struct daemon_program daemon_program = {
    .name = "espalier-sed",
    .text = "Solves problems that descriptions tell of, in worker processes.",
    .path = ESP_SYSCONFDIR "/sed.conf",
    .kind = SETTINGS_SED,
    .serve = serve,
};
