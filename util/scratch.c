/* SPDX-License-Identifier: Apache-2.0 */
#include "util/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int open_nameless(void)
{
    const char *folder = secure_getenv("TMPDIR");
    return open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Maps a file whose disk space is reserved, so that a full disk is noticed now, and not at a later write. */
static void *map_new(int file, size_t size)
{
    if (file < 0 || posix_fallocate(file, 0, (off_t)size) != 0)
        return NULL;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static bool move_to_file(struct scratch *scratch, size_t size)
{
    int file = open_nameless();
    char *memory = map_new(file, size);
    if (!memory) {
        if (file >= 0)
            close(file);
        return false;
    }
    if (scratch->size > 0)
        memcpy(memory, scratch->memory, scratch->size);
    scratch_clear(scratch);
    *scratch = (struct scratch){memory, size, file, true};
    return true;
}

static bool grow_file(struct scratch *scratch, size_t size)
{
    if (scratch->file < 0 || posix_fallocate(scratch->file, 0, (off_t)size) != 0)
        return false;
    void *memory = mremap(scratch->memory, scratch->size, size, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        return false;
    scratch->memory = memory;
    scratch->size = size;
    return true;
}

static bool grow_heap(struct scratch *scratch, size_t size)
{
    char *memory = scratch->mapped ? malloc(size) : realloc(scratch->memory, size);
    if (!memory)
        return false;
    if (scratch->mapped) {
        memcpy(memory, scratch->memory, scratch->size);
        scratch_clear(scratch);
    }
    *scratch = (struct scratch){.memory = memory, .size = size};
    return true;
}

bool scratch_grow(struct scratch *scratch, size_t size)
{
    if (size <= scratch->size)
        return true;
    if (size > SCRATCH_HEAP_BYTES &&
        (scratch->mapped ? grow_file(scratch, size) : move_to_file(scratch, size)))
        return true;
    return grow_heap(scratch, size);
}

bool scratch_map(struct scratch *scratch, int file, size_t size)
{
    void *memory = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (memory == MAP_FAILED)
        return false;
    *scratch = (struct scratch){memory, size, -1, true};
    return true;
}

void scratch_clear(struct scratch *scratch)
{
    if (!scratch->mapped)
        free(scratch->memory);
    else
        munmap(scratch->memory, scratch->size);
    if (scratch->mapped && scratch->file >= 0)
        close(scratch->file);
    *scratch = (struct scratch){0};
}
