/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting one daemon of a platform on this machine.
 */
#ifndef COMMAND_LAUNCH_H
#define COMMAND_LAUNCH_H

#include "command/platform_state.h"
#include "command/quota.h"

/* The platform of `espalier up` without a file: the text of etc/platform.conf. */
extern const char default_platform[];

struct launch {
    const char *kind;    /* "server" */
    const char *program; /* "espalier-sed" */
    const char *name;
    char config[PATH_MAX], log[PATH_MAX], address_file[PATH_MAX];
    double cpu_quota;  /* 0: none */
    unsigned together; /* how many servers share the machine's memory; 0: not known */
    struct quota quota;
    pid_t pid;
    char address[256]; /* "" until it is known */
};

/* Where one of Espalier's programs is: beside this command, in the installed places, on the PATH; else
 * ESP_NOT_FOUND. */
enum esp_status launch_find(const char *program, char *path, size_t size, struct esp_error *error);

/* Starts the program in the foreground with its file, its output going to the log; records it. ESP_NOT_FOUND
 * when the program is nowhere (beside this command, in the installed places, on the PATH), ESP_SYSTEM. */
enum esp_status launch_start(const struct platform_state *state, struct launch *launch,
                             struct esp_error *error);

/* Reads the address file. True once it is there. */
bool launch_ready(struct launch *launch);

/* True when the process has ended; *error tells how, with the end of its log. */
bool launch_died(const struct launch *launch, struct esp_error *error);

/* Ends it: SIGTERM, and SIGKILL after 2 s. */
void launch_stop(struct launch *launch);

/* The lines of the log that say which problems a server cannot call, each without its time and level, on
 * standard error; at most LAUNCH_MOST_LEFT_OUT. Returns how many there are in all. */
#define LAUNCH_MOST_LEFT_OUT 5
unsigned launch_show_left_out(const struct launch *launch);

/* The last lines of the log on standard error. */
void launch_show_log(const struct launch *launch);

#endif
