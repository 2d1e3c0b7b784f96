/* SPDX-License-Identifier: Apache-2.0 */
/* What `npusim.report/1` holds, out of report.def and the tables that it stands on. */
#ifndef NPU_SIM_SCHEMA_H
#define NPU_SIM_SCHEMA_H

#include "isa/error.h"

#include <stdio.h>

/* The JSON Schema (draft 2020-12) of a report; units are in "unit". */
bool report_schema(FILE *, struct npu_error *);
/* The same as the tables of docs/report.md. False when the stream failed. */
bool report_schema_markdown(FILE *);

/* Likewise npusim.check/1, out of sim/cmd/check_report.def. */
bool check_schema(FILE *, struct npu_error *);
bool check_schema_markdown(FILE *);

/* Likewise npusim.model/1, out of sim/model/report.def. */
bool model_schema(FILE *, struct npu_error *);
bool model_schema_markdown(FILE *);

/* Likewise npusim.explain/1, out of sim/cmd/explain_report.def. */
bool explain_schema(FILE *, struct npu_error *);
bool explain_schema_markdown(FILE *);

/* Likewise npusim.import/1, out of sim/cmd/import_report.def. */
bool import_schema(FILE *, struct npu_error *);
bool import_schema_markdown(FILE *);

#endif
