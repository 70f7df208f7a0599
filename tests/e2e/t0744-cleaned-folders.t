#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Calls go on when a program that cleans /tmp has removed the folders of a server's workers, with the folders above them
# or not, and its state_dir; and a limit of files' sizes ends no daemon.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed prlimit flock curl

cat >upper.esp <<'END'
problem upper "A text in capitals, by way of a file"
    in  file text
    out file capitals
implementation tr
    command sh "-c" "tr a-z A-Z <{text} >made && cat made"
    stdout capitals
END
mkdir -p above/temporary kept
ln -s above/temporary temporary
TMPDIR=$work/above/temporary
export TMPDIR
agent_for_clients
server_below_agent server S 'slots = 2' 'spares = 1' "problems = { \"$work/upper.esp\" }" 'http = "127.0.0.1:0"' \
    "state_dir = \"$work/kept/state\""
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
rm -rf above
check "after the folder above them was removed a call works" wait_until works
spawner=$(pgrep -P "$pid_server" espalier-crd)
rm -rf above
kill -9 "$spawner"
check "also when the process that starts workers is gone, too" wait_until works
rm -rf above
echo no folder >above
pkill -9 -P "$(pgrep -P "$pid_server" espalier-crd)"
health() { # health PATTERN
    curl -s "http://$(cat server.address.http)/health" | tee health.out | grep -q "$1"
}
check "where they cannot be made, /health names the folder and what to do" wait_until health "$work/above/temporary.*TMPDIR"
rm above
check "calls work again when they can" wait_until works

# What a server keeps for its next start.
printf '1,2\n3,4\n' >m.csv
put() { espalier data put m.csv -s S -m persistent >put.id; }
check "a datum is put" put
rm -rf kept
check "a datum is put when the state_dir was removed" put
check "it is in a file" test -n "$(ls kept/state/data/*-* 2>/dev/null || ls kept/state/data)"
check "/health tells of it, and that the folder is there again" wait_until health '^ok .*state_dir .* was removed by another program and is made again'
check "and the log" grep -q 'state_dir .* was removed by another program and is made again' server.log
rm -rf kept
echo no folder >kept
check "a state_dir that cannot be made again is no good health" wait_until health '^not ok .*state_dir .* cannot be made again'
rm kept
kill -HUP "$pid_server"
check "a signal to read the file again is enough" wait_until test -e kept/state/lock
check "and the server is well" wait_until health '^ok '
check "a datum is put again" put
stop server
start_server server
lists() { espalier data ls | grep -q "$(cat put.id)"; }
check "and is there after the next start" wait_until lists
check "calls work then" wait_until works

# The log is beyond the limit at once.
log_bytes=$(wc -c <server.log)
prlimit --fsize="$log_bytes" --pid "$pid_server"
works >/dev/null 2>&1
kill -HUP "$pid_server"
sleep 1
check "a server that may not write its log lives" kill -0 "$pid_server"
finish
