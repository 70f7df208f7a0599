/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that the three files of mutual TLS fit each other, so that the error comes before a connection
 * fails. */
#ifndef UTIL_CERTIFICATES_H
#define UTIL_CERTIFICATES_H

#include "util/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PEM files: the authority's certificate, a certificate signed by it (intermediate ones may follow in the
 * file), and its private key, without a password. ESP_CONFIG with the name of the bad file and the reason;
 * ESP_SECURITY without OpenSSL. Any thread. Loads OpenSSL on demand, so that a process without TLS does
 * not need it. */
enum esp_status certificates_check(const char *authority, const char *certificate, const char *key,
                                   struct esp_error *error);

#ifdef __cplusplus
}
#endif
#endif
