/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/crashing_files.h"

#include "util/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE       4096
#define MOST_NAMES 512
#define MOST_OPS   4096
#define NAME       64

struct content {
    uint8_t *data;
    size_t size;
};

struct inode {
    struct content now, durable;
    bool lost; /* a sync of it failed: what was written until then never arrives */
    bool dirty;
    struct inode *next;
};

struct entry {
    char name[NAME];
    struct inode *inode;
};

struct names {
    struct entry items[MOST_NAMES];
    size_t n;
};

/* A change of a name that is not durable yet. inode NULL: `name` goes; `from` goes with it if there is one.
 */
struct change {
    char name[NAME], from[NAME];
    struct inode *inode;
};

struct disk {
    struct names now, durable;
    struct change changes[MOST_OPS];
    size_t n_changes;
    struct inode *inodes;
    struct random random;
    uint64_t operations, crash_at;
    bool crashed;
    unsigned full, error;
    uint64_t said_left;
};

struct mounted {
    struct files files;
    struct disk *disk;
};

struct file {
    struct disk *disk;
    struct inode *inode;
};

/* ---- names ---- */

static struct entry *lookup(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->items[i].name, name) == 0)
            return &names->items[i];
    return NULL;
}

static void set_name(struct names *names, const char *name, struct inode *inode)
{
    struct entry *entry = lookup(names, name);
    if (!inode) {
        if (entry)
            *entry = names->items[--names->n];
        return;
    }
    if (!entry) {
        if (names->n == MOST_NAMES)
            abort();
        entry = &names->items[names->n++];
        snprintf(entry->name, NAME, "%s", name);
    }
    entry->inode = inode;
}

static bool in_folder(const char *name, const char *folder)
{
    size_t length = strlen(folder);
    if (length == 0)
        return !strchr(name, '/');
    return strncmp(name, folder, length) == 0 && name[length] == '/';
}

static void apply(struct names *names, const struct change *change)
{
    struct entry *from = change->from[0] ? lookup(names, change->from) : NULL;
    if (from && from->inode == change->inode)
        set_name(names, change->from, NULL);
    set_name(names, change->name, change->inode);
}

static void note(struct disk *disk, const char *name, const char *from, struct inode *inode)
{
    if (disk->n_changes == MOST_OPS)
        abort();
    struct change *change = &disk->changes[disk->n_changes++];
    *change = (struct change){.inode = inode};
    snprintf(change->name, NAME, "%s", name);
    snprintf(change->from, NAME, "%s", from);
}

/* ---- contents ---- */

static void resize(struct content *content, size_t size)
{
    if (size > content->size) {
        content->data = realloc(content->data, size);
        if (!content->data)
            abort();
        memset(content->data + content->size, 0, size - content->size);
    }
    content->size = size;
}

static void copy(struct content *to, const struct content *from)
{
    resize(to, from->size);
    if (from->size)
        memcpy(to->data, from->data, from->size);
}

/* Each page that was written may have arrived. */
static void settle_content(struct disk *disk, struct inode *inode, unsigned how)
{
    if (inode->dirty && how != 0) {
        if (how == 2 || random_below(&disk->random, 2))
            resize(&inode->durable, inode->now.size);
        for (size_t at = 0; at < inode->durable.size && at < inode->now.size; at += PAGE) {
            size_t end = at + PAGE;
            if (end > inode->durable.size)
                end = inode->durable.size;
            if (end > inode->now.size)
                end = inode->now.size;
            if (how == 2 || random_below(&disk->random, 2))
                memcpy(inode->durable.data + at, inode->now.data + at, end - at);
        }
    }
    copy(&inode->now, &inode->durable);
    inode->dirty = inode->lost = false;
}

/* ---- operations ---- */

static enum esp_status power_is_gone(struct esp_error *error)
{
    return error_set(error, ESP_SYSTEM, "the power is gone");
}

/* Whether the next operation is done. *last: it is the one at which the power goes, done in part. */
static enum esp_status step(struct disk *disk, bool changes, bool *last, struct esp_error *error)
{
    *last = false;
    if (disk->crashed)
        return power_is_gone(error);
    disk->operations++;
    if (disk->crash_at && disk->operations == disk->crash_at) {
        disk->crashed = *last = true;
        return ESP_OK;
    }
    if (changes && random_below(&disk->random, 1000) < disk->full)
        return error_set(error, ESP_NO_MEMORY, "the disk is full");
    if (changes && random_below(&disk->random, 1000) < disk->error)
        return error_set(error, ESP_SYSTEM, "Input/output error");
    return ESP_OK;
}

static struct disk *of(struct files *files)
{
    return ((struct mounted *)files)->disk;
}

static void unmount(struct files *files)
{
    free(files);
}

static enum esp_status lock(struct files *files, struct esp_error *error)
{
    (void)files;
    (void)error;
    return ESP_OK;
}

static enum esp_status make_folder(struct files *files, const char *name, struct esp_error *error)
{
    bool last;
    (void)name; /* folders are always there */
    enum esp_status status = step(of(files), true, &last, error);
    return status == ESP_OK && last ? power_is_gone(error) : status;
}

static enum esp_status list(struct files *files, const char *folder, files_visit *visit, void *arg,
                            struct esp_error *error)
{
    struct disk *disk = of(files);
    bool last;
    enum esp_status status = step(disk, false, &last, error);
    if (status == ESP_OK && last)
        return power_is_gone(error);
    for (size_t i = 0; status == ESP_OK && i < disk->now.n; i++)
        if (in_folder(disk->now.items[i].name, folder))
            status = visit(arg, disk->now.items[i].name + (*folder ? strlen(folder) + 1 : 0), NULL, error);
    return status;
}

static enum esp_status open_inode(struct disk *disk, struct inode *inode, struct file **result)
{
    struct file *file = malloc(sizeof *file);
    if (!file)
        abort();
    *file = (struct file){disk, inode};
    *result = file;
    return ESP_OK;
}

static enum esp_status create(struct files *files, const char *name, struct file **file,
                              struct esp_error *error)
{
    struct disk *disk = of(files);
    bool last;
    enum esp_status status = step(disk, true, &last, error);
    if (status != ESP_OK)
        return status;
    struct inode *inode = calloc(1, sizeof *inode);
    if (!inode)
        abort();
    inode->next = disk->inodes;
    disk->inodes = inode;
    set_name(&disk->now, name, inode);
    note(disk, name, "", inode);
    return last ? power_is_gone(error) : open_inode(disk, inode, file);
}

static enum esp_status open_to_read(struct files *files, const char *name, struct file **file,
                                    uint64_t *bytes, struct esp_error *error)
{
    struct disk *disk = of(files);
    bool last;
    enum esp_status status = step(disk, false, &last, error);
    if (status != ESP_OK || last)
        return last ? power_is_gone(error) : status;
    struct entry *entry = lookup(&disk->now, name);
    if (!entry)
        return error_set(error, ESP_NOT_FOUND, "no file %s", name);
    *bytes = entry->inode->now.size;
    return open_inode(disk, entry->inode, file);
}

static enum esp_status read_file(struct file *file, void *data, size_t bytes, uint64_t offset,
                                 struct esp_error *error)
{
    bool last;
    enum esp_status status = step(file->disk, false, &last, error);
    if (status != ESP_OK || last)
        return last ? power_is_gone(error) : status;
    if (offset + bytes > file->inode->now.size)
        return error_set(error, ESP_SYSTEM, "the file ends");
    if (bytes > 0)
        memcpy(data, file->inode->now.data + offset, bytes);
    return ESP_OK;
}

static enum esp_status write_file(struct file *file, const void *data, size_t bytes, uint64_t offset,
                                  struct esp_error *error)
{
    bool last;
    enum esp_status status = step(file->disk, true, &last, error);
    if (status != ESP_OK)
        return status;
    if (last)
        bytes = random_below(&file->disk->random, bytes + 1);
    if (offset + bytes > file->inode->now.size)
        resize(&file->inode->now, offset + bytes);
    memcpy(file->inode->now.data + offset, data, bytes);
    file->inode->dirty = true;
    return last ? power_is_gone(error) : ESP_OK;
}

static enum esp_status sync_file(struct file *file, struct esp_error *error)
{
    bool last;
    enum esp_status status = step(file->disk, true, &last, error);
    if (status != ESP_OK)
        file->inode->lost = true;
    if (status != ESP_OK || last)
        return last ? power_is_gone(error) : status;
    if (!file->inode->lost) {
        copy(&file->inode->durable, &file->inode->now);
        file->inode->dirty = false;
    }
    return ESP_OK;
}

static void close_file(struct file *file)
{
    free(file);
}

static enum esp_status rename_file(struct files *files, const char *from, const char *to,
                                   struct esp_error *error)
{
    struct disk *disk = of(files);
    bool last;
    enum esp_status status = step(disk, true, &last, error);
    if (status != ESP_OK)
        return status;
    struct entry *entry = lookup(&disk->now, from);
    if (!entry)
        return error_set(error, ESP_NOT_FOUND, "no file %s", from);
    struct inode *inode = entry->inode;
    set_name(&disk->now, from, NULL);
    set_name(&disk->now, to, inode);
    if (strchr(to, '/')) { /* two folders: each half may arrive without the other */
        note(disk, to, "", inode);
        note(disk, from, "", NULL);
    } else {
        note(disk, to, from, inode);
    }
    return last ? power_is_gone(error) : ESP_OK;
}

static enum esp_status remove_file(struct files *files, const char *name, struct esp_error *error)
{
    struct disk *disk = of(files);
    bool last;
    enum esp_status status = step(disk, true, &last, error);
    if (status != ESP_OK)
        return status;
    if (!lookup(&disk->now, name))
        return error_set(error, ESP_NOT_FOUND, "no file %s", name);
    set_name(&disk->now, name, NULL);
    note(disk, name, "", NULL);
    return last ? power_is_gone(error) : ESP_OK;
}

static enum esp_status sync_folder(struct files *files, const char *name, struct esp_error *error)
{
    struct disk *disk = of(files);
    bool last;
    enum esp_status status = step(disk, true, &last, error);
    if (status != ESP_OK || last)
        return last ? power_is_gone(error) : status;
    size_t kept = 0;
    for (size_t i = 0; i < disk->n_changes; i++) {
        if (in_folder(disk->changes[i].name, name))
            apply(&disk->durable, &disk->changes[i]);
        else
            disk->changes[kept++] = disk->changes[i];
    }
    disk->n_changes = kept;
    return ESP_OK;
}

static bool free_bytes(struct files *files, uint64_t *bytes)
{
    *bytes = of(files)->said_left;
    return *bytes > 0;
}

static const struct files_ops disk_ops = {
    .destroy = unmount,
    .lock = lock,
    .make_folder = make_folder,
    .list = list,
    .create = create,
    .open = open_to_read,
    .read = read_file,
    .write = write_file,
    .sync = sync_file,
    .close = close_file,
    .rename = rename_file,
    .remove = remove_file,
    .free_bytes = free_bytes,
    .sync_folder = sync_folder,
};

/* ---- the disk ---- */

struct disk *disk_create(uint64_t seed)
{
    struct disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        abort();
    random_seed(&disk->random, seed);
    return disk;
}

static void free_inode(struct inode *inode)
{
    free(inode->now.data);
    free(inode->durable.data);
    free(inode);
}

void disk_destroy(struct disk *disk)
{
    for (struct inode *inode = disk->inodes, *next; inode; inode = next) {
        next = inode->next;
        free_inode(inode);
    }
    free(disk);
}

struct files *disk_mount(struct disk *disk)
{
    struct mounted *mounted = malloc(sizeof *mounted);
    if (!mounted)
        abort();
    *mounted = (struct mounted){{&disk_ops, "disk"}, disk};
    return &mounted->files;
}

void disk_crash_at(struct disk *disk, uint64_t n)
{
    disk->crash_at = n ? disk->operations + n : 0;
}

bool disk_crashed(const struct disk *disk)
{
    return disk->crashed;
}

uint64_t disk_operations(const struct disk *disk)
{
    return disk->operations;
}

static void free_nameless(struct disk *disk)
{
    for (struct inode **at = &disk->inodes; *at;) {
        struct inode *inode = *at;
        bool named = false;
        for (size_t i = 0; i < disk->durable.n; i++)
            named |= disk->durable.items[i].inode == inode;
        if (named) {
            at = &inode->next;
            continue;
        }
        *at = inode->next;
        free_inode(inode);
    }
}

void disk_power_cut(struct disk *disk)
{
    unsigned how = (unsigned)random_below(&disk->random, 3); /* nothing, any part, or all of it arrived */
    for (size_t i = 0; i < disk->n_changes; i++)
        if (how == 2 || (how == 1 && random_below(&disk->random, 2)))
            apply(&disk->durable, &disk->changes[i]);
    disk->n_changes = 0;
    disk->now = disk->durable;
    free_nameless(disk);
    unsigned contents = (unsigned)random_below(&disk->random, 3);
    for (struct inode *inode = disk->inodes; inode; inode = inode->next)
        settle_content(disk, inode, inode->lost ? 0 : contents);
    disk->crashed = false;
    disk->crash_at = 0;
}

void disk_say_left(struct disk *disk, uint64_t bytes)
{
    disk->said_left = bytes;
}

void disk_fail_some(struct disk *disk, unsigned full_per_mille, unsigned error_per_mille)
{
    disk->full = full_per_mille;
    disk->error = error_per_mille;
}

const char *disk_name(const struct disk *disk, size_t n)
{
    return n < disk->now.n ? disk->now.items[n].name : NULL;
}

bool disk_flip(struct disk *disk, const char *name, uint64_t offset)
{
    struct entry *entry = lookup(&disk->now, name);
    if (!entry || offset >= entry->inode->now.size)
        return false;
    entry->inode->now.data[offset] ^= 0x10;
    copy(&entry->inode->durable, &entry->inode->now);
    return true;
}

void disk_cut(struct disk *disk, const char *name, uint64_t bytes)
{
    struct entry *entry = lookup(&disk->now, name);
    resize(&entry->inode->now, bytes);
    copy(&entry->inode->durable, &entry->inode->now);
}

void disk_plant(struct disk *disk, const char *name, const void *data, size_t bytes)
{
    struct inode *inode = calloc(1, sizeof *inode);
    if (!inode)
        abort();
    inode->next = disk->inodes;
    disk->inodes = inode;
    resize(&inode->now, bytes);
    if (bytes)
        memcpy(inode->now.data, data, bytes);
    copy(&inode->durable, &inode->now);
    set_name(&disk->now, name, inode);
    set_name(&disk->durable, name, inode);
}
