/* SPDX-License-Identifier: Apache-2.0 */
#include "solvers/kept.h"

SOLVER int esp_sparse_close(void **state)
{
    struct kept *kept = *state;
    if (kept)
        kept->release(kept);
    *state = NULL;
    return SOLVER_OK;
}
