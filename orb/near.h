/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory access between two processes of one user on one host: one of them reads or writes the other's
 * memory, or takes over a memory file of it, and nothing passes through a socket.
 *
 * The kernel says which process is at the other end of a Unix socket (SO_PEERCRED). Its number is trusted
 * only when the memory of that process contains the proof that came with the message, because numbers are
 * reused, and after a fork() two processes have the same socket. A process of the same user may do all of
 * this anyway (ptrace); a process of another user cannot. If the kernel does not permit it, only speed is
 * lost. */
#ifndef ORB_NEAR_H
#define ORB_NEAR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The proof in this process's messages, and its address. */
struct NearProof {
    uint64_t place, high, low;
};

/* False: there is none (no random numbers, or this is the child of a process that has one). */
bool near_proof(NearProof &proof);

/* Another process of this user at the other end of a connection. */
class NearProcess
{
  public:
    /* `descriptor` of a connected socket. reachable() says whether its process can be accessed. */
    NearProcess(int descriptor, const NearProof &shown);
    ~NearProcess();
    NearProcess(const NearProcess &) = delete;
    NearProcess &operator=(const NearProcess &) = delete;

    bool reachable() const
    {
        return process > 0;
    }
    /* Copy all of it between its memory and ours; false when that was not possible, or only in part. */
    bool take(void *to, uint64_t place, size_t bytes) const;
    bool fill(const void *from, uint64_t place, size_t bytes) const;
    /* Returns a separate descriptor, close-on-exec, of the file that is `descriptor` there; -1: none.
     * Reading it can never fail: it is a memory file of at least that many bytes that cannot shrink. */
    int borrow(uint32_t descriptor, uint64_t bytes) const;

  private:
    pid_t process = 0;
    int handle = -1; /* pidfd: shows that it is still the same process */
};

#endif
