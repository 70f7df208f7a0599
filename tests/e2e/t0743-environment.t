#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Daemons start, and compute on all processors, whatever their environment says to other programs.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs "$top_builddir/tests/e2e/guest_steps" espalier espalier-agent espalier-sed cc

cat >routines.c <<'END'
#include <stdlib.h>
#include <string.h>
int seen(int n) { free(strdup("a word")); return (getenv("OMP_PROC_BIND") != NULL) + (getenv("PMIX_RANK") != NULL) + n; }
END
# An allocator that ends the program when it is to free memory of another one.
cat >allocator.c <<'END'
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define AREA ((size_t)4 << 30)
#define MAGIC 0x5ca1ab1e
struct head { size_t bytes, magic; };
static struct head *head_of(void *memory) { return (struct head *)memory - 1; }
void *memalign(size_t alignment, size_t bytes)
{
    static _Atomic(char *) area;
    static _Atomic size_t used;
    char *mine = atomic_load(&area), *none = NULL;
    if (!mine) {
        mine = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mine == MAP_FAILED)
            return NULL;
        if (!atomic_compare_exchange_strong(&area, &none, mine))
            mine = none;
    }
    size_t room = (bytes + alignment + 2 * sizeof(struct head) + 15) / 16 * 16, at = atomic_fetch_add(&used, room);
    if (at + room > AREA) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t to = ((uintptr_t)mine + at + sizeof(struct head) + alignment - 1) / alignment * alignment;
    *head_of((void *)to) = (struct head){bytes, MAGIC};
    return (void *)to;
}
void *malloc(size_t bytes) { return memalign(16, bytes); }
void *calloc(size_t n, size_t bytes) { return memalign(16, n * bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **memory, size_t alignment, size_t bytes) { return (*memory = memalign(alignment, bytes)) ? 0 : ENOMEM; }
void free(void *memory)
{
    if (memory && head_of(memory)->magic != MAGIC)
        abort();
}
void *realloc(void *memory, size_t bytes)
{
    void *more = malloc(bytes);
    if (memory && more)
        memcpy(more, memory, head_of(memory)->bytes < bytes ? head_of(memory)->bytes : bytes);
    free(memory);
    return more;
}
END
cc -shared -fPIC -o libseen.so routines.c
cc -shared -fPIC -fno-builtin -O1 -o allocator.so allocator.c
cat >seen.esp <<'END'
problem seen "How many variables a routine sees that it should not"
    in  int n
    out int number
implementation c
    c number = seen(n) in "libseen.so"
END
OMP_PROC_BIND=true PMIX_RANK=0 OMNIORB_CONFIG=/nonexistent ORBInitRef=nonsense
export OMP_PROC_BIND PMIX_RANK OMNIORB_CONFIG ORBInitRef
agent_for_clients
server_below_agent server S 'slots = 1' "problems = { \"$work/seen.esp\" }"
check "the command does not heed them" espalier tree
plain() { timeout 60 "$top_builddir/tests/e2e/guest_steps" entry; }
check_fails any "a program with the library does" plain
check_says "and the error lists them" "the environment's .*ORBInitRef"
unset OMNIORB_CONFIG ORBInitRef
sees_nothing() { espalier call seen n=0 | grep -q 'number *= *0'; }
check "a routine sees no variable that binds its threads or that another mpirun has set" wait_until sees_nothing
check "the log names what was dropped" grep -q "environment's .*OMP_PROC_BIND.* dropped" server.log
check "also settings of the ORB" grep -q "environment's .*OMNIORB_CONFIG.* dropped" agent.out
stop server
# The same must hold with another allocator. Sanitizers must be loaded first, so that they are left out.
if grep -q '__asan_init\|__tsan_init' "$top_builddir/sed/espalier-crd"; then
    LD_PRELOAD=
else
    LD_PRELOAD=$work/allocator.so
fi
export LD_PRELOAD
server_below_agent server S 'slots = 1' "problems = { \"$work/seen.esp\" }"
unset LD_PRELOAD
check "a server with a preloaded allocator serves" wait_until sees_nothing
finish
