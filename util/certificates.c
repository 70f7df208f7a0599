/* SPDX-License-Identifier: Apache-2.0 */
#include "util/certificates.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#define SONAME_TEXT(version) "libcrypto.so." #version
#define SONAME(version)      SONAME_TEXT(version)

/* The functions used from OpenSSL, looked up by name when it is loaded. */
#define FUNCTIONS(of)                                                                                        \
    of(BIO_new_file) of(BIO_free) of(PEM_read_bio_X509) of(PEM_read_bio_PrivateKey) of(X509_free)            \
        of(X509_check_private_key) of(EVP_PKEY_free) of(X509_STORE_new) of(X509_STORE_free)                  \
            of(X509_STORE_load_file) of(X509_STORE_CTX_new) of(X509_STORE_CTX_init) of(X509_STORE_CTX_free)  \
                of(X509_STORE_CTX_get_error) of(X509_verify_cert) of(X509_verify_cert_error_string)          \
                    of(OPENSSL_sk_new_null) of(OPENSSL_sk_push) of(OPENSSL_sk_pop_free) of(ERR_clear_error)

struct crypto {
#define DECLARE(name) __typeof__(name) *name;
    FUNCTIONS(DECLARE)
};

static enum esp_status load_crypto(struct crypto *crypto, struct esp_error *error)
{
    void *library = dlopen(SONAME(OPENSSL_SHLIB_VERSION), RTLD_NOW | RTLD_LOCAL);
    bool whole = library != NULL;
#define FIND(name)                                                                                           \
    whole = whole &&                                                                                         \
            (*(void **)&crypto->name = dlsym(library, #name)) != NULL; /* the cast that POSIX recommends */
    FUNCTIONS(FIND)
    return whole ? ESP_OK : error_set(error, ESP_SECURITY, "TLS needs OpenSSL: %s", dlerror());
}

static enum esp_status check_readable(const char *what, const char *key, const char *path,
                                      struct esp_error *error)
{
    return access(path, R_OK) == 0 ? ESP_OK
                                   : error_set(error, ESP_CONFIG, "cannot read the %s %s (%s): %s", what,
                                               path, key, strerror(errno));
}

/* The own certificate, and those after it in its file. */
struct chain {
    X509 *own;
    OPENSSL_STACK *more;
};

static void read_chain(const struct crypto *crypto, const char *path, struct chain *chain)
{
    BIO *file = crypto->BIO_new_file(path, "r");
    X509 *next;
    if (!file)
        return;
    chain->own = crypto->PEM_read_bio_X509(file, NULL, NULL, NULL);
    chain->more = crypto->OPENSSL_sk_new_null();
    while (chain->own && chain->more && (next = crypto->PEM_read_bio_X509(file, NULL, NULL, NULL)))
        crypto->OPENSSL_sk_push(chain->more, next);
    crypto->BIO_free(file);
}

static EVP_PKEY *read_key(const struct crypto *crypto, const char *path)
{
    BIO *file = crypto->BIO_new_file(path, "r");
    char no_password[] = ""; /* passed so that OpenSSL does not prompt for a password */
    EVP_PKEY *key = file ? crypto->PEM_read_bio_PrivateKey(file, NULL, NULL, no_password) : NULL;
    crypto->BIO_free(file);
    return key;
}

static enum esp_status check_signature(const struct crypto *crypto, const char *authority,
                                       const char *certificate, const struct chain *chain,
                                       struct esp_error *error)
{
    enum esp_status status = ESP_OK;
    X509_STORE *store = crypto->X509_STORE_new();
    X509_STORE_CTX *context = crypto->X509_STORE_CTX_new();
    if (!store || !context)
        status = error_no_memory(error, "checking certificates");
    else if (crypto->X509_STORE_load_file(store, authority) != 1)
        status = error_set(error, ESP_CONFIG, "%s: expected the PEM certificate of an authority, found none",
                           authority);
    else if (crypto->X509_STORE_CTX_init(context, store, chain->own, (STACK_OF(X509) *)chain->more) != 1)
        status = error_no_memory(error, "checking certificates");
    else if (crypto->X509_verify_cert(context) != 1)
        status = error_set(
            error, ESP_CONFIG, "%s: the authority of %s does not vouch for this certificate: %s", certificate,
            authority, crypto->X509_verify_cert_error_string(crypto->X509_STORE_CTX_get_error(context)));
    crypto->X509_STORE_CTX_free(context);
    crypto->X509_STORE_free(store);
    return status;
}

static enum esp_status check_parsed(const struct crypto *crypto, const char *authority,
                                    const char *certificate, const char *key, struct esp_error *error)
{
    struct chain chain = {0};
    enum esp_status status = ESP_OK;
    read_chain(crypto, certificate, &chain);
    EVP_PKEY *private = read_key(crypto, key);
    if (!chain.own)
        status = error_set(error, ESP_CONFIG, "%s: expected a PEM certificate, found none", certificate);
    else if (!private)
        status = error_set(error, ESP_CONFIG, "%s: expected a PEM private key without a password, found none",
                           key);
    else if (crypto->X509_check_private_key(chain.own, private) != 1)
        status = error_set(error, ESP_CONFIG, "%s: the key does not belong to the certificate %s", key,
                           certificate);
    else
        status = check_signature(crypto, authority, certificate, &chain, error);
    crypto->EVP_PKEY_free(private);
    crypto->X509_free(chain.own);
    crypto->OPENSSL_sk_pop_free(chain.more, (OPENSSL_sk_freefunc)crypto->X509_free);
    crypto->ERR_clear_error();
    return status;
}

enum esp_status certificates_check(const char *authority, const char *certificate, const char *key,
                                   struct esp_error *error)
{
    struct crypto crypto = {0};
    enum esp_status status;
    if ((status = check_readable("authority's certificate", "tls_ca", authority, error)) != ESP_OK ||
        (status = check_readable("certificate", "tls_certificate", certificate, error)) != ESP_OK ||
        (status = check_readable("key", "tls_key", key, error)) != ESP_OK ||
        (status = load_crypto(&crypto, error)) != ESP_OK)
        return status;
    return check_parsed(&crypto, authority, certificate, key, error);
}
