#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Flow graphs on real servers: the results are right, run and simulation do the same, no payload passes through the
# client, mistakes are reported, and a lost server costs time only.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed curl python3

agent_for_clients
for name in A B; do
    server_below_agent "$name" "$name" "state_dir = \"$work/state-$name\"" 'slots = 1' 'store_memory = "64 MiB"' \
        'http = "127.0.0.1:0"' \
        "problems = { \"$top_srcdir/tests/e2e/product.esp\", \"$top_srcdir/tests/e2e/late.esp\", \"$top_srcdir/problems/blas/level1.esp\" }"
done
echo 'agent_patience = "2 s"' >>client.conf # nobody waits longer for a server that was killed
check "two servers are there" wait_until servers 2

cat >chain.flow <<'EOF2'
flow chain "Powers of a matrix, from server to server"
param n = 300
param count = 6
threads w[2]

input A bytes 8*n^2
each i in 1 to count
    P = product(A, A, n = n) on w[i]
    Q = product(P, A, n = n) on w[i + 1]
    R = product(Q, P, n = n) on w[i]
end
result R[1]
result R[count]
EOF2
cat >platform.conf <<'EOF2'
nodes = 2
bandwidth = "100 MB"
latency = "100 us"
flops = 1e9
EOF2
# A cyclic shift by one row, so that its fifth power is a shift by five.
awk 'BEGIN { n = 300; print "%%MatrixMarket matrix coordinate real general"; print n, n, n
             for (i = 0; i < n; i++) print (i + 1) % n + 1, i + 1, 1 }' >A.mtx
awk 'BEGIN { n = 300; print "%%MatrixMarket matrix coordinate real general"; print n, n, n
             for (i = 0; i < n; i++) print (i + 5) % n + 1, i + 1, 1 }' >fifth.mtx

nothing_left() {
    espalier data ls >left && ! grep ':' left
}
nothing_stays() {
    wait_until nothing_left || { espalier data ls --json; return 1; }
}
runs() {
    espalier flow run chain.flow A=@A.mtx -o 'R=R-{1}.mtx' --trace run.json --gantt run.svg --json >run-result.json
}
client_moves_inputs_and_results() {
    python3 - <<'EOF2'
import json
result = json.load(open("run-result.json"))
matrix = 8 * 300 * 300
assert result["client_sent_bytes"] == matrix, result
assert result["client_received_bytes"] == 2 * matrix, result
assert result["copied_bytes"] >= 6 * matrix and result["calls"] == 18 and result["calls_again"] == 0, result
EOF2
}
is_fifth_power() {
    python3 - <<'EOF2'
def read(path):
    lines = [l.split() for l in open(path) if not l.startswith("%")]
    if len(lines[0]) == 3:
        return {(int(i), int(j)): float(v) for i, j, v in lines[1:] if float(v)}
    rows = int(lines[0][0])
    return {(k % rows + 1, k // rows + 1): float(v[0]) for k, v in enumerate(lines[1:]) if float(v[0])}
fifth = read("fifth.mtx")
assert read("R-1.mtx") == fifth and read("R-6.mtx") == fifth
EOF2
}
simulates() {
    espalier flow simulate chain.flow --platform platform.conf --problems "$top_srcdir/tests/e2e/product.esp" \
        --trace simulated.json --json >simulated-result.json
}
same_operations_and_messages() {
    python3 - <<'EOF2'
import collections, json
def events(path):
    steps, transfers = collections.Counter(), collections.Counter()
    for e in json.load(open(path))["traceEvents"]:
        if e["ph"] == "X" and e["cat"] == "transfer":
            transfers[(e["name"], e["pid"], e["tid"], e["args"]["bytes"])] += 1
        elif e["ph"] == "X" and e["name"] == "product":
            steps[(e["name"], e["pid"], e["tid"])] += 1
    return steps, transfers
run, simulated = events("run.json"), events("simulated.json")
assert sum(run[0].values()) == 18 and run == simulated, (run, simulated)
run, simulated = json.load(open("run-result.json")), json.load(open("simulated-result.json"))
for key in "operations", "messages", "bytes", "remote_messages":
    assert run[key] == simulated[key], key
import xml.dom.minidom
xml.dom.minidom.parse("run.svg")
EOF2
}
check "a flow runs on two servers" runs
check "the client has sent the input, once, and received the results, and nothing else" client_moves_inputs_and_results
check "the results are right" is_fifth_power
check "nothing is left on the servers" nothing_stays
check "the same flow is simulated" simulates
check "with the same operations and messages as it had" same_operations_and_messages

cat >anywhere.flow <<'EOF2'
flow anywhere
input x bytes 8*3
y = dscal(x, n = 3, alpha = 2)
norm = dnrm2(y, n = 3)
result y
result norm
EOF2
check "operations that are placed nowhere go where the platform says" espalier flow run anywhere.flow 'x=[1,2,2]'
check_says "and their results are printed" '^y \(3 x 1\)' '^norm =' '^ *6$'

check_fails 2 "an input that is not given" espalier flow run chain.flow
check_says "is reported with its place" 'chain.flow:6:1: input A: nothing is given: expected A=@FILE'
check_fails 2 "an input with other extents" espalier flow run chain.flow 'A=[1,2;3,4]'
check_says "is reported as well" 'expected 300 x 300, found 2 x 2'
check_fails 2 "a name that is neither parameter nor input" espalier flow run chain.flow B=1
check_says "gets an error with the valid names" "no parameter and no input 'B': it has n, count, A"
cat >unknown.flow <<'EOF2'
flow unknown
input A bytes 8
B = products(A)
EOF2
check_fails any "a problem that no server has" espalier flow run unknown.flow
check_says "is reported with line and column" "unknown.flow:3:5: unknown operation 'products'"
check_fails any "an operation that is declared" espalier flow run "$top_srcdir/examples/flow/solve.flow"
check_says "can be simulated only" "declared in line .* can be simulated, not run"

# ---- a server is killed ----
cat >late.flow <<'EOF2'
flow late "What was made on a server that is killed is made again"
param n = 60
threads w[2]
input A bytes 8*n^2
P = product(A, A, n = n) on w[0]
Q = product(P, A, n = n) on w[0]
L = late(A, n = n, seconds = 4) on w[1]
R = product(Q, L, n = n) on w[1]
S = product(R, P, n = n) on w[0]
result S
EOF2
awk 'BEGIN { n = 60; print "%%MatrixMarket matrix coordinate real general"; print n, n, n
             for (i = 0; i < n; i++) print (i + 1) % n + 1, i + 1, 1 }' >small.mtx
figure() { # figure SERVER NAME: of its metrics
    curl -sS --max-time 20 "http://$(cat "$1.address.http")/metrics" | awk -v name="$2" '$1 == name { printf "%d", $2 }'
}
first_server() { # that of w[0]: the other one computes, and this one has the products
    for victim in A B; do
        other=$([ $victim = A ] && echo B || echo A)
        [ "$(figure $other 'espalier_server_sessions{state="running"}')" = 1 ] &&
            [ "$(figure $victim espalier_server_data)" -ge 2 ] && return 0
    done
    return 1
}
check "the flow as it should be" espalier flow run late.flow A=@small.mtx -o S=right.mtx
start flow espalier flow run late.flow A=@small.mtx -o S=again.mtx --json
check "one server has made its part" wait_until first_server
stop "${victim:-A}" KILL
ends_well() {
    # shellcheck disable=SC2154
    wait "$pid_flow"
    ended=$?
    cat flow.out
    [ $ended -eq 0 ] && cmp right.mtx again.mtx && grep -q '"lost_servers": 1' flow.out
}
check "when it is killed, what it had is made again on the other one, and the result is the same" ends_well
start_server "${victim:-A}"
check "two servers are there again" wait_until servers 2
check "nothing is left on them" nothing_stays

# ---- the client is killed ----
start resumed espalier flow run late.flow A=@small.mtx -o S=resumed.mtx --journal flow.journal
check "a flow with a journal has made a part" wait_until first_server
stop resumed KILL
goes_on() {
    espalier flow run late.flow A=@small.mtx -o S=resumed.mtx --journal flow.journal --json >resumed.json || return 1
    cat resumed.json
    # The two products that had been made before are not made again.
    grep -q '"resumed": 2' resumed.json && grep -q '"calls": 3' resumed.json && cmp right.mtx resumed.mtx && ! test -e flow.journal
}
cp flow.journal other.journal
check "when its client is killed, the same command goes on from there" goes_on
check_fails 2 "a journal of other inputs" espalier flow run late.flow 'A=[1]' --journal other.journal
check_says "is reported" 'other.journal: the journal is of another flow, or of other parameters, inputs or nodes'
start cancelled espalier flow run late.flow A=@small.mtx -o S=cancelled.mtx --journal flow.journal
check "another flow with a journal has made a part" wait_until first_server
check_fails 1 "its journal cannot be used by a second run" espalier flow run late.flow A=@small.mtx --journal flow.journal
check "the flow is cancelled" espalier flow cancel flow.journal
ends_cancelled() {
    wait "$pid_cancelled"
    [ $? -ne 0 ] && ! test -e cancelled.mtx && ! test -e flow.journal
}
check "it has ended, and its journal is gone" ends_cancelled
check_fails any "there is nothing more to be cancelled" espalier flow cancel flow.journal

# ---- interrupted ----
cat >long.flow <<'EOF2'
flow long
input A bytes 8*4
each i in 1 to 4
    L = late(A, n = 2, seconds = 100)
end
result L[1]
EOF2
start long espalier flow run long.flow 'A=[1,2;3,4]'
running() { # running N: so many calls compute, on both servers
    for server in A B; do
        curl -sS --max-time 20 "http://$(cat $server.address.http)/metrics"
    done >metrics
    awk -v n="$1" '$1 == "espalier_server_sessions{state=\"running\"}" { sum += $2 } END { exit sum != n }' metrics
}
check "a long flow computes" wait_until running 2
stop long TERM
check "when it is interrupted, it ends by the signal" [ "$stopped" -gt 128 ]
check "and its calls are cancelled" wait_until running 0
finish
