#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Data that come from files and go to files: what is there already is replaced as a whole, or not at all.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
steps=$top_builddir/tests/e2e/file_steps
[ -x "$steps" ] || skip_all "built without the ORB"
cat >copies.esp <<'END'
problem reverse "The lines of a text, last first"
    in      file    text
    out     file    reversed
implementation tac
    command tac "{text}"
    stdout  reversed
END
agent_for_clients
server_below_agent A A "state_dir = \"$work/state-A\"" \
    "problems = { \"$top_srcdir/tests/e2e/kinds.esp\", \"$top_srcdir/tests/e2e/product.esp\", \"$work/copies.esp\" }"
check "a server is there" wait_until servers 1
# shellcheck disable=SC2154
check "a call takes the value with which it began, whatever takes its place" timeout 120 "$steps" replaced "$pid_A"

# in_little_space COMMAND...: no file may become longer than some KB.
in_little_space() (
    trap '' XFSZ
    ulimit -f 16
    "$@"
)
is_as_it_was() { # is_as_it_was FOLDER: the file in it, and nothing beside
    [ "$(ls "$1")" = there ] && [ "$(cat "$1/there")" = before ]
}
mkdir arrays strings
echo before >arrays/there
echo before >strings/there
check_fails any "an array for which there is no room in its file" in_little_space "$steps" written arrays/there
check_says "is reported" 'arrays/there.*File too large'
check "and what was there still is" is_as_it_was arrays
check "where there is room, it is written" "$steps" written arrays/there
check "as a whole" [ "$(wc -c <arrays/there)" -eq 8000000 ]

seq 1 20000 >lines
check "an array of strings is put" espalier data put lines --type string --server A
id=$(cat "$log")
check_fails any "where there is no room for it" in_little_space espalier data get "$id" strings/there
check_says "that is reported" 'strings/there.*File too large'
check "and what was there still is" is_as_it_was strings
check "where there is room, it is written" espalier data get "$id" strings/there
check "as a whole" cmp lines strings/there

# ---- what a put leaves ----
npy() { # npy TYPE SHAPE ELEMENTS: a file
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$1', 'fortran_order': True, 'shape': ($2), }"
    printf "$3"
}
identities() {
    espalier data ls --json | grep -o 'A:[0-9a-f]\{32\}' | sort -u
}
no_note() { # of a put that could be gone on with
    [ -z "$(ls "$HOME/.local/state/espalier/puts")" ]
}
npy '<f8' '0, 5' 12345678 >longer.npy
identities >before
check_fails 4 "a file that goes on where its beginning says that it holds no elements" espalier data put longer.npy -s A
check_says "is reported" 'expected 0 bytes'
identities >after
check "and is no datum" cmp before after
npy '<f8' '0, 5' '' >none.npy
check "without more it is one" espalier data put none.npy -s A
check "as any other" espalier data rm "$(cat "$log")"
npy '<u8' '1,' '\377\377\377\377\377\377\377\377' >large.npy
check_fails any "a number that no integer holds" espalier data put large.npy -s A --type int64
check_says "is reported" 'does not fit 64 bits'
check "and nothing is noted to go on with" no_note

npy '<f8' '1,' 12345678 >one.npy
put_unheard() { # nobody reads the identity
    espalier data put one.npy -s A -m sticky >/dev/full
}
sticky() {
    espalier data ls --json | grep -o '"mode": "sticky"' | wc -l
}
check_fails any "who puts a datum and cannot print which one it is" put_unheard
check_says "says so" 'cannot write'
check "the next put" espalier data put one.npy -s A -m sticky
id=$(cat "$log")
check "tells it" [ "$(sticky)" -eq 1 ]
check "and nothing is noted any more" no_note
check "it goes" espalier data rm "$id"

printf '1\n2\n3\n' >text
printf '3\n2\n1\n' >backwards
printf 'more than what takes its place\n' >target
ln -s target link
check "a result that is a file goes through a link" espalier call reverse text=text -o reversed=link
check "to what that leads to" cmp backwards target
check "and the link stays" [ -h link ]
finish
