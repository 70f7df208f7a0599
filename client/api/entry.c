/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the library chooses its transport.
 */
#include "client/api/life.h"
#include "util/clock.h"
#include "orb/orb.h"

enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error)
{
    const struct orb_options options = {.tls_ca = settings->tls.ca,
                                        .tls_certificate = settings->tls.certificate,
                                        .tls_key = settings->tls.key,
                                        .message_bytes = settings->message_bytes,
                                        .connect_timeout_ms = settings->connect_timeout_ns / NS_PER_MS,
                                        .client_only = true};
    return orb_open(&options, transport, error);
}

void esp_ignore_environment(void)
{
    orb_ignore_environment();
}

enum esp_status esp_network_check(void)
{
    return ESP_OK;
}
