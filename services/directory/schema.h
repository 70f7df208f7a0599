/* SPDX-License-Identifier: Apache-2.0
 *
 * The entries and attributes of an Espalier directory. etc/espalier.ldif is the same schema for an LDAP
 * server (a test compares them):
 *
 *     BASE                                        organizationalUnit, or any entry of the site
 *       ou=descriptions
 *         cn=dgesv.esp                            espalierDescription: a whole description file
 *       ou=problems
 *         cn=dgesv                                espalierProblem: title, GAMS class, signature
 *           cn=lapack                             espalierImplementation
 *       ou=machines
 *         cn=node7                                espalierMachine: slots, threads, parents
 *           cn=dgesv-lapack-1-0                   espalierCostModel: a whole model file
 *       ou=entries
 *         cn=master                               espalierEntry: role and addresses */
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

/* Returns the unit with that number ("ou=machines"), from 0; NULL after the last. */
const char *schema_unit(unsigned number);
/* Returns the base in a full name that is of a unit, or of an entry in one: a part of the name, "" when
 * the unit comes last. NULL: the name lies in no unit. */
const char *schema_below_unit(const char *name);

/* Whether the class has the attribute, and whether it is required; for the test that compares them with
 * the schema file. */
bool schema_allows(const char *object_class, const char *attribute, bool *required);
/* Returns the class with that number, from 0; NULL after the last. */
const char *schema_class(unsigned number);
/* Returns its attribute with that number; NULL after the last. */
const char *schema_attribute(const char *object_class, unsigned number);

/* Finds malformed entries of our classes (a required attribute is missing, a value is invalid, a
 * description or model cannot be parsed; a wrong place, or a class that only resembles ours), and calls
 * `wrong` (may be NULL) for each. If `before` (a checked tree, or NULL) has the entry, it gets its values
 * from there: `stays`. Otherwise it is removed with the entries below it, and `wrong` is called for each
 * of these too. Of an optional attribute only the wrong value is removed, or all its values are replaced
 * by those of `before`, if any. Entries of other classes are ignored. Returns how many were valid as read;
 * tree->n are left. */
size_t schema_check(struct directory_tree *tree, const struct directory_tree *before,
                    void (*wrong)(void *arg, const struct esp_error *error, bool stays), void *arg);
/* Describes the outcome for a message: "it is left as it was before", "it is left out". */
const char *schema_outcome(bool stays);

#endif
