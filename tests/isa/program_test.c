/* SPDX-License-Identifier: Apache-2.0 */
/* Building programs, and what the loader's check refuses. */
#include "isa/program.h"
#include "tests/isa/random.h"
#include "tests/support/suite.h"

static struct npu_insn a_load(void)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_LOAD);
	insn.dma.local = 0x1000;
	insn.dma.dram = 0x8000;
	insn.dma.rows = 16;
	insn.dma.cols = 64;
	return insn;
}

static struct npu_insn a_matmul(void)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_MATMUL);
	insn.matmul.dst = NPU_ACC_BIT | 0x100;
	insn.matmul.a = 0x1000;
	insn.matmul.b = 0x2000;
	insn.matmul.m = insn.matmul.n = insn.matmul.k = 32;
	return insn;
}

/* A program of one instruction with tables seq0 of 4 entries; NULL and *err when refused. */
static struct npu_program *program_of(const struct npu_insn *insn, struct npu_error *err)
{
	static const uint32_t entries[] = { 3, 0, 2, 1 };
	struct npu_assembly *assembly = npu_assembly_new("one");
	npu_assembly_table(assembly, &(struct npu_table){ "seq0", 0x100, 4, entries, 0 });
	npu_assembly_place(assembly, "k.c", 12);
	npu_assembly_insn(assembly, insn);
	*err = (struct npu_error){ .code = NPU_ERR_NONE };
	return npu_assembly_finish(assembly, err);
}

static void refused(const struct npu_insn *insn, enum npu_error_code code, const char *says)
{
	struct npu_error err;
	struct npu_program *program = program_of(insn, &err);
	ck_assert_msg(program == NULL, "accepted, wanted: %s", says);
	ck_assert_msg(strstr(err.text, says) != NULL, "says: %s\nwanted: %s", err.text, says);
	ck_assert_int_eq(err.code, code);
	ck_assert_str_eq(err.file, "k.c");
	ck_assert_uint_eq(err.line, 12);
}

static void accepted(const struct npu_insn *insn)
{
	struct npu_error err;
	struct npu_program *program = program_of(insn, &err);
	ck_assert_msg(program != NULL, "%s", err.text);
	npu_program_free(program);
}

START_TEST(a_refusal_names_instruction_place_field_value_and_remedy)
{
	struct npu_insn insn = a_load();
	char text[256];
	struct npu_error err;
	insn.dma.rows = 0;
	ck_assert_ptr_null(program_of(&insn, &err));
	ck_assert_str_eq(npu_error_print(&err, text, sizeof text), "k.c:12: #0 load: rows=0: must be 1 to 1,048,575");
}
END_TEST

START_TEST(dma_operands_are_checked)
{
	struct npu_insn insn = a_load();
	accepted(&insn);
	insn.dma.rows = 1 << 20;
	refused(&insn, NPU_ERR_OPERAND, "rows=1048576: must be 1 to 1,048,575");
	insn = a_load();
	insn.dma.dtype = 9;
	refused(&insn, NPU_ERR_OPERAND, "dtype=9: no such value, the last is 7 (uint4)");
	insn = a_load();
	insn.dma.dram_layout = 3;
	refused(&insn, NPU_ERR_OPERAND, "dram_layout=3");
	insn = a_load();
	insn.dma.transpose = 2;
	refused(&insn, NPU_ERR_OPERAND, "transpose=2: must be 0 to 1");
	insn = a_load();
	insn.dma.dram_stride = 127; /* a row is 64 x 2 B */
	refused(&insn, NPU_ERR_OPERAND, "dram_stride=127: must be 0 (dense) or at least a row of dram, 128 bytes");
	insn.dma.dram_stride = 128;
	accepted(&insn);
	insn.dma.local_layout = NPU_LAYOUT_BLOCK16;
	insn.dma.local_stride = 2047; /* four blocks of 512 B */
	refused(&insn, NPU_ERR_OPERAND,
		"local_stride=2047: must be 0 (dense) or at least a row of blocks of local, 2 KiB");
	insn = a_load();
	insn.dma.dtype = NPU_INT4;
	insn.dma.cols = 63;
	refused(&insn, NPU_ERR_OPERAND, "a row of 63 int4 elements is not whole bytes");
	insn.dma.cols = 64;
	insn.dma.rows = 15;
	accepted(&insn);
	insn.dma.transpose = 1; /* now a local row holds 15 elements */
	refused(&insn, NPU_ERR_OPERAND, "local: a row of 15 int4 elements is not whole bytes");
	insn = a_load();
	insn.dma.local |= NPU_ACC_BIT;
	refused(&insn, NPU_ERR_OPERAND, "local=acc:0x1000: must be in SRAM");
	insn.op = NPU_OP_STORE;
	accepted(&insn);
}
END_TEST

START_TEST(addresses_may_not_pass_their_ends)
{
	struct npu_insn insn = a_load(); /* 2,048 bytes */
	insn.dma.local = 0x7fffffff - 2047;
	accepted(&insn);
	insn.dma.local++;
	refused(&insn, NPU_ERR_BOUNDS,
		"local: 2,048 bytes from sram:0x7ffff801 end behind the last address, 0x7fffffff");
	insn = a_load();
	insn.dma.dram = NPU_DRAM_LIMIT - 2048;
	accepted(&insn);
	insn.dma.dram++;
	refused(&insn, NPU_ERR_BOUNDS,
		"dram: 2,048 bytes from dram:0xfffffff801 end behind the last address, 0xffffffffff");
	insn.dma.dram = NPU_DRAM_LIMIT;
	refused(&insn, NPU_ERR_OPERAND, "dram=1099511627776");
	insn = a_load(); /* 15 strides of 4 GiB and a row */
	insn.dma.dram_stride = UINT32_MAX;
	insn.dma.dram = NPU_DRAM_LIMIT - 15ull * UINT32_MAX - 128;
	accepted(&insn);
	insn.dma.dram++;
	refused(&insn, NPU_ERR_BOUNDS, "end behind the last address");
}
END_TEST

START_TEST(paged_operands_are_checked)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_GATHER);
	insn.paged.local = 0x1000;
	insn.paged.rows = 16;
	insn.paged.cols = 64;
	insn.paged.page_rows = 4;
	insn.paged.page_stride = 512;
	accepted(&insn);
	insn.paged.first = 1; /* 17 rows, 4 pages of 4 */
	refused(&insn, NPU_ERR_BOUNDS, "rows 1 to 16 lie outside table seq0, which has 4 pages of 4 rows (16)");
	insn.paged.first = 0;
	insn.paged.table = 1;
	refused(&insn, NPU_ERR_OPERAND, "table=1: the program has 1 block tables");
	insn.paged.table = 0;
	insn.paged.row_stride = 100;
	refused(&insn, NPU_ERR_OPERAND, "row_stride=100: must be 0 (dense) or at least a row, 128 bytes");
	insn.paged.row_stride = 0;
	insn.paged.page_stride = 64;
	refused(&insn, NPU_ERR_OPERAND, "page_stride=64: must be at least a row");
	insn.paged.page_stride = 512;
	insn.paged.odd = -0x1000;
	accepted(&insn);
	insn.paged.odd = -0x1001;
	refused(&insn, NPU_ERR_OPERAND,
		"odd=-4097: rows 1, 3, ... would lie before the memory, sram:0x1000 is byte 4096 of it");
	insn.paged.odd = 0x4000;
	insn.paged.transpose = 1;
	refused(&insn, NPU_ERR_OPERAND, "odd=16384: rows come apart only in row-major local memory, not transposed");
	insn.paged.transpose = 0;
	insn.paged.odd = 0;
	insn.paged.page_stride = 0;
	refused(&insn, NPU_ERR_OPERAND, "page_stride=0: must be 1 to 4,294,967,295");
	/* the highest page of the table is 3: it begins 3 strides behind the base and has 4 rows of 128 B */
	insn.paged.page_stride = 1 << 20;
	insn.paged.dram = NPU_DRAM_LIMIT - 3 * (1 << 20) - 512;
	accepted(&insn);
	insn.paged.dram++;
	refused(&insn, NPU_ERR_BOUNDS, "a page of its table lies behind the last address of DRAM");
}
END_TEST

START_TEST(products_take_the_types_of_the_array)
{
	struct npu_insn insn = a_matmul();
	accepted(&insn);
	insn.matmul.a_type = NPU_FP32;
	refused(&insn, NPU_ERR_OPERAND, "a_type=fp32: must be fp16, bf16 or int8");
	insn.matmul.a_type = NPU_INT8;
	refused(&insn, NPU_ERR_OPERAND, "b_type=fp16: must be int8 or int4");
	insn.matmul.b_type = NPU_INT8;
	accepted(&insn);
	insn.matmul.group = 16;
	accepted(&insn);
	insn.matmul.scales = NPU_ACC_BIT;
	refused(&insn, NPU_ERR_OPERAND, "scales=acc:0x0: must be in SRAM");
	insn = a_matmul();
	insn.matmul.group = 16;
	refused(&insn, NPU_ERR_OPERAND, "group=16: scales are for int8 and int4 weights, b_type is fp16");
	insn = a_matmul();
	insn.matmul.dst = 0x40;
	refused(&insn, NPU_ERR_OPERAND, "dst=sram:0x40: must be in the accumulators");
	insn = a_matmul();
	insn.matmul.b |= NPU_ACC_BIT;
	refused(&insn, NPU_ERR_OPERAND, "b=acc:0x2000: must be in SRAM");
	insn = a_matmul();
	insn.matmul.b_type = NPU_INT4;
	insn.matmul.n = 31;
	refused(&insn, NPU_ERR_OPERAND, "b: a row of 31 int4 elements is not whole bytes");
	insn.matmul.transpose_b = 1; /* now rows are k = 32 */
	accepted(&insn);
	insn = a_matmul();
	insn.matmul.masked = 32 * 32 * 32;
	accepted(&insn);
	insn.matmul.masked++;
	refused(&insn, NPU_ERR_OPERAND, "masked=32769: the product has only 32768 MACs");
}
END_TEST

START_TEST(vector_operands_are_checked)
{
	struct npu_insn insn = npu_insn_initial(NPU_OP_VADD);
	insn.ew.rows = insn.ew.cols = 8;
	accepted(&insn);
	insn.ew.guard = 1;
	refused(&insn, NPU_ERR_OPERAND, "guard=1: only vdiv has a use for it");
	insn = npu_insn_initial(NPU_OP_VQUANT);
	insn.quant.rows = insn.quant.cols = 8;
	refused(&insn, NPU_ERR_OPERAND, "dst_type=fp16: must be int8, uint8, int4 or uint4");
	insn.quant.dst_type = NPU_INT8;
	accepted(&insn);
	insn.quant.dynamic = 1;
	refused(&insn, NPU_ERR_OPERAND,
		"dynamic=1: scale=tensor has no place to write the scale; use row, col or group");
	insn.quant.scale = NPU_SCALE_GROUP;
	refused(&insn, NPU_ERR_OPERAND, "group=0: scale=group needs at least 1 element a group");
	insn.quant.zero = -257;
	refused(&insn, NPU_ERR_OPERAND, "zero=-257: must be -256 to 255");
	insn = npu_insn_initial(NPU_OP_VDEQUANT);
	insn.quant.rows = insn.quant.cols = 8;
	refused(&insn, NPU_ERR_OPERAND, "a_type=fp16: must be int32, int8, uint8, int4 or uint4");
	insn.quant.a_type = NPU_UINT4;
	insn.quant.dynamic = 1;
	refused(&insn, NPU_ERR_OPERAND, "dynamic=1: only vquant has a use for it");
	insn = npu_insn_initial(NPU_OP_VROPE);
	insn.rope.rows = 4;
	insn.rope.dim = 64;
	insn.rope.rotary = 66;
	refused(&insn, NPU_ERR_OPERAND, "rotary=66: must be even and at most dim=64");
	insn.rope.rotary = 63;
	refused(&insn, NPU_ERR_OPERAND, "rotary=63: must be even");
	insn.rope.rotary = 64;
	insn.rope.heads = 0;
	refused(&insn, NPU_ERR_OPERAND, "heads=0: must be at least 1");
	insn = npu_insn_initial(NPU_OP_VRMSNORM);
	insn.norm.rows = insn.norm.cols = 8;
	insn.norm.has_bias = 1;
	refused(&insn, NPU_ERR_OPERAND, "has_bias=1: only vlayernorm has a use for it");
	insn = npu_insn_initial(NPU_OP_VSOFTMAX);
	insn.softmax.rows = insn.softmax.cols = 8;
	insn.softmax.first = 1;
	refused(&insn, NPU_ERR_OPERAND, "first=1: only vsoftmax_online has a use for it");
	insn = npu_insn_initial(NPU_OP_VSOFTMAX_ONLINE);
	insn.softmax.rows = insn.softmax.cols = 8;
	insn.softmax.state_stride = 31; /* a state vector is 8 x 4 B */
	refused(&insn, NPU_ERR_OPERAND, "state_stride=31: must be 0 (dense) or at least a row of state, 32 bytes");
}
END_TEST

START_TEST(unknown_opcodes_are_refused)
{
	struct npu_insn insn = a_load();
	insn.op = 0xff;
	refused(&insn, NPU_ERR_OPERAND, "opcode 0xff is none of the instruction set");
}
END_TEST

/* load posts s, matrix waits for it, and one more instruction uses it as `wait` and `post` say. */
static struct npu_program *with_sem(enum npu_op op, struct npu_sem_ref wait, struct npu_sem_ref post,
				    struct npu_error *err)
{
	struct npu_assembly *assembly = npu_assembly_new("sems");
	uint32_t s = npu_assembly_sem(assembly, "s", 1, 4);
	struct npu_insn load = a_load(), sync = npu_insn_initial(NPU_OP_SYNC_MATRIX), insn = npu_insn_initial(op);
	load.post[0] = (struct npu_sem_ref){ (uint16_t)s, 1 };
	sync.wait[0] = (struct npu_sem_ref){ (uint16_t)s, 1 };
	insn.wait[0] = wait;
	insn.post[0] = post;
	npu_assembly_place(assembly, "a.c", 3);
	npu_assembly_insn(assembly, &load);
	npu_assembly_insn(assembly, &sync);
	npu_assembly_place(assembly, "a.c", 9);
	npu_assembly_insn(assembly, &insn);
	*err = (struct npu_error){ .code = NPU_ERR_NONE };
	return npu_assembly_finish(assembly, err);
}

START_TEST(a_semaphore_has_one_posting_and_one_waiting_engine)
{
	const struct npu_sem_ref none = { 0, 0 }, once = { 0, 1 };
	struct npu_error err;
	struct npu_program *p = with_sem(NPU_OP_SYNC_LOAD, none, once, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(p->sems[0].poster, NPU_ENGINE_LOAD);
	ck_assert_int_eq(p->sems[0].waiter, NPU_ENGINE_MATRIX);
	npu_program_free(p);
	ck_assert_ptr_null(with_sem(NPU_OP_SYNC_VECTOR, none, once, &err));
	ck_assert_str_eq(err.text,
			 "#2 sync.vector: the vector engine posts s, but so does the load engine (#0, a.c:3); "
			 "a semaphore has one posting engine");
	ck_assert_int_eq(err.code, NPU_ERR_SEMAPHORE);
	ck_assert_uint_eq(err.line, 9);
	ck_assert_ptr_null(with_sem(NPU_OP_SYNC_STORE, once, none, &err));
	ck_assert_str_eq(err.text,
			 "#2 sync.store: the store engine waits for s, but so does the matrix engine (#1, a.c:3); "
			 "a semaphore has one waiting engine");
}
END_TEST

START_TEST(counts_and_numbers_of_semaphores_are_checked)
{
	const struct npu_sem_ref none = { 0, 0 }, five = { 0, 5 }, other = { 1, 1 };
	struct npu_error err;
	ck_assert_ptr_null(with_sem(NPU_OP_SYNC_MATRIX, five, none, &err));
	ck_assert_str_eq(err.text, "#2 sync.matrix: wait s:5: above its max of 4");
	ck_assert_ptr_null(with_sem(NPU_OP_SYNC_MATRIX, other, none, &err));
	ck_assert_str_eq(err.text, "#2 sync.matrix: wait of semaphore 1, the program has 1");
	struct npu_assembly *assembly = npu_assembly_new("x");
	npu_assembly_sem(assembly, "s", 5, 4);
	ck_assert_ptr_null(npu_assembly_finish(assembly, &err));
	ck_assert_str_eq(err.text, "semaphore s: it starts at 5, above its max of 4");
	assembly = npu_assembly_new("x");
	npu_assembly_sem(assembly, "s", 0, 70000);
	ck_assert_ptr_null(npu_assembly_finish(assembly, &err));
	ck_assert_str_eq(err.text, "semaphore s: max=70000, must be 1 to 65535");
	assembly = npu_assembly_new("x");
	npu_assembly_sem(assembly, "s", 0, 0);
	npu_assembly_sem(assembly, "s", 0, 0);
	ck_assert_ptr_null(npu_assembly_finish(assembly, &err));
	ck_assert_str_eq(err.text, "two semaphores are called s");
}
END_TEST

START_TEST(slots_are_brought_into_one_order)
{
	struct npu_assembly *assembly = npu_assembly_new("slots");
	npu_assembly_sem(assembly, "a", 0, 0);
	uint16_t b = (uint16_t)npu_assembly_sem(assembly, "b", 0, 0);
	struct npu_insn insn = npu_insn_initial(NPU_OP_SYNC_LOAD);
	insn.wait[0] = (struct npu_sem_ref){ b, 0 };
	insn.wait[1] = (struct npu_sem_ref){ b, 2 };
	npu_assembly_insn(assembly, &insn);
	struct npu_program *p = npu_assembly_finish(assembly, NULL);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->insns[0].wait[0].sem, b);
	ck_assert_uint_eq(p->insns[0].wait[0].count, 2);
	ck_assert_uint_eq(p->insns[0].wait[1].sem, 0);
	npu_program_free(p);
	assembly = npu_assembly_new("twice");
	npu_assembly_sem(assembly, "a", 0, 0);
	insn.wait[0] = insn.wait[1] = (struct npu_sem_ref){ 0, 2 };
	npu_assembly_insn(assembly, &insn);
	struct npu_error err;
	ck_assert_ptr_null(npu_assembly_finish(assembly, &err));
	ck_assert_str_eq(err.text, "#0 sync.load: two waits of a: write one with their sum, a:4");
}
END_TEST

static bool tensor_is_legal(struct npu_tensor t, const char *says)
{
	struct npu_assembly *assembly = npu_assembly_new("t");
	struct npu_error err = { .code = NPU_ERR_NONE };
	npu_assembly_tensor(assembly, &t);
	struct npu_program *p = npu_assembly_finish(assembly, &err);
	ck_assert_msg(p || strstr(err.text, says), "says: %s", err.text);
	npu_program_free(p);
	return p != NULL;
}

START_TEST(tensors_are_well_formed)
{
	struct npu_tensor good = { .name = "K", .dtype = NPU_FP16, .rank = 2, .shape = { 20, 40 } }, t = good;
	ck_assert_uint_eq(npu_tensor_bytes(&good), 1600);
	ck_assert(tensor_is_legal(good, ""));
	t.layout = NPU_LAYOUT_BLOCK16; /* 2 x 3 blocks of 512 B */
	ck_assert_uint_eq(npu_tensor_bytes(&t), 3072);
	t = good;
	t.rank = 4; /* 20 x 40 matrices of 3 x 5 */
	t.shape[2] = 3;
	t.shape[3] = 5;
	ck_assert_uint_eq(npu_tensor_bytes(&t), 20 * 40 * 3 * 5 * 2);
	t = good;
	t.shape[0] = 0;
	ck_assert(tensor_is_legal(t, "")); /* an empty one */
	ck_assert_uint_eq(npu_tensor_bytes(&t), 0);
	t.shape[1] = UINT64_MAX / 4;
	ck_assert(!tensor_is_legal(t, "tensor K: its size must be at most 1 TiB"));
	t = good;
	t.shape[0] = UINT64_MAX / 4;
	ck_assert(!tensor_is_legal(t, "tensor K: its size must be at most 1 TiB"));
	t = good;
	t.rank = 0;
	ck_assert(!tensor_is_legal(t, "tensor K: 0 dimensions, must be 1 to 5"));
	t = good;
	t.bytes = 1599;
	ck_assert(!tensor_is_legal(t, "tensor K: 1,599 bytes, but its shape needs 1,600 bytes"));
	t = good;
	t.addr = NPU_DRAM_LIMIT - 1600;
	ck_assert(tensor_is_legal(t, ""));
	t.addr++;
	ck_assert(!tensor_is_legal(t, "end behind the last address"));
	t = good;
	t.dtype = NPU_INT4;
	t.shape[1] = 41;
	ck_assert(!tensor_is_legal(t, "a row of 41 int4 elements is not whole bytes"));
	t = good;
	t.name = "";
	ck_assert(!tensor_is_legal(t, "a tensor has no name"));
}
END_TEST

START_TEST(buffers_live_from_first_to_end)
{
	struct npu_assembly *assembly = npu_assembly_new("lives");
	struct npu_insn insn = a_load();
	uint32_t a = npu_assembly_buffer(assembly, &(struct npu_buffer){ "a", 0, 64, 0, 0 });
	npu_assembly_insn(assembly, &insn);
	npu_assembly_buffer(assembly, &(struct npu_buffer){ "b", NPU_ACC_BIT | 64, 64, 1, 0 });
	npu_assembly_buffer_end(assembly, a);
	npu_assembly_insn(assembly, &insn);
	npu_assembly_insn(assembly, &insn);
	struct npu_program *p = npu_assembly_finish(assembly, NULL);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->buffers[0].end, 1);
	ck_assert_uint_eq(p->buffers[1].end, 3);
	ck_assert_uint_eq(p->needs.accum_bytes, 128);
	npu_program_free(p);
}
END_TEST

static struct npu_program *nested(unsigned depth, struct npu_error *err)
{
	struct npu_assembly *assembly = npu_assembly_new("nested");
	for (unsigned i = 0; i < depth; i++)
		npu_assembly_region_begin(assembly, "r");
	for (unsigned i = 0; i < depth; i++)
		npu_assembly_region_end(assembly);
	return npu_assembly_finish(assembly, err);
}

START_TEST(regions_nest_64_deep_and_no_deeper)
{
	struct npu_error err;
	struct npu_program *p = nested(64, &err);
	ck_assert_ptr_nonnull(p);
	npu_program_free(p);
	ck_assert_ptr_null(nested(65, &err));
	ck_assert_str_eq(err.text, "region 64 lies too deep: regions nest at most 64 deep");
}
END_TEST

START_TEST(regions_nest_like_brackets)
{
	struct npu_assembly *assembly = npu_assembly_new("regions");
	struct npu_insn insn = a_load();
	npu_assembly_region_begin(assembly, "outer");
	npu_assembly_insn(assembly, &insn);
	npu_assembly_region_begin(assembly, "inner");
	npu_assembly_insn(assembly, &insn);
	npu_assembly_region_end(assembly);
	npu_assembly_insn(assembly, &insn);
	npu_assembly_region_end(assembly);
	npu_assembly_insn(assembly, &insn);
	struct npu_program *p = npu_assembly_finish(assembly, NULL);
	ck_assert_ptr_nonnull(p);
	const uint32_t wanted[] = { 0, 1, 0, NPU_NO_REGION };
	ck_assert_mem_eq(p->region, wanted, sizeof wanted);
	ck_assert_uint_eq(p->regions[1].parent, 0);
	/* back into a region that has closed */
	const uint32_t reopened[] = { 0, 1, 0, 1 };
	struct npu_program broken = *p;
	struct npu_error err;
	broken.region = reopened;
	ck_assert(!npu_program_check(&broken, &err));
	ck_assert_str_eq(err.text, "#3 load: its region is not open: regions must nest like brackets");
	npu_program_free(p);
	assembly = npu_assembly_new("regions");
	npu_assembly_region_end(assembly);
	ck_assert_ptr_null(npu_assembly_finish(assembly, &err));
	ck_assert_str_eq(err.text, "a region is closed that was never opened");
}
END_TEST

START_TEST(needs_are_the_highest_bytes_touched)
{
	struct npu_error err;
	struct npu_insn insn = a_load();
	insn.dma.local_stride = 256;
	struct npu_program *p = program_of(&insn, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->needs.sram_bytes, 0x1000 + 15 * 256 + 128);
	ck_assert_uint_eq(p->needs.accum_bytes, 0);
	ck_assert_uint_eq(p->needs.dram_bytes, 0x8000 + 16 * 128);
	npu_program_free(p);
	/* 6 rows from row 2: rows 2, 3 of page 3 and rows 0 to 3 of page 0; page 3 reaches farther */
	insn = npu_insn_initial(NPU_OP_GATHER);
	insn.paged = (struct npu_paged){ .cols = 64,
					 .rows = 6,
					 .first = 2,
					 .page_rows = 4,
					 .page_stride = 4096,
					 .row_stride = 256,
					 .dram = 0x8000,
					 .dtype = NPU_FP16 };
	p = program_of(&insn, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->needs.dram_bytes, 0x8000 + 3 * 4096 + 3 * 256 + 128);
	npu_program_free(p);
	insn.paged.first = 7;
	insn.paged.rows = 2; /* row 3 of page 0, and row 0 of page 2, which reaches farther */
	p = program_of(&insn, &err);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->needs.dram_bytes, 0x8000 + 2 * 4096 + 128);
	npu_program_free(p);
}
END_TEST

START_TEST(needs_of_long_tables_are_exact)
{
	/* against a walk over the pieces, with tables longer than the runs whose maxima are remembered */
	struct rng rng = { 9 };
	static uint32_t entries[2000];
	for (unsigned round = 0; round < 50; round++) {
		for (unsigned i = 0; i < 2000; i++)
			entries[i] = rng_below(&rng, 1 + rng_below(&rng, 5000));
		struct npu_assembly *assembly = npu_assembly_new("long");
		npu_assembly_table(assembly, &(struct npu_table){ "t", 0, 2000, entries, 0 });
		struct npu_insn insn = npu_insn_initial(NPU_OP_GATHER);
		uint32_t page_rows = 1 + rng_below(&rng, 4), first = rng_below(&rng, 1000);
		insn.paged = (struct npu_paged){ .cols = 1,
						 .rows = 1 + rng_below(&rng, 1000),
						 .first = first,
						 .dram = 1 << 20,
						 .page_rows = page_rows,
						 .page_stride = 64,
						 .row_stride = 4,
						 .dtype = NPU_INT8 };
		npu_assembly_insn(assembly, &insn);
		struct npu_program *p = npu_assembly_finish(assembly, NULL);
		ck_assert_ptr_nonnull(p);
		uint64_t end = 0;
		for (uint32_t r = first; r < first + insn.paged.rows; r++) {
			uint64_t at = (1 << 20) + 64ull * entries[r / page_rows] + r % page_rows * 4 + 1;
			end = at > end ? at : end;
		}
		ck_assert_uint_eq(p->needs.dram_bytes, end);
		npu_program_free(p);
	}
}
END_TEST

START_TEST(a_program_too_large_for_the_machine_is_refused_with_the_numbers)
{
	struct npu_assembly *assembly = npu_assembly_new("flash");
	struct npu_insn insn = a_matmul();
	npu_assembly_buffer(assembly, &(struct npu_buffer){ "q", 0, 0x8000, 0, 0 });
	npu_assembly_buffer(assembly, &(struct npu_buffer){ "k[1]", 0x40000, 0x10000, 0, 0 });
	npu_assembly_insn(assembly, &insn);
	struct npu_program *p = npu_assembly_finish(assembly, NULL);
	ck_assert_ptr_nonnull(p);
	struct npu_error err = { .code = NPU_ERR_NONE };
	/* D ends at 0x100 + 32 x 32 x 4 = 0x1100 */
	struct npu_limits limits = { 0x50000, 0x1100, 0 };
	ck_assert(npu_program_fits(p, &limits, &err));
	ck_assert_int_eq(err.code, NPU_ERR_NONE);
	limits = (struct npu_limits){ 256 * 1024, 0x1000, 0 };
	ck_assert(!npu_program_fits(p, &limits, &err));
	ck_assert_int_eq(err.code, NPU_ERR_FIT);
	ck_assert_str_eq(err.text,
			 "flash needs 320 KiB of SRAM, the hardware has 256 KiB: 64 KiB too little; "
			 "buffer k[1] reaches farthest, sram:0x40000 to 0x50000\n"
			 "flash needs 4,352 bytes of accumulators, the hardware has 4 KiB: 256 bytes too little; "
			 "#0 matmul (dst) reaches farthest, acc:0x100 to 0x1100");
	ck_assert(!npu_program_fits(p, &limits, NULL));
	npu_program_free(p);
}
END_TEST

START_TEST(the_hash_is_of_what_decides_values_and_time)
{
	struct npu_error err;
	struct npu_insn insn = a_load();
	struct npu_program *a = program_of(&insn, &err), *b = program_of(&insn, &err);
	ck_assert_uint_eq(a->hash, b->hash);
	npu_program_free(b);
	insn.dma.dram_stride = 128; /* the same bytes, but another instruction */
	b = program_of(&insn, &err);
	ck_assert_uint_ne(a->hash, b->hash);
	npu_program_free(a);
	npu_program_free(b);
	for (unsigned i = 0; i < 3; i++) {
		struct npu_assembly *one = npu_assembly_new("a"), *other = npu_assembly_new("other name");
		npu_assembly_sem(one, "s", 0, 0);
		npu_assembly_sem(other, "another name", i == 1, i == 2 ? 5 : 0);
		a = npu_assembly_finish(one, NULL);
		b = npu_assembly_finish(other, NULL);
		ck_assert_int_eq(a->hash == b->hash, i == 0);
		npu_program_free(a);
		npu_program_free(b);
	}
}
END_TEST

START_TEST(an_assembly_can_be_thrown_away)
{
	struct npu_assembly *assembly = npu_assembly_new(NULL);
	struct npu_insn insn = a_load();
	npu_assembly_insn(assembly, &insn);
	npu_assembly_region_begin(assembly, NULL);
	npu_assembly_free(assembly);
	npu_assembly_free(NULL);
	npu_program_free(NULL);
}
END_TEST

START_TEST(numbers_read_well)
{
	char text[64];
	struct npu_error err;
	npu_fail_at(&err, NPU_ERR_SYNTAX, "f", 3, 0, "x");
	ck_assert_str_eq(npu_error_print(&err, text, sizeof text), "f:3: x");
	npu_fail_at(&err, NPU_ERR_SYNTAX, "f", 3, 4, "x");
	npu_error_note(&err, "and %d", 5);
	ck_assert_str_eq(npu_error_print(&err, text, sizeof text), "f:3:4: x\nand 5");
	npu_fail(&err, NPU_ERR_RACE, "y");
	ck_assert_str_eq(npu_error_print(&err, text, sizeof text), "y");
	ck_assert_int_eq(npu_error_exit_status(NPU_ERR_RACE), 1);
	ck_assert_int_eq(npu_error_exit_status(NPU_ERR_IO), 2);
	ck_assert(!npu_fail(NULL, NPU_ERR_RACE, "nobody listens"));
}
END_TEST

START_TEST(the_nearest_name_is_one_that_may_be_meant)
{
	static const char *const names[] = { "load", "store", "matmul", "vadd" };
	ck_assert_str_eq(npu_nearest("laod", names, 4), "load");
	ck_assert_str_eq(npu_nearest("matmull", names, 4), "matmul");
	ck_assert_str_eq(npu_nearest("vsdd", names, 4), "vadd");
	ck_assert_ptr_null(npu_nearest("convolution", names, 4));
	ck_assert_ptr_null(npu_nearest("", names, 4));
	ck_assert_ptr_null(npu_nearest("x", names, 0));
}
END_TEST

static Suite *program_suite(void)
{
	Suite *suite = suite_create("isa.program");
	TCase *tests = tcase_create("program");
	tcase_add_test(tests, a_refusal_names_instruction_place_field_value_and_remedy);
	tcase_add_test(tests, dma_operands_are_checked);
	tcase_add_test(tests, addresses_may_not_pass_their_ends);
	tcase_add_test(tests, paged_operands_are_checked);
	tcase_add_test(tests, products_take_the_types_of_the_array);
	tcase_add_test(tests, vector_operands_are_checked);
	tcase_add_test(tests, unknown_opcodes_are_refused);
	tcase_add_test(tests, a_semaphore_has_one_posting_and_one_waiting_engine);
	tcase_add_test(tests, counts_and_numbers_of_semaphores_are_checked);
	tcase_add_test(tests, slots_are_brought_into_one_order);
	tcase_add_test(tests, tensors_are_well_formed);
	tcase_add_test(tests, buffers_live_from_first_to_end);
	tcase_add_test(tests, regions_nest_64_deep_and_no_deeper);
	tcase_add_test(tests, regions_nest_like_brackets);
	tcase_add_test(tests, needs_are_the_highest_bytes_touched);
	tcase_add_test(tests, needs_of_long_tables_are_exact);
	tcase_add_test(tests, a_program_too_large_for_the_machine_is_refused_with_the_numbers);
	tcase_add_test(tests, the_hash_is_of_what_decides_values_and_time);
	tcase_add_test(tests, an_assembly_can_be_thrown_away);
	tcase_add_test(tests, numbers_read_well);
	tcase_add_test(tests, the_nearest_name_is_one_that_may_be_meant);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return npu_suite_run(program_suite());
}
