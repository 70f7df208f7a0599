/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of all verbs of the command.
 */
#include "command/verbs.h"
#include "tests/unit/unit.h"

#include <string.h>

/* The first option, of any verb, that has this letter, or this name; NULL: there is none. */
static const struct command_option *first_like(const struct command_option *wanted, bool by_letter)
{
    const struct command_option *option;
    for (const struct verb *verb = command_verbs; verb->name; verb++)
        for (unsigned i = 0; (option = command_options(verb, i)); i++)
            for (; option->name; option++)
                if (by_letter ? option->letter == wanted->letter : strcmp(option->name, wanted->name) == 0)
                    return option;
    return NULL;
}

static void one_letter_means_one_option_in_all_verbs(void **state)
{
    (void)state;
    const struct command_option *option;
    for (const struct verb *verb = command_verbs; verb->name; verb++)
        for (unsigned i = 0; (option = command_options(verb, i)); i++)
            for (; option->name; option++) {
                const struct command_option *same = first_like(option, false);
                if (same->letter != option->letter)
                    fail_msg("%s: --%s has the letter '%c', elsewhere '%c'", verb->name, option->name,
                             option->letter ? option->letter : '-', same->letter ? same->letter : '-');
                same = option->letter ? first_like(option, true) : option;
                if (strcmp(same->name, option->name) != 0)
                    fail_msg("%s: -%c is --%s, elsewhere --%s", verb->name, option->letter, option->name,
                             same->name);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_letter_means_one_option_in_all_verbs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
