/* SPDX-License-Identifier: Apache-2.0 */
#include "util/durable_file.h"

#include "util/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum esp_status durable_file_path(const char *folder, const char *name, const char *suffix, char *path,
                                  struct esp_error *error)
{
    if (snprintf(path, PATH_MAX, "%s/%s%s", folder, name, suffix) >= PATH_MAX)
        return error_set(error, ESP_CONFIG, "state_dir: the path \"%.100s...\" is too long", folder);
    return ESP_OK;
}

static void sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

enum esp_status durable_file_replace(const char *folder, const char *name,
                                     bool (*write)(FILE *file, const void *arg), const void *arg,
                                     struct esp_error *error)
{
    char path[PATH_MAX], temporary[PATH_MAX];
    struct esp_error own;
    error = error ? error : &own;
    enum esp_status status = durable_file_path(folder, name, "", path, error);
    if (status == ESP_OK)
        status = durable_file_path(folder, name, ".new", temporary, error);
    if (status != ESP_OK)
        return status;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return error_errno(error, "cannot make the folder %s", folder);
    FILE *file = regular_file_open(temporary, "w", error);
    if (!file)
        return error->status;
    const bool good = write(file, arg) && fflush(file) == 0 && fsync(fileno(file)) == 0;
    if (!good)
        status = error_errno(error, "cannot write %s", temporary);
    if (fclose(file) != 0 && good)
        status = error_errno(error, "cannot write %s", temporary);
    if (status == ESP_OK && rename(temporary, path) != 0)
        status = error_errno(error, "cannot replace %s", path);
    if (status != ESP_OK)
        unlink(temporary);
    else
        sync_folder(folder);
    return status;
}
