/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of a parallel server: one MPI job that stays from call to call, started by mpirun and fed over a
 * channel to each rank (sed/ranks/rank_link.h). The daemon never links MPI. A rank that dies takes the job
 * with it, as MPI has it: the calls that it computes fail, and the job is started again.
 */
#ifndef SED_RANKS_H
#define SED_RANKS_H

#include "sed/pool/workers.h"

struct ranks_options {
    uint32_t ranks;           /* 1 to RANKS_MOST */
    struct process_grid grid; /* that every call runs on; rows 0, block 0: as the models say */
    const char *mpirun;       /* NULL: "mpirun", found in PATH */
    const char *hostfile;     /* of mpirun: where the ranks are; NULL: all on this host */
    const char *program;      /* espalier-prd; NULL: beside this program, or as installed */
    const char *profile;      /* the file that keeps what is known of the ranks; NULL: none does */
    int64_t profile_save_ns;  /* at most so seldom while calls go on; 0: a minute */
    const char *told;         /* what others know of them, when that file is not there; NULL: nothing */
    const char *folder;       /* where the private folder with the socket is made; NULL: $TMPDIR or /tmp */
    const char *host;    /* on which porters of the ranks listen, and the daemon for ranks on other hosts;
                          * NULL or "": all interfaces; borrowed */
    uint64_t memory;     /* that a routine may allocate on each rank beside its arguments; 0: any amount */
    uint64_t keep;       /* of it, after a call; a job in which a rank keeps more is started again; 0: any */
    uint64_t keeps_data; /* bytes in which each rank on another host keeps parts of data; 0: none */
    bool lends_data;     /* which porters of other servers may have from it; */
    bool seals_data;     /* over encrypted connections only */
    int64_t still_ns;    /* that a call may wait for a rank that is stopped (SIGSTOP); 0: a minute */
    int64_t alone_ns; /* that a call goes on when one of its ranks was refused memory in the routine and has
                       * returned, and the others have not; 0: 5 s. At least as long as that rank took */
    int64_t start_ns; /* for all ranks to be ready; 0: 30 s, with a hostfile 60 s, and half a second for each
                       * rank beyond 16 */
    /* Lines that mpirun and the ranks print (job 0). On the pool's thread, or NULL. */
    void (*output)(void *arg, uint64_t job_id, const char *line);
    void *output_arg;
};

/* Starts the job, and does not wait for it. A job that cannot be started is tried again, later and later:
 * that is no error here, but of start(). The pool is used as that of processes is; it keeps no states and
 * asks no questions. ESP_INVALID, ESP_NOT_FOUND (the program), ESP_SYSTEM. */
enum esp_status ranks_create(const struct ranks_options *options, struct workers **workers,
                             struct esp_error *error);

/* Whether the implementation's library and symbol are there. ESP_NOT_FOUND, ESP_INVALID, ESP_SYSTEM with the
 * text for the log. Waits at most 30 s: while starting up, without locks, one thread at a time. */
enum esp_status ranks_check(struct workers *workers, const struct problem *problem,
                            const struct implementation *implementation, struct esp_error *error);

/* Looks whether libraries that ranks have loaded are other files, on this host, than they were when
 * ranks_check() loaded them. If so the job is started again as soon as no call is under way on it; calls that
 * come wait for that. While no thread is in ranks_check(). Waits at most 30 s. */
void ranks_renew(struct workers *workers);

/* What it has and did. */
struct ranks_counts {
    uint32_t ranks;   /* that wait for calls or compute; 0 while the job starts */
    uint32_t busy;    /* of these */
    uint64_t started; /* jobs of MPI */
    uint64_t calls;   /* that ranks were given */
    /* Parts of arguments that ranks on other hosts needed, bytes: the daemon sent them, the ranks had kept
     * them, other ranks sent them. */
    uint64_t far_sent, far_kept, far_moved;
    bool failed; /* the last one could not be started: calls are refused until another one could */
};
void ranks_count(struct workers *workers, struct ranks_counts *counts);

/* The porters of the ranks of this host, while these are there; else none. Any thread. */
struct porter_list;
void ranks_porters(struct workers *workers, struct porter_list *list);
/* Those of other hosts that lend what they keep of the value with that key, and the key of encrypted
 * connections to them for that ticket (or PORTER_ORDERS). Any thread. */
struct porter_lenders;
void ranks_lenders(struct workers *workers, struct job_key key, uint64_t ticket,
                   struct porter_lenders *lenders);

/* How many calls of about that time, by the model, are known of that proposal's grid. */
uint32_t ranks_known_calls(struct workers *workers, const struct implementation *implementation,
                           const struct parallel_proposal *proposal);

/* The process id of a rank, 0 when it is not there. */
int32_t ranks_pid(struct workers *workers, uint32_t rank);

#endif
