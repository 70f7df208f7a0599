/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier_scheduler.h: for authors of schedulers. A scheduler is the rule by which agents rank the servers
 * that could take a request.
 *
 * A scheduler is a shared library that defines espalier_scheduler(). An agent loads it when its configuration
 * file says `scheduler = "/path/to/it.so"`. The library links with no library of Espalier. See
 * espalier_scheduler(3) for an example.
 */
#ifndef ESPALIER_SCHEDULER_H
#define ESPALIER_SCHEDULER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Forecasts for one request on one server. Times are seconds from now. New members are added at the end. */
struct esp_server_view {
    double wait_s;     /* until the server has a free slot */
    double compute_s;  /* the computation itself */
    double transfer_s; /* of arguments and results */
    double complete_s; /* until the results are back. Arguments are transferred while other sessions compute,
                        * so this may be less than the sum of the three */
    double price;      /* of the computation in the site's unit: the server's `price` of an hour times the
                        * hours; 0: free */
    double deadline_s; /* latest time for the results; HUGE_VAL: none */
    double line;       /* sessions per slot on the server. If scores are equal, the agent takes the server
                        * with the smaller line */
    uint64_t turn;     /* number of the choice in which the server was last chosen; 0: never */
};

/* Flags of a scheduler. */
enum {
    ESP_SCHEDULER_RANDOM = 1, /* servers are drawn at random, all alike; `score` is not called */
    /* `score` may fall when wait_s, compute_s, transfer_s, complete_s, price or turn grows. The agent then
     * calls `score` for every server and every request. Without this flag `score` must not fall: the agent
     * skips a group of servers when the score of the smallest value of each member in the group is not good
     * enough. */
    ESP_SCHEDULER_EVERY = 2
};

#define ESP_SCHEDULER_VERSION 1 /* of struct esp_scheduler and struct esp_server_view */

struct esp_scheduler {
    unsigned version; /* ESP_SCHEDULER_VERSION */
    unsigned flags;
    const char *name; /* one word */
    const char *text; /* one line for people */
    /* Returns the score of a server. The server with the lowest score is the first candidate; NaN counts as
     * infinity. The agent calls it very often, with the agent's lock held, by one thread at a time. It must
     * not block, keep the pointer, or call functions of Espalier. */
    double (*score)(const struct esp_server_view *view);
};

/* Defined by the scheduler's library. The agent calls it once, after loading the library. The result must
 * stay valid. NULL: the scheduler cannot be used. */
const struct esp_scheduler *espalier_scheduler(void);

#ifdef __cplusplus
}
#endif
#endif
