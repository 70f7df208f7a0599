/* SPDX-License-Identifier: Apache-2.0 */
#include "redirector/redirector_internal.h"

#include <stdlib.h>
#include <string.h>

#define MASTERS_MOST 1000
/* Masters that were registered with an earlier life of it, and lost it just now, say hello within this. */
#define EXPECTED_MS 1000

/* ---- orders ---- */

static const char *own_address(void *self)
{
    const struct redirector *r = self;
    return endpoint_address(r->endpoint);
}

static void moved(void *self)
{
    (void)self; /* it has no parent */
}

static void told(void *self, const char *verb, enum esp_status status, const char *text)
{
    (void)self;
    log_notice("%s: %s%s%s", verb, status == ESP_OK ? "done" : "not done", *text ? ", " : "", text);
}

static const struct duty_ops duty_ops = {
    .own_address = own_address, .post = redirector_post, .moved = moved, .told = told};

static enum esp_status create_duty(struct redirector *r, const struct redirector_options *options,
                                   struct esp_error *error)
{
    const struct duty_options duty = {
        .name = r->name,
        .administrators = options->administrators,
        .control = options->control,
        .reports = options->control != NULL,
        .membership = {.role = ROLE_REDIRECTOR, .clock = r->clock},
        .tie = &r->no_tie,
        .self = r,
    };
    return duty_init(&r->duty, &duty, &duty_ops, error);
}

static void administer(struct redirector *r, struct call *call, const struct administer *asked)
{
    struct esp_error error;
    enum esp_status status = duty_permits(&r->duty, call_envelope(call), asked->verb, &error);
    if (status == ESP_OK && *asked->node && strcmp(asked->node, r->name) != 0)
        status = error_set(&error, ESP_NOT_FOUND,
                           "\"%s\" is a redirector: orders for \"%s\" go to its master agent", r->name,
                           asked->node);
    if (status == ESP_OK)
        duty_call(&r->duty, call, asked);
    else
        call_reply(call, message_failure(MESSAGE_ADMINISTER_REPLY, status, "%s", error.text));
}

/* ---- the endpoint ---- */

static void on_post(void *self, const struct envelope *envelope, const struct message *message)
{
    struct redirector *r = self;
    children_post(r->children, envelope, message);
}

static void on_undelivered(void *self, const char *address, const struct esp_error *why)
{
    struct redirector *r = self;
    if (why->status == ESP_TIMEOUT)
        return; /* it is connected and slow: for silence there is a patience of its own */
    children_undelivered(r->children, address);
}

static void on_hung_up(void *self, const struct envelope *from)
{
    struct redirector *r = self;
    children_hung_up(r->children, from);
}

static void on_call(void *self, struct call *call, const struct message *request)
{
    struct redirector *r = self;
    switch (request->kind) {
    case MESSAGE_LOCATE:
        call_reply(call, answer_locate(r, &request->locate));
        return;
    case MESSAGE_GREET:
        call_reply(call, answer_greet(r, &request->greet));
        return;
    case MESSAGE_ADMINISTER:
        administer(r, call, &request->administer);
        return;
    case MESSAGE_TREE:
        call_reply(call, answer_tree(r, request->tree.node));
        return;
    default:
        call_reply(call, message_failure(message_reply_kind(request->kind), ESP_INVALID,
                                         "\"%s\" is a redirector: ask a master agent for %s", r->name,
                                         message_name(request->kind)));
    }
}

static int64_t on_due(void *self)
{
    struct redirector *r = self;
    return r->told ? children_due(r->children) : 0;
}

static void on_tick(void *self)
{
    struct redirector *r = self;
    children_tick(r->children);
    if (!r->told)
        children_welcome_all(r->children);
    r->told = true;
}

static const struct endpoint_ops endpoint_ops = {
    .post = on_post,
    .undelivered = on_undelivered,
    .hung_up = on_hung_up,
    .call = on_call,
    .due = on_due,
    .tick = on_tick,
};

/* ---- life and death ---- */

static void redirector_free(struct redirector *r)
{
    masters_clear(r);
    duty_release(&r->duty);
    free(r->name);
    free(r);
}

static int64_t lease_ms(const struct redirector_options *options)
{
    return options->lease_ms ? options->lease_ms : 8000;
}

static int64_t heartbeat_ms(const struct redirector_options *options)
{
    return options->heartbeat_ms ? options->heartbeat_ms : 2000;
}

static int64_t sure_ns(const struct redirector_options *options)
{
    return 3 * lease_ms(options) * NS_PER_MS / 2;
}

enum esp_status redirector_create(const struct redirector_options *options, struct transport *transport,
                                  struct redirector **created, struct esp_error *error)
{
    struct redirector *r = calloc(1, sizeof *r);
    if (!r || !(r->name = strdup(options->name))) {
        free(r);
        return error_no_memory(error, "a redirector");
    }
    r->incarnation = options->incarnation;
    r->clock = transport_clock(transport);
    r->learned_ns =
        clock_now_ns(r->clock) +
        (options->learning_ms ? options->learning_ms + MEMBERSHIP_RETRY_MOST_MS : EXPECTED_MS) * NS_PER_MS;
    struct children_options children = {
        .name = r->name,
        .role = ROLE_REDIRECTOR,
        .roles = 1U << ROLE_MASTER,
        .most = options->masters ? options->masters : MASTERS_MOST,
        .lease_ms = lease_ms(options),
        .heartbeat_ms = heartbeat_ms(options),
        .clock = transport_clock(transport),
    };
    r->sure_ns = sure_ns(options);
    struct endpoint_options endpoint_options = {
        .name = r->name,
        .role = ROLE_REDIRECTOR,
        .incarnation = options->incarnation,
        .listen = options->listen,
    };
    struct endpoint *endpoint = NULL;
    enum esp_status status = masters_create(r, &children, error);
    if (status == ESP_OK)
        status = create_duty(r, options, error);
    if (status == ESP_OK)
        status = transport_serve(transport, &endpoint_options, &endpoint_ops, r, &endpoint, error);
    if (status != ESP_OK) {
        redirector_free(r);
        return status;
    }
    endpoint_enter(endpoint);
    r->endpoint = endpoint;
    endpoint_leave(endpoint);
    *created = r;
    return ESP_OK;
}

const char *redirector_address(const struct redirector *r)
{
    return endpoint_address(r->endpoint);
}

void redirector_reloaded(struct redirector *r, const struct redirector_options *now,
                         const struct esp_error *error, const char *pending)
{
    endpoint_enter(r->endpoint);
    if (now) {
        r->duty.options.administrators = now->administrators;
        children_set_terms(r->children, lease_ms(now), heartbeat_ms(now));
        r->sure_ns = sure_ns(now);
    }
    duty_reloaded(&r->duty, now ? ESP_OK : error->status, error, pending, "");
    endpoint_leave(r->endpoint);
}

void redirector_stop(struct redirector *r, const char *reason)
{
    if (!r)
        return;
    endpoint_enter(r->endpoint);
    children_dismiss(r->children, reason);
    endpoint_leave(r->endpoint);
    endpoint_close(r->endpoint);
    redirector_free(r);
}
