/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/unit.h"
#include "util/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct garden {
    char *name, *gate;
    struct config_strings plants, doors;
    bool open;
    int64_t trees, pause_ns;
    uint64_t bytes;
    double share;
    int shape;
    struct bed *beds;
    size_t n_beds;
};

struct bed {
    char *title;
    int64_t rows;
};

static const char *const shapes[] = {"fan", "cordon", "palmette", NULL};

#define GARDEN(field) .offset = offsetof(struct garden, field)
static const struct config_key garden_keys[] = {
    {.name = "name", .type = CONFIG_STRING, GARDEN(name), .required = true, .text = "what it is called"},
    {.name = "gate", .type = CONFIG_ADDRESS, GARDEN(gate), .initial = "127.0.0.1:0", .port = "4780"},
    {.name = "plants", .type = CONFIG_STRINGS, GARDEN(plants)},
    {.name = "doors", .type = CONFIG_ADDRESSES, GARDEN(doors)},
    {.name = "open", .type = CONFIG_BOOL, GARDEN(open), .initial = "yes"},
    {.name = "trees", .type = CONFIG_INTEGER, GARDEN(trees), .initial = "4", .least = "1", .most = "4096"},
    {.name = "pause", .type = CONFIG_DURATION, GARDEN(pause_ns), .initial = "3 s", .most = "1 h"},
    {.name = "bytes", .type = CONFIG_SIZE, GARDEN(bytes), .initial = "64 KiB", .least = "1 KiB"},
    {.name = "share", .type = CONFIG_FRACTION, GARDEN(share), .initial = "100 %", .most = "100 %"},
    {.name = "shape", .type = CONFIG_CHOICE, GARDEN(shape), .initial = "cordon", .choices = shapes},
    {0},
};
static const struct config_group garden_groups[] = {{garden_keys, 0}, {0}};

static const struct config_key bed_keys[] = {
    {.name = "rows",
     .type = CONFIG_INTEGER,
     .offset = offsetof(struct bed, rows),
     .required = true,
     .text = "how many rows"},
    {0},
};
static const struct config_group bed_groups[] = {{bed_keys, 0}, {0}};
static const struct config_schema bed_schema = {"bed", sizeof(struct bed), bed_groups, NULL};
static const struct config_section sections[] = {
    {.name = "bed",
     .schema = &bed_schema,
     .offset = offsetof(struct garden, beds),
     .n_offset = offsetof(struct garden, n_beds),
     .titled = true,
     .title_offset = offsetof(struct bed, title),
     .most = 2},
    {0},
};
static const struct config_schema schema = {"garden", sizeof(struct garden), garden_groups, sections};

static struct arena arena;
static struct garden garden;
static struct esp_error error;

static enum esp_status parse(const char *text)
{
    return config_parse(&schema, text, "garden.conf", &garden, &arena, &error);
}

static int clear(void **state)
{
    (void)state;
    arena_clear(&arena);
    return 0;
}

static void reads_every_type(void **state)
{
    (void)state;
    assert_int_equal(parse("# a garden\nname = \"lyon\"\ngate = \"[::1]:99\"\nplants = { \"pear\", 'fig' }\n"
                           "doors = north:1\nopen = no\ntrees = 12\npause = \"500 ms\"\nbytes = 4GiB\n"
                           "share = 30%\nshape = palmette // last\n"
                           "bed \"one\" { rows = 3 }\nbed \"two\" { rows = -7 }\n"),
                     ESP_OK);
    assert_string_equal(garden.name, "lyon");
    assert_string_equal(garden.gate, "[::1]:99");
    assert_int_equal(garden.plants.n, 2);
    assert_string_equal(garden.plants.items[1], "fig");
    assert_int_equal(garden.doors.n, 1);
    assert_string_equal(garden.doors.items[0], "north:1");
    assert_false(garden.open);
    assert_int_equal(garden.trees, 12);
    assert_int_equal(garden.pause_ns, 500000000);
    assert_int_equal(garden.bytes, 4294967296);
    assert_true(garden.share > 0.2999 && garden.share < 0.3001);
    assert_int_equal(garden.shape, 2);
    assert_int_equal(garden.n_beds, 2);
    assert_string_equal(garden.beds[1].title, "two");
    assert_int_equal(garden.beds[1].rows, -7);
}

static void fills_in_defaults(void **state)
{
    (void)state;
    assert_int_equal(parse("name = x"), ESP_OK);
    assert_string_equal(garden.gate, "127.0.0.1:0");
    assert_true(garden.open);
    assert_int_equal(garden.trees, 4);
    assert_int_equal(garden.pause_ns, 3000000000);
    assert_int_equal(garden.bytes, 65536);
    assert_int_equal(garden.shape, 1);
    assert_int_equal(garden.plants.n, 0);
    assert_int_equal(garden.n_beds, 0);
}

static void fails(const char *text, const char *message)
{
    assert_int_equal(parse(text), ESP_CONFIG);
    assert_string_equal(error.text, message);
    assert_null(garden.name);
    arena_clear(&arena);
}

static void says_what_is_wrong_and_where(void **state)
{
    (void)state;
    fails("name = x\n\ntress = 3\n", "garden.conf:3: unknown key \"tress\": did you mean \"trees\"?");
    fails("name = x\nzzzzzz = 3\n", "garden.conf:2: unknown key \"zzzzzz\" in the configuration of a garden");
    fails("name = x\ntrees = 0\n",
          "garden.conf:2: trees: expected a whole number from 1 to 4096, found \"0\"");
    fails("name = x\ntrees = many\n",
          "garden.conf:2: trees: expected a whole number from 1 to 4096, found \"many\"");
    fails("name = x\ntrees = 99999999999999999999\n",
          "garden.conf:2: trees: expected a whole number from 1 to 4096, found \"99999999999999999999\"");
    fails("name = x\npause = 3 s\n",
          "garden.conf:2: pause: expected a duration like 500ms or \"2 s\" up to 1 h, found \"3\"");
    fails("name = x\ntrees = 3 s\n",
          "garden.conf:2: a value with its unit is one word or stands in quotes (\"4 s\"), found s alone");
    fails("name = x\nbytes = 10\n",
          "garden.conf:2: bytes: expected a size like 65536, 64KiB or \"4 GiB\" from 1 KiB, found \"10\"");
    fails("name = x\nshare = 101%\n",
          "garden.conf:2: share: expected a percentage like 30% or \"30 %\" up to 100 %, found \"101%\"");
    fails("name = x\nshape = tree\n",
          "garden.conf:2: shape: expected fan, cordon or palmette, found \"tree\"");
    fails("name = x\nopen = maybe\n", "garden.conf:2: open: expected yes or no, found \"maybe\"");
    fails("name = x\ndoors = { a:1, b }\n",
          "garden.conf:2: doors: expected a port behind the host (\"b:4780\"), found \"b\"");
    fails("name = x\ndoors = a:70000\n",
          "garden.conf:2: doors: expected a port from 0 to 65535 behind the host, found \"a:70000\"");
    fails("trees = 3\n", "garden.conf: expected the key \"name\" (what it is called), found none");
    fails("name = x\nbed \"b\" { }\n",
          "garden.conf: section bed \"b\": expected the key \"rows\" (how many rows), found none");
    fails("name = x\nbed \"b\" {\n  rosw = 1\n}\n",
          "garden.conf:3: unknown key \"rosw\": did you mean \"rows\"?");
    fails("name = x\nname = y\n", "garden.conf:2: name: expected once, found again (first in line 1)");
}

static void sees_broken_structure(void **state)
{
    (void)state;
    fails("name = x\ntrees = ",
          "garden.conf:2: expected a value, or \"}\" at the end of a list, found the end of the file");
    fails("name = x\ntrees = {", "garden.conf:2: expected a key, or the value of one, found \"{\"");
    fails("name = x\n= 3\n", "garden.conf:2: expected a key, or the value of one, found \"=\"");
    fails("name = x\n}\n", "garden.conf:2: expected a key, found \"}\", which closes nothing");
    fails("name \"x\"\n", "garden.conf:1: expected \"=\" and a value behind \"name\", found neither");
    fails("name = x\ntrees += 3\n",
          "garden.conf:2: expected \"=\" behind \"trees\", found \"+=\", which only lists take");
    fails("name = x\nbed \"b\" {\n rows = 1\n",
          "garden.conf:5: expected \"}\" at the end of section \"bed\", found the end of the file");
    fails("name = x\nbed \"b\" { rows = 1 }\nbed \"b\" { rows = 1 }\n",
          "garden.conf:3: found duplicate title 'b'");
    fails("name = x\nbed a { rows = 1 }\nbed b { rows = 1 }\nbed c { rows = 1 }\n",
          "garden.conf:4: section \"bed\": expected at most 2, found more");
    fails("name = \"x\n",
          "garden.conf:1: expected a second quote at the end of the text, found the end of the line");
    fails("# it's\nname = \"garden\nplants = { \"a\", \"b\" }\n",
          "garden.conf:2: expected a second quote at the end of the text, found the end of the line");
    fails("name = x\nplants = { 'a, b }\n",
          "garden.conf:2: expected a second quote at the end of the text, found the end of the line");
    fails("name = x\ntrees = 0\nplants = { 'a, b }\n",
          "garden.conf:2: trees: expected a whole number from 1 to 4096, found \"0\"");
    assert_int_equal(parse("name =\n"), ESP_CONFIG);
    assert_int_equal(parse("name"), ESP_CONFIG);
    assert_int_equal(parse("}"), ESP_CONFIG);
    assert_int_equal(parse("name = { x }"), ESP_CONFIG);
    assert_int_equal(parse("bed { rows = 1 }"), ESP_CONFIG);
}

static void two_values_in_each_section_are_no_repetition(void **state)
{
    (void)state;
    assert_int_equal(parse("name = x\nbed a { rows = 1 }\nbed b { rows = 2 }\n"), ESP_OK);
    assert_int_equal(parse("name = x\nplants = { a }\nplants += { b }\n"), ESP_OK);
    assert_int_equal(garden.plants.n, 2);
}

static char *temporary(const char *text, size_t length)
{
    static char path[64];
    strcpy(path, "/tmp/test_config.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), (ssize_t)length);
    close(fd);
    return path;
}

static void loads_a_file(void **state)
{
    (void)state;
    char *path = temporary("name = filed\n", 13);
    assert_int_equal(config_load(&schema, path, &garden, &arena, &error), ESP_OK);
    assert_string_equal(garden.name, "filed");
    unlink(path);
}

static void refuses_what_is_no_configuration(void **state)
{
    (void)state;
    assert_int_equal(config_load(&schema, "/nonexistent/x.conf", &garden, &arena, &error), ESP_NOT_FOUND);
    assert_string_equal(error.text, "/nonexistent/x.conf: expected a configuration file, found none");
    assert_int_equal(config_load(&schema, "/tmp", &garden, &arena, &error), ESP_CONFIG);
    char *path = temporary("name = a\0b\n", 11);
    assert_int_equal(config_load(&schema, path, &garden, &arena, &error), ESP_CONFIG);
    unlink(path);
    assert_int_equal(config_load(&schema, "/dev/zero", &garden, &arena, &error), ESP_LIMIT);
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    assert_int_equal(
        parse("name = \"a \\\"b\\\" \\${HOME} \\\\\"\nplants = { \"a b\", c }\npause = \"1500 us\"\n"
              "bytes = 3MiB\nshare = \"12.5 %\"\nshape = fan\nopen = off\ntrees = 4\n"),
        ESP_OK);
    assert_string_equal(garden.name, "a \"b\" ${HOME} \\");
    struct garden before = garden;
    FILE *file = open_memstream(&text, &size);
    config_write(&schema, &before, "made by a test", file);
    fclose(file);
    assert_non_null(strstr(text, "# made by a test\n"));
    assert_null(strstr(text, "trees")); /* it has its default */
    assert_int_equal(parse(text), ESP_OK);
    free(text);
    assert_string_equal(garden.name, before.name);
    assert_int_equal(garden.plants.n, 2);
    assert_string_equal(garden.plants.items[0], "a b");
    assert_int_equal(garden.pause_ns, 1500000);
    assert_int_equal(garden.bytes, 3145728);
    assert_true(garden.share == before.share);
    assert_int_equal(garden.shape, 0);
    assert_false(garden.open);
}

static void counts_what_it_knows(void **state)
{
    (void)state;
    const char *text =
        "# name = 1\nname = x\ntrees=3 /* open = */\nplants += {a, b}\nbed \"q { \" { rows = 1 "
        "}\nslots = 4\nwhat { name = 1 }\n";
    char *path = temporary(text, strlen(text));
    size_t known, unknown;
    assert_int_equal(config_count(&schema, path, &known, &unknown, &error), ESP_OK);
    assert_int_equal(known, 4);
    assert_int_equal(unknown, 2);
    unlink(path);
}

static void reads_single_quantities(void **state)
{
    (void)state;
    int64_t ns;
    uint64_t bytes;
    assert_int_equal(config_read_duration("1.5 min", &ns, &error), ESP_OK);
    assert_int_equal(ns, 90000000000);
    assert_int_equal(config_read_duration("0", &ns, &error), ESP_OK);
    assert_int_equal(ns, 0);
    assert_int_equal(config_read_duration("300000 d", &ns, &error), ESP_CONFIG);
    assert_int_equal(config_read_duration("-1 s", &ns, &error), ESP_CONFIG);
    assert_int_equal(config_read_duration("", &ns, &error), ESP_CONFIG);
    assert_int_equal(config_read_size("17", &bytes, &error), ESP_OK);
    assert_int_equal(bytes, 17);
    assert_int_equal(config_read_size("1.5KiB", &bytes, &error), ESP_OK);
    assert_int_equal(bytes, 1536);
    assert_int_equal(config_read_size("99999999 TiB", &bytes, &error), ESP_CONFIG);
    assert_int_equal(config_read_size("4 gigs", &bytes, &error), ESP_CONFIG);
}

static void an_address_is_whole_with_the_default_port(void **state)
{
    (void)state;
    char *address;
    assert_int_equal(config_whole_address("localhost", "4780", &address, &arena, &error), ESP_OK);
    assert_string_equal(address, "localhost:4780");
    assert_int_equal(config_whole_address("::1", "4780", &address, &arena, &error), ESP_OK);
    assert_string_equal(address, "[::1]:4780");
    assert_int_equal(config_whole_address("a:9", "4780", &address, &arena, &error), ESP_OK);
    assert_string_equal(address, "a:9");
    arena_clear(&arena);
}

static void reads_addresses(void **state)
{
    (void)state;
    char host[16];
    uint16_t port;
    assert_int_equal(config_read_address("::1", "4780", host, sizeof host, &port, &error), ESP_OK);
    assert_string_equal(host, "::1");
    assert_int_equal(port, 4780);
    assert_int_equal(config_read_address("a:0", NULL, host, sizeof host, &port, &error), ESP_OK);
    assert_int_equal(port, 0);
    assert_int_equal(config_read_address(":80", NULL, host, sizeof host, &port, &error), ESP_CONFIG);
    assert_int_equal(config_read_address("[::1", "1", host, sizeof host, &port, &error), ESP_CONFIG);
    assert_int_equal(config_read_address("a b:1", "1", host, sizeof host, &port, &error), ESP_CONFIG);
    assert_int_equal(config_read_address("a:", "1", host, sizeof host, &port, &error), ESP_CONFIG);
    assert_int_equal(config_read_address("x:y:z", "1", host, sizeof host, &port, &error), ESP_CONFIG);
    assert_int_equal(config_read_address("[1:2]:3", NULL, host, sizeof host, &port, &error), ESP_CONFIG);
    assert_int_equal(config_read_address("fe80::1%lo", "1", host, sizeof host, &port, &error), ESP_OK);
    assert_int_equal(config_read_address("abcdefghijklmnop:1", NULL, host, sizeof host, &port, &error),
                     ESP_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(reads_every_type, clear),
        cmocka_unit_test_teardown(fills_in_defaults, clear),
        cmocka_unit_test_teardown(says_what_is_wrong_and_where, clear),
        cmocka_unit_test_teardown(sees_broken_structure, clear),
        cmocka_unit_test_teardown(two_values_in_each_section_are_no_repetition, clear),
        cmocka_unit_test_teardown(loads_a_file, clear),
        cmocka_unit_test_teardown(refuses_what_is_no_configuration, clear),
        cmocka_unit_test_teardown(what_is_written_reads_back, clear),
        cmocka_unit_test_teardown(counts_what_it_knows, clear),
        cmocka_unit_test(reads_single_quantities),
        cmocka_unit_test(an_address_is_whole_with_the_default_port),
        cmocka_unit_test(reads_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
