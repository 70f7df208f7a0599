# SPDX-License-Identifier: Apache-2.0
# Programs and matrices to start from, installed as they are: they build against the installed library.
EXTRA_DIST += examples/demo
nobase_dist_pkgdata_DATA += examples/README.md examples/Makefile examples/kept/kept.c examples/kept/kept.esp \
	examples/checkpoint/poisson.c examples/checkpoint/poisson.esp examples/ranks/columns.c examples/ranks/columns.esp
nobase_dist_pkgdata_DATA += examples/python/espalier.ipynb
nobase_dist_pkgdata_DATA += examples/fortran/Makefile examples/fortran/solve.f90
nobase_dist_pkgdata_DATA += examples/table/table.c examples/table/table.esp
nobase_dist_pkgdata_DATA += examples/callback/calc.c examples/callback/calc.esp examples/scheduler/largest_idle.c examples/integrate.c
nobase_dist_pkgdata_DATA += examples/solve.c examples/farm.c examples/bound.c examples/errors.c examples/forecast.c examples/pieces.c
nobase_dist_pkgdata_DATA += examples/flow/fast-ethernet.conf examples/flow/lu.flow examples/flow/lu-blocks.flow examples/flow/solve.flow
nobase_dist_pkgdata_DATA += examples/matrices/README.md examples/matrices/lund_a.mtx examples/matrices/lund_a.rsa \
	examples/matrices/pores_1.mtx examples/matrices/utm300.rua examples/matrices/wrong.mtx
