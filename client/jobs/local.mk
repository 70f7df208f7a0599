# SPDX-License-Identifier: Apache-2.0
client_libclient_a_SOURCES += \
	client/jobs/job.c \
	client/jobs/job.h \
	client/jobs/job_again.c \
	client/jobs/job_api.c \
	client/jobs/job_attach.c \
	client/jobs/job_call.c \
	client/jobs/job_call.h \
	client/jobs/job_end.c \
	client/jobs/job_end.h \
	client/jobs/job_store.c \
	client/jobs/job_submit.c \
	client/jobs/job_token.c
