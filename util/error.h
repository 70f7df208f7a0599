/* SPDX-License-Identifier: Apache-2.0
 *
 * How library code reports failure: a status and a text, filled once, and passed up. */
#ifndef UTIL_ERROR_H
#define UTIL_ERROR_H

#include "espalier.h"
#include <stdarg.h>

/* Fills `error` (which may be NULL) and returns `status`, so that a function can end with
 * `return error_set(error, ESP_INVALID, "...", ...)`. A text longer than the field is cut. */
enum esp_status error_set(struct esp_error *error, enum esp_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Like error_set(), with a va_list. */
enum esp_status error_vset(struct esp_error *error, enum esp_status status, const char *format,
                           va_list arguments) __attribute__((format(printf, 3, 0)));

/* Puts "context: " before the text, so that the reader sees where it happened. Returns error->status
 * (ESP_INTERNAL when `error` is NULL). */
enum esp_status error_prefix(struct esp_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "who at address: " before the text, or "who: " if the text already contains the address. */
enum esp_status error_prefix_at(struct esp_error *error, const char *who, const char *address);

/* Sets ESP_NO_MEMORY with a text that names what could not be allocated. */
enum esp_status error_no_memory(struct esp_error *error, const char *what);

/* Sets ESP_SYSTEM with strerror(errno) after the formatted text. Reads errno first. */
enum esp_status error_errno(struct esp_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
