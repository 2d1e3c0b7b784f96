/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the machine simulates: instructions, DRAM bursts and cycles a second of processor time, through SystemC. Each run
 * is a child process (SystemC elaborates once a process); the figures are the best of a few. */
#include "models/machine.h"
#include "tests/support/machine_loop.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kRepeats = 3;

struct figures {
	double seconds;
	uint64_t units;       /* what is counted: instructions, bursts */
	uint64_t cycles;
	uint64_t activations;
};

/* Runs `work` in a child; false when it failed. */
bool in_child(const std::function<bool(figures &)> &work, figures &out)
{
	int fds[2];
	if (pipe(fds))
		return false;
	pid_t child = fork();
	if (child == 0) {
		figures f{};
		std::clock_t begin = std::clock();
		bool ok = work(f);
		f.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
		ok = ok && write(fds[1], &f, sizeof f) == static_cast<ssize_t>(sizeof f);
		_exit(ok ? 0 : 1);
	}
	close(fds[1]);
	bool ok = child > 0 && read(fds[0], &out, sizeof out) == static_cast<ssize_t>(sizeof out);
	close(fds[0]);
	int status = 1;
	return child > 0 && waitpid(child, &status, 0) == child && ok && status == 0;
}

void report(const char *name, const char *unit, const std::function<bool(figures &)> &work)
{
	figures best{};
	for (int i = 0; i < kRepeats; i++) {
		figures f{};
		if (!in_child(work, f)) {
			std::printf("%-34s failed\n", name);
			return;
		}
		if (i == 0 || f.seconds < best.seconds)
			best = f;
	}
	double units = static_cast<double>(best.units);
	std::printf("%-34s %8.2f M %s/s %8.1f ns each %10.1f M cycles/s %6.2f wake-ups each\n", name,
		    units / best.seconds / 1e6, unit, best.seconds / units * 1e9,
		    static_cast<double>(best.cycles) / best.seconds / 1e6, static_cast<double>(best.activations) / units);
}

struct npu_insn insn(enum npu_op op)
{
	struct npu_insn i;
	std::memset(&i, 0, sizeof i);
	i.op = static_cast<uint8_t>(op);
	return i;
}

/* `tiles` times: load, product, vector copy, store, all overlapped through counting semaphores. */
struct npu_program *pipeline(unsigned tiles, unsigned rows, unsigned cols)
{
	struct npu_assembly *a = npu_assembly_new("pipeline");
	uint16_t full = static_cast<uint16_t>(npu_assembly_sem(a, "full", 0, 65535));
	uint16_t free = static_cast<uint16_t>(npu_assembly_sem(a, "free", 2, 65535));
	uint16_t made = static_cast<uint16_t>(npu_assembly_sem(a, "made", 0, 65535));
	uint16_t used = static_cast<uint16_t>(npu_assembly_sem(a, "used", 2, 65535));
	uint16_t ready = static_cast<uint16_t>(npu_assembly_sem(a, "ready", 0, 65535));
	uint16_t stored = static_cast<uint16_t>(npu_assembly_sem(a, "stored", 2, 65535));
	for (unsigned t = 0; t < tiles; t++) {
		uint32_t half = t % 2, tile = rows * cols * 2;
		struct npu_insn i = insn(NPU_OP_LOAD);
		i.dma.local = half * 131072;
		i.dma.dram = static_cast<uint64_t>(t) * tile % (1u << 28);
		i.dma.rows = rows;
		i.dma.cols = cols;
		i.dma.dtype = NPU_FP16;
		i.wait[0] = { free, 1 };
		i.post[0] = { full, 1 };
		npu_assembly_insn(a, &i);
		i = insn(NPU_OP_MATMUL);
		i.matmul.dst = NPU_ACC_BIT | half * 65536;
		i.matmul.a = half * 131072;
		i.matmul.b = 262144 * 1;
		i.matmul.m = rows;
		i.matmul.k = cols;
		i.matmul.n = 32;
		i.matmul.a_type = i.matmul.b_type = NPU_FP16;
		i.wait[0] = { full, 1 };
		i.wait[1] = { used, 1 };
		i.post[0] = { free, 1 };
		i.post[1] = { made, 1 };
		npu_assembly_insn(a, &i);
		i = insn(NPU_OP_VCOPY);
		i.un.dst = 524288 + half * 131072;
		i.un.a = NPU_ACC_BIT | half * 65536;
		i.un.scale = 1;
		i.un.rows = rows;
		i.un.cols = 32;
		i.un.dst_type = NPU_FP16;
		i.un.a_type = NPU_FP32;
		i.wait[0] = { made, 1 };
		i.wait[1] = { stored, 1 };
		i.post[0] = { used, 1 };
		i.post[1] = { ready, 1 };
		npu_assembly_insn(a, &i);
		i = insn(NPU_OP_STORE);
		i.dma.local = 524288 + half * 131072;
		i.dma.dram = (1u << 28) + static_cast<uint64_t>(t) * rows * 64 % (1u << 28);
		i.dma.rows = rows;
		i.dma.cols = 32;
		i.dma.dtype = NPU_FP16;
		i.wait[0] = { ready, 1 };
		i.post[0] = { stored, 1 };
		npu_assembly_insn(a, &i);
	}
	struct npu_error err;
	struct npu_program *p = npu_assembly_finish(a, &err);
	if (!p) {
		std::fprintf(stderr, "machine_bench: %s\n", err.text);
		std::exit(2);
	}
	return p;
}

/* Loads only, into one buffer after the other. */
struct npu_program *loads(unsigned n, unsigned bytes)
{
	struct npu_assembly *a = npu_assembly_new("loads");
	for (unsigned t = 0; t < n; t++) {
		struct npu_insn i = insn(NPU_OP_LOAD);
		i.dma.local = t % 4 * 131072;
		i.dma.dram = static_cast<uint64_t>(t) * bytes % (1u << 28);
		i.dma.rows = 1;
		i.dma.cols = bytes;
		i.dma.dtype = NPU_INT8;
		npu_assembly_insn(a, &i);
	}
	struct npu_error err;
	struct npu_program *p = npu_assembly_finish(a, &err);
	if (!p) {
		std::fprintf(stderr, "machine_bench: %s\n", err.text);
		std::exit(2);
	}
	return p;
}

std::function<bool(figures &)> running(const struct hw &hw, const struct npu_program *p, unsigned ideal, bool probed,
				       uint64_t units)
{
	return [=, &hw](figures &f) {
		struct machine_record record;
		struct probe probe = machine_record_probe(&record);
		struct machine_totals totals;
		struct npu_error err;
		bool ok = machine_run(&hw, p, ideal, probed ? &probe : nullptr, &totals, &err);
		if (!ok)
			std::fprintf(stderr, "machine_bench: %s\n", err.text);
		f.units = units ? units : totals.dram.bursts;
		f.cycles = totals.cycles;
		f.activations = totals.sc_activations;
		return ok;
	};
}

std::function<bool(figures &)> streaming(const struct dram_config &config, uint64_t n, bool random)
{
	return [=, &config](figures &f) {
		std::vector<struct machine_dram_request> requests(n);
		uint64_t x = 1;
		for (uint64_t i = 0; i < n; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			requests[i].addr = random ? (x >> 20) % dram_capacity(&config) / 64 * 64 : i * 64;
			requests[i].bytes = 64;
		}
		struct machine_dram_totals totals;
		struct npu_error err;
		bool ok = machine_run_dram(&config, requests.data(), n, 0, nullptr, &totals, &err);
		f.units = totals.dram.bursts;
		f.cycles = totals.clocks;
		f.activations = totals.sc_activations;
		return ok;
	};
}

} // namespace

int main()
{
	struct hw hw = machine_hw("LPDDR4X-4266");
	hw.dram.channels = 2;
	struct npu_program *small = pipeline(50000, 8, 32), *big = pipeline(500, 128, 128), *stream = loads(400, 65536);
	report("small tiles, ideal DRAM and SRAM", "instructions",
	       running(hw, small, MACHINE_IDEAL_DRAM | MACHINE_IDEAL_SRAM, false, small->ninsns));
	report("small tiles, ideal DRAM", "instructions", running(hw, small, MACHINE_IDEAL_DRAM, false, small->ninsns));
	report("small tiles, ideal DRAM, recorded", "instructions",
	       running(hw, small, MACHINE_IDEAL_DRAM, true, small->ninsns));
	report("small tiles", "instructions", running(hw, small, 0, false, small->ninsns));
	report("128 x 128 tiles", "instructions", running(hw, big, 0, false, big->ninsns));
	report("128 x 128 tiles, recorded", "instructions", running(hw, big, 0, true, big->ninsns));
	report("loads of 64 KiB", "bursts", running(hw, stream, 0, false, 0));
	report("loads of 64 KiB, recorded", "bursts", running(hw, stream, 0, true, 0));
	struct hw ddr4 = machine_hw("DDR4-2400");
	report("DDR4-2400 alone, sequential", "bursts", streaming(ddr4.dram, 4000000, false));
	report("DDR4-2400 alone, random", "bursts", streaming(ddr4.dram, 1000000, true));
	report("LPDDR4X-4266 alone, sequential", "bursts", streaming(hw.dram, 2000000, false));
	npu_program_free(small);
	npu_program_free(big);
	npu_program_free(stream);
	return 0;
}
