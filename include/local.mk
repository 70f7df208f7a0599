# SPDX-License-Identifier: Apache-2.0
# Headers without a library behind them help nobody.
if WITH_OMNIORB
include_HEADERS += include/espalier.h include/espalier_scheduler.h include/espalier_server.h include/fast.h include/grpc.h
include_HEADERS += include/grpc_data.h
endif
EXTRA_DIST += include/espalier.h include/espalier_scheduler.h include/espalier_server.h include/fast.h include/grpc.h
EXTRA_DIST += include/grpc_data.h
