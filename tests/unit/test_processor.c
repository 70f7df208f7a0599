/* SPDX-License-Identifier: Apache-2.0
 *
 * The sensor of the processor, on counters that the test writes, and on the kernel's own.
 */
#include "services/nws/processor.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char proc[] = "/tmp/espalier-proc.XXXXXX";

struct machine {
    unsigned long busy[2], idle[2]; /* ticks of two processors */
    unsigned running;
    unsigned long own; /* of process 10 and its child 11 */
    char state;        /* of the child */
};

static void write_file(const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", proc, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void set(const struct machine *machine)
{
    char text[600];
    snprintf(text, sizeof text,
             "cpu  1 2 3 4 5 6 7 8\ncpu0 %lu 0 0 %lu 0 0 0 0 0 0\ncpu1 %lu 0 0 %lu 0 0 0 0 0 0\n"
             "intr 1 2 3\nprocs_running %u\n",
             machine->busy[0], machine->idle[0], machine->busy[1], machine->idle[1], machine->running);
    write_file("stat", text);
    write_file("10/stat", "10 (the ) one) S 1 1 1 0 -1 0 0 0 0 0 7 3 0 0 20 0\n");
    snprintf(text, sizeof text, "11 (worker) %c 10 1 1 0 -1 0 0 0 0 0 %lu 0 0 0 20 0\n", machine->state,
             machine->own);
    write_file("11/stat", text);
    write_file("10/statm", "9000 5000 100 1 0 1 0\n");
    write_file("11/statm", "9000 700 200 1 0 1 0\n");
}

static int set_up(void **state)
{
    (void)state;
    char path[300];
    assert_non_null(mkdtemp(proc));
    for (const char *const *name = (const char *const[]){"10", "10/task", "10/task/10", "11", NULL}; *name;
         name++) {
        snprintf(path, sizeof path, "%s/%s", proc, *name);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    write_file("10/task/10/children", "11 \n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[320];
    snprintf(command, sizeof command, "rm -rf '%s'", proc);
    assert_int_equal(system(command), 0);
    memcpy(proc + strlen(proc) - 6, "XXXXXX", 6);
    return 0;
}

static struct processor_sensor *sensor_of(uint64_t mask)
{
    const struct processor_options options = {.proc = proc, .pid = 10, .mask = {mask}};
    struct processor_sensor *sensor;
    struct esp_error error;
    assert_int_equal(processor_sensor_create(&options, &sensor, &error), ESP_OK);
    return sensor;
}

static void an_idle_machine_is_all_there(void **state)
{
    (void)state;
    struct machine machine = {.running = 1, .state = 'S'};
    struct processor_reading reading;
    set(&machine);
    struct processor_sensor *sensor = sensor_of(3);
    assert_false(processor_sensor_read(sensor, &reading)); /* no time has passed */
    machine.idle[0] = machine.idle[1] = 100;
    set(&machine);
    assert_true(processor_sensor_read(sensor, &reading));
    assert_float_equal(reading.available_cpu, 1, 1e-9);
    assert_float_equal(reading.competing, 0, 1e-9);
    processor_sensor_destroy(sensor);
}

static void own_sessions_are_no_competitors(void **state)
{
    (void)state;
    struct machine machine = {.running = 2, .state = 'R'};
    struct processor_reading reading;
    set(&machine);
    struct processor_sensor *sensor = sensor_of(1);
    machine.busy[0] = machine.own = 100;
    machine.idle[1] = 100;
    set(&machine);
    assert_true(processor_sensor_read(sensor, &reading));
    assert_float_equal(reading.own, 1, 1e-9);
    assert_float_equal(reading.competing, 0, 1e-9);
    assert_float_equal(reading.current_cpu, 1, 1e-9);
    assert_float_equal(reading.available_cpu, 0.5, 1e-9);
    assert_float_equal(reading.alone_cpu, 1, 1e-9);
    assert_int_equal(reading.below_bytes,
                     500 * sysconf(_SC_PAGESIZE)); /* of the child, what it shares left out */
    processor_sensor_destroy(sensor);
}

static double half(void)
{
    return 0.5;
}

/* A group that lets its processes have half a processor: all of them together. */
static void control_groups_bound_the_share(void **state)
{
    (void)state;
    struct machine machine = {.running = 2, .state = 'R'};
    struct processor_reading reading;
    struct processor_sensor *sensor;
    struct processor_options options = {.proc = proc, .pid = 10, .mask = {3}, .quota = half};
    struct esp_error error;
    set(&machine);
    assert_int_equal(processor_sensor_create(&options, &sensor, &error), ESP_OK);
    machine.idle[0] = machine.idle[1] = 100;
    set(&machine);
    assert_true(processor_sensor_read(sensor, &reading));
    assert_float_equal(reading.alone_cpu, 0.5, 1e-9);
    assert_float_equal(reading.current_cpu, 0.5, 1e-9);
    assert_float_equal(reading.available_cpu, 0.25, 1e-9); /* one of them runs already */
    processor_sensor_destroy(sensor);
}

static void a_competitor_takes_half_of_the_only_processor(void **state)
{
    (void)state;
    struct machine machine = {.running = 2, .state = 'S'};
    struct processor_reading reading;
    set(&machine);
    struct processor_sensor *one = sensor_of(1), *both = sensor_of(3);
    machine.busy[0] = machine.idle[1] = 100;
    set(&machine);
    assert_true(processor_sensor_read(one, &reading));
    assert_float_equal(reading.available_cpu, 0.5, 1e-9);
    assert_float_equal(reading.waiting, 1, 1e-9);
    assert_true(processor_sensor_read(both, &reading)); /* the other one is free */
    assert_float_equal(reading.available_cpu, 1, 1e-9);
    processor_sensor_destroy(one);
    processor_sensor_destroy(both);
}

static void several_competitors_leave_a_turn(void **state)
{
    (void)state;
    struct machine machine = {.running = 4, .state = 'S'}; /* three, and the reader */
    struct processor_reading reading;
    set(&machine);
    struct processor_sensor *sensor = sensor_of(1);
    machine.busy[0] = machine.idle[1] = 100;
    set(&machine);
    assert_true(processor_sensor_read(sensor, &reading));
    assert_float_equal(reading.available_cpu, 0.25, 1e-9);
    processor_sensor_destroy(sensor);
}

static void what_a_session_got_corrects_the_reading(void **state)
{
    (void)state;
    struct machine machine = {.running = 2, .state = 'S'};
    struct processor_reading reading;
    set(&machine);
    struct processor_sensor *sensor = sensor_of(1);
    for (int i = 1; i <= 3; i++) {
        machine.busy[0] = machine.idle[1] = 100 * (unsigned long)i;
        set(&machine);
        assert_true(processor_sensor_read(sensor, &reading));
        if (i == 1)
            processor_sensor_learn(sensor, 0.8, 20); /* the competitor is nice */
    }
    assert_float_equal(reading.available_cpu, 0.8, 0.02);
    processor_sensor_learn(sensor, -3, 1);
    processor_sensor_learn(sensor, 0.0 / 0.0, 1);
    processor_sensor_learn(sensor, 7, 1);
    processor_sensor_learn(sensor, 0.1, 0);
    machine.busy[0] = machine.idle[1] = 400;
    set(&machine);
    assert_true(processor_sensor_read(sensor, &reading));
    assert_float_equal(reading.available_cpu, 0.8, 0.02);
    processor_sensor_destroy(sensor);
}

/* A competitor is there half of the time: short tests meet it or not, and the reading is the middle. */
static void one_short_test_moves_little_and_many_settle(void **state)
{
    (void)state;
    struct machine machine = {.running = 2, .state = 'S'};
    struct processor_reading reading;
    set(&machine);
    struct processor_sensor *sensor = sensor_of(1);
    for (int i = 1; i <= 241; i++) {
        machine.busy[0] = machine.idle[1] = 100 * (unsigned long)i;
        set(&machine);
        assert_true(processor_sensor_read(sensor, &reading));
        if (i == 1)
            processor_sensor_learn(sensor, 0.05, 0.03);
        else if (i == 2)
            assert_float_equal(reading.available_cpu, 0.4,
                               0.02); /* of 0.5 without; 0.125 if it were believed */
        else if (i % 15 == 0)
            processor_sensor_learn(sensor, i % 2 ? 1 : 0.6, 0.03);
    }
    assert_float_equal(reading.available_cpu, 0.7, 0.04); /* of 0.8 */
    processor_sensor_destroy(sensor);
}

static void who_has_gone_corrects_nothing(void **state)
{
    (void)state;
    struct machine machine = {.running = 2, .state = 'S'};
    struct processor_reading reading;
    set(&machine);
    struct processor_sensor *sensor = sensor_of(1);
    machine.busy[0] = machine.idle[1] = 100;
    set(&machine);
    assert_true(processor_sensor_read(sensor, &reading));
    processor_sensor_learn(sensor, 0.1, 20);
    machine.running = 1;
    machine.idle[0] = machine.idle[1] = 200;
    set(&machine);
    assert_true(processor_sensor_read(sensor, &reading));
    assert_float_equal(reading.available_cpu, 1, 1e-9);
    processor_sensor_destroy(sensor);
}

static void counters_that_go_back_are_passed_over(void **state)
{
    (void)state;
    struct machine machine = {.busy = {1000, 1000}, .idle = {1000, 1000}, .running = 1, .state = 'S'};
    struct processor_reading reading;
    set(&machine);
    struct processor_sensor *sensor = sensor_of(3);
    machine = (struct machine){.running = 1, .state = 'S'};
    set(&machine);
    assert_false(processor_sensor_read(sensor, &reading));
    machine.idle[0] = machine.idle[1] = 50;
    set(&machine);
    assert_true(processor_sensor_read(sensor, &reading));
    assert_float_equal(reading.available_cpu, 1, 1e-9);
    write_file("stat", "nonsense\n");
    assert_false(processor_sensor_read(sensor, &reading));
    processor_sensor_destroy(sensor);
    struct processor_sensor *none;
    struct esp_error error;
    const struct processor_options options = {.proc = proc, .pid = 10};
    assert_int_equal(processor_sensor_create(&options, &none, &error), ESP_SYSTEM);
    assert_non_null(strstr(error.text, "expected counters of processors"));
}

static void the_kernel_s_own_counters_can_be_read(void **state)
{
    (void)state;
    const struct processor_options options = {0};
    struct processor_sensor *sensor;
    struct processor_reading reading = {0};
    struct esp_error error;
    assert_int_equal(processor_sensor_create(&options, &sensor, &error), ESP_OK);
    double got = processor_active_test(300000000);
    assert_true(got > 0 && got < 1.01);
    assert_true(processor_sensor_read(sensor, &reading));
    assert_true(reading.available_cpu > 0 && reading.available_cpu <= 1);
    assert_true(reading.own > 0.01); /* the test itself */
    processor_sensor_destroy(sensor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_idle_machine_is_all_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(own_sessions_are_no_competitors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(control_groups_bound_the_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_competitor_takes_half_of_the_only_processor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_competitors_leave_a_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_session_got_corrects_the_reading, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_short_test_moves_little_and_many_settle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_has_gone_corrects_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counters_that_go_back_are_passed_over, set_up, tear_down),
        cmocka_unit_test(the_kernel_s_own_counters_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
