/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-agent: a leader agent if its file names a parent, else a master agent.
 */
#include "agent/agent.h"
#include "agent/directory_parents.h"
#include "daemon/program.h"
#include "services/nws/links.h"

/* Without measured links, forecasts go without them. */
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

/* Without parents the agent would wrongly become a master agent. */
static enum esp_status find_parents(union settings_any *settings, struct daemon *daemon, bool *ends,
                                    struct esp_error *error)
{
    struct search search = {&settings->agent, false};
    const struct daemon_need need = {&search, "the directory, which may name agents to join",
                                     look_for_parents, agent_directory_patience_ns(&settings->agent)};
    return daemon_await(daemon, &need, ends, error);
}

static enum esp_status serve(const union settings_any *all, struct daemon *daemon, struct esp_error *error)
{
    const struct settings_agent *settings = &all->agent;
    struct transport *transport = NULL;
    struct agent *agent = NULL;
    struct links *links = NULL;
    struct directory_look_out *look_out = NULL;
    enum esp_status status = daemon_open_transport(&settings->node, &transport, error);
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

const struct daemon_program daemon_program = {
    .name = "espalier-agent",
    .text = "Chooses servers for requests, among those below it.",
    .path = ESP_SYSCONFDIR "/agent.conf",
    .kind = SETTINGS_AGENT,
    .await = find_parents,
    .serve = serve,
};
