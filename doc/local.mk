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

# man grpc_call: a link for each function to the page that has it.
LINKED_PAGES = grpc grpc_data espalier espalier_scheduler espalier_server fast
if WITH_OMNIORB
install-data-hook:
	@cd '$(DESTDIR)$(man3dir)' && for page in $(LINKED_PAGES); do \
	    for name in `sed -n 's/^\.Fn \([a-z_]*\).*/\1/p' $$page.3`; do \
	        test -e $$name.3 || $(LN_S) $$page.3 $$name.3 || exit; \
	    done; \
	done

# Only what points to a page of ours: these are gone by now.
uninstall-hook:
	@cd '$(DESTDIR)$(man3dir)' 2>/dev/null || exit 0; for page in $(LINKED_PAGES); do \
	    for link in *.3; do \
	        test "`readlink "$$link"`" != $$page.3 || rm -f "$$link"; \
	    done; \
	done
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
dist_doc_DATA += doc/flow.md
dist_doc_DATA += doc/directory.md
dist_doc_DATA += doc/batch.md
dist_doc_DATA += doc/python.md
dist_doc_DATA += doc/fortran.md
dist_doc_DATA += doc/octave.md
