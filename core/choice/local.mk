# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/choice/aggregate.c \
	core/choice/aggregate.h \
	core/choice/ahead.c \
	core/choice/ahead.h \
	core/choice/estimate.c \
	core/choice/estimate.h \
	core/choice/fetchers.c \
	core/choice/fetchers.h \
	core/choice/scheduler.c \
	core/choice/scheduler.h \
	core/choice/server_index.c \
	core/choice/server_index.h \
	core/choice/terms.c \
	core/choice/terms.h
