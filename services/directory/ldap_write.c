/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries into an LDAP server.
 */
#include "services/directory/ldap_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The values of an entry as one LDAPMod for each attribute; NULL-ended; NULL without memory. */
struct change {
    LDAPMod **mods;
    LDAPMod *of;
    struct berval *values, **pointers;
};

static void release(struct change *change)
{
    free(change->mods);
    free(change->of);
    free(change->values);
    free(change->pointers);
}

static bool make_change(struct change *change, const struct directory_entry *entry, int operation)
{
    const size_t n = entry->n_values;
    *change =
        (struct change){calloc(n + 1, sizeof *change->mods), calloc(n + 1, sizeof *change->of),
                        calloc(n + 1, sizeof *change->values), calloc(2 * n + 1, sizeof *change->pointers)};
    if (!change->mods || !change->of || !change->values || !change->pointers)
        return false;
    size_t k = 0, p = 0;
    for (size_t i = 0; i < n; i++) {
        const struct directory_value *value = &entry->values[i];
        change->values[i] = (struct berval){value->length, (char *)value->text};
        if (i > 0 && strcasecmp(value->attribute, entry->values[i - 1].attribute) == 0) {
            change->pointers[p - 1] = &change->values[i]; /* over the end of the list before */
            p++;
            continue;
        }
        change->of[k] = (LDAPMod){operation | LDAP_MOD_BVALUES, (char *)value->attribute, {NULL}};
        change->of[k].mod_bvalues = &change->pointers[p];
        change->mods[k] = &change->of[k];
        k++;
        change->pointers[p] = &change->values[i];
        p += 2;
    }
    return true;
}

/* Where the entry is there already, what ours says replaces it; its classes and own name stay. */
static int replace(struct ldap_session *session, const char *name, const struct directory_entry *entry)
{
    struct change change;
    int code = LDAP_NO_MEMORY;
    if (make_change(&change, entry, LDAP_MOD_REPLACE)) {
        size_t n = 0;
        for (size_t i = 0; change.mods[i]; i++)
            if (strcasecmp(change.mods[i]->mod_type, "objectClass") != 0 &&
                strcasecmp(change.mods[i]->mod_type, "cn") != 0 &&
                strcasecmp(change.mods[i]->mod_type, "ou") != 0)
                change.mods[n++] = change.mods[i];
        change.mods[n] = NULL;
        code = n ? ldap_modify_ext_s(session->ld, name, change.mods, NULL, NULL) : LDAP_SUCCESS;
    }
    release(&change);
    return code;
}

/* The base is the site's own entry: one that is not there is made where its name says how. */
static enum esp_status put_base(struct ldap_session *session)
{
    char unit[256], what[300];
    if (strncasecmp(session->base, "ou=", 3) != 0)
        return ESP_OK;
    snprintf(unit, sizeof unit, "%.*s", (int)strcspn(session->base + 3, ","), session->base + 3);
    char *classes[] = {"organizationalUnit", NULL}, *units[] = {unit, NULL};
    LDAPMod class = {LDAP_MOD_ADD, "objectClass", {classes}}, name = {LDAP_MOD_ADD, "ou", {units}};
    LDAPMod *mods[] = {&class, &name, NULL};
    const int code = ldap_add_ext_s(session->ld, session->base, mods, NULL, NULL);
    if (code == LDAP_SUCCESS || code == LDAP_ALREADY_EXISTS)
        return ESP_OK;
    const bool nowhere = code == LDAP_NO_SUCH_OBJECT || code == LDAP_UNWILLING_TO_PERFORM;
    snprintf(what, sizeof what, "%.200s%s", session->base,
             nowhere ? " (is the base right? the entry above it is to be there)" : "");
    return ldap_failed(session, code, what);
}

static enum esp_status put(struct ldap_session *session, const struct directory_entry *entry)
{
    char name[2 * DIRECTORY_MOST_NAME + 2];
    struct change change;
    patience_renew(&session->patience);
    if (!*entry->name)
        return put_base(session);
    snprintf(name, sizeof name, "%s%s%s", entry->name, *entry->name ? "," : "", session->base);
    int code = make_change(&change, entry, LDAP_MOD_ADD)
                   ? ldap_add_ext_s(session->ld, name, change.mods, NULL, NULL)
                   : LDAP_NO_MEMORY;
    release(&change);
    if (code == LDAP_ALREADY_EXISTS)
        code = replace(session, name, entry);
    return code == LDAP_SUCCESS ? ESP_OK : ldap_failed(session, code, name);
}

static enum esp_status take_out(struct ldap_session *session, const struct directory_tree *tree)
{
    struct directory_tree there = {0};
    enum esp_status status = ldap_read_all(session, &there);
    directory_tree_sort(&there);
    for (size_t i = there.n; i-- > 0 && status == ESP_OK;) { /* children before parents */
        char name[2 * DIRECTORY_MOST_NAME + 2];
        if (directory_tree_find(tree, there.entries[i]->name) || !*there.entries[i]->name)
            continue;
        snprintf(name, sizeof name, "%s,%s", there.entries[i]->name, session->base);
        patience_renew(&session->patience);
        const int code = ldap_delete_ext_s(session->ld, name, NULL, NULL);
        if (code != LDAP_SUCCESS && code != LDAP_NO_SUCH_OBJECT)
            status = ldap_failed(session, code, name);
    }
    directory_tree_clear(&there);
    return status;
}

enum esp_status ldap_write_all(struct ldap_session *session, const struct directory_tree *tree, bool prune,
                               directory_progress progress, void *arg)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < tree->n && status == ESP_OK; i++) {
        status = put(session, tree->entries[i]);
        if (progress)
            progress(arg, i + 1, tree->n);
    }
    return status == ESP_OK && prune ? take_out(session, tree) : status;
}
