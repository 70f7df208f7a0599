/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/platform.h"
#include "bench/bench.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_S 30.0

static const char *build_folder(void)
{
    const char *folder = getenv("top_builddir");
    return folder ? folder : ".";
}

/* ---- files ---- */

static void make_folder(char *folder, size_t size)
{
    snprintf(folder, size, "/tmp/espalier-bench.XXXXXX");
    if (!mkdtemp(folder))
        bench_fail("cannot make a folder in /tmp: %s", strerror(errno));
}

static void remove_folder(const char *folder)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

static void write_file(const char *folder, const char *name, const char *format, ...)
{
    char path[512];
    va_list arguments;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file)
        bench_fail("cannot write %s: %s", path, strerror(errno));
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
}

/* What stands in the file once it is there; the caller frees it. */
static char *await_file(const char *folder, const char *name)
{
    char path[512], text[4096] = "";
    double until = bench_now() + PATIENCE_S;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (;;) {
        FILE *file = fopen(path, "r");
        size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            fclose(file);
        text[n] = 0;
        text[strcspn(text, "\n")] = 0;
        if (n > 0)
            return strdup(text);
        if (bench_now() > until)
            bench_fail("%s did not appear: a daemon does not start", path);
        usleep(10000);
    }
}

/* ---- processes ---- */

/* Its output goes to NAME.out in the folder. It dies with the benchmark. */
static pid_t start(const char *folder, const char *name, const char *const *arguments)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.out", folder, name);
    pid_t child = fork();
    if (child < 0)
        bench_fail("cannot fork: %s", strerror(errno));
    if (child > 0)
        return child;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(fd, 1);
    dup2(fd, 2);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execv(arguments[0], (char *const *)arguments);
    fprintf(stderr, "cannot run %s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

static void stop(pid_t pid)
{
    if (pid <= 0)
        return;
    kill(pid, SIGTERM);
    for (int i = 0; i < 500; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return;
        usleep(10000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- the platform ---- */

/* An authority and a certificate by it. */
static void make_certificate(struct platform *platform)
{
    char command[1024];
    const char *key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    snprintf(command, sizeof command,
             "cd %s && exec 2>openssl.log && openssl req -x509 %s -keyout ca.key -out ca.pem -days 2 -subj "
             "/CN=ca && "
             "openssl req %s -keyout node.key -out node.csr -subj /CN=node && "
             "openssl x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out node.pem -days 2",
             platform->folder, key, key);
    if (system(command) != 0)
        bench_fail("openssl makes no certificates, see %s/openssl.log", platform->folder);
    snprintf(platform->identity, sizeof platform->identity,
             "tls_ca = \"%s/ca.pem\"\ntls_certificate = \"%s/node.pem\"\ntls_key = \"%s/node.key\"\n",
             platform->folder, platform->folder, platform->folder);
}

/* What daemons beyond loopback need, if only to say that they go without. */
static const char *identity(const struct platform *platform)
{
    if (platform->identity[0])
        return platform->identity;
    return strncmp(platform->host, "127.", 4) ? "insecure = yes\n" : "";
}

static pid_t start_daemon(const struct platform *platform, const char *program, const char *name,
                          const char *more, char **address)
{
    char path[512], file[512], conf[64], address_file[64];
    snprintf(conf, sizeof conf, "%s.conf", name);
    snprintf(address_file, sizeof address_file, "%s.address", name);
    write_file(platform->folder, conf,
               "name = \"%s\"\nlisten = \"%s:0\"\naddress_file = \"%s/%s\"\nstate_dir = \"%s/%s\"\n%s%s",
               name, platform->host, platform->folder, address_file, platform->folder, name,
               identity(platform), more);
    snprintf(path, sizeof path, "%s/%s", build_folder(), program);
    snprintf(file, sizeof file, "%s/%s", platform->folder, conf);
    const char *arguments[] = {path, "--foreground", file, NULL};
    pid_t pid = start(platform->folder, name, arguments);
    *address = await_file(platform->folder, address_file);
    return pid;
}

static int call_once(const struct platform *platform)
{
    pid_t child = fork();
    if (child == 0) {
        int fd = open("/dev/null", O_WRONLY);
        dup2(fd, 1);
        dup2(fd, 2);
        setenv("ESPALIER_CONFIG", platform->client_conf, 1);
        execl(platform->program, "espalier", "call", "bench_add", "a=1", "b=2", (char *)NULL);
        _exit(127);
    }
    int status;
    waitpid(child, &status, 0);
    return status;
}

void platform_start(struct platform *platform, const struct platform_options *options)
{
    static const struct platform_options plain;
    options = options ? options : &plain;
    char more[2048], problems[512], *redirector, *master, *leader, *server, *second = NULL, here[512];
    memset(platform, 0, sizeof *platform);
    platform->host = options->host ? options->host : "127.0.0.1";
    make_folder(platform->folder, sizeof platform->folder);
    if (options->tls)
        make_certificate(platform);
    if (!realpath(build_folder(), here))
        bench_fail("no build folder %s", build_folder());
    write_file(
        platform->folder, "bench.esp",
        "problem bench_add \"Add two numbers\"\n"
        "    in double a\n    in double b\n    out double c\n"
        "implementation tiny\n    c bench_add(a, b, c) in %s/bench/.libs/libtiny.so\n"
        "problem dgesv \"Solve A X = B\"\n"
        "    in int n, nrhs\n    inout double A[n, n]\n    out int ipiv[n]\n    inout double B[n, nrhs]\n"
        "    work 2/3*n^3\n"
        "implementation lapack\n"
        "    fortran dgesv_(n, nrhs, A, max(1,n), ipiv, B, max(1,n), out info) in liblapack.so.3\n"
        "problem lu_open \"Factor A, keep the factors\"\n"
        "    in int n\n    in double A[n, n]\n    out state F\n    work 2/3*n^3\n    memory 8*n^2\n"
        "implementation kept\n    c info = kept_lu_open(n, A, F) in %s/bench/.libs/libkept.so\n"
        "problem lu_solve \"Solve with kept factors\"\n"
        "    in state F\n    in int n, nrhs\n    inout double B[n, nrhs]\n    work 2*n^2*nrhs\n"
        "implementation kept\n    c info = kept_lu_solve(F, n, nrhs, B) in %s/bench/.libs/libkept.so\n"
        "problem lu_close \"Let go of the factors\"\n    inout state F\n"
        "implementation kept\n    c kept_lu_close(F) in %s/bench/.libs/libkept.so\n"
        "problem bench_take \"Take an array\"\n    in int n\n    in double a[n]\n"
        "implementation tiny\n    c bench_take(a) in %s/bench/.libs/libtiny.so\n"
        "problem bench_give \"Give an array\"\n    in int n\n    out double a[n]\n"
        "implementation tiny\n    c bench_take(a) in %s/bench/.libs/libtiny.so\n",
        here, here, here, here, here, here);
    write_file(platform->folder, "more.esp", "problem bench_nothing \"A signature only\"\n%s",
               options->descriptions ? options->descriptions : "");
    platform->redirector =
        start_daemon(platform, "redirector/espalier-redirector", "redirector", "", &redirector);
    const char *agent = options->agent ? options->agent : "";
    snprintf(more, sizeof more, "redirector = \"%s\"\n%s", redirector, agent);
    platform->master = start_daemon(platform, "agent/espalier-agent", "master", more, &master);
    snprintf(more, sizeof more, "parent = \"%s\"\n%s", master, agent);
    platform->leader = start_daemon(platform, "agent/espalier-agent", "leader", more, &leader);
    snprintf(problems, sizeof problems, "\"%s/bench.esp\", \"%s/more.esp\"", platform->folder,
             platform->folder);
    snprintf(more, sizeof more, "parent = \"%s\"\nslots = %u\nproblems = { %s }\n%s", leader,
             options->slots ? options->slots : 8, problems, options->server ? options->server : "");
    platform->server = start_daemon(platform, "sed/espalier-sed", "server", more, &server);
    if (options->second_server)
        platform->second = start_daemon(platform, "sed/espalier-sed", "second", more, &second);
    for (unsigned i = 0; i < options->more_servers && i < PLATFORM_MORE; i++) {
        char name[32], *address;
        snprintf(name, sizeof name, "more-%u", i + 1);
        platform->more[i] = start_daemon(platform, "sed/espalier-sed", name, more, &address);
        free(address);
    }
    snprintf(platform->client_conf, sizeof platform->client_conf, "%s/client.conf", platform->folder);
    write_file(platform->folder, "client.conf", "redirector = \"%s\"\n%s", redirector, platform->identity);
    snprintf(platform->program, sizeof platform->program, "%s/client/espalier", build_folder());
    double until = bench_now() + PATIENCE_S;
    while (call_once(platform) != 0) {
        if (bench_now() > until)
            bench_fail("the platform in %s does not answer", platform->folder);
        usleep(50000);
    }
    sleep(1); /* the server measures its speed once it has joined */
    free(redirector);
    free(master);
    free(leader);
    free(server);
    free(second);
}

void platform_stop(struct platform *platform)
{
    stop(platform->second);
    for (unsigned i = 0; i < PLATFORM_MORE; i++)
        stop(platform->more[i]);
    stop(platform->server);
    stop(platform->leader);
    stop(platform->master);
    stop(platform->redirector);
    remove_folder(platform->folder);
}

/* ---- the reference ---- */

static pid_t start_piped(const char *const *arguments, int *to, int *from)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        bench_fail("cannot make pipes: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execv(arguments[0], (char *const *)arguments);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    *to = in[1];
    if (from)
        *from = out[0];
    else
        close(out[0]);
    return child;
}

void reference_start(struct reference *reference)
{
    memset(reference, 0, sizeof *reference);
    make_folder(reference->folder, sizeof reference->folder);
    snprintf(reference->program, sizeof reference->program, "%s/bench/reference_twoway", build_folder());
    char file[128];
    snprintf(file, sizeof file, "%s/address", reference->folder);
    const char *serve[] = {reference->program, "serve", file, NULL};
    reference->server = start_piped(serve, &reference->to_server, NULL);
    reference->address = await_file(reference->folder, "address");
    const char *call[] = {reference->program, "call", reference->address, NULL};
    reference->client = start_piped(call, &reference->to_client, &reference->from_client);
}

void reference_chain_start(struct reference *reference)
{
    memset(reference, 0, sizeof *reference);
    reference->to_server = -1;
    make_folder(reference->folder, sizeof reference->folder);
    snprintf(reference->program, sizeof reference->program, "%s/bench/reference_chain", build_folder());
    const char *call[] = {reference->program, NULL};
    reference->client = start_piped(call, &reference->to_client, &reference->from_client);
}

static double ask(struct reference *reference, const char *command)
{
    char answer[128] = "";
    size_t used = 0;
    if (write(reference->to_client, command, strlen(command)) < 0)
        bench_fail("the reference is gone");
    while (used < sizeof answer - 1 && !strchr(answer, '\n')) {
        ssize_t n = read(reference->from_client, answer + used, sizeof answer - 1 - used);
        if (n <= 0)
            bench_fail("the reference is gone");
        used += (size_t)n;
        answer[used] = 0;
    }
    return strtod(answer, NULL);
}

double reference_latency(struct reference *reference, size_t n)
{
    char command[64];
    snprintf(command, sizeof command, "latency %zu\n", n);
    return ask(reference, command);
}

double reference_rate(struct reference *reference, size_t n, unsigned threads)
{
    char command[64];
    snprintf(command, sizeof command, "rate %zu %u\n", n, threads);
    return ask(reference, command);
}

void reference_stop(struct reference *reference)
{
    close(reference->to_client);
    close(reference->from_client);
    if (reference->to_server >= 0)
        close(reference->to_server);
    stop(reference->client);
    stop(reference->server);
    remove_folder(reference->folder);
    free(reference->address);
}

/* ---- addresses ---- */

const char *bench_own_address(void)
{
    static char text[INET_ADDRSTRLEN] = "127.0.0.1";
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        return text;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next)
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && !(one->ifa_flags & IFF_LOOPBACK)) {
            inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr, text,
                      sizeof text);
            break;
        }
    freeifaddrs(all);
    return text;
}
