/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/local.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static std::string folder_of(uid_t user)
{
    return user == 0 ? "/run/espalier" : "/tmp/espalier-" + std::to_string(user);
}

/* Nobody but that user can put anything there. */
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

std::string local_listening_path(const std::string &address)
{
    const uid_t user = geteuid();
    const std::string folder = folder_of(user);
    mkdir(folder.c_str(), user == 0 ? 0755 : 0700);
    return is_kept_by(folder, user) ? path_in(folder, address) : "";
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
