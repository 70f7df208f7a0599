# SPDX-License-Identifier: Apache-2.0
core_libcore_a_SOURCES += \
	core/data/datum.c \
	core/data/datum.h \
	core/data/datum_argument.c \
	core/data/datum_given_up.c \
	core/data/datum_pieces.c \
	core/data/datum_pieces.h \
	core/data/datum_section.c \
	core/data/datum_section.h
