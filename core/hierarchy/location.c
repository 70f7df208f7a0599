/* SPDX-License-Identifier: Apache-2.0 */
#include "core/hierarchy/location.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_SLOTS 64u
#define MOST_DATA   1000000u
#define NO_CHILD    UINT32_MAX
#define HUGE_PAGE   ((size_t)2 << 20)

/* One datum. Linear probing: two slots share a cache line, so most lookups touch one line. */
struct slot {
    struct datum_key key; /* 0: free */
    uint64_t bytes;
    uint32_t child;     /* NO_CHILD: the datum is gone, and the parent must still be informed */
    unsigned more : 30; /* the first link to further children; 0: none */
    unsigned dirty : 1; /* the datum is in the queue */
    unsigned told : 1;  /* the parent knows the datum */
};
_Static_assert(sizeof(struct slot) == 32, "a datum takes 32 bytes");

/* Further children of a datum. Numbers from 1. */
struct link {
    uint32_t child;
    uint32_t next;
};

struct location {
    struct location_options options;
    struct slot *slots;
    uint32_t n_slots; /* a power of two */
    uint32_t n_used;  /* including data that are gone but not reported yet */
    uint32_t n_data;
    struct link *links;
    uint32_t n_links, links_capacity, free_links;
    uint8_t *children; /* 1: the number is taken */
    uint32_t n_children;
    struct datum_key *queue; /* data that changed */
    uint32_t queue_from, queue_to, queue_capacity;
};

/* ---- the table ---- */

static uint32_t home(const struct location *location, struct datum_key key)
{
    uint64_t mixed = (key.low ^ location->options.seed) * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= (key.high + location->options.seed) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (uint32_t)(mixed >> 32) & (location->n_slots - 1);
}

/* Returns the datum's slot, or the free one where it would go. */
static struct slot *find(const struct location *location, struct datum_key key)
{
    uint32_t at = home(location, key);
    while (!datum_key_is_none(location->slots[at].key) && !datum_key_equal(location->slots[at].key, key))
        at = (at + 1) & (location->n_slots - 1);
    return &location->slots[at];
}

/* Allocates free slots. A large table uses huge pages where the system has them: lookups are random, and
 * each would miss the TLB with small pages. */
static struct slot *make_slots(uint32_t n)
{
    size_t bytes = n * sizeof(struct slot);
    if (bytes < HUGE_PAGE)
        return calloc(n, sizeof(struct slot));
    struct slot *slots = aligned_alloc(HUGE_PAGE, bytes); /* both are powers of two */
    if (!slots)
        return NULL;
    madvise(slots, bytes, MADV_HUGEPAGE);
    memset(slots, 0, bytes);
    return slots;
}

static bool is_taken(const struct slot *slot)
{
    return !datum_key_is_none(slot->key);
}

static enum esp_status grow(struct location *location, struct esp_error *error)
{
    struct slot *old = location->slots;
    uint32_t n_old = location->n_slots;
    if (location->n_used + 1 <= n_old / 4 * 3)
        return ESP_OK;
    struct slot *slots = make_slots(2 * n_old);
    if (!slots)
        return error_no_memory(error, "the places of data");
    location->slots = slots;
    location->n_slots = 2 * n_old;
    for (uint32_t i = 0; i < n_old; i++)
        if (is_taken(&old[i]))
            *find(location, old[i].key) = old[i];
    free(old);
    return ESP_OK;
}

/* Erases a slot and moves up the entries pushed behind it, so that no tombstone is needed. */
static void erase(struct location *location, struct slot *slot)
{
    uint32_t mask = location->n_slots - 1, hole = (uint32_t)(slot - location->slots);
    for (uint32_t at = (hole + 1) & mask; is_taken(&location->slots[at]); at = (at + 1) & mask) {
        uint32_t from_home = (at - home(location, location->slots[at].key)) & mask;
        if (from_home < ((at - hole) & mask))
            continue;
        location->slots[hole] = location->slots[at];
        hole = at;
    }
    location->slots[hole] = (struct slot){.child = 0};
    location->n_used--;
}

/* ---- what changed ---- */

static enum esp_status reserve_queue(struct location *location, struct esp_error *error)
{
    uint32_t n = location->queue_to - location->queue_from;
    if (!location->options.track || location->queue_to < location->queue_capacity)
        return ESP_OK;
    if (location->queue_from > location->queue_capacity / 2) {
        memmove(location->queue, location->queue + location->queue_from, n * sizeof *location->queue);
    } else {
        uint32_t capacity = location->queue_capacity ? 2 * location->queue_capacity : 64;
        struct datum_key *queue = realloc(location->queue, capacity * sizeof *queue);
        if (!queue)
            return error_no_memory(error, "changed places of data");
        location->queue = queue;
        location->queue_capacity = capacity;
        memmove(queue, queue + location->queue_from, n * sizeof *queue);
    }
    location->queue_from = 0;
    location->queue_to = n;
    return ESP_OK;
}

/* Queues the slot's datum; the caller has reserved room in the queue. */
static void note(struct location *location, struct slot *slot)
{
    if (!location->options.track || slot->dirty)
        return;
    slot->dirty = true;
    location->queue[location->queue_to++] = slot->key;
}

/* The datum has lost its last place. */
static void vanish(struct location *location, struct slot *slot)
{
    location->n_data--;
    slot->child = NO_CHILD;
    if (location->options.track && (slot->told || slot->dirty) &&
        (slot->dirty || reserve_queue(location, NULL) == ESP_OK))
        note(location, slot);
    else
        erase(location,
              slot); /* without memory the parent keeps a stale place, and finds out when it asks there */
}

/* ---- places ---- */

static bool is_at(const struct location *location, const struct slot *slot, uint32_t child)
{
    if (slot->child == child)
        return true;
    for (uint32_t i = slot->more; i; i = location->links[i - 1].next)
        if (location->links[i - 1].child == child)
            return true;
    return false;
}

static enum esp_status take_link(struct location *location, uint32_t *number, struct esp_error *error)
{
    if (location->free_links) {
        *number = location->free_links;
        location->free_links = location->links[*number - 1].next;
        return ESP_OK;
    }
    if (location->n_links == location->links_capacity) {
        uint32_t capacity = location->links_capacity ? 2 * location->links_capacity : 64;
        struct link *links =
            capacity < (1u << 30) ? realloc(location->links, capacity * sizeof *links) : NULL;
        if (!links)
            return error_no_memory(error, "places of data");
        location->links = links;
        location->links_capacity = capacity;
    }
    *number = ++location->n_links;
    return ESP_OK;
}

static void give_link(struct location *location, uint32_t number)
{
    location->links[number - 1].next = location->free_links;
    location->free_links = number;
}

static enum esp_status add_place(struct location *location, struct slot *slot, uint32_t child,
                                 struct esp_error *error)
{
    uint32_t number = 0;
    enum esp_status status = take_link(location, &number, error);
    if (status != ESP_OK)
        return status;
    location->links[number - 1] = (struct link){child, slot->more};
    slot->more = number & 0x3fffffffu;
    return ESP_OK;
}

static bool drop_place(struct location *location, struct slot *slot, uint32_t child)
{
    uint32_t before = 0, number = slot->more;
    if (slot->child == child) {
        if (!number) {
            vanish(location, slot);
            return true;
        }
        slot->child = location->links[number - 1].child; /* the next child moves into the slot */
        slot->more = location->links[number - 1].next & 0x3fffffffu;
        give_link(location, number);
        return true;
    }
    for (; number && location->links[number - 1].child != child; number = location->links[number - 1].next)
        before = number;
    if (!number)
        return false;
    if (before)
        location->links[before - 1].next = location->links[number - 1].next;
    else
        slot->more = location->links[number - 1].next & 0x3fffffffu;
    give_link(location, number);
    return true;
}

static enum esp_status check_add(const struct location *location, const struct slot *slot,
                                 struct datum_key key, struct esp_error *error)
{
    if (datum_key_is_none(key))
        return error_set(error, ESP_INVALID, "expected the key of a datum, found 0");
    if (is_taken(slot) || location->n_used < location->options.most_data)
        return ESP_OK;
    return error_set(error, ESP_LIMIT, "%" PRIu32 " data are known here, as many as may be",
                     location->options.most_data);
}

enum esp_status location_add(struct location *location, uint32_t child, struct datum_key key, uint64_t bytes,
                             struct esp_error *error)
{
    enum esp_status status = check_add(location, find(location, key), key, error);
    if (status == ESP_OK)
        status = grow(location, error);
    if (status == ESP_OK)
        status = reserve_queue(location, error);
    if (status != ESP_OK)
        return status;
    struct slot *slot = find(location, key);
    bool known = is_taken(slot) && slot->child != NO_CHILD;
    if (known)
        return is_at(location, slot, child) ? ESP_OK : add_place(location, slot, child, error);
    if (!is_taken(slot)) {
        *slot = (struct slot){.key = key};
        location->n_used++;
    }
    slot->child = child;
    slot->bytes = bytes;
    location->n_data++;
    note(location, slot);
    return ESP_OK;
}

bool location_remove(struct location *location, uint32_t child, struct datum_key key)
{
    struct slot *slot = find(location, key);
    return is_taken(slot) && slot->child != NO_CHILD && drop_place(location, slot, child);
}

uint32_t location_find(const struct location *location, struct datum_key key, uint64_t *bytes,
                       uint32_t *children, uint32_t capacity)
{
    const struct slot *slot = find(location, key);
    uint32_t n = 1;
    if (datum_key_is_none(key) || !is_taken(slot) || slot->child == NO_CHILD)
        return 0;
    if (bytes)
        *bytes = slot->bytes;
    if (capacity > 0)
        children[0] = slot->child;
    for (uint32_t i = slot->more; i; i = location->links[i - 1].next, n++)
        if (n < capacity)
            children[n] = location->links[i - 1].child;
    return n;
}

/* ---- children ---- */

enum esp_status location_child(struct location *location, uint32_t *child, struct esp_error *error)
{
    uint32_t number = 0;
    while (number < location->n_children && location->children[number])
        number++;
    if (number == location->n_children) {
        uint8_t *children = realloc(location->children, 2 * (size_t)number + 8);
        if (!children)
            return error_no_memory(error, "a child's data");
        memset(children + number, 0, number + 8);
        location->children = children;
        location->n_children = 2 * number + 8;
    }
    location->children[number] = 1;
    *child = number;
    return ESP_OK;
}

/* Erasing moves later entries into the slot, so it is examined again. At the end of the table an entry may
 * come from its beginning and be examined twice, which is harmless. */
static void drop_all(struct location *location, uint32_t child)
{
    for (uint32_t i = 0; i < location->n_slots;) {
        struct slot *slot = &location->slots[i];
        struct datum_key before = slot->key;
        if (is_taken(slot) && slot->child != NO_CHILD)
            drop_place(location, slot, child);
        if (datum_key_equal(slot->key, before))
            i++;
    }
}

void location_child_remove(struct location *location, uint32_t child)
{
    drop_all(location, child);
    location->children[child] = 0;
}

enum esp_status location_replace_begin(struct location *location, uint32_t *stand_in, struct esp_error *error)
{
    return location_child(location, stand_in, error);
}

static void rename_places(struct location *location, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < location->n_slots; i++) {
        struct slot *slot = &location->slots[i];
        if (!is_taken(slot) || slot->child == NO_CHILD)
            continue;
        if (slot->child == from)
            slot->child = to;
        for (uint32_t k = slot->more; k; k = location->links[k - 1].next)
            if (location->links[k - 1].child == from)
                location->links[k - 1].child = to;
    }
}

void location_replace_end(struct location *location, uint32_t child, uint32_t stand_in)
{
    drop_all(location, child);
    rename_places(location, stand_in, child);
    location->children[stand_in] = 0;
}

/* ---- reports to the parent ---- */

uint32_t location_changes(struct location *location, struct location_change *changes, uint32_t capacity)
{
    uint32_t n = 0;
    while (n < capacity && location->queue_from < location->queue_to) {
        struct slot *slot = find(location, location->queue[location->queue_from++]);
        if (!is_taken(slot) || !slot->dirty)
            continue;
        bool here = slot->child != NO_CHILD;
        slot->dirty = false;
        if (here || slot->told)
            changes[n++] = (struct location_change){slot->key, slot->bytes, here};
        slot->told = here;
        if (!here)
            erase(location, slot);
    }
    if (location->queue_from == location->queue_to)
        location->queue_from = location->queue_to = 0;
    return n;
}

bool location_has_changes(const struct location *location)
{
    return location->queue_from < location->queue_to;
}

enum esp_status location_tell_all(struct location *location, struct esp_error *error)
{
    if (!location->options.track)
        return ESP_OK;
    if (location->n_used > location->queue_capacity) {
        struct datum_key *queue = realloc(location->queue, location->n_used * sizeof *queue);
        if (!queue)
            return error_no_memory(error, "the places of all data");
        location->queue = queue;
        location->queue_capacity = location->n_used;
    }
    location->queue_from = location->queue_to = 0;
    for (uint32_t i = 0; i < location->n_slots; i++) {
        struct slot *slot = &location->slots[i];
        slot->told = slot->dirty = false;
        if (is_taken(slot))
            note(location, slot); /* data that are gone are dropped with the first batch */
    }
    return ESP_OK;
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        *at++ = (uint8_t)(value >> 8 * i);
    return at;
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

bool location_pack(const struct location_change *changes, uint32_t n, struct arena *arena,
                   struct extension *extension)
{
    uint8_t *value =
        n <= UINT32_MAX / LOCATION_BYTES ? arena_alloc(arena, (size_t)n * LOCATION_BYTES + 1) : NULL;
    if (!value)
        return false;
    extension->value = value;
    extension->length = n * LOCATION_BYTES;
    for (uint32_t i = 0; i < n; i++) {
        value = put64(value, changes[i].key.high);
        value = put64(value, changes[i].key.low);
        value = put64(value, changes[i].bytes);
        *value++ = changes[i].here;
    }
    return true;
}

bool location_unpack(const struct extension *extension, uint32_t i, struct location_change *change)
{
    if (extension->length % LOCATION_BYTES || i >= extension->length / LOCATION_BYTES)
        return false;
    const uint8_t *at = extension->value + (size_t)i * LOCATION_BYTES;
    *change = (struct location_change){{get64(at), get64(at + 8)}, get64(at + 16), at[24] != 0};
    return !datum_key_is_none(change->key) && change->bytes <= UINT64_C(1) << 62 && at[24] <= 1;
}

/* ---- the whole ---- */

enum esp_status location_create(const struct location_options *options, struct location **result,
                                struct esp_error *error)
{
    struct location *location = calloc(1, sizeof *location);
    if (!location || !(location->slots = make_slots(FIRST_SLOTS))) {
        free(location);
        return error_no_memory(error, "the places of data");
    }
    location->options = *options;
    if (location->options.most_data == 0)
        location->options.most_data = MOST_DATA;
    location->n_slots = FIRST_SLOTS;
    *result = location;
    return ESP_OK;
}

void location_destroy(struct location *location)
{
    if (!location)
        return;
    free(location->slots);
    free(location->links);
    free(location->children);
    free(location->queue);
    free(location);
}

uint32_t location_count(const struct location *location)
{
    return location->n_data;
}

uint64_t location_memory(const struct location *location)
{
    return sizeof *location + (uint64_t)location->n_slots * sizeof(struct slot) +
           (uint64_t)location->links_capacity * sizeof(struct link) + location->n_children +
           (uint64_t)location->queue_capacity * sizeof(struct datum_key);
}

static void put_number(uint8_t *bytes, uint64_t number)
{
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get_number(const uint8_t *bytes)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 8; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

static void put_change(uint8_t *bytes, const struct location_change *change)
{
    put_number(bytes, change->key.high);
    put_number(bytes + 8, change->key.low);
    put_number(bytes + 16, change->bytes);
    bytes[24] = change->here;
}

static bool add_extension(struct message *report, const uint8_t *bytes, uint32_t length)
{
    struct extensions *extensions = &report->report.extensions;
    struct extension *items = arena_alloc(&report->arena, (extensions->n + 1) * sizeof *items);
    if (!items)
        return false;
    if (extensions->n > 0)
        memcpy(items, extensions->items, extensions->n * sizeof *items);
    items[extensions->n] = (struct extension){EXTENSION_DATA, bytes, length};
    extensions->items = items;
    extensions->n++;
    return true;
}

bool location_tell(struct location *location, bool complete, struct message *report)
{
    if (complete && location_tell_all(location, NULL) != ESP_OK)
        return false;
    if (!location_has_changes(location))
        return true;
    uint32_t most = location_count(location) + 64; /* data that are gone add to the count */
    most = most < LOCATION_REPORT_MOST ? most : LOCATION_REPORT_MOST;
    struct location_change *changes = arena_alloc(&report->arena, most * sizeof *changes);
    uint8_t *bytes = arena_alloc(&report->arena, (size_t)most * LOCATION_CHANGE_BYTES);
    if (!changes || !bytes)
        return false;
    uint32_t n = location_changes(location, changes, most);
    for (uint32_t i = 0; i < n; i++)
        put_change(bytes + (size_t)i * LOCATION_CHANGE_BYTES, &changes[i]);
    return n == 0 || add_extension(report, bytes, n * LOCATION_CHANGE_BYTES);
}

uint32_t location_hear(struct location *location, uint32_t child, const struct report *report)
{
    const struct extension *told = extension_find(&report->extensions, EXTENSION_DATA);
    uint32_t n = told ? told->length / LOCATION_CHANGE_BYTES : 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *bytes = told->value + (size_t)i * LOCATION_CHANGE_BYTES;
        struct datum_key key = {get_number(bytes), get_number(bytes + 8)};
        if (bytes[24])
            location_add(location, child, key, get_number(bytes + 16), NULL);
        else
            location_remove(location, child, key);
    }
    return n;
}
