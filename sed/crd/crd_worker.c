/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of a worker: wait, call, answer, clean up. */
#include "sed/crd/crd.h"

#include "sed/crd/crd_command.h"
#include "sed/crd/crd_files.h"
#include "sed/pool/folder.h"
#include "util/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 400000
#define PREEMPTED_NS                                                                                         \
    250000             /* between two checks: another computing program had the processor, not a daemon */
#define SPIN_LOOKS 20  /* between two looks at the clock */
#define SHY_JOBS   200 /* jobs without polling after it disturbed another program */
#define ASIDE_NS   10000000 /* least time between two moves to another processor */
#define REMEMBERED 64       /* prepared calls, by key */
#define LOOK_EVERY                                                                                           \
    64 /* interval of memory checks for calls without large allocations, which can keep only little each */
#define FD_SOCKET     3
#define FD_BELL       4
#define FD_FOLDER     5
#define FD_FIRST_FREE 6

struct remembered_call {
    struct call_signature signature;
    struct invocation *invocation;
};

struct worker {
    struct ring *ring;
    struct areas areas;
    void *sections[PROBLEM_MAX_ARGUMENTS],
        *texts[PROBLEM_MAX_ARGUMENTS];      /* memory of the job's sections and texts */
    struct paths paths;                     /* of the job's files */
    struct stat descriptors[FD_FIRST_FREE]; /* as they were, to detect changes */
    struct timespec folder_changed;
    uint64_t may_keep;      /* bytes after a call; 0: unlimited */
    unsigned not_looked_at; /* calls since the last memory check */
    void *state;            /* left by a routine for later calls; NULL: none */
    unsigned turn;
    bool in_stream;   /* the last job came soon after the one before */
    unsigned shy;     /* jobs to go without polling */
    int64_t moved_ns; /* when it last left the daemon's processor */
    struct remembered_call calls[REMEMBERED];
};

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void worker_reply(struct ring *ring, int bell)
{
    ring->answer.refused_bytes = memory_refused(&ring->answer.memory_bytes);
    /* If the routine has closed the bell, ending has the same effect: the spawner reports it. */
    if (!ring_reply(ring, bell))
        _exit(0);
}

/* ---- waiting ---- */

/* Polls for the next job, at most for SPIN_NS. */
static bool spin_for_request(struct worker *worker, uint32_t last, int64_t now)
{
    for (int64_t until = now + SPIN_NS, before = now; now < until; before = now) {
        for (int i = 0; i < SPIN_LOOKS; i++, ring_pause())
            if (atomic_load_explicit(&worker->ring->request, memory_order_acquire) != last)
                return true;
        now = now_ns();
        if (now - before > PREEMPTED_NS) {
            worker->shy = SHY_JOBS;
            return false;
        }
    }
    return false;
}

/* Moves away from the processor of the daemon's thread, which would otherwise wait until this worker stops
 * polling. The scheduler does not move a running thread off a processor whose other thread sleeps now and
 * then. */
static bool step_aside(struct worker *worker, uint32_t poster, int64_t now)
{
    cpu_set_t all, others;
    if (now - worker->moved_ns < ASIDE_NS || sched_getaffinity(0, sizeof all, &all) != 0)
        return false;
    worker->moved_ns = now;
    others = all;
    CPU_CLR(poster, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0)
        return false;
    sched_setaffinity(0, sizeof all, &all);
    return true;
}

/* Waking a worker on a sleeping processor takes many times as long as a tiny job. In a stream of jobs the
 * worker polls for the next one, unless it disturbs others: not on the processor of the daemon's thread,
 * and not where other processes want to run. */
static void wait_for_request(struct worker *worker, uint32_t last)
{
    struct ring *ring = worker->ring;
    int64_t begun = now_ns();
    uint32_t poster = atomic_load_explicit(&ring->poster, memory_order_relaxed);
    bool got = false;
    if (worker->shy > 0)
        worker->shy--;
    else if (worker->in_stream && (poster != (uint32_t)sched_getcpu() || step_aside(worker, poster, begun)))
        got = spin_for_request(worker, last, begun);
    if (!got) {
        atomic_store(&ring->sleeping, 1);
        while (atomic_load(&ring->request) == last)
            ring_sleep(&ring->request, last, CLOCK_NEVER);
        atomic_store_explicit(&ring->sleeping, 0, memory_order_relaxed);
    }
    worker->in_stream = now_ns() - begun < SPIN_NS;
}

/* ---- a call ---- */

static void answer_unable(struct ring *ring, const struct esp_error *error)
{
    ring->answer.kind = ANSWER_UNABLE;
    snprintf(ring->answer.text, sizeof ring->answer.text, "%s", error->text);
}

/* Returns how many were received. */
static uint32_t receive_descriptors(int *descriptors)
{
    char byte;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(RING_MAX_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec data = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;
    do
        n = recvmsg(FD_SOCKET, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    struct cmsghdr *header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t bytes = header->cmsg_len - CMSG_LEN(0);
    memcpy(descriptors, CMSG_DATA(header), bytes);
    return (uint32_t)(bytes / sizeof(int));
}

static enum esp_status map_segment(struct worker *worker, struct esp_error *error)
{
    worker->areas.n = 0;
    if (worker->ring->job.n_descriptors == 0)
        return ESP_OK;
    int descriptors[RING_MAX_DESCRIPTORS];
    uint32_t n = receive_descriptors(descriptors);
    if (n == 0) { /* an earlier routine has closed the socket: the call was not started, so another worker may
                     make it */
        atomic_store(&worker->ring->taken, 0);
        _exit(0);
    }
    enum esp_status status = areas_map(&worker->ring->job, descriptors, n, &worker->areas, error);
    for (uint32_t i = 0; i < n; i++)
        close(descriptors[i]);
    return status;
}

/* Returns the prepared call, from the cache or new. NULL: *error has the reason. */
static struct invocation *find_call(struct worker *worker, struct esp_error *error)
{
    const struct call_signature *signature = &worker->ring->job.signature;
    if (!signature_is_sane(signature)) {
        error_set(error, ESP_INTERNAL, "the worker was handed a malformed call");
        return NULL;
    }
    struct remembered_call *call = &worker->calls[signature->key % REMEMBERED];
    if (call->invocation && signature_equal(&call->signature, signature))
        return call->invocation;
    void (*routine)(void);
    struct invocation *made;
    if (library_symbol(signature->folder, signature->library, signature->symbol, &routine, error) != ESP_OK ||
        invocation_create(signature, routine, &made, error) != ESP_OK)
        return NULL;
    invocation_destroy(call->invocation);
    call->invocation = made;
    signature_copy(&call->signature, signature);
    return made;
}

static bool queries_are_sane(const struct ring_job *job)
{
    for (uint32_t i = 0; i < job->n_queries; i++)
        if (i >= RING_MAX_QUERIES || job->queries[i].size >= job->signature.n_parameters ||
            job->queries[i].array >= job->signature.n_parameters || job->queries[i].size_type > TYPE_INT64 ||
            job->queries[i].array_type > TYPE_DOUBLE_COMPLEX ||
            job->operands[job->queries[i].size].place != OPERAND_ARENA)
            return false;
    return true;
}

static bool resolve_operands(struct worker *worker, void **operands, struct esp_error *error)
{
    error_set(error, ESP_INTERNAL, "the worker was handed a malformed call");
    const struct ring_job *job = &worker->ring->job;
    for (uint32_t i = 0; i < job->signature.n_parameters; i++) {
        const struct ring_operand *operand = &job->operands[i];
        if (operand->place == OPERAND_NUMBER)
            operands[i] = (void *)(uintptr_t)operand->value;
        else if (operand->place == OPERAND_AREA && operand->value < worker->areas.n)
            operands[i] = worker->areas.items[operand->value].data;
        else if (operand->place == OPERAND_ARENA && ring_value(worker->ring, operand, 16))
            operands[i] = ring_value(worker->ring, operand, 16);
        else if (operand->place == OPERAND_STATE)
            operands[i] = operand->value ? (void *)&worker->state : worker->state;
        else if (operand->place == OPERAND_SECTION && operand->value < job->n_sections)
            operands[i] = worker->sections[operand->value];
        else if (operand->place == OPERAND_TEXTS && operand->value < job->n_texts)
            operands[i] = worker->texts[operand->value];
        else if (operand->place == OPERAND_PATH && operand->value < job->n_files)
            operands[i] = worker->paths.items[operand->value].memory;
        else if (operand->place == OPERAND_PATH_LENGTH && operand->value < job->n_files)
            operands[i] = (void *)(uintptr_t)worker->paths.items[operand->value].length;
        else if (operand->place == OPERAND_QUERY && operand->value < job->n_queries)
            operands[i] = NULL; /* until the routine was asked */
        else if (operand->place != OPERAND_CALLBACK ||
                 !(operands[i] = callback_address((uint32_t)operand->value, error)))
            return false;
    }
    return queries_are_sane(job) && job->result_offset <= RING_ARENA_BYTES - INVOKE_RESULT_BYTES;
}

/* Calls the routine once before, for the sizes of its work arrays. False: *error has the reason. */
static bool ask_for_sizes(struct worker *worker, struct invocation *invocation, void **operands, void *result,
                          struct esp_error *error)
{
    const struct ring_job *job = &worker->ring->job;
    if (job->n_queries == 0)
        return true;
    query_begin(job, operands);
    faults_enter_call();
    invocation_call(invocation, operands, result);
    faults_leave_call();
    return query_end(job, operands, &worker->areas, error) == ESP_OK;
}

static void call_routine(struct worker *worker, struct invocation *invocation, void **operands)
{
    struct ring *ring = worker->ring;
    void *result = ring->arena + ring->job.result_offset;
    struct esp_error error;
    struct own_time own;
    if (ring->job.timed)
        own_time_begin(&own);
    int64_t begun = now_ns();
    if (!ask_for_sizes(worker, invocation, operands, result, &error)) {
        answer_unable(ring, &error);
        return;
    }
    struct system_look look;
    system_look_begin(&ring->job, operands, NULL, &look);
    results_look_begin(&ring->job, operands);
    faults_enter_call();
    invocation_call(invocation, operands, result);
    int64_t ended = now_ns();
    int64_t waited = 0;
    ring->answer.cpu_ns = ring->job.timed ? (uint64_t)own_time_since(&own, &waited) : 0;
    ring->answer.waited_ns = (uint64_t)waited;
    faults_leave_call();
    struct ring_verdict *verdict = &ring->answer.verdict;
    verdict->is_wrong =
        system_look_end(&ring->job, operands, NULL, &look, &verdict->backward_error, &verdict->condition);
    verdict->is_spoilt =
        results_look_end(&ring->job, operands, &verdict->spoilt_argument, &verdict->spoilt_element);
    sections_end(ring, &worker->areas, worker->sections);
    fflush(stdout);
    const char *routine;
    int illegal = faults_illegal(&routine);
    ring->answer.compute_ns = (uint64_t)(ended - begun);
    ring->answer.code = illegal;
    if (illegal)
        snprintf(ring->answer.text, sizeof ring->answer.text, "%s", routine);
    ring->answer.keeps = worker->state != NULL;
    ring->answer.kind = illegal ? ANSWER_ILLEGAL : ANSWER_RETURNED;
    if (!texts_end(ring, &worker->areas, FD_SOCKET, worker->texts))
        ring->answer.kind = ANSWER_NO_TEXT;
    else
        paths_end(ring, FD_SOCKET, &worker->paths);
    bool before;
    const struct area *damaged = areas_find_damage(&worker->areas, &before);
    if (damaged) {
        ring->answer.kind = ANSWER_STRAYED;
        ring->answer.place = before ? FAULT_BEFORE : FAULT_BEHIND;
        ring->answer.argument = damaged->argument;
    }
}

/* Whether the private folder was removed, for example by a program that cleans /tmp: files could not be
 * created there. */
static bool lost_its_folder(const struct worker *worker)
{
    struct stat is;
    return !worker->state && fstat(FD_FOLDER, &is) == 0 && is.st_nlink == 0;
}

static void serve(struct worker *worker)
{
    struct esp_error error;
    void *operands[SIGNATURE_MAX_PARAMETERS];
    struct invocation *invocation = NULL;
    if (lost_its_folder(worker)) { /* the call was not started: another worker, with a new folder, makes it */
        atomic_store(&worker->ring->taken, 0);
        _exit(0);
    }
    memory_begin_call();
    /* The segment first: its descriptor is on the way in any case and must not be received by the next
     * job. */
    bool mapped = map_segment(worker, &error) == ESP_OK;
    if (mapped && worker->ring->job.command.n_words > 0) {
        command_run(&(struct command_context){
            .ring = worker->ring, .areas = &worker->areas, .folder = FD_FOLDER, .socket = FD_SOCKET});
        areas_unmap(&worker->areas);
        worker_reply(worker->ring, FD_BELL);
        return;
    }
    if (mapped)
        invocation = find_call(worker, &error);
    if (invocation && sections_begin(worker->ring, &worker->areas, worker->sections, &error) != ESP_OK)
        invocation = NULL;
    if (invocation && texts_begin(worker->ring, &worker->areas, worker->texts, &error) != ESP_OK)
        invocation = NULL;
    if (invocation && paths_begin(worker->ring, &worker->areas, &worker->paths, &error) != ESP_OK)
        invocation = NULL;
    if (invocation && !resolve_operands(worker, operands, &error))
        invocation = NULL;
    if (invocation)
        call_routine(worker, invocation, operands);
    else
        answer_unable(worker->ring, &error);
    /* Before the answer, because afterwards the daemon may give the memory to another session. */
    areas_unmap(&worker->areas);
    worker_reply(worker->ring, FD_BELL);
    paths_remove(&worker->paths);
}

/* ---- cleaning up after a routine, while no call waits ---- */

static bool is_same(const struct worker *worker, int fd, struct stat *is)
{
    return fstat(fd, is) == 0 && is->st_ino == worker->descriptors[fd].st_ino &&
           is->st_dev == worker->descriptors[fd].st_dev;
}

/* Whether a routine has closed or replaced the worker's own descriptors; then a new worker takes over. The
 * bell and the folder are checked each time, the others in turn, because losing them is less harmful, and
 * each check costs time. */
static bool descriptors_are_whole(struct worker *worker)
{
    static const int others[] = {FD_SOCKET, STDOUT_FILENO, STDERR_FILENO};
    struct stat is;
    if (!is_same(worker, others[worker->turn++ % 3], &is) || !is_same(worker, FD_BELL, &is) ||
        !is_same(worker, FD_FOLDER, &is))
        return false;
    if (is.st_mtim.tv_sec != worker->folder_changed.tv_sec ||
        is.st_mtim.tv_nsec != worker->folder_changed.tv_nsec) {
        if (!worker->state) /* a state may have files there */
            folder_empty(FD_FOLDER);
        fstat(FD_FOLDER, &is);
        worker->folder_changed = is.st_mtim;
    }
    return true;
}

/* Processes that the routine left running would have the ring and the daemon's pipe: they end with this
 * worker. */
static bool has_children(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid == 0;
}

/* Memory that a routine has left allocated would be lost as long as the worker lives, so a new one
 * replaces it. Memory of a state is kept on purpose. */
static void give_up_memory(struct worker *worker)
{
    if (worker->may_keep == 0 || worker->state ||
        (!memory_was_large() && ++worker->not_looked_at < LOOK_EVERY))
        return;
    worker->not_looked_at = 0;
    uint64_t kept = memory_kept(worker->may_keep);
    if (kept <= worker->may_keep)
        return;
    atomic_store(&worker->ring->kept, kept);
    _exit(WORKER_KEPT_TOO_MUCH);
}

/* Takes about 1 us, between an answer and the next call. */
static void tidy_up(struct worker *worker)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    faults_renew();
    fesetenv(FE_DFL_ENV);
    umask(077);
    uselocale(LC_GLOBAL_LOCALE);
    setlocale(LC_ALL, "C"); /* numbers on command lines have a decimal point */
    __fpurge(stdout);       /* output that a full pipe did not accept must not appear as the next routine's */
    clearerr(stdout);
    if (has_children() || !descriptors_are_whole(worker) || fchdir(FD_FOLDER) != 0)
        _exit(0);
}

/* ---- start ---- */

_Noreturn void worker_cannot_begin(int output, const char *what)
{
    dprintf(output, "cannot get %s: %s\n", what, strerror(errno));
    _exit(1);
}

static void keep_descriptor(int from, int to)
{
    if (from == to)
        fcntl(to, F_SETFD, FD_CLOEXEC);
    else if (dup3(from, to, O_CLOEXEC) < 0)
        worker_cannot_begin(STDERR_FILENO, "its descriptors");
}

static int out_of_the_way(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, FD_FIRST_FREE);
}

/* Moves descriptors away from the wanted numbers first, then to them. */
static void renumber(const struct worker_descriptors *descriptors)
{
    int high[4] = {out_of_the_way(descriptors->socket), out_of_the_way(descriptors->bell),
                   out_of_the_way(descriptors->folder), out_of_the_way(descriptors->output)};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || high[3] < 0)
        worker_cannot_begin(descriptors->output, "file descriptors (ulimit -n)");
    if (dup2(null, 0) < 0 || dup2(high[3], 1) < 0 || dup2(high[3], 2) < 0)
        worker_cannot_begin(high[3], "its standard descriptors");
    keep_descriptor(high[0], FD_SOCKET);
    keep_descriptor(high[1], FD_BELL);
    keep_descriptor(high[2], FD_FOLDER);
    close_range(FD_FIRST_FREE, ~0U, 0);
}

_Noreturn void worker_run(const struct worker_descriptors *descriptors, const struct spawner_setup *setup)
{
    static struct worker worker;
    worker.ring = ring_map_guarded(descriptors->ring);
    if (!worker.ring)
        worker_cannot_begin(descriptors->output, "the memory that it shares with the server");
    renumber(descriptors);
    for (int fd = 0; fd < FD_FIRST_FREE; fd++)
        fstat(fd, &worker.descriptors[fd]);
    worker.folder_changed = worker.descriptors[FD_FOLDER].st_mtim;
    setvbuf(stdout, NULL, _IOLBF, 0);
    faults_install(worker.ring, &worker.areas, FD_BELL);
    service_install(worker.ring);
    callback_install(worker.ring, FD_BELL);
    if (!memory_bound(setup->memory))
        worker_cannot_begin(STDERR_FILENO, "its limit of memory");
    worker.may_keep = setup->keep;
    library_set_threads(setup->threads);
    tidy_up(&worker);
    atomic_store(&worker.ring->ready, 1);
    for (uint32_t last = 0;;) {
        wait_for_request(&worker, last);
        last = atomic_load_explicit(&worker.ring->request, memory_order_acquire);
        atomic_store_explicit(&worker.ring->taken, last, memory_order_release);
        serve(&worker);
        tidy_up(&worker);
        give_up_memory(&worker);
    }
}
