/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/ranks/rank_secret.h"

#include "sed/porter/porter_wire.h"

#include "util/random.h"

#include <dlfcn.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/opensslv.h>
#include <stdio.h>
#include <string.h>

#define SONAME_TEXT(version) "libcrypto.so." #version
#define SONAME(version)      SONAME_TEXT(version)
#define MOST_BYTES           1024

enum esp_status rank_secret_make(char secret[RANK_SECRET_TEXT], struct esp_error *error)
{
    unsigned char bytes[RANK_SECRET_BYTES];
    enum esp_status status = random_bytes(bytes, sizeof bytes, error);
    for (size_t i = 0; status == ESP_OK && i < sizeof bytes; i++)
        snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    return status;
}

/* `within`: the caller may be OpenSSL itself. Looked up by name, so that a server whose ranks are all on
 * its own host does not load OpenSSL. */
static enum esp_status sign(const char *key, const void *data, size_t bytes, bool within,
                            unsigned char *proof, struct esp_error *error)
{
    __typeof__(HMAC) *hmac = NULL;
    __typeof__(EVP_sha256) *sha256 = NULL;
    __typeof__(OPENSSL_thread_stop) *thread_stop = NULL;
    unsigned int length = 0;
    void *library = dlopen(SONAME(OPENSSL_SHLIB_VERSION), RTLD_NOW | RTLD_LOCAL);
    if (library) {
        *(void **)&hmac = dlsym(library, "HMAC"); /* the cast that POSIX recommends */
        *(void **)&sha256 = dlsym(library, "EVP_sha256");
        *(void **)&thread_stop = dlsym(library, "OPENSSL_thread_stop");
    }
    if (!hmac || !sha256 || !thread_stop)
        return error_set(error, ESP_SECURITY, "ranks on other hosts need OpenSSL: %s", dlerror());
    const bool is_signed = hmac(sha256(), key, (int)strlen(key), data, bytes, proof, &length) != NULL;
    /* OpenSSL frees its thread data at the thread's end, which the end of the process may come before. */
    if (!within)
        thread_stop();
    if (!is_signed || length != RANK_PROOF_BYTES)
        return error_set(error, ESP_SECURITY, "OpenSSL signs nothing by HMAC-SHA256");
    return ESP_OK;
}

static enum esp_status prove(const char *secret, const char *who, const void *data, size_t bytes, bool within,
                             unsigned char proof[RANK_PROOF_BYTES], struct esp_error *error)
{
    unsigned char all[MOST_BYTES];
    size_t n = strlen(who) + 1;
    if (n + bytes > sizeof all)
        return error_set(error, ESP_LIMIT, "%zu bytes are too many to sign", bytes);
    memcpy(all, who, n);
    memcpy(all + n, data, bytes);
    return sign(secret, all, n + bytes, within, proof, error);
}

enum esp_status rank_prove(const char *secret, const char *who, const void *data, size_t bytes,
                           unsigned char proof[RANK_PROOF_BYTES], struct esp_error *error)
{
    return prove(secret, who, data, bytes, false, proof, error);
}

/* A ticket of a loan never yields the key for orders. */
enum esp_status rank_porter_key(const char *secret, uint64_t ticket, unsigned char key[RANK_PROOF_BYTES],
                                struct esp_error *error)
{
    const char *what = ticket == PORTER_ORDERS ? "orders to a porter" : "a porter's loan";
    if (!*secret)
        return error_set(error, ESP_SECURITY, "there is no job whose secret could be used");
    return prove(secret, what, &ticket, sizeof ticket, true, key, error);
}

bool rank_proofs_agree(const unsigned char a[RANK_PROOF_BYTES], const unsigned char b[RANK_PROOF_BYTES])
{
    volatile unsigned char differs = 0;
    for (size_t i = 0; i < RANK_PROOF_BYTES; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}
