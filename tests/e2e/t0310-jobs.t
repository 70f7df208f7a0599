#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Jobs: calls that go on without the command that submitted them, and sweeps.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

mkdir problems
# What is still to be done, as long as the first server is not killed, and for half a second.
rest="until test -e $work/S.killed; do sleep 0.1; done; for i in 1 2 3 4 5; do sleep 0.1; done"
cat >power.awk <<EOF2
BEGIN {
    if (ARGV[2] == 77) # a long one
        system("echo run >>$work/slow; $rest")
    printf "%.17g", ARGV[1] ^ ARGV[2]
}
EOF2
cat >problems/jobs.esp <<EOF2
problem reverse "The lines of a text, last first"
    in      file    text
    out     file    reversed
implementation tac
    command tac "{text}"
    stdout  reversed

problem script "A shell script"
    in      string  text
implementation sh
    command sh "-c" "{text}"

problem noted "Half of a number"
    in      int     n
    out     int     half
implementation awk
    command awk "BEGIN {{ print int({n} / 2); exit {n} % 2 }}"
    stdout  half
    success status == 1
    note    status == 1 "{n} is odd: half of {n - 1}"

problem told "A text again"
    in      int     n
    in      string  text
    out     string  said
implementation cat
    command cat
    stdin   text
    stdout  said

problem script_once "A shell script that must not run twice"
    in      string  text
    idempotent no
implementation sh
    command sh "-c" "{text}"

problem power "a to the n, unless n is 3"
    in      int     n
    in      double  a
    out     double  result
    require n != 3
implementation awk
    command awk "-f" "$work/power.awk" "{a}" "{n}"
    stdout  result
EOF2
agent_for_clients
server_below_agent sed S 'slots = 2' \
    "state_dir = \"$work/S.state\"" \
    'memory = "64 MiB"' \
    'orphan_lease = "2 s"' \
    "problems = \"$work/problems\""

# submit NAME WORDS...: the id goes to the file NAME.
submit() {
    name=$1
    shift
    espalier submit "$@" >"$name" && [ -s "$name" ]
}
state_is() {
    espalier jobs "$1" | awk -v id="$1" '$1 == id { print $4 }' | grep -qx "$2"
}
is_gone() {
    ! alive "$1"
}

check "the server has the problems" wait_until espalier problems script
check "there are no jobs" espalier jobs
check_says "and that is said" '^no jobs$'

# A job goes on without its client, and another process fetches its result.
check "a job is submitted" submit waits script text="echo first; until [ -e $work/go ]; do sleep 0.1; done; echo last"
job=$(cat waits)
check "it runs" wait_until state_is "$job" running
check_fails 1 "it cannot be fetched yet" espalier fetch "$job"
check_says "and that is reported" 'has not ended: it is running'
check_fails 3 "nor is it waited for longer than told" timeout 60 espalier fetch --wait --timeout '1 s' "$job"
check_says "which is reported as well" 'has not ended in time: it is running, and goes on'
says_first() {
    espalier output "$job" | grep -qx first
}
check "what it has printed can be seen" wait_until says_first
espalier output --follow "$job" >followed &
follower=$!
: >go
check "its end is waited for" espalier wait "$job"
check "its output can be followed to the end" wait "$follower"
check "all of it" sh -c 'printf "first\nlast\n" | cmp - followed'
owner=$HOME/.local/state/espalier/jobs/.owner
check "whose jobs these are was drawn" test "$(wc -c <"$owner")" -eq 16
cp "$owner" owner
check "it is done" state_is "$job" "done"
check "it is fetched" espalier fetch "$job"
check_fails 5 "once" espalier fetch "$job"

seq 300000 >long
check "a job with a long file is submitted" submit long.id reverse text=@long
check "by the same owner" cmp "$owner" owner
job=$(cat long.id)
check "fetched" espalier fetch --wait --keep "$job" -o reversed=back
check "with all its bytes" sh -c 'tac long | cmp - back'
check "fetched again" espalier fetch "$(echo "$job" | cut -c 1-6)" -o reversed=again
check "with the same bytes" cmp back again
check "then it has left the list" espalier jobs
check_says "which is empty" '^no jobs$'

check "a job with numbers is submitted" submit power.id power n=10 a=2
check "its result is fetched as JSON" espalier fetch --wait --json "$(cat power.id)"
check_says "as that of a call" '"result": 1024'

# Failures come as those of calls.
check "a job that fails is submitted" submit fails script text='echo no luck >&2; exit 7'
check_fails 1 "waiting for it fails" espalier wait "$(cat fails)"
check_fails 1 "fetching it fails" espalier fetch "$(cat fails)"
check_says "with its error" 'sh ended with exit status 7; it said "no luck' "'espalier output $(cat fails)' shows what it has printed"
check "what it has printed can still be seen" espalier output "$(cat fails)"
check_says "whole" '^no luck$'
check_fails 1 "and its error again" espalier fetch "$(cat fails)"
check_says "as before" 'sh ended with exit status 7'
check "without a platform its server is asked all the same" env -u ESPALIER_CONFIG espalier jobs
check_says "by its record" "$(cat fails) .* S +failed"
check_fails 3 "as nothing else is" env -u ESPALIER_CONFIG espalier tree
check "until it is forgotten" env -u ESPALIER_CONFIG espalier jobs --forget "$(cat fails)"
check_fails 5 "then nobody knows it" espalier output "$(cat fails)"
check_fails 2 "wrong arguments are reported at once" espalier submit power n=3 a=2
check_fails 5 "an unknown job is reported" espalier fetch 123456
check_says "with where jobs are shown" "no job '123456' is in your list"

# Cancelling leaves no process behind.
check "a job with a process of its own is submitted" submit runs script text="echo \$\$ >$work/pid; exec sleep 1000"
job=$(cat runs)
check "its process runs" wait_until test -s "$work/pid"
check "it is cancelled" espalier cancel "$job"
check "its process ends" wait_until is_gone "$(cat pid)"
check "it is shown as cancelled" wait_until state_is "$job" cancelled
check_fails 1 "fetching it fails" espalier fetch "$job"

# Whenever the client dies while it submits, there is either a job in the list or nothing on the server.
for delay in 0 0.01 0.02 0.03 0.05 0.08; do
    espalier submit script text="echo \$\$ >>$work/pids; exec sleep 1000" >killed 2>&1 &
    client=$!
    sleep $delay
    kill -9 $client 2>/dev/null
    wait $client 2>/dev/null
done
cancel_all() {
    espalier jobs | awk '$4 == "running" || $4 == "queued" { print $1 }' >left
    [ ! -s left ] || xargs espalier cancel <left
}
all_gone() {
    cancel_all
    for process in $(cat pids 2>/dev/null); do
        alive "$process" && return 1
    done
    espalier tree --json | grep -q '"running": 0'
}
check "what a killed client leaves can be cancelled, and the rest ends by itself" wait_until all_gone
check "what is left is forgotten" espalier jobs --forget
check "the list is empty" espalier jobs
check_says "again" '^no jobs$'

# A server that ended in good order has the results of jobs when it is started again, whatever they are.
check "a job with a long file is submitted" submit kept.id reverse text=@long
check "and one that prints" submit prints.id script text="echo a word; exit 0"
check "and one that has something to note" submit odd.id noted n=7
check "they end" espalier wait "$(cat kept.id)" "$(cat prints.id)" "$(cat odd.id)"
check "the other one, too" wait_until state_is "$(cat prints.id)" "done"
stop sed
check "they are kept" test "$(find "$work/S.state/results" -name '*.result' | wc -l)" -eq 3
start_server sed
check "the new server is known" wait_until espalier call power n=2 a=3
check "a long result is fetched" espalier fetch "$(cat kept.id)" -o reversed=kept
check "with all its bytes" cmp kept back
check "what was printed is there" espalier output "$(cat prints.id)"
check_says "as it was" '^a word$'
check "a note is there, too" espalier fetch --keep "$(cat odd.id)"
check_says "with its result" '^half = 3$' '^noted: note: 7 is odd: half of 6$'
check "for programs" espalier fetch --json "$(cat odd.id)"
check_says "as well" '"note": ?"7 is odd: half of 6"'
stop sed KILL
start_server sed
check "the new server is known" wait_until espalier call power n=2 a=3
check "it stays until it is fetched" espalier fetch "$(cat prints.id)"
check "then nothing is left" sh -c "! find '$work/S.state/results' -type f | grep ."

# A server that was killed has lost its jobs: those that may not run twice stay lost.
check "a job that may run once is submitted" submit lost script_once text="echo once >>$work/once; sleep 1000"
check "so is one that may run again" submit again reverse text=@long
check "one that is fetched before" espalier fetch --wait --keep "$(cat again)" -o reversed=before
check "one for which a server was named" submit named --server S script text="sleep 1000"
check "it runs" wait_until test -s once
stop sed KILL
start_server sed
check "the new server is known" wait_until espalier call power n=2 a=3
check_fails 5 "fetching the first one fails, as it is gone" espalier fetch "$(cat lost)"
check_says "and tells why" 'is lost: server S was restarted'
check "it is shown as lost" state_is "$(cat lost)" lost
check "the named one, too" state_is "$(cat named)" lost
check "the other one is called again" espalier fetch --wait "$(cat again)" -o reversed=after
check "with the same arguments" cmp after back
check "its arguments go with it" test ! -e "$HOME/.local/state/espalier/jobs/$(cat again).call"
check "they are forgotten" espalier jobs --forget
check "then there is none to forget" espalier jobs --forget
check_says "which is reported" '^no job is forgotten'
check "a job that ends is submitted" submit over power n=2 a=3
check "it ends" espalier wait "$(cat over)"
check_fails 1 "then it is not cancelled" espalier cancel "$(cat over)"
check_says "and why" 'was not cancelled: it had ended'
check "it is fetched all the same" espalier fetch "$(cat over)"
check "the first one was executed once" test "$(wc -l <once)" -eq 1

# A server that is lost for good: another one gets its jobs, once, whichever client looks.
check "a job is submitted" submit gone script text="echo run >>$work/executions; $rest; echo done"
job=$(cat gone)
check "it runs" wait_until test -s executions
check "one with a result, too" submit slow.id power n=77 a=1
"$top_builddir/tests/e2e/attach_steps" "$(cat slow.id)" >attached 2>&1 &
attached=$!
check "which a program waits for" wait_until sh -c "grep -q attached attached && [ -s slow ]"
stop sed KILL
touch S.killed
server_below_agent other T 'slots = 2' 'memory = "64 MiB"' "problems = \"$work/problems\""
espalier wait --follow "$job" >waited 2>&1 &
one=$!
espalier wait "$job" >waited2 2>&1 &
two=$!
check "a waiting client gets its end" wait $one
check "whoever that is" wait $two
check "another server had it" sh -c "espalier jobs --json $job | grep -q '\"server\": \"T\"'"
check "what it printed there is seen" grep -qx "done" waited
check "one of the two called it again" test "$(wc -l <executions)" -eq 2
check "the program has the result of the other one" wait "$attached"
check "which another server computed" grep -qx 1 attached
check "once" test "$(wc -l <slow)" -eq 2
check "it is forgotten" espalier jobs --forget "$(cat slow.id)"
check "it is fetched" espalier fetch "$job"
check "it has left the list" espalier jobs
check_says "with nothing" '^no jobs$'
stop other
start_server sed
check "the first server is back" wait_until espalier call power n=2 a=3

# Sweeps.
check_fails 1 "a sweep goes on when calls fail" espalier sweep power n=1..4 a=2,3
check_says "with a row for each" '^ *1  *2  *2  *S' '^ *4  *3  *81  *S' 'n != 3' '2 of 8 calls failed'
check "as CSV" espalier sweep --csv power n=1,2 a=0.5..1.5:0.5
check_says "with a line for each" '^n,a,result,server,compute_s,total_s,sweep,error,note$' '^2,1.5,2.25,S,'
check "as JSON" espalier sweep --json --parallel 1 power n=2 a=3
check_says "with the results" '"outputs": {"result": 9'
check "notes" espalier sweep noted n=6..7
check_says "have a column" '^ *6 +3 +S' '^ *7 +3 +S.*7 is odd: half of 6$'
check "also as CSV" espalier sweep --csv noted n=7
check_says "the last" ',,7 is odd: half of 6$'
check "and as JSON" espalier sweep --json noted n=7
check_says "by name" '"note": ?"7 is odd: half of 6"'
check "a call with a note" espalier call noted n=9
check_says "shows it" '^noted: note: 9 is odd: half of 8$'
check "in JSON" espalier call --json noted n=9
check_says "it is the session's" '"note": ?"9 is odd: half of 8"'
check "one without" espalier call --json noted n=8
check_says "has none" '"note": ?""'
printf 'c\nd\n' >other
check "files are saved under names of their own" espalier sweep reverse text=@long text=@other -o 'reversed=out-{text}'
check "for each call" sh -c 'printf "d\nc\n" | cmp - out-@other && cmp out-@long back'
check_fails 2 "not under one name" espalier sweep power n=1..2 a=1 -o result=x
check_fails 2 "a range that leads nowhere is reported" espalier sweep power n=1..2:-1 a=1
check_says "with what is expected" 'n: expected a step that leads from 1 to 2, found -1'
printf 'tab\there "quoted", \033[2J\r\nline\n' >strange
check "results with line ends and control characters" espalier sweep told n=1..2 text=@strange
check_says "are one row each" '^1 +tab.there "quoted", .x1b\[2J.r.nline.n +S' '^2 +tab.there'
check_lines() {
    [ "$(espalier sweep told n=1..2 text=@strange | wc -l)" -eq 3 ]
}
check "and no more" check_lines
espalier sweep --csv told n=1 text=@strange >strange.csv
espalier sweep --json told n=1 text=@strange >strange.json
cat >read.py <<'END'
import csv, json
wanted = open("strange", newline="").read()
rows = list(csv.reader(open("strange.csv", newline="")))
assert len(rows) == 2 and rows[1][rows[0].index("said")] == wanted, rows
assert json.load(open("strange.json"))[0]["outputs"]["said"] == wanted
END
check "in CSV and JSON they are as they are" python3 read.py

# One that is gone for ever, with its platform.
check "jobs are submitted" submit gone script text='sleep 1000'
check "several" submit gone2 script text='sleep 1000'
check "one that must not run twice" submit once3 script_once text='sleep 1000'
once=$(cat once3)
stop sed KILL
check "a server that does not answer" espalier jobs
check_says "is reported" "^$(cat gone) .* unreachable" "^$(cat gone2) .* unreachable" 'server S at [^ ]* does not answer; it may still have the job|was lost with server S, and is called again later' \
    'server S at [^ ]* does not answer either' "'espalier jobs --forget JOB' takes a job off the list"
check "its job is taken off the list by name" espalier jobs --forget "$(cat gone)"
check_says "with a warning" 'warning: job .* has left your list, but server S could not be told'
# One that must not run twice is gone with it, as soon as nobody knows the server any more; nobody waits for it.
check_fails 5 "a job that nobody has any more is not waited for" timeout 60 espalier wait "$once"
check_says "and is reported as lost" "job $once is lost: server S at [^ ]* does not answer, and is not in the tree any more; submit it again"
check_fails 5 "nor fetched" timeout 60 espalier fetch --wait "$once"
check "it is shown as lost" state_is "$once" lost
check "it leaves the list by itself" espalier jobs --forget "$once"
stop agent KILL
check "so is one whose platform is gone" espalier jobs --forget "$(cat gone2)"
check "the list is empty" espalier jobs
check_says "again" '^no jobs$'
finish
