/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/directory.h"
#include "services/directory/patience.h"
#include "services/directory/within.h"

#include <errno.h>
#include <ldap.h>
#include <netdb.h>
#include <sasl/sasl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct ldap_session {
    const struct directory_options *options;
    LDAP *ld;
    char *base;
    char password[256];
    struct patience patience;
    bool connected;
    struct ldap_conncb opened; /* callback that gives us the socket */
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

/* Sets the session's error from libldap's code and the attempted operation. */
static enum esp_status ldap_failed(const struct ldap_session *session, int code, const char *what)
{
    char *detail = NULL;
    if (session->ld)
        ldap_get_option(session->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &detail);
    if (detail && strcmp(detail, "(unknown error code)") == 0)
        *detail = 0; /* when the library itself found no error */
    if (patience_is_over(&session->patience))
        code = LDAP_TIMEOUT;
    enum esp_status status =
        error_set(session->error, status_of(code), "%.150s: %s: %s%s%.150s", session->options->url, what,
                  ldap_err2string(code), detail && *detail ? ": " : "", detail ? detail : "");
    ldap_memfree(detail);
    return status;
}

/* ---- opening ---- */

static enum esp_status read_password(struct ldap_session *session)
{
    const char *path = session->options->password_file;
    if (!path && session->options->bind && !session->options->sasl)
        return error_set(session->error, ESP_CONFIG,
                         "expected a file with the password of \"%.150s\", found none: who gives no password "
                         "is nobody to an LDAP server",
                         session->options->bind);
    if (!path)
        return ESP_OK;
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(session->error, errno == ENOENT ? ESP_NOT_FOUND : ESP_INVALID,
                         "the password's file %s cannot be read: %s", path, strerror(errno));
    const bool read = fgets(session->password, sizeof session->password, file) != NULL;
    fclose(file);
    session->password[strcspn(session->password, "\r\n")] = 0;
    return read && *session->password
               ? ESP_OK
               : error_set(session->error, ESP_CONFIG,
                           "%s: expected a password in the first line, found none", path);
}

/* Answers the questions of a SASL mechanism. */
static int interact(LDAP *ld, unsigned flags, void *defaults, void *questions)
{
    (void)ld;
    (void)flags;
    const struct ldap_session *session = defaults;
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

static int bind_to(struct ldap_session *session)
{
    const struct directory_options *options = session->options;
    struct berval password = {strlen(session->password), session->password};
    if (options->sasl)
        return ldap_sasl_interactive_bind_s(session->ld, options->bind, options->sasl, NULL, NULL,
                                            LDAP_SASL_QUIET, interact, session);
    return ldap_sasl_bind_s(session->ld, options->bind ? options->bind : "", LDAP_SASL_SIMPLE, &password,
                            NULL, NULL, NULL);
}

/* Names the bad CA file and the error: libldap reports neither. */
static enum esp_status no_authority(const struct ldap_session *session)
{
    const char *path = session->options->ca;
    if (path && access(path, R_OK) != 0)
        return error_set(session->error, errno == ENOENT ? ESP_NOT_FOUND : ESP_INVALID,
                         "the file %.150s of the directory's authority cannot be read: %s", path,
                         strerror(errno));
    return error_set(
        session->error, ESP_SECURITY,
        "%.150s: expected certificates of authorities in PEM in %.150s, found none that is usable",
        session->options->url, path ? path : "the system's files");
}

/* Explains why TLS failed, which libldap rarely does. */
static enum esp_status no_tls(const struct ldap_session *session, int code, const char *what)
{
    char authority[200] = "the system trusts";
    struct esp_error said = {0};
    struct ldap_session quiet = *session;
    quiet.error = &said;
    ldap_failed(&quiet, code, what);
    if (said.status == ESP_TIMEOUT)
        return error_set(session->error, said.status, "%s", said.text);
    if (session->options->ca)
        snprintf(authority, sizeof authority, "%.150s has", session->options->ca);
    return error_set(session->error, ESP_SECURITY,
                     "%.300s; expected a certificate for that host by an authority that %s: is it the right "
                     "authority (--ca, directory_ca), the name that the certificate has, and does the server "
                     "speak TLS there?",
                     said.text, authority);
}

static int set_up_tls(struct ldap_session *session)
{
    const int zero = 0;
    if (session->options->ca &&
        ldap_set_option(session->ld, LDAP_OPT_X_TLS_CACERTFILE, session->options->ca) != LDAP_SUCCESS)
        return LDAP_LOCAL_ERROR;
    return ldap_set_option(session->ld, LDAP_OPT_X_TLS_NEWCTX, &zero);
}

/* Connected: from here on our deadline ends waits, so libldap's own timeout is disabled. */
static int on_open(LDAP *ld, Sockbuf *socket, LDAPURLDesc *url, struct sockaddr *address,
                   struct ldap_conncb *callback)
{
    struct ldap_session *session = callback->lc_arg;
    (void)url;
    (void)address;
    session->connected = true;
    patience_renew(&session->patience);
    if (!patience_guard(&session->patience, socket))
        return -1;
    ldap_set_option(ld, LDAP_OPT_NETWORK_TIMEOUT, NULL);
    return 0;
}

static void on_close(LDAP *ld, Sockbuf *socket, struct ldap_conncb *callback)
{
    (void)ld;
    (void)socket;
    (void)callback;
}

/* Sets a deadline for all waits, and disables referrals to other servers. */
static void set_limits(struct ldap_session *session)
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

/* Asks the resolver for the names that libldap will need (the host's own name, and the server's) within
 * the deadline, so that the answers are cached. */
static void resolve(const char *host)
{
    LDAP *ld = NULL;
    struct addrinfo *found = NULL;
    if (ldap_initialize(&ld, NULL) == LDAP_SUCCESS)
        ldap_unbind_ext(ld, NULL, NULL);
    if (*host && *host != '/' && getaddrinfo(host, NULL, NULL, &found) == 0)
        freeaddrinfo(found);
}

static enum esp_status take_url(struct ldap_session *session)
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
    if (!within_ms(session->options->timeout_ms, resolve, url->lud_host ? url->lud_host : "")) {
        ldap_free_urldesc(url);
        return error_set(session->error, ESP_TIMEOUT,
                         "%.150s: Timed out: the resolver has not told its address, or this host's own name",
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
    return code == LDAP_SUCCESS && session->base ? ESP_OK : ldap_failed(session, code, "it is no address");
}

static bool is_encrypted_first(const struct directory_options *options)
{
    return strncmp(options->url, directory_ldaps.scheme, strlen(directory_ldaps.scheme)) == 0;
}

/* Connects and binds according to the options. Call ldap_session_close() in any case. ESP_CONFIG,
 * ESP_UNREACHABLE, ESP_TIMEOUT, ESP_REFUSED, ESP_SECURITY, ESP_SYSTEM. */
static enum esp_status ldap_session_open(struct ldap_session *session,
                                         const struct directory_options *options, struct esp_error *error)
{
    *session = (struct ldap_session){.options = options, .error = error};
    patience_begin(&session->patience, options->timeout_ms);
    enum esp_status status = take_url(session);
    if (status == ESP_OK)
        status = read_password(session);
    if (status != ESP_OK)
        return status;
    set_limits(session);
    int code = set_up_tls(session);
    if (code != LDAP_SUCCESS)
        return no_authority(session);
    if (options->starttls && (code = ldap_start_tls_s(session->ld, NULL, NULL)) != LDAP_SUCCESS)
        return code == LDAP_SERVER_DOWN ? ldap_failed(session, code, "StartTLS")
                                        : no_tls(session, code, "StartTLS");
    patience_renew(&session->patience);
    code = bind_to(session);
    if (code == LDAP_SERVER_DOWN && session->connected && is_encrypted_first(options))
        return no_tls(session, code, "TLS");
    return code == LDAP_SUCCESS ? ESP_OK : ldap_failed(session, code, "bind");
}

static void ldap_session_close(struct ldap_session *session)
{
    /* Unbinding may wait too, unless the server has timed out already. */
    if (!patience_is_over(&session->patience))
        patience_renew(&session->patience);
    if (session->ld)
        ldap_unbind_ext(session->ld, NULL, NULL);
    free(session->base);
    explicit_bzero(session->password, sizeof session->password);
}

/* Reads all entries of an LDAP server below a base. One paged search is enough if the server allows it. If
 * the server limits the whole search (500 entries, for OpenLDAP by default), it is split: the entries
 * directly below the base, by the first letters of their names if necessary; then the entries below each
 * of them, several searches at a time. */

#define PAGE       200 /* entries of one page: models are long */
#define AT_A_TIME  32  /* searches in progress at the same time */
#define MOST_DEPTH 8   /* of entries; ours have three levels */

/* Most consecutive pages without a new entry. Some are normal: a split search repeats entries of the
 * search that was cut off, and filters may leave nothing of a page. */
#define MOST_IDLE_PAGES 1000

/* Characters that split a level by names; names that continue with other characters are found by a search
 * for "none of these". */
#define LETTERS     "abcdefghijklmnopqrstuvwxyz0123456789-_."
#define MOST_PREFIX 24

struct search {
    char *base; /* whole name */
    int scope;
    const char *filter;
};

/* Converts a name to one below the base, as in our tree; false if it is not below the base. */
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
        /* It may have been found already, by a search that was cut off and is repeated in parts. */
        if (name && below_base(session, name) && !directory_tree_find(tree, name)) {
            struct directory_entry *entry = directory_tree_entry(tree, name, session->error);
            status = entry ? take_values(session, message, tree, entry) : session->error->status;
        }
        ldap_memfree(name);
    }
    return status;
}

/* ---- one search ---- */

/* Reads one page; *cookie continues where it ended. *cut: there are more entries than the server returns;
 * those received are used. */
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
        "%.150s: %.150s: the LDAP server returns too few entries, and a search by their names does not help; "
        "raise its limit for this reader (olcLimits)",
        session->options->url, what);
}

/* ---- a level, split by letters ---- */

/* Reads entries directly below whose names begin with the prefix, one next letter at a time. */
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

/* ---- subtrees of a level's entries ---- */

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

/* Receives the answer to a started search. */
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

/* Reads the subtrees of these entries by several searches started together. */
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

/* Lists the names of the entries directly below that one; the caller frees the array, the tree owns the
 * names. */
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

/* Reads a subtree that is too large for one search: its top level, then the subtree of each entry. */
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

/* Reads all entries of the base into the tree. As directory_read(). */
static enum esp_status ldap_read_all(struct ldap_session *session, struct directory_tree *tree)
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

/* Writes entries to an LDAP server. */

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
            change->pointers[p - 1] = &change->values[i]; /* overwrites the NULL of the list before */
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

/* Replaces the attributes of an existing entry by ours; its classes and naming attribute stay. */
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

/* Creates the base if it is missing, with the class that its name implies; an existing base is the site's
 * own. */
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

/* Writes the tree, and with `prune` removes entries that are not in it. As directory_write(). */
static enum esp_status ldap_write_all(struct ldap_session *session, const struct directory_tree *tree,
                                      bool prune, directory_progress progress, void *arg)
{
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < tree->n && status == ESP_OK; i++) {
        status = put(session, tree->entries[i]);
        if (progress)
            progress(arg, i + 1, tree->n);
    }
    return status == ESP_OK && prune ? take_out(session, tree) : status;
}

/* The backend for an LDAP server: one connection for each reading or writing. */

static enum esp_status read_ldap(const struct directory_options *options, struct directory_tree *tree,
                                 const char **base, struct esp_error *error)
{
    struct ldap_session session;
    enum esp_status status = ldap_session_open(&session, options, error);
    if (status == ESP_OK)
        status = ldap_read_all(&session, tree);
    if (status == ESP_OK && !(*base = arena_strdup(&tree->arena, session.base)))
        status = error_no_memory(error, "a directory");
    ldap_session_close(&session);
    return status;
}

static enum esp_status write_ldap(const struct directory_options *options, struct directory_tree *tree,
                                  bool prune, directory_progress progress, void *arg, struct esp_error *error)
{
    struct ldap_session session;
    enum esp_status status = ldap_session_open(&session, options, error);
    if (status == ESP_OK)
        status = ldap_write_all(&session, tree, prune, progress, arg);
    ldap_session_close(&session);
    return status;
}

const struct directory_backend directory_ldap = {"ldap:", read_ldap, write_ldap, NULL};
const struct directory_backend directory_ldaps = {"ldaps:", read_ldap, write_ldap, NULL};
const struct directory_backend directory_ldapi = {"ldapi:", read_ldap, write_ldap, NULL};
