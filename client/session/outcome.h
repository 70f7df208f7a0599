/* SPDX-License-Identifier: Apache-2.0
 *
 * GridRPC's error codes for Espalier's statuses.
 */
#ifndef CLIENT_OUTCOME_H
#define CLIENT_OUTCOME_H

#include "espalier.h"

/* How a session ended (ESP_PENDING: GRPC_NOT_COMPLETED). */
grpc_error_t outcome_code(enum esp_status status);

/* Why a handle could not be made. */
grpc_error_t outcome_handle_code(enum esp_status status);

/* Why the library could not be initialized. */
grpc_error_t outcome_config_code(enum esp_status status);

#endif
