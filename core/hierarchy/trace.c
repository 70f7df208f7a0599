/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_EVENTS 64
#define LINE_BYTES   120

static const char *const names[TRACE_KINDS] = {
    [TRACE_CHOSEN] = "chosen",      [TRACE_REFUSED] = "refused",       [TRACE_ASKED] = "asked",
    [TRACE_PLACED] = "placed",      [TRACE_PROMISED] = "promised",     [TRACE_WAITED] = "waited for memory",
    [TRACE_RECEIVED] = "received",  [TRACE_QUEUED] = "queued",         [TRACE_COMPUTED] = "computed",
    [TRACE_FAILED] = "failed",      [TRACE_DELIVERED] = "fetched",     [TRACE_SENT] = "sent to",
    [TRACE_AGAIN] = "called again", [TRACE_LATER] = "later attempt",   [TRACE_FIRST] = "first attempt",
    [TRACE_PASSED] = "passed on",   [TRACE_VAINLY] = "passed in vain",
};

const char *trace_what_name(enum trace_what what)
{
    return (unsigned)what < TRACE_KINDS ? names[what] : "unknown";
}

/* While the ring grows nothing has been overwritten, so the events lie in order. */
static bool grow(struct trace *trace)
{
    const uint32_t capacity = trace->capacity ? 2 * trace->capacity : FIRST_EVENTS;
    struct trace_event *events = realloc(trace->events, capacity * sizeof *events);
    if (!events)
        return false;
    trace->events = events;
    trace->next = trace->capacity;
    trace->capacity = capacity;
    return true;
}

void trace_note(struct trace *trace, const struct session_id *session, enum trace_what what, int64_t from_ns,
                int64_t to_ns, const char *detail)
{
    if (trace->n == trace->capacity && trace->capacity < TRACE_EVENTS && !grow(trace) && trace->n == 0)
        return;
    struct trace_event *event = &trace->events[trace->next];
    trace->next = (trace->next + 1) % trace->capacity;
    if (trace->n < trace->capacity)
        trace->n++;
    event->client_high = session->client_high;
    event->sequence = session->sequence;
    event->from_ns = from_ns;
    event->to_ns = to_ns;
    event->what = what;
    const size_t length = strnlen(detail, sizeof event->detail - 1);
    memcpy(event->detail, detail, length);
    event->detail[length] = '\0';
}

/* Notes both directions, because the user may ask for any of the attempts. */
void trace_note_again(struct trace *trace, const struct session_id *session,
                      const struct extensions *extensions, int64_t now_ns)
{
    struct told_again told;
    char text[SESSION_TEXT];
    if (!again_get(extensions, &told))
        return;
    trace_note(trace, &told.first, TRACE_LATER, now_ns, now_ns, session_id_text(session, text));
    trace_note(trace, session, TRACE_FIRST, now_ns, now_ns, session_id_text(&told.first, text));
    trace_note(trace, session, TRACE_AGAIN, now_ns - told.age_ns, now_ns, told.why);
}

void trace_release(struct trace *trace)
{
    free(trace->events);
    *trace = (struct trace){0};
}

static bool read_session(const char *text, uint32_t *client, uint64_t *sequence)
{
    int end = 0;
    return strspn(text, "0123456789abcdefABCDEF") == 8 &&
           sscanf(text, "%8" SCNx32 "-%" SCNu64 "%n", client, sequence, &end) == 2 && !text[end];
}

static size_t put_line(char *text, const struct trace_event *event, int64_t now_ns)
{
    return (size_t)snprintf(text, LINE_BYTES, "%.9f\t%.9f\t%s\t%s\n", (double)(now_ns - event->to_ns) / 1e9,
                            (double)(event->to_ns - event->from_ns) / 1e9, trace_what_name(event->what),
                            event->detail);
}

enum esp_status trace_tell(const struct trace *trace, const char *session, int64_t now_ns,
                           struct arena *arena, const char **told, struct esp_error *error)
{
    uint32_t client, n = 0;
    uint64_t sequence;
    if (!read_session(session, &client, &sequence))
        return error_set(error, ESP_SYNTAX, "expected a session like c0ffee12-7, found \"%.60s\"", session);
    const uint32_t first = trace->n < trace->capacity ? 0 : trace->next;
    const struct trace_event *sent = NULL;
    char *text = arena_alloc(arena, CAP_TEXT / 2);
    size_t length = 0;
    if (!text)
        return error_no_memory(error, "a trace");
    *text = '\0';
    for (; n < trace->n && length + 2 * LINE_BYTES < CAP_TEXT / 2; n++) {
        const struct trace_event *event = &trace->events[(first + n) % trace->capacity];
        if ((uint32_t)(event->client_high >> 32) != client)
            continue;
        if (event->what == TRACE_SENT)
            sent = event->sequence <= sequence ? event : sent;
        if (event->what == TRACE_SENT || event->sequence != sequence)
            continue;
        length += put_line(text + length, event, now_ns);
    }
    if (sent)
        put_line(text + length, sent, now_ns);
    *told = text;
    return ESP_OK;
}
