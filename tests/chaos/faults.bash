# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What espalier-chaos does to its platform. A fault is a pair of functions, begin_KIND TARGET and end_KIND TARGET,
# and a row in targets_of. The plan is made before anything happens, from the seed alone.

random=0
draw() { # draw N: $drawn from 0 to N - 1, by Knuth's MMIX generator
    random=$((random * 6364136223846793005 + 1442695040888963407))
    drawn=$((((random >> 33) & 0x3fffffff) % $1))
}

targets_of() { # targets_of KIND
    case $1 in
    kill | stop) echo "${targets//,/ }" ;;
    worker) tr , '\n' <<<"$targets" | sed -n '/^S/p' ;;
    cut | delay | drop) echo 1 2 ;;
    disk | cpu) echo all ;;
    none) ;;
    *)
        echo "espalier-chaos: --faults: expected some of kill,stop,worker,cut,delay,drop,disk,cpu, or none, found '$1'" >&2
        return 1 ;;
    esac
}

# Lines "MS begin|end KIND TARGET", in order. One fault at a time for each target.
make_plan() {
    local -A busy=()
    local -a all choice
    local kind target at
    IFS=, read -ra all <<<"$kinds"
    for kind in "${all[@]}"; do targets_of "$kind" >/dev/null || return 1; done
    for target in ${targets//,/ }; do
        [[ " R R2 MA1 MA2 MA3 LA1 LA2 S11 S12 S21 S22 " == *" $target "* ]] && continue
        echo "espalier-chaos: --targets: expected some of R,R2,MA1,MA2,MA3,LA1,LA2,S11,S12,S21,S22, found '$target'" >&2
        return 1
    done
    random=$seed
    for ((at = every; at < seconds * 1000; at += every)); do
        draw ${#all[@]}
        kind=${all[drawn]}
        read -ra choice <<<"$(targets_of "$kind" | tr '\n' ' ')"
        [ ${#choice[@]} -gt 0 ] || continue
        draw ${#choice[@]}
        target=${choice[drawn]}
        [ "$at" -ge "${busy[$target]:-0}" ] || continue
        busy[$target]=$((at + lasts + 1))
        echo "$at begin $kind $target"
        echo "$((at + lasts)) end $kind $target"
    done | sort -n
}

pass() { # pass SECONDS: signals are heard meanwhile
    sleep "$1" &
    wait $!
}

run_plan() {
    local begun at what kind target left
    begun=$(now_ms)
    random=$seed
    while read -r at what kind target; do
        [ -n "$at" ] || continue
        clients_run || return 0
        left=$((begun + at - $(now_ms)))
        [ $left -gt 0 ] && pass "$((left / 1000)).$(printf %03d $((left % 1000)))"
        [ "$what" = begin ] && echo "$at $kind $target" >>faults
        "${what}_$kind" "$target"
    done
    left=$((begun + seconds * 1000 - $(now_ms)))
    [ $left -gt 0 ] && pass $((left / 1000 + 1))
}

# Whatever the plan has left: when all calls are made before its end, some are still dead.
end_faults() {
    local k name
    for k in 1 2; do tell_wire $k heal; done
    for name in "${!pid_of[@]}"; do kill -CONT "${pid_of[$name]}" 2>/dev/null || start_node "$name"; done
    rm -f filling
}

tell_wire() {
    local fd=${wire_of[$1]}
    echo "${@:2}" >&"$fd"
}

begin_kill() {
    kill -9 "${pid_of[$1]}"
    wait "${pid_of[$1]}" 2>/dev/null
}
end_kill() { start_node "$1"; }
begin_stop() { kill -STOP "${pid_of[$1]}"; }
end_stop() { kill -CONT "${pid_of[$1]}"; }
# The process that makes a server's workers, or one of these: which, is drawn when it is done.
begin_worker() {
    local -a below
    read -ra below <<<"$(descendants "${pid_of[$1]}" | tr '\n' ' ')"
    [ ${#below[@]} -gt 0 ] || return # it has just begun
    draw ${#below[@]}
    kill -9 "${below[drawn]}" 2>/dev/null
}
end_worker() { :; } # the server has made another
begin_cut() { tell_wire "$1" cut; }
end_cut() { tell_wire "$1" heal; }
begin_delay() { tell_wire "$1" delay 100; }
end_delay() { tell_wire "$1" heal; }
begin_drop() { tell_wire "$1" drop 20; }
end_drop() { tell_wire "$1" heal; }
# The ledger keeps a little room: what is tried is the daemons' logs and state.
begin_disk() { dd if=/dev/zero of=filling bs=64k 2>/dev/null; }
end_disk() { rm -f filling; }
declare -a starvers=()
begin_cpu() {
    local i
    for ((i = 0; i < starving; i++)); do
        while :; do :; done &
        starvers+=($!)
    done
}
end_cpu() {
    kill "${starvers[@]}"
    wait "${starvers[@]}" 2>/dev/null
    starvers=()
}
