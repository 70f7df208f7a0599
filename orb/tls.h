/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutual TLS. The ORB's TLS transport is loaded only when needed, so that a process without TLS starts
 * without OpenSSL. */
#ifndef ORB_TLS_H
#define ORB_TLS_H

#include "orb/orb.h"

#include <string>
#include <vector>

/* Loads it and appends the ORB's options for it. ESP_CONFIG when a file cannot be used. */
enum esp_status tls_prepare(const struct orb_options *options, std::vector<std::string> &orb_arguments,
                            struct esp_error *error);
/* For running without TLS: if this process had TLS before, the ORB remembers it. */
void tls_leave(std::vector<std::string> &orb_arguments);
/* Call it when the ORB has read its files (or will not). */
void tls_prepared();

#endif
