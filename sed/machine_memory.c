/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/machine_memory.h"

#include "services/nws/memory.h"
#include "util/log.h"
#include "util/bytes.h"

#include <stdlib.h>
#include <unistd.h>

/* Of the machine's memory: what a server promises even if nothing is left. */
#define LEAST_PART    16
#define MOST_TOGETHER 10000

static uint64_t bytes_of_pages(int name)
{
    return (uint64_t)sysconf(name) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What the system could give without swapping. */
static uint64_t available_bytes(void)
{
    const uint64_t available = memory_available(NULL);
    return available < UINT64_MAX ? available : bytes_of_pages(_SC_AVPHYS_PAGES);
}

uint64_t machine_memory(void)
{
    const uint64_t machine = bytes_of_pages(_SC_PHYS_PAGES), limit = control_groups_memory(NULL);
    return limit < machine ? limit : machine;
}

/* How many servers `espalier up` has started together on this machine; 1: this one alone. */
static unsigned servers_together(void)
{
    const char *text = getenv(MACHINE_MEMORY_SERVERS);
    const unsigned long n = text ? strtoul(text, NULL, 10) : 1;
    return n >= 1 && n <= MOST_TOGETHER ? (unsigned)n : 1;
}

uint64_t machine_memory_take(uint64_t wanted, struct memory_share **share)
{
    struct esp_error error;
    const unsigned together = servers_together();
    const uint64_t part = available_bytes() / 4 * 3 / together;
    struct memory_bounds bounds = {.machine = bytes_of_pages(_SC_PHYS_PAGES), .most = part};
    const uint64_t limit = control_groups_memory_of(NULL, &bounds.group_id);
    bounds.group = limit < bounds.machine ? limit : 0;
    uint64_t got = 0;
    char size[BYTES_TEXT], left[BYTES_TEXT], whole[BYTES_TEXT];
    enum esp_status status = memory_share_take(MEMORY_SHARE_FILE, &bounds,
                                               wanted || together == 1 ? wanted : part, share, &got, &error);
    if (status != ESP_OK) {
        log_warning("other servers here may promise the same memory: %s", error.text);
        got = wanted ? wanted : part;
    }
    uint64_t least = wanted ? wanted : machine_memory() / LEAST_PART;
    if (wanted > machine_memory())
        log_warning(
            "memory: %s are promised to calls, but this server may have %s (the limit of its control group, "
            "or the whole machine): calls may be killed for want of memory",
            bytes_text(wanted, size), bytes_text(machine_memory(), whole));
    if (got < least)
        log_warning("%s of memory are promised to calls (memory = %s), but other servers here left %s of the "
                    "%s that this machine or the control group has",
                    bytes_text(least, size), wanted ? "in the file" : "a sixteenth of all at least",
                    bytes_text(got, left), bytes_text(machine_memory(), whole));
    return got < least ? least : got;
}
