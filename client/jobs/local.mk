# SPDX-License-Identifier: Apache-2.0
client_libclient_a_SOURCES += \
	client/jobs/job.c \
	client/jobs/job.h \
	client/jobs/job_api.c \
	client/jobs/job_store.c
