/* SPDX-License-Identifier: Apache-2.0
 *
 * All entries of an LDAP server below a base. One paged search gets them where the server lets it. Where it
 * counts that as a whole against its limit of sizes (500 entries, for OpenLDAP by default), it is made in
 * parts: the entries directly below, by the first letters of their names where these are too many, too; and
 * then what is below each of them, several searches at a time.
 */
#include "services/directory/ldap_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PAGE       200 /* entries of one answer: models are long */
#define AT_A_TIME  32  /* searches whose answers are waited for together */
#define MOST_DEPTH 8   /* of entries; ours have three levels */
/* Pages one after the other without an entry that is new. Some are: those of a search that was cut short come
 * again when it is made in parts, and filters may leave nothing of a page. */
#define MOST_IDLE_PAGES 1000
/* What names are told apart by, letter after letter; what begins with another one is searched for as "none of
 * these". */
#define LETTERS     "abcdefghijklmnopqrstuvwxyz0123456789-_."
#define MOST_PREFIX 24

struct search {
    char *base; /* whole name */
    int scope;
    const char *filter;
};

/* The name below the base, as our tree has it; false for what is not below it. */
static bool below_base(const struct ldap_session *session, char *name)
{
    const size_t n = strlen(name), m = strlen(session->base);
    if (n < m || strcasecmp(name + n - m, session->base) != 0)
        return false;
    name[n == m ? 0 : n - m - 1] = 0;
    return true;
}

static enum esp_status take_values(struct ldap_session *session, LDAPMessage *message,
                                   struct directory_tree *tree, struct directory_entry *entry)
{
    BerElement *position = NULL;
    enum esp_status status = ESP_OK;
    for (char *name = ldap_first_attribute(session->ld, message, &position); name;
         name = ldap_next_attribute(session->ld, message, position)) {
        struct berval **values = ldap_get_values_len(session->ld, message, name);
        for (int i = 0; values && values[i] && status == ESP_OK; i++)
            status =
                directory_tree_add(tree, entry, name, values[i]->bv_val, values[i]->bv_len, session->error);
        ldap_value_free_len(values);
        ldap_memfree(name);
    }
    ber_free(position, 0);
    return status;
}

static enum esp_status take_entries(struct ldap_session *session, LDAPMessage *result,
                                    struct directory_tree *tree)
{
    enum esp_status status = ESP_OK;
    for (LDAPMessage *message = ldap_first_entry(session->ld, result); message && status == ESP_OK;
         message = ldap_next_entry(session->ld, message)) {
        char *name = ldap_get_dn(session->ld, message);
        /* Found already: by a search that was cut short, and that is made again in parts. */
        if (name && below_base(session, name) && !directory_tree_find(tree, name)) {
            struct directory_entry *entry = directory_tree_entry(tree, name, session->error);
            status = entry ? take_values(session, message, tree, entry) : session->error->status;
        }
        ldap_memfree(name);
    }
    return status;
}

/* ---- one search ---- */

/* One page; *cookie goes on where it ended. *cut: there is more than the server gives, so far this is taken.
 */
static enum esp_status read_page(struct ldap_session *session, const struct search *search,
                                 struct berval *cookie, bool *cut, struct directory_tree *tree)
{
    LDAPControl *page = NULL, *asked[2] = {NULL, NULL}, **answered = NULL;
    LDAPMessage *result = NULL;
    patience_renew(&session->patience);
    int code = ldap_create_page_control(session->ld, PAGE, cookie, 0, &page), refused = 0;
    asked[0] = page;
    if (code == LDAP_SUCCESS)
        code = ldap_search_ext_s(session->ld, search->base, search->scope, search->filter, NULL, 0, asked,
                                 NULL, NULL, LDAP_NO_LIMIT, &result);
    if (code == LDAP_SUCCESS)
        code = ldap_parse_result(session->ld, result, &refused, NULL, NULL, NULL, &answered, 0);
    code = code == LDAP_SUCCESS ? refused : code;
    *cut = code == LDAP_SIZELIMIT_EXCEEDED || code == LDAP_ADMINLIMIT_EXCEEDED;
    enum esp_status status = code == LDAP_SUCCESS || *cut ? take_entries(session, result, tree)
                                                          : ldap_failed(session, code, search->base);
    ber_memfree(cookie->bv_val);
    *cookie = (struct berval){0};
    ber_int_t left;
    LDAPControl *told = ldap_control_find(LDAP_CONTROL_PAGEDRESULTS, answered, NULL);
    if (status == ESP_OK && told && !*cut)
        ldap_parse_pageresponse_control(session->ld, told, &left, cookie);
    ldap_controls_free(answered);
    ldap_control_free(page);
    ldap_msgfree(result);
    return status;
}

static enum esp_status read_search(struct ldap_session *session, const struct search *search, bool *cut,
                                   struct directory_tree *tree)
{
    struct berval cookie = {0};
    enum esp_status status;
    unsigned idle = 0;
    do {
        const size_t before = tree->n;
        status = read_page(session, search, &cookie, cut, tree);
        idle = tree->n > before ? 0 : idle + 1;
        if (status == ESP_OK && cookie.bv_len > 0 && idle == MOST_IDLE_PAGES)
            status = error_set(session->error, ESP_LIMIT,
                               "%.150s: %.150s: expected the last page of entries, found %d without an entry "
                               "that is new",
                               session->options->url, search->base, MOST_IDLE_PAGES);
    } while (status == ESP_OK && cookie.bv_len > 0);
    ber_memfree(cookie.bv_val);
    return status;
}

static enum esp_status too_many(const struct ldap_session *session, const char *what)
{
    return error_set(
        session->error, ESP_LIMIT,
        "%.150s: %.150s: there are more entries than the LDAP server gives, and their names do not "
        "tell them apart; set its limit for who reads (olcLimits)",
        session->options->url, what);
}

/* ---- a level, by letters ---- */

/* Entries directly below whose names begin with the prefix: by another letter each time. */
static enum esp_status read_letters(struct ldap_session *session, char *base, const char *prefix,
                                    struct directory_tree *tree)
{
    char filter[64 + (sizeof LETTERS + 2) * (MOST_PREFIX + 8)];
    const size_t n = strlen(prefix);
    enum esp_status status = ESP_OK;
    bool cut = false;
    if (n + 1 >= MOST_PREFIX)
        return too_many(session, base);
    for (const char *letter = LETTERS; *letter && status == ESP_OK; letter++) {
        char longer[MOST_PREFIX];
        snprintf(longer, sizeof longer, "%s%c", prefix, *letter);
        snprintf(filter, sizeof filter, "(cn=%s*)", longer);
        const struct search search = {base, LDAP_SCOPE_ONELEVEL, filter};
        status = read_search(session, &search, &cut, tree);
        if (status == ESP_OK && cut)
            status = read_letters(session, base, longer, tree);
    }
    if (status != ESP_OK)
        return status;
    size_t used =
        (size_t)snprintf(filter, sizeof filter, n ? "(&(cn=%s*)(!(|" : "(&(objectClass=*)(!(|", prefix);
    for (const char *letter = LETTERS; *letter; letter++)
        used += (size_t)snprintf(filter + used, sizeof filter - used, "(cn=%s%c*)", prefix, *letter);
    snprintf(filter + used, sizeof filter - used, ")))");
    const struct search rest = {base, LDAP_SCOPE_ONELEVEL, filter};
    status = read_search(session, &rest, &cut, tree);
    return status == ESP_OK && cut ? too_many(session, base) : status;
}

static enum esp_status read_level(struct ldap_session *session, char *base, struct directory_tree *tree)
{
    const struct search level = {base, LDAP_SCOPE_ONELEVEL, "(objectClass=*)"};
    bool cut;
    enum esp_status status = read_search(session, &level, &cut, tree);
    return status == ESP_OK && cut ? read_letters(session, base, "", tree) : status;
}

/* ---- what is below the entries of a level ---- */

static enum esp_status read_parts(struct ldap_session *session, const char *below, unsigned depth,
                                  struct directory_tree *tree);

static char *whole_name(const struct ldap_session *session, const char *below)
{
    const size_t size = strlen(below) + strlen(session->base) + 2;
    char *name = malloc(size);
    if (name)
        snprintf(name, size, "%s%s%s", below, *below ? "," : "", session->base);
    return name;
}

/* The answer to a search that was begun. */
static enum esp_status finish(struct ldap_session *session, int id, const char *below, unsigned depth,
                              struct directory_tree *tree)
{
    struct timeval patience = {session->options->timeout_ms / 1000,
                               session->options->timeout_ms % 1000 * 1000};
    LDAPMessage *result = NULL;
    int refused = 0;
    patience_renew(&session->patience);
    const int got = ldap_result(session->ld, id, LDAP_MSG_ALL, &patience, &result);
    int code = got == 0 ? LDAP_TIMEOUT : got < 0 ? LDAP_SERVER_DOWN : LDAP_SUCCESS;
    if (code == LDAP_SUCCESS)
        code = ldap_parse_result(session->ld, result, &refused, NULL, NULL, NULL, NULL, 0);
    code = code == LDAP_SUCCESS ? refused : code;
    const bool cut = code == LDAP_SIZELIMIT_EXCEEDED || code == LDAP_ADMINLIMIT_EXCEEDED;
    enum esp_status status = ESP_OK;
    if (code == LDAP_SUCCESS || cut)
        status = take_entries(session, result, tree);
    else if (code != LDAP_NO_SUCH_OBJECT) /* deleted meanwhile */
        status = ldap_failed(session, code, below);
    ldap_msgfree(result);
    return status == ESP_OK && cut ? read_parts(session, below, depth, tree) : status;
}

/* Some searches, begun together, for what is below these. */
static enum esp_status read_below(struct ldap_session *session, const char *const *names, size_t n,
                                  unsigned depth, struct directory_tree *tree)
{
    int ids[AT_A_TIME];
    size_t begun = 0;
    enum esp_status status = ESP_OK;
    patience_renew(&session->patience);
    for (; begun < n && status == ESP_OK; begun++) {
        char *name = whole_name(session, names[begun]);
        const int code = name ? ldap_search_ext(session->ld, name, LDAP_SCOPE_SUBTREE, "(objectClass=*)",
                                                NULL, 0, NULL, NULL, NULL, LDAP_NO_LIMIT, &ids[begun])
                              : LDAP_NO_MEMORY;
        free(name);
        if (code != LDAP_SUCCESS) {
            status = ldap_failed(session, code, names[begun]);
            break;
        }
    }
    for (size_t i = 0; i < begun && status == ESP_OK; i++)
        status = finish(session, ids[i], names[i], depth, tree);
    return status;
}

/* The names of the entries directly below that one, for free(); they belong to the tree. */
static const char **children_of(const struct directory_tree *tree, const char *below, size_t *n)
{
    const char **names = calloc(tree->n + 1, sizeof *names);
    *n = 0;
    for (size_t i = 0; names && i < tree->n; i++) {
        const char *name = tree->entries[i]->name;
        if (*name && strcasecmp(directory_name_parent(name), below) == 0)
            names[(*n)++] = name;
    }
    return names;
}

/* A subtree that is too much for one search: its level, and then what is below each of its entries. */
static enum esp_status read_parts(struct ldap_session *session, const char *below, unsigned depth,
                                  struct directory_tree *tree)
{
    size_t n;
    if (depth == MOST_DEPTH)
        return too_many(session, below);
    char *name = whole_name(session, below);
    enum esp_status status =
        name ? read_level(session, name, tree) : error_no_memory(session->error, "a directory");
    free(name);
    if (status != ESP_OK)
        return status;
    const char **names = children_of(tree, below, &n);
    if (!names)
        return error_no_memory(session->error, "a directory");
    for (size_t i = 0; i < n && status == ESP_OK; i += AT_A_TIME)
        status = read_below(session, names + i, n - i < AT_A_TIME ? n - i : AT_A_TIME, depth + 1, tree);
    free(names);
    return status;
}

enum esp_status ldap_read_all(struct ldap_session *session, struct directory_tree *tree)
{
    const struct search whole = {session->base, LDAP_SCOPE_SUBTREE, "(objectClass=*)"};
    const struct search base = {session->base, LDAP_SCOPE_BASE, "(objectClass=*)"};
    bool cut;
    enum esp_status status = read_search(session, &whole, &cut, tree);
    if (status != ESP_OK || !cut)
        return status;
    status = read_search(session, &base, &cut, tree);
    return status == ESP_OK ? read_parts(session, "", 0, tree) : status;
}
