/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to a master agent: a redirector is asked once, its answer kept, and the next master tried when one
 * does not answer. Of several redirectors the next one is asked when one does not answer, or knows no master.
 */
#ifndef CLIENT_ROUTE_H
#define CLIENT_ROUTE_H

#include "core/transport.h"
#include "util/thread_pool.h"

#include <pthread.h>
#include <stdatomic.h>

struct route;

struct route_options {
    struct transport *transport;    /* outlives the route */
    const char *const *redirectors; /* addresses */
    size_t n_redirectors;
    const char *const *agents; /* addresses of masters, in place of redirectors */
    size_t n_agents;
    int64_t call_timeout_ms;     /* for one remote call */
    int64_t greeting_timeout_ms; /* for the first answer of a node, a small one */
    /* For whose first session a redirector is asked, for its log; NULL: nobody's. */
    void (*asker)(void *arg, struct session_id *first);
    void *arg;
};

/* Connects to nobody yet. The texts are copied. */
enum esp_status route_create(const struct route_options *options, struct route **route,
                             struct esp_error *error);
void route_destroy(struct route *route);

/* Asks a master agent, in that time. As transport_call(), but a master that cannot be reached, is on its way
 * out or does not answer is left for the next one, soon where there is one: it is asked again when no other
 * can help; one that knows no server, problem or node for this request sends it on to the next one too, once
 * through all of them. When none is left a redirector is asked for others. ESP_UNKNOWN_PROBLEM is told where
 * all of them were reached; else it is ESP_NO_SERVER, and the text says who was not. `request` must be one
 * that may be asked twice. Any thread. */
enum esp_status route_ask(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct message *reply, struct esp_error *error);

/* Why asking again may help. */
struct route_hope {
    bool silent;  /* somebody who could have helped takes connections and says nothing (EXTENSION_SILENT) */
    bool awaited; /* who could help is being started again, as a master agent knows (EXTENSION_AWAITED,
                   * EXTENSION_EXPECTED) */
    bool told;    /* a master agent has told one or the other of a server */
    bool sure;    /* it does not: the problem is disabled, as those that do not just not know it say */
};

/* The same, and *hope when it fails. When another one has answered, nobody who is silent is waited for: who
 * asks does so again, if it wants to. */
enum esp_status route_try(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct route_hope *hope, struct message *reply, struct esp_error *error);

/* Asks all master agents that a redirector names now, at the same time. take(arg, address, reply, NULL) is
 * called with each answer, beginning with the master that route_ask() would ask first. If there is an answer,
 * take(arg, address, NULL, why) is called for each master that did not answer or that the redirector has
 * lost. Both are called by the thread that asks. Errors are those of route_ask(), when no master can tell.
 * Any thread. */
typedef void route_take(void *arg, const char *address, const struct message *reply,
                        const struct esp_error *why);
enum esp_status route_ask_all(struct route *route, const struct message *request, int64_t timeout_ms,
                              route_take *take, void *arg, struct esp_error *error);

/* Asks the master agents that are known but for the one that route_ask() would ask first, one after the other
 * as long as take(arg, reply) wants more. They share the time: one that is silent leaves the others theirs.
 * Any thread. */
typedef bool route_take_more(void *arg, const struct message *reply);
void route_ask_others(struct route *route, const struct message *request, int64_t timeout_ms,
                      route_take_more *take, void *arg);

/* Asks who is at an address, before it is asked for more: one that is awake answers at once.
 * ESP_UNREACHABLE: nobody is, or no Espalier; the text says so of `who`. *silent (or NULL): something takes
 * connections there, and says nothing. The reply's role goes to *role (or NULL). Any thread. */
enum esp_status route_greet(struct route *route, const char *who, const char *address, bool *silent,
                            enum node_role *role, struct esp_error *error);

/* Asks a redirector for the masters now: a locate_reply. Without redirectors: the agents of the file. */
enum esp_status route_locate(struct route *route, struct message *reply, struct esp_error *error);

/* The masters that are known already: a locate_reply with their addresses. Asks nobody. Any thread. */
enum esp_status route_known(struct route *route, struct message *reply, struct esp_error *error);

/* Whether the redirectors, when last asked, knew no master agent: it was restarted, and they will join it. */
bool route_is_deserted(struct route *route);

/* Whether, when a master was last asked for a problem or a server, those only that could be reached had none
 * (ESP_NO_SERVER, then). */
bool route_is_partial(struct route *route);

/* Seconds of a small message there and back, to the master that is asked first: its quickest answer. 0: it
 * has not answered yet. Costs nothing. Any thread. */
double route_trip_s(const struct route *route);
/* The address of that master; false: none is known. `address` has CAP_ADDRESS + 1 bytes. */
bool route_first(struct route *route, char *address);

/* Who is at that address, for errors: 'master agent "MA"', or without a name where no redirector told one. */
#define ROUTE_WHO (CAP_NAME + 20)
const char *route_name(const char *name, char text[ROUTE_WHO]); /* of one whose name is known, or "" */
const char *route_who(struct route *route, const char *address, char text[ROUTE_WHO]);

/* Whether one of the redirectors, or of the agents of the file, has ever answered this process: then it comes
 * back. */
bool route_was_there(const struct route *route);

/* Whether any master agent is known, or was named by the file. */
bool route_has_masters(struct route *route);

/* The redirectors' addresses; *n may be 0. */
const char *const *route_redirectors(const struct route *route, size_t *n);

#define MOST_MASTERS 32  /* kept of a redirector's answer */
#define MISSING_TEXT 400 /* about those that it has lost */

#define ROUTE_AWAKE_MS 1500 /* who is awake has answered a greeting by then, if it is not very busy */

/* What a master agent said of the last request for servers of which it was free to choose one. */
struct told {
    int64_t at_ns; /* 0: nothing */
    uint64_t digest;
    double queue_s, rest_s; /* of its first candidate: until it could start, and from then on */
    bool is_down;           /* it did not answer, or could not help */
};

/* The master agent that is asked first for requests that take the same data. */
struct data_choice {
    uint64_t key; /* of the problem, its data and the servers that are excluded */
    int64_t at_ns;
    double end_s;                  /* what that master has forecast */
    char address[CAP_ADDRESS + 1]; /* "": this place is free */
};

#define MOST_DATA_CHOICES 32

struct route {
    struct transport *transport;
    struct arena arena; /* of the configured addresses */
    const char **redirectors;
    size_t n_redirectors;
    atomic_size_t redirector; /* the one that is asked first: it answered last */
    const char **agents;
    size_t n_agents;
    int64_t greeting_timeout_ms;
    atomic_bool heard; /* somebody has answered */
    void (*asker)(void *arg, struct session_id *first);
    void *arg;

    pthread_mutex_t lock; /* of what follows */
    char masters[MOST_MASTERS][CAP_ADDRESS + 1];
    char names[MOST_MASTERS][CAP_NAME + 1]; /* of them, as a redirector told; "": not known */
    bool deserted;                          /* the redirector knew of none */
    char missing[MISSING_TEXT];             /* masters that the redirector has lost, for people; "": none */
    struct extension lost; /* what they solved: EXTENSION_LOST_PROBLEMS, the value malloc'ed; NULL: it
                            * cannot be told */
    bool is_learning;      /* the redirector was just started, and may not know all masters */
    bool is_partial;       /* a problem was unknown to all masters but those that were not reached */
    size_t n_masters, current;
    double way_s[MOST_MASTERS]; /* to each, as it was measured; 0: it was not */
    struct told told[MOST_MASTERS];
    struct data_choice data_choices[MOST_DATA_CHOICES];
    uint64_t generation; /* how often the masters were learned */

    /* Written with the lock: the shortest answer of the current master, in ns; 0: none yet. */
    atomic_int_least64_t trip_ns;
};

/* Those that are known, the one that is asked first at the front. */
struct masters {
    char addresses[MOST_MASTERS][CAP_ADDRESS + 1];
    size_t n;
    uint64_t generation;
};

/* One of several questions that are asked at the same time. */
struct route_question {
    const char *address; /* of the master agent */
    const struct message *request;
    int64_t until_ns;
    struct message reply; /* if `status` is ESP_OK; to be cleared */
    enum esp_status status;
    struct esp_error why;

    struct route *route;
    bool hurry; /* others are asked too: a silent master is not waited for until the end */
    struct thread_job job;
};

/* Learns the masters, if that has not been done. */
enum esp_status route_know(struct route *route, struct esp_error *error);

/* As route_locate(). *silent: a redirector takes connections and says nothing. `sure`: one that does not know
 * all masters yet is not enough while there is another to ask. */
enum esp_status route_locate_heeding(struct route *route, bool sure, bool *silent, struct message *reply,
                                     struct esp_error *error);

#endif
