/* SPDX-License-Identifier: Apache-2.0 */
#include "client/command/command.h"
#include "client/library.h"
#include "util/standard_files.h"

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    client_ignore_environment();
    return command_run(argc, argv);
}
