/* SPDX-License-Identifier: Apache-2.0
 *
 * What entries a directory of Espalier has, and what must be in them. etc/espalier.ldif says the same to an
 * LDAP server (a test holds the two together):
 *
 *     BASE                                        organizationalUnit, or whatever the site has there
 *       ou=descriptions
 *         cn=dgesv.esp                            espalierDescription: a description file, whole
 *       ou=problems
 *         cn=dgesv                                espalierProblem: title, GAMS class, signature
 *           cn=lapack                             espalierImplementation
 *       ou=machines
 *         cn=node7                                espalierMachine: slots, threads, parents
 *           cn=dgesv-lapack-1-0                   espalierCostModel: a model file, whole
 *       ou=entries
 *         cn=master                               espalierEntry: role and addresses
 */
#ifndef SERVICES_DIRECTORY_SCHEMA_H
#define SERVICES_DIRECTORY_SCHEMA_H

#include "services/directory/tree.h"

#define DIRECTORY_DESCRIPTIONS "ou=descriptions"
#define DIRECTORY_PROBLEMS     "ou=problems"
#define DIRECTORY_MACHINES     "ou=machines"
#define DIRECTORY_ENTRIES      "ou=entries"

/* Classes. */
#define DIRECTORY_DESCRIPTION    "espalierDescription"
#define DIRECTORY_PROBLEM        "espalierProblem"
#define DIRECTORY_IMPLEMENTATION "espalierImplementation"
#define DIRECTORY_MACHINE        "espalierMachine"
#define DIRECTORY_COST_MODEL     "espalierCostModel"
#define DIRECTORY_ENTRY          "espalierEntry"

/* The unit of that number ("ou=machines"), from 0; NULL behind the last. */
const char *schema_unit(unsigned number);
/* The base of a whole name that is of a unit, or of an entry in one: a part of it, "" when nothing stands
 * behind the unit. NULL: it lies in none. */
const char *schema_below_unit(const char *name);

/* The attributes of a class, for the test that compares them with the schema file: whether the class has the
 * attribute, and whether it must be there. */
bool schema_allows(const char *object_class, const char *attribute, bool *required);
/* The class of that number, from 0; NULL behind the last. */
const char *schema_class(unsigned number);
/* Its attribute of that number; NULL behind the last. */
const char *schema_attribute(const char *object_class, unsigned number);

/* Looks for entries of ours that are nonsense (an attribute that must be there is missing, or its value is
 * not what it must be, or a description or model cannot be read; they lie elsewhere than above, or are of a
 * class that only sounds like ours); `wrong` (may be NULL) is told of each. One that `before` (a tree that
 * was checked, or NULL) has too gets its values from there: `stays`. Others are taken out, and what is below
 * them, each of which is told too. Of an attribute that need not be there a wrong value goes alone: all its
 * values are those of `before` then, if it had some. Entries of other classes are let be. Returns how many
 * are good as they came; tree->n are left.
 */
size_t schema_check(struct directory_tree *tree, const struct directory_tree *before,
                    void (*wrong)(void *arg, const struct esp_error *error, bool stays), void *arg);
/* What becomes of it, for a message: "it is left as it was before", "it is left out". */
const char *schema_outcome(bool stays);

#endif
