/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads libraries, which stay loaded: unloading one that has started threads or registered handlers
 * crashes later. */
#include "sed/crd/crd.h"

#include "util/own_library.h"
#include "util/process_limits.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LIBRARIES 256

struct library {
    char *folder, *name;
    void *handle;
};

static struct library libraries[MAX_LIBRARIES];
static unsigned n_libraries;
static unsigned blas_threads; /* 0: BLAS is left unchanged */

static struct library *find_library(const char *folder, const char *name)
{
    for (unsigned i = 0; i < n_libraries; i++)
        if (strcmp(libraries[i].name, name) == 0 && strcmp(libraries[i].folder, folder) == 0)
            return &libraries[i];
    return NULL;
}

bool library_is_loaded(const char *folder, const char *library)
{
    return library[0] == 0 || find_library(folder, library) != NULL;
}

static unsigned count_threads(void)
{
    struct stat tasks;
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 2 ? (unsigned)tasks.st_nlink - 2 : 1;
}

static void *do_nothing(void *arg)
{
    return arg;
}

/* OpenBLAS does not check whether its threads could be started, and waits for them for ever in the first
 * routine that uses them. */
static void set_openblas(void (*set)(int))
{
    static void (*known[MAX_LIBRARIES])(int);
    static unsigned n_known;
    pthread_t thread;
    const unsigned before = count_threads();
    set((int)blas_threads);
    for (unsigned i = 0; i < n_known; i++)
        if (known[i] == set)
            return;
    if (n_known < MAX_LIBRARIES)
        known[n_known++] = set;
    if (count_threads() + 1 >= before + blas_threads)
        return;
    /* Without this check, this build of OpenBLAS would start its threads later. */
    const int error = pthread_create(&thread, NULL, do_nothing, NULL);
    if (error == 0) {
        pthread_join(thread, NULL);
        return;
    }
    char why[400];
    process_limits_blame(NULL, why, sizeof why);
    fprintf(stderr, "a worker cannot start the threads of BLAS: %s\n", why);
    _exit(1);
}

/* Each BLAS has its own function for it; one library may contain several. */
static void limit_threads(void *handle)
{
    static const char *const setters[] = {"openblas_set_num_threads", "MKL_Set_Num_Threads",
                                          "bli_thread_set_num_threads", "omp_set_num_threads"};
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
        void *symbol = dlsym(handle, setters[i]);
        if (!symbol)
            continue;
        if (i == 0)
            set_openblas((void (*)(int))(uintptr_t)symbol);
        else if (setters[i][0] == 'b') /* BLIS counts in dim_t */
            ((void (*)(int64_t))(uintptr_t)symbol)(blas_threads);
        else
            ((void (*)(int))(uintptr_t)symbol)((int)blas_threads);
    }
}

void library_set_threads(unsigned threads)
{
    blas_threads = threads;
    for (unsigned i = 0; i < n_libraries; i++)
        limit_threads(libraries[i].handle);
}

static void *open_library(const char *folder, const char *name)
{
    char path[2 * SIGNATURE_MAX_PATH];
    if (own_library_path(name, path, sizeof path))
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (folder[0]) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
        FILE *there = fopen(path, "re");
        if (there) {
            fclose(there);
            return dlopen(path, RTLD_NOW | RTLD_LOCAL);
        }
    }
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

enum esp_status library_load(const char *folder, const char *library, struct esp_error *error)
{
    if (library_is_loaded(folder, library))
        return ESP_OK;
    if (n_libraries == MAX_LIBRARIES)
        return error_set(error, ESP_LIMIT, "a worker loads at most %d libraries", MAX_LIBRARIES);
    struct library made = {.folder = strdup(folder), .name = strdup(library)};
    if (!made.folder || !made.name) {
        free(made.folder);
        free(made.name);
        return error_no_memory(error, "the name of a library");
    }
    made.handle = open_library(folder, library);
    if (!made.handle) {
        free(made.folder);
        free(made.name);
        return error_set(error, ESP_NOT_FOUND, "cannot load the library: %s", dlerror());
    }
    libraries[n_libraries++] = made;
    if (blas_threads > 0)
        limit_threads(made.handle);
    return ESP_OK;
}

bool library_file(const char *folder, const char *library, char *path, size_t size)
{
    struct link_map *map = NULL;
    struct library *found = find_library(folder, library);
    if (!found || dlinfo(found->handle, RTLD_DI_LINKMAP, (void *)&map) != 0 || !map)
        return false;
    return snprintf(path, size, "%s", map->l_name) < (int)size;
}

enum esp_status library_symbol(const char *folder, const char *library, const char *symbol,
                               void (**routine)(void), struct esp_error *error)
{
    enum esp_status status = library_load(folder, library, error);
    if (status != ESP_OK)
        return status;
    void *found = dlsym(library[0] ? find_library(folder, library)->handle : RTLD_DEFAULT, symbol);
    if (!found)
        return error_set(error, ESP_NOT_FOUND, "%s has no symbol '%s'",
                         library[0] ? library : "the worker program itself", symbol);
    *routine = (void (*)(void))(uintptr_t)found;
    return ESP_OK;
}
