# SPDX-License-Identifier: Apache-2.0
# Problem descriptions, installed below $(pkgdatadir)/problems.
nobase_dist_pkgdata_DATA += problems/blas/level1.esp
nobase_dist_pkgdata_DATA += problems/blas/level2-general.esp problems/blas/level2-symmetric.esp
nobase_dist_pkgdata_DATA += problems/blas/level2-triangular.esp problems/blas/level3.esp
nobase_dist_pkgdata_DATA += problems/lapack/linear-systems/general.esp problems/lapack/linear-systems/positive-definite.esp
nobase_dist_pkgdata_DATA += problems/lapack/linear-systems/symmetric-indefinite.esp problems/lapack/linear-systems/band.esp
nobase_dist_pkgdata_DATA += problems/lapack/linear-systems/tridiagonal.esp problems/lapack/linear-systems/triangular.esp
nobase_dist_pkgdata_DATA += problems/lapack/eigenvalues/symmetric.esp problems/lapack/eigenvalues/general.esp
nobase_dist_pkgdata_DATA += problems/lapack/orthogonal.esp problems/lapack/singular-values.esp
nobase_dist_pkgdata_DATA += problems/lapack/least-squares.esp
nobase_dist_pkgdata_DATA += problems/sparse/direct.esp problems/sparse/iterative.esp problems/sparse/kept.esp
nobase_dist_pkgdata_DATA += problems/lapack/functions.esp
nobase_dist_pkgdata_DATA += problems/abstract/functions.esp
nobase_dist_pkgdata_DATA += problems/sparse/products.esp
nobase_dist_pkgdata_DATA += problems/elementwise/elementwise.esp
nobase_dist_pkgdata_DATA += problems/lapack/norms.esp problems/abstract/systems.esp problems/abstract/factorisations.esp
nobase_dist_pkgdata_DATA += problems/abstract/iterative.esp problems/abstract/elements.esp problems/lapack/dense.esp
nobase_dist_pkgdata_DATA += problems/differential/multigrid.esp
EXTRA_DIST += problems/README.md
# Where programs that are not installed find them (util/own_problems.h).
BUILT_SOURCES += built-problems
CLEANFILES += built-problems
built-problems:
	$(AM_V_GEN)ln -s $(abs_top_srcdir)/problems $@
