#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Batch jobs under a real Slurm: their states and ends, what the site says word for word, and a server that is started
# again. With ESP_NIGHTLY=1 also what takes minutes: node failures, slurmctld started again, and a time limit.
. "${top_srcdir:?}/tests/e2e/harness.sh"
driver=$top_builddir/tests/e2e/batch_driver
needs "$driver"
. "$top_srcdir/tests/e2e/slurm.sh"
slurm_up
BATCH=slurm
BATCH_FOLDER=$work/jobs
BATCH_PATIENCE=10
export BATCH BATCH_FOLDER BATCH_PATIENCE

# submit NAME WORD...: a job, whose name is then in the variable of that name.
submit() {
    tap_job=$1
    shift
    "$driver" submit "$@" >submitted || [ -s submitted ] || return 1
    eval "$tap_job=$(cat submitted)"
}
run_folder() {
    echo "$BATCH_FOLDER/$1/run"
}

check "Slurm describes its default partition" "$driver" describe
check_says "with its state and its limits" '^Slurm partition main: state UP, 1 nodes with 4 processors, time limit 01:00:00$'
check_fails 1 "a partition that does not exist is no configuration" env BATCH_PARTITION=nope "$driver" describe
check_says "in the words of Slurm" 'Partition nope not found'
check_fails 1 "nor is a time that the partition does not allow" env BATCH_TIME=7200 "$driver" describe
check_says "which the error compares" 'batch_time is 7200 s, and the partition main of Slurm allows 3600 s'

check "a job is submitted" submit good sh -c 'echo "hello from $PWD"; echo oh >&2'
check "and completes" "$driver" wait "$good" COMPLETED
check_says "with exit code 0" '^state COMPLETED$' '^exit 0$'
check "its output is in its folder" grep -q "hello from $(run_folder "$good")" "$(run_folder "$good")/output"
check "and so is its standard error" grep -q '^oh$' "$(run_folder "$good")/errors"

submit bad sh -c 'exit 7'
check "a job that fails ends, too" "$driver" wait "$bad" COMPLETED
check_says "with its own exit code" '^state FAILED$' '^exit 7$' 'the batch job ended with exit code 7'

submit crash sh -c 'kill -SEGV $$'
check "a job that crashes ends" "$driver" wait "$crash" COMPLETED
check_says "with its signal" '^state FAILED$' 'ended by signal 11'

check "a job that sbatch refuses" env BATCH_PARTITION=nope "$driver" submit true
refused=$(cat "$log")
check "has failed" "$driver" look "$refused"
check_says "with the words of the site" '^state FAILED$' 'sbatch: error: invalid partition specified: nope'

BATCH_PARTITION=closed
export BATCH_PARTITION
submit waiting true
check "a job of a partition that is down waits" "$driver" look "$waiting"
check_says "and says why" '^state QUEUED$' '^note waits: its partition is down$'
check "it can be cancelled" "$driver" cancel "$waiting"
check_says "and is then" '^state CANCELED$' 'the batch job was cancelled$'
unset BATCH_PARTITION

submit long sh -c 'echo $$ >pid; sleep 1000'
check "a job runs" "$driver" wait "$long" ACTIVE
check_says "on a node" "^nodes $node"
check "it is cancelled" "$driver" cancel "$long"
check_says "and is then" '^state CANCELED$'
long_is_gone() { ! alive "$(cat "$(run_folder "$long")/pid")"; }
check "and does not run any more" wait_until long_is_gone

submit elsewhere sleep 1000
"$driver" wait "$elsewhere" ACTIVE >/dev/null
scancel "$(sed -n 's/^id //p' "$BATCH_FOLDER/$elsewhere/job")"
check "a job that its site has cancelled ends" "$driver" wait "$elsewhere" COMPLETED
check_says "and says that it was not Espalier" '^state CANCELED$' 'cancelled in the batch system, and not by Espalier'

# A server of root runs jobs as another user.
BATCH_USER=nobody
BATCH_FOLDER=$work/others
export BATCH_USER
submit other sh -c 'id -un'
check "a job of another user completes" "$driver" wait "$other" COMPLETED
check "and ran as that user" grep -qx nobody "$(run_folder "$other")/output"
unset BATCH_USER

# The node does not see the folder.
BATCH_FOLDER=$work/unshared/jobs
submit unshared true
check "a folder that the nodes do not share" "$driver" wait "$unshared" COMPLETED
check_says "is reported" '^state FAILED$' 'expected a folder that the nodes share with the server'
BATCH_FOLDER=$work/jobs

[ -n "${ESP_NIGHTLY:-}" ] || finish

# A node fails, and Slurm requeues the job.
submit requeued sh -c 'if [ -e first ]; then exit 0; fi; touch first; sleep 1000'
wait_until test -e "$(run_folder "$requeued")/first"
stop slurmd KILL
scontrol update nodename="$node" state=down reason=test
check "a job whose node fails is requeued" "$driver" look "$requeued"
check_says "and stays active" '^state ACTIVE$' 'was requeued \(1\) and waits again'
start_slurmd
scontrol update nodename="$node" state=resume
id=$(sed -n 's/^id //p' "$BATCH_FOLDER/$requeued/job")
scontrol update jobid="$id" starttime=now >/dev/null 2>&1
check "it runs again and completes" "$driver" wait "$requeued" COMPLETED
check_says "with exit code 0" '^state COMPLETED$' '^exit 0$'

# slurmctld is started again while a job runs.
submit through sh -c 'while [ ! -e go ]; do sleep 0.1; done'
"$driver" wait "$through" ACTIVE >/dev/null
stop slurmctld
check "without slurmctld a job is what it was" "$driver" look "$through"
check_says "and the silence is reported" '^state ACTIVE$' \
    '^note the batch system has not answered for [0-9]+ s: slurm_load_jobs error: Unable to contact slurm controller'
BATCH_SUBMIT_S=1 "$driver" submit true >submitted
new=$(cat submitted)
touch "$(run_folder "$through")/go"
check "an exit code needs no slurmctld" "$driver" wait "$through" COMPLETED
check_says "to be the truth" '^state COMPLETED$'
check "a job that could not be submitted is new" grep -q '^state NEW$' "$BATCH_FOLDER/$new/job"
start_slurmctld
check "slurmctld is there again" wait_until slurm_answers
check "and gets the job that waited for it" "$driver" wait "$new" COMPLETED
check_says "which runs once" '^state COMPLETED$'

# What Slurm itself takes a minute or two for.
BATCH_TIME=60 submit limited sleep 1000
BATCH_OPTION=--no-requeue submit failing sleep 1000
"$driver" wait "$failing" ACTIVE >/dev/null
check "a job is killed at its time limit" env BATCH_TIME=60 "$driver" wait "$limited" COMPLETED
check_says "and says so" '^state FAILED$' 'killed at its time limit'
stop slurmd KILL
scontrol update nodename="$node" state=down reason=test
check "a job whose node fails is not requeued when it must not be" "$driver" wait "$failing" COMPLETED
check_says "and has failed with its node" '^state FAILED$' "a node of the batch job has failed, $node"
start_slurmd
scontrol update nodename="$node" state=resume
wait_until node_is idle
finish
