/* SPDX-License-Identifier: Apache-2.0 */
#include "core/message/session_ranks.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool session_ranks_put(const struct session_ranks *ranks, struct extensions *extensions, struct arena *arena)
{
    const uint32_t numbers[] = {htole32(ranks->first), htole32(ranks->rows), htole32(ranks->cols),
                                htole32(ranks->block)};
    return extension_add(extensions, EXTENSION_SESSION_RANKS, numbers, sizeof numbers, arena);
}

struct session_ranks session_ranks_get(const struct extensions *extensions)
{
    const struct extension *extension = extension_find(extensions, EXTENSION_SESSION_RANKS);
    uint32_t numbers[4];
    if (!extension || extension->length != sizeof numbers)
        return (struct session_ranks){0};
    memcpy(numbers, extension->value, sizeof numbers);
    const struct session_ranks ranks = {le32toh(numbers[0]), le32toh(numbers[1]), le32toh(numbers[2]),
                                        le32toh(numbers[3])};
    return ranks.rows > 0 && ranks.cols > 0 ? ranks : (struct session_ranks){0};
}

const char *session_ranks_text(const struct session_ranks *ranks, char text[SESSION_RANKS_TEXT])
{
    const uint64_t n = (uint64_t)ranks->rows * ranks->cols;
    if (n == 0)
        return "a worker";
    if (n == 1)
        snprintf(text, SESSION_RANKS_TEXT, "rank %u, blocks of %u", ranks->first, ranks->block);
    else
        snprintf(text, SESSION_RANKS_TEXT, "ranks %u to %" PRIu64 " as %u x %u, blocks of %u", ranks->first,
                 ranks->first + n - 1, ranks->rows, ranks->cols, ranks->block);
    return text;
}
