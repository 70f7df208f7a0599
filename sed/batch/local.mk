# SPDX-License-Identifier: Apache-2.0
# Batch systems, and the jobs of a server under one.
noinst_LIBRARIES += sed/libbatch.a
sed_libbatch_a_SOURCES = \
	sed/batch/batch.c \
	sed/batch/batch.h \
	sed/batch/batch_command.c \
	sed/batch/batch_command.h \
	sed/batch/batch_folder.c \
	sed/batch/batch_folder.h \
	sed/batch/batch_jobs.c \
	sed/batch/batch_jobs.h \
	sed/batch/batch_life.c \
	sed/batch/batch_life.h \
	sed/batch/batch_pace.c \
	sed/batch/batch_pace.h \
	sed/batch/batch_record.c \
	sed/batch/batch_record.h \
	sed/batch/batch_script.c \
	sed/batch/batch_script.h \
	sed/batch/batch_system.c \
	sed/batch/batch_system.h \
	sed/batch/local.c \
	sed/batch/pilots.c \
	sed/batch/pilots.h \
	sed/batch/slurm.c \
	sed/batch/slurm_text.c \
	sed/batch/slurm_text.h
LIBBATCH = sed/libbatch.a $(POOL_LIBS)
