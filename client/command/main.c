/* SPDX-License-Identifier: Apache-2.0 */
#include "client/command/command.h"

int main(int argc, char **argv)
{
    return command_run(argc, argv);
}
