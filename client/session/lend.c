/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/lend.h"
#include "client/session/buffer.h"
#include "client/session/link.h"
#include "util/segment.h"

#include <string.h>
#include <unistd.h>

#define MOST_TRIES 3

static bool is_local(const char *address)
{
    return !strncmp(address, "127.", 4);
}

static const struct argument *argument_of(const struct invocation *invocation, const struct value *value)
{
    return &invocation->function->problem->arguments[value->index];
}

/* A server lets its worker write up to the end of a page only. Memory that the routine reads, or that may
 * have to be sent again, must not change meanwhile. */
static bool is_result_to_lend(const struct session *session, const struct value *value)
{
    const struct argument *argument = argument_of(&session->invocation, value);
    return value->form == VALUE_MEMORY && argument->mode == MODE_OUT && argument->n_dims > 0 && value->out &&
           !value->is_kept && value->bytes > session->engine->inline_bytes &&
           ((uintptr_t)value->out + value->bytes) % SEGMENT_PAGE == 0 &&
           buffer_holds(value->out, value->bytes) && !invocation_overwrites(&session->invocation, value);
}

bool lend_is_wanted(const struct session *session, const char *address)
{
    const struct invocation *invocation = &session->invocation;
    if (session->is_job || !is_local(address))
        return false;
    for (uint32_t i = 0; i < invocation->n_values; i++)
        if (is_result_to_lend(session, &invocation->values[i]))
            return true;
    return false;
}

/* If the server's answer is lost, the server may still have taken the memory; asked again, it says so. */
static enum esp_status offer(struct session *session, const struct message *header,
                             const struct buffer_place *place, bool *taken)
{
    enum esp_status status = ESP_MAYBE;
    for (int attempt = 0; attempt < MOST_TRIES && (status == ESP_MAYBE || status == ESP_TIMEOUT); attempt++) {
        struct esp_error error;
        status = transport_lend(session->engine->transport, session->link->address, header, place->file,
                                place->offset, session->engine->call_timeout_ms, taken, &error);
    }
    return status;
}

static void lend(struct session *session, struct value *value)
{
    bool write = !value->bulk;
    const void *memory = write ? value->out : value->in;
    struct buffer_place place;
    struct message header = {.kind = MESSAGE_PUT};
    header.chunk = (struct chunk){.session = session->id, .argument = value->index, .length = value->bytes};
    if (!buffer_lend(memory, value->bytes, write, &place))
        return;
    enum esp_status status = offer(session, &header, &place, &value->lent);
    close(place.file);
    value->lent = value->lent && status == ESP_OK;
    value->lent_out = write && value->lent;
    if (write && !value->lent)
        buffer_return(memory, status == ESP_OK);
}

void lend_values(struct session *session)
{
    struct invocation *invocation = &session->invocation;
    if (session->is_job || !is_local(session->link->address))
        return;
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        bool goes_in = value->bulk && !value->datum && value->form == VALUE_MEMORY;
        if (!value->lent && (goes_in || is_result_to_lend(session, value)))
            lend(session, value);
    }
}

void lend_end(struct invocation *invocation, bool well)
{
    for (uint32_t i = 0; i < invocation->n_values; i++) {
        struct value *value = &invocation->values[i];
        if (value->lent_out)
            buffer_return(value->out, well);
        value->lent = value->lent_out = false;
    }
}
