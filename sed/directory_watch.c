/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/directory_watch.h"

#include "sed/directory_write.h"
#include "sed/kept_problems.h"
#include "services/directory/kept.h"
#include "services/directory/ldif.h"
#include "services/directory/schema.h"
#include "util/clock.h"
#include "util/log.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define AWAY_NS (30 * NS_PER_S)
#define SUFFIX  ".esp"

struct directory_watch {
    const struct settings_sed *settings;
    char kept[4096], problems[4096]; /* "": there is no state_dir */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool runs, stop;
    /* All below: with the lock. */
    struct directory_tree tree;
    uint64_t digest, read; /* of the tree, and of all that was read when nonsense was last told */
    bool has_problems, away;
    bool silent;   /* what was measured could not be written; told once */
    char why[256]; /* it is away */
    void (*changed)(void *arg);
    void *arg;
};

/* ---- what is kept ---- */

static void tell_wrong(void *arg, const struct esp_error *error, bool stays)
{
    (void)arg;
    log_warning("%s; %s", error->text, schema_outcome(stays));
}

static bool write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "we");
    const bool whole = file && fwrite(text, 1, length, file) == length;
    return (!file || fclose(file) == 0) && whole;
}

/* Names come from outside: one that could lead elsewhere is no file's. */
static bool is_file_name(const char *name)
{
    const size_t n = strlen(name), m = sizeof SUFFIX - 1;
    return n > m && n < 200 && name[0] != '.' && !strchr(name, '/') && strcmp(name + n - m, SUFFIX) == 0;
}

static bool is_kept(const struct directory_watch *watch, const char *name)
{
    char entry[DIRECTORY_MOST_NAME + 1];
    return directory_name_make(entry, sizeof entry, name, DIRECTORY_DESCRIPTIONS) &&
           directory_tree_find(&watch->tree, entry);
}

static bool has_descriptions(const struct directory_watch *watch)
{
    bool found = false;
    DIR *folder = *watch->problems ? opendir(watch->problems) : NULL;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));)
        found = is_file_name(entry->d_name);
    if (folder)
        closedir(folder);
    return found;
}

static void forget_old_descriptions(const struct directory_watch *watch)
{
    char path[4400];
    DIR *folder = opendir(watch->problems);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_file_name(entry->d_name) && !is_kept(watch, entry->d_name)) {
            snprintf(path, sizeof path, "%s/%s", watch->problems, entry->d_name);
            unlink(path);
        }
    if (folder)
        closedir(folder);
}

static void keep_description(struct directory_watch *watch, const struct directory_entry *entry)
{
    char name[256], path[4400], fresh[4450];
    const struct directory_value *text = directory_value(entry, "espalierText");
    directory_entry_cn(entry, name, sizeof name);
    if (!is_file_name(name)) {
        log_warning("directory: %s: expected a name like dgesv" SUFFIX ", without '/'; it is left out",
                    entry->name);
        return;
    }
    snprintf(path, sizeof path, "%s/%s", watch->problems, name);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    if (!write_file(fresh, text->text, text->length) || rename(fresh, path) != 0)
        log_warning("%s cannot be written: %s", path, strerror(errno));
    else
        watch->has_problems = true;
}

static void keep_descriptions(struct directory_watch *watch)
{
    watch->has_problems = false;
    if (!*watch->problems || (mkdir(watch->problems, 0700) != 0 && errno != EEXIST))
        return;
    forget_old_descriptions(watch);
    for (size_t i = 0; i < watch->tree.n; i++)
        if (directory_entry_is(watch->tree.entries[i], DIRECTORY_DESCRIPTION))
            keep_description(watch, watch->tree.entries[i]);
}

/* ---- reading ---- */

/* What there is of it while it is away. */
static const char *what_serves(const struct directory_watch *watch)
{
    return watch->tree.n         ? "what it last said serves"
           : watch->has_problems ? "its descriptions of problems serve as they are kept"
                                 : "nothing is kept of it";
}

static void note_away(struct directory_watch *watch, const struct esp_error *why)
{
    pthread_mutex_lock(&watch->lock);
    if (!watch->away)
        log_warning("the directory is away: %s; %s", why->text, what_serves(watch));
    watch->away = true;
    snprintf(watch->why, sizeof watch->why, "%.250s", why->text);
    pthread_mutex_unlock(&watch->lock);
}

/* Takes the tree over. True when it says something new. */
static bool take(struct directory_watch *watch, struct directory_tree *tree)
{
    const uint64_t digest = directory_tree_digest(tree);
    pthread_mutex_lock(&watch->lock);
    const bool is_new = digest != watch->digest;
    if (watch->away)
        log_notice("the directory is there again");
    watch->away = false;
    if (is_new) {
        directory_tree_clear(&watch->tree);
        watch->tree = *tree;
        watch->digest = digest;
        keep_descriptions(watch);
        log_notice("%zu entries of the directory %s", watch->tree.n, watch->settings->directory.url);
    } else {
        directory_tree_clear(tree);
    }
    pthread_mutex_unlock(&watch->lock);
    return is_new;
}

static bool read_again(struct directory_watch *watch)
{
    struct directory_tree tree = {0};
    struct esp_error error = {0};
    const char *base;
    const struct directory_options options = directory_options_of(&watch->settings->directory);
    if (directory_read(&options, &tree, &base, &error) != ESP_OK) {
        note_away(watch, &error);
        return false;
    }
    /* All of it nonsense is not believed: what was known stays. */
    const size_t all = tree.n;
    directory_tree_sort(&tree);
    const uint64_t read = directory_tree_digest(&tree);
    const bool is_known = read == watch->read; /* its nonsense too: the log has it */
    watch->read = read;
    if (schema_check(&tree, &watch->tree, is_known ? NULL : tell_wrong, NULL) == 0) {
        error_set(&error, ESP_INVALID, "none of its %zu entries can be read", all);
        note_away(watch, &error);
        directory_tree_clear(&tree);
        return false;
    }
    if (*watch->kept && directory_tree_digest(&tree) != watch->digest &&
        ldif_save(&tree, base, watch->kept, &error) != ESP_OK)
        log_warning("what the directory says is not kept: %s", error.text);
    return take(watch, &tree);
}

static void read_kept(struct directory_watch *watch)
{
    struct directory_tree tree = {0};
    struct esp_error error = {0};
    const char *base;
    if (!*watch->kept)
        return;
    enum esp_status status = ldif_load(watch->kept, &tree, &base, &error);
    if (status == ESP_OK && schema_check(&tree, NULL, tell_wrong, NULL) > 0) {
        watch->digest = directory_tree_digest(&tree);
        watch->tree = tree;
        keep_descriptions(watch);
        return;
    }
    directory_tree_clear(&tree);
    if (status != ESP_OK && status != ESP_NOT_FOUND)
        log_warning("what was kept of the directory is damaged: %s", error.text);
    if (status != ESP_NOT_FOUND)
        watch->has_problems = has_descriptions(watch); /* each is a file of its own, and whole */
}

/* ---- writing ---- */

/* With the lock; NULL: it does not name this machine. */
static const struct directory_entry *find_machine(const struct directory_watch *watch)
{
    char name[DIRECTORY_MOST_NAME + 1];
    return directory_name_make(name, sizeof name, watch->settings->node.name, DIRECTORY_MACHINES)
               ? directory_tree_find(&watch->tree, name)
               : NULL;
}

static void write_measured(struct directory_watch *watch)
{
    struct directory_tree own = {0};
    struct esp_error error = {0};
    enum esp_status status = directory_write_gather(watch->settings, &own, &error);
    const size_t n = own.n;
    if (status == ESP_OK) {
        pthread_mutex_lock(&watch->lock);
        const bool has_machine = find_machine(watch) != NULL;
        const bool lacking = !watch->away && directory_write_lacks(&watch->tree, &own);
        pthread_mutex_unlock(&watch->lock);
        if (lacking)
            status = directory_write_models(watch->settings, has_machine, &own, &error);
        if (lacking && status == ESP_OK)
            log_notice("%zu cost models that were measured here are in the directory", n);
    }
    directory_tree_clear(&own);
    if (status != ESP_OK && !watch->silent)
        log_warning("cost models that were measured here are not written into the directory: %s", error.text);
    watch->silent = status != ESP_OK;
}

/* ---- life ---- */

static bool pause_for(struct directory_watch *watch, int64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += until.tv_nsec;
    until.tv_sec += ns / NS_PER_S;
    until.tv_nsec = ns % NS_PER_S;
    pthread_mutex_lock(&watch->lock);
    while (!watch->stop && pthread_cond_timedwait(&watch->wake, &watch->lock, &until) == 0)
        ;
    const bool stop = watch->stop;
    pthread_mutex_unlock(&watch->lock);
    return stop;
}

static int64_t pause_ns(struct directory_watch *watch)
{
    const int64_t refresh_ns = watch->settings->directory.refresh_ns;
    pthread_mutex_lock(&watch->lock);
    const bool away = watch->away;
    pthread_mutex_unlock(&watch->lock);
    return away && refresh_ns > AWAY_NS ? AWAY_NS : refresh_ns;
}

static void *run(void *self)
{
    struct directory_watch *watch = self;
    const bool writes = watch->settings->directory.write;
    if (writes)
        write_measured(watch);
    while (!pause_for(watch, pause_ns(watch))) {
        if (read_again(watch))
            watch->changed(watch->arg);
        if (writes)
            write_measured(watch);
    }
    return NULL;
}

enum esp_status directory_watch_create(const struct settings_sed *settings, struct directory_watch **created,
                                       struct esp_error *error)
{
    pthread_condattr_t attributes;
    enum esp_status status = directory_check_url(settings->directory.url, error);
    if (status != ESP_OK)
        return status;
    struct directory_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return error_no_memory(error, "the directory");
    watch->settings = settings;
    const char *folder = settings->node.state_dir;
    if (folder && strlen(folder) < sizeof watch->kept - 32) {
        mkdir(folder, 0700); /* what is wrong with it is told by who uses it */
        snprintf(watch->kept, sizeof watch->kept, "%s/directory.ldif", folder);
        if (!kept_problems_path(settings, watch->problems, sizeof watch->problems))
            *watch->problems = 0;
    }
    pthread_mutex_init(&watch->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    read_kept(watch);
    read_again(watch);
    *created = watch;
    return ESP_OK;
}

enum esp_status directory_watch_start(struct directory_watch *watch, void (*changed)(void *arg), void *arg,
                                      struct esp_error *error)
{
    sigset_t all, before;
    watch->changed = changed;
    watch->arg = arg;
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&watch->thread, NULL, run, watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    watch->runs = code == 0;
    return code == 0 ? ESP_OK : error_set(error, ESP_SYSTEM, "no thread for the directory (error %d)", code);
}

void directory_watch_destroy(struct directory_watch *watch)
{
    if (!watch)
        return;
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_cond_signal(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    if (watch->runs)
        pthread_join(watch->thread, NULL);
    directory_tree_clear(&watch->tree);
    pthread_cond_destroy(&watch->wake);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

/* ---- what it says ---- */

const char *directory_watch_problems(struct directory_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    const bool has_problems = watch->has_problems;
    pthread_mutex_unlock(&watch->lock);
    return has_problems ? watch->problems : NULL;
}

static bool is_below_machine(const struct directory_watch *watch, const char *name)
{
    char machine[DIRECTORY_MOST_NAME + 1];
    return directory_name_make(machine, sizeof machine, watch->settings->node.name, DIRECTORY_MACHINES) &&
           strcasecmp(directory_name_parent(name), machine) == 0;
}

enum esp_status directory_watch_models(struct directory_watch *watch, struct cost_set *set,
                                       struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    pthread_mutex_lock(&watch->lock);
    for (size_t i = 0; i < watch->tree.n && status == ESP_OK; i++) {
        const struct directory_entry *entry = watch->tree.entries[i];
        const struct directory_value *text = directory_value(entry, "espalierModel");
        struct arena arena = {0};
        struct cost_model model;
        if (!directory_entry_is(entry, DIRECTORY_COST_MODEL) || !is_below_machine(watch, entry->name))
            continue;
        if (cost_parse(text->text, text->length, entry->name, &arena, &model, error) == ESP_OK)
            status = cost_set_add(set, &model, true, error);
        arena_clear(&arena);
    }
    pthread_mutex_unlock(&watch->lock);
    return status;
}

void directory_watch_check(struct directory_watch *watch, const struct problem_set *problems)
{
    pthread_mutex_lock(&watch->lock);
    for (size_t i = 0; i < watch->tree.n; i++) {
        const struct directory_entry *entry = watch->tree.entries[i];
        const struct directory_value *name = directory_value(entry, "espalierProblemName");
        if (directory_entry_is(entry, DIRECTORY_COST_MODEL) && is_below_machine(watch, entry->name) &&
            !problem_find(problems, name->text))
            log_warning("directory: %s: a cost model of \"%s\", which this server does not solve",
                        entry->name, name->text);
    }
    pthread_mutex_unlock(&watch->lock);
}

char *directory_watch_ranks(struct directory_watch *watch)
{
    char *text = NULL;
    pthread_mutex_lock(&watch->lock);
    const struct directory_entry *machine = find_machine(watch);
    for (uint32_t i = 0; machine && i < machine->n_values && !text; i++)
        if (strcasecmp(machine->values[i].attribute, "espalierRanks") == 0)
            text = strndup(machine->values[i].text, machine->values[i].length);
    pthread_mutex_unlock(&watch->lock);
    return text;
}

size_t directory_watch_parents(struct directory_watch *watch, char **addresses, size_t most)
{
    size_t n = 0;
    pthread_mutex_lock(&watch->lock);
    const struct directory_entry *machine = find_machine(watch);
    for (uint32_t i = 0; machine && i < machine->n_values && n < most; i++)
        if (strcasecmp(machine->values[i].attribute, "espalierParent") == 0 &&
            (addresses[n] = strdup(directory_value_text(&machine->values[i]))))
            n++;
    pthread_mutex_unlock(&watch->lock);
    return n;
}

bool directory_watch_may_bring(struct directory_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    const bool may = watch->away && watch->tree.n == 0 && *watch->problems;
    pthread_mutex_unlock(&watch->lock);
    return may;
}

void directory_watch_health(struct directory_watch *watch, char *text, size_t size)
{
    pthread_mutex_lock(&watch->lock);
    if (watch->away)
        snprintf(text, size, "; the directory is away (%s): %s", watch->why, what_serves(watch));
    else
        *text = 0;
    pthread_mutex_unlock(&watch->lock);
}
