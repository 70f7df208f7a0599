/* SPDX-License-Identifier: Apache-2.0
 *
 * uthash without its habit of ending the process when memory is short: an element that could not be added
 * has `hh.tbl == NULL` afterwards.
 */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

#define HASH_NONFATAL_OOM 1

#include <uthash.h>
#include <utlist.h>

#endif
