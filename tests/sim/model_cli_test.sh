#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim model: what it refuses and how, that its report is what the schema says and adds up, that counting layers and drawing out
# long operators stays near to running everything.
. "$SRC/tests/support/cli.sh" || exit 1
. "$SRC/tests/support/json.sh" || exit 1

# refuse STATUS TEXT ARGUMENT...: as refuses, of the command.
refuse() { refuses "$1" "$2" model "${@:3}"; }

# holds EXPRESSION FILE: of a report, as json_holds.
holds() {
    checks=$((checks + 1))
    json_holds "$1" "$2" || fail "$2: not $1"
}

# adds_up FILE: of the total, of each operator and layer, and of each engine, busy, stalls and idle are all cycles; nothing is below 0.
adds_up() {
    checks=$((checks + 1))
    json_adds_up "$1" || fail "$1 does not add up"
}

# Names, files, parameters
refuse 2 'unknown model "llama-3-8"; did you mean llama-3-8b?' llama-3-8
refuse 2 'unknown model "frobnicate"; npusim model list names them, and a file would be ./FILE or FILE.json' frobnicate
refuse 2 'missing.json: cannot be read: No such file or directory' missing.json
refuse 2 'context=0: too small; context must be 1 to 1048575 tokens' stories260k context=0
refuse 2 'context=99999999999999999999: too large; context must be 1 to 1048575 tokens' stories260k context=99999999999999999999
refuse 2 'weights=fp8: must be fp16|int8|int4' stories260k weights=fp8
refuse 2 'model has no parameter contxt, did you mean context?' stories260k contxt=1
refuse 2 'batch=2: 2097150 tokens a step, 1048575 at most would be right' stories260k phase=prefill context=1048575 batch=2
refuse 2 'kv=int4: the latent cache of deepseek_v2 has 16 or 8 bits; kv=fp16 or kv=int8 would be right' deepseek-v2-lite kv=int4
refuse 2 'dequant=matrix: the vector engine makes fp16 of the latent of deepseek_v2, which is key and value at once; dequant=vector would be right' \
    deepseek-v2-lite kv=int8 dequant=matrix
refuse 2 'page: has no effect on the latent cache of deepseek_v2, one row a token that follow one another without pages' deepseek-v2-lite page=8
refuse 2 'kv_layout: has no effect on the latent cache of deepseek_v2, one row a token that follow one another without pages' \
    deepseek-v2-lite kv_layout=kv_page_head
refuse 2 'dequant=matrix: has no effect with kv=fp16, only with int8 or int4' stories260k dequant=matrix
refuse 2 'group: has no effect with weights=fp16, only with int8 or int4' stories260k group=64
refuse 2 'kv_group: has no effect with kv=fp16, only with int8 or int4' stories260k kv_group=half
refuse 2 'kv_group: has no effect on the latent cache of deepseek_v2' deepseek-v2-lite kv=int8 kv_group=half
refuse 2 'chunk=3: has no effect with phase=decode, which takes one token a sequence' stories260k chunk=3
refuse 2 'chunk=65: a prompt of context= tokens has no more new ones than it is long' stories260k phase=prefill context=64 chunk=65
refuse 2 'context_min=5: has no effect with phase=prefill, whose prompts are alike' stories260k phase=prefill context_min=5
refuse 2 'context_min=65: the shortest sequence is not longer than the longest, context=' stories260k context=64 context_min=65
refuse 2 'context_min=5: a latent cache has sequences of one length' deepseek-v2-lite context_min=5
refuse 2 'page=1025: too large; page must be 1 to 1024 tokens' stories260k page=1025
refuse 2 'batch=1025: too large; batch must be 1 to 1024 sequences' stories260k batch=1025
refuse 2 '--plan runs nothing that --report could tell of' stories260k --plan --report -
echo '{"model_type": "llama", "hidden_size": "64"}' >c.json
refuse 2 'c.json:1:25: hidden_size: is a string, a whole number would be right' c.json
printf '{"model_type": "llama",' >cut.json
checks=$((checks + 1))
"$NPUSIM" model cut.json 2>err && fail 'a file that is cut is read'
grep -q '^npusim: cut.json:1:.*the file is cut short$' err && [ "$(wc -l <err)" = 1 ] || fail "cut.json: $(cat err)"

# Of 8,030,261,248 parameters in fp16, 15,317 MiB; a latent cache; the numbers are there.
refuse 1 'llama-3-8b of 8,030,261,248 parameters does not fit: weights 15317 MiB + KV 128 MiB + activations 0.3 MiB = 15445 MiB, the DRAM of edge-1mb has 4096 MiB' llama-3-8b
refuse 1 'llama-3-8b of 8,030,261,248 parameters does not fit: weights 3949 MiB + KV 260 MiB + activations 0.3 MiB = 4209 MiB, the DRAM of edge-1mb has 4096 MiB' \
    llama-3-8b context=4096 weights=int4 kv=int8 --plan

refuse 1 'deepseek-v3 of 671,026,419,200 parameters does not fit: weights 1279881 MiB + KV 69 MiB + activations 0.3 MiB = 1279950 MiB, the DRAM of edge-1mb has 4096 MiB' \
    deepseek-v3 --plan
printf '{"model_type":\n "\0\377' >binary.json
refuse 2 'binary.json:2:3: a zero byte: this is no text' binary.json

# Figures
for phase in decode prefill; do
    "$NPUSIM" model stories260k phase=$phase context=64 --report $phase.json >/dev/null || fail "$phase fails"
    "$NPUSIM" model stories260k phase=$phase context=64 --report again.json >/dev/null
    cmp -s $phase.json again.json || fail "$phase: two runs differ"
    holds 'v["schema"] == "npusim.model/1" && v["model.parameters"] == 260032' $phase.json
    for key in cycles macs dram_read_bytes dram_write_bytes energy_uj; do
        holds "v[\"total.$key\"] > 0 && near(sum(\"operators\\\\.[0-9]+\\\\.$key\"), v[\"total.$key\"], 1e-9)" $phase.json
    done
    holds 'near(sum("operators\\.[0-9]+\\.cycles") - v["operators.0.cycles"] - v["operators.12.cycles"] - v["operators.13.cycles"],
        sum("layers\\.[0-9]+\\.cycles"), 1e-9)' $phase.json
    adds_up $phase.json
    holds 'v["total.mac_utilization"] <= 1 && v["total.dram_peak_fraction"] <= 1' $phase.json
done
holds 'v["operators.0.section"] == "embedding" && v["operators.11.section"] == "layer" && v["operators.12.section"] == "head" &&
    v["operators.13.name"] == "lm_head" && !("operators.14.name" in v)' decode.json
holds 'v["tokens"] == 1' decode.json
# Every weight of a matrix once (the tied embedding as head), 5 layers of 2 x 64 positions x 8 heads x 8; nothing is left out.
holds 'v["notes"] == "[]" && v["total.macs"] == 260032 - 11 * 64 + 5 * 2 * 64 * 64' decode.json
holds 'v["tokens"] == 64' prefill.json

# A row of the table in the type of the weights: 64 elements and a scale of each 32, by an id of 4 bytes.
"$NPUSIM" model stories260k context=64 weights=int4 group=32 --report int4.json >/dev/null || fail 'int4'
holds 'v["operators.0.dram_read_bytes"] == 64 / 2 + 64 / 32 * 2 + 4 && v["notes.0"] ~ /^rows of the embedding table are fetched in int4/' int4.json

# Sequences of 100 and 20 tokens: 7 and 2 pages of 16 in each of 5 layers, K and V of 4 heads of 8 in fp16; 8 query heads look at each once.
"$NPUSIM" model stories260k batch=2 context=100 context_min=20 --report ragged.json >/dev/null || fail 'context_min'
holds 'v["memory.kv_bytes"] == 9 * 16 * 5 * 2 * 4 * 8 * 2 && v["operators.4.name"] == "attention (paged)" && v["operators.4.macs"] == 5 * 2 * (100 + 20) * 64' ragged.json
# The last 16 of 64 tokens: 16 rows of each product but the head, and queries that see 49 to 64 keys.
"$NPUSIM" model stories260k phase=prefill context=64 chunk=16 --report chunk.json >/dev/null || fail 'chunk'
holds 'v["tokens"] == 16 && v["operators.2.macs"] == 16 * 5 * 64 * (64 + 2 * 32) && v["operators.4.useful_macs"] == 5 * 2 * 64 * 16 * (49 + 64) / 2' chunk.json
holds 'v["memory.kv_bytes"] == 64 * 5 * 2 * 4 * 8 * 2' chunk.json
# A token of int8: 64 elements and one scale for K and V each, or two a head.
for group in token half; do
    "$NPUSIM" model stories260k context=64 kv=int8 kv_group=$group --report $group.json >/dev/null || fail "kv_group=$group"
done
holds 'v["memory.kv_bytes"] == 64 * 5 * (64 + 2 * 2)' token.json
holds 'v["memory.kv_bytes"] == 64 * 5 * (64 + 2 * 4 * 2 * 2)' half.json

# Layers with a window write their cache, too: of three layers (window, whole, window) the prompt's O of 4 heads of 32, and all that memory has of KV.
cat >window.json <<'END'
{"model_type": "gemma2", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
 "vocab_size": 512, "intermediate_size": 96, "sliding_window": 40}
END
# attention KEY FILE: sum over the operators that attend.
attention() {
    json_lines "$2" | awk -F '\t' -v key="$1" '{ split($1, p, "."); if (p[1] != "operators") next }
        p[3] == "name" && $2 ~ /attention \(/ { is[p[2]] = 1 } p[3] == key { value[p[2]] = $2 }
        END { for (i in is) sum += value[i]; printf "%.0f\n", sum }'
}
for kv in 'kv=fp16' 'kv=int8 kv_layout=kv_page_head' 'kv=int8 kv_group=half' 'kv=int4' 'kv=int4 kv_group=token dequant=matrix'; do
    for exact in '' --exact; do
        "$NPUSIM" model window.json phase=prefill context=160 batch=2 $kv $exact --report window-report.json >/dev/null || fail "a window, $kv"
        adds_up window-report.json
        holds "$(attention dram_write_bytes window-report.json) == 3 * 2 * 160 * 4 * 32 * 2 + v[\"memory.kv_bytes\"] && v[\"notes\"] == \"[]\"" window-report.json
    done
done
# The last 32 of 160 tokens with int8: those of 2 heads of 32 and two scales of each are written; 71 tokens are kept in 6 pages of 16 at most by two of three layers.
"$NPUSIM" model window.json phase=prefill context=160 chunk=32 kv=int8 --report window-report.json >/dev/null || fail 'a window, chunk=32'
holds "$(attention dram_write_bytes window-report.json) == 3 * 32 * (4 * 32 * 2 + 2 * 2 * (32 + 2))" window-report.json
holds 'v["memory.kv_bytes"] == (160 + 2 * 6 * 16) * 2 * 2 * (32 + 2)' window-report.json
# Queries of the windowed layers see 40 keys each, those of the other one 129 to 160.
holds "$(attention useful_macs window-report.json) == 2 * 4 * 32 * (2 * 32 * 40 + 32 * (129 + 160) / 2)" window-report.json
# A decode step keeps the window, in pages of one token no more.
"$NPUSIM" model window.json context=160 page=1 --report window-report.json >/dev/null || fail 'a window, page=1'
holds 'v["memory.kv_bytes"] == (160 + 2 * 40) * 2 * 2 * 32 * 2' window-report.json

# Gemma 2 caps scores, by 50, and 256,000 logits, by 30: 62.5 rows of 4,096
"$NPUSIM" model gemma-2-2b context=64 weights=int4 --plan >plan || fail 'gemma-2-2b: no plan'
checks=$((checks + 2))
grep -q '^attention (paged) .* softcap=50 ' plan || fail "scores are not capped: $(grep '^attention' plan)"
grep -q '^logit_softcap  *softcap rows=63 cols=4096 dtype=fp16 cap=30 ' plan || fail "logits are not capped: $(cat plan)"

# Qwen2 has biases on Q, K and V alone, Phi on all products. In fp16 the products of Qwen2-0.5B's decode step read all of its matrices and biases,
# 494,032,768 parameters less the vectors of 49 norms, and what they multiply: a row of as many as they have rows
"$NPUSIM" model qwen2-0.5b context=64 --plan >plan || fail 'qwen2-0.5b: no plan'
"$NPUSIM" model phi-2 weights=int4 --plan >all || fail 'phi-2: no plan'
checks=$((checks + 2))
[ "$(grep -c '^[a-z_]*_proj .* bias=1 \|^lm_head .* bias=1 ' plan)" = 1 ] && grep -q '^qkv_proj .* bias=1 ' plan || fail "biases of Qwen2: $(cat plan)"
[ "$(grep -c '^[a-z_]*_proj .* bias=1 \|^lm_head .* bias=1 ' all)" = 5 ] || fail "biases of Phi: $(cat all)"
"$NPUSIM" model qwen2-0.5b context=64 --report qwen.json >/dev/null || fail 'qwen2-0.5b'
adds_up qwen.json
holds 'v["notes"] == "[]" && v["operators.2.dram_read_bytes"] + v["operators.5.dram_read_bytes"] + v["operators.8.dram_read_bytes"] + v["operators.10.dram_read_bytes"] + v["operators.13.dram_read_bytes"] == 2 * (494032768 - 49 * 896 + 24 * (3 * 896 + 4864) + 896)' qwen.json

# A latent of 512 + 64 elements: in int8 with 9 scales of 2 bytes 594 bytes a token, which scores and sums read once each; 4,096 tokens of 27 layers.
for kv in fp16 int8; do
    "$NPUSIM" model deepseek-v2-lite context=4096 weights=int4 kv=$kv --hw edge-2mb dram.rows=131072 --report latent-$kv.json >/dev/null || fail "latent cache in $kv"
    adds_up latent-$kv.json
done
holds 'v["memory.kv_bytes"] == 4096 * 27 * 1152' latent-fp16.json
holds 'v["memory.kv_bytes"] == 4096 * 27 * 594' latent-int8.json
# What both read besides: 16 queries of 576 and weights of 4,096 in fp16, and in int8 the scales of the sums: 512 columns of 64 groups.
first() { json_lines latent-int8.json | sed -nE "s/^operators\\.([0-9]+)\\.name\t\"?$1\"?\$/\\1/p" | head -n 1; }
holds "v[\"operators.$(first 'latent scores').dram_read_bytes\"] == 4096 * 594 + 2 * 16 * 576" latent-int8.json
holds "v[\"operators.$(first 'latent sums').dram_read_bytes\"] == 4096 * (512 + 16) + 2 * 16 * 4096" latent-int8.json

# The new latent of the one dense layer is read in fp16, and written as the cache keeps it; of a prompt all of them, which is all of the cache.
quantised="operators.$(first quantise_latent)"
holds "v[\"$quantised.dram_read_bytes\"] == 1152 && v[\"$quantised.dram_write_bytes\"] == 594" latent-int8.json
"$NPUSIM" model deepseek-v2-lite phase=prefill context=33 weights=int4 kv=int8 --hw edge-2mb dram.rows=131072 --report latent-prompt.json >/dev/null ||
    fail 'a prompt of latents'
holds 'v["memory.kv_bytes"] == 33 * 27 * 594' latent-prompt.json
checks=$((checks + 1))
written=$(json_lines latent-prompt.json | awk -F '\t' '{ split($1, p, ".") } p[1] != "operators" { next } p[3] == "name" { is[p[2]] = $2 == "quantise_latent" }
    p[3] == "dram_write_bytes" && is[p[2]] { sum += $2 } END { print sum }')
[ "$written" = $((33 * 27 * 594)) ] || fail "the latents of a prompt: $written bytes are written"

"$NPUSIM" model deepseek-v2-lite context=33 weights=int4 --hw edge-2mb dram.rows=131072 --report latent.json >/dev/null || fail 'a latent of 33 tokens'
holds 'v["memory.kv_bytes"] == 33 * 27 * 1152' latent.json

# The schema has every key that a report has, and the report every key of the schema.
"$NPUSIM" schema model >schema.json || fail 'no schema'
checks=$((checks + 1))
json_lines schema.json | sed -nE 's/^properties\.operators\.items\.required\.[0-9]+\t//p' | sort >wanted
json_lines decode.json | sed -nE 's/^operators\.0\.([^.\t]*).*/\1/p' | sort -u >found
[ -s wanted ] && diff found wanted || fail 'operators[] of report and schema differ'
json_lines schema.json | sed -nE 's/^required\.[0-9]+\t//p' | sort >wanted
json_lines decode.json | sed -nE 's/^([^.\t]*).*/\1/p' | sort -u >found
[ -s wanted ] && diff found wanted || fail 'report and schema differ'

# near FILE FILE PATH SHARE: a figure of two reports.
near() {
    checks=$((checks + 1))
    local one other
    one=$(json_value "$3" "$1") && other=$(json_value "$3" "$2") || fail "$1 or $2 has no $3"
    awk "BEGIN { d = $one / $other - 1; exit !(d <= $4 && -d <= $4) }" || fail "$3 of $1 and $2, $one and $other, differ by more than $4"
}
"$NPUSIM" model stories260k context=64 --exact --report exact.json >/dev/null || fail '--exact fails'
near decode.json exact.json total.cycles 0.02
# 5 layers of 11 operators, and three outside of them.
holds 'v["exact"] == "true" && v["runs"] == 58' exact.json

# 57 MB of the head are drawn out from two shorter runs; both banks and refresh meet otherwise in the exact run.
"$NPUSIM" model smollm2-135m --report decode.json >/dev/null || fail 'smollm2-135m fails'
"$NPUSIM" model smollm2-135m --exact --report exact.json >/dev/null || fail 'smollm2-135m --exact fails'
near decode.json exact.json total.cycles 0.01
adds_up decode.json
adds_up exact.json
last=$(json_lines decode.json | sed -nE 's/^operators\.([0-9]+)\.name\tlm_head$/\1/p')
near decode.json exact.json "operators.$last.cycles" 0.005
holds "v[\"operators.$last.drawn_out\"] == \"true\"" decode.json
holds "v[\"operators.$last.drawn_out\"] == \"false\"" exact.json

# Drawn out from two runs, of which the shorter one has more of some state.
"$NPUSIM" model smollm2-135m phase=prefill context=1024 weights=int4 kv=int8 --report long.json >/dev/null || fail 'a long prompt'
adds_up long.json

# A plan has the counts of a run, and no cycle.
checks=$((checks + 2))
"$NPUSIM" model stories260k --plan >plan || fail '--plan fails'
# 64 x 512 products of the head.
tr -s ' ' <plan | grep -qE '^lm_head 1 32,768 ' || fail "--plan: $(grep lm_head plan)"
grep -q cycles plan && fail '--plan has cycles'
"$NPUSIM" model stories260k --layers | tr -s ' ' | grep -qE '^4 layer [0-9]' || fail '--layers has no layer 4'

# Names and parameters complete.
"$NPUSIM" complete -- model llama-3-8 | grep -q '^llama-3-8b' || fail 'models do not complete'
"$NPUSIM" complete -- model llama-3-8b phase= | grep -q 'prefill' || fail 'parameters do not complete'

# Two experts and the shared ones of two layers: two sums each.
checks=$((checks + 1))
echo '{"model_type": "qwen2_moe", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8, "vocab_size": 512, "intermediate_size": 172,
 "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 64}' | "$NPUSIM" model - context=32 --plan >out || fail experts
tr -s ' ' <out | grep -qE '^expert_sum 4 .* residual_add$' && grep -q '^expert_sum  *residual_add rows=1 cols=64 ' out || fail "sums of experts: $(cat out)"

# What is asked twice at once, and a config.json as a stream.
checks=$((checks + 1))
echo '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4,
 "vocab_size": 512, "intermediate_size": 172}' | "$NPUSIM" model - context=32 >out 2>err || fail "a stream: $(cat err)"
grep -q '^stdin .* 2 layers, 8 heads, 4 kv_heads, head_dim 8$' out || fail "a stream: $(head -1 out)"

# One of a thing is no plural, and a latent cache has no pages.
checks=$((checks + 2))
echo '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 512,
 "intermediate_size": 172}' | "$NPUSIM" model - context=32 --plan >out || fail 'a single layer'
grep -q ' 1 layer, 1 head, 1 kv_head, head_dim 64$' out && grep -q ', 16-token pages$' out || fail "a single layer: $(head -3 out)"
"$NPUSIM" model deepseek-v2-lite weights=int4 context=32 --hw edge-2mb dram.rows=131072 --plan >out || fail 'a latent cache'
grep -q ', KV fp16$' out || fail "a latent cache: $(head -3 out)"

# A quantised checkpoint is run in what weights= says, which is said.
checks=$((checks + 1))
echo '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 8, "vocab_size": 512,
 "intermediate_size": 172, "quantization_config": {"quant_method": "gptq", "bits": 4}}' | "$NPUSIM" model - context=32 >out || fail 'gptq'
grep -q '^note  *the checkpoint is quantised (quantization_config: gptq), which is not read: weights= says what is run$' out || fail "gptq: $(cat out)"

# Of a model that sees, too, the language part; what is assumed is said.
checks=$((checks + 1))
echo '{"model_type": "sees", "text_config": {"model_type": "mistral", "hidden_size": 128, "num_hidden_layers": 1, "num_attention_heads": 16,
 "vocab_size": 512, "intermediate_size": 172}}' | "$NPUSIM" model - context=32 >out || fail 'text_config'
grep -q '^note  *the language part (text_config) of a model of type sees: what else it has is neither counted nor run$' out &&
    grep -q '^  *num_key_value_heads is not given: 8, the default of mistral models$' out || fail "text_config: $(cat out)"

# Two columns of int4 share a byte: an odd vocabulary is padded, not refused.
checks=$((checks + 1))
echo '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 8, "vocab_size": 511,
 "intermediate_size": 172}' | "$NPUSIM" model - weights=int4 context=32 --plan >out 2>err || fail "an odd vocabulary: $(cat err)"
tr -s ' ' <out | grep -qE '^lm_head gemv m=1 n=512 ' || fail "an odd vocabulary: $(grep lm_head out)"

[ $failures = 0 ] && echo "$checks checks of npusim model"
[ $failures = 0 ]
