/* SPDX-License-Identifier: Apache-2.0
 *
 * How long those who could help are waited for while they do not. Who refuses connections is gone, and comes
 * back soon or not at all. Who takes them and says nothing is stopped, frozen or overloaded: it goes on where
 * it was, with all that it has, so it is waited for longer. Pure data; time is passed in.
 */
#ifndef CLIENT_PATIENCE_H
#define CLIENT_PATIENCE_H

#include "util/error.h"

#include <stdbool.h>
#include <stdint.h>

/* What is started again is gone for less than this, mostly; what never was there at all is to be told soon.
 */
#define PATIENCE_GONE_NS 1000000000

struct patience {
    int64_t gone_ns, silent_ns; /* how long it lasts with the one and with the other */
    int64_t begun_ns;           /* 0: nobody is waited for */
    int64_t silence_ns;         /* when somebody was silent last; at first when it began */
};

/* With who is silent it lasts at least as long as with who is gone. */
struct patience patience_begin(int64_t gone_ms, int64_t silent_ms, int64_t now_ns);

/* Whether to try again, after a try in which somebody that could have helped was `silent`, or all were gone.
 * Who falls silent and then dies is waited for as one that has just gone. */
bool patience_lasts(struct patience *patience, bool silent, int64_t now_ns);

/* Puts before the error's text for whom the caller has waited since `since_ns`, and how long, if that was a
 * second or more. */
void patience_tell(const char *whom, int64_t since_ns, int64_t now_ns, struct esp_error *error);

#endif
