/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks up host names. The system's look-up has no deadline, so threads of the C library do it, and the
 * caller waits only until its own deadline. */
#ifndef ORB_HOST_NAMES_H
#define ORB_HOST_NAMES_H

#include <cstdint>
#include <string>
#include <vector>

/* Resolves `address` ("host:port"): returns at most HOST_ADDRESSES of the form "number:port", in the order
 * in which to try them. A numeric address is returned unchanged. Without an answer before `deadline_ns`
 * (CLOCK_MONOTONIC), and for an unknown name, the result is empty and
 * *why says so; the text for a missed deadline begins with HOST_NAME_LATE. A late look-up continues, and
 * the next caller for that host gets its result. Any thread. */
constexpr unsigned HOST_ADDRESSES = 4;
std::vector<std::string> host_addresses(const std::string &address, int64_t deadline_ns, std::string *why);

#endif
