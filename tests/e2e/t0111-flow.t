#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Flow graphs that are checked and simulated: no daemon is needed.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier

flows=$top_srcdir/examples/flow

says() { # TEXT COMMAND...: the command ends well and says so, among other things
    text=$1
    shift
    "$@" >out 2>&1 || { cat out; return 1; }
    grep -qF -- "$text" out || { cat out; return 1; }
}

refuses() { # CODE TEXT COMMAND...
    code=$1 text=$2
    shift 2
    "$@" >out 2>&1
    [ $? -eq "$code" ] && grep -qF -- "$text" out || { cat out; return 1; }
}

simulates_alike() { # twice, the same bytes, pictures too
    for i in 1 2; do
        espalier flow simulate "$flows/lu.flow" r=216 --platform "$flows/fast-ethernet.conf" --json \
            --gantt gantt$i.svg --trace trace$i.json >result$i.json || return 1
    done
    cmp result1.json result2.json && cmp gantt1.svg gantt2.svg && cmp trace1.json trace2.json
}

trace_is_whole() {
    python3 - <<'EOF2'
import json, xml.dom.minidom
result = json.load(open("result1.json"))
events = [e for e in json.load(open("trace1.json"))["traceEvents"] if e["ph"] == "X"]
transfers = [e for e in events if e["cat"] == "transfer"]
assert len(transfers) == result["messages"], (len(transfers), result["messages"])
assert sum(e["args"]["bytes"] for e in transfers) == result["bytes"]
assert abs(max(e["ts"] + e["dur"] for e in events) / 1e6 - result["seconds"]) < 1e-6
work = sum(e["args"]["seconds"] for e in events if e["cat"] == "computation")
assert abs(work - result["work_s"]) < 1e-6 * work
assert len(result["dynamic_efficiency"]) == 10 and max(result["dynamic_efficiency"]) <= 1.001
xml.dom.minidom.parse("gantt1.svg")
EOF2
}

cat >wrong.flow <<'EOF2'
flow wrong
operation f(a) -> b
    time 1
x = f(y)
EOF2
cat >endless.flow <<'EOF2'
flow endless
operation f()
f()
EOF2

check "a valid flow is described" says "operations    408 on 8 nodes" espalier flow check "$flows/lu.flow" --nodes 8
check "parameters are set by name" says "operations    22880" espalier flow check "$flows/lu.flow" r=81
check "a mistake is reported with line and column" refuses 4 "wrong.flow:4:7: 'y' is used before it is defined" espalier flow check wrong.flow
check "an unknown parameter is reported with the nearest one" refuses 2 "no parameter 'remove': did you mean 'removed'?" espalier flow check "$flows/lu.flow" remove=2
check "an operation without a duration is no mistake of a check" says "the flow endless is good" espalier flow check endless.flow
check "but of a simulation" refuses 2 "operation 'f' has no duration" espalier flow simulate endless.flow --platform "$flows/fast-ethernet.conf"
check "two simulations give the same bytes" simulates_alike
if command -v python3 >/dev/null 2>&1; then
    check "the trace has all messages and computations, the picture is XML" trace_is_whole
fi
check "a sweep is a table" says "81      4" espalier flow simulate "$flows/lu.flow" --platform "$flows/fast-ethernet.conf" --sweep r=81,324 --sweep nodes=4,8
varies() {
    espalier flow simulate "$flows/lu.flow" --platform "$flows/fast-ethernet.conf" --vary flops=*2 --vary 'flops=140e6' \
        --vary latency=2us,bandwidth=*77 --sweep r=216,324 >out 2>&1 || { cat out; return 1; }
    # Two combinations with four rows each; a factor of 2 is what twice the number is.
    awk 'NR > 1 { rows++ } $2 == "original" { originals++; original = $3 } $2 == "flops=*2" { double = $3 }
        $2 == "flops=140e6" && $3 == double && double < original { alike++ }
        END { exit !(rows == 8 && originals == 2 && alike == 2) }' out || { cat out; return 1; }
}
check "settings are varied, and the difference is reported" varies
check "a factor is for numbers" refuses 2 "nodes: expected a value" espalier flow simulate "$flows/lu.flow" --platform "$flows/fast-ethernet.conf" --vary 'nodes=*2'
check "the application counts the messages of the paper" says "14701" espalier flow simulate application:lu r=108 multiply=0.035 --platform "$flows/fast-ethernet.conf" --sweep pipelined=0,1
cat >solve.flow <<'EOF2'
flow solve
input A bytes 8*100^2
input b bytes 800
_, pivots, x = dgesv(A, b, n = 100, nrhs = 1)
result x
EOF2
check "operations may be problems" says "which compute 0.00980952" espalier flow simulate solve.flow --problems "$top_srcdir/problems/lapack" --platform "$flows/fast-ethernet.conf"
check "a problem without its description is unknown" refuses 4 "unknown operation 'dgesv'" espalier flow check solve.flow
check "a platform is needed" refuses 2 "expected --platform FILE" espalier flow simulate "$flows/lu.flow"
check "a missing platform is reported" refuses 4 "nowhere.conf" espalier flow simulate "$flows/lu.flow" --platform nowhere.conf
finish
