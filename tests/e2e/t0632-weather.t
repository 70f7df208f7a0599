#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The weather: what others leave of a server's processor is sensed, shown, and counted with in forecasts.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed espalier-crd taskset

cat >master.conf <<END
name = "master"
listen = "127.0.0.1:0"
address_file = "$work/master.address"
END
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address
server() { # NAME LINE...
    name=$1
    {
        echo "name = \"$name\""
        echo "parent = \"$(cat master.address)\""
        echo 'listen = "127.0.0.1:0"'
        echo 'slots = 1'
        echo 'memory = "64 MiB"'
        echo "problems = { \"$top_srcdir/problems/blas\" }"
        echo "state_dir = \"$work/state-$name\""
        shift
        printf '%s\n' "$@"
    } >"$name.conf"
    mkdir "state-$name"
    start "$name" taskset -c "$processor" espalier-sed --foreground "$work/$name.conf"
}
# All daemons on the last processor that this process may use, and the competitors too.
processor=$(taskset -cp $$ | sed 's/.*[^0-9]//')
echo "agents = { \"$(cat master.address)\" }" >client.conf
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG

weather_of() { # NAME FIELD [RESOURCE]
    espalier weather --json --node "$1" --resource "${3:-availableCpu}" 2>/dev/null | tr -d '\n' |
        sed -n "s/.*\"$2\": \([0-9.e+-]*\).*/\1/p"
}
sensed() {
    [ -n "$(weather_of open now)" ]
}
# at_most NAME PERCENT: the forecast of the processor
at_most() {
    weather_of "$1" forecast | awk -v most="$2" '{ found = 1; bad = 100 * $1 > most } END { exit !found || bad }'
}
competes() {
    start "load$1" taskset -c "$processor" sh -c 'while :; do :; done'
}

server open
check "the sensor tells" wait_until sensed
check "people are shown a line a node" espalier weather --summary
check_says "with processor, forecast, memory and disk" \
    '^node +processor +forecast +± +memory +disk +there and back +bandwidth +back +the last minutes' '^open +[0-9]+ % +[0-9]+ % +[0-9]+ % +[0-9.]+ [GMT]?B +[0-9.]+ [GMT]?B'
shows_one() { # OF WHAT HEADING...: the summary has this alone
    espalier weather --summary --resource "$1" >shown && cat shown || return 1
    shift
    head -1 shown | grep -qE "^node +$*\$"
}
check "of one resource alone, if that is wanted" shows_one freeMemory '>?memory'
check "and of another one" shows_one bandwidthTcp 'bandwidth +back'
check_fails 2 "a resource that agents do not get" espalier weather --summary --resource connectTimeTcp
check_says "is reported" "--summary: expected --resource availableCpu, freeMemory, .* found 'connectTimeTcp'"
check_fails 2 "a summary of a node that is none" espalier weather --summary --node opem
# A value of the plot is the mean of five readings.
plotted() {
    espalier weather >shown && cat shown && grep -Eq '^open +availableCpu .* %  .*[▁▂▃▄▅▆▇█]' shown
}
check "and all that is measured, with plots" wait_until plotted
check "in a table" espalier weather
check_says "now, soon, and how far off that may be" '^node or link +resource +now +forecast +± +before$' \
    '^open +currentCpu +[0-9]+ % +[0-9]+ % +[0-9]+ %' '^open +freeMemory +[0-9.]+ [GMT]?B +[0-9.]+ [GMT]?B' \
    '^open +freeDisk +[0-9.]+ [GMT]?B +[0-9.]+ [GMT]?B'
in_80_columns() { # characters, not bytes
    LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 80) print } END { exit NR < 5 }' shown >long && [ ! -s long ]
}
check "in 80 columns" in_80_columns
in_units() {
    espalier weather --json --resource freeMemory | tr -d '\n' >shown && cat shown &&
        grep -q '"resource": "freeMemory", "unit": "MB", "node": "open", "now": [0-9.]*, "forecast": [0-9.]*, "error": [0-9.e-]*, "age_s": [0-9.]*, "step_s": 5.0, "history": \[[0-9]' shown
}
check "programs hear units" in_units
check_fails 2 "a resource that is none" espalier weather --resource freeMemroy
check_says "is reported" "--resource: expected availableCpu, .* found 'freeMemroy'; did you mean 'freeMemory'"
check_fails 2 "a node that is none" espalier weather --node opem
check_says "too" "no node named 'opem'; did you mean 'open'"
watched() {
    timeout 2.5 espalier weather --watch --node open --resource freeDisk >watched
    [ "$(grep -c '^open  *freeDisk' watched)" -ge 2 ]
}
check "it can be watched" watched
competes 1
competes 2
competes 3
check "three competitors leave at most a third" wait_until at_most open 34
leaves_of_its_speed() { # PERCENT at most; the sensor's reading of one moment may be off by some
    part=$("$top_builddir/tests/e2e/avail_steps" open) && echo "$part" &&
        awk -v part="$part" -v most="$1" 'BEGIN { exit !(part > 0 && 100 * part <= most) }'
}
check "a server's reported speed decreases as much" wait_until leaves_of_its_speed 40
check "a forecast counts with that" sh -c \
    'espalier forecast --json dgemm m=500 n=500 k=500 >slow.json && grep -q compute_s slow.json'
server patient 'calibrate = yes' 'calibrate_after = "1 s"'
check "one that calibrates while it is idle says what it waits for" wait_until grep -E \
    'idle, but other programs leave [0-9]+ % of a processor: problems without a model are measured when it is 80 %' patient.out
stop patient
server closed 'sensors = no'
check "data from a server to another one of its host go through its memory" wait_until "$top_builddir/tests/e2e/avail_steps" open closed
closed_is_shown() {
    espalier weather --node closed >out 2>&1 && grep -q '^closed has no sensor of its machine' out &&
        espalier weather --summary | grep -q '^closed .*no sensor'
}
stop open
check "its readings are kept" sh -c '[ "$(head -c 7 state-open/processor.ring)" = ESPLINK ]'
printf 'nonsense' | dd of=state-open/processor.ring bs=1 seek=20 conv=notrunc 2>/dev/null
start open2 espalier-sed --foreground "$work/open.conf"
goes_on() {
    grep -q 'readings of the processor are known from before' open2.out && grep -q 'processor.ring is damaged' open2.out
}
check "and known to its next life, but for those that were damaged" wait_until goes_on
check "a server may have none" wait_until closed_is_shown

# ---- one measurement, and nodes that hang ----
for load in load1 load2 load3; do
    stop $load KILL
done
cat >patient.conf <<END
name = "patient"
listen = "127.0.0.1:0"
address_file = "$work/patient.address"
lease = "120 s"
probe = "127.0.0.1:0"
probe_every = "1 h"
END
start patient espalier-agent --foreground patient.conf
wait_until test -s patient.address
cp patient.address master.address
for name in h1 h2 h3; do
    server $name 'sensors = no' "probe = \"$([ $name = h1 ] && echo 127.0.0.1:0 || echo none)\"" 'probe_every = "1 h"'
done
echo "agents = { \"$(cat patient.address)\" }" >client.conf
once_measured() {
    espalier weather >shown && cat shown && grep -Eq '^h1 <> patient +latencyTcp +[0-9.]+ .?s +\? +\? +[▁▂▃▄▅▆▇█]$|^patient <> h1 +latencyTcp +[0-9.]+ .?s +\? +\? +[▁▂▃▄▅▆▇█]$' shown &&
        espalier weather --json --resource bandwidthTcp | tr -d '\n' | grep -q '"now": [0-9.e+]*, "forecast": null, "error": null'
}
check "one measurement is no forecast yet" wait_until once_measured
are_there() {
    [ "$(espalier weather --summary | grep -c '^h[123] ')" -eq 3 ]
}
check "all are there" wait_until are_there
told_of_all() { # VERB: three that hang take as long as one
    # shellcheck disable=SC2154
    kill -STOP "$pid_h1" "$pid_h2" "$pid_h3"
    begun=$(date +%s)
    espalier "$1" >out 2>&1
    code=$?
    took=$(($(date +%s) - begun))
    kill -CONT "$pid_h1" "$pid_h2" "$pid_h3"
    cat out
    echo "exit code $code after $took s"
    [ $code -ne 0 ] && [ "$(grep -c 'h[123]: .*did not answer in time' out)" -eq 3 ] && [ $took -lt 10 ]
}
check "nodes that hang are waited for side by side" told_of_all weather
check "all have answered again" wait_until are_there
check "so are servers that are asked how good their forecasts were" told_of_all accuracy
finish
