/* SPDX-License-Identifier: Apache-2.0
 *
 * What a node remembers of the sessions that came its way, so that one of them can be followed through the
 * tree afterwards: a ring of bounded size, the oldest event giving way. Under the owner's lock.
 *
 * Times are this node's own; they are told as ages, so clocks need not agree.
 */
#ifndef CORE_TRACE_H
#define CORE_TRACE_H

#include "core/message/message.h"

#define TRACE_EVENTS 8192
#define TRACE_DETAIL 80

enum trace_what {
    TRACE_CHOSEN,    /* a master chose the server `detail` for it */
    TRACE_REFUSED,   /* a master found none */
    TRACE_ASKED,     /* it was asked about it from above, and answered */
    TRACE_PLACED,    /* an agent on the way heard that it was placed on `detail` */
    TRACE_PROMISED,  /* the server heard of it before its call came */
    TRACE_WAITED,    /* for memory */
    TRACE_RECEIVED,  /* its arguments */
    TRACE_QUEUED,    /* for a slot */
    TRACE_COMPUTED,  /* ran `detail`, a problem; by a worker unless ranks are named */
    TRACE_FAILED,    /* ended otherwise: `detail` */
    TRACE_DELIVERED, /* its client was told how it ended, or took the result `detail` */
    TRACE_SENT,      /* a redirector sent its client to `detail`, with this session and all later ones */
    TRACE_AGAIN,     /* its client had given up the attempt before: `detail` */
    TRACE_LATER,     /* it was the first attempt of a call, of which `detail` is a later one */
    TRACE_FIRST,     /* the first attempt of this call was `detail` */
    TRACE_PASSED,    /* a master passed the request on to the master `detail`, which served it */
    TRACE_VAINLY,    /* or could not, and said so */
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

/* Without memory the event is not noted. `detail` is cut. */
void trace_note(struct trace *trace, const struct session_id *session, enum trace_what what, int64_t from_ns,
                int64_t to_ns, const char *detail);
/* Notes what a submit or a call tells of earlier attempts, if it tells of any (EXTENSION_AGAIN). */
void trace_note_again(struct trace *trace, const struct session_id *session,
                      const struct extensions *extensions, int64_t now_ns);
void trace_release(struct trace *trace);

/* The events of the session that is called so in logs ("c0ffee12-7"), the oldest first, one a line: how long
 * ago it ended and how long it took (seconds), what, detail, separated by tabs. ESP_SYNTAX: no session is
 * called so; ESP_NO_MEMORY. An unknown one has no lines. Of TRACE_SENT the
 * newest one up to the session is told, which holds for it. */
enum esp_status trace_tell(const struct trace *trace, const char *session, int64_t now_ns,
                           struct arena *arena, const char **text, struct esp_error *error);

#endif
