/* SPDX-License-Identifier: Apache-2.0
 *
 * uthash, configured not to end the process without memory: an element that could not be added has `hh.tbl
 * == NULL` afterwards. */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

#define HASH_NONFATAL_OOM 1

#include <uthash.h>
#include <utlist.h>

#endif
