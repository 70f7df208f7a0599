/* SPDX-License-Identifier: Apache-2.0
 *
 * The directory on an LDAP server: one connection for each reading or writing.
 */
#include "services/directory/directory.h"
#include "services/directory/patience.h"

#include <ldap.h>
#include <sasl/sasl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PAGE 200 /* entries of one answer: models are long */

struct session {
    const struct directory_options *options;
    LDAP *ld;
    char *base;
    char password[256];
    struct patience patience;
    struct ldap_conncb opened; /* tells us the socket */
    struct esp_error *error;
};

/* ---- errors ---- */

static enum esp_status status_of(int code)
{
    switch (code) {
    case LDAP_SERVER_DOWN:
    case LDAP_CONNECT_ERROR:
    case LDAP_UNAVAILABLE:
    case LDAP_BUSY:
        return ESP_UNREACHABLE;
    case LDAP_TIMEOUT:
    case LDAP_TIMELIMIT_EXCEEDED:
        return ESP_TIMEOUT;
    case LDAP_NO_SUCH_OBJECT:
        return ESP_NOT_FOUND;
    case LDAP_NO_MEMORY:
        return ESP_NO_MEMORY;
    case LDAP_SIZELIMIT_EXCEEDED:
    case LDAP_ADMINLIMIT_EXCEEDED:
        return ESP_LIMIT;
    default:
        return ESP_REFUSED;
    }
}

static enum esp_status failed(const struct session *session, int code, const char *what)
{
    char *detail = NULL;
    if (session->ld)
        ldap_get_option(session->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &detail);
    if (session->patience.runs && patience_is_over((struct patience *)&session->patience))
        code = LDAP_TIMEOUT;
    enum esp_status status =
        error_set(session->error, status_of(code), "%.150s: %s: %s%s%.150s", session->options->url, what,
                  ldap_err2string(code), detail && *detail ? ": " : "", detail ? detail : "");
    ldap_memfree(detail);
    return status;
}

/* ---- opening ---- */

static enum esp_status read_password(struct session *session)
{
    const char *path = session->options->password_file;
    if (!path)
        return ESP_OK;
    FILE *file = fopen(path, "re");
    if (!file)
        return error_errno(session->error, "directory_password_file: %s", path);
    const bool read = fgets(session->password, sizeof session->password, file) != NULL;
    fclose(file);
    session->password[strcspn(session->password, "\r\n")] = 0;
    return read && *session->password
               ? ESP_OK
               : error_set(session->error, ESP_CONFIG,
                           "%s: expected a password in the first line, found none", path);
}

/* Fills what a SASL mechanism asks for. */
static int interact(LDAP *ld, unsigned flags, void *defaults, void *questions)
{
    (void)ld;
    (void)flags;
    const struct session *session = defaults;
    for (sasl_interact_t *question = questions; question->id != SASL_CB_LIST_END; question++) {
        const char *user = session->options->sasl_user;
        const char *answer = question->id == SASL_CB_PASS ? session->password
                             : user && (question->id == SASL_CB_AUTHNAME || question->id == SASL_CB_USER)
                                 ? user
                                 : "";
        question->result = answer;
        question->len = (unsigned)strlen(answer);
    }
    return LDAP_SUCCESS;
}

static int bind_to(struct session *session)
{
    const struct directory_options *options = session->options;
    struct berval password = {strlen(session->password), session->password};
    if (options->sasl)
        return ldap_sasl_interactive_bind_s(session->ld, options->bind, options->sasl, NULL, NULL,
                                            LDAP_SASL_QUIET, interact, session);
    return ldap_sasl_bind_s(session->ld, options->bind ? options->bind : "", LDAP_SASL_SIMPLE, &password,
                            NULL, NULL, NULL);
}

static int set_up_tls(struct session *session)
{
    const int zero = 0;
    if (session->options->ca &&
        ldap_set_option(session->ld, LDAP_OPT_X_TLS_CACERTFILE, session->options->ca) != LDAP_SUCCESS)
        return LDAP_LOCAL_ERROR;
    return ldap_set_option(session->ld, LDAP_OPT_X_TLS_NEWCTX, &zero);
}

/* Connected: from here on our patience is what ends waiting. With a timeout of its own for the network
 * libldap would do the handshake of TLS without blocking, and spin where GnuTLS is below it. */
static int on_open(LDAP *ld, Sockbuf *socket, LDAPURLDesc *url, struct sockaddr *address,
                   struct ldap_conncb *callback)
{
    struct session *session = callback->lc_arg;
    int fd = -1;
    (void)url;
    (void)address;
    ber_sockbuf_ctrl(socket, LBER_SB_OPT_GET_FD, &fd);
    patience_watch(&session->patience, fd);
    ldap_set_option(ld, LDAP_OPT_NETWORK_TIMEOUT, NULL);
    return 0;
}

static void on_close(LDAP *ld, Sockbuf *socket, struct ldap_conncb *callback)
{
    struct session *session = callback->lc_arg;
    (void)ld;
    (void)socket;
    patience_watch(&session->patience, -1);
}

/* No wait without a deadline; no referrals to servers that nobody named. */
static void set_limits(struct session *session)
{
    const int version = LDAP_VERSION3;
    const struct timeval patience = {session->options->timeout_ms / 1000,
                                     session->options->timeout_ms % 1000 * 1000};
    ldap_set_option(session->ld, LDAP_OPT_PROTOCOL_VERSION, &version);
    ldap_set_option(session->ld, LDAP_OPT_NETWORK_TIMEOUT, &patience);
    ldap_set_option(session->ld, LDAP_OPT_TIMEOUT, &patience);
    ldap_set_option(session->ld, LDAP_OPT_REFERRALS, LDAP_OPT_OFF);
    ldap_set_option(session->ld, LDAP_OPT_RESTART, LDAP_OPT_OFF);
    session->opened = (struct ldap_conncb){on_open, on_close, session};
    ldap_set_option(session->ld, LDAP_OPT_CONNECT_CB, &session->opened);
}

static enum esp_status take_url(struct session *session)
{
    LDAPURLDesc *url = NULL;
    char server[512];
    if (ldap_url_parse(session->options->url, &url) != LDAP_URL_SUCCESS || !url->lud_dn || !*url->lud_dn) {
        ldap_free_urldesc(url);
        return error_set(session->error, ESP_CONFIG,
                         "directory: expected \"ldap://HOST/BASE\", such as "
                         "\"ldap://ldap.example.org/ou=espalier,dc=example,dc=org\", found \"%.150s\"",
                         session->options->url);
    }
    session->base = strdup(url->lud_dn);
    free(url->lud_dn);
    url->lud_dn = NULL;
    url->lud_scope = LDAP_SCOPE_DEFAULT;
    char *text = ldap_url_desc2str(url);
    snprintf(server, sizeof server, "%s", text ? text : "");
    ldap_memfree(text);
    ldap_free_urldesc(url);
    const int code = ldap_initialize(&session->ld, server);
    return code == LDAP_SUCCESS && session->base ? ESP_OK : failed(session, code, "it is no address");
}

static enum esp_status open_session(struct session *session, const struct directory_options *options,
                                    struct esp_error *error)
{
    *session = (struct session){.options = options, .error = error};
    if (!patience_begin(&session->patience, options->timeout_ms))
        return error_set(error, ESP_SYSTEM, "no thread for the deadline of the directory");
    enum esp_status status = take_url(session);
    if (status == ESP_OK)
        status = read_password(session);
    if (status != ESP_OK)
        return status;
    set_limits(session);
    int code = set_up_tls(session);
    if (code != LDAP_SUCCESS)
        return error_set(error, ESP_SECURITY, "%.150s: the authority %.150s is not usable", options->url,
                         options->ca ? options->ca : "");
    if (options->starttls && (code = ldap_start_tls_s(session->ld, NULL, NULL)) != LDAP_SUCCESS) {
        failed(session, code, "StartTLS");
        if (error && error->status != ESP_TIMEOUT && code != LDAP_SERVER_DOWN)
            error->status = ESP_SECURITY;
        return error ? error->status : ESP_SECURITY;
    }
    patience_renew(&session->patience);
    code = bind_to(session);
    return code == LDAP_SUCCESS ? ESP_OK : failed(session, code, "bind");
}

static void close_session(struct session *session)
{
    /* Its good-bye may wait too. */
    patience_renew(&session->patience);
    if (session->ld)
        ldap_unbind_ext(session->ld, NULL, NULL);
    patience_end(&session->patience);
    free(session->base);
    explicit_bzero(session->password, sizeof session->password);
}

/* ---- reading ---- */

/* The name below the base, as our tree has it; false for what is not below it. */
static bool below_base(const struct session *session, char *name)
{
    const size_t n = strlen(name), m = strlen(session->base);
    if (n < m || strcasecmp(name + n - m, session->base) != 0)
        return false;
    name[n == m ? 0 : n - m - 1] = 0;
    return true;
}

static enum esp_status take_values(struct session *session, LDAPMessage *message, struct directory_tree *tree,
                                   struct directory_entry *entry)
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

static enum esp_status take_entries(struct session *session, LDAPMessage *result, struct directory_tree *tree)
{
    enum esp_status status = ESP_OK;
    for (LDAPMessage *message = ldap_first_entry(session->ld, result); message && status == ESP_OK;
         message = ldap_next_entry(session->ld, message)) {
        char *name = ldap_get_dn(session->ld, message);
        if (name && below_base(session, name)) {
            struct directory_entry *entry = directory_tree_entry(tree, name, session->error);
            status = entry ? take_values(session, message, tree, entry) : session->error->status;
        }
        ldap_memfree(name);
    }
    return status;
}

/* One page; *cookie goes on where it ended. Frees what the caller has no more use for. */
static enum esp_status read_page(struct session *session, struct berval *cookie, struct directory_tree *tree)
{
    LDAPControl *page = NULL, *asked[2] = {NULL, NULL}, **answered = NULL;
    LDAPMessage *result = NULL;
    patience_renew(&session->patience);
    int code = ldap_create_page_control(session->ld, PAGE, cookie, 0, &page), refused = 0;
    asked[0] = page;
    if (code == LDAP_SUCCESS)
        code = ldap_search_ext_s(session->ld, session->base, LDAP_SCOPE_SUBTREE, "(objectClass=*)", NULL, 0,
                                 asked, NULL, NULL, LDAP_NO_LIMIT, &result);
    if (code == LDAP_SUCCESS)
        code = ldap_parse_result(session->ld, result, &refused, NULL, NULL, NULL, &answered, 0);
    if (code == LDAP_SUCCESS)
        code = refused;
    enum esp_status status =
        code == LDAP_SUCCESS ? take_entries(session, result, tree) : failed(session, code, session->base);
    ber_memfree(cookie->bv_val);
    *cookie = (struct berval){0};
    ber_int_t left;
    LDAPControl *told = ldap_control_find(LDAP_CONTROL_PAGEDRESULTS, answered, NULL);
    if (status == ESP_OK && told)
        ldap_parse_pageresponse_control(session->ld, told, &left, cookie);
    ldap_controls_free(answered);
    ldap_control_free(page);
    ldap_msgfree(result);
    return status;
}

static enum esp_status read_all(struct session *session, struct directory_tree *tree)
{
    struct berval cookie = {0};
    enum esp_status status;
    do
        status = read_page(session, &cookie, tree);
    while (status == ESP_OK && cookie.bv_len > 0);
    ber_memfree(cookie.bv_val);
    return status;
}

static enum esp_status read_ldap(const struct directory_options *options, struct directory_tree *tree,
                                 const char **base, struct esp_error *error)
{
    struct session session;
    enum esp_status status = open_session(&session, options, error);
    if (status == ESP_OK)
        status = read_all(&session, tree);
    if (status == ESP_OK && !(*base = arena_strdup(&tree->arena, session.base)))
        status = error_no_memory(error, "a directory");
    close_session(&session);
    return status;
}

/* ---- writing ---- */

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
static int replace(struct session *session, const char *name, const struct directory_entry *entry)
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
static enum esp_status put_base(struct session *session)
{
    char unit[256];
    if (strncasecmp(session->base, "ou=", 3) != 0)
        return ESP_OK;
    snprintf(unit, sizeof unit, "%.*s", (int)strcspn(session->base + 3, ","), session->base + 3);
    char *classes[] = {"organizationalUnit", NULL}, *units[] = {unit, NULL};
    LDAPMod class = {LDAP_MOD_ADD, "objectClass", {classes}}, name = {LDAP_MOD_ADD, "ou", {units}};
    LDAPMod *mods[] = {&class, &name, NULL};
    const int code = ldap_add_ext_s(session->ld, session->base, mods, NULL, NULL);
    return code == LDAP_SUCCESS || code == LDAP_ALREADY_EXISTS ? ESP_OK
                                                               : failed(session, code, session->base);
}

static enum esp_status put(struct session *session, const struct directory_entry *entry)
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
    return code == LDAP_SUCCESS ? ESP_OK : failed(session, code, name);
}

static enum esp_status take_out(struct session *session, const struct directory_tree *tree)
{
    struct directory_tree there = {0};
    enum esp_status status = read_all(session, &there);
    directory_tree_sort(&there);
    for (size_t i = there.n; i-- > 0 && status == ESP_OK;) { /* children before parents */
        char name[2 * DIRECTORY_MOST_NAME + 2];
        if (directory_tree_find(tree, there.entries[i]->name) || !*there.entries[i]->name)
            continue;
        snprintf(name, sizeof name, "%s,%s", there.entries[i]->name, session->base);
        patience_renew(&session->patience);
        const int code = ldap_delete_ext_s(session->ld, name, NULL, NULL);
        if (code != LDAP_SUCCESS && code != LDAP_NO_SUCH_OBJECT)
            status = failed(session, code, name);
    }
    directory_tree_clear(&there);
    return status;
}

static enum esp_status write_ldap(const struct directory_options *options, struct directory_tree *tree,
                                  bool prune, directory_progress progress, void *arg, struct esp_error *error)
{
    struct session session;
    enum esp_status status = open_session(&session, options, error);
    for (size_t i = 0; i < tree->n && status == ESP_OK; i++) {
        status = put(&session, tree->entries[i]);
        if (progress)
            progress(arg, i + 1, tree->n);
    }
    if (status == ESP_OK && prune)
        status = take_out(&session, tree);
    close_session(&session);
    return status;
}

const struct directory_backend directory_ldap = {"ldap:", read_ldap, write_ldap};
const struct directory_backend directory_ldaps = {"ldaps:", read_ldap, write_ldap};
const struct directory_backend directory_ldapi = {"ldapi:", read_ldap, write_ldap};
