#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The directory as a file: those who write it at once lose nothing, and daemons that stand on it are started before it is there.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-sed espalier-agent espalier-crd espalier-directory curl

# ---- several at once ----
for i in 1 2 3 4 5 6 7 8; do
    printf 'name = "node%s"\nparent = "127.0.0.1:1"\nslots = 1\nproblems = { "%s/problems/blas/level1.esp" }\n' $i "$top_srcdir" >node$i.conf
    espalier directory export --output node$i.ldif node$i.conf || exit 99
done
all_at_once() {
    importers=''
    for i in 1 2 3 4 5 6 7 8; do
        espalier directory import --timeout 60s --url "file:$work/site.ldif" node$i.ldif >import$i.out 2>&1 &
        importers="$importers $!"
    done
    for importer in $importers; do
        wait "$importer" || { cat import?.out; return 1; }
    done
}
all_there() {
    for i in 1 2 3 4 5 6 7 8; do
        grep -qx "dn: cn=node$i,ou=machines,ou=espalier" site.ldif || { echo "node$i is missing"; return 1; }
    done
    [ ! -e site.ldif.lock ]
}
for round in 1 2 3; do
    rm -f site.ldif
    check "eight import into one file at once ($round)" all_at_once
    check "and what each of them has brought is there ($round)" all_there
done

# ---- daemons before their directory ----
mkdir problems empty
cat >problems/scaled.esp <<'END'
problem scaled "x := a x"
    in     int    n
    in     double a
    inout  double x[n]
    work   n
implementation blas
    fortran dscal_(n, a, x, 1) in libblas.so.3
END
agent_for_clients
printf 'name = "S"\nslots = 1\nmemory = "64 MiB"\nparent = "%s"\nproblems = { "%s/problems" }\n' "$agent" "$work" >known.conf
espalier directory export --output known.ldif known.conf || exit 99
printf 'dn: cn=LA,ou=entries,ou=espalier\nobjectClass: espalierEntry\ncn: LA\nespalierRole: leader\nespalierAddress: 127.0.0.1:4790\nespalierParent: %s\n' "$agent" >>known.ldif
grep -q '^dn: ou=entries,' known.ldif ||
    printf '\ndn: ou=entries,ou=espalier\nobjectClass: organizationalUnit\nou: entries\n' >>known.ldif
of_the_directory() { # NAME: the lines that both daemons have
    printf 'name = "%s"\nlisten = "127.0.0.1:0"\nhttp = "127.0.0.1:0"\naddress_file = "%s/%s.address"\n' "$1" "$work" "$1"
    printf 'state_dir = "%s/%s.state"\nlog_file = "%s/%s.log"\n' "$work" "$1" "$work" "$1"
    printf 'directory = "file:%s/late.ldif"\ndirectory_refresh = "300 ms"\n' "$work"
}
{
    of_the_directory S
    printf 'slots = 1\nmemory = "64 MiB"\nproblems = { "%s/empty" }\n' "$work"
} >S.conf
of_the_directory LA >LA.conf
health_says() { # NAME PATTERN
    curl -s "http://$(cat "$1.address.http")/health" | grep -Eq "$2"
}
check "an agent that only the directory tells whom to join starts without it" timeout 60 espalier-agent LA.conf
check_says "and says what it waits for" 'started, but it waits for the directory.*: there is no file .*late.ldif'
pids="$pids $(sed -n 's/^held \([0-9]*\) .*/\1/p' LA.state/lock)"
check "in its health, too" health_says LA '^not ok LA: waits for the directory.*: there is no file .*late.ldif'
start S espalier-sed --foreground S.conf
check "a server without a problem and a parent of its own starts, too" wait_until health_says S '^not ok S: .*the directory is away \(there is no file .*late.ldif'
in_the_tree() { # NAME
    espalier tree --json | tr -d '\n' | grep -q "\"name\": \"$1\""
}
nobody_else_is_there() {
    in_the_tree MA && ! in_the_tree LA && ! in_the_tree S
}
check "neither is in the tree yet" nobody_else_is_there
is_solved() {
    espalier call scaled a=3 'x=[1,2]' >called 2>&1 && grep -q 6 called
}
mv known.ldif late.ldif
check "when it is there, the server finds its problem and its parent" wait_until is_solved
check "is well" wait_until health_says S '^ok S: server below "MA"'
check "and the agent joins" wait_until in_the_tree LA
check "and is well, too" wait_until health_says LA '^ok LA: '

# ---- one that waits can be ended ----
sed "s/\"LA\"/\"LB\"/; s|/LA|/LB|; s|late.ldif|never.ldif|" LA.conf >LB.conf
start LB espalier-agent --foreground LB.conf
check "another one waits" wait_until health_says LB '^not ok LB: waits'
check "and ends in good order" stop LB
check "without leaving its files" sh -c '! ls LB.address LB.address.http'
finish
