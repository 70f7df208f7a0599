/* SPDX-License-Identifier: Apache-2.0 */
#include "sed/ranks/rank_board.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BITS 32 /* of a futex's bitset: ranks with this distance wake each other unnecessarily */

struct rank_board *board_map(int fd)
{
    void *memory = mmap(NULL, sizeof(struct rank_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

enum esp_status board_create(struct rank_board **board, int *fd, struct esp_error *error)
{
    int file = memfd_create("espalier-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return error_errno(error, "cannot make memory shared with ranks");
    /* Sealed, because a rank that truncates it would kill the daemon. */
    if (ftruncate(file, sizeof **board) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        !(*board = board_map(file))) {
        error_errno(error, "cannot make %zu bytes shared with ranks", sizeof **board);
        close(file);
        return ESP_SYSTEM;
    }
    *fd = file;
    return ESP_OK;
}

void board_unmap(struct rank_board *board)
{
    if (board)
        munmap(board, sizeof *board);
}

void board_clear(struct rank_board *board)
{
    memset(board, 0, sizeof *board);
}

static uint32_t bits_of(uint32_t first, uint32_t n)
{
    uint32_t bits = 0;
    for (uint32_t i = first; i < first + n && bits != UINT32_MAX; i++)
        bits |= UINT32_C(1) << i % BITS;
    return bits;
}

void board_post(struct rank_board *board, uint32_t first, uint32_t n, uint32_t ring)
{
    for (uint32_t i = first; i < first + n; i++) {
        board->lines[i].ring = ring;
        atomic_fetch_add_explicit(&board->lines[i].calls, 1, memory_order_release);
    }
    atomic_fetch_add(&board->posted, 1);
    if (atomic_load(&board->sleeping) > 0)
        syscall(SYS_futex, &board->posted, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, bits_of(first, n));
}

void board_sleep(struct rank_board *board, uint32_t rank, uint32_t taken)
{
    atomic_fetch_add(&board->sleeping, 1);
    for (;;) {
        uint32_t posted = atomic_load(&board->posted);
        if (board_has_call(board, rank, taken))
            break;
        syscall(SYS_futex, &board->posted, FUTEX_WAIT_BITSET, posted, NULL, NULL, bits_of(rank, 1));
    }
    atomic_fetch_sub(&board->sleeping, 1);
}
