/* SPDX-License-Identifier: Apache-2.0 */
#include "util/bytes.h"

#include <inttypes.h>
#include <stdio.h>

const char *bytes_text(uint64_t bytes, char *text)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    if (bytes < 1000) {
        snprintf(text, BYTES_TEXT, "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
        return text;
    }
    double value = (double)bytes / 1000;
    unsigned unit = 0;
    for (; value >= 999.5 && unit < 5; unit++)
        value /= 1000;
    snprintf(text, BYTES_TEXT, "%.3g %s", value, units[unit]);
    return text;
}
