#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every kind of argument on its way from a C program, and from the command line, to a routine and back.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed gfortran
XDG_RUNTIME_DIR=$work
export XDG_RUNTIME_DIR
steps=$top_builddir/tests/e2e/argument_steps

at_exit() {
    espalier down kinds --force >down.out 2>&1
}

# Texts as Fortran has them: all of one length, which the routine gets beside the array.
cat >texts.f90 <<'END'
subroutine measure(n, texts, declared, used)
    integer, intent(in) :: n
    character(*), intent(in) :: texts(n)
    integer, intent(out) :: declared, used(n)
    declared = len(texts)
    used = len_trim(texts)
end subroutine
subroutine greet(n, names, polite, greetings)
    integer, intent(in) :: n
    character(*), intent(in) :: names(n)
    character(*), intent(inout) :: polite(n)
    character(12), intent(out) :: greetings(n)
    integer :: i
    do i = 1, n
        greetings(i) = "Hello " // names(i)
        if (len(polite) /= 7) polite(i) = "wrong"
        polite(i) = trim(polite(i)) // "!"
    end do
end subroutine
END
check "texts of Fortran" gfortran -shared -fPIC -Wall -Werror -o libtexts.so texts.f90

mkdir descriptions
cat >descriptions/fortran.esp <<END
problem measured "Lengths, declared and used"
    in      int n
    in      string texts[n]
    out     int declared
    out     int used[n]
implementation gfortran
    fortran measure_(n, texts, declared, used) in "$work/libtexts.so"

problem greeted "Texts in, changed and out"
    in      int n, width = 12
    in      string names[n]
    inout   string polite[n]
    out     string greetings[n]
implementation gfortran
    fortran greet_(n, character(names, 5), character(polite, width - 5), character(greetings, width)) in
            "$work/libtexts.so"
END
sed "s|LIBRARY|$top_builddir/tests/e2e/.libs/libargumentroutines.so|" >descriptions/kinds.esp <<'END'
problem every_scalar "Each type of scalar, by value and by address"
    in      char a
    in      short b
    in      int c
    in      long d
    in      int64 e
    in      float f
    in      double g
    in      complex h
    in      double complex i
    in      string words
    out     char a2
    out     short b2
    out     int c2
    out     long d2
    out     int64 e2
    out     float f2
    out     double g2
    out     complex h2
    out     double complex i2
    out     int length
implementation c
    c       every_scalar(a, b, c, d, e, f, g, h, i, words, a2, b2, c2, d2, e2, f2, g2, h2, i2, length) in LIBRARY

problem ?kept_c for a char, b short, i int, l long, q int64, s, d, c, z "Every shape of arrays of a type"
    in      int m, n
    in      scalar v[n], A[m, n], T[1, n, 1, 2, 1, m, 1], R[m, n] row-major, S[2*n:1,2*n - 1,2]
    in      scalar w[n] = 7
    inout   scalar v2[n], A2[m, n], T2[1, n, 1, 2, 1, m, 1], S2[2*n:1,2*n - 1,2], P2[n, n] packed
    out     scalar v3[n], A3[m, n], T3[1, n, 1, 2, 1, m, 1], R3[m, n] row-major, S3[n], w3[n]
    work    scalar room[2*m*n]
implementation c
    c       keep(int64 {1,2,4,8,8,4,8,8,16}, m, n, v, A, T, R, S, w, v2, A2, T2, S2, P2, v3, A3, T3, R3, S3, w3,
                 room) in LIBRARY

problem ?kept_fortran for a char, b short, i int, l long, q int64, s, d, c, z "The same, and scalars by address"
    in      int m, n
    in      scalar s, t = 7
    inout   scalar u
    out     scalar x, t3
    in      scalar v[n], A[m, n], T[1, n, 1, 2, 1, m, 1], R[m, n] row-major, S[2*n:1,2*n - 1,2]
    in      scalar w[n] = 7
    inout   scalar v2[n], A2[m, n], T2[1, n, 1, 2, 1, m, 1], S2[2*n:1,2*n - 1,2], P2[n, n] packed
    out     scalar v3[n], A3[m, n], T3[1, n, 1, 2, 1, m, 1], R3[m, n] row-major, S3[n], w3[n]
    work    scalar room[2*m*n]
implementation c
    fortran keep_(int64 {1,2,4,8,8,4,8,8,16}, m, n, s, t, u, x, t3, v, A, T, R, S, w, v2, A2, T2, S2, P2, v3, A3, T3,
                  R3, S3, w3, room) in LIBRARY

problem next_numbers "64-bit integers"
    in      int n
    inout   int64 x[n]
    in      double weight[n] = 1
    out     int64 largest
implementation ours
    c       next_numbers(n, x, largest) in LIBRARY

problem tensor "Seven dimensions"
    in      int n
    inout   double T[2, 3, 1, 2, 1, 2, n]
    out     double sum
implementation c
    c       sum = negate_all(int64 24*n, T) in LIBRARY

problem layers "Three dimensions by rows"
    inout   double T[2, 3, 2] row-major
    out     double sum
implementation c
    c       sum = negate_all(int64 12, T) in LIBRARY

problem csc_negated "- A, in compressed columns"
    in      int m, n, nz
    in      int pointers[n + 1], indices[nz]
    inout   double A[m, n] csc(pointers, indices)
    out     double sum
implementation c
    c       sum = negate_all(int64 nz, A) in LIBRARY

problem labels "Letters"
    out     char title[12], names[4, 2], marks[3]
implementation sh
    command sh "-c" "printf 'a title     ' >title; printf 'one two ' >names; printf '\\001\\002U' >marks"
    file    title "title"
    file    names "names"
    file    marks "marks"

problem ends "What lies in an array of no rows"
    in      int m, n
    in      double A[m, n]
    in      double x[n]
    out     double y[m]
    require m == 0
implementation sh
    command sh "-c" ": >y.txt" "{A}" "{x}"
    file    y

problem dppsv_ "A packed system"
    in      char uplo = 'U'
    in      int n, nrhs
    inout   double A[n, n] symmetric positive-definite packed(uplo) finite
    inout   double B[n, nrhs]
implementation lapack
    fortran dppsv_(uplo, n, nrhs, A, B, max(1,n), out info) in liblapack.so.3
    error   info > 0 "the leading minor of order {info} is not positive"

problem dgbsv_ "A banded system"
    in      int n, kl, ku, nrhs
    inout   double A[n, n] banded(kl, ku, kl)
    out     int ipiv[n]
    inout   double B[n, nrhs]
implementation lapack
    fortran dgbsv_(n, kl, ku, nrhs, A, 2*kl + ku + 1, ipiv, B, max(1,n), out info) in liblapack.so.3
    error   info > 0 "it is singular"

problem csc_times "A x, in compressed columns that count from 1"
    in      int m, n, nz
    in      int pointers[n + 1], indices[nz]
    in      double A[m, n] csc(pointers, indices, 1)
    in      double x[n]
    out     double y[m]
implementation c
    c       csc_times(m, n, pointers, indices, A, 1, x, y) in LIBRARY

problem csr_times "A x, in compressed rows"
    in      int m, n, nz
    in      long pointers[m + 1], indices[nz]
    in      complex A[m, n] csr(pointers, indices)
    in      complex x[n]
    out     complex y[m]
implementation c
    c       csr_times(m, pointers, indices, A, x, y) in LIBRARY

problem strided "Every other element, from the second"
    in      int n, skip = 2
    inout   double x[n:1,n - 1,skip]
    out     double sum
implementation c
    c       sum = ten_times(int64 n, x) in LIBRARY

problem one_more "B and C are one more; how far columns lie apart for the routine"
    in      int m, n
    in      double A[m, n]
    out     float B[m, n]
    inout   double C[m, n]
    out     int there, back
implementation c
    c       one_more(m, n, A, leading(A), B, leading(B), C, leading(C), there, back) in LIBRARY

problem counting "Some rows of some columns"
    in      int m
    out     int A[m:1,m - 1,3, 300:10,299,2]
implementation c
    c       count_up(300*m, A) in LIBRARY

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

problem borrowed "Texts of others"
    in      int n
    in      string texts[n]
    out     string borrowed[n]
implementation c
    c       borrow_texts(n, texts, borrowed) in LIBRARY

problem wrong_texts "An address that leads nowhere"
    in      int n
    out     string texts[n]
implementation c
    c       wrong_texts(n, texts) in LIBRARY

problem echoed "Words of a command"
    in      int n
    in      string words[n]
    out     string lines[n + 1]
implementation sh
    command sh "-c" "for w; do echo \"$w\"; done" "sh" "-x{words}" "last {n}"
    stdout  lines

problem sorted_lines "Lines of a stream"
    in      int n
    inout   string lines[n]
implementation sort
    command sort
    stdin   lines
    stdout  lines

problem joined "Files and their lengths"
    in      int n
    in      file parts[n]
    out     file copies[n]
    out     file whole
implementation sh
    command sh "-c" "i=1; for p; do cp $p copy.$i; i=$((i + 1)); done; cat \"$@\" >whole" "sh" "{parts}"
    file    parts "part"
    file    copies "copy"
    file    whole

problem positive "Those of x that are positive"
    in      int n
    in      double x[n]
    out     int m
    out     double found[n] count(m)
implementation c
    c       m = positive(n, x, found) in LIBRARY

problem boasting "One more than there are, of those of x that are positive"
    in      int n
    in      double x[n]
    out     int m
    out     double found[n] count(m + 1)
implementation c
    c       m = positive(n, x, found) in LIBRARY

problem weighted "Sums of x, weighted"
    in      int n
    in      double x[n] finite
    in      double weight[n] = 0.5
    inout   double sums[n] = 1
    out     double sum
implementation c
    c       sum = weighted(n, x, weight, sums) in LIBRARY
END
printf 'problems = { "%s/descriptions", "%s/problems/lapack" }\nmaster "MA" { }\nserver "S" { parent = "MA" slots = 1 }\n' \
    "$work" "$top_srcdir" >kinds.conf

check "the descriptions are good" espalier problems check --libraries descriptions
check "a platform of them" espalier up kinds.conf
ESPALIER_CONFIG=$work/espalier/kinds/client.conf
export ESPALIER_CONFIG

check "every type, mode and shape by both conventions" "$top_builddir/tests/e2e/construct_steps"
check_says "comes through as it was" '^504 constructs, 0 wrong$'
for step in scalars dimensions storage sparse optional counted sections texts long_texts leading; do
    check "grpc_call: $step" "$steps" $step
done

check "every type of scalar as words" espalier call every_scalar a=x b=-3 c=7 d=-9 e=1152921504606846976 f=1.5 \
    g=2.25 h=1-2i i=3+4i words=four
check_says "comes back" '^a2 = y$' '^b2 = -2' '^e2 = 1152921504606846977' '^f2 = 2.5' '^h2 = 1-1i' '^i2 = 3\+5i' '^length = 4'
check "integers that no double holds" espalier call next_numbers x='[9007199254740992,9223372036854775806]'
check_says "are exact" '^ *9007199254740993$' '^ *9223372036854775807$' '^largest = 9223372036854775807$'
printf '9007199254740992\n9007199254740994\n' >wide.csv
check "from a table to NumPy" espalier call next_numbers x=@wide.csv -o x=wide.npy
check "to Matrix Market" espalier call next_numbers x=@wide.npy -o x=wide.mtx
check "to a table" espalier call next_numbers x=@wide.mtx -o x=wider.csv
check "too" test "$(tr '\n' ' ' <wider.csv)" = '9007199254740995 9007199254740997 '
check "from NumPy" espalier call next_numbers x='[9007199254740992]' -o x=odd.npy
check_fails 2 "an array of doubles" espalier call next_numbers x='[1]' weight=@odd.npy
check_says "cannot have them" 'weight: odd.npy: the integer 9007199254740993 in row 1, column 1 does not fit a double exactly'
check "as data" sh -c 'espalier data put odd.npy --server S --type int64 >id'
check "they are kept" espalier data get "$(cat id)" odd.csv
check "as they are" grep -qx 9007199254740993 odd.csv
check "seven dimensions as a row" espalier call tensor n=1 T='[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24]'
check_says "are summed" '^sum = 300'
check "they are saved" espalier call tensor T='[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24]' n=1 -o T=t.npy
check "as an array of so many" grep -aq "'shape': (2, 3, 1, 2, 1, 2, 1)" t.npy
check "which is read again, and tells n" espalier call tensor T=@t.npy -o T=u.npy
check "with its elements in their places" espalier call tensor T=@u.npy -o T=v.npy
check "and saved as it was" cmp t.npy v.npy
check "random numbers in three dimensions" espalier call layers T='rand(2,3,2)' -o T=made.npy
check "are as many as their extents say" grep -aq "'shape': (2, 3, 2)" made.npy
check "and in seven that the sizes tell" espalier call tensor n=1 T=rand -o T=made.npy
check "in their shape" grep -aq "'shape': (2, 3, 1, 2, 1, 2, 1)" made.npy
check_fails 2 "fewer extents than dimensions" espalier call layers T='rand(2,3)'
check_says "are reported" 'T: rand: expected 3 extents, found 2'
check "three dimensions by rows" espalier call layers T='[1,2,3,4,5,6,7,8,9,10,11,12]' -o T=t.npy
check "come back" espalier call layers T=@t.npy -o T=u.npy
check "through a file" espalier call layers T=@u.npy -o T=v.npy
check "as they went" cmp t.npy v.npy
check_fails any "other formats have no such arrays" espalier matrix convert t.npy t.mtx
check_says "and say so" 'expected at most two dimensions, found 3'
check_fails 2 "nor fits one a matrix" espalier call csc_times A='[1,0]' x=@t.npy
check_says "as is reported" 'x: expected a vector for .*, found an array of 2 x 3 x 2 elements'
check "letters are shown as a text" espalier call labels
check_says "without what pads them" '^title = a title$' '^names \(2\):' '^  one$' '^  two$'
check_says "but numbers as numbers" '^marks \(3\):' '^ +1$' '^ +85$'
check "as texts in JSON" espalier call --json labels
check_says "too" '"title": ?"a title"' '"two"'
check "and in a file" espalier call labels -o names=names.txt
check "a line for each" sh -c 'printf "one\ntwo\n" | cmp - names.txt'
check "an empty [] has the columns that others want" espalier call ends A='[]' x='[1,2,3]'
check "and may be 0 x 0" espalier call ends A='[]' x='[]'
check_fails 2 "but only where one is empty" espalier call dppsv_ A='[]' B='[1;2]'
check "a packed matrix is given in full" espalier call dppsv_ A='[4,1,0;1,5,1;0,1,6]' B='[6;14;20]'
check_says "and comes back so" 'A \(3 x 3\)' 'B \(3 x 1\)' '^ +2 +0.5 +0$' '^ +3$'
check "its lower triangle" espalier call dppsv_ uplo=L A='[4,0,0;1,5,0;0,1,6]' B='[6;14;20]' -o B=-
check_says "alone counts" '^3$|^2\.99999'
check_fails 2 "another one beside it" espalier call dppsv_ uplo=L A='[4,9,9;1,5,9;0,1,6]' B='[6;14;20]'
check_says "is not passed over" 'A has to be symmetric, but A\(2,1\) = 1 and A\(1,2\) = 9'
check_fails 2 "a packed matrix that is not square" espalier call dppsv_ A='[4,1,0;1,5,1]' B='[6;14]'
check_fails 2 "a packed matrix with what is no number" espalier call dppsv_ A='[4,nan;1,5]' B='[6;14]'
check_says "is refused with the element" 'A as it is stored is not a number'
check "a band: its widths follow" espalier call dgbsv_ A='[4,1,0;1,5,1;0,1,6]' B='[6;14;20]'
check_says "and it is solved" 'B \(3 x 1\)' '^ +3$'
check_fails 2 "an element outside of the band" espalier call dgbsv_ kl=0 ku=1 A='[4,1,0;1,5,1;0,1,6]' B='[6;14;20]'
check_says "is reported" 'A: row 2, column 1 is not zero, but outside of what is stored \(banded\(kl, ku, kl\)\)'
check "a symmetric packed matrix is given in full" espalier call dppsv AP='[4,1,0;1,4,1;0,1,4]' B='[6;12;14]' -o B=-
check_says "and is solved" '^(3|2\.99999)'
check "a symmetric band: its width follows" espalier call dpbsv AB='[4,1,0;1,4,1;0,1,4]' B='[6;12;14]' -o B=-
check_says "and is solved" '^(3|2\.99999)'
check "its lower triangle" espalier call dpbsv uplo=L AB='[4,1,0;1,4,1;0,1,4]' kd=1 B='[6;12;14]' -o B=-
check_says "is enough" '^(3|2\.99999)'
check_fails 2 "an element outside of the band of a symmetric matrix" espalier call dpbsv kd=1 AB='[4,1,1;1,4,1;1,1,4]' B='[6;12;14]'
check_says "is reported" 'row [13], column [13] is not zero, but outside'
check_fails 2 "eigenvalues of what is no number" espalier call dsyev A='[1,nan;2,1]'
check_says "are refused with the element" 'A\(1,2\) is not a number .NaN.: expected finite numbers in A'
check_fails 2 "an infinite band" espalier call dgbsv AB='[4,1,0;1,inf,1;0,1,6]' B='[6;14;20]'
check_says "is refused with the element" 'AB as it is stored is infinite: expected finite'
check "compressed columns follow from the matrix" espalier call csc_times A='[1,0,0;2,0,3]' x='[10,20,30]'
check_says "and are multiplied" '^ +10$' '^ +110$'
printf '%%%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 2 0 2\n2 1 3 0\n' >z.mtx
check "compressed rows of a sparse file" espalier call csr_times A=@z.mtx x='[1,1i]'
check_says "and are multiplied" '^ +-2\+0i$' '^ +3\+0i$'
printf '%%%%MatrixMarket matrix coordinate real general\n3000000 1000 2\n1 1 2\n3000000 1000 3\n' >large.mtx
awk 'BEGIN { for (i = 0; i < 1000; i++) print 1 }' >ones.csv
check "a sparse file stays sparse on its way" espalier call csc_times A=@large.mtx x=@ones.csv -o y=y.npy
check "as a dense one it would not fit" espalier matrix info y.npy
check_says "and has the right product" '3000000 x 1, 3000000 entries in the file, 2 nonzeros'
printf '%%%%MatrixMarket matrix coordinate real general\n3000000 1000 2\n3000000 1000 -3\n1 1 -2\n' >negated.mtx
check "a compressed result is saved" espalier call csc_negated A=@large.mtx -o A=back.mtx
check "as a sparse matrix" espalier matrix info back.mtx
check_says "of a size that would not fit in full" '3000000 x 1000, 2 entries in the file'
check "and has the right elements" grep -qx '3000000 1000 -3' back.mtx
check "it is shown" espalier call csc_negated A='[1,0;0,2;0,3]'
check_says "with how many are stored" '^A \(3 x 2, 3 elements stored\):' '^ +-1 +0$' '^ +0 +-3$'
job=$(espalier submit csc_negated A=@large.mtx)
check_fails 2 "of a job it cannot be read by itself" espalier fetch --wait --keep "$job" -o A=fetched.mtx
check_says "and how is reported" 'give it again with --input A=@FILE'
check_fails 2 "another matrix is refused" espalier fetch --keep "$job" --input A=@z.mtx -o A=fetched.mtx
check "with its input it is" espalier fetch "$job" --input A=@large.mtx -o A=fetched.mtx
check "as the call had it" cmp fetched.mtx back.mtx
check_fails 2 "pointers beside the matrix" espalier call csr_times A=@z.mtx pointers='[0,1,2]' x='[1,1i]'
check_says "are too much" 'pointers'
check "every other element of a vector" espalier call strided x='[1,2,3,4,5,6,7]'
check_says "travels, and comes back" '^sum = 12' '^ +1$' '^ +21$' '^ +3$' '^ +41$' '^ +7$'
check_fails 2 "a section that is none" espalier call strided x='[1]'
check_says "is reported" 'the section of x: expected 0 <= start <= end < 1 .* found 1 \(1\), 0 \(n - 1\)'
check "the page of a problem shows sections" espalier problems strided
check_says "as they are written" 'x\[n:1,n - 1,skip\]'
check "strings in a list" espalier call numbered texts='["one","","a, \u00e9"]'
check_says "come back as lines" '^numbers \(3\)' '^  one 1$' '^   2$' '^  a, é 3$'
check "as JSON" espalier call --json numbered texts='["one","two"]'
check_says "as a list" '"one 1"' '"two 2"'
printf 'x\ny y\n' >lines.txt
check "strings in a file" espalier call numbered texts=@lines.txt -o numbers=numbered.txt
check "and back" sh -c 'printf "x 1\ny y 2\n" | cmp - numbered.txt'
check_fails 2 "numbers for strings" espalier call numbered texts='[1,2]'
check_says "are refused" 'texts: expected strings as \["one", "two"\] or @FILE'
check "strings that are changed" espalier call swapped texts='["a","b","c"]'
check_says "come back" '^  c$' '^  new$' '^  a$'
eight='["one","","","","","","",""]'
for turn in 1 2 3; do # memory that was freed twice, or was not to be freed, ends the worker at the latest then
    check "strings that belong to others, $turn" espalier call borrowed texts="$eight"
    check_says "come back" '^  one$' '^  ne$' '^  constant$' '^  static$' '^  own text$' '^  text$'
done
check_fails 1 "a routine that gives back a wrong address" espalier call wrong_texts n=2
check_says "gets the error" "wrong_texts gave back 'texts': element 2 is not the address of a text"
awk 'BEGIN { for (i = 0; i < 5000; i++) print i }' >words.txt
check "words of a command" espalier call echoed words='["a b","$HOME;","*"]'
check_says "are one word each" '^  -xa b$' '^  -x\$HOME;$' '^  -x\*$' '^  last 3$'
check_fails 2 "more words than a command has" espalier call echoed words=@words.txt
check_says "are reported, and hold nobody up" 'its command has more than 4096 words'
check "no words" espalier call echoed words='[]'
check_says "are none" '^  last 0$' 'lines \(1\)'
check "lines of a stream" espalier call sorted_lines lines='["b","c","a"]' -o lines=sorted.txt
check "are sorted" sh -c 'printf "a\nb\nc\n" | cmp - sorted.txt'
check_fails 2 "what is no line" espalier call sorted_lines lines='["b\nc"]'
check_says "is refused" 'lines: element 1 has a line end in it'
check "strings for Fortran" espalier call measured texts='["one","","seven +","  x"]'
check_says "are as long as the longest" '^declared = 7$' '^ +3$' '^ +0$' '^ +7$'
check "none" espalier call measured texts='[]'
check_says "are none" '^declared = 1$'
check "empty ones" espalier call measured texts='["",""]'
check_says "are blank" '^declared = 1$' '^ +0$'
check "strings of a declared length" espalier call greeted names='["you","world"]' polite='["please","  so"]'
check_says "come back without the blanks behind them" '^  please!$' '^    so!$' '^  Hello you$' '^  Hello world$'
check_fails 2 "one that is longer" espalier call greeted names='["you","worlds"]' polite='["",""]'
check_says "is reported" 'greeted: names: element 2 has 6 bytes, the routine takes at most 5'
check_fails 2 "a length that is none" espalier call greeted names='["you"]' polite='[""]' width=5
check_says "is reported too" 'greeted: polite: expected elements of at least 1 character, found 0'
check_fails any "more than a call may have" espalier call greeted names='["you"]' polite='[""]' width=1000000000
check_says "is reported before there is memory for it" 'polite: 1 elements of 999999995 characters have more than 67.1 MB'
printf one >1.dat; printf 'two\n' >2.dat
check "files" espalier call joined parts=@1.dat,@2.dat -o copies=copy -o whole=whole.dat
check "come back" sh -c 'cmp 1.dat copy.1 && cmp 2.dat copy.2 && cat 1.dat 2.dat | cmp - whole.dat'
check "under names of their own" espalier call joined parts=@1.dat,@2.dat -o copies=c1,c2
check "too" sh -c 'cmp 1.dat c1 && cmp 2.dat c2'
check_fails 4 "a file of several that is not there" espalier call joined parts=@1.dat,@none.dat -o whole=whole.dat
check_says "is reported by its name" 'parts: none.dat: No such file'
check_fails 2 "of which there are too few" espalier call joined parts=@1.dat,@2.dat -o copies=c1,c2,c3
check_says "or too many" 'o copies: expected 2 files, found 3'
check "results are cut to their count" espalier call positive x='[1,-2,3,-4]'
check_says "and only they are shown" '^found \(2\)'
check_fails 1 "a count beyond the array is the routine's fault" espalier call boasting x='[1,2]'
check_says "and the server finds it" 'boasting on .*: boasting: found: m \+ 1: expected a count of at most 2, found 3'
check "as JSON too" espalier call --json positive x='[-1,-2]'
check_says "even if there is none" '"found": \[\]'
check "arrays that are left out have their default" espalier call weighted x='[1,2,3]'
check_says "in and out" '^sum = 3' '^ +1.5$' '^ +4$'
check_fails 2 "NaN where it is forbidden" espalier call weighted x='[1,nan,3]'
check_says "is reported with its place" 'weighted: x\(2\) is not a number \(NaN\)'
check "the page of a problem tells it all" espalier problems dppsv_
check_says "storage and properties" 'symmetric, positive definite, finite, packed\(uplo\)'
check "and of a count" espalier problems positive
check_says "too" 'm of them'
finish
