# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What espalier-chaos looks at besides the clients: memory, descriptors and files of all daemons while they run, how long
# calls take at the beginning and at the end, and what is left when all have ended.

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

# KiB of the memory files that a process holds, whether it maps them or not.
segments_of() {
    find "/proc/$1/fd" -lname '/memfd:*' -exec stat -Lc %b {} + | awk '{ n += $1 } END { print int(n / 2) }'
}
# KiB of its memory but for those.
memory_of() {
    awk '$1 == "RssAnon:" || $1 == "RssFile:" { n += $2 } END { print n }' "/proc/$1/status"
}

# Every two seconds a line for each daemon: "SECONDS PID COMM DESCRIPTORS KIBIBYTES", memory files included; and one for the
# files of all: "SECONDS 0 files N 0", but for the memory of links, one file for two nodes that have met.
watch_usage() {
    local pid comm fds kib
    while sleep 2; do
        echo "$SECONDS 0 files $(find "$work" -path "$work/quiet" -prune -o -type f ! -name '*.ring' -print | wc -l) 0"
        while read -r pid comm; do
            [ "$comm" = espalier-crd ] && continue
            fds=("/proc/$pid/fd"/*)
            kib=$(memory_of "$pid") && [ -n "$kib" ] || continue
            echo "$SECONDS $pid $comm ${#fds[@]} $((kib + $(segments_of "$pid")))"
        done < <(platform_processes)
    done 2>/dev/null >quiet/usage
}

# Of what was there for a minute and more, after a third of that and at its end: "COMM PID SECONDS DESCRIPTORS DESCRIPTORS
# KIBIBYTES KIBIBYTES", a line each.
usage_of_each() {
    awk '
    { if (!($2 in first)) first[$2] = $1; last[$2] = $1; comm[$2] = $3; n[$2]++; at[$2, n[$2]] = $1; fds[$2, n[$2]] = $4; kib[$2, n[$2]] = $5 }
    END {
        for (pid in first) {
            if (last[pid] - first[pid] < 60) continue
            for (i = 1; at[pid, i] < first[pid] + (last[pid] - first[pid]) / 3; i++) ;
            print comm[pid], pid, last[pid] - at[pid, i], fds[pid, i], fds[pid, n[pid]], kib[pid, i], kib[pid, n[pid]]
        }
    }' quiet/usage | sort
}

# Complaints of what has grown, a line each.
judge_usage() {
    usage_of_each | awk '
    $5 - $4 > 30 && $1 == "files" { printf "there are %d files more than %d s before\n", $5 - $4, $3 }
    $5 - $4 > 30 && $1 != "files" { printf "%s (%d) has %d descriptors more than %d s before\n", $1, $2, $5 - $4, $3 }
    $7 - $6 > 8192 && $7 - $6 > $6 / 5 {
        printf "%s (%d) has %d KiB more than %d s before, %d in all\n", $1, $2, $7 - $6, $3, $7
    }'
}

tell_usage() {
    usage_of_each | awk '
    $1 == "files" { printf "all files: %d and %d\n", $4, $5 }
    $1 != "files" { printf "%s (%d): %d and %d descriptors, %d and %d KiB\n", $1, $2, $4, $5, $6, $7 }'
}

# latency FROM TO: of these thirds of each client's calls: "MS MS MS": half of them, 99 in 100, all took no longer.
latency() {
    local file n
    for file in quiet/*.calls; do
        n=$(wc -l <"$file")
        sed -n "$((n * $1 / 3 + 1)),$((n * $2 / 3))p" "$file"
    done | awk '{ print $4 }' | sort -n | awk '{ ms[NR] = $1 } END { print ms[int((NR + 1) / 2)], ms[int(NR * 0.99 + 0.5)], ms[NR] }'
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
