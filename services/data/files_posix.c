/* SPDX-License-Identifier: Apache-2.0 */
#include "services/data/files.h"

#include "util/folders.h"
#include "util/log.h"
#include "util/regular_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct posix_files {
    struct files files;
    int folder; /* all paths are relative to it, even when its own path is renamed */
    int lock;
    pthread_mutex_t remaking;
    char *name, *text; /* the file to write when the folder is created again; NULL: none */
    char path[];
};

struct file {
    int fd;
    struct posix_files *files;
    char name[]; /* for messages */
};

static struct posix_files *of(struct files *files)
{
    return (struct posix_files *)files;
}

/* Returns errno as a status, with the system's text. */
static enum esp_status failed(const struct posix_files *posix, const char *what, const char *name,
                              struct esp_error *error)
{
    int number = errno;
    const char *slash = name[0] ? "/" : "";
    if (number == ENOSPC || number == EDQUOT)
        return error_set(error, ESP_NO_MEMORY, "%s %s%s%s: the disk is full (%s)", what, posix->path, slash,
                         name, strerror(number));
    if (number == ENOENT)
        return error_set(error, ESP_NOT_FOUND, "%s %s%s%s: %s", what, posix->path, slash, name,
                         strerror(number));
    errno = number;
    return error_errno(error, "%s %s%s%s", what, posix->path, slash, name);
}

static void destroy(struct files *files)
{
    struct posix_files *posix = of(files);
    if (posix->lock >= 0)
        close(posix->lock);
    if (posix->folder >= 0)
        close(posix->folder);
    pthread_mutex_destroy(&posix->remaking);
    free(posix->name);
    free(posix->text);
    free(posix);
}

static enum esp_status lock(struct files *files, struct esp_error *error)
{
    struct posix_files *posix = of(files);
    int fd = openat(posix->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return failed(posix, "cannot open", "lock", error);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        bool taken = errno == EWOULDBLOCK;
        enum esp_status status =
            taken ? error_set(error, ESP_REFUSED,
                              "%s: another process uses this store (is a server with the same state folder "
                              "still running?)",
                              posix->path)
                  : failed(posix, "cannot lock", "lock", error);
        close(fd);
        return status;
    }
    posix->lock = fd;
    return ESP_OK;
}

static enum esp_status make_folder(struct files *files, const char *name, struct esp_error *error)
{
    if (mkdirat(of(files)->folder, name, 0700) == 0 || errno == EEXIST)
        return ESP_OK;
    return failed(of(files), "cannot make the folder", name, error);
}

static enum esp_status visit_all(DIR *folder, files_visit *visit, void *arg, struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    struct stat about;
    errno = 0;
    for (struct dirent *entry; status == ESP_OK && (entry = readdir(folder)); errno = 0)
        if (fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0)
            status = visit(arg, entry->d_name, regular_file_kind(about.st_mode), error);
    return status;
}

static enum esp_status list(struct files *files, const char *name, files_visit *visit, void *arg,
                            struct esp_error *error)
{
    struct posix_files *posix = of(files);
    int fd = openat(posix->folder, name[0] ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        enum esp_status status = failed(posix, "cannot read the folder", name, error);
        if (fd >= 0)
            close(fd);
        return status;
    }
    enum esp_status status = visit_all(folder, visit, arg, error);
    if (status == ESP_OK && errno)
        status = failed(posix, "cannot read the folder", name, error);
    closedir(folder);
    return status;
}

static enum esp_status open_file(struct posix_files *posix, const char *name, int flags, const char *what,
                                 struct file **result, struct esp_error *error)
{
    struct file *file = malloc(sizeof *file + strlen(name) + 1);
    if (!file)
        return error_no_memory(error, "an open file");
    strcpy(file->name, name);
    file->files = posix;
    file->fd = openat(posix->folder, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->fd < 0) {
        enum esp_status status = failed(posix, what, name, error);
        free(file);
        return status;
    }
    *result = file;
    return ESP_OK;
}

static void close_file(struct file *file)
{
    if (!file)
        return;
    close(file->fd);
    free(file);
}

static int descriptor(const struct file *file)
{
    return file->fd;
}

static void remember(struct files *files, const char *name, const char *text)
{
    struct posix_files *posix = of(files);
    free(posix->name);
    free(posix->text);
    posix->name = strdup(name);
    posix->text = strdup(text);
}

static bool is_removed(const struct posix_files *posix)
{
    struct stat is;
    return fstat(posix->folder, &is) == 0 && is.st_nlink == 0;
}

/* Locks the folder `in` for this process and writes the file that belongs there. Returns the lock, or -1. */
static int furnish(const struct posix_files *posix, int in)
{
    int fd = openat(in, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    int file = posix->name && posix->text
                   ? openat(in, posix->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                   : -1;
    if (file >= 0) {
        const size_t length = strlen(posix->text);
        const bool written = write(file, posix->text, length) == (ssize_t)length && fsync(file) == 0;
        close(file);
        if (!written) {
            close(fd);
            return -1;
        }
    }
    return fd;
}

/* Creates the folder again. Other threads use the descriptors meanwhile, so their numbers must stay the
 * same. With `remaking` locked. */
static bool make_again(struct posix_files *posix)
{
    if (!is_removed(posix))
        return true; /* another thread has done it */
    int in = folders_make(posix->path, 0) ? open(posix->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int fd = in >= 0 ? furnish(posix, in) : -1;
    const bool made = fd >= 0 && fsync(in) == 0 && dup3(in, posix->folder, O_CLOEXEC) >= 0;
    if (made && posix->lock >= 0)
        dup3(fd, posix->lock, O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    if (in >= 0)
        close(in);
    if (made)
        log_warning("the folder %s was removed by another program: it is made again, without the data that "
                    "were in it",
                    posix->path);
    return made;
}

static enum esp_status create(struct files *files, const char *name, struct file **file,
                              struct esp_error *error)
{
    struct posix_files *posix = of(files);
    const int flags = O_RDWR | O_CREAT | O_TRUNC;
    enum esp_status status = open_file(posix, name, flags, "cannot create", file, error);
    if (status != ESP_NOT_FOUND)
        return status;
    pthread_mutex_lock(&posix->remaking);
    const bool made = make_again(posix);
    const int why = errno;
    pthread_mutex_unlock(&posix->remaking);
    if (made)
        return open_file(posix, name, flags, "cannot create", file, error);
    return error_set(error, ESP_SYSTEM,
                     "the folder %s was removed by another program and cannot be made again: %s (make it for "
                     "this user)",
                     posix->path, strerror(why));
}

static enum esp_status open_to_read(struct files *files, const char *name, struct file **file,
                                    uint64_t *bytes, struct esp_error *error)
{
    struct stat about;
    /* O_NONBLOCK: do not wait for the writer of a FIFO. */
    enum esp_status status = open_file(of(files), name, O_RDONLY | O_NONBLOCK, "cannot open", file, error);
    if (status != ESP_OK)
        return status;
    if (fstat((*file)->fd, &about) != 0)
        status = failed(of(files), "cannot look at", name, error);
    else if (!S_ISREG(about.st_mode))
        status = error_set(error, ESP_INVALID, "%s/%s: expected a regular file, found %s", of(files)->path,
                           name, regular_file_kind(about.st_mode));
    if (status != ESP_OK)
        close_file(*file);
    *bytes = status == ESP_OK ? (uint64_t)about.st_size : 0;
    return status;
}

static enum esp_status read_file(struct file *file, void *data, size_t bytes, uint64_t offset,
                                 struct esp_error *error)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pread(file->fd, (char *)data + done, bytes - done, (off_t)(offset + done));
        if (n == 0)
            return error_set(error, ESP_SYSTEM, "cannot read %s/%s: it ends at byte %llu", file->files->path,
                             file->name, (unsigned long long)(offset + done));
        if (n < 0 && errno != EINTR)
            return failed(file->files, "cannot read", file->name, error);
        done += n > 0 ? (size_t)n : 0;
    }
    return ESP_OK;
}

static enum esp_status write_file(struct file *file, const void *data, size_t bytes, uint64_t offset,
                                  struct esp_error *error)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(file->fd, (const char *)data + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return failed(file->files, "cannot write", file->name, error);
        done += n > 0 ? (size_t)n : 0;
    }
    return ESP_OK;
}

static enum esp_status reserve_file(struct file *file, uint64_t bytes, struct esp_error *error)
{
    int number;
    do
        number = posix_fallocate(file->fd, 0, (off_t)bytes);
    while (number == EINTR);
    errno = number;
    return number == 0 ? ESP_OK : failed(file->files, "cannot make room for", file->name, error);
}

static enum esp_status sync_file(struct file *file, struct esp_error *error)
{
    return fsync(file->fd) == 0 ? ESP_OK : failed(file->files, "cannot sync", file->name, error);
}

static enum esp_status rename_file(struct files *files, const char *from, const char *to,
                                   struct esp_error *error)
{
    int folder = of(files)->folder;
    return renameat(folder, from, folder, to) == 0 ? ESP_OK
                                                   : failed(of(files), "cannot rename to", to, error);
}

static enum esp_status remove_file(struct files *files, const char *name, struct esp_error *error)
{
    return unlinkat(of(files)->folder, name, 0) == 0 ? ESP_OK
                                                     : failed(of(files), "cannot remove", name, error);
}

static bool free_bytes(struct files *files, uint64_t *bytes)
{
    struct statvfs about;
    if (fstatvfs(of(files)->folder, &about) != 0 || about.f_blocks == 0)
        return false;
    *bytes = (uint64_t)about.f_bavail * about.f_frsize;
    return true;
}

static enum esp_status sync_folder(struct files *files, const char *name, struct esp_error *error)
{
    int fd = openat(of(files)->folder, name[0] ? name : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return failed(of(files), "cannot open the folder", name, error);
    enum esp_status status =
        fsync(fd) == 0 ? ESP_OK : failed(of(files), "cannot sync the folder", name, error);
    close(fd);
    return status;
}

static const struct files_ops posix_ops = {
    .destroy = destroy,
    .lock = lock,
    .make_folder = make_folder,
    .list = list,
    .create = create,
    .open = open_to_read,
    .read = read_file,
    .write = write_file,
    .sync = sync_file,
    .close = close_file,
    .descriptor = descriptor,
    .reserve = reserve_file,
    .rename = rename_file,
    .remove = remove_file,
    .free_bytes = free_bytes,
    .remember = remember,
    .sync_folder = sync_folder,
};

/* Syncs the parent, because the folder's own name must be durable too. */
static enum esp_status sync_parent(const struct posix_files *posix, struct esp_error *error)
{
    int fd = openat(posix->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    enum esp_status status = synced ? ESP_OK : failed(posix, "cannot sync the folder of", "", error);
    if (fd >= 0)
        close(fd);
    return status;
}

enum esp_status files_posix_create(const char *folder, struct files **files, struct esp_error *error)
{
    struct posix_files *posix = calloc(1, sizeof *posix + strlen(folder) + 1);
    if (!posix)
        return error_no_memory(error, "a store's files");
    strcpy(posix->path, folder);
    posix->files = (struct files){&posix_ops, posix->path};
    posix->lock = -1;
    pthread_mutex_init(&posix->remaking, NULL);
    bool made = mkdir(folder, 0700) == 0;
    posix->folder = made || errno == EEXIST ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    enum esp_status status = posix->folder >= 0 ? ESP_OK : failed(posix, "cannot open the folder", "", error);
    if (status == ESP_OK)
        status = sync_parent(posix, error);
    if (status != ESP_OK) {
        destroy(&posix->files);
        return status;
    }
    *files = &posix->files;
    return ESP_OK;
}
