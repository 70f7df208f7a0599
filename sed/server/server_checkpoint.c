/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: files in which routines save their states, and from which a repeated call goes on. Workers
 * write the files (sed/crd/checkpoint.h). A file has the name of the session, including its secret, so that a
 * client that repeats the call, also after a restart of this server, finds its own checkpoint.
 */
#include "sed/crd/checkpoint.h"
#include "sed/server/checkpoint_mirror.h"
#include "sed/data/errands.h"
#include "sed/server/server_state.h"
#include "sed/pool/signature.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

struct checkpoints {
    struct timer cleaning;  /* when old checkpoints are deleted */
    struct timer mirroring; /* when new states are copied; set while sessions run that save states */
};

#define FOLDER "checkpoints"

/* The state of a call, and its copies. Outlives the session while a thread works for it. */
struct mirror {
    struct thread_job job;
    struct server *server;
    struct session *session; /* NULL: the session has ended */
    char path[SIGNATURE_MAX_PATH];
    uint64_t key;
    struct keeper keepers[KEEPERS_MOST];
    uint32_t n_keepers;
    uint32_t n_others;             /* keepers other than this server, which may have been one before */
    struct admission_entry memory; /* reserved for a copy that is being made; 0 bytes: none is */
    uint64_t copied;               /* number of the newest state that a keeper has; 0: none */
    int64_t renew_ns; /* when keepers are asked next whether they have the copy, which renews its lease */
    bool busy, fetching, dropping, dirty; /* dirty: keepers have a copy */
    bool renewing;
    bool over; /* the call has its answer, and will not be repeated */
};

/* ---- the folder ---- */

#define CLEAN_LEAST_NS (1 * NS_PER_S)
#define CLEAN_MOST_NS  (600 * NS_PER_S)

static bool is_in_use(const struct server *server, const char *path)
{
    const struct session *session;
    DL_FOREACH2(server->sessions.active, session, next_active)
    {
        if (session->mirror && !strncmp(path, session->mirror->path, strlen(session->mirror->path)))
            return true; /* the checkpoint, or a file that is becoming it */
    }
    return false;
}

/* Deletes files that are older than the lease of a job's result, by the wall clock, as files outlive the
 * server. */
static void remove_old(const struct server *server, const char *folder)
{
    char path[PATH_MAX];
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        struct stat is;
        if (*entry->d_name == '.' || snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= PATH_MAX)
            continue;
        if (stat(path, &is) == 0 && S_ISREG(is.st_mode) && !is_in_use(server, path) &&
            (double)(time(NULL) - is.st_mtime) * NS_PER_S > (double)server->options.job_lease_ns)
            unlink(path);
    }
    if (stream)
        closedir(stream);
}

/* This includes calls that ended on another server while this one was away. */
static void clean(struct timer *timer, int64_t now_ns, void *context)
{
    struct server *server = context;
    char folder[PATH_MAX];
    int64_t after_ns = server->options.job_lease_ns / 4;
    if (after_ns < CLEAN_LEAST_NS || after_ns > CLEAN_MOST_NS)
        after_ns = after_ns < CLEAN_LEAST_NS ? CLEAN_LEAST_NS : CLEAN_MOST_NS;
    snprintf(folder, sizeof folder, "%s/" FOLDER, server->duty.state_dir);
    remove_old(server, folder);
    /* The same for results that no session of this server has. */
    snprintf(folder, sizeof folder, "%s/" SERVER_RESULTS_FOLDER, server->duty.state_dir);
    remove_old(server, folder);
    timers_set(&server->timers, timer, now_ns + after_ns, NULL);
}

void server_checkpoints_open(struct server *server)
{
    char folder[PATH_MAX];
    const char *state_dir = server->duty.state_dir;
    if (!state_dir || snprintf(folder, sizeof folder, "%s/" FOLDER, state_dir) >= PATH_MAX)
        return;
    mkdir(state_dir, 0700); /* the file operations that use it report errors */
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        log_warning("no checkpoints are kept: cannot make %s: %s", folder, strerror(errno));
    server->checkpoints->cleaning.fire = clean;
    server->checkpoints->cleaning.context = server;
    clean(&server->checkpoints->cleaning, server_now(server), server);
}

/* ---- beside the state machine ---- */

static void fetch_newest(struct mirror *mirror)
{
    struct transport *transport = mirror->server->endpoint->transport;
    const struct keeper *best = NULL;
    uint64_t newest = checkpoint_number(mirror->path, NULL);
    struct esp_error error;
    for (uint32_t i = 0; i < mirror->n_keepers; i++) {
        const uint64_t number = mirror_newest(transport, &mirror->keepers[i], mirror->key);
        mirror->dirty |= number > 0;
        if (number > newest) {
            best = &mirror->keepers[i];
            newest = number;
        }
    }
    if (best && mirror_fetch(transport, best, mirror->key, newest, mirror->path, &error) != ESP_OK)
        log_warning("checkpoint %" PRIu64 " from \"%s\": %s", newest, best->name, error.text);
    else if (best)
        log_notice("checkpoint %" PRIu64 " comes from \"%s\"", newest, best->name);
}

static bool is_own(const struct mirror *mirror, const struct keeper *keeper)
{
    return strcmp(keeper->address, endpoint_address(mirror->server->endpoint)) == 0;
}

/* Copies the state to the first keeper that takes it. */
static void copy_newest(struct mirror *mirror)
{
    struct transport *transport = mirror->server->endpoint->transport;
    struct esp_error error = {0};
    uint64_t number = 0;
    for (uint32_t i = 0; i < mirror->n_keepers; i++) {
        if (is_own(mirror, &mirror->keepers[i]))
            continue;
        if (mirror_put(transport, &mirror->keepers[i], mirror->key, mirror->path, &number, &error) ==
            ESP_OK) {
            mirror->dirty = true;
            break;
        }
        log_debug("checkpoint %" PRIu64 " to \"%s\": %s", number, mirror->keepers[i].name, error.text);
    }
    if (number > 0)
        mirror->copied = number; /* also if no keeper took it: the next state is tried again */
}

static void drop_all(struct mirror *mirror)
{
    for (uint32_t i = 0; i < mirror->n_keepers; i++)
        mirror_drop(mirror->server->endpoint->transport, &mirror->keepers[i], mirror->key, UINT64_MAX);
}

/* If the keeper of the copy is gone, the next look makes another copy, as the routine may save nothing new
 * for long. */
static void renew_all(struct mirror *mirror)
{
    struct transport *transport = mirror->server->endpoint->transport;
    bool kept = false;
    for (uint32_t i = 0; i < mirror->n_keepers; i++) {
        const uint64_t newest = mirror_newest(transport, &mirror->keepers[i], mirror->key);
        kept |= newest >= mirror->copied && !is_own(mirror, &mirror->keepers[i]);
    }
    if (!kept)
        mirror->copied = 0;
}

static void mirror_done(struct mirror *mirror);

static void mirror_run(void *arg)
{
    struct mirror *mirror = arg;
    struct endpoint *endpoint = mirror->server->endpoint;
    if (mirror->dropping)
        drop_all(mirror);
    else if (mirror->fetching)
        fetch_newest(mirror);
    else if (mirror->renewing)
        renew_all(mirror);
    else
        copy_newest(mirror);
    endpoint_enter(endpoint);
    mirror_done(mirror);
    endpoint_leave(endpoint);
}

/* ---- under the lock ---- */

static bool mirror_begin(struct mirror *mirror)
{
    struct errands *errands = mirror->server->options.errands;
    mirror->job = (struct thread_job){.run = mirror_run, .arg = mirror};
    mirror->busy = errands && !mirror->server->stage.leaving && errands->submit(errands, &mirror->job);
    return mirror->busy;
}

/* The session has ended: deletes the copies, then frees the mirror. */
static void mirror_release(struct mirror *mirror)
{
    mirror->session = NULL;
    if (mirror->busy)
        return;
    const bool drop = mirror->over && mirror->dirty && !mirror->dropping;
    mirror->dropping = true;
    if (!drop || !mirror_begin(mirror))
        free(mirror);
}

/* Reserves memory for a copy. Without room the copy is made later; it does not stand in line, as calls do. */
static bool reserve(struct mirror *mirror)
{
    struct admission *admission = &mirror->server->admission;
    struct admission_owner nobody = {0};
    struct stat is;
    if (stat(mirror->path, &is) != 0)
        return false;
    if (admission_request(admission, &nobody, &mirror->memory, (uint64_t)is.st_size) == ADMISSION_GRANTED)
        return true;
    admission_leave(admission, &mirror->memory);
    mirror->memory = (struct admission_entry){0};
    return false;
}

static void give_back(struct mirror *mirror)
{
    const uint64_t bytes = mirror->memory.bytes;
    mirror->memory = (struct admission_entry){0};
    if (bytes == 0)
        return;
    admission_release(&mirror->server->admission, bytes);
    admission_admit(&mirror->server->admission);
}

static void mirror_done(struct mirror *mirror)
{
    struct server *server = mirror->server;
    struct session *session = mirror->session;
    give_back(mirror);
    const bool fetched = mirror->fetching;
    mirror->busy = mirror->fetching = mirror->renewing = false;
    if (!session) {
        mirror_release(mirror);
        return;
    }
    if (fetched && session->state == SESSION_QUEUED) {
        queue_push(&server->queue, &session_share_of(session)->run, &session->queued);
        queue_start(&server->queue);
    }
}

#define LOOK_NS       (300 * NS_PER_MS)
#define RENEW_MOST_NS (5 * NS_PER_S) /* a keeper may die */

/* Renews the lease of the copy: the time between two states may be longer than the lease of data on the
 * keeper, which is taken to be the same as on this server. */
static void renew(struct mirror *mirror, int64_t now_ns)
{
    const int64_t quarter_ns = mirror->server->options.data_lease_ns / 4;
    const bool due = mirror->renew_ns != 0 && now_ns >= mirror->renew_ns;
    if (mirror->renew_ns == 0 || due)
        mirror->renew_ns =
            now_ns + (quarter_ns > 0 && quarter_ns < RENEW_MOST_NS ? quarter_ns : RENEW_MOST_NS);
    mirror->renewing = due && mirror->dirty;
    mirror->renewing = mirror->renewing && mirror_begin(mirror);
}

static void copy_or_renew(struct mirror *mirror, int64_t now_ns)
{
    if (checkpoint_number(mirror->path, NULL) <= mirror->copied || !reserve(mirror))
        renew(mirror, now_ns);
    else if (!mirror_begin(mirror))
        give_back(mirror);
}

/* Copies the states that were saved since the last look. */
static void look_at_states(struct timer *timer, int64_t now_ns, void *context)
{
    struct server *server = context;
    struct session *session;
    bool any = false;
    DL_FOREACH2(server->sessions.active, session, next_active)
    {
        struct mirror *mirror = session->mirror;
        if (!mirror || mirror->n_others == 0)
            continue;
        any = true;
        if (session->state == SESSION_RUNNING && !mirror->busy)
            copy_or_renew(mirror, now_ns);
    }
    if (any)
        timers_set(&server->timers, timer, now_ns + LOOK_NS, NULL);
}

/* "NAME ADDRESS NAME ADDRESS " */
static void read_keepers(struct mirror *mirror, const struct extensions *extensions)
{
    char text[KEEPERS_BYTES + 1], *rest = text, *word;
    const struct extension *extension = extension_find(extensions, EXTENSION_KEEPERS);
    const char *own = endpoint_address(mirror->server->endpoint);
    if (!extension || extension->length > KEEPERS_BYTES)
        return;
    memcpy(text, extension->value, extension->length);
    text[extension->length] = '\0';
    while (mirror->n_keepers < KEEPERS_MOST && (word = strsep(&rest, " ")) && *word) {
        struct keeper *keeper = &mirror->keepers[mirror->n_keepers];
        const char *address = strsep(&rest, " ");
        if (!address || !*address || strlen(word) > CAP_NAME || strlen(address) > CAP_ADDRESS)
            return;
        strcpy(keeper->name, word);
        strcpy(keeper->address, address);
        mirror->n_keepers++;
        mirror->n_others += strcmp(address, own) != 0;
    }
}

/* Names the file by the first session of this call. False: the server has no state_dir. */
static bool name_file(struct mirror *mirror, const struct session_id *origin)
{
    const char *state_dir = mirror->server->duty.state_dir;
    return state_dir && snprintf(mirror->path, sizeof mirror->path,
                                 "%s/" FOLDER "/%016" PRIx64 "%016" PRIx64 "-%" PRIu64 "-%016" PRIx64,
                                 state_dir, origin->client_high, origin->client_low, origin->sequence,
                                 origin->secret) < (int)sizeof mirror->path;
}

void server_checkpoint_begin(struct server *server, struct session *session, const struct call_request *call)
{
    struct session_id origin = session->id;
    session->mirror = NULL;
    struct mirror *mirror = session->problem->checkpoint ? calloc(1, sizeof *mirror) : NULL;
    if (!mirror)
        return;
    origin_get(&call->extensions, &origin);
    mirror->server = server;
    mirror->session = session;
    mirror->key = mirror_key(&origin);
    if (!name_file(mirror, &origin)) {
        free(mirror);
        return;
    }
    read_keepers(mirror, &call->extensions);
    /* The first session of a call has no earlier state. */
    mirror->fetching = mirror->n_keepers > 0 && !session_id_equal(&origin, &session->id);
    session->mirror = mirror;
}

bool server_checkpoint_fetch(struct server *server, struct session *session)
{
    struct mirror *mirror = session->mirror;
    if (!mirror)
        return false;
    server->checkpoints->mirroring.fire = look_at_states;
    server->checkpoints->mirroring.context = server;
    if (mirror->n_others > 0 && !timer_is_set(&server->checkpoints->mirroring))
        timers_set(&server->timers, &server->checkpoints->mirroring, server_now(server) + LOOK_NS, NULL);
    if (!mirror->fetching)
        return false;
    mirror->fetching = mirror_begin(mirror);
    return mirror->fetching;
}

void server_checkpoint_prepare(struct server *server, struct session *session)
{
    char text[SESSION_TEXT];
    struct mirror *mirror = session->mirror;
    (void)server;
    session->job.checkpoint = NULL;
    session->job.checkpoint_number = 0;
    if (!mirror || implementation_is_parallel(session->job.implementation))
        return;
    session->job.checkpoint = mirror->path;
    session->job.checkpoint_number = checkpoint_number(mirror->path, NULL);
    if (session->job.checkpoint_number > 0)
        log_write(LOG_NOTICE_LEVEL, session_id_text(&session->id, text),
                  "%s goes on from checkpoint %" PRIu64, session->problem->name,
                  session->job.checkpoint_number);
}

/* A routine that crashes without having saved a new state would crash again and again. */
bool server_checkpoint_resumes(const struct session *session)
{
    return session->client && session->mirror &&
           checkpoint_number(session->mirror->path, NULL) > session->job.checkpoint_number;
}

/* The state goes, unless the server stops and may be asked to go on. */
static void on_ended(struct server *server, struct session *session)
{
    (void)server;
    char temporary[SIGNATURE_MAX_PATH + 8];
    struct mirror *mirror = session->mirror;
    if (!mirror)
        return;
    session->mirror = NULL;
    session->job.checkpoint = NULL;
    mirror->over = !session->cut_short;
    if (mirror->over) {
        unlink(mirror->path);
        snprintf(temporary, sizeof temporary, "%s.new", mirror->path);
        unlink(temporary); /* left by a worker that died while writing */
    }
    mirror_release(mirror);
}

void server_checkpoint_forget(struct session *session)
{
    if (session->mirror)
        mirror_release(session->mirror);
    session->mirror = NULL;
}

const struct session_observer checkpoint_observer = {.ended = on_ended};

bool server_checkpoints_create(struct server *server)
{
    return (server->checkpoints = calloc(1, sizeof *server->checkpoints));
}

void server_checkpoints_destroy(struct server *server)
{
    free(server->checkpoints);
}
