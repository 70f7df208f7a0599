/* SPDX-License-Identifier: Apache-2.0
 *
 * Failures of the rules of an abstract problem, and the order in which the user reads them.
 */
#ifndef CLIENT_RULE_FAILURES_H
#define CLIENT_RULE_FAILURES_H

#include "core/problem/abstract.h"
#include "espalier.h"

struct rule_failure {
    enum esp_status status;
    bool is_constrained; /* the call's own constraints (a deadline, properties, memory) exclude all servers */
    bool is_dense;       /* the matrix is sparse, and the rule takes it as a dense one */
    uint64_t bytes;      /* memory that the rule needs and no server has; 0: not known, or another reason */
    char *text;
};

struct rule_failures {
    struct rule_failure items[ABSTRACT_MAX_RULES]; /* their texts are owned */
    uint32_t n;
};

/* Describes the failure `why` of that rule, whose first array is `first`. `bytes`: memory that the rule
 * needs and no server has; 0: not known. The text is that of `why`. */
struct rule_failure rule_failure_of(const struct rule *rule, const struct given *first,
                                    const struct esp_call_options *options, uint64_t bytes,
                                    struct esp_error *why);
/* Copies the failure with its text. Without memory, and beyond ABSTRACT_MAX_RULES, the failure is dropped. */
void rule_failures_add(struct rule_failures *failures, const struct rule_failure *failure);

/* Sets *error to the most helpful failure, followed by the texts of the others: constraints of the call,
 * then failed computations (the newest first), then lacking memory (the least first), then problems that
 * no server has. Rules that take a sparse matrix as a dense one come last in any case, unless a constraint
 * is their reason. Returns false if there is no failure. */
bool rule_failures_tell(const struct rule_failures *failures, struct esp_error *error);

void rule_failures_clear(struct rule_failures *failures);

#endif
