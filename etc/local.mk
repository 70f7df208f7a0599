# SPDX-License-Identifier: Apache-2.0
nobase_dist_pkgdata_DATA += examples/matrices/lund_a.mtx examples/matrices/pores_1.mtx examples/matrices/utm300.rua
nobase_dist_pkgdata_DATA += etc/client.conf etc/redirector.conf etc/master.conf etc/leader.conf etc/sed.conf etc/platform.conf
EXTRA_DIST += etc/packages.debian quickstart bootstrap README.md ARCHITECTURE.md .clang-format

# How programs find the library; how the library is linked (client/local.mk): its version in libtool's
# current:revision:age, and its exported names.
pkgconfig_DATA = etc/espalier.pc
esp_library_flags = -version-info 0:0:0 -Wl,--version-script=$(top_srcdir)/client/libespalier.map
EXTRA_DIST += client/libespalier.map
