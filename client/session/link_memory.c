/* SPDX-License-Identifier: Apache-2.0 */
#include "client/session/link_memory.h"

#include "util/c_numbers.h"
#include "util/crc32c.h"
#include "util/regular_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADING "espalier-links 1\n"
#define SOUNDED "sounded" /* behind the address: no transfer was made */
#define SHORT                                                                                                \
    "short" /* before the line: only short transfers; versions that do not know this word skip the line */
#define DOUBTED    "doubted" /* at the end of a line of transfers */
#define SIZE       "size"    /* starts a line with the rate of one size, behind that of its link */
#define MOST_LINES (1 + 2 * SIZE_CLASSES)
#define MOST_BYTES (LINK_MEMORY_MOST * MOST_LINES * (CAP_ADDRESS + 110))
#define DAY_S      86400

void link_memory_path(char *path, size_t size)
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    int n = 0;
    *path = 0;
    if (cache && *cache == '/')
        n = snprintf(path, size, "%s/espalier/links", cache);
    else if (home && *home == '/')
        n = snprintf(path, size, "%s/.cache/espalier/links", home);
    if (n < 0 || (size_t)n >= size)
        *path = 0;
}

void link_memory_clear(struct link_memory *memory)
{
    free(memory->links);
    *memory = (struct link_memory){0};
}

const struct remembered_link *link_memory_find(const struct link_memory *memory, const char *address)
{
    for (size_t i = 0; i < memory->n; i++)
        if (strcmp(memory->links[i].address, address) == 0)
            return &memory->links[i];
    return NULL;
}

static struct remembered_link *oldest(const struct link_memory *memory)
{
    struct remembered_link *found = memory->links;
    for (size_t i = 1; i < memory->n; i++)
        if (memory->links[i].used_s < found->used_s)
            found = &memory->links[i];
    return found;
}

static void set(struct link_memory *memory, const char *address, const struct path *path, int64_t now_s,
                bool sounded, bool is_short, uint64_t short_bytes)
{
    if (!*address || strlen(address) > CAP_ADDRESS || strpbrk(address, " \n"))
        return;
    if (!memory->links && !(memory->links = calloc(LINK_MEMORY_MOST, sizeof *memory->links)))
        return;
    struct remembered_link *link = (struct remembered_link *)link_memory_find(memory, address);
    if (!link)
        link = memory->n < LINK_MEMORY_MOST ? &memory->links[memory->n++] : oldest(memory);
    snprintf(link->address, sizeof link->address, "%s", address);
    link->path = *path;
    link->used_s = now_s;
    link->sounded = sounded;
    link->is_short = is_short;
    link->short_bytes = short_bytes;
    link->doubted = false;
    memset(link->sizes, 0, sizeof link->sizes);
}

/* Returns the link if it is known by transfers; else NULL. */
static struct remembered_link *find_told(struct link_memory *memory, const char *address)
{
    struct remembered_link *link = (struct remembered_link *)link_memory_find(memory, address);
    return link && !link->sounded && !link->is_short ? link : NULL;
}

bool link_memory_doubt(struct link_memory *memory, const char *address)
{
    struct remembered_link *link = find_told(memory, address);
    if (link)
        link->doubted = true;
    return link != NULL;
}

void link_memory_set_sizes(struct link_memory *memory, const char *address, const struct size_rates *sizes)
{
    struct remembered_link *link = find_told(memory, address);
    if (link)
        memcpy(link->sizes, sizes, sizeof link->sizes);
}

void link_memory_set(struct link_memory *memory, const char *address, const struct path *path, int64_t now_s)
{
    set(memory, address, path, now_s, false, false, 0);
}

void link_memory_set_sounded(struct link_memory *memory, const char *address, const struct path *path,
                             int64_t now_s)
{
    const struct remembered_link *known = link_memory_find(memory, address);
    if (!known || known->sounded || known->is_short)
        set(memory, address, path, now_s, true, false, 0);
}

void link_memory_set_short(struct link_memory *memory, const char *address, const struct path *path,
                           uint64_t bytes, int64_t now_s)
{
    const struct remembered_link *known = link_memory_find(memory, address);
    if (!known || (known->is_short && (path->bandwidth_bps > 0 || known->path.bandwidth_bps <= 0)))
        set(memory, address, path, now_s, false, true, bytes);
}

/* ---- reading ---- */

/* Reads the whole file, for free(). Returns NULL if it does not exist, is empty, or is larger than any
 * file that this program writes. */
static char *read_file(const char *path, size_t *length)
{
    FILE *file = regular_file_open(path, "r", NULL);
    char *text = file ? malloc(MOST_BYTES + 1) : NULL;
    *length = text ? fread(text, 1, MOST_BYTES + 1, file) : 0;
    if (file)
        fclose(file);
    if (text && *length <= MOST_BYTES) {
        text[*length] = 0;
        return text;
    }
    free(text);
    return NULL;
}

/* Returns the lines if heading and checksum are right. */
static char *body_of(char *text, size_t length)
{
    char sum[32];
    char *end = length > sizeof HEADING ? text + length - strlen("end 01234567\n") : text;
    if (end <= text || strlen(text) != length || strncmp(text, HEADING, sizeof HEADING - 1) != 0)
        return NULL;
    snprintf(sum, sizeof sum, "end %08" PRIx32 "\n", crc32c(0, text, (size_t)(end - text)));
    if (strcmp(end, sum) != 0)
        return NULL;
    *end = 0;
    return text + sizeof HEADING - 1;
}

/* Takes a line of a size, behind its word. */
static void take_size(struct link_memory *memory, const char *line)
{
    char address[CAP_ADDRESS + 1];
    int there;
    double bytes, rate_bps;
    if (sscanf(line, "%d %lf %lf %255s", &there, &bytes, &rate_bps, address) < 4)
        return;
    struct remembered_link *link = find_told(memory, address);
    if (link && isfinite(bytes) && bytes > 0 && isfinite(rate_bps) && rate_bps > 0)
        size_rates_add(&link->sizes[there != 0], bytes, rate_bps);
}

static void take_line(struct link_memory *memory, const char *line, int64_t now_s)
{
    char address[CAP_ADDRESS + 1], how[16] = "", last[16] = "";
    double back_bps = 0;
    int64_t used_s;
    struct path path = {.known = true};
    _Static_assert(CAP_ADDRESS == 255, "the width below");
    const bool is_short = strncmp(line, SHORT " ", sizeof SHORT) == 0;
    if (is_short)
        line += sizeof SHORT;
    if (sscanf(line, "%" SCNd64 " %lf %lf %255s %15s %lf %15s", &used_s, &path.latency_s, &path.bandwidth_bps,
               address, how, &back_bps, last) < 4)
        return;
    path.back_bps = isfinite(back_bps) && back_bps > 0 ? back_bps : 0;
    const bool sounded = strcmp(how, SOUNDED) == 0;
    const int64_t most_s = is_short  ? LINK_MEMORY_SHORT_S
                           : sounded ? LINK_MEMORY_SOUNDED_S
                                     : LINK_MEMORY_DAYS * DAY_S;
    const bool is_length = is_short && path.bandwidth_bps == 0 && path.latency_s > 0;
    /* A clock that was set back only makes a link newer or older. */
    if (used_s > now_s)
        used_s = now_s;
    if (now_s - used_s <= most_s && isfinite(path.latency_s) && path.latency_s >= 0 &&
        isfinite(path.bandwidth_bps) && (path.bandwidth_bps > 0 || is_length))
        set(memory, address, &path, used_s, sounded && !is_short, is_short,
            is_short && !is_length ? strtoull(last, NULL, 10) : 0);
    if (strcmp(last, DOUBTED) == 0)
        link_memory_doubt(memory, address);
}

void link_memory_load(struct link_memory *memory, const char *path, int64_t now_s)
{
    size_t length;
    char *text = *path ? read_file(path, &length) : NULL;
    char *line = text ? body_of(text, length) : NULL;
    if (!line && *path && access(path, F_OK) == 0) {
        char aside[4200];
        if (snprintf(aside, sizeof aside, "%s" LINK_MEMORY_SUFFIX, path) < (int)sizeof aside)
            rename(path, aside);
    }
    const locale_t before = c_numbers_begin();
    while (line && *line) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (strncmp(line, SIZE " ", sizeof SIZE) == 0)
            take_size(memory, line + sizeof SIZE);
        else
            take_line(memory, line, now_s);
        line = next;
    }
    c_numbers_end(before);
    free(text);
}

/* ---- writing ---- */

static bool make_folders(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    for (int above = 1; above >= 0; above--) { /* ~/.cache, then espalier in it */
        snprintf(folder, sizeof folder, "%s", path);
        for (int i = 0; i <= above; i++)
            if (strrchr(folder, '/') > folder)
                *strrchr(folder, '/') = 0;
        mkdir(folder, 0700);
    }
    return access(folder, W_OK) == 0;
}

/* Writes one link. The word for its source ("-" for transfers) is left out at the end of a line. Lines of
 * short transfers end with their bytes. */
static void put_line(FILE *file, const struct remembered_link *link)
{
    fprintf(file, "%s%" PRId64 " %.9g %.9g %s", link->is_short ? SHORT " " : "", link->used_s,
            link->path.latency_s, link->path.bandwidth_bps, link->address);
    const bool has_last = link->doubted || link->short_bytes > 0;
    if (link->sounded || link->path.back_bps > 0 || has_last)
        fprintf(file, " %s", link->sounded ? SOUNDED : "-");
    if (link->path.back_bps > 0 || has_last)
        fprintf(file, " %.9g", link->path.back_bps);
    if (link->doubted)
        fputs(" " DOUBTED, file);
    else if (link->short_bytes > 0)
        fprintf(file, " %" PRIu64, link->short_bytes);
    fputc('\n', file);
}

static void put_sizes(FILE *file, const struct remembered_link *link)
{
    struct size_rate rate;
    for (int there = 0; there < 2; there++)
        for (unsigned i = 0; i < SIZE_CLASSES; i++)
            if (size_rates_class(&link->sizes[there], i, &rate))
                fprintf(file, SIZE " %d %.0f %.9g %s\n", there, rate.bytes, rate.rate_bps, link->address);
}

static char *text_of(const struct link_memory *memory, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    if (!file)
        return NULL;
    const locale_t before = c_numbers_begin();
    fputs(HEADING, file);
    for (size_t i = 0; i < memory->n; i++) {
        put_line(file, &memory->links[i]);
        put_sizes(file, &memory->links[i]);
    }
    c_numbers_end(before);
    fflush(file);
    fprintf(file, "end %08" PRIx32 "\n", crc32c(0, text, *length));
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

bool link_memory_save(const struct link_memory *memory, const char *path)
{
    char fresh[4200];
    size_t length = 0;
    if (!*path || !make_folders(path) ||
        snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid()) >= (int)sizeof fresh)
        return false;
    char *text = text_of(memory, &length);
    FILE *file = text ? regular_file_open(fresh, "w", NULL) : NULL;
    bool whole = file && fwrite(text, 1, length, file) == length;
    if (file && fclose(file) != 0)
        whole = false;
    whole = whole && rename(fresh, path) == 0;
    if (file && !whole)
        unlink(fresh);
    free(text);
    return whole;
}
