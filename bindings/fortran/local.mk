# SPDX-License-Identifier: Apache-2.0
# The Fortran module, installed as its source: a compiled module serves only the compiler that made it.
EXTRA_DIST += bindings/fortran/espalier.f90
if WITH_OMNIORB
include_HEADERS += bindings/fortran/espalier.f90
endif
