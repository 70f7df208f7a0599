/* SPDX-License-Identifier: Apache-2.0
 *
 * The way to a master agent. A redirector is asked once and its answer is stored. If a master does not
 * answer, the next one is tried. If there are several redirectors, the next one is asked if one does not
 * answer or knows no master.
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
    const char *const *agents; /* addresses of masters, instead of redirectors */
    size_t n_agents;
    int64_t call_timeout_ms;     /* for one remote call */
    int64_t greeting_timeout_ms; /* for the first, small answer of a node */
    /* Sets the first session of the client, which a redirector logs; NULL: none. */
    void (*asker)(void *arg, struct session_id *first);
    void *arg;
};

/* Connects to no node yet. Copies the texts. */
enum esp_status route_create(const struct route_options *options, struct route **route,
                             struct esp_error *error);
void route_destroy(struct route *route);

/* Asks a master agent, within that time, like transport_call(). If a master cannot be reached, is ending,
 * or does not answer, the next one is asked; it is asked again if no other can help. If a master knows no
 * server, problem or node for this request, the next one is asked, too, once through all of them. If none
 * is left, a redirector is asked for others. Returns ESP_UNKNOWN_PROBLEM only if all masters were reached,
 * else ESP_NO_SERVER with a text that names those that were not. It must be allowed to ask `request`
 * twice. Any thread. */
enum esp_status route_ask(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct message *reply, struct esp_error *error);

/* Why asking again may help. */
struct route_hope {
    bool silent;  /* a node that could have helped is silent (EXTENSION_SILENT) */
    bool awaited; /* a server that could help is restarting (EXTENSION_AWAITED, EXTENSION_EXPECTED) */
    bool told;    /* a master agent has reported one of the two about a server */
    bool sure;    /* it does not help: a master says that the problem is disabled, instead of only unknown */
};

/* Does the same, and sets *hope on failure. If one master has answered, silent masters are not waited for;
 * the caller may ask again. */
enum esp_status route_try(struct route *route, const struct message *request, int64_t timeout_ms,
                          struct route_hope *hope, struct message *reply, struct esp_error *error);

/* Asks all master agents that a redirector names now, at the same time. Calls take(arg, address, reply,
 * NULL) with each answer, beginning with the master that route_ask() would ask first. If there is an
 * answer, calls take(arg, address, NULL, why) for each master that did not answer or that the redirector
 * has lost. The calling thread makes both calls. If no master can tell, errors are those of route_ask().
 * Any thread. */
typedef void route_take(void *arg, const char *address, const struct message *reply,
                        const struct esp_error *why);
enum esp_status route_ask_all(struct route *route, const struct message *request, int64_t timeout_ms,
                              route_take *take, void *arg, struct esp_error *error);

/* Asks the known master agents except the one that route_ask() would ask first, one after the other, while
 * take(arg, reply) returns true. They share the time, so a silent one leaves the others theirs. Any
 * thread. */
typedef bool route_take_more(void *arg, const struct message *reply);
void route_ask_others(struct route *route, const struct message *request, int64_t timeout_ms,
                      route_take_more *take, void *arg);

/* Greets the node at an address before it is asked for more; a node that is awake answers at once. Returns
 * ESP_UNREACHABLE if there is none, or no Espalier node; the text calls it `who`. *silent (or NULL): a
 * process accepts connections there, but does not answer. Sets *role (or NULL) to the node's role. Any
 * thread. */
enum esp_status route_greet(struct route *route, const char *who, const char *address, bool *silent,
                            enum node_role *role, struct esp_error *error);

/* Asks a redirector for the masters now: a locate_reply. Without redirectors, the agents of the file. */
enum esp_status route_locate(struct route *route, struct message *reply, struct esp_error *error);

/* The masters that are known already: a locate_reply with their addresses. Sends nothing. Any thread. */
enum esp_status route_known(struct route *route, struct message *reply, struct esp_error *error);

/* Whether the redirectors knew no master agent when they were last asked: then a redirector was restarted,
 * and the masters will join it. */
bool route_is_deserted(struct route *route);

/* Whether the last request for a problem or a server failed (ESP_NO_SERVER) while not all masters could be
 * reached. */
bool route_is_partial(struct route *route);

/* Round trip of a small message to the master that is asked first, in seconds: its quickest answer. 0: it
 * has not answered yet. Sends nothing. Any thread. */
double route_trip_s(const struct route *route);
/* The address of that master. Returns false if none is known. `address` has CAP_ADDRESS + 1 bytes. */
bool route_first(struct route *route, char *address);

/* The node at that address, for errors: 'master agent "MA"', or without a name if no redirector gave one. */
#define ROUTE_WHO (CAP_NAME + 20)
const char *route_name(const char *name, char text[ROUTE_WHO]); /* for a known name, or "" */
const char *route_who(struct route *route, const char *address, char text[ROUTE_WHO]);

/* Whether one of the redirectors, or of the agents in the file, has ever answered this process: then it
 * comes back. */
bool route_was_there(const struct route *route);

/* Whether any master agent is known, or named in the file. */
bool route_has_masters(struct route *route);

/* The redirectors' addresses; *n may be 0. */
const char *const *route_redirectors(const struct route *route, size_t *n);

#define MOST_MASTERS 32  /* masters of a redirector's answer that are stored */
#define MISSING_TEXT 400 /* text about lost masters */

#define ROUTE_AWAKE_MS 1500 /* an awake node that is not very busy has answered a greeting by then */

/* A master agent's answer to the last request that it could place on any server. */
struct told {
    int64_t at_ns; /* 0: nothing */
    uint64_t digest;
    double queue_s, rest_s; /* of its first candidate: until it could start, and from then on */
    bool is_down;           /* it did not answer, or could not help */
};

/* The master agent that is asked first for requests that take the same data. */
struct data_choice {
    uint64_t key; /* digest of the problem, its data and the excluded servers */
    int64_t at_ns;
    double end_s;                  /* the master's forecast */
    char address[CAP_ADDRESS + 1]; /* "": this place is free */
};

#define MOST_DATA_CHOICES 32

struct route {
    struct transport *transport;
    struct arena arena; /* for the configured addresses */
    const char **redirectors;
    size_t n_redirectors;
    atomic_size_t redirector; /* the redirector that is asked first: it answered last */
    const char **agents;
    size_t n_agents;
    int64_t greeting_timeout_ms;
    atomic_bool heard; /* a node has answered */
    void (*asker)(void *arg, struct session_id *first);
    void *arg;

    pthread_mutex_t lock; /* protects the following members */
    char masters[MOST_MASTERS][CAP_ADDRESS + 1];
    char names[MOST_MASTERS][CAP_NAME + 1]; /* their names, by a redirector; "": not known */
    bool deserted;                          /* the redirector knew no master */
    char missing[MISSING_TEXT];             /* masters that the redirector has lost, as text; "": none */
    struct extension lost; /* their problems: EXTENSION_LOST_PROBLEMS, the value malloc'ed; NULL: not known */
    bool is_learning;      /* the redirector was just started, and may not know all masters */
    bool is_partial;       /* a problem was unknown to all masters that were reached, but not all were */
    size_t n_masters, current;
    double way_s[MOST_MASTERS]; /* measured way to each; 0: not measured */
    struct told told[MOST_MASTERS];
    struct data_choice data_choices[MOST_DATA_CHOICES];
    uint64_t generation; /* how often the masters were learned */

    /* Written with the lock: the shortest answer of the current master, in ns; 0: none yet. */
    atomic_int_least64_t trip_ns;
};

/* The known masters, the one that is asked first at the front. */
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
    struct message reply; /* if `status` is ESP_OK; the caller clears it */
    enum esp_status status;
    struct esp_error why;

    struct route *route;
    bool hurry; /* others are asked, too: a silent master is not waited for until the end */
    struct thread_job job;
};

/* Learns the masters, unless that was done. */
enum esp_status route_know(struct route *route, struct esp_error *error);

/* route_locate() with two additions. *silent: a redirector accepts connections but does not answer.
 * `sure`: a redirector that does not know all masters yet is not enough while there is another one to ask. */
enum esp_status route_locate_heeding(struct route *route, bool sure, bool *silent, struct message *reply,
                                     struct esp_error *error);

#endif
