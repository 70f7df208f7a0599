/* SPDX-License-Identifier: Apache-2.0
 *
 * What an agent makes of its children's answers: the algorithm of figure I.6 of the DIET paper ("Complete
 * algorithm of a LA to aggregate the results").
 *
 * For every datum: where it is and what it takes to bring it here. For every capable server: the computation
 * time, and what it takes to bring each datum to it. A way is closed at the lowest agent that has both the
 * holder and the server below it; what nobody below holds comes "through me": its way is increased by one
 * link at every agent.
 *
 * Rows of a response's `data`: first one for all that comes through the responder (argument DATA_THROUGH_ME,
 * holder ""), whose transfer is the way from the responder to the server; then, for each argument that lives
 * on servers, one per holder that may be the best (none is better in both latency and bandwidth), nearest
 * first, or one with holder "" when nobody below holds it. The transfer of an argument's first row is the
 * best way that is closed already; the others are unknown. A server answers for itself with rows for what it
 * holds and without any transfer.
 */
#ifndef CORE_AGGREGATE_H
#define CORE_AGGREGATE_H

#include "core/choice/estimate.h"
#include "core/message/message.h"
#include "core/choice/scheduler.h"
#include "util/random.h"

#define DATA_THROUGH_ME UINT32_MAX
/* Tag of an extension of a server_estimate: bytes per second from the server to the responder, a double of 8
 * bytes, little-endian, where that is not the rate of the way there. */
#define EXTENSION_WAY_BACK 59
/* Holders of one datum that one response tells of; more than this are cut, the nearest kept. */
#define DATA_REPLICAS_MOST 8

struct aggregate_input {
    const struct response *response;
    struct path link; /* from this agent to the child that answered */
    /* To the child of each input, measured or over the shortest path, so that data between brothers need not
     * come this way; NULL: nothing is known of such links. */
    const struct path *brothers;
    /* The name in the certificate of a server that answered for itself; NULL or "": it showed none. */
    const char *certificate;
};

/* What servers below different children have measured of the links between them: the datum goes from one to
 * the other, and what one of them found is what it takes. */
struct aggregate_across {
    /* False: nothing is known. */
    bool (*link)(void *arg, const char *holder, const char *server, struct path *path);
    void *arg;
};

/* The way to the server from who speaks, `access`, as the estimate's first transfer, with the way back. False
 * without memory. */
bool aggregate_tell_access(struct server_estimate *estimate, const struct path *access, struct arena *arena);

/* Merges without cutting. `across` may be NULL. What `merged` points to lies in `arena` or belongs to the
 * inputs. `name` is the agent's. ESP_NO_MEMORY. */
enum esp_status aggregate_merge(const char *name, const struct request *request,
                                const struct aggregate_input *inputs, size_t n_inputs,
                                const struct aggregate_across *across, struct arena *arena,
                                struct response *merged, struct esp_error *error);

/* Bytes of the arguments that travel from the client to the server, and of those that come back, in all, and
 * of those that travel in chunks, as clients and servers have it that are not told otherwise (inline_bytes).
 */
struct request_bytes {
    uint64_t in, out;
    uint64_t chunks_in, chunks_out;
};
#define INLINE_BYTES_USUAL (64 << 10)
struct request_bytes request_client_bytes(const struct request *request);

/* tComm in seconds: to bring all that the server needs before it can start, and to bring the results back.
 * What comes from the client goes over the link that it knows (core/forecast/told_links.h), else over its way
 * to the agent and the one from the responder. Of what comes from the client a way that is not known counts
 * as nothing, as all servers need it; of data see path_datum_seconds(). */
struct transfer_times {
    double in_s, out_s;
};
/* What comes from the client alone, over that way to the server and back, as it begins there. */
struct transfer_times request_way_times(const struct request_bytes *bytes, double latency_s,
                                        double inverse_bandwidth, double inverse_back,
                                        struct path_opening opening);
/* The same of a path; nothing when it is not known. */
struct transfer_times request_path_times(const struct request_bytes *bytes, const struct path *path,
                                         struct path_opening opening);
struct transfer_times aggregate_transfer(const struct request *request, const struct response *response,
                                         const struct server_estimate *estimate);

/* A server that may not fetch a datum of the request: which argument's, the server that has it and does not
 * let it in (the first of those), and the name in its certificate, which is not among those that it would. */
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

/* What an agent remembers of a server that its estimate does not tell. */
struct remembered {
    uint64_t turn;      /* when it was last chosen */
    double link_wait_s; /* until what was sent there before is through */
    double price;       /* of an hour */
};

/* The view of a server for schedulers. `wait_s`: until it can start. */
struct esp_server_view aggregate_view(const struct request *request, const struct server_estimate *estimate,
                                      double wait_s, const struct transfer_times *transfer,
                                      const struct remembered *remembered);

/* Puts the best `breadth` first, best to worst, and cuts the rest. Those that may not fetch the data (as far
 * as is known below) come last, with those that end too late. `remember` fills what is known of a server into
 * an all-zero struct (may be NULL). */
void aggregate_cut(const struct request *request, struct response *response, uint32_t breadth,
                   const struct esp_scheduler *scheduler,
                   void (*remember)(const char *server, void *arg, struct remembered *remembered), void *arg,
                   struct random *random);

#endif
