/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of a flow as matrices, for files and for people.
 */
#ifndef FLOW_OUTPUTS_H
#define FLOW_OUTPUTS_H

#include "core/matrix/matrix.h"
#include "flow/execution.h"

/* A vector is one column; of more than two dimensions, the first are the rows and all others the columns.
 * What is not stored in full is one column of what is stored. matrix_clear() frees. */
enum esp_status output_matrix(const struct execution_output *output, struct matrix *matrix,
                              struct esp_error *error);
/* Whether its elements are integers. */
bool output_is_integer(const struct execution_output *output);

#endif
