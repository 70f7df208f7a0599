#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Which server takes a call: constraints of the caller, prices, and a scheduler that the site brings.
. "${top_srcdir:?}/tests/e2e/harness.sh"
routines=$top_builddir/tests/e2e/.libs/libclientroutines.so
other_memory=$top_builddir/tests/e2e/.libs/other_memory.so
needs espalier espalier-agent espalier-sed espalier-crd "$routines" "$other_memory"

agent() { # NAME SCHEDULER
    cat >"$1.conf" <<END
name = "$1"
listen = "127.0.0.1:0"
address_file = "$work/$1.address"
scheduler = "$2"
END
}
server() { # NAME LINE...
    name=$1
    shift
    {
        echo "name = \"$name\""
        echo "parent = \"$(cat master.address)\""
        echo 'listen = "127.0.0.1:0"'
        echo 'slots = 1'
        echo 'memory = "64 MiB"'
        echo "problems = { \"$top_srcdir/problems/blas\", \"$work/nap.esp\" }"
        printf '%s\n' "$@"
    } >"$name.conf"
    start "$name" espalier-sed --foreground "$work/$name.conf"
}
fails() { # CODE TEXT COMMAND...
    code=$1
    text=$2
    shift 2
    "$@" >out 2>&1
    found=$?
    cat out
    echo "exit code $found"
    [ "$found" -eq "$code" ] && grep -qF -- "$text" out
}
goes_to() { # SERVER OPTION...
    wanted=$1
    shift
    espalier call --json ddot x=[1,2] y=[3,4] "$@" >out 2>&1
    cat out
    grep -qF "\"problem\": \"ddot\", \"server\": \"$wanted\"" out && grep -qF '"dot": 11' out
}
both_serve() {
    espalier forecast ddot n=2 >out 2>&1 && grep -q '^dear' out && grep -q '^cheap' out
}

printf 'problem nap "wait"\n    in int ms\n    out int slept\nimplementation c\n    c nap(ms, slept) in %s\n' \
    "$routines" >nap.esp

agent master cheapest
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address
server dear 'price = 100' 'properties = { "gpu", "site=lyon" }'
# This file states the memory of the server's machine.
others_leave() { # KIB
    printf 'MemTotal: 16777216 kB\nMemAvailable: %s kB\n' "$1" >meminfo.new && mv meminfo.new meminfo
}
others_leave 8388608
LD_PRELOAD=$other_memory OTHER_MEMORY=$work/meminfo server cheap 'price = 1' \
    'properties = { "site=lyon" }'
echo "agents = { \"$(cat master.address)\" }" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG
check "two servers with prices and properties join" wait_until both_serve

awk 'BEGIN { for (i = 0; i < 500; i++) { printf "%d", i; for (j = 1; j < 500; j++) printf ",%d", i + j; print "" } }' >big.csv

check "the cheapest server is chosen" goes_to cheap
check "unless a property is wanted that it has not" goes_to dear --property gpu
check "several are wanted together" goes_to dear --property site=lyon --property gpu
check "a server may be named beside them" goes_to dear --server dear --property site=lyon
check "what no server has is reported" fails 3 'with "tape": none of the 2' \
    espalier call ddot x=[1] y=[1] --property tape
check "a named server that lacks it is not taken" fails 3 'is wanted on a server with "gpu"' \
    espalier call ddot x=[1] y=[1] --server cheap --property gpu
check "a deadline that can be kept changes nothing" goes_to cheap --deadline 20s
check "one that cannot is reported before anything is sent" fails 3 'is wanted within' \
    espalier call dgemm m=1500 n=1500 k=1500 A=rand B=rand --deadline 30ms
check "memory is limited by the caller" fails 3 'of memory where at most' \
    espalier call dgemm m=500 n=500 k=500 alpha=1 beta=0 A=@big.csv B=@big.csv --memory 1MB
check "words and sizes are checked" fails 2 "--property: expected a word, found 'two words'" \
    espalier call ddot x=[1] y=[1] --property 'two words'
check "a deadline is a time" fails 2 "--deadline: expected a time such as '30 s', found 'soon'" \
    espalier call ddot x=[1] y=[1] --deadline soon
check "memory is a size" fails 2 "--memory: expected a size such as '2 GiB', found 'little'" \
    espalier call ddot x=[1] y=[1] --memory little
check "a sweep heeds them" sh -c 'espalier sweep ddot x=[1,2] x=[3,4] y=[1,1] --property gpu | grep -c dear | grep -qx 2'
check "a job does" sh -c 'espalier submit --json ddot x=[1,2] y=[3,4] --property gpu | grep -q "\"server\": \"dear\""'

# ---- others fill the memory of a machine ----
# What the server has kept of an earlier call's memory is its own: what is excluded takes more than that and what is left.
forecast_says_of() { # N PATTERN
    espalier forecast dgemm m="$1" n="$1" k="$1" >out 2>&1
    cat out
    grep -Eq -- "$2" out
}
forecast_says() { # PATTERN
    forecast_says_of 1400 "$1"
}
goes_with() { # SERVER N
    espalier call --json dgemm m="$2" n="$2" k="$2" A=rand B=rand -o C=c.npy >out 2>&1
    cat out
    grep -qF "\"server\": \"$1\"" out
}
check "a call of 20 MB goes to the cheapest" goes_with cheap 900
others_leave 8192
check "when others leave less there, it would swap: it is excluded" wait_until forecast_says \
    '^cheap .*excluded: needs 47 MB of memory, it has [0-9.]+ MB \(others on its machine hold [0-9.]+ MB of what it gives to calls\)'
check "and goes elsewhere" goes_with dear 1400
check "or nowhere, where that is wanted" fails 1 'of the 67.1 MB that calls may take there' \
    espalier call dgemm m=1400 n=1400 k=1400 A=rand B=rand --server cheap
check "a small one goes there as before" goes_to cheap
check "its log says so" grep -Eq 'others on this machine leave [0-9.]* [MG]B of the 67.1 MB' cheap.out
others_leave 8388608
check "when the memory is there again, it is chosen again" wait_until forecast_says '^cheap +[0-9.]+ .*47 MB'
check "and called, as often as readings of memory say so" wait_until goes_with cheap 1400

check "what no server can hold names the limit and its key" forecast_says_of 40000 \
    '^dear .*excluded: needs 38.4 GB of memory, it has [0-9.]+ MB \(memory in its file\)'
check "also where it is called, before arrays are made" fails 3 \
    'it needs 38.4 GB of memory' \
    espalier call dgemm m=40000 n=40000 k=40000 A=rand B=rand -o C=c.npy

# ---- configuration ----
check "a property is a word" fails 4 'properties: expected words without blanks' sh -c \
    'sed "s/site=lyon/in lyon/" dear.conf >wrong.conf; espalier config check --as sed wrong.conf'
check "a scheduler that is none is reported with those there are" fails 4 \
    'expected mct, cheapest, round-robin, random or least-loaded, or the path of a library' sh -c \
    'sed "s/cheapest/best/" master.conf >wrong.conf; espalier config check --as agent wrong.conf'

check "so is one without a name" fails 4 \
    'expected mct, cheapest, round-robin, random or least-loaded, or the path of a library (with a /), found ""' sh -c \
    'sed "s/cheapest//" master.conf >wrong.conf; espalier config check --as agent wrong.conf'

# ---- a scheduler of the site's own ----
build() { # NAME SOURCE
    # shellcheck disable=SC2086 # "ccache gcc" is two words
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -shared -fPIC -I "$top_srcdir/include" -o "$1.so" "$2"
}
refuses() { # SCHEDULER TEXT
    agent refused "$1"
    fails 4 "$2" espalier config check --as agent "$work/refused.conf" || return 1
    fails 4 "$2" espalier-agent --foreground "$work/refused.conf"
}
cat >dearest.c <<'END'
#include <espalier_scheduler.h>
static double score(const struct esp_server_view *view) { return -view->price; }
static const struct esp_scheduler scheduler = {ESP_SCHEDULER_VERSION, ESP_SCHEDULER_EVERY, "dearest", "", score};
const struct esp_scheduler *espalier_scheduler(void) { return &scheduler; }
END
sed 's/ESP_SCHEDULER_VERSION,/99,/' dearest.c >other.c
sed 's/-view->price/view->price * __builtin_nan("")/' dearest.c >numberless.c
sed 's/return &scheduler;/(void)\&scheduler; return 0;/' dearest.c >nothing.c
echo 'int unrelated;' >unrelated.c
check "the example of a scheduler builds" build largest "$top_srcdir/examples/scheduler/largest_idle.c"
check "schedulers build without a library of Espalier" sh -c \
    'for f in dearest other nothing numberless unrelated; do cc -shared -fPIC -I "$top_srcdir/include" -o $f.so $f.c || exit 1; done'
check "a library that is not there is reported" refuses "$work/none.so" 'expected the path of a shared library'
check "one without the function too" refuses "$work/unrelated.so" 'with the function espalier_scheduler()'
check "one of another version too" refuses "$work/other.so" 'expected version 1 of struct esp_scheduler, found 99'
check "one that cannot serve too" refuses "$work/nothing.so" 'gave NULL'
for daemon in dear cheap master; do stop $daemon; done
rm -f master.address
agent master "$work/dearest.so"
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address
server dear 'price = 100'
server cheap 'price = 1'
echo "agents = { \"$(cat master.address)\" }" >client.conf
check "an agent starts with it" wait_until both_serve
check "and it decides" goes_to dear

# ---- the others that there are ----
restart_master() { # SCHEDULER
    address=$(cat master.address)
    stop master
    agent master "$1"
    sed -i "s/^listen.*/listen = \"$address\"/" master.conf
    start master espalier-agent --foreground "$work/master.conf"
    wait_until both_serve
}
servers_of() { # N: of so many calls, one after the other: how many each of the two has got
    for _ in $(seq "$1"); do espalier call --json ddot x=[1,2] y=[3,4]; done | grep -o '"problem": "ddot", "server": "[a-z]*"' | sort | uniq -c |
        awk '{ printf "%s%d", n++ ? " " : "", $1 }'
}
check "one whose own scheduler gives no number" restart_master "$work/numberless.so"
numberless_is_told() { # equals are ranked by their load: a call goes to either, and the next one to the other
    for _ in 1 2; do
        espalier call --json ddot x=[1,2] y=[3,4] >out 2>&1
        cat out
        grep -qF '"dot": 11' out || return 1
    done
    grep 'scheduler' master.out
    [ "$(grep -c 'scheduler "dearest" gives no number (NaN) for the best of the servers' master.out)" -eq 1 ]
}
check "chooses all the same, and says so once" numberless_is_told
check "an agent that takes servers in turn" restart_master round-robin
check "gives each its turn" sh -c "[ \"$(servers_of 6)\" = '3 3' ]"
check "one that draws them" restart_master random
check "gives both something" sh -c "set -- $(servers_of 24); [ \$# -eq 2 ] && [ \$((\$1 + \$2)) -eq 24 ]"
check "one that looks for the least loaded" restart_master least-loaded
least_loaded() { # while one of them computes
    espalier submit --json nap ms=5000 >job || return 1
    cat job
    if grep -q '"server": "dear"' job; then goes_to cheap; else goes_to dear; fi
}
check "gives a call to the one that has none" least_loaded
finish
