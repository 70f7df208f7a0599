# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/hierarchy/absent.c \
	core/hierarchy/absent.h \
	core/hierarchy/arrivals.c \
	core/hierarchy/arrivals.h \
	core/hierarchy/catalog.c \
	core/hierarchy/catalog.h \
	core/hierarchy/children.c \
	core/hierarchy/children.h \
	core/hierarchy/handover.c \
	core/hierarchy/handover.h \
	core/hierarchy/knowledge.c \
	core/hierarchy/knowledge.h \
	core/hierarchy/location.c \
	core/hierarchy/location.h \
	core/hierarchy/lost_problems.c \
	core/hierarchy/lost_problems.h \
	core/hierarchy/membership.c \
	core/hierarchy/membership.h \
	core/hierarchy/namesakes.c \
	core/hierarchy/namesakes.h \
	core/hierarchy/refuges.c \
	core/hierarchy/refuges.h \
	core/hierarchy/returning.c \
	core/hierarchy/returning.h \
	core/hierarchy/trace.c \
	core/hierarchy/trace.h
