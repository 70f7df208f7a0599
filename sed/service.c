/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/service_internal.h"

#include "sed/forecast/accuracy.h"
#include "sed/corrections_file.h"
#include "sed/directory_watch.h"
#include "sed/data/errands.h"
#include "sed/calibrate/idle_calibration.h"
#include "sed/machine_memory.h"
#include "sed/pool/processes.h"
#include "sed/porter/porters.h"
#include "sed/ranks/ranks.h"
#include "sed/sensors.h"
#include "sed/server/server.h"
#include "sed/pool/workers_joined.h"
#include "services/hostfile.h"
#include "services/nws/host_rate.h"
#include "services/nws/links.h"
#include "util/control_group.h"
#include "util/listen_at.h"
#include "util/log.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How long stopping waits: for computations, then for clients to fetch, then for killed workers. */
#define FINISH_MS 5000
#define FETCH_MS  1500
#define KILL_MS   2000
/* Threads that move data and write files: two transfers of two streams each, and as many files. */
#define ERRAND_THREADS 8
/* Of a worker's memory: what each thread of BLAS takes and keeps (a buffer of 128 MiB in Debian's OpenBLAS, a
 * stack), for which nobody should have to account; and what a routine may have where nobody says it. */
#define BLAS_BYTES   (UINT64_C(192) << 20)
#define LEAST_MEMORY (UINT64_C(1) << 30)

/* The main thread reads all again. */
static void on_directory(void *arg)
{
    (void)arg;
    kill(getpid(), SIGHUP);
}

/* ---- opening ---- */

static void output(void *arg, uint64_t job_id, const char *line)
{
    struct service *service = arg;
    struct server *server = atomic_load(&service->listener);
    if (server)
        server_log_output(server, job_id, line);
    else
        log_notice("a worker printed: %.*s", (int)strcspn(line, "\n"), line);
}

/* Through mpirun, which does not say of which rank; it has words of its own, too. */
static void ranks_output(void *arg, uint64_t job_id, const char *line)
{
    (void)arg;
    (void)job_id;
    log_notice("the ranks, or mpirun for them, printed: %.*s", (int)strcspn(line, "\n"), line);
}

/* What a worker or a rank may allocate, and keep after a call, with so many threads of BLAS. */
static void limit_memory(const struct service *service, uint64_t threads, uint64_t *most, uint64_t *keep)
{
    const struct settings_sed *settings = service->settings;
    uint64_t memory = service->memory_bytes > LEAST_MEMORY ? service->memory_bytes : LEAST_MEMORY;
    if (memory > machine_memory())
        memory = machine_memory();
    if (settings->worker_memory_bytes)
        memory = settings->worker_memory_bytes;
    *most = memory + BLAS_BYTES * threads;
    /* The next call is to have something, too. */
    *keep = (settings->worker_keeps_bytes < memory / 2 ? settings->worker_keeps_bytes : memory / 2) +
            BLAS_BYTES * threads;
}

static enum esp_status create_workers(struct service *service, struct esp_error *error)
{
    const struct settings_sed *settings = service->settings;
    uint64_t memory, keep;
    limit_memory(service, (uint64_t)settings->threads, &memory, &keep);
    const struct processes_options options = {.slots = (uint32_t)settings->slots,
                                              .spares = (uint32_t)settings->spares,
                                              .threads = (uint32_t)settings->threads,
                                              .memory = memory,
                                              .keep = keep,
                                              .problems = service->problems,
                                              .output = output,
                                              .output_arg = service};
    enum esp_status status = processes_create(&options, &service->workers, error);
    service->processes = service->workers;
    return status;
}

static enum esp_status add_ranks(struct service *service, struct esp_error *error)
{
    const struct settings_sed *settings = service->settings;
    char profile[4100];
    snprintf(profile, sizeof profile, "%s/ranks", settings->node.state_dir ? settings->node.state_dir : "");
    char *told = service->directory ? directory_watch_ranks(service->directory) : NULL;
    uint64_t memory, keep;
    limit_memory(service, 1, &memory, &keep);
    const struct ranks_options options = {
        .memory = memory,
        .keep = keep,
        .told = told,
        .profile = settings->node.state_dir ? profile : NULL,
        .ranks = (uint32_t)settings->ranks,
        .grid = {settings->grid_rows, settings->grid_cols, (uint32_t)settings->block},
        .mpirun = settings->mpirun,
        .hostfile = settings->hostfile,
        .keeps_data = settings->rank_keeps_bytes,
        .lends_data = true,
        .seals_data = settings->node.tls.certificate != NULL,
        .host = service->host,
        .output = ranks_output};
    if (settings->hostfile && settings->node.tls.certificate)
        log_warning("hostfile: what ranks on other hosts are sent is not encrypted, nor is what MPI sends");
    struct workers *both = NULL;
    enum esp_status status =
        settings->hostfile ? hostfile_check(settings->hostfile, settings->ranks, error) : ESP_OK;
    if (status == ESP_OK)
        status = ranks_create(&options, &service->ranks, error);
    free(told);
    if (status == ESP_OK) {
        status = workers_join(service->processes, service->ranks, &both, error);
        service->workers = both;
    }
    return status;
}

enum esp_status service_prepare(const struct settings_sed *settings, struct service **result,
                                struct esp_error *error)
{
    struct service *service = calloc(1, sizeof *service);
    if (!service)
        return error_no_memory(error, "a server");
    uint16_t port;
    service->settings = settings;
    pthread_mutex_init(&service->loading, NULL);
    pthread_mutex_init(&service->learning, NULL);
    service->memory_bytes = machine_memory_take(settings->memory_bytes, &service->share);
    enum esp_status status = ESP_OK;
    if (settings->directory.url)
        status = directory_watch_create(settings, &service->directory, error);
    if (status == ESP_OK)
        status = service_load_problems(service, &settings->problems, &service->problems, error);
    if (status == ESP_OK)
        status = create_workers(service, error);
    if (status == ESP_OK)
        status = config_read_address(settings->node.listen, "0", service->host, sizeof service->host, &port,
                                     error);
    if (status == ESP_OK && settings->ranks > 0)
        status = add_ranks(service, error);
    if (status == ESP_OK && settings->store_memory_bytes > 0)
        status = porters_create(service->ranks, &service->porters, error);
    if (status == ESP_OK)
        status = service_keep_callable(service, service->problems, error);
    if (status != ESP_OK) {
        service_close(service, false);
        return status;
    }
    *result = service;
    return ESP_OK;
}

static double quota(void)
{
    return control_groups_quota(NULL);
}

static bool is_confined(void)
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_COUNT(&mine) < sysconf(_SC_NPROCESSORS_ONLN);
}

/* Where data are kept that must not be lost; *files NULL: nowhere. */
static enum esp_status open_files(const struct settings_sed *settings, struct files **files,
                                  struct esp_error *error)
{
    char path[4096];
    if (!settings->node.state_dir || settings->store_memory_bytes == 0)
        return ESP_OK;
    mkdir(settings->node.state_dir, 0700); /* what is wrong with it is told by who uses it */
    if (snprintf(path, sizeof path, "%s/data", settings->node.state_dir) >= (int)sizeof path)
        return error_set(error, ESP_CONFIG, "state_dir: the path is too long");
    return files_posix_create(path, files, error);
}

/* Whether its file, and the descriptions that this names, would let it run again as they are now. */
static enum esp_status check_files(void *arg, struct esp_error *error)
{
    const struct service *service = arg;
    const char *file = service->settings->node.file;
    return file ? settings_check(SETTINGS_SED, file, error) : ESP_OK;
}

static void on_fetched(void *arg, const char *from, uint64_t bytes, double seconds)
{
    struct service *service = arg;
    struct path path;
    pthread_mutex_lock(&service->learning);
    const bool known = links_learn(service->links, from, bytes, seconds, &path);
    pthread_mutex_unlock(&service->learning);
    if (known)
        server_from_peer(service->server, from, &path);
}

static enum esp_status create_server(struct service *service, const struct transport *transport,
                                     uint64_t incarnation, struct esp_error *error)
{
    const struct settings_sed *settings = service->settings;
    struct files *files = NULL;
    enum esp_status status = errands_create(ERRAND_THREADS, &service->errands, error);
    if (status == ESP_OK)
        status = open_files(settings, &files, error);
    if (status != ESP_OK)
        return status;
    char shut[SETTINGS_WHY];
    const char **parents =
        calloc(settings->parents.n + 2 + DIRECTORY_PARENTS + MOST_REFUGES, sizeof *parents);
    char *told[DIRECTORY_PARENTS];
    if (!parents)
        return error_no_memory(error, "the parents");
    size_t n_told = 0, n_parents = place_parents(&service->place, settings->parent, parents);
    for (size_t i = 0; i < settings->parents.n; i++)
        parents[n_parents++] = settings->parents.items[i];
    if (service->directory)
        n_told = directory_watch_parents(service->directory, told, DIRECTORY_PARENTS);
    for (size_t i = 0; i < n_told; i++)
        parents[n_parents++] = told[i];
    for (size_t i = 0; i < service->place.refuges.n; i++)
        parents[n_parents++] = service->place.refuges.addresses[i];
    struct server_options options = {
        .name = settings->node.name,
        .incarnation = incarnation,
        .parents = parents,
        .n_parents = n_parents,
        .slots = (uint32_t)settings->slots,
        .threads = (uint32_t)settings->threads,
        .memory_bytes = service->memory_bytes,
        .queue = (uint32_t)settings->queue,
        .sessions_per_client = (uint32_t)settings->sessions_per_client,
        .result_lease_ns = settings->result_lease_ns,
        .job_lease_ns = settings->job_lease_ns,
        .kept_bytes_per_client = settings->kept_bytes_per_client,
        .return_ns = settings->return_ns,
        .receive_lease_ns = settings->receive_lease_ns,
        .state_lease_ns = settings->state_lease_ns,
        .orphan_lease_ns = settings->orphan_lease_ns,
        .inline_bytes = settings->inline_bytes,
        .cpu_quota = quota,
        .senses = settings->sensors,
        .confined = is_confined(),
        .background = true,
        .seed = incarnation,
        .state_dir = settings->node.state_dir,
        .file_parent = settings->parent,
        .price = (double)settings->price,
        .loopback_only = settings_is_shut_in(&settings->node, shut),
        .properties = (const char *const *)settings->properties.items,
        .n_properties = settings->properties.n,
        .administrators = &settings->node.administrators,
        .data_servers = &settings->data_servers,
        .control = duty_signal,
        .check = check_files,
        .control_arg = service,
        .clock = transport_clock(transport),
        .workers = service->workers,
        .problems = service->problems,
        .store_memory = settings->store_memory_bytes,
        .store_disk = settings->store_disk_bytes,
        .replicas = (uint32_t)settings->replicas,
        .replica_asks = (uint32_t)settings->replica_asks,
        .replica_bytes = settings->replica_bytes,
        .replica_rest_ns = settings->replica_rest_ns,
        .data_lease_ns = settings->data_lease_ns,
        .files = files,
        .errands = service->errands,
        .fetched = on_fetched,
        .host_bps = host_rate_measure(),
        .host_latency_s = host_latency_measure(),
        .fetched_arg = service,
        .porters = service->porters ? porters_list : NULL,
        .lenders = service->porters ? porters_lenders : NULL,
        .porters_arg = service->porters,
        .porters_seal = settings->node.tls.certificate != NULL,
    };
    service->problems = NULL; /* the server's, even when this fails */
    status = server_create(&options, &service->server, error);
    free(parents);
    for (size_t i = 0; i < n_told; i++)
        free(told[i]);
    if (status == ESP_OK && settings->node.state_dir) {
        char path[4096];
        snprintf(path, sizeof path, "%s/" ACCURACY_FILE, settings->node.state_dir);
        server_set_accuracy(service->server, path);
    }
    if (status == ESP_OK)
        server_set_uncallable(service->server, service->reasons, service->reasons_length);
    if (status == ESP_OK)
        service_load_models(service);
    return status;
}

/* Forecasts do without links that are not measured. */
static void start_links(struct service *service)
{
    const struct settings_node *node = &service->settings->node;
    const struct links_options options = {.name = node->name,
                                          .listen = node->listen,
                                          .publish = node->publish,
                                          .probe = node->probe,
                                          .state_dir = node->state_dir,
                                          .tls = {node->tls.ca, node->tls.certificate, node->tls.key},
                                          .every_ns = node->probe_every_ns,
                                          .learns = true};
    const struct links_ops ops = {.self = service->server,
                                  .parent = server_parent,
                                  .to_parent = server_to_parent,
                                  .traffic = server_traffic};
    struct esp_error error = {0};
    struct links *links = NULL;
    enum esp_status status = links_create(&options, &links, &error);
    pthread_mutex_lock(&service->learning);
    service->links = links;
    pthread_mutex_unlock(&service->learning);
    if (status == ESP_OK)
        status = links_start(links, &ops, &error);
    if (status != ESP_OK)
        log_warning("links are not measured: %s", error.text);
}

static void tell_weather(void *self, struct outlook_page *page)
{
    struct service *service = self;
    /* Both are there for as long as the server may ask. */
    sensors_tell(service->sensors, service->settings->node.name, page);
    links_tell(service->links, page);
}

static void start_idle_calibration(struct service *service)
{
    const struct idle_calibration_options options = {.settings = service->settings,
                                                     .server = service->server,
                                                     .fresh = service_load_models,
                                                     .arg = service};
    struct esp_error error = {0};
    if (service->settings->calibrate &&
        idle_calibration_create(&options, &service->calibration, &error) != ESP_OK)
        log_warning("nothing is calibrated while the server is idle: %s", error.text);
}

/* A port that the file does not name may be in use: then any free one will do. */
static enum esp_status listen_for_porters(struct service *service, struct esp_error *error)
{
    const char *named = service->settings->porter;
    char beside[300], host[256];
    uint16_t port = 0;
    listen_at_beside(service->settings->node.listen, PORTERS_PORT_OFFSET, beside, sizeof beside);
    enum esp_status status =
        config_read_address(named ? named : beside, "0", host, sizeof host, &port, error);
    if (status == ESP_OK)
        status = porters_listen(service->porters, host, port, error);
    if (status != ESP_SYSTEM || named || port == 0)
        return status;
    log_notice("pieces of data are fetched at any free port: %s", error->text);
    return porters_listen(service->porters, host, 0, error);
}

enum esp_status service_open(struct service *service, struct transport *transport, uint64_t incarnation,
                             struct esp_error *error)
{
    const struct settings_node *node = &service->settings->node;
    struct endpoint_options options = {.name = node->name,
                                       .role = ROLE_SERVER,
                                       .incarnation = incarnation,
                                       .listen = node->listen,
                                       .publish = node->publish};
    enum esp_status status = create_server(service, transport, incarnation, error);
    if (status == ESP_OK)
        status =
            transport_serve(transport, &options, &server_ops, service->server, &service->endpoint, error);
    if (status != ESP_OK)
        return status;
    server_start(service->server, service->endpoint);
    atomic_store(&service->listener, service->server);
    struct esp_error why = {0};
    if (service->settings->sensors &&
        sensors_create(service->server, node->state_dir, &service->sensors, &why) != ESP_OK)
        log_warning("there is no sensor of the processor: %s", why.text); /* forecasts do without */
    if (service->porters && listen_for_porters(service, &why) != ESP_OK)
        log_warning("data in pieces are laid out otherwise by ranks only: %s", why.text);
    start_links(service);
    server_set_weather(service->server, &(struct duty_weather){tell_weather, service});
    start_idle_calibration(service);
    if (service->directory &&
        directory_watch_start(service->directory, on_directory, service, &why) != ESP_OK)
        log_warning("the directory is not read again: %s", why.text);
    return ESP_OK;
}

const char *service_address(const struct service *service)
{
    return endpoint_address(service->endpoint);
}

bool service_health(void *self, char *text, size_t size)
{
    const struct service *service = self;
    const bool good = server_health(service->server, text, size);
    size_t n = strlen(text);
    if (service->n_uncallable > 0 && n < size)
        snprintf(text + n, size - n, "; %zu of its problems cannot be called on this machine",
                 (size_t)service->n_uncallable);
    n = strlen(text);
    char why[480];
    const bool lacks = processes_lack(service->processes, why, sizeof why);
    if (n < size && lacks)
        snprintf(text + n, size - n, "; %s", why);
    n = strlen(text);
    if (service->directory)
        directory_watch_health(service->directory, text + n, size - n);
    return good && !lacks;
}

static void write_ranks(struct workers *ranks, struct metrics *metrics)
{
    struct ranks_counts counts;
    ranks_count(ranks, &counts);
    metrics_gauge(metrics, "espalier_server_ranks", counts.ranks,
                  "Ranks that wait for calls or compute; 0 while their job starts.");
    metrics_gauge(metrics, "espalier_server_ranks_busy", counts.busy, "Those of them that compute.");
    metrics_counter(metrics, "espalier_server_rank_jobs_total", (double)counts.started,
                    "Jobs of MPI that were started: more than one where ranks were lost or calls stopped.");
    metrics_counter(metrics, "espalier_server_rank_calls_total", (double)counts.calls,
                    "Calls that were given to ranks.");
    metrics_counter(metrics, "espalier_server_far_rank_sent_bytes_total", (double)counts.far_sent,
                    "Parts of arguments that ranks on other hosts needed and the server sent.");
    metrics_counter(metrics, "espalier_server_far_rank_kept_bytes_total", (double)counts.far_kept,
                    "The same, which the ranks had kept.");
    metrics_counter(metrics, "espalier_server_far_rank_moved_bytes_total", (double)counts.far_moved,
                    "The same, which other ranks had and sent.");
}

void service_metrics(void *self, struct metrics *metrics)
{
    const struct service *service = self;
    server_metrics(service->server, metrics);
    if (service->ranks)
        write_ranks(service->ranks, metrics);
}

bool service_settled(void *self, char *why, size_t size)
{
    const struct service *service = self;
    return server_settled(service->server, why, size);
}

/* ---- closing ---- */

static bool computes(const struct server_counts *counts)
{
    return counts->running + counts->queued + counts->receiving + counts->waiting > 0;
}

static bool has_results(const struct server_counts *counts)
{
    return counts->kept > 0;
}

static bool runs(const struct server_counts *counts)
{
    return counts->running > 0;
}

static void wait_while(struct service *service, bool (*what)(const struct server_counts *counts), int ms)
{
    static const struct timespec pause = {.tv_nsec = 20 * 1000000};
    struct server_counts counts;
    for (int waited = 0; waited < ms; waited += 20) {
        server_count(service->server, &counts);
        if (!what(&counts))
            return;
        nanosleep(&pause, NULL);
    }
}

void service_close(struct service *service, bool restarts)
{
    if (!service)
        return;
    idle_calibration_destroy(service->calibration);
    service->calibration = NULL;
    if (service->endpoint)
        server_set_weather(service->server, &(struct duty_weather){0});
    sensors_destroy(service->sensors);
    service->sensors = NULL;
    pthread_mutex_lock(&service->learning);
    struct links *links = service->links;
    service->links = NULL;
    pthread_mutex_unlock(&service->learning);
    links_destroy(links);
    directory_watch_destroy(service->directory);
    service->directory = NULL;
    if (service->server && service->settings->node.state_dir)
        corrections_file_save(service->server, service->settings->node.state_dir);
    if (service->endpoint) {
        server_drain(service->server, restarts);
        wait_while(service, computes, FINISH_MS);
        wait_while(service, has_results, FETCH_MS);
        server_leave(service->server);
        wait_while(service, runs, KILL_MS);
    }
    /* Workers first: their ends are reported to the server, which must be there. */
    atomic_store(&service->listener, NULL);
    porters_close(service->porters);
    if (service->workers)
        service->workers->ops->destroy(service->workers);
    /* Data on their way are given up; their threads come through the endpoint, which must be there. */
    if (service->endpoint)
        transport_interrupt(service->endpoint->transport);
    errands_destroy(service->errands);
    porters_destroy(service->porters);
    endpoint_close(service->endpoint);
    if (service->endpoint)
        server_save_results(service->server);
    server_destroy(service->server);
    problem_set_destroy(service->problems);
    memory_share_give(service->share);
    place_release(&service->place);
    cost_files_clear(&service->measured);
    pthread_mutex_destroy(&service->learning);
    pthread_mutex_destroy(&service->loading);
    free(service);
}
