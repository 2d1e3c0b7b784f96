/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as one page that opens in any browser, offline. Its parts are page.html, page.css and page_*.js; this file
 * says what data stand in it, which page_read.js reads.
 *
 * One JSON object ("meta"): what was run, lanes, strings, the report. Everything that is as long as the run is a block of
 * bytes in base64: unsigned LEB128 numbers below 2^53; "signed" ones are zigzag (0, -1, 1, -2, ...).
 *
 *   block      a record is                                                       for each
 *   fixed      gap to the instruction before, operation, slot, source, region + 1, instruction shown, by number
 *              bytes, MACs, issued - issued before (signed), head - issued,
 *              start - head, end - start, then twice: distance to the poster,
 *              or 0; then the template of the text
 *   numbers    the numbers that stand in its text, less those of the template's  instruction shown; all are 0 again at the
 *              last use (signed)                                                 beginning of every 256
 *   lane N     gap to the end of the slice before, length, instruction + 1 less  slice
 *              the one before (signed); of regions and the critical path a name
 *   lane N     of states, without gaps: (length x 16 + state) x 2 + 1, and       slice
 *              instruction + 1 less the one before (signed); or the first
 *              without the 1, where that is 0
 *   lane N     of a curve: time since the value before; then 0 and an IEEE       value
 *              number, or the change of whole numbers: 2d + 1, or 2d for -d
 *
 * Of a state lane the instruction is the one that decides the state. */
#ifndef NPU_SIM_TIMELINE_PAGE_H
#define NPU_SIM_TIMELINE_PAGE_H

#include "sim/timeline/pair.h"

/* As the writers of sim/timeline/formats.h. */
bool timeline_write_page(const struct simulation *, FILE *, struct npu_error *);
/* Two runs: the second one's blocks and its meta are called "b-..."; "pair" holds names, marks and pairs as of
 * sim/timeline/align.h, [cycle of A, cycle of B, shown] and [region, region, lane, from, to, lane, from, to, together]. */
bool timeline_write_page_pair(const struct timeline_pair *, FILE *, struct npu_error *);

#endif
