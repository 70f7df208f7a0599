/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const int TURN_MS = 1000;

static std::string folder_of(uid_t user)
{
    return user == 0 ? "/run/espalier" : "/tmp/espalier-" + std::to_string(user);
}

/* Whether only that user can create files there. */
static bool is_kept_by(const std::string &folder, uid_t user)
{
    struct stat is;
    return lstat(folder.c_str(), &is) == 0 && S_ISDIR(is.st_mode) && is.st_uid == user &&
           !(is.st_mode & (S_IWGRP | S_IWOTH));
}

static std::string path_in(const std::string &folder, const std::string &address)
{
    struct stat namespace_of_net;
    if (strncmp(address.c_str(), "127.", 4) != 0 ||
        address.find_first_not_of("0123456789.:") != std::string::npos ||
        stat("/proc/self/ns/net", &namespace_of_net) != 0)
        return "";
    std::string name = address;
    name[name.rfind(':')] = '-'; /* the ORB's addresses end at a colon */
    std::string path = folder + "/" + std::to_string(namespace_of_net.st_ino) + "-" + name;
    return path.size() < sizeof(sockaddr_un::sun_path) ? path : "";
}

/* Returns this user's folder, creating it if needed; "": another user can create files in it. */
static std::string own_folder()
{
    const uid_t user = geteuid();
    const std::string folder = folder_of(user);
    mkdir(folder.c_str(), user == 0 ? 0755 : 0700);
    return is_kept_by(folder, user) ? folder : "";
}

LocalTurn::LocalTurn()
{
    const std::string folder = own_folder();
    if (folder.empty())
        return;
    lock = open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    for (int waited_ms = 0; lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0; waited_ms++) {
        if (errno != EWOULDBLOCK || waited_ms == TURN_MS) {
            close(lock);
            lock = -1;
            return;
        }
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, nullptr);
    }
}

LocalTurn::~LocalTurn()
{
    if (lock >= 0)
        close(lock);
}

/* Whether the socket is this user's and refuses connections, because its process has ended. A socket that
 * does not answer is in use. */
static bool is_stale(const std::string &path)
{
    struct stat is;
    struct sockaddr_un at = {};
    if (path.size() >= sizeof at.sun_path || lstat(path.c_str(), &is) != 0 || !S_ISSOCK(is.st_mode) ||
        is.st_uid != geteuid())
        return false;
    const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0)
        return false;
    at.sun_family = AF_UNIX;
    memcpy(at.sun_path, path.c_str(), path.size());
    const bool refused =
        connect(s, reinterpret_cast<struct sockaddr *>(&at), sizeof at) != 0 && errno == ECONNREFUSED;
    close(s);
    return refused;
}

void LocalTurn::remove_stale() const
{
    const std::string folder = own_folder();
    DIR *const entries = lock >= 0 && !folder.empty() ? opendir(folder.c_str()) : nullptr;
    if (!entries)
        return;
    while (const struct dirent *entry = readdir(entries)) {
        const std::string path = folder + "/" + entry->d_name;
        if (strstr(entry->d_name, "-127.") && is_stale(path))
            unlink(path.c_str());
    }
    closedir(entries);
}

std::string local_listening_path(const std::string &address)
{
    const std::string folder = own_folder();
    return folder.empty() ? "" : path_in(folder, address);
}

std::string local_asking_path(const std::string &address)
{
    const uid_t users[] = {geteuid(), 0};
    for (uid_t user : users) {
        const std::string folder = folder_of(user), path = path_in(folder, address);
        struct stat is;
        if (!path.empty() && is_kept_by(folder, user) && lstat(path.c_str(), &is) == 0 &&
            S_ISSOCK(is.st_mode) && is.st_uid == user)
            return path;
    }
    return "";
}
