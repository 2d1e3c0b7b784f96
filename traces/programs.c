/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sample programs; the build makes programs.inc of the files. */
#include "traces/programs.h"

#include <string.h>

#define PROGRAM(name, ...) static const unsigned char text_of_##name[] = { __VA_ARGS__ };
#include "traces/programs.inc"
#undef PROGRAM

static const struct traces_program programs[] = {
#define PROGRAM(name, ...) { #name, (const char *)text_of_##name, sizeof text_of_##name },
#include "traces/programs.inc"
#undef PROGRAM
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

const struct traces_program *traces_program_at(unsigned i)
{
	return i < PROGRAMS ? &programs[i] : NULL;
}

const struct traces_program *traces_program_find(const char *name)
{
	for (unsigned i = 0; i < PROGRAMS; i++)
		if (strcmp(programs[i].name, name) == 0)
			return &programs[i];
	return NULL;
}
