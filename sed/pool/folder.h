/* SPDX-License-Identifier: Apache-2.0
 *
 * Removing a folder with all that is in it.
 */
#ifndef SED_FOLDER_H
#define SED_FOLDER_H

/* Does not follow symbolic links; what cannot be removed stays. */
void folder_remove(const char *path);
/* All that is in it, but not itself. */
void folder_empty(int folder);

#endif
