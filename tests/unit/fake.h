/* SPDX-License-Identifier: Apache-2.0
 *
 * A hierarchy in a few hundred lines, for tests of the client: a transport whose other ends are redirectors,
 * two master agents and a few servers, in this process and in real time, with faults on order. Any thread may
 * call it, as with the real transport.
 *
 * Addresses: "red:1", "red2:1"; "ma1:1", "ma2:1"; "s1:1", "s2:1", "s3:1" (servers s1, s2, s3, offered in this
 * order).
 */
#ifndef TESTS_FAKE_H
#define TESTS_FAKE_H

#include "core/transport.h"

/* All of them can be solved by every server. */
extern const char fake_problems[];

/* Behaviour of an address; all zero: it works. */
struct fake_faults {
    bool dead;              /* ESP_UNREACHABLE */
    bool refuse;            /* calls and submits: ESP_REFUSED */
    bool restarted;         /* calls with an incarnation: ESP_STALE */
    bool never_supersede;   /* a newer poll does not end an older one */
    unsigned lose_replies;  /* so many calls are executed, but answered with ESP_MAYBE */
    unsigned lose_requests; /* so many calls are not executed, and answered with ESP_MAYBE */
    unsigned lose_chunks;   /* so many chunks end in ESP_MAYBE */
    unsigned dies_behind;   /* after so many chunks of results it is dead */
    unsigned wait_first;    /* so many sessions wait for memory before they can receive */
    unsigned lose_workers;  /* so many calls end with their workers: ESP_MAYBE */
    bool dies_in_call;      /* the next call is answered with ESP_MAYBE, then it is dead */
    unsigned most_sessions; /* not acknowledged, that a server takes; 0: no limit */
    bool full;              /* calls: ESP_LIMIT, because of others */
    unsigned lost;          /* a master: so many submits find nobody below; a redirector: so many locates */
    unsigned strange;       /* a master: so many descriptions it does not know */
    unsigned strayed;       /* a master: so many questions for a node find that it was lost */
    unsigned unfit;         /* a master: so many submits find servers below that do not fit */
    unsigned far_ms;        /* so long does a greeting take */
    unsigned distant_ms;    /* so long does every answer take */
    bool silent;            /* takes calls, never reports an end */
    bool hangs_up;          /* whatever is asked: ESP_MAYBE, as what is no node of a hierarchy */
    unsigned fresh;         /* a redirector: so many locates name ma2 only, as it does not know all yet */
    bool missing;           /* a master: the redirector has lost it, and tells so */
    const char *solved;     /* of such a master: the problem that it reports to have solved; NULL: none */
    bool queues;            /* calls without chunks wait in its queue until they are asked back */
    bool begins;            /* with queues: they have begun just then */
    bool stopped;           /* nobody answers: ESP_TIMEOUT, at once and not when the time is over */
};

struct fake_counters {
    unsigned locates, submits, describes, calls, executions, awaits, polls_at_once, acknowledgements, cancels;
    unsigned puts, gets, sessions; /* sessions: that the servers hold now */
    unsigned threads;              /* most threads in the transport at a time */
    char submitted[16];            /* address of the master that got the last submit */
    double access_s, access_bps;   /* what that told of the way there; 0: nothing */
    unsigned unanswered;           /* calls to servers that are stopped */
    unsigned refused;              /* polls of servers that are dead */
    unsigned polling, polled;      /* polls that wait for news now; sessions of the one that came last */
    unsigned undescribed;          /* descriptions asked of masters that are stopped */
};

struct transport *fake_create(void);
void fake_destroy(struct transport *transport);
void fake_set(struct transport *transport, const char *address, const struct fake_faults *faults);
struct fake_counters fake_counters(struct transport *transport);
/* How often that address was asked something, in vain or not. */
unsigned fake_asked(struct transport *transport, const char *address);
/* Forgets all sessions of that server, as after a restart. */
void fake_forget(struct transport *transport, const char *address);
/* This many requests are decided ahead for each client, for one server after the other. */
void fake_set_ahead(struct transport *transport, unsigned n);
/* Results above so many bytes are to be fetched in chunks. */
void fake_set_inline(struct transport *transport, uint64_t bytes);

#endif
