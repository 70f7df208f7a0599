/* SPDX-License-Identifier: Apache-2.0
 *
 * How the command reads matrix files: as its options say, and no larger matrix than a server could take.
 */
#include "config.h"

#include "command/values.h"
#include "espalier.h"
#include "util/config.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

const struct values_library values_library = VALUES_LIBRARY;

/* From these sizes on it pays to ask the platform what it can take. A compressed text may be a
 * thousandth of itself. */
#define LARGE_FILE       (64 << 20)
#define LARGE_COMPRESSED (64 << 10)

/* A matrix of 32-bit numbers and indices takes twice as much here as on a server. */
#define WIDER_HERE 2

static bool is_large(const char *operand)
{
    const char *value = strchr(operand, '='), *path = value && value[1] == '@' ? value + 2 : operand;
    const size_t length = strlen(path);
    const bool compressed = length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
           about.st_size > (compressed ? LARGE_COMPRESSED : LARGE_FILE);
}

bool values_have_large_file(const struct command_line *command)
{
    for (int i = 0; i < command->n_operands; i++)
        if (is_large(command->operands[i]))
            return true;
    return false;
}

/* Bytes that the largest server has for sessions; 0: not known. */
static uint64_t largest_memory(void)
{
    struct esp_node *nodes;
    size_t n;
    uint64_t largest = 0;
    if (esp_tree(NULL, &nodes, &n) != ESP_OK)
        return 0;
    for (size_t i = 0; i < n; i++)
        largest = nodes[i].memory_total > largest ? nodes[i].memory_total : largest;
    esp_tree_free(nodes);
    return largest;
}

static void tell(const char *note)
{
    command_complain("", note);
}

enum esp_status values_reading(const struct command_line *command, struct matrix_reading *reading,
                               struct esp_error *error)
{
    const char *word = command_option_value(command, "max-input");
    *reading = (struct matrix_reading){
        .sum_duplicates = command_option_value(command, "sum-duplicates") != NULL, .tell = tell};
    if (!word && (command->verb->shared & WITH_PLATFORM) && values_have_large_file(command)) {
        const uint64_t largest = largest_memory();
        reading->max_bytes = largest > UINT64_MAX / WIDER_HERE ? UINT64_MAX : WIDER_HERE * largest;
    }
    if (!word)
        return ESP_OK;
    if (config_read_size(word, &reading->max_bytes, error) != ESP_OK || reading->max_bytes == 0)
        return error_set(error, ESP_INVALID, "--max-input: expected a size such as '16 GiB', found '%.40s'",
                         word);
    return ESP_OK;
}
