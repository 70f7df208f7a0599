/* SPDX-License-Identifier: Apache-2.0
 *
 * The problems of the platform, as a flow text finds them: each is asked for once.
 */
#ifndef FLOW_CATALOGUE_H
#define FLOW_CATALOGUE_H

#include "core/flow/program.h"

struct catalogue;

enum esp_status catalogue_create(struct catalogue **catalogue, struct esp_error *error);
/* Programs that have used its problems must be destroyed before. */
void catalogue_destroy(struct catalogue *catalogue);
struct flow_problems catalogue_problems(struct catalogue *catalogue);

#endif
