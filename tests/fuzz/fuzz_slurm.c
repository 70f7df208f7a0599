/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as what a program of Slurm prints, as a job's record and as an exit-code file: no crash, and what
 * is accepted keeps its limits.
 */
#include "sed/batch/batch_record.h"
#include "sed/batch/batch_script.h"
#include "sed/batch/slurm_text.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_jobs(struct batch_sighting *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        check(*jobs[i].id && memchr(jobs[i].id, 0, sizeof jobs[i].id));
        check(memchr(jobs[i].name, 0, sizeof jobs[i].name) && memchr(jobs[i].said, 0, sizeof jobs[i].said));
        check(memchr(jobs[i].nodes, 0, sizeof jobs[i].nodes) && jobs[i].hint < BATCH_N_HINTS);
        check(jobs[i].exit_code >= 0 && jobs[i].exit_code <= 255 && jobs[i].signal >= 0);
    }
    free(jobs);
}

static void try_record(const char *text, size_t size)
{
    struct batch_record record, again;
    char written[BATCH_RECORD_BYTES];
    if (batch_record_read(text, size, &record, NULL) != ESP_OK)
        return;
    const size_t length = batch_record_write(&record, written);
    check(length < sizeof written && batch_record_read(written, length, &again, NULL) == ESP_OK);
    check(strcmp(record.error.text, again.error.text) == 0 && record.state == again.state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct batch_sighting *jobs = NULL;
    char id[BATCH_ID_BYTES], value[40];
    size_t n = 0;
    const char *text = (const char *)data;
    if (slurm_read_queue(text, size, &jobs, &n, NULL) == ESP_OK)
        check_jobs(jobs, n);
    if (slurm_read_accounting(text, size, &jobs, &n, NULL) == ESP_OK)
        check_jobs(jobs, n);
    if (slurm_read_id(text, size, id))
        check(strlen(id) < sizeof id && strspn(id, "0123456789") == strlen(id));
    if (slurm_read_field(text, size, "State", value, sizeof value))
        check(strlen(value) < sizeof value);
    const int32_t code = batch_script_read_exit(text, size);
    check(code >= -1 && code <= 255);
    try_record(text, size);
    return 0;
}
