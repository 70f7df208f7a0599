/* SPDX-License-Identifier: Apache-2.0
 *
 * Real processes: each test plays the part of a main function in a child.
 */
#include "tests/unit/unit.h"
#include "services/daemon.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], config[80], address_file[80], lock_file[96], log_file[80], reloads[80];

static int set_up(void **state)
{
    (void)state;
    alarm(60); /* a test that waits for ever ends here */
    strcpy(folder, "/tmp/test_daemon.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(config, sizeof config, "%s/agent.conf", folder);
    snprintf(address_file, sizeof address_file, "%s/address", folder);
    snprintf(lock_file, sizeof lock_file, "%s.lock", address_file);
    snprintf(log_file, sizeof log_file, "%s/log", folder);
    snprintf(reloads, sizeof reloads, "%s/reloads", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    /* A process that ends without daemon_stop() leaves its lock's file; the kernel releases the lock. */
    const char *files[] = {config, address_file, lock_file, log_file, reloads};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
    return rmdir(folder);
}

static void write_config(const char *more)
{
    FILE *file = fopen(config, "w");
    fprintf(file, "name = \"MA1\"\naddress_file = \"%s\"\nlog_file = \"%s\"\n%s\n", address_file, log_file,
            more);
    fclose(file);
}

static bool contains(const char *path, const char *text)
{
    static char content[1 << 16];
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    return strstr(content, text) != NULL;
}

static void wait_for(const char *path, const char *text)
{
    while (!contains(path, text))
        usleep(2000); /* alarm() bounds it */
}

static bool note_reload(void *arg, const struct daemon_reload *read)
{
    (void)arg;
    FILE *file = fopen(reloads, "a");
    fprintf(file, "reloaded %s: %s\n", read->settings ? read->settings->agent.scheduler : "nothing",
            read->pending);
    fclose(file);
    return read->settings != NULL;
}

/* A whole daemon; `failure`: it fails before it is ready. */
static int settles_after; /* so many looks */

static bool settled(void *self, char *why, size_t size)
{
    int *left = self;
    snprintf(why, size, "nobody above answers");
    return (*left)-- <= 0;
}

static bool health(void *self, char *text, size_t size)
{
    (void)self;
    snprintf(text, size, "well");
    return true;
}

static void metrics(void *self, struct metrics *metrics)
{
    (void)self;
    (void)metrics;
}

static int run_daemon(bool foreground, const struct esp_error *failure)
{
    struct daemon_arguments arguments = {
        .program = "espalier-agent", .text = "", .path = config, .foreground = foreground};
    struct settings_agent settings;
    struct daemon *daemon;
    struct esp_error error;
    if (!freopen("/dev/null", "w", stderr) || settings_load_agent(config, &settings, &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    if (daemon_start(&arguments, &settings.node, &daemon, &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    alarm(60); /* not inherited by the process in the background */
    if (failure)
        return daemon_failed(&arguments, failure);
    const struct daemon_node node = {&settles_after, health, metrics, settled};
    if (daemon_watch(daemon, &node, &error) != ESP_OK ||
        daemon_ready(daemon, "127.0.0.1:4711", &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    daemon_wait(daemon, note_reload, NULL);
    daemon_stop(daemon);
    settings_destroy(&settings.arena);
    return 0;
}

static pid_t start(bool foreground, const struct esp_error *failure)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(run_daemon(foreground, failure));
    }
    return child;
}

static int exit_code_of(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void in_the_foreground_from_start_to_stop(void **state)
{
    (void)state;
    write_config("");
    pid_t child = start(true, NULL);
    wait_for(address_file, "127.0.0.1:4711\n");
    wait_for(log_file, "notice MA1 ready address=127.0.0.1:4711");
    kill(child, SIGTERM);
    assert_int_equal(exit_code_of(child), 0);
    assert_int_equal(access(address_file, F_OK), -1);
    assert_true(contains(log_file, "notice MA1 stopped"));
}

static void hangup_reads_the_level_again(void **state)
{
    (void)state;
    char moved[100];
    snprintf(moved, sizeof moved, "%s.1", log_file);
    write_config("");
    pid_t child = start(true, NULL);
    wait_for(address_file, "4711");
    assert_int_equal(rename(log_file, moved), 0);
    write_config("log_level = error");
    kill(child, SIGHUP);
    wait_for(reloads, "reloaded");
    assert_int_equal(access(log_file, F_OK), 0); /* opened again under its name */
    assert_false(contains(log_file, "notice"));
    write_config("log_level = wrong");
    kill(child, SIGHUP);
    wait_for(log_file, "error MA1 the configuration is not read again");
    kill(child, SIGINT);
    assert_int_equal(exit_code_of(child), 0);
    assert_false(contains(log_file, "stopped"));
    unlink(moved);
}

/* Keys that a running daemon does not take over are named; it takes over the others. */
static void what_counts_at_the_next_start_only_is_told(void **state)
{
    (void)state;
    write_config("");
    pid_t child = start(true, NULL);
    wait_for(address_file, "4711");
    write_config("scheduler = mct\nmessage_bytes = \"1 MiB\"\nparent = \"other:1\"");
    kill(child, SIGHUP);
    wait_for(reloads, "reloaded mct: parent, message_bytes\n");
    assert_true(contains(log_file, "what counts at the next start only: parent, message_bytes"));
    write_config("scheduler = mct");
    kill(child, SIGHUP);
    wait_for(reloads, "reloaded mct: \n");
    kill(child, SIGTERM);
    assert_int_equal(exit_code_of(child), 0);
}

static pid_t pid_in_background(void)
{
    long pid = 0;
    FILE *file = fopen(log_file, "r");
    char line[300];
    while (fgets(line, sizeof line, file))
        if (strstr(line, " pid="))
            pid = atol(strstr(line, " pid=") + 5);
    fclose(file);
    assert_true(pid > 1);
    return (pid_t)pid;
}

static void stop_in_background(void)
{
    assert_int_equal(kill(pid_in_background(), SIGTERM), 0);
    wait_for(log_file, "stopped");
}

static void the_starter_waits_until_the_daemon_is_ready(void **state)
{
    (void)state;
    write_config("");
    assert_int_equal(exit_code_of(start(false, NULL)), 0);
    assert_true(contains(address_file, "127.0.0.1:4711\n")); /* it is there already */
    assert_int_equal(getsid(pid_in_background()), pid_in_background());
    stop_in_background();
}

static void the_starter_tells_of_failures(void **state)
{
    (void)state;
    const struct esp_error input = {ESP_CONFIG, "wrong file"}, other = {ESP_SYSTEM, "port in use"};
    write_config("");
    assert_int_equal(exit_code_of(start(false, &input)), 4);
    assert_int_equal(exit_code_of(start(false, &other)), 1);
    assert_int_equal(exit_code_of(start(true, &other)), 1);
    assert_true(contains(log_file, "error MA1 stops: port in use"));
    assert_int_equal(access(address_file, F_OK), -1);
    write_config("slots = 4");
    assert_int_equal(exit_code_of(start(false, NULL)), 4);
    write_config("tls_ca = \"/nowhere/ca.pem\"\ntls_certificate = \"/nowhere/node.pem\"\n"
                 "tls_key = \"/nowhere/node.key\"");
    assert_int_equal(exit_code_of(start(false, NULL)), 4);
    assert_true(
        contains(log_file, "cannot read the authority's certificate /nowhere/ca.pem (tls_ca): No such"));
}

static void the_starter_waits_for_those_above_but_not_for_ever(void **state)
{
    (void)state;
    write_config("");
    settles_after = 20;
    assert_int_equal(exit_code_of(start(false, NULL)), 0);
    stop_in_background();
    assert_false(contains(log_file, "warning"));
    unlink(log_file);
    settles_after = INT_MAX;
    assert_int_equal(exit_code_of(start(false, NULL)), 0);
    assert_true(contains(log_file, "warning MA1 ready, but nobody above answers; it goes on trying"));
    stop_in_background();
    settles_after = 0;
}

static void an_address_file_that_cannot_be_written_is_a_failure(void **state)
{
    (void)state;
    FILE *file = fopen(config, "w");
    fputs("address_file = \"/nonexistent/a\"\n", file);
    fclose(file);
    assert_int_equal(exit_code_of(start(false, NULL)), 1);
}

static void reads_the_command_line(void **state)
{
    (void)state;
    char program[] = "espalier-agent", foreground[] = "--foreground", path[] = "a.conf", more[] = "b.conf";
    char *argv[] = {program, foreground, path, more, NULL};
    struct daemon_arguments arguments = {.program = program, .text = "", .path = "default.conf"};
    int exit_code;
    assert_true(daemon_parse_arguments(1, argv, &arguments, &exit_code));
    assert_string_equal(arguments.path, "default.conf");
    assert_false(arguments.foreground);
    optind = 0;
    assert_true(daemon_parse_arguments(3, argv, &arguments, &exit_code));
    assert_string_equal(arguments.path, "a.conf");
    assert_true(arguments.foreground);
    optind = 0;
    assert_false(daemon_parse_arguments(4, argv, &arguments, &exit_code));
    assert_int_equal(exit_code, 2);
}

static void incarnations_differ(void **state)
{
    (void)state;
    uint64_t a = daemon_incarnation(), b = daemon_incarnation();
    assert_true(a != 0 && b != 0 && a != b);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(in_the_foreground_from_start_to_stop),
        TEST(hangup_reads_the_level_again),
        TEST(what_counts_at_the_next_start_only_is_told),
        TEST(the_starter_waits_until_the_daemon_is_ready),
        TEST(the_starter_tells_of_failures),
        TEST(the_starter_waits_for_those_above_but_not_for_ever),
        TEST(an_address_file_that_cannot_be_written_is_a_failure),
        cmocka_unit_test(reads_the_command_line),
        cmocka_unit_test(incarnations_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
