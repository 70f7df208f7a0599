/* SPDX-License-Identifier: Apache-2.0
 *
 * The file operations of the store: few enough that a test can implement them and lose everything that was
 * not synced.
 *
 * Names are relative to the store's folder: "x.datum", "damaged/x.datum". Written bytes are durable once
 * sync() has returned, a name (created, renamed, removed) once sync_folder() of its folder has. Errors are
 * ESP_SYSTEM with the system's text (ESP_NO_MEMORY when the disk is full, ESP_NOT_FOUND: no such file),
 * and name the path. All operations except `lock` may be called from several threads; several threads may
 * read or write different parts of one file. */
#ifndef SERVICES_DATA_FILES_H
#define SERVICES_DATA_FILES_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct files;
struct file; /* an open file */

typedef enum esp_status files_visit(void *arg, const char *name, const char *kind, struct esp_error *error);

struct files_ops {
    void (*destroy)(struct files *files);
    /* Locks the folder for this process until destroy. ESP_REFUSED: another process has it. */
    enum esp_status (*lock)(struct files *files, struct esp_error *error);
    /* Creates a folder inside, unless it exists. */
    enum esp_status (*make_folder)(struct files *files, const char *name, struct esp_error *error);
    /* Visits everything in that folder ("": the store's own), in any order, by names without the folder's.
     * `kind`: NULL for a regular file, else its kind. Stops when `visit` fails. */
    enum esp_status (*list)(struct files *files, const char *folder, files_visit *visit, void *arg,
                            struct esp_error *error);
    /* Creates an empty file for writing and reading; replaces an old one of that name. */
    enum esp_status (*create)(struct files *files, const char *name, struct file **file,
                              struct esp_error *error);
    /* Opens a file for reading. ESP_INVALID: it is no regular file. */
    enum esp_status (*open)(struct files *files, const char *name, struct file **file, uint64_t *bytes,
                            struct esp_error *error);
    /* Reads all bytes at that offset; reading beyond the end is ESP_SYSTEM. */
    enum esp_status (*read)(struct file *file, void *data, size_t bytes, uint64_t offset,
                            struct esp_error *error);
    enum esp_status (*write)(struct file *file, const void *data, size_t bytes, uint64_t offset,
                             struct esp_error *error);
    /* After a failure written bytes may be lost, even if a later sync succeeds: write everything again. */
    enum esp_status (*sync)(struct file *file, struct esp_error *error);
    void (*close)(struct file *file); /* NULL is ignored */
    /* Returns a descriptor for mapping, as long as the file is open: for reading, and for a file sized by
     * reserve() also for writing. NULL member: there are none. */
    int (*descriptor)(const struct file *file);
    /* Sets the size of a new file and reserves its space on the disk, so that writing to its mapping
     * cannot fail. NULL if `descriptor` is. */
    enum esp_status (*reserve)(struct file *file, uint64_t bytes, struct esp_error *error);
    /* Renames atomically; replaces `to`. */
    enum esp_status (*rename)(struct files *files, const char *from, const char *to, struct esp_error *error);
    enum esp_status (*remove)(struct files *files, const char *name, struct esp_error *error);
    /* Returns the free bytes of the disk. False: not known. NULL member: never known. */
    bool (*free_bytes)(struct files *files, uint64_t *bytes);
    /* Sets a file (name and text) that create() writes when another program has removed the store's folder
     * and create() makes it again. NULL member: the folder cannot be removed. */
    void (*remember)(struct files *files, const char *name, const char *text);
    /* Syncs a folder; "" is the store's own. */
    enum esp_status (*sync_folder)(struct files *files, const char *name, struct esp_error *error);
};

/* First member of every implementation. */
struct files {
    const struct files_ops *ops;
    const char *where; /* for messages: the folder's path */
};

/* Implements the operations for files below `folder`, which is created (mode 0700) if its parent exists.
 * When another program has removed the folder, create() creates it again with the folders above it. */
enum esp_status files_posix_create(const char *folder, struct files **files, struct esp_error *error);

#endif
