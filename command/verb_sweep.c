/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier sweep: one problem with every combination of values, a few calls at a time.
 */
#include "config.h"

#include "command/bar.h"
#include "command/constraints.h"
#include "command/csv_rows.h"
#include "command/problem_verb.h"
#include "command/session.h"
#include "core/values/signature.h"
#include "command/sweep.h"
#include "command/sweep_resume.h"
#include "command/table.h"
#include "command/values.h"
#include "command/verbs.h"
#include "command/waiting.h"
#include "util/clock.h"
#include "util/escape.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define PARALLEL      8
#define MOST_PARALLEL 1000

/* How one call went. */
struct row {
    json_t *outputs; /* NULL: it failed */
    char server[64];
    double compute_s, total_s;
    struct esp_error *error; /* NULL: it did not */
    char *note;              /* on its results; NULL: none */
    enum exit_code code;     /* of a command that had made this call alone */
    bool over;               /* the call has ended, or failed to begin */
};

/* A call under way. */
struct lane {
    struct values values;
    char *paths[ESP_MAX_ARGUMENTS]; /* words of -o, filled */
    size_t n_paths;
    size_t point;
    grpc_sessionid_t session;
    bool busy;
};

struct sweeping {
    const struct command_line *command;
    const struct esp_problem *problem;
    struct sweep sweep;
    struct row *rows;
    struct lane *lanes;
    size_t n_lanes, n_busy, n_over, n_failed, n_noted;
    grpc_function_handle_t handle;
    struct esp_call_options options;
    int64_t until_ns;              /* by --timeout; CLOCK_NEVER: not given */
    struct constraint_words words; /* of the options */
    const struct matrix_format *format;
    struct matrix_reading reading;
    struct bar bar;
    char *identity;   /* of the rows: the problem and the options that decide what the calls are */
    FILE *csv;        /* takes rows as calls end; NULL: a table or JSON is printed at the end */
    size_t n_written; /* rows of points below this one are in it */
    bool *done;       /* points of which the file of --resume had a row; NULL: no such file */
    size_t n_done;
    bool unwritable; /* the CSV takes no more rows */
};

/* ---- one call ---- */

static void clear_lane(struct lane *lane)
{
    values_clear(&lane->values);
    for (size_t i = 0; i < lane->n_paths; i++)
        free(lane->paths[i]);
    *lane = (struct lane){0};
}

static void note_failure(struct sweeping *sweeping, size_t point, const struct esp_error *error)
{
    struct row *row = &sweeping->rows[point];
    row->over = true;
    row->error = malloc(sizeof *error);
    if (row->error)
        *row->error = *error;
    row->code = problem_exit_code(sweeping->command, error);
    sweeping->n_failed++;
}

static enum esp_status assign(struct sweeping *sweeping, struct lane *lane, struct esp_error *error)
{
    const struct sweep *sweep = &sweeping->sweep;
    enum esp_status status = ESP_OK;
    for (size_t i = 0; i < sweep->n_axes && status == ESP_OK; i++) {
        const struct sweep_axis *axis = &sweep->axes[i];
        char *value = NULL, *word = NULL;
        status = sweep_value(sweep, lane->point, i, &value, error);
        if (status == ESP_OK && asprintf(&word, "%s=%s", axis->name, value) < 0)
            status = error_no_memory(error, "a value");
        if (status == ESP_OK) {
            waiting_begin_argument(sweeping->command->verb->name, word);
            status = values_assign(&lane->values, word, error);
            waiting_end();
        }
        free(value);
        free(word);
    }
    return status;
}

static enum esp_status name_files(struct sweeping *sweeping, struct lane *lane, struct esp_error *error)
{
    const struct command_line *command = sweeping->command;
    enum esp_status status = ESP_OK;
    for (int i = 0; i < command->n_options && status == ESP_OK; i++) {
        if (strcmp(command->options[i].name, "output") != 0)
            continue;
        char **path = &lane->paths[lane->n_paths];
        status = sweep_fill(&sweeping->sweep, lane->point, command->options[i].value, path, error);
        if (status != ESP_OK)
            break;
        lane->n_paths++;
        status = values_save_to(&lane->values, *path, error);
        const char *file = strchr(*path, '=');
        if (status == ESP_OK && file)
            status = command_check_output(file + 1, error);
    }
    return status;
}

static enum esp_status prepare(struct sweeping *sweeping, struct lane *lane, struct esp_error *error)
{
    enum esp_status status = values_init(&lane->values, sweeping->problem, &values_library, error);
    lane->values.format = sweeping->format;
    lane->values.reading = sweeping->reading;
    if (sweeping->until_ns != CLOCK_NEVER) { /* the time is not over: set_deadline() */
        const int64_t left_ns = sweeping->until_ns - clock_now_ns(&clock_system);
        lane->values.look_ns = left_ns > 0 ? left_ns : 1;
    }
    session_reading(true);
    if (status == ESP_OK)
        status = assign(sweeping, lane, error);
    session_reading(false);
    if (status == ESP_OK)
        status = name_files(sweeping, lane, error);
    /* A table has no place for arrays: they are fetched only to be saved, or for JSON. */
    lane->values.some_saved |= !sweeping->command->json;
    return status == ESP_OK ? values_prepare(&lane->values, error) : status;
}

/* All calls have one deadline. */
static enum esp_status set_deadline(struct sweeping *sweeping, struct esp_error *error)
{
    if (sweeping->until_ns == CLOCK_NEVER)
        return ESP_OK;
    sweeping->options.deadline_s = (double)(sweeping->until_ns - clock_now_ns(&clock_system)) / NS_PER_S;
    if (sweeping->options.deadline_s > 0)
        return ESP_OK;
    return error_set(error, ESP_TIMEOUT, "not begun: the time of --timeout was over");
}

static void begin(struct sweeping *sweeping, struct lane *lane, size_t point)
{
    struct esp_error error = {0};
    const struct esp_call_options *options = &sweeping->options;
    *lane = (struct lane){.point = point};
    enum esp_status status = set_deadline(sweeping, &error);
    if (status == ESP_OK)
        status = prepare(sweeping, lane, &error);
    if (status == ESP_OK) /* looking for data has taken of it */
        status = set_deadline(sweeping, &error);
    if (status == ESP_OK &&
        (status = esp_call_async(&sweeping->handle, lane->values.arguments, sweeping->problem->n_arguments,
                                 options, &lane->session)) != ESP_OK)
        error = *esp_last_error();
    if (status == ESP_OK) {
        lane->busy = true;
        sweeping->n_busy++;
        return;
    }
    if (!session_interrupted()) { /* else the call has not failed: the library was closed */
        note_failure(sweeping, point, &error);
        sweeping->n_over++;
    }
    clear_lane(lane);
}

static void end(struct sweeping *sweeping, struct lane *lane, enum grpc_error_e outcome)
{
    struct row *row = &sweeping->rows[lane->point];
    struct esp_error error = *esp_last_error();
    struct esp_session_info *info;
    if (esp_session_info_get(lane->session, &info) == ESP_OK) {
        snprintf(row->server, sizeof row->server, "%s", info->server);
        row->compute_s = info->compute_s;
        row->total_s = info->total_s;
        if (*session_note(info) && (row->note = strdup(session_note(info))))
            sweeping->n_noted++;
        esp_session_info_free(info);
    }
    if (outcome == GRPC_NO_ERROR && values_cut(&lane->values, &error) == ESP_OK &&
        values_write(&lane->values, &error) == ESP_OK)
        row->outputs = values_json(&lane->values);
    else
        note_failure(sweeping, lane->point, &error);
    row->over = true;
    clear_lane(lane);
    sweeping->n_busy--;
    sweeping->n_over++;
}

static struct lane *find_lane(struct sweeping *sweeping, grpc_sessionid_t session)
{
    for (size_t i = 0; i < sweeping->n_lanes; i++)
        if (sweeping->lanes[i].busy && sweeping->lanes[i].session == session)
            return &sweeping->lanes[i];
    return NULL;
}

/* ---- results ---- */

static const char *value_at(const struct sweeping *sweeping, size_t point, size_t axis)
{
    return sweeping->sweep.axes[axis].values[sweep_index(&sweeping->sweep, point, axis)];
}

/* As the call had it. To be freed. */
static char *given_at(const struct sweeping *sweeping, size_t point, size_t axis)
{
    char *text;
    struct esp_error unimportant;
    return sweep_value(&sweeping->sweep, point, axis, &text, &unimportant) == ESP_OK ? text : NULL;
}

static json_t *row_json(const struct sweeping *sweeping, size_t point)
{
    const struct row *row = &sweeping->rows[point];
    json_t *arguments = json_object();
    for (size_t i = 0; i < sweeping->sweep.n_axes; i++) {
        char *given = given_at(sweeping, point, i);
        json_object_set_new(arguments, sweeping->sweep.axes[i].name, command_json_text(given));
        free(given);
    }
    json_t *json = json_pack("{s:o, s:s, s:f, s:f}", "arguments", arguments, "server", row->server,
                             "compute_s", row->compute_s, "total_s", row->total_s);
    if (row->outputs)
        json_object_set(json, "outputs", row->outputs);
    if (row->error) {
        json_t *error = status_json(row->error->status);
        json_object_set_new(error, "text", command_json_text(row->error->text));
        json_object_set_new(json, "error", error);
    }
    if (row->note)
        json_object_set_new(json, "note", command_json_text(row->note));
    return json;
}

/* Whether the output has a column. */
static bool has_column(const struct esp_problem_argument *formal)
{
    return argument_out(formal) && formal->n_dims == 0 && formal->type != ESP_TYPE_FILE;
}

static double real_of(const json_t *list, size_t index)
{
    json_t *value = json_array_get(list, index);
    return json_is_string(value) ? strtod(json_string_value(value), NULL) : json_number_value(value);
}

static char *output_text(const struct row *row, const char *name, int digits)
{
    json_t *value = row->outputs ? json_object_get(row->outputs, name) : NULL;
    char text[80] = "";
    if (json_is_string(value)) /* NaN and infinity are texts too */
        return strdup(json_string_value(value));
    if (json_is_integer(value))
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, sizeof text, "%.*g", digits, json_real_value(value));
    else if (json_is_array(value))
        snprintf(text, sizeof text, "%.*g%+.*gi", digits, real_of(value, 0), digits, real_of(value, 1));
    return strdup(text);
}

/* ---- CSV ---- */

/* "dgesv --server lowell --property mkl" */
static enum esp_status identify(struct sweeping *sweeping, struct esp_error *error)
{
    static const char *const single[] = {"server", "deadline", "memory", "sum-duplicates"};
    const struct command_line *command = sweeping->command;
    size_t length;
    FILE *file = open_memstream(&sweeping->identity, &length);
    if (!file)
        return error_no_memory(error, "the sweep");
    fputs(sweeping->problem->name, file);
    for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
        const char *value = command_option_value(command, single[i]);
        if (value)
            fprintf(file, " --%s%s%s", single[i], *value ? " " : "", value);
    }
    for (int i = 0; i < command->n_options; i++)
        if (strcmp(command->options[i].name, "property") == 0)
            fprintf(file, " --property %s", command->options[i].value);
    return fclose(file) == 0 ? ESP_OK : error_no_memory(error, "the sweep");
}

static void write_heading(const struct sweeping *sweeping, FILE *file)
{
    const struct esp_problem *problem = sweeping->problem;
    for (size_t i = 0; i < sweeping->sweep.n_axes; i++)
        csv_cell_write(file, sweeping->sweep.axes[i].name, i == 0);
    for (size_t i = 0; i < problem->n_arguments; i++)
        if (has_column(&problem->arguments[i]))
            fprintf(file, "%s%s%s", sweeping->sweep.n_axes || i ? "," : "", problem->arguments[i].name,
                    argument_in(&problem->arguments[i]) ? "_out" : "");
    fputs(",server,compute_s,total_s,sweep,error,note\n", file);
}

static void write_row(const struct sweeping *sweeping, size_t point)
{
    const struct esp_problem *problem = sweeping->problem;
    const struct row *row = &sweeping->rows[point];
    FILE *file = sweeping->csv;
    for (size_t i = 0; i < sweeping->sweep.n_axes; i++) {
        char *given = given_at(sweeping, point, i);
        csv_cell_write(file, given, i == 0);
        free(given);
    }
    for (size_t i = 0; i < problem->n_arguments; i++) {
        if (!has_column(&problem->arguments[i]))
            continue;
        char *text = output_text(row, problem->arguments[i].name, 17);
        csv_cell_write(file, text, false);
        free(text);
    }
    csv_cell_write(file, row->server, false);
    fprintf(file, ",%.9g,%.9g", row->compute_s, row->total_s);
    csv_cell_write(file, sweeping->identity, false);
    csv_cell_write(file, row->error ? row->error->text : "", false);
    csv_cell_write(file, row->note, false);
    putc('\n', file);
}

/* Frees the parts of a row that is written. Its exit code stays, for the end of the command. */
static void forget_row(struct row *row)
{
    json_decref(row->outputs);
    free(row->error);
    free(row->note);
    row->outputs = NULL;
    row->error = NULL;
    row->note = NULL;
}

/* Writes the rows of calls that have ended, in order, up to the first call that has not ended. With `all`,
 * the rows behind that call are written too. False: rows cannot be written; the message has been printed. */
static bool write_rows(struct sweeping *sweeping, bool all)
{
    bool some = false;
    size_t point = sweeping->n_written;
    for (; point < sweeping->sweep.n_points && (all || sweeping->rows[point].over); point++) {
        if (!sweeping->rows[point].over || (sweeping->done && sweeping->done[point]))
            continue;
        if (!some)
            bar_clear(&sweeping->bar);
        some = true;
        write_row(sweeping, point);
        forget_row(&sweeping->rows[point]);
    }
    sweeping->n_written = point;
    if (some && (fflush(sweeping->csv) != 0 || ferror(sweeping->csv))) {
        fprintf(stderr, "espalier sweep: cannot write the rows: %s\n", strerror(errno));
        sweeping->unwritable = true;
    }
    return !sweeping->unwritable;
}

static bool write_ended(struct sweeping *sweeping)
{
    return !sweeping->csv || write_rows(sweeping, false);
}

static bool output_files_are_there(void *context, size_t point)
{
    const struct sweeping *sweeping = context;
    bool there = true;
    for (int i = 0; i < sweeping->command->n_options && there; i++) {
        char *word = NULL;
        struct esp_error unimportant;
        if (strcmp(sweeping->command->options[i].name, "output") != 0)
            continue;
        there = sweep_fill(&sweeping->sweep, point, sweeping->command->options[i].value, &word,
                           &unimportant) == ESP_OK;
        const char *equals = there ? strchr(word, '=') : NULL;
        there = there && (!equals || access(equals + 1, F_OK) == 0);
        free(word);
    }
    return there;
}

static enum esp_status open_resumed(struct sweeping *sweeping, const char *path, struct esp_error *error)
{
    char *heading = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&heading, &length);
    if (!text)
        return error_no_memory(error, "the sweep");
    write_heading(sweeping, text);
    enum esp_status status = fclose(text) == 0 ? ESP_OK : error_no_memory(error, "the sweep");
    sweeping->done = calloc(sweeping->sweep.n_points, sizeof *sweeping->done);
    if (status == ESP_OK && !sweeping->done)
        status = error_no_memory(error, "the sweep");
    if (status == ESP_OK)
        status = sweep_resume(&sweeping->sweep, path, heading, sweeping->identity, output_files_are_there,
                              sweeping, sweeping->done, &sweeping->csv, error);
    free(heading);
    for (size_t point = 0; point < sweeping->sweep.n_points && status == ESP_OK; point++)
        if (sweeping->done[point]) {
            sweeping->rows[point].over = true;
            sweeping->n_done++;
        }
    sweeping->n_over = sweeping->n_done;
    if (sweeping->n_done > 0)
        fprintf(stderr, "espalier sweep: %zu of %zu calls are in %s already\n", sweeping->n_done,
                sweeping->sweep.n_points, path);
    return status;
}

static enum esp_status open_csv(struct sweeping *sweeping, struct esp_error *error)
{
    const char *path = command_option_value(sweeping->command, "resume");
    if (!path && !command_option_value(sweeping->command, "csv"))
        return ESP_OK;
    if (identify(sweeping, error) != ESP_OK)
        return error->status;
    if (path)
        return open_resumed(sweeping, path, error);
    sweeping->csv = stdout;
    write_heading(sweeping, stdout);
    fflush(stdout); /* an error comes again with the first row */
    return ESP_OK;
}

/* ---- all calls ---- */

/* The next point from `next` on that is to be called. */
static size_t next_point(const struct sweeping *sweeping, size_t next)
{
    while (next < sweeping->sweep.n_points && sweeping->done && sweeping->done[next])
        next++;
    return next;
}

/* False: a signal has closed the library, or nothing can be written any more. */
static bool run(struct sweeping *sweeping)
{
    const size_t n = sweeping->sweep.n_points;
    size_t next = next_point(sweeping, 0);
    while (sweeping->n_over < n) {
        for (size_t i = 0; i < sweeping->n_lanes && next < n && !session_interrupted(); i++)
            if (!sweeping->lanes[i].busy) {
                begin(sweeping, &sweeping->lanes[i], next);
                next = next_point(sweeping, next + 1);
            }
        if (!write_ended(sweeping))
            return false;
        if (sweeping->n_busy == 0) {
            if (session_interrupted())
                return false;
            continue;
        }
        grpc_sessionid_t session;
        grpc_error_t outcome = grpc_wait_any(&session);
        struct lane *lane = find_lane(sweeping, session);
        if (!lane || (outcome != GRPC_NO_ERROR && session_interrupted()))
            return false;
        end(sweeping, lane, outcome);
        if (!write_ended(sweeping))
            return false;
        bar_draw(&sweeping->bar, (double)sweeping->n_over / (double)n, "%zu of %zu calls, %zu failed",
                 sweeping->n_over, n, sweeping->n_failed);
    }
    return true;
}

/* ---- what is shown at the end ---- */

/* Whole, on one line. */
static void words_cell(struct table *table, const char *words)
{
    char shown[4 * sizeof((struct esp_error *)0)->text + 1] = "";
    if (words)
        shown[escape_append(shown, sizeof shown, 0, words)] = '\0';
    table_cell(table, "%s", shown);
}

/* What varies and what came out, as many columns as a table has room for. */
static enum exit_code print_table(const struct sweeping *sweeping)
{
    const struct sweep *sweep = &sweeping->sweep;
    const struct esp_problem *problem = sweeping->problem;
    const char *headings[TABLE_MAX_COLUMNS];
    char titles[TABLE_MAX_COLUMNS][80];
    size_t axes[TABLE_MAX_COLUMNS], outputs[TABLE_MAX_COLUMNS], n_axes = 0, n_outputs = 0;
    unsigned n = 0;
    unsigned most = TABLE_MAX_COLUMNS - 5;
    for (size_t i = 0; i < sweep->n_axes && n < most; i++)
        if (sweep->axes[i].n > 1) {
            axes[n_axes++] = i;
            snprintf(titles[n], sizeof titles[n], ">%.70s", sweep->axes[i].name);
            n++;
        }
    for (size_t i = 0; i < problem->n_arguments && n < most; i++)
        if (has_column(&problem->arguments[i])) {
            outputs[n_outputs++] = i;
            snprintf(titles[n], sizeof titles[n], ">%.70s%s", problem->arguments[i].name,
                     argument_in(&problem->arguments[i]) ? " out" : "");
            n++;
        }
    for (unsigned i = 0; i < n; i++)
        headings[i] = titles[i];
    headings[n++] = "SERVER";
    headings[n++] = ">COMPUTED";
    headings[n++] = ">IN ALL";
    if (sweeping->n_failed > 0)
        headings[n++] = "ERROR";
    if (sweeping->n_noted > 0)
        headings[n++] = "NOTE";
    struct table table;
    table_init(&table, n, headings);
    for (size_t point = 0; point < sweep->n_points; point++) {
        const struct row *row = &sweeping->rows[point];
        char text[QUANTITY_TEXT];
        if (!row->over)
            continue;
        for (size_t i = 0; i < n_axes; i++)
            table_text_cell(&table, value_at(sweeping, point, axes[i]));
        for (size_t i = 0; i < n_outputs; i++) {
            char *output = output_text(row, problem->arguments[outputs[i]].name, 7);
            table_text_cell(&table, output ? output : "");
            free(output);
        }
        table_cell(&table, "%s", row->server);
        table_cell(&table, "%s", row->outputs ? quantity_seconds(row->compute_s, text) : "");
        table_cell(&table, "%s", row->outputs ? quantity_seconds(row->total_s, text) : "");
        if (sweeping->n_failed > 0)
            words_cell(&table, row->error ? row->error->text : NULL);
        if (sweeping->n_noted > 0)
            words_cell(&table, row->note);
    }
    table_print(&table, 0, stdout);
    return command_flush();
}

/* Where all have failed alike, it is for what they have in common: a datum that is gone, a shape. */
static enum exit_code failure(const struct sweeping *sweeping)
{
    for (size_t point = 0; point < sweeping->sweep.n_points; point++)
        if (sweeping->rows[point].code != sweeping->rows[0].code)
            return EXIT_FAILED;
    return sweeping->rows[0].code;
}

/* Of an interrupted sweep: the calls that had ended. */
static enum exit_code print_ended(struct sweeping *sweeping)
{
    if (sweeping->csv)
        return sweeping->unwritable || !write_rows(sweeping, true) ? EXIT_FAILED : EXIT_DONE;
    if (!sweeping->command->json)
        return print_table(sweeping);
    json_t *list = json_array();
    for (size_t point = 0; point < sweeping->sweep.n_points; point++)
        if (sweeping->rows[point].over)
            json_array_append_new(list, row_json(sweeping, point));
    return command_json(list);
}

static enum exit_code show(struct sweeping *sweeping, bool complete)
{
    enum exit_code code = print_ended(sweeping);
    const size_t n = sweeping->sweep.n_points;
    if (!complete)
        fprintf(stderr, "espalier sweep: %zu of %zu calls have ended%s\n", sweeping->n_over, n,
                sweeping->csv ? "; the others are made by 'espalier sweep ... --resume FILE', with the file "
                                "that has these rows"
                              : "");
    if (sweeping->n_failed > 0)
        fprintf(stderr, "espalier sweep: %zu of %zu calls failed\n", sweeping->n_failed, n);
    if (!complete)
        return EXIT_FAILED;
    return code == EXIT_DONE && sweeping->n_failed > 0 ? failure(sweeping) : code;
}

/* ---- the command ---- */

static enum esp_status read_options(struct sweeping *sweeping, struct esp_error *error)
{
    const struct command_line *command = sweeping->command;
    const char *parallel = command_option_value(command, "parallel");
    char *rest = "";
    long n = parallel ? strtol(parallel, &rest, 10) : PARALLEL;
    if ((parallel && (!*parallel || *rest)) || n < 1 || n > MOST_PARALLEL)
        return error_set(error, ESP_INVALID, "--parallel: expected a number from 1 to %d, found '%.40s'",
                         MOST_PARALLEL, parallel);
    sweeping->n_lanes = (size_t)n;
    enum esp_status status = constraints_read(command, &sweeping->words, &sweeping->options, error);
    if (status == ESP_OK)
        status = values_format(command, &sweeping->format, error);
    if (status == ESP_OK)
        status = values_reading(command, &sweeping->reading, error);
    if (status == ESP_OK)
        status = sweep_read(&sweeping->sweep, sweeping->problem, command->operands + 1,
                            (size_t)command->n_operands - 1, error);
    if (status == ESP_OK && command->json &&
        (command_option_value(command, "csv") || command_option_value(command, "resume")))
        status = error_set(error, ESP_INVALID, "expected one of --json and --csv (which --resume implies)");
    size_t n_files = 0;
    for (int i = 0; i < command->n_options && status == ESP_OK; i++) {
        if (strcmp(command->options[i].name, "output") != 0)
            continue;
        status = sweep_check_pattern(&sweeping->sweep, command->options[i].value, error);
        if (++n_files > ESP_MAX_ARGUMENTS)
            status = error_set(error, ESP_INVALID, "-o is given more often than there are arguments");
    }
    return status;
}

static enum exit_code sweep(struct sweeping *sweeping)
{
    struct esp_error error = {0};
    if (read_options(sweeping, &error) != ESP_OK)
        return command_fail(sweeping->command, &error);
    enum exit_code code = session_handle(sweeping->command, sweeping->problem->name, &sweeping->handle);
    if (code != EXIT_DONE)
        return code;
    double left_s;
    if (session_time_left(sweeping->command, &left_s, &error) != ESP_OK)
        return command_fail(sweeping->command, &error);
    sweeping->until_ns =
        left_s > 0 ? clock_now_ns(&clock_system) + (int64_t)(fmin(left_s, 1e9) * NS_PER_S) : CLOCK_NEVER;
    sweeping->rows = calloc(sweeping->sweep.n_points, sizeof *sweeping->rows);
    sweeping->lanes = calloc(sweeping->n_lanes, sizeof *sweeping->lanes);
    if (!sweeping->rows || !sweeping->lanes) {
        error_no_memory(&error, "the sweep");
        return command_fail(sweeping->command, &error);
    }
    if (open_csv(sweeping, &error) != ESP_OK)
        return command_fail(sweeping->command, &error);
    bar_init(&sweeping->bar);
    bool complete = run(sweeping);
    bar_clear(&sweeping->bar);
    return show(sweeping, complete);
}

static void clear(struct sweeping *sweeping)
{
    for (size_t i = 0; sweeping->lanes && i < sweeping->n_lanes; i++)
        if (sweeping->lanes[i].busy)
            clear_lane(&sweeping->lanes[i]);
    for (size_t i = 0; sweeping->rows && i < sweeping->sweep.n_points; i++)
        forget_row(&sweeping->rows[i]);
    if (sweeping->csv && sweeping->csv != stdout)
        fclose(sweeping->csv);
    free(sweeping->identity);
    free(sweeping->done);
    free(sweeping->lanes);
    free(sweeping->rows);
    sweep_clear(&sweeping->sweep);
}

enum exit_code verb_sweep(const struct command_line *command)
{
    session_catch_signals();
    enum exit_code code = session_open(command);
    if (code != EXIT_DONE)
        return code;
    struct esp_problem *problem = NULL;
    struct sweeping sweeping = {.command = command};
    struct esp_error error = {0};
    if (session_describe(command, command->operands[0], &problem, &error) != ESP_OK) {
        code = session_fail_with(command, &error);
    } else {
        sweeping.problem = problem;
        code = sweep(&sweeping);
    }
    grpc_finalize(); /* before what its sessions write to goes */
    clear(&sweeping);
    esp_problem_free(problem);
    session_end_by_signal();
    return code;
}
