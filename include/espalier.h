/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier.h: what Espalier offers a client program beyond the GridRPC standard (grpc.h).
 *
 * All functions may be called from any thread. No function prints, exits or touches signals.
 */
#ifndef ESPALIER_H
#define ESPALIER_H

#ifdef __cplusplus
extern "C" {
#endif

/* What a function of Espalier can come back with. The numbers are part of the contract on the wire:
 * they never change, new ones are added at the end. */
enum esp_status {
    ESP_OK = 0,
    ESP_INVALID = 1,         /* an argument of the call is wrong (the text says which and why) */
    ESP_SYNTAX = 2,          /* a file or text is malformed (the text says file:line) */
    ESP_NO_MEMORY = 3,       /* memory is exhausted, or the call can never fit the server's limit */
    ESP_SYSTEM = 4,          /* the operating system refused something (the text has its words) */
    ESP_NOT_FOUND = 5,       /* a file, session, datum or node does not exist */
    ESP_UNKNOWN_PROBLEM = 6, /* no server of the hierarchy can solve it */
    ESP_NO_SERVER = 7,       /* servers know the problem, but none can take the request now */
    ESP_UNREACHABLE = 8,     /* nobody answered; surely nothing was executed */
    ESP_MAYBE = 9,           /* the connection broke in the middle: executed, or not */
    ESP_TIMEOUT = 10,        /* the deadline passed */
    ESP_REFUSED = 11,        /* the other side declined (policy, drained, identity) */
    ESP_LIMIT = 12,          /* a configured cap was reached */
    ESP_VERSION = 13,        /* the other side speaks another version of the contract */
    ESP_STALE = 14,          /* the message was meant for an earlier incarnation of the node */
    ESP_FAILED = 15,         /* the routine itself reported a failure (LAPACK's info, an exit code) */
    ESP_CRASHED = 16,        /* the routine crashed, exited or was killed */
    ESP_CANCELLED = 17,      /* cancelled on request */
    ESP_PENDING = 18,        /* not finished yet */
    ESP_PROTOCOL = 19,       /* a message that the contract does not allow */
    ESP_SECURITY = 20,       /* TLS, certificate or permission */
    ESP_CONFIG = 21,         /* a configuration file or option is wrong */
    ESP_INTERNAL = 22        /* a fault of Espalier itself: please report it */
};

/* The status and a text for people: what was expected, what was found, where. */
struct esp_error {
    enum esp_status status;
    char text[512];
};

/* A short constant English text for the status, never NULL ("deadline passed"). */
const char *esp_status_string(enum esp_status status);

#ifdef __cplusplus
}
#endif
#endif
