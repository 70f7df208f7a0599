/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the three files of mutual TLS fit each other, told before a connection fails for it.
 */
#ifndef UTIL_CERTIFICATES_H
#define UTIL_CERTIFICATES_H

#include "util/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PEM files: the authority's certificate, one that it has signed (intermediate ones may follow in the file),
 * and the private key that belongs to that, without a password. ESP_CONFIG with the name of the file that
 * is wrong and why; ESP_SECURITY without OpenSSL. Any thread. OpenSSL is loaded for it: a process without TLS
 * does not pay for that. */
enum esp_status certificates_check(const char *authority, const char *certificate, const char *key,
                                   struct esp_error *error);

#ifdef __cplusplus
}
#endif
#endif
