/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on the machine, through npusim: a run counts what the closed forms say, and a ping-pong hides what it can.
 * Skipped where NPUSIM does not name the program. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/kernel.h"
#include "tests/support/kernel_cases.h"
#include "tests/support/suite.h"

enum { REPORT_BYTES = 1 << 24 };

/* The report of `npusim run WORDS`, in memory; the caller frees it. */
static char *run(const char *words)
{
	char path[] = "/tmp/npusim-kernels-XXXXXX.json", command[1024];
	int fd = mkstemps(path, 5);
	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof command, "%s run %s --report %s >/dev/null", getenv("NPUSIM"), words, path);
	ck_assert_msg(system(command) == 0, "%s", command);
	FILE *f = fopen(path, "r");
	char *text = calloc(1, REPORT_BYTES);
	ck_assert(f && text && fread(text, 1, REPORT_BYTES - 1, f) > 0);
	fclose(f);
	unlink(path);
	return text;
}

/* The number of "key" behind the objects of `scope`, "engines load", each sought behind the one before. */
static uint64_t number(const char *report, const char *scope, const char *key)
{
	char words[64], name[80];
	const char *at = report;
	snprintf(words, sizeof words, "%s", scope);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
		snprintf(name, sizeof name, "\"%s\": {", word);
		at = strstr(at, name);
		ck_assert_msg(at != NULL, "no %s", name);
	}
	snprintf(name, sizeof name, "\"%s\":", key);
	at = strstr(at, name);
	ck_assert_msg(at != NULL, "no %s", name);
	return strtoull(at + strlen(name), NULL, 10);
}

/* What `npusim run` would build of WORDS on a preset, resolved into `args`. */
static const struct npu_kernel *resolved(const char *words, const char *preset, struct npu_args *args)
{
	char copy[200];
	struct npu_error err = { 0 };
	snprintf(copy, sizeof copy, "%s", words);
	const struct npu_kernel *k = npu_kernel_find(strtok(copy, " "));
	npu_args_init(k, args);
	for (char *word = strtok(NULL, " "); word; word = strtok(NULL, " "))
		ck_assert_msg(npu_args_set(k, args, word, &err), "%s", err.text);
	ck_assert_msg(k->resolve(preset_capacity(preset), args, &err), "%s", err.text);
	return k;
}

enum { PRESETS = 4 };

static const char *const counted[] = {
	"gemm m=200 n=300 k=150",
	"gemm m=100 n=100 k=100 dtype=int8",
	"gemm m=300 n=200 k=700",
	"qk_tiled seq=300 heads=4 kv_heads=2",
	"qk_tiled seq=300 seq_q=100 heads=2 head_dim=200 dtype=int8",
	"mask_softmax seq=300 heads=2 mask=causal",
	"mask_softmax seq=300 heads=2 mask=window window=50 fused=0",
	"pv_tiled seq=300 heads=2 head_dim=80",
	"attention seq=200 heads=2 mask=padding valid=150",
	"attention seq=300 seq_q=400 heads=2 mask=causal tile_q=64 tile_kv=48 tile_rows=20",
	"attention seq=500 heads=4 kv_heads=2 mask=window window=60 fused=0 tile_q=64 tile_kv=32",
	"attention seq=300 heads=2 mask=causal hidden=compute",
	"mask_softmax seq=500 seq_q=520 heads=2 mask=window window=60",
	"mask_softmax seq=300 heads=2 mask=causal hidden=compute",
	"flash_attention seq=500 heads=2 mask=causal",
	"flash_attention seq=500 heads=2 mask=causal tile_q=64 tile_kv=48",
	"flash_attention seq=500 seq_q=300 heads=2 mask=window window=100 tile_q=64 tile_kv=32",
	"flash_attention seq=500 seq_q=1 heads=4 kv_heads=1",
	"kv_fetch_paged seq=500 kv_heads=2 tile_kv=100",
	"gemm m=300 n=200 k=500 order=weight weights=int4",
	"gemm m=20 n=2000 k=3000 weights=int4",
	"gemm m=300 n=200 k=500 order=activation weights=int8 tile_m=128",
	"gemm m=300 n=200 k=500 order=weight weights=int8 group=64",
	"gemm m=300 n=201 k=500 layout=block32",
	"gemm m=300 n=201 k=500 layout=block16 dtype=int8 group=channel",
	"gemm m=300 n=200 k=500 a_layout=block16 c_layout=block32 weights=int8",
	"gemm m=300 n=200 k=500 layout=block32 b_layout=row weights=int4 order=weight",
	"gemm m=300 n=200 k=500 layout=block16 b_layout=block32 c_layout=row order=activation",
	"layernorm rows=100 cols=200",
	"rope rows=100 heads=3 head_dim=64 rotary=48",
	"swiglu rows=100 cols=200",
	"softcap rows=100 cols=201",
	"quantise rows=100 cols=288 tile_rows=7",
	"quantise rows=33 cols=200 to=int4 group=0",
	"flash_attention seq=500 heads=2 mask=causal tile_q=64 tile_kv=48 softcap=30",
	"decode_attention_paged batch=2 seq=500 heads=8 kv_heads=2 kv=int8 splits=3 softcap=50",
	"residual_add rows=100 cols=201",
	"embedding rows=100 cols=200 vocab=300",
	"gemv m=3 n=500 k=700 weights=int4",
	"gemv m=2 n=300 k=1000 weights=int8 group=64 tile_k=256",
	"gemv n=300 k=1000 weights=int8",
	"gemv n=301 k=100 dtype=int8",
	"gemv m=2 n=300 k=1000 weights=int8 tile_n=64 bias=1",
	"gemm m=300 n=200 k=500 weights=int8 tile_m=64 tile_n=64 bias=1",
	"gemm m=300 n=201 k=100 bias=1",
	"gemm m=300 n=201 k=0 bias=1 tile_m=64",
	"gemm m=3 n=200 k=0 bias=1 layout=block32 dtype=int8 group=channel order=weight tile_n=32",
	"decode_attention_paged batch=3 seq=500 seq_min=17 heads=8 kv_heads=2",
	"decode_attention_paged batch=2 seq=500 heads=8 kv_heads=2 kv=int8 kv_group=half splits=3 "
	"kv_layout=kv_page_head",
	"decode_attention_paged batch=2 seq=500 heads=4 kv_heads=4 kv=int4 kv_group=token dequant=matrix page=8",
	"decode_attention_paged batch=3 seq=500 seq_min=17 heads=12 kv_heads=6 heads_at_once=4 gather=pages",
	"decode_attention_paged batch=2 seq=500 heads=8 kv_heads=8 kv=int8 gather=pages page=24 tile_kv=48",
	"decode_attention_paged batch=2 seq=500 heads=8 kv_heads=8 kv=int8 kv_group=token gather=pages tile_kv=32",
	"decode_attention_paged batch=2 seq=500 heads=6 kv_heads=3 kv=int4 dequant=matrix gather=pages tile_kv=64",
	"prefill_attention_paged batch=2 seq=500 seq_min=300 chunk=100 heads=4 kv_heads=2 tile_q=48",
	"prefill_attention_paged batch=2 seq=500 seq_min=300 chunk=300 heads=4 kv_heads=2 tile_q=32 tile_kv=32 window=100",
	"prefill_attention_paged seq=500 chunk=500 heads=4 kv_heads=2 kv=int4 dequant=matrix splits=2 window=77 tile_kv=32",
};

START_TEST(a_run_counts_what_the_closed_form_says)
{
	const char *preset = preset_capacities[_i % PRESETS].name;
	char words[240];
	struct npu_args args;
	const struct npu_kernel *k = resolved(counted[_i / PRESETS], preset, &args);
	struct npu_expect expected = k->expect(&args);

	snprintf(words, sizeof words, "%s --hw %s", counted[_i / PRESETS], preset);
	char *report = run(words);
	ck_assert_uint_eq(number(report, "", "macs"), expected.macs);
	ck_assert_uint_eq(number(report, "", "useful_macs"), expected.useful_macs);
	ck_assert_uint_eq(number(report, "overlap dram", "read_bytes"), expected.dram_read_bytes);
	ck_assert_uint_eq(number(report, "overlap dram", "write_bytes"), expected.dram_write_bytes);
	ck_assert_uint_eq(number(report, "program", "instructions"), expected.instructions);
	free(report);
}
END_TEST

/* Load and store share the DRAM, so their active cycles count together. */
static const char *const pipelines[] = {
	"gemm m=512 n=512 k=512",
	"gemm m=512 n=512 k=512 dtype=int8",
	"gemm m=1024 n=1024 k=1024",
	"gemm m=1024 n=1024 k=1024 dtype=int8",
	"gemm m=512 n=512 k=2048 dtype=int8",
	"qk_tiled seq=512 heads=4",
	"qk_tiled seq=512 heads=4 dtype=int8",
	"qk_tiled seq_q=256 heads=2 head_dim=512",
	"qk_tiled seq_q=256 heads=2 head_dim=512 dtype=int8",
	"mask_softmax seq=512 heads=8",
	"pv_tiled seq=512 heads=8",
	"pv_tiled seq=2048 heads=1",
	"attention seq=512 heads=4",
	"flash_attention seq=1024 heads=4",
	"flash_attention seq=1024 heads=4 mask=causal",
	"kv_fetch_paged seq=2048",
};

/* Fill is what passes until the first tile is computed, drain what remains to be stored after the last one. */
static uint64_t fill_and_drain(const char *report, const struct npu_program *p, uint64_t cycles)
{
	uint64_t first = cycles, last = 0;
	const char *row = strstr(report, "\"instructions\": [");
	for (uint32_t i = 0; i < p->ninsns; i++) {
		enum npu_engine engine = npu_op_engine(p->insns[i].op);
		row = strstr(row, "\"start\":");
		ck_assert_ptr_nonnull(row);
		uint64_t start = number(row, "", "start"), end = number(row, "", "end");
		row++;
		if (engine != NPU_ENGINE_MATRIX && engine != NPU_ENGINE_VECTOR)
			continue;
		/* Constants are made before anything has been loaded. */
		if (p->insns[i].wait[0].count || p->insns[i].wait[1].count)
			first = start < first ? start : first;
		last = end > last ? end : last;
	}
	ck_assert_uint_lt(first, last);
	return first + cycles - last;
}

START_TEST(a_ping_pong_takes_as_long_as_its_longest_stage)
{
	const char *preset = preset_capacities[_i % PRESETS].name;
	char words[240];
	struct npu_args args;
	struct npu_error err = { 0 };
	const struct npu_kernel *k = resolved(pipelines[_i / PRESETS], preset, &args);
	struct npu_program *p = npu_kernel_build(k, preset_capacity(preset), &args, &err);
	ck_assert_msg(p != NULL, "%s", err.text);

	snprintf(words, sizeof words, "%s --hw %s --instructions", pipelines[_i / PRESETS], preset);
	char *report = run(words);
	uint64_t cycles = number(report, "", "cycles"), ends = fill_and_drain(report, p, cycles), longest = 0;
	const uint64_t load = number(report, "engines load", "active"),
		       store = number(report, "engines store", "active");
	const uint64_t stage[] = {
		load + store,
		number(report, "engines matrix", "active"),
		number(report, "engines vector", "active"),
	};
	for (int i = 0; i < 3; i++)
		longest = stage[i] > longest ? stage[i] : longest;
	ck_assert_uint_ge(cycles, load);
	ck_assert_uint_ge(cycles, store);
	ck_assert_uint_ge(cycles, stage[1]);
	ck_assert_uint_ge(cycles, stage[2]);
	ck_assert_msg(cycles <= longest * 11 / 10 + ends,
		      "%s: %" PRIu64 " cycles, the longest stage %" PRIu64 ", fill and drain %" PRIu64, words, cycles,
		      longest, ends);
	npu_program_free(p);
	free(report);
}
END_TEST

START_TEST(a_balanced_ping_pong_is_faster_by_more_than_half)
{
	char *one = run("qk_tiled seq_q=256 head_dim=512 dtype=int8 buffering=single");
	char *two = run("qk_tiled seq_q=256 head_dim=512 dtype=int8 buffering=double");
	uint64_t single = number(one, "", "cycles"), pair = number(two, "", "cycles");
	ck_assert_msg(10 * single >= 16 * pair, "single %" PRIu64 ", double %" PRIu64 " cycles", single, pair);
	free(one);
	free(two);
}
END_TEST

static const char *const products_with_k[] = {
	"qk_tiled seq=300 heads=2 head_dim=80",
	"qk_tiled seq=100 heads=2 head_dim=33 dtype=int8",
	"attention seq=150 heads=2",
	"flash_attention seq=300 heads=4 kv_heads=2 mask=causal dtype=bf16",
};

/* The DMA turns K instead. It moves the same bytes; the 16 x 16 elements that it turns at a time cost what they cost.
 */
START_TEST(an_array_without_transposer_computes_the_same)
{
	char words[200];
	snprintf(words, sizeof words, "%s --values", products_with_k[_i]);
	char *with = run(words);
	snprintf(words, sizeof words, "%s --values matrix.transposer=no", products_with_k[_i]);
	char *without = run(words);
	ck_assert_uint_eq(number(without, "", "macs"), number(with, "", "macs"));
	ck_assert_uint_eq(number(without, "overlap dram", "read_bytes"), number(with, "overlap dram", "read_bytes"));
	ck_assert_uint_eq(number(without, "overlap dram", "write_bytes"), number(with, "overlap dram", "write_bytes"));
	free(with);
	free(without);
}
END_TEST

/* K and V pass once for each of 8 rows of tiles: 36 MiB at 17.07 GB/s are 2,211,000 cycles without refresh, the array
 * needs 2,097,152. */
START_TEST(flash_attention_runs_at_the_speed_of_the_dram)
{
	char *report = run("flash_attention seq=1024 heads=8 head_dim=128 --hw edge-1mb");
	uint64_t cycles = number(report, "", "cycles");
	ck_assert_uint_ge(cycles, 2211000);
	ck_assert_uint_le(cycles, 2600000);
	free(report);
}
END_TEST

/* 4,096 MACs a cycle. */
START_TEST(flash_attention_keeps_a_large_array_busy)
{
	char *report = run("flash_attention seq=2048 heads=4 head_dim=128 --hw edge-2mb");
	uint64_t cycles = number(report, "", "cycles"), macs = number(report, "", "macs");
	ck_assert_uint_eq(macs, 2ull * 4 * 2048 * 2048 * 128);
	ck_assert_msg(100 * macs >= 95 * 4096 * cycles, "%" PRIu64 " cycles", cycles);
	free(report);
}
END_TEST

/* Cycles of loads that follow one another, `rows` of 256 bytes each, 16 MiB in all. */
static uint64_t sequential(unsigned rows, const char *preset)
{
	char path[] = "/tmp/npusim-kernels-XXXXXX.npu", words[200];
	int fd = mkstemps(path, 4);
	ck_assert_int_ge(fd, 0);
	dprintf(fd,
		".tensor X[65536, 128] fp16 in\n.sram x[4][%u, 128] fp16\n"
		".for i in 0..65536 / %u\n  load x[i %% 4][:, :], X[i * %u : i * %u + %u, :]\n.end\n",
		rows, rows, rows, rows, rows);
	close(fd);
	snprintf(words, sizeof words, "%s --hw %s", path, preset);
	char *report = run(words);
	uint64_t cycles = number(report, "", "cycles");
	ck_assert_uint_eq(number(report, "overlap dram", "read_bytes"), 1 << 24);
	free(report);
	unlink(path);
	return cycles;
}

/* Cycles of the 16 MiB in the best of 32, 64 and 128 KiB a load, of which SRAM holds four. */
static uint64_t fastest_stream(const char *preset)
{
	uint64_t fastest = UINT64_MAX, room = preset_capacity(preset)->limits.sram_bytes;
	for (unsigned rows = 128; rows <= 512 && rows * 256 * 4 <= room; rows *= 2) {
		uint64_t cycles = sequential(rows, preset);
		fastest = cycles < fastest ? cycles : fastest;
	}
	return fastest;
}

static const struct {
	const char *preset;
	unsigned batch;
} decoders[] = { { "edge-1mb", 1 }, { "edge-1mb", 8 }, { "edge-2mb", 1 },  { "edge-2mb", 8 },
		 { "server", 1 },   { "server", 8 },   { "tiny-256k", 1 }, { "tiny-256k", 8 } };

/* 4,096 tokens of 8 kv heads are 16 MiB, in pages of 16 tokens that lie anywhere. */
START_TEST(paged_decode_reads_at_nine_tenths_of_a_sequential_stream)
{
	uint64_t batch = decoders[_i].batch, fastest = fastest_stream(decoders[_i].preset);
	char words[200];
	snprintf(words, sizeof words,
		 "decode_attention_paged batch=%u seq=4096 heads=32 kv_heads=8 head_dim=128 page=16 --hw %s",
		 decoders[_i].batch, decoders[_i].preset);
	char *report = run(words);
	uint64_t cycles = number(report, "", "cycles"), bytes = number(report, "overlap dram", "read_bytes");
	ck_assert_uint_ge(bytes, batch << 24);
	ck_assert_msg(100 * bytes * fastest >= (90 * cycles) << 24, "%" PRIu64 " cycles, a stream takes %" PRIu64,
		      cycles, batch * fastest);
	free(report);
}
END_TEST

/* 1,024 tokens of fp16 are 4 MiB, 4,096 of int8 8 MiB and scales, of int4 4: less time for the last tile to be done in.
 * Shares of a stream in percent. */
static const struct {
	const char *words;
	unsigned share;
} shorter[] = {
	{ "seq=1024 --hw edge-1mb", 95 },
	{ "seq=1024 --hw edge-2mb", 90 },
	{ "seq=1024 gather=pages --hw edge-2mb", 90 },
	{ "seq=16384 heads=4 kv_heads=1 --hw edge-2mb", 90 },
	{ "page=256 --hw edge-2mb", 95 },
	{ "page=256 --hw server", 90 },
	{ "kv=int8 --hw edge-1mb", 95 },
	{ "kv=int8 --hw edge-2mb", 90 },
	{ "kv=int8 dequant=matrix --hw edge-1mb", 95 },
	{ "kv=int8 dequant=matrix --hw edge-2mb", 90 },
	{ "kv=int4 dequant=matrix --hw edge-1mb", 90 },
	{ "kv=int4 dequant=matrix --hw edge-2mb", 85 },
	{ "kv=int4 dequant=matrix batch=4 page=64 --hw edge-2mb", 90 },
};

START_TEST(paged_decode_of_fewer_bytes_reads_at_nearly_as_much)
{
	char words[200];
	const char *preset = strstr(shorter[_i].words, "--hw ") + 5;
	snprintf(words, sizeof words, "decode_attention_paged %s", shorter[_i].words);
	char *report = run(words);
	uint64_t cycles = number(report, "", "cycles"), bytes = number(report, "overlap dram", "read_bytes");
	uint64_t fastest = fastest_stream(preset);
	ck_assert_msg(100 * bytes * fastest >= (shorter[_i].share * cycles) << 24,
		      "%s: %" PRIu64 " cycles, %.1f %% of a stream", words, cycles,
		      100. * (double)bytes * (double)fastest / (double)(cycles << 24));
	free(report);
}
END_TEST

/* A tile of 256 x 128 at the diagonal is two squares: one that is seen in part, and one whose rows see nothing. */
START_TEST(rows_that_see_none_of_a_tile_are_left_out)
{
	char *large = run("flash_attention seq=1024 heads=2 mask=causal --hw edge-2mb tile_q=256 tile_kv=128");
	char *square = run("flash_attention seq=1024 heads=2 mask=causal --hw edge-2mb tile_q=128 tile_kv=128");
	/* 8 x 9 / 2 squares of a head, twice. */
	ck_assert_uint_eq(number(square, "", "macs"), 2ull * 2 * 36 * 128 * 128 * 128);
	ck_assert_uint_eq(number(large, "", "macs"), number(square, "", "macs"));
	ck_assert_uint_eq(number(large, "", "useful_macs"), number(square, "", "useful_macs"));
	free(large);
	free(square);
}
END_TEST

/* Of the rows of tiles of 64 x 64 the first two meet 1 and 2, the 14 others 3: a window of 128 keys begins 127 before the
 * query. K and V of all 1,024 tokens are written. */
START_TEST(a_paged_cache_is_not_read_before_the_windows)
{
	char *report =
	    run("prefill_attention_paged seq=1024 chunk=1024 heads=2 kv_heads=1 window=128 tile_q=64 tile_kv=64");
	const uint64_t tiles = 1 + 2 + 14 * 3, pages = 64 / 16, queries = 2 * 1024 * 128 * 2, fresh = 2 * 1024 * 128 * 2;
	ck_assert_uint_eq(number(report, "", "macs"), 2 * 2 * tiles * 64 * 64 * 128);
	ck_assert_uint_eq(number(report, "", "useful_macs"), 2ull * 2 * 128 * (128 * 129 / 2 + (1024 - 128) * 128));
	/* Pages are found through entries of 4 bytes: those of each tile, and one for each 16 new tokens. */
	ck_assert_uint_eq(number(report, "overlap dram", "read_bytes"),
			  queries + fresh + 2 * tiles * (64 * 128 * 2 + pages * 4) + 2 * 1024 / 16 * 4);
	ck_assert_uint_eq(number(report, "overlap dram", "write_bytes"), queries + fresh);
	free(report);
}
END_TEST

/* Of the 64 tiles of 128 x 128 of a head a causal mask leaves 36. Each of them is written and read as fp32, and as fp16
 * when it is a probability; q passes once, k and v once for each tile. */
START_TEST(attention_leaves_out_what_the_mask_hides)
{
	char *skips = run("attention seq=1024 heads=2 mask=causal tile_q=128 tile_kv=128");
	char *whole = run("attention seq=1024 heads=2 mask=causal tile_q=128 tile_kv=128 hidden=compute");
	const uint64_t tile = 128 * 128, rows = 2 * 1024 * 128;
	ck_assert_uint_eq(number(skips, "", "macs"), 2ull * 2 * 36 * 128 * tile);
	ck_assert_uint_eq(number(whole, "", "macs"), 2ull * 2 * 64 * 128 * tile);
	ck_assert_uint_eq(number(skips, "", "useful_macs"), 2ull * 2 * 1024 * 1025 / 2 * 128);
	ck_assert_uint_eq(number(whole, "", "useful_macs"), number(skips, "", "useful_macs"));
	ck_assert_uint_eq(number(skips, "overlap dram", "read_bytes"), 2 * rows + 2 * 36 * tile * (2 + 4 + 2 + 2));
	ck_assert_uint_eq(number(skips, "overlap dram", "write_bytes"), 2 * 36 * tile * (4 + 2) + 2 * rows);
	/* As much less of everything: 36 / 64. */
	ck_assert_uint_lt(100 * number(skips, "", "cycles"), 62 * number(whole, "", "cycles"));
	free(skips);
	free(whole);
}
END_TEST

/* Rows of 16 tiles of 64 keys: 64 of them see 1, 2 ... 16. P is stored whole. */
START_TEST(softmax_reads_what_the_mask_shows)
{
	char *skips = run("mask_softmax seq=1024 heads=2 mask=causal tile_rows=64");
	char *whole = run("mask_softmax seq=1024 heads=2 mask=causal tile_rows=64 hidden=compute");
	ck_assert_uint_eq(number(skips, "overlap dram", "read_bytes"), 2 * 64 * 64 * 4 * (16 * 17 / 2));
	ck_assert_uint_eq(number(whole, "overlap dram", "read_bytes"), 2 * 1024 * 1024 * 4);
	ck_assert_uint_eq(number(skips, "overlap dram", "write_bytes"), 2 * 1024 * 1024 * 2);
	ck_assert_uint_lt(100 * number(skips, "", "cycles"), 75 * number(whole, "", "cycles"));
	free(skips);
	free(whole);
}
END_TEST

static uint64_t cycles_of(const char *words)
{
	char *report = run(words);
	uint64_t cycles = number(report, "", "cycles");
	free(report);
	return cycles;
}

/* 9 and 10 MiB of DRAM traffic instead of 16. */
START_TEST(what_stays_in_sram_is_not_waited_for_again)
{
	uint64_t output = cycles_of("gemm m=512 n=1024 k=1024 order=output");
	ck_assert_uint_lt(10 * cycles_of("gemm m=512 n=1024 k=1024 order=weight"), 8 * output);
	ck_assert_uint_lt(10 * cycles_of("gemm m=512 n=1024 k=1024 order=activation"), 8 * output);
}
END_TEST

/* A beat of the port of 64 bytes carries a row of a block, 32 bytes, instead of 64: 16 MiB take 524,288 beats. */
START_TEST(blocks_that_the_array_does_not_take_cost_beats_of_the_dma)
{
	char *rows = run("gemm m=512 n=1024 k=1024 --hw edge-2mb");
	char *wrong = run("gemm m=512 n=1024 k=1024 layout=block16 --hw edge-2mb");
	ck_assert_uint_eq(number(rows, "engines load", "busy"), (16 << 20) / 64);
	ck_assert_uint_eq(number(wrong, "engines load", "busy"), (16 << 20) / 32);
	ck_assert_uint_eq(number(wrong, "overlap dram", "read_bytes"), number(rows, "overlap dram", "read_bytes"));
	ck_assert_uint_gt(10 * number(wrong, "", "cycles"), 13 * number(rows, "", "cycles"));
	free(rows);
	free(wrong);
}
END_TEST

/* Each operand alone: 8 MiB of A, or of B, take twice the beats; C, 1 MiB, those of the stores. */
START_TEST(the_wrong_layout_of_one_operand_costs_its_own_beats)
{
	static const struct {
		const char *layout;
		uint64_t loads, stores; /* beats of 64 bytes, or of half of them */
	} operands[] = {
		{ "a_layout=block16", (8 << 20) / 64 + (8 << 20) / 32, (1 << 20) / 64 },
		{ "b_layout=block16", (8 << 20) / 64 + (8 << 20) / 32, (1 << 20) / 64 },
		{ "c_layout=block16", (16 << 20) / 64, (1 << 20) / 32 },
		{ "layout=block16 b_layout=row", (8 << 20) / 64 + (8 << 20) / 32, (1 << 20) / 32 },
	};
	char words[120];
	snprintf(words, sizeof words, "gemm m=512 n=1024 k=1024 --hw edge-2mb %s", operands[_i].layout);
	char *report = run(words);
	ck_assert_uint_eq(number(report, "engines load", "busy"), operands[_i].loads);
	ck_assert_uint_eq(number(report, "engines store", "busy"), operands[_i].stores);
	free(report);
}
END_TEST

/* Rows of int4 of a tile of 512 columns are 256 bytes. A of 128 KiB passes for 8 columns of tiles, 8 MiB of weights and 256 KiB
 * of scales once. The array takes 64 rows of weights of 4 bits out of all banks, not out of every other. */
START_TEST(int4_weights_by_rows_pass_at_the_speed_of_the_dram)
{
	static const struct {
		const char *preset;
		unsigned percent;
	} rows[] = { { "edge-1mb", 90 }, { "edge-2mb", 85 } };
	char words[160];
	snprintf(words, sizeof words, "gemm m=16 n=4096 k=4096 weights=int4 order=output --hw %s", rows[_i].preset);
	char *report = run(words);
	uint64_t bytes = number(report, "overlap dram", "read_bytes"), cycles = number(report, "", "cycles");
	uint64_t fastest = fastest_stream(rows[_i].preset);
	ck_assert_uint_eq(bytes, 8 * 16 * 4096 * 2 + 4096 * 4096 / 2 + 4096 / 128 * 4096 * 2);
	ck_assert_msg(100 * bytes * fastest >= (rows[_i].percent * cycles) << 24, "%s: %" PRIu64 " cycles", words, cycles);
	free(report);
}
END_TEST

/* Nanoseconds that the DRAM of a preset takes to read so many bytes one after the other, by `npusim dram`. */
static double stream_ns(const char *preset, uint64_t bytes, double clock_ns)
{
	char command[400];
	static char text[1 << 16];
	snprintf(command, sizeof command,
		 "awk 'BEGIN { for (i = 0; i < %" PRIu64 "; i += 64) printf \"0x%%x R\\n\", i }' | "
		 "%s dram - --hw %s --report -",
		 bytes, getenv("NPUSIM"), preset);
	FILE *f = popen(command, "r");
	text[f ? fread(text, 1, sizeof text - 1, f) : 0] = '\0';
	ck_assert_msg(f && pclose(f) == 0, "%s", command);
	return (double)number(text, "", "clocks") * clock_ns;
}

/* 8 MiB of weights, 256 KiB of scales. Clocks of JEDEC: LPDDR4X-4266 2,133 MHz, LPDDR5-6400 800 MHz (WCK 3,200). */
static const struct {
	const char *preset;
	double clock_ns;
	unsigned m;
} streams[] = {
	{ "edge-1mb", 1 / 2.1333333, 1 },
	{ "edge-1mb", 1 / 2.1333333, 4 },
	{ "edge-2mb", 1.25, 1 },
	{ "edge-2mb", 1.25, 4 },
	{ "server", 1, 1 },
	{ "server", 1, 4 },
	{ "tiny-256k", 0.625, 1 },
	{ "tiny-256k", 0.625, 4 },
};

/* LPDDR4-3200: 1,600 MHz; HBM2-2000: 1,000 MHz. */
static const struct {
	const char *preset;
	double clock_ns;
} parts[] = { { "edge-1mb", 1 / 2.1333333 }, { "edge-2mb", 1.25 }, { "server", 1 }, { "tiny-256k", 0.625 } };

START_TEST(a_trace_of_reads_takes_as_long_as_loads)
{
	double alone = stream_ns(parts[_i].preset, 1 << 24, parts[_i].clock_ns),
	       loads = (double)fastest_stream(parts[_i].preset);
	ck_assert_msg(fabs(alone / loads - 1) <= 0.01, "%s: %.0f and %.0f cycles", parts[_i].preset, alone, loads);
}
END_TEST

START_TEST(int4_weights_pass_at_nine_tenths_of_a_pure_stream)
{
	char words[200];
	snprintf(words, sizeof words, "gemv m=%u n=4096 k=4096 weights=int4 group=128 --hw %s", streams[_i].m,
		 streams[_i].preset);
	char *report = run(words);
	uint64_t bytes = number(report, "overlap dram", "read_bytes");
	ck_assert_uint_eq(bytes, 4096 * 4096 / 2 + 4096 * 4096 / 128 * 2 + streams[_i].m * 4096 * 2);
	double alone = stream_ns(streams[_i].preset, bytes, streams[_i].clock_ns);
	double loads = (double)fastest_stream(streams[_i].preset) * (double)bytes / (1 << 24);
	double cycles = (double)number(report, "", "cycles");
	ck_assert_msg(alone >= 0.9 * cycles, "%s: %.0f cycles, the stream alone %.0f", words, cycles, alone);
	ck_assert_msg(loads >= 0.9 * cycles, "%s: %.0f cycles, loads one after the other %.0f", words, cycles, loads);
	free(report);
}
END_TEST

#define ROWS(table) ((int)(sizeof table / sizeof table[0]))

/* Where each buffer fills a group they lie apart, and a larger SRAM must not bring them together. */
START_TEST(operands_read_together_lie_in_groups_of_their_own)
{
	char *large = run("swiglu --hw server");
	ck_assert_uint_eq(number(large, "engines vector stalls", "sram_conflict"), 0);
	free(large);
	ck_assert_uint_le(cycles_of("swiglu --hw server"), cycles_of("swiglu --hw server sram.size=256KiB"));
}
END_TEST

int main(void)
{
	if (!getenv("NPUSIM") || access(getenv("NPUSIM"), X_OK))
		return 77;
	Suite *s = suite_create("kernels on the machine");
	TCase *t = tcase_create("runs");
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, a_run_counts_what_the_closed_form_says, 0, ROWS(counted) * PRESETS);
	tcase_add_loop_test(t, a_ping_pong_takes_as_long_as_its_longest_stage, 0, ROWS(pipelines) * PRESETS);
	tcase_add_loop_test(t, an_array_without_transposer_computes_the_same, 0, ROWS(products_with_k));
	tcase_add_test(t, a_balanced_ping_pong_is_faster_by_more_than_half);
	tcase_add_test(t, what_stays_in_sram_is_not_waited_for_again);
	tcase_add_test(t, blocks_that_the_array_does_not_take_cost_beats_of_the_dma);
	tcase_add_loop_test(t, the_wrong_layout_of_one_operand_costs_its_own_beats, 0, 4);
	tcase_add_loop_test(t, int4_weights_by_rows_pass_at_the_speed_of_the_dram, 0, 2);
	tcase_add_loop_test(t, a_trace_of_reads_takes_as_long_as_loads, 0, ROWS(parts));
	tcase_add_loop_test(t, int4_weights_pass_at_nine_tenths_of_a_pure_stream, 0, ROWS(streams));
	tcase_add_loop_test(t, paged_decode_reads_at_nine_tenths_of_a_sequential_stream, 0, ROWS(decoders));
	tcase_add_loop_test(t, paged_decode_of_fewer_bytes_reads_at_nearly_as_much, 0, ROWS(shorter));
	tcase_add_test(t, flash_attention_runs_at_the_speed_of_the_dram);
	tcase_add_test(t, flash_attention_keeps_a_large_array_busy);
	tcase_add_test(t, rows_that_see_none_of_a_tile_are_left_out);
	tcase_add_test(t, attention_leaves_out_what_the_mask_hides);
	tcase_add_test(t, a_paged_cache_is_not_read_before_the_windows);
	tcase_add_test(t, softmax_reads_what_the_mask_shows);
	tcase_add_test(t, operands_read_together_lie_in_groups_of_their_own);
	suite_add_tcase(s, t);
	return npu_suite_run(s);
}
