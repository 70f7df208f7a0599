/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/outcome.h"

grpc_error_t outcome_code(enum esp_status status)
{
    switch (status) {
    case ESP_OK:
        return GRPC_NO_ERROR;
    case ESP_PENDING:
        return GRPC_NOT_COMPLETED;
    case ESP_UNKNOWN_PROBLEM:
        return GRPC_FUNCTION_NOT_FOUND;
    case ESP_NO_SERVER:
    case ESP_UNREACHABLE:
        return GRPC_SERVER_NOT_FOUND;
    case ESP_MAYBE:
    case ESP_PROTOCOL:
        return GRPC_COMMUNICATION_FAILED;
    case ESP_REFUSED:
    case ESP_LIMIT:
    case ESP_NO_MEMORY:
    case ESP_VERSION:
    case ESP_STALE:
    case ESP_SECURITY:
        return GRPC_RPC_REFUSED;
    case ESP_INVALID:
    case ESP_FAILED:
    case ESP_CRASHED:
    case ESP_INACCURATE:
    case ESP_CANCELLED:
    case ESP_TIMEOUT:
    case ESP_NOT_FOUND: /* a file that is an argument */
    case ESP_SYSTEM:
        return GRPC_SESSION_FAILED;
    default:
        return GRPC_OTHER_ERROR_CODE;
    }
}

grpc_error_t outcome_handle_code(enum esp_status status)
{
    switch (status) {
    case ESP_NOT_FOUND:
    case ESP_TIMEOUT:
    case ESP_MAYBE:
        return GRPC_SERVER_NOT_FOUND;
    case ESP_SYNTAX: /* a description that this library does not understand */
        return GRPC_COMMUNICATION_FAILED;
    case ESP_INVALID:
    case ESP_SYSTEM:
    case ESP_NO_MEMORY:
        return GRPC_OTHER_ERROR_CODE;
    default:
        return outcome_code(status);
    }
}

grpc_error_t outcome_config_code(enum esp_status status)
{
    switch (status) {
    case ESP_OK:
        return GRPC_NO_ERROR;
    case ESP_NOT_FOUND:
        return GRPC_CONFIGFILE_NOT_FOUND;
    case ESP_CONFIG:
    case ESP_SYNTAX:
    case ESP_LIMIT:
    case ESP_SECURITY: /* certificates that the file names */
        return GRPC_CONFIGFILE_ERROR;
    default:
        return GRPC_OTHER_ERROR_CODE;
    }
}
