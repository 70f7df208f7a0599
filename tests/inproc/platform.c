/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/inproc/platform.h"

#include "core/problem/problem.h"
#include "util/clock.h"
#include "util/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(enum esp_status status, const struct esp_error *error)
{
    if (status == ESP_OK)
        return;
    fprintf(stderr, "platform: %s\n", error->text);
    abort();
}

static const char *const one_problem[] = {"job"};

void platform_open(struct platform *p, uint64_t seed)
{
    struct esp_error error;
    struct log_options log = {.node = "platform", .level = LOG_ERROR_LEVEL};
    *p = (struct platform){0};
    if (getenv("ESP_TEST_LOG"))
        log.level = LOG_DEBUG_LEVEL;
    must(log_open(&log, &error), &error);
    must(inproc_create(seed, &p->transport, &error), &error);
    p->agent_options.seed = seed;
    p->server_options = (struct simulated_options){
        .seed = seed,
        .problems = one_problem,
        .n_problems = 1,
        .speed_flops = 1e9,
        .slots = 1,
        .memory = UINT64_C(1) << 30,
    };
}

/* ---- bursts ---- */

struct burst;
struct burst_job {
    struct burst *burst;
    uint64_t sequence;
    const struct platform_job *job; /* NULL: without arguments */
};
struct burst {
    struct platform *platform;
    struct burst_job *jobs;
    const struct request *request;
    size_t n_open;
    bool failed;
    int64_t last_ns;
};

void platform_close(struct platform *p)
{
    for (size_t i = 0; i < p->n_servers; i++)
        simulated_drop(p->servers[i]);
    for (size_t i = 0; i < p->n_agents; i++)
        agent_drop(p->agents[i].agent);
    free(p->servers);
    free(p->agents);
    transport_destroy(p->transport);
    if (p->endless)
        free(p->endless->jobs);
    free(p->endless);
}

void platform_agent_start(struct platform *p, size_t index)
{
    struct running_agent *agent = &p->agents[index];
    struct agent_options options = p->agent_options;
    struct esp_error error;
    const char *parents[] = {agent->parent};
    options.name = options.listen = agent->name;
    options.incarnation = ++p->incarnations;
    options.parents = parents;
    options.n_parents = *agent->parent ? 1 : 0;
    must(agent_create(&options, p->transport, &agent->agent, &error), &error);
}

size_t platform_agent(struct platform *p, const char *name, const char *parent)
{
    p->agents = realloc(p->agents, (p->n_agents + 1) * sizeof *p->agents);
    struct running_agent *agent = &p->agents[p->n_agents];
    *agent = (struct running_agent){0};
    snprintf(agent->name, sizeof agent->name, "%s", name);
    snprintf(agent->parent, sizeof agent->parent, "%s", parent);
    platform_agent_start(p, p->n_agents);
    return p->n_agents++;
}

void platform_agent_kill(struct platform *p, size_t index)
{
    inproc_kill(p->transport, p->agents[index].name);
    agent_drop(p->agents[index].agent);
    p->agents[index].agent = NULL;
}

struct simulated_server *platform_server(struct platform *p, const char *name, const char *parent)
{
    struct simulated_options options = p->server_options;
    struct esp_error error;
    options.name = name;
    options.parents = &parent;
    options.n_parents = 1;
    options.incarnation = ++p->incarnations;
    options.seed += p->incarnations;
    p->servers = realloc(p->servers, (p->n_servers + 1) * sizeof *p->servers);
    must(simulated_create(&options, p->transport, &p->servers[p->n_servers], &error), &error);
    return p->servers[p->n_servers++];
}

void platform_server_kill(struct platform *p, struct simulated_server *server)
{
    for (size_t i = 0; i < p->n_servers; i++)
        if (p->servers[i] == server)
            p->servers[i] = p->servers[--p->n_servers];
    inproc_kill(p->transport, simulated_name(server));
    simulated_drop(server);
}

void platform_server_stop(struct platform *p, struct simulated_server *server)
{
    for (size_t i = 0; i < p->n_servers; i++)
        if (p->servers[i] == server)
            p->servers[i] = p->servers[--p->n_servers];
    simulated_stop(server);
}

void platform_tree(struct platform *p, size_t n_leaders, size_t n_servers)
{
    char name[PLATFORM_NAME], parent[PLATFORM_NAME];
    size_t master = platform_agent(p, "ma", "");
    for (size_t i = 0; i < n_leaders; i++) {
        snprintf(parent, sizeof parent, "la-%zu", i);
        platform_agent(p, parent, "ma");
        for (size_t j = 0; j < n_servers; j++) {
            snprintf(name, sizeof name, "s-%zu-%zu", i, j);
            platform_server(p, name, parent);
        }
    }
    if (!platform_settle(p, master, n_leaders * (1 + n_servers), 30000)) {
        fprintf(stderr, "platform: the tree did not become whole\n");
        abort();
    }
}

void platform_run_ms(struct platform *p, int64_t ms)
{
    inproc_run(p->transport, inproc_now_ns(p->transport) + ms * NS_PER_MS);
}

struct agent_figures platform_figures(struct platform *p, size_t agent)
{
    struct agent_figures figures = {0};
    if (p->agents[agent].agent)
        agent_figures(p->agents[agent].agent, &figures);
    return figures;
}

bool platform_settle(struct platform *p, size_t agent, size_t nodes, int64_t most_ms)
{
    for (int64_t ms = 0; ms < most_ms; ms += 100) {
        if (platform_figures(p, agent).nodes == nodes) {
            platform_run_ms(p, 500); /* catalogues, descriptions, the last gathered reports */
            if (platform_figures(p, agent).nodes == nodes)
                return true;
        }
        platform_run_ms(p, 100);
    }
    return false;
}

struct request platform_request(const char *problem, double work_flop)
{
    return (struct request){
        .session = {.client_high = 1, .client_low = 2, .sequence = 1},
        .problem = problem,
        .digest = simulated_digest(problem, NULL),
        .work_flop = work_flop,
        .server = "",
    };
}

enum esp_status platform_submit(struct platform *p, const char *agent, const struct request *request,
                                struct message *reply, struct esp_error *error)
{
    struct message message = {.kind = MESSAGE_SUBMIT, .submit = {.time_left_ms = 30000, .request = *request}};
    return transport_call(p->transport, agent, &message, 30000, reply, error);
}

static void on_result(void *arg, enum esp_status status, const struct message *reply)
{
    struct burst *burst = ((struct burst_job *)arg)->burst;
    if (status != ESP_OK || message_outcome(reply, NULL) != ESP_OK)
        burst->failed = true;
    burst->n_open--;
    burst->last_ns = inproc_now_ns(burst->platform->transport);
}

static void on_candidates(void *arg, enum esp_status status, const struct message *reply)
{
    struct burst_job *job = arg;
    struct burst *burst = job->burst;
    struct esp_error error;
    if (status != ESP_OK || message_outcome(reply, &error) != ESP_OK) {
        burst->failed = true;
        burst->n_open--;
        return;
    }
    const struct candidate *first = &reply->submit_reply.candidates[0];
    struct call_argument arguments[2] = {{.index = 0, .kind = KIND_BULK}, {.index = 1, .kind = KIND_WANTED}};
    if (job->job) {
        arguments[0].bytes = job->job->bytes_in;
        arguments[1].bytes = job->job->bytes_out;
    }
    struct message call = {
        .kind = MESSAGE_CALL,
        .call =
            {
                .session = {.client_high = 1, .sequence = job->sequence},
                .server_incarnation = first->incarnation,
                .time_left_ms = 3600 * 1000,
                .problem = burst->request->problem,
                .digest = burst->request->digest,
                .master = reply->submit_reply.master,
                .placement = reply->submit_reply.placement,
                .forecast_s = first->compute_s,
                .arguments = arguments,
                .n_arguments = job->job ? 2 : 0,
            },
    };
    must(inproc_call_async(burst->platform->transport, first->address, &call, 24 * 3600 * 1000, on_result,
                           job, &error),
         &error);
}

static void burst_submit(struct burst *burst, size_t i)
{
    struct message message = {.kind = MESSAGE_SUBMIT,
                              .submit = {.time_left_ms = 60000, .request = *burst->request}};
    struct esp_error error;
    burst->jobs[i].burst = burst;
    burst->jobs[i].sequence = i + 1;
    message.submit.request.session.sequence = i + 1;
    must(inproc_call_async(burst->platform->transport, "ma", &message, 60000, on_candidates, &burst->jobs[i],
                           &error),
         &error);
}

double platform_burst(struct platform *p, const struct request *request, size_t n)
{
    struct burst burst = {.platform = p, .request = request, .n_open = n};
    int64_t start_ns = inproc_now_ns(p->transport);
    burst.jobs = calloc(n, sizeof *burst.jobs);
    for (size_t i = 0; i < n; i++)
        burst_submit(&burst, i);
    for (int hour = 0; burst.n_open > 0 && hour < 4 * 3600; hour++)
        platform_run_ms(p, 1000);
    free(burst.jobs);
    return burst.failed || burst.n_open > 0 ? -1 : (double)(burst.last_ns - start_ns) / 1e9;
}

static void submit_job(struct burst *burst, size_t i, const struct platform_job *job)
{
    struct argument_attribute arguments[] = {
        {.index = 0, .mode = MODE_IN, .bytes = job->bytes_in, .holder = "", .datum = ""},
        {.index = 1, .mode = MODE_OUT, .bytes = job->bytes_out, .holder = "", .datum = ""}};
    struct request request = platform_request("job", job->work_flop);
    request.arguments = arguments;
    request.n_arguments = 2;
    request.memory_bytes = job->bytes_in + job->bytes_out;
    burst->request = &request;
    burst->jobs[i].job = job;
    burst_submit(burst, i);
}

double platform_workload(struct platform *p, const struct platform_job *jobs, size_t n)
{
    const struct request names = platform_request("job", 0);
    struct burst burst = {.platform = p, .n_open = n};
    int64_t start_ns = inproc_now_ns(p->transport);
    burst.jobs = calloc(n, sizeof *burst.jobs);
    for (size_t i = 0; i < n; i++) {
        inproc_run(p->transport, start_ns + (int64_t)(jobs[i].at_s * 1e9));
        submit_job(&burst, i, &jobs[i]);
        burst.request = &names; /* all that its calls need of it */
    }
    for (int hour = 0; burst.n_open > 0 && hour < 4 * 3600; hour++)
        platform_run_ms(p, 1000);
    free(burst.jobs);
    return burst.failed || burst.n_open > 0 ? -1 : (double)(burst.last_ns - start_ns) / 1e9;
}

size_t platform_burst_apart(struct platform *p, const struct request *request, size_t n, int64_t gap_ms,
                            int64_t more_ms)
{
    /* Kept until the platform is closed: some answers come only then. */
    struct burst *burst = p->endless = calloc(1, sizeof *burst);
    *burst = (struct burst){.platform = p, .request = request, .n_open = n};
    burst->jobs = calloc(n, sizeof *burst->jobs);
    for (size_t i = 0; i < n; i++) {
        burst_submit(burst, i);
        platform_run_ms(p, gap_ms);
    }
    platform_run_ms(p, more_ms);
    return burst->failed ? 0 : burst->n_open;
}
