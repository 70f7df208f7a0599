/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-directory: what `espalier directory` runs. espalier-directory [OPTION]...
 * export|import|show|client [OPERAND]...
 */
#include "config.h"

#include "client/command/bar.h"
#include "client/command/directory_client.h"
#include "client/command/table.h"
#include "services/directory/directory.h"
#include "services/directory/gather.h"
#include "services/directory/kept.h"
#include "services/directory/ldif.h"
#include "services/directory/schema.h"
#include "util/clock.h"

#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_UNREACHABLE, EXIT_INPUT };

struct directory_command {
    const char *verb, *output;
    bool prune, json;
    struct directory_options directory;
    struct settings_sed sed; /* of --sed, whose directory it is then */
    struct directory_tree tree;
    struct bar bar;
    unsigned wrong;
};

static int fail(const struct directory_command *command, const struct esp_error *error)
{
    fprintf(stderr, "espalier directory %s: %s\n", command->verb, error->text);
    switch (error->status) {
    case ESP_UNREACHABLE:
    case ESP_TIMEOUT:
        return EXIT_UNREACHABLE;
    case ESP_CONFIG:
    case ESP_SYNTAX:
    case ESP_NOT_FOUND:
    case ESP_INVALID:
        return EXIT_INPUT;
    default:
        return EXIT_FAILED;
    }
}

static int usage(const struct directory_command *command, const char *text)
{
    fprintf(stderr, "espalier directory %s: %s; see 'espalier directory %s --help'\n", command->verb, text,
            command->verb);
    return EXIT_USAGE;
}

/* ---- which directory ---- */

static enum esp_status take_settings(struct directory_command *command, const char *path,
                                     struct esp_error *error)
{
    if (settings_load_sed(path, &command->sed, error) != ESP_OK)
        return error->status;
    const struct settings_directory *directory = &command->sed.directory;
    if (!directory->url)
        return error_set(error, ESP_CONFIG, "%s: expected the key \"directory\", found none", path);
    command->directory = directory_options_of(directory);
    return ESP_OK;
}

static int parse(int argc, char **argv, struct directory_command *command)
{
    static const struct option options[] = {
        {"sed", required_argument, NULL, 'S'},
        {"url", required_argument, NULL, 'u'},
        {"bind", required_argument, NULL, 'b'},
        {"password-file", required_argument, NULL, 'p'},
        {"sasl", required_argument, NULL, 's'},
        {"sasl-user", required_argument, NULL, 'U'},
        {"starttls", no_argument, NULL, 't'},
        {"ca", required_argument, NULL, 'c'},
        {"timeout", required_argument, NULL, 'T'},
        {"output", required_argument, NULL, 'o'},
        {"prune", no_argument, NULL, 'P'},
        {"json", no_argument, NULL, 'j'},
        {NULL, 0, NULL, 0},
    };
    struct esp_error error = {0};
    int option;
    int64_t ns;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
        switch (option) {
        case 'S':
            if (take_settings(command, optarg, &error) != ESP_OK)
                return fail(command, &error);
            break;
        case 'u':
            command->directory.url = optarg;
            break;
        case 'b':
            command->directory.bind = optarg;
            break;
        case 'p':
            command->directory.password_file = optarg;
            break;
        case 's':
            command->directory.sasl = optarg;
            break;
        case 'U':
            command->directory.sasl_user = optarg;
            break;
        case 't':
            command->directory.starttls = true;
            break;
        case 'c':
            command->directory.ca = optarg;
            break;
        case 'T':
            if (config_read_duration(optarg, &ns, &error) != ESP_OK || ns < NS_PER_MS)
                return usage(command, "--timeout: expected a time, such as 5s");
            command->directory.timeout_ms = ns / NS_PER_MS;
            break;
        case 'o':
            command->output = optarg;
            break;
        case 'P':
            command->prune = true;
            break;
        case 'j':
            command->json = true;
            break;
        default:
            return EXIT_USAGE;
        }
    return EXIT_DONE;
}

static void tell_wrong(void *arg, const struct esp_error *error)
{
    struct directory_command *command = arg;
    fprintf(stderr, "espalier directory %s: %s\n", command->verb, error->text);
    command->wrong++;
}

static void tell_wrong_entry(void *arg, const struct esp_error *error, bool stays)
{
    (void)stays; /* never: nothing was read before */
    tell_wrong(arg, error);
}

static int need_directory(const struct directory_command *command)
{
    return command->directory.url
               ? EXIT_DONE
               : usage(command, "expected --url URL, or --sed FILE of a server that names one");
}

static int read_directory(struct directory_command *command)
{
    struct esp_error error = {0};
    const char *base;
    int code = need_directory(command);
    if (code != EXIT_DONE)
        return code;
    if (directory_read(&command->directory, &command->tree, &base, &error) != ESP_OK)
        return fail(command, &error);
    schema_check(&command->tree, NULL, tell_wrong_entry, command);
    return EXIT_DONE;
}

/* ---- export ---- */

static enum esp_status gather_sed(struct directory_command *command, const char *path,
                                  struct esp_error *error)
{
    struct settings_sed settings;
    struct problem_set *problems = NULL;
    enum esp_status status = settings_load_sed(path, &settings, error);
    if (status != ESP_OK)
        return status;
    status =
        problem_load_all((const char *const *)settings.problems.items, settings.problems.n, &problems, error);
    if (status == ESP_OK)
        status = gather_machine(&command->tree, &settings, error);
    if (status == ESP_OK)
        status = gather_descriptions(&command->tree, problems, error);
    for (size_t i = 0; status == ESP_OK && i < problems->n_problems; i++)
        status = gather_problem(&command->tree, problems->problems[i], error);
    if (status == ESP_OK)
        status = gather_models(&command->tree, &settings.node, tell_wrong, command, error);
    problem_set_destroy(problems);
    settings_destroy(&settings.arena);
    return status;
}

/* Where others find it: an address with a free port is none. */
static enum esp_status gather_node(struct directory_command *command, const struct settings_node *node,
                                   const char *role, const char *parent, struct esp_error *error)
{
    const char *colon = node->listen ? strrchr(node->listen, ':') : NULL;
    if (!colon || strcmp(colon, ":0") == 0)
        return ESP_OK;
    return gather_entry(&command->tree, node->name, role, node->listen, parent, error);
}

static enum esp_status gather_agent(struct directory_command *command, const char *path,
                                    struct esp_error *error)
{
    struct settings_agent settings;
    enum esp_status status = settings_load_agent(path, &settings, error);
    if (status != ESP_OK)
        return status;
    status = gather_node(command, &settings.node, settings_agent_is_master(&settings) ? "master" : "leader",
                         settings.parent, error);
    settings_destroy(&settings.arena);
    return status;
}

static enum esp_status gather_redirector(struct directory_command *command, const char *path,
                                         struct esp_error *error)
{
    struct settings_redirector settings;
    enum esp_status status = settings_load_redirector(path, &settings, error);
    if (status != ESP_OK)
        return status;
    status = gather_node(command, &settings.node, "redirector", NULL, error);
    settings_destroy(&settings.arena);
    return status;
}

static enum esp_status gather_file(struct directory_command *command, const char *path,
                                   struct esp_error *error)
{
    enum settings_kind kind;
    bool named;
    enum esp_status status = settings_guess_kind(path, &kind, &named, error);
    if (status != ESP_OK)
        return status;
    switch (kind) {
    case SETTINGS_SED:
        return gather_sed(command, path, error);
    case SETTINGS_AGENT:
        return gather_agent(command, path, error);
    case SETTINGS_REDIRECTOR:
        return gather_redirector(command, path, error);
    default:
        return error_set(error, ESP_CONFIG,
                         "%s: expected the file of a server, an agent or a redirector, found one of "
                         "kind %s",
                         path, settings_kind_title(kind));
    }
}

static int run_export(struct directory_command *command, int n, char **files)
{
    struct esp_error error = {0};
    int code = EXIT_DONE;
    enum esp_status status = n ? gather_base(&command->tree, &error) : ESP_OK;
    bar_init(&command->bar);
    for (int i = 0; i < n && status == ESP_OK; i++) {
        bar_draw(&command->bar, (double)i / n, "%s", files[i]);
        status = gather_file(command, files[i], &error);
    }
    bar_clear(&command->bar);
    if (status == ESP_OK && n == 0 && (code = read_directory(command)) != EXIT_DONE)
        return code;
    if (status == ESP_OK && command->output && strcmp(command->output, "-") != 0)
        status = ldif_save(&command->tree, DIRECTORY_FILE_BASE, command->output, &error);
    else if (status == ESP_OK)
        status = ldif_write(&command->tree, DIRECTORY_FILE_BASE, stdout, &error);
    if (status == ESP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = error_errno(&error, "standard output");
    return status == ESP_OK ? command->wrong ? EXIT_FAILED : EXIT_DONE : fail(command, &error);
}

/* ---- import ---- */

static void progress(void *arg, size_t done, size_t all)
{
    struct directory_command *command = arg;
    bar_draw(&command->bar, all ? (double)done / (double)all : 1, "%zu of %zu entries", done, all);
}

static int run_import(struct directory_command *command, int n, char **files)
{
    struct esp_error error = {0};
    const char *base;
    int code = need_directory(command);
    if (n != 1)
        return usage(command, "expected one LDIF file");
    if (code != EXIT_DONE)
        return code;
    if (ldif_load(files[0], &command->tree, &base, &error) != ESP_OK)
        return fail(command, &error);
    schema_check(&command->tree, NULL, tell_wrong_entry, command);
    if (command->wrong) {
        error_set(&error, ESP_INVALID, "%s: %u entries are wrong; nothing was written", files[0],
                  command->wrong);
        return fail(command, &error);
    }
    bar_init(&command->bar);
    enum esp_status status =
        directory_write(&command->directory, &command->tree, command->prune, progress, command, &error);
    bar_clear(&command->bar);
    if (status != ESP_OK)
        return fail(command, &error);
    if (command->json)
        printf("{\"entries\": %zu}\n", command->tree.n);
    else
        printf("%zu entries are in the directory\n", command->tree.n);
    return EXIT_DONE;
}

/* ---- show ---- */

static bool is_wanted(const struct directory_entry *entry, int n, char **names)
{
    char cn[256];
    for (int i = 0; i < n; i++)
        for (const char *at = entry->name; *at; at = directory_name_parent(at)) {
            const struct directory_entry part = {.name = at};
            directory_entry_cn(&part, cn, sizeof cn);
            if (strcasecmp(cn, names[i]) == 0)
                return true;
        }
    return n == 0;
}

static const char *class_of(const struct directory_entry *entry)
{
    for (unsigned i = 0; schema_class(i); i++)
        if (directory_entry_is(entry, schema_class(i)))
            return schema_class(i);
    return NULL;
}

/* What is short of it, in a line. */
static void summary(const struct directory_entry *entry, const char *class, char *text, size_t size)
{
    size_t used = 0;
    *text = 0;
    for (unsigned i = 1; schema_attribute(class, i); i++) {
        const struct directory_value *value = directory_value(entry, schema_attribute(class, i));
        if (!value || memchr(value->text, '\n', value->length) || value->length > 100 || used + 140 > size)
            continue;
        const char *name = value->attribute;
        name += strncasecmp(name, "espalier", 8) == 0 ? 8 : 0;
        used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? " " : "", name, value->text);
    }
}

static json_t *entry_json(const struct directory_entry *entry, const char *class)
{
    json_t *object = json_pack("{s:s, s:s}", "name", entry->name, "class", class);
    for (unsigned i = 1; schema_attribute(class, i); i++) {
        const struct directory_value *value = directory_value(entry, schema_attribute(class, i));
        if (value)
            json_object_set_new(object, schema_attribute(class, i), json_stringn(value->text, value->length));
    }
    return object;
}

static int run_show(struct directory_command *command, int n, char **names)
{
    static const char *const headings[] = {"name", "what", "says"};
    struct table table;
    size_t shown = 0;
    char text[1024];
    json_t *list = json_array();
    int code = read_directory(command);
    if (code != EXIT_DONE)
        return code;
    table_init(&table, 3, headings);
    for (size_t i = 0; i < command->tree.n; i++) {
        const struct directory_entry *entry = command->tree.entries[i];
        const char *class = class_of(entry);
        if (!class || !is_wanted(entry, n, names))
            continue;
        shown++;
        if (command->json)
            json_array_append_new(list, entry_json(entry, class));
        summary(entry, class, text, sizeof text);
        table_cell(&table, "%s", entry->name);
        table_cell(&table, "%s", class + 8);
        table_cell(&table, "%s", text);
    }
    if (command->json) {
        json_dumpf(list, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (shown) {
        table_print(&table, 0, stdout);
    } else {
        puts(n ? "the directory has no such entry" : "the directory has no entries of Espalier");
    }
    json_decref(list);
    return fflush(stdout) == 0 && !ferror(stdout) && (shown || n == 0) ? EXIT_DONE : EXIT_FAILED;
}

/* ---- client ---- */

static int run_client(struct directory_command *command)
{
    struct esp_error error = {0};
    int code = read_directory(command);
    if (code != EXIT_DONE)
        return code;
    directory_tree_sort(&command->tree);
    enum esp_status status = directory_client_write(&command->tree, stdout, &error);
    if (status == ESP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = error_errno(&error, "standard output");
    return status == ESP_OK ? EXIT_DONE : fail(command, &error);
}

int main(int argc, char **argv)
{
    struct directory_command command = {.verb = "", .directory.timeout_ms = 5000};
    int code = parse(argc, argv, &command);
    if (code == EXIT_DONE) {
        command.verb = optind < argc ? argv[optind++] : "";
        const int n = argc - optind;
        code = strcmp(command.verb, "export") == 0   ? run_export(&command, n, argv + optind)
               : strcmp(command.verb, "import") == 0 ? run_import(&command, n, argv + optind)
               : strcmp(command.verb, "show") == 0   ? run_show(&command, n, argv + optind)
               : strcmp(command.verb, "client") == 0
                   ? run_client(&command)
                   : usage(&command, "expected export, import, show or client");
    }
    directory_tree_clear(&command.tree);
    settings_destroy(&command.sed.arena);
    return code;
}
