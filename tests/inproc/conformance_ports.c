/* SPDX-License-Identifier: Apache-2.0
 *
 * Over TCP, also where both sides are on one host.
 */
#include "tests/inproc/conformance.h"
#include "orb/orb.h"

enum esp_status conformance_open(struct transport **transport, struct esp_error *error)
{
    return orb_open(&(struct orb_options){.ports_only = true}, transport, error);
}
