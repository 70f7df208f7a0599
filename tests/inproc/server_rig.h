/* SPDX-License-Identifier: Apache-2.0
 *
 * A server daemon without processes, network and real time: its workers are simulated on the clock of the
 * in-process transport, and the test plays the clients and the parent.
 */
#ifndef TESTS_SERVER_RIG_H
#define TESTS_SERVER_RIG_H

#include "tests/unit/unit.h"
#include "core/forecast/problem_speeds.h"
#include "core/message/open_sessions.h"
#include "core/inproc/inproc.h"
#include "sed/data/errands.h"
#include "sed/server/server.h"

#define RIG_MOST_JOBS  4096
#define RIG_MOST_LIVES 256

/* Workers that compute in no time of ours: the end of each job is an entry in a table. */
struct sim_job {
    struct job job;
    int64_t end_ns;
    enum esp_status status; /* how it ends, */
    const char *text;       /* and why; a constant */
    uint64_t order;         /* of starting */
};

struct sim_workers {
    struct workers workers; /* first */
    const struct clock *clock;
    struct sim_job jobs[RIG_MOST_JOBS];
    uint32_t n_jobs, most_at_once;
    uint64_t started, cancelled;
    double speed_flops, cpu_share;
    double least_s;              /* a job takes at least so long, whatever its work */
    enum esp_status start_fails; /* the next start fails so */
    enum esp_status ends_with;   /* all jobs end so */
    uint32_t loses;              /* the next so many jobs end with their workers, */
    bool unbegun, intact;        /* before they were begun; with their arguments as they were */
    double progress;             /* that all jobs report */
    bool keeps;                  /* jobs of problems with a state leave one, or keep theirs */
    uint64_t worked_on, dropped; /* states, the newest */
    char first[256];             /* names of clients, as their first bytes of x, in the order of starts */
    void (*on_start)(void *arg, const struct job *job); /* or NULL */
    void *arg;
};

/* Errands wait until the test runs time, and are done then outside of every operation. */
struct rig_errands {
    struct errands errands; /* first */
    struct thread_job *first;
};

struct rig {
    const char *problems; /* their text */
    struct transport *transport;
    bool shares_transport;
    struct rig_errands errands;
    struct server *server;
    struct endpoint *endpoint;
    struct sim_workers pool;
    /* The parent, played by the test. */
    struct endpoint *parent;
    unsigned reports, goodbyes, models; /* models: reports that had some */
    enum esp_status welcomed;           /* what it said to a hello */
    struct node_record record;          /* the newest, without its pointers */
    bool ranks_trouble, returns;        /* in it */
    bool senses, sensed;                /* in it: a sensor that told nothing yet; the weather */
    struct problem_speeds speeds;       /* of problems that were called, as told last */
    double first_free_s;
    uint64_t mark_master, mark_number;
    struct server_estimate estimate;
    uint32_t n_servers, capable;
    uint64_t answers;
    uint32_t n_catalog, n_texts;
    /* Parts from which rig_restart() makes the server again, and its former instances. */
    struct server_options options;
    const char *parents[1];
    struct rig_past {
        struct server *server;
        struct endpoint *endpoint;
    } past[RIG_MOST_LIVES];
    uint32_t n_past;
};

struct rig_options {
    uint32_t slots, queue, sessions_per_client;
    uint64_t memory_bytes, kept_bytes_per_client, inline_bytes;
    int64_t result_lease_ns, receive_lease_ns, job_lease_ns;
    double speed_flops; /* < 0: measured through the workers */
    double pool_flops;  /* what the workers do; 0: 1e9 */
    double cpu_share;   /* of the wall time that measured jobs take; 0: not told */
    double (*cpu_quota)(void);
    bool confined;
    bool senses; /* the test provides the processor's readings */
    bool parent;
    const char *problems;    /* description text; NULL: "copy" and "task" */
    uint64_t store_memory;   /* data live there; 0: none do */
    uint64_t store_disk;     /* for files of data */
    struct files *files;     /* where those are, for one life; taken over. NULL: there is no place */
    uint32_t replicas;       /* on other servers; 0: none stay there */
    double replica_rest_s;   /* that other copies stay; 0: for ever */
    const char *name;        /* NULL: "sed" */
    const char *parent_name; /* an agent of the test's; NULL: as `parent` says */
    uint64_t seed;           /* of the network; 0: 1 */
    bool porters;            /* the server's porters never come: data without bytes need none */
    struct rig *beside;      /* in the network of that one, which is closed last */
};

/* Zero members: 1 slot, queue 1000, 100 MiB, 64 KiB inline, 10 minutes, 1 Gflop/s.
 * copy(n, x[n]) -> y[n] copies and takes n Mflop; task(flop, x = 0) has no arrays. */
void rig_open(struct rig *rig, const struct rig_options *options);
void rig_close(struct rig *rig);

/* Acts as if the server's process were killed: nothing of it answers, its results are lost. It may be
 * called from another node's operations; so may its restart, as another incarnation that knows nothing. */
void rig_kill(struct rig *rig);
void rig_restart(struct rig *rig);

/* Runs for so long (jobs end in their time). */
void rig_run(struct rig *rig, double seconds);
/* Ends the jobs whose time has come, for tests in which something else makes time pass. */
void rig_end_jobs(struct rig *rig);
double rig_now(const struct rig *rig);

/* Result of a request. */
struct answered {
    bool done;
    bool awaited;           /* it is to start again, as it says with its refusal, or its report */
    bool unbegun;           /* of a session that it has no more: it had not begun it */
    enum esp_status status; /* of the transport and the operation */
    char text[1024];        /* of the operation */
    enum session_state state;
    enum esp_status outcome; /* of the session */
    char why[1024];
    uint32_t ahead, n_results, n_sessions;
    uint32_t kind[4], index[4];
    uint64_t bytes[4];
    double value[4]; /* the first double of an inline result */
    struct session_timings timings;
    uint64_t sequence;
    double progress;  /* follow */
    int64_t lease_ms; /* of a job; < 0: not told */
    uint64_t position;
    char printed[128];
    double at;             /* when it came, in seconds */
    struct answered *more; /* await: the reports behind the first one */
};

struct session_id rig_session(uint64_t client, uint64_t sequence);

struct rig_call {
    struct session_id session;
    uint64_t oldest, incarnation, time_left_ms, patience_ms, master, placement, digest;
    const char *problem; /* NULL: copy */
    int32_t n;
    const double *x; /* NULL: sent in chunks */
    bool unwanted;   /* y */
    double flop;     /* task, and "once", which is a test's own and has the same arguments */
    double timeout_s;
    bool detached;
    const struct open_sessions *open; /* NULL: not told */
    bool job;                         /* to be kept when rig_keep() says so */
    const char *owner;                /* of the job, OWNER_BYTES; NULL: not told */
};

/* Sends it; what comes back is written into *answered while the rig runs. */
void rig_send(struct rig *rig, const struct message *request, double timeout_s, struct answered *answered);
void rig_call(struct rig *rig, const struct rig_call *call, struct answered *answered);
void rig_run_session(struct rig *rig, struct session_id session, uint64_t patience_ms,
                     struct answered *answered);
void rig_await(struct rig *rig, uint64_t client, uint64_t oldest, const uint64_t *sequences, uint32_t n,
               uint64_t patience_ms, struct answered *answered);
void rig_follow(struct rig *rig, struct session_id session, uint64_t seen, double progress,
                uint64_t patience_ms, struct answered *answered);
/* The session's client has noted the job: the server is to keep it. */
void rig_keep(struct rig *rig, struct session_id session, struct answered *answered);
void rig_cancel(struct rig *rig, struct session_id session, struct answered *answered);
/* Sent and answered at once. */
enum esp_status rig_put(struct rig *rig, struct session_id session, uint32_t argument, uint64_t offset,
                        const void *data, uint64_t length, struct esp_error *error);
enum esp_status rig_get(struct rig *rig, struct session_id session, uint32_t argument, uint64_t offset,
                        void *data, uint64_t *length, struct esp_error *error);

struct server_counts rig_counts(struct rig *rig);

/* The digest of a problem of the default set. */
uint64_t rig_digest(struct rig *rig, const char *problem);

#define RIG_X 1 /* argument numbers of copy */
#define RIG_Y 2

#endif
