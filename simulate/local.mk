# SPDX-License-Identifier: Apache-2.0
# Flow graphs on simulated platforms. Sums and products are not contracted, so that every machine gives the same result.
noinst_LIBRARIES += simulate/libsimulate.a
simulate_libsimulate_a_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
simulate_libsimulate_a_SOURCES = \
	simulate/applications/lu.c \
	simulate/applications/lu.h \
	simulate/picture.c \
	simulate/picture.h \
	simulate/platform.c \
	simulate/platform.h \
	simulate/simulation.c \
	simulate/simulation.h \
	simulate/star.c \
	simulate/star.h \
	simulate/study.c \
	simulate/study.h
LIBSIMULATE = simulate/libsimulate.a $(LIBCORE)
