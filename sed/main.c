/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-sed: the front of one computational server.
 */
#include "orb/orb.h"
#include "sed/service.h"
#include "services/daemon.h"
#include "util/standard_files.h"

static enum esp_status open_transport(const struct settings_node *node, struct transport **transport,
                                      struct esp_error *error)
{
    const struct orb_options options = {
        .tls_ca = node->tls.ca,
        .tls_certificate = node->tls.certificate,
        .tls_key = node->tls.key,
        .insecure = node->insecure,
        .connections = (unsigned)node->connections,
        .connections_per_peer = (unsigned)node->connections_per_peer,
        .message_bytes = node->message_bytes,
        .connect_timeout_ms = node->connect_timeout_ns / 1000000,
        .first_message_ms = node->first_message_timeout_ns / 1000000,
        .stalled_ms = node->stall_timeout_ns / 1000000,
    };
    return orb_open(&options, transport, error);
}

static bool reload(void *arg, const struct daemon_reload *read)
{
    return service_reload(arg, read->settings ? &read->settings->sed : NULL, read->error, read->pending);
}

static enum esp_status serve(const struct settings_sed *settings, struct daemon *daemon,
                             struct esp_error *error)
{
    struct transport *transport = NULL;
    struct service *service = NULL;
    /* Workers before the ORB: their spawner is forked from a process with one thread. */
    enum esp_status status = service_prepare(settings, &service, error);
    if (status == ESP_OK)
        status = open_transport(&settings->node, &transport, error);
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

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    struct daemon_arguments arguments = {
        .program = "espalier-sed",
        .text = "Solves problems that descriptions tell of, in worker processes.",
        .path = ESP_SYSCONFDIR "/sed.conf",
        .drops_variable = orb_reads_variable,
    };
    struct settings_sed settings;
    struct daemon *daemon = NULL;
    struct esp_error error;
    int exit_code = 0;
    if (!daemon_parse_arguments(argc, argv, &arguments, &exit_code))
        return exit_code;
    if (settings_load_sed(arguments.path, &settings, &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    daemon_take_addresses(&settings.node, &settings.arena);
    enum esp_status status = daemon_start(&arguments, &settings.node, &daemon, &error);
    if (status == ESP_OK)
        status = serve(&settings, daemon, &error);
    if (status != ESP_OK)
        exit_code = daemon_failed(&arguments, &error);
    daemon_stop(daemon);
    settings_destroy(&settings.arena);
    return daemon_end(argv, exit_code);
}
