/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-agent: a leader agent when its file names a parent, else a master agent.
 */
#include "agent/agent.h"
#include "agent/directory_parents.h"
#include "orb/orb.h"
#include "services/daemon.h"
#include "services/nws/links.h"
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

/* Forecasts do without links that are not measured. */
static void open_links(const struct settings_agent *settings, struct links **links)
{
    const struct settings_node *node = &settings->node;
    const struct links_options options = {.name = node->name,
                                          .listen = node->listen,
                                          .publish = node->publish,
                                          .probe = node->probe,
                                          .state_dir = node->state_dir,
                                          .tls = {node->tls.ca, node->tls.certificate, node->tls.key},
                                          .every_ns = node->probe_every_ns};
    struct esp_error error;
    if (links_create(&options, links, &error) != ESP_OK)
        log_warning("links are not measured: %s", error.text);
}

static void tell_links(void *links, struct outlook_page *page)
{
    links_tell(links, page);
}

static void start_links(struct links *links, struct agent *agent)
{
    const struct links_ops ops = {agent, agent_parent, agent_to_parent, agent_between, NULL};
    const struct duty_weather weather = {tell_links, links};
    struct esp_error error;
    agent_set_weather(agent, &weather);
    if (links_start(links, &ops, &error) != ESP_OK)
        log_warning("links are not measured: %s", error.text);
}

static bool reload(void *arg, const struct daemon_reload *read)
{
    return agent_reload_configured(arg, read->settings ? &read->settings->agent : NULL, read->error,
                                   read->pending);
}

struct search {
    struct settings_agent *settings;
    bool again;
};

static enum esp_status look_for_parents(void *self, struct esp_error *error)
{
    struct search *search = self;
    enum esp_status status = agent_directory_parents(search->settings, search->again, error);
    search->again = true;
    return status;
}

/* Without them it would become a master agent by mistake. */
static enum esp_status find_parents(struct settings_agent *settings, struct daemon *daemon, bool *ends,
                                    struct esp_error *error)
{
    struct search search = {settings, false};
    const struct daemon_need need = {&search, "the directory, which may name agents to join",
                                     look_for_parents, agent_directory_patience_ns(settings)};
    return daemon_await(daemon, &need, ends, error);
}

static enum esp_status serve(const struct settings_agent *settings, struct daemon *daemon,
                             struct esp_error *error)
{
    struct transport *transport = NULL;
    struct agent *agent = NULL;
    struct links *links = NULL;
    struct directory_look_out *look_out = NULL;
    enum esp_status status = open_transport(&settings->node, &transport, error);
    open_links(settings, &links);
    if (status == ESP_OK)
        status = agent_create_configured(settings, daemon_incarnation(), links_url(links), transport, &agent,
                                         error);
    const struct daemon_node node = {agent, agent_health, agent_metrics, agent_settled};
    if (status == ESP_OK)
        status = daemon_watch(daemon, &node, error);
    if (status == ESP_OK)
        status = daemon_ready(daemon, agent_address(agent), error);
    if (status == ESP_OK)
        start_links(links, agent);
    if (status == ESP_OK) {
        look_out = agent_directory_look_out(settings, agent);
        daemon_wait(daemon, reload, agent);
        agent_set_weather(agent, &(struct duty_weather){0});
    }
    agent_directory_look_out_destroy(look_out);
    links_destroy(links);
    agent_stop(agent, "the agent stops");
    transport_destroy(transport);
    return status;
}

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    struct daemon_arguments arguments = {
        .program = "espalier-agent",
        .text = "Chooses servers for requests, among those below it.",
        .path = ESP_SYSCONFDIR "/agent.conf",
        .drops_variable = orb_reads_variable,
    };
    struct settings_agent settings;
    struct daemon *daemon = NULL;
    struct esp_error error;
    int exit_code = 0;
    bool ends = false;
    if (!daemon_parse_arguments(argc, argv, &arguments, &exit_code))
        return exit_code;
    if (settings_load_agent(arguments.path, &settings, &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    daemon_take_addresses(&settings.node, &settings.arena);
    enum esp_status status = daemon_start(&arguments, &settings.node, &daemon, &error);
    if (status == ESP_OK)
        status = find_parents(&settings, daemon, &ends, &error);
    if (status == ESP_OK && !ends)
        status = serve(&settings, daemon, &error);
    if (status != ESP_OK)
        exit_code = daemon_failed(&arguments, &error);
    daemon_stop(daemon);
    settings_destroy(&settings.arena);
    return daemon_end(argv, exit_code);
}
