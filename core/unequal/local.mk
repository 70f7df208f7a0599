# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/unequal/allocation.c \
	core/unequal/allocation.h \
	core/unequal/strategies.c \
	core/unequal/strategies.h \
	core/unequal/strategies_dynamic.c \
	core/unequal/strategies_internal.h
