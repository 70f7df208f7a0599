/* SPDX-License-Identifier: Apache-2.0
 *
 * The forecast for one request on one server. Agents (from memory) and servers (for themselves) use the
 * same functions, so an agent's answer from memory equals that of the server. */
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
    int64_t drained_ns; /* when the last slot will be free */
};

/* The state of a server besides its slots. */
struct standing {
    double line;          /* sessions per slot: decides between servers that are equal otherwise */
    uint64_t memory_free; /* bytes neither used nor promised */
};

/* Sets all slots free at `now_ns`. ESP_NO_MEMORY; at most CAP_SLOTS slots. */
enum esp_status load_init(struct load *load, uint32_t slots, int64_t now_ns);
void load_release(struct load *load);
/* Sets the slots from a record: seconds from `now_ns`. */
enum esp_status load_set(struct load *load, const double *free_in_s, uint32_t n, int64_t now_ns);
/* Returns the seconds until a new session could start: 0 when a slot is free. */
double load_wait_s(const struct load *load, int64_t now_ns);
/* Like load_wait_s(), for a session that may not fit into the free memory (`fits`). If not, it waits until
 * all present sessions have ended, and at least ESTIMATE_MEMORY_S, because it is not known how long
 * results wait for their clients. */
#define ESTIMATE_MEMORY_S 0.5
double load_start_s(const struct load *load, bool fits, int64_t now_ns);
/* Assigns a session of that length to the slot that is free first (list scheduling). */
void load_place(struct load *load, double seconds, int64_t now_ns);

/* Forecasts the computation: the request's work over the server's measured speed, plus the cost of a call
 * itself. `speed_flops` <= 0: not measured yet, replaced by ESTIMATE_DEFAULT_SPEED. Returns seconds;
 * *error_s is the expected error. */
#define ESTIMATE_DEFAULT_SPEED 1e9
#define ESTIMATE_CALL_S        20e-6
double estimate_compute_s(double work_flop, double speed_flops, double *error_s);

/* The part of a server that computes a call. */
enum computed_by {
    BY_NOT_TOLD,
    BY_WORKER,
    BY_RANKS /* of MPI */
};

/* The cost of one request on one server. */
struct request_cost {
    double compute_s, error_s; /* including the cost of a call itself */
    uint64_t memory_bytes;     /* arguments, results, and the routine's additional memory */
    double waits;              /* fraction of that time that it waits, according to earlier calls */
    enum cost_ground ground;
    enum computed_by by;
    struct process_grid grid; /* grid of the ranks; rows 0: not known */
};

/* A server's values for forecasts. */
struct computer {
    double speed_flops;                  /* of a slot; <= 0: not measured yet */
    const struct problem_speeds *speeds; /* of problems called there; NULL: none */
    /* Of problems called on other servers, each relative to the speed measured there; NULL: none. */
    const struct problem_speeds *elsewhere;
    const struct cost_set *models; /* NULL: none */
    bool alone;                    /* forecast for a worker, even if the server's ranks are faster */
    double available;       /* fraction of a processor that a session gets besides other load; 0: not known */
    double available_error; /* its expected error */
};

/* Forecasts by the server's cost model of the problem, else by the times of the problem's calls there,
 * else by those on other servers, else by declared work over the measured speed; or by the time of its
 * ranks if that is less. Includes the load of other processes. */
void estimate_cost(const struct request *request, const struct computer *computer, struct request_cost *cost);

/* Returns the seconds for which a session counts on its server until more is known: its forecast. A
 * forecast from the problem's description alone (no cost model, no call there yet) counts at least
 * ESTIMATE_UNKNOWN_S, because the declared work may be too small. Otherwise the server would look idle at
 * once, and further sessions would queue there beside idle servers. After that time the server has
 * reported how long the session takes. */
#define ESTIMATE_UNKNOWN_S 0.05
double estimate_count_s(double forecast_s, enum cost_ground ground);

/* Returns the least wait of a session with `line` sessions per slot, however short their forecasts are:
 * ESTIMATE_LINE_S for each session (about a server's time for handling a call), and 0 while a slot is
 * free. */
#define ESTIMATE_LINE_S 100e-6
double estimate_line_s(double line);

/* Tag of an extension of a server_estimate: the server's cost besides the time, little-endian: the whole
 * memory (8 bytes), enum cost_ground (4 bytes). */
#define EXTENSION_COST 61
/* Reads the cost from the estimate, including what computes it. Without the extension: the request's own
 * memory, not measured. */
void estimate_told_cost(const struct server_estimate *estimate, const struct request *request,
                        struct request_cost *cost);

/* Tag of an extension of a submit_reply: for each candidate, 12 bytes like EXTENSION_COST. */
#define EXTENSION_COSTS 62
#define COST_BYTES_TOLD 12
/* Tag of an extension of a request: nothing is placed. The reply lists all servers, best first, and why
 * other servers are excluded. With a byte as its value, all master agents are asked: each lists its own
 * servers, even if these have the problem with another signature only. */
#define EXTENSION_FORECAST 63
/* Tag of an extension of the reply to such a request: texts with a NUL after each, alternately the name of
 * a server and why it is excluded. */
#define EXTENSION_EXCLUDED 64
/* First word of the reason if the server has less memory than the call needs. */
#define EXCLUDED_NEEDS     "needs "
#define EXCLUDED_OF_MEMORY " of memory" /* after the number, if the server has too little memory */
/* Tag of an extension of that reply: the names of the unreachable ones among them, with a NUL after each. */
#define EXTENSION_UNREACHED 110
/* Tag of an extension of that reply: the name of the master agent that replies, without a NUL. */
#define EXTENSION_FORECASTER 57
/* Tag of an extension of a server_estimate, in a forecast: what would compute the call, as four
 * little-endian 32-bit numbers: enum computed_by, and rows, columns and block of the grid. */
#define EXTENSION_COMPUTED_BY 96
#define BY_BYTES_TOLD         16
/* Tag of an extension of the reply to a request with EXTENSION_FORECAST: the value of
 * EXTENSION_COMPUTED_BY for each candidate. */
#define EXTENSION_COMPUTED_BYS 97
void cost_put_by(const struct request_cost *cost, uint8_t bytes[BY_BYTES_TOLD]);
void cost_get_by(const uint8_t bytes[BY_BYTES_TOLD], struct request_cost *cost);

void cost_put(const struct request_cost *cost, uint8_t bytes[COST_BYTES_TOLD]);
void cost_get(const uint8_t bytes[COST_BYTES_TOLD], struct request_cost *cost);

/* Tag of an extension of a server_estimate: when each further slot is free, as 8-byte little-endian
 * doubles (seconds, at most ESTIMATE_WAITS_MOST of them, ascending, the first one being queue_s). An agent
 * that decides several requests needs more than the first wait. */
#define EXTENSION_WAITS     3
#define ESTIMATE_WAITS_MOST 64

/* Tag of an extension of a server_estimate: its standing, as 8-byte little-endian numbers: sessions per
 * slot (a double), free memory (an integer). */
#define EXTENSION_STANDING 5

/* Fills the estimate of such a server with that load and standing: compute_s, queue_s (for a slot),
 * error_s and the extensions. Memory comes from `arena`; false when there is none. */
bool estimate_fill(struct server_estimate *estimate, const struct request *request,
                   const struct computer *computer, const struct load *load, const struct standing *standing,
                   int64_t now_ns, struct arena *arena);
/* Reads the standing from the estimate; without the extension: no waiting sessions, and unlimited memory. */
struct standing estimate_standing(const struct server_estimate *estimate);
/* Returns the seconds until a session with that memory could start there, according to the estimate (which
 * may say that the session needs more). */
double estimate_start_s(const struct server_estimate *estimate, uint64_t memory_bytes);
/* Reconstructs the load from an estimate; the caller releases *load. */
enum esp_status estimate_load(const struct server_estimate *estimate, int64_t now_ns, struct load *load);

#endif
