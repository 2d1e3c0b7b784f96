/* SPDX-License-Identifier: Apache-2.0 */
/* npusim syntax: how editors colour .npu files, the generated files of docs/editors, which a test keeps fresh. */
#include "isa/field.h"
#include "isa/text/macro/words.h"
#include "isa/text/out.h"
#include "sim/cli.h"
#include "sim/report_json.h"

#include <stdlib.h>
#include <string.h>

/* ---- the words of the language, as alternatives of a regular expression ---- */

/* Whether operand fields hold named values, and which are asked for. */
enum fields { ALL_FIELDS, NAMED_FIELDS };

static void add_word(struct npu_out *out, const char *word)
{
	if (out->used)
		npu_out_char(out, '|');
	for (; *word; word++) {
		if (*word == '.')
			npu_out_char(out, '\\');
		npu_out_char(out, *word);
	}
}

static bool is_first(unsigned format, const struct npu_field *field)
{
	for (unsigned f = 0; f <= format; f++)
		for (const struct npu_field *other = npu_formats[f].fields; other->name && other != field; other++)
			if (strcmp(other->name, field->name) == 0)
				return false;
	return true;
}

static void add_fields(struct npu_out *out, enum fields which)
{
	const char *const *names;
	for (unsigned f = 0; f < npu_nformats; f++)
		for (const struct npu_field *field = npu_formats[f].fields; field->name; field++)
			if (field->kind != NPU_KIND_LOCAL && field->kind != NPU_KIND_DRAM && is_first(f, field) &&
			    (which == ALL_FIELDS || npu_kind_names(field->kind, &names)))
				add_word(out, field->name);
}

static void add_names(struct npu_out *out, enum npu_field_kind kind)
{
	const char *const *names;
	unsigned n = npu_kind_names(kind, &names);
	for (unsigned i = 0; i < n; i++)
		add_word(out, names[i]);
}

/* Named values but for types; a word that several kinds have is there several times, which does no harm. */
static void add_values(struct npu_out *out)
{
	for (int kind = NPU_KIND_LAYOUT; kind <= NPU_KIND_SCALE; kind++)
		add_names(out, (enum npu_field_kind)kind);
}

static void add_macro_words(struct npu_out *out, enum npu_macro_words kind)
{
	const char *word;
	for (unsigned n = 0; (word = npu_macro_word(kind, n)); n++)
		add_word(out, word);
}

/* What a template calls `@name@`. */
static bool add_list(struct npu_out *out, const char *name, size_t length)
{
	static const struct {
		const char *name;
		enum npu_macro_words words;
	} lists[] = {
		{ "directives", NPU_MACRO_DIRECTIVES },  { "functions", NPU_MACRO_FUNCTIONS },
		{ "options", NPU_MACRO_OPTIONS },        { "directions", NPU_MACRO_DIRECTIONS },
		{ "states", NPU_MACRO_PAGE_STATES },
	};
	for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
		if (strlen(lists[i].name) == length && memcmp(lists[i].name, name, length) == 0) {
			add_macro_words(out, lists[i].words);
			return true;
		}
	if (length == 9 && memcmp(name, "mnemonics", 9) == 0)
		for (unsigned i = 0; i < npu_nops; i++)
			add_word(out, npu_ops[i].mnemonic);
	else if (length == 5 && memcmp(name, "types", 5) == 0)
		add_names(out, NPU_KIND_DTYPE);
	else if (length == 6 && memcmp(name, "fields", 6) == 0)
		add_fields(out, ALL_FIELDS);
	else if (length == 5 && memcmp(name, "named", 5) == 0)
		add_fields(out, NAMED_FIELDS);
	else if (length == 6 && memcmp(name, "values", 6) == 0)
		add_values(out);
	else
		return false;
	return true;
}

/* The text with a list in place of each @name@; the caller frees. NULL when memory is short. */
static char *expand(const char *text)
{
	struct npu_out out = { .grows = true };
	while (*text) {
		const char *end = *text == '@' ? strchr(text + 1, '@') : NULL;
		struct npu_out list = { .grows = true };
		if (end && add_list(&list, text + 1, (size_t)(end - text) - 1)) {
			char *words = npu_out_finish(&list);
			npu_out_text(&out, words ? words : "");
			out.failed = out.failed || !words;
			free(words);
			text = end + 1;
		} else {
			npu_out_char(&out, *text++);
		}
	}
	return npu_out_finish(&out);
}

/* ---- Vim ---- */

static const char vim[] =
    "\" SPDX-License-Identifier: Apache-2.0\n"
    "\" Vim syntax file: NPU macro assembly (.npu), the language of npusim's docs/npu.md.\n"
    "\" Generated from npusim's tables: npusim syntax vim\n"
    "\n"
    "if exists('b:current_syntax')\n"
    "  finish\n"
    "endif\n"
    "syntax case match\n"
    "syntax sync minlines=1\n"
    "\n"
    "syntax cluster npuExpression contains=npuNumber,npuString,npuFunction,npuTurn,npuSpace,npuType,npuOperator,npuComment\n"
    "\n"
    "\" The first word of a line: the use of a macro, unless something below knows it.\n"
    "syntax match npuMacroUse /\\v%(^\\s*)@<=\\h[0-9A-Za-z_.]*/ nextgroup=npuArguments\n"
    "syntax region npuArguments start=/./ end=/$/ contained oneline keepend contains=@npuExpression,npuArgument\n"
    "syntax match npuArgument /\\v<\\h\\w*\\ze\\=[^=]/ contained\n"
    "syntax region npuInstruction matchgroup=npuMnemonic start=/\\v%(^\\s*)@<=%(@mnemonics@)%([0-9A-Za-z_.])@!/ "
    "end=/$/ oneline keepend contains=@npuExpression,npuField,npuValue,npuSync,npuSpecial\n"
    "syntax match npuField /\\v<%(@fields@)\\ze\\=[^=]/ contained\n"
    "syntax match npuValue /\\v%(<%(layout|@named@)\\=)@<=%(@values@)>/ contained\n"
    "syntax keyword npuSync wait post contained\n"
    "syntax match npuSpecial /\\v<%(inf|nan|bits\\ze:)>/ contained\n"
    "\n"
    "syntax match npuDirective /\\v%(^\\s*)@<=%(@directives@)>/\n"
    "syntax region npuLine matchgroup=npuDirective start=/\\v%(^\\s*)@<=\\.tensor>/ end=/$/ oneline keepend "
    "contains=@npuExpression,npuDirection,npuOption,npuValue\n"
    "syntax region npuLine matchgroup=npuDirective start=/\\v%(^\\s*)@<=\\.%(sram|acc)>/ end=/$/ oneline keepend "
    "contains=@npuExpression,npuOption,npuValue\n"
    "syntax region npuLine matchgroup=npuDirective start=/\\v%(^\\s*)@<=\\.page>/ end=/$/ oneline keepend "
    "contains=@npuExpression,npuState\n"
    "syntax region npuLine matchgroup=npuDirective start=/\\v%(^\\s*)@<=\\.for>/ end=/$/ oneline keepend "
    "contains=@npuExpression,npuRange\n"
    "syntax match npuInclude /\\v%(^\\s*\\.include\\s+)@<=once>/\n"
    "syntax match npuMacroName /\\v%(^\\s*\\.macro\\s+)@<=\\h\\w*/\n"
    "syntax match npuDirection /\\v<%(@directions@)>/ contained\n"
    "syntax match npuState /\\v<%(@states@)>/ contained\n"
    "syntax match npuOption /\\v<%(@options@)\\ze\\=[^=]/ contained\n"
    "syntax match npuRange /\\v<%(in|step)>/ contained\n"
    "\n"
    "syntax match npuOperator /[-+*\\/%<>=!&|^~?:@]/\n"
    "syntax match npuNumber /\\v%(\\k\\.)@2<!<%(0[xX]\\x+|\\d+%(\\.\\d+)?%([eE][-+]?\\d+)?)%([KMG]iB)?>/\n"
    "syntax match npuFunction /\\v<%(@functions@|shuffle)\\ze\\(/\n"
    "syntax match npuTurn /\\v\\.T>/\n"
    "syntax match npuSpace /\\v<%(sram|acc|dram)\\ze:/\n"
    "syntax match npuType /\\v<%(@types@)>/\n"
    "syntax region npuString start=/\"/ skip=/\\\\./ end=/\"/ oneline contains=npuEscape,npuInterpolation\n"
    "syntax region npuInterpolation matchgroup=npuBrace start=/{/ end=/}/ contained oneline contains=@npuExpression\n"
    "syntax match npuEscape /\\v\\\\%([\"\\\\nt]|x\\x\\x)|\\{\\{|\\}\\}/ contained\n"
    "syntax match npuComment /;.*/ contains=@Spell\n"
    "\n"
    "highlight default link npuComment Comment\n"
    "highlight default link npuString String\n"
    "highlight default link npuEscape SpecialChar\n"
    "highlight default link npuBrace Special\n"
    "highlight default link npuNumber Number\n"
    "highlight default link npuSpecial Float\n"
    "highlight default link npuMnemonic Statement\n"
    "highlight default link npuSync Special\n"
    "highlight default link npuField Identifier\n"
    "highlight default link npuArgument Identifier\n"
    "highlight default link npuOption Identifier\n"
    "highlight default link npuValue Constant\n"
    "highlight default link npuDirective PreProc\n"
    "highlight default link npuInclude PreProc\n"
    "highlight default link npuMacroName Function\n"
    "highlight default link npuMacroUse Function\n"
    "highlight default link npuDirection StorageClass\n"
    "highlight default link npuState StorageClass\n"
    "highlight default link npuRange Repeat\n"
    "highlight default link npuFunction Function\n"
    "highlight default link npuTurn Operator\n"
    "highlight default link npuOperator Operator\n"
    "highlight default link npuSpace StorageClass\n"
    "highlight default link npuType Type\n"
    "\n"
    "let b:current_syntax = 'npu'\n";

static int print_vim(void)
{
	char *text = expand(vim);
	if (!text)
		return cli_usage("out of memory");
	fputs(text, stdout);
	free(text);
	return 0;
}

/* ---- VS Code: a TextMate grammar ---- */

/* One rule. `end` NULL: a match; `inside`: names of rules, with blanks between. Captures 1 and 2 may have scopes. */
struct rule {
	const char *name;
	const char *scope; /* NULL: only its captures have one */
	const char *begin, *end;
	const char *captures[2];
	const char *inside;
};

#define EXPRESSION "comment string function turn space type number operator"

static const struct rule rules[] = {
	{ "comment", "comment.line.semicolon.npu", ";.*$", NULL, { NULL, NULL }, NULL },
	{ "instruction", "meta.instruction.npu", "^\\s*(@mnemonics@)(?![\\w.])", "$", { "keyword.mnemonic.npu", NULL },
	  "sync value field special " EXPRESSION },
	{ "sync", "keyword.control.sync.npu", "\\b(?:wait|post)\\b", NULL, { NULL, NULL }, NULL },
	{ "value", NULL, "\\b(layout|@named@)=(@values@)\\b", NULL, { "variable.parameter.npu", "constant.language.npu" },
	  NULL },
	{ "field", "variable.parameter.npu", "\\b(?:@fields@)(?==(?!=))", NULL, { NULL, NULL }, NULL },
	{ "special", "constant.language.npu", "\\b(?:inf|nan|bits(?=:))\\b", NULL, { NULL, NULL }, NULL },
	{ "tensor", NULL, "^\\s*(\\.tensor)\\b", "$", { "keyword.control.directive.npu", NULL },
	  "direction value option " EXPRESSION },
	{ "buffer", NULL, "^\\s*(\\.sram|\\.acc)\\b", "$", { "keyword.control.directive.npu", NULL },
	  "value option " EXPRESSION },
	{ "page", NULL, "^\\s*(\\.page)\\b", "$", { "keyword.control.directive.npu", NULL }, "state " EXPRESSION },
	{ "for", NULL, "^\\s*(\\.for)\\b", "$", { "keyword.control.directive.npu", NULL }, "range " EXPRESSION },
	{ "macro", NULL, "^\\s*(\\.macro)\\s+([A-Za-z_]\\w*)", NULL,
	  { "keyword.control.directive.npu", "entity.name.function.npu" }, NULL },
	{ "include", NULL, "^\\s*(\\.include)\\s+(once)\\b", NULL,
	  { "keyword.control.directive.npu", "keyword.control.directive.npu" }, NULL },
	{ "directive", "keyword.control.directive.npu", "^\\s*(?:@directives@)\\b", NULL, { NULL, NULL }, NULL },
	{ "direction", "storage.modifier.npu", "\\b(?:@directions@)\\b", NULL, { NULL, NULL }, NULL },
	{ "option", "variable.parameter.npu", "\\b(?:@options@)(?==(?!=))", NULL, { NULL, NULL }, NULL },
	{ "state", "storage.modifier.npu", "\\b(?:@states@)\\b", NULL, { NULL, NULL }, NULL },
	{ "range", "keyword.control.loop.npu", "\\b(?:in|step)\\b", NULL, { NULL, NULL }, NULL },
	{ "use", NULL, "^\\s*([A-Za-z_][\\w.]*)", "$", { "entity.name.function.npu", NULL }, "argument " EXPRESSION },
	{ "argument", "variable.parameter.npu", "\\b[A-Za-z_]\\w*(?==(?!=))", NULL, { NULL, NULL }, NULL },
	{ "string", "string.quoted.double.npu", "\"", "\"|$", { NULL, NULL }, "escape interpolation" },
	{ "escape", "constant.character.escape.npu", "\\\\(?:[\"\\\\nt]|x[0-9A-Fa-f]{2})|\\{\\{|\\}\\}", NULL, { NULL, NULL },
	  NULL },
	{ "interpolation", "meta.interpolation.npu", "(\\{)", "\\}|(?=\"|$)", { "punctuation.section.interpolation.npu", NULL },
	  "function turn space type number operator" },
	{ "function", "support.function.npu", "\\b(?:@functions@|shuffle)(?=\\()", NULL, { NULL, NULL }, NULL },
	{ "turn", "keyword.operator.transpose.npu", "\\.T\\b", NULL, { NULL, NULL }, NULL },
	{ "space", "storage.modifier.space.npu", "\\b(?:sram|acc|dram)(?=:)", NULL, { NULL, NULL }, NULL },
	{ "type", "storage.type.npu", "\\b(?:@types@)\\b", NULL, { NULL, NULL }, NULL },
	{ "number", "constant.numeric.npu",
	  "(?<!\\w)(?<!\\w\\.)(?:0[xX][0-9A-Fa-f]+|[0-9]+(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)([KMG]iB)?\\b", NULL,
	  { "keyword.other.unit.npu", NULL }, NULL },
	{ "operator", "keyword.operator.npu", "\\.\\.|[-+*/%<>=!&|^~?:@]", NULL, { NULL, NULL }, NULL },
};

/* Rules that a line may begin with; elsewhere, as in the entries of a table, expressions. */
static const char top[] = "comment instruction tensor buffer page for macro include directive use " EXPRESSION;

static json_t *includes(const char *names)
{
	json_t *list = json_array();
	while (*names) {
		size_t length = strcspn(names, " ");
		json_array_append_new(list, json_pack("{s:o}", "include", json_sprintf("#%.*s", (int)length, names)));
		names += length + (names[length] == ' ');
	}
	return list;
}

static void set_expanded(json_t *object, const char *key, const char *text)
{
	char *expanded = expand(text);
	json_object_set_new(object, key, json_string(expanded ? expanded : ""));
	free(expanded);
}

static json_t *rule_json(const struct rule *rule)
{
	json_t *object = json_object(), *captures = json_object();
	if (rule->scope)
		json_object_set_new(object, "name", json_string(rule->scope));
	set_expanded(object, rule->end ? "begin" : "match", rule->begin);
	for (unsigned i = 0; i < 2; i++)
		if (rule->captures[i])
			json_object_set_new(captures, i ? "2" : "1", json_pack("{s:s}", "name", rule->captures[i]));
	if (json_object_size(captures))
		json_object_set(object, rule->end ? "beginCaptures" : "captures", captures);
	json_decref(captures);
	if (rule->end)
		set_expanded(object, "end", rule->end);
	if (rule->inside)
		json_object_set_new(object, "patterns", includes(rule->inside));
	return object;
}

static int print_vscode(void)
{
	json_t *repository = json_object();
	for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++)
		json_object_set_new(repository, rules[i].name, rule_json(&rules[i]));
	json_t *grammar = json_pack("{s:s, s:s, s:s, s:o, s:o}", "comment",
				    "SPDX-License-Identifier: Apache-2.0. Generated from npusim's tables: npusim syntax vscode",
				    "name", "NPU macro assembly", "scopeName", "source.npu", "patterns", includes(top),
				    "repository", repository);
	bool ok = grammar != NULL;
	if (ok)
		report_json_print(grammar, stdout);
	json_decref(grammar);
	return ok ? 0 : cli_usage("out of memory");
}

static int run(struct cli *cli)
{
	if (strcmp(cli->words[0], "vim") == 0)
		return print_vim();
	if (strcmp(cli->words[0], "vscode") == 0)
		return print_vscode();
	return cli_usage("syntax %.40s: vim or vscode would be right", cli->words[0]);
}

const struct cli_command cmd_syntax = {
	.name = "syntax",
	.synopsis = "vim|vscode",
	.summary = "print how an editor colours .npu files",
	.min_words = 1,
	.max_words = 1,
	.hidden = true,
	.run = run,
};
