/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/excluded.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool excluded_has(const struct session *session, const char *server)
{
    for (uint32_t i = 0; i < session->n_excluded; i++)
        if (strcmp(session->excluded[i], server) == 0)
            return true;
    return false;
}

void exclude(struct session *session, const char *server, enum esp_status why)
{
    if (!session->excluded)
        session->excluded = calloc(MOST_EXCLUDED, sizeof *session->excluded);
    if (!session->excluded || session->n_excluded == MOST_EXCLUDED)
        return; /* it may be offered again without harm */
    if (excluded_has(session, server))
        return;
    if ((session->excluded[session->n_excluded] = strdup(server)))
        session->why[session->n_excluded++] = why;
}

/* Whether the reason means that the server was killed, restarted or cut off: these are the answers for a
 * session that the server had or was given. */
static bool is_absence(enum esp_status why)
{
    return why == ESP_UNREACHABLE || why == ESP_STALE || why == ESP_MAYBE || why == ESP_TIMEOUT ||
           why == ESP_NOT_FOUND;
}

bool excluded_are_absent(const struct session *session)
{
    for (uint32_t i = 0; i < session->n_excluded; i++)
        if (!is_absence(session->why[i]))
            return false;
    return session->n_excluded > 0;
}

bool excluded_for(const struct session *session, enum esp_status why)
{
    for (uint32_t i = 0; i < session->n_excluded; i++)
        if (session->why[i] == why)
            return true;
    return false;
}

void excluded_forget(struct session *session)
{
    while (session->n_excluded > 0)
        free(session->excluded[--session->n_excluded]);
}

bool excluded_has_cause(const struct session *session)
{
    return session->n_excluded > 0 || (session->error.status != ESP_PENDING && session->error.text[0]);
}

static void append(struct esp_error *error, const char *format, ...)
{
    size_t length = strlen(error->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + length, sizeof error->text - length, format, arguments);
    va_end(arguments);
}

void excluded_explain(struct session *session, enum esp_status status, const struct esp_error *search)
{
    struct esp_error *error = &session->error;
    const uint32_t n = session->n_excluded;
    if (n > 0 && (error->status == ESP_PENDING || !error->text[0]))
        error_set(error, session->why[n - 1], "server %s: %s", session->excluded[n - 1],
                  esp_status_string(session->why[n - 1]));
    for (uint32_t i = 0; i + 1 < n; i++)
        append(error, "%s %s (%s)", i == 0 ? "; tried before:" : ",", session->excluded[i],
               esp_status_string(session->why[i]));
    if (status != ESP_NO_SERVER && status != ESP_UNKNOWN_PROBLEM && search->text[0])
        append(error, "; looking for another server: %s", search->text);
}
