/* SPDX-License-Identifier: Apache-2.0
 *
 * The record from which a server finds a batch job again after a restart: a small text file that is replaced
 * as a whole: one "key value" a line, first "espalier-batch-job 1". Unknown keys are skipped.
 */
#ifndef SED_BATCH_RECORD_H
#define SED_BATCH_RECORD_H

#include "sed/batch/batch.h"

#define BATCH_RECORD_BYTES 8192

struct batch_record {
    char name[BATCH_NAME_BYTES];
    char id[BATCH_ID_BYTES]; /* "": not known */
    enum batch_state state;
    bool cancel_wanted;
    int64_t time_s; /* time limit; 0: none of its own */
    uint32_t cores;
    uint64_t memory_mb;
    int64_t created_s, started_s; /* seconds since 1970; 0: not known */
    int32_t exit_code;            /* -1: not known */
    struct esp_error error;       /* of a final state */
};

/* Writes the text; returns its length, less than BATCH_RECORD_BYTES. */
size_t batch_record_write(const struct batch_record *record, char text[BATCH_RECORD_BYTES]);

/* Any bytes are safe to read. ESP_SYNTAX: the text is no whole record ("line 3: expected ..., found ..."). */
enum esp_status batch_record_read(const char *text, size_t length, struct batch_record *record,
                                  struct esp_error *error);

#endif
