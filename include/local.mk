# SPDX-License-Identifier: Apache-2.0
include_HEADERS += include/espalier.h include/grpc.h
