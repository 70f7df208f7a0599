/* SPDX-License-Identifier: Apache-2.0 */
#include "core/transport.h"

enum esp_status transport_serve(struct transport *transport, const struct endpoint_options *options,
                                const struct endpoint_ops *ops, void *self, struct endpoint **endpoint,
                                struct esp_error *error)
{
    return transport->ops->serve(transport, options, ops, self, endpoint, error);
}

void endpoint_close(struct endpoint *endpoint)
{
    if (endpoint)
        endpoint->transport->ops->close(endpoint);
}

const char *endpoint_address(const struct endpoint *endpoint)
{
    return endpoint->transport->ops->address(endpoint);
}

enum esp_status endpoint_post(struct endpoint *endpoint, const char *address, uint64_t to_incarnation,
                              const struct message *message, struct esp_error *error)
{
    return endpoint->transport->ops->post(endpoint, address, to_incarnation, message, error);
}

void endpoint_enter(struct endpoint *endpoint)
{
    endpoint->transport->ops->enter(endpoint);
}

void endpoint_leave(struct endpoint *endpoint)
{
    endpoint->transport->ops->leave(endpoint);
}

void call_reply(struct call *call, struct message *reply)
{
    call->endpoint->transport->ops->reply(call, reply);
}

const struct envelope *call_envelope(const struct call *call)
{
    return call->endpoint->transport->ops->envelope(call);
}

void call_set_data(struct call *call, void *data)
{
    call->data = data;
}

void *call_data(const struct call *call)
{
    return call->data;
}

void call_set_help(struct call *call, bool (*help)(void *arg, int64_t until_ns), void *arg)
{
    call->endpoint->transport->ops->set_help(call, help, arg);
}

enum esp_status transport_call(struct transport *transport, const char *address,
                               const struct message *request, int64_t timeout_ms, struct message *reply,
                               struct esp_error *error)
{
    enum esp_status status = transport->ops->call(transport, address, request, timeout_ms, reply, error);
    return status == ESP_OK ? message_outcome(reply, error) : status;
}

enum esp_status transport_put(struct transport *transport, const char *address, const struct message *header,
                              const void *data, int64_t timeout_ms, int64_t silence_ms,
                              struct esp_error *error)
{
    return transport->ops->put(transport, address, header, data, timeout_ms, silence_ms, error);
}

enum esp_status transport_get(struct transport *transport, const char *address, struct message *header,
                              void *data, uint64_t *moved, int64_t timeout_ms, int64_t silence_ms,
                              struct esp_error *error)
{
    return transport->ops->get(transport, address, header, data, moved, timeout_ms, silence_ms, error);
}

enum esp_status transport_lend(struct transport *transport, const char *address, const struct message *header,
                               int file, uint64_t offset, int64_t timeout_ms, bool *lent,
                               struct esp_error *error)
{
    *lent = false;
    if (!transport->ops->lend)
        return ESP_OK;
    return transport->ops->lend(transport, address, header, file, offset, timeout_ms, lent, error);
}

const struct clock *transport_clock(const struct transport *transport)
{
    return transport->clock;
}

void transport_destroy(struct transport *transport)
{
    if (transport)
        transport->ops->destroy(transport);
}

void transport_interrupt(struct transport *transport)
{
    if (transport->ops->interrupt)
        transport->ops->interrupt(transport);
}
