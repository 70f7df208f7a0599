/* SPDX-License-Identifier: Apache-2.0
 *
 * Slurm as a batch system: sbatch, squeue, scancel, scontrol, and sacct where the site keeps accounts.
 */
#include "sed/batch/batch_system.h"

#include "sed/batch/batch_script.h"
#include "sed/batch/slurm_text.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORDS 64
#define MOST_IDS   1000 /* in one list of ids: a longer one is left out, and the user's jobs are asked for */

struct slurm {
    struct batch_system system;
    struct batch_settings settings;
    char *conf;                   /* "SLURM_CONF=..." of this process; NULL: none */
    const char *environment[3];   /* of all commands */
    atomic_bool without_accounts; /* sacct has said so: it is not asked again */
};

/* An argument vector that is built piece by piece. Words that need memory are freed by words_clear(). */
struct words {
    const char *items[MOST_WORDS + 1];
    char *owned[MOST_WORDS];
    size_t n, n_owned;
    bool failed;
};

static void add(struct words *words, const char *word)
{
    if (words->n == MOST_WORDS)
        words->failed = true;
    else
        words->items[words->n++] = word;
}

__attribute__((format(printf, 2, 3))) static void add_printf(struct words *words, const char *format, ...)
{
    va_list arguments;
    char *word = NULL;
    va_start(arguments, format);
    if (words->n_owned == MOST_WORDS || vasprintf(&word, format, arguments) < 0)
        words->failed = true;
    else
        add(words, words->owned[words->n_owned++] = word);
    va_end(arguments);
}

static void words_clear(struct words *words)
{
    for (size_t i = 0; i < words->n_owned; i++)
        free(words->owned[i]);
}

static struct slurm *slurm_of(struct batch_system *system)
{
    return (struct slurm *)system;
}

/* Runs the command. ESP_OK: it has ended with any exit code. */
static enum esp_status run(const struct slurm *slurm, struct words *words,
                           struct batch_command_result *result, struct esp_error *error)
{
    const struct batch_settings *settings = &slurm->settings;
    words->items[words->n] = NULL;
    if (words->failed)
        return error_set(error, ESP_LIMIT, "%s would get more than %d words: batch_options is too long",
                         words->items[0], MOST_WORDS);
    const struct batch_command command = {.words = words->items,
                                          .environment = slurm->environment,
                                          .user = settings->user,
                                          .deadline_ms = settings->deadline_ms};
    return settings->runner->run(settings->runner, &command, result, error);
}

/* The command has failed with these words. Most programs of Slurm complain on standard error, some on
 * standard output. */
static enum esp_status failure(const char *program, const struct batch_command_result *result,
                               struct esp_error *error)
{
    const char *words = *result->errors ? result->errors : result->output;
    const enum esp_status status = slurm_is_no_answer(words) ? ESP_UNREACHABLE : ESP_REFUSED;
    if (*words)
        return error_set(error, status, "%s", words);
    return error_set(error, status, "%s ended with exit code %d and without a word", program,
                     result->exit_code);
}

/* ---- submit ---- */

static void add_resources(struct words *words, const struct batch_settings *settings,
                          const struct batch_order *order)
{
    const int64_t time_s = order->time_s > 0 ? order->time_s : settings->time_s;
    if (settings->partition)
        add_printf(words, "--partition=%s", settings->partition);
    if (settings->account)
        add_printf(words, "--account=%s", settings->account);
    if (settings->qos)
        add_printf(words, "--qos=%s", settings->qos);
    if (settings->gres)
        add_printf(words, "--gres=%s", settings->gres);
    if (time_s > 0) /* Slurm counts minutes */
        add_printf(words, "--time=%" PRId64, (time_s + 59) / 60);
    if (order->cores > 0)
        add_printf(words, "--cpus-per-task=%" PRIu32, order->cores);
    if (order->memory_mb > 0)
        add_printf(words, "--mem=%" PRIu64 "M", order->memory_mb);
    for (size_t i = 0; settings->options && settings->options[i]; i++)
        add(words, settings->options[i]);
}

static enum esp_status submit(struct batch_system *system, const struct batch_order *order, char *id,
                              struct esp_error *error)
{
    struct slurm *slurm = slurm_of(system);
    struct words words = {0};
    struct batch_command_result result = {0};
    add(&words, "sbatch");
    add(&words, "--parsable");
    add_printf(&words, "--job-name=%s", order->name);
    add_printf(&words, "--chdir=%s", order->folder);
    add_printf(&words, "--output=%s/" BATCH_FILE_OUTPUT, order->folder);
    add_printf(&words, "--error=%s/" BATCH_FILE_ERRORS, order->folder);
    add(&words, "--open-mode=truncate");
    add(&words, "--input=/dev/null");
    add_resources(&words, &slurm->settings, order);
    add_printf(&words, "%s/" BATCH_FILE_SCRIPT, order->folder);
    enum esp_status status = run(slurm, &words, &result, error);
    if (status == ESP_OK && result.exit_code != 0)
        status = failure("sbatch", &result, error);
    else if (status == ESP_OK && !slurm_read_id(result.output, result.output_bytes, id))
        status = error_set(error, ESP_UNREACHABLE, "sbatch: expected the id of a job, found \"%.80s\" %.200s",
                           result.output, result.errors);
    batch_command_clear(&result);
    words_clear(&words);
    return status;
}

/* ---- query ---- */

static char *join_ids(const char *const *ids, size_t n)
{
    char *list = malloc(n * (BATCH_ID_BYTES + 1) + 1);
    size_t used = 0;
    for (size_t i = 0; list && i < n; i++)
        used += (size_t)sprintf(list + used, "%s%.*s", i ? "," : "", BATCH_ID_BYTES - 1, ids[i]);
    return list;
}

static enum esp_status ask_queue(struct slurm *slurm, struct words *words, struct batch_sighting **sightings,
                                 size_t *n_sightings, struct esp_error *error)
{
    struct batch_command_result result = {0};
    enum esp_status status = run(slurm, words, &result, error);
    if (status == ESP_OK && result.exit_code != 0) {
        if (!slurm_is_unknown_job(result.errors))
            status = failure("squeue", &result, error);
    } else if (status == ESP_OK) {
        status = slurm_read_queue(result.output, result.output_bytes, sightings, n_sightings, error);
    }
    batch_command_clear(&result);
    return status;
}

static void add_squeue(struct words *words)
{
    add(words, "squeue");
    add(words, "--noheader");
    add(words, "--all");
    add(words, "--states=all");
    add(words, "--Format=" SLURM_QUEUE_FORMAT);
}

static enum esp_status ask_accounts(struct slurm *slurm, const char *ids, struct batch_sighting **sightings,
                                    size_t *n_sightings, struct esp_error *error)
{
    struct words words = {0};
    struct batch_command_result result = {0};
    add(&words, "sacct");
    add(&words, "--noheader");
    add(&words, "--parsable2");
    add(&words, "--allocations");
    add_printf(&words, "--jobs=%s", ids);
    add(&words, "--format=" SLURM_ACCOUNTING_FORMAT);
    enum esp_status status = run(slurm, &words, &result, error);
    if (status == ESP_NOT_FOUND ||
        (status == ESP_OK && result.exit_code != 0 && slurm_is_without_accounts(result.errors)))
        slurm->without_accounts = true;
    if (status == ESP_OK && result.exit_code == 0)
        status = slurm_read_accounting(result.output, result.output_bytes, sightings, n_sightings, error);
    batch_command_clear(&result);
    words_clear(&words);
    return status;
}

static bool is_seen(const struct batch_sighting *sightings, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(sightings[i].id, id) == 0)
            return true;
    return false;
}

static enum esp_status append(struct batch_sighting **to, size_t *n_to, const struct batch_sighting *from,
                              size_t n_from, struct esp_error *error)
{
    if (n_from == 0)
        return ESP_OK;
    struct batch_sighting *all = realloc(*to, (*n_to + n_from) * sizeof *all);
    if (!all)
        return error_no_memory(error, "the jobs of a batch system");
    memcpy(all + *n_to, from, n_from * sizeof *all);
    *to = all;
    *n_to += n_from;
    return ESP_OK;
}

/* Jobs that the queue has forgotten may still be in the accounts. If sacct does not show them, they are
 * unknown.
 */
static enum esp_status look_up_missing(struct slurm *slurm, const char *const *ids, size_t n,
                                       struct batch_sighting **sightings, size_t *n_sightings,
                                       struct esp_error *error)
{
    const char **missing = malloc(n * sizeof *missing);
    struct batch_sighting *found = NULL;
    size_t n_missing = 0, n_found = 0;
    enum esp_status status = missing ? ESP_OK : error_no_memory(error, "ids of jobs");
    for (size_t i = 0; missing && i < n && n_missing < MOST_IDS; i++)
        if (!is_seen(*sightings, *n_sightings, ids[i]))
            missing[n_missing++] = ids[i];
    if (n_missing > 0) {
        char *list = join_ids(missing, n_missing);
        if (list && ask_accounts(slurm, list, &found, &n_found, NULL) == ESP_OK)
            status = append(sightings, n_sightings, found, n_found, error);
        free(list);
        free(found);
    }
    free(missing);
    return status;
}

static enum esp_status query(struct batch_system *system, const char *const *ids, size_t n,
                             struct batch_sighting **sightings, size_t *n_sightings, struct esp_error *error)
{
    struct slurm *slurm = slurm_of(system);
    struct words words = {0};
    char *list = n <= MOST_IDS ? join_ids(ids, n) : NULL;
    *sightings = NULL;
    *n_sightings = 0;
    add_squeue(&words);
    if (list)
        add_printf(&words, "--jobs=%s", list);
    else
        add(&words, "--me");
    enum esp_status status = n == 0 ? ESP_OK : ask_queue(slurm, &words, sightings, n_sightings, error);
    if (status == ESP_OK && n > 0 && !slurm->without_accounts)
        status = look_up_missing(slurm, ids, n, sightings, n_sightings, error);
    if (status != ESP_OK) {
        free(*sightings);
        *sightings = NULL;
        *n_sightings = 0;
    }
    words_clear(&words);
    free(list);
    return status;
}

/* ---- cancel, attach, describe ---- */

static enum esp_status cancel(struct batch_system *system, const char *id, struct esp_error *error)
{
    struct slurm *slurm = slurm_of(system);
    struct words words = {0};
    struct batch_command_result result = {0};
    add(&words, "scancel");
    add(&words, "--quiet");
    add(&words, id);
    enum esp_status status = run(slurm, &words, &result, error);
    if (status == ESP_OK && result.exit_code != 0 && !slurm_is_unknown_job(result.errors) &&
        !strstr(result.errors, "already completing or completed"))
        status = failure("scancel", &result, error);
    batch_command_clear(&result);
    words_clear(&words);
    return status;
}

static enum esp_status attach(struct batch_system *system, const struct batch_order *order, char *id,
                              struct esp_error *error)
{
    struct slurm *slurm = slurm_of(system);
    struct words words = {0};
    struct batch_sighting *sightings = NULL;
    size_t n = 0;
    add_squeue(&words);
    add_printf(&words, "--name=%s", order->name);
    enum esp_status status = ask_queue(slurm, &words, &sightings, &n, error);
    if (status == ESP_OK && n == 0)
        status = error_set(error, ESP_NOT_FOUND, "Slurm has no job %s", order->name);
    else if (status == ESP_OK)
        snprintf(id, BATCH_ID_BYTES, "%s", sightings[0].id);
    free(sightings);
    words_clear(&words);
    return status;
}

/* Copies what scontrol prints about the partition into *text, for free(). */
static enum esp_status show_partition(const struct slurm *slurm, char **text, size_t *length,
                                      struct esp_error *error)
{
    struct words words = {0};
    struct batch_command_result result = {0};
    add(&words, "scontrol");
    add(&words, "--oneliner");
    add(&words, "show");
    add(&words, "partition");
    if (slurm->settings.partition)
        add(&words, slurm->settings.partition);
    enum esp_status status = run(slurm, &words, &result, error);
    if (status == ESP_OK && result.exit_code != 0) {
        status = failure("scontrol", &result, error);
        if (status == ESP_REFUSED && error)
            error->status = status = ESP_CONFIG;
    }
    if (status == ESP_OK) {
        *text = result.output;
        *length = result.output_bytes;
        result.output = NULL;
    }
    batch_command_clear(&result);
    words_clear(&words);
    return status;
}

/* Without a `partition` Slurm takes its default one. */
static bool find_partition(const char *text, size_t length, const char *wanted, const char **line,
                           size_t *line_length)
{
    char name[100], is_default[8];
    for (const char *at = text; at < text + length; at = *line + *line_length + 1) {
        const char *end = memchr(at, '\n', (size_t)(text + length - at));
        *line = at;
        *line_length = (size_t)((end ? end : text + length) - at);
        if (!slurm_read_field(*line, *line_length, "PartitionName", name, sizeof name))
            continue;
        if (wanted ? strcmp(name, wanted) == 0
                   : slurm_read_field(*line, *line_length, "Default", is_default, sizeof is_default) &&
                         strcmp(is_default, "YES") == 0)
            return true;
    }
    return false;
}

static enum esp_status describe(struct batch_system *system, char *text, size_t size, struct esp_error *error)
{
    struct slurm *slurm = slurm_of(system);
    const int64_t time_s = slurm->settings.time_s;
    char *shown = NULL;
    const char *line;
    size_t length, line_length;
    char name[100] = "?", state[40] = "?", most[40] = "?", nodes[24] = "?", cores[24] = "?";
    enum esp_status status = show_partition(slurm, &shown, &length, error);
    if (status != ESP_OK)
        return status;
    if (!find_partition(shown, length, slurm->settings.partition, &line, &line_length)) {
        status = error_set(error, ESP_CONFIG, "Slurm has no %s%s; expected batch_partition to name one",
                           slurm->settings.partition ? "partition " : "default partition",
                           slurm->settings.partition ? slurm->settings.partition : "");
        goto done;
    }
    slurm_read_field(line, line_length, "PartitionName", name, sizeof name);
    slurm_read_field(line, line_length, "State", state, sizeof state);
    slurm_read_field(line, line_length, "MaxTime", most, sizeof most);
    slurm_read_field(line, line_length, "TotalNodes", nodes, sizeof nodes);
    slurm_read_field(line, line_length, "TotalCPUs", cores, sizeof cores);
    const int64_t most_s = slurm_read_minutes(most);
    if (most_s >= 0 && time_s > most_s)
        status =
            error_set(error, ESP_CONFIG,
                      "batch_time is %" PRId64 " s, and the partition %s of Slurm allows %" PRId64 " s (%s)",
                      time_s, name, most_s, most);
    snprintf(text, size, "Slurm partition %s: state %s, %s nodes with %s processors, time limit %s", name,
             state, nodes, cores, most);
done:
    free(shown);
    return status;
}

/* ---- the system itself ---- */

static void destroy(struct batch_system *system)
{
    struct slurm *slurm = slurm_of(system);
    free(slurm->conf);
    free(slurm);
}

static const struct batch_system_ops slurm_ops = {
    .name = "slurm",
    .text = "jobs of Slurm, by sbatch, squeue, scancel, scontrol and sacct",
    .id_in_script = "$SLURM_JOB_ID",
    .submit = submit,
    .query = query,
    .cancel = cancel,
    .attach = attach,
    .describe = describe,
    .destroy = destroy,
};

enum esp_status slurm_open(const struct batch_settings *settings, struct batch_system **system,
                           struct esp_error *error)
{
    struct slurm *slurm = calloc(1, sizeof *slurm);
    const char *conf = getenv("SLURM_CONF");
    if (!slurm || (conf && asprintf(&slurm->conf, "SLURM_CONF=%s", conf) < 0)) {
        free(slurm);
        return error_no_memory(error, "a batch system");
    }
    slurm->system.ops = &slurm_ops;
    slurm->settings = *settings;
    if (slurm->settings.deadline_ms <= 0)
        slurm->settings.deadline_ms = BATCH_DEADLINE_MS;
    if (!slurm->settings.runner)
        slurm->settings.runner = &batch_runner_processes;
    slurm->environment[0] = "SLURM_TIME_FORMAT=%s";
    slurm->environment[1] = slurm->conf;
    *system = &slurm->system;
    return ESP_OK;
}
