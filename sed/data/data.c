/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/data/data_internal.h"

#include "core/choice/aggregate.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define LOOK_NS     (5 * NS_PER_S)
#define RETRY_NS    (20 * NS_PER_MS) /* after the store was too busy for a session */
#define MOST_LISTED 256u

/* ---- what there is ---- */

static enum esp_status look_one(struct server_data *data, const struct asker *asker, const char *datum,
                                struct message *reply, struct esp_error *error)
{
    struct datum_id id;
    struct store_entry entry;
    struct data_reply *to = &reply->data_reply;
    enum esp_status status = datum_id_parse(datum, &id, error);
    if (status == ESP_OK)
        status = store_look(data->store, &asker->is, &id, &entry, error);
    if (status != ESP_OK)
        return status;
    to->items = arena_alloc(&reply->arena, sizeof *to->items);
    if (!to->items || !data_record(data, &entry, &reply->arena, to->items))
        return error_no_memory(error, "a list of data");
    to->n = 1;
    return ESP_OK;
}

static enum esp_status look_all(struct server_data *data, const struct asker *asker, const struct data *asked,
                                struct message *reply, struct esp_error *error)
{
    struct datum_id after = {0};
    struct data_reply *to = &reply->data_reply;
    size_t limit = asked->limit > 0 && asked->limit < MOST_LISTED ? asked->limit : MOST_LISTED;
    if (asked->after[0] && datum_id_parse(asked->after, &after, error) != ESP_OK)
        return error->status;
    struct store_entry *entries = calloc(limit, sizeof *entries);
    to->items = arena_alloc(&reply->arena, limit * sizeof *to->items);
    bool whole = entries && to->items;
    size_t n = whole ? store_list(data->store, &asker->is, after.key, entries, limit) : 0;
    for (size_t i = 0; whole && i < n; i++)
        whole = data_record(data, &entries[i], &reply->arena, &to->items[to->n++]);
    to->more = n == limit;
    free(entries);
    return whole ? ESP_OK : error_no_memory(error, "a list of data");
}

static void on_data(struct server_data *data, struct call *call, const struct data *asked)
{
    if (extension_find(&asked->extensions, EXTENSION_DAMAGED)) {
        data_on_damaged(data, call, asked);
        return;
    }
    struct asker asker;
    struct esp_error error;
    struct message *reply = message_create(MESSAGE_DATA_REPLY);
    data_asker_of(data, call, &asked->extensions, &asker);
    asker.is.trusted = asked->datum[0] && data_is_server(data, asker.identity);
    enum esp_status status = !reply            ? error_no_memory(&error, "a list of data")
                             : asked->datum[0] ? look_one(data, &asker, asked->datum, reply, &error)
                                               : look_all(data, &asker, asked, reply, &error);
    if (status != ESP_OK) {
        message_destroy(reply);
        reply = message_failure(MESSAGE_DATA_REPLY, status, "%s", error.text);
    }
    struct datum_id id;
    if (reply && asked->datum[0] && datum_id_parse(asked->datum, &id, NULL) == ESP_OK)
        copies_tell(data, id.key,
                    reply); /* a server that has the datum no more may know which servers have it */
    call_reply(call, reply);
}

/* ---- calls ---- */

bool server_data_on_call(struct server_data *data, struct call *call, const struct message *request)
{
    if (request->kind < MESSAGE_OFFER || request->kind > MESSAGE_PULL)
        return false;
    if (!data->store) {
        /* A sender of `finish` would take ESP_REFUSED to mean that the datum is here. */
        const enum esp_status status = request->kind == MESSAGE_FINISH ? ESP_NOT_FOUND : ESP_REFUSED;
        call_reply(call, message_failure(message_reply_kind(request->kind), status,
                                         "server %s keeps no data (store_memory = 0 in its file)",
                                         data->options.name));
        return true;
    }
    switch (request->kind) {
    case MESSAGE_OFFER:
        data_on_offer(data, call, &request->offer);
        break;
    case MESSAGE_OPEN:
        data_on_open(data, call, &request->open);
        break;
    case MESSAGE_FINISH:
        data_on_finish(data, call, &request->finish);
        break;
    case MESSAGE_DROP:
        if (!rescue_on_drop(data, call, &request->drop))
            data_on_drop(data, call, &request->drop);
        break;
    case MESSAGE_DATA:
        on_data(data, call, &request->data);
        break;
    default:
        if (!rescue_on_pull(data, call, &request->pull))
            data_on_pull(data, call, request);
    }
    return true;
}

bool server_data_abandoned(struct server_data *data, struct call *call)
{
    struct chore *chore;
    DL_FOREACH(data->chores, chore)
    if (chore->call == call) {
        chore->call = NULL;
        return true;
    }
    return loans_abandoned(data, call) || pull_abandoned(data, call);
}

/* ---- what agents and administrators hear ---- */

static void data_news(void *self, const struct datum_id *id, uint64_t bytes, enum store_news news)
{
    struct server_data *data = self;
    if (news == STORE_ARRIVED)
        location_add(data->location, data->here, id->key, bytes, NULL);
    else
        location_remove(data->location, data->here, id->key);
    if (news != STORE_ARRIVED && data->replication)
        replication_forget(data->replication, id->key);
    if (news == STORE_DAMAGED)
        rescue_begin(data, id, false);
    if (data->endpoint)
        data->ops->news(data->server);
}

void server_data_report(struct server_data *data, bool complete, struct message *message)
{
    if (data->location && !location_tell(data->location, complete, message))
        log_error("out of memory for telling the parent of data");
}

bool server_data_has_news(const struct server_data *data)
{
    return data->location && location_has_changes(data->location);
}

void server_data_answer(const struct server_data *data, const struct request *request, bool certified,
                        struct message *answer)
{
    struct response *response = &answer->answer.response;
    if (!data->store || !request_has_data(request))
        return;
    response->data = arena_alloc(&answer->arena, request->n_arguments * sizeof *response->data);
    for (uint32_t i = 0; response->data && i < request->n_arguments; i++) {
        struct datum_id id;
        const struct argument_attribute *argument = &request->arguments[i];
        if (datum_id_parse(argument->datum, &id, NULL) != ESP_OK || !store_has(data->store, id.key))
            continue;
        response->data[response->n_data++] =
            (struct data_location){argument->index, data->options.name, {.known = true}};
        if (certified) /* without memory the answer does not say it */
            data_tell_fetchers(data, argument->index, &id, response, &answer->arena);
    }
}

void server_data_metrics(const struct server_data *data, struct metrics *metrics)
{
    struct store_counts counts;
    struct replication_counts replicas = {0};
    if (!data->store)
        return;
    store_count(data->store, &counts);
    if (data->replication)
        replication_count(data->replication, &replicas);
    metrics_gauge(metrics, "espalier_server_data", counts.data, "Data that live here, replicas included.");
    metrics_gauge(metrics, "espalier_server_data_memory_bytes", (double)counts.memory_bytes,
                  "Memory that data use, unfinished ones included.");
    metrics_gauge(metrics, "espalier_server_data_pinned_bytes", (double)counts.pinned_bytes,
                  "What of it sessions and transfers use.");
    metrics_gauge(metrics, "espalier_server_data_disk_bytes", (double)counts.disk_bytes,
                  "Disk that files of data use.");
    metrics_gauge(metrics, "espalier_server_replicas", replicas.copies,
                  "Copies of data of this server that other servers may keep.");
    metrics_gauge(metrics, "espalier_server_replica_bytes", (double)replicas.copied_bytes, "Bytes of them.");
    metrics_counter(metrics, "espalier_server_data_dropped_total", (double)counts.dropped,
                    "Volatile data and replicas that were dropped.");
    metrics_counter(metrics, "espalier_server_data_damaged_total", (double)counts.damaged,
                    "Files of data that were damaged, and set aside.");
    metrics_gauge(metrics, "espalier_server_data_aside", counts.aside,
                  "Damaged files that were set aside, and are there still.");
    metrics_gauge(metrics, "espalier_server_data_aside_bytes", (double)counts.aside_bytes, "Bytes of them.");
    metrics_counter(metrics, "espalier_server_data_rescued_total", (double)data->rescued,
                    "Damaged originals whose place a copy on another server has taken.");
}

/* ---- life ---- */

static void verified(struct chore *chore, enum esp_status status, const struct esp_error *error)
{
    if (status == ESP_NOT_FOUND)
        log_error("%s", error->text);
    chore->data->verifying = false;
    chore->data->due_ns = 0; /* verify the next file */
}

/* Reads a file that was not read since the start, one at a time while nothing computes. */
static void verify_next(struct server_data *data)
{
    if (data->verifying || !data->ops->is_idle(data->server) || data->leaving)
        return;
    struct store_work *work = store_check_next(data->store);
    if (!work)
        return;
    struct chore *chore = chore_for(NULL, NULL, verified);
    if (!chore) { /* the work has to be done in any case */
        store_work_do(work);
        store_work_end(data->store, work, NULL);
        return;
    }
    data->verifying = true;
    server_data_chore(data, chore, work);
}

void server_data_tick(struct server_data *data, int64_t now_ns)
{
    if (!data->store || !data->endpoint || now_ns < data->due_ns)
        return;
    if (data->blocked) {
        data->blocked = false;
        data->ops->room(data->server);
    }
    tickets_tick(data, now_ns);
    untaken_tick(data, now_ns);
    verify_next(data);
    int64_t due = store_tick(data->store), rescues = rescues_tick(data, now_ns),
            returned = returned_tick(data, now_ns);
    due = rescues < due ? rescues : due;
    due = returned < due ? returned : due;
    int64_t latest = now_ns + (data->blocked ? RETRY_NS : LOOK_NS);
    data->due_ns = due < latest && due > now_ns ? due : latest;
}

/* Data that the start found in files are news for agents, too. */
static void found_again(void *self, const struct datum_id *id, uint64_t bytes)
{
    const struct server_data *data = self;
    location_add(data->location, data->here, id->key, bytes, NULL);
}

static void found_damaged(void *self, struct datum_key key)
{
    struct server_data *data = self;
    struct datum_id id = {.key = key};
    snprintf(id.origin, sizeof id.origin, "%s", data->options.name); /* the true origin is in the file */
    rescue_begin(data, &id, true);
}

/* The parts that a server without data lacks. Takes the files over, also when it fails. */
static enum esp_status make_store(struct server_data *data, struct esp_error *error)
{
    const struct server_data_options *options = &data->options;
    struct store_options store = {.node = options->name,
                                  .segments = options->segments,
                                  .files = options->files,
                                  .clock = options->clock,
                                  .memory_bytes = options->store_memory,
                                  .disk_bytes = options->store_disk,
                                  .client_lease_ns = options->data_lease_ns,
                                  .passing_ns = options->replica_rest_ns,
                                  .news = data_news,
                                  .arg = data};
    const struct location_options location = {.seed = options->seed, .track = true};
    enum esp_status status = location_create(&location, &data->location, error);
    if (status == ESP_OK)
        status = location_child(data->location, &data->here, error);
    if (status == ESP_OK)
        status = replicas_create(data, error);
    if (status == ESP_OK)
        return store_create(&store, &data->store, error);
    if (options->files)
        options->files->ops->destroy(options->files);
    return status;
}

enum esp_status server_data_create(const struct server_data_options *options,
                                   const struct server_data_ops *ops, void *server,
                                   struct server_data **result, struct esp_error *error)
{
    struct server_data *data = calloc(1, sizeof *data);
    if ((!data || options->store_memory == 0) && options->files)
        options->files->ops->destroy(options->files);
    if (!data)
        return error_no_memory(error, "the data of a server");
    data->options = *options;
    data->ops = ops;
    data->server = server;
    data->errands = options->errands;
    data->due_ns = options->store_memory > 0 ? data_now(data) + LOOK_NS : CLOCK_NEVER;
    enum esp_status status = options->store_memory > 0 ? make_store(data, error) : ESP_OK;
    if (status == ESP_OK && data->store) {
        store_each(data->store, found_again, data);
        returned_begin(data);
        status = store_each_damaged(data->store, found_damaged, data, error);
    }
    if (status == ESP_OK)
        *result = data;
    else
        server_data_destroy(data);
    return status;
}

void server_data_destroy(struct server_data *data)
{
    if (!data)
        return;
    if (data->store)
        tickets_release(data);
    untaken_release(data);
    copies_release(data);
    rescues_release(data);
    returned_release(data);
    store_destroy(data->store); /* does not call data_news() */
    replication_destroy(data->replication);
    location_destroy(data->location);
    free(data);
}

void server_data_start(struct server_data *data, struct endpoint *endpoint)
{
    data->endpoint = endpoint;
}

void server_data_stop(struct server_data *data)
{
    data->leaving = true;
    pull_stop_all(data);
}

int64_t server_data_due(const struct server_data *data)
{
    return data->due_ns;
}

/* ---- what sessions use ---- */

struct store *server_data_store(const struct server_data *data)
{
    return data->store;
}

bool server_data_submit(struct server_data *data, struct thread_job *job)
{
    return data->errands && !data->leaving && data->errands->submit(data->errands, job);
}

void server_data_block(struct server_data *data)
{
    data->blocked = true;
    data->due_ns = 0; /* the tick sets when to try again */
}

const struct laying *server_data_laying(const struct server_data *data, struct datum_key key)
{
    return layings_find(&data->layings, key);
}
