#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The units of systemd are well-formed, and each daemon starts with the mounts that its unit leaves it.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed espalier-redirector systemd-analyze unshare mount timeout
case $top_builddir in /tmp/* | /mnt/*) skip_all "the build folder would be hidden" ;; esac
unshare -m mount -t tmpfs tmpfs /mnt 2>/dev/null || skip_all "this user cannot mount anything"

# unit DAEMON: its unit, with the program that was built.
unit() {
    for tap_name in "$top_srcdir/etc/systemd/espalier-$1"*.in; do
        tap_unit=$(basename "$tap_name" .in)
        case $tap_unit in *@*) tap_unit=${tap_unit%%@*}@x.service ;; esac
        sed -e "s,@sbindir@/espalier-$1,$top_builddir/$1/espalier-$1," -e "s,@sysconfdir@,$work," "$tap_name" >"$work/$tap_unit"
        echo "$work/$tap_unit"
    done
}
# is_exposed_little UNIT: by the measure of systemd (10: to everything).
is_exposed_little() { systemd-analyze security --no-pager --offline=true --threshold=60 "$1" >exposure || { tail -n 1 exposure; return 1; }; }

# confined UNIT COMMAND...: becomes the command, in a mount namespace like that of the unit. The unit's own folder is /mnt.
confined() {
    cat >confined.sh <<'END'
set -e
mount --bind "$1" /mnt
unit=$2
shift 2
if grep -q '^PrivateTmp=yes' "$unit"; then
    mount -t tmpfs tmpfs /var/tmp
    private=yes
fi
cp "$unit" /mnt/unit
[ "${private:-}" != yes ] || mount -t tmpfs tmpfs /tmp
if grep -q '^ProtectSystem=strict' /mnt/unit; then
    mount --bind / / 2>/dev/null || :
    mount -o remount,bind,ro /
fi
cd /mnt
exec "$@"
END
    exec unshare -m --propagation private sh confined.sh "$work/own" "$@"
}
# serves DAEMON UNIT CONF: it becomes ready there, and ends in good order on SIGTERM.
serves() {
    rm -rf own && mkdir own
    printf '%s\n' "$3" 'listen = "127.0.0.1:0"' 'address_file = "/mnt/address"' 'log_file = "/mnt/log"' 'state_dir = "/mnt/state"' >own/conf
    confined "$2" "$top_builddir/$1/espalier-$1" --foreground /mnt/conf &
    pids="$pids $!"
    daemon=$!
    patience=20 wait_until test -s own/address || { cat own/log; return 1; }
    kill "$daemon" && wait "$daemon"
}

for daemon in redirector agent sed; do
    unit=$(unit "$daemon")
    check "the unit of espalier-$daemon is well-formed" systemd-analyze verify --man=no "$unit"
    check "it gives the daemon little beyond its work" is_exposed_little "$unit"
done
check "a redirector starts with its unit's mounts" serves redirector "$work/espalier-redirector.service" ''
check "an agent does" serves agent "$work/espalier-agent@x.service" 'name = "MA"'
check "a server does" serves sed "$work/espalier-sed@x.service" "name = \"S\"
parent = \"127.0.0.1:1\"
problems = { \"$top_srcdir/tests/e2e/product.esp\" }"
finish
