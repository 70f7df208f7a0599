/* SPDX-License-Identifier: Apache-2.0
 *
 * fast.h: forecasts for programs, after FAST (Fast Agent's System Timer): what a call would take on each
 * server, in time, memory and transfer, without making it.
 *
 * As with espalier.h: any thread, between grpc_initialize() and grpc_finalize(); a function that fails leaves
 * a text for esp_last_error(); what is handed out is the caller's, in one piece.
 */
#ifndef FAST_H
#define FAST_H

#include "espalier.h"
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* A call that is not made: a problem and values of its scalar arguments, by their names: sizes as the problem
 * counts them (rows, columns, elements). A flag is its letter's code ('U'). Scalars with a default may be
 * left out; none may be there twice (ESP_INVALID). The caller's, and not looked at after the function has
 * returned. */
struct fast_value {
    const char *name;
    double value;
};
struct fast_call {
    const char *problem;
    const struct fast_value *values;
    size_t n_values;
};

/* How far a forecast may be trusted. */
enum fast_ground {
    FAST_NOT_MEASURED = 0,  /* no call was made there yet: the description's work over the server's speed */
    FAST_MEASURED = 1,      /* by a cost model, within the sizes that were measured */
    FAST_EXTRAPOLATED = 2,  /* beyond them: by the model's leading term */
    FAST_OTHER_OPTIONS = 3, /* measured with other values of its options */
    FAST_CALLED = 4         /* without a cost model: what calls of the problem took on the server */
};

/* Who computes a call. */
enum fast_by {
    FAST_BY_UNKNOWN = 0, /* its server is excluded, or of an earlier version */
    FAST_BY_WORKER = 1,
    FAST_BY_RANKS = 2 /* of MPI, on a process grid */
};

/* What a forecast of transfers stands on. */
enum fast_way {
    FAST_WAY_UNKNOWN = 0,  /* nothing: there is no measurement, and transfer_s is next to 0 */
    FAST_WAY_OWN = 1,      /* the link there, by this user's own transfers from here, or greetings */
    FAST_WAY_SHORTEST = 2, /* the shortest path over links that were measured, by whomever */
    FAST_WAY_HOST = 3      /* the server is on this host: how fast data move within its memory */
};

/* What one server would take. Times in seconds. */
struct fast_server {
    const char *server;
    const char *address;  /* "" when it is excluded */
    const char *excluded; /* why it would not be chosen; NULL: it could be */
    double compute_s, transfer_s, queue_s, total_s;
    double error_s;        /* expected error of the computation */
    uint64_t memory_bytes; /* arguments, results, and what the routine takes beyond them */
    enum fast_ground ground;
    const char *agent; /* the master agent that told it; "": one that does not say its name */
    /* Expected error of the transfers, and what they stand on. FAST_MEASURED: this user's own transfers from
     * here (or greetings); FAST_NOT_MEASURED: something else, or nothing; see transfer_way. */
    double transfer_error_s;
    enum fast_ground transfer_ground;
    /* Who would compute it, and by ranks on which grid, with blocks of which size (all 0: that is not told).
     * Agents know what square matrices of so much work would lead to; the server looks at the call. */
    enum fast_by by;
    unsigned grid_rows, grid_cols, grid_block;
    /* It is excluded because it cannot be reached: a server that was lost within the last ten minutes, or an
     * agent, of which the servers below are not known now. */
    int unreachable;
    enum fast_way transfer_way;
};

/* All servers that the platform's master agents know: those that could take the call, then those that are
 * excluded. Those that could take it come in the order in which it would end there, whichever master agent
 * they are below. A master agent that does not answer is left out. Nothing is placed by it. *servers: an
 * array of *n, to be given to fast_forecast_free(). ESP_INVALID: the problem is abstract, or does not take
 * these values; ESP_UNKNOWN_PROBLEM: nobody solves it; ESP_UNREACHABLE: no master agent answers. */
enum esp_status fast_forecast(const struct fast_call *call, struct fast_server **servers, size_t *n);
/* The same with constraints (of the options, those that esp_call() has for the choice; NULL: none): servers
 * that do not meet them are among the excluded ones. ESP_INVALID: a constraint that cannot be. */
enum esp_status fast_forecast_within(const struct fast_call *call, const struct esp_call_options *options,
                                     struct fast_server **servers, size_t *n);
/* Of the call that esp_call() would make with these arguments, which are not changed: data that live on
 * servers count with the way that they would go. ESP_NOT_FOUND: there is no such datum; ESP_INVALID: what
 * esp_call() would say, or the problem is abstract. */
enum esp_status fast_forecast_arguments(const char *problem, const struct esp_argument *arguments,
                                        size_t n_arguments, const struct esp_call_options *options,
                                        struct fast_server **servers, size_t *n);
/* With all texts in it. NULL is nothing to do. */
void fast_forecast_free(struct fast_server *servers);

/* A step of a rule of an abstract problem. */
struct fast_step {
    unsigned rule;           /* its number from 0; the steps of one follow each other */
    int rival;               /* the rule competes with the one before: the forecast decides between them */
    const char *text;        /* the rule, as the description has it */
    const char *problem;     /* that does the step */
    const char *why;         /* nothing is known; NULL: */
    struct fast_server best; /* all steps of a rule are made on one server, if it can: on the one where all of
                              * them would be over first (the first one, where that makes no clear
                              * difference). It is waited for once */
};
/* All rules of an abstract problem, in its order, by sizes alone: which of them fit depends on what the
 * arrays are like. Values that the abstract problem does not have go to the steps (nz). ESP_INVALID: sizes
 * are missing or wrong, or taken by nobody; ESP_NOT_FOUND: the problem is not abstract. */
enum esp_status fast_forecast_rules(const struct fast_call *call, const struct esp_call_options *options,
                                    struct fast_step **steps, size_t *n);
/* With all texts in it. NULL is nothing to do. */
void fast_rules_free(struct fast_step *steps);

/* Time of the computation in seconds, with what a call itself costs there, on that server (NULL: on the one
 * where all would be done first, of those below the master agent that a call would go to); beside what
 * competes for its processors now. *error_s (may be NULL): the expected error, in seconds either way.
 * Transfers and the queue are not part of it: fast_forecast() has them. ESP_INVALID: the problem is abstract,
 * or does not take these values; ESP_NO_SERVER: the server is excluded, and why; ESP_NOT_FOUND: there is no
 * such server; ESP_UNKNOWN_PROBLEM, ESP_UNREACHABLE. */
enum esp_status fast_comp_time(const char *server, const struct fast_call *call, double *seconds,
                               double *error_s);
/* Memory in bytes that the call takes on that server (NULL: as above): arguments, results, and what the
 * routine allocates besides, as far as a model tells. Errors as fast_comp_time(). */
enum esp_status fast_comp_size(const char *server, const struct fast_call *call, uint64_t *bytes);
/* Time in seconds to move so many bytes from one node of the hierarchy to another, by name, along the tree:
 * the links as they were last forecast, with slow start; between servers of one host, at the rate of its
 * memory. 0 from a node to itself. ESP_NOT_FOUND: a link on the way has not been measured, or there is no
 * such node; ESP_INVALID: a name is missing; ESP_UNREACHABLE: no master agent answers. */
enum esp_status fast_comm_time(const char *source, const char *destination, uint64_t bytes, double *seconds);

enum fast_resource {
    FAST_FLOP, /* need: floating point operations. avail: of one slot, in a second, beside the load of others
                */
    FAST_MEMORY,    /* bytes. avail: free for sessions */
    FAST_INPUT,     /* need: bytes that go to the server */
    FAST_OUTPUT,    /* need: bytes that come back */
    FAST_SLOTS,     /* avail: calls that could start now */
    FAST_BANDWIDTH, /* avail: bytes per second from source to destination */
    FAST_LATENCY    /* avail: seconds from source to destination, one way */
};

/* What the call needs, whatever the server, as its description tells; in the units of enum fast_resource.
 * ESP_INVALID: that is nothing a call needs, or the problem is abstract, or does not take these values;
 * ESP_UNKNOWN_PROBLEM, ESP_UNREACHABLE: *amount is then as it was. */
enum esp_status fast_need(enum fast_resource resource, const struct fast_call *call, double *amount);
/* What a node has now, in the units of enum fast_resource; `destination` for bandwidth and latency, else
 * NULL. ESP_INVALID: that is nothing a node has, or a name is missing; ESP_NOT_FOUND: no such node, or not
 * measured; ESP_UNREACHABLE. */
enum esp_status fast_avail(enum fast_resource resource, const char *source, const char *destination,
                           double *amount);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
