# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# What tests of the Python package source after the harness: $python has numpy, and finds the package of this tree and
# the library of this build.

python=''
for candidate in python3 /usr/bin/python3; do # the first `python3` may be one without numpy
    [ -n "$python" ] || ! $candidate -c 'import numpy' 2>/dev/null || python=$candidate
done
[ -n "$python" ] || skip_all "python3-numpy is not there"
PYTHONPATH=$top_srcdir/bindings/python
ESPALIER_LIBRARY=$top_builddir/client/.libs/libespalier.so.0
PYTHONDONTWRITEBYTECODE=1
OPENBLAS_NUM_THREADS=1
export PYTHONPATH ESPALIER_LIBRARY PYTHONDONTWRITEBYTECODE OPENBLAS_NUM_THREADS
needs "$ESPALIER_LIBRARY"

# check_python FILE CLASS...: a test for each class of tests/python/test_FILE.py.
check_python() {
    tap_file=$1
    shift
    for class; do
        check "Python, $tap_file: $class" timeout 120 "$python" "$top_srcdir/tests/python/test_$tap_file.py" "$class"
    done
}
