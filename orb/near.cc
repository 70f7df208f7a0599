/* SPDX-License-Identifier: Apache-2.0 */
#include "orb/near.h"

extern "C" {
#include "util/random.h"
}

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
    process = peer.pid; /* 0: it is in another name space of processes */
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

bool NearProcess::take(void *to, uint64_t place, size_t bytes) const
{
    char *at = static_cast<char *>(to);
    while (bytes > 0) {
        struct iovec here = {at, bytes}, there = {reinterpret_cast<void *>((uintptr_t)place), bytes};
        const ssize_t n = process_vm_readv(process, &here, 1, &there, 1, 0);
        if (n <= 0)
            return false;
        at += n;
        place += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

bool NearProcess::fill(const void *from, uint64_t place, size_t bytes) const
{
    const char *at = static_cast<const char *>(from);
    while (bytes > 0) {
        struct iovec here = {const_cast<char *>(at), bytes},
                     there = {reinterpret_cast<void *>((uintptr_t)place), bytes};
        const ssize_t n = process_vm_writev(process, &here, 1, &there, 1, 0);
        if (n <= 0)
            return false;
        at += n;
        place += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Only files in memory: of others reading may fail, or wait for somebody. */
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
