#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Four servers with 64 slots each and two master agents below a redirector, in a control group with half a core and 700 MB, on
# a machine whose own name is an address of loopback, with the read-only mounts of the units: the platform comes up and serves all
# problems.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed espalier-redirector unshare mount ip
case $top_builddir in /tmp/* | /mnt/*) skip_all "the build folder would be hidden" ;; esac
[ "$(id -u)" -eq 0 ] || skip_all "mounts and control groups are root's"
if [ "${1:-}" != inside ]; then
    unshare -m -n -u true 2>/dev/null || skip_all "no namespaces can be made"
    # The one inside has its folder in this one's, which can be removed when its mounts are gone.
    TMPDIR=$work unshare -m -n -u --propagation private sh "$top_srcdir/tests/e2e/t0746-small-machine.t" inside
    exit
fi
patience=${ESP_TEST_PATIENCE:-240}
hostname node || skip_all "the name of a machine cannot be set"
ip link set lo up

# The groups, in either version.
groups=''
at_exit() {
    stop_all
    work=/mnt/gone # the folder of the other shell goes
    for group in $groups; do
        rmdir "$group" 2>/dev/null
    done
}
# limited FOLDER FILE VALUE: a group in that folder, with a limit.
limited() {
    group=$1/espalier-test-$$
    { [ -d "$group" ] || mkdir "$group" 2>/dev/null; } && echo "$3" 2>/dev/null >"$group/$2" || skip_all "this user cannot limit control groups"
    case " $groups " in *" $group "*) ;; *) groups="$groups $group" ;; esac
}
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    echo '+cpu +memory' 2>/dev/null >/sys/fs/cgroup/cgroup.subtree_control
    limited /sys/fs/cgroup cpu.max '50000 100000'
    limited /sys/fs/cgroup memory.max 700M
else
    limited /sys/fs/cgroup/cpu cpu.cfs_quota_us 50000
    limited /sys/fs/cgroup/memory memory.limit_in_bytes 700M
fi

# The mounts of the units: everything is read-only but the daemons' own folder and a /tmp of their own.
mkdir own
printf '127.0.0.1 localhost\n127.0.1.1 node\n' >own/hosts
mount --bind own/hosts /etc/hosts && mount --bind own /mnt && mount -t tmpfs tmpfs /tmp && mount -t tmpfs tmpfs /var/tmp &&
    mount --bind / / && mount -o remount,bind,ro / || skip_all "nothing can be mounted here"
# What the harness writes lies there, too.
work=/mnt log=/mnt/log next_log=/mnt/log.next HOME=/mnt
: >"$log"
unset TMPDIR
cd /mnt || exit 99
cat >in_groups.sh <<'END2'
for group in $groups; do
    echo $$ >"$group/cgroup.procs" || exit 1
done
exec "$@"
END2
export groups
# daemon NAME KIND LINE...: starts it in the groups.
daemon() {
    name=$1 kind=$2
    shift 2
    printf 'name = "%s"\nlisten = "node:0"\ninsecure = yes\naddress_file = "/mnt/%s.address"\nlog_file = "/mnt/%s.log"\nstate_dir = "/mnt/%s.state"\n' \
        "$name" "$name" "$name" "$name" >"$name.conf"
    [ $# -eq 0 ] || printf '%s\n' "$@" >>"$name.conf"
    start "$name" sh in_groups.sh "espalier-$kind" --foreground "$name.conf"
}
daemon R redirector
redirector=$(address_of R.address)
for master in MA1 MA2; do
    daemon "$master" agent "redirector = \"$redirector\""
done
for master in MA1 MA2; do
    parent=$(address_of $master.address)
    for n in 1 2; do
        daemon "S$n$master" sed "parent = \"$parent\"" 'slots = 64' "problems = { \"$top_srcdir/problems\" }"
    done
done
servers='S1MA1 S2MA1 S1MA2 S2MA2'
for server in $servers; do
    check "$server is ready" wait_until grep -q ' ready address=' "$server.log"
done
printf 'redirector = "%s"\n' "$redirector" >client.conf
ESPALIER_CONFIG=/mnt/client.conf
export ESPALIER_CONFIG
four() { espalier problems >problems.out && ! grep -v ' 4 ' problems.out | grep -q '^[a-z0-9_]* .* [0-3] '; }
check "each problem is solved by four servers" wait_until four
all_callable() {
    for server in $servers; do
        grep -q '[0-9][0-9][0-9] problems can be called' "$server.log" && ! grep 'cannot be called' "$server.log" || return 1
    done
}
check "no problem of any server cannot be called" all_callable
check "64 slots are offered by each" sh -c 'test "$(espalier tree | grep -c "0/64")" -eq 4'
check "the limits are in the logs" grep -q 'limits: .*memory 734 MB (control group); processors [0-9]* of [0-9]*, quota 0.5' S1MA1.log
check "and that others cannot reach the daemons" grep -q 'is reached from this machine only' S1MA1.log
check "a system is solved" espalier call dgesv n=100 nrhs=1 A=rand B=rand
check "a product" espalier call dgemm m=50 n=50 k=50 A=rand B=rand C=rand
check "eigenvalues are found" espalier call eig n=50 A=rand
at_once() {
    calls=''
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        espalier call dgesv n=200 nrhs=1 A=rand B=rand >"call$i.out" 2>&1 &
        calls="$calls $!"
    done
    for call in $calls; do
        wait "$call" || { cat call*.out; return 1; }
    done
}
check "and twelve systems at once" at_once
check "nothing was killed" sh -c '! grep "out of memory\|was killed" ./*.log'
finish
