/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data_moving.h"
#include "util/clock.h"

void data_progress_begin(struct data_progress *progress, const struct engine *engine)
{
    progress->since_ns = clock_now_ns(&clock_system);
    progress->patience_ns = engine->call_timeout_ms * NS_PER_MS;
}

bool data_is_late(const struct data_progress *progress)
{
    return clock_now_ns(&clock_system) - progress->since_ns > progress->patience_ns;
}

void data_moved(void *arg, uint64_t bytes)
{
    struct data_progress *progress = arg;
    progress->moved += bytes;
    progress->since_ns = clock_now_ns(&clock_system);
    if (progress->told.tell && progress->bytes > 0)
        progress->told.tell(progress->told.arg, (double)progress->moved / (double)progress->bytes);
}

enum esp_status data_finish(struct engine *engine, const char *address, const char *id, uint64_t ticket,
                            struct esp_error *error)
{
    struct message request = {.kind = MESSAGE_FINISH, .finish = {.datum = id, .ticket = ticket}}, reply = {0};
    enum esp_status status = data_ask(engine, address, &request, &reply, error);
    message_clear(&reply);
    return status;
}

enum esp_status data_move_range(const struct transfer_options *options, const struct ranges *done,
                                uint64_t from, uint64_t to, const void *memory, struct esp_error *error)
{
    struct transfer_options only = *options;
    struct ranges others = {0};
    enum esp_status status = ESP_OK;
    only.memory = (uint8_t *)((uintptr_t)memory - (uintptr_t)from);
    for (uint32_t i = 0; status == ESP_OK && i < done->n; i++)
        status = ranges_add(&others, done->items[i].from, done->items[i].to, error);
    if (status == ESP_OK && from > 0)
        status = ranges_add(&others, 0, from, error);
    if (status == ESP_OK && to < options->bytes)
        status = ranges_add(&others, to, options->bytes, error);
    if (status == ESP_OK)
        status = transfer_run(&only, &others, error);
    ranges_clear(&others);
    return status;
}
