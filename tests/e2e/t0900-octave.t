#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Octave package: installed by pkg, calls of every kind, futures, Ctrl-C, what is wrong as an error, its manual.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed octave-cli mkoctfile "$top_builddir/client/.libs/libespalier.so.0" \
    "$top_builddir/bindings/octave/espalier-octave.tar.gz"
LD_LIBRARY_PATH=$top_builddir/client/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
OPENBLAS_NUM_THREADS=1
ESPALIER_CFLAGS="-I$top_srcdir/include -Werror"
ESPALIER_LIBS="-L$top_builddir/client/.libs -lespalier"
export LD_LIBRARY_PATH OPENBLAS_NUM_THREADS ESPALIER_CFLAGS ESPALIER_LIBS

quiet='--no-history --no-init-file --no-window-system --quiet'
octave() {
    # shellcheck disable=SC2086
    timeout 60 octave-cli $quiet "$@"
}
install_package() {
    octave --eval "pkg prefix $work/packages $work/packages; pkg local_list $work/list;
        pkg install $top_builddir/bindings/octave/espalier-octave.tar.gz"
}
check "pkg installs the package" install_package
load="pkg local_list $work/list; pkg load espalier; addpath (\"$top_srcdir/tests/octave\");"

mkdir problems
cp "$top_srcdir/tests/e2e/kinds.esp" "$top_srcdir/tests/python/python.esp" "$top_srcdir/tests/octave/octave.esp" problems
platform_of_all_problems "$work/problems"
for group in results types sparse_matrices futures bad_input problems connections notes forks leaves; do
    check "Octave: $group" octave --eval "$load calls ('$group')"
done

# An interactive Octave gets SIGINT in a call and in fetch(). It goes on each time.
cat >interrupted.m <<'EOF2'
espalier ("nap", 61234);
f = espalier_async ("nap", 61235); step = fopen ("step", "w"); fclose (step); fetch (f);
printf ("cancelled: %d\n", probe (f));
printf ("alive: %g\n", espalier ("copy_double", 5));
exit (0);
EOF2
# The command of `nap` runs on the server.
naps() {
    grep -lz "^$1\$" /proc/[0-9]*/cmdline >/dev/null 2>&1
}
has_woken() {
    ! naps "$1"
}
mkfifo commands
# shellcheck disable=SC2086
octave-cli $quiet --interactive --no-line-editing --eval "$load" --persist <commands >interrupted.out 2>&1 &
interpreter=$!
pids="$pids $interpreter"
exec 9>commands
cat interrupted.m >&9
interrupt() {
    wait_until naps "$1" && { [ -z "${2:-}" ] || wait_until test -e "$2"; } || return 1
    sleep 1 # into the wait; earlier, the signal ends the statement before it
    kill -INT "$interpreter" && wait_until has_woken "$1"
}
check "Ctrl-C in a call ends it on its server" interrupt 61.234
check "Ctrl-C in fetch(), too" interrupt 61.235 step
ends() {
    wait_until ended_as_asked
    cat interrupted.out
    ended_as_asked
}
ended_as_asked() {
    ! alive "$interpreter"
}
check "Octave continues, and ends on request" ends
check_says "the calls were cancelled" 'cancelled: 1$'
check_says "the next one works" 'alive: 5$'
exec 9>&-

sed -n '/^```octave$/,/^```$/p' "$top_srcdir/doc/octave.md" | sed '/^```/d' >manual.m
check "the examples of the manual run" octave --eval "$load source ('manual.m'); assert (x, [0.1; 0.6], 1e-12)"
finish
