/* SPDX-License-Identifier: Apache-2.0
 *
 * The look-up of host names. The system's look-up has no deadline, so threads of the C library do it, and the
 * caller waits for as long as it has time.
 */
#ifndef ORB_HOST_NAMES_H
#define ORB_HOST_NAMES_H

#include <cstdint>
#include <string>
#include <vector>

/* Returns where `address` ("host:port") leads to: at most HOST_ADDRESSES of the form "number:port", in the
 * order in which they are to be tried. An address that has a number already is returned as it is. Without an
 * answer before `deadline_ns` (CLOCK_MONOTONIC), and for a name that is not known, the result is empty and
 * *why says so; the first of these texts begins with HOST_NAME_LATE. A look-up that was late goes on, and the
 * next caller for that host gets its result. Any thread. */
constexpr unsigned HOST_ADDRESSES = 4;
std::vector<std::string> host_addresses(const std::string &address, int64_t deadline_ns, std::string *why);

#endif
