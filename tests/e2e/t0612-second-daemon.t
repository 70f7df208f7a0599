#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A second daemon that is started with the file of one that runs is refused, and does the first one no harm; one whose
# predecessor was killed, or is ending, begins.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-redirector espalier-agent espalier-sed timeout

mkdir problems
printf 'problem one "Say it"\n    out int j\nimplementation sh\n    command sh "-c" "sleep 1; echo 1"\n    stdout j\n' >problems/one.esp
config() { # config NAME LINES...
    name=$1
    shift
    {
        printf 'name = "%s"\nlisten = "127.0.0.1:0"\nlog_file = "%s/%s.log"\n' "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
}
run() { # run NAME KIND
    rm -f "$1.address"
    start "$1" "espalier-$2" --foreground "$1.conf"
    eval "$1=\$(address_of $1.address)"
}
addressed() {
    echo "address_file = \"$work/$1.address\""
}
config redirector "$(addressed redirector)" && run redirector redirector
# shellcheck disable=SC2154
config MA "$(addressed MA)" "state_dir = \"$work/MA\"" "redirector = \"$redirector\"" && run MA agent
# shellcheck disable=SC2154
config SeD "$(addressed SeD)" "state_dir = \"$work/SeD\"" "parent = \"$MA\"" "problems = { \"$work/problems\" }" && run SeD sed
printf 'redirector = "%s"\n' "$redirector" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
call() {
    espalier call one
}
check "the platform computes" wait_until call

cp MA.address before
check_fails 1 "a second agent with the same file is refused" timeout 20 espalier-agent --foreground MA.conf
# shellcheck disable=SC2154
check_says "with the first one" "espalier-agent: state_dir \"$work/MA\" is in use by process $pid_MA: "
check_fails 1 "also in the background" timeout 20 espalier-agent MA.conf
check_fails 1 "a second server" timeout 20 espalier-sed --foreground SeD.conf
# shellcheck disable=SC2154
check_says "with the first one" "state_dir \"$work/SeD\" is in use by process $pid_SeD: "
check_fails 1 "a second redirector, which has no state" timeout 20 espalier-redirector --foreground redirector.conf
# shellcheck disable=SC2154
check_says "by its address file" "address_file \"$work/redirector.address\" is in use by process $pid_redirector: "
check "the address file is as it was" cmp MA.address before
check "the platform computes" call

# Workers of a killed server may outlive it for a moment.
espalier call one >called 2>&1 &
caller=$!
sleep 0.3
stop SeD KILL
run SeD sed
check "a server begins where one was killed in the middle of a call" test -n "$SeD"
wait $caller
check "and computes" wait_until call
stop MA KILL
check "what was killed left its mark" test -e MA/lock
run MA agent
check "an agent begins where one was killed, and is found at its new address" wait_until call

# A server that got the signal to end still has its sessions.
espalier call one >called 2>&1 &
caller=$!
sleep 0.3
# shellcheck disable=SC2154
kill "$pid_SeD"
start next espalier-sed --foreground SeD.conf
# shellcheck disable=SC2154
check "one that begins while its predecessor ends waits for it" wait_until grep -q " $pid_next " SeD/lock
check "and serves" wait_until call
wait $caller
stop next
check "nothing is left of the locks when all is over" test ! -e SeD/lock -a ! -e SeD.address.lock

check "a daemon that runs again by itself has its lock" espalier admin restart MA
check_fails 1 "so a second one is refused" timeout 20 espalier-agent --foreground MA.conf
finish
