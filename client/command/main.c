/* SPDX-License-Identifier: Apache-2.0 */
#include "client/command/command.h"
#include "util/standard_files.h"

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    return command_run(argc, argv);
}
