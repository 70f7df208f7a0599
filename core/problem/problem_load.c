/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads description files, and folders of them, as sets of problems. */
#include "core/problem/problem_parser.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FOLDER_DEPTH 16
#define MAX_FOLDER_FILES 100000

/* A set being loaded. */
struct loader {
    struct problem_set *set;
    struct parser *parser;
    struct esp_error *error;
    void (*wrong)(void *arg, const struct esp_error *error); /* NULL: the first error ends loading */
    void *arg;
    size_t n_wrong; /* errors passed to `wrong` */
    bool even_none; /* a folder may be empty */
};

static bool load_path(struct loader *loader, const char *path, const char *root, unsigned depth);

static bool refuse(struct loader *loader, enum esp_status status, const char *path, const char *what)
{
    error_set(loader->error, status, "%s: %s", path, what);
    return false;
}

static bool system_failure(struct loader *loader, const char *path)
{
    enum esp_status status = errno == ENOENT || errno == ENOTDIR ? ESP_NOT_FOUND : ESP_SYSTEM;
    error_set(loader->error, status, "cannot read problem descriptions from %s: %s", path, strerror(errno));
    return false;
}

/* Whether loading continues after an error. */
static bool go_on(struct loader *loader)
{
    if (!loader->wrong || loader->error->status == ESP_NO_MEMORY)
        return false;
    loader->wrong(loader->arg, loader->error);
    loader->n_wrong++;
    return true;
}

/* Returns the folder of a file, appended to `base` when the file's name is relative, because a worker has
 * another current folder. */
static const char *folder_of(struct loader *loader, const char *base, const char *file)
{
    const char *slash = strrchr(file, '/');
    size_t n = slash ? (size_t)(slash - file) : 0, m = file[0] == '/' ? 0 : strlen(base);
    char *folder = arena_alloc(&loader->set->memory, m + n + 2);
    if (!folder)
        return NULL;
    memcpy(folder, base, m);
    if (m && n)
        folder[m++] = '/';
    memcpy(folder + m, file, n);
    return folder;
}

static bool read_text(struct loader *loader, const char *text, size_t length, const char *base,
                      const char *file)
{
    struct parser *parser = loader->parser;
    parser->file = arena_strdup(&loader->set->memory, file);
    parser->folder = folder_of(loader, base, file);
    if (!parser->file || !parser->folder) {
        error_no_memory(loader->error, "a problem description");
        return false;
    }
    bool read = parser_read(parser, text, length, loader->error);
    while (!read && loader->wrong && parser_can_resume(parser)) {
        if (!go_on(loader))
            return false;
        read = parser_resume(parser);
    }
    return read;
}

static bool read_all(int fd, char *text, size_t size, size_t *length)
{
    *length = 0;
    while (*length < size) {
        ssize_t n = read(fd, text + *length, size - *length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0)
            return true;
        *length += (size_t)n;
    }
    return true;
}

static bool load_file(struct loader *loader, const char *path)
{
    /* O_NONBLOCK: a FIFO in the folder must not block a server's start. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return system_failure(loader, path);
    bool loaded = false;
    char *text = NULL;
    struct stat status;
    size_t length;
    if (fstat(fd, &status) < 0) {
        system_failure(loader, path);
    } else if (!S_ISREG(status.st_mode)) {
        refuse(loader, ESP_INVALID, path, "expected a regular file");
    } else if (status.st_size > PROBLEM_MAX_FILE) {
        refuse(loader, ESP_SYNTAX, path, "a description file has at most 1048576 bytes");
    } else if (!(text = malloc((size_t)status.st_size + 1))) {
        error_no_memory(loader->error, "a problem description");
    } else if (!read_all(fd, text, (size_t)status.st_size, &length)) {
        system_failure(loader, path);
    } else {
        char here[PATH_MAX];
        loaded = read_text(loader, text, length, getcwd(here, sizeof here) ? here : "", path);
    }
    free(text);
    close(fd);
    return loaded;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

static bool keep_name(struct loader *loader, char ***names, size_t *n, const char *name)
{
    if (*n == MAX_FOLDER_FILES)
        return refuse(loader, ESP_LIMIT, name, "a folder of problem descriptions has at most 100000 entries");
    if ((*n & (*n - 1)) == 0) { /* the array is full at each power of two */
        char **larger = realloc(*names, (*n ? 2 * *n : 1) * sizeof(char *));
        if (!larger) {
            error_no_memory(loader->error, "the names in a folder");
            return false;
        }
        *names = larger;
    }
    (*names)[*n] = strdup(name);
    if (!(*names)[*n]) {
        error_no_memory(loader->error, "the names in a folder");
        return false;
    }
    ++*n;
    return true;
}

/* Lists the entries of a folder that are not hidden, sorted, so that the order does not depend on the file
 * system. */
static bool list_folder(struct loader *loader, const char *path, char ***names, size_t *n)
{
    *names = NULL;
    *n = 0;
    DIR *folder = opendir(path);
    if (!folder)
        return system_failure(loader, path);
    bool listed = true;
    for (struct dirent *entry; listed && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            listed = keep_name(loader, names, n, entry->d_name);
    closedir(folder);
    if (listed && *n)
        qsort(*names, *n, sizeof(char *), by_text);
    return listed;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

/* Whether the link at `path` leads to a file below `root`, which contains no links. */
static bool leads_inside(const char *path, const char *root)
{
    char *target = realpath(path, NULL);
    size_t n = strlen(root);
    bool inside = target && strncmp(target, root, n) == 0 && target[n] == '/';
    free(target);
    return inside;
}

static bool load_entry(struct loader *loader, const char *path, const char *root, unsigned depth)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return system_failure(loader, path);
    if (S_ISDIR(status.st_mode))
        return load_path(loader, path, root, depth + 1);
    if (!has_suffix(path, ".esp"))
        return true;
    bool loaded = S_ISLNK(status.st_mode) && !leads_inside(path, root)
                      ? refuse(loader, ESP_INVALID, path,
                               "a symbolic link may not lead out of the folder of descriptions")
                      : load_file(loader, path);
    return loaded || go_on(loader);
}

static bool load_folder(struct loader *loader, const char *path, const char *root, unsigned depth)
{
    if (depth > MAX_FOLDER_DEPTH)
        return refuse(loader, ESP_LIMIT, path,
                      "folders of problem descriptions are nested more than 16 deep");
    char **names;
    size_t n;
    bool loaded = list_folder(loader, path, &names, &n);
    for (size_t i = 0; loaded && i < n; i++) {
        char entry[PATH_MAX];
        int length = snprintf(entry, sizeof entry, "%s/%s", path, names[i]);
        loaded = length < (int)sizeof entry
                     ? load_entry(loader, entry, root, depth)
                     : refuse(loader, ESP_INVALID, path, "a path below it is too long");
    }
    free_names(names, n);
    return loaded;
}

static bool load_path(struct loader *loader, const char *path, const char *root, unsigned depth)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return system_failure(loader, path);
    if (!S_ISDIR(status.st_mode))
        return load_file(loader, path);
    if (root)
        return load_folder(loader, path, root, depth);
    char *resolved = realpath(path, NULL);
    if (!resolved)
        return system_failure(loader, path);
    const size_t before = loader->parser->n_problems, n_wrong = loader->n_wrong;
    bool loaded = load_folder(loader, path, resolved, depth);
    free(resolved);
    if (loaded && loader->parser->n_problems == before && loader->n_wrong == n_wrong && !loader->even_none)
        return refuse(loader, ESP_NOT_FOUND, path, "there is no problem description (*.esp) in this folder");
    return loaded;
}

static int by_name(const void *a, const void *b)
{
    const struct problem *p = *(struct problem *const *)a, *q = *(struct problem *const *)b;
    int order = strcmp(p->name, q->name);
    if (order == 0)
        order = strcmp(p->file, q->file);
    return order ? order : (p->line > q->line) - (p->line < q->line);
}

static bool sort_set(struct loader *loader)
{
    struct problem_set *set = loader->set;
    set->n_problems = loader->parser->n_problems;
    set->problems =
        arena_memdup(&set->memory, loader->parser->problems, set->n_problems * sizeof(struct problem *));
    if (!set->problems) {
        error_no_memory(loader->error, "a set of problems");
        return false;
    }
    qsort(set->problems, set->n_problems, sizeof(struct problem *), by_name);
    size_t n = 0;
    for (size_t i = 0; i < set->n_problems; i++) {
        const struct problem *p = n ? set->problems[n - 1] : NULL, *q = set->problems[i];
        if (p && strcmp(p->name, q->name) == 0) {
            error_set(loader->error, ESP_SYNTAX, "%s:%u:%u: the problem '%s' is described already in %s:%u",
                      q->file, q->line, q->column, q->name, p->file, p->line);
            if (!go_on(loader))
                return false;
        } else {
            set->problems[n++] = set->problems[i];
        }
    }
    set->n_problems = n;
    return true;
}

static bool open_loader(struct loader *loader, struct esp_error *error)
{
    loader->error = error;
    loader->wrong = NULL;
    loader->even_none = false;
    loader->set = calloc(1, sizeof *loader->set);
    loader->parser = calloc(1, sizeof *loader->parser);
    if (loader->set && loader->parser) {
        loader->parser->arena = &loader->set->memory;
        return true;
    }
    error_no_memory(error, "a set of problems");
    return false;
}

/* Ends loading: returns the set, or nothing and the status of *error. */
static enum esp_status close_loader(struct loader *loader, bool loaded, struct problem_set **problem_set)
{
    loaded = loaded && sort_set(loader);
    if (loader->parser) {
        free(loader->parser->problems);
    }
    free(loader->parser);
    if (loaded) {
        *problem_set = loader->set;
        return ESP_OK;
    }
    problem_set_destroy(loader->set);
    return loader->error->status;
}

enum esp_status problem_parse(const char *text, size_t length, const char *file,
                              struct problem_set **problem_set, struct esp_error *error)
{
    struct loader loader;
    struct esp_error own;
    bool loaded = open_loader(&loader, error ? error : &own) && read_text(&loader, text, length, "", file);
    return close_loader(&loader, loaded, problem_set);
}

static enum esp_status load_paths(struct loader *loader, bool loaded, const char *const *paths,
                                  size_t n_paths, struct problem_set **problem_set)
{
    for (size_t i = 0; loaded && i < n_paths; i++)
        loaded = load_path(loader, paths[i], NULL, 0) || go_on(loader);
    return close_loader(loader, loaded, problem_set);
}

enum esp_status problem_load_good(const char *const *paths, size_t n_paths,
                                  void (*wrong)(void *arg, const struct esp_error *error), void *arg,
                                  struct problem_set **problem_set, struct esp_error *error)
{
    struct loader loader;
    struct esp_error own;
    const bool loaded = open_loader(&loader, error ? error : &own);
    loader.wrong = wrong;
    loader.arg = arg;
    return load_paths(&loader, loaded, paths, n_paths, problem_set);
}

enum esp_status problem_load_even_none(const char *const *paths, size_t n_paths,
                                       struct problem_set **problem_set, struct esp_error *error)
{
    struct loader loader;
    struct esp_error own;
    const bool loaded = open_loader(&loader, error ? error : &own);
    loader.even_none = true;
    return load_paths(&loader, loaded, paths, n_paths, problem_set);
}

enum esp_status problem_load_all(const char *const *paths, size_t n_paths, struct problem_set **problem_set,
                                 struct esp_error *error)
{
    return problem_load_good(paths, n_paths, NULL, NULL, problem_set, error);
}

enum esp_status problem_load(const char *path, struct problem_set **problem_set, struct esp_error *error)
{
    return problem_load_all(&path, 1, problem_set, error);
}

void problem_set_destroy(struct problem_set *problem_set)
{
    if (!problem_set)
        return;
    struct arena memory = problem_set->memory;
    arena_clear(&memory);
    free(problem_set);
}
