/* SPDX-License-Identifier: Apache-2.0
 *
 * Which variables a daemon drops from its environment.
 */
#include "services/environment.h"
#include "tests/unit/unit.h"

#include <stdlib.h>

static bool is_of_transport(const char *entry)
{
    return strncmp(entry, "WIRE_", 5) == 0;
}

/* Cmocka reads its form of output from the environment when all tests are over. */
static void clear_environment(void)
{
    const char *form = getenv("CMOCKA_MESSAGE_OUTPUT");
    char *kept = form ? strdup(form) : NULL;
    clearenv();
    if (kept)
        setenv("CMOCKA_MESSAGE_OUTPUT", kept, 1);
    free(kept);
}

static void variables_for_other_programs_are_dropped(void **state)
{
    (void)state;
    char names[400];
    clear_environment();
    setenv("OMP_PROC_BIND", "true", 1);
    setenv("WIRE_SPEED", "low", 1);
    setenv("PMIX_RANK", "3", 1);
    setenv("OMPI_MCA_orte_ess_num_procs", "4", 1);
    setenv("OMP_STACKSIZE", "16M", 1);
    assert_int_equal(environment_clean(is_of_transport, names, sizeof names), 4);
    assert_null(getenv("OMP_PROC_BIND"));
    assert_null(getenv("WIRE_SPEED"));
    assert_null(getenv("PMIX_RANK"));
    assert_null(getenv("OMPI_MCA_orte_ess_num_procs"));
    assert_string_equal(getenv("OMP_STACKSIZE"), "16M");
    assert_non_null(strstr(names, "OMP_PROC_BIND"));
    assert_non_null(strstr(names, "WIRE_SPEED"));
}

/* Without an outer mpirun it is a parameter for the ranks that the daemon starts. */
static void parameters_of_mpi_stay_where_no_mpirun_has_set_them(void **state)
{
    (void)state;
    assert_false(environment_is_harmful("OMPI_MCA_btl=self,vader", false));
    assert_true(environment_is_harmful("OMPI_MCA_btl=self,vader", true));
    assert_true(environment_is_harmful("OMPI_COMM_WORLD_RANK=0", false));
    assert_false(environment_is_harmful("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", true));
}

static void many_names_are_cut(void **state)
{
    (void)state;
    char names[16];
    setenv("PMI_A_LONG_NAME", "1", 1);
    setenv("PMI_ANOTHER_LONG_NAME", "1", 1);
    assert_int_equal(environment_clean(NULL, names, sizeof names), 2);
    assert_true(strlen(names) < sizeof names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_for_other_programs_are_dropped),
        cmocka_unit_test(parameters_of_mpi_stay_where_no_mpirun_has_set_them),
        cmocka_unit_test(many_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
