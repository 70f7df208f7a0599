# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# The platform of espalier-chaos, and its clients. Names of nodes: R, R2, MA1, MA2, MA3, LA1, LA2, S11, S12, S21, S22; the
# first digit is the machine's. All addresses are known beforehand: the network is our own.

declare -A pid_of machine_pid wire_of program_of
declare -a client_pids=()
hub=10.77.0.1

now_ms() {
    local t=${EPOCHREALTIME/[.,]/}
    echo $((t / 1000))
}

# A machine: a namespace that a sleeping process keeps, at the other end of a wire.
make_machine() { # make_machine K
    local k=$1 line
    unshare --net sleep infinity &
    machine_pid[$k]=$!
    until [ "$(readlink "/proc/${machine_pid[$k]}/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    mkfifo "wire$k.in" "wire$k.out"
    "$top_builddir/tests/chaos/wire" "${machine_pid[$k]}" "hub$k" eth0 "$((seed + k))" <"wire$k.in" >"wire$k.out" &
    exec {line}>"wire$k.in"
    wire_of[$k]=$line
    read -r line <"wire$k.out" && [ "$line" = ready ] || return 1
    ip addr add "10.77.$k.1/24" dev "hub$k" && ip link set "hub$k" up &&
        on_machine "$k" ip link set lo up && on_machine "$k" ip addr add "10.77.$k.2/24" dev eth0 &&
        on_machine "$k" ip link set eth0 up && on_machine "$k" ip route add default via "10.77.$k.1"
}

on_machine() { # on_machine K COMMAND...: 0 is where the master agents are
    if [ "$1" = 0 ]; then
        shift
        "$@"
    else
        nsenter "--net=/proc/${machine_pid[$1]}/ns/net" "${@:2}"
    fi
}

# node NAME PROGRAM MACHINE PORT LINE...: its file.
node() {
    local name=$1 program=$2 machine=$3 address
    address=$([ "$machine" = 0 ] && echo $hub || echo "10.77.$machine.2"):$4
    program_of[$name]="$machine $program"
    shift 4
    {
        printf 'name = "%s"\nlisten = "%s"\ninsecure = yes\nlog_file = "%s/%s.log"\nstate_dir = "%s/%s"\n' \
            "$name" "$address" "$work" "$name" "$work" "$name"
        printf '%s\n' "$@"
    } >"$name.conf"
}

descendants() { # descendants PID
    local child
    for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
        echo "$child"
        descendants "$child"
    done
}

start_node() {
    local machine program
    local -a enter=()
    read -r machine program <<<"${program_of[$1]}"
    [ "$machine" = 0 ] || enter=(nsenter "--net=/proc/${machine_pid[$machine]}/ns/net")
    TMPDIR=$work/tmp "${enter[@]}" "$top_builddir/$program" --foreground "$work/$1.conf" >>"$1.out" 2>&1 &
    pid_of[$1]=$! # the daemon itself
}

write_problems() {
    local name idempotent
    mkdir problems
    for name in once again; do
        idempotent=$([ $name = once ] && echo no || echo yes)
        cat <<EOF
problem $name "Signs the ledger"
    in      string  ledger
    in      double  call
    in      int     ms, n
    in      double  x[n]
    out     double  y[n]
    out     int     signed_it
    idempotent $idempotent
implementation c
    c chaos_stamp(ledger, call, ms, n, x, y, signed_it) in $top_builddir/tests/chaos/.libs/libchaosroutines.so
EOF
    done >problems/chaos.esp
}

make_platform() {
    local k i other terms='heartbeat = "500 ms"
lease = "2 s"'
    ip link set lo up && ip addr add $hub/32 dev lo && echo 1 >/proc/sys/net/ipv4/ip_forward || return 1
    for k in 1 2; do make_machine $k || return 1; done
    mkdir "$work/tmp"
    write_problems
    : >quiet/ledger
    node R redirector/espalier-redirector 0 4000 "$terms"
    node R2 redirector/espalier-redirector 0 4001 "$terms"
    for k in 1 2 3; do # the last one has no servers: what it is asked goes to its peers
        node MA$k agent/espalier-agent 0 410$k "redirector = \"$hub:4000\"" "redirectors = { \"$hub:4001\" }" "$terms" 'freshness = "1 s"'
    done
    for k in 1 2; do
        other=$((3 - k))
        node LA$k agent/espalier-agent $k 4200 "parent = \"$hub:410$k\"" "parents = { \"$hub:410$other\" }" "$terms" 'freshness = "1 s"'
        for i in 1 2; do
            node S$k$i sed/espalier-sed $k 430$i "parent = \"10.77.$k.2:4200\"" "parents = { \"10.77.$other.2:4200\" }" \
                'slots = 2' 'memory = "64 MiB"' "problems = \"$work/problems\""
        done
    done
    for i in R R2 MA1 MA2 MA3 LA1 LA2 S11 S12 S21 S22; do start_node $i; done
    printf 'redirector = "%s:4000"\nredirectors = { "%s:4001" }\ncall_timeout = "5 s"\nagent_patience = "%s s"\n' $hub $hub "$patience" >client.conf
    export ESPALIER_CONFIG=$work/client.conf
}

# All servers can be reached through the redirector.
is_whole() {
    local name tree
    tree=$(timeout 10 "$top_builddir/command/espalier" tree 2>/dev/null) || return 1
    for name in R R2 MA1 MA2 MA3 LA1 LA2 S11 S12 S21 S22; do
        grep -Eq "^ *$name " <<<"$tree" || return 1
    done
    ! grep -Eq 'unreachable|silent|as it was' <<<"$tree"
}
wait_whole() { # wait_whole SECONDS
    local until=$(($(now_ms) + $1 * 1000))
    until is_whole; do
        [ "$(now_ms)" -lt $until ] || return 1
        sleep 0.1
    done
}

start_clients() {
    local i
    for ((i = 1; i <= clients; i++)); do
        "$top_builddir/tests/chaos/client" "$i" "$seed" "$calls" "$seconds" "$pause" "$work/quiet/ledger" \
            >"quiet/$i.calls" 2>"quiet/$i.out" &
        client_pids+=($!)
    done
}
clients_run() { kill -0 "${client_pids[@]}" 2>/dev/null; }
wait_clients() {
    local pid
    for pid in "${client_pids[@]}"; do wait "$pid"; done
}

# What became of each call, by the clients' words and by the ledger's.
report() {
    cat quiet/*.out >&2
    awk -v seed="$seed" -v whole="$whole" -v whole_ms="$whole_ms" -v signed=quiet/ledger '
    function complain(text) { complaints++; if (complaints <= 20) print "espalier-chaos: " text }
    BEGIN { while ((getline line < signed) > 0) executed[line]++ }
    {
        calls++
        count[$3]++
        longest = $4 > longest ? $4 : longest
        text = $0
        if ($3 == "wrong") complain("a wrong result: " text)
        if ($2 != "again" && executed[$1] > 1) complain("executed " executed[$1] " times: " text)
        if ($3 == "done" && !executed[$1]) complain("a result that nobody computed: " text)
        if ($3 == "failed" && $2 != "again" && executed[$1]) complain("executed, and the error says that it was not: " text)
        if ($3 == "failed" || $3 == "unmade") complain("failed: " text)
        if ($3 == "maybe" && $2 == "again") complain("may be repeated, and was lost: " text)
        if ($2 == "again" && executed[$1] > 1) extra += executed[$1] - 1
    }
    END {
        if (whole) complain("the tree was not whole 60 s after the last fault")
        while ((getline line < "quiet/complaints") > 0) complain(line)
        if (!count["done"]) complain("no call was done")
        printf "espalier-chaos: %d calls: %d done, %d perhaps executed, %d failed, %d wrong, %d extra runs; longest %d ms; whole after %d ms; %d complaints; seed %s\n", \
            calls, count["done"], count["maybe"], count["failed"] + count["unmade"], count["wrong"], extra, longest, whole_ms, complaints, seed
        exit complaints > 0
    }' quiet/*.calls
}
