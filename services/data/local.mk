# SPDX-License-Identifier: Apache-2.0
# The store of a server.
services_libservices_a_SOURCES += \
	services/data/datum_file.c \
	services/data/datum_file.h \
	services/data/files.h \
	services/data/files_posix.c \
	services/data/replication.c \
	services/data/replication.h \
	services/data/store.c \
	services/data/store.h \
	services/data/store_room.c \
	services/data/store_sums.c \
	services/data/store_sums.h \
	services/data/store_recover.c \
	services/data/store_state.h
