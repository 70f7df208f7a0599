#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What workers may have (descriptors, memory), and a library that is built anew while its server runs.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc prlimit timeout

# version N: a library whose routine says N, and one that asks for memory without looking; in place at once.
version() {
    cat >routines.c <<END
#include <stdlib.h>
#include <unistd.h>
int version(int ms) { usleep(1000 * ms); return $1; }
void greedy(int mib) { volatile char *memory = malloc((size_t)mib << 20); memory[0] = 1; free((void *)memory); }
END
    cc -shared -fPIC -o new.so routines.c && mv new.so libversion.so
}
cat >version.esp <<'END'
problem version "Which version of the library this is, after a while"
    in  int ms
    out int number
implementation c
    c number = version(ms) in "libversion.so"
problem greedy "Takes memory"
    in  int mib
implementation c
    c greedy(mib) in "libversion.so"
END
version 1
agent_for_clients
server_below_agent server S 'slots = 2' 'worker_memory = "200 MiB"' "problems = { \"$work/version.esp\" }"

says_version() { # says_version N
    espalier call version ms=0 | grep -q "number *= *$1"
}
check "the library is called" wait_until says_version 1
version 2
check "a new one is not called before anybody says so" says_version 1
espalier call version ms=3000 >slow.out 2>&1 &
slow=$!
sleep 1
# shellcheck disable=SC2154
kill -HUP "$pid_server"
check "after SIGHUP the new one is called" wait_until says_version 2
check "the log says so" grep -q 'libversion.so is another file now' server.log
wait $slow
check "a call that ran ended with the old one" grep -q 'number *= *1' slow.out

check_fails any "a routine that wants more memory than a worker may have fails" espalier call greedy mib=1000
check_says "and is told why" 'refused 1.05 GB .*411 MB.*worker_memory'
check "others go on" says_version 2

# BLAS keeps a buffer and a stack for each thread, and asks for them for ever where it gets none.
cat >blas.esp <<'END'
problem times "C := A B"
    in  int n
    in  double A[n,n], B[n,n]
    out double C[n,n]
implementation blas
    fortran dgemm_('N','N',n,n,n,double 1.0,A,max(1,n),B,max(1,n),double 0.0,C,max(1,n)) in libblas.so.3
END
server_below_agent four S4 'slots = 1' 'threads = 4' 'worker_memory = "32 MiB"' "problems = { \"$work/blas.esp\" }"
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n300 300"; for (i = 0; i < 90000; i++) print i % 7 }' >a.mtx
for call in 1 2 3; do
    check "four threads of BLAS work in a small worker, call $call" wait_until espalier call times A=@a.mtx B=@a.mtx -o C=c.mtx
done
check "and what they keep is no reason to replace it" sh -c '! grep -q "kept .* after calls" four.log'

# With few descriptors a server works, or says what it lacks.
for slots in 2 100; do
    cat >few$slots.conf <<END
name = "few$slots"
parent = "127.0.0.1:1"
listen = "127.0.0.1:0"
address_file = "$work/few$slots.address"
slots = $slots
problems = { "$work/version.esp" }
END
done
check_fails any "a server of 100 slots does not start with 64 descriptors" timeout 20 prlimit --nofile=64:64 espalier-sed --foreground few100.conf
check_says "and says what it needs, what it has and what to do" 'expected at least 250, found 64.*ulimit -n'
start few prlimit --nofile=64:64 espalier-sed --foreground few2.conf
few=$(address_of few2.address)
check "one of 2 slots works with them" espalier call --server "$few" version ms=0
finish
