/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "command/session.h"
#include "command/steps_view.h"
#include "command/table.h"

struct sums {
    double forecast_s, forecast_compute_s, forecast_error_s, total_s, compute_s, queue_s, transfer_s, fetch_s;
};

static struct sums add_up(const struct esp_session_info *const *infos, size_t n)
{
    struct sums sums = {0};
    for (size_t i = 0; i < n; i++) {
        sums.forecast_s += infos[i]->forecast_s;
        sums.forecast_compute_s += infos[i]->forecast_compute_s;
        sums.forecast_error_s += infos[i]->forecast_error_s;
        sums.total_s += infos[i]->total_s;
        sums.compute_s += infos[i]->compute_s;
        sums.queue_s += infos[i]->queue_s + infos[i]->wait_s;
        sums.transfer_s += infos[i]->transfer_s;
        sums.fetch_s += infos[i]->fetch_s;
    }
    return sums;
}

static void add_row(struct table *table, const char *problem, const char *server, const struct sums *times)
{
    char text[QUANTITY_TEXT];
    const double columns[] = {times->forecast_s, times->forecast_error_s, times->total_s,
                              times->forecast_compute_s, times->compute_s};
    table_text_cell(table, problem);
    table_text_cell(table, server);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_cell(table, "%s", quantity_seconds(columns[i], text));
}

void steps_print(const struct esp_session_info *const *infos, size_t n, FILE *stream)
{
    static const char *const headings[] = {"step",  "server",       ">forecast", ">+-",
                                           ">took", ">computation", ">took"};
    struct table table;
    for (size_t i = 0; i < n; i++)
        session_print(infos[i], stream);
    if (n < 2)
        return;
    table_init(&table, 7, headings);
    for (size_t i = 0; i <= n; i++) {
        const struct sums times = i < n ? add_up(&infos[i], 1) : add_up(infos, n);
        add_row(&table, i < n ? infos[i]->problem : "all", i < n ? infos[i]->server : "", &times);
    }
    table_print(&table, 0, stream);
}

json_t *steps_json(const struct esp_session_info *const *infos, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, session_json(infos[i]));
    return list;
}

json_t *steps_sums_json(const struct esp_session_info *const *infos, size_t n)
{
    const struct sums sums = add_up(infos, n);
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "forecast_s", sums.forecast_s,
                     "forecast_compute_s", sums.forecast_compute_s, "forecast_error_s", sums.forecast_error_s,
                     "total_s", sums.total_s, "compute_s", sums.compute_s, "queue_s", sums.queue_s,
                     "transfer_s", sums.transfer_s, "fetch_s", sums.fetch_s);
}
