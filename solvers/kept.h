/* SPDX-License-Identifier: Apache-2.0
 *
 * What solvers keep between calls: factors and preconditioners, as the states of problem descriptions. All
 * begin alike, so that one that is given to another solver, or with another order, is noticed.
 */
#ifndef SOLVERS_KEPT_H
#define SOLVERS_KEPT_H

#include "solvers/solvers.h"

#include <stddef.h>

/* Chosen so that no other memory begins like it by chance; the letter of the type is added. */
enum kept_kind {
    KEPT_UMFPACK = 0x6b750000,
    KEPT_CHOLMOD = 0x6b630000,
    KEPT_MUMPS = 0x6b6d0000,
    KEPT_ILU = 0x6b690000,
    KEPT_IC = 0x6b680000
};

struct kept {
    int kind; /* enum kept_kind and a letter: s, d, c or z */
    int n;    /* the order of the matrix */
    void (*release)(struct kept *kept);
};

/* SOLVER_OK, SOLVER_WRONG_STATE or SOLVER_WRONG_ORDER. */
static inline int kept_check(const void *state, int kind, char letter, int n)
{
    const struct kept *kept = (const struct kept *)state;
    if (!kept || kept->kind != kind + letter)
        return SOLVER_WRONG_STATE;
    return kept->n == n ? SOLVER_OK : SOLVER_WRONG_ORDER;
}

#endif
