/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's orders to the porter of a rank on another host: one piece is fetched into what the rank keeps,
 * so that a later call need not send it. They come over an encrypted connection whose key only the daemon and
 * its ranks have; when that is closed the order is withdrawn.
 */
#include "sed/porter/porter_internal.h"

#include "core/redistribution/pieces.h"

#include <stdio.h>
#include <stdlib.h>

/* One at a time: what a rank may keep is not for many at once. */
static bool begin(struct porter *porter)
{
    pthread_mutex_lock(&porter->lock);
    const bool free_now = !porter->keeping;
    porter->keeping = true;
    pthread_mutex_unlock(&porter->lock);
    return free_now;
}

static void end(struct porter *porter)
{
    pthread_mutex_lock(&porter->lock);
    porter->keeping = false;
    pthread_mutex_unlock(&porter->lock);
}

static enum esp_status fetch_piece(const struct porter_keeper *keeper, const struct porter_order *order,
                                   const struct porter_end *until, struct esp_error *error)
{
    const uint64_t bytes = pieces_count(&order->to, order->place) * order->element_bytes;
    void *held;
    if (keeper->hold(order->name, &order->to, order->place, order->element_bytes, bytes, &held)) {
        keeper->let(held); /* an earlier attempt has fetched it */
        return ESP_OK;
    }
    char *piece = keeper->make(order->name, &order->to, order->place, order->element_bytes, bytes, &held);
    if (!piece)
        return error_set(error, ESP_NO_MEMORY, "it has no room for another piece");
    const enum esp_status status = porter_fetch(order, piece, until, error);
    if (status == ESP_OK)
        keeper->filled(held);
    keeper->let(held);
    return status;
}

static enum esp_status keep(struct porter *porter, const struct porter_order *order, int socket,
                            struct esp_error *error)
{
    const struct porter_end until = {.stop = porter->stop, .order = socket, .stall_ms = (int)order->stall_ms};
    if (order->kind != PORTER_KEEP || !porter_order_is_sound(order) ||
        order->places != block_cyclic_matrix_ranks(&order->to))
        return error_set(error, ESP_PROTOCOL, "the porter was handed a malformed order");
    if (!begin(porter))
        return error_set(error, ESP_BUSY, "it fetches another piece");
    const enum esp_status status = fetch_piece(porter->keeper, order, &until, error);
    end(porter);
    return status;
}

void porter_serve_keep(struct porter *porter, const struct porter_line *line)
{
    struct esp_error error = {.status = ESP_OK};
    struct porter_answer answer = {.kind = PORTER_ENDED};
    const struct porter_end soon = {.stop = porter->stop, .order = -1, .stall_ms = PORTER_CONNECT_MS};
    struct porter_order *order = porter->keeper->make ? malloc(sizeof *order) : NULL;
    if (order && porter_line_hear(line, order, sizeof *order, &soon, NULL) == ESP_OK) {
        answer.status = keep(porter, order, line->socket, &error);
        snprintf(answer.text, sizeof answer.text, "%s", answer.status == ESP_OK ? "" : error.text);
        porter_line_say(line, &answer, sizeof answer, &soon, NULL);
    }
    free(order);
}
