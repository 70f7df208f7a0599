/* SPDX-License-Identifier: Apache-2.0 */
#include "services/directory/ldap_session.h"

#include "services/directory/within.h"

#include <errno.h>
#include <netdb.h>
#include <sasl/sasl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

enum esp_status ldap_failed(const struct ldap_session *session, int code, const char *what)
{
    char *detail = NULL;
    if (session->ld)
        ldap_get_option(session->ld, LDAP_OPT_DIAGNOSTIC_MESSAGE, &detail);
    if (detail && strcmp(detail, "(unknown error code)") == 0)
        *detail = 0; /* of a library that found nothing wrong itself */
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

/* Fills what a SASL mechanism asks for. */
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

/* Which file, and what is wrong with it: libldap says neither. */
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

/* libldap knows that TLS did not come about, and seldom why. */
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

/* Connected: from here on our patience is what ends waiting, and libldap's own must not. */
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

/* No wait without a deadline; no referrals to servers that nobody named. */
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

/* What libldap will ask the resolver for, so that the answers are near by then: the host's own name, when it
 * is used first, and the server's. */
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

enum esp_status ldap_session_open(struct ldap_session *session, const struct directory_options *options,
                                  struct esp_error *error)
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

void ldap_session_close(struct ldap_session *session)
{
    /* Its good-bye may wait too, but for nobody who has been given up. */
    if (!patience_is_over(&session->patience))
        patience_renew(&session->patience);
    if (session->ld)
        ldap_unbind_ext(session->ld, NULL, NULL);
    free(session->base);
    explicit_bzero(session->password, sizeof session->password);
}
