#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls go on when somebody has removed the folders of a server's workers, as programs do that clean /tmp, and a limit of
# files' sizes ends no daemon.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed prlimit flock

cat >upper.esp <<'END'
problem upper "A text in capitals, by way of a file"
    in  file text
    out file capitals
implementation tr
    command sh "-c" "tr a-z A-Z <{text} >made && cat made"
    stdout capitals
END
mkdir temporary
TMPDIR=$work/temporary
export TMPDIR
agent_for_clients
server_below_agent server S 'slots = 2' 'spares = 1' "problems = { \"$work/upper.esp\" }"
unset TMPDIR
echo words >text
works() { rm -f out && espalier call upper text=text -o capitals=out && grep -q WORDS out; }
check "a command works in a folder of its own" wait_until works
is_locked() { ! flock -n "$1" true; }
check "systemd-tmpfiles finds the folder of workers locked" is_locked temporary/espalier-crd-*
check "and the folder of its address file" is_locked .
rm -rf temporary/espalier-crd-*
check "after the folders were removed a call works" works
check "and another one" works
rm -rf temporary/espalier-crd-*
spawner=$(pgrep -P "$pid_server" espalier-crd)
kill -9 "$spawner"
check "also when the process that starts workers is gone, too" wait_until works
check "the log tells of it" grep -q 'removed by another program' server.log

# The log is beyond the limit at once.
log_bytes=$(wc -c <server.log)
prlimit --fsize="$log_bytes" --pid "$pid_server"
works >/dev/null 2>&1
kill -HUP "$pid_server"
sleep 1
check "a server that may not write its log lives" kill -0 "$pid_server"
finish
