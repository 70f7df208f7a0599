# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# A Slurm of the test's own, without systemd and without the site's files: munged, slurmctld and slurmd in $work/slurm,
# on free ports, with the partitions main (default, an hour) and closed (down). Sourced after harness.sh.
# What is below $work/unshared is hidden from the jobs, as a folder that nodes do not share.

[ "$(id -u)" -eq 0 ] || skip_all "only root can start slurmd"
PATH=$PATH:/usr/sbin:/sbin
needs munged slurmctld slurmd sbatch squeue scancel scontrol unshare
node=$(uname -n | sed 's/\..*//')
slurm=$work/slurm
SLURM_CONF=$slurm/slurm.conf
export SLURM_CONF
chmod 711 "$work"

write_slurm_conf() {
    cat >"$SLURM_CONF" <<CONF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$1
SlurmdPort=$(($1 + 1))
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
KillWait=2
MinJobAge=300
NodeName=$node NodeAddr=127.0.0.1 CPUs=4 RealMemory=500 State=UNKNOWN
PartitionName=main Nodes=$node Default=YES MaxTime=60 State=UP
PartitionName=closed Nodes=$node State=DOWN
CONF
}

start_slurmctld() {
    start slurmctld slurmctld -D
}
# The node's mounts are its own.
start_slurmd() {
    start slurmd unshare --mount sh -c "mount -t tmpfs tmpfs $work/unshared && exec slurmd -D"
}
node_is() {
    sinfo --noheader --partition=main --format=%T | grep -q "^$1"
}
slurm_answers() {
    scontrol ping | grep -q 'is UP'
}

slurm_up() {
    mkdir -p "$slurm/state" "$slurm/spool" "$slurm/munge" "$work/unshared"
    chmod 755 "$slurm" "$slurm/munge"
    dd if=/dev/urandom of="$slurm/munge/key" bs=128 count=1 2>/dev/null
    chmod 600 "$slurm/munge/key"
    # Without a file system of control groups slurmd ends, unless the version is given.
    echo 'CgroupPlugin=cgroup/v1' >"$slurm/cgroup.conf"
    start munged munged --foreground --force --key-file="$slurm/munge/key" --socket="$slurm/munge/socket" \
        --pid-file="$slurm/munge/pid" --log-file="$slurm/munge/log" --seed-file="$slurm/munge/seed"
    wait_until test -S "$slurm/munge/socket" || skip_all "munged does not start here"
    # A port may be in use: then the daemon ends, and the next one is tried.
    slurm_port=$((20000 + $$ % 10000))
    for attempt in 1 2 3 4 5; do
        write_slurm_conf "$slurm_port"
        start_slurmctld
        start_slurmd
        # shellcheck disable=SC2154 # start makes the variables
        slurm_is_decided() { node_is idle || ! alive "$pid_slurmctld" || ! alive "$pid_slurmd"; }
        wait_until slurm_is_decided
        node_is idle && return
        stop slurmd KILL
        stop slurmctld KILL
        slurm_port=$((slurm_port + 2000 + attempt))
    done
    { cat slurmctld.out slurmd.out; } | diag
    skip_all "Slurm does not start here"
}

# Jobs are no children of what the test has started. A job whose node failed is one that Slurm does not end.
at_exit() {
    scancel --user=root --full >/dev/null 2>&1
    slurm_is_empty() { [ -z "$(squeue --noheader --states=RUNNING,COMPLETING)" ]; }
    # shellcheck disable=SC2034 # of wait_until
    patience=10
    wait_until slurm_is_empty
    for process in /proc/[0-9]*; do
        grep -qx slurmstepd "$process/comm" || continue
        case $(readlink "$process/cwd") in "$work" | "$work"/*) ;; *) continue ;; esac
        # shellcheck disable=SC2046
        kill -9 $(descendants "${process#/proc/}") "${process#/proc/}"
    done 2>/dev/null
}
