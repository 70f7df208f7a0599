/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of jobs that outlive the server's process. When the server ends in good order, it writes each
 * result that was not fetched to a file in the folder "results" of its state_dir, and how failed and
 * cancelled jobs ended, with their output. The next start restores them under the same sessions. A file is
 * deleted with its session. Files are in the machine's native format, as the state_dir is.
 *
 * States of routines, results that are data, and results in a client's memory do not outlive the process.
 */
#include "sed/sessions/printed.h"
#include "sed/server/server_operands.h"
#include "sed/server/server_state.h"
#include "services/data/files.h"
#include "util/crc32c.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define FOLDER     SERVER_RESULTS_FOLDER
#define MAGIC      "ESPRES1"
#define SUFFIX     ".result"
#define NAME_BYTES 96
#define ROUND      64u
#define SPARE_DISK (UINT64_C(1) << 20) /* of the disk, left for logs and other programs */

/* The parts, the output, and the values of the parts follow. */
struct head {
    char magic[8];
    struct session_id id;
    uint64_t digest;  /* of the problem's signature */
    int64_t ended_ns; /* since 1970 */
    double compute_s, forecast_s;
    uint32_t collected, n_parts, printed, crc; /* crc: of all, with this as 0 */
    char problem[PROBLEM_MAX_NAME + 1];
};

/* One result; or, with an index beyond all arguments, how a failed job ended, or the note on the results. */
struct part {
    uint64_t index, bytes;
};
#define PART_ENDING UINT64_MAX
#define MAX_PARTS   (PROBLEM_MAX_ARGUMENTS + 1)

/* Then comes the text. */
struct ending {
    uint32_t state, status;
};

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static const char *file_name(const struct session_id *id, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%016" PRIx64 "%016" PRIx64 "-%" PRIu64 "-%016" PRIx64 SUFFIX, id->client_high,
             id->client_low, id->sequence, id->secret);
    return name;
}

static bool folder_of(const struct server *server, char path[PATH_MAX])
{
    const char *state_dir = server->duty.state_dir;
    return state_dir && snprintf(path, PATH_MAX, "%s/" FOLDER, state_dir) < PATH_MAX;
}

/* ---- which ones ---- */

static bool is_part(const struct session *session, uint32_t index)
{
    return session->state == SESSION_DONE && argument_is_output(&session->problem->arguments[index]) &&
           session->arguments[index].kind != KIND_ABSENT;
}

/* The end of a failed job, or the note on its results. */
static uint64_t ending_bytes(const struct session *session)
{
    return session->state == SESSION_DONE && !session->error.text[0]
               ? 0
               : sizeof(struct ending) + strlen(session->error.text);
}

static bool can_be_kept(const struct session *session)
{
    if (!session->detached || session->dropped || session->cut_short || !session_has_ended(session))
        return false;
    if (session->state == SESSION_DONE && problem_state_index(session->problem) >= 0)
        return false;
    for (uint32_t i = 0; i < session->problem->n_arguments; i++)
        if (is_part(session, i) && (operands_result(session, i) || session->arguments[i].was_lent ||
                                    (!session->job.arguments[i].data && session->job.arguments[i].bytes)))
            return false;
    return true;
}

static uint64_t file_bytes(const struct session *session)
{
    uint64_t bytes = sizeof(struct head) + (session->printed ? session->printed->length : 0);
    for (uint32_t i = 0; i < session->problem->n_arguments; i++)
        if (is_part(session, i))
            bytes += sizeof(struct part) + session->job.arguments[i].bytes;
    if (session->state != SESSION_DONE)
        bytes += sizeof(struct part) + ending_bytes(session);
    return bytes;
}

uint64_t server_results_room(const struct server *server)
{
    char path[PATH_MAX];
    struct store_counts counts = {0};
    struct statvfs disk;
    if (!folder_of(server, path) || (mkdir(path, 0700) != 0 && errno != EEXIST) ||
        access(path, W_OK | X_OK) != 0 || statvfs(path, &disk) != 0)
        return 0;
    if (server_data_store(server->data))
        store_count(server_data_store(server->data), &counts);
    const uint64_t most = server->options.store_disk,
                   left = counts.disk_bytes < most ? most - counts.disk_bytes : 0,
                   open = (uint64_t)disk.f_bavail * disk.f_frsize,
                   spare = open > SPARE_DISK ? open - SPARE_DISK : 0;
    return left < spare ? left : spare;
}

bool server_result_fits(const struct session *session, uint64_t *room)
{
    const uint64_t bytes = file_bytes(session);
    if (session->stored)
        return true;
    if (!can_be_kept(session) || bytes > *room)
        return false;
    *room -= bytes;
    return true;
}

/* ---- writing ---- */

struct writer {
    struct files *files;
    struct file *file;
    uint64_t offset;
    uint32_t crc;
    struct esp_error *error;
};

static enum esp_status put(struct writer *writer, const void *data, size_t bytes)
{
    const enum esp_status status =
        bytes ? writer->files->ops->write(writer->file, data, bytes, writer->offset, writer->error) : ESP_OK;
    writer->crc = crc32c(writer->crc, data, bytes);
    writer->offset += bytes;
    return status;
}

static enum esp_status put_printed(struct writer *writer, const struct session *session, uint32_t length)
{
    uint64_t position;
    uint8_t *text = length ? malloc(CAP_PRINTED) : NULL;
    if (length && !text)
        return error_no_memory(writer->error, "what a job has printed");
    if (text)
        printed_since(session->printed, session->printed->total - length, text, &position);
    const enum esp_status status = put(writer, text, length);
    free(text);
    return status;
}

static enum esp_status put_ending(struct writer *writer, const struct session *session)
{
    const struct ending ending = {session->state, session->error.status};
    const enum esp_status status = put(writer, &ending, sizeof ending);
    return status == ESP_OK ? put(writer, session->error.text, strlen(session->error.text)) : status;
}

static enum esp_status put_all(struct writer *writer, const struct server *server,
                               const struct session *session)
{
    struct head head;
    memset(&head, 0, sizeof head); /* the checksum includes the padding */
    memcpy(head.magic, MAGIC, sizeof head.magic);
    head.id = session->id;
    head.digest = session->problem->digest;
    head.ended_ns = wall_ns() - (server_now(server) - session->ended_ns);
    head.compute_s = session->compute_s;
    head.forecast_s = session->forecast_s;
    head.collected = session->collected;
    head.printed = session->printed ? session->printed->length : 0;
    strcpy(head.problem, session->problem->name);
    for (uint32_t i = 0; i < session->problem->n_arguments; i++)
        head.n_parts += is_part(session, i);
    const struct part how = {PART_ENDING, ending_bytes(session)};
    head.n_parts += how.bytes > 0;
    enum esp_status status = put(writer, &head, sizeof head);
    for (uint32_t i = 0; status == ESP_OK && i < session->problem->n_arguments; i++) {
        const struct part part = {i, session->job.arguments[i].bytes};
        if (is_part(session, i))
            status = put(writer, &part, sizeof part);
    }
    if (status == ESP_OK && how.bytes > 0)
        status = put(writer, &how, sizeof how);
    if (status == ESP_OK)
        status = put_printed(writer, session, head.printed);
    for (uint32_t i = 0; status == ESP_OK && i < session->problem->n_arguments; i++)
        if (is_part(session, i))
            status = put(writer, session->job.arguments[i].data, session->job.arguments[i].bytes);
    if (status == ESP_OK && how.bytes > 0)
        status = put_ending(writer, session);
    head.crc = writer->crc;
    return status == ESP_OK ? writer->files->ops->write(writer->file, &head, sizeof head, 0, writer->error)
                            : status;
}

static enum esp_status save(const struct server *server, struct files *files, const struct session *session,
                            struct esp_error *error)
{
    char name[NAME_BYTES], fresh[NAME_BYTES + 4];
    struct writer writer = {.files = files, .error = error};
    snprintf(fresh, sizeof fresh, "%s.new", file_name(&session->id, name));
    enum esp_status status = files->ops->create(files, fresh, &writer.file, error);
    if (status != ESP_OK)
        return status;
    status = put_all(&writer, server, session);
    if (status == ESP_OK)
        status = files->ops->sync(writer.file, error);
    files->ops->close(writer.file);
    if (status == ESP_OK)
        status = files->ops->rename(files, fresh, name, error);
    if (status != ESP_OK)
        files->ops->remove(files, fresh, NULL);
    return status;
}

/* Results that were never fetched come first, and jobs without a result last. */
enum rank { RANK_WANTED, RANK_COLLECTED, RANK_ENDED, RANKS };

static enum rank rank_of(const struct session *session)
{
    return session->state != SESSION_DONE ? RANK_ENDED : session->collected ? RANK_COLLECTED : RANK_WANTED;
}

static unsigned save_those(struct server *server, struct files *files, uint64_t *room, enum rank rank)
{
    struct esp_error error;
    unsigned n = 0;
    for (struct session *session = server->sessions.by_id; session; session = session->hh.next) {
        char text[SESSION_TEXT];
        if (session->stored || rank_of(session) != rank || !server_result_fits(session, room))
            continue;
        if (save(server, files, session, &error) == ESP_OK)
            n++;
        else
            log_write(LOG_WARNING_LEVEL, session_id_text(&session->id, text),
                      "the result of %s ends with this process, as it cannot be kept: %s",
                      session->problem->name, error.text);
    }
    return n;
}

void server_save_results(struct server *server)
{
    char path[PATH_MAX];
    struct files *files = NULL;
    struct esp_error error;
    uint64_t room = server->sessions.n_jobs > 0 ? server_results_room(server) : 0;
    if (room == 0 || !folder_of(server, path))
        return;
    if (files_posix_create(path, &files, &error) != ESP_OK) {
        log_warning("results of jobs end with this process: %s", error.text);
        return;
    }
    unsigned n = 0;
    for (int rank = RANK_WANTED; rank < RANKS; rank++)
        n += save_those(server, files, &room, (enum rank)rank);
    if (n > 0 && files->ops->sync_folder(files, "", &error) != ESP_OK)
        log_warning("results of jobs may be lost when this machine stops now: %s", error.text);
    if (n > 0)
        log_notice("results of %u jobs are in %s until this server is started again", n, path);
    files->ops->destroy(files);
}

/* ---- reading ---- */

struct reader {
    struct server *server;
    struct files *files;
    const char *name;
    const struct head *head;
    const struct part *parts;
    const uint8_t *printed, *values;
    unsigned n;
};

static bool check(struct reader *reader, uint8_t *data, uint64_t bytes)
{
    struct head *head = (struct head *)(void *)data;
    uint64_t need = sizeof *head;
    if (bytes < need || memcmp(head->magic, MAGIC, sizeof head->magic) != 0 || head->n_parts > MAX_PARTS ||
        head->printed > CAP_PRINTED)
        return false;
    const uint32_t crc = head->crc;
    head->crc = 0;
    if (crc32c(0, data, bytes) != crc)
        return false;
    reader->head = head;
    reader->parts = (const struct part *)(const void *)(data + need);
    need += head->n_parts * sizeof *reader->parts;
    reader->printed = data + need;
    need += head->printed;
    reader->values = data + need;
    for (uint32_t i = 0; i < head->n_parts && need <= bytes; i++)
        if (__builtin_add_overflow(need, reader->parts[i].bytes, &need))
            return false;
    return need == bytes;
}

/* Whether the last part is a known kind of end; then *text is its text. */
static bool read_ending(const struct reader *reader, struct ending *ending, const char **text, int *length)
{
    const uint32_t n = reader->head->n_parts;
    const uint8_t *from = reader->values;
    if (n == 0)
        return false;
    const struct part *part = &reader->parts[n - 1];
    if (part->index != PART_ENDING || part->bytes < sizeof *ending ||
        part->bytes - sizeof *ending >= sizeof((struct esp_error *)0)->text)
        return false;
    for (uint32_t i = 0; i < n - 1; i++)
        from += reader->parts[i].bytes;
    memcpy(ending, from, sizeof *ending);
    *text = (const char *)from + sizeof *ending;
    *length = (int)(part->bytes - sizeof *ending);
    return ending->state == SESSION_DONE ||
           (n == 1 && (ending->state == SESSION_FAILED || ending->state == SESSION_CANCELLED));
}

/* Makes the session as its call would have, with results only. */
static enum esp_status plan(const struct reader *reader, const struct problem *problem,
                            struct call_plan *plan, struct esp_error *error)
{
    struct ending ending;
    const char *text;
    int length;
    const uint32_t n = reader->head->n_parts - read_ending(reader, &ending, &text, &length);
    plan->problem = problem;
    plan->block_bytes = ROUND;
    for (uint32_t i = 0; i < PROBLEM_MAX_ARGUMENTS; i++)
        plan->arguments[i].kind = KIND_ABSENT;
    for (uint32_t i = 0; i < n; i++) {
        const struct part *part = &reader->parts[i];
        if (part->index >= problem->n_arguments || !argument_is_output(&problem->arguments[part->index]))
            return error_set(error, ESP_INVALID, "argument %" PRIu64 " is no result of %s", part->index,
                             problem->name);
        plan->arguments[part->index] = (struct planned_argument){
            .kind = KIND_BULK, .in_segment = true, .bytes = part->bytes, .offset = plan->segment_bytes};
        plan->segment_bytes += (part->bytes + ROUND - 1) / ROUND * ROUND;
    }
    return ESP_OK;
}

static enum esp_status reserve(struct server *server, struct session *session, struct esp_error *error)
{
    session->memory.bytes = session->call_bytes = session->segment_bytes;
    if (admission_request(&server->admission, &session->client->share.memory, &session->memory,
                          session->memory.bytes) != ADMISSION_GRANTED) {
        admission_leave(&server->admission, &session->memory);
        return error_set(error, ESP_NO_MEMORY, "there is no room for its %" PRIu64 " bytes",
                         session->segment_bytes);
    }
    session->reserved = true;
    if (session->segment_bytes == 0)
        return ESP_OK;
    struct segment *segment;
    enum esp_status status =
        segments_take(server->segments, session->segment_bytes, session->client->key, &segment, error);
    if (status == ESP_OK)
        session_attach_segment(session, segment);
    else
        admission_release(&server->admission, session->memory.bytes);
    return status;
}

static void fill_values(const struct reader *reader, struct session *session)
{
    const uint8_t *from = reader->values;
    for (uint32_t i = 0; i < reader->head->n_parts; i++) {
        const struct part *part = &reader->parts[i];
        if (part->bytes > 0 && part->index != PART_ENDING)
            memcpy(session->job.arguments[part->index].data, from, part->bytes);
        from += part->bytes;
    }
}

static void fill(const struct reader *reader, struct session *session)
{
    struct server *server = reader->server;
    struct ending ending = {.state = SESSION_DONE};
    const char *text;
    int length;
    if (read_ending(reader, &ending, &text, &length))
        error_set(&session->error, (enum esp_status)ending.status, "%.*s", length, text);
    fill_values(reader, session);
    if (reader->head->printed > 0)
        printed_add(&session->printed, reader->printed, reader->head->printed);
    server->sessions.printed_bytes += session->printed ? session->printed->size : 0;
    session->shelf = server->shelf;
    server->shelf->users++;
    session->state = (enum session_state)ending.state;
    session->detached = session->stored = true;
    session->collected = reader->head->collected;
    session->compute_s = reader->head->compute_s;
    session->forecast_s = reader->head->forecast_s;
    session->heard_ns = server_now(server);
    /* A clock that was set back does not lengthen the lease. */
    const int64_t age_ns = wall_ns() - reader->head->ended_ns;
    session->ended_ns = session->heard_ns - (age_ns > 0 ? age_ns : 0);
    server_job_begins(server, session);
    server_settle_memory(server, session);
    server_set_timer(server, session);
}

static enum esp_status restore(struct reader *reader, struct esp_error *error)
{
    struct server *server = reader->server;
    const struct head *head = reader->head;
    struct session *session = NULL;
    const struct problem *problem = server_find_problem(server, head->problem, head->digest, error);
    struct client *client =
        problem ? client_get(&server->sessions, head->id.client_high, head->id.client_low, server_now(server))
                : NULL;
    struct call_plan *planned = calloc(1, sizeof *planned);
    enum esp_status status = problem ? ESP_OK : error->status;
    if (status == ESP_OK && (!client || !planned))
        status = error_no_memory(error, "a session");
    if (status == ESP_OK && session_find(&server->sessions, &head->id))
        status = error_set(error, ESP_INVALID, "its session is there already");
    if (status == ESP_OK)
        status = plan(reader, problem, planned, error);
    if (status == ESP_OK)
        status = session_create(&server->sessions, client, &head->id, planned, &session, error);
    if (status == ESP_OK && (status = reserve(server, session, error)) != ESP_OK) {
        session_detach(&server->sessions, session);
        session_free(&server->sessions, session);
    }
    if (status == ESP_OK)
        fill(reader, session);
    free(planned);
    return status;
}

static enum esp_status read_file(const struct reader *reader, uint8_t **data, uint64_t *bytes,
                                 struct esp_error *error)
{
    const struct files_ops *ops = reader->files->ops;
    struct file *file;
    enum esp_status status = ops->open(reader->files, reader->name, &file, bytes, error);
    if (status != ESP_OK)
        return status;
    if (*bytes > reader->server->options.memory_bytes + CAP_PRINTED + sizeof(struct head) +
                     MAX_PARTS * sizeof(struct part))
        status =
            error_set(error, ESP_NO_MEMORY, "it has %" PRIu64 " bytes, more than calls may take", *bytes);
    else if (!(*data = malloc(*bytes + 1)))
        status = error_no_memory(error, "a result");
    if (status == ESP_OK)
        status = ops->read(file, *data, *bytes, 0, error);
    ops->close(file);
    return status;
}

static void damaged(const struct reader *reader)
{
    char name[NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s.damaged", reader->name);
    log_warning("%s/%s: expected a result of a job, found something else: it is %s now", reader->files->where,
                reader->name, name);
    reader->files->ops->rename(reader->files, reader->name, name, NULL);
}

/* Restores one file. A result that does not fit now stays for the next start, until its lease is over. */
static enum esp_status take(void *arg, const char *name, const char *kind, struct esp_error *error)
{
    struct reader *reader = arg;
    const size_t length = strlen(name), suffix = strlen(SUFFIX);
    uint8_t *data = NULL;
    uint64_t bytes;
    (void)error;
    if (kind || length >= NAME_BYTES || length <= suffix || strcmp(name + length - suffix, SUFFIX) != 0)
        return ESP_OK;
    reader->name = name;
    struct esp_error why;
    enum esp_status status = read_file(reader, &data, &bytes, &why);
    if (status == ESP_OK && !check(reader, data, bytes)) {
        damaged(reader);
    } else {
        if (status == ESP_OK)
            status = restore(reader, &why);
        if (status == ESP_OK)
            reader->n++;
        else
            log_warning("%s/%s: the result of a job waits there, as it cannot be had now: %s",
                        reader->files->where, name, why.text);
    }
    free(data);
    return ESP_OK;
}

void server_restore_results(struct server *server)
{
    char path[PATH_MAX];
    struct reader reader = {.server = server};
    struct esp_error error;
    struct stat is;
    if (!folder_of(server, path) || stat(path, &is) != 0)
        return;
    enum esp_status status = files_posix_create(path, &reader.files, &error);
    if (status == ESP_OK) {
        status = reader.files->ops->list(reader.files, "", take, &reader, &error);
        reader.files->ops->destroy(reader.files);
    }
    if (status != ESP_OK)
        log_warning("results of jobs that wait in %s cannot be had: %s", path, error.text);
    if (reader.n > 0)
        log_notice("results of %u jobs are here again from %s", reader.n, path);
}

static void on_result_goes(struct server *server, struct session *session)
{
    char folder[PATH_MAX], path[PATH_MAX + NAME_BYTES], name[NAME_BYTES];
    if (!session->stored || !folder_of(server, folder))
        return;
    session->stored = false;
    snprintf(path, sizeof path, "%s/%s", folder, file_name(&session->id, name));
    unlink(path);
}

const struct session_observer results_observer = {.result_goes = on_result_goes};
