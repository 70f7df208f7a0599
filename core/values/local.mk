# SPDX-License-Identifier: Apache-2.0
# Arguments as people write them. A library of its own, as it needs jansson and libffi.
noinst_LIBRARIES += core/values/libvalues.a
core_values_libvalues_a_SOURCES = \
	core/values/signature.c \
	core/values/signature.h \
	core/values/values.c \
	core/values/values.h \
	core/values/values_data.c \
	core/values/values_function.c \
	core/values/values_function.h \
	core/values/values_random.c \
	core/values/values_random.h \
	core/values/values_storage.c \
	core/values/values_storage.h \
	core/values/values_take.c \
	core/values/values_texts.c \
	core/values/values_texts.h
core_values_libvalues_a_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
LIBVALUES = core/values/libvalues.a $(JANSSON_LIBS) $(FFI_LIBS)
