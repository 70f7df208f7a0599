#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server daemon and what can happen to it: routines that crash, exit and are killed, clients that vanish,
# deadlines, descriptions that change, garbage, stopping. It goes on, and nothing of it stays behind.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

library=$top_builddir/tests/unit/.libs/libroutines.so
[ -f "$library" ] || skip_all "the library with the misbehaving routines is not built"
mkdir problems
routine() { # routine NAME CALL [LINE]: a problem that calls the routine so
    printf 'problem %s "A routine of the test"\n    in int n\n    %s\n' "$1" "${3:-}"
    printf 'implementation c\n    c %s in %s\n' "$2" "$library"
}
{
    routine crash 'null_write(n)'
    routine leave 'leave(n)'
    routine slow 'spin_for_ever(n)'
    routine slow_once 'spin_for_ever(n)' 'idempotent no'
    routine raise 'raise_signal(n)'
    printf 'problem fill "x := value"\n    in int n\n    in double value\n    out double x[n]\n'
    printf 'implementation c\n    c fill(n, value, x) in %s\n' "$library"
    printf 'problem overrun "writes behind its array"\n    in int n, by\n    out double x[n]\n'
    printf 'implementation c\n    c overrun(n, by, x) in %s\n' "$library"
    printf 'problem nowhere "in no library"\n    in int n\nimplementation c\n    c nowhere(n) in libno-such.so\n'
} >problems/test.esp

agent_for_clients
server_below_agent sed S 'slots = 1' 'log_level = debug' \
    'orphan_lease = "1 s"' \
    "problems = { \"$work/problems\", \"$top_srcdir/problems/lapack\" }"
sed=$(cat sed.address)
# shellcheck disable=SC2154
sed_pid=$pid_sed

tree_has() {
    espalier tree --json | tr -d '\n' | grep -Eq "$1"
}
log_has() {
    grep -Eq "$1" sed.log
}
works() {
    espalier call dgesv A='[4,1;1,3]' B='[6;7]' -o B=-
}

check "the server appears in the tree" wait_until tree_has '"name": "S"'
check "with the problems that it can call" wait_until espalier problems fill
check_fails any "and not with one whose library is not there" espalier problems nowhere
check "the log tells why" log_has 'nowhere by c cannot be called: .*libno-such.so'
check "a call gives its result" works
check "the log has it with its session" log_has 'session=[0-9a-f]+-[0-9]+ done: dgesv'

check_fails 1 "a routine that crashes fails its session" espalier call crash n=1
check_says "with what happened" 'null_write crashed with signal 11.*a null pointer'
check "and the next one goes on" works
check_fails 1 "a routine that writes far behind its small array" espalier call overrun n=3 by=600
check_says "meets what is behind that alone" "behind the end of argument 'x'"
check_fails 1 "a routine that exits fails its session" espalier call leave n=0
check_says "though its code is 0" 'exit'
check "what it printed is in the log, with the session" log_has 'session=[0-9a-f]+-[0-9]+ a worker printed: leaving now'
check "and the next one goes on" works
check_fails 1 "one killed by a signal fails its session" espalier call raise n=9
check_says "with the signal" 'SIGKILL|killed'
check_fails 1 "one that writes behind a small array fails its session" espalier call overrun n=10 by=1
check_fails 1 "one that writes behind a large array fails its session" espalier call overrun n=100000 by=1
check_says "with the argument" "x"
check "and the next one goes on" works
check_fails 1 "a singular matrix is reported as such" espalier call dgesv A='[1,1;1,1]' B='[1;1]'
check_says "in LAPACK's terms" 'singular'

# The worker that computes, by its processor time.
busy_worker() {
    for worker in $(descendants "$sed_pid"); do
        read -r _ _ state _ <"/proc/$worker/stat" 2>/dev/null || continue
        [ "$state" = R ] && echo "$worker" && return 0
    done
    return 1
}
running() {
    tree_has "\"name\": \"S\".*\"running\": $1"
}
# One that may be repeated is begun again (t0321).
start killed espalier call slow_once n=1
check "a long computation runs" wait_until busy_worker
kill -9 "$(busy_worker)"
wait "$pid_killed"
check "kill -9 of its worker fails it" grep -Eq 'SIGKILL|killed' killed.out
check "and the next one goes on" works

check_fails any "a deadline stops a computation" espalier call slow n=1 --timeout '1 s'
check_says "and is reported" 'deadline'
check "no worker computes any more" wait_until eval '! busy_worker'

start gone espalier call slow n=1
check "a client's computation runs" wait_until busy_worker
stop gone KILL
check "the client is killed, and its computation ends" wait_until eval '! busy_worker'
check "the log tells" wait_until log_has 'slow: stopped after .*: the client closed the connection'
check "and the server goes on" works

# Garbage on its port, a connection that stalls, one that closes in the middle.
host=${sed%:*} port=${sed##*:}
garbage() {
    bash -c "exec 3<>/dev/tcp/$host/$port; head -c 20000 /dev/urandom >&3" 2>/dev/null
    bash -c "exec 3<>/dev/tcp/$host/$port; printf 'GIOP\001\002\001\000\377\377\377\177' >&3" 2>/dev/null
    bash -c "exec 3<>/dev/tcp/$host/$port; printf 'GET / HTTP/1.0\r\n\r\n' >&3" 2>/dev/null
    true
}
for _ in 1 2 3 4 5; do garbage; done
check "garbage on its port does no harm" works

# Descriptors and processes stay as many as they were.
descriptors() {
    find "/proc/$sed_pid/fd" -mindepth 1 | wc -l
}
workers() {
    descendants "$sed_pid" | wc -l
}
large() {
    espalier call fill n=300000 value=2 -o x=x.mtx
}
check "a large result comes in chunks" large
check "whole" eval 'grep -c "^2" x.mtx | grep -q 300000'
before=$(descriptors)
workers_before=$(workers)
for _ in 1 2 3 4 5 6 7 8 9 10; do
    for _ in 1 2 3; do
        large >/dev/null 2>&1
    done
    espalier call crash n=1 >/dev/null 2>&1
    works >/dev/null 2>&1
done
settled() { # 16: segments that are kept for the next sessions
    echo "$(descriptors) descriptors, before $before; $(workers) workers, before $workers_before"
    [ "$(descriptors)" -le $((before + 16)) ] && [ "$(workers)" -le $((workers_before + 1)) ]
}
check "descriptors and workers stay as many" wait_until settled

# Descriptions are read again.
printf 'problem broken "oops\n' >problems/broken.esp
kill -HUP "$sed_pid"
check "a broken description is reported with its place" wait_until log_has 'problems stay as they were: .*broken.esp:1'
check "and what was there goes on" espalier call fill n=2 value=1
rm problems/broken.esp
routine fresh 'status_of(n)' >problems/fresh.esp
kill -HUP "$sed_pid"
check "a new description is offered after SIGHUP" wait_until espalier problems fresh
check "and can be called" espalier call fresh n=1

# Others that do not come up.
sed "s/^listen.*/listen = \"$sed\"/; s/\"S\"/\"T\"/; s/sed\\.log/other.log/; s/sed\\.address/other.address/" sed.conf >other.conf
check_fails any "a port in use is an error" espalier-sed --foreground other.conf
check_says "with the address" "$port"
listening_at() { # what is said of a server that is to listen there
    sed "s/^listen.*/listen = \"$1\"\ninsecure = ${2:-yes}/" other.conf >there.conf
    : >other.log
    check_fails any "$1 is no place to listen at" espalier-sed --foreground there.conf
    cat other.log >>"$log"
}
listening_at "$sed"
check_says "and what it is" 'cannot listen on .*: the port is in use: another program'
check "what never ran has not stopped" sh -c '! grep -q " stopped" other.log'
listening_at 192.0.2.1:4321
check_says "and what it is" "the address is not this host's"
listening_at no-such-host.invalid:4321
check_says "and what it is" 'no-such-host.invalid.*cannot be resolved'
listening_at no-such-host.invalid:4321 no
check_says "without advice about certificates" 'no-such-host.invalid.*cannot be resolved'
sed "s/127.0.0.1:0/127.0.0.1:0/; s/\"S\"/\"T\"/; s/sed\\.log/other.log/; s/sed\\.address/other.address/; s,$work/problems\",$work/nothing\"," sed.conf >other.conf
check_fails 4 "a folder that is not there is an error" espalier-sed --foreground other.conf
check_says "by name" 'nothing'

check_fails 4 "a file that is not there ends it with the code of a wrong input" espalier-sed --foreground none.conf
check_says "by name" 'none.conf'
check_fails 2 "and a wrong command line with another" espalier-sed --frgound sed.conf
sed "s/sed\\.log/twin.log/; s/sed\\.address/twin.address/" sed.conf >twin.conf
start twin espalier-sed --foreground twin.conf
check "a parent that refuses is reported in the log" wait_until grep -q 'not below MA: another node named "S"' twin.log
check "and the daemon waits for better times" wait_until test -s twin.address
check "stopping a server that has no parent" stop twin TERM
sed '/^name/d; s/sed\.log/nameless.log/; s/sed\.address/nameless.address/' sed.conf >nameless.conf
start nameless espalier-sed --foreground nameless.conf
check "servers that nobody has named have names that differ" wait_until grep -q "$(hostname)-sed-pid.* joined MA" nameless.log
check "and stop" stop nameless TERM

# A daemon in the background does not keep a reader of its starter's output waiting.
sed 's/^name.*/name = "B"/; s/sed\.log/back.log/; s/sed\.address/back.address/' sed.conf >back.conf
check "a server in the background lets go of its starter's streams" \
    timeout 60 sh -c 'espalier-sed back.conf 2>&1 | cat'
check "and is there" wait_until tree_has '"name": "B"'
check "until it is told to stop" espalier admin stop B

# A server that is stopped while another one is there: its calls go on there, but for what may have been executed.
mkdir far
{
    routine stay 'spin_for_ever(n)'
    routine stay_once 'spin_for_ever(n)' 'idempotent no'
} >far/far.esp
server_below_agent other T 'slots = 3' "problems = { \"$work/far\" }"
wait_until espalier problems stay_once
start runs espalier call stay n=1
start runs_once espalier call stay_once n=1
job=$(espalier submit stay n=1)
start waiter espalier wait "$job"
other_has() {
    tree_has "\"name\": \"T\".*\"$1\": $2"
}
check "calls run there" wait_until other_has running 3
start waits espalier call stay n=1
start waits_once espalier call stay_once n=1
check "and others wait" wait_until other_has queued 2
{
    routine stay 'status_of(n)'
    routine stay_once 'status_of(n)' 'idempotent no'
} >problems/near.esp
kill -HUP "$sed_pid"
check "another server solves that, too" wait_until espalier call stay n=1 --server S
check "the first one is stopped" stop other TERM
for name in waits waits_once runs waiter; do
    eval "wait \$pid_$name"
    check "a call goes on elsewhere: $name" test $? -eq 0
done
check "what waited was not begun any more" eval '[ "$(grep -c " had not begun stay" other.log)" -eq 2 ]'
wait "$pid_runs_once"
check "what was begun and may not be repeated fails" test $? -eq 1
check "with server and reason" grep -Eq 'stay_once was lost in the middle of the call, and is not declared idempotent.*T.*it is shutting down, and has stopped stay_once after' runs_once.out

# Stopping: what runs may end, what has not begun is handed back.
printf 'problem doze "sleeps"\n    in int ms\n    out int done\nimplementation c\n    c spin(ms, done) in %s\n' \
    "$library" >problems/doze.esp
kill -HUP "$sed_pid"
wait_until espalier problems doze
start dozes espalier call doze ms=1500
check "a short computation runs" wait_until running 1
echo 'agent_patience = "1 s"' >>client.conf # nobody comes back
start last espalier call slow n=1
check "and another one waits" wait_until tree_has '"name": "S".*"queued": 1'
stop sed TERM
check "the server stops, in order" test $? -eq 0
wait "$pid_dozes"
check "what ran could end" grep -Eq '1' dozes.out
wait "$pid_last"
check "who waited was told" grep -Eq 'slow was lost before it was begun: .*S.*shutting down' last.out
check "its address file is gone" test ! -e sed.address
check "and it said goodbye" wait_until eval '! tree_has "\"name\": \"S\""'
finish
