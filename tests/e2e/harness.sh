# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# What every shell test sources: TAP output, a private folder that goes away, daemons that do too.
#
#   . "$top_srcdir/tests/e2e/harness.sh"
#   start agent espalier-agent --foreground "$work/agent.conf"
#   check "the tree shows the server" tree_has SeD1
#   finish
#
# Variables of the harness begin with tap_, n_ or pid; functions of a test may use every other name.
# $work is the private folder (and $HOME and the current one), $log is where the last checked command wrote.
# Ports are never fixed: configure `listen = "127.0.0.1:0"` and `address_file`, and use address_of.

set -u
: "${top_srcdir:?is set by make check}" "${top_builddir:?is set by make check}"

n_tests=0
n_failed=0
pids=''
patience=${ESP_TEST_PATIENCE:-30} # seconds that wait_until gives; only a test that fails takes so long

for folder in client command sed agent redirector; do
    PATH=$top_builddir/$folder:$PATH
done
export PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/espalier-test.XXXXXX") || exit 99
export work
HOME=$work
export HOME
unset ESPALIER_CONFIG XDG_CONFIG_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
log=$work/log
next_log=$work/log.next
: >"$log"
cd "$work" || exit 99

# Whole process trees of what was started: daemons have workers. Only these pids are touched.
descendants() {
    for child in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
        (descendants "$child") # with a variable of its own
        echo "$child"
    done
}

# Any of the pids is there and not a zombie (those of our own children last until we wait).
alive() {
    for pid; do
        state=$(sed 's/.*) \(.\).*/\1/' "/proc/$pid/stat" 2>/dev/null)
        case $state in '' | Z) ;; *) return 0 ;; esac
    done
    return 1
}

stop_all() {
    all=''
    for pid in $pids; do
        all="$all $(descendants "$pid" | tr '\n' ' ') $pid"
    done
    pids=''
    [ -z "$all" ] && return
    # shellcheck disable=SC2086
    kill $all 2>/dev/null
    i=0
    # shellcheck disable=SC2086
    while [ $i -lt 50 ] && alive $all; do
        sleep 0.1
        i=$((i + 1))
    done
    # shellcheck disable=SC2086
    kill -9 $all 2>/dev/null
    wait 2>/dev/null
}

clean_up() {
    status=$?
    trap - EXIT
    type at_exit >/dev/null 2>&1 && at_exit # a test may have more to undo
    stop_all
    cd /
    [ -n "${ESP_TEST_KEEP:-}" ] || rm -rf "$work"
    exit $status
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# Comment lines for the reader of a failed test.
diag() { # whole lines, also where a command's last one has no end
    sed -e 's/^/# /' -e '$a\'
}

# Runs the command, which may read $log: what the one before it wrote.
run_logged() {
    "$@" >"$next_log" 2>&1
    tap_found=$?
    tap_last=$log
    log=$next_log
    next_log=$tap_last
}

# check TEXT COMMAND...: one test: the command succeeds.
check() {
    tap_text=$1
    shift
    n_tests=$((n_tests + 1))
    run_logged "$@"
    if [ $tap_found -eq 0 ]; then
        echo "ok $n_tests - $tap_text"
    else
        n_failed=$((n_failed + 1))
        echo "not ok $n_tests - $tap_text"
        { echo "command failed: $*"; tail -n 60 "$log"; } | diag
    fi
}

# check_fails STATUS TEXT COMMAND...: the command fails with that exit code (any, if STATUS is "any"),
# not by a signal.
check_fails() {
    tap_wanted=$1
    tap_text=$2
    shift 2
    n_tests=$((n_tests + 1))
    run_logged "$@"
    if [ $tap_found -ne 0 ] && [ $tap_found -lt 126 ] && { [ "$tap_wanted" = any ] || [ $tap_found -eq "$tap_wanted" ]; }; then
        echo "ok $n_tests - $tap_text"
    else
        n_failed=$((n_failed + 1))
        echo "not ok $n_tests - $tap_text"
        { echo "expected exit code $tap_wanted, found $tap_found: $*"; tail -n 60 "$log"; } | diag
    fi
}

# check_says TEXT PATTERN...: the last checked command wrote lines that match each pattern (grep -E).
check_says() {
    tap_text=$1
    shift
    n_tests=$((n_tests + 1))
    for tap_pattern; do
        grep -Eq -e "$tap_pattern" "$log" && continue
        n_failed=$((n_failed + 1))
        echo "not ok $n_tests - $tap_text"
        { echo "expected a line like: $tap_pattern"; echo "found:"; tail -n 60 "$log"; } | diag
        return
    done
    echo "ok $n_tests - $tap_text"
}

# wait_until COMMAND...: tries until it succeeds, $patience seconds at most.
wait_until() {
    tap_i=$((patience * 10))
    while [ $tap_i -gt 0 ]; do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
        tap_i=$((tap_i - 1))
    done
    return 1
}

# start NAME PROGRAM...: in the background, output in $work/NAME.out, its pid in the variable pid_NAME.
start() {
    tap_name=$1
    shift
    "$@" >"$work/$tap_name.out" 2>&1 &
    pids="$pids $!"
    eval "pid_$tap_name=$!"
}

# stop NAME [SIGNAL]: ends what was started and waits until it is gone; its exit code is the status.
stop() {
    eval "pid=\$pid_$1"
    # shellcheck disable=SC2154
    kill -"${2:-TERM}" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    stopped=$?
    pids=$(for p in $pids; do [ "$p" = "$pid" ] || printf '%s ' "$p"; done)
    return $stopped
}

# address_of FILE: waits for an address file and prints what is in it.
address_of() {
    wait_until test -s "$1" && cat "$1"
}

# agent_for_clients LINE...: an agent "MA" with these further lines in its file (agent.conf, agent.address). $agent is
# its address; the clients of the test ask it (client.conf).
# shellcheck disable=SC2120 # tests pass lines
agent_for_clients() {
    {
        printf 'name = "MA"\nlisten = "127.0.0.1:0"\naddress_file = "%s/agent.address"\n' "$work"
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } >agent.conf
    start agent espalier-agent --foreground agent.conf
    agent=$(address_of agent.address)
    printf 'agents = { "%s" }\n' "$agent" >client.conf
    ESPALIER_CONFIG=$work/client.conf
    export ESPALIER_CONFIG
}

# server_below_agent FILE NAME LINE...: a server of that name below $agent, with these further lines in FILE.conf; it logs
# to FILE.log and is there when FILE.address is.
server_below_agent() {
    tap_file=$1
    printf 'name = "%s"\nparent = "%s"\nlisten = "127.0.0.1:0"\naddress_file = "%s/%s.address"\nlog_file = "%s/%s.log"\n' \
        "$2" "$agent" "$work" "$tap_file" "$work" "$tap_file" >"$tap_file.conf"
    shift 2
    printf '%s\n' "$@" >>"$tap_file.conf"
    start_server "$tap_file"
}
# start_server FILE: starts it again, as its file is now.
start_server() {
    rm -f "$1.address"
    start "$1" espalier-sed --foreground "$1.conf"
    address_of "$1.address" >/dev/null
}

# platform_of_all_problems [FILE]: 'espalier up' of an agent and a server "S" with every shipped problem, and those of a
# file of descriptions, until the test ends.
platform_of_all_problems() {
    XDG_RUNTIME_DIR=$work
    export XDG_RUNTIME_DIR
    printf 'problems = { "%s"%s }\nmaster "MA" { }\nserver "S" { parent = "MA" slots = 1 log_level = "debug" }\n' "$top_srcdir/problems" \
        "${1:+, \"$1\"}" >small.conf
    at_exit() {
        espalier down small --force >down.out 2>&1
    }
    check "a platform with every shipped problem" espalier up small.conf
    ESPALIER_CONFIG=$work/espalier/small/client.conf
    export ESPALIER_CONFIG
}

# two_servers_with_data [FILE]: an agent and servers "A" and "B" below it, which keep data and solve product, systems of
# equations and abstract problems, and those of a file of descriptions.
two_servers_with_data() {
    agent_for_clients
    for tap_name in A B; do
        server_below_agent "$tap_name" "$tap_name" "state_dir = \"$work/state-$tap_name\"" 'slots = 1' 'store_memory = "64 MiB"' \
            "problems = { \"$top_srcdir/tests/e2e/product.esp\", ${1:+\"$1\", }\"$top_srcdir/problems/lapack/linear-systems\", \"$top_srcdir/problems/abstract\" }"
    done
    check "two servers are there" wait_until servers 2
}
# servers N: so many multiply matrices.
servers() {
    espalier problems | grep -Eq "^product .* $1 "
}

# skip_all REASON: this machine cannot run the test at all.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# needs COMMAND...: skips all where one of the commands is missing. A path is that of a file that is built for tests.
needs() {
    for tool; do
        case $tool in
        /*) [ -f "$tool" ] || skip_all "$tool is not built: 'make check' builds it" ;;
        *) command -v "$tool" >/dev/null 2>&1 || skip_all "$tool is not there" ;;
        esac
    done
}

finish() {
    echo "1..$n_tests"
    if [ $n_failed -gt 0 ]; then
        for out in "$work"/*.out "$work"/*.log; do
            [ -s "$out" ] && { echo "---- ${out##*/}"; tail -n 40 "$out"; } | diag
        done
        exit 1
    fi
    exit 0
}
