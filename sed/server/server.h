/* SPDX-License-Identifier: Apache-2.0
 *
 * The server daemon as a state machine: sessions from the call to the acknowledged result, the forecast that
 * agents get, and the tie to a parent. It never blocks and reads no clock but the one it is given; threads,
 * the network and the processes that compute are passed in.
 *
 * The files of sed/server/, which call each other from the top of this list down:
 *
 *   server.c             create, messages, ticks, destroy
 *   server_leave.c       the end in good order
 *   server_run.c         starts sessions, takes the reports of workers
 *   server_follow.c      clients that follow a session: output, progress, questions
 *   server_chunk.c       pieces of large arguments and results
 *   server_call.c        call and run: admission, reception
 *   server_await.c       waiters, and how a session stands
 *   server_administer.c  the tie to the parent, orders, what is remembered of sessions
 *   server_lend.c        arguments and results in the memory of clients
 *   server_contents.c    checks of the values of arguments
 *   server_operands.c    data as arguments and results of sessions
 *   server_checkpoint.c  checkpoints of routines and their copies
 *   server_results.c     results of jobs that outlive the process
 *   server_clients.c     identities, acknowledgement, clients that are gone
 *   server_sessions.c    the life of a session: memory, timers, end; its observers
 *   server_jobs.c        sessions that outlive their clients
 *   server_figures.c     metrics, health
 *   server_load.c        placements, records, answers to agents
 *   server_measure.c     the speed of a slot
 *   server_terms.c       price, properties, what is on its way here
 *   server_ranks.c       ranks of MPI: which calls they take, what they forecast
 *   server_models.c      cost models, corrections, speeds
 *   server_idle.c        whether there is work
 *   server_sense.c       what sensors tell of processors, memory and the link to the parent
 *   server_links.c       links from other servers
 *   server_problems.c    descriptions: catalogue, describe, list, reading them again
 *
 * Below are the rooms sed/data/ (data that live on the server), sed/states/ (states that routines leave for
 * later calls), sed/sessions/ (sessions, clients, queue, admission, promises) and sed/forecast/ (speeds,
 * accuracy of forecasts).
 */
#ifndef SED_SERVER_H
#define SED_SERVER_H

#include "core/problem/problem.h"
#include "core/transport.h"
#include "services/duty.h"
#include "util/metrics.h"
#include "services/data/store.h"
#include "util/segment.h"
#include "sed/pool/workers.h"

struct server;
struct porter_list;
struct porter_lenders;

struct server_options {
    const char *name; /* copied */
    uint64_t incarnation;
    const char *const *parents; /* addresses, the preferred one first; copied */
    size_t n_parents;
    uint32_t slots;                 /* calls at a time, at least 1 */
    uint32_t threads;               /* of BLAS in each, for the record */
    uint64_t memory_bytes;          /* for arguments, results and work arrays of all sessions */
    uint32_t queue;                 /* sessions that may wait for memory or a slot */
    uint32_t sessions_per_client;   /* ended and not acknowledged ones included */
    uint64_t kept_bytes_per_client; /* of results that were not acknowledged; 0: half of the memory */
    int64_t result_lease_ns;        /* how long a result waits */
    int64_t job_lease_ns;           /* how long the result of a job waits; 0: 24 h */
    int64_t return_ns;             /* how long it is expected back when its process is ended; 0: not at all */
    int64_t receive_lease_ns;      /* how long a half-received session waits for its next chunk; 0: 60 s */
    int64_t orphan_lease_ns;       /* how long sessions of a client that seems gone go on; 0: 15 s */
    int64_t state_lease_ns;        /* how long a state is kept that nobody uses; 0: 10 min */
    uint64_t inline_bytes;         /* results up to here travel inside a reply */
    double speed_flops;            /* of one slot; 0: measure it */
    double price;                  /* of an hour of a slot, in the site's unit */
    const char *const *properties; /* words that requests may ask for; borrowed */
    size_t n_properties;
    bool loopback_only;        /* others may not reach it: settings_is_shut_in() */
    double (*cpu_quota)(void); /* processors that control groups leave us; NULL: all */
    bool senses;     /* server_sense() will tell what is left, the limits of control groups included */
    bool confined;   /* to some of the machine's processors */
    bool background; /* segments are cleaned by a thread */
    uint64_t seed;
    const char *state_dir;   /* and these: for administrators, as struct duty_options has them */
    const char *file_parent; /* borrowed */
    const struct config_strings *administrators;
    const struct config_strings *data_servers; /* who may read everybody's data; borrowed; NULL: nobody */
    void (*control)(void *arg, enum duty_control what);
    enum esp_status (*check)(void *arg, struct esp_error *error);
    void *control_arg;
    const struct clock *clock;    /* the transport's */
    struct workers *workers;      /* borrowed; its `ended` is set here */
    struct problem_set *problems; /* taken over, also when creating fails */
    uint64_t store_memory;        /* for data that live here; 0: none do */
    uint32_t replicas;            /* of each datum that lives here, which other servers may keep */
    uint32_t replica_asks;        /* decayed, that make a datum worth them; 0: 3 */
    uint64_t replica_bytes;       /* of all those replicas; 0: no limit */
    int64_t replica_rest_ns;      /* other copies for sessions go when unused for so long; 0: never */
    int64_t data_lease_ns;        /* of volatile data whose client is not heard of; 0: for ever */
    uint64_t store_disk;          /* for files of data that must not be lost */
    struct files *files;          /* where those are; NULL: there is no place. Taken over as the problems */
    struct errands *errands;      /* who does what blocks; borrowed; outlives the endpoint's operations */
    /* A datum of so many bytes has come from that server in so long; from a thread of its own, without the
     * endpoint's lock. NULL: nobody wants to know. */
    void (*fetched)(void *arg, const char *from, uint64_t bytes, double seconds);
    void *fetched_arg;
    double host_latency_s, /* of a message between daemons of this host; 0: not measured */
        host_bps; /* bytes per second between daemons of this host, until they are timed; 0: not measured */
    /* The porters that carry pieces now (sed/porter/porter_order.h). Any thread, without the lock. NULL: the
     * server carries none. */
    void (*porters)(void *arg, struct porter_list *list);
    /* Ranks on other hosts that lend what they keep of that value, and the key of encrypted connections to
     * them for that ticket (PORTER_ORDERS: for orders), likewise. NULL: there are none. */
    void (*lenders)(void *arg, struct datum_key value, uint64_t ticket, struct porter_lenders *lenders);
    void *porters_arg;
    bool porters_seal; /* they speak over encrypted connections only */
};

enum esp_status server_create(const struct server_options *options, struct server **server,
                              struct esp_error *error);
/* After its endpoint is closed and its workers are destroyed. NULL is nothing to do. */
void server_destroy(struct server *server);

/* What transport_serve() wants; `self` is the server. */
extern const struct endpoint_ops server_ops;

/* The endpoint is open: says hello to the parent, measures the speed. Takes the endpoint's lock. */
void server_start(struct server *server, struct endpoint *endpoint);

/* Agents to fall back on, or to join where it has no parent (membership_learn_parents()). Returns how many
 * are new. Takes the endpoint's lock. */
size_t server_learn_parents(struct server *server, const char *const *addresses, size_t n);

/* Problems that its files describe and that it cannot call, as EXTENSION_UNCALLABLE has them: clients that
 * ask for one of these hear why. Takes the endpoint's lock, once the server has one. Without memory nobody
 * hears it. */
void server_set_uncallable(struct server *server, const char *texts, uint32_t length);

/* Solves these problems from now on; sessions that are there go on with theirs. Takes the set over. Takes the
 * endpoint's lock. ESP_NO_MEMORY: all stays as it was. */
enum esp_status server_set_problems(struct server *server, struct problem_set *problems,
                                    struct esp_error *error);

/* Whether it has the problem, described by that signature. Takes the endpoint's lock, if there is one yet. */
bool server_solves(struct server *server, const char *problem, uint64_t digest);

/* Its files were read again, by an administrator's order or not. The administrator is answered with what came
 * of it; `pending` and `remark` as for duty_reloaded(). Takes the endpoint's lock. */
void server_reloaded(struct server *server, enum esp_status status, const struct esp_error *error,
                     const char *pending, const char *remark);
/* Whether an administrator has said that it is not solved here. Takes the endpoint's lock. */
bool server_disables(struct server *server, const char *problem);
/* From now on these administer it; borrowed. Any thread but the transport's. */
void server_set_administrators(struct server *server, const struct config_strings *administrators);

/* Forecasts by these models from now on; corrections begin anew. Takes the set over. Takes the endpoint's
 * lock. ESP_NO_MEMORY: all stays as it was. */
struct cost_set;
enum esp_status server_set_models(struct server *server, struct cost_set *models, struct esp_error *error);
/* The corrections of its models, and the speeds that calls of problems have reached, as
 * core/forecast/corrections.h writes them, for free(): NULL when nothing has
 * changed since this was last asked, or without memory. Takes the endpoint's lock, if there is one yet. */
char *server_corrections(struct server *server, size_t *length);
/* Goes on with these. ESP_INVALID: they are damaged. Takes the endpoint's lock, if there is one yet. */
enum esp_status server_take_corrections(struct server *server, const char *text, size_t length,
                                        uint32_t *taken, struct esp_error *error);
/* Notes forecast and actual time of each session in that file from now on (sed/forecast/accuracy.h); before
 * server_start(). */
void server_set_accuracy(struct server *server, const char *path);
/* Who tells what sensors know, from now on; all zero: nobody. Takes the endpoint's lock. */
void server_set_weather(struct server *server, const struct duty_weather *weather);

/* It ends: takes no new sessions and tells the parent so, and whether it will run again. Clients take what it
 * has not begun elsewhere; what runs goes on. Takes the endpoint's lock. */
void server_drain(struct server *server, bool restarts);
/* Says goodbye to the parent, and cuts short what is still there: clients are told that it has their sessions
 * no more. Takes the endpoint's lock. */
void server_leave(struct server *server);
/* Results of jobs that may be fetched after the next start go to its state_dir. After its endpoint is closed.
 */
void server_save_results(struct server *server);

/* A line that a routine has printed, with its '\n' if it had one, for the log and its session. Takes the
 * endpoint's lock. */
void server_log_output(struct server *server, uint64_t job_id, const char *line);

/* What the sensor of the processor has read: from now on forecasts count with it. Takes the endpoint's lock.
 * Memory and disk in bytes, 0: not known. What is no share of a processor is passed over. */
void server_sense(struct server *server, double available, double memory_free, double disk_free);
/* What its machine has of memory: bytes that anybody could take now, and those that processes of the server
 * have to themselves. From now on no more is admitted than that allows (sed/server/server_sense.c). Takes
 * the endpoint's lock. `available` UINT64_MAX: nobody knows, and all stays as it is. */
void server_sense_memory(struct server *server, uint64_t available, uint64_t below);
/* Links, as services/nws/links.h has their operations; `server` is a struct server. Take the endpoint's lock.
 */
bool server_parent(void *server, char name[256], char url[385]);
void server_to_parent(void *server, const struct path *path);
/* How many chunks of calls and data, and fetches from other servers, have begun, and whether one is on its
 * way. Any thread. */
uint64_t server_traffic(void *server, bool *moves);
/* Of what control groups allow of a processor, that others have to leave: what is measured beside them is
 * worth little. */
#define SERVER_QUIET 0.8
/* Whether it has had nothing to do for so long, and neither have others on its processors, as far as the
 * sensor tells; 0: whether it has nothing to do now. Takes the endpoint's lock. */
bool server_is_idle(struct server *server, int64_t for_ns);
/* Whether it has had nothing to do for so long, but others on its processors have, who leave it that share of
 * one. Takes the endpoint's lock. */
bool server_is_crowded(struct server *server, int64_t for_ns, double *left);
/* `works` is called under the endpoint's lock when a session comes or is promised: it may not wait, and not
 * call back. NULL: nobody any more. Takes the endpoint's lock. */
void server_watch_work(struct server *server, void (*works)(void *arg), void *arg);
/* Something of the server's own computes beside it that will end when work comes: it is no competitor, and
 * the speed is not measured meanwhile. Takes the endpoint's lock. */
void server_set_beside(struct server *server, bool beside);
bool server_has_beside(struct server *server);
/* The link from that server, as data that came from there tell: agents forecast transfers by it. Takes the
 * endpoint's lock. */
void server_from_peer(struct server *server, const char *peer, const struct path *path);
/* Which part of a processor sessions that had one of their own really got since this was last asked, and for
 * how many seconds of the clock in all; both 0 when none has ended. Takes the endpoint's lock. */
double server_processor_got(struct server *server, double *seconds);

/* For tests, logs and draining: what there is now. Takes the endpoint's lock. */
struct server_counts {
    uint32_t waiting, receiving, queued, running, ended; /* sessions; running: the measurement too */
    uint32_t kept; /* results that a client has not acknowledged, and that it did not get in an answer */
    uint32_t clients, placements;
    uint64_t memory_used, memory_total;
    uint64_t completed, failed;
    double speed_flops;
    struct segments_counters segments;
    struct store_counts store;
};
void server_count(struct server *server, struct server_counts *counts);

/* How it stands and what it counts, as struct daemon_node wants it; `server` is a struct server. Take the
 * endpoint's lock. */
bool server_health(void *server, char *text, size_t size);
bool server_settled(void *server, char *why, size_t size);
void server_metrics(void *server, struct metrics *metrics);

#endif
