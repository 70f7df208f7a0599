#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A pilot: a server that a batch job of a real Slurm runs, as doc/batch.md describes. It joins the tree, solves many small
# calls, and leaves the tree when its job is cancelled.
. "${top_srcdir:?}/tests/e2e/harness.sh"
driver=$top_builddir/tests/e2e/batch_driver
needs "$driver" espalier espalier-agent espalier-sed
. "$top_srcdir/tests/e2e/slurm.sh"
agent_for_clients
slurm_up
BATCH=slurm
BATCH_FOLDER=$work/jobs
BATCH_PATIENCE=10
export BATCH BATCH_FOLDER BATCH_PATIENCE
no_servers() {
    ! servers 1
}

cat >pilot.conf <<CONF
name = "pilot"
parent = "$agent"
listen = "127.0.0.1:0"
slots = 1
problems = { "$top_srcdir/tests/e2e/product.esp" }
log_file = "$work/pilot.log"
CONF
calls() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        espalier call product n=2 'A=[1,2;3,4]' 'B=[1,0;0,1]' || return 1
    done
}

# The script of the page, on the node of this test.
sed -n '/^```sh$/,/^```$/p' "$top_srcdir/doc/batch.md" | sed -e '/^```/d' -e "s,/shared/espalier/pilot.conf,$work/pilot.conf," >pilot.sh
check "the page has a script" grep -q '^espalier-sed --foreground' pilot.sh
sbatch --parsable --cpus-per-task=1 --time=10 --export=ALL --output="$work/pilot.out" pilot.sh >job
job=$(cat job)
check "with which a server is in the tree" wait_until servers 1
check "it solves calls" calls
scancel --batch --signal=TERM "$job"
check "after a warning of Slurm the server leaves the tree" wait_until no_servers
check "in order" grep -q 'server "pilot" at .* is gone, .*: it is shutting down' agent.out
job_is_over() {
    squeue --noheader --states=all --jobs="$job" --format=%T | grep -qE '^(COMPLETED|CANCELLED)$'
}
check "and the job ends" wait_until job_is_over

check "a server starts as a job of Espalier" "$driver" submit "$top_builddir/sed/espalier-sed" --foreground "$work/pilot.conf"
pilot=$(cat "$log")
check "which runs" "$driver" wait "$pilot" ACTIVE
check "and is in the tree" wait_until servers 1
check "it solves calls without a job for each" calls
one_job() { [ "$(find "$BATCH_FOLDER" -name 'espalier-*' | wc -l)" -eq 1 ]; }
check "of which there is only one" one_job
check "when its job is cancelled" "$driver" cancel "$pilot"
check_says "the job has ended" '^state CANCELED$'
check "and the server has left the tree" wait_until no_servers
finish
