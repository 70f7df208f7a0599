/* SPDX-License-Identifier: Apache-2.0
 *
 * espalier-directory: what `espalier directory` runs. espalier-directory [OPTION]...
 * export|import|show|client [OPERAND]...
 */
#include "config.h"

#include "command/directory_client.h"
#include "command/directory_command.h"
#include "services/directory/gather.h"
#include "services/directory/kept.h"
#include "services/directory/ldif.h"
#include "services/directory/schema.h"
#include "util/clock.h"
#include "util/regular_file.h"
#include "util/standard_files.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

int directory_fail(const struct directory_command *command, const struct esp_error *error)
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

int directory_usage(const struct directory_command *command, const char *text)
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

/* What the other options and all texts stand on, wherever it is in the line: the verb, and a server's file.
 */
static int parse_first(int argc, char **argv, struct directory_command *command)
{
    struct esp_error error = {0};
    const char *sed = NULL;
    int option;
    opterr = 0; /* what is wrong is told when all of it is read */
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
        sed = option == 'S' ? optarg : sed;
    command->verb = optind < argc ? argv[optind] : "";
    opterr = 1;
    optind = 0;
    return sed && take_settings(command, sed, &error) != ESP_OK ? directory_fail(command, &error) : EXIT_DONE;
}

static int parse(int argc, char **argv, struct directory_command *command)
{
    int option, code = parse_first(argc, argv, command);
    int64_t ns;
    if (code != EXIT_DONE)
        return code;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
        switch (option) {
        case 'S':
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
            if (config_read_duration(optarg, &ns, NULL) != ESP_OK || ns < NS_PER_MS) {
                char text[128];
                snprintf(text, sizeof text, "--timeout: expected a time, such as 5s, found '%.60s'", optarg);
                return directory_usage(command, text);
            }
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

void directory_tell_wrong(void *arg, const struct esp_error *error, bool stays)
{
    (void)stays; /* never: nothing was read before */
    tell_wrong(arg, error);
}

int directory_need(const struct directory_command *command)
{
    return command->directory.url
               ? EXIT_DONE
               : directory_usage(command, "expected --url URL, or --sed FILE of a server that names one");
}

int directory_fetch(struct directory_command *command)
{
    struct esp_error error = {0};
    const char *base;
    int code = directory_need(command);
    if (code != EXIT_DONE)
        return code;
    if (directory_read(&command->directory, &command->tree, &base, &error) != ESP_OK)
        return directory_fail(command, &error);
    schema_check(&command->tree, NULL, directory_tell_wrong, command);
    return EXIT_DONE;
}

/* ---- export ---- */

/* What the tree cannot have beside another entry is told, and the others are exported. */
static enum esp_status tell_left_out(struct directory_command *command, enum esp_status status,
                                     const struct esp_error *error)
{
    if (status != ESP_BUSY)
        return status;
    tell_wrong(command, error);
    return ESP_OK;
}

static enum esp_status gather_sed(struct directory_command *command, const char *path,
                                  struct esp_error *error)
{
    struct settings_sed settings;
    struct problem_set *problems = NULL;
    enum esp_status status = settings_load_sed(path, &settings, error);
    if (status != ESP_OK)
        return status;
    status = settings_load_problems(&settings, &settings.problems, &problems, error);
    if (status == ESP_OK)
        status = gather_machine(&command->tree, &settings, error);
    const bool is_left_out = status == ESP_BUSY; /* and its models with it */
    status = tell_left_out(command, status, error);
    if (status == ESP_OK)
        status = gather_descriptions(&command->tree, problems, error);
    for (size_t i = 0; status == ESP_OK && i < problems->n_problems; i++)
        status = tell_left_out(command, gather_problem(&command->tree, problems->problems[i], error), error);
    if (status == ESP_OK && !is_left_out)
        status = gather_models(&command->tree, &settings.node, tell_wrong, command, error);
    problem_set_destroy(problems);
    settings_destroy(&settings.arena);
    return status;
}

/* The address that the daemon has now, as it tells there. */
static bool read_address(const char *path, char address[300])
{
    char host[256];
    uint16_t port;
    FILE *file = path ? regular_file_open(path, "r", NULL) : NULL;
    if (!file)
        return false;
    const bool has_line = fgets(address, 300, file) != NULL;
    fclose(file);
    address[has_line ? strcspn(address, "\r\n") : 0] = 0;
    return has_line && config_read_address(address, NULL, host, sizeof host, &port, NULL) == ESP_OK;
}

/* Where others find it: an address with a free port is none, but what came of that. */
static enum esp_status gather_node(struct directory_command *command, const struct settings_node *node,
                                   const char *role, const char *parent, const struct config_strings *parents,
                                   struct esp_error *error)
{
    char found[300];
    struct esp_error why;
    const char *colon = strrchr(node->listen, ':'), *address = node->listen;
    if (!colon || strcmp(colon, ":0") == 0) {
        if (!read_address(node->address_file, found)) {
            error_set(&why, ESP_NOT_FOUND,
                      "%s: expected a port in listen = \"%s\", or the address of the running daemon in its "
                      "address_file (%s), found neither: it is left out",
                      node->name, node->listen, node->address_file ? node->address_file : "none is named");
            tell_wrong(command, &why);
            return ESP_OK;
        }
        address = found;
        fprintf(stderr,
                "espalier directory %s: %s: listen = \"%s\" names no port: its address is %s until it is "
                "started again\n",
                command->verb, node->name, node->listen, address);
    }
    return tell_left_out(
        command, gather_entry(&command->tree, node->name, role, address, parent, parents, error), error);
}

static enum esp_status gather_agent(struct directory_command *command, const char *path,
                                    struct esp_error *error)
{
    struct settings_agent settings;
    enum esp_status status = settings_load_agent(path, &settings, error);
    if (status != ESP_OK)
        return status;
    status = gather_node(command, &settings.node, settings_agent_is_master(&settings) ? "master" : "leader",
                         settings.parent, &settings.parents, error);
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
    status = gather_node(command, &settings.node, "redirector", NULL, &(struct config_strings){0}, error);
    settings_destroy(&settings.arena);
    return status;
}

static enum esp_status gather_file(struct directory_command *command, const char *path,
                                   struct esp_error *error)
{
    enum settings_kind kind;
    char by[SETTINGS_BY];
    enum esp_status status = settings_guess_kind(path, &kind, by, error);
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
    if (status == ESP_OK && n == 0 && (code = directory_fetch(command)) != EXIT_DONE)
        return code;
    if (status == ESP_OK && command->output && strcmp(command->output, "-") != 0)
        status = ldif_save(&command->tree, DIRECTORY_FILE_BASE, command->output, &error);
    else if (status == ESP_OK)
        status = ldif_write(&command->tree, DIRECTORY_FILE_BASE, stdout, &error);
    if (status == ESP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = error_errno(&error, "standard output");
    return status == ESP_OK ? command->wrong ? EXIT_FAILED : EXIT_DONE : directory_fail(command, &error);
}

/* ---- client ---- */

static int run_client(struct directory_command *command)
{
    struct esp_error error = {0};
    int code = directory_fetch(command);
    if (code != EXIT_DONE)
        return code;
    directory_tree_sort(&command->tree);
    enum esp_status status = directory_client_write(&command->tree, stdout, &error);
    if (status == ESP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = error_errno(&error, "standard output");
    return status == ESP_OK ? EXIT_DONE : directory_fail(command, &error);
}

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    struct directory_command command = {.verb = "", .directory.timeout_ms = 5000};
    int code = parse(argc, argv, &command);
    if (code == EXIT_DONE) {
        optind += optind < argc; /* the verb */
        const int n = argc - optind;
        code = strcmp(command.verb, "export") == 0   ? run_export(&command, n, argv + optind)
               : strcmp(command.verb, "import") == 0 ? directory_run_import(&command, n, argv + optind)
               : strcmp(command.verb, "show") == 0   ? directory_run_show(&command, n, argv + optind)
               : strcmp(command.verb, "client") == 0
                   ? run_client(&command)
                   : directory_usage(&command, "expected export, import, show or client");
    }
    directory_tree_clear(&command.tree);
    settings_destroy(&command.sed.arena);
    return code;
}
