/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of the ranks (core/forecast/parallel_profile.h): from what they measure, from what calls
 * take, and in a file from one start of the server to the next.
 */
#include "sed/ranks/ranks_pool.h"

#include "util/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAVE_NS (60 * NS_PER_S) /* between two writings */
/* A call that moves forecasts of its size by more than this is worth telling, */
#define WORTH_TELLING 0.03
/* and at most so often: it is weighed anew then what all problems take. */
#define TELL_NS  (3 * NS_PER_S)
#define AGAIN_NS (500 * NS_PER_MS) /* after a time that was too short for all of them */

static struct timespec changed_at(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_mtim : (struct timespec){0};
}

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
    pool->profile_written = pool->profile_path ? changed_at(pool->profile_path) : (struct timespec){0};
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

void ranks_profile_measured(struct rank_pool *pool, const struct parallel_speed *speed)
{
    parallel_profile_measured(&pool->profile, speed);
    pool->profile_changed = pool->proposes_other = true;
}

void ranks_profile_learn(struct rank_pool *pool, const struct gang *gang, int64_t now_ns)
{
    const struct job *job = &gang->handoff.job;
    const struct process_grid *grid = &job->proposal.grid;
    if (gang->held_up)
        return;
    const double change = experience_learn(&pool->profile.experience, job->implementation->symbol,
                                           (struct parallel_grid){grid->rows, grid->cols}, grid->block,
                                           job->proposal.model_s, (double)(now_ns - gang->started_ns) / 1e9);
    pool->profile_changed = true;
    pool->has_news |= fabs(change - 1) > WORTH_TELLING;
}

void ranks_profile_pass(struct rank_pool *pool, const char *symbol)
{
    const bool faded = experience_pass(&pool->profile.experience, symbol);
    pool->profile_changed |= faded;
    pool->has_news |= faded;
}

static int64_t news_ns(const struct rank_pool *pool)
{
    return pool->proposes_other ? pool->told_ns : pool->has_news ? pool->told_ns + TELL_NS : CLOCK_NEVER;
}

int64_t ranks_profile_tells_ns(const struct rank_pool *pool)
{
    const int64_t news = news_ns(pool);
    return pool->has_more && pool->more_ns < news ? pool->more_ns : news;
}

void ranks_profile_tell_again(struct rank_pool *pool, int64_t now_ns)
{
    pool->has_more = true;
    pool->more_ns = now_ns + AGAIN_NS;
}

bool ranks_profile_tells(struct rank_pool *pool, int64_t now_ns, bool *news)
{
    const bool due = now_ns >= ranks_profile_tells_ns(pool);
    *news = now_ns >= news_ns(pool);
    if (*news) {
        pool->proposes_other = pool->has_news = false;
        pool->told_ns = now_ns;
    }
    if (due)
        pool->has_more = false;
    return due;
}

uint32_t ranks_known_calls(struct workers *workers, const struct implementation *implementation,
                           const struct parallel_proposal *proposal)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    const struct parallel_grid grid = {proposal->grid.rows, proposal->grid.cols};
    pthread_mutex_lock(&pool->lock);
    const uint32_t n = experience_count(&pool->profile.experience, implementation->symbol, grid,
                                        proposal->grid.block, proposal->model_s);
    pthread_mutex_unlock(&pool->lock);
    return n;
}

/* Most of a long text is what calls took. */
char *ranks_profile_tell(struct workers *workers, size_t most)
{
    struct rank_pool *pool = (struct rank_pool *)workers;
    size_t length;
    pthread_mutex_lock(&pool->lock);
    char *text = parallel_profile_write(&pool->profile, &length);
    if (text && length >= most) {
        const struct parallel_profile measured = {.ranks = pool->profile.ranks, .speed = pool->profile.speed};
        free(text);
        text = parallel_profile_write(&measured, &length);
    }
    pthread_mutex_unlock(&pool->lock);
    return text;
}

/* ---- the file, which a calibration beside the server writes too ---- */

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* What another program has written there since we did. */
static void adopt(struct rank_pool *pool)
{
    struct parallel_profile other;
    struct timespec now = changed_at(pool->profile_path);
    if (is_same_time(now, pool->profile_written) ||
        parallel_profile_load(pool->profile_path, &other, NULL) != ESP_OK ||
        other.ranks != pool->options.ranks)
        return;
    pthread_mutex_lock(&pool->lock);
    const uint32_t taken = parallel_profile_adopt(&pool->profile, &other);
    pool->profile_changed |= taken > 0;
    pool->proposes_other |= taken > 0;
    pthread_mutex_unlock(&pool->lock);
    pool->profile_written = now;
    if (taken > 0)
        log_notice("%s: what calls take on %u grids was measured by others", pool->profile_path, taken);
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
    const int64_t pause_ns = pool->options.profile_save_ns ? pool->options.profile_save_ns : SAVE_NS;
    char fresh[4200], *text = NULL;
    size_t length;
    if (!now && ranks_now_ns() - pool->profile_saved_ns < pause_ns)
        return;
    if (pool->profile_path)
        adopt(pool);
    pthread_mutex_lock(&pool->lock);
    if (pool->profile_path && pool->profile_changed)
        text = parallel_profile_write(&pool->profile, &length);
    pool->profile_changed = false;
    pool->profile_saved_ns = ranks_now_ns();
    pthread_mutex_unlock(&pool->lock);
    if (!text)
        return;
    snprintf(fresh, sizeof fresh, "%s%s", pool->profile_path, fresh_ending);
    if (!write_whole(fresh, text, length) || rename(fresh, pool->profile_path) != 0)
        log_warning("%s cannot be written: %s", pool->profile_path, strerror(errno));
    pool->profile_written = changed_at(pool->profile_path);
    free(text);
}
