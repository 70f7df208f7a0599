/* SPDX-License-Identifier: Apache-2.0
 *
 * Aggregates the answers of an agent's children: the algorithm of figure I.6 of the DIET paper ("Complete
 * algorithm of a LA to aggregate the results").
 *
 * For every datum the result has its holders and the path from each to this agent. For every capable
 * server it has the computation time, and the path of each datum to it. A path is completed at the lowest
 * agent that has both the holder and the server below it. A datum without a holder below comes "through
 * me": its path grows by one link at every agent.
 *
 * Rows of a response's `data`: the first one is for everything that comes through the responder (argument
 * DATA_THROUGH_ME, holder ""); its transfer is the path from the responder to the server. Then, for each
 * argument that lives on servers, one row per holder that may be the best (none is better in both latency
 * and bandwidth), nearest first, or one row with holder "" if no node below holds it. The transfer of an
 * argument's first row is the best path completed so far; the other transfers are unknown. A server
 * responds for itself with rows for the data that it holds and without any transfer. */
#ifndef CORE_AGGREGATE_H
#define CORE_AGGREGATE_H

#include "core/choice/estimate.h"
#include "core/message/message.h"
#include "core/choice/scheduler.h"
#include "util/random.h"

#define DATA_THROUGH_ME UINT32_MAX
/* Tag of an extension of a server_estimate: bytes per second from the server to the responder, a double of
 * 8 bytes, little-endian, if it differs from the rate to the server. */
#define EXTENSION_WAY_BACK 59
/* Most holders of one datum in a response; the nearest are kept. */
#define DATA_REPLICAS_MOST 8

struct aggregate_input {
    const struct response *response;
    struct path link; /* from this agent to the child that responded */
    /* Paths to the child of each input, measured or shortest, so that data between siblings need not pass
     * this agent; NULL: not known. */
    const struct path *brothers;
    /* The name in the certificate of a server that responded for itself; NULL or "": none. */
    const char *certificate;
};

/* Gives access to links between servers below different children, as one of the two servers measured them. */
struct aggregate_across {
    /* Returns false if the link is not known. */
    bool (*link)(void *arg, const char *holder, const char *server, struct path *path);
    void *arg;
};

/* Stores the path from the sender of the response to the server, `access`, as the estimate's first
 * transfer, with the rate of the way back. False without memory. */
bool aggregate_tell_access(struct server_estimate *estimate, const struct path *access, struct arena *arena);

/* Merges responses without cutting. `across` may be NULL. `merged` points into `arena` or to the inputs.
 * `name` is the agent's. ESP_NO_MEMORY. */
enum esp_status aggregate_merge(const char *name, const struct request *request,
                                const struct aggregate_input *inputs, size_t n_inputs,
                                const struct aggregate_across *across, struct arena *arena,
                                struct response *merged, struct esp_error *error);

/* Bytes of the arguments that travel from the client to the server, and of the results that come back, in
 * all, and the bytes of those that travel in chunks: larger than inline_bytes, by its default. */
struct request_bytes {
    uint64_t in, out;
    uint64_t chunks_in, chunks_out;
};
#define INLINE_BYTES_USUAL (64 << 10)
struct request_bytes request_client_bytes(const struct request *request);

/* tComm in seconds: the time to bring everything that the server needs before it can start, and to bring
 * the results back. Bytes from the client use the client's own link if known (core/forecast/told_links.h),
 * else the path over the agents. An unknown path from the client counts as nothing, because all servers
 * need these bytes; for data see path_datum_seconds(). */
struct transfer_times {
    double in_s, out_s;
};
/* Computes the times for the bytes from and to the client only, over this path, with `opening` as the
 * state of the connection. */
struct transfer_times request_way_times(const struct request_bytes *bytes, double latency_s,
                                        double inverse_bandwidth, double inverse_back,
                                        struct path_opening opening);
/* Like request_way_times(), for a struct path; zero when it is not known. */
struct transfer_times request_path_times(const struct request_bytes *bytes, const struct path *path,
                                         struct path_opening opening);
struct transfer_times aggregate_transfer(const struct request *request, const struct response *response,
                                         const struct server_estimate *estimate);

/* Why a server may not fetch a datum of the request: the argument, the first holder that refuses, and the
 * name in the server's certificate, which is not among those that the holder accepts. */
struct shut_out {
    uint32_t argument;
    const char *holder;
    char certificate[CAP_NAME + 1];
};
/* Whether the server has all data of the request or may fetch them, as far as is known. */
bool aggregate_may_fetch(const struct request *request, const struct response *response,
                         const struct server_estimate *estimate, struct shut_out *why);

/* Whether an argument lives on servers. */
bool request_has_data(const struct request *request);
/* An argument that lives on servers. */
bool argument_is_datum(const struct argument_attribute *argument);

/* Values of a server that an agent remembers and the estimate does not contain. */
struct remembered {
    uint64_t turn;      /* when it was last chosen */
    double link_wait_s; /* until the bytes sent there before have arrived */
    double price;       /* price of an hour */
};

/* Returns the view of a server for schedulers. `wait_s`: time until it can start. */
struct esp_server_view aggregate_view(const struct request *request, const struct server_estimate *estimate,
                                      double wait_s, const struct transfer_times *transfer,
                                      const struct remembered *remembered);

/* Sorts the best `breadth` servers to the front, best to worst, and cuts the rest. Servers that may not
 * fetch the data (as far as is known below), or finish too late, come last. `remember` (may be NULL) fills
 * known values of a server into an all-zero struct. */
void aggregate_cut(const struct request *request, struct response *response, uint32_t breadth,
                   const struct esp_scheduler *scheduler,
                   void (*remember)(const char *server, void *arg, struct remembered *remembered), void *arg,
                   struct random *random);

#endif
