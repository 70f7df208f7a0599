/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls a routine by its address and signature, through libffi. */
#ifndef SED_INVOKE_H
#define SED_INVOKE_H

#include "sed/pool/signature.h"

#define INVOKE_RESULT_BYTES 16 /* room for the widest function result, a double complex */

struct invocation; /* a prepared call; used by one thread at a time */

/* Prepares calls of `routine`. The caller destroys *invocation. ESP_INVALID when libffi does not support
 * such a signature on this machine. */
enum esp_status invocation_create(const struct call_signature *signature, void (*routine)(void),
                                  struct invocation **invocation, struct esp_error *error);
void invocation_destroy(struct invocation *invocation);

/* Calls it. operands[i], one for each parameter of the signature, is for PASS_VALUE the address of the
 * element, for PASS_ADDRESS the address to pass, for PASS_LENGTH the length itself. The function's result, as
 * an element of its type, is stored at `result` (INVOKE_RESULT_BYTES; not touched when there is none). */
void invocation_call(struct invocation *invocation, void *const *operands, void *result);

#endif
