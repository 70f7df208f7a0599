/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-redirector: the one well-known address of a site.
 */
#include "orb/orb.h"
#include "redirector/redirector.h"
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

static struct redirector_options options_of(const struct settings_node *node, uint64_t incarnation)
{
    return (struct redirector_options){
        .name = node->name,
        .listen = node->listen,
        .publish = node->publish,
        .incarnation = incarnation,
        .heartbeat_ms = node->heartbeat_ns / 1000000,
        .lease_ms = node->lease_ns / 1000000,
        .learning_ms = node->heartbeat_ns * 3 / 2 / 1000000,
        .administrators = &node->administrators,
        .control = duty_signal,
    };
}

static bool reload(void *arg, const struct daemon_reload *read)
{
    struct redirector_options now;
    if (read->settings)
        now = options_of(&read->settings->redirector.node, 0);
    redirector_reloaded(arg, read->settings ? &now : NULL, read->error, read->pending);
    return read->settings != NULL;
}

static enum esp_status serve(const struct settings_node *node, struct daemon *daemon, struct esp_error *error)
{
    struct transport *transport = NULL;
    struct redirector *redirector = NULL;
    const struct redirector_options options = options_of(node, daemon_incarnation());
    enum esp_status status = open_transport(node, &transport, error);
    if (status == ESP_OK)
        status = redirector_create(&options, transport, &redirector, error);
    const struct daemon_node watched = {redirector, redirector_health, redirector_metrics, NULL};
    if (status == ESP_OK)
        status = daemon_watch(daemon, &watched, error);
    if (status == ESP_OK)
        status = daemon_ready(daemon, redirector_address(redirector), error);
    if (status == ESP_OK)
        daemon_wait(daemon, reload, redirector);
    redirector_stop(redirector, "the redirector stops");
    transport_destroy(transport);
    return status;
}

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    struct daemon_arguments arguments = {
        .program = "espalier-redirector",
        .text = "Tells clients which master agent to use.",
        .path = ESP_SYSCONFDIR "/redirector.conf",
        .drops_variable = orb_reads_variable,
    };
    struct settings_redirector settings;
    struct daemon *daemon = NULL;
    struct esp_error error;
    int exit_code = 0;
    if (!daemon_parse_arguments(argc, argv, &arguments, &exit_code))
        return exit_code;
    if (settings_load_redirector(arguments.path, &settings, &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    daemon_take_addresses(&settings.node, &settings.arena);
    enum esp_status status = daemon_start(&arguments, &settings.node, &daemon, &error);
    if (status == ESP_OK)
        status = serve(&settings.node, daemon, &error);
    if (status != ESP_OK)
        exit_code = daemon_failed(&arguments, &error);
    daemon_stop(daemon);
    settings_destroy(&settings.arena);
    return daemon_end(argv, exit_code);
}
