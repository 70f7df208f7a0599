/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/problems/table.h"

int main(void)
{
    return try_group(&functions_group);
}
