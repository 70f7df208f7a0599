/* SPDX-License-Identifier: Apache-2.0 */
#include "core/choice/aggregate.h"

#include "core/choice/fetchers.h"
#include "core/forecast/told_links.h"
#include "core/problem/problem.h"
#include "core/choice/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The path from a node to itself: no latency, and bandwidth 0 does not limit. */
static const struct path no_way = {.known = true};

bool argument_is_datum(const struct argument_attribute *argument)
{
    return (argument->holder && *argument->holder) || (argument->datum && *argument->datum);
}

bool request_has_data(const struct request *request)
{
    for (uint32_t i = 0; i < request->n_arguments; i++)
        if (argument_is_datum(&request->arguments[i]))
            return true;
    return false;
}

struct request_bytes request_client_bytes(const struct request *request)
{
    struct request_bytes bytes = {0};
    for (uint32_t i = 0; i < request->n_arguments; i++) {
        const struct argument_attribute *argument = &request->arguments[i];
        if (argument_is_datum(argument) || argument->mode == MODE_WORK)
            continue;
        const uint64_t chunks = argument->bytes > INLINE_BYTES_USUAL ? argument->bytes : 0;
        if (argument->mode != MODE_OUT) {
            bytes.in += argument->bytes;
            bytes.chunks_in += chunks;
        }
        if (argument->mode != MODE_IN) {
            bytes.out += argument->bytes;
            bytes.chunks_out += chunks;
        }
    }
    return bytes;
}

static bool is_better(const struct path *a, const struct path *b, uint64_t bytes)
{
    if (a->known != b->known)
        return a->known;
    return a->known && path_datum_seconds(a, bytes) < path_datum_seconds(b, bytes);
}

/* Whether a is at least as good as b in both directions, so that b is never better, whatever is joined to
 * them and however much is moved. */
static bool dominates(const struct path *a, const struct path *b)
{
    if (a->known != b->known)
        return a->known;
    bool wider = a->bandwidth_bps <= 0 || (b->bandwidth_bps > 0 && a->bandwidth_bps >= b->bandwidth_bps);
    return a->latency_s <= b->latency_s && wider;
}

/* ---- rate from the server ---- */

static bool drop_extension(struct extensions *extensions, uint32_t tag, struct arena *arena)
{
    uint32_t n = 0;
    if (!extension_find(extensions, tag))
        return true;
    struct extension *kept = arena_alloc(arena, extensions->n * sizeof *kept);
    if (!kept)
        return false;
    for (uint32_t i = 0; i < extensions->n; i++)
        if (extensions->items[i].tag != tag)
            kept[n++] = extensions->items[i];
    *extensions = (struct extensions){kept, n};
    return true;
}

bool aggregate_tell_access(struct server_estimate *estimate, const struct path *access, struct arena *arena)
{
    estimate->transfer[0] = *access;
    return drop_extension(&estimate->extensions, EXTENSION_WAY_BACK, arena) &&
           (access->back_bps <= 0 ||
            terms_add_real(&estimate->extensions, EXTENSION_WAY_BACK, access->back_bps, arena));
}

static struct path with_way_back(struct path access, const struct server_estimate *estimate)
{
    double back_bps;
    if (terms_get_real(&estimate->extensions, EXTENSION_WAY_BACK, &back_bps) && back_bps > 0 &&
        isfinite(back_bps))
        access.back_bps = back_bps;
    return access;
}

/* ---- reading a child's response ---- */

/* Returns the first row with a holder of the argument, SIZE_MAX when there is none. */
static size_t find_row(const struct response *response, uint32_t argument)
{
    for (uint32_t i = 0; i < response->n_data; i++)
        if (response->data[i].argument == argument && *response->data[i].holder)
            return i;
    return SIZE_MAX;
}

/* Returns the path from the responder to the server. */
static struct path access_path(const struct response *response, const struct server_estimate *estimate)
{
    if (estimate->n_transfer == 0)
        return no_way; /* the server itself responds */
    for (uint32_t i = 0; i < response->n_data && i < estimate->n_transfer; i++)
        if (!*response->data[i].holder)
            return with_way_back(estimate->transfer[i], estimate);
    return (struct path){0};
}

/* Returns the best path of the datum to the server that the child has computed. */
static struct path closed_path(const struct response *response, const struct server_estimate *estimate,
                               uint32_t argument)
{
    size_t row = find_row(response, argument);
    if (row == SIZE_MAX)
        return (struct path){0};
    if (estimate->n_transfer == 0)
        return response->data[row].to_me;
    return row < estimate->n_transfer ? estimate->transfer[row] : (struct path){0};
}

/* ---- rows ---- */

struct merge {
    const struct request *request;
    const struct aggregate_input *inputs;
    size_t n_inputs;
    const struct aggregate_across *across;
    struct response *merged;
    size_t first_row[CAP_ARGUMENTS]; /* per argument of the request that is a datum */
};

/* Adds a holder unless a present one is better in everything; removes those it beats. Rows [first, n_data)
 * belong to the argument. */
static void add_replica(struct response *merged, size_t first, const struct data_location *replica)
{
    uint32_t keep = (uint32_t)first;
    for (uint32_t i = keep; i < merged->n_data; i++)
        if (dominates(&merged->data[i].to_me, &replica->to_me))
            return;
    for (uint32_t i = keep; i < merged->n_data; i++)
        if (!dominates(&replica->to_me, &merged->data[i].to_me))
            merged->data[keep++] = merged->data[i];
    merged->data[keep++] = *replica;
    merged->n_data = keep;
}

static void nearest_first(struct data_location *rows, size_t n, uint64_t bytes)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && is_better(&rows[j].to_me, &rows[j - 1].to_me, bytes); j--) {
            struct data_location other = rows[j];
            rows[j] = rows[j - 1];
            rows[j - 1] = other;
        }
}

/* Figure I.6: "timeToMe for this child + time to send D from this child to me", for every child that
 * references D. */
static void merge_locations(struct merge *merge, const struct argument_attribute *argument)
{
    struct response *merged = merge->merged;
    size_t first = merged->n_data;
    for (size_t c = 0; c < merge->n_inputs; c++) {
        const struct response *response = merge->inputs[c].response;
        for (uint32_t i = 0; i < response->n_data; i++) {
            struct data_location row = response->data[i];
            if (row.argument != argument->index || !*row.holder)
                continue;
            row.to_me = path_join(row.to_me, path_turned(merge->inputs[c].link));
            add_replica(merged, first, &row);
        }
    }
    nearest_first(merged->data + first, merged->n_data - first, argument->bytes);
    if (merged->n_data > first + DATA_REPLICAS_MOST)
        merged->n_data = (uint32_t)first + DATA_REPLICAS_MOST;
    if (merged->n_data == first)
        merged->data[merged->n_data++] = (struct data_location){.argument = argument->index, .holder = ""};
}

/* Most rows while merging: all rows of the children, an unknown one per argument, and the first. */
static size_t most_rows(const struct merge *merge)
{
    size_t n = 1 + merge->request->n_arguments;
    for (size_t c = 0; c < merge->n_inputs; c++)
        n += merge->inputs[c].response->n_data;
    return n;
}

/* ---- servers ---- */

/* Returns the path from a holder below child `c` to a server below child `from`: as measured between the
 * two, or else the shorter of the path over this agent and that over the measured link between the
 * children. */
static struct path way_from(const struct merge *merge, size_t c, const struct data_location *row, size_t from,
                            const struct server_estimate *estimate, struct path access, uint64_t bytes)
{
    const struct aggregate_input *input = &merge->inputs[c];
    struct path way;
    if (merge->across && merge->across->link(merge->across->arg, row->holder, estimate->server, &way))
        return way;
    way = path_join(path_join(row->to_me, path_turned(input->link)), access);
    if (!input->brothers)
        return way;
    const struct path direct = path_join(path_join(row->to_me, input->brothers[from]),
                                         access_path(merge->inputs[from].response, estimate));
    return direct.known && is_better(&direct, &way, bytes) ? direct : way;
}

/* Returns the best path of a datum to a server below child `from`: that computed there, or one from a
 * holder below another child. */
static struct path best_path(const struct merge *merge, size_t from, const struct server_estimate *estimate,
                             const struct argument_attribute *argument, struct path access)
{
    struct path best = closed_path(merge->inputs[from].response, estimate, argument->index);
    for (size_t c = 0; c < merge->n_inputs; c++) {
        const struct response *response = merge->inputs[c].response;
        for (uint32_t i = 0; c != from && i < response->n_data; i++) {
            const struct data_location *row = &response->data[i];
            if (row->argument != argument->index || !*row->holder)
                continue;
            const struct path way = way_from(merge, c, row, from, estimate, access, argument->bytes);
            /* An unknown path still exists, which is better than none. */
            if (is_better(&way, &best, argument->bytes))
                best = way;
        }
    }
    return best;
}

/* Adds the certificate of a server that responds for itself. */
static bool tell_certificate(struct server_estimate *into, const struct aggregate_input *input,
                             const struct server_estimate *estimate, struct arena *arena)
{
    const char *name = input->certificate;
    if (!name || !*name || estimate->n_transfer > 0)
        return true;
    return extension_add(&into->extensions, EXTENSION_CERTIFICATE, name, (uint32_t)strlen(name), arena);
}

static bool merge_server(const struct merge *merge, size_t from, const struct server_estimate *estimate,
                         struct arena *arena, struct server_estimate *into)
{
    *into = *estimate;
    into->n_transfer = merge->merged->n_data;
    into->transfer = arena_alloc(arena, into->n_transfer * sizeof *into->transfer);
    if (!into->transfer)
        return false;
    const struct aggregate_input *input = &merge->inputs[from];
    struct path access = path_join(input->link, access_path(input->response, estimate));
    if (!aggregate_tell_access(into, &access, arena) || !tell_certificate(into, input, estimate, arena))
        return false;
    for (uint32_t i = 0; i < merge->request->n_arguments; i++) {
        const struct argument_attribute *argument = &merge->request->arguments[i];
        if (argument_is_datum(argument))
            into->transfer[merge->first_row[i]] = best_path(merge, from, estimate, argument, access);
    }
    return true;
}

enum esp_status aggregate_merge(const char *name, const struct request *request,
                                const struct aggregate_input *inputs, size_t n_inputs,
                                const struct aggregate_across *across, struct arena *arena,
                                struct response *merged, struct esp_error *error)
{
    struct merge merge = {
        .request = request, .inputs = inputs, .n_inputs = n_inputs, .across = across, .merged = merged};
    size_t n_servers = 0;
    *merged = (struct response){.name = name};
    for (size_t c = 0; c < n_inputs; c++) {
        n_servers += inputs[c].response->n_servers;
        merged->capable += inputs[c].response->capable;
        if (!fetchers_gather(&merged->extensions, &inputs[c].response->extensions, arena))
            return error_no_memory(error, "an answer");
    }
    merged->data = arena_alloc(arena, most_rows(&merge) * sizeof *merged->data);
    merged->servers = arena_alloc(arena, n_servers * sizeof *merged->servers);
    if (!merged->data || !merged->servers)
        return error_no_memory(error, "an answer");
    merged->data[merged->n_data++] = (struct data_location){.argument = DATA_THROUGH_ME, .holder = ""};
    for (uint32_t i = 0; i < request->n_arguments && i < CAP_ARGUMENTS; i++) {
        merge.first_row[i] = merged->n_data;
        /* The message's cap on rows limits the holders; a request with many replicas loses some. */
        if (argument_is_datum(&request->arguments[i]))
            merge_locations(&merge, &request->arguments[i]);
    }
    for (size_t c = 0; c < n_inputs; c++)
        for (uint32_t i = 0; i < inputs[c].response->n_servers; i++)
            if (!merge_server(&merge, c, &inputs[c].response->servers[i], arena,
                              &merged->servers[merged->n_servers++]))
                return error_no_memory(error, "an answer");
    return ESP_OK;
}

/* ---- results ---- */

struct transfer_times request_way_times(const struct request_bytes *bytes, double latency_s,
                                        double inverse_bandwidth, double inverse_back,
                                        struct path_opening opening)
{
    const struct path_load in = {(double)(bytes->in - bytes->chunks_in), (double)bytes->chunks_in},
                           out = {(double)(bytes->out - bytes->chunks_out), (double)bytes->chunks_out};
    return (struct transfer_times){path_call_s(latency_s, inverse_bandwidth, in, opening),
                                   path_results_s(latency_s, inverse_back, out, opening)};
}

struct transfer_times request_path_times(const struct request_bytes *bytes, const struct path *path,
                                         struct path_opening opening)
{
    const struct path back = path_turned(*path);
    if (!path->known)
        return (struct transfer_times){0, 0};
    return request_way_times(bytes, fmax(path->latency_s, 0), path_inverse(path), path_inverse(&back),
                             opening);
}

struct transfer_times aggregate_transfer(const struct request *request, const struct response *response,
                                         const struct server_estimate *estimate)
{
    const struct request_bytes bytes = request_client_bytes(request);
    const bool has_others = response->n_servers > 1 && !*request->server;
    struct path_opening opening;
    const struct path access = told_way(&request->extensions, estimate->address ? estimate->address : "",
                                        access_path(response, estimate), has_others, &opening);
    struct transfer_times times = request_path_times(&bytes, &access, opening);
    for (uint32_t i = 0; i < request->n_arguments; i++) {
        const struct argument_attribute *argument = &request->arguments[i];
        if (!argument_is_datum(argument))
            continue;
        struct path way = closed_path(response, estimate, argument->index);
        times.in_s += path_datum_seconds(&way, argument->bytes);
    }
    return times;
}

/* Whether the datum is on the server: its path has no length. */
static bool is_there(const struct path *way)
{
    return way->known && way->latency_s <= 0 && way->bandwidth_bps <= 0;
}

bool aggregate_may_fetch(const struct request *request, const struct response *response,
                         const struct server_estimate *estimate, struct shut_out *why)
{
    const struct extension *told = extension_find(&estimate->extensions, EXTENSION_CERTIFICATE);
    *why = (struct shut_out){0};
    if (!told || told->length >= sizeof why->certificate)
        return true;
    memcpy(why->certificate, told->value, told->length);
    for (uint32_t i = 0; i < request->n_arguments; i++) {
        const struct argument_attribute *argument = &request->arguments[i];
        if (!argument_is_datum(argument))
            continue;
        const struct path way = closed_path(response, estimate, argument->index);
        why->argument = argument->index;
        if (!is_there(&way) &&
            !fetchers_may(&response->extensions, argument->index, why->certificate, &why->holder))
            return false;
    }
    return true;
}

struct ranked {
    struct server_estimate estimate;
    double score, line;
    uint32_t order; /* original order, so that sorting is stable */
};

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

struct esp_server_view aggregate_view(const struct request *request, const struct server_estimate *estimate,
                                      double wait_s, const struct transfer_times *transfer,
                                      const struct remembered *remembered)
{
    struct constraints constraints;
    constraints_get(&request->extensions, &constraints);
    struct esp_server_view view = {
        .price = remembered->price * estimate->compute_s / 3600,
        .deadline_s = constraints.finish_s,
        .line = estimate_standing(estimate).line,
        .turn = remembered->turn,
    };
    scheduler_view_times(&view, &(struct schedule_times){.wait_s = wait_s,
                                                         .link_wait_s = remembered->link_wait_s,
                                                         .compute_s = estimate->compute_s,
                                                         .in_s = transfer->in_s,
                                                         .out_s = transfer->out_s});
    return view;
}

void aggregate_cut(const struct request *request, struct response *response, uint32_t breadth,
                   const struct esp_scheduler *scheduler,
                   void (*remember)(const char *server, void *arg, struct remembered *remembered), void *arg,
                   struct random *random)
{
    uint32_t n = response->n_servers;
    struct ranked *ranked = malloc((n ? n : 1) * sizeof *ranked);
    if (!ranked) {
        response->n_servers = n < breadth ? n : breadth;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct server_estimate *estimate = &response->servers[i];
        const struct transfer_times transfer = aggregate_transfer(request, response, estimate);
        struct remembered remembered = {0};
        if (remember)
            remember(estimate->server, arg, &remembered);
        const struct esp_server_view view = aggregate_view(
            request, estimate, estimate_start_s(estimate, request->memory_bytes), &transfer, &remembered);
        const bool drawn = random && (scheduler->flags & ESP_SCHEDULER_RANDOM);
        double score = drawn ? random_real(random) : scheduler_score(scheduler, &view);
        struct shut_out shut_out;
        if (view.complete_s > view.deadline_s || !aggregate_may_fetch(request, response, estimate, &shut_out))
            score = HUGE_VAL; /* listed only if no other server is left */
        ranked[i] = (struct ranked){*estimate, score, view.line, i};
    }
    qsort(ranked, n, sizeof *ranked, by_score);
    response->n_servers = n < breadth ? n : breadth;
    for (uint32_t i = 0; i < response->n_servers; i++)
        response->servers[i] = ranked[i].estimate;
    free(ranked);
}
