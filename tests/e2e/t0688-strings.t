#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Arrays of strings as data: put and got as lines, taken and left by calls, in the command and in a program.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
steps=$top_builddir/tests/e2e/string_steps
[ -x "$steps" ] || skip_all "built without the ORB"

sed "s|LIBRARY|$top_builddir/tests/e2e/.libs/libargumentroutines.so|" >strings.esp <<'END'
problem numbered "Each text and its number"
    in      int n
    in      string texts[n]
    out     int lengths[n]
    out     string numbers[n]
implementation c
    c       number_texts(n, texts, lengths, numbers) in LIBRARY
problem swapped "The first and the last change places"
    in      int n
    inout   string texts[n]
    require n >= 2
implementation c
    c       swap_texts(n, texts) in LIBRARY
problem sorted_lines "Lines of a stream"
    in      int n
    in      string lines[n]
    out     string sorted[n]
implementation sort
    command sort
    stdin   lines
    stdout  sorted
problem joined "Files"
    in      int n
    in      file parts[n]
    out     file whole
implementation sh
    command sh "-c" "cat \"$@\" >whole" "sh" "{parts}"
    file    whole
END
agent_for_clients
for name in A B; do
    server_below_agent $name $name "state_dir = \"$work/state-$name\"" 'slots = 1' "problems = { \"$work/strings.esp\", \"$top_srcdir/tests/e2e/product.esp\" }"
done
servers() {
    espalier problems | grep -Eq '^numbered .* 2 '
}
check "two servers are there" wait_until servers
printf 'pear\napple\n\nquince and more' >lines.txt
printf 'pear\napple\n\nquince and more\n' >whole.txt

check "a file with a line for each is put" espalier data put lines.txt --type string --server A --mode persistent
id=$(cat "$log")
check "it is an array of strings" espalier data info "$id"
check_says "of four" 'string\[4\]'
check "its lines come back" espalier data get "$id" back.txt
check "as they were" cmp back.txt whole.txt
check "also to standard output" sh -c "espalier data get $id - | cmp - whole.txt"
durable() {
    stop A KILL
    start_server A
    wait_until servers && espalier data get "$id" again.txt && cmp again.txt whole.txt
}
check "persistent ones survive their server" durable

check "a call takes it, and n follows" espalier call numbered "texts=data:$id" -o lengths=lengths.csv -o numbers=numbers.txt
check "every text is there" cmp lengths.csv - <<'END'
4
5
0
15
END
check "on another server as well" espalier call numbered "texts=data:$id" --server B -o numbers=elsewhere.txt
check "where they are the same" cmp elsewhere.txt numbers.txt
check "and a command" espalier call sorted_lines "lines=data:$id" -o sorted=sorted.txt
check "gets them" sh -c 'sort lines.txt | cmp - sorted.txt'
check "what a call gives stays where it was made" espalier call sorted_lines "lines=data:$id" --server B -o sorted=data:persistent
check_says "and has an identity of that server" '^sorted = data:B:[0-9a-f]{32}$'
sorted=$(sed -n 's/^sorted = data://p' "$log")
check_fails any "no client has put it there" grep -q "$(echo "$sorted" | cut -c 1-10).*: stored," B.log
check "which another call takes" espalier call swapped "texts=data:$sorted" --server A -o texts=swapped.txt
check "changed" cmp swapped.txt - <<'END'
quince and more
new
pear

END
check "the datum is as it was" sh -c "espalier data get $sorted - | cmp - sorted.txt"
check "it is copied" espalier data cp "$sorted" A
check "and moved" espalier data mv "$sorted" A
check "a program does all that" "$steps" B

# ---- what is wrong ----
check_fails 2 "strings are a datum as a whole" espalier call numbered "texts=data:${id}[1:2]"
check_says "which is reported" 'texts: an array of strings is a datum as a whole'
check_fails 2 "one datum is no array of another type" espalier call product n=2 "A=data:$id" 'B=[1,2;3,4]'
check_says "with both" 'A'
check_fails 2 "files cannot be data" espalier call joined "parts=data:$id"
check_says "and say what can" 'parts: only arrays of numbers, characters and strings can be data, found an array of type file'
check_fails 2 "strings do not lie in pieces" espalier data put lines.txt --type string --server A --grid 2x2 --block 2
check_says "which is reported too" 'does not lie in pieces'
check_fails 4 "a file that is not there" espalier data put nothing.txt --type string --server A
check_says "is named" 'nothing.txt: no such file'
printf 'a\000b\n' >zero.txt
check_fails any "a byte 0 is no part of a string" espalier data put zero.txt --type string --server A
check_says "and is reported with its file" 'zero.txt'
job() {
    job=$(espalier submit numbered "texts=data:$id") && espalier fetch "$job" --wait -o numbers=job.txt && cmp job.txt numbers.txt
}
check "a job takes them" job
check "they are deleted" espalier data rm "$id" "$sorted"
check_fails 5 "and gone" espalier data get "$id" back.txt
finish
