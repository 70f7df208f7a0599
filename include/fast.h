/* SPDX-License-Identifier: Apache-2.0
 *
 * fast.h: forecasts for programs, after FAST (Fast Agent's System Timer): the time, memory and transfers of a
 * call on each server, without making the call.
 *
 * Any thread may call these functions between grpc_initialize() and grpc_finalize(). A function that fails
 * leaves a text for esp_last_error(). Each result behind a pointer to a pointer is one block that the caller
 * owns.
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

/* A call to forecast: a problem and the values of its scalar arguments, by name. Sizes are in the problem's
 * units (rows, columns, elements). The value of a flag is the code of its letter ('U'). A scalar with a
 * default may be left out. A name that occurs twice is ESP_INVALID. The caller owns the struct; functions
 * read it only until they return. */
struct fast_value {
    const char *name;
    double value;
};
struct fast_call {
    const char *problem;
    const struct fast_value *values;
    size_t n_values;
};

/* The basis of the forecast of a computation. */
enum fast_ground {
    FAST_NOT_MEASURED = 0,  /* the description's work over the server's speed; no call was made there yet */
    FAST_MEASURED = 1,      /* a cost model, within the sizes that were measured */
    FAST_EXTRAPOLATED = 2,  /* the leading term of a cost model, beyond the sizes that were measured */
    FAST_OTHER_OPTIONS = 3, /* a cost model that was measured with other values of the options */
    FAST_CALLED = 4         /* no cost model, but earlier calls of the problem on the server */
};

/* The process that computes a call. */
enum fast_by {
    FAST_BY_UNKNOWN = 0, /* the server is excluded, or does not say */
    FAST_BY_WORKER = 1,
    FAST_BY_RANKS = 2 /* of MPI, on a process grid */
};

/* The basis of the forecast of transfers. */
enum fast_way {
    FAST_WAY_UNKNOWN = 0,  /* no measurement; transfer_s is close to 0 */
    FAST_WAY_OWN = 1,      /* earlier transfers of this user from this host to the server, or greetings */
    FAST_WAY_SHORTEST = 2, /* the shortest path over links that any node or client has measured */
    FAST_WAY_HOST = 3      /* the rate at which this host copies memory; the server is on this host */
};

/* The forecast for one server. Times are in seconds. */
struct fast_server {
    const char *server;
    const char *address;  /* "" when it is excluded */
    const char *excluded; /* why the agents would not choose it; NULL: they could */
    double compute_s, transfer_s, queue_s, total_s;
    double error_s;        /* expected error of the computation */
    uint64_t memory_bytes; /* of arguments, results, and the routine itself */
    enum fast_ground ground;
    const char *agent; /* name of the master agent that made the forecast; "": not known */
    /* Expected error and basis of the transfers. FAST_MEASURED: earlier transfers of this user from this
     * host, or greetings. FAST_NOT_MEASURED: anything else, see transfer_way. */
    double transfer_error_s;
    enum fast_ground transfer_ground;
    /* The process that would compute the call; of ranks, the grid and the block size (0: not known). The
     * agent takes the grid of a square matrix of the same work. The server may take another grid when the
     * call arrives. */
    enum fast_by by;
    unsigned grid_rows, grid_cols, grid_block;
    /* 1: excluded because it cannot be reached. It is a server that was lost within the last ten minutes, or
     * an agent below which servers may be missing. */
    int unreachable;
    enum fast_way transfer_way;
};

/* Forecasts a call on all servers that the platform's master agents know. The servers that could take the
 * call come first, sorted by total_s, then the excluded ones. A master agent that does not answer is left
 * out. No server is reserved. *servers is an array of *n, for fast_forecast_free(). ESP_INVALID: the problem
 * is abstract, or does not accept these values. ESP_UNKNOWN_PROBLEM: no server solves it. ESP_UNREACHABLE: no
 * master agent answers. */
enum esp_status fast_forecast(const struct fast_call *call, struct fast_server **servers, size_t *n);
/* fast_forecast() with the constraints of `options` (NULL: none). Servers that do not meet them are excluded.
 * ESP_INVALID: a constraint is impossible. */
enum esp_status fast_forecast_within(const struct fast_call *call, const struct esp_call_options *options,
                                     struct fast_server **servers, size_t *n);
/* Forecasts the call that esp_call() would make with these arguments, and does not change them. Data that
 * live on servers count with their transfers between servers. ESP_NOT_FOUND: there is no such datum.
 * ESP_INVALID: as esp_call(), or the problem is abstract. */
enum esp_status fast_forecast_arguments(const char *problem, const struct esp_argument *arguments,
                                        size_t n_arguments, const struct esp_call_options *options,
                                        struct fast_server **servers, size_t *n);
/* Frees the array with all its texts. NULL is allowed. */
void fast_forecast_free(struct fast_server *servers);

/* A step of a rule of an abstract problem. */
struct fast_step {
    unsigned rule;           /* number of its rule, from 0; the steps of a rule are consecutive */
    int rival;               /* 1: the rule competes with the previous one; the forecast decides */
    const char *text;        /* the rule as the description has it */
    const char *problem;     /* that does the step */
    const char *why;         /* why there is no forecast; NULL: `best` is the forecast */
    struct fast_server best; /* the server on which the whole rule would end first. All steps of a rule run on
                              * one server if it can do them all, and only one of them waits in the queue. If
                              * ends differ little, the first server */
};
/* Forecasts all rules of an abstract problem, in its order, from sizes alone. (In a call, the contents of the
 * arrays decide which rules apply.) Values that are not arguments of the abstract problem go to its steps
 * (nz). ESP_INVALID: sizes are missing, wrong, or used by no step. ESP_NOT_FOUND: the problem is not
 * abstract. */
enum esp_status fast_forecast_rules(const struct fast_call *call, const struct esp_call_options *options,
                                    struct fast_step **steps, size_t *n);
/* Forecasts the rule that a run (espalier.h) would take, and competing rules, best first. It makes no call;
 * servers inspect the data that they have. ESP_INVALID: no rule fits the inputs. */
enum esp_status fast_forecast_run(struct esp_run *run, const struct esp_call_options *options,
                                  struct fast_step **steps, size_t *n);
/* Frees the array with all its texts. NULL is allowed. */
void fast_rules_free(struct fast_step *steps);

/* Forecasts the time of the computation on `server` in seconds, under the present load of its processors and
 * with the overhead of a call. It does not include transfers and queue (see fast_forecast()). `server` NULL:
 * the server below the client's master agent on which the call would end first. *error_s (may be NULL): the
 * expected error, in seconds either way. ESP_INVALID: the problem is abstract, or does not accept these
 * values. ESP_NO_SERVER: the server is excluded; the text says why. ESP_NOT_FOUND: there is no such server.
 * ESP_UNKNOWN_PROBLEM. ESP_UNREACHABLE. */
enum esp_status fast_comp_time(const char *server, const struct fast_call *call, double *seconds,
                               double *error_s);
/* Forecasts the memory of the call on `server` in bytes: arguments, results, and, where a model knows it, the
 * memory that the routine allocates. `server` NULL and errors: as fast_comp_time(). */
enum esp_status fast_comp_size(const char *server, const struct fast_call *call, uint64_t *bytes);
/* Forecasts the time in seconds to transfer `bytes` from one node to another along the tree, with TCP's slow
 * start. Nodes are given by name. Between servers of one host the rate of its memory counts. The time from a
 * node to itself is 0. ESP_NOT_FOUND: there is no such node, or a link of the path was not measured.
 * ESP_INVALID: a name is missing. ESP_UNREACHABLE: no master agent answers. */
enum esp_status fast_comm_time(const char *source, const char *destination, uint64_t bytes, double *seconds);

enum fast_resource {
    FAST_FLOP,      /* need: floating point operations. avail: per second and slot, under the present load */
    FAST_MEMORY,    /* bytes. avail: free for sessions */
    FAST_INPUT,     /* need: bytes that go to the server */
    FAST_OUTPUT,    /* need: bytes that come back */
    FAST_SLOTS,     /* avail: calls that could start now */
    FAST_BANDWIDTH, /* avail: bytes per second from source to destination */
    FAST_LATENCY    /* avail: seconds from source to destination, one way */
};

/* Computes from the description how much of a resource the call needs on any server, in the units of enum
 * fast_resource. On an error *amount does not change. ESP_INVALID: a call does not need this resource, the
 * problem is abstract, or it does not accept these values. ESP_UNKNOWN_PROBLEM. ESP_UNREACHABLE. */
enum esp_status fast_need(enum fast_resource resource, const struct fast_call *call, double *amount);
/* Gets how much of a resource a node has now, in the units of enum fast_resource. `destination` is a node for
 * bandwidth and latency, otherwise NULL. ESP_INVALID: a node does not have this resource, or a name is
 * missing. ESP_NOT_FOUND: there is no such node, or no measurement. ESP_UNREACHABLE. */
enum esp_status fast_avail(enum fast_resource resource, const char *source, const char *destination,
                           double *amount);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
