/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory between two processes of one user on one host: one of them reaches into the other's, or takes over a
 * memory file of it, and nothing passes through a socket.
 *
 * Who is at the other end of a Unix socket the kernel tells (SO_PEERCRED), and its number is believed only
 * when the memory of that process holds the proof that came with the message: numbers are given anew, and
 * after a fork() two processes hold the same socket. Whoever is of the same user may do all of this anyway
 * (ptrace); others never get so far. Where the kernel does not permit it, nothing is lost but speed.
 */
#ifndef ORB_NEAR_H
#define ORB_NEAR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What this process's messages show, and where it lies. */
struct NearProof {
    uint64_t place, high, low;
};

/* False: there is none (no random numbers, or this is the child of a process that has one). */
bool near_proof(NearProof &proof);

/* Another process of this user at the other end of a connection. */
class NearProcess
{
  public:
    /* `descriptor` of a connected socket. Whether it is one that may be reached is told by reachable(). */
    NearProcess(int descriptor, const NearProof &shown);
    ~NearProcess();
    NearProcess(const NearProcess &) = delete;
    NearProcess &operator=(const NearProcess &) = delete;

    bool reachable() const
    {
        return process > 0;
    }
    /* Copies all of it between its memory and ours; false when that was not possible, or in part. */
    bool take(void *to, uint64_t place, size_t bytes) const;
    bool fill(const void *from, uint64_t place, size_t bytes) const;
    /* A descriptor of its own, close-on-exec, of the file that is `descriptor` there; -1. Reading it can
     * never fail: it is a memory file of at least so many bytes that nobody can make smaller. */
    int borrow(uint32_t descriptor, uint64_t bytes) const;

  private:
    pid_t process = 0;
    int handle = -1; /* pidfd: it is still the same one */
};

#endif
