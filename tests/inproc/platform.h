/* SPDX-License-Identifier: Apache-2.0
 *
 * A whole hierarchy in one process: agents and simulated servers on the in-process transport, and clients
 * that submit and call, all in virtual time. Names are addresses.
 */
#ifndef TESTS_INPROC_PLATFORM_H
#define TESTS_INPROC_PLATFORM_H

#include "agent/agent.h"
#include "core/inproc/inproc.h"
#include "tests/inproc/simulated_server.h"

#define PLATFORM_NAME 64

struct running_agent {
    char name[PLATFORM_NAME];
    char parent[PLATFORM_NAME]; /* "": a master */
    struct agent *agent;        /* NULL: not running */
};

struct burst;

struct platform {
    struct transport *transport;
    struct agent_options agent_options; /* of agents that are started from now on */
    struct simulated_options server_options;
    struct running_agent *agents;
    struct simulated_server **servers;
    size_t n_agents, n_servers;
    uint64_t incarnations;
    struct burst *endless;
};

/* These end the program with a message when they cannot do what they say. */
void platform_open(struct platform *platform, uint64_t seed);
void platform_close(struct platform *platform);

/* Returns the agent's index. `parent` "": a master. */
size_t platform_agent(struct platform *platform, const char *name, const char *parent);
/* Starts it again (after a kill), as a new incarnation. */
void platform_agent_start(struct platform *platform, size_t index);
/* Dies without a word. */
void platform_agent_kill(struct platform *platform, size_t index);
struct simulated_server *platform_server(struct platform *platform, const char *name, const char *parent);
void platform_server_kill(struct platform *platform, struct simulated_server *server);
/* Says goodbye first. */
void platform_server_stop(struct platform *platform, struct simulated_server *server);

/* "ma" with `n_leaders` leaders "la-0", ... of `n_servers` servers "s-0-0", ... each, all up and joined. */
void platform_tree(struct platform *platform, size_t n_leaders, size_t n_servers);

void platform_run_ms(struct platform *platform, int64_t ms);
/* Runs until the agent knows that many nodes (and all reports that are due have been made), for at most
 * `most_ms`. False when it does not come to that. */
bool platform_settle(struct platform *platform, size_t agent, size_t nodes, int64_t most_ms);
struct agent_figures platform_figures(struct platform *platform, size_t agent);

/* One request, run until it is answered. The reply is to be cleared by the caller in any case. */
enum esp_status platform_submit(struct platform *platform, const char *agent, const struct request *request,
                                struct message *reply, struct esp_error *error);
/* A request for a simulated problem, of that much work. */
struct request platform_request(const char *problem, double work_flop);

/* `n` equal requests at once, each called at its first candidate as soon as it is answered. Returns the
 * virtual seconds until the last result, negative when one failed. */
double platform_burst(struct platform *platform, const struct request *request, size_t n);
/* A call of its own kind in a workload. */
struct platform_job {
    double at_s; /* when it is submitted, from the beginning */
    double work_flop;
    uint64_t bytes_in, bytes_out;
};
/* Submits and calls them all, each at its time. Returns the virtual seconds until the last result is back,
 * negative when one failed. */
double platform_workload(struct platform *platform, const struct platform_job *jobs, size_t n);
/* Makes calls that do not end, so many virtual milliseconds between them, and runs for so many more.
 * Returns how many were neither refused nor ended. Once per platform. */
size_t platform_burst_apart(struct platform *platform, const struct request *request, size_t n,
                            int64_t gap_ms, int64_t more_ms);

#endif
