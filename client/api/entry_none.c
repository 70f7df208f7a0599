/* SPDX-License-Identifier: Apache-2.0
 *
 * In place of client/api/entry.c where the build has no network: what needs none still works.
 */
#include "client/api/life.h"

enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error)
{
    (void)settings, (void)transport;
    return client_check_network(error);
}

void client_ignore_environment(void)
{
}

enum esp_status client_check_network(struct esp_error *error)
{
    return error_set(error, ESP_UNREACHABLE, "%s", ESP_NO_NETWORK);
}
