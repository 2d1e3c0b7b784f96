/* SPDX-License-Identifier: Apache-2.0 */
/* The flat assembler: lines, and the small things that they are made of. */
#include "isa/text/asm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void npu_asm_advance(struct npu_asm *as)
{
	as->line += as->token.kind == NPU_TOKEN_NEWLINE;
	as->token = npu_lex(&as->lexer);
}

static bool refuse_with(struct npu_asm *as, const struct npu_token *token, const char *format, va_list args)
{
	char text[512];
	vsnprintf(text, sizeof text, format, args);
	return npu_diag_at(&as->diag, NPU_ERR_SYNTAX, token->begin, token->end, "%s", text);
}

bool npu_asm_refuse(struct npu_asm *as, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	refuse_with(as, &as->token, format, args);
	va_end(args);
	return false;
}

bool npu_asm_refuse_at(struct npu_asm *as, const struct npu_token *token, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	refuse_with(as, token, format, args);
	va_end(args);
	return false;
}

bool npu_asm_expected(struct npu_asm *as, const char *what)
{
	const struct npu_token *token = &as->token;
	int length = (int)(token->end - token->begin < 40 ? token->end - token->begin : 40);
	if (npu_asm_at_line_end(as))
		return npu_asm_refuse(as, "expected %s, found the end of the line", what);
	if (token->kind == NPU_TOKEN_BAD && *token->begin == '"')
		return npu_asm_refuse(as, "a string without its closing quote");
	if (token->kind == NPU_TOKEN_BAD && (unsigned char)*token->begin - 0x20u >= 0x5f)
		return npu_asm_refuse(as, "expected %s, found byte 0x%02x", what, (unsigned char)*token->begin);
	return npu_asm_refuse(as, "expected %s, found %.*s", what, length, token->begin);
}

bool npu_asm_is_punct(const struct npu_asm *as, uint16_t punct)
{
	return as->token.kind == NPU_TOKEN_PUNCT && as->token.punct == punct;
}

bool npu_asm_take_punct(struct npu_asm *as, uint16_t punct)
{
	if (!npu_asm_is_punct(as, punct))
		return false;
	npu_asm_advance(as);
	return true;
}

bool npu_asm_at_line_end(const struct npu_asm *as)
{
	return as->token.kind == NPU_TOKEN_NEWLINE || as->token.kind == NPU_TOKEN_END;
}

bool npu_asm_number(struct npu_asm *as, const char *what, uint64_t max, uint64_t *out)
{
	uint64_t value;
	if (as->token.kind != NPU_TOKEN_NUMBER || !npu_token_integer(&as->token, &value))
		return npu_asm_expected(as, what);
	if (value > max)
		return npu_asm_refuse(as, "%s: at most %" PRIu64, what, max);
	*out = value;
	npu_asm_advance(as);
	return true;
}

bool npu_asm_unescape(struct npu_asm *as, const struct npu_token *string, const char **out)
{
	uint64_t size = (uint64_t)(string->end - string->begin);
	char *text = npu_arena_alloc(as->arena, size, 1);
	if (!text) {
		as->out_of_memory = true;
		return false;
	}
	if (npu_token_string(string, text, size) < 0)
		return npu_asm_refuse(as, "a bad escape: a string knows \\\" \\\\ \\n \\t and \\xNN");
	*out = text;
	return true;
}

bool npu_asm_string(struct npu_asm *as, const char *what, const char **out)
{
	if (as->token.kind != NPU_TOKEN_STRING)
		return npu_asm_expected(as, what);
	if (!npu_asm_unescape(as, &as->token, out))
		return false;
	npu_asm_advance(as);
	return true;
}

static bool indexed_name(struct npu_asm *as, struct npu_asm_name *out)
{
	uint64_t index;
	const char *bracket = as->token.begin;
	npu_asm_advance(as);
	const struct npu_token number = as->token;
	if (!npu_asm_number(as, "an index", UINT32_MAX, &index))
		return false;
	const char *end = as->token.end;
	if (!npu_asm_take_punct(as, ']'))
		return npu_asm_expected(as, "]");
	out->token.end = end;
	/* written like k[0] it is a slice of the source, which saves a copy a use; k[ 0 ] and k[0x0] mean the same */
	bool leading_zero = *number.begin == '0' && number.end - number.begin > 1;
	if (bracket == out->text + out->length && number.begin == bracket + 1 && end == number.end + 1 &&
	    !leading_zero) {
		out->length = (uint64_t)(end - out->text);
		return true;
	}
	char *name = npu_arena_alloc(as->arena, out->length + 24, 1);
	if (!name) {
		as->out_of_memory = true;
		return false;
	}
	out->length =
	    (uint64_t)snprintf(name, out->length + 24, "%.*s[%" PRIu64 "]", (int)out->length, out->text, index);
	out->text = name;
	return true;
}

bool npu_asm_name(struct npu_asm *as, const char *what, bool indexed, struct npu_asm_name *out)
{
	out->token = as->token;
	if (as->token.kind == NPU_TOKEN_STRING) {
		if (!npu_asm_string(as, what, &out->text))
			return false;
		out->length = strlen(out->text);
		return out->length > 0 || npu_asm_refuse_at(as, &out->token, "%s: an empty name", what);
	}
	if (as->token.kind != NPU_TOKEN_NAME)
		return npu_asm_expected(as, what);
	out->text = as->token.begin;
	out->length = (uint64_t)(as->token.end - as->token.begin);
	npu_asm_advance(as);
	return !indexed || !npu_asm_is_punct(as, '[') || indexed_name(as, out);
}

struct npu_asm_hint npu_asm_hint(const struct npu_asm *as, const struct npu_symbols *symbols, const char *name,
				 uint64_t length)
{
	struct npu_asm_hint hint = { "" };
	char nearest[64];
	if (npu_diag_has_room(&as->diag) && npu_symbols_nearest(symbols, name, length, nearest, sizeof nearest))
		snprintf(hint.text, sizeof hint.text, "; did you mean %s?", nearest);
	return hint;
}

struct npu_asm_hint npu_asm_hint_of(const struct npu_asm *as, const char *const *names, unsigned n, const char *name,
				    uint64_t length)
{
	struct npu_asm_hint hint = { "" };
	char copy[64];
	if (length >= sizeof copy || !npu_diag_has_room(&as->diag))
		return hint;
	snprintf(copy, sizeof copy, "%.*s", (int)length, name);
	const char *nearest = npu_nearest(copy, names, n);
	if (nearest) {
		snprintf(hint.text, sizeof hint.text, "; did you mean %s?", nearest);
		return hint;
	}
	size_t used = (size_t)snprintf(hint.text, sizeof hint.text, "; one of");
	for (unsigned i = 0; i < n && used < sizeof hint.text; i++)
		used += (size_t)snprintf(hint.text + used, sizeof hint.text - used, "%s %s", i ? "," : "", names[i]);
	return hint;
}

bool npu_asm_unknown(struct npu_asm *as, const struct npu_symbols *symbols, const char *kind,
		     const struct npu_asm_name *name)
{
	const char *bracket = memchr(name->text, '[', name->length);
	uint64_t length = bracket && bracket != name->text ? (uint64_t)(bracket - name->text) : name->length;
	if (npu_symbols_find(&as->refused, name->text, length))
		return false;
	return npu_asm_refuse_at(as, &name->token, "%s %.*s%s", kind, (int)name->length, name->text,
				 npu_asm_hint(as, symbols, name->text, name->length).text);
}

static bool name_address(struct npu_asm *as, const char *what, bool dram, uint64_t *out)
{
	struct npu_asm_name name = { 0 };
	uint64_t offset = 0, limit = dram ? NPU_DRAM_LIMIT - 1 : UINT32_MAX;
	if (!npu_asm_name(as, what, true, &name))
		return false;
	const struct npu_symbol *symbol = npu_symbols_find(&as->addresses, name.text, name.length);
	if (!symbol)
		return npu_asm_unknown(as, &as->addresses, "no tensor or buffer is called", &name);
	if (((symbol->value & NPU_ASM_IN_DRAM) != 0) != dram)
		return npu_asm_refuse_at(as, &name.token, "%s: %.*s is %s", what, (int)name.length, name.text,
					 dram ? "a buffer, not a tensor in DRAM" : "a tensor in DRAM, not a buffer");
	bool minus = npu_asm_is_punct(as, '-');
	if ((npu_asm_take_punct(as, '+') || npu_asm_take_punct(as, '-')) &&
	    !npu_asm_number(as, "an offset in bytes", NPU_DRAM_LIMIT, &offset))
		return false;
	uint64_t base = symbol->value & ~NPU_ASM_IN_DRAM;
	if (minus ? offset > base : offset > limit - base)
		return npu_asm_refuse_at(as, &name.token, "%s: the offset leaves the address space", what);
	*out = minus ? base - offset : base + offset;
	return true;
}

bool npu_asm_address(struct npu_asm *as, const char *what, bool dram, uint64_t *out)
{
	const struct npu_token space = as->token;
	if (space.kind != NPU_TOKEN_NAME || as->lexer.at == as->lexer.end || *as->lexer.at != ':')
		return name_address(as, what, dram, out);
	bool acc = npu_token_is(&space, "acc"), in_dram = npu_token_is(&space, "dram");
	if (!acc && !in_dram && !npu_token_is(&space, "sram"))
		return npu_asm_refuse(as, "no memory is called %.*s: sram, acc or dram", (int)(space.end - space.begin),
				      space.begin);
	if (in_dram != dram)
		return npu_asm_refuse(as, "%s: must be %s", what,
				      dram ? "an address in DRAM, dram:0x..."
					   : "a local address, sram:0x... or acc:0x...");
	as->lexer.at++; /* the colon */
	npu_asm_advance(as);
	if (!npu_asm_number(as, "an address", dram ? NPU_DRAM_LIMIT - 1 : NPU_LOCAL_LIMIT - 1, out))
		return false;
	*out |= acc ? NPU_ACC_BIT : 0;
	return true;
}

bool npu_asm_named_value(struct npu_asm *as, const char *what, enum npu_field_kind kind, uint64_t *out)
{
	const char *const *names;
	unsigned n = npu_kind_names(kind, &names);
	if (as->token.kind != NPU_TOKEN_NAME)
		return npu_asm_expected(as, what);
	for (unsigned i = 0; i < n; i++)
		if (npu_token_is(&as->token, names[i])) {
			*out = i;
			npu_asm_advance(as);
			return true;
		}
	uint64_t length = (uint64_t)(as->token.end - as->token.begin);
	return npu_asm_refuse(as, "no %s is called %.*s%s", what, (int)length, as->token.begin,
			      npu_asm_hint_of(as, names, n, as->token.begin, length).text);
}

static bool prepare_ops(struct npu_asm *as)
{
	as->ops = calloc(npu_nops, sizeof *as->ops);
	if (!as->ops)
		return false;
	for (unsigned i = 0; i < npu_nops; i++) {
		struct npu_asm_op *op = &as->ops[i];
		op->info = &npu_ops[i];
		op->initial = npu_insn_initial(op->info->op);
		op->npositional = npu_syntax_positional(op->info, op->positional);
		for (unsigned f = 0; f < op->info->format->nfields; f++) {
			const struct npu_field *field = &op->info->format->fields[f];
			op->required |= (uint64_t)field->required << f;
			op->optional_addresses |= (uint64_t)(!field->required && npu_syntax_is_positional(field)) << f;
		}
		if (!npu_symbols_set(&as->mnemonics, op->info->mnemonic, strlen(op->info->mnemonic), i))
			return false;
	}
	return true;
}

/* One mistake, one message: the rest of a line that was refused is passed over. */
static void finish_line(struct npu_asm *as, bool ok)
{
	if (ok && !npu_asm_at_line_end(as))
		npu_asm_expected(as, "the end of the line");
	while (!npu_asm_at_line_end(as))
		npu_asm_advance(as);
}

static void read_lines(struct npu_asm *as)
{
	as->line = 1;
	as->token = npu_lex(&as->lexer);
	while (as->token.kind != NPU_TOKEN_END && !as->out_of_memory) {
		if (as->token.kind == NPU_TOKEN_NEWLINE) {
			npu_asm_advance(as);
			continue;
		}
		if (as->token.kind == NPU_TOKEN_DIRECTIVE)
			finish_line(as, npu_asm_directive(as));
		else if (as->token.kind == NPU_TOKEN_NAME)
			finish_line(as, npu_asm_instruction(as));
		else
			finish_line(as, npu_asm_expected(as, "an instruction or a directive"));
		as->started = true;
	}
	if (as->region_depth && !as->diag.count)
		npu_asm_refuse_at(as, &as->outer_region, "a .region without its .endregion");
	if (as->last_end > as->ninsns && !as->diag.count)
		npu_asm_refuse_at(as, &as->last_buffer, "alive until instruction %" PRIu32 " of %" PRIu32, as->last_end,
				  as->ninsns);
}

/* "qk" of "kernels/qk.npu": what a program is called that does not say. */
static void default_name(const char *file, char *out, size_t size)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *dot = strrchr(base, '.');
	snprintf(out, size, "%.*s", dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
}

static bool begin(struct npu_asm *as)
{
	char name[256];
	default_name(as->source.file, name, sizeof name);
	as->arena = npu_arena_new();
	as->assembly = npu_assembly_new(name);
	return as->arena && as->assembly && prepare_ops(as);
}

static void end(struct npu_asm *as)
{
	npu_assembly_free(as->assembly);
	npu_arena_free(as->arena);
	npu_symbols_fini(&as->mnemonics);
	npu_symbols_fini(&as->sems);
	npu_symbols_fini(&as->tables);
	npu_symbols_fini(&as->addresses);
	npu_symbols_fini(&as->tensors);
	npu_symbols_fini(&as->refused);
	free(as->ops);
}

struct npu_program *npu_asm_flat(const char *text, uint64_t nbytes, const char *file, struct npu_error *err)
{
	struct npu_error ignored;
	err = err ? err : &ignored;
	struct npu_asm as = { .source = { file ? file : "", text, text + nbytes }, .lexer = { text, text + nbytes } };
	as.diag = (struct npu_diag){ &as.source, err, 0 };
	struct npu_program *program = NULL;
	if (!begin(&as))
		as.out_of_memory = true;
	else
		read_lines(&as);
	npu_diag_close(&as.diag);
	if (as.out_of_memory) {
		npu_fail(err, NPU_ERR_MEMORY, "%s: out of memory", as.source.file);
	} else if (!as.diag.count) {
		program = npu_assembly_finish(as.assembly, err);
		as.assembly = NULL;
		if (!program && strcmp(err->file, as.source.file) == 0)
			npu_diag_show_line(&as.source, err);
		if (!program && !err->file[0])
			npu_error_place(err, as.source.file, err->line, err->column);
	}
	end(&as);
	return program;
}
