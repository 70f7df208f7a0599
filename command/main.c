/* SPDX-License-Identifier: Apache-2.0 */
#include "command/verbs.h"
#include "espalier.h"
#include "util/standard_files.h"

#include <signal.h>

STANDARD_FILES_HOLD;

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); /* a file beyond "ulimit -f" is an error of write(2), as on a full disk */
    esp_ignore_environment();
    return command_run(argc, argv);
}
