# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What espalier-chaos looks at besides the clients: memory and descriptors of all daemons while they run, and what is left
# when they have ended.

# The processes of the platform: "PID COMM", workers included.
platform_processes() {
    local dir comm state
    for dir in /proc/[0-9]*; do
        read -r comm <"$dir/comm" || continue
        [[ $comm == espalier-* && $comm != espalier-chaos ]] || continue
        read -r _ _ state _ <"$dir/stat" || continue
        [ "$state" = Z ] || echo "${dir#/proc/} $comm"
    done 2>/dev/null
}

# KiB of the memory files that a process holds: what is in them counts nowhere else.
segments_of() {
    find "/proc/$1/fd" -lname '/memfd:*' -exec stat -Lc %b {} + | awk '{ n += $1 } END { print int(n / 2) }'
}

# Every two seconds a line for each daemon: "SECONDS PID COMM DESCRIPTORS KIBIBYTES", memory files included.
watch_usage() {
    local pid comm pages fds
    while sleep 2; do
        while read -r pid comm; do
            [ "$comm" = espalier-crd ] && continue
            fds=("/proc/$pid/fd"/*)
            read -r _ pages _ <"/proc/$pid/statm" || continue
            echo "$SECONDS $pid $comm ${#fds[@]} $((pages * 4 + $(segments_of "$pid")))"
        done < <(platform_processes)
    done 2>/dev/null >quiet/usage
}

# Daemons that ran for a minute and more: what they had after a third of that, against the end. Complaints, a line each.
judge_usage() {
    awk '
    { if (!($2 in first)) first[$2] = $1; last[$2] = $1; comm[$2] = $3; n[$2]++; at[$2, n[$2]] = $1; fds[$2, n[$2]] = $4; kib[$2, n[$2]] = $5 }
    END {
        for (pid in first) {
            if (last[pid] - first[pid] < 60) continue
            for (i = 1; at[pid, i] < first[pid] + (last[pid] - first[pid]) / 3; i++) ;
            more = fds[pid, n[pid]] - fds[pid, i]
            if (more > 30)
                printf "%s (%d) has %d descriptors more than %d s before\n", comm[pid], pid, more, last[pid] - at[pid, i]
            more = kib[pid, n[pid]] - kib[pid, i]
            if (more > 8192 && more > kib[pid, i] / 5)
                printf "%s (%d) has %d KiB more than %d s before, %d in all\n", comm[pid], pid, more, last[pid] - at[pid, i], kib[pid, n[pid]]
        }
    }' quiet/usage
}

# Ends all daemons; what is still there afterwards, a line each. Workers go with their daemon, also with one that was killed.
end_platform() {
    local name tries=0 left file
    for name in "${!pid_of[@]}"; do kill -TERM "${pid_of[$name]}" 2>/dev/null; done
    while left=$(platform_processes) && [ -n "$left" ] && [ $tries -lt 150 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    [ -z "$left" ] || sed 's/^/left behind: process /' <<<"$left"
    for file in "$work/tmp"/* "$work"/*/data/*.new "$work"/*/checkpoints/*; do
        [ -e "$file" ] && echo "left behind: ${file#"$work/"}"
    done
}
