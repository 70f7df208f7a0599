/* SPDX-License-Identifier: Apache-2.0 */
#include "command/settle.h"

#include "command/admin.h"
#include "util/clock.h"

#include <string.h>
#include <time.h>

#define POLL_NS (50 * NS_PER_MS)

static enum exit_code undrain(const struct command_line *command, const struct view *view,
                              const struct esp_node *node, const char **remark)
{
    if (!node->draining)
        return EXIT_DONE;
    *remark = "takes sessions again (it was drained)";
    return admin_order(command, view, node, "undrain", NULL, 0, NULL, NULL);
}

enum exit_code settle_in_tree(const struct command_line *command, const char *name, double patience_s,
                              const char **remark)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    const int64_t until_ns = clock_now_ns(&clock_system) + (int64_t)(patience_s * 1e9);
    *remark = "";
    for (;;) {
        struct view view = {0};
        const bool seen = esp_tree(NULL, &view.nodes, &view.n) == ESP_OK;
        const struct esp_node *node = seen ? view_there(&view, name) : NULL;
        enum exit_code code = node ? undrain(command, &view, node, remark) : EXIT_DONE;
        view_close(&view);
        if (node)
            return code;
        if (clock_now_ns(&clock_system) >= until_ns) {
            struct esp_error error;
            error_set(&error, ESP_TIMEOUT,
                      "'%s' runs, but the tree does not show it after %.3g s: its log tells why", name,
                      patience_s);
            return command_fail(command, &error);
        }
        nanosleep(&pause, NULL);
    }
}
