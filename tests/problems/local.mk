# SPDX-License-Identifier: Apache-2.0
# The mathematics of every problem in problems/: a row for each in rows_*.c, a program for each group.
check_LIBRARIES += tests/problems/libtrial.a tests/problems/libmat.a
tests_problems_libmat_a_SOURCES = tests/problems/mat.c tests/problems/mat.h tests/problems/mat_diagonals.c
tests_problems_libtrial_a_SOURCES = tests/problems/plain_names.h
tests_problems_libtrial_a_SOURCES += tests/problems/trial.c tests/problems/trial.h
tests_problems_libtrial_a_SOURCES += tests/problems/table.c tests/problems/table.h
tests_problems_libtrial_a_SOURCES += tests/problems/rows_blas1.c tests/problems/rows_blas2.c tests/problems/rows_blas3.c
LIBTRIAL = tests/problems/libtrial.a tests/problems/libmat.a tests/unit/librig.a $(POOL_LIBS) $(UNIT_LIBS) -lm

unit_tests += tests/problems/test_blas1
tests_problems_test_blas1_LDADD = $(LIBTRIAL)
unit_tests += tests/problems/test_blas2
tests_problems_test_blas2_LDADD = $(LIBTRIAL)
unit_tests += tests/problems/test_blas3
tests_problems_test_blas3_LDADD = $(LIBTRIAL)
tests_problems_libtrial_a_SOURCES += tests/problems/kinds.c tests/problems/kinds.h tests/problems/rows_linear.c
unit_tests += tests/problems/test_linear
tests_problems_test_linear_LDADD = $(LIBTRIAL)
tests_problems_libtrial_a_SOURCES += tests/problems/rows_eigen.c
unit_tests += tests/problems/test_eigen
tests_problems_test_eigen_LDADD = $(LIBTRIAL)
tests_problems_libtrial_a_SOURCES += tests/problems/rows_orthogonal.c
unit_tests += tests/problems/test_orthogonal
tests_problems_test_orthogonal_LDADD = $(LIBTRIAL)
unit_tests += tests/problems/test_coverage
tests_problems_test_coverage_LDADD = $(LIBTRIAL)
tests_problems_libtrial_a_SOURCES += tests/problems/rows_solvers.c
unit_tests += tests/problems/test_solvers
tests_problems_test_solvers_LDADD = $(LIBTRIAL)
tests_problems_libtrial_a_SOURCES += tests/problems/rows_functions.c
unit_tests += tests/problems/test_functions
tests_problems_test_functions_LDADD = $(LIBTRIAL)
tests_problems_libtrial_a_SOURCES += tests/problems/rows_differential.c
if WITH_MPI
# Under sanitizers OpenBLAS, which reads beyond vectors (cgemv of pcgesvd), meets the end of their heap now and then.
if !SANITIZER
unit_tests += tests/problems/test_parallel
endif
tests_problems_test_parallel_SOURCES = tests/problems/test_parallel.c tests/problems/alike.h tests/problems/rows_alike.c \
	tests/problems/rows_alike_values.c
tests_problems_test_parallel_LDADD = $(LIBTRIAL)
endif
