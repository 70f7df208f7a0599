/* SPDX-License-Identifier: Apache-2.0 */
#include "client/data/data_moving.h"
#include "client/session/deadline.h"
#include "util/clock.h"

#define LEAST_MS 200

void data_progress_begin(struct data_progress *progress, const struct engine *engine)
{
    const int64_t left_ms = deadline_left_ms(engine->clock, INT64_MAX);
    progress->since_ns = clock_now_ns(&clock_system);
    progress->patience_ns = engine->call_timeout_ms * NS_PER_MS;
    progress->until_ns =
        left_ms < CLOCK_NEVER / NS_PER_MS / 2 ? progress->since_ns + left_ms * NS_PER_MS : CLOCK_NEVER;
}

bool data_is_late(const struct data_progress *progress)
{
    const int64_t now_ns = clock_now_ns(&clock_system);
    return now_ns - progress->since_ns > progress->patience_ns || now_ns > progress->until_ns;
}

static int64_t until_ms(const struct data_progress *progress, int64_t then_ns)
{
    const int64_t end_ns = then_ns < progress->until_ns ? then_ns : progress->until_ns,
                  left_ms = (end_ns - clock_now_ns(&clock_system)) / NS_PER_MS;
    return left_ms > LEAST_MS ? left_ms : LEAST_MS;
}

int64_t data_left_ms(const struct data_progress *progress)
{
    return until_ms(progress, progress->since_ns + progress->patience_ns);
}

int64_t data_chunk_ms(const struct data_progress *progress, unsigned patiences)
{
    return until_ms(progress, clock_now_ns(&clock_system) + patiences * progress->patience_ns);
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
