/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates and destroys messages, and converts their contents to words. */
#include "core/message/message.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t message_minor(uint32_t theirs)
{
    const uint32_t ours = CONTRACT_MINOR;
    return theirs < ours ? theirs : ours;
}

struct message *message_create(enum message_kind kind)
{
    struct message *message = calloc(1, sizeof *message);
    if (message)
        message->kind = kind;
    return message;
}

void message_clear(struct message *message)
{
    arena_clear(&message->arena);
    memset(message, 0, sizeof *message);
}

void message_destroy(struct message *message)
{
    if (!message)
        return;
    arena_clear(&message->arena);
    free(message);
}

struct message *message_clone(const struct message *message)
{
    struct memory_wire out, in;
    struct message *copy = message_create(message->kind);
    memory_wire_encoder(&out, MESSAGE_BYTES);
    bool whole = copy && wire_message(&out.wire, (struct message *)message);
    if (whole) {
        memory_wire_decoder(&in, out.data, out.size, &copy->arena);
        whole = wire_message(&in.wire, copy);
    }
    memory_wire_release(&out);
    if (whole)
        return copy;
    message_destroy(copy);
    return NULL;
}

struct message *message_failure(enum message_kind kind, enum esp_status status, const char *format, ...)
{
    struct message *message = message_create(kind);
    if (!message)
        return NULL;
    struct esp_error error;
    va_list arguments;
    va_start(arguments, format);
    error_vset(&error, status, format, arguments);
    va_end(arguments);
    message->outcome.status = status;
    message->outcome.text = arena_strdup(&message->arena, error.text);
    return message;
}

bool describe_is_sure(const struct message *reply)
{
    return reply->kind == MESSAGE_DESCRIBE_REPLY && reply->outcome.status == ESP_NO_SERVER &&
           reply->describe_reply.servers > 0;
}

enum esp_status message_outcome(const struct message *reply, struct esp_error *error)
{
    const struct outcome *outcome = &reply->outcome;
    if (outcome->status == ESP_OK)
        return ESP_OK;
    const char *text = outcome->text && *outcome->text ? outcome->text : NULL;
    return error_set(error, (enum esp_status)outcome->status, "%s",
                     text ? text : esp_status_string((enum esp_status)outcome->status));
}

const char *session_id_text(const struct session_id *session, char *text)
{
    snprintf(text, SESSION_TEXT, "%08" PRIx32 "-%" PRIu64, (uint32_t)(session->client_high >> 32),
             session->sequence);
    return text;
}

bool session_id_equal(const struct session_id *a, const struct session_id *b)
{
    return a->client_high == b->client_high && a->client_low == b->client_low && a->sequence == b->sequence;
}

const char *node_role_name(enum node_role role)
{
    static const char *const names[] = {
        [ROLE_CLIENT] = "client",       [ROLE_REDIRECTOR] = "redirector", [ROLE_MASTER] = "master agent",
        [ROLE_LEADER] = "leader agent", [ROLE_SERVER] = "server",
    };
    return (size_t)role < sizeof names / sizeof *names ? names[role] : "unknown role";
}

const char *session_state_name(enum session_state state)
{
    static const char *const names[] = {
        [SESSION_UNKNOWN] = "unknown", [SESSION_WAITING] = "waiting",     [SESSION_RECEIVING] = "receiving",
        [SESSION_QUEUED] = "queued",   [SESSION_RUNNING] = "running",     [SESSION_DONE] = "done",
        [SESSION_FAILED] = "failed",   [SESSION_CANCELLED] = "cancelled",
    };
    return (size_t)state < sizeof names / sizeof *names ? names[state] : "unknown";
}
