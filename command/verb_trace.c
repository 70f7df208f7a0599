/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier trace: the way of one session through the platform, with all its attempts.
 *
 * Each node tells what it remembers of the session as ages on its own clock. Ages become places on one axis
 * by the moment in which the question was answered: half a round trip is what two nodes may be apart, however
 * their clocks are set. The time spent at a node is its own measurement.
 *
 * A call that was lost with its server is a new session elsewhere. Nodes that heard of the later ones tell of
 * which session they were attempts, so that whoever knows one of them finds all.
 */
#include "services/state_folder.h"
#include "command/admin.h"
#include "command/session.h"
#include "command/table.h"
#include "command/verbs.h"
#include "services/state_folder.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct step {
    double end_s, took_s; /* end: on our clock */
    double apart_s;       /* how wrong `end_s` may be */
    const struct esp_node *node;
    size_t session; /* of those of the way */
    char what[40], detail[80];
};

#define MOST_SESSIONS 32 /* attempts of one call that are shown */
#define SESSION_NAME  48

struct way {
    struct step *steps;
    size_t n, capacity;
    char sessions[MOST_SESSIONS][SESSION_NAME]; /* the one that was asked for, then its other attempts */
    size_t n_sessions, session;                 /* which is asked about */
    size_t n_asked;                             /* agents and servers that answered */
    char server[256];                           /* where that was placed; "": nobody says */
};

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool add(struct way *way, const struct step *step)
{
    if (way->n == way->capacity) {
        size_t capacity = way->capacity ? 2 * way->capacity : 16;
        struct step *steps = realloc(way->steps, capacity * sizeof *steps);
        if (!steps)
            return false;
        way->steps = steps;
        way->capacity = capacity;
    }
    way->steps[way->n++] = *step;
    return true;
}

static void add_session(struct way *way, const char *session)
{
    for (size_t i = 0; i < way->n_sessions; i++)
        if (strcmp(way->sessions[i], session) == 0)
            return;
    if (way->n_sessions < MOST_SESSIONS && strlen(session) < SESSION_NAME)
        strcpy(way->sessions[way->n_sessions++], session);
}

/* A redirector tells the same of several attempts, and several nodes heard of the same loss. */
static bool is_there(const struct way *way, const struct step *step)
{
    const bool again = strcmp(step->what, "called again") == 0;
    for (size_t i = 0; i < way->n; i++) {
        const struct step *other = &way->steps[i];
        double apart_s = step->end_s - step->took_s - other->end_s + other->took_s;
        apart_s = apart_s < 0 ? -apart_s : apart_s;
        if (strcmp(other->what, step->what) == 0 && strcmp(other->detail, step->detail) == 0 &&
            (again ? other->session == step->session
                   : other->node == step->node && other->session != step->session &&
                         apart_s <= step->apart_s + other->apart_s))
            return true;
    }
    return false;
}

/* "age \t took \t what \t detail", as core/hierarchy/trace.h has it. */
static void read_lines(struct way *way, const struct esp_node *node, char *text, double answered_s,
                       double apart_s)
{
    char *rest = text, *line;
    while ((line = strsep(&rest, "\n"))) {
        const char *age = strsep(&line, "\t"), *took = strsep(&line, "\t");
        const char *what = strsep(&line, "\t"), *detail = line;
        if (!age || !took || !what || !detail)
            continue;
        struct step step = {.end_s = answered_s - strtod(age, NULL),
                            .took_s = strtod(took, NULL),
                            .apart_s = apart_s,
                            .node = node,
                            .session = way->session};
        snprintf(step.what, sizeof step.what, "%s", what);
        snprintf(step.detail, sizeof step.detail, "%s", detail);
        if (strcmp(what, "chosen") == 0 || strcmp(what, "placed") == 0)
            snprintf(way->server, sizeof way->server, "%s", detail);
        if (strcmp(what, "later attempt") == 0 || strcmp(what, "first attempt") == 0)
            add_session(way, detail);
        else if (!is_there(way, &step))
            add(way, &step);
    }
}

static enum exit_code ask(const struct command_line *command, const struct view *view,
                          const struct esp_node *node, struct way *way)
{
    const char *const words[] = {way->sessions[way->session]};
    char *text = NULL;
    const double asked_s = now_s();
    enum exit_code code = admin_order(command, view, node, "trace", words, 1, NULL, &text);
    const double answered_s = now_s();
    way->n_asked += code == EXIT_DONE && node->role != ESP_ROLE_REDIRECTOR;
    if (code == EXIT_DONE)
        read_lines(way, node, text, (asked_s + answered_s) / 2, (answered_s - asked_s) / 2);
    free(text);
    return code;
}

/* Redirectors know where its client was sent, perhaps long ago. */
static enum exit_code ask_redirectors(const struct command_line *command, const struct view *view,
                                      struct way *way)
{
    enum exit_code code = EXIT_DONE;
    for (size_t i = 0; i < view->n; i++)
        if (view->nodes[i].role == ESP_ROLE_REDIRECTOR && !view->nodes[i].unreachable &&
            ask(command, view, &view->nodes[i], way) != EXIT_DONE)
            code = EXIT_FAILED;
    return code;
}

/* Where the axis begins: with the first thing that happened to the call itself. */
static double begin_s(const struct way *way)
{
    size_t i = 0;
    while (i + 1 < way->n && way->steps[i].node->role == ESP_ROLE_REDIRECTOR)
        i++;
    return way->n ? way->steps[i].end_s - way->steps[i].took_s : 0;
}

/* The agents at the top know where it went; then that server, and all agents below: those on the path to it,
 * wherever they and it have moved since. Nobody placed what its client sent to a server of its choice: then
 * any server may know. What does not answer is missing, which has been said. */
static enum exit_code follow(const struct command_line *command, const struct view *view, struct way *way)
{
    enum exit_code code = EXIT_DONE, one;
    const size_t before = way->n;
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        if (node->unreachable || view_top(view, node) != node)
            continue;
        one = ask(command, view, node, way);
        if (one == EXIT_USAGE || one == EXIT_INPUT)
            return one;
        code = one == EXIT_DONE ? code : one;
    }
    for (size_t i = 0; i < view->n; i++) {
        const struct esp_node *node = &view->nodes[i];
        const bool agent = node->role == ESP_ROLE_LEADER && view_top(view, node) != node;
        const bool may_know =
            *way->server ? agent || strcmp(node->name, way->server) == 0 : node->role == ESP_ROLE_SERVER;
        if (!node->unreachable && may_know && (one = ask(command, view, node, way)) != EXIT_DONE)
            code = one;
    }
    one = way->n > before ? ask_redirectors(command, view, way) : EXIT_DONE;
    return code == EXIT_DONE ? one : code;
}

/* The attempts become known on the way. */
static enum exit_code follow_all(const struct command_line *command, const struct view *view, struct way *way)
{
    enum exit_code code = EXIT_DONE;
    for (way->session = 0; way->session < way->n_sessions; way->session++) {
        *way->server = '\0';
        const enum exit_code one = follow(command, view, way);
        if (one == EXIT_USAGE || one == EXIT_INPUT)
            return one;
        code = one == EXIT_DONE ? code : one;
    }
    return code;
}

static int by_time(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    const double from_x = x->end_s - x->took_s, from_y = y->end_s - y->took_s;
    return (from_x > from_y) - (from_x < from_y);
}

static json_t *steps_json(const struct way *way)
{
    json_t *list = json_array();
    const double first_s = begin_s(way);
    for (size_t i = 0; i < way->n; i++) {
        const struct step *step = &way->steps[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:s, s:s}", "session",
                                              way->sessions[step->session], "node", step->node->name, "role",
                                              esp_role_name(step->node->role), "at_s",
                                              step->end_s - step->took_s - first_s, "took_s", step->took_s,
                                              "apart_s", step->apart_s, "what", step->what, "detail",
                                              step->detail));
    }
    return list;
}

/* From the first thing that happened to the call to the last one that is known of it. */
static double whole_s(const struct way *way)
{
    double end_s = begin_s(way);
    for (size_t i = 0; i < way->n; i++)
        if (way->steps[i].end_s > end_s)
            end_s = way->steps[i].end_s;
    return end_s - begin_s(way);
}

static void print_total(const struct way *way)
{
    char text[QUANTITY_TEXT];
    printf("%s in all", quantity_seconds(whole_s(way), text));
    if (way->n_sessions > 1)
        printf(", in %zu attempts", way->n_sessions);
    printf(".\n");
}

/* Which attempt a line is of is shown where there are several. */
static void print_steps(const struct way *way)
{
    static const char *const headings[] = {">at", ">took", "node", "role", "what", "detail", "session"};
    const bool several = way->n_sessions > 1;
    const double first_s = begin_s(way);
    double apart_s = 0;
    char text[2][QUANTITY_TEXT];
    struct table table;
    table_init(&table, several ? 7 : 6, headings);
    for (size_t i = 0; i < way->n; i++) {
        const struct step *step = &way->steps[i];
        table_cell(&table, "%s", quantity_seconds(step->end_s - step->took_s - first_s, text[0]));
        table_cell(&table, "%s", step->took_s > 0 ? quantity_seconds(step->took_s, text[1]) : "");
        table_cell(&table, "%s", step->node->name);
        table_cell(&table, "%s", esp_role_name(step->node->role));
        table_cell(&table, "%s", step->what);
        table_cell(&table, "%s", step->detail);
        if (several)
            table_cell(&table, "%s", way->sessions[step->session]);
        apart_s = step->apart_s > apart_s ? step->apart_s : apart_s;
    }
    table_print(&table, 0, stdout);
    print_total(way);
    printf("Times between nodes are right within %s.\n", quantity_seconds(apart_s, text[0]));
}

/* The one that is named, or the last one of this user's programs. */
static enum exit_code choose_session(const struct command_line *command, struct way *way)
{
    char last[SESSION_TEXT];
    if (command->n_operands == 0 && !last_session_find(last))
        return command_usage(command,
                             "no program of this user has ended that made a call: expected a SESSION, "
                             "which logs and error messages name");
    add_session(way, command->n_operands > 0 ? command->operands[0] : last);
    if (way->n_sessions > 0)
        return EXIT_DONE;
    struct esp_error error;
    error_set(&error, ESP_SYNTAX, "expected a session like c0ffee12-7, found \"%.60s\"",
              command->n_operands > 0 ? command->operands[0] : last);
    command_fail(command, &error);
    return EXIT_USAGE;
}

enum exit_code verb_trace(const struct command_line *command)
{
    struct view view;
    struct way way = {0};
    enum exit_code code = choose_session(command, &way);
    if (code != EXIT_DONE || (code = session_within(command, session_open(command))) != EXIT_DONE)
        return code;
    code = view_open(command, &view);
    if (code == EXIT_DONE)
        code = follow_all(command, &view, &way);
    qsort(way.steps, way.n, sizeof *way.steps, by_time);
    if (way.n > 0 && command->json) {
        enum exit_code printed = command_json(steps_json(&way));
        code = code == EXIT_DONE ? printed : code;
    } else if (way.n > 0) {
        if (command->n_operands == 0)
            printf("Session %s, your last one:\n", way.sessions[0]);
        print_steps(&way);
        enum exit_code printed = command_flush();
        code = code == EXIT_DONE ? printed : code;
    } else if (code == EXIT_DONE && way.n_asked == 0) {
        struct esp_error error;
        error_set(&error, ESP_UNREACHABLE,
                  "no agent and no server can be reached that may remember session %s ('espalier tree' shows "
                  "who is there)",
                  way.sessions[0]);
        code = command_fail(command, &error);
    } else if (code == EXIT_DONE) {
        struct esp_error error;
        error_set(&error, ESP_INVALID,
                  "no node remembers session %s: it is too old, of another platform, or never came there",
                  way.sessions[0]);
        command_fail(command, &error);
        code = EXIT_FAILED;
    }
    view_close(&view);
    free(way.steps);
    grpc_finalize();
    return code;
}
