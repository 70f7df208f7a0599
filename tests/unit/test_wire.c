/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "core/message/wire.h"

#include <stdlib.h>

static void primitives_are_aligned_to_their_size(void **state)
{
    (void)state;
    struct memory_wire out;
    uint8_t octet = 1;
    uint32_t number = 0x11223344;
    double real = 1.5;
    memory_wire_encoder(&out, 100);
    assert_true(wire_u8(&out.wire, &octet, "octet"));
    assert_true(wire_u32(&out.wire, &number, "number"));
    assert_true(wire_u8(&out.wire, &octet, "octet"));
    assert_true(wire_f64(&out.wire, &real, "real"));
    assert_int_equal(out.size, 24);
    uint8_t expected[24] = {1, 0, 0, 0, 0x44, 0x33, 0x22, 0x11, 1};
    memcpy(expected + 16, &real, 8);
    assert_memory_equal(out.data, expected, 24);
    memory_wire_release(&out);
}

static void a_string_is_its_length_and_its_bytes(void **state)
{
    (void)state;
    struct memory_wire out;
    const char *text = "ab", *none = NULL;
    memory_wire_encoder(&out, 100);
    assert_true(wire_string(&out.wire, &text, 10, "text"));
    assert_true(wire_string(&out.wire, &none, 10, "none"));
    const uint8_t expected[] = {3, 0, 0, 0, 'a', 'b', 0, 0, 1, 0, 0, 0, 0};
    assert_int_equal(out.size, sizeof expected);
    assert_memory_equal(out.data, expected, sizeof expected);
    memory_wire_release(&out);
}

static enum esp_status read_string(const void *bytes, size_t size, struct esp_error *error)
{
    struct arena arena = {0};
    struct memory_wire in;
    const char *text;
    memory_wire_decoder(&in, bytes, size, &arena);
    wire_string(&in.wire, &text, 4, "name");
    *error = in.wire.error;
    arena_clear(&arena);
    return error->status;
}

static void malformed_strings_are_refused(void **state)
{
    (void)state;
    struct esp_error error;
    assert_int_equal(read_string("\3\0\0\0ab", 7, &error), ESP_OK);
    assert_int_equal(read_string("\0\0\0\0", 4, &error), ESP_PROTOCOL);
    assert_string_equal(error.text, "\"name\": a string without its NUL");
    assert_int_equal(read_string("\3\0\0\0abc", 7, &error), ESP_PROTOCOL);
    assert_int_equal(read_string("\3\0\0\0a\0", 7, &error), ESP_PROTOCOL); /* NUL inside */
    assert_int_equal(read_string("\6\0\0\0abcde", 10, &error), ESP_PROTOCOL);
    assert_string_equal(error.text, "\"name\": at most 5, found 6");
    assert_int_equal(read_string("\4\0\0\0ab", 7, &error), ESP_PROTOCOL);
    assert_int_equal(read_string("\4\0", 2, &error), ESP_PROTOCOL);
}

static void a_boolean_is_0_or_1(void **state)
{
    (void)state;
    struct memory_wire in;
    bool value;
    memory_wire_decoder(&in, "\1\2", 2, NULL);
    assert_true(wire_bool(&in.wire, &value, "flag"));
    assert_true(value);
    assert_false(wire_bool(&in.wire, &value, "flag"));
    assert_string_equal(in.wire.error.text, "\"flag\": expected a boolean, found octet 2");
}

static void after_the_first_failure_nothing_happens(void **state)
{
    (void)state;
    struct memory_wire in;
    uint32_t number = 7;
    uint8_t octet = 7;
    memory_wire_decoder(&in, "\1", 1, NULL);
    assert_false(wire_u32(&in.wire, &number, "first"));
    assert_false(wire_u8(&in.wire, &octet, "second"));
    assert_int_equal(octet, 7);
    assert_string_equal(in.wire.error.text, "message ends inside \"first\"");
}

static void an_encoder_stops_at_its_cap(void **state)
{
    (void)state;
    struct memory_wire out;
    uint64_t number = 1;
    memory_wire_encoder(&out, 20);
    assert_true(wire_u64(&out.wire, &number, "a"));
    assert_true(wire_u64(&out.wire, &number, "b"));
    assert_false(wire_u64(&out.wire, &number, "c"));
    assert_int_equal(out.wire.error.status, ESP_LIMIT);
    assert_int_equal(out.size, 16);
    memory_wire_release(&out);
}

static void sequences_travel_whole(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct memory_wire out, in;
    double reals[] = {1, 2, 3}, *reals_in = NULL;
    uint64_t numbers[] = {UINT64_MAX, 0}, *numbers_in = NULL;
    const uint8_t *octets = (const uint8_t *)"xyz", *octets_in = NULL;
    uint32_t n = 3, m = 2, length = 3, none = 0, n_in, m_in, length_in, none_in = 9;
    double *no_reals = NULL;
    memory_wire_encoder(&out, 1000);
    assert_true(wire_octets(&out.wire, &octets, &length, 3, "octets"));
    double *real = reals;
    uint64_t *number = numbers;
    assert_true(wire_f64s(&out.wire, &real, &n, 3, "reals"));
    assert_true(wire_u64s(&out.wire, &number, &m, 3, "numbers"));
    assert_true(wire_f64s(&out.wire, &no_reals, &none, 3, "none"));
    memory_wire_decoder(&in, out.data, out.size, &arena);
    assert_true(wire_octets(&in.wire, &octets_in, &length_in, 3, "octets"));
    assert_true(wire_f64s(&in.wire, &reals_in, &n_in, 3, "reals"));
    assert_true(wire_u64s(&in.wire, &numbers_in, &m_in, 3, "numbers"));
    assert_true(wire_f64s(&in.wire, &no_reals, &none_in, 3, "none"));
    assert_memory_equal(octets_in, "xyz", 3);
    assert_memory_equal(reals_in, reals, sizeof reals);
    assert_memory_equal(numbers_in, numbers, sizeof numbers);
    assert_int_equal(none_in, 0);
    n = 4;
    assert_false(wire_f64s(&out.wire, &real, &n, 3, "reals"));
    assert_int_equal(out.wire.error.status, ESP_LIMIT);
    memory_wire_release(&out);
    arena_clear(&arena);
}

/* ---- the checksum of chunks, on whatever this machine has ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_are_aligned_to_their_size),
        cmocka_unit_test(a_string_is_its_length_and_its_bytes),
        cmocka_unit_test(malformed_strings_are_refused),
        cmocka_unit_test(a_boolean_is_0_or_1),
        cmocka_unit_test(after_the_first_failure_nothing_happens),
        cmocka_unit_test(an_encoder_stops_at_its_cap),
        cmocka_unit_test(sequences_travel_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
