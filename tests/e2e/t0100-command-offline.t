#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the espalier command does without a platform: help, matrix files, configuration files, wrong command lines.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
matrices=$top_srcdir/examples/matrices

no_verb_lacks_help() {
    espalier --help | awk '/^Verbs:/ { on = 1; next } /^$/ { on = 0 } on' |
        sed -E 's/^  ([a-z]+( [a-z]+)?)( .*)?$/\1/' >names
    [ "$(wc -l <names)" -ge 9 ] || return 1
    while read -r verb; do
        # shellcheck disable=SC2086
        espalier $verb --help >help || return 1
        grep -q "^Usage: espalier $verb" help && grep -q -e "--json" help && grep -q "^Exit codes:" help || return 1
    done <names
}

# The entries of two Matrix Market files in coordinates, whatever the digits.
same_matrix() {
    for file; do
        grep -v '^%' "$file" | awk 'NR > 1 { printf "%d %d %.15g\n", $1, $2, $3 }' | sort >"entries-$(basename "$file")"
    done
    cmp "entries-$(basename "$1")" "entries-$(basename "$2")"
}

check "every verb has its help" no_verb_lacks_help
check "the version is reported" espalier --version
check_says "with the name" '^espalier [0-9]+\.'
check_fails 2 "a command line without a verb is wrong" espalier
check_fails 2 "an unknown verb is wrong" espalier sovle
check_says "and the nearest one is named" "did you mean 'solve'"
check_fails 2 "half of a verb is wrong" espalier matrix
check_says "and the whole is named, with its neighbours" "expected 'espalier matrix info .*, or [a-z]+(, [a-z]+)*, found 'matrix'"
check "its help" espalier data --help
check_says "is that of all of them" '^  data put ' '^  data rm ' '^  data ls '
check_fails 2 "an unknown option is wrong" espalier tree --jsn
check_says "and the nearest one is named" "no option '--jsn': did you mean '--json'"
check_fails 2 "an unknown letter is wrong" espalier tree -Z
check_fails 2 "an option without its value is wrong" espalier solve A.mtx --server
check_says "and said so" "option '--server' needs a value"
check_fails 2 "too few arguments are wrong" espalier solve
check_says "and told what is expected" 'expected A \[B\], found 0'
check_fails 2 "too many arguments are wrong" espalier matrix info a b

check "a Harwell-Boeing file is recognised by its content" espalier matrix info "$matrices/utm300.rua"
check_says "its form, size and right-hand side" 'Harwell-Boeing' '300 x 300, 3155 entries' '1 right-hand side'
cp "$matrices/lund_a.rsa" lund.txt
check "whatever its name" espalier matrix info lund.txt
check_says "symmetric with both triangles" 'real symmetric' '2449 nonzeros' 'symmetric, positive diagonal'
check "a Matrix Market file as JSON" espalier matrix info --json "$matrices/lund_a.mtx"
check_says "with the same numbers" '^\{.*\}$' '"nonzeros": 2449' '"symmetric": true' '"rows": 147'
check "standard input" sh -c "espalier matrix info - <'$matrices/pores_1.mtx'"
check_fails 4 "a wrong matrix file" espalier matrix info "$matrices/wrong.mtx"
check_says "with file, line and reason" 'wrong.mtx:3: row 0: indices start at 1'
check_fails 4 "as JSON too" espalier matrix info --json "$matrices/wrong.mtx"
check_says "with the same text" '^\{"error": \{.*wrong.mtx:3: row 0: indices start at 1'
check_fails 4 "a missing file" espalier matrix info none.mtx
check_says "by name" 'none.mtx: no such file'
head -c 9000 "$matrices/lund_a.mtx" >short.mtx
check_fails 4 "a truncated file" espalier matrix info short.mtx
check_says "with what is missing" 'short.mtx:[0-9]+: '
printf '%%%%MatrixMarket matrix array real general\n100000 100000\n1\n' >lie.mtx
check_fails 4 "a header that lies" espalier matrix info lie.mtx
check_says "is found out before memory is taken" 'lie.mtx:2: 10000000000 entries are announced'
printf '%%%%MatrixMarket matrix coordinate real general\n1000000 1000000 1\n1 1 1\n' >huge.mtx
check "a sparse matrix whose dense form no memory holds" espalier matrix info huge.mtx
check_says "is looked at as it is" '1000000 x 1000000, 1 entries' 'dense +8 TB'
check_fails 3 "is not refused to problems that take sparse ones" espalier solve --agent 127.0.0.1:1 huge.mtx
for ending in npy csv hb rb octave mtx.gz; do
    check "a matrix becomes a file x.$ending" espalier matrix convert "$matrices/pores_1.mtx" "x.$ending"
    check "and a Matrix Market file again" espalier matrix convert "x.$ending" "back-$ending.mtx" --layout sparse
    check "with the same values" same_matrix "$matrices/pores_1.mtx" "back-$ending.mtx"
done
# What SciPy writes and reads. `python3` may be one without SciPy.
scipy=
for python in python3 /usr/bin/python3; do
    [ -n "$scipy" ] || ! $python -c 'import scipy.io' 2>/dev/null || scipy=$python
done
if [ -n "$scipy" ]; then
    cat >both.py <<EOF
import numpy, scipy.io, scipy.sparse
a = scipy.sparse.random(60, 60, density=0.2, random_state=1, format="csc")
a.data = (a.data - 0.5) * 10.0 ** numpy.arange(-a.nnz // 2, a.nnz - a.nnz // 2).clip(-300, 300)
scipy.io.mmwrite("wide.mtx", a, precision=17)
scipy.io.mmwrite("natural.mtx", numpy.array([[1, 2], [3, 4]], dtype=numpy.uint32))
numpy.savetxt("heading.csv", [[1.5, 2], [3, 4]], delimiter=",", header="a, b")
EOF
    cat >read.py <<EOF
import numpy, scipy.io
for name, ending in ("wide", "hb"), ("wide", "rb"), ("natural", "rb"), ("natural", "hb"):
    read, written = scipy.io.hb_read(name + "." + ending), scipy.io.mmread(name + ".mtx")
    written = written if isinstance(written, numpy.ndarray) else written.toarray()
    assert (read.toarray() == written).all(), name
EOF
    check "SciPy writes matrices" "$scipy" both.py
    check "which are read" espalier matrix convert wide.mtx wide.hb
    check "and become Rutherford-Boeing" espalier matrix convert wide.mtx wide.rb
    check "integers without a sign too" espalier matrix convert natural.mtx natural.rb
    check "in both" espalier matrix convert natural.mtx natural.hb
    check "tables of numpy.savetxt" espalier matrix info heading.csv
    check "SciPy reads the same matrices in them" "$scipy" read.py
fi
inputs=$top_srcdir/tests/fuzz/corpus/matrix
check_fails 4 "a spreadsheet with an error in a cell" espalier solve "$inputs/error-cell-row.csv"
check_says "is reported with the place" "error-cell-row.csv:2: expected a number as element 1, found '#DIV/0!'.*read as CSV"
check_fails 4 "a Matrix Market file without its first line" espalier solve "$inputs/lost-banner.mtx"
check_says "is reported as one" "lost-banner.mtx:1: expected '%%MatrixMarket matrix ...'"
sed 's/^FGX/MGX/' "$inputs/rhs-fgx.rua" >sparse-rhs.rua
check "a matrix with right-hand sides that are not read" espalier matrix info sparse-rhs.rua
check_says "is read, and a warning names what is left out" 'sparse-rhs.rua:5: right-hand sides of type "MGX".*left out' '3 x 3'
{ printf '# name: A\n# type: matrix\n# ndims: 3\n 2 2 2\n'; seq 1 8; } >deep.octave
for verb in 'solve deep.octave' 'matrix info deep.octave' 'matrix convert deep.octave flat.csv'; do
    # shellcheck disable=SC2086
    check_fails 4 "$verb: an array with three dimensions" espalier $verb
    check_says "is no matrix" 'deep.octave: expected at most two dimensions, found 3'
done
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 2\n1 1 3' >twice.mtx
check_fails 4 "an entry that is given twice" espalier matrix info twice.mtx
check_says "with what adds it" 'twice.mtx:4: entry \(1,1\) is given a second time; --sum-duplicates'
check "is added up when that is asked for" espalier matrix convert --sum-duplicates twice.mtx sum.csv
check_says "a last line without an end is reported" 'twice.mtx: its last line has no end'
check "with the sum" grep -qx 5 sum.csv
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n2\n' >column.mtx
cp column.mtx "$(printf 'gr\344n.mtx')"
check "a file whose name is no UTF-8, as JSON" sh -c "espalier matrix info --json gr?n.mtx >green.json"
check "is named with its byte" grep -qF '"gr\\xe4n.mtx"' green.json
check_fails 4 "one that is missing" espalier matrix info --json "$(printf 'wei\337.mtx')"
check_says "too" '"text": "wei..xdf.mtx: no such file"'
check_fails 1 "JSON for a full disk" sh -c "espalier matrix info --json column.mtx >/dev/full"
check_says "says that it is full" 'cannot write the result: No space left on device'
check_fails 1 "JSON without standard output" sh -c "espalier matrix info --json column.mtx >&-"
check_says "says that there is none" 'cannot write the result: Bad file descriptor'
# shellcheck disable=SC2188
check_fails 1 "standard input that is closed" timeout 20 sh -c 'espalier solve - <&-'
check_says "is not waited for" 'cannot read standard input: Bad file descriptor'
printf '\357\273\277redirector = "head.example.org"\n' >marked.conf
check "a configuration file may begin with a byte order mark" espalier config check --as client marked.conf
check "a matrix on standard output" sh -c "espalier matrix convert '$matrices/pores_1.mtx' - --format csv >pores.csv"
check "is recognised" espalier matrix info pores.csv
check_says "by its content" 'CSV, array, real general' '30 x 30'
check_fails 2 "a file whose ending names no format" espalier matrix convert "$matrices/pores_1.mtx" x.mat
check_says "is asked for one" 'x.mat: expected an ending that names a format'
check_fails 2 "a format that there is not" espalier matrix convert "$matrices/pores_1.mtx" x --format xls
check_says "with those that there are" "expected one of mtx, npy, rb, hb, octave, csv, found 'xls'"
check_fails 4 "a solve of a wrong file needs no platform to fail" espalier solve "$matrices/wrong.mtx"
check_says "with the same words" 'wrong.mtx:3: row 0: indices start at 1'
check_fails 2 "a system that is not square" espalier solve column.mtx
check_says "names what is for it" 'expected a square matrix, found 2 x 1' 'dgels'
printf '%%%%MatrixMarket matrix array real general\n2 2\n1\nnan\n0\n1\n' >nan.mtx
check_fails 4 "a system with what is no number" espalier solve nan.mtx
check_says "names the element" 'row 2, column 1 is not a finite number'
sed '3s/RUA/RUE/' "$matrices/utm300.rua" >elements.rue
check_fails 4 "a file of unassembled elements" espalier solve elements.rue
check_says "is reported as one" 'elements.rue:3: type RUE: expected an assembled matrix'
check_fails 2 "two files for one solution" espalier solve "$matrices/pores_1.mtx" -o a.mtx --output b.mtx
check_says "are one too many" "expected option '--output' once, found it with 'a.mtx' and with 'b.mtx'"
check_fails 2 "a platform's name with a folder" espalier up --name a/b
check_says "is none" "--name: expected letters.*found 'a/b'"
check_fails 2 "nor with other verbs" espalier tree --platform a/b
check "what is no finite number is a text in JSON" espalier matrix info --json nan.mtx
check_says "that says what it is" '"norm_inf": "NaN"'
check_fails 4 "a name with control characters" espalier solve "$(printf 'a\033[2Jb')"
check_says "does not reach the terminal" 'a\\x1b\[2Jb: no such file'
check_fails 2 "a right-hand side of another size" espalier solve "$matrices/pores_1.mtx" column.mtx
check_says "is distinguished" 'B has 2 rows, but A has 30'

check "the shipped problem descriptions are good" espalier problems check --libraries "$top_srcdir/problems"
check_says "with what they publish" '^dgesv +D2a1 +Solve A X = B.*lapack: esp_dgesv in libespalier-solvers.so' '[0-9]+ problems'
mkdir esp
printf 'problem good "it"\n in int n\nimplementation a\n fortran dgesv_(n) in liblapack.so.3\n' >esp/a.esp
printf 'problem bad "it"\n in doubel n\n' >esp/b.esp
printf 'problem ?bad for s, d "it"\n in scalar x[m]\n' >esp/c.esp
printf 'problem good "it"\n' >esp/d.esp
check_fails 4 "a folder with mistakes" espalier problems check esp nowhere.esp
check_says "has each told" "esp/b.esp:2:5: expected a type .*found 'doubel': did you mean 'double'" \
    "esp/c.esp:2:14: in the member 's': unknown name 'm'" \
    "esp/d.esp:1:9: the problem 'good' is described already in esp/a.esp:1" \
    'nowhere.esp: No such file' '^good .*lapack'
check_fails 4 "as JSON too" espalier problems check --json esp
check_says "with the same texts" '"good": false' "b.esp:2:5: expected a type"
rm esp/[bcd].esp
mkdir ranks
cat >ranks/pmul.esp <<END
problem pmul "C := A A"
    in      int     n
    in      double  A[n, n]
    out     double  C[n, n]
implementation ranks
    parallel fortran pdgemm_('N', 'N', n, n, n, double 1, A, 1, 1, desc(A), A, 1, 1, desc(A), double 0, C, 1, 1,
                     desc(C)) in libscalapack-openmpi.so.2.2
END
check "a problem for ranks that declares no work is good" espalier problems check ranks
check_says "but agents could forecast it if it did" \
    "ranks/pmul.esp:1: pmul declares no work .as 'work 2.m.n.k'.: servers forecast pdgemm_ by its model, agents cannot"
check "as JSON too" espalier problems check --json ranks
check_says "with the same text, beside the mistakes" '"good": true' '"hints": \[' 'pmul declares no work'
sed -i '4a\    work    2*n^3' ranks/pmul.esp
check "with its work" espalier problems check --json ranks
check_says "there is nothing to say" '"hints": \[\]'
printf 'problem more "it"\nimplementation a\n c nothing() in liblapack.so.3\nimplementation b\n c f() in libno.so.7\nproblem prints "it"\n out string s\nimplementation c\n command "no-such-program"\n stdout s\nimplementation d\n command "sort"\n stdout s\n' >esp/b.esp
check_fails 1 "a symbol that is nowhere" espalier problems check --libraries esp
check_says "is reported, and a library" "b.esp:2: problem more: liblapack.so.3 has no symbol 'nothing'" \
    'b.esp:4: problem more: cannot load the library: libno.so.7' \
    "b.esp:8: problem prints: there is no program .no-such-program. beside the description, in /usr/local/bin"
mkdir told
cat >told/tells.c <<'END'
#include <espalier_server.h>
#include <stdio.h>
__attribute__((constructor)) static void speak(void) { puts("loaded"); }
void tells(int n) { esp_progress((double)n); esp_checkpoint_save(&n, sizeof n); }
END
printf 'problem tells "It"\n in int n\nimplementation a\n c tells(n) in libtells.so\nproblem mute "It"\n in int n\nimplementation a\n c mute(n) in libtells.so\n' >told/a.esp
printf 'problem dies "It"\nimplementation a\n c f() in libdies.so\n' >told/b.esp
echo '#include <stdlib.h>
__attribute__((constructor)) static void die(void) { abort(); }' >told/dies.c
check "libraries" sh -c "${CC:-cc} -shared -fPIC -I'$top_srcdir/include' -o told/libtells.so told/tells.c && ${CC:-cc} -shared -fPIC -o told/libdies.so told/dies.c"
check_fails 1 "a library that calls what only the worker has" espalier problems check --libraries told
check_says "is loaded as a worker does it, and only what is missing is reported" \
    "a.esp:7: problem mute: libtells.so has no symbol 'mute'$" "b.esp:2: problem dies: loading libdies.so ends the process"
check "and nothing else" test "$(grep -c 'esp:[0-9]*: problem' "$log")" = 2
printf 'abstract it "Do it"\n in int n\n in double A[n, n]\n out double X[n, n]\n try dposv giving X = B when A symmetric\n take dgesv giving X = B\n' >esp/c.esp
mkdir lone
cp "$(command -v espalier)" lone
check "abstract problems are shown too" lone/espalier problems check esp
check_says "and that what they name is not looked up where nothing is installed" \
    '^2 steps of rules name problems that are not in these files, .* --known PATH'
check_says "with what they pick" '^it +Do it +picks dposv, dgesv$' '^4 problems$'
check "where it was built, the command looks them up" espalier problems check esp
no_unseen() { ! grep -q 'steps of rules' "$log"; }
check "in the problems of its source" no_unseen
mkdir rules
printf 'problem dfoo "it"\n in int n\n in double a[n]\n out double x[n]\nabstract it "Do it"\n in int n\n in double A[n]\n out double X[n]\n take dfoo(b = A) giving X = y\n take dfoo(a = A) giving X = a\n take it giving X = X\n take ?foo(c = A) giving X = x\n take elsewhere(q = A) giving X = z\n take dfoo(a = A) giving X = x\n' >rules/a.esp
check_fails 4 "rules that do not fit what they name" espalier problems check --known "$top_srcdir/problems" rules
check_says "are reported with their place" "rules/a.esp:9:12: it: expected an argument of dfoo .*a.esp:1., found 'b'" \
    "rules/a.esp:9:30: it: expected an output of dfoo .*, found 'y'" \
    'rules/a.esp:11:7: it: .*found it itself' "rules/a.esp:12:12: it: .*found 'c'"
check "and no others" test "$(grep -c 'a.esp:[0-9]*:[0-9]*: it:' "$log")" = 5
cat >rules/known.esp <<'EOF2'
abstract it "Do it"
    in      double  A[n, n]
    in      int     n
    out     double  X[n, n]
    take    dpotrff giving X = A then nobody(A = X) giving X = A
    take    ?gesvv giving X = B when A square
EOF2
check_fails 1 "steps that name no problem that is known" espalier problems check --known "$top_srcdir/problems" rules/known.esp
check_says "are reported with the nearest one" "known.esp:5:13: it: there is no problem 'dpotrff', .*: did you mean 'dpotrf'" \
    "known.esp:5:39: it: there is no problem 'nobody', neither here nor among those that are installed$" \
    "known.esp:6:13: it: there is no problem '\?gesvv', .*: did you mean 'dgesv'"
check_fails 4 "known problems are looked for" espalier problems check --known nowhere rules/known.esp
check_says "by name" 'nowhere'
check "without --libraries nobody looks" espalier problems check esp

letters_agree() { # letters_agree LETTER NAME: wherever one of them is an option, it is the other
    for verb in $(espalier --help | awk '/^  [a-z]/ { print $1 }' | sort -u); do
        espalier "$verb" --help 2>/dev/null | sed 's/^/ /' | grep -E -e "^ +(-$1, --|.*--$2 )" | grep -v -e "-$1, --$2\\b" && return 1
    done
    return 0
}
check "-f is --format with every verb that has either" letters_agree f format
check "-F is --follow with every verb that has either" letters_agree F follow

# Their certificates are made by the user who installs them.
mkdir samples
for file in "$top_srcdir"/etc/*.conf; do
    sed '/^tls_ca/s/.*/insecure = yes/; /^tls_/d' "$file" >"samples/$(basename "$file")"
done
check "the sample configuration files are good" espalier config check samples/*.conf
check_says "of every kind" 'sed.conf: a good server daemon file' 'platform.conf: a good platform file'
printf 'parent = "a:1"\nslots = many\n' >sed.conf
check_fails 4 "a bad value" espalier config check sed.conf
check_says "with file, line, expected and found" 'sed.conf:2: .*slots.*expected .*"?many"?'
printf 'parent = "a:1"\nslosts = 4\n' >sed.conf
check_fails 4 "an unknown key" espalier config check sed.conf
check_says "with the nearest one" 'sed.conf:2: unknown key "slosts"' 'slots'
printf 'parent = "a:1"\nproblems = { "%s/none" }\n' "$work" >problems-sed.conf
check_fails 4 "problem descriptions that are not there" espalier config check problems-sed.conf
check_says "by name" 'problems-sed.conf: .*/none'
mkdir descriptions && echo 'problem p "x" nonsense' >descriptions/bad.esp
printf 'parent = "a:1"\nproblems = { "%s/descriptions" }\n' "$work" >problems-sed.conf
check_fails 4 "problem descriptions that are wrong" espalier config check problems-sed.conf
check_says "with the place" 'bad.esp:1:'
check_fails 4 "certificates that are not there" espalier config check "$top_srcdir/etc/sed.conf"
check_says "by name" "cannot read the authority's certificate /etc/espalier/ca.pem"
check_fails 4 "a missing file" espalier config check none.conf
check_fails 4 "as JSON" espalier config check --json none.conf samples/sed.conf
check_says "with one answer for each file" '^\[\{.*"good": false.*"good": true.*\}\]$'
printf 'name = "here"\nscheduler = "nosuch"\nchildren = 4\n' >my-client.conf
check_fails 4 "what its keys tell counts for more than its name" espalier config check my-client.conf
check_says "and both are reported" 'scheduler: expected .*read as agent file, by its keys, though its name is that of a client file; --as'
printf 'name = "here"\nparent = "127.0.0.1:1"\n' >either.conf
check "a file of which its keys do not tell" espalier config check either.conf
check_says "is reported as such" 'either.conf: a good agent file \(guessed: its keys fit files of kind agent and server daemon alike\)'
printf 'name = "here"\nlisten = "127.0.0.1:0"\n' >any.conf
check "what every daemon may have" espalier config check any.conf
check_says "is taken for an agent's" 'any.conf: a good agent file \(guessed: its keys fit files of kind redirector and agent '
printf 'parent = "nowhere.invalid"\n' >away-sed.conf
check "a host that cannot be resolved is no mistake of the file" espalier config check away-sed.conf
check_says "but is reported" 'a good server daemon file \(by its name\), but parent names "nowhere.invalid:4780", and the host "nowhere.invalid" cannot be resolved'
printf 'name = "here"\nlisten = "nowhere.invalid:24799"\n' >deaf.conf
check_fails 4 "a name to listen at that cannot be resolved" espalier config check --as agent deaf.conf
check_says "is reported before missing certificates" 'found "nowhere.invalid", which cannot be resolved'
echo 'insecure = yes' >>deaf.conf
for kind in redirector agent sed; do
    [ $kind != sed ] || echo 'parent = "127.0.0.1:1"' >>deaf.conf
    check "without them a $kind file may be good" espalier config check --as $kind deaf.conf
    check_says "but the name is reported" 'a good .* file, but listen names "nowhere.invalid:24799", and the host "nowhere.invalid" cannot be resolved'
done
printf 'zzzzzz = 3\n' >unknown.conf
check_fails 4 "a key of no file" espalier config check --as agent unknown.conf
check_says "is reported in English" 'unknown key "zzzzzz" in the configuration of an agent'
check_fails 4 "of any kind" espalier config check --as redirector unknown.conf
check_says "likewise" 'unknown key "zzzzzz" in the configuration of a redirector'
check_fails 2 "a kind that is none" espalier config check --as server sed.conf
check_says "names those that are" 'client, redirector, agent, sed, platform'
printf 'name = "here"\nlisten = "127.0.0.1:0"\nchildren = 4\n' >based.conf
check "a word within a word of the name tells no program" espalier config check based.conf
check_says "and it is said which was guessed" 'based.conf: a good agent file \(guessed from its keys\)'
check_fails 4 "but the user may say which it is" espalier config check --as espalier-sed based.conf
check_says "and is believed" 'based.conf.*unknown key "children"'
printf 'name = "here"\nlisten = "127.0.0.1:0"\nslots = 4\nchildren = 4\nfreshness = "1 s"\n' >node.conf
check_fails 4 "a file that is taken for another program's" espalier config check node.conf
check_says "says so" 'unknown key "slots".*read as agent file, guessed from its keys; --as'

check_fails 3 "no platform is known" espalier tree
if [ -x "$top_builddir/agent/espalier-agent" ]; then
    check_says "and how to get one" "espalier up"
    # The label is too long for a name, so no name server is asked for it.
    nobody=$(printf '%070d' 0 | tr 0 x)
    check_fails 3 "the address of a redirector may lack its port" espalier tree --redirector "$nobody"
    check_says "as in a file" "redirector at $nobody:4780|\"$nobody\" cannot be resolved"
else # a build --without-omniorb
    check_says "and that this build has no network" "has no network: install it with .* apt-get install"
    check_fails 3 "nor can a platform be started" espalier up
    check_says "for the same reason" "has no network: install it with .* apt-get install"
fi
check_fails 3 "a platform that does not run here" espalier tree --platform nowhere
check_says "by name" "no platform 'nowhere' runs here"
check_fails 3 "a redirector where nobody listens" espalier tree --redirector 127.0.0.1:1
check_fails 3 "an agent where nobody listens" espalier call dgesv --agent 127.0.0.1:1 A=[1] B=[1]
check_fails 4 "a client file that is not there" espalier tree --config none.conf
printf 'redirectr = "a:1"\n' >client.conf
check_fails 4 "a client file with an unknown key" env ESPALIER_CONFIG=client.conf espalier tree
check_says "with the nearest one" 'client.conf:1: unknown key "redirectr"' 'redirector'
check_fails 1 "there is nothing to stop" espalier down
check_says "and said so" "no platform 'default' was started here"
check_fails 2 "a name that is none" espalier down 'a b'
check_fails 4 "a platform file that is not there" espalier up none.conf
check_fails 4 "a file of another kind" espalier up "$top_srcdir/etc/sed.conf"
printf 'master "M" { }\nserver "S" { parent = "X" }\n' >lost.conf
check_fails 4 "a platform that is no tree" espalier up lost.conf
check_says "with the name that is not there" 'lost.conf:?[0-9]*:? .*"?X"?'
check_fails any "a port that is none" espalier tree --redirector localhost:x
check_says "is reported" "the redirector's address: expected a port from 0 to 65535"
finish
