/* SPDX-License-Identifier: Apache-2.0
 *
 * A server daemon whose jobs take virtual time: the ties to its parent, its reports, its estimates and its
 * counting of placements are made of the same functions as the real one's; only the computation is a timer.
 */
#ifndef TESTS_INPROC_SIMULATED_SERVER_H
#define TESTS_INPROC_SIMULATED_SERVER_H

#include "core/transport.h"

struct simulated_server;

struct simulated_options {
    const char *name;
    const char *address; /* as the in-process transport takes it; NULL: the name */
    uint64_t incarnation;
    uint64_t seed;
    const char *const *parents;
    size_t n_parents;
    const char *const *problems; /* names; equal lists are equal catalogues */
    size_t n_problems;
    double speed_flops;
    uint32_t slots;
    uint64_t memory;
    uint64_t memory_taken;    /* of it, by others all the time */
    uint64_t memory_held;     /* told beside it: by others on its machine */
    double routine_bytes;     /* what its model of the first problem says; 0: it has none */
    struct path link;         /* from its parent: large arguments and results take their time on it */
    const char *fetched_from; /* a server of which it has fetched data, over that link; NULL: none */
    struct path fetched;
    double price; /* of an hour of a slot */
    const char *const *properties;
    size_t n_properties;
    const char *const *holds; /* identities of the data that live here */
    size_t n_holds;
    double noise;             /* actual computation times differ from forecasts by up to this fraction */
    double least_s;           /* a call takes at least so long, whatever its forecast */
    int64_t report_within_ms; /* 0: 20 */
    const char *signature;    /* differs: another signature of the same problems; NULL: the usual one */
};

enum esp_status simulated_create(const struct simulated_options *options, struct transport *transport,
                                 struct simulated_server **server, struct esp_error *error);
/* Dies without a word; the endpoint is closed. */
void simulated_drop(struct simulated_server *server);
/* Says goodbye first. */
void simulated_stop(struct simulated_server *server);

void simulated_drain(struct simulated_server *server, bool draining);
/* Takes no sessions, and says that it starts again. */
void simulated_will_return(struct simulated_server *server);
/* Leaves, too, but says that the server ends and is to be expected back for so long. */
void simulated_may_return(struct simulated_server *server, uint64_t ms);
/* Tells that these problems (texts, each with a NUL; one empty text: none) are disabled on it, as real ones
 * do: with its next report. */
void simulated_disable(struct simulated_server *server, const char *problems, uint32_t length);
/* From now on it neither answers asks nor reports (but is there). */
void simulated_mute(struct simulated_server *server, bool mute);
bool simulated_joined(const struct simulated_server *server);
/* Why it is not below a parent, as it was told last; "": it is, or was never told. */
const char *simulated_why(const struct simulated_server *server);
uint32_t simulated_tellings(const struct simulated_server *server); /* how often it was told */
uint32_t simulated_promises(const struct simulated_server *server);
uint64_t simulated_asks(const struct simulated_server *server); /* received so far */
/* Calls that are there. */
uint32_t simulated_calls(const struct simulated_server *server);
uint64_t simulated_completed(const struct simulated_server *server);
const char *simulated_name(const struct simulated_server *server);

/* The digest under which a problem of that name and signature is known. */
uint64_t simulated_digest(const char *problem, const char *signature);
/* Writes the description of that problem. */
void simulated_text(const char *problem, const char *signature, char *text, size_t size);

#endif
