#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Completion: what the command offers, and what bash makes of it.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR

at_exit() {
    espalier down small --force >down.out 2>&1
}

# offers WORDS WANTED: completing the words (blanks between them) gives exactly these.
offers() {
    # shellcheck disable=SC2086
    espalier __complete $1 "$2" 2>/dev/null | sort | paste -sd' ' >offered
    [ "$(cat offered)" = "$3" ] || { echo "offered: $(cat offered)"; return 1; }
}

check "verbs are offered" offers "" s "solve submit sweep"
check "verbs of two words by their first" offers "" ma "matrix"
check "then their second" offers matrix "" "convert info"
check "also where the first is a verb by itself" offers problems ch "check"
check "files behind both" offers "problems check" own "files:"
check "and its own options" offers "problems check" --l "--libraries"
check "options of the verb" offers "matrix convert" --f "--format"
check "values of an option" offers "matrix convert --format" n "npy"
check "files" offers "matrix info" lund "files:"
# Whatever a verb's help names is offered, and nothing else.
all_options_offered() {
    espalier --help | sed -n 's/^  \([a-z]\{2,\}\( [a-z]\{2,\}\)\{0,1\}\)\( .*\)\{0,1\}$/\1/p' >verbs
    [ "$(wc -l <verbs)" -ge 40 ] || { echo "$(wc -l <verbs) verbs"; return 1; }
    while read -r verb; do
        # shellcheck disable=SC2086
        espalier $verb --help | sed -n '/^Options:/,/^$/s/^/ /p' | grep -Eo '^ +(-[a-zA-Z], )?--[a-z-]+' | grep -o -e '--.*' | sort >named
        # shellcheck disable=SC2086
        espalier __complete $verb -- | sort >offered
        [ -s named ] && cmp -s named offered || { echo "espalier $verb:"; diff named offered; return 1; }
    done <verbs
}
check "every option that a verb's help names" all_options_offered
check "types of values" offers "data put --type" doub "double"
check "without a platform no problems" offers call solve ""

for name in solve_one solve_two other; do
    cat <<EOF
problem $name "Solve A X = B"
    gams    D2a1
    in      int     n, nrhs
    in      char    uplo = 'U'
    require is(uplo, 'U', 'L') "uplo must be U or L"
    inout   double  A[n, n]
    out     int     ipiv[n]
    inout   double  B[n, nrhs]
implementation lapack
    fortran dgesv_(n, nrhs, A, max(1,n), ipiv, B, max(1,n), out info) in liblapack.so.3
EOF
done | sed '/^problem other/,$s/D2a1/D2b1b/' >own.esp
cat >small.conf <<EOF
problems = { "$work/own.esp" }
master "MA" { }
server "S1" { parent = "MA" slots = 1 }
EOF
check "a platform" espalier up small.conf
ESPALIER_CONFIG=$work/espalier/small/client.conf
export ESPALIER_CONFIG
check "problems are offered" offers "call" solve_ "solve_one solve_two"
check "of a problem the inputs" offers "call solve_one" "" "A= B= n= nrhs= uplo="
check "but not those that are given" offers "call solve_one A=[1] n=1" "" "B= nrhs= uplo="
check "behind @ files" offers "call solve_one" A=@x "files:A=@"
check "outputs behind -o" offers "call solve_one A=[1] -o" "" "A= B= ipiv="
check "and their files" offers "call solve_one A=[1] -o" B= "files:B="
check "servers" offers "call solve_one --server" "" "S1"
check "and what is behind the sign" offers "call solve_one A=[1]" uplo= "uplo=L uplo=U"
check "nothing where anything goes" offers "call solve_one A=[1]" n= ""
check "nodes" offers "admin drain" "" "MA S1"
check "nodes whose weather is wanted" offers "weather --node" "" "MA S1"
check "resources" offers "weather --resource" free "freeDisk freeMemory"
check "several of them" offers "admin restart S1" M "MA"
check "parents" offers "admin move S1 --to" "" "MA"
check "where something is disabled" offers "admin disable other --on" S "S1"
check "several problems" offers "admin disable other" solve_ "solve_one solve_two"
check "problems to calibrate" offers "calibrate" ot "other"
check "GAMS classes" offers "problems --gams" "" "D2a1 D2b1b"
check "platforms" offers "call --platform" s "small"
check "and which may be ended" offers "down" s "small"
check "modes of data" offers "data put --mode" per "persistent persistent-return"
printf '1\n2\n' >b.csv
id=$(espalier data put b.csv --server S1)
check "data" offers "data info" S1: "$id"
check "and servers for them, or more data" offers "data cp $id" "" "S1 $id"
check "data as arguments" offers "call solve_one A=[1]" B=data: "B=data:$id"
job=$(espalier submit solve_one A='[2]' B='[4]')
check "jobs" offers "fetch" "" "$job"
check "of several too" offers "wait nothing" "" "$job"
check "a platform by its option" offers "call --config $ESPALIER_CONFIG" ot "other"

# In bash, by its own rules for words: bash_offers LINE.
cat >try.bash <<'EOF'
source "$top_srcdir/etc/completion/espalier.bash"
COMP_LINE=$1 COMP_POINT=${#1}
_espalier
printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
EOF
bash_offers() {
    bash try.bash "$1" >offered 2>/dev/null
    [ "$(cat offered)" = "$2" ] || { echo "offered: $(cat offered)"; return 1; }
}
if command -v bash >/dev/null; then
    touch xa.mtx xb.mtx
    check "bash offers verbs" bash_offers "espalier matrix c" "convert"
    check "arguments" bash_offers "espalier call solve_one A=@xa.mtx B" "B="
    check "files behind the sign where bash ends a word" bash_offers "espalier call solve_one A=@x" "xa.mtx xb.mtx"
    check "files of operands" bash_offers "espalier solve xa" "xa.mtx"
    check "data behind their sign" bash_offers "espalier data info S1:" "${id#S1:}"
    check "problems" bash_offers "espalier problems solve" "solve_one solve_two"
fi
finish
