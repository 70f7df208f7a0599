#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Forecasts: before and after a calibration, from memory at the agent, and how good they were.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed espalier-crd espalier-calibrate
mkdir state

cat >master.conf <<END
name = "master"
listen = "127.0.0.1:0"
address_file = "$work/master.address"
END
start master espalier-agent --foreground "$work/master.conf"
wait_until test -s master.address
cat >sed.conf <<END
name = "here"
parent = "$(cat master.address)"
listen = "127.0.0.1:0"
slots = 1
threads = 1
state_dir = "$work/state"
problems = { "$top_srcdir/problems/blas", "$top_srcdir/problems/abstract" }
END
cat >client.conf <<END
agents = { "$(cat master.address)" }
END
ESPALIER_CONFIG=$work/client.conf
export ESPALIER_CONFIG

fails() { # CODE TEXT COMMAND...
    code=$1
    text=$2
    shift 2
    "$@" >out 2>&1
    found=$?
    cat out
    [ "$found" -eq "$code" ] && grep -qF -- "$text" out
}
shows() { # TEXT COMMAND...
    fails 0 "$@"
}
serves() {
    espalier forecast ddot n=1000 >out 2>&1 && grep -q '^here' out
}
# A size that was measured, however far a calibration comes on a busy machine.
measured_n() {
    sed -n 's/^measured .* \([0-9]*\) [0-9.e+]*$/\1/p' state/models/ddot-*-1-0.model | sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'
}
forecasts_measured() {
    espalier forecast ddot n="$measured_n" >out 2>&1 && grep -q '^here.*measured$' out && ! grep -q 'not measured' out
}
drawn() {
    model=$(echo state/models/ddot-*-1-0.model)
    espalier forecast --plot plot.svg "$model" || return 1
    grep -q '^<svg ' plot.svg && grep -c '<circle' plot.svg && tail -1 plot.svg | grep -q '</svg>'
}
noted() {
    espalier call dgemm m=700 n=700 k=700 A=@a.mtx B=@a.mtx -o C=c.npy >call.out 2>&1 || { cat call.out; return 1; }
    wait_until test -s state/accuracy.tsv
    cat state/accuracy.tsv
    espalier accuracy state/accuracy.tsv | grep '^dgemm  *1 '
}

start sed espalier-sed --foreground "$work/sed.conf"
check "a server is forecast by work over speed" wait_until serves
check "the table says so" shows 'not measured: work over speed' espalier forecast dgemm m=500 n=500 k=500
check "what would not fit is excluded, with the reason, and the exit code says that nobody can" fails 3 'excluded: needs' \
    espalier forecast dgemm m=400000 n=400000 k=400000
check "programs get JSON" shows '"compute_s"' espalier forecast --json ddot n=1000
check "a value that is given twice is reported" fails 2 'n is given twice' espalier forecast ddot n=10 n=20
check "sizes that are missing are reported, all of them" \
    fails 2 'dgemm: expected values of all scalar inputs, such as m=1000, missing: m, k' espalier forecast dgemm n=3
check "a word that is no value is reported" fails 2 "expected NAME=VALUE, such as n=1000, found 'n'" espalier forecast ddot n
check "an argument that is not there is reported" fails 2 "ddot has no argument 'q'; its scalar inputs: n" espalier forecast ddot n=3 q=4
check "a misspelt size is reported with the one that was meant, and with all" \
    fails 2 "dgemm has no argument 'alhpa': did you mean 'alpha'? its scalar inputs: " espalier forecast dgemm n=3 alhpa=4
check "so it is for an abstract problem" \
    fails 2 "solve has no argument 'nrsh': did you mean 'nrhs'?" espalier forecast solve m=3 n=3 nrsh=4
check "an array is no size" fails 2 'ddot: x: expected a scalar input (n)' espalier forecast ddot n=3 x=4
# Before anything has been sent: on one host data move within its memory, and where that was not measured the forecast says so.
unknown_links() {
    espalier forecast --json dgemm m=1000 n=1000 k=1000 | tr -d '\n' >out
    cat out
    sed -n 's/.*"transfer_s": \([0-9.e+-]*\).*"transfer_error_s": \([0-9.e+-]*\).*"transfer_by": "memory of this host".*/\1 \2/p' out |
        awk '{ good = $1 > 0.001 && $1 < 1 && $2 > 0.4 * $1 } END { exit !good }' || return 1
    grep -q '^[0-9]* .* sounded$' "$HOME/.cache/espalier/links" || return 1
    { cat client.conf && echo 'sound_links = no' && echo 'remember_links = no'; } >deaf.conf
    ESPALIER_CONFIG=deaf.conf espalier forecast --json dgemm m=1000 n=1000 k=1000 >out && cat out &&
        grep -q '"transfer_by": "not measured"' out || return 1
    ESPALIER_CONFIG=deaf.conf espalier forecast dgemm m=1000 n=1000 k=1000 >out && cat out &&
        awk '$1 == "here" { found = $0 ~ / [?] / } END { exit !found }' out && grep -q '^[?]: no link there was measured' out
}
check "an unknown link on this host is forecast by its memory, or told to be unknown" unknown_links
espalier calibrate --sed sed.conf --budget 3s --longest 10ms ddot >calibrate.out 2>&1
measured_n=$(measured_n)
# shellcheck disable=SC2154
kill -HUP "$pid_sed"
check "models are found at SIGHUP, and agents forecast by them" wait_until forecasts_measured
check "a model is drawn against its measurements" drawn
check "a picture is of one model" fails 2 'expected the file of one, found 2' espalier forecast --plot x.svg a.model b.model
check "a file that is no model is reported" fails 4 'expected a cost model' espalier forecast --plot x.svg sed.conf
awk 'BEGIN { print "%%MatrixMarket matrix array real general\n700 700"; for (i = 0; i < 490000; i++) print i % 7 }' >a.mtx
check "forecast and actual time of a session are noted" noted
# What a call taught of the link is there for the next program, whose forecasts count its transfers.
knows_its_link() {
    grep -q '^espalier-links 1$' "$HOME/.cache/espalier/links" || return 1
    espalier forecast --json dgemm m=700 n=700 k=700 | tr -d '\n' >out
    cat out
    sed -n 's/.*"transfer_s": \([0-9.e+-]*\).*/\1/p' out | awk '{ found = $1 > 0 } END { exit !found }'
}
forgets_by_wish() {
    mv "$HOME/.cache/espalier/links" kept.links
    { cat client.conf && echo 'remember_links = no'; } >forgetful.conf
    ESPALIER_CONFIG=forgetful.conf espalier call dgemm m=700 n=700 k=700 A=@a.mtx B=@a.mtx -o C=c.npy || return 1
    [ ! -e "$HOME/.cache/espalier/links" ] && mv kept.links "$HOME/.cache/espalier/links"
}
nonsense_is_set_aside() {
    echo nonsense >"$HOME/.cache/espalier/links"
    espalier forecast dgemm m=700 n=700 k=700 && [ -e "$HOME/.cache/espalier/links.damaged" ]
}
platform_tells() {
    espalier accuracy | tee told && grep -Eq '^here +dgemm +1 +[0-9.]+ % ' told &&
        espalier accuracy --json | grep -q '"server": "here"'
}
check "the platform's servers tell how good they were" platform_tells
short_ones_count() {
    for _ in 1 2 3; do
        espalier call ddot n=3 'x=[1,2,3]' 'y=[1,1,1]' >/dev/null || return 1
    done
    espalier accuracy | tee told
    grep -Eq '^here +ddot +below 1 ms +[0-9]+ +[0-9.]+ % ' told && espalier accuracy --json | tr -d '\n' | grep -q '"problem": "ddot", "short": true'
}
check "sessions below a millisecond, too" short_ones_count
check "a client's next program knows its link" knows_its_link
check "unless its file says that nothing is kept" forgets_by_wish
check "a damaged file of links is set aside" nonsense_is_set_aside
check "a server that nobody knows is reported, with those that there are" \
    fails 3 "no agent knows a server named 'hare'; did you mean 'here'?; there are: here" espalier forecast ddot n=1000 --server hare
check "a property" fails 3 'excluded: it has not the property "gpu"' espalier forecast ddot n=1000 --property gpu
check "the time" fails 3 'wanted within 1e-06 s' espalier forecast dgemm m=900 n=900 k=900 --deadline 1us
check "the memory" fails 3 'of memory, at most 1 MB are wanted' espalier forecast dgemm m=900 n=900 k=900 --memory '1 MB'
drained_is_excluded() {
    espalier admin drain here >/dev/null && fails 3 'here  excluded: it is draining: it takes no new sessions' espalier forecast ddot n=1000 &&
        espalier admin undrain here >/dev/null && wait_until serves
}
check "that it is draining" drained_is_excluded
solves_not() {
    ! espalier forecast ddot n=1000 >out 2>&1 && cat out && grep -q 'ddot' out
}
disabled_is_excluded() { # nobody solves it then
    espalier admin disable ddot --on here && wait_until solves_not
    excluded=$?
    espalier admin enable ddot --on here && wait_until serves && return $excluded
}
check "a problem that it may not solve any more" disabled_is_excluded
in_80_columns() {
    espalier forecast dgemm m=500 n=500 k=500 >out && cat out && ! LC_ALL=C sed 's/[\200-\277]//g' out | grep -E '.{81}'
}
check "the table has room on a terminal" in_80_columns
nothing_queued() { # 0 is shown as 0
    espalier forecast dgemm m=500 n=500 k=500 | grep -Eq '^here +[0-9.]+ .?s +[0-9.]+ .?s +~?[0-9.]+( .?s)? +0 +[0-9.]+ .?s'
}
check "with 0 for a queue that is empty" wait_until nothing_queued
check "a constraint that is none is reported" fails 2 '--deadline: expected a time' espalier forecast ddot n=1000 --deadline soon

# ---- what was learned outlives the server ----
learned() {
    head -1 state/corrections && tail -1 state/corrections | grep -q '^end [0-9a-f]*$'
}
long_enough() {
    espalier calibrate --sed sed.conf --budget 3s --longest 30ms dgemm || return 1
    kill -HUP "$pid_sed"
    awk 'BEGIN { print "%%MatrixMarket matrix array real general\n250 250"; for (i = 0; i < 62500; i++) print 1 }' >v.mtx
    # Calibration on a busy machine may not have reached this size: then the forecast is extrapolated.
    wait_until sh -c 'espalier forecast dgemm m=250 n=250 k=250 | grep -Eq "[^t] (measured|extrapolated)$"' || return 1
    for _ in 1 2 3 4; do espalier call dgemm m=250 n=250 k=250 A=@v.mtx B=@v.mtx -o C=c.npy || return 1; done
}
goes_on() {
    grep "$1" "$work/$2.out"
}
check "calls correct a model" long_enough
stop sed
check "its corrections are in a file when the server has stopped" learned
start sed2 espalier-sed --foreground "$work/sed.conf"
check "a server that is started again serves" wait_until serves
stop sed2
printf 'x' | dd of=state/corrections bs=1 seek=25 conv=notrunc 2>/dev/null
start sed3 espalier-sed --foreground "$work/sed.conf"
check "one with a damaged file too" wait_until serves
check "and says so" goes_on 'damaged or cut.*set aside as .*corrections.damaged' sed3
check "the file is kept for inspection" test -s state/corrections.damaged
check "a file that is missing is reported" fails 4 'nowhere' espalier accuracy nowhere
check "a device is reported" fails 4 '/dev/zero: expected a regular file, found a device' timeout 60 espalier accuracy /dev/zero
check "a folder is reported" fails 4 'state: expected a regular file, found a folder' timeout 60 espalier accuracy state
mkfifo pipe
check "a FIFO is reported, and nobody waits for who writes" fails 4 'pipe: expected a regular file, found a FIFO' timeout 60 espalier accuracy pipe
check "a file that is another one is reported" fails 4 'sed.conf: expected lines as a server writes them into accuracy.tsv' espalier accuracy sed.conf

# ---- a model file of another version: told, left out, and the others serve ----
later=$(echo state/models/ddot-*-1-0.model | sed 's/ddot/dlater/')
sed 's/^espalier-cost-model 1$/espalier-cost-model 4/' state/models/ddot-*-1-0.model >"$later"
kill -HUP "$pid_sed3"
check "a model of another version is reported" wait_until goes_on 'left out:.*expected a cost model of version 1 to 3, found one of version 4; calibrate again' sed3
check "the others serve" wait_until forecasts_measured
# ---- one that was measured under another name: used, and told ----
sed -i 's/^name = "here"$/name = "there"/' sed.conf
espalier calibrate --sed sed.conf --budget 200ms --longest 1ms dscal >calibrate.out 2>&1
sed -i 's/^name = "there"$/name = "here"/' sed.conf
kill -HUP "$pid_sed3"
check "models of another machine are reported" wait_until goes_on 'of these cost models were measured as "there"' sed3
# ---- one of a problem that this server has not ----
sed 's|problems/blas|problems/lapack/linear-systems|; s|, "[^"]*/abstract"||' sed.conf >systems.conf
espalier calibrate --sed systems.conf --budget 200ms --longest 1ms dpttrf >calibrate.out 2>&1
kill -HUP "$pid_sed3"
check "a model that serves no problem of the server is reported" wait_until goes_on \
    'serve no problem of this server, the first of them dpttrf: it is not here, or is described otherwise' sed3

# ---- one that was good and is damaged: what it said before serves, as long as the server runs ----
for model in state/models/ddot-*-1-0.model; do
    sed '1s/$/9/' "$model" >damaged && cp damaged "$model"
done
kill -HUP "$pid_sed3"
check "a model that is damaged under a running server is reported" \
    wait_until goes_on 'left as it was before: .*ddot-.*expected a cost model of version 1 to 3, found one of version 19' sed3
check "and serves as it was" forecasts_measured

# ---- what is no file, in the place of one: told, and nobody waits for it ----
stop sed3
rm -rf state/models state/corrections* state/processor.ring*
mkdir -p state/models/dasum-blas-1-0.model
mkfifo state/models/ddot-blas-1-0.model state/processor.ring state/corrections
start sed4 espalier-sed --foreground "$work/sed.conf"
check "a server with FIFOs and folders in the places of its files serves" wait_until serves
check "the FIFO of a model is reported" goes_on 'left out: .*ddot-blas-1-0.model: expected a regular file, found a FIFO' sed4
check "and the folder" goes_on 'left out: .*dasum-blas-1-0.model: expected a regular file, found a folder' sed4
check "the one of its corrections" goes_on 'corrections: expected a regular file, found a FIFO; it is set aside' sed4
check "and the one of its readings" wait_until goes_on 'processor.ring: expected a regular file, found a FIFO; measurements are kept in memory' sed4
stop sed4
rm -rf state/models state/corrections* state/processor.ring
printf 'rubbish' >state/corrections
start sed5 espalier-sed --foreground "$work/sed.conf"
check "damaged corrections are reported also where there are no models" wait_until goes_on 'corrections: expected corrections of models, found another file.*set aside' sed5
check "and set aside" test -s state/corrections.damaged

# ---- a second server, which is lost ----
sed 's/^name = .*/name = "other"/; /^state_dir/d' sed.conf >other.conf
start other espalier-sed --foreground "$work/other.conf"
check "a constraint excludes a server: its name" wait_until fails 0 'other  excluded: only server "here" is wanted' \
    espalier forecast ddot n=1000 --server here
stop other KILL
check "a server that is lost is reported, and the exit code says that the forecast is not whole" \
    wait_until fails 3 'espalier forecast: other is left out: it cannot be reached, and was last heard of' espalier forecast ddot n=1000
check "programs are told so" fails 3 '"unreachable": true' espalier forecast --json ddot n=1000
check "a request for another server succeeds" fails 0 here espalier forecast ddot n=1000 --server here
check "the same error comes from espalier accuracy" fails 3 'espalier accuracy: other: it cannot be reached (it was last heard of' espalier accuracy
check "to programs, too" fails 3 '"missing": "it cannot be reached' espalier accuracy --json
check "and of the weather" fails 3 'espalier weather: other: it cannot be reached' espalier weather
check "in a list" fails 3 '{"node": "other", "missing": "it cannot be reached' espalier weather --json
check "and in its summary" fails 3 'espalier weather: other: it cannot be reached' espalier weather --summary
check "but not where it is not asked for" fails 0 here espalier weather --summary --node here
finish
