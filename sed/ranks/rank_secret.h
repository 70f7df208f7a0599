/* SPDX-License-Identifier: Apache-2.0
 *
 * How a server daemon and a rank on another host prove to each other that they belong together, before either
 * believes a word: both know the secret of this job of MPI, and neither says it. Each draws a number nobody
 * can guess, and shows that it can sign both numbers (HMAC-SHA256, RFC 2104).
 */
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

/* A fresh one. ESP_SYSTEM. */
enum esp_status rank_secret_make(char secret[RANK_SECRET_TEXT], struct esp_error *error);

/* The proof of `who` ("daemon", "rank": one is no use to the other) over `bytes` bytes that both know, among
 * them the other's number. Any thread. ESP_SECURITY without OpenSSL, which is loaded for it. */
enum esp_status rank_prove(const char *secret, const char *who, const void *data, size_t bytes,
                           unsigned char proof[RANK_PROOF_BYTES], struct esp_error *error);
/* The key of encrypted connections to the porter of a rank (sed/porter/porter.h): of those who were told that
 * ticket of a loan, or, with PORTER_ORDERS in its place, of the daemon with its orders. ESP_SECURITY: also
 * where there is no secret. */
enum esp_status rank_porter_key(const char *secret, uint64_t ticket, unsigned char key[RANK_PROOF_BYTES],
                                struct esp_error *error);
/* In a time that tells nothing of where they differ. */
bool rank_proofs_agree(const unsigned char a[RANK_PROOF_BYTES], const unsigned char b[RANK_PROOF_BYTES]);

#endif
