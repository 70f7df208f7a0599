/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/directory_client.h"

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

/* Those of the role behind the first `skip`, as a list; returns how many there are in all. */
static unsigned write_list(const struct directory_tree *tree, const char *role, const char *key,
                           unsigned skip, FILE *file)
{
    unsigned n = 0;
    for (size_t i = 0; i < tree->n; i++) {
        const char *address = address_of(tree->entries[i], role);
        if (address && n++ >= skip) {
            if (n == skip + 1)
                fprintf(file, "%s = {", key);
            fprintf(file, "%s \"%s\"", n > skip + 1 ? "," : "", address);
        }
    }
    if (n > skip)
        fputs(" }\n", file);
    return n;
}

static const char *first_of(const struct directory_tree *tree, const char *role)
{
    const char *address = NULL;
    for (size_t i = 0; i < tree->n && !address; i++)
        address = address_of(tree->entries[i], role);
    return address;
}

enum esp_status directory_client_write(const struct directory_tree *tree, FILE *file, struct esp_error *error)
{
    const char *redirector = first_of(tree, "redirector");
    if (redirector) {
        fprintf(file, "redirector = \"%s\"\n", redirector);
        write_list(tree, "redirector", "redirectors", 1, file);
    } else if (write_list(tree, "master", "agents", 0, file) == 0) {
        return error_set(error, ESP_NOT_FOUND,
                         "expected entries of redirectors or master agents with their addresses, found none");
    }
    return ESP_OK;
}
