/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of a parallel server: one MPI job that stays between calls, started by mpirun, with a channel
 * to each rank (sed/ranks/rank_link.h). The daemon never links MPI. When a rank dies, the whole job ends,
 * as usual with MPI: its running calls fail, and the job is started again. */
#ifndef SED_RANKS_H
#define SED_RANKS_H

#include "sed/pool/workers.h"

struct ranks_options {
    uint32_t ranks;           /* 1 to RANKS_MOST */
    struct process_grid grid; /* for every call; rows 0, block 0: chosen by models */
    const char *mpirun;       /* NULL: "mpirun", found in PATH */
    const char *hostfile;     /* mpirun's file with the hosts; NULL: all ranks on this host */
    const char *program;      /* espalier-prd; NULL: beside this program, or as installed */
    const char *profile;      /* file for the profile of the ranks; NULL: none */
    int64_t profile_save_ns;  /* least time between saves while there are calls; 0: a minute */
    const char *told;         /* the profile when that file is missing; NULL: none */
    const char *folder;       /* where the private folder with the socket is created; NULL: $TMPDIR or /tmp */
    const char *host; /* host on which porters of the ranks listen, and the daemon for ranks on other hosts;
                         NULL or "": all interfaces; borrowed */
    uint64_t memory;  /* that a routine may allocate on each rank besides its arguments; 0: unlimited */
    uint64_t keep; /* kept of it after a call; a job in which a rank keeps more is restarted; 0: unlimited */
    uint64_t keeps_data; /* memory of each rank on another host for parts of data; 0: none */
    bool lends_data;     /* porters of other servers may fetch parts from it; */
    bool seals_data;     /* only over encrypted connections */
    int64_t still_ns;    /* that a call waits for a stopped rank (SIGSTOP); 0: a minute */
    int64_t alone_ns;    /* that a call continues after one of its ranks failed to allocate memory and has
                            returned, and the others have not; 0: 5 s. At least as long as that rank took */
    int64_t start_ns; /* for all ranks to be ready; 0: 30 s, with a hostfile 60 s, plus half a second for each
                         rank beyond 16 */
    /* Called with lines that mpirun and the ranks print (job 0). On the pool's thread, or NULL. */
    void (*output)(void *arg, uint64_t job_id, const char *line);
    void *output_arg;
};

/* Starts the job without waiting for it. A job that cannot be started is retried at growing intervals:
 * that is no error here, but of start(). The pool is used like that of processes; it keeps no states and
 * asks no questions. ESP_INVALID, ESP_NOT_FOUND (the program), ESP_SYSTEM. */
enum esp_status ranks_create(const struct ranks_options *options, struct workers **workers,
                             struct esp_error *error);

/* Checks that the implementation's library and symbol exist. ESP_NOT_FOUND, ESP_INVALID, ESP_SYSTEM with
 * the text for the log. Waits at most 30 s: call it while starting up, without locks, one thread at a
 * time. */
enum esp_status ranks_check(struct workers *workers, const struct problem *problem,
                            const struct implementation *implementation, struct esp_error *error);

/* Checks whether files of libraries that ranks have loaded have changed, on this host, since ranks_check()
 * loaded them. If so the job is restarted as soon as no call is running on it; new calls wait for that.
 * Must not run together with ranks_check(). Waits at most 30 s. */
void ranks_renew(struct workers *workers);

/* Counters of a pool of ranks. */
struct ranks_counts {
    uint32_t ranks;   /* that wait for calls or compute; 0 while the job starts */
    uint32_t busy;    /* of these */
    uint64_t started; /* jobs of MPI */
    uint64_t calls;   /* that ranks were given */
    /* Bytes of argument parts that ranks on other hosts needed: sent by the daemon, kept by the ranks,
     * sent by other ranks. */
    uint64_t far_sent, far_kept, far_moved;
    bool failed; /* the last job could not be started: calls are refused until one can */
};
void ranks_count(struct workers *workers, struct ranks_counts *counts);

/* Lists the porters of this host's ranks, while these are present; else none. Any thread. */
struct porter_list;
void ranks_porters(struct workers *workers, struct porter_list *list);
/* Lists ranks of other hosts that lend their parts of the value with that key, and the key of encrypted
 * connections to them for that ticket (or PORTER_ORDERS). Any thread. */
struct porter_lenders;
void ranks_lenders(struct workers *workers, struct job_key key, uint64_t ticket,
                   struct porter_lenders *lenders);

/* Returns how many earlier calls of about that time, by the model, are recorded for that proposal's grid. */
uint32_t ranks_known_calls(struct workers *workers, const struct implementation *implementation,
                           const struct parallel_proposal *proposal);

/* Returns the process id of a rank, 0 when it is missing. */
int32_t ranks_pid(struct workers *workers, uint32_t rank);

#endif
