/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration: the key table, the presets against the design's table, precedence, and every refusal with its place. */
#include "sim/config.h"
#include "sim/config_parse.h"
#include "tests/sim/folder.h"
#include "tests/support/suite.h"

#include <string.h>

/* The presets of the checkout, whatever the person who runs the tests has set. */
static void forget_presets(void) { unsetenv("NPUSIM_PRESETS"); }

static struct hw load(const char *base, const char *set)
{
	struct hw hw;
	struct npu_error err = { 0 };
	const char *sets[] = { set };
	ck_assert_msg(config_load(&hw, base, sets, set ? 1 : 0, &err), "%s", err.text);
	return hw;
}

/* What the program would print, without "npusim: ". */
static const char *refusal(const char *base, const char *set)
{
	static char text[4096];
	struct hw hw;
	struct npu_error err = { 0 };
	const char *sets[] = { set };
	ck_assert_msg(!config_load(&hw, base, sets, set ? 1 : 0, &err), "%s %s is taken", base, set ? set : "");
	ck_assert_int_eq(npu_error_exit_status(err.code), 2);
	return npu_error_print(&err, text, sizeof text);
}

static const char *refusal_of_text(const char *text)
{
	folder_write("m.yaml", text);
	return refusal("m.yaml", NULL);
}

START_TEST(every_key_is_found_by_its_name_and_its_initial_value_is_legal)
{
	struct config config;
	config_init(&config);
	for (unsigned i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];
		char value[96], text[512];
		ck_assert_ptr_eq(config_key_find(key->name), key);
		ck_assert_msg(*key->doc != '\0', "%s has no meaning", key->name);
		config_value(&config.hw, "X", key, value, sizeof value);
		/* A part must state some intervals: their initial 0 is "not stated". */
		bool unstated = strncmp(key->name, "dram.", 5) == 0 && strcmp(value, "0") == 0 && key->min > 0;
		struct hw hw = config.hw;
		ck_assert_msg(unstated || config_parse(key, value, &hw, text, sizeof text), "%s", text);
		ck_assert_mem_eq(&hw, &config.hw, sizeof hw);
	}
	config_fini(&config);
}
END_TEST

START_TEST(every_enum_key_has_words)
{
	struct config_word word;
	for (unsigned i = 0; i < config_nkeys; i++)
		if (config_keys[i].type == CONFIG_ENUM)
			ck_assert_msg(config_key_word(&config_keys[i], 1, &word), "%s", config_keys[i].name);
}
END_TEST

/* The table of DESIGN.md, section 2. */
START_TEST(presets_have_the_sizes_of_the_design)
{
	static const struct {
		const char *name;
		uint64_t array, int8, accum_kib, accum_banks, sram_kib, banks, word, groups, lanes, slots_exp, port;
		uint64_t load, store, dma_port, burst, outstanding, queue;
		const char *part;
		uint32_t channels, bus_bits;
		uint64_t dram_gib;
	} rows[] = {
		{ "tiny-256k", 16, 1, 64, 4, 256, 8, 16, 2, 16, 4, 64, 1, 1, 32, 64, 64, 8, "LPDDR4-3200", 1, 16, 2 },
		{ "edge-1mb", 32, 1, 256, 8, 1024, 16, 32, 4, 32, 4, 128, 2, 1, 32, 256, 32, 16, "LPDDR4X-4266", 2, 16, 4 },
		{ "edge-2mb", 64, 2, 512, 8, 2048, 32, 32, 4, 128, 4, 512, 2, 2, 64, 256, 64, 16, "LPDDR5-6400", 4, 16, 8 },
		{ "server", 128, 2, 2048, 8, 16384, 64, 64, 8, 512, 4, 2048, 8, 8, 256, 512, 256, 32, "HBM2-2000", 16, 64, 8 },
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct config c;
		struct npu_error err = { 0 };
		config_init(&c);
		ck_assert_msg(config_read(&c, rows[i].name, NULL, 0, &err), "%s", err.text);
		const struct hw *hw = &c.hw;
		ck_assert_str_eq(hw->name, rows[i].name);
		ck_assert_double_eq(hw->npu.clock_mhz, 1000);
		ck_assert_uint_eq(hw->matrix.rows, rows[i].array);
		ck_assert_uint_eq(hw->matrix.cols, rows[i].array);
		ck_assert_uint_eq(hw->matrix.int8_macs_per_pe, rows[i].int8);
		ck_assert(hw->matrix.transposer);
		ck_assert_uint_eq(hw->accum.size, rows[i].accum_kib << 10);
		ck_assert_uint_eq(hw->accum.banks, rows[i].accum_banks);
		ck_assert_uint_eq(hw->sram.size, rows[i].sram_kib << 10);
		ck_assert_uint_eq(hw->sram.banks, rows[i].banks);
		ck_assert_uint_eq(hw->sram.bank_bytes, rows[i].word);
		ck_assert_uint_eq(hw->sram.groups, rows[i].groups);
		ck_assert_uint_eq(hw->vector.lanes, rows[i].lanes);
		ck_assert_uint_eq(hw->vector.slots_exp, rows[i].slots_exp);
		ck_assert_uint_eq(hw->vector.port, rows[i].port);
		ck_assert_uint_eq(hw->dma.load_channels, rows[i].load);
		ck_assert_uint_eq(hw->dma.store_channels, rows[i].store);
		ck_assert_uint_eq(hw->dma.port, rows[i].dma_port);
		ck_assert_uint_eq(hw->dma.max_burst, rows[i].burst);
		ck_assert_uint_eq(hw->dma.outstanding, rows[i].outstanding);
		ck_assert_uint_eq(hw->sequencer.queue_depth, rows[i].queue);
		ck_assert_uint_eq(hw->sequencer.issue_cycles, 1);
		ck_assert_uint_eq(hw->sequencer.sync_latency, 4);
		ck_assert_str_eq(c.dram_part, rows[i].part);
		ck_assert_uint_eq(hw->dram.channels, rows[i].channels);
		ck_assert_uint_eq(hw->dram.bus_bits, rows[i].bus_bits);
		ck_assert_uint_eq(dram_capacity(&hw->dram), rows[i].dram_gib << 30);
		config_fini(&c);
	}
}
END_TEST

START_TEST(every_number_of_a_preset_has_a_source)
{
	char **names = config_preset_names(CONFIG_PRESET_HW);
	ck_assert_ptr_nonnull(names[0]);
	for (char **name = names; *name; name++) {
		struct config c;
		struct npu_error err = { 0 };
		config_init(&c);
		ck_assert_msg(config_read(&c, *name, NULL, 0, &err), "%s", err.text);
		for (unsigned i = 0; i < config_nkeys; i++)
			if (c.origin[i].kind == CONFIG_FROM_PRESET)
				ck_assert_msg(strlen(c.origin[i].comment) >= 8, "%s: %s has no source", *name, config_keys[i].name);
		config_fini(&c);
	}
	config_names_free(names);
}
END_TEST

START_TEST(every_dram_part_works_in_a_machine)
{
	char **names = config_preset_names(CONFIG_PRESET_DRAM);
	ck_assert_ptr_nonnull(names[0]);
	for (char **name = names; *name; name++) {
		char set[96];
		snprintf(set, sizeof set, "dram.part=%s", *name);
		struct hw hw = load("edge-1mb", set);
		ck_assert_uint_gt(dram_capacity(&hw.dram), 0);
	}
	config_names_free(names);
}
END_TEST

START_TEST(the_command_line_beats_the_file_and_the_file_what_it_extends)
{
	folder_write("m.yaml", "sram: {banks: 32}\nextends: edge-1mb\nmatrix: {rows: 64}\n");
	struct hw hw = load("m.yaml", "matrix.rows=16");
	ck_assert_uint_eq(hw.sram.size, 1 << 20); /* of edge-1mb */
	ck_assert_uint_eq(hw.sram.banks, 32);     /* of m.yaml, though it stands before extends */
	ck_assert_uint_eq(hw.matrix.rows, 16);    /* of the command line */
	ck_assert_str_eq(hw.name, "m.yaml");
}
END_TEST

START_TEST(of_two_settings_on_the_command_line_the_last_one_holds)
{
	struct hw hw;
	struct npu_error err = { 0 };
	const char *sets[] = { "matrix.rows=16", "matrix.rows=64" };
	ck_assert(config_load(&hw, NULL, sets, 2, &err));
	ck_assert_uint_eq(hw.matrix.rows, 64);
	ck_assert_str_eq(hw.name, "edge-1mb"); /* the default */
}
END_TEST

START_TEST(files_extend_files_beside_them)
{
	ck_assert_int_eq(system("mkdir -p deep"), 0);
	folder_write("deep/base.yaml", "extends: edge-2mb\nmatrix: {rows: 48}\n");
	folder_write("deep/top.yaml", "extends: ./base.yaml\nmatrix: {cols: 48}\n");
	struct hw hw = load("deep/top.yaml", NULL);
	ck_assert_uint_eq(hw.matrix.rows, 48);
	ck_assert_uint_eq(hw.matrix.cols, 48);
	ck_assert_uint_eq(hw.vector.lanes, 128);
}
END_TEST

START_TEST(extending_oneself_is_refused_where_it_closes)
{
	folder_write("a.yaml", "extends: b.yaml\n");
	folder_write("b.yaml", "sram: {banks: 8}\nextends: a.yaml\n");
	ck_assert_str_eq(refusal("a.yaml", NULL), "b.yaml:2:10: extends a.yaml, which extends this file again");
}
END_TEST

START_TEST(a_part_lies_below_every_dram_key_wherever_it_is_set)
{
	struct hw hw;
	struct npu_error err = { 0 };
	const char *sets[] = { "dram.tRCD=99", "dram.part=DDR4-2400" };
	ck_assert_msg(config_load(&hw, "edge-1mb", sets, 2, &err), "%s", err.text);
	ck_assert_uint_eq(hw.dram.tRCD, 99);     /* set before the part was named */
	ck_assert_uint_eq(hw.dram.channels, 2);  /* of edge-1mb: the board, not the part */
	ck_assert_uint_eq(hw.dram.bus_bits, 64); /* of DDR4-2400 */
	ck_assert_uint_eq(hw.dram.tDQSCK, 0);    /* nothing is left of edge-1mb's LPDDR4X */
}
END_TEST

START_TEST(a_part_may_be_a_file)
{
	folder_write("p.yaml", "extends: DDR4-2400\nCL: 20   # mine\n");
	struct config c;
	struct npu_error err = { 0 };
	const char *sets[] = { "dram.part=./p.yaml" };
	config_init(&c);
	ck_assert_msg(config_read(&c, "edge-1mb", sets, 1, &err), "%s", err.text);
	ck_assert_uint_eq(c.hw.dram.CL, 20);
	ck_assert_uint_eq(c.hw.dram.bus_bits, 64);
	ck_assert_str_eq(c.dram_part, "p.yaml");
	ck_assert_str_eq(c.origin[config_key_find("dram.CL") - config_keys].comment, "mine");
	config_fini(&c);
}
END_TEST

static uint64_t size_of(const char *text)
{
	uint64_t bytes = 12345;
	return config_parse_size(text, &bytes) ? bytes : UINT64_MAX;
}

START_TEST(sizes_are_bytes_or_binary_units)
{
	ck_assert_uint_eq(size_of("0"), 0);
	ck_assert_uint_eq(size_of("4096"), 4096);
	ck_assert_uint_eq(size_of("256KiB"), 256 << 10);
	ck_assert_uint_eq(size_of("1.5MiB"), 3 << 19);
	ck_assert_uint_eq(size_of("2 GiB"), UINT64_C(2) << 30);
	ck_assert_uint_eq(size_of("0.5KiB"), 512);
	ck_assert_uint_eq(size_of("17179869183GiB"), UINT64_C(17179869183) << 30); /* (2^34 - 1) GiB, the most that fits */
	static const char *const wrong[] = { "",    "KiB",     ".5KiB",   "1.KiB", "1.3",   "0.3KiB", "1MB",   "1mib",
					     "1 K", "1KiB ",   "-1",      "+1",    "0x10",  "1e3",    "1KiBx", " 1",
					     "1.1234567890KiB", "17179869184GiB" };
	for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(size_of(wrong[i]) == UINT64_MAX, "\"%s\" is taken as %llu", wrong[i],
			      (unsigned long long)size_of(wrong[i]));
}
END_TEST

START_TEST(a_wrong_value_is_refused_with_what_would_be_right)
{
	static const struct {
		const char *set, *text;
	} rows[] = {
		{ "sram.banks=0", "sram.banks=0: out of range; 1 to 128 (bank) would be right" },
		{ "sram.banks=-1", "sram.banks=-1: out of range; 1 to 128 (bank) would be right" },
		{ "sram.banks=99999999999999999999",
		  "sram.banks=99999999999999999999: out of range; 1 to 128 (bank) would be right" },
		{ "sram.banks=", "sram.banks=: not a plain whole number; 1 to 128 would be right, in bank, without the unit" },
		{ "dma.port=32B",
		  "dma.port=32B: not a plain whole number; 1 to 4096 would be right, in byte/cycle, without the unit" },
		{ "sram.size=2MB",
		  "sram.size=2MB: \"MB\" is no unit of a size here; write 2MiB (KiB, MiB, GiB or plain bytes)" },
		{ "sram.size=128KiB", "sram.size=128KiB: out of range; 256 KiB to 32 MiB would be right" },
		{ "npu.clock_mhz=1GHz", "npu.clock_mhz=1GHz: not a plain number; 1 to 10000 would be right, in MHz, without the unit" },
		{ "npu.clock_mhz=0.5", "npu.clock_mhz=0.5: out of range; 1 to 10000 (MHz) would be right" },
		{ "npu.clock_mhz=1e999", "npu.clock_mhz=1e999: out of range; 1 to 10000 (MHz) would be right" },
		{ "npu.clock_mhz=nan", "npu.clock_mhz=nan: not a plain number; 1 to 10000 would be right, in MHz, without the unit" },
		{ "matrix.dataflow=rs", "matrix.dataflow=rs: ws, os or is would be right" },
		{ "matrix.transposer=maybe", "matrix.transposer=maybe: yes or no would be right" },
		{ "dram.refresh=often", "dram.refresh=often: none, allbank or perbank would be right" },
		{ "sram.bank=4", "unknown key sram.bank; did you mean sram.banks?" },
		{ "srm.banks=4", "unknown key srm.banks; did you mean sram.banks?" },
		{ "vector.unheard_of=4", "unknown key vector.unheard_of; npusim hw show lists the keys of vector" },
		{ "no.such=4",
		  "unknown key no.such; sections are npu, sequencer, matrix, accum, vector, sram, dma, energy, dram" },
		{ "sram.banks", "sram.banks: section.key=value would be right, as in sram.size=2MiB" },
		{ "dram.part=DDR4-240", "unknown DRAM part \"DDR4-240\"; did you mean DDR4-2400? There are DDR4-2400, "
					"DDR4-3200, HBM2-2000, LPDDR4-3200, LPDDR4X-4266, LPDDR5-6400, LPDDR5X-8533" },
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		ck_assert_str_eq(refusal("edge-1mb", rows[i].set), rows[i].text);
}
END_TEST

START_TEST(a_wrong_file_is_refused_with_line_and_column)
{
	static const struct {
		const char *yaml, *text;
	} rows[] = {
		{ "extends: edge-1mb\nsram:\n  banks: 0\n", "m.yaml:3:10: sram.banks=0: out of range; 1 to 128 (bank) would be right" },
		{ "extends: edge-1mb\nsram:\n  bank: 4\n", "m.yaml:3:3: unknown key sram.bank; did you mean sram.banks?" },
		{ "extends: edge-1mb\nsrm: {banks: 4}\n", "m.yaml:2:1: unknown section srm; did you mean sram?" },
		{ "extends: edge-1mb\nsram: [1, 2]\n",
		  "m.yaml:2:7: sram is a section: keys and values below it would be right" },
		{ "extends: edge-1mb\nsram: {size: [1]}\n", "m.yaml:2:14: sram.size takes one value: 256 KiB to 32 MiB" },
		{ "extends: edge-1mb\nsram: {size: 1MiB, size: 2MiB}\n", "m.yaml:2:20: sram.size is set twice; first on line 2" },
		{ "extends: edge-1mb\nsram: {size: 1MiB}\nsram.size: 2MiB\n", "m.yaml:3:1: sram.size is set twice; first on line 2" },
		{ "extends: edge-1mb\n? [a]\n: 1\n", "m.yaml:2:3: a key is one word" },
		{ "extends: [a]\n", "m.yaml:1:10: extends takes the name of a preset or a YAML file" },
		{ "extends: edge-1mb\nextends: server\n", "m.yaml:2:1: extends is set twice" },
		{ "extends: edge-1\n", "m.yaml:1:10: unknown hardware \"edge-1\"; did you mean edge-1mb? There are axis-sa, "
				       "edge-1mb, edge-2mb, gemmini16, server, tiny-256k, tiny-tpu" },
		{ "a: &x 1\nb: *x\n", "m.yaml:2:4: aliases (*name) are not taken: write the value again" },
		{ "extends: edge-1mb\n---\nsram:\n", "m.yaml:2:1: a second document: one is read" },
		{ "", "m.yaml: the file holds no keys; \"extends: edge-1mb\" would be a machine" },
		{ "# nothing\n", "m.yaml: the file holds no keys; \"extends: edge-1mb\" would be a machine" },
		{ "edge-1mb\n", "m.yaml:1:1: keys and values would be right, as in \"sram: {size: 2MiB}\"" },
		{ "sram: {size: 1MiB\n", "m.yaml:2:1: did not find expected ',' or '}'" },
		{ "sram:\n\tsize: 1MiB\n", "m.yaml:2:1: found character that cannot start any token" },
		{ "a: 1\nsram: \xff\n", "m.yaml:2:7: invalid leading UTF-8 octet; a YAML file is UTF-8 text" },
		{ "sram: {size: 1MiB}\n",
		  "no DRAM: dram.part names one, as in dram.part=LPDDR4X-4266, or all its keys are set" },
	};
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
		ck_assert_str_eq(refusal_of_text(rows[i].yaml), rows[i].text);
}
END_TEST

START_TEST(a_broken_relation_blames_the_key_that_was_set_last)
{
	/* 1 MiB is no multiple of 3 banks x 32 B: the preset set the size, the file the banks. */
	folder_write("m.yaml", "extends: edge-1mb\nsram: {groups: 1,\n       banks: 3}\n");
	const char *text = refusal("m.yaml", NULL);
	ck_assert_msg(strncmp(text, "m.yaml:3:15: ", 13) == 0, "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "sram.size=1048576"));
	ck_assert_ptr_nonnull(strstr(text, "sram.banks=3"));
	/* Set on the command line there is no place, and the text names the keys. */
	ck_assert_msg(strncmp(refusal("edge-1mb", "sram.size=1000000"), "sram.size=1000000", 17) == 0, "%s",
		      refusal("edge-1mb", "sram.size=1000000"));
}
END_TEST

START_TEST(deep_nesting_is_refused_quickly)
{
	char *text = malloc(200001);
	memset(text, '[', 200000);
	text[200000] = '\0';
	ck_assert_str_eq(refusal_of_text(text), "m.yaml:1:33: nested deeper than 32 levels");
	free(text);
}
END_TEST

START_TEST(a_file_above_one_mebibyte_is_refused)
{
	ck_assert_str_eq(refusal("/dev/zero", NULL), "/dev/zero: larger than 1024 KiB, the most that is read");
}
END_TEST

START_TEST(a_folder_and_a_missing_file_are_refused)
{
	ck_assert_str_eq(refusal("./", NULL), "./: cannot be read: it is a folder; name a file");
	ck_assert_str_eq(refusal("./none.yaml", NULL), "./none.yaml: cannot be read: No such file or directory");
	ck_assert_str_eq(refusal("edge-3mb", NULL), "unknown hardware \"edge-3mb\"; did you mean edge-1mb? There are "
						    "axis-sa, edge-1mb, edge-2mb, gemmini16, server, tiny-256k, tiny-tpu");
}
END_TEST

START_TEST(line_ends_of_windows_and_a_missing_last_one_are_taken)
{
	folder_write("m.yaml", "extends: edge-1mb\r\nsram:\r\n  size: 2MiB   # mine\r\n  banks: 32");
	struct hw hw = load("m.yaml", NULL);
	ck_assert_uint_eq(hw.sram.size, 2 << 20);
	ck_assert_uint_eq(hw.sram.banks, 32);
}
END_TEST

static const char *comment_of(const struct config *c, const char *key)
{
	return c->origin[config_key_find(key) - config_keys].comment;
}

START_TEST(a_value_remembers_its_place_and_comment)
{
	struct config c;
	struct npu_error err = { 0 };
	folder_write("m.yaml", "extends: edge-1mb\nsram:\n  size: 2MiB   # measured\n  # two lines\n  # above it\n  banks: 32\n"
			     "matrix: {rows: 16, cols: 16}  # both\ndma:\n  port: 32\n");
	config_init(&c);
	ck_assert_msg(config_read(&c, "m.yaml", NULL, 0, &err), "%s", err.text);
	const struct config_origin *size = &c.origin[config_key_find("sram.size") - config_keys];
	ck_assert_int_eq(size->kind, CONFIG_FROM_FILE);
	ck_assert_str_eq(size->file, "m.yaml");
	ck_assert_uint_eq(size->line, 3);
	ck_assert_uint_eq(size->column, 9);
	ck_assert_str_eq(size->comment, "measured");
	ck_assert_str_eq(comment_of(&c, "sram.banks"), "two lines above it");
	ck_assert_str_eq(comment_of(&c, "matrix.rows"), "both");
	ck_assert_str_eq(comment_of(&c, "matrix.cols"), "both");
	ck_assert_str_eq(comment_of(&c, "dma.port"), "");
	config_fini(&c);
}
END_TEST

START_TEST(a_persons_folder_of_presets_is_searched_first)
{
	folder_write("edge-1mb.yaml", "extends: edge-2mb\nmatrix: {rows: 8}\n");
	folder_write("mine.yaml", "extends: edge-1mb\n");
	setenv("NPUSIM_PRESETS", folder, 1);
	ck_assert_uint_eq(load("mine", NULL).matrix.rows, 8);
	char **names = config_preset_names(CONFIG_PRESET_HW);
	unsigned n = 0;
	while (names[n])
		n++;
	ck_assert_uint_eq(n, 8); /* the seven and mine, edge-1mb once */
	config_names_free(names);
}
END_TEST

START_TEST(names_of_presets_do_not_leave_their_folder)
{
	ck_assert_ptr_null(config_preset_path(CONFIG_PRESET_HW, "../presets/edge-1mb"));
	ck_assert_ptr_null(config_preset_path(CONFIG_PRESET_HW, ".edge-1mb"));
	ck_assert_ptr_null(config_preset_path(CONFIG_PRESET_HW, ""));
}
END_TEST

/* The keys that are set above the preset, with blanks between them. */
static const char *changes(const char *base, const char *const *sets, unsigned nsets)
{
	static char text[512];
	struct config c;
	struct npu_error err = { 0 };
	config_init(&c);
	ck_assert_msg(config_read(&c, base, sets, nsets, &err), "%s", err.text);
	snprintf(text, sizeof text, "%s:", c.title);
	for (unsigned i = 0; c.changes[i]; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), " %s", c.changes[i]);
	config_fini(&c);
	return text;
}

START_TEST(a_machine_tells_what_makes_it_another_than_its_preset)
{
	const char *const sets[] = { "sram.size=2097152", "dram.CL=40", "sram.size=4MiB" };
	folder_write("mine.yaml", "extends: edge-2mb\nvector: {lanes: 64}\n");
	folder_write("over.yaml", "extends: mine.yaml\nsram: {size: 8MiB}\n");
	folder_write("whole.yaml", "dram: {part: DDR4-2400}\n");
	ck_assert_str_eq(changes("edge-1mb", NULL, 0), "edge-1mb:");
	ck_assert_str_eq(changes("edge-1mb", sets, 3), "edge-1mb, changed: dram.CL=40 sram.size=4MiB");
	ck_assert_str_eq(changes("over.yaml", sets, 1), "over.yaml: vector.lanes=64 sram.size=2MiB");
	ck_assert_str_eq(changes("whole.yaml", NULL, 0), "whole.yaml:");
	ck_assert_str_eq(changes("whole.yaml", sets, 1), "whole.yaml: sram.size=2MiB");
}
END_TEST

static Suite *config_suite(void)
{
	Suite *suite = suite_create("config");
	TCase *tests = tcase_create("config");
	folder_use(tests);
	tcase_add_checked_fixture(tests, forget_presets, NULL);
	tcase_add_test(tests, every_key_is_found_by_its_name_and_its_initial_value_is_legal);
	tcase_add_test(tests, every_enum_key_has_words);
	tcase_add_test(tests, presets_have_the_sizes_of_the_design);
	tcase_add_test(tests, every_number_of_a_preset_has_a_source);
	tcase_add_test(tests, every_dram_part_works_in_a_machine);
	tcase_add_test(tests, the_command_line_beats_the_file_and_the_file_what_it_extends);
	tcase_add_test(tests, of_two_settings_on_the_command_line_the_last_one_holds);
	tcase_add_test(tests, files_extend_files_beside_them);
	tcase_add_test(tests, extending_oneself_is_refused_where_it_closes);
	tcase_add_test(tests, a_part_lies_below_every_dram_key_wherever_it_is_set);
	tcase_add_test(tests, a_part_may_be_a_file);
	tcase_add_test(tests, sizes_are_bytes_or_binary_units);
	tcase_add_test(tests, a_wrong_value_is_refused_with_what_would_be_right);
	tcase_add_test(tests, a_wrong_file_is_refused_with_line_and_column);
	tcase_add_test(tests, a_broken_relation_blames_the_key_that_was_set_last);
	tcase_add_test(tests, deep_nesting_is_refused_quickly);
	tcase_add_test(tests, a_file_above_one_mebibyte_is_refused);
	tcase_add_test(tests, a_folder_and_a_missing_file_are_refused);
	tcase_add_test(tests, line_ends_of_windows_and_a_missing_last_one_are_taken);
	tcase_add_test(tests, a_value_remembers_its_place_and_comment);
	tcase_add_test(tests, a_persons_folder_of_presets_is_searched_first);
	tcase_add_test(tests, names_of_presets_do_not_leave_their_folder);
	tcase_add_test(tests, a_machine_tells_what_makes_it_another_than_its_preset);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void) { return npu_suite_run(config_suite()); }
