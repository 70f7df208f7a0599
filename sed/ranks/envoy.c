/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends a call's arguments to a rank on another host, and receives its results. */
#include "core/redistribution/pieces.h"
#include "sed/ranks/envoy_internal.h"
#include "sed/ranks/gang.h"
#include "util/random.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static enum esp_status envoy_make_call(struct envoy_call *call, struct esp_error *error);

/* ---- memory of the call ---- */

struct view {
    void *pages;
    size_t page_bytes;
    char *data;
};

/* Maps that many bytes of file number `file` of the call. */
static enum esp_status view_open(const struct envoy_call *call, uint32_t file, uint64_t offset,
                                 uint64_t bytes, bool writable, struct view *view, struct esp_error *error)
{
    struct stat is;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = offset & ~(page - 1);
    if (file >= call->n_files || fstat(call->files[file], &is) != 0 || offset > (uint64_t)is.st_size ||
        bytes > (uint64_t)is.st_size - offset)
        return error_set(error, ESP_INTERNAL, "an argument's memory did not come with the call");
    view->page_bytes = offset - first + bytes;
    view->pages = mmap(NULL, view->page_bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                       call->files[file], (off_t)first);
    if (view->pages == MAP_FAILED)
        return error_errno(error, "cannot map %zu bytes of an argument", view->page_bytes);
    view->data = (char *)view->pages + (offset - first);
    return ESP_OK;
}

static void view_close(const struct view *view)
{
    if (view->page_bytes > 0)
        munmap(view->pages, view->page_bytes);
}

/* Maps the whole array of a part. */
static enum esp_status view_whole(const struct envoy_call *call, const struct ring_part *part, bool writable,
                                  struct view *view, struct esp_error *error)
{
    uint64_t bytes = (uint64_t)(part->layout.rows.n * part->layout.cols.n) * part->element_bytes;
    *view = (struct view){0};
    if (part->whole.place == OPERAND_AREA && part->whole.value < call->job->n_areas) {
        const struct ring_area *area = &call->job->areas[part->whole.value];
        return area->bytes >= bytes ? view_open(call, area->file, area->offset, bytes, writable, view, error)
                                    : error_set(error, ESP_INTERNAL, "an array is smaller than its parts");
    }
    if (part->whole.place != OPERAND_ARENA || bytes > RING_ARENA_BYTES ||
        part->whole.value > RING_ARENA_BYTES - bytes)
        return error_set(error, ESP_INTERNAL, "an array is nowhere");
    view->data = (char *)call->ring->arena + part->whole.value;
    return ESP_OK;
}

/* ---- to the rank ---- */

static enum esp_status say(const struct envoy_call *call, const void *data, size_t bytes,
                           struct esp_error *error)
{
    return porter_say(call->socket, data, bytes, &call->end, error);
}

static enum esp_status say_joined(const struct envoy_call *call, const struct ring_area *area,
                                  const char *pieces, struct esp_error *error)
{
    char *whole = malloc(area->bytes);
    if (!whole)
        return error_no_memory(error, "a datum in pieces");
    pieces_join(&area->source_layout, pieces, whole, area->element_bytes);
    enum esp_status status = say(call, whole, area->bytes, error);
    free(whole);
    return status;
}

static enum esp_status say_blank(const struct envoy_call *call, uint64_t bytes, struct esp_error *error)
{
    void *zeros = calloc(bytes ? bytes : 1, 1);
    if (!zeros)
        return error_no_memory(error, "an argument that does not go in");
    enum esp_status status = say(call, zeros, bytes, error);
    free(zeros);
    return status;
}

static enum esp_status say_area(const struct envoy_call *call, const struct ring_area *area,
                                struct esp_error *error)
{
    struct view view;
    bool filled = area->source != RING_NO_SOURCE;
    if (area->blank)
        return say_blank(call, area->bytes, error);
    enum esp_status status =
        filled ? view_open(call, area->source, area->source_offset, area->bytes, false, &view, error)
               : view_open(call, area->file, area->offset, area->bytes, false, &view, error);
    if (status != ESP_OK)
        return status;
    status = filled && area->source_in_pieces ? say_joined(call, area, view.data, error)
                                              : say(call, view.data, area->bytes, error);
    view_close(&view);
    return status;
}

/* Position and size of this rank's part in the layout. */
struct part_place {
    int64_t row, col, rows, cols;
    uint64_t bytes;
};

static struct part_place place_of(const struct envoy_call *call, const struct ring_part *part)
{
    const struct block_cyclic_matrix *layout = &part->layout;
    int64_t place = call->rank - call->job->first_rank, cols = call->job->grid.cols;
    struct part_place is = {.row = layout->rows.ranks > 1 ? place / cols : 0,
                            .col = layout->cols.ranks > 1 ? place % cols : 0};
    is.rows = block_cyclic_count(&layout->rows, is.row);
    is.cols = block_cyclic_count(&layout->cols, is.col);
    is.bytes = (uint64_t)(is.rows * is.cols) * part->element_bytes;
    return is;
}

static enum esp_status cut_part(const struct envoy_call *call, const struct ring_part *part,
                                const struct part_place *is, char *cut, struct esp_error *error)
{
    struct view view;
    uint64_t bytes = (uint64_t)(part->layout.rows.n * part->layout.cols.n) * part->element_bytes;
    enum esp_status status =
        part->from.there ? view_open(call, part->from.file, part->from.offset, bytes, false, &view, error)
                         : view_whole(call, part, false, &view, error);
    if (status != ESP_OK)
        return status;
    if (part->from.there)
        pieces_take(&part->from.layout, view.data, &part->layout, is->row, is->col, cut, is->rows,
                    part->element_bytes);
    else
        block_cyclic_gather(&part->layout, is->row, is->col, view.data, cut, is->rows, part->element_bytes);
    view_close(&view);
    return ESP_OK;
}

/* Whether the rank says that it has the part already. */
static bool is_there(const struct envoy_call *call, const struct far_message *wants, uint32_t i,
                     uint64_t bytes)
{
    const uint64_t bit = UINT64_C(1) << i;
    const bool keyed = call->job->parts[i].from.there && !job_key_is_none(call->job->parts[i].from.name);
    const bool kept = keyed && (wants->kept & bit), moved = keyed && (wants->moved & bit);
    atomic_fetch_add(kept ? &call->envoys->kept : moved ? &call->envoys->moved : &call->envoys->sent, bytes);
    return kept || moved;
}

static enum esp_status say_part(const struct envoy_call *call, const struct far_message *wants, uint32_t i,
                                struct esp_error *error)
{
    const struct ring_part *part = &call->job->parts[i];
    const struct part_place is = place_of(call, part);
    if (!part->goes_in || is.bytes == 0 || is_there(call, wants, i, is.bytes))
        return ESP_OK;
    char *cut = malloc(is.bytes);
    if (!cut)
        return error_no_memory(error, "a rank's part of an argument");
    enum esp_status status = cut_part(call, part, &is, cut, error);
    if (status == ESP_OK)
        status = say(call, cut, is.bytes, error);
    free(cut);
    return status;
}

/* Sends each whole input array, and each part of this rank, cut from the whole, except those that the rank
 * has already according to its FAR_WANTS. */
static enum esp_status envoy_say_arguments(const struct envoy_call *call, const struct far_message *wants,
                                           struct esp_error *error)
{
    const struct ring_job *job = call->job;
    enum esp_status status = ESP_OK;
    for (uint32_t i = 0; i < job->n_areas && status == ESP_OK; i++)
        if (!gang_is_distributed(job, job->areas[i].argument))
            status = say_area(call, &job->areas[i], error);
    for (uint32_t i = 0; i < job->n_parts && status == ESP_OK; i++)
        status = say_part(call, wants, i, error);
    return status;
}

/* ---- from the rank ---- */

static enum esp_status hear(const struct envoy_call *call, void *data, size_t bytes, struct esp_error *error)
{
    return porter_hear(call->socket, data, bytes, &call->end, error);
}

static enum esp_status hear_area(const struct envoy_call *call, const struct ring_area *area,
                                 struct esp_error *error)
{
    struct view view;
    enum esp_status status = view_open(call, area->file, area->offset, area->bytes, true, &view, error);
    if (status != ESP_OK)
        return status;
    status = hear(call, view.data, area->bytes, error);
    view_close(&view);
    return status;
}

/* Receives a part into its piece of a datum. */
static enum esp_status hear_piece(const struct envoy_call *call, const struct ring_part *part,
                                  const struct part_place *is, struct esp_error *error)
{
    struct view view;
    int64_t rank = block_cyclic_matrix_rank(&part->layout, is->row, is->col);
    uint64_t before = pieces_before(&part->layout, rank) * part->element_bytes;
    enum esp_status status =
        view_open(call, part->to.file, part->to.offset + before, is->bytes, true, &view, error);
    if (status != ESP_OK)
        return status;
    status = hear(call, view.data, is->bytes, error);
    view_close(&view);
    return status;
}

/* Receives a part into the whole array. */
static enum esp_status hear_elements(const struct envoy_call *call, const struct ring_part *part,
                                     const struct part_place *is, struct esp_error *error)
{
    struct view view;
    char *cut = malloc(is->bytes);
    if (!cut)
        return error_no_memory(error, "a rank's part of a result");
    enum esp_status status = hear(call, cut, is->bytes, error);
    if (status == ESP_OK)
        status = view_whole(call, part, true, &view, error);
    if (status == ESP_OK) {
        block_cyclic_scatter(&part->layout, is->row, is->col, cut, is->rows, view.data, part->element_bytes);
        view_close(&view);
    }
    free(cut);
    return status;
}

static enum esp_status hear_part(const struct envoy_call *call, const struct ring_part *part,
                                 struct esp_error *error)
{
    const struct process_grid *grid = &call->job->grid;
    const int64_t place = call->rank - call->job->first_rank;
    const struct part_place is = place_of(call, part);
    if (!gang_puts_back(part, grid, place / grid->cols, place % grid->cols) || is.bytes == 0)
        return ESP_OK;
    return part->to.there ? hear_piece(call, part, &is, error) : hear_elements(call, part, &is, error);
}

/* Receives the first rank's small values and whole arrays. */
static enum esp_status hear_values(const struct envoy_call *call, struct esp_error *error)
{
    const struct ring_job *job = call->job;
    unsigned char *arena = malloc(RING_ARENA_BYTES);
    if (!arena)
        return error_no_memory(error, "the results of a call");
    enum esp_status status = hear(call, arena + job->front, job->end - job->front, error);
    if (status == ESP_OK)
        gang_copy_values(job, call->ring->arena + job->front, arena + job->front);
    free(arena);
    for (uint32_t i = 0; i < job->n_areas && status == ESP_OK; i++)
        if (gang_takes_back(job, &job->areas[i]))
            status = hear_area(call, &job->areas[i], error);
    return status;
}

/* Receives what the first rank puts back, and this rank's part of each result. */
static enum esp_status envoy_hear_results(const struct envoy_call *call, struct esp_error *error)
{
    const struct ring_job *job = call->job;
    enum esp_status status = call->rank == job->first_rank ? hear_values(call, error) : ESP_OK;
    for (uint32_t i = 0; i < job->n_parts && status == ESP_OK; i++)
        status = hear_part(call, &job->parts[i], error);
    return status;
}

#define IDLE_S 10 /* of a connection, before the other host is probed, */
#define ASK_S  5  /* so often, */
#define ASKS   3  /* number of probes */

/* ---- saying hello ---- */

/* A host that has lost power closes no connection. */
static void ask_whether_it_is_there(int socket)
{
    const int one = 1, idle = IDLE_S, interval = ASK_S, asks = ASKS;
    const unsigned unanswered_ms = 1000 * (IDLE_S + ASK_S * ASKS);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof asks);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_ms, sizeof unanswered_ms);
}

/* Receives that many bytes within one deadline for all of them, so that a slow sender cannot extend it. */
static enum esp_status hear_soon(const struct envoy *envoy, void *data, int bytes, struct esp_error *error)
{
    const int one = 1, wanted_ms = envoy->envoys->options.hello_ms;
    const int patience_ms = wanted_ms > 0 ? wanted_ms : FAR_HELLO_MS;
    setsockopt(envoy->socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
    enum esp_status status = porter_wait(envoy->socket, false, &envoy->end, patience_ms, error);
    if (status == ESP_OK)
        status = porter_hear(envoy->socket, data, (size_t)bytes, &envoy->end, error);
    setsockopt(envoy->socket, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
    return status;
}

static enum esp_status check_hello(const struct envoy *envoy, struct esp_error *error)
{
    const struct far_hello *hello = &envoy->hello;
    if (hello->magic != FAR_MAGIC)
        return error_set(error, ESP_PROTOCOL, "it is no rank of Espalier, or of another kind of machine");
    if (hello->version != RANK_LINK_VERSION || hello->ring_bytes != sizeof(struct ring))
        return error_set(error, ESP_PROTOCOL,
                         "espalier-prd there is of another version: expected the same build on all hosts");
    if (hello->size != envoy->envoys->options.ranks || hello->rank >= hello->size)
        return error_set(error, ESP_PROTOCOL, "it says it is rank %u of %u: expected one of %u", hello->rank,
                         hello->size, envoy->envoys->options.ranks);
    if (hello->purpose != FAR_CALLS && hello->purpose != FAR_PULSE)
        return error_set(error, ESP_PROTOCOL, "its connection is for something unknown (%u)", hello->purpose);
    return ESP_OK;
}

/* Each side proves to the other that it knows the secret. */
static enum esp_status prove(struct envoy *envoy, struct esp_error *error)
{
    struct envoys *envoys = envoy->envoys;
    struct far_signed both = {.hello = envoy->hello};
    struct far_challenge challenge;
    struct far_proof expected, proof;
    char secret[RANK_SECRET_TEXT];
    pthread_mutex_lock(&envoys->lock);
    memcpy(secret, envoys->secret, sizeof secret);
    pthread_mutex_unlock(&envoys->lock);
    enum esp_status status = random_bytes(challenge.nonce, sizeof challenge.nonce, error);
    memcpy(both.nonce, challenge.nonce, sizeof both.nonce);
    if (status == ESP_OK)
        status = rank_prove(secret, "daemon", &both, sizeof both, challenge.proof, error);
    if (status == ESP_OK)
        status = rank_prove(secret, "rank", &both, sizeof both, expected.proof, error);
    if (status == ESP_OK)
        status = porter_say(envoy->socket, &challenge, sizeof challenge, &envoy->end, error);
    if (status == ESP_OK)
        status = hear_soon(envoy, &proof, sizeof proof, error);
    if (status == ESP_OK && (!secret[0] || !rank_proofs_agree(proof.proof, expected.proof)))
        status = error_set(error, ESP_SECURITY, "it does not know the secret of this job");
    return status;
}

static enum esp_status welcome(const struct envoy *envoy, struct esp_error *error)
{
    const struct envoys_options *options = &envoy->envoys->options;
    const struct far_message message = {.kind = FAR_WELCOME,
                                        .keeps_bytes = options->keeps,
                                        .lends = !options->lends  ? FAR_LENDS_NOTHING
                                                 : options->seals ? FAR_LENDS_SEALED
                                                                  : FAR_LENDS};
    return porter_say(envoy->socket, &message, sizeof message, &envoy->end, error);
}

static enum esp_status give_pulse(struct envoy *envoy, struct esp_error *error)
{
    const struct envoys_options *options = &envoy->envoys->options;
    const enum esp_status status = welcome(envoy, error);
    if (status != ESP_OK)
        return status;
    if (!options->pulse(options->arg, &envoy->hello, envoy->socket))
        return error_set(error, ESP_REFUSED, "the pulse of rank %u is not waited for", envoy->hello.rank);
    envoy->socket = -1;
    return ESP_OK;
}

/* From here on the pool uses the rank. */
static enum esp_status arrive(struct envoy *envoy, struct esp_error *error)
{
    const struct envoys_options *options = &envoy->envoys->options;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return error_errno(error, "cannot make a channel for a rank");
    envoy->channel = envoy->end.order = ends[0];
    if (!options->arrived(options->arg, &envoy->hello, ends[1])) {
        close(ends[1]);
        return error_set(error, ESP_REFUSED, "rank %u is not waited for", envoy->hello.rank);
    }
    return welcome(envoy, error);
}

enum esp_status envoy_meet(struct envoy *envoy, struct esp_error *error)
{
    ask_whether_it_is_there(envoy->socket);
    enum esp_status status = hear_soon(envoy, &envoy->hello, sizeof envoy->hello, error);
    if (status == ESP_OK)
        status = check_hello(envoy, error);
    if (status == ESP_OK)
        status = prove(envoy, error);
    if (status == ESP_OK)
        envoy->hello.host[sizeof envoy->hello.host - 1] = 0;
    if (status == ESP_OK)
        status = envoy->hello.purpose == FAR_PULSE ? give_pulse(envoy, error) : arrive(envoy, error);
    return status;
}

/* ---- the rank's messages ---- */

/* Passes the message on before the pool notices the end. */
static void pass_on(int channel, const struct far_message *word)
{
    const struct rank_message last = {
        .kind = RANK_LAST_WORD, .end = word->end, .code = word->code, .refused_bytes = word->refused_bytes};
    rank_link_send(channel, &last, NULL, 0, MSG_DONTWAIT);
}

/* The pool ends the job with the first rank that is gone; the last message of this one may explain why. */
static bool has_said_its_end(int socket, struct far_message *message)
{
    return recv(socket, message, sizeof *message, MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof *message &&
           message->kind == FAR_LAST_WORD;
}

enum esp_status envoy_hear(int socket, const struct porter_end *end, struct far_message *message,
                           struct esp_error *error)
{
    enum esp_status status = porter_wait(socket, false, end, -1, error);
    if (status == ESP_CANCELLED && has_said_its_end(socket, message)) {
        pass_on(end->order, message);
        return error_set(error, ESP_UNREACHABLE, "it has ended");
    }
    if (status == ESP_OK)
        status = porter_hear(socket, message, sizeof *message, end, error);
    message->text[sizeof message->text - 1] = 0;
    if (status != ESP_OK || message->kind != FAR_LAST_WORD)
        return status;
    pass_on(end->order, message);
    return error_set(error, ESP_UNREACHABLE, "it has ended");
}

/* ---- between calls ---- */

static enum esp_status hear_ready(const struct envoy *envoy, struct esp_error *error)
{
    struct far_message ready;
    struct rank_message message = {.kind = RANK_READY};
    enum esp_status status = envoy_hear(envoy->socket, &envoy->end, &ready, error);
    if (status == ESP_OK && ready.kind != FAR_READY)
        status = error_set(error, ESP_PROTOCOL, "the rank says what was not asked");
    message.speed = ready.speed;
    if (status == ESP_OK && !rank_link_send(envoy->channel, &message, NULL, 0, MSG_DONTWAIT))
        status = error_errno(error, "the pool of ranks does not hear");
    if (status == ESP_OK)
        envoys_lends(envoy, ready.lends);
    return status;
}

/* Waits for its end; no message is expected. */
static enum esp_status hear_end(const struct envoy *envoy, struct esp_error *error)
{
    struct far_message message;
    const enum esp_status status = envoy_hear(envoy->socket, &envoy->end, &message, error);
    if (status == ESP_OK)
        return error_set(error, ESP_PROTOCOL, "the rank says what was not asked");
    return status == ESP_CANCELLED
               ? status
               : error_set(error, ESP_UNREACHABLE, "it has ended, or its host cannot be reached any more");
}

/* Waits for the pool's next message. ESP_CANCELLED: the pool has closed the channel, or everything ends. */
static enum esp_status await_order(const struct envoy *envoy, struct rank_message *order, int *files,
                                   uint32_t *n, struct esp_error *error)
{
    struct pollfd fds[] = {{.fd = envoy->channel, .events = POLLIN},
                           {.fd = envoy->socket, .events = POLLIN | POLLRDHUP},
                           {.fd = envoy->end.stop, .events = POLLIN}};
    while (poll(fds, 3, -1) < 0 && errno == EINTR)
        ;
    *n = 0;
    if (fds[2].revents)
        return error_set(error, ESP_CANCELLED, "the ranks are ended");
    if (fds[1].revents)
        return hear_end(envoy, error);
    return rank_link_receive(envoy->channel, order, files, n, MSG_DONTWAIT) == 1
               ? ESP_OK
               : error_set(error, ESP_CANCELLED, "the job is ended");
}

static enum esp_status make_call(const struct envoy *envoy, const struct rank_message *order,
                                 struct ring_job *job, const int *files, uint32_t n, struct esp_error *error)
{
    const struct envoys_options *options = &envoy->envoys->options;
    struct envoy_call call = {.socket = envoy->socket,
                              .end = envoy->end,
                              .rank = envoy->hello.rank,
                              .ring = options->ring(options->arg, order->ring),
                              .job = job,
                              .files = files,
                              .n_files = n,
                              .bell = options->bell,
                              .envoys = envoy->envoys};
    if (order->kind != RANK_FILES || !call.ring)
        return error_set(error, ESP_INTERNAL, "an envoy was handed a malformed call");
    return envoy_make_call(&call, error);
}

enum esp_status envoy_serve(const struct envoy *envoy, struct esp_error *error)
{
    struct rank_message order;
    int files[RING_MAX_DESCRIPTORS];
    uint32_t n;
    struct ring_job *job = malloc(sizeof *job);
    enum esp_status status = job ? hear_ready(envoy, error) : error_no_memory(error, "an envoy of a rank");
    while (status == ESP_OK) {
        status = await_order(envoy, &order, files, &n, error);
        if (status == ESP_OK)
            status = make_call(envoy, &order, job, files, n, error);
        for (uint32_t i = 0; i < n; i++)
            close(files[i]);
    }
    free(job);
    envoys_lends_no_more(envoy);
    return status;
}

#define LOOK_MS 2 /* between two checks whether the last rank has finished */

static bool are_layouts(const struct ring_part *part)
{
    return part->element_bytes > 0 && block_cyclic_matrix_check(&part->layout, "a part", NULL) == ESP_OK &&
           (!part->from.there || block_cyclic_matrix_check(&part->from.layout, "a datum", NULL) == ESP_OK);
}

static bool is_sound(const struct envoy_call *call)
{
    const struct ring_job *job = call->job;
    if (job->front > job->end || job->end > RING_ARENA_BYTES || job->n_areas > PROBLEM_MAX_ARGUMENTS ||
        job->n_parts > PROBLEM_MAX_ARGUMENTS || job->grid.cols == 0 || call->rank < job->first_rank)
        return false;
    for (uint32_t i = 0; i < job->n_parts; i++)
        if (!are_layouts(&job->parts[i]))
            return false;
    return true;
}

static enum esp_status post(const struct envoy_call *call, struct esp_error *error)
{
    const struct far_message message = {.kind = FAR_CALL};
    const struct ring_job *job = call->job;
    enum esp_status status = porter_say(call->socket, &message, sizeof message, &call->end, error);
    if (status == ESP_OK)
        status = porter_say(call->socket, job, FAR_JOB_BYTES, &call->end, error);
    if (status == ESP_OK)
        status = porter_say(call->socket, call->ring->arena + job->front, job->end - job->front, &call->end,
                            error);
    return status;
}

static enum esp_status await(const struct envoy_call *call, struct far_message *message,
                             struct esp_error *error)
{
    return envoy_hear(call->socket, &call->end, message, error);
}

/* Waits for the rank's last message of this call; handles earlier ones. */
static enum esp_status await_end(const struct envoy_call *call, struct far_message *message,
                                 struct esp_error *error)
{
    enum esp_status status = await(call, message, error);
    while (status == ESP_OK && message->kind == FAR_PROGRESS) {
        if (call->rank == call->job->first_rank)
            ring_tell_progress(call->ring, message->progress);
        status = await(call, message, error);
    }
    return status;
}

/* If this message cannot be sent now, the pool learns the bytes after the next call. */
static void tell_kept(const struct envoy_call *call, uint64_t bytes)
{
    const struct rank_message message = {.kind = RANK_KEPT, .kept_bytes = bytes};
    rank_link_send(call->end.order, &message, NULL, 0, MSG_DONTWAIT);
}

static enum esp_status finish(const struct envoy_call *call, const struct far_message *done,
                              struct esp_error *error)
{
    const struct ring_job *job = call->job;
    struct ring *ring = call->ring;
    if (done->returned)
        atomic_store(&ring->gang.touched, 1);
    enum esp_status status = done->returned ? envoy_hear_results(call, error) : ESP_OK;
    if (status != ESP_OK)
        return status;
    if (done->unable)
        gang_cannot(ring, call->rank - job->first_rank, job->grid.rows * job->grid.cols, done->text,
                    done->starved != 0);
    if (done->returned && call->rank == job->first_rank)
        gang_returned(ring, &done->verdict);
    bool strayed = done->strayed >= 0 && done->strayed < PROBLEM_MAX_ARGUMENTS;
    gang_note(&ring->gang, done->compute_ns, strayed ? done->strayed : -1);
    gang_refused(&ring->gang, call->rank - job->first_rank, done->refused_bytes);
    if (done->kept_bytes > 0)
        tell_kept(call, done->kept_bytes);
    return gang_leave(ring, call->bell) ? ESP_OK : error_errno(error, "the bell does not ring");
}

/* Waits until all ranks have finished, because a finished rank must keep serving the messages of others. */
static enum esp_status tell_when_through(const struct envoy_call *call, uint32_t request,
                                         struct esp_error *error)
{
    const struct far_message message = {.kind = FAR_THROUGH};
    struct pollfd next = {.fd = call->end.order, .events = POLLIN | POLLRDHUP};
    while (atomic_load(&call->ring->request) == request && atomic_load(&call->ring->gang.left) > 0 &&
           poll(&next, 1, LOOK_MS) == 0)
        ;
    return porter_say(call->socket, &message, sizeof message, &call->end, error);
}

/* Lets the rank make the call, and counts it in the ring when it has finished. Fails when the rank is
 * lost, which is not counted, because the job ends. */
static enum esp_status envoy_make_call(struct envoy_call *call, struct esp_error *error)
{
    struct far_message message;
    uint32_t request = atomic_load(&call->ring->request);
    memcpy(call->job, &call->ring->job, FAR_JOB_BYTES);
    if (!is_sound(call))
        return error_set(error, ESP_INTERNAL, "an envoy was handed a malformed call");
    enum esp_status status = post(call, error);
    if (status == ESP_OK)
        status = await(call, &message, error);
    const bool beside = status == ESP_OK && gang_is_beside(call->job, call->rank);
    if (status == ESP_OK && message.kind == FAR_WANTS && !beside)
        status = envoy_say_arguments(call, &message, error);
    else if (status == ESP_OK && message.kind != FAR_CANNOT && !beside)
        status = error_set(error, ESP_PROTOCOL, "the rank says what was not asked");
    if (status == ESP_OK)
        status = await_end(call, &message, error);
    if (status == ESP_OK && (message.kind != FAR_DONE || (beside && message.returned)))
        status = error_set(error, ESP_PROTOCOL, "the rank says what was not asked");
    if (status == ESP_OK)
        status = finish(call, &message, error);
    return status == ESP_OK ? tell_when_through(call, request, error) : status;
}
