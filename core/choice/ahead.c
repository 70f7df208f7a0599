/* SPDX-License-Identifier: Apache-2.0 */
#include "core/choice/ahead.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#define WISH_BYTES 9

bool ahead_ask(struct request *request, const struct ahead_wish *wish, struct arena *arena)
{
    uint8_t bytes[WISH_BYTES] = {(uint8_t)(wish->n < AHEAD_MOST ? wish->n : AHEAD_MOST)};
    uint64_t word;
    memcpy(&word, &wish->mean_s, sizeof word);
    word = htole64(word);
    memcpy(bytes + 1, &word, sizeof word);
    return extension_add(&request->extensions, EXTENSION_AHEAD, bytes, sizeof bytes, arena);
}

struct ahead_wish ahead_asked(const struct request *request)
{
    const struct extension *extension = extension_find(&request->extensions, EXTENSION_AHEAD);
    struct ahead_wish wish = {0};
    uint64_t word;
    if (!extension || extension->length != WISH_BYTES)
        return wish;
    memcpy(&word, extension->value + 1, sizeof word);
    word = le64toh(word);
    memcpy(&wish.mean_s, &word, sizeof word);
    if (!(isfinite(wish.mean_s) && wish.mean_s > 0))
        return (struct ahead_wish){0};
    wish.n = extension->value[0] < AHEAD_MOST ? extension->value[0] : AHEAD_MOST;
    return wish;
}

bool ahead_tell(struct submit_reply *reply, const uint8_t *order, uint32_t n, struct arena *arena)
{
    return n == 0 || extension_add(&reply->extensions, EXTENSION_AHEAD, order, n, arena);
}

uint32_t ahead_told(const struct submit_reply *reply, uint32_t n_candidates, uint8_t order[AHEAD_MOST])
{
    const struct extension *extension = extension_find(&reply->extensions, EXTENSION_AHEAD);
    uint32_t n = 0;
    while (extension && n < extension->length && n < AHEAD_MOST && extension->value[n] < n_candidates) {
        order[n] = extension->value[n];
        n++;
    }
    return n;
}
