#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What routines of C and Fortran take besides numbers, from a C program and from the command: files.
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
problem where "Where a file lies"
    in      file    data
    out     char    folder[200]
implementation c
    c       status = where_am_i(data, folder) in libpublish.so
    error   status != 0 "it is not there"
END
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
check "what a routine writes wrongly is told" "$steps" wrong
printf 'one\n' >one
printf 'two\nthree\n' >two
: >log
check "the command gives files" espalier call join parts=@one,@two log=@log -o whole=whole
check_says "and numbers" 'bytes = 14'
check "the result is there" sh -c 'cat one two | cmp - whole'
check "the command takes pieces" espalier call split whole=@whole n=2 size=4 -o pieces=piece
check "they are right" sh -c 'cmp one piece.1 && [ "$(cat piece.2)" = two ]'
check_fails 1 "a file that is not written" espalier call bad how=0 -o result=result
check_says "is told" 'did not write its output file .result.'
check_fails 1 "a file that is too large" espalier call bad how=1 -o result=result
check_says "is told" 'result. has 3000 bytes: at most 2048 are allowed'
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
    check "so it does an array of files" espalier call counted parts=@one,@two
    check_says "with all of them" '1.*2|^ *1$'
fi
submit() {
    espalier submit join parts=@one,@two log=@log >job.id
}
check "a job takes files, too" submit
check "and gives them" espalier fetch --wait "$(cat job.id)" -o whole=fetched -o log=fetched.log
check "as a call does" cmp whole fetched
finish
