/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/directory_parents.h"

#include "services/directory/kept.h"
#include "services/directory/schema.h"
#include "util/clock.h"
#include "util/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MOST_PARENTS 16
#define AWAY_NS      (30 * NS_PER_S)

static void tell_wrong(void *arg, const struct esp_error *error, bool stays)
{
    (void)arg;
    log_warning("%s; %s", error->text, schema_outcome(stays));
}

static bool is_there(const struct settings_agent *settings, const char *address)
{
    bool found = settings->parent && strcmp(settings->parent, address) == 0;
    for (size_t i = 0; i < settings->parents.n && !found; i++)
        found = strcmp(settings->parents.items[i], address) == 0;
    return found;
}

static enum esp_status add_parents(struct settings_agent *settings, const char *const *addresses, size_t n,
                                   struct esp_error *error)
{
    struct config_strings *parents = &settings->parents;
    char **items = arena_alloc(&settings->arena, (parents->n + n) * sizeof *items);
    if (!items)
        return error_no_memory(error, "the parents");
    if (parents->n)
        memcpy(items, parents->items, parents->n * sizeof *items);
    parents->items = items;
    for (size_t i = 0; i < n; i++) {
        if (is_there(settings, addresses[i]))
            continue;
        char *copy = arena_strdup(&settings->arena, addresses[i]);
        if (!copy)
            return error_no_memory(error, "the parents");
        if (!settings->parent)
            settings->parent = copy;
        else
            parents->items[parents->n++] = copy;
    }
    return ESP_OK;
}

/* Path of the stored copy of the directory's answer; "": there is no state_dir. */
static void kept_path(const struct settings_agent *settings, char path[4096])
{
    const char *folder = settings->node.state_dir;
    *path = 0;
    if (folder && snprintf(path, 4096, "%s/directory.ldif", folder) >= 4096)
        *path = 0;
    if (*path)
        mkdir(folder, 0700); /* if this fails, writing the file reports the error */
}

static enum esp_status look(const struct settings_agent *settings,
                            void (*wrong)(void *arg, const struct esp_error *error, bool stays),
                            struct directory_tree *tree, char away[256], struct esp_error *error)
{
    char kept[4096];
    const struct directory_options options = directory_options_of(&settings->directory);
    kept_path(settings, kept);
    return directory_look(&options, *kept ? kept : NULL, wrong, NULL, tree, away, error);
}

enum esp_status agent_directory_parents(struct settings_agent *settings, bool again, struct esp_error *error)
{
    char away[256];
    const char *addresses[MOST_PARENTS];
    struct directory_tree tree = {0};
    if (!settings->directory.url)
        return ESP_OK;
    enum esp_status status = look(settings, again ? NULL : tell_wrong, &tree, away, error);
    if (status == ESP_OK && *away)
        log_warning("the directory is away: %s; what it last said serves", away);
    if (status == ESP_OK) {
        const size_t n = directory_parents(&tree, settings->node.name, addresses, MOST_PARENTS);
        log_notice("the directory names %zu agents for \"%s\" to join", n, settings->node.name);
        status = add_parents(settings, addresses, n, error);
    } else if (status != ESP_CONFIG && (settings->parent || settings->redirector)) {
        log_warning("the directory is away: %s; no earlier answer is stored", error->text);
        status = ESP_OK;
    }
    directory_tree_clear(&tree);
    return status;
}

int64_t agent_directory_patience_ns(const struct settings_agent *settings)
{
    const int64_t refresh_ns = settings->directory.refresh_ns;
    return refresh_ns > AWAY_NS ? AWAY_NS : refresh_ns;
}

/* ---- while it runs ---- */

struct directory_look_out {
    const struct settings_agent *settings;
    struct agent *agent;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool stop;
    bool away; /* as last logged */
};

/* Returns true if the thread is to stop. */
static bool pause_for(struct directory_look_out *look_out, int64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += until.tv_nsec;
    until.tv_sec += ns / NS_PER_S;
    until.tv_nsec = ns % NS_PER_S;
    pthread_mutex_lock(&look_out->lock);
    while (!look_out->stop && pthread_cond_timedwait(&look_out->wake, &look_out->lock, &until) == 0)
        ;
    const bool stop = look_out->stop;
    pthread_mutex_unlock(&look_out->lock);
    return stop;
}

static void note_away(struct directory_look_out *look_out, const char *why)
{
    if (*why && !look_out->away)
        log_warning("the directory is away: %s; what it last said serves", why);
    else if (!*why && look_out->away)
        log_notice("the directory is there again");
    look_out->away = *why;
}

static void look_again(struct directory_look_out *look_out)
{
    char away[256];
    const char *addresses[MOST_PARENTS];
    struct directory_tree tree = {0};
    struct esp_error error = {0};
    const struct settings_agent *settings = look_out->settings;
    /* Wrong entries were logged at the start, and servers log them too; here they would be repeated each
     * time. */
    if (look(settings, NULL, &tree, away, &error) == ESP_OK) {
        const size_t n = directory_parents(&tree, settings->node.name, addresses, MOST_PARENTS);
        const size_t learned = agent_learn_parents(look_out->agent, addresses, n);
        note_away(look_out, away);
        if (learned > 0)
            log_notice("the directory names %zu more agents for \"%s\" to join", learned,
                       settings->node.name);
    } else {
        note_away(look_out, error.text);
    }
    directory_tree_clear(&tree);
}

static void *run(void *arg)
{
    struct directory_look_out *look_out = arg;
    for (;;) {
        const struct settings_agent *settings = look_out->settings;
        if (pause_for(look_out, look_out->away ? agent_directory_patience_ns(settings)
                                               : settings->directory.refresh_ns))
            return NULL;
        look_again(look_out);
    }
}

static bool start(struct directory_look_out *look_out)
{
    sigset_t all, before;
    sigfillset(&all); /* the main thread handles signals */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&look_out->thread, NULL, run, look_out);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0;
}

static void release(struct directory_look_out *look_out)
{
    pthread_cond_destroy(&look_out->wake);
    pthread_mutex_destroy(&look_out->lock);
    free(look_out);
}

struct directory_look_out *agent_directory_look_out(const struct settings_agent *settings,
                                                    struct agent *agent)
{
    pthread_condattr_t attributes;
    struct directory_look_out *look_out = settings->directory.url ? calloc(1, sizeof *look_out) : NULL;
    if (!look_out)
        return NULL;
    look_out->settings = settings;
    look_out->agent = agent;
    pthread_mutex_init(&look_out->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&look_out->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    if (start(look_out))
        return look_out;
    log_warning("the directory is not read again: no thread for it");
    release(look_out);
    return NULL;
}

void agent_directory_look_out_destroy(struct directory_look_out *look_out)
{
    if (!look_out)
        return;
    pthread_mutex_lock(&look_out->lock);
    look_out->stop = true;
    pthread_cond_signal(&look_out->wake);
    pthread_mutex_unlock(&look_out->lock);
    pthread_join(look_out->thread, NULL);
    release(look_out);
}
