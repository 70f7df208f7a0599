/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on files that the store stands on: small enough that a test can own them and lose everything
 * that was not synced.
 *
 * Names are relative to the store's folder: "x.datum", "damaged/x.datum". What is written is durable once
 * sync() has returned, a name (created, renamed, removed) once sync_folder() of its folder has. Errors are
 * ESP_SYSTEM with the system's words (ESP_NO_MEMORY when the disk is full, ESP_NOT_FOUND: no such file), and
 * tell the path. All but `lock` may be called from several threads, one file by several to read or to write
 * different parts of it.
 */
#ifndef SERVICES_DATA_FILES_H
#define SERVICES_DATA_FILES_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct files;
struct file; /* an open one */

typedef enum esp_status files_visit(void *arg, const char *name, const char *kind, struct esp_error *error);

struct files_ops {
    void (*destroy)(struct files *files);
    /* Takes the folder for this process until destroy. ESP_REFUSED: another process has it. */
    enum esp_status (*lock)(struct files *files, struct esp_error *error);
    /* A folder inside; one that is there is fine. */
    enum esp_status (*make_folder)(struct files *files, const char *name, struct esp_error *error);
    /* Everything in that folder ("": the store's own), in any order, without the folder's name. `kind`: NULL,
     * or what it is in place of a regular file. Stops when `visit` fails. */
    enum esp_status (*list)(struct files *files, const char *folder, files_visit *visit, void *arg,
                            struct esp_error *error);
    /* A new empty file to write and to read; an old one of that name is replaced. */
    enum esp_status (*create)(struct files *files, const char *name, struct file **file,
                              struct esp_error *error);
    /* To read. ESP_INVALID: it is no regular file. */
    enum esp_status (*open)(struct files *files, const char *name, struct file **file, uint64_t *bytes,
                            struct esp_error *error);
    /* All of it, at that place; reading beyond the end is ESP_SYSTEM. */
    enum esp_status (*read)(struct file *file, void *data, size_t bytes, uint64_t offset,
                            struct esp_error *error);
    enum esp_status (*write)(struct file *file, const void *data, size_t bytes, uint64_t offset,
                             struct esp_error *error);
    /* After a failure what was written may be lost, also when a later sync succeeds: write it all again. */
    enum esp_status (*sync)(struct file *file, struct esp_error *error);
    void (*close)(struct file *file); /* NULL is nothing to do */
    /* For mapping, as long as it is open: to read, and of a new one, of which reserve() has made so much, to
     * write. NULL member: there are none. */
    int (*descriptor)(const struct file *file);
    /* A new one has so many bytes from now on, with a place on the disk, so that writing to its mapping
     * cannot fail for want of one. NULL where `descriptor` is. */
    enum esp_status (*reserve)(struct file *file, uint64_t bytes, struct esp_error *error);
    /* Atomically; replaces `to`. */
    enum esp_status (*rename)(struct files *files, const char *from, const char *to, struct esp_error *error);
    enum esp_status (*remove)(struct files *files, const char *name, struct esp_error *error);
    /* How many bytes more the disk takes. False: nobody knows. NULL member: never. */
    bool (*free_bytes)(struct files *files, uint64_t *bytes);
    /* When another program has removed the store's folder, create() makes the folder again, with a file of
     * that name and text. NULL member: the folder cannot be removed. */
    void (*remember)(struct files *files, const char *name, const char *text);
    /* "" is the store's own folder. */
    enum esp_status (*sync_folder)(struct files *files, const char *name, struct esp_error *error);
};

/* First member of every implementation. */
struct files {
    const struct files_ops *ops;
    const char *where; /* for messages: the folder's path */
};

/* Files below `folder`, which is made (mode 0700) if its parent is there. When another program has removed
 * the folder, create() makes it again with the folders above it. */
enum esp_status files_posix_create(const char *folder, struct files **files, struct esp_error *error);

#endif
