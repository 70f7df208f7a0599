/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of administrators for nodes: one call to an agent above the node.
 */
#include "client/session/engine.h"
#include "client/session/library.h"

#include <stdlib.h>
#include <string.h>

/* An order goes down the tree and its answer comes up; the agents wait for at most 5 s. */
#define ORDER_MS  6000
#define ANSWER_MS 1000 /* for the agent's own answer afterwards */

enum esp_status esp_administer(const char *address, const char *node, const char *verb,
                               const char *const *words, size_t n_words, uint64_t *generation, char **text)
{
    struct esp_error *error = library_error();
    if (!address || !verb || (n_words > 0 && !words))
        return error_set(error, ESP_INVALID, "expected an address, a verb and its words, found NULL");
    if (n_words > CAP_WORDS)
        return error_set(error, ESP_INVALID, "expected at most %d words, found %zu", CAP_WORDS, n_words);
    struct library *library = library_enter(error);
    if (!library)
        return error->status;
    /* The agent reports in time if the node does not answer. */
    const int64_t left_ms = deadline_left_ms(transport_clock(library->transport), ORDER_MS + ANSWER_MS),
                  order_ms = left_ms > 2 * ANSWER_MS ? left_ms - ANSWER_MS : left_ms / 2;
    const struct message request = {.kind = MESSAGE_ADMINISTER,
                                    .administer = {.node = node ? node : "",
                                                   .verb = verb,
                                                   .words = (const char **)words,
                                                   .n_words = (uint32_t)n_words,
                                                   .generation = generation ? *generation : 0,
                                                   .time_left_ms = order_ms}};
    struct message reply = {0};
    enum esp_status status =
        deadline_call(library->transport, address, &request, ORDER_MS + ANSWER_MS, &reply, error);
    library_leave(status == ESP_OK);
    if (status == ESP_OK && text && !(*text = strdup(reply.administer_reply.text)))
        status = error_no_memory(error, "an answer");
    if (generation && reply.kind == MESSAGE_ADMINISTER_REPLY)
        *generation = reply.administer_reply.generation;
    message_clear(&reply);
    return status;
}
