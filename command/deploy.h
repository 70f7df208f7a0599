/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving a daemon its files and starting it: here, or on another machine over ssh.
 */
#ifndef COMMAND_DEPLOY_H
#define COMMAND_DEPLOY_H

#include "command/launch.h"
#include "services/settings.h"

/* Where a platform's daemons have their files on this machine, and how the others are reached. */
struct deploy {
    struct platform_state state;
    char files[PLATFORM_PATH]; /* folder of the daemons' files */
    const char *command;       /* the espalier command on other machines; NULL: on their PATH */
};

/* A daemon as its file describes it. */
struct deploy_daemon {
    enum settings_kind kind;
    const char *role; /* "leader": what it is in a platform */
    void *settings;   /* of that kind; paths that it does not name are filled in */
    struct settings_node *node;
    struct arena *arena;
    double cpu_quota;  /* in processors; 0: no limit */
    unsigned together; /* servers that are started here and share the memory; 0: not known */
};

/* "espalier-sed" */
const char *deploy_program(enum settings_kind kind);

/* Writes the daemon's file into the folder, and starts it there; `launch` is to be waited for. Its log
 * goes on behind that of an earlier daemon of that name, which tells how that one ended. ESP_CONFIG: the name
 * cannot name files; others as launch_start() has them. */
enum esp_status deploy_here(const struct deploy *deploy, struct deploy_daemon *daemon, struct launch *launch,
                            struct esp_error *error);
/* The daemon's file alone, as deploy_here() writes it. */
enum esp_status deploy_write(const struct deploy *deploy, struct deploy_daemon *daemon, struct launch *launch,
                             struct esp_error *error);
/* Whether the daemon's file in the folder says something else than `daemon`, where it is below whom aside:
 * that the node knows better. Without a file: no. */
enum esp_status deploy_differs(const struct deploy *deploy, struct deploy_daemon *daemon, bool *differs,
                               struct esp_error *error);
/* Waits until it has told its address, `patience_ns` at most; a daemon that ends is told with its reason.
 * ESP_SYSTEM, ESP_TIMEOUT. */
enum esp_status deploy_wait(struct launch *launch, int64_t patience_ns, struct esp_error *error);

/* For what another machine is to do, where nobody says otherwise: a connection, and a daemon's start. */
#define DEPLOY_REMOTE_S 60.0

/* Has `espalier admin add` on that machine start it; its address is in launch->address then. The machine is
 * noted with the platform, so that it comes down with it. ESP_UNREACHABLE: ssh does not get there;
 * ESP_TIMEOUT: not in that time; ESP_FAILED: the daemon was not started there, with what that machine said.
 * Any thread. */
enum esp_status deploy_there(const struct deploy *deploy, const char *host, struct deploy_daemon *daemon,
                             double timeout_s, struct launch *launch, struct esp_error *error);
/* Notes the machine with the platform, so that it comes down with it, and by which command it is reached; of
 * one that is noted already nothing changes (`noted`: false). */
enum esp_status deploy_note_host(const struct deploy *deploy, const char *host, bool *noted,
                                 struct esp_error *error);
/* Of the name of a record of kind "host", "HOST COMMAND" or "HOST": the command, or NULL. */
const char *deploy_noted_command(const char *name);
/* Has 'espalier down' on that machine stop what was started there for this platform. As deploy_there(). */
enum esp_status deploy_down(const struct deploy *deploy, const char *host, double timeout_s,
                            struct esp_error *error);

#endif
