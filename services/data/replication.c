/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/replication.h"

#include "util/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ASKS        3.0
#define HALF_LIFE   (60 * NS_PER_S)
#define MOST_COPIES 4
#define MOST_DATA   4096
#define LAPSE_LIVES 60.0 /* half-lives without a request, after which a copy counts as gone */

struct asker {
    char *name;
    double asks; /* as of `at_ns` */
    int64_t at_ns;
    bool has_copy;
};

struct watched {
    struct datum_key key;
    uint64_t bytes;
    struct asker askers[REPLICATION_ASKERS];
    uint32_t n_askers, n_copies;
    struct watched *prev, *next; /* the one asked for longest ago first */
    UT_hash_handle hh;
};

struct replication {
    struct replication_options options;
    struct watched *data;  /* hash */
    struct watched *order; /* list */
    struct replication_counts counts;
};

static double decayed(const struct replication *replication, const struct asker *asker, int64_t now_ns)
{
    double lives = (double)(now_ns - asker->at_ns) / (double)replication->options.half_life_ns;
    return asker->asks * exp2(-lives);
}

/* ---- servers with a copy ---- */

static void lose_copy(struct replication *replication, struct watched *watched, struct asker *asker)
{
    if (!asker->has_copy)
        return;
    asker->has_copy = false;
    watched->n_copies--;
    replication->counts.copies--;
    replication->counts.copied_bytes -= watched->bytes;
}

static void forget_asker(struct replication *replication, struct watched *watched, struct asker *asker)
{
    lose_copy(replication, watched, asker);
    free(asker->name);
    *asker = watched->askers[--watched->n_askers];
}

static void forget(struct replication *replication, struct watched *watched)
{
    while (watched->n_askers > 0)
        forget_asker(replication, watched, &watched->askers[0]);
    HASH_DEL(replication->data, watched);
    DL_DELETE(replication->order, watched);
    replication->counts.data--;
    free(watched);
}

/* ---- servers that ask ---- */

static struct watched *find(const struct replication *replication, struct datum_key key)
{
    struct watched *watched;
    HASH_FIND(hh, replication->data, &key, sizeof key, watched);
    return watched;
}

static struct watched *watch(struct replication *replication, struct datum_key key, uint64_t bytes)
{
    struct watched *watched = find(replication, key);
    if (watched) {
        DL_DELETE(replication->order, watched);
        DL_APPEND(replication->order, watched);
        return watched;
    }
    if (replication->counts.data >= replication->options.most_data)
        forget(replication, replication->order);
    if (!(watched = calloc(1, sizeof *watched)))
        return NULL;
    watched->key = key;
    watched->bytes = bytes;
    HASH_ADD(hh, replication->data, key, sizeof watched->key, watched);
    if (!watched->hh.tbl) {
        free(watched);
        return NULL;
    }
    DL_APPEND(replication->order, watched);
    replication->counts.data++;
    return watched;
}

static struct asker *find_asker(struct watched *watched, const char *who)
{
    for (uint32_t i = 0; i < watched->n_askers; i++)
        if (strcmp(watched->askers[i].name, who) == 0)
            return &watched->askers[i];
    return NULL;
}

/* Returns the asker without a copy that asks least, which a new one replaces. */
static struct asker *least_asker(const struct replication *replication, struct watched *watched,
                                 int64_t now_ns)
{
    struct asker *least = NULL;
    for (uint32_t i = 0; i < watched->n_askers; i++) {
        struct asker *asker = &watched->askers[i];
        if (!asker->has_copy &&
            (!least || decayed(replication, asker, now_ns) < decayed(replication, least, now_ns)))
            least = asker;
    }
    return least;
}

static struct asker *note_asker(struct replication *replication, struct watched *watched, const char *who,
                                int64_t now_ns)
{
    struct asker *asker = find_asker(watched, who);
    if (!asker) {
        if (watched->n_askers == REPLICATION_ASKERS) {
            struct asker *least = least_asker(replication, watched, now_ns);
            if (!least)
                return NULL;
            forget_asker(replication, watched, least);
        }
        char *name = strdup(who);
        if (!name)
            return NULL;
        asker = &watched->askers[watched->n_askers++];
        *asker = (struct asker){.name = name, .at_ns = now_ns};
    }
    asker->asks = decayed(replication, asker, now_ns) + 1;
    asker->at_ns = now_ns;
    return asker;
}

/* Drops copies that were silent for long, because a server that is gone for good is not reported. */
static void lapse_copies(struct replication *replication, struct watched *watched, int64_t now_ns)
{
    double lapse_ns = LAPSE_LIVES * (double)replication->options.half_life_ns;
    for (uint32_t i = 0; i < watched->n_askers; i++)
        if ((double)(now_ns - watched->askers[i].at_ns) > lapse_ns)
            lose_copy(replication, watched, &watched->askers[i]);
}

/* ---- the decision ---- */

static double all_asks(const struct replication *replication, const struct watched *watched, int64_t now_ns)
{
    double sum = 0;
    for (uint32_t i = 0; i < watched->n_askers; i++)
        sum += decayed(replication, &watched->askers[i], now_ns);
    return sum;
}

/* Whether the asker is among the most frequent ones without a copy, as many as there are copies left. */
static bool is_among_the_first(const struct replication *replication, const struct watched *watched,
                               const struct asker *asker, int64_t now_ns)
{
    uint32_t ahead = 0;
    for (uint32_t i = 0; i < watched->n_askers; i++) {
        const struct asker *other = &watched->askers[i];
        ahead += other != asker && !other->has_copy && decayed(replication, other, now_ns) > asker->asks;
    }
    return ahead < replication->options.most_copies - watched->n_copies;
}

static bool deserves_copy(const struct replication *replication, const struct watched *watched,
                          const struct asker *asker, int64_t now_ns)
{
    uint64_t most = replication->options.most_bytes, used = replication->counts.copied_bytes;
    return watched->n_copies < replication->options.most_copies &&
           (most == 0 || (used <= most && watched->bytes <= most - used)) &&
           asker->asks > 1 && /* it has asked before, recently */
           all_asks(replication, watched, now_ns) >= replication->options.asks &&
           is_among_the_first(replication, watched, asker, now_ns);
}

bool replication_asked(struct replication *replication, struct datum_key key, uint64_t bytes, const char *who)
{
    int64_t now_ns = clock_now_ns(replication->options.clock);
    struct watched *watched = watch(replication, key, bytes);
    struct asker *asker = watched ? note_asker(replication, watched, who, now_ns) : NULL;
    if (!asker)
        return false;
    lapse_copies(replication, watched, now_ns);
    lose_copy(replication, watched, asker); /* it would not ask if it still had the copy */
    if (!deserves_copy(replication, watched, asker, now_ns))
        return false;
    asker->has_copy = true;
    watched->n_copies++;
    replication->counts.copies++;
    replication->counts.copied_bytes += watched->bytes;
    return true;
}

void replication_dropped(struct replication *replication, struct datum_key key, const char *who)
{
    struct watched *watched = find(replication, key);
    struct asker *asker = watched ? find_asker(watched, who) : NULL;
    if (asker)
        lose_copy(replication, watched, asker);
}

void replication_server_gone(struct replication *replication, const char *who)
{
    struct watched *watched;
    DL_FOREACH(replication->order, watched)
    {
        struct asker *asker = find_asker(watched, who);
        if (asker)
            forget_asker(replication, watched, asker);
    }
}

void replication_forget(struct replication *replication, struct datum_key key)
{
    struct watched *watched = find(replication, key);
    if (watched)
        forget(replication, watched);
}

void replication_count(const struct replication *replication, struct replication_counts *counts)
{
    *counts = replication->counts;
}

enum esp_status replication_create(const struct replication_options *options, struct replication **result,
                                   struct esp_error *error)
{
    struct replication *replication = calloc(1, sizeof *replication);
    if (!replication)
        return error_no_memory(error, "the watch on data");
    struct replication_options *own = &replication->options;
    *own = *options;
    if (own->asks <= 0)
        own->asks = ASKS;
    if (own->half_life_ns <= 0)
        own->half_life_ns = HALF_LIFE;
    if (own->most_copies == 0)
        own->most_copies = MOST_COPIES;
    if (own->most_copies > REPLICATION_ASKERS)
        own->most_copies = REPLICATION_ASKERS;
    if (own->most_data == 0)
        own->most_data = MOST_DATA;
    *result = replication;
    return ESP_OK;
}

void replication_destroy(struct replication *replication)
{
    if (!replication)
        return;
    while (replication->order)
        forget(replication, replication->order);
    free(replication);
}
