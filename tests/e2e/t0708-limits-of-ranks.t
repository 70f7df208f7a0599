#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What ranks of a server may have, and a library that is built anew while they are there.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc mpirun "$top_builddir/tests/mpi/.libs/librankroutines.so"
[ -x "$top_builddir/sed/mpi/espalier-prd" ] || skip_all "the program of the ranks is not built"
TMPDIR=$work
export TMPDIR

# version N: a library whose routine says N, when there is the file that it waits for; in place at once.
version() {
    cat >routines.c <<END
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int version(void) { return $1; }
int greedy(int mib, int keeps) { void *memory = malloc((size_t)mib << 20); if (memory && !keeps) free(memory); return !memory; }
int await(void) { close(creat("$work/awaits", 0600)); while (access("$work/gate", F_OK) != 0) usleep(10000); return $1; }
END
    cc -shared -fPIC -o new.so routines.c && mv new.so libversion.so
}
cat >version.esp <<'END'
problem version "Which version of the library this is"
    out int number
implementation ours
    parallel c number = version() in "libversion.so"
problem greedy "Takes memory, and may keep it"
    in  int mib, keeps
implementation ours
    parallel c code = greedy(mib, keeps) in "libversion.so"
    error code != 0 "no memory"
problem await "The same, when a file is there"
    out int number
implementation ours
    parallel c number = await() in "libversion.so"
END
cat >forsake.esp <<END
problem forsake "Takes memory on one rank, which returns where there is none; the others wait for it"
    in  int     which, mib
    in  double  seconds = 0
implementation ours
    parallel c code = forsake(communicator, which, mib, seconds) in "$top_builddir/tests/mpi/.libs/librankroutines.so"
    error code != 0 "no memory"
END
version 1
agent_for_clients
server_below_agent server S 'ranks = 2' 'grid = 1x2' 'worker_memory = "400 MiB"' 'worker_keeps = "16 MiB"' \
    "problems = { \"$work/version.esp\", \"$work/forsake.esp\" }"
says_version() { espalier call version | grep -q "number *= *$1"; } # says_version N
jobs() { grep -c 'ranks are ready' server.log; }
has_jobs() { [ "$(jobs)" = "$1" ]; }

check "ranks call the library" wait_until says_version 1
# shellcheck disable=SC2154
kill -HUP "$pid_server"
check "SIGHUP alone" wait_until grep -q 'the same signatures as before' server.log
check "goes on with the ranks as they are" has_jobs 1
version 2
check "a new library is not called before anybody says so" says_version 1
espalier call await >slow.out 2>&1 &
slow=$!
check "a call runs on the old one" wait_until test -e awaits
kill -HUP "$pid_server"
check "SIGHUP finds it" wait_until grep -q 'libversion.so is another file now: ranks are replaced' server.log
touch gate
wait $slow
check "a call that ran ended with the old one" grep -q 'number *= *1' slow.out
check "after SIGHUP the new one is called" says_version 2
check "by new ranks" has_jobs 2
version 3
check "an administrator's word does the same" espalier admin reload S
check "the newest one is called" says_version 3

# Of each rank; 192 MiB are for BLAS.
jobs=$(jobs)
check "what a rank may have is given" espalier call greedy mib=300 keeps=0
check_fails any "a routine that wants more on a rank fails" espalier call greedy mib=1000 keeps=0
check_says "and is told why" 'no memory; it was refused 1.05 GB .*a rank .*621 MB.*worker_memory'
check "by the same ranks" has_jobs "$jobs"
check "one that keeps much is computed" espalier call greedy mib=300 keeps=1
check "its ranks are replaced" wait_until has_jobs $((jobs + 1))
check "as the log says" grep -q 'rank . of 2 kept 3.. MB of memory after calls (worker_keeps is 218 MB)' server.log
check "and others are computed" says_version 3

# What nobody would notice, as no rank has died.
jobs=$(jobs)
check_fails any "a call whose ranks wait for one that got no memory ends" espalier call forsake which=1 mib=1000
check_says "and tells which rank was refused what" \
    'others were still in it .* s after rank 1 of 2 .process [0-9]* on .*had returned; it was refused 1.05 GB .*; the ranks are started again'
check "others are computed" says_version 3
check "by new ranks" has_jobs $((jobs + 1))

# In containers /dev/shm is often small: what ranks pack messages in does not lie there.
small_shm() { unshare -m sh -c 'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec "$@"' sh "$@"; }
text="ranks lay 2000 x 2000 elements otherwise where /dev/shm has 8 MiB"
if small_shm true 2>/dev/null; then
    cat >sums.esp <<END
problem sums "Sums down the columns"
    in      int     rows, block, m, n
    inout   double  A[m, n]
implementation ours
    parallel c code = accumulate(communicator, rows, block, desc(A), A) in "$top_builddir/tests/mpi/.libs/librankroutines.so"
    error   code != 0 "redistribution: {code}"
END
    sed -e 's/^name.*/name = "small"/' -e 's|server\.|small.|g' -e 's|version\.esp|sums.esp|' \
        -e 's/^ranks.*/ranks = 4/' -e 's/^grid.*/grid = 2x2/' server.conf >small.conf
    start small unshare -m sh -c 'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec espalier-sed --foreground small.conf'
    wait_until test -s small.address
    awk 'BEGIN { print "%%MatrixMarket matrix array real general\n2000 2000"; for (i = 0; i < 4000000; i++) print 1 }' >ones.mtx
    sums() { espalier call sums rows=2 block=64 A=@ones.mtx -o A=sums.mtx && tail -n 1 sums.mtx | awk '{ exit $1 != 2000 }'; }
    wait_until grep -q 'ranks are ready' small.log
    check "$text" sums
    check "without ending" [ "$(grep -c 'ranks are ended' small.log)" = 0 ]
else
    n_tests=$((n_tests + 1))
    echo "ok $n_tests - $text # SKIP no mount namespaces here"
fi
finish
