/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/program.h"
#include "orb/orb.h"
#include "util/standard_files.h"

_Static_assert(offsetof(struct settings_redirector, node) == offsetof(struct settings_agent, node) &&
                   offsetof(struct settings_redirector, node) == offsetof(struct settings_sed, node),
               "the settings of all daemons begin alike");

enum esp_status daemon_open_transport(const struct settings_node *node, struct transport **transport,
                                      struct esp_error *error)
{
    const struct orb_options options = {
        .tls_ca = node->tls.ca,
        .tls_certificate = node->tls.certificate,
        .tls_key = node->tls.key,
        .insecure = node->insecure,
        .connections = (unsigned)node->connections,
        .connections_per_peer = (unsigned)node->connections_per_peer,
        .message_bytes = node->message_bytes,
        .connect_timeout_ms = node->connect_timeout_ns / 1000000,
        .first_message_ms = node->first_message_timeout_ns / 1000000,
        .stalled_ms = node->stall_timeout_ns / 1000000,
    };
    return orb_open(&options, transport, error);
}

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    const struct daemon_program *program = &daemon_program;
    struct daemon_arguments arguments = {
        .program = program->name,
        .text = program->text,
        .path = program->path,
        .drops_variable = orb_reads_variable,
    };
    union settings_any settings;
    struct settings_node *node = &settings.redirector.node; /* of any daemon */
    struct daemon *daemon = NULL;
    struct esp_error error;
    int exit_code = 0;
    bool ends = false;
    if (!daemon_parse_arguments(argc, argv, &arguments, &exit_code))
        return exit_code;
    if (settings_load(program->kind, arguments.path, &settings, &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    daemon_take_addresses(node, &settings.arena);
    enum esp_status status = daemon_start(&arguments, node, &daemon, &error);
    if (status == ESP_OK && program->await)
        status = program->await(&settings, daemon, &ends, &error);
    if (status == ESP_OK && !ends)
        status = program->serve(&settings, daemon, &error);
    if (status != ESP_OK)
        exit_code = daemon_failed(&arguments, &error);
    daemon_stop(daemon);
    settings_destroy(&settings.arena);
    return daemon_end(argv, exit_code);
}
