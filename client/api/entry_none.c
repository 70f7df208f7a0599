/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces client/api/entry.c in builds without a network: functions that need none still work.
 */
#include "client/api/life.h"
#include "client/session/library.h"

enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error)
{
    (void)settings, (void)transport;
    return error_set(error, ESP_UNREACHABLE, "%s", ESP_NO_NETWORK);
}

void esp_ignore_environment(void)
{
}

enum esp_status esp_network_check(void)
{
    return error_set(library_error(), ESP_UNREACHABLE, "%s", ESP_NO_NETWORK);
}
