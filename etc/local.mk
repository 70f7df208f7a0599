# SPDX-License-Identifier: Apache-2.0
nobase_dist_pkgdata_DATA += etc/client.conf etc/redirector.conf etc/master.conf etc/leader.conf etc/sed.conf etc/platform.conf
