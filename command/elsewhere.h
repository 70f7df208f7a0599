/* SPDX-License-Identifier: Apache-2.0
 *
 * What was started for a platform on other machines, and is to end with it.
 */
#ifndef COMMAND_ELSEWHERE_H
#define COMMAND_ELSEWHERE_H

#include "command/command.h"
#include "command/deploy.h"
#include "command/machines.h"

struct there;

struct elsewhere {
    struct deploy deploy;
    double timeout_s; /* with each */
    /* Used by elsewhere_stop(). */
    struct machine_work *work;
    struct there *there;
    size_t n;
    struct machines machines;
};

/* Has 'espalier down' on all machines of the records end what was started there: side by side, and beside
 * what is stopped here, so that one that does not answer keeps nobody waiting. The records stay as they are
 * until elsewhere_await(). */
void elsewhere_stop(struct elsewhere *elsewhere, const struct platform_record *records, size_t n);
/* Waits for the end of that, when the records of what runs here are gone. What failed has been printed, and
 * makes the exit code; machines that were not reached are noted again (`again`), for the next 'down'. */
enum exit_code elsewhere_await(struct elsewhere *elsewhere, const struct command_line *command, bool *again);

#endif
