#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a control group whose memory runs out, the call that needs too much ends, and nothing else does.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc

# A group of our own, in either version of control groups.
name=espalier-test-$$
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    group=/sys/fs/cgroup/$name limit=memory.max
else
    group=/sys/fs/cgroup/memory/$name limit=memory.limit_in_bytes
fi
at_exit() {
    stop_all
    rmdir "$group" 2>/dev/null
}
mkdir "$group" 2>/dev/null && echo 400M 2>/dev/null >"$group/$limit" || skip_all "this user cannot limit a group's memory"

cat >routines.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int nap(int ms) { usleep(1000 * ms); return ms; }
int hog(int mib) { char *m = malloc((size_t)mib << 20); memset(m, 1, (size_t)mib << 20); return m[mib]; }
END
cc -shared -fPIC -o libhog.so routines.c
cat >hog.esp <<'END'
problem nap "Sleeps"
    idempotent yes
    in  int ms
    out int slept
implementation c
    c slept = nap(ms) in "libhog.so"
problem hog "Takes memory"
    idempotent yes
    in  int mib
    out int one
implementation c
    c one = hog(mib) in "libhog.so"
END
agent_for_clients
# in_group SCRIPT...: as a process of the group.
cat >in_group.sh <<END
echo \$\$ >"$group/cgroup.procs"
exec "\$@"
END
for server in A B; do
    printf 'name = "%s"\nparent = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\nslots = 2\nspares = 0\nworker_memory = "2 GiB"\nproblems = { "%s/hog.esp" }\n' \
        "$server" "$agent" "$work" $server "$work" $server "$work" >$server.conf
    start $server sh in_group.sh espalier-sed --foreground $server.conf
done
two_servers() { espalier problems | grep -Eq '^hog .* 2 '; }
check "two servers are there" wait_until two_servers
espalier call nap ms=6000 >nap.out 2>&1 &
nap=$!
sleep 0.5
check_fails any "a call that takes more memory than there is fails" timeout 50 espalier call hog mib=1000
check_says "it is said to be out of memory" 'out of memory'
traced() {
    cat trace.out
    grep -q 'failed  *out of memory' trace.out && ! grep -q crashed trace.out
}
espalier trace >trace.out 2>&1
check "so its trace says" traced
check "a call beside it goes on" wait $nap
killed() { [ "$(cat A.log B.log | grep -c 'out of memory')" -eq 1 ]; }
check "the call was killed once" killed
check "both servers are there still" two_servers
finish
