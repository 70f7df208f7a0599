/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-redirector: the one well-known address of a site.
 */
#include "daemon/program.h"
#include "redirector/redirector.h"

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

static enum esp_status serve(const union settings_any *all, struct daemon *daemon, struct esp_error *error)
{
    const struct settings_node *node = &all->redirector.node;
    struct transport *transport = NULL;
    struct redirector *redirector = NULL;
    const struct redirector_options options = options_of(node, daemon_incarnation());
    enum esp_status status = daemon_open_transport(node, &transport, error);
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

const struct daemon_program daemon_program = {
    .name = "espalier-redirector",
    .text = "Tells clients which master agent to use.",
    .path = ESP_SYSCONFDIR "/redirector.conf",
    .kind = SETTINGS_REDIRECTOR,
    .serve = serve,
};
