#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What routines of C and Fortran take besides numbers, from a C program and from the command: files, and functions that
# take and give strings, or arrays whose sizes the problem says.
. "${top_srcdir:?}/tests/e2e/harness.sh"
needs espalier espalier-agent espalier-sed cc
steps=$top_builddir/tests/e2e/publish_steps
[ -x "$steps" ] || skip_all "the client library is not built"

mkdir problems
cc -shared -fPIC -o problems/libpublish.so "$top_srcdir/tests/e2e/publish_routines.c" || skip_all "the compiler fails"
cat >problems/publish.esp <<'END'
problem join "Files behind one another"
    in      int     n
    in      file    parts[n]
    out     file    whole
    inout   file    log
    out     long    bytes
implementation c
    c       status = join_files(n, parts, whole, log, bytes) in libpublish.so
    file    whole "all.txt"
    error   status == 2 "the result is not called as it should be"
    error   status != 0 "a file cannot be read or written"
    limit   "8 MiB"
problem mark "Files with a mark behind each"
    in      int     n
    inout   file    files[n]
implementation c
    c       status = mark_files(n, files) in libpublish.so
    error   status != 0 "a file cannot be written"
    limit   "8 MiB"
problem split "Pieces of a file"
    in      file    whole
    in      int     n, size
    out     file    pieces[n]
implementation c
    c       status = split_file(whole, n, size, pieces) in libpublish.so
    error   status != 0 "it cannot be read"
    limit   "8 MiB"
problem bad "A routine that does not write what it should"
    in      int     how
    out     file    result
implementation c
    c       write_badly(how, result) in libpublish.so
    limit   "2 KiB"
problem visit "What is said of each step"
    callback string name(in int step) "the name of a step"
    callback say(in string what, in double at, inout string mood, out string remark)
    in      int     steps
    out     string  remarks[steps]
    out     int     characters "of all names"
implementation c
    c       status = visit_steps(name, say, steps, remarks, characters) in libpublish.so
    error   status != 0 "it has another state"
problem nonsense "Strings that are none"
    callback say(in string what)
    in      int     how
implementation c
    c       say_nonsense(say, how) in libpublish.so
problem jacobian "Differences of m functions of n numbers"
    callback f(in double x[n], out double y[m])
    in      int     m, n
    in      double  x[n]
    out     double  J[m, n]
implementation c
    c       differences(f, m, n, x, J) in libpublish.so
problem where "Where a file lies"
    in      file    data
    out     char    folder[200]
implementation c
    c       status = where_am_i(data, folder) in libpublish.so
    error   status != 0 "it is not there"
END
cp "$top_srcdir/examples/table/table.esp" problems
check "the example of a routine with files" cc -Wall -Wextra -Werror -shared -fPIC -o problems/libtable.so \
    "$top_srcdir/examples/table/table.c"
if command -v gfortran >fortran.path; then
    cat >path.f90 <<'END'
subroutine double_lines(data, result, lines)
    character(*), intent(in) :: data, result
    integer, intent(out) :: lines
    character(200) :: line
    integer :: status
    open(unit=20, file=data, status="old", action="read")
    open(unit=21, file=result, status="new", action="write")
    lines = 0
    do
        read(20, '(a)', iostat=status) line
        if (status /= 0) exit
        write(21, '(a)') trim(line)
        write(21, '(a)') trim(line)
        lines = lines + 1
    end do
    close(20)
    close(21)
end subroutine
subroutine visit(say, steps, room, letters)
    external say
    integer, intent(in) :: steps, room
    integer, intent(out) :: letters
    character(room) :: remark
    integer :: i
    letters = 0
    do i = 1, steps
        remark = "nothing"
        call say(i, "step " // char(48 + i) // "   ", remark)
        letters = letters + len_trim(remark)
    end do
end subroutine
subroutine values(f, n, x, y)
    external f
    integer, intent(in) :: n
    double precision, intent(in) :: x(n)
    double precision, intent(out) :: y(n)
    call f(x, y)
end subroutine
subroutine line_counts(n, parts, counts)
    integer, intent(in) :: n
    character(*), intent(in) :: parts(n)
    integer, intent(out) :: counts(n)
    integer :: i, status
    do i = 1, n
        open(unit=20, file=parts(i), status="old", action="read")
        counts(i) = 0
        do
            read(20, *, iostat=status)
            if (status /= 0) exit
            counts(i) = counts(i) + 1
        end do
        close(20)
    end do
end subroutine
END
    check "routines of Fortran" gfortran -shared -fPIC -Wall -Werror -o problems/libpath.so path.f90
    cat >problems/path.esp <<'END'
problem doubled "Each line twice"
    in      file    data
    out     file    result
    out     int     lines
implementation gfortran
    fortran double_lines_(data, result, lines) in libpath.so
problem fvisit "What is said of each step, in Fortran"
    callback say(in int step, in string what, out string remark)
    in      int     steps, room = 20
    out     int     letters "of all remarks"
implementation gfortran
    fortran visit_(say, steps, room, letters) in libpath.so
problem fvalues "A function of n numbers"
    callback f(in double x[n], out double y[n])
    in      int     n
    in      double  x[n]
    out     double  y[n]
implementation gfortran
    fortran values_(f, n, x, y) in libpath.so
problem counted "Lines of each file"
    in      int     n
    in      file    parts[n]
    out     int     counts[n]
implementation gfortran
    fortran line_counts_(n, parts, counts) in libpath.so
END
fi
check "the descriptions are right" espalier problems check problems
agent_for_clients
server_below_agent S S 'slots = 1' "problems = \"$work/problems\""
there() {
    espalier problems | grep -q '^join '
}
check "the server has the problems" wait_until there
check "the page of a problem shows what a program passes" espalier problems join
check_says "as for any file" 'int n, const char \*\*parts, char \*whole, char \*log'

check "files go to a routine and come back, small and large ones" "$steps" files
check "what a routine writes wrongly is reported" "$steps" wrong
printf 'one\n' >one
printf 'two\nthree\n' >two
: >journal
check "the command gives files" espalier call join parts=@one,@two log=@journal -o whole=whole -o log=new
check_says "and numbers" 'bytes = 14'
check "functions take and give strings" "$steps" strings
check "sizes of their arrays are those of the problem" "$steps" sizes
check "the page of a problem shows them" espalier problems visit
check_says "as a program has them" 'char \*\(\*name\)\(int step\), void \(\*say\)\(char \*what, double at, char \*\*mood, char \*\*remark\), int steps, char \*\*remarks'
check_says "with an example" "name='\"text\"' say='.\"text\"; \"text\".'"
check "the command gives texts" espalier call visit steps=2 name='"a; [b"' say='["ended"; what]'
check_says "as they are" 'a; \[b' 'characters = 10'
check_fails 2 "a number where a string is wanted" espalier call visit steps=1 name='step + 1' say='[mood; what]'
check_says "is reported" 'name is a string: expected a text, "like this", or a string that goes in, found .step . 1'
check_fails 2 "a string in an expression" espalier call visit steps=1 name='"x"' say='[mood; what + 1]'
check_says "is reported" 'remark is a string'
check_fails 1 "a string where a number is wanted" espalier call jacobian m=1 x='[1]' f='"one"'
check_says "is reported" 'expected a number, found a string'
check "expressions name scalars of the problem in sizes" espalier call jacobian m=2 x='[1;2;3]' f='[m*x[1]; n*x[3]]'
check_says "with their values" '^ *2 +0 +0' '^ *0 +0 +3'
check_fails 1 "a wrong number of results" espalier call jacobian m=2 x='[1]' f='x[1]'
check_says "is reported" 'f: expected 2 results, found 1 expressions'
check "the result is there" sh -c 'cat one two | cmp - whole'
check "and so is a file that went in, which stays as it was" sh -c 'cmp whole new && [ ! -s journal ]'
check "nobody wants it: it stays, too" espalier call join parts=@one,@two log=@journal -o whole=whole
check "as it was" test ! -s journal
check "its result may be printed" espalier call join parts=@one log=@two -o log=-
check_says "behind what went in" '^two$' '^one$'
cp one one.before
cp two two.before
check "files that go in and come back" espalier call mark files=@one,@two -o files=marked
check "are there under their new names" sh -c 'tail -n 1 marked.1 | grep -qx marked && tail -n 1 marked.2 | grep -qx marked'
check "each by its own" espalier call mark files=@one,@two -o files=first,second
check "of them all" cmp marked.2 second
check_fails 2 "of which there are too few" espalier call mark files=@one,@two -o files=a,b,c
check_says "is reported" '-o files: expected 2 files, found 3'
check "that nobody wants" espalier call mark files=@one,@two
check "leave what went in as it was" sh -c 'cmp one one.before && cmp two two.before'
check "unless the user names that" espalier call mark files=@one,@two -o files=one,two
check "which is written over then" cmp one marked.1
cp one.before one
cp two.before two
nothing_left() { [ -z "$(find "$work/tmp" -name '*espalier*')" ]; }
mkdir -p tmp
check "copies" env TMPDIR="$work/tmp" espalier call mark files=@one,@two -o files=marked
check "are gone after the call" nothing_left
check "the command takes pieces" espalier call split whole=@whole n=2 size=4 -o pieces=piece
check "they are right" sh -c 'cmp one piece.1 && [ "$(cat piece.2)" = two ]'
check_fails 1 "a file that is not written" espalier call bad how=0 -o result=result
check_says "is reported" 'did not write its output file .result.'
check_fails 1 "a file that is too large" espalier call bad how=1 -o result=result
check_says "is reported" 'result. has 3000 bytes: at most 2048 are allowed'
check "a file is in a folder of the call" espalier call where data=@one -o folder=folder
gone() {
    place=$(head -c 200 folder | tr -d '\000 \n')
    case $place in
    */call-*/data) ;;
    *) return 1 ;;
    esac
    [ ! -e "$place" ] && [ ! -e "${place%/data}" ]
}
check "which is gone after it" wait_until gone
if [ -f problems/path.esp ]; then
    check "a Fortran routine opens a file by its path" espalier call doubled data=@two -o result=doubled
    check_says "and tells what it read" 'lines = 2'
    check "and writes another" sh -c 'printf "two\ntwo\nthree\nthree\n" | cmp - doubled'
    check "a routine of Fortran gives strings to a function" espalier call fvisit say=what steps=3
    check_says "without the blanks at their ends" 'letters = 18'
    check "and gets those of the function" espalier call fvisit say='"four"' steps=2
    check_says "with blanks behind them" 'letters = 8'
    check_fails 1 "a string that is longer than the routine's" espalier call fvisit say=what steps=1 room=3
    check_says "is reported" 'callback say: the client gave 6 characters for remark, the routine has room for 3'
    check "sizes of the problem are known in Fortran, too" espalier call fvalues x='[3;4]' f='[x[2]; n*x[1]]'
    check_says "on both sides" '^ *4' '^ *6'
    check "so it does an array of files" espalier call counted parts=@one,@two
    check_says "with all of them" '1.*2|^ *1$'
fi
printf '1 2\n-3 4\n5 6\n' >numbers
check "the example is called" espalier call table_means columns=2 table=@numbers keep='["negative"; x[1] >= 0]' -o report=report
check_says "with numbers" 'rows = 2'
check "and writes its report" sh -c 'printf "row 2 is left out: negative\ncolumn 1: mean 3\ncolumn 2: mean 4\n" | cmp - report'
submit() {
    espalier submit join parts=@one,@two log=@journal >job.id
}
check "a job takes files, too" submit
check "and gives them" espalier fetch --wait "$(cat job.id)" -o whole=fetched -o log=fetched.log
check "as a call does" cmp whole fetched
finish
