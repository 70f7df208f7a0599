/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside services/settings: the schemas.
 */
#ifndef SERVICES_SETTINGS_TABLES_H
#define SERVICES_SETTINGS_TABLES_H

#include "services/settings.h"

extern const struct config_schema settings_schemas[SETTINGS_N_KINDS];

#endif
