/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the way to a master agent: client/session/route.c (who is known), client/session/route_ask.c and
 * route_all.c (who is asked), client/session/route_locate.c (who there is), client/session/route_nearest.c
 * (who of them is near), client/session/route_idle.c (whose servers are free) and client/session/route_data.c
 * (who has the data).
 */
#ifndef CLIENT_ROUTE_INTERNAL_H
#define CLIENT_ROUTE_INTERNAL_H

#include "client/session/route.h"
#include "util/thread_pool.h"

#include <pthread.h>
#include <stdatomic.h>

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
    bool deserted;              /* the redirector knew of none */
    char missing[MISSING_TEXT]; /* masters that the redirector has lost, for people; "": none */
    struct extension lost;      /* what they solved: EXTENSION_LOST_PROBLEMS, the value malloc'ed; NULL: it
                                 * cannot be told */
    bool is_learning;           /* the redirector was just started, and may not know all masters */
    bool is_partial;            /* a problem was unknown to all masters but those that were not reached */
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

/* Puts the masters of a redirector's answer in the order in which they are to be asked: the nearest ones
 * first, by greetings that are sent to all at once. Takes as long as the slowest of them, 0.6 s at most.
 * `way_s`: how long a small call takes to each, in that order (infinite: it did not answer; 0: not asked). */
void route_nearest_first(struct route *route, struct locate_reply *located, double way_s[MOST_MASTERS]);

/* ---- client/session/route_idle.c ---- */

/* While servers below the first one have no slot free for the request, another one may come to the front. */
void route_sooner_first(struct route *route, const struct message *request, struct masters *masters);
/* What a master agent said to it; NULL: it did not answer, or could not help. */
void route_note_told(struct route *route, const char *address, const struct message *request,
                     const struct submit_reply *reply);

/* ---- client/session/route_data.c ---- */

/* If the request takes data, the master agent comes to the front below which the call is expected to end
 * first. All masters are asked at the same time, unless the choice for these data is known. */
void route_data_first(struct route *route, const struct message *request, int64_t until_ns,
                      struct masters *masters);
/* Forgets a choice that turns out wrong. `reply`: the master agent's, or NULL when it did not answer or could
 * not help. */
void route_note_data(struct route *route, const char *address, const struct message *request,
                     const struct submit_reply *reply);

/* ---- client/session/route_all.c ---- */

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

/* Asks all of them at the same time, with a thread each. Returns when all have answered or their time is
 * over. */
void route_ask_each(struct route *route, struct route_question *questions, size_t n);
/* Frees them, and their replies. */
void route_questions_clear(struct route_question *questions, size_t n);

/* ---- client/session/route.c ---- */

/* Learns the masters, if that has not been done. */
enum esp_status route_know(struct route *route, struct esp_error *error);
/* Learns the masters anew, unless another thread has done so since `seen`. *silent: a redirector is. Without
 * the lock. */
enum esp_status route_learn(struct route *route, uint64_t seen, bool *changed, bool *silent,
                            struct esp_error *error);
void route_copy_masters(struct route *route, struct masters *masters);

/* ---- client/session/route_ask.c ---- */

/* Asks one master, which is greeted first while nobody has answered yet. */
enum esp_status route_ask_master(struct route *route, const char *address, const struct message *request,
                                 int64_t timeout_ms, struct message *reply, struct esp_error *error);
/* Asks one question; `arg` is a struct route_question. */
void route_question_run(void *arg);

/* ---- client/session/route_locate.c ---- */

/* Whether the redirector whose answer this is may not know all masters yet. */
bool route_learns(const struct locate_reply *located);

/* As route_locate(). *silent: a redirector takes connections and says nothing. `sure`: one that does not know
 * all masters yet is not enough while there is another to ask. */
enum esp_status route_locate_heeding(struct route *route, bool sure, bool *silent, struct message *reply,
                                     struct esp_error *error);

/* As route_greet(), within that time at most. */
enum esp_status route_greet_within(struct route *route, const char *who, const char *address, int64_t most_ms,
                                   bool *silent, enum node_role *role, struct esp_error *error);

#endif
