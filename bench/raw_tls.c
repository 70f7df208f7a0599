/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/raw_tls.h"
#include "bench/bench.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#define SUITE "TLS_AES_128_GCM_SHA256"

static void check(bool well, const char *what)
{
    if (!well)
        bench_fail("raw TLS: %s", what);
}

/* A key and a certificate of its own, which nobody looks at: only the encryption is measured. */
static void name_itself(SSL_CTX *context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    check(key && certificate && X509_set_version(certificate, 2) == 1, "no memory");
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 24L * 3600);
    check(X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, EVP_sha256()) > 0 &&
              SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1,
          "no certificate");
    X509_free(certificate);
    EVP_PKEY_free(key);
}

struct ssl_st *raw_tls_shake(int socket, bool serves)
{
    SSL_CTX *context = SSL_CTX_new(serves ? TLS_server_method() : TLS_client_method());
    check(context && SSL_CTX_set_ciphersuites(context, SUITE) == 1, "no context");
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    if (serves)
        name_itself(context);
    SSL *ssl = SSL_new(context);
    SSL_CTX_free(context); /* the connection has it */
    check(ssl && SSL_set_fd(ssl, socket) == 1 && (serves ? SSL_accept(ssl) : SSL_connect(ssl)) == 1,
          "no handshake");
    return ssl;
}

bool raw_tls_move(struct ssl_st *ssl, char *data, uint64_t bytes, bool sends)
{
    while (bytes > 0) {
        size_t n = 0;
        if ((sends ? SSL_write_ex(ssl, data, bytes, &n) : SSL_read_ex(ssl, data, bytes, &n)) != 1)
            return false;
        data += n;
        bytes -= n;
    }
    return true;
}

void raw_tls_end(struct ssl_st *ssl)
{
    SSL_free(ssl);
}
