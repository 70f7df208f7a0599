/* SPDX-License-Identifier: Apache-2.0
 *
 * Internals of espalier-crd: arguments that are files. A command has them in its own folder; a routine
 * gets the paths of files in a folder that is created for the call and removed after it. */
#ifndef SED_CRD_FILES_H
#define SED_CRD_FILES_H

#include "core/problem/texts.h"
#include "sed/crd/crd.h"

#include <limits.h>
#include <sys/types.h>

/* Whether the value is an array of strings or of files. */
bool file_is_texts(const struct ring_file *file);

/* Creates a new file. The caller closes it. -1: errno says why. */
int file_create(int folder, const char *name);

/* Writes the files of an array of files, NAME.1, NAME.2, ... ESP_SYSTEM, ESP_INTERNAL. */
enum esp_status file_write_each(int folder, const struct ring_file *file, const void *value,
                                struct esp_error *error);

/* Opens a file that was written as a result. The caller closes *fd, whatever is returned, unless it is -1.
 * ESP_FAILED: it is missing, or no regular file; or it has more than `most` bytes. */
enum esp_status file_open_output(int folder, const char *name, uint64_t most, int *fd, off_t *size,
                                 struct esp_error *error);

/* Reads a whole file of that many bytes, with a 0 appended; the caller frees it. NULL: no memory. */
char *file_read_whole(int fd, size_t size);

/* Sends an array of strings or files. ESP_SYSTEM, ESP_LIMIT. */
enum esp_status file_send_texts(struct ring *ring, int socket, const struct ring_file *file,
                                const struct text_item *items, struct esp_error *error);

/* Sends the files of an array of files. ESP_FAILED as file_open_output(), for all of them together. */
enum esp_status file_send_each(struct ring *ring, int socket, int folder, const struct ring_file *file,
                               struct esp_error *error);

/* ---- files of a routine ---- */

/* The files of one call. */
struct paths {
    char folder[PATH_MAX]; /* "": none */
    struct {
        void *memory;    /* an area with what the routine gets: the path, or an array of them */
        uint64_t length; /* characters of a path: Fortran's hidden length */
    } items[PROBLEM_MAX_ARGUMENTS];
};

/* Creates the folder, the input files, and their paths. ESP_SYSTEM, ESP_INTERNAL, ESP_NO_MEMORY. The
 * caller calls paths_remove() whatever is returned. */
enum esp_status paths_begin(struct ring *ring, struct areas *areas, struct paths *paths,
                            struct esp_error *error);
/* After the routine returned: sends the files that come back, by their original names. answer.trouble says
 * what is wrong with them; "": nothing. */
void paths_end(struct ring *ring, int socket, const struct paths *paths);
void paths_remove(struct paths *paths);

#endif
