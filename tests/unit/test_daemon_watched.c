/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon seen from outside: its HTTP port, and its messages to systemd. Real processes: each test plays
 * the part of a main function in a child. */
#include "tests/unit/unit.h"
#include "services/daemon.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], config[80], address_file[80], http_file[90], log_file[80], notify[80];
static int notified = -1;

static int set_up(void **state)
{
    (void)state;
    alarm(60); /* a test that waits for ever ends here */
    strcpy(folder, "/tmp/test_watched.XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(config, sizeof config, "%s/agent.conf", folder);
    snprintf(address_file, sizeof address_file, "%s/address", folder);
    snprintf(http_file, sizeof http_file, "%s.http", address_file);
    snprintf(log_file, sizeof log_file, "%s/log", folder);
    snprintf(notify, sizeof notify, "%s/notify", folder);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, notify);
    notified = socket(AF_UNIX, SOCK_DGRAM, 0);
    setenv("NOTIFY_SOCKET", notify, 1);
    return bind(notified, (struct sockaddr *)&address, sizeof address);
}

static int tear_down(void **state)
{
    (void)state;
    const char *files[] = {config, address_file, http_file, log_file, notify};
    close(notified);
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
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

static bool health(void *self, char *text, size_t size)
{
    snprintf(text, size, "as the file says");
    return *(const bool *)self;
}

static void metrics(void *self, struct metrics *metrics)
{
    (void)self;
    metrics_counter(metrics, "espalier_test_total", 42, "For this test.");
}

/* A whole daemon. */
static int run_daemon(bool healthy)
{
    struct daemon_arguments arguments = {
        .program = "espalier-agent", .text = "", .path = config, .foreground = true};
    struct settings_agent settings;
    struct daemon *daemon;
    struct esp_error error;
    const struct daemon_node node = {&healthy, health, metrics, NULL};
    if (!freopen("/dev/null", "w", stderr) || settings_load_agent(config, &settings, &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    if (daemon_start(&arguments, &settings.node, &daemon, &error) != ESP_OK)
        return daemon_failed(&arguments, &error);
    enum esp_status status = daemon_watch(daemon, &node, &error);
    if (status == ESP_OK)
        status = daemon_ready(daemon, "127.0.0.1:4711", &error);
    if (status == ESP_OK)
        daemon_wait(daemon, NULL, NULL);
    int exit_code = status == ESP_OK ? 0 : daemon_failed(&arguments, &error);
    daemon_stop(daemon);
    settings_destroy(&settings.arena);
    return exit_code;
}

static pid_t start(bool healthy)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit(run_daemon(healthy));
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

static int stop(pid_t child)
{
    kill(child, SIGTERM);
    return exit_code_of(child);
}

/* Waits for a datagram that has this text in it. */
static void wait_notified(const char *text)
{
    char lines[1000];
    do {
        ssize_t n = recv(notified, lines, sizeof lines - 1, 0);
        assert_true(n >= 0);
        lines[n] = '\0';
    } while (!strstr(lines, text)); /* alarm() bounds it */
}

static struct sockaddr_in http_address(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char line[100] = "";
    FILE *file = fopen(http_file, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_non_null(strchr(line, ':'));
    address.sin_port = htons((uint16_t)atoi(strchr(line, ':') + 1));
    return address;
}

/* The whole answer to what is sent. */
static const char *ask(const char *request)
{
    static char answer[1 << 16];
    const struct sockaddr_in address = http_address();
    size_t length = 0;
    ssize_t n;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
    while ((n = recv(fd, answer + length, sizeof answer - 1 - length, 0)) > 0)
        length += (size_t)n;
    answer[length] = '\0';
    close(fd);
    return answer;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

static void health_is_a_page_of_its_own(void **state)
{
    (void)state;
    write_config("http = \"127.0.0.1:0\"");
    pid_t child = start(true);
    wait_notified("READY=1");
    const char *answer = ask(GET("/health"));
    assert_non_null(strstr(answer, "HTTP/1.1 200"));
    assert_non_null(strstr(answer, "\r\n\r\nok MA1: as the file says\n"));
    assert_int_equal(stop(child), 0);
    assert_int_equal(access(http_file, F_OK), -1);
}

static void who_cannot_work_says_so(void **state)
{
    (void)state;
    write_config("http = \"localhost:0\"");
    pid_t child = start(false);
    wait_notified("READY=1");
    const char *answer = ask(GET("/health"));
    assert_non_null(strstr(answer, "HTTP/1.1 503"));
    assert_non_null(strstr(answer, "\r\n\r\nnot ok MA1: as the file says\n"));
    assert_int_equal(stop(child), 0);
}

static void metrics_are_those_of_the_node_and_of_the_process(void **state)
{
    (void)state;
    write_config("http = \"127.0.0.1:0\"");
    pid_t child = start(true);
    wait_notified("READY=1");
    const char *answer = ask(GET("/metrics"));
    assert_non_null(strstr(answer, "HTTP/1.1 200"));
    assert_non_null(strstr(answer, "version=0.0.4"));
    assert_non_null(strstr(answer, "\nespalier_test_total 42\n"));
    assert_non_null(strstr(answer, "espalier_node_info{node=\"MA1\",program=\"espalier-agent\""));
    assert_non_null(strstr(answer, "\nprocess_resident_memory_bytes "));
    assert_int_equal(stop(child), 0);
}

static void other_pages_and_methods_are_refused(void **state)
{
    (void)state;
    write_config("http = \"127.0.0.1:0\"");
    pid_t child = start(true);
    wait_notified("READY=1");
    assert_non_null(strstr(ask(GET("/secret")), "HTTP/1.1 404"));
    assert_non_null(strstr(ask("POST /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                               "Content-Length: 4\r\n\r\nabcd"),
                           "HTTP/1.1 405"));
    ask("\r\nnonsense\r\n\r\n");
    assert_non_null(strstr(ask(GET("/health")), "HTTP/1.1 200"));
    assert_int_equal(stop(child), 0);
}

#define HALVES 64

/* A process that has so many requests begun, and sends on at each of them without ever ending one; `ready` is
 * told when all have begun. */
_Noreturn static void send_halves(int ready)
{
    const struct sockaddr_in address = http_address();
    int fds[HALVES];
    for (size_t i = 0; i < HALVES; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fds[i], (const struct sockaddr *)&address, sizeof address) != 0 ||
            send(fds[i], "GET /health HTTP/1.1\r\nX: ", 25, MSG_NOSIGNAL) < 0)
            _exit(1);
    }
    if (write(ready, "", 1) != 1)
        _exit(1);
    for (;; usleep(100000))
        for (size_t i = 0; i < HALVES; i++)
            send(fds[i], "x", 1, MSG_NOSIGNAL);
}

static void half_requests_keep_nobody_waiting(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    write_config("http = \"127.0.0.1:0\"");
    pid_t child = start(true);
    wait_notified("READY=1");
    assert_int_equal(pipe(ready), 0);
    pid_t halves = fork();
    if (halves == 0) {
        alarm(60);
        send_halves(ready[1]);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    for (int i = 0; i < 40; i++)
        assert_non_null(strstr(ask(GET("/health")), "HTTP/1.1 200"));
    assert_non_null(strstr(ask(GET("/metrics")), "\nespalier_test_total 42\n"));
    kill(halves, SIGKILL);
    waitpid(halves, NULL, 0);
    assert_int_equal(stop(child), 0);
}

static void only_loopback_is_served(void **state)
{
    (void)state;
    struct settings_agent settings;
    struct esp_error error;
    write_config("http = \"0.0.0.0:0\"");
    assert_int_equal(settings_load_agent(config, &settings, &error), ESP_CONFIG);
    assert_non_null(strstr(error.text, "expected an address of loopback"));
}

static void a_port_that_is_taken_is_a_failure(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char line[80];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    snprintf(line, sizeof line, "http = \"127.0.0.1:%u\"", ntohs(address.sin_port));
    write_config(line);
    assert_int_equal(exit_code_of(start(true)), 1);
    assert_int_equal(access(address_file, F_OK), -1);
    close(fd);
}

static void systemd_is_told_of_readiness_reload_and_stop(void **state)
{
    (void)state;
    write_config("");
    pid_t child = start(true);
    wait_notified("READY=1");
    kill(child, SIGHUP);
    wait_notified("RELOADING=1\nMONOTONIC_USEC=");
    wait_notified("READY=1");
    kill(child, SIGTERM);
    wait_notified("STOPPING=1");
    assert_int_equal(exit_code_of(child), 0);
}

static void the_watchdog_gets_signs_of_life(void **state)
{
    (void)state;
    write_config("");
    setenv("WATCHDOG_USEC", "40000", 1);
    pid_t child = start(true);
    wait_notified("WATCHDOG=1\nSTATUS=as the file says");
    wait_notified("WATCHDOG=1");
    assert_int_equal(stop(child), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(health_is_a_page_of_its_own),
        TEST(who_cannot_work_says_so),
        TEST(metrics_are_those_of_the_node_and_of_the_process),
        TEST(other_pages_and_methods_are_refused),
        TEST(half_requests_keep_nobody_waiting),
        TEST(only_loopback_is_served),
        TEST(a_port_that_is_taken_is_a_failure),
        TEST(systemd_is_told_of_readiness_reload_and_stop),
        TEST(the_watchdog_gets_signs_of_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
