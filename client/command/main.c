/* SPDX-License-Identifier: Apache-2.0 */
#include "client/command/command.h"
#include "util/standard_files.h"

int main(int argc, char **argv)
{
    standard_files_hold();
    return command_run(argc, argv);
}
