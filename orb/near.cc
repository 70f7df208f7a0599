/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/near.h"

extern "C" {
#include "util/random.h"
}

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <linux/magic.h>
#include <mutex>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

bool near_proof(NearProof &proof)
{
    static std::once_flag once;
    static uint64_t numbers[2];
    static pid_t owner = 0;
    std::call_once(once, [] {
        if (random_bytes(numbers, sizeof numbers, nullptr) == ESP_OK)
            owner = getpid();
    });
    proof = {reinterpret_cast<uintptr_t>(numbers), numbers[0], numbers[1]};
    return owner == getpid();
}

static bool is_same_user(int descriptor, pid_t &process)
{
    struct ucred peer = {};
    socklen_t length = sizeof peer;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || length != sizeof peer)
        return false;
    process = peer.pid; /* 0: it is in another PID namespace */
    return peer.pid > 0 && peer.uid == geteuid();
}

NearProcess::NearProcess(int descriptor, const NearProof &shown)
{
    pid_t peer;
    uint64_t found[2] = {};
    if (!is_same_user(descriptor, peer))
        return;
    handle = (int)syscall(SYS_pidfd_open, peer, 0);
    if (handle < 0)
        return;
    process = peer;
    if (!take(found, shown.place, sizeof found) || found[0] != shown.high || found[1] != shown.low)
        process = 0;
}

NearProcess::~NearProcess()
{
    if (handle >= 0)
        close(handle);
}

/* Copies all of it, to or from the process; false: not possible, or only in part. */
static bool reach(pid_t process, char *at, uint64_t place, size_t bytes, bool fills)
{
    while (bytes > 0) {
        struct iovec here = {at, bytes}, there = {reinterpret_cast<void *>((uintptr_t)place), bytes};
        const ssize_t n = (fills ? process_vm_writev : process_vm_readv)(process, &here, 1, &there, 1, 0);
        if (n <= 0)
            return false;
        at += n;
        place += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Addresses alias when they are equal modulo this. */
static const size_t ALIAS = 4096, VECTOR = 32, PIECE = 64 * 1024;

/* Whether each store would seem to overlap the next loads, for which processors wait: the kernel then
 * copies at about a third of its speed. Results often do: large arrays from malloc() start 16 bytes after
 * the beginning of a page, segments with the page. */
static bool trails(uint64_t to, uint64_t from)
{
    const uint64_t behind = (to - from) % ALIAS;
    return behind > 0 && behind < VECTOR;
}

bool NearProcess::take(void *to, uint64_t place, size_t bytes) const
{
    return reach(process, static_cast<char *>(to), place, bytes, false);
}

bool NearProcess::fill(const void *from, uint64_t place, size_t bytes) const
{
    const char *at = static_cast<const char *>(from);
    if (bytes < PIECE || !trails(place, reinterpret_cast<uintptr_t>(at)))
        return reach(process, const_cast<char *>(at), place, bytes, true);
    /* Copies in two steps through a buffer that aliases neither. */
    char room[PIECE + ALIAS];
    char *between = room + (place + ALIAS / 2 - reinterpret_cast<uintptr_t>(room)) % ALIAS;
    while (bytes > 0) {
        const size_t n = std::min(bytes, PIECE);
        memcpy(between, at, n);
        if (!reach(process, between, place, n, true))
            return false;
        at += n;
        place += n;
        bytes -= n;
    }
    return true;
}

/* Only memory files, because reading others may fail or block. */
static bool is_firm(int file, uint64_t bytes)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW, seals = fcntl(file, F_GET_SEALS);
    struct stat is;
    struct statfs kind;
    return seals >= 0 && (seals & wanted) == wanted && fstat(file, &is) == 0 && S_ISREG(is.st_mode) &&
           is.st_size >= 0 && (uint64_t)is.st_size >= bytes && fstatfs(file, &kind) == 0 &&
           kind.f_type == TMPFS_MAGIC;
}

int NearProcess::borrow(uint32_t descriptor, uint64_t bytes) const
{
    const int file = (int)syscall(SYS_pidfd_getfd, handle, descriptor, 0);
    if (file < 0)
        return -1;
    if (is_firm(file, bytes))
        return file;
    close(file);
    return -1;
}
