#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is known of the end of a job outlives its server: one that was cancelled or has failed is not called again.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

mkdir problems
cat >problems/jobs.esp <<EOF2
problem script "A shell script"
    in      string  text
implementation sh
    command sh "-c" "{text}"
EOF2
agent_for_clients 'heartbeat = "200 ms"' 'lease = "1 s"'
echo 'call_timeout = "1 s"' >>client.conf
server_below_agent S S 'slots = 2' "state_dir = \"$work/S.state\"" "problems = \"$work/problems\""

# submit NAME TEXT: the id goes to the file NAME.
submit() {
    espalier submit script text="$2" >"$1" && [ -s "$1" ]
}
# state_is JOB STATE: as 'espalier jobs' shows it, which looks after it.
state_is() {
    espalier jobs "$1" >state
    awk -v id="$1" '$1 == id { print $4 }' state | grep -qx "$2"
}
runs() {
    [ "$(wc -l <"$1" 2>/dev/null || echo 0)" -ge "$2" ]
}
ran() {
    [ "$(wc -l <"$1")" -eq "$2" ]
}
is_known() {
    espalier tree --json | grep -q "\"name\": \"$1\""
}
# S_left WHY: the agent says so.
S_left() {
    grep -q "server \"S\" at $(cat S.address) is gone, .*$1" agent.out
}
list=$HOME/.local/state/espalier/jobs
check "the server has the problem" wait_until espalier problems script

# Cancelled, and then its server ends in good order, or is killed.
check "a job is submitted" submit ended "echo run >>$work/ended.runs; sleep 1000"
check "and another" submit killed "echo run >>$work/killed.runs; sleep 1000"
check "they run" wait_until sh -c "[ -s ended.runs ] && [ -s killed.runs ]"
check "both are cancelled" espalier cancel "$(cat ended)" "$(cat killed)"
check "what they were called with is not kept" sh -c "! ls '$list' | grep call"
check "a job is submitted" submit away "echo run >>$work/away.runs; sleep 1000"
check "it runs" wait_until test -s away.runs
stop S
server_below_agent T T 'slots = 2' "problems = \"$work/problems\""
check "another server has the problem" wait_until espalier call script text=true
check "the first one is still cancelled" state_is "$(cat ended)" cancelled
start_server S
check "their server is back" wait_until is_known S
check "it is still cancelled" state_is "$(cat ended)" cancelled
stop S KILL
check "also when it is killed" state_is "$(cat killed)" cancelled
check "and nobody knows it any more" wait_until S_left 'the connection broke'
check "it is still cancelled" state_is "$(cat killed)" cancelled
check_fails 1 "waiting for it ends" timeout 60 espalier wait "$(cat killed)"
check_says "and says so" "$(cat killed) cancelled"
check_fails 1 "so does fetching it" timeout 60 espalier fetch --wait "$(cat killed)"
# One that is cancelled while its server is away.
check_fails 3 "one whose server is away is cancelled" espalier cancel "$(cat away)"
check_says "and that it could not be reported is said" \
    "job $(cat away) is cancelled in your list and not called again, but server S at [^ ]* does not answer"
check "it is shown as cancelled" state_is "$(cat away)" cancelled
start_server S
check "its server is back" wait_until is_known S
check "it is cancelled" state_is "$(cat away)" cancelled
check "it can be cancelled again" espalier cancel "$(cat away)"
check "no job ran twice" sh -c "cat ended.runs killed.runs away.runs | wc -l | grep -qx 3"

# The job is cancelled while its server is silent: the server learns of it as soon as a client asks for the job.
stop T
check "a job is submitted" submit silent "echo \$\$ >>$work/silent.runs; exec sleep 1000"
check "it runs" wait_until test -s silent.runs
process=$(cat silent.runs)
server_below_agent T T 'slots = 2' "problems = \"$work/problems\""
check "there is another server" wait_until is_known T
# shellcheck disable=SC2154
kill -STOP "$pid_S"
check "its server leaves the tree" wait_until S_left 'its lease is over'
check_fails 3 "it is cancelled all the same" espalier cancel "$(cat silent)"
check_says "honestly" 'server S at [^ ]* does not answer and may still compute it: it is told when it answers'
check "it is shown as cancelled" state_is "$(cat silent)" cancelled
check "the others are forgotten" espalier jobs --forget
check "it stays in the list, because its server has yet to learn of the end" state_is "$(cat silent)" cancelled
check_fails 3 "nobody waits for it" timeout 30 espalier wait "$(cat silent)"
kill -CONT "$pid_S"
check "its server is back" wait_until is_known S
check "it is cancelled" state_is "$(cat silent)" cancelled
process_is_gone() {
    ! alive "$process"
}
check "the computation ends" wait_until process_is_gone
check "it was executed once" ran silent.runs 1
check "now it can be forgotten, too" espalier jobs --forget

# The job failed: its server keeps that when it ends in good order; the list keeps it in any case once a client has seen
# it.
stop T
check "a job that fails is submitted" submit fails "echo run >>$work/fails.runs; echo no luck; exit 7"
check_fails 1 "that is seen" espalier wait "$(cat fails)"
check "a job is submitted" submit unseen "echo run >>$work/unseen.runs; echo none either; exit 8"
check "nobody sees how it fails" wait_until grep -q "session=$(cat unseen) failed: .*exit status 8" S.log
stop S
start_server T
start_server S
check "its server is back" wait_until is_known S
check "the job has failed" state_is "$(cat unseen)" failed
check "what it has printed is there" espalier output "$(cat unseen)"
check_says "as it was" '^none either$'
check_fails 1 "why it failed, too" espalier fetch "$(cat unseen)"
check_says "as it was" 'sh ended with exit status 8'
stop S KILL
check "its server is killed" wait_until S_left 'the connection broke'
check "it has failed all the same" state_is "$(cat unseen)" failed
check "so has the other one" state_is "$(cat fails)" failed
check_fails 1 "for the same reason" timeout 60 espalier fetch --wait "$(cat fails)"
check_says "as it was" 'sh ended with exit status 7'
check_fails 5 "what it printed went with its server" espalier output "$(cat fails)"
check_says "which is reported" 'what it has printed was lost with server S'
check "no job ran twice" sh -c "cat fails.runs unseen.runs | wc -l | grep -qx 2"
check "they are forgotten" espalier jobs --forget
check "the list is empty" espalier jobs
check_says "again" '^no jobs$'
check "so is its folder" sh -c "! ls '$list' | grep ."
finish
