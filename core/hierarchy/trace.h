/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring buffer of events of sessions that passed through a node, so that a session can be followed
 * through the tree afterwards. When it is full, the oldest event is overwritten. Under the owner's lock.
 *
 * Times are this node's own. They are sent as ages, so clocks need not agree. */
#ifndef CORE_TRACE_H
#define CORE_TRACE_H

#include "core/message/message.h"

#define TRACE_EVENTS 8192
#define TRACE_DETAIL 80

enum trace_what {
    TRACE_CHOSEN,    /* a master agent chose the server `detail` for the session */
    TRACE_REFUSED,   /* a master agent found no server */
    TRACE_ASKED,     /* the parent asked for estimates, and this node answered */
    TRACE_PLACED,    /* an agent on the way learned that the session was placed on `detail` */
    TRACE_PROMISED,  /* the server learned of the placement before the call came */
    TRACE_WAITED,    /* the session waited for memory */
    TRACE_RECEIVED,  /* its arguments arrived */
    TRACE_QUEUED,    /* the session waited for a slot */
    TRACE_COMPUTED,  /* computed `detail`, a problem; by a worker unless ranks are named */
    TRACE_FAILED,    /* ended otherwise: `detail` */
    TRACE_DELIVERED, /* the client received the end of the session, or the result `detail` */
    TRACE_SENT,      /* a redirector sent the client to `detail`, for this session and all later ones */
    TRACE_AGAIN,     /* the client had given up the earlier attempt `detail` */
    TRACE_LATER,     /* this session was the first attempt of a call, of which `detail` is a later one */
    TRACE_FIRST,     /* the first attempt of this call was `detail` */
    TRACE_PASSED,    /* a master agent passed the request to the master agent `detail`, which served it */
    TRACE_VAINLY,    /* the master agent `detail` could not serve the request that was passed to it */
    TRACE_KINDS
};
const char *trace_what_name(enum trace_what what); /* "chosen", "computed", ... */

struct trace_event {
    uint64_t client_high, sequence;
    int64_t from_ns, to_ns;
    enum trace_what what;
    char detail[TRACE_DETAIL];
};

/* All zero: empty. Grows up to TRACE_EVENTS. */
struct trace {
    struct trace_event *events;
    uint32_t capacity, next, n;
};

/* Notes an event; without memory it is dropped. `detail` is cut. */
void trace_note(struct trace *trace, const struct session_id *session, enum trace_what what, int64_t from_ns,
                int64_t to_ns, const char *detail);
/* Notes the earlier attempts that a submit or a call names (EXTENSION_AGAIN), if any. */
void trace_note_again(struct trace *trace, const struct session_id *session,
                      const struct extensions *extensions, int64_t now_ns);
void trace_release(struct trace *trace);

/* Lists the events of the session with that name in logs ("c0ffee12-7"), the oldest first, one a line: how
 * long ago it ended and how long it took (seconds), what, detail, separated by tabs. ESP_SYNTAX: malformed
 * session name; ESP_NO_MEMORY. An unknown session has no lines. Of TRACE_SENT, only the newest event up to
 * the session is listed, because it applies to all later sessions. */
enum esp_status trace_tell(const struct trace *trace, const char *session, int64_t now_ns,
                           struct arena *arena, const char **text, struct esp_error *error);

#endif
