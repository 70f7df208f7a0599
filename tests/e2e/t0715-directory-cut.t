#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A directory's file that was cut while a server stands on it, and what a server has kept of it, likewise.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-sed espalier-agent espalier-crd espalier-directory curl

mkdir problems empty
for name in first second third; do
    cat >problems/$name.esp <<END
problem $name "x := a x"
    in     int    n
    in     double a
    inout  double x[n]
    work   n
implementation blas
    fortran dscal_(n, a, x, 1) in libblas.so.3
END
done
agent_for_clients
printf 'name = "S"\nslots = 1\nmemory = "64 MiB"\nparent = "%s"\nproblems = { "%s/problems" }\n' "$agent" "$work" >known.conf
espalier directory export --output site.ldif known.conf || exit 99
cp site.ldif whole.ldif
{
    printf 'name = "S"\nlisten = "127.0.0.1:0"\nhttp = "127.0.0.1:0"\naddress_file = "%s/S.address"\n' "$work"
    printf 'state_dir = "%s/S.state"\nlog_file = "%s/S.log"\nslots = 1\nmemory = "64 MiB"\nparent = "%s"\n' "$work" "$work" "$agent"
    printf 'directory = "file:%s/site.ldif"\ndirectory_refresh = "100 ms"\nproblems = { "%s/empty" }\n' "$work" "$work"
} >S.conf
start S espalier-sed --foreground S.conf
solves_all() {
    for name in first second third; do
        espalier call $name n=1 a=3 'x=[2]' >called 2>&1 && grep -q 6 called || { cat called; return 1; }
    done
}
health_says() { # PATTERN
    curl -s "http://$(cat S.address.http)/health" | grep -Eq "$1"
}
check "a server finds its problems in a file" wait_until solves_all

# ---- the file, cut between two entries: one description is left ----
awk -v RS= -v ORS='\n\n' '{ print } /^dn: cn=first.esp|\ndn: cn=first.esp/ { exit }' whole.ldif >cut.ldif
check "a good part of it" sh -c 'grep -c "^dn:" cut.ldif && ! grep -q second.esp cut.ldif'
cp cut.ldif site.ldif
check "of a file that was cut it says that it is away" wait_until health_says 'the directory is away .*found a file that was cut .*: what it last said serves'
check "and solves all as before" solves_all
check_fails 4 "it is not written over either" espalier directory import --url "file:$work/site.ldif" whole.ldif
sed 1d cut.ldif >site.ldif
gone() {
    ! espalier problems | grep -q '^second '
}
check "one that was shortened on purpose is taken" wait_until gone
cp whole.ldif site.ldif
check "and is whole again" wait_until solves_all

# ---- what it has kept, while the directory is away ----
stop S
rm -f site.ldif S.address
check "what was kept is cut" sh -c 'head -c $(($(stat -c %s S.state/directory.ldif) / 2)) S.state/directory.ldif >half && cp half S.state/directory.ldif'
start S2 espalier-sed --foreground S.conf
check "a server that starts then solves all as before" wait_until solves_all
check "and says what serves" health_says 'the directory is away .*: its descriptions of problems serve as they are kept'
check "and what is damaged" grep -q 'what was kept of the directory is damaged: .*directory.ldif' S.log
cp whole.ldif site.ldif
check "until the directory is there again" wait_until health_says '^ok S: [^;]*$'
finish
