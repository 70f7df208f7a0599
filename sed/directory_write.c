/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/directory_write.h"

#include "services/directory/gather.h"
#include "services/directory/kept.h"
#include "util/log.h"

#include <string.h>

/* Who loads the models tells what is wrong with them. */
static void tell_nobody(void *arg, const struct esp_error *error)
{
    (void)arg;
    log_debug("not for the directory: %s", error->text);
}

enum esp_status directory_write_gather(const struct settings_sed *settings, struct directory_tree *own,
                                       struct esp_error *error)
{
    return gather_models(own, &settings->node, tell_nobody, NULL, error);
}

static bool has_same(const struct directory_tree *known, const struct directory_entry *own)
{
    const struct directory_entry *entry = directory_tree_find(known, own->name);
    const struct directory_value *there = entry ? directory_value(entry, "espalierModel") : NULL;
    const struct directory_value *model = directory_value(own, "espalierModel");
    return there && model && there->length == model->length &&
           memcmp(there->text, model->text, model->length) == 0;
}

bool directory_write_lacks(const struct directory_tree *known, const struct directory_tree *own)
{
    for (size_t i = 0; i < own->n; i++)
        if (!has_same(known, own->entries[i]))
            return true;
    return false;
}

enum esp_status directory_write_models(const struct settings_sed *settings, bool has_machine,
                                       struct directory_tree *own, struct esp_error *error)
{
    const struct directory_options options = directory_options_of(&settings->directory);
    enum esp_status status = ESP_OK;
    if (!has_machine)
        status = gather_base(own, error);
    if (status == ESP_OK && !has_machine)
        status = gather_machine(own, settings, error);
    if (status != ESP_OK)
        return status;
    directory_tree_sort(own);
    return directory_write(&options, own, false, NULL, NULL, error);
}
