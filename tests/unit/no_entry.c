/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests that drive the client's engine themselves: the library over it is linked, but never opened.
 */
#include "client/api/life.h"
#include "client/session/library.h"

enum esp_status client_open_transport(const struct settings_client *settings, struct transport **transport,
                                      struct esp_error *error)
{
    (void)settings;
    (void)transport;
    return error_set(error, ESP_UNREACHABLE, "a test has no network");
}

enum esp_status esp_network_check(void)
{
    return error_set(library_error(), ESP_INTERNAL, "this program has no transport");
}
