#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Problems that are programs, called through a hierarchy: files and streams, output that comes while they run,
# progress, and what is left of them.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed

library=$top_builddir/tests/unit/.libs/libroutines.so
[ -f "$library" ] || skip_all "the library with the routines of the tests is not built"
mkdir problems
cat >problems/commands.esp <<EOF2
problem count "Lines, words and bytes of a text"
    in      file    text
    out     int     lines, words, bytes
implementation wc
    command wc
    stdin   text
    stdout  lines, words, bytes

problem reverse "The lines of a text, last first"
    in      file    text
    out     file    reversed
implementation tac
    command tac "{text}"
    stdout  reversed

problem script "A shell script"
    in      string  text
implementation sh
    command sh "-c" "{text}"
    limit   "20 s"

problem hasty "A shell script that must be quick"
    in      string  text
implementation sh
    command sh "-c" "{text}"
    limit   "500 ms"

problem picky "A shell script that knows its statuses"
    in      string  text
implementation sh
    command sh "-c" "{text}"
    error   status == 3 "the text is not liked"
    success status == 1

problem divided "A word that cannot always be made"
    in      int     n
implementation sh
    command sh "-c" "exit {10/n}"

problem judged "A result that cannot always be judged"
    in      int     n
    out     int     m
implementation sh
    command sh "-c" "echo {n}"
    stdout  m
    error   10/m > 5 "m is small"

problem noise "Bytes that are no text"
    in      int     n
    out     file    bytes
implementation sh
    command sh "-c" "printf '\\\\377\\\\376\\\\001'"
    stdout  bytes

problem columns "Every second column, doubled"
    in      int     n
    inout   int     A[n, 5:1,3,2]
implementation awk
    command awk "{{ for (i = 1; i <= NF; i++) \$i = 2 * \$i + 1; print }}"
    stdin   A
    stdout  A

problem picked "Some of many numbers"
    in      int     n, skip
    in      double  x[n:1,n - 1,skip]
    out     double  y[4:0,3,3]
implementation cat
    command sh "-c" "cat x.txt; cat x.txt | head -n 4 >y.txt" "{x}"
    file    y

problem unmarked "A script that lacks its execute bit"
    out     int     n
implementation script
    command unmarked.sh
    stdout  n

problem steps "A routine that tells how far it is"
    in      int     n
implementation c
    c       steps(n) in $library
EOF2
printf '#!/bin/sh\necho 7\n' >problems/unmarked.sh
agent_for_clients
server_below_agent sed S 'slots = 2' "problems = \"$work/problems\""

is_gone() {
    ! alive "$1"
}

printf 'one two\nthree\n' >text
mkdir tmp
check "the server has the commands" wait_until espalier problems script
check_fails 2 "a script that may not be executed" espalier call unmarked
check_says "is reported with its cure" 'server "S" describes it, but cannot call it: .*unmarked.sh may not be executed: chmod \+x .*unmarked.sh'
chmod +x problems/unmarked.sh
# shellcheck disable=SC2154
kill -HUP "$pid_sed"
check "which the server takes when it reads its files again" wait_until espalier call unmarked
check "so that it can be called" espalier call unmarked
check_says "and answers" '^n = 7'
chmod -x problems/unmarked.sh
kill -HUP "$pid_sed"
not_callable() { ! espalier problems unmarked; }
check "or no longer" wait_until not_callable
check_fails 2 "so that a call fails" espalier call unmarked
check_says "for the reason of now" 'unmarked.sh may not be executed'
check "numbers come back from standard output" espalier call count text=@text
check_says "as outputs" 'lines *= *2' 'words *= *3' 'bytes *= *14'
check "a file comes back, however long" espalier call reverse text=@text -o reversed=back
check "with its bytes" sh -c 'printf "three\none two\n" | cmp - back'
head -c 3000000 /dev/zero | tr '\0' '\n' >long
check "also a long one, in chunks" espalier call reverse text=@long -o reversed=back
check "with all its bytes" cmp long back

check "a file goes to standard output" sh -c 'TMPDIR=$PWD/tmp espalier call reverse text=@text -o reversed=- >back && printf "three\none two\n" | cmp - back'
check "as JSON it is a text in the value" espalier call --json reverse text=@text -o reversed=-
check_says "in full" '"reversed": "three\\none two\\n"'
check "bytes that are no text" espalier call --json noise n=1 -o bytes=-
check_says "come in base 64" '"base64": "//4B"'
check "the file in between is gone" rmdir tmp
check_fails 1 "an expression of the description without a value fails the call" espalier call divided n=0
check_says "with its place" 'problem divided: \{10/n\} in its command: '
check_fails 1 "as does an error clause" espalier call judged n=0
check_says "with its expression" '10/m'
check "of an array with a section the command sees all, with 0 where nothing travels" \
    espalier call columns n=2 'A=[1,2,3,4,5;6,7,8,9,10]'
check_says "and the section comes back" '1 +5 +3 +9 +5' '6 +15 +8 +19 +10'
check "the array may be read from one file and written to another" espalier call picked n=6 skip=2 'x=[1,2,3,4,5,6]' -F
check_says "whole" '^0$' '^2$' '^4$' '^6$'
check_fails 1 "an exit status is a failure" espalier call script text='echo no luck >&2; exit 7'
check_says "with what it said" 'sh ended with exit status 7; it said "no luck'
# A traceback of a kilobyte: all of its lines, as lines.
cat >deep.sh <<'END'
{ echo 'Traceback (most recent call last):'
for i in $(seq 20); do echo "  File \"model.py\", line $i, in step"; echo "    step(depth - 1)"; done
echo 'ValueError: no convergence'; } >&2
exit 1
END
check_fails 1 "a long traceback" espalier call script text="sh $work/deep.sh"
check_says "keeps its lines" '^Traceback .most recent call last.:$' '^  File "model.py", line 1, in step$' '^    step.depth - 1.$' \
    '^ValueError: no convergence$'
check_fails 1 "a longer one" espalier call script text='for i in $(seq 1000); do echo "line $i of many"; done >&2; exit 1'
check_says "keeps the last lines" '^\[\.\.\.\]$' '^line 950 of many$' '^line 1000 of many$'
check_fails 1 "a status with a clause" espalier call picky text='exit 3'
check_says "is what the clause says" 'the text is not liked'
check "one that is none of failure" espalier call picky text='exit 1'
check_fails 1 "one of which no clause speaks" espalier call picky text='echo Traceback >&2; exit 2'
check_says "is a failure as ever" 'sh ended with exit status 2; it said "Traceback'
mkfifo pipe
check_fails 4 "a pipe as a file" timeout 10 espalier call reverse text=@pipe
check_says "is not waited for" 'pipe: expected a regular file'
check_fails 3 "a command that takes too long is stopped" espalier call hasty text='sleep 100'
check_says "and the limit told" 'stopped after its time limit of 0.5 s'

# What it prints must come while it runs: the script waits for a file that only the sight of its line makes.
espalier call --follow script text="echo it begins; until [ -e $work/seen ]; do sleep 0.1; done; echo it ends" \
    >follow.out 2>follow.err &
follower=$!
begins() {
    grep -q 'it begins' follow.err
}
check "output comes while the command runs" wait_until begins
: >seen
check "and the call ends" wait "$follower"
check "with all of it" grep -q 'it ends' follow.err
check "a flood is bounded" espalier call --follow script text='seq 300000; echo the end'
check_says "and its end is there" 'the end'
gaps_are_told() { # behind a line that tells of one may stand the rest of a number
    awk '/lost\]/ { told = 2; next }
         /^[0-9]+$/ { if ($1 != last + 1 && !told) wrong = 1; last = $1; told -= told > 0 }
         END { exit wrong || last == 0 }' flood
}
cp "$log" flood
check "and nothing is lost without a word" gaps_are_told
check "ends of lines, tabs and other control characters" espalier call --follow script \
    text="printf '10%%\r20%%\r\r\n\033[31mred\ttext\r\nno end'"
printf '10%%\n20%%\n [31mred\ttext\nno end\n100 %% done\n' >wanted
cp "$log" printed
check "become lines that do no harm" diff wanted printed
check "progress is reported" espalier call --follow steps n=10
check_says "step by step" '100 % done' 'step 10'

check "a program follows its session" "$top_builddir/tests/e2e/follow_steps" 12
check_says "and gets output and progress while it runs" '^step 1$' '^step 12$' '^told early$'

# Who interrupts a sweep wants its calls to end, and who interrupts the reading of a file does not wait for it.
slow="echo \$\$ >>$work/swept; exec sleep 100"
espalier sweep script text="$slow" text="$slow " text="$slow  " text=" $slow" text=" $slow " text=" $slow  " text="  $slow" \
    text="  $slow " >sweep.out 2>&1 &
sweeper=$!
ended_by_signal() {
    wait "$1"
    [ $? -eq 143 ]
}
two_run() {
    [ "$(cat swept 2>/dev/null | wc -l)" = 2 ]
}
check "a sweep runs as much as there are slots" wait_until two_run
kill -TERM $sweeper
check "when it is interrupted it ends" ended_by_signal $sweeper
for pid in $(cat swept); do
    check "and its calls end" wait_until is_gone "$pid"
done
# The server may have begun them in another order than the sweep did: then a slot is free before all are cancelled.
check "those that waited have hardly ever begun" test "$(wc -l <swept)" -le 4

# The rows of a sweep are there as soon as its calls end, and another command makes the calls that lack.
slow="echo \$\$ >>$work/slowly; [ -e $work/go ] || exec sleep 100"
counted="echo x >>$work/counted"
sweep_five() {
    "$@" script text="$counted" text='exit 1' text="$slow" text=": ; $counted" text=": ; $slow" --parallel 2
}
sweep_five exec espalier sweep --csv >rows.csv 2>rows.err &
sweeper=$!
check "while a call runs, the rows of those before it are there" \
    wait_until sh -c '[ "$(wc -l <rows.csv)" = 3 ] && [ "$(cat slowly | wc -l)" = 2 ]'
kill -TERM $sweeper
check "it is interrupted" ended_by_signal $sweeper
check "what has ended behind that call has its row too" test "$(wc -l <rows.csv)" = 4
check "how much was done is reported" grep -q '3 of 5 calls have ended.*--resume' rows.err
touch go
check_fails 1 "another sweep goes on in that file" sweep_five espalier sweep --resume rows.csv
check_says "with what lacked or failed" '2 of 5 calls are in rows.csv already' '1 of 5 calls failed'
check "no call was made twice" test "$(wc -l <counted)" = 2
check "and each has its row" test "$(wc -l <rows.csv)" = 6
check_fails 4 "a file of another sweep is refused" espalier sweep picked n=6 skip=2 --resume rows.csv
check_says "by its heading" 'rows.csv, line 1: expected the heading'
check_fails 4 "and one with another option by its rows" sweep_five espalier sweep --resume rows.csv -s S
check_says "with both sweeps" "rows.csv, row 2: .* this sweep, 'script --server S', found one of 'script'"
check_fails 1 "a sweep whose rows nobody can take ends" sh -c "espalier sweep script text=: --csv >/dev/full"
mkfifo pipe
espalier call picked n=6 skip=2 x=@pipe >pipe.out 2>&1 &
reader=$!
exec 9>pipe # opened by both: it waits for bytes
kill -TERM $reader
check "reading from a pipe ends at once" ended_by_signal $reader
exec 9>&-
check_fails any "input without an end" sh -c "yes 1.5 | espalier call picked n=6 skip=2 --max-input 1MB x=@-"
check_says "has a limit" 'a file of such a matrix has at most [1-9][0-9]*\.?[0-9]* MB .--max-input sets the limit'
check_fails any "files too" espalier call count --max-input 1MB text=@long
check_says "with both sizes" 'text: long: expected at most 1 MB, found [23]\.?[0-9]* MB .--max-input'
check "which can be raised" espalier call count --max-input 4MB text=@long
check_fails 2 "to what is a size" espalier call count --max-input much text=@long
check "what is left behind is killed" espalier call --follow script \
    text="setsid sleep 1000 & echo \$! >$work/left; exit 0"
check_says "and told" '1 process that sh left behind was killed'
check "for good" wait_until is_gone "$(cat left)"

# ---- the process that makes workers is killed ----
spawner_of() { # spawner_of PID
    cat "/proc/$1/task"/*/children | tr ' ' '\n' | while read -r child; do
        tr '\0' ' ' <"/proc/$child/cmdline" | grep -q -- --spawner && echo "$child"
    done
}
rm left
espalier call --follow script text="setsid sleep 1000 & echo \$! >$work/left; sleep 1000" >/dev/null 2>&1 &
caller=$!
check "a command begins a process of its own session" wait_until test -s left
stray=$(cat left)
# shellcheck disable=SC2154
kill -9 "$(spawner_of "$pid_sed")"
check "which ends when the process that makes workers is killed" wait_until is_gone "$stray"
kill $caller
wait $caller
finish
