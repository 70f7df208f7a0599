/* SPDX-License-Identifier: Apache-2.0
 *
 * What administrators want of a server, and what it remembers of the sessions it had.
 */
#include "sed/server/accuracy.h"
#include "sed/server/server_state.h"

#include <string.h>

/* ---- orders ---- */

static const char *own_address(void *self)
{
    const struct server *server = self;
    return endpoint_address(server->endpoint);
}

static void post(void *self, const char *address, uint64_t to_incarnation, const struct message *message)
{
    const struct server *server = self;
    struct esp_error error;
    if (endpoint_post(server->endpoint, address, to_incarnation, message, &error) != ESP_OK)
        log_warning("a %s to %s: %s", message_name(message->kind), address, error.text);
}

static void drain(void *self, bool draining)
{
    struct server *server = self;
    server->draining = draining;
    membership_touch(server->membership, 0);
}

static void moved(void *self)
{
    (void)self; /* the new tie has told all */
}

static void told(void *self, const char *verb, enum esp_status status, const char *text)
{
    (void)self;
    log_notice("%s: %s%s%s", verb, status == ESP_OK ? "done" : "not done", *text ? ", " : "", text);
}

/* What only a server knows. */
static const char *ask(void *self, const char *verb, struct arena *arena)
{
    const struct server *server = self;
    if (strcmp(verb, "accuracy") != 0)
        return NULL;
    return server->accuracy ? accuracy_tell(server->accuracy, arena) : "";
}

static const struct duty_ops duty_ops = {
    .own_address = own_address, .post = post, .drain = drain, .moved = moved, .told = told, .ask = ask};

enum esp_status server_duty_create(struct server *server, struct esp_error *error)
{
    struct duty_options options = {
        .name = server->name,
        .state_dir = server->options.state_dir,
        .file_parent = server->options.file_parent,
        .administrators = server->options.administrators,
        .control = server->options.control,
        .check = server->options.check,
        .reports = server->options.control != NULL,
        .control_arg = server->options.control_arg,
        .tie = &server->membership,
        .self = server,
    };
    server_membership(server, &options.membership, &options.membership_ops);
    enum esp_status status = duty_init(&server->duty, &options, &duty_ops, error);
    server->draining = server->duty.place.draining;
    return status;
}

void server_set_weather(struct server *server, const struct duty_weather *weather)
{
    endpoint_enter(server->endpoint);
    server->duty.weather = *weather;
    endpoint_leave(server->endpoint);
}

void server_reloaded(struct server *server, enum esp_status status, const struct esp_error *error,
                     const char *pending)
{
    endpoint_enter(server->endpoint);
    duty_reloaded(&server->duty, status, error, pending);
    endpoint_leave(server->endpoint);
}

void server_set_administrators(struct server *server, const struct config_strings *administrators)
{
    endpoint_enter(server->endpoint);
    server->duty.options.administrators = administrators;
    endpoint_leave(server->endpoint);
}

void server_on_order(struct server *server, const struct envelope *envelope, const struct order *order)
{
    const char *parent = membership_parent_name(server->membership);
    if (parent && strcmp(parent, envelope->from) == 0 &&
        membership_parent_incarnation(server->membership) == envelope->from_incarnation &&
        strcmp(order->node, server->name) == 0)
        duty_order(&server->duty, membership_parent_address(server->membership), envelope, order);
}

/* A server has nothing below it; it does not move by itself, as only those above see the tree. */
void server_on_administer(struct server *server, struct call *call, const struct message *request)
{
    const struct administer *asked = &request->administer;
    struct esp_error error;
    enum esp_status status = duty_permits(&server->duty, call_envelope(call), asked->verb, &error);
    if (status == ESP_OK && *asked->node && strcmp(asked->node, server->name) != 0)
        status =
            error_set(&error, ESP_NOT_FOUND, "\"%s\" is a server: there is no node named \"%s\" below it",
                      server->name, asked->node);
    if (status == ESP_OK && strcmp(asked->verb, "move") == 0)
        status =
            error_set(&error, ESP_INVALID, "\"%s\" cannot move itself: ask an agent above it", server->name);
    if (status == ESP_OK)
        duty_call(&server->duty, call, asked);
    else
        call_reply(call, message_failure(MESSAGE_ADMINISTER_REPLY, status, "%s", error.text));
}

/* ---- what is remembered ---- */

static void note(struct server *server, const struct session *session, enum trace_what what, int64_t from_ns,
                 int64_t to_ns, const char *detail)
{
    if (from_ns && to_ns > from_ns)
        trace_note(&server->duty.trace, &session->id, what, from_ns, to_ns, detail);
}

void server_trace_end(struct server *server, const struct session *session)
{
    const int64_t ended_ns = session->ended_ns;
    note(server, session, TRACE_WAITED, session->arrived_ns,
         session->admitted_ns ? session->admitted_ns : ended_ns, "");
    note(server, session, TRACE_RECEIVED, session->admitted_ns,
         session->ready_ns ? session->ready_ns : ended_ns, "");
    note(server, session, TRACE_QUEUED, session->ready_ns,
         session->started_ns ? session->started_ns : ended_ns, "");
    if (session->state == SESSION_DONE)
        note(server, session, TRACE_COMPUTED, session->started_ns, ended_ns, session->problem->name);
    else
        trace_note(&server->duty.trace, &session->id, TRACE_FAILED,
                   session->started_ns ? session->started_ns : ended_ns, ended_ns,
                   esp_status_string(session->error.status));
}
