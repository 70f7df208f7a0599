/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a daemon has room for what it writes: a full disk loses log lines, results of jobs and data long
 * before anybody looks, so /health tells it.
 */
#include "config.h"
#include "services/daemon_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

/* A disk with less than this, and less than a hundredth of it, is full. */
#define LEAST_BYTES (1024.0 * 1024.0)
#define LEAST_SHARE 0.01

/* Appends to the text when the folder's disk is full. A folder that cannot be looked at is no full disk. */
static bool tell_full(const char *key, const char *folder, char *text, size_t size)
{
    struct statvfs disk;
    const size_t n = strlen(text);
    if (statvfs(folder, &disk) != 0 || disk.f_blocks == 0)
        return false;
    const double left = (double)disk.f_bavail * (double)disk.f_frsize,
                 all = (double)disk.f_blocks * (double)disk.f_frsize;
    const bool has_files = disk.f_files == 0 || disk.f_favail > 0;
    if ((left >= LEAST_BYTES || left >= LEAST_SHARE * all) && has_files)
        return false;
    if (has_files)
        snprintf(text + n, size - n, "; the disk of %s (%s) is full: %.0f kB are left", key, folder,
                 left / 1e3);
    else
        snprintf(text + n, size - n, "; the disk of %s (%s) is full: it can have no more files", key, folder);
    return true;
}

static bool tell_log(const char *file, char *text, size_t size)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    const int length = slash ? (int)(slash - file) : 0;
    snprintf(folder, sizeof folder, "%.*s/", length, slash ? file : ".");
    return tell_full("log_file", slash ? folder : ".", text, size);
}

bool daemon_disks_tell(const struct settings_node *settings, char *text, size_t size)
{
    bool full = settings->state_dir && tell_full("state_dir", settings->state_dir, text, size);
    if (settings->log_file)
        full |= tell_log(settings->log_file, text, size);
    return full;
}
