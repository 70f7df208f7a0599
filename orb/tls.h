/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutual TLS. The ORB's TLS transport is loaded only when it is wanted: a process without TLS does not pay
 * for OpenSSL at its start.
 */
#ifndef ORB_TLS_H
#define ORB_TLS_H

#include "orb/orb.h"

#include <string>
#include <vector>

/* Loads it and appends the ORB's options for it. ESP_CONFIG when a file cannot be used. */
enum esp_status tls_prepare(const struct orb_options *options, std::vector<std::string> &orb_arguments,
                            struct esp_error *error);
/* For a life without TLS: where an earlier one of this process had it, the ORB remembers. */
void tls_leave(std::vector<std::string> &orb_arguments);
/* When the ORB has read its files (or will not). */
void tls_prepared();

#endif
