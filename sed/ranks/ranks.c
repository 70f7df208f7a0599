/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool of ranks: giving them calls, and waiting for the answers.
 */
#include "sed/ranks/ranks_pool.h"

#include "sed/porter/porter_order.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_NS      100000 /* for the answer of a tiny call */
#define LOOKS        4      /* between two looks at the clock */
#define PREEMPTED_NS 250000 /* that many looks take so long only where a program computes, */
#define SHY_CALLS    200    /* which nobody gets in the way of for so many calls then */

int64_t ranks_now_ns(void)
{
    return clock_now_ns(&clock_system);
}

void ranks_wake(struct rank_pool *pool)
{
    static const uint64_t one = 1;
    if (write(pool->wake, &one, sizeof one) < 0)
        return; /* it is full: the monitor will wake up */
}

static struct gang *find(struct rank_pool *pool, uint64_t job_id)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++)
        if (pool->gangs[i].used && pool->gangs[i].job_id == job_id)
            return &pool->gangs[i];
    return NULL;
}

/* ---- starting ---- */

static bool are_free(const struct rank_pool *pool, uint32_t first, uint32_t n)
{
    for (uint32_t i = first; i < first + n; i++)
        if (pool->busy[i])
            return false;
    return true;
}

/* Consecutive free ranks; where grids of that size have been before, if possible, as making one takes time.
 */
static bool choose_ranks(const struct rank_pool *pool, uint32_t n, uint32_t *first)
{
    for (uint32_t step = n; step > 0; step = step > 1 ? 1 : 0)
        for (*first = 0; *first + n <= pool->options.ranks; *first += step)
            if (are_free(pool, *first, n))
                return true;
    return false;
}

static enum esp_status check_grid(const struct rank_pool *pool, const struct job *job,
                                  struct esp_error *error)
{
    struct process_grid grid = job->grid;
    if (grid.rows < 1 || grid.cols < 1 || (uint64_t)grid.rows * grid.cols > pool->options.ranks)
        return error_set(
            error, ESP_INVALID,
            "%s: a grid of %u x %u ranks cannot be made: expected at least 1 x 1 and at most %u ranks "
            "in all",
            job->problem->name, grid.rows, grid.cols, pool->options.ranks);
    if (grid.block < 1 || grid.block > INT32_MAX / 2)
        return error_set(error, ESP_INVALID, "%s: a block size of %u cannot be: expected 1 to %d",
                         job->problem->name, grid.block, INT32_MAX / 2);
    return ESP_OK;
}

static bool wants_stop(const struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++)
        if (pool->gangs[i].used && pool->gangs[i].verdict != ESP_OK)
            return true;
    return pool->worn[0] != 0;
}

static struct gang *free_gang(struct rank_pool *pool)
{
    for (uint32_t i = 0; i < pool->n_gangs; i++)
        if (!pool->gangs[i].used && pool->gangs[i].users == 0)
            return &pool->gangs[i];
    return NULL;
}

/* Whether calls can be taken now; ESP_LIMIT: in a moment. */
static enum esp_status check_state(const struct rank_pool *pool, struct esp_error *error)
{
    if (pool->state == JOB_UP && !wants_stop(pool))
        return ESP_OK;
    if (pool->failed)
        return error_set(error, ESP_SYSTEM, "the ranks of this server are not there: %s", pool->trouble);
    return error_set(error, ESP_LIMIT, "the ranks are being started");
}

static enum esp_status pool_admits(struct workers *workers, struct esp_error *error)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    enum esp_status status = check_state(pool, error);
    pthread_mutex_unlock(&pool->lock);
    return status == ESP_SYSTEM ? error->status = ESP_REFUSED : ESP_OK;
}

/* A call whose arguments are all small needs none, but for envoys, who do not look at the board. */
static bool send_files(struct rank_pool *pool, struct gang *gang)
{
    const struct rank_message message = {.kind = RANK_FILES, .ring = (uint32_t)(gang - pool->gangs)};
    for (uint32_t i = gang->first; i < gang->first + gang->n; i++)
        if ((gang->handoff.n_descriptors > 0 || pool->ranks[i].far) &&
            !rank_link_send(pool->ranks[i].socket, &message, gang->handoff.descriptors,
                            gang->handoff.n_descriptors, MSG_DONTWAIT))
            return false;
    return true;
}

static bool is_apart(const struct rank_pool *pool, uint32_t first, uint32_t n)
{
    bool apart = false;
    for (uint32_t i = first; i < first + n; i++)
        apart |= pool->ranks[i].far;
    return apart;
}

/* Ranks on other hosts keep parts of data, and know them by their names. */
static void name_data(struct rank_pool *pool, struct ring_job *to, const struct job *job)
{
    for (uint32_t i = 0; i < to->n_parts && to->apart; i++) {
        struct ring_part *part = &to->parts[i];
        const struct job_argument *argument = &job->arguments[part->argument];
        const struct job_file *input = argument->writable ? argument->source : argument->file;
        if (part->from.there && input)
            part->from.name = envoys_name(pool->envoys, input->key);
        if (part->to.there && argument->file)
            part->to.name = envoys_name(pool->envoys, argument->file->key);
    }
}

/* Ranks over which data of the call lie, and that are more than its grid's n: they send what they keep of
 * that, where the grid is on other hosts and would have it from the daemon. */
static uint32_t ranks_of_data(const struct job *job, uint32_t n)
{
    int64_t most = n;
    for (uint32_t i = 0; i < job->problem->n_arguments; i++) {
        const struct job_argument *argument = &job->arguments[i];
        const struct job_file *input = argument->writable ? argument->source : argument->file;
        if (!input || !argument_is_input(&job->problem->arguments[i]) || job_key_is_none(input->key))
            continue;
        const int64_t now = input->in_pieces ? block_cyclic_matrix_ranks(&input->layout) : 1;
        const int64_t before = input->laid ? block_cyclic_matrix_ranks(&input->before) : 1;
        most = now > most && now <= RANKS_MOST ? now : most;
        most = before > most && before <= RANKS_MOST ? before : most;
    }
    return (uint32_t)most;
}

/* Where the n ranks of the grid begin, and how many beside them help: those that would have to be waited for
 * do not. */
static bool place_call(const struct rank_pool *pool, const struct job *job, uint32_t n, uint32_t *first,
                       uint32_t *beside)
{
    const uint32_t all = pool->envoys ? ranks_of_data(job, n) : n;
    *beside = 0;
    if (all > n && choose_ranks(pool, all, first) && is_apart(pool, *first, n)) {
        *beside = all - n;
        return true;
    }
    return choose_ranks(pool, n, first);
}

/* `n`: with those beside the grid. */
static void post(struct rank_pool *pool, struct gang *gang, const struct job *job, uint32_t first, uint32_t n,
                 uint32_t beside)
{
    struct ring *ring = gang->ring;
    gang->used = true;
    gang->claimed = false;
    gang->job_id = job->id;
    gang->first = first;
    gang->n = n;
    gang->beside = beside;
    gang->verdict = ESP_OK;
    gang->held_up = false;
    gang->alone_ns = 0;
    gang->started_ns = ranks_now_ns();
    gang->due_ns = CLOCK_NEVER;
    if (job->time_limit_ms > 0 && job->time_limit_ms < (CLOCK_NEVER - gang->started_ns) / NS_PER_MS)
        gang->due_ns = gang->started_ns + job->time_limit_ms * NS_PER_MS;
    for (uint32_t i = first; i < first + n; i++)
        pool->busy[i] = true;
    ring->job.first_rank = first;
    ring->job.beside = beside;
    ring->job.apart = is_apart(pool, first, n - beside);
    name_data(pool, &ring->job, job);
    ring->job.sure = ranks_are_sure(pool, &ring->job, first, n - beside) && !ring->job.apart;
    atomic_store(&ring->gang.prepared, 0);
    atomic_store(&ring->gang.unable, 0);
    atomic_store(&ring->gang.starved, 0);
    atomic_store(&ring->gang.touched, 0);
    atomic_store(&ring->gang.compute_ns, 0);
    atomic_store(&ring->gang.strayed, 0);
    atomic_store(&ring->gang.refuser, 0);
    atomic_store(&ring->gang.refused, 0);
    ring->answer.memory_bytes = pool->options.memory;
    atomic_store(&ring->gang.left, n);
    gang->promised = job->attended;
    if (gang->promised)
        atomic_fetch_add(&ring->attended, 1);
    atomic_store(&ring->reply, RING_POSTED);
    atomic_fetch_add(&ring->request, 1);
    pool->n_calls++;
}

static enum esp_status start_locked(struct rank_pool *pool, const struct job *job, bool *wake,
                                    struct esp_error *error)
{
    uint32_t first, beside, n = job->grid.rows * job->grid.cols;
    enum esp_status status = check_grid(pool, job, error);
    if (status == ESP_OK)
        status = check_state(pool, error);
    if (status != ESP_OK)
        return status;
    struct gang *gang = free_gang(pool);
    if (!gang || !place_call(pool, job, n, &first, &beside))
        return error_set(error, ESP_LIMIT, "not enough ranks are free");
    struct job cut = *job;
    cut.grid = spread_cut_grid(job->problem, job->implementation, job->scope, job->grid);
    status = handoff_write(gang->ring, &cut, &gang->handoff, error);
    if (status != ESP_OK)
        return status;
    post(pool, gang, job, first, n + beside, beside);
    if (send_files(pool, gang))
        board_post(pool->board, gang->first, gang->n, (uint32_t)(gang - pool->gangs));
    else /* a rank has just died: what has begun is ended and told */
        ranks_end_job(pool, "a rank ended before a call came to it");
    int64_t until = atomic_load(&pool->until_ns);
    *wake = until == CLOCK_NEVER || gang->due_ns < until;
    if (*wake)
        atomic_store(&pool->until_ns, 0);
    return ESP_OK;
}

static enum esp_status pool_start(struct workers *workers, const struct job *job, struct esp_error *error)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    bool wake = false;
    pthread_mutex_lock(&pool->lock);
    enum esp_status status = start_locked(pool, job, &wake, error);
    pthread_mutex_unlock(&pool->lock);
    if (wake)
        ranks_wake(pool);
    return status;
}

/* ---- ending it, and waiting for it ---- */

static void pool_cancel(struct workers *workers, uint64_t job_id)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct gang *gang = find(pool, job_id);
    if (gang && !gang->claimed && gang->verdict == ESP_OK) {
        gang->verdict = ESP_CANCELLED;
        ranks_end_when_wanted(pool);
    }
    pthread_mutex_unlock(&pool->lock);
    ranks_wake(pool);
}

/* A processor that its thread leaves halts, and to wake it takes longer than a tiny call. So whoever waits
 * for one looks for the answer, letting ranks pass at each look, which may want the same processor. Returns
 * whether somebody else computed there. */
static bool look_for_answer(const struct gang *gang, uint32_t request, int64_t until_ns)
{
    int64_t now = ranks_now_ns(), before = now;
    const int64_t until = now + LOOK_NS < until_ns ? now + LOOK_NS : until_ns;
    for (; now < until && now - before < PREEMPTED_NS; now = ranks_now_ns()) {
        before = now;
        for (int i = 0; i < LOOKS; i++, sched_yield())
            if (ranks_is_answered(gang) || atomic_load(&gang->ring->request) != request)
                return false;
    }
    return now - before >= PREEMPTED_NS;
}

static bool pool_help(struct workers *workers, uint64_t job_id, int64_t until_ns)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    struct gang *gang = find(pool, job_id);
    if (gang && gang->claimed)
        gang = NULL;
    bool expected = gang && gang->promised;
    uint32_t request = gang ? atomic_load(&gang->ring->request) : 0;
    bool looks = false, in_the_way = false;
    if (gang) {
        looks = gang->ring->job.sure && gang->shy == 0;
        gang->shy -= gang->shy > 0;
        gang->users++;
        gang->promised = false;
    }
    pthread_mutex_unlock(&pool->lock);
    if (!gang)
        return false;
    if (!expected)
        atomic_fetch_add(&gang->ring->attended, 1);
    if (looks)
        in_the_way = look_for_answer(gang, request, until_ns);
    ring_await_answer(gang->ring, request, until_ns);
    atomic_fetch_sub(&gang->ring->attended, 1);
    /* Once more behind that: the last rank may not have rung the bell, trusting in us. */
    if (ranks_is_answered(gang))
        ranks_collect(pool, gang);
    pthread_mutex_lock(&pool->lock);
    bool running = gang->used && gang->job_id == job_id && !gang->claimed;
    gang->users--;
    gang->shy = in_the_way ? SHY_CALLS : gang->shy;
    pthread_mutex_unlock(&pool->lock);
    return running;
}

/* ---- looking at it ---- */

static double pool_progress(struct workers *workers, uint64_t job_id)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    const struct gang *gang = find(pool, job_id);
    double progress = gang ? ring_progress(gang->ring) : -1;
    pthread_mutex_unlock(&pool->lock);
    return progress;
}

void ranks_count(struct workers *workers, struct ranks_counts *counts)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    *counts = (struct ranks_counts){0};
    pthread_mutex_lock(&pool->lock);
    counts->ranks = pool->state == JOB_UP ? pool->options.ranks : 0;
    for (uint32_t i = 0; i < pool->options.ranks; i++)
        counts->busy += pool->busy[i];
    counts->started = pool->n_started;
    counts->calls = pool->n_calls;
    counts->failed = pool->failed;
    pthread_mutex_unlock(&pool->lock);
    struct envoys_counts far = {0};
    if (pool->envoys)
        envoys_count(pool->envoys, &far);
    counts->far_sent = far.sent;
    counts->far_kept = far.kept;
    counts->far_moved = far.moved;
}

void ranks_porters(struct workers *workers, struct porter_list *list)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    list->n = 0; /* ranks on other hosts do not see the memory of data */
    for (uint32_t i = 0; pool->state == JOB_UP && i < pool->options.ranks; i++)
        if (!pool->ranks[i].far)
            rank_porter_path(pool->path, i, list->paths[list->n++]);
    list->of_ranks = list->n > 0;
    pthread_mutex_unlock(&pool->lock);
}

void ranks_lenders(struct workers *workers, struct job_key key, uint64_t ticket,
                   struct porter_lenders *lenders)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    lenders->n = 0;
    if (pool->envoys)
        envoys_lenders(pool->envoys, key, ticket, lenders);
}

int32_t ranks_pid(struct workers *workers, uint32_t rank)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    pthread_mutex_lock(&pool->lock);
    int32_t pid = rank < pool->options.ranks && pool->ranks[rank].ready ? pool->ranks[rank].pid : 0;
    pthread_mutex_unlock(&pool->lock);
    return pid;
}

const struct workers_ops ranks_ops = {.start = pool_start,
                                      .cancel = pool_cancel,
                                      .help = pool_help,
                                      .progress = pool_progress,
                                      .propose = ranks_propose,
                                      .admits = pool_admits,
                                      .knows = ranks_profile_tell,
                                      .destroy = ranks_destroy};
