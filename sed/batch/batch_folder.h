/* SPDX-License-Identifier: Apache-2.0
 *
 * The folders and files of batch jobs on disk. Files in "run" belong to the job's user, which may
 * differ from the server's user: the server follows no symbolic link there.
 */
#ifndef SED_BATCH_FOLDER_H
#define SED_BATCH_FOLDER_H

#include "sed/batch/batch_command.h"
#include "sed/batch/batch_record.h"

#include <limits.h>

#define BATCH_FILE_RECORD "job"
#define BATCH_FOLDER_RUN  "run"

/* Makes the folder of all jobs unless it is there, and locks it against other processes: *lock is a
 * descriptor for close(). ESP_CONFIG: the path is not absolute, too long, or has a character that batch
 * systems replace ('%' or '\\'); ESP_BUSY; ESP_SYSTEM. */
enum esp_status batch_folder_open(const char *folder, bool other_user, int *lock, struct esp_error *error);

/* Makes FOLDER/NAME and FOLDER/NAME/run. */
enum esp_status batch_folder_make(const char *folder, const char *name, bool other_user,
                                  struct esp_error *error);

/* Writes the script and gives the run folder and all in it to the user (NULL: it stays this user's). */
enum esp_status batch_folder_hand_over(const char *run, const char *script, const struct batch_user *user,
                                       struct esp_error *error);

enum esp_status batch_folder_save(const char *folder, const struct batch_record *record,
                                  struct esp_error *error);
/* ESP_NOT_FOUND: there is no record; ESP_SYNTAX. */
enum esp_status batch_folder_load(const char *folder, const char *name, struct batch_record *record,
                                  struct esp_error *error);

/* The files that the job has written about itself. Opening the folder anew makes network file systems ask
 * their server.
 */
struct batch_traces {
    bool started;
    int64_t started_s; /* by the clock of the node */
    char node[128];
    int32_t exit_code; /* -1: none */
};
void batch_folder_look(const char *run, struct batch_traces *traces);

/* Writes FOLDER/NAME/run into `run`, which has PATH_MAX bytes. False: too long. */
bool batch_folder_run(const char *folder, const char *name, char *run);

void batch_folder_remove(const char *folder, const char *name);

#endif
