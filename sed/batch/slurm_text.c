/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/batch/slurm_text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A piece of a text, which the caller of this file owns. */
struct span {
    const char *data;
    size_t length;
};

static bool span_is(struct span span, const char *word)
{
    return strlen(word) == span.length && memcmp(span.data, word, span.length) == 0;
}

static void span_copy(struct span span, char *to, size_t size)
{
    const size_t n = span.length < size - 1 ? span.length : size - 1;
    for (size_t i = 0; i < n; i++)
        to[i] = iscntrl((unsigned char)span.data[i]) ? ' ' : span.data[i];
    to[n] = 0;
}

/* Takes what stands before `separator` off the front of `rest`. False: nothing is left. */
static bool span_next(struct span *rest, char separator, struct span *piece)
{
    if (!rest->data)
        return false;
    const char *end = rest->length ? memchr(rest->data, separator, rest->length) : NULL;
    *piece = *rest;
    if (end) {
        piece->length = (size_t)(end - rest->data);
        *rest = (struct span){end + 1, rest->length - piece->length - 1};
    } else {
        *rest = (struct span){NULL, 0};
    }
    return true;
}

/* Decimal digits only. False: something else, or more than `most`. */
static bool span_number(struct span span, int64_t most, int64_t *value)
{
    int64_t number = 0;
    if (span.length == 0)
        return false;
    for (size_t i = 0; i < span.length; i++) {
        const int digit = span.data[i] - '0';
        if (digit < 0 || digit > 9 || number > (most - digit) / 10)
            return false;
        number = 10 * number + digit;
    }
    *value = number;
    return true;
}

/* "N/A", "Unknown" and "None" are times that are not known. */
static int64_t span_time(struct span span)
{
    int64_t value;
    return span_number(span, INT64_MAX / 2, &value) ? value : 0;
}

static bool span_is_id(struct span span)
{
    return span.length > 0 && span.length < BATCH_ID_BYTES && isdigit((unsigned char)span.data[0]);
}

/* ---- sbatch ---- */

bool slurm_read_id(const char *text, size_t length, char *id)
{
    struct span rest = {text, length}, line, number;
    bool found = false;
    int64_t value;
    while (span_next(&rest, '\n', &line))
        if (span_next(&line, ';', &number) && span_is_id(number) && span_number(number, INT64_MAX, &value)) {
            span_copy(number, id, BATCH_ID_BYTES);
            found = true;
        }
    return found;
}

/* ---- states and reasons ---- */

static const struct {
    const char *state;
    enum batch_hint hint;
} states[] = {
    {"PENDING", BATCH_HINT_WAITING},
    {"REQUEUED", BATCH_HINT_WAITING},
    {"REQUEUE_HOLD", BATCH_HINT_WAITING},
    {"REQUEUE_FED", BATCH_HINT_WAITING},
    {"SPECIAL_EXIT", BATCH_HINT_WAITING},
    {"RESV_DEL_HOLD", BATCH_HINT_WAITING},
    {"RUNNING", BATCH_HINT_RUNNING},
    /* Nodes boot or are configured for the job, or its end is under way. */
    {"CONFIGURING", BATCH_HINT_WAITING},
    {"COMPLETING", BATCH_HINT_RUNNING},
    {"STAGE_OUT", BATCH_HINT_RUNNING},
    {"SUSPENDED", BATCH_HINT_RUNNING},
    {"STOPPED", BATCH_HINT_RUNNING},
    {"SIGNALING", BATCH_HINT_RUNNING},
    {"RESIZING", BATCH_HINT_RUNNING},
    {"COMPLETED", BATCH_HINT_ENDED},
    {"FAILED", BATCH_HINT_ENDED},
    {"CANCELLED", BATCH_HINT_CANCELED},
    {"REVOKED", BATCH_HINT_CANCELED},
    {"TIMEOUT", BATCH_HINT_TIME_LIMIT},
    {"DEADLINE", BATCH_HINT_TIME_LIMIT},
    {"NODE_FAIL", BATCH_HINT_NODE_FAILED},
    {"OUT_OF_MEMORY", BATCH_HINT_OUT_OF_MEMORY},
    {"PREEMPTED", BATCH_HINT_PREEMPTED},
    {"BOOT_FAIL", BATCH_HINT_NOT_STARTED},
};

static enum batch_hint hint_of(struct span state)
{
    struct span word = state;
    for (size_t i = 0; i < state.length; i++)
        if (state.data[i] == ' ' || state.data[i] == '+') {
            word.length = i;
            break;
        }
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (span_is(word, states[i].state))
            return states[i].hint;
    return BATCH_HINT_NONE;
}

enum batch_hint slurm_hint(const char *state)
{
    return hint_of((struct span){state, strlen(state)});
}

static const struct {
    const char *reason, *means;
} reasons[] = {
    {"Resources", "the nodes it needs are busy"},
    {"Priority", "jobs of higher priority are before it"},
    {"Dependency", "it depends on another job"},
    {"BeginTime", "the batch system lets it start later"},
    {"PartitionDown", "its partition is down"},
    {"PartitionInactive", "its partition is inactive"},
    {"PartitionNodeLimit", "it asks for more nodes than its partition allows"},
    {"PartitionTimeLimit", "it asks for more time than its partition allows"},
    {"PartitionConfig", "it asks for more than its partition has"},
    {"NodeDown", "a node that it needs is down"},
    {"BadConstraints", "no node has what it asks for"},
    {"JobHeldAdmin", "an administrator of the batch system holds it"},
    {"JobHeldUser", "its user holds it"},
    {"JobHoldMaxRequeue", "it was requeued too often and is held"},
    {"Licenses", "a licence that it needs is in use"},
    {"Reservation", "it waits for its reservation"},
    {"ReqNodeNotAvail", "a node that it needs is not available"},
    {"InvalidAccount", "its account is not valid"},
    {"InvalidQOS", "its quality of service is not valid"},
    {"TimeLimit", "it was killed at its time limit"},
    {"launch failed requeued held", "it could not be started and is held"},
};

/* A reason may go on with details: "ReqNodeNotAvail, UnavailableNodes:n7". */
static const char *means_of(struct span reason)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const size_t n = strlen(reasons[i].reason);
        if (reason.length >= n && memcmp(reason.data, reasons[i].reason, n) == 0 &&
            (reason.length == n || reason.data[n] == ','))
            return reasons[i].means;
    }
    if (reason.length > 5 && (memcmp(reason.data, "Assoc", 5) == 0))
        return "a limit of its account or user is reached";
    if (reason.length > 3 && (memcmp(reason.data, "QOS", 3) == 0))
        return "a limit of its quality of service is reached";
    return NULL;
}

const char *slurm_reason_means(const char *reason)
{
    return means_of((struct span){reason, strlen(reason)});
}

/* ---- answers line by line ---- */

typedef bool line_reader(struct span line, struct batch_sighting *sighting);

struct list {
    struct batch_sighting *items;
    size_t n, capacity;
};

static enum esp_status list_add(struct list *list, const struct batch_sighting *sighting,
                                struct esp_error *error)
{
    if (list->n == SLURM_MOST_JOBS)
        return error_set(error, ESP_LIMIT, "Slurm has told of more than %d jobs", SLURM_MOST_JOBS);
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 16;
        struct batch_sighting *items = realloc(list->items, capacity * sizeof *items);
        if (!items)
            return error_no_memory(error, "the jobs of a batch system");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n++] = *sighting;
    return ESP_OK;
}

static bool is_blank(struct span line)
{
    for (size_t i = 0; i < line.length; i++)
        if (!isspace((unsigned char)line.data[i]))
            return false;
    return true;
}

static enum esp_status read_lines(const char *text, size_t length, line_reader *reader, const char *expected,
                                  struct batch_sighting **sightings, size_t *n_sightings,
                                  struct esp_error *error)
{
    struct span rest = {text, length}, line;
    struct list list = {0};
    enum esp_status status = ESP_OK;
    while (status == ESP_OK && span_next(&rest, '\n', &line)) {
        struct batch_sighting sighting = {0};
        char found[80];
        if (is_blank(line))
            continue;
        if (reader(line, &sighting)) {
            status = list_add(&list, &sighting, error);
        } else {
            span_copy(line, found, sizeof found);
            status = error_set(error, ESP_PROTOCOL, "expected %s, found \"%s\"", expected, found);
        }
    }
    if (status != ESP_OK) {
        free(list.items);
        return status;
    }
    *sightings = list.items;
    *n_sightings = list.n;
    return ESP_OK;
}

static void say(struct batch_sighting *sighting, struct span state, struct span reason)
{
    char word[60], why[96];
    span_copy(state, word, sizeof word);
    span_copy(reason, why, sizeof why);
    const bool has_reason = *why && strcmp(why, "None") != 0;
    snprintf(sighting->said, sizeof sighting->said, has_reason ? "%s (%s)" : "%s", word, why);
    const char *means = means_of(reason);
    snprintf(sighting->note, sizeof sighting->note, "%s", means ? means : "");
}

/* A longer name is not one of Espalier's. */
static void take_name(struct batch_sighting *sighting, struct span name)
{
    if (name.length < sizeof sighting->name)
        span_copy(name, sighting->name, sizeof sighting->name);
}

enum queue_column {
    Q_ID,
    Q_STATE,
    Q_RESTARTS,
    Q_EXIT,
    Q_SUBMIT,
    Q_START,
    Q_END,
    Q_NODES,
    Q_NAME,
    Q_REASON,
    Q_N
};

/* `squeue` prints the status of wait(2). */
static void take_wait_status(struct batch_sighting *sighting, struct span text)
{
    int64_t status;
    if (!span_number(text, INT32_MAX, &status))
        return;
    sighting->signal = (int32_t)(status & 0x7f);
    sighting->exit_code = (int32_t)(status >> 8 & 0xff);
}

static bool read_queue_line(struct span line, struct batch_sighting *sighting)
{
    struct span columns[Q_N];
    int64_t restarts;
    for (int i = 0; i < Q_REASON; i++)
        if (!span_next(&line, '|', &columns[i]))
            return false;
    if (!line.data)
        return false;
    columns[Q_REASON] = line;
    if (line.length > 0 && line.data[line.length - 1] == '|')
        columns[Q_REASON].length--;
    if (!span_is_id(columns[Q_ID]) || !span_number(columns[Q_RESTARTS], UINT32_MAX, &restarts))
        return false;
    span_copy(columns[Q_ID], sighting->id, sizeof sighting->id);
    sighting->hint = hint_of(columns[Q_STATE]);
    sighting->restarts = (uint32_t)restarts;
    take_wait_status(sighting, columns[Q_EXIT]);
    sighting->submitted_s = span_time(columns[Q_SUBMIT]);
    sighting->started_s = span_time(columns[Q_START]);
    sighting->ended_s = span_time(columns[Q_END]);
    span_copy(columns[Q_NODES], sighting->nodes, sizeof sighting->nodes);
    take_name(sighting, columns[Q_NAME]);
    say(sighting, columns[Q_STATE], columns[Q_REASON]);
    return true;
}

enum esp_status slurm_read_queue(const char *text, size_t length, struct batch_sighting **sightings,
                                 size_t *n_sightings, struct esp_error *error)
{
    return read_lines(text, length, read_queue_line,
                      "a line of squeue: id|state|restarts|exit code|times|nodes|name|reason", sightings,
                      n_sightings, error);
}

enum accounting_column { A_ID, A_STATE, A_EXIT, A_SUBMIT, A_START, A_END, A_NODES, A_NAME, A_N };

/* `sacct` prints "code:signal". */
static void take_exit_pair(struct batch_sighting *sighting, struct span text)
{
    struct span code, rest = text;
    int64_t value;
    if (span_next(&rest, ':', &code) && span_number(code, 255, &value))
        sighting->exit_code = (int32_t)value;
    if (rest.data && span_number(rest, 127, &value))
        sighting->signal = (int32_t)value;
}

static bool read_accounting_line(struct span line, struct batch_sighting *sighting)
{
    struct span columns[A_N];
    for (int i = 0; i < A_NAME; i++)
        if (!span_next(&line, '|', &columns[i]))
            return false;
    if (!line.data)
        return false;
    columns[A_NAME] = line;
    if (!span_is_id(columns[A_ID]))
        return false;
    span_copy(columns[A_ID], sighting->id, sizeof sighting->id);
    sighting->hint = hint_of(columns[A_STATE]);
    take_exit_pair(sighting, columns[A_EXIT]);
    sighting->submitted_s = span_time(columns[A_SUBMIT]);
    sighting->started_s = span_time(columns[A_START]);
    sighting->ended_s = span_time(columns[A_END]);
    if (!span_is(columns[A_NODES], "None assigned"))
        span_copy(columns[A_NODES], sighting->nodes, sizeof sighting->nodes);
    take_name(sighting, columns[A_NAME]);
    say(sighting, columns[A_STATE], (struct span){"", 0});
    return true;
}

enum esp_status slurm_read_accounting(const char *text, size_t length, struct batch_sighting **sightings,
                                      size_t *n_sightings, struct esp_error *error)
{
    return read_lines(text, length, read_accounting_line,
                      "a line of sacct: id|state|exit code|times|nodes|name", sightings, n_sightings, error);
}

/* ---- standard error ---- */

static bool has_one_of(const char *text, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

bool slurm_is_no_answer(const char *errors)
{
    /* Texts of slurm_strerror() about the way to slurmctld, about a controller that is starting or
     * overloaded, and about munge, which may be restarting. */
    static const char *const words[] = {"Unable to contact slurm controller",
                                        "Socket timed out on send/recv",
                                        "Zero Bytes were transmitted or received",
                                        "Transport endpoint is not connected",
                                        "Connection refused",
                                        "Connection timed out",
                                        "Communication connection failure",
                                        "Message receive failure",
                                        "Message send failure",
                                        "Unable to connect to server",
                                        "in standby mode",
                                        "temporarily unable to accept job",
                                        "Resource temporarily unavailable",
                                        "Protocol authentication error",
                                        "Munge encode failed",
                                        "Munge decode failed",
                                        NULL};
    return has_one_of(errors, words);
}

bool slurm_is_unknown_job(const char *errors)
{
    static const char *const words[] = {"Invalid job id specified", NULL};
    return has_one_of(errors, words);
}

bool slurm_is_without_accounts(const char *errors)
{
    static const char *const words[] = {"accounting storage is disabled", "accounting_storage/none", NULL};
    return has_one_of(errors, words);
}

/* ---- scontrol ---- */

bool slurm_read_field(const char *text, size_t length, const char *key, char *value, size_t size)
{
    struct span rest = {text, length}, line, word, name;
    while (span_next(&rest, '\n', &line))
        while (span_next(&line, ' ', &word))
            if (span_next(&word, '=', &name) && word.data && span_is(name, key)) {
                span_copy(word, value, size);
                return true;
            }
    return false;
}

int64_t slurm_read_minutes(const char *text)
{
    struct span rest = {text, strlen(text)}, piece, days;
    int64_t parts[3], total = 0, n = 0, n_days = 0;
    const bool has_days = strchr(text, '-') != NULL;
    if (has_days && (!span_next(&rest, '-', &days) || !span_number(days, 100000, &n_days)))
        return -1;
    while (span_next(&rest, ':', &piece)) {
        if (n == 3 || !span_number(piece, 100000000, &parts[n]))
            return -1;
        n++;
    }
    /* With days: hours, minutes, seconds. Without: minutes; minutes, seconds; hours, minutes, seconds. */
    int64_t unit = has_days || n == 3 ? 3600 : 60;
    for (int64_t i = 0; i < n; i++, unit /= 60)
        total += parts[i] * unit;
    return n == 0 ? -1 : n_days * 86400 + total;
}
