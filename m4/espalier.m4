dnl SPDX-License-Identifier: Apache-2.0
dnl What configure needs beyond autoconf's own: checks that collect everything that is missing, with
dnl the Debian package that brings it, and say it once at the end.

esp_missing=

dnl ESP_MISSING(what, debian-package, purpose)
AC_DEFUN([ESP_MISSING], [esp_missing="$esp_missing
  $1 ($3): apt-get install $2"
AS_CASE([" $esp_missing_packages "], [*" $2 "*], [], [esp_missing_packages="$esp_missing_packages $2"])])

dnl pkg-config itself: without it every module would be reported as missing.
AC_DEFUN([ESP_PKG_CONFIG], [
PKG_PROG_PKG_CONFIG
AS_IF([test -z "$PKG_CONFIG"], [AC_MSG_ERROR([
Espalier needs pkg-config, which tells where libraries are, and did not find it.
On Debian: apt-get install pkg-config, or everything at once: ./quickstart build
])])])

dnl ESP_NEED_PACKAGE(VARIABLE, pkg-config module, debian-package, purpose)
AC_DEFUN([ESP_NEED_PACKAGE], [PKG_CHECK_MODULES([$1], [$2], [], [ESP_MISSING([$2], [$3], [$4])])])

dnl ESP_NEED_HEADER(header, debian-package, purpose)
AC_DEFUN([ESP_NEED_HEADER], [AC_CHECK_HEADER([$1], [], [ESP_MISSING([$1], [$2], [$3])])])

AC_DEFUN([ESP_REPORT_MISSING], [AS_IF([test -n "$esp_missing"], [AC_MSG_ERROR([
Espalier needs these, and did not find them:
$esp_missing

On Debian all of them at once:
  apt-get install$esp_missing_packages
])])])

AC_DEFUN([ESP_WITH_OMNIORB], [
AC_ARG_WITH([omniorb], [AS_HELP_STRING([--without-omniorb],
    [build only what needs no network: the command (to check files), tests and simulator, neither daemons nor library])],
    [], [with_omniorb=yes])
AS_IF([test "x$with_omniorb" != xno], [
    PKG_CHECK_MODULES([OMNIORB], [omniORB4], [], [ESP_MISSING([omniORB4], [libomniorb4-dev], [the ORB])])
    AC_PATH_PROG([OMNIIDL], [omniidl])
    AS_IF([test -z "$OMNIIDL"], [ESP_MISSING([omniidl], [omniidl], [the IDL compiler])])
    AC_LANG_PUSH([C++])
    AC_CHECK_HEADER([omniORB4/sslContext.h], [], [ESP_MISSING([omniORB4/sslContext.h],
        [libomniorb4-dev], [TLS connections of the ORB])], [-])
    AC_LANG_POP([C++])
    OMNIORB_INCLUDEDIR=`$PKG_CONFIG --variable=includedir omniORB4 2>/dev/null`
])
AC_SUBST([OMNIORB_INCLUDEDIR])
AM_CONDITIONAL([WITH_OMNIORB], [test "x$with_omniorb" != xno])
])

dnl Ranks of one job: optional, as only parallel servers need it.
AC_DEFUN([ESP_WITH_MPI], [
AC_ARG_WITH([mpi], [AS_HELP_STRING([--without-mpi],
    [build without parallel servers (default: with them where OpenMPI and ScaLAPACK are found)])], [], [with_mpi=check])
have_mpi=no
AS_IF([test "x$with_mpi" != xno], [
    PKG_CHECK_MODULES([MPI], [ompi-c], [have_mpi=yes], [have_mpi=no])
    AS_IF([test "$have_mpi" = yes], [AC_CHECK_LIB([scalapack-openmpi], [pdgemm_], [:], [have_mpi=no], [$MPI_LIBS])])
    AC_PATH_PROG([MPIRUN], [mpirun])
    AS_IF([test -z "$MPIRUN"], [have_mpi=no])
    AS_IF([test "x$with_mpi" = xyes && test "$have_mpi" = no],
        [ESP_MISSING([OpenMPI and ScaLAPACK], [libscalapack-openmpi-dev], [parallel servers])])
    MPI_CFLAGS=`AS_ECHO(["$MPI_CFLAGS"]) | sed 's/-I/-isystem /g'`
])
AC_SUBST([SCALAPACK_LIBS], [-lscalapack-openmpi])
AM_CONDITIONAL([WITH_MPI], [test "$have_mpi" = yes])
])

dnl The Python package: optional, as nothing is built for it.
AC_DEFUN([ESP_WITH_PYTHON], [
AC_ARG_WITH([python], [AS_HELP_STRING([--without-python],
    [do not install the Python package (default: install it where python3 is found)])], [], [with_python=check])
AC_ARG_WITH([pythondir], [AS_HELP_STRING([--with-pythondir=DIR],
    [where to install the Python package (default: where the python3 that is found looks below the prefix)])],
    [pythondir=$withval], [pythondir=])
AC_PATH_PROG([PYTHON], [python3])
AS_IF([test "x$with_python" = xyes && test -z "$PYTHON"], [ESP_MISSING([python3], [python3], [the Python package])])
AS_IF([test -z "$PYTHON" || test "x$with_omniorb" = xno], [with_python=no])
AS_IF([test "x$with_python" != xno && test -z "$pythondir"], [
    pythondir='${prefix}/lib/python'`$PYTHON -c 'import sys; print("%d.%d" % sys.version_info@<:@:2@:>@)'`
    dnl Debian has folders of its own, and below /usr one for all versions of Python 3.
    AS_IF([test ! -d /usr/lib/python3/dist-packages], [pythondir=$pythondir/site-packages],
        [test "x$prefix" = x/usr], [pythondir='${prefix}/lib/python3/dist-packages'],
        [pythondir=$pythondir/dist-packages])
])
AC_SUBST([pythondir])
AM_CONDITIONAL([WITH_PYTHON], [test "x$with_python" != xno])
])

AC_DEFUN([ESP_ENABLE_SANITIZER], [
AC_ARG_ENABLE([sanitizer], [AS_HELP_STRING([--enable-sanitizer=LIST],
    [compile with -fsanitize=LIST: address,undefined or thread])],
    [AS_CASE([$enableval], [yes], [enable_sanitizer=address,undefined])], [enable_sanitizer=no])
dnl Before the flags of whoever builds, so that a -g1 of theirs holds: a -g after it has all debugging symbols made.
AS_IF([test "x$enable_sanitizer" != xno], [
    SANITIZER_FLAGS="-fsanitize=$enable_sanitizer -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
    CFLAGS="-g $SANITIZER_FLAGS $CFLAGS"
    CXXFLAGS="-g $SANITIZER_FLAGS $CXXFLAGS"
    LDFLAGS="$SANITIZER_FLAGS $LDFLAGS"
])
AM_CONDITIONAL([SANITIZER], [test "x$enable_sanitizer" != xno])
])

AC_DEFUN([ESP_WARNINGS], [
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make every warning an error])],
    [], [enable_werror=no])
WARNING_CFLAGS="-std=c11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla"
WARNING_CXXFLAGS="-std=c++17 -Wall -Wextra"
AS_IF([test "x$enable_werror" = xyes], [
    WARNING_CFLAGS="$WARNING_CFLAGS -Werror"
    WARNING_CXXFLAGS="$WARNING_CXXFLAGS -Werror"
])
AC_SUBST([WARNING_CFLAGS])
AC_SUBST([WARNING_CXXFLAGS])
])

AC_DEFUN([ESP_CHECK_OPENBLAS], [
AC_CHECK_LIB([openblas], [dgemm_], [OPENBLAS_LIBS=-lopenblas],
    [ESP_MISSING([libopenblas], [libopenblas-dev], [BLAS and LAPACK])])
AC_SUBST([OPENBLAS_LIBS])
])
