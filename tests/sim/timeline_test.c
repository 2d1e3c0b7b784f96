/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline, read back, says what the report says. */
#include "sim/timeline/pf_packet.h"
#include "sim/timeline/pftrace.h"
#include "tests/sim/timeline_play.h"
#include "tests/sim/timeline_read.h"

#include <math.h>
#include <unistd.h>
#include <zlib.h>

enum { TILES = 40 };

static void setup(void) { play(TILES); }

static char *write_trace(bool gzip, size_t *size)
{
	char *bytes = NULL;
	struct npu_error err;
	FILE *out = open_memstream(&bytes, size);
	ck_assert(pftrace_write(simulation, out, gzip, &err));
	ck_assert_int_eq(fclose(out), 0);
	return bytes;
}

/* Reading checks on the way: times of a track never go back, slices neither nest nor overlap, none is empty. */
static struct read_trace *read_back(void)
{
	size_t size;
	char *bytes = write_trace(false, &size);
	struct read_trace *t = read_trace((uint8_t *)bytes, size, 2ull * program->ninsns);
	free(bytes);
	return t;
}

static void check_states(struct read_trace *t)
{
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char name[64];
		snprintf(name, sizeof(name), "%s states", npu_engine_name((enum npu_engine)e));
		const struct read_track *track = read_track(t, name);
		ck_assert_ptr_nonnull(track);
		for (unsigned s = 0; s < NPU_STATES; s++)
			ck_assert_uint_eq(read_cycles(t, track, account_state_name((enum npu_state)s)),
					  simulation->account.states[e][s]);
		ck_assert_uint_eq(track->last, simulation->account.cycles);
	}
}

START_TEST(state_lanes_add_up_to_the_report)
{
	struct read_trace *t = read_back();
	check_states(t);
	read_free(t);
}
END_TEST

/* Some 200,000 slices: strings that come again, tables that grow, buffers that are flushed. */
START_TEST(a_long_run_adds_up)
{
	teardown();
	play(3000);
	struct read_trace *t = read_back();
	check_states(t);
	ck_assert_uint_eq(t->details, program->ninsns);
	ck_assert_uint_eq(t->bytes, simulation->account.dram_read_bytes + simulation->account.dram_write_bytes);
	ck_assert_uint_eq(t->nout, t->nin);
	read_free(t);
}
END_TEST

START_TEST(the_sequencer_lane_adds_up_to_the_report)
{
	struct read_trace *t = read_back();
	const struct read_track *track = read_track(t, "sequencer");
	for (unsigned s = 0; s < NPU_SEQ_STATES; s++)
		ck_assert_uint_eq(read_cycles(t, track, account_sequencer_name((enum npu_seq_state)s)),
				  simulation->account.sequencer[s]);
	read_free(t);
}
END_TEST

START_TEST(every_instruction_is_shown_once)
{
	struct read_trace *t = read_back();
	ck_assert_uint_eq(t->details, program->ninsns);
	ck_assert_uint_eq(t->macs, simulation->account.macs);
	ck_assert_uint_eq(t->bytes, simulation->account.dram_read_bytes + simulation->account.dram_write_bytes);
	/* 2 x TILES K tiles and 2 Q tiles by turns on two channels; a sync each for acquiring and releasing Q. */
	ck_assert_uint_eq(read_track(t, "load.0")->slices, TILES + 1);
	ck_assert_uint_eq(read_track(t, "load.1")->slices, TILES + 1);
	ck_assert_uint_eq(read_track(t, "store.0")->slices, 2 * TILES);
	ck_assert_uint_eq(read_track(t, "vector")->slices, 2 * TILES);
	ck_assert_uint_eq(read_track(t, "matrix")->slices, 2 * TILES);
	ck_assert_uint_eq(read_track(t, "matrix.drain")->slices, 2 * TILES);
	ck_assert_uint_eq(read_track(t, "matrix.sync")->instants, 4);
	read_free(t);
}
END_TEST

START_TEST(the_matrix_lane_shows_streaming_and_the_drain_lane_the_rest)
{
	struct read_trace *t = read_back();
	/* A product of 64 x 128 x 64 on a played array streams macs / 1,024 + 1 cycles and drains PLAY_DRAIN. */
	ck_assert_uint_eq(read_cycles(t, read_track(t, "matrix"), "matmul"), 2 * TILES * (64 * 128 * 64 / 1024 + 1));
	ck_assert_uint_eq(read_cycles(t, read_track(t, "matrix.drain"), "matmul"), 2 * TILES * PLAY_DRAIN);
	read_free(t);
}
END_TEST

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The whole run, and windows of it. */
START_TEST(flows_pair_up_and_go_forward)
{
	uint64_t part = simulation->account.cycles / 3, whole = program->ninsns;
	if (_i > 0)
		simulation->request.window = (struct timeline_window){ (uint64_t)(_i - 1) * part, (uint64_t)_i * part };
	struct read_trace *t = read_back();
	ck_assert(_i == 0 ? t->details == whole : t->details < whole);
	ck_assert_uint_gt(t->nout, 0);
	ck_assert_uint_eq(t->nout, t->nin);
	for (uint64_t i = 0; i < t->nout; i++)
		for (uint64_t k = 0; k < t->nin; k++)
			if (t->flows_out[i] == t->flows_in[k])
				ck_assert_uint_le(t->flows_out_time[i], t->flows_in_time[k]);
	qsort(t->flows_out, t->nout, sizeof(uint64_t), compare);
	qsort(t->flows_in, t->nin, sizeof(uint64_t), compare);
	for (uint64_t i = 0; i < t->nout; i++) {
		ck_assert_uint_eq(t->flows_out[i], t->flows_in[i]);
		ck_assert(i == 0 || t->flows_out[i] != t->flows_out[i - 1]);
	}
	read_free(t);
}
END_TEST

START_TEST(counters_say_what_the_report_says)
{
	struct read_trace *t = read_back();
	const struct account *a = &simulation->account;
	/* GB/s x ns = bytes, at 1 GHz. */
	double moved = read_track(t, "DRAM read")->area + read_track(t, "DRAM write")->area;
	ck_assert_double_eq_tol(moved, (double)a->dram_bus_bytes, 1e-6 * (double)a->dram_bus_bytes);
	ck_assert_double_eq(read_track(t, "SRAM live")->peak, (double)a->sram_peak_bytes);
	ck_assert_double_eq(read_track(t, "SRAM live")->value, 0);
	ck_assert_double_eq(read_track(t, "accumulators live")->peak, (double)a->accum_peak_bytes);
	for (unsigned e = 0; e < NPU_ENGINES; e++) {
		char name[64];
		uint64_t queued = 0;
		for (uint32_t i = 0; i < program->ninsns; i++)
			if (npu_op_engine(program->insns[i].op) == e)
				queued += simulation->record.events[i].start - simulation->record.events[i].issued;
		snprintf(name, sizeof(name), "%s queue", npu_engine_name((enum npu_engine)e));
		ck_assert_double_eq(read_track(t, name)->area, (double)queued);
		ck_assert_double_eq(read_track(t, name)->value, 0);
	}
	read_free(t);
}
END_TEST

START_TEST(curves_of_windows_side_by_side_add_up_to_those_of_the_run)
{
	struct read_trace *t = read_back();
	uint64_t cycles = simulation->account.cycles, length = cycles / 4 + 1;
	static const char *const names[] = { "SRAM live", "accumulators live", "load queue", "matrix queue", "DRAM read" };
	enum { CURVES = sizeof(names) / sizeof(names[0]) };
	double sums[CURVES] = { 0 };
	for (uint64_t from = 0; from < cycles; from += length) {
		uint64_t to = from + length < cycles ? from + length : cycles;
		simulation->request.window = (struct timeline_window){ from, to };
		struct read_trace *part = read_back();
		for (unsigned i = 0; i < CURVES; i++) {
			const struct read_track *track = read_track(part, names[i]);
			ck_assert_uint_gt(track->values, 0); /* what holds at the beginning is told */
			ck_assert_uint_le(track->last, to);
			sums[i] += track->area + track->value * (double)(to - track->last);
		}
		read_free(part);
	}
	for (unsigned i = 0; i < CURVES; i++)
		ck_assert_double_eq_tol(sums[i], read_track(t, names[i])->area, 1e-6 * sums[i]);
	read_free(t);
}
END_TEST

START_TEST(regions_have_a_lane_a_depth_and_more_where_they_overlap)
{
	struct read_trace *t = read_back();
	const struct read_track *heads = read_track(t, "regions 0");
	ck_assert_uint_eq(heads->slices + (read_track(t, "regions 0 (2)") ? read_track(t, "regions 0 (2)")->slices : 0), 2);
	/* The load of the next tile begins before the store of this one has ended. */
	ck_assert_ptr_nonnull(read_track(t, "regions 1"));
	ck_assert_ptr_nonnull(read_track(t, "regions 1 (2)"));
	uint64_t tiles = 0;
	for (unsigned i = 0; i < READ_TRACKS; i++)
		if (strncmp(t->tracks[i].name, "regions 1", strlen("regions 1")) == 0)
			tiles += t->tracks[i].slices;
	ck_assert_uint_eq(tiles, 2 * TILES);
	read_free(t);
}
END_TEST

START_TEST(the_same_run_gives_the_same_bytes)
{
	size_t first, second;
	char *a = write_trace(false, &first), *b = write_trace(false, &second);
	ck_assert_uint_eq(first, second);
	ck_assert_int_eq(memcmp(a, b, first), 0);
	free(a);
	free(b);
}
END_TEST

START_TEST(gzip_holds_the_same_bytes_and_no_time)
{
	size_t plain_size, packed_size;
	char *plain = write_trace(false, &plain_size), *packed = write_trace(true, &packed_size);
	z_stream z = { .next_in = (uint8_t *)packed, .avail_in = (uInt)packed_size };
	char *unpacked = malloc(plain_size + 1);
	ck_assert_uint_lt(packed_size, plain_size / 2);
	/* Bytes 4 to 7 of a gzip header are the time, byte 9 the system. */
	ck_assert_int_eq(memcmp(packed + 4, "\0\0\0\0", 4), 0);
	ck_assert_uint_eq((uint8_t)packed[9], 255);
	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_out = (uint8_t *)unpacked;
	z.avail_out = (uInt)plain_size + 1;
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(z.total_out, plain_size);
	ck_assert_int_eq(memcmp(plain, unpacked, plain_size), 0);
	inflateEnd(&z);
	free(plain);
	free(packed);
	free(unpacked);
}
END_TEST

START_TEST(more_names_than_numbers_are_written_out)
{
	enum { NAMES = 70000 };
	char *bytes = NULL;
	size_t size, numbered = 0, written = 0;
	FILE *out = open_memstream(&bytes, &size);
	struct pf_writer *w = malloc(sizeof(*w));
	ck_assert(pf_init(w, out, false));
	for (unsigned i = 0; i < NAMES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "name %u", i);
		pf_event_begin(w, PF_INSTANT, 1, i, name);
		pf_event_end(w);
	}
	ck_assert(pf_fini(w));
	fclose(out);
	Pf__Trace *trace = pf__trace__unpack(NULL, size, (uint8_t *)bytes);
	for (unsigned i = 0; i < NAMES; i++) {
		numbered += trace->packet[i]->track_event->has_name_iid;
		written += trace->packet[i]->track_event->name != NULL;
	}
	ck_assert_uint_eq(numbered, 65536);
	ck_assert_uint_eq(written, NAMES - 65536);
	ck_assert_str_eq(trace->packet[NAMES - 1]->track_event->name, "name 69999");
	pf__trace__free_unpacked(trace, NULL);
	free(bytes);
	free(w);
}
END_TEST

START_TEST(an_empty_program_has_lanes_and_no_work)
{
	struct npu_error err;
	teardown();
	program = npu_assembly_finish(npu_assembly_new("empty"), &err);
	struct simulation_request request = { .hw = &hw, .program = program, .subject = "empty", .want_record = true };
	simulation = simulate_on(play_machine, &request, &err);
	struct read_trace *t = read_back();
	ck_assert_uint_eq(t->details, 0);
	ck_assert_uint_eq(read_cycles(t, read_track(t, "load states"), "idle"), simulation->account.cycles);
	ck_assert_ptr_null(read_track(t, "load.0"));
	read_free(t);
}
END_TEST

START_TEST(the_extension_chooses_the_format)
{
	struct npu_error err;
	ck_assert(timeline_check("a.pftrace", &err));
	ck_assert(timeline_check("folder/a.pftrace.gz", &err));
	ck_assert(!timeline_check("a.trace", &err));
	ck_assert_ptr_nonnull(strstr(err.text, ".pftrace, .pftrace.gz"));
	ck_assert(!timeline_check(".pftrace", &err));
	ck_assert_str_ne(timeline_advice("a.pftrace"), "");
}
END_TEST

START_TEST(a_timeline_is_written_to_its_file)
{
	char path[] = "/tmp/timeline_test_XXXXXX.pftrace";
	struct npu_error err = { 0 };
	size_t size;
	char *bytes = write_trace(false, &size);
	int fd = mkstemps(path, (int)strlen(".pftrace"));
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_msg(timeline_write(simulation, path, &err), "%s", err.text);
	FILE *in = fopen(path, "rb");
	char *back = malloc(size + 1);
	ck_assert_uint_eq(fread(back, 1, size + 1, in), size);
	ck_assert_int_eq(memcmp(bytes, back, size), 0);
	fclose(in);
	unlink(path);
	free(back);
	free(bytes);
}
END_TEST

START_TEST(a_stream_that_fails_is_told)
{
	struct npu_error err;
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	ck_assert(!pftrace_write(simulation, full, false, &err));
	ck_assert_int_eq(err.code, NPU_ERR_IO);
	fclose(full);
}
END_TEST

/* A sparse file is as large as it says. */
START_TEST(a_file_above_200_MB_is_warned_of)
{
	static const struct { off_t bytes; const char *said; } sizes[] = {
		{ 200000000, "" },
		{ 200000001, "npusim: F: warning: 200 MB take a viewer long to open; less\n" },
		{ 1500000000, "npusim: F: warning: 1500 MB take a viewer long to open; less\n" },
	};
	char path[] = "/tmp/npusim-timeline-XXXXXX", *said = NULL, wanted[256];
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size;
		FILE *out = open_memstream(&said, &size);
		ck_assert_int_eq(ftruncate(fd, sizes[i].bytes), 0);
		timeline_warn(path, "; less", out);
		fclose(out);
		const char *name = strchr(sizes[i].said, 'F');
		snprintf(wanted, sizeof(wanted), "%.*s%s%s", (int)(name ? name - sizes[i].said : 0), sizes[i].said, name ? path : "",
			 name ? name + 1 : "");
		ck_assert_str_eq(said, wanted);
		free(said);
	}
	close(fd);
	unlink(path);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("timeline");
	TCase *t = tcase_create("pftrace");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, state_lanes_add_up_to_the_report);
	tcase_add_test(t, a_long_run_adds_up);
	tcase_add_test(t, the_sequencer_lane_adds_up_to_the_report);
	tcase_add_test(t, every_instruction_is_shown_once);
	tcase_add_test(t, the_matrix_lane_shows_streaming_and_the_drain_lane_the_rest);
	tcase_add_loop_test(t, flows_pair_up_and_go_forward, 0, 4);
	tcase_add_test(t, curves_of_windows_side_by_side_add_up_to_those_of_the_run);
	tcase_add_test(t, counters_say_what_the_report_says);
	tcase_add_test(t, regions_have_a_lane_a_depth_and_more_where_they_overlap);
	tcase_add_test(t, the_same_run_gives_the_same_bytes);
	tcase_add_test(t, gzip_holds_the_same_bytes_and_no_time);
	tcase_add_test(t, more_names_than_numbers_are_written_out);
	tcase_add_test(t, an_empty_program_has_lanes_and_no_work);
	tcase_add_test(t, the_extension_chooses_the_format);
	tcase_add_test(t, a_timeline_is_written_to_its_file);
	tcase_add_test(t, a_stream_that_fails_is_told);
	tcase_add_test(t, a_file_above_200_MB_is_warned_of);
	suite_add_tcase(suite, t);
	return npu_suite_run(suite);
}
