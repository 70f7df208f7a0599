# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/inproc/inproc.c \
	core/inproc/inproc.h \
	core/inproc/inproc_call.c \
	core/inproc/inproc_net.h \
	core/inproc/inproc_parcel.c
