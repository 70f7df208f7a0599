/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent_internal.h"
#include "agent/peers.h"

#include "core/choice/terms.h"

#include <stdlib.h>
#include <string.h>

void agent_post(void *self, const char *address, uint64_t to_incarnation, const struct message *message)
{
    struct agent *agent = self;
    struct esp_error error;
    if (!agent->endpoint)
        return; /* not open yet: the caller asks again */
    if (endpoint_post(agent->endpoint, address, to_incarnation, message, &error) != ESP_OK)
        log_warning("cannot send %s to %s: %s", message_name(message->kind), address, error.text);
}

struct node_record agent_own_record(const struct agent *agent)
{
    const char *parent =
        agent->membership ? membership_parent_name(agent->membership) : registered_name(agent);
    static struct extension loopback_only = {EXTENSION_LOOPBACK_ONLY, (const uint8_t *)"", 0};
    return (struct node_record){
        .extensions = {&loopback_only, agent->options.loopback_only},
        .name = agent->name,
        .parent = parent ? parent : "",
        .address = agent->endpoint ? endpoint_address(agent->endpoint) : "",
        .role = agent->is_master ? ROLE_MASTER : ROLE_LEADER,
        .incarnation = agent->options.incarnation,
        .draining = agent->duty.place.draining,
        .link = agent->link,
    };
}

/* Whether the session was refused before with this status. Remembers the refusal. */
static bool was_refused(struct agent *agent, const struct session_id *session, enum esp_status status)
{
    if (session->sequence == 0)
        return false; /* not about a session */
    for (uint32_t i = 0; i < REFUSALS; i++)
        if (agent->refusals[i].status == status && session_id_equal(&agent->refusals[i].session, session))
            return true;
    agent->refusals[agent->next_refusal++ % REFUSALS] = (struct told_refusal){*session, status};
    return false;
}

void agent_refuse(struct agent *agent, struct call *call, const struct submit *submit,
                  const struct esp_error *error)
{
    const struct message asked = {.kind = MESSAGE_SUBMIT, .submit = *submit};
    const struct request *request = &submit->request;
    char text[SESSION_TEXT];
    const int64_t now_ns = agent_now(agent);
    if (peers_is_sooner(request)) { /* the peer that asks has a server for the request */
        peers_reply(agent, call, &asked,
                    message_failure(MESSAGE_SUBMIT_REPLY, ESP_NO_SERVER, "no sooner end"));
        return;
    }
    status_count(&agent->counts.refused, error->status);
    trace_note(&agent->duty.trace, &request->session, TRACE_REFUSED, now_ns, now_ns,
               esp_status_string(error->status));
    const bool again = was_refused(agent, &request->session, error->status);
    if (again ? log_wants(LOG_DEBUG_LEVEL) : log_quota_take(&agent->refused_lines, now_ns))
        log_write(again ? LOG_DEBUG_LEVEL : LOG_NOTICE_LEVEL, session_id_text(&request->session, text),
                  "refused: %s", error->text);
    struct message *reply = message_failure(MESSAGE_SUBMIT_REPLY, error->status, "%s", error->text);
    const uint32_t mark = error->status == ESP_UNREACHABLE ? awaited_mark(agent, request) : 0;
    if (reply && mark)
        extension_add(&reply->submit_reply.extensions, mark, "", 0, &reply->arena);
    peers_reply(agent, call, &asked, reply);
}

/* ---- operations of the endpoint ---- */

/* `tie`: the membership with the parent that sent the message; NULL: this agent has no parent. */
static void from_parent(struct agent *agent, const struct membership *tie, const struct envelope *envelope,
                        const struct message *message)
{
    if (!up_is_parent(tie, envelope)) {
        log_debug("%s from \"%s\" dropped: it is neither parent nor child", message_name(message->kind),
                  envelope->from);
        return;
    }
    if (message->kind == MESSAGE_ASK)
        question_on_ask(agent, tie, envelope, &message->ask);
    else if (message->kind == MESSAGE_PLACE)
        submit_on_place(agent, &message->place);
    else if (message->kind == MESSAGE_WANT)
        up_on_want(agent, tie, &message->want);
    else if (message->kind == MESSAGE_ORDER)
        administer_on_order(agent, tie, envelope, &message->order);
}

static void on_post(void *self, const struct envelope *envelope, const struct message *message)
{
    struct agent *agent = self;
    if (children_post(agent->children, envelope, message))
        return;
    duty_post(&agent->duty, envelope, message);
    if (agent->membership && membership_post(agent->membership, envelope, message))
        return;
    if (registered_post(agent, envelope, message))
        return;
    switch (message->kind) {
    case MESSAGE_OBEYED:
        if (children_speaker(agent->children, envelope))
            administer_on_obeyed(agent, &message->obeyed);
        return;
    case MESSAGE_PASS:
        passed_on_pass(agent, envelope, &message->pass);
        return;
    case MESSAGE_PASSED:
        if (message->passed.what == PASS_GIVEN_UP && agent->is_master)
            given_up_peers_on_passed(agent, envelope, &message->passed);
        else
            peers_on_passed(agent, envelope, &message->passed);
        return;
    case MESSAGE_ANSWER:
        question_on_answer(agent, envelope, message);
        return;
    case MESSAGE_CATALOG:
        if (children_speaker(agent->children, envelope))
            down_on_catalog(agent, &message->catalog);
        return;
    case MESSAGE_TEXTS:
        if (children_speaker(agent->children, envelope))
            down_on_texts(agent, &message->texts);
        return;
    default:
        break;
    }
    /* While the agent moves to another parent, it still answers the old parent. */
    const struct membership *old = handover_speaker(&agent->duty.handover, envelope);
    from_parent(agent, old ? old : agent->membership, envelope, message);
}

static void on_undelivered(void *self, const char *address, const struct esp_error *why)
{
    struct agent *agent = self;
    if (why->status == ESP_TIMEOUT)
        return; /* it is connected but slow: the lease decides when it counts as lost */
    children_undelivered(agent->children, address);
    duty_undelivered(&agent->duty, address, why);
    if (agent->membership)
        membership_undelivered(agent->membership, address, why);
    registered_undelivered(agent, address, why);
    peers_undelivered(agent, address);
}

static void on_hung_up(void *self, const struct envelope *from)
{
    struct agent *agent = self;
    children_hung_up(agent->children, from);
    if (agent->membership)
        membership_hung_up(agent->membership, from);
    registered_hung_up(agent, from);
}

void agent_on_call(void *self, struct call *call, const struct message *request)
{
    struct agent *agent = self;
    if (request->kind == MESSAGE_SUBMIT)
        submit_on_call(agent, call, &request->submit);
    else if (request->kind == MESSAGE_ADMINISTER)
        administer_on_call(agent, call, &request->administer);
    else
        queries_on_call(agent, call, request);
}

void agent_abandon(void *self, struct call *call)
{
    if (!queries_abandon(self, call) && !administer_abandon(self, call) && !learning_abandon(self, call) &&
        !peers_abandon(self, call))
        question_abandon(self, call);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t on_due(void *self)
{
    struct agent *agent = self;
    int64_t due = earlier(children_due(agent->children), knowledge_due(agent->knowledge));
    due = earlier(due, duty_due(&agent->duty));
    due = earlier(due, registered_due(agent));
    due = earlier(due, returning_due(&agent->returning));
    due = earlier(due, earlier(timers_next_ns(&agent->timers), agent->announce_ns));
    return agent->membership ? earlier(due, membership_due(agent->membership)) : due;
}

static void on_tick(void *self)
{
    struct agent *agent = self;
    children_tick(agent->children);
    knowledge_tick(agent->knowledge);
    returning_tick(&agent->returning, agent_now(agent));
    timers_run(&agent->timers, agent_now(agent));
    if (agent_now(agent) >= agent->announce_ns)
        submit_announce(agent);
    duty_tick(&agent->duty); /* it may change the membership */
    if (agent->membership)
        membership_tick(agent->membership);
    registered_tick(agent);
}

static const struct endpoint_ops endpoint_ops = {
    .post = on_post,
    .undelivered = on_undelivered,
    .hung_up = on_hung_up,
    .call = agent_on_call,
    .abandoned = agent_abandon,
    .due = on_due,
    .tick = on_tick,
};

/* ---- creation and destruction ---- */

static enum esp_status build(struct agent *agent, const struct agent_options *options,
                             struct esp_error *error)
{
    agent->name = strdup(options->name);
    if (!agent->name)
        return error_no_memory(error, "an agent");
    enum esp_status status = renew_scheduler(agent, options->scheduler, error);
    if (status == ESP_OK)
        status = catalog_store_create(&agent->catalogs, error);
    if (status != ESP_OK)
        return status;
    agent->returning.catalogs = agent->catalogs;
    struct knowledge_options knowledge = {
        .name = agent->name,
        .clock = agent->clock,
        .catalogs = agent->catalogs,
        .track = !agent->is_master,
    };
    status = knowledge_create(&knowledge, &agent->knowledge, error);
    if (status == ESP_OK)
        status = data_create(agent, random_next(&agent->random), error);
    if (status == ESP_OK)
        status = data_given_up_create(agent, options, error);
    if (status == ESP_OK)
        status = down_create(agent, error);
    if (status == ESP_OK)
        status = up_create(agent, options, error);
    if (status == ESP_OK)
        status = registered_create(agent, options, error);
    if (status == ESP_OK)
        status = administer_create(agent, options, error);
    if (status == ESP_OK)
        status = learning_begin(agent, error);
    if (status == ESP_OK)
        awaited_begin(agent);
    return status;
}

static void agent_free(struct agent *agent)
{
    question_clear(agent);
    peers_clear(agent);
    passed_clear(agent);
    learning_clear(agent);
    queries_clear(agent);
    administer_clear(agent);
    timers_clear(&agent->timers);
    duty_release(&agent->duty);
    membership_destroy(agent->membership);
    registered_clear(agent);
    children_destroy(agent->children);
    data_clear(agent);
    data_given_up_clear(agent);
    absent_release(&agent->absentees);
    lost_problems_release(&agent->lost_problems);
    returning_release(&agent->returning);
    link_graph_clear(&agent->links);
    knowledge_destroy(agent->knowledge);
    catalog_store_destroy(agent->catalogs);
    index_search_release(&agent->search);
    scheduler_library_close(agent->library);
    free(agent->name);
    free(agent);
}

enum esp_status agent_create(const struct agent_options *options, struct transport *transport,
                             struct agent **created, struct esp_error *error)
{
    if (options->n_parents && options->n_redirectors)
        return error_set(error, ESP_CONFIG, "\"%s\" has a parent, so it is no master and has no redirector",
                         options->name);
    struct agent *agent = calloc(1, sizeof *agent);
    if (!agent)
        return error_no_memory(error, "an agent");
    agent->options = *options;
    renew_defaults(&agent->options);
    agent->is_master = options->n_parents == 0;
    agent->transport = transport;
    agent->clock = transport_clock(transport);
    agent->announce_ns = CLOCK_NEVER;
    agent->refused_lines = (struct log_quota){.most = SESSION_LINES, .what = "requests refused"};
    random_seed(&agent->random, options->seed ^ options->incarnation);
    enum esp_status status = build(agent, options, error);
    struct endpoint *endpoint = NULL;
    if (status == ESP_OK) {
        struct endpoint_options endpoint_options = {
            .name = agent->name,
            .role = agent->is_master ? ROLE_MASTER : ROLE_LEADER,
            .incarnation = options->incarnation,
            .listen = options->listen,
            .publish = options->publish,
        };
        status = transport_serve(transport, &endpoint_options, &endpoint_ops, agent, &endpoint, error);
    }
    if (status != ESP_OK) {
        agent_free(agent);
        return status;
    }
    endpoint_enter(endpoint);
    agent->endpoint = endpoint;
    if (agent->membership)
        membership_start(agent->membership, endpoint_address(endpoint));
    registered_start(agent, endpoint_address(endpoint));
    endpoint_leave(endpoint);
    *created = agent;
    return ESP_OK;
}

const char *agent_address(const struct agent *agent)
{
    return endpoint_address(agent->endpoint);
}

void agent_drop(struct agent *agent)
{
    if (!agent)
        return;
    endpoint_close(agent->endpoint);
    agent->endpoint = NULL;
    agent_free(agent);
}

void agent_stop(struct agent *agent, const char *reason)
{
    if (!agent)
        return;
    endpoint_enter(agent->endpoint);
    if (agent->membership)
        membership_leave(agent->membership, reason);
    registered_leave(agent, reason);
    children_dismiss(agent->children, reason);
    awaited_end(agent);
    endpoint_leave(agent->endpoint);
    agent_drop(agent);
}

void agent_figures(struct agent *agent, struct agent_figures *figures)
{
    endpoint_enter(agent->endpoint);
    *figures = (struct agent_figures){
        .children = children_count(agent->children),
        .nodes = knowledge_count(agent->knowledge),
        .pending = knowledge_pending(agent->knowledge),
        .questions = HASH_COUNT(agent->questions),
        .from_memory = agent->from_memory,
        .asked = agent->asked,
    };
    endpoint_leave(agent->endpoint);
}
