/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/batch_jobs.h"

#include "sed/batch/batch_folder.h"
#include "sed/batch/batch_pace.h"
#include "sed/batch/batch_script.h"
#include "util/log.h"
#include "util/random.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#define NAME_PREFIX "espalier-"

struct batch_job {
    char name[BATCH_NAME_BYTES];
    char id[BATCH_ID_BYTES];
    bool submitted;         /* handed over by its caller; else only prepared */
    bool cancel_sent;       /* the batch system has taken the wish to cancel */
    bool unsaved;           /* the record on disk is older than this struct */
    bool reported;          /* its owner has been told of the present state */
    struct batch_work work; /* without words */
    struct batch_life life;
    int64_t created_s, started_s;
    int64_t begun_ns; /* taken up by this process */
    int64_t look_ns;  /* when to look for its files */
    char node[128];   /* as its script wrote it */
    UT_hash_handle hh;
};

struct batch_jobs {
    struct batch_system *system;
    struct batch_user user;
    bool other_user;
    char *folder;
    int lock_file;
    const struct clock *clock;
    struct batch_patience patience;
    void (*changed)(void *arg, const struct batch_report *report);
    void *arg;

    pthread_mutex_t saving; /* one record is written at a time; taken before `lock` */
    pthread_mutex_t lock;   /* of all below; not held while the batch system is asked */
    struct batch_job *by_name;
    struct batch_pace pace;  /* of questions for all jobs */
    struct batch_pace retry; /* of submissions and cancellations while the batch system does not answer */

    pthread_t thread;
    pthread_cond_t wake;
    bool has_thread, stop, woken;
};

static struct batch_job *find(struct batch_jobs *jobs, const char *name)
{
    struct batch_job *job;
    HASH_FIND_STR(jobs->by_name, name, job);
    return job;
}

static enum esp_status no_job(const char *name, struct esp_error *error)
{
    return error_set(error, ESP_NOT_FOUND, "there is no batch job %.60s", name);
}

static void wake(struct batch_jobs *jobs)
{
    jobs->woken = true;
    pthread_cond_signal(&jobs->wake);
}

/* ---- reports and records ---- */

static void report_on(const struct batch_jobs *jobs, const struct batch_job *job, struct batch_report *report)
{
    const struct batch_life *life = &job->life;
    const struct batch_sighting *latest = &life->latest;
    *report = (struct batch_report){.state = life->state,
                                    .error = life->error,
                                    .exit_code = life->exit_known ? life->exit_code : -1,
                                    .created_s = job->created_s,
                                    .started_s = job->started_s};
    memcpy(report->name, job->name, sizeof report->name);
    memcpy(report->id, job->id, sizeof report->id);
    snprintf(report->nodes, sizeof report->nodes, "%s", *latest->nodes ? latest->nodes : job->node);
    if (latest->hint == BATCH_HINT_WAITING)
        report->expected_s = latest->started_s;
    batch_life_describe(life, clock_now_ns(jobs->clock), report->note, sizeof report->note);
}

static void record_of(const struct batch_job *job, struct batch_record *record)
{
    *record = (struct batch_record){.state = job->life.state,
                                    .cancel_wanted = job->life.cancel_wanted,
                                    .time_s = job->work.time_s,
                                    .cores = job->work.cores,
                                    .memory_mb = job->work.memory_mb,
                                    .created_s = job->created_s,
                                    .started_s = job->started_s,
                                    .exit_code = job->life.exit_known ? job->life.exit_code : -1,
                                    .error = job->life.error};
    memcpy(record->name, job->name, sizeof record->name);
    memcpy(record->id, job->id, sizeof record->id);
}

/* Copies the record of a job whose file is older than the record. False: there is none. With the lock held.
 */
static bool take_unsaved(struct batch_jobs *jobs, struct batch_record *record)
{
    for (struct batch_job *job = jobs->by_name; job; job = job->hh.next)
        if (job->submitted && job->unsaved) {
            record_of(job, record);
            job->unsaved = false;
            return true;
        }
    return false;
}

/* Any thread, without the lock. A record that cannot be written is an old one: the next life asks the batch
 * system again. */
static void save_all(struct batch_jobs *jobs)
{
    struct batch_record record;
    struct esp_error error;
    bool found = true;
    pthread_mutex_lock(&jobs->saving);
    while (found) {
        pthread_mutex_lock(&jobs->lock);
        found = take_unsaved(jobs, &record);
        pthread_mutex_unlock(&jobs->lock);
        if (found && batch_folder_save(jobs->folder, &record, &error) != ESP_OK)
            log_warning("the record of the batch job %s cannot be written: %s", record.name, error.text);
    }
    pthread_mutex_unlock(&jobs->saving);
}

static void order_of(const struct batch_job *job, const char *run, struct batch_order *order)
{
    *order = (struct batch_order){.name = job->name,
                                  .folder = run,
                                  .time_s = job->work.time_s,
                                  .cores = job->work.cores,
                                  .memory_mb = job->work.memory_mb};
}

/* ---- news ---- */

/* With the lock held. */
static void tell(struct batch_jobs *jobs, struct batch_job *job, const struct batch_news *news)
{
    const int64_t now_ns = clock_now_ns(jobs->clock);
    if (!batch_life_step(&job->life, news, &jobs->patience, now_ns))
        return;
    job->unsaved = true;
    job->reported = false;
    job->look_ns = now_ns;
    batch_pace_hurry(&jobs->pace, now_ns);
}

static void tell_event(struct batch_jobs *jobs, struct batch_job *job, enum batch_event event,
                       const char *text)
{
    const struct batch_news news = {.event = event, .text = text};
    tell(jobs, job, &news);
}

/* ---- taking up what an earlier process has left ---- */

static struct batch_job *add_job(struct batch_jobs *jobs, const char *name)
{
    struct batch_job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    snprintf(job->name, sizeof job->name, "%s", name);
    job->begun_ns = job->look_ns = clock_now_ns(jobs->clock);
    job->created_s = time(NULL);
    batch_life_begin(&job->life, 0);
    HASH_ADD_STR(jobs->by_name, name, job);
    return job;
}

static enum esp_status resume(struct batch_jobs *jobs, const struct batch_record *record,
                              struct esp_error *error)
{
    struct batch_job *job = add_job(jobs, record->name);
    if (!job)
        return error_no_memory(error, "batch jobs");
    memcpy(job->id, record->id, sizeof job->id);
    job->submitted = true;
    job->reported = batch_state_is_final(record->state);
    job->work =
        (struct batch_work){.time_s = record->time_s, .cores = record->cores, .memory_mb = record->memory_mb};
    job->created_s = record->created_s;
    job->started_s = record->started_s;
    batch_life_resume(&job->life, record->state, record->cancel_wanted, record->time_s, &record->error);
    if (record->exit_code >= 0 && batch_state_is_final(record->state)) {
        job->life.exit_known = true;
        job->life.exit_code = record->exit_code;
    }
    batch_pace_hurry(&jobs->pace, job->begun_ns);
    return ESP_OK;
}

static enum esp_status resume_all(struct batch_jobs *jobs, struct esp_error *error)
{
    DIR *entries = opendir(jobs->folder);
    enum esp_status status = entries ? ESP_OK : error_errno(error, "cannot read the folder %s", jobs->folder);
    for (const struct dirent *entry = entries ? readdir(entries) : NULL; entry && status == ESP_OK;
         entry = readdir(entries)) {
        struct batch_record record;
        struct esp_error why = {0};
        if (strncmp(entry->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0 ||
            strlen(entry->d_name) >= BATCH_NAME_BYTES)
            continue;
        const enum esp_status loaded = batch_folder_load(jobs->folder, entry->d_name, &record, &why);
        if (loaded == ESP_OK)
            status = resume(jobs, &record, error);
        else if (loaded == ESP_NOT_FOUND) /* prepared and never submitted */
            batch_folder_remove(jobs->folder, entry->d_name);
        else
            log_warning("a batch job is lost: %s", why.text);
    }
    if (entries)
        closedir(entries);
    return status;
}

static bool init_locks(struct batch_jobs *jobs)
{
    pthread_condattr_t attributes;
    return pthread_condattr_init(&attributes) == 0 &&
           pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(&jobs->wake, &attributes) == 0 && pthread_condattr_destroy(&attributes) == 0 &&
           pthread_mutex_init(&jobs->lock, NULL) == 0 && pthread_mutex_init(&jobs->saving, NULL) == 0;
}

enum esp_status batch_jobs_create(const struct batch_jobs_options *options, struct batch_jobs **out,
                                  struct esp_error *error)
{
    struct batch_jobs *jobs = calloc(1, sizeof *jobs);
    if (!jobs || !(jobs->folder = strdup(options->folder)) || !init_locks(jobs)) {
        free(jobs ? jobs->folder : NULL);
        free(jobs);
        return error_no_memory(error, "batch jobs");
    }
    jobs->system = options->system;
    jobs->clock = options->clock ? options->clock : &clock_system;
    jobs->patience = options->patience ? *options->patience : batch_patience_default;
    jobs->changed = options->changed;
    jobs->arg = options->arg;
    jobs->lock_file = -1;
    if (options->user)
        jobs->user = *options->user;
    jobs->other_user = options->user && options->user->uid != geteuid();
    batch_pace_begin(&jobs->pace);
    batch_pace_begin(&jobs->retry);
    enum esp_status status = batch_folder_open(jobs->folder, jobs->other_user, &jobs->lock_file, error);
    if (status == ESP_OK)
        status = resume_all(jobs, error);
    if (status != ESP_OK) {
        batch_jobs_destroy(jobs);
        return status;
    }
    *out = jobs;
    return ESP_OK;
}

void batch_jobs_destroy(struct batch_jobs *jobs)
{
    struct batch_job *job, *next;
    if (!jobs)
        return;
    if (jobs->has_thread) {
        pthread_mutex_lock(&jobs->lock);
        jobs->stop = true;
        wake(jobs);
        pthread_mutex_unlock(&jobs->lock);
        pthread_join(jobs->thread, NULL);
    }
    HASH_ITER(hh, jobs->by_name, job, next)
    {
        HASH_DEL(jobs->by_name, job);
        free(job);
    }
    if (jobs->lock_file >= 0)
        close(jobs->lock_file);
    pthread_cond_destroy(&jobs->wake);
    pthread_mutex_destroy(&jobs->lock);
    pthread_mutex_destroy(&jobs->saving);
    free(jobs->folder);
    free(jobs);
}

/* ---- the caller's side ---- */

static enum esp_status draw_name(char *name, struct esp_error *error)
{
    uint64_t number;
    const enum esp_status status = random_bytes(&number, sizeof number, error);
    snprintf(name, BATCH_NAME_BYTES, NAME_PREFIX "%016llx", (unsigned long long)number);
    return status;
}

enum esp_status batch_jobs_prepare(struct batch_jobs *jobs, char *name, char *run, struct esp_error *error)
{
    enum esp_status status = draw_name(name, error);
    if (status != ESP_OK)
        return status;
    pthread_mutex_lock(&jobs->lock);
    if (HASH_COUNT(jobs->by_name) >= BATCH_JOBS_MOST)
        status =
            error_set(error, ESP_LIMIT, "the server has %d batch jobs, and takes no more", BATCH_JOBS_MOST);
    else if (!add_job(jobs, name))
        status = error_no_memory(error, "a batch job");
    pthread_mutex_unlock(&jobs->lock);
    if (status != ESP_OK)
        return status;
    status = batch_folder_make(jobs->folder, name, jobs->other_user, error);
    if (status != ESP_OK)
        batch_jobs_forget(jobs, name, NULL);
    else
        batch_folder_run(jobs->folder, name, run);
    return status;
}

static enum esp_status hand_over(struct batch_jobs *jobs, const char *name, const struct batch_work *work,
                                 struct esp_error *error)
{
    char run[PATH_MAX], *script = NULL;
    batch_folder_run(jobs->folder, name, run);
    enum esp_status status =
        batch_script_make(name, run, jobs->system->ops->id_in_script, work->words, &script, error);
    if (status == ESP_OK)
        status = batch_folder_hand_over(run, script, jobs->other_user ? &jobs->user : NULL, error);
    free(script);
    return status;
}

/* Only the thread that submits a prepared job, or forgets it, touches it. */
enum esp_status batch_jobs_submit(struct batch_jobs *jobs, const char *name, const struct batch_work *work,
                                  struct esp_error *error)
{
    struct batch_record record;
    pthread_mutex_lock(&jobs->lock);
    struct batch_job *job = find(jobs, name);
    enum esp_status status =
        !job             ? no_job(name, error)
        : job->submitted ? error_set(error, ESP_INVALID, "the batch job %s was submitted before", name)
                         : ESP_OK;
    if (status == ESP_OK) {
        job->work = *work;
        job->work.words = NULL;
        batch_life_begin(&job->life, work->time_s);
        record_of(job, &record);
    }
    pthread_mutex_unlock(&jobs->lock);
    if (status == ESP_OK)
        status = hand_over(jobs, name, work, error);
    if (status == ESP_OK)
        status = batch_folder_save(jobs->folder, &record, error);
    if (status != ESP_OK)
        return status;
    pthread_mutex_lock(&jobs->lock);
    job->submitted = true;
    job->begun_ns = clock_now_ns(jobs->clock);
    wake(jobs);
    pthread_mutex_unlock(&jobs->lock);
    return ESP_OK;
}

enum esp_status batch_jobs_cancel(struct batch_jobs *jobs, const char *name, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    pthread_mutex_lock(&jobs->lock);
    struct batch_job *job = find(jobs, name);
    if (!job || !job->submitted) {
        status = no_job(name, error);
    } else if (!batch_state_is_final(job->life.state)) {
        tell_event(jobs, job, BATCH_EVENT_CANCEL, NULL);
        job->unsaved = true;
        batch_pace_hurry(&jobs->pace, clock_now_ns(jobs->clock));
        wake(jobs);
    }
    pthread_mutex_unlock(&jobs->lock);
    save_all(jobs); /* a restart does not forget the wish */
    return status;
}

enum esp_status batch_jobs_look(struct batch_jobs *jobs, const char *name, struct batch_report *report,
                                struct esp_error *error)
{
    pthread_mutex_lock(&jobs->lock);
    const struct batch_job *job = find(jobs, name);
    const enum esp_status status = job ? ESP_OK : no_job(name, error);
    if (job)
        report_on(jobs, job, report);
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

enum esp_status batch_jobs_folder(struct batch_jobs *jobs, const char *name, char *run,
                                  struct esp_error *error)
{
    pthread_mutex_lock(&jobs->lock);
    const enum esp_status status = find(jobs, name) ? ESP_OK : no_job(name, error);
    pthread_mutex_unlock(&jobs->lock);
    if (status == ESP_OK)
        batch_folder_run(jobs->folder, name, run);
    return status;
}

enum esp_status batch_jobs_forget(struct batch_jobs *jobs, const char *name, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    char gone[BATCH_NAME_BYTES] = "";
    pthread_mutex_lock(&jobs->lock);
    struct batch_job *job = find(jobs, name);
    if (!job) {
        status = no_job(name, error);
    } else if (job->submitted && (!batch_state_is_final(job->life.state) || !job->reported)) {
        /* The turn may hold it until its owner has been told of the end. */
        status =
            error_set(error, ESP_BUSY, "the batch job %s is %s", name, batch_state_name(job->life.state));
    } else {
        memcpy(gone, job->name, sizeof gone);
        HASH_DEL(jobs->by_name, job);
        free(job);
    }
    pthread_mutex_unlock(&jobs->lock);
    if (*gone)
        batch_folder_remove(jobs->folder, gone);
    return status;
}

void batch_jobs_list(struct batch_jobs *jobs, void (*each)(void *arg, const struct batch_report *report),
                     void *arg)
{
    struct batch_report report;
    pthread_mutex_lock(&jobs->lock);
    for (struct batch_job *job = jobs->by_name; job; job = job->hh.next)
        if (job->submitted) {
            report_on(jobs, job, &report);
            each(arg, &report);
        }
    pthread_mutex_unlock(&jobs->lock);
}

/* ---- the turn ---- */

/* A job that the turn works on. Jobs that are not final stay where they are until the turn is over, because
 * only ended and reported ones can be forgotten. */
struct choice {
    struct batch_job **items;
    size_t n;
};

typedef bool chooser(const struct batch_jobs *jobs, const struct batch_job *job, int64_t now_ns);

static bool is_open(const struct batch_job *job)
{
    return job->submitted && !batch_state_is_final(job->life.state);
}

static struct choice choose(struct batch_jobs *jobs, chooser *wanted)
{
    const int64_t now_ns = clock_now_ns(jobs->clock);
    pthread_mutex_lock(&jobs->lock);
    struct choice choice = {.items = malloc((HASH_COUNT(jobs->by_name) + 1) * sizeof *choice.items)};
    for (struct batch_job *job = jobs->by_name; job && choice.items; job = job->hh.next)
        if (is_open(job) && wanted(jobs, job, now_ns))
            choice.items[choice.n++] = job;
    pthread_mutex_unlock(&jobs->lock);
    return choice;
}

/* ---- submissions ---- */

static bool is_to_submit(const struct batch_jobs *jobs, const struct batch_job *job, int64_t now_ns)
{
    (void)jobs;
    (void)now_ns;
    return job->life.state == BATCH_NEW;
}

static bool is_no_answer(enum esp_status status)
{
    return status == ESP_UNREACHABLE || status == ESP_TIMEOUT || status == ESP_NO_MEMORY ||
           status == ESP_SYSTEM;
}

/* Whether the batch system has the job that perhaps was submitted. True: go on and submit it. */
static bool settle_perhaps(struct batch_jobs *jobs, struct batch_job *job, const struct batch_order *order,
                           enum esp_status *status, struct esp_error *error)
{
    char id[BATCH_ID_BYTES];
    *status = jobs->system->ops->attach(jobs->system, order, id, error);
    pthread_mutex_lock(&jobs->lock);
    if (*status == ESP_OK) {
        memcpy(job->id, id, sizeof job->id);
        job->unsaved = true;
        tell_event(jobs, job, BATCH_EVENT_SUBMITTED, NULL);
    } else if (*status == ESP_NOT_FOUND) {
        tell_event(jobs, job, BATCH_EVENT_UNKNOWN, NULL);
    }
    const bool go_on = *status == ESP_NOT_FOUND && job->life.state == BATCH_NEW;
    if (*status == ESP_NOT_FOUND)
        *status = ESP_OK;
    pthread_mutex_unlock(&jobs->lock);
    return go_on;
}

static enum esp_status submit(struct batch_jobs *jobs, struct batch_job *job, const struct batch_order *order,
                              struct esp_error *error)
{
    char id[BATCH_ID_BYTES];
    const enum esp_status status = jobs->system->ops->submit(jobs->system, order, id, error);
    pthread_mutex_lock(&jobs->lock);
    if (status == ESP_OK) {
        memcpy(job->id, id, sizeof job->id);
        job->unsaved = true;
        tell_event(jobs, job, BATCH_EVENT_SUBMITTED, NULL);
    } else if (!is_no_answer(status)) {
        tell_event(jobs, job, BATCH_EVENT_REFUSED, error->text);
    }
    pthread_mutex_unlock(&jobs->lock);
    return status;
}

/* ESP_OK: the batch system has answered, whatever it said. */
static enum esp_status try_to_submit(struct batch_jobs *jobs, struct batch_job *job, struct esp_error *error)
{
    struct batch_order order;
    char run[PATH_MAX];
    enum esp_status status = ESP_OK;
    batch_folder_run(jobs->folder, job->name, run);
    order_of(job, run, &order);
    if (job->life.perhaps_submitted && !settle_perhaps(jobs, job, &order, &status, error))
        return status;
    status = submit(jobs, job, &order, error);
    return is_no_answer(status) ? status : ESP_OK;
}

static void submit_due(struct batch_jobs *jobs)
{
    struct choice choice = choose(jobs, is_to_submit);
    const int64_t now_ns = clock_now_ns(jobs->clock);
    struct esp_error error = {0};
    enum esp_status status = ESP_OK;
    const bool waits = jobs->retry.due_ns != CLOCK_NEVER && now_ns < jobs->retry.due_ns;
    size_t i = 0;
    for (; i < choice.n && !waits && status == ESP_OK; i++)
        status = try_to_submit(jobs, choice.items[i], &error);
    pthread_mutex_lock(&jobs->lock);
    if (status != ESP_OK) { /* one silent batch system is not asked for every job */
        tell_event(jobs, choice.items[i - 1], BATCH_EVENT_NO_ANSWER, error.text);
        batch_pace_asked(&jobs->retry, clock_now_ns(jobs->clock));
    } else if (!waits && choice.n > 0) {
        batch_pace_rest(&jobs->retry);
    }
    pthread_mutex_unlock(&jobs->lock);
    free(choice.items);
}

/* ---- cancellations ---- */

static bool is_to_cancel(const struct batch_jobs *jobs, const struct batch_job *job, int64_t now_ns)
{
    (void)jobs;
    (void)now_ns;
    return job->life.cancel_wanted && !job->cancel_sent && *job->id && job->life.state != BATCH_NEW;
}

static void cancel_due(struct batch_jobs *jobs)
{
    struct choice choice = choose(jobs, is_to_cancel);
    const bool waits = jobs->retry.due_ns != CLOCK_NEVER && clock_now_ns(jobs->clock) < jobs->retry.due_ns;
    for (size_t i = 0; i < choice.n && !waits; i++) {
        struct esp_error error = {0};
        const enum esp_status status = jobs->system->ops->cancel(jobs->system, choice.items[i]->id, &error);
        pthread_mutex_lock(&jobs->lock);
        if (status == ESP_OK) {
            choice.items[i]->cancel_sent = true;
        } else {
            tell_event(jobs, choice.items[i], BATCH_EVENT_NO_ANSWER, error.text);
            batch_pace_asked(&jobs->retry, clock_now_ns(jobs->clock));
        }
        pthread_mutex_unlock(&jobs->lock);
        if (status != ESP_OK)
            break;
    }
    free(choice.items);
}

/* ---- files ---- */

static bool is_to_look(const struct batch_jobs *jobs, const struct batch_job *job, int64_t now_ns)
{
    return job->life.state != BATCH_NEW &&
           (now_ns >= job->look_ns || now_ns >= batch_life_due_ns(&job->life, &jobs->patience));
}

static bool is_submitted(const struct batch_jobs *jobs, const struct batch_job *job, int64_t now_ns)
{
    (void)jobs;
    (void)now_ns;
    return job->life.state != BATCH_NEW && *job->id;
}

static void look_at(struct batch_jobs *jobs, struct batch_job *job)
{
    struct batch_traces traces;
    char run[PATH_MAX];
    batch_folder_run(jobs->folder, job->name, run);
    batch_folder_look(run, &traces);
    pthread_mutex_lock(&jobs->lock);
    const int64_t now_ns = clock_now_ns(jobs->clock);
    job->look_ns = now_ns + batch_pace_look_ns(now_ns - job->begun_ns);
    if (traces.started) {
        job->started_s = traces.started_s;
        memcpy(job->node, traces.node, sizeof job->node);
        tell_event(jobs, job, BATCH_EVENT_STARTED, NULL);
    }
    if (traces.exit_code >= 0) {
        const struct batch_news news = {.event = BATCH_EVENT_EXITED, .exit_code = traces.exit_code};
        if (!job->life.exit_known)
            batch_pace_hurry(&jobs->pace, now_ns);
        tell(jobs, job, &news);
    } else {
        tell_event(jobs, job, BATCH_EVENT_TIME, NULL);
    }
    pthread_mutex_unlock(&jobs->lock);
}

static void look_due(struct batch_jobs *jobs)
{
    struct choice choice = choose(jobs, is_to_look);
    for (size_t i = 0; i < choice.n; i++)
        look_at(jobs, choice.items[i]);
    free(choice.items);
}

/* ---- the question for all jobs ---- */

static const struct batch_sighting *find_sighting(const struct batch_sighting *sightings, size_t n,
                                                  const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(sightings[i].id, id) == 0)
            return &sightings[i];
    return NULL;
}

/* With the lock held. */
static void take_answer(struct batch_jobs *jobs, const struct choice *choice,
                        const struct batch_sighting *sightings, size_t n)
{
    for (size_t i = 0; i < choice->n; i++) {
        struct batch_job *job = choice->items[i];
        const struct batch_sighting *sighting = find_sighting(sightings, n, job->id);
        const struct batch_news news = {.event = sighting ? BATCH_EVENT_SEEN : BATCH_EVENT_UNKNOWN,
                                        .sighting = sighting};
        tell(jobs, job, &news);
        if (sighting && job->life.state == BATCH_ACTIVE && sighting->started_s > 0)
            job->started_s = sighting->started_s;
    }
}

static void take_silence(struct batch_jobs *jobs, const struct choice *choice, const char *why)
{
    for (size_t i = 0; i < choice->n; i++)
        tell_event(jobs, choice->items[i], BATCH_EVENT_NO_ANSWER, why);
}

static void ask_about(struct batch_jobs *jobs, const struct choice *choice, const char **ids)
{
    struct batch_sighting *sightings = NULL;
    struct esp_error error = {0};
    size_t n = 0;
    for (size_t i = 0; i < choice->n; i++)
        ids[i] = choice->items[i]->id;
    const enum esp_status status =
        jobs->system->ops->query(jobs->system, ids, choice->n, &sightings, &n, &error);
    /* The files are looked at after the answer was made: an exit code then wins over what the queue says. */
    for (size_t i = 0; i < choice->n && status == ESP_OK; i++)
        look_at(jobs, choice->items[i]);
    pthread_mutex_lock(&jobs->lock);
    batch_pace_asked(&jobs->pace, clock_now_ns(jobs->clock));
    if (status == ESP_OK)
        take_answer(jobs, choice, sightings, n);
    else
        take_silence(jobs, choice, error.text);
    pthread_mutex_unlock(&jobs->lock);
    free(sightings);
}

static void ask_due(struct batch_jobs *jobs)
{
    if (clock_now_ns(jobs->clock) < jobs->pace.due_ns)
        return;
    struct choice choice = choose(jobs, is_submitted);
    const char **ids = malloc((choice.n + 1) * sizeof *ids);
    if (choice.n > 0 && ids) {
        ask_about(jobs, &choice, ids);
    } else {
        pthread_mutex_lock(&jobs->lock);
        batch_pace_rest(&jobs->pace);
        pthread_mutex_unlock(&jobs->lock);
    }
    free(ids);
    free(choice.items);
}

/* ---- telling others ---- */

static bool take_unreported(struct batch_jobs *jobs, struct batch_report *report)
{
    bool found = false;
    pthread_mutex_lock(&jobs->lock);
    for (struct batch_job *job = jobs->by_name; job && !found; job = job->hh.next)
        if (job->submitted && !job->reported && job->life.state != BATCH_NEW) {
            report_on(jobs, job, report);
            job->reported = true;
            found = true;
        }
    pthread_mutex_unlock(&jobs->lock);
    return found;
}

/* The records come first: what an owner has been told of is on disk. */
static void tell_others(struct batch_jobs *jobs)
{
    struct batch_report report;
    save_all(jobs);
    while (take_unreported(jobs, &report))
        if (jobs->changed)
            jobs->changed(jobs->arg, &report);
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_due_ns(struct batch_jobs *jobs)
{
    int64_t due_ns = CLOCK_NEVER;
    pthread_mutex_lock(&jobs->lock);
    const int64_t now_ns = clock_now_ns(jobs->clock);
    for (const struct batch_job *job = jobs->by_name; job; job = job->hh.next) {
        if (job->submitted && (job->unsaved || !job->reported) && job->life.state != BATCH_NEW)
            due_ns = now_ns;
        if (!is_open(job))
            continue;
        if (job->life.state == BATCH_NEW || (job->life.cancel_wanted && !job->cancel_sent))
            due_ns = earliest(due_ns, jobs->retry.due_ns == CLOCK_NEVER ? now_ns : jobs->retry.due_ns);
        if (job->life.state != BATCH_NEW)
            due_ns = earliest(due_ns, earliest(job->look_ns, jobs->pace.due_ns));
        due_ns = earliest(due_ns, batch_life_due_ns(&job->life, &jobs->patience));
    }
    pthread_mutex_unlock(&jobs->lock);
    return due_ns;
}

int64_t batch_jobs_turn(struct batch_jobs *jobs)
{
    submit_due(jobs);
    cancel_due(jobs);
    look_due(jobs);
    tell_others(jobs); /* the question may take as long as its deadline */
    ask_due(jobs);
    tell_others(jobs);
    return next_due_ns(jobs);
}

/* ---- the thread ---- */

static void wait_until(struct batch_jobs *jobs, int64_t due_ns)
{
    const struct timespec until = {.tv_sec = due_ns / NS_PER_S, .tv_nsec = due_ns % NS_PER_S};
    while (!jobs->stop && !jobs->woken)
        if (due_ns == CLOCK_NEVER)
            pthread_cond_wait(&jobs->wake, &jobs->lock);
        else if (pthread_cond_timedwait(&jobs->wake, &jobs->lock, &until) == ETIMEDOUT)
            return;
}

static void *keep_turning(void *arg)
{
    struct batch_jobs *jobs = arg;
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->stop) {
        jobs->woken = false;
        pthread_mutex_unlock(&jobs->lock);
        const int64_t due_ns = batch_jobs_turn(jobs);
        pthread_mutex_lock(&jobs->lock);
        wait_until(jobs, due_ns);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

enum esp_status batch_jobs_start(struct batch_jobs *jobs, struct esp_error *error)
{
    errno = pthread_create(&jobs->thread, NULL, keep_turning, jobs);
    if (errno != 0)
        return error_errno(error, "cannot make a thread for batch jobs");
    jobs->has_thread = true;
    return ESP_OK;
}
