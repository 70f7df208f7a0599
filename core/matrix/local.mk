# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/matrix/harwell_boeing.c \
	core/matrix/fortran_format.h \
	core/matrix/matrix.c \
	core/matrix/matrix.h \
	core/matrix/matrix_csv.c \
	core/matrix/matrix_entries.c \
	core/matrix/matrix_format.h \
	core/matrix/matrix_formats.c \
	core/matrix/matrix_gzip.c \
	core/matrix/matrix_inline.c \
	core/matrix/matrix_market.c \
	core/matrix/matrix_norms.c \
	core/matrix/matrix_npy.c \
	core/matrix/matrix_npy.h \
	core/matrix/matrix_octave.c \
	core/matrix/matrix_peek.c \
	core/matrix/matrix_peek.h \
	core/matrix/matrix_save.c \
	core/matrix/matrix_text.c \
	core/matrix/matrix_text.h \
	core/matrix/matrix_view.c \
	core/matrix/matrix_view.h
