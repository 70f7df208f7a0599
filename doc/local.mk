# SPDX-License-Identifier: Apache-2.0
# The manual, checked by tests/check-manual.t.
dist_man_MANS += doc/man/espalier.1
if WITH_OMNIORB
dist_man_MANS += doc/man/grpc.3
dist_man_MANS += doc/man/grpc_data.3
dist_man_MANS += doc/man/espalier.3
dist_man_MANS += doc/man/espalier_scheduler.3
dist_man_MANS += doc/man/espalier_server.3
dist_man_MANS += doc/man/fast.3
dist_man_MANS += doc/man/espalier-redirector.8
dist_man_MANS += doc/man/espalier-agent.8
dist_man_MANS += doc/man/espalier-sed.8
dist_man_MANS += doc/man/espalier-crd.8
dist_man_MANS += doc/man/espalier-prd.8
dist_man_MANS += doc/man/espalier-calibrate.8
dist_man_MANS += doc/man/espalier-directory.8
endif
dist_man_MANS += doc/man/espalier-client.conf.5 doc/man/espalier-redirector.conf.5 doc/man/espalier-agent.conf.5
dist_man_MANS += doc/man/espalier-problem.5 doc/man/espalier-sed.conf.5 doc/man/espalier-platform.conf.5
dist_doc_DATA = README.md ARCHITECTURE.md
dist_doc_DATA += doc/tutorial-publish.md
dist_doc_DATA += doc/tutorial-more.md
dist_doc_DATA += doc/problem-description.md
dist_doc_DATA += doc/tls.md
dist_doc_DATA += doc/forecast.md
dist_doc_DATA += doc/performance.md
dist_doc_DATA += doc/known-gaps.md
dist_doc_DATA += doc/redistribution.md
dist_doc_DATA += doc/parallel-models.md
dist_doc_DATA += doc/parallel-servers.md
dist_doc_DATA += doc/administration.md
dist_doc_DATA += doc/data.md
dist_doc_DATA += doc/directory.md
