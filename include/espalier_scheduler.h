/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier_scheduler.h: for authors of schedulers, the rule by which agents rank the servers that could take
 * a request.
 *
 * A scheduler is a shared library that an agent loads when its file says `scheduler = "/path/to/it.so"`. It
 * needs no library of Espalier. The library defines espalier_scheduler(); see espalier_scheduler(3) for an
 * example.
 */
#ifndef ESPALIER_SCHEDULER_H
#define ESPALIER_SCHEDULER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of one server for one request. Times are seconds from now, forecasts all of them; members are
 * added at the end only. */
struct esp_server_view {
    double wait_s;     /* until a slot is free for it there */
    double compute_s;  /* the computation itself */
    double transfer_s; /* to bring the arguments there and the results back */
    double complete_s; /* until the results are back: arguments travel while others compute, so this may be
                        * less than the sum of the three */
    double price;      /* what the computation costs there, in the site's unit: the server's `price` of an
                        * hour times its length; 0: nothing */
    double deadline_s; /* when the results are wanted at the latest; HUGE_VAL: never mind */
    double line;       /* sessions there, by slot: between equal scores the lesser decides anyhow */
    uint64_t turn;     /* when it was last chosen, counted in choices; 0: never */
};

/* Flags of a scheduler. */
enum {
    ESP_SCHEDULER_RANDOM = 1, /* servers are drawn evenly; `score` is not asked */
    /* `score` may fall when wait_s, compute_s, transfer_s, complete_s, price or turn grows. Without this flag
     * it must not: agents find the best of thousands of servers by the score of the least of each member
     * over many of them. With it every server is looked at for every request. */
    ESP_SCHEDULER_EVERY = 2
};

#define ESP_SCHEDULER_VERSION 1 /* of this struct and the view */

struct esp_scheduler {
    unsigned version; /* ESP_SCHEDULER_VERSION */
    unsigned flags;
    const char *name; /* one word */
    const char *text; /* one line for people */
    /* The server with the lowest score is the first candidate; NaN counts as infinity. Called very often,
     * inside the agent and with its lock held: it must not block, keep the pointer, or call anything of
     * Espalier. One thread at a time. */
    double (*score)(const struct esp_server_view *view);
};

/* The library's own: called once when it is loaded. What it returns must stay valid; NULL: it cannot serve.
 */
const struct esp_scheduler *espalier_scheduler(void);

#ifdef __cplusplus
}
#endif
#endif
