/* SPDX-License-Identifier: Apache-2.0
 *
 * The forecast for one request on one server. Agents (from memory) and servers (for themselves) use these
 * very functions, so that an answer from memory is what the server would have said.
 */
#ifndef CORE_ESTIMATE_H
#define CORE_ESTIMATE_H

#include "core/forecast/cost_model.h"
#include "core/forecast/problem_speeds.h"
#include "core/message/message.h"
#include "core/forecast/path.h"
#include "util/clock.h"

/* When each slot of a server will be free, on the local clock, as a heap: the earliest first. */
struct load {
    uint32_t slots;
    int64_t *free_at_ns;
    int64_t drained_ns; /* when the last one will be */
};

/* How a server stands besides its slots. */
struct standing {
    double line;          /* sessions there, by slot: decides between servers that are equal otherwise */
    uint64_t memory_free; /* bytes that nobody has or was promised */
};

/* All slots free at `now_ns`. ESP_NO_MEMORY when there is no memory; at most CAP_SLOTS slots. */
enum esp_status load_init(struct load *load, uint32_t slots, int64_t now_ns);
void load_release(struct load *load);
/* As a record tells it: seconds from `now_ns`. */
enum esp_status load_set(struct load *load, const double *free_in_s, uint32_t n, int64_t now_ns);
/* Seconds until a new session could start: 0 when a slot is free. */
double load_wait_s(const struct load *load, int64_t now_ns);
/* The same for a session that does not fit into the memory that is free now: it waits until all that is there
 * has ended, and at least ESTIMATE_MEMORY_S, as nothing tells how long results wait for their clients. */
#define ESTIMATE_MEMORY_S 0.5
double load_start_s(const struct load *load, bool fits, int64_t now_ns);
/* Gives the next session of that length to the slot that is free first (list scheduling). */
void load_place(struct load *load, double seconds, int64_t now_ns);

/* Forecast of the computation: the request's work over the server's measured speed, plus the cost of a call
 * itself. `speed_flops` <= 0: not measured yet, taken as ESTIMATE_DEFAULT_SPEED.
 * Returns seconds; *error_s is the expected error. */
#define ESTIMATE_DEFAULT_SPEED 1e9
#define ESTIMATE_CALL_S        20e-6
double estimate_compute_s(double work_flop, double speed_flops, double *error_s);

/* Who would compute a call. */
enum computed_by {
    BY_NOT_TOLD,
    BY_WORKER,
    BY_RANKS /* of MPI */
};

/* What one request costs on one server. */
struct request_cost {
    double compute_s, error_s; /* the cost of a call itself counted in */
    uint64_t memory_bytes;     /* arguments, results, and what the routine takes beyond them */
    double waits;              /* share of that time in which it waits by itself, as calls told */
    enum cost_ground ground;
    enum computed_by by;
    struct process_grid grid; /* by ranks; rows 0: not told */
};

/* A server as what computes. */
struct computer {
    double speed_flops;                  /* of a slot; <= 0: not measured yet */
    const struct problem_speeds *speeds; /* of problems that were called there; NULL: none */
    /* Of problems that were called on other servers, each as a part of the speed measured there; NULL: none.
     */
    const struct problem_speeds *elsewhere;
    const struct cost_set *models; /* NULL: none */
    bool alone;                    /* what a worker takes is wanted, whatever the server's ranks take */
    double available; /* share of a processor that a session will get beside others' load; 0: not told */
    double available_error; /* its expected error */
};

/* By the server's cost model of the problem, else by what calls of the problem took there, else by what they
 * took elsewhere, else by declared work over the measured speed; or what its ranks take where that is less;
 * beside the load of others. */
void estimate_cost(const struct request *request, const struct computer *computer, struct request_cost *cost);

/* Seconds that a session is counted with on its server until more is known: its forecast. A forecast that
 * rests on the problem's description alone (no cost model, no call there yet) counts at least
 * ESTIMATE_UNKNOWN_S, as the declared work may be too small. Otherwise the server would look idle at once,
 * and further sessions would queue there beside idle servers. By the end of that time the server has reported
 * how long the session takes.
 */
#define ESTIMATE_UNKNOWN_S 0.05
double estimate_count_s(double forecast_s, enum cost_ground ground);

/* Seconds that a session waits at least where `line` sessions are for each slot, however short all of them
 * are thought to be: ESTIMATE_LINE_S for each session (about what a server needs for handling a call), and
 * nothing while a slot is free. */
#define ESTIMATE_LINE_S 100e-6
double estimate_line_s(double line);

/* Tag of an extension of a server_estimate: what the server knows of the cost beyond its time, little-endian:
 * the memory of all (8 bytes), enum cost_ground (4 bytes). */
#define EXTENSION_COST 61
/* As the estimate tells it, and who computes it; of one that does not: the request's own memory, not
 * measured. */
void estimate_told_cost(const struct server_estimate *estimate, const struct request *request,
                        struct request_cost *cost);

/* Tag of an extension of a submit_reply: for each candidate, 12 bytes as EXTENSION_COST has them. */
#define EXTENSION_COSTS 62
#define COST_BYTES_TOLD 12
/* Tag of an extension of a request: nothing is to be placed. All servers are told, best first, and why the
 * others are not among them. With a byte as its value all master agents are asked: each tells of its own
 * servers, also where these have another signature of the problem only. */
#define EXTENSION_FORECAST 63
/* Tag of an extension of the answer to such a request: texts with a NUL behind each, the name of a server and
 * why it is excluded, one after the other. */
#define EXTENSION_EXCLUDED 64
/* A reason begins with this word if the server has less memory than the call needs. */
#define EXCLUDED_NEEDS     "needs "
#define EXCLUDED_OF_MEMORY " of memory" /* behind the number, where the server has too little memory */
/* Tag of another one: the names of those of them that cannot be reached, with a NUL behind each. */
#define EXTENSION_UNREACHED 110
/* Tag of another one: the name of the master agent that answers, without a NUL. */
#define EXTENSION_FORECASTER 57
/* Tag of an extension of a server_estimate, where a forecast is wanted: who would compute the call, as four
 * little-endian 32-bit numbers: enum computed_by, and rows, columns and block of the grid. */
#define EXTENSION_COMPUTED_BY 96
#define BY_BYTES_TOLD         16
/* Tag of an extension of the answer to a request with EXTENSION_FORECAST: the same for each candidate. */
#define EXTENSION_COMPUTED_BYS 97
void cost_put_by(const struct request_cost *cost, uint8_t bytes[BY_BYTES_TOLD]);
void cost_get_by(const uint8_t bytes[BY_BYTES_TOLD], struct request_cost *cost);

void cost_put(const struct request_cost *cost, uint8_t bytes[COST_BYTES_TOLD]);
void cost_get(const uint8_t bytes[COST_BYTES_TOLD], struct request_cost *cost);

/* Tag of an extension of a server_estimate: when each further slot is free, as 8-byte little-endian doubles
 * (seconds, at most ESTIMATE_WAITS_MOST of them, ascending, the first one being queue_s). Who decides about
 * several requests needs more than the first wait. */
#define EXTENSION_WAITS     3
#define ESTIMATE_WAITS_MOST 64

/* Tag of an extension of a server_estimate: its standing, as 8-byte little-endian numbers: the line (a
 * double), the free memory (an integer). */
#define EXTENSION_STANDING 5

/* What such a server of that load and standing says to a request: compute_s, queue_s (for
 * a slot), error_s and the extensions. Memory comes from `arena`; false when there is none. */
bool estimate_fill(struct server_estimate *estimate, const struct request *request,
                   const struct computer *computer, const struct load *load, const struct standing *standing,
                   int64_t now_ns, struct arena *arena);
/* As the estimate tells it; of one that does not: no line, and all the memory one could wish. */
struct standing estimate_standing(const struct server_estimate *estimate);
/* Seconds until a session that takes so much memory could start there, as far as the estimate tells (it may
 * tell that the session takes more). */
double estimate_start_s(const struct server_estimate *estimate, uint64_t memory_bytes);
/* The load behind an estimate, as far as it tells: *load is the caller's to release. */
enum esp_status estimate_load(const struct server_estimate *estimate, int64_t now_ns, struct load *load);

#endif
