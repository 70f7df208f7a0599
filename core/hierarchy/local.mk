# SPDX-License-Identifier: Apache-2.0
core_libcore_la_SOURCES += \
	core/hierarchy/absent.c \
	core/hierarchy/absent.h \
	core/hierarchy/arrivals.c \
	core/hierarchy/arrivals.h \
	core/hierarchy/catalog.c \
	core/hierarchy/catalog.h \
	core/hierarchy/children.c \
	core/hierarchy/children.h \
	core/hierarchy/children_hello.c \
	core/hierarchy/children_internal.h \
	core/hierarchy/handover.c \
	core/hierarchy/handover.h \
	core/hierarchy/knowledge.c \
	core/hierarchy/knowledge.h \
	core/hierarchy/knowledge_internal.h \
	core/hierarchy/knowledge_load.c \
	core/hierarchy/knowledge_record.c \
	core/hierarchy/knowledge_tell.c \
	core/hierarchy/location.c \
	core/hierarchy/location.h \
	core/hierarchy/location_report.c \
	core/hierarchy/location_report.h \
	core/hierarchy/lost_problems.c \
	core/hierarchy/lost_problems.h \
	core/hierarchy/membership.c \
	core/hierarchy/membership.h \
	core/hierarchy/membership_internal.h \
	core/hierarchy/membership_parents.c \
	core/hierarchy/membership_report.c \
	core/hierarchy/membership_seek.c \
	core/hierarchy/namesakes.c \
	core/hierarchy/namesakes.h \
	core/hierarchy/refuges.c \
	core/hierarchy/refuges.h \
	core/hierarchy/trace.c \
	core/hierarchy/trace.h
