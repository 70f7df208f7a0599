/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "client/command/directory_client.h"

#include "services/directory/schema.h"

#include <string.h>
#include <strings.h>

/* The schema has seen that it is an address (services/directory/schema.h): nothing that could end a text in a
 * file. */
static const char *address_of(const struct directory_entry *entry, const char *role)
{
    const struct directory_value *its_role = directory_value(entry, "espalierRole");
    const struct directory_value *address = directory_value(entry, "espalierAddress");
    return directory_entry_is(entry, DIRECTORY_ENTRY) && address && its_role &&
                   strcasecmp(its_role->text, role) == 0
               ? address->text
               : NULL;
}

static enum esp_status write_all(const struct directory_tree *tree, const char *role, const char *key,
                                 FILE *file, struct esp_error *error)
{
    unsigned n = 0;
    for (size_t i = 0; i < tree->n; i++)
        n += address_of(tree->entries[i], role) != NULL;
    if (n == 0)
        return error_set(error, ESP_NOT_FOUND,
                         "expected entries of redirectors or master agents with their addresses, found none");
    fprintf(file, "%s = {", key);
    for (size_t i = 0, k = 0; i < tree->n; i++) {
        const char *address = address_of(tree->entries[i], role);
        if (address)
            fprintf(file, "%s \"%s\"", k++ ? "," : "", address);
    }
    fputs(" }\n", file);
    return ESP_OK;
}

enum esp_status directory_client_write(const struct directory_tree *tree, FILE *file, struct esp_error *error)
{
    enum esp_status status = write_all(tree, "redirector", "redirectors", file, error);
    return status == ESP_NOT_FOUND ? write_all(tree, "master", "agents", file, error) : status;
}
