/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the ranks (core/forecast/parallel_profile.h): from what they measure, from what calls
 * take, and in a file from one start of the server to the next.
 */
#include "sed/ranks/ranks_pool.h"

#include "util/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAVE_NS (60 * NS_PER_S) /* between two writings */

/* A server that starts on a fresh disk goes on with what it, or somebody, has written elsewhere. */
static void take_told(struct rank_pool *pool)
{
    struct parallel_profile told;
    struct esp_error error;
    const char *text = pool->options.told;
    if (!text)
        return;
    if (parallel_profile_read(text, strlen(text), &told, &error) != ESP_OK)
        log_warning("what was told of the ranks is not heeded: %s", error.text);
    else if (told.ranks != pool->options.ranks)
        log_warning("what was told of %u ranks is not heeded: there are %u", told.ranks, pool->options.ranks);
    else {
        pool->profile = told;
        log_notice("forecasts for %u ranks begin with what was told of them", told.ranks);
    }
}

void ranks_profile_load(struct rank_pool *pool)
{
    char aside[4200];
    struct esp_error error = {0};
    pool->profile.ranks = pool->options.ranks;
    struct parallel_profile kept;
    enum esp_status status =
        pool->profile_path ? parallel_profile_load(pool->profile_path, &kept, &error) : ESP_NOT_FOUND;
    if (status == ESP_NOT_FOUND)
        take_told(pool);
    if (status == ESP_OK && kept.ranks == pool->options.ranks) {
        pool->profile = kept;
        log_notice("%s: forecasts for %u ranks go on as they were", pool->profile_path, kept.ranks);
    } else if (status == ESP_INVALID) {
        snprintf(aside, sizeof aside, "%s.damaged", pool->profile_path);
        log_warning("%s; it is set aside as %s, and what calls take is learned anew", error.text, aside);
        if (rename(pool->profile_path, aside) != 0)
            log_warning("%s cannot be renamed: %s", pool->profile_path, strerror(errno));
    }
}

void ranks_profile_measured(struct rank_pool *pool)
{
    const struct rank_speed *is = &pool->speed;
    parallel_profile_measured(&pool->profile, is->flops, is->update_s, is->latency_s, is->byte_s);
    pool->profile_changed = true;
}

void ranks_profile_learn(struct rank_pool *pool, const struct gang *gang, int64_t now_ns)
{
    const struct job *job = &gang->handoff.job;
    parallel_profile_learn(&pool->profile, job->implementation->symbol, job->forecast_s,
                           (double)(now_ns - gang->started_ns) / 1e9);
    pool->profile_changed = true;
}

static bool write_whole(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "we");
    bool whole =
        file && fwrite(text, 1, length, file) == length && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (file && fclose(file) != 0)
        whole = false;
    return whole;
}

void ranks_profile_save(struct rank_pool *pool, bool now)
{
    static const char fresh_ending[] = ".new";
    struct parallel_profile profile;
    char text[PROFILE_MOST_TEXT], fresh[4200];
    pthread_mutex_lock(&pool->lock);
    bool due = pool->profile_path && pool->profile_changed &&
               (now || ranks_now_ns() - pool->profile_saved_ns >= SAVE_NS);
    if (due) {
        profile = pool->profile;
        pool->profile_changed = false;
        pool->profile_saved_ns = ranks_now_ns();
    }
    pthread_mutex_unlock(&pool->lock);
    if (!due)
        return;
    snprintf(fresh, sizeof fresh, "%s%s", pool->profile_path, fresh_ending);
    size_t length = parallel_profile_write(&profile, text);
    if (!write_whole(fresh, text, length) || rename(fresh, pool->profile_path) != 0)
        log_warning("%s cannot be written: %s", pool->profile_path, strerror(errno));
}
