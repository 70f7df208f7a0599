/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the file of a datum: no crash, and what is accepted says the same when it is written again.
 * The checksum is made to fit in every second try, or little but it would ever be looked at.
 */
#include "tests/fuzz/replay.h"
#include "services/data/datum_file.h"
#include "util/crc32c.h"

#include <stdlib.h>
#include <string.h>

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_again(const uint8_t *header, uint64_t length, uint64_t file_bytes,
                        const struct datum_header *record)
{
    struct datum_header back;
    uint64_t n = (record->shape.bytes + DATUM_FILE_BLOCK - 1) / DATUM_FILE_BLOCK;
    uint32_t *crcs = calloc(n + 1, sizeof *crcs);
    uint8_t *again = malloc(length);
    if (crcs && again) {
        for (uint64_t i = 0; i < n; i++)
            crcs[i] = datum_header_crc(header, i);
        datum_header_encode(record, crcs, again);
        check(datum_header_parse(again, length, file_bytes, &back, NULL) == ESP_OK);
        check(datum_key_equal(back.id.key, record->id.key) && strcmp(back.owner, record->owner) == 0);
        check(datum_shape_fits(&back.shape, &record->shape, "", NULL) == ESP_OK);
    }
    free(crcs);
    free(again);
}

static void try_file(const uint8_t *data, size_t size, uint64_t file_bytes)
{
    struct datum_header record;
    struct esp_error error;
    uint64_t length;
    if (size < DATUM_FILE_PAGE || datum_header_length(data, file_bytes, &length, &error) != ESP_OK)
        return;
    check(length <= file_bytes);
    if (length > size || datum_header_parse(data, length, file_bytes, &record, &error) != ESP_OK)
        return;
    check(datum_shape_check(&record.shape, NULL) == ESP_OK);
    check(datum_file_bytes(record.shape.bytes) == file_bytes);
    check_again(data, length, file_bytes, &record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_file(data, size, size);
    uint8_t *mended = size >= DATUM_FILE_PAGE ? malloc(size) : NULL;
    if (!mended)
        return 0;
    memcpy(mended, data, size);
    uint64_t length = size / DATUM_FILE_PAGE * DATUM_FILE_PAGE, bytes = 0;
    uint32_t crc = crc32c(0, mended, length - 4);
    for (unsigned i = 0; i < 4; i++)
        mended[length - 4 + i] = (uint8_t)(crc >> 8 * i);
    for (unsigned i = 0; i < 8; i++)
        bytes |= (uint64_t)mended[32 + i] << 8 * i;
    if (bytes < UINT64_C(1) << 62)
        try_file(mended, size, length + bytes); /* as long as it says it is */
    free(mended);
    return 0;
}
