# SPDX-License-Identifier: Apache-2.0
# Routines that problems/sparse and problems/elementwise name: libraries with handles and classes behind plain
# functions. Only workers load it.
pkglib_LTLIBRARIES += solvers/libespalier-solvers.la
solvers_libespalier_solvers_la_SOURCES = solvers/solvers.h solvers/sparse_structure.h
solvers_libespalier_solvers_la_SOURCES += solvers/kept.h solvers/kept.c
solvers_libespalier_solvers_la_SOURCES += solvers/umfpack.c solvers/cholmod.c solvers/elementwise.c
solvers_libespalier_solvers_la_SOURCES += solvers/mumps.h solvers/mumps_type.h solvers/mumps_s.c solvers/mumps_d.c
solvers_libespalier_solvers_la_SOURCES += solvers/mumps_c.c solvers/mumps_z.c solvers/krylov.cc
solvers_libespalier_solvers_la_SOURCES += solvers/composed.h solvers/condition.h solvers/conditioned.h
solvers_libespalier_solvers_la_SOURCES += solvers/functions.h solvers/mixed.h
solvers_libespalier_solvers_la_SOURCES += solvers/dense.h solvers/dense_s.c solvers/dense_d.c solvers/dense_c.c
solvers_libespalier_solvers_la_SOURCES += solvers/dense_z.c
solvers_libespalier_solvers_la_SOURCES += solvers/compressed.h solvers/compressed_s.c solvers/compressed_d.c
solvers_libespalier_solvers_la_SOURCES += solvers/compressed_c.c solvers/compressed_z.c solvers/compressed_size.c
solvers_libespalier_solvers_la_CPPFLAGS = $(AM_CPPFLAGS) $(EIGEN_CFLAGS) -I/usr/include/suitesparse
solvers_libespalier_solvers_la_LDFLAGS = $(AM_LDFLAGS) -module -shared -avoid-version
solvers_libespalier_solvers_la_LIBADD = -lumfpack -lcholmod -lsmumps_seq -ldmumps_seq -lcmumps_seq -lzmumps_seq -llapack -lm
if WITH_MPI
# Factorisations on ranks of different speed, and multigrid. A library of its own, so that tests link what ranks load.
noinst_LTLIBRARIES += solvers/libunequal.la
solvers_libunequal_la_SOURCES = solvers/columns.h solvers/columns.c solvers/multigrid.h solvers/multigrid.c
solvers_libunequal_la_SOURCES += solvers/unequal.h solvers/unequal.c solvers/unequal_type.h solvers/unequal_s.c
solvers_libunequal_la_SOURCES += solvers/unequal_d.c solvers/unequal_c.c solvers/unequal_z.c
# What it needs of core/, so that the library links no other archive.
solvers_libunequal_la_SOURCES += core/unequal/allocation.c util/error.c
solvers_libunequal_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
# Only ranks load it.
pkglib_LTLIBRARIES += solvers/libespalier-parallel.la
solvers_libespalier_parallel_la_SOURCES = solvers/full_rank.c solvers/multigrid_call.c
solvers_libespalier_parallel_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
solvers_libespalier_parallel_la_LDFLAGS = $(AM_LDFLAGS) -module -shared -avoid-version
solvers_libespalier_parallel_la_LIBADD = solvers/libunequal.la $(SCALAPACK_LIBS) $(OPENBLAS_LIBS) $(MPI_LIBS)
endif
