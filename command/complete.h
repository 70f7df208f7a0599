/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside completion: what stands before the word that is completed, and what there is to offer. Each prints
 * its candidates, a line each; those that ask the platform print nothing when it does not answer.
 */
#ifndef COMMAND_COMPLETE_H
#define COMMAND_COMPLETE_H

#include "command/command.h"

struct completion {
    char **words;
    int n;               /* the last one is completed */
    const char *current; /* the last one */
    const struct verb *verb;
    int verb_words;
    const char *operands[64]; /* before the last word */
    int n_operands;
    struct command_line command; /* what the words say so far, for the platform's options */
};

/* The candidate, if it begins as the last word does. */
void completion_offer(const struct completion *completion, const char *candidate);
/* Names of files in place of the last word's part behind its first `prefix` bytes. */
void completion_offer_files(const struct completion *completion, size_t prefix);

/* ---- what the platform tells ---- */

void completion_offer_problems(const struct completion *completion);
/* GAMS classes of the problems that there are. */
void completion_offer_classes(const struct completion *completion);
/* Nodes of these roles. */
#define COMPLETION_ROLE(role) (1u << (role))
#define COMPLETION_SERVERS    COMPLETION_ROLE(ESP_ROLE_SERVER)
#define COMPLETION_AGENTS     (COMPLETION_ROLE(ESP_ROLE_MASTER) | COMPLETION_ROLE(ESP_ROLE_LEADER))
#define COMPLETION_NODES      (COMPLETION_SERVERS | COMPLETION_AGENTS | COMPLETION_ROLE(ESP_ROLE_REDIRECTOR))
void completion_offer_nodes(const struct completion *completion, unsigned roles);
/* Identities of data, behind the first `prefix` bytes of the last word. */
void completion_offer_data(const struct completion *completion, size_t prefix);
/* Of the first operand, a problem: "NAME=" of the inputs that are not there yet, or of the outputs; behind
 * the
 * '=' files, data, and the values that a letter may have. */
void completion_offer_arguments(const struct completion *completion, bool outputs);

/* ---- what this machine tells ---- */

void completion_offer_jobs(const struct completion *completion);
/* Platforms that `up` started here. */
void completion_offer_platforms(const struct completion *completion);

#endif
