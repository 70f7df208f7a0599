# SPDX-License-Identifier: Apache-2.0
# Problem descriptions, installed below $(pkgdatadir)/problems.
nobase_dist_pkgdata_DATA += problems/blas/level1.esp
nobase_dist_pkgdata_DATA += problems/blas/level2-general.esp problems/blas/level2-symmetric.esp
nobase_dist_pkgdata_DATA += problems/blas/level2-triangular.esp problems/blas/level3.esp
nobase_dist_pkgdata_DATA += problems/lapack/dgesv.esp problems/lapack/sgesv.esp problems/lapack/zgesv.esp
nobase_dist_pkgdata_DATA += problems/lapack/dgetrf.esp problems/lapack/dgetrs.esp problems/lapack/dposv.esp
nobase_dist_pkgdata_DATA += problems/lapack/dpotrf.esp problems/lapack/dgels.esp problems/lapack/dsyev.esp
nobase_dist_pkgdata_DATA += problems/lapack/sposv.esp problems/lapack/zposv.esp
nobase_dist_pkgdata_DATA += problems/lapack/dgesvd.esp problems/lapack/dgeqrf.esp
