/* SPDX-License-Identifier: Apache-2.0 */
#include "client/jobs/job_end.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT      1
#define STOPPING_MS 5000 /* for a worker that is killed */

static const struct job_end cancelled = {.error = {ESP_CANCELLED, "cancelled"}};

/* ---- the list ---- */

static bool end_read(const char *text, struct job_end *end)
{
    json_t *json = json_loads(text, 0, NULL);
    const json_int_t status = json_integer_value(json_object_get(json, "status"));
    const char *why = json_string_value(json_object_get(json, "text"));
    const bool good = json_integer_value(json_object_get(json, "espalier_job_end")) == FORMAT && why &&
                      status > ESP_OK && status <= INT32_MAX;
    memset(end, 0, sizeof *end);
    if (good) {
        error_set(&end->error, (enum esp_status)status, "%s", why);
        end->wanted = json_is_true(json_object_get(json, "wanted"));
        end->compute_s = json_number_value(json_object_get(json, "computed"));
    }
    json_decref(json);
    return good;
}

bool job_end_known(const struct job_record *record, struct job_end *end)
{
    char id[SESSION_TEXT], *text = NULL;
    memset(end, 0, sizeof *end);
    const bool known = job_store_read_end(job_id(record, id), &text) && end_read(text, end);
    free(text);
    return known;
}

enum esp_status job_end_note(const struct job_record *record, const struct job_end *end,
                             struct esp_error *error)
{
    char id[SESSION_TEXT];
    job_id(record, id);
    if (!job_store_has(id))
        return ESP_OK;
    json_t *json =
        json_pack("{s:i, s:i, s:s, s:b, s:f}", "espalier_job_end", FORMAT, "status", (int)end->error.status,
                  "text", end->error.text, "wanted", end->wanted, "computed", end->compute_s);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    enum esp_status status =
        text ? job_store_write_end(id, text, error) : error_no_memory(error, "the end of a job");
    if (status == ESP_OK && !end->wanted)
        job_store_remove_call(id); /* it has no more use */
    if (status == ESP_OK && !job_store_has(id))
        job_store_remove_end(id); /* it was forgotten meanwhile */
    free(text);
    json_decref(json);
    return status;
}

static void end_unnote(const struct job_record *record)
{
    char id[SESSION_TEXT];
    job_store_remove_end(job_id(record, id));
}

/* ---- what servers say ---- */

static bool has_ended(const struct session_report *report)
{
    return report->state == SESSION_DONE || report->state == SESSION_FAILED ||
           report->state == SESSION_CANCELLED;
}

void job_end_take(const struct job_record *record, const struct session_report *report)
{
    struct job_end before, end = {.compute_s = report->timings.compute_s};
    const bool known = job_end_known(record, &before);
    const bool called_off = known && before.error.status == ESP_CANCELLED;
    if (report->state == SESSION_DONE && called_off) {
        end_unnote(record); /* it was too late */
        return;
    }
    if (report->state == SESSION_FAILED ? known && !before.wanted
                                        : report->state != SESSION_CANCELLED || !before.wanted)
        return;
    const enum esp_status status = report->outcome.status            ? (enum esp_status)report->outcome.status
                                   : report->state == SESSION_FAILED ? ESP_FAILED
                                                                     : ESP_CANCELLED;
    const char *text = report->outcome.text;
    error_set(&end.error, status, "%s", text && *text ? text : esp_status_string(status));
    job_end_note(record, &end, NULL); /* best effort: the server has it, too */
}

/* ---- cancelling ---- */

/* Its end, when it comes soon. */
static enum esp_status await_end(struct engine *engine, const struct job_record *record, enum job_fate *fate,
                                 struct esp_error *error)
{
    const struct follow follow = {.seen = UINT64_MAX, .progress = 2, .patience_ms = STOPPING_MS};
    struct message reply = {0};
    enum esp_status status = job_ask(engine, record, &follow, &reply, fate, error);
    if (status == ESP_OK && has_ended(&reply.follow_reply.session))
        job_end_take(record, &reply.follow_reply.session);
    message_clear(&reply);
    return status;
}

void job_stop(struct engine *engine, const struct job_record *record)
{
    enum job_fate fate;
    struct esp_error ignored;
    if (job_cancel(engine, record, engine->call_timeout_ms, &fate, &ignored) == ESP_OK)
        await_end(engine, record, &fate, &ignored);
}

bool job_end_instead(const struct job_record *record, enum job_fate fate, struct job_end *end,
                     struct esp_error *why)
{
    char id[SESSION_TEXT];
    if (fate == JOB_THERE || !job_end_known(record, end))
        return false;
    if (!end->wanted)
        return true;
    if (fate == JOB_LOST || fate == JOB_OVER) { /* nobody computes it */
        end->wanted = false;
        job_end_note(record, end, NULL);
        return true;
    }
    error_set(
        why, ESP_UNREACHABLE,
        "job %s is cancelled in your list and not called again, but server %s at %s does not answer and "
        "may still compute it: it is told when it answers and the job is looked after ('espalier jobs')",
        job_id(record, id), record->server, record->address);
    return false;
}

/* A list that cannot be written must not keep a computation running: without its arguments it is not called
 * again either. */
static void note_wish(const struct job_record *record)
{
    char id[SESSION_TEXT];
    struct job_end wish = cancelled;
    wish.wanted = true;
    if (job_end_note(record, &wish, NULL) != ESP_OK)
        job_store_remove_call(job_id(record, id));
}

enum esp_status job_call_off(struct engine *engine, struct job_record *record, int64_t timeout_ms,
                             struct esp_error *error)
{
    struct job_end end;
    struct esp_error why = {0};
    enum job_fate fate = JOB_THERE;
    if (job_end_known(record, &end) && !end.wanted)
        return ESP_OK;
    note_wish(record);
    job_refresh(record); /* whoever calls it again sees the note, or is seen here */
    enum esp_status status = job_cancel(engine, record, timeout_ms, &fate, &why);
    if (status == ESP_OK)
        status = await_end(engine, record, &fate, &why);
    if (status == ESP_OK)
        return ESP_OK;
    if (fate == JOB_THERE || fate == JOB_OVER)
        end_unnote(record);
    else if (job_end_instead(record, fate, &end, &why))
        return ESP_OK;
    return error_set(error, why.status, "%s", why.text);
}
