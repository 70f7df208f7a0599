/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutual authentication of a server daemon and a rank on another host: both know the secret of this MPI
 * job, and neither sends it. Each draws an unpredictable number, and shows that it can sign both numbers
 * (HMAC-SHA256, RFC 2104). */
#ifndef SED_RANK_SECRET_H
#define SED_RANK_SECRET_H

#include "util/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_SECRET_BYTES 32
#define RANK_SECRET_TEXT  (2 * RANK_SECRET_BYTES + 1) /* in hexadecimal digits */
#define RANK_NONCE_BYTES  32
#define RANK_PROOF_BYTES  32

/* Draws a new secret. ESP_SYSTEM. */
enum esp_status rank_secret_make(char secret[RANK_SECRET_TEXT], struct esp_error *error);

/* Computes the proof of `who` ("daemon" or "rank", so that one cannot be used as the other) over `bytes`
 * bytes that both know, among them the other's number. Any thread. ESP_SECURITY without OpenSSL, which is
 * loaded for this. */
enum esp_status rank_prove(const char *secret, const char *who, const void *data, size_t bytes,
                           unsigned char proof[RANK_PROOF_BYTES], struct esp_error *error);
/* Computes the key of encrypted connections to a rank's porter (sed/porter/porter.h): for holders of that
 * ticket of a loan, or, with PORTER_ORDERS instead, for the daemon's orders. ESP_SECURITY: also without a
 * secret. */
enum esp_status rank_porter_key(const char *secret, uint64_t ticket, unsigned char key[RANK_PROOF_BYTES],
                                struct esp_error *error);
/* Compares in constant time. */
bool rank_proofs_agree(const unsigned char a[RANK_PROOF_BYTES], const unsigned char b[RANK_PROOF_BYTES]);

#endif
