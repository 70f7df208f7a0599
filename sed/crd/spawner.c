/* SPDX-License-Identifier: Apache-2.0
 *
 * The spawner: a loop over the daemon's messages and the deaths of workers. */
#include "sed/crd/spawner.h"

#include "sed/crd/crd.h"
#include "sed/pool/folder.h"
#include "sed/pool/oom.h"
#include "util/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>
#include <utlist.h>

#define PROBE_MS 20000 /* for a library to load */

struct child {
    uint32_t id;
    pid_t pid;
    UT_hash_handle by_id, by_pid;
};

/* A message that did not fit into the daemon's socket yet. */
struct unsaid {
    struct spawner_message message;
    struct unsaid *prev, *next;
};

/* How long a daemon that was killed may take to end. */
#define DYING_MS 2000

struct spawner {
    int socket;
    struct unsaid *unsaid;
    int deaths; /* signalfd of SIGCHLD */
    struct spawner_setup setup;
    struct child *by_id, *by_pid;
    bool ordered; /* ordered to end by a daemon that continues */
};

static bool try_to_say(struct spawner *spawner, const struct spawner_message *message)
{
    ssize_t n;
    do
        n = send(spawner->socket, message, sizeof *message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

/* Never blocks, because the daemon may be writing to us and not reading. */
static void say(struct spawner *spawner, const struct spawner_message *message)
{
    if (!spawner->unsaid && try_to_say(spawner, message))
        return;
    struct unsaid *later = malloc(sizeof *later);
    if (!later)
        _exit(1); /* the daemon starts another */
    later->message = *message;
    DL_APPEND(spawner->unsaid, later);
}

static void say_the_rest(struct spawner *spawner)
{
    while (spawner->unsaid && try_to_say(spawner, &spawner->unsaid->message)) {
        struct unsaid *said = spawner->unsaid;
        DL_DELETE(spawner->unsaid, said);
        free(said);
    }
}

static void say_status(struct spawner *spawner, enum spawner_kind kind, uint32_t id, pid_t pid, int status)
{
    struct spawner_message message = {.kind = kind, .id = id, .pid = pid, .status = status};
    say(spawner, &message);
}

/* ---- workers ---- */

static void worker_folder(const struct spawner *spawner, uint32_t id, char *path, size_t size)
{
    snprintf(path, size, "%s/%u", spawner->setup.folder, id);
}

static void set_limits(const struct spawner_setup *setup, int output)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    for (uint32_t i = 0; i < setup->n_limits && i < SPAWNER_MAX_LIMITS; i++) {
        struct rlimit limit = {setup->limits[i].value, setup->limits[i].value};
        if (setrlimit((__rlimit_resource_t)setup->limits[i].resource, &limit) != 0)
            worker_cannot_begin(output, "its limits of resources");
    }
    if (setup->nice != 0) {
        errno = 0;
        if (nice(setup->nice) == -1 && errno != 0)
            worker_cannot_begin(output, "its priority");
    }
}

/* Runs in the child: closes everything of the spawner. */
static void become_worker(const struct spawner *spawner, uint32_t id, const int *descriptors, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before the line above */
        _exit(1);
    prctl(PR_SET_CHILD_SUBREAPER,
          1); /* so that it sees detached processes of a routine, and ends after such a call */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_NAME, "espalier-worker");
    oom_offer_self();
    set_limits(&spawner->setup, descriptors[3]);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    char path[SIGNATURE_MAX_PATH + 16];
    worker_folder(spawner, id, path, sizeof path);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fchdir(folder) != 0)
        worker_cannot_begin(descriptors[3], "into its private folder");
    worker_run(&(struct worker_descriptors){.socket = descriptors[0],
                                            .ring = descriptors[1],
                                            .bell = descriptors[2],
                                            .output = descriptors[3],
                                            .folder = folder},
               &spawner->setup);
}

static void folder_above(const struct spawner *spawner, char *path, size_t size)
{
    snprintf(path, size, "%s", spawner->setup.folder);
    char *end = strrchr(path, '/');
    if (end)
        *end = '\0';
}

/* False: another user has something at that path. */
static bool make_own(const char *path)
{
    struct stat is;
    return mkdir(path, 0700) == 0 || (errno == EEXIST && lstat(path, &is) == 0 && S_ISDIR(is.st_mode) &&
                                      is.st_uid == geteuid() && (is.st_mode & 077) == 0);
}

/* Creates a worker's private folder, and the folders above it if they were removed. */
static bool make_folder(const struct spawner *spawner, const char *path)
{
    char above[SIGNATURE_MAX_PATH];
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return true;
    if (errno != ENOENT)
        return false;
    folder_above(spawner, above, sizeof above);
    char *end = strrchr(above, '/');
    if (end && end != above) {
        *end = 0;
        const bool there = folders_make(above, 0);
        *end = '/';
        if (!there)
            return false;
    }
    return make_own(above) && make_own(spawner->setup.folder) && mkdir(path, 0700) == 0;
}

static int fork_worker(struct spawner *spawner, uint32_t id, const int *descriptors)
{
    struct child *child = calloc(1, sizeof *child);
    if (!child)
        return ENOMEM;
    char path[SIGNATURE_MAX_PATH + 16];
    worker_folder(spawner, id, path, sizeof path);
    pid_t self = getpid();
    child->id = id;
    child->pid = fork();
    if (child->pid < 0) {
        int why = errno;
        rmdir(path);
        free(child);
        return why;
    }
    if (child->pid == 0)
        become_worker(spawner, id, descriptors, self);
    setpgid(child->pid, child->pid); /* in both processes, because a kill must find the group */
    HASH_ADD(by_id, spawner->by_id, id, sizeof child->id, child);
    HASH_ADD(by_pid, spawner->by_pid, pid, sizeof child->pid, child);
    say_status(spawner, SPAWNER_BORN, id, child->pid, 0);
    return 0;
}

static void spawn(struct spawner *spawner, uint32_t id, const int *descriptors, int n_descriptors)
{
    struct spawner_message message = {.kind = SPAWNER_UNBORN, .id = id, .status = EBADF};
    char path[SIGNATURE_MAX_PATH + 16];
    worker_folder(spawner, id, path, sizeof path);
    if (n_descriptors == SPAWNER_DESCRIPTORS && !make_folder(spawner, path)) {
        message.status = errno;
        snprintf(
            message.text, sizeof message.text,
            "cannot make the worker's folder %.200s: %s (see that this user may write there, or start the "
            "daemon with another TMPDIR)",
            path, strerror(errno));
    } else if (n_descriptors == SPAWNER_DESCRIPTORS &&
               (message.status = fork_worker(spawner, id, descriptors)) == 0) {
        return;
    }
    say(spawner, &message);
}

static void kill_worker(struct spawner *spawner, uint32_t id)
{
    struct child *child;
    HASH_FIND(by_id, spawner->by_id, &id, sizeof id, child);
    if (child)
        kill(-child->pid, SIGKILL);
}

/* Processes that the routine has left in its process group are killed with it. */
static void bury(struct spawner *spawner, struct child *child, int status)
{
    char path[SIGNATURE_MAX_PATH + 16];
    HASH_DELETE(by_id, spawner->by_id, child);
    HASH_DELETE(by_pid, spawner->by_pid, child);
    worker_folder(spawner, child->id, path, sizeof path);
    folder_remove(path);
    say_status(spawner, SPAWNER_DIED, child->id, child->pid, status);
    free(child);
}

/* Descendants of routines that left their process group (setsid) become our children when their parent
 * ends: every child that is no worker is killed. Their own children follow when they die. Returns how
 * many. */
static int kill_strays(struct spawner *spawner)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "re");
    if (!children)
        return 0;
    int n = 0, number;
    while (fscanf(children, "%d", &number) == 1) {
        struct child *worker;
        pid_t pid = number;
        HASH_FIND(by_pid, spawner->by_pid, &pid, sizeof pid, worker);
        if (!worker && kill(pid, SIGKILL) == 0)
            n++;
    }
    fclose(children);
    return n;
}

static void reap(struct spawner *spawner)
{
    for (;;) {
        siginfo_t info = {0};
        /* Examined first and collected afterwards: while it is a zombie its process group number cannot be
         * reused. */
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
            return;
        struct child *child;
        pid_t pid = info.si_pid;
        int status = 0;
        HASH_FIND(by_pid, spawner->by_pid, &pid, sizeof pid, child);
        if (child)
            kill(-pid, SIGKILL);
        waitpid(pid, &status, 0);
        kill_strays(spawner);
        if (child)
            bury(spawner, child, status);
    }
}

/* ---- libraries ---- */

struct probe_result {
    int32_t status; /* enum esp_status */
    int32_t threads;
    char text[512];
    char file[SIGNATURE_MAX_PATH]; /* the file that it was loaded from */
};

/* Runs in a separate child, because loading a library may have any effect. */
static void probe(const struct spawner_check *check, int pipe_end)
{
    struct probe_result result = {.status = ESP_OK};
    struct esp_error error;
    void (*routine)(void);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(PROBE_MS / 1000 + 1);
    result.status = check->symbol[0]
                        ? (int)library_symbol(check->folder, check->library, check->symbol, &routine, &error)
                        : (int)library_load(check->folder, check->library, &error);
    if (result.status != ESP_OK)
        memcpy(result.text, error.text, sizeof result.text);
    if (result.status == ESP_OK)
        library_file(check->folder, check->library, result.file, sizeof result.file);
    struct stat tasks;
    result.threads = stat("/proc/self/task", &tasks) == 0 ? (int)tasks.st_nlink - 2 : 1;
    ssize_t n = write(pipe_end, &result, sizeof result);
    _exit(n == sizeof result ? 0 : 1);
}

static void read_probe(int pipe_end, pid_t pid, struct probe_result *result)
{
    struct pollfd wait = {.fd = pipe_end, .events = POLLIN};
    if (poll(&wait, 1, PROBE_MS) == 1 && read(pipe_end, result, sizeof *result) == sizeof *result) {
        waitpid(pid, NULL, 0);
        return;
    }
    int status;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    result->status = ESP_FAILED;
    snprintf(result->text, sizeof result->text, "loading it ended the process or took over %d s",
             PROBE_MS / 1000);
}

static void run_probe(const struct spawner_check *check, struct probe_result *result)
{
    int ends[2];
    *result = (struct probe_result){.status = ESP_SYSTEM, .text = "no process to try the library in"};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        probe(check, ends[1]);
    close(ends[1]);
    if (pid > 0)
        read_probe(ends[0], pid, result);
    close(ends[0]);
}

static void check(struct spawner *spawner, const struct spawner_message *message)
{
    const struct spawner_check *wanted = &message->check;
    struct probe_result result = {.status = ESP_OK, .threads = 1};
    struct esp_error error;
    void (*routine)(void);
    bool loaded = library_is_loaded(wanted->folder, wanted->library);
    if (!loaded)
        run_probe(wanted, &result);
    /* A library that starts threads when loaded is loaded by workers only, because the spawner must be
     * able to fork. */
    if (!loaded && result.status == ESP_OK && result.threads == 1 &&
        library_load(wanted->folder, wanted->library, &error) == ESP_OK)
        watch_loaded();
    watch_file(result.file);
    if (loaded && wanted->symbol[0]) {
        result.status =
            (int)library_symbol(wanted->folder, wanted->library, wanted->symbol, &routine, &error);
        if (result.status != ESP_OK)
            memcpy(result.text, error.text, sizeof result.text);
    }
    struct spawner_message answer = {.kind = SPAWNER_CHECKED, .id = message->id, .status = result.status};
    memcpy(answer.text, result.text, sizeof answer.text);
    answer.text[sizeof answer.text - 1] = 0;
    say(spawner, &answer);
}

static void compare(struct spawner *spawner, const struct spawner_message *message)
{
    const char *changed = watch_changed();
    struct spawner_message answer = {
        .kind = SPAWNER_CHECKED, .id = message->id, .status = changed ? (int)ESP_STALE : (int)ESP_OK};
    snprintf(answer.text, sizeof answer.text, "%s", changed ? changed : "");
    say(spawner, &answer);
}

/* ---- the loop ---- */

static void set_up(struct spawner *spawner, const struct spawner_setup *setup)
{
    spawner->setup = *setup;
    spawner->setup.folder[sizeof spawner->setup.folder - 1] = 0;
    /* systemd-tmpfiles ignores locked folders. The lock ends with this process. */
    char above[SIGNATURE_MAX_PATH];
    folder_above(spawner, above, sizeof above);
    const int folder = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0)
        flock(folder, LOCK_SH | LOCK_NB);
}

static void obey(struct spawner *spawner, const struct spawner_message *message, const int *descriptors,
                 int n_descriptors)
{
    switch (message->kind) {
    case SPAWNER_SETUP:
        set_up(spawner, &message->setup);
        break;
    case SPAWNER_SPAWN:
        spawn(spawner, message->id, descriptors, n_descriptors);
        break;
    case SPAWNER_KILL:
        kill_worker(spawner, message->id);
        break;
    case SPAWNER_CHECK:
        check(spawner, message);
        break;
    case SPAWNER_COMPARE:
        compare(spawner, message);
        break;
    case SPAWNER_END:
        spawner->ordered = true;
        break;
    case SPAWNER_PING:
        say_status(spawner, SPAWNER_PING, 0, 0, 0);
        break;
    default:
        break;
    }
}

/* False when the daemon is gone. */
static bool listen_once(struct spawner *spawner)
{
    struct spawner_message message;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(SPAWNER_DESCRIPTORS * sizeof(int))];
    } control;
    struct iovec data = {.iov_base = &message, .iov_len = sizeof message};
    struct msghdr envelope = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n = recvmsg(spawner->socket, &envelope, MSG_CMSG_CLOEXEC);
    if (n < 0)
        return errno == EINTR;
    if (n != sizeof message)
        return false;
    int descriptors[SPAWNER_DESCRIPTORS], n_descriptors = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        n_descriptors = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        memcpy(descriptors, CMSG_DATA(header), (size_t)n_descriptors * sizeof(int));
    }
    obey(spawner, &message, descriptors, n_descriptors);
    for (int i = 0; i < n_descriptors; i++)
        close(descriptors[i]);
    return true;
}

/* The daemon, which was killed, would have removed the folder of all its spawners, so one of them does.
 * The socket of a killed daemon may close some time before its lock is released. If that takes too long,
 * the next daemon of this user removes it. */
static void remove_pool_folder(const struct spawner *spawner)
{
    char path[sizeof spawner->setup.folder];
    snprintf(path, sizeof path, "%s", spawner->setup.folder);
    char *end = strrchr(path, '/');
    if (!end || end == path)
        return;
    *end = '\0';
    for (unsigned ms = 0; ms < DYING_MS; ms++) {
        if (folder_remove_left(path) || rmdir(path) == 0 || errno == ENOENT)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* The daemon has ended, orderly or not: removes everything. */
static void end_all(struct spawner *spawner)
{
    for (struct child *child = spawner->by_pid; child; child = child->by_pid.next)
        kill(-child->pid, SIGKILL);
    while (spawner->by_pid) {
        struct child *child = spawner->by_pid;
        waitpid(child->pid, NULL, 0);
        HASH_DELETE(by_id, spawner->by_id, child);
        HASH_DELETE(by_pid, spawner->by_pid, child);
        free(child);
    }
    while (kill_strays(spawner) > 0)
        waitpid(-1, NULL, 0);
    if (spawner->setup.folder[0])
        folder_remove(spawner->setup.folder);
    if (spawner->setup.folder[0] && !spawner->ordered)
        remove_pool_folder(spawner);
}

int spawner_run(int socket)
{
    struct spawner spawner = {.socket = socket};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* a terminal's Ctrl-C is for the daemon, which then ends us */
    sigset_t deaths;
    sigemptyset(&deaths);
    sigaddset(&deaths, SIGCHLD);
    signal(SIGCHLD, SIG_DFL);
    close_range((unsigned)socket + 1, ~0U, 0);
    spawner.deaths = signalfd(-1, &deaths, SFD_CLOEXEC | SFD_NONBLOCK);
    if (spawner.deaths < 0)
        return 1;
    for (bool alive = true; alive;) {
        short wish = (short)(POLLIN | (spawner.unsaid ? POLLOUT : 0));
        struct pollfd waits[2] = {{.fd = socket, .events = wish}, {.fd = spawner.deaths, .events = POLLIN}};
        if (poll(waits, 2, -1) < 0 && errno != EINTR)
            break;
        if (waits[1].revents) {
            struct signalfd_siginfo info;
            while (read(spawner.deaths, &info, sizeof info) == sizeof info)
                ;
            reap(&spawner);
        }
        if (waits[0].revents & POLLOUT)
            say_the_rest(&spawner);
        if (waits[0].revents & ~POLLOUT)
            alive = listen_once(&spawner);
    }
    end_all(&spawner);
    close(spawner.deaths);
    return 0;
}
