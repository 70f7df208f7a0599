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

#include "core/estimate.h"
#include "core/message.h"
#include "core/scheduler.h"
#include "util/random.h"

#define DATA_THROUGH_ME UINT32_MAX
/* Holders of one datum that one response tells of; more than this are cut, the nearest kept. */
#define DATA_REPLICAS_MOST 8

struct aggregate_input {
    const struct response *response;
    struct path link; /* between this agent and the child that answered */
};

/* Merges without cutting. What `merged` points to lies in `arena` or belongs to the inputs. `name` is the
 * agent's. ESP_NO_MEMORY. */
enum esp_status aggregate_merge(const char *name, const struct request *request,
                                const struct aggregate_input *inputs, size_t n_inputs, struct arena *arena,
                                struct response *merged, struct esp_error *error);

/* tComm in seconds: all that must be brought to the server before it can start, and back. Of what comes from
 * the client a way that is not known counts as nothing, as all servers need it; of data see
 * path_datum_seconds(). */
double aggregate_transfer_s(const struct request *request, const struct response *response,
                            const struct server_estimate *estimate);

/* Bytes of the arguments that travel between the client and the server (inout ones count twice). */
uint64_t request_client_bytes(const struct request *request);
/* Whether an argument lives on servers. */
bool request_has_data(const struct request *request);
/* An argument that lives on servers. */
bool argument_is_datum(const struct argument_attribute *argument);

/* Puts the best `breadth` first, best to worst, and cuts the rest. `turn` tells when a server was last chosen
 * (may be NULL). */
void aggregate_cut(const struct request *request, struct response *response, uint32_t breadth,
                   const struct scheduler *scheduler, uint64_t (*turn)(const char *server, void *arg),
                   void *arg, struct random *random);

#endif
