/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests that drive the client's engine themselves: the library over it is linked, but never opened.
 */
#include "client/api/life.h"

enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error)
{
    (void)settings;
    (void)transport;
    return client_check_network(error);
}

enum esp_status client_check_network(struct esp_error *error)
{
    return error_set(error, ESP_INTERNAL, "this program has no transport");
}
